//! The tree of a dataset for checks of samples.

use std::sync::Arc;

use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::Skeleton;

/// The tree; `None` where a level is unreadable, which the checks of levels report.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn read_tree(
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<Option<Arc<Skeleton>>> {
    match reader.levels().skeleton(ctx) {
        Ok(tree) => Ok(Some(tree)),
        Err(error) if error.is_cancelled() => Err(error),
        Err(_) => Ok(None),
    }
}
