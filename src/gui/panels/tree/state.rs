//! State of the hierarchy. Imports no panel context, so that the list of panels can hold it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::gui::document_key::DocumentKey;
use crate::gui::outline::{self, Outline};
use crate::gui::panels::tray::state::TrayState;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::Skeleton;
use crate::studio::{DocumentId, RowRef};

/// Which samples are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// All of them.
    #[default]
    All,
    /// Those with findings.
    Problems,
    /// Number of padding samples.
    Padded,
}

/// Key of a filtered outline: document, typed filter, choice, marks, the dataset's filter, and the
/// folding where it matters.
pub(super) type OutlineKey = (DocumentKey, String, Show, ValueId, Option<ValueId>, u64);

pub struct TreePanel {
    /// The tray below the hierarchy.
    pub(super) tray: TrayState,
    pub(super) scroll: RowScroll,
    pub(super) root_open: bool,
    pub(super) open: BTreeSet<RowRef>,
    /// The tree whose rows `open` names.
    pub(super) open_in: Option<(DocumentId, Arc<Skeleton>)>,
    /// Typed filter.
    pub filter: String,
    pub(super) show: Show,
    pub(super) outline: Arc<Outline>,
    pub(super) made_for: Option<(DocumentKey, u64, ValueId)>,
    pub(super) changes: u64,
    /// The outline, and the highest level with an id that matches the typed filter.
    pub(super) filtered: AsyncValue<OutlineKey, (Arc<Outline>, Option<usize>)>,
    pub(super) reveal: Option<RowRef>,
}

impl TreePanel {
    /// Follows the open FOLDERs into a changed tree by their ids; one whose id changed keeps its
    /// row. `serial` identifies the document.
    pub(super) fn follow(&mut self, serial: DocumentId, tree: &Arc<Skeleton>) {
        if self
            .open_in
            .as_ref()
            .is_some_and(|(of, known)| *of == serial && Arc::ptr_eq(known, tree))
        {
            return;
        }
        let known = self.open_in.replace((serial, tree.clone()));
        let Some((_, old)) = known.filter(|(of, _)| *of == serial) else {
            return;
        };
        if self.open.is_empty() {
            return;
        }
        let rows =
            |tree: &Skeleton, level: usize| tree.levels.get(level).map_or(0, |level| level.len());
        let moved = moved_rows(&old, tree, self.open.iter().copied());
        let renamed = |at: RowRef| rows(&old, at.level) == rows(tree, at.level);
        let followed = self.open.iter().filter_map(|at| {
            let kept =
                Some(*at).filter(|at| renamed(*at) && (at.row as usize) < rows(tree, at.level));
            moved.get(at).copied().or(kept)
        });
        let followed = followed.collect();
        self.changes += u64::from(self.open != followed);
        self.open = followed;
    }
}

/// Where samples of one tree are in another, by their ids. Each FOLDER's children are looked
/// through once.
fn moved_rows(
    old: &Skeleton,
    new: &Skeleton,
    rows: impl Iterator<Item = RowRef>,
) -> HashMap<RowRef, RowRef> {
    let mut found: HashMap<RowRef, RowRef> = HashMap::new();
    // Rows are in the order of levels: the FOLDER above is found first.
    let mut children: HashMap<Option<RowRef>, HashMap<&str, u32>> = HashMap::new();
    for at in rows {
        let mut chain = outline::ancestors(old, at);
        chain.push(at);
        let mut above: Option<RowRef> = None;
        for step in chain {
            let here = match found.get(&step) {
                Some(here) => *here,
                None => {
                    let Some(level) = new.levels.get(step.level) else {
                        break;
                    };
                    let ids = children.entry(above).or_insert_with(|| match above {
                        None => (0..level.len() as u32)
                            .map(|row| (level.id(row), row))
                            .collect(),
                        Some(above) => new.levels[above.level]
                            .children(above.row)
                            .iter()
                            .map(|&row| (level.id(row), row))
                            .collect(),
                    });
                    let Some(old_level) = old.levels.get(step.level) else {
                        break;
                    };
                    let Some(&row) = ids.get(old_level.id(step.row)) else {
                        break;
                    };
                    let here = RowRef {
                        level: step.level,
                        row,
                    };
                    found.insert(step, here);
                    here
                }
            };
            above = Some(here);
        }
    }
    found
}

impl Default for TreePanel {
    fn default() -> Self {
        Self {
            tray: TrayState::default(),
            scroll: RowScroll::default(),
            root_open: true,
            open: BTreeSet::new(),
            open_in: None,
            filter: String::new(),
            show: Show::All,
            outline: Arc::default(),
            made_for: None,
            changes: 0,
            filtered: AsyncValue::default(),
            reveal: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, Tortilla};

    #[test]
    fn open_folders_follow_their_ids_not_their_rows() {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let scene = |id: &str| {
            let inner = Sample::new_folder("s2", Tortilla::new(vec![file("t0")]));
            Sample::new_folder(id, Tortilla::new(vec![inner, file("label")]))
        };
        let tree = |roots: &[&str]| {
            let samples = roots.iter().map(|id| scene(id)).collect();
            Arc::new(Skeleton::from_dataset(&Dataset {
                root: Tortilla::new(samples).into(),
                ..Dataset::default()
            }))
        };
        let at = |level: usize, row: u32| RowRef { level, row };
        let mut state = TreePanel::default();
        let serial = DocumentKey::default().0;
        state.follow(serial, &tree(&["a", "b", "c"]));
        // b, and s2 in b, which is row 2 of level 1.
        state.open = BTreeSet::from([at(0, 1), at(1, 2)]);
        state.follow(serial, &tree(&["b", "c"]));
        assert_eq!(state.open, BTreeSet::from([at(0, 0), at(1, 0)]));
        state.follow(serial, &tree(&["x", "c", "b"]));
        assert_eq!(state.open, BTreeSet::from([at(0, 2), at(1, 4)]));
        // A rename keeps the row.
        state.follow(serial, &tree(&["x", "c", "renamed"]));
        assert!(state.open.contains(&at(0, 2)), "{:?}", state.open);
        state.follow(serial, &tree(&["x", "c"]));
        assert!(state.open.is_empty(), "{:?}", state.open);
    }
}
