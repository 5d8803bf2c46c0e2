//! Replacements in an expression before its parts are rewritten: operators that are called by
//! name, `try(…)`, lists of tuples.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    Value,
};

use super::expressions::{expression, function_call, literal, name_of, strip_parentheses};
use super::rewriting::ExpressionRewrite;
use super::written_types::{written_decimal_width, written_type};
use super::written_values::{arguments_of, is_text_type, read_written_list, written_decimal};
use crate::error::Error;
use crate::query::decimal_widths::DecimalWidth;
use crate::query::function_names::OPERATORS;
use crate::query::syntax_walk::visit_expressions_mut;
use crate::query::text_patterns::text_of;

/// Minimum number of tuples that are searched as one list; fewer are compared faster one by one.
const TUPLES_MIN: usize = 32;
/// Most lists that `list_zip` takes.
const ZIPPED_MAX: usize = 16;

/// Functions that read their first argument as JSON.
const JSON_READERS: [&str; 14] = [
    "from_json",
    "json_array_length",
    "json_contains",
    "json_exists",
    "json_extract",
    "json_extract_path",
    "json_extract_path_text",
    "json_extract_string",
    "json_keys",
    "json_pretty",
    "json_structure",
    "json_transform",
    "json_type",
    "json_value",
];

impl ExpressionRewrite<'_, '_> {
    /// Replaces decimal literals that are converted to text, so that the text has their digits:
    /// `'a' || 1.50`, `coalesce(NULL, 1.10)::VARCHAR`.
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

    /// The engine computes every condition and result of CASE for all rows, and fails at a text
    /// that is not a number or not JSON. So the texts that a condition or a result reads become
    /// null in the rows that CASE decides otherwise.
    pub(super) fn guard_results(&self, expr: &mut Expr) {
        if !self.reads_text(expr) {
            return;
        }
        let case = expr.clone();
        let Expr::Case {
            conditions,
            else_result,
            ..
        } = expr
        else {
            return;
        };
        let mut reads_no_text = Vec::with_capacity(conditions.len());
        for when in conditions.iter() {
            reads_no_text.push(!self.reads_text(&when.condition));
        }
        for (at, when) in conditions.iter_mut().enumerate() {
            let rest = |text: Expr| null_in_decided_rows(&case, &reads_no_text, at, false, text);
            self.guard_texts(&mut when.condition, rest);
            let own = |text: Expr| null_in_decided_rows(&case, &reads_no_text, at, true, text);
            self.guard_texts(&mut when.result, own);
        }
        if let Some(result) = else_result {
            let at = conditions.len();
            let rest = |text: Expr| null_in_decided_rows(&case, &reads_no_text, at, false, text);
            self.guard_texts(result, rest);
        }
    }

    /// Replaces `if(condition, a, b)` by CASE, for [`Self::guard_results`], where it reads texts.
    pub(super) fn replace_if(&self, expr: &mut Expr) {
        if let Expr::Function(function) = &*expr
            && name_of(function) == "if"
            && let Some(values) = arguments_of(function)
            && values.len() == 3
            && self.reads_text(expr)
        {
            *expr = expression("CASE WHEN _0 THEN _1 ELSE _2 END", values);
        }
    }

    fn reads_text(&self, expr: &Expr) -> bool {
        let found = visit_expressions_mut(&mut expr.clone(), |part| match self.read_text(part) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    fn guard_texts(&self, expr: &mut Expr, guard: impl Fn(Expr) -> Expr) {
        let _ = visit_expressions_mut(expr, |part| {
            if let Some(text) = self.read_text(part) {
                *text = guard(text.clone());
            }
            ControlFlow::<()>::Continue(())
        });
    }

    /// The argument of a cast, a JSON arrow or a JSON function, which fails for some texts; `None`
    /// for other expressions, and when the argument is not a text, is constant, or is a CASE.
    fn read_text<'e>(&self, part: &'e mut Expr) -> Option<&'e mut Expr> {
        let text = match part {
            Expr::Cast {
                kind,
                expr,
                data_type,
                ..
            } if matches!(kind, CastKind::Cast | CastKind::DoubleColon)
                && !is_text_type(data_type) =>
            {
                expr.as_mut()
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Arrow | BinaryOperator::LongArrow,
                ..
            } => left.as_mut(),
            Expr::Function(function) if JSON_READERS.contains(&name_of(function).as_str()) => {
                let FunctionArguments::List(list) = &mut function.args else {
                    return None;
                };
                match list.args.first_mut()? {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(text)) => text,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let is_text = match strip_parentheses(text) {
            Expr::Case { .. } => false,
            Expr::BinaryOp {
                op: BinaryOperator::LongArrow,
                ..
            } => true,
            other => self.is_text(other) && text_of(other).is_none(),
        };
        is_text.then_some(text)
    }

    /// Replaces `(a, b) IN ((1, 2), (3, 4))` by a search in one list of structs; comparisons with
    /// each tuple would take time in proportion to their number.
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

/// `value` as a CASE that is null in the rows where a condition before `at` is true, and with
/// `takes_own` in those where the condition `at` is not. Conditions that read a text are left out,
/// because they could fail: some rows keep a value that is not used.
fn null_in_decided_rows(
    case: &Expr,
    reads_no_text: &[bool],
    at: usize,
    takes_own: bool,
    value: Expr,
) -> Expr {
    let mut chosen = case.clone();
    let Expr::Case {
        conditions,
        else_result,
        ..
    } = &mut chosen
    else {
        return value;
    };
    let mut kept = Vec::new();
    for (when, is_safe) in conditions.iter().take(at).zip(reads_no_text) {
        if *is_safe {
            kept.push(CaseWhen {
                condition: when.condition.clone(),
                result: Expr::value(Value::Null),
            });
        }
    }
    let own = conditions
        .get(at)
        .filter(|_| takes_own && reads_no_text.get(at) == Some(&true));
    match own {
        Some(own) => {
            kept.push(CaseWhen {
                condition: own.condition.clone(),
                result: value,
            });
            *else_result = None;
        }
        None if kept.is_empty() => return value,
        None => *else_result = Some(Box::new(value)),
    }
    *conditions = kept;
    chosen
}

/// Replaces a decimal number that is converted to text: a literal by its digits, as a text; another
/// expression of literals by a cast to the decimal type that it has in DuckDB.
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

/// True when all values are text literals, or all are BIGINT literals.
fn are_of_one_kind(values: &[Expr]) -> bool {
    values.iter().all(is_text_literal) || values.iter().all(is_whole_literal)
}

fn is_text_literal(expr: &Expr) -> bool {
    match strip_parentheses(expr) {
        Expr::Value(literal) => matches!(literal.value, Value::SingleQuotedString(_)),
        _ => false,
    }
}

/// True for a whole number that fits BIGINT.
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

/// Replaces `typeof(…)` of decimal literals and of null by the type that DuckDB gives them; the
/// engine has other types.
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

/// The argument of `try(…)`, changed so that casts give null for what they can't convert, and
/// logarithms, roots and arcs for numbers that have none.
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
