//! `template`: what datasets of one kind have in common: tasks, keywords and classes. The kinds are
//! the [`CONVENTIONS`] and each task of TACO 0.2's list. Fields that the collection has already
//! stay. The fields of samples are those of `class_shares`.

use serde_json::{Value as Json, json};

use super::CollectionFields;
use crate::error::{Error, Result};
use crate::model::{CONVENTIONS, Collection, Convention, ConventionClass};

/// A kind of dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetTemplate {
    /// Name in the option `kind`.
    pub kind: &'static str,
    /// Its task in 2.0.
    task: &'static str,
    keywords: &'static [&'static str],
    classes: &'static [ConventionClass],
}

const fn of_task(
    kind: &'static str,
    task: &'static str,
    keywords: &'static [&'static str],
) -> DatasetTemplate {
    DatasetTemplate {
        kind,
        task,
        keywords,
        classes: &[],
    }
}

const fn of_convention(convention: Convention) -> DatasetTemplate {
    DatasetTemplate {
        kind: convention.kind,
        task: convention.task,
        keywords: convention.keywords,
        classes: convention.classes,
    }
}

/// The kinds in the order of the interface: the conventions, then the tasks in the order of the
/// specification.
pub const TEMPLATES: [DatasetTemplate; 23] = [
    of_convention(CONVENTIONS[0]),
    of_convention(CONVENTIONS[1]),
    of_convention(CONVENTIONS[2]),
    of_convention(CONVENTIONS[3]),
    of_task("regression", "regression", &["regression"]),
    of_task("classification", "classification", &["classification"]),
    of_task(
        "scene-classification",
        "scene-classification",
        &["scene classification"],
    ),
    of_task(
        "object-detection",
        "object-detection",
        &["object detection"],
    ),
    of_task("segmentation", "segmentation", &["segmentation"]),
    of_task(
        "semantic-segmentation",
        "semantic-segmentation",
        &["semantic segmentation"],
    ),
    of_task(
        "instance-segmentation",
        "instance-segmentation",
        &["instance segmentation"],
    ),
    of_task(
        "panoptic-segmentation",
        "panoptic-segmentation",
        &["panoptic segmentation"],
    ),
    of_task(
        "similarity-search",
        "similarity-search",
        &["similarity search"],
    ),
    of_task("generative", "generative", &["generative models"]),
    of_task(
        "image-captioning",
        "image-captioning",
        &["image captioning"],
    ),
    of_task(
        "super-resolution",
        "super-resolution",
        &["super-resolution"],
    ),
    of_task("denoising", "denoising", &["denoising"]),
    of_task("inpainting", "inpainting", &["inpainting"]),
    of_task("colorization", "colorization", &["colorization"]),
    of_task("style-transfer", "style-transfer", &["style transfer"]),
    of_task("deblurring", "deblurring", &["deblurring"]),
    of_task("dehazing", "dehazing", &["dehazing"]),
    // TACO 0.2 calls it General; 2.0 has no such task.
    of_task("general", "other", &[]),
];

/// Names of [`TEMPLATES`].
pub const KINDS: [&str; TEMPLATES.len()] = {
    let mut kinds = [""; TEMPLATES.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = TEMPLATES[at].kind;
        at += 1;
    }
    kinds
};

/// The template of `{kind}`.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown kind.
pub fn template(given: &Json) -> Result<DatasetTemplate> {
    let kind = given.get("kind").and_then(Json::as_str).unwrap_or_default();
    let found = TEMPLATES.into_iter().find(|template| template.kind == kind);
    found.ok_or_else(|| {
        Error::usage(format!("there is no template {kind:?}"))
            .hint(format!("choose one of {}", KINDS.join(", ")))
    })
}

impl DatasetTemplate {
    /// The fields of the template that `collection` lacks.
    pub fn fields(&self, collection: &Collection) -> CollectionFields {
        let mut fields = CollectionFields::new();
        if lacks_entries(collection, "tasks") {
            fields.push(("tasks".into(), json!([self.task])));
        }
        if !self.keywords.is_empty() && lacks_entries(collection, "keywords") {
            fields.push(("keywords".into(), json!(self.keywords)));
        }
        if !self.classes.is_empty() && lacks_entries(collection, "labels:classes") {
            fields.push((
                "labels:classes".into(),
                self.classes.iter().map(describe_convention_class).collect(),
            ));
            fields.push(("labels:num_classes".into(), json!(self.classes.len())));
        }
        fields
    }
}

/// True where the field is missing or an empty list.
fn lacks_entries(collection: &Collection, key: &str) -> bool {
    match collection.get(key) {
        None => true,
        Some(Json::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}

fn describe_convention_class(class: &ConventionClass) -> Json {
    json!({
        "name": class.name,
        "category": class.value.to_string(),
        "description": class.description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TASKS, TASKS_0_2};

    #[test]
    fn every_task_of_the_specification_has_a_template_with_a_task_of_2_0() {
        for task in TASKS_0_2 {
            let kind = task.to_lowercase().replace(' ', "-");
            let found = template(&json!({ "kind": kind }))
                .unwrap_or_else(|error| panic!("{task}: {}", error.report()));
            assert!(TASKS.contains(&found.task), "{task}");
        }
        assert_eq!(TEMPLATES.len(), TASKS_0_2.len() + CONVENTIONS.len());
        assert!(template(&json!({ "kind": "fire" })).is_err());
    }

    #[test]
    fn each_convention_fills_an_empty_collection_with_valid_fields() {
        for kind in CONVENTIONS.iter().map(|convention| convention.kind) {
            let found = template(&json!({ "kind": kind }))
                .unwrap_or_else(|error| panic!("{kind}: {}", error.report()));
            assert!(TASKS.contains(&found.task), "{kind}: {}", found.task);
            let fields = found.fields(&Collection::template());
            let value = |key: &str| {
                fields
                    .iter()
                    .find(|(name, _)| name == key)
                    .map(|(_, value)| value.clone())
                    .unwrap_or_default()
            };
            assert_eq!(value("tasks"), json!([found.task]), "{kind}");
            let classes = value("labels:classes")
                .as_array()
                .cloned()
                .unwrap_or_default();
            assert!(
                classes.len() > 1 && value("labels:num_classes") == json!(classes.len()),
                "{kind}"
            );
            for key in ["name", "category"] {
                let values: std::collections::BTreeSet<&str> = classes
                    .iter()
                    .filter_map(|class| class[key].as_str())
                    .collect();
                assert_eq!(
                    values.len(),
                    classes.len(),
                    "{kind}: each {key} is a text and unique"
                );
            }
        }
    }

    #[test]
    fn fields_that_are_there_stay() {
        let flood = template(&json!({ "kind": "flood" })).expect("is known");
        let keys = |collection: &Collection| -> Vec<String> {
            flood
                .fields(collection)
                .into_iter()
                .map(|(key, _)| key)
                .collect()
        };
        let mut collection = Collection::template();
        assert_eq!(
            keys(&collection),
            ["tasks", "keywords", "labels:classes", "labels:num_classes"]
        );
        collection.set("keywords", Some(json!(["Mekong"])));
        collection.set(
            "labels:classes",
            Some(json!([{ "name": "wet", "category": "1" }])),
        );
        assert_eq!(keys(&collection), ["tasks"]);
    }
}
