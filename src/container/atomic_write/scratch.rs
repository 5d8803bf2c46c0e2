//! The hidden temporary folder beside an output, in which the output is written. It is locked by
//! its process, so other processes can distinguish leftovers from work in progress; the next write
//! of the same output removes or restores leftovers. Files that are sent elsewhere are written in
//! such a folder within the temporary folder of this machine.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

use super::names::{name_of, parent_of};
use super::swap;
use crate::error::{Error, IoContext, Result};
use crate::file_lock::FileLock;
use crate::files::LocalVersion;
use crate::jobs::JobContext;
use crate::model::is_remote;
use crate::work_files::{
    ASIDE, Locked, PARTIAL, TRIES, discard, is_temporary, lock, lock_of_leftover,
    make_locked_folder, make_work_folder, prefix_of, remove_abandoned_work_in, remove_leftovers,
    removed_file_error, stem,
};

/// Time between two attempts to lock a dataset that another process has locked.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Folders created for an output; removed on drop when empty.
#[derive(Default)]
pub(super) struct CreatedFolders(Vec<PathBuf>);

impl CreatedFolders {
    /// Creates the parent folder of `target`.
    pub fn folder_of(target: &Path) -> Result<(PathBuf, Self)> {
        let parent = parent_of(target)?;
        // A folder that can't be looked at may be there: it is not removed afterwards.
        let is_missing = |above: &&Path| {
            !above.as_os_str().is_empty() && matches!(crate::files::exists(above), Ok(false))
        };
        let missing = parent.ancestors().take_while(is_missing);
        let created_folders = Self(missing.map(Path::to_owned).collect());
        std::fs::create_dir_all(&parent).io_at("make the folder for the output", &parent)?;
        Ok((parent, created_folders))
    }

    /// Syncs the folders' directory entries and keeps the folders.
    pub fn sync_and_keep(&mut self) -> Result<()> {
        for folder in std::mem::take(&mut self.0) {
            if let Some(parent) = folder.parent() {
                swap::sync_folder(if parent.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    parent
                })?;
            }
        }
        Ok(())
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        // Fails for a folder that is not empty.
        self.0
            .iter()
            .for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}

/// A hidden folder beside an output, deleted with its contents on drop.
pub struct Scratch {
    folder: PathBuf,
    /// It contains the only copy of an output and is kept on drop.
    kept: bool,
    /// Dropped before `created_folders`: on Windows the lock is a file in those folders.
    _lock: Option<FileLock>,
    created_folders: CreatedFolders,
}

impl Scratch {
    /// Creates a temporary folder for writing `target`.
    ///
    /// # Errors
    /// When the folder of `target` cannot be created or written.
    pub fn for_target(target: &Path) -> Result<Self> {
        // An address has no folder here.
        if is_remote(target) {
            name_of(target)?;
            return Self::for_work();
        }
        let (parent, created_folders) = CreatedFolders::folder_of(target)?;
        let prefix = prefix_of(target)?;
        let mut builder = Builder::new();
        let made = make_locked_folder(builder.prefix(&prefix), &parent)?;
        Ok(Self::from_locked(made, created_folders))
    }

    /// Creates a folder in the temporary folder of this machine, for files that are not needed
    /// after the work. Removes those of processes that were stopped during theirs.
    ///
    /// # Errors
    /// When the temporary folder cannot be written.
    pub fn for_work() -> Result<Self> {
        Self::for_work_in(&std::env::temp_dir())
    }

    fn for_work_in(parent: &Path) -> Result<Self> {
        remove_abandoned_work_in(parent);
        let made = make_work_folder(parent)?;
        Ok(Self::from_locked(made, CreatedFolders::default()))
    }

    fn from_locked(
        (folder, lock): (PathBuf, Option<FileLock>),
        created_folders: CreatedFolders,
    ) -> Self {
        Self {
            folder,
            kept: false,
            created_folders,
            _lock: lock,
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Marks the folder as containing the only copy of an output, by renaming it.
    pub(super) fn put_aside(&mut self) -> Result<()> {
        let name = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let aside = self
            .folder
            .with_file_name(name.strip_suffix(PARTIAL).unwrap_or(&name).to_owned() + ASIDE);
        swap::rename(&self.folder, &aside)
            .io_at("rename the folder of the old output", &self.folder)?;
        self.folder = aside;
        self.kept = true;
        Ok(())
    }

    /// Marks the contents as no longer needed.
    pub(super) fn release(&mut self) {
        // A process killed while deleting the folder must not leave one that looks like the only
        // copy.
        let name = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(stem) = name.strip_suffix(ASIDE) {
            let partial = self.folder.with_file_name(stem.to_owned() + PARTIAL);
            if swap::rename(&self.folder, &partial).is_ok() {
                self.folder = partial;
            }
        }
        self.kept = false;
    }

    /// Keeps the folder on drop.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    /// Syncs and keeps the created parent folders.
    pub(super) fn sync_and_keep_folders(&mut self) -> Result<()> {
        self.created_folders.sync_and_keep()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            discard(&self.folder);
        }
    }
}

/// Creates a file beside `target`; also returns its lock, and the folders created for it.
pub(super) fn file_beside(
    target: &Path,
) -> Result<(NamedTempFile, Option<FileLock>, CreatedFolders)> {
    let (parent, created_folders) = CreatedFolders::folder_of(target)?;
    let prefix = prefix_of(target)?;
    for _ in 0..TRIES {
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(PARTIAL);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder
            .tempfile_in(&parent)
            .io_at("make a file in the output's folder", &parent)?;
        let lock = match lock(file.path()) {
            Locked::ByOther => continue,
            Locked::Here(lock) => Some(lock),
            Locked::Never => None,
        };
        if file.path().exists() {
            return Ok((file, lock, created_folders));
        }
    }
    Err(removed_file_error(target))
}

/// The lock of a dataset; released on drop, and by the end of the process.
pub struct DatasetLock {
    /// `None` on disks without locks.
    _lock: Option<FileLock>,
}

/// Locks the file or folder of a dataset, so that no other process of the studio edits or replaces
/// it meanwhile. Waits for one that has locked it. Readers do not lock: they compare versions.
///
/// # Errors
/// When the job is cancelled.
pub fn lock_dataset(path: &Path, ctx: &JobContext) -> Result<DatasetLock> {
    let mut is_waiting = false;
    loop {
        ctx.check()?;
        match lock(path) {
            Locked::Never => return Ok(DatasetLock { _lock: None }),
            Locked::Here(lock) => {
                // The one that had the lock may have put another file or folder in its place.
                if cfg!(windows) || is_at_path(&lock, path).unwrap_or(true) {
                    return Ok(DatasetLock { _lock: Some(lock) });
                }
            }
            Locked::ByOther => {
                if !std::mem::replace(&mut is_waiting, true) {
                    tracing::info!("waits for another process that edits {}", path.display());
                    ctx.stage(tr!("Waiting for another edit of the dataset"), None);
                }
                std::thread::sleep(LOCK_PAUSE);
            }
        }
    }
}

/// True when the open file is that at the path; `None` when one of them can't be looked at.
fn is_at_path(file: &File, path: &Path) -> Option<bool> {
    let version = LocalVersion::from_file(file).ok()?;
    Some(version.is_same_entry(&LocalVersion::from_path(path).ok()?))
}

/// True while another process renames the new files of an edit into the folder `path`, so that some
/// of its tables may be new and others old.
pub fn is_being_edited(path: &Path) -> bool {
    // A folder named `.` or `..` has another name among its neighbours.
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    unfinished_edits(&path)
        .iter()
        .any(|aside| matches!(lock(aside), Locked::ByOther))
}

/// Hidden folders in the folder of `target` that may contain the only copy of an output.
fn asides_near(target: &Path) -> Vec<PathBuf> {
    let Ok(parent) = parent_of(target) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let aside = entries.filter(|entry| stem(&entry.file_name().to_string_lossy(), ASIDE).is_some());
    let mut found: Vec<PathBuf> = aside
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Removes what interrupted processes left of outputs of this name, and restores the outputs they
/// had moved aside.
pub(super) fn tidy_up(target: &Path) {
    // The temporary folder itself, which may have thousands of files, is not searched.
    if target.ancestors().skip(1).any(is_temporary) {
        return;
    }
    let (Ok(parent), Some(name)) = (parent_of(target), target.file_name()) else {
        return;
    };
    for aside in asides_near(target) {
        if let Some(_lock) = lock_of_leftover(&aside)
            && swap::SwapJournal::read(&aside).is_some_and(|record| record.names(name))
        {
            bring_back(&aside, &parent);
        }
    }
    remove_leftovers(&parent, name);
}

/// Restores the copies in an aside folder under their original names, or deletes them when every
/// new output is in place. The caller holds the folder's lock.
fn bring_back(aside: &Path, parent: &Path) {
    let Some(record) = swap::SwapJournal::read(aside) else {
        return;
    };
    let outcome = if record.is_done(aside, parent) {
        Ok(false)
    } else {
        record.take_back(aside, parent).map(|()| true)
    };
    match outcome {
        Ok(brought) => {
            if brought {
                tracing::warn!(
                    "restored the previous version of {} after an interrupted write",
                    record.list()
                );
            }
            discard(aside);
        }
        Err(error) => tracing::warn!(
            "{} contains the previous version of an interrupted write: {error}",
            aside.display()
        ),
    }
}

/// The aside copy of the output `path`, left by a process that was stopped while it replaced that
/// output. `None` while the process runs.
pub fn aside_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let parent = parent_of(path).ok()?;
    asides_near(path).into_iter().find_map(|aside| {
        let copy = swap::SwapJournal::read(&aside)?.copy_of(name, &aside, &parent)?;
        let _lock = lock_of_leftover(&aside)?;
        Some(copy)
    })
}

/// True when an edit of files in the folder `path` was interrupted, so it may have old files beside
/// new ones. [`restore_aside`] and every later write of it restore the old ones. False while the
/// process that edits it runs.
pub fn has_interrupted_edit(path: &Path) -> bool {
    unfinished_edits(path)
        .iter()
        .any(|aside| lock_of_leftover(aside).is_some())
}

/// The journals of edits of files in the folder `path` of which some, and not all, new files have
/// their names.
fn unfinished_edits(path: &Path) -> Vec<PathBuf> {
    let (Some(name), Ok(parent)) = (path.file_name(), parent_of(path)) else {
        return Vec::new();
    };
    asides_near(path)
        .into_iter()
        .filter(|aside| is_begun_edit(aside, name, &parent))
        .collect()
}

/// True for the journal of an edit of files in the folder `name` of which some, and not all, new
/// files have their names.
fn is_begun_edit(aside: &Path, name: &OsStr, parent: &Path) -> bool {
    swap::SwapJournal::read(aside).is_some_and(|record| {
        record.is_within(name)
            && !record.is_done(aside, parent)
            && !record.is_untouched(aside, parent)
    })
}

/// Restores the copy found by [`aside_of`], with the outputs moved aside together with it, and the
/// files of [`has_interrupted_edit`].
///
/// # Errors
/// When another file or folder has the name by now, or a rename fails.
pub fn restore_aside(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default();
    let parent = parent_of(path)?;
    for aside in asides_near(path) {
        let Some(record) = swap::SwapJournal::read(&aside).filter(|record| record.names(name))
        else {
            continue;
        };
        let Some(_lock) = lock_of_leftover(&aside) else {
            continue;
        };
        record.take_back(&aside, &parent)?;
        discard(&aside);
        return Ok(());
    }
    Err(Error::usage("there is no saved copy of this output").at_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_removes_what_stopped_processes_left_and_nothing_that_is_used() {
        let home = tempfile::tempdir().expect("a folder");
        let used = Scratch::for_work_in(home.path()).expect("begins");
        std::fs::write(used.path().join("sent"), b"x").expect("is written");
        // Those of a process that was killed, and a folder of somebody else.
        let [left, other] = [".taco-studio-work.aB3dE6.partial", ".taco-studio-work.old"]
            .map(|name| home.path().join(name));
        for folder in [&left, &other] {
            std::fs::create_dir(folder).expect("is made");
            std::fs::write(folder.join("sent"), b"x").expect("is written");
        }
        let second = Scratch::for_work_in(home.path()).expect("begins");
        assert!(!left.exists(), "no process has it");
        assert!(used.path().join("sent").exists() && other.exists());
        assert_ne!(used.path(), second.path());
        let places = [used.path().to_owned(), second.path().to_owned()];
        drop((used, second));
        assert!(places.iter().all(|place| !place.exists()));
    }
}
