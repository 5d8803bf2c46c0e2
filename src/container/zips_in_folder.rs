//! The ZIPs of a folder, for indexes over all of them.

use std::path::{Path, PathBuf};

use super::detect::is_dataset_folder;
use crate::error::{IoContext, Result};
use crate::model::is_remote;

/// The ZIPs that `inputs` name: those of a folder of this machine that is no FOLDER itself stand in
/// its place, by file name.
///
/// # Errors
/// [`Kind::Io`](crate::error::Kind::Io) when a folder can't be listed.
pub fn list_zips(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut zips = Vec::with_capacity(inputs.len());
    for input in inputs {
        let found = if holds_datasets(input) {
            zips_in(input)?
        } else {
            Vec::new()
        };
        if found.is_empty() {
            zips.push(input.clone());
        }
        zips.extend(found);
    }
    Ok(zips)
}

/// True for a folder of this machine that is no FOLDER itself.
fn holds_datasets(path: &Path) -> bool {
    !is_remote(path) && path.is_dir() && !is_dataset_folder(path)
}

/// The files of a folder whose names are those of ZIPs, by name.
///
/// # Errors
/// [`Kind::Io`](crate::error::Kind::Io) when the folder can't be listed.
pub(super) fn zips_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut zips = Vec::new();
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let path = entry.io_at("list", folder)?.path();
        if has_zip_ending(&path) && path.is_file() {
            zips.push(path);
        }
    }
    zips.sort_unstable();
    Ok(zips)
}

/// True for a name that ends in `.tacozip` or `.zip`.
pub fn has_zip_ending(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("tacozip") || end.eq_ignore_ascii_case("zip"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_zips_stands_for_them_by_name() {
        let home = tempfile::tempdir().expect("a folder");
        for name in ["b.tacozip", "a.TACOZIP", "c.zip", "notes.txt", ".tacocat"] {
            std::fs::write(home.path().join(name), "x").expect("writes");
        }
        std::fs::create_dir(home.path().join("d.zip")).expect("a folder");
        let other = home.path().join("notes.txt");
        let found = list_zips(&[other.clone(), home.path().to_owned()]).expect("lists");
        let expected = ["notes.txt", "a.TACOZIP", "b.tacozip", "c.zip"];
        assert_eq!(found, expected.map(|name| home.path().join(name)));
        let empty = home.path().join("d.zip");
        assert_eq!(list_zips(&[empty.clone()]).expect("lists"), [empty]);
    }
}
