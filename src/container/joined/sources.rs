//! The datasets behind a joined one: opened on demand, with a bounded number open at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::container::{ContainerReader, OpenOptions, open_with};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum number of open datasets; each keeps its footers in memory.
const OPEN_MAX: usize = 64;

/// Path and name of one dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file or folder.
    pub path: PathBuf,
    /// Name in messages and in `internal:source_file`: the file name, or the path where file names are not unique.
    pub name: String,
}

/// All datasets, in order.
pub struct Sources {
    places: Vec<Place>,
    options: OpenOptions,
    /// Least recently used first.
    open: Mutex<Vec<(usize, Arc<dyn ContainerReader>)>>,
}

impl Sources {
    /// Opens nothing yet.
    pub fn new(paths: Vec<PathBuf>, options: &OpenOptions) -> Self {
        let short = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<Option<String>> = paths.iter().map(short).collect();
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        names.iter().flatten().for_each(|name| *counts.entry(name).or_default() += 1);
        let place = |(path, name): (PathBuf, &Option<String>)| {
            let unique = name.as_ref().filter(|name| counts.get(name.as_str()) == Some(&1));
            let name = unique.cloned().unwrap_or_else(|| path.display().to_string());
            Place { path, name }
        };
        let places = paths.into_iter().zip(&names).map(place).collect();
        let options = OpenOptions { with: Vec::new(), ..options.clone() };
        Self { places, options, open: Mutex::default() }
    }

    /// Paths and names, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The reader of dataset `index`, opened on first use.
    ///
    /// # Errors
    /// When it cannot be opened.
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
