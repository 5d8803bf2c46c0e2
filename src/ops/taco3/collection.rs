//! COLLECTION.json of 2.0 → the arguments of the library's `Collection`. Pure: JSON in, JSON and a
//! list out.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::fields::FieldNames;
use crate::model::{Collection, TASKS, UNKNOWN_LICENCE, UNKNOWN_PROVIDER};
use crate::ops::{CollectionMapping, FieldAction};

/// A task of TACO 3 that 2.0 does not list.
const NEW_TASK: &str = "change-detection";
/// Parameters of the library's `Collection`, which no namespace may be called.
const PARAMETERS: [&str; 12] = [
    "contract",
    "id",
    "description",
    "licenses",
    "providers",
    "tasks",
    "title",
    "curators",
    "keywords",
    "extent",
    "sources",
    "metadata",
];

/// The arguments, and what became of each field.
pub fn library_collection(collection: &Collection) -> (Map<String, Json>, Vec<CollectionMapping>) {
    let mut made = GeneratedField::default();
    let fields = &collection.fields;
    let text = |key: &str| fields.get(key).and_then(trim_text);
    let id = text("id").unwrap_or("dataset");
    let plain: String = id
        .chars()
        .map(|c| {
            if matches!(c, '/' | '\\' | ':' | '\0') {
                '_'
            } else {
                c
            }
        })
        .collect();
    made.put(
        "id",
        "id",
        json!(id),
        json!(plain),
        tr!("without signs that separate paths"),
    );
    let description = text("description").or(text("title")).unwrap_or(id);
    made.put(
        "description",
        "description",
        fields.get("description").cloned().unwrap_or_default(),
        json!(description),
        tr!("TACO 3 needs one"),
    );
    let licences = texts(fields.get("licenses"));
    let licences = if licences.is_empty() {
        vec![UNKNOWN_LICENCE.to_owned()]
    } else {
        licences
    };
    made.put(
        "licenses",
        "licenses",
        fields.get("licenses").cloned().unwrap_or_default(),
        json!(licences),
        tr!("TACO 3 needs one"),
    );
    let mut providers = people(
        fields.get("providers"),
        &["name", "roles", "url", "links"],
        &|entry| entry.contains_key("name"),
    );
    if providers.is_empty() {
        providers.push(json!({ "name": UNKNOWN_PROVIDER }));
    }
    made.put(
        "providers",
        "providers",
        fields.get("providers").cloned().unwrap_or_default(),
        json!(providers),
        tr!("the fields that TACO 3 has"),
    );
    if let Some(tasks) = fields.get("tasks") {
        let mut known: Vec<String> = texts(Some(tasks));
        for task in &mut known {
            if !TASKS.contains(&task.as_str()) && task != NEW_TASK {
                *task = "other".into();
            }
        }
        known.dedup();
        if !known.is_empty() {
            made.put(
                "tasks",
                "tasks",
                tasks.clone(),
                json!(known),
                tr!("as the library lists tasks"),
            );
        }
    }
    if let Some(title) = text("title") {
        made.put("title", "title", json!(title), json!(title), "");
    }
    if let Some(curators) = fields.get("curators") {
        let is_named = |entry: &Map<String, Json>| {
            entry.contains_key("name") || entry.contains_key("organization")
        };
        let known = people(
            Some(curators),
            &["name", "organization", "email", "role"],
            &is_named,
        );
        if !known.is_empty() {
            made.put(
                "curators",
                "curators",
                curators.clone(),
                json!(known),
                tr!("the fields that TACO 3 has"),
            );
        }
    }
    if let Some(keywords) = fields.get("keywords") {
        let known = texts(Some(keywords));
        if !known.is_empty() {
            made.put("keywords", "keywords", keywords.clone(), json!(known), "");
        }
    }
    made.drop(
        "extent",
        fields,
        tr!("the library computes it from the samples"),
    );
    let done = [
        "id",
        "description",
        "licenses",
        "providers",
        "tasks",
        "title",
        "curators",
        "keywords",
        "extent",
        "taco_version",
    ];
    let mut names = FieldNames::default();
    let mut groups: BTreeMap<String, Map<String, Json>> = BTreeMap::new();
    for (key, value) in fields {
        let is_made =
            key.starts_with("taco:") || key.starts_with("_") || key.starts_with("extent:");
        if done.contains(&key.as_str()) || is_made || value.is_null() {
            continue;
        }
        let (namespace, own) = names.reserve_field_name(key);
        let namespace = if PARAMETERS.contains(&namespace.as_str()) {
            format!("of_{namespace}")
        } else {
            namespace
        };
        let to = format!("{namespace}:{own}");
        let action = if to == *key {
            FieldAction::Kept
        } else {
            FieldAction::Renamed
        };
        made.list
            .push(line(key, Some(&to), action, Json::Null, Json::Null, ""));
        groups
            .entry(namespace)
            .or_default()
            .insert(own, value.clone());
    }
    made.arguments.extend(
        groups
            .into_iter()
            .map(|(namespace, values)| (namespace, Json::Object(values))),
    );
    (made.arguments, made.list)
}

#[derive(Default)]
struct GeneratedField {
    arguments: Map<String, Json>,
    list: Vec<CollectionMapping>,
}

impl GeneratedField {
    fn put(&mut self, from: &str, to: &str, old: Json, new: Json, note: &str) {
        let action = match &old {
            old if *old == new => FieldAction::Kept,
            Json::Null => FieldAction::Filled,
            _ => FieldAction::Changed,
        };
        let (old, shown, note) = if action == FieldAction::Kept {
            (Json::Null, Json::Null, "")
        } else {
            (old, new.clone(), note)
        };
        self.list
            .push(line(from, Some(to), action, old, shown, note));
        self.arguments.insert(to.to_owned(), new);
    }

    fn drop(&mut self, key: &str, fields: &Map<String, Json>, note: &str) {
        if let Some(old) = fields.get(key) {
            self.list.push(line(
                key,
                None,
                FieldAction::Dropped,
                old.clone(),
                Json::Null,
                note,
            ));
        }
    }
}

fn line(
    from: &str,
    to: Option<&str>,
    action: FieldAction,
    old: Json,
    new: Json,
    note: &str,
) -> CollectionMapping {
    CollectionMapping {
        from: from.to_owned(),
        to: to.map(str::to_owned),
        action,
        old,
        new,
        note: note.to_owned(),
    }
}

/// The texts of a list, or a text alone.
fn texts(value: Option<&Json>) -> Vec<String> {
    match value {
        Some(Json::Array(values)) => values
            .iter()
            .filter_map(trim_text)
            .map(str::to_owned)
            .collect(),
        Some(value) => trim_text(value).map(str::to_owned).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A text without blanks around it; `None` for an empty one and for other values.
fn trim_text(value: &Json) -> Option<&str> {
    value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// Providers or curators with the fields that TACO 3 has; texts are names.
fn people(
    value: Option<&Json>,
    known: &[&str],
    is_named: &dyn Fn(&Map<String, Json>) -> bool,
) -> Vec<Json> {
    let entries = match value {
        Some(Json::Array(entries)) => entries.clone(),
        Some(Json::Null) | None => Vec::new(),
        Some(one) => vec![one.clone()],
    };
    let mut people = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut entry = match entry {
            Json::Object(entry) => entry,
            Json::String(name) => Map::from_iter([("name".to_owned(), Json::String(name))]),
            _ => continue,
        };
        entry.retain(|key, value| known.contains(&key.as_str()) && is_sound_entry(key, value));
        if is_named(&entry) {
            people.push(Json::Object(entry));
        }
    }
    people
}

/// True for a value that TACO 3 takes as a field of a provider or curator.
fn is_sound_entry(key: &str, value: &Json) -> bool {
    match key {
        "roles" => value.as_array().is_some_and(|roles| {
            roles
                .iter()
                .all(|role| role.as_str().is_some_and(|role| !role.trim().is_empty()))
        }),
        "links" => value
            .as_array()
            .is_some_and(|links| links.iter().all(Json::is_object)),
        "url" => value
            .as_str()
            .is_some_and(|url| url.starts_with("http://") || url.starts_with("https://")),
        "email" => value.as_str().is_some_and(|email| email.contains('@')),
        _ => value.as_str().is_some_and(|text| !text.trim().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_library() {
        let collection: Collection = serde_json::from_value(json!({
            "id": "a/b", "dataset_version": "1.0", "description": "d", "licenses": ["CC0-1.0"],
            "providers": [
                { "name": "p", "roles": ["producer"], "url": "www.example.org", "note": "x" },
                "q",
            ],
            "tasks": ["regression", "counting"], "taco_version": "2.0.0", "extent": {
                "spatial": [-180, -90, 180, 90],
            },
            "labels:classes": ["a"], "homepage": "h", "id:kind": "k", "taco:pit_schema": {}
        }))
        .expect("a collection");
        let (arguments, list) = library_collection(&collection);
        let expected = json!({
            "id": "a_b", "description": "d", "licenses": ["CC0-1.0"],
            "providers": [{ "name": "p", "roles": ["producer"] }, { "name": "q" }],
            "tasks": ["regression", "other"], "labels": { "classes": ["a"] },
            "meta": { "dataset_version": "1.0", "homepage": "h" }, "of_id": { "kind": "k" }
        });
        assert_eq!(Json::Object(arguments), expected);
        let actions: Vec<(&str, FieldAction)> = list
            .iter()
            .map(|line| (line.from.as_str(), line.action))
            .collect();
        assert!(
            actions.contains(&("id", FieldAction::Changed))
                && actions.contains(&("licenses", FieldAction::Kept))
        );
        assert!(
            actions.contains(&("extent", FieldAction::Dropped))
                && actions.contains(&("dataset_version", FieldAction::Renamed))
        );
    }

    #[test]
    fn what_taco_3_needs_is_filled() {
        let (arguments, list) = library_collection(&Collection::default());
        assert_eq!(arguments["id"], "dataset");
        assert_eq!(arguments["licenses"], json!([UNKNOWN_LICENCE]));
        assert_eq!(
            arguments["providers"],
            json!([{ "name": UNKNOWN_PROVIDER }])
        );
        assert!(
            list.iter()
                .filter(|line| line.action == FieldAction::Filled)
                .count()
                >= 3
        );
    }
}
