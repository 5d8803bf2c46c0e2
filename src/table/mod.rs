//! Parquet bytes ⇄ level tables. Has columns and values; the meaning of `internal:*` columns is
//! up to the containers.

mod avro;
mod budget;
mod cells;
mod column_splice;
mod column_stats;
mod columns;
mod csv_table;
mod decode;
mod deltas;
mod footer;
mod geojson;
mod json_rows;
mod key_choice;
mod key_forms;
mod key_names;
mod keyed_table;
mod metadata_columns;
mod metadata_table;
mod old_writers;
mod open_document;
mod pages;
mod parquet_io;
mod parquet_options;
mod parquet_slice;
mod parquet_structs;
mod row_groups;
mod sheet_cells;
mod statistics_check;
mod text_decoding;
mod text_types;
mod thrift;
mod title_rows;
mod unfolded;
mod unread_table;
mod views;
mod widening;
mod wkb;
mod workbook;
mod xml_events;

pub use avro::read_avro;
pub use budget::DecodeBudget;
pub use cells::{
    CellLine, cell_json, cell_lines, cell_text, duration_text, value_json, value_text, wkb_point,
};
pub use column_splice::{SplicedColumn, splice_columns};
pub use column_stats::ColumnRange;
pub use columns::{array_of, infer_type, take_rows, value_at};
pub use footer::COLUMNS_MAX;
pub use geojson::geojson_geometry;
pub use key_choice::{JoinBy, JoinRequest, ShowSamples};
pub use key_names::{KEYS, is_key_name};
pub use keyed_table::{KeyedRows, KeyedTable, proposed_field_name};
pub use metadata_columns::{ColumnReading, INDEX_COLUMN, MetadataTable};
pub use metadata_table::{
    FEATURE_GEOMETRY, read_metadata_table, table_of_json, without_dictionaries,
};
pub use parquet_io::{ParquetSink, TableHead, write_parquet, written_field, written_schema};
pub use parquet_options::{Compression, ParquetOptions};
pub use parquet_slice::ParquetSlice;
pub use row_groups::RowGroups;
pub use statistics_check::{StatisticsFault, StatisticsPlace, WrongStatistics};
pub use text_types::is_null_marker;
pub use widening::{any_type, exact_type, is_exact_as};
pub use wkb::{parse_wkb, wkb_bounds, write_wkb, write_wkb_point};

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, SchemaRef};

use crate::error::{Error, Result};
use crate::model::{FieldSpec, Value, dtype_name};

/// A decoded table: one level of a dataset, or the `__meta__` of one FOLDER.
#[derive(Clone, Debug)]
pub struct LevelTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// First row of each batch.
    starts: Vec<usize>,
    rows: usize,
}

impl LevelTable {
    /// A table of batches with this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let mut starts = Vec::with_capacity(batches.len());
        let mut rows = 0;
        for batch in &batches {
            starts.push(rows);
            rows += batch.num_rows();
        }
        Self {
            schema,
            batches,
            starts,
            rows,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The schema, in file order, including `internal:*`.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batches as decoded, in row order.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Name and type of every column.
    pub fn fields(&self) -> Vec<FieldSpec> {
        self.schema
            .fields()
            .iter()
            .map(|field| FieldSpec::new(field.name(), field.data_type().clone()))
            .collect()
    }

    /// The table with other names of its columns, one for each.
    ///
    /// # Errors
    /// For a number of names that is not that of the columns.
    pub(crate) fn with_names(&self, names: &[String]) -> Result<Self> {
        let fields = self
            .schema
            .fields()
            .iter()
            .zip(names)
            .map(|(field, name)| Arc::new(field.as_ref().clone().with_name(name)));
        let schema = Arc::new(arrow::datatypes::Schema::new_with_metadata(
            fields.collect::<Vec<_>>(),
            self.schema.metadata().clone(),
        ));
        let batches = self
            .batches
            .iter()
            .map(|batch| replace_schema(batch, &schema))
            .collect::<std::result::Result<_, _>>();
        let batches = batches.map_err(|error| {
            Error::internal("the columns of a table can't be renamed").because(error)
        })?;
        Ok(Self::new(schema.clone(), batches))
    }

    /// The first rows, at most this many.
    pub(crate) fn head(&self, rows: usize) -> Self {
        let mut batches = Vec::new();
        let mut left = rows;
        for batch in &self.batches {
            let taken = batch.num_rows().min(left);
            if taken == 0 {
                break;
            }
            batches.push(batch.slice(0, taken));
            left -= taken;
        }
        Self::new(self.schema.clone(), batches)
    }

    /// Index of the column `name`.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.schema
            .fields()
            .iter()
            .position(|field| field.name() == name)
    }

    /// The array that contains `row` of `column`, and the row in it.
    pub fn locate(&self, row: usize, column: usize) -> Option<(&ArrayRef, usize)> {
        if row >= self.rows || column >= self.schema.fields().len() {
            return None;
        }
        let batch = self.starts.partition_point(|&start| start <= row) - 1;
        Some((self.batches[batch].column(column), row - self.starts[batch]))
    }

    /// One value; null when out of range.
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.locate(row, column)
            .map_or(Value::Null, |(array, row)| value_at(array, row))
    }

    /// One cell as text for users; empty for null.
    pub fn text(&self, row: usize, column: usize) -> String {
        self.locate(row, column)
            .map_or(String::new(), |(array, row)| cell_text(array, row))
    }

    /// A column as one array.
    ///
    /// # Errors
    /// When the batches cannot be concatenated.
    pub fn column(&self, column: usize) -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = self
            .batches
            .iter()
            .map(|batch| batch.column(column).as_ref())
            .collect();
        match parts.as_slice() {
            [] => Ok(arrow::array::new_empty_array(
                self.schema.field(column).data_type(),
            )),
            [_] => Ok(self.batches[0].column(column).clone()),
            _ => arrow::compute::concat(&parts)
                .map_err(|e| Error::format("the column can't be joined").because(e)),
        }
    }

    /// A column of any string type as strings. `None` when there is no such column.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when the column has another type.
    pub fn strings(&self, name: &str) -> Result<Option<arrow::array::StringArray>> {
        let Some(index) = self.column_index(name) else {
            return Ok(None);
        };
        let array = self.column(index)?;
        let plain = self.cast_column(&array, name, &DataType::Utf8)?;
        Ok(Some(plain.as_string::<i32>().clone()))
    }

    /// A column of any integer type as int64; values outside its range become null. `None` when
    /// there is no such column.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when the column has another type.
    pub fn integers(&self, name: &str) -> Result<Option<arrow::array::Int64Array>> {
        let Some(index) = self.column_index(name) else {
            return Ok(None);
        };
        let array = self.column(index)?;
        let plain = self.cast_column(&array, name, &DataType::Int64)?;
        Ok(Some(plain.as_primitive::<Int64Type>().clone()))
    }

    /// As [`Self::strings`]; `owner` names in the error what has no such column.
    ///
    /// # Errors
    /// As [`Self::strings`], and when there is no such column.
    pub fn require_strings(&self, name: &str, owner: &str) -> Result<arrow::array::StringArray> {
        self.strings(name)?
            .ok_or_else(|| lacks_column_error(name, owner))
    }

    /// As [`Self::integers`]; `owner` names in the error what has no such column.
    ///
    /// # Errors
    /// As [`Self::integers`], and when there is no such column.
    pub fn require_integers(&self, name: &str, owner: &str) -> Result<arrow::array::Int64Array> {
        self.integers(name)?
            .ok_or_else(|| lacks_column_error(name, owner))
    }

    fn cast_column(&self, array: &ArrayRef, name: &str, to: &DataType) -> Result<ArrayRef> {
        if array.data_type() == to {
            return Ok(Arc::clone(array));
        }
        cast(array, to).map_err(|error| {
            let (found, wanted) = (dtype_name(array.data_type()), dtype_name(to));
            Error::format(format!("column {name} is {found}; it has to be {wanted}")).because(error)
        })
    }

    /// The named columns, in table order; unknown names are ignored.
    ///
    /// # Errors
    /// [`crate::error::Kind::Internal`] when a batch does not match the schema.
    pub fn project(&self, names: &[&str]) -> Result<Self> {
        let fields = self.schema.fields().iter().enumerate();
        let chosen: Vec<usize> = fields
            .filter(|(_, field)| names.contains(&field.name().as_str()))
            .map(|(index, _)| index)
            .collect();
        let project = |error: arrow::error::ArrowError| {
            Error::internal("columns can't be chosen").because(error)
        };
        let schema = Arc::new(self.schema.project(&chosen).map_err(project)?);
        let batches = self
            .batches
            .iter()
            .map(|batch| batch.project(&chosen).map_err(project))
            .collect::<Result<_>>()?;
        Ok(Self::new(schema, batches))
    }

    /// As [`LevelTable::to_batch`]. The parts of each column are freed before the next one is
    /// joined, so that the table is not in memory twice.
    ///
    /// # Errors
    /// When the batches cannot be concatenated.
    pub fn into_batch(mut self) -> Result<RecordBatch> {
        if let [_] = self.batches.as_slice() {
            return Ok(self.batches.remove(0));
        }
        let mut parts: Vec<Vec<ArrayRef>> = self
            .schema
            .fields()
            .iter()
            .map(|_| Vec::with_capacity(self.batches.len()))
            .collect();
        for batch in std::mem::take(&mut self.batches) {
            let (_, columns, _) = batch.into_parts();
            parts
                .iter_mut()
                .zip(columns)
                .for_each(|(parts, column)| parts.push(column));
        }
        let mut columns = Vec::with_capacity(parts.len());
        for (parts, field) in parts.into_iter().zip(self.schema.fields()) {
            let borrowed: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            columns.push(match borrowed.as_slice() {
                [] => arrow::array::new_empty_array(field.data_type()),
                borrowed => arrow::compute::concat(borrowed).map_err(|error| {
                    Error::format("the table can't be joined into one").because(error)
                })?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(self.schema, columns, &options)
            .map_err(|error| Error::format("the table can't be joined into one").because(error))
    }

    /// All rows as one batch.
    ///
    /// # Errors
    /// When the batches cannot be concatenated.
    pub fn to_batch(&self) -> Result<RecordBatch> {
        match self.batches.as_slice() {
            [batch] => Ok(batch.clone()),
            batches => arrow::compute::concat_batches(&self.schema, batches).map_err(|error| {
                Error::format("the table can't be joined into one").because(error)
            }),
        }
    }
}

fn lacks_column_error(name: &str, owner: &str) -> Error {
    Error::format(format!("{owner} has no column {name}"))
}

/// A batch with other names of its columns.
fn replace_schema(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, arrow::error::ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
}
