//! Formats cells as text for users, and as JSON.

use arrow::array::{Array, ArrayRef, StructArray};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono::DateTime;
use serde_json::{Value as Json, json};

use super::value_at;
use crate::model::Value;

/// Maximum number of bytes shown of a binary cell.
const BYTES_SHOWN: usize = 24;

/// The cell at `row` of `array` as text; empty for null. WKB points are shown as `POINT (x y)`.
pub fn cell_text(array: &ArrayRef, row: usize) -> String {
    if row >= array.len() || array.is_null(row) {
        return String::new();
    }
    let value = value_at(array, row);
    match &value {
        Value::Other(one) => {
            let options = FormatOptions::default();
            ArrayFormatter::try_new(one.as_ref(), &options).map_or(String::new(), |text| text.value(0).to_string())
        }
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
            DataType::Date32 => date_text(*value),
            _ => value.to_string(),
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
            let items: Vec<String> =
                items.iter().map(|item| if item.is_null() { "null".into() } else { value_text(item, &inner) }).collect();
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
    instant(value, unit).map_or_else(|| value.to_string(), |time| time.format("%Y-%m-%dT%H:%M:%S%.f").to_string())
}

fn date_text(days: i64) -> String {
    let seconds = days.checked_mul(86_400);
    seconds
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .map_or_else(|| days.to_string(), |time| time.format("%Y-%m-%d").to_string())
}

fn bytes_text(bytes: &[u8]) -> String {
    if let Some((x, y)) = wkb_point(bytes) {
        return format!("POINT ({x} {y})");
    }
    let shown: String = bytes.iter().take(BYTES_SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > BYTES_SHOWN { format!("{shown}… {} bytes", bytes.len()) } else { shown }
}

/// Coordinates (x, y) of a WKB point in either byte order, or of `POINT (x y)`, as older generations store points.
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
    let kind = if little { u32::from_le_bytes(kind) } else { u32::from_be_bytes(kind) };
    let number = |part: &[u8]| -> Option<f64> {
        let part: [u8; 8] = part.try_into().ok()?;
        Some(if little { f64::from_le_bytes(part) } else { f64::from_be_bytes(part) })
    };
    (kind == 1).then_some((number(&bytes[5..13])?, number(&bytes[13..21])?))
}

fn wkt_point(text: &str) -> Option<(f64, f64)> {
    let inside = text.strip_prefix("POINT")?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut numbers = inside.split_whitespace().map(str::parse);
    let (x, y) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    numbers.next().is_none().then_some((x, y))
}

/// The cell as JSON: numbers, lists and structs as such, times as ISO 8601, binary as hexadecimal digits; NaN and infinities as
/// the strings `NaN`, `inf` and `-inf`.
pub fn cell_json(array: &ArrayRef, row: usize) -> Json {
    if row >= array.len() || array.is_null(row) {
        return Json::Null;
    }
    value_json(&value_at(array, row), array.data_type())
}

/// The fields of a struct as JSON; any other value as text.
fn fields_json(one: &ArrayRef) -> Json {
    match one.as_any().downcast_ref::<StructArray>() {
        Some(one) => {
            let cells = one.column_names().into_iter().zip(one.columns());
            cells.map(|(name, cell)| (name.to_owned(), cell_json(cell, 0))).collect()
        }
        None => json!(cell_text(one, 0)),
    }
}

/// A value of type `dtype` as JSON, as [`cell_json`].
pub fn value_json(value: &Value, dtype: &DataType) -> Json {
    match value {
        Value::Null => Json::Null,
        // JSON has no NaN or infinities.
        Value::Float(value) if value.is_nan() => json!("NaN"),
        Value::Float(value) if value.is_infinite() => json!(if *value > 0.0 { "inf" } else { "-inf" }),
        Value::Other(one) => fields_json(one),
        Value::Bool(value) => json!(value),
        Value::Int(value) if !matches!(dtype, DataType::Timestamp(..) | DataType::Date32) => json!(value),
        Value::UInt(value) => json!(value),
        Value::Float(value) if dtype == &DataType::Float32 => {
            // Via text, so that the float32 0.1 becomes 0.1 and not 0.10000000149.
            (*value as f32).to_string().parse::<f64>().map_or(Json::Null, |value| json!(value))
        }
        Value::Float(value) => json!(value),
        Value::Bytes(bytes) => json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
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
        assert_eq!(wkb_point(b"POINT (-77.852045 24.600445)"), Some((-77.852045, 24.600445)));
        for other in ["POINT (1)", "POINT (1 2 3)", "POINT EMPTY", "POINT (a b)", "POINT (1 2"] {
            assert_eq!(wkb_point(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn times_and_points_read_as_people_write_them() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(value_text(&Value::Int(978_393_600_000_000), &micros), "2001-01-02T00:00:00");
        assert_eq!(value_text(&Value::Int(i64::MAX), &micros), i64::MAX.to_string());
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend(1.5f64.to_le_bytes());
        wkb.extend((-2.0f64).to_le_bytes());
        assert_eq!(value_text(&Value::Bytes(wkb.into()), &DataType::Binary), "POINT (1.5 -2)");
        assert_eq!(value_text(&Value::Float(f64::from(0.1f32)), &DataType::Float32), "0.1");
    }
}
