//! Results: from polars' frame to a level table, and from there to text, CSV and JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::datatypes::Schema;
use polars::prelude::{DataFrame, DataType, Series};
use serde_json::Value as Json;

use super::arrow_convert;
use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::{DecodeBudget, LevelTable, cell_json};

/// Widest column of [`QueryResult::text`], in characters.
const WIDEST: usize = 60;
/// A result may unfold to 64 times its memory: a quarter of what a table may, since rows of the engine are larger than those of a file.
const SHARED: u64 = 4;
/// Bytes of a value in the engine beside those of a long text.
const VIEW: u64 = 16;

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

    /// Comma-separated values with a header (RFC 4180); lists and structs as JSON, nulls empty, empty texts as `""`.
    pub fn csv(&self) -> String {
        let names: Vec<String> = self.table.schema().fields().iter().map(|field| csv_cell(field.name())).collect();
        let mut out = names.join(",") + "\n";
        for row in 0..self.row_count {
            let cells: Vec<String> = (0..names.len())
                .map(|column| match self.json(row, column) {
                    Json::Null => String::new(),
                    Json::String(text) if text.is_empty() => "\"\"".into(),
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

/// Rows of the engine share texts; a level table holds each row's own copy. An error when the copies are out of all proportion.
fn check_texts(frame: &DataFrame) -> Result<()> {
    let held: u64 = frame.columns().iter().map(|column| Texts::of(column.as_materialized_series()).held).sum();
    let views = VIEW * frame.height() as u64 * frame.width() as u64;
    let budget = DecodeBudget::of_stored(held.saturating_add(views) / SHARED);
    for column in frame.columns() {
        let unfolded = Texts::of(column.as_materialized_series()).unfolded;
        budget.take(unfolded, || format!("column {} of the result unfolds", column.name()))?;
    }
    Ok(())
}

/// Bytes of the texts and binary values of a column.
#[derive(Default)]
struct Texts {
    /// In memory, where rows share them.
    held: u64,
    /// Of all rows, shared ones counted for each.
    unfolded: u64,
}

impl Texts {
    fn of(series: &Series) -> Self {
        let parts = match series.dtype() {
            DataType::String => series.str().map_or(Vec::new(), |texts| {
                texts.downcast_iter().map(|array| (array.total_buffer_len(), array.total_bytes_len())).collect()
            }),
            DataType::Binary => series.binary().map_or(Vec::new(), |values| {
                values.downcast_iter().map(|array| (array.total_buffer_len(), array.total_bytes_len())).collect()
            }),
            DataType::List(_) => return series.list().map_or(Self::default(), |lists| Self::of(&lists.get_inner())),
            DataType::Struct(_) => {
                let fields = series.struct_().map_or(Vec::new(), |all| all.fields_as_series());
                return fields.iter().map(Self::of).fold(Self::default(), Self::add);
            }
            _ => Vec::new(),
        };
        let one = |(held, unfolded): (usize, usize)| Self { held: held as u64, unfolded: unfolded as u64 };
        parts.into_iter().map(one).fold(Self::default(), Self::add)
    }

    fn add(self, other: Self) -> Self {
        Self { held: self.held.saturating_add(other.held), unfolded: self.unfolded.saturating_add(other.unfolded) }
    }
}

/// The engine's frame as a level table with the types that level tables have.
pub(super) fn to_table(frame: &DataFrame) -> Result<LevelTable> {
    if frame.width() == 0 {
        return Ok(LevelTable::new(Arc::new(Schema::empty()), Vec::new()));
    }
    check_texts(frame)?;
    let (schema, batches) = arrow_convert::batches(frame)
        .map_err(|error| Error::unsupported("the result has a type that tables lack").because(error.to_string()))?;
    Ok(LevelTable::new(schema, batches))
}
