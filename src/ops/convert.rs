//! `convert`: an opened dataset in another container.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::migrate::is_other_generation;
use super::operation::{Operation, PathUse, PathVisitor, visit_read_dataset};
use super::write::{warn_of_classes, write_verified};
use crate::container::{self, Assembly, BuildOptions, Built, OpenOptions};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, release};

/// Writes an opened dataset in another container; sample bytes and metadata values are unchanged.
/// Plain data.
///
/// # Errors
/// For other generations, which [`super::MigrateRequest`] handles, and files that can't be read or
/// written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConvertRequest {
    /// The dataset.
    pub input: PathBuf,
    /// Options for opening it.
    #[serde(default)]
    pub open: OpenOptions,
    /// Target and options.
    pub options: BuildOptions,
}

impl Operation for ConvertRequest {
    type Output = Built;

    fn label(&self) -> String {
        tr!("Convert {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.options.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        self.options.refuse_existing_target()?;
        write_verified(
            &converted_assembly(&self.input, &self.open, ctx)?,
            &self.options,
            ctx,
        )
    }
}

/// A written dataset arranged for the writers, with an extent that has all its samples.
///
/// # Errors
/// Those of [`ConvertRequest`] that are known before anything is written.
pub(super) fn converted_assembly(
    input: &Path,
    open: &OpenOptions,
    ctx: &JobContext,
) -> Result<Assembly> {
    let reader = container::open_with(input, open, ctx)?;
    if is_other_generation(reader.as_ref()) {
        let message = format!(
            "this dataset is of generation {}",
            reader.info().format.generation()
        );
        return Err(Error::usage(message)
            .at_path(input)
            .hint("use `migrate`, which reports what becomes of each field"));
    }
    let mut assembly = Assembly::of_reader(reader.as_ref(), ctx)?;
    warn_of_classes(&assembly.collection.fields, ctx);
    assembly.correct_extent(ctx)?;
    // Its directory and tables have an entry for every sample.
    release(reader);
    Ok(assembly)
}
