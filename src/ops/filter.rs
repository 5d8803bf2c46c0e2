//! Result of filters: the remaining rows of each level.

use super::tables::tables_of;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::RowRef;
use crate::query::{self, Filter};

/// Rows that match filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptRows {
    /// The filters, one after the other.
    pub filters: Vec<Filter>,
    /// For each level the rows that stay, ascending; `None` for a level that no filter reached.
    rows: Vec<Option<Vec<u32>>>,
}

impl KeptRows {
    /// The rows of a level that stay, ascending; `None` when all of them do.
    pub fn rows(&self, level: usize) -> Option<&[u32]> {
        self.rows.get(level)?.as_deref()
    }

    /// True when this sample stays.
    pub fn contains(&self, at: RowRef) -> bool {
        self.rows(at.level)
            .is_none_or(|rows| rows.binary_search(&at.row).is_ok())
    }
}

/// The rows of every level that match `filters`.
///
/// # Errors
/// For a column that does not exist, a box, time range or condition that is malformed.
pub fn find_matching_rows(
    reader: &dyn ContainerReader,
    filters: &[Filter],
    ctx: &JobContext,
) -> Result<KeptRows> {
    let mut rows = query::kept_rows(&tables_of(reader, ctx)?, filters, ctx)?;
    for level in rows.iter_mut().flatten() {
        level.sort_unstable();
    }
    Ok(KeptRows {
        filters: filters.to_vec(),
        rows,
    })
}
