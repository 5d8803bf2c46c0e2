//! Reads and writes Parquet. Footers are read without pages; a damaged file gives an error, never a
//! panic.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, RecordBatch, make_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::{CdcOptions, EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::serialized_reader::SerializedPageReader;

use super::parquet_slice::{catch_panics, parquet_read_error};
use super::{ParquetOptions, ParquetSlice, footer, old_writers};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum number of rows: row numbers are 32-bit, and a damaged footer may claim any number.
const ROWS_MAX: i64 = u32::MAX as i64 - 1;
/// Maximum rows per byte of file. Ids take more than that, so a larger claim would only exhaust
/// memory.
const ROWS_PER_BYTE: u64 = 16;
const ROWS_FREE: u64 = 1 << 20;
/// Rows decoded per batch: the writer's row group size.
pub(super) const BATCH_ROWS: usize = 65_536;

/// Total size of column chunks in bytes from which holes are checked.
const HOLES_FROM: u64 = 16 << 20;

/// The footer of a Parquet file.
#[derive(Clone)]
pub struct TableHead {
    pub(super) slice: ParquetSlice,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) known: Arc<CheckedPages>,
    stored: u64,
}

/// Results of earlier checks of a file's pages.
#[derive(Default)]
pub(super) struct CheckedPages {
    /// Every page was decoded successfully.
    pub(super) decoded: AtomicBool,
    /// The pages also have the number of values stated in the footer.
    sound: AtomicBool,
}

impl TableHead {
    /// Reads the footer.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when the file is not Parquet or is damaged,
    /// [`crate::error::Kind::TooLarge`] when the footer claims implausible numbers.
    pub fn read(slice: ParquetSlice) -> Result<Self> {
        let metadata = catch_panics("reading the Parquet footer", || {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer::read(&slice)?)
                .map_err(|error| parquet_read_error(&error))?;
            let metadata = old_writers::correct_metadata(metadata, &slice)
                .map_err(|error| parquet_read_error(&error))?;
            ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new())
                .map_err(|error| parquet_read_error(&error))
        })?;
        let rows = metadata.metadata().file_metadata().num_rows();
        if !(0..=ROWS_MAX).contains(&rows) {
            return Err(Error::format(format!(
                "the Parquet footer claims {rows} rows"
            )));
        }
        if rows as u64 > ROWS_FREE.max(slice.size_bytes().saturating_mul(ROWS_PER_BYTE)) {
            return Err(Error::too_large(format!(
                "the Parquet footer claims {rows} rows in {} bytes",
                slice.size_bytes()
            )));
        }
        check_chunks(&metadata, slice.size_bytes())?;
        let stored = stored_bytes(&metadata, &slice);
        Ok(Self {
            slice,
            metadata,
            known: Arc::default(),
            stored,
        })
    }

    /// Stored size in bytes of all column chunks; overlapping bytes count once, and holes are
    /// excluded.
    pub fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// Number of rows stated in the footer.
    pub fn rows(&self) -> usize {
        self.metadata.metadata().file_metadata().num_rows() as usize
    }

    /// The value of a key in the footer's metadata.
    pub fn note(&self, key: &str) -> Option<String> {
        let notes = self
            .metadata
            .metadata()
            .file_metadata()
            .key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.clone()
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The decoded footer with its Arrow schema.
    pub(super) fn metadata(&self) -> &ArrowReaderMetadata {
        &self.metadata
    }

    /// The footer.
    pub(super) fn parquet_metadata(&self) -> &parquet::file::metadata::ParquetMetaData {
        self.metadata.metadata()
    }

    /// The file.
    pub fn slice(&self) -> &ParquetSlice {
        &self.slice
    }

    /// Checks that every page decodes and matches the footer: for readers that rely on it. Done
    /// once per file; reuses earlier decoding.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when a page does not, or when the job is cancelled.
    pub fn verify(&self, ctx: &JobContext) -> Result<()> {
        if self.known.sound.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !self.known.decoded.load(Ordering::Relaxed) {
            self.scan(None, &self.budget(), BATCH_ROWS, ctx, &mut |_| Ok(()))?;
        }
        catch_panics("reading the headers of the Parquet pages", || {
            self.count_values(ctx)
        })?;
        self.known.sound.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Compares the numbers of values in the page headers with the footer. The decoder stops early
    /// and would not notice.
    fn count_values(&self, ctx: &JobContext) -> Result<()> {
        let slice = Arc::new(self.slice.clone());
        for group in self.metadata.metadata().row_groups() {
            let rows = usize::try_from(group.num_rows()).unwrap_or_default();
            for chunk in group.columns() {
                ctx.check()?;
                let mut pages = SerializedPageReader::new(slice.clone(), chunk, rows, None)
                    .map_err(|error| parquet_read_error(&error))?;
                let mut values = 0;
                while let Some(page) = pages
                    .peek_next_page()
                    .map_err(|error| parquet_read_error(&error))?
                {
                    values += if page.is_dict {
                        0
                    } else {
                        page.num_levels.unwrap_or_default() as i64
                    };
                    pages
                        .skip_next_page()
                        .map_err(|error| parquet_read_error(&error))?;
                }
                // Only lists have more values than rows.
                let flat = chunk.column_descr().max_rep_level() == 0;
                if values != chunk.num_values() || (flat && values != group.num_rows()) {
                    let (name, said) = (chunk.column_path().string(), chunk.num_values());
                    let message = format!(
                        "the pages of {name} hold {values} values, the Parquet footer says {said}"
                    );
                    return Err(Error::format(message));
                }
            }
        }
        Ok(())
    }
}

/// Checks that the row counts of the row groups sum up to the file's, and that column chunks are
/// inside the file. Queries rely on both without further checks.
fn check_chunks(metadata: &ArrowReaderMetadata, size: u64) -> Result<()> {
    let mut groups = metadata
        .metadata()
        .row_groups()
        .iter()
        .map(|group| u64::try_from(group.num_rows()).ok());
    let (sum, rows) = (
        groups.try_fold(0u64, |sum, rows| sum.checked_add(rows?)),
        metadata.metadata().file_metadata().num_rows(),
    );
    if sum != u64::try_from(rows).ok() {
        return Err(Error::format(format!(
            "the row groups of the Parquet footer don't add up to the {rows} rows that it claims"
        )));
    }
    for group in metadata.metadata().row_groups() {
        for chunk in group.columns() {
            let (data, length) = (chunk.data_page_offset(), chunk.compressed_size());
            let first = chunk.dictionary_page_offset().unwrap_or(data);
            if !lies_within(first, length, size)
                || !lies_within(data, 0, size)
                || chunk.num_values() < 0
                || chunk.uncompressed_size() < 0
            {
                let name = chunk.column_path().string();
                return Err(Error::format(format!(
                    "the Parquet footer says that column {name} is outside the file"
                )));
            }
        }
    }
    Ok(())
}

/// True when a range that a footer states ends at `size` or before.
fn lies_within(start: i64, length: i64, size: u64) -> bool {
    let end = u64::try_from(start)
        .ok()
        .zip(u64::try_from(length).ok())
        .and_then(|(start, length)| start.checked_add(length));
    end.is_some_and(|end| end <= size)
}

/// Stored size in bytes of column chunks, which may overlap.
fn stored_bytes(metadata: &ArrowReaderMetadata, slice: &ParquetSlice) -> u64 {
    let chunks = metadata
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| group.columns());
    let mut ranges: Vec<(u64, u64)> = chunks.map(|chunk| chunk.byte_range()).collect();
    ranges.sort_unstable();
    let mut apart: Vec<(u64, u64)> = Vec::new();
    for (start, length) in ranges {
        let end = start.saturating_add(length).min(slice.size_bytes());
        match apart.last_mut().filter(|(_, last)| start <= *last) {
            Some((_, last)) => *last = end.max(*last),
            None => apart.push((start, end)),
        }
    }
    let stored = apart
        .iter()
        .map(|(start, end)| end.saturating_sub(*start))
        .sum();
    match &slice.filled {
        Some(filled) if stored >= HOLES_FROM => apart
            .iter()
            .map(|(start, end)| filled(*start, end.saturating_sub(*start)))
            .sum(),
        _ => stored,
    }
}

/// The field as stored in Parquet: nullable, list elements named `element`, seconds widened to
/// milliseconds.
pub fn written_field(field: &Field) -> Field {
    Field::new(field.name(), written_type(field.data_type()), true)
}

/// [`written_field`] for every column.
pub fn written_schema(schema: &Schema) -> Schema {
    Schema::new(
        schema
            .fields()
            .iter()
            .map(|field| written_field(field))
            .collect::<Vec<_>>(),
    )
}

fn written_type(dtype: &DataType) -> DataType {
    use arrow::datatypes::TimeUnit;
    match dtype {
        DataType::List(item) => DataType::List(written_element(item)),
        DataType::LargeList(item) => DataType::LargeList(written_element(item)),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(written_element(item), *size)
        }
        DataType::Struct(fields) => {
            let written =
                |f: &FieldRef| Field::new(f.name(), written_type(f.data_type()), f.is_nullable());
            DataType::Struct(fields.iter().map(written).collect())
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
        other => other.clone(),
    }
}

/// The field of the elements of a list, by the name that the Parquet format gives it.
fn written_element(item: &Field) -> FieldRef {
    Arc::new(Field::new(
        "element",
        written_type(item.data_type()),
        item.is_nullable(),
    ))
}

/// Writes batches of one schema as a Parquet file in memory.
///
/// # Errors
/// When a batch does not match the schema, or the options are invalid.
pub fn write_parquet(
    schema: &Schema,
    batches: &[RecordBatch],
    options: &ParquetOptions,
) -> Result<Vec<u8>> {
    let mut sink = ParquetSink::new(Vec::new(), schema, options)?;
    for batch in batches {
        sink.write(batch)?;
    }
    sink.finish()
}

/// Writes a Parquet file batch by batch, with one row group in memory at a time.
pub struct ParquetSink<W: Write + Send> {
    writer: ArrowWriter<W>,
    target: SchemaRef,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Starts a file with these columns.
    ///
    /// # Errors
    /// When the options are invalid, or a type cannot be stored.
    pub fn new(out: W, schema: &Schema, options: &ParquetOptions) -> Result<Self> {
        Self::begin(
            out,
            written_schema(schema),
            options,
            ArrowWriterOptions::new(),
        )
    }

    /// Starts a file with these columns whose notes are known at its end:
    /// [`ParquetSink::finish_annotated`] has to finish it.
    ///
    /// # Errors
    /// As [`ParquetSink::new`].
    pub fn annotated_at_end(out: W, schema: &Schema, options: &ParquetOptions) -> Result<Self> {
        // The Arrow schema has the notes too, so it is written with them.
        Self::begin(
            out,
            written_schema(schema),
            options,
            ArrowWriterOptions::new().with_skip_arrow_metadata(true),
        )
    }

    fn begin(
        out: W,
        target: Schema,
        options: &ParquetOptions,
        writing: ArrowWriterOptions,
    ) -> Result<Self> {
        let target = Arc::new(target);
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(options.codec()?)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(Some(options.row_group_rows.max(1)))
            .set_content_defined_chunking(
                options.content_defined_chunking.then(CdcOptions::default),
            )
            .build();
        let writing = writing.with_properties(properties);
        let writer =
            ArrowWriter::try_new_with_options(out, target.clone(), writing).map_err(write_error)?;
        Ok(Self { writer, target })
    }

    /// Appends rows, whose columns are in the order of the schema.
    ///
    /// # Errors
    /// When the batch does not match the schema, or writing fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.target.fields());
        let columns: Vec<ArrayRef> = columns
            .map(|(array, field)| as_written(array, field))
            .collect::<Result<_>>()?;
        let renamed = RecordBatch::try_new(self.target.clone(), columns)
            .map_err(|error| Error::internal("the table does not fit its schema").because(error))?;
        self.writer.write(&renamed).map_err(write_error)
    }

    /// Ends the row group before it has the number of rows of the options.
    ///
    /// # Errors
    /// When writing fails.
    pub fn end_row_group(&mut self) -> Result<()> {
        self.writer.flush().map_err(write_error)
    }

    /// Adds a key and value to the footer's metadata.
    pub fn note(&mut self, key: &str, text: String) {
        self.writer
            .append_key_value_metadata(KeyValue::new(key.to_owned(), text));
    }

    /// Writes the footer and returns the writer.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(write_error)
    }

    /// Writes keys and values into the metadata of the footer and of the Arrow schema, as readers
    /// use either; then as [`ParquetSink::finish`].
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish_annotated(mut self, notes: Vec<(String, String)>) -> Result<W> {
        let of_schema: HashMap<String, String> = notes.iter().cloned().collect();
        let schema = self.target.as_ref().clone().with_metadata(of_schema);
        self.note(ARROW_SCHEMA_META_KEY, encode_arrow_schema(&schema));
        notes
            .into_iter()
            .for_each(|(key, text)| self.note(&key, text));
        self.finish()
    }
}

fn write_error(error: ParquetError) -> Error {
    Error::internal("the table could not be written as Parquet").because(error)
}

fn as_written(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if array.data_type() == field.data_type() {
        return Ok(array.clone());
    }
    // Usually only names of nested fields differ: the buffers are reused with the other type.
    if array.data_type().equals_datatype(field.data_type()) {
        return Ok(make_array(rename(&array.to_data(), field.data_type())?));
    }
    arrow::compute::cast(array, field.data_type()).map_err(|error| {
        Error::internal(format!("column {} can't be written", field.name())).because(error)
    })
}

fn rename(data: &arrow::array::ArrayData, dtype: &DataType) -> Result<arrow::array::ArrayData> {
    let inner: Vec<&DataType> = match dtype {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            vec![item.data_type()]
        }
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    };
    let mut builder = data.clone().into_builder().data_type(dtype.clone());
    if inner.len() == data.child_data().len() {
        let children = data
            .child_data()
            .iter()
            .zip(inner)
            .map(|(child, dtype)| rename(child, dtype))
            .collect::<Result<_>>()?;
        builder = builder.child_data(children);
    }
    builder
        .build()
        .map_err(|error| Error::internal("a nested column could not be renamed").because(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray};
    use arrow::datatypes::Float64Type;
    use bytes::Bytes;

    fn sample() -> (Schema, RecordBatch) {
        let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([
            Some(vec![Some(1.0), None]),
            None,
        ]);
        let batch = RecordBatch::try_from_iter_with_nullable([
            (
                "id",
                Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef,
                true,
            ),
            ("stac:geotransform", Arc::new(lists), true),
            (
                "cloud_cover",
                Arc::new(Float64Array::from(vec![Some(0.5), None])),
                true,
            ),
            (
                "internal:current_id",
                Arc::new(Int64Array::from(vec![0, 1])),
                true,
            ),
        ])
        .expect("is a batch");
        (batch.schema().as_ref().clone(), batch)
    }

    #[test]
    fn written_values_read_back() {
        let (schema, batch) = sample();
        let bytes = write_parquet(
            &schema,
            std::slice::from_ref(&batch),
            &ParquetOptions::default(),
        )
        .expect("writes");
        let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer");
        assert_eq!(head.rows(), 2);
        let table = head.decode(&JobContext::default()).expect("decodes");
        assert_eq!(
            crate::model::dtype_name(&table.fields()[1].dtype),
            "list<element: double>"
        );
        assert_eq!(table.text(0, 0), "a");
        head.verify(&JobContext::default()).expect("is sound");
        assert!(table.value(1, 1).is_null());
    }

    #[test]
    fn a_table_with_a_new_first_row_shares_most_of_its_bytes_by_content_defined_chunks() {
        let ids = |inserted: bool| {
            let rows =
                (0..250_000u64).map(|n| format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            let first = inserted.then(|| "a new first row".to_owned());
            let ids: ArrayRef =
                Arc::new(StringArray::from_iter_values(first.into_iter().chain(rows)));
            RecordBatch::try_from_iter([("id", ids)]).expect("is a batch")
        };
        let shared_share = |options: &ParquetOptions| {
            let written = [false, true].map(|inserted| {
                let batch = ids(inserted);
                write_parquet(&batch.schema(), &[batch], options).expect("writes")
            });
            // Pieces of 4 KiB of the first table, by their first 16 bytes, that are anywhere in the
            // second one.
            let pieces: std::collections::HashMap<&[u8], &[u8]> = written[0]
                .chunks_exact(4096)
                .map(|piece| (&piece[..16], piece))
                .collect();
            let found = written[1].windows(4096).filter(|window| {
                pieces
                    .get(&window[..16])
                    .is_some_and(|piece| piece == window)
            });
            found.count() as f64 / pieces.len() as f64
        };
        let one_group = ParquetOptions {
            row_group_rows: 1 << 20,
            level: Some(1),
            ..ParquetOptions::default()
        };
        let with = shared_share(&one_group);
        let without = shared_share(&ParquetOptions {
            content_defined_chunking: false,
            ..one_group
        });
        assert!(
            with > 0.4 && with > without + 0.3,
            "{with} with, {without} without"
        );
    }

    #[test]
    fn a_few_bytes_that_unfold_to_millions_of_rows_are_refused() {
        let nulls: ArrayRef = arrow::array::new_null_array(&DataType::Int64, 3 << 20);
        let batch =
            RecordBatch::try_from_iter_with_nullable([("id", nulls, true)]).expect("is a batch");
        let options = ParquetOptions {
            row_group_rows: 4 << 20,
            ..ParquetOptions::local()
        };
        let bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
        let error = TableHead::read(ParquetSlice::from_bytes(bytes.into()))
            .map(|_| ())
            .expect_err("is refused");
        assert!(error.to_string().contains("3145728 rows"), "{error}");
    }

    #[test]
    fn column_chunks_outside_the_file_are_refused() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(
            (0..5000i64).map(|n| n.wrapping_mul(0x5851_F42D_4C95_7F2D)),
        ));
        let batch = RecordBatch::try_from_iter([("id", numbers)]).expect("is a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::local()).expect("writes");
        // The same footer with fewer bytes before it.
        let footer = u32::from_le_bytes(
            bytes[bytes.len() - 8..bytes.len() - 4]
                .try_into()
                .expect("four bytes"),
        ) as usize;
        let tail = &bytes[bytes.len() - 8 - footer..];
        let error =
            TableHead::read(ParquetSlice::from_bytes(Bytes::copy_from_slice(tail))).map(|_| ());
        let error = error.expect_err("is refused");
        assert!(error.to_string().contains("outside the file"), "{error}");
    }

    #[test]
    fn a_footer_and_pages_that_disagree_are_not_sound() {
        let (schema, batch) = sample();
        let whole = write_parquet(&schema, &[batch], &ParquetOptions::local()).expect("writes");
        let footer = u32::from_le_bytes(
            whole[whole.len() - 8..whole.len() - 4]
                .try_into()
                .expect("four bytes"),
        ) as usize;
        let lenient = (whole.len() - 8 - footer..whole.len() - 8)
            .flat_map(|at| (0..8).map(move |bit| (at, bit)))
            .find(|&(at, bit)| {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let Ok(head) = TableHead::read(ParquetSlice::from_bytes(bytes.into())) else {
                    return false;
                };
                let decodes = head.decode(&JobContext::default()).is_ok();
                decodes
                    && head
                        .verify(&JobContext::default())
                        .is_err_and(|error| error.to_string().contains("the pages of"))
            });
        assert!(
            lenient.is_some(),
            "the decoder finds out about every footer: counting is not needed any more"
        );
    }

    #[test]
    fn damage_is_an_error() {
        let (schema, batch) = sample();
        let bytes = write_parquet(&schema, &[batch], &ParquetOptions::local()).expect("writes");
        for cut in [0, 3, 8, bytes.len() / 2, bytes.len() - 1] {
            let head = TableHead::read(ParquetSlice::from_bytes(Bytes::copy_from_slice(
                &bytes[..cut],
            )));
            assert!(head.is_err(), "{cut} bytes read as a table");
        }
    }
}
