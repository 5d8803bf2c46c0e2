//! Decodes single columns of single row groups, so a query reads only the pages it needs. Strings
//! and binary are views into the pages (no copy). A damaged file gives an error, never a panic.

use std::collections::HashSet;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray};
use arrow::datatypes::{DataType, Field, Int32Type, SchemaRef};
use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::Encoding;
use parquet::file::reader::{ChunkReader, Length};

use super::pages::Weight;
use super::parquet_slice::{catch_panics, parquet_read_error};
use super::unfolded::unfolded_bytes;
use super::views::{in_dictionary, override_column_types, to_view_field};
use super::{DecodeBudget, ParquetSlice, TableHead};
use crate::error::{Error, Result};

/// Maximum rows per batch in large row groups: a view cannot refer to more than 4 GiB of pages.
const BATCH_ROWS: usize = 1 << 20;
/// Maximum rows per batch when strings may exceed the memory budget.
const COUNTED_ROWS: usize = 1 << 16;

/// The row groups of a Parquet file. Cheap to clone.
#[derive(Clone)]
pub struct RowGroups {
    slice: ParquetSlice,
    metadata: ArrowReaderMetadata,
    /// Metadata for reading strings as dictionary keys; created on first use.
    numbered: Arc<OnceLock<Option<ArrowReaderMetadata>>>,
    unfolded: Arc<MemoryAccount>,
    stored: u64,
}

/// Memory accounting: each column of each row group counts once.
struct MemoryAccount {
    budget: DecodeBudget,
    counted: Mutex<HashSet<(usize, usize)>>,
}

/// Handling of dictionary-encoded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dictionaries {
    /// Values will be materialized, and count for every row.
    Unfold,
    /// Values stay dictionary keys.
    Keep,
}

impl RowGroups {
    /// The row groups of a file from its footer.
    pub fn new(head: &TableHead) -> Self {
        let stored = head.metadata();
        // The stored schema is used when the decoder does not support the view types.
        let metadata =
            override_column_types(stored, to_view_field).unwrap_or_else(|| stored.clone());
        let unfolded = Arc::new(MemoryAccount {
            budget: head.budget(),
            counted: Mutex::default(),
        });
        Self {
            slice: head.slice().clone(),
            metadata,
            numbered: Arc::default(),
            unfolded,
            stored: head.stored_bytes(),
        }
    }

    /// Stored size in bytes of all column chunks.
    pub fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// The schema of the columns returned by [`RowGroups::column`].
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Number of row groups.
    pub fn count(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// Number of rows of a row group; 0 when there is none.
    pub fn rows(&self, group: usize) -> usize {
        let groups = self.metadata.metadata().row_groups();
        groups
            .get(group)
            .and_then(|group| usize::try_from(group.num_rows()).ok())
            .unwrap_or(0)
    }

    /// One column of one row group: all rows, or those where `keep` is true.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] when the columns read so far exceed the memory budget;
    /// [`crate::error::Kind::Format`] when the pages are damaged.
    pub fn column(
        &self,
        group: usize,
        column: usize,
        keep: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        catch_panics("reading a column", || {
            self.decode(&self.metadata, group, column, keep, Dictionaries::Unfold)
        })
        .map_err(|error| {
            let name = self.column_name(column);
            Error::format(format!("column {name} can't be read")).because(error)
        })
    }

    fn column_name(&self, column: usize) -> &str {
        let field = self.schema().fields().get(column);
        field.map_or("", |field| field.name().as_str())
    }

    /// All rows of a string column of one row group as dictionary array, whose dictionary may
    /// contain duplicates. `None` unless the file states that all pages are dictionary-encoded.
    pub fn read_dictionary_column(
        &self,
        group: usize,
        column: usize,
    ) -> Option<Result<DictionaryArray<Int32Type>>> {
        let described = self.metadata.metadata().row_groups().get(group)?;
        let is_text = matches!(
            self.schema().fields().get(column)?.data_type(),
            DataType::Utf8View
        );
        let metadata = self
            .numbered
            .get_or_init(|| override_column_types(&self.metadata, in_dictionary))
            .as_ref()
            .filter(|_| is_text)?;
        let mask = ProjectionMask::roots(
            self.metadata.metadata().file_metadata().schema_descr(),
            [column],
        );
        let (_, chunk) = described
            .columns()
            .iter()
            .enumerate()
            .find(|(leaf, _)| mask.leaf_included(*leaf))?;
        let pages = chunk.page_encoding_stats_mask()?;
        if !(pages.is_only(Encoding::RLE_DICTIONARY) || pages.is_only(Encoding::PLAIN_DICTIONARY)) {
            return None;
        }
        match catch_panics("reading a column", || {
            self.decode(metadata, group, column, None, Dictionaries::Keep)
        }) {
            Ok(arrays) => match arrays.as_slice() {
                [array] => array.as_dictionary_opt::<Int32Type>().cloned().map(Ok),
                _ => None,
            },
            Err(error) => Some(Err(error)),
        }
    }

    fn decode(
        &self,
        reading: &ArrowReaderMetadata,
        group: usize,
        column: usize,
        keep: Option<&BooleanArray>,
        dictionaries: Dictionaries,
    ) -> Result<Vec<ArrayRef>> {
        let metadata = reading.metadata();
        let Some(described) = metadata.row_groups().get(group) else {
            return Err(Error::internal("there is no such row group"));
        };
        let mask = ProjectionMask::roots(metadata.file_metadata().schema_descr(), [column]);
        let mut chunks = Vec::new();
        for (leaf, chunk) in described
            .columns()
            .iter()
            .enumerate()
            .filter(|(leaf, _)| mask.leaf_included(*leaf))
        {
            let (start, length) = chunk.byte_range();
            let bytes = self
                .slice
                .range(start, length as usize)
                .map_err(|error| parquet_read_error(&error))?;
            debug_assert!(leaf < described.columns().len());
            chunks.push((start, bytes));
        }
        let rows = self.rows(group);
        let wanted = keep.map_or(rows, BooleanArray::true_count);
        let fetched = FetchedChunks {
            chunks: chunks.into(),
            size: self.slice.size_bytes(),
        };
        let is_large = self.weigh(&fetched, (group, column), &mask)?;
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(fetched, reading.clone())
                .with_row_groups(vec![group])
                .with_projection(mask)
                .with_batch_size(wanted.clamp(1, if is_large { COUNTED_ROWS } else { BATCH_ROWS }));
        if let Some(keep) = keep.filter(|_| wanted < rows) {
            builder =
                builder.with_row_selection(RowSelection::from_filters(std::slice::from_ref(keep)));
        }
        let mut arrays = Vec::new();
        let mut found = 0;
        for batch in builder
            .build()
            .map_err(|error| parquet_read_error(&error))?
        {
            let batch = batch
                .map_err(|error| Error::format("the Parquet pages can't be read").because(error))?;
            found += batch.num_rows();
            let Some(array) = batch.columns().first() else {
                continue;
            };
            let keeps = dictionaries == Dictionaries::Keep
                && matches!(array.data_type(), DataType::Dictionary(..));
            if is_large && !keeps {
                self.unfolded.budget.take(unfolded_bytes(array), || {
                    format!("column {} unfolds", self.schema().field(column).name())
                })?;
            }
            arrays.push(array.clone());
        }
        if found != wanted {
            return Err(Error::format(format!(
                "the Parquet footer claims {wanted} rows, the pages hold {found}"
            )));
        }
        Ok(arrays)
    }

    /// Accounts for the pages of a column; returns true when its strings must be counted while
    /// decoding.
    fn weigh(
        &self,
        fetched: &FetchedChunks,
        (group, column): (usize, usize),
        mask: &ProjectionMask,
    ) -> Result<bool> {
        let Some(described) = self.metadata.metadata().row_groups().get(group) else {
            return Ok(false);
        };
        let (file, budget) = (Arc::new(fetched.clone()), &self.unfolded.budget);
        let mut weight = Weight::default();
        for (_, chunk) in described
            .columns()
            .iter()
            .enumerate()
            .filter(|(leaf, _)| mask.leaf_included(*leaf))
        {
            weight.add(&file, chunk, self.rows(group) as u64, budget)?;
        }
        if self
            .unfolded
            .counted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((group, column))
        {
            budget.take(weight.least, || "the columns of the table unfold".into())?;
        }
        let is_large = weight.most > budget.limit();
        if is_large
            && self
                .schema()
                .fields()
                .get(column)
                .is_some_and(|field| field.data_type().is_nested())
        {
            // Strings inside lists are materialized by the decoder.
            budget.check(weight.most, || {
                format!("column {} unfolds", self.schema().field(column).name())
            })?;
        }
        Ok(is_large)
    }

    /// Minimum and maximum of a column by row group, null where the writer omitted them. Only for
    /// signed integers, floats, dates and times; `None` for other columns. Bounds of floats ignore
    /// NaN.
    pub fn bounds(&self, column: usize) -> Option<(ArrayRef, ArrayRef)> {
        let field = self.schema().fields().get(column)?;
        let ordered = field.data_type().is_signed_integer()
            || field.data_type().is_floating()
            || field.data_type().is_temporal();
        if ordered {
            self.statistics(field)
        } else {
            None
        }
    }

    /// Minimum and maximum of a string column by row group; bounds may be truncated, but never
    /// exclude a value.
    pub fn text_bounds(&self, column: usize) -> Option<(ArrayRef, ArrayRef)> {
        let field = self.schema().fields().get(column)?;
        matches!(
            field.data_type(),
            DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8
        )
        .then(|| self.statistics(field))
        .flatten()
    }

    fn statistics(&self, field: &Field) -> Option<(ArrayRef, ArrayRef)> {
        let metadata = self.metadata.metadata();
        let found = catch_panics("reading the Parquet statistics", || {
            let parquet_schema = metadata.file_metadata().schema_descr();
            let converter =
                StatisticsConverter::try_new(field.name(), self.schema(), parquet_schema)
                    .map_err(|e| parquet_read_error(&e))?;
            let mins = converter
                .row_group_mins(metadata.row_groups())
                .map_err(|e| parquet_read_error(&e))?;
            let maxes = converter
                .row_group_maxes(metadata.row_groups())
                .map_err(|e| parquet_read_error(&e))?;
            Ok((mins, maxes))
        });
        found
            .ok()
            .filter(|(mins, maxes)| mins.len() == self.count() && maxes.len() == self.count())
    }
}

/// Column chunks in memory, from which pages are sliced.
#[derive(Clone)]
struct FetchedChunks {
    chunks: Arc<[(u64, Bytes)]>,
    size: u64,
}

impl FetchedChunks {
    /// The bytes from offset `start`; to the end of the chunk when `length` is `None`.
    fn bytes_at(&self, start: u64, length: Option<usize>) -> parquet::errors::Result<Bytes> {
        let found = self.chunks.iter().find_map(|(first, bytes)| {
            // Another chunk may begin where one ends.
            let from = usize::try_from(start.checked_sub(*first)?)
                .ok()
                .filter(|from| *from < bytes.len())?;
            let end = from
                .checked_add(length.unwrap_or(bytes.len() - from))
                .filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(from..end))
        });
        let nothing = || (length == Some(0)).then(Bytes::new);
        found.or_else(nothing).ok_or_else(|| {
            parquet::errors::ParquetError::EOF(format!("byte {start} is outside the column"))
        })
    }
}

impl Length for FetchedChunks {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for FetchedChunks {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Box<dyn Read>> {
        Ok(Box::new(self.bytes_at(start, None)?.reader()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.bytes_at(start, Some(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ParquetOptions, write_parquet};
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use arrow::datatypes::Int64Type;

    fn groups() -> RowGroups {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..10).map(|n| format!("a text of some length, {n}")),
        ));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).expect("is a batch");
        let options = ParquetOptions {
            row_group_rows: 4,
            ..ParquetOptions::local()
        };
        let bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
        RowGroups::new(
            &TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer"),
        )
    }

    #[test]
    fn chosen_rows_of_one_column_are_decoded() {
        let groups = groups();
        assert_eq!(
            (
                groups.count(),
                groups.rows(0),
                groups.rows(2),
                groups.rows(3)
            ),
            (3, 4, 2, 0)
        );
        let all = groups.column(1, 0, None).expect("decodes");
        assert_eq!(all[0].as_primitive::<Int64Type>().values(), &[4, 5, 6, 7]);
        let keep = BooleanArray::from(vec![false, true, false, true]);
        let some = groups.column(1, 1, Some(&keep)).expect("decodes");
        let texts: Vec<&str> = some[0].as_string_view().iter().flatten().collect();
        assert_eq!(
            texts,
            ["a text of some length, 5", "a text of some length, 7"]
        );
        assert!(groups.column(3, 0, None).is_err() && groups.column(0, 7, None).is_err());
    }

    #[test]
    fn texts_that_repeat_are_numbers_of_a_dictionary() {
        let texts = (0..1000).map(|row| (row % 7 != 0).then(|| format!("region {}", row % 5)));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
        let unique: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..1000).map(|n| format!("{n:0>4000}")),
        ));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let batch =
            RecordBatch::try_from_iter([("t", texts.clone()), ("u", unique), ("n", numbers)])
                .expect("is a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::local()).expect("writes");
        let groups = RowGroups::new(
            &TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer"),
        );
        let read = groups
            .read_dictionary_column(0, 0)
            .expect("has a dictionary")
            .expect("decodes");
        assert!(read.values().len() < 10, "{} values", read.values().len());
        assert_eq!(
            &arrow::compute::cast(&read, &DataType::Utf8).expect("casts"),
            &texts
        );
        assert!(
            groups.read_dictionary_column(0, 1).is_none()
                && groups.read_dictionary_column(0, 2).is_none()
                && groups.read_dictionary_column(7, 0).is_none()
        );
    }

    #[test]
    fn members_of_a_struct_are_consecutive() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
        let fields = [("n", numbers), ("t", texts)].map(|(name, array)| {
            (
                Arc::new(Field::new(name, array.data_type().clone(), true)),
                array,
            )
        });
        let both: ArrayRef = Arc::new(arrow::array::StructArray::from(fields.to_vec()));
        let batch = RecordBatch::try_from_iter([("s", both)]).expect("is a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::local()).expect("writes");
        let groups = RowGroups::new(
            &TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer"),
        );
        let read = groups.column(0, 0, None).expect("decodes");
        assert!(read.len() == 1 && read[0].as_struct().column(1).len() == 3);
        let texts =
            arrow::compute::cast(read[0].as_struct().column(1), &DataType::Utf8).expect("casts");
        assert_eq!(
            texts
                .as_string::<i32>()
                .iter()
                .flatten()
                .collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn bounds_are_those_of_each_row_group() {
        let groups = groups();
        let (mins, maxes) = groups.bounds(0).expect("has bounds");
        assert_eq!(mins.as_primitive::<Int64Type>().values(), &[0, 4, 8]);
        assert_eq!(maxes.as_primitive::<Int64Type>().values(), &[3, 7, 9]);
        assert!(
            groups.bounds(1).is_none()
                && groups.text_bounds(1).is_some()
                && groups.text_bounds(0).is_none()
        );
    }
}
