//! State of the view "Consistency", and its lists of the newest comparison.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::draft::Renaming;
use crate::gui::document_key::DocumentKey;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::{Accepted, Consistency, Property};

/// Rows of the overview strip.
pub const BINS: usize = 256;

/// Outliers of one property at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlierGroup {
    /// Index of the position.
    pub position: usize,
    pub property: Property,
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
    pub cells: Vec<(usize, Property, usize)>,
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
    pub accepted: Vec<(Accepted, usize)>,
}

impl ConsistencyLists {
    /// Lists a comparison.
    pub fn new(consistency: &Arc<Consistency>) -> Self {
        let mut listed = Self {
            of: Some(consistency.clone()),
            accepted: consistency.accepted.clone(),
            ..Self::default()
        };
        let mut roots: BTreeMap<u32, Vec<(usize, Property, usize)>> = BTreeMap::new();
        for (index, position) in consistency.positions.iter().enumerate() {
            let mut bins = vec![false; BINS];
            for property in Property::ALL {
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

    /// Rows of the list, with the outliers of open groups.
    pub fn lines(&self, open: &HashSet<(usize, Property)>) -> Vec<OutlierLine> {
        let mut lines = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            lines.push(OutlierLine::Group(index));
            if open.contains(&(group.position, group.property)) {
                lines.extend((0..group.count).map(|outlier| OutlierLine::Outlier(index, outlier)));
            }
        }
        lines.extend((0..self.accepted.len()).map(OutlierLine::Accepted));
        lines
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
    /// Input for which the fields were filled.
    pub filled_for: Option<(DocumentKey, u32)>,
    pub proposed: AsyncValue<(DocumentKey, u32), Option<(String, String)>>,
    pub preview: AsyncValue<(DocumentKey, u32, String, String), Arc<Renaming>>,
}

#[derive(Default)]
pub struct ConsistencyView {
    pub listed: ConsistencyLists,
    /// Position and property that are highlighted.
    pub selected: Option<(usize, Property)>,
    /// Groups with their outliers.
    pub open: HashSet<(usize, Property)>,
    /// Show only the roots of the selected group.
    pub only_selected: bool,
    pub table_scroll: RowScroll,
    pub roots_scroll: RowScroll,
    pub groups_scroll: RowScroll,
    pub rename: RenameBar,
}
