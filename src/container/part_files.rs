//! The archives listed by an index: located beside the index or in another folder, opened on
//! demand, with a bounded number open at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::ZipReader;
use crate::error::{Error, Kind, Result};
use crate::files::{Outside, Root};
use crate::model::{Stamp, is_remote, place_below, safe_relative};

/// Maximum number of open archives; each keeps its footers and central directory in memory.
const OPEN_MAX: usize = 16;

/// The parts of one index. Cheap to clone; opening a part blocks only other users of the cache.
pub struct PartFiles {
    folder: PathBuf,
    root: Root,
    open: Mutex<OpenParts>,
}

/// The open archives, and the version in which each was opened first: ranges and rows of two
/// versions of an archive are never mixed.
#[derive(Default)]
struct OpenParts {
    /// Least recently used first.
    readers: Vec<(Box<str>, Arc<ZipReader>)>,
    versions: HashMap<Box<str>, Arc<Stamp>>,
}

impl PartFiles {
    /// Parts located in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            root: Root::new(&folder),
            folder,
            open: Mutex::default(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Path of the part `name`, whether or not it exists.
    ///
    /// # Errors
    /// When `name` is a path that leads outside the folder.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        if !safe_relative(name) {
            return Err(Error::format(
                "the name of this part leads outside the folder of the parts",
            )
            .at_place(name.escape_default()));
        }
        Ok(place_below(&self.folder, name))
    }

    /// Target of a part that is a symbolic link to outside the folder.
    pub fn link_target_outside(&self, name: &str) -> Option<PathBuf> {
        match self.root.file(name) {
            Err(Outside::LeadsOut(target)) if safe_relative(name) && !is_remote(&self.folder) => {
                Some(target)
            }
            _ => None,
        }
    }

    /// The version of the part `name`, when it was opened.
    pub fn version_of(&self, name: &str) -> Option<Arc<Stamp>> {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .versions
            .get(name)
            .cloned()
    }

    /// The reader of the part `name`, opened on first use.
    ///
    /// # Errors
    /// When the part does not exist or cannot be opened, with the path that was tried;
    /// [`Kind::Changed`] when it is not of the version in which it was opened before.
    pub fn get(&self, name: &str) -> Result<Arc<ZipReader>> {
        let path = self.path(name)?;
        let first_version = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.readers.iter().position(|(open, _)| &**open == name) {
                let entry = open.readers.remove(at);
                let reader = entry.1.clone();
                open.readers.push(entry);
                return Ok(reader);
            }
            open.versions.get(name).cloned()
        };
        let reader = Arc::new(self.open_part(name, &path)?);
        if let Some(version) = first_version {
            reader.file().expect_version(&version)?;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let first_version = open
            .versions
            .entry(name.into())
            .or_insert_with(|| reader.file().stamp().clone())
            .clone();
        if open.readers.len() >= OPEN_MAX {
            open.readers.remove(0);
        }
        open.readers.push((name.into(), reader.clone()));
        drop(open);
        // Another thread may have opened it first.
        reader.file().expect_version(&first_version)?;
        Ok(reader)
    }

    fn open_part(&self, name: &str, path: &Path) -> Result<ZipReader> {
        let outside = if is_remote(path) {
            None
        } else {
            self.root.file(name).err()
        };
        if outside.as_ref().is_some_and(Outside::is_missing) {
            return Err(Error::new(Kind::Io, format!("the part {name} is missing"))
                .at_path(path)
                .hint("put it there, or name the folder that holds the parts with --base-path"));
        }
        let opened = match outside {
            Some(outside) => Err(outside.into_error("open the part", path)),
            None => ZipReader::open(path),
        };
        opened.map_err(|error| {
            Error::new(error.kind(), format!("the part {name} can't be opened")).because(error)
        })
    }
}
