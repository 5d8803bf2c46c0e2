//! The version of a dataset that takes several calls to read: its folders and tables as they were
//! when it was opened. Compared before its metadata is written with data that was read later, so
//! that a dataset which is replaced or edited meanwhile gives an error and never bytes of one
//! version under the metadata of another.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::change_errors::dataset_changed_error;
use super::source::{ByteSource, stamp_at};
use crate::error::{Error, IoContext, Kind, Result};
use crate::files::LocalVersion;
use crate::model::{MAX_LEVELS, Modified, Stamp, is_remote};
use crate::remote::RemoteFile;

/// A version of the files of a dataset. Cheap to clone. The default compares nothing: for an
/// archive, whose ranges state its version.
#[derive(Clone, Default)]
pub struct DatasetVersion(Arc<Vec<ComparedMember>>);

/// What is compared.
#[derive(Clone)]
enum ComparedMember {
    /// A folder that is still at its path, with the symbolic link that the path may be.
    Folder {
        path: PathBuf,
        version: LocalVersion,
        link: Option<LocalVersion>,
    },
    /// A local file.
    File {
        path: PathBuf,
        version: LocalVersion,
    },
    /// A remote file.
    Remote(ByteSource),
    /// A file as another process saw it, which made a plan.
    Recorded { path: PathBuf, stamp: Stamp },
}

impl ComparedMember {
    fn of_file(path: &Path) -> Result<Self> {
        let version = LocalVersion::from_path(path).io_at("look at", path)?;
        Ok(Self::File {
            path: path.to_owned(),
            version,
        })
    }

    /// What another process or machine can compare; `None` for a folder.
    fn to_record(&self) -> Option<(PathBuf, Stamp)> {
        match self {
            Self::Folder { .. } => None,
            Self::File { path, version } => {
                let modified = Modified::from_system_time(version.modification_time());
                Some((
                    path.clone(),
                    Stamp {
                        size: version.size_bytes(),
                        modified,
                        etag: None,
                        directory: None,
                    },
                ))
            }
            Self::Remote(file) => Some((file.path().to_owned(), file.stamp().as_ref().clone())),
            Self::Recorded { path, stamp } => Some((path.clone(), stamp.clone())),
        }
    }
}

impl std::fmt::Debug for DatasetVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DatasetVersion({} members)", self.0.len())
    }
}

impl DatasetVersion {
    /// The version of a local folder with COLLECTION.json and the tables `{prefix}level*.parquet`.
    /// What is missing is not compared: the code that reads it reports it.
    pub fn of_folder(folder: &Path, prefix: &str) -> Self {
        let mut members = Vec::new();
        let link = std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink());
        for path in [
            folder.to_owned(),
            folder.join("DATA"),
            folder.join("METADATA"),
        ] {
            if let Ok(version) = LocalVersion::from_path(&path) {
                let link = if link && path == folder {
                    LocalVersion::of_link(&path).ok()
                } else {
                    None
                };
                members.push(ComparedMember::Folder {
                    path,
                    version,
                    link,
                });
            }
        }
        let tables = (0..=MAX_LEVELS).map(|level| format!("{prefix}level{level}.parquet"));
        for name in std::iter::once("COLLECTION.json".to_owned()).chain(tables) {
            let path = folder.join(name);
            if let Ok(version) = LocalVersion::from_path(&path) {
                members.push(ComparedMember::File { path, version });
            }
        }
        Self(Arc::new(members))
    }

    /// The version of these local files.
    ///
    /// # Errors
    /// When one can't be looked at.
    pub fn of_files<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        Ok(Self(Arc::new(
            paths
                .into_iter()
                .map(ComparedMember::of_file)
                .collect::<Result<_>>()?,
        )))
    }

    /// The versions of local files when they were open.
    pub(super) fn of_versions(files: impl IntoIterator<Item = (PathBuf, LocalVersion)>) -> Self {
        Self(Arc::new(
            files
                .into_iter()
                .map(|(path, version)| ComparedMember::File { path, version })
                .collect(),
        ))
    }

    /// The version of open remote files.
    pub(super) fn of_remote(files: Vec<ByteSource>) -> Self {
        Self(Arc::new(
            files
                .into_iter()
                .filter(ByteSource::is_remote)
                .map(ComparedMember::Remote)
                .collect(),
        ))
    }

    /// The version of files as another process recorded it with [`DatasetVersion::to_record`].
    pub(super) fn of_record(files: Vec<(PathBuf, Stamp)>) -> Self {
        Self(Arc::new(
            files
                .into_iter()
                .map(|(path, stamp)| ComparedMember::Recorded { path, stamp })
                .collect(),
        ))
    }

    /// The versions of several datasets that are read as one, or of several views of one.
    pub fn of_all(versions: impl IntoIterator<Item = Self>) -> Self {
        let mut versions: Vec<Self> = versions
            .into_iter()
            .filter(|version| !version.0.is_empty())
            .collect();
        match versions.len() {
            0 | 1 => versions.pop().unwrap_or_default(),
            _ => Self(Arc::new(
                versions
                    .iter()
                    .flat_map(|version| version.0.iter().cloned())
                    .collect(),
            )),
        }
    }

    /// The files with what another process or machine can compare: length, modification time, ETag.
    pub(super) fn to_record(&self) -> Vec<(PathBuf, Stamp)> {
        self.0
            .iter()
            .filter_map(ComparedMember::to_record)
            .collect()
    }

    /// Checks that the dataset at its path is still of this version. For a remote one it asks the
    /// server for each table.
    ///
    /// # Errors
    /// [`Kind::Changed`] when it was replaced or changed; when its files can't be looked at.
    pub fn expect_unchanged(&self) -> Result<()> {
        let mut remote = Vec::new();
        for member in self.0.iter() {
            match member {
                ComparedMember::Folder {
                    path,
                    version,
                    link,
                } => {
                    let is_same_link = link.is_none_or(|link| {
                        LocalVersion::of_link(path).is_ok_and(|now| link == now)
                    });
                    if !is_same_link || !version.is_same_folder(&now_at(path)?) {
                        return Err(dataset_changed_error(path));
                    }
                }
                ComparedMember::File { path, version } => {
                    if !version.is_same_file(&now_at(path)?) {
                        return Err(dataset_changed_error(path));
                    }
                }
                ComparedMember::Remote(file) => remote.extend(file.remote_file().cloned()),
                ComparedMember::Recorded { path, stamp } => {
                    if is_remote(path) {
                        let file = ByteSource::open(path)?;
                        if !file.stamp().agrees(stamp) {
                            return Err(dataset_changed_error(path));
                        }
                        remote.extend(file.remote_file().cloned());
                    } else {
                        let now = stamp_at(path)
                            .map_err(|error| dataset_changed_error(path).because(error))?;
                        if !now.is_some_and(|now| now.agrees(stamp)) {
                            return Err(dataset_changed_error(path));
                        }
                    }
                }
            }
        }
        RemoteFile::expect_unchanged(&remote)
    }

    /// The error of reading a dataset; when it is none of a local dataset that changed meanwhile,
    /// that is the error.
    pub fn explain(&self, error: Error) -> Error {
        if error.is_cancelled() || error.kind() == Kind::Changed || !self.is_local() {
            return error;
        }
        match self.expect_unchanged() {
            Err(changed) if changed.kind() == Kind::Changed => changed.because(error),
            _ => error,
        }
    }

    /// The outcome of reading the dataset, if it is still of this version.
    ///
    /// # Errors
    /// The error of the outcome, or [`Kind::Changed`].
    pub(super) fn check_outcome<T>(&self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Ok(value) if self.is_local() => self.expect_unchanged().map(|()| value),
            Ok(value) => Ok(value),
            Err(error) => Err(self.explain(error)),
        }
    }

    /// True when comparing takes no requests.
    fn is_local(&self) -> bool {
        self.0.iter().all(|member| {
            matches!(
                member,
                ComparedMember::Folder { .. } | ComparedMember::File { .. }
            )
        })
    }

    /// The same version, with the paths of recorded files replaced where `with` returns another.
    ///
    /// # Errors
    /// Those of `with`.
    pub(crate) fn with_relocated_files(
        &self,
        with: &dyn Fn(&Path) -> Result<Option<PathBuf>>,
    ) -> Result<Self> {
        let mut record = self.to_record();
        for (path, _) in &mut record {
            if let Some(other) = with(path)? {
                *path = other;
            }
        }
        Ok(Self::of_record(record))
    }
}

fn now_at(path: &Path) -> Result<LocalVersion> {
    match LocalVersion::from_path(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(dataset_changed_error(path))
        }
        outcome => outcome.io_at("look at", path),
    }
}
