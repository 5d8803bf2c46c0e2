//! Checks the classes of labels: `labels:classes` of a TACO 2.0 collection, `label_classes` of TACO
//! 0.2 ("Label Class Extension"), in `labels` or among the other fields. Classes may share a
//! category, which is a warning; names are unique.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use crate::model::{Location, Report, Rule};
use crate::text::PrintableLine;

/// Adds findings about the classes of a collection of either generation.
pub fn check_labels(fields: &Map<String, Json>, report: &mut Report) {
    if let Some(classes) = fields.get("labels:classes").and_then(Json::as_array) {
        check_names(classes, "labels:classes", report);
        check_categories(classes, "labels:classes", report);
    }
    let nested = fields
        .get("labels")
        .and_then(|labels| labels.get("label_classes"));
    for (classes, at) in [
        (nested, "labels/label_classes"),
        (fields.get("label_classes"), "label_classes"),
    ] {
        // Their names are checked with the other fields of TACO 0.2.
        if let Some(classes) = classes.and_then(Json::as_array) {
            check_categories(classes, at, report);
        }
    }
}

/// A finding at the second class of each category, with the names of all. A category of TACO 0.2
/// may be a number: 1 is the same as `"1"`, as it is stored as text in 2.0.
fn check_categories(classes: &[Json], at: &str, report: &mut Report) {
    // By category, its first class and its place in `shared`.
    let mut known: HashMap<String, (usize, Option<usize>)> = HashMap::new();
    let mut shared: Vec<(String, usize, Vec<&str>)> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let Some(category) = class
            .get("category")
            .and_then(read_category)
            .filter(|category| !category.is_empty())
        else {
            continue;
        };
        match known.get_mut(&category) {
            None => drop(known.insert(category, (index, None))),
            Some((_, Some(place))) => shared[*place].2.push(name_of(class)),
            Some((first, place)) => {
                *place = Some(shared.len());
                let names = vec![name_of(&classes[*first]), name_of(class)];
                shared.push((category, index, names));
            }
        }
    }
    for (category, index, names) in shared {
        let message = tr!(
            "The classes {names} share the category {category}: a mask with this value can't \
                distinguish them.",
            names = names.join(", ").printable_line(),
            category = category.printable_line()
        );
        report.add(
            Rule::ClassCategory,
            Location::Collection(format!("{at}/{index}/category")),
            message,
        );
    }
}

fn read_category(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.trim().to_owned()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Findings at classes without a name, and with the name of an earlier one.
fn check_names(classes: &[Json], at: &str, report: &mut Report) {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, class) in classes
        .iter()
        .enumerate()
        .filter(|(_, class)| class.is_object())
    {
        let name = name_of(class).trim();
        let place = || Location::Collection(format!("{at}/{index}/name"));
        if name.is_empty() {
            report.add(
                Rule::ClassName,
                place(),
                tr!("Class {number} has no name.", number = index + 1),
            );
        } else if let Some(first) = known.get(name) {
            let message = tr!(
                "Class {number} has the name {name}, as class {first} has.",
                number = index + 1,
                name = name.printable_line(),
                first = first + 1
            );
            report.add(Rule::ClassName, place(), message);
        } else {
            known.insert(name, index);
        }
    }
}

fn name_of(class: &Json) -> &str {
    class.get("name").and_then(Json::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(fields: Json) -> Vec<(Rule, String, String)> {
        let mut report = Report::default();
        check_labels(fields.as_object().expect("an object"), &mut report);
        report
            .findings
            .into_iter()
            .map(|finding| (finding.rule, finding.at.to_string(), finding.message))
            .collect()
    }

    #[test]
    fn classes_that_share_a_category_are_one_warning_in_either_generation() {
        let classes = json!([{ "name": "Lake", "category": 1 }, { "name": "Land", "category": "0" },
            { "name": "River", "category": "1" }, { "name": "Sea", "category": 1 },
            { "name": "Unknown", "category": null }]);
        let message = "The classes Lake, River, Sea share the category 1: a mask with this value \
            can't distinguish them.";
        for (fields, at) in [
            (json!({ "labels:classes": classes }), "labels:classes"),
            (
                json!({ "labels": { "label_classes": classes } }),
                "labels/label_classes",
            ),
            (json!({ "label_classes": classes }), "label_classes"),
        ] {
            let wanted = (
                Rule::ClassCategory,
                format!("COLLECTION.json {at}/2/category"),
                message.to_owned(),
            );
            assert_eq!(findings(fields), [wanted]);
        }
    }

    /// Each class would be compared with all categories that are shared.
    #[test]
    fn many_categories_that_two_classes_share_are_found_in_order() {
        let count = 50_000;
        let class = |number: usize| json!({ "name": "n", "category": number % count });
        let classes: Vec<Json> = (0..3 * count).map(class).collect();
        let mut report = Report::default();
        check_categories(&classes, "labels:classes", &mut report);
        assert_eq!(report.count(Rule::ClassCategory), count);
        let first = &report.findings[0];
        assert!(
            first
                .message
                .starts_with("The classes n, n, n share the category 0:")
        );
        let wanted = format!("COLLECTION.json labels:classes/{count}/category");
        assert_eq!(first.at.to_string(), wanted);
    }

    #[test]
    fn names_are_there_and_unique() {
        let classes = json!([{ "name": "Lake", "category": "1" }, { "name": " ",
            "category": "2" }, { "name": "Lake", "category": "3" },
            "a text", { "category": "4" }]);
        let found = findings(json!({ "labels:classes": classes }));
        let at = |index: usize| {
            (
                Rule::ClassName,
                format!("COLLECTION.json labels:classes/{index}/name"),
            )
        };
        let places: Vec<_> = found.into_iter().map(|(rule, at, _)| (rule, at)).collect();
        assert_eq!(places, [at(1), at(2), at(4)]);
        assert_eq!(findings(json!({ "labels:classes": { "0": "Lake" } })), []);
    }
}
