//! Errors for files and datasets that changed since they were opened.

use std::path::Path;

use crate::error::{Error, Kind};
use crate::model::Stamp;

/// The error for a file that is not the version in which samples were found.
pub(super) fn source_changed_error(path: &Path, known: &Stamp, found: &Stamp) -> Error {
    let what = if known.size == found.size {
        "it was modified or replaced".to_owned()
    } else {
        format!("it had {} bytes and has {}", known.size, found.size)
    };
    Error::new(
        Kind::Changed,
        format!("the file changed since the samples were found in it: {what}"),
    )
    .at_path(path)
    .hint("open it again and start over, or restore the original file")
}

/// The error for a dataset of which `path` is not of the version that was opened.
pub(super) fn dataset_changed_error(path: &Path) -> Error {
    Error::new(Kind::Changed, "the dataset changed while it was read")
        .at_path(path)
        .hint("run again, or open the dataset again")
}
