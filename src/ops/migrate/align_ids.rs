//! Aligns the ids at each position: 2.0 requires the same ids in all roots, the other generations
//! do not. Where the trees have one shape, the first root's ids are given to all; the old ones stay
//! in a column. Must not touch trees that differ in anything else.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::RenamedSample;
use crate::container::Assembly;
use crate::error::{Error, Result};
use crate::model::Skeleton;

/// The column that keeps the old ids.
const OLD_ID: &str = "tortilla:id";

/// Sets the same id for the samples at one position of all roots; returns the renamed ones. Renames
/// nothing where ids agree, or where the trees differ in more than ids.
///
/// # Errors
/// When the old ids can't be kept in `tortilla:id`.
pub fn align_ids(assembly: &mut Assembly) -> Result<Vec<RenamedSample>> {
    let Some(slots) = slots_of(&assembly.tree) else {
        return Ok(Vec::new());
    };
    let tree = assembly.tree.clone();
    let mut renamed = Vec::new();
    let mut columns = Vec::with_capacity(tree.levels.len());
    for (depth, level) in tree.levels.iter().enumerate() {
        let mut names: HashMap<u32, &str> = HashMap::new();
        let before = renamed.len();
        let ids: StringArray = (0..level.len() as u32)
            .map(|row| {
                let old = level.id(row);
                if depth == 0 {
                    return Some(old);
                }
                let new = *names.entry(slots[depth][row as usize]).or_insert(old);
                if new != old {
                    renamed.push(RenamedSample {
                        level: depth,
                        path: tree.path(depth, row).to_string(),
                        id: new.to_owned(),
                    });
                }
                Some(new)
            })
            .collect();
        if renamed.len() > before {
            keep_old(&mut assembly.levels[depth].batch, &ids)?;
        }
        columns.push((ids, level.folder.clone(), level.parents.clone()));
    }
    if !renamed.is_empty() {
        assembly.tree = Arc::new(Skeleton::from_columns(columns));
    }
    Ok(renamed)
}

/// For every row the number of its position, the same in all roots; `None` when two roots differ in
/// number or kind of children.
fn slots_of(tree: &Skeleton) -> Option<Vec<Vec<u32>>> {
    let mut slots: Vec<Vec<u32>> = vec![vec![0; tree.levels.first()?.len()]];
    let mut kinds: Vec<bool> = vec![*tree.levels.first()?.folder.first()?];
    for (depth, level) in tree.levels.iter().enumerate() {
        // For each position: the first number and the count of its children's positions.
        let mut begins: HashMap<u32, (u32, usize)> = HashMap::new();
        let mut next = 0;
        let mut below = vec![0; tree.levels.get(depth + 1).map_or(0, |below| below.len())];
        let mut kinds_below: Vec<Option<bool>> = Vec::new();
        for row in 0..level.len() as u32 {
            let slot = slots[depth][row as usize];
            if level.folder[row as usize] != kinds[slot as usize] {
                return None;
            }
            let children = level.children(row);
            let (begin, count) = *begins.entry(slot).or_insert_with(|| {
                let begin = next;
                next += children.len() as u32;
                kinds_below.resize(next as usize, None);
                (begin, children.len())
            });
            if count != children.len() {
                return None;
            }
            for (position, &child) in children.iter().enumerate() {
                below[child as usize] = begin + position as u32;
                kinds_below[begin as usize + position]
                    .get_or_insert(tree.levels[depth + 1].folder[child as usize]);
            }
        }
        if depth + 1 < tree.levels.len() {
            slots.push(below);
            kinds = kinds_below
                .into_iter()
                .map(Option::unwrap_or_default)
                .collect();
        }
    }
    Some(slots)
}

/// Puts the new ids into the table, and the old ones into a column of their own.
fn keep_old(batch: &mut RecordBatch, ids: &StringArray) -> Result<()> {
    let mut fields: Vec<Field> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let Some(first) = columns.first_mut() else {
        return Ok(());
    };
    let old = std::mem::replace(first, Arc::new(ids.clone()) as ArrayRef);
    if fields.iter().all(|field| field.name() != OLD_ID) {
        fields.push(Field::new(OLD_ID, DataType::Utf8, true));
        columns.push(old);
    }
    *batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal("new ids don't fit their table").because(error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobContext;
    use crate::model::{Dataset, Sample, Tortilla};

    fn assembly(roots: &[&[&str]]) -> Assembly {
        let root = |(at, ids): (usize, &&[&str])| {
            let files = ids.iter().map(|id| Sample::new_file(id, "/x", 1)).collect();
            Sample::new_folder(&format!("r{at}"), Tortilla::new(files))
        };
        let root = Tortilla::new(roots.iter().enumerate().map(root).collect());
        Assembly::of_dataset(
            &Dataset {
                root: root.into(),
                ..Dataset::default()
            },
            &JobContext::default(),
        )
        .expect("is laid out")
    }

    #[test]
    fn ids_of_one_place_become_one() {
        let mut assembly = assembly(&[&["s1", "s2"], &["s2", "s3"]]);
        let renamed = align_ids(&mut assembly).expect("aligns");
        assert_eq!(
            renamed
                .iter()
                .map(|sample| (sample.path.as_str(), sample.id.as_str()))
                .collect::<Vec<_>>(),
            [("r1 / s2", "s1"), ("r1 / s3", "s2")]
        );
        assert_eq!(assembly.tree.path(1, 3).to_archive(), "r1/s2");
        let level = &assembly.levels[1].batch;
        let old = level.column_by_name(OLD_ID).expect("keeps the old ids");
        assert_eq!(
            arrow::array::AsArray::as_string::<i32>(old)
                .iter()
                .flatten()
                .collect::<Vec<_>>(),
            ["s1", "s2", "s2", "s3"]
        );
    }

    #[test]
    fn other_differences_are_left_alone() {
        let mut ragged = assembly(&[&["s1", "s2"], &["s2"]]);
        assert!(align_ids(&mut ragged).expect("looks").is_empty());
        assert_eq!(ragged.tree.path(1, 2).to_archive(), "r1/s2");
        let mut same = assembly(&[&["a", "b"], &["a", "b"]]);
        assert!(align_ids(&mut same).expect("looks").is_empty());
        assert!(same.levels[1].batch.column_by_name(OLD_ID).is_none());
    }
}
