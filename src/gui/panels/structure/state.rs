//! State of the structure panel, and of the selected fault. Imports no panel context, so that the
//! list of panels can hold it.

use std::sync::Arc;

use egui::TextureHandle;

use super::consistency::state::ConsistencyView;
use crate::draft::{Care, Fix, FixPlan, FixVerb, Overview, PatternChoice};
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
pub struct StructurePanel {
    pub view: StructureView,
    pub consistency: ConsistencyView,
    pub scroll: RowScroll,
    /// Horizontal scroll offset, in points.
    pub(super) x: f32,
    pub(super) only_faults: bool,
    /// The visible roots; `None` for all.
    pub(super) shown: Option<Vec<u32>>,
    pub(super) shown_for: Option<(DocumentKey, PatternChoice, bool)>,
    pub(super) strip: Option<(DocumentKey, PatternChoice, Overview, TextureHandle)>,
    pub(super) strip_dark: bool,
    /// Number of visible rows of the matrix.
    pub(super) rows_seen: u64,
    /// Set to scroll sideways to the selected cell.
    pub(super) reveal_column: bool,
}

/// Identifies a fix whose plan covers all similar roots.
pub(super) type PlanKey = (DocumentKey, PatternChoice, u32, FixVerb, Care);

/// State of the draft, report and selection, root, and position in the pattern: identifies a fault.
pub(super) type Of = (DocumentKey, ValueId, RowRef, u32, Option<u32>);

/// State of the selected fault and its fixes, drawn in the Sample panel.
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
