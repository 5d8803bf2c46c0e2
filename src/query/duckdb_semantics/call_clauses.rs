//! The arguments of a call, and the clauses within its parentheses.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, NullTreatment, OrderByExpr,
};

use super::expressions::{name_of, span_of};
use crate::error::{Error, Result};
use crate::query::source_span::StatementSource;

/// Arguments and clauses of a call.
#[derive(Clone, Debug, Default)]
pub(in crate::query) struct Call {
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    pub order: Vec<OrderByExpr>,
    pub ignores_nulls: bool,
    /// `count(*)`.
    pub star: bool,
    /// Names of the arguments, as in `struct_pack(a := 1)`; empty where one has none.
    pub names: Vec<String>,
}

/// Splits a call into arguments and clauses.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for unsupported clauses inside the parentheses.
pub(in crate::query) fn call_of(source: &StatementSource, function: &Function) -> Result<Call> {
    let mut call = Call {
        ignores_nulls: function.null_treatment == Some(NullTreatment::IgnoreNulls),
        ..Call::default()
    };
    let FunctionArguments::List(list) = &function.args else {
        return Ok(call);
    };
    call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => call.arguments.push(expr.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(expr),
                ..
            } if ["struct_pack", "struct_insert", "struct_update"]
                .contains(&name_of(function).as_str()) =>
            {
                call.arguments.push(expr.clone());
                call.names.push(name.value.clone());
            }
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(expr),
                ..
            } if name_of(function) == "st_transform"
                && name.value.eq_ignore_ascii_case("always_xy") =>
            {
                call.arguments.push(expr.clone());
            }
            other => {
                let what = format!("the argument {other}");
                return Err(unsupported_in_call(source, function, what));
            }
        }
    }
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(keys) => call.order = nulls_last(keys),
            FunctionArgumentClause::IgnoreOrRespectNulls(NullTreatment::IgnoreNulls) => {
                call.ignores_nulls = true
            }
            FunctionArgumentClause::IgnoreOrRespectNulls(_) => {}
            other => return Err(unsupported_in_call(source, function, other.to_string())),
        }
    }
    call.star |= call.arguments.is_empty();
    Ok(call)
}

fn unsupported_in_call(source: &StatementSource, function: &Function, what: String) -> Error {
    source.locate(
        Error::usage(format!("{}() can't have {what}", name_of(function))),
        span_of(function),
    )
}

/// Nulls sort last unless NULLS FIRST is given, for both directions.
fn nulls_last(keys: &[OrderByExpr]) -> Vec<OrderByExpr> {
    let mut keys = keys.to_vec();
    keys.iter_mut()
        .for_each(|key| key.options.nulls_first = Some(key.options.nulls_first.unwrap_or(false)));
    keys
}
