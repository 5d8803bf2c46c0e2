//! DuckDB's arithmetic: integer overflow is an error, a remainder has the sign of the dividend, and
//! division and rounding follow DuckDB. Rewrites plans of the engine.

use std::ops::Neg;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::constant_folding;
use super::duckdb_functions::is_negative_of;
use super::engine::{refusal, type_name};
use super::list_functions::elementwise;
use super::nested_plans;
use super::nested_values::row_count;
use super::plan_inputs::map_inputs;
use super::whole_numbers::{limits, too_large, type_of};
use super::{durations, quantiles, typed_texts, value_texts};

/// Decimal digits of the accumulator of integer sums.
const DIGITS: usize = 38;

/// The plan with DuckDB's arithmetic. Call just before collecting.
pub(super) fn apply_duckdb_arithmetic(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    plan(frame.logical_plan).map(LazyFrame::from)
}

fn plan(from: DslPlan) -> PolarsResult<DslPlan> {
    Ok(match map_inputs(from, plan)? {
        DslPlan::Select {
            expr,
            input,
            options,
        } => {
            let expr = rewrite_expressions(expr, &input)?
                .into_iter()
                .map(constant_folding::fold_constants)
                .collect();
            DslPlan::Select {
                expr,
                input,
                options,
            }
        }
        DslPlan::HStack {
            exprs,
            input,
            options,
        } => {
            let exprs = rewrite_expressions(exprs, &input)?
                .into_iter()
                .map(constant_folding::fold_constants)
                .collect();
            DslPlan::HStack {
                exprs,
                input,
                options,
            }
        }
        DslPlan::Filter { predicate, input } => {
            let predicate = rewrite_expressions(vec![predicate], &input)?
                .pop()
                .unwrap_or_else(|| lit(true));
            DslPlan::Filter { predicate, input }
        }
        DslPlan::Sort {
            by_column,
            slice,
            sort_options,
            input,
        } => {
            let schema = schema_of(&input)?;
            let by_column =
                nested_plans::sort_keys(rewrite_expressions(by_column, &input)?, &schema);
            DslPlan::Sort {
                by_column,
                slice,
                sort_options,
                input,
            }
        }
        DslPlan::GroupBy {
            input,
            keys,
            predicates,
            aggs,
            maintain_order,
            options,
            apply,
        } => {
            let (keys, predicates, aggs) = (
                rewrite_expressions(keys, &input)?,
                rewrite_expressions(predicates, &input)?,
                rewrite_expressions(aggs, &input)?,
            );
            DslPlan::GroupBy {
                input,
                keys,
                predicates,
                aggs,
                maintain_order,
                options,
                apply,
            }
        }
        DslPlan::Join {
            input_left,
            input_right,
            left_on,
            right_on,
            predicates,
            options,
        } => {
            let (left_on, right_on) = (
                rewrite_expressions(left_on, &input_left)?,
                rewrite_expressions(right_on, &input_right)?,
            );
            DslPlan::Join {
                input_left,
                input_right,
                left_on,
                right_on,
                predicates,
                options,
            }
        }
        other => other,
    })
}

/// Rewrites expressions over the rows of `input`.
fn rewrite_expressions(expressions: Vec<Expr>, input: &Arc<DslPlan>) -> PolarsResult<Vec<Expr>> {
    let is_other = |part: &Expr| is_other_here(part) || nested_plans::is_other_here(part);
    if !expressions
        .iter()
        .any(|expression| expression.into_iter().any(is_other))
    {
        return Ok(expressions);
    }
    let schema = schema_of(input)?;
    let with_meaning =
        |part| nested_plans::rewrite_nested(rewrite_expression(part, &schema)?, &schema);
    expressions
        .into_iter()
        .map(|expression| expression.try_map_expr(with_meaning))
        .collect()
}

/// Schema of the rows of a plan, which is that of the first plan below it that changes the columns.
fn schema_of(plan: &DslPlan) -> PolarsResult<SchemaRef> {
    match plan {
        DslPlan::Filter { input, .. }
        | DslPlan::Sort { input, .. }
        | DslPlan::Slice { input, .. } => schema_of(input),
        other => LazyFrame::from(other.clone()).collect_schema(),
    }
}

/// True for expressions whose result may differ in DuckDB.
fn is_other_here(part: &Expr) -> bool {
    match part {
        Expr::BinaryExpr { op, .. } => {
            arithmetic(*op).is_some() || *op == Operator::TrueDivide || op.is_comparison()
        }
        Expr::Agg(
            AggExpr::Max { .. }
            | AggExpr::Sum(_)
            | AggExpr::Mean(_)
            | AggExpr::Median(_)
            | AggExpr::Std(..)
            | AggExpr::Var(..),
        ) => true,
        Expr::Cast { .. } | Expr::Ternary { .. } => true,
        Expr::AnonymousFunction { function, .. } => is_negative_of(function),
        Expr::Function { function, .. } => {
            use FunctionExpr::{Abs, Quantile, Round, Sign};
            matches!(function, FunctionExpr::Bitwise(BitwiseFunction::CountOnes))
                || matches!(
                    function,
                    FunctionExpr::StructExpr(StructFunction::FieldByName(_))
                )
                || matches!(
                    function,
                    Round { .. }
                        | Abs
                        | Sign
                        | Quantile { .. }
                        | FunctionExpr::Boolean(BooleanFunction::IsIn { .. })
                )
                || computes_with_doubles(function)
                || has_one_type(function)
                || counts_in_small_numbers(function)
        }
        _ => false,
    }
}

/// True for functions whose numbers are of 64 bits in DuckDB, but smaller in the engine.
fn counts_in_small_numbers(function: &FunctionExpr) -> bool {
    matches!(
        function,
        FunctionExpr::TemporalExpr(_)
            | FunctionExpr::StringExpr(_)
            | FunctionExpr::ListExpr(ListFunction::Length)
    )
}

/// True for functions that DuckDB computes with DOUBLE, of FLOAT too.
fn computes_with_doubles(function: &FunctionExpr) -> bool {
    use FunctionExpr::{Atan2, Exp, ListExpr, Log, Log1p, Pow, Trigonometry};
    matches!(
        function,
        Trigonometry(_)
            | Atan2
            | Pow(_)
            | Log
            | Log1p
            | Exp
            | ListExpr(ListFunction::Sum | ListFunction::Mean)
    )
}

/// True for functions whose arguments have one type.
fn has_one_type(function: &FunctionExpr) -> bool {
    matches!(
        function,
        FunctionExpr::Coalesce | FunctionExpr::MaxHorizontal | FunctionExpr::MinHorizontal
    )
}

/// The type with its fractions of 32 bits as those of 64, of lists too.
fn with_doubles(dtype: &DataType) -> Option<DataType> {
    match dtype {
        DataType::Float32 => Some(DataType::Float64),
        DataType::List(inner) => with_doubles(inner).map(|inner| DataType::List(Box::new(inner))),
        _ => None,
    }
}

/// Values of which some are FLOAT and others integers or decimal numbers: in DuckDB all are FLOAT.
/// `None` for others.
fn as_floats(values: &[&Expr], dtypes: &[DataType]) -> Option<Vec<Expr>> {
    let has_both = dtypes.contains(&DataType::Float32)
        && dtypes.iter().any(|dtype| *dtype != DataType::Float32);
    if !has_both || !dtypes.iter().all(is_float_beside_floats) {
        return None;
    }
    let mut floats = Vec::with_capacity(values.len());
    for (&value, dtype) in values.iter().zip(dtypes) {
        floats.push(match dtype {
            DataType::Float32 => value.clone(),
            _ => value.clone().cast(DataType::Float32),
        });
    }
    Some(floats)
}

/// True for types whose values are FLOAT beside values of FLOAT.
fn is_float_beside_floats(dtype: &DataType) -> bool {
    *dtype == DataType::Float32
        || dtype.is_integer()
        || matches!(
            dtype,
            DataType::Decimal(..) | DataType::Unknown(_) | DataType::Null
        )
}

/// True for integers of which some are of 64 bits without a sign and others have a sign: the engine
/// makes fractions of them.
pub(super) fn is_of_mixed_signs(dtypes: &[DataType]) -> bool {
    dtypes.contains(&DataType::UInt64)
        && dtypes.iter().any(DataType::is_signed_integer)
        && dtypes
            .iter()
            .all(|dtype| dtype.is_integer() || *dtype == DataType::Null)
}

/// The comparison of integers of 64 bits without a sign with a written negative number, which the
/// engine makes a null; `None` for any other.
fn compared_with_negative(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &Schema,
) -> Option<Expr> {
    let (numbers, is_less) = if is_negative_integer(left) && is_unsigned_64(right, schema) {
        (right, true)
    } else if is_unsigned_64(left, schema) && is_negative_integer(right) {
        (left, false)
    } else {
        return None;
    };
    Some(match op {
        Operator::Eq => answer_unless_null(numbers, false),
        Operator::NotEq => answer_unless_null(numbers, true),
        Operator::Lt | Operator::LtEq => answer_unless_null(numbers, is_less),
        Operator::Gt | Operator::GtEq => answer_unless_null(numbers, !is_less),
        Operator::EqValidity => numbers.clone().is_null().and(lit(false)),
        Operator::NotEqValidity => numbers.clone().is_null().or(lit(true)),
        _ => return None,
    })
}

/// True for integers of 64 bits without a sign.
fn is_unsigned_64(expression: &Expr, schema: &Schema) -> bool {
    matches!(
        whole_of(expression, schema),
        Some(WholeNumber::Typed(DataType::UInt64))
    )
}

/// True for a written negative integer.
fn is_negative_integer(expression: &Expr) -> bool {
    let Expr::Literal(literal) = expression else {
        return false;
    };
    literal
        .to_any_value()
        .filter(AnyValue::is_integer)
        .and_then(|value| value.extract::<i128>())
        .is_some_and(|number| number < 0)
}

/// The answer for values that are not null, and null for others.
fn answer_unless_null(values: &Expr, answer: bool) -> Expr {
    when(values.clone().is_null())
        .then(lit(NULL))
        .otherwise(lit(answer))
        .cast(DataType::Boolean)
}

/// The sides of a comparison of integers of 64 bits without a sign with what is made of written
/// numbers, as integers with a sign: the engine gives both sides the type of the written ones,
/// which the greatest do not have. `None` for other types, and for a number that is written itself.
fn signed_beside_unsigned(sides: [&Expr; 2], dtypes: &[DataType; 2]) -> Option<[Expr; 2]> {
    let is_written = |dtype: &DataType| matches!(dtype, DataType::Unknown(UnknownKind::Int(_)));
    let at = match dtypes {
        [DataType::UInt64, other] if is_written(other) => 1,
        [other, DataType::UInt64] if is_written(other) => 0,
        _ => return None,
    };
    if matches!(sides[at], Expr::Literal(_)) {
        return None;
    }
    let mut typed = sides.map(Clone::clone);
    typed[at] = typed[at].clone().cast(DataType::Int64);
    Some(typed)
}

/// The sides of a comparison of texts with truth values, with the texts read as truth values: the
/// engine writes the truth values as texts. `None` for other types.
fn texts_as_truths(sides: [&Expr; 2], dtypes: &[DataType; 2]) -> Option<[Expr; 2]> {
    let at = match dtypes {
        [DataType::String, DataType::Boolean] => 0,
        [DataType::Boolean, DataType::String] => 1,
        _ => return None,
    };
    let mut read = sides.map(Clone::clone);
    read[at] = text_cast(&DataType::Boolean, false)?.call(vec![sides[at].clone()]);
    Some(read)
}

/// A comparison. The engine gives one row for a constant compared with a column that is the same in
/// all rows, such as that of a subquery, so the constant is on the right; and one row where nulls
/// are taken as equal, so that is spelled by other comparisons.
fn comparison(left: Expr, op: Operator, right: Expr, dtypes: &[DataType; 2]) -> Expr {
    let [of_left, of_right] = dtypes;
    let (left, right) = (
        cast_untyped_null(left, of_left, of_right),
        cast_untyped_null(right, of_right, of_left),
    );
    let refers_to_column =
        |side: &Expr| side.into_iter().any(|part| matches!(part, Expr::Column(_)));
    let (left, op, right) = match op
        .swap_operands()
        .filter(|_| !refers_to_column(&left) && refers_to_column(&right))
    {
        Some(swapped) => (right, swapped, left),
        None => (left, op, right),
    };
    let is_plain = dtypes
        .iter()
        .all(|dtype| !dtype.is_nested() && *dtype != DataType::Null);
    if !is_plain || !matches!(op, Operator::EqValidity | Operator::NotEqValidity) {
        return binary_expression(left, op, right);
    }
    let is_equal = left.clone().eq(right.clone()).fill_null(lit(false));
    let are_alike = is_equal.or(left.is_null().and(right.is_null()));
    if op == Operator::EqValidity {
        are_alike
    } else {
        are_alike.not()
    }
}

/// A side of a comparison. A null without a type, which takes the rows of a group apart from those
/// of the other columns, has the type of the other side.
fn cast_untyped_null(side: Expr, own: &DataType, other: &DataType) -> Expr {
    let needs_type = *own == DataType::Null
        && !other.is_nested()
        && !matches!(other, DataType::Null | DataType::Unknown(_));
    if needs_type {
        side.cast(other.clone())
    } else {
        side
    }
}

fn binary_expression(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr {
        left: Arc::new(left),
        op,
        right: Arc::new(right),
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

/// The type of an expression over rows of `schema`; that of a null for one without a type.
fn type_of_expression(expression: &Expr, schema: &Schema) -> DataType {
    expression
        .to_field(schema)
        .map_or(DataType::Null, |field| field.dtype().clone())
}

fn rewrite_expression(part: Expr, schema: &Schema) -> PolarsResult<Expr> {
    let dtype = |expression: &Expr| type_of_expression(expression, schema);
    Ok(match part {
        // The sign of fractions changes, of 0 and NaN too, which a difference does not do.
        Expr::AnonymousFunction {
            ref input,
            ref function,
            ..
        } if is_negative_of(function) => match input.as_slice() {
            [number] if is_fraction(&dtype(number)) => number.clone().neg(),
            [number] => rewrite_expression(lit(0) - number.clone(), schema)?,
            _ => part,
        },
        Expr::BinaryExpr {
            ref left,
            op,
            ref right,
        } if op.is_comparison() => {
            let dtypes = [dtype(left), dtype(right)];
            if let Some([left, right]) = texts_as_truths([left, right], &dtypes) {
                return Ok(comparison(
                    left,
                    op,
                    right,
                    &[DataType::Boolean, DataType::Boolean],
                ));
            }
            if let Some([left, right]) = signed_beside_unsigned([left, right], &dtypes) {
                return Ok(comparison(
                    left,
                    op,
                    right,
                    &[DataType::UInt64, DataType::Int64],
                ));
            }
            match as_floats(&[left.as_ref(), right.as_ref()], &dtypes)
                .map(TryInto::<[Expr; 2]>::try_into)
            {
                Some(Ok([left, right])) => comparison(left, op, right, &dtypes),
                _ => match compared_with_negative(left, op, right, schema) {
                    Some(compared) => compared,
                    None => comparison(left.as_ref().clone(), op, right.as_ref().clone(), &dtypes),
                },
            }
        }
        Expr::Ternary {
            ref predicate,
            ref truthy,
            ref falsy,
        } => {
            let dtypes = [dtype(truthy), dtype(falsy)];
            let floats = as_floats(&[truthy.as_ref(), falsy.as_ref()], &dtypes)
                .map(TryInto::<[Expr; 2]>::try_into);
            match (floats, is_of_mixed_signs(&dtypes)) {
                (Some(Ok([truthy, falsy])), _) => Expr::Ternary {
                    predicate: predicate.clone(),
                    truthy: Arc::new(truthy),
                    falsy: Arc::new(falsy),
                },
                (_, true) => {
                    let condition = predicate.as_ref().clone();
                    let truthy = when(condition.clone())
                        .then(truthy.as_ref().clone())
                        .otherwise(lit(NULL));
                    let falsy = when(condition.clone())
                        .then(lit(NULL))
                        .otherwise(falsy.as_ref().clone());
                    let narrow =
                        |value: Expr| narrowing_function(DataType::Int64).call(vec![value]);
                    when(condition)
                        .then(narrow(truthy))
                        .otherwise(narrow(falsy))
                }
                _ => part,
            }
        }
        Expr::Function {
            ref input,
            ref function,
        } if has_one_type(function) => {
            let dtypes: Vec<DataType> = input.iter().map(dtype).collect();
            let made = match as_floats(&input.iter().collect::<Vec<_>>(), &dtypes) {
                Some(input) => Expr::Function {
                    input,
                    function: function.clone(),
                },
                None if is_of_mixed_signs(&dtypes) => {
                    let narrow = |value: &Expr| {
                        narrowing_function(DataType::Int64).call(vec![value.clone()])
                    };
                    Expr::Function {
                        input: input.iter().map(narrow).collect(),
                        function: function.clone(),
                    }
                }
                None => part.clone(),
            };
            let is_greatest = match function {
                FunctionExpr::MaxHorizontal => true,
                FunctionExpr::MinHorizontal => false,
                _ => return Ok(made),
            };
            match made.to_field(schema) {
                Ok(field) if field.dtype().is_float() => {
                    extreme(field.dtype().clone(), is_greatest).call(input.clone())
                }
                _ => made,
            }
        }
        Expr::Function {
            ref input,
            function: FunctionExpr::Pow(PowFunction::Generic),
        } => match input.as_slice() {
            [base, exponent] => power().call(vec![
                base.clone().cast(DataType::Float64),
                exponent.clone().cast(DataType::Float64),
            ]),
            _ => part,
        },
        Expr::Function {
            ref input,
            ref function,
        } if computes_with_doubles(function)
            && input
                .iter()
                .any(|value| with_doubles(&dtype(value)).is_some()) =>
        {
            let mut doubles = Vec::with_capacity(input.len());
            for value in input {
                doubles.push(match with_doubles(&dtype(value)) {
                    Some(dtype) => value.clone().cast(dtype),
                    None => value.clone(),
                });
            }
            Expr::Function {
                input: doubles,
                function: function.clone(),
            }
        }
        // Written numbers take the type of FLOAT.
        Expr::Function {
            ref input,
            function: FunctionExpr::Boolean(BooleanFunction::IsIn { nulls_equal }),
        } => match input.as_slice() {
            [value, list] if dtype(value) == DataType::Float32 => {
                let singles = match dtype(list) {
                    DataType::List(_) => DataType::List(Box::new(DataType::Float32)),
                    _ => DataType::Float32,
                };
                let function = FunctionExpr::Boolean(BooleanFunction::IsIn { nulls_equal });
                Expr::Function {
                    input: vec![value.clone(), list.clone().cast(singles)],
                    function,
                }
            }
            _ => part,
        },
        Expr::Function {
            ref input,
            function: FunctionExpr::StringExpr(StringFunction::LenBytes),
        } if input
            .first()
            .is_some_and(|bytes| dtype(bytes) == DataType::Binary) =>
        {
            input
                .first()
                .map_or(lit(NULL), |bytes| byte_count().call(vec![bytes.clone()]))
        }
        // A field of a null without a type.
        Expr::Function {
            ref input,
            function: FunctionExpr::StructExpr(StructFunction::FieldByName(_)),
        } if input
            .first()
            .is_some_and(|value| dtype(value) == DataType::Null) =>
        {
            lit(NULL)
        }
        // A number of 8 bits.
        Expr::Function {
            function: FunctionExpr::Bitwise(BitwiseFunction::CountOnes),
            ..
        } => part.cast(DataType::Int8),
        // -1, 0 or 1, of NaN 0.
        Expr::Function {
            ref input,
            function: FunctionExpr::Sign,
        } => match input.first() {
            Some(number) if dtype(number).is_primitive_numeric() => {
                let is_number = if dtype(number).is_float() {
                    number.clone().is_not_nan()
                } else {
                    number.clone().is_not_null()
                };
                let positive = number.clone().gt(lit(0)).and(is_number);
                let sign = when(positive)
                    .then(lit(1))
                    .when(number.clone().lt(lit(0)))
                    .then(lit(-1))
                    .otherwise(lit(0));
                when(number.clone().is_null())
                    .then(lit(NULL))
                    .otherwise(sign)
                    .cast(DataType::Int8)
            }
            _ => part,
        },
        Expr::Agg(AggExpr::Median(ref numbers)) if dtype(numbers).is_float() => {
            quantiles::quantile(0.5, dtype(numbers)).call(vec![numbers.as_ref().clone()])
        }
        Expr::Function {
            ref input,
            function:
                FunctionExpr::Quantile {
                    method: QuantileMethod::Equiprobable,
                },
        } => match input.as_slice() {
            [values, Expr::Literal(at)] => {
                match at.to_any_value().and_then(|at| at.extract::<f64>()) {
                    Some(at) => {
                        let dtype = dtype(values)
                            .materialize_unknown(false)
                            .unwrap_or(DataType::Int32);
                        quantiles::discrete(at, dtype.clone())
                            .call(vec![values.clone().cast(dtype)])
                    }
                    None => part,
                }
            }
            _ => part,
        },
        Expr::Function {
            ref input,
            function:
                FunctionExpr::Quantile {
                    method: QuantileMethod::Linear,
                },
        } => match input.as_slice() {
            [numbers, Expr::Literal(at)] if dtype(numbers).is_primitive_numeric() => {
                let of = if dtype(numbers).is_float() {
                    dtype(numbers)
                } else {
                    DataType::Float64
                };
                match at.to_any_value().and_then(|at| at.extract::<f64>()) {
                    Some(at) => {
                        quantiles::quantile(at, of.clone()).call(vec![numbers.clone().cast(of)])
                    }
                    None => part,
                }
            }
            _ => part,
        },
        // The engine divides no null without a type.
        Expr::BinaryExpr {
            ref left,
            op,
            ref right,
        } if arithmetic(op).is_some()
            && [left, right]
                .iter()
                .any(|side| dtype(side) == DataType::Null) =>
        {
            let (typed_left, typed_right) = (
                cast_null_operand(left, right, schema),
                cast_null_operand(right, left, schema),
            );
            if [&typed_left, &typed_right]
                .iter()
                .any(|side| dtype(side) == DataType::Null)
            {
                return Ok(part);
            }
            rewrite_expression(
                Expr::BinaryExpr {
                    left: typed_left,
                    op,
                    right: typed_right,
                },
                schema,
            )?
        }
        Expr::BinaryExpr {
            ref left,
            op,
            ref right,
        } => {
            if let Some(fractions) = of_fractions(left, op, right, [dtype(left), dtype(right)]) {
                return Ok(fractions);
            }
            let Some(kind) = arithmetic(op) else {
                return Ok(part);
            };
            // The difference of two dates is a number of days.
            if matches!(kind, Arithmetic::Difference)
                && [left, right].map(|side| dtype(side)) == [DataType::Date, DataType::Date]
            {
                let [left, right] =
                    [left, right].map(|side| side.as_ref().clone().cast(DataType::Int32));
                return Ok((left - right).cast(DataType::Int64));
            }
            // A date and an interval are a time.
            if let (Operator::Plus | Operator::Minus, DataType::Date, DataType::Duration(_)) =
                (op, dtype(left), dtype(right))
            {
                let day = left
                    .as_ref()
                    .clone()
                    .cast(DataType::Datetime(TimeUnit::Microseconds, None));
                return Ok(Expr::BinaryExpr {
                    left: Arc::new(day),
                    op,
                    right: right.clone(),
                });
            }
            if part.into_iter().any(counts_rows) {
                return Ok(part);
            }
            let sides = [whole_of(left, schema), whole_of(right, schema)];
            let dtype = match sides {
                [Some(left), Some(right)] => common_type(&left, &right),
                _ => Some(dtype(&part))
                    .filter(|dtype| is_fraction(dtype) && matches!(kind, Arithmetic::Remainder)),
            };
            let Some(dtype) = dtype else { return Ok(part) };
            let dtype = if dtype.is_known() {
                dtype
            } else {
                DataType::Float64
            };
            let call = arithmetic_function(kind, dtype.clone())
                .call(vec![left.as_ref().clone(), right.as_ref().clone()]);
            let call = if matches!(kind, Arithmetic::Quotient) {
                marked_as_quotient(call)
            } else {
                call
            };
            if !part.into_iter().all(|part| {
                matches!(
                    part,
                    Expr::Literal(_) | Expr::BinaryExpr { .. } | Expr::Cast { .. }
                )
            }) {
                return Ok(call);
            }
            // An expression without columns is a constant.
            constant_folding::value_of(call.clone())?.unwrap_or(call)
        }
        Expr::Function {
            ref input,
            function: FunctionExpr::Abs,
            ..
        } => match (input.first(), dtype(&part)) {
            (Some(number), dtype) if dtype.is_signed_integer() => {
                let negative = arithmetic_function(Arithmetic::Difference, dtype)
                    .call(vec![lit(0), number.clone()]);
                when(number.clone().lt(lit(0)))
                    .then(negative)
                    .otherwise(number.clone())
            }
            _ => part,
        },
        Expr::Function {
            ref input,
            function: FunctionExpr::TemporalExpr(ref of),
        } if let [duration] = input.as_slice()
            && dtype(duration).is_duration()
            && let Some(part) = durations::part(of) =>
        {
            part.call(vec![duration.clone()])
        }
        // A date and an interval are a time.
        Expr::Function {
            ref input,
            function: FunctionExpr::TemporalExpr(TemporalFunction::OffsetBy),
        } if input
            .first()
            .is_some_and(|day| dtype(day) == DataType::Date) =>
        {
            let Expr::Function {
                mut input,
                function,
            } = part
            else {
                return Ok(part);
            };
            if let Some(day) = input.first_mut() {
                *day = day
                    .clone()
                    .cast(DataType::Datetime(TimeUnit::Microseconds, None));
            }
            Expr::Function { input, function }
        }
        Expr::Function { ref function, .. }
            if counts_in_small_numbers(function) && dtype(&part).is_integer() =>
        {
            part.cast(DataType::Int64)
        }
        // Numbers of 32 bits are added with 64 bits.
        Expr::Agg(AggExpr::Sum(ref input) | AggExpr::Mean(ref input))
            if dtype(input) == DataType::Float32 =>
        {
            let numbers = input.as_ref().clone().cast(DataType::Float64);
            if matches!(part, Expr::Agg(AggExpr::Sum(_))) {
                numbers.sum()
            } else {
                numbers.mean()
            }
        }
        // The engine rounds the mean of equal numbers, so that they vary in their last digits.
        Expr::Agg(AggExpr::Std(ref input, degrees) | AggExpr::Var(ref input, degrees))
            if dtype(input).is_float() =>
        {
            let numbers = input.as_ref().clone().cast(DataType::Float64);
            let is_deviation = matches!(part, Expr::Agg(AggExpr::Std(..)));
            let spread = if is_deviation {
                numbers.clone().std(degrees)
            } else {
                numbers.clone().var(degrees)
            };
            let is_constant = numbers
                .clone()
                .min()
                .eq(numbers.max())
                .and(spread.clone().is_not_nan());
            when(is_constant.and(spread.clone().is_not_null()))
                .then(lit(0.0))
                .otherwise(spread)
        }
        Expr::Agg(AggExpr::Sum(ref input)) => match dtype(input) {
            // Nulls without a type are integers.
            DataType::Null => input.as_ref().clone().cast(DataType::Int64).sum(),
            whole if whole.is_integer() => {
                let input = input.as_ref().clone().cast(DataType::Decimal(DIGITS, 0));
                narrowing_function(if whole == DataType::UInt64 {
                    whole
                } else {
                    DataType::Int64
                })
                .call(vec![input.sum()])
            }
            _ => part,
        },
        // NaN is the greatest number.
        Expr::Agg(AggExpr::Max {
            ref input,
            propagate_nans: false,
        }) if dtype(input).is_float() => {
            let nan = lit(f64::NAN).cast(dtype(input));
            // As `max` of integers, which [`super::hash_aggregate`] supports too.
            let any = input.as_ref().clone().is_nan().cast(DataType::UInt8).max();
            when(any.eq(lit(1u8))).then(nan).otherwise(part)
        }
        // The engine makes the result of `//` a signed integer of 64 bits.
        Expr::Cast { ref expr, .. } if is_quotient(expr) => expr.as_ref().clone().cast(dtype(expr)),
        Expr::Cast {
            ref expr,
            dtype: ref wanted,
            options,
        } => match (dtype(expr), wanted.as_literal()) {
            (from, Some(DataType::String)) => match value_texts::writer(&from) {
                Some(text) => text.call(vec![expr.as_ref().clone()]),
                None => part,
            },
            (DataType::String, Some(DataType::Binary)) => {
                let bytes = value_texts::bytes_reader(!options.is_strict())
                    .call(vec![expr.as_ref().clone()]);
                // DuckDB refuses a written text that stands for no bytes before it reads a row.
                if matches!(**expr, Expr::Literal(_)) {
                    constant_folding::value_of(bytes.clone())?;
                }
                bytes
            }
            (DataType::Float64, Some(DataType::Float32)) => {
                let read = single(!options.is_strict()).call(vec![expr.as_ref().clone()]);
                Expr::Cast {
                    expr: Arc::new(read),
                    dtype: wanted.clone(),
                    options,
                }
            }
            (from, Some(to)) if is_fraction(&from) && to.is_integer() => {
                let rounded =
                    rounding_function(0, is_written(expr)).call(vec![expr.as_ref().clone()]);
                Expr::Cast {
                    expr: Arc::new(rounded),
                    dtype: wanted.clone(),
                    options,
                }
            }
            (from, Some(DataType::Decimal(_, scale))) if is_fraction(&from) => {
                let number = Expr::Cast {
                    expr: expr.clone(),
                    dtype: DataType::Float64.into(),
                    options,
                };
                let rounded = rounding_function(*scale as i32, true).call(vec![number]);
                Expr::Cast {
                    expr: Arc::new(rounded),
                    dtype: wanted.clone(),
                    options,
                }
            }
            (DataType::String, Some(DataType::List(_) | DataType::Struct(_))) => {
                return Err(refusal("a text can't be cast to a list or a struct"));
            }
            (DataType::String, Some(DataType::Duration(_))) => {
                return Err(refusal(
                    "the texts of a column can't be cast to intervals; write the interval: \
                        INTERVAL 3 DAY",
                ));
            }
            (DataType::String, Some(to)) => match text_cast(to, !options.is_strict()) {
                Some(read) => {
                    let read = read.call(vec![expr.as_ref().clone()]);
                    Expr::Cast {
                        expr: Arc::new(read),
                        dtype: wanted.clone(),
                        options,
                    }
                }
                None => part,
            },
            _ => part,
        },
        Expr::Function {
            ref input,
            function: FunctionExpr::Round { decimals, .. },
        } => match input.first() {
            Some(input) => input.clone().round(decimals, RoundMode::HalfAwayFromZero),
            None => part,
        },
        other => other,
    })
}

/// A side of arithmetic; a null without a type has the type of the numbers on the other side.
fn cast_null_operand(side: &Arc<Expr>, other: &Expr, schema: &Schema) -> Arc<Expr> {
    let dtypes = [side.as_ref(), other].map(|operand| type_of_expression(operand, schema));
    match dtypes {
        [DataType::Null, of] if of.is_primitive_numeric() => {
            Arc::new(side.as_ref().clone().cast(of))
        }
        [DataType::Null, DataType::Null | DataType::Unknown(_)] => {
            Arc::new(side.as_ref().clone().cast(DataType::Int32))
        }
        _ => side.clone(),
    }
}

/// True for numbers of rows.
fn counts_rows(part: &Expr) -> bool {
    matches!(
        part,
        Expr::Function {
            function: FunctionExpr::Range(_),
            ..
        } | Expr::Len
    )
}

/// True for fractions, also written ones.
fn is_fraction(dtype: &DataType) -> bool {
    dtype.is_float() || *dtype == DataType::Unknown(UnknownKind::Float)
}

/// True for written numbers and their sums and products, which are decimal numbers in DuckDB.
fn is_written(expression: &Expr) -> bool {
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
fn of_fractions(left: &Expr, op: Operator, right: &Expr, dtypes: [DataType; 2]) -> Option<Expr> {
    let is_division = matches!(op, Operator::TrueDivide | Operator::FloorDivide);
    if arithmetic(op).is_none() && !is_division {
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
            quotient(fraction_type_of_both(&dtypes)).call(vec![one, other]),
        ));
    }
    if is_division && dtypes.iter().any(is_decimal) {
        return Some(binary_expression(
            one.cast(DataType::Float64),
            op,
            other.cast(DataType::Float64),
        ));
    }
    // The engine takes unsigned and written integers as signed ones, of which the greatest are
    // none.
    let has = |wanted: fn(&DataType) -> bool| dtypes.iter().any(wanted);
    let is_unsigned = has(|dtype| *dtype == DataType::UInt64)
        && has(|dtype| matches!(dtype, DataType::Unknown(_)));
    if op == Operator::TrueDivide && is_unsigned {
        return Some(
            by_row(DataType::Float64, |number, divisor| number / divisor).call(vec![one, other]),
        );
    }
    // The engine multiplies by the reciprocal of a single divisor.
    if op == Operator::TrueDivide
        && matches!(right, Expr::Literal(_) | Expr::Cast { .. })
        && dtypes.iter().any(is_fraction)
    {
        let dtype = fraction_type_of_both(&dtypes);
        return Some(by_row(dtype, |number, divisor| number / divisor).call(vec![one, other]));
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
        return Some(by_row(fraction_type_of_both(&dtypes), compute).call(vec![one, other]));
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
fn by_row(dtype: DataType, compute: fn(f64, f64) -> f64) -> UserDefinedFunction {
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
fn quotient(dtype: DataType) -> UserDefinedFunction {
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

fn marked_as_quotient(mut call: Expr) -> Expr {
    if let Expr::AnonymousFunction { fmt_str, .. } = &mut call {
        **fmt_str = QUOTIENT.into();
    }
    call
}

fn is_quotient(expression: &Expr) -> bool {
    matches!(expression, Expr::AnonymousFunction { fmt_str, .. } if fmt_str.as_str() == QUOTIENT)
}

/// The greatest or least of several fractions of a type that are not null: NaN is the greatest, and
/// of equal ones the first is taken.
fn extreme(dtype: DataType, is_greatest: bool) -> UserDefinedFunction {
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
fn power() -> UserDefinedFunction {
    elementwise("power", |_| Ok(DataType::Float64), raise_to_powers)
}

fn raise_to_powers(columns: &[Column]) -> PolarsResult<Column> {
    let [base, exponent] = columns else {
        return Err(refusal("pow takes two values"));
    };
    let rows = row_count(columns);
    let (bases, exponents) = (repeat_to(base, rows), repeat_to(exponent, rows));
    let pairs = bases.f64()?.iter().zip(exponents.f64()?.iter());
    let powers: Float64Chunked = pairs
        .map(|(base, exponent)| Some(base?.powf(exponent?)))
        .collect();
    Ok(powers.into_column())
}

/// The column with so many rows, of which it has all or one.
fn repeat_to(column: &Column, rows: usize) -> Column {
    if column.len() == rows {
        column.clone()
    } else {
        column.new_from_index(0, rows)
    }
}

/// Number of bytes of a BLOB.
fn byte_count() -> UserDefinedFunction {
    elementwise("byte_count", |_| Ok(DataType::Int64), count_bytes)
}

fn count_bytes(columns: &[Column]) -> PolarsResult<Column> {
    let [bytes] = columns else {
        return Err(refusal("octet_length takes one value"));
    };
    let counts: Int64Chunked = bytes
        .binary()?
        .iter()
        .map(|bytes| bytes.map(|bytes| bytes.len() as i64))
        .collect();
    Ok(counts.into_column())
}

/// Refuses numbers that are too great for FLOAT, or makes them null.
fn single(is_try: bool) -> UserDefinedFunction {
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
/// function of the engine, whose mode [`rewrite_expression`] changes.
fn rounding_function(digits: i32, away_from_zero: bool) -> UserDefinedFunction {
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

/// Reads texts as values of a type, as [`typed_texts`] has them; `None` for types that the engine
/// reads as DuckDB does.
fn text_cast(to: &DataType, is_try: bool) -> Option<UserDefinedFunction> {
    let read = match to {
        dtype if dtype.is_unsigned_integer() => DataType::UInt64,
        dtype if dtype.is_integer() => DataType::Int64,
        dtype if dtype.is_float() => DataType::Float64,
        DataType::Boolean | DataType::Date | DataType::Time | DataType::Decimal(..) => to.clone(),
        DataType::Datetime(..) => DataType::Datetime(TimeUnit::Microseconds, None),
        _ => return None,
    };
    let of = read.clone();
    Some(elementwise(
        "read_text",
        move |_| Ok(read.clone()),
        move |columns| read_texts(columns, &of, is_try),
    ))
}

fn read_texts(columns: &[Column], dtype: &DataType, is_try: bool) -> PolarsResult<Column> {
    let [texts] = columns else {
        return Err(refusal("a text is one column"));
    };
    let column = typed_texts::read(texts.str()?, dtype)?;
    if !is_try && column.null_count() > texts.null_count() {
        let nulls = column.is_null();
        let mut pairs = texts.str()?.iter().zip(nulls.iter());
        let failed = pairs
            .find_map(|(text, null)| text.filter(|_| null == Some(true)))
            .unwrap_or_default();
        return Err(typed_texts::no_value(failed, dtype));
    }
    Ok(column)
}

/// A side of integer arithmetic.
enum WholeNumber {
    Typed(DataType),
    /// A number as it is written, whose type depends on the other side.
    Written(i128),
}

/// An integer expression as a side of arithmetic; `None` for other types.
fn whole_of(expression: &Expr, schema: &Schema) -> Option<WholeNumber> {
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

fn is_written_beyond_32_bits(part: &Expr) -> bool {
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
fn common_type(left: &WholeNumber, right: &WholeNumber) -> Option<DataType> {
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
pub(super) fn narrowing_function(dtype: DataType) -> UserDefinedFunction {
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
fn arithmetic_function(kind: Arithmetic, dtype: DataType) -> UserDefinedFunction {
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

fn broadcast_value<T>(column: &ChunkedArray<T>, row: usize) -> Option<T::Native>
where
    T: PolarsNumericType,
{
    column.get(if column.len() == 1 { 0 } else { row })
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
