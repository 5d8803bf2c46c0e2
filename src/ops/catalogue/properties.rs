//! The properties of Items as columns: each has the type that all of its values have.

use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::items::Item;
use crate::footprint::parse_time;
use crate::model::{FieldSpec, Value};
use crate::table::write_wkb;

/// Properties that are times (STAC 1.0, common metadata).
const TIMES: [&str; 7] = ["datetime", "start_datetime", "end_datetime", "created", "updated", "published", "expires"];
/// Columns of a level that no property can have.
const RESERVED: [&str; 2] = ["id", "type"];

/// A column of level 0.
pub(super) struct Column {
    pub field: FieldSpec,
    /// One value an Item.
    pub values: Vec<Value>,
}

/// The columns of the Items: their properties in the order of their names, collection, footprint and box.
pub(super) fn columns_of(items: &[Item]) -> Vec<Column> {
    let names: BTreeSet<&str> = items.iter().flat_map(|item| item.properties.keys().map(String::as_str)).collect();
    let of = |name: &&str| column(name, items.iter().map(|item| item.properties.get(*name).unwrap_or(&Json::Null)).collect());
    let mut columns: Vec<Column> = names.iter().filter_map(of).collect();
    let mut add = |name: &str, dtype: DataType, description: &str, values: Vec<Value>| {
        if values.iter().any(|value| *value != Value::Null) && columns.iter().all(|known| known.field.name != name) {
            let field = FieldSpec { name: name.into(), dtype, description: description.into() };
            columns.push(Column { field, values });
        }
    };
    let collections = items.iter().map(|item| item.collection.as_deref().map_or(Value::Null, Value::text)).collect();
    add("collection", DataType::Utf8, "STAC Collection of the item", collections);
    let footprint = |item: &Item| item.geometry.as_ref().map_or(Value::Null, |geometry| Value::Bytes(write_wkb(geometry).into()));
    add("stac:geometry", DataType::Binary, "Footprint as WKB, longitude and latitude", items.iter().map(footprint).collect());
    let bbox = |item: &Item| item.bbox.map_or(Value::Null, |bbox| Value::List(bbox.map(Value::Float).into()));
    add("stac:bbox", list_of(DataType::Float64), "West, south, east and north in degrees", items.iter().map(bbox).collect());
    columns
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// The column of a property; `None` for one without any value.
fn column(name: &str, values: Vec<&Json>) -> Option<Column> {
    let known = || values.iter().copied().filter(|value| !value.is_null());
    known().next()?;
    let is_time = |value: &Json| value.as_str().is_some_and(|text| parse_time(text).is_some());
    let dtype = match () {
        () if TIMES.contains(&name) && known().all(is_time) => DataType::Timestamp(TimeUnit::Microsecond, None),
        () => common_type(known()),
    };
    let name =
        if RESERVED.contains(&name) || name.starts_with("internal:") { format!("properties:{name}") } else { name.to_owned() };
    let values = values.iter().map(|value| value_of(value, &dtype)).collect();
    Some(Column { field: FieldSpec { name, dtype, description: String::new() }, values })
}

/// The type of all values: text of JSON where they have none in common.
fn common_type<'a>(values: impl Iterator<Item = &'a Json> + Clone) -> DataType {
    let all = |is: fn(&Json) -> bool| values.clone().all(is);
    if all(Json::is_boolean) {
        DataType::Boolean
    } else if all(Json::is_i64) {
        DataType::Int64
    } else if all(Json::is_number) {
        DataType::Float64
    } else if all(|value| value.as_array().is_some_and(|list| list.iter().all(|item| item.is_number() || item.is_null())))
        || all(|value| value.as_array().is_some_and(|list| list.iter().all(|item| item.is_string() || item.is_null())))
    {
        let items: Vec<&Json> = values.filter_map(Json::as_array).flatten().filter(|item| !item.is_null()).collect();
        match items.first() {
            Some(Json::Number(_)) if items.iter().all(|item| item.is_i64()) => list_of(DataType::Int64),
            Some(Json::Number(_)) => list_of(DataType::Float64),
            _ => list_of(DataType::Utf8),
        }
    } else {
        DataType::Utf8
    }
}

fn value_of(value: &Json, dtype: &DataType) -> Value {
    match (value, dtype) {
        (Json::Null, _) => Value::Null,
        (Json::Bool(truth), DataType::Boolean) => Value::Bool(*truth),
        (Json::Number(number), DataType::Int64) => number.as_i64().map_or(Value::Null, Value::Int),
        (Json::Number(number), DataType::Float64) => number.as_f64().map_or(Value::Null, Value::Float),
        (Json::String(text), DataType::Timestamp(..)) => parse_time(text).map_or(Value::Null, Value::Int),
        (Json::Array(items), DataType::List(item)) => {
            Value::List(items.iter().map(|one| value_of(one, item.data_type())).collect())
        }
        (Json::String(text), _) => Value::text(text),
        (other, _) => Value::text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_have_the_type_of_all_of_their_values() {
        let of =
            |name: &str, values: Vec<Json>| column(name, values.iter().collect()).map(|found| (found.field.dtype, found.values));
        assert_eq!(of("n", vec![json!(1), Json::Null]), Some((DataType::Int64, vec![Value::Int(1), Value::Null])));
        assert_eq!(of("n", vec![json!(1), json!(2.5)]), Some((DataType::Float64, vec![Value::Float(1.0), Value::Float(2.5)])));
        assert_eq!(of("n", vec![json!(1), json!("a")]), Some((DataType::Utf8, vec![Value::text("1"), Value::text("a")])));
        assert_eq!(of("n", vec![Json::Null]), None);
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(of("datetime", vec![json!("1970-01-01T00:00:01Z")]), Some((time, vec![Value::Int(1_000_000)])));
        assert_eq!(of("datetime", vec![json!("soon")]).map(|found| found.0), Some(DataType::Utf8));
        assert_eq!(of("l", vec![json!([1, 2]), json!([])]).map(|found| found.0), Some(list_of(DataType::Int64)));
        assert_eq!(of("l", vec![json!([1, 2.5])]).map(|found| found.0), Some(list_of(DataType::Float64)));
        assert_eq!(of("l", vec![json!(["a"]), json!([])]).map(|found| found.0), Some(list_of(DataType::Utf8)));
        assert_eq!(of("o", vec![json!({ "a": 1 })]), Some((DataType::Utf8, vec![Value::text(r#"{"a":1}"#)])));
    }
}
