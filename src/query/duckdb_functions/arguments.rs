//! Arguments of DuckDB's functions as constants and as integers.

use polars::prelude::*;

use crate::query::engine_errors::refusal;
use crate::query::nested_values::{broadcast_row, row_count};

/// The first value of a column that has one value in all rows; `None` for no rows.
pub(super) fn of_all_rows(column: &Column, at: usize) -> PolarsResult<Option<AnyValue<'static>>> {
    if column.is_empty() {
        return Ok(None);
    }
    if column.len() > 1 && column.as_materialized_series().n_unique()? > 1 {
        return Err(refusal(format!(
            "argument {} is the same in all rows; write the value itself",
            at + 1
        )));
    }
    Ok(Some(column.get(0)?.into_static()))
}

/// A constant text argument; empty when there are no rows.
pub(super) fn text_of(columns: &[Column], at: usize) -> PolarsResult<String> {
    match of_all_rows(&columns[at], at)? {
        None => Ok(String::new()),
        Some(value) => value
            .get_str()
            .map(str::to_owned)
            .ok_or_else(|| refusal(format!("argument {} is a text", at + 1))),
    }
}

/// A constant non-negative integer argument; 0 when there are no rows.
pub(super) fn number_of(columns: &[Column], at: usize) -> PolarsResult<usize> {
    match of_all_rows(&columns[at].cast(&DataType::Int64)?, at)? {
        None => Ok(0),
        Some(value) => {
            let number = value
                .extract::<i64>()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| refusal(format!("argument {} is a whole number", at + 1)))
        }
    }
}

/// Integer argument at `row`; a column of one row is broadcast.
pub(super) fn whole_at(column: &Int64Chunked, row: usize) -> Option<i64> {
    column.get(broadcast_row(column.len(), row))
}

/// The arguments as integers, and the number of rows.
pub(super) fn all_whole(columns: &[Column]) -> PolarsResult<(Vec<Int64Chunked>, usize)> {
    let whole = |column: &Column| Ok(column.cast(&DataType::Int64)?.i64()?.clone());
    Ok((
        columns.iter().map(whole).collect::<PolarsResult<_>>()?,
        row_count(columns),
    ))
}
