//! Opening a dataset, whatever container it is in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ContainerReader, FolderReader, Format, TacocatReader, ZipReader, detect};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// How to open.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct OpenOptions {
    /// Where the archives that an index lists lie; beside the index when absent.
    pub base_path: Option<PathBuf>,
}

/// Opens the dataset at `path`, whatever it is. Errors say what the path is when it can't be opened.
pub fn open(path: &Path, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
    open_with(path, &OpenOptions::default(), ctx)
}

/// [`open`] with options.
pub fn open_with(path: &Path, options: &OpenOptions, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
    ctx.stage("Opening", None);
    let detected = detect(path)?;
    let base = options.base_path.as_deref();
    if let Some(base) = base
        && !base.is_dir()
    {
        return Err(Error::usage("the folder of the parts is not a folder").at_path(base));
    }
    match detected.format {
        Format::Zip => Ok(Arc::new(ZipReader::open(&detected.path)?)),
        Format::Folder => Ok(Arc::new(FolderReader::open(&detected.path)?)),
        Format::Tacocat => Ok(Arc::new(TacocatReader::open_folder(&detected.path, base)?)),
        Format::TacocatFile => Ok(Arc::new(TacocatReader::open_file(&detected.path, base)?)),
        other => Err(Error::unsupported(format!("this is {}, which this version recognises but can't open", other.described()))
            .at_path(path)
            .hint(other.advice())),
    }
}
