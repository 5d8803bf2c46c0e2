//! Medians and quantiles as DuckDB has them: those between two values also of infinite ones and of
//! fractions of 32 bits, discrete ones of every type that has an order.

use std::cmp::Ordering;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::engine_errors::refusal;
use super::nested_values::build_result_field;

/// The discrete quantile from 0 to 1 of values of `dtype`, as an aggregate: one of the values.
pub(super) fn discrete(at: f64, dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    let values = move |columns: &mut [Column]| take_discrete_quantile(columns, at, &of);
    aggregate("quantile_disc", values, dtype)
}

pub(super) fn take_discrete_quantile(
    columns: &[Column],
    at: f64,
    dtype: &DataType,
) -> PolarsResult<Column> {
    let [values] = columns else {
        return Err(refusal("a quantile is of one column"));
    };
    let known = values.drop_nulls().sort_with(SortOptions::default())?;
    let name = values.name().clone();
    Ok(match discrete_place(known.len(), at) {
        None => Column::full_null(name, 1, dtype),
        Some(place) => known.slice(place as i64, 1).with_name(name),
    })
}

/// The place of the discrete quantile among `count` ordered values; `None` of no values.
fn discrete_place(count: usize, at: f64) -> Option<usize> {
    let values = count as f64;
    let place = (values - (values - at * values).floor()).max(1.0) as usize;
    (count > 0).then(|| place.min(count) - 1)
}

fn aggregate(
    name: &'static str,
    values: impl Fn(&mut [Column]) -> PolarsResult<Column> + Send + Sync + 'static,
    dtype: DataType,
) -> UserDefinedFunction {
    let field = move |_: &Schema, fields: &[Field]| Ok(build_result_field(fields, &dtype));
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::aggregation();
    function
}

/// The quantile from 0 to 1 of fractions of `dtype`, as an aggregate.
pub(super) fn quantile(at: f64, dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    let values = move |columns: &mut [Column]| compute_quantile(columns, at, &of);
    aggregate("quantile", values, dtype)
}

pub(super) fn compute_quantile(
    columns: &[Column],
    at: f64,
    dtype: &DataType,
) -> PolarsResult<Column> {
    let [numbers] = columns else {
        return Err(refusal("a quantile is of one column"));
    };
    if let DataType::Decimal(width, scale) = *dtype {
        let numbers = numbers.cast(dtype)?;
        let digits = numbers.as_materialized_series().to_physical_repr();
        let mut known: Vec<i128> = digits.i128()?.iter().flatten().collect();
        let quantile: Int128Chunked = [of_digits(&mut known, at)].into_iter().collect();
        return Ok(quantile
            .into_decimal_unchecked(width, scale)
            .into_column()
            .with_name(numbers.name().clone()));
    }
    let wide = numbers.cast(&DataType::Float64)?;
    let mut known: Vec<f64> = wide.f64()?.iter().flatten().collect();
    let quantile = [of_values(&mut known, at, *dtype == DataType::Float32)]
        .into_iter()
        .collect::<Float64Chunked>();
    Ok(quantile
        .into_column()
        .cast(dtype)?
        .with_name(numbers.name().clone()))
}

/// The quantile of the values, which are reordered; NaN is the greatest. `None` of no values.
/// Values of 32 bits are joined as DuckDB does: by their difference, in 32 bits.
fn of_values(values: &mut [f64], at: f64, is_single: bool) -> Option<f64> {
    let place = (values.len().checked_sub(1)? as f64) * at;
    let (_, lower, above) =
        values.select_nth_unstable_by(place.floor() as usize, compare_with_nan_greatest);
    let part = place.fract();
    if part == 0.0 {
        return Some(*lower);
    }
    let upper = above.iter().copied().min_by(compare_with_nan_greatest)?;
    if is_single {
        let (lower, upper) = (*lower as f32, upper as f32);
        let step = (f64::from(upper - lower) * part) as f32;
        return Some((lower + step).into());
    }
    // DuckDB's sum of two products: between -inf and a number it is -inf, between both infinities
    // NaN.
    Some(*lower * (1.0 - part) + upper * part)
}

/// The quantile of the digits of decimal numbers, which are reordered: DuckDB cuts the part of the
/// difference of two. `None` of no values.
fn of_digits(values: &mut [i128], at: f64) -> Option<i128> {
    let place = (values.len().checked_sub(1)? as f64) * at;
    let (_, lower, above) = values.select_nth_unstable(place.floor() as usize);
    let part = place.fract();
    if part == 0.0 {
        return Some(*lower);
    }
    let upper = above.iter().copied().min()?;
    let step = upper.saturating_sub(*lower) as f64 * part;
    Some(lower.saturating_add(step as i128))
}

/// The median of the distances of decimal numbers from their median, all cut to their digits.
/// `None` of no values.
pub(super) fn median_deviation(mut digits: Vec<i128>) -> Option<i128> {
    let median = of_digits(&mut digits, 0.5)?;
    let distances = digits
        .iter()
        .map(|number| number.saturating_sub(median).saturating_abs());
    of_digits(&mut distances.collect::<Vec<i128>>(), 0.5)
}

fn compare_with_nan_greatest(one: &f64, other: &f64) -> Ordering {
    one.is_nan()
        .cmp(&other.is_nan())
        .then_with(|| one.partial_cmp(other).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::{discrete_place, median_deviation, of_digits, of_values};

    #[test]
    fn quantiles_of_decimal_numbers_are_cut() {
        for (values, at, wanted) in [
            (vec![], 0.5, None),
            (vec![235, 150], 0.5, Some(192)),
            (vec![150, 235], 0.3, Some(175)),
            (vec![-150, -235], 0.5, Some(-193)),
            (vec![-150, -237], 0.5, Some(-194)),
            (vec![1, 2], 1.0, Some(2)),
        ] {
            assert_eq!(
                of_digits(&mut values.clone(), at),
                wanted,
                "{values:?} {at}"
            );
        }
    }

    #[test]
    fn median_deviations_of_decimal_numbers_are_cut() {
        for (values, wanted) in [
            (vec![], None),
            (vec![0, 1, 2, 2, 7, 9], Some(1)),
            (vec![0, 3, 4, 8], Some(2)),
            (vec![0, 3, 4, 5], Some(1)),
            (vec![-1, -4, -7, -9], Some(2)),
        ] {
            assert_eq!(median_deviation(values.clone()), wanted, "{values:?}");
        }
    }

    #[test]
    fn discrete_quantiles_are_values() {
        for (count, at, place) in [
            (0, 0.5, None),
            (1, 0.0, Some(0)),
            (4, 0.5, Some(1)),
            (5, 0.5, Some(2)),
            (4, 1.0, Some(3)),
            (10, 0.95, Some(9)),
        ] {
            assert_eq!(discrete_place(count, at), place, "{count} {at}");
        }
    }

    #[test]
    fn quantiles_are_those_of_duckdb() {
        let infinite = f64::INFINITY;
        for (values, at, wanted) in [
            (vec![], 0.5, None),
            (vec![3.0], 0.9, Some(3.0)),
            (vec![4.0, 1.0, 2.0], 0.5, Some(2.0)),
            (vec![4.0, 1.0, 2.0, 3.0], 0.5, Some(2.5)),
            (vec![5.0, -infinite], 0.5, Some(-infinite)),
            (vec![1.0, infinite], 0.5, Some(infinite)),
            (vec![infinite, infinite], 0.5, Some(infinite)),
        ] {
            assert_eq!(
                of_values(&mut values.clone(), at, false),
                wanted,
                "{values:?}"
            );
        }
        for mut values in [
            vec![-infinite, infinite],
            vec![f64::NAN, 1.0],
            vec![f64::NAN, f64::NAN],
        ] {
            assert!(
                of_values(&mut values, 0.5, false).is_some_and(f64::is_nan),
                "{values:?}"
            );
        }
    }
}
