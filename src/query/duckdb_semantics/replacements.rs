//! What is replaced before the parts of an expression are rewritten: operators that are called by
//! name, `try(…)`, lists of tuples.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, Expr, Value};

use super::expressions::{expression, function_call, literal, name_of, strip_parentheses};
use super::rewriting::ExpressionRewrite;
use super::written_types::written_type;
use super::written_values::arguments_of;
use crate::error::Error;
use crate::query::function_names::OPERATORS;
use crate::query::syntax_walk::visit_expressions_mut;

/// Fewest tuples that are searched as one list: comparisons of a few take less time.
const TUPLES_MIN: usize = 32;
/// Most lists that `list_zip` takes.
const ZIPPED_MAX: usize = 16;

impl ExpressionRewrite<'_, '_> {
    /// Replaces `(a, b) IN ((1, 2), (3, 4))` by a search in one list, which has the structs of all
    /// rows; a comparison with each of them would take as long as there are.
    pub(super) fn replace_tuple_list(&self, expr: &mut Expr) -> Result<(), Box<Error>> {
        let Expr::InList {
            expr: value,
            list,
            negated,
        } = &*expr
        else {
            return Ok(());
        };
        let Expr::Tuple(parts) = strip_parentheses(value) else {
            return Ok(());
        };
        if list.len() < TUPLES_MIN {
            return Ok(());
        }
        let mut columns: Vec<Vec<Expr>> = vec![Vec::with_capacity(list.len()); parts.len()];
        for tuple in list {
            let Expr::Tuple(values) = strip_parentheses(tuple) else {
                return Ok(());
            };
            if values.len() != parts.len() || values.len() > ZIPPED_MAX {
                return Ok(());
            }
            for ((column, part), value) in columns.iter_mut().zip(parts).zip(values) {
                let mut value = value.clone();
                self.read_as_other(part, &mut value)?;
                column.push(value);
            }
        }
        // Values of several types become one in a list; each is compared with its own type.
        if !columns.iter().all(|column| are_of_one_kind(column)) {
            return Ok(());
        }
        let lists = columns
            .into_iter()
            .map(|column| function_call("list_value", column));
        let rows = function_call("list_zip", lists.collect());
        let template = if *negated {
            "(NOT list_contains(_0, _1))"
        } else {
            "list_contains(_0, _1)"
        };
        *expr = expression(template, vec![rows, Expr::Tuple(parts.clone())]);
        Ok(())
    }
}

/// True for texts alone, and for whole numbers of BIGINT alone.
fn are_of_one_kind(values: &[Expr]) -> bool {
    values.iter().all(is_text_literal) || values.iter().all(is_whole_literal)
}

fn is_text_literal(expr: &Expr) -> bool {
    match strip_parentheses(expr) {
        Expr::Value(literal) => matches!(literal.value, Value::SingleQuotedString(_)),
        _ => false,
    }
}

/// True for a whole number of BIGINT.
fn is_whole_literal(expr: &Expr) -> bool {
    match strip_parentheses(expr) {
        Expr::Value(literal) => match &literal.value {
            Value::Number(text, _) => text.parse::<i64>().is_ok(),
            _ => false,
        },
        _ => false,
    }
}

/// Replaces a call of an operator by its name, such as `add(a, b)`.
pub(super) fn replace_operator_call(expr: &mut Expr) {
    let Expr::Function(function) = &*expr else {
        return;
    };
    let name = name_of(function);
    if let Some((_, template)) = OPERATORS.iter().find(|(known, _)| *known == name)
        && let Some(sides) = arguments_of(function)
        && sides.len() == 2
    {
        *expr = expression(template, sides);
    }
}

/// Replaces `typeof(…)` of written decimal numbers and of null, which have other types in the
/// engine.
pub(super) fn replace_typeof(expr: &mut Expr) {
    if let Expr::Function(function) = &*expr
        && name_of(function) == "typeof"
        && let Some([value]) = arguments_of(function).as_deref()
        && let Some(name) = written_type(value)
    {
        *expr = literal(&name);
    }
}

/// Replaces `try(…)`.
pub(super) fn replace_try(expr: &mut Expr) {
    if let Expr::Function(function) = &*expr
        && name_of(function) == "try"
        && let Some([tried]) = arguments_of(function).as_deref()
    {
        *expr = Expr::Nested(Box::new(without_failures(tried)));
    }
}

/// The value of `try(…)`: its casts give null for what they can't convert, its logarithms and
/// roots for numbers that have none.
fn without_failures(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = visit_expressions_mut(&mut expr, |part| {
        match part {
            Expr::Cast { kind, .. } => *kind = CastKind::TryCast,
            Expr::Function(function) => {
                let name = name_of(function);
                let domain = match name.as_str() {
                    "ln" | "log" | "log2" | "log10" => "number_above_zero",
                    "sqrt" => "number_from_zero",
                    "acos" | "asin" => "number_within_one",
                    _ => return ControlFlow::Continue(()),
                };
                if let Some([number]) = arguments_of(function).as_deref() {
                    *part = expression(&format!("{name}({domain}(_0))"), vec![number.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}
