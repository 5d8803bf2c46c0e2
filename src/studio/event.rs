//! Results of a command: immediate, as a job, or later as an event of the session.

use std::path::PathBuf;
use std::sync::Arc;

use crate::container::Built;
use crate::error::Error;
use crate::extensions::Failure;
use crate::jobs::JobId;
use crate::ops::{self, OperationOutput};
use crate::query::QueryResult;

/// Immediate result of a command.
#[derive(Debug)]
pub enum Outcome {
    /// Finished, with this event.
    Done(Event),
    /// Started as a job.
    Started(JobId),
}

/// Something that happened in the session.
#[derive(Debug)]
pub enum Event {
    /// No event.
    None,
    /// A document was opened or closed.
    DocumentChanged,
    /// The draft changed.
    Edited {
        /// Label of the edit that was applied, undone or redone.
        label: String,
        /// [`Edit::only_sets`](crate::draft::Edit::only_sets) of the edit.
        sets: bool,
    },
    /// Extensions added columns or fields to the draft.
    Extended {
        /// Label for the history.
        label: String,
        /// Failed samples, whose values are null.
        failures: Vec<Failure>,
    },
    /// Files were added to the draft.
    Imported(ops::Imported),
    /// Files of watched folders were added to the tray.
    Arrived {
        /// Number of files.
        files: usize,
    },
    /// Labels of the fixes of a finding, or of the alternatives of a name pattern; best first.
    Offered(Vec<String>),
    /// The draft was saved as a project.
    ProjectSaved(PathBuf),
    /// An autosaved draft was deleted, with this journal.
    DraftForgotten(PathBuf),
    /// A project was read but not opened: it has files on servers that the user has not agreed to.
    ProjectAsks {
        /// The project.
        path: PathBuf,
        servers: Vec<super::Server>,
    },
    /// A check finished; its findings are in [`super::Studio::report`].
    Validated,
    /// Result of a query.
    Queried(Arc<QueryResult>),
    /// The filter was applied; its result is [`super::Studio::filtered_rows`].
    Filtered,
    /// An operation ended.
    Finished(ops::AnyOutput),
    /// The draft was written.
    Written(Built),
    /// A plan was written into this folder.
    Planned(PathBuf),
    /// A sample or rows were saved to this file.
    Saved(PathBuf),
    /// A job failed.
    Failed {
        job: JobId,
        label: String,
        error: Arc<Error>,
    },
    /// A job was cancelled.
    Cancelled { job: JobId, label: String },
}

impl Event {
    /// The dataset that was written, by the write of the draft or by an operation.
    pub fn written_dataset(&self) -> Option<&Built> {
        match self {
            Self::Written(built) => Some(built),
            Self::Finished(output) => output.built_dataset(),
            _ => None,
        }
    }
}
