//! Edits: plain data that can be logged, replayed from a file and undone. Applying one gives its inverse.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::model::{Collection, Dataset, FieldSpec, NodePath, Payload, Sample, Tortilla, Value};

/// One change of a draft. Samples are addressed by position, so that an edit means the same on replay.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum Edit {
    /// Puts samples into a FOLDER (or the root), before position `at`.
    Insert {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// Position of the first one afterwards.
        at: u32,
        /// What to put there.
        samples: Vec<Sample>,
    },
    /// Takes `count` samples out of a FOLDER. Files on disk stay.
    Remove {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// Position of the first one.
        at: u32,
        /// How many.
        count: u32,
    },
    /// Gives a sample another id.
    Rename {
        /// The sample.
        sample: NodePath,
        /// The new id; may break the id rules, the checks say so.
        id: Arc<str>,
    },
    /// Moves a sample to another position or FOLDER. `to` and `at` count without the sample itself.
    Move {
        /// The sample.
        sample: NodePath,
        /// The FOLDER; empty for the root.
        to: NodePath,
        /// Position there.
        at: u32,
    },
    /// Points a sample at other data.
    SetPayload {
        /// The sample.
        sample: NodePath,
        /// What it points at from now on.
        payload: Payload,
    },
    /// Sets one cell. The field has to be in the tortilla's schema.
    SetValue {
        /// The sample.
        sample: NodePath,
        /// The field's name.
        field: String,
        /// The new value.
        value: Value,
    },
    /// Adds a field to a tortilla.
    AddField {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        /// Place among the fields.
        at: usize,
        /// Name and type.
        field: FieldSpec,
        /// One value for each sample; empty for nulls.
        values: Vec<Value>,
    },
    /// Takes a field with its values out of a tortilla.
    RemoveField {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        /// The field's name.
        field: String,
    },
    /// Replaces a whole tortilla: imports and jobs that change many samples at once.
    ReplaceTortilla {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        /// What stands there from now on.
        with: Arc<Tortilla>,
    },
    /// Sets a field of the collection; takes it out when `value` is absent.
    SetCollection {
        /// The top-level key.
        key: String,
        /// The new value.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
        value: Option<Json>,
    },
    /// Replaces the whole collection.
    ReplaceCollection {
        /// What stands there from now on.
        collection: Collection,
    },
    /// Several edits that are done and undone as one.
    Batch {
        /// What they do together, for the history.
        label: String,
        /// In order.
        edits: Vec<Edit>,
    },
}

impl Edit {
    /// What the edit does, for menus and the history: "Rename to label".
    pub fn label(&self) -> String {
        match self {
            Edit::Insert { samples, .. } if samples.len() == 1 => format!("Add {}", samples[0].id),
            Edit::Insert { samples, .. } => format!("Add {} samples", samples.len()),
            Edit::Remove { count: 1, .. } => "Drop 1 sample".into(),
            Edit::Remove { count, .. } => format!("Drop {count} samples"),
            Edit::Rename { id, .. } => format!("Rename to {id}"),
            Edit::Move { .. } => "Move sample".into(),
            Edit::SetPayload { .. } => "Change the data of a sample".into(),
            Edit::SetValue { field, .. } => format!("Set {field}"),
            Edit::AddField { field, .. } => format!("Add field {}", field.name),
            Edit::RemoveField { field, .. } => format!("Remove field {field}"),
            Edit::ReplaceTortilla { .. } => "Replace samples".into(),
            Edit::SetCollection { key, .. } => format!("Set {key}"),
            Edit::ReplaceCollection { .. } => "Replace the collection".into(),
            Edit::Batch { label, .. } => label.clone(),
        }
    }

    /// Changes `dataset` and gives the edit that changes it back. On error the dataset is as it was.
    pub fn apply(self, dataset: &mut Dataset) -> Result<Edit> {
        match self {
            Edit::Insert { parent, at, samples } => insert(dataset, parent, at, samples),
            Edit::Remove { parent, at, count } => remove(dataset, parent, at, count),
            Edit::Rename { sample, id } => rename(dataset, sample, id),
            Edit::Move { sample, to, at } => relocate(dataset, sample, to, at),
            Edit::SetPayload { sample, payload } => set_payload(dataset, sample, payload),
            Edit::SetValue { sample, field, value } => set_value(dataset, sample, field, value),
            Edit::AddField { tortilla, at, field, values } => add_field(dataset, tortilla, at, field, values),
            Edit::RemoveField { tortilla, field } => remove_field(dataset, tortilla, field),
            Edit::ReplaceTortilla { tortilla, with } => replace(dataset, tortilla, with),
            Edit::SetCollection { key, value } => {
                let value = dataset.collection.set(&key, value);
                Ok(Edit::SetCollection { key, value })
            }
            Edit::ReplaceCollection { collection } => {
                let collection = std::mem::replace(&mut dataset.collection, collection);
                Ok(Edit::ReplaceCollection { collection })
            }
            Edit::Batch { label, edits } => batch(dataset, label, edits),
        }
    }
}

fn insert(dataset: &mut Dataset, parent: NodePath, at: u32, samples: Vec<Sample>) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &parent)?;
    let place = at as usize;
    if place > tortilla.samples.len() {
        return Err(Error::usage(format!("there is no position {at}; the tortilla has {} samples", tortilla.samples.len())));
    }
    let count = samples.len() as u32;
    tortilla.samples.splice(place..place, samples);
    Ok(Edit::Remove { parent, at, count })
}

fn remove(dataset: &mut Dataset, parent: NodePath, at: u32, count: u32) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &parent)?;
    let range = at as usize..at as usize + count as usize;
    if range.end > tortilla.samples.len() {
        return Err(Error::usage(format!(
            "there are no {count} samples from position {at}; the tortilla has {}",
            tortilla.samples.len()
        )));
    }
    let samples = tortilla.samples.drain(range).collect();
    Ok(Edit::Insert { parent, at, samples })
}

fn rename(dataset: &mut Dataset, sample: NodePath, id: Arc<str>) -> Result<Edit> {
    let id = std::mem::replace(&mut sample_mut(dataset, &sample)?.id, id);
    Ok(Edit::Rename { sample, id })
}

fn relocate(dataset: &mut Dataset, sample: NodePath, to: NodePath, at: u32) -> Result<Edit> {
    let (parent, position) = sample.parent().ok_or_else(|| Error::usage("the root can't be moved"))?;
    if to.0.starts_with(&sample.0) {
        return Err(Error::usage("a FOLDER can't be moved into itself"));
    }
    let length = dataset.tortilla(&to).ok_or_else(|| no_tortilla(&to))?.samples.len() - usize::from(to == parent);
    if at as usize > length {
        return Err(Error::usage(format!("there is no position {at}; the tortilla has {length} other samples")));
    }
    let Edit::Insert { samples, .. } = remove(dataset, parent.clone(), position, 1)? else {
        return Err(Error::internal("removing did not give an insertion"));
    };
    // Positions behind the sample have moved up by one on the way to `to`.
    let shifted = without(&to, &parent, position);
    insert(dataset, shifted.clone(), at, samples)?;
    // Addresses after the move: the sample's own, and its old home's as seen without the sample.
    let moved = shifted.child(at);
    Ok(Edit::Move { sample: moved, to: with(&parent, &shifted, at), at: position })
}

/// `path` as it reads once the sample at `position` of `parent` is gone.
fn without(path: &NodePath, parent: &NodePath, position: u32) -> NodePath {
    let mut path = path.clone();
    let depth = parent.0.len();
    if path.0.len() > depth && path.0.starts_with(&parent.0) && path.0[depth] > position {
        path.0[depth] -= 1;
    }
    path
}

/// `path` as it reads once a sample was put at `position` of `parent`.
fn with(path: &NodePath, parent: &NodePath, position: u32) -> NodePath {
    let mut path = path.clone();
    let depth = parent.0.len();
    if path.0.len() > depth && path.0.starts_with(&parent.0) && path.0[depth] >= position {
        path.0[depth] += 1;
    }
    path
}

fn set_payload(dataset: &mut Dataset, sample: NodePath, payload: Payload) -> Result<Edit> {
    let payload = std::mem::replace(&mut sample_mut(dataset, &sample)?.payload, payload);
    Ok(Edit::SetPayload { sample, payload })
}

fn set_value(dataset: &mut Dataset, sample: NodePath, field: String, value: Value) -> Result<Edit> {
    let (parent, position) = sample.parent().ok_or_else(|| Error::usage("the root has no fields"))?;
    let tortilla = tortilla_mut(dataset, &parent)?;
    let index = tortilla.field(&field).ok_or_else(|| Error::usage(format!("there is no field {field}")))?;
    let width = tortilla.schema.len();
    let target = tortilla.samples.get_mut(position as usize).ok_or_else(|| no_sample(&sample))?;
    let mut values = target.values.to_vec();
    values.resize(width, Value::Null);
    let value = std::mem::replace(&mut values[index], value);
    target.values = values.into();
    Ok(Edit::SetValue { sample, field, value })
}

fn add_field(dataset: &mut Dataset, path: NodePath, at: usize, field: FieldSpec, values: Vec<Value>) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &path)?;
    if tortilla.field(&field.name).is_some() {
        return Err(Error::usage(format!("there is a field {} already", field.name)));
    }
    if at > tortilla.schema.len() || !(values.is_empty() || values.len() == tortilla.samples.len()) {
        return Err(Error::usage(format!("field {} needs a place among the fields and one value for each sample", field.name)));
    }
    let name = field.name.clone();
    let width = tortilla.schema.len();
    let mut schema = tortilla.schema.to_vec();
    schema.insert(at, field);
    tortilla.schema = schema.into();
    let mut values = values.into_iter();
    for sample in &mut tortilla.samples {
        let mut row = sample.values.to_vec();
        row.resize(width, Value::Null);
        row.insert(at, values.next().unwrap_or_default());
        sample.values = row.into();
    }
    Ok(Edit::RemoveField { tortilla: path, field: name })
}

fn remove_field(dataset: &mut Dataset, path: NodePath, name: String) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &path)?;
    let at = tortilla.field(&name).ok_or_else(|| Error::usage(format!("there is no field {name}")))?;
    let mut schema = tortilla.schema.to_vec();
    let field = schema.remove(at);
    tortilla.schema = schema.into();
    let mut values = Vec::with_capacity(tortilla.samples.len());
    for sample in &mut tortilla.samples {
        let mut row = sample.values.to_vec();
        values.push(if at < row.len() { row.remove(at) } else { Value::Null });
        sample.values = row.into();
    }
    Ok(Edit::AddField { tortilla: path, at, field, values })
}

fn replace(dataset: &mut Dataset, path: NodePath, new: Arc<Tortilla>) -> Result<Edit> {
    let old = match path.0.is_empty() {
        true => std::mem::replace(&mut dataset.root, new),
        false => match &mut sample_mut(dataset, &path)?.payload {
            Payload::Folder(tortilla) => std::mem::replace(tortilla, new),
            _ => return Err(no_tortilla(&path)),
        },
    };
    Ok(Edit::ReplaceTortilla { tortilla: path, with: old })
}

fn batch(dataset: &mut Dataset, label: String, edits: Vec<Edit>) -> Result<Edit> {
    let mut inverses = Vec::with_capacity(edits.len());
    for edit in edits {
        match edit.apply(dataset) {
            Ok(inverse) => inverses.push(inverse),
            Err(error) => {
                for inverse in inverses.into_iter().rev() {
                    inverse.apply(dataset)?;
                }
                return Err(error);
            }
        }
    }
    inverses.reverse();
    Ok(Edit::Batch { label, edits: inverses })
}

fn tortilla_mut<'a>(dataset: &'a mut Dataset, path: &NodePath) -> Result<&'a mut Tortilla> {
    // Looked up first, so that a wrong path copies nothing.
    if dataset.tortilla(path).is_none() {
        return Err(no_tortilla(path));
    }
    let mut tortilla = Arc::make_mut(&mut dataset.root);
    for &position in &path.0 {
        let sample = tortilla.samples.get_mut(position as usize).ok_or_else(|| no_tortilla(path))?;
        match &mut sample.payload {
            Payload::Folder(children) => tortilla = Arc::make_mut(children),
            _ => return Err(no_tortilla(path)),
        }
    }
    Ok(tortilla)
}

fn sample_mut<'a>(dataset: &'a mut Dataset, path: &NodePath) -> Result<&'a mut Sample> {
    let (parent, position) = path.parent().ok_or_else(|| no_sample(path))?;
    tortilla_mut(dataset, &parent)?.samples.get_mut(position as usize).ok_or_else(|| no_sample(path))
}

fn no_sample(path: &NodePath) -> Error {
    Error::usage(format!("there is no sample at position {:?}", path.0))
}

fn no_tortilla(path: &NodePath) -> Error {
    Error::usage(format!("there is no FOLDER at position {:?}", path.0))
}

/// An absent key and a null are different things in a collection.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value as Json;

    pub fn serialize<S: Serializer>(value: &Option<Json>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::DataType;

    fn dataset() -> Dataset {
        let scene = |id: &str| {
            let parts = ["before", "after", "label"].map(|part| Sample::file(part, format!("/{id}/{part}.tif"), 10));
            Sample::folder(id, Tortilla::new(parts.into()))
        };
        Dataset { collection: Collection::template(), root: Tortilla::new(vec![scene("a"), scene("b"), scene("c")]).into() }
    }

    fn path(positions: &[u32]) -> NodePath {
        NodePath(positions.to_vec())
    }

    fn edits() -> Vec<Edit> {
        let cloud = FieldSpec::new("cloud_cover", DataType::Float64);
        vec![
            Edit::Insert { parent: path(&[1]), at: 3, samples: vec![Sample::file("extra", "/x", 1)] },
            Edit::Remove { parent: path(&[]), at: 0, count: 2 },
            Edit::Rename { sample: path(&[2, 1]), id: "renamed".into() },
            Edit::Move { sample: path(&[0]), to: path(&[]), at: 2 },
            Edit::Move { sample: path(&[0]), to: path(&[2]), at: 1 },
            Edit::Move { sample: path(&[2, 2]), to: path(&[]), at: 0 },
            Edit::Move { sample: path(&[2, 2]), to: path(&[0]), at: 3 },
            Edit::AddField { tortilla: path(&[]), at: 0, field: cloud.clone(), values: vec![] },
            Edit::Batch {
                label: "Add and set".into(),
                edits: vec![
                    Edit::AddField { tortilla: path(&[]), at: 0, field: cloud, values: vec![Value::Float(1.0); 3] },
                    Edit::SetValue { sample: path(&[1]), field: "cloud_cover".into(), value: Value::Float(9.5) },
                ],
            },
            Edit::SetCollection { key: "title".into(), value: Some(Json::from("New")) },
            Edit::SetCollection { key: "description".into(), value: None },
            Edit::ReplaceTortilla { tortilla: path(&[1]), with: Arc::default() },
        ]
    }

    #[test]
    fn every_edit_undoes() {
        for edit in edits() {
            let mut changed = dataset();
            let inverse = edit.clone().apply(&mut changed).expect("applies");
            assert_ne!(changed, dataset(), "{edit:?} changed nothing");
            let again = inverse.apply(&mut changed).expect("undoes");
            assert_eq!(changed, dataset(), "{edit:?}");
            let mut redone = dataset();
            again.apply(&mut redone).expect("redoes");
            let mut expected = dataset();
            edit.apply(&mut expected).expect("applies");
            assert_eq!(redone, expected);
        }
    }

    #[test]
    fn an_edit_that_fails_changes_nothing() {
        let bad = [
            Edit::Insert { parent: path(&[9]), at: 0, samples: vec![] },
            Edit::Remove { parent: path(&[]), at: 2, count: 2 },
            Edit::Move { sample: path(&[0]), to: path(&[0]), at: 0 },
            Edit::SetValue { sample: path(&[0]), field: "none".into(), value: Value::Null },
            Edit::Batch {
                label: "half".into(),
                edits: vec![
                    Edit::Rename { sample: path(&[0]), id: "z".into() },
                    Edit::Remove { parent: path(&[]), at: 7, count: 1 },
                ],
            },
        ];
        for edit in bad {
            let mut untouched = dataset();
            assert!(edit.clone().apply(&mut untouched).is_err(), "{edit:?}");
            assert_eq!(untouched, dataset(), "{edit:?}");
        }
    }

    #[test]
    fn edits_are_plain_data() {
        for edit in edits() {
            let text = serde_json::to_string(&edit).expect("writes");
            assert_eq!(serde_json::from_str::<Edit>(&text).expect("reads"), edit, "{text}");
        }
    }
}
