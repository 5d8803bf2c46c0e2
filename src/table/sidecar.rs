//! Metadata tables that lie beside the data: CSV and Parquet, told by content.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;

use super::{LevelTable, ParquetSlice, TableHead};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;

/// Reads a whole CSV (comma, semicolon or tab; first line names the columns; types inferred from all rows) or Parquet table.
pub fn read_sidecar(path: &Path, ctx: &JobContext) -> Result<LevelTable> {
    let mut file = File::open(path).io_at("open the metadata table", path)?;
    let mut magic = [0; 4];
    let read = file.read(&mut magic).io_at("read the metadata table", path)?;
    file.seek(SeekFrom::Start(0)).io_at("read the metadata table", path)?;
    if &magic[..read] == b"PAR1" {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).io_at("read the metadata table", path)?;
        return TableHead::read(ParquetSlice::from_bytes(bytes.into()))?.decode(ctx);
    }
    read_csv(file, path, ctx)
}

fn read_csv(mut file: File, path: &Path, ctx: &JobContext) -> Result<LevelTable> {
    let wrong = |error: arrow::error::ArrowError| {
        Error::format("the metadata table can't be read as CSV")
            .because(error)
            .at_path(path)
            .hint("save it as UTF-8 with a header line")
    };
    let mut text = String::new();
    file.read_to_string(&mut text).io_at("read the metadata table as UTF-8", path)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let header = text.lines().next().unwrap_or_default();
    let count = |delimiter: char| header.matches(delimiter).count();
    let delimiter = [',', ';', '\t'].into_iter().max_by_key(|&d| count(d)).filter(|&d| count(d) > 0).unwrap_or(',');
    let format = Format::default().with_header(true).with_delimiter(delimiter as u8);
    let (schema, _) = format.infer_schema(text.as_bytes(), None).map_err(wrong)?;
    let schema = Arc::new(schema);
    let reader = ReaderBuilder::new(schema.clone()).with_format(format).build(text.as_bytes()).map_err(wrong)?;
    let mut batches = Vec::new();
    for batch in reader {
        ctx.check()?;
        batches.push(batch.map_err(wrong)?);
    }
    Ok(LevelTable::new(schema, batches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;

    #[test]
    fn csv_types_are_inferred_from_every_row() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("meta.csv");
        std::fs::write(&path, "path;clouds;split\na.tif;1;train\nb.tif;2.5;\n").expect("writes");
        let table = read_sidecar(&path, &JobContext::default()).expect("reads");
        let types: Vec<_> = table.fields().iter().map(|field| dtype_name(&field.dtype)).collect();
        assert_eq!(types, ["string", "double", "string"]);
        assert_eq!(table.rows(), 2);
        assert!(table.value(1, 2).is_null());
    }
}
