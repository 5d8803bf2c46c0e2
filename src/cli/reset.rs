//! `reset`: forgets what the studio remembers by itself. Must never touch a dataset, a project or an unsaved draft.

use super::output::print;
use crate::error::{IoContext, Result};
use crate::folders::{cache_dir, config_dir};

/// Removes the folders of settings and of the cache, and says which.
///
/// Errors: [`crate::error::Kind::Io`] when one is there and can't be removed.
pub fn reset() -> Result<u8> {
    let mut removed = Vec::new();
    for folder in [config_dir(), cache_dir()].into_iter().flatten() {
        if folder.exists() {
            std::fs::remove_dir_all(&folder).io_at("remove", &folder)?;
            removed.push(folder.display().to_string());
        }
    }
    match removed.as_slice() {
        [] => print("nothing was remembered")?,
        folders => print(&format!("removed {}", folders.join(" and ")))?,
    }
    Ok(0)
}
