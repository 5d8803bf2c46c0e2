//! State of the hierarchy. Imports no panel context, so that the list of panels can hold it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::gui::document_key::DocumentKey;
use crate::gui::outline::{self, Outline};
use crate::gui::panels::tray::state::TrayState;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::{AsyncValue, Jobs};
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
    pub(super) lost: LostFolders,
    /// Where the lost FOLDERs are in the tree, by their rows before.
    pub(super) found: AsyncValue<(DocumentId, ValueId), BTreeMap<RowRef, RowRef>>,
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

/// Trees with at most this number of samples are looked through at once, others in a job.
const FOLLOWED_AT_ONCE: usize = 20_000;

/// Open FOLDERs that are not where a changed tree makes them expect, and are looked for by their
/// ids.
#[derive(Default)]
pub(super) struct LostFolders {
    /// Trees with the rows that were open in them.
    from: Vec<(Arc<Skeleton>, Vec<RowRef>)>,
    /// Rows that stay open meanwhile: the FOLDER may have been renamed.
    kept: BTreeSet<RowRef>,
}

impl LostFolders {
    /// True for a row that was open while it was looked for, and was closed meanwhile.
    fn is_closed(&self, at: &RowRef, open: &BTreeSet<RowRef>) -> bool {
        self.kept.contains(at) && !open.contains(at)
    }

    /// Looks no longer for rows that were closed meanwhile.
    fn drop_closed(&mut self, open: &BTreeSet<RowRef>) {
        let mut from = std::mem::take(&mut self.from);
        for (_, rows) in &mut from {
            rows.retain(|at| !self.is_closed(at, open));
        }
        self.from = from;
    }
}

impl TreePanel {
    /// Follows the open FOLDERs into a changed tree by their ids; one whose id changed keeps its
    /// row. `serial` identifies the document.
    pub(super) fn follow(&mut self, serial: DocumentId, tree: &Arc<Skeleton>, jobs: &Jobs) {
        if self
            .open_in
            .as_ref()
            .is_some_and(|(of, known)| *of == serial && Arc::ptr_eq(known, tree))
        {
            if let Some(outcome) = self.found.take() {
                self.open_found(outcome.unwrap_or_default());
            }
            return;
        }
        let known = self.open_in.replace((serial, tree.clone()));
        let Some((_, old)) = known.filter(|(of, _)| *of == serial) else {
            (self.lost, self.found) = (LostFolders::default(), AsyncValue::default());
            return;
        };
        let mut near = NearFolders::new(&old, tree);
        let (mut open, mut lost) = (BTreeSet::new(), Vec::new());
        self.lost.drop_closed(&self.open);
        for at in self.open.difference(&self.lost.kept) {
            match near.find(*at) {
                Some(here) => drop(open.insert(here)),
                None => lost.push(*at),
            }
        }
        let mut from = std::mem::take(&mut self.lost.from);
        if !lost.is_empty() {
            from.push((old.clone(), lost));
        }
        let kept = list_kept_rows(&from, tree);
        open.extend(&kept);
        self.replace_open(open);
        self.lost = LostFolders { from, kept };
        if self.lost.from.is_empty() {
            self.found = AsyncValue::default();
        } else if tree.total() <= FOLLOWED_AT_ONCE {
            let found = find_lost_rows(&self.lost.from, tree);
            self.found = AsyncValue::default();
            self.open_found(found);
        } else {
            let (from, key) = (self.lost.from.clone(), (serial, ValueId::from_arc(tree)));
            let tree = tree.clone();
            self.found
                .update(jobs, key, tr!("Look for open FOLDERs"), move |_| {
                    Ok(find_lost_rows(&from, &tree))
                });
        }
    }

    /// Opens what was looked for.
    fn open_found(&mut self, found: BTreeMap<RowRef, RowRef>) {
        let lost = std::mem::take(&mut self.lost);
        let mut open: BTreeSet<RowRef> = self.open.difference(&lost.kept).copied().collect();
        let still_open = found
            .into_iter()
            .filter(|(from, _)| !lost.is_closed(from, &self.open));
        open.extend(still_open.map(|(_, here)| here));
        self.replace_open(open);
    }

    fn replace_open(&mut self, open: BTreeSet<RowRef>) {
        self.changes += u64::from(self.open != open);
        self.open = open;
    }
}

/// Where rows of older trees are in the newest one; a row whose id is not found stays where it is
/// if its level has as many rows as before.
fn find_lost_rows(
    from: &[(Arc<Skeleton>, Vec<RowRef>)],
    tree: &Skeleton,
) -> BTreeMap<RowRef, RowRef> {
    let mut found = BTreeMap::new();
    for (old, rows) in from {
        let moved = moved_rows(old, tree, rows.iter().copied());
        for at in rows {
            let here = moved.get(at).copied();
            if let Some(here) = here.or(Some(*at).filter(|at| keeps_row(old, tree, *at))) {
                found.insert(*at, here);
            }
        }
    }
    found
}

/// The rows that may stay where they are.
fn list_kept_rows(from: &[(Arc<Skeleton>, Vec<RowRef>)], tree: &Skeleton) -> BTreeSet<RowRef> {
    let mut kept = BTreeSet::new();
    for (old, rows) in from {
        kept.extend(rows.iter().filter(|at| keeps_row(old, tree, **at)));
    }
    kept
}

fn keeps_row(old: &Skeleton, new: &Skeleton, at: RowRef) -> bool {
    let rows = |tree: &Skeleton| tree.levels.get(at.level).map_or(0, |level| level.len());
    rows(old) == rows(new) && (at.row as usize) < rows(new)
}

/// Finds FOLDERs of one tree in another where most edits leave them: at their place among their
/// siblings, or as far from it as their siblings were, or as there are more or fewer siblings. So
/// no id but theirs is looked at.
struct NearFolders<'a> {
    old: &'a Skeleton,
    new: &'a Skeleton,
    found: HashMap<RowRef, Option<RowRef>>,
    /// By FOLDER of the old tree: how far its children have moved.
    shifts: HashMap<Option<RowRef>, i64>,
}

impl<'a> NearFolders<'a> {
    fn new(old: &'a Skeleton, new: &'a Skeleton) -> Self {
        Self {
            old,
            new,
            found: HashMap::new(),
            shifts: HashMap::new(),
        }
    }

    fn find(&mut self, at: RowRef) -> Option<RowRef> {
        if let Some(known) = self.found.get(&at) {
            return *known;
        }
        let here = self.look_near(at);
        self.found.insert(at, here);
        here
    }

    fn look_near(&mut self, at: RowRef) -> Option<RowRef> {
        let old_level = self.old.levels.get(at.level)?;
        let level = self.new.levels.get(at.level)?;
        let parent = *old_level.parents.get(at.row as usize)?;
        let above = at
            .level
            .checked_sub(1)
            .map(|level| RowRef { level, row: parent });
        let new_above = match above {
            None => None,
            Some(above) => Some(self.find(above)?),
        };
        let (before, after) = (
            FolderRows::of_folder(self.old, above),
            FolderRows::of_folder(self.new, new_above),
        );
        let position = before.position(at.row)? as i64;
        let more = after.len() as i64 - before.len() as i64;
        let known = self.shifts.get(&above).copied().unwrap_or(0);
        for shift in [known, 0, more] {
            let place = usize::try_from(position + shift).ok();
            let Some(row) = place.and_then(|place| after.row(place)) else {
                continue;
            };
            if level.id(row) == old_level.id(at.row) {
                self.shifts.insert(above, shift);
                return Some(RowRef {
                    level: at.level,
                    row,
                });
            }
        }
        None
    }
}

/// The rows of the samples in a FOLDER, ascending, or of all roots.
enum FolderRows<'a> {
    Roots(usize),
    Below(&'a [u32]),
}

impl<'a> FolderRows<'a> {
    fn of_folder(tree: &'a Skeleton, folder: Option<RowRef>) -> Self {
        match folder {
            None => Self::Roots(tree.levels.first().map_or(0, |level| level.len())),
            Some(at) => {
                let level = tree.levels.get(at.level);
                Self::Below(level.map_or(&[], |level| level.children(at.row)))
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Roots(count) => *count,
            Self::Below(rows) => rows.len(),
        }
    }

    fn row(&self, position: usize) -> Option<u32> {
        match self {
            Self::Roots(count) => (position < *count).then_some(position as u32),
            Self::Below(rows) => rows.get(position).copied(),
        }
    }

    fn position(&self, row: u32) -> Option<usize> {
        match self {
            Self::Roots(count) => Some(row as usize).filter(|row| row < count),
            Self::Below(rows) => rows.binary_search(&row).ok(),
        }
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
            lost: LostFolders::default(),
            found: AsyncValue::default(),
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

    fn scene(id: &str) -> Sample {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let inner = Sample::new_folder("s2", Tortilla::new(vec![file("t0")]));
        Sample::new_folder(id, Tortilla::new(vec![inner, file("label")]))
    }

    fn tree(roots: &[&str]) -> Arc<Skeleton> {
        let samples = roots.iter().map(|id| scene(id)).collect();
        Arc::new(Skeleton::from_dataset(&Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        }))
    }

    fn at(level: usize, row: u32) -> RowRef {
        RowRef { level, row }
    }

    #[test]
    fn a_folder_that_is_closed_while_it_is_looked_for_stays_closed() {
        let mut state = TreePanel::default();
        let rows = [at(0, 1), at(0, 2)];
        state.lost = LostFolders {
            from: vec![(tree(&["a", "b", "c"]), rows.to_vec())],
            kept: BTreeSet::from(rows),
        };
        state.open = BTreeSet::from([at(0, 0), rows[1]]);
        state.lost.drop_closed(&state.open);
        assert_eq!(state.lost.from[0].1, [rows[1]]);
        state.open_found(BTreeMap::from([(rows[0], at(0, 7)), (rows[1], at(0, 8))]));
        assert_eq!(state.open, BTreeSet::from([at(0, 0), at(0, 8)]));
    }

    #[test]
    fn open_folders_follow_their_ids_not_their_rows() {
        let jobs = Jobs::quiet();
        let mut state = TreePanel::default();
        let serial = DocumentKey::default().0;
        state.follow(serial, &tree(&["a", "b", "c"]), &jobs);
        // b, and s2 in b, which is row 2 of level 1.
        state.open = BTreeSet::from([at(0, 1), at(1, 2)]);
        state.follow(serial, &tree(&["b", "c"]), &jobs);
        assert_eq!(state.open, BTreeSet::from([at(0, 0), at(1, 0)]));
        state.follow(serial, &tree(&["x", "c", "b"]), &jobs);
        assert_eq!(state.open, BTreeSet::from([at(0, 2), at(1, 4)]));
        // A rename keeps the row.
        state.follow(serial, &tree(&["x", "c", "renamed"]), &jobs);
        assert!(state.open.contains(&at(0, 2)), "{:?}", state.open);
        state.follow(serial, &tree(&["x", "c"]), &jobs);
        assert!(state.open.is_empty(), "{:?}", state.open);
    }

    #[test]
    fn open_folders_of_a_large_tree_are_looked_for_in_a_job() {
        let jobs = Jobs::quiet();
        let ids: Vec<String> = (0..FOLLOWED_AT_ONCE / 3).map(|n| format!("r{n}")).collect();
        let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let serial = DocumentKey::default().0;
        let mut state = TreePanel::default();
        state.follow(serial, &tree(&ids), &jobs);
        state.open = BTreeSet::from([at(0, 5), at(0, 100)]);
        // Most edits need no search.
        ids.remove(2);
        state.follow(serial, &tree(&ids), &jobs);
        assert_eq!(state.open, BTreeSet::from([at(0, 4), at(0, 99)]));
        assert!(state.found.key().is_none());
        ids.swap(4, 3000);
        let swapped = tree(&ids);
        assert!(swapped.total() > FOLLOWED_AT_ONCE);
        state.follow(serial, &swapped, &jobs);
        while state.found.key().is_some() {
            state.follow(serial, &swapped, &jobs);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(state.open, BTreeSet::from([at(0, 99), at(0, 3000)]));
    }
}
