//! Structures of ZIP archives, for datasets in ZIP, archives that are sources, and samples that are
//! ZIP archives themselves.

mod directory;
mod records;

use std::path::Path;

use bytes::Bytes;

pub use directory::{CentralDirectory, DirectoryEntry, DirectoryVersion, LocalHeader};
pub use records::{
    ALIGNED_MIN, BLOCK, DosTime, HEADER_NAME, ZipMember, block_padding, is_written_extra,
    local_header_len, put_end,
};

use crate::error::Result;

/// Bytes that are read by position: those of a file, or of a part of one.
pub trait BytesAt {
    /// Number of bytes.
    fn size_bytes(&self) -> u64;

    /// Exactly `size` bytes from `offset`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) for a range that is not inside, or an IO error.
    fn read(&self, offset: u64, size: u64) -> Result<Bytes>;

    /// The file, for messages.
    fn path(&self) -> &Path;

    /// True when the range is inside.
    fn contains(&self, offset: u64, size: u64) -> bool {
        offset
            .checked_add(size)
            .is_some_and(|end| end <= self.size_bytes())
    }
}
