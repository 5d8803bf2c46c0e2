//! Texts as values of other types, as DuckDB's casts read them.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Timelike as _};
use polars::prelude::*;

use super::engine_errors::refusal;
use super::time_texts::{self, UnreadText};
use super::type_names::type_name;
use crate::text::PrintableLine;

/// The type as which texts are read that are cast to `to`; `None` for types that the engine reads
/// as DuckDB does.
pub(super) fn type_of_reading(to: &DataType) -> Option<DataType> {
    Some(match to {
        dtype if dtype.is_unsigned_integer() => DataType::UInt64,
        dtype if dtype.is_integer() => DataType::Int64,
        dtype if dtype.is_float() => DataType::Float64,
        DataType::Boolean | DataType::Date | DataType::Time | DataType::Decimal(..) => to.clone(),
        DataType::Datetime(..) => DataType::Datetime(TimeUnit::Microseconds, None),
        _ => return None,
    })
}

/// As [`read`], which fails for a text that is no such value unless `is_try`.
///
/// # Errors
/// As [`read`], and [`crate::error::Kind::Usage`] for the first such text.
pub(super) fn read_each(
    texts: &StringChunked,
    dtype: &DataType,
    is_try: bool,
) -> PolarsResult<Column> {
    let column = read(texts, dtype)?;
    if !is_try && column.null_count() > texts.null_count() {
        let nulls = column.is_null();
        let mut pairs = texts.iter().zip(nulls.iter());
        let failed = pairs
            .find_map(|(text, null)| text.filter(|_| null == Some(true)))
            .unwrap_or_default();
        return Err(no_value(failed, dtype));
    }
    Ok(column)
}

/// Texts as values of a type: BIGINT, UBIGINT, DOUBLE, DECIMAL, BOOLEAN, DATE, TIME or TIMESTAMP.
/// Null for texts that are no such value.
///
/// # Errors
/// A time that is one in DuckDB and can't be held here, or the error of the engine.
pub(super) fn read(texts: &StringChunked, dtype: &DataType) -> PolarsResult<Column> {
    let column = match dtype {
        DataType::Boolean => texts
            .iter()
            .map(|text| boolean(text?))
            .collect::<BooleanChunked>()
            .into_column(),
        DataType::UInt64 => texts
            .iter()
            .map(|text| parse_unsigned(text?))
            .collect::<UInt64Chunked>()
            .into_column(),
        DataType::Decimal(precision, scale) => {
            let numbers = texts
                .iter()
                .map(|text| read_decimal(text?, *precision, *scale))
                .collect::<Int128Chunked>();
            numbers
                .into_decimal_unchecked(*precision, *scale)
                .into_column()
        }
        DataType::Float64 => texts
            .iter()
            .map(|text| fraction(text?))
            .collect::<Float64Chunked>()
            .into_column(),
        DataType::Date => {
            let days = texts
                .iter()
                .map(|text| read_time(text, dtype, time_texts::date));
            let number = |day: NaiveDate| (day - NaiveDate::default()).num_days() as i32;
            let days = days
                .map(|day| Ok(day?.map(number)))
                .collect::<PolarsResult<Int32Chunked>>()?;
            days.into_series().cast(dtype)?.into_column()
        }
        DataType::Time => {
            let times = texts
                .iter()
                .map(|text| read_time(text, dtype, time_texts::time_of_day));
            times
                .map(|time| Ok(time?.map(nanoseconds_of_day)))
                .collect::<PolarsResult<Int64Chunked>>()?
                .into_time()
                .into_column()
        }
        DataType::Datetime(..) => {
            let times = texts
                .iter()
                .map(|text| read_time(text, dtype, time_texts::timestamp));
            let micros = |time: NaiveDateTime| time.and_utc().timestamp_micros();
            let micros = times
                .map(|time| Ok(time?.map(micros)))
                .collect::<PolarsResult<Int64Chunked>>()?;
            micros.into_series().cast(dtype)?.into_column()
        }
        _ => {
            let number = |text: &str| integer(text).and_then(|number| i64::try_from(number).ok());
            texts
                .iter()
                .map(|text| number(text?))
                .collect::<Int64Chunked>()
                .into_column()
        }
    };
    Ok(column)
}

/// The number of a text times `10^scale`; `None` for other texts and beyond the precision.
fn read_decimal(text: &str, precision: usize, scale: usize) -> Option<i128> {
    WrittenNumber::read(text)?
        .scale_to_integer(scale)
        .filter(|number| {
            10u128
                .checked_pow(precision as u32)
                .is_none_or(|end| number.unsigned_abs() < end)
        })
}

fn nanoseconds_of_day(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight()) * 1_000_000_000 + i64::from(time.nanosecond())
}

/// A text as a time; `None` for a text that is none.
fn read_time<T>(
    text: Option<&str>,
    dtype: &DataType,
    read: fn(&str) -> Result<T, UnreadText>,
) -> PolarsResult<Option<T>> {
    match text.map(read).transpose() {
        Err(UnreadText::NoValue) => Ok(None),
        Err(UnreadText::Beyond) => Err(refusal(out_of_range_message(
            text.unwrap_or_default(),
            &type_name(dtype),
        ))),
        Ok(time) => Ok(time),
    }
}

/// Says that a text is a time which can't be held here.
pub(super) fn out_of_range_message(text: &str, type_name: &str) -> String {
    let text = text.printable_line();
    format!(
        "the text '{text}' is a {type_name} that can't be held here: years go from -262143 to \
            262142, and infinity and 24:00 are none"
    )
}

/// Refuses a text that is no value of a type.
pub(super) fn no_value(text: &str, dtype: &DataType) -> PolarsError {
    refusal(format!(
        "the text '{}' is no {}; TRY_CAST gives null for such texts",
        text.printable_line(),
        type_name(dtype)
    ))
}

/// A number of floating point; digits may be grouped by `_`, and `inf` and `nan` are numbers.
pub(super) fn fraction(text: &str) -> Option<f64> {
    let text = text.trim();
    // DuckDB passes over a `+` before the number, so that `+-5` is one and `++5` is none.
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.starts_with('+') {
        return None;
    }
    match text.contains('_') {
        true if text
            .match_indices('_')
            .all(|(at, _)| is_between_digits(text, at)) =>
        {
            text.replace('_', "").parse().ok()
        }
        true => None,
        false => text.parse().ok(),
    }
}

fn is_between_digits(text: &str, at: usize) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    at > 0 && is_digit(text.as_bytes().get(at - 1)) && is_digit(text.as_bytes().get(at + 1))
}

/// A number with a fraction or a power of ten too, rounded with halves away from zero.
pub(super) fn integer(text: &str) -> Option<i128> {
    integer_with_radix(text).or_else(|| WrittenNumber::read(text)?.scale_to_integer(0))
}

/// `0x1F` or `0b101`.
fn integer_with_radix(text: &str) -> Option<i128> {
    let radix = match text.get(..2)? {
        "0x" | "0X" => 16,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let digits = &text[2..];
    let is_grouped = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    let plain = digits.replace('_', "");
    let is_plain = is_grouped && plain.bytes().all(|byte| byte.is_ascii_alphanumeric());
    i128::from_str_radix(&plain, radix)
        .ok()
        .filter(|_| is_plain)
}

/// An integer of a type without a sign: of the texts with a `-`, only those of zeros are one.
pub(super) fn parse_unsigned(text: &str) -> Option<u64> {
    let is_zeros = |digits: &str| digits.bytes().all(|byte| byte == b'0');
    match text.trim_start().strip_prefix('-') {
        Some(digits) if !is_zeros(digits) => None,
        _ => u64::try_from(integer(text)?).ok(),
    }
}

/// The digit at a place; 0 before and behind the digits.
fn digit_at(digits: &str, at: i64) -> i128 {
    usize::try_from(at)
        .ok()
        .and_then(|at| digits.as_bytes().get(at))
        .map_or(0, |byte| i128::from(byte - b'0'))
}

/// A number as a text has it: a sign, digits that `_` may group, a point and a power of ten. DuckDB
/// reads a sign with spaces behind it as 0, and spaces in place of a power as well.
#[derive(Default)]
struct WrittenNumber {
    is_negative: bool,
    whole: String,
    fraction: String,
    power: i16,
}

impl WrittenNumber {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let (is_negative, rest) = split_sign(text);
        if rest.len() < text.len() && is_spaces(rest) {
            return Some(Self::default());
        }
        let (whole, rest) = grouped_digits(rest);
        let (fraction, rest) = rest
            .strip_prefix('.')
            .map_or_else(|| (String::new(), rest), grouped_digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (power, rest) = match rest.strip_prefix(['e', 'E']) {
            Some(power) => power_of_ten(power)?,
            None => (0, rest),
        };
        rest.trim().is_empty().then_some(Self {
            is_negative,
            whole,
            fraction,
            power,
        })
    }

    /// The number times `10^digits`, rounded with halves away from zero; `None` beyond 128 bits.
    fn scale_to_integer(&self, digits: usize) -> Option<i128> {
        let all = format!("{}{}", self.whole, self.fraction);
        let all = all.trim_start_matches('0');
        // Where the digits before the point end.
        let end = i64::try_from(all.len() + digits).ok()?
            - i64::try_from(self.fraction.len()).ok()?
            + i64::from(self.power);
        let mut number: i128 = 0;
        for at in 0..if all.is_empty() { 0 } else { end } {
            number = number.checked_mul(10)?.checked_add(digit_at(all, at))?;
        }
        let rounded = number + i128::from(digit_at(all, end) >= 5);
        Some(if self.is_negative { -rounded } else { rounded })
    }
}

/// True for a text with a sign `-`, and what follows the sign.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The digits at the beginning of a text without the `_` that group them, and what follows them.
fn grouped_digits(text: &str) -> (String, &str) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_mark =
        |at: usize| bytes.get(at) == Some(&b'_') && at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let end = (0..bytes.len())
        .find(|at| !is_digit(*at) && !is_mark(*at))
        .unwrap_or(bytes.len());
    (text[..end].replace('_', ""), &text[end..])
}

/// A power of ten after its `e`, and what follows it.
fn power_of_ten(text: &str) -> Option<(i16, &str)> {
    let (is_negative, rest) = split_sign(text);
    let (digits, rest) = grouped_digits(rest);
    if digits.is_empty() {
        return is_spaces(rest).then_some((0, rest));
    }
    let sign = if is_negative { "-" } else { "" };
    Some((
        format!("{sign}{digits}").parse().ok()?,
        rest.strip_prefix('.').unwrap_or(rest),
    ))
}

fn is_spaces(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}

/// `true`, `t`, `yes`, `y`, `1` and their opposites in any case, without spaces around them.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
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
            (".1_5e1.", Some(2)),
            ("- ", Some(0)),
            (" + ", Some(0)),
            ("5e ", Some(5)),
            ("5e- ", Some(5)),
            ("0e999", Some(0)),
            ("_0", None),
            ("1_", None),
            ("1__0", None),
            ("1_.5", None),
            ("+-5", None),
            ("-", None),
            ("5e", None),
            ("5e1.5", None),
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
    fn texts_are_unsigned_fractional_and_decimal_numbers() {
        assert_eq!(
            ["5", "-0", "-00", "-0.0", "- ", "-1"].map(parse_unsigned),
            [Some(5), Some(0), Some(0), None, None, None]
        );
        assert_eq!(
            ["+-5", " 1_0.5 ", "++5", "1_.5"].map(fraction),
            [Some(-5.0), Some(10.5), None, None]
        );
        let texts = StringChunked::from_iter(["  1. ", "0.005", "-1_0.494", "99.995", "1e1", "-"]);
        let numbers = read(&texts, &DataType::Decimal(4, 2)).expect("numbers");
        let digits: Vec<_> = numbers
            .decimal()
            .expect("decimal numbers")
            .physical()
            .iter()
            .collect();
        assert_eq!(
            digits,
            [Some(100), Some(1), Some(-1049), None, Some(1000), None]
        );
    }

    #[test]
    fn texts_are_truth_values() {
        assert_eq!(
            (boolean("T"), boolean("no"), boolean("on"), boolean(" t")),
            (Some(true), Some(false), None, None)
        );
    }
}
