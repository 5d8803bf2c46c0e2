//! WITH RECURSIVE: the steps are computed while the statement is planned.

use std::ops::ControlFlow;

use polars::prelude::{
    DataFrame, IntoLazy, JoinArgs, JoinType, LazyFrame, PlSmallStr, Schema, UniqueKeepStrategy, col,
};
use sqlparser::ast::{Cte, SetExpr, SetOperator, SetQuantifier};

use super::context::{Ctes, Planner};
use crate::error::{Error, Result};
use crate::query::common_types::with_common_types;
use crate::query::duckdb_arithmetic::apply_duckdb_arithmetic;
use crate::query::engine_errors::{engine_error, values_error};
use crate::query::syntax_walk::visit_relations;

/// Maximum number of steps of a recursive WITH; each is a plan of its own.
const RECURSIONS_MAX: usize = 10_000;

/// Maximum number of rows of a recursive WITH, which are in memory.
const RECURSIVE_ROWS_MAX: usize = 10_000_000;

impl Planner<'_> {
    /// The rows of a recursive WITH. They are computed here: each step sees the rows of the step
    /// before it.
    pub(super) fn recursive(
        &self,
        cte: &Cte,
        (first, all, step): (&SetExpr, bool, &SetExpr),
        ctes: &Ctes,
    ) -> Result<LazyFrame> {
        let too_large = |what: String| self.refuse_recursion(cte, what);
        let start = self.rename_columns(self.body(first, ctes, None)?.frame, &cte.alias)?;
        let step_after = |rows: LazyFrame| self.plan_step(cte, step, ctes, rows);
        let mut typed = start.clone();
        let names: Vec<PlSmallStr> = typed
            .collect_schema()
            .map_err(|error| engine_error(&error))?
            .iter_names()
            .cloned()
            .collect();
        let second = self.rename_step(cte, step_after(start.clone())?, &names)?;
        let (mut typed, _) =
            with_common_types(start, second).map_err(|error| engine_error(&error))?;
        let schema = typed
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let first = cast_columns(typed, &schema);
        let first = if all {
            first
        } else {
            first.unique_stable(None, UniqueKeepStrategy::First)
        };
        let mut rows = collect_step(first)?;
        let mut last = rows.clone();
        for steps in 0.. {
            if last.height() == 0 {
                break;
            }
            if steps >= RECURSIONS_MAX {
                return Err(too_large(format!(
                    "{} takes more than {RECURSIONS_MAX} steps",
                    cte.alias.name.value
                )));
            }
            let next = self.rename_step(cte, step_after(last.lazy())?, &names)?;
            let next = cast_columns(next, &schema);
            let next = if all {
                next
            } else {
                without_known(next, rows.clone().lazy(), &names)
            };
            last = collect_step(next)?;
            rows.vstack_mut(&last)
                .map_err(|error| engine_error(&error))?;
            if rows.height() > RECURSIVE_ROWS_MAX {
                return Err(too_large(format!(
                    "{} has more than {RECURSIVE_ROWS_MAX} rows",
                    cte.alias.name.value
                )));
            }
        }
        rows.rechunk_mut();
        Ok(rows.lazy())
    }

    fn refuse_recursion(&self, cte: &Cte, what: String) -> Error {
        let error = Error::too_large(what).hint("let the condition of the recursion end earlier");
        self.source.locate(error, cte.alias.name.span)
    }

    /// One step of the recursion over the rows of the step before it.
    fn plan_step(
        &self,
        cte: &Cte,
        step: &SetExpr,
        ctes: &Ctes,
        rows: LazyFrame,
    ) -> Result<LazyFrame> {
        Ok(self
            .body(step, &ctes.with_table(&cte.alias.name.value, rows), None)?
            .frame)
    }

    fn rename_step(
        &self,
        cte: &Cte,
        mut frame: LazyFrame,
        names: &[PlSmallStr],
    ) -> Result<LazyFrame> {
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        if schema.len() != names.len() {
            let error = Error::usage(format!(
                "the steps of {} have {} columns, not {}",
                cte.alias.name.value,
                schema.len(),
                names.len()
            ));
            return Err(self.source.locate(error, cte.alias.name.span));
        }
        let renamed = schema
            .iter_names()
            .zip(names)
            .map(|(old, new)| col(old.clone()).alias(new.clone()));
        Ok(frame.select(renamed.collect::<Vec<_>>()))
    }
}

fn collect_step(frame: LazyFrame) -> Result<DataFrame> {
    apply_duckdb_arithmetic(frame)
        .and_then(LazyFrame::collect)
        .map_err(|error| values_error(&error))
}

fn cast_columns(frame: LazyFrame, schema: &Schema) -> LazyFrame {
    let columns = schema
        .iter()
        .map(|(name, dtype)| col(name.clone()).cast(dtype.clone()));
    frame.select(columns.collect::<Vec<_>>())
}

/// The first rows of a recursive WITH, whether rows may repeat, and the step that refers to it;
/// `None` for others.
pub(super) fn recursive_parts(cte: &Cte) -> Option<(&SetExpr, bool, &SetExpr)> {
    let SetExpr::SetOperation {
        left,
        op: SetOperator::Union,
        set_quantifier,
        right,
    } = cte.query.body.as_ref()
    else {
        return None;
    };
    let name = &cte.alias.name.value;
    let found = visit_relations(right.as_ref(), |relation| {
        let is_own = relation
            .0
            .last()
            .and_then(|part| part.as_ident())
            .is_some_and(|ident| ident.value.eq_ignore_ascii_case(name));
        if is_own {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found.is_break().then_some((
        left.as_ref(),
        *set_quantifier == SetQuantifier::All,
        right.as_ref(),
    ))
}

/// The different rows that are not among the known ones.
fn without_known(frame: LazyFrame, known: LazyFrame, names: &[PlSmallStr]) -> LazyFrame {
    let keys = || names.iter().cloned().map(col).collect::<Vec<_>>();
    let arguments = JoinArgs {
        nulls_equal: true,
        ..JoinArgs::new(JoinType::Anti)
    };
    frame
        .unique_stable(None, UniqueKeepStrategy::First)
        .join(known, keys(), keys(), arguments)
}
