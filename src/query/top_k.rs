//! ORDER BY … LIMIT k without sorting the level: one pass over the sort key finds the k-th value,
//! and only rows up to it are read. Plans of other shapes are returned unchanged.

use std::cmp::Ordering;
use std::sync::Arc;

use polars::prelude::*;
use rayon::prelude::*;

use super::engine_errors::refusal;
use super::partial_aggregation::{is_by_row, replace_scan, source};
use super::scan::LevelScan;

/// Minimum number of row groups for which this pays.
const LEAST_GROUPS: usize = 4;

/// Pays only while k is at most 1/16 of the rows.
const MANY: usize = 16;

const KEY: &str = "__sorted";

/// The plan with a filter below each supported sort. Call just before collecting: this reads the
/// key column.
pub(super) fn add_top_k_filters(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    rewrite_plan(frame.logical_plan, None).map(LazyFrame::from)
}

/// `most`: number of leading rows of this plan that are used; `None` for all.
fn rewrite_plan(plan: DslPlan, most: Option<usize>) -> PolarsResult<DslPlan> {
    let below =
        |input: Arc<DslPlan>, most| rewrite_plan(Arc::unwrap_or_clone(input), most).map(Arc::new);
    Ok(match plan {
        DslPlan::Slice { offset, len, input } => {
            let wanted = most.map_or(len as usize, |most| most.min(len as usize));
            let most = usize::try_from(offset)
                .ok()
                .and_then(|offset| offset.checked_add(wanted));
            DslPlan::Slice {
                offset,
                len,
                input: below(input, most)?,
            }
        }
        DslPlan::Select {
            expr,
            input,
            options,
        } if expr.iter().all(is_by_row) => DslPlan::Select {
            expr,
            input: below(input, most)?,
            options,
        },
        DslPlan::HStack {
            exprs,
            input,
            options,
        } if exprs.iter().all(is_by_row) => DslPlan::HStack {
            exprs,
            input: below(input, most)?,
            options,
        },
        DslPlan::Sort {
            by_column,
            slice: None,
            sort_options,
            input,
        } => {
            let input = match (most, by_column.first()) {
                (Some(most), Some(key)) => {
                    let option = |of: &[bool]| of.first().copied().unwrap_or(false);
                    let (descending, nulls_last) = (
                        option(&sort_options.descending),
                        option(&sort_options.nulls_last),
                    );
                    match bound(&input, key, descending, nulls_last, most)? {
                        Some(predicate) => Arc::new(DslPlan::Filter { predicate, input }),
                        None => input,
                    }
                }
                _ => input,
            };
            DslPlan::Sort {
                by_column,
                slice: None,
                sort_options,
                input,
            }
        }
        DslPlan::IR { dsl, .. } => rewrite_plan(Arc::unwrap_or_clone(dsl), most)?,
        other => other,
    })
}

/// A condition that the first `most` rows in the order of `key` satisfy; `None` when the shape is
/// not supported or it would not pay.
fn bound(
    input: &DslPlan,
    key: &Expr,
    descending: bool,
    nulls_last: bool,
    most: usize,
) -> PolarsResult<Option<Expr>> {
    let Some(scan) = source(input).filter(|scan| scan.group_count() >= LEAST_GROUPS) else {
        return Ok(None);
    };
    let rows: usize = (0..scan.group_count())
        .map(|group| scan.group_rows(group))
        .sum();
    if most == 0 || most > rows / MANY || !is_by_row(key) {
        return Ok(None);
    }
    let dtype = key
        .to_field(LazyFrame::from(input.clone()).collect_schema()?.as_ref())?
        .dtype()
        .clone();
    if !(dtype.is_primitive_numeric() || dtype.is_temporal() || dtype == DataType::String) {
        return Ok(None);
    }
    let groups = (0..scan.group_count()).into_par_iter();
    let found = groups
        .map(|group| best_of_group(input, scan, group, key, descending, most))
        .collect::<PolarsResult<Vec<_>>>()?;
    let nulls: usize = found.iter().map(|(_, nulls)| nulls).sum();
    let is_null = key.clone().is_null();
    if !nulls_last && nulls >= most {
        return Ok(Some(is_null));
    }
    let mut all: Option<Series> = None;
    for (part, _) in found {
        match &mut all {
            Some(all) => {
                all.append(&part)?;
            }
            None => all = Some(part),
        }
    }
    let Some(all) = all else { return Ok(None) };
    let wanted = if nulls_last { most } else { most - nulls };
    if all.len() < wanted {
        return Ok(None);
    }
    let best = find_best_rows(&all.rechunk(), descending, wanted)?;
    let Some(last) = best.last() else {
        return Ok(None);
    };
    let value = all.rechunk().get(*last as usize)?.into_static();
    let value = lit(Scalar::new(dtype, value));
    let within = if descending {
        key.clone().gt_eq(value)
    } else {
        key.clone().lt_eq(value)
    };
    Ok(Some(if nulls_last || nulls == 0 {
        within
    } else {
        within.or(is_null)
    }))
}

/// The first `most` keys of one row group, unordered except that the last comes last, and the
/// number of null keys.
fn best_of_group(
    input: &DslPlan,
    scan: &LevelScan,
    group: usize,
    key: &Expr,
    descending: bool,
    most: usize,
) -> PolarsResult<(Series, usize)> {
    let keys = LazyFrame::from(replace_scan(input, &scan.one_group(group))?)
        .select([key.clone().alias(KEY)])
        .collect()?;
    let keys = keys.column(KEY)?.as_materialized_series().rechunk();
    let first = keys.take_slice(&find_best_rows(&keys, descending, most)?)?;
    Ok((first, keys.null_count()))
}

/// Row numbers of the `most` first values, with the last of them at the end. Nulls are excluded.
fn find_best_rows(keys: &Series, descending: bool, most: usize) -> PolarsResult<Vec<IdxSize>> {
    let physical = keys.to_physical_repr();
    macro_rules! numbers {
        ($values:expr) => {
            select_best($values.iter(), descending, most)
        };
    }
    Ok(match physical.dtype() {
        DataType::Int8 => numbers!(physical.i8()?),
        DataType::Int16 => numbers!(physical.i16()?),
        DataType::Int32 => numbers!(physical.i32()?),
        DataType::Int64 => numbers!(physical.i64()?),
        DataType::UInt8 => numbers!(physical.u8()?),
        DataType::UInt16 => numbers!(physical.u16()?),
        DataType::UInt32 => numbers!(physical.u32()?),
        DataType::UInt64 => numbers!(physical.u64()?),
        DataType::Float32 => numbers!(physical.f32()?),
        DataType::Float64 => numbers!(physical.f64()?),
        DataType::String => numbers!(physical.str()?),
        other => {
            return Err(refusal(format!(
                "values of type {other} have no order here"
            )));
        }
    })
}

fn select_best<T: PartialOrd + Copy>(
    values: impl Iterator<Item = Option<T>>,
    descending: bool,
    most: usize,
) -> Vec<IdxSize> {
    let mut known: Vec<(T, IdxSize)> = values
        .enumerate()
        .filter_map(|(row, value)| value.map(|value| (value, row as IdxSize)))
        .collect();
    let wanted = most.min(known.len());
    if let Some(last) = wanted.checked_sub(1) {
        known.select_nth_unstable_by(last, |a, b| compare_numbers(&a.0, &b.0, descending));
    }
    known.truncate(wanted);
    known.into_iter().map(|(_, row)| row).collect()
}

/// As in the engine, NaN (the only value without an order to itself) is above every number.
fn compare_numbers<T: PartialOrd>(a: &T, b: &T, descending: bool) -> Ordering {
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    let order = a
        .partial_cmp(b)
        .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)));
    if descending {
        Ordering::reverse(order)
    } else {
        order
    }
}
