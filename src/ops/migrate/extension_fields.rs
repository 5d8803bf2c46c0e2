//! Fields of extensions of TACO 0.2: labels, publications, sensor and optical data.

use serde_json::{Map, Value as Json, json};

use super::collection_mapping::{FieldAction, Mapped};

/// Fields of the Label extension of the specification, if they are at the top level of the
/// collection.
pub(super) const TEXT_LABELS: [&str; 2] = ["label_classes", "label_description"];

/// Those of the Scientific extension.
pub(super) const TEXT_SCIENTIFIC: [&str; 4] = ["doi", "citation", "summary", "publications"];

/// `split_strategy`, `optical_data`, `labels`, `scientific` under the names that 2.0 has for them.
pub(super) fn put_extensions(mapped: &mut Mapped, get: &dyn Fn(&str) -> Option<Json>) {
    if let Some(strategy) = get("split_strategy") {
        let plain = strategy.get("split_strategy").unwrap_or(&strategy).clone();
        mapped.put(
            "split_strategy",
            "split:strategy",
            FieldAction::Renamed,
            strategy,
            plain,
            tr!("the name that 2.0 gives it"),
        );
    }
    for from in ["optical_data", "sensor"] {
        let Some(mut optical) = get(from) else {
            continue;
        };
        // The specification can be read as placing an extension's fields at the top level of the
        // collection.
        if let (Json::String(sensor), Some(bands)) = (&optical, get("bands").filter(Json::is_array))
        {
            optical = json!({ "sensor": sensor, "bands": bands });
        }
        match optical.as_object() {
            Some(fields) => {
                drop_all_but(mapped, from, fields, |key, value| {
                    key == "sensor" || (key == "bands" && value.is_array())
                });
            }
            None if optical.is_string() => {}
            None => mapped.drop(from, optical.clone(), tr!("2.0 has no field for it")),
        }
        let note = tr!("the fields that 2.0 gives them");
        if let Some(sensor) = optical
            .get("sensor")
            .filter(|sensor| !sensor.is_null())
            .or(Some(&optical).filter(|o| o.is_string()))
        {
            mapped.put(
                from,
                "optical:sensor",
                FieldAction::Renamed,
                sensor.clone(),
                sensor.clone(),
                note,
            );
        }
        if let Some(bands) = optical.get("bands").filter(|bands| bands.is_array()) {
            mapped.put(
                from,
                "optical:bands",
                FieldAction::Renamed,
                bands.clone(),
                bands.clone(),
                note,
            );
            let count = bands.as_array().map_or(0, Vec::len);
            mapped.put(
                "",
                "optical:num_bands",
                FieldAction::Filled,
                Json::Null,
                json!(count),
                tr!("counted"),
            );
        }
    }
    match get("labels") {
        Some(labels) => put_labels(mapped, "labels/", &labels),
        None => {
            let labels = pick_fields(&TEXT_LABELS, get);
            if !labels.is_empty() {
                put_labels(mapped, "", &Json::Object(labels));
            }
        }
    }
    match get("scientific") {
        Some(scientific) => put_publications(mapped, "scientific", &scientific),
        None => {
            let scientific = pick_fields(&TEXT_SCIENTIFIC, get);
            if !scientific.is_empty() {
                put_publications(mapped, "", &Json::Object(scientific));
            }
        }
    }
}

fn pick_fields(keys: &[&str], get: &dyn Fn(&str) -> Option<Json>) -> Map<String, Json> {
    keys.iter()
        .filter_map(|key| Some(((*key).to_owned(), get(key)?)))
        .collect()
}

/// A line for each field of an extension that 2.0 has no field for.
fn drop_all_but(
    mapped: &mut Mapped,
    from: &str,
    fields: &Map<String, Json>,
    known: impl Fn(&str, &Json) -> bool,
) {
    for (key, value) in fields
        .iter()
        .filter(|(key, value)| !value.is_null() && !known(key, value))
    {
        mapped.drop(
            format!("{from}/{key}"),
            value.clone(),
            tr!("2.0 has no field for it"),
        );
    }
}

/// `above` is the path of the object, with a slash, or empty.
fn put_labels(mapped: &mut Mapped, above: &str, labels: &Json) {
    let Some(fields) = labels.as_object() else {
        return mapped.drop("labels", labels.clone(), tr!("2.0 has no field for it"));
    };
    drop_all_but(mapped, "labels", fields, |key, value| match key {
        "label_classes" => value.is_array(),
        key => key == "label_description",
    });
    let mut note = tr!("the fields that 2.0 gives them");
    if let Some(old) = labels.get("label_classes").and_then(Json::as_array) {
        let classes: Vec<Json> = old
            .iter()
            .map(|class| {
                let mut class = class.clone();
                if let Some(category) = class
                    .get("category")
                    .filter(|category| category.is_number())
                {
                    class["category"] = json!(category.to_string());
                }
                class
            })
            .collect();
        let mut action = FieldAction::Renamed;
        if classes != *old {
            (note, action) = (tr!("categories as text"), FieldAction::Changed);
        }
        let count = classes.len();
        mapped.put(
            &format!("{above}label_classes"),
            "labels:classes",
            action,
            json!(old),
            json!(classes),
            note,
        );
        mapped.put(
            "",
            "labels:num_classes",
            FieldAction::Filled,
            Json::Null,
            json!(count),
            tr!("counted"),
        );
    }
    if let Some(text) = labels
        .get("label_description")
        .filter(|text| !text.is_null())
    {
        mapped.put(
            &format!("{above}label_description"),
            "labels:description",
            FieldAction::Renamed,
            text.clone(),
            text.clone(),
            note,
        );
    }
}

/// The dataset's own reference as `sci:doi` and `sci:citation`, and its publications. `from` is the
/// field that holds them, or empty.
fn put_publications(mapped: &mut Mapped, from: &str, scientific: &Json) {
    let above = if from.is_empty() {
        String::new()
    } else {
        format!("{from}/")
    };
    let says = |value: &&Json| !value.is_null() && **value != json!("");
    let note = tr!("the fields that 2.0 gives them");
    let mut found = false;
    for (key, to) in [("doi", "sci:doi"), ("citation", "sci:citation")] {
        if let Some(value) = scientific.get(key).filter(says) {
            mapped.put(
                &format!("{above}{key}"),
                to,
                FieldAction::Renamed,
                value.clone(),
                value.clone(),
                note,
            );
            found = true;
        }
    }
    if let Some(summary) = scientific.get("summary").filter(says) {
        mapped.drop(
            format!("{above}summary"),
            summary.clone(),
            tr!("2.0 has no field for it"),
        );
        found = true;
    }
    let old = scientific
        .get("publications")
        .filter(|list| list.is_array());
    let list: Vec<Json> = old
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .map(pick_publication_fields)
        .collect();
    if let Some(old) = old.filter(|_| !list.is_empty()) {
        let action = if *old == json!(list) {
            FieldAction::Renamed
        } else {
            FieldAction::Changed
        };
        mapped.put(
            &format!("{above}publications"),
            "publications",
            action,
            old.clone(),
            json!(list),
            note,
        );
        found = true;
    }
    if !found {
        let from = if from.is_empty() {
            "publications"
        } else {
            from
        };
        mapped.drop(from, scientific.clone(), tr!("it names no publication"));
    }
}

fn pick_publication_fields(publication: &Json) -> Json {
    json!({
        "doi": publication.get("doi"),
        "citation": publication.get("citation"),
        "summary": publication.get("summary"),
    })
}
