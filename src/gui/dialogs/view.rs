//! What every dialog has: a picture, and what it does when a job ends, paths are chosen or another
//! document is shown.

use std::path::PathBuf;

use egui::Ui;

use super::frame::Next;
use crate::error::Error;
use crate::gui::panel_context::{PanelContext, Request};
use crate::jobs::JobId;
use crate::studio::{Event, Studio};

/// A dialog. One is open at a time.
pub trait DialogView {
    /// Draws the dialog.
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next;

    /// Reacts to an event outside the dialog.
    fn receive(&mut self, _event: &DialogEvent<'_>) -> Reply {
        Reply::Ignored
    }

    /// True while a job of the dialog runs, which keeps it open.
    fn is_running(&self) -> bool {
        false
    }
}

/// An event outside a dialog.
pub enum DialogEvent<'a> {
    /// The job of a command that dialogs start has started.
    Started(JobId),
    /// A job ended with an event, or a command without a job did.
    Finished(Option<JobId>, &'a Event, &'a Studio),
    /// A job failed, or a command that dialogs start did not start.
    Failed(Option<JobId>, &'a Error),
    /// A job was cancelled.
    Cancelled(JobId),
    /// Paths were chosen in the desktop's file dialog.
    Picked(&'a [PathBuf]),
    /// The desktop's file dialog was closed.
    PickerClosed,
    /// The document is no longer open.
    DocumentChanged,
}

/// Reaction to an event.
pub enum Reply {
    /// The event is handled elsewhere.
    Ignored,
    /// The dialog shows the event; the requests follow.
    Taken(Vec<Request>),
    /// The dialog closes, and the event is handled elsewhere.
    Close,
}

/// The reaction of a dialog about the open document.
pub fn close_with_document(event: &DialogEvent<'_>) -> Reply {
    match event {
        DialogEvent::DocumentChanged => Reply::Close,
        _ => Reply::Ignored,
    }
}
