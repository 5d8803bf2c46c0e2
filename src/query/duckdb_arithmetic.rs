//! DuckDB's arithmetic: integer overflow is an error, a remainder has the sign of the dividend, and division and rounding follow
//! DuckDB. Rewrites plans of the engine.

use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::duckdb_functions;
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
        Expr::Function { function, .. } => matches!(function, FunctionExpr::Round { .. }),
        _ => false,
    }
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
            // Integer literals have no concrete type yet.
            let dtype = match dtype(&part) {
                DataType::Unknown(UnknownKind::Int(_)) => DataType::Int64,
                DataType::Unknown(UnknownKind::Float) => DataType::Float64,
                known => known,
            };
            let counts = |part: &Expr| matches!(part, Expr::Function { function: FunctionExpr::Range(_), .. } | Expr::Len);
            let divides = matches!(kind, Arithmetic::Remainder | Arithmetic::Quotient);
            let fixed = part.into_iter().all(|part| matches!(part, Expr::Literal(_) | Expr::BinaryExpr { .. } | Expr::Cast { .. }));
            let whole = dtype.is_integer() && !part.into_iter().any(counts) && (divides || !fixed);
            let fraction = dtype.is_float() && matches!(kind, Arithmetic::Remainder);
            if !whole && !fraction {
                return Ok(part);
            }
            let numbers = [left, right].map(|side| side.as_ref().clone().cast(dtype.clone()));
            let call = computed(kind, dtype.clone()).call(numbers.to_vec());
            if !fixed {
                return Ok(call);
            }
            // An expression without columns is a constant.
            let one = DataFrame::empty_with_height(1).lazy().select([call]).collect()?;
            let value = one.columns().first().map_or(Ok(AnyValue::Null), |column| column.get(0).map(AnyValue::into_static))?;
            lit(Scalar::new(dtype, value))
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

/// Overflow error of a statement, with a hint.
pub(super) fn too_large(what: impl std::fmt::Display) -> PolarsError {
    let error = Error::usage("a number of the query has more than 64 bits").because(what.to_string());
    fault(&error.hint("compute with fractions: sum(CAST(x AS DOUBLE)), CAST(x AS DOUBLE) * 4"))
}

/// Casts integer sums to `dtype`, or fails on overflow.
fn narrowed(dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> {
        let [sums] = columns else { polars_bail!(InvalidOperation: "a sum is one number") };
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
        let [left, right] = columns else { polars_bail!(InvalidOperation: "arithmetic takes two numbers") };
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
    let whole = |column: &Column| -> PolarsResult<Series> {
        let wide = if *dtype == DataType::UInt64 { DataType::UInt64 } else { DataType::Int64 };
        Ok(column.cast(&wide)?.as_materialized_series().rechunk())
    };
    let (left, right) = (whole(left)?, whole(right)?);
    let compute = |left: i128, right: i128| match kind {
        Arithmetic::Sum => Some(left + right),
        Arithmetic::Difference => Some(left - right),
        Arithmetic::Product => Some(left * right),
        Arithmetic::Quotient => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    };
    let mark = match kind {
        Arithmetic::Sum => '+',
        Arithmetic::Difference => '-',
        Arithmetic::Product => '*',
        Arithmetic::Quotient => '/',
        Arithmetic::Remainder => '%',
    };
    let too_large = |left: i128, right: i128| too_large(format!("{left} {mark} {right} does not fit in {dtype}"));
    let (least, most) = match dtype {
        DataType::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        DataType::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DataType::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        DataType::UInt8 => (0, i128::from(u8::MAX)),
        DataType::UInt16 => (0, i128::from(u16::MAX)),
        DataType::UInt32 => (0, i128::from(u32::MAX)),
        DataType::UInt64 => (0, i128::from(u64::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let pair = |pair: Option<(i128, i128)>| -> PolarsResult<Option<i128>> {
        let Some((left, right)) = pair else { return Ok(None) };
        match compute(left, right) {
            Some(number) if number < least || number > most => Err(too_large(left, right)),
            number => Ok(number),
        }
    };
    if *dtype == DataType::UInt64 {
        let (left, right) = (left.u64()?, right.u64()?);
        let one = |row: usize| pair(at(left, row).zip(at(right, row)).map(|(a, b)| (a.into(), b.into())));
        let numbers = (0..rows).map(|row| Ok(one(row)?.and_then(|number| u64::try_from(number).ok())));
        return Ok(numbers.collect::<PolarsResult<UInt64Chunked>>()?.into_column());
    }
    let (left, right) = (left.i64()?, right.i64()?);
    let one = |row: usize| pair(at(left, row).zip(at(right, row)).map(|(a, b)| (a.into(), b.into())));
    let numbers = (0..rows).map(|row| Ok(one(row)?.and_then(|number| i64::try_from(number).ok())));
    Ok(numbers.collect::<PolarsResult<Int64Chunked>>()?.into_column())
}
