//! Steps from a sample to the one at the same position in the next root that the filters keep.

use super::App;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::model::NodePath;
use crate::studio::{Document, RowRef};

/// Roots that a step looks at for the position.
const LOOKED_AT: usize = 10_000;

impl App {
    /// Selects the sample at the position of the selection in the next root, or in the previous
    /// one. Without a selection, the first root.
    pub(super) fn step_root(&mut self, forward: bool) {
        let Some(document) = self.studio.document() else {
            return;
        };
        let kept = self.studio.filtered_rows().and_then(|kept| kept.rows(0));
        match same_position(document, kept, self.session.selection.sample, forward) {
            Some(at) => self.requests.push(Request::Select(Some(at))),
            None => self.toast = Some(Toast::new(false, tr!("No further root has this position"))),
        }
    }
}

/// The sample at the same position in the next root, or the previous one, of those kept (ascending;
/// `None` keeps all) that has it.
fn same_position(
    document: &Document,
    kept: Option<&[u32]>,
    at: Option<RowRef>,
    forward: bool,
) -> Option<RowRef> {
    let count = kept.map_or(document.rows(0), <[u32]>::len);
    let root_at = |index: usize| kept.map_or(Some(index as u32), |rows| rows.get(index).copied());
    let Some(at) = at else {
        return root_at(0)
            .filter(|_| count > 0)
            .map(|row| RowRef { level: 0, row });
    };
    let node = document.node(at)?;
    let (&root, below) = node.0.split_first()?;
    let (before, after) = match kept {
        Some(rows) => (
            rows.partition_point(|row| *row < root),
            rows.partition_point(|row| *row <= root),
        ),
        None => (root as usize, root as usize + 1),
    };
    let found = |index: usize| find_row_below_root(document, root_at(index)?, below);
    if forward {
        (after..count).take(LOOKED_AT).find_map(found)
    } else {
        (0..before.min(count)).rev().take(LOOKED_AT).find_map(found)
    }
}

/// The row at the position `below` in the tree of a root.
fn find_row_below_root(document: &Document, root: u32, below: &[u32]) -> Option<RowRef> {
    let path = std::iter::once(root).chain(below.iter().copied());
    document.row_of(&NodePath(path.collect()))
}
