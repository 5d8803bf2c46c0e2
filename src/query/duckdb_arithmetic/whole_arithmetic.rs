//! Arithmetic of integers: the type of its result, and an error for a number that does not fit.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::expressions::broadcast_value;
use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::nested_values::row_count;
use crate::query::type_names::type_name;
use crate::query::whole_numbers::{limits, too_large, type_of};

#[derive(Clone, Copy)]
pub(super) enum Arithmetic {
    Sum,
    Difference,
    Product,
    Quotient,
    Remainder,
}

impl Arithmetic {
    fn operator_sign(self) -> char {
        match self {
            Self::Sum => '+',
            Self::Difference => '-',
            Self::Product => '*',
            Self::Quotient => '/',
            Self::Remainder => '%',
        }
    }
}

pub(super) fn arithmetic(op: Operator) -> Option<Arithmetic> {
    Some(match op {
        Operator::Plus => Arithmetic::Sum,
        Operator::Minus => Arithmetic::Difference,
        Operator::Multiply => Arithmetic::Product,
        Operator::FloorDivide => Arithmetic::Quotient,
        Operator::Modulus => Arithmetic::Remainder,
        _ => return None,
    })
}

/// A side of integer arithmetic.
pub(super) enum WholeNumber {
    Typed(DataType),
    /// A number as it is written, whose type depends on the other side.
    Written(i128),
}

/// An integer expression as a side of arithmetic; `None` for other types.
pub(super) fn whole_of(expression: &Expr, schema: &Schema) -> Option<WholeNumber> {
    match expression {
        Expr::Alias(inner, _) => return whole_of(inner, schema),
        Expr::Literal(literal) => {
            if let Some(number) = written_integer(literal) {
                return Some(WholeNumber::Written(number));
            }
        }
        _ => {}
    }
    match expression.to_field(schema).ok()?.dtype() {
        DataType::Unknown(UnknownKind::Int(_)) => {
            let is_wide = expression.into_iter().any(is_written_beyond_32_bits);
            Some(WholeNumber::Typed(if is_wide {
                DataType::Int64
            } else {
                DataType::Int32
            }))
        }
        dtype => limits(dtype).map(|_| WholeNumber::Typed(dtype.clone())),
    }
}

pub(super) fn is_written_beyond_32_bits(part: &Expr) -> bool {
    let Expr::Literal(literal) = part else {
        return false;
    };
    written_integer(literal).is_some_and(|number| type_of(number) != DataType::Int32)
}

/// The integer of a literal without a type of its own.
fn written_integer(literal: &LiteralValue) -> Option<i128> {
    if !matches!(literal, LiteralValue::Dyn(_)) {
        return None;
    }
    let value = literal.to_any_value()?;
    if value.is_integer() {
        value.extract::<i128>()
    } else {
        None
    }
}

/// Type of the result of integer arithmetic. A written number takes the type of the other side if
/// it fits in it; of two types the one that holds the numbers of both, at most 64 bits.
pub(super) fn common_type(left: &WholeNumber, right: &WholeNumber) -> Option<DataType> {
    let (left, right) = match (left, right) {
        (WholeNumber::Typed(dtype), WholeNumber::Written(number))
        | (WholeNumber::Written(number), WholeNumber::Typed(dtype)) => {
            if limits(dtype).is_some_and(|(least, most)| (least..=most).contains(number)) {
                return Some(dtype.clone());
            }
            (dtype.clone(), type_of(*number))
        }
        (WholeNumber::Written(left), WholeNumber::Written(right)) => {
            (type_of(*left), type_of(*right))
        }
        (WholeNumber::Typed(left), WholeNumber::Typed(right)) => (left.clone(), right.clone()),
    };
    if holds_numbers_of(&left, &right) {
        Some(left)
    } else if holds_numbers_of(&right, &left) {
        Some(right)
    } else {
        Some(DataType::Int64)
    }
}

/// True for an integer type that has all numbers of another one.
fn holds_numbers_of(wide: &DataType, other: &DataType) -> bool {
    limits(wide)
        .zip(limits(other))
        .is_some_and(|((least, most), (other_least, other_most))| {
            least <= other_least && other_most <= most
        })
}

/// Casts integers to `dtype`, or fails on overflow.
pub(in crate::query) fn narrowing_function(dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        "narrowed",
        move |_| Ok(dtype.clone()),
        move |columns| narrow_numbers(columns, &of),
    )
}

fn narrow_numbers(columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("numbers are one column"));
    };
    let narrow = numbers.cast(dtype)?;
    if narrow.null_count() > numbers.null_count() {
        return Err(too_large(format!(
            "a number does not fit in {}",
            type_name(dtype)
        )));
    }
    Ok(narrow)
}

/// Checked binary operation on two columns of `dtype` with a result of that type; fails on
/// overflow.
pub(super) fn arithmetic_function(kind: Arithmetic, dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        "arithmetic",
        move |_| Ok(dtype.clone()),
        move |columns| compute_checked(kind, columns, &of),
    )
}

fn compute_checked(kind: Arithmetic, columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    let [left, right] = columns else {
        return Err(refusal("arithmetic takes two numbers"));
    };
    let rows = row_count(columns);
    let column = if dtype.is_float() {
        remainders(left, right, rows)?
    } else {
        wholes(kind, left, right, rows, dtype)?
    };
    column.cast(dtype)
}

fn wholes(
    kind: Arithmetic,
    left: &Column,
    right: &Column,
    rows: usize,
    dtype: &DataType,
) -> PolarsResult<Column> {
    let (left, right) = (Wholes::from_column(left)?, Wholes::from_column(right)?);
    let (least, most) = limits(dtype).unwrap_or((i64::MIN.into(), i64::MAX.into()));
    let arithmetic = LimitedArithmetic {
        kind,
        dtype,
        least,
        most,
    };
    let numbers = (0..rows).map(|row| match (left.get(row), right.get(row)) {
        (Some(left), Some(right)) => arithmetic.compute_number(left, right),
        _ => Ok(None),
    });
    if *dtype == DataType::UInt64 {
        let numbers = numbers.map(|number| Ok(number?.and_then(|number| number.try_into().ok())));
        return Ok(numbers
            .collect::<PolarsResult<UInt64Chunked>>()?
            .into_column());
    }
    let numbers = numbers.map(|number| Ok(number?.and_then(|number| number.try_into().ok())));
    Ok(numbers
        .collect::<PolarsResult<Int64Chunked>>()?
        .into_column())
}

/// Integer arithmetic whose results have a type, with the limits of that type.
struct LimitedArithmetic<'a> {
    kind: Arithmetic,
    dtype: &'a DataType,
    least: i128,
    most: i128,
}

impl LimitedArithmetic<'_> {
    /// The result; `None` where the divisor is 0.
    fn compute_number(&self, left: i128, right: i128) -> PolarsResult<Option<i128>> {
        let result = match self.kind {
            Arithmetic::Sum => Some(left + right),
            Arithmetic::Difference => Some(left - right),
            Arithmetic::Product => Some(left.saturating_mul(right)),
            Arithmetic::Quotient => left.checked_div(right),
            // As in DuckDB, a remainder fails when its quotient does not fit.
            Arithmetic::Remainder if right == -1 && left == self.least => Some(self.most + 1),
            Arithmetic::Remainder => left.checked_rem(right),
        };
        match result {
            Some(number) if number < self.least || number > self.most => Err(too_large(format!(
                "{left} {} {right} does not fit in {}",
                self.kind.operator_sign(),
                type_name(self.dtype)
            ))),
            result => Ok(result),
        }
    }
}

/// Integers of a column of any integer type.
enum Wholes {
    Signed(Int64Chunked),
    Unsigned(UInt64Chunked),
}

impl Wholes {
    fn from_column(column: &Column) -> PolarsResult<Self> {
        Ok(if *column.dtype() == DataType::UInt64 {
            Self::Unsigned(column.as_materialized_series().rechunk().u64()?.clone())
        } else {
            Self::Signed(
                column
                    .cast(&DataType::Int64)?
                    .as_materialized_series()
                    .rechunk()
                    .i64()?
                    .clone(),
            )
        })
    }

    fn get(&self, row: usize) -> Option<i128> {
        match self {
            Self::Signed(numbers) => broadcast_value(numbers, row).map(i128::from),
            Self::Unsigned(numbers) => broadcast_value(numbers, row).map(i128::from),
        }
    }
}

fn remainders(left: &Column, right: &Column, rows: usize) -> PolarsResult<Column> {
    let (left, right) = (
        left.cast(&DataType::Float64)?,
        right.cast(&DataType::Float64)?,
    );
    let (left, right) = (left.f64()?, right.f64()?);
    let remainder = |row: usize| Some(broadcast_value(left, row)? % broadcast_value(right, row)?);
    Ok((0..rows)
        .map(remainder)
        .collect::<Float64Chunked>()
        .into_column())
}
