//! The files of a source that may become samples, and why others are left out.

use std::path::Path;

use crate::error::{Error, Result};
use crate::model::{AssetPath, META_NAME, Modified, Payload, Sample, id_matches};
use crate::raster::{NamesBeside, sidecar_of};

/// A file that may become a sample.
pub(super) struct FoundFile {
    /// Its bytes.
    pub asset: AssetPath,
    /// The path below the source, with `/`, in Unicode's composed form.
    pub below: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time of a file of this machine.
    pub modified: Modified,
}

impl FoundFile {
    /// The file as a FILE without metadata.
    pub fn sample(&self, id: &str) -> Sample {
        let payload = Payload::Asset {
            path: self.asset.clone(),
            size: self.size,
            modified: self.modified,
        };
        Sample {
            payload,
            ..Sample::new_file(id, "", self.size)
        }
    }
}

/// Maximum depth of folders in each other; bounds loops of links.
const FOLDER_DEPTH_MAX: usize = 64;

/// Names of files and folders that programs and file managers leave beside data, in lower case.
const LEFTOVERS: [&str; 9] = [
    "__pycache__",
    "__macosx",
    "icon\r",
    "lost+found",
    "@eadir",
    "$recycle.bin",
    "system volume information",
    "thumbs.db",
    "desktop.ini",
];
/// Endings of files that are not complete, or belong to an editor.
const LEFTOVER_ENDINGS: [&str; 8] = [
    ".part",
    ".partial",
    ".crdownload",
    ".tmp",
    ".swp",
    ".pyc",
    ".filepart",
    "~",
];

/// Checks the depth of a folder of this machine below the one that was given.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) from a depth of 64 on, as in a loop of links.
pub fn check_folder_depth(folder: &Path, depth: usize) -> Result<()> {
    if depth < FOLDER_DEPTH_MAX {
        return Ok(());
    }
    Err(
        Error::usage("folders are nested too deep; is there a link to a folder above?")
            .at_path(folder),
    )
}

/// False for files and folders that are not data: hidden ones, `__meta__`, GDAL's `.aux.xml`,
/// leftovers of programs and file managers.
pub fn is_data(name: &str) -> bool {
    let lower = name.to_lowercase();
    let leftover = LEFTOVERS.contains(&lower.as_str())
        || LEFTOVER_ENDINGS
            .iter()
            .any(|ending| lower.ends_with(ending));
    !leftover
        && !name.starts_with('.')
        && !name.starts_with("~$")
        && name != META_NAME
        && !lower.ends_with(".aux.xml")
}

/// Why a file or folder called `name` is left out, at the path `below` and with the names `beside`
/// it; `None` when it is not.
pub(super) fn reason_left_out(
    name: &str,
    below: &str,
    beside: &NamesBeside,
    exclude: &[String],
) -> Option<String> {
    if !is_data(name) {
        return Some(format!("{below}: not data"));
    }
    if let Some(kind) = sidecar_of(name, beside) {
        return Some(format!("{below}: a sidecar of a raster, {}", kind.text()));
    }
    is_excluded(below, exclude).then(|| format!("{below}: excluded"))
}

/// True when a pattern matches the path below the source, or the name.
pub(super) fn is_excluded(below: &str, patterns: &[String]) -> bool {
    let name = below.rsplit('/').next().unwrap_or(below);
    patterns.iter().any(|pattern| {
        let whole = pattern.replace("**", "*");
        id_matches(&whole, below) || (!pattern.contains('/') && id_matches(pattern, name))
    })
}

/// A name or a path without what is behind its last dot.
pub(super) fn strip_ending(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_refused_from_the_maximum_depth_on() {
        let folder = Path::new("a/b");
        assert!(check_folder_depth(folder, FOLDER_DEPTH_MAX - 1).is_ok());
        let error = check_folder_depth(folder, FOLDER_DEPTH_MAX).expect_err("is refused");
        assert_eq!(error.kind(), crate::error::Kind::Usage);
    }

    #[test]
    fn patterns_exclude_paths_and_names() {
        let excluded = |pattern: &str, path: &str| is_excluded(path, &[pattern.to_owned()]);
        assert!(
            excluded("*.xml", "a/b/c.xml")
                && excluded("a/**", "a/b/c.xml")
                && excluded("a/*.xml", "a/c.xml")
        );
        assert!(
            !excluded("*.xml", "a/b.xml.tif")
                && !excluded("b/**", "a/b/c.xml")
                && !excluded("c", "a/b/c.xml")
        );
    }
}
