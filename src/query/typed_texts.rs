//! Texts as values of other types, as DuckDB's casts read them.

use chrono::{FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeDelta, TimeZone as _};
use chrono_tz::Tz;
use polars::prelude::*;

use super::engine::{refusal, type_name};
use crate::text::PrintableLine;

/// Greatest power of ten in a text that is read as an integer.
const POWER_MAX: i32 = 40;

/// Texts as values of a type: BIGINT, UBIGINT, BOOLEAN, DATE or TIMESTAMP. Null for texts that are no such value.
///
/// # Errors
/// Those of the engine.
pub(super) fn read(texts: &StringChunked, dtype: &DataType) -> PolarsResult<Column> {
    let column = match dtype {
        DataType::Boolean => texts.iter().map(|text| boolean(text?)).collect::<BooleanChunked>().into_column(),
        DataType::UInt64 => {
            let number = |text: &str| integer(text).and_then(|number| u64::try_from(number).ok());
            texts.iter().map(|text| number(text?)).collect::<UInt64Chunked>().into_column()
        }
        DataType::Float64 => texts.iter().map(|text| fraction(text?)).collect::<Float64Chunked>().into_column(),
        DataType::Date => {
            let days = texts.iter().map(|text| Some((date(text?)? - NaiveDate::default()).num_days() as i32));
            days.collect::<Int32Chunked>().into_series().cast(dtype)?.into_column()
        }
        DataType::Datetime(..) => {
            let micros = texts.iter().map(|text| Some(timestamp(text?)?.and_utc().timestamp_micros()));
            micros.collect::<Int64Chunked>().into_series().cast(dtype)?.into_column()
        }
        _ => {
            let number = |text: &str| integer(text).and_then(|number| i64::try_from(number).ok());
            texts.iter().map(|text| number(text?)).collect::<Int64Chunked>().into_column()
        }
    };
    Ok(column)
}

/// A time of day such as `12:34` or `12:34:56.5`.
pub(super) fn time_of_day(text: &str) -> Option<NaiveTime> {
    let text = text.trim();
    NaiveTime::parse_from_str(text, "%H:%M:%S%.f").or_else(|_| NaiveTime::parse_from_str(text, "%H:%M")).ok()
}

/// Months, days and microseconds of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IntervalParts {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
}

/// An interval such as `1 month`, `2 days 3 hours` or `90 minutes`.
pub(super) fn interval(text: &str) -> Option<IntervalParts> {
    let mut parts = IntervalParts::default();
    let lower = text.trim().to_lowercase();
    let mut words = lower.split_whitespace();
    let mut count = 0;
    while let Some(number) = words.next() {
        let unit = words.next()?;
        let number: f64 = number.parse().ok()?;
        let whole = (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64);
        let micros = |length: f64| Some((number * length).round() as i64);
        match unit {
            "millennium" | "millenniums" | "millennia" => parts.months = parts.months.checked_add(whole?.checked_mul(12_000)?)?,
            "century" | "centuries" => parts.months = parts.months.checked_add(whole?.checked_mul(1200)?)?,
            "decade" | "decades" => parts.months = parts.months.checked_add(whole?.checked_mul(120)?)?,
            "year" | "years" | "y" | "yr" => parts.months = parts.months.checked_add(whole?.checked_mul(12)?)?,
            "quarter" | "quarters" => parts.months = parts.months.checked_add(whole?.checked_mul(3)?)?,
            "month" | "months" | "mon" | "mons" => parts.months = parts.months.checked_add(whole?)?,
            "week" | "weeks" | "w" => parts.days = parts.days.checked_add(whole?.checked_mul(7)?)?,
            "day" | "days" | "d" => parts.days = parts.days.checked_add(whole?)?,
            "hour" | "hours" | "h" => parts.micros = parts.micros.checked_add(micros(3.6e9)?)?,
            "minute" | "minutes" | "min" | "mins" | "m" => parts.micros = parts.micros.checked_add(micros(6e7)?)?,
            "second" | "seconds" | "sec" | "secs" | "s" => parts.micros = parts.micros.checked_add(micros(1e6)?)?,
            "millisecond" | "milliseconds" | "ms" | "msec" => parts.micros = parts.micros.checked_add(micros(1e3)?)?,
            "microsecond" | "microseconds" | "us" | "usec" => parts.micros = parts.micros.checked_add(micros(1.0)?)?,
            _ => return None,
        }
        count += 1;
    }
    (count > 0).then_some(parts)
}

/// Refuses a text that is no value of a type.
pub(super) fn no_value(text: &str, dtype: &DataType) -> PolarsError {
    refusal(format!("the text '{}' is no {}; TRY_CAST gives null for such texts", text.printable_line(), type_name(dtype)))
}

/// A number of floating point; digits may be grouped by `_`, and `inf` and `nan` are numbers.
fn fraction(text: &str) -> Option<f64> {
    let text = text.trim();
    let between_digits = |at: usize| {
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        at > 0 && is_digit(text.as_bytes().get(at - 1)) && is_digit(text.as_bytes().get(at + 1))
    };
    match text.contains('_') {
        true if text.match_indices('_').all(|(at, _)| between_digits(at)) => text.replace('_', "").parse().ok(),
        true => None,
        false => text.parse().ok(),
    }
}

/// A number with a fraction or a power of ten too, rounded with halves away from zero.
pub(super) fn integer(text: &str) -> Option<i128> {
    // DuckDB reads a sign with spaces behind it as 0, and a sign alone as no number.
    if text.trim_start().strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.trim().is_empty()) {
        return Some(0);
    }
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match digits.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok().filter(|power| power.abs() <= POWER_MAX)?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.replace('_', "");
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !has_digits || !is_digits(&whole) || !is_digits(fraction) {
        return None;
    }
    // The digits before the point that the power has moved, and the first one behind it.
    let all = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()? + i64::from(power);
    let digit = |at: i64| usize::try_from(at).ok().and_then(|at| all.as_bytes().get(at)).map_or(0, |byte| i128::from(byte - b'0'));
    let mut number: i128 = 0;
    for at in 0..point {
        number = number.checked_mul(10)?.checked_add(digit(at))?;
    }
    let rounded = number + i128::from(digit(point) >= 5);
    Some(if negative { -rounded } else { rounded })
}

/// `true`, `t`, `yes`, `y`, `1` and their opposites in any case, without spaces around them.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// The date at the beginning of a text: year, month and day with one mark between them. What follows it is not read, but a digit is
/// part of no date.
pub(super) fn date(text: &str) -> Option<NaiveDate> {
    leading_date(text).map(|(day, _)| day)
}

/// The date at the beginning of a text, and what follows it. Years before the year 1 have a sign, counted from the year 0, or ` (BC)`
/// after the day.
fn leading_date(text: &str) -> Option<(NaiveDate, &str)> {
    const MARKS: [char; 4] = ['-', '/', ' ', '\\'];
    let text = text.trim_start();
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (year, rest) = leading_number(text, 9)?;
    let mark = rest.chars().next().filter(|letter| MARKS.contains(letter))?;
    let (month, rest) = leading_number(&rest[1..], 2)?;
    let (day, rest) = leading_number(rest.strip_prefix(mark)?, 2)?;
    let year = i32::try_from(year).ok()?;
    let (year, rest) = match rest.strip_prefix(" (BC)") {
        Some(_) if is_negative || year == 0 => return None,
        Some(rest) => (1 - year, rest),
        None => (if is_negative { -year } else { year }, rest),
    };
    let is_whole = !rest.starts_with(|letter: char| letter.is_ascii_digit());
    Some((NaiveDate::from_ymd_opt(year, month, day).filter(|_| is_whole)?, rest))
}

/// The number of at most `most` digits at the beginning of a text, and what follows it.
fn leading_number(text: &str, most: usize) -> Option<(u32, &str)> {
    let end = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// A time such as `2020-02-29 12:34:56.5`, or a date. An offset or `UTC` after it is ignored, as in DuckDB.
pub(super) fn timestamp(text: &str) -> Option<NaiveDateTime> {
    match time_and_zone(text)? {
        (_, Some(TimeZoneText::Named(zone))) if zone != Tz::UTC => None,
        (time, _) => Some(time),
    }
}

/// The same as an instant, in UTC: with an offset, the name of a zone, or in UTC.
pub(super) fn instant(text: &str) -> Option<NaiveDateTime> {
    match time_and_zone(text)? {
        (time, None) => Some(time),
        (time, Some(TimeZoneText::Offset(offset))) => time.checked_sub_offset(offset),
        (time, Some(TimeZoneText::Named(zone))) => instant_in(zone, time),
    }
}

/// The instant of a local time, in UTC: the later one of two, and what the clock would show that was not set forward.
pub(super) fn instant_in(zone: Tz, time: NaiveDateTime) -> Option<NaiveDateTime> {
    match zone.offset_from_local_datetime(&time) {
        MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => time.checked_sub_offset(offset.fix()),
        MappedLocalTime::None => {
            let before = time.checked_sub_signed(TimeDelta::hours(3))?;
            time.checked_sub_offset(zone.offset_from_local_datetime(&before).latest()?.fix())
        }
    }
}

/// A zone with this name, in any case.
pub(super) fn zone_named(name: &str) -> Option<Tz> {
    chrono_tz::TZ_VARIANTS.iter().find(|known| known.name().eq_ignore_ascii_case(name)).copied()
}

/// The zone that follows a time.
enum TimeZoneText {
    Offset(FixedOffset),
    Named(Tz),
}

fn time_and_zone(text: &str) -> Option<(NaiveDateTime, Option<TimeZoneText>)> {
    let (day, time) = leading_date(text.trim_end())?;
    let time = match time.strip_prefix(['T', ' ']) {
        Some(time) => time.trim_start(),
        None if time.is_empty() => "",
        None => return None,
    };
    let digits = time.find(|letter: char| !letter.is_ascii_digit() && letter != ':' && letter != '.').unwrap_or(time.len());
    let (time, zone) = time.split_at(digits);
    let zone = match zone.trim() {
        "" => None,
        "Z" | "z" => Some(TimeZoneText::Named(Tz::UTC)),
        _ if time.is_empty() => return None,
        offset if offset.starts_with(['+', '-']) => Some(TimeZoneText::Offset(offset_of(offset)?)),
        name => Some(TimeZoneText::Named(zone_named(name)?)),
    };
    let of_day = match time {
        "" => NaiveTime::MIN,
        time => ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(time, format).ok())?,
    };
    Some((day.and_time(of_day), zone))
}

/// `+02`, `-05:30` or `+0530`.
fn offset_of(text: &str) -> Option<FixedOffset> {
    let (sign, digits) = text.split_at(1);
    let digits = digits.replace(':', "");
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = if digits.len() > 2 { digits.get(2..4).filter(|_| digits.len() == 4)?.parse().ok()? } else { 0 };
    let seconds = (hours * 60 + minutes) * 60;
    FixedOffset::east_opt(if sign == "-" { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_integers_with_fractions_and_powers_rounded() {
        for (text, wanted) in [
            ("12", Some(12)),
            (" 12 ", Some(12)),
            ("+5", Some(5)),
            ("1.5", Some(2)),
            ("2.5", Some(3)),
            ("-0.5", Some(-1)),
            ("1e3", Some(1000)),
            ("1.25e1", Some(13)),
            ("12e-1", Some(1)),
            ("1_000", Some(1000)),
            (".5", Some(1)),
            ("5.", Some(5)),
            ("", None),
            (".", None),
            ("abc", None),
            ("1e99999", None),
            ("99999999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(integer(text), wanted, "{text}");
        }
    }

    #[test]
    fn texts_are_truth_values_days_and_times() {
        assert_eq!((boolean("T"), boolean("no"), boolean("on"), boolean(" t")), (Some(true), Some(false), None, None));
        let day = NaiveDate::from_ymd_opt(2023, 1, 2);
        let days =
            [" 2023-01-02", "2023-1-2", "2023/01/02", "2023 01 02", "2023-01-02T03:04:05Z", "2023-01-02 25:00", "2023-01-02a"];
        let before_christ = NaiveDate::from_ymd_opt(-43, 7, 3);
        assert_eq!([date("-43-07-03 12"), date("44-07-03 (BC)")], [before_christ; 2]);
        let time = timestamp("44-07-03 (BC) 12:00:00").map(|time| time.to_string());
        assert_eq!(time.as_deref(), Some("-0043-07-03 12:00:00"));
        for text in days {
            assert_eq!(date(text), day, "{text}");
        }
        for text in
            ["2023-02-30", "2023-01", "x", "2023-01-021", "2023-01/02", "-44-07-03 (BC)", "0-01-01 (BC)", "--1-01-01", "", "ñ"]
        {
            assert_eq!(date(text), None, "{text}");
        }
        assert_eq!(timestamp("2023-01-02 25:00"), None);
        assert_eq!(timestamp("2023-01-02 03:04").map(|time| time.to_string()).as_deref(), Some("2023-01-02 03:04:00"));
        assert_eq!(timestamp("2023-01-02T03:04:05.5").map(|time| time.to_string()).as_deref(), Some("2023-01-02 03:04:05.500"));
    }
}
