//! Decoding a whole level: every row or every row of some columns, at once or batch by batch.

use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;

use super::parquet_io::{BATCH_ROWS, damaged, guarded, unreadable};
use super::{LevelTable, TableHead};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

impl TableHead {
    /// Decodes every row.
    pub fn decode(&self, ctx: &JobContext) -> Result<LevelTable> {
        self.decode_columns(None, ctx)
    }

    /// Decodes the named columns only, in file order; names that the file lacks are left out.
    pub fn decode_columns(&self, columns: Option<&[&str]>, ctx: &JobContext) -> Result<LevelTable> {
        let mut batches = Vec::new();
        let runs = self.runs();
        if runs.len() < 2 {
            let schema = self.scan(columns, ctx, &mut |batch| {
                batches.push(batch);
                Ok(())
            })?;
            return Ok(LevelTable::new(schema, batches));
        }
        // Row groups side by side.
        guarded("choosing the pages", || self.fetch_columns(columns))?;
        let decoded = runs.into_par_iter().map(|run| {
            guarded("reading the Parquet pages", || {
                let mut batches = Vec::new();
                let schema = self.scan_groups(columns, Some(run), ctx, &mut |batch| {
                    batches.push(batch);
                    Ok(())
                })?;
                Ok((schema, batches))
            })
        });
        let mut schema = self.schema().clone();
        for (found, part) in decoded.collect::<Result<Vec<_>>>()? {
            schema = found;
            batches.extend(part);
        }
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        self.all_were_there(rows, columns)?;
        Ok(LevelTable::new(schema, batches))
    }

    /// Decodes every row, one batch at a time: no more than one is in memory, whatever the size of the table.
    pub fn for_each_batch(&self, ctx: &JobContext, sink: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        self.scan(None, ctx, sink).map(|_| ())
    }

    /// Has the pages of the named columns brought in as few requests as possible, where reading them takes requests.
    fn fetch_columns(&self, columns: Option<&[&str]>) -> Result<()> {
        let Some(prefetch) = &self.slice.prefetch else { return Ok(()) };
        let wanted = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
        let mut ranges = Vec::new();
        for group in self.metadata.metadata().row_groups() {
            let chunks = group.columns().iter();
            let chunks = chunks.filter(|chunk| wanted(chunk.column_path().parts().first().map_or("", String::as_str)));
            ranges.extend(chunks.map(|chunk| chunk.byte_range()));
        }
        prefetch(&ranges).map_err(|error| unreadable(Box::new(error)))
    }

    /// Hands over batch after batch; gives the schema of the batches.
    pub(super) fn scan(
        &self,
        columns: Option<&[&str]>,
        ctx: &JobContext,
        sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<SchemaRef> {
        guarded("reading the Parquet pages", || {
            self.fetch_columns(columns)?;
            let mut rows = 0;
            let schema = self.scan_groups(columns, None, ctx, &mut |batch| {
                rows += batch.num_rows();
                sink(batch)
            })?;
            self.all_were_there(rows, columns)?;
            Ok(schema)
        })
    }

    /// Row groups that follow one another, so many together that they fill a batch.
    fn runs(&self) -> Vec<Vec<usize>> {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        let mut filled = BATCH_ROWS;
        for (group, described) in self.metadata.metadata().row_groups().iter().enumerate() {
            match runs.last_mut().filter(|_| filled < BATCH_ROWS) {
                Some(run) => run.push(group),
                None => {
                    runs.push(vec![group]);
                    filled = 0;
                }
            }
            filled = filled.saturating_add(usize::try_from(described.num_rows()).unwrap_or_default());
        }
        runs
    }

    /// [`TableHead::scan`] of some row groups, or of all, one after the other.
    fn scan_groups(
        &self,
        columns: Option<&[&str]>,
        only: Option<Vec<usize>>,
        ctx: &JobContext,
        sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<SchemaRef> {
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.slice.clone(), self.metadata.clone());
        if let Some(columns) = columns {
            let wanted = |(index, field): (usize, &FieldRef)| columns.contains(&field.name().as_str()).then_some(index);
            let roots: Vec<usize> = self.schema().fields().iter().enumerate().filter_map(wanted).collect();
            let mask = parquet::arrow::ProjectionMask::roots(builder.parquet_schema(), roots);
            builder = builder.with_projection(mask);
        }
        if let Some(only) = only {
            builder = builder.with_row_groups(only);
        }
        let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| damaged(&error))?;
        let schema = arrow::array::RecordBatchReader::schema(&reader);
        for batch in reader {
            ctx.check()?;
            let batch = batch.map_err(|error| match ctx.check() {
                Ok(()) => Error::format("the Parquet pages can't be read").because(error),
                Err(cancelled) => cancelled,
            })?;
            ctx.step(batch.num_rows() as u64);
            sink(batch)?;
        }
        Ok(schema)
    }

    /// An error unless as many rows were decoded as the footer claims.
    fn all_were_there(&self, rows: usize, columns: Option<&[&str]>) -> Result<()> {
        if rows != self.rows() {
            return Err(Error::format(format!("the Parquet footer claims {} rows, the pages hold {rows}", self.rows())));
        }
        if columns.is_none() {
            self.known.decoded.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};

    use super::*;
    use crate::table::{ParquetOptions, ParquetSlice, write_parquet};

    #[test]
    fn row_groups_side_by_side_keep_their_order() {
        let count = 300_000i64;
        let column = |factor: i64| Arc::new(Int64Array::from_iter_values((0..count).map(|row| row * factor))) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("a", column(1)), ("b", column(-1))]).expect("a batch");
        for row_group_rows in [7_000, 30_000, 100_000, 1_000_000] {
            let options = ParquetOptions { row_group_rows, ..ParquetOptions::local() };
            let bytes = write_parquet(&batch.schema(), std::slice::from_ref(&batch), &options).expect("writes");
            let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads");
            let ctx = JobContext::default();
            let all = head.decode(&ctx).expect("decodes").to_batch().expect("one batch");
            assert_eq!(all.columns(), batch.columns(), "{row_group_rows}");
            let some = head.decode_columns(Some(&["b"]), &ctx).expect("decodes").to_batch().expect("one batch");
            assert_eq!(some.columns(), &batch.columns()[1..], "{row_group_rows}");
            let groups: Vec<usize> = head.runs().concat();
            assert_eq!(groups, (0..(count as usize).div_ceil(row_group_rows)).collect::<Vec<_>>());
            ctx.cancel();
            assert!(row_group_rows > 100_000 || head.decode(&ctx).is_err(), "a cancel is heard");
        }
    }
}
