//! State of the column explorer. Imports no panel context, so that the list of panels can hold it.

use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::ops::{ColumnSummary, SummaryRequest};

/// Key of a summary: document, column, pointer of the filter.
pub(super) type SummaryKey = (DocumentKey, SummaryRequest, Option<ValueId>);

/// State of the panel.
#[derive(Default)]
pub struct ColumnsPanel {
    pub(super) filter: String,
    pub(super) scroll: RowScroll,
    pub(super) rows: Vec<ColumnRow>,
    pub(super) made_for: Option<(DocumentKey, String)>,
    pub(super) chosen: Option<SummaryRequest>,
    pub(super) summary: AsyncValue<SummaryKey, ColumnSummary>,
    pub(super) low: String,
    pub(super) high: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnRow {
    Level(usize),
    Column(usize, String, String),
}
