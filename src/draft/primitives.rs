//! The elementary edits: insert and remove samples, set a value, a field or a payload. Each returns
//! its inverse; a failing edit changes nothing.

use std::sync::Arc;

use super::align_schema::cast;
use super::{Content, Edit};
use crate::error::{Error, Result};
use crate::model::{Dataset, FieldSpec, NodePath, Payload, Sample, Tortilla, Value};

pub(super) fn insert(
    dataset: &mut Dataset,
    parent: NodePath,
    at: u32,
    mut samples: Vec<Sample>,
) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &parent)?;
    // Values beyond the fields of the tortilla are dropped.
    let width = tortilla.schema.len();
    for sample in samples
        .iter_mut()
        .filter(|sample| sample.values.len() > width)
    {
        sample.values = sample.values[..width].into();
    }
    let place = at as usize;
    if place > tortilla.samples.len() {
        return Err(Error::usage(format!(
            "there is no position {at}; the tortilla has {} samples",
            tortilla.samples.len()
        )));
    }
    let count = samples.len() as u32;
    tortilla.samples.splice(place..place, samples);
    Ok(Edit::Remove { parent, at, count })
}

pub(super) fn remove(dataset: &mut Dataset, parent: NodePath, at: u32, count: u32) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &parent)?;
    let range = at as usize..at as usize + count as usize;
    if range.end > tortilla.samples.len() {
        return Err(Error::usage(format!(
            "there are no {count} samples from position {at}; the tortilla has {}",
            tortilla.samples.len()
        )));
    }
    let samples = tortilla.samples.drain(range).collect();
    Ok(Edit::Insert {
        parent,
        at,
        samples,
    })
}

pub(super) fn rename(dataset: &mut Dataset, sample: NodePath, id: Arc<str>) -> Result<Edit> {
    let id = std::mem::replace(&mut sample_mut(dataset, &sample)?.id, id);
    Ok(Edit::Rename { sample, id })
}

pub(super) fn relocate(
    dataset: &mut Dataset,
    sample: NodePath,
    to: NodePath,
    at: u32,
) -> Result<Edit> {
    let (parent, position) = sample
        .parent()
        .ok_or_else(|| Error::usage("the root can't be moved"))?;
    if to.0.starts_with(&sample.0) {
        return Err(Error::usage("a FOLDER can't be moved into itself"));
    }
    let target = dataset.tortilla(&to).ok_or_else(|| no_tortilla(&to))?;
    let source = dataset
        .tortilla(&parent)
        .ok_or_else(|| no_tortilla(&parent))?;
    let moved = source
        .samples
        .get(position as usize)
        .ok_or_else(|| no_sample(&sample))?;
    let length = target.samples.len() - usize::from(to == parent);
    if at as usize > length {
        return Err(Error::usage(format!(
            "there is no position {at}; the tortilla has {length} other samples"
        )));
    }
    // Values are in the order of the tortilla's fields, so they are rearranged for another
    // tortilla.
    let same_fields = Arc::ptr_eq(&source.schema, &target.schema) || source.schema == target.schema;
    let values_before_and_after = if same_fields {
        None
    } else {
        Some((moved.values.clone(), values_for(moved, source, target)))
    };
    let Edit::Insert { mut samples, .. } = remove(dataset, parent.clone(), position, 1)? else {
        return Err(Error::internal("removing did not give an insertion"));
    };
    let before = values_before_and_after.map(|(before, after)| {
        samples
            .iter_mut()
            .for_each(|sample| sample.values = after.clone());
        before
    });
    // Positions after the sample are shifted in the path `to`.
    let shifted = path_after_removal(&to, &parent, position);
    insert(dataset, shifted.clone(), at, samples)?;
    // The paths that the sample and its former parent have after the move.
    let back = Edit::Move {
        sample: shifted.child(at),
        to: path_after_insertion(&parent, &shifted, at),
        at: position,
    };
    Ok(match before {
        None => back,
        Some(values) => {
            let label = back.label();
            Edit::Batch {
                label,
                edits: vec![
                    back,
                    Edit::SetRow {
                        sample,
                        values: values.to_vec(),
                    },
                ],
            }
        }
    })
}

/// Values of a sample of `from` in the order of the fields of `to`; values without a field of the
/// same name and type are dropped.
pub(super) fn values_for(sample: &Sample, from: &Tortilla, to: &Tortilla) -> Arc<[Value]> {
    let values = to.schema.iter().map(|field| {
        let index = from.field(&field.name)?;
        cast(sample.value(index), &from.schema[index].dtype, &field.dtype)
    });
    values.map(Option::unwrap_or_default).collect()
}

pub(super) fn set_row(
    dataset: &mut Dataset,
    sample: NodePath,
    mut values: Vec<Value>,
) -> Result<Edit> {
    let (parent, _) = sample
        .parent()
        .ok_or_else(|| Error::usage("the root has no fields"))?;
    values.truncate(
        dataset
            .tortilla(&parent)
            .ok_or_else(|| no_sample(&sample))?
            .schema
            .len(),
    );
    let target = sample_mut(dataset, &sample)?;
    let values = std::mem::replace(&mut target.values, values.into()).to_vec();
    Ok(Edit::SetRow { sample, values })
}

/// `path` after removal of the sample at `position` of `parent`.
pub(super) fn path_after_removal(path: &NodePath, parent: &NodePath, position: u32) -> NodePath {
    let mut path = path.clone();
    let depth = parent.0.len();
    if path.0.len() > depth && path.0.starts_with(&parent.0) && path.0[depth] > position {
        path.0[depth] -= 1;
    }
    path
}

/// `path` after insertion of a sample at `position` of `parent`.
fn path_after_insertion(path: &NodePath, parent: &NodePath, position: u32) -> NodePath {
    let mut path = path.clone();
    let depth = parent.0.len();
    if path.0.len() > depth && path.0.starts_with(&parent.0) && path.0[depth] >= position {
        path.0[depth] += 1;
    }
    path
}

pub(super) fn set_payload(
    dataset: &mut Dataset,
    sample: NodePath,
    payload: Payload,
) -> Result<Edit> {
    let payload = std::mem::replace(&mut sample_mut(dataset, &sample)?.payload, payload);
    Ok(Edit::SetPayload { sample, payload })
}

pub(super) fn set_value(
    dataset: &mut Dataset,
    sample: NodePath,
    field: String,
    value: Value,
) -> Result<Edit> {
    let (parent, position) = sample
        .parent()
        .ok_or_else(|| Error::usage("the root has no fields"))?;
    let tortilla = tortilla_mut(dataset, &parent)?;
    let index = tortilla
        .field(&field)
        .ok_or_else(|| Error::usage(format!("there is no field {field}")))?;
    let width = tortilla.schema.len();
    let target = tortilla
        .samples
        .get_mut(position as usize)
        .ok_or_else(|| no_sample(&sample))?;
    let mut values = target.values.to_vec();
    values.resize(width, Value::Null);
    let value = std::mem::replace(&mut values[index], value);
    target.values = values.into();
    Ok(Edit::SetValue {
        sample,
        field,
        value,
    })
}

pub(super) fn add_field(
    dataset: &mut Dataset,
    path: NodePath,
    at: usize,
    field: FieldSpec,
    values: Vec<Value>,
) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &path)?;
    if tortilla.field(&field.name).is_some() {
        return Err(Error::usage(format!(
            "there is a field {} already",
            field.name
        )));
    }
    if at > tortilla.schema.len() || !(values.is_empty() || values.len() == tortilla.samples.len())
    {
        return Err(Error::usage(format!(
            "field {} needs an index among the fields, and no values or one for each sample",
            field.name
        )));
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
    Ok(Edit::RemoveField {
        tortilla: path,
        field: name,
    })
}

pub(super) fn remove_field(dataset: &mut Dataset, path: NodePath, name: String) -> Result<Edit> {
    let tortilla = tortilla_mut(dataset, &path)?;
    let at = tortilla
        .field(&name)
        .ok_or_else(|| Error::usage(format!("there is no field {name}")))?;
    let mut schema = tortilla.schema.to_vec();
    let field = schema.remove(at);
    tortilla.schema = schema.into();
    let mut values = Vec::with_capacity(tortilla.samples.len());
    for sample in &mut tortilla.samples {
        let mut row = sample.values.to_vec();
        values.push(if at < row.len() {
            row.remove(at)
        } else {
            Value::Null
        });
        sample.values = row.into();
    }
    Ok(Edit::AddField {
        tortilla: path,
        at,
        field,
        values,
    })
}

pub(super) fn replace(dataset: &mut Dataset, path: NodePath, new: Arc<Tortilla>) -> Result<Edit> {
    let old = if path.0.is_empty() {
        std::mem::replace(&mut dataset.root, new)
    } else {
        match &mut sample_mut(dataset, &path)?.payload {
            Payload::Folder(tortilla) => std::mem::replace(tortilla, new),
            _ => return Err(no_tortilla(&path)),
        }
    };
    Ok(Edit::ReplaceTortilla {
        tortilla: path,
        with: old,
    })
}

pub(super) fn batch(content: &mut Content, label: String, edits: Vec<Edit>) -> Result<Edit> {
    let mut inverses = Vec::with_capacity(edits.len());
    for edit in edits {
        match edit.apply_to(content) {
            Ok(inverse) => inverses.push(inverse),
            Err(error) => {
                for inverse in inverses.into_iter().rev() {
                    inverse.apply_to(content)?;
                }
                return Err(error);
            }
        }
    }
    inverses.reverse();
    Ok(Edit::Batch {
        label,
        edits: inverses,
    })
}

pub(super) fn tortilla_mut<'a>(
    dataset: &'a mut Dataset,
    path: &NodePath,
) -> Result<&'a mut Tortilla> {
    // Looked up first, so that an invalid path copies nothing.
    if dataset.tortilla(path).is_none() {
        return Err(no_tortilla(path));
    }
    let mut tortilla = Arc::make_mut(&mut dataset.root);
    for &position in &path.0 {
        let sample = tortilla
            .samples
            .get_mut(position as usize)
            .ok_or_else(|| no_tortilla(path))?;
        match &mut sample.payload {
            Payload::Folder(children) => tortilla = Arc::make_mut(children),
            _ => return Err(no_tortilla(path)),
        }
    }
    Ok(tortilla)
}

pub(super) fn sample_mut<'a>(dataset: &'a mut Dataset, path: &NodePath) -> Result<&'a mut Sample> {
    let (parent, position) = path.parent().ok_or_else(|| no_sample(path))?;
    tortilla_mut(dataset, &parent)?
        .samples
        .get_mut(position as usize)
        .ok_or_else(|| no_sample(path))
}

pub(super) fn no_sample(path: &NodePath) -> Error {
    Error::usage(format!("there is no sample at position {:?}", path.0))
}

pub(super) fn no_tortilla(path: &NodePath) -> Error {
    Error::usage(format!("there is no FOLDER at position {:?}", path.0))
}
