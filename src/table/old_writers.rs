//! Corrects Parquet footers of old writers, as pyarrow and parquet-mr do: offsets of dictionary
//! pages that do not exist, lengths of column chunks that leave out the header of the dictionary
//! page, and a number of rows that was never set.

use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, RowGroupMetaData,
};

use super::ParquetSlice;
use super::pages::page_extent;
use bytes::Bytes;

/// Maximum number of bytes by which the length of a column chunk may be too short: no header of a
/// dictionary page is longer.
const DICTIONARY_HEADER_MAX: u64 = 100;
/// Maximum number of page headers that are read to correct the lengths of column chunks.
const PAGE_HEADERS_MAX: usize = 100_000;
/// First version of parquet-mr whose lengths of column chunks include the header of the dictionary
/// page.
const FIRST_WITH_HEADER: [u32; 3] = [1, 2, 9];

/// The metadata with corrected offsets, lengths and number of rows.
///
/// # Errors
/// When the changed row groups cannot be built.
pub(super) fn correct_metadata(
    metadata: ParquetMetaData,
    slice: &ParquetSlice,
) -> ParquetResult<ParquetMetaData> {
    let metadata = with_number_of_rows(metadata);
    let lacks_header = metadata
        .file_metadata()
        .created_by()
        .is_some_and(leaves_out_dictionary_headers);
    let mut chunks = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    if !lacks_header && !chunks.any(has_false_dictionary) {
        return Ok(metadata);
    }
    let mut headers_left = PAGE_HEADERS_MAX;
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in metadata.row_groups() {
        let mut columns = Vec::with_capacity(group.num_columns());
        for chunk in group.columns() {
            let mut chunk = chunk.clone();
            if has_false_dictionary(&chunk) {
                chunk = chunk
                    .into_builder()
                    .set_dictionary_page_offset(None)
                    .build()?;
            }
            match lacks_header
                .then(|| length_with_headers(&chunk, slice, &mut headers_left))
                .flatten()
            {
                Some(length) => columns.push(
                    chunk
                        .into_builder()
                        .set_total_compressed_size(length)
                        .build()?,
                ),
                None => columns.push(chunk),
            }
        }
        groups.push(
            group
                .clone()
                .into_builder()
                .set_column_metadata(columns)
                .build()?,
        );
    }
    Ok(metadata.into_builder().set_row_groups(groups).build())
}

/// The metadata with the number of rows of all row groups, where the footer states none.
fn with_number_of_rows(metadata: ParquetMetaData) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let mut counted = metadata.row_groups().iter().map(RowGroupMetaData::num_rows);
    let total = counted
        .try_fold(0i64, |sum, rows| {
            if rows < 0 {
                None
            } else {
                sum.checked_add(rows)
            }
        })
        .unwrap_or_default();
    if file.num_rows() != 0 || total == 0 {
        return metadata;
    }
    let file = FileMetaData::new(
        file.version(),
        total,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    ParquetMetaData::new(file, metadata.row_groups().to_vec())
}

/// True when there can be no dictionary page at its offset: it would have to be behind the magic
/// number and before the data pages, if there are any.
fn has_false_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let data = chunk.data_page_offset();
    chunk
        .dictionary_page_offset()
        .is_some_and(|offset| offset <= 0 || (data > 0 && offset >= data))
}

/// True for parquet-mr before 1.2.9; also without a version, as the oldest name none.
fn leaves_out_dictionary_headers(created_by: &str) -> bool {
    let Some(rest) = created_by.strip_prefix("parquet-mr") else {
        return false;
    };
    let Some(version) = rest.trim_start().strip_prefix("version ") else {
        return true;
    };
    let numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>)
        .map_while(Result::ok);
    numbers.take(3).collect::<Vec<_>>().as_slice() < FIRST_WITH_HEADER.as_slice()
}

/// The length of a column chunk up to the page with its last value, when that is a little longer
/// than the chunk claims.
fn length_with_headers(
    chunk: &ColumnChunkMetaData,
    slice: &ParquetSlice,
    headers_left: &mut usize,
) -> Option<i64> {
    let start = u64::try_from(
        chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset()),
    )
    .ok()?;
    let claimed = start.checked_add(u64::try_from(chunk.compressed_size()).ok()?)?;
    let end = claimed
        .checked_add(DICTIONARY_HEADER_MAX)?
        .min(slice.size_bytes());
    let wanted = u64::try_from(chunk.num_values()).ok()?;
    let (mut at, mut values, mut window) = (start, 0u64, (start, Bytes::new()));
    while values < wanted && at < claimed {
        *headers_left = headers_left.checked_sub(1)?;
        let (next, more) = page_extent(slice, at, end, &mut window)?;
        (at, values) = (next, values.checked_add(more)?);
    }
    (at > claimed && at <= end && values == wanted)
        .then(|| i64::try_from(at - start).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    use parquet::file::metadata::ParquetMetaDataWriter;

    use super::*;
    use crate::jobs::JobContext;
    use crate::table::{ParquetOptions, TableHead, write_parquet};

    /// The texts that are read of a file of 25 texts with a dictionary, whose footer `change` has
    /// changed; `None` if it can't be read.
    fn read(
        change: impl Fn(ColumnChunkMetaData) -> ColumnChunkMetaData,
        created_by: &str,
    ) -> Option<Vec<String>> {
        read_with_rows(change, created_by, 25)
    }

    fn read_with_rows(
        change: impl Fn(ColumnChunkMetaData) -> ColumnChunkMetaData,
        created_by: &str,
        rows: i64,
    ) -> Option<Vec<String>> {
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..25).map(|n| format!("region {}", n % 5)),
        ));
        let batch = RecordBatch::try_from_iter([("t", texts)]).expect("a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::local()).expect("writes");
        let head = TableHead::read(ParquetSlice::from_bytes(bytes.clone().into())).expect("reads");
        let metadata = head.parquet_metadata().clone();
        let group = metadata.row_group(0).clone();
        let chunk = change(group.column(0).clone());
        let data_end = group.column(0).byte_range().0 + group.column(0).byte_range().1;
        let group = group
            .into_builder()
            .set_column_metadata(vec![chunk])
            .build()
            .expect("a group");
        let file = metadata.file_metadata();
        let file = FileMetaData::new(
            file.version(),
            rows,
            Some(created_by.to_owned()),
            None,
            file.schema_descr_ptr(),
            None,
        );
        let metadata = ParquetMetaData::new(file, vec![group]);
        let mut changed = bytes[..data_end as usize].to_vec();
        ParquetMetaDataWriter::new(&mut changed, &metadata)
            .finish()
            .expect("writes the footer");
        let table = TableHead::read(ParquetSlice::from_bytes(changed.into()))
            .and_then(|head| head.decode(&JobContext::default()));
        let table = table.ok()?;
        Some((0..table.rows()).map(|row| table.text(row, 0)).collect())
    }

    fn shortened(by: i64) -> impl Fn(ColumnChunkMetaData) -> ColumnChunkMetaData {
        move |chunk| {
            let size = chunk.compressed_size() - by;
            chunk
                .into_builder()
                .set_total_compressed_size(size)
                .build()
                .expect("a chunk")
        }
    }

    #[test]
    fn lengths_without_the_header_of_the_dictionary_are_corrected_for_old_writers_alone() {
        let wanted: Vec<String> = (0..25).map(|n| format!("region {}", n % 5)).collect();
        for writer in ["parquet-mr", "parquet-mr version 1.2.8 (build x)"] {
            assert_eq!(
                read(shortened(13), writer).as_ref(),
                Some(&wanted),
                "{writer}"
            );
            assert_eq!(
                read(shortened(0), writer).as_ref(),
                Some(&wanted),
                "{writer}"
            );
        }
        for writer in [
            "parquet-mr version 1.12.0-201812210311360288 (build x)",
            "parquet-cpp",
            "DuckDB",
        ] {
            assert_eq!(read(shortened(13), writer), None, "{writer}");
        }
    }

    #[test]
    fn a_number_of_rows_that_was_not_set_is_that_of_the_row_groups() {
        assert_eq!(
            read_with_rows(shortened(0), "a writer", 0).map(|texts| texts.len()),
            Some(25)
        );
        assert_eq!(
            read_with_rows(shortened(0), "parquet-mr", 0).map(|texts| texts.len()),
            Some(25)
        );
    }

    #[test]
    fn an_offset_at_which_no_dictionary_page_can_be_is_removed() {
        let plain = |chunk: ColumnChunkMetaData| {
            let start = chunk.byte_range().0 as i64;
            chunk
                .into_builder()
                .set_data_page_offset(start)
                .set_dictionary_page_offset(Some(0))
                .build()
                .expect("a chunk")
        };
        assert_eq!(
            read(plain, "parquet-mr version 1.12.0").map(|texts| texts.len()),
            Some(25)
        );
    }
}
