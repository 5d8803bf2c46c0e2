//! `istac`: CRS, footprint, centroid and times of data without a regular grid. The footprint is
//! taken from a WKB column, from the four corners of a raster or from the extent of a vector file;
//! the centroid is computed in the footprint's CRS, as in the Python tools.

use arrow::datatypes::DataType;
use geo::Centroid;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::raster_place::{RasterPlace, place_on_earth};
use super::times::{TimeOptions, Times, time_options};
use super::{field, point_value, time_type};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::raster;
use crate::table::parse_wkb;

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "istac",
    title: "ISTAC",
    summary: mark!(
        "Adds coordinate system, footprint, centroid and times of data without a regular grid."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    let mut options = vec![
        OptionSpec::new(
            mark!("geometry_column"),
            OptionKind::Column,
            mark!(
                "a column with the footprint as WKB; the corners of the raster, or the extent of \
                    the vector file, when left out"
            ),
        ),
        OptionSpec::new(
            mark!("crs"),
            OptionKind::Text,
            mark!(
                "the footprint's coordinate system: EPSG:…, WKT or PROJ; needed with \
                    geometry_column"
            ),
        ),
    ];
    options.extend(time_options());
    options
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct IstacOptions {
    geometry_column: Option<String>,
    crs: Option<String>,
    time_start: Option<Json>,
    time_end: Option<Json>,
    time_pattern: Option<String>,
    time_column: Option<String>,
    time_end_column: Option<String>,
}

/// The columns of the place.
const PLACE: [&str; 3] = ["istac:crs", "istac:geometry", "istac:centroid"];
/// The columns of the times.
const TIMES: [&str; 3] = ["istac:time_start", "istac:time_end", "istac:time_middle"];

struct Istac {
    column: Option<String>,
    crs: Option<String>,
    times: Times,
}

fn make(given: &Json) -> Result<Extension> {
    let IstacOptions {
        geometry_column: column,
        crs,
        time_start,
        time_end,
        time_pattern,
        time_column,
        time_end_column,
    } = parse_options("istac", &options(), given)?;
    match &crs {
        Some(crs) => raster::check_crs(crs)?,
        None if column.is_some() => {
            return Err(Error::usage(
                "istac needs the option crs with geometry_column",
            ));
        }
        None => {}
    }
    let times = Times::new(
        "istac",
        TimeOptions {
            time_start,
            time_end,
            time_pattern,
            time_column,
            time_end_column,
        },
    )?;
    Ok(Extension::Sample(Box::new(Istac { column, crs, times })))
}

/// CRS, footprint as WKB, and centroid as longitude and latitude in degrees, each as far as there
/// is one.
type IstacPlace = (Option<String>, Option<Vec<u8>>, Option<[f64; 2]>);

impl Istac {
    fn place(&self, sample: &SampleView<'_>) -> Result<IstacPlace> {
        let (crs, geometry) = self.footprint(sample)?;
        let middle = match geometry.as_deref().map(centroid).transpose() {
            Ok(middle) => middle,
            Err(error) => {
                sample.fail_part(&["istac:centroid"], error);
                None
            }
        };
        let place = crs
            .as_deref()
            .zip(middle)
            .and_then(|(crs, middle)| place_on_earth(crs, middle, "istac:centroid", sample));
        Ok((crs, geometry, place))
    }

    fn footprint(&self, sample: &SampleView<'_>) -> Result<(Option<String>, Option<Vec<u8>>)> {
        if let Some(column) = &self.column {
            let (_, value) = sample.need(column)?;
            let Value::Bytes(bytes) = value else {
                return Err(Error::usage(format!("column {column} holds no WKB here")));
            };
            return Ok((self.crs.clone(), Some(bytes.to_vec())));
        }
        let vector = sample.vector_place()?;
        let info;
        let place = match &vector {
            Some(vector) => RasterPlace::of_vector(vector, self.crs.as_deref()),
            None => {
                info = sample.raster()?;
                RasterPlace::from_info(&info, self.crs.as_deref())
            }
        };
        if place.crs.is_none() {
            let error = Error::format("the file names no coordinate system")
                .hint("give it with the option crs, and the footprint as a column");
            sample.fail_part(&["istac:crs", "istac:centroid"], error);
        }
        if place.corners.is_none() && vector.is_some() {
            sample.note_absent(
                &["istac:geometry", "istac:centroid"],
                "the layers have no features".to_owned(),
            );
        } else if place.corners.is_none() {
            let error = Error::format("the file has no corners")
                .hint("give the footprint with the options geometry_column and crs");
            sample.fail_part(&["istac:geometry", "istac:centroid"], error);
        }
        let ring = place.corners.map(|[a, b, c, d]| polygon(&[a, b, c, d, a]));
        Ok((place.crs.map(str::to_owned), ring))
    }
}

/// Little-endian WKB of a polygon with one ring.
fn polygon(ring: &[[f64; 2]]) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((ring.len() as u32).to_le_bytes());
    for number in ring.iter().flatten() {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

fn centroid(bytes: &[u8]) -> Result<[f64; 2]> {
    let wrong = |why: &str| Error::format(format!("the footprint can't be read as WKB: {why}"));
    let shape = parse_wkb(bytes).ok_or_else(|| {
        wrong("it is cut, of an unknown kind, or has coordinates that are no numbers")
    })?;
    let middle = shape.centroid().ok_or_else(|| wrong("it is empty"))?;
    Ok([middle.x(), middle.y()])
}

impl SampleExtension for Istac {
    fn schema(&self) -> Vec<FieldSpec> {
        vec![
            field(
                "istac:crs",
                DataType::Utf8,
                "Coordinate reference system (WKT2, EPSG, or PROJ)",
            ),
            field(
                "istac:geometry",
                DataType::Binary,
                "Spatial footprint in source CRS (WKB)",
            ),
            field(
                "istac:time_start",
                time_type(),
                "Start timestamp (μs since Unix epoch, UTC)",
            ),
            field(
                "istac:time_end",
                time_type(),
                "End timestamp (μs since Unix epoch, UTC)",
            ),
            field(
                "istac:time_middle",
                time_type(),
                "Middle timestamp (μs since Unix epoch, UTC)",
            ),
            field(
                "istac:centroid",
                DataType::Binary,
                "Center point in EPSG:4326 (WKB)",
            ),
        ]
    }

    fn needs_file(&self) -> bool {
        self.column.is_none()
    }

    fn lacks_times(&self) -> bool {
        self.times.is_empty()
    }

    fn compute(&self, sample: &SampleView<'_>, _: &JobContext) -> Result<Vec<Value>> {
        let [start, end, between] = self.times.values(sample, &TIMES)?;
        let (crs, geometry, place) = match self.place(sample) {
            Ok(place) => place,
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => {
                sample.fail_part(&PLACE, error);
                (None, None, None)
            }
        };
        let geometry = geometry.map_or(Value::Null, |bytes| Value::Bytes(bytes.into()));
        let centroid = place.map_or(Value::Null, point_value);
        Ok(vec![
            crs.map_or(Value::Null, Value::text),
            geometry,
            start,
            end,
            between,
            centroid,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_footprint() {
        let ring = [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0], [0.0, 0.0]];
        let square = polygon(&ring);
        assert_eq!(centroid(&square).expect("reads"), [2.0, 1.0]);
        let mut two = vec![1, 6, 0, 0, 0, 2, 0, 0, 0];
        two.extend(&square);
        two.extend(polygon(&ring.map(|[x, y]| [x + 10.0, y])));
        assert_eq!(centroid(&two).expect("reads"), [7.0, 1.0]);
        // A point with Z in big-endian byte order.
        let mut point = vec![0];
        point.extend(1001u32.to_be_bytes());
        [3.0f64, 5.0, 9.0]
            .iter()
            .for_each(|number| point.extend(number.to_be_bytes()));
        assert_eq!(centroid(&point).expect("reads"), [3.0, 5.0]);
    }

    #[test]
    fn damaged_footprints_are_errors() {
        let square = polygon(&[[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 0.0]]);
        for length in 0..square.len() {
            assert!(centroid(&square[..length]).is_err(), "{length} bytes");
        }
        let mut huge = square.clone();
        huge[9..13].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(centroid(&huge).is_err());
        let nested: Vec<u8> = (0..1000)
            .flat_map(|_| [1, 7, 0, 0, 0, 1, 0, 0, 0])
            .collect();
        assert!(centroid(&nested).is_err());
        assert!(centroid(&polygon(&[[f64::NAN, 0.0]; 4])).is_err());
    }
}
