//! Texts as dates, times and intervals, as DuckDB's casts read them.

use chrono::{
    MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeDelta, TimeZone as _,
};
use chrono_tz::Tz;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnreadText {
    /// DuckDB has no value for the text either: TRY_CAST gives null.
    NoValue,
    /// A value of DuckDB that the engine has no type for: a year beyond those of [`NaiveDate`],
    /// infinity, or 24:00 as a time of day.
    Beyond,
}

/// The date at the beginning of a text: year, month and day with one mark between them, or `epoch`.
/// What follows it is not read, but a digit is part of no date.
///
/// # Errors
/// A text that is no date.
pub(super) fn date(text: &str) -> Result<NaiveDate, UnreadText> {
    named_day(text).unwrap_or_else(|| leading_date(text).map(|(day, _)| day))
}

/// `epoch` or `infinity`.
fn named_day(text: &str) -> Option<Result<NaiveDate, UnreadText>> {
    match text.trim().to_ascii_lowercase().as_str() {
        "epoch" => Some(Ok(NaiveDate::default())),
        "infinity" | "-infinity" | "inf" | "-inf" => Some(Err(UnreadText::Beyond)),
        _ => None,
    }
}

/// The date at the beginning of a text, and what follows it. Years before the year 1 have a sign,
/// counted from the year 0, or ` (BC)` after the day.
fn leading_date(text: &str) -> Result<(NaiveDate, &str), UnreadText> {
    let (year, month, day, rest) = leading_year_month_day(text).ok_or(UnreadText::NoValue)?;
    // The calendar repeats itself every 400 years.
    let is_day = NaiveDate::from_ymd_opt(year.rem_euclid(400) + 2000, month, day).is_some();
    let is_in_duckdb = ((-5_877_641, 6, 25)..=(5_881_580, 7, 10)).contains(&(year, month, day));
    if !is_day || !is_in_duckdb {
        return Err(UnreadText::NoValue);
    }
    Ok((
        NaiveDate::from_ymd_opt(year, month, day).ok_or(UnreadText::Beyond)?,
        rest,
    ))
}

fn leading_year_month_day(text: &str) -> Option<(i32, u32, u32, &str)> {
    const MARKS: [char; 4] = ['-', '/', ' ', '\\'];
    let text = text.trim_start();
    let (is_negative, text) = text
        .strip_prefix('-')
        .map_or((false, text), |rest| (true, rest));
    let (year, rest) = leading_number(text, 9)?;
    let mark = rest
        .chars()
        .next()
        .filter(|letter| MARKS.contains(letter))?;
    let (month, rest) = leading_number(&rest[1..], 2)?;
    let (day, rest) = leading_number(rest.strip_prefix(mark)?, 2)?;
    let year = i32::try_from(year).ok()?;
    let (year, rest) = match rest.strip_prefix(" (BC)") {
        Some(_) if is_negative || year == 0 => return None,
        Some(rest) => (1 - year, rest),
        None => (if is_negative { -year } else { year }, rest),
    };
    let is_whole = !rest.starts_with(|letter: char| letter.is_ascii_digit());
    is_whole.then_some((year, month, day, rest))
}

/// The number of at most `most` digits at the beginning of a text, and what follows it.
fn leading_number(text: &str, most: usize) -> Option<(u32, &str)> {
    let end = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// A time of day such as `12:34` or `12:34:56.5`, whatever follows it, or that of a timestamp.
///
/// # Errors
/// A text that is no time.
pub(super) fn time_of_day(text: &str) -> Result<NaiveTime, UnreadText> {
    match leading_time(text) {
        Some((micros, _)) if micros < DAY => Ok(NaiveTime::MIN
            .overflowing_add_signed(TimeDelta::microseconds(micros))
            .0),
        Some((DAY, _)) => Err(UnreadText::Beyond),
        Some(_) => Err(UnreadText::NoValue),
        None => timestamp(text).map(|time| time.time()),
    }
}

/// The microseconds of hours, minutes and seconds at the beginning of a text, and what follows
/// them. Only the hours and the colon after them have to be there.
fn leading_time(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = leading_number(text.trim_start(), 9)?;
    let mut micros = i64::from(hours) * HOUR;
    let mut rest = rest.strip_prefix(':')?;
    for unit in [MINUTE, SECOND] {
        if rest.is_empty() {
            return Some((micros, rest));
        }
        let (number, after) = leading_number(rest, 2).filter(|(number, _)| *number < 60)?;
        micros += i64::from(number) * unit;
        rest = match unit {
            MINUTE if !after.is_empty() => after.strip_prefix(':')?,
            _ => after,
        };
    }
    match rest.strip_prefix('.') {
        Some(fraction) => {
            let (fraction, rest) = leading_fraction(fraction);
            Some((micros + fraction, rest))
        }
        None => Some((micros, rest)),
    }
}

/// The digits after a decimal point in millionths, without the further ones, and what follows them.
fn leading_fraction(text: &str) -> (i64, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let place = |(at, digit): (usize, u8)| i64::from(digit - b'0') * 10i64.pow(5 - at as u32);
    (digits.bytes().take(6).enumerate().map(place).sum(), rest)
}

/// A time such as `2020-02-29 12:34:56.5`, or a date. An offset or `UTC` after it is ignored, as in
/// DuckDB.
///
/// # Errors
/// A text that is no time, or has the name of another zone.
pub(super) fn timestamp(text: &str) -> Result<NaiveDateTime, UnreadText> {
    match time_and_zone(text)? {
        (_, Some(ZoneText::Named(zone))) if !zone.eq_ignore_ascii_case("UTC") => {
            Err(UnreadText::NoValue)
        }
        (time, _) => Ok(time),
    }
}

/// The same as an instant, in UTC: with an offset, the name of a zone, or in UTC.
///
/// # Errors
/// A text that is no time, or has the name of no zone.
pub(super) fn instant(text: &str) -> Result<NaiveDateTime, UnreadText> {
    match time_and_zone(text)? {
        (time, None) => Ok(time),
        (time, Some(ZoneText::Offset(seconds))) => time
            .checked_sub_signed(TimeDelta::seconds(seconds))
            .ok_or(UnreadText::Beyond),
        (time, Some(ZoneText::Named(name))) => {
            let zone = zone_named(name).ok_or(UnreadText::NoValue)?;
            instant_in(zone, time).ok_or(UnreadText::Beyond)
        }
    }
}

/// The instant of a local time, in UTC: the later one of two, and what the clock would show that
/// was not set forward.
pub(super) fn instant_in(zone: Tz, time: NaiveDateTime) -> Option<NaiveDateTime> {
    match zone.offset_from_local_datetime(&time) {
        MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => {
            time.checked_sub_offset(offset.fix())
        }
        MappedLocalTime::None => {
            let before = time.checked_sub_signed(TimeDelta::hours(3))?;
            time.checked_sub_offset(zone.offset_from_local_datetime(&before).latest()?.fix())
        }
    }
}

/// A zone with this name, in any case.
pub(super) fn zone_named(name: &str) -> Option<Tz> {
    chrono_tz::TZ_VARIANTS
        .iter()
        .find(|known| known.name().eq_ignore_ascii_case(name))
        .copied()
}

/// What follows a time.
enum ZoneText<'a> {
    /// Seconds to the east.
    Offset(i64),
    Named(&'a str),
}

fn time_and_zone(text: &str) -> Result<(NaiveDateTime, Option<ZoneText<'_>>), UnreadText> {
    if let Some(day) = named_day(text) {
        return Ok((day?.and_time(NaiveTime::MIN), None));
    }
    let (day, rest) = leading_date(text)?;
    let midnight = day.and_time(NaiveTime::MIN);
    if rest.is_empty() {
        return Ok((midnight, None));
    }
    let rest = rest.strip_prefix(['T', ' ']).unwrap_or(rest);
    let (micros, rest) = leading_time(rest)
        .filter(|(micros, _)| *micros <= DAY)
        .ok_or(UnreadText::NoValue)?;
    let zone = zone_text(rest).ok_or(UnreadText::NoValue)?;
    Ok((
        midnight
            .checked_add_signed(TimeDelta::microseconds(micros))
            .ok_or(UnreadText::Beyond)?,
        zone,
    ))
}

/// `Z`, an offset, a space and the name of a zone, or nothing, with spaces after it; `None` for any
/// other text.
fn zone_text(text: &str) -> Option<Option<ZoneText<'_>>> {
    let is_part_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_/+-".contains(letter);
    let (zone, rest) = if text.is_empty() {
        (None, text)
    } else if let Some(rest) = text.strip_prefix('Z') {
        (Some(ZoneText::Offset(0)), rest)
    } else if text.starts_with(['+', '-']) {
        let (seconds, rest) = leading_offset(text)?;
        (Some(ZoneText::Offset(seconds)), rest)
    } else {
        let name = text.strip_prefix(' ')?;
        let (name, rest) = name.split_at(
            name.find(|letter| !is_part_of_name(letter))
                .unwrap_or(name.len()),
        );
        ((!name.is_empty()).then_some(ZoneText::Named(name)), rest)
    };
    rest.trim().is_empty().then_some(zone)
}

/// The seconds of `+02`, `-05:30`, `+0530` or `+05:30:15`, and what follows them.
fn leading_offset(text: &str) -> Option<(i64, &str)> {
    let two_digits =
        |text| leading_number(text, 2).filter(|(_, rest)| text.len() - rest.len() == 2);
    let (sign, rest) = text.split_at(1);
    let (hours, mut rest) = two_digits(rest)?;
    let mut seconds = i64::from(hours) * 3600;
    if let Some(digits) = rest.strip_prefix(':') {
        rest = digits;
    }
    if let Some((minutes, after)) = two_digits(rest) {
        (seconds, rest) = (seconds + i64::from(minutes) * 60, after);
        if let Some((last, after)) = rest.strip_prefix(':').and_then(two_digits) {
            (seconds, rest) = (seconds + i64::from(last), after);
        }
    }
    Some((if sign == "-" { -seconds } else { seconds }, rest))
}

/// Months, days and microseconds of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IntervalParts {
    pub months: i64,
    pub days: i64,
    pub micros: i64,
}

/// What a unit of an interval counts, and how many of it.
#[derive(Clone, Copy)]
enum IntervalUnit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

impl IntervalUnit {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "millennium" | "millennia" | "millenniums" | "millenium" | "mil" | "mils" => {
                Self::Months(12_000)
            }
            "century" | "centuries" | "cent" | "c" => Self::Months(1200),
            "decade" | "decades" | "dec" | "decs" => Self::Months(120),
            "year" | "years" | "yr" | "yrs" | "y" => Self::Months(12),
            "quarter" | "quarters" => Self::Months(3),
            "month" | "months" | "mon" | "mons" => Self::Months(1),
            "week" | "weeks" | "w" => Self::Days(7),
            "day" | "days" | "dayofmonth" | "d" => Self::Days(1),
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Micros(HOUR),
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Micros(MINUTE),
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Micros(SECOND),
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Self::Micros(1000),
            "microsecond" | "microseconds" | "usec" | "usecs" | "usecond" | "useconds" | "us" => {
                Self::Micros(1)
            }
            _ => return None,
        })
    }
}

impl IntervalParts {
    /// True when a time is not earlier after it than before, whatever its month.
    pub(super) fn is_forward(&self) -> bool {
        if self.months == 0 {
            i128::from(self.days) * i128::from(DAY) + i128::from(self.micros) >= 0
        } else {
            self.months >= 0 && self.days >= 0 && self.micros >= 0
        }
    }

    /// Adds so many of a unit, and millionths of one. What is left of a month or a week is days,
    /// what is left of a day is time.
    fn add(&mut self, number: i64, millionths: i64, unit: IntervalUnit) -> Option<()> {
        const MILLION: i64 = 1_000_000;
        let whole = |number: i64, of: i64| number.checked_mul(of);
        match unit {
            IntervalUnit::Months(of) => {
                let part = millionths * of;
                self.months = self
                    .months
                    .checked_add(whole(number, of)?)?
                    .checked_add(part / MILLION)?;
                let has_days = of < 12;
                self.days += if has_days {
                    part % MILLION * 30 / MILLION
                } else {
                    0
                };
            }
            IntervalUnit::Days(of) => {
                let part = millionths * of;
                self.days = self
                    .days
                    .checked_add(whole(number, of)?)?
                    .checked_add(part / MILLION)?;
                self.micros = self.micros.checked_add(part % MILLION * (DAY / MILLION))?;
            }
            IntervalUnit::Micros(of) => {
                let part = if of == 1 {
                    (millionths * 2 + millionths.signum() * MILLION) / (2 * MILLION)
                } else {
                    millionths * of / MILLION
                };
                self.micros = self
                    .micros
                    .checked_add(whole(number, of)?)?
                    .checked_add(part)?;
            }
        }
        Some(())
    }

    /// The sum, part by part; `None` beyond 64 bits.
    pub(super) fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            micros: self.micros.checked_add(other.micros)?,
        })
    }

    /// The parts in the order in which they are added, without signs: those that are subtracted
    /// with `true`.
    pub(super) fn by_sign(self) -> Vec<(bool, Self)> {
        let none = Self::default();
        let parts = [
            (
                self.months,
                Self {
                    months: self.months.saturating_abs(),
                    ..none
                },
            ),
            (
                self.days,
                Self {
                    days: self.days.saturating_abs(),
                    ..none
                },
            ),
            (
                self.micros,
                Self {
                    micros: self.micros.saturating_abs(),
                    ..none
                },
            ),
        ];
        let mut all: Vec<(bool, Self)> = Vec::new();
        for (count, part) in parts.into_iter().filter(|(count, _)| *count != 0) {
            match all
                .last_mut()
                .filter(|(is_negative, _)| *is_negative == (count < 0))
            {
                Some((_, sum)) => {
                    // Each part is one of the three.
                    *sum = Self {
                        months: sum.months + part.months,
                        days: sum.days + part.days,
                        micros: sum.micros + part.micros,
                    };
                }
                None => all.push((count < 0, part)),
            }
        }
        if all.is_empty() {
            vec![(false, none)]
        } else {
            all
        }
    }

    pub(super) fn checked_neg(self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }
}

/// An interval such as `1 month`, `2 days 3 hours`, `-1.5 hours`, `1 day 02:30`, `3 days ago`, or a
/// number of seconds with a point.
pub(super) fn interval(text: &str) -> Option<IntervalParts> {
    let mut parts = IntervalParts::default();
    let mut rest = text.strip_prefix('@').unwrap_or(text).trim_start();
    let mut count = 0;
    while !rest.is_empty() {
        if rest
            .get(..3)
            .is_some_and(|word| word.eq_ignore_ascii_case("ago"))
        {
            return if count > 0 && rest[3..].trim().is_empty() {
                parts.checked_neg()
            } else {
                None
            };
        }
        let (is_negative, digits) = rest
            .strip_prefix('-')
            .map_or((false, rest), |digits| (true, digits));
        let (number, after) =
            digits.split_at(digits.bytes().take_while(u8::is_ascii_digit).count());
        let number: i64 = number.parse().ok()?;
        if after.starts_with(':') {
            // DuckDB turns the sign of all time before, and reads nothing after it.
            let micros = parts.micros.checked_add(leading_time(digits)?.0)?;
            return Some(IntervalParts {
                micros: if is_negative {
                    micros.checked_neg()?
                } else {
                    micros
                },
                ..parts
            });
        }
        if after.is_empty() {
            break;
        }
        let (millionths, after) = after.strip_prefix('.').map_or((0, after), leading_fraction);
        let name = after.trim_start();
        let (name, after) = name.split_at(
            name.find(|letter: char| !letter.is_ascii_alphabetic())
                .unwrap_or(name.len()),
        );
        let unit = match name {
            "" if count == 0 && after.is_empty() => IntervalUnit::Micros(SECOND),
            name => IntervalUnit::from_name(name)?,
        };
        let sign = if is_negative { -1 } else { 1 };
        parts.add(sign * number, sign * millionths, unit)?;
        count += 1;
        rest = after.trim_start();
    }
    (count > 0).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_dates() {
        let day = NaiveDate::from_ymd_opt(2023, 1, 2).ok_or(UnreadText::NoValue);
        let days = [
            " 2023-01-02",
            "2023-1-2",
            "2023/01/02",
            "2023 01 02",
            "2023-01-02T03:04:05Z",
            "2023-01-02 25:00",
            "2023-01-02a",
        ];
        for text in days {
            assert_eq!(date(text), day, "{text}");
        }
        let before_christ = NaiveDate::from_ymd_opt(-43, 7, 3).ok_or(UnreadText::NoValue);
        assert_eq!(
            [date("-43-07-03 12"), date("44-07-03 (BC)")],
            [before_christ; 2]
        );
        assert_eq!(date("Epoch "), Ok(NaiveDate::default()));
        for text in [
            "2023-02-30",
            "2023-01",
            "x",
            "2023-01-021",
            "2023-01/02",
            "-44-07-03 (BC)",
            "0-01-01 (BC)",
            "--1-01-01",
            "",
            "ñ",
            "epoch x",
        ] {
            assert_eq!(date(text), Err(UnreadText::NoValue), "{text}");
        }
        for text in ["300000-02-29", "-5877641-06-25", "infinity", "-INF"] {
            assert_eq!(date(text), Err(UnreadText::Beyond), "{text}");
        }
        for text in [
            "300001-02-29",
            "-5877641-06-24",
            "5881580-07-11",
            "999999999-01-01",
        ] {
            assert_eq!(date(text), Err(UnreadText::NoValue), "{text}");
        }
    }

    #[test]
    fn texts_are_times() {
        let shown = |text: &str| timestamp(text).map(|time| time.to_string());
        for (text, wanted) in [
            ("44-07-03 (BC) 12:00:00", "-0043-07-03 12:00:00"),
            ("2023-01-02 03:04", "2023-01-02 03:04:00"),
            ("2023-01-02T03:04:05.5", "2023-01-02 03:04:05.500"),
            ("2023-01-02 3:", "2023-01-02 03:00:00"),
            ("2023-01-02  3:4:5.", "2023-01-02 03:04:05"),
            ("2023-01-02 03:04:05.1234567", "2023-01-02 03:04:05.123456"),
            ("2023-01-02 24:00:00", "2023-01-03 00:00:00"),
            ("2023-01-02 03:04:05+01:00:30 ", "2023-01-02 03:04:05"),
            ("2023-01-02 03:04:05 utc", "2023-01-02 03:04:05"),
            ("epoch", "1970-01-01 00:00:00"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(wanted), "{text}");
        }
        for text in [
            "2023-01-02 25:00",
            "2023-01-02 24:00:01",
            "2023-01-02 03:60",
            "2023-01-02 03:04:60",
            "2023-01-02T",
            "2023-01-02 ",
            "2023-01-02 03",
            "2023-01-02 03:04Z",
            "2023-01-02 03:04:05z",
            "2023-01-02 03:04:05+1",
            "2023-01-02 03:04:05+010030",
            "2023-01-02 03:04:05 Europe/Berlin",
            "2023-01-02 03:04:05x",
        ] {
            assert_eq!(timestamp(text), Err(UnreadText::NoValue), "{text}");
        }
        let instant_of = |text: &str| instant(text).map(|time| time.to_string());
        for (text, wanted) in [
            ("2023-01-02 03:04:05+01:00:30", "2023-01-02 02:03:35"),
            ("2023-01-02 03:04:05-0130", "2023-01-02 04:34:05"),
            ("2023-01-02 03:04:05 europe/berlin", "2023-01-02 02:04:05"),
            ("2023-01-02 03:04:05Z", "2023-01-02 03:04:05"),
        ] {
            assert_eq!(instant_of(text).as_deref(), Ok(wanted), "{text}");
        }
        assert_eq!(
            instant("2023-01-02 03:04:05 Europe/Nowhere"),
            Err(UnreadText::NoValue)
        );
        let of_day = |text: &str| time_of_day(text).map(|time| time.to_string());
        for (text, wanted) in [
            ("12:34", "12:34:00"),
            ("1:2:3.5 x", "01:02:03.500"),
            ("12:", "12:00:00"),
            ("2023-01-02 12:34:56", "12:34:56"),
        ] {
            assert_eq!(of_day(text).as_deref(), Ok(wanted), "{text}");
        }
        assert_eq!(["24:00", "24:00:01", "12", "1234"].map(time_of_day), {
            let none = Err(UnreadText::NoValue);
            [Err(UnreadText::Beyond), none, none, none]
        });
    }

    #[test]
    fn intervals_are_added_by_sign() {
        let signs = |text: &str| {
            interval(text).map(|parts| {
                parts
                    .by_sign()
                    .iter()
                    .map(|(is_negative, _)| *is_negative)
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(signs("1 month 2 days 3 hours"), Some(vec![false]));
        assert_eq!(
            signs("-1 month 2 days -3 hours"),
            Some(vec![true, false, true])
        );
        assert_eq!(signs("0 days"), Some(vec![false]));
    }

    #[test]
    fn texts_are_intervals() {
        for (text, months, days, micros) in [
            ("1 month", 1, 0, 0),
            ("2 days 3 hours", 0, 2, 3 * HOUR),
            ("-1.5 hours", 0, 0, -HOUR - HOUR / 2),
            ("1 day 02:30", 0, 1, 2 * HOUR + HOUR / 2),
            ("1.5 quarters", 4, 15, 0),
            ("1.75 weeks", 0, 12, 6 * HOUR),
            ("1.5 years", 18, 0, 0),
            ("0.01 month", 0, 0, 0),
            ("1.5 us", 0, 0, 2),
            ("1.5", 0, 0, SECOND + SECOND / 2),
            ("@ 3 days 2 us ago ", 0, -3, -2),
            ("1 second-01:00:00", 0, 0, -HOUR - SECOND),
            ("1:02:03 4 days", 0, 0, HOUR + 2 * MINUTE + 3 * SECOND),
            ("1day2HOURS", 0, 1, 2 * HOUR),
            ("1 day 5", 0, 1, 0),
        ] {
            assert_eq!(
                interval(text),
                Some(IntervalParts {
                    months,
                    days,
                    micros
                }),
                "{text}"
            );
        }
        for text in [
            "",
            "5",
            "+3 days",
            "1 day 5 ",
            "5 1 day",
            "1 fortnight",
            "ago",
            "1 day ago x",
            "P1D",
            "99999999999999999999 us",
            "- 5 day",
        ] {
            assert_eq!(interval(text), None, "{text}");
        }
    }
}
