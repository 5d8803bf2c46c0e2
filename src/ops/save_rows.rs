//! The rows of a query as a file: CSV, JSON lines or Parquet, chosen by the file's extension.

use std::path::Path;

use crate::container::write_document;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::query::{self, Query, QueryResult, Tables};
use crate::table::{ParquetOptions, write_parquet};

/// `csv`, `json` or `parquet`, by the ending of the file's name.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for any other ending.
pub fn row_format(target: &Path) -> Result<&'static str> {
    let ending = target
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match ending.as_str() {
        "csv" => Ok("csv"),
        "json" | "jsonl" | "ndjson" => Ok("json"),
        "parquet" => Ok("parquet"),
        _ => Err(Error::usage("rows are saved as CSV, JSON or Parquet")
            .at_path(target)
            .hint("give the file a name that ends with .csv, .json or .parquet")),
    }
}

/// Rows as JSON objects, one a line.
pub fn json_lines(rows: &QueryResult) -> String {
    rows.json_rows()
        .map(|row| serde_json::Value::Object(row).to_string() + "\n")
        .collect()
}

/// Runs the query over the tables and writes its rows, complete or not at all. A file that exists
/// is replaced.
///
/// # Errors
/// Those of [`row_format`], of the query and of writing the file.
pub fn save_rows(tables: &Tables, query: &Query, target: &Path, ctx: &JobContext) -> Result<()> {
    let format = row_format(target)?;
    let rows = query::run(tables, query, ctx)?;
    ctx.check()?;
    if format == "csv" {
        rows.formula_warning()
            .into_iter()
            .for_each(|warning| ctx.warn(warning));
    }
    let bytes = match format {
        "csv" => rows.csv().into_bytes(),
        "json" => json_lines(&rows).into_bytes(),
        _ => write_parquet(
            rows.table.schema(),
            rows.table.batches(),
            &ParquetOptions::default(),
        )?,
    };
    write_document(target, &bytes, true)
}
