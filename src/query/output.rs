//! Results: from polars' frame to a level table, and from there to text, CSV and JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use polars::prelude::{DataFrame, ParquetCompression, ParquetWriter};
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::dtype_name;
use crate::table::{LevelTable, ParquetSlice, TableHead, cell_json};

/// Widest column of [`QueryResult::text`], in characters.
const WIDEST: usize = 60;

/// The rows that a query gave.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// The rows.
    pub table: Arc<LevelTable>,
    /// Rows here.
    pub row_count: usize,
    /// There are more rows than the limit allowed.
    pub truncated: bool,
}

impl QueryResult {
    pub(super) fn new(table: LevelTable, truncated: bool) -> Self {
        let row_count = table.rows();
        Self { table: Arc::new(table), row_count, truncated }
    }

    /// Names and types of the columns, the types as `taco:field_schema` writes them.
    pub fn columns(&self) -> Vec<(String, String)> {
        self.table.schema().fields().iter().map(|field| (field.name().clone(), dtype_name(field.data_type()))).collect()
    }

    /// Rows as JSON objects, in order: times as ISO 8601, bytes as hexadecimal, lists as lists.
    pub fn json_rows(&self) -> impl Iterator<Item = serde_json::Map<String, Json>> + '_ {
        let names: Vec<String> = self.table.schema().fields().iter().map(|field| field.name().clone()).collect();
        (0..self.row_count)
            .map(move |row| names.iter().enumerate().map(|(column, name)| (name.clone(), self.json(row, column))).collect())
    }

    fn json(&self, row: usize, column: usize) -> Json {
        self.table.locate(row, column).map_or(Json::Null, |(array, row)| cell_json(array, row))
    }

    /// Comma-separated values with a header (RFC 4180); lists as JSON, nulls empty.
    pub fn csv(&self) -> String {
        let names: Vec<String> = self.table.schema().fields().iter().map(|field| csv_cell(field.name())).collect();
        let mut out = names.join(",") + "\n";
        for row in 0..self.row_count {
            let cells: Vec<String> = (0..names.len())
                .map(|column| match self.json(row, column) {
                    Json::Null => String::new(),
                    Json::String(text) => csv_cell(&text),
                    other => csv_cell(&other.to_string()),
                })
                .collect();
            out.push_str(&cells.join(","));
            out.push('\n');
        }
        out
    }

    /// A table for the eye: at most `rows` rows, long cells cut, numbers to the right.
    pub fn text(&self, rows: usize) -> String {
        let fields = self.table.schema().fields();
        let shown = self.row_count.min(rows);
        let cells: Vec<Vec<String>> =
            (0..shown).map(|row| (0..fields.len()).map(|column| cut(&self.table.text(row, column))).collect()).collect();
        let names: Vec<String> = fields.iter().map(|field| cut(field.name())).collect();
        let widths: Vec<usize> = (0..fields.len())
            .map(|column| cells.iter().map(|row| length(&row[column])).chain([length(&names[column])]).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        let mut line = |cells: &[String]| {
            for (column, cell) in cells.iter().enumerate() {
                let space = " ".repeat(widths[column].saturating_sub(length(cell)));
                let gap = if column == 0 { "" } else { "  " };
                let _ = if fields[column].data_type().is_numeric() {
                    write!(out, "{gap}{space}{cell}")
                } else {
                    write!(out, "{gap}{cell}{space}")
                };
            }
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        };
        line(&names);
        cells.iter().for_each(|row| line(row));
        if shown < self.row_count || self.truncated {
            let more = if self.truncated { "more" } else { &format!("{} more", self.row_count - shown) };
            let _ = writeln!(out, "… and {more} rows");
        }
        out
    }
}

fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if length(&plain) <= WIDEST { plain } else { plain.chars().take(WIDEST - 1).chain(['…']).collect() }
}

/// Polars' frame as a level table with the types that level tables have. Goes through Parquet in memory: both sides keep
/// every type on that way, and the rows are few.
pub(super) fn to_table(mut frame: DataFrame, ctx: &JobContext) -> Result<LevelTable> {
    if frame.width() == 0 {
        return Ok(LevelTable::new(Arc::new(Schema::empty()), Vec::new()));
    }
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Uncompressed)
        .finish(&mut frame)
        .map_err(|error| Error::internal("the result could not be taken over").because(error.to_string()))?;
    drop(frame);
    let table = TableHead::read(ParquetSlice::from_bytes(bytes.into()))?.decode(ctx)?;
    let fields = |field: &FieldRef| Field::new(field.name(), usual(field.data_type()), true);
    let schema = Arc::new(Schema::new(table.schema().fields().iter().map(fields).collect::<Vec<_>>()));
    let convert = |batch: &RecordBatch| -> Result<RecordBatch> {
        let cast = |(array, field): (&ArrayRef, &FieldRef)| arrow::compute::cast(array, field.data_type());
        let columns = batch.columns().iter().zip(schema.fields()).map(cast).collect::<std::result::Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        columns
            .and_then(|columns| RecordBatch::try_new_with_options(schema.clone(), columns, &options))
            .map_err(|error| Error::internal("the result has a type that tables lack").because(error))
    };
    let batches = table.batches().iter().map(convert).collect::<Result<Vec<_>>>()?;
    Ok(LevelTable::new(schema.clone(), batches))
}

/// The type without polars' large and view forms.
fn usual(dtype: &DataType) -> DataType {
    let item = |field: &FieldRef| Arc::new(Field::new("item", usual(field.data_type()), true));
    match dtype {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::List(field) | DataType::LargeList(field) => DataType::List(item(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(item(field), *size),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| Field::new(field.name(), usual(field.data_type()), true)).collect())
        }
        other => other.clone(),
    }
}
