//! `consolidate`: an index over several ZIPs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Operation, PathUse, PathVisitor};
use crate::container::{Built, ConsolidateOptions, consolidate};
use crate::error::Result;
use crate::jobs::JobContext;

/// Writes an index over several ZIPs: TACOCAT or TACOLLECTION. Plain data.
///
/// # Errors
/// Those of [`consolidate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsolidateRequest {
    /// Inputs, target and options.
    pub options: ConsolidateOptions,
}

impl Operation for ConsolidateRequest {
    type Output = Built;

    fn label(&self) -> String {
        let datasets = self.options.inputs.len();
        tr_n!(
            datasets,
            "Join {n} dataset",
            "Join {n} datasets",
            n = datasets
        )
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        self.options
            .inputs
            .iter_mut()
            .for_each(|input| visit(PathUse::Read, input));
        visit(PathUse::Write, &mut self.options.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        consolidate(&self.options, ctx)
    }
}
