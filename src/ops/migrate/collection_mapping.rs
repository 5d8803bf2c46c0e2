//! What becomes of each field of a collection.

use serde::Serialize;
use serde_json::Value as Json;

use crate::model::Collection;

/// Migration of one field of the collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectionMapping {
    /// The field in the old file; empty where it has none.
    pub from: String,
    /// The field in the new one; `None` when it has no home.
    pub to: Option<String>,
    /// Name of the action.
    pub action: FieldAction,
    /// The old value, where it is not the new one.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub old: Json,
    /// The new value, where it is not the old one.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub new: Json,
    /// Why, in a sentence.
    pub note: String,
}

/// Action on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldAction {
    /// Copied unchanged.
    Kept,
    /// The same value under another name.
    Renamed,
    /// Another form of the value.
    Changed,
    /// Made up, because 2.0 requires it and the old file does not state it.
    Filled,
    /// 2.0 has no field for it.
    Dropped,
}

/// Collects the new collection and what was done.
#[derive(Default)]
pub(super) struct Mapped {
    pub collection: Collection,
    pub list: Vec<CollectionMapping>,
}

impl Mapped {
    pub fn put(
        &mut self,
        from: &str,
        to: &str,
        action: FieldAction,
        old: Json,
        new: Json,
        note: impl Into<String>,
    ) {
        self.collection.set(to, Some(new.clone()));
        let (old, new) = if action == FieldAction::Kept {
            (Json::Null, Json::Null)
        } else {
            (old, new)
        };
        self.list.push(CollectionMapping {
            from: from.into(),
            to: Some(to.into()),
            action,
            old,
            new,
            note: note.into(),
        });
    }

    pub fn keep(&mut self, key: &str, value: Json) {
        self.put(key, key, FieldAction::Kept, Json::Null, value, "");
    }

    pub fn drop(&mut self, from: impl Into<String>, old: Json, note: impl Into<String>) {
        let (action, new) = (FieldAction::Dropped, Json::Null);
        self.list.push(CollectionMapping {
            from: from.into(),
            to: None,
            action,
            old,
            new,
            note: note.into(),
        });
    }

    pub fn fill(&mut self, key: &str, value: Json, note: &str) {
        self.put("", key, FieldAction::Filled, Json::Null, value, note);
    }
}
