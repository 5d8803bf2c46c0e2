//! Decimal numbers: keys of groups, distinct rows and joins are compared by their texts, for which
//! the engine has no type of 128 bits, and products have the digits of both factors.

use std::collections::HashSet;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::expressions::type_of_expression;
use super::whole_arithmetic::is_written_beyond_32_bits;
use crate::query::decimal_widths::DecimalWidth;
use crate::query::engine_errors::refusal;
use crate::query::list_functions::{DecimalSum, elementwise};
use crate::query::nested_values::{broadcast_row, row_count};
use crate::query::whole_numbers::too_large;

pub(super) use crate::query::decimal_widths::DIGITS;

/// Digits of numbers whose sum has at most [`DIGITS`], as there are fewer than 10^10 rows.
pub(super) const WIDTH_OF_SUMMANDS: usize = DIGITS - 10;

/// The sum of decimal numbers; an error where it has more than [`DIGITS`]. The engine adds them
/// modulo 2^128, so that a sum may be too large and have few digits.
pub(super) fn sum_by_halves(numbers: &Expr, scale: usize) -> Expr {
    let halves = [true, false].map(|is_upper| {
        let half = half_of_decimal(is_upper, scale).call(vec![numbers.clone()]);
        half.cast(DataType::Decimal(DIGITS, 0)).sum()
    });
    let joined = elementwise(
        "sum_of_halves",
        move |_| Ok(DataType::Decimal(DIGITS, scale)),
        move |columns| join_sums(columns, scale),
    );
    joined.call(halves.to_vec())
}

/// The upper or the lower 64 bits of the digits of decimal numbers.
fn half_of_decimal(is_upper: bool, scale: usize) -> UserDefinedFunction {
    let dtype = if is_upper {
        DataType::Int64
    } else {
        DataType::UInt64
    };
    elementwise(
        "half_of_decimal",
        move |_| Ok(dtype.clone()),
        move |columns| split_digits(columns, is_upper, scale),
    )
}

fn split_digits(columns: &[Column], is_upper: bool, scale: usize) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("a decimal number is one value"));
    };
    let numbers = numbers.strict_cast(&DataType::Decimal(DIGITS, scale))?;
    let numbers = numbers
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let digits = numbers.i128()?.iter();
    Ok(if is_upper {
        let halves = digits.map(|number| number.map(|number| (number >> 64) as i64));
        halves.collect::<Int64Chunked>().into_column()
    } else {
        let halves = digits.map(|number| number.map(|number| number as u64));
        halves.collect::<UInt64Chunked>().into_column()
    })
}

fn join_sums(columns: &[Column], scale: usize) -> PolarsResult<Column> {
    let [high, low] = columns else {
        return Err(refusal("a sum has two halves"));
    };
    let [high, low] = [high, low].map(|half| {
        half.as_materialized_series()
            .to_physical_repr()
            .into_owned()
    });
    let mut sums = Vec::with_capacity(high.len());
    for halves in high.i128()?.iter().zip(low.i128()?.iter()) {
        sums.push(match halves {
            (Some(high), Some(low)) => Some(DecimalSum::from_halves(high, low).fit()?),
            _ => None,
        });
    }
    let sums: Int128Chunked = sums.into_iter().collect();
    Ok(sums.into_decimal_unchecked(DIGITS, scale).into_column())
}

/// Keys, with the texts of decimal numbers instead of them.
#[derive(Default)]
pub(super) struct SpelledKeys {
    pub keys: Vec<Expr>,
    /// The columns of these texts as numbers again.
    pub read_back: Vec<Expr>,
}

pub(super) fn spell_keys(keys: Vec<Expr>, schema: &Schema) -> SpelledKeys {
    let mut spelled = SpelledKeys {
        keys: Vec::with_capacity(keys.len()),
        read_back: Vec::new(),
    };
    for key in keys {
        match key.to_field(schema) {
            Ok(field) if field.dtype().is_decimal() => {
                let name = field.name().clone();
                spelled
                    .read_back
                    .push(col(name).cast(field.dtype().clone()));
                spelled.keys.push(key.cast(DataType::String));
            }
            _ => spelled.keys.push(key),
        }
    }
    spelled
}

/// The plan with these columns in it.
pub(super) fn add_columns(plan: DslPlan, columns: Vec<Expr>) -> DslPlan {
    if columns.is_empty() {
        plan
    } else {
        LazyFrame::from(plan).with_columns(columns).logical_plan
    }
}

/// Distinct rows, also of decimal numbers.
pub(super) fn plan_distinct(
    input: Arc<DslPlan>,
    options: DistinctOptionsDSL,
    schema: &Schema,
) -> DslPlan {
    let compared = options.subset.as_deref().and_then(columns_of);
    let decimals = schema.iter().filter(|(name, dtype)| {
        dtype.is_decimal() && compared.as_ref().is_none_or(|names| names.contains(*name))
    });
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    for (name, dtype) in decimals {
        texts.push(col(name.clone()).cast(DataType::String));
        numbers.push(col(name.clone()).cast(dtype.clone()));
    }
    let input = if texts.is_empty() {
        input
    } else {
        Arc::new(add_columns(Arc::unwrap_or_clone(input), texts))
    };
    add_columns(DslPlan::Distinct { input, options }, numbers)
}

/// Names of the columns in these expressions; `None` where one names columns by a pattern.
fn columns_of(expressions: &[Expr]) -> Option<HashSet<PlSmallStr>> {
    let mut names = HashSet::new();
    for part in expressions
        .iter()
        .flat_map(|expression| expression.into_iter())
    {
        match part {
            Expr::Column(name) => drop(names.insert(name.clone())),
            Expr::Selector(_) => return None,
            _ => {}
        }
    }
    Some(names)
}

/// The keys of both sides of a join; decimal numbers have the same number of digits in their texts,
/// and are compared with fractions as such.
pub(super) fn spell_join_keys(
    keys: [Vec<Expr>; 2],
    schemas: [&Schema; 2],
) -> (Vec<Expr>, Vec<Expr>) {
    let [left, right] = keys;
    let sides = left.into_iter().zip(right);
    sides
        .map(|(left, right)| {
            let fields = [left.to_field(schemas[0]), right.to_field(schemas[1])];
            let dtypes = fields.map(|field| field.map_or(DataType::Null, |field| field.dtype));
            match type_of_compared_decimals(dtypes.each_ref()) {
                Some(common) if common.is_float() => {
                    (left.cast(common.clone()), right.cast(common))
                }
                Some(common) => {
                    let spell = |key: Expr| key.cast(common.clone()).cast(DataType::String);
                    (spell(left), spell(right))
                }
                None => (left, right),
            }
        })
        .unzip()
}

/// The type in which two numbers are compared, of which one is a decimal number.
pub(in crate::query) fn type_of_compared_decimals(dtypes: [&DataType; 2]) -> Option<DataType> {
    if !dtypes.iter().any(|dtype| dtype.is_decimal()) {
        None
    } else if let Some(fraction) = dtypes.iter().find(|dtype| dtype.is_float()) {
        Some((*fraction).clone())
    } else {
        let scales = scale_of(dtypes[0]).zip(scale_of(dtypes[1]));
        scales.map(|(one, other)| DataType::Decimal(DIGITS, one.max(other)))
    }
}

/// Digits behind the point of an exact number.
fn scale_of(dtype: &DataType) -> Option<usize> {
    match dtype {
        DataType::Decimal(_, scale) => Some(*scale),
        dtype if dtype.is_integer() => Some(0),
        _ => None,
    }
}

/// A number with a point as it is written.
fn written_fraction(expression: &Expr) -> Option<f64> {
    let Expr::Literal(literal @ LiteralValue::Dyn(_)) = expression else {
        return None;
    };
    let value = literal.to_any_value()?;
    value.dtype().is_float().then(|| value.extract()).flatten()
}

/// The digits of an exact number; `None` for other types.
fn width_of(expression: &Expr, schema: &Schema) -> Option<DecimalWidth> {
    if let Some(number) = written_fraction(expression) {
        return DecimalWidth::of_written_number(&number.abs().to_string());
    }
    if is_written_beyond_32_bits(expression) {
        return Some(DecimalWidth::of_integers(19));
    }
    DecimalWidth::of_type(expression.to_field(schema).ok()?.dtype())
}

/// A sum, difference, product or remainder of exact numbers of which one is a decimal number, with
/// the type that it has in DuckDB; `None` for other arithmetic.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for more digits behind the point than a decimal number has.
pub(super) fn decimal_arithmetic(
    sides: [&Arc<Expr>; 2],
    op: Operator,
    schema: &Schema,
) -> PolarsResult<Option<Expr>> {
    let has_decimal = sides.iter().any(|side| {
        let field = side.to_field(schema);
        field.is_ok_and(|field| field.dtype().is_decimal())
    });
    let widths = sides.map(|side| width_of(side, schema));
    let (true, [Some(one), Some(other)]) = (has_decimal, widths) else {
        return Ok(None);
    };
    let result = match op {
        Operator::Plus | Operator::Minus => one.of_sum(other),
        Operator::Multiply => one.of_product(other),
        Operator::Modulus => one.common_width(other),
        _ => return Ok(None),
    };
    if result.scale > DIGITS {
        return Err(refusal(format!(
            "the product of these decimal numbers has {} digits behind the point, more than \
                {DIGITS}: cast them to DECIMAL(18, 6)",
            result.scale
        )));
    }
    let sides = vec![
        cast_to_decimal(sides[0], one.scale),
        cast_to_decimal(sides[1], other.scale),
    ];
    let compute: ExactArithmetic = match op {
        Operator::Plus => |one, other| Some(one.checked_add(other)),
        Operator::Minus => |one, other| Some(one.checked_sub(other)),
        Operator::Multiply => |one, other| Some(one.checked_mul(other)),
        // Of a division by zero it is null.
        _ => |one, other| (other != 0).then(|| one.checked_rem(other)),
    };
    let is_product = op == Operator::Multiply;
    let function = elementwise(
        "decimal_arithmetic",
        move |_| Ok(DataType::Decimal(result.width, result.scale)),
        move |columns| compute_decimals(columns, result, is_product, compute),
    );
    Ok(Some(function.call(sides)))
}

/// Exact numbers of which one is a decimal number, as those that have the digits of all; `None` of
/// others, and of decimal numbers of one type.
pub(super) fn as_decimals(values: &[&Expr], schema: &Schema) -> Option<Vec<Expr>> {
    let dtypes: Vec<DataType> = values
        .iter()
        .map(|value| type_of_expression(value, schema))
        .collect();
    let mut common: Option<DecimalWidth> = None;
    for (&value, dtype) in values.iter().zip(&dtypes) {
        if *dtype == DataType::Null {
            continue;
        }
        let width = width_of(value, schema)?;
        common = Some(common.map_or(width, |before| before.common_width(width)));
    }
    let common = common?;
    let to = DataType::Decimal(common.width, common.scale);
    let is_common = |dtype: &DataType| *dtype == to || *dtype == DataType::Null;
    if !dtypes.iter().any(DataType::is_decimal) || dtypes.iter().all(is_common) {
        return None;
    }
    let mut decimals = Vec::with_capacity(values.len());
    for (&value, dtype) in values.iter().zip(&dtypes) {
        decimals.push(match (is_common(dtype), written_fraction(value)) {
            (true, _) => value.clone(),
            (false, Some(number)) => lit(number.to_string()).strict_cast(to.clone()),
            (false, None) => value.clone().strict_cast(to.clone()),
        });
    }
    Some(decimals)
}

/// A number as a decimal number; one that is written by its digits.
fn cast_to_decimal(side: &Expr, scale: usize) -> Expr {
    let number = match written_fraction(side) {
        Some(number) => lit(number.to_string()),
        None => side.clone(),
    };
    number.strict_cast(DataType::Decimal(DIGITS, scale))
}

/// A result of the digits of two numbers: `None` for null, `Some(None)` for one that does not fit.
type ExactArithmetic = fn(i128, i128) -> Option<Option<i128>>;

fn compute_decimals(
    columns: &[Column],
    result: DecimalWidth,
    is_product: bool,
    compute: ExactArithmetic,
) -> PolarsResult<Column> {
    let sides = columns
        .iter()
        .map(|column| {
            let column = if is_product {
                column.clone()
            } else {
                column.strict_cast(&DataType::Decimal(DIGITS, result.scale))?
            };
            let numbers = column.as_materialized_series().to_physical_repr();
            // Rows are looked up one by one.
            Ok(numbers.i128()?.rechunk().into_owned())
        })
        .collect::<PolarsResult<Vec<Int128Chunked>>>()?;
    let side = |at: usize, row: usize| sides[at].get(broadcast_row(sides[at].len(), row));
    let mut results = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let pair = side(0, row).zip(side(1, row));
        results.push(match pair.and_then(|(one, other)| compute(one, other)) {
            Some(number) => Some(fail_beyond_width(number, result)?),
            None => None,
        });
    }
    let results: Int128Chunked = results.into_iter().collect();
    Ok(results
        .into_decimal_unchecked(result.width, result.scale)
        .into_column())
}

fn fail_beyond_width(number: Option<i128>, to: DecimalWidth) -> PolarsResult<i128> {
    let limit = u32::try_from(to.width)
        .ok()
        .and_then(|width| 10u128.checked_pow(width));
    let fits = |number: &i128| limit.is_none_or(|limit| number.unsigned_abs() < limit);
    number.filter(fits).ok_or_else(|| {
        too_large(format!(
            "a decimal number does not fit in DECIMAL({},{})",
            to.width, to.scale
        ))
    })
}

/// Decimal numbers as those of so many digits.
pub(super) fn decimal_of_width(width: usize, scale: usize) -> UserDefinedFunction {
    let to = DecimalWidth { width, scale };
    elementwise(
        "decimal_of_width",
        move |_| Ok(DataType::Decimal(width, scale)),
        move |columns| change_width(columns, to),
    )
}

fn change_width(columns: &[Column], to: DecimalWidth) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("a decimal number is one value"));
    };
    let numbers = numbers.strict_cast(&DataType::Decimal(DIGITS, to.scale))?;
    let numbers = numbers
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let mut changed = Vec::with_capacity(numbers.len());
    for number in numbers.i128()?.iter() {
        changed.push(match number {
            Some(number) => Some(fail_beyond_width(Some(number), to)?),
            None => None,
        });
    }
    let changed: Int128Chunked = changed.into_iter().collect();
    Ok(changed
        .into_decimal_unchecked(to.width, to.scale)
        .into_column())
}
