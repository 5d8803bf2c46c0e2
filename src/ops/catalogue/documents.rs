//! Documents of a catalogue: from a file or an address through its links to the Items.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::item_tables::{is_item_table, read_item_table};
use super::items::ItemCollector;
use super::json_reader::JsonReader;
use super::search::{ItemSearch, address_of_link};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{Address, is_remote};
use crate::remote::RemoteFile;

/// Largest document in bytes.
const DOCUMENT_MAX: u64 = 1 << 30;
/// The member of a collection with its Items.
const FEATURES: &str = "features";
/// Documents that are read of one catalogue.
const DOCUMENTS_MAX: usize = 1_000_000;
/// JSON documents of datasets, which no catalogue has.
const DATASET_DOCUMENTS: [&str; 3] = ["COLLECTION.json", "TACOLLECTION.json", "taco.json"];
/// Endings of the names of documents; those of lines are lists of Items.
const DOCUMENT_ENDINGS: [&str; 7] = [
    "json",
    "geojson",
    "ndjson",
    "jsonl",
    "geojsonl",
    "geojsons",
    "geojsonseq",
];
/// Begins texts in UTF-8 of some programs.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes of a file in which its kind is looked for.
const HEAD: usize = 64 << 10;

/// True for a STAC document: a JSON file by its name and its first bytes; a table of Items by its
/// columns; an address by its name, which is that of a JSON document, of a search, of a list of
/// items or of an API (`…/stac`, `…/stac/v1`).
pub fn is_catalogue(path: &Path) -> bool {
    if let Some(address) = Address::from_path(path) {
        let name = address.name().to_ascii_lowercase();
        let parent = address.parent();
        let is_listed = matches!(parent.name(), "items" | "collections");
        if DATASET_DOCUMENTS
            .iter()
            .any(|known| name == known.to_ascii_lowercase())
        {
            return false;
        }
        let is_document = name.ends_with(".json") || name.ends_with(".geojson");
        let is_version = name.strip_prefix('v').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        // The folder of a dataset may be a version as well.
        let is_of_api = ["search", "items", "stac"].contains(&name.as_str())
            || (is_version && mentions_stac(&address))
            || is_listed;
        return is_document || (address.is_web() && is_of_api);
    }
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .map(str::to_ascii_lowercase);
    if !ending.is_some_and(|ending| DOCUMENT_ENDINGS.contains(&ending.as_str())) {
        return is_item_table(path);
    }
    let Ok(mut file) = crate::files::open(path) else {
        return false;
    };
    let mut head = Vec::new();
    if file
        .by_ref()
        .take(HEAD as u64)
        .read_to_end(&mut head)
        .is_err()
    {
        return false;
    }
    let text = String::from_utf8_lossy(&head);
    text.contains("\"stac_version\"") || (text.contains("\"assets\"") && text.contains("\"Feature"))
}

fn mentions_stac(address: &Address) -> bool {
    address
        .to_string()
        .to_ascii_lowercase()
        .split(['/', '.', '-'])
        .any(|word| word == "stac")
}

/// Takes the Items of a catalogue in the order of its documents. The search of an API is asked for
/// them; of others each document is read.
///
/// # Errors
/// For a document that can't be read or is no STAC, and links that lead nowhere.
pub(super) fn read_items(
    path: &Path,
    search: &ItemSearch,
    items: &mut ItemCollector<'_>,
    ctx: &JobContext,
) -> Result<()> {
    if is_item_table(path) {
        return read_item_table(path, items, ctx);
    }
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    // Documents that are still to be read, the next one last.
    let mut waiting = vec![search.address(path).unwrap_or_else(|| path.to_owned())];
    while let Some(place) = waiting.pop() {
        ctx.check()?;
        if items.is_full() {
            break;
        }
        if !seen.insert(place.clone()) {
            continue;
        }
        if seen.len() > DOCUMENTS_MAX {
            return Err(Error::too_large(format!(
                "the catalogue has more than {DOCUMENTS_MAX} documents"
            ))
            .at_path(path));
        }
        let place: Arc<Path> = place.into();
        let document = if is_remote(&place) {
            remote_document(&place)?
        } else {
            local_document(&place, items, ctx)?
        };
        let mut linked = match search.linked_address(&place, &document)? {
            Some(search) => vec![search],
            None => take_document(&place, document, items)?,
        };
        linked.reverse();
        waiting.extend(linked);
        ctx.step(1);
    }
    Ok(())
}

/// Takes the Items of a document; returns the documents that it links to.
fn take_document(
    place: &Arc<Path>,
    mut document: Json,
    items: &mut ItemCollector<'_>,
) -> Result<Vec<PathBuf>> {
    if let Json::Array(listed) = document {
        for item in listed {
            items.add(place, item, None)?;
        }
        return Ok(Vec::new());
    }
    let kind = kind_of(&document).to_owned();
    let has = |name: &str| document.get(name).is_some();
    let kind = match kind.as_str() {
        // Catalogues before STAC 1.0 state no type.
        "" if has("stac_version") && has("links") => "Catalog",
        kind => kind,
    };
    match kind {
        "Feature" => {
            items.add(place, document, None)?;
            Ok(Vec::new())
        }
        "FeatureCollection" => {
            let features = document.get_mut("features").map(Json::take);
            let Some(Json::Array(features)) = features else {
                return Err(Error::format("the collection of items has no features").at_path(place));
            };
            for feature in features {
                items.add(place, feature, None)?;
            }
            links(place, &document, &["next"])
        }
        "Collection" | "Catalog" => {
            let listed = links(place, &document, &["items"])?;
            // An API lists the items of a collection together.
            if listed.is_empty() {
                links(place, &document, &["item", "child"])
            } else {
                Ok(listed)
            }
        }
        other => Err(
            Error::format(format!("this is no STAC document: its type is {other:?}"))
                .at_path(place)
                .hint(
                    "a STAC document is a Feature, a FeatureCollection, a Collection or a Catalog",
                ),
        ),
    }
}

fn kind_of(document: &Json) -> &str {
    document
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or_default()
}

/// The places of the links with these relations.
fn links(place: &Path, document: &Json, relations: &[&str]) -> Result<Vec<PathBuf>> {
    let Some(links) = document.get("links").and_then(Json::as_array) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for relation in relations {
        for link in links
            .iter()
            .filter(|link| link.get("rel").and_then(Json::as_str) == Some(relation))
        {
            found.extend(address_of_link(place, link)?);
        }
    }
    Ok(found)
}

fn too_large(place: &Path) -> Error {
    Error::too_large(format!(
        "a document of a catalogue has at most {DOCUMENT_MAX} bytes"
    ))
    .at_path(place)
}

fn no_json(place: &Path, error: serde_json::Error) -> Error {
    Error::format("a document of the catalogue is no JSON")
        .at_path(place)
        .because(error)
}

fn remote_document(place: &Path) -> Result<Json> {
    // APIs answer without ranges.
    let file = RemoteFile::open(place, DOCUMENT_MAX)?;
    if file.size_bytes() > DOCUMENT_MAX {
        return Err(too_large(place));
    }
    let bytes = file.read(0, file.size_bytes())?;
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    serde_json::from_reader(JsonReader::new(text)).map_err(|error| no_json(place, error))
}

/// A document of this machine. The features of a collection are taken one by one while it is read,
/// and the collection has none any more: a file may have a hundred thousand.
fn local_document(
    place: &Arc<Path>,
    items: &mut ItemCollector<'_>,
    ctx: &JobContext,
) -> Result<Json> {
    let (file, metadata) =
        crate::files::open_with_metadata(place).io_at("read the catalogue", &**place)?;
    if metadata.len() > DOCUMENT_MAX {
        return Err(too_large(place));
    }
    let mut features = FeatureCollector {
        items,
        place,
        ctx,
        failed: None,
    };
    let mut text = BufReader::new(file);
    let start = text.fill_buf().io_at("read the catalogue", &**place)?;
    if let Some(error) = crate::files::unfetched_file_error(start) {
        return Err(error.at_path(place));
    }
    if start.starts_with(BYTE_ORDER_MARK) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    let mut read = serde_json::Deserializer::from_reader(JsonReader::new(text));
    let document = read_documents(&mut read, &mut features);
    match (features.failed, document) {
        (Some(error), _) => Err(error),
        (None, Err(error)) if error.is_io() => Err(Error::io(
            "read the catalogue",
            place,
            std::io::Error::from(error),
        )),
        (None, document) => document.map_err(|error| no_json(place, error)),
    }
}

/// The document, or the last of the Items that follow each other, whose others are collected.
fn read_documents<R: Read>(
    read: &mut serde_json::Deserializer<serde_json::de::IoRead<R>>,
    features: &mut FeatureCollector<'_, '_>,
) -> serde_json::Result<Json> {
    loop {
        let visitor = DocumentVisitor {
            features: &mut *features,
        };
        let document = Deserializer::deserialize_any(&mut *read, visitor)?;
        let Err(error) = read.end() else {
            return Ok(document);
        };
        if error.is_io() || kind_of(&document) != "Feature" {
            return Err(error);
        }
        if !features.add_feature(document) {
            return Err(serde_json::Error::custom("stopped"));
        }
    }
}

/// Takes the features of a document that is read, until one fails.
struct FeatureCollector<'a, 'i> {
    items: &'a mut ItemCollector<'i>,
    place: &'a Arc<Path>,
    ctx: &'a JobContext,
    failed: Option<Error>,
}

impl FeatureCollector<'_, '_> {
    /// False when reading has to stop.
    fn add_feature(&mut self, feature: Json) -> bool {
        let checked = self.ctx.check();
        let added = checked.and_then(|()| self.items.add(self.place, feature, None));
        self.failed = added.err();
        self.failed.is_none()
    }
}

/// Reads an object without its list `features`, whose elements are collected.
struct DocumentVisitor<'a, 'c, 'i> {
    features: &'a mut FeatureCollector<'c, 'i>,
}

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_, '_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    /// A list of Items.
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<Json, A::Error> {
        FeatureVisitor {
            features: self.features,
        }
        .visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Json, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = if name == FEATURES {
                map.next_value_seed(FeatureVisitor {
                    features: &mut *self.features,
                })?
            } else {
                map.next_value()?
            };
            members.insert(name, value);
        }
        Ok(Json::Object(members))
    }
}

struct FeatureVisitor<'a, 'c, 'i> {
    features: &'a mut FeatureCollector<'c, 'i>,
}

impl<'de> DeserializeSeed<'de> for FeatureVisitor<'_, '_, '_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Json, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FeatureVisitor<'_, '_, '_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of features")
    }

    fn visit_unit<E>(self) -> std::result::Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Json, A::Error> {
        while let Some(feature) = list.next_element()? {
            if !self.features.add_feature(feature) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(Json::Array(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogues_are_told_from_datasets_and_tables() {
        for (address, is_one) in [
            ("https://host/v1/search?collections=a&limit=2", true),
            ("https://host/collections/a/items", true),
            ("https://host/collections/a", true),
            ("https://host/stac/catalog.json", true),
            ("https://host/api/stac/v1", true),
            ("https://stac.host/v1", true),
            ("https://host/data/v1", false),
            ("https://host/stac", true),
            ("https://host/data/v1.tacozip", false),
            ("https://host/v", false),
            ("https://host/data/TACOLLECTION.json", false),
            ("https://host/data/COLLECTION.json", false),
            ("https://host/data/taco.json", false),
            ("https://host/data/set.tacozip", false),
            ("s3://bucket/items/a.json", true),
            ("s3://bucket/items", false),
        ] {
            assert_eq!(is_catalogue(Path::new(address)), is_one, "{address}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text, is_one) in [
            ("item.json", r#"{"type": "Feature", "assets": {}}"#, true),
            (
                "catalog.json",
                r#"{"stac_version": "0.9.0", "links": []}"#,
                true,
            ),
            (
                "points.geojson",
                r#"{"type": "FeatureCollection", "features": []}"#,
                false,
            ),
            ("table.json", r#"[{"id": "a", "assets": 3}]"#, false),
            (
                "items.ndjson",
                r#"{"type": "Feature", "stac_version": "1.0.0"}"#,
                true,
            ),
            (
                "item.txt",
                r#"{"type": "Feature", "stac_version": "1.0.0"}"#,
                false,
            ),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("writes");
            assert_eq!(is_catalogue(&path), is_one, "{name}");
        }
    }
}
