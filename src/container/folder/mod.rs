//! The FOLDER container (TACO 2.0, section 6.4): files under DATA/, level tables under METADATA/,
//! COLLECTION.json.

mod edit;
mod reader;
mod writer;

pub use edit::FolderEdit;
pub use reader::FolderReader;
pub(super) use writer::write;
