//! COLLECTION.json as bytes: read whatever is there, write as the Python tools do (key order, indentation, escapes).

use arrow::datatypes::{DataType, Schema};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::ByteSource;
use crate::error::{Error, Result};
use crate::model::{Collection, KNOWN_KEYS, PitSchema, dtype_name};

/// A COLLECTION.json larger than this is refused before it is read.
pub(super) const COLLECTION_MAX: u64 = 256 << 20;

/// The COLLECTION.json that is all of a file, here or elsewhere.
///
/// # Errors
/// When the file is larger than any collection, can't be read, or is none.
pub(super) fn collection_of(source: &ByteSource) -> Result<Collection> {
    let bytes = source.size_bytes();
    if bytes > COLLECTION_MAX {
        return Err(
            Error::format(format!("COLLECTION.json claims {bytes} bytes, more than {COLLECTION_MAX}")).at_path(source.path())
        );
    }
    parse_collection(&source.read(0, bytes)?)
}

/// Reads COLLECTION.json. A broken file is an error that says where.
pub fn parse_collection(bytes: &[u8]) -> Result<Collection> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        Ok(Json::Object(fields)) => Ok(Collection { fields }),
        Ok(_) => Err(Error::format("COLLECTION.json is not a JSON object")),
        Err(error) => Err(Error::format("COLLECTION.json is not readable as JSON").because(error)),
    }
}

/// The bytes of COLLECTION.json: known keys first, absent optional ones as null, then extensions, then what the tree says.
pub fn write_collection(collection: &Collection, pit: &PitSchema, field_schema: &Json) -> Result<Vec<u8>> {
    let mut fields = Map::new();
    for key in KNOWN_KEYS {
        fields.insert(key.into(), collection.fields.get(key).cloned().unwrap_or(Json::Null));
    }
    let mut last = Map::new();
    for (key, value) in collection.descriptive() {
        match key.as_str() {
            key if KNOWN_KEYS.contains(&key) => {}
            "taco:subset_of" | "taco:subset_date" => {
                last.insert(key, value);
            }
            _ => {
                fields.insert(key, value);
            }
        }
    }
    let pit = serde_json::to_value(pit).map_err(|error| Error::internal("the PIT schema is not JSON").because(error))?;
    fields.insert("taco:pit_schema".into(), pit);
    fields.insert("taco:field_schema".into(), field_schema.clone());
    fields.extend(last);
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    fields.serialize(&mut serializer).map_err(|error| Error::internal("the collection is not JSON").because(error))?;
    Ok(bytes)
}

/// `taco:field_schema`: for each level its columns as `[name, type, description]`, without those that are added on writing.
/// Descriptions come from `known` (the schema of the dataset that was opened), else from the fields that every dataset has.
pub fn field_schema_of(levels: &[Schema], known: Option<&Json>) -> Json {
    let mut object = Map::new();
    for (depth, schema) in levels.iter().enumerate() {
        let key = format!("level{depth}");
        let described = |name: &str| -> Option<&str> {
            let columns = known?.get(&key)?.as_array()?;
            columns.iter().find(|column| column.get(0).and_then(Json::as_str) == Some(name))?.get(2)?.as_str()
        };
        let hidden = ["internal:offset", "internal:size", "internal:source_file", "internal:gdal_vsi"];
        let columns = schema.fields().iter().filter(|field| !hidden.contains(&field.name().as_str())).map(|field| {
            let own = field.metadata().get(DESCRIPTION).map(String::as_str).filter(|text| !text.is_empty());
            let text = own.or_else(|| described(field.name())).unwrap_or_else(|| standard_description(field.name()));
            json!([field.name(), in_memory_name(field.data_type()), text])
        });
        object.insert(key.clone(), Json::Array(columns.collect()));
    }
    Json::Object(object)
}

/// The key under which a field's description travels in an Arrow schema between draft and writer.
pub(super) const DESCRIPTION: &str = "taco:description";

/// The type's name in lower case with list elements called `item`, as the tools name them before writing.
fn in_memory_name(dtype: &DataType) -> String {
    dtype_name(dtype).to_lowercase().replace("<element: ", "<item: ")
}

fn standard_description(name: &str) -> &'static str {
    match name {
        "id" => "Identifier of the sample, unique among its siblings.",
        "type" => "Type of the sample: FILE or FOLDER.",
        "internal:current_id" => "Row of the sample in this level, from 0.",
        "internal:parent_id" => "Row of the parent in the level above.",
        "internal:relative_path" => "Path of the sample below DATA/.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_in_the_tools_order() {
        let mut collection = Collection::default();
        collection.set("labels:num_classes", Some(json!(2)));
        collection.set("id", Some(json!("ñandú")));
        collection.set("taco:pit_schema", Some(json!("stale")));
        let pit = PitSchema {
            root: crate::model::PitRoot { n: 1, kind: crate::model::SampleKind::File },
            shape: vec![1],
            hierarchy: Default::default(),
        };
        let bytes = write_collection(&collection, &pit, &json!({})).expect("writes");
        let text = String::from_utf8(bytes).expect("is UTF-8");
        assert!(text.starts_with("{\n    \"id\": \"ñandú\",\n    \"dataset_version\": null,"), "{text}");
        let again = parse_collection(text.as_bytes()).expect("reads");
        let keys: Vec<&str> = again.fields.keys().map(String::as_str).collect();
        assert_eq!(keys[10..], ["extent", "labels:num_classes", "taco:pit_schema", "taco:field_schema"]);
        assert!(!text.ends_with('\n'));
    }
}
