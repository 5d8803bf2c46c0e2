//! The datasets behind a joined one: opened when a row of theirs is asked for, and only so many at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::container::{ContainerReader, OpenOptions, open_with};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Datasets kept open. Each keeps its footers.
const OPEN_MAX: usize = 64;

/// Where one dataset lies and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file or folder.
    pub path: PathBuf,
    /// Its name in messages and in `internal:source_file`: the file name, or the path where two have the same.
    pub name: String,
}

/// All of them, in order.
pub struct Sources {
    places: Vec<Place>,
    options: OpenOptions,
    /// The last used one at the end.
    open: Mutex<Vec<(usize, Arc<dyn ContainerReader>)>>,
}

impl Sources {
    /// None is opened yet.
    pub fn new(paths: Vec<PathBuf>, options: &OpenOptions) -> Self {
        let short = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<Option<String>> = paths.iter().map(short).collect();
        let place = |(path, name): (PathBuf, &Option<String>)| {
            let unique = name.as_ref().filter(|name| names.iter().filter(|other| other.as_ref() == Some(*name)).count() == 1);
            let name = unique.cloned().unwrap_or_else(|| path.display().to_string());
            Place { path, name }
        };
        let places = paths.into_iter().zip(&names).map(place).collect();
        let options = OpenOptions { with: Vec::new(), ..options.clone() };
        Self { places, options, open: Mutex::default() }
    }

    /// Where they lie.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The dataset in this place of the list, opened.
    pub fn get(&self, index: usize, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
        let place = self.places.get(index).ok_or_else(|| Error::internal("a row belongs to no dataset"))?;
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().position(|(known, _)| *known == index) {
                let entry = open.remove(at);
                let reader = entry.1.clone();
                open.push(entry);
                return Ok(reader);
            }
        }
        let reader = open_with(&place.path, &self.options, ctx)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((index, reader.clone()));
        Ok(reader)
    }
}
