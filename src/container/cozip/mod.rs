//! TACO 3, the generation after 2.0: a ZIP that begins with `__cozip__`, or a folder. Read-only.

mod reader;

pub use reader::{RowKey, Taco3Reader, Taco3Table, table_above};
