//! The job of the dialog of an operation: requested, running, failed or done.

use egui::Ui;

use super::report::OperationReport;
use crate::error::Error;
use crate::gui::dialogs::view::{DialogEvent, Reply};
use crate::gui::widgets::{self, FieldNote};
use crate::jobs::JobId;

/// State of the job.
#[derive(Default)]
pub enum OperationJob {
    /// Nothing was requested.
    #[default]
    Idle,
    /// Requested; with the id once the job has started.
    Running(Option<JobId>),
    /// Failed or stopped, with the reason.
    Ended(FieldNote),
    Done(OperationReport),
}

impl OperationJob {
    /// True from the request to the end of the job.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }

    /// Records start, failure and cancellation of the job; `note` says what became of the output of
    /// a cancelled one.
    pub fn receive(&mut self, event: &DialogEvent<'_>, note: impl FnOnce() -> FieldNote) -> Reply {
        match event {
            DialogEvent::Started(job) => self.record_start(*job),
            DialogEvent::Failed(job, error) if self.record_failure(*job, error) => {
                return Reply::Taken(Vec::new());
            }
            DialogEvent::Cancelled(job) if self.has_run(Some(*job)) => *self = Self::Ended(note()),
            _ => {}
        }
        Reply::Ignored
    }

    /// True for a job that is this one.
    pub fn has_run(&self, job: Option<JobId>) -> bool {
        job.is_some() && self.is_own(job)
    }

    /// Records that the job has started.
    fn record_start(&mut self, job: JobId) {
        if let Self::Running(id @ None) = self {
            *id = Some(job);
        }
    }

    /// True when `job` is this one; `None` is a job that did not start.
    fn is_own(&self, job: Option<JobId>) -> bool {
        matches!(self, Self::Running(own) if *own == job)
    }

    /// Records that a job failed, or did not start; true when it is this one.
    fn record_failure(&mut self, job: Option<JobId>, error: &Error) -> bool {
        let own = self.is_own(job);
        if own {
            *self = Self::Ended(FieldNote::Error(error.report()));
        }
        own
    }

    /// Draws why the job failed or was stopped.
    pub fn ended_ui(&self, ui: &mut Ui) {
        if let Self::Ended(note) = self {
            widgets::note_ui(ui, note);
        }
    }
}

/// The note for a job whose output appears whole or not at all.
pub fn nothing_written() -> FieldNote {
    FieldNote::Error(tr!("Stopped; nothing was written.").into())
}
