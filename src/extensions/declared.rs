//! Column types declared by name in options, and the conversion of JSON to values of these types.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::footprint::parse_time;
use crate::model::{Value, dtype_name};

/// The accepted types, for messages.
pub const NAMES: &str = "bool, int8 to int64, uint8 to uint64, double, float, string, binary, \
    date32[day], timestamp[us], or a list of \
                         such as list<double>";

/// The type `name`; `None` when unknown.
pub fn type_of(name: &str) -> Option<DataType> {
    let name = name.trim();
    if name.len() > 200 {
        return None;
    }
    if let Some(item) = name
        .strip_prefix("list<")
        .and_then(|rest| rest.strip_suffix('>'))
    {
        let item = item.strip_prefix("item:").unwrap_or(item);
        return Some(DataType::List(Arc::new(Field::new(
            "item",
            type_of(item)?,
            true,
        ))));
    }
    Some(match name {
        "bool" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date32" | "date32[day]" => DataType::Date32,
        "timestamp[us]" => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => return None,
    })
}

/// As [`type_of`].
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the column, when the type is unknown.
pub fn need_type(column: &str, name: &Json) -> Result<DataType> {
    name.as_str().and_then(type_of).ok_or_else(|| {
        Error::usage(format!(
            "column {column} is declared with the unknown type {name}"
        ))
        .hint(format!("use {NAMES}"))
    })
}

/// Converts JSON to a value of the declared type.
///
/// # Errors
/// A message that quotes the JSON when it does not fit the type.
pub fn value_of(json: &Json, dtype: &DataType) -> Result<Value, String> {
    let wrong = || format!("{json} is no {}", dtype_name(dtype));
    Ok(match (json, dtype) {
        (Json::Null, _) => Value::Null,
        (Json::Bool(value), DataType::Boolean) => Value::Bool(*value),
        (Json::Number(number), dtype) if dtype.is_integer() => {
            integer(number, dtype).ok_or_else(wrong)?
        }
        (Json::Number(number), DataType::Float64) => {
            Value::Float(number.as_f64().ok_or_else(wrong)?)
        }
        (Json::Number(number), DataType::Float32) => {
            Value::Float(f64::from(number.as_f64().ok_or_else(wrong)? as f32))
        }
        (Json::String(text), DataType::Utf8) => Value::text(text),
        (Json::String(text), DataType::Timestamp(..)) => {
            Value::Int(parse_time(text).ok_or_else(wrong)?)
        }
        (Json::String(text), DataType::Date32) => {
            let micros = parse_time(text).ok_or_else(wrong)?;
            Value::Int(micros.div_euclid(86_400_000_000))
        }
        (Json::Number(number), DataType::Timestamp(..) | DataType::Date32) => {
            Value::Int(number.as_i64().ok_or_else(wrong)?)
        }
        (Json::Array(items), DataType::List(item)) => {
            let values = items
                .iter()
                .map(|json| value_of(json, item.data_type()))
                .collect::<Result<Vec<_>, _>>();
            Value::List(values?.into())
        }
        _ => return Err(wrong()),
    })
}

fn integer(number: &serde_json::Number, dtype: &DataType) -> Option<Value> {
    let value = number.as_i64().map_or_else(
        || number.as_u64().map(i128::from),
        |value| Some(i128::from(value)),
    )?;
    let range = match dtype {
        DataType::Int8 => i128::from(i8::MIN)..=i128::from(i8::MAX),
        DataType::Int16 => i128::from(i16::MIN)..=i128::from(i16::MAX),
        DataType::Int32 => i128::from(i32::MIN)..=i128::from(i32::MAX),
        DataType::Int64 => i128::from(i64::MIN)..=i128::from(i64::MAX),
        DataType::UInt8 => 0..=i128::from(u8::MAX),
        DataType::UInt16 => 0..=i128::from(u16::MAX),
        DataType::UInt32 => 0..=i128::from(u32::MAX),
        _ => 0..=i128::from(u64::MAX),
    };
    if !range.contains(&value) {
        return None;
    }
    Some(i64::try_from(value).map_or_else(|_| Value::UInt(value as u64), Value::Int))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_those_of_field_schema() {
        for name in [
            "bool",
            "int8",
            "uint64",
            "float",
            "double",
            "string",
            "timestamp[us]",
            "date32[day]",
            "binary",
        ] {
            assert_eq!(dtype_name(&type_of(name).expect("known")), name);
        }
        assert_eq!(
            dtype_name(&type_of("list<list<float>>").expect("known")),
            "list<item: list<item: float>>"
        );
        assert!(type_of("number").is_none() && type_of("list<number>").is_none());
    }

    #[test]
    fn values_have_to_fit() {
        let value = |json: Json, name: &str| value_of(&json, &type_of(name).expect("known"));
        assert_eq!(value(json!(255), "uint8"), Ok(Value::Int(255)));
        assert!(
            value(json!(256), "uint8").is_err()
                && value(json!(-1), "uint16").is_err()
                && value(json!(1.5), "int64").is_err()
        );
        assert_eq!(value(json!(u64::MAX), "uint64"), Ok(Value::UInt(u64::MAX)));
        assert_eq!(value(json!("1970-01-03"), "date32"), Ok(Value::Int(2)));
        assert_eq!(
            value(json!("1970-01-01T00:00:01Z"), "timestamp[us]"),
            Ok(Value::Int(1_000_000))
        );
        assert!(
            value(json!([1, "x"]), "list<int64>")
                .is_err_and(|why| why.contains("\"x\" is no int64"))
        );
    }
}
