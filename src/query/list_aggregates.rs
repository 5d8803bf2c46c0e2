//! Aggregates of the elements of lists: `list_kurtosis(l)`, `list_aggregate(l, 'entropy')`.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::duckdb_functions;
use super::engine_errors::refusal;
use super::list_functions::elementwise;
use super::nested_values::ListRanges;
use super::quantiles;

/// Aggregates of lists by DuckDB's name, and the aggregate of columns that computes them.
const AGGREGATES: [(&str, &str); 14] = [
    ("bit_and", "all_bits_and"),
    ("bit_or", "all_bits_or"),
    ("bit_xor", "all_bits_xor"),
    ("count_if", "count_if"),
    ("countif", "count_if"),
    ("entropy", "entropy"),
    ("geomean", "geomean"),
    ("geometric_mean", "geomean"),
    ("histogram", "histogram"),
    ("kurtosis", "kurtosis"),
    ("kurtosis_pop", "kurtosis_pop"),
    ("mad", "mad"),
    ("sem", "sem"),
    ("skewness", "skewness"),
];

fn find_list_aggregate(name: &str) -> Option<&'static str> {
    AGGREGATES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, aggregate)| *aggregate)
}

/// True for the lower-case name of an aggregate that [`list_aggregate`] computes.
pub(super) fn is_list_aggregate(name: &str) -> bool {
    find_list_aggregate(name).is_some()
}

/// A function that computes an aggregate of the elements of each list; null for a null list.
pub(super) fn list_aggregate(called: &str, name: &str) -> UserDefinedFunction {
    let aggregate = find_list_aggregate(name).unwrap_or_default();
    elementwise(
        called,
        move |dtypes| duckdb_functions::aggregate_type(aggregate, &element_type(dtypes)?),
        move |columns| {
            let dtype = duckdb_functions::aggregate_type(
                aggregate,
                &element_type(&[columns[0].dtype().clone()])?,
            )?;
            compute_per_list(&columns[0], &dtype, |elements| {
                duckdb_functions::run_aggregate(aggregate, elements)
            })
        },
    )
}

/// A function that takes the quantile from 0 to 1 of the elements of each list.
pub(super) fn list_quantile(called: &str, name: &str, part: f64) -> UserDefinedFunction {
    let is_discrete = name != "quantile_cont";
    elementwise(
        called,
        move |dtypes| quantile_type(&element_type(dtypes)?, is_discrete),
        move |columns| {
            let of = element_type(&[columns[0].dtype().clone()])?;
            let dtype = quantile_type(&of, is_discrete)?;
            compute_per_list(&columns[0], &dtype, |elements| {
                if is_discrete {
                    quantiles::take_discrete_quantile(&[elements], part, &dtype)
                } else {
                    quantiles::compute_quantile(&[elements], part, &dtype)
                }
            })
        },
    )
}

fn quantile_type(of: &DataType, is_discrete: bool) -> PolarsResult<DataType> {
    if is_discrete {
        Ok(of.clone())
    } else if of.is_primitive_numeric() {
        Ok(DataType::Float64)
    } else {
        Err(refusal("quantile_cont takes lists of numbers"))
    }
}

fn element_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match dtypes.first() {
        Some(DataType::List(element)) => Ok(element.as_ref().clone()),
        Some(DataType::Null) => Ok(DataType::Int32),
        _ => Err(refusal("an aggregate of a list takes a list")),
    }
}

fn compute_per_list(
    lists: &Column,
    dtype: &DataType,
    aggregate: impl Fn(Column) -> PolarsResult<Column>,
) -> PolarsResult<Column> {
    if lists.dtype().is_null() {
        return Ok(Column::full_null(PlSmallStr::EMPTY, lists.len(), dtype));
    }
    let ranges = ListRanges::from_column(lists)?;
    let mut results = Column::new_empty(PlSmallStr::EMPTY, dtype);
    for row in 0..ranges.len() {
        let result = match ranges.row(row) {
            Some(range) => {
                let elements = ranges.elements.slice(range.start as i64, range.len());
                aggregate(elements.into_column())?.cast(dtype)?
            }
            None => Column::full_null(PlSmallStr::EMPTY, 1, dtype),
        };
        results.append(&result)?;
    }
    Ok(results)
}
