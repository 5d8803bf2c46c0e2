//! A dataset being built: edits as plain data, each with its inverse, the history that undoes them, the structure lens and the
//! fixes that it leads to. No threads, no files.

mod edit;
mod fields;
mod fix;
mod history;
mod structure;

pub use edit::Edit;
pub use fields::{cast, one_schema};
pub use fix::{Fix, Unplaced, apply_alike, fill_missing, fix_safe, fixes_of, pad_to};
pub use history::{Draft, Step};
pub use structure::{Counts, PatternChoice, PatternNode, PositionState, Structure};
