//! The files below a folder.

use std::path::Path;

use crate::error::{IoContext, Result};
use crate::model::MAX_LEVELS;

/// Paths of all files below `folder`, relative to it, with `/`; empty when there is no such folder.
/// Symbolic links are listed and not followed, as they may form a loop.
///
/// # Errors
/// When a folder cannot be read.
pub fn data_files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(folder, "", 0, &mut found)?;
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
    if !folder.is_dir() || depth > MAX_LEVELS {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().io_at("read the folder", folder)?.is_dir() {
            walk(&entry.path(), &format!("{name}/"), depth + 1, found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}
