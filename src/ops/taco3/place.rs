//! Places and times of the rows of a level → a profile of TACO 3: `stac` (both), `spatial` or
//! `temporal`. Pure but for the database of coordinate systems.
//!
//! A grid whose coordinate system has a code stays a grid; every other place becomes its outline in
//! longitude and latitude. A level has one profile, and a row has all of it or nothing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int64Builder, ListBuilder, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, TimeUnit};

use crate::error::Result;
use crate::footprint::{
    PlaceColumns, SampleTimes, StatedLocation, footprints, micros_of, sample_times,
};
use crate::jobs::JobContext;
use crate::raster;
use crate::table::write_wkb;

/// Columns of the middle of an acquisition.
pub const TIME_MIDDLES: [&str; 2] = ["stac:time_middle", "istac:time_middle"];

/// A profile of TACO 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taco3Profile {
    /// Places and times.
    Stac,
    /// Places.
    Spatial,
    /// Times.
    Temporal,
}

impl Taco3Profile {
    /// Its namespace.
    pub fn namespace(self) -> &'static str {
        match self {
            Self::Stac => "stac",
            Self::Spatial => "spatial",
            Self::Temporal => "temporal",
        }
    }
}

/// The profile of a level, with the columns that the library takes.
#[derive(Debug)]
pub struct LevelProfile {
    /// The profile.
    pub profile: Taco3Profile,
    /// True when some rows have none of it.
    pub is_optional: bool,
    /// Columns in its namespace; `outline` is what a row is given whose grid the library refuses.
    pub columns: Vec<(Field, ArrayRef)>,
    /// Rows whose grid has a coordinate system without a code.
    pub outlines: usize,
}

/// The profile that the rows of a level have; `None` where no row has a place or a time.
///
/// # Errors
/// When the job is cancelled.
pub fn level_profile(batch: &RecordBatch, ctx: &JobContext) -> Result<Option<LevelProfile>> {
    let rows = batch.num_rows();
    let places = PlaceColumns::from_batch(batch);
    let stated: Vec<StatedLocation> = (0..rows).map(|row| places.stated_location(row)).collect();
    let outlines: Vec<Option<Vec<u8>>> = footprints(&stated, ctx)?
        .into_iter()
        .map(|footprint| footprint.map(|footprint| write_wkb(&footprint.without_collection())))
        .collect();
    let times: Vec<RowInterval> = row_times(batch);
    let placed = outlines.iter().filter(|outline| outline.is_some()).count();
    let timed = times.iter().filter(|times| times.is_some()).count();
    if placed == 0 && timed == 0 {
        return Ok(None);
    }
    let both = outlines
        .iter()
        .zip(&times)
        .filter(|(outline, times)| outline.is_some() && times.is_some())
        .count();
    // Of parts that are not in the same rows, the one in more rows is the profile; the other's
    // columns stay plain fields.
    let profile = match (placed, timed) {
        (_, 0) => Taco3Profile::Spatial,
        (0, _) => Taco3Profile::Temporal,
        _ if placed == both && timed == both => Taco3Profile::Stac,
        _ if placed >= timed => Taco3Profile::Spatial,
        _ => Taco3Profile::Temporal,
    };
    let full = match profile {
        Taco3Profile::Temporal => timed,
        Taco3Profile::Stac | Taco3Profile::Spatial => placed,
    };
    let mut columns = Vec::new();
    let mut without_code = 0;
    if profile != Taco3Profile::Temporal {
        without_code = add_places(&mut columns, profile, &stated, &outlines);
    }
    if profile != Taco3Profile::Spatial {
        add_times(&mut columns, profile, &times);
    }
    Ok(Some(LevelProfile {
        profile,
        is_optional: full < rows,
        columns,
        outlines: without_code,
    }))
}

/// Adds the places; the number of grids without a code.
fn add_places(
    columns: &mut Vec<(Field, ArrayRef)>,
    profile: Taco3Profile,
    stated: &[StatedLocation],
    outlines: &[Option<Vec<u8>>],
) -> usize {
    let mut codes: HashMap<Arc<str>, Option<Arc<str>>> = HashMap::new();
    let mut without_code = 0;
    let (mut geometry, mut outline) = (BinaryBuilder::new(), BinaryBuilder::new());
    let mut code_of: Vec<Option<Arc<str>>> = Vec::with_capacity(stated.len());
    let mut shapes = ListBuilder::new(Int64Builder::new());
    let mut transforms = ListBuilder::new(Float64Builder::new());
    for (stated, drawn) in stated.iter().zip(outlines) {
        let grid = stated
            .grid_in_pixels()
            .filter(|_| drawn.is_some() && !stated.has_geometry());
        let code = grid.as_ref().and_then(|grid| {
            codes
                .entry(grid.crs.clone())
                .or_insert_with(|| raster::code_of_crs(&grid.crs).map(Into::into))
                .clone()
        });
        without_code += usize::from(grid.is_some() && code.is_none());
        match (grid, &code) {
            (Some(grid), Some(_)) => {
                geometry.append_null();
                outline.append_option(drawn.as_deref());
                shapes.append_value(grid.shape.map(Some));
                transforms.append_value(grid.transform.map(Some));
            }
            _ => {
                geometry.append_option(drawn.as_deref());
                outline.append_null();
                shapes.append_null();
                transforms.append_null();
            }
        }
        code_of.push(code);
    }
    let arrays: [(&str, ArrayRef); 5] = [
        ("geometry", Arc::new(geometry.finish())),
        ("outline", Arc::new(outline.finish())),
        ("proj_code", Arc::new(StringArray::from_iter(code_of))),
        ("proj_shape", Arc::new(shapes.finish())),
        ("proj_transform", Arc::new(transforms.finish())),
    ];
    columns.extend(arrays.map(|(name, array)| {
        (
            qualified_field(profile, name, array.data_type().clone()),
            array,
        )
    }));
    without_code
}

fn add_times(columns: &mut Vec<(Field, ArrayRef)>, profile: Taco3Profile, times: &[RowInterval]) {
    let column = |of: fn(&RowInterval) -> Option<i64>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from_iter(times.iter().map(of)).with_timezone("UTC"))
    };
    let dtype = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let arrays = [
        ("datetime", column(|times| times.instant)),
        (
            "start_datetime",
            column(|times| times.range.map(|(start, _)| start)),
        ),
        (
            "end_datetime",
            column(|times| times.range.map(|(_, end)| end)),
        ),
    ];
    columns
        .extend(arrays.map(|(name, array)| (qualified_field(profile, name, dtype.clone()), array)));
}

fn qualified_field(profile: Taco3Profile, name: &str, dtype: DataType) -> Field {
    Field::new(format!("{}:{name}", profile.namespace()), dtype, true)
}

/// The times of a row in microseconds since 1970: an instant, a range with both ends, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowInterval {
    instant: Option<i64>,
    range: Option<(i64, i64)>,
}

impl RowInterval {
    fn is_some(&self) -> bool {
        self.instant.is_some() || self.range.is_some()
    }

    /// Times of 2.0: a start, perhaps an end, perhaps a middle, which is the instant where it is
    /// not halfway.
    fn from_times(times: SampleTimes, middle: Option<i64>) -> Self {
        match (times.start, times.end) {
            (Some(start), Some(end)) if start < end => {
                let halfway = start + (end - start) / 2;
                let own = times.nominal.filter(|nominal| *nominal != start);
                let instant = own.or(middle.filter(|middle| middle.abs_diff(halfway) > 1_000_000));
                Self {
                    instant,
                    range: Some((start, end)),
                }
            }
            (Some(start), _) => Self {
                instant: Some(start),
                range: None,
            },
            (None, _) => Self {
                instant: times.nominal.or(middle),
                range: None,
            },
        }
    }
}

fn row_times(batch: &RecordBatch) -> Vec<RowInterval> {
    let middles = TIME_MIDDLES
        .iter()
        .find_map(|name| micros_of(batch.column_by_name(name)?));
    let middle = |row: usize| middles.as_ref().and_then(|middles| middles[row]);
    sample_times(batch)
        .into_iter()
        .enumerate()
        .map(|(row, times)| RowInterval::from_times(times, middle(row)))
        .collect()
}
