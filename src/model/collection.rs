//! COLLECTION.json (TACO 2.0, section 5.5.2): an ordered JSON object. Unknown fields are preserved.

use serde_json::{Map, Value as Json, json};

/// Keys in the order in which the Python tools write them, before extensions and `taco:*` keys.
pub const KNOWN_KEYS: [&str; 11] = [
    "id",
    "dataset_version",
    "description",
    "licenses",
    "providers",
    "tasks",
    "taco_version",
    "title",
    "curators",
    "keywords",
    "extent",
];

/// Keys whose values writers compute from the tree.
pub const COMPUTED_KEYS: [&str; 4] = [
    "taco:pit_schema",
    "taco:field_schema",
    "taco:sources",
    "_tacocat",
];

/// Tasks known to the Python tools; others give a warning.
pub const TASKS: [&str; 21] = [
    "regression",
    "classification",
    "scene-classification",
    "detection",
    "object-detection",
    "segmentation",
    "semantic-segmentation",
    "instance-segmentation",
    "panoptic-segmentation",
    "similarity-search",
    "generative",
    "image-captioning",
    "super-resolution",
    "denoising",
    "inpainting",
    "colorization",
    "style-transfer",
    "deblurring",
    "dehazing",
    "foundation-model",
    "other",
];

/// Metadata of a dataset. Always a JSON object; in a draft any field may be missing.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Collection {
    /// The fields, in file order.
    pub fields: Map<String, Json>,
}

/// Key of the field that has the [`ExtentOrigin`] of the field `extent`.
pub const EXTENT_ORIGIN: &str = "extent:origin";

/// Where an extent comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentOrigin {
    /// Computed from the samples.
    Samples,
    /// Stated by a user or another program; writers keep it.
    Stated,
    /// No sample has a footprint: the extent is the whole world, as the official tools write it.
    Unknown,
}

impl ExtentOrigin {
    /// The value of [`EXTENT_ORIGIN`] in the collection.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Stated => "stated",
            Self::Unknown => "unknown",
        }
    }

    /// Where a collection's extent comes from; `None` without an extent. An extent without
    /// [`EXTENT_ORIGIN`] counts as stated, except one without times that is the whole world, which
    /// the official tools write when no sample has a footprint, or that has no box.
    pub fn from_collection(collection: &Collection) -> Option<Self> {
        let extent = collection.get("extent")?;
        let stored = collection.get(EXTENT_ORIGIN).and_then(Json::as_str);
        let stored_origin = [Self::Samples, Self::Stated, Self::Unknown]
            .into_iter()
            .find(|origin| stored == Some(origin.as_str()));
        let bounds = extent.get("spatial").and_then(Json::as_array);
        let covers_world = bounds.is_none_or(|bounds| {
            (bounds.iter().map(Json::as_f64)).eq([-180.0, -90.0, 180.0, 90.0].map(Some))
        });
        let has_times = extent.get("temporal").is_some_and(|times| !times.is_null());
        Some(stored_origin.unwrap_or(if covers_world && !has_times {
            Self::Unknown
        } else {
            Self::Stated
        }))
    }
}

/// Provider that the migration fills in when the old dataset has none.
pub const UNKNOWN_PROVIDER: &str = "unknown";
/// Licence that the migration fills in when the old dataset has none.
pub const UNKNOWN_LICENCE: &str = "LicenseRef-unknown";

/// Description that the migration fills in when the old dataset, a file of this name, has none.
/// [`Collection::placeholders`] recognises it in stored collections.
pub fn placeholder_description(name: &str) -> String {
    format!("Moved from {name}, which has no description.")
}

impl Collection {
    /// Names of the fields that still have a value which the migration filled in.
    pub fn placeholders(&self) -> Vec<&'static str> {
        // The text around the name of the file, of which no file has the character NUL.
        let placeholder = placeholder_description("\0");
        let (before, after) = placeholder.split_once('\0').unwrap_or_default();
        let description = self.text("description");
        let list = |key: &str| self.get(key).and_then(Json::as_array).into_iter().flatten();
        let mut found = Vec::new();
        if description.starts_with(before) && description.ends_with(after) {
            found.push("description");
        }
        if list("providers")
            .any(|provider| provider.get("name").and_then(Json::as_str) == Some(UNKNOWN_PROVIDER))
        {
            found.push("providers");
        }
        if list("licenses").any(|licence| licence.as_str() == Some(UNKNOWN_LICENCE)) {
            found.push("licenses");
        }
        found
    }

    /// Initial collection of a new draft: every known key, most with an empty value, so that the
    /// form and the checks show what is missing.
    pub fn template() -> Self {
        let Json::Object(fields) = json!({
            "id": "", "dataset_version": "0.1.0", "description": "", "licenses": [],
            "providers": [], "tasks": [],
            "taco_version": "2.0.0", "title": null, "curators": null, "keywords": null,
            "extent": null,
        }) else {
            unreachable!("the template is an object")
        };
        Self { fields }
    }

    /// The dataset's id; empty when missing or not a string.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// A string field; empty when missing or not a string.
    pub fn text(&self, key: &str) -> &str {
        self.fields
            .get(key)
            .and_then(Json::as_str)
            .unwrap_or_default()
    }

    /// The field `key`; null counts as missing.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// Sets a field, or removes it with `None`; returns the former value.
    pub fn set(&mut self, key: &str, value: Option<Json>) -> Option<Json> {
        match value {
            Some(value) => self.fields.insert(key.to_owned(), value),
            None => self.fields.shift_remove(key),
        }
    }

    /// Description of a column of a level in `taco:field_schema`; `None` where there is none.
    pub fn column_description(&self, level: usize, name: &str) -> Option<&str> {
        let columns = self
            .get("taco:field_schema")?
            .get(format!("level{level}"))?
            .as_array()?;
        // A column is a list: name, type, description.
        let column = columns
            .iter()
            .find(|column| column.get(0).and_then(Json::as_str) == Some(name))?;
        column
            .get(2)
            .and_then(Json::as_str)
            .filter(|text| !text.trim().is_empty())
    }

    /// The fields without those that the writer computes from the tree.
    pub fn descriptive_fields(&self) -> Map<String, Json> {
        self.fields
            .iter()
            .filter(|(key, _)| !COMPUTED_KEYS.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(fields: Json) -> Collection {
        Collection {
            fields: fields.as_object().cloned().expect("an object"),
        }
    }

    #[test]
    fn an_extent_without_an_origin_is_stated_unless_it_says_nothing() {
        let world = json!([-180.0, -90, 180, 90.0]);
        for (extent, expected) in [
            (json!({ "spatial": world }), ExtentOrigin::Unknown),
            (json!({ "temporal": null }), ExtentOrigin::Unknown),
            (
                json!({ "spatial": world, "temporal": ["2024-01-01", "2024-02-01"] }),
                ExtentOrigin::Stated,
            ),
            (
                json!({ "spatial": [-180, "west", -90, 180, 90] }),
                ExtentOrigin::Stated,
            ),
        ] {
            let found = ExtentOrigin::from_collection(&collection(json!({ "extent": extent })));
            assert_eq!(found, Some(expected), "{extent}");
        }
        let stored = json!({ "extent": { "spatial": world }, "extent:origin": "samples" });
        assert_eq!(
            ExtentOrigin::from_collection(&collection(stored)),
            Some(ExtentOrigin::Samples)
        );
        assert_eq!(
            ExtentOrigin::from_collection(&collection(json!({ "extent": null }))),
            None
        );
    }

    #[test]
    fn a_description_of_ones_own_is_no_placeholder() {
        let description = placeholder_description("old.tortilla");
        let found = |text: &str| collection(json!({ "description": text })).placeholders();
        assert_eq!(found(&description), ["description"]);
        assert!(found("Moved from old.tortilla, with a description.").is_empty());
        assert!(found("").is_empty());
    }
}
