//! Writes a Parquet file again with some columns replaced, added or left out. Kept column chunks
//! are copied byte for byte into the same row groups: only changed columns are encoded, and
//! versions of a table share bytes (TACO 2.0, section 6.4).

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, FieldRef, Schema};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, add_encoded_arrow_schema_to_metadata};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaData};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::parquet_slice::{catch_panics, parquet_read_error};
use super::{ParquetOptions, ParquetSink, ParquetSlice, TableHead};
use crate::error::{Error, Result};

/// Footer key of pandas' column description; left out, as it lists the old columns.
const PANDAS: &str = "pandas";

/// A column of the new file.
#[derive(Clone, Debug)]
pub enum SplicedColumn {
    /// The column with this index in the old file, copied as stored.
    Kept(usize),
    /// New values, one for each row of the file.
    New(Field, ArrayRef),
}

/// One of the two sources of column chunks: the old file, or the encoded new columns.
struct ChunkSource<'a> {
    slice: &'a ParquetSlice,
    metadata: &'a ParquetMetaData,
    /// Row groups that have rows, by index.
    groups: Vec<usize>,
}

impl<'a> ChunkSource<'a> {
    fn from_head(head: &'a TableHead) -> Self {
        let metadata = head.parquet_metadata();
        let groups = metadata
            .row_groups()
            .iter()
            .enumerate()
            .filter(|(_, group)| group.num_rows() > 0);
        Self {
            slice: head.slice(),
            metadata,
            groups: groups.map(|(index, _)| index).collect(),
        }
    }

    fn field(&self, root: usize) -> Result<TypePtr> {
        let fields = self
            .metadata
            .file_metadata()
            .schema_descr()
            .root_schema()
            .get_fields();
        fields
            .get(root)
            .cloned()
            .ok_or_else(|| Error::internal("a column that stays is not in the table"))
    }

    /// The column chunks of a top-level column in the row group at index `place` of
    /// [`ChunkSource::groups`].
    fn chunks(&self, root: usize, place: usize) -> Vec<ColumnCloseResult> {
        let schema = self.metadata.file_metadata().schema_descr();
        let Some(group) = self
            .groups
            .get(place)
            .map(|&index| self.metadata.row_group(index))
        else {
            return Vec::new();
        };
        let leaves = group
            .columns()
            .iter()
            .enumerate()
            .filter(|(leaf, _)| schema.get_column_root_idx(*leaf) == root);
        leaves
            .map(|(_, chunk)| close_chunk(chunk, group.num_rows()))
            .collect()
    }
}

/// What a writer of row groups states of a column chunk that is copied as it is.
fn close_chunk(chunk: &ColumnChunkMetaData, rows: i64) -> ColumnCloseResult {
    ColumnCloseResult {
        bytes_written: u64::try_from(chunk.compressed_size()).unwrap_or_default(),
        rows_written: u64::try_from(rows).unwrap_or_default(),
        metadata: chunk.clone(),
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    }
}

/// Returns a Parquet file with `columns`, in this order; kept columns come from `head`, new columns
/// are encoded with `options`.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when the old file is damaged;
/// [`Kind::Internal`](crate::error::Kind::Internal) when a new column does not have one value for
/// each row.
pub fn splice_columns(
    head: &TableHead,
    columns: &[SplicedColumn],
    options: &ParquetOptions,
) -> Result<Vec<u8>> {
    catch_panics("copying the Parquet pages", || {
        let old = ChunkSource::from_head(head);
        let encoded = encode_new(&old, columns, options)?;
        let new = encoded.as_ref().map(ChunkSource::from_head);
        let mut fields: Vec<FieldRef> = Vec::with_capacity(columns.len());
        let mut types = Vec::with_capacity(columns.len());
        // For each column, its source and its top-level index there.
        let mut places = Vec::with_capacity(columns.len());
        let mut next_new = 0;
        for column in columns {
            let (from, schema, root) = match (column, &new, &encoded) {
                (SplicedColumn::New(..), Some(new), Some(encoded)) => {
                    next_new += 1;
                    (new, encoded.schema(), next_new - 1)
                }
                (SplicedColumn::Kept(index), ..) => (&old, head.schema(), *index),
                _ => return Err(Error::internal("the new columns were not encoded")),
            };
            types.push(from.field(root)?);
            fields.push(schema.fields()[root].clone());
            places.push((from, root));
        }
        let root = Type::group_type_builder("schema")
            .with_fields(types)
            .build()
            .map_err(write_error)?;
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(kept_notes(old.metadata)))
            .build();
        add_encoded_arrow_schema_to_metadata(&Schema::new(fields), &mut properties);
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(root), Arc::new(properties))
                .map_err(write_error)?;
        for group in 0..old.groups.len() {
            let mut out = writer.next_row_group().map_err(write_error)?;
            for (from, root) in &places {
                for chunk in from.chunks(*root, group) {
                    out.append_column(from.slice, chunk)
                        .map_err(|error| parquet_read_error(&error))?;
                }
            }
            out.close().map_err(write_error)?;
        }
        writer.into_inner().map_err(write_error)
    })
}

/// The new columns as a Parquet file with the row groups of the old one; `None` when there are
/// none.
fn encode_new(
    old: &ChunkSource<'_>,
    columns: &[SplicedColumn],
    options: &ParquetOptions,
) -> Result<Option<TableHead>> {
    let new = columns.iter().filter_map(|column| match column {
        SplicedColumn::New(field, array) => Some((field.clone(), array.clone())),
        SplicedColumn::Kept(_) => None,
    });
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = new.unzip();
    if fields.is_empty() {
        return Ok(None);
    }
    let schema = Schema::new(fields);
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), arrays)
        .map_err(|error| Error::internal("a new column does not fit its table").because(error))?;
    let rows = |index: &usize| {
        usize::try_from(old.metadata.row_group(*index).num_rows()).unwrap_or_default()
    };
    let lengths: Vec<usize> = old.groups.iter().map(rows).collect();
    if lengths.iter().sum::<usize>() != batch.num_rows() {
        return Err(Error::internal(
            "a new column does not have one value for each row",
        ));
    }
    let whole = lengths.iter().copied().max().unwrap_or(1);
    let mut sink = ParquetSink::new(
        Vec::new(),
        &schema,
        &ParquetOptions {
            row_group_rows: whole,
            ..options.clone()
        },
    )?;
    let mut first = 0;
    for length in lengths {
        sink.write(&batch.slice(first, length))?;
        sink.end_row_group()?;
        first += length;
    }
    Ok(Some(TableHead::read(ParquetSlice::from_bytes(
        sink.finish()?.into(),
    ))?))
}

/// Keys and values of the old footer, without those that describe its columns.
fn kept_notes(metadata: &ParquetMetaData) -> Vec<KeyValue> {
    let notes = metadata
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten();
    notes
        .filter(|note| note.key != ARROW_SCHEMA_META_KEY && note.key != PANDAS)
        .cloned()
        .collect()
}

fn write_error(error: ParquetError) -> Error {
    Error::internal("the table could not be written as Parquet").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobContext;
    use crate::table::{LevelTable, write_parquet};
    use arrow::array::{Array, Float64Array, Int64Array, ListArray, StringArray};
    use arrow::datatypes::Float64Type;

    const ROWS: usize = 1000;

    fn table() -> (TableHead, Vec<u8>) {
        let ids: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..ROWS).map(|row| format!("tile_{row}")),
        ));
        let lists = (0..ROWS).map(|row| (row % 7 != 0).then(|| vec![Some(row as f64), None]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("id", ids, true),
            ("list", lists, true),
            ("n", numbers, true),
        ]);
        let batch = batch.expect("a batch");
        let options = ParquetOptions {
            row_group_rows: 300,
            ..ParquetOptions::default()
        };
        let bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
        (
            TableHead::read(ParquetSlice::from_bytes(bytes.clone().into())).expect("has a footer"),
            bytes,
        )
    }

    fn decoded(bytes: Vec<u8>) -> (TableHead, LevelTable) {
        let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer");
        head.verify(&JobContext::default()).expect("is sound");
        let table = head.decode(&JobContext::default()).expect("decodes");
        (head, table)
    }

    #[test]
    fn kept_columns_are_copied_byte_for_byte_and_new_ones_take_their_place() {
        let (head, old) = table();
        let new: ArrayRef = Arc::new(Float64Array::from_iter(
            (0..ROWS).map(|row| (row % 3 != 0).then_some(row as f64 / 4.0)),
        ));
        let field = Field::new("n", new.data_type().clone(), true);
        let columns = [
            SplicedColumn::Kept(1),
            SplicedColumn::New(field, new.clone()),
            SplicedColumn::Kept(0),
        ];
        let bytes = splice_columns(&head, &columns, &ParquetOptions::default()).expect("writes");
        let (spliced, now) = decoded(bytes.clone());
        let names: Vec<String> = now.fields().into_iter().map(|field| field.name).collect();
        assert_eq!(
            (names, now.rows()),
            (vec!["list".to_owned(), "n".into(), "id".into()], ROWS)
        );
        let before = head.decode(&JobContext::default()).expect("decodes");
        assert_eq!(
            now.column(0).expect("joins").to_data(),
            before.column(1).expect("joins").to_data()
        );
        assert_eq!(
            now.column(2).expect("joins").to_data(),
            before.column(0).expect("joins").to_data()
        );
        assert_eq!(now.column(1).expect("joins").to_data(), new.to_data());
        let groups = |head: &TableHead| {
            head.parquet_metadata()
                .row_groups()
                .iter()
                .map(|g| g.num_rows())
                .collect::<Vec<_>>()
        };
        assert_eq!(groups(&spliced), groups(&head));
        // The stored bytes of the ids in the last row group are in both files.
        let (start, length) = head.parquet_metadata().row_group(3).column(0).byte_range();
        let chunk = &old[start as usize..(start + length) as usize];
        assert!(bytes.windows(chunk.len()).any(|window| window == chunk));
    }

    #[test]
    fn a_column_of_another_length_is_refused() {
        let (head, _) = table();
        let short: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let columns = [
            SplicedColumn::Kept(0),
            SplicedColumn::New(Field::new("n", short.data_type().clone(), true), short),
        ];
        assert!(splice_columns(&head, &columns, &ParquetOptions::default()).is_err());
    }

    #[test]
    fn a_table_without_rows_stays_one() {
        let ids: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        let batch =
            RecordBatch::try_from_iter_with_nullable([("id", ids.clone(), true)]).expect("a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::default()).expect("writes");
        let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("has a footer");
        let columns = [
            SplicedColumn::Kept(0),
            SplicedColumn::New(Field::new("more", ids.data_type().clone(), true), ids),
        ];
        let (_, now) =
            decoded(splice_columns(&head, &columns, &ParquetOptions::default()).expect("writes"));
        assert_eq!((now.rows(), now.fields().len()), (0, 2));
    }
}
