//! What is replaced before the parts of an expression are rewritten: operators that are called by
//! name, `try(…)`, lists of tuples.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, CastKind, Expr, Value};

use super::expressions::{expression, function_call, literal, name_of, strip_parentheses};
use super::rewriting::ExpressionRewrite;
use super::written_types::{written_decimal_width, written_type};
use super::written_values::{arguments_of, is_text_type, read_written_list, written_decimal};
use crate::error::Error;
use crate::query::decimal_widths::DecimalWidth;
use crate::query::function_names::OPERATORS;
use crate::query::syntax_walk::visit_expressions_mut;

/// Fewest tuples that are searched as one list: comparisons of a few take less time.
const TUPLES_MIN: usize = 32;
/// Most lists that `list_zip` takes.
const ZIPPED_MAX: usize = 16;

impl ExpressionRewrite<'_, '_> {
    /// Gives written decimal numbers that become texts their digits: `'a' || 1.50`,
    /// `coalesce(NULL, 1.10)::VARCHAR`.
    pub(super) fn spell_written_decimals(&self, expr: &mut Expr) {
        match expr {
            Expr::Cast {
                expr: value,
                data_type,
                ..
            } if is_text_type(data_type) => {
                spell_decimal(value);
                spell_decimals_of_list(value);
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::StringConcat,
                right,
            } if !self.is_list(left) && !self.is_list(right) => {
                spell_decimal(left);
                spell_decimal(right);
            }
            Expr::Function(function)
                if matches!(name_of(function).as_str(), "concat" | "concat_ws") =>
            {
                let Some(mut values) = arguments_of(function) else {
                    return;
                };
                let is_decimal =
                    |value: &Expr| written_decimal_width(std::iter::once(value)).is_some();
                if !values.iter().any(is_decimal) || values.iter().any(|value| self.is_list(value))
                {
                    return;
                }
                values.iter_mut().for_each(spell_decimal);
                *expr = function_call(&name_of(function), values);
            }
            _ => {}
        }
    }

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

/// A decimal number that becomes a text here, with the digits that it has in DuckDB; that of a
/// fraction has no zeros behind the others.
fn spell_decimal(value: &mut Expr) {
    if let Some(digits) = written_decimal(value) {
        *value = literal(&digits);
    } else if !matches!(strip_parentheses(value), Expr::Cast { .. })
        && let Some(width) = written_decimal_width(std::iter::once(&*value))
    {
        *value = cast_to_decimal(value.clone(), width);
    }
}

fn spell_decimals_of_list(value: &mut Expr) {
    let Some(elements) = read_written_list(value) else {
        return;
    };
    if let Some(width) = written_decimal_width(elements.iter()) {
        let elements = elements.into_iter();
        let decimals = elements.map(|element| cast_to_decimal(element, width));
        *value = function_call("list_value", decimals.collect());
    }
}

fn cast_to_decimal(value: Expr, to: DecimalWidth) -> Expr {
    let template = format!("CAST(_0 AS DECIMAL({}, {}))", to.width, to.scale);
    expression(&template, vec![value])
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
