//! The properties of Items as columns: each has the type that all of its values have.

use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::items::StacItem;
use crate::error::Result;
use crate::footprint::parse_time;
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::table::{table_of_json, write_wkb};

/// Properties that are times (STAC 1.0, common metadata).
const TIMES: [&str; 7] = [
    "datetime",
    "start_datetime",
    "end_datetime",
    "created",
    "updated",
    "published",
    "expires",
];
/// Columns of a level that no property can have.
const RESERVED: [&str; 2] = ["id", "type"];

/// A column of level 0.
pub(super) struct PropertyColumn {
    pub field: FieldSpec,
    /// One value an Item.
    pub values: Vec<Value>,
}

/// The columns of the Items: their properties in the order of their names, collection, footprint
/// and box. The properties are taken out of the Items.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn take_columns(
    items: &mut [StacItem],
    ctx: &JobContext,
) -> Result<Vec<PropertyColumn>> {
    let names: BTreeSet<Arc<str>> = items
        .iter()
        .flat_map(StacItem::property_names)
        .cloned()
        .collect();
    let mut columns = Vec::with_capacity(names.len() + 3);
    for name in names {
        let values = items
            .iter_mut()
            .map(|item| item.take_property(&name))
            .collect();
        columns.extend(column(&name, values, ctx)?);
    }
    let mut add = |name: &str, dtype: DataType, description: &str, values: Vec<Value>| {
        if values.iter().any(|value| *value != Value::Null)
            && columns
                .iter()
                .all(|known: &PropertyColumn| known.field.name != name)
        {
            let field = FieldSpec {
                name: name.into(),
                dtype,
                description: description.into(),
            };
            columns.push(PropertyColumn { field, values });
        }
    };
    let collections = items
        .iter()
        .map(|item| item.collection.clone().map_or(Value::Null, Value::Text))
        .collect();
    add(
        "collection",
        DataType::Utf8,
        "STAC Collection of the item",
        collections,
    );
    let footprint = |item: &StacItem| {
        item.geometry.as_ref().map_or(Value::Null, |geometry| {
            Value::Bytes(write_wkb(geometry).into())
        })
    };
    add(
        "stac:geometry",
        DataType::Binary,
        "Footprint as WKB, longitude and latitude",
        items.iter().map(footprint).collect(),
    );
    let bbox = |item: &StacItem| {
        item.bbox.map_or(Value::Null, |bbox| {
            Value::List(bbox.map(Value::Float).into())
        })
    };
    add(
        "stac:bbox",
        list_of(DataType::Float64),
        "West, south, east and north in degrees",
        items.iter().map(bbox).collect(),
    );
    Ok(columns)
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// The column of a property, typed as a column of a metadata table; its times are times, and
/// objects text of JSON, as each item may have other keys. `None` for one without any value.
fn column(name: &str, values: Vec<Json>, ctx: &JobContext) -> Result<Option<PropertyColumn>> {
    let known = || values.iter().filter(|value| !value.is_null());
    if known().next().is_none() {
        return Ok(None);
    }
    let own = if RESERVED.contains(&name) || name.starts_with("internal:") {
        format!("properties:{name}")
    } else {
        name.to_owned()
    };
    let times: Vec<Option<i64>> = values
        .iter()
        .map(|value| value.as_str().and_then(parse_time))
        .collect();
    if TIMES.contains(&name) && times.iter().flatten().count() == known().count() {
        let field = FieldSpec::new(own, DataType::Timestamp(TimeUnit::Microsecond, None));
        let values = times
            .into_iter()
            .map(|time| time.map_or(Value::Null, Value::Int))
            .collect();
        return Ok(Some(PropertyColumn { field, values }));
    }
    let plain = |value: Json| match value {
        value @ Json::Object(_) => Json::String(value.to_string()),
        value => value,
    };
    let table = table_of_json([(own, values.into_iter().map(plain).collect())], ctx)?;
    // Texts such as the name of a platform are kept once.
    let mut texts: HashSet<Arc<str>> = HashSet::new();
    let mut shared = |value| match value {
        Value::Text(text) => match texts.get(&text) {
            Some(known) => Value::Text(known.clone()),
            None => {
                texts.insert(text.clone());
                Value::Text(text)
            }
        },
        value => value,
    };
    let values = (0..table.rows())
        .map(|row| shared(table.value(row, 0)))
        .collect();
    Ok(table
        .fields()
        .into_iter()
        .next()
        .map(|field| PropertyColumn { field, values }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_have_the_type_of_all_of_their_values() {
        let of = |name: &str, values: Vec<Json>| {
            let found = column(name, values, &JobContext::default()).expect("reads");
            found.map(|found| (found.field.dtype, found.values))
        };
        assert_eq!(
            of("n", vec![json!(1), Json::Null]),
            Some((DataType::Int64, vec![Value::Int(1), Value::Null]))
        );
        assert_eq!(
            of("n", vec![json!(1), json!(2.5)]),
            Some((
                DataType::Float64,
                vec![Value::Float(1.0), Value::Float(2.5)]
            ))
        );
        assert_eq!(
            of("n", vec![json!(1), json!("a")]),
            Some((DataType::Utf8, vec![Value::text("1"), Value::text("a")]))
        );
        assert_eq!(of("n", vec![Json::Null]), None);
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            of("datetime", vec![json!("1970-01-01T00:00:01Z")]),
            Some((time, vec![Value::Int(1_000_000)]))
        );
        assert_eq!(
            of("datetime", vec![json!("soon")]).map(|found| found.0),
            Some(DataType::Utf8)
        );
        assert_eq!(
            of("l", vec![json!([1, 2]), json!([])]).map(|found| found.0),
            Some(list_of(DataType::Int64))
        );
        assert_eq!(
            of("l", vec![json!([1, 2.5])]).map(|found| found.0),
            Some(list_of(DataType::Float64))
        );
        assert_eq!(
            of("l", vec![json!(["a"]), json!([])]).map(|found| found.0),
            Some(list_of(DataType::Utf8))
        );
        assert_eq!(
            of("o", vec![json!({ "a": 1 })]),
            Some((DataType::Utf8, vec![Value::text(r#"{"a":1}"#)]))
        );
    }
}
