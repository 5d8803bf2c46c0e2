//! References of the members of datasets: files that describe other data instead of holding pixels.

use super::pool::head;
use super::references::{References, of};
use crate::error::Result;
use crate::model::AssetPath;

/// Bytes that are searched for references.
const HEAD: u64 = 64 << 10;
/// Bytes that show whether the file can state references.
const FIRST: u64 = 64;

/// The references that a file of a dataset states in its first bytes; `None` for a file without references, and for one that is
/// not a range of bytes.
pub fn references_of(asset: &AssetPath) -> Result<Option<References>> {
    // For most members the first bytes show that they state none.
    match head(asset, FIRST)? {
        Some(first)
            if first.trim_ascii_start().starts_with(b"<") || first.trim_ascii_start().starts_with(b"{") || is_marked(&first) =>
        {
            Ok(head(asset, HEAD)?.and_then(|head| of(&head)))
        }
        _ => Ok(None),
    }
}

fn is_marked(first: &[u8]) -> bool {
    first.starts_with("\u{feff}".as_bytes())
}
