//! Reads and writes well-known binary. Read: plain, with Z and M as in ISO, or PostGIS' extended
//! form, in either byte order. It is the only WKB reader, so every view treats damaged geometries
//! alike. Claimed counts are checked against the available bytes before memory is allocated. Never
//! panics.

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point, Polygon,
};

/// Maximum nesting of geometries.
const NESTING: u8 = 8;

/// Parses a geometry, ignoring Z and M. `None` for damaged or trailing bytes, and for coordinates
/// that are not finite, as in an empty point.
pub fn parse_wkb(wkb: &[u8]) -> Option<Geometry> {
    let mut reader = WkbReader { rest: wkb };
    let geometry = reader.geometry(NESTING)?;
    reader.rest.is_empty().then_some(geometry)
}

/// `[min x, min y, max x, max y]` without building the geometry; `None` when it is empty or
/// damaged.
pub fn wkb_bounds(wkb: &[u8]) -> Option<[f64; 4]> {
    let mut reader = WkbReader { rest: wkb };
    let mut bounds = [
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    ];
    // NaN, the encoding of an empty point, does not affect the bounds.
    reader.walk(NESTING, None, &mut |x, y| {
        bounds = [
            bounds[0].min(x),
            bounds[1].min(y),
            bounds[2].max(x),
            bounds[3].max(y),
        ]
    })?;
    (reader.rest.is_empty() && bounds[0] <= bounds[2] && bounds[1] <= bounds[3]).then_some(bounds)
}

/// Header of a geometry.
#[derive(Clone, Copy)]
struct WkbHeader {
    little: bool,
    /// Geometry type: 1 point, …, 7 collection.
    kind: u32,
    /// Number of additional ordinates per vertex (Z, M).
    further: usize,
}

struct WkbReader<'a> {
    rest: &'a [u8],
}

impl WkbReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn number(&mut self, little: bool) -> Option<u32> {
        let bytes = self.take()?;
        Some(if little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        })
    }

    /// Reads a count of elements of at least `least` bytes each; a count beyond the remaining bytes
    /// is damage.
    fn count(&mut self, little: bool, least: usize) -> Option<usize> {
        let count = self.number(little)? as usize;
        (count.checked_mul(least)? <= self.rest.len()).then_some(count)
    }

    fn head(&mut self) -> Option<WkbHeader> {
        let little = match self.take()? {
            [1] => true,
            [0] => false,
            _ => return None,
        };
        let code = self.number(little)?;
        if code & 0x2000_0000 != 0 {
            // PostGIS stores the SRID here.
            self.number(little)?;
        }
        // Z and M: flags in PostGIS' form, thousands in ISO's. Some writers set both.
        let plain = code & 0x0FFF_FFFF;
        let (z, m) = match plain / 1000 {
            0 => (false, false),
            1 => (true, false),
            2 => (false, true),
            3 => (true, true),
            _ => return None,
        };
        let further =
            usize::from(z || code & 0x8000_0000 != 0) + usize::from(m || code & 0x4000_0000 != 0);
        Some(WkbHeader {
            little,
            kind: plain % 1000,
            further,
        })
    }

    fn place(&mut self, head: WkbHeader) -> Option<(f64, f64)> {
        let (x, y) = (
            decode_f64(self.take()?, head.little),
            decode_f64(self.take()?, head.little),
        );
        for _ in 0..head.further {
            self.take::<8>()?;
        }
        Some((x, y))
    }

    /// Calls `each` for every vertex of a geometry, which must be of `kind` when given.
    fn walk(
        &mut self,
        nesting: u8,
        kind: Option<u32>,
        each: &mut dyn FnMut(f64, f64),
    ) -> Option<()> {
        let nesting = nesting.checked_sub(1)?;
        let head = self.head()?;
        if kind.is_some_and(|kind| kind != head.kind) {
            return None;
        }
        let size = 16 + 8 * head.further;
        let rings = match head.kind {
            1 => {
                let (x, y) = self.place(head)?;
                each(x, y);
                return Some(());
            }
            2 => 1,
            3 => self.count(head.little, 4)?,
            4..=7 => {
                // Multi-geometries contain one type only; a collection contains any.
                let member = (head.kind < 7).then(|| head.kind - 3);
                for _ in 0..self.count(head.little, 9)? {
                    self.walk(nesting, member, each)?;
                }
                return Some(());
            }
            _ => return None,
        };
        let mut hollow = false;
        for ring in 0..rings {
            let count = self.count(head.little, size)?;
            hollow |= ring == 0 && count == 0;
            if hollow && count > 0 {
                return None;
            }
            for _ in 0..count {
                let (x, y) = self.place(head)?;
                each(x, y);
            }
        }
        Some(())
    }

    fn geometry(&mut self, nesting: u8) -> Option<Geometry> {
        let nesting = nesting.checked_sub(1)?;
        let head = self.head()?;
        Some(match head.kind {
            1 => Point(self.coord(head)?).into(),
            2 => self.line(head)?.into(),
            3 => {
                let count = self.count(head.little, 4)?;
                let mut rings = (0..count)
                    .map(|_| self.line(head))
                    .collect::<Option<Vec<_>>>()?
                    .into_iter();
                let outer = rings.next().unwrap_or_else(|| LineString(Vec::new()));
                // Holes of an empty ring: dropping the ring would lose vertices that the bounds
                // count.
                if outer.0.is_empty() && rings.as_slice().iter().any(|ring| !ring.0.is_empty()) {
                    return None;
                }
                Polygon::new(outer, rings.collect()).into()
            }
            4 => MultiPoint(self.members(head, nesting, |member| Point::try_from(member).ok())?)
                .into(),
            5 => MultiLineString(
                self.members(head, nesting, |member| LineString::try_from(member).ok())?,
            )
            .into(),
            6 => {
                MultiPolygon(self.members(head, nesting, |member| Polygon::try_from(member).ok())?)
                    .into()
            }
            7 => {
                Geometry::GeometryCollection(GeometryCollection(self.members(head, nesting, Some)?))
            }
            _ => return None,
        })
    }

    fn members<T>(
        &mut self,
        head: WkbHeader,
        nesting: u8,
        as_member: impl Fn(Geometry) -> Option<T>,
    ) -> Option<Vec<T>> {
        // Minimum size of a member: byte order, type, count.
        let count = self.count(head.little, 9)?;
        (0..count)
            .map(|_| self.geometry(nesting).and_then(&as_member))
            .collect()
    }

    fn line(&mut self, head: WkbHeader) -> Option<LineString> {
        let count = self.count(head.little, 16 + 8 * head.further)?;
        (0..count)
            .map(|_| self.coord(head))
            .collect::<Option<Vec<_>>>()
            .map(LineString)
    }

    fn coord(&mut self, head: WkbHeader) -> Option<Coord> {
        let (x, y) = self.place(head)?;
        (x.is_finite() && y.is_finite()).then_some(Coord { x, y })
    }
}

/// A coordinate of WKB.
pub(super) fn decode_f64(bytes: [u8; 8], little: bool) -> f64 {
    if little {
        f64::from_le_bytes(bytes)
    } else {
        f64::from_be_bytes(bytes)
    }
}

/// Little-endian WKB of a point.
pub fn write_wkb_point(x: f64, y: f64) -> [u8; 21] {
    let mut bytes = [0; 21];
    bytes[..5].copy_from_slice(&[1, 1, 0, 0, 0]);
    bytes[5..13].copy_from_slice(&x.to_le_bytes());
    bytes[13..].copy_from_slice(&y.to_le_bytes());
    bytes
}

/// Little-endian WKB.
pub fn write_wkb(geometry: &Geometry) -> Vec<u8> {
    let mut out = Vec::new();
    put_geometry(geometry, &mut out);
    out
}

fn put_geometry(geometry: &Geometry, out: &mut Vec<u8>) {
    fn head(out: &mut Vec<u8>, code: u32) {
        out.push(1);
        out.extend(code.to_le_bytes());
    }
    fn put_count(out: &mut Vec<u8>, count: usize) {
        out.extend((count as u32).to_le_bytes());
    }
    fn coord(out: &mut Vec<u8>, coord: &Coord) {
        out.extend(coord.x.to_le_bytes());
        out.extend(coord.y.to_le_bytes());
    }
    fn line(out: &mut Vec<u8>, line: &LineString) {
        put_count(out, line.0.len());
        line.0.iter().for_each(|c| coord(out, c));
    }
    match geometry {
        Geometry::Point(point) => out.extend(write_wkb_point(point.x(), point.y())),
        Geometry::LineString(string) => {
            head(out, 2);
            line(out, string);
        }
        Geometry::Polygon(polygon) => {
            head(out, 3);
            let empty = polygon.exterior().0.is_empty();
            put_count(
                out,
                if empty {
                    0
                } else {
                    1 + polygon.interiors().len()
                },
            );
            if !empty {
                line(out, polygon.exterior());
                polygon.interiors().iter().for_each(|ring| line(out, ring));
            }
        }
        Geometry::MultiPoint(many) => {
            head(out, 4);
            put_count(out, many.0.len());
            many.0
                .iter()
                .for_each(|one| put_geometry(&Geometry::Point(*one), out));
        }
        Geometry::MultiLineString(many) => {
            head(out, 5);
            put_count(out, many.0.len());
            many.0
                .iter()
                .for_each(|one| put_geometry(&Geometry::LineString(one.clone()), out));
        }
        Geometry::MultiPolygon(many) => {
            head(out, 6);
            put_count(out, many.0.len());
            many.0
                .iter()
                .for_each(|one| put_geometry(&Geometry::Polygon(one.clone()), out));
        }
        Geometry::GeometryCollection(many) => {
            head(out, 7);
            put_count(out, many.0.len());
            many.0.iter().for_each(|one| put_geometry(one, out));
        }
        Geometry::Line(one) => put_geometry(
            &Geometry::LineString(LineString(vec![one.start, one.end])),
            out,
        ),
        Geometry::Rect(one) => put_geometry(&Geometry::Polygon(one.to_polygon()), out),
        Geometry::Triangle(one) => put_geometry(&Geometry::Polygon(one.to_polygon()), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_not_those_of_members_that_no_geometry_may_have() {
        let point = [
            &[1, 1, 0, 0, 0][..],
            &1f64.to_le_bytes(),
            &2f64.to_le_bytes(),
        ]
        .concat();
        let line = [&[1, 2, 0, 0, 0, 1, 0, 0, 0][..], &point[5..]].concat();
        for (kind, member, whole) in [
            (4, &point, true),
            (4, &line, false),
            (5, &line, true),
            (5, &point, false),
            (6, &line, false),
        ] {
            let wkb = [&[1, kind, 0, 0, 0, 1, 0, 0, 0][..], member].concat();
            assert_eq!(
                (parse_wkb(&wkb).is_some(), wkb_bounds(&wkb).is_some()),
                (whole, whole),
                "{kind}"
            );
            let collection = [&[1, 7, 0, 0, 0, 1, 0, 0, 0][..], member].concat();
            assert!(parse_wkb(&collection).is_some() && wkb_bounds(&collection).is_some());
        }
    }

    #[test]
    fn holes_without_a_polygon_around_them_are_damage() {
        let polygon = |rings: &[u32]| {
            let mut bytes = vec![1, 3, 0, 0, 0];
            bytes.extend((rings.len() as u32).to_le_bytes());
            for places in rings {
                bytes.extend(places.to_le_bytes());
                bytes.extend(
                    std::iter::repeat_n(1.0f64.to_le_bytes(), 2 * *places as usize).flatten(),
                );
            }
            bytes
        };
        for (rings, whole) in [
            (&[4, 4][..], true),
            (&[0, 0], true),
            (&[], true),
            (&[4, 0], true),
            (&[0, 4], false),
            (&[0, 0, 1], false),
        ] {
            let wkb = polygon(rings);
            assert_eq!(parse_wkb(&wkb).is_some(), whole, "{rings:?}");
            assert_eq!(
                wkb_bounds(&wkb).is_some(),
                whole && rings.first().is_some_and(|places| *places > 0),
                "{rings:?}"
            );
        }
    }

    fn square(kind: u32, further: usize) -> Vec<u8> {
        let mut bytes = vec![1];
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(5u32.to_le_bytes());
        for (x, y) in [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (0.0, 0.0)] {
            let numbers: Vec<f64> = [x, y]
                .into_iter()
                .chain(std::iter::repeat_n(7.0, further))
                .collect();
            numbers
                .iter()
                .for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    /// Bounds and geometry accept the same bytes for both notations of Z and M.
    #[test]
    fn bounds_and_geometries_agree_on_every_spelling() {
        let spelled = [
            (3, 0),
            (1003, 1),
            (2003, 1),
            (3003, 2),
            (0x8000_0003, 1),
            (0xC000_0003, 2),
            (0x8000_0000 | 1003, 1),
        ];
        for (kind, further) in spelled {
            let wkb = square(kind, further);
            assert_eq!(wkb_bounds(&wkb), Some([0.0, 0.0, 2.0, 2.0]), "{kind:#x}");
            assert!(
                matches!(
                    parse_wkb(&wkb),
                    Some(Geometry::Polygon(square)) if square.exterior().0.len() == 5
                ),
                "{kind:#x}"
            );
            for cut in 0..wkb.len() {
                assert!(
                    wkb_bounds(&wkb[..cut]).is_none() && parse_wkb(&wkb[..cut]).is_none(),
                    "{kind:#x} cut at {cut}"
                );
            }
            let longer = [wkb.as_slice(), &[0]].concat();
            assert!(
                wkb_bounds(&longer).is_none() && parse_wkb(&longer).is_none(),
                "{kind:#x}"
            );
        }
    }
}
