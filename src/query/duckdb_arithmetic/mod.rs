//! DuckDB's arithmetic: integer overflow is an error, a remainder has the sign of the dividend, and
//! division and rounding follow DuckDB. Rewrites plans of the engine: comparisons in `comparisons`,
//! fractions in `fractions`, integers in `whole_arithmetic`, types that the engine lacks in
//! `missing_types`.

mod comparisons;
mod decimals;
mod expressions;
mod fractions;
mod missing_types;
mod whole_arithmetic;

use std::ops::Neg;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::list_texts::list_reader;
use crate::query::plan_inputs::map_inputs;
use crate::query::recognised_functions::RecognisedFunction;
use crate::query::{constant_folding, durations, nested_plans, quantiles, value_texts};
use comparisons::{
    as_floats, compared_with_negative, comparison, signed_beside_unsigned, texts_as_truths,
    without_zones,
};
use expressions::{binary_expression, has_one_type, schema_of, text_cast, type_of_expression};
use fractions::{
    arithmetic_of_fractions, extreme_function, float_narrowing_function, is_fraction, is_quotient,
    is_written_number, marked_as_quotient, power_function, rounding_function, with_doubles,
};
use missing_types::{
    apply_missing_types, depends_on_missing_type, marked_as_arithmetic, marked_as_sum,
    name_missing_types,
};
use whole_arithmetic::{Arithmetic, arithmetic, arithmetic_function, common_type, whole_of};

pub(super) use comparisons::{as_zoned_times, is_of_mixed_signs};
pub(super) use decimals::type_of_compared_decimals;
pub(super) use whole_arithmetic::narrowing_function;

/// The plan with DuckDB's arithmetic. Call just before collecting.
pub(super) fn apply_duckdb_arithmetic(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    fold_plan(rewrite_plan(frame.logical_plan)?).map(LazyFrame::from)
}

/// The columns of a result with the types that they have in DuckDB, and for each column DuckDB's
/// name of its type where the engine lacks that type.
pub(super) fn typed_columns_of_result(
    frame: LazyFrame,
) -> PolarsResult<(SchemaRef, Vec<Option<String>>)> {
    let plan = rewrite_plan(frame.logical_plan)?;
    let schema = LazyFrame::from(fold_plan(plan.clone())?).collect_schema()?;
    let names = name_missing_types(&plan, &schema)?;
    Ok((schema, names))
}

/// The columns of a result with the types that they have in DuckDB.
pub(super) fn schema_of_result(frame: LazyFrame) -> PolarsResult<SchemaRef> {
    apply_duckdb_arithmetic(frame)?.collect_schema()
}

/// The plan with the functions of constants as their values. Types that the engine lacks can't be
/// named in it any more: a value does not have the function that gave it.
fn fold_plan(from: DslPlan) -> PolarsResult<DslPlan> {
    Ok(match map_inputs(from, fold_plan)? {
        DslPlan::Select {
            expr,
            input,
            options,
        } => DslPlan::Select {
            expr: fold_each(expr),
            input,
            options,
        },
        DslPlan::HStack {
            exprs,
            input,
            options,
        } => DslPlan::HStack {
            exprs: fold_each(exprs),
            input,
            options,
        },
        other => other,
    })
}

fn fold_each(expressions: Vec<Expr>) -> Vec<Expr> {
    let expressions = expressions.into_iter();
    expressions.map(constant_folding::fold_constants).collect()
}

fn rewrite_plan(from: DslPlan) -> PolarsResult<DslPlan> {
    Ok(match map_inputs(from, rewrite_plan)? {
        DslPlan::Select {
            expr,
            input,
            options,
        } => {
            let expr = rewrite_expressions(expr, &input)?;
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
            let exprs = rewrite_expressions(exprs, &input)?;
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
            let spelled = if keys.is_empty() {
                decimals::SpelledKeys::default()
            } else {
                decimals::spell_keys(keys, schema_of(&input)?.as_ref())
            };
            let grouped = DslPlan::GroupBy {
                input,
                keys: spelled.keys,
                predicates,
                aggs,
                maintain_order,
                options,
                apply,
            };
            decimals::add_columns(grouped, spelled.read_back)
        }
        DslPlan::Distinct { input, options } => {
            let schema = schema_of(&input)?;
            decimals::plan_distinct(input, options, &schema)
        }
        DslPlan::Join {
            input_left,
            input_right,
            left_on,
            right_on,
            predicates,
            options,
        } => {
            let left_on = rewrite_expressions(left_on, &input_left)?;
            let right_on = rewrite_expressions(right_on, &input_right)?;
            let (left_on, right_on) = if left_on.is_empty() {
                (left_on, right_on)
            } else {
                let schemas = [schema_of(&input_left)?, schema_of(&input_right)?];
                decimals::spell_join_keys([left_on, right_on], [&schemas[0], &schemas[1]])
            };
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
    let is_other = |part: &Expr| {
        is_other_here(part) || nested_plans::is_other_here(part) || depends_on_missing_type(part)
    };
    if !expressions
        .iter()
        .any(|expression| expression.into_iter().any(is_other))
    {
        return Ok(expressions);
    }
    let schema = schema_of(input)?;
    let with_meaning =
        |part| nested_plans::rewrite_nested(rewrite_expression(part, &schema)?, &schema);
    let expressions = expressions
        .into_iter()
        .map(|expression| expression.try_map_expr(with_meaning))
        .collect::<PolarsResult<Vec<_>>>()?;
    apply_missing_types(expressions, input)
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
        Expr::AnonymousFunction { function, .. } => RecognisedFunction::Negation.matches(function),
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
                || cuts_digits(function)
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

/// True for functions whose decimal numbers have fewer digits behind the point.
fn cuts_digits(function: &FunctionExpr) -> bool {
    use FunctionExpr::{Ceil, Floor, Truncate};
    matches!(function, Ceil | Floor | Truncate { .. })
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

fn rewrite_expression(part: Expr, schema: &Schema) -> PolarsResult<Expr> {
    let dtype = |expression: &Expr| type_of_expression(expression, schema);
    Ok(match part {
        // The sign of fractions changes, of 0 and NaN too, which a difference does not do.
        Expr::AnonymousFunction {
            ref input,
            ref function,
            ..
        } if RecognisedFunction::Negation.matches(function) => match input.as_slice() {
            [number] if is_fraction(&dtype(number)) => number.clone().neg(),
            [number] if let DataType::Decimal(width, scale) = dtype(number) => {
                decimals::decimal_of_width(width, scale).call(vec![lit(0) - number.clone()])
            }
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
            if let Some([left, right]) = without_zones([left, right], &dtypes) {
                return Ok(comparison(left, op, right, &dtypes));
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
            let branches = [truthy.as_ref(), falsy.as_ref()];
            let alike = as_floats(&branches, &dtypes)
                .or_else(|| as_zoned_times(&branches, &dtypes))
                .or_else(|| decimals::as_decimals(&branches, schema))
                .map(TryInto::<[Expr; 2]>::try_into);
            match (alike, is_of_mixed_signs(&dtypes)) {
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
            let values: Vec<&Expr> = input.iter().collect();
            let alike = as_floats(&values, &dtypes)
                .or_else(|| as_zoned_times(&values, &dtypes))
                .or_else(|| decimals::as_decimals(&values, schema));
            let made = match alike {
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
                    extreme_function(field.dtype().clone(), is_greatest).call(input.clone())
                }
                _ => made,
            }
        }
        Expr::Function {
            ref input,
            function: FunctionExpr::Pow(PowFunction::Generic),
        } => match input.as_slice() {
            [base, exponent] => power_function().call(vec![
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
            Some(number) if dtype(number).is_decimal() => {
                let sign = Expr::Function {
                    input: vec![number.clone().cast(DataType::Float64)],
                    function: FunctionExpr::Sign,
                };
                rewrite_expression(sign, schema)?
            }
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
        Expr::Agg(AggExpr::Median(ref numbers))
            if dtype(numbers).is_float() || dtype(numbers).is_decimal() =>
        {
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
            [numbers, Expr::Literal(at)]
                if dtype(numbers).is_primitive_numeric() || dtype(numbers).is_decimal() =>
            {
                let of = if dtype(numbers).is_float() || dtype(numbers).is_decimal() {
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
            if let Some(exact) = decimals::decimal_arithmetic([left, right], op, schema)? {
                return Ok(exact);
            }
            if let Some(fractions) =
                arithmetic_of_fractions(left, op, right, [dtype(left), dtype(right)])
            {
                return Ok(fractions);
            }
            let Some(kind) = arithmetic(op) else {
                return Ok(part);
            };
            if matches!(kind, Arithmetic::Difference)
                && let Some([left, right]) =
                    without_zones([left, right], &[dtype(left), dtype(right)])
            {
                return Ok(binary_expression(left, op, right));
            }
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
            // Its value is computed with the cast that the engine adds.
            if matches!(kind, Arithmetic::Quotient) {
                return Ok(marked_as_quotient(call));
            }
            let call = marked_as_arithmetic(call);
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
                let input = input
                    .as_ref()
                    .clone()
                    .cast(DataType::Decimal(decimals::DIGITS, 0));
                let of = if whole == DataType::UInt64 {
                    whole
                } else {
                    DataType::Int64
                };
                marked_as_sum(narrowing_function(of).call(vec![input.sum()]))
            }
            DataType::Decimal(width, scale) if width > decimals::WIDTH_OF_SUMMANDS => {
                decimals::sum_by_halves(input, scale)
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
        Expr::Cast { ref expr, .. } if is_quotient(expr) => {
            let quotient = expr.as_ref().clone().cast(dtype(expr));
            if expr.into_iter().all(is_constant_or_function) {
                constant_folding::value_of(quotient.clone())?.unwrap_or(quotient)
            } else {
                quotient
            }
        }
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
                // DuckDB refuses a written text that is no BLOB before it reads a row.
                if matches!(**expr, Expr::Literal(_)) {
                    constant_folding::value_of(bytes.clone())?;
                }
                bytes
            }
            (DataType::Float64, Some(DataType::Float32)) => {
                let read = float_narrowing_function(!options.is_strict())
                    .call(vec![expr.as_ref().clone()]);
                Expr::Cast {
                    expr: Arc::new(read),
                    dtype: wanted.clone(),
                    options,
                }
            }
            (from, Some(to)) if is_fraction(&from) && to.is_integer() => {
                let rounded =
                    rounding_function(0, is_written_number(expr)).call(vec![expr.as_ref().clone()]);
                Expr::Cast {
                    expr: Arc::new(rounded),
                    dtype: wanted.clone(),
                    options,
                }
            }
            (DataType::Decimal(..), Some(to)) if to.is_integer() => {
                let rounded = expr.as_ref().clone().round(0, RoundMode::HalfAwayFromZero);
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
            (DataType::String, Some(DataType::List(item))) => {
                list_reader(item, !options.is_strict()).call(vec![expr.as_ref().clone()])
            }
            (DataType::String, Some(DataType::Struct(_))) => {
                return Err(refusal("a text can't be cast to a struct"));
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
            Some(input) => {
                let rounded = input.clone().round(decimals, RoundMode::HalfAwayFromZero);
                match dtype(input) {
                    // A number of fewer digits behind the point.
                    DataType::Decimal(width, scale) if (decimals as usize) < scale => {
                        rounded.cast(DataType::Decimal(width, decimals as usize))
                    }
                    _ => rounded,
                }
            }
            None => part,
        },
        Expr::Function {
            ref input,
            ref function,
        } if cuts_digits(function) => {
            let digits = match function {
                FunctionExpr::Truncate { decimals } => *decimals as usize,
                _ => 0,
            };
            match input.first().map(dtype) {
                Some(DataType::Decimal(width, scale)) if digits < scale => {
                    part.cast(DataType::Decimal(width, digits))
                }
                _ => part,
            }
        }
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

/// True for constants, and for calls of functions of this program that compute each row by itself.
fn is_constant_or_function(part: &Expr) -> bool {
    match part {
        Expr::Literal(LiteralValue::Dyn(_) | LiteralValue::Scalar(_)) => true,
        Expr::AnonymousFunction { options, .. } => options.is_elementwise(),
        _ => false,
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
