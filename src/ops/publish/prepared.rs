//! Planned files of a publication, and the outcome of the checks.

use std::path::PathBuf;

use serde::Serialize;

use super::check::{CheckLevel, PublishCheck};
use super::contents::{PublishedContents, SourceFile, contents_of};
use super::cost::{Cost, StoreRates};
use super::documents;
use super::preflight::{Subject, files_of};
use super::request::PublishRequest;
use super::target::look_at;
use crate::container::{self, ContainerReader, DatasetVersion, Format, Physical};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::remote::object_requests;

/// A file or group of files that will be published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFiles {
    /// Path below the target; of a group `first … last`.
    pub name: String,
    /// Number of files.
    pub files: u64,
    /// Total size in bytes; `None` for generated files.
    pub size_bytes: Option<u64>,
}

/// The outcome of the checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preflight {
    /// The dataset's id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The target.
    pub target: PathBuf,
    /// The checks, in the order of [`super::CheckKind::ALL`].
    pub checks: Vec<PublishCheck>,
    /// The files, in groups.
    pub files: Vec<PlannedFiles>,
    /// Size of the dataset in bytes, without generated files.
    pub size_bytes: u64,
    /// The estimated cost.
    pub cost: Cost,
}

impl Preflight {
    /// Number of checks with this outcome.
    pub fn count(&self, level: CheckLevel) -> usize {
        self.checks
            .iter()
            .filter(|check| check.level == level)
            .count()
    }

    /// True when no check blocks the publication.
    pub fn may_publish(&self) -> bool {
        self.count(CheckLevel::Blocks) == 0
    }
}

/// Checks a dataset before it is published. Only reads from the target.
///
/// # Errors
/// For a dataset that can't be opened or is of another generation, an invalid request, and when the
/// job is cancelled. An unusable target is a blocking check, not an error.
pub fn preflight(request: &PublishRequest, ctx: &JobContext) -> Result<Preflight> {
    let request = request.to_validated()?;
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    PreparedPublication::new(&request, reader.as_ref(), ctx)?.preflight(reader.as_ref(), ctx)
}

/// Planned files of a publication.
pub(super) struct PreparedPublication<'a> {
    pub request: &'a PublishRequest,
    pub contents: PublishedContents,
    /// Formats of the indexes over parts.
    pub indexes: Vec<Format>,
    /// Name below the target by which the published dataset is opened.
    pub opened_as: String,
    /// All names below the target, in the order in which they are sent.
    pub names: Vec<String>,
    /// The version of the files, which the documents describe.
    pub version: DatasetVersion,
}

impl<'a> PreparedPublication<'a> {
    pub fn new(
        request: &'a PublishRequest,
        reader: &dyn ContainerReader,
        ctx: &JobContext,
    ) -> Result<Self> {
        let contents = contents_of(reader, ctx)?;
        let indexes = if contents.has_parts {
            request.layout.indexes().to_vec()
        } else {
            Vec::new()
        };
        let opened_as = match indexes.last() {
            Some(format) => index_name(*format).to_owned(),
            None => contents.opened_as.clone(),
        };
        let mut names: Vec<String> = Vec::new();
        let data = contents.data.iter().map(|file| file.name.clone());
        let documents = documents::NAMES
            .iter()
            .chain(request.layout.extra_documents())
            .map(|name| (*name).to_owned());
        match contents.has_parts || !contents.first_read.is_empty() {
            true => names.extend(data.chain(documents)),
            // A single ZIP is the file that readers open first, so it is sent last.
            false => names.extend(documents.chain(data)),
        }
        if contents.has_parts {
            names.extend(
                indexes
                    .iter()
                    .flat_map(|format| index_files(*format, reader.levels().count())),
            )
        } else {
            names.extend(contents.first_read.iter().map(|file| file.name.clone()))
        }
        let version = version_of(reader, &contents)?;
        Ok(Self {
            request,
            contents,
            indexes,
            opened_as,
            names,
            version,
        })
    }

    /// The name that is sent last.
    fn last(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// The names of what readers open first and that refers to other files: without these, the
    /// others are no dataset.
    pub fn opened_first(&self) -> Vec<&str> {
        if !self.contents.has_parts {
            return self
                .contents
                .first_read
                .iter()
                .map(|file| file.name.as_str())
                .collect();
        }
        let is_first = |name: &&str| !name.ends_with(".parquet");
        self.names
            .iter()
            .map(String::as_str)
            .filter(|name| self.is_of_index(name))
            .filter(is_first)
            .collect()
    }

    fn is_of_index(&self, name: &str) -> bool {
        let first = name.split('/').next();
        self.indexes
            .iter()
            .any(|format| first == Some(index_name(*format)))
    }

    pub fn preflight(&self, reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Preflight> {
        ctx.stage(tr!("Looking at the target"), None);
        let target = look_at(&self.request.target, self.last(), &self.opened_as, ctx);
        if target.as_ref().is_err_and(Error::is_cancelled) {
            return Err(Error::cancelled());
        }
        let size_bytes = self
            .contents
            .data
            .iter()
            .chain(&self.contents.first_read)
            .map(|file| file.size_bytes)
            .sum();
        let requests = self
            .contents
            .data
            .iter()
            .map(|file| object_requests(file.size_bytes))
            .sum::<u64>();
        let made = (self.names.len() - self.contents.data.len()) as u64;
        let rates = StoreRates::for_target(&self.request.target, &self.request.prices);
        let cost = Cost::new(rates, size_bytes, files_of(reader, ctx)?, requests + made);
        let subject = Subject {
            request: self.request,
            reader,
            contents: &self.contents,
            names: &self.names,
            target: &target,
            cost: &cost,
        };
        let checks = subject.checks(ctx)?;
        let collection = reader.collection();
        Ok(Preflight {
            id: collection.id().to_owned(),
            version: collection.text("dataset_version").to_owned(),
            target: self.request.target.clone(),
            checks,
            files: self.planned_files(),
            size_bytes,
            cost,
        })
    }

    /// The files in groups: data, indexes, documents.
    fn planned_files(&self) -> Vec<PlannedFiles> {
        let data = &self.contents.data;
        let size = |files: &[SourceFile]| Some(files.iter().map(|file| file.size_bytes).sum());
        let name = match (data.first(), data.last()) {
            (Some(first), Some(last)) if self.contents.has_parts && data.len() > 1 => {
                format!("{} … {}", first.name, last.name)
            }
            (Some(first), _) if self.contents.has_parts || data.len() == 1 => first.name.clone(),
            _ => format!("{}/DATA, METADATA", self.contents.opened_as),
        };
        let mut files = vec![PlannedFiles {
            name,
            files: data.len() as u64,
            size_bytes: size(data),
        }];
        if self.contents.has_parts {
            for format in &self.indexes {
                let known = (index_name(*format) == self.contents.opened_as)
                    .then(|| size(&self.contents.first_read))
                    .flatten();
                let count = self
                    .names
                    .iter()
                    .filter(|own| own.split('/').next() == Some(index_name(*format)))
                    .count() as u64;
                files.push(PlannedFiles {
                    name: index_name(*format).to_owned(),
                    files: count,
                    size_bytes: known,
                });
            }
        } else if let [first] = self.contents.first_read.as_slice() {
            files.push(PlannedFiles {
                name: first.name.clone(),
                files: 1,
                size_bytes: Some(first.size_bytes),
            });
        }
        let documents = documents::NAMES
            .iter()
            .chain(self.request.layout.extra_documents());
        files.extend(documents.map(|name| PlannedFiles {
            name: (*name).to_owned(),
            files: 1,
            size_bytes: None,
        }));
        files
    }
}

/// The version of the files that are sent, which is the one that `reader` has opened.
fn version_of(
    reader: &dyn ContainerReader,
    contents: &PublishedContents,
) -> Result<DatasetVersion> {
    let files = contents.data.iter().chain(&contents.first_read);
    let version = DatasetVersion::of_files(files.map(|file| file.path.as_path()))?;
    reader.expect_unchanged()?;
    if let Physical::Zip(zip) = reader.physical() {
        zip.file().expect_at_path()?;
    }
    Ok(DatasetVersion::of_all([
        reader.opening().version.clone(),
        version,
    ]))
}

/// File name of an index beside its parts.
pub(super) fn index_name(format: Format) -> &'static str {
    container::index_name(format).unwrap_or_default()
}

/// Files of an index over datasets with `levels` levels; the one that readers open first comes
/// last.
fn index_files(format: Format, levels: usize) -> Vec<String> {
    let name = index_name(format);
    match format {
        Format::Tacocat => (0..levels)
            .map(|level| format!("{name}/level{level}.parquet"))
            .chain([format!("{name}/COLLECTION.json")])
            .collect(),
        _ => vec![name.to_owned()],
    }
}
