//! COLLECTION of 2.0 → that of TACO 0.2, in the form that the official tools of that time read, and
//! what is lost on the way. Pure: JSON in, JSON and sentences out. The way back is
//! `ops/migrate/collection.rs`.

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::model::{EXTENT_ORIGIN, SPLITS_0_2, TASKS_0_2, missing_of_taco_0_2, parse_utc_time};

/// The version of the specification that is followed.
const VERSION: &str = "0.2.0";
/// Name of an unnamed sensor: the official tools refuse bands without a sensor.
const UNKNOWN_SENSOR: &str = "unknown";

/// A collection in the form of TACO 0.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OldCollection {
    /// The fields.
    pub fields: Map<String, Json>,
    /// What was left out, or was filled in without a source, each in a sentence without a capital.
    pub notes: Vec<String>,
}

/// Maps the fields of 2.0. Fields that have the form of 0.2 already stay as they are, so that
/// either form may be given. `taco:*` fields describe a dataset of 2.0 and are left out, as is the
/// note of where the extent comes from.
pub fn of_2_0(fields: &Map<String, Json>) -> OldCollection {
    let mut old = OldCollection::default();
    let says = |value: &Json| !value.is_null() && *value != Json::Array(Vec::new());
    for (key, value) in fields
        .iter()
        .filter(|(key, value)| !key.starts_with("taco:") && says(value))
    {
        match key.as_str() {
            "tasks" => old.put_tasks(value),
            "taco_version" => drop(old.fields.insert(key.clone(), version_of(value))),
            "split:strategy" => drop(old.fields.insert("split_strategy".into(), value.clone())),
            "providers" | "curators" => drop(old.fields.insert(key.clone(), contacts(value))),
            "extent" => drop(old.fields.insert(key.clone(), extent(value))),
            EXTENT_ORIGIN | "labels:classes" | "labels:description" | "labels:num_classes" => {}
            "optical:sensor" | "optical:bands" | "optical:num_bands" => {}
            "sci:doi" | "sci:citation" | "publications:list" => {}
            "publications" if fields.get("scientific").is_none_or(Json::is_null) => {}
            _ => drop(old.fields.insert(key.clone(), value.clone())),
        }
    }
    old.fields
        .entry("taco_version")
        .or_insert_with(|| json!(VERSION));
    old.put_labels(fields);
    old.put_optical(fields);
    old.put_scientific(fields);
    old
}

/// An error that names every core field that is empty (TACO 0.2, table 2). Called before a file is
/// written.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) when a core field is missing or empty.
pub fn need_core_fields(fields: &Map<String, Json>) -> Result<()> {
    let missing = missing_of_taco_0_2(fields);
    if missing.is_empty() {
        return Ok(());
    }
    let error = Error::invalid(format!(
        "the collection of a TACO 0.2 file needs {}",
        missing.join(", ")
    ));
    let error =
        error.hint("fill the fields of the collection, or write a .tortilla, which has none");
    Err(if missing.iter().any(|field| field.starts_with("extent")) {
        error.hint(
            "the extent is computed where samples have a place and a time (`extend --with stac`)",
        )
    } else {
        error
    })
}

fn version_of(value: &Json) -> Json {
    match value.as_str() {
        Some(version) if version.starts_with("0.") || version.starts_with("1.") => value.clone(),
        _ => json!(VERSION),
    }
}

impl OldCollection {
    /// Gives the fields the form of the specification where that of the official tools differs: an
    /// extent of four numbers and two times in milliseconds, words as the specification spells
    /// them, sensor and bands among the other fields.
    pub fn put_text_form(&mut self) {
        if let Some(extent) = self.fields.get_mut("extent").and_then(Json::as_object_mut) {
            for (key, value) in extent.iter_mut() {
                if let Some([only]) = value.as_array().map(Vec::as_slice)
                    && only.is_array()
                {
                    *value = only.clone();
                }
                if let (true, Some(ends)) = (key == "temporal", value.as_array_mut()) {
                    ends.iter_mut()
                        .for_each(|end| *end = to_milliseconds(end).unwrap_or_else(|| end.take()));
                }
            }
        }
        self.spell("task", &TASKS_0_2, &[("detection", "Object Detection")]);
        self.spell("split_strategy", &SPLITS_0_2, &[("manual", "other")]);
        if let Some(Json::Object(optical)) = self.fields.shift_remove("optical_data") {
            for (key, value) in optical {
                self.fields.entry(key).or_insert(value);
            }
        }
    }

    /// Writes a word of the specification as it spells it; words of the official tools that it
    /// lacks become others.
    fn spell(&mut self, key: &str, words: &[&str], others: &[(&str, &str)]) {
        let Some(given) = self.fields.get(key).and_then(Json::as_str) else {
            return;
        };
        let plain = |text: &str| text.trim().to_lowercase().replace([' ', '_'], "-");
        let replaced = others
            .iter()
            .find(|(word, _)| *word == plain(given))
            .map(|(_, other)| *other);
        let spelled = words
            .iter()
            .copied()
            .find(|word| plain(word) == plain(given));
        let Some(word) = spelled.or(replaced) else {
            return;
        };
        if spelled.is_none() {
            self.notes
                .push(format!("TACO 0.2 has no {key} {given}: {word} is written"));
        }
        self.fields.insert(key.to_owned(), json!(word));
    }

    /// The first task; TACO 0.2 has one.
    fn put_tasks(&mut self, value: &Json) {
        let given: Vec<&str> = match value {
            Json::Array(list) => list.iter().filter_map(Json::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        };
        let Some((first, others)) = given.split_first() else {
            return;
        };
        let task = match *first {
            // Tasks of 2.0 that 0.2 has no word for.
            "other" | "foundation-model" => "general",
            same => same,
        };
        if task != *first {
            self.notes.push(format!(
                "the task {first} is unknown to TACO 0.2 and is written as {task}"
            ));
        }
        if !others.is_empty() {
            self.notes.push(format!(
                "TACO 0.2 has one task: {} left out, {task} kept",
                others.join(", ")
            ));
        }
        self.fields.insert("task".into(), json!(task));
    }

    fn put_labels(&mut self, fields: &Map<String, Json>) {
        let Some(classes) = fields
            .get("labels:classes")
            .and_then(Json::as_array)
            .filter(|list| !list.is_empty())
        else {
            return;
        };
        let mut without = Vec::new();
        let classes: Vec<Json> = classes
            .iter()
            .map(|class| {
                let mut class = match class {
                    Json::Object(class) => class.clone(),
                    Json::String(name) => Map::from_iter([("name".to_owned(), json!(name))]),
                    other => return other.clone(),
                };
                if class.get("category").is_none_or(Json::is_null) {
                    let name = class.get("name").cloned().unwrap_or_default();
                    without.push(name.as_str().unwrap_or_default().to_owned());
                    class.insert("category".into(), name);
                }
                Json::Object(class)
            })
            .collect();
        if !without.is_empty() {
            self.notes.push(format!(
                "TACO 0.2 requires a category for each class: that of {} is its name",
                without.join(", ")
            ));
        }
        let mut labels = Map::from_iter([("label_classes".to_owned(), Json::Array(classes))]);
        if let Some(text) = fields
            .get("labels:description")
            .filter(|text| !text.is_null())
        {
            labels.insert("label_description".into(), text.clone());
        }
        self.fields.insert("labels".into(), Json::Object(labels));
    }

    /// `optical_data`, as the official tools call what the specification describes as `sensor` and
    /// `bands`.
    fn put_optical(&mut self, fields: &Map<String, Json>) {
        let sensor = fields
            .get("optical:sensor")
            .filter(|sensor| !sensor.is_null());
        let bands = fields
            .get("optical:bands")
            .and_then(Json::as_array)
            .filter(|bands| !bands.is_empty());
        if sensor.is_none() && bands.is_none() {
            return;
        }
        let mut optical = Map::new();
        if sensor.is_none() {
            self.notes.push(format!(
                "TACO 0.2 has no bands without a sensor: it is called {UNKNOWN_SENSOR}"
            ));
        }
        optical.insert(
            "sensor".into(),
            sensor.cloned().unwrap_or_else(|| json!(UNKNOWN_SENSOR)),
        );
        if let Some(bands) = bands {
            let numbered = bands.iter().enumerate().map(|(at, band)| {
                let mut band = band.clone();
                // The official tools refuse a band without this key.
                if let Some(fields) = band
                    .as_object_mut()
                    .filter(|fields| fields.get("index").is_none_or(Json::is_null))
                {
                    fields.insert("index".into(), json!(at));
                }
                band
            });
            optical.insert("bands".into(), numbered.collect());
        }
        self.fields
            .insert("optical_data".into(), Json::Object(optical));
    }

    /// `scientific`: the dataset's own reference, and its publications. The official tools refuse
    /// values that are absent, so they are empty texts.
    fn put_scientific(&mut self, fields: &Map<String, Json>) {
        if self
            .fields
            .get("scientific")
            .is_some_and(|value| !value.is_null())
        {
            return;
        }
        let list = ["publications", "publications:list"]
            .iter()
            .find_map(|key| fields.get(*key)?.as_array());
        let own =
            ["sci:doi", "sci:citation"].map(|key| fields.get(key).filter(|value| !value.is_null()));
        if list.is_none_or(Vec::is_empty) && own == [None, None] {
            return;
        }
        let publications: Vec<Json> = list
            .into_iter()
            .flatten()
            .map(convert_publication)
            .collect();
        let scientific = json!({
            "doi": read_text_or_empty(own[0]),
            "citation": read_text_or_empty(own[1]),
            "summary": "",
            "publications": publications,
        });
        self.fields.insert("scientific".into(), scientific);
    }
}

/// Contacts with lists of addresses and roles.
fn contacts(value: &Json) -> Json {
    let Some(list) = value.as_array() else {
        return value.clone();
    };
    list.iter().map(convert_contact).collect()
}

fn convert_contact(contact: &Json) -> Json {
    let Some(fields) = contact.as_object() else {
        return contact.clone();
    };
    let mut old = Map::new();
    for (key, value) in fields
        .iter()
        .filter(|(_, value)| !value.is_null() && **value != json!([]))
    {
        match (key.as_str(), value) {
            ("email", value) => drop(old.insert("emails".into(), json!([{ "value": value }]))),
            ("role", Json::String(roles)) => {
                let roles: Vec<&str> = roles
                    .split(',')
                    .map(str::trim)
                    .filter(|role| !role.is_empty())
                    .collect();
                old.insert("roles".into(), json!(roles));
            }
            ("url", Json::String(url)) => drop(
                old.entry("links")
                    .or_insert_with(|| json!([{ "href": url, "rel": "about" }])),
            ),
            _ => drop(old.insert(key.clone(), value.clone())),
        }
    }
    Json::Object(old)
}

/// A publication as `scientific` has it.
fn convert_publication(publication: &Json) -> Json {
    json!({
        "doi": read_text_or_empty(publication.get("doi")),
        "citation": read_text_or_empty(publication.get("citation")),
        "summary": read_text_or_empty(publication.get("summary")),
    })
}

fn read_text_or_empty(value: Option<&Json>) -> Json {
    json!(value.and_then(Json::as_str).unwrap_or_default())
}

/// A time as the specification has it: milliseconds since 1970.
fn to_milliseconds(time: &Json) -> Option<Json> {
    let time = time.as_str().and_then(parse_utc_time)?;
    Some(json!(time.and_utc().timestamp_millis()))
}

/// Lists of boxes and ranges, as the official tools of that time read them; times in UTC.
fn extent(value: &Json) -> Json {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let mut old = fields.clone();
    for key in ["spatial", "temporal"] {
        if let Some(Json::Array(list)) = fields.get(key)
            && !list.is_empty()
            && !list.iter().any(Json::is_array)
        {
            let list: Vec<Json> = list
                .iter()
                .map(|item| {
                    if key == "temporal" {
                        write_utc_time(item)
                    } else {
                        item.clone()
                    }
                })
                .collect();
            old.insert(key.into(), json!([list]));
        }
    }
    Json::Object(old)
}

fn write_utc_time(time: &Json) -> Json {
    // The specification has milliseconds since 1970.
    let of_text = || Some(chrono::DateTime::from_timestamp_millis(time.as_i64()?)?.naive_utc());
    match time.as_str().and_then(parse_utc_time).or_else(of_text) {
        Some(time) => json!(time.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string()),
        None => time.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(fields: Json) -> OldCollection {
        of_2_0(fields.as_object().expect("an object"))
    }

    #[test]
    fn every_extension_of_2_0_has_its_place_in_0_2() {
        let old = mapped(json!({
            "id": "fields", "tasks": [
                "semantic-segmentation",
                "regression",
            ], "taco_version": "2.0.0", "title": null,
            "taco:pit_schema": {}, "extent:origin": "samples", "split:strategy": "random",
            "keywords": [],
            "providers": [{
                "organization": "Lab",
                "role": "producer, host",
                "email": "a@lab.example",
                "url": "https://lab.example",
            }],
            "labels:classes": [
                { "name": "Water", "category": "3" },
                { "name": "Land" },
            ], "labels:num_classes": 2,
            "labels:description": "cover",
            "optical:bands": [
                { "name": "B02" },
                { "name": "B03", "index": 7 },
            ], "optical:num_bands": 2,
            "sci:doi": "10.1/own", "publications": [{
                "doi": "10.1/2",
                "citation": "A (2020)",
                "summary": null,
            }],
            "rai:dataBiases": "none"
        }));
        let wanted = json!({
            "id": "fields", "task": "semantic-segmentation", "taco_version": "0.2.0",
            "split_strategy": "random",
            "providers": [{ "organization": "Lab", "roles": ["producer", "host"],
                "emails": [{ "value": "a@lab.example" }],
                            "links": [{ "href": "https://lab.example", "rel": "about" }] }],
            "rai:dataBiases": "none",
            "labels": { "label_classes": [{ "name": "Water", "category": "3" }, { "name": "Land",
                "category": "Land" }],
                        "label_description": "cover" },
            "optical_data": {
                "sensor": "unknown",
                "bands": [{ "name": "B02", "index": 0 }, { "name": "B03", "index": 7 }],
            },
            "scientific": { "doi": "10.1/own", "citation": "", "summary": "",
                            "publications": [{ "doi": "10.1/2", "citation": "A (2020)",
                                "summary": "" }] }
        });
        assert_eq!(Json::Object(old.fields), wanted);
        let notes = old.notes.join("\n");
        for word in ["regression", "category", "Land", "sensor"] {
            assert!(notes.contains(word), "{word}: {notes}");
        }
        assert_eq!(old.notes.len(), 3, "{notes}");
    }

    #[test]
    fn a_collection_of_0_2_stays_as_it_is() {
        let given = json!({
            "id": "a", "taco_version": "0.4.0", "task": "classification",
            "split_strategy": "manual",
            "extent": {
                "spatial": [[0.0, 0.0, 1.0, 1.0]],
                "temporal": [["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]],
            },
            "providers": [{ "name": "A", "emails": [{ "value": "a@b.c" }], "roles": ["producer"] }],
            "labels": {
                "label_classes": [{ "name": "A", "category": 0 }],
            }, "optical_data": { "sensor": "modis" },
            "scientific": { "doi": "1", "citation": "c", "summary": "s", "publications": [] }
        });
        let old = mapped(given.clone());
        assert_eq!((Json::Object(old.fields), old.notes.len()), (given, 0));
    }

    #[test]
    fn the_extent_gets_the_lists_of_the_official_tools() {
        let old = mapped(json!({
            "extent": {
                "spatial": [-1, 0, 1, 2],
                "temporal": ["2020-01-01", "2020-02-01T00:00:00Z"],
            },
        }));
        let wanted = json!({
            "spatial": [[-1, 0, 1, 2]],
            "temporal": [["2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"]],
        });
        assert_eq!(old.fields["extent"], wanted);
        let unknown = mapped(json!({ "extent": { "spatial": [-1, 0, 1, 2], "temporal": null } }));
        assert_eq!(unknown.fields["extent"]["temporal"], Json::Null);
    }

    #[test]
    fn missing_core_fields_are_named_together() {
        let whole = json!({
            "id": "a", "taco_version": "0.2.0", "dataset_version": "1", "description": "d",
            "licenses": ["CC0-1.0"],
            "providers": [{ "name": "A" }], "curators": [{ "name": "A" }],
            "extent": {
                "spatial": [[0, 0, 1, 1]],
                "temporal": [["2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]],
            }
        });
        let fields = whole.as_object().expect("an object");
        assert!(need_core_fields(fields).is_ok());
        let mut lacking = fields.clone();
        lacking.shift_remove("curators");
        lacking["extent"]["temporal"] = Json::Null;
        lacking["description"] = json!(" ");
        let error = need_core_fields(&lacking)
            .expect_err("three are missing")
            .report();
        for name in ["description", "extent/temporal", "curators"] {
            assert!(error.contains(name), "{name}: {error}");
        }
        assert!(!error.contains("providers"), "{error}");
    }

    #[test]
    fn the_form_of_the_specification_has_numbers_its_words_and_no_objects_of_the_tools() {
        let mut old = mapped(json!({
            "tasks": ["semantic-segmentation"], "split:strategy": "manual",
            "extent": {
                "spatial": [1.0, 2.0, 3.0, 4.0],
                "temporal": ["1970-01-01T00:00:01Z", "1970-01-02T00:00:00Z"],
            },
            "optical:sensor": "sentinel2msi", "optical:bands": [{ "name": "B02" }]
        }));
        old.put_text_form();
        assert_eq!(
            old.fields["extent"],
            json!({ "spatial": [1.0, 2.0, 3.0, 4.0], "temporal": [1000, 86_400_000] })
        );
        assert_eq!(
            (&old.fields["task"], &old.fields["split_strategy"]),
            (&json!("Semantic Segmentation"), &json!("other"))
        );
        assert_eq!(
            (&old.fields["sensor"], &old.fields["bands"][0]["name"]),
            (&json!("sentinel2msi"), &json!("B02"))
        );
        assert!(
            old.fields.get("optical_data").is_none()
                && old.notes.iter().any(|note| note.contains("manual")),
            "{:?}",
            old.notes
        );
    }
}
