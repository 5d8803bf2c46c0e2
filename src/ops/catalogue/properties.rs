//! The properties of Items as columns: each has the type that all of its values have. A catalogue
//! may have a hundred thousand Items, so that columns are made while it is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, Float64Builder, LargeBinaryBuilder, LargeStringBuilder,
    ListBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
use serde_json::Value as Json;

use super::item_metadata::{ItemMetadata, NamePool};
use crate::error::{Error, Result};
use crate::footprint::parse_time;
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::table::{COLUMNS_MAX, table_of_json, value_at, write_wkb};

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
/// Cells of Items × properties that a catalogue may have; the samples have a value in each.
const CELLS_ALLOWED: usize = 100_000_000;
/// Cells that it may have for each value.
const CELLS_PER_VALUE: usize = 8;

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

/// The values of one property as texts of JSON. Items without it take no memory: each may have
/// properties of its own.
struct PropertyTexts {
    /// The Items that have the property, ascending.
    items: Vec<u32>,
    /// Their values.
    texts: LargeStringBuilder,
}

impl PropertyTexts {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            texts: LargeStringBuilder::with_capacity(0, 0),
        }
    }

    /// The values of all `items`; null for those without.
    fn into_values(mut self, items: usize) -> Result<Vec<Json>> {
        let mut values = vec![Json::Null; items];
        for (item, text) in self.items.into_iter().zip(&self.texts.finish()) {
            values[item as usize] = serde_json::from_str(text.unwrap_or("null"))
                .map_err(|error| Error::internal("a value did not come back").because(error))?;
        }
        Ok(values)
    }
}

/// The metadata of Items, by columns.
#[derive(Default)]
pub(super) struct PropertyColumns {
    /// Values by the names of the properties.
    properties: BTreeMap<String, PropertyTexts>,
    /// Number of values of all properties.
    values: usize,
    collections: LargeStringBuilder,
    /// Footprints as WKB.
    footprints: LargeBinaryBuilder,
    boxes: ListBuilder<Float64Builder>,
}

impl PropertyColumns {
    /// Adds the metadata of an Item.
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::error::Kind::TooLarge) for more properties than a table can have
    /// columns, and for columns that are nearly all null and too many.
    pub fn add(&mut self, item: ItemMetadata) -> Result<()> {
        let number = self.collections.len();
        for (name, value) in item.properties {
            if !value.is_null() {
                let known = self.properties.entry(name);
                let found = known.or_insert_with(PropertyTexts::new);
                found.items.push(number as u32);
                self.values += 1;
                found.texts.append_value(value.to_string());
            }
        }
        let properties = self.properties.len();
        let allowed = self.values.saturating_mul(CELLS_PER_VALUE);
        if properties as u64 > COLUMNS_MAX {
            return Err(too_many_properties_error(properties));
        }
        if properties.saturating_mul(number + 1) > allowed.max(CELLS_ALLOWED) {
            return Err(too_sparse_properties_error(properties, number + 1));
        }
        self.collections.append_option(item.collection);
        self.footprints
            .append_option(item.geometry.as_ref().map(write_wkb));
        self.boxes
            .append_option(item.bbox.map(|bbox| bbox.map(Some)));
        Ok(())
    }

    /// The columns of the Items: their properties in the order of their names, collection,
    /// footprint and box.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn finish(mut self, ctx: &JobContext) -> Result<Vec<PropertyColumn>> {
        let items = self.collections.len();
        let mut columns = Vec::with_capacity(self.properties.len() + 3);
        for (name, texts) in self.properties {
            let values = texts.into_values(items)?;
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

fn too_sparse_properties_error(properties: usize, items: usize) -> Error {
    Error::too_large(format!(
        "{items} items have {properties} properties together, of which each has few"
    ))
    .hint("take fewer items, or those of one collection")
}

fn too_many_properties_error(properties: usize) -> Error {
    Error::too_large(format!(
        "the items have {properties} properties together; {COLUMNS_MAX} is the most"
    ))
    .hint("take fewer items, or those of one collection")
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

    fn item(properties: Json) -> ItemMetadata {
        ItemMetadata {
            collection: None,
            properties: properties.as_object().expect("an object").clone(),
            geometry: None,
            bbox: None,
        }
    }

    #[test]
    fn items_without_a_property_have_null() {
        let mut columns = PropertyColumns::default();
        for properties in [
            json!({}),
            json!({ "a": 1, "b": null }),
            json!({}),
            json!({ "a": 2 }),
        ] {
            columns.add(item(properties)).expect("is added");
        }
        columns.add(item(json!({ "c": "x" }))).expect("is added");
        let found = columns.finish(&JobContext::default()).expect("reads");
        let values = |mut column: PropertyColumn| (0..5).map(|at| column.value(at)).collect();
        let found: Vec<(String, Vec<Value>)> = found
            .into_iter()
            .map(|column| (column.field.name.clone(), values(column)))
            .collect();
        let null = || Value::Null;
        let wanted = [
            (
                "a",
                vec![null(), Value::Int(1), null(), Value::Int(2), null()],
            ),
            ("c", vec![null(), null(), null(), null(), Value::text("x")]),
        ];
        assert_eq!(
            found,
            wanted.map(|(name, values)| (name.to_owned(), values))
        );
    }

    /// An offset for each Item before the first one of a property would take 400 MB.
    #[test]
    fn items_with_properties_of_their_own_are_too_many_columns_at_last() {
        let mut columns = PropertyColumns::default();
        let most = COLUMNS_MAX as usize;
        for number in 0..most {
            let own = format!("p{number}");
            columns.add(item(json!({ own: number }))).expect("is added");
        }
        // Items without a property of their own are too many as well, if later.
        for properties in [json!({ "p0": 1 }), json!({ "one more": 1 })] {
            let error = columns.add(item(properties)).expect_err("is too much");
            assert_eq!(error.kind(), crate::error::Kind::TooLarge, "{error:?}");
        }
        let texts = columns.properties.values();
        let values: usize = texts.map(|texts| texts.items.len()).sum();
        assert_eq!((values, columns.values), (most + 2, most + 2));
    }

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
