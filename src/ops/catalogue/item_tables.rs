//! Tables of Items: stac-geoparquet (its specification, versions 1.0 and 1.1). A row is an Item;
//! its assets are a struct, its other members and its properties are columns.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::DataType;
use serde_json::{Map, Value as Json, json};

use super::items::ItemCollector;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::Value;
use crate::table::{
    LevelTable, ParquetSlice, TableHead, cell_json, parse_wkb, without_dictionaries,
};

/// Members of an Item that are columns beside its properties.
const MEMBERS: [&str; 9] = [
    "type",
    "stac_version",
    "stac_extensions",
    "id",
    "bbox",
    "geometry",
    "collection",
    "links",
    "assets",
];
/// Endings of the names of such tables.
const ENDINGS: [&str; 2] = ["parquet", "geoparquet"];

/// True for a Parquet file of this machine with the columns of Items.
pub(super) fn is_item_table(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .map(str::to_ascii_lowercase);
    if !ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return false;
    }
    let Ok(head) = ParquetSlice::of_file(path).and_then(TableHead::read) else {
        return false;
    };
    let schema = head.schema();
    let dtype = |name: &str| Some(schema.field_with_name(name).ok()?.data_type());
    let has_assets = matches!(
        dtype("assets"),
        Some(DataType::Struct(_) | DataType::Map(..) | DataType::Utf8 | DataType::LargeUtf8)
    );
    has_assets && dtype("id").is_some() && dtype("geometry").is_some()
}

/// Takes the Items of a table, some rows at a time.
///
/// # Errors
/// Those of reading the table, and of [`ItemCollector::add`]; cancellation.
pub(super) fn read_item_table(
    path: &Path,
    items: &mut ItemCollector<'_>,
    ctx: &JobContext,
) -> Result<()> {
    let place: Arc<Path> = path.into();
    let head = ParquetSlice::of_file(path).and_then(TableHead::read);
    let head = head.map_err(|error| error.at_path(path))?;
    head.for_each_batch(ctx, &mut |batch| {
        let table = without_dictionaries(&LevelTable::new(batch.schema(), vec![batch]))?;
        let geometry = table.column_index("geometry");
        for row in 0..table.rows() {
            ctx.check()?;
            if items.is_full() {
                break;
            }
            let geometry = match geometry.map(|column| table.value(row, column)) {
                Some(Value::Bytes(wkb)) => parse_wkb(&wkb),
                _ => None,
            };
            items.add(&place, feature_of(&table, row), geometry)?;
        }
        Ok(())
    })
}

/// A row as the document of an Item, without geometry.
fn feature_of(table: &LevelTable, row: usize) -> Json {
    let mut members = Map::new();
    let mut properties = Map::new();
    for (column, field) in table
        .schema()
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| field.name() != "geometry")
    {
        let cell = table
            .locate(row, column)
            .map_or(Json::Null, |(array, row)| cell_json(array, row));
        let is_member = MEMBERS.contains(&field.name().as_str());
        let value = match (field.name().as_str(), cell) {
            (_, Json::Null) => continue,
            ("bbox", Json::Object(sides)) => bbox_of(&sides),
            ("assets", Json::String(text)) => serde_json::from_str(&text).unwrap_or(Json::Null),
            (_, cell) => cell,
        };
        if is_member {
            &mut members
        } else {
            &mut properties
        }
        .insert(field.name().clone(), value);
    }
    members.insert("properties".to_owned(), Json::Object(properties));
    Json::Object(members)
}

/// A box as STAC has it, from the struct of GeoParquet.
fn bbox_of(sides: &Map<String, Json>) -> Json {
    json!(["xmin", "ymin", "xmax", "ymax"].map(|side| sides.get(side).cloned().unwrap_or_default()))
}
