//! The ZIP container (TACO 2.0, section 6.3): STORE only, with TACO_HEADER at byte 0, which locates level tables and
//! COLLECTION.json.

mod batches;
mod checksums;
mod directory;
mod header;
mod positions;
mod reader;
mod records;
mod writer;

pub(super) use checksums::{Checksums, HEADER_ROOM, is_archive, stated_before};
pub use directory::{Directory, Entry, LocalHeader};
pub(super) use header::HEADER_END;
pub use header::{HeaderEntry, TacoHeader};
pub use reader::ZipReader;
pub(super) use reader::member_of;
pub(super) use records::local_header_len;
pub(super) use writer::write;
