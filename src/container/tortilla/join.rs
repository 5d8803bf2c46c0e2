//! Concatenates the small tables of one level: columns by name, types widened until all rows fit.
//! Never drops a value.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, new_null_array};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, Schema};

use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::{COLUMNS_MAX, DecodeBudget, LevelTable, any_type, cell_text, is_exact_as};

/// Bytes of a null string (its offset).
const NULL_TEXT: usize = 4;

/// A column whose type differs between tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widened {
    pub name: String,
    /// The Arrow types found, in the order of the tables.
    pub found: Vec<String>,
    /// The common type.
    pub into: String,
}

/// Concatenates tables. Columns are in order of first appearance and null in rows of tables that
/// lack them. Columns of several types are widened, to string as a last resort, and listed in the
/// second result.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] for more columns than a table may have, or when the nulls for
/// missing columns exceed the budget.
pub fn join(tables: &[LevelTable], budget: &DecodeBudget) -> Result<(RecordBatch, Vec<Widened>)> {
    let mut fields: Vec<(String, Vec<DataType>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for table in tables {
        for field in table.schema().fields() {
            let place = *places.entry(field.name().clone()).or_insert_with(|| {
                fields.push((field.name().clone(), Vec::new()));
                fields.len() - 1
            });
            if !fields[place].1.contains(field.data_type()) {
                fields[place].1.push(field.data_type().clone());
            }
        }
    }
    if fields.len() as u64 > COLUMNS_MAX {
        return Err(Error::too_large(format!(
            "the tables have {} columns together; {COLUMNS_MAX} is the most",
            fields.len()
        )));
    }
    let mut widened = Vec::new();
    let mut schema = Vec::with_capacity(fields.len());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
    for (name, found) in fields {
        let mut target = found
            .iter()
            .cloned()
            .reduce(|a, b| any_type(&a, &b))
            .unwrap_or(DataType::Null);
        if found.len() > 1 && !all_exact(tables, &name, &target)? {
            target = DataType::Utf8;
        }
        // Null fits every type, and the two string types are equivalent.
        let kinds: Vec<&DataType> = found
            .iter()
            .filter(|dtype| **dtype != DataType::Null && !is_text(dtype))
            .collect();
        if kinds.len() > 1 || (kinds.len() == 1 && found.iter().any(is_text)) {
            let found = found.iter().map(dtype_name).collect();
            widened.push(Widened {
                name: name.clone(),
                found,
                into: dtype_name(&target),
            });
        }
        let mut parts: Vec<ArrayRef> = Vec::with_capacity(tables.len());
        let mut place = 0;
        for table in tables {
            // Usually at the same index as in the previous table.
            let here = table
                .schema()
                .fields()
                .get(place)
                .is_some_and(|field| field.name() == &name);
            parts.push(
                match if here {
                    Some(place)
                } else {
                    table.column_index(&name)
                } {
                    Some(index) => {
                        place = index;
                        as_type(&table.column(index)?, &target)?
                    }
                    None => {
                        let width = target.primitive_width().unwrap_or(NULL_TEXT) as u64;
                        budget.take(table.rows() as u64 * width, || {
                            format!("column {name}, which most tables lack, unfolds")
                        })?;
                        new_null_array(&target, table.rows())
                    }
                },
            );
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        columns.push(concat(&parts).map_err(|error| {
            Error::format(format!("column {name} can't be joined")).because(error)
        })?);
        schema.push(Field::new(name, target, true));
    }
    let rows = tables.iter().map(LevelTable::rows).sum();
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(schema)), columns, &options);
    Ok((
        batch
            .map_err(|error| Error::internal("joined columns don't make a table").because(error))?,
        widened,
    ))
}

/// Whether no value of the column changes in this type.
fn all_exact(tables: &[LevelTable], name: &str, target: &DataType) -> Result<bool> {
    for table in tables {
        if let Some(index) = table.column_index(name)
            && !is_exact_as(&table.column(index)?, target)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn as_type(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(target, array.len()));
    }
    let nested_text = array.data_type().is_nested() && *target == DataType::Utf8;
    match cast(array, target) {
        Ok(cast) if cast.null_count() == array.null_count() && !nested_text => Ok(cast),
        _ if *target == DataType::Utf8 => {
            // The text of a cell shortens bytes.
            let bytes = match array.data_type() {
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                    cast(array, &DataType::Binary).ok()
                }
                _ => None,
            };
            let text = (0..array.len()).map(|row| {
                array
                    .is_valid(row)
                    .then(|| format_as_text(array, bytes.as_ref(), row))
            });
            Ok(Arc::new(text.collect::<StringArray>()))
        }
        _ => {
            let (from, to) = (dtype_name(array.data_type()), dtype_name(target));
            Err(Error::format(format!(
                "a column of {from} does not fit the {to} of the other tables"
            )))
        }
    }
}

/// A value as text: bytes, when `bytes` has them, in hexadecimal.
fn format_as_text(array: &ArrayRef, bytes: Option<&ArrayRef>, row: usize) -> String {
    match bytes {
        Some(bytes) => hex::encode(bytes.as_binary::<i32>().value(row)),
        None => cell_text(array, row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, Float64Array, Int64Array, LargeStringArray};
    use arrow::datatypes::Float64Type;

    fn table(columns: Vec<(&str, ArrayRef)>) -> LevelTable {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        );
        let batch = batch.expect("is a batch");
        LevelTable::new(batch.schema(), vec![batch])
    }

    #[test]
    fn bytes_beside_texts_keep_every_byte_in_hexadecimal() {
        let bytes: Vec<u8> = (0..=255).collect();
        let first = table(vec![(
            "a",
            Arc::new(BinaryArray::from(vec![Some(&bytes[..]), None])) as ArrayRef,
        )]);
        let second = table(vec![(
            "a",
            Arc::new(StringArray::from(vec!["text"])) as ArrayRef,
        )]);
        let (batch, widened) = join(&[first, second], &DecodeBudget::default()).expect("joins");
        let texts = batch.column(0).as_string::<i32>();
        let digits = hex::encode(bytes);
        assert_eq!(
            (texts.value(0), texts.is_null(1), texts.value(2)),
            (digits.as_str(), true, "text")
        );
        assert_eq!(widened.len(), 1);
    }

    #[test]
    fn types_are_widened_and_said() {
        let one = table(vec![
            ("a", Arc::new(Int64Array::from(vec![1, 2]))),
            ("s", Arc::new(StringArray::from(vec!["x", "y"]))),
            ("n", new_null_array(&DataType::Null, 2)),
        ]);
        let two = table(vec![
            ("s", Arc::new(LargeStringArray::from(vec!["z"]))),
            ("a", Arc::new(Float64Array::from(vec![0.5]))),
            ("n", Arc::new(Int64Array::from(vec![7]))),
            ("only", Arc::new(Int64Array::from(vec![9]))),
        ]);
        let (batch, widened) = join(&[one, two], &DecodeBudget::default()).expect("joins");
        let names: Vec<_> = batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        assert_eq!(names, ["a", "s", "n", "only"]);
        assert_eq!(
            batch.column(0).as_primitive::<Float64Type>().values(),
            &[1.0, 2.0, 0.5]
        );
        assert_eq!(batch.column(1).as_string::<i64>().value(2), "z");
        assert_eq!(
            (batch.column(2).null_count(), batch.column(3).null_count()),
            (2, 2)
        );
        assert_eq!(widened.len(), 1, "{widened:?}");
        assert_eq!(
            (widened[0].name.as_str(), widened[0].into.as_str()),
            ("a", "double")
        );
    }

    #[test]
    fn integers_that_a_double_would_round_become_text() {
        let whole = (1 << 53) + 1;
        let one = table(vec![("a", Arc::new(Int64Array::from(vec![whole])))]);
        let two = table(vec![("a", Arc::new(Float64Array::from(vec![0.5])))]);
        let (batch, widened) = join(&[one, two], &DecodeBudget::default()).expect("joins");
        let text = batch.column(0).as_string::<i32>();
        assert_eq!((text.value(0), text.value(1)), ("9007199254740993", "0.5"));
        assert_eq!(widened[0].into, "string");
    }

    #[test]
    fn columns_without_a_common_type_become_strings() {
        let one = table(vec![("a", Arc::new(Int64Array::from(vec![Some(1), None])))]);
        let two = table(vec![("a", Arc::new(StringArray::from(vec!["x"])))]);
        let (batch, widened) = join(&[one, two], &DecodeBudget::default()).expect("joins");
        let text = batch.column(0).as_string::<i32>();
        assert_eq!(
            (text.value(0), text.is_null(1), text.value(2)),
            ("1", true, "x")
        );
        assert_eq!(widened[0].found, ["int64", "string"]);
    }
}
