//! Datasets of TACO 2.0 before its present layout, by tacotoolbox 0.7 to 0.15: ZIPs whose tables
//! have no `internal:relative_path` (0.7 to 0.12), and FOLDERs whose tables are Avro (0.9 to 0.15).
//! docs/FORMATS.md has their marks. Read only; `migrate` writes them as 2.0.

mod reader;
mod tree;

pub use reader::{EarlyReader, is_avro_folder};
