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
    /// [`EXTENT_ORIGIN`] counts as stated, except the whole world without times, which the official
    /// tools write when no sample has a footprint.
    pub fn from_collection(collection: &Collection) -> Option<Self> {
        let extent = collection.get("extent")?;
        let stored = collection.get(EXTENT_ORIGIN).and_then(Json::as_str);
        let known = [Self::Samples, Self::Stated, Self::Unknown]
            .into_iter()
            .find(|origin| stored == Some(origin.as_str()));
        let spatial = extent.get("spatial").and_then(Json::as_array);
        let numbers: Option<Vec<f64>> =
            spatial.map(|list| list.iter().filter_map(Json::as_f64).collect());
        let has_no_times = extent.get("temporal").is_none_or(Json::is_null);
        let is_default =
            has_no_times && numbers.is_none_or(|numbers| numbers == [-180.0, -90.0, 180.0, 90.0]);
        Some(known.unwrap_or(if is_default {
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

/// Description that the migration fills in when the old dataset has none.
pub fn placeholder_description(name: &str) -> String {
    format!("Moved from {name}, which has no description.")
}

impl Collection {
    /// Names of the fields that still have a value filled in by the migration.
    pub fn placeholders(&self) -> Vec<&'static str> {
        let moved = placeholder_description("\0");
        let (before, after) = moved.split_once('\0').unwrap_or_default();
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

    /// Initial collection of a new draft: every required key with a mostly empty value, so that the
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

    /// The descriptive fields, without those that the writer computes from the tree.
    pub fn descriptive_fields(&self) -> Map<String, Json> {
        let computed = [
            "taco:pit_schema",
            "taco:field_schema",
            "taco:sources",
            "_tacocat",
        ];
        self.fields
            .iter()
            .filter(|(key, _)| !computed.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }
}
