//! Values of JSON with the types that a statement gives: `from_json(x, '{"a": "INTEGER"}')`.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use serde_json::Value as Json;

use super::engine_errors::refusal;
use super::list_functions::elementwise;
use super::nested_values::{ListsBuilder, cast_to};
use super::typed_texts;
use crate::text::PrintableLine;

/// Maximum depth of a structure.
const DEPTH_MAX: usize = 20;

/// The type that a structure such as `{"a": "INTEGER", "b": ["VARCHAR"]}` describes, or why there
/// is none.
pub(super) fn type_of_structure(structure: &str) -> Result<DataType, String> {
    let json: Json = serde_json::from_str(structure)
        .map_err(|_| format!("'{}' is not JSON", structure.printable_line()))?;
    type_of_json(&json, 0)
}

fn type_of_json(structure: &Json, depth: usize) -> Result<DataType, String> {
    if depth > DEPTH_MAX {
        return Err("the structure is nested too deeply".to_owned());
    }
    match structure {
        Json::String(name) => type_named(name, depth),
        Json::Array(items) => match items.as_slice() {
            [item] => Ok(DataType::List(Box::new(type_of_json(item, depth + 1)?))),
            _ => Err("a list has one type, as in [\"INTEGER\"]".to_owned()),
        },
        Json::Object(fields) if !fields.is_empty() => {
            let mut typed = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                let dtype = type_of_json(field, depth + 1)?;
                typed.push(Field::new(name.as_str().into(), dtype));
            }
            Ok(DataType::Struct(typed))
        }
        _ => Err("a structure has names of types".to_owned()),
    }
}

/// The type of a name such as `INTEGER` or `VARCHAR[]` at a depth of a structure.
fn type_named(name: &str, depth: usize) -> Result<DataType, String> {
    let name = name.trim();
    if let Some(item) = name.strip_suffix("[]") {
        if depth > DEPTH_MAX {
            return Err("the structure is nested too deeply".to_owned());
        }
        return Ok(DataType::List(Box::new(type_named(item, depth + 1)?)));
    }
    Ok(match name.to_uppercase().as_str() {
        "BOOLEAN" | "BOOL" => DataType::Boolean,
        "TINYINT" => DataType::Int8,
        "SMALLINT" => DataType::Int16,
        "INTEGER" | "INT" => DataType::Int32,
        "BIGINT" | "HUGEINT" => DataType::Int64,
        "UTINYINT" => DataType::UInt8,
        "USMALLINT" => DataType::UInt16,
        "UINTEGER" => DataType::UInt32,
        "UBIGINT" => DataType::UInt64,
        "FLOAT" | "REAL" => DataType::Float32,
        "DOUBLE" => DataType::Float64,
        "VARCHAR" | "TEXT" | "STRING" | "JSON" | "NULL" => DataType::String,
        "DATE" => DataType::Date,
        "TIME" => DataType::Time,
        "TIMESTAMP" => DataType::Datetime(TimeUnit::Microseconds, None),
        _ => {
            return Err(format!(
                "there is no type {} in a structure",
                name.printable_line()
            ));
        }
    })
}

/// A function that reads texts of JSON as values of a type; those that are of another one are null,
/// or with `is_strict` refused.
pub(super) fn json_reader(called: &str, dtype: DataType, is_strict: bool) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        called,
        move |_| Ok(of.clone()),
        move |columns| read_texts(columns, &dtype, is_strict),
    )
}

fn read_texts(columns: &[Column], dtype: &DataType, is_strict: bool) -> PolarsResult<Column> {
    let [texts] = columns else {
        return Err(refusal("JSON is read from one text"));
    };
    let texts = cast_to(texts, &DataType::String)?;
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts.str()?.iter() {
        rows.push(match text {
            Some(text) => Some(serde_json::from_str::<Json>(text).map_err(|_| {
                refusal(format!("the text '{}' is not JSON", text.printable_line()))
            })?),
            None => None,
        });
    }
    let rows: Vec<Option<&Json>> = rows.iter().map(Option::as_ref).collect();
    Ok(read_values(&rows, dtype, is_strict)?.into_column())
}

/// The values of a type; a missing one and JSON's null are null.
fn read_values(
    values: &[Option<&Json>],
    dtype: &DataType,
    is_strict: bool,
) -> PolarsResult<Series> {
    let known = |value: &Option<&Json>| value.is_some_and(|value| !value.is_null());
    match dtype {
        DataType::List(item) => {
            let (mut elements, mut lists) = (Vec::new(), ListsBuilder::default());
            for value in values {
                match value.and_then(Json::as_array) {
                    Some(items) => {
                        let start = elements.len();
                        elements.extend(items.iter().map(Some));
                        lists.push((start..elements.len()).map(Some));
                    }
                    None if is_strict && known(value) => return Err(refuse_value(*value, dtype)),
                    None => lists.push_null(),
                }
            }
            lists.finish(&read_values(&elements, item, is_strict)?)
        }
        DataType::Struct(fields) => {
            let mut columns = Vec::with_capacity(fields.len());
            for field in fields {
                let name = field.name().as_str();
                let inner: Vec<Option<&Json>> = values
                    .iter()
                    .map(|value| value.and_then(|value| value.get(name)))
                    .collect();
                let column = read_values(&inner, field.dtype(), is_strict)?;
                columns.push(column.with_name(field.name().clone()));
            }
            let is_object = |value: &Option<&Json>| value.is_some_and(Json::is_object);
            if let Some(other) = values
                .iter()
                .find(|value| known(value) && !is_object(value))
                && is_strict
            {
                return Err(refuse_value(*other, dtype));
            }
            let structs =
                StructChunked::from_series(PlSmallStr::EMPTY, values.len(), columns.iter())?
                    .into_series();
            let nulls = Series::full_null(PlSmallStr::EMPTY, values.len(), structs.dtype());
            let objects: BooleanChunked =
                values.iter().map(|value| Some(is_object(value))).collect();
            structs.zip_with(&objects, &nulls)
        }
        dtype => read_scalars(values, dtype, is_strict),
    }
}

fn read_scalars(
    values: &[Option<&Json>],
    dtype: &DataType,
    is_strict: bool,
) -> PolarsResult<Series> {
    let texts: StringChunked = values
        .iter()
        .map(|value| value.and_then(|value| text_of(value, dtype)))
        .collect();
    let read = match dtype {
        DataType::String => texts.into_series(),
        dtype => {
            let wide = match dtype {
                dtype if dtype.is_unsigned_integer() => DataType::UInt64,
                dtype if dtype.is_integer() => DataType::Int64,
                dtype if dtype.is_float() => DataType::Float64,
                other => other.clone(),
            };
            let column = typed_texts::read(&texts, &wide)?.cast(dtype)?;
            column.as_materialized_series().clone()
        }
    };
    if is_strict {
        let nulls = read.is_null();
        let mut pairs = values.iter().zip(nulls.iter());
        let failed = pairs.find(|(value, is_null)| {
            *is_null == Some(true) && value.is_some_and(|value| !value.is_null())
        });
        if let Some((value, _)) = failed {
            return Err(refuse_value(*value, dtype));
        }
    }
    Ok(read)
}

/// The text from which a value is read; `None` for null, and for lists and objects that are no
/// texts.
fn text_of(value: &Json, dtype: &DataType) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        Json::Bool(truth) if dtype.is_primitive_numeric() => Some(u8::from(*truth).to_string()),
        Json::Number(number) if *dtype == DataType::Boolean => {
            number.as_f64().map(|number| (number != 0.0).to_string())
        }
        Json::Array(_) | Json::Object(_) if *dtype != DataType::String => None,
        other => Some(other.to_string()),
    }
}

fn refuse_value(value: Option<&Json>, dtype: &DataType) -> PolarsError {
    let text = value.map(Json::to_string).unwrap_or_default();
    refusal(format!(
        "the JSON {} is not a {}; from_json gives null for such values",
        text.printable_line(),
        super::type_names::type_name(dtype)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, structure: &str) -> Series {
        let dtype = type_of_structure(structure).expect("a structure");
        let texts = Column::new("j".into(), [text]);
        let read = read_texts(&[texts], &dtype, false).expect("reads");
        read.as_materialized_series().clone()
    }

    #[test]
    fn values_have_the_types_of_the_structure() {
        for (text, structure, wanted) in [
            ("5", "\"INTEGER\"", "5"),
            ("\"5\"", "\"INTEGER\"", "5"),
            ("\"x\"", "\"INTEGER\"", "null"),
            ("300", "\"TINYINT\"", "null"),
            ("true", "\"BIGINT\"", "1"),
            ("[1]", "\"VARCHAR\"", "\"[1]\""),
        ] {
            let found = read(text, structure);
            let value = found.get(0).expect("a row").to_string();
            assert_eq!(value, wanted, "{text} as {structure}");
        }
        let structs = read(r#"{"a": 1}"#, r#"{"a": "BIGINT", "b": ["VARCHAR"]}"#);
        let names: Vec<_> = structs.struct_().expect("structs").fields_as_series();
        assert_eq!((names.len(), names[1].null_count()), (2, 1));
        assert_eq!(read("[1]", r#"{"a": "BIGINT"}"#).null_count(), 1);
    }

    #[test]
    fn structures_without_a_type_are_refused() {
        for structure in ["{", "{}", "[]", "\"POINT\"", "[\"INT\", \"INT\"]", "5"] {
            assert!(type_of_structure(structure).is_err(), "{structure}");
        }
    }
}
