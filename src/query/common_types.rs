//! Common types of the columns of two frames, for set operations.

use polars::prelude::*;

use super::duckdb_arithmetic::{
    apply_duckdb_arithmetic, as_zoned_times, is_of_mixed_signs, narrowing_function,
};
use super::list_functions::elementwise;
use super::nested_values::{cast_to, common_type, is_nested};

/// Both frames with lists and structs of the same types in columns of the same name, as for UNION.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for types that have none in common.
pub(super) fn with_common_types(
    mut left: LazyFrame,
    mut right: LazyFrame,
) -> PolarsResult<(LazyFrame, LazyFrame)> {
    let (mut of_left, mut of_right) = (left.collect_schema()?, right.collect_schema()?);
    // Beside an unsigned number of 64 bits the types of DuckDB count, which are wider and signed
    // for counts and lengths.
    if [&of_left, &of_right]
        .iter()
        .any(|schema| schema.iter_values().any(|dtype| *dtype == DataType::UInt64))
    {
        (of_left, of_right) = (
            apply_duckdb_arithmetic(left.clone())?.collect_schema()?,
            apply_duckdb_arithmetic(right.clone())?.collect_schema()?,
        );
    }
    let (mut casts, mut zoned_times) = (Vec::new(), Vec::new());
    for (name, one) in of_left.iter() {
        // The engine that compares rows has no type for both.
        if of_right
            .get(name)
            .is_some_and(|other| is_of_mixed_signs(&[one.clone(), other.clone()]))
        {
            casts.push(narrowing_function(DataType::Int64).call(vec![col(name.clone())]));
            continue;
        }
        let Some(other) = of_right.get(name).filter(|other| *other != one) else {
            continue;
        };
        // Of two columns of times one has a zone.
        let column = col(name.clone());
        if let Some(zoned) = as_zoned_times(&[&column, &column], &[one.clone(), other.clone()]) {
            zoned_times.push(zoned);
            continue;
        }
        if !is_nested(one) && !is_nested(other) {
            continue;
        }
        let dtype = common_type(&[one.clone(), other.clone()])?;
        let of = dtype.clone();
        let cast = elementwise(
            "cast_to",
            move |_| Ok(of.clone()),
            move |columns| Ok(cast_to(&columns[0], &dtype)?.into_column()),
        );
        casts.push(cast.call(vec![col(name.clone())]));
    }
    for zoned in zoned_times {
        if let [of_left, of_right] = zoned.as_slice() {
            left = left.with_columns([of_left.clone()]);
            right = right.with_columns([of_right.clone()]);
        }
    }
    Ok(if casts.is_empty() {
        (left, right)
    } else {
        (left.with_columns(casts.clone()), right.with_columns(casts))
    })
}
