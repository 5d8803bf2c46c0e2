//! Outline of a WKB geometry, for drawing.

use geo::{Area, Geometry, LineString};

use crate::table::parse_wkb;

/// Exterior ring of the largest polygon without the closing point, the points of a line, or one point. `None` for invalid or empty
/// geometries.
pub fn outline(wkb: &[u8]) -> Option<Vec<[f64; 2]>> {
    fn points(line: &LineString) -> Vec<[f64; 2]> {
        let mut points: Vec<[f64; 2]> = line.0.iter().map(|at| [at.x, at.y]).collect();
        if points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        points
    }
    let ring = match parse_wkb(wkb)? {
        Geometry::Point(point) => vec![[point.x(), point.y()]],
        Geometry::Polygon(polygon) => points(polygon.exterior()),
        Geometry::MultiPolygon(many) => {
            points(many.0.iter().max_by(|a, b| a.unsigned_area().total_cmp(&b.unsigned_area()))?.exterior())
        }
        Geometry::LineString(line) => points(&line),
        Geometry::MultiPoint(many) => many.0.iter().map(|point| [point.x(), point.y()]).collect(),
        Geometry::MultiLineString(many) => points(many.0.first()?),
        _ => return None,
    };
    (!ring.is_empty()).then_some(ring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::{Coord, Point, Rect};

    #[test]
    fn rings_are_open_and_damage_is_nothing() {
        let square = Rect::new(Coord { x: 1.0, y: 2.0 }, Coord { x: 3.0, y: 4.0 }).to_polygon();
        let ring = outline(&super::super::geometry::write(&square.into())).expect("has a ring");
        assert_eq!(ring.len(), 4);
        let point = outline(&super::super::geometry::write(&Point::new(5.0, 6.0).into()));
        assert_eq!(point, Some(vec![[5.0, 6.0]]));
        assert_eq!(outline(&[1, 3, 0]), None);
    }
}
