//! Times of samples in microseconds since 1970, in the forms of every generation: timestamps, dates, text in ISO 8601, and numbers of
//! seconds since 1970 (TORTILLA 0.5, TACO 0.2).

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};

use crate::model::instant;

/// Columns with the start of a sample, best first.
pub const TIME_START: [&str; 2] = ["stac:time_start", "istac:time_start"];
/// Columns with the end of a sample, best first.
pub const TIME_END: [&str; 2] = ["stac:time_end", "istac:time_end"];
/// Every column of [`TIME_START`] and [`TIME_END`].
pub const TIME_COLUMNS: [&str; 4] = ["stac:time_start", "stac:time_end", "istac:time_start", "istac:time_end"];

/// The times of a column in microseconds since 1970; `None` for columns without times. Numbers are seconds.
pub fn micros_of(column: &ArrayRef) -> Option<Vec<Option<i64>>> {
    match column.data_type() {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => {
            let micros = cast(column, &DataType::Timestamp(TimeUnit::Microsecond, None));
            let micros = micros.and_then(|time| cast(&time, &DataType::Int64)).ok()?;
            Some(micros.as_primitive::<Int64Type>().iter().collect())
        }
        dtype if dtype.is_integer() => {
            let seconds = cast(column, &DataType::Int64).ok()?;
            Some(seconds.as_primitive::<Int64Type>().iter().map(|seconds| seconds?.checked_mul(1_000_000)).collect())
        }
        dtype if dtype.is_floating() => {
            let seconds = cast(column, &DataType::Float64).ok()?;
            let micros = |seconds: Option<f64>| {
                seconds.map(|seconds| (seconds * 1e6).round()).filter(|micros| micros.abs() < 9.2e18).map(|micros| micros as i64)
            };
            Some(seconds.as_primitive::<Float64Type>().iter().map(micros).collect())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = cast(column, &DataType::Utf8).ok()?;
            let micros = |text: Option<&str>| {
                let text = text?.trim();
                // Of other spellings of a time, the day is read.
                let time = instant(text).or_else(|| instant(text.get(..10)?))?;
                Some(time.and_utc().timestamp_micros())
            };
            Some(texts.as_string::<i32>().iter().map(micros).collect())
        }
        _ => None,
    }
}

/// True for a column that holds times: of a type of time, or called like one of [`TIME_COLUMNS`].
pub fn is_time_column(name: &str, dtype: &DataType) -> bool {
    let plain = dtype.is_numeric() || matches!(dtype, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    matches!(dtype, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
        || (plain && TIME_COLUMNS.iter().chain(&["stac:time_middle", "istac:time_middle"]).any(|known| *known == name))
}

/// Start and end of every row of a level, in microseconds since 1970: from the first of [`TIME_START`] and [`TIME_END`] that says so.
pub fn interval_of(batch: &RecordBatch) -> Vec<[Option<i64>; 2]> {
    let mut found = vec![[None; 2]; batch.num_rows()];
    for (names, end) in [(TIME_START, 0), (TIME_END, 1)] {
        for name in names {
            let Some(times) = batch.column_by_name(name).and_then(micros_of) else { continue };
            for (slot, time) in found.iter_mut().zip(times) {
                slot[end] = slot[end].or(time);
            }
        }
    }
    found
}
