//! Parts of conditions.

use sqlparser::ast::{BinaryOperator, Expr};

use crate::query::duckdb_semantics::strip_parentheses;

/// Splits a condition at AND.
pub(super) fn conjuncts(condition: &Expr, found: &mut Vec<Expr>) {
    match condition {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            conjuncts(left, found);
            conjuncts(right, found);
        }
        Expr::Nested(inner)
            if matches!(
                strip_parentheses(inner),
                Expr::BinaryOp {
                    op: BinaryOperator::And,
                    ..
                }
            ) =>
        {
            conjuncts(inner, found)
        }
        other => found.push(other.clone()),
    }
}
