//! The table of one FOLDER: its `__meta__`, or level 0 for the whole dataset, as the official
//! reader gives it when a FOLDER is read.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};

use crate::container::{ContainerReader, Physical};
use crate::error::{Error, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{is_padding, is_remote};
use crate::query::QueryResult;
use crate::table::{LevelTable, take_rows};

/// The column with each sample's path for GDAL.
const VSI: &str = "internal:gdal_vsi";

/// The children of the FOLDER at `(level, row)`, or level 0, without padding: their metadata, and
/// `internal:gdal_vsi` unless each path would take a request of its own (a remote FOLDER).
///
/// # Errors
/// When the row is no FOLDER, or its table cannot be read.
pub fn folder_table(
    reader: &dyn ContainerReader,
    folder: Option<(usize, u32)>,
    ctx: &JobContext,
) -> Result<QueryResult> {
    let tree = reader.levels().skeleton(ctx)?;
    let (level, table, rows): (usize, LevelTable, Vec<u32>) = match folder {
        None => (
            0,
            (*reader.levels().table(0, ctx)?).clone(),
            (0..reader.levels().rows(0) as u32).collect(),
        ),
        Some((level, row)) => (
            level + 1,
            reader.local_meta(level, row)?,
            tree.levels[level].children(row).to_vec(),
        ),
    };
    let name = ["id", "tortilla:id"]
        .into_iter()
        .find(|name| table.column_index(name).is_some())
        .unwrap_or("id");
    let ids = table
        .strings(name)?
        .ok_or_else(|| Error::format("the table has no column id"))?;
    let known = tree.levels.get(level);
    // On level 0 the rows of the table are those of the tree; a `__meta__` may have another order.
    let by_id: HashMap<&str, u32> = match (folder, known) {
        (Some(_), Some(known)) => rows.iter().map(|&row| (known.id(row), row)).collect(),
        _ => HashMap::new(),
    };
    let shown: Vec<u32> = (0..ids.len() as u32)
        .filter(|&at| !is_padding(ids.value(at as usize)))
        .collect();
    let fields = table.schema().fields();
    let kept: Vec<usize> = (0..fields.len())
        .filter(|&index| !fields[index].name().starts_with("internal:"))
        .collect();
    let failed = |error: arrow::error::ArrowError| {
        Error::internal("rows of a table can't be chosen").because(error)
    };
    let batch = table.to_batch()?.project(&kept).map_err(failed)?;
    let batch = take_rows(&batch, &shown)?;
    let mut fields: Vec<FieldRef> = batch.schema().fields().to_vec();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if !(matches!(reader.physical(), Physical::Folder(_)) && is_remote(&reader.info().path)) {
        let mut paths = Vec::with_capacity(shown.len());
        for &at in &shown {
            if at % 1024 == 0 {
                ctx.check()?;
            }
            let row = if folder.is_some() {
                by_id.get(ids.value(at as usize)).copied()
            } else {
                Some(at)
            };
            let asset = row
                .map(|row| separate_transient_error(reader.asset(level, row)))
                .transpose()?;
            paths.push(asset.and_then(Result::ok).map(|(asset, _)| asset.to_vsi()));
        }
        fields.push(Arc::new(Field::new(VSI, DataType::Utf8, true)));
        columns.push(Arc::new(StringArray::from(paths)));
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(failed)?;
    let row_count = batch.num_rows();
    Ok(QueryResult {
        table: Arc::new(LevelTable::new(schema, vec![batch])),
        row_count,
        truncated: false,
    })
}
