//! The rows of a query as a file: CSV, JSON lines or Parquet, told from the file's name.

use std::path::{Path, PathBuf};

use super::tables::tables_of;
use super::{Event, Finish, Outcome, Studio};
use crate::container::write_document;
use crate::error::{Error, Result};
use crate::query::{self, Query, QueryResult};
use crate::table::{ParquetOptions, write_parquet};

impl Studio {
    /// Runs a query and saves its rows.
    pub(super) fn save_rows(&mut self, query: Query, target: PathBuf) -> Result<Outcome> {
        let reader = self.need_opened()?.reader.clone();
        ending(&target)?;
        Ok(self.start(&tr!("Save rows to {path}", path = target.display()), move |ctx| {
            let rows = query::run(&tables_of(reader.as_ref(), ctx)?, &query, ctx)?;
            ctx.check()?;
            save_rows(&rows, &target, true)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Saved(target))) as Finish)
        }))
    }
}

fn ending(target: &Path) -> Result<&'static str> {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
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
    rows.json_rows().map(|row| serde_json::Value::Object(row).to_string() + "\n").collect()
}

/// Writes rows as the file's name says, complete or not at all.
fn save_rows(rows: &QueryResult, target: &Path, overwrite: bool) -> Result<()> {
    let bytes = match ending(target)? {
        "csv" => rows.csv().into_bytes(),
        "json" => json_lines(rows).into_bytes(),
        _ => write_parquet(rows.table.schema(), rows.table.batches(), &ParquetOptions::default())?,
    };
    write_document(target, &bytes, overwrite)
}
