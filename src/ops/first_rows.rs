//! The first rows of a dataset, read before its tables are decoded, for the window while a large
//! dataset is opened.

use arrow::array::RecordBatch;
use arrow::compute::{cast, concat};

use crate::container::ContainerReader;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::table::{LevelTable, RowGroups};

/// The first rows of level 0.
#[derive(Clone, Debug)]
pub struct FirstRows {
    /// The rows, with every column that users see.
    pub table: LevelTable,
    /// Rows of the whole level.
    pub total: usize,
    /// Bytes of the stored table of level 0.
    pub stored_bytes: u64,
}

/// Reads at most `most` rows of level 0, all of its first row group. `None` for a dataset whose
/// tables are not Parquet files.
///
/// # Errors
/// When a column can't be read, and when the work is cancelled.
pub fn first_rows(
    reader: &dyn ContainerReader,
    most: usize,
    ctx: &JobContext,
) -> Result<Option<FirstRows>> {
    let Some(head) = reader.levels().head(0) else {
        return Ok(None);
    };
    let groups = RowGroups::new(head);
    let mut columns = Vec::new();
    for (index, field) in head.schema().fields().iter().enumerate() {
        ctx.check()?;
        if field.name().starts_with("internal:") || groups.count() == 0 {
            continue;
        }
        let arrays = groups.column(0, index, None)?;
        let pieces: Vec<&dyn arrow::array::Array> = arrays.iter().map(AsRef::as_ref).collect();
        let unreadable =
            |error| Error::format(format!("column {} can't be read", field.name())).because(error);
        let Some(first) = arrays.first() else {
            continue;
        };
        let whole = if first.len() >= most || pieces.len() == 1 {
            first.clone()
        } else {
            concat(&pieces).map_err(unreadable)?
        };
        let shown = whole.slice(0, whole.len().min(most));
        columns.push((
            field.name().clone(),
            cast(&shown, field.data_type()).map_err(unreadable)?,
            true,
        ));
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let batch = RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|error| Error::format("the first rows are not of one length").because(error))?;
    let table = LevelTable::new(batch.schema(), vec![batch]);
    Ok(Some(FirstRows {
        table,
        total: reader.levels().rows(0),
        stored_bytes: head.stored_bytes(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container;

    #[test]
    fn the_first_rows_are_those_of_the_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = crate::ops::make_sample_dataset(folder.path(), &JobContext::default())
            .expect("a dataset");
        let ctx = JobContext::default();
        let reader = container::open(&path, &ctx).expect("opens");
        let first = first_rows(reader.as_ref(), 5, &ctx)
            .expect("reads")
            .expect("is Parquet");
        let whole = reader.levels().table(0, &ctx).expect("decodes");
        assert_eq!((first.table.rows(), first.total), (5, whole.rows()));
        for (column, field) in first.table.schema().fields().iter().enumerate() {
            let there = whole.column_index(field.name()).expect("is a column");
            for row in 0..5 {
                assert_eq!(
                    first.table.text(row, column),
                    whole.text(row, there),
                    "{} of row {row}",
                    field.name()
                );
            }
        }
        assert!(first.table.column_index("internal:offset").is_none());
    }
}
