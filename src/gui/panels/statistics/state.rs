//! State of the statistics panel. Imports no panel context, so that the list of panels can hold it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Error;
use crate::extensions::Leakage;
use crate::extensions::pooled_statistics::PooledReport;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::jobs::{AsyncValue, JobId};
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
    pub leaks: LeaksState,
}

/// State of the section.
#[derive(Default)]
pub struct LeaksState {
    pub(super) column: Option<String>,
    pub(super) job: Option<JobId>,
    pub(super) found: Option<Arc<Leakage>>,
    pub(super) failed: Option<String>,
    /// Unfolded kinds of leaks, by their sentence.
    pub(super) open: BTreeSet<String>,
    /// The clicked sample, searched by its path in a job.
    pub(super) jump: AsyncValue<String, RowRef>,
}

impl LeaksState {
    /// Records the job.
    pub fn record_start(&mut self, job: JobId) {
        (self.job, self.failed) = (Some(job), None);
    }

    /// Takes the result of the newest job.
    pub fn take(&mut self, job: Option<JobId>, found: Arc<Leakage>) {
        if self.job == job {
            (self.job, self.found) = (None, Some(found));
        }
    }

    /// Records that the job failed, or was cancelled (`None`). True when it is the newest job.
    pub fn record_end(&mut self, job: JobId, why: Option<&Error>) -> bool {
        let own = self.job == Some(job);
        if own {
            (self.job, self.failed) = (None, why.map(Error::report));
        }
        own
    }
}
