//! Ranges of times, and the conditions of columns that hold times.

use chrono::{DateTime, SecondsFormat};
use polars::prelude::*;

use crate::error::{Error, Result};
use crate::footprint::{self, IntervalColumns};
use crate::model::{FieldSpec, dtype_name};
use crate::text::PrintableLine;

pub(super) type ArrowType = arrow::datatypes::DataType;

/// An end of a range of time: microseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBound {
    /// The first microsecond of the day or instant.
    pub micros: i64,
    /// The whole day is meant.
    pub day: bool,
}

/// Times between two ends, which are within; `None` where the range is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The start.
    pub first: Option<TimeBound>,
    /// The end.
    pub last: Option<TimeBound>,
}

pub(super) const MICROS_OF_DAY: i64 = 86_400_000_000;

impl TimeRange {
    /// `a/b`, `../b`, `a/..`, or one day or instant. A date means its whole day; a time of day
    /// means that instant.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((first, last)) = text.split_once('/') else {
            let one = TimeBound::parse_end(text)?
                .ok_or_else(|| invalid_range("the time is empty".into()))?;
            return Ok(Self {
                first: Some(one),
                last: Some(one),
            });
        };
        let (first, last) = (TimeBound::parse_end(first)?, TimeBound::parse_end(last)?);
        if first.is_none() && last.is_none() {
            return Err(invalid_range(
                "the range of time is open at both ends".into(),
            ));
        }
        if first
            .zip(last)
            .is_some_and(|(first, last)| first.micros >= last.end())
        {
            return Err(invalid_range(format!(
                "the range {} begins after its end",
                text.printable_line()
            )));
        }
        Ok(Self { first, last })
    }

    /// True for a span in microseconds since 1970, with both ends, of which a part is in the range.
    pub fn touches(self, start: i64, end: i64) -> bool {
        self.first.is_none_or(|first| end >= first.micros)
            && self.last.is_none_or(|last| start < last.end())
    }

    /// The range as STAC APIs take it (RFC 3339): both ends with their times of day, or `..` for an
    /// open one.
    pub fn in_utc(self) -> String {
        format!(
            "{}/{}",
            end_in_utc(self.first.map(|first| first.micros)),
            end_in_utc(self.last.map(|last| last.end() - 1))
        )
    }

    /// True for a time in microseconds since 1970; `day` when only its day is known.
    pub(super) fn holds(self, time: TimeBound) -> bool {
        self.first.is_none_or(|first| time.end() > first.micros)
            && self.last.is_none_or(|last| time.micros < last.end())
    }

    /// True for each text that is a time, or begins with a date, in the range.
    fn compare_texts(self, column: &Column) -> PolarsResult<Column> {
        let mask: BooleanChunked = column
            .str()?
            .iter()
            .map(|text| text.is_some_and(|text| self.contains_time_text(text.trim())))
            .collect();
        Ok(mask.with_name(column.name().clone()).into_column())
    }

    fn contains_time_text(self, text: &str) -> bool {
        TimeBound::parse(text)
            .or_else(|| TimeBound::parse(text.get(..10)?))
            .is_some_and(|time| self.holds(time))
    }

    /// The condition on a column that counts `per_second` parts of seconds since 1970.
    pub(super) fn on_numbers(
        self,
        name: &str,
        per_second: i64,
        bound: &dyn Fn(i64) -> Expr,
    ) -> Expr {
        let number = |micros: i64| i128::from(micros) * i128::from(per_second);
        let clamped = |number: i128| number.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        // The smallest number that is not before the start; the largest that is not after the end.
        let from = self.first.map(|first| {
            col(name).gt_eq(bound(clamped(
                -(-number(first.micros)).div_euclid(1_000_000),
            )))
        });
        let to = self.last.map(|last| {
            if last.day {
                col(name).lt(bound(clamped(number(last.end()).div_euclid(1_000_000))))
            } else {
                col(name).lt_eq(bound(clamped(number(last.micros).div_euclid(1_000_000))))
            }
        });
        [from, to]
            .into_iter()
            .flatten()
            .reduce(|a, b| a.and(b))
            .unwrap_or_else(|| col(name).is_not_null())
    }
}

fn invalid_range(what: String) -> Error {
    Error::usage(what).hint(
        "write 2021-01-01/2021-12-31, 2021-01-01/.., ../2021-12-31, one day as 2021-01-01, or \
            times as 2021-01-01T10:30:00Z",
    )
}

/// An end of a range as STAC APIs take it, in microseconds since 1970.
fn end_in_utc(micros: Option<i64>) -> String {
    match micros.and_then(DateTime::from_timestamp_micros) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        None => "..".to_owned(),
    }
}

impl TimeBound {
    /// An end of a range; `None` for an open one.
    fn parse_end(text: &str) -> Result<Option<Self>> {
        let text = text.trim();
        if matches!(text, "" | "..") {
            return Ok(None);
        }
        Self::parse(text).map(Some).ok_or_else(|| {
            invalid_range(format!(
                "{} is no time in ISO 8601: dates are YYYY-MM-DD",
                text.printable_line()
            ))
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let micros = footprint::parse_time(text)?;
        // Both `10:30` and `T103000` are times of day.
        Some(Self {
            micros,
            day: !text.contains([':', 'T']),
        })
    }

    /// The first microsecond behind it.
    pub fn end(self) -> i64 {
        self.micros
            .saturating_add(if self.day { MICROS_OF_DAY } else { 1 })
    }
}

/// The times from start to end, or the instant, touch the range; their ends are of the time.
pub(super) fn intervals_in_range(interval: &IntervalColumns, range: TimeRange) -> Expr {
    // Zones differ in how times are shown, not in the instants.
    let micros = |name: &str| col(name).to_physical();
    let start = coalesce(&[micros(interval.start), micros(interval.instant)]);
    let end = coalesce(&[micros(interval.end), micros(interval.instant)]);
    let from = range
        .first
        .map(|first| end.clone().gt_eq(lit(first.micros)));
    let to = range.last.map(|last| start.lt(lit(last.end())));
    [from, to]
        .into_iter()
        .flatten()
        .reduce(|a, b| a.and(b))
        .unwrap_or_else(|| end.is_not_null())
}

pub(super) fn is_text_array_type(dtype: &ArrowType) -> bool {
    matches!(
        dtype,
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View
    )
}

/// A column of numbers that counts `per_second` parts of seconds since 1970, whole ones or with a
/// fraction.
pub(super) fn counts_in_range(field: &FieldSpec, per_second: i64, range: TimeRange) -> Expr {
    let name = field.name.as_str();
    if field.dtype.is_integer() {
        return range.on_numbers(name, per_second, &|number| lit(number));
    }
    let bound = |micros: i64| lit(micros as f64 * per_second as f64 / 1e6);
    let from = range
        .first
        .map(|first| col(name).gt_eq(bound(first.micros)));
    let to = range.last.map(|last| {
        if last.day {
            col(name).lt(bound(last.end()))
        } else {
            col(name).lt_eq(bound(last.micros))
        }
    });
    [from, to]
        .into_iter()
        .flatten()
        .reduce(|a, b| a.and(b))
        .unwrap_or_else(|| col(name).is_not_null())
}

/// Parts of a second that a column of numbers counts since 1970: those that its description in
/// `taco:field_schema` names, else seconds in the columns of the extensions (TACO 0.2, STAC
/// extension).
///
/// # Errors
/// [`crate::error::Kind::Usage`] for a column of which nothing says what it counts.
pub(super) fn unit_of_counts(field: &FieldSpec) -> Result<i64> {
    const UNITS: [UnitWords; 4] = [
        (1_000_000_000, &["nanoseconds", "ns"], &["nanosecond"]),
        (
            1_000_000,
            &["microseconds", "\u{b5}s", "\u{3bc}s"],
            &["microsecond", "us"],
        ),
        (1_000, &["milliseconds", "ms"], &["millisecond"]),
        (1, &["seconds"], &["second", "sec", "s"]),
    ];
    let description = field.description.to_lowercase();
    let words: Vec<&str> = description
        .split(|letter: char| !letter.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    if let Some((per_second, ..)) = UNITS.iter().find(|unit| has_word_of_unit(&words, unit)) {
        return Ok(*per_second);
    }
    if footprint::is_time_column(&field.name, &field.dtype) {
        Ok(1)
    } else {
        Err(no_time(field))
    }
}

/// Parts of a second, the words of this unit, and its short ones that count before "since" alone.
type UnitWords = (i64, &'static [&'static str], &'static [&'static str]);

/// True when a description has a word of the unit.
fn has_word_of_unit(words: &[&str], (_, words_of_unit, before_since): &UnitWords) -> bool {
    words.iter().any(|word| words_of_unit.contains(word))
        || words
            .windows(2)
            .any(|pair| pair[1] == "since" && before_since.contains(&pair[0]))
}

/// True for types of numbers that may count parts of seconds.
pub(super) fn is_count(dtype: &ArrowType) -> bool {
    dtype.is_integer() || matches!(dtype, ArrowType::Float32 | ArrowType::Float64)
}

/// The error for a column without times.
pub(super) fn no_time(field: &FieldSpec) -> Error {
    let (name, dtype) = (&field.name, dtype_name(&field.dtype));
    let hint = "name a column of timestamps, dates or ISO 8601 text";
    if !is_count(&field.dtype) {
        return Error::usage(format!("column {name} is {dtype}, not a time")).hint(hint);
    }
    Error::usage(format!(
        "column {name} is {dtype}, and its description does not say which unit of \
        time it counts since 1970"
    ))
    .hint(hint)
    .hint("compare the numbers themselves with --where")
}

/// The column has dates; a date is its whole day.
pub(super) fn days_in_range(name: &str, range: TimeRange) -> Expr {
    let from = range
        .first
        .map(|first| col(name).gt_eq(date_literal(first.micros)));
    let to = range
        .last
        .map(|last| col(name).lt_eq(date_literal(last.micros)));
    [from, to]
        .into_iter()
        .flatten()
        .reduce(|a, b| a.and(b))
        .unwrap_or_else(|| col(name).is_not_null())
}

/// The day of a time in microseconds since 1970, or the first or last one that has a number.
fn date_literal(micros: i64) -> Expr {
    let day = micros.div_euclid(MICROS_OF_DAY);
    lit(i32::try_from(day).unwrap_or(if day < 0 { i32::MIN } else { i32::MAX }))
        .cast(DataType::Date)
}

/// The column has ISO 8601 text; text that can't be parsed as a time is compared by its leading
/// date.
pub(super) fn texts_in_range(name: &str, range: TimeRange) -> Expr {
    col(name).map(
        move |column| range.compare_texts(&column),
        |_, field| Ok(Field::new(field.name().clone(), DataType::Boolean)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_whole_days_and_times_of_day_are_instants() {
        let parse = |text: &str| TimeRange::parse(text).ok();
        let hour = 3_600_000_000;
        let day = |day: i64| {
            Some(TimeBound {
                micros: day * MICROS_OF_DAY,
                day: true,
            })
        };
        let at = |micros: i64| Some(TimeBound { micros, day: false });
        assert_eq!(
            parse("1970-01-02"),
            Some(TimeRange {
                first: day(1),
                last: day(1)
            })
        );
        let instant = at(49 * hour + hour / 2);
        assert_eq!(
            parse("1970-01-02T23:30:00-02:00"),
            Some(TimeRange {
                first: instant,
                last: instant
            })
        );
        let range = parse("1970-01-01T10:00:00Z/1970-01-03 01:00").expect("parses");
        assert_eq!(
            range,
            TimeRange {
                first: at(10 * hour),
                last: at(49 * hour)
            }
        );
        assert!(
            range.holds(TimeBound {
                micros: 10 * hour,
                day: false
            }) && range.holds(TimeBound {
                micros: 49 * hour,
                day: false
            })
        );
        assert!(
            !range.holds(TimeBound {
                micros: 10 * hour - 1,
                day: false
            }) && !range.holds(TimeBound {
                micros: 49 * hour + 1,
                day: false
            })
        );
        assert!(
            range.holds(TimeBound {
                micros: 0,
                day: true
            }),
            "a part of that day is within"
        );
        assert_eq!(
            parse("../1970-01-03"),
            Some(TimeRange {
                first: None,
                last: day(2)
            })
        );
        assert_eq!(
            parse("1970-01-03/.."),
            Some(TimeRange {
                first: day(2),
                last: None
            })
        );
        assert!(
            parse("1970-01-03T12:00:00Z/1970-01-03").is_some(),
            "the day ends after noon"
        );
        let bad = [
            "",
            "..",
            "../..",
            "2001",
            "1970-01-03/1970-01-02",
            "1970-01-01T10:00/1970-01-01T09:00",
            "tomorrow",
            "1970-02-30",
            "24-1-1",
            "24-1-1/..",
        ];
        for bad in bad {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn numbers_count_what_their_column_says() {
        let unit = |name: &str, description: &str, dtype: ArrowType| {
            let field = FieldSpec {
                description: description.into(),
                ..FieldSpec::new(name, dtype)
            };
            unit_of_counts(&field).ok()
        };
        let whole = |name: &str, description: &str| unit(name, description, ArrowType::Int64);
        assert_eq!(
            whole("stac:time_start", ""),
            Some(1),
            "the text of TACO 0.2"
        );
        assert_eq!(unit("istac:time_end", "", ArrowType::Float64), Some(1));
        assert_eq!(
            whole(
                "stac:time_start",
                "Start timestamp (\u{3bc}s since Unix epoch, UTC)"
            ),
            Some(1_000_000)
        );
        assert_eq!(
            whole("when", "Acquisition, milliseconds since 1970"),
            Some(1_000)
        );
        assert_eq!(whole("when", "ns since the epoch"), Some(1_000_000_000));
        assert_eq!(whole("when", "Seconds since 1970"), Some(1));
        for (name, description) in [
            ("date", ""),
            ("datetime", ""),
            ("acquisition_time", "Time of acquisition"),
            ("when", "Sensor status"),
        ] {
            assert_eq!(whole(name, description), None, "{name}: {description}");
        }
        let field = |dtype| FieldSpec::new("stac:time_start", dtype);
        let range = TimeRange::parse("1970-01-02").expect("parses");
        let said = format!(
            "{:?}",
            counts_in_range(&field(ArrowType::Int64), 1_000, range)
        );
        assert!(
            said.contains("86400000") && said.contains("172800000"),
            "{said}"
        );
    }
}
