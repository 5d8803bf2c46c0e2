//! Versions of project files: a file that another program replaced since it was read is recognized.

use std::path::{Path, PathBuf};

/// Identifies the version of a file that was read or written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::studio) struct FileMark {
    bytes: u64,
    modified: std::time::SystemTime,
    /// Its number in its file system, where the system has inode numbers: a replaced file gets a new one.
    number: Option<u64>,
}

impl FileMark {
    /// The current mark of a file; `None` when it cannot be read.
    pub fn of(path: &Path) -> Option<Self> {
        Self::of_meta(&std::fs::metadata(path).ok()?)
    }

    /// True when both are of one file, whenever it was changed.
    pub fn is_file_of(&self, other: &Self) -> bool {
        self.number == other.number && self.bytes == other.bytes
    }

    /// The mark of a file with this metadata.
    pub fn of_meta(meta: &std::fs::Metadata) -> Option<Self> {
        #[cfg(unix)]
        let number = Some(std::os::unix::fs::MetadataExt::ino(meta));
        #[cfg(not(unix))]
        let number = None;
        Some(Self { bytes: meta.len(), modified: meta.modified().ok()?, number })
    }
}

/// The project file of a draft, with the mark that it had when the draft was opened from it or saved to it.
#[derive(Clone, Debug)]
pub(in crate::studio) struct ProjectFile {
    pub path: PathBuf,
    pub mark: Option<FileMark>,
}
