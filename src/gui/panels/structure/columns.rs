//! Layout of the columns of the matrix: one column for each position of the pattern, with gaps
//! between groups.

use crate::gui::draft_structure::StructureSummary;

/// Smallest and largest width of a column in points; in between, the width of its id.
const CELL: f32 = 58.0;
const WIDEST: f32 = 124.0;
/// Width of a letter of an id, and of the rest of its card, in points.
pub(super) const LETTER: f32 = 7.3;
pub(super) const BESIDE: f32 = 28.0;
const GAP: f32 = 6.0;
/// Gap between groups of positions, in points.
const GROUP: f32 = 8.0;

/// Layout of the columns.
pub(super) struct StructureColumns {
    /// Left edge of each position, from the left edge of the first.
    pub left: Vec<f32>,
    /// For each position, the index after its last descendant.
    pub end: Vec<usize>,
    /// Width of each.
    pub cell: f32,
    pub width: f32,
}

impl StructureColumns {
    pub fn new(summary: &StructureSummary) -> Self {
        let count = summary.pattern.len();
        let longest = summary
            .pattern
            .iter()
            .map(|node| node.id.chars().count())
            .max()
            .unwrap_or(0);
        let cell = (longest as f32 * LETTER + BESIDE)
            .clamp(CELL, WIDEST)
            .round();
        let mut end: Vec<usize> = (1..=count).collect();
        for index in (0..count).rev() {
            if let Some(parent) = summary.pattern[index].parent {
                end[parent as usize] = end[parent as usize].max(end[index]);
            }
        }
        let mut left = Vec::with_capacity(count);
        let mut x = 0.0;
        let mut group_before = false;
        for (index, node) in summary.pattern.iter().enumerate() {
            if node.parent.is_none() {
                let group = end[index] > index + 1;
                if index > 0 && (group || group_before) {
                    x += GROUP;
                }
                group_before = group;
            }
            left.push(x);
            x += cell + GAP;
        }
        Self {
            left,
            end,
            cell,
            width: (x - GAP).max(0.0),
        }
    }

    /// The position whose column holds `x`.
    pub fn position_at(&self, x: f32) -> Option<u32> {
        let index = self
            .left
            .partition_point(|&left| left <= x)
            .checked_sub(1)?;
        (x <= self.left[index] + self.cell).then_some(index as u32)
    }

    /// Left and right edge of a position including its descendants.
    pub fn span(&self, index: usize) -> (f32, f32) {
        (self.left[index], self.left[self.end[index] - 1] + self.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Structure;
    use crate::model::{Dataset, Sample, Tortilla};

    fn summary(parts: Vec<Sample>) -> StructureSummary {
        let roots = vec![Sample::new_folder("a", Tortilla::new(parts))];
        let data = Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        };
        StructureSummary {
            pattern: Structure::from_dataset(&data).pattern().to_vec(),
            ..StructureSummary::default()
        }
    }

    #[test]
    fn columns_are_found_by_where_they_are() {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let s2 = Sample::new_folder("s2", Tortilla::new(vec![file("t0"), file("t1")]));
        let summary = summary(vec![s2, file("dem"), file("label")]);
        let columns = StructureColumns::new(&summary);
        assert_eq!(columns.end, [3, 2, 3, 4, 5]);
        for (index, &left) in columns.left.iter().enumerate() {
            assert_eq!(
                columns.position_at(left + columns.cell / 2.0),
                Some(index as u32)
            );
        }
        assert_eq!(
            columns.position_at(columns.left[3] - 2.0),
            None,
            "between two groups is nothing"
        );
        assert_eq!(
            columns.left[4] - columns.left[3],
            columns.cell + GAP,
            "two files side by side are no groups"
        );
        assert_eq!(columns.span(0), (0.0, columns.left[2] + columns.cell));
        assert_eq!(summary.path(2), ["s2", "t1"]);
        assert_eq!(summary.siblings(2).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn columns_are_as_wide_as_the_longest_id_within_limits() {
        let width = |id: &str| {
            StructureColumns::new(&summary(vec![
                Sample::new_file("t0", "/x", 1),
                Sample::new_file(id, "/x", 1),
            ]))
            .cell
        };
        assert_eq!(width("t1"), CELL);
        assert!(
            width("before.tif") >= 10.0 * LETTER + 25.0,
            "the name is not cut"
        );
        assert_eq!(
            width("a_name_that_never_seems_to_come_to_an_end.tif"),
            WIDEST
        );
    }
}
