//! Updates the tree after an edit of some roots: the rows before and after them are copied.

use arrow::array::{Array, StringArray};

use super::{Dataset, RootChanges, Skeleton, Tortilla};

impl Skeleton {
    /// The tree of `dataset`, derived from this tree and `changes`. `None` when the tree must be
    /// rebuilt.
    pub fn apply_root_changes(&self, dataset: &Dataset, changes: &RootChanges) -> Option<Self> {
        if changes.is_rebuilt || changes.rows_before.is_empty() || self.levels.is_empty() {
            return None;
        }
        let samples = dataset.root.samples.get(changes.after.clone())?.to_vec();
        let part = Skeleton::from_dataset(&Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        });
        let at = |rows: &[u32], level: usize| rows.get(level).copied().unwrap_or(0) as usize;
        let mut columns: Vec<(StringArray, Vec<bool>, Vec<u32>)> = Vec::new();
        for level in 0..self.levels.len().max(part.levels.len()) {
            let (start, removed) = (
                at(&changes.rows_before, level),
                at(&changes.rows_removed, level),
            );
            let old = self.levels.get(level);
            let length = old.map_or(0, |old| old.len());
            let end = start.checked_add(removed).filter(|end| *end <= length)?;
            let mut pieces: Vec<StringArray> = Vec::with_capacity(3);
            let (mut folder, mut parents) =
                (Vec::with_capacity(length), Vec::with_capacity(length));
            if let Some(old) = old {
                pieces.push(old.ids.slice(0, start));
                folder.extend_from_slice(&old.folder[..start]);
                parents.extend_from_slice(&old.parents[..start]);
            }
            // Parents of new rows are relative to the first new row of the level above.
            let above = level
                .checked_sub(1)
                .map(|above| at(&changes.rows_before, above) as u32);
            if let Some(new) = part.levels.get(level) {
                pieces.push(new.ids.clone());
                folder.extend_from_slice(&new.folder);
                parents.extend(
                    new.parents
                        .iter()
                        .map(|parent| parent + above.unwrap_or(start as u32)),
                );
            }
            if let Some(old) = old {
                let over = level.checked_sub(1).unwrap_or(level);
                let (gone, come) = (
                    at(&changes.rows_removed, over) as u32,
                    part.levels.get(over).map_or(0, |new| new.len()) as u32,
                );
                pieces.push(old.ids.slice(end, length - end));
                folder.extend_from_slice(&old.folder[end..]);
                parents.extend(old.parents[end..].iter().map(|parent| parent - gone + come));
            }
            if folder.is_empty() {
                break;
            }
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece as &dyn Array).collect();
            let ids = arrow::compute::concat(&pieces).ok()?;
            columns.push((
                ids.as_any().downcast_ref::<StringArray>()?.clone(),
                folder,
                parents,
            ));
        }
        Some(Self::from_columns(columns))
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::model::{RootShapes, Sample};

    fn scene(random: &mut ChaCha8Rng, depth: usize) -> Sample {
        let id = format!("s{}", random.next_u32() % 50);
        if depth == 3 || random.next_u32().is_multiple_of(3) {
            return Sample::new_file(&id, "/x", 1);
        }
        let children = (0..random.next_u32() % 4)
            .map(|_| scene(random, depth + 1))
            .collect();
        Sample::new_folder(&id, Tortilla::new(children))
    }

    #[test]
    fn an_updated_tree_equals_a_rebuilt_one() {
        for seed in 0..60 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut samples: Vec<Sample> = (0..8).map(|_| scene(&mut random, 0)).collect();
            let mut shapes = RootShapes::default();
            let mut tree: Option<Skeleton> = None;
            for step in 0..15 {
                let data = Dataset {
                    root: Tortilla::new(samples.clone()).into(),
                    ..Dataset::default()
                };
                let changes = shapes.update(&data.root);
                let whole = Skeleton::from_dataset(&data);
                let spliced = tree
                    .as_ref()
                    .and_then(|tree| tree.apply_root_changes(&data, &changes));
                assert!(
                    step == 0
                        || spliced.is_some()
                        || tree.is_some_and(|tree| tree.levels.is_empty()),
                    "seed {seed}, step {step}"
                );
                if let Some(spliced) = spliced {
                    assert_eq!(
                        format!("{spliced:?}"),
                        format!("{whole:?}"),
                        "seed {seed}, step {step}"
                    );
                }
                tree = Some(whole);
                let at = random.next_u32() as usize % (samples.len() + 1);
                match random.next_u32() % 4 {
                    0 if at < samples.len() => drop(samples.remove(at)),
                    1 if at < samples.len() => samples[at] = scene(&mut random, 0),
                    2 => samples.truncate(at.max(1)),
                    _ => samples.insert(at, scene(&mut random, 0)),
                }
            }
        }
    }
}
