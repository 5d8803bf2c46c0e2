//! The ZIP container (TACO 2.0, section 6.3): STORE only, with TACO_HEADER at byte 0, which locates
//! level tables and COLLECTION.json.
//!
//! Records are read and written here instead of by the `zip` crate, because
//! - the level tables contain the offset of every member, so all offsets are computed before the
//!   first byte is written ([`BuildPlan`](super::BuildPlan)), and the tables are encoded while the
//!   data is copied in parallel;
//! - the records must equal those of the official writer: no data descriptors, ZIP64 fields only
//!   where needed;
//! - members of remote archives are read by byte range, without the central directory;
//! - archives are untrusted: every number is checked against the file before memory is allocated
//!   for it.
//!
//! Tests read the written archives with the `zip` crate (`tests/remote.rs`) and with Python's
//! `zipfile` (`tests/interop`).

mod batches;
mod checksums;
mod header;
mod member_name;
mod members;
mod positions;
mod reader;
mod rezipped;
mod tail;
mod writer;

pub(super) use checksums::{Checksums, HEADER_ROOM, crc_in_header_before, is_archive};
pub(super) use header::HEADER_END;
pub use header::{HeaderEntry, TacoHeader};
pub(super) use member_name::member_of;
pub use reader::ZipReader;
pub use rezipped::{RezippedDataset, rezipped_dataset};
pub use tail::{FixedTail, TailEdit, cut_unfinished, unfinished_end};
pub(super) use writer::write;
