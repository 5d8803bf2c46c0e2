//! COLLECTION.json as bytes: tolerant reading, and writing with the key order, indentation and
//! escapes of the Python tools.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use arrow::datatypes::{DataType, Schema};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::ByteSource;
use crate::error::{Error, IoContext, Result};
use crate::files::utf16_units;
use crate::model::{Collection, KNOWN_KEYS, PitSchema, dtype_name};

/// Maximum size of a COLLECTION.json in bytes. A TACOLLECTION of 100,000 parts has about 10 MB.
const BYTES_MAX: u64 = 64 << 20;
/// Maximum number of JSON values and keys; each takes up to 100 bytes of memory.
const VALUES_MAX: usize = 1_000_000;
/// Begins texts in UTF-8 of some programs.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the COLLECTION.json stored at a byte range of `file`.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when `size` exceeds the limit, before anything is read;
/// [`crate::error::Kind::Format`] when the bytes are not a JSON object.
pub fn read_collection(file: &ByteSource, offset: u64, size: u64) -> Result<Collection> {
    let size = check_collection_size(size)?;
    parse_collection(&file.read(offset, size)?)
}

fn check_collection_size(size: u64) -> Result<u64> {
    if size > BYTES_MAX {
        return Err(collection_limit_error(&format!(
            "has {size} bytes; the limit is {BYTES_MAX}"
        )));
    }
    Ok(size)
}

/// Reads a COLLECTION.json that is a file of its own, and may be in UTF-16.
///
/// # Errors
/// As [`read_collection`], with the path added.
pub fn read_collection_file(path: &Path) -> Result<Collection> {
    let file = ByteSource::open(path)?;
    read_decoded_collection(&file).map_err(|error| error.at_path(path))
}

fn read_decoded_collection(file: &ByteSource) -> Result<Collection> {
    let size = check_collection_size(file.size_bytes())?;
    parse_collection(&json_in_utf8(&file.read(0, size)?))
}

fn collection_limit_error(what: &str) -> Error {
    Error::too_large(format!("COLLECTION.json {what}"))
        .hint("the file is damaged or malicious: do not trust it")
}

/// Reads a JSON document of untrusted origin: a script, a recipe or a mapping.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when the file exceeds the limit, before it is read; an IO error
/// when it cannot be read, where `doing` completes "could not …".
pub fn read_json_document(path: &Path, doing: &str) -> Result<Vec<u8>> {
    let file = crate::files::open(path).io_at(doing, path)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .io_at(doing, path)?;
    if let Some(error) = crate::files::unfetched_file_error(&bytes) {
        return Err(error.at_path(path));
    }
    check_collection_size(bytes.len() as u64).map_err(|error| error.at_path(path))?;
    let bytes = json_in_utf8(&bytes).into_owned();
    check_json(&bytes).map_err(|error| error.at_path(path))?;
    Ok(bytes)
}

/// JSON of a user or of another program in UTF-8, without a byte order mark: UTF-16 is decoded.
fn json_in_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some((is_little, units)) = utf16_units(bytes) else {
        return Cow::Borrowed(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes));
    };
    let decode = if is_little {
        u16::from_le_bytes
    } else {
        u16::from_be_bytes
    };
    let units = units.iter().map(|pair| decode(*pair));
    match char::decode_utf16(units).collect::<Result<String, _>>() {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(bytes),
    }
}

/// Checks the size and number of values of a JSON document before it is parsed.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when either exceeds its limit.
pub fn check_json(bytes: &[u8]) -> Result<()> {
    let values = values_in(bytes);
    if bytes.len() as u64 > BYTES_MAX || values > VALUES_MAX {
        let summary = format!(
            "the document has {} bytes or more and {values} values",
            bytes.len()
        );
        return Err(Error::too_large(format!(
            "{summary}; the limits are {BYTES_MAX} and {VALUES_MAX}"
        )));
    }
    Ok(())
}

/// Number of brackets, commas and colons outside strings: an estimate of the number of values and
/// keys.
fn values_in(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' | b',' | b':' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Parses COLLECTION.json.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] for too many values; [`crate::error::Kind::Format`], with line
/// and column, for anything but a JSON object.
pub fn parse_collection(bytes: &[u8]) -> Result<Collection> {
    if let Some(error) = crate::files::unfetched_file_error(bytes) {
        return Err(error);
    }
    if utf16_units(bytes).is_some() {
        return Err(
            Error::format("COLLECTION.json is in UTF-16, and JSON files are in UTF-8")
                .hint("save it in UTF-8"),
        );
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let values = values_in(bytes);
    if values > VALUES_MAX {
        return Err(collection_limit_error(&format!(
            "has {values} values; the limit is {VALUES_MAX}"
        )));
    }
    match serde_json::from_slice(bytes) {
        Ok(Json::Object(fields)) => Ok(Collection { fields }),
        Ok(_) => Err(Error::format("COLLECTION.json is not a JSON object")),
        Err(error) => {
            let unreadable = Error::format("COLLECTION.json is not readable as JSON");
            let unreadable = match std::str::from_utf8(bytes) {
                Ok(_) => unreadable,
                Err(_) => unreadable.hint("save it in UTF-8"),
            };
            Err(unreadable.because(error))
        }
    }
}

/// Serializes COLLECTION.json (TACO 2.0, section 5.5.2): known keys first (absent optional ones as
/// null), then extensions, then `taco:pit_schema` and `taco:field_schema`.
///
/// # Errors
/// [`crate::error::Kind::Internal`] when a value cannot be serialized.
pub fn write_collection(
    collection: &Collection,
    pit: &PitSchema,
    field_schema: &Json,
) -> Result<Vec<u8>> {
    let mut fields = Map::new();
    for key in KNOWN_KEYS {
        fields.insert(
            key.into(),
            collection.fields.get(key).cloned().unwrap_or(Json::Null),
        );
    }
    let mut last = Map::new();
    for (key, value) in collection.descriptive_fields() {
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
    let pit = serde_json::to_value(pit)
        .map_err(|error| Error::internal("the PIT schema is not JSON").because(error))?;
    fields.insert("taco:pit_schema".into(), pit);
    fields.insert("taco:field_schema".into(), field_schema.clone());
    fields.extend(last);
    collection_text(&fields)
}

/// COLLECTION.json with these fields in their order, in the form of the Python tools.
///
/// # Errors
/// [`crate::error::Kind::Internal`] when a value cannot be serialized.
pub fn collection_text(fields: &Map<String, Json>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    fields
        .serialize(&mut serializer)
        .map_err(|error| Error::internal("the collection is not JSON").because(error))?;
    Ok(bytes)
}

/// `taco:field_schema`: for each level its columns as `[name, type, description]`, without
/// `internal:offset`, `internal:size` and `internal:source_file`. Descriptions come from `known`
/// (the schema of the opened dataset), else from the built-in ones of the standard columns.
pub fn field_schema_of(levels: &[Schema], known: Option<&Json>) -> Json {
    let mut object = Map::new();
    for (depth, schema) in levels.iter().enumerate() {
        let key = format!("level{depth}");
        let hidden = [
            "internal:offset",
            "internal:size",
            "internal:source_file",
            "internal:gdal_vsi",
        ];
        let columns = schema
            .fields()
            .iter()
            .filter(|field| !hidden.contains(&field.name().as_str()))
            .map(|field| {
                let own = field
                    .metadata()
                    .get(DESCRIPTION)
                    .map(String::as_str)
                    .filter(|text| !text.is_empty());
                let text = own
                    .or_else(|| find_description(known?, &key, field.name()))
                    .unwrap_or_else(|| standard_description(field.name()));
                json!([field.name(), in_memory_name(field.data_type()), text])
            });
        object.insert(key.clone(), Json::Array(columns.collect()));
    }
    Json::Object(object)
}

/// The description of a column of the level with this key, as `level0`, in a `taco:field_schema`.
pub fn find_description<'a>(schema: &'a Json, level: &str, column: &str) -> Option<&'a str> {
    let columns = schema.get(level)?.as_array()?;
    columns
        .iter()
        .find(|known| known.get(0).and_then(Json::as_str) == Some(column))?
        .get(2)?
        .as_str()
}

/// Arrow field metadata key that carries a field's description from the draft to the writer.
pub(super) const DESCRIPTION: &str = "taco:description";

/// The type's name in lower case with list elements called `item`: the type before Parquet
/// coercion, as the Python tools spell it.
fn in_memory_name(dtype: &DataType) -> String {
    dtype_name(dtype)
        .to_lowercase()
        .replace("<element: ", "<item: ")
}

fn standard_description(name: &str) -> &'static str {
    match name {
        "id" => "Identifier of the sample, unique among its siblings.",
        "type" => "Type of the sample: FILE or FOLDER.",
        "path" => "Place of the data in the container; that of a FOLDER ends with a slash.",
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
    fn a_collection_that_fills_the_memory_is_refused_before_it_is_read() {
        let many = format!("{{\"id\": [{}0]}}", "0,".repeat(VALUES_MAX));
        let error = parse_collection(many.as_bytes()).expect_err("is too much");
        assert!(
            error.is_too_large() && error.to_string().contains("values"),
            "{error}"
        );
        let text = format!("{{\"id\": \"{}\"}}", ",:[\\\"".repeat(VALUES_MAX));
        assert!(
            parse_collection(text.as_bytes()).is_ok(),
            "texts count once, whatever is in them"
        );
        let deep = "[".repeat(100_000);
        assert!(parse_collection(format!("{{\"id\": {deep}").as_bytes()).is_err());
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("COLLECTION.json");
        std::fs::File::create(&path)
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
        for error in [
            read_collection_file(&path).map(|_| ()),
            read_json_document(&path, "read the document").map(|_| ()),
        ] {
            assert!(error.expect_err("is a terabyte").is_too_large());
        }
    }

    #[test]
    fn collections_of_users_are_read_in_the_encodings_that_their_programs_write() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("collection.json");
        let text = "{\"title\": \"Año\"}";
        for mark in ["", "\u{feff}"] {
            let marked = format!("{mark}{text}");
            let units: Vec<u16> = marked.encode_utf16().collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            for (bytes, is_json) in [
                (marked.clone().into_bytes(), true),
                (little, false),
                (big, false),
            ] {
                std::fs::write(&path, &bytes).expect("writes");
                let read = read_collection_file(&path).expect("reads");
                assert_eq!(read.fields["title"], "Año", "{bytes:?}");
                let document = read_json_document(&path, "read the document").expect("reads");
                assert_eq!(document, text.as_bytes());
                // Readers of datasets expect UTF-8.
                let parsed = parse_collection(&bytes);
                assert_eq!(parsed.is_ok(), is_json, "{bytes:?}");
                if let Err(error) = parsed {
                    assert!(error.to_string().contains("UTF-16"), "{error}");
                }
            }
        }
        let latin = parse_collection(b"{\"title\": \"A\xF1o\"}").expect_err("is not UTF-8");
        assert!(!latin.hints().is_empty(), "{latin}");
    }

    #[test]
    fn a_pointer_in_place_of_a_collection_is_named() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n";
        let error = parse_collection(pointer).expect_err("is no JSON");
        assert!(error.to_string().contains("Git LFS"), "{error}");
    }

    #[test]
    fn keys_are_written_in_the_tools_order() {
        let mut collection = Collection::default();
        collection.set("labels:num_classes", Some(json!(2)));
        collection.set("id", Some(json!("ñandú")));
        collection.set("taco:pit_schema", Some(json!("stale")));
        let pit = PitSchema {
            root: crate::model::PitRoot {
                n: 1,
                kind: crate::model::SampleKind::File,
            },
            shape: vec![1],
            hierarchy: Default::default(),
        };
        let bytes = write_collection(&collection, &pit, &json!({})).expect("writes");
        let text = String::from_utf8(bytes).expect("is UTF-8");
        assert!(
            text.starts_with("{\n    \"id\": \"ñandú\",\n    \"dataset_version\": null,"),
            "{text}"
        );
        let again = parse_collection(text.as_bytes()).expect("reads");
        let keys: Vec<&str> = again.fields.keys().map(String::as_str).collect();
        assert_eq!(
            keys[10..],
            [
                "extent",
                "labels:num_classes",
                "taco:pit_schema",
                "taco:field_schema"
            ]
        );
        assert!(!text.ends_with('\n'));
    }
}
