//! Texts of values as DuckDB writes them, and bytes as it reads them.

use std::fmt::{Display, LowerExp};

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime};
use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::durations;
use super::engine_errors::refusal;
use super::nested_values::{ListRanges, build_result_field};
use super::scan::fault;
use super::struct_values;
use super::type_names::map_types;
use crate::error::Error;
use crate::text::PrintableLine;

/// Exponents of ten of the fractions that are written without a power of ten.
const PLAIN_POWERS: std::ops::Range<i32> = -4..16;

/// A function that writes the values of this type; `None` for types whose texts the engine writes
/// as DuckDB does.
pub(super) fn writer(dtype: &DataType) -> Option<UserDefinedFunction> {
    let write = texts_writer(dtype)?;
    let values = move |columns: &mut [Column]| write_texts(columns, write);
    Some(function("value_text", DataType::String, values))
}

fn write_texts(
    columns: &[Column],
    write: fn(&Column) -> PolarsResult<StringChunked>,
) -> PolarsResult<Column> {
    let [column] = columns else {
        return Err(refusal("a text is of one value"));
    };
    Ok(write(column)?
        .into_column()
        .with_name(column.name().clone()))
}

/// The texts of the values of a type; `None` for types whose texts are those of the engine.
fn texts_writer(dtype: &DataType) -> Option<fn(&Column) -> PolarsResult<StringChunked>> {
    Some(match dtype {
        DataType::Float32 => |column| {
            Ok(column
                .f32()?
                .apply_into_string_amortized(|number, text| text.push_str(&fraction_text(number))))
        },
        DataType::Float64 | DataType::Unknown(UnknownKind::Float) => |column| {
            let numbers = column.cast(&DataType::Float64)?;
            Ok(numbers
                .f64()?
                .apply_into_string_amortized(|number, text| text.push_str(&fraction_text(number))))
        },
        DataType::Datetime(_, None) => |column| times(column, ""),
        // Times with a zone are written in UTC.
        DataType::Datetime(_, Some(_)) => |column| times(column, "+00"),
        DataType::Date => |column| {
            let days = column.cast(&DataType::Int32)?;
            let text = |days: i32| NaiveDate::from_epoch_days(days).map(date_text);
            Ok(days.i32()?.iter().map(|days| days.and_then(text)).collect())
        },
        DataType::Time => |column| {
            let times = column
                .as_materialized_series()
                .to_physical_repr()
                .into_owned();
            Ok(times
                .i64()?
                .iter()
                .map(|nanos| nanos.and_then(time_of_day_text))
                .collect())
        },
        DataType::Duration(_) => |column| {
            Ok(durations::micros(column)?
                .iter()
                .map(|micros| micros.map(durations::text))
                .collect())
        },
        DataType::Binary => |column| {
            Ok(column
                .binary()?
                .iter()
                .map(|bytes| bytes.map(bytes_text))
                .collect())
        },
        DataType::List(_) | DataType::Struct(_) => {
            |column| Ok(texts_of(column)?.into_iter().collect())
        }
        _ => return None,
    })
}

/// The text of a time of day in nanoseconds; `None` beyond one day.
fn time_of_day_text(nanos: i64) -> Option<String> {
    let (seconds, rest) = (
        nanos.div_euclid(1_000_000_000),
        nanos.rem_euclid(1_000_000_000),
    );
    NaiveTime::from_num_seconds_from_midnight_opt(
        u32::try_from(seconds).ok()?,
        u32::try_from(rest).ok()?,
    )
    .map(time_text)
}

/// A function that reads texts as bytes, in which `\x41` is one byte; `is_try` makes a text that is
/// no bytes null.
pub(super) fn bytes_reader(is_try: bool) -> UserDefinedFunction {
    let values = move |columns: &mut [Column]| read_bytes_column(columns, is_try);
    function("bytes_of_text", DataType::Binary, values)
}

fn read_bytes_column(columns: &[Column], is_try: bool) -> PolarsResult<Column> {
    let [texts] = columns else {
        return Err(refusal("bytes are read from one text"));
    };
    let bytes = texts
        .str()?
        .iter()
        .map(|text| read_bytes(text, is_try))
        .collect::<PolarsResult<Vec<Option<Vec<u8>>>>>()?;
    Ok(bytes
        .into_iter()
        .collect::<BinaryChunked>()
        .into_column()
        .with_name(texts.name().clone()))
}

fn read_bytes(text: Option<&str>, is_try: bool) -> PolarsResult<Option<Vec<u8>>> {
    match text.map(|text| (text, bytes_of_text(text))) {
        Some((text, None)) if !is_try => {
            let error = Error::usage(format!(
                "the text '{}' cannot be read as a BLOB",
                text.printable_line()
            ));
            Err(fault(&error.hint(
                "write bytes that are not ASCII as \\xC3; TRY_CAST gives null for such texts",
            )))
        }
        read => Ok(read.and_then(|(_, bytes)| bytes)),
    }
}

fn function(
    name: &str,
    dtype: DataType,
    values: impl Fn(&mut [Column]) -> PolarsResult<Column> + Send + Sync + 'static,
) -> UserDefinedFunction {
    let field = move |_: &Schema, fields: &[Field]| Ok(build_result_field(fields, &dtype));
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

/// The texts of values of any type; `None` for null.
pub(super) fn texts_of(column: &Column) -> PolarsResult<Vec<Option<String>>> {
    match column.dtype() {
        DataType::List(_) => {
            let lists = ListRanges::from_column(column)?;
            if map_types(lists.elements.dtype()).is_some() {
                return map_texts(&lists);
            }
            let elements = texts_within(&lists.elements.clone().into_column())?;
            let text = |row: usize| Some(format!("[{}]", elements[lists.row(row)?].join(", ")));
            Ok((0..lists.len()).map(text).collect())
        }
        DataType::Struct(_) => {
            let structs = column.struct_()?;
            let known = column.is_not_null();
            let fields = structs.fields_as_series();
            let has_names = !struct_values::are_unnamed(&fields);
            let names: Vec<String> = fields
                .iter()
                .filter(|_| has_names)
                .map(|field| format!("'{}'", field.name()))
                .collect();
            let texts = fields
                .iter()
                .map(|field| texts_within(&field.clone().into_column()))
                .collect::<PolarsResult<Vec<_>>>()?;
            let text = |row: usize| {
                (known.get(row) == Some(true)).then(|| join_struct_text(&names, &texts, row))
            };
            Ok((0..column.len()).map(text).collect())
        }
        dtype => {
            let texts = match texts_writer(dtype) {
                Some(write) => write(column)?,
                None => column.cast(&DataType::String)?.str()?.clone(),
            };
            Ok(texts.iter().map(|text| text.map(str::to_owned)).collect())
        }
    }
}

/// The texts of maps: `{a=1, b=2}`.
fn map_texts(maps: &ListRanges) -> PolarsResult<Vec<Option<String>>> {
    let fields = maps.elements.struct_()?.fields_as_series();
    let parts = fields
        .iter()
        .map(|field| texts_within(&field.clone().into_column()))
        .collect::<PolarsResult<Vec<_>>>()?;
    let entry = |at: usize| format!("{}={}", parts[0][at], parts[1][at]);
    Ok((0..maps.len())
        .map(|row| maps.row(row))
        .map(|entries| Some(entries?.map(entry).collect::<Vec<_>>().join(", ")))
        .map(|entries| Some(format!("{{{}}}", entries?)))
        .collect())
}

/// The text of one struct, of the texts of its fields.
fn join_struct_text(names: &[String], texts: &[Vec<String>], row: usize) -> String {
    // The fields of `row(…)` have no names.
    if names.is_empty() {
        let values: Vec<&str> = texts.iter().map(|texts| texts[row].as_str()).collect();
        return format!("({})", values.join(", "));
    }
    let fields: Vec<String> = names
        .iter()
        .zip(texts)
        .map(|(name, texts)| format!("{name}: {}", texts[row]))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

/// The texts of values within a list or a struct.
fn texts_within(column: &Column) -> PolarsResult<Vec<String>> {
    let is_nested = matches!(column.dtype(), DataType::List(_) | DataType::Struct(_));
    Ok(texts_of(column)?
        .into_iter()
        .map(|text| quote_nested_text(text, is_nested))
        .collect())
}

/// The text of a value within a list or a struct; those of lists and structs have no quotes.
fn quote_nested_text(text: Option<String>, is_nested: bool) -> String {
    match text {
        None => "NULL".to_owned(),
        Some(text) if is_nested || !needs_quotes(&text) => text,
        Some(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// True for texts that a list would be read back from in another way.
fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.trim().len() < text.len()
        || text.contains(['[', ']', '{', '}', '(', ')', ',', ':', '=', '\'', '"', '\\'])
}

/// The shortest digits that are this number, with a power of ten where it is small or great.
fn fraction_text<F: Copy + Display + LowerExp + Into<f64>>(number: F) -> String {
    let wide: f64 = number.into();
    if wide.is_nan() {
        return if wide.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        }
        .to_owned();
    }
    if wide.is_infinite() {
        return if wide < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    match scientific
        .split_once('e')
        .and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?)))
    {
        Some((digits, power)) if !PLAIN_POWERS.contains(&power) => {
            format!(
                "{digits}e{}{:02}",
                if power < 0 { '-' } else { '+' },
                power.abs()
            )
        }
        _ => {
            let plain = number.to_string();
            if plain.contains('.') {
                plain
            } else {
                plain + ".0"
            }
        }
    }
}

/// Times with their dates.
fn times(column: &Column, zone: &'static str) -> PolarsResult<StringChunked> {
    let times = column.cast(&DataType::Datetime(TimeUnit::Microseconds, None))?;
    let times = times
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    Ok(times
        .i64()?
        .iter()
        .map(|micros| print_timestamp(micros?, zone))
        .collect())
}

fn print_timestamp(micros: i64, zone: &str) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros)?.naive_utc();
    Some(format!(
        "{} {}{zone}",
        date_text(time.date()),
        time_text(time.time())
    ))
}

/// A date, whose year has no sign: one before the year 1 is `(BC)`.
fn date_text(day: NaiveDate) -> String {
    let (year, month, of_month) = (day.year(), day.month(), day.day());
    match 1 - year {
        before @ 1.. => format!("{before:04}-{month:02}-{of_month:02} (BC)"),
        _ => format!("{year:04}-{month:02}-{of_month:02}"),
    }
}

/// A time of day: a fraction of a second without its last zeros.
fn time_text(time: NaiveTime) -> String {
    // Always with six digits, of which only those of the fraction are removed.
    let text = time.format("%H:%M:%S%.6f").to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Printable ASCII as it is, other bytes and quotation marks and backslashes as `\xC3`.
fn bytes_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' | b'\'' | b'"' => text.push_str(&format!("\\x{byte:02X}")),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02X}")),
        }
    }
    text
}

/// The bytes of a text; `None` for letters that are not ASCII and for incomplete escapes.
fn bytes_of_text(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'\\' {
            let (escape, after) = rest.split_at_checked(3)?;
            let digits = escape.strip_prefix(b"x")?;
            bytes.extend(hex::decode(digits).ok()?);
            rest = after;
        } else {
            bytes.push(Some(first).filter(u8::is_ascii)?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_the_texts_of_duckdb() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e300, "1e+300"),
            (0.0001, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "-nan"),
        ] {
            assert_eq!(fraction_text(number), text);
        }
        assert_eq!(
            ["0.1", "0.33333334", "123456.79", "1e+16"],
            [0.1, 1.0 / 3.0, 123_456.79, 1e16].map(fraction_text::<f32>)
        );
    }

    #[test]
    fn bytes_are_read_and_written() {
        assert_eq!(
            bytes_text(b"\x00\xff\"'\\ az~\x7f"),
            "\\x00\\xFF\\x22\\x27\\x5C az~\\x7F"
        );
        assert_eq!(bytes_of_text("\\x00\\xFFab"), Some(b"\x00\xffab".to_vec()));
        for text in ["é", "\\", "\\x4", "\\xzz", "\\n41"] {
            assert_eq!(bytes_of_text(text), None, "{text}");
        }
    }

    #[test]
    fn dates_and_times_have_the_texts_of_duckdb() {
        let day = |year: i32| NaiveDate::from_ymd_opt(year, 2, 3).expect("a day");
        assert_eq!(
            [2023, 1, 0, -43, 12_023].map(|year| date_text(day(year))),
            [
                "2023-02-03",
                "0001-02-03",
                "0001-02-03 (BC)",
                "0044-02-03 (BC)",
                "12023-02-03"
            ]
        );
        let time = |seconds: u32, nanos: u32| {
            NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos).expect("a time")
        };
        assert_eq!(
            [time(36_000, 0), time(5, 120_000_000), time(5, 1_999)].map(time_text),
            ["10:00:00", "00:00:05.12", "00:00:05.000001"]
        );
        let days = Column::new("d".into(), [19_391])
            .cast(&DataType::Date)
            .expect("days");
        assert_eq!(
            texts_of(&days).expect("texts"),
            [Some("2023-02-03".to_owned())]
        );
    }
}
