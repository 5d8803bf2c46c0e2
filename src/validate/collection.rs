//! Checks COLLECTION.json (TACO 2.0, section 5.5.2): required fields, types, contacts, licences,
//! tasks, extent. Both forms of contacts are accepted: the specification's (name, organization,
//! email, role) and the current tools' (name, roles, url, links).

use serde_json::{Map, Value as Json};

use crate::model::{Collection, Location, Report, Rule, TASKS, check_dataset_id, parse_utc_time};
use crate::text::PrintableLine;

/// Maximum length of a title, in characters.
pub const TITLE_MAX: usize = 250;

fn field_location(field: impl Into<String>) -> Location {
    Location::Collection(field.into())
}

/// Checks all descriptive fields.
pub fn check_collection(collection: &Collection, report: &mut Report) {
    check_id(collection, report);
    for key in ["dataset_version", "description", "taco_version"] {
        check_text(collection, key, report);
    }
    for key in ["licenses", "tasks"] {
        check_list(collection, key, true, report);
    }
    check_list(collection, "keywords", false, report);
    check_contacts(collection, "providers", true, report);
    check_contacts(collection, "curators", false, report);
    check_known_words(collection, report);
    check_version(collection, report);
    check_title(collection, report);
    check_extent(collection, report);
    super::labels::check_labels(&collection.fields, report);
}

fn report_missing_field(key: &str, report: &mut Report) {
    let what = match key {
        "id" => tr!("a short name in lower case, like peru-cropland-s2"),
        "description" => tr!("a sentence or two about what the dataset holds"),
        "licenses" => tr!("at least one SPDX identifier, like CC-BY-4.0"),
        "providers" => tr!("who made the data: at least one name"),
        "tasks" => tr!("what the data is for, like semantic-segmentation"),
        "dataset_version" => tr!("a version, like 1.0.0"),
        _ => tr!("a value"),
    };
    report.add(
        Rule::CollectionRequired,
        field_location(key),
        tr!("{key} is empty. It needs {what}.", key, what),
    );
}

fn wrong_type(key: &str, found: &Json, wanted: &str, report: &mut Report) {
    report.add(
        Rule::CollectionType,
        field_location(key),
        type_message(key, found, wanted),
    );
}

/// Says that a field has another type than `wanted`.
pub(super) fn type_message(key: &str, found: &Json, wanted: &str) -> String {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => tr!("true or false"),
        Json::Number(_) => tr!("a number"),
        Json::String(_) => tr!("text"),
        Json::Array(_) => tr!("a list"),
        Json::Object(_) => tr!("an object"),
    };
    tr!(
        "{key} is {found}; it has to be {wanted}.",
        key,
        found,
        wanted
    )
}

fn check_id(collection: &Collection, report: &mut Report) {
    match collection.get("id") {
        None => report_missing_field("id", report),
        Some(Json::String(id)) if id.trim().is_empty() => report_missing_field("id", report),
        Some(Json::String(id)) => {
            let allowed =
                |c: char| matches!(c, '_' | '-') || c.is_alphanumeric() && !c.is_uppercase();
            match check_dataset_id(id) {
                // The specification demands no letter.
                Err(fault) => {
                    let rule = if id.chars().all(allowed) {
                        Rule::IdDatasetLetter
                    } else {
                        Rule::IdDataset
                    };
                    let message = tr!(
                        "The id \"{id}\" {fault}.",
                        id = id.escape_default(),
                        fault = fault.localized_text()
                    );
                    report.add(rule, field_location("id"), message);
                }
                Ok(()) if !id.is_ascii() => {
                    let message = tr!(
                        "The id \"{id}\" has letters other than a to z.",
                        id = id.printable_line()
                    );
                    report.add(Rule::IdDatasetText, field_location("id"), message);
                }
                Ok(()) => {}
            }
        }
        Some(other) => wrong_type("id", other, tr!("text"), report),
    }
}

fn check_text(collection: &Collection, key: &str, report: &mut Report) {
    match collection.get(key) {
        None => report_missing_field(key, report),
        Some(Json::String(text)) if text.trim().is_empty() => report_missing_field(key, report),
        Some(Json::String(_)) => {}
        Some(other) => wrong_type(key, other, tr!("text"), report),
    }
}

fn check_list(collection: &Collection, key: &str, required: bool, report: &mut Report) {
    match collection.get(key) {
        None if required => report_missing_field(key, report),
        None => report.add(
            Rule::CollectionKeywords,
            field_location(key),
            tr!("No keywords. Search will not find this dataset by topic."),
        ),
        Some(Json::Array(items)) if items.is_empty() && required => {
            report_missing_field(key, report)
        }
        Some(Json::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                match item {
                    Json::String(text) if !text.trim().is_empty() => {}
                    Json::String(_) => report.add(
                        Rule::CollectionType,
                        field_location(format!("{key}/{index}")),
                        tr!("{key} has an empty entry.", key),
                    ),
                    other => wrong_type(&format!("{key}/{index}"), other, tr!("text"), report),
                }
            }
        }
        Some(other) => wrong_type(key, other, tr!("a list of texts"), report),
    }
}

fn check_contacts(collection: &Collection, key: &str, required: bool, report: &mut Report) {
    let contacts = match collection.get(key) {
        None if required => return report_missing_field(key, report),
        None => return,
        Some(Json::Array(items)) if items.is_empty() && required => {
            return report_missing_field(key, report);
        }
        Some(Json::Array(items)) => items,
        Some(other) => return wrong_type(key, other, tr!("a list of contacts"), report),
    };
    for (index, contact) in contacts.iter().enumerate() {
        let Json::Object(fields) = contact else {
            wrong_type(
                &format!("{key}/{index}"),
                contact,
                tr!("an object with a name"),
                report,
            );
            continue;
        };
        if find_filled_text(fields, "name").is_none()
            && find_filled_text(fields, "organization").is_none()
        {
            let message =
                tr!("This contact has neither a name nor an organization. Fill one of them.");
            report.add(
                Rule::CollectionContact,
                field_location(format!("{key}/{index}/name")),
                message,
            );
        }
        if key == "providers"
            && find_filled_text(fields, "name").is_none()
            && find_filled_text(fields, "organization").is_some()
        {
            let message =
                tr!("This provider has an organization and no name, which tacotoolbox demands.");
            report.add(
                Rule::ProviderName,
                field_location(format!("{key}/{index}/name")),
                message,
            );
        }
        for name in ["name", "organization", "email", "role", "url"] {
            if let Some(value) = fields
                .get(name)
                .filter(|value| !value.is_null() && !value.is_string())
            {
                wrong_type(&format!("{key}/{index}/{name}"), value, tr!("text"), report);
            }
        }
        for name in ["roles", "links"] {
            if let Some(value) = fields
                .get(name)
                .filter(|value| !value.is_null() && !value.is_array())
            {
                wrong_type(
                    &format!("{key}/{index}/{name}"),
                    value,
                    tr!("a list"),
                    report,
                );
            }
        }
        if let Some(name) = ["roles", "url", "links"]
            .into_iter()
            .find(|name| fields.get(*name).is_some_and(|v| !v.is_null()))
        {
            let message = tr!(
                "{name} is a field of the tools; a contact of the specification has name, \
                    organization, email and role.",
                name
            );
            report.add(
                Rule::ContactForm,
                field_location(format!("{key}/{index}/{name}")),
                message,
            );
        }
        if find_filled_text(fields, "email").is_some_and(|email| !email.contains('@')) {
            let message = tr!(
                "No \"@\" in this address. Use a form like data@acml.example.org, or leave it \
                    empty."
            );
            report.add(
                Rule::CollectionContact,
                field_location(format!("{key}/{index}/email")),
                message,
            );
        }
        if find_filled_text(fields, "url")
            .is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://"))
        {
            let message = tr!("This address does not begin with http:// or https://.");
            report.add(
                Rule::CollectionContact,
                field_location(format!("{key}/{index}/url")),
                message,
            );
        }
    }
}

/// The text of a field without the spaces around it; `None` where nothing is left.
pub(super) fn find_filled_text<'a>(fields: &'a Map<String, Json>, key: &str) -> Option<&'a str> {
    fields
        .get(key)
        .and_then(Json::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

fn check_known_words(collection: &Collection, report: &mut Report) {
    for (index, licence) in
        list_texts(collection, "licenses").filter(|(_, text)| !text.trim().is_empty())
    {
        let known = spdx::license_id(licence).is_some() || spdx::Expression::parse(licence).is_ok();
        if !known && licence != "proprietary" {
            let message = tr!(
                "{licence} is no SPDX identifier. Choose one from the list, like CC-BY-4.0.",
                licence
            );
            report.add(
                Rule::CollectionLicence,
                field_location(format!("licenses/{index}")),
                message,
            );
        }
    }
    for (index, task) in list_texts(collection, "tasks").filter(|(_, text)| !text.trim().is_empty())
    {
        if !TASKS.contains(&task) {
            let message = tr!(
                "{task} is not among the tasks of the Python tools. Choose one from the list, or \
                    `other`.",
                task
            );
            report.add(
                Rule::CollectionTask,
                field_location(format!("tasks/{index}")),
                message,
            );
        }
    }
}

fn list_texts<'a>(collection: &'a Collection, key: &str) -> impl Iterator<Item = (usize, &'a str)> {
    collection
        .get(key)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .enumerate()
}

/// The version stated in the specification (section 5.5.2).
const TACO_VERSION: &str = "2.0.0";

fn check_version(collection: &Collection, report: &mut Report) {
    if let Some(version) = collection
        .get("taco_version")
        .and_then(Json::as_str)
        .filter(|text| !text.trim().is_empty())
        && version != TACO_VERSION
    {
        let (found, wanted) = (version.printable_line(), TACO_VERSION);
        let message = tr!(
            "taco_version is {found}; this specification is {wanted}.",
            found,
            wanted
        );
        report.add(Rule::TacoVersion, field_location("taco_version"), message);
    }
}

fn check_title(collection: &Collection, report: &mut Report) {
    match collection.get("title") {
        Some(Json::String(title)) => {
            let length = title.chars().count();
            if length > TITLE_MAX {
                let message = tr!(
                    "The title has {length} characters; {limit} is the limit.",
                    length,
                    limit = TITLE_MAX
                );
                report.add(Rule::CollectionTitle, field_location("title"), message);
            }
        }
        Some(other) => wrong_type("title", other, tr!("text"), report),
        None => {}
    }
}

fn check_extent(collection: &Collection, report: &mut Report) {
    let extent = match collection.get("extent") {
        None => return,
        Some(Json::Object(extent)) => extent,
        Some(other) => {
            return wrong_type(
                "extent",
                other,
                tr!("an object with spatial and temporal"),
                report,
            );
        }
    };
    if let Some(spatial) = extent.get("spatial").filter(|value| !value.is_null()) {
        let numbers: Option<Vec<f64>> = spatial
            .as_array()
            .and_then(|items| items.iter().map(Json::as_f64).collect());
        let message = match numbers.as_deref() {
            Some(&[west, south, east, north]) => {
                if west.abs() > 180.0 || east.abs() > 180.0 {
                    Some(tr!("Longitudes are between -180 and 180 degrees."))
                } else if south.abs() > 90.0 || north.abs() > 90.0 {
                    Some(tr!("Latitudes are between -90 and 90 degrees."))
                } else if south > north {
                    Some(tr!("South is greater than north. Swap them."))
                } else {
                    None
                }
            }
            _ => Some(tr!(
                "The spatial extent has to be four numbers: west, south, east, north."
            )),
        };
        if let Some(message) = message {
            report.add(
                Rule::CollectionExtent,
                field_location("extent/spatial"),
                message,
            );
        }
    }
    if let Some(temporal) = extent.get("temporal").filter(|value| !value.is_null()) {
        let texts: Option<Vec<&str>> = temporal
            .as_array()
            .and_then(|items| items.iter().map(Json::as_str).collect());
        let times: Option<Vec<_>> =
            texts.map(|texts| texts.into_iter().map(parse_utc_time).collect());
        let message = match times.as_deref() {
            Some([Some(start), Some(end)]) if start > end => {
                Some(tr!("The start is after the end. Swap them."))
            }
            Some([Some(_), Some(_)]) => None,
            _ => Some(tr!(
                "The temporal extent has to be two times in ISO 8601, like 2023-01-01T00:00:00Z."
            )),
        };
        if let Some(message) = message {
            report.add(
                Rule::CollectionExtent,
                field_location("extent/temporal"),
                message,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(change: impl FnOnce(&mut Collection)) -> Vec<(Rule, String)> {
        let mut collection = Collection::template();
        for (key, value) in [
            ("id", json!("peru-cropland-s2")),
            ("description", json!("Fields.")),
            ("licenses", json!(["CC-BY-4.0"])),
            (
                "providers",
                json!([{"name": "Andean Crop Mapping Lab", "roles": ["producer"]}]),
            ),
            ("tasks", json!(["semantic-segmentation"])),
            ("keywords", json!(["peru"])),
        ] {
            collection.set(key, Some(value));
        }
        change(&mut collection);
        let mut report = Report::default();
        check_collection(&collection, &mut report);
        report.keep(crate::model::Profile::Tools);
        report
            .findings
            .into_iter()
            .map(|f| (f.rule, f.at.to_string()))
            .collect()
    }

    #[test]
    fn a_filled_collection_is_clean() {
        assert_eq!(findings(|_| {}), []);
    }

    #[test]
    fn each_fault_has_its_rule_and_place() {
        let set = |key: &str, value: Json| findings(|c| drop(c.set(key, Some(value))));
        let one = |rule, place: &str| vec![(rule, format!("COLLECTION.json {place}"))];
        assert_eq!(set("id", json!("Peru")), one(Rule::IdDataset, "id"));
        assert_eq!(
            set("licenses", json!([])),
            one(Rule::CollectionRequired, "licenses")
        );
        assert_eq!(
            set("licenses", json!(["CC"])),
            one(Rule::CollectionLicence, "licenses/0")
        );
        assert_eq!(
            set("tasks", json!(["farming"])),
            one(Rule::CollectionTask, "tasks/0")
        );
        assert_eq!(
            set("tasks", json!("farming")),
            one(Rule::CollectionType, "tasks")
        );
        assert_eq!(
            set("providers", json!([{"name": "A", "email": "a.b"}])),
            one(Rule::CollectionContact, "providers/0/email")
        );
        assert_eq!(
            set("curators", json!([{}])),
            one(Rule::CollectionContact, "curators/0/name")
        );
        assert_eq!(
            set("title", json!("x".repeat(251))),
            one(Rule::CollectionTitle, "title")
        );
        assert_eq!(
            set("extent", json!({"spatial": [0, 10, 0, -10]})),
            one(Rule::CollectionExtent, "extent/spatial")
        );
        assert_eq!(
            set("extent", json!({"temporal": ["2024-01-01", "2023-01-01"]})),
            one(Rule::CollectionExtent, "extent/temporal")
        );
        assert_eq!(
            set("extent", json!({"temporal": ["24-1-1", "24-12-31"]})),
            one(Rule::CollectionExtent, "extent/temporal")
        );
        assert_eq!(
            set("providers", json!([{"organization": "A"}])),
            one(Rule::ProviderName, "providers/0/name")
        );
        assert_eq!(set("curators", json!([{"organization": "A"}])), []);
        assert_eq!(
            set("keywords", json!(null)),
            one(Rule::CollectionKeywords, "keywords")
        );
    }
}
