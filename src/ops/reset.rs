//! Removes what the studio remembers by itself. Must never touch a dataset, a project, a recipe or
//! an unsaved draft.

use std::path::PathBuf;

use crate::error::{IoContext, Result};
use crate::folders::{cache_dir, settings_file};

/// Removes the file of settings and the folder of the cache; returns those that existed. Other
/// files stay: the folder of settings has recipes too, on macOS it is the folder of drafts, and an
/// environment variable can name any folder.
///
/// # Errors
/// [`crate::error::Kind::Io`] when one exists and can't be removed.
pub fn reset() -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    if let Some(file) = settings_file().filter(|file| file.exists()) {
        std::fs::remove_file(&file).io_at("remove", &file)?;
        // Fails, as it should, while something else is in it.
        let _ = file.parent().map(std::fs::remove_dir);
        removed.push(file);
    }
    if let Some(folder) = cache_dir().filter(|folder| folder.exists()) {
        std::fs::remove_dir_all(&folder).io_at("remove", &folder)?;
        removed.push(folder);
    }
    Ok(removed)
}
