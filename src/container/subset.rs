//! A part of a laid-out dataset: chosen rows of every level, numbered anew, with everything else as it was. Must not judge
//! whether the rows that are left still fit together: that is for the checks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{StringArray, UInt32Array};

use super::{Assembly, AssemblyLevel};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::Skeleton;

/// The rows of each level in the order in which [`Assembly::of_reader`] lays them out: level 0 as it is, below it the children
/// of each FOLDER after those of the one before. Rows without a parent are in no list.
pub fn tree_order(tree: &Skeleton) -> Vec<Vec<u32>> {
    let mut orders = Vec::with_capacity(tree.levels.len());
    let mut order: Vec<u32> = (0..tree.levels.first().map_or(0, |level| level.len()) as u32).collect();
    for level in &tree.levels {
        let folders = order.iter().filter(|&&row| level.folder[row as usize]);
        let next = folders.flat_map(|&row| level.children(row).iter().copied()).collect();
        orders.push(std::mem::replace(&mut order, next));
    }
    orders
}

impl Assembly {
    /// The rows for which `keep[level][row]` is true and whose ancestors are kept as well; levels that end up empty are left
    /// out. `keep` is in the order of this assembly.
    pub fn subset(&self, keep: &[Vec<bool>], ctx: &JobContext) -> Result<Self> {
        let mut columns = Vec::new();
        let mut levels = Vec::new();
        // The new row of every old row of the level above.
        let mut above: Vec<Option<u32>> = Vec::new();
        for (depth, level) in self.levels.iter().enumerate() {
            ctx.check()?;
            let tree = &self.tree.levels[depth];
            let wanted = |row: usize| keep.get(depth).and_then(|keep| keep.get(row)).copied().unwrap_or(false);
            let new_parent = |row: usize| above.get(tree.parents[row] as usize).copied().flatten();
            let rows: Vec<u32> = (0..tree.len() as u32)
                .filter(|&row| wanted(row as usize) && (depth == 0 || new_parent(row as usize).is_some()))
                .collect();
            if rows.is_empty() {
                break;
            }
            let parents: Vec<u32> =
                rows.iter().enumerate().map(|(at, &row)| new_parent(row as usize).unwrap_or(at as u32)).collect();
            let mut numbers = vec![None; tree.len()];
            rows.iter().enumerate().for_each(|(at, &row)| numbers[row as usize] = Some(at as u32));
            let ids: StringArray = rows.iter().map(|&row| Some(tree.id(row))).collect();
            let folder: Vec<bool> = rows.iter().map(|&row| tree.folder[row as usize]).collect();
            let sources = rows.iter().filter_map(|&row| level.sources.get(row as usize).cloned()).collect();
            let choices = level.meta_columns.iter();
            let meta_columns: HashMap<u32, Arc<[usize]>> =
                choices.filter_map(|(&folder, columns)| Some((above.get(folder as usize).copied()??, columns.clone()))).collect();
            let batch = arrow::compute::take_record_batch(&level.batch, &UInt32Array::from(rows))
                .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
            levels.push(AssemblyLevel { batch, sources, meta_columns });
            columns.push((ids, folder, parents));
            above = numbers;
        }
        Ok(Self { collection: self.collection.clone(), tree: Arc::new(Skeleton::from_columns(columns)), levels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Collection, Dataset, Sample, SamplePath, Tortilla};

    fn scene(id: &str) -> Sample {
        let files = ["a", "b"].map(|part| Sample::file(part, "/x", 1));
        Sample::folder(id, Tortilla::new(files.to_vec()))
    }

    #[test]
    fn chosen_rows_are_numbered_anew_under_their_parents() {
        let root = Tortilla::new(vec![scene("p"), scene("q"), scene("r")]);
        let dataset = Dataset { collection: Collection::template(), root: root.into() };
        let ctx = JobContext::default();
        let whole = Assembly::of_dataset(&dataset, &ctx).expect("lays out");
        assert_eq!(tree_order(&whole.tree), [vec![0, 1, 2], vec![0, 1, 2, 3, 4, 5]]);
        let keep = [vec![false, true, true], vec![true, true, false, true, false, true]];
        let part = whole.subset(&keep, &ctx).expect("is a part");
        assert_eq!(part.tree.levels[1].parents, [0, 1]);
        assert_eq!(part.levels[1].sources.len(), 2);
        assert_eq!(part.tree.find(&SamplePath::parse("r/b")), Some((1, 1)));
        assert_eq!(part.tree.find(&SamplePath::parse("p")), None);
        let none = whole.subset(&[vec![false; 3], vec![true; 6]], &ctx).expect("is a part");
        assert_eq!(none.tree.total(), 0);
    }
}
