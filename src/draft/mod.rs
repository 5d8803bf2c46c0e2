//! A dataset being built: edits as plain data, each with its inverse, and the history that undoes them. No threads, no files.

mod edit;
mod history;

pub use edit::Edit;
pub use history::{Draft, Step};
