//! Bins of histograms: their upper bounds at equal distances, and the bin of the values beyond the
//! last one.

use std::cell::Cell;

use polars::prelude::*;

use super::{ScalarFunction, of_doubles, of_wholes, scalar, truth, truths_column};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{ListsBuilder, common_type, order_keys};
use crate::query::whole_numbers::limits;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("equi_width_bins", (4, 4), bins_type, equi_width_bins),
    scalar("is_histogram_other_bin", (1, 1), truth, is_other_bin),
];

/// Most bins of a list.
const BINS_MAX: i64 = 1 << 20;

/// Most bounds of the lists of all rows.
const BOUNDS_MAX: usize = 1 << 24;

/// Distances and bounds of integers are computed in thousandths.
const PARTS: i128 = 1000;

/// The bin of the values that are in no other one, as a column of one row; `None` for types that
/// have none.
pub(in crate::query) fn other_bin(dtype: &DataType) -> Option<PolarsResult<Series>> {
    let value = match (dtype, limits(dtype)) {
        (_, Some((_, most))) => AnyValue::Int128(most),
        (DataType::Float32 | DataType::Float64, _) => AnyValue::Float64(f64::INFINITY),
        (DataType::String, _) => AnyValue::String(""),
        _ => return None,
    };
    let series = Series::from_any_values_and_dtype(PlSmallStr::EMPTY, &[value], dtype, true);
    Some(series)
}

fn is_other_bin(columns: &[Column]) -> PolarsResult<Column> {
    let values = &columns[0];
    let dtype = values.dtype().clone();
    let keys = order_keys(values, &dtype)?;
    let other = match other_bin(&dtype) {
        Some(other) => Some(order_keys(&other?.into_column(), &dtype)?),
        None => None,
    };
    let other = other.as_ref().and_then(|other| other.get(0));
    let is_other = |key: Option<&[u8]>| key.map(|key| Some(key) == other);
    Ok(truths_column(keys.iter().map(is_other).collect()))
}

/// Lists of the type of the upper end; of decimal numbers they are DOUBLE.
fn bins_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    let most = common_type(dtypes.get(1..2).unwrap_or_default())?;
    let item = match most {
        DataType::Decimal(..) => DataType::Float64,
        DataType::Null => DataType::Int32,
        other if other.is_integer() || other.is_float() => other,
        _ => {
            let error = "equi_width_bins takes numbers; times have time_bucket(INTERVAL 1 MONTH, \
                date)";
            return Err(refusal(error));
        }
    };
    Ok(DataType::List(Box::new(item)))
}

fn equi_width_bins(columns: &[Column]) -> PolarsResult<Column> {
    let dtypes: Vec<DataType> = columns
        .iter()
        .map(|column| column.dtype().clone())
        .collect();
    let dtype = bins_type(&dtypes)?;
    let made = Cell::new(0);
    if dtypes[..2].iter().all(DataType::is_integer) {
        for end in &columns[..2] {
            let fits = end.as_materialized_series().strict_cast(&DataType::Int64);
            if fits.is_err() {
                return Err(refusal("an end of equi_width_bins does not fit in BIGINT"));
            }
        }
        let bounds = of_wholes(columns, |[least, most, count, is_round]| {
            check_bins(least > most, count)?;
            let bounds = divide_wholes(least.into(), most.into(), count, is_round != 0)?;
            count_bounds(&made, bounds.len())?;
            Ok(Some(bounds))
        })?;
        return lists_of_rows(bounds, &dtype);
    }
    let bounds = of_doubles(columns, |[least, most, count, is_round]| {
        if !(least.is_finite() && most.is_finite()) {
            return Err(refusal("equi_width_bins takes numbers that are finite"));
        }
        check_bins(least > most, count as i64)?;
        let bounds = divide_fractions(least, most, count as i64, is_round != 0.0)?;
        count_bounds(&made, bounds.len())?;
        Ok(Some(bounds))
    })?;
    lists_of_rows(bounds, &dtype)
}

/// Adds to the bounds of the rows before, which have a limit together.
fn count_bounds(made: &Cell<usize>, more: usize) -> PolarsResult<()> {
    made.set(made.get() + more);
    if made.get() <= BOUNDS_MAX {
        Ok(())
    } else {
        let error = format!("equi_width_bins makes at most {BOUNDS_MAX} bounds for all rows");
        Err(refusal(error))
    }
}

fn check_bins(is_reversed: bool, count: i64) -> PolarsResult<()> {
    if is_reversed {
        return Err(refusal("equi_width_bins takes the lower end first"));
    }
    if (1..=BINS_MAX).contains(&count) {
        Ok(())
    } else {
        let error = format!("equi_width_bins makes 1 to {BINS_MAX} bins");
        Err(refusal(error))
    }
}

/// The bounds of each row, which are in descending order, as lists in ascending order of this type.
fn lists_of_rows<T>(rows: Vec<Option<Vec<T>>>, dtype: &DataType) -> PolarsResult<Column>
where
    Series: NamedFrom<Vec<T>, [T]>,
    T: Copy,
{
    let mut elements: Vec<T> = Vec::new();
    let mut builder = ListsBuilder::default();
    for row in rows {
        match row {
            Some(bounds) => {
                let start = elements.len();
                elements.extend(bounds.into_iter().rev());
                builder.push((start..elements.len()).map(Some));
            }
            None => builder.push_null(),
        }
    }
    let mut elements = Series::new(PlSmallStr::EMPTY, elements);
    if let DataType::List(item) = dtype {
        let fitting = elements.strict_cast(item);
        elements = fitting.map_err(|_| {
            refusal("a bound of equi_width_bins does not fit in the type of the upper end: cast it")
        })?;
    }
    Ok(builder.finish(&elements)?.into_column())
}

/// The bounds of bins of integers, in descending order. Round ones are multiples of 2 or 5 times a
/// power of ten; there may be twice as many as were asked for.
fn divide_wholes(least: i128, most: i128, count: i64, is_round: bool) -> PolarsResult<Vec<i64>> {
    if least == most {
        return Ok(vec![most as i64]);
    }
    let (start, mut end) = (least * PARTS, most * PARTS);
    let mut step = ((end - start) / i128::from(count)).max(1);
    let mut bins_max = count as usize;
    if is_round {
        step = round_whole_step(step);
        end = (end + (step - 1)) / step * step;
        bins_max *= 2;
    }
    let mut bounds: Vec<i64> = Vec::new();
    while end > start {
        let bound = i64::try_from(end / PARTS)
            .map_err(|_| refusal("a bound of equi_width_bins does not fit in BIGINT"))?;
        end -= step;
        let is_first = bounds.is_empty();
        if !is_first && (i128::from(bound) < least || bounds.len() >= bins_max) {
            break;
        }
        if bounds.last() != Some(&bound) {
            bounds.push(bound);
        }
    }
    Ok(bounds)
}

/// The multiple of 2 or of 5 times a power of ten that is nearest to the step.
fn round_whole_step(step: i128) -> i128 {
    let mut power = 1;
    while power < step {
        power *= 10;
    }
    let power = (power / 10).max(1);
    let twos = power * if power * 3 <= step { 10 } else { 2 };
    let fives = power * if power * 2 <= step { 5 } else { 1 };
    let [by_twos, by_fives] = [twos, fives].map(|unit| (step + unit / 2) / unit * unit);
    let is_nearer = (step - by_twos).abs() < (step - by_fives).abs();
    if is_nearer { by_twos } else { by_fives }.max(1)
}

/// As [`divide_wholes`], of fractions.
fn divide_fractions(least: f64, most: f64, count: i64, is_round: bool) -> PolarsResult<Vec<f64>> {
    if least == most {
        return Ok(vec![most]);
    }
    let bins = count as f64;
    let mut step = (most - least) / bins;
    if !step.is_finite() {
        step = most / bins - least / bins;
    }
    let (mut end, mut bins_max) = (most, count as usize);
    let scale = 10.0 / power_below(step);
    if is_round {
        if !scale.is_normal() {
            return Err(refusal("the ends of equi_width_bins are too far apart"));
        }
        step = round_fractional_step(step);
        end = round_up(most, step);
        bins_max *= 2;
    }
    let mut bounds: Vec<f64> = Vec::new();
    while end > least {
        let bound = if is_round {
            (end * scale).round() / scale
        } else {
            end
        };
        let next = end - step;
        if next >= end {
            return Err(refusal(
                "the ends of equi_width_bins are too near each other",
            ));
        }
        end = next;
        if bounds.last() == Some(&bound) {
            continue;
        }
        if bound <= least || bounds.len() >= bins_max {
            break;
        }
        bounds.push(bound);
    }
    Ok(bounds)
}

/// A power of ten that is less than the number, or equal to it if it is below 1.
fn power_below(number: f64) -> f64 {
    let mut power = 1.0;
    if number < 1.0 {
        while power > number && power > f64::MIN_POSITIVE {
            power /= 10.0;
        }
        return power;
    }
    while power < number {
        power *= 10.0;
    }
    power / 10.0
}

fn round_fractional_step(step: f64) -> f64 {
    let power = power_below(step);
    let twos = power * if power * 3.0 <= step { 10.0 } else { 2.0 };
    let fives = power * if power * 2.0 <= step { 5.0 } else { 1.0 };
    let [by_twos, by_fives] = [twos, fives].map(|unit| {
        let rounded = (step / unit).round() * unit;
        if rounded.is_finite() { rounded } else { step }
    });
    if (step - by_twos).abs() < (step - by_fives).abs() {
        by_twos
    } else {
        by_fives
    }
}

/// The multiple of the step that is not below the number.
fn round_up(number: f64, step: f64) -> f64 {
    let rounded = (number / step).ceil() * step;
    if rounded.is_finite() { rounded } else { number }
}
