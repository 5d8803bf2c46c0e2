//! The files of a journal in the autosave folder: the journal, its lock, and its bases, which are
//! the projects that its edits are applied to.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::container::is_same_file;
use crate::error::{Error, IoContext, Result};
use crate::file_lock::FileLock;
use crate::folders::{make_file_private, open_private};

/// File extension of journals.
pub(super) const JOURNAL_EXTENSION: &str = "journal";

pub(super) fn lock_path(journal: &Path) -> PathBuf {
    journal.with_extension("lock")
}

pub(super) fn base_name(journal: &Path, generation: u32) -> String {
    let stem = journal.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-{generation}.tacostudio")
}

/// Locks a journal; `None` while another process holds it.
pub(super) fn lock(journal: &Path) -> Result<Option<FileLock>> {
    let path = lock_path(journal);
    loop {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = open_private(options, &path).io_at("lock the journal", &path)?;
        // On disks without locks, assume no other process.
        match FileLock::try_lock_where_supported(file) {
            // Another process removed the lock file after it was opened here: a lock on a file
            // without a name excludes nobody, so the file is made again.
            Some(lock) if lock.is_locked() && !is_at(&lock, &path) => {}
            found => return Ok(found),
        }
    }
}

/// True when `path` still names this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |about: std::fs::Metadata| (about.dev(), about.ino());
    matches!(
        (file.metadata().map(inode), std::fs::metadata(path).map(inode)),
        (Ok(open), Ok(named)) if open == named
    )
}

/// On other systems an open file keeps its name.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Locks a journal that is about to be restored or deleted; `None` when it does not exist.
///
/// # Errors
/// [`crate::error::Kind::Usage`] while another window has the draft open.
pub(super) fn lock_existing(journal: &Path) -> Result<Option<FileLock>> {
    if !journal.exists() {
        return Ok(None);
    }
    let file = lock(journal)?.ok_or_else(|| {
        Error::usage("this draft is open in another window")
            .at_path(journal)
            .hint("go on there, or close it there first")
    })?;
    Ok(Some(file))
}

/// The journal at `path`, a path or bare name of a file in the autosave folder. Only such files are
/// ever deleted as journals.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for every other path.
pub(super) fn own_journal(folder: Option<&Path>, path: &Path) -> Result<PathBuf> {
    let refused = || foreign_journal_error(path);
    let folder = folder.ok_or_else(refused)?;
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(refused)?;
    let is_same = |above: &Path| above == folder || is_same_file(above, folder);
    let is_in_folder = path
        .parent()
        .is_some_and(|above| above.as_os_str().is_empty() || is_same(above));
    let journal = folder.join(name);
    let is_file_or_free = std::fs::symlink_metadata(&journal).map_or_else(
        |error| error.kind() == std::io::ErrorKind::NotFound,
        |meta| meta.is_file(),
    );
    if is_numbered(path) && is_in_folder && is_file_or_free {
        Ok(journal)
    } else {
        Err(refused())
    }
}

fn foreign_journal_error(path: &Path) -> Error {
    let error =
        Error::usage("this is not a draft that autosave keeps, so it is not removed").at_path(path);
    error.hint("name a file draft-….journal of the autosave folder")
}

/// Makes a base file readable by the owner only.
pub(super) fn make_base_private(base: &Path) -> Result<()> {
    File::open(base)
        .and_then(|file| make_file_private(&file))
        .io_at("write the journal", base)
}

/// Removes a file, retrying once: a virus scanner may hold it open briefly.
pub(super) fn remove_file(path: impl AsRef<Path>) {
    let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_file(&path));
}

/// Deletes a journal with its bases and its lock.
pub(super) fn delete_journal(path: &Path) {
    remove_file(path);
    remove_bases(path, None);
    remove_file(lock_path(path));
}

/// Removes the bases of a journal except `keep`, also those of failed attempts, which no head of
/// the journal names.
pub(super) fn remove_bases(journal: &Path, keep: Option<&str>) {
    let (Some(folder), Some(stem)) = (journal.parent(), journal.file_stem()) else {
        return;
    };
    let stem = format!("{}-", stem.to_string_lossy());
    let names = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    for name in names.map(|name| name.to_string_lossy().into_owned()) {
        if name.starts_with(&stem) && Some(name.as_str()) != keep {
            remove_file(folder.join(name));
        }
    }
}

/// True for the names that autosave gives: `draft-….journal`.
pub(super) fn is_numbered(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let number = name
        .strip_prefix("draft-")
        .and_then(|rest| rest.strip_suffix(JOURNAL_EXTENSION)?.strip_suffix('.'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
