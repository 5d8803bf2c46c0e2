//! Geometries of GeoJSON (RFC 7946).

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point, Polygon,
};
use serde_json::Value as Json;

/// A geometry of GeoJSON (RFC 7946); `None` for none and for a damaged one.
pub fn geojson_geometry(json: &Json) -> Option<Geometry> {
    match json.get("geometries").and_then(Json::as_array) {
        Some(members) if json.get("type")?.as_str()? == "GeometryCollection" => {
            let members = members.iter().map(parse_single).collect::<Option<_>>()?;
            Some(Geometry::GeometryCollection(GeometryCollection(members)))
        }
        _ => parse_single(json),
    }
}

/// A geometry that is no collection of others.
fn parse_single(json: &Json) -> Option<Geometry> {
    let coordinates = json.get("coordinates")?;
    Some(match json.get("type")?.as_str()? {
        "Point" => Geometry::Point(Point(parse_position(coordinates)?)),
        "MultiPoint" => Geometry::MultiPoint(MultiPoint::new(
            coordinates
                .as_array()?
                .iter()
                .map(|point| parse_position(point).map(Point))
                .collect::<Option<_>>()?,
        )),
        "LineString" => Geometry::LineString(parse_line(coordinates)?),
        "MultiLineString" => Geometry::MultiLineString(MultiLineString::new(
            coordinates
                .as_array()?
                .iter()
                .map(parse_line)
                .collect::<Option<_>>()?,
        )),
        "Polygon" => Geometry::Polygon(parse_rings(coordinates)?),
        "MultiPolygon" => Geometry::MultiPolygon(MultiPolygon::new(
            coordinates
                .as_array()?
                .iter()
                .map(parse_rings)
                .collect::<Option<_>>()?,
        )),
        _ => return None,
    })
}

fn parse_position(json: &Json) -> Option<Coord> {
    match json.as_array()?.as_slice() {
        [x, y, ..] => Some(Coord {
            x: x.as_f64()?,
            y: y.as_f64()?,
        }),
        _ => None,
    }
}

fn parse_line(json: &Json) -> Option<LineString> {
    let positions = json.as_array()?.iter().map(parse_position);
    Some(LineString::new(positions.collect::<Option<_>>()?))
}

fn parse_rings(json: &Json) -> Option<Polygon> {
    let rings = json.as_array()?.iter().map(parse_line);
    let mut rings = rings.collect::<Option<Vec<_>>>()?.into_iter();
    Some(Polygon::new(rings.next()?, rings.collect()))
}

/// The name of the coordinate system of a FeatureCollection, where it is another than longitude and
/// latitude in degrees: GeoJSON before RFC 7946 could state one.
pub(super) fn other_crs(collection: &Json) -> Option<String> {
    let name = collection
        .get("crs")?
        .get("properties")?
        .get("name")?
        .as_str()?;
    let is_of_degrees = name.ends_with("CRS84") || name.ends_with(":4326");
    (!is_of_degrees).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn geometries_are_those_of_geojson() {
        let square =
            json!({ "type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1, 5], [0, 0]]] });
        assert!(matches!(
            geojson_geometry(&square),
            Some(Geometry::Polygon(polygon)) if polygon.exterior().0.len() == 4
        ));
        assert_eq!(
            geojson_geometry(&json!({ "type": "Polygon", "coordinates": [[["x"]]] })),
            None
        );
        assert_eq!(geojson_geometry(&Json::Null), None);
        let collection =
            |members: Json| json!({ "type": "GeometryCollection", "geometries": members });
        assert!(matches!(
            geojson_geometry(&collection(json!([square]))),
            Some(Geometry::GeometryCollection(members)) if members.0.len() == 1
        ));
        assert_eq!(
            geojson_geometry(&collection(json!([collection(json!([square]))]))),
            None,
            "RFC 7946 3.1.8"
        );
    }

    #[test]
    fn other_coordinate_systems_are_named() {
        let of = |name: &str| {
            other_crs(&json!({ "crs": { "type": "name", "properties": { "name": name } } }))
        };
        assert_eq!(
            of("urn:ogc:def:crs:EPSG::32633").as_deref(),
            Some("urn:ogc:def:crs:EPSG::32633")
        );
        assert_eq!(
            (
                of("urn:ogc:def:crs:OGC:1.3:CRS84"),
                of("EPSG:4326"),
                other_crs(&json!({}))
            ),
            (None, None, None)
        );
    }
}
