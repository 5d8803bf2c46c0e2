//! `hash()`: the 64-bit numbers of DuckDB 1.4, by which samples are split the same everywhere.

use polars::prelude::*;

use super::{ScalarFunction, scalar};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{ListRanges, broadcast_row, row_count};
use crate::query::type_names::type_name;

pub(super) const FUNCTIONS: &[ScalarFunction] =
    &[scalar("hash", (1, 64), |_| Ok(DataType::UInt64), hash)];

/// The multiplier of the mixing.
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;
/// The hash of null.
const OF_NULL: u64 = 0xbf58_476d_1ce4_e5b9;

fn hash(columns: &[Column]) -> PolarsResult<Column> {
    let hashes = columns
        .iter()
        .map(hashes_of)
        .collect::<PolarsResult<Vec<_>>>()?;
    Ok((0..row_count(columns))
        .map(|row| hash_row(&hashes, row))
        .collect::<UInt64Chunked>()
        .into_column())
}

/// The hash of the values of one row.
fn hash_row(hashes: &[Vec<u64>], row: usize) -> Option<u64> {
    hashes
        .iter()
        .map(|hashes| hashes[broadcast_row(hashes.len(), row)])
        .reduce(combine_hashes)
}

fn hash_list(lists: &ListRanges, elements: &[u64], row: usize) -> Option<u64> {
    let range = lists.row(row)?;
    elements[range].iter().copied().reduce(combine_hashes)
}

/// The values of a column of `dtype` as the numbers that hold them.
fn read_physical_wholes(column: &Column, dtype: &DataType) -> PolarsResult<Vec<Option<i64>>> {
    let numbers = column.cast(dtype)?;
    let numbers = numbers
        .as_materialized_series()
        .to_physical_repr()
        .cast(&DataType::Int64)?;
    Ok(numbers.i64()?.iter().collect())
}

fn hash_single(number: f32) -> u64 {
    let one = if number == 0.0 {
        0.0
    } else if number.is_nan() {
        f32::NAN
    } else {
        number
    };
    of_number(u64::from(one.to_bits()))
}

fn hash_double(number: f64) -> u64 {
    let one = if number == 0.0 {
        0.0
    } else if number.is_nan() {
        f64::NAN
    } else {
        number
    };
    of_number(one.to_bits())
}

/// A hash of two values, whose order matters.
fn combine_hashes(one: u64, other: u64) -> u64 {
    (one ^ (one >> 32)).wrapping_mul(MULTIPLIER) ^ other
}

fn of_number(number: u64) -> u64 {
    let mixed = (number ^ (number >> 32)).wrapping_mul(MULTIPLIER);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(MULTIPLIER);
    mixed ^ (mixed >> 32)
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let begin = 0xe17a_1465 ^ (bytes.len() as u64).wrapping_mul(0xc6a4_a793_5bd1_e995);
    let mixed = bytes.chunks(8).fold(begin, |mixed, chunk| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        (mixed ^ u64::from_le_bytes(eight)).wrapping_mul(MULTIPLIER)
    });
    of_number(mixed)
}

/// The hash of each value. Numbers of at most 32 bits are hashed by their lowest 32 bits, zeros and
/// NaN as one value each.
fn hashes_of(column: &Column) -> PolarsResult<Vec<u64>> {
    let known = |hash: Option<u64>| hash.unwrap_or(OF_NULL);
    let wholes = |dtype: DataType| read_physical_wholes(column, &dtype);
    let narrow =
        |number: Option<i64>| known(number.map(|number| of_number(u64::from(number as u32))));
    let wide = |number: Option<i64>| known(number.map(|number| of_number(number as u64)));
    Ok(match column.dtype() {
        DataType::Null => vec![OF_NULL; column.len()],
        DataType::Int64 => wholes(DataType::Int64)?.into_iter().map(wide).collect(),
        DataType::UInt64 => column
            .u64()?
            .iter()
            .map(|number| known(number.map(of_number)))
            .collect(),
        dtype if dtype.is_integer() || dtype.is_bool() => {
            wholes(DataType::Int64)?.into_iter().map(narrow).collect()
        }
        DataType::Date => wholes(DataType::Date)?.into_iter().map(narrow).collect(),
        DataType::Datetime(..) => wholes(DataType::Datetime(TimeUnit::Microseconds, None))?
            .into_iter()
            .map(wide)
            .collect(),
        DataType::Time => wholes(DataType::Time)?
            .into_iter()
            .map(|nanos| wide(nanos.map(|nanos| nanos / 1000)))
            .collect(),
        DataType::Float32 => column
            .f32()?
            .iter()
            .map(|number| known(number.map(hash_single)))
            .collect(),
        DataType::Float64 => column
            .f64()?
            .iter()
            .map(|number| known(number.map(hash_double)))
            .collect(),
        DataType::Binary => column
            .binary()?
            .iter()
            .map(|bytes| known(bytes.map(of_bytes)))
            .collect(),
        DataType::String | DataType::Categorical(..) | DataType::Enum(..) => {
            let texts = column.cast(&DataType::String)?;
            texts
                .str()?
                .iter()
                .map(|text| known(text.map(|text| of_bytes(text.as_bytes()))))
                .collect()
        }
        DataType::List(_) => {
            let lists = ListRanges::from_column(column)?;
            let elements = hashes_of(&lists.elements.clone().into_column())?;
            (0..lists.len())
                .map(|row| known(hash_list(&lists, &elements, row)))
                .collect()
        }
        DataType::Struct(_) => {
            let fields = column.struct_()?.fields_as_series();
            let fields = fields
                .iter()
                .map(|field| hashes_of(&field.clone().into_column()))
                .collect::<PolarsResult<Vec<_>>>()?;
            let is_known = column.is_not_null();
            let of = |row| hash_row(&fields, row).filter(|_| is_known.get(row) == Some(true));
            (0..column.len()).map(|row| known(of(row))).collect()
        }
        other => {
            return Err(refusal(format!(
                "hash() does not take values of the type {}",
                type_name(other)
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_duckdb() {
        assert_eq!(
            (of_number(1), of_bytes(b"a")),
            (4_717_996_019_076_358_352, 12_561_829_011_207_016_135)
        );
        assert_eq!(of_bytes(b"abcdefghijklmnop"), 282_108_676_135_603_331);
        assert_eq!(
            combine_hashes(of_bytes(b"a"), of_number(1)),
            6_250_315_044_274_023_003
        );
        assert_eq!(
            combine_hashes(OF_NULL, of_number(1)),
            188_980_735_975_220_076
        );
    }
}
