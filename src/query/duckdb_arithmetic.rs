//! DuckDB's arithmetic: integer overflow is an error, a remainder has the sign of the dividend, and division and rounding follow
//! DuckDB. Rewrites plans of the engine.

use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::duckdb_functions;
use super::engine::refusal;
use super::plan_inputs::map_inputs;
use super::scan::fault;
use crate::error::Error;

/// Decimal digits of the accumulator of integer sums.
const DIGITS: usize = 38;

/// The plan with DuckDB's arithmetic. Call just before collecting.
pub(super) fn meant(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    plan(frame.logical_plan).map(LazyFrame::from)
}

fn plan(from: DslPlan) -> PolarsResult<DslPlan> {
    Ok(match map_inputs(from, plan)? {
        DslPlan::Select { expr, input, options } => DslPlan::Select { expr: all(expr, &input)?, input, options },
        DslPlan::HStack { exprs, input, options } => DslPlan::HStack { exprs: all(exprs, &input)?, input, options },
        DslPlan::Filter { predicate, input } => {
            let predicate = all(vec![predicate], &input)?.pop().unwrap_or_else(|| lit(true));
            DslPlan::Filter { predicate, input }
        }
        DslPlan::Sort { by_column, slice, sort_options, input } => {
            DslPlan::Sort { by_column: all(by_column, &input)?, slice, sort_options, input }
        }
        DslPlan::GroupBy { input, keys, predicates, aggs, maintain_order, options, apply } => {
            let (keys, predicates, aggs) = (all(keys, &input)?, all(predicates, &input)?, all(aggs, &input)?);
            DslPlan::GroupBy { input, keys, predicates, aggs, maintain_order, options, apply }
        }
        DslPlan::Join { input_left, input_right, left_on, right_on, predicates, options } => {
            let (left_on, right_on) = (all(left_on, &input_left)?, all(right_on, &input_right)?);
            DslPlan::Join { input_left, input_right, left_on, right_on, predicates, options }
        }
        other => other,
    })
}

/// Rewrites expressions over the rows of `input`.
fn all(expressions: Vec<Expr>, input: &Arc<DslPlan>) -> PolarsResult<Vec<Expr>> {
    if !expressions.iter().any(|expression| expression.into_iter().any(is_other_here)) {
        return Ok(expressions);
    }
    let schema = LazyFrame::from(input.as_ref().clone()).collect_schema()?;
    expressions.into_iter().map(|expression| expression.try_map_expr(|part| one(part, &schema))).collect()
}

/// True for expressions whose result may differ in DuckDB.
fn is_other_here(part: &Expr) -> bool {
    match part {
        Expr::BinaryExpr { op, .. } => arithmetic(*op).is_some(),
        Expr::Agg(AggExpr::Sum(_) | AggExpr::Max { .. }) | Expr::Cast { .. } => true,
        Expr::Function { function, .. } => {
            matches!(function, FunctionExpr::Round { .. } | FunctionExpr::Abs) || counts_in_small_numbers(function)
        }
        _ => false,
    }
}

/// True for functions whose numbers are of 64 bits in DuckDB, but smaller in the engine.
fn counts_in_small_numbers(function: &FunctionExpr) -> bool {
    matches!(function, FunctionExpr::TemporalExpr(_) | FunctionExpr::StringExpr(_) | FunctionExpr::ListExpr(ListFunction::Length))
}

#[derive(Clone, Copy)]
enum Arithmetic {
    Sum,
    Difference,
    Product,
    Quotient,
    Remainder,
}

fn arithmetic(op: Operator) -> Option<Arithmetic> {
    Some(match op {
        Operator::Plus => Arithmetic::Sum,
        Operator::Minus => Arithmetic::Difference,
        Operator::Multiply => Arithmetic::Product,
        Operator::FloorDivide => Arithmetic::Quotient,
        Operator::Modulus => Arithmetic::Remainder,
        _ => return None,
    })
}

fn one(part: Expr, schema: &Schema) -> PolarsResult<Expr> {
    let dtype = |expression: &Expr| expression.to_field(schema).map_or(DataType::Null, |field| field.dtype().clone());
    Ok(match part {
        Expr::BinaryExpr { ref left, op, ref right } => {
            let Some(kind) = arithmetic(op) else { return Ok(part) };
            // The difference of two dates is a number of days.
            if matches!(kind, Arithmetic::Difference) && [left, right].map(|side| dtype(side)) == [DataType::Date, DataType::Date] {
                let [left, right] = [left, right].map(|side| side.as_ref().clone().cast(DataType::Int32));
                return Ok((left - right).cast(DataType::Int64));
            }
            let counts = |part: &Expr| matches!(part, Expr::Function { function: FunctionExpr::Range(_), .. } | Expr::Len);
            if part.into_iter().any(counts) {
                return Ok(part);
            }
            let sides = [whole_of(left, schema), whole_of(right, schema)];
            let dtype = match sides {
                [Some(left), Some(right)] => common_type(&left, &right),
                _ => Some(dtype(&part)).filter(|dtype| dtype.is_float() && matches!(kind, Arithmetic::Remainder)),
            };
            let Some(dtype) = dtype else { return Ok(part) };
            let call = computed(kind, dtype.clone()).call(vec![left.as_ref().clone(), right.as_ref().clone()]);
            if !part.into_iter().all(|part| matches!(part, Expr::Literal(_) | Expr::BinaryExpr { .. } | Expr::Cast { .. })) {
                return Ok(call);
            }
            // An expression without columns is a constant.
            let one = DataFrame::empty_with_height(1).lazy().select([call]).collect()?;
            let value = one.columns().first().map_or(Ok(AnyValue::Null), |column| column.get(0).map(AnyValue::into_static))?;
            lit(Scalar::new(dtype, value))
        }
        Expr::Function { ref input, function: FunctionExpr::Abs, .. } => match (input.first(), dtype(&part)) {
            (Some(number), dtype) if dtype.is_signed_integer() => {
                let negative = computed(Arithmetic::Difference, dtype).call(vec![lit(0), number.clone()]);
                when(number.clone().lt(lit(0))).then(negative).otherwise(number.clone())
            }
            _ => part,
        },
        Expr::Function { ref function, .. } if counts_in_small_numbers(function) && dtype(&part).is_integer() => {
            part.cast(DataType::Int64)
        }
        Expr::Agg(AggExpr::Sum(ref input)) => match dtype(input) {
            whole if whole.is_integer() => {
                let input = input.as_ref().clone().cast(DataType::Decimal(DIGITS, 0));
                narrowed(if whole == DataType::UInt64 { whole } else { DataType::Int64 }).call(vec![input.sum()])
            }
            _ => part,
        },
        // NaN is the greatest number.
        Expr::Agg(AggExpr::Max { ref input, propagate_nans: false }) if dtype(input).is_float() => {
            let nan = lit(f64::NAN).cast(dtype(input));
            // As `max` of integers, which [`super::hash_aggregate`] supports too.
            let any = input.as_ref().clone().is_nan().cast(DataType::UInt8).max();
            when(any.eq(lit(1u8))).then(nan).otherwise(part)
        }
        Expr::Cast { ref expr, dtype: ref wanted, options } => match (dtype(expr), wanted.as_literal()) {
            (DataType::Datetime(_, None), Some(DataType::String)) => match duckdb_functions::function("timestamp_text") {
                Some(text) => text.call(vec![expr.as_ref().clone()]),
                None => part,
            },
            (from, Some(to)) if from.is_float() && to.is_integer() => {
                let rounded = expr.as_ref().clone().round(0, RoundMode::HalfToEven);
                Expr::Cast { expr: Arc::new(rounded), dtype: wanted.clone(), options }
            }
            _ => part,
        },
        Expr::Function { ref input, function: FunctionExpr::Round { decimals, .. } } => match input.first() {
            Some(input) => input.clone().round(decimals, RoundMode::HalfAwayFromZero),
            None => part,
        },
        other => other,
    })
}

/// A side of integer arithmetic.
enum Whole {
    Typed(DataType),
    /// A number as it is written, whose type depends on the other side.
    Written(i128),
}

/// An integer expression as a side of arithmetic; `None` for other types.
fn whole_of(expression: &Expr, schema: &Schema) -> Option<Whole> {
    match expression {
        Expr::Alias(inner, _) => return whole_of(inner, schema),
        Expr::Literal(literal) => {
            if let Some(number) = written_integer(literal) {
                return Some(Whole::Written(number));
            }
        }
        _ => {}
    }
    match expression.to_field(schema).ok()?.dtype() {
        DataType::Unknown(UnknownKind::Int(_)) => {
            let is_wide = |part: &Expr| match part {
                Expr::Literal(literal) => written_integer(literal).is_some_and(|number| type_of(number) != DataType::Int32),
                _ => false,
            };
            Some(Whole::Typed(if expression.into_iter().any(is_wide) { DataType::Int64 } else { DataType::Int32 }))
        }
        dtype => limits(dtype).map(|_| Whole::Typed(dtype.clone())),
    }
}

/// The integer of a literal without a type of its own.
fn written_integer(literal: &LiteralValue) -> Option<i128> {
    if !matches!(literal, LiteralValue::Dyn(_)) {
        return None;
    }
    let value = literal.to_any_value()?;
    if value.is_integer() { value.extract::<i128>() } else { None }
}

/// Type of a number as it is written.
fn type_of(number: i128) -> DataType {
    let fits = |dtype: &DataType| limits(dtype).is_some_and(|(least, most)| (least..=most).contains(&number));
    [DataType::Int32, DataType::Int64].into_iter().find(fits).unwrap_or(DataType::UInt64)
}

/// Smallest and greatest number of an integer type; `None` for other types.
fn limits(dtype: &DataType) -> Option<(i128, i128)> {
    Some(match dtype {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Type of the result of integer arithmetic. A written number takes the type of the other side if it fits in it; of two types the
/// one that holds the numbers of both, at most 64 bits.
fn common_type(left: &Whole, right: &Whole) -> Option<DataType> {
    let (left, right) = match (left, right) {
        (Whole::Typed(dtype), Whole::Written(number)) | (Whole::Written(number), Whole::Typed(dtype)) => {
            if limits(dtype).is_some_and(|(least, most)| (least..=most).contains(number)) {
                return Some(dtype.clone());
            }
            (dtype.clone(), type_of(*number))
        }
        (Whole::Written(left), Whole::Written(right)) => (type_of(*left), type_of(*right)),
        (Whole::Typed(left), Whole::Typed(right)) => (left.clone(), right.clone()),
    };
    let holds = |wide: &DataType, other: &DataType| {
        let ((least, most), (other_least, other_most)) = (limits(wide)?, limits(other)?);
        (least <= other_least && other_most <= most).then(|| wide.clone())
    };
    holds(&left, &right).or_else(|| holds(&right, &left)).or(Some(DataType::Int64))
}

/// Overflow error of a statement, with a hint.
pub(super) fn too_large(what: impl std::fmt::Display) -> PolarsError {
    let error = Error::usage("a number of the query has more than 64 bits").because(what.to_string());
    fault(&error.hint("compute with fractions: sum(CAST(x AS DOUBLE)), CAST(x AS DOUBLE) * 4"))
}

/// Casts integer sums to `dtype`, or fails on overflow.
fn narrowed(dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> {
        let [sums] = columns else { return Err(refusal("a sum is one number")) };
        let narrow = sums.cast(&of)?;
        if narrow.null_count() > sums.null_count() {
            return Err(too_large(format!("a sum does not fit in {of}")));
        }
        Ok(narrow)
    };
    let field = move |_: &Schema, fields: &[Field]| {
        Ok(Field::new(fields.first().map_or(PlSmallStr::EMPTY, |field| field.name().clone()), dtype.clone()))
    };
    let mut function = UserDefinedFunction::new("narrowed".into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

/// Checked binary operation on two columns of `dtype` with a result of that type; fails on overflow.
fn computed(kind: Arithmetic, dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> {
        let [left, right] = columns else { return Err(refusal("arithmetic takes two numbers")) };
        let column = if of.is_float() { remainders(left, right)? } else { wholes(kind, left, right, &of)? };
        Ok(column.cast(&of)?.with_name(left.name().clone()))
    };
    let field = move |_: &Schema, fields: &[Field]| {
        Ok(Field::new(fields.first().map_or(PlSmallStr::EMPTY, |field| field.name().clone()), dtype.clone()))
    };
    let mut function = UserDefinedFunction::new("arithmetic".into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

/// Number of rows of two columns, of which one may be broadcast.
fn rows(left: &Column, right: &Column) -> usize {
    if left.len() == 1 { right.len() } else { left.len() }
}

fn at<T>(column: &ChunkedArray<T>, row: usize) -> Option<T::Native>
where
    T: PolarsNumericType,
{
    column.get(if column.len() == 1 { 0 } else { row })
}

fn remainders(left: &Column, right: &Column) -> PolarsResult<Column> {
    let rows = rows(left, right);
    let (left, right) = (left.cast(&DataType::Float64)?, right.cast(&DataType::Float64)?);
    let (left, right) = (left.f64()?, right.f64()?);
    let remainder = |row: usize| Some(at(left, row)? % at(right, row)?);
    Ok((0..rows).map(remainder).collect::<Float64Chunked>().into_column())
}

fn wholes(kind: Arithmetic, left: &Column, right: &Column, dtype: &DataType) -> PolarsResult<Column> {
    let rows = rows(left, right);
    let (left, right) = (Wholes::of(left)?, Wholes::of(right)?);
    let (least, most) = limits(dtype).unwrap_or((i64::MIN.into(), i64::MAX.into()));
    let compute = |left: i128, right: i128| match kind {
        Arithmetic::Sum => Some(left + right),
        Arithmetic::Difference => Some(left - right),
        Arithmetic::Product => Some(left.saturating_mul(right)),
        Arithmetic::Quotient => left.checked_div(right),
        // As in DuckDB, a remainder fails when its quotient does not fit.
        Arithmetic::Remainder if right == -1 && left == least => Some(most + 1),
        Arithmetic::Remainder => left.checked_rem(right),
    };
    let mark = match kind {
        Arithmetic::Sum => '+',
        Arithmetic::Difference => '-',
        Arithmetic::Product => '*',
        Arithmetic::Quotient => '/',
        Arithmetic::Remainder => '%',
    };
    let one = |row: usize| -> PolarsResult<Option<i128>> {
        let (Some(left), Some(right)) = (left.get(row), right.get(row)) else { return Ok(None) };
        match compute(left, right) {
            Some(number) if number < least || number > most => {
                Err(too_large(format!("{left} {mark} {right} does not fit in {dtype}")))
            }
            number => Ok(number),
        }
    };
    if *dtype == DataType::UInt64 {
        let numbers = (0..rows).map(|row| Ok(one(row)?.and_then(|number| u64::try_from(number).ok())));
        return Ok(numbers.collect::<PolarsResult<UInt64Chunked>>()?.into_column());
    }
    let numbers = (0..rows).map(|row| Ok(one(row)?.and_then(|number| i64::try_from(number).ok())));
    Ok(numbers.collect::<PolarsResult<Int64Chunked>>()?.into_column())
}

/// Integers of a column of any integer type.
enum Wholes {
    Signed(Int64Chunked),
    Unsigned(UInt64Chunked),
}

impl Wholes {
    fn of(column: &Column) -> PolarsResult<Self> {
        Ok(if *column.dtype() == DataType::UInt64 {
            Self::Unsigned(column.as_materialized_series().rechunk().u64()?.clone())
        } else {
            Self::Signed(column.cast(&DataType::Int64)?.as_materialized_series().rechunk().i64()?.clone())
        })
    }

    fn get(&self, row: usize) -> Option<i128> {
        match self {
            Self::Signed(numbers) => at(numbers, row).map(i128::from),
            Self::Unsigned(numbers) => at(numbers, row).map(i128::from),
        }
    }
}
