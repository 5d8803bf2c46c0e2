//! Written datasets as drafts: samples refer to the bytes in the dataset that they come from.

use super::draft_of_assembly::draft_of_assembly;
use super::migrate::assembly_of;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Dataset, EXTENT_ORIGIN, ExtentOrigin};

/// The draft of an opened dataset. Its samples are ranges of the dataset's files.
///
/// # Errors
/// For level tables that can't be read, and when the work is cancelled.
pub fn draft_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Dataset> {
    let mut assembly = assembly_of(reader, ctx)?;
    assembly.remember_directories(ctx)?;
    let mut dataset = draft_of_assembly(&assembly, ctx)?;
    // Fields that were computed from the samples, or replace unknown values, are computed again
    // when the draft is written.
    if ExtentOrigin::from_collection(&dataset.collection)
        .is_some_and(|origin| origin != ExtentOrigin::Stated)
    {
        dataset
            .collection
            .set("extent", Some(serde_json::Value::Null));
        dataset.collection.set(EXTENT_ORIGIN, None);
    }
    Ok(dataset)
}
