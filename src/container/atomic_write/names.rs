//! Names of outputs: their parent folders, and what a dataset's folder contains.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, IoContext, Result};
use crate::model::{check_portable_name, is_remote};
use crate::text::PrintableLine;

/// The parent folder of `target`. Creates nothing.
pub(super) fn parent_of(target: &Path) -> Result<PathBuf> {
    // As a local path an address would become a folder called `https:`.
    if is_remote(target) {
        return Err(
            Error::usage("this kind of output is written to this machine")
                .at_path(target)
                .hint(
                    "write to a file or folder here, and bring it there with the tool of that \
                        store",
                ),
        );
    }
    if cfg!(windows) {
        check_names(target)?;
    }
    let parent = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    Ok(parent.to_owned())
}

/// Refuses names that Windows changes or takes for a device: the output would get another name than
/// was asked for, or none after all the work. Paths with the prefix `\\?\` mean their names
/// literally.
fn check_names(target: &Path) -> Result<()> {
    if target.to_string_lossy().starts_with(r"\\?\") {
        return Ok(());
    }
    let names = target.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    for name in names {
        if let Err(fault) = check_portable_name(&name) {
            let error = Error::usage(format!("the name {} {fault}", name.printable_line()));
            return Err(error.at_path(target).hint("choose another name"));
        }
    }
    Ok(())
}

/// The last component of `target`.
pub(super) fn name_of(target: &Path) -> Result<&OsStr> {
    target
        .file_name()
        .ok_or_else(|| Error::usage("the output has no name").at_path(target))
}

/// Creates the parent folder of `path`.
pub(super) fn make_parent(path: &Path) -> Result<()> {
    let parent = parent_of(path)?;
    std::fs::create_dir_all(&parent).io_at("make a folder of the output", &parent)
}

/// Top-level entries of the folders that the studio writes. A folder with other entries is not
/// replaced.
const OURS: [&str; 4] = ["COLLECTION.json", "DATA", "METADATA", ".tacocat"];

/// True for the name of a top-level entry of a dataset.
pub(super) fn is_ours(name: &str) -> bool {
    OURS.contains(&name) || (name.starts_with("level") && name.ends_with(".parquet"))
}

/// The error for a folder with an entry that is no part of a dataset.
pub(super) fn refuse_name(foreign: &str, target: &Path) -> Error {
    Error::usage(format!(
        "the folder contains {}, which is no part of a dataset",
        foreign.printable_line()
    ))
    .at_path(target)
    .hint(
        "only a dataset or an empty folder is replaced: choose another name, or empty the \
            folder yourself",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_changes_are_refused() {
        for refused in [
            "out/made.",
            "out/made ",
            "NUL.tacozip",
            "out/aux/made.tacozip",
            "ma?de.tacozip",
            "a\u{7}b",
        ] {
            assert!(check_names(Path::new(refused)).is_err(), "{refused}");
        }
        for kept in [
            "made.tacozip",
            "out/../made",
            "./x/made.v1.tacozip",
            "nulls.tacozip",
            "été/数据.tacozip",
            r"\\?\C:\made.",
        ] {
            assert!(check_names(Path::new(kept)).is_ok(), "{kept}");
        }
    }
}
