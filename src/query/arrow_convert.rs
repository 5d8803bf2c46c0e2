//! Converts columns between Arrow arrays (files) and polars arrays (engine). Every file type maps
//! to an engine type; offsets and views are validated. Data is copied unless its buffer has a
//! single owner.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, LargeListArray as Lists,
    ListArray, MapArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    self as files, DataType as FileType, Field as FileField, Schema as FileSchema,
    TimeUnit as FileUnit,
};
use polars::datatypes::{ArrowDataType, ArrowTimeUnit};
use polars::prelude::{
    ArrayFromIter, ArrayRef as EngineArray, ArrowField, BinaryType, BooleanType, DataFrame,
    DataType, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    LargeListArray, PolarsDataType, PolarsResult, Series, StringType, StructType, TimeUnit,
    TimeZone, UInt8Type, UInt16Type, UInt32Type, UInt64Type, polars_err,
};

use super::type_names::name_in_result;

/// Converts `arrays` to an engine column `name`. `dtype` is the file type, used for columns without
/// rows.
pub(super) fn series(name: &str, dtype: &FileType, arrays: Vec<ArrayRef>) -> PolarsResult<Series> {
    let chunks = arrays
        .into_iter()
        .map(engine_array)
        .collect::<PolarsResult<Vec<_>>>()?;
    let chunks = if chunks.is_empty() {
        vec![engine_array(arrow::array::new_empty_array(dtype))?]
    } else {
        chunks
    };
    Series::from_arrow_chunks(name.into(), chunks)
}

/// The Arrow type that a column is cast to before conversion; text and binary become views.
fn engine_type(dtype: &FileType) -> FileType {
    match dtype {
        FileType::Utf8 | FileType::LargeUtf8 | FileType::Utf8View | FileType::Interval(_) => {
            FileType::Utf8View
        }
        FileType::Binary
        | FileType::LargeBinary
        | FileType::BinaryView
        | FileType::FixedSizeBinary(_) => FileType::BinaryView,
        FileType::Dictionary(_, values) => engine_type(values),
        FileType::RunEndEncoded(_, values) => engine_type(values.data_type()),
        FileType::Null => FileType::Boolean,
        FileType::Float16 => FileType::Float32,
        FileType::Decimal32(..) | FileType::Decimal64(..) | FileType::Decimal256(..) => {
            FileType::Float64
        }
        FileType::Date64 => FileType::Date32,
        FileType::Timestamp(FileUnit::Second, zone) => {
            FileType::Timestamp(FileUnit::Millisecond, zone.clone())
        }
        FileType::Time32(_) | FileType::Time64(_) => FileType::Time64(FileUnit::Nanosecond),
        FileType::Duration(FileUnit::Second) => FileType::Duration(FileUnit::Millisecond),
        FileType::List(item)
        | FileType::LargeList(item)
        | FileType::ListView(item)
        | FileType::LargeListView(item)
        | FileType::FixedSizeList(item, _) => convert_list_type(item),
        FileType::Map(entries, _) => convert_list_type(entries),
        FileType::Struct(fields) => {
            let plain = |field: &files::FieldRef| {
                FileField::new(field.name(), engine_type(field.data_type()), true)
            };
            FileType::Struct(fields.iter().map(plain).collect())
        }
        other => other.clone(),
    }
}

fn convert_list_type(item: &FileField) -> FileType {
    FileType::LargeList(Arc::new(FileField::new(
        "item",
        engine_type(item.data_type()),
        true,
    )))
}

/// A name of the time zone database as it is; UTC for an offset such as `+05:30` and other names,
/// which the engine refuses. The numbers count in UTC whatever the zone is.
fn engine_zone(zone: &str) -> &str {
    match zone {
        "utc" | "Etc/UTC" => "UTC",
        named if TimeZone::validate_time_zone(named).is_ok() => named,
        _ => "UTC",
    }
}

fn engine_array(array: ArrayRef) -> PolarsResult<EngineArray> {
    let failed = |error: arrow::error::ArrowError| polars_err!(ComputeError: "{error}");
    let wanted = engine_type(array.data_type());
    if let Some(map) = array.as_any().downcast_ref::<MapArray>() {
        let entries: ArrayRef = Arc::new(map.entries().clone());
        let offsets: Vec<i64> = map
            .offsets()
            .iter()
            .map(|offset| i64::from(*offset))
            .collect();
        return list(offsets, engine_array(entries)?, &array);
    }
    if matches!(array.data_type(), FileType::Interval(_)) {
        return engine_array(
            cast(
                &cast(&array, &FileType::Utf8).map_err(failed)?,
                &FileType::Utf8View,
            )
            .map_err(failed)?,
        );
    }
    // Lists and structs are converted per child, since a cast may not support their children.
    match array.data_type() {
        FileType::Struct(_) => return structure(array.as_struct()),
        FileType::List(_) => {
            let offsets = array
                .as_list::<i32>()
                .offsets()
                .iter()
                .map(|offset| i64::from(*offset))
                .collect();
            return list(
                offsets,
                engine_array(array.as_list::<i32>().values().clone())?,
                &array,
            );
        }
        FileType::LargeList(_) => {
            let lists: &Lists = array.as_list();
            return list(
                lists.offsets().to_vec(),
                engine_array(lists.values().clone())?,
                &array,
            );
        }
        FileType::ListView(item) | FileType::LargeListView(item) => {
            let lists = FileType::LargeList(item.clone());
            return engine_array(cast(&array, &lists).map_err(failed)?);
        }
        FileType::FixedSizeList(_, size) => {
            let size = i64::from(*size);
            let offsets = (0..=array.len() as i64).map(|row| row * size).collect();
            return list(
                offsets,
                engine_array(array.as_fixed_size_list().values().clone())?,
                &array,
            );
        }
        _ => {}
    }
    flat(if *array.data_type() == wanted {
        array
    } else {
        cast(&array, &wanted).map_err(failed)?
    })
}

fn convert_file_unit(unit: &FileUnit) -> ArrowTimeUnit {
    match unit {
        FileUnit::Second => ArrowTimeUnit::Second,
        FileUnit::Millisecond => ArrowTimeUnit::Millisecond,
        FileUnit::Microsecond => ArrowTimeUnit::Microsecond,
        FileUnit::Nanosecond => ArrowTimeUnit::Nanosecond,
    }
}

/// Converts a non-nested column whose type is a result of [`engine_type`].
fn flat(array: ArrayRef) -> PolarsResult<EngineArray> {
    macro_rules! numbers {
        ($file:ty, $engine:ty, $dtype:expr) => {
            numbers!(array, $file, $engine, $dtype)
        };
        ($array:expr, $file:ty, $engine:ty, $dtype:expr) => {{
            let array = $array;
            let owned = array.as_primitive::<$file>().clone();
            drop(array);
            let (_, values, nulls) = owned.into_parts();
            let validity = nulls.map(|nulls| nulls.iter().collect());
            // A buffer with a single owner moves without a copy.
            let values: Vec<<$file as files::ArrowPrimitiveType>::Native> = values
                .into_inner()
                .into_vec()
                .unwrap_or_else(|shared| shared.typed_data().to_vec());
            Box::new(<$engine as PolarsDataType>::Array::try_new(
                $dtype,
                values.into(),
                validity,
            )?)
        }};
    }
    macro_rules! views {
        ($views:expr, $engine:ty, $dtype:expr) => {{
            let compact = $views;
            // Compacts views that use a small part of their buffers.
            let held: usize = compact
                .data_buffers()
                .iter()
                .map(|buffer| buffer.len())
                .sum();
            let shown: usize = compact
                .views()
                .iter()
                .map(|view| *view as u32 as usize)
                .sum();
            let gathered = if held > 2 * shown + 4096 {
                Some(compact.gc())
            } else {
                None
            };
            let compact = gathered.as_ref().unwrap_or(compact);
            let validity = compact.nulls().map(|nulls| nulls.iter().collect());
            let views = compact.views().iter().map(|view| (*view).into()).collect();
            let buffers = compact
                .data_buffers()
                .iter()
                .map(|buffer| buffer.as_slice().to_vec().into())
                .collect();
            type Views = <$engine as PolarsDataType>::Array;
            debug_assert!(
                Views::try_new(
                    $dtype,
                    Clone::clone(&views),
                    Clone::clone(&buffers),
                    Clone::clone(&validity)
                )
                .is_ok()
            );
            // SAFETY: `views` and `buffers` come from `compact`, whose type guarantees the
            // invariants that the checked constructor would verify: every view, also under nulls,
            // is inlined with zero padding or within the bounds of its buffer, repeats its first
            // four bytes as prefix, and is UTF-8 for text (the Parquet reader checks each page).
            // Both libraries use the same view layout, and the buffers are copied whole and in
            // order. Checking again costs 5 ms per million strings.
            Box::new(unsafe {
                Views::new_unchecked_unknown_md($dtype, views, buffers, validity, None)
            })
        }};
    }
    let dtype = array.data_type().clone();
    Ok(match &dtype {
        FileType::Boolean => {
            let bits = array.as_boolean();
            Box::new(<BooleanType as PolarsDataType>::Array::arr_from_iter(
                bits.iter(),
            ))
        }
        FileType::Int8 => numbers!(files::Int8Type, Int8Type, ArrowDataType::Int8),
        FileType::Int16 => numbers!(files::Int16Type, Int16Type, ArrowDataType::Int16),
        FileType::Int32 => numbers!(files::Int32Type, Int32Type, ArrowDataType::Int32),
        FileType::Int64 => numbers!(files::Int64Type, Int64Type, ArrowDataType::Int64),
        FileType::UInt8 => numbers!(files::UInt8Type, UInt8Type, ArrowDataType::UInt8),
        FileType::UInt16 => numbers!(files::UInt16Type, UInt16Type, ArrowDataType::UInt16),
        FileType::UInt32 => numbers!(files::UInt32Type, UInt32Type, ArrowDataType::UInt32),
        FileType::UInt64 => numbers!(files::UInt64Type, UInt64Type, ArrowDataType::UInt64),
        FileType::Float32 => numbers!(files::Float32Type, Float32Type, ArrowDataType::Float32),
        FileType::Float64 => numbers!(files::Float64Type, Float64Type, ArrowDataType::Float64),
        FileType::Date32 => numbers!(files::Date32Type, Int32Type, ArrowDataType::Date32),
        FileType::Time64(FileUnit::Nanosecond) => {
            numbers!(
                files::Time64NanosecondType,
                Int64Type,
                ArrowDataType::Time64(ArrowTimeUnit::Nanosecond)
            )
        }
        FileType::Decimal128(precision, scale) => {
            let scale = usize::try_from(*scale).map_err(|_| unfit(&dtype))?;
            numbers!(
                files::Decimal128Type,
                DecimalType,
                ArrowDataType::Decimal(usize::from(*precision), scale)
            )
        }
        FileType::Timestamp(in_unit, zone) => {
            let zone = zone.as_deref().map(|zone| engine_zone(zone).into());
            let numbers = cast(&array, &FileType::Int64)
                .map_err(|error| polars_err!(ComputeError: "{error}"))?;
            numbers!(
                numbers,
                files::Int64Type,
                Int64Type,
                ArrowDataType::Timestamp(convert_file_unit(in_unit), zone)
            )
        }
        FileType::Duration(in_unit) => {
            let numbers = cast(&array, &FileType::Int64)
                .map_err(|error| polars_err!(ComputeError: "{error}"))?;
            numbers!(
                numbers,
                files::Int64Type,
                Int64Type,
                ArrowDataType::Duration(convert_file_unit(in_unit))
            )
        }
        FileType::Utf8View => views!(array.as_string_view(), StringType, ArrowDataType::Utf8View),
        FileType::BinaryView => views!(
            array.as_binary_view(),
            BinaryType,
            ArrowDataType::BinaryView
        ),
        other => return Err(unfit(other)),
    })
}

fn unfit(dtype: &FileType) -> polars::prelude::PolarsError {
    polars_err!(ComputeError: "columns of type {dtype} can't be queried")
}

fn list(offsets: Vec<i64>, values: EngineArray, array: &ArrayRef) -> PolarsResult<EngineArray> {
    let validity = array.nulls().map(|nulls| nulls.iter().collect());
    let dtype = LargeListArray::default_datatype(values.dtype().clone());
    Ok(Box::new(LargeListArray::try_new(
        dtype,
        offsets.try_into()?,
        values,
        validity,
    )?))
}

fn structure(array: &StructArray) -> PolarsResult<EngineArray> {
    let values = array
        .columns()
        .iter()
        .cloned()
        .map(engine_array)
        .collect::<PolarsResult<Vec<_>>>()?;
    let named = array.fields().iter().zip(&values).map(|(field, value)| {
        ArrowField::new(field.name().as_str().into(), value.dtype().clone(), true)
    });
    let dtype = ArrowDataType::Struct(named.collect());
    let validity = array.nulls().map(|nulls| nulls.iter().collect());
    Ok(Box::new(<StructType as PolarsDataType>::Array::try_new(
        dtype,
        array.len(),
        values,
        validity,
    )?))
}

/// The type that a result has for a column of the file's type `dtype`.
///
/// # Errors
/// For types that cannot be queried.
pub(super) fn result_type(dtype: &FileType) -> PolarsResult<FileType> {
    Ok(file_array(&series("", dtype, Vec::new())?)?
        .data_type()
        .clone())
}

/// Rows per result batch: text of a batch must stay below 2 GiB.
const RESULT_ROWS: usize = 1 << 18;

/// Converts a frame to record batches with the types of level tables.
pub(super) fn batches(frame: &DataFrame) -> PolarsResult<(files::SchemaRef, Vec<RecordBatch>)> {
    let failed = |error: arrow::error::ArrowError| polars_err!(ComputeError: "{error}");
    let mut batches: Vec<RecordBatch> = Vec::new();
    let mut schema: Option<files::SchemaRef> = None;
    let mut start = 0;
    loop {
        let part = frame.slice(start as i64, RESULT_ROWS);
        let columns = part
            .columns()
            .iter()
            .map(|column| file_array(column.as_materialized_series()));
        let columns = columns.collect::<PolarsResult<Vec<_>>>()?;
        let schema = schema.get_or_insert_with(|| {
            let names = part.columns().iter().map(|column| column.name().as_str());
            let fields = names
                .zip(&columns)
                .map(|(name, array)| FileField::new(name, array.data_type().clone(), true));
            Arc::new(FileSchema::new(fields.collect::<Vec<_>>()))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(part.height()));
        batches.push(
            RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(failed)?,
        );
        start += RESULT_ROWS;
        if start >= frame.height() {
            break;
        }
    }
    Ok((
        schema.unwrap_or_else(|| Arc::new(FileSchema::empty())),
        batches,
    ))
}

/// Converts an engine column to an Arrow array.
pub(super) fn file_array(series: &Series) -> PolarsResult<ArrayRef> {
    let failed = |error: arrow::error::ArrowError| polars_err!(ComputeError: "{error}");
    let physical = series.to_physical_repr();
    macro_rules! numbers {
        ($column:expr, $file:ty) => {
            PrimitiveArray::<$file>::from_iter($column.iter())
        };
    }
    Ok(match series.dtype() {
        DataType::Boolean => Arc::new(BooleanArray::from_iter(series.bool()?.iter())),
        DataType::Int8 => Arc::new(numbers!(series.i8()?, files::Int8Type)),
        DataType::Int16 => Arc::new(numbers!(series.i16()?, files::Int16Type)),
        DataType::Int32 => Arc::new(numbers!(series.i32()?, files::Int32Type)),
        DataType::Int64 => Arc::new(numbers!(series.i64()?, files::Int64Type)),
        DataType::UInt8 => Arc::new(numbers!(series.u8()?, files::UInt8Type)),
        DataType::UInt16 => Arc::new(numbers!(series.u16()?, files::UInt16Type)),
        DataType::UInt32 => Arc::new(numbers!(series.u32()?, files::UInt32Type)),
        DataType::UInt64 => Arc::new(numbers!(series.u64()?, files::UInt64Type)),
        DataType::Float32 => Arc::new(numbers!(series.f32()?, files::Float32Type)),
        DataType::Float64 => Arc::new(numbers!(series.f64()?, files::Float64Type)),
        DataType::String => Arc::new(StringArray::from_iter(series.str()?.iter())),
        DataType::Binary => Arc::new(BinaryArray::from_iter(series.binary()?.iter())),
        DataType::Date => Arc::new(numbers!(physical.i32()?, files::Date32Type)),
        DataType::Time => Arc::new(numbers!(physical.i64()?, files::Time64NanosecondType)),
        DataType::Datetime(unit, zone) => {
            let numbers: ArrayRef = Arc::new(numbers!(physical.i64()?, files::Int64Type));
            let zone = zone.as_ref().map(|zone| Arc::from(zone.as_str()));
            cast(&numbers, &FileType::Timestamp(file_unit(*unit), zone)).map_err(failed)?
        }
        DataType::Duration(unit) => {
            let numbers: ArrayRef = Arc::new(numbers!(physical.i64()?, files::Int64Type));
            cast(&numbers, &FileType::Duration(file_unit(*unit))).map_err(failed)?
        }
        DataType::Decimal(precision, scale) => {
            let numbers = Decimal128Array::from_iter(series.decimal()?.physical().iter());
            let (precision, scale) = (
                u8::try_from(*precision).unwrap_or(38),
                i8::try_from(*scale).unwrap_or(0),
            );
            Arc::new(
                numbers
                    .with_precision_and_scale(precision, scale)
                    .map_err(failed)?,
            )
        }
        DataType::List(_) => file_list(series)?,
        DataType::Array(item, _) => file_list(&series.cast(&DataType::List(item.clone()))?)?,
        DataType::Struct(_) => {
            let known: NullBuffer = series
                .is_not_null()
                .iter()
                .map(|known| known.unwrap_or(false))
                .collect();
            let members = series.struct_()?.fields_as_series();
            let arrays = members
                .iter()
                .map(file_array)
                .collect::<PolarsResult<Vec<_>>>()?;
            let fields = members.iter().zip(&arrays).map(|(member, array)| {
                let name = name_in_result(member.name());
                FileField::new(name.into_owned(), array.data_type().clone(), true)
            });
            let known = Some(known).filter(|known| known.null_count() > 0);
            Arc::new(
                StructArray::try_new_with_length(fields.collect(), arrays, known, series.len())
                    .map_err(failed)?,
            )
        }
        DataType::Null => arrow::array::new_null_array(&FileType::Null, series.len()),
        other => return Err(polars_err!(ComputeError: "results of type {other} can't be shown")),
    })
}

fn file_list(series: &Series) -> PolarsResult<ArrayRef> {
    let whole = series.rechunk();
    let lists = whole.list()?;
    let item = file_array(&lists.get_inner())?;
    let Some(chunk) = lists.downcast_iter().next() else {
        return Err(polars_err!(ComputeError: "a list has no values"));
    };
    let offsets = chunk
        .offsets()
        .as_slice()
        .iter()
        .map(narrow_offset)
        .collect::<PolarsResult<Vec<i32>>>()?;
    let known: NullBuffer = whole
        .is_not_null()
        .iter()
        .map(|known| known.unwrap_or(false))
        .collect();
    let field = Arc::new(FileField::new("item", item.data_type().clone(), true));
    let known = Some(known).filter(|known| known.null_count() > 0);
    let made = ListArray::try_new(field, OffsetBuffer::new(offsets.into()), item, known);
    made.map(|made| Arc::new(made) as ArrayRef)
        .map_err(|error| polars_err!(ComputeError: "{error}"))
}

fn narrow_offset(offset: &i64) -> PolarsResult<i32> {
    i32::try_from(*offset).map_err(|_| polars_err!(ComputeError: "the lists are too long"))
}

fn file_unit(unit: TimeUnit) -> FileUnit {
    match unit {
        TimeUnit::Milliseconds => FileUnit::Millisecond,
        TimeUnit::Microseconds => FileUnit::Microsecond,
        TimeUnit::Nanoseconds => FileUnit::Nanosecond,
    }
}
