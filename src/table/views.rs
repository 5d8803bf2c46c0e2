//! Arrow types for decoding a Parquet file: the stored ones, or strings as views or dictionary
//! arrays (no copy).

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use super::parquet_slice::{catch_panics, parquet_read_error};

/// Metadata for reading a file with other column types; `None` when the decoder does not support
/// them.
pub(super) fn override_column_types(
    stored: &ArrowReaderMetadata,
    of: impl Fn(&FieldRef) -> FieldRef,
) -> Option<ArrowReaderMetadata> {
    let schema = Arc::new(Schema::new(
        stored.schema().fields().iter().map(of).collect::<Vec<_>>(),
    ));
    let options = ArrowReaderOptions::new().with_schema(schema);
    let read = catch_panics("choosing how to read columns", || {
        ArrowReaderMetadata::try_new(stored.metadata().clone(), options)
            .map_err(|error| parquet_read_error(&error))
    });
    read.ok()
}

/// Strings of top-level columns as dictionary arrays.
pub(super) fn in_dictionary(field: &FieldRef) -> FieldRef {
    let dtype = match field.data_type() {
        DataType::Utf8View => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        _ => return field.clone(),
    };
    Arc::new(Field::new(field.name(), dtype, field.is_nullable()))
}

/// Strings and binary of top-level columns as views.
pub(super) fn to_view_field(field: &FieldRef) -> FieldRef {
    match plain_view(field.data_type()) {
        Some(dtype) => Arc::new(Field::new(field.name(), dtype, field.is_nullable())),
        None => field.clone(),
    }
}

/// Strings and binary at any depth as views.
pub(super) fn viewed_within(field: &FieldRef) -> FieldRef {
    let dtype = match field.data_type() {
        DataType::List(item) => DataType::List(viewed_within(item)),
        DataType::LargeList(item) => DataType::LargeList(viewed_within(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(viewed_within(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(viewed_within).collect()),
        DataType::Map(entries, sorted) => DataType::Map(viewed_within(entries), *sorted),
        plain => plain_view(plain).unwrap_or_else(|| plain.clone()),
    };
    Arc::new(field.as_ref().clone().with_data_type(dtype))
}

fn plain_view(dtype: &DataType) -> Option<DataType> {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        _ => None,
    }
}
