//! Formats cells as text for users, and as JSON.

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono::DateTime;
use serde_json::{Value as Json, json};

use super::wkb::decode_f64;
use super::{value_at, wkb_bounds};
use crate::model::Value;

/// Maximum number of bytes shown of a binary cell.
const BYTES_SHOWN: usize = 24;

/// The cell at `row` of `array` as text; empty for null. WKB points are shown as `POINT (x y)`,
/// other geometries as their kind and box, such as `POLYGON (west south, east north)`, structs and
/// maps as `{name: value, …}`.
pub fn cell_text(array: &ArrayRef, row: usize) -> String {
    if row >= array.len() || array.is_null(row) {
        return String::new();
    }
    let value = value_at(array, row);
    match &value {
        Value::Other(one) => nested_text(one).unwrap_or_else(|| {
            let options = FormatOptions::default();
            ArrayFormatter::try_new(one.as_ref(), &options)
                .map_or(String::new(), |text| text.value(0).to_string())
        }),
        plain => value_text(plain, array.data_type()),
    }
}

/// A value of type `dtype` as text; empty for null.
pub fn value_text(value: &Value, dtype: &DataType) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => match dtype {
            DataType::Timestamp(unit, _) => timestamp_text(*value, unit),
            _ => day_or_time_text(*value, dtype).unwrap_or_else(|| value.to_string()),
        },
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => number_text(*value, dtype),
        Value::Text(text) => text.to_string(),
        Value::Bytes(bytes) => bytes_text(bytes),
        Value::List(items) => {
            let inner = match dtype {
                DataType::List(item) => item.data_type().clone(),
                _ => DataType::Null,
            };
            let items: Vec<String> = items
                .iter()
                .map(|item| {
                    if item.is_null() {
                        "null".into()
                    } else {
                        value_text(item, &inner)
                    }
                })
                .collect();
            format!("[{}]", items.join(", "))
        }
        Value::Other(array) => cell_text(array, 0),
    }
}

fn number_text(value: f64, dtype: &DataType) -> String {
    match dtype {
        // The shortest text that parses to the same float32.
        DataType::Float32 => (value as f32).to_string(),
        _ => value.to_string(),
    }
}

fn instant(value: i64, unit: &TimeUnit) -> Option<DateTime<chrono::Utc>> {
    match unit {
        TimeUnit::Second => DateTime::from_timestamp(value, 0),
        TimeUnit::Millisecond => DateTime::from_timestamp_millis(value),
        TimeUnit::Microsecond => DateTime::from_timestamp_micros(value),
        TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(value)),
    }
}

fn timestamp_text(value: i64, unit: &TimeUnit) -> String {
    instant(value, unit).map_or_else(
        || value.to_string(),
        |time| time.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
    )
}

fn date_text(days: i64) -> String {
    let seconds = days.checked_mul(86_400);
    seconds
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .map_or_else(
            || days.to_string(),
            |time| time.format("%Y-%m-%d").to_string(),
        )
}

fn bytes_text(bytes: &[u8]) -> String {
    if let Some((x, y)) = wkb_point(bytes) {
        return format!("POINT ({x} {y})");
    }
    if let Some((kind, [west, south, east, north])) = geometry_kind(bytes).zip(wkb_bounds(bytes)) {
        return format!("{kind} ({west} {south}, {east} {north})");
    }
    let shown = hex::encode(&bytes[..bytes.len().min(BYTES_SHOWN)]);
    if bytes.len() > BYTES_SHOWN {
        format!("{shown}… {} bytes", bytes.len())
    } else {
        shown
    }
}

/// Name of the geometry in WKB, of any dimension.
fn geometry_kind(bytes: &[u8]) -> Option<&'static str> {
    let (&order, rest) = bytes.split_first()?;
    let kind: [u8; 4] = rest.get(..4)?.try_into().ok()?;
    let kind = match order {
        0 => u32::from_be_bytes(kind),
        1 => u32::from_le_bytes(kind),
        _ => return None,
    };
    // ISO adds thousands for Z and M, PostGIS sets high bits.
    let names = [
        "POINT",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
    ];
    names
        .get(((kind & 0x0fff_ffff) % 1000).checked_sub(1)? as usize)
        .copied()
}

/// Coordinates (x, y) of a WKB point in either byte order, or of `POINT (x y)`, as older
/// generations store points.
pub fn wkb_point(bytes: &[u8]) -> Option<(f64, f64)> {
    if bytes.starts_with(b"POINT") {
        return wkt_point(std::str::from_utf8(bytes).ok()?);
    }
    let bytes: &[u8; 21] = bytes.try_into().ok()?;
    let little = match bytes[0] {
        1 => true,
        0 => false,
        _ => return None,
    };
    let kind: [u8; 4] = bytes[1..5].try_into().ok()?;
    let kind = if little {
        u32::from_le_bytes(kind)
    } else {
        u32::from_be_bytes(kind)
    };
    let (x, y) = (
        bytes[5..13].try_into().ok()?,
        bytes[13..21].try_into().ok()?,
    );
    (kind == 1).then(|| (decode_f64(x, little), decode_f64(y, little)))
}

fn wkt_point(text: &str) -> Option<(f64, f64)> {
    let inside = text
        .strip_prefix("POINT")?
        .trim()
        .strip_prefix('(')?
        .strip_suffix(')')?;
    let mut numbers = inside.split_whitespace().map(str::parse);
    let (x, y) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    numbers.next().is_none().then_some((x, y))
}

/// The cell as JSON: numbers, lists, structs and maps as such, dates, times and durations as ISO
/// 8601 (an instant with its offset or `Z`, a duration as `P1DT2H3M4.5S`), binary as hexadecimal
/// digits; NaN and infinities as the strings `NaN`, `inf` and `-inf`.
pub fn cell_json(array: &ArrayRef, row: usize) -> Json {
    if row >= array.len() || array.is_null(row) {
        return Json::Null;
    }
    value_json(&value_at(array, row), array.data_type())
}

/// A list, struct or map of one row as text; `None` for other types.
fn nested_text(one: &ArrayRef) -> Option<String> {
    Some(match one.data_type() {
        DataType::Struct(_) => {
            let one = one.as_struct();
            let named = one.column_names().into_iter().zip(one.columns());
            let parts: Vec<String> = named
                .map(|(name, cell)| format!("{name}: {}", format_element(cell, 0)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        DataType::List(_) => format_elements(&one.as_list::<i32>().value(0)),
        DataType::LargeList(_) => format_elements(&one.as_list::<i64>().value(0)),
        DataType::FixedSizeList(..) => format_elements(&one.as_fixed_size_list().value(0)),
        DataType::Map(..) => {
            let entries = one.as_map().value(0);
            let [keys, values] = entries.columns() else {
                return None;
            };
            let parts: Vec<String> = (0..entries.len())
                .map(|row| {
                    format!(
                        "{}: {}",
                        format_element(keys, row),
                        format_element(values, row)
                    )
                })
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        _ => return None,
    })
}

fn format_element(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        "null".to_owned()
    } else {
        cell_text(array, row)
    }
}

/// The elements of one list in brackets.
fn format_elements(values: &ArrayRef) -> String {
    let parts: Vec<String> = (0..values.len())
        .map(|row| format_element(values, row))
        .collect();
    format!("[{}]", parts.join(", "))
}

/// A line of a cell: its depth within the structs that hold it, its name, and its text, empty for
/// what has lines below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellLine {
    /// Number of structs, maps and lists around it.
    pub depth: usize,
    /// Name of the column, field or key, or index in a list, from 0.
    pub name: String,
    /// The value; `None` for null.
    pub text: Option<String>,
}

/// A cell as one line per value: structs, maps and lists of such are unfolded, at most `most`
/// lines. Lists of plain values are one line.
pub fn cell_lines(name: &str, array: &ArrayRef, row: usize, most: usize) -> Vec<CellLine> {
    let mut lines = Vec::new();
    push_lines(&mut lines, 0, name.to_owned(), array, row, most);
    lines
}

fn push_lines(
    lines: &mut Vec<CellLine>,
    depth: usize,
    name: String,
    array: &ArrayRef,
    row: usize,
    most: usize,
) {
    if lines.len() >= most {
        return;
    }
    if row >= array.len() || array.is_null(row) {
        return lines.push(CellLine {
            depth,
            name,
            text: None,
        });
    }
    let mut below: Vec<(String, ArrayRef, usize)> = Vec::new();
    match array.data_type() {
        DataType::Struct(_) => {
            let one = array.as_struct();
            below.extend(
                one.column_names()
                    .into_iter()
                    .zip(one.columns())
                    .map(|(name, cell)| (name.to_owned(), cell.clone(), row)),
            );
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            if let [keys, values] = entries.columns() {
                below.extend(
                    (0..entries.len().min(most))
                        .map(|at| (cell_text(keys, at), values.clone(), at)),
                );
            }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)
            if item.data_type().is_nested() =>
        {
            let values = match array.data_type() {
                DataType::List(_) => array.as_list::<i32>().value(row),
                DataType::LargeList(_) => array.as_list::<i64>().value(row),
                _ => array.as_fixed_size_list().value(row),
            };
            below
                .extend((0..values.len().min(most)).map(|at| (at.to_string(), values.clone(), at)));
        }
        _ => {}
    }
    if below.is_empty() {
        return lines.push(CellLine {
            depth,
            name,
            text: Some(cell_text(array, row)),
        });
    }
    lines.push(CellLine {
        depth,
        name,
        text: Some(String::new()),
    });
    for (name, cell, row) in below {
        push_lines(lines, depth + 1, name, &cell, row, most);
    }
}

/// A list, struct or map of one row as JSON; any other value as text.
fn nested_json(one: &ArrayRef) -> Json {
    let plain =
        |dtype: &DataType| cast(one, dtype).map_or(Json::Null, |values| cell_json(&values, 0));
    match one.data_type() {
        DataType::Struct(_) => {
            let one = one.as_struct();
            one.column_names()
                .into_iter()
                .zip(one.columns())
                .map(|(name, cell)| (name.to_owned(), cell_json(cell, 0)))
                .collect()
        }
        DataType::List(_) => encode_elements(&one.as_list::<i32>().value(0)),
        DataType::LargeList(_) => encode_elements(&one.as_list::<i64>().value(0)),
        DataType::FixedSizeList(..) => encode_elements(&one.as_fixed_size_list().value(0)),
        DataType::Map(..) => map_json(&one.as_map().value(0)),
        DataType::Dictionary(_, values) => plain(values),
        DataType::Float16 => plain(&DataType::Float32),
        _ => json!(cell_text(one, 0)),
    }
}

/// The elements of one list as JSON.
fn encode_elements(values: &ArrayRef) -> Json {
    (0..values.len())
        .map(|row| cell_json(values, row))
        .collect()
}

/// A map as a JSON object when its keys are distinct texts, else as a list of pairs.
fn map_json(entries: &StructArray) -> Json {
    let [keys, values] = entries.columns() else {
        return Json::Null;
    };
    let pairs = || (0..entries.len()).map(|row| (cell_json(keys, row), cell_json(values, row)));
    let named = || pairs().map(|(key, value)| key.as_str().map(|key| (key.to_owned(), value)));
    match named().collect::<Option<serde_json::Map<String, Json>>>() {
        Some(object) if object.len() == entries.len() => Json::Object(object),
        _ => Json::Array(pairs().map(|(key, value)| json!([key, value])).collect()),
    }
}

/// A time of day, `12:34:56.5`.
fn clock_text(value: i64, dtype: &DataType) -> Option<String> {
    let per_second = match dtype {
        DataType::Time32(TimeUnit::Second) => 1,
        DataType::Time32(_) => 1_000,
        DataType::Time64(TimeUnit::Microsecond) => 1_000_000,
        DataType::Time64(_) => 1_000_000_000,
        _ => return None,
    };
    let seconds = u32::try_from(value.div_euclid(per_second)).ok()?;
    let nanos = u32::try_from(value.rem_euclid(per_second) * (1_000_000_000 / per_second)).ok()?;
    Some(
        chrono::NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos)?
            .format("%H:%M:%S%.f")
            .to_string(),
    )
}

/// A duration in ISO 8601, `P1DT2H3M4.5S`: days of 24 hours and no longer units, no zeros, a sign
/// before the whole. 0 is `PT0S`.
pub fn duration_text(value: i64, unit: &TimeUnit) -> String {
    let per_second: u64 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (whole, part) = (
        value.unsigned_abs() / per_second,
        value.unsigned_abs() % per_second,
    );
    let mut text = String::from(if value < 0 { "-P" } else { "P" });
    let days = whole / 86_400;
    if days > 0 {
        text.push_str(&format!("{days}D"));
    }
    let (hours, minutes, seconds) = (whole / 3600 % 24, whole / 60 % 60, whole % 60);
    if value == 0 || hours + minutes + seconds + part > 0 {
        text.push('T');
    }
    for (number, letter) in [(hours, 'H'), (minutes, 'M')] {
        if number > 0 {
            text.push_str(&format!("{number}{letter}"));
        }
    }
    if part > 0 {
        let digits = per_second.ilog10() as usize;
        text.push_str(format!("{seconds}.{part:0digits$}").trim_end_matches('0'));
        text.push('S');
    } else if value == 0 || seconds > 0 {
        text.push_str(&format!("{seconds}S"));
    }
    text
}

/// A date, time of day or duration as text; `None` for other types and for what is no time of day.
fn day_or_time_text(value: i64, dtype: &DataType) -> Option<String> {
    match dtype {
        DataType::Date32 => Some(date_text(value)),
        DataType::Date64 => Some(date_text(value.div_euclid(86_400_000))),
        DataType::Duration(unit) => Some(duration_text(value, unit)),
        other => clock_text(value, other),
    }
}

/// An instant with its offset: that of a zone such as `+02:00`, else UTC, as names of zones need a
/// table of their rules.
fn instant_text(value: i64, unit: &TimeUnit, zone: &str) -> Option<String> {
    let instant = instant(value, unit)?;
    let digits = zone.as_bytes();
    let offset = match (
        digits,
        zone.get(1..3),
        zone.get(digits.len().saturating_sub(2)..),
    ) {
        ([b'+' | b'-', ..], Some(hours), Some(minutes)) if matches!(digits.len(), 5 | 6) => {
            let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
            chrono::FixedOffset::east_opt(if digits[0] == b'-' { -seconds } else { seconds })
        }
        _ => None,
    };
    Some(
        match offset.filter(|offset| offset.local_minus_utc() != 0) {
            Some(offset) => instant
                .with_timezone(&offset)
                .format("%Y-%m-%dT%H:%M:%S%.f%:z")
                .to_string(),
            None => instant.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string(),
        },
    )
}

/// An integer of type `dtype` as JSON: dates, times and durations as text.
fn integer_json(value: i64, dtype: &DataType) -> Json {
    let text = match dtype {
        DataType::Timestamp(unit, Some(zone)) => instant_text(value, unit, zone),
        DataType::Timestamp(unit, None) => Some(timestamp_text(value, unit)),
        other => day_or_time_text(value, other),
    };
    text.map_or_else(|| json!(value), |text| json!(text))
}

/// A value of type `dtype` as JSON, as [`cell_json`].
pub fn value_json(value: &Value, dtype: &DataType) -> Json {
    match value {
        Value::Null => Json::Null,
        // JSON has no NaN or infinities.
        Value::Float(value) if value.is_nan() => json!("NaN"),
        Value::Float(value) if value.is_infinite() => {
            json!(if *value > 0.0 { "inf" } else { "-inf" })
        }
        Value::Other(one) => nested_json(one),
        Value::Bool(value) => json!(value),
        Value::Int(value) => integer_json(*value, dtype),
        Value::UInt(value) => json!(value),
        Value::Float(value) if dtype == &DataType::Float32 => {
            // Via text, so that the float32 0.1 becomes 0.1 and not 0.10000000149.
            (*value as f32)
                .to_string()
                .parse::<f64>()
                .map_or(Json::Null, |value| json!(value))
        }
        Value::Float(value) => json!(value),
        Value::Bytes(bytes) => json!(hex::encode(bytes)),
        Value::List(items) => {
            let inner = match dtype {
                DataType::List(item) => item.data_type(),
                _ => &DataType::Null,
            };
            Json::Array(items.iter().map(|item| value_json(item, inner)).collect())
        }
        other => json!(value_text(other, dtype)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_the_older_generations_are_text() {
        assert_eq!(
            wkb_point(b"POINT (-77.852045 24.600445)"),
            Some((-77.852045, 24.600445))
        );
        for other in [
            "POINT (1)",
            "POINT (1 2 3)",
            "POINT EMPTY",
            "POINT (a b)",
            "POINT (1 2",
        ] {
            assert_eq!(wkb_point(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn times_and_points_read_as_people_write_them() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            value_text(&Value::Int(978_393_600_000_000), &micros),
            "2001-01-02T00:00:00"
        );
        assert_eq!(
            value_text(&Value::Int(i64::MAX), &micros),
            i64::MAX.to_string()
        );
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend(1.5f64.to_le_bytes());
        wkb.extend((-2.0f64).to_le_bytes());
        assert_eq!(
            value_text(&Value::Bytes(wkb.into()), &DataType::Binary),
            "POINT (1.5 -2)"
        );
        let mut wkb = vec![1, 3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0];
        for (x, y) in [
            (10.5f64, 20.0f64),
            (11.0, 20.0),
            (11.0, 21.25),
            (10.5, 20.0),
        ] {
            wkb.extend(x.to_le_bytes());
            wkb.extend(y.to_le_bytes());
        }
        let text = |bytes: &[u8]| value_text(&Value::Bytes(bytes.into()), &DataType::Binary);
        assert_eq!(text(&wkb), "POLYGON (10.5 20, 11 21.25)");
        assert!(
            text(&wkb[..40]).starts_with("0103"),
            "a damaged geometry is bytes"
        );
        assert_eq!(
            value_text(&Value::Float(f64::from(0.1f32)), &DataType::Float32),
            "0.1"
        );
    }

    #[test]
    fn structs_name_their_values_and_unfold_into_lines() {
        use arrow::array::{ArrayRef, BinaryArray, Int32Array, ListArray, StructArray};
        use arrow::buffer::OffsetBuffer;
        use arrow::datatypes::Field;
        use std::sync::Arc;
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend(1.5f64.to_le_bytes());
        wkb.extend((-2.0f64).to_le_bytes());
        let field = |name: &str, dtype: DataType| Arc::new(Field::new(name, dtype, true));
        let year: ArrayRef = Arc::new(Int32Array::from(vec![Some(2020), None]));
        let place: ArrayRef = Arc::new(BinaryArray::from(vec![
            Some(wkb.as_slice()),
            Some(wkb.as_slice()),
        ]));
        let one: ArrayRef = Arc::new(StructArray::from(vec![
            (field("year", DataType::Int32), year),
            (field("place", DataType::Binary), place),
        ]));
        assert_eq!(cell_text(&one, 0), "{year: 2020, place: POINT (1.5 -2)}");
        assert_eq!(cell_text(&one, 1), "{year: null, place: POINT (1.5 -2)}");
        let item = field("item", one.data_type().clone());
        let list: ArrayRef = Arc::new(ListArray::new(
            item,
            OffsetBuffer::from_lengths([2]),
            one,
            None,
        ));
        assert_eq!(
            cell_text(&list, 0),
            "[{year: 2020, place: POINT (1.5 -2)}, {year: null, place: POINT (1.5 -2)}]"
        );
        let lines = cell_lines("visits", &list, 0, 50);
        let said: Vec<String> = lines
            .iter()
            .map(|line| {
                format!(
                    "{}{} {}",
                    " ".repeat(line.depth),
                    line.name,
                    line.text.as_deref().unwrap_or("null")
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                "visits ",
                " 0 ",
                "  year 2020",
                "  place POINT (1.5 -2)",
                " 1 ",
                "  year null",
                "  place POINT (1.5 -2)"
            ]
        );
        assert_eq!(
            cell_lines("visits", &list, 0, 3).len(),
            3,
            "no more lines than are wanted"
        );
    }

    #[test]
    fn dates_and_times_are_iso_8601_in_json() {
        let json = |value, dtype| value_json(&Value::Int(value), &dtype);
        let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Millisecond, Some(zone.into()));
        assert_eq!(
            json(1_609_459_200_500, zoned("UTC")),
            "2021-01-01T00:00:00.500Z"
        );
        assert_eq!(
            json(1_609_459_200_000, zoned("+05:30")),
            "2021-01-01T05:30:00+05:30"
        );
        assert_eq!(
            json(1_609_459_200_000, zoned("-0330")),
            "2020-12-31T20:30:00-03:30"
        );
        assert_eq!(
            json(1_609_459_200_000, zoned("Europe/Madrid")),
            "2021-01-01T00:00:00Z"
        );
        assert_eq!(
            json(
                1_609_459_200_000,
                DataType::Timestamp(TimeUnit::Millisecond, None)
            ),
            "2021-01-01T00:00:00"
        );
        assert_eq!(json(-86_400_000, DataType::Date64), "1969-12-31");
        assert_eq!(
            json(86_399_999_999_999, DataType::Time64(TimeUnit::Nanosecond)),
            "23:59:59.999999999"
        );
        assert_eq!(json(60, DataType::Time32(TimeUnit::Second)), "00:01:00");
        assert_eq!(
            json(-1, DataType::Time32(TimeUnit::Second)),
            -1,
            "no time of day"
        );
        assert_eq!(json(7, DataType::Int64), 7);
    }

    #[test]
    fn durations_say_their_unit_in_json_and_text() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        let texts = |value, unit| {
            let dtype = DataType::Duration(unit);
            let text = value_text(&Value::Int(value), &dtype);
            assert_eq!(
                value_json(&Value::Int(value), &dtype),
                text,
                "JSON and the window say the same"
            );
            text
        };
        assert_eq!(texts(0, Millisecond), "PT0S");
        assert_eq!(texts(90, Second), "PT1M30S");
        assert_eq!(texts(86_400, Second), "P1D");
        assert_eq!(texts(93_784_500, Millisecond), "P1DT2H3M4.5S");
        assert_eq!(texts(-1_000_001, Microsecond), "-PT1.000001S");
        assert_eq!(texts(5_000_000_000, Nanosecond), "PT5S");
        assert_eq!(texts(1, Nanosecond), "PT0.000000001S");
        assert_eq!(texts(i64::MIN, Nanosecond), "-P106751DT23H47M16.854775808S");
        assert_eq!(texts(i64::MAX, Second), "P106751991167300DT15H30M7S");
        let time = DataType::Time64(Microsecond);
        assert_eq!(
            value_text(&Value::Int(45_296_500_000), &time),
            "12:34:56.500",
            "the window says no bare number, either"
        );
        assert_eq!(
            value_text(&Value::Int(-86_400_000), &DataType::Date64),
            "1969-12-31"
        );
    }

    #[test]
    fn lists_of_structs_and_maps_with_other_keys_are_lists() {
        use arrow::array::{Int64Builder, MapBuilder};
        let mut map = MapBuilder::new(None, Int64Builder::new(), Int64Builder::new());
        map.keys().append_value(5);
        map.values().append_value(6);
        map.append(true).expect("a map");
        let map: ArrayRef = std::sync::Arc::new(map.finish());
        assert_eq!(cell_json(&map, 0), json!([[5, 6]]));
        let entries: ArrayRef = std::sync::Arc::new(map.as_map().value(0));
        let field = std::sync::Arc::new(arrow::datatypes::Field::new(
            "item",
            entries.data_type().clone(),
            true,
        ));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([1]);
        let list: ArrayRef =
            std::sync::Arc::new(arrow::array::ListArray::new(field, offsets, entries, None));
        assert_eq!(cell_json(&list, 0), json!([{"key": 5, "value": 6}]));
    }
}
