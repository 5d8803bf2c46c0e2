//! Replaces files in an existing folder, all or none. Every other file of the folder keeps its
//! inode and its times.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::names::{make_parent, name_of, parent_of};
use super::placing;
use super::scratch::{self, Scratch};
use super::swap::{self, sync_tree};
use crate::error::{Error, IoContext, Kind, Result};
use crate::model::{Modified, is_remote};

/// New versions of files of one folder, written beside the folder until [`Replacement::finish`]
/// renames them into it.
pub struct Replacement {
    scratch: Scratch,
    folder: PathBuf,
    parent: PathBuf,
    /// Where the new files are written, in the structure of the folder.
    place: PathBuf,
    files: Mutex<Vec<Replaced>>,
}

/// A file that will be replaced, and its version when the new one was written.
struct Replaced {
    name: String,
    length: u64,
    modified: Modified,
}

impl Replaced {
    fn is_still(&self, meta: &Metadata) -> bool {
        self.length == meta.len() && self.modified.agrees(Modified::of_file(meta))
    }
}

/// Restores what an interrupted replacement of files of `folder` left. To be called before the
/// files are read for another one.
///
/// # Errors
/// When the folder can't be opened.
pub fn restore_interrupted(folder: &Path) -> Result<()> {
    // A folder named `.` or `..` has no name to put another one beside.
    scratch::tidy_up(&folder.canonicalize().io_at("open the folder", folder)?);
    Ok(())
}

/// Removes what interrupted processes left of an output of this name, and restores what they had
/// moved aside.
pub fn clear_interrupted(target: &Path) {
    if !is_remote(target) {
        scratch::tidy_up(target);
    }
}

impl Replacement {
    /// Starts replacing files of `folder`, where [`restore_interrupted`] was called before they
    /// were read.
    ///
    /// # Errors
    /// When `folder` is no folder, or the temporary folder beside it cannot be created.
    pub fn new(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize().io_at("open the folder", folder)?;
        if !folder.is_dir() {
            return Err(Error::usage("this is no folder").at_path(&folder));
        }
        let scratch = Scratch::for_target(&folder)?;
        let place = scratch.path().join(swap::NEW).join(name_of(&folder)?);
        std::fs::create_dir_all(&place).io_at("make a folder beside the dataset", &place)?;
        let parent = parent_of(&folder)?;
        Ok(Self {
            scratch,
            folder,
            parent,
            place,
            files: Mutex::default(),
        })
    }

    /// Writes the new version of the existing file `name`, a path in the folder with `/`. May be
    /// called from several threads.
    ///
    /// # Errors
    /// When the folder has no such file, or the new version cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (target, new) = (self.folder.join(name), self.place.join(name));
        let meta = target
            .symlink_metadata()
            .io_at("look at the file to be replaced", &target)?;
        make_parent(&new)?;
        write_with_permissions(&new, bytes, &meta).io_at("write the new version", &new)?;
        let replaced = Replaced {
            name: name.to_owned(),
            length: meta.len(),
            modified: Modified::of_file(&meta),
        };
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(replaced);
        Ok(())
    }

    /// Syncs the new files to disk and renames them: files in subfolders first, in the order of
    /// their names. A process killed at any moment leaves a single file old or new; of several, a
    /// journal beside the folder lets the next write of it restore the old ones. Returns the number
    /// of replaced files.
    ///
    /// # Errors
    /// When syncing or renaming fails, or a file has changed since its new version was written: all
    /// files are then the old ones.
    pub fn finish(mut self) -> Result<usize> {
        let mut files =
            std::mem::take(self.files.get_mut().unwrap_or_else(PoisonError::into_inner));
        if files.is_empty() {
            return Ok(0);
        }
        // COLLECTION.json describes the tables: replaced last, it never describes columns that are
        // not there yet.
        files.sort_by_cached_key(|file| (!file.name.contains('/'), file.name.clone()));
        sync_tree(self.scratch.path())?;
        let top = name_of(&self.folder)?.to_owned();
        let names: Vec<OsString> = files
            .iter()
            .map(|file| Path::new(&top).join(&file.name).into_os_string())
            .collect();
        let versions: HashMap<PathBuf, &Replaced> = files
            .iter()
            .map(|file| (self.folder.join(&file.name), file))
            .collect();
        let check = |_: &Path, target: &Path| refuse_changed(&versions, target);
        placing::place(&mut self.scratch, &self.parent, (&names, &[]), &check)?;
        Ok(names.len())
    }
}

/// Writes a new file with the permissions of another, when that is a regular file.
fn write_with_permissions(path: &Path, bytes: &[u8], other: &Metadata) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    if other.is_file() {
        file.set_permissions(other.permissions())
    } else {
        Ok(())
    }
}

/// Refuses a file that is not the one that its new version was written for.
fn refuse_changed(versions: &HashMap<PathBuf, &Replaced>, target: &Path) -> Result<()> {
    match (versions.get(target), target.symlink_metadata()) {
        (Some(file), Ok(meta)) if file.is_still(&meta) => Ok(()),
        _ => Err(Error::new(
            Kind::Changed,
            "the file changed while its new version was written",
        )
        .at_path(target)
        .hint("try again")),
    }
}
