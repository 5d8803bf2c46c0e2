//! The structure of the open draft as several panels show it: a summary, the cells of faulty roots,
//! and the plan of all safe fixes.

use std::collections::HashMap;
use std::sync::Arc;

use super::document_key::DocumentKey;
use crate::draft::{FixPlan, PatternCell, PatternChoice, PatternNode, PositionState, StateCounts};
use crate::jobs::AsyncValue;

#[derive(Default)]
pub struct DraftStructure {
    pub summary: Arc<StructureSummary>,
    /// The revision of the draft, and the pattern, that the summary is of.
    pub made_for: Option<(DocumentKey, PatternChoice)>,
    /// The cells of faulty roots of that revision.
    pub cells: RootCells,
    /// The plan of all safe fixes.
    pub safe_fixes: AsyncValue<(DocumentKey, PatternChoice), Option<Arc<FixPlan>>>,
}

impl DraftStructure {
    /// Why no safe fix can be applied; `None` when one can.
    pub fn find_safe_fix_obstacle(
        &self,
        key: DocumentKey,
        choice: &PatternChoice,
    ) -> Option<&'static str> {
        match self.safe_plan(key, choice) {
            _ if self.summary.roots.faults() == 0 => Some(tr!("Every root fits the pattern")),
            None if self.safe_fixes.is_pending() => Some(tr!("Looking for fixes")),
            None => Some(tr!("Every fix here needs a choice: select a cell")),
            Some(_) => None,
        }
    }

    /// As [`DraftStructure::find_safe_fix_obstacle`], but `None` while the fixes are searched for.
    pub fn find_known_safe_fix_obstacle(
        &self,
        key: DocumentKey,
        choice: &PatternChoice,
    ) -> Option<&'static str> {
        let known = self.safe_fixes.get(&(key, choice.clone()))?.as_ref().ok()?;
        known
            .is_none()
            .then_some(mark!("Every fix here needs a choice: select a cell"))
    }

    /// The plan of all fixes that remove nothing and need no choice, once it is known.
    pub fn safe_plan(&self, key: DocumentKey, choice: &PatternChoice) -> Option<&Arc<FixPlan>> {
        self.safe_fixes
            .get(&(key, choice.clone()))?
            .as_ref()
            .ok()?
            .as_ref()
    }
}

/// Maximum number of roots whose cells are kept: more than a screen shows.
const CACHED_ROOTS_MAX: usize = 1_000;

/// The cells of faulty roots, each compared with the pattern once for a state of the draft: names
/// of many children are compared in pairs, which is too slow for every frame.
#[derive(Default)]
pub struct RootCells(HashMap<u32, Arc<[PatternCell]>>);

impl RootCells {
    /// The cells of a root; `compare` computes them if they are not known.
    pub fn find(
        &mut self,
        root: u32,
        compare: impl FnOnce() -> Vec<PatternCell>,
    ) -> Arc<[PatternCell]> {
        if self.0.len() > CACHED_ROOTS_MAX {
            self.0.clear();
        }
        let cells = self.0.entry(root);
        cells.or_insert_with(|| compare().into()).clone()
    }
}

/// Summary of the structure for drawing, computed once a revision.
#[derive(Default)]
pub struct StructureSummary {
    /// The positions.
    pub pattern: Vec<PatternNode>,
    /// Number of roots in each state, by position.
    pub counts: Vec<StateCounts>,
    /// Number of roots by their worst state.
    pub roots: StateCounts,
    /// The root whose shape is the pattern.
    pub model: Option<u32>,
    /// The first root that has most samples below it.
    pub largest_root: Option<u32>,
    /// Number of levels of the pattern, including level 0.
    pub levels: usize,
}

impl StructureSummary {
    /// The ids from level 1 down to a position.
    pub fn path(&self, position: u32) -> Vec<&str> {
        let mut path = Vec::new();
        let mut next = self.pattern.get(position as usize);
        while let Some(node) = next {
            path.push(&*node.id);
            next = node
                .parent
                .and_then(|parent| self.pattern.get(parent as usize));
        }
        path.reverse();
        path
    }

    /// The positions directly below the same FOLDER, the position itself included.
    pub fn siblings(&self, position: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = self.pattern.get(position as usize).map(|node| node.parent);
        (0..self.pattern.len() as u32)
            .filter(move |&other| Some(self.pattern[other as usize].parent) == parent)
    }

    /// Number of roots that have padding at every position, or more: the smallest number of roots
    /// with padding at one position.
    pub fn all_padded(&self) -> u64 {
        let padded = |counts: &StateCounts| counts.count_in_state(PositionState::Padded);
        self.counts.iter().map(padded).min().unwrap_or(0)
    }

    /// Number of roots.
    pub fn total(&self) -> u64 {
        self.roots.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_compared_once_and_the_number_of_known_roots_is_limited() {
        let (mut cells, mut compared) = (RootCells::default(), Vec::new());
        let mut find = |root: u32| {
            cells.find(root, || {
                compared.push(root);
                Vec::new()
            });
        };
        [7, 8, 7, 7, 8].into_iter().for_each(&mut find);
        (10..10 + CACHED_ROOTS_MAX as u32).for_each(&mut find);
        find(7);
        assert_eq!(compared[..2], [7, 8]);
        assert_eq!(compared.len(), 2 + CACHED_ROOTS_MAX + 1, "7 was forgotten");
        assert!(cells.0.len() <= CACHED_ROOTS_MAX);
    }
}
