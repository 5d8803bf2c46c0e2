//! Limits of the integer types.

use polars::prelude::{DataType, PolarsError};

use super::scan::fault;
use crate::error::Error;

/// Type of a number as it is written.
pub(super) fn type_of(number: i128) -> DataType {
    let fits = |dtype: &DataType| {
        limits(dtype).is_some_and(|(least, most)| (least..=most).contains(&number))
    };
    [DataType::Int32, DataType::Int64]
        .into_iter()
        .find(fits)
        .unwrap_or(DataType::UInt64)
}

/// Smallest and greatest number of an integer type; `None` for other types.
pub(super) fn limits(dtype: &DataType) -> Option<(i128, i128)> {
    Some(match dtype {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Overflow error of a statement, with a hint.
pub(super) fn too_large(what: impl std::fmt::Display) -> PolarsError {
    let error =
        Error::usage("a number of the query does not fit in its type").because(what.to_string());
    fault(&error.hint("compute with fractions: sum(CAST(x AS DOUBLE)), CAST(x AS DOUBLE) * 4"))
}
