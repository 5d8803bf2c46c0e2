//! Aggregates: moments, counts, the values at the greatest and the least keys.

use polars::prelude::*;

use super::arguments::number_of;
use super::times::micros;
use crate::query::engine_errors::refusal;
use crate::query::functions::{map_of, other_bin};
use crate::query::nested_values::{ListRanges, order_keys, sortable, take_places};
use crate::query::quantiles::median_deviation;
use crate::query::type_names::MADE_FIELDS;

/// Number, mean, and sums of the powers two to four of the differences from the mean, of the
/// numbers that are not null.
pub(super) struct PowerMoments {
    count: f64,
    powers: [f64; 3],
}

pub(super) fn of_moments(
    columns: &[Column],
    of: fn(&PowerMoments) -> Option<f64>,
) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let known: Vec<f64> = numbers.f64()?.iter().flatten().collect();
    let count = known.len() as f64;
    let mean = known.iter().sum::<f64>() / count;
    let powers =
        [2, 3, 4].map(|power| known.iter().map(|number| (number - mean).powi(power)).sum());
    Ok([of(&PowerMoments { count, powers })]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// Skewness of a sample.
pub(super) fn skewness(moments: &PowerMoments) -> Option<f64> {
    let PowerMoments {
        count,
        powers: [square, cube, _],
    } = *moments;
    let spread = (square / count).powi(3);
    if count <= 2.0 {
        return None;
    }
    if spread <= 0.0 {
        return Some(f64::NAN);
    }
    Some((count * (count - 1.0)).sqrt() / (count - 2.0) * (cube / count) / spread.sqrt())
}

/// Excess kurtosis of a population.
pub(super) fn kurtosis_pop(moments: &PowerMoments) -> Option<f64> {
    let PowerMoments {
        count,
        powers: [square, _, fourth],
    } = *moments;
    (count > 1.0 && square > 0.0).then(|| count * fourth / square.powi(2) - 3.0)
}

/// Excess kurtosis of a sample.
pub(super) fn kurtosis(moments: &PowerMoments) -> Option<f64> {
    let count = moments.count;
    let excess = kurtosis_pop(moments).filter(|_| count > 3.0)?;
    Some((count - 1.0) / ((count - 2.0) * (count - 3.0)) * ((count + 1.0) * excess + 6.0))
}

/// Number of rows of each value that is not null, as a map; null when there are none.
pub(super) fn histogram(columns: &[Column]) -> PolarsResult<Column> {
    let [key_name, value_name] = MADE_FIELDS;
    let known = columns[0]
        .as_materialized_series()
        .drop_nulls()
        .with_name(key_name.into());
    if known.is_empty() {
        let dtype = map_of(columns[0].dtype().clone(), DataType::UInt64);
        return Ok(Column::full_null(PlSmallStr::EMPTY, 1, &dtype));
    }
    if known.dtype().is_decimal() {
        let (keys, counts) = count_decimals(&known)?;
        return map_of_counts(keys, counts);
    }
    let counts = known
        .value_counts(false, false, value_name.into(), false)?
        .sort([key_name], SortMultipleOptions::default())?;
    let (keys, counts) = (counts.column(key_name)?, counts.column(value_name)?);
    map_of_counts(
        keys.as_materialized_series().clone(),
        counts.as_materialized_series().clone(),
    )
}

/// The distinct decimal numbers in ascending order, and how many there are of each: the engine
/// counts values of 128 bits only as others.
fn count_decimals(known: &Series) -> PolarsResult<(Series, Series)> {
    let sorted = known.sort(SortOptions::default())?;
    let numbers = sorted.to_physical_repr();
    let numbers: Vec<Option<i128>> = numbers.i128()?.iter().collect();
    let mut places = Vec::new();
    let mut counts: Vec<u64> = Vec::new();
    for (place, number) in numbers.iter().enumerate() {
        match counts.last_mut() {
            Some(count) if numbers[place - 1] == *number => *count += 1,
            _ => {
                places.push(Some(place));
                counts.push(1);
            }
        }
    }
    let counts = Series::new(PlSmallStr::EMPTY, counts);
    Ok((take_places(&sorted, places)?, counts))
}

/// Keys with their counts as one map.
fn map_of_counts(keys: Series, counts: Series) -> PolarsResult<Column> {
    let [key_name, value_name] = MADE_FIELDS;
    let fields = [
        keys.with_name(key_name.into()),
        counts.cast(&DataType::UInt64)?.with_name(value_name.into()),
    ];
    let pairs = StructChunked::from_series(PlSmallStr::EMPTY, fields[0].len(), fields.iter())?;
    Ok(pairs.into_series().implode()?.into_series().into_column())
}

/// The type of the bounds of bins: decimal numbers are counted as DOUBLE.
pub(super) fn binned_type(dtype: &DataType) -> DataType {
    if dtype.is_decimal() {
        DataType::Float64
    } else {
        dtype.clone()
    }
}

/// Number of values in each bin of the list, which has all values up to its bound and above the
/// one before, or with `is_exact` those equal to it; then of the values in none of them. Null when
/// there are no values.
pub(super) fn histogram_in_bins(columns: &[Column], is_exact: bool) -> PolarsResult<Column> {
    let dtype = binned_type(columns[0].dtype());
    let known = columns[0].drop_nulls().cast(&dtype)?;
    // Of truth values there is no other bin.
    let other = other_bin(&dtype).transpose()?;
    if other.is_none() && !dtype.is_bool() {
        let error = "bins are of numbers and texts; times have time_bucket(INTERVAL 1 MONTH, date)";
        return Err(refusal(error));
    }
    if known.is_empty() {
        let dtype = map_of(dtype, DataType::UInt64);
        return Ok(Column::full_null(PlSmallStr::EMPTY, 1, &dtype));
    }
    let lists = ListRanges::from_column(&columns[1])?;
    let Some(places) = lists.row(0) else {
        return Err(refusal("the bins are a list of bounds"));
    };
    let bounds = lists.elements.slice(places.start as i64, places.len());
    if bounds.null_count() > 0 {
        return Err(refusal("a bound of a bin is not null"));
    }
    let bounds = if dtype.is_integer() && bounds.dtype().is_float() {
        let bounds = bounds.cast(&DataType::Float64)?;
        bounds.f64()?.apply_values(f64::round).into_series()
    } else {
        bounds
    };
    let bounds = bounds.strict_cast(&dtype)?.unique()?;
    let bounds = bounds.sort(SortOptions::default())?;
    let bound_keys = order_keys(&bounds.clone().into_column(), &dtype)?;
    let bound_keys: Vec<&[u8]> = bound_keys.iter().flatten().collect();
    let mut counts = vec![0u64; bound_keys.len() + 1];
    for key in order_keys(&known, &dtype)?.iter().flatten() {
        let bin = bound_keys.partition_point(|bound| *bound < key);
        let is_in = bound_keys
            .get(bin)
            .is_some_and(|bound| !is_exact || *bound == key);
        counts[if is_in { bin } else { bound_keys.len() }] += 1;
    }
    let mut keys = bounds;
    match other.filter(|_| counts.last() != Some(&0)) {
        Some(other) => {
            keys.append(&other)?;
        }
        None => {
            counts.pop();
        }
    }
    map_of_counts(keys, Series::new(PlSmallStr::EMPTY, counts))
}

/// Mean of numbers by weights, of the rows in which both are known.
pub(super) fn weighted_mean(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns
        .iter()
        .map(|column| column.cast(&DataType::Float64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let (values, weights) = (numbers[0].f64()?, numbers[1].f64()?);
    let pairs: Vec<(f64, f64)> = values
        .iter()
        .zip(weights.iter())
        .filter_map(|(value, weight)| value.zip(weight))
        .collect();
    let weight: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mean = (!pairs.is_empty()).then(|| {
        pairs
            .iter()
            .map(|(value, weight)| value * weight)
            .sum::<f64>()
            / weight
    });
    Ok([mean].into_iter().collect::<Float64Chunked>().into_column())
}

/// The values at the `n` greatest or least keys, as a list.
pub(super) fn many_at_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let count = number_of(columns, 2)?;
    let (values, keys) = (&columns[0], sortable(&columns[1])?);
    let known = keys.is_not_null() & values.is_not_null();
    let places = known
        .iter()
        .enumerate()
        .filter(|(_, known)| *known == Some(true))
        .map(|(at, _)| at as IdxSize);
    let places = IdxCa::from_vec(PlSmallStr::EMPTY, places.collect());
    let (values, keys) = (values.take(&places)?, keys.take(&places)?);
    let options = SortOptions {
        descending: greatest,
        maintain_order: true,
        ..SortOptions::default()
    };
    let order = keys
        .as_materialized_series()
        .arg_sort(options)
        .slice(0, count);
    let list = values.take(&order)?.as_materialized_series().clone();
    let lists = list.implode()?;
    let lists = if list.is_empty() {
        lists
            .into_series()
            .clear()
            .into_column()
            .extend_constant(AnyValue::Null, 1)?
    } else {
        lists.into_series().into_column()
    };
    Ok(lists)
}

/// Number of rows that meet a condition; null where it is null in all, as a sum is.
pub(super) fn count_met(columns: &[Column]) -> PolarsResult<Column> {
    let met = columns[0].bool()?;
    let count = (met.null_count() < met.len())
        .then(|| met.iter().flatten().filter(|met| *met).count() as i64);
    Ok([count].into_iter().collect::<Int64Chunked>().into_column())
}

pub(super) fn truth(columns: &[Column], of: fn(&BooleanChunked) -> bool) -> PolarsResult<Column> {
    let met = columns[0].bool()?;
    let known = met.null_count() < met.len();
    Ok([known.then(|| of(met))]
        .into_iter()
        .collect::<BooleanChunked>()
        .into_column())
}

pub(super) fn product(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let known = numbers.null_count() < numbers.len();
    Ok([known.then(|| numbers.iter().flatten().product())]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// `arg_max` (`greatest`) or `arg_min`: the first argument where the second is extreme, of the rows
/// in which both are known.
pub(super) fn at_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let known = columns[0].is_not_null() & columns[1].is_not_null();
    let (values, by) = (columns[0].filter(&known)?, columns[1].filter(&known)?);
    let order = SortOptions {
        descending: greatest,
        maintain_order: true,
        ..SortOptions::default()
    };
    match sortable(&by)?
        .as_materialized_series()
        .arg_sort(order)
        .iter()
        .next()
        .flatten()
    {
        Some(row) => Ok(values.slice(i64::from(row), 1)),
        None => Ok(Column::full_null(PlSmallStr::EMPTY, 1, columns[0].dtype())),
    }
}

pub(super) fn bits(columns: &[Column], of: fn(i64, i64) -> i64) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Int64)?;
    let all = numbers.i64()?.iter().flatten().reduce(of);
    [all]
        .into_iter()
        .collect::<Int64Chunked>()
        .into_column()
        .cast(columns[0].dtype())
}

pub(super) fn geomean(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let known: Vec<f64> = numbers.f64()?.iter().flatten().collect();
    let mean = || (known.iter().map(|number| number.ln()).sum::<f64>() / known.len() as f64).exp();
    Ok([(!known.is_empty()).then(mean)]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// Median of the distances from the median.
pub(super) fn deviation(columns: &[Column]) -> PolarsResult<Column> {
    if let DataType::Decimal(width, scale) = *columns[0].dtype() {
        let physical = columns[0].as_materialized_series().to_physical_repr();
        let digits: Vec<i128> = physical.i128()?.iter().flatten().collect();
        let deviation: Int128Chunked = [median_deviation(digits)].into_iter().collect();
        return Ok(deviation.into_decimal_unchecked(width, scale).into_column());
    }
    let is_time = columns[0].dtype().is_temporal();
    let numbers = if is_time {
        micros(&columns[0])?.into_column()
    } else {
        columns[0].clone()
    }
    .cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let median = numbers.median();
    let deviation = median.and_then(|median| {
        numbers
            .apply_values(|number| (number - median).abs())
            .median()
    });
    let deviation = [deviation]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column();
    if is_time {
        deviation
            .cast(&DataType::Int64)?
            .cast(&DataType::Duration(TimeUnit::Microseconds))
    } else {
        Ok(deviation)
    }
}

/// Entropy in bits of the values that are not null.
pub(super) fn entropy(columns: &[Column]) -> PolarsResult<Column> {
    let known = columns[0].as_materialized_series().drop_nulls();
    let counts = if known.dtype().is_decimal() {
        count_decimals(&known)?.1
    } else {
        let counts = known.value_counts(false, false, "count".into(), false)?;
        counts.column("count")?.as_materialized_series().clone()
    };
    let counts = counts.cast(&DataType::Float64)?;
    let all = known.len() as f64;
    let entropy: f64 = counts
        .f64()?
        .iter()
        .flatten()
        .map(|count| -(count / all) * (count / all).log2())
        .sum();
    Ok([Some(if known.is_empty() { 0.0 } else { entropy })]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}
