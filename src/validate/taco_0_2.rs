//! Checks COLLECTION of TACO 0.2 files (TACO 0.2, table 2 and "TACO-level Semantic Description"):
//! core fields, types, words, persons, addresses, and the extent in both of its forms: that of the
//! specification (four numbers, milliseconds) and that of the official tools (lists of boxes,
//! ISO 8601). Extensions may have the keys of the tools (`optical_data`, `labels`, `scientific`) or
//! be among the other fields, as the tables of the specification can be read.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::collection::{TITLE_MAX, find_filled_text};
use crate::footprint::parse_time;
use crate::model::{
    Location, Report, Rule, SPLITS_0_2, SPLITS_OF_TOOLS_0_2, TASKS_0_2, TASKS_OF_TOOLS_0_2,
    missing_of_taco_0_2,
};
use crate::text::PrintableLine;

/// Checks a collection of TACO 0.2, with the rules of both profiles.
pub fn check(fields: &Map<String, Json>, report: &mut Report) {
    for key in missing_of_taco_0_2(fields) {
        let rule = if key == "curators" {
            Rule::TortillaCurators
        } else {
            Rule::TortillaCollection
        };
        let message = tr!("{key} is missing.", key);
        report.add(rule, Location::Collection(key), message);
    }
    super::labels::check_labels(fields, report);
    let mut check = CoreField { report };
    for key in [
        "id",
        "taco_version",
        "dataset_version",
        "description",
        "title",
    ] {
        check.text(fields.get(key), key);
    }
    if let Some(length) = fields
        .get("title")
        .and_then(Json::as_str)
        .map(|title| title.chars().count())
        && length > TITLE_MAX
    {
        check.add(
            "title",
            tr!(
                "The title has {length} characters; {limit} is the limit.",
                length,
                limit = TITLE_MAX
            ),
        );
    }
    for key in ["licenses", "keywords"] {
        check.texts(fields.get(key), key);
    }
    for key in ["providers", "curators"] {
        check.check_objects(
            fields.get(key),
            key,
            tr!("a list of contacts"),
            CoreField::person,
        );
    }
    if let Some(extent) = non_null_value(fields.get("extent")) {
        check.extent(extent);
    }
    check.word(fields.get("task"), "task", &TASKS_0_2, &TASKS_OF_TOOLS_0_2);
    check.word(
        fields.get("split_strategy"),
        "split_strategy",
        &SPLITS_0_2,
        &SPLITS_OF_TOOLS_0_2,
    );
    for key in ["discuss_link", "raw_link"] {
        check.link(fields.get(key), key);
    }
    check.sensor(fields);
    check.labels(fields);
    check.scientific(fields);
}

fn non_null_value(value: Option<&Json>) -> Option<&Json> {
    value.filter(|value| !value.is_null())
}

/// The object under one of `names`, with its path, or the fields themselves where one of `keys` is
/// among them.
fn extension<'a>(
    fields: &'a Map<String, Json>,
    names: &[&str],
    keys: &[&str],
) -> Option<(&'a Map<String, Json>, String)> {
    let named = names
        .iter()
        .find_map(|name| Some((fields.get(*name)?.as_object()?, format!("{name}/"))));
    named.or_else(|| {
        keys.iter()
            .any(|key| non_null_value(fields.get(*key)).is_some())
            .then(|| (fields, String::new()))
    })
}

struct CoreField<'a> {
    report: &'a mut Report,
}

impl CoreField<'_> {
    fn add(&mut self, at: &str, message: impl Into<String>) {
        self.report.add(
            Rule::TortillaField,
            Location::Collection(at.to_owned()),
            message,
        );
    }

    fn misfit(&mut self, at: &str, found: &Json, wanted: &str) {
        let message = super::collection::type_message(at, found, wanted);
        self.add(at, message);
    }

    fn form(&mut self, at: &str, message: impl Into<String>) {
        self.report.add(
            Rule::TortillaTextForm,
            Location::Collection(at.to_owned()),
            message,
        );
    }

    fn text(&mut self, value: Option<&Json>, at: &str) {
        if let Some(value) = non_null_value(value).filter(|value| !value.is_string()) {
            self.misfit(at, value, tr!("text"));
        }
    }

    /// A text that has to be there.
    fn check_required_text(&mut self, value: Option<&Json>, at: &str) {
        match non_null_value(value) {
            Some(value) => self.text(Some(value), at),
            None => self.add(at, tr!("{key} is missing.", key = at)),
        }
    }

    fn texts(&mut self, value: Option<&Json>, at: &str) {
        match non_null_value(value) {
            Some(Json::Array(items)) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| match item {
                        Json::String(_) => {}
                        other => self.misfit(&format!("{at}/{index}"), other, tr!("text")),
                    });
            }
            Some(other) => self.misfit(at, other, tr!("a list of texts")),
            None => {}
        }
    }

    fn number(&mut self, value: Option<&Json>, at: &str) {
        if let Some(value) = non_null_value(value).filter(|value| !value.is_number()) {
            self.misfit(at, value, tr!("a number"));
        }
    }

    /// Objects of a list.
    fn check_objects(
        &mut self,
        value: Option<&Json>,
        at: &str,
        wanted: &str,
        check: fn(&mut Self, &Map<String, Json>, &str),
    ) {
        match non_null_value(value) {
            Some(Json::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let at = format!("{at}/{index}");
                    match item {
                        Json::Object(fields) => check(self, fields, &at),
                        other => self.misfit(&at, other, tr!("an object")),
                    }
                }
            }
            Some(other) => self.misfit(at, other, wanted),
            None => {}
        }
    }

    fn person(&mut self, fields: &Map<String, Json>, at: &str) {
        let lacks = |key: &str| find_filled_text(fields, key).is_none();
        if lacks("name") && lacks("organization") {
            let message =
                tr!("This contact has neither a name nor an organization. Fill one of them.");
            self.add(&format!("{at}/name"), message);
        }
        for key in ["name", "organization"] {
            self.text(fields.get(key), &format!("{at}/{key}"));
        }
        self.texts(fields.get("roles"), &format!("{at}/roles"));
        self.check_objects(
            fields.get("emails"),
            &format!("{at}/emails"),
            tr!("a list"),
            |check, fields, at| {
                let at = format!("{at}/value");
                check.check_required_text(fields.get("value"), &at);
                if fields
                    .get("value")
                    .and_then(Json::as_str)
                    .is_some_and(|value| !value.contains('@'))
                {
                    let message = tr!("No \"@\" in this address. Use a form like \
                    data@acml.example.org, or leave it empty.");
                    check.add(&at, message);
                }
            },
        );
    }

    fn extent(&mut self, extent: &Json) {
        let Json::Object(fields) = extent else {
            return self.misfit("extent", extent, tr!("an object with spatial and temporal"));
        };
        if let Some(spatial) = non_null_value(fields.get("spatial")) {
            let listed = contains_lists(spatial);
            let boxes: Vec<&Json> = if listed {
                spatial.as_array().into_iter().flatten().collect()
            } else {
                vec![spatial]
            };
            let fault = boxes.iter().find_map(|one| box_fault(one));
            if let Some(message) = fault {
                self.add("extent/spatial", message);
            } else if listed {
                self.form(
                    "extent/spatial",
                    tr!("The specification has four numbers: xmin, ymin, xmax, \
                    ymax. This is a list of boxes."),
                );
            }
        }
        if let Some(temporal) = non_null_value(fields.get("temporal")) {
            let listed = contains_lists(temporal);
            let ranges: Vec<&Json> = if listed {
                temporal.as_array().into_iter().flatten().collect()
            } else {
                vec![temporal]
            };
            if let Some(message) = ranges.iter().find_map(|one| range_fault(one)) {
                self.add("extent/temporal", message);
            } else if listed
                || ranges.iter().any(|range| {
                    range
                        .as_array()
                        .is_some_and(|ends| ends.iter().any(Json::is_string))
                })
            {
                let message = tr!(
                    "The specification has two whole numbers, milliseconds since 1970. This is \
                        another form."
                );
                self.form("extent/temporal", message);
            }
        }
    }

    /// A word of the specification in any spelling, or one of the tools. The field may be an object
    /// that has it.
    fn word(&mut self, value: Option<&Json>, at: &str, known: &[&str], tools: &[&str]) {
        let Some(value) = non_null_value(value) else {
            return;
        };
        let Some(word) = value.get(at).unwrap_or(value).as_str() else {
            return self.misfit(at, value, tr!("text"));
        };
        let plain = |text: &str| text.trim().to_lowercase().replace([' ', '_'], "-");
        let found = word.printable_line();
        if !known
            .iter()
            .chain(tools)
            .any(|name| plain(name) == plain(word))
        {
            let message = tr!(
                "{key} is {found}, which is none of the words of TACO 0.2.",
                key = at,
                found
            );
            self.report.add(
                Rule::TortillaWord,
                Location::Collection(at.to_owned()),
                message,
            );
        } else if !known.iter().any(|name| plain(name) == plain(word)) {
            self.form(
                at,
                tr!(
                    "{key} is {found}, a word of the official tools, which the specification does \
                        not have.",
                    key = at,
                    found
                ),
            );
        } else if !known.contains(&word) {
            self.form(
                at,
                tr!(
                    "{key} is {found}, which the specification does not have in this spelling.",
                    key = at,
                    found
                ),
            );
        }
    }

    fn link(&mut self, value: Option<&Json>, at: &str) {
        let Some(value) = non_null_value(value) else {
            return;
        };
        let Json::Object(fields) = value else {
            return self.misfit(at, value, tr!("an object with href"));
        };
        let place = format!("{at}/href");
        self.check_required_text(fields.get("href"), &place);
        if let Some(href) = fields.get("href").and_then(Json::as_str)
            && !is_uri(href)
        {
            self.add(
                &place,
                tr!(
                    "{found} is no URI (RFC 3986).",
                    found = href.printable_line()
                ),
            );
        }
        self.text(fields.get("description"), &format!("{at}/description"));
    }

    fn sensor(&mut self, fields: &Map<String, Json>) {
        let Some((fields, at)) =
            extension(fields, &["optical_data", "sensor"], &["sensor", "bands"])
        else {
            return;
        };
        self.text(fields.get("sensor"), &format!("{at}sensor"));
        self.check_objects(
            fields.get("bands"),
            &format!("{at}bands"),
            tr!("a list of bands"),
            |check, band, at| {
                check.check_required_text(band.get("name"), &format!("{at}/name"));
                for key in ["common_name", "description", "unit"] {
                    check.text(band.get(key), &format!("{at}/{key}"));
                }
                if let Some(index) = non_null_value(band.get("index"))
                    .filter(|index| !index.is_i64() && !index.is_u64())
                {
                    check.misfit(&format!("{at}/index"), index, tr!("a whole number"));
                }
                for key in ["center_wavelength", "full_width_half_max"] {
                    check.number(band.get(key), &format!("{at}/{key}"));
                }
            },
        );
        self.unique(fields.get("bands"), &format!("{at}bands"));
    }

    fn labels(&mut self, fields: &Map<String, Json>) {
        let Some((fields, at)) =
            extension(fields, &["labels"], &["label_classes", "label_description"])
        else {
            return;
        };
        let list = format!("{at}label_classes");
        if non_null_value(fields.get("label_classes")).is_none() {
            self.add(&list, tr!("{key} is missing.", key = list));
        }
        self.check_objects(
            fields.get("label_classes"),
            &list,
            tr!("a list of classes"),
            |check, class, at| {
                check.check_required_text(class.get("name"), &format!("{at}/name"));
                let place = format!("{at}/category");
                match non_null_value(class.get("category")) {
                    None => check.add(&place, tr!("{key} is missing.", key = place)),
                    Some(Json::String(_)) => {}
                    Some(category) if category.is_i64() || category.is_u64() => {}
                    Some(other) => check.misfit(&place, other, tr!("text or a whole number")),
                }
                check.text(class.get("description"), &format!("{at}/description"));
            },
        );
        self.unique(fields.get("label_classes"), &list);
        self.text(
            fields.get("label_description"),
            &format!("{at}label_description"),
        );
    }

    fn scientific(&mut self, fields: &Map<String, Json>) {
        let keys = ["doi", "citation", "summary", "publications"];
        let Some((fields, at)) = extension(fields, &["scientific"], &keys) else {
            return;
        };
        for key in ["doi", "citation", "summary"] {
            self.text(fields.get(key), &format!("{at}{key}"));
        }
        self.check_objects(
            fields.get("publications"),
            &format!("{at}publications"),
            tr!("a list of publications"),
            |check, one, at| {
                for key in ["doi", "citation", "summary"] {
                    check.check_required_text(one.get(key), &format!("{at}/{key}"));
                }
            },
        );
    }

    /// Names that occur twice in a list.
    fn unique(&mut self, list: Option<&Json>, at: &str) {
        let mut seen = HashSet::new();
        for (index, item) in list
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            if let Some(name) = item.get("name").and_then(Json::as_str)
                && !seen.insert(name)
            {
                self.add(
                    &format!("{at}/{index}/name"),
                    tr!(
                        "Another entry has the name {name}.",
                        name = name.printable_line()
                    ),
                );
            }
        }
    }
}

/// True for a list of lists.
fn contains_lists(value: &Json) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.iter().any(Json::is_array))
}

fn box_fault(value: &Json) -> Option<&'static str> {
    let numbers: Option<Vec<f64>> = value
        .as_array()
        .and_then(|items| items.iter().map(Json::as_f64).collect());
    let (west, south, east, north) = match numbers.as_deref() {
        Some(&[west, south, east, north]) | Some(&[west, south, _, east, north, _]) => {
            (west, south, east, north)
        }
        _ => {
            return Some(tr!(
                "The spatial extent has to be four numbers: west, south, east, north."
            ));
        }
    };
    if west.abs() > 180.0 || east.abs() > 180.0 {
        Some(tr!("Longitudes are between -180 and 180 degrees."))
    } else if south.abs() > 90.0 || north.abs() > 90.0 {
        Some(tr!("Latitudes are between -90 and 90 degrees."))
    } else {
        (south > north).then(|| tr!("South is greater than north. Swap them."))
    }
}

fn range_fault(value: &Json) -> Option<&'static str> {
    /// Microseconds since 1970. One end of a range of the tools may be open.
    fn time(value: &Json) -> Option<Option<i64>> {
        match value {
            Json::Null => Some(None),
            Json::String(text) => Some(Some(parse_time(text)?)),
            Json::Number(number) => Some(Some(number.as_i64()?.checked_mul(1000)?)),
            _ => None,
        }
    }
    let Some([start, end]) = value.as_array().map(Vec::as_slice) else {
        return Some(describe_wanted_range());
    };
    match (time(start), time(end)) {
        (Some(Some(start)), Some(Some(end))) if start > end => {
            Some(tr!("The start is after the end. Swap them."))
        }
        (None, _) | (_, None) | (Some(None), Some(None)) => Some(describe_wanted_range()),
        _ => None,
    }
}

fn describe_wanted_range() -> &'static str {
    tr!("The temporal extent has to be two times: milliseconds since 1970, or ISO 8601.")
}

/// True for a URI with a scheme (RFC 3986, section 3): characters and percent-encoding are those
/// that it allows.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    scheme
        && !rest.is_empty()
        && rest.chars().all(allowed)
        && rest.split('%').skip(1).all(starts_with_hex_pair)
}

fn starts_with_hex_pair(rest: &str) -> bool {
    rest.len() >= 2 && rest.is_char_boundary(2) && rest[..2].chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(change: impl FnOnce(&mut Map<String, Json>)) -> Vec<(Rule, String)> {
        let person = json!({
            "name": "A. Maker",
            "organization": null,
            "emails": [{ "value": "a@lab.example" }],
            "roles": ["producer"],
        });
        let whole = json!({
            "id": "fields", "taco_version": "0.2.0", "dataset_version": "1.0.0",
            "description": "Fields.", "licenses": ["CC-BY-4.0"],
            "extent": {
                "spatial": [-80.0, -10.0, -70.0, 0.0],
                "temporal": [946684800000i64, 978307200000i64],
            },
            "providers": [person.clone()], "curators": [person], "title": null,
            "keywords": ["peru"], "task": "Semantic Segmentation",
            "split_strategy": "random", "raw_link": {
                "href": "https://example.org/a%20b?c=d#e",
                "description": "raw",
            },
            "sensor": "sentinel2msi", "bands": [{
                "name": "B02",
                "index": 1,
                "center_wavelength": 492.4,
            }],
            "labels": {
                "label_classes": [
                    { "name": "Water", "category": 3 },
                    { "name": "Land", "category": "land" },
                ],
            },
            "scientific": {
                "doi": "10.1/2",
                "publications": [{ "doi": "10.1/3", "citation": "A", "summary": "B" }],
            }
        });
        let mut fields = whole.as_object().expect("an object").clone();
        change(&mut fields);
        let mut report = Report::default();
        check(&fields, &mut report);
        report
            .findings
            .into_iter()
            .map(|finding| (finding.rule, finding.at.to_string()))
            .collect()
    }

    #[test]
    fn a_collection_in_the_form_of_the_specification_is_clean() {
        assert_eq!(findings(|_| {}), []);
    }

    #[test]
    fn the_form_of_the_tools_is_clean_and_differs_from_the_specification() {
        let found = findings(|fields| {
            let range = ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"];
            fields.insert(
                "extent".into(),
                json!({ "spatial": [[-80, -10, -70, 0]], "temporal": [range] }),
            );
            fields.insert("task".into(), json!("scene-classification"));
            fields.insert("split_strategy".into(), json!("manual"));
        });
        let at = [
            "extent/spatial",
            "extent/temporal",
            "task",
            "split_strategy",
        ];
        assert_eq!(
            found,
            at.map(|at| (Rule::TortillaTextForm, format!("COLLECTION.json {at}")))
        );
        assert!(!Rule::TortillaTextForm.applies_to(crate::model::Profile::Tools));
        assert_eq!(
            Rule::TortillaTextForm.severity_in(crate::model::Profile::Spec),
            crate::model::Severity::Error
        );
    }

    #[test]
    fn each_fault_has_its_rule_and_place() {
        let field = |at: &str| vec![(Rule::TortillaField, format!("COLLECTION.json {at}"))];
        let set = |pointer: &str, value: Json| {
            findings(|fields| {
                let mut whole = Json::Object(std::mem::take(fields));
                match whole.pointer_mut(pointer) {
                    Some(slot) => *slot = value,
                    None => whole[pointer.trim_start_matches('/')] = value,
                }
                *fields = whole.as_object().expect("an object").clone();
            })
        };
        for (pointer, value, at) in [
            ("/id", json!(3), "id"),
            ("/title", json!("x".repeat(251)), "title"),
            ("/licenses", json!("CC0"), "licenses"),
            ("/keywords", json!(["a", 1]), "keywords/1"),
            ("/providers/0/name", json!(""), "providers/0/name"),
            ("/curators/0", json!("A. Maker"), "curators/0"),
            (
                "/providers/0/emails/0/value",
                json!("nowhere"),
                "providers/0/emails/0/value",
            ),
            ("/extent/spatial", json!([0, 10, 0, -10]), "extent/spatial"),
            ("/extent/spatial", json!([[0, 1, 2]]), "extent/spatial"),
            ("/extent/temporal", json!([2, 1]), "extent/temporal"),
            (
                "/extent/temporal",
                json!([["2020", null]]),
                "extent/temporal",
            ),
            ("/raw_link/href", json!("not a uri"), "raw_link/href"),
            (
                "/raw_link/href",
                json!("https://example.org/%zz"),
                "raw_link/href",
            ),
            (
                "/discuss_link",
                json!("https://example.org"),
                "discuss_link",
            ),
            ("/bands/0/index", json!(1.5), "bands/0/index"),
            (
                "/bands",
                json!([{ "name": "a" }, { "name": "a" }]),
                "bands/1/name",
            ),
            (
                "/labels/label_classes/0/category",
                json!(null),
                "labels/label_classes/0/category",
            ),
            (
                "/labels/label_classes/1/name",
                json!("Water"),
                "labels/label_classes/1/name",
            ),
            (
                "/scientific/publications/0/summary",
                json!(null),
                "scientific/publications/0/summary",
            ),
        ] {
            assert_eq!(set(pointer, value.clone()), field(at), "{pointer} {value}");
        }
        assert_eq!(
            set("/task", json!("farming")),
            vec![(Rule::TortillaWord, "COLLECTION.json task".into())]
        );
        assert_eq!(
            set("/curators", json!([])),
            vec![(Rule::TortillaCurators, "COLLECTION.json curators".into())]
        );
        for key in [
            "id",
            "taco_version",
            "dataset_version",
            "description",
            "licenses",
            "extent",
            "providers",
        ] {
            let found = set(&format!("/{key}"), json!(null));
            assert_eq!(
                found,
                vec![(Rule::TortillaCollection, format!("COLLECTION.json {key}"))],
                "{key}"
            );
        }
        assert_eq!(
            set("/labels/label_classes/1/category", json!("3")),
            vec![(
                Rule::ClassCategory,
                "COLLECTION.json labels/label_classes/1/category".into()
            )]
        );
        assert_eq!(
            set("/extent/temporal", json!(null)),
            vec![(
                Rule::TortillaCollection,
                "COLLECTION.json extent/temporal".into()
            )]
        );
    }
}
