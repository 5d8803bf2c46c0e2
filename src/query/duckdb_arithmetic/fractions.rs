//! Arithmetic of fractions, which has other types, signs or roundings in DuckDB than in the engine.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::expressions::{binary_expression, broadcast_value};
use super::whole_arithmetic::{Arithmetic, arithmetic, arithmetic_function};
use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::nested_values::{broadcast_column, row_count};
use crate::query::type_names::type_name;
use crate::query::whole_numbers::too_large;

/// The type in which functions compute that take DOUBLE alone: that of fractions of 32 bits, of
/// decimal numbers, and of lists of the former.
pub(super) fn with_doubles(dtype: &DataType) -> Option<DataType> {
    match dtype {
        DataType::Float32 | DataType::Decimal(..) => Some(DataType::Float64),
        // The elements of others are added exactly.
        DataType::List(inner) if !inner.is_decimal() => {
            with_doubles(inner).map(|inner| DataType::List(Box::new(inner)))
        }
        _ => None,
    }
}

/// True for fractions, also written ones.
pub(super) fn is_fraction(dtype: &DataType) -> bool {
    dtype.is_float() || *dtype == DataType::Unknown(UnknownKind::Float)
}

/// True for written numbers and their sums and products, which are decimal numbers in DuckDB.
pub(super) fn is_written_number(expression: &Expr) -> bool {
    expression.into_iter().all(|part| {
        matches!(
            part,
            Expr::Literal(LiteralValue::Dyn(_)) | Expr::BinaryExpr { .. }
        ) || matches!(
            part,
            Expr::Function {
                function: FunctionExpr::Negate,
                ..
            }
        )
    })
}

/// Arithmetic of fractions that has other types or values in DuckDB; `None` for any other.
pub(super) fn arithmetic_of_fractions(
    left: &Expr,
    op: Operator,
    right: &Expr,
    dtypes: [DataType; 2],
) -> Option<Expr> {
    let is_division = matches!(op, Operator::TrueDivide | Operator::FloorDivide);
    if arithmetic(op).is_none() && !is_division {
        return None;
    }
    // The engine divides intervals, and its quotients are intervals.
    if is_division
        && dtypes
            .iter()
            .any(|dtype| matches!(dtype, DataType::Duration(_)))
    {
        return None;
    }
    let [one, other] = [left, right].map(Clone::clone);
    let is_decimal = |dtype: &DataType| matches!(dtype, DataType::Decimal(..));
    if op == Operator::FloorDivide
        && dtypes
            .iter()
            .any(|dtype| is_fraction(dtype) || is_decimal(dtype))
    {
        return Some(marked_as_quotient(
            quotient_function(fraction_type_of_both(&dtypes)).call(vec![one, other]),
        ));
    }
    // The remainder of decimal numbers is computed with 64 bits.
    if op == Operator::Modulus && dtypes.iter().any(is_decimal) {
        let sides = [one, other].map(|side| side.cast(DataType::Float64));
        let remainder = arithmetic_function(Arithmetic::Remainder, DataType::Float64);
        return Some(remainder.call(sides.into()));
    }
    if is_division && dtypes.iter().any(is_decimal) {
        return Some(binary_expression(
            one.cast(DataType::Float64),
            op,
            other.cast(DataType::Float64),
        ));
    }
    // The engine computes unsigned beside written integers as signed ones, which do not hold the
    // greatest unsigned ones.
    let has = |wanted: fn(&DataType) -> bool| dtypes.iter().any(wanted);
    let is_unsigned = has(|dtype| *dtype == DataType::UInt64)
        && has(|dtype| matches!(dtype, DataType::Unknown(_)));
    if op == Operator::TrueDivide && is_unsigned {
        return Some(
            rowwise_function(DataType::Float64, |number, divisor| number / divisor)
                .call(vec![one, other]),
        );
    }
    // The engine multiplies by the reciprocal of a single divisor.
    if op == Operator::TrueDivide
        && matches!(right, Expr::Literal(_) | Expr::Cast { .. })
        && dtypes.iter().any(is_fraction)
    {
        let dtype = fraction_type_of_both(&dtypes);
        return Some(
            rowwise_function(dtype, |number, divisor| number / divisor).call(vec![one, other]),
        );
    }
    let has_column =
        dtypes.iter().any(DataType::is_float) && has(|dtype| dtype.is_primitive_numeric());
    if has_column
        && !has(is_decimal)
        && (shortens_arithmetic(left, op) || shortens_arithmetic(right, op))
    {
        let compute: fn(f64, f64) -> f64 = match op {
            Operator::Plus => |a, b| a + b,
            Operator::Minus => |a, b| a - b,
            _ => |a, b| a * b,
        };
        return Some(
            rowwise_function(fraction_type_of_both(&dtypes), compute).call(vec![one, other]),
        );
    }
    // With numbers of 32 bits, integers and written numbers have 32 bits.
    let small = |dtype: &DataType| *dtype == DataType::Float32;
    let joins = |dtype: &DataType| dtype.is_integer() || matches!(dtype, DataType::Unknown(_));
    match &dtypes {
        [one_type, other_type] if small(one_type) && joins(other_type) => (op != Operator::Modulus)
            .then(|| binary_expression(one, op, other.cast(DataType::Float32))),
        [one_type, other_type] if joins(one_type) && small(other_type) => (op != Operator::Modulus)
            .then(|| binary_expression(one.cast(DataType::Float32), op, other)),
        _ => None,
    }
}

/// The type of the result of arithmetic with fractions.
fn fraction_type_of_both(dtypes: &[DataType; 2]) -> DataType {
    if dtypes.contains(&DataType::Float32) && !dtypes.contains(&DataType::Float64) {
        DataType::Float32
    } else {
        DataType::Float64
    }
}

/// True for a side by which the engine shortens the arithmetic: it takes `0 - x` and `-1 * x` as
/// the other sign, and `x + 0` as `x`, which differ for -0.0 and NaN.
fn shortens_arithmetic(side: &Expr, op: Operator) -> bool {
    match (side, op) {
        (Expr::Literal(number), Operator::Plus | Operator::Minus) => is_value(number, 0.0),
        (Expr::Literal(number), Operator::Multiply) => is_value(number, -1.0),
        (_, Operator::Plus | Operator::Minus | Operator::Multiply) => is_computed_constant(side),
        _ => false,
    }
}

/// True for what is computed from written values alone, as `-1.5e0`.
fn is_computed_constant(expression: &Expr) -> bool {
    !matches!(expression, Expr::Literal(_)) && expression.into_iter().all(needs_no_row)
}

/// True for parts that read no row themselves.
fn needs_no_row(part: &Expr) -> bool {
    matches!(
        part,
        Expr::Literal(_)
            | Expr::Cast { .. }
            | Expr::Function { .. }
            | Expr::AnonymousFunction { .. }
            | Expr::BinaryExpr { .. }
    )
}

/// True for a written number of this value.
fn is_value(number: &LiteralValue, value: f64) -> bool {
    number
        .to_any_value()
        .and_then(|number| number.extract::<f64>())
        == Some(value)
}

/// A function of two fractions of a type, which is computed for each row and rounded once.
fn rowwise_function(dtype: DataType, compute: fn(f64, f64) -> f64) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        "by_row",
        move |_| Ok(dtype.clone()),
        move |columns| compute_fractions(columns, &of, compute),
    )
}

/// The results for both sides as numbers of `dtype`, which are computed with 64 bits.
fn compute_fractions(
    columns: &[Column],
    dtype: &DataType,
    compute: fn(f64, f64) -> f64,
) -> PolarsResult<Column> {
    let [left, right] = columns else {
        return Err(refusal("arithmetic takes two numbers"));
    };
    let [numbers, others] =
        [left.cast(dtype)?, right.cast(dtype)?].map(|side| side.cast(&DataType::Float64));
    let (numbers, others) = (numbers?, others?);
    let (numbers, others) = (numbers.f64()?, others.f64()?);
    let results: Float64Chunked = (0..row_count(columns))
        .map(|row| {
            Some(compute(
                broadcast_value(numbers, row)?,
                broadcast_value(others, row)?,
            ))
        })
        .collect();
    results.into_column().cast(dtype)
}

/// Name of the calls that `//` makes.
const QUOTIENT: &str = "quotient";

/// The quotient of fractions by `//`, which is not cut; null for a divisor of 0.
fn quotient_function(dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        QUOTIENT,
        move |_| Ok(dtype.clone()),
        move |columns| divide_fractions(columns, &of),
    )
}

fn divide_fractions(columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    let [left, right] = columns else {
        return Err(refusal("arithmetic takes two numbers"));
    };
    let (numbers, divisors) = (
        left.cast(&DataType::Float64)?,
        right.cast(&DataType::Float64)?,
    );
    let (numbers, divisors) = (numbers.f64()?, divisors.f64()?);
    let quotients: Float64Chunked = (0..row_count(columns))
        .map(|row| {
            let divisor = broadcast_value(divisors, row).filter(|divisor| *divisor != 0.0)?;
            Some(broadcast_value(numbers, row)? / divisor)
        })
        .collect();
    quotients.into_column().cast(dtype)
}

pub(super) fn marked_as_quotient(mut call: Expr) -> Expr {
    if let Expr::AnonymousFunction { fmt_str, .. } = &mut call {
        **fmt_str = QUOTIENT.into();
    }
    call
}

pub(super) fn is_quotient(expression: &Expr) -> bool {
    matches!(expression, Expr::AnonymousFunction { fmt_str, .. } if fmt_str.as_str() == QUOTIENT)
}

/// The greatest or least of several fractions of a type that are not null: NaN is the greatest, and
/// of equal ones the first is taken.
pub(super) fn extreme_function(dtype: DataType, is_greatest: bool) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        "extreme",
        move |_| Ok(dtype.clone()),
        move |columns| find_extremes(columns, &of, is_greatest),
    )
}

fn find_extremes(columns: &[Column], dtype: &DataType, is_greatest: bool) -> PolarsResult<Column> {
    // An empty column has no rows, whatever constants are beside it.
    let rows = row_count(columns);
    let columns = columns
        .iter()
        .map(|column| column.cast(dtype)?.cast(&DataType::Float64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let columns = columns
        .iter()
        .map(Column::f64)
        .collect::<PolarsResult<Vec<_>>>()?;
    let extremes = (0..rows).map(|row| {
        columns
            .iter()
            .filter_map(|column| broadcast_value(column, row))
            .reduce(|best, number| more_extreme(best, number, is_greatest))
    });
    extremes
        .collect::<Float64Chunked>()
        .into_column()
        .cast(dtype)
}

/// The greater or the less of two numbers, the first of equal ones; NaN is the greatest.
fn more_extreme(best: f64, number: f64, is_greatest: bool) -> f64 {
    let is_beyond = match (number.is_nan(), best.is_nan()) {
        (true, is_nan) => is_greatest && !is_nan,
        (false, true) => !is_greatest,
        (false, false) => (is_greatest && number > best) || (!is_greatest && number < best),
    };
    if is_beyond { number } else { best }
}

/// A power of numbers. The engine takes another function for some exponents, which differs for -0.0
/// and infinity.
pub(super) fn power_function() -> UserDefinedFunction {
    elementwise("power", |_| Ok(DataType::Float64), raise_to_powers)
}

fn raise_to_powers(columns: &[Column]) -> PolarsResult<Column> {
    let [base, exponent] = columns else {
        return Err(refusal("pow takes two values"));
    };
    let rows = row_count(columns);
    let (bases, exponents) = (
        broadcast_column(base, rows),
        broadcast_column(exponent, rows),
    );
    let pairs = bases.f64()?.iter().zip(exponents.f64()?.iter());
    let powers: Float64Chunked = pairs
        .map(|(base, exponent)| Some(base?.powf(exponent?)))
        .collect();
    Ok(powers.into_column())
}

/// Refuses numbers that are too great for FLOAT, or makes them null.
pub(super) fn float_narrowing_function(is_try: bool) -> UserDefinedFunction {
    elementwise(
        "single",
        |_| Ok(DataType::Float64),
        move |columns| limit_to_floats(columns, is_try),
    )
}

fn limit_to_floats(columns: &[Column], is_try: bool) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("a number is one column"));
    };
    let fits = |number: &f64| !number.is_finite() || (*number as f32).is_finite();
    let fitting = numbers.f64()?.iter().map(|number| match number {
        Some(number) if !fits(&number) && !is_try => Err(too_large(format!(
            "{number:e} does not fit in {}",
            type_name(&DataType::Float32)
        ))),
        number => Ok(number.filter(fits)),
    });
    Ok(fitting
        .collect::<PolarsResult<Float64Chunked>>()?
        .into_column())
}

/// Rounds fractions to `digits` after the point: halves away from zero, or to even numbers. No
/// function of the engine, whose mode [`super::rewrite_expression`] changes.
pub(super) fn rounding_function(digits: i32, away_from_zero: bool) -> UserDefinedFunction {
    elementwise(
        "rounded",
        |_| Ok(DataType::Float64),
        move |columns| round_fractions(columns, digits, away_from_zero),
    )
}

fn round_fractions(columns: &[Column], digits: i32, away_from_zero: bool) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("a number is one column"));
    };
    let scale = 10f64.powi(digits);
    let numbers = numbers.cast(&DataType::Float64)?;
    let rounded = if away_from_zero {
        numbers
            .f64()?
            .apply_values(|number| (number * scale).round() / scale)
    } else {
        numbers
            .f64()?
            .apply_values(|number| (number * scale).round_ties_even() / scale)
    };
    Ok(rounded.into_column())
}
