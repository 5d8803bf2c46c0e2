//! Functions of numbers, and ranges of them.

use std::ops::Neg;

use polars::prelude::*;

use super::arguments::{all_whole, whole_at};
use crate::query::engine_errors::refusal;

pub(super) fn truths(columns: &[Column], of: fn(f64) -> bool) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    Ok(numbers
        .f64()?
        .iter()
        .map(|number| number.map(of))
        .collect::<BooleanChunked>()
        .into_column())
}

/// Integers from a start, 0 when absent, to an end in steps; `closed` includes the end.
pub(super) fn ranges(columns: &[Column], closed: bool) -> PolarsResult<Column> {
    const LONGEST: i64 = 1_000_000;
    if columns.iter().any(|column| column.dtype().is_temporal()) {
        return Err(refusal(
            "a series of times has an interval as its step: generate_series(a, b, INTERVAL 1 DAY)",
        ));
    }
    let (parts, rows) = all_whole(columns)?;
    let mut lists: Vec<Option<Series>> = Vec::with_capacity(rows);
    for row in 0..rows {
        let part = |at: usize| parts.get(at).map_or(Some(1), |part| whole_at(part, row));
        let (start, end) = if parts.len() == 1 {
            (Some(0), part(0))
        } else {
            (part(0), part(1))
        };
        let (Some(start), Some(end), Some(step)) = (start, end, part(2)) else {
            lists.push(None);
            continue;
        };
        if step == 0 {
            return Err(refusal("a range has steps that are not 0"));
        }
        let wide = (i128::from(end) - i128::from(start)) / i128::from(step);
        if wide.saturating_mul(rows as i128) > i128::from(LONGEST) {
            return Err(refusal(format!(
                "the ranges have more than {LONGEST} numbers"
            )));
        }
        let numbers: Vec<i64> =
            std::iter::successors(Some(start), |number| number.checked_add(step))
                .take_while(|number| is_before_end(*number, end, step > 0, closed))
                .collect();
        lists.push(Some(Series::new(PlSmallStr::EMPTY, numbers)));
    }
    Ok(ListChunked::from_iter(lists)
        .into_series()
        .cast(&DataType::List(Box::new(DataType::Int64)))?
        .into_column())
}

/// True for a number of a range that ascends or descends to `end`, or with `closed` includes it.
fn is_before_end(number: i64, end: i64, ascends: bool, closed: bool) -> bool {
    match (ascends, closed) {
        (true, true) => number <= end,
        (true, false) => number < end,
        (false, true) => number >= end,
        (false, false) => number > end,
    }
}

/// A number with the other sign.
pub(super) fn negative(columns: &[Column]) -> PolarsResult<Column> {
    let number = &columns[0];
    match number.dtype() {
        DataType::Float32 => Ok(number.f32()?.apply_values(f32::neg).into_column()),
        DataType::Float64 => Ok(number.f64()?.apply_values(f64::neg).into_column()),
        _ => &Column::new(PlSmallStr::EMPTY, [0_i32]) - number,
    }
}

/// The next even number away from zero.
pub(super) fn even(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    Ok(numbers.f64()?.apply_values(next_even).into_column())
}

fn next_even(number: f64) -> f64 {
    let up = number.abs().ceil();
    let up = if up % 2.0 == 0.0 { up } else { up + 1.0 };
    up.copysign(number)
}

pub(super) fn factorial(columns: &[Column]) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| whole_at(&numbers[0], row).map(multiply_up_to).transpose())
        .collect::<PolarsResult<Int64Chunked>>()?
        .into_column())
}

/// The product of the numbers from 1 to `number`.
fn multiply_up_to(number: i64) -> PolarsResult<i64> {
    (1..=number.min(21))
        .try_fold(1i64, i64::checked_mul)
        .filter(|_| number >= 0)
        .ok_or_else(|| refusal(format!("the factorial of {number} has more than 64 bits")))
}

/// A function of two integers.
pub(super) fn of_wholes(
    columns: &[Column],
    of: fn(i64, i64) -> Option<i64>,
) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        let pair = whole_at(&numbers[0], row).zip(whole_at(&numbers[1], row));
        results.push(match pair {
            Some((one, other)) => {
                Some(of(one, other).ok_or_else(|| refusal("the result has more than 64 bits"))?)
            }
            None => None,
        });
    }
    Ok(Int64Chunked::from_iter(results).into_column())
}

/// Greatest common divisor.
pub(super) fn divisor(one: i64, other: i64) -> i64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one.wrapping_rem(other));
    }
    one.saturating_abs()
}

pub(super) fn multiple(one: i64, other: i64) -> Option<i64> {
    if one == 0 || other == 0 {
        return Some(0);
    }
    one.checked_div(divisor(one, other))?
        .checked_mul(other)?
        .checked_abs()
}
