//! State of the page that shows while a dataset is opened. Imports no panel context, so that the
//! list of panels can hold it.

use std::sync::Arc;

use crate::gui::widgets::{TableColumn, TableState};
use crate::jobs::{AsyncValue, JobId};
use crate::ops::FirstRows;

/// State of the page.
#[derive(Default)]
pub struct OpeningPage {
    pub(super) rows: AsyncValue<JobId, Option<Arc<FirstRows>>>,
    pub(super) columns: Vec<TableColumn>,
    pub(super) table: TableState,
    /// The job that is shown, and the bytes received from servers before it began.
    pub(super) job: Option<(JobId, u64)>,
}

impl OpeningPage {
    /// True once the first rows are known.
    pub fn has_rows(&self) -> bool {
        self.rows.latest().is_some_and(Option::is_some)
    }
}
