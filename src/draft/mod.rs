//! A dataset being built: edits as plain data with their inverses, the undo history, the tray of
//! unplaced files, the pattern of file names, the structure view and its fixes. No threads, no IO.

mod align_schema;
mod apply;
mod arrange;
mod column_change;
mod edit;
mod edit_memory;
mod file_kind;
mod find_fixes;
mod fitting;
mod fix;
mod history;
mod layout;
mod pattern;
mod primitives;
mod rename_pattern;
mod slot;
mod spelling;
mod structure;
mod structure_view;
mod tray;
mod tray_index;
#[cfg(test)]
mod undo_fuzz;

pub use align_schema::{cast, join_tortillas, one_schema};
pub use edit::{ColumnChange, Content, Edit, TrayPlace, Unplaced};
pub use edit_memory::edit_weight;
pub use file_kind::{FileKind, KindReader, Kinds};
pub use find_fixes::{
    PAD_MULTIPLE_MAX, PadPlace, PadTo, fill_missing, fix_safe, fixes_of, pad_all, pad_to, split_off,
};
pub use fix::{Care, Fix, FixVerb};
pub use history::{Draft, HistoryStep};
pub use layout::{
    ArrangedFiles, ArrangedPosition, ArrangedRoot, FolderRole, LayoutAlternative, LayoutConflict,
    LayoutQuestion, LayoutReading, LayoutRefusal, LayoutWay, NameRole, RenamedId,
    SparseArrangement, UnclearLayout, arrange_files, find_list_family, find_split_in_name,
    folder_layout, folders_are_scenes, recognise_layout, stem_layout,
};
pub use pattern::{
    Alternative, Example, Nearly, PatternReport, PatternToken, Placement, TokenKind, TokenRole,
    find_pattern, place_by_pattern,
};
pub use rename_pattern::{IdChange, Renaming, preview_renaming, propose_pattern};
pub use slot::{Slot, place_between, place_file};
pub use structure::{PatternChoice, PatternNode, PositionState, StateCounts, Structure};
pub use structure_view::{
    FixPlan, Overview, PatternCell, alike_count, alike_plan, fault_of, group_plans, overview,
    places, plan_of, safe_plan,
};
pub use tray_index::TrayIndex;
