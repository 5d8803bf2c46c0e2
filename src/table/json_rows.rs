//! Finds the rows in a document of JSON: lists and lines of objects, GeoJSON, objects by path, and
//! the forms that pandas writes.

use std::collections::HashSet;

use geo::Geometry;
use serde_json::{Map, Value as Json};

use super::INDEX_COLUMN;
use super::geojson::{geojson_geometry, other_crs};
use super::key_names::{KEYS, is_key_name};
use crate::error::{Error, Result};
use crate::text::{PrintableLine, list_first};

/// Maximum number of objects of an object that may be columns.
const COLUMNS_GUESSED: usize = 1000;

/// Names of the parts of a split, each of which has samples of its own.
const PARTS: [&str; 9] = [
    "dev",
    "holdout",
    "test",
    "testing",
    "train",
    "training",
    "val",
    "valid",
    "validation",
];
/// Key with the file of an image in annotations in the form of COCO.
const IMAGE_FILE: &str = "file_name";
/// Names in a warning.
const WARNED_NAMES: usize = 8;

/// A row of a JSON table.
pub(super) struct JsonRow {
    pub values: Json,
    /// That of a feature.
    pub geometry: Option<Geometry>,
}

/// The rows of a document.
pub(super) struct JsonRows {
    pub rows: Vec<JsonRow>,
    /// Name of the coordinate system of the geometries if it is not longitude and latitude.
    pub other_crs: Option<String>,
    /// Columns of an object of objects, all with the same keys, by name: which of its keys are
    /// those of rows is not known.
    pub by_column: Option<Vec<(String, Vec<Json>)>>,
    /// What was read of a document that holds more, or other things than a table.
    pub warning: Option<String>,
}

impl JsonRow {
    fn from_values(values: Map<String, Json>) -> Self {
        Self {
            values: Json::Object(values),
            geometry: None,
        }
    }

    /// The properties of a GeoJSON feature, with its `id` unless they have one, and its geometry;
    /// any other value as it is.
    fn of_feature(json: Json) -> Self {
        match json {
            Json::Object(mut feature)
                if feature.get("type") == Some(&Json::from("Feature"))
                    && feature.contains_key("properties") =>
            {
                let geometry = feature.get("geometry").and_then(geojson_geometry);
                let id = feature.remove("id");
                let mut row = match feature.remove("properties") {
                    Some(Json::Object(row)) => row,
                    _ => Map::new(),
                };
                if let (Some(id), false) = (id, row.contains_key("id")) {
                    row.insert("id".to_owned(), id);
                }
                Self {
                    values: Json::Object(row),
                    geometry,
                }
            }
            values => Self {
                values,
                geometry: None,
            },
        }
    }
}

impl JsonRows {
    fn from_values(values: impl IntoIterator<Item = Json>) -> Self {
        Self {
            rows: values.into_iter().map(JsonRow::of_feature).collect(),
            other_crs: None,
            by_column: None,
            warning: None,
        }
    }

    fn from_objects(objects: impl IntoIterator<Item = Map<String, Json>>) -> Self {
        Self {
            rows: objects.into_iter().map(JsonRow::from_values).collect(),
            other_crs: None,
            by_column: None,
            warning: None,
        }
    }
}

/// The rows of a text with one document or one for each row.
///
/// # Errors
/// [`crate::error::Kind::Format`] for a text that is not JSON, a FeatureCollection without
/// features, and columns of different lengths.
pub(super) fn json_rows(content: &str) -> Result<JsonRows> {
    let wrong = |error: serde_json::Error| {
        Error::format("the metadata table can't be read as JSON").because(error)
    };
    let documents = serde_json::Deserializer::from_str(content)
        .into_iter::<Json>()
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong)?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.len()) {
        (Some(Json::Array(rows)), 0) => Ok(JsonRows::from_values(rows)),
        (Some(Json::Object(document)), 0) => rows_of_document(document),
        (first, _) => Ok(JsonRows::from_values(first.into_iter().chain(documents))),
    }
}

fn rows_of_document(mut document: Map<String, Json>) -> Result<JsonRows> {
    if document.get("type") == Some(&Json::from("FeatureCollection")) {
        let features = document.remove("features");
        let Some(Json::Array(features)) = features else {
            return Err(Error::format(
                "the FeatureCollection of the metadata table has no list of features",
            ));
        };
        let rows = JsonRows::from_values(features);
        return Ok(JsonRows {
            other_crs: other_crs(&Json::Object(document)),
            ..rows
        });
    }
    if document.is_empty() {
        return Ok(JsonRows::from_objects([document]));
    }
    if document.values().all(Json::is_object) {
        return Ok(rows_of_objects(document));
    }
    if let (Some(Json::Array(names)), Some(Json::Array(rows))) =
        (document.get("columns"), document.get("data"))
        && names.iter().all(Json::is_string)
        && rows.iter().all(Json::is_array)
    {
        return rows_of_split(names, rows, document.get("index"));
    }
    if let Some(parts) = rows_of_parts(&document) {
        return Ok(parts);
    }
    if document.values().all(is_list_of_values) {
        return rows_of_lists(document);
    }
    if let Some(images) = take_image_list(&mut document) {
        return Ok(images);
    }
    let has_key = document.keys().any(|name| is_key_name(name, &KEYS));
    let mut lists = document
        .iter()
        .filter(|(_, value)| is_list_of_objects(value));
    if let (Some((name, _)), None, false) = (lists.next(), lists.next(), has_key) {
        let name = name.clone();
        if let Some(Json::Array(rows)) = document.remove(&name) {
            return Ok(JsonRows::from_values(rows));
        }
    }
    Ok(JsonRows::from_values([Json::Object(document)]))
}

fn is_list_of_objects(value: &Json) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| !items.is_empty() && items.iter().all(Json::is_object))
}

fn is_list_of_values(value: &Json) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| !items.is_empty() && !items.iter().any(Json::is_object))
}

/// An object of objects: columns where one of the names is that of a key or the keys are numbers of
/// rows, as pandas writes them by default; else rows by path.
fn rows_of_objects(document: Map<String, Json>) -> JsonRows {
    let objects: Vec<(String, Map<String, Json>)> = document
        .into_iter()
        .filter_map(|(name, value)| match value {
            Json::Object(object) => Some((name, object)),
            _ => None,
        })
        .collect();
    let Some((_, first)) = objects.first() else {
        return JsonRows::from_objects([]);
    };
    let has_keys_of_first = |object: &Map<String, Json>| object.keys().eq(first.keys());
    let is_alike = objects.iter().all(|(_, object)| has_keys_of_first(object));
    let is_numbered = first
        .keys()
        .enumerate()
        .all(|(row, key)| key.parse() == Ok(row));
    let has_key = objects.iter().any(|(name, _)| is_key_name(name, &KEYS));
    let index: Vec<Json> = first.keys().map(|key| Json::from(key.as_str())).collect();
    let columns = || collect_object_columns(&index, &objects);
    if is_alike && !index.is_empty() && (has_key || is_numbered) {
        return JsonRows::from_objects(rows_of_columns(&columns()));
    }
    let may_be_columns = is_alike && !index.is_empty() && objects.len() <= COLUMNS_GUESSED;
    let by_column = may_be_columns.then(columns);
    let rows = objects.into_iter().map(|(path, object)| {
        let mut row = Map::from_iter([("path".to_owned(), Json::String(path))]);
        row.extend(object);
        row
    });
    JsonRows {
        by_column,
        ..JsonRows::from_objects(rows)
    }
}

/// The objects as columns by their names, behind an index of the keys that they share.
fn collect_object_columns(
    index: &[Json],
    objects: &[(String, Map<String, Json>)],
) -> Vec<(String, Vec<Json>)> {
    let values = |object: &Map<String, Json>| object.values().cloned().collect();
    let named = objects
        .iter()
        .map(|(name, object)| (name.clone(), values(object)));
    let index = std::iter::once((INDEX_COLUMN.to_owned(), index.to_vec()));
    index.chain(named).collect()
}

/// The form `split` of pandas: names of the columns, lists of values, and the index.
fn rows_of_split(names: &[Json], rows: &[Json], index: Option<&Json>) -> Result<JsonRows> {
    let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
    let index = index.and_then(Json::as_array);
    let mut found = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let values = row.as_array().map(Vec::as_slice).unwrap_or_default();
        if values.len() != names.len() {
            return Err(Error::format(format!(
                "row {number} of the metadata table has {} values; it has {} columns",
                values.len(),
                names.len()
            )));
        }
        let mut object = Map::new();
        if let Some(key) = index.and_then(|index| index.get(number)) {
            object.insert(INDEX_COLUMN.to_owned(), key.clone());
        }
        let named = names.iter().map(|name| (*name).to_owned());
        object.extend(named.zip(values.iter().cloned()));
        found.push(object);
    }
    Ok(JsonRows::from_objects(found))
}

/// Lists of samples by the parts of a split that they are in, `{"train": […], "test": […]}`, as
/// rows of a sample and a part; `None` for other lists, and where a sample is in two of them.
fn rows_of_parts(document: &Map<String, Json>) -> Option<JsonRows> {
    let is_part = |name: &String| PARTS.contains(&name.to_ascii_lowercase().as_str());
    if document.len() < 2 || !document.keys().all(is_part) {
        return None;
    }
    let (mut samples, mut rows) = (HashSet::new(), Vec::new());
    for (part, list) in document {
        for sample in list.as_array()? {
            let sample = match sample {
                Json::String(text) => text.clone(),
                Json::Number(number) => number.to_string(),
                _ => return None,
            };
            rows.push((sample.clone(), part.clone()));
            if !samples.insert(sample) {
                return None;
            }
        }
    }
    let has_paths = rows.iter().any(|(sample, _)| sample.contains('/'));
    let key = if has_paths { "path" } else { "id" };
    let rows = rows.into_iter().map(|(sample, part)| {
        let cells = [(key, sample), ("split", part)];
        Map::from_iter(cells.map(|(name, text)| (name.to_owned(), Json::String(text))))
    });
    let names = list_first(document.keys(), WARNED_NAMES);
    Some(JsonRows {
        warning: Some(format!(
            "the lists of the metadata table are read as the parts of the column split: {names}"
        )),
        ..JsonRows::from_objects(rows)
    })
}

fn is_list_of_images(value: &Json) -> bool {
    let mut items = value.as_array().into_iter().flatten();
    is_list_of_objects(value) && items.all(|item| item.get(IMAGE_FILE).is_some())
}

/// The images of annotations in the form of COCO: the only list whose objects all name a file.
fn take_image_list(document: &mut Map<String, Json>) -> Option<JsonRows> {
    let mut lists = document
        .iter()
        .filter(|(_, value)| is_list_of_images(value));
    let (Some((name, _)), None) = (lists.next(), lists.next()) else {
        return None;
    };
    let name = name.clone();
    let others: Vec<String> = document
        .iter()
        .filter(|(other, value)| **other != name && is_list_of_objects(value))
        .map(|(other, _)| other.clone())
        .collect();
    let Some(Json::Array(rows)) = document.remove(&name) else {
        return None;
    };
    let warning = format!(
        "the list {} of the metadata table is read; others are not: {}",
        name.printable_line(),
        list_first(&others, WARNED_NAMES)
    );
    Some(JsonRows {
        warning: (!others.is_empty()).then_some(warning),
        ..JsonRows::from_values(rows)
    })
}

/// A list of values for each column.
fn rows_of_lists(document: Map<String, Json>) -> Result<JsonRows> {
    let columns: Vec<(String, Vec<Json>)> = document
        .into_iter()
        .filter_map(|(name, values)| match values {
            Json::Array(values) => Some((name, values)),
            _ => None,
        })
        .collect();
    let length = columns.first().map_or(0, |(_, values)| values.len());
    if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != length) {
        return Err(Error::format(format!(
            "the column {name} of the metadata table has {} values; others have {length}",
            values.len()
        )));
    }
    Ok(JsonRows::from_objects(rows_of_columns(&columns)))
}

/// The rows of columns of one length.
fn rows_of_columns(columns: &[(String, Vec<Json>)]) -> Vec<Map<String, Json>> {
    let length = columns.first().map_or(0, |(_, values)| values.len());
    let cell = |(name, values): &(String, Vec<Json>), row: usize| {
        Some((name.clone(), values.get(row)?.clone()))
    };
    (0..length)
        .map(|row| {
            columns
                .iter()
                .filter_map(|column| cell(column, row))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: &str) -> (Vec<String>, String) {
        let found = json_rows(content).expect("reads");
        let rows = found.rows.iter().map(|row| row.values.to_string());
        (rows.collect(), found.warning.unwrap_or_default())
    }

    #[test]
    fn lists_by_part_of_a_split_are_rows_of_samples() {
        let (rows, warning) = shown(r#"{"train": ["a", "b"], "test": ["c"]}"#);
        let wanted = [
            r#"{"id":"a","split":"train"}"#,
            r#"{"id":"b","split":"train"}"#,
            r#"{"id":"c","split":"test"}"#,
        ];
        let (mut rows, mut wanted) = (rows, wanted.map(str::to_owned).to_vec());
        rows.sort();
        wanted.sort();
        assert_eq!(rows, wanted);
        assert!(
            warning.contains("split") && warning.contains("train"),
            "{warning}"
        );
        let (rows, _) = shown(r#"{"train": ["x/a"], "val": ["x/b"]}"#);
        assert!(rows[0].contains("path"), "{rows:?}");
        // One sample in two parts, one list, and columns of values.
        for other in [
            r#"{"train": ["a"], "test": ["a"]}"#,
            r#"{"train": ["a"]}"#,
            r#"{"id": ["a"], "test": [1]}"#,
        ] {
            let (rows, warning) = shown(other);
            assert_eq!((rows.len(), warning.as_str()), (1, ""), "{other}");
        }
    }

    #[test]
    fn images_of_annotations_are_the_rows() {
        let (rows, warning) = shown(
            r#"{"info": {}, "images": [{"id": 1, "file_name": "a.tif"}],
                "annotations": [{"id": 7, "image_id": 1}], "categories": []}"#,
        );
        assert_eq!(rows.len(), 1);
        assert!(rows[0].contains("a.tif"), "{rows:?}");
        assert!(
            warning.contains("images") && warning.contains("annotations"),
            "{warning}"
        );
    }
}
