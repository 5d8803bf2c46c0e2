//! Inputs of aggregates and windows that refer to no column become columns of the frame: the engine
//! takes a constant for one row, however many rows the group has.

use std::ops::ControlFlow;

use polars::prelude::LazyFrame;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
};

use super::duckdb_semantics::{column, name_of};
use super::engine::SqlEngine;
use super::syntax_walk::visit_expressions;
use crate::error::Result;

/// Aggregates whose arguments behind the first are parameters: a quantile, a separator, a number of
/// values.
const WITH_PARAMETERS: [&str; 10] = [
    "approx_quantile",
    "group_concat",
    "listagg",
    "max",
    "min",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "reservoir_quantile",
    "string_agg",
];

/// Constant inputs of the aggregates, or of the windows, of one SELECT.
pub(super) struct ConstantInputs<'p, 'a> {
    engine: &'p SqlEngine<'a>,
    columns: Vec<(Expr, String)>,
}

impl<'p, 'a> ConstantInputs<'p, 'a> {
    pub fn new(engine: &'p SqlEngine<'a>) -> Self {
        Self {
            engine,
            columns: Vec::new(),
        }
    }

    /// Replaces an expression that refers to no column by a column.
    pub fn replace(&mut self, expr: &mut Expr) {
        if refers_to_column(expr) {
            return;
        }
        let known = self
            .columns
            .iter()
            .find(|(constant, _)| constant == expr)
            .map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.engine.unique("__constant");
            self.columns.push((expr.clone(), name.clone()));
            name
        });
        *expr = column(&name);
    }

    /// Replaces the constant inputs of an aggregate call: arguments, FILTER and ORDER BY.
    pub fn replace_in(&mut self, call: &mut Function) {
        for_each_input(call, |input| self.replace(input));
    }

    /// The frame with the columns of the constants.
    ///
    /// # Errors
    /// As [`SqlEngine::add_columns`].
    pub fn add_columns(self, frame: LazyFrame) -> Result<LazyFrame> {
        self.engine.add_columns(frame, &self.columns)
    }
}

/// Calls `visit` for each expression of an aggregate call that has a value for every row: arguments
/// that are no parameters, FILTER and ORDER BY.
pub(super) fn for_each_input(call: &mut Function, mut visit: impl FnMut(&mut Expr)) {
    // In WITHIN GROUP the rows are in the order, and the arguments are parameters.
    let parameters_from = match (
        call.within_group.is_empty(),
        WITH_PARAMETERS.contains(&name_of(call).as_str()),
    ) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => usize::MAX,
    };
    if let FunctionArguments::List(list) = &mut call.args {
        for (at, argument) in list.args.iter_mut().enumerate() {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument
                && at < parameters_from
            {
                visit(expr);
            }
        }
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(keys) = clause {
                keys.iter_mut().for_each(|key| visit(&mut key.expr));
            }
        }
    }
    call.within_group
        .iter_mut()
        .for_each(|key| visit(&mut key.expr));
    if let Some(filter) = &mut call.filter {
        visit(filter);
    }
}

/// True when a bound expression uses a column. Columns are quoted; parameters of lambdas are not.
fn refers_to_column(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(ident) if ident.quote_style.is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
