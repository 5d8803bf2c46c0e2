//! Projects: drafts as files, and autosave of unsaved drafts.

mod autosave;
mod commands;
mod file;
mod file_mark;
mod journal;
mod journal_files;
mod journal_reader;
mod recovery;
mod source_paths;
mod tables;

pub use file::{Project, is_project, open_project, save_project};
pub use journal::Recoverable;
pub use recovery::recoverable;

pub(super) use autosave::{Autosave, DraftChange, DraftOrigin, PendingWrites};
pub(super) use file_mark::ProjectFile;
