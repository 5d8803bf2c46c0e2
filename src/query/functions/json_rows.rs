//! Rows of the values within JSON, as `json_each` and `json_tree` show them in FROM.

use polars::prelude::*;
use serde_json::Value as Json;

use super::json_paths::at_path;
use super::json_shapes::{parse_json, type_of};
use crate::query::nested_values::{ListsBuilder, broadcast_row, cast_to, row_count};

/// Names of the columns.
pub(in crate::query) const JSON_COLUMNS: [&str; 8] = [
    "key", "value", "type", "atom", "id", "parent", "fullkey", "path",
];

/// Values of all documents, column by column.
#[derive(Default)]
struct JsonNodeColumns {
    keys: Vec<Option<String>>,
    values: Vec<String>,
    types: Vec<&'static str>,
    atoms: Vec<Option<String>>,
    ids: Vec<u64>,
    parents: Vec<Option<u64>>,
    full_keys: Vec<String>,
    paths: Vec<String>,
}

/// Where a value is within its document: the columns that do not depend on the value.
struct JsonPosition {
    key: Option<String>,
    /// Number of the value in the order of the text, in which keys have numbers, too.
    id: u64,
    parent: Option<u64>,
    full_key: String,
    path: String,
}

/// The type of what [`list_nodes`] gives.
pub(super) fn type_of_node_list(_: &[DataType]) -> PolarsResult<DataType> {
    let dtypes = JSON_COLUMNS.map(|name| match name {
        "id" | "parent" => DataType::UInt64,
        _ => DataType::String,
    });
    let fields = JSON_COLUMNS.iter().zip(dtypes);
    let fields = fields.map(|(name, dtype)| Field::new((*name).into(), dtype));
    Ok(DataType::List(Box::new(DataType::Struct(fields.collect()))))
}

/// For each document a list of structs: of the values directly within the value at the path, or
/// with `is_deep` of that value and all values within it.
pub(super) fn list_nodes(columns: &[Column], is_deep: bool) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(|column| cast_to(column, &DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|texts| texts.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut rows = JsonNodeColumns::default();
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let mut arguments = texts
            .iter()
            .map(|texts| texts.get(broadcast_row(texts.len(), row)));
        let document = arguments.next().flatten();
        let path = arguments.next().unwrap_or(Some("$"));
        let Some((document, path)) = document.zip(path) else {
            builder.push_null();
            continue;
        };
        let (root, start) = (parse_json(document)?, rows.ids.len());
        if let Some(json) = at_path(&root, path)? {
            let path = if path.starts_with('$') {
                path.to_owned()
            } else {
                format!("$.{path}")
            };
            let position = JsonPosition {
                key: None,
                id: find_id(&root, json, 0).unwrap_or(0),
                parent: None,
                full_key: path.clone(),
                path,
            };
            if is_deep {
                rows.push_tree(json, position);
            } else {
                rows.push_members(json, position);
            }
        }
        builder.push((start..rows.ids.len()).map(Some));
    }
    Ok(builder.finish(&rows.into_structs()?)?.into_column())
}

impl JsonNodeColumns {
    fn push(&mut self, json: &Json, position: &JsonPosition) {
        let text = json.to_string();
        let is_atom = !json.is_array() && !json.is_object() && !json.is_null();
        self.atoms.push(is_atom.then(|| text.clone()));
        self.values.push(text);
        self.types.push(type_of(json));
        self.keys.push(position.key.clone());
        self.ids.push(position.id);
        self.parents.push(position.parent);
        self.full_keys.push(position.full_key.clone());
        self.paths.push(position.path.clone());
    }

    /// The members of an object or an array; of another value the value itself.
    fn push_members(&mut self, json: &Json, position: JsonPosition) {
        if !json.is_array() && !json.is_object() {
            self.push(json, &position);
        }
        for (member, mut position) in members_of(json, &position) {
            position.parent = None;
            self.push(member, &position);
        }
    }

    fn push_tree(&mut self, json: &Json, position: JsonPosition) {
        self.push(json, &position);
        for (member, position) in members_of(json, &position) {
            self.push_tree(member, position);
        }
    }

    fn into_structs(self) -> PolarsResult<Series> {
        let count = self.ids.len();
        let [key, value, dtype, atom, id, parent, full_key, path] = JSON_COLUMNS.map(Into::into);
        let fields = [
            Series::new(key, self.keys),
            Series::new(value, self.values),
            Series::new(dtype, self.types),
            Series::new(atom, self.atoms),
            Series::new(id, self.ids),
            Series::new(parent, self.parents),
            Series::new(full_key, self.full_keys),
            Series::new(path, self.paths),
        ];
        Ok(StructChunked::from_series(PlSmallStr::EMPTY, count, fields.iter())?.into_series())
    }
}

impl JsonPosition {
    /// The position of a field or an element of the value.
    fn member(&self, key: String, full_key: String, id: u64) -> Self {
        Self {
            key: Some(key),
            id,
            parent: Some(self.id),
            full_key,
            path: self.full_key.clone(),
        }
    }
}

/// The fields or elements of a value with their positions.
fn members_of<'j>(json: &'j Json, position: &JsonPosition) -> Vec<(&'j Json, JsonPosition)> {
    let mut next = position.id + 1;
    let mut members = Vec::new();
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                let full_key = format!("{}.{name}", position.full_key);
                let member = position.member(name.clone(), full_key, next + 1);
                members.push((value, member));
                next += 1 + count_ids(value);
            }
        }
        Json::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                let full_key = format!("{}[{at}]", position.full_key);
                members.push((value, position.member(at.to_string(), full_key, next)));
                next += count_ids(value);
            }
        }
        _ => {}
    }
    members
}

/// The number of ids that a value takes: one for itself, and those of keys and values within it.
fn count_ids(json: &Json) -> u64 {
    match json {
        Json::Object(fields) => {
            1 + fields
                .values()
                .map(|value| 1 + count_ids(value))
                .sum::<u64>()
        }
        Json::Array(items) => 1 + items.iter().map(count_ids).sum::<u64>(),
        _ => 1,
    }
}

/// The id of the value `wanted` within `json`, which has the id `id`.
fn find_id(json: &Json, wanted: &Json, id: u64) -> Option<u64> {
    if std::ptr::eq(json, wanted) {
        return Some(id);
    }
    let mut next = id + 1;
    let (values, ids_of_key): (Vec<&Json>, u64) = match json {
        Json::Object(fields) => (fields.values().collect(), 1),
        Json::Array(items) => (items.iter().collect(), 0),
        _ => return None,
    };
    for value in values {
        if let Some(found) = find_id(value, wanted, next + ids_of_key) {
            return Some(found);
        }
        next += ids_of_key + count_ids(value);
    }
    None
}
