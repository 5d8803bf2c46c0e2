//! The rows of a query as a file: CSV, JSON lines or Parquet, told from the file's name.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::tables::tables_of;
use super::{Event, Finish, Outcome, Studio};
use crate::error::{Error, IoContext, Result};
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
            save(&rows, &target)?;
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

/// Complete or not at all.
fn save(rows: &QueryResult, target: &Path) -> Result<()> {
    let bytes = match ending(target)? {
        "csv" => rows.csv().into_bytes(),
        "json" => json_lines(rows).into_bytes(),
        _ => write_parquet(rows.table.schema(), rows.table.batches(), &ParquetOptions::default())?,
    };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut partial = tempfile::Builder::new().prefix(".taco-studio-").tempfile_in(folder).io_at("write", target)?;
    partial.write_all(&bytes).io_at("write", target)?;
    partial.as_file().sync_all().io_at("write", target)?;
    partial.persist(target).map_err(|error| error.error).io_at("write", target)?;
    Ok(())
}
