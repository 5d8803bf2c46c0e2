//! The FILEs beside a sample, in the order of their rows.

use crate::studio::{Document, RowRef};

/// Rows of siblings in order.
struct SiblingRows<'a> {
    /// `None` for level 0, of which all rows are siblings.
    children: Option<&'a [u32]>,
    /// Number of rows of the level.
    count: usize,
}

impl SiblingRows<'_> {
    fn row_at(&self, index: usize) -> Option<u32> {
        match self.children {
            None => (index < self.count).then_some(index as u32),
            Some(rows) => rows.get(index).copied(),
        }
    }
}

/// The siblings of `at` as rows (all rows for level 0), and the index of `at` among them.
fn locate_among_siblings(document: &Document, at: RowRef) -> Option<(SiblingRows<'_>, usize)> {
    let tree = document.tree();
    let level = tree.levels.get(at.level)?;
    let siblings = match at.level.checked_sub(1) {
        Some(above) => Some(tree.levels[above].children(*level.parents.get(at.row as usize)?)),
        None => None,
    };
    let place = match siblings {
        None => at.row as usize,
        Some(rows) => rows.binary_search(&at.row).ok()?,
    };
    Some((
        SiblingRows {
            children: siblings,
            count: level.len(),
        },
        place,
    ))
}

/// The FILE `step` positions after `at` among its siblings.
pub fn find_sibling_file(document: &Document, at: RowRef, step: i64) -> Option<RowRef> {
    let (siblings, place) = locate_among_siblings(document, at)?;
    let level = document.tree().levels.get(at.level)?;
    let mut index = place as i64;
    loop {
        index += step;
        let row = siblings.row_at(usize::try_from(index).ok()?)?;
        if !level.folder[row as usize] {
            return Some(RowRef {
                level: at.level,
                row,
            });
        }
    }
}

/// At most `room` FILEs around `at`, in order.
pub fn list_files_around(document: &Document, at: RowRef, room: usize) -> Vec<RowRef> {
    let mut found = std::collections::VecDeque::from([at]);
    let (mut before, mut after) = (
        find_sibling_file(document, at, -1),
        find_sibling_file(document, at, 1),
    );
    while found.len() < room && (before.is_some() || after.is_some()) {
        if let Some(next) = after.take() {
            found.push_back(next);
            after = find_sibling_file(document, next, 1);
        }
        if found.len() < room
            && let Some(next) = before.take()
        {
            found.push_front(next);
            before = find_sibling_file(document, next, -1);
        }
    }
    found.into()
}
