//! How the rows of level tables are stored, and what slows filters of large ones down.
//! `docs/SCALE.md` has the measurements behind the limits.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};

use crate::container::{ContainerReader, LevelSet};
use crate::table::RowGroups;

/// Rows from which the layout of a table matters.
pub const MANY_ROWS: usize = 100_000_000;
/// Mean rows of a row group below which the footer costs more than small groups save.
const SMALL_GROUP: usize = 100_000;
/// Rows of a row group above which a reader holds too much in memory, and excludes too little.
const LARGE_GROUP: usize = 2_000_000;
/// Share of a column's range that a row group spans on average, above which its bounds exclude next
/// to nothing.
const UNORDERED: f64 = 0.5;

/// Storage of a level table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLayout {
    /// The level.
    pub level: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of row groups.
    pub groups: usize,
    /// Rows of the largest row group.
    pub largest_group: usize,
    /// The column in whose order the rows are, as far as bounds of the row groups show, and the
    /// share of its range that a row group spans on average; `None` without bounds of numbers or
    /// times.
    pub order: Option<(String, f64)>,
}

/// What to change in a layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Advice {
    /// Row groups have so few rows on average.
    SmallGroups(usize),
    /// A row group has so many rows.
    LargeGroups(usize),
    /// The bounds of row groups exclude next to nothing.
    Unordered,
}

impl Advice {
    /// For the user.
    pub fn sentence(&self) -> String {
        let rows = |rows: &usize| rows.to_string();
        match self {
            Self::SmallGroups(mean) => {
                tr!(
                    "{rows} rows in a row group make a large footer, which readers load first: \
                    write 250,000 to 1,000,000",
                    rows = rows(mean)
                )
            }
            Self::LargeGroups(most) => tr!(
                "{rows} rows in a row group need much memory, and a filter excludes little: write \
                    250,000 to 1,000,000",
                rows = rows(most)
            ),
            Self::Unordered => tr!(
                "rows are in no order of a time or number, so a filter reads every row group: \
                    sort them, or write a dataset for each year or region"
            )
            .to_owned(),
        }
    }
}

impl TableLayout {
    /// What to change; nothing for tables of fewer than [`MANY_ROWS`] rows.
    pub fn advice(&self) -> Vec<Advice> {
        if self.rows < MANY_ROWS {
            return Vec::new();
        }
        let mean = self.rows / self.groups.max(1);
        let small = (mean < SMALL_GROUP).then_some(Advice::SmallGroups(mean));
        let large =
            (self.largest_group > LARGE_GROUP).then_some(Advice::LargeGroups(self.largest_group));
        let is_ordered = self.groups < 2
            || self
                .order
                .as_ref()
                .is_some_and(|(_, span)| *span <= UNORDERED);
        small
            .into_iter()
            .chain(large)
            .chain((!is_ordered).then_some(Advice::Unordered))
            .collect()
    }
}

/// The layouts of the levels that are Parquet, from their footers alone.
pub fn table_layouts(reader: &dyn ContainerReader) -> Vec<TableLayout> {
    let levels = reader.levels();
    (0..levels.count())
        .filter_map(|level| read_level_layout(levels, level))
        .collect()
}

/// The layout of a level; `None` where it is no Parquet.
fn read_level_layout(levels: &LevelSet, level: usize) -> Option<TableLayout> {
    let groups = RowGroups::new(levels.head(level)?);
    let rows_of = || (0..groups.count()).map(|group| groups.rows(group));
    let fields = groups
        .schema()
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| !field.name().starts_with("internal:"));
    let spans = fields.filter_map(|(column, field)| {
        Some((field.name().clone(), mean_span(&groups.bounds(column)?)?))
    });
    Some(TableLayout {
        level,
        rows: rows_of().sum(),
        groups: groups.count(),
        largest_group: rows_of().max().unwrap_or(0),
        order: spans.min_by(|(_, a), (_, b)| a.total_cmp(b)),
    })
}

/// Mean share of the whole range that the range of a row group has; `None` where bounds are missing
/// or all values are equal.
fn mean_span((low, high): &(ArrayRef, ArrayRef)) -> Option<f64> {
    let (low, high) = (cast_bounds(low)?, cast_bounds(high)?);
    let (low, high) = (
        low.as_primitive::<Float64Type>(),
        high.as_primitive::<Float64Type>(),
    );
    let known: Vec<(f64, f64)> = (0..low.len())
        .filter(|&group| low.is_valid(group) && high.is_valid(group))
        .map(|group| (low.value(group), high.value(group)))
        .collect();
    // Groups without bounds are read by every filter.
    let unknown = (low.len() - known.len()) as f64;
    let first = known
        .iter()
        .map(|(low, _)| *low)
        .fold(f64::INFINITY, f64::min);
    let last = known
        .iter()
        .map(|(_, high)| *high)
        .fold(f64::NEG_INFINITY, f64::max);
    let range = last - first;
    if !range.is_finite() || range <= 0.0 {
        return None;
    }
    Some(
        (known
            .iter()
            .map(|(low, high)| (high - low) / range)
            .sum::<f64>()
            + unknown)
            / low.len() as f64,
    )
}

/// Bounds as doubles; times are numbers.
fn cast_bounds(bounds: &ArrayRef) -> Option<ArrayRef> {
    let whole = if bounds.data_type().is_temporal() {
        cast(bounds, &DataType::Int64).or_else(|_| cast(bounds, &DataType::Int32))
    } else {
        Ok(bounds.clone())
    };
    cast(&whole.ok()?, &DataType::Float64).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, TimestampMicrosecondArray};

    use super::*;

    fn layout(rows: usize, groups: usize, span: f64) -> TableLayout {
        TableLayout {
            level: 0,
            rows,
            groups,
            largest_group: rows.div_ceil(groups),
            order: Some(("stac:time_start".into(), span)),
        }
    }

    #[test]
    fn large_tables_want_row_groups_of_a_middle_size_and_an_order() {
        assert_eq!(layout(MANY_ROWS, 200, 0.005).advice(), []);
        assert_eq!(
            layout(MANY_ROWS, 2_000, 0.01).advice(),
            [Advice::SmallGroups(50_000)]
        );
        assert_eq!(
            layout(MANY_ROWS, 10, 0.1).advice(),
            [Advice::LargeGroups(10_000_000)]
        );
        assert_eq!(layout(MANY_ROWS, 200, 0.99).advice(), [Advice::Unordered]);
        assert_eq!(
            TableLayout {
                order: None,
                ..layout(MANY_ROWS, 200, 0.0)
            }
            .advice(),
            [Advice::Unordered]
        );
        assert_eq!(
            layout(MANY_ROWS - 1, 10, 0.99).advice(),
            [],
            "small tables are read whole"
        );
    }

    #[test]
    fn the_span_is_the_mean_share_of_the_range_that_a_group_has() {
        let span = |low: Vec<Option<i64>>, high: Vec<Option<i64>>| {
            let times: [ArrayRef; 2] = [
                Arc::new(TimestampMicrosecondArray::from(low.clone())),
                Arc::new(TimestampMicrosecondArray::from(high.clone())),
            ];
            let numbers: [ArrayRef; 2] = [
                Arc::new(Int64Array::from(low)),
                Arc::new(Int64Array::from(high)),
            ];
            let [low, high] = numbers;
            let found = mean_span(&(low, high));
            let [low, high] = times;
            assert_eq!(mean_span(&(low, high)), found);
            found
        };
        assert_eq!(
            span(
                vec![Some(0), Some(25), Some(50), Some(75)],
                vec![Some(25), Some(50), Some(75), Some(100)]
            ),
            Some(0.25)
        );
        assert_eq!(
            span(vec![Some(0), Some(0)], vec![Some(100), Some(100)]),
            Some(1.0)
        );
        assert_eq!(
            span(vec![Some(0), None], vec![Some(100), None]),
            Some(1.0),
            "every filter reads a group without bounds"
        );
        assert_eq!(span(vec![Some(7), Some(7)], vec![Some(7), Some(7)]), None);
    }
}
