//! Query results: converts the engine's frame to a level table, and that to text, CSV and JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType as FileType, Fields, Schema};
use polars::prelude::{DataFrame, DataType, Series};
use serde_json::Value as Json;

use super::arrow_convert;
use super::time_range::is_text_array_type;
use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::{DecodeBudget, LevelTable, cell_json};
use crate::text::displayed_line;

/// Maximum column width of [`QueryResult::text`], in characters.
const COLUMN_WIDTH_MAX: usize = 60;
/// The budget of a result is that of a table of its memory divided by this, because rows in the
/// engine are larger than stored ones: it may expand to 64 times its memory.
const BUDGET_DIVISOR: u64 = 4;
/// Bytes of a string view, which each string has beside its bytes.
const STRING_VIEW_BYTES: u64 = 16;

#[derive(Clone, Debug)]
pub struct QueryResult {
    /// The rows.
    pub table: Arc<LevelTable>,
    /// Number of rows.
    pub row_count: usize,
    /// True when the limit cut rows off.
    pub truncated: bool,
}

impl QueryResult {
    /// A result of text columns with these names.
    pub(super) fn of_texts<const N: usize>(columns: [(&str, Vec<String>); N]) -> Result<Self> {
        let columns =
            columns.map(|(name, texts)| (name, Arc::new(StringArray::from(texts)) as ArrayRef));
        let batch = RecordBatch::try_from_iter(columns)
            .map_err(|error| Error::internal("the list could not be made").because(error))?;
        Ok(Self::new(
            LevelTable::new(batch.schema(), vec![batch]),
            false,
        ))
    }

    pub(super) fn new(table: LevelTable, truncated: bool) -> Self {
        let row_count = table.rows();
        Self {
            table: Arc::new(table),
            row_count,
            truncated,
        }
    }

    /// Column names and types; types as in `taco:field_schema`.
    pub fn columns(&self) -> Vec<(String, String)> {
        self.table
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), dtype_name(field.data_type())))
            .collect()
    }

    /// Rows as JSON objects, in order: times in ISO 8601, binary in hexadecimal, lists as arrays.
    pub fn json_rows(&self) -> impl Iterator<Item = serde_json::Map<String, Json>> + '_ {
        let names: Vec<String> = self
            .table
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        (0..self.row_count).map(move |row| {
            names
                .iter()
                .enumerate()
                .map(|(column, name)| (name.clone(), self.json(row, column)))
                .collect()
        })
    }

    fn json(&self, row: usize, column: usize) -> Json {
        self.table
            .locate(row, column)
            .map_or(Json::Null, |(array, row)| cell_json(array, row))
    }

    /// CSV with a header (RFC 4180); lists and structs as JSON, null as an empty field, an empty
    /// string as `""`.
    pub fn csv(&self) -> String {
        let names: Vec<String> = self
            .table
            .schema()
            .fields()
            .iter()
            .map(|field| csv_cell(field.name()))
            .collect();
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

    /// What a user of [`QueryResult::csv`] should know: the first text that spreadsheets would run
    /// as a formula. The text is written as it is, since programs read it back. `None` when there
    /// is none.
    pub fn formula_warning(&self) -> Option<String> {
        let fields = self.table.schema();
        let names = fields.fields().iter().map(|field| field.name().as_str());
        if let Some(name) = names.clone().find(|name| is_formula(name)) {
            return Some(format!(
                "spreadsheets take the name of column {} for a formula: {AS_TEXT}",
                cut_text(name)
            ));
        }
        let text_columns: Vec<bool> = fields
            .fields()
            .iter()
            .map(|field| is_text_column(field.data_type()))
            .collect();
        names
            .enumerate()
            .filter(|(column, _)| text_columns[*column])
            .find_map(|(column, name)| self.find_formula(column, name))
    }

    /// The warning of [`QueryResult::formula_warning`] for the texts of one column.
    fn find_formula(&self, column: usize, name: &str) -> Option<String> {
        let (row, text) = (0..self.row_count).find_map(|row| match self.json(row, column) {
            Json::String(text) if is_formula(&text) => Some((row, text)),
            _ => None,
        })?;
        Some(format!(
            "spreadsheets run {} in row {} of column {} as a formula: {AS_TEXT}",
            cut_text(&text),
            row + 1,
            cut_text(name)
        ))
    }

    /// Fixed-width text table of at most `rows` rows; long cells are cut, numbers right-aligned.
    pub fn text(&self, rows: usize) -> String {
        let fields = self.table.schema().fields();
        let shown = self.row_count.min(rows);
        let cells: Vec<Vec<String>> = (0..shown)
            .map(|row| {
                (0..fields.len())
                    .map(|column| cut_text(&self.table.text(row, column)))
                    .collect()
            })
            .collect();
        let names: Vec<String> = fields.iter().map(|field| cut_text(field.name())).collect();
        let widths: Vec<usize> = (0..fields.len())
            .map(|column| {
                cells
                    .iter()
                    .map(|row| length(&row[column]))
                    .chain([length(&names[column])])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        push_text_row(&mut out, &names, &widths, fields);
        for row in &cells {
            push_text_row(&mut out, row, &widths, fields);
        }
        if shown < self.row_count || self.truncated {
            let more = match self.row_count - shown {
                _ if self.truncated => "more rows".to_owned(),
                1 => "1 more row".to_owned(),
                count => format!("{count} more rows"),
            };
            let _ = writeln!(out, "… and {more}");
        }
        out
    }
}

fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The advice of [`QueryResult::formula_warning`].
const AS_TEXT: &str = "import the CSV with its columns as text, or write Parquet";

/// True for text that spreadsheets run when a CSV is opened: it begins with `=`, `+`, `-`, `@`, a
/// tab or a line break, and is not a number.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text.trim().parse::<f64>().is_err()
}

fn is_text_column(dtype: &FileType) -> bool {
    match dtype {
        FileType::Dictionary(_, values) => is_text_array_type(values),
        other => is_text_array_type(other),
    }
}

/// Adds a line of cells to a table of text, numbers right-aligned.
fn push_text_row(out: &mut String, cells: &[String], widths: &[usize], fields: &Fields) {
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
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut_text(text: &str) -> String {
    let plain = displayed_line(text);
    if length(&plain) <= COLUMN_WIDTH_MAX {
        plain.into_owned()
    } else {
        plain
            .chars()
            .take(COLUMN_WIDTH_MAX - 1)
            .chain(['…'])
            .collect()
    }
}

/// Checks the size of strings in a level table: there each row has its own copy of a string that
/// rows of the engine share.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when the copies exceed the budget.
fn check_texts(frame: &DataFrame) -> Result<()> {
    let stored: u64 = frame
        .columns()
        .iter()
        .map(|column| ResultTextBytes::from_series(column.as_materialized_series()).stored)
        .sum();
    let views = STRING_VIEW_BYTES
        .saturating_mul(frame.height() as u64)
        .saturating_mul(frame.width() as u64);
    let budget = DecodeBudget::of_stored(stored.saturating_add(views) / BUDGET_DIVISOR);
    for column in frame.columns() {
        let expanded = ResultTextBytes::from_series(column.as_materialized_series()).expanded;
        budget.take(expanded, || {
            format!("column {} of the result unfolds", column.name())
        })?;
    }
    Ok(())
}

/// Bytes of the strings and binary values of a column.
#[derive(Default)]
struct ResultTextBytes {
    /// Bytes in the engine, where rows share strings.
    stored: u64,
    /// Bytes when each row has its own copy.
    expanded: u64,
}

impl ResultTextBytes {
    fn from_series(series: &Series) -> Self {
        let parts = match series.dtype() {
            DataType::String => series.str().map_or(Vec::new(), |texts| {
                texts
                    .downcast_iter()
                    .map(|array| (array.total_buffer_len(), array.total_bytes_len()))
                    .collect()
            }),
            DataType::Binary => series.binary().map_or(Vec::new(), |values| {
                values
                    .downcast_iter()
                    .map(|array| (array.total_buffer_len(), array.total_bytes_len()))
                    .collect()
            }),
            DataType::List(_) => {
                return series.list().map_or(Self::default(), |lists| {
                    Self::from_series(&lists.get_inner())
                });
            }
            DataType::Struct(_) => {
                let fields = series
                    .struct_()
                    .map_or(Vec::new(), |all| all.fields_as_series());
                return fields
                    .iter()
                    .map(Self::from_series)
                    .fold(Self::default(), Self::add);
            }
            _ => Vec::new(),
        };
        parts
            .into_iter()
            .map(|(stored, expanded)| Self {
                stored: stored as u64,
                expanded: expanded as u64,
            })
            .fold(Self::default(), Self::add)
    }

    fn add(self, other: Self) -> Self {
        Self {
            stored: self.stored.saturating_add(other.stored),
            expanded: self.expanded.saturating_add(other.expanded),
        }
    }
}

/// Converts the engine's frame to a level table.
pub(super) fn to_table(frame: &DataFrame) -> Result<LevelTable> {
    if frame.width() == 0 {
        return Ok(LevelTable::new(Arc::new(Schema::empty()), Vec::new()));
    }
    check_texts(frame)?;
    let (schema, batches) = arrow_convert::batches(frame).map_err(|error| {
        Error::unsupported("the result has a type that tables lack").because(error.to_string())
    })?;
    Ok(LevelTable::new(schema, batches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_spreadsheets_run_are_named_and_numbers_are_not() {
        let warning = |name: &str, cells: &[&str]| {
            let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
            QueryResult::of_texts([("id", vec!["a".to_owned(); 3]), (name, cells)])
                .expect("a result")
                .formula_warning()
        };
        assert_eq!(warning("note", &["-12.5", "+1e3", "a=b"]), None);
        assert_eq!(warning("note", &["", "-inf", "x@y"]), None);
        for cell in [
            "=cmd|'/C calc'!A0",
            "+SUM(A1)",
            "-2+3",
            "@now",
            "\t=1",
            "+34 600 000 000",
        ] {
            let said = warning("note", &["ok", cell, "=later"]).unwrap_or_else(|| panic!("{cell}"));
            assert!(said.contains("in row 2 of column note"), "{said}");
        }
        assert!(
            warning("=1+1", &["a", "b", "c"])
                .is_some_and(|said| said.contains("name of column =1+1"))
        );
        let csv = QueryResult::of_texts([("note", vec!["=1+1".to_owned()])])
            .expect("a result")
            .csv();
        assert_eq!(csv, "note\n=1+1\n", "programs read the text as it is");
    }

    #[test]
    fn a_text_table_says_how_many_rows_it_leaves_out() {
        let rows = vec!["a".to_owned(); 3];
        let result = QueryResult::of_texts([("id", rows)]).expect("a result");
        assert_eq!(result.text(3), "id\na\na\na\n");
        assert!(result.text(2).ends_with("… and 1 more row\n"));
        assert!(result.text(1).ends_with("… and 2 more rows\n"));
    }
}
