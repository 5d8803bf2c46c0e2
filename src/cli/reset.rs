//! `reset`: forgets what the studio remembers by itself.

use super::output::print;
use crate::error::Result;
use crate::ops;

/// Removes settings and cache and says which folders went.
pub fn reset() -> Result<u8> {
    let removed: Vec<String> = ops::reset()?
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    match removed.as_slice() {
        [] => print("nothing was remembered")?,
        folders => print(&format!("removed {}", folders.join(" and ")))?,
    }
    Ok(0)
}
