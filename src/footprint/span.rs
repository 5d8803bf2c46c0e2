//! Boxes on the circle of longitudes: the smallest around shapes, the smallest around boxes, and
//! whether something touches one.

use geo::{Coord, Geometry, Intersects, LineString, MultiPolygon, Point, Polygon, Rect};
use serde_json::Value as Json;

use super::{Footprint, PlaceSource, Unfolded};
use crate::table::{parse_wkb, wkb_point};

/// `[west, south, east, north]` in degrees, longitudes within ±180; west > east across the
/// antimeridian.
pub type BoxOfDegrees = [f64; 4];

/// Degrees of a footprint from which its corners say little of its edges.
const WIDE: f64 = 20.0;
/// Latitude from which its corners say little of its edges.
const POLAR: f64 = 80.0;
/// Share of a smaller footprint's size by which its edges bend at the most.
const BEND: f64 = 0.25;
/// Gaps below this many degrees between boxes are none: they come of rounding.
const CLOSED: f64 = 1e-9;

/// The box in the field `spatial` of a collection's extent. `None` where it is missing or is no
/// box: four numbers, longitudes within ±180 and latitudes within ±90 degrees, south not greater
/// than north (TACO 2.0, section 5.5.2).
pub fn box_of_extent(extent: &Json) -> Option<BoxOfDegrees> {
    let numbers: Option<Vec<f64>> = extent
        .get("spatial")?
        .as_array()?
        .iter()
        .map(Json::as_f64)
        .collect();
    let [west, south, east, north]: BoxOfDegrees = numbers?.try_into().ok()?;
    let is_box = west.abs() <= 180.0
        && east.abs() <= 180.0
        && south >= -90.0
        && south <= north
        && north <= 90.0;
    is_box.then_some([west, south, east, north])
}

/// A longitude within ±180; ±180 stays as it is.
pub(super) fn wrap_longitude(lon: f64) -> f64 {
    if (-180.0..=180.0).contains(&lon) {
        lon
    } else {
        (lon + 180.0).rem_euclid(360.0) - 180.0
    }
}

/// The smallest box around a shape; `None` for an empty one.
pub(super) fn box_of(shape: &Unfolded) -> Option<BoxOfDegrees> {
    let areas = shape
        .areas
        .iter()
        .filter_map(|rings| rings.first())
        .map(Vec::as_slice);
    let lines = shape.lines.iter().map(Vec::as_slice);
    let points = shape.points.iter().map(std::slice::from_ref);
    let mut spans: Vec<[f64; 2]> = Vec::new();
    let (mut south, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
    for part in areas
        .chain(lines)
        .chain(points)
        .filter(|part| !part.is_empty())
    {
        let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
        for &[lon, lat] in part {
            (west, east) = (west.min(lon), east.max(lon));
            (south, north) = (south.min(lat), north.max(lat));
        }
        spans.push([west, east]);
    }
    let [west, east] = arc_of(&spans)?;
    Some([west, south, east, north])
}

/// The smallest box around several; `None` without one.
pub fn enclosing_box(boxes: impl Iterator<Item = BoxOfDegrees>) -> Option<BoxOfDegrees> {
    let mut spans: Vec<[f64; 2]> = Vec::new();
    let (mut south, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
    for [west, low, east, high] in boxes {
        (south, north) = (south.min(low), north.max(high));
        spans.push([west, if west > east { east + 360.0 } else { east }]);
    }
    let [west, east] = arc_of(&spans)?;
    Some([west, south, east, north])
}

/// The shortest arc of the circle that holds every span: what is left without its widest gap. It
/// only crosses the antimeridian where that makes it shorter, or where a span does.
fn arc_of(spans: &[[f64; 2]]) -> Option<[f64; 2]> {
    let mut cut: Vec<[f64; 2]> = Vec::with_capacity(spans.len() + 1);
    for &[west, east] in spans {
        if east - west >= 360.0 - CLOSED {
            return Some([-180.0, 180.0]);
        }
        let turn = if (-180.0..=180.0).contains(&west) {
            0.0
        } else {
            ((west + 180.0) / 360.0).floor() * 360.0
        };
        let (west, east) = (west - turn, east - turn);
        if east > 180.0 {
            cut.extend([[west, 180.0], [-180.0, east - 360.0]]);
        } else {
            cut.push([west, east]);
        }
    }
    cut.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let first = cut.first()?[0];
    let mut reach = f64::NEG_INFINITY;
    // The widest gap between neighbours: its width, where it ends, where it begins.
    let mut widest: Option<(f64, f64, f64)> = None;
    for [west, east] in cut {
        if reach.is_finite() && west - reach > widest.map_or(CLOSED, |gap| gap.0) {
            widest = Some((west - reach, west, reach));
        }
        reach = reach.max(east);
    }
    let outside = 360.0 - (reach - first);
    Some(match widest {
        Some((gap, west, east)) if gap > outside => [west, east],
        _ => [first, reach],
    })
}

/// A box as polygons in ±180 degrees, or as a point where it has no size.
pub fn box_polygon([west, south, east, north]: BoxOfDegrees) -> Geometry<f64> {
    if west == east && south == north {
        return Geometry::Point((west, south).into());
    }
    if west > east {
        return Geometry::MultiPolygon(MultiPolygon(vec![
            make_box([west, south, 180.0, north]),
            make_box([-180.0, south, east, north]),
        ]));
    }
    Geometry::Polygon(make_box([west, south, east, north]))
}

fn make_box([west, south, east, north]: BoxOfDegrees) -> Polygon<f64> {
    let ring = vec![
        (west, south),
        (east, south),
        (east, north),
        (west, north),
        (west, south),
    ];
    Polygon::new(LineString::from(ring), Vec::new())
}

/// A box in the forms in which footprints may touch it, with a polygon that they have to touch,
/// too, if there is one; edges belong to both.
#[derive(Clone, Debug)]
pub struct Boxes {
    parts: Vec<Rect>,
    /// The polygon on each turn around the globe; empty without one.
    polygons: Vec<Polygon>,
}

impl Boxes {
    /// West, south, east, north in degrees; with west greater than east the box crosses the
    /// antimeridian, and so does what a box has beyond 180 degrees.
    pub fn new([west, south, east, north]: [f64; 4]) -> Self {
        let one = |west: f64, east: f64| {
            Rect::new(Coord { x: west, y: south }, Coord { x: east, y: north })
        };
        let east = if west > east { east + 360.0 } else { east };
        if east - west >= 360.0 {
            return Self {
                parts: vec![one(-180.0, 180.0)],
                polygons: Vec::new(),
            };
        }
        let turn = ((west + 180.0) / 360.0).floor() * 360.0;
        let (west, east) = (west - turn, east - turn);
        let mut boxes = vec![one(west, east.min(180.0))];
        // -180 and 180 are one meridian.
        if east >= 180.0 {
            boxes.push(one(-180.0, east - 360.0));
        }
        if west == -180.0 {
            boxes.push(one(180.0, 180.0));
        }
        Self {
            parts: boxes,
            polygons: Vec::new(),
        }
    }

    /// The box with a polygon of these corners, longitude and latitude in degrees. Longitudes are
    /// continuous where it crosses the antimeridian: 190 comes after 170.
    pub fn with_polygon(mut self, corners: &[[f64; 2]]) -> Self {
        self.polygons.clear();
        for turn in [-360.0, 0.0, 360.0] {
            let ring = corners.iter().map(|&[x, y]| Coord { x: x + turn, y });
            self.polygons.push(Polygon::new(ring.collect(), Vec::new()));
        }
        self
    }

    /// True when a geometry touches the polygon, or there is none.
    fn polygon_touches<G>(&self, geometry: &G) -> bool
    where
        G: Intersects<Polygon>,
    {
        self.polygons.is_empty()
            || self
                .polygons
                .iter()
                .any(|polygon| geometry.intersects(polygon))
    }

    /// West, south, east, north of its parts, each within ±180 degrees.
    pub fn corners(&self) -> Vec<[f64; 4]> {
        self.parts
            .iter()
            .map(|part| [part.min().x, part.min().y, part.max().x, part.max().y])
            .collect()
    }

    /// True when a WKB geometry in degrees touches the box, or a point as text; never for damaged
    /// bytes.
    pub fn touch(&self, wkb: &[u8]) -> bool {
        match wkb_point(wkb) {
            Some((x, y)) => self.holds([x, y]),
            None => parse_wkb(wkb).is_some_and(|geometry| self.touch_geometry(&geometry)),
        }
    }

    /// True when a geometry in degrees touches the box.
    pub fn touch_geometry(&self, geometry: &Geometry) -> bool {
        self.parts.iter().any(|rect| geometry.intersects(rect)) && self.polygon_touches(geometry)
    }

    /// True when a point is in the box.
    pub fn holds(&self, [x, y]: [f64; 2]) -> bool {
        let is_in = |b: &Rect| x >= b.min().x && x <= b.max().x && y >= b.min().y && y <= b.max().y;
        self.parts.iter().any(is_in) && self.polygon_touches(&Point::new(x, y))
    }

    /// Whether a shape touches the box, as far as its corners show it: its edges may bend by a part
    /// of its size. `None` where they do not.
    pub(super) fn touch_corners(&self, shape: &Unfolded) -> Option<bool> {
        if shape.source == PlaceSource::Centroid {
            return shape
                .points
                .first()
                .map(|&[x, y]| self.holds([wrap_longitude(x), y]));
        }
        let [west, south, east, north] = box_of(shape)?;
        let width = if west > east {
            east + 360.0 - west
        } else {
            east - west
        };
        let wide = width > WIDE || north - south > WIDE || north > POLAR || south < -POLAR;
        if wide {
            return None;
        }
        let bend = (width.max(north - south)) * BEND;
        let (low, high) = (south - bend, north + bend);
        let near = self.parts.iter().any(|rect| {
            let spans =
                [-360.0, 0.0, 360.0].map(|turn| [west - bend + turn, west + width + bend + turn]);
            rect.max().y >= low
                && rect.min().y <= high
                && spans
                    .iter()
                    .any(|span| rect.max().x >= span[0] && rect.min().x <= span[1])
        });
        if !near {
            return Some(false);
        }
        let mut corners = shape
            .areas
            .iter()
            .flatten()
            .chain(&shape.lines)
            .flatten()
            .chain(&shape.points);
        corners
            .any(|&[x, y]| self.holds([wrap_longitude(x), y]))
            .then_some(true)
    }

    /// True when a footprint touches the box.
    pub fn touch_footprint(&self, footprint: &Footprint) -> bool {
        match &footprint.geometry {
            Geometry::Point(point) => self.holds([point.x(), point.y()]),
            geometry => {
                let mut parts = self
                    .parts
                    .iter()
                    .filter(|rect| overlaps_box(rect, footprint.bbox));
                parts.any(|rect| geometry.intersects(rect)) && self.polygon_touches(geometry)
            }
        }
    }
}

/// False for a rectangle apart from a box. One across the antimeridian is judged by its latitudes
/// alone.
fn overlaps_box(rect: &Rect, [west, south, east, north]: BoxOfDegrees) -> bool {
    let outside = rect.max().y < south || rect.min().y > north;
    let apart = west <= east && (rect.max().x < west || rect.min().x > east);
    !(outside || apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_arc_leaves_out_the_widest_gap() {
        let boxes = |list: &[[f64; 2]]| {
            enclosing_box(list.iter().map(|&[west, east]| [west, 0.0, east, 1.0]))
        };
        assert_eq!(
            boxes(&[[-10.0, -9.0], [20.0, 21.0]]),
            Some([-10.0, 0.0, 21.0, 1.0])
        );
        assert_eq!(
            boxes(&[[178.0, 179.0], [-178.0, -177.0]]),
            Some([178.0, 0.0, -177.0, 1.0])
        );
        assert_eq!(
            boxes(&[[179.0, -179.0], [170.0, 171.0]]),
            Some([170.0, 0.0, -179.0, 1.0])
        );
        assert_eq!(
            boxes(&[[-180.0, 0.0], [0.0, 180.0]]),
            Some([-180.0, 0.0, 180.0, 1.0])
        );
        assert_eq!(boxes(&[[5.0, 5.0]]), Some([5.0, 0.0, 5.0, 1.0]));
        assert_eq!(
            boxes(&[[-180.0, 180.0], [1.0, 2.0]]),
            Some([-180.0, 0.0, 180.0, 1.0])
        );
        assert_eq!(boxes(&[]), None);
    }

    #[test]
    fn polygons_are_smaller_than_their_boxes() {
        let triangle = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]];
        let boxes = Boxes::new([0.0, 0.0, 10.0, 10.0]).with_polygon(&triangle);
        for (point, is_in) in [
            ([1.0, 1.0], true),
            ([5.0, 5.0], true),
            ([9.0, 9.0], false),
            ([-1.0, 1.0], false),
        ] {
            assert_eq!(boxes.holds(point), is_in, "{point:?}");
        }
        let square = |from: f64, to: f64| {
            let rect = Rect::new(Coord { x: from, y: from }, Coord { x: to, y: to });
            Geometry::Polygon(rect.to_polygon())
        };
        assert!(boxes.touch_geometry(&square(4.0, 9.0)));
        assert!(!boxes.touch_geometry(&square(6.0, 9.0)));
        // Across the antimeridian.
        let triangle = [[170.0, 0.0], [190.0, 0.0], [180.0, 10.0]];
        let boxes = Boxes::new([170.0, 0.0, 190.0, 10.0]).with_polygon(&triangle);
        for (point, is_in) in [
            ([-179.0, 1.0], true),
            ([179.0, 1.0], true),
            ([-171.0, 9.0], false),
        ] {
            assert_eq!(boxes.holds(point), is_in, "{point:?}");
        }
    }

    #[test]
    fn boxes_reach_across_the_antimeridian() {
        for (b, x, expected) in [
            ([170.0, -1.0, -170.0, 1.0], 175.0, true),
            ([170.0, -1.0, -170.0, 1.0], -175.0, true),
            ([170.0, -1.0, -170.0, 1.0], 0.0, false),
            ([173.5, -1.0, 183.5, 1.0], 178.5, true),
            ([173.5, -1.0, 183.5, 1.0], -177.0, true),
            ([173.5, -1.0, 183.5, 1.0], -176.0, false),
            ([-185.0, -1.0, -179.0, 1.0], 176.0, true),
            ([-185.0, -1.0, -179.0, 1.0], 174.0, false),
            ([190.0, -1.0, 200.0, 1.0], -165.0, true),
            ([190.0, -1.0, 200.0, 1.0], -175.0, false),
            ([170.0, -1.0, 180.0, 1.0], -180.0, true),
            ([-180.0, -1.0, -170.0, 1.0], 180.0, true),
            ([-180.0, -1.0, 180.0, 1.0], 180.0, true),
            ([0.0, -1.0, 360.0, 1.0], -20.0, true),
            ([1.0, -1.0, 1.0, 1.0], 1.0, true),
        ] {
            assert_eq!(Boxes::new(b).holds([x, 0.0]), expected, "{b:?} {x}");
        }
    }
}
