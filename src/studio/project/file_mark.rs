//! Versions of project files, by which a replacement by another program since the last read is
//! detected.

use std::path::{Path, PathBuf};

/// Identifies a version of a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::studio) struct FileMark {
    bytes: u64,
    modified: std::time::SystemTime,
    /// Inode number, where the system has one: a replaced file gets a new one.
    number: Option<u64>,
}

impl FileMark {
    /// The current mark of a file; `None` when it cannot be read.
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::of_meta(&std::fs::metadata(path).ok()?)
    }

    /// True when inode and size are equal; modification times are ignored.
    pub fn is_file_of(&self, other: &Self) -> bool {
        self.number == other.number && self.bytes == other.bytes
    }

    /// The mark of a file with this metadata.
    pub fn of_meta(meta: &std::fs::Metadata) -> Option<Self> {
        #[cfg(unix)]
        let number = Some(std::os::unix::fs::MetadataExt::ino(meta));
        #[cfg(not(unix))]
        let number = None;
        Some(Self {
            bytes: meta.len(),
            modified: meta.modified().ok()?,
            number,
        })
    }
}

/// The project file of a draft, with the mark that it had when the draft was opened from it or
/// saved to it.
#[derive(Clone, Debug)]
pub(in crate::studio) struct ProjectFile {
    pub path: PathBuf,
    pub mark: Option<FileMark>,
}
