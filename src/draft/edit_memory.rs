//! Approximate memory of an edit, by which the history is limited. Tortillas shared with other
//! owners are not counted.

use std::mem::size_of;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Edit;
use super::edit::ColumnChange;
use crate::model::{AssetPath, Payload, Sample, Tortilla, Value};

/// Overhead in bytes of a reference-counted allocation.
const SHARED: u64 = 32;

/// Approximate bytes freed when the edit is dropped.
pub(super) fn edit_bytes(edit: &Edit) -> u64 {
    let own = size_of::<Edit>() as u64;
    own + match edit {
        Edit::Insert { samples, .. } => samples.iter().map(sample_bytes).sum(),
        Edit::SetPayload { payload, .. } => payload_bytes(payload),
        Edit::SetValue { value, .. } => value_bytes(value),
        Edit::SetRow { values, .. } => values.iter().map(value_bytes).sum(),
        Edit::RemoveMany { samples } | Edit::MoveMany { samples, .. } => samples.len() as u64 * 56,
        Edit::Reorder { order, .. } => order.len() as u64 * 4,
        Edit::Group { positions, .. } => positions.len() as u64 * 4,
        Edit::RenameMany { names } => names
            .iter()
            .map(|(path, id)| 40 + 4 * path.0.len() as u64 + text(id))
            .sum(),
        Edit::Column {
            change: ColumnChange::Fill { value, .. } | ColumnChange::Add { value, .. },
            ..
        } => value_bytes(value),
        Edit::AddToTray { files } => files
            .iter()
            .map(|place| 40 + place.file.path.as_os_str().len() as u64)
            .sum(),
        Edit::RemoveFromTray { places } => places.len() as u64 * 4,
        Edit::ReplaceTray { files } if Arc::strong_count(files) == 1 => files
            .iter()
            .map(|file| 32 + file.path.as_os_str().len() as u64)
            .sum(),
        Edit::AddField { values, .. } => values.iter().map(value_bytes).sum(),
        Edit::ReplaceTortilla { with, .. } => tortilla_bytes(with),
        Edit::SetCollection { value, .. } => value.as_ref().map_or(0, json_bytes),
        Edit::ReplaceCollection { collection } => collection
            .fields
            .iter()
            .map(|(key, value)| 48 + key.len() as u64 + json_bytes(value))
            .sum(),
        Edit::Batch { edits, .. } => edits.iter().map(edit_bytes).sum(),
        _ => 0,
    }
}

/// Number of samples in the serialized edit, including shared ones; counting stops slightly above
/// `limit`.
pub fn edit_weight(edit: &Edit, limit: u64) -> u64 {
    let tortilla = tortilla_weight;
    match edit {
        Edit::Insert { samples, .. } => samples
            .iter()
            .map(|s| 1 + s.children().map_or(0, |below| tortilla(below, limit)))
            .sum(),
        Edit::ReplaceTortilla { with, .. } => tortilla(with, limit),
        Edit::SetPayload {
            payload: Payload::Folder(below),
            ..
        } => tortilla(below, limit),
        Edit::SetPayload {
            payload: Payload::Bytes(bytes),
            ..
        } => bytes.len() as u64 / 100,
        Edit::RemoveMany { samples } | Edit::MoveMany { samples, .. } => samples.len() as u64 / 4,
        Edit::RenameMany { names } => names.len() as u64 / 2,
        Edit::AddToTray { files } => files.len() as u64 / 2,
        Edit::ReplaceTray { files } => files.len() as u64 / 2,
        Edit::AddField { values, .. } => values.len() as u64 / 4,
        Edit::Batch { edits, .. } => {
            let mut total = 0;
            for edit in edits {
                if total > limit {
                    break;
                }
                total += edit_weight(edit, limit);
            }
            total
        }
        _ => 1,
    }
}

fn tortilla_weight(tortilla: &Tortilla, limit: u64) -> u64 {
    let mut total = tortilla.samples.len() as u64;
    for children in tortilla.samples.iter().filter_map(Sample::children) {
        if total > limit {
            break;
        }
        total += tortilla_weight(children, limit - total);
    }
    total
}

fn tortilla_bytes(tortilla: &Arc<Tortilla>) -> u64 {
    if Arc::strong_count(tortilla) > 1 {
        return 0;
    }
    SHARED + tortilla.samples.iter().map(sample_bytes).sum::<u64>()
}

fn sample_bytes(sample: &Sample) -> u64 {
    let values: u64 = match Arc::strong_count(&sample.values) {
        1 => sample.values.iter().map(value_bytes).sum(),
        _ => 0,
    };
    size_of::<Sample>() as u64 + text(&sample.id) + payload_bytes(&sample.payload) + values
}

fn payload_bytes(payload: &Payload) -> u64 {
    match payload {
        Payload::Folder(tortilla) => tortilla_bytes(tortilla),
        Payload::Bytes(bytes) if Arc::strong_count(bytes) == 1 => SHARED + bytes.len() as u64,
        Payload::Asset {
            path: AssetPath::File(path),
            ..
        } if Arc::strong_count(path) == 1 => SHARED + path.as_os_str().len() as u64,
        _ => 0,
    }
}

fn text(text: &Arc<str>) -> u64 {
    if Arc::strong_count(text) > 1 {
        0
    } else {
        SHARED + text.len() as u64
    }
}

fn value_bytes(value: &Value) -> u64 {
    let own = size_of::<Value>() as u64;
    own + match value {
        Value::Text(value) => text(value),
        Value::Bytes(bytes) if Arc::strong_count(bytes) == 1 => SHARED + bytes.len() as u64,
        Value::List(values) if Arc::strong_count(values) == 1 => {
            SHARED + values.iter().map(value_bytes).sum::<u64>()
        }
        Value::Other(array) => array.get_array_memory_size() as u64,
        _ => 0,
    }
}

fn json_bytes(value: &Json) -> u64 {
    let own = size_of::<Json>() as u64;
    own + match value {
        Json::String(text) => text.len() as u64,
        Json::Array(values) => values.iter().map(json_bytes).sum(),
        Json::Object(fields) => fields
            .iter()
            .map(|(key, value)| 48 + key.len() as u64 + json_bytes(value))
            .sum(),
        _ => 0,
    }
}
