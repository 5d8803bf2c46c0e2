//! A polygon as people have it: WKT, GeoJSON, or a list of corners.

use geo::{Geometry, Polygon};
use serde_json::Value as Json;

use super::geometry::from_text;
use crate::error::{Error, Result};
use crate::table::geojson_geometry;

/// The corners of one polygon without holes, longitude and latitude in degrees: of WKT
/// (`POLYGON ((10 40, 20 40, 15 50, 10 40))`), of GeoJSON (a geometry, a feature, or a collection
/// of one), or of a list (`10,40 20,40 15,50`).
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for other text, several polygons, and holes.
pub fn polygon_from_text(text: &str) -> Result<Vec<[f64; 2]>> {
    let text = text.trim();
    let geometry = if text.starts_with('{') {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| Error::usage("the polygon is no JSON").because(error))?;
        geometry_of(&json).and_then(geojson_geometry)
    } else if text.contains('(') {
        from_text(text)
    } else {
        return corners_of_list(text);
    };
    match geometry.as_ref() {
        Some(Geometry::Polygon(polygon)) => corners_of(polygon),
        Some(Geometry::MultiPolygon(polygons)) if polygons.0.len() == 1 => {
            corners_of(&polygons.0[0])
        }
        Some(_) => Err(Error::usage("the shape is not one polygon")
            .hint("give one polygon at a time, or a box that is around all")),
        None => Err(not_a_polygon()),
    }
}

fn not_a_polygon() -> Error {
    Error::usage("this is not a polygon").hint(
        "write its corners as LON,LAT LON,LAT LON,LAT, as WKT or as GeoJSON, or name a file with \
            one",
    )
}

/// The only geometry of a GeoJSON document.
fn geometry_of(json: &Json) -> Option<&Json> {
    match json.get("type")?.as_str()? {
        "Feature" => json.get("geometry"),
        "FeatureCollection" => match json.get("features")?.as_array()?.as_slice() {
            [only] => only.get("geometry"),
            _ => None,
        },
        _ => Some(json),
    }
}

/// The ring without its repeated last corner.
fn corners_of(polygon: &Polygon) -> Result<Vec<[f64; 2]>> {
    if !polygon.interiors().is_empty() {
        return Err(
            Error::usage("the polygon has holes, which a filter does not have").hint(
                "give its outer ring, and leave out what is in the holes by another condition",
            ),
        );
    }
    let mut corners: Vec<[f64; 2]> = polygon
        .exterior()
        .coords()
        .map(|corner| [corner.x, corner.y])
        .collect();
    if corners.len() > 1 && corners.first() == corners.last() {
        corners.pop();
    }
    Ok(corners)
}

/// `10,40 20,40 15,50`, or the same numbers with commas alone.
fn corners_of_list(text: &str) -> Result<Vec<[f64; 2]>> {
    let numbers: Option<Vec<f64>> = text
        .split(|c: char| c == ',' || c == ';' || c.is_whitespace())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect();
    let mut corners: Vec<[f64; 2]> = match numbers {
        Some(numbers) if numbers.len() >= 6 && numbers.len().is_multiple_of(2) => numbers
            .chunks_exact(2)
            .map(|pair| [pair[0], pair[1]])
            .collect(),
        _ => return Err(not_a_polygon()),
    };
    if corners.first() == corners.last() {
        corners.pop();
    }
    Ok(corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polygon_is_read_in_each_form() {
        let corners = [[10.0, 40.0], [20.0, 40.0], [15.0, 50.5]];
        let ring = "[[10,40],[20,40],[15,50.5],[10,40]]";
        let polygon = format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#);
        let feature = format!(r#"{{"type":"Feature","properties":{{}},"geometry":{polygon}}}"#);
        for text in [
            "10,40 20,40 15,50.5".to_owned(),
            "10,40,20,40,15,50.5,10,40".to_owned(),
            "10 40; 20 40; 15 50.5".to_owned(),
            "POLYGON ((10 40, 20 40, 15 50.5, 10 40))".to_owned(),
            "multipolygon(((10 40, 20 40, 15 50.5, 10 40)))".to_owned(),
            polygon.clone(),
            feature.clone(),
            format!(r#"{{"type":"FeatureCollection","features":[{feature}]}}"#),
            format!(r#"{{"type":"MultiPolygon","coordinates":[[{ring}]]}}"#),
        ] {
            assert_eq!(
                polygon_from_text(&text).expect("a polygon"),
                corners,
                "{text}"
            );
        }
    }

    #[test]
    fn other_shapes_and_texts_are_refused_with_a_way_out() {
        for (text, reason) in [
            ("", "not a polygon"),
            ("10,40 20,40", "not a polygon"),
            ("10,40 20,40 15", "not a polygon"),
            ("a.geojson", "not a polygon"),
            ("POINT (1 2)", "not one polygon"),
            (
                "POLYGON ((0 0, 9 0, 9 9, 0 0), (1 1, 2 1, 2 2, 1 1))",
                "holes",
            ),
            (
                "MULTIPOLYGON (((0 0, 9 0, 9 9, 0 0)), ((0 0, 9 0, 9 9, 0 0)))",
                "not one polygon",
            ),
            (
                r#"{"type":"FeatureCollection","features":[]}"#,
                "not a polygon",
            ),
            ("{", "no JSON"),
        ] {
            let error = polygon_from_text(text).expect_err("is none").to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
