//! The ZIPs of a folder, for indexes over all of them.

use std::path::{Path, PathBuf};

use crate::error::{IoContext, Result};

/// The files of a folder whose names are those of ZIPs, by name.
///
/// # Errors
/// [`Kind::Io`](crate::error::Kind::Io) when the folder can't be listed.
pub(super) fn zips_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut zips = Vec::new();
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let entry = entry.io_at("list", folder)?;
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if has_zip_ending(&path) && !is_folder {
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
