//! The FOLDER container (§6.4): loose files under DATA/, level tables under METADATA/, COLLECTION.json.

mod reader;
mod writer;

pub use reader::FolderReader;
pub(super) use writer::write;
