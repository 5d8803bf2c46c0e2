//! `FROM (DESCRIBE data)` and `FROM (SUMMARIZE data)`: the columns of a query, or their statistics,
//! as a table. The statistics are computed when the statement is planned.

use polars::prelude::{IntoLazy, LazyFrame};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr};

use super::context::{Ctes, Planner};
use crate::error::{Error, Result};
use crate::jobs;
use crate::query::duckdb_arithmetic::{apply_duckdb_arithmetic, typed_columns_of_result};
use crate::query::duckdb_semantics::written_column_types;
use crate::query::engine_errors::{engine_error, values_error};
use crate::query::{bounds, catalogue, summary};

impl Planner<'_> {
    /// The columns of the query that is the argument.
    pub(super) fn describe_query(&self, args: &[FunctionArg], ctes: &Ctes) -> Result<LazyFrame> {
        let written = match args {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query)))] => {
                written_column_types(query)
            }
            _ => Vec::new(),
        };
        let described = typed_columns_of_result(self.plan_argument(args, ctes)?)
            .and_then(|(schema, planned)| catalogue::describe_columns(&schema, &written, planned));
        described
            .map(IntoLazy::lazy)
            .map_err(|error| engine_error(&error))
    }

    /// The statistics of the columns of the query that is the argument.
    pub(super) fn summarize_query(&self, args: &[FunctionArg], ctes: &Ctes) -> Result<LazyFrame> {
        let job = jobs::current().map(|job| job.context).unwrap_or_default();
        let rows = apply_duckdb_arithmetic(self.plan_argument(args, ctes)?)
            .and_then(|frame| bounds::add_join_checks(frame, &job))
            .and_then(LazyFrame::collect)
            .map_err(|error| values_error(&error))?;
        summary::summarize_columns(&rows, &job)?
            .map(IntoLazy::lazy)
            .map_err(|error| values_error(&error))
    }

    fn plan_argument(&self, args: &[FunctionArg], ctes: &Ctes) -> Result<LazyFrame> {
        match args {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query)))] => {
                Ok(self.query(query, ctes, None)?.frame)
            }
            _ => Err(
                Error::usage("DESCRIBE and SUMMARIZE take a table or a query")
                    .hint("FROM (DESCRIBE data), FROM (SUMMARIZE SELECT id FROM data)"),
            ),
        }
    }
}
