//! References of dataset members that describe other data and contain no pixels.

use super::pool::head;
use super::references::{References, find_references};
use crate::error::Result;
use crate::model::AssetPath;

/// Number of bytes searched for references.
const HEAD: u64 = 64 << 10;
/// Number of bytes that decide whether `HEAD` bytes are read.
const FIRST: u64 = 64;

/// References of a dataset's member, read from its first 64 KiB; `None` for a file of any other
/// type, and for GDAL paths that are not plain bytes.
///
/// # Errors
/// [`Kind::Io`](crate::error::Kind::Io) and [`Kind::Changed`](crate::error::Kind::Changed) for a
/// file that is missing, unreadable or changed; [`Kind::Format`](crate::error::Kind::Format) for an
/// empty file, a folder or a range outside of its container; those of remote reads.
pub fn references_of(asset: &AssetPath) -> Result<Option<References>> {
    // 64 bytes rule out most members without reading 64 KiB.
    match head(asset, FIRST)? {
        Some(first)
            if first.trim_ascii_start().starts_with(b"<")
                || first.trim_ascii_start().starts_with(b"{")
                || is_marked(&first) =>
        {
            Ok(head(asset, HEAD)?.and_then(|head| find_references(&head)))
        }
        _ => Ok(None),
    }
}

fn is_marked(first: &[u8]) -> bool {
    first.starts_with("\u{feff}".as_bytes())
}
