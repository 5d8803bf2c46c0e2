//! The hierarchy as flat rows: the visible samples with their depth, given the unfolded FOLDERs.
//! Stored as runs of siblings, so that a million roots take one entry and folding costs nothing.

use std::collections::BTreeSet;

use crate::model::{Skeleton, SkeletonLevel, id_matches, is_padding};
use crate::studio::RowRef;

/// One row of the hierarchy; `at` is `None` for the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlineNode {
    /// 0 for the root.
    pub depth: u16,
    /// The sample; for a slot, the FOLDER that lacks a child.
    pub at: Option<RowRef>,
    /// Set for a slot: a position where a sample is missing.
    pub gap: Option<Gap>,
}

/// A position of the pattern at which a FOLDER has no child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub root: u32,
    /// Index in the pattern.
    pub position: u32,
    /// Index of the child that follows it.
    pub before: u32,
}

/// Consecutive visible siblings: positions `from..from + count` among the children of `parent`.
#[derive(Clone, Copy, Debug)]
struct SiblingRun {
    /// Row number of the first one in the outline.
    start: u64,
    parent: Option<RowRef>,
    from: u32,
    count: u32,
    /// One row for a missing child.
    gap: Option<Gap>,
}

impl SiblingRun {
    fn holds_sample(&self, parent: Option<RowRef>, position: u32) -> bool {
        self.gap.is_none()
            && self.parent == parent
            && (self.from..self.from + self.count).contains(&position)
    }
}

/// The visible rows.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    runs: Vec<SiblingRun>,
    rows: u64,
    /// Samples that match a filter, in tree order; replaces the runs.
    filtered: Option<Vec<RowRef>>,
}

impl Outline {
    /// The rows of `tree` with these FOLDERs unfolded. `gaps` gives the missing children of an
    /// unfolded FOLDER, in order.
    pub fn new(
        tree: &Skeleton,
        root_open: bool,
        open: &BTreeSet<RowRef>,
        gaps: &dyn Fn(RowRef) -> Vec<Gap>,
    ) -> Self {
        let mut outline = Self {
            runs: Vec::new(),
            rows: 1,
            filtered: None,
        };
        if let Some(top) = tree.levels.first().filter(|_| root_open) {
            let opened = in_level(open, 0, 0, u32::MAX).map(|at| (at.row, at.row));
            outline.add(tree, open, gaps, None, top.len() as u32, opened.collect());
        }
        outline
    }

    /// The rows that match a filter, with the FOLDERs above them.
    pub fn from_matching_rows(kept: Vec<RowRef>) -> Self {
        Self {
            runs: Vec::new(),
            rows: 1 + kept.len() as u64,
            filtered: Some(kept),
        }
    }

    /// Appends the children of `parent`; `opened` are (position, row) of the unfolded ones, in
    /// order.
    fn add(
        &mut self,
        tree: &Skeleton,
        open: &BTreeSet<RowRef>,
        gaps: &dyn Fn(RowRef) -> Vec<Gap>,
        parent: Option<RowRef>,
        count: u32,
        opened: Vec<(u32, u32)>,
    ) {
        let level = parent.map_or(0, |parent| parent.level + 1);
        let mut lacking = parent.map(gaps).unwrap_or_default().into_iter().peekable();
        let mut from = 0;
        for (position, row) in opened {
            if position >= count {
                break;
            }
            while let Some(gap) = lacking.next_if(|gap| gap.before <= position) {
                from = self.push_gap(parent, from, gap);
            }
            self.push(parent, from, position + 1 - from);
            from = position + 1;
            let children = tree.levels[level].children(row);
            if let (Some(&first), Some(&last)) = (children.first(), children.last()) {
                let below = in_level(open, level + 1, first, last)
                    .filter_map(|at| {
                        children
                            .binary_search(&at.row)
                            .ok()
                            .map(|position| (position as u32, at.row))
                    })
                    .collect();
                self.add(
                    tree,
                    open,
                    gaps,
                    Some(RowRef { level, row }),
                    children.len() as u32,
                    below,
                );
            }
        }
        for gap in lacking {
            from = self.push_gap(
                parent,
                from,
                Gap {
                    before: gap.before.min(count),
                    ..gap
                },
            );
        }
        self.push(parent, from, count - from);
    }

    fn push(&mut self, parent: Option<RowRef>, from: u32, count: u32) {
        if count > 0 {
            self.runs.push(SiblingRun {
                start: self.rows,
                parent,
                from,
                count,
                gap: None,
            });
            self.rows += u64::from(count);
        }
    }

    /// Appends the children before a gap and the gap; returns the position after it.
    fn push_gap(&mut self, parent: Option<RowRef>, from: u32, gap: Gap) -> u32 {
        let before = gap.before.max(from);
        self.push(parent, from, before - from);
        self.runs.push(SiblingRun {
            start: self.rows,
            parent,
            from: before,
            count: 1,
            gap: Some(gap),
        });
        self.rows += 1;
        before
    }

    /// Number of rows, the root among them.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The node in `row`; the root when there is no such row.
    pub fn node(&self, tree: &Skeleton, row: u64) -> OutlineNode {
        let root = OutlineNode {
            depth: 0,
            at: None,
            gap: None,
        };
        if row == 0 {
            return root;
        }
        if let Some(kept) = &self.filtered {
            return kept.get(row as usize - 1).map_or(root, |&at| OutlineNode {
                depth: at.level as u16 + 1,
                at: Some(at),
                gap: None,
            });
        }
        let Some(run) = self
            .runs
            .partition_point(|run| run.start <= row)
            .checked_sub(1)
            .map(|index| self.runs[index])
        else {
            return root;
        };
        let level = run.parent.map_or(0, |parent| parent.level + 1);
        if run.gap.is_some() {
            return OutlineNode {
                depth: level as u16 + 1,
                at: run.parent,
                gap: run.gap,
            };
        }
        let position = run.from + (row - run.start) as u32;
        let row = match run.parent {
            None => Some(position),
            // While the outline is made again, its runs may be older than the tree.
            Some(parent) => tree
                .levels
                .get(parent.level)
                .and_then(|level| level.children(parent.row).get(position as usize).copied()),
        };
        row.map_or(root, |row| OutlineNode {
            depth: level as u16 + 1,
            at: Some(RowRef { level, row }),
            gap: None,
        })
    }

    /// The row of the slot for a position of the pattern in a root, if it shows.
    pub fn find_gap(&self, root: u32, position: u32) -> Option<u64> {
        let here = |gap: &Gap| (gap.root, gap.position) == (root, position);
        self.runs
            .iter()
            .find(|run| run.gap.as_ref().is_some_and(here))
            .map(|run| run.start)
    }

    /// The row in which a sample shows, if it does.
    pub fn find(&self, tree: &Skeleton, at: RowRef) -> Option<u64> {
        if let Some(kept) = &self.filtered {
            // In tree order the roots ascend and the samples below a root are adjacent.
            let root = |at: RowRef| ancestors(tree, at).first().map_or(at.row, |root| root.row);
            let own = root(at);
            let from = kept.partition_point(|&other| root(other) < own);
            let place = kept[from..]
                .iter()
                .take_while(|&&other| root(other) == own)
                .position(|&other| other == at);
            return place.map(|place| (from + place) as u64 + 1);
        }
        let (parent, position) = match at.level {
            0 => (None, at.row),
            level => {
                let parent = *tree.levels.get(level)?.parents.get(at.row as usize)?;
                let position = tree.levels[level - 1]
                    .children(parent)
                    .binary_search(&at.row)
                    .ok()? as u32;
                (
                    Some(RowRef {
                        level: level - 1,
                        row: parent,
                    }),
                    position,
                )
            }
        };
        let run = self
            .runs
            .iter()
            .find(|run| run.holds_sample(parent, position))?;
        Some(run.start + u64::from(position - run.from))
    }
}

fn in_level(
    open: &BTreeSet<RowRef>,
    level: usize,
    first: u32,
    last: u32,
) -> impl Iterator<Item = RowRef> + '_ {
    open.range(RowRef { level, row: first }..=RowRef { level, row: last })
        .copied()
}

/// The folders above a sample, outermost first.
pub fn ancestors(tree: &Skeleton, at: RowRef) -> Vec<RowRef> {
    let mut above = Vec::with_capacity(at.level);
    let mut row = at.row;
    for level in (1..=at.level).rev() {
        let Some(&parent) = tree
            .levels
            .get(level)
            .and_then(|table| table.parents.get(row as usize))
        else {
            break;
        };
        above.push(RowRef {
            level: level - 1,
            row: parent,
        });
        row = parent;
    }
    above.reverse();
    above
}

/// The samples that match a filter, with the FOLDERs above them, in tree order.
pub fn keep(tree: &Skeleton, mut wanted: impl FnMut(RowRef, &str) -> bool) -> Vec<RowRef> {
    let mut kept: Vec<Vec<bool>> = tree
        .levels
        .iter()
        .map(|level| vec![false; level.len()])
        .collect();
    for (level, table) in tree.levels.iter().enumerate().rev() {
        for row in 0..table.len() {
            let at = RowRef {
                level,
                row: row as u32,
            };
            // Asked for every sample, also where one below it matches.
            if wanted(at, table.id(row as u32)) || kept[level][row] {
                kept[level][row] = true;
                let parent = table.parents[row] as usize;
                if level > 0 && parent < kept[level - 1].len() {
                    kept[level - 1][parent] = true;
                }
            }
        }
    }
    let mut rows = Vec::new();
    let top = tree.levels.first().map_or(0, |level| level.len());
    let mut stack: Vec<RowRef> = (0..top as u32)
        .rev()
        .map(|row| RowRef { level: 0, row })
        .collect();
    while let Some(at) = stack.pop() {
        if !kept[at.level][at.row as usize] {
            continue;
        }
        rows.push(at);
        let children = tree.levels[at.level].children(at.row);
        stack.extend(children.iter().rev().map(|&row| RowRef {
            level: at.level + 1,
            row,
        }));
    }
    rows
}

/// The samples that match a filter and are not inside a folded FOLDER, in tree order.
pub fn keep_open(
    tree: &Skeleton,
    root_open: bool,
    open: &BTreeSet<RowRef>,
    kept: impl Fn(RowRef) -> bool,
) -> Vec<RowRef> {
    let mut rows = Vec::new();
    let top = tree
        .levels
        .first()
        .filter(|_| root_open)
        .map_or(0, |level| level.len());
    let mut stack: Vec<RowRef> = Vec::new();
    for row in 0..top as u32 {
        stack.push(RowRef { level: 0, row });
        while let Some(at) = stack.pop() {
            if !kept(at) {
                continue;
            }
            rows.push(at);
            if open.contains(&at) {
                let children = tree.levels[at.level].children(at.row);
                stack.extend(children.iter().rev().map(|&row| RowRef {
                    level: at.level + 1,
                    row,
                }));
            }
        }
    }
    rows
}

/// True when an id contains the typed text, or matches it as a pattern with `*` and `?`; ignores
/// case.
pub fn matches(filter: &str, id: &str) -> bool {
    let (filter, id) = (filter.to_lowercase(), id.to_lowercase());
    if !filter.contains(['*', '?']) {
        return id.contains(&filter);
    }
    id_matches(&filter, &id)
}

/// Number of placeholders on every level.
pub fn count_placeholders(tree: &Skeleton) -> u64 {
    tree.levels.iter().map(count_level_placeholders).sum()
}

fn count_level_placeholders(level: &SkeletonLevel) -> u64 {
    (0..level.len())
        .filter(|&row| is_padding(level.id(row as u32)))
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, Tortilla};

    fn tree() -> Skeleton {
        let scene = |id: &str| {
            let parts = vec![
                Sample::new_file("t0", "/t0", 1),
                Sample::new_file("t1", "/t1", 1),
            ];
            let s2 = Sample::new_folder("s2", Tortilla::new(parts));
            Sample::new_folder(
                id,
                Tortilla::new(vec![Sample::new_file("dem", "/d", 1), s2]),
            )
        };
        let root = Tortilla::new(vec![scene("a"), scene("b"), scene("c")]);
        Skeleton::from_dataset(&Dataset {
            root: root.into(),
            ..Dataset::default()
        })
    }

    fn at(level: usize, row: u32) -> RowRef {
        RowRef { level, row }
    }

    fn ids(outline: &Outline, tree: &Skeleton) -> Vec<String> {
        (0..outline.rows())
            .map(|row| {
                let node = outline.node(tree, row);
                let id = node
                    .at
                    .map_or("root", |at| tree.levels[at.level].id(at.row));
                format!("{}{id}", " ".repeat(node.depth.into()))
            })
            .collect()
    }

    #[test]
    fn unfolded_folders_show_their_children_in_place() {
        let tree = tree();
        let none = |_| Vec::new();
        assert_eq!(
            ids(&Outline::new(&tree, false, &BTreeSet::new(), &none), &tree),
            ["root"]
        );
        assert_eq!(
            ids(&Outline::new(&tree, true, &BTreeSet::new(), &none), &tree),
            ["root", " a", " b", " c"]
        );
        // The second scene is row 1; its s2 is row 3 of level 1.
        let open = BTreeSet::from([at(0, 1), at(1, 3)]);
        let outline = Outline::new(&tree, true, &open, &none);
        assert_eq!(
            ids(&outline, &tree),
            ["root", " a", " b", "  dem", "  s2", "   t0", "   t1", " c"]
        );
        for row in 1..outline.rows() {
            let node = outline.node(&tree, row).at.expect("is a sample");
            assert_eq!(outline.find(&tree, node), Some(row));
        }
        assert_eq!(
            outline.find(&tree, at(1, 0)),
            None,
            "a child of a folded scene does not show"
        );
        // An open folder inside a folded one shows nothing.
        assert_eq!(
            Outline::new(&tree, true, &BTreeSet::from([at(1, 3)]), &none).rows(),
            4
        );
        assert_eq!(ancestors(&tree, at(2, 3)), [at(0, 1), at(1, 3)]);
    }

    #[test]
    fn what_is_missing_has_a_row_where_it_belongs() {
        let tree = tree();
        let open = BTreeSet::from([at(0, 1), at(1, 3)]);
        let gap = |position, before| Gap {
            root: 1,
            position,
            before,
        };
        let gaps = |folder: RowRef| match folder {
            RowRef { level: 0, .. } => vec![gap(0, 0), gap(1, 1), gap(7, 2)],
            _ => vec![gap(4, 1), gap(5, 1)],
        };
        let outline = Outline::new(&tree, true, &open, &gaps);
        let rows: Vec<String> = (0..outline.rows())
            .map(|row| {
                let node = outline.node(&tree, row);
                match (node.gap, node.at) {
                    (Some(gap), _) => format!("{}?{}", " ".repeat(node.depth.into()), gap.position),
                    (None, Some(at)) => format!(
                        "{}{}",
                        " ".repeat(node.depth.into()),
                        tree.levels[at.level].id(at.row)
                    ),
                    (None, None) => "root".into(),
                }
            })
            .collect();
        assert_eq!(
            rows,
            [
                "root", " a", " b", "  ?0", "  dem", "  ?1", "  s2", "   t0", "   ?4", "   ?5",
                "   t1", "  ?7", " c"
            ]
        );
        for row in 1..outline.rows() {
            let node = outline.node(&tree, row);
            let found = match node.gap {
                Some(gap) => outline.find_gap(gap.root, gap.position),
                None => outline.find(&tree, node.at.expect("is a sample")),
            };
            assert_eq!(found, Some(row));
        }
        assert_eq!(outline.find_gap(0, 0), None);
    }

    #[test]
    fn an_outline_older_than_its_tree_names_no_row_that_is_gone() {
        let old = tree();
        let open = BTreeSet::from([at(0, 2), at(1, 5)]);
        let outline = Outline::new(&old, true, &open, &|_| Vec::new());
        let rest = Tortilla::new(vec![Sample::new_file("a", "/a", 1)]);
        let new = Skeleton::from_dataset(&Dataset {
            root: rest.into(),
            ..Dataset::default()
        });
        let mut below = (4..outline.rows()).map(|row| outline.node(&new, row));
        assert!(below.all(|node| node.at.is_none()));
    }

    #[test]
    fn a_filter_keeps_what_matches_and_the_way_to_it() {
        let tree = tree();
        let kept = keep(&tree, |at, id| at.row == 2 && matches("t?", id));
        let outline = Outline::from_matching_rows(kept);
        assert_eq!(ids(&outline, &tree), ["root", " b", "  s2", "   t0"]);
        assert_eq!(outline.find(&tree, at(2, 2)), Some(3));
    }

    #[test]
    fn patterns() {
        for (filter, id, expected) in [
            ("ROI", "roi_0007", true),
            ("roi_00*", "roi_0007", true),
            ("*7", "roi_0007", true),
            ("r?i*0*", "roi_0007", true),
            ("roi_00?", "roi_0007", false),
            ("a*b", "ab", true),
            ("a*b", "abc", false),
        ] {
            assert_eq!(matches(filter, id), expected, "{filter} {id}");
        }
    }
}
