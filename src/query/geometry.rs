//! Geometries between WKT and `geo`. Coordinates that are not finite make a geometry unreadable.
//! Must never panic on any text.

use std::fmt::Write as _;

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point, Polygon,
};
use serde_json::{Value as Json, json};

/// Maximum nesting of geometry collections.
const NESTING: u8 = 8;

/// Formats a geometry as WKT.
pub(super) fn to_text(geometry: &Geometry) -> String {
    fn coords(line: &LineString) -> String {
        let each: Vec<String> = line.0.iter().map(|c| format!("{} {}", c.x, c.y)).collect();
        format!("({})", each.join(", "))
    }
    fn rings(polygon: &Polygon) -> String {
        let all: Vec<String> = std::iter::once(polygon.exterior())
            .chain(polygon.interiors())
            .map(coords)
            .collect();
        format!("({})", all.join(", "))
    }
    fn join_wkt_parts(name: &str, parts: Vec<String>) -> String {
        if parts.is_empty() {
            format!("{name} EMPTY")
        } else {
            format!("{name} ({})", parts.join(", "))
        }
    }
    let mut out = String::new();
    let _ = match geometry {
        Geometry::Point(point) => write!(out, "POINT ({} {})", point.x(), point.y()),
        Geometry::LineString(line) if line.0.is_empty() => write!(out, "LINESTRING EMPTY"),
        Geometry::LineString(line) => write!(out, "LINESTRING {}", coords(line)),
        Geometry::Polygon(polygon) if polygon.exterior().0.is_empty() => {
            write!(out, "POLYGON EMPTY")
        }
        Geometry::Polygon(polygon) => write!(out, "POLYGON {}", rings(polygon)),
        Geometry::MultiPoint(many) => {
            write!(
                out,
                "{}",
                join_wkt_parts(
                    "MULTIPOINT",
                    many.0
                        .iter()
                        .map(|p| format!("{} {}", p.x(), p.y()))
                        .collect()
                )
            )
        }
        Geometry::MultiLineString(many) => write!(
            out,
            "{}",
            join_wkt_parts("MULTILINESTRING", many.0.iter().map(coords).collect())
        ),
        Geometry::MultiPolygon(many) => write!(
            out,
            "{}",
            join_wkt_parts("MULTIPOLYGON", many.0.iter().map(rings).collect())
        ),
        Geometry::GeometryCollection(many) => {
            write!(
                out,
                "{}",
                join_wkt_parts("GEOMETRYCOLLECTION", many.0.iter().map(to_text).collect())
            )
        }
        Geometry::Line(one) => write!(
            out,
            "LINESTRING {}",
            coords(&LineString(vec![one.start, one.end]))
        ),
        Geometry::Rect(one) => write!(out, "POLYGON {}", rings(&one.to_polygon())),
        Geometry::Triangle(one) => write!(out, "POLYGON {}", rings(&one.to_polygon())),
    };
    out
}

/// Formats a geometry as GeoJSON (RFC 7946).
pub(super) fn to_json(geometry: &Geometry) -> Json {
    let point = |at: Coord| json!([at.x, at.y]);
    let of = |name: &str, coordinates: Json| json!({"type": name, "coordinates": coordinates});
    match geometry {
        Geometry::Point(one) => of("Point", point(one.0)),
        Geometry::LineString(one) => of("LineString", list_coordinates(one).into()),
        Geometry::Line(one) => of("LineString", json!([point(one.start), point(one.end)])),
        Geometry::Polygon(one) => of("Polygon", json!(list_ring_coordinates(one))),
        Geometry::Rect(one) => of("Polygon", json!(list_ring_coordinates(&one.to_polygon()))),
        Geometry::Triangle(one) => of("Polygon", json!(list_ring_coordinates(&one.to_polygon()))),
        Geometry::MultiPoint(many) => of(
            "MultiPoint",
            many.0.iter().map(|one| point(one.0)).collect(),
        ),
        Geometry::MultiLineString(many) => of(
            "MultiLineString",
            many.0
                .iter()
                .map(|one| json!(list_coordinates(one)))
                .collect(),
        ),
        Geometry::MultiPolygon(many) => of(
            "MultiPolygon",
            many.0
                .iter()
                .map(|one| json!(list_ring_coordinates(one)))
                .collect(),
        ),
        Geometry::GeometryCollection(many) => {
            json!({
                "type": "GeometryCollection",
                "geometries": many.0.iter().map(to_json).collect::<Vec<_>>(),
            })
        }
    }
}

/// The coordinates of a line in GeoJSON.
fn list_coordinates(line: &LineString) -> Vec<Json> {
    line.0.iter().map(|at| json!([at.x, at.y])).collect()
}

/// The coordinates of the rings of a polygon in GeoJSON, the outer one first.
fn list_ring_coordinates(polygon: &Polygon) -> Vec<Vec<Json>> {
    std::iter::once(polygon.exterior())
        .chain(polygon.interiors())
        .map(list_coordinates)
        .collect()
}

/// Parses two-dimensional WKT: any case, MULTIPOINT with or without inner parentheses. `None` for
/// invalid text.
pub(super) fn from_text(text: &str) -> Option<Geometry> {
    let mut words = WktWords { rest: text.trim() };
    let geometry = words.geometry(NESTING)?;
    words.rest.trim().is_empty().then_some(geometry)
}

struct WktWords<'a> {
    rest: &'a str,
}

impl<'a> WktWords<'a> {
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
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
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    fn coord(&mut self) -> Option<Coord> {
        Some(Coord {
            x: self.number()?,
            y: self.number()?,
        })
    }

    fn line(&mut self) -> Option<LineString> {
        self.list(Self::coord).map(LineString)
    }

    fn polygon(&mut self) -> Option<Polygon> {
        let mut rings = self.list(Self::line)?.into_iter();
        Some(Polygon::new(
            rings.next().unwrap_or_else(|| LineString(Vec::new())),
            rings.collect(),
        ))
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
            "GEOMETRYCOLLECTION" => Geometry::GeometryCollection(GeometryCollection(
                self.list(|words| words.geometry(nesting))?,
            )),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::Boxes;
    use crate::table::{parse_wkb, write_wkb};

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
            assert_eq!(
                parse_wkb(&write_wkb(&geometry)).as_ref(),
                Some(&geometry),
                "{text}"
            );
        }
        assert_eq!(from_text("multipoint((1 2),(3 4))"), from_text(TEXTS[3]));
        for bad in [
            "",
            "POINT",
            "POINT (1)",
            "POINT (1 2",
            "POINT (nan 1)",
            "CIRCLE (1 2)",
            "POINT (1 2) x",
        ] {
            assert_eq!(from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn damaged_bytes_are_nothing() {
        for text in TEXTS {
            let good = write_wkb(&from_text(text).expect("is WKT"));
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
        let deep: Vec<u8> = (0..1000)
            .flat_map(|_| [1, 7, 0, 0, 0, 1, 0, 0, 0])
            .collect();
        assert_eq!(parse_wkb(&deep), None);
    }
}
