//! TACO 3, the generation after 2.0: a ZIP that begins with `__cozip__`, or a folder. Read-only.

mod archive;
mod index;
mod reader;

pub use archive::CozipArchive;
pub use index::{
    CHECKED_TAIL, INDEX_MAX, INDEX_MEMBER, INDEX_OFFSET, IndexedMember, check_value, parse_index,
    stated_check_value,
};
pub use reader::{RowsById, Taco3Reader, Taco3Table, table_above};
