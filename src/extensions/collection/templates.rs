//! `template`: what datasets of one kind have in common: tasks, keywords and classes. The kinds are Flood and Methane, which TACO 0.2
//! names as conventions (figure 3), land cover and change detection, which its paper adds (section 3), and each task of its list. The
//! text states no field for the conventions, so the templates set fields of 2.0 alone. Fields that the collection has already stay.

use serde_json::{Value as Json, json};

use super::Fields;
use crate::error::{Error, Result};
use crate::model::Collection;

/// A class of a labelled dataset: name, value in masks, description.
type Class = (&'static str, &'static str, &'static str);

/// A kind of dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// Name in the option `kind`.
    pub kind: &'static str,
    /// Its task in 2.0.
    task: &'static str,
    keywords: &'static [&'static str],
    classes: &'static [Class],
}

const fn of_task(kind: &'static str, task: &'static str, keywords: &'static [&'static str]) -> Template {
    Template { kind, task, keywords, classes: &[] }
}

/// The kinds in the order of the interface: the conventions, then the tasks in the order of the text.
pub const TEMPLATES: [Template; 23] = [
    Template {
        kind: "flood",
        task: "semantic-segmentation",
        keywords: &["flood", "surface water", "disaster response"],
        classes: &[("land", "0", "Not covered by water"), ("water", "1", "Covered by water, flooded or permanent")],
    },
    Template {
        kind: "methane",
        task: "semantic-segmentation",
        keywords: &["methane", "plume", "greenhouse gas emissions"],
        classes: &[("background", "0", "No plume of methane"), ("plume", "1", "Plume of methane")],
    },
    // The six categories of the IPCC (2006).
    Template {
        kind: "land-cover",
        task: "semantic-segmentation",
        keywords: &["land cover", "land use", "mapping"],
        classes: &[
            ("forest land", "1", "Woody vegetation above the national thresholds of a forest"),
            ("cropland", "2", "Arable land, rice fields and agroforestry below the thresholds of a forest"),
            ("grassland", "3", "Rangeland and pasture that is no cropland"),
            ("wetlands", "4", "Land covered or saturated by water for all or part of the year"),
            ("settlements", "5", "Developed land with its transport ways"),
            ("other land", "6", "Bare soil, rock, ice and all that is in no other class"),
        ],
    },
    Template {
        kind: "change-detection",
        task: "semantic-segmentation",
        keywords: &["change detection", "time series", "bitemporal"],
        classes: &[("no change", "0", "Alike at both times"), ("change", "1", "Different at the second time")],
    },
    of_task("regression", "regression", &["regression"]),
    of_task("classification", "classification", &["classification"]),
    of_task("scene-classification", "scene-classification", &["scene classification"]),
    of_task("object-detection", "object-detection", &["object detection"]),
    of_task("segmentation", "segmentation", &["segmentation"]),
    of_task("semantic-segmentation", "semantic-segmentation", &["semantic segmentation"]),
    of_task("instance-segmentation", "instance-segmentation", &["instance segmentation"]),
    of_task("panoptic-segmentation", "panoptic-segmentation", &["panoptic segmentation"]),
    of_task("similarity-search", "similarity-search", &["similarity search"]),
    of_task("generative", "generative", &["generative models"]),
    of_task("image-captioning", "image-captioning", &["image captioning"]),
    of_task("super-resolution", "super-resolution", &["super-resolution"]),
    of_task("denoising", "denoising", &["denoising"]),
    of_task("inpainting", "inpainting", &["inpainting"]),
    of_task("colorization", "colorization", &["colorization"]),
    of_task("style-transfer", "style-transfer", &["style transfer"]),
    of_task("deblurring", "deblurring", &["deblurring"]),
    of_task("dehazing", "dehazing", &["dehazing"]),
    // The text calls it General; 2.0 has no such task.
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
pub fn template(given: &Json) -> Result<Template> {
    let kind = given.get("kind").and_then(Json::as_str).unwrap_or_default();
    let found = TEMPLATES.into_iter().find(|template| template.kind == kind);
    found.ok_or_else(|| Error::usage(format!("there is no template {kind:?}")).hint(format!("choose one of {}", KINDS.join(", "))))
}

impl Template {
    /// The fields of the template that `collection` lacks.
    pub fn fields(&self, collection: &Collection) -> Fields {
        let lacks = |key: &str| match collection.get(key) {
            None => true,
            Some(Json::Array(list)) => list.is_empty(),
            Some(_) => false,
        };
        let mut fields = Fields::new();
        if lacks("tasks") {
            fields.push(("tasks".into(), json!([self.task])));
        }
        if !self.keywords.is_empty() && lacks("keywords") {
            fields.push(("keywords".into(), json!(self.keywords)));
        }
        if !self.classes.is_empty() && lacks("labels:classes") {
            let class =
                |&(name, category, description): &Class| json!({ "name": name, "category": category, "description": description });
            fields.push(("labels:classes".into(), self.classes.iter().map(class).collect()));
            fields.push(("labels:num_classes".into(), json!(self.classes.len())));
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TASKS, TASKS_0_2};

    #[test]
    fn every_task_of_the_text_has_a_template_with_a_task_of_2_0() {
        for task in TASKS_0_2 {
            let kind = task.to_lowercase().replace(' ', "-");
            let found = template(&json!({ "kind": kind })).unwrap_or_else(|error| panic!("{task}: {}", error.report()));
            assert!(TASKS.contains(&found.task), "{task}");
        }
        assert_eq!(TEMPLATES.len(), TASKS_0_2.len() + 4);
        assert!(template(&json!({ "kind": "fire" })).is_err());
    }

    #[test]
    fn each_convention_fills_an_empty_collection_with_valid_fields() {
        for kind in ["flood", "methane", "land-cover", "change-detection"] {
            let found = template(&json!({ "kind": kind })).unwrap_or_else(|error| panic!("{kind}: {}", error.report()));
            assert!(TASKS.contains(&found.task), "{kind}: {}", found.task);
            let fields = found.fields(&Collection::template());
            let value = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()).unwrap_or_default();
            assert_eq!(value("tasks"), json!([found.task]), "{kind}");
            let classes = value("labels:classes").as_array().cloned().unwrap_or_default();
            assert!(classes.len() > 1 && value("labels:num_classes") == json!(classes.len()), "{kind}");
            for key in ["name", "category"] {
                let values: std::collections::BTreeSet<&str> = classes.iter().filter_map(|class| class[key].as_str()).collect();
                assert_eq!(values.len(), classes.len(), "{kind}: each {key} is a text and unique");
            }
        }
    }

    #[test]
    fn fields_that_are_there_stay() {
        let flood = template(&json!({ "kind": "flood" })).expect("is known");
        let keys = |collection: &Collection| -> Vec<String> { flood.fields(collection).into_iter().map(|(key, _)| key).collect() };
        let mut collection = Collection::template();
        assert_eq!(keys(&collection), ["tasks", "keywords", "labels:classes", "labels:num_classes"]);
        collection.set("keywords", Some(json!(["Mekong"])));
        collection.set("labels:classes", Some(json!([{ "name": "wet", "category": "1" }])));
        assert_eq!(keys(&collection), ["tasks"]);
    }
}
