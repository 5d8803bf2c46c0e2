//! Spatial and temporal extent computed from the samples' metadata (TACO 2.0, sections 5.5.2 and 7.1.1).

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use serde_json::{Value as Json, json};

use super::Assembly;
use crate::jobs::JobContext;
use crate::table::wkb_point;

/// Tolerance in degrees when a stated box is compared with positions; tools round boxes.
const SLACK: f64 = 1e-9;

/// [`extent_of_samples`], or the whole world with a null interval when no level has a centroid.
pub fn extent_of(levels: &[&RecordBatch]) -> Json {
    extent_of_samples(levels).unwrap_or_else(|| json!({ "spatial": [-180.0, -90.0, 180.0, 90.0], "temporal": null }))
}

/// Extent from the first level that has a centroid column. `spatial`: the smallest `[west, south, east, north]` in degrees around
/// all centroids, with west > east when it crosses the antimeridian. `temporal`: minimum and maximum of `time_middle`, else
/// `time_start`, else `time_end`. `None` when no level has a centroid.
pub fn extent_of_samples(levels: &[&RecordBatch]) -> Option<Json> {
    for namespace in ["stac", "istac"] {
        for batch in levels {
            let Some(centroids) = batch.column_by_name(&format!("{namespace}:centroid")) else { continue };
            let points = points(centroids);
            if let Some(spatial) = bounding_box(&points) {
                return Some(json!({ "spatial": spatial, "temporal": times(batch, namespace) }));
            }
        }
    }
    None
}

impl Assembly {
    /// Recomputes a spatial extent that misses some samples, with a warning. Every operation that rewrites a dataset calls this,
    /// so a wrong extent of the input is never copied.
    pub fn correct_extent(&mut self, ctx: &JobContext) {
        let wider = self.collection.get("extent").and_then(|extent| wider_spatial(extent, &self.batches()));
        let extent = self.collection.fields.get_mut("extent").and_then(Json::as_object_mut);
        if let (Some(spatial), Some(extent)) = (wider, extent) {
            extent.insert("spatial".into(), spatial);
            ctx.warn(tr!("the extent missed some samples: it was recomputed from their locations"));
        }
    }
}

/// The spatial box to use instead of `extent`'s when some samples lie outside it; `None` when the stated box contains all
/// samples, or no level has a centroid. The official writers lose the samples on one side of longitude 0.
fn wider_spatial(extent: &Json, levels: &[&RecordBatch]) -> Option<Json> {
    let stated: Vec<f64> = extent.get("spatial")?.as_array()?.iter().filter_map(Json::as_f64).collect();
    let &[west, south, east, north] = stated.as_slice() else { return None };
    let inside = |&(x, y): &(f64, f64)| {
        let across = west > east;
        let (after, before) = (x >= west - SLACK, x <= east + SLACK);
        (if across { after || before } else { after && before }) && (south - SLACK..=north + SLACK).contains(&y)
    };
    for namespace in ["stac", "istac"] {
        let columns = levels.iter().filter_map(|batch| batch.column_by_name(&format!("{namespace}:centroid")));
        if let Some(points) = columns.map(points).find(|points| !points.is_empty()) {
            return if points.iter().all(inside) { None } else { bounding_box(&points).map(|spatial| json!(spatial)) };
        }
    }
    None
}

fn points(array: &arrow::array::ArrayRef) -> Vec<(f64, f64)> {
    let Ok(binary) = cast(array, &DataType::Binary) else { return Vec::new() };
    binary.as_binary::<i32>().iter().flatten().filter_map(wkb_point).filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// The smallest `[west, south, east, north]` around `(longitude, latitude)` points: it leaves out the widest gap between
/// neighbouring longitudes.
fn bounding_box(points: &[(f64, f64)]) -> Option<[f64; 4]> {
    let mut longitudes: Vec<f64> = points.iter().map(|point| point.0).collect();
    longitudes.sort_by(f64::total_cmp);
    let (first, last) = (*longitudes.first()?, *longitudes.last()?);
    let outside = 360.0 - (last - first);
    let inner = longitudes.windows(2).map(|pair| (pair[1] - pair[0], pair[1], pair[0])).max_by(|a, b| a.0.total_cmp(&b.0));
    let (west, east) = match inner {
        Some((gap, west, east)) if gap > outside => (west, east),
        _ => (first, last),
    };
    let south = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let north = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let valid = west.abs() <= 180.0 && east.abs() <= 180.0 && south >= -90.0 && north <= 90.0;
    valid.then_some([west, south, east, north])
}

fn times(batch: &RecordBatch, namespace: &str) -> Json {
    for name in ["time_middle", "time_start", "time_end"] {
        let Some(column) = batch.column_by_name(&format!("{namespace}:{name}")) else { continue };
        let Ok(micros) = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None)) else { continue };
        let Ok(micros) = cast(&micros, &DataType::Int64) else { continue };
        let values: Vec<i64> = micros.as_primitive::<Int64Type>().iter().flatten().collect();
        if let (Some(first), Some(last)) = (values.iter().min(), values.iter().max())
            && let (Some(first), Some(last)) = (iso(*first), iso(*last))
        {
            return json!([first, last]);
        }
    }
    Json::Null
}

fn iso(micros: i64) -> Option<String> {
    Some(chrono::DateTime::from_timestamp_micros(micros)?.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cross_the_antimeridian_only_when_shorter() {
        assert_eq!(bounding_box(&[(-10.0, 1.0), (20.0, -2.0)]), Some([-10.0, -2.0, 20.0, 1.0]));
        assert_eq!(bounding_box(&[(179.0, 0.0), (-178.0, 1.0)]), Some([179.0, 0.0, -178.0, 1.0]));
        assert_eq!(bounding_box(&[(5.0, 5.0)]), Some([5.0, 5.0, 5.0, 5.0]));
        assert_eq!(bounding_box(&[]), None);
        assert_eq!(bounding_box(&[(999.0, 0.0)]), None);
    }

    #[test]
    fn a_box_that_misses_samples_is_recomputed() {
        let wkb = |x: f64, y: f64| [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat();
        let places: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::BinaryArray::from_iter_values([wkb(-86.0, 24.5), wkb(178.5, 52.0)]));
        let batch = RecordBatch::try_from_iter([("stac:centroid", places)]).expect("a batch");
        let wider = |spatial: Json| wider_spatial(&json!({ "spatial": spatial, "temporal": null }), &[&batch]);
        assert_eq!(wider(json!([-86.0, 24.5, 0.0, 52.0])), Some(json!([178.5, 24.5, -86.0, 52.0])));
        assert_eq!(wider(json!([-90.0, 0.0, 180.0, 60.0])), None, "a generous one stays");
        assert_eq!(wider(json!([178.5, 24.5, -86.0, 52.0])), None);
        assert_eq!(wider(json!(null)), None);
    }

    #[test]
    fn microseconds_only_where_there_are_some() {
        assert_eq!(iso(979_689_600_000_000).as_deref(), Some("2001-01-17T00:00:00Z"));
        assert_eq!(iso(979_689_600_500_000).as_deref(), Some("2001-01-17T00:00:00.500Z"));
    }
}
