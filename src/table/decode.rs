//! Decodes level tables: all or some columns, at once or batch by batch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression as PageCodec;
use rayon::prelude::*;

use super::pages::Weight;
use super::parquet_io::BATCH_ROWS;
use super::parquet_slice::{catch_panics, parquet_read_error, unreadable};
use super::unfolded::unfolded_bytes;
use super::views::{override_column_types, viewed_within};
use super::{DecodeBudget, LevelTable, TableHead};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Rows of a batch where all are read one after the other.
const STREAMED_ROWS: usize = 8192;
/// Rows per batch when strings may exceed the memory budget: each batch is counted before its
/// strings are materialized.
const COUNTED_ROWS: usize = 4_096;

/// Parameters for decoding some columns.
struct DecodeRequest<'a> {
    /// Indices of the columns.
    roots: Vec<usize>,
    budget: &'a DecodeBudget,
    /// Metadata with strings as views, when they must be counted before materializing.
    counted: Option<ArrowReaderMetadata>,
}

impl TableHead {
    /// Decodes all rows and columns.
    ///
    /// # Errors
    /// As [`TableHead::decode_columns`].
    pub fn decode(&self, ctx: &JobContext) -> Result<LevelTable> {
        self.decode_columns(None, ctx)
    }

    /// Decodes the named columns, in file order; unknown names are ignored.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] when they exceed the memory budget of the file;
    /// [`crate::error::Kind::Format`] when the pages are damaged.
    pub fn decode_columns(&self, columns: Option<&[&str]>, ctx: &JobContext) -> Result<LevelTable> {
        self.decode_within(columns, &self.budget(), ctx)
    }

    /// The memory budget of this file.
    pub fn budget(&self) -> DecodeBudget {
        DecodeBudget::of_stored(self.stored_bytes())
    }

    /// As [`TableHead::decode_columns`], with a memory budget shared by several files.
    ///
    /// # Errors
    /// As [`TableHead::decode_columns`].
    pub fn decode_within(
        &self,
        columns: Option<&[&str]>,
        budget: &DecodeBudget,
        ctx: &JobContext,
    ) -> Result<LevelTable> {
        let mut batches = Vec::new();
        let runs = self.runs();
        if runs.len() < 2 {
            let schema = self.scan(columns, budget, BATCH_ROWS, ctx, &mut |batch| {
                batches.push(batch);
                Ok(())
            })?;
            return Ok(LevelTable::new(schema, batches));
        }
        // Row groups in parallel.
        let reading = catch_panics("choosing the pages", || self.reading(columns, budget, ctx))?;
        let decoded = runs.into_par_iter().map(|run| {
            catch_panics("reading the Parquet pages", || {
                let mut batches = Vec::new();
                let schema =
                    self.scan_groups(&reading, Some(run), BATCH_ROWS, ctx, &mut |batch| {
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

    /// Decodes all rows batch by batch, with one batch in memory at a time.
    ///
    /// # Errors
    /// As [`TableHead::decode_columns`], and the errors of `sink`.
    pub fn for_each_batch(
        &self,
        ctx: &JobContext,
        sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.scan(None, &self.budget(), STREAMED_ROWS, ctx, sink)
            .map(|_| ())
    }

    /// Fetches the pages of some columns and checks their size against the budget before decoding.
    fn reading<'a>(
        &self,
        columns: Option<&[&str]>,
        budget: &'a DecodeBudget,
        ctx: &JobContext,
    ) -> Result<DecodeRequest<'a>> {
        self.fetch_columns(columns)?;
        let is_wanted = |field: &FieldRef| {
            columns.is_none_or(|columns| columns.contains(&field.name().as_str()))
        };
        let roots: Vec<usize> = self
            .schema()
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| is_wanted(field))
            .map(|(index, _)| index)
            .collect();
        let mask = ProjectionMask::roots(
            self.parquet_metadata().file_metadata().schema_descr(),
            roots.iter().copied(),
        );
        let file = Arc::new(self.slice.clone());
        let mut weight = Weight::default();
        for group in self.parquet_metadata().row_groups() {
            ctx.check()?;
            let rows = u64::try_from(group.num_rows()).unwrap_or_default();
            for (_, chunk) in group
                .columns()
                .iter()
                .enumerate()
                .filter(|(leaf, _)| mask.leaf_included(*leaf))
            {
                expect_known_codec(chunk.compression())?;
                weight.add(&file, chunk, rows, budget)?;
            }
        }
        let counted = if budget.reserve(weight.most) {
            None
        } else {
            Some(self.metadata_for_views(&weight, budget)?)
        };
        Ok(DecodeRequest {
            roots,
            budget,
            counted,
        })
    }

    /// Metadata for columns whose repeated strings may exceed the budget.
    fn metadata_for_views(
        &self,
        weight: &Weight,
        budget: &DecodeBudget,
    ) -> Result<ArrowReaderMetadata> {
        let reading = override_column_types(&self.metadata, viewed_within);
        match reading {
            Some(reading) => Ok(reading),
            None => Err(budget
                .check(weight.most, || "the table unfolds".into())
                .err()
                .unwrap_or_else(Error::cancelled)),
        }
    }

    /// Prefetches the pages of the named columns of a remote file in few requests.
    fn fetch_columns(&self, columns: Option<&[&str]>) -> Result<()> {
        let Some(prefetch) = &self.slice.prefetch else {
            return Ok(());
        };
        let wanted = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
        let mut ranges = Vec::new();
        for group in self.metadata.metadata().row_groups() {
            let chunks = group.columns().iter();
            let chunks = chunks.filter(|chunk| {
                wanted(
                    chunk
                        .column_path()
                        .parts()
                        .first()
                        .map_or("", String::as_str),
                )
            });
            ranges.extend(chunks.map(|chunk| chunk.byte_range()));
        }
        prefetch(&ranges).map_err(|error| unreadable(Box::new(error)))
    }

    /// Passes all batches to a sink; returns their schema.
    pub(super) fn scan(
        &self,
        columns: Option<&[&str]>,
        budget: &DecodeBudget,
        batch_rows: usize,
        ctx: &JobContext,
        sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<SchemaRef> {
        catch_panics("reading the Parquet pages", || {
            let reading = self.reading(columns, budget, ctx)?;
            let mut rows = 0;
            let schema = self.scan_groups(&reading, None, batch_rows, ctx, &mut |batch| {
                rows += batch.num_rows();
                sink(batch)
            })?;
            self.all_were_there(rows, columns)?;
            Ok(schema)
        })
    }

    /// Runs of consecutive row groups, each large enough to fill a batch.
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
            filled =
                filled.saturating_add(usize::try_from(described.num_rows()).unwrap_or_default());
        }
        runs
    }

    /// As [`TableHead::scan`] for some or all row groups, sequentially.
    fn scan_groups(
        &self,
        reading: &DecodeRequest,
        only: Option<Vec<usize>>,
        batch_rows: usize,
        ctx: &JobContext,
        sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<SchemaRef> {
        let metadata = reading.counted.as_ref().unwrap_or(&self.metadata);
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.slice.clone(),
            metadata.clone(),
        );
        if reading.roots.len() < self.schema().fields().len() {
            let mask =
                ProjectionMask::roots(builder.parquet_schema(), reading.roots.iter().copied());
            builder = builder.with_projection(mask);
        }
        if let Some(only) = only {
            builder = builder.with_row_groups(only);
        }
        let batch_rows = if reading.counted.is_some() {
            COUNTED_ROWS
        } else {
            batch_rows
        };
        let reader = builder
            .with_batch_size(batch_rows)
            .build()
            .map_err(|error| parquet_read_error(&error))?;
        let mut schema = arrow::array::RecordBatchReader::schema(&reader);
        if reading.counted.is_some() {
            let fields = reading
                .roots
                .iter()
                .map(|root| self.schema().field(*root).clone());
            schema = Arc::new(Schema::new_with_metadata(
                fields.collect::<Vec<_>>(),
                self.schema().metadata().clone(),
            ));
        }
        for batch in reader {
            ctx.check()?;
            let mut batch = batch.map_err(|error| match ctx.check() {
                Ok(()) => Error::format("the Parquet pages can't be read").because(error),
                Err(cancelled) => cancelled,
            })?;
            if reading.counted.is_some() {
                batch = written_out(&batch, &schema, reading.budget)?;
            }
            ctx.step(batch.num_rows() as u64);
            sink(batch)?;
        }
        Ok(schema)
    }

    /// Checks that the number of decoded rows equals the footer's.
    fn all_were_there(&self, rows: usize, columns: Option<&[&str]>) -> Result<()> {
        if rows != self.rows() {
            return Err(Error::format(format!(
                "the Parquet footer claims {} rows, the pages hold {rows}",
                self.rows()
            )));
        }
        if columns.is_none() {
            self.known.decoded.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Refuses pages that are compressed with a codec that this program lacks.
fn expect_known_codec(codec: PageCodec) -> Result<()> {
    let name = match codec {
        PageCodec::BROTLI(_) => "Brotli",
        PageCodec::LZO => "LZO",
        _ => return Ok(()),
    };
    Err(Error::format(format!(
        "the Parquet pages are compressed with {name}, which this program does not read"
    ))
    .hint("write the table again with another codec, such as zstd"))
}

/// Converts views to the string types of `schema`, after counting their size.
fn written_out(
    batch: &RecordBatch,
    schema: &SchemaRef,
    budget: &DecodeBudget,
) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
    for (column, field) in batch.columns().iter().zip(schema.fields()) {
        budget.take(unfolded_bytes(column), || {
            format!("column {} unfolds", field.name())
        })?;
        columns.push(if column.data_type() == field.data_type() {
            column.clone()
        } else {
            cast(column, field.data_type()).map_err(|error| {
                Error::format(format!("column {} can't be read", field.name())).because(error)
            })?
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::format("the Parquet pages can't be read").because(error))
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;
    use crate::table::{ParquetOptions, ParquetSlice, write_parquet};

    #[test]
    fn row_groups_side_by_side_keep_their_order() {
        let count = 300_000i64;
        let column = |factor: i64| {
            Arc::new(Int64Array::from_iter_values(
                (0..count).map(|row| row * factor),
            )) as ArrayRef
        };
        let batch =
            RecordBatch::try_from_iter([("a", column(1)), ("b", column(-1))]).expect("a batch");
        for row_group_rows in [7_000, 30_000, 100_000, 1_000_000] {
            let options = ParquetOptions {
                row_group_rows,
                ..ParquetOptions::local()
            };
            let bytes = write_parquet(&batch.schema(), std::slice::from_ref(&batch), &options)
                .expect("writes");
            let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads");
            let ctx = JobContext::default();
            let all = head
                .decode(&ctx)
                .expect("decodes")
                .to_batch()
                .expect("one batch");
            assert_eq!(all.columns(), batch.columns(), "{row_group_rows}");
            let some = head
                .decode_columns(Some(&["b"]), &ctx)
                .expect("decodes")
                .to_batch()
                .expect("one batch");
            assert_eq!(some.columns(), &batch.columns()[1..], "{row_group_rows}");
            let groups: Vec<usize> = head.runs().concat();
            assert_eq!(
                groups,
                (0..(count as usize).div_ceil(row_group_rows)).collect::<Vec<_>>()
            );
            ctx.cancel();
            assert!(
                row_group_rows > 100_000 || head.decode(&ctx).is_err(),
                "a cancel is heard"
            );
        }
    }
}
