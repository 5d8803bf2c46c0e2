//! Types of text columns by round trip: a column of a CSV table has a type only where every text
//! comes back when its value is printed. `06075`, `10E10` and `0000-00-00` are texts. The accepted
//! spellings are listed in docs/FORMATS.md.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array, new_null_array,
};
use arrow::datatypes::{DataType, TimeUnit};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

use crate::text::PrintableLine;

/// Texts of missing values in columns of numbers, dates, times and booleans, in lower case.
const NULL_MARKERS: [&str; 16] = [
    "", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil",
    "-", "--", "\\n",
];
/// Texts of missing values in columns of texts, in lower case; the others may be words there.
const NULL_MARKERS_OF_TEXTS: [&str; 6] = ["", "n/a", "#n/a", "<na>", "nan", "null"];
/// Characters of a value in a warning.
const SHOWN: usize = 60;
/// Significant digits of a number up to which it is compared with its double; the longest exact
/// double has 767.
const DIGITS_MAX: usize = 800;
/// Significant digits that every double keeps.
const DIGITS_KEPT: usize = 15;

/// Sets of [`SpelledType`]s as bits.
type SpelledTypes = u16;

/// A type with its spelling, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpelledType {
    /// `true`, `false`.
    LowerBoolean,
    /// `True`, `False`.
    TitleBoolean,
    /// `TRUE`, `FALSE`.
    UpperBoolean,
    /// int64 without leading zeros or plus sign.
    Integer,
    /// uint64, likewise.
    Unsigned,
    /// A double with a decimal point.
    Float,
    /// A double with a decimal comma.
    CommaFloat,
    /// `2021-05-31`.
    Date,
    /// A date with a time of day, in microseconds.
    Microseconds,
    /// A date with a time of day, in nanoseconds.
    Nanoseconds,
}

use SpelledType::{
    CommaFloat, Date, Float, Integer, LowerBoolean, Microseconds, Nanoseconds, TitleBoolean,
    Unsigned, UpperBoolean,
};

impl SpelledType {
    const ALL: [Self; 10] = [
        LowerBoolean,
        TitleBoolean,
        UpperBoolean,
        Integer,
        Unsigned,
        Float,
        CommaFloat,
        Date,
        Microseconds,
        Nanoseconds,
    ];

    const fn bit(self) -> SpelledTypes {
        1 << self as u16
    }

    /// What a value of this type is, for warnings.
    fn noun(self) -> &'static str {
        match self {
            LowerBoolean | TitleBoolean | UpperBoolean => {
                "true or false as the other values write it"
            }
            Integer | Unsigned => "an integer without leading zeros or plus sign",
            Float | CommaFloat => "a number that a double keeps",
            Date => "a date such as 2021-05-31",
            Microseconds | Nanoseconds => "a time such as 2021-05-31T10:20:30Z",
        }
    }
}

/// What the texts of one column are, gathered one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct TextSummary {
    /// Number of texts that are not a null marker.
    values: u64,
    /// For each type, the number of texts that have it.
    counts: [u64; SpelledType::ALL.len()],
    /// For each type, the first text without it, and its line.
    misfits: [Option<(u64, Box<str>)>; SpelledType::ALL.len()],
    /// A number is finite.
    has_number: bool,
    /// A comma separates decimals: other than three digits follow it, or 0 precedes it.
    proves_comma: bool,
    /// Digits after the decimal point of the first number that has some.
    decimals: Option<usize>,
    /// Numbers have other numbers of decimals.
    decimals_vary: bool,
    /// A number has a 0 at the end of its decimals, other than the only one.
    is_padded: bool,
    /// A value is something else than digits on both sides of a decimal point.
    has_other_form: bool,
    /// Number of texts of two letters.
    codes: u64,
    /// Number of texts `NA`.
    not_available: u64,
    /// Number of null markers that are not empty.
    markers: u64,
    /// Number of those that are null in columns of texts, too.
    markers_of_texts: u64,
    /// Number of times with a zone.
    with_zone: u64,
    /// Line of the first time without a zone.
    without_zone: Option<u64>,
}

impl TextSummary {
    /// Adds the text of a cell, without whitespace around it; `line` is that of the file, from 1.
    pub fn add(&mut self, text: &str, line: u64) {
        self.not_available += u64::from(text.eq_ignore_ascii_case("na"));
        if is_null_marker(text) {
            let lower = text.to_ascii_lowercase();
            self.markers += u64::from(!text.is_empty());
            self.markers_of_texts +=
                u64::from(!text.is_empty() && NULL_MARKERS_OF_TEXTS.contains(&lower.as_str()));
            return;
        }
        self.values += 1;
        self.codes +=
            u64::from(text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic()));
        let found = types_of(text);
        if found.types & (Microseconds.bit() | Nanoseconds.bit()) != 0 {
            if states_zone(text) {
                self.with_zone += 1;
            } else {
                self.without_zone.get_or_insert(line);
            }
        }
        self.has_number |= found.is_finite;
        self.proves_comma |= found.proves_comma;
        let is_plain =
            found.decimals > 0 && text.as_bytes().first().is_some_and(u8::is_ascii_digit);
        self.has_other_form |= !is_plain;
        if found.decimals > 0 {
            self.decimals_vary |= *self.decimals.get_or_insert(found.decimals) != found.decimals;
            self.is_padded |= found.decimals > 1 && text.ends_with('0');
        }
        for (index, kind) in SpelledType::ALL.into_iter().enumerate() {
            if found.types & kind.bit() != 0 {
                self.counts[index] += 1;
            } else if self.misfits[index].is_none() {
                self.misfits[index] = Some((line, text.chars().take(SHOWN).collect()));
            }
        }
    }

    /// True when the column has null markers alone.
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// The type of all values; `None` when they are texts.
    pub fn shared_type(&self) -> Option<SpelledType> {
        SpelledType::ALL
            .into_iter()
            .enumerate()
            .find(|&(index, kind)| self.fits_all(index, kind))
            .map(|(_, kind)| kind)
    }

    /// True when all values have the type at `index` of [`SpelledType::ALL`].
    fn fits_all(&self, index: usize, kind: SpelledType) -> bool {
        let allowed = match kind {
            Float => self.has_number && !self.is_of_versions(),
            CommaFloat => self.has_number && self.proves_comma && !self.is_of_versions(),
            _ => true,
        };
        allowed && self.values > 0 && self.counts[index] == self.values
    }

    /// True when all numbers may be versions, of which 1.10 would become 1.1: some have as many
    /// decimals and end in zeros, some have not.
    fn is_of_versions(&self) -> bool {
        self.is_padded && self.decimals_vary && !self.has_other_form
    }

    /// Why a column is text although half of its values or more have another type: the first value
    /// without it, with its line.
    pub fn warning(&self, column: &str) -> Option<String> {
        let most = SpelledType::ALL
            .into_iter()
            .enumerate()
            .rev()
            .max_by_key(|(index, _)| self.counts[*index]);
        let (index, kind) = most.filter(|(index, _)| {
            self.values > 0 && self.counts[*index].saturating_mul(2) >= self.values
        })?;
        let column = column.printable_line();
        match &self.misfits[index] {
            Some((line, text)) => {
                let (text, noun) = (text.printable_line(), kind.noun());
                Some(format!(
                    "the column {column} is text: line {line} has \"{text}\", which is not {noun}"
                ))
            }
            None if matches!(kind, Float | CommaFloat) && self.is_of_versions() => Some(format!(
                "the column {column} is text: some of its numbers end in zeros, as the version \
                    1.10 beside 1.9"
            )),
            None if kind == CommaFloat => Some(format!(
                "the column {column} is text: its commas can separate decimals or thousands"
            )),
            None => None,
        }
    }

    /// True when `NA` is one of the codes of two letters of this column, as that of Namibia.
    fn has_codes(&self) -> bool {
        self.values > 0 && self.codes == self.values
    }

    /// True for a text that is null in this column of texts.
    fn is_null_text(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        NULL_MARKERS_OF_TEXTS.contains(&lower.as_str()) || (lower == "na" && !self.has_codes())
    }

    /// What a column of times hides, some with a zone and some without.
    pub fn warning_of_zones(&self, column: &str) -> Option<String> {
        let line = self.without_zone.filter(|_| self.with_zone > 0)?;
        Some(format!(
            "the column {} has times with and without a zone: those without, from line {line} on, \
             are read as UTC",
            column.printable_line()
        ))
    }

    /// Number of texts, without empty ones, that are null in a column of a type.
    pub fn null_markers(&self) -> u64 {
        self.markers
    }

    /// Number of texts, without empty ones, that are null in a column of texts.
    pub fn null_texts(&self) -> u64 {
        let not_available = if self.has_codes() {
            0
        } else {
            self.not_available
        };
        self.markers_of_texts + not_available
    }

    /// The texts of a column that stays text, without null markers.
    pub fn without_markers(&self, texts: &StringArray) -> StringArray {
        texts
            .iter()
            .map(|text| text.filter(|text| !self.is_null_text(text)))
            .collect()
    }
}

/// True for the text of a missing value in a column that is not text.
pub fn is_null_marker(text: &str) -> bool {
    text.len() <= 4 && NULL_MARKERS.contains(&text.to_ascii_lowercase().as_str())
}

/// The Arrow type of values.
pub(super) fn arrow_type(kind: SpelledType) -> DataType {
    match kind {
        LowerBoolean | TitleBoolean | UpperBoolean => DataType::Boolean,
        Integer => DataType::Int64,
        Unsigned => DataType::UInt64,
        Float | CommaFloat => DataType::Float64,
        Date => DataType::Date32,
        Microseconds => DataType::Timestamp(TimeUnit::Microsecond, None),
        Nanoseconds => DataType::Timestamp(TimeUnit::Nanosecond, None),
    }
}

/// The values of texts that have this type or are null.
pub(super) fn typed_array(texts: &StringArray, kind: SpelledType) -> ArrayRef {
    let values = || mask_null_markers(texts);
    match kind {
        LowerBoolean | TitleBoolean | UpperBoolean => Arc::new(
            values()
                .map(|text| text.map(|text| text.eq_ignore_ascii_case("true")))
                .collect::<BooleanArray>(),
        ),
        Integer => Arc::new(
            values()
                .map(|text| text?.parse().ok())
                .collect::<Int64Array>(),
        ),
        Unsigned => Arc::new(
            values()
                .map(|text| text?.parse().ok())
                .collect::<UInt64Array>(),
        ),
        Float => Arc::new(
            values()
                .map(|text| text?.parse().ok())
                .collect::<Float64Array>(),
        ),
        CommaFloat => Arc::new(
            values()
                .map(|text| text?.replace(',', ".").parse().ok())
                .collect::<Float64Array>(),
        ),
        Date => {
            let days = |date: NaiveDate| {
                i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok()
            };
            Arc::new(
                values()
                    .map(|text| parse_date(text?).and_then(days))
                    .collect::<Date32Array>(),
            )
        }
        Microseconds => Arc::new(
            values()
                .map(|text| Some(parse_instant(text?)?.0.timestamp_micros()))
                .collect::<TimestampMicrosecondArray>(),
        ),
        Nanoseconds => Arc::new(
            values()
                .map(|text| parse_instant(text?)?.0.timestamp_nanos_opt())
                .collect::<TimestampNanosecondArray>(),
        ),
    }
}

fn mask_null_markers(texts: &StringArray) -> impl Iterator<Item = Option<&str>> {
    texts
        .iter()
        .map(|text| text.filter(|text| !is_null_marker(text)))
}

/// A column of null markers alone.
pub(super) fn null_array(rows: usize) -> ArrayRef {
    new_null_array(&DataType::Null, rows)
}

/// The types of one text.
#[derive(Default)]
struct SpelledCell {
    types: SpelledTypes,
    is_finite: bool,
    proves_comma: bool,
    /// Digits after the decimal point of a number without an exponent.
    decimals: usize,
}

impl SpelledCell {
    fn with_type(kind: SpelledType) -> Self {
        Self {
            types: kind.bit(),
            ..Self::default()
        }
    }
}

fn types_of(text: &str) -> SpelledCell {
    match text {
        "true" | "false" => return SpelledCell::with_type(LowerBoolean),
        "True" | "False" => return SpelledCell::with_type(TitleBoolean),
        "TRUE" | "FALSE" => return SpelledCell::with_type(UpperBoolean),
        "inf" | "-inf" | "Inf" | "-Inf" | "Infinity" | "-Infinity" => {
            return SpelledCell {
                types: Float.bit() | CommaFloat.bit(),
                ..SpelledCell::default()
            };
        }
        _ => {}
    }
    let first = text.as_bytes().first().copied().unwrap_or_default();
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'.')) {
        return SpelledCell::default();
    }
    if let Some(number) = SpelledNumber::parse(text, '.') {
        let whole = number.is_whole;
        let mut types = 0;
        if whole && text != "-0" {
            types |= if text.parse::<i64>().is_ok() {
                Integer.bit()
            } else {
                0
            };
            types |= if text.parse::<u64>().is_ok() {
                Unsigned.bit()
            } else {
                0
            };
        }
        // A double does not distinguish larger whole numbers from their neighbours.
        let is_distinct = !whole
            || text
                .parse::<i64>()
                .is_ok_and(|number| number.unsigned_abs() <= 1 << 53);
        if is_distinct && number.is_exact(text) {
            types |= Float.bit() | if whole { CommaFloat.bit() } else { 0 };
        }
        return SpelledCell {
            types,
            is_finite: true,
            proves_comma: false,
            decimals: number.decimals,
        };
    }
    if let Some(number) =
        SpelledNumber::parse(text, ',').filter(|number| number.is_exact(&text.replace(',', ".")))
    {
        let SpelledNumber {
            proves_comma,
            decimals,
            ..
        } = number;
        return SpelledCell {
            types: CommaFloat.bit(),
            is_finite: true,
            proves_comma,
            decimals,
        };
    }
    if parse_date(text).is_some() {
        return SpelledCell::with_type(Date);
    }
    match parse_instant(text) {
        Some((time, digits)) => {
            let in_range = time.timestamp_nanos_opt().is_some();
            let types = if digits <= 6 { Microseconds.bit() } else { 0 }
                | if in_range { Nanoseconds.bit() } else { 0 };
            SpelledCell {
                types,
                ..SpelledCell::default()
            }
        }
        None => SpelledCell::default(),
    }
}

/// A decimal number as a text spells it.
struct SpelledNumber {
    /// Neither a point nor an exponent.
    is_whole: bool,
    proves_comma: bool,
    /// Digits after the decimal point; 0 with an exponent.
    decimals: usize,
    /// Significant digits, without zeros at both ends.
    digits: String,
    /// Exponent of ten of the first significant digit.
    exponent: i64,
}

impl SpelledNumber {
    /// Parses `-12.5`, `.5`, `5.`, `1e-05` or `1.5E10`. An exponent needs a point, or one digit
    /// before it and a sign behind it: `10E10` and `1e5` are ids as well.
    fn parse(text: &str, point: char) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once(point) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = fraction.unwrap_or_default();
        let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
        if !all_digits(whole)
            || !all_digits(parts)
            || has_leading_zero
            || whole.len() + parts.len() == 0
        {
            return None;
        }
        if point == ',' && (exponent.is_some() || whole.is_empty() || parts.is_empty()) {
            return None;
        }
        let mut power = 0;
        if let Some(exponent) = exponent {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let signed = digits.len() < exponent.len();
            if digits.is_empty()
                || digits.len() > 3
                || !all_digits(digits)
                || !(fraction.is_some() || signed && whole.len() == 1)
            {
                return None;
            }
            power = exponent
                .strip_prefix('+')
                .unwrap_or(exponent)
                .parse::<i64>()
                .ok()?;
        }
        let all: String = [whole, parts].concat();
        let zeros = all.len() - all.trim_start_matches('0').len();
        Some(Self {
            is_whole: fraction.is_none() && exponent.is_none(),
            proves_comma: parts.len() != 3 || whole == "0",
            decimals: if exponent.is_none() { parts.len() } else { 0 },
            digits: all.trim_matches('0').to_owned(),
            exponent: power + whole.len() as i64 - 1 - zeros as i64,
        })
    }

    /// True when the double nearest to the number, printed with as many digits, has the same
    /// digits. `text` spells it with a point.
    fn is_exact(&self, text: &str) -> bool {
        if self.digits.is_empty()
            || (self.digits.len() <= DIGITS_KEPT && self.exponent.unsigned_abs() < 290)
        {
            return true;
        }
        if self.digits.len() > DIGITS_MAX {
            return false;
        }
        let Some(value) = text.parse::<f64>().ok().filter(|value| value.is_finite()) else {
            return false;
        };
        let printed = format!("{:.*e}", self.digits.len() - 1, value.abs());
        let Some((mantissa, exponent)) = printed.split_once('e') else {
            return false;
        };
        mantissa.replace('.', "") == self.digits && exponent.parse() == Ok(self.exponent)
    }
}

/// `2021-05-31`.
fn parse_date(text: &str) -> Option<NaiveDate> {
    let bytes = text.as_bytes();
    let is_spelled = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 4 | 7) {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    if !is_spelled {
        return None;
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    (!text.starts_with("0000")).then_some(date)
}

/// A date and a time of day, and the number of decimals of the second up to the last other than 0:
/// `2021-05-31T10:20`, `2021-05-31 10:20:30.123456 UTC`, `2021-05-31T10:20:30+02:00`. Without an
/// offset the time is that of UTC.
fn parse_instant(text: &str) -> Option<(DateTime<chrono::Utc>, usize)> {
    if !text.is_ascii() {
        return None;
    }
    let date = parse_date(text.get(..10)?)?;
    let clock = text.get(10..)?.strip_prefix(['T', ' '])?;
    let length = clock
        .find(|c: char| !matches!(c, '0'..='9' | ':' | '.'))
        .unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(length);
    let mut parts = clock.split(':');
    let (hour, minute, second) = (
        parse_two_digits(parts.next()?)?,
        parse_two_digits(parts.next()?)?,
        parts.next(),
    );
    if parts.next().is_some() {
        return None;
    }
    let (second, fraction) = match second {
        None => (0, ""),
        Some(second) => match second.split_once('.') {
            None => (parse_two_digits(second)?, ""),
            Some((_, "")) => return None,
            Some((second, fraction)) => (parse_two_digits(second)?, fraction),
        },
    };
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse::<u32>().ok()?;
    let time = NaiveDateTime::new(
        date,
        NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)?,
    );
    let time = time
        .and_utc()
        .checked_sub_signed(chrono::TimeDelta::minutes(offset_minutes(zone)?))?;
    Some((time, fraction.trim_end_matches('0').len()))
}

fn parse_two_digits(text: &str) -> Option<u32> {
    (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// True when a text that [`parse_instant`] reads ends in a zone.
fn states_zone(text: &str) -> bool {
    text.get(10..)
        .is_some_and(|clock| clock.contains(['Z', 'U', '+', '-']))
}

/// Minutes east of UTC: nothing, `Z`, ` UTC`, `+02`, `+0200`, `+02:00`, also after a space.
fn offset_minutes(zone: &str) -> Option<i64> {
    let zone = zone.strip_prefix(' ').unwrap_or(zone);
    if matches!(zone, "" | "Z" | "UTC") {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = match digits.len() {
        5 if digits.get(2..3) == Some(":") => digits.replacen(':', "", 1),
        2 => format!("{digits}00"),
        _ => digits.to_owned(),
    };
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = (
        digits.get(..2)?.parse::<i64>().ok()?,
        digits.get(2..)?.parse::<i64>().ok()?,
    );
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;
    use crate::model::dtype_name;

    fn summary(texts: &[&str]) -> TextSummary {
        let mut summary = TextSummary::default();
        texts
            .iter()
            .enumerate()
            .for_each(|(row, text)| summary.add(text, row as u64 + 2));
        summary
    }

    fn type_of(texts: &[&str]) -> String {
        summary(texts)
            .shared_type()
            .map_or_else(|| "string".to_owned(), |kind| dtype_name(&arrow_type(kind)))
    }

    #[test]
    fn a_column_has_a_type_only_where_every_text_comes_back() {
        for (texts, wanted) in [
            (&["1", "-20", "0"][..], "int64"),
            (&["06075", "48201"], "string"),
            (&["007", "8"], "string"),
            (&["+1", "2"], "string"),
            (&["-0", "2"], "double"),
            (&["9223372036854775808", "1"], "uint64"),
            (&["9223372036854775808", "-1"], "string"),
            (&["9749618429198860289", "0.5"], "string"),
            (&["36893488147419103232"], "string"),
            (&["1.50", "-0.25", ".5", "7", "5."], "double"),
            (&["00.5", "1.5"], "string"),
            (&["10E10", "31E5"], "string"),
            (&["1e5"], "string"),
            (&["1e-05", "2.5E10", "3.4028235e+38"], "double"),
            (&["10e-05"], "string"),
            (&["1.5", "1e999"], "string"),
            (&["1.5", "1.0e-999"], "string"),
            (&["0.10000000000000001", "0.10000000000000000555"], "double"),
            (&["0.1234567890123456789"], "string"),
            (&["1.5", "inf", "-Infinity"], "double"),
            (&["inf", "-inf"], "string"),
            (&["12,5", "3", "0,125"], "double"),
            (&["1,234", "5,678"], "string"),
            (&["1,234", "5.5"], "string"),
            (&["true", "false"], "bool"),
            (&["TRUE", "FALSE"], "bool"),
            (&["true", "False"], "string"),
            (&["yes", "no"], "string"),
            (&["2021-05-01", "2020-02-29"], "date32[day]"),
            (&["2021-05-01", "0000-00-00"], "string"),
            (&["2021-02-30"], "string"),
            (&["2021-5-1"], "string"),
            (&["2021-05-01", "2021-05-01 10:20:30"], "string"),
            (
                &["2021-05-01 10:20:30 UTC", "2021-05-01 10:20:30.123 UTC"],
                "timestamp[us]",
            ),
            (
                &[
                    "2021-05-01T10:20",
                    "2021-05-01T10:20:30+02:00",
                    "2021-05-01 10:20:30+02",
                ],
                "timestamp[us]",
            ),
            (&["2021-05-01T10:20:30.123456789"], "timestamp[ns]"),
            (&["1500-05-01T10:20:30.123456789"], "string"),
            (&["2021-05-01T24:00:00"], "string"),
            (&["2021-05-01T10:20:30 CET"], "string"),
            (&["NA", "12.5", "n/a", "NaN", "null", "-"], "double"),
            (&["2021-05-01 10:20:30 UTC", "NaT", ""], "timestamp[us]"),
        ] {
            assert_eq!(type_of(texts), wanted, "{texts:?}");
        }
        assert!(summary(&["NA", "", "null"]).is_empty());
    }

    #[test]
    fn values_are_those_of_the_texts() {
        let of = |texts: &[&str]| {
            let kind = summary(texts).shared_type().expect("a type");
            let array = typed_array(&StringArray::from(texts.to_vec()), kind);
            (0..array.len())
                .map(|row| crate::table::cell_text(&array, row))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&["12,5", "NA", "-3"]), ["12.5", "", "-3"]);
        assert_eq!(of(&["TRUE", "FALSE"]), ["true", "false"]);
        let times = of(&[
            "2021-05-01 10:20:30.123 UTC",
            "2021-05-01T10:20:30+02:00",
            "2021-05-01T10:20:30-0330",
        ]);
        assert_eq!(
            times,
            [
                "2021-05-01T10:20:30.123",
                "2021-05-01T08:20:30",
                "2021-05-01T13:50:30"
            ]
        );
        assert_eq!(of(&["2020-02-29", "null"]), ["2020-02-29", ""]);
    }

    #[test]
    fn a_column_that_lacks_a_type_by_few_values_says_which() {
        let said = |texts: &[&str]| summary(texts).warning("a").unwrap_or_default();
        let dates = said(&["2021-05-01", "2021-05-02", "0000-00-00"]);
        assert!(
            dates.contains("column a")
                && dates.contains("line 4")
                && dates.contains("\"0000-00-00\""),
            "{dates}"
        );
        assert!(said(&["2021-05-01", "0000-00-00", "2021-02-30", "2021-05-03"]).contains("line 3"));
        assert!(said(&["1", "2", "007"]).contains("line 4 has \"007\""));
        assert!(said(&["1,234", "5,678"]).contains("thousands"));
        assert_eq!(said(&["06075", "06037", "48201", "02020"]), "");
        assert_eq!(said(&["forest", "urban"]), "");
    }

    #[test]
    fn markers_of_missing_values_are_null_in_texts_unless_they_are_codes() {
        let of = |texts: &[&str]| {
            let array = summary(texts).without_markers(&StringArray::from(texts.to_vec()));
            array
                .iter()
                .map(|text| text.unwrap_or("null").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(&["forest", "NA", "None", "N/A", "NaN"]),
            ["forest", "null", "None", "null", "null"]
        );
        assert_eq!(of(&["ZA", "NA", "BW"]), ["ZA", "NA", "BW"]);
    }
}
