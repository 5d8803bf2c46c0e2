//! Use of the disk cache by this process.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

pub(super) struct CacheUse {
    /// Folders in use, which are not removed.
    folders: Mutex<BTreeSet<PathBuf>>,
    /// Bytes written since the last check of the size limit.
    pub bytes_unchecked: AtomicU64,
    pub first_check: Once,
}

impl CacheUse {
    pub const fn new() -> Self {
        Self {
            folders: Mutex::new(BTreeSet::new()),
            bytes_unchecked: AtomicU64::new(0),
            first_check: Once::new(),
        }
    }

    pub fn lock_folders(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
