//! Summary of a column: nulls, distinct values, the most frequent ones, a histogram. Of a level
//! under the filter, or of a query's rows.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Float64Type, TimeUnit};

use crate::container::ContainerReader;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::dtype_name;
use crate::table::{cell_text, duration_text, value_text, wkb_point};

/// Bars of a histogram.
pub const BARS: usize = 24;
/// Distinct texts that are counted; beyond that a column has "many".
const DISTINCT_MOST: usize = 4096;
/// Frequent values that are listed.
const TOP: usize = 12;
/// Rows between two looks at the cancel flag.
const STRIDE: usize = 16_384;

/// Column of a summary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SummaryRequest {
    /// The level.
    pub level: usize,
    /// The column.
    pub column: String,
}

/// Summary of a column.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ColumnSummary {
    /// The column.
    pub name: String,
    /// Its type, as `taco:field_schema` writes it.
    pub type_name: String,
    /// Rows looked at.
    pub rows: u64,
    /// Of them without a value.
    pub nulls: u64,
    /// Distinct values; `None` above the limit that is counted.
    pub distinct: Option<u64>,
    /// Smallest and largest value as text.
    pub range: Option<(String, String)>,
    /// For numbers and times.
    pub histogram: Option<Bars>,
    /// The most frequent values of a column with few different ones, most frequent first.
    pub top: Vec<(String, u64)>,
}

/// Counts of values between two numbers, in bars of equal width. Times count in microseconds
/// since 1970.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Bars {
    /// Lower edge of the first bar.
    pub low: f64,
    /// Upper edge of the last one.
    pub high: f64,
    /// Values in each.
    pub counts: Vec<u64>,
}

/// Summarizes a column of a level, over `rows` or over all rows.
///
/// # Errors
/// For an unknown column, and a table that can't be read.
pub fn level_summary(
    reader: &dyn ContainerReader,
    request: &SummaryRequest,
    rows: Option<&[u32]>,
    ctx: &JobContext,
) -> Result<ColumnSummary> {
    let name = request.column.as_str();
    let table = match reader.levels().decoded_table(request.level) {
        Some(table) => table.as_ref().clone(),
        None => reader.levels().columns(request.level, &[name], ctx)?,
    };
    ctx.check()?;
    let index = table.column_index(name).ok_or_else(|| {
        Error::usage(format!("level {} has no column {name}", request.level))
            .hint("DESCRIBE lists the columns of a table")
    })?;
    let array = table.column(index)?;
    let array = match rows {
        None => array,
        Some(rows) => {
            take(array.as_ref(), &UInt32Array::from(rows.to_vec()), None).map_err(|error| {
                Error::internal("the filter's rows are not in the table").because(error)
            })?
        }
    };
    summary_of(name, &array, ctx)
}

/// Summarizes an array.
///
/// # Errors
/// When the values can't be converted, and when the work is cancelled.
pub fn summary_of(name: &str, array: &ArrayRef, ctx: &JobContext) -> Result<ColumnSummary> {
    let (rows, nulls) = (array.len() as u64, array.logical_null_count() as u64);
    let mut summary = ColumnSummary {
        name: name.to_owned(),
        type_name: dtype_name(array.data_type()),
        rows,
        nulls,
        distinct: None,
        range: None,
        histogram: None,
        top: Vec::new(),
    };
    if let Some(numbers) = numbers_of(array)? {
        summarize_numbers(&mut summary, array, &numbers, ctx)?;
    } else if !matches!(
        array.data_type(),
        DataType::List(_) | DataType::LargeList(_) | DataType::Struct(_)
    ) {
        words(&mut summary, array, ctx)?;
    }
    Ok(summary)
}

/// Numbers as they are, times as microseconds since 1970; `None` for other types.
///
/// # Errors
/// When the values can't be converted.
pub fn as_numbers(array: &ArrayRef) -> Result<Option<arrow::array::Float64Array>> {
    let plain = match array.data_type() {
        dtype if dtype.is_numeric() => array.clone(),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => {
            // The zone is left out: the number behind is that of UTC.
            let micros = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))
                .map_err(unreadable_column_error)?;
            cast(&micros, &DataType::Int64).map_err(unreadable_column_error)?
        }
        _ => return Ok(None),
    };
    let numbers = cast(&plain, &DataType::Float64).map_err(unreadable_column_error)?;
    Ok(Some(numbers.as_primitive::<Float64Type>().clone()))
}

/// As [`as_numbers`], and durations and times of day as microseconds.
fn numbers_of(array: &ArrayRef) -> Result<Option<arrow::array::Float64Array>> {
    let dtype = match array.data_type() {
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        _ => return as_numbers(array),
    };
    let micros = cast(array, &dtype)
        .and_then(|micros| cast(&micros, &DataType::Int64))
        .map_err(unreadable_column_error)?;
    as_numbers(&micros)
}

fn unreadable_column_error(error: arrow::error::ArrowError) -> Error {
    Error::format("a column can't be read as numbers").because(error)
}

/// A number of a summary as the column writes it.
pub fn bar_text(value: f64, type_name: &str) -> String {
    if type_name.starts_with("timestamp") || type_name.starts_with("date") {
        let dtype = DataType::Timestamp(TimeUnit::Microsecond, None);
        let text = value_text(&crate::model::Value::Int(value as i64), &dtype);
        return text.get(..10).unwrap_or(&text).to_owned();
    }
    if type_name.starts_with("duration") {
        return duration_text(value as i64, &TimeUnit::Microsecond);
    }
    if type_name.starts_with("time32") || type_name.starts_with("time64") {
        return value_text(
            &crate::model::Value::Int(value as i64),
            &DataType::Time64(TimeUnit::Microsecond),
        );
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn summarize_numbers(
    summary: &mut ColumnSummary,
    array: &ArrayRef,
    numbers: &arrow::array::Float64Array,
    ctx: &JobContext,
) -> Result<()> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut many = false;
    for (index, value) in numbers.iter().enumerate() {
        if index % STRIDE == 0 {
            ctx.check()?;
        }
        let Some(value) = value.filter(|value| value.is_finite()) else {
            continue;
        };
        (low, high) = (low.min(value), high.max(value));
        if !many {
            *seen.entry((value + 0.0).to_bits()).or_default() += 1;
            many = seen.len() > DISTINCT_MOST;
        }
    }
    if low > high {
        summary.distinct = Some(0);
        return Ok(());
    }
    let mut counts = vec![0u64; BARS];
    let scale = if high > low {
        BARS as f64 / (high - low)
    } else {
        0.0
    };
    for (index, value) in numbers.iter().enumerate() {
        if index % STRIDE == 0 {
            ctx.check()?;
        }
        if let Some(value) = value.filter(|value| value.is_finite()) {
            counts[(((value - low) * scale) as usize).min(BARS - 1)] += 1;
        }
    }
    summary.range = Some((
        bar_text(low, &summary.type_name),
        bar_text(high, &summary.type_name),
    ));
    summary.histogram = Some(Bars { low, high, counts });
    if !many {
        summary.distinct = Some(seen.len() as u64);
        // Classes are numbers too: few of them are listed.
        if seen.len() <= TOP && !matches!(array.data_type(), DataType::Timestamp(_, _)) {
            let list = seen
                .into_iter()
                .map(|(bits, count)| (bar_text(f64::from_bits(bits), &summary.type_name), count));
            summary.top = most_frequent(list.collect());
        }
    }
    Ok(())
}

fn words(summary: &mut ColumnSummary, array: &ArrayRef, ctx: &JobContext) -> Result<()> {
    let mut seen: HashMap<String, u64> = HashMap::new();
    let mut range: Option<(String, String)> = None;
    let mut bounds: Option<[f64; 4]> = None;
    let mut many = false;
    for row in 0..array.len() {
        if row % STRIDE == 0 {
            ctx.check()?;
        }
        if array.is_null(row) {
            continue;
        }
        if let Some(binary) = array.as_binary_opt::<i32>() {
            if let Some((x, y)) = wkb_point(binary.value(row)) {
                let b = bounds.get_or_insert([x, y, x, y]);
                *b = [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)];
            }
            continue;
        }
        let text = cell_text(array, row);
        range = Some(match range.take() {
            None => (text.clone(), text.clone()),
            Some((low, high)) if text < low => (text.clone(), high),
            Some((low, high)) if text > high => (low, text.clone()),
            Some(range) => range,
        });
        if !many {
            *seen.entry(text).or_default() += 1;
            many = seen.len() > DISTINCT_MOST;
        }
    }
    if let Some([west, south, east, north]) = bounds {
        summary.range = Some((
            format!("{west:.3} {south:.3}"),
            format!("{east:.3} {north:.3}"),
        ));
        return Ok(());
    }
    summary.range = range;
    if !many && !matches!(array.data_type(), DataType::Binary) {
        summary.distinct = Some(seen.len() as u64);
        summary.top = most_frequent(seen.into_iter().collect());
    }
    Ok(())
}

fn most_frequent(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list.truncate(TOP);
    list
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{Float32Array, StringArray, TimestampMicrosecondArray};

    fn of(array: impl Array + 'static) -> ColumnSummary {
        summary_of("c", &(Arc::new(array) as ArrayRef), &JobContext::default())
            .expect("has a summary")
    }

    #[test]
    fn numbers_are_counted_in_bars() {
        let values = (0..240).map(|n| (n % 10 != 0).then_some(n as f32));
        let summary = of(Float32Array::from(values.collect::<Vec<_>>()));
        assert_eq!(
            (summary.rows, summary.nulls, summary.distinct),
            (240, 24, Some(216))
        );
        let bars = summary.histogram.expect("numbers have bars");
        assert_eq!(bars.counts.iter().sum::<u64>(), 216);
        assert_eq!((bars.low, bars.high), (1.0, 239.0));
        assert_eq!(summary.range, Some(("1".into(), "239".into())));
    }

    #[test]
    fn words_are_listed_by_frequency_and_times_read_as_days() {
        let summary = of(StringArray::from(vec![
            Some("train"),
            Some("test"),
            Some("train"),
            None,
        ]));
        assert_eq!(
            summary.top,
            [("train".to_owned(), 2), ("test".to_owned(), 1)]
        );
        assert_eq!((summary.nulls, summary.distinct), (1, Some(2)));
        let summary = of(TimestampMicrosecondArray::from(vec![0, 86_400_000_000]));
        assert_eq!(
            summary.range,
            Some(("1970-01-01".into(), "1970-01-02".into()))
        );
    }

    #[test]
    fn durations_and_times_of_day_are_ordered_by_length_and_not_by_text() {
        let summary = of(arrow::array::DurationSecondArray::from(vec![90, 9, 3600]));
        assert_eq!(summary.range, Some(("PT9S".into(), "PT1H".into())));
        assert_eq!(summary.top[0].0, "PT1H");
        let summary = of(arrow::array::Time32SecondArray::from(vec![36_000, 32_400]));
        assert_eq!(summary.range, Some(("09:00:00".into(), "10:00:00".into())));
    }

    #[test]
    fn nothing_but_nulls_and_infinities_is_no_range() {
        let summary = of(Float32Array::from(vec![
            None,
            Some(f32::NAN),
            Some(f32::INFINITY),
        ]));
        assert_eq!(
            (summary.range, summary.histogram, summary.distinct),
            (None, None, Some(0))
        );
    }
}
