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
    /// The state of the draft for which the summary was made.
    pub made_for: Option<(DocumentKey, PatternChoice)>,
    /// The cells of faulty roots in that state.
    pub cells: RootCells,
    /// The plan of all safe fixes.
    pub safe: AsyncValue<(DocumentKey, PatternChoice), Option<Arc<FixPlan>>>,
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
            None if self.safe.is_pending() => Some(tr!("Looking for fixes")),
            None => Some(tr!("Every fix here needs a choice: select a cell")),
            Some(_) => None,
        }
    }

    /// [`DraftStructure::find_safe_fix_obstacle`], but `None` while it is unknown.
    pub fn find_known_safe_fix_obstacle(
        &self,
        key: DocumentKey,
        choice: &PatternChoice,
    ) -> Option<&'static str> {
        let known = self.safe.get(&(key, choice.clone()))?.as_ref().ok()?;
        known
            .is_none()
            .then_some(mark!("Every fix here needs a choice: select a cell"))
    }

    /// The fix of everything that can be mended without removing, once it is known.
    pub fn safe_plan(&self, key: DocumentKey, choice: &PatternChoice) -> Option<&Arc<FixPlan>> {
        self.safe
            .get(&(key, choice.clone()))?
            .as_ref()
            .ok()?
            .as_ref()
    }
}

/// Faulty roots of which cells are kept, more than a screen shows.
const ROOTS_KEPT: usize = 1_000;

/// The cells of faulty roots, each compared with the pattern once for a state of the draft: names
/// of many children are compared in pairs, which is too slow for every frame.
#[derive(Default)]
pub struct RootCells(HashMap<u32, Arc<[PatternCell]>>);

impl RootCells {
    /// The cells of a root, which `compare` returns where they are not known.
    pub fn find(
        &mut self,
        root: u32,
        compare: impl FnOnce() -> Vec<PatternCell>,
    ) -> Arc<[PatternCell]> {
        if self.0.len() > ROOTS_KEPT {
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
    pub longest: Option<u32>,
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

    /// The positions directly below the same FOLDER.
    pub fn siblings(&self, position: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = self.pattern.get(position as usize).map(|node| node.parent);
        (0..self.pattern.len() as u32)
            .filter(move |&other| Some(self.pattern[other as usize].parent) == parent)
    }

    /// Number of roots that consist of padding only.
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
    fn a_root_is_compared_once_and_few_are_kept() {
        let (mut cells, mut compared) = (RootCells::default(), Vec::new());
        let mut find = |root: u32| {
            cells.find(root, || {
                compared.push(root);
                Vec::new()
            });
        };
        [7, 8, 7, 7, 8].into_iter().for_each(&mut find);
        (10..10 + ROOTS_KEPT as u32).for_each(&mut find);
        find(7);
        assert_eq!(compared[..2], [7, 8]);
        assert_eq!(compared.len(), 2 + ROOTS_KEPT + 1, "7 was forgotten");
        assert!(cells.0.len() <= ROOTS_KEPT);
    }
}
