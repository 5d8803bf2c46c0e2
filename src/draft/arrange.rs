//! Edits of many samples at once: remove, move, reorder, group, ungroup, rename. Each returns its
//! inverse; a failing edit changes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Edit;
use super::align_schema::cast;
use super::primitives::{
    insert, no_sample, no_tortilla, path_after_removal, sample_mut, tortilla_mut, values_for,
};
use crate::error::{Error, Result};
use crate::model::{Dataset, FieldSpec, NodePath, Payload, Sample, Tortilla, Value};

/// The edit that restores the current state of a tortilla.
fn as_it_is(dataset: &Dataset, path: &NodePath) -> Result<Edit> {
    let with = dataset
        .tortilla(path)
        .ok_or_else(|| no_tortilla(path))?
        .clone();
    Ok(Edit::ReplaceTortilla {
        tortilla: path.clone(),
        with,
    })
}

/// The deepest FOLDER that contains all paths.
fn common_folder<'a>(mut paths: impl Iterator<Item = &'a [u32]>) -> NodePath {
    let Some(first) = paths.next() else {
        return NodePath::root();
    };
    let mut length = first.len();
    for path in paths {
        length = length.min(first.iter().zip(path).take_while(|(a, b)| a == b).count());
    }
    NodePath(first[..length].to_vec())
}

/// The paths sorted so that removing one does not change those after it.
///
/// # Errors
/// When a path does not exist, is given twice, or is a descendant of another.
fn removable(dataset: &Dataset, samples: &[NodePath]) -> Result<Vec<NodePath>> {
    let mut sorted = samples.to_vec();
    sorted.sort();
    if let Some(missing) = sorted.iter().find(|path| dataset.sample(path).is_none()) {
        return Err(no_sample(missing));
    }
    if sorted
        .windows(2)
        .any(|pair| pair[1].0.starts_with(&pair[0].0))
    {
        return Err(Error::usage(
            "a sample is given twice, or is inside a FOLDER that is given too",
        ));
    }
    sorted.reverse();
    Ok(sorted)
}

fn parents(samples: &[NodePath]) -> impl Iterator<Item = &[u32]> {
    samples
        .iter()
        .map(|path| &path.0[..path.0.len().saturating_sub(1)])
}

pub(super) fn remove_many(dataset: &mut Dataset, samples: Vec<NodePath>) -> Result<Edit> {
    let sorted = removable(dataset, &samples)?;
    let inverse = as_it_is(dataset, &common_folder(parents(&samples)))?;
    remove_samples(dataset, &sorted)?;
    Ok(inverse)
}

/// Removes samples sorted by [`removable`], one FOLDER at a time.
fn remove_samples(dataset: &mut Dataset, sorted: &[NodePath]) -> Result<()> {
    let mut leaving: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
    for path in sorted {
        let (&at, parent) = path.0.split_last().ok_or_else(|| no_sample(path))?;
        leaving.entry(parent).or_default().push(at);
    }
    // A FOLDER sorts after its parent; processed in reverse, so that no path changes before its
    // turn.
    for (parent, positions) in leaving.into_iter().rev() {
        let tortilla = tortilla_mut(dataset, &NodePath(parent.to_vec()))?;
        // The greatest position comes first.
        let mut going = positions.into_iter().rev().peekable();
        let mut place = 0u32;
        tortilla.samples.retain(|_| {
            let is_removed = going.next_if_eq(&place).is_some();
            place += 1;
            !is_removed
        });
    }
    Ok(())
}

pub(super) fn move_many(
    dataset: &mut Dataset,
    samples: Vec<NodePath>,
    to: NodePath,
    at: u32,
) -> Result<Edit> {
    let sorted = removable(dataset, &samples)?;
    if let Some(around) = samples.iter().find(|sample| to.0.starts_with(&sample.0)) {
        return Err(Error::usage(format!(
            "the FOLDER at {:?} can't be moved into itself",
            around.0
        )));
    }
    let target = dataset
        .tortilla(&to)
        .ok_or_else(|| no_tortilla(&to))?
        .clone();
    let leaving = parents(&samples)
        .filter(|parent| *parent == to.0.as_slice())
        .count();
    if at as usize > target.samples.len() - leaving {
        let others = target.samples.len() - leaving;
        return Err(Error::usage(format!(
            "there is no position {at}; the tortilla has {others} other samples"
        )));
    }
    let mut moving = Vec::with_capacity(samples.len());
    for path in &samples {
        let (parent, position) = path.parent().ok_or_else(|| no_sample(path))?;
        let source = dataset
            .tortilla(&parent)
            .ok_or_else(|| no_tortilla(&parent))?;
        let mut sample = source
            .samples
            .get(position as usize)
            .ok_or_else(|| no_sample(path))?
            .clone();
        if source.schema != target.schema {
            sample.values = values_for(&sample, source, &target);
        }
        moving.push(sample);
    }
    let inverse = as_it_is(
        dataset,
        &common_folder(parents(&samples).chain([to.0.as_slice()])),
    )?;
    remove_samples(dataset, &sorted)?;
    let mut place = to;
    for path in &sorted {
        if let Some((parent, position)) = path.parent() {
            place = path_after_removal(&place, &parent, position);
        }
    }
    insert(dataset, place, at, moving)?;
    Ok(inverse)
}

pub(super) fn reorder(dataset: &mut Dataset, parent: NodePath, order: Vec<u32>) -> Result<Edit> {
    let tortilla = dataset
        .tortilla(&parent)
        .ok_or_else(|| no_tortilla(&parent))?;
    let count = tortilla.samples.len();
    let mut back = vec![u32::MAX; count];
    for (now, &before) in order.iter().enumerate() {
        match back.get_mut(before as usize) {
            Some(place) if *place == u32::MAX => *place = now as u32,
            _ => {
                return Err(Error::usage(format!(
                    "position {before} is duplicated in the new order, or does not exist"
                )));
            }
        }
    }
    if order.len() != count {
        return Err(Error::usage(format!(
            "the new order has {} positions, the tortilla {count}",
            order.len()
        )));
    }
    let tortilla = tortilla_mut(dataset, &parent)?;
    let mut samples: Vec<Option<Sample>> = std::mem::take(&mut tortilla.samples)
        .into_iter()
        .map(Some)
        .collect();
    tortilla.samples = order
        .iter()
        .filter_map(|&before| samples[before as usize].take())
        .collect();
    Ok(Edit::Reorder {
        parent,
        order: back,
    })
}

pub(super) fn group(
    dataset: &mut Dataset,
    parent: NodePath,
    mut positions: Vec<u32>,
    id: Arc<str>,
) -> Result<Edit> {
    let inverse = as_it_is(dataset, &parent)?;
    positions.sort_unstable();
    positions.dedup();
    let count = dataset
        .tortilla(&parent)
        .map_or(0, |tortilla| tortilla.samples.len());
    let (Some(&first), Some(&last)) = (positions.first(), positions.last()) else {
        return Err(Error::usage("there is nothing to group"));
    };
    if last as usize >= count {
        return Err(Error::usage(format!(
            "there is no position {last}; the tortilla has {count} samples"
        )));
    }
    let tortilla = tortilla_mut(dataset, &parent)?;
    let (mut kept, mut inside) = (
        Vec::with_capacity(count),
        Vec::with_capacity(positions.len()),
    );
    for (sample, position) in std::mem::take(&mut tortilla.samples).into_iter().zip(0..) {
        if positions.binary_search(&position).is_ok() {
            inside.push(sample)
        } else {
            kept.push(sample)
        }
    }
    // The samples keep their values: the new level starts with the fields of the level they come
    // from.
    let folder = Sample::new_folder(
        &id,
        Tortilla {
            schema: tortilla.schema.clone(),
            samples: inside,
        },
    );
    kept.insert(first as usize, folder);
    tortilla.samples = kept;
    Ok(inverse)
}

pub(super) fn unnest(dataset: &mut Dataset, folder: NodePath) -> Result<Edit> {
    let (parent, position) = folder
        .parent()
        .ok_or_else(|| Error::usage("the root can't be un-nested"))?;
    let below = dataset
        .tortilla(&folder)
        .ok_or_else(|| no_tortilla(&folder))?
        .clone();
    let inverse = as_it_is(dataset, &parent)?;
    let above = dataset
        .tortilla(&parent)
        .ok_or_else(|| no_tortilla(&parent))?;
    let mut fields: Vec<FieldSpec> = above.schema.to_vec();
    fields.extend(
        below
            .schema
            .iter()
            .filter(|field| above.field(&field.name).is_none())
            .cloned(),
    );
    let merged = Tortilla {
        schema: fields.into(),
        samples: Vec::new(),
    };
    let mut samples = Vec::with_capacity(below.samples.len());
    for child in &below.samples {
        for (index, field) in below.schema.iter().enumerate() {
            let target = merged.field(&field.name).map(|at| &merged.schema[at].dtype);
            if target.is_some_and(|target| cast(child.value(index), &field.dtype, target).is_none())
            {
                let text = format!(
                    "{} has another type one level up, and {} would lose its value",
                    field.name, child.id
                );
                return Err(Error::usage(text).hint("cast one of the two fields first"));
            }
        }
        samples.push(Sample {
            values: values_for(child, &below, &merged),
            ..child.clone()
        });
    }
    let tortilla = tortilla_mut(dataset, &parent)?;
    let place = position as usize;
    tortilla.schema = merged.schema;
    tortilla.samples.splice(place..=place, samples);
    Ok(inverse)
}

pub(super) fn rename_many(dataset: &mut Dataset, names: Vec<(NodePath, Arc<str>)>) -> Result<Edit> {
    if let Some((missing, _)) = names
        .iter()
        .find(|(path, _)| dataset.sample(path).is_none())
    {
        return Err(no_sample(missing));
    }
    let mut before = Vec::with_capacity(names.len());
    for (path, id) in names {
        let id = std::mem::replace(&mut sample_mut(dataset, &path)?.id, id);
        before.push((path, id));
    }
    // In reverse, in case a sample occurs twice.
    before.reverse();
    Ok(Edit::RenameMany { names: before })
}

/// Searches ids for a literal text or a regular expression.
enum IdFinder<'a> {
    Text(&'a str),
    Regex(regex::Regex),
}

impl IdFinder<'_> {
    fn replace_matches<'t>(&self, id: &'t str, by: &str) -> Cow<'t, str> {
        match self {
            IdFinder::Text(text) if id.contains(text) => id.replace(text, by).into(),
            IdFinder::Text(_) => id.into(),
            IdFinder::Regex(regex) => regex.replace_all(id, by),
        }
    }
}

pub(super) fn rename_by(
    dataset: &mut Dataset,
    level: usize,
    under: Option<&[Arc<str>]>,
    find: &str,
    replace: &str,
    regex: bool,
) -> Result<Edit> {
    if find.is_empty() {
        return Err(Error::usage("there is no text to look for"));
    }
    let finder = if regex {
        IdFinder::Regex(regex::Regex::new(find).map_err(|error| {
            Error::usage("this is not a regular expression")
                .because(error)
                .at_place(find)
        })?)
    } else {
        IdFinder::Text(find)
    };
    let mut renamed = 0u64;
    let root = map_level(
        &dataset.root,
        level,
        0,
        &mut Vec::new(),
        &mut |tortilla, above| {
            // The root's own id is not part of the path.
            if under.is_some_and(|under| above.get(1..).unwrap_or_default() != under) {
                return Ok(None);
            }
            let mut changed: Option<Vec<Sample>> = None;
            for (index, sample) in tortilla
                .samples
                .iter()
                .enumerate()
                .filter(|(_, sample)| !sample.is_padding())
            {
                let id = finder.replace_matches(&sample.id, replace);
                if *id != *sample.id {
                    changed.get_or_insert_with(|| tortilla.samples.clone())[index].id = id.into();
                    renamed += 1;
                }
            }
            Ok(changed.map(|samples| Tortilla {
                schema: tortilla.schema.clone(),
                samples,
            }))
        },
    )?;
    match root {
        Some(root) => Ok(Edit::ReplaceTortilla {
            tortilla: NodePath::root(),
            with: std::mem::replace(&mut dataset.root, root),
        }),
        None => Err(Error::usage(format!(
            "no id of level {level} has {find} in it"
        ))),
    }
}

/// Computes the new version of a tortilla, or `None` when unchanged. The second argument is the ids
/// of its ancestors.
type TortillaChangeFn<'a> = dyn FnMut(&Tortilla, &[Arc<str>]) -> Result<Option<Tortilla>> + 'a;

/// Applies `change` to every tortilla of a level; `None` when none changed.
pub(super) fn map_level(
    tortilla: &Arc<Tortilla>,
    level: usize,
    depth: usize,
    above: &mut Vec<Arc<str>>,
    change: &mut TortillaChangeFn<'_>,
) -> Result<Option<Arc<Tortilla>>> {
    if depth == level {
        return Ok(change(tortilla, above)?.map(Arc::new));
    }
    let mut changed: Option<Vec<Sample>> = None;
    for (index, sample) in tortilla.samples.iter().enumerate() {
        let Some(children) = sample.children() else {
            continue;
        };
        above.push(sample.id.clone());
        let below = map_level(children, level, depth + 1, above, change)?;
        above.pop();
        if let Some(below) = below {
            changed.get_or_insert_with(|| tortilla.samples.clone())[index].payload =
                Payload::Folder(below);
        }
    }
    Ok(changed.map(|samples| {
        Arc::new(Tortilla {
            schema: tortilla.schema.clone(),
            samples,
        })
    }))
}

/// The sample's values, extended with nulls to `width` fields.
pub(super) fn full_row(sample: &Sample, width: usize) -> Vec<Value> {
    let mut row = sample.values.to_vec();
    row.resize(width, Value::Null);
    row
}
