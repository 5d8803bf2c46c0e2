//! Polygons from WKB, and the point-in-polygon test. Other geometry types are ignored.

use geo::{Coord, Geometry, Intersects, MultiPolygon};

use crate::table::parse_wkb;

/// True when a polygon or multipolygon contains the point (x, y), including its border. False for
/// other geometries and invalid WKB.
pub fn holds(wkb: &[u8], x: f64, y: f64) -> bool {
    polygons_of(wkb).is_some_and(|polygons| polygons.intersects(&Coord { x, y }))
}

/// A POLYGON or MULTIPOLYGON, with or without Z and M, in either byte order.
pub fn polygons_of(wkb: &[u8]) -> Option<MultiPolygon<f64>> {
    match parse_wkb(wkb)? {
        Geometry::Polygon(polygon) => Some(polygon.into()),
        Geometry::MultiPolygon(polygons) => Some(polygons),
        _ => None,
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
            let numbers: Vec<f64> = [x, y]
                .into_iter()
                .chain(std::iter::repeat_n(7.0, extra))
                .collect();
            numbers
                .iter()
                .for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    #[test]
    fn every_spelling_of_a_polygon() {
        for (kind, extra) in [(3, 0), (1003, 1), (3003, 2), (0x8000_0003, 1)] {
            let wkb = square(kind, extra);
            assert!(
                holds(&wkb, 1.0, 1.0) && holds(&wkb, 2.0, 1.0) && !holds(&wkb, 2.1, 1.0),
                "{kind}"
            );
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
