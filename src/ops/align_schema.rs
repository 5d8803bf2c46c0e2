//! Schemas of a draft, strict or aligned (§5.1): strict leaves differences to the check, which
//! refuses them; aligned gives all tortillas of a level the same fields before.

use crate::draft::{Edit, one_schema};
use crate::model::{Dataset, MAX_LEVELS};

/// The edit that aligns every level; `None` when there is nothing to align. Says what it does, a
/// line for each level.
pub fn align_schemas(dataset: &Dataset) -> Option<(Edit, Vec<String>)> {
    let fixes: Vec<_> = (1..dataset.depth().min(MAX_LEVELS))
        .filter_map(|level| one_schema(dataset, level))
        .collect();
    if fixes.is_empty() {
        return None;
    }
    let lines = fixes.iter().map(|fix| fix.label.clone()).collect();
    let edits = fixes.into_iter().map(|fix| fix.edit).collect();
    Some((
        Edit::Batch {
            label: tr!("Align the fields of every level").into(),
            edits,
        },
        lines,
    ))
}
