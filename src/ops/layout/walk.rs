//! The files below a folder, without what is no data.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::is_excluded;
use crate::error::{Error, IoContext, Result};
use crate::files;
use crate::jobs::JobContext;
use crate::model::in_nfc;
use crate::ops::import::is_data;
use crate::raster::{NamesBeside, sidecar_of};

/// Folders that are followed; bounds loops of links.
const DEEPEST: usize = 64;

/// A file that may become a sample.
pub(super) struct FoundFile {
    pub path: PathBuf,
    /// The path below the folder, with `/`, in Unicode's composed form.
    pub below: String,
    pub meta: Metadata,
}

/// The files below `folder` in order of their paths, and what is left out with the reason.
///
/// # Errors
/// When a folder can't be read.
pub(super) fn find_files(folder: &Path, exclude: &[String], ctx: &JobContext) -> Result<(Vec<FoundFile>, Vec<String>)> {
    ctx.stage(tr!("Looking at the files"), None);
    let mut walk = Walk { exclude, files: Vec::new(), left_out: Vec::new(), ctx };
    walk.folder(folder, "", 0)?;
    Ok((walk.files, walk.left_out))
}

struct Walk<'a> {
    exclude: &'a [String],
    files: Vec<FoundFile>,
    left_out: Vec<String>,
    ctx: &'a JobContext,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, above: &str, depth: usize) -> Result<()> {
        self.ctx.check()?;
        if depth == DEEPEST {
            return Err(Error::usage("folders are nested too deep; is there a link to a folder above?").at_path(folder));
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
            names.push(entry.io_at("read the folder", folder)?.file_name());
        }
        names.sort();
        let beside: NamesBeside = names.iter().filter_map(|name| name.to_str()).collect();
        for name in &names {
            let path = folder.join(name);
            let Some(text) = name.to_str() else {
                self.left_out.push(format!("{}: its name is not Unicode", path.display()));
                continue;
            };
            let composed = in_nfc(text);
            let below = if above.is_empty() { composed.into_owned() } else { format!("{above}/{composed}") };
            if !is_data(text) {
                self.left_out.push(format!("{below}: not data"));
            } else if let Some(kind) = sidecar_of(text, &beside) {
                self.left_out.push(format!("{below}: a sidecar of a raster, {}", kind.text()));
            } else if is_excluded(&below, self.exclude) {
                self.left_out.push(format!("{below}: excluded"));
            } else {
                self.entry(path, below, depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, below: String, depth: usize) -> Result<()> {
        let meta = std::fs::metadata(&path).io_at("read", &path)?;
        if meta.is_dir() {
            return self.folder(&path, &below, depth + 1);
        }
        if !meta.is_file() {
            let what = files::special(meta.file_type()).unwrap_or("no regular file");
            self.left_out.push(format!("{below}: it is {what}, neither a file nor a folder"));
            return Ok(());
        }
        self.ctx.step(1);
        self.files.push(FoundFile { path, below, meta });
        Ok(())
    }
}
