//! Opens a dataset of any format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::atomic_write::{aside_of, has_interrupted_edit};
use super::detect_remote::parts_at;
use super::joined::DatasetOpener;
use super::{
    ContainerReader, EarlyReader, FolderReader, Format, JoinMode, JoinedReader, Taco3Reader,
    TacocatReader, TortillaReader, ZipReader, detect, unfinished_end,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::is_remote;

/// Options of [`open_with`].
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(default)]
pub struct OpenOptions {
    /// Folder of the archives that an index lists; by default the folder of the index.
    pub base_path: Option<PathBuf>,
    /// Further datasets, opened together with the first as one.
    pub with: Vec<PathBuf>,
    /// How columns that not all datasets have are combined.
    pub mode: JoinMode,
}

impl OpenOptions {
    /// All paths that the options name.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.base_path.iter_mut().chain(&mut self.with)
    }
}

/// Opens the dataset at `path`.
///
/// # Errors
/// When `path` is no dataset, or its tables cannot be read; the error names the detected format.
pub fn open(path: &Path, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
    open_with(path, &OpenOptions::default(), ctx)
}

/// [`open`] with options.
///
/// # Errors
/// As [`open`]; also when the datasets cannot be joined.
pub fn open_with(
    path: &Path,
    options: &OpenOptions,
    ctx: &JobContext,
) -> Result<Arc<dyn ContainerReader>> {
    if !options.with.is_empty() {
        let paths: Vec<PathBuf> = std::iter::once(path.to_owned())
            .chain(options.with.iter().cloned())
            .collect();
        return Ok(Arc::new(JoinedReader::open(
            &paths,
            options.mode,
            opener_of_parts(options),
            ctx,
        )?));
    }
    ctx.stage(tr!("Opening"), None);
    let aside = aside_of(path).map(|copy| {
        let found = format!(
            "a write of this output was interrupted; the previous version is {}",
            copy.display()
        );
        ctx.warn(format!("{}: {found}", path.display()));
        found
    });
    if has_interrupted_edit(path) {
        let found = "an edit of this dataset was interrupted, so some of its tables may be new and \
            others old";
        ctx.warn(format!(
            "{}: {found}; the next edit of it restores the old ones first",
            path.display()
        ));
    }
    let detected = detect(path).map_err(|error| aside.into_iter().fold(error, Error::hint))?;
    tracing::info!(
        "reads {} ({})",
        detected.path.display(),
        detected.format.name()
    );
    let base = options.base_path.as_deref();
    if let Some(base) = base
        && !is_remote(base)
        && !base.is_dir()
    {
        return Err(Error::usage("the folder of the parts is not a folder").at_path(base));
    }
    match detected.format {
        Format::Zip => {
            let zip = ZipReader::open(&detected.path)?;
            if unfinished_end(&zip)?.is_some() {
                let found = "an edit of this archive was interrupted, so programs for ZIP find \
                    other metadata in it than TACO_HEADER states";
                let ways = "the next `edit` of it cuts the rest off, and `repair` writes a copy";
                ctx.warn(format!("{}: {found}; {ways}", path.display()));
            }
            match EarlyReader::of_zip(zip, ctx)? {
                Ok(early) => Ok(Arc::new(early)),
                Err(zip) => Ok(Arc::new(zip)),
            }
        }
        Format::Early => Ok(Arc::new(EarlyReader::open_folder(&detected.path, ctx)?)),
        Format::Folder => Ok(Arc::new(FolderReader::open(&detected.path)?)),
        Format::Tacocat => Ok(Arc::new(TacocatReader::open_folder(&detected.path, base)?)),
        Format::TacocatFile => Ok(Arc::new(TacocatReader::open_file(&detected.path, base)?)),
        Format::Tacollection => Ok(Arc::new(JoinedReader::open_collection(
            &detected.path,
            base,
            opener_of_parts(options),
            ctx,
        )?)),
        Format::Tortilla | Format::Taco => {
            let parts = parts_at(&detected.path)?
                .map_or_else(|| vec![detected.path.clone()], |set| set.files);
            Ok(Arc::new(TortillaReader::open(&detected.path, &parts, ctx)?))
        }
        Format::Taco3 => Ok(Arc::new(Taco3Reader::open(&detected.path, base, ctx)?)),
        // Listed one by one, so that a new format without a reader does not compile.
        Format::Joined => {
            Err(Error::internal("a joined dataset exists in memory only").at_path(path))
        }
    }
}

/// Opens the datasets that a joined one reads, with the same options.
fn opener_of_parts(options: &OpenOptions) -> DatasetOpener {
    let options = OpenOptions {
        with: Vec::new(),
        ..options.clone()
    };
    Arc::new(move |path: &Path, ctx: &JobContext| open_with(path, &options, ctx))
}
