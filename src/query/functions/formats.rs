//! `format` with fields in braces, and `printf` with fields after `%`.

use polars::prelude::*;

use super::{LastRead, ScalarFunction, of_doubles, of_wholes, scalar, text, texts_column};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{broadcast_row, cast_to, row_count};
use crate::query::type_names::type_name;
use crate::text::PrintableLine;

/// Characters of a bar without a width.
const BAR_WIDTH: f64 = 80.0;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("format", (1, 100), text, |columns| {
        format_rows(columns, brace_parts)
    }),
    scalar("printf", (1, 100), text, |columns| {
        format_rows(columns, percent_parts)
    }),
    scalar("bar", (3, 3), text, |columns| {
        Ok(texts_column(of_doubles(
            columns,
            |[value, least, most]| draw_bar([value, least, most, BAR_WIDTH]),
        )?))
    }),
    scalar("bar_of_width", (4, 4), text, |columns| {
        Ok(texts_column(of_doubles(columns, draw_bar)?))
    }),
    scalar("format_bytes", (1, 1), text, |columns| {
        sizes(columns, 1024, &BINARY_UNITS)
    }),
    scalar("formatreadabledecimalsize", (1, 1), text, |columns| {
        sizes(columns, 1000, &DECIMAL_UNITS)
    }),
];

/// A bar of so many characters, filled up to the value between the least and the most, in eighths
/// of a character.
fn draw_bar([value, least, most, width]: [f64; 4]) -> PolarsResult<Option<String>> {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if !(1.0..=1000.0).contains(&width) || [value, least, most].iter().any(|x| !x.is_finite()) {
        return Err(refusal(
            "bar takes finite numbers, and a width from 1 to 1000",
        ));
    }
    let share = ((value - least) / (most - least)).clamp(0.0, 1.0);
    let eighths = if share.is_nan() {
        0
    } else {
        (width.trunc() * share * 8.0) as usize
    };
    let width = width as usize;
    let mut bar = "█".repeat(eighths / 8);
    if eighths / 8 < width {
        bar.push(EIGHTHS[eighths % 8]);
        bar.push_str(&" ".repeat(width - eighths / 8 - 1));
    }
    Ok(Some(bar))
}

const BINARY_UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL_UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];

/// Numbers of bytes as people read them.
fn sizes(columns: &[Column], base: u64, units: &[&str]) -> PolarsResult<Column> {
    Ok(texts_column(of_wholes(columns, |[bytes]| {
        Ok(Some(size_text(bytes, base, units)))
    })?))
}

/// A number of bytes with one digit behind the point, which is cut, not rounded.
fn size_text(bytes: i64, base: u64, units: &[&str]) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    let bytes = bytes.unsigned_abs();
    if bytes < base {
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        return format!("{sign}{bytes} {unit}");
    }
    let (mut divisor, mut names) = (base, units.iter());
    let mut unit = names.next().copied().unwrap_or_default();
    for larger in names {
        if bytes / divisor < base {
            break;
        }
        divisor *= base;
        unit = larger;
    }
    let tenth = u128::from(bytes % divisor) * 10 / u128::from(divisor);
    format!("{sign}{}.{tenth} {unit}", bytes / divisor)
}

/// Widest field and most digits, so that a mistaken number takes no memory.
const WIDTH_MAX: usize = 10_000;

#[derive(Clone, Debug, PartialEq)]
enum FormatPart {
    Text(String),
    /// The argument with this number.
    Field(usize, Field),
}

/// How a value is written.
#[derive(Clone, Debug, Default, PartialEq)]
struct Field {
    fill: Option<char>,
    align: Option<char>,
    /// `+` or blank before numbers that are not negative.
    sign: Option<char>,
    alternate: bool,
    zeros: bool,
    width: usize,
    /// Between groups of three digits.
    separator: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

fn fault(what: &str) -> PolarsError {
    refusal(format!("format: {what}"))
}

fn number(letters: &mut std::iter::Peekable<std::str::Chars>) -> PolarsResult<Option<usize>> {
    let mut number = None;
    while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
        letters.next();
        let next = number.unwrap_or(0) * 10 + digit as usize;
        if next > WIDTH_MAX {
            return Err(fault("a width is too large"));
        }
        number = Some(next);
    }
    Ok(number)
}

/// The parts of a format as `{}`, `{0}` or `{:>8.2f}`.
fn brace_parts(format: &str) -> PolarsResult<Vec<FormatPart>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut next = 0;
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if letters.next_if_eq(&letter).is_some() => text.push(letter),
            '}' => return Err(fault("a } has no {")),
            '{' => {
                parts.push(FormatPart::Text(std::mem::take(&mut text)));
                let place = number(&mut letters)?.unwrap_or_else(|| {
                    next += 1;
                    next - 1
                });
                let mut field = Field::default();
                if letters.next_if_eq(&':').is_some() {
                    field = brace_field(&mut letters)?;
                }
                if letters.next() != Some('}') {
                    return Err(fault("a field is written {}, {0} or {:.2f}"));
                }
                parts.push(FormatPart::Field(place, field));
            }
            letter => text.push(letter),
        }
    }
    parts.push(FormatPart::Text(text));
    Ok(parts)
}

/// `[[fill]align][sign][#][0][width][separator][.precision][type]`
fn brace_field(letters: &mut std::iter::Peekable<std::str::Chars>) -> PolarsResult<Field> {
    let mut field = Field::default();
    let is_align = |letter: char| matches!(letter, '<' | '>' | '^');
    let mut ahead = letters.clone();
    if let (Some(fill), Some(align)) = (
        ahead.next(),
        ahead.next().filter(|letter| is_align(*letter)),
    ) {
        (field.fill, field.align) = (Some(fill), Some(align));
        *letters = ahead;
    } else {
        field.align = letters.next_if(|letter| is_align(*letter));
    }
    field.sign = letters
        .next_if(|letter| matches!(letter, '+' | '-' | ' '))
        .filter(|sign| *sign != '-');
    field.alternate = letters.next_if_eq(&'#').is_some();
    field.zeros = letters.next_if_eq(&'0').is_some();
    field.width = number(letters)?.unwrap_or(0);
    field.separator = letters.next_if(|letter| matches!(letter, ',' | '_' | '\''));
    if letters.next_if_eq(&'t').is_some() {
        field.separator = letters.next();
    }
    if letters.next_if_eq(&'.').is_some() {
        field.precision =
            Some(number(letters)?.ok_or_else(|| fault("a number follows the point of a field"))?);
    }
    field.kind = letters.next_if(|letter| letter.is_ascii_alphabetic());
    Ok(field)
}

/// The parts of a format as `%d`, `%05.2f` or `%-10s`.
fn percent_parts(format: &str) -> PolarsResult<Vec<FormatPart>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut next = 0;
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        if letters.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        parts.push(FormatPart::Text(std::mem::take(&mut text)));
        let mut field = Field::default();
        while let Some(flag) = letters
            .next_if(|letter| matches!(letter, '-' | '+' | ' ' | '#' | '0' | ',' | '_' | '\''))
        {
            match flag {
                '-' => field.align = Some('<'),
                '#' => field.alternate = true,
                '0' => field.zeros = true,
                ',' | '_' | '\'' => field.separator = Some(flag),
                sign => field.sign = Some(sign),
            }
        }
        field.width = number(&mut letters)?.unwrap_or(0);
        if letters.next_if_eq(&'.').is_some() {
            field.precision = Some(number(&mut letters)?.unwrap_or(0));
        }
        while letters
            .next_if(|letter| matches!(letter, 'l' | 'h'))
            .is_some()
        {}
        let kind = letters.next().ok_or_else(|| fault("a letter follows %"))?;
        field.kind = Some(if kind == 'i' || kind == 'u' {
            'd'
        } else {
            kind
        });
        field.align = field.align.or(Some('>'));
        parts.push(FormatPart::Field(next, field));
        next += 1;
    }
    parts.push(FormatPart::Text(text));
    Ok(parts)
}

fn format_rows(
    columns: &[Column],
    parts_of: fn(&str) -> PolarsResult<Vec<FormatPart>>,
) -> PolarsResult<Column> {
    let formats = cast_to(&columns[0], &DataType::String)?;
    let formats = formats.str()?;
    let mut read = LastRead::default();
    let mut texts = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        texts.push(match formats.get(broadcast_row(formats.len(), row)) {
            Some(format) => format_row(columns, read.get_or_read(format, parts_of)?, row)?,
            None => None,
        });
    }
    Ok(texts_column(texts))
}

/// The text of one row; `None` where a value of a field is null.
fn format_row(
    columns: &[Column],
    parts: &[FormatPart],
    row: usize,
) -> PolarsResult<Option<String>> {
    let mut text = String::new();
    for part in parts {
        match part {
            FormatPart::Text(part) => text.push_str(part),
            FormatPart::Field(place, field) => {
                let column = columns
                    .get(place + 1)
                    .ok_or_else(|| fault("there are fewer values than fields"))?;
                let value = column.get(broadcast_row(column.len(), row))?;
                if value.is_null() {
                    return Ok(None);
                }
                text.push_str(&field_text(&value, field)?);
            }
        }
    }
    Ok(Some(text))
}

/// A value as its field writes it.
fn field_text(value: &AnyValue, field: &Field) -> PolarsResult<String> {
    let dtype = value.dtype();
    let kind = field.kind;
    let whole = || value.extract::<i128>();
    let is_number = dtype.is_numeric();
    let (negative, digits) = match kind {
        Some('s') | None if !is_number => {
            let text = match value {
                AnyValue::Boolean(truth) => truth.to_string(),
                other => other.str_value().into_owned(),
            };
            let text: String = match field.precision {
                Some(length) => text.chars().take(length).collect(),
                None => text,
            };
            return Ok(in_width(&text, field, '<'));
        }
        None | Some('s') if dtype.is_integer() => {
            of_whole(whole(), field, |number| number.to_string())
        }
        None | Some('s') => {
            let number = value.extract::<f64>().unwrap_or(f64::NAN);
            let text = match field.precision {
                Some(digits) => general(number.abs(), digits),
                None => plain_double(number.abs()),
            };
            (number.is_sign_negative() && !number.is_nan(), text)
        }
        Some('d') if dtype.is_integer() || dtype.is_bool() => {
            of_whole(whole(), field, |number| number.to_string())
        }
        Some('x') if dtype.is_integer() => of_whole(whole(), field, |number| {
            format!("{}{number:x}", prefix(field, "0x"))
        }),
        Some('X') if dtype.is_integer() => of_whole(whole(), field, |number| {
            format!("{}{number:X}", prefix(field, "0X"))
        }),
        Some('o') if dtype.is_integer() => of_whole(whole(), field, |number| {
            format!("{}{number:o}", prefix(field, "0"))
        }),
        Some('b' | 'B') if dtype.is_integer() => of_whole(whole(), field, |number| {
            format!("{}{number:b}", prefix(field, "0b"))
        }),
        Some('c') if dtype.is_integer() => {
            let letter = whole()
                .and_then(|number| char::from_u32(u32::try_from(number).ok()?))
                .ok_or_else(|| refuse_letter('c', &dtype))?;
            return Ok(in_width(&letter.to_string(), field, '<'));
        }
        Some(kind @ ('f' | 'F' | 'e' | 'E' | 'g' | 'G')) if is_number => {
            let number = value.extract::<f64>().unwrap_or(f64::NAN);
            let digits = field.precision.unwrap_or(6);
            let text = match kind {
                'f' | 'F' => format_fixed(number.abs(), digits),
                'e' | 'E' => exponential(number.abs(), digits),
                _ => general(number.abs(), digits),
            };
            let text = if kind.is_ascii_uppercase() {
                text.to_uppercase()
            } else {
                text
            };
            (number.is_sign_negative() && !number.is_nan(), text)
        }
        Some(kind) => return Err(refuse_letter(kind, &dtype)),
    };
    let digits = match field.separator {
        Some(separator) => group_thousands(&digits, separator),
        None => digits,
    };
    let sign = if negative {
        "-".to_owned()
    } else {
        field.sign.map_or_else(String::new, |sign| sign.to_string())
    };
    if field.zeros && field.align.is_none_or(|align| align == '>') && field.fill.is_none() {
        let zeros = field
            .width
            .saturating_sub(sign.chars().count() + digits.chars().count());
        return Ok(format!("{sign}{}{digits}", "0".repeat(zeros)));
    }
    Ok(in_width(&format!("{sign}{digits}"), field, '>'))
}

fn refuse_letter(kind: char, dtype: &DataType) -> PolarsError {
    fault(&format!(
        "the letter {} does not write {}",
        kind.to_string().printable_line(),
        type_name(dtype)
    ))
}

fn prefix(field: &Field, text: &'static str) -> &'static str {
    if field.alternate { text } else { "" }
}

/// Sign and digits of an integer.
fn of_whole(
    number: Option<i128>,
    field: &Field,
    digits: impl Fn(u128) -> String,
) -> (bool, String) {
    let number = number.unwrap_or(0);
    let digits = digits(number.unsigned_abs());
    let zeros = field.precision.unwrap_or(0).saturating_sub(digits.len());
    (number < 0, format!("{}{digits}", "0".repeat(zeros)))
}

fn in_width(text: &str, field: &Field, side: char) -> String {
    let room = field.width.saturating_sub(text.chars().count());
    let fill = |count: usize| field.fill.unwrap_or(' ').to_string().repeat(count);
    match field.align.unwrap_or(side) {
        '<' => format!("{text}{}", fill(room)),
        '^' => format!("{}{text}{}", fill(room / 2), fill(room - room / 2)),
        _ => format!("{}{text}", fill(room)),
    }
}

/// The digits before the point in groups of three.
fn group_thousands(digits: &str, separator: char) -> String {
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text + rest
}

fn special(number: f64) -> Option<String> {
    if number.is_nan() {
        Some("nan".to_owned())
    } else if number.is_infinite() {
        Some("inf".to_owned())
    } else {
        None
    }
}

fn format_fixed(number: f64, digits: usize) -> String {
    special(number).unwrap_or_else(|| format!("{number:.digits$}"))
}

/// `1.5e+10`, with two digits of the power at least.
fn exponential(number: f64, digits: usize) -> String {
    special(number).unwrap_or_else(|| {
        let text = format!("{number:.digits$e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power
            .strip_prefix('-')
            .map_or(('+', power), |power| ('-', power));
        format!("{digits}e{sign}{power:0>2}")
    })
}

/// The shorter of both forms, without zeros at the end.
fn general(number: f64, digits: usize) -> String {
    if let Some(text) = special(number) {
        return text;
    }
    let digits = digits.max(1);
    let power = if number == 0.0 {
        0
    } else {
        exponential(number, digits - 1)
            .split_once('e')
            .and_then(|(_, power)| power.parse().ok())
            .unwrap_or(0i64)
    };
    let text = if power < -4 || power >= digits as i64 {
        exponential(number, digits - 1)
    } else {
        format_fixed(number, (digits as i64 - 1 - power).max(0) as usize)
    };
    let (digits, power) = text
        .split_once('e')
        .map_or((text.as_str(), None), |(digits, power)| {
            (digits, Some(power))
        });
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    match power {
        Some(power) => format!("{digits}e{power}"),
        None => digits.to_owned(),
    }
}

/// The shortest digits that give the number, as `{}` writes them.
fn plain_double(number: f64) -> String {
    special(number).unwrap_or_else(|| {
        let text = format!("{number:e}");
        let power: i64 = text
            .split_once('e')
            .and_then(|(_, power)| power.parse().ok())
            .unwrap_or(0);
        if (-5..16).contains(&power) {
            return format!("{number:?}");
        }
        let (digits, _) = text.split_once('e').unwrap_or((&text, ""));
        let sign = if power < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:0>2}", power.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_duckdb() {
        for (bytes, binary, decimal) in [
            (0, "0 bytes", "0 bytes"),
            (1, "1 byte", "1 byte"),
            (1023, "1023 bytes", "1.0 kB"),
            (1_048_575, "1023.9 KiB", "1.0 MB"),
            (123_456_789, "117.7 MiB", "123.4 MB"),
            (-2048, "-2.0 KiB", "-2.0 kB"),
            (i64::MAX, "8191.9 PiB", "9223.3 PB"),
        ] {
            assert_eq!(size_text(bytes, 1024, &BINARY_UNITS), binary);
            assert_eq!(size_text(bytes, 1000, &DECIMAL_UNITS), decimal);
        }
    }

    #[test]
    fn parts_are_texts_and_fields() {
        let parts = brace_parts("{{a}} {:>5.2f}{0}").expect("parts");
        let field = Field {
            align: Some('>'),
            width: 5,
            precision: Some(2),
            kind: Some('f'),
            ..Field::default()
        };
        assert_eq!(
            parts[..2],
            [FormatPart::Text("{a} ".into()), FormatPart::Field(0, field)]
        );
        assert!(
            brace_parts("{").is_err()
                && brace_parts("}").is_err()
                && brace_parts("{:99999}").is_err()
        );
    }

    #[test]
    fn numbers_are_written_as_printf_writes_them() {
        assert_eq!(
            [
                general(100_000.0, 6),
                general(1_000_000.0, 6),
                general(0.000_01, 6),
                general(0.0, 6)
            ],
            ["100000", "1e+06", "1e-05", "0"]
        );
        assert_eq!(
            [exponential(0.0, 2), exponential(123.0, 1)],
            ["0.00e+00", "1.2e+02"]
        );
        assert_eq!(group_thousands("1234567.8912", ','), "1,234,567.8912");
    }
}
