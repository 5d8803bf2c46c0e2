//! State of the statistics panel. Imports no panel context, so that the list of panels can hold it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::extensions::Leakage;
use crate::extensions::pooled_statistics::PooledReport;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::jobs::AsyncValue;
use crate::ops::{ColumnSummary, StatsRequest};
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct StatisticsPanel {
    pub(super) made_for: Option<DocumentKey>,
    pub(super) level: Option<usize>,
    /// Id of the position below a FOLDER; all positions when absent.
    pub(super) position: Option<String>,
    /// Value of the split; all splits when absent.
    pub(super) split: Option<String>,
    /// Read pixels too; requested by a button, because it is slow.
    pub(super) exact: bool,
    pub(super) pooled: AsyncValue<(DocumentKey, StatsRequest, Option<ValueId>), Arc<PooledReport>>,
    pub(super) splits: AsyncValue<(DocumentKey, Option<ValueId>), Option<ColumnSummary>>,
    /// Leakage between the splits.
    pub(super) leaks: LeaksState,
}

/// State of the section.
#[derive(Default)]
pub struct LeaksState {
    pub(super) column: Option<String>,
    /// The running search, by its column.
    pub(super) search: AsyncValue<String, Leakage>,
    pub(super) found: Option<Arc<Leakage>>,
    pub(super) failed: Option<String>,
    /// Unfolded kinds of leaks, by their sentence.
    pub(super) open: BTreeSet<String>,
    /// The clicked sample, searched by its path in a job.
    pub(super) jump: AsyncValue<(DocumentKey, String), RowRef>,
}
