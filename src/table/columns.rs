//! Converts between values and Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, RecordBatch,
    StringBuilder, UInt32Array, new_null_array,
};
use arrow::datatypes::*;

use crate::error::{Error, Result};
use crate::model::{FieldSpec, Value, dtype_name};

macro_rules! with_integer_type {
    ($dtype:expr, $run:ident, $other:expr) => {
        match $dtype {
            DataType::Int8 => $run!(Int8Type),
            DataType::Int16 => $run!(Int16Type),
            DataType::Int32 => $run!(Int32Type),
            DataType::Int64 => $run!(Int64Type),
            DataType::UInt8 => $run!(UInt8Type),
            DataType::UInt16 => $run!(UInt16Type),
            DataType::UInt32 => $run!(UInt32Type),
            DataType::UInt64 => $run!(UInt64Type),
            DataType::Date32 => $run!(Date32Type),
            DataType::Date64 => $run!(Date64Type),
            DataType::Time32(TimeUnit::Second) => $run!(Time32SecondType),
            DataType::Time32(TimeUnit::Millisecond) => $run!(Time32MillisecondType),
            DataType::Time64(TimeUnit::Microsecond) => $run!(Time64MicrosecondType),
            DataType::Time64(TimeUnit::Nanosecond) => $run!(Time64NanosecondType),
            DataType::Duration(TimeUnit::Second) => $run!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => $run!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => $run!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => $run!(DurationNanosecondType),
            DataType::Timestamp(TimeUnit::Second, _) => $run!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => $run!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $run!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $run!(TimestampNanosecondType),
            _ => $other,
        }
    };
}

/// The value at `row` of `array`.
pub fn value_at(array: &ArrayRef, row: usize) -> Value {
    if row >= array.len() || array.is_null(row) || array.data_type() == &DataType::Null {
        return Value::Null;
    }
    macro_rules! integer {
        ($kind:ty) => {{
            let native = array.as_primitive::<$kind>().value(row);
            match i64::try_from(native) {
                Ok(number) => Value::Int(number),
                #[allow(
                    clippy::unnecessary_cast,
                    reason = "only a UInt64 is too large for i64; other types need the cast"
                )]
                Err(_) => Value::UInt(native as u64),
            }
        }};
    }
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float32 => {
            Value::Float(f64::from(array.as_primitive::<Float32Type>().value(row)))
        }
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).into()),
        DataType::List(item) if is_list_item_type(item.data_type()) => {
            let items = array.as_list::<i32>().value(row);
            Value::List((0..items.len()).map(|i| value_at(&items, i)).collect())
        }
        other => with_integer_type!(other, integer, Value::Other(array.slice(row, 1))),
    }
}

/// True for the types of items of which lists become [`Value::List`]; lists of other types become
/// [`Value::Other`].
fn is_list_item_type(dtype: &DataType) -> bool {
    match dtype {
        DataType::Null
        | DataType::Boolean
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Binary => true,
        DataType::List(item) => is_list_item_type(item.data_type()),
        DataType::UInt64 => true,
        other => {
            other.is_integer() || matches!(other, DataType::Date32 | DataType::Timestamp(_, _))
        }
    }
}

/// An array of the field's type from one value per row.
///
/// # Errors
/// [`crate::error::Kind::Invalid`], with the row, when a value does not fit the type.
pub fn array_of<'a>(
    field: &FieldSpec,
    values: impl ExactSizeIterator<Item = &'a Value>,
) -> Result<ArrayRef> {
    build_array(&field.dtype, values).map_err(|Misfit { row, value }| {
        Error::invalid(format!(
            "{value:?} in row {row} does not fit {} of {}",
            dtype_name(&field.dtype),
            field.name
        ))
        .hint("change the value, or the type of the field")
    })
}

/// A value that does not fit the type of its column.
struct Misfit {
    row: usize,
    value: Value,
}

impl Misfit {
    fn new(row: usize, value: &Value) -> Self {
        Self {
            row,
            value: value.clone(),
        }
    }
}

fn build_array<'a>(
    dtype: &DataType,
    values: impl ExactSizeIterator<Item = &'a Value>,
) -> Result<ArrayRef, Misfit> {
    let rows = values.len();
    macro_rules! append_each {
        ($builder:expr, $($pattern:pat => $native:expr),+) => {{
            let mut builder = $builder;
            for (row, value) in values.enumerate() {
                match value {
                    Value::Null => builder.append_null(),
                    $($pattern => match $native {
                        Some(native) => builder.append_value(native),
                        None => return Err(Misfit::new(row, value)),
                    },)+
                    _ => return Err(Misfit::new(row, value)),
                }
            }
            Ok(Arc::new(builder.finish()) as ArrayRef)
        }};
    }
    macro_rules! integer {
        ($kind:ty) => {
            append_each!(
                PrimitiveBuilder::<$kind>::with_capacity(rows).with_data_type(dtype.clone()),
                Value::Int(v) => (*v).try_into().ok(), Value::UInt(v) => (*v).try_into().ok())
        };
    }
    match dtype {
        DataType::Null => Ok(new_null_array(&DataType::Null, rows)),
        DataType::Boolean => {
            append_each!(BooleanBuilder::with_capacity(rows), Value::Bool(v) => Some(*v))
        }
        DataType::Float32 => append_each!(PrimitiveBuilder::<Float32Type>::with_capacity(rows),
            Value::Float(v) => Some(*v as f32), Value::Int(v) => Some(*v as f32)),
        DataType::Float64 => append_each!(PrimitiveBuilder::<Float64Type>::with_capacity(rows),
            Value::Float(v) => Some(*v), Value::Int(v) => Some(*v as f64)),
        DataType::Utf8 => append_each!(StringBuilder::new(), Value::Text(v) => Some(v)),
        DataType::Binary => append_each!(BinaryBuilder::new(), Value::Bytes(v) => Some(v)),
        DataType::List(item) if is_list_item_type(item.data_type()) => {
            let mut flat: Vec<&Value> = Vec::new();
            let mut lengths = Vec::with_capacity(rows);
            let mut valid = Vec::with_capacity(rows);
            for (row, value) in values.enumerate() {
                match value {
                    Value::Null => lengths.push(0),
                    Value::List(items) => {
                        lengths.push(items.len());
                        flat.extend(items.iter());
                    }
                    _ => return Err(Misfit::new(row, value)),
                }
                valid.push(!value.is_null());
            }
            let items =
                build_array(item.data_type(), flat.into_iter()).map_err(|misfit| Misfit {
                    row: find_row_of_item(&lengths, misfit.row),
                    ..misfit
                })?;
            let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
            let nulls = arrow::buffer::NullBuffer::from(valid);
            Ok(Arc::new(arrow::array::ListArray::new(
                item.clone(),
                offsets,
                items,
                Some(nulls),
            )))
        }
        other => with_integer_type!(other, integer, cast_and_concatenate(dtype, values)),
    }
}

/// The row whose list has the item with this index, counted over all lists.
fn find_row_of_item(lengths: &[usize], item: usize) -> usize {
    let mut end = 0;
    lengths
        .iter()
        .position(|length| {
            end += length;
            item < end
        })
        .unwrap_or_default()
}

/// An array of a type without a builder in [`build_array`]: casts each value to the type, in an
/// array of length 1, and concatenates these.
fn cast_and_concatenate<'a>(
    dtype: &DataType,
    values: impl ExactSizeIterator<Item = &'a Value>,
) -> Result<ArrayRef, Misfit> {
    let null = new_null_array(dtype, 1);
    let mut parts: Vec<ArrayRef> = Vec::with_capacity(values.len());
    for (row, value) in values.enumerate() {
        let part = match value {
            Value::Null => null.clone(),
            Value::Other(array) if array.data_type() == dtype => array.clone(),
            Value::Other(array) => {
                arrow::compute::cast(array, dtype).map_err(|_| Misfit::new(row, value))?
            }
            Value::List(_) => return Err(Misfit::new(row, value)),
            plain => {
                let array = build_array(&infer_type(plain), std::iter::once(plain))
                    .map_err(|_| Misfit::new(row, value))?;
                arrow::compute::cast(&array, dtype).map_err(|_| Misfit::new(row, value))?
            }
        };
        parts.push(part);
    }
    if parts.is_empty() {
        return Ok(arrow::array::new_empty_array(dtype));
    }
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow::compute::concat(&parts).map_err(|_| Misfit::new(0, &Value::Null))
}

/// The type of a column that has only this value (TACO 2.0, section 7.1.1, as the Python tools
/// infer it): int64, double, string, binary, list.
pub fn infer_type(value: &Value) -> DataType {
    match value {
        Value::Null => DataType::Null,
        Value::Bool(_) => DataType::Boolean,
        Value::Int(_) => DataType::Int64,
        Value::UInt(_) => DataType::UInt64,
        Value::Float(_) => DataType::Float64,
        Value::Text(_) => DataType::Utf8,
        Value::Bytes(_) => DataType::Binary,
        Value::List(items) => {
            let item = items
                .iter()
                .find(|item| !item.is_null())
                .map_or(DataType::Null, infer_type);
            DataType::List(Arc::new(Field::new("item", item, true)))
        }
        Value::Other(array) => array.data_type().clone(),
    }
}

/// The rows `rows` of a batch, in this order; the batch itself, which shares its memory, for all of
/// them in their order.
///
/// # Errors
/// [`Kind::Internal`](crate::error::Kind::Internal) for a row that is not there.
pub fn take_rows(batch: &RecordBatch, rows: &[u32]) -> Result<RecordBatch> {
    let is_whole = rows.len() == batch.num_rows()
        && rows.iter().enumerate().all(|(at, &row)| at == row as usize);
    if is_whole {
        return Ok(batch.clone());
    }
    arrow::compute::take_record_batch(batch, &UInt32Array::from(rows.to_vec()))
        .map_err(|error| Error::internal("rows of a table can't be chosen").because(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_round_trip(dtype: DataType, values: &[Value]) {
        let field = FieldSpec::new("f", dtype);
        let array = array_of(&field, values.iter()).expect("fits");
        let read: Vec<Value> = (0..array.len()).map(|row| value_at(&array, row)).collect();
        assert_eq!(read, values, "{}", dtype_name(&field.dtype));
    }

    #[test]
    fn every_kind_of_value_is_read_back_as_it_was() {
        assert_round_trip(DataType::Int16, &[Value::Int(-3), Value::Null]);
        assert_round_trip(DataType::UInt64, &[Value::UInt(u64::MAX), Value::Int(3)]);
        assert_round_trip(
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            &[Value::Int(1_600_000_000_000_000)],
        );
        assert_round_trip(DataType::Date32, &[Value::Int(19_000), Value::Null]);
        let doubles = DataType::List(Arc::new(Field::new("item", DataType::Float64, true)));
        let nested = DataType::List(Arc::new(Field::new("item", doubles.clone(), true)));
        let list = Value::List([Value::Float(1.5), Value::Null].into());
        assert_round_trip(
            doubles,
            &[list.clone(), Value::Null, Value::List([].into())],
        );
        assert_round_trip(nested, &[Value::List([list].into())]);
    }

    #[test]
    fn values_of_other_types_are_read_back_as_arrays() {
        let decimals = arrow::array::Decimal128Array::from(vec![Some(12_345), None])
            .with_precision_and_scale(10, 2)
            .expect("fits");
        let array: ArrayRef = Arc::new(decimals);
        let values = [value_at(&array, 0), value_at(&array, 1)];
        let field = FieldSpec::new("price", array.data_type().clone());
        let again = array_of(&field, values.iter()).expect("fits");
        assert_eq!(again.to_data(), array.to_data());
    }

    #[test]
    fn the_error_names_the_row_of_a_value_that_does_not_fit() {
        let field = FieldSpec::new("clouds", DataType::UInt8);
        let error = array_of(&field, [Value::Int(1), Value::Int(300)].iter())
            .expect_err("300 is too large");
        assert!(error.to_string().contains("row 1"), "{error}");
        let doubles = DataType::List(Arc::new(Field::new("item", DataType::Float64, true)));
        let list = |items: &[Value]| Value::List(items.into());
        let lists = [
            list(&[Value::Float(1.0), Value::Float(2.0)]),
            Value::Null,
            list(&[Value::Text("x".into())]),
        ];
        let error = array_of(&FieldSpec::new("bounds", doubles), lists.iter())
            .expect_err("a text is not a number");
        assert!(error.to_string().contains("row 2"), "{error}");
    }

    #[test]
    fn all_rows_in_their_order_share_the_memory_of_the_batch() {
        let column: ArrayRef = Arc::new(UInt32Array::from(vec![7, 8, 9]));
        let batch = RecordBatch::try_from_iter([("a", column.clone())]).expect("a batch");
        let whole = take_rows(&batch, &[0, 1, 2]).expect("all rows");
        assert!(Arc::ptr_eq(whole.column(0), &column));
        let some = take_rows(&batch, &[2, 0]).expect("two rows");
        assert_eq!(
            some.column(0).as_primitive::<UInt32Type>().values(),
            &[9, 7]
        );
        assert!(take_rows(&batch, &[3]).is_err());
    }
}
