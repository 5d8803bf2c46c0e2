//! Written datasets as drafts: samples refer to the bytes in the dataset that they come from.

use super::draft_of_assembly::draft_of_assembly;
use super::migrate::assembly_of;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::Dataset;

/// The draft of an opened dataset. Its samples are ranges of the dataset's files.
///
/// # Errors
/// For level tables that can't be read, and when the work is cancelled.
pub fn draft_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Dataset> {
    let mut assembly = assembly_of(reader, ctx)?;
    assembly.remember_directories(ctx)?;
    draft_of_assembly(&assembly, ctx)
}
