//! `SUMMARIZE`: a row for each column of a query, in the form of DuckDB. Counts of different values
//! and quantiles are exact.

use std::collections::HashSet;

use polars::prelude::*;

use super::catalogue::column_type;
use super::nested_values::{extreme_of, order_keys, take_places};
use super::value_texts::texts_of;
use crate::jobs::JobContext;

const MICROSECONDS: DataType = DataType::Datetime(TimeUnit::Microseconds, None);
/// The quantiles.
const QUARTERS: [f64; 3] = [0.25, 0.5, 0.75];

/// Texts of one column: minimum, maximum, mean, sample standard deviation and quantiles.
type SummaryTexts = [Option<String>; 7];

/// The summary of the columns of `frame`.
pub(super) fn summarize_columns(
    frame: &DataFrame,
    ctx: &JobContext,
) -> crate::error::Result<PolarsResult<DataFrame>> {
    let mut texts: [Vec<Option<String>>; 7] = Default::default();
    let (mut distinct, mut nulls) = (Vec::new(), Vec::new());
    for column in frame.columns() {
        ctx.check()?;
        let (own, count) = match of_column(column) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        texts
            .iter_mut()
            .zip(own)
            .for_each(|(column, text)| column.push(text));
        distinct.push(count as i64);
        let share = 100.0 * column.null_count() as f64 / column.len().max(1) as f64;
        nulls.push((share * 100.0).round() / 100.0);
    }
    let [min, max, avg, std, q25, q50, q75] = texts;
    let names: Vec<&str> = frame
        .columns()
        .iter()
        .map(|column| column.name().as_str())
        .collect();
    let types: Vec<String> = frame
        .columns()
        .iter()
        .map(|column| column_type(column.dtype()))
        .collect();
    let counts = vec![frame.height() as i64; names.len()];
    Ok(df!(
        "column_name" => names,
        "column_type" => types,
        "min" => min,
        "max" => max,
        "approx_unique" => distinct,
        "avg" => avg,
        "std" => std,
        "q25" => q25,
        "q50" => q50,
        "q75" => q75,
        "count" => counts,
        "null_percentage" => nulls,
    ))
}

/// Texts of a column, and the number of different values.
fn of_column(column: &Column) -> PolarsResult<(SummaryTexts, usize)> {
    let mut texts = SummaryTexts::default();
    let keys = order_keys(column, column.dtype())?;
    let known = || list_known_keys(&keys);
    let count = known()
        .map(|(key, _)| key)
        .collect::<HashSet<&[u8]>>()
        .len();
    for (at, greatest) in [false, true].into_iter().enumerate() {
        let best = take_places(
            column.as_materialized_series(),
            [extreme_of(known(), greatest)],
        )?;
        texts[at] = texts_of(&best.into_column())?.pop().flatten();
    }
    let is_time = matches!(column.dtype(), DataType::Date | DataType::Datetime(..));
    if is_time || column.dtype().is_primitive_numeric() || column.dtype().is_decimal() {
        let numbers = if is_time {
            column.cast(&MICROSECONDS)?.cast(&DataType::Int64)?
        } else {
            column.clone()
        };
        let numbers = numbers.cast(&DataType::Float64)?;
        let mut numbers: Vec<f64> = numbers.f64()?.iter().flatten().collect();
        numbers.sort_by(f64::total_cmp);
        let mean =
            (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64);
        texts[2] = mean
            .map(|mean| {
                format_number(
                    mean,
                    if is_time {
                        &MICROSECONDS
                    } else {
                        &DataType::Float64
                    },
                )
            })
            .transpose()?
            .flatten();
        if let (Some(mean), false, true) = (mean, is_time, numbers.len() > 1) {
            let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
            texts[3] = format_number(
                (squares / (numbers.len() - 1) as f64).sqrt(),
                &DataType::Float64,
            )?;
        }
        for (at, quarter) in QUARTERS.into_iter().enumerate() {
            texts[4 + at] = quantile(&numbers, quarter)
                .map(|number| format_number(number, column.dtype()))
                .transpose()?
                .flatten();
        }
    }
    Ok((texts, count))
}

/// The keys that are not null, with their row.
fn list_known_keys(keys: &BinaryChunked) -> impl Iterator<Item = (&[u8], usize)> {
    keys.iter()
        .enumerate()
        .filter_map(|(row, key)| Some((key?, row)))
}

/// The value below which a share of the sorted numbers is, each of them in the middle of its own
/// share.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = (share * sorted.len() as f64 - 0.5).clamp(0.0, last as f64);
    let (low, high) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(low + (high - low) * place.fract())
}

/// The text of a number, or of microseconds since 1970 for times, as a value of a type.
fn format_number(number: f64, dtype: &DataType) -> PolarsResult<Option<String>> {
    /// Microseconds of a day.
    const DAY: f64 = 86_400e6;
    let column = match dtype {
        DataType::Date => {
            Column::new(PlSmallStr::EMPTY, [(number / DAY).round() as i32]).cast(&DataType::Date)?
        }
        DataType::Datetime(..) => {
            Column::new(PlSmallStr::EMPTY, [number.round() as i64]).cast(&MICROSECONDS)?
        }
        dtype if dtype.is_integer() => Column::new(PlSmallStr::EMPTY, [number.round() as i64]),
        DataType::Float32 => Column::new(PlSmallStr::EMPTY, [number as f32]),
        _ => Column::new(PlSmallStr::EMPTY, [number]),
    };
    Ok(texts_of(&column)?.pop().flatten())
}
