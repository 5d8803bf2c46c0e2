//! COLLECTION of the other generations → that of 2.0: fields that are kept, renamed, changed,
//! filled in, or left out. Pure: JSON in, JSON and a list out.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::collection_mapping::{CollectionMapping, FieldAction, Mapped};
use super::extension_fields::{TEXT_LABELS, TEXT_SCIENTIFIC, put_extensions};
use super::joined_extent::join_extents;
use crate::footprint::parse_time;
use crate::model::{
    Collection, TASKS, UNKNOWN_LICENCE, UNKNOWN_PROVIDER, check_dataset_id, placeholder_description,
};

/// The collection of a TACO 0.2 file, or the empty one of a TORTILLA, as that of 2.0. `path` gives
/// the id where there is none.
pub fn of_first_generation(old: &Collection, path: &Path) -> (Collection, Vec<CollectionMapping>) {
    let mut mapped = Mapped::default();
    let nothing = |value: &&Json| !value.is_null();
    let get = |key: &str| old.fields.get(key).filter(nothing).cloned();
    put_id(&mut mapped, get("id"), path);
    put_plain(&mut mapped, old);
    if let Some(providers) = get("providers") {
        put_contacts(&mut mapped, "providers", "providers", &providers);
    }
    let curators = [
        ("curators", get("curators")),
        ("data_curator", get("data_curator")),
    ];
    for (from, curators) in curators
        .into_iter()
        .filter_map(|(from, list)| Some((from, list?)))
    {
        put_contacts(&mut mapped, from, "curators", &curators);
    }
    if let Some(task) = get("task") {
        put_tasks(&mut mapped, "task", &task);
    }
    if let Some(extent) = get("extent") {
        put_extent(&mut mapped, &extent);
    }
    put_extensions(&mut mapped, &get);
    let known = [
        "id",
        "dataset_version",
        "description",
        "licenses",
        "title",
        "keywords",
        "taco_version",
        "providers",
        "curators",
        "data_curator",
        "task",
        "extent",
        "split_strategy",
        "optical_data",
        "sensor",
        "labels",
        "scientific",
    ];
    let others = old
        .fields
        .iter()
        .filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null());
    for (key, value) in others.filter(|(key, _)| !is_mapped_at_top_level(key, &get)) {
        let note = tr!("2.0 has no such field; it is kept as one that tools do not read");
        mapped.put(key, key, FieldAction::Kept, Json::Null, value.clone(), note);
    }
    finish(mapped, path)
}

/// True for a field that the specification can be read as placing at the top level, and that
/// [`put_extensions`] maps there.
fn is_mapped_at_top_level(key: &str, get: &dyn Fn(&str) -> Option<Json>) -> bool {
    let there = |name: &str| get(name).is_some();
    (TEXT_LABELS.contains(&key) && !there("labels"))
        || (TEXT_SCIENTIFIC.contains(&key) && !there("scientific"))
        || (key == "bands"
            && get("sensor").is_some_and(|sensor| sensor.is_string())
            && get("bands").is_some_and(|b| b.is_array()))
}

/// The collection of a TACO 3 dataset as that of 2.0.
pub fn of_next_generation(old: &Collection, path: &Path) -> (Collection, Vec<CollectionMapping>) {
    let mut mapped = Mapped::default();
    put_id(&mut mapped, old.get("id").cloned(), path);
    put_plain(&mut mapped, old);
    for (key, value) in old.fields.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "id" | "dataset_version" | "description" | "licenses" | "title" | "keywords"
            | "taco_version" => {}
            "tasks" => put_tasks(&mut mapped, "tasks", value),
            "extent" => put_extent(&mut mapped, value),
            "providers" | "curators" => put_contacts(&mut mapped, key, key, value),
            "taco:version" => {
                mapped.put(
                    key,
                    "taco_version",
                    FieldAction::Changed,
                    value.clone(),
                    json!("2.0.0"),
                    tr!("the dataset is of 2.0 now"),
                );
            }
            "taco:pit_schema" | "taco:field_schema" => {
                mapped.drop(
                    key,
                    value.clone(),
                    tr!("it is written anew for the dataset of 2.0"),
                );
            }
            "taco:structure" | "taco:metadata" => {
                mapped.drop(
                    key,
                    value.clone(),
                    tr!(
                        "2.0 states structure and columns in taco:pit_schema and taco:field_schema"
                    ),
                );
            }
            key if key.starts_with("taco:") => {
                mapped.drop(key, value.clone(), tr!("this belongs to TACO 3 alone"))
            }
            key => mapped.put(key, key, FieldAction::Kept, Json::Null, value.clone(), ""),
        }
    }
    finish(mapped, path)
}

/// Fields with one form in all generations.
fn put_plain(mapped: &mut Mapped, old: &Collection) {
    for key in ["dataset_version", "description", "title"] {
        if let Some(value) = old.get(key) {
            match value {
                Json::String(_) => mapped.keep(key, value.clone()),
                other => mapped.put(
                    key,
                    key,
                    FieldAction::Changed,
                    other.clone(),
                    json!(other.to_string()),
                    tr!("2.0 requires text"),
                ),
            }
        }
    }
    if let Some(value) = old.get("licenses") {
        let given: Vec<String> = match value {
            Json::Array(list) => list
                .iter()
                .map(|item| {
                    item.as_str()
                        .map_or_else(|| item.to_string(), str::to_owned)
                })
                .collect(),
            Json::String(one) => vec![one.clone()],
            other => vec![other.to_string()],
        };
        let spelled: Vec<String> = given.iter().map(|licence| licence_of(licence)).collect();
        if json!(spelled) == *value {
            mapped.keep("licenses", value.clone())
        } else {
            mapped.put(
                "licenses",
                "licenses",
                FieldAction::Changed,
                value.clone(),
                json!(spelled),
                tr!("as SPDX spells them"),
            )
        }
    }
    if let Some(value) = old.get("keywords") {
        match value.as_array() {
            Some(_) => mapped.keep("keywords", value.clone()),
            None => mapped.put(
                "keywords",
                "keywords",
                FieldAction::Changed,
                value.clone(),
                json!([value]),
                tr!("2.0 requires a list"),
            ),
        }
    }
    if let Some(version) = old.get("taco_version") {
        let note = tr!("the dataset is of 2.0 now");
        mapped.put(
            "taco_version",
            "taco_version",
            FieldAction::Changed,
            version.clone(),
            json!("2.0.0"),
            note,
        );
    }
}

/// The identifier as SPDX spells it; anything unknown stays.
fn licence_of(text: &str) -> String {
    if spdx::license_id(text).is_some() {
        return text.to_owned();
    }
    let same = |name: &str| name.eq_ignore_ascii_case(text.trim());
    spdx::identifiers::LICENSES
        .iter()
        .map(|licence| licence.name)
        .find(|name| same(name))
        .map_or(text.to_owned(), str::to_owned)
}

fn put_id(mapped: &mut Mapped, id: Option<Json>, path: &Path) {
    let old = id
        .as_ref()
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    if check_dataset_id(&old).is_ok() {
        return mapped.keep("id", json!(old));
    }
    let stem = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let new = plain_id(if old.trim().is_empty() { stem } else { &old });
    if old.trim().is_empty() {
        mapped.fill("id", json!(new), tr!("made from the name of the file"))
    } else {
        let note = tr!("2.0 requires lower-case letters, digits, _ and -");
        mapped.put(
            "id",
            "id",
            FieldAction::Changed,
            json!(old),
            json!(new),
            note,
        );
    }
}

fn plain_id(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let id: String = lower
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect();
    if check_dataset_id(&id).is_ok() {
        id
    } else {
        format!("dataset-{id}").trim_end_matches('-').to_owned()
    }
}

/// Contacts with name, organization, email and role: the form of the specification, which keeps
/// most of what the old one says.
fn put_contacts(mapped: &mut Mapped, from: &str, to: &str, old: &Json) {
    let list = match old {
        Json::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let mut new = Vec::with_capacity(list.len());
    let mut changed = from != to;
    for (index, contact) in list.iter().enumerate() {
        let Json::Object(fields) = contact else {
            changed = true;
            new.push(json!({
                "name": contact.as_str().map_or_else(|| contact.to_string(), str::to_owned),
            }));
            continue;
        };
        let mut entry = Map::new();
        for key in ["name", "organization", "email", "role"] {
            if let Some(text) = fields.get(key).filter(|value| value.is_string()) {
                entry.insert(key.into(), text.clone());
            }
        }
        let first = fields.get("emails").and_then(|emails| emails.get(0));
        if let Some(email) = first.and_then(|email| email.get("value").unwrap_or(email).as_str()) {
            entry.entry("email").or_insert(json!(email));
        }
        if let Some(roles) = fields
            .get("roles")
            .and_then(Json::as_array)
            .filter(|roles| !roles.is_empty())
        {
            let roles: Vec<&str> = roles.iter().filter_map(Json::as_str).collect();
            entry.entry("role").or_insert(json!(roles.join(", ")));
        }
        // The current writer refuses a provider without a name.
        if to == "providers"
            && !entry.contains_key("name")
            && let Some(organization) = entry.get("organization").cloned()
        {
            entry.insert("name".into(), organization);
        }
        changed |= entry != *fields;
        for (key, value) in fields
            .iter()
            .filter(|(_, value)| !value.is_null() && **value != json!([]))
        {
            let rest = match key.as_str() {
                "name" | "organization" | "email" | "role" | "roles" => continue,
                // The first address is the contact's; further ones are lost, and so is what each is
                // for.
                "emails" => match value.as_array().map(|all| {
                    (
                        all.len(),
                        all.iter()
                            .any(|one| one.get("roles").is_some_and(|r| !r.is_null())),
                    )
                }) {
                    Some((1, false)) => continue,
                    _ => value,
                },
                _ => value,
            };
            let note = tr!("a contact of 2.0 has name, organization, email and role");
            mapped.drop(format!("{from}/{index}/{key}"), rest.clone(), note);
        }
        new.push(Json::Object(entry));
    }
    let new = Json::Array(new);
    if changed {
        mapped.put(
            from,
            to,
            FieldAction::Changed,
            old.clone(),
            new,
            tr!("contacts in the form of the 2.0 specification"),
        )
    } else {
        mapped.keep(to, new)
    }
}

fn put_tasks(mapped: &mut Mapped, from: &str, old: &Json) {
    let given: Vec<String> = match old {
        Json::Array(list) => list
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
        Json::Object(fields) => fields
            .get("task")
            .and_then(Json::as_str)
            .map(str::to_owned)
            .into_iter()
            .collect(),
        other => other.as_str().map(str::to_owned).into_iter().collect(),
    };
    let new: Vec<String> = given.iter().map(|name| rename_task(name)).collect();
    let unknown: Vec<&String> = new
        .iter()
        .filter(|task| !TASKS.contains(&task.as_str()))
        .collect();
    let note = match unknown.as_slice() {
        [] => tr!("names of tasks as 2.0 has them").to_owned(),
        some => {
            let tasks = some
                .iter()
                .map(|s| s.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            tr!("the tools of 2.0 don't accept {tasks}", tasks)
        }
    };
    if from == "tasks" && json!(new) == *old {
        mapped.keep("tasks", old.clone())
    } else {
        mapped.put(
            from,
            "tasks",
            FieldAction::Changed,
            old.clone(),
            json!(new),
            note,
        )
    }
}

fn rename_task(name: &str) -> String {
    let plain = name.trim().to_lowercase().replace([' ', '_'], "-");
    match plain.as_str() {
        "general" | "" => "other".to_owned(),
        _ => plain,
    }
}

/// One box and one range: the smallest around all that there are. Times were milliseconds or ISO
/// 8601, days too.
fn put_extent(mapped: &mut Mapped, old: &Json) {
    let mut notes = Vec::new();
    let numbers =
        |list: &Json| -> Option<Vec<f64>> { list.as_array()?.iter().map(Json::as_f64).collect() };
    let boxes: Vec<[f64; 4]> = match old.get("spatial") {
        Some(spatial) => match numbers(spatial) {
            Some(flat) => flat_box(&flat).into_iter().collect(),
            None => spatial
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| flat_box(&numbers(one)?))
                .collect(),
        },
        None => Vec::new(),
    };
    let spatial = boxes.iter().copied().reduce(join_extents);
    if boxes.len() > 1 {
        notes.push(tr!("one box around {n}", n = boxes.len()));
    }
    let ranges: Vec<&Json> = match old.get("temporal") {
        Some(Json::Array(list)) if list.iter().any(Json::is_array) => list.iter().collect(),
        Some(Json::Null) | None => Vec::new(),
        Some(one) => vec![one],
    };
    if ranges.len() > 1 {
        notes.push(tr!("one range around {n}", n = ranges.len()));
    }
    let ends: Vec<&Json> = ranges
        .iter()
        .flat_map(|range| {
            range
                .as_array()
                .map_or(std::slice::from_ref(*range), Vec::as_slice)
        })
        .collect();
    let times: Vec<chrono::DateTime<chrono::Utc>> =
        ends.iter().filter_map(|end| time_of(end)).collect();
    // A range computed from the readable values alone would be invented.
    let times = if times.len() == ends.len() {
        times
    } else {
        Vec::new()
    };
    if times.is_empty() && !ends.is_empty() && spatial.is_some() {
        let old = old.get("temporal").cloned().unwrap_or_default();
        mapped.drop(
            "extent/temporal",
            old,
            tr!("one of its times is missing, or is none that can be read"),
        );
    }
    if ends.iter().any(|end| end.is_number()) {
        notes.push(tr!("milliseconds as ISO 8601").into());
    }
    let temporal = times
        .iter()
        .min()
        .zip(times.iter().max())
        .map(|(first, last)| [iso(first), iso(last)]);
    let Some(spatial) = spatial else {
        return mapped.drop(
            "extent",
            old.clone(),
            tr!("it has no box; it is computed from the samples instead"),
        );
    };
    let new = json!({ "spatial": spatial, "temporal": temporal });
    if new == *old {
        mapped.keep("extent", new)
    } else {
        notes.push(tr!("the form of 2.0").into());
        mapped.put(
            "extent",
            "extent",
            FieldAction::Changed,
            old.clone(),
            new,
            notes.join(", "),
        );
    }
}

/// West, south, east, north; of a box in space the heights are left out.
fn flat_box(numbers: &[f64]) -> Option<[f64; 4]> {
    match *numbers {
        [west, south, east, north] | [west, south, _, east, north, _] => {
            Some([west, south, east, north])
        }
        _ => None,
    }
}

fn time_of(value: &Json) -> Option<chrono::DateTime<chrono::Utc>> {
    match value {
        Json::String(text) => chrono::DateTime::from_timestamp_micros(parse_time(text)?),
        Json::Number(number) => chrono::DateTime::from_timestamp_millis(
            number.as_i64().or(number.as_f64().map(|n| n as i64))?,
        ),
        _ => None,
    }
}

fn iso(time: &chrono::DateTime<chrono::Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string()
}

/// Fields that 2.0 requires and the old file does not have.
fn finish(mut mapped: Mapped, path: &Path) -> (Collection, Vec<CollectionMapping>) {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let note = tr!("2.0 requires it and the old file does not say; write what is true");
    for (key, value) in [
        ("dataset_version", json!("1.0.0")),
        ("description", json!(placeholder_description(&name))),
        ("licenses", json!([UNKNOWN_LICENCE])),
        ("providers", json!([{ "name": UNKNOWN_PROVIDER }])),
        ("tasks", json!(["other"])),
        ("taco_version", json!("2.0.0")),
    ] {
        if lacks_field(&mapped.collection, key) {
            mapped.fill(key, value, note);
        }
    }
    (mapped.collection, mapped.list)
}

fn lacks_field(collection: &Collection, key: &str) -> bool {
    match collection.get(key) {
        None => true,
        Some(Json::Array(list)) => list.is_empty(),
        Some(Json::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(fields: Json) -> Collection {
        match fields {
            Json::Object(fields) => Collection { fields },
            _ => Collection::default(),
        }
    }

    #[test]
    fn every_field_of_taco_0_2_has_a_line() {
        let old = old(json!({
            "id": "Peru Fields", "dataset_version": "2.1.0", "description": "Fields.", "licenses": [
                "cc-by-4.0",
            ],
            "extent": {
                "spatial": [[-80.0, -10.0, -70.0, 0.0], [-75.0, -12.0, -69.0, -3.0]],
                "temporal": [[946684800000i64, 978307200000i64]],
            },
            "providers": [{ "name": "A. Maker", "organization": "Lab",
                "emails": [{ "value": "a@lab.example" }],
                            "phones": [{ "value": "+5112345678" }], "roles": ["producer",
                                "host"] }],
            "task": "Scene Classification", "taco_version": "0.4.0", "title": null,
            "split_strategy": "random",
            "raw_link": { "href": "https://example.org/raw" },
            "labels": {
                "label_classes": [{ "name": "Water", "category": 3, "description": null }],
                "label_description": "cover",
            },
            "scientific": {
                "doi": "10.1/2",
                "citation": "A (2020)",
                "summary": null,
                "publications": [{ "doi": "10.1/3" }],
            }
        }));
        let (new, list) = of_first_generation(&old, Path::new("x.taco"));
        assert_eq!(new.id(), "peru-fields");
        assert_eq!(new.get("licenses"), Some(&json!(["CC-BY-4.0"])));
        let extent = json!({
            "spatial": [-80.0, -12.0, -69.0, 0.0],
            "temporal": ["2000-01-01T00:00:00Z", "2001-01-01T00:00:00Z"],
        });
        assert_eq!(new.get("extent"), Some(&extent));
        let provider = json!([{
            "name": "A. Maker",
            "organization": "Lab",
            "email": "a@lab.example",
            "role": "producer, host",
        }]);
        assert_eq!(new.get("providers"), Some(&provider));
        assert_eq!(new.get("tasks"), Some(&json!(["scene-classification"])));
        assert_eq!(
            (new.text("taco_version"), new.text("split:strategy")),
            ("2.0.0", "random")
        );
        assert_eq!(
            new.get("labels:classes")
                .and_then(|classes| classes[0].get("category").cloned()),
            Some(json!("3"))
        );
        assert_eq!(
            (new.text("sci:doi"), new.text("sci:citation")),
            ("10.1/2", "A (2020)")
        );
        assert_eq!(
            new.get("publications")
                .and_then(Json::as_array)
                .map(Vec::len),
            Some(1)
        );
        assert_eq!(
            new.get("raw_link"),
            Some(&json!({ "href": "https://example.org/raw" }))
        );
        // Whatever was not null is accounted for.
        for key in old
            .fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, _)| key)
        {
            let named = |line: &CollectionMapping| {
                line.from == *key || line.from.starts_with(&format!("{key}/"))
            };
            assert!(list.iter().any(named), "{key} is nowhere in {list:#?}");
        }
        let phones = list
            .iter()
            .find(|line| line.from == "providers/0/phones")
            .expect("has a line");
        assert_eq!((phones.action, &phones.to), (FieldAction::Dropped, &None));
    }

    #[test]
    fn days_are_times_and_what_is_none_has_a_line() {
        let moved = |temporal: Json| {
            let old = old(json!({
                "extent": {
                    "spatial": [[170, -10, -170, 10], [1, 0, 2, 1]],
                    "temporal": temporal,
                },
            }));
            let (new, list) = of_first_generation(&old, Path::new("x.taco"));
            let dropped = list
                .iter()
                .any(|line| line.from == "extent/temporal" && line.action == FieldAction::Dropped);
            (new.get("extent").cloned().unwrap_or_default(), dropped)
        };
        let wanted =
            |temporal: Json| json!({ "spatial": [1.0, -10.0, -170.0, 10.0], "temporal": temporal });
        let year = json!(["2020-01-01T00:00:00Z", "2020-12-31T00:00:00Z"]);
        for given in [
            json!([["2020-01-01", "2020-12-31"]]),
            json!(["2020-01-01", "2020-12-31T00:00Z"]),
        ] {
            assert_eq!(moved(given), (wanted(year.clone()), false));
        }
        for given in [
            json!([["2020-01-01", "soon"]]),
            json!([["2020-01-01", null]]),
            json!("for ever"),
        ] {
            assert_eq!(moved(given), (wanted(Json::Null), true));
        }
        assert_eq!(moved(Json::Null), (wanted(Json::Null), false));
    }

    #[test]
    fn fields_of_extensions_without_a_home_have_a_line_each() {
        let old = old(json!({
            "sensor": {
                "sensor": "S2",
                "bands": null,
                "extra": 5,
            }, "optical_data": { "bands": "all", "gsd": 10 },
            "labels": { "label_classes": null, "other": 1 }, "scientific": { "publications": [] }
        }));
        let (new, list) = of_first_generation(&old, Path::new("x.taco"));
        let dropped: Vec<&str> = list
            .iter()
            .filter(|line| line.action == FieldAction::Dropped)
            .map(|line| line.from.as_str())
            .collect();
        for name in [
            "sensor/extra",
            "optical_data/bands",
            "optical_data/gsd",
            "labels/other",
            "scientific",
        ] {
            assert!(dropped.contains(&name), "{name} is not in {dropped:?}");
        }
        assert_eq!((new.text("optical:sensor"), dropped.len()), ("S2", 5));
        assert_eq!(new.get("labels:classes"), None, "nobody named any");
        let (_, list) = of_first_generation(
            &Collection {
                fields: Map::from_iter([
                    ("labels".into(), json!("x")),
                    ("sensor".into(), json!([1])),
                ]),
            },
            Path::new("x.taco"),
        );
        assert_eq!(
            list.iter()
                .filter(|line| line.action == FieldAction::Dropped)
                .count(),
            2
        );
    }

    #[test]
    fn extensions_among_the_other_fields_are_mapped_as_their_objects_are() {
        let flat = old(json!({
            "sensor": "sentinel2msi", "bands": [{ "name": "B02" }], "label_classes": [{
                "name": "A",
                "category": 1,
            }],
            "label_description": "cover", "doi": "10.1/2", "citation": "A (2020)",
            "publications": [{ "doi": "10.1/3" }]
        }));
        let nested = old(json!({
            "optical_data": { "sensor": "sentinel2msi", "bands": [{ "name": "B02" }] },
            "labels": {
                "label_classes": [{ "name": "A", "category": 1 }],
                "label_description": "cover",
            },
            "scientific": {
                "doi": "10.1/2",
                "citation": "A (2020)",
                "publications": [{ "doi": "10.1/3" }],
            }
        }));
        let [flat, nested] =
            [flat, nested].map(|old| of_first_generation(&old, Path::new("x.taco")).0);
        assert_eq!(flat, nested);
        assert_eq!(
            (flat.text("optical:sensor"), flat.text("sci:doi")),
            ("sentinel2msi", "10.1/2")
        );
    }

    #[test]
    fn a_provider_gets_the_name_of_its_organization() {
        let old = old(json!({
            "providers": [{ "organization": "Lab" }],
            "curators": [{ "organization": "Lab" }],
        }));
        let (new, _) = of_first_generation(&old, Path::new("x.taco"));
        assert_eq!(
            new.get("providers"),
            Some(&json!([{ "organization": "Lab", "name": "Lab" }]))
        );
        assert_eq!(
            new.get("curators"),
            Some(&json!([{ "organization": "Lab" }]))
        );
    }

    #[test]
    fn a_tortilla_gets_what_2_0_requires() {
        let (new, list) = of_first_generation(
            &Collection::default(),
            Path::new("/data/My Set.0001.part.tortilla"),
        );
        assert_eq!(new.id(), "my-set");
        let mut report = crate::model::Report::default();
        crate::validate::check_collection(&new, &mut report);
        assert!(report.is_valid(), "{report:?}");
        assert!(
            list.iter().all(|line| line.action == FieldAction::Filled),
            "{list:?}"
        );
        assert_eq!(new.placeholders(), ["description", "providers", "licenses"]);
    }
}
