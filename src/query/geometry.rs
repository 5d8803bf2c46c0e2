//! Converts between WKB, WKT and `geo` geometries, and tests bounding boxes. Counts are checked against the available bytes before
//! allocation; non-finite coordinates make a geometry invalid. Never panics on any input.

use std::fmt::Write as _;

use crate::table::{parse_wkb, wkb_point};
use geo::{
    Coord, Geometry, GeometryCollection, Intersects, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon, Rect,
};

/// Maximum nesting of geometry collections.
const NESTING: u8 = 8;

/// Closed bounding boxes; two when one crosses the antimeridian.
#[derive(Clone, Debug)]
pub(super) struct Boxes(Vec<Rect>);

impl Boxes {
    /// From `[west, south, east, north]` in degrees. A box crosses the antimeridian when west > east, or when it extends beyond
    /// ±180 degrees.
    pub fn new([west, south, east, north]: [f64; 4]) -> Self {
        let one = |west: f64, east: f64| Rect::new(Coord { x: west, y: south }, Coord { x: east, y: north });
        if west > east {
            return Self(vec![one(west, 180.0), one(-180.0, east)]);
        }
        let mut boxes = vec![one(west, east)];
        if east > 180.0 {
            boxes.push(one(-180.0, east - 360.0));
        }
        if west < -180.0 {
            boxes.push(one(west + 360.0, 180.0));
        }
        Self(boxes)
    }

    /// True when the geometry intersects a box; false for invalid WKB.
    pub fn touch(&self, wkb: &[u8]) -> bool {
        match wkb_point(wkb) {
            Some((x, y)) => self.0.iter().any(|b| x >= b.min().x && x <= b.max().x && y >= b.min().y && y <= b.max().y),
            None => parse_wkb(wkb).is_some_and(|geometry| self.0.iter().any(|rect| geometry.intersects(rect))),
        }
    }
}

/// Encodes a geometry as little-endian WKB.
pub fn write(geometry: &Geometry) -> Vec<u8> {
    let mut out = Vec::new();
    put(geometry, &mut out);
    out
}

fn put(geometry: &Geometry, out: &mut Vec<u8>) {
    fn head(out: &mut Vec<u8>, code: u32) {
        out.push(1);
        out.extend(code.to_le_bytes());
    }
    fn counted(out: &mut Vec<u8>, count: usize) {
        out.extend((count as u32).to_le_bytes());
    }
    fn coord(out: &mut Vec<u8>, coord: &Coord) {
        out.extend(coord.x.to_le_bytes());
        out.extend(coord.y.to_le_bytes());
    }
    fn line(out: &mut Vec<u8>, line: &LineString) {
        counted(out, line.0.len());
        line.0.iter().for_each(|c| coord(out, c));
    }
    match geometry {
        Geometry::Point(point) => {
            head(out, 1);
            coord(out, &point.0);
        }
        Geometry::LineString(string) => {
            head(out, 2);
            line(out, string);
        }
        Geometry::Polygon(polygon) => {
            head(out, 3);
            let empty = polygon.exterior().0.is_empty();
            counted(out, if empty { 0 } else { 1 + polygon.interiors().len() });
            if !empty {
                line(out, polygon.exterior());
                polygon.interiors().iter().for_each(|ring| line(out, ring));
            }
        }
        Geometry::MultiPoint(many) => {
            head(out, 4);
            counted(out, many.0.len());
            many.0.iter().for_each(|one| put(&Geometry::Point(*one), out));
        }
        Geometry::MultiLineString(many) => {
            head(out, 5);
            counted(out, many.0.len());
            many.0.iter().for_each(|one| put(&Geometry::LineString(one.clone()), out));
        }
        Geometry::MultiPolygon(many) => {
            head(out, 6);
            counted(out, many.0.len());
            many.0.iter().for_each(|one| put(&Geometry::Polygon(one.clone()), out));
        }
        Geometry::GeometryCollection(many) => {
            head(out, 7);
            counted(out, many.0.len());
            many.0.iter().for_each(|one| put(one, out));
        }
        Geometry::Line(one) => put(&Geometry::LineString(LineString(vec![one.start, one.end])), out),
        Geometry::Rect(one) => put(&Geometry::Polygon(one.to_polygon()), out),
        Geometry::Triangle(one) => put(&Geometry::Polygon(one.to_polygon()), out),
    }
}

/// Formats a geometry as WKT.
pub(super) fn to_text(geometry: &Geometry) -> String {
    fn coords(line: &LineString) -> String {
        let each: Vec<String> = line.0.iter().map(|c| format!("{} {}", c.x, c.y)).collect();
        format!("({})", each.join(", "))
    }
    fn rings(polygon: &Polygon) -> String {
        let all: Vec<String> = std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(coords).collect();
        format!("({})", all.join(", "))
    }
    fn listed(name: &str, parts: Vec<String>) -> String {
        if parts.is_empty() { format!("{name} EMPTY") } else { format!("{name} ({})", parts.join(", ")) }
    }
    let mut out = String::new();
    let _ = match geometry {
        Geometry::Point(point) => write!(out, "POINT ({} {})", point.x(), point.y()),
        Geometry::LineString(line) if line.0.is_empty() => write!(out, "LINESTRING EMPTY"),
        Geometry::LineString(line) => write!(out, "LINESTRING {}", coords(line)),
        Geometry::Polygon(polygon) if polygon.exterior().0.is_empty() => write!(out, "POLYGON EMPTY"),
        Geometry::Polygon(polygon) => write!(out, "POLYGON {}", rings(polygon)),
        Geometry::MultiPoint(many) => {
            write!(out, "{}", listed("MULTIPOINT", many.0.iter().map(|p| format!("{} {}", p.x(), p.y())).collect()))
        }
        Geometry::MultiLineString(many) => write!(out, "{}", listed("MULTILINESTRING", many.0.iter().map(coords).collect())),
        Geometry::MultiPolygon(many) => write!(out, "{}", listed("MULTIPOLYGON", many.0.iter().map(rings).collect())),
        Geometry::GeometryCollection(many) => {
            write!(out, "{}", listed("GEOMETRYCOLLECTION", many.0.iter().map(to_text).collect()))
        }
        Geometry::Line(one) => write!(out, "LINESTRING {}", coords(&LineString(vec![one.start, one.end]))),
        Geometry::Rect(one) => write!(out, "POLYGON {}", rings(&one.to_polygon())),
        Geometry::Triangle(one) => write!(out, "POLYGON {}", rings(&one.to_polygon())),
    };
    out
}

/// Parses two-dimensional WKT: any case, MULTIPOINT with or without inner parentheses. `None` for invalid text.
pub(super) fn from_text(text: &str) -> Option<Geometry> {
    let mut words = Words { rest: text.trim() };
    let geometry = words.geometry(NESTING)?;
    words.rest.trim().is_empty().then_some(geometry)
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn mark(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(mark);
        self.rest = found.unwrap_or(rest);
        found.is_some()
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let before = self.rest;
        if self.word().eq_ignore_ascii_case("empty") {
            return Some(Vec::new());
        }
        self.rest = before;
        if !self.mark('(') {
            return None;
        }
        let mut found = vec![item(self)?];
        while self.mark(',') {
            found.push(item(self)?);
        }
        self.mark(')').then_some(found)
    }

    fn number(&mut self) -> Option<f64> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn coord(&mut self) -> Option<Coord> {
        Some(Coord { x: self.number()?, y: self.number()? })
    }

    fn line(&mut self) -> Option<LineString> {
        self.list(Self::coord).map(LineString)
    }

    fn polygon(&mut self) -> Option<Polygon> {
        let mut rings = self.list(Self::line)?.into_iter();
        Some(Polygon::new(rings.next().unwrap_or_else(|| LineString(Vec::new())), rings.collect()))
    }

    fn bracketed_point(&mut self) -> Option<Point> {
        let bracket = self.mark('(');
        let coord = self.coord()?;
        (!bracket || self.mark(')')).then_some(Point(coord))
    }

    fn geometry(&mut self, nesting: u8) -> Option<Geometry> {
        let nesting = nesting.checked_sub(1)?;
        Some(match self.word().to_ascii_uppercase().as_str() {
            "POINT" => Point(self.list(Self::coord)?.into_iter().next()?).into(),
            "LINESTRING" => self.line()?.into(),
            "POLYGON" => self.polygon()?.into(),
            "MULTIPOINT" => MultiPoint(self.list(Self::bracketed_point)?).into(),
            "MULTILINESTRING" => MultiLineString(self.list(Self::line)?).into(),
            "MULTIPOLYGON" => MultiPolygon(self.list(Self::polygon)?).into(),
            "GEOMETRYCOLLECTION" => Geometry::GeometryCollection(GeometryCollection(self.list(|words| words.geometry(nesting))?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_reach_across_the_antimeridian() {
        let touched = |b: [f64; 4], x: f64| Boxes::new(b).touch(&write(&Geometry::Point(geo::Point::new(x, 0.0))));
        for (b, x, expected) in [
            ([170.0, -1.0, -170.0, 1.0], 175.0, true),
            ([170.0, -1.0, -170.0, 1.0], -175.0, true),
            ([170.0, -1.0, -170.0, 1.0], 0.0, false),
            ([173.5, -1.0, 183.5, 1.0], 178.5, true),
            ([173.5, -1.0, 183.5, 1.0], -177.0, true),
            ([173.5, -1.0, 183.5, 1.0], -176.0, false),
            ([-185.0, -1.0, -179.0, 1.0], 176.0, true),
            ([-185.0, -1.0, -179.0, 1.0], 174.0, false),
        ] {
            assert_eq!(touched(b, x), expected, "{b:?} {x}");
        }
    }

    const TEXTS: [&str; 7] = [
        "POINT (1.5 -2)",
        "LINESTRING (0 0, 1 1)",
        "POLYGON ((0 0, 4 0, 4 4, 0 0), (1 0.5, 2 0.5, 2 1, 1 0.5))",
        "MULTIPOINT (1 2, 3 4)",
        "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3))",
        "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)))",
        "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1))",
    ];

    #[test]
    fn text_and_bytes_come_back() {
        for text in TEXTS {
            let geometry = from_text(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(to_text(&geometry), text);
            assert_eq!(parse_wkb(&write(&geometry)).as_ref(), Some(&geometry), "{text}");
        }
        assert_eq!(from_text("multipoint((1 2),(3 4))"), from_text(TEXTS[3]));
        for bad in ["", "POINT", "POINT (1)", "POINT (1 2", "POINT (nan 1)", "CIRCLE (1 2)", "POINT (1 2) x"] {
            assert_eq!(from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn damaged_bytes_are_nothing() {
        for text in TEXTS {
            let good = write(&from_text(text).expect("is WKT"));
            for cut in 0..good.len() {
                assert_eq!(parse_wkb(&good[..cut]), None, "{text} cut at {cut}");
            }
            for at in 0..good.len() {
                for value in [0, 1, 7, 0x7F, 0xFF] {
                    let mut bytes = good.clone();
                    bytes[at] = value;
                    Boxes::new([-1.0, -1.0, 1.0, 1.0]).touch(&bytes);
                }
            }
        }
        let deep: Vec<u8> = (0..1000).flat_map(|_| [1, 7, 0, 0, 0, 1, 0, 0, 0]).collect();
        assert_eq!(parse_wkb(&deep), None);
    }

    #[test]
    fn boxes_are_closed_and_cross_the_antimeridian() {
        let point = |x: f64, y: f64| write(&Point::new(x, y).into());
        let fiji = Boxes::new([170.0, -30.0, -170.0, 0.0]);
        assert!(fiji.touch(&point(179.0, -18.0)) && fiji.touch(&point(-170.0, -30.0)) && !fiji.touch(&point(0.0, -18.0)));
        let corner = Boxes::new([4.0, 4.0, 5.0, 5.0]);
        assert!(corner.touch(&write(&from_text(TEXTS[2]).expect("is WKT"))));
        assert!(Boxes::new([1.0, 1.0, 1.0, 1.0]).touch(&point(1.0, 1.0)));
    }
}
