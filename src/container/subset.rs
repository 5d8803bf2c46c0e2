//! Subsets of an assembly: selected rows of every level, renumbered. Does not check whether the
//! remaining rows satisfy the format's rules.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};

use super::assembly::share_ids;
use super::{Assembly, AssemblyLevel, DatasetVersion};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Collection, Skeleton, SkeletonLevel};
use crate::table::take_rows;

/// The rows of each level in the order of [`Assembly::of_reader`]: level 0 unchanged; below it, the
/// children of each FOLDER in the order of the FOLDERs. Rows without a parent are omitted.
pub fn tree_order(tree: &Skeleton) -> Vec<Vec<u32>> {
    let mut orders = Vec::with_capacity(tree.levels.len());
    let mut order: Vec<u32> =
        (0..tree.levels.first().map_or(0, |level| level.len()) as u32).collect();
    for level in &tree.levels {
        let folders = order.iter().filter(|&&row| level.folder[row as usize]);
        let next = folders
            .flat_map(|&row| level.children(row).iter().copied())
            .collect();
        orders.push(std::mem::replace(&mut order, next));
    }
    orders
}

impl Assembly {
    /// The rows with `keep[level][row]` whose ancestors are kept too; empty trailing levels are
    /// removed. `keep` has one entry per row in the order of this assembly.
    pub fn into_subset(self, keep: &[Vec<bool>], ctx: &JobContext) -> Result<Self> {
        let mut levels = self.tree.levels.iter().enumerate();
        if levels.all(|(depth, level)| keeps_whole_level(keep.get(depth), level)) {
            return Ok(self);
        }
        let wanted = |depth: usize, row: u32| is_kept(keep, depth, row);
        let roots = self.tree.levels.first().map_or(0, |level| level.len()) as u32;
        let rows = (0..roots).filter(|&row| wanted(0, row)).collect();
        let version = self.version;
        let part = select_rows(
            &self.tree,
            self.collection,
            self.levels.into_iter(),
            rows,
            &wanted,
            ctx,
        )?;
        Ok(Self { version, ..part })
    }

    /// The level-0 samples in these rows, in this order, with all their descendants. All of them
    /// in their order are the assembly itself.
    pub fn of_roots(&self, roots: &[u32], ctx: &JobContext) -> Result<Cow<'_, Self>> {
        let known = self.tree.levels.first().map_or(0, |level| level.len()) as u32;
        if roots.iter().copied().eq(0..known) {
            return Ok(Cow::Borrowed(self));
        }
        let rows = roots.iter().copied().filter(|&root| root < known).collect();
        let part = select_rows(
            &self.tree,
            self.collection.clone(),
            self.levels.iter(),
            rows,
            &|_, _| true,
            ctx,
        )?;
        Ok(Cow::Owned(Self {
            version: self.version.clone(),
            ..part
        }))
    }

    /// Replaces the ids of the level-0 samples; one id per sample.
    ///
    /// # Errors
    /// [`Kind::Internal`](crate::error::Kind::Internal) when the number of ids differs from the
    /// number of samples.
    pub fn rename_roots(&mut self, ids: &[String]) -> Result<()> {
        let unfit = || Error::internal("the new ids are not as many as the samples");
        let level = self.levels.first_mut().ok_or_else(unfit)?;
        let top = Arc::make_mut(&mut self.tree)
            .levels
            .first_mut()
            .filter(|top| top.len() == ids.len())
            .ok_or_else(unfit)?;
        let ids = StringArray::from_iter_values(ids);
        let mut columns = level.batch.columns().to_vec();
        if let Some((at, field)) = level.batch.schema().fields().find("id") {
            columns[at] = arrow::compute::cast(&ids, field.data_type()).map_err(|error| {
                Error::internal("the new ids don't fit their column").because(error)
            })?;
        }
        level.batch = RecordBatch::try_new(level.batch.schema(), columns).map_err(|error| {
            Error::internal("the new ids don't fit their column").because(error)
        })?;
        top.ids = ids;
        Ok(())
    }

    /// The level tables, level 0 first.
    pub fn batches(&self) -> Vec<&RecordBatch> {
        self.levels.iter().map(|level| &level.batch).collect()
    }
}

fn keeps_whole_level(keep: Option<&Vec<bool>>, level: &SkeletonLevel) -> bool {
    !level.is_empty()
        && keep.is_some_and(|keep| keep.len() == level.len() && keep.iter().all(|keep| *keep))
}

fn is_kept(keep: &[Vec<bool>], depth: usize, row: u32) -> bool {
    keep.get(depth)
        .and_then(|keep| keep.get(row as usize))
        .copied()
        .unwrap_or(false)
}

/// These rows of level 0 with those descendants for which `wanted(level, row)` is true. Visits no
/// other rows, as a dataset may be split into thousands of parts. Levels that are passed by value
/// are freed as soon as their rows are chosen.
fn select_rows<L: Borrow<AssemblyLevel>>(
    tree: &Skeleton,
    collection: Collection,
    levels: impl Iterator<Item = L>,
    roots: Vec<u32>,
    wanted: &dyn Fn(usize, u32) -> bool,
    ctx: &JobContext,
) -> Result<Assembly> {
    let mut columns = Vec::new();
    let mut chosen = Vec::new();
    let mut parents: Vec<u32> = (0..roots.len() as u32).collect();
    let mut above: Vec<u32> = Vec::new();
    let mut rows = roots;
    for (level, tree) in levels.zip(&tree.levels) {
        ctx.check()?;
        if rows.is_empty() {
            break;
        }
        let (level, depth): (&AssemblyLevel, usize) =
            (Borrow::<AssemblyLevel>::borrow(&level), chosen.len());
        let ids: StringArray = rows.iter().map(|&row| Some(tree.id(row))).collect();
        let folder: Vec<bool> = rows.iter().map(|&row| tree.folder[row as usize]).collect();
        let chosen_sources = rows
            .iter()
            .filter_map(|&row| level.sources.get(row as usize).cloned());
        let mut sources = Vec::with_capacity(rows.len());
        sources.extend(chosen_sources);
        let choice =
            |(at, row): (usize, &u32)| Some((at as u32, level.meta_columns.get(row)?.clone()));
        let meta_columns: HashMap<u32, Arc<[usize]>> = if level.meta_columns.is_empty() {
            HashMap::new()
        } else {
            above.iter().enumerate().filter_map(choice).collect()
        };
        let batch = take_rows(&level.batch, &rows)?;
        chosen.push(AssemblyLevel {
            batch: share_ids(batch, &ids)?,
            sources,
            meta_columns,
        });
        let (mut next, mut next_parents) = (Vec::new(), Vec::new());
        for (at, &row) in rows.iter().enumerate() {
            let children = tree
                .children(row)
                .iter()
                .copied()
                .filter(|&child| wanted(depth + 1, child));
            next.extend(children);
            next_parents.resize(next.len(), at as u32);
        }
        columns.push((ids, folder, std::mem::replace(&mut parents, next_parents)));
        above = std::mem::replace(&mut rows, next);
    }
    let tree = Arc::new(Skeleton::from_columns(columns));
    Ok(Assembly {
        collection,
        tree,
        levels: chosen,
        version: DatasetVersion::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, SamplePath, Tortilla};

    fn scene(id: &str) -> Sample {
        let files = ["a", "b"].map(|part| Sample::new_file(part, "/x", 1));
        Sample::new_folder(id, Tortilla::new(files.to_vec()))
    }

    #[test]
    fn chosen_rows_are_renumbered_under_their_parents() {
        let root = Tortilla::new(vec![scene("p"), scene("q"), scene("r")]);
        let dataset = Dataset {
            collection: Collection::template(),
            root: root.into(),
        };
        let ctx = JobContext::default();
        let whole = Assembly::of_dataset(&dataset, &ctx).expect("lays out");
        assert_eq!(
            tree_order(&whole.tree),
            [vec![0, 1, 2], vec![0, 1, 2, 3, 4, 5]]
        );
        let keep = [
            vec![false, true, true],
            vec![true, true, false, true, false, true],
        ];
        let part = whole.clone().into_subset(&keep, &ctx).expect("is a part");
        assert_eq!(part.tree.levels[1].parents, [0, 1]);
        assert_eq!(part.levels[1].sources.len(), 2);
        assert_eq!(part.tree.find(&SamplePath::parse("r/b")), Some((1, 1)));
        assert_eq!(part.tree.find(&SamplePath::parse("p")), None);
        let same = whole.of_roots(&[0, 1, 2], &ctx).expect("is a part");
        assert!(matches!(same, Cow::Borrowed(_)), "nothing is copied");
        let turned = whole.of_roots(&[2, 0], &ctx).expect("is a part");
        assert_eq!(turned.tree.levels[1].parents, [0, 0, 1, 1]);
        assert_eq!(turned.tree.find(&SamplePath::parse("p/b")), Some((1, 3)));
        let all = whole
            .clone()
            .into_subset(&[vec![true; 3], vec![true; 6]], &ctx)
            .expect("is a part");
        assert!(
            Arc::ptr_eq(&all.tree, &whole.tree),
            "nothing is copied where all stays"
        );
        let none = whole
            .clone()
            .into_subset(&[vec![false; 3], vec![true; 6]], &ctx)
            .expect("is a part");
        assert_eq!(none.tree.total(), 0);
    }
}
