//! Durations, the intervals of DuckDB that have no months: days of 24 hours and a time.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::engine_errors::refusal;
use super::list_functions::elementwise;

/// Microseconds of a second and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Durations in microseconds.
pub(super) fn micros(column: &Column) -> PolarsResult<Int64Chunked> {
    let durations = column.cast(&DataType::Duration(TimeUnit::Microseconds))?;
    Ok(durations
        .as_materialized_series()
        .to_physical_repr()
        .i64()?
        .clone())
}

/// A function that gives a part of durations, as `extract(day FROM …)`; `None` for a part that they
/// don't have.
pub(super) fn part(of: &TemporalFunction) -> Option<UserDefinedFunction> {
    let part: fn(i64) -> i64 = match of {
        TemporalFunction::Millennium
        | TemporalFunction::Century
        | TemporalFunction::Year
        | TemporalFunction::Month => |_| 0,
        TemporalFunction::Quarter => |_| 1,
        TemporalFunction::Day => |micros| micros / DAY,
        TemporalFunction::Hour => |micros| micros % DAY / (3600 * SECOND),
        TemporalFunction::Minute => |micros| micros / (60 * SECOND) % 60,
        TemporalFunction::Second => |micros| micros / SECOND % 60,
        TemporalFunction::Nanosecond => |micros| micros % SECOND * 1000,
        _ => return None,
    };
    Some(elementwise(
        "part_of_duration",
        |_| Ok(DataType::Int64),
        move |columns| take_duration_part(&columns[0], part),
    ))
}

fn take_duration_part(durations: &Column, part: fn(i64) -> i64) -> PolarsResult<Column> {
    let parts = micros(durations)?
        .iter()
        .map(|micros| micros.map(part))
        .collect::<Int64Chunked>();
    Ok(parts.into_column())
}

/// `1 day 03:00:00`, `-2 days`, `00:00:00.5`.
pub(super) fn text(micros: i64) -> String {
    text_with_months(0, micros / DAY, micros % DAY)
}

/// `1 year 2 months 3 days 04:00:00`.
pub(super) fn text_with_months(months: i64, days: i64, rest: i64) -> String {
    let mut parts = Vec::new();
    for (count, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            let plural = if count.abs() == 1 { "" } else { "s" };
            parts.push(format!("{count} {unit}{plural}"));
        }
    }
    if rest != 0 || parts.is_empty() {
        let sign = if rest < 0 { "-" } else { "" };
        let (seconds, fraction) = (rest.abs() / SECOND, rest.abs() % SECOND);
        let mut time = format!(
            "{sign}{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        if fraction != 0 {
            time.push_str(format!(".{fraction:06}").trim_end_matches('0'));
        }
        parts.push(time);
    }
    parts.join(" ")
}

/// Durations of so many units, as `to_days(3)`.
pub(super) fn of_units(columns: &[Column], unit: i64) -> PolarsResult<Column> {
    let dtype = columns[0].dtype();
    let micros = if dtype.is_float() || dtype.is_decimal() {
        columns[0]
            .cast(&DataType::Float64)?
            .f64()?
            .iter()
            .map(|number| fail_on_overflow(number.map(|number| round_to_micros(number, unit))))
            .collect::<PolarsResult<Int64Chunked>>()?
    } else {
        let numbers = columns[0].cast(&DataType::Int64)?;
        numbers
            .i64()?
            .iter()
            .map(|number| fail_on_overflow(number.map(|number| number.checked_mul(unit))))
            .collect::<PolarsResult<Int64Chunked>>()?
    };
    Ok(micros.into_duration(TimeUnit::Microseconds).into_column())
}

/// A number of units in microseconds; `None` beyond 64 bits.
fn round_to_micros(number: f64, unit: i64) -> Option<i64> {
    let micros = number * unit as f64;
    (micros.abs() < i64::MAX as f64).then(|| micros.round() as i64)
}

fn fail_on_overflow(micros: Option<Option<i64>>) -> PolarsResult<Option<i64>> {
    match micros {
        Some(None) => Err(refusal("the interval is out of range")),
        Some(known) => Ok(known),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_texts_of_duckdb() {
        for (micros, wanted) in [
            (DAY + 3 * 3600 * SECOND, "1 day 03:00:00"),
            (-DAY - 3 * 3600 * SECOND, "-1 day -03:00:00"),
            (0, "00:00:00"),
            (SECOND / 2, "00:00:00.5"),
            (2 * DAY, "2 days"),
            (-SECOND / 4, "-00:00:00.25"),
        ] {
            assert_eq!(text(micros), wanted);
        }
    }
}
