//! Values as a statement writes them: numbers, texts that are read as another type, intervals and
//! lists.

use chrono::{Datelike, NaiveDateTime, Timelike};
use polars::prelude::DataType;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, DateTimeField, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, Interval, Spanned, TimezoneInfo, TypedString,
    UnaryOperator, Value, ValueWithSpan,
};
use sqlparser::tokenizer::Span;

use super::expressions::{expression, literal, name_of, strip_parentheses};
use super::rewriting::ExpressionRewrite;
use crate::error::{Error, Result};
use crate::query::text_patterns::text_of;
use crate::query::time_texts::{self, IntervalParts, UnreadText};
use crate::query::type_names::type_name;
use crate::query::typed_texts;
use crate::text::PrintableLine;

/// Value of a numeric literal.
pub(super) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The number of a field of a struct as it is written.
pub(super) fn field_number(expr: &Expr) -> Option<usize> {
    number(strip_parentheses(expr))
        .filter(|number| number.fract() == 0.0 && (1.0..=10_000.0).contains(number))
        .map(|number| number as usize)
}

impl ExpressionRewrite<'_, '_> {
    /// A text that is compared with a number or a truth value becomes one.
    pub(super) fn read_as_other(&self, other: &Expr, text: &mut Expr) -> Result<(), Box<Error>> {
        if let (Some(written), true) = (text_of(text), self.is_date(other))
            && let Ok(day) = time_texts::date(written)
        {
            *text = if has_written_year(&day) {
                Expr::TypedString(typed_string(SqlType::Date, day.to_string()))
            } else {
                cast_of(CastKind::Cast, text.clone(), SqlType::Date)
            };
            return Ok(());
        }
        if text_of(text).is_some_and(|written| time_texts::timestamp(written).is_ok())
            && self.is_moved_time(other)
        {
            *text = cast_of(
                CastKind::Cast,
                text.clone(),
                SqlType::Timestamp(None, TimezoneInfo::None),
            );
            return Ok(());
        }
        let (Some(written), true) = (text_of(text).map(str::to_owned), self.reads_texts(other))
        else {
            return Ok(());
        };
        let dtype = self.dtype_of(other).cloned().unwrap_or(DataType::Float64);
        let trimmed = written.trim();
        let read = match &dtype {
            DataType::Boolean => {
                typed_texts::boolean(&written).map(|truth| Expr::value(Value::Boolean(truth)))
            }
            dtype if dtype.is_integer() => typed_texts::integer(&written).and_then(whole_number),
            _ => typed_texts::fraction(trimmed).map(|_| {
                let (sign, digits) = trimmed
                    .strip_prefix('-')
                    .map_or(("", trimmed), |digits| ("-", digits));
                match digits.bytes().next() {
                    Some(b'0'..=b'9') => expression(
                        &format!(
                            "{sign}{}",
                            spelled_number(digits).map_or(digits.to_owned(), |n| n.to_string())
                        ),
                        Vec::new(),
                    ),
                    _ => expression("CAST(_0 AS DOUBLE)", vec![literal(trimmed)]),
                }
            }),
        };
        let Some(read) = read else {
            let summary = format!(
                "the text '{}' is compared with values of the type {}",
                written.printable_line(),
                type_name(&dtype)
            );
            return Err(self.refuse(
                text.span(),
                summary,
                "compare texts: CAST(x AS VARCHAR) = 'a'",
            ));
        };
        *text = read;
        Ok(())
    }

    /// A text that is cast to a type, as a constant of it; `None` for types whose texts the engine
    /// reads as DuckDB does.
    pub(super) fn cast_text(
        &self,
        text: &str,
        kind: &CastKind,
        to: &SqlType,
        span: Span,
    ) -> Result<Option<Expr>, Box<Error>> {
        let (read, asked) = match to {
            SqlType::Boolean | SqlType::Bool => {
                let truth = typed_texts::boolean(text).ok_or(UnreadText::NoValue);
                (
                    truth.map(|truth| Expr::value(Value::Boolean(truth))),
                    "BOOLEAN",
                )
            }
            SqlType::Date => {
                let day = time_texts::date(text);
                let written = day.map(|day| has_written_year(&day).then(|| day.to_string()));
                (
                    written.map(|written| constant_of_text(text, written, kind, to)),
                    "DATE",
                )
            }
            SqlType::Timestamp(None, TimezoneInfo::None) | SqlType::Datetime(None) => {
                let time = time_texts::timestamp(text);
                let written =
                    time.map(|time| has_written_year(&time).then(|| written_timestamp(time)));
                (
                    written.map(|written| constant_of_text(text, written, kind, to)),
                    "TIMESTAMP",
                )
            }
            SqlType::Time(None, TimezoneInfo::None) => {
                let time = time_texts::time_of_day(text)
                    .map(|time| time.format("%H:%M:%S%.f").to_string());
                (
                    time.map(|time| Expr::TypedString(typed_string(to.clone(), time))),
                    "TIME",
                )
            }
            SqlType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                let instant = expression("instant_of_text(_0)", vec![literal(text)]);
                (time_texts::instant(text).map(|_| instant), "TIMESTAMPTZ")
            }
            to if is_integer(to) => {
                let number = if is_unsigned(to) {
                    typed_texts::parse_unsigned(text).map(i128::from)
                } else {
                    typed_texts::integer(text)
                };
                let number = number.and_then(whole_number).ok_or(UnreadText::NoValue);
                (
                    number.map(|number| cast_of(kind.clone(), number, to.clone())),
                    "number of this type",
                )
            }
            SqlType::Interval { .. } => {
                let interval = time_texts::interval(text)
                    .and_then(written_interval)
                    .ok_or(UnreadText::NoValue);
                (interval.map(Expr::Interval), "INTERVAL")
            }
            _ => return Ok(None),
        };
        match (read, kind) {
            (Ok(read), _) => Ok(Some(read)),
            (Err(UnreadText::Beyond), _) => Err(self.refuse(
                span,
                typed_texts::out_of_range_message(text, asked),
                "leave these times out, or compare them as texts",
            )),
            (Err(UnreadText::NoValue), CastKind::TryCast) => Ok(Some(cast_of(
                CastKind::Cast,
                Expr::value(Value::Null),
                to.clone(),
            ))),
            (Err(UnreadText::NoValue), _) => {
                let summary = format!("the text '{}' is no {asked}", text.printable_line());
                Err(self.refuse(span, summary, "TRY_CAST gives null for such texts"))
            }
        }
    }
}

/// Gives FLOAT its 32 bits, DECIMAL its default digits, and whole numbers at most 64 bits.
pub(super) fn widen(data_type: &mut SqlType) {
    match data_type {
        SqlType::Float(ExactNumberInfo::None) => *data_type = SqlType::Real,
        SqlType::HugeInt | SqlType::Int128 => *data_type = SqlType::BigInt(None),
        SqlType::Decimal(info) | SqlType::Numeric(info) | SqlType::Dec(info)
            if *info == ExactNumberInfo::None =>
        {
            *info = ExactNumberInfo::PrecisionAndScale(18, 3);
        }
        _ => {}
    }
}

pub(super) fn is_integer(data_type: &SqlType) -> bool {
    use SqlType::{
        BigInt, Int, Int2, Int4, Int8, Integer, SmallInt, TinyInt, UBigInt, USmallInt, UTinyInt,
    };
    matches!(
        data_type,
        TinyInt(_)
            | SmallInt(_)
            | Int(_)
            | Integer(_)
            | BigInt(_)
            | Int2(_)
            | Int4(_)
            | Int8(_)
            | UTinyInt
            | USmallInt
            | UBigInt
    )
}

fn is_unsigned(data_type: &SqlType) -> bool {
    matches!(
        data_type,
        SqlType::UTinyInt | SqlType::USmallInt | SqlType::UBigInt
    )
}

/// An integer as it is written; `None` when it does not fit in 64 bits.
fn whole_number(number: i128) -> Option<Expr> {
    let number = i64::try_from(number).ok()?;
    Some(expression(&number.to_string(), Vec::new()))
}

fn typed_string(data_type: SqlType, text: String) -> TypedString {
    TypedString {
        data_type,
        value: ValueWithSpan {
            value: Value::SingleQuotedString(text),
            span: Span::empty(),
        },
        uses_odbc_syntax: false,
    }
}

pub(super) fn cast_of(kind: CastKind, expr: Expr, data_type: SqlType) -> Expr {
    let mut cast = expression("CAST(_0 AS INTEGER)", vec![expr]);
    if let Expr::Cast {
        kind: of,
        data_type: to,
        ..
    } = &mut cast
    {
        (*of, *to) = (kind, data_type);
    }
    cast
}

/// A text that is cast to a type: the constant `written`, or the cast where there is none.
fn constant_of_text(text: &str, written: Option<String>, kind: &CastKind, to: &SqlType) -> Expr {
    match written {
        Some(written) => Expr::TypedString(typed_string(to.clone(), written)),
        None => cast_of(kind.clone(), literal(text), to.clone()),
    }
}

fn written_timestamp(time: NaiveDateTime) -> String {
    let form = if time.nanosecond() == 0 {
        "%Y-%m-%d %H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M:%S%.6f"
    };
    time.format(form).to_string()
}

/// Elements of a list as it is written.
pub(super) fn read_written_list(expr: &Expr) -> Option<Vec<Expr>> {
    match strip_parentheses(expr) {
        Expr::Array(array) => Some(array.elem.clone()),
        Expr::Function(function) if name_of(function) == "list_value" => arguments_of(function),
        _ => None,
    }
}

/// The arguments of a call; `None` where one is no expression.
pub(super) fn arguments_of(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let mut arguments = Vec::with_capacity(list.args.len());
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => arguments.push(expr.clone()),
            _ => return None,
        }
    }
    Some(arguments)
}

/// `INTERVAL (n) DAY` of a number that is computed, as `to_days(n)`.
pub(super) fn computed_interval(interval: &Interval) -> Option<Expr> {
    use DateTimeField::{
        Day, Days, Hour, Hours, Minute, Minutes, Month, Months, Second, Seconds, Week, Weeks, Year,
        Years,
    };
    if text_of(&interval.value).is_some() {
        return None;
    }
    let template = match interval.leading_field.as_ref()? {
        Year | Years => "to_months(12 * CAST(trunc(CAST(_0 AS DOUBLE)) AS INTEGER))",
        Month | Months => "to_months(CAST(trunc(CAST(_0 AS DOUBLE)) AS INTEGER))",
        Week(_) | Weeks => "to_weeks(CAST(trunc(CAST(_0 AS DOUBLE)) AS INTEGER))",
        Day | Days => "to_days(CAST(trunc(CAST(_0 AS DOUBLE)) AS INTEGER))",
        Hour | Hours => "to_hours(CAST(trunc(CAST(_0 AS DOUBLE)) AS BIGINT))",
        Minute | Minutes => "to_minutes(CAST(trunc(CAST(_0 AS DOUBLE)) AS BIGINT))",
        Second | Seconds => "to_seconds(CAST(_0 AS DOUBLE))",
        _ => return None,
    };
    Some(expression(template, vec![*interval.value.clone()]))
}

/// Digits of a number as it is written, and how many of them are behind the point; `None` for
/// numbers with a power of ten.
pub(super) fn decimal_of(expr: &Expr) -> Option<(i128, u32)> {
    let (sign, text) = match strip_parentheses(expr) {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => (-1, number_text(expr)?),
        other => (1, number_text(other)?),
    };
    let text = text.replace('_', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    let is_short = digits.len() <= 15 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_short
        .then(|| digits.parse::<i128>().ok())
        .flatten()
        .map(|digits| (sign * digits, fraction.len() as u32))
}

pub(super) fn number_text(expr: &Expr) -> Option<&str> {
    match strip_parentheses(expr) {
        Expr::Value(ValueWithSpan {
            value: Value::Number(text, _),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// A decimal number as it is written; `None` for integers and for numbers with a power of ten.
pub(super) fn written_decimal(expr: &Expr) -> Option<String> {
    let (sign, text) = match strip_parentheses(expr) {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => ("-", number_text(expr)?),
        other => ("", number_text(other)?),
    };
    let is_decimal = text.contains('.')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_decimal.then(|| format!("{sign}{}", text.trim_end_matches('.')))
}

pub(super) fn is_text_type(data_type: &SqlType) -> bool {
    matches!(
        data_type,
        SqlType::Varchar(_) | SqlType::Text | SqlType::String(_)
    )
}

/// The exact sum, difference or product of decimal numbers; `None` of integers, whose overflow is
/// an error.
pub(super) fn computed_decimal(
    left: (i128, u32),
    op: &BinaryOperator,
    right: (i128, u32),
) -> Option<Expr> {
    if left.1 == 0 && right.1 == 0 {
        return None;
    }
    let scale = left.1.max(right.1);
    let scaled =
        |(digits, places): (i128, u32)| digits.checked_mul(10i128.checked_pow(scale - places)?);
    let (digits, places) = match op {
        BinaryOperator::Plus => (scaled(left)?.checked_add(scaled(right)?)?, scale),
        BinaryOperator::Minus => (scaled(left)?.checked_sub(scaled(right)?)?, scale),
        _ => (left.0.checked_mul(right.0)?, left.1 + right.1),
    };
    Some(decimal_number(digits, places))
}

/// A written decimal number with fewer digits after the point, halves away from zero; `None` of a
/// number with as few already.
pub(super) fn rounded_decimal((digits, places): (i128, u32), to: u32) -> Option<Expr> {
    let power = 10i128.checked_pow(places.checked_sub(to).filter(|cut| *cut > 0)?)?;
    let rounded = (digits.abs() + power / 2) / power * digits.signum();
    Some(decimal_number(rounded, to))
}

/// A number of so many digits after the point.
fn decimal_number(digits: i128, places: u32) -> Expr {
    let text = format!(
        "{:0>width$}",
        digits.unsigned_abs(),
        width = places as usize + 1
    );
    let (whole, fraction) = text.split_at(text.len() - places as usize);
    let sign = if digits < 0 { "-" } else { "" };
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    expression(&format!("({sign}{whole}.{fraction})"), Vec::new())
}

pub(super) fn as_interval(expr: &Expr) -> Option<&Interval> {
    match strip_parentheses(expr) {
        Expr::Interval(interval) => Some(interval),
        _ => None,
    }
}

/// A part of an interval as it is written, which keeps hours beyond a day apart from days; `None`
/// for other values and for parts that are no integers.
pub(super) fn part_of_written_interval(unit: &str, expr: &Expr) -> Option<Expr> {
    const HOUR: i64 = 3_600_000_000;
    let IntervalParts {
        months,
        days,
        micros,
    } = as_interval(expr).and_then(interval_parts)?;
    let part = match unit.to_lowercase().trim_end_matches('s') {
        "year" => months / 12,
        "quarter" => months % 12 / 3 + 1,
        "month" => months % 12,
        "day" => days,
        "hour" => micros / HOUR,
        "minute" => micros % HOUR / 60_000_000,
        "second" => micros % 60_000_000 / 1_000_000,
        "millisecond" => micros % 60_000_000 / 1000,
        "microsecond" => micros % 60_000_000,
        _ => return None,
    };
    Some(expression(
        "CAST(_0 AS BIGINT)",
        vec![expression(&part.to_string(), Vec::new())],
    ))
}

/// The text of an interval as it is written: `3 days`.
pub(super) fn interval_text(expr: &Expr) -> Option<String> {
    text_of(&as_interval(expr)?.value).map(str::to_owned)
}

/// True for years of four digits, which the engine reads in constants.
fn has_written_year(time: &impl Datelike) -> bool {
    (0..=9999).contains(&time.year())
}

pub(super) fn is_interval(expr: &Expr) -> bool {
    matches!(strip_parentheses(expr), Expr::Interval(_))
}

/// The digits of a number, with its sign or without.
pub(super) fn digits_of(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => digits_of(expr),
        Expr::Value(ValueWithSpan {
            value: Value::Number(text, _),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// True for a written number, with its sign or without.
pub(super) fn is_number(expr: &Expr) -> bool {
    digits_of(&mut expr.clone()).is_some()
}

/// True for a number with a decimal point.
pub(super) fn is_fraction(expr: &Expr) -> bool {
    digits_of(&mut expr.clone()).is_some_and(|digits| digits.contains('.'))
}

/// Gives a whole number a decimal point.
pub(super) fn make_fraction(expr: &mut Expr) {
    if let Some(digits) = digits_of(expr)
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        digits.push_str(".0");
    }
}

/// True for constants, which the engine accepts in IN lists.
pub(super) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => matches!(expr.as_ref(), Expr::Value(_)),
        // Fractions of 64 bits are compared one by one, as those of 32 bits become such.
        Expr::Cast {
            data_type: SqlType::Double(_) | SqlType::DoublePrecision,
            ..
        } => false,
        Expr::Cast { expr, .. } => is_constant(expr),
        Expr::Array(array) => array.elem.iter().all(is_constant),
        _ => false,
    }
}

/// Numeric literal in the engine's spelling; `None` if unchanged.
pub(super) fn spelled_number(text: &str) -> Option<Expr> {
    let plain = text.replace('_', "");
    let number = |text: String| Expr::value(Value::Number(text, false));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(&plain) {
        // A number with a power of ten is a DOUBLE, others are decimal numbers. The engine parses a
        // literal as floating point only if it has a decimal point.
        let Some((digits, power)) = plain.split_once(['e', 'E']) else {
            return (plain != text).then(|| number(plain));
        };
        let point = if digits.contains('.') { "" } else { ".0" };
        return Some(expression(
            "CAST(_0 AS DOUBLE)",
            vec![number(format!("{digits}{point}e{power}"))],
        ));
    }
    if plain.parse::<i64>().is_ok() {
        return (plain != text).then(|| number(plain));
    }
    match plain.parse::<u64>() {
        Ok(_) => Some(expression("CAST(_0 AS UBIGINT)", vec![literal(&plain)])),
        Err(_) => Some(number(format!("{plain}.0"))),
    }
}

/// The parts of `INTERVAL 3 DAY`, `INTERVAL '3' DAY` or `INTERVAL '1 day 02:00'`; `None` for a text
/// or a value that is no interval.
pub(in crate::query) fn interval_parts(interval: &Interval) -> Option<IntervalParts> {
    let value = strip_parentheses(&interval.value);
    let count = match value {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => format!("-{}", number_text(expr)?),
        value => text_of(value).or_else(|| number_text(value))?.to_owned(),
    };
    let Some(unit) = &interval.leading_field else {
        return time_texts::interval(&count);
    };
    let count = typed_texts::fraction(&count)?;
    // Only seconds and their thousandths have fractions.
    let has_fraction = matches!(
        unit,
        DateTimeField::Second
            | DateTimeField::Seconds
            | DateTimeField::Millisecond
            | DateTimeField::Milliseconds
    );
    let count = if has_fraction { count } else { count.trunc() };
    time_texts::interval(&format!("{count} {unit}"))
}

/// An interval as the engine reads it, which takes none with a sign; `None` for a time beyond its
/// 64 bits of nanoseconds.
pub(super) fn written_interval(parts: IntervalParts) -> Option<Interval> {
    let IntervalParts {
        months,
        days,
        micros,
    } = parts;
    micros.checked_mul(1000)?;
    let all = [(months, "months"), (days, "days"), (micros, "microseconds")];
    let is_zero = all.iter().all(|(count, _)| *count == 0);
    let counted = all
        .iter()
        .filter(|(count, unit)| *count != 0 || (is_zero && *unit == "days"));
    let texts: Vec<_> = counted
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    let value = Box::new(literal(&texts.join(" ")));
    Some(Interval {
        value,
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}
