//! Paths of sources in a project file: relative to its folder, so that a project can be moved with
//! its data.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, IoContext, Result};
use crate::files::{self, with_slashes};
use crate::model::is_remote;
use crate::remote::admit;

/// The folder of a project file. Source paths in or beside it are stored relative to it, others as
/// absolute.
pub(super) struct ProjectFolder {
    folder: PathBuf,
    /// The folder as named, before resolving links.
    named: Option<PathBuf>,
    /// True if the folder's path has no links, so that `..` is unambiguous.
    plain: bool,
}

impl ProjectFolder {
    /// The folder of a project file.
    pub fn from_project_file(file: &Path) -> Self {
        let named = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let file = real_path(file);
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        let plain = files::canonical(&folder).is_ok_and(|real| real == folder);
        let named = named.parent().filter(|named| {
            *named != folder && files::canonical(named).is_ok_and(|real| real == folder)
        });
        Self {
            named: named.map(Path::to_owned),
            folder,
            plain,
        }
    }

    /// Canonical path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `path` as it is saved, with `/` as separator.
    pub fn format_saved_path(&self, path: &Path) -> Result<String> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let wrong = || {
            Error::usage("the path of a source is not Unicode, so it can't be saved").at_path(path)
        };
        if is_remote(path) {
            // Projects are shared, so credentials are removed.
            return text(path).map(|text| admit(&text)).ok_or_else(wrong);
        }
        // Relative paths refer to the working directory, which may differ next time.
        let path = &*std::path::absolute(path).io_at("find the folder of the source", path)?;
        let below = |folder: &PathBuf| path.strip_prefix(folder).ok();
        if let Some(below) = below(&self.folder).or_else(|| self.named.as_ref().and_then(below))
            && !below.as_os_str().is_empty()
        {
            return text(below)
                .map(|text| with_slashes(&text).into_owned())
                .ok_or_else(wrong);
        }
        let shared = self
            .folder
            .components()
            .zip(path.components())
            .take_while(|(a, b)| a == b)
            .count();
        let dotted = path
            .components()
            .any(|part| matches!(part, Component::ParentDir));
        // Paths that share only the root are saved absolute.
        if !self.plain || shared < 2 || dotted {
            return text(path).ok_or_else(wrong);
        }
        let up = self.folder.components().count() - shared;
        let rest: PathBuf = path.components().skip(shared).collect();
        Ok(format!(
            "{}{}",
            "../".repeat(up),
            with_slashes(&text(&rest).ok_or_else(wrong)?)
        ))
    }

    /// The path that a saved text denotes.
    pub fn parse_saved_path(&self, text: &str) -> PathBuf {
        let path = Path::new(text);
        if is_remote(path) {
            return admit(text).into();
        }
        if path.is_absolute() {
            return path.to_owned();
        }
        let mut whole = self.folder.clone();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(whole.pop()),
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        whole
    }
}

/// The canonical path of a file; the absolute path where it does not exist yet.
pub(super) fn real_path(file: &Path) -> PathBuf {
    let real = files::canonical(file).ok();
    let real = real.or_else(|| canonicalize_by_folder(file));
    real.unwrap_or_else(|| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()))
}

/// The path of a file that does not exist, in its canonical folder.
fn canonicalize_by_folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    Some(files::canonical(folder).ok()?.join(file.file_name()?))
}
