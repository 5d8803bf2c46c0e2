//! Intervals and parts of times as they are written.

use sqlparser::ast::{BinaryOperator, DateTimeField, Expr};

use super::expressions::{expression, name_of, strip_parentheses};
use super::written_values::{arguments_of, as_interval, interval_parts, written_interval};
use crate::query::durations;
use crate::query::time_texts::IntervalParts;

/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

/// True for an interval of months, for which the engine has no type.
pub(super) fn has_months(expr: &Expr) -> bool {
    as_interval(expr)
        .and_then(interval_parts)
        .is_some_and(|parts| parts.months != 0)
}

/// The name of a part of times in EXTRACT.
pub(super) fn unit_of_field(field: &DateTimeField) -> String {
    match field {
        DateTimeField::Custom(name) => name.value.clone(),
        other => other.to_string(),
    }
}

/// The function of this program that gives a part of times; `None` for parts that the engine gives.
pub(super) fn function_of_part(unit: &str) -> Option<&'static str> {
    Some(match unit.to_lowercase().as_str() {
        "era" => "era",
        "julian" => "julian",
        "yearweek" => "yearweek",
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => "millisecond",
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" => "microsecond",
        _ => return None,
    })
}

/// The times of a call of `age`, which has two of them here.
pub(super) fn read_age_arguments(expr: &Expr) -> Option<Vec<Expr>> {
    match strip_parentheses(expr) {
        Expr::Function(function) if name_of(function) == "age" => arguments_of(function),
        _ => None,
    }
}

/// The number of months of `to_months(n)`.
pub(super) fn read_added_months(expr: &Expr) -> Option<Expr> {
    match strip_parentheses(expr) {
        Expr::Function(function) if name_of(function) == "to_months" => {
            arguments_of(function)?.into_iter().next()
        }
        _ => None,
    }
}

/// A time plus or minus `to_months(n)`.
pub(super) fn move_by_months(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
    let (time, months) = match read_added_months(right) {
        Some(months) => (left, months),
        None => (right, read_added_months(left)?),
    };
    let template = if *op == BinaryOperator::Minus {
        "months_added(_0, -_1)"
    } else {
        "months_added(_0, _1)"
    };
    Some(expression(template, vec![time.clone(), months]))
}

/// The text of an interval as it is written, which keeps hours beyond a day apart from days.
pub(super) fn text_of_interval(expr: &Expr) -> Option<String> {
    let parts = as_interval(expr).and_then(interval_parts)?;
    Some(durations::text_with_months(
        parts.months,
        parts.days,
        parts.micros,
    ))
}

/// Replaces a written interval by the one of microseconds that it equals in comparisons, where
/// months have 30 days and days 24 hours.
pub(super) fn make_comparable(expr: &mut Expr) {
    let Some(parts) = as_interval(expr).and_then(interval_parts) else {
        return;
    };
    let days = i128::from(parts.months) * 30 + i128::from(parts.days);
    let micros = days * DAY + i128::from(parts.micros);
    let compared = i64::try_from(micros).ok().filter(|micros| *micros >= 0);
    let written = compared.and_then(|micros| {
        written_interval(IntervalParts {
            months: 0,
            days: 0,
            micros,
        })
    });
    if let Some(interval) = written {
        *expr = Expr::Interval(interval);
    }
}

/// A written interval with the other sign.
pub(super) fn negated_interval(expr: &Expr) -> Option<Expr> {
    let parts = interval_parts(as_interval(expr)?)?.checked_neg()?;
    written_interval(parts).map(Expr::Interval)
}
