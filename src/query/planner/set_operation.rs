//! UNION, INTERSECT and EXCEPT.

use polars::prelude::{
    DataType, JoinArgs, JoinType, LazyFrame, MaintainOrderJoin, PlSmallStr, col, int_range, len,
    lit,
};
use polars::sql::SQLContext;
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Spanned};

use super::context::{Ctes, PlannedQuery, Planner};
use crate::error::{Error, Result};
use crate::query::common_types::with_common_types;
use crate::query::engine_errors::engine_error;

impl Planner<'_> {
    /// Both queries put together, with columns by place or by name.
    pub(super) fn combine_queries(
        &self,
        left: &SetExpr,
        op: SetOperator,
        quantifier: SetQuantifier,
        right: &SetExpr,
        ctes: &Ctes,
    ) -> Result<PlannedQuery> {
        let (left, mut other) = (self.body(left, ctes, None)?, self.body(right, ctes, None)?);
        let by_name = matches!(
            quantifier,
            SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
        );
        if !by_name {
            if left.names.len() != other.names.len() {
                let (one, two) = (left.names.len(), other.names.len());
                let error = Error::usage(format!(
                    "{op} puts tables of {one} and of {two} columns together"
                ));
                return Err(self.source.locate(
                    error.hint(format!(
                        "name as many columns in both, or write {op} BY NAME"
                    )),
                    right.span(),
                ));
            }
            let names = other
                .names
                .iter()
                .zip(&left.names)
                .map(|(old, new)| col(old.as_str()).alias(new.as_str()));
            other.frame = other.frame.select(names.collect::<Vec<_>>());
        }
        let (left, right) =
            with_common_types(left.frame, other.frame).map_err(|error| engine_error(&error))?;
        if matches!(op, SetOperator::Except | SetOperator::Intersect)
            && quantifier == SetQuantifier::All
        {
            return self.plan_frame(with_repeats(left, right, op == SetOperator::Intersect)?);
        }
        let mut context = SQLContext::new();
        context.register("l", left);
        context.register("r", right);
        let frame = context.execute(&format!(
            "SELECT * FROM l {op} {quantifier} SELECT * FROM r"
        ));
        self.plan_frame(frame.map_err(|error| engine_error(&error))?)
    }
}

/// INTERSECT ALL, or EXCEPT ALL. Each row gets a number among the rows that are equal to it, where
/// nulls count as equal: the first of them is matched with the first on the other side, the second
/// with the second.
fn with_repeats(mut left: LazyFrame, right: LazyFrame, keeps_shared: bool) -> Result<LazyFrame> {
    const NUMBER: &str = "__repeat";
    let schema = left
        .collect_schema()
        .map_err(|error| engine_error(&error))?;
    let names: Vec<PlSmallStr> = schema.iter_names().cloned().collect();
    let columns = || names.iter().cloned().map(col).collect::<Vec<_>>();
    let number = int_range(lit(0), len(), 1, DataType::Int64)
        .over(columns())
        .map_err(|error| engine_error(&error))?
        .alias(NUMBER);
    let numbered = |frame: LazyFrame| frame.with_column(number.clone());
    let keys = || [columns(), vec![col(NUMBER)]].concat();
    let arguments = JoinArgs {
        maintain_order: MaintainOrderJoin::Left,
        nulls_equal: true,
        ..JoinArgs::new(if keeps_shared {
            JoinType::Semi
        } else {
            JoinType::Anti
        })
    };
    Ok(numbered(left)
        .join(numbered(right), keys(), keys(), arguments)
        .select(columns()))
}
