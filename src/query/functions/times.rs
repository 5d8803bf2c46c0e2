//! Functions of dates and times.

use chrono::format::{Parsed, StrftimeItems};
use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};
use chrono_tz::Tz;
use polars::prelude::*;

use super::{
    LastRead, ScalarFunction, double, doubles_column, of_doubles, of_texts, of_wholes, scalar,
    text, texts_column, whole, wholes_column,
};
use crate::error::Error;
use crate::query::durations;
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{ListsBuilder, broadcast_row, cast_to, row_count};
use crate::query::scan::fault;
use crate::query::time_texts::{self, UnreadText};
use crate::query::typed_texts;
use crate::text::PrintableLine;

const MICROSECONDS: DataType = DataType::Datetime(TimeUnit::Microseconds, None);
const DAY: i64 = 86_400_000_000;
/// Days between the first day of chrono's calendar and 1970-01-01.
const EPOCH_DAYS: i32 = 719_163;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("century", (1, 1), whole, |columns| {
        parts(columns, |time| rounded_up(time.year(), 100))
    }),
    scalar("millennium", (1, 1), whole, |columns| {
        parts(columns, |time| rounded_up(time.year(), 1000))
    }),
    scalar("decade", (1, 1), whole, |columns| {
        parts(columns, |time| i64::from(time.year()).div_euclid(10))
    }),
    scalar("era", (1, 1), whole, |columns| {
        parts(columns, |time| i64::from(time.year() > 0))
    }),
    scalar("isoyear", (1, 1), whole, |columns| {
        parts(columns, |time| time.iso_week().year().into())
    }),
    scalar("yearweek", (1, 1), whole, |columns| {
        parts(columns, |time| {
            let week = time.iso_week();
            let year = i64::from(week.year());
            year * 100
                + if year > 0 {
                    i64::from(week.week())
                } else {
                    -i64::from(week.week())
                }
        })
    }),
    scalar("weekday", (1, 1), whole, |columns| {
        parts(columns, |time| time.weekday().num_days_from_sunday().into())
    }),
    scalar("microsecond", (1, 1), whole, |columns| {
        parts_of_minute(columns, 1)
    }),
    scalar("millisecond", (1, 1), whole, |columns| {
        parts_of_minute(columns, 1000)
    }),
    scalar("epoch_ns", (1, 1), whole, |columns| {
        Ok(wholes_column(
            micros(&columns[0])?
                .iter()
                .map(|time| time.and_then(|time| time.checked_mul(1000)))
                .collect(),
        ))
    }),
    scalar("julian", (1, 1), double, |columns| {
        let days = |time: i64| time as f64 / DAY as f64 + 2_440_588.0;
        Ok(doubles_column(
            micros(&columns[0])?
                .iter()
                .map(|time| time.map(days))
                .collect(),
        ))
    }),
    scalar("date_sub", (3, 3), whole, whole_units_between),
    scalar("datesub", (3, 3), whole, whole_units_between),
    scalar(
        "to_timestamp",
        (1, 1),
        |_| {
            Ok(DataType::Datetime(
                TimeUnit::Microseconds,
                Some(TimeZone::UTC),
            ))
        },
        |columns| {
            let micros = of_doubles(columns, |[seconds]| in_range(seconds * 1e6))?;
            let times: Int64Chunked = micros.into_iter().collect();
            Ok(times
                .into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
                .into_column())
        },
    ),
    scalar(
        "time_of_ms",
        (1, 1),
        |_| Ok(MICROSECONDS),
        |columns| {
            let micros = of_doubles(columns, |[milliseconds]| in_range(milliseconds * 1e3))?;
            Ok(micros
                .into_iter()
                .collect::<Int64Chunked>()
                .into_datetime(TimeUnit::Microseconds, None)
                .into_column())
        },
    ),
    scalar(
        "make_time",
        (3, 3),
        |_| Ok(DataType::Time),
        |columns| {
            let nanos = of_doubles(columns, |[hour, minute, second]| {
                let is_time = (0.0..24.0).contains(&hour)
                    && (0.0..60.0).contains(&minute)
                    && (0.0..60.0).contains(&second);
                let micros =
                    (hour.trunc() * 3600.0 + minute.trunc() * 60.0) * 1e6 + (second * 1e6).round();
                if is_time {
                    Ok(Some(micros as i64 * 1000))
                } else {
                    Err(refusal("make_time takes an hour, a minute and a second"))
                }
            })?;
            Ok(nanos
                .into_iter()
                .collect::<Int64Chunked>()
                .into_time()
                .into_column())
        },
    ),
    scalar(
        "time_moved",
        (2, 2),
        |_| Ok(DataType::Time),
        |columns| move_times_of_day(columns, 1),
    ),
    scalar(
        "time_moved_back",
        (2, 2),
        |_| Ok(DataType::Time),
        |columns| move_times_of_day(columns, -1),
    ),
    scalar(
        "time_of_micros",
        (1, 1),
        |_| Ok(MICROSECONDS),
        |columns| {
            Ok(of_wholes(columns, |[micros]| Ok(Some(micros)))?
                .into_iter()
                .collect::<Int64Chunked>()
                .into_datetime(TimeUnit::Microseconds, None)
                .into_column())
        },
    ),
    // The session has the zone UTC.
    scalar("timezone_hour", (1, 1), whole, |columns| {
        parts(columns, |_| 0)
    }),
    scalar("timezone_minute", (1, 1), whole, |columns| {
        parts(columns, |_| 0)
    }),
    scalar("age", (2, 2), refuse_month_type, |_| Err(refuse_months())),
    scalar("age_part", (3, 3), whole, take_age_parts),
    scalar("age_text", (2, 2), text, write_ages),
    scalar("to_months", (1, 1), refuse_month_type, |_| {
        Err(refuse_months())
    }),
    scalar("months_added", (2, 2), time_type, add_months),
    scalar("to_weeks", (1, 1), duration, |columns| {
        durations::of_units(columns, 7 * DAY)
    }),
    scalar("to_days", (1, 1), duration, |columns| {
        durations::of_units(columns, DAY)
    }),
    scalar("to_hours", (1, 1), duration, |columns| {
        durations::of_units(columns, 3_600_000_000)
    }),
    scalar("to_minutes", (1, 1), duration, |columns| {
        durations::of_units(columns, 60_000_000)
    }),
    scalar("to_seconds", (1, 1), duration, |columns| {
        durations::of_units(columns, 1_000_000)
    }),
    scalar("to_milliseconds", (1, 1), duration, |columns| {
        durations::of_units(columns, 1000)
    }),
    scalar("to_microseconds", (1, 1), duration, |columns| {
        durations::of_units(columns, 1)
    }),
    scalar(
        "instant_of_text",
        (1, 2),
        |_| {
            Ok(DataType::Datetime(
                TimeUnit::Microseconds,
                Some(TimeZone::UTC),
            ))
        },
        instant_of_text,
    ),
    scalar("timezone", (2, 2), zoned_type, in_zone),
    scalar("time_bucket", (2, 3), bucket_type, time_bucket),
    scalar("times_before", (3, 3), series_type, |columns| {
        time_series(columns, false)
    }),
    scalar("times_until", (3, 3), series_type, |columns| {
        time_series(columns, true)
    }),
    scalar(
        "incomplete_time",
        (2, 2),
        |_| Ok(MICROSECONDS),
        |columns| {
            Ok(of_texts(columns, read_incomplete_time)?
                .into_iter()
                .collect::<Int64Chunked>()
                .into_datetime(TimeUnit::Microseconds, None)
                .into_column())
        },
    ),
    scalar(
        "time_in_formats",
        (2, FORMATS_MAX + 1),
        |_| Ok(MICROSECONDS),
        |columns| read_in_formats(columns, false),
    ),
    scalar(
        "try_time_in_formats",
        (2, FORMATS_MAX + 1),
        |_| Ok(MICROSECONDS),
        |columns| read_in_formats(columns, true),
    ),
    scalar(
        "try_strptime",
        (2, 2),
        |_| Ok(MICROSECONDS),
        |columns| {
            Ok(of_texts(columns, try_read_time)?
                .into_iter()
                .collect::<Int64Chunked>()
                .into_datetime(TimeUnit::Microseconds, None)
                .into_column())
        },
    ),
];

/// Most formats of one call.
const FORMATS_MAX: usize = 100;

/// The time of each text in the first of several formats that it has; if `is_lenient`, null for
/// texts that have none of them.
fn read_in_formats(columns: &[Column], is_lenient: bool) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(|column| cast_to(column, &DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|texts| texts.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut times = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let mut arguments = texts
            .iter()
            .map(|texts| texts.get(broadcast_row(texts.len(), row)));
        let Some(text) = arguments.next().flatten() else {
            times.push(None);
            continue;
        };
        let mut found = None;
        for format in arguments.flatten() {
            found = try_read_time([text, format])?;
            if found.is_some() {
                break;
            }
        }
        if found.is_none() && !is_lenient {
            return Err(refusal(format!(
                "'{}' does not have any of the forms",
                text.printable_line()
            )));
        }
        times.push(found);
    }
    Ok(times
        .into_iter()
        .collect::<Int64Chunked>()
        .into_datetime(TimeUnit::Microseconds, None)
        .into_column())
}

/// The time of a text in a format, in microseconds.
fn read_incomplete_time([text, format]: [&str; 2]) -> PolarsResult<Option<i64>> {
    let time = try_read_time([text, format])?;
    time.map(Some).ok_or_else(|| {
        refusal(format!(
            "'{}' does not have the form {}",
            text.printable_line(),
            format.printable_line()
        ))
    })
}

/// The time of a text in a format, in microseconds; null for texts of another form.
fn try_read_time([text, format]: [&str; 2]) -> PolarsResult<Option<i64>> {
    let format = crate::query::text_patterns::read_time(format);
    Ok(time_of_text(text, &format).map(|time| time.and_utc().timestamp_micros()))
}

/// The time that a text states in a format; what the format does not have is the year 1900, the
/// first month, day, minute and second.
fn time_of_text(text: &str, format: &str) -> Option<NaiveDateTime> {
    let mut parsed = Parsed::new();
    chrono::format::parse(&mut parsed, text, StrftimeItems::new(format)).ok()?;
    let day = parsed.to_naive_date().ok().or_else(|| {
        // Each is refused where it is known already.
        let _ = (parsed.set_month(1), parsed.set_day(1));
        if parsed.year().is_none() && parsed.year_mod_100().is_none() {
            let _ = parsed.set_year(1900);
        }
        parsed.to_naive_date().ok()
    })?;
    if parsed.hour_div_12().is_none() && parsed.hour_mod_12().is_none() {
        return Some(day.and_time(NaiveTime::MIN));
    }
    if parsed.minute().is_none() {
        parsed.set_minute(0).ok()?;
    }
    parsed.to_naive_time().ok().map(|time| day.and_time(time))
}

fn in_range(micros: f64) -> PolarsResult<Option<i64>> {
    if micros.is_finite() && micros.abs() < i64::MAX as f64 {
        Ok(Some(micros.round() as i64))
    } else {
        Err(refusal("the time is out of range"))
    }
}

fn rounded_up(year: i32, years: i32) -> i64 {
    if year > 0 {
        i64::from((year - 1) / years + 1)
    } else {
        i64::from(year / years) - 1
    }
}

/// Times as microseconds since 1970-01-01.
fn micros(column: &Column) -> PolarsResult<Int64Chunked> {
    if !column.dtype().is_temporal() && !column.dtype().is_null() {
        let column_name = column.name().to_string();
        return Err(refusal(format!(
            "{0} is not a time; write CAST(\"{0}\" AS TIMESTAMP)",
            column_name.printable_line()
        )));
    }
    let times = column.cast(&MICROSECONDS)?;
    Ok(times
        .as_materialized_series()
        .to_physical_repr()
        .i64()?
        .clone())
}

fn time_of(micros: i64) -> Option<NaiveDateTime> {
    chrono::DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

fn parts(columns: &[Column], of: fn(NaiveDateTime) -> i64) -> PolarsResult<Column> {
    Ok(wholes_column(
        micros(&columns[0])?
            .iter()
            .map(|time| time.and_then(time_of).map(of))
            .collect(),
    ))
}

/// The seconds of times and of durations in units of so many microseconds.
fn parts_of_minute(columns: &[Column], unit: i64) -> PolarsResult<Column> {
    const MINUTE: i64 = 60_000_000;
    let parts: Vec<Option<i64>> = if columns[0].dtype().is_duration() {
        let durations = durations::micros(&columns[0])?;
        let part = |micros: Option<i64>| micros.map(|micros| micros % MINUTE / unit);
        durations.iter().map(part).collect()
    } else if columns[0].dtype() == &DataType::Time {
        let nanoseconds = columns[0].as_materialized_series().to_physical_repr();
        let part = |time: Option<i64>| time.map(|time| time / 1000 % MINUTE / unit);
        nanoseconds.i64()?.iter().map(part).collect()
    } else {
        let times = micros(&columns[0])?;
        let part = |time: Option<i64>| time.map(|time| time.rem_euclid(MINUTE) / unit);
        times.iter().map(part).collect()
    };
    Ok(wholes_column(parts))
}

/// Whole units that passed between two times.
fn whole_units_between(columns: &[Column]) -> PolarsResult<Column> {
    let units = cast_to(&columns[0], &DataType::String)?;
    let (units, from, to) = (units.str()?, micros(&columns[1])?, micros(&columns[2])?);
    let mut counts = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let at = |length: usize| broadcast_row(length, row);
        let times = from.get(at(from.len())).zip(to.get(at(to.len())));
        counts.push(match units.get(at(units.len())).zip(times) {
            Some((unit, (from, to))) => count_units_between(unit, from, to)?,
            None => None,
        });
    }
    Ok(wholes_column(counts))
}

/// The whole units from a time to another one.
fn count_units_between(unit: &str, from: i64, to: i64) -> PolarsResult<Option<i64>> {
    let unit = unit.to_lowercase();
    let length = match unit.trim_end_matches('s') {
        "microsecond" | "u" => 1,
        "millisecond" | "m" => 1000,
        "second" => 1_000_000,
        "minute" => 60_000_000,
        "hour" => 3_600_000_000,
        "day" => DAY,
        "week" => 7 * DAY,
        "month" => return Ok(months_between(from, to)),
        "quarter" => return Ok(months_between(from, to).map(|months| months / 3)),
        "year" => return Ok(months_between(from, to).map(|months| months / 12)),
        "decade" => return Ok(months_between(from, to).map(|months| months / 120)),
        "century" | "centurie" => {
            return Ok(months_between(from, to).map(|months| months / 1200));
        }
        "millennium" | "millennia" => {
            return Ok(months_between(from, to).map(|months| months / 12_000));
        }
        _ => {
            return Err(refusal(format!(
                "{} is not a unit: year, quarter, month, week, day, hour, minute, second",
                unit.printable_line()
            )));
        }
    };
    Ok(to.checked_sub(from).map(|passed| passed / length))
}

/// Whole months between two times; the last day of a month is a month after a later day of the one
/// before it.
fn months_between(from: i64, to: i64) -> Option<i64> {
    if from > to {
        return months_between(to, from).map(|months| -months);
    }
    let (start, end) = (time_of(from)?, time_of(to)?);
    let months = i64::from(end.year() - start.year()) * 12 + i64::from(end.month())
        - i64::from(start.month());
    let is_last = end
        .date()
        .checked_add_days(Days::new(1))
        .is_some_and(|next| next.month() != end.month());
    let day_of_start = if is_last {
        start.day().min(end.day())
    } else {
        start.day()
    };
    let is_full = (end.day(), end.time()) >= (day_of_start, start.time());
    Some(months - i64::from(!is_full))
}

/// Texts as instants; with a second argument, null for texts that are none.
fn instant_of_text(columns: &[Column]) -> PolarsResult<Column> {
    let read = |[text]: [&str; 1]| read_instant(text, columns.len() > 1);
    let micros: Int64Chunked = of_texts(&columns[..1], read)?.into_iter().collect();
    Ok(micros
        .into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
        .into_column())
}

/// The instant of a text in microseconds; `is_try` makes a text that is none null.
fn read_instant(text: &str, is_try: bool) -> PolarsResult<Option<i64>> {
    match time_texts::instant(text) {
        Ok(time) => Ok(Some(time.and_utc().timestamp_micros())),
        Err(UnreadText::Beyond) => Err(refusal(typed_texts::out_of_range_message(
            text,
            "TIMESTAMPTZ",
        ))),
        Err(UnreadText::NoValue) if is_try => Ok(None),
        Err(UnreadText::NoValue) => Err(refusal(format!(
            "the text '{}' is no TIMESTAMPTZ; TRY_CAST gives null for such texts",
            text.printable_line()
        ))),
    }
}

/// Refuses a value of months, for which the engine has no type.
fn refuse_month_type(_: &[DataType]) -> PolarsResult<DataType> {
    Err(refuse_months())
}

fn refuse_months() -> PolarsError {
    fault(
        &Error::usage("an interval of months is no value of a result")
            .hint(
                "of an age take a part or its text: date_part('year', age(a, b)), \
                    age(a, b)::VARCHAR; or date_diff('day', b, a)",
            )
            .hint("add months to a time: date + to_months(3)"),
    )
}

/// A time with the zone of another one, without a zone for a date.
fn time_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(match dtypes.first() {
        Some(zoned @ DataType::Datetime(_, Some(_))) => zoned.clone(),
        _ => MICROSECONDS,
    })
}

/// Times moved by numbers of months.
fn add_months(columns: &[Column]) -> PolarsResult<Column> {
    let times = micros(&columns[0])?;
    let months = columns[1].cast(&DataType::Int64)?;
    let months = months.i64()?;
    let mut moved = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let time = times.get(broadcast_row(times.len(), row));
        let count = months.get(broadcast_row(months.len(), row));
        moved.push(match time.zip(count) {
            Some((time, months)) => {
                let step = time_texts::IntervalParts {
                    months,
                    days: 0,
                    micros: 0,
                };
                let moved = add_interval(time, &step);
                Some(moved.ok_or_else(|| refusal("the time is out of range"))?)
            }
            None => None,
        });
    }
    let zone = match columns[0].dtype() {
        DataType::Datetime(_, zone) => zone.clone(),
        _ => None,
    };
    Ok(moved
        .into_iter()
        .collect::<Int64Chunked>()
        .into_datetime(TimeUnit::Microseconds, zone)
        .into_column())
}

/// The time from the second to the first of each row, in months, days and microseconds.
fn compute_ages(columns: &[Column]) -> PolarsResult<Vec<Option<time_texts::IntervalParts>>> {
    let (ends, starts) = (micros(&columns[0])?, micros(&columns[1])?);
    let time_at =
        |times: &Int64Chunked, row: usize| time_of(times.get(broadcast_row(times.len(), row))?);
    Ok((0..row_count(columns))
        .map(|row| Some(age_between(time_at(&starts, row)?, time_at(&ends, row)?)))
        .collect())
}

/// The time between two, of which the months and days are those of the calendar, from the month of
/// the first of them; negative when `end` is before `start`.
fn age_between(start: NaiveDateTime, end: NaiveDateTime) -> time_texts::IntervalParts {
    let (first, last) = if start <= end {
        (start, end)
    } else {
        (end, start)
    };
    let count = |time: NaiveDateTime| i64::from(time.year()) * 12 + i64::from(time.month0());
    let time_of_day = |time: NaiveDateTime| (time.time() - NaiveTime::MIN).num_microseconds();
    let (mut months, mut days, mut micros) = (
        count(last) - count(first),
        i64::from(last.day()) - i64::from(first.day()),
        time_of_day(last).unwrap_or(0) - time_of_day(first).unwrap_or(0),
    );
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    if days < 0 {
        days += i64::from(first.num_days_in_month());
        months -= 1;
    }
    let sign = if start <= end { 1 } else { -1 };
    time_texts::IntervalParts {
        months: sign * months,
        days: sign * days,
        micros: sign * micros,
    }
}

fn write_ages(columns: &[Column]) -> PolarsResult<Column> {
    let text = |age: time_texts::IntervalParts| {
        durations::text_with_months(age.months, age.days, age.micros)
    };
    let ages = compute_ages(columns)?;
    Ok(texts_column(
        ages.into_iter().map(|age| age.map(text)).collect(),
    ))
}

/// Parts of ages: `date_part('year', age(a, b))`.
fn take_age_parts(columns: &[Column]) -> PolarsResult<Column> {
    let units = cast_to(&columns[0], &DataType::String)?;
    let units = units.str()?;
    let ages = compute_ages(&columns[1..])?;
    let mut parts = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let unit = units.get(broadcast_row(units.len(), row));
        let age = ages[broadcast_row(ages.len(), row)].as_ref();
        parts.push(match unit.zip(age) {
            Some((unit, age)) => Some(part_of_age(unit, age)?),
            None => None,
        });
    }
    Ok(wholes_column(parts))
}

fn part_of_age(unit: &str, age: &time_texts::IntervalParts) -> PolarsResult<i64> {
    let unit = unit.to_lowercase();
    Ok(match unit.trim_end_matches('s') {
        "year" => age.months / 12,
        "quarter" => age.months % 12 / 3 + 1,
        "month" => age.months % 12,
        "day" => age.days,
        "hour" => age.micros / 3_600_000_000,
        "minute" => age.micros / 60_000_000 % 60,
        "second" => age.micros / 1_000_000 % 60,
        _ => {
            return Err(refusal(format!(
                "{} is no part of an age: year, month, day, hour, minute, second",
                unit.printable_line()
            )));
        }
    })
}

/// Times of a day that are moved by intervals, or by numbers of microseconds, within the day.
fn move_times_of_day(columns: &[Column], sign: i64) -> PolarsResult<Column> {
    let [times, moves] = columns else {
        return Err(refusal("a time of a day is moved by one interval"));
    };
    let moves = if moves.dtype().is_duration() {
        durations::micros(moves)?.into_column()
    } else {
        moves.cast(&DataType::Int64)?
    };
    let times = times.cast(&DataType::Time)?;
    let times = times
        .as_materialized_series()
        .to_physical_repr()
        .into_owned()
        .into_column();
    let moved = of_wholes(&[times, moves], |[nanos, micros]| {
        let moved = i128::from(nanos) + i128::from(sign) * i128::from(micros) * 1000;
        Ok(i64::try_from(moved.rem_euclid(i128::from(DAY) * 1000)).ok())
    })?;
    Ok(moved
        .into_iter()
        .collect::<Int64Chunked>()
        .into_time()
        .into_column())
}

fn duration(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Duration(TimeUnit::Microseconds))
}

/// A time without a zone becomes an instant, an instant the time in the zone.
fn zoned_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(match dtypes.get(1) {
        Some(DataType::Datetime(_, Some(_))) => MICROSECONDS,
        _ => DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)),
    })
}

/// `time AT TIME ZONE 'zone'`.
fn in_zone(columns: &[Column]) -> PolarsResult<Column> {
    let zones = cast_to(&columns[0], &DataType::String)?;
    let (zones, times) = (zones.str()?, micros(&columns[1])?);
    let is_instant = matches!(columns[1].dtype(), DataType::Datetime(_, Some(_)));
    let mut read = LastRead::default();
    let mut moved = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let zone = zones.get(broadcast_row(zones.len(), row));
        let time = times.get(broadcast_row(times.len(), row));
        moved.push(match zone.zip(time) {
            Some((zone, time)) => move_time(time, *read.get_or_read(zone, find_zone)?, is_instant),
            None => None,
        });
    }
    let times: Int64Chunked = moved.into_iter().collect();
    let zone = (!is_instant).then_some(TimeZone::UTC);
    Ok(times
        .into_datetime(TimeUnit::Microseconds, zone)
        .into_column())
}

fn find_zone(name: &str) -> PolarsResult<Tz> {
    time_texts::zone_named(name).ok_or_else(|| {
        refusal(format!(
            "'{}' is not a time zone, such as 'Europe/Madrid'",
            name.printable_line()
        ))
    })
}

/// The time of day in a zone of an instant, or the instant of a time of day in it.
fn move_time(time: i64, zone: Tz, is_instant: bool) -> Option<i64> {
    let time = time_of(time)?;
    let moved = if is_instant {
        Some(zone.from_utc_datetime(&time).naive_local())
    } else {
        time_texts::instant_in(zone, time)
    };
    moved.map(|time| time.and_utc().timestamp_micros())
}

fn bucket_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(match dtypes.get(1) {
        Some(DataType::Date) => DataType::Date,
        Some(zoned @ DataType::Datetime(_, Some(_))) => zoned.clone(),
        _ => MICROSECONDS,
    })
}

/// The starts of buckets of a width: those of months are counted from 2000-01-01, others from
/// Monday, 2000-01-03, or from `origin`.
fn time_bucket(columns: &[Column]) -> PolarsResult<Column> {
    let widths = cast_to(&columns[0], &DataType::String)?;
    let widths = widths.str()?;
    let times = micros(&columns[1])?;
    let origins = columns.get(2).map(micros).transpose()?;
    let mut read = LastRead::default();
    let mut starts = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let at = |length: usize| broadcast_row(length, row);
        let origin = origins
            .as_ref()
            .map(|origins| origins.get(at(origins.len())));
        let (Some(width), Some(time)) = (widths.get(at(widths.len())), times.get(at(times.len())))
        else {
            starts.push(None);
            continue;
        };
        // A null origin makes null; without origins there is a usual one.
        starts.push(match origin {
            Some(None) => None,
            origin => {
                let width = read.get_or_read(width, read_width)?;
                Some(bucket_start(width, time, origin.flatten())?)
            }
        });
    }
    let starts: Int64Chunked = starts.into_iter().collect();
    let dtype = bucket_type(
        &columns
            .iter()
            .map(|column| column.dtype().clone())
            .collect::<Vec<_>>(),
    )?;
    starts
        .into_datetime(TimeUnit::Microseconds, None)
        .into_column()
        .cast(&MICROSECONDS)?
        .cast(&match dtype {
            DataType::Datetime(_, Some(_)) => MICROSECONDS,
            dtype => dtype,
        })
}

fn read_width(text: &str) -> PolarsResult<time_texts::IntervalParts> {
    time_texts::interval(text)
        .ok_or_else(|| refusal(format!("'{}' is not an interval", text.printable_line())))
}

fn series_type(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::List(Box::new(MICROSECONDS)))
}

/// Lists of times from a start to an end, an interval apart; with `closed` the end too.
fn time_series(columns: &[Column], closed: bool) -> PolarsResult<Column> {
    /// Longest list, so that a mistaken step takes no memory.
    const LENGTH_MAX: usize = 1_000_000;
    let (starts, ends) = (micros(&columns[0])?, micros(&columns[1])?);
    let steps = cast_to(&columns[2], &DataType::String)?;
    let steps = steps.str()?;
    let (mut times, mut builder) = (Vec::new(), ListsBuilder::default());
    for row in 0..row_count(columns) {
        let at = |length: usize| broadcast_row(length, row);
        let known = starts
            .get(at(starts.len()))
            .zip(ends.get(at(ends.len())))
            .zip(steps.get(at(steps.len())));
        let Some(((start, end), step)) = known else {
            builder.push_null();
            continue;
        };
        let step = time_texts::interval(step)
            .ok_or_else(|| refusal(format!("'{}' is not an interval", step.printable_line())))?;
        let forward = step.months > 0 || step.days > 0 || step.micros > 0;
        let backward = step.months < 0 || step.days < 0 || step.micros < 0;
        if forward == backward {
            return Err(refusal(
                "a series has steps of one direction that are not 0",
            ));
        }
        let first = times.len();
        let mut next = Some(start);
        while let Some(time) = next {
            let is_inside = if forward { time < end } else { time > end };
            if !(is_inside || closed && time == end) {
                break;
            }
            if times.len() >= LENGTH_MAX {
                return Err(refusal(format!(
                    "the series have more than {LENGTH_MAX} times"
                )));
            }
            times.push(time);
            next = add_interval(time, &step);
        }
        builder.push((first..times.len()).map(Some));
    }
    let times = Int64Chunked::from_vec(PlSmallStr::EMPTY, times)
        .into_datetime(TimeUnit::Microseconds, None)
        .into_series();
    Ok(builder.finish(&times)?.into_column())
}

/// A time moved by an interval: a day that the month does not have becomes its last.
pub(in crate::query) fn add_interval(time: i64, step: &time_texts::IntervalParts) -> Option<i64> {
    let shift = Months::new(u32::try_from(step.months.unsigned_abs()).ok()?);
    let time = time_of(time)?;
    let time = if step.months < 0 {
        time.checked_sub_months(shift)?
    } else {
        time.checked_add_months(shift)?
    };
    let rest = step.days.checked_mul(DAY)?.checked_add(step.micros)?;
    time.and_utc().timestamp_micros().checked_add(rest)
}

fn bucket_start(
    width: &time_texts::IntervalParts,
    time: i64,
    origin: Option<i64>,
) -> PolarsResult<i64> {
    if width.months > 0 && width.days == 0 && width.micros == 0 {
        let origin = origin.unwrap_or_else(|| day_micros(2000, 1, 1));
        let (Some(start), Some(time)) = (time_of(origin), time_of(time)) else {
            return Err(refusal("the time is out of range"));
        };
        // Buckets of months begin with a month, also behind an origin within one.
        let count = |time: NaiveDateTime| i64::from(time.year()) * 12 + i64::from(time.month0());
        let steps = (count(time) - count(start)).div_euclid(width.months);
        // A bucket before the first year of all may be longer than time.
        let passed = steps.checked_mul(width.months);
        let month = passed.and_then(|passed| passed.checked_add(count(start)));
        let month = month.ok_or_else(|| refusal("the bucket is out of range"))?;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        let start = i32::try_from(year)
            .ok()
            .and_then(|year| NaiveDate::from_ymd_opt(year, month as u32, 1));
        let start = start.ok_or_else(|| refusal("the bucket is out of range"))?;
        return Ok(start.and_time(NaiveTime::MIN).and_utc().timestamp_micros());
    }
    let length = width
        .days
        .checked_mul(DAY)
        .and_then(|days| days.checked_add(width.micros))
        .filter(|length| *length > 0 && width.months == 0);
    let length = length.ok_or_else(|| {
        refusal("a bucket has a width of months, or of days and hours, greater than zero")
    })?;
    let origin = origin.unwrap_or_else(|| day_micros(2000, 1, 3));
    let passed = time
        .checked_sub(origin)
        .ok_or_else(|| refusal("the time is out of range"))?;
    Ok(origin + passed.div_euclid(length) * length)
}

/// The start of a day in microseconds.
fn day_micros(year: i32, month: u32, day: u32) -> i64 {
    NaiveDate::from_ymd_opt(year, month, day).map_or(0, |day| {
        i64::from(day.num_days_from_ce() - EPOCH_DAYS) * DAY
    })
}
