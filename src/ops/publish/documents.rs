//! Documents beside a published dataset: the data card as Markdown and HTML, Croissant, DataCite,
//! the STAC Collection, and its Items as one table.

use std::path::{Path, PathBuf};

use super::request::PublishRequest;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::export::{CatalogueDocument, TrainingFacts};
use crate::jobs::JobContext;
use crate::model::Address;
use crate::ops::describe::describe_beside;

/// Names of the documents. A dataset without times has no table of Items.
pub(super) const NAMES: [&str; 6] = [
    "README.md",
    "index.html",
    "croissant.json",
    "datacite.json",
    "stac-collection.json",
    "stac-items.parquet",
];

/// Generates the documents of `reader` with links to the files at the target.
///
/// # Errors
/// When the dataset can't be read, or the job is cancelled.
pub(super) fn documents_of(
    request: &PublishRequest,
    reader: &dyn ContainerReader,
    opened_as: &str,
    training: Option<TrainingFacts>,
    ctx: &JobContext,
) -> Result<Vec<CatalogueDocument>> {
    let public = request.public();
    // Links are relative to the target; the dataset's own link is the path at which it is opened.
    let own = reader.info().path.clone();
    let place =
        |path: &Path| locate_published_file(path, (own.as_path(), opened_as), public.as_ref());
    let url = public
        .as_ref()
        .filter(|public| public.is_web())
        .map(ToString::to_string);
    let mut documents = describe_beside(reader, &place, url, training, ctx)?;
    request.layout.adapt_documents(
        &mut documents,
        reader.collection(),
        reader.levels().rows(0) as u64,
    );
    Ok(documents)
}

/// Where a file of the dataset is published. `own` is the path of the dataset and the name at which
/// it is opened.
fn locate_published_file(path: &Path, own: (&Path, &str), public: Option<&Address>) -> PathBuf {
    let name = if path == own.0 {
        own.1.to_owned()
    } else {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    match public {
        Some(public) => public.child(&name).to_string().into(),
        None => name.into(),
    }
}
