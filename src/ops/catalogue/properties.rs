//! The properties of Items as columns: each has the type that all of its values have. A catalogue
//! may have a hundred thousand Items, so that columns are made while it is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, Float64Builder, LargeBinaryBuilder, LargeStringArray,
    LargeStringBuilder, ListBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::Value as Json;

use super::item_metadata::{ItemMetadata, NamePool};
use crate::error::{Error, Result};
use crate::footprint::parse_time;
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::table::{table_of_json, value_at, write_wkb};

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

/// Texts of a column that are kept once for all of its Items, such as the name of a platform.
const TEXTS_SHARED: usize = 4096;

/// A column of level 0, with one value an Item.
pub(super) struct PropertyColumn {
    pub field: FieldSpec,
    values: ArrayRef,
    texts: NamePool,
}

impl PropertyColumn {
    fn new(field: FieldSpec, values: ArrayRef) -> Self {
        Self {
            field,
            values,
            texts: NamePool::default(),
        }
    }

    /// The value of an Item.
    pub fn value(&mut self, item: usize) -> Value {
        match value_at(&self.values, item) {
            Value::Text(text) => Value::Text(self.texts.get_among(text, TEXTS_SHARED)),
            value => value,
        }
    }
}

/// The metadata of Items, by columns.
#[derive(Default)]
pub(super) struct PropertyColumns {
    /// Values as texts of JSON, by the names of the properties. A column that is shorter than
    /// others ends in nulls.
    properties: BTreeMap<String, LargeStringBuilder>,
    collections: LargeStringBuilder,
    /// Footprints as WKB.
    footprints: LargeBinaryBuilder,
    boxes: ListBuilder<Float64Builder>,
}

impl PropertyColumns {
    /// Adds the metadata of an Item.
    pub fn add(&mut self, item: ItemMetadata) {
        let items = self.collections.len();
        for (name, value) in item.properties {
            if !value.is_null() {
                let texts = self.properties.entry(name).or_default();
                texts.append_nulls(items - texts.len());
                texts.append_value(value.to_string());
            }
        }
        self.collections.append_option(item.collection);
        self.footprints
            .append_option(item.geometry.as_ref().map(write_wkb));
        self.boxes
            .append_option(item.bbox.map(|bbox| bbox.map(Some)));
    }

    /// The columns of the Items: their properties in the order of their names, collection,
    /// footprint and box.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn finish(mut self, ctx: &JobContext) -> Result<Vec<PropertyColumn>> {
        let items = self.collections.len();
        let mut columns = Vec::with_capacity(self.properties.len() + 3);
        for (name, mut texts) in self.properties {
            let values = values_of(&texts.finish(), items)?;
            columns.extend(column(&name, values, ctx)?);
        }
        add_item_column(
            &mut columns,
            FieldSpec {
                name: "collection".into(),
                dtype: DataType::Utf8,
                description: "STAC Collection of the item".into(),
            },
            Arc::new(self.collections.finish()),
        );
        add_item_column(
            &mut columns,
            FieldSpec {
                name: "stac:geometry".into(),
                dtype: DataType::Binary,
                description: "Footprint as WKB, longitude and latitude".into(),
            },
            Arc::new(self.footprints.finish()),
        );
        add_item_column(
            &mut columns,
            FieldSpec {
                name: "stac:bbox".into(),
                dtype: list_of(DataType::Float64),
                description: "West, south, east and north in degrees".into(),
            },
            Arc::new(self.boxes.finish()),
        );
        Ok(columns)
    }
}

/// The values of texts of JSON; null for the items that `texts` is too short for.
fn values_of(texts: &LargeStringArray, items: usize) -> Result<Vec<Json>> {
    let mut values = Vec::with_capacity(items);
    for text in texts {
        values.push(match text {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Error::internal("a value did not come back").because(error))?,
            None => Json::Null,
        });
    }
    values.resize(items, Json::Null);
    Ok(values)
}

/// Adds a column that has a value, unless a property has its name.
fn add_item_column(columns: &mut Vec<PropertyColumn>, field: FieldSpec, values: ArrayRef) {
    let is_known = |known: &PropertyColumn| known.field.name == field.name;
    if values.null_count() < values.len() && !columns.iter().any(is_known) {
        columns.push(PropertyColumn::new(field, values));
    }
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
        let values = Arc::new(TimestampMicrosecondArray::from(times));
        return Ok(Some(PropertyColumn::new(field, values)));
    }
    let table = table_of_json(
        [(own, values.into_iter().map(object_to_text).collect())],
        ctx,
    )?;
    let field = table.fields().into_iter().next();
    Ok(field
        .zip(table.locate(0, 0))
        .map(|(field, (values, _))| PropertyColumn::new(field, values.clone())))
}

fn object_to_text(value: Json) -> Json {
    match value {
        value @ Json::Object(_) => Json::String(value.to_string()),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_have_the_type_of_all_of_their_values() {
        let of = |name: &str, values: Vec<Json>| {
            let found = column(name, values, &JobContext::default()).expect("reads");
            found.map(|mut found| {
                let items = 0..found.values.len();
                let values: Vec<Value> = items.map(|item| found.value(item)).collect();
                (found.field.dtype, values)
            })
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
