//! Times of a sample, in microseconds since 1970 UTC: a constant, parsed from its name, or taken
//! from columns.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::NaiveDate;
use regex::{Captures, Regex};
use serde_json::Value as Json;

use super::super::{OptionKind, OptionSpec, SampleView};
use crate::error::{Error, Result};
use crate::footprint::parse_time;
use crate::model::{FieldSpec, Payload, Value};

/// Options shared by `stac` and `istac`.
pub fn time_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("time_start"),
            OptionKind::Json,
            mark!(
                "when it begins: ISO 8601 text (UTC without an offset), or microseconds since 1970"
            ),
        ),
        OptionSpec::new(
            mark!("time_end"),
            OptionKind::Json,
            mark!("when it ends, written as time_start"),
        ),
        OptionSpec::new(
            mark!("time_pattern"),
            OptionKind::Text,
            mark!(
                "finds times in the sample's path: as %Y%m%dT%H%M%S (a second date is the end), or \
                    a regular expression with groups \
                    year, month, day, doy, hour, minute, second or start, end"
            ),
        ),
        OptionSpec::new(
            mark!("time_column"),
            OptionKind::Column,
            mark!("a column with the start: a time, a date, ISO text, or microseconds"),
        ),
        OptionSpec::new(
            mark!("time_end_column"),
            OptionKind::Column,
            mark!("a column with the end"),
        ),
    ]
}

/// The options as given.
#[derive(Default)]
pub struct TimeOptions {
    pub time_start: Option<Json>,
    pub time_end: Option<Json>,
    pub time_pattern: Option<String>,
    pub time_column: Option<String>,
    pub time_end_column: Option<String>,
}

/// The validated options.
pub struct Times {
    start: Option<i64>,
    end: Option<i64>,
    pattern: Option<Regex>,
    column: Option<String>,
    end_column: Option<String>,
}

impl Times {
    /// Validates the options of `extension`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for an invalid time or pattern, several sources
    /// of the start, or an end without a start.
    pub fn new(extension: &str, options: TimeOptions) -> Result<Self> {
        let sources = [
            options.time_start.is_some(),
            options.time_pattern.is_some(),
            options.time_column.is_some(),
        ];
        if sources.iter().filter(|given| **given).count() > 1 {
            return Err(Error::usage(format!(
                "{extension} takes its times from one of time_start, time_pattern and time_column"
            )));
        }
        if sources == [false; 3]
            && (options.time_end.is_some() || options.time_end_column.is_some())
        {
            return Err(Error::usage(format!(
                "{extension} has an end and no start: give time_start, time_pattern or time_column"
            )));
        }
        let pattern = options
            .time_pattern
            .map(|text| compile(extension, &text))
            .transpose()?;
        Ok(Self {
            start: parse_fixed_time(extension, "time_start", options.time_start)?,
            end: parse_fixed_time(extension, "time_end", options.time_end)?,
            pattern,
            column: options.time_column,
            end_column: options.time_end_column,
        })
    }

    /// True when no option says where times come from.
    pub fn is_empty(&self) -> bool {
        self.start.is_none() && self.pattern.is_none() && self.column.is_none()
    }

    /// `[start, end, middle]` of a sample. The middle needs both ends, and is rounded down as in
    /// the Python tools.
    ///
    /// # Errors
    /// When the pattern or column has no time, or the start is after the end.
    pub fn find_sample_times(&self, sample: &SampleView<'_>) -> Result<[Option<i64>; 3]> {
        let (mut start, mut end) = (self.start, self.end);
        if let Some(pattern) = &self.pattern {
            let (from, to) = find(pattern, sample)?;
            (start, end) = (Some(from), to.or(end));
        }
        if let Some(column) = &self.column {
            start = from_column(sample, column)?;
        }
        if let Some(column) = &self.end_column {
            end = from_column(sample, column)?;
        }
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err(Error::invalid("the start time is after the end time"));
        }
        let middle = start
            .zip(end)
            .map(|(start, end)| (i128::from(start) + i128::from(end)).div_euclid(2) as i64);
        Ok([start, end, middle])
    }
}

/// Microseconds since 1970 of the option `name`.
fn parse_fixed_time(extension: &str, name: &str, value: Option<Json>) -> Result<Option<i64>> {
    let Some(value) = value else { return Ok(None) };
    let time = match &value {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => parse_time(text),
        _ => None,
    };
    if time.is_none() {
        let error = Error::usage(format!(
            "option {name} of {extension} has to be a time, not {value}"
        ));
        return Err(
            error.hint("write 2023-05-17T10:30:00Z, 2023-05-17, or microseconds since 1970")
        );
    }
    Ok(time)
}

impl Times {
    /// [`Times::find_sample_times`] as values of the columns `names`; when it fails they are null,
    /// and the failure is that of these columns alone.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn values(&self, sample: &SampleView<'_>, names: &[&'static str; 3]) -> Result<[Value; 3]> {
        match self.find_sample_times(sample) {
            Ok(times) => Ok(times.map(|time| time.map_or(Value::Null, Value::Int))),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => {
                sample.fail_part(names, error);
                Ok([Value::Null, Value::Null, Value::Null])
            }
        }
    }
}

const PARTS: [&str; 7] = ["year", "month", "day", "doy", "hour", "minute", "second"];

/// Compiles a regular expression, or a pattern with `%Y%m%d`-like directives; a repeated directive
/// belongs to the end time.
fn compile(extension: &str, text: &str) -> Result<Regex> {
    let mut expression = String::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut directives = false;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
            continue;
        }
        directives = true;
        let (name, digits) = match letters.next() {
            Some('Y') => ("year", 4),
            Some('m') => ("month", 2),
            Some('d') => ("day", 2),
            Some('j') => ("doy", 3),
            Some('H') => ("hour", 2),
            Some('M') => ("minute", 2),
            Some('S') => ("second", 2),
            Some('%') => {
                expression.push('%');
                continue;
            }
            other => {
                let why = format!(
                    "%{} is unknown; known are %Y %m %d %j %H %M %S",
                    other.unwrap_or(' ')
                );
                return Err(invalid_time_pattern_error(extension, &why));
            }
        };
        let suffix = if seen.contains(&name) { "_end" } else { "" };
        seen.push(name);
        expression.push_str(&format!("(?P<{name}{suffix}>[0-9]{{{digits}}})"));
    }
    let regex = Regex::new(if directives { &expression } else { text })
        .map_err(|error| invalid_time_pattern_error(extension, &error.to_string()))?;
    let names: Vec<&str> = regex.capture_names().flatten().collect();
    if !names.contains(&"start") && !names.contains(&"year") {
        return Err(invalid_time_pattern_error(
            extension,
            "it has neither a group named year nor one named start",
        ));
    }
    Ok(regex)
}

fn invalid_time_pattern_error(extension: &str, why: &str) -> Error {
    Error::usage(format!(
        "option time_pattern of {extension} can't be used: {why}"
    ))
}

/// The first match of the pattern in the ids, or else in the file name.
fn find(pattern: &Regex, sample: &SampleView<'_>) -> Result<(i64, Option<i64>)> {
    let mut texts = vec![sample.path().to_archive()];
    if let Payload::Asset { path, .. } = &sample.sample().payload
        && let Some(name) = path.file_name()
    {
        texts.push(name.into_owned());
    }
    let Some(found) = texts.iter().find_map(|text| pattern.captures(text)) else {
        return Err(Error::usage(format!(
            "the pattern of the time fits neither the ids nor the file's name: {}",
            texts.join(", ")
        )));
    };
    let start = time_of(&found, "start", "")?;
    let start = start.ok_or_else(|| Error::usage("the pattern of the time found no year here"))?;
    Ok((start, time_of(&found, "end", "_end")?))
}

fn time_of(found: &Captures, whole: &str, suffix: &str) -> Result<Option<i64>> {
    if let Some(text) = found.name(whole) {
        let Some(time) = parse_time(text.as_str()) else {
            let error = Error::usage(format!("{} is no time", text.as_str()));
            return Err(error.hint("write it as 2023-05-17T10:30:00Z"));
        };
        return Ok(Some(time));
    }
    let [year, month, day, doy, hour, minute, second] = PARTS.map(|part| {
        found
            .name(&format!("{part}{suffix}"))
            .and_then(|text| text.as_str().parse::<u32>().ok())
    });
    let Some(year) = year else { return Ok(None) };
    let year = year as i32;
    let date = match doy {
        Some(doy) => NaiveDate::from_yo_opt(year, doy),
        None => NaiveDate::from_ymd_opt(year, month.unwrap_or(1), day.unwrap_or(1)),
    };
    let time = date.and_then(|date| {
        date.and_hms_opt(hour.unwrap_or(0), minute.unwrap_or(0), second.unwrap_or(0))
    });
    let text = found.get(0).map_or("", |all| all.as_str());
    time.map(|time| Some(time.and_utc().timestamp_micros()))
        .ok_or_else(|| Error::usage(format!("{text} is no date")))
}

fn from_column(sample: &SampleView<'_>, name: &str) -> Result<Option<i64>> {
    let (field, value) = sample.need(name)?;
    let wrong = || Error::usage(format!("column {name} holds no time here"));
    match &value {
        Value::Null => Ok(None),
        Value::Int(number) => micros(&field, *number).map(Some).ok_or_else(wrong),
        Value::Text(text) => parse_time(text).map(Some).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn micros(field: &FieldSpec, number: i64) -> Option<i64> {
    match &field.dtype {
        DataType::Timestamp(TimeUnit::Second, _) => number.checked_mul(1_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => {
            number.checked_mul(1000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(number.div_euclid(1000)),
        DataType::Date32 => number.checked_mul(86_400_000_000),
        _ => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_start_and_end() {
        let found = |pattern: &str, text: &str| {
            let regex = compile("stac", pattern).expect("compiles");
            let found = regex.captures(text).expect("fits");
            (
                time_of(&found, "start", "").expect("reads"),
                time_of(&found, "end", "_end").expect("reads"),
            )
        };
        let (start, end) = found("%Y%m%dT%H%M%S", "S2A_20230517T103000_x");
        assert_eq!((start, end), (parse_time("2023-05-17T10:30:00Z"), None));
        let (start, end) = found("%Y%j-%Y%j", "MOD_2020060-2020075");
        assert_eq!(
            (start, end),
            (parse_time("2020-02-29"), parse_time("2020-03-15"))
        );
        let (start, _) = found(r"y(?P<year>\d+)m(?P<month>\d+)", "ay2021m7b");
        assert_eq!(start, parse_time("2021-07-01"));
        assert!(
            compile("stac", r"\d+").is_err()
                && compile("stac", "%q").is_err()
                && compile("stac", "(").is_err()
        );
        let regex = compile("stac", "%Y%m%d").expect("compiles");
        assert!(time_of(&regex.captures("20231301").expect("fits"), "start", "").is_err());
    }
}
