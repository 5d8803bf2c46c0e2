//! Footprints and times of samples in the form of catalogues: [`crate::footprint`] and GeoJSON.

use arrow::array::RecordBatch;
use geo::{Geometry, LineString, MapCoords, Polygon};
use serde_json::{Value as Json, json};

use crate::container::Assembly;
use crate::footprint::{BoxOfDegrees, Footprint, footprints_of, has_places, interval_of};
use crate::jobs::JobContext;

/// Location and time of a sample.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Footprint or centroid in degrees.
    pub geometry: Option<Geometry<f64>>,
    /// `[west, south, east, north]` in degrees; west > east across the antimeridian.
    pub bbox: Option<BoxOfDegrees>,
    /// Start in microseconds since 1970.
    pub start: Option<i64>,
    /// End in microseconds since 1970.
    pub end: Option<i64>,
}

/// The requested level; otherwise the first level with locations, or 0 when there is none.
pub fn level_with_places(assembly: &Assembly, wanted: Option<usize>) -> usize {
    let found = assembly.levels.iter().position(|level| has_places(&level.batch));
    wanted.filter(|level| *level < assembly.levels.len()).or(found).unwrap_or(0)
}

/// Location and time of every row of a level.
///
/// # Errors
/// When the job is cancelled.
pub fn places(batch: &RecordBatch, ctx: &JobContext) -> crate::error::Result<Vec<Place>> {
    places_as(batch, |footprint| footprint.geometry.clone(), ctx)
}

/// As [`places`], without geometry collections, which STAC Items do not allow.
///
/// # Errors
/// When the job is cancelled.
pub fn places_of_items(batch: &RecordBatch, ctx: &JobContext) -> crate::error::Result<Vec<Place>> {
    places_as(batch, Footprint::without_collection, ctx)
}

fn places_as(
    batch: &RecordBatch,
    geometry: impl Fn(&Footprint) -> Geometry<f64>,
    ctx: &JobContext,
) -> crate::error::Result<Vec<Place>> {
    let found = footprints_of(batch, ctx)?.into_iter().zip(interval_of(batch));
    let place = |(footprint, [start, end]): (Option<Footprint>, [Option<i64>; 2])| Place {
        geometry: footprint.as_ref().map(&geometry),
        bbox: footprint.map(|footprint| footprint.bbox),
        start,
        end,
    };
    Ok(found.map(place).collect())
}

/// A geometry as GeoJSON with seven decimals (about 1 cm).
pub fn geojson(geometry: &Geometry<f64>) -> Json {
    let rounded = geometry.map_coords(|c| geo::Coord { x: digits(c.x), y: digits(c.y) });
    let line = |line: &LineString<f64>| -> Json { line.coords().map(|c| json!([c.x, c.y])).collect() };
    let polygon =
        |polygon: &Polygon<f64>| -> Json { std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(line).collect() };
    match &rounded {
        Geometry::Point(point) => json!({ "type": "Point", "coordinates": [point.x(), point.y()] }),
        Geometry::LineString(one) => json!({ "type": "LineString", "coordinates": line(one) }),
        Geometry::Polygon(one) => json!({ "type": "Polygon", "coordinates": polygon(one) }),
        Geometry::MultiPoint(many) => {
            json!({ "type": "MultiPoint", "coordinates": many.iter().map(|p| json!([p.x(), p.y()])).collect::<Json>() })
        }
        Geometry::MultiLineString(many) => {
            json!({ "type": "MultiLineString", "coordinates": many.iter().map(line).collect::<Json>() })
        }
        Geometry::MultiPolygon(many) => {
            json!({ "type": "MultiPolygon", "coordinates": many.iter().map(polygon).collect::<Json>() })
        }
        Geometry::GeometryCollection(many) => {
            json!({ "type": "GeometryCollection", "geometries": many.iter().map(geojson).collect::<Json>() })
        }
        _ => Json::Null,
    }
}

/// Rounds to seven decimals.
pub fn digits(value: f64) -> f64 {
    (value * 1e7).round() / 1e7
}
