//! Publication of a dataset: [`preflight`] checks what a good reviewer would, [`publish`] then sends the files, the index over parts,
//! the data card and the documents of catalogues to an object store or a folder, opens the dataset from there as its readers do, and
//! gives the code that opens it. For Hugging Face, Zenodo and Source Cooperative the files are made in a folder of this machine, and
//! their own clients upload them: nothing here does.
//!
//! The file that readers open first is sent last: until then, they find no dataset. Files that are at the target already with the
//! same bytes are not sent again, which resumes a publication that was interrupted.

mod check;
mod contents;
mod cost;
mod documents;
mod layout;
mod opened;
mod preflight;
mod private_text;
mod send;
mod snippets;
mod target;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use check::{Check, CheckGroup, CheckKind, CheckLevel, Mend};
pub use cost::{Cost, Prices, Rates};
pub use layout::Layout;
pub use opened::Opened;
pub use send::publish;
pub use snippets::Snippet;

use contents::{Contents, contents_of};
use preflight::{Subject, expect_repository, files_of};
use target::look_at;

use crate::container::{self, ContainerReader, Format, OpenOptions};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::Address;
use crate::remote::object_requests;

/// What to publish, where to, and how. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishRequest {
    /// The dataset: a ZIP, a FOLDER, or the index over parts.
    pub input: PathBuf,
    /// How to open it.
    #[serde(default)]
    pub open: OpenOptions,
    /// The folder that gets the files: `s3://bucket/set/1.0.0`, or a folder of this machine.
    pub target: PathBuf,
    /// Whose layout.
    #[serde(default)]
    pub layout: Layout,
    /// OWNER/NAME at Hugging Face or Source Cooperative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The address of the target on the web, where it differs from the target's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Replace what was published there.
    #[serde(default)]
    pub overwrite: bool,
    /// Checks that only warn, although they would block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<CheckKind>,
    /// The user's prices.
    #[serde(default)]
    pub prices: Prices,
}

impl PublishRequest {
    /// The request without secrets in addresses.
    fn settled(&self) -> Result<Self> {
        if let Some(repository) = &self.repository {
            expect_repository(repository)?;
        }
        let plain = |url: &String| Address::parse(url).map(|address| address.without_secret().0.to_string());
        let url = match &self.url {
            Some(url) => Some(
                plain(url)
                    .ok_or_else(|| Error::usage("this is no address").at(url.escape_debug()).hint("write https://HOST/PATH"))?,
            ),
            None => None,
        };
        Ok(Self { url, ..self.clone() })
    }

    /// The address of the target for readers; `None` for a folder of this machine.
    fn public(&self) -> Option<Address> {
        let of_layout = self.layout.url(self.repository.as_deref());
        let text = self.url.clone().or(of_layout).unwrap_or_else(|| self.target.display().to_string());
        Address::parse(&text).map(|address| address.without_secret().0)
    }
}

/// A file or group of files that will be published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFiles {
    /// Name below the target, or what the names of a group have in common.
    pub name: String,
    /// Number of files.
    pub files: u64,
    /// Their size in bytes; `None` for what is made when it is published.
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
    /// The checks, in the order of [`CheckKind::ALL`].
    pub checks: Vec<Check>,
    /// The files, in groups.
    pub files: Vec<PlannedFiles>,
    /// Size of the dataset in bytes, without what is made when it is published.
    pub size_bytes: u64,
    /// The estimated cost.
    pub cost: Cost,
}

impl Preflight {
    /// Number of checks with this outcome.
    pub fn count(&self, level: CheckLevel) -> usize {
        self.checks.iter().filter(|check| check.level == level).count()
    }

    /// True when no check blocks the publication.
    pub fn may_publish(&self) -> bool {
        self.count(CheckLevel::Blocks) == 0
    }
}

/// A publication, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Publication {
    /// The checks.
    pub preflight: Preflight,
    /// What was published; `None` when a check blocks it.
    pub published: Option<Published>,
}

/// What was published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Address or path by which the dataset is opened.
    pub address: String,
    /// Files that were sent.
    pub sent_files: u64,
    /// Their size in bytes.
    pub sent_bytes: u64,
    /// Files that the target had already with the same bytes.
    pub kept_files: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// The dataset opened from there.
    pub opened: Opened,
    /// Code that opens it.
    pub snippets: Vec<Snippet>,
    /// Command lines of the layout's own client, which upload the files; empty where the studio has sent them.
    pub upload_commands: Vec<String>,
}

/// Checks a dataset before it is published. Sends nothing but questions to the target.
///
/// # Errors
/// For a dataset that can't be opened or is of another generation, an invalid request, and when the job is cancelled. A target that
/// can't be used is a check that blocks.
pub fn preflight(request: &PublishRequest, ctx: &JobContext) -> Result<Preflight> {
    let request = request.settled()?;
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    Prepared::new(&request, reader.as_ref(), ctx)?.preflight(reader.as_ref(), ctx)
}

/// What a publication consists of, before anything is made.
struct Prepared<'a> {
    request: &'a PublishRequest,
    contents: Contents,
    /// Formats of the indexes over parts.
    indexes: Vec<Format>,
    /// Name below the target by which the published dataset is opened.
    opened_as: String,
    /// All names below the target, in the order in which they are sent.
    names: Vec<String>,
}

impl<'a> Prepared<'a> {
    fn new(request: &'a PublishRequest, reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Self> {
        let contents = contents_of(reader, ctx)?;
        let indexes = if contents.has_parts { request.layout.indexes().to_vec() } else { Vec::new() };
        let opened_as = match indexes.last() {
            Some(format) => index_name(*format).to_owned(),
            None => contents.opened_as.clone(),
        };
        let mut names: Vec<String> = Vec::new();
        let data = contents.data.iter().map(|file| file.name.clone());
        let documents = documents::NAMES.iter().chain(request.layout.own_documents()).map(|name| (*name).to_owned());
        match contents.has_parts || !contents.first_read.is_empty() {
            true => names.extend(data.chain(documents)),
            // The archive is the file that is read first.
            false => names.extend(documents.chain(data)),
        }
        match contents.has_parts {
            true => names.extend(indexes.iter().flat_map(|format| index_files(*format, reader.levels().count()))),
            false => names.extend(contents.first_read.iter().map(|file| file.name.clone())),
        }
        Ok(Self { request, contents, indexes, opened_as, names })
    }

    /// The name that is sent last.
    fn last(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    fn preflight(&self, reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Preflight> {
        ctx.stage(tr!("Looking at the target"), None);
        let target = look_at(&self.request.target, self.last(), &self.opened_as, ctx);
        if target.as_ref().is_err_and(Error::is_cancelled) {
            return Err(Error::cancelled());
        }
        let size_bytes = self.contents.data.iter().chain(&self.contents.first_read).map(|file| file.size_bytes).sum();
        let requests = self.contents.data.iter().map(|file| object_requests(file.size_bytes)).sum::<u64>();
        let made = (self.names.len() - self.contents.data.len()) as u64;
        let rates = Rates::of(&self.request.target, &self.request.prices);
        let cost = Cost::new(rates, size_bytes, files_of(reader, ctx)?, requests + made);
        let subject =
            Subject { request: self.request, reader, contents: &self.contents, names: &self.names, target: &target, cost: &cost };
        let checks = subject.checks(ctx)?;
        let collection = reader.collection();
        Ok(Preflight {
            id: collection.id().to_owned(),
            version: collection.text("dataset_version").to_owned(),
            target: self.request.target.clone(),
            checks,
            files: self.planned(),
            size_bytes,
            cost,
        })
    }

    /// The files in groups: data, indexes, documents.
    fn planned(&self) -> Vec<PlannedFiles> {
        let data = &self.contents.data;
        let size = |files: &[contents::SourceFile]| Some(files.iter().map(|file| file.size_bytes).sum());
        let name = match (data.first(), data.last()) {
            (Some(first), Some(last)) if self.contents.has_parts && data.len() > 1 => format!("{} … {}", first.name, last.name),
            (Some(first), _) if self.contents.has_parts || data.len() == 1 => first.name.clone(),
            _ => format!("{}/DATA, METADATA", self.contents.opened_as),
        };
        let mut files = vec![PlannedFiles { name, files: data.len() as u64, size_bytes: size(data) }];
        if self.contents.has_parts {
            for format in &self.indexes {
                let known = (index_name(*format) == self.contents.opened_as).then(|| size(&self.contents.first_read)).flatten();
                let count = self.names.iter().filter(|own| own.split('/').next() == Some(index_name(*format))).count() as u64;
                files.push(PlannedFiles { name: index_name(*format).to_owned(), files: count, size_bytes: known });
            }
        } else if let [first] = self.contents.first_read.as_slice() {
            files.push(PlannedFiles { name: first.name.clone(), files: 1, size_bytes: Some(first.size_bytes) });
        }
        let documents = documents::NAMES.iter().chain(self.request.layout.own_documents());
        files.extend(documents.map(|name| PlannedFiles { name: (*name).to_owned(), files: 1, size_bytes: None }));
        files
    }
}

/// Name of an index of [`Layout::indexes`] in the folder of its parts.
fn index_name(format: Format) -> &'static str {
    container::index_name(format).unwrap_or_default()
}

/// The files of an index over datasets of `levels` levels, that which is read first last.
fn index_files(format: Format, levels: usize) -> Vec<String> {
    let name = index_name(format);
    match format {
        Format::Tacocat => {
            (0..levels).map(|level| format!("{name}/level{level}.parquet")).chain([format!("{name}/COLLECTION.json")]).collect()
        }
        _ => vec![name.to_owned()],
    }
}

/// True for paths that are the same place, however they are written.
fn is_same_place(one: &Path, other: &Path) -> bool {
    match (crate::files::canonical(one), crate::files::canonical(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
