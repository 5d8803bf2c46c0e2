//! Locks of files and folders between processes.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};

/// An open file that this process has locked. Dropping it releases the lock, and so does the end of
/// the process, however it ends.
///
/// Closing the file would not release the lock at once: a child process that another thread starts
/// at that moment has a copy of the open file until it runs its program.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    is_locked: bool,
}

impl FileLock {
    /// Locks an open file; `None` while another open file has the lock.
    ///
    /// # Errors
    /// Those of disks without locks.
    pub fn try_lock(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                file,
                is_locked: true,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Locks an open file; `None` while another open file has the lock. On disks without locks
    /// every caller gets the file.
    pub fn try_lock_where_supported(file: File) -> Option<Self> {
        let is_locked = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::Error(_)) => false,
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Self { file, is_locked })
    }

    /// False on disks without locks.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl DerefMut for FileLock {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.is_locked
            && let Err(error) = self.file.unlock()
        {
            tracing::debug!("a lock is released by closing its file only: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_released_while_a_child_process_has_a_copy_of_the_file() {
        let file = tempfile::NamedTempFile::new().expect("makes a file");
        let open = || File::open(file.path()).expect("opens");
        let held = FileLock::try_lock(open()).expect("locks").expect("is free");
        assert!(FileLock::try_lock(open()).expect("no error").is_none());
        let copy = held.try_clone().expect("is copied");
        drop(held);
        assert!(FileLock::try_lock(open()).expect("no error").is_some());
        drop(copy);
    }
}
