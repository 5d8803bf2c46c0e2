//! A dataset being built: edits as plain data, each with its inverse, the history that undoes them, the tray of unplaced files,
//! the pattern in their names, the structure lens and the fixes that it leads to. No threads, no files.

mod arrange;
mod columns;
mod edit;
mod fields;
mod fitting;
mod fix;
mod history;
mod lens;
mod pattern;
mod place;
mod primitives;
#[cfg(test)]
mod sequences;
mod size;
mod spelling;
mod structure;
mod tray;
mod tray_index;

pub use columns::ColumnChange;
pub use edit::{Content, Edit};
pub use fields::{cast, one_schema};
pub use fix::{Care, Fix, FixVerb, apply_alike, fill_missing, fix_safe, fixes_of, pad_to, split_off};
pub use history::{Draft, Step};
pub use lens::{Overview, Place, Plan, alike_count, alike_plan, fault_of, overview, places, safe_plan};
pub use pattern::{
    Alternative, Example, Nearly, PatternReport, PatternToken, Placement, TokenKind, TokenRole, find_pattern, place_by_pattern,
};
pub use place::{Slot, place_between, place_file};
pub use size::edit_weight;
pub use structure::{Counts, PatternChoice, PatternNode, PositionState, Structure};
pub use tray::{TrayPlace, Unplaced};
pub use tray_index::TrayIndex;
