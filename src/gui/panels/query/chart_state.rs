//! State of the chart of a query's rows. Imports no panel context, so that the list of panels can
//! hold it.

use std::sync::Arc;

use crate::jobs::AsyncValue;

/// How the rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartKind {
    /// As a table.
    #[default]
    Rows,
    /// A bar per row, or per distinct value.
    Bars,
    /// A line over ascending x values.
    Line,
    /// A point per row.
    Points,
}

#[derive(Default)]
pub struct ChartState {
    /// How the rows are shown.
    pub shape: ChartKind,
    /// Names of the columns, kept across queries.
    pub(super) x: Option<String>,
    pub(super) y: Option<String>,
    /// By serial number of the result, shape and columns.
    pub(super) data: AsyncValue<(u64, ChartKind, usize, Option<usize>), Arc<ChartData>>,
}

/// The values of a chart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ChartData {
    /// x and y; x of a bar is its position, from 0.
    pub(super) points: Vec<[f64; 2]>,
    /// Texts of the bars.
    pub(super) labels: Vec<String>,
    /// Values that the chart would have without its limit.
    pub(super) all: usize,
    /// Rows without a value.
    pub(super) without: usize,
    /// The x values are numbers of rows, as the column has no order.
    pub(super) numbered: bool,
}
