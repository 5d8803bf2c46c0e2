//! State of the view "Consistency", and its lists of the newest comparison.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::draft::Renaming;
use crate::error::Error;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::{AsyncState, AsyncValue, Jobs, discard};
use crate::model::{AcceptedValue, Consistency, RasterProperty};

/// Rows of the overview strip.
pub const BINS: usize = 256;

/// Outliers of one property at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlierGroup {
    /// Index of the position.
    pub position: usize,
    pub property: RasterProperty,
    /// Number of outliers.
    pub count: usize,
    /// Different values with their numbers, most frequent first.
    pub found: Vec<(Arc<str>, usize)>,
}

/// A row of the list of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlierLine {
    Group(usize),
    /// An outlier of a group, by index.
    Outlier(usize, usize),
    /// An accepted value, by index.
    Accepted(usize),
}

/// A root with outliers: its row in level 0, and position, property and index of each outlier.
pub struct OddRoot {
    pub root: u32,
    pub cells: Vec<(usize, RasterProperty, usize)>,
}

/// Lists of the view for a comparison.
#[derive(Default)]
pub struct ConsistencyLists {
    pub of: Option<Arc<Consistency>>,
    pub groups: Vec<OutlierGroup>,
    pub roots: Vec<OddRoot>,
    /// By position: the parts of the strip that have outliers.
    pub bins: Vec<Vec<bool>>,
    /// Accepted values with the number of outliers that they hide.
    pub accepted: Vec<(AcceptedValue, usize)>,
}

impl ConsistencyLists {
    /// Lists a comparison.
    pub fn new(consistency: &Arc<Consistency>) -> Self {
        let mut listed = Self {
            of: Some(consistency.clone()),
            accepted: consistency.accepted.clone(),
            ..Self::default()
        };
        let mut roots: BTreeMap<u32, Vec<(usize, RasterProperty, usize)>> = BTreeMap::new();
        for (index, position) in consistency.positions.iter().enumerate() {
            let mut bins = vec![false; BINS];
            for property in RasterProperty::ALL {
                let outliers = &position.agreement(property).outliers;
                let mut found: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
                for (number, outlier) in outliers.iter().enumerate() {
                    *found.entry(&outlier.found).or_default() += 1;
                    roots
                        .entry(outlier.root)
                        .or_default()
                        .push((index, property, number));
                    let bin = outlier.root as usize * BINS / consistency.roots.max(1);
                    if let Some(bin) = bins.get_mut(bin) {
                        *bin = true;
                    }
                }
                if !outliers.is_empty() {
                    let mut found: Vec<(Arc<str>, usize)> = found
                        .into_iter()
                        .map(|(text, count)| (text.clone(), count))
                        .collect();
                    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                    listed.groups.push(OutlierGroup {
                        position: index,
                        property,
                        count: outliers.len(),
                        found,
                    });
                }
            }
            listed.bins.push(bins);
        }
        listed.roots = roots
            .into_iter()
            .map(|(root, cells)| OddRoot { root, cells })
            .collect();
        listed
    }

    /// Indices of the roots with an outlier of this group; all roots for `None`.
    fn list_root_rows(&self, group: Option<(usize, RasterProperty)>) -> Vec<usize> {
        let is_listed = |root: &OddRoot| {
            group.is_none_or(|group| root.cells.iter().any(|cell| (cell.0, cell.1) == group))
        };
        (0..self.roots.len())
            .filter(|&root| is_listed(&self.roots[root]))
            .collect()
    }
}

/// Rows of the list of groups, with the outliers of open groups. Outliers are counted, not listed:
/// there may be as many as samples.
#[derive(Debug, Default)]
pub struct OutlierLines {
    /// The row of each group, then that of the first accepted value.
    starts: Vec<usize>,
    len: usize,
}

impl OutlierLines {
    fn new(listed: &ConsistencyLists, open: &HashSet<(usize, RasterProperty)>) -> Self {
        let mut next = 0usize;
        let mut starts = Vec::with_capacity(listed.groups.len() + 1);
        for group in &listed.groups {
            starts.push(next);
            let is_open = open.contains(&(group.position, group.property));
            next = next.saturating_add(1 + if is_open { group.count } else { 0 });
        }
        starts.push(next);
        Self {
            starts,
            len: next.saturating_add(listed.accepted.len()),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// What a row shows; `None` beyond the last.
    pub fn line(&self, row: usize) -> Option<OutlierLine> {
        let index = self.starts.partition_point(|start| *start <= row);
        let index = index.checked_sub(1).filter(|_| row < self.len)?;
        let below = row - self.starts[index];
        Some(match below {
            _ if index + 1 == self.starts.len() => OutlierLine::Accepted(below),
            0 => OutlierLine::Group(index),
            _ => OutlierLine::Outlier(index, below - 1),
        })
    }

    /// The row of a group.
    pub fn row_of_group(&self, group: usize) -> Option<usize> {
        self.starts.get(group).copied()
    }
}

/// The bar that renames a position.
#[derive(Default)]
pub struct RenameBar {
    pub open: bool,
    /// Index of the position in the pattern.
    pub position: Option<u32>,
    pub from: String,
    pub to: String,
    /// Something was typed for this position.
    pub typed: bool,
    /// Input for which the fields were filled.
    pub filled_for: Option<(DocumentKey, u32)>,
    pub proposed: AsyncValue<(DocumentKey, u32), Option<(String, String)>>,
    pub preview: AsyncValue<(DocumentKey, u32, String, String), Arc<Renaming>>,
}

impl RenameBar {
    /// Chooses the position whose samples are renamed.
    pub fn choose_position(&mut self, position: u32) {
        if self.position != Some(position) {
            self.typed = false;
        }
        self.position = Some(position);
    }

    /// Fills the fields with the names found for a position of this state of the draft. What the
    /// user typed for the position stays.
    pub fn fill(&mut self, key: DocumentKey, position: u32, (from, to): (String, String)) {
        let was_filled = self
            .filled_for
            .is_some_and(|(_, before)| before == position);
        if self.from.is_empty() || !(was_filled || self.typed) {
            (self.from, self.to) = (from, to);
        }
        self.filled_for = Some((key, position));
    }
}

/// The rows of the list of roots, and what they were chosen by: the selected group where only its
/// roots are listed.
type RootRows = (Option<(usize, RasterProperty)>, Vec<usize>);

#[derive(Default)]
pub struct ConsistencyView {
    pub listed: Arc<ConsistencyLists>,
    /// The lists of the newest comparison: those before it are shown until they are made.
    listing: AsyncValue<ValueId, Arc<ConsistencyLists>>,
    /// Position and property that are highlighted.
    pub selected: Option<(usize, RasterProperty)>,
    /// Groups with their outliers.
    open: HashSet<(usize, RasterProperty)>,
    /// Rows of the list of groups.
    lines: OutlierLines,
    /// True when groups or `open` have changed since the rows were listed.
    are_lines_old: bool,
    /// Rows of the list of roots; `None` when the roots have changed.
    root_rows: Option<RootRows>,
    /// Show only the roots of the selected group.
    pub only_selected: bool,
    pub table_scroll: RowScroll,
    pub roots_scroll: RowScroll,
    pub groups_scroll: RowScroll,
    pub rename: RenameBar,
}

impl ConsistencyView {
    /// Starts listing a comparison, and takes its lists once they are made.
    pub fn follow(&mut self, newest: Option<&Arc<Consistency>>, jobs: &Jobs) {
        let Some(newest) = newest else {
            self.listing = AsyncValue::default();
            if self.listed.of.is_some() {
                self.show(Arc::default());
            }
            return;
        };
        let (key, listed) = (ValueId::from_arc(newest), newest.clone());
        self.listing
            .update(jobs, key, tr!("List what differs"), move |_| {
                Ok(Arc::new(ConsistencyLists::new(&listed)))
            });
        let made = self.listing.latest().cloned();
        if let Some(made) = made.filter(|made| !Arc::ptr_eq(made, &self.listed)) {
            self.show(made);
        }
    }

    /// Shows other lists; a group that they lack is no longer selected.
    fn show(&mut self, listed: Arc<ConsistencyLists>) {
        self.selected = self.selected.filter(|selected| {
            let mut groups = listed.groups.iter();
            groups.any(|group| (group.position, group.property) == *selected)
        });
        discard(std::mem::replace(&mut self.listed, listed));
        (self.are_lines_old, self.root_rows) = (true, None);
    }

    /// Why the newest comparison could not be listed.
    pub fn listing_error(&self) -> Option<&Error> {
        match self.listing.state() {
            AsyncState::Failed(error) => Some(error),
            AsyncState::NotAsked | AsyncState::Pending | AsyncState::Ready(_) => None,
        }
    }

    /// True when the lists are those of this comparison.
    pub fn is_of(&self, newest: Option<&Arc<Consistency>>) -> bool {
        let shown = self.listed.of.as_ref().zip(newest);
        shown.is_some_and(|(shown, newest)| Arc::ptr_eq(shown, newest))
    }

    pub fn is_open(&self, group: (usize, RasterProperty)) -> bool {
        self.open.contains(&group)
    }

    /// Shows or hides the outliers of a group.
    pub fn set_open(&mut self, group: (usize, RasterProperty), open: bool) {
        let has_changed = if open {
            self.open.insert(group)
        } else {
            self.open.remove(&group)
        };
        self.are_lines_old |= has_changed;
    }

    /// Lists the rows of [`Self::lines`] again where groups or open groups have changed.
    pub fn update_lines(&mut self) {
        if std::mem::take(&mut self.are_lines_old) {
            self.lines = OutlierLines::new(&self.listed, &self.open);
        }
    }

    /// Rows of the list of groups.
    pub fn lines(&self) -> &OutlierLines {
        &self.lines
    }

    /// Lists the rows of [`Self::root_rows`] again where roots or the choice have changed.
    pub fn update_root_rows(&mut self) {
        let group = self.selected.filter(|_| self.only_selected);
        if self.root_rows.as_ref().is_none_or(|(of, _)| *of != group) {
            self.root_rows = Some((group, self.listed.list_root_rows(group)));
        }
    }

    /// Indices of the roots to list.
    pub fn root_rows(&self) -> &[usize] {
        self.root_rows.as_ref().map_or(&[], |(_, rows)| rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::Studio;

    fn group(property: RasterProperty, count: usize) -> OutlierGroup {
        OutlierGroup {
            position: 0,
            property,
            count,
            found: Vec::new(),
        }
    }

    #[test]
    fn a_name_pattern_that_is_found_late_does_not_replace_what_was_typed() {
        let document = Studio::new(Jobs::quiet()).document_id();
        let names = |from: &str| (from.to_owned(), "new_{n}".to_owned());
        let mut bar = RenameBar::default();
        bar.choose_position(0);
        bar.fill((document, 1), 0, names("a_{n}"));
        assert_eq!(bar.from, "a_{n}");
        // Another position has other names.
        bar.choose_position(1);
        bar.fill((document, 1), 1, names("b_{n}"));
        assert_eq!(bar.from, "b_{n}");
        bar.choose_position(2);
        (bar.from, bar.typed) = ("mine_{n}".to_owned(), true);
        bar.choose_position(2);
        bar.fill((document, 1), 2, names("c_{n}"));
        assert_eq!(bar.from, "mine_{n}");
        bar.fill((document, 2), 2, names("d_{n}"));
        assert_eq!(bar.from, "mine_{n}", "nor after an edit");
    }

    #[test]
    fn rows_are_groups_with_the_outliers_of_open_ones_then_accepted_values() {
        let accepted = AcceptedValue {
            place: vec![0],
            property: RasterProperty::Bands,
            found: None,
        };
        let [first, second, ..] = RasterProperty::ALL;
        let roots = [
            (3, vec![(0, first, 0)]),
            (5, vec![(0, first, 1), (0, second, 0)]),
        ];
        let mut view = ConsistencyView::default();
        view.show(Arc::new(ConsistencyLists {
            groups: vec![group(first, 2), group(second, 1_000_000)],
            roots: roots
                .into_iter()
                .map(|(root, cells)| OddRoot { root, cells })
                .collect(),
            accepted: vec![(accepted, 4)],
            ..ConsistencyLists::default()
        }));
        view.update_lines();
        assert_eq!(view.lines().len(), 3);
        view.set_open((0, first), true);
        view.update_lines();
        let found: Vec<OutlierLine> = (0..6).filter_map(|row| view.lines().line(row)).collect();
        let expected = [
            OutlierLine::Group(0),
            OutlierLine::Outlier(0, 0),
            OutlierLine::Outlier(0, 1),
            OutlierLine::Group(1),
            OutlierLine::Accepted(0),
        ];
        assert_eq!(found, expected);
        assert_eq!(view.lines().row_of_group(1), Some(3));
        view.set_open((0, second), true);
        view.update_lines();
        let last = view.lines().line(1_000_003);
        assert_eq!(last, Some(OutlierLine::Outlier(1, 999_999)));

        view.update_root_rows();
        assert_eq!(view.root_rows(), [0, 1]);
        (view.selected, view.only_selected) = (Some((0, second)), true);
        view.update_root_rows();
        assert_eq!(view.root_rows(), [1]);
        view.only_selected = false;
        view.update_root_rows();
        assert_eq!(view.root_rows(), [0, 1]);
    }

    #[test]
    fn lists_of_a_comparison_are_made_once() {
        let jobs = Jobs::quiet();
        let newest = Arc::new(Consistency::default());
        let mut view = ConsistencyView::default();
        while view.listed.of.is_none() {
            view.follow(Some(&newest), &jobs);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let shown = view.listed.clone();
        view.follow(Some(&newest), &jobs);
        assert!(Arc::ptr_eq(&shown, &view.listed));
        assert!(view.is_of(Some(&newest)) && !view.is_of(Some(&Arc::default())));
        view.follow(None, &jobs);
        assert!(view.listed.of.is_none());
    }
}
