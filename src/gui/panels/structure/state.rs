//! State of the structure panel, and the summary of the structure that it draws. Imports no panel
//! context, so that the session can hold it.

use std::sync::Arc;

use egui::TextureHandle;

use super::consistency::state::ConsistencyView;
use crate::draft::{
    Care, Fix, FixPlan, FixVerb, Overview, PatternChoice, PatternNode, PositionState, StateCounts,
};
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::{Finding, RowRef};

/// The views of the panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StructureView {
    /// Roots × positions by shape.
    #[default]
    Shape,
    /// Positions × properties of their rasters.
    Consistency,
}

/// State of the panel.
#[derive(Default)]
pub struct StructureState {
    pub view: StructureView,
    pub consistency: ConsistencyView,
    pub scroll: RowScroll,
    /// Horizontal scroll offset, in points.
    pub(super) x: f32,
    pub(super) only_faults: bool,
    pub(super) made_for: Option<(DocumentKey, PatternChoice)>,
    pub lens: Arc<StructureSummary>,
    /// The visible roots; `None` for all.
    pub(super) shown: Option<Vec<u32>>,
    pub(super) shown_for: Option<(DocumentKey, PatternChoice, bool)>,
    pub(super) strip: Option<(DocumentKey, PatternChoice, Overview, TextureHandle)>,
    pub(super) strip_dark: bool,
    /// Number of visible rows of the matrix.
    pub(super) rows_seen: u64,
    /// Set to scroll sideways to the selected cell.
    pub(super) reveal_column: bool,
    /// The selected cell: root and position of the pattern.
    pub cell: Option<(u32, u32)>,
    pub(super) safe: AsyncValue<(DocumentKey, PatternChoice), Option<Arc<FixPlan>>>,
    pub(super) fix: FixState,
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

/// Identifies a fix whose plan covers all similar roots.
pub(super) type PlanKey = (DocumentKey, PatternChoice, u32, FixVerb, Care);

/// State of the draft, report and selection, root, and position in the pattern: identifies a fault.
pub(super) type Of = (DocumentKey, ValueId, RowRef, u32, Option<u32>);

/// State of the panel.
#[derive(Default)]
pub struct FixState {
    pub(super) of: Option<Of>,
    pub(super) fault: Option<StructureFault>,
    /// Fixes of the fault, found off the interface thread.
    pub(super) fixes: AsyncValue<Of, Vec<Fix>>,
    /// The fix that the user chose; otherwise the first that removes nothing.
    pub(super) chosen: Option<usize>,
    pub(super) plan: AsyncValue<PlanKey, Option<Arc<FixPlan>>>,
    /// The plan to show once it is ready.
    pub(super) asked: Option<PlanKey>,
}

pub(super) struct StructureFault {
    pub(super) title: String,
    pub(super) rule: &'static str,
    /// Ids from the root, and the index of the faulty one.
    pub(super) path: Vec<String>,
    pub(super) last: String,
    pub(super) text: String,
    pub(super) now: Vec<(String, bool)>,
    pub(super) finding: Finding,
    /// Number of roots of the same shape.
    pub(super) alike: u64,
    pub(super) root: u32,
    pub(super) above: Vec<String>,
    pub(super) target: Option<String>,
}
