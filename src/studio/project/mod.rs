//! Projects: drafts as files, and autosave of unsaved drafts.

mod autosave;
mod commands;
mod file;
mod journal;
mod sweep;
mod tables;

pub use file::{Project, is_project, open_project, save_project};
pub use journal::{Recoverable, recoverable};

pub(super) use autosave::{Autosave, Change, Origin, PendingWrites, ProjectFile};
