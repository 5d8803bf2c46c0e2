//! `stac`: CRS, shape, geotransform, centroid and times of a raster on a regular grid. Names, order
//! and types of the columns are those of the Python tools; unlike theirs, the centroid takes
//! rotation into account.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::raster_place::RasterPlace;
use super::times::{TimeOptions, Times, time_options};
use super::{field, floats, list_type, point_value, time_type};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::raster::{self, RasterInfo, VectorPlace};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "stac",
    title: "STAC",
    summary: mark!(
        "Adds coordinate system, shape, geotransform, centroid and times of a raster on a regular \
            grid."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    let mut options = vec![OptionSpec::new(
        mark!("crs"),
        OptionKind::Text,
        mark!("the coordinate system of files that name none: EPSG:…, WKT or PROJ"),
    )];
    options.extend(time_options());
    options
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct StacOptions {
    crs: Option<String>,
    time_start: Option<Json>,
    time_end: Option<Json>,
    time_pattern: Option<String>,
    time_column: Option<String>,
    time_end_column: Option<String>,
}

struct Stac {
    crs: Option<String>,
    times: Times,
}

fn make(given: &Json) -> Result<Extension> {
    let StacOptions {
        crs,
        time_start,
        time_end,
        time_pattern,
        time_column,
        time_end_column,
    } = parse_options("stac", &options(), given)?;
    if let Some(crs) = &crs {
        raster::check_crs(crs)?;
    }
    let times = Times::new(
        "stac",
        TimeOptions {
            time_start,
            time_end,
            time_pattern,
            time_column,
            time_end_column,
        },
    )?;
    Ok(Extension::Sample(Box::new(Stac { crs, times })))
}

impl SampleExtension for Stac {
    fn schema(&self) -> Vec<FieldSpec> {
        vec![
            field(
                "stac:crs",
                DataType::Utf8,
                "Coordinate reference system (WKT2, EPSG, or PROJ)",
            ),
            field(
                "stac:tensor_shape",
                list_type(DataType::Int64),
                "Raster dimensions [bands, height, width]",
            ),
            field(
                "stac:geotransform",
                list_type(DataType::Float64),
                "GDAL affine transform",
            ),
            field(
                "stac:time_start",
                time_type(),
                "Start timestamp (μs since Unix epoch, UTC)",
            ),
            field(
                "stac:centroid",
                DataType::Binary,
                "Center point in EPSG:4326 (WKB)",
            ),
            field(
                "stac:time_end",
                time_type(),
                "End timestamp (μs since Unix epoch, UTC)",
            ),
            field(
                "stac:time_middle",
                time_type(),
                "Middle timestamp (μs since Unix epoch, UTC)",
            ),
        ]
    }

    fn lacks_times(&self) -> bool {
        self.times.is_empty()
    }

    fn compute(&self, sample: &SampleView<'_>, _: &JobContext) -> Result<Vec<Value>> {
        let [start, end, middle] = self.times.values(sample, &TIMES)?;
        let none = || [Value::Null, Value::Null, Value::Null, Value::Null];
        let place = match sample.vector_place() {
            Ok(Some(place)) => Ok(self.extent(&place, sample)),
            Ok(None) => sample.raster().map(|info| self.grid(&info, sample)),
            Err(error) => Err(error),
        };
        let [crs, shape, transform, centroid] = match place {
            Ok(values) => values,
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => {
                sample.fail_part(&GRID, error);
                none()
            }
        };
        Ok(vec![crs, shape, transform, start, centroid, end, middle])
    }
}

/// The columns of the grid.
const GRID: [&str; 4] = [
    "stac:crs",
    "stac:tensor_shape",
    "stac:geotransform",
    "stac:centroid",
];
/// The columns of the times.
const TIMES: [&str; 3] = ["stac:time_start", "stac:time_end", "stac:time_middle"];

impl Stac {
    /// Coordinate system and centroid of a vector file, which has no grid.
    fn extent(&self, place: &VectorPlace, sample: &SampleView<'_>) -> [Value; 4] {
        let place = RasterPlace::of_vector(place, self.crs.as_deref());
        let reason = "a vector file has no grid; istac gives the footprint".to_owned();
        sample.note_absent(&["stac:tensor_shape", "stac:geotransform"], reason);
        if place.centre.is_none() {
            sample.note_absent(&["stac:centroid"], "the layers have no features".to_owned());
        }
        if place.crs.is_none() {
            sample.fail_part(
                &["stac:crs", "stac:centroid"],
                no_crs("the layers name no coordinate system"),
            );
        }
        let centroid = place
            .centroid("stac:centroid", sample)
            .map_or(Value::Null, point_value);
        [
            place.crs.map_or(Value::Null, Value::text),
            Value::Null,
            Value::Null,
            centroid,
        ]
    }

    /// Coordinate system, shape, geotransform and centroid, each as far as the raster has it.
    fn grid(&self, info: &RasterInfo, sample: &SampleView<'_>) -> [Value; 4] {
        let place = RasterPlace::from_info(info, self.crs.as_deref());
        let shape =
            [info.band_count, info.height, info.width].map(|length| Value::Int(length as i64));
        let transform = match (place.warped, info.geotransform) {
            (Some(warped), _) => {
                let how = warped.model.name();
                sample.note_absent(
                    &["stac:geotransform"],
                    format!("{how} give the place, and no geotransform; istac gives the footprint"),
                );
                Value::Null
            }
            (None, Some(transform)) => floats(transform),
            (None, None) => {
                let error = Error::format("the raster has no geotransform")
                    .hint("use istac for data without a regular grid");
                sample.fail_part(&["stac:geotransform", "stac:centroid"], error);
                Value::Null
            }
        };
        if place.crs.is_none() {
            sample.fail_part(
                &["stac:crs", "stac:centroid"],
                no_crs("the raster names no coordinate system"),
            );
        }
        let centroid = place
            .centroid("stac:centroid", sample)
            .map_or(Value::Null, point_value);
        [
            place.crs.map_or(Value::Null, Value::text),
            Value::List(shape.into()),
            transform,
            centroid,
        ]
    }
}

fn no_crs(summary: &str) -> Error {
    Error::format(summary).hint("give it with the option crs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Vector {
        crs: String,
        geotransform: [f64; 6],
        rows_cols: [usize; 2],
        lon: f64,
        lat: f64,
    }

    #[test]
    fn centroids_are_those_of_the_python_tools() {
        let text = include_str!("../../../tests/fixtures/vectors/stac_centroid.json");
        let vectors: Vec<Vector> = serde_json::from_str(text).expect("reads");
        assert!(vectors.len() >= 7);
        for v in vectors {
            let middle = super::super::raster_place::middle_of(
                v.geotransform,
                v.rows_cols[1],
                v.rows_cols[0],
            );
            let [lon, lat] = raster::to_lonlat_from(&v.crs, &[middle]).expect("knows it")[0]
                .expect("has a place");
            assert!(
                (lon - v.lon).abs() < 1e-9 && (lat - v.lat).abs() < 1e-9,
                "{}: {lon} {lat}",
                v.crs
            );
        }
    }

    #[test]
    fn the_columns_have_the_names_order_and_types_of_the_official_tool() {
        let columns_of = |entry: &ExtensionEntry| match (entry.make)(&serde_json::json!({})) {
            Ok(Extension::Sample(extension)) => extension
                .schema()
                .iter()
                .map(|field| format!("{} {}", field.name, crate::model::dtype_name(&field.dtype)))
                .collect(),
            Ok(_) => vec!["no extension of samples".to_owned()],
            Err(error) => vec![error.report()],
        };
        let stac = [
            "stac:crs string",
            "stac:tensor_shape list<item: int64>",
            "stac:geotransform list<item: double>",
            "stac:time_start timestamp[us]",
            "stac:centroid binary",
            "stac:time_end timestamp[us]",
            "stac:time_middle timestamp[us]",
        ];
        let istac = [
            "istac:crs string",
            "istac:geometry binary",
            "istac:time_start timestamp[us]",
            "istac:time_end timestamp[us]",
            "istac:time_middle timestamp[us]",
            "istac:centroid binary",
        ];
        assert_eq!(columns_of(&ENTRY), stac);
        assert_eq!(columns_of(&super::super::istac::ENTRY), istac);
        assert_eq!(
            columns_of(&super::super::stats::ENTRY),
            ["geotiff:stats list<item: list<item: float>>"]
        );
    }

    #[test]
    fn rotation_moves_the_centre() {
        assert_eq!(
            super::super::raster_place::middle_of([100.0, 2.0, 1.0, 50.0, -1.0, -2.0], 10, 20),
            [100.0 + 10.0 + 10.0, 50.0 - 5.0 - 20.0]
        );
    }
}
