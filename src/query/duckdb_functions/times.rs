//! Functions of dates and times: parts of them, differences, and times made of parts.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Weekday};
use polars::prelude::*;

use super::arguments::{all_whole, text_of, whole_at};
use crate::query::durations;
use crate::query::engine_errors::refusal;
use crate::query::nested_values::broadcast_row;

/// Times as microseconds since 1970-01-01 UTC.
pub(super) fn micros(column: &Column) -> PolarsResult<Int64Chunked> {
    let is_time = column.dtype().is_temporal() || column.dtype().is_null();
    if !is_time {
        return Err(refusal(format!(
            "{} is no time; write CAST(\"{}\" AS TIMESTAMP)",
            column.name(),
            column.name()
        )));
    }
    let times = column.cast(&DataType::Datetime(TimeUnit::Microseconds, None))?;
    Ok(times
        .as_materialized_series()
        .to_physical_repr()
        .i64()?
        .clone())
}

fn time_of(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

/// Times, and durations, in microseconds.
fn time_or_duration_micros(column: &Column) -> PolarsResult<Int64Chunked> {
    if column.dtype().is_duration() {
        durations::micros(column)
    } else {
        micros(column)
    }
}

pub(super) fn numbers_of_times(columns: &[Column], of: fn(i64) -> f64) -> PolarsResult<Column> {
    Ok(time_or_duration_micros(&columns[0])?
        .iter()
        .map(|micros| micros.map(of))
        .collect::<Float64Chunked>()
        .into_column())
}

pub(super) fn wholes_of_times(columns: &[Column], of: fn(i64) -> i64) -> PolarsResult<Column> {
    Ok(time_or_duration_micros(&columns[0])?
        .iter()
        .map(|micros| micros.map(of))
        .collect::<Int64Chunked>()
        .into_column())
}

pub(super) fn texts_of_times(
    columns: &[Column],
    of: fn(NaiveDateTime) -> String,
) -> PolarsResult<Column> {
    let texts = micros(&columns[0])?;
    Ok(texts
        .iter()
        .map(|micros| micros.and_then(time_of).map(of))
        .collect::<StringChunked>()
        .into_column())
}

/// A time in UTC.
pub(super) const IN_UTC: DataType = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));

/// Times without a zone as those of UTC.
pub(super) fn in_utc(columns: &[Column]) -> PolarsResult<Column> {
    Ok(micros(&columns[0])?
        .into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
        .into_column())
}

/// A time without a zone.
pub(super) const MICROSECONDS: DataType = DataType::Datetime(TimeUnit::Microseconds, None);

/// The type of the second argument if it is a time with a zone.
pub(super) fn zoned_argument_type(fields: &[Field]) -> Option<DataType> {
    fields
        .get(1)
        .map(|field| field.dtype().clone())
        .filter(is_zoned)
}

fn is_zoned(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Datetime(_, Some(_)))
}

/// `date_trunc` with a result of `dtype`; times with a zone keep it.
pub(super) fn truncate_to_type(columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    if is_zoned(columns[1].dtype()) {
        return date_trunc(columns);
    }
    // Dates have no hours.
    let times = if dtype.is_date() {
        columns[1].clone()
    } else {
        columns[1].cast(dtype)?
    };
    date_trunc(&[columns[0].clone(), times])?.cast(dtype)
}

fn date_trunc(columns: &[Column]) -> PolarsResult<Column> {
    if columns[1].is_empty() {
        return Ok(columns[1].clone());
    }
    let unit = text_of(columns, 0)?.to_lowercase();
    let singular = match unit.as_str() {
        "ms" | "us" => unit.as_str(),
        plural => plural.strip_suffix('s').unwrap_or(plural),
    };
    let every = match singular {
        "millennium" => return by_years(&columns[1], 1000),
        "century" | "centurie" => return by_years(&columns[1], 100),
        "decade" => return by_years(&columns[1], 10),
        "isoyear" => return truncate_each(&columns[1], first_micros_of_iso_year),
        "year" => "1y",
        "quarter" => "1q",
        "month" => "1mo",
        "week" => "1w",
        "day" => "1d",
        "hour" => "1h",
        "minute" | "min" | "m" => "1m",
        "second" | "sec" => "1s",
        "millisecond" | "msec" | "ms" => "1ms",
        "microsecond" | "usec" | "us" => "1us",
        _ => {
            return Err(refusal(format!(
                "{unit} is no unit: year, quarter, month, week, day, hour, minute, second"
            )));
        }
    };
    let times = &columns[1];
    if !times.dtype().is_temporal() {
        return Err(refusal(format!(
            "{} is no time; write CAST(\"{}\" AS TIMESTAMP)",
            times.name(),
            times.name()
        )));
    }
    let of_days = if matches!(every, "1h" | "1m" | "1s" | "1ms" | "1us") {
        None
    } else {
        by_day(times, |days| truncate_times(days, every))?
    };
    of_days.map_or_else(|| truncate_times(times.clone(), every), Ok)
}

/// Times that are cut to multiples of `every` by the engine.
fn truncate_times(times: Column, every: &str) -> PolarsResult<Column> {
    let frame = DataFrame::new(times.len(), vec![times.with_name("t".into())])?;
    let cut = frame
        .lazy()
        .select([col("t").dt().truncate(lit(every))])
        .collect()?;
    Ok(cut.column("t")?.clone())
}

/// Applies `of` once per distinct day, for functions that are constant within a day: calendar
/// arithmetic dominates the cost. `None` when there are more days than times, or a day start is out
/// of range.
fn by_day(
    times: &Column,
    of: impl Fn(Column) -> PolarsResult<Column>,
) -> PolarsResult<Option<Column>> {
    let DataType::Datetime(unit, None) = *times.dtype() else {
        return Ok(None);
    };
    let day = 86_400
        * match unit {
            TimeUnit::Milliseconds => 1_000i64,
            TimeUnit::Microseconds => 1_000_000,
            TimeUnit::Nanoseconds => 1_000_000_000,
        };
    let physical = times
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let instants = physical.i64()?;
    let (Some(first), Some(last)) = (instants.min(), instants.max()) else {
        return Ok(None);
    };
    let (first, last) = (first.div_euclid(day), last.div_euclid(day));
    let few = usize::try_from(last - first).is_ok_and(|days| days < times.len() / 2);
    // The start of the first day can be below the minimum timestamp.
    if !few || first.checked_mul(day).is_none() {
        return Ok(None);
    }
    let days = Int64Chunked::from_vec(
        PlSmallStr::EMPTY,
        (first..=last).map(|number| number * day).collect(),
    );
    let answers = of(days.into_series().cast(times.dtype())?.into_column())?;
    let answers = answers
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let answers: Vec<Option<i64>> = answers.i64()?.iter().collect();
    if answers.iter().any(Option::is_none) {
        return Ok(None);
    }
    let truncated = instants.apply_values(|instant| {
        let number = usize::try_from(instant.div_euclid(day) - first).ok();
        let answer = number.and_then(|number| *answers.get(number)?);
        answer.unwrap_or(instant)
    });
    Ok(Some(
        truncated.into_series().cast(times.dtype())?.into_column(),
    ))
}

/// The first day of the decade, century or millennium of each time.
fn by_years(times: &Column, years: i32) -> PolarsResult<Column> {
    truncate_each(times, |micros| first_micros_of_years(micros, years))
}

fn truncate_each(times: &Column, of: impl Fn(i64) -> Option<i64>) -> PolarsResult<Column> {
    let firsts = micros(times)?
        .iter()
        .map(|micros| of(micros?))
        .collect::<Int64Chunked>();
    firsts
        .into_series()
        .cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
        .cast(times.dtype())
        .map(Series::into_column)
}

fn first_micros_of_years(micros: i64, years: i32) -> Option<i64> {
    let year = time_of(micros)?.year().div_euclid(years) * years;
    Some(start_of_day(NaiveDate::from_ymd_opt(year, 1, 1)?))
}

fn first_micros_of_iso_year(micros: i64) -> Option<i64> {
    let year = time_of(micros)?.iso_week().year();
    Some(start_of_day(NaiveDate::from_isoywd_opt(
        year,
        1,
        Weekday::Mon,
    )?))
}

/// Midnight in microseconds since 1970-01-01 UTC.
fn start_of_day(day: NaiveDate) -> i64 {
    day.and_time(chrono::NaiveTime::MIN)
        .and_utc()
        .timestamp_micros()
}

/// Number of boundaries of a unit between two times; of weeks the number of whole ones.
pub(super) fn date_diff(columns: &[Column]) -> PolarsResult<Column> {
    if columns.iter().any(Column::is_empty) {
        return Ok(Column::new_empty(PlSmallStr::EMPTY, &DataType::Int64));
    }
    const DAY: i64 = 86_400_000_000;
    let unit = text_of(columns, 0)?.to_lowercase();
    let months = |micros: i64| {
        time_of(micros).map(|time| i64::from(time.year()) * 12 + i64::from(time.month0()))
    };
    let count: Box<dyn Fn(i64) -> Option<i64>> = match unit.trim_end_matches('s') {
        "year" => Box::new(move |t| months(t).map(|months| months.div_euclid(12))),
        "isoyear" => Box::new(|t| time_of(t).map(|time| time.iso_week().year().into())),
        "decade" => Box::new(move |t| months(t).map(|months| months.div_euclid(120))),
        "century" | "centurie" => {
            Box::new(move |t| months(t).map(|months| months.div_euclid(1200)))
        }
        "millennium" | "millennia" => {
            Box::new(move |t| months(t).map(|months| months.div_euclid(12_000)))
        }
        "microsecond" => Box::new(Some),
        "quarter" => Box::new(move |t| months(t).map(|months| months.div_euclid(3))),
        "month" => Box::new(months),
        "week" | "day" => Box::new(|t| Some(t.div_euclid(DAY))),
        "hour" => Box::new(|t| Some(t.div_euclid(3_600_000_000))),
        "minute" => Box::new(|t| Some(t.div_euclid(60_000_000))),
        "second" => Box::new(|t| Some(t.div_euclid(1_000_000))),
        "millisecond" => Box::new(|t| Some(t.div_euclid(1000))),
        _ => {
            return Err(refusal(format!(
                "{unit} is no unit: year, quarter, month, week, day, hour, minute, second"
            )));
        }
    };
    let (from, to) = (micros(&columns[1])?, micros(&columns[2])?);
    let rows = from.len().max(to.len());
    let at =
        |column: &Int64Chunked, row: usize| column.get(if column.len() == 1 { 0 } else { row });
    // Weeks are seven days each, wherever they begin.
    let step = if unit.starts_with("week") { 7 } else { 1 };
    let between = |row: usize| Some((count(at(&to, row)?)? - count(at(&from, row)?)?) / step);
    Ok((0..rows)
        .map(between)
        .collect::<Int64Chunked>()
        .into_column())
}

fn day_of(parts: &[Int64Chunked], row: usize) -> PolarsResult<Option<NaiveDate>> {
    let part = |at: usize| whole_at(&parts[at], row);
    let (Some(year), Some(month), Some(day)) = (part(0), part(1), part(2)) else {
        return Ok(None);
    };
    let found = i32::try_from(year)
        .ok()
        .zip(u32::try_from(month).ok())
        .zip(u32::try_from(day).ok());
    let found = found.and_then(|((year, month), day)| NaiveDate::from_ymd_opt(year, month, day));
    found
        .map(Some)
        .ok_or_else(|| refusal(format!("{year}-{month}-{day} is no day")))
}

pub(super) fn make_date(columns: &[Column]) -> PolarsResult<Column> {
    let (parts, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| Ok(day_of(&parts, row)?.map(days_since_1970)))
        .collect::<PolarsResult<Int32Chunked>>()?
        .into_series()
        .cast(&DataType::Date)?
        .into_column())
}

pub(super) fn make_timestamp(columns: &[Column]) -> PolarsResult<Column> {
    let (parts, rows) = all_whole(&columns[..5])?;
    let seconds = columns[5].cast(&DataType::Float64)?;
    let (seconds, rows) = (seconds.f64()?, rows.max(columns[5].len()));
    let times = (0..rows)
        .map(|row| micros_of_parts(&parts, seconds, row))
        .collect::<PolarsResult<Int64Chunked>>()?
        .into_series();
    Ok(times
        .cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
        .into_column())
}

/// The time of a row in microseconds since 1970-01-01 UTC; `parts` are year, month, day, hour and
/// minute.
fn micros_of_parts(
    parts: &[Int64Chunked],
    seconds: &Float64Chunked,
    row: usize,
) -> PolarsResult<Option<i64>> {
    let Some(day) = day_of(parts, row)? else {
        return Ok(None);
    };
    let (hour, minute) = (whole_at(&parts[3], row), whole_at(&parts[4], row));
    let second = seconds.get(broadcast_row(seconds.len(), row));
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else {
        return Ok(None);
    };
    let possible =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    if !possible {
        return Err(refusal(format!(
            "{hour}:{minute}:{second} is no time of a day"
        )));
    }
    let of_day = (hour * 3600 + minute * 60) * 1_000_000 + (second * 1e6).round() as i64;
    Ok(Some(start_of_day(day) + of_day))
}

/// The last day of the month.
pub(super) fn last_day(columns: &[Column]) -> PolarsResult<Column> {
    let days = micros(&columns[0])?
        .iter()
        .map(|micros| last_day_of_month(time_of(micros?)?.date()).map(days_since_1970))
        .collect::<Int32Chunked>();
    Ok(days.into_series().cast(&DataType::Date)?.into_column())
}

fn last_day_of_month(day: NaiveDate) -> Option<NaiveDate> {
    day.with_day(1)?
        .checked_add_months(chrono::Months::new(1))?
        .pred_opt()
}

/// Arrow dates count days from 1970-01-01.
fn days_since_1970(day: NaiveDate) -> i32 {
    day.num_days_from_ce() - 719_163
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_alike_by_the_day_and_one_by_one() {
        let instants: Vec<Option<i64>> = (0..4000i64)
            .map(|n| {
                (n % 7 != 0)
                    .then_some((n * 7_919_000_017) % (900 * 86_400_000_000) - 400 * 86_400_000_000)
            })
            .collect();
        for unit in [
            TimeUnit::Milliseconds,
            TimeUnit::Microseconds,
            TimeUnit::Nanoseconds,
        ] {
            let scaled = instants.iter().map(|instant| {
                instant.map(|instant| match unit {
                    TimeUnit::Milliseconds => instant / 1000,
                    TimeUnit::Microseconds => instant,
                    TimeUnit::Nanoseconds => instant * 1000 + 999,
                })
            });
            let dtype = DataType::Datetime(unit, None);
            let times: Series = scaled
                .collect::<Int64Chunked>()
                .into_series()
                .cast(&dtype)
                .expect("times");
            for (name, every) in [
                ("year", "1y"),
                ("quarter", "1q"),
                ("month", "1mo"),
                ("weeks", "1w"),
                ("day", "1d"),
                ("hour", "1h"),
            ] {
                let columns = [
                    Column::new("unit".into(), [name]),
                    times.clone().with_name("t".into()).into_column(),
                ];
                let ours = date_trunc(&columns).expect("cuts");
                let one_by_one = df!("t" => times.clone())
                    .expect("a frame")
                    .lazy()
                    .select([col("t").dt().truncate(lit(every))]);
                let theirs = one_by_one.collect().expect("runs");
                assert!(
                    ours.equals_missing(theirs.column("t").expect("t")),
                    "{name} {unit:?}\n{ours:?}\n{theirs}"
                );
            }
        }
    }

    #[test]
    fn few_and_extreme_times_are_cut_one_by_one() {
        let far = Series::new("t".into(), vec![i64::MIN, 0, i64::MAX])
            .cast(&DataType::Datetime(TimeUnit::Microseconds, None));
        assert!(
            by_day(&far.expect("times").into_column(), |_| unreachable!())
                .expect("runs")
                .is_none()
        );
        let nothing = Series::full_null(
            "t".into(),
            3,
            &DataType::Datetime(TimeUnit::Microseconds, None),
        );
        assert!(
            by_day(&nothing.into_column(), |_| unreachable!())
                .expect("runs")
                .is_none()
        );
    }
}
