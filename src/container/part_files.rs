//! The archives that an index lists: found beside it or in another folder, opened when a sample of theirs is asked for, and
//! only a few of them open at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::ZipReader;
use crate::error::{Error, Kind, Result};
use crate::files::{Outside, Root};
use crate::model::{is_remote, place_below, safe_relative};

/// Archives kept open. Each keeps its footers and its directory.
const OPEN_MAX: usize = 16;

/// The parts of one index. Cheap to share; opening one blocks only those who wait for the list.
pub struct PartFiles {
    folder: PathBuf,
    root: Root,
    /// The last used one at the end.
    open: Mutex<Vec<(Box<str>, Arc<ZipReader>)>>,
}

impl PartFiles {
    /// Parts that lie in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { root: Root::new(&folder), folder, open: Mutex::default() }
    }

    /// Where the parts are looked for.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the part called `name` lies, whether or not it is there. Names that lead outside the folder are refused.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        if !safe_relative(name) {
            return Err(Error::format("the name of this part leads outside the folder of the parts").at(name.escape_default()));
        }
        Ok(place_below(&self.folder, name))
    }

    /// Where a part that is a link leads, when that is out of the folder of the parts.
    pub fn leads_out(&self, name: &str) -> Option<PathBuf> {
        match self.root.file(name) {
            Err(Outside::LeadsOut(target)) if safe_relative(name) && !is_remote(&self.folder) => Some(target),
            _ => None,
        }
    }

    /// The part called `name`. A part that is not there is an error that says where it was looked for.
    pub fn get(&self, name: &str) -> Result<Arc<ZipReader>> {
        let path = self.path(name)?;
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().position(|(known, _)| &**known == name) {
                let entry = open.remove(at);
                let reader = entry.1.clone();
                open.push(entry);
                return Ok(reader);
            }
        }
        let reader = Arc::new(self.open_part(name, &path)?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((name.into(), reader.clone()));
        Ok(reader)
    }

    fn open_part(&self, name: &str, path: &Path) -> Result<ZipReader> {
        let outside = if is_remote(path) { None } else { self.root.file(name).err() };
        if outside.as_ref().is_some_and(Outside::is_missing) {
            return Err(Error::new(Kind::Io, format!("the part {name} is missing"))
                .at_path(path)
                .hint("put it there, or name the folder that holds the parts with --base-path"));
        }
        let opened = match outside {
            Some(why) => Err(why.into_error("open the part", path)),
            None => ZipReader::open(path),
        };
        opened.map_err(|error| Error::new(error.kind(), format!("the part {name} can't be opened")).because(error))
    }
}
