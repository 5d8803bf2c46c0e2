//! Removes what the studio remembers by itself. Must never touch a dataset, a project or an unsaved draft.

use std::path::PathBuf;

use crate::error::{IoContext, Result};
use crate::folders::{cache_dir, config_dir};

/// Removes the folders of settings and cache; returns those that existed.
///
/// # Errors
/// [`crate::error::Kind::Io`] when one exists and can't be removed.
pub fn reset() -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for folder in [config_dir(), cache_dir()].into_iter().flatten() {
        if folder.exists() {
            std::fs::remove_dir_all(&folder).io_at("remove", &folder)?;
            removed.push(folder);
        }
    }
    Ok(removed)
}
