//! Rewrites expressions that the engine evaluates differently from DuckDB into equivalent ones;
//! where there is none, refuses the statement with an alternative. Names are already bound: all
//! columns are those of one frame.
//!
//! Operators are rewritten here, calls in `function_calls` and `aggregates`, constants in
//! `written_values`; `operand_types` finds the types of operands.

mod aggregates;
mod call_clauses;
pub(super) mod expressions;
mod function_calls;
mod intervals;
mod operand_types;
mod replacements;
mod rewriting;
mod written_types;
mod written_values;

use std::ops::ControlFlow;

use polars::prelude::udf::UserDefinedFunction;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType as SqlType, DateTimeField, Expr, Function,
    LambdaFunctionParameter, OneOrManyWithParens, Spanned, Subscript, TimezoneInfo, TrimWhereField,
    UnaryOperator, Value, ValueWithSpan, VisitorMut,
};
use sqlparser::tokenizer::Span;

use crate::error::{Error, Result};
use crate::query::decimal_widths::DIGITS;
use crate::query::function_names::is_aggregate_name;
use crate::query::functions::has_wildcard;
use crate::query::sql_dialect::POWER;
use crate::query::struct_values::{self, struct_value};
use crate::query::syntax_walk::walk_tree_mut;
use crate::query::text_patterns::{like_regex, of_whole_text, text_of};
use crate::text::PrintableLine;
use expressions::function_call;
use intervals::{
    function_of_part, has_months, make_comparable, move_by_months, negated_interval,
    read_added_months, read_age_arguments, text_of_interval, unit_of_field,
};
use replacements::{replace_operator_call, replace_try, replace_typeof};
use rewriting::ExpressionRewrite;
use written_values::{
    as_interval, cast_of, computed_decimal, computed_interval, decimal_of, field_number,
    is_constant, is_fraction, is_interval, is_number, is_text_type, make_fraction,
    part_of_written_interval, read_written_list, spelled_number, widen, written_decimal,
    written_interval,
};

pub(super) use call_clauses::call_of;
pub(super) use expressions::{
    column, expression, is_generated, is_null, literal, name_of, span_of, strip_parentheses,
};
pub(super) use rewriting::{Extras, Semantics};
use written_types::has_unknown_digits;
pub(super) use written_types::{written_column_types, written_decimal_columns};
pub(super) use written_values::interval_parts;

/// True for an aggregate call without OVER.
pub(super) fn is_aggregate(function: &Function) -> bool {
    function.over.is_none() && is_aggregate_name(&name_of(function))
}

impl Semantics<'_> {
    /// Rewrites an expression and prints it as engine SQL.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown functions, and for expressions without an
    /// equivalent in the engine.
    pub fn print(&self, expr: &Expr) -> Result<String> {
        self.rewrite_expression(expr).map(|expr| expr.to_string())
    }

    fn rewrite_expression(&self, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        match walk_tree_mut(&mut expr, &mut ExpressionRewrite(self)) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) if has_months(&expr) => {
                let error = Error::usage("an interval of months is part of a sum with a time")
                    .hint("date + INTERVAL 1 MONTH; as a value, INTERVAL 30 DAY");
                Err(self.source.locate(error, expr.span()))
            }
            ControlFlow::Continue(()) => Ok(expr),
        }
    }
}

impl ExpressionRewrite<'_, '_> {
    fn refuse(
        &self,
        span: Span,
        summary: impl Into<String>,
        hint: impl Into<String>,
    ) -> Box<Error> {
        Box::new(self.0.source.locate(Error::usage(summary).hint(hint), span))
    }

    fn rewrite_node(&self, expr: &mut Expr) -> Result<(), Box<Error>> {
        use BinaryOperator::{Minus, Multiply, PGRegexIMatch, PGRegexNotIMatch, Plus};
        let span = expr.span();
        let spelled = match expr {
            Expr::IsTrue(inner) => expression("(_0 <=> TRUE)", vec![*inner.clone()]),
            Expr::IsNotTrue(inner) => expression("((_0 <=> TRUE) = FALSE)", vec![*inner.clone()]),
            Expr::IsFalse(inner) => expression("(_0 <=> FALSE)", vec![*inner.clone()]),
            Expr::IsNotFalse(inner) => expression("((_0 <=> FALSE) = FALSE)", vec![*inner.clone()]),
            Expr::IsUnknown(inner) => expression("(_0 IS NULL)", vec![*inner.clone()]),
            Expr::IsNotUnknown(inner) => expression("(_0 IS NOT NULL)", vec![*inner.clone()]),
            Expr::IsDistinctFrom(left, right) => {
                expression("((_0 <=> _1) = FALSE)", vec![*left.clone(), *right.clone()])
            }
            Expr::IsNotDistinctFrom(left, right) => {
                expression("(_0 <=> _1)", vec![*left.clone(), *right.clone()])
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Custom(op),
                right,
            } if op == POWER => expression(
                "pow(CAST(_0 AS DOUBLE), _1)",
                vec![*left.clone(), *right.clone()],
            ),
            // The engine has products of intervals with fractions alone.
            Expr::BinaryOp {
                left,
                op: Multiply | BinaryOperator::Divide,
                right,
            } if self.is_duration(left) && self.is_decimal(right) => {
                **right = expression("CAST(_0 AS DOUBLE)", vec![*right.clone()]);
                return Ok(());
            }
            Expr::BinaryOp {
                left,
                op: Multiply,
                right,
            } if self.is_decimal(left) && self.is_duration(right) => {
                **left = expression("CAST(_0 AS DOUBLE)", vec![*left.clone()]);
                return Ok(());
            }
            Expr::BinaryOp {
                left,
                op: op @ (Plus | Minus | Multiply),
                right,
            } if decimal_of(left).is_some() && decimal_of(right).is_some() => {
                let numbers = decimal_of(left).zip(decimal_of(right));
                match numbers.and_then(|(left, right)| computed_decimal(left, op, right)) {
                    Some(number) => number,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::Plus | BinaryOperator::Minus),
                right,
            } if is_interval(left) || is_interval(right) => {
                match self.shift_by_interval(left, op, right) {
                    Some(moved) => moved,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp {
                left,
                op: op @ (Plus | Minus),
                right,
            } if self.is_time_of_day(left) && self.is_duration(right) => {
                let template = if *op == Minus {
                    "time_moved_back(_0, _1)"
                } else {
                    "time_moved(_0, _1)"
                };
                two(template, left, right)
            }
            Expr::BinaryOp {
                left,
                op: Plus,
                right,
            } if self.is_duration(left) && self.is_time_of_day(right) => {
                two("time_moved(_0, _1)", right, left)
            }
            Expr::BinaryOp {
                left,
                op: op @ (Plus | Minus),
                right,
            } if read_added_months(right).is_some()
                || *op == Plus && read_added_months(left).is_some() =>
            {
                match move_by_months(left, op, right) {
                    Some(moved) => moved,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                make_comparable(left);
                make_comparable(right);
                self.read_as_other(left, right)?;
                self.read_as_other(right, left)?;
                return Ok(());
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                make_comparable(expr);
                make_comparable(low);
                make_comparable(high);
                self.read_as_other(expr, low)?;
                self.read_as_other(expr, high)?;
                return Ok(());
            }
            Expr::Case {
                conditions,
                operand,
                else_result,
                ..
            } => {
                if operand.is_none() {
                    for one in conditions.iter_mut().filter(|one| is_null(&one.condition)) {
                        one.condition = Expr::value(Value::Boolean(false));
                    }
                }
                let results = conditions.iter_mut().map(|one| &mut one.result);
                self.give_zones(results.chain(else_result.as_deref_mut()).collect());
                return Ok(());
            }
            Expr::Cast {
                kind,
                expr: value,
                data_type: SqlType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz),
                ..
            } => {
                if self.is_text(value) {
                    let template = if *kind == CastKind::TryCast {
                        "instant_of_text(_0, TRUE)"
                    } else {
                        "instant_of_text(_0)"
                    };
                    expression(template, vec![*value.clone()])
                } else {
                    let time = cast_of(
                        kind.clone(),
                        *value.clone(),
                        SqlType::Timestamp(None, TimezoneInfo::None),
                    );
                    expression("in_utc(_0)", vec![time])
                }
            }
            Expr::Cast {
                expr: value,
                data_type,
                ..
            } if is_text_type(data_type) && text_of_interval(value).is_some() => {
                literal(&text_of_interval(value).unwrap_or_default())
            }
            Expr::Cast {
                expr: value,
                data_type,
                ..
            } if is_text_type(data_type) && read_age_arguments(value).is_some() => expression(
                "age_text(_0, _1)",
                read_age_arguments(value).unwrap_or_default(),
            ),
            // The engine reads JSON as it reads texts of lists, which have other escapes.
            Expr::Cast {
                expr: value,
                data_type: SqlType::Array(_),
                ..
            } if self.is_json(value) => {
                return Err(self.refuse(
                    span,
                    "JSON can't be cast to a list".to_owned(),
                    "from_json(x, '[\"VARCHAR\"]')",
                ));
            }
            Expr::Cast {
                kind,
                expr: value,
                data_type: SqlType::JSON | SqlType::JSONB,
                ..
            } => {
                let template = if *kind == CastKind::TryCast {
                    "try_json_of_value(_0)"
                } else {
                    "json_of_value(_0)"
                };
                expression(template, vec![*value.clone()])
            }
            Expr::Cast {
                kind,
                expr: value,
                data_type,
                ..
            } => {
                widen(data_type);
                if lacks_type(data_type) {
                    let summary = format!("a value can't be cast to {data_type} here");
                    return Err(self.refuse(
                        span,
                        summary,
                        "cast to BOOLEAN, INTEGER, BIGINT, DOUBLE, DECIMAL(18, 3), VARCHAR, BLOB, \
                            DATE, TIME, TIMESTAMP or TIMESTAMPTZ; a text of JSON becomes a struct \
                            by from_json(x, '{\"a\": \"INTEGER\"}')",
                    ));
                }
                if has_unknown_digits(data_type) {
                    return Err(self.refuse(
                        span,
                        format!(
                            "{data_type} is no type: a decimal number has 1 to {DIGITS} \
                                digits, and no more of them behind the point"
                        ),
                        "DECIMAL(38, 6)",
                    ));
                }
                if let (true, Some(digits)) = (is_text_type(data_type), written_decimal(value)) {
                    *expr = literal(&digits);
                    return Ok(());
                }
                let Some(text) = text_of(strip_parentheses(value)).map(str::to_owned) else {
                    return Ok(());
                };
                match self.cast_text(&text, kind, data_type, span)? {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::BitwiseAnd,
                right,
            } => two("bits_and(_0, _1)", left, right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::BitwiseOr,
                right,
            } => two("bits_or(_0, _1)", left, right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGBitwiseShiftLeft,
                right,
            } => two("shifted_left(_0, _1)", left, right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGBitwiseShiftRight,
                right,
            } => two("shifted_right(_0, _1)", left, right),
            // Two signs beside each other begin a comment.
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } if begins_with_minus(expr) => {
                **expr = Expr::Nested(expr.clone());
                return Ok(());
            }
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } if negated_interval(expr).is_some() => match negated_interval(expr) {
                Some(interval) => interval,
                None => return Ok(()),
            },
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } if !is_number(expr) && !self.is_whole(expr) => {
                expression("negative_of(_0)", vec![*expr.clone()])
            }
            Expr::UnaryOp {
                op: UnaryOperator::BitwiseNot,
                expr,
            } => expression("bits_not(_0)", vec![*expr.clone()]),
            Expr::UnaryOp {
                op: UnaryOperator::PGPostfixFactorial,
                expr,
            } => expression("factorial(_0)", vec![*expr.clone()]),
            Expr::UnaryOp {
                op: UnaryOperator::PGAbs,
                expr,
            } => expression("abs(_0)", vec![*expr.clone()]),
            Expr::UnaryOp {
                op: UnaryOperator::PGSquareRoot,
                expr,
            } => expression("sqrt(_0)", vec![*expr.clone()]),
            Expr::UnaryOp {
                op: UnaryOperator::PGCubeRoot,
                expr,
            } => expression("cbrt(_0)", vec![*expr.clone()]),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::AtArrow,
                right,
            } => two(
                "list_has_all(_0, \
                _1)",
                left,
                right,
            ),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::ArrowAt,
                right,
            } => two(
                "list_has_all(_1, \
                _0)",
                left,
                right,
            ),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGOverlap,
                right,
            } => two(
                "list_has_any(_0, \
                _1)",
                left,
                right,
            ),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Arrow,
                right,
            } if self.is_text(left) => {
                extract_json("json_extract", vec![*left.clone(), *right.clone()])
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::LongArrow,
                right,
            } if self.is_text(left) => {
                extract_json("json_extract_string", vec![*left.clone(), *right.clone()])
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::StringConcat,
                right,
            } if self.is_list(left) || self.is_list(right) => {
                two("list_joined(_0, _1)", left, right)
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::StringConcat,
                right,
            } if self.is_bytes(left) && self.is_bytes(right) => {
                two("bytes_behind(_0, _1)", left, right)
            }
            Expr::Extract { field, expr, .. } if read_age_arguments(expr).is_some() => {
                let unit = literal(&field.to_string());
                let times = read_age_arguments(expr).unwrap_or_default();
                expression("age_part(_0, _1, _2)", [vec![unit], times].concat())
            }
            Expr::Extract { field, expr, .. }
                if part_of_written_interval(&unit_of_field(field), expr).is_some() =>
            {
                match part_of_written_interval(&unit_of_field(field), expr) {
                    Some(part) => part,
                    None => return Ok(()),
                }
            }
            Expr::Extract { field, expr, .. }
                if function_of_part(&unit_of_field(field)).is_some() =>
            {
                let name = function_of_part(&unit_of_field(field)).unwrap_or_default();
                function_call(name, vec![*expr.clone()])
            }
            // Seconds since 1970, of dates too.
            Expr::Extract {
                field: DateTimeField::Epoch,
                expr,
                ..
            } => expression("epoch(_0)", vec![*expr.clone()]),
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } if read_written_list(right).is_some() => {
                let values = read_written_list(right).unwrap_or_default();
                compared_with_each(left, compare_op, values, BinaryOperator::Or)
            }
            Expr::AllOp {
                left,
                compare_op,
                right,
            } if read_written_list(right).is_some() => {
                let values = read_written_list(right).unwrap_or_default();
                compared_with_each(left, compare_op, values, BinaryOperator::And)
            }
            // Numbers are conditions; of two numbers the engine takes AND for the operator of their
            // bits.
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } if self.is_whole(left) || self.is_whole(right) => {
                for side in [left, right] {
                    if self.is_whole(side) {
                        **side = expression("CAST(_0 AS BOOLEAN)", vec![*side.clone()]);
                    }
                }
                return Ok(());
            }
            // A date and a number of days.
            Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::Plus | BinaryOperator::Minus),
                right,
            } if self.is_date(left) && self.is_day_count(right)
                || *op == BinaryOperator::Plus
                    && self.is_day_count(left)
                    && self.is_date(right) =>
            {
                let days = |side: &Expr| expression("CAST(_0 AS INTEGER)", vec![side.clone()]);
                let template = format!("CAST(CAST((_0 {op} _1) AS INTEGER) AS DATE)");
                expression(&template, vec![days(left), days(right)])
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGRegexMatch,
                right,
            } => self.matched_whole(false, left, right, span)?,
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGRegexNotMatch,
                right,
            } => self.matched_whole(true, left, right, span)?,
            Expr::BinaryOp {
                op: op @ (PGRegexIMatch | PGRegexNotIMatch),
                ..
            } => {
                return Err(self.refuse(
                    span,
                    format!("there is no operator {op}"),
                    "in any case: \
                    regexp_matches(id, 's.*', 'i')",
                ));
            }
            Expr::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char: None,
            } => self.matched_whole(*negated, expr, pattern, span)?,
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: escape @ Some(_),
            } => self.escaped_like(*negated, expr, pattern, escape.as_ref(), false, span)?,
            Expr::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: escape @ Some(_),
            } => self.escaped_like(*negated, expr, pattern, escape.as_ref(), true, span)?,
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let first = || Expr::value(Value::Number("1".into(), false));
                let from = substring_from.as_deref().cloned().unwrap_or_else(first);
                match substring_for {
                    Some(count) => expression(
                        "text_slice(_0, _1, _2)",
                        vec![*expr.clone(), from, *count.clone()],
                    ),
                    None => expression("text_slice(_0, _1)", vec![*expr.clone(), from]),
                }
            }
            Expr::InList { expr, list, .. }
                if list.iter().any(|value| text_of(value).is_some()) && self.reads_texts(expr) =>
            {
                let of = expr.clone();
                for value in list.iter_mut() {
                    self.read_as_other(&of, value)?;
                }
                if list.iter().any(is_fraction) {
                    list.iter_mut().for_each(make_fraction);
                }
                return Ok(());
            }
            Expr::InList {
                expr,
                list,
                negated,
            } if !list.iter().all(is_constant) => {
                make_comparable(expr);
                list.iter_mut().for_each(make_comparable);
                let equal = list.iter().map(|value| two("(_0 = _1)", expr, value));
                let any = equal.reduce(|all, one| Expr::BinaryOp {
                    left: Box::new(all),
                    op: BinaryOperator::Or,
                    right: Box::new(one),
                });
                let Some(any) = any else { return Ok(()) };
                let any = Expr::Nested(Box::new(any));
                if *negated {
                    expression("(NOT _0)", vec![any])
                } else {
                    any
                }
            }
            // The engine takes numbers of one type.
            Expr::InList { list, .. } if list.iter().any(is_fraction) => {
                list.iter_mut().for_each(make_fraction);
                return Ok(());
            }
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => match spelled_number(text) {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                },
                Value::Placeholder(_) => {
                    return Err(self.refuse(
                        value.span,
                        "there are no placeholders",
                        "write the \
                        value itself",
                    ));
                }
                _ => return Ok(()),
            },
            Expr::TypedString(typed) => {
                let text = match &typed.value.value {
                    Value::SingleQuotedString(text) => text.clone(),
                    _ => return Ok(()),
                };
                match self.cast_text(&text, &CastKind::Cast, &typed.data_type, span)? {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                }
            }
            Expr::Interval(interval) => {
                if let Some(written) = interval_parts(interval).and_then(written_interval) {
                    *interval = written;
                    return Ok(());
                }
                match computed_interval(interval) {
                    Some(computed) => computed,
                    None => {
                        let hint = "write the number itself: INTERVAL 3 DAY";
                        let summary = "an interval is of a number and a unit";
                        return Err(self.refuse(span, summary, hint));
                    }
                }
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => two("timezone(_0, _1)", time_zone, timestamp),
            Expr::Position { expr, r#in } => {
                expression("text_position(_0, _1)", vec![*r#in.clone(), *expr.clone()])
            }
            Expr::Trim {
                trim_where,
                trim_what,
                trim_characters,
                ..
            } => {
                if let Some([characters]) = trim_characters.as_deref() {
                    *trim_what = Some(Box::new(characters.clone()));
                    *trim_where = Some(trim_where.unwrap_or(TrimWhereField::Both));
                    *trim_characters = None;
                }
                return Ok(());
            }
            // An arrow outside of list functions accesses a struct field.
            Expr::Lambda(lambda) => {
                let root = match &lambda.params {
                    OneOrManyWithParens::One(parameter) => Expr::Identifier(parameter.name.clone()),
                    OneOrManyWithParens::Many(several) => {
                        let name = |parameter: &LambdaFunctionParameter| parameter.name.clone();
                        Expr::Tuple(several.iter().map(name).map(Expr::Identifier).collect())
                    }
                };
                expression("(_0 -> _1)", vec![root, *lambda.body.clone()])
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let mut value = *root.clone();
                for access in access_chain.iter() {
                    value = self.rewrite_access(value, access, span)?;
                }
                value
            }
            Expr::Array(array) if array.elem.is_empty() => {
                expression("list_without_elements(NULL)", vec![])
            }
            Expr::Array(array) => function_call("list_value", array.elem.clone()),
            Expr::Dictionary(fields) => {
                let (names, values) = fields
                    .iter()
                    .map(|field| (field.key.value.clone(), *field.value.clone()))
                    .unzip();
                self.struct_of(names, values, span)?
            }
            Expr::Map(map) => {
                let (keys, values): (Vec<Expr>, Vec<Expr>) = map
                    .entries
                    .iter()
                    .map(|entry| (*entry.key.clone(), *entry.value.clone()))
                    .unzip();
                if keys.is_empty() {
                    return Err(self.refuse(
                        span,
                        "a map without entries has no type",
                        "write an \
                        entry: MAP {'a': 1}",
                    ));
                }
                let lists = [keys, values].map(|values| function_call("list_value", values));
                two("map_value(_0, _1)", &lists[0], &lists[1])
            }
            Expr::Tuple(values) => self.struct_of(
                struct_values::unnamed_field_names(values.len()),
                values.clone(),
                span,
            )?,
            Expr::Struct { .. } => {
                return Err(self.refuse(
                    span,
                    "a struct can't be written so",
                    "write {'a': 1}, or \
                    struct_pack(a := 1)",
                ));
            }
            Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => {
                return Err(self.refuse(
                    span,
                    "several groupings at once are not supported",
                    "GROUP \
                    BY ROLLUP (a, b)",
                ));
            }
            Expr::Function(function) => match self.rewrite_call(function)? {
                Some(spelled) => spelled,
                None => return Ok(()),
            },
            Expr::AllOp { .. }
            | Expr::AnyOp { .. }
            | Expr::BinaryOp { .. }
            | Expr::Ceil { .. }
            | Expr::Extract { .. }
            | Expr::Floor { .. }
            | Expr::ILike { .. }
            | Expr::Identifier(_)
            | Expr::InList { .. }
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::Like { .. }
            | Expr::Nested(_)
            | Expr::RLike { .. }
            | Expr::UnaryOp { .. } => return Ok(()),
            other => {
                let hint = "of expressions there are operators, CASE, CAST, IN, LIKE, BETWEEN, \
                    functions and subqueries";
                return Err(self.refuse(span, format!("{other} is not supported"), hint));
            }
        };
        *expr = spelled;
        Ok(())
    }

    /// A struct of values with their names, as a call of a function of this statement.
    fn struct_of(
        &self,
        names: Vec<String>,
        values: Vec<Expr>,
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        if let Some(name) = struct_values::repeated_name(&names) {
            let summary = format!("a struct has the field {} twice", name.printable_line());
            return Err(self.refuse(span, summary, "give each field a name of its own"));
        }
        let called = self.extra("__struct", |called| struct_value(called, names));
        Ok(function_call(&called, values))
    }

    /// Adds a function of this statement alone, and returns its name.
    fn extra(&self, prefix: &str, made: impl FnOnce(&str) -> UserDefinedFunction) -> String {
        let mut extras = self.0.extras.borrow_mut();
        let called = format!("{prefix}{}", extras.len());
        extras.push((called.clone(), made(&called)));
        called
    }

    /// A value plus or minus an interval as the engine reads it: the interval on the right and
    /// without a sign, so that the parts of one with both signs are added one by one. A date
    /// becomes a time, which the engine takes for a date; a time of a day is moved by the hours
    /// alone. `None` for what is no such sum.
    fn shift_by_interval(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
        let is_minus = *op == BinaryOperator::Minus;
        let sides = [left, right].map(|side| as_interval(side).and_then(interval_parts));
        let (value, parts) = match sides.into() {
            (Some(one), Some(other)) => {
                let other = if is_minus {
                    other.checked_neg()?
                } else {
                    other
                };
                return written_interval(one.checked_add(other)?).map(Expr::Interval);
            }
            (None, Some(parts)) => (
                left,
                if is_minus {
                    parts.checked_neg()?
                } else {
                    parts
                },
            ),
            (Some(parts), None) if !is_minus => (right, parts),
            _ => return None,
        };
        if self.is_time_of_day(value) {
            let template = format!("time_moved(_0, {})", parts.micros);
            return Some(expression(&template, vec![value.clone()]));
        }
        let value = if self.is_date(strip_parentheses(value)) {
            cast_of(
                CastKind::Cast,
                value.clone(),
                SqlType::Timestamp(None, TimezoneInfo::None),
            )
        } else {
            value.clone()
        };
        parts
            .by_sign()
            .into_iter()
            .try_fold(value, |value, (is_negative, parts)| {
                let op = if is_negative {
                    BinaryOperator::Minus
                } else {
                    BinaryOperator::Plus
                };
                let interval = Expr::Interval(written_interval(parts)?);
                Some(Expr::BinaryOp {
                    left: Box::new(value),
                    op,
                    right: Box::new(interval),
                })
            })
    }

    /// A match of the whole text, as of `~`, SIMILAR TO and `regexp_full_match`.
    fn matched_whole(
        &self,
        negated: bool,
        value: &Expr,
        pattern: &Expr,
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        let Some(pattern) = text_of(pattern) else {
            return Err(self.refuse(
                span,
                "the pattern is no text",
                "write the pattern itself: id SIMILAR TO 's.*'",
            ));
        };
        Ok(regex_match_expression(
            negated,
            value.clone(),
            &of_whole_text(pattern),
        ))
    }

    fn escaped_like(
        &self,
        negated: bool,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
        any_case: bool,
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        let hint = "write the pattern itself, and one character: id LIKE 's#_%' ESCAPE '#'";
        let regex = text_of(pattern)
            .ok_or("a pattern that is no text")
            .and_then(|text| like_regex(text, escape, any_case));
        let regex = regex
            .map_err(|reason| self.refuse(span, format!("LIKE does not take {reason}"), hint))?;
        Ok(regex_match_expression(negated, value.clone(), &regex))
    }

    /// List element, list slice, or struct field.
    fn rewrite_access(
        &self,
        value: Expr,
        access: &AccessExpr,
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        let one = || Expr::value(Value::Number("1".into(), false));
        Ok(match access {
            AccessExpr::Subscript(Subscript::Index { index }) if self.is_map(&value) => {
                expression("map_extract_value(_0, _1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Index {
                index: Expr::Value(key),
            }) if matches!(key.value, Value::SingleQuotedString(_)) => {
                expression("(_0 -> _1)", vec![value, Expr::Value(key.clone())])
            }
            AccessExpr::Subscript(Subscript::Index { index })
                if self.is_struct(&value) && field_number(index).is_some() =>
            {
                self.numbered_field(value, field_number(index).unwrap_or_default())
            }
            AccessExpr::Subscript(Subscript::Index { index }) if self.is_text(&value) => {
                expression("text_slice(_0, _1, 1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Index { index }) if self.is_parameter(&value) => {
                expression("element_or_letter(_0, _1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Index { index }) => {
                expression("array_get(_0, _1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) => {
                let from = lower_bound.clone().unwrap_or_else(one);
                let to = upper_bound
                    .clone()
                    .unwrap_or_else(|| expression("-1", Vec::new()));
                expression("list_slice(_0, _1, _2)", vec![value, from, to])
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: Some(step),
            }) => {
                let from = lower_bound.clone().unwrap_or_else(one);
                let to = upper_bound
                    .clone()
                    .unwrap_or_else(|| expression("-1", Vec::new()));
                expression(
                    "list_slice_steps(_0, _1, _2, _3)",
                    vec![value, from, to, step.clone()],
                )
            }
            AccessExpr::Dot(Expr::Identifier(field)) => {
                expression("(_0 -> _1)", vec![value, literal(&field.value)])
            }
            AccessExpr::Dot(_) => {
                return Err(self.refuse(
                    span,
                    "this is no field of a struct",
                    "name the field: (column).field",
                ));
            }
        })
    }
}

impl VisitorMut for ExpressionRewrite<'_, '_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        if matches!(expr, Expr::Function(_)) {
            replace_try(expr);
            replace_typeof(expr);
            replace_operator_call(expr);
            self.replace_if(expr);
        }
        self.spell_written_decimals(expr);
        if matches!(expr, Expr::Case { .. }) {
            self.guard_results(expr);
        }
        match self.replace_tuple_list(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.rewrite_node(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// True for a value whose text begins with the sign `-`.
fn begins_with_minus(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            ..
        }
    )
}

/// True for types of DuckDB that no value has here.
fn lacks_type(data_type: &SqlType) -> bool {
    if let SqlType::Custom(name, _) = data_type {
        let name = name.to_string().to_lowercase();
        return ["struct", "map", "union", "enum"].contains(&name.as_str());
    }
    matches!(
        data_type,
        SqlType::Bit(_)
            | SqlType::BitVarying(_)
            | SqlType::VarBit(_)
            | SqlType::Struct(..)
            | SqlType::Map(..)
            | SqlType::Union(_)
            | SqlType::Enum(..)
    )
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A comparison with each of some values, joined by AND or OR.
fn compared_with_each(
    value: &Expr,
    op: &BinaryOperator,
    others: Vec<Expr>,
    join: BinaryOperator,
) -> Expr {
    let none = Expr::value(Value::Boolean(join == BinaryOperator::And));
    let each = others
        .into_iter()
        .map(|other| expression(&format!("(_0 {op} _1)"), vec![value.clone(), other]));
    let all = each.reduce(|all, one| Expr::BinaryOp {
        left: Box::new(all),
        op: join.clone(),
        right: Box::new(one),
    });
    all.map_or(none, |all| Expr::Nested(Box::new(all)))
}

/// The values at a path of JSON, a list for a written path with wildcards.
fn extract_json(name: &str, arguments: Vec<Expr>) -> Expr {
    let path = arguments.get(1).and_then(text_of);
    if path.is_some_and(has_wildcard) {
        function_call(&format!("{name}_each"), arguments)
    } else {
        function_call(name, arguments)
    }
}

/// A call of two values.
fn two(template: &str, one: &Expr, other: &Expr) -> Expr {
    expression(template, vec![one.clone(), other.clone()])
}

/// A match of a regular expression anywhere in the text.
fn regex_match_expression(negated: bool, value: Expr, regex: &str) -> Expr {
    expression(
        if negated {
            "(NOT regexp_like(_0, _1))"
        } else {
            "regexp_like(_0, _1)"
        },
        vec![value, literal(regex)],
    )
}
