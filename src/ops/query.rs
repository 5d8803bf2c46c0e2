//! `query`: SQL over a dataset.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor, visit_read_dataset};
use super::tables::lazy_tables;
use crate::container::{self, OpenOptions};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::query::{self, Query, QueryResult};

/// Runs a query over a dataset. Reads the level tables alone, not the tree. Plain data.
///
/// # Errors
/// Those of opening the dataset and of the query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueryRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it.
    pub open: OpenOptions,
    /// Filters, statements and limit; tables `data`, `level0`, `l0`, …
    #[serde(flatten)]
    pub query: Query,
}

impl QueryRequest {
    /// A query over the dataset at `input`.
    pub fn new(input: impl Into<PathBuf>, query: Query) -> Self {
        Self {
            input: input.into(),
            query,
            ..Self::default()
        }
    }
}

impl Operation for QueryRequest {
    type Output = QueryResult;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("Run the query").into()
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
    }

    fn run(&self, ctx: &JobContext) -> Result<QueryResult> {
        query::run(
            &lazy_tables(&container::open_with(&self.input, &self.open, ctx)?),
            &self.query,
            ctx,
        )
    }
}

impl OperationOutput for QueryResult {
    fn to_json(&self) -> Json {
        let columns: Vec<Json> = self
            .columns()
            .iter()
            .map(|(name, dtype)| json!({ "name": name, "type": dtype }))
            .collect();
        let rows: Vec<Json> = self.json_rows().map(Json::Object).collect();
        json!({ "columns": columns, "rows": rows, "truncated": self.truncated })
    }

    fn summary(&self) -> String {
        tr_n!(self.row_count, "{n} row", "{n} rows", n = self.row_count)
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}
