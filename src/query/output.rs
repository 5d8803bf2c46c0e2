//! Results: from polars' frame to a level table, and from there to text, CSV and JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::datatypes::Schema;
use polars::prelude::DataFrame;
use serde_json::Value as Json;

use super::arrays;
use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::{LevelTable, cell_json};

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

/// The engine's frame as a level table with the types that level tables have.
pub(super) fn to_table(frame: &DataFrame) -> Result<LevelTable> {
    if frame.width() == 0 {
        return Ok(LevelTable::new(Arc::new(Schema::empty()), Vec::new()));
    }
    let (schema, batches) = arrays::batches(frame)
        .map_err(|error| Error::unsupported("the result has a type that tables lack").because(error.to_string()))?;
    Ok(LevelTable::new(schema, batches))
}
