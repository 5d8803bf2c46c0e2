//! `labels:*`: the classes of a labelled dataset.

use serde_json::{Value as Json, json};

use super::{CollectionFields, options};
use crate::error::{Error, Result};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelOptions {
    classes: Vec<LabelClass>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelClass {
    name: String,
    category: ClassCategory,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, alias = "color")]
    colour: Option<String>,
}

/// The value that stands for a class in the data: a number in masks, a code in tables. Stored as a
/// string.
#[derive(serde::Deserialize)]
#[serde(
    untagged,
    expecting = "the category of a class is an integer or a text"
)]
enum ClassCategory {
    Number(i64),
    Text(String),
}

/// `labels:classes`, `labels:description` and `labels:num_classes` from `{classes: [{name,
/// category, description?, colour?}], description?}`, with colours as `#rrggbb`.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for two classes whose names differ at most in the
/// blanks around them, an empty name, or an invalid colour. Classes may share a category, which is
/// a warning of validation.
pub fn labels(given: &Json) -> Result<CollectionFields> {
    let given: LabelOptions = options("labels", given)?;
    let mut classes: Vec<Json> = Vec::with_capacity(given.classes.len());
    for class in &given.classes {
        let category = match &class.category {
            ClassCategory::Number(number) => number.to_string(),
            ClassCategory::Text(text) => text.clone(),
        };
        let name = class.name.trim();
        if name.is_empty() {
            return Err(Error::usage(format!(
                "the class of category {category} has no name"
            )));
        }
        if classes.iter().any(|other| other["name"] == *name) {
            return Err(Error::usage(format!("two classes have the name {name}"))
                .hint("classes may share a category, not a name"));
        }
        let mut entry =
            json!({ "name": name, "category": category, "description": class.description });
        if let Some(colour) = &class.colour {
            let digits = colour.strip_prefix('#').unwrap_or_default();
            if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(Error::usage(format!("{colour:?} is not a colour"))
                    .hint("write #rrggbb, for example #2e7d32"));
            }
            entry["color"] = json!(colour.to_lowercase());
        }
        classes.push(entry);
    }
    let count = classes.len();
    Ok(vec![
        ("labels:classes".into(), Json::Array(classes)),
        ("labels:description".into(), json!(given.description)),
        ("labels:num_classes".into(), json!(count)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_become_fields() {
        let given = json!({ "classes": [{ "name": "Water", "category": 0, "colour": "#0044FF" },
                                        { "name": "Forest", "category": "FOR",
                                            "description": "trees" }] });
        let fields = labels(&given).expect("works");
        assert_eq!(
            fields[0].1[0],
            json!({ "name": "Water", "category": "0", "description": null, "color": "#0044ff" })
        );
        // As the field of the collection spells it.
        let given = json!({ "classes": [{ "name": "Water", "category": 0, "color": "#0044FF" }] });
        assert_eq!(labels(&given).expect("works")[0].1[0]["color"], "#0044ff");
        assert_eq!(
            fields[0].1[1],
            json!({ "name": "Forest", "category": "FOR", "description": "trees" })
        );
        assert_eq!(fields[1], ("labels:description".into(), Json::Null));
        assert_eq!(fields[2], ("labels:num_classes".into(), json!(2)));
        let shared = json!({
            "classes": [{ "name": "Lake", "category": 1 }, { "name": "River", "category": "1" }],
        });
        let fields = labels(&shared).expect("classes may share a category");
        assert_eq!(
            fields[0].1,
            json!([{ "name": "Lake", "category": "1", "description": null },
                                       { "name": "River", "category": "1", "description": null }])
        );
    }

    #[test]
    fn invalid_classes_are_refused() {
        let class = |name: &str, category: Json, colour: &str| {
            json!({
                "name": name,
                "category": category,
                "colour": colour,
            })
        };
        for bad in [
            json!({}),
            json!({ "classes": [class("", json!(1), "#000000")] }),
            json!({ "classes": [class("a", json!(1), "red")] }),
            json!({
                "classes": [class("a", json!(1), "#000000"), class("a", json!(2), "#000000")],
            }),
            // The validation trims names, too.
            json!({
                "classes": [class("a", json!(1), "#000000"), class("a ", json!(2), "#000000")],
            }),
            json!({ "classes": [class("a", json!(1.5), "#000000")] }),
            json!({ "classes": [], "colors": 1 }),
        ] {
            assert!(labels(&bad).is_err(), "{bad}");
        }
    }
}
