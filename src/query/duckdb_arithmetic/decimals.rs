//! Decimal numbers: keys of groups, distinct rows and joins are compared by their texts, for which
//! the engine has no type of 128 bits, and products have the digits of both factors.

use std::collections::HashSet;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::nested_values::{broadcast_row, row_count};
use crate::query::whole_numbers::too_large;

/// Decimal digits of the accumulator of integer sums, and of products.
pub(super) const DIGITS: usize = 38;

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

/// The exact product of two decimal numbers.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for more digits behind the point than a decimal number has.
pub(super) fn decimal_product(scale: usize) -> PolarsResult<UserDefinedFunction> {
    if scale > DIGITS {
        return Err(refusal(format!(
            "the product of these decimal numbers has {scale} digits behind the point, more than \
                {DIGITS}: cast them to DECIMAL(18, 6)"
        )));
    }
    Ok(elementwise(
        "decimal_product",
        move |_| Ok(DataType::Decimal(DIGITS, scale)),
        move |columns| multiply_decimals(columns, scale),
    ))
}

fn multiply_decimals(columns: &[Column], scale: usize) -> PolarsResult<Column> {
    let factors = columns
        .iter()
        .map(|column| {
            let numbers = column.as_materialized_series().to_physical_repr();
            Ok(numbers.i128()?.clone())
        })
        .collect::<PolarsResult<Vec<Int128Chunked>>>()?;
    let factor = |at: usize, row: usize| factors[at].get(broadcast_row(factors[at].len(), row));
    let limit = 10u128.pow(DIGITS as u32);
    let mut products = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        products.push(match factor(0, row).zip(factor(1, row)) {
            Some((one, other)) => {
                let product = one.checked_mul(other);
                let product = product.filter(|product| product.unsigned_abs() < limit);
                let error = || too_large(format!("a product does not fit in {DIGITS} digits"));
                Some(product.ok_or_else(error)?)
            }
            None => None,
        });
    }
    let products: Int128Chunked = products.into_iter().collect();
    Ok(products.into_decimal_unchecked(DIGITS, scale).into_column())
}
