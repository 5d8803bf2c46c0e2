//! Polygons from WKB, and whether a place lies in one. Anything but polygons is nothing here.

use geo::{Coord, Intersects, LineString, MultiPolygon, Polygon};

/// True where the polygon or multipolygon holds the place, its border included. False for bytes that are no polygon.
pub fn holds(wkb: &[u8], x: f64, y: f64) -> bool {
    polygons_of(wkb).is_some_and(|polygons| polygons.intersects(&Coord { x, y }))
}

/// A POLYGON or MULTIPOLYGON, with or without Z and M, in either byte order.
pub fn polygons_of(wkb: &[u8]) -> Option<MultiPolygon<f64>> {
    let mut reader = Reader { bytes: wkb, little: true };
    let mut polygons = Vec::new();
    match reader.head()? {
        (3, width) => polygons.push(reader.polygon(width)?),
        (6, _) => {
            for _ in 0..reader.number()? {
                let (kind, width) = reader.head()?;
                polygons.push((kind == 3).then(|| reader.polygon(width)).flatten()?);
            }
        }
        _ => return None,
    }
    Some(MultiPolygon(polygons))
}

struct Reader<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_at_checked(N)?;
        self.bytes = rest;
        head.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        let bytes = self.take()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn double(&mut self) -> Option<f64> {
        let bytes = self.take()?;
        Some(if self.little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    /// Kind of geometry and numbers for each point: ISO's thousands, and the flags of EWKB.
    fn head(&mut self) -> Option<(u32, usize)> {
        self.little = match self.take::<1>()?[0] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let code = self.number()?;
        if code & 0x2000_0000 != 0 {
            self.number()?;
        }
        let (plain, z, m) = (code & 0x0fff_ffff, code & 0x8000_0000 != 0, code & 0x4000_0000 != 0);
        let more = match plain / 1000 {
            0 => usize::from(z) + usize::from(m),
            1 | 2 => 1,
            3 => 2,
            _ => return None,
        };
        Some((plain % 1000, 2 + more))
    }

    fn polygon(&mut self, width: usize) -> Option<Polygon<f64>> {
        let mut rings = Vec::new();
        for _ in 0..self.number()? {
            let points = self.number()? as usize;
            // A length that the rest can't hold is not believed.
            if points > self.bytes.len() / (8 * width) {
                return None;
            }
            let mut ring = Vec::with_capacity(points);
            for _ in 0..points {
                ring.push(Coord { x: self.double()?, y: self.double()? });
                for _ in 2..width {
                    self.double()?;
                }
            }
            rings.push(LineString(ring));
        }
        let mut rings = rings.into_iter();
        Some(Polygon::new(rings.next()?, rings.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(kind: u32, extra: usize) -> Vec<u8> {
        let mut bytes = vec![1];
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(5u32.to_le_bytes());
        for (x, y) in [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (0.0, 0.0)] {
            let numbers: Vec<f64> = [x, y].into_iter().chain(std::iter::repeat_n(7.0, extra)).collect();
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    #[test]
    fn every_spelling_of_a_polygon() {
        for (kind, extra) in [(3, 0), (1003, 1), (3003, 2), (0x8000_0003, 1)] {
            let wkb = square(kind, extra);
            assert!(holds(&wkb, 1.0, 1.0) && holds(&wkb, 2.0, 1.0) && !holds(&wkb, 2.1, 1.0), "{kind}");
            let mut many = vec![1];
            many.extend(6u32.to_le_bytes());
            many.extend(1u32.to_le_bytes());
            many.extend(&wkb);
            assert!(holds(&many, 1.0, 1.0));
            for cut in 0..wkb.len() {
                assert!(!holds(&wkb[..cut], 1.0, 1.0));
            }
        }
        assert!(!holds(&[1, 1, 0, 0, 0], 0.0, 0.0));
    }
}
