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
pub struct NamedSource {
    /// The file or folder.
    pub path: PathBuf,
    /// Name in messages and in `internal:source_file`: the file name, or the path where file names
    /// are not unique.
    pub name: String,
}

/// The version of a dataset when it was opened first. The joined rows are of this version, so data
/// of another one is refused.
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

    /// Refuses a dataset that was opened again in another version.
    fn expect(&self, reader: &dyn ContainerReader) -> Result<()> {
        match (&self.archive, reader.physical()) {
            (Some(stamp), Physical::Zip(zip)) => zip.file().expect_version(stamp),
            _ => self.files.expect_unchanged(),
        }
    }
}

/// All datasets, in the order in which they are joined.
pub struct JoinedSources {
    named_sources: Vec<NamedSource>,
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
        let named_sources = paths.into_iter().zip(&names).map(|(path, name)| {
            let unique_name = name.as_deref().filter(|name| counts.get(name) == Some(&1));
            let name = unique_name.map_or_else(|| path.display().to_string(), str::to_owned);
            NamedSource { path, name }
        });
        let named_sources: Vec<NamedSource> = named_sources.collect();
        let versions = named_sources.iter().map(|_| OnceLock::new()).collect();
        Self {
            named_sources,
            versions,
            opener,
            open: Mutex::default(),
        }
    }

    /// The datasets with these indexes. They keep their open readers and first versions.
    pub fn select_datasets(mut self, indexes: &[usize]) -> Self {
        let paths = indexes
            .iter()
            .filter_map(|&index| Some(self.named_sources.get(index)?.path.clone()))
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
        let new_index = |index: usize| indexes.iter().position(|&chosen| chosen == index);
        chosen.open = Mutex::new(
            open.into_iter()
                .filter_map(|(index, reader)| Some((new_index(index)?, reader)))
                .collect(),
        );
        chosen
    }

    /// The first versions of the datasets that have been opened.
    pub fn version(&self) -> DatasetVersion {
        DatasetVersion::of_all(
            self.versions
                .iter()
                .filter_map(|version| Some(version.get()?.files.clone())),
        )
    }

    /// Paths and names, in order.
    pub fn named_sources(&self) -> &[NamedSource] {
        &self.named_sources
    }

    /// The reader of dataset `index`, opened on first use.
    ///
    /// # Errors
    /// When it cannot be opened; [`Kind::Changed`](crate::error::Kind::Changed) when it is not of
    /// the version in which it was opened first.
    pub fn get(&self, index: usize, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
        let unknown = || Error::internal("a row belongs to no dataset");
        let (source, version) = self
            .named_sources
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
        let reader = (self.opener)(&source.path, ctx)?;
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
