//! The datasets behind a joined one: opened on demand, with a bounded number open at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::container::{ContainerReader, DatasetVersion, Physical};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::Stamp;

/// Maximum number of open datasets; each keeps its footers in memory.
const OPEN_MAX: usize = 64;

/// Opens one of the datasets; each may be of any format.
pub type DatasetOpener =
    Arc<dyn Fn(&Path, &JobContext) -> Result<Arc<dyn ContainerReader>> + Send + Sync>;

/// Path and name of one dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOffset {
    /// The file or folder.
    pub path: PathBuf,
    /// Name in messages and in `internal:source_file`: the file name, or the path where file names
    /// are not unique.
    pub name: String,
}

/// The version in which a dataset was opened first: its rows are joined, and data of another
/// version is never read for them.
struct FirstVersion {
    files: DatasetVersion,
    archive: Option<Arc<Stamp>>,
}

impl FirstVersion {
    fn from_reader(reader: &dyn ContainerReader) -> Self {
        let archive = match reader.physical() {
            Physical::Zip(zip) => Some(zip.file().stamp().clone()),
            _ => None,
        };
        Self {
            files: reader.opening().version.clone(),
            archive,
        }
    }

    /// Compares the dataset as it was opened again.
    fn expect(&self, reader: &dyn ContainerReader) -> Result<()> {
        match (&self.archive, reader.physical()) {
            (Some(stamp), Physical::Zip(zip)) => zip.file().expect_version(stamp),
            _ => self.files.expect_unchanged(),
        }
    }
}

/// All datasets, in order.
pub struct JoinedSources {
    places: Vec<SourceOffset>,
    versions: Vec<OnceLock<FirstVersion>>,
    opener: DatasetOpener,
    /// Least recently used first.
    open: Mutex<Vec<(usize, Arc<dyn ContainerReader>)>>,
}

impl JoinedSources {
    /// Opens nothing yet.
    pub fn new(paths: Vec<PathBuf>, opener: DatasetOpener) -> Self {
        let names: Vec<Option<String>> = paths.iter().map(|path| read_file_name(path)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        names
            .iter()
            .flatten()
            .for_each(|name| *counts.entry(name).or_default() += 1);
        let places = paths.into_iter().zip(&names).map(|(path, name)| {
            let unique = name.as_deref().filter(|name| counts.get(name) == Some(&1));
            let name = unique.map_or_else(|| path.display().to_string(), str::to_owned);
            SourceOffset { path, name }
        });
        let places: Vec<SourceOffset> = places.collect();
        let versions = places.iter().map(|_| OnceLock::new()).collect();
        Self {
            places,
            versions,
            opener,
            open: Mutex::default(),
        }
    }

    /// The datasets of these indexes, in the versions in which they were opened here.
    pub fn select_datasets(mut self, indexes: &[usize]) -> Self {
        let paths = indexes
            .iter()
            .filter_map(|&index| Some(self.places.get(index)?.path.clone()))
            .collect();
        let mut chosen = Self::new(paths, self.opener.clone());
        let versions = indexes
            .iter()
            .map(|&index| self.versions.get_mut(index).and_then(OnceLock::take));
        chosen.versions = versions
            .map(|version| version.map(OnceLock::from).unwrap_or_default())
            .collect();
        let open = self
            .open
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let place = |index: usize| indexes.iter().position(|&chosen| chosen == index);
        chosen.open = Mutex::new(
            open.into_iter()
                .filter_map(|(index, reader)| Some((place(index)?, reader)))
                .collect(),
        );
        chosen
    }

    /// The versions of the datasets that have been opened.
    pub fn version(&self) -> DatasetVersion {
        DatasetVersion::of_all(
            self.versions
                .iter()
                .filter_map(|version| Some(version.get()?.files.clone())),
        )
    }

    /// Paths and names, in order.
    pub fn places(&self) -> &[SourceOffset] {
        &self.places
    }

    /// The reader of dataset `index`, opened on first use.
    ///
    /// # Errors
    /// When it cannot be opened; [`Kind::Changed`](crate::error::Kind::Changed) when it is not of
    /// the version in which it was opened first.
    pub fn get(&self, index: usize, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
        let unknown = || Error::internal("a row belongs to no dataset");
        let (place, version) = self
            .places
            .get(index)
            .zip(self.versions.get(index))
            .ok_or_else(unknown)?;
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().position(|(known, _)| *known == index) {
                let entry = open.remove(at);
                let reader = entry.1.clone();
                open.push(entry);
                return Ok(reader);
            }
        }
        let reader = (self.opener)(&place.path, ctx)?;
        // Another thread may have opened it first.
        if version
            .set(FirstVersion::from_reader(reader.as_ref()))
            .is_err()
            && let Some(first) = version.get()
        {
            first.expect(reader.as_ref())?;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((index, reader.clone()));
        Ok(reader)
    }
}

fn read_file_name(path: &Path) -> Option<String> {
    let name = path.file_name()?;
    Some(name.to_string_lossy().into_owned())
}
