//! Decoded size of the pages of a Parquet file, computed from headers and dictionaries before
//! decoding. A page of a hundred bytes may claim any size, repeat one long string a million times,
//! or build each string on the previous one.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::budget::{DecodeBudget, size_text};
use super::deltas::{front_coded_bytes, lists_hold_at_most};
use super::parquet_slice::parquet_read_error;
use super::parquet_structs::PAGE_HEADER;
use super::thrift::ThriftCursor;
use crate::error::{Error, Result};

/// Bytes per read when looking for page headers; longer headers, with long statistics, are read
/// again.
const WINDOW: usize = 4 << 10;
/// Maximum size of a page header in bytes, including string statistics.
const HEADER_MAX: usize = 1 << 20;
/// Maximum uncompressed size of a page in bytes. Writers end a page at 1 MiB, or with the value
/// that exceeds it.
const PAGE_MAX: u64 = 256 << 20;
/// Maximum compression ratio of DEFLATE.
const DEFLATE_MOST: u64 = 1032;
/// Memory in bytes of a list element's repetition and definition level.
const LEVELS: u64 = 4;
/// Memory in bytes of a string's offset.
const PLACE: u64 = 8;

/// A file from which column chunks are read.
pub(super) trait ChunkFile: ChunkReader + 'static {}
impl<T: ChunkReader + 'static> ChunkFile for T {}

struct PageHeader {
    is_dictionary: bool,
    /// Length of the header in bytes.
    length: u64,
    stored: u64,
    unpacked: u64,
    values: u64,
    encoding: i64,
}

/// Totals of a chunk's page headers.
#[derive(Default)]
struct Pages {
    /// Uncompressed bytes of all pages.
    unpacked: u64,
    /// Uncompressed bytes of the dictionary page, if any.
    dictionary: Option<u64>,
    /// Values of all data pages.
    values: u64,
    /// Number of dictionary-encoded values.
    numbered: u64,
    /// For DELTA_BYTE_ARRAY pages, the sum of values × bytes of their page.
    front_coded: u64,
    /// True for pages of DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY, which have lists of lengths
    /// with counts of their own.
    has_lengths: bool,
}

/// Bounds of the decoded size of some columns.
#[derive(Debug, Default)]
pub(super) struct Weight {
    /// Lower bound in bytes: pages, and values of fixed width.
    pub least: u64,
    /// Upper bound in bytes.
    pub most: u64,
}

impl Weight {
    /// Adds the decoded size of a chunk with `rows` rows.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] when the budget is exceeded, [`crate::error::Kind::Format`]
    /// for damaged headers.
    pub fn add<R: ChunkFile>(
        &mut self,
        file: &Arc<R>,
        chunk: &ColumnChunkMetaData,
        rows: u64,
        budget: &DecodeBudget,
    ) -> Result<()> {
        let name = || format!("column {}", chunk.column_path().string());
        let unfolds = || format!("{} unfolds", name());
        let described = chunk.column_descr();
        let pages = headers(file.as_ref(), chunk).map_err(|error| {
            if error.is_too_large() {
                error
            } else {
                Error::format(format!("the pages of {} can't be read", name())).because(error)
            }
        })?;
        self.least = self.least.saturating_add(pages.unpacked);
        let (values, levels) = match described.max_rep_level() {
            0 => (rows, 0),
            _ => (pages.values, pages.values.saturating_mul(LEVELS)),
        };
        let width = match described.physical_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => {
                u64::try_from(described.type_length()).unwrap_or_default()
            }
            Type::BYTE_ARRAY => PLACE,
        };
        let fixed = values.saturating_mul(width).saturating_add(levels);
        self.least = self.least.saturating_add(fixed);
        self.most = self
            .most
            .saturating_add(pages.unpacked)
            .saturating_add(fixed);
        budget.check(self.least, unfolds)?;
        if pages.has_lengths {
            check_lengths(file, chunk, rows)?;
        }
        if described.physical_type() != Type::BYTE_ARRAY {
            return Ok(());
        }
        if self.most.saturating_add(pages.front_coded) <= budget.limit() {
            self.most += pages.front_coded;
        } else {
            let exact = front_coded(file, chunk, rows, budget)?;
            self.least = self.least.saturating_add(exact);
            self.most = self.most.saturating_add(exact);
            budget.check(self.least, unfolds)?;
        }
        // A first bound takes the size of the dictionary for each value, which is nearly always
        // sufficient; otherwise that of its longest string.
        let rough = pages
            .dictionary
            .unwrap_or_default()
            .saturating_mul(pages.numbered);
        if self.most.saturating_add(rough) <= budget.limit() {
            self.most += rough;
        } else {
            self.most = self
                .most
                .saturating_add(longest_text(file, chunk, rows)?.saturating_mul(pages.numbered));
        }
        Ok(())
    }
}

/// Sums up the headers of a chunk's pages.
fn headers<R: ChunkFile>(file: &R, chunk: &ColumnChunkMetaData) -> Result<Pages> {
    let (start, length) = chunk.byte_range();
    let end = start.saturating_add(length);
    let mut pages = Pages::default();
    let (mut at, mut first) = (start, true);
    let mut window = (start, Bytes::new());
    while at < end {
        let header = header(file, at, end, &mut window)?;
        let data = at + header.length;
        at = data
            .checked_add(header.stored)
            .filter(|next| *next <= end)
            .ok_or_else(|| Error::format("a page is outside its column chunk"))?;
        if header.unpacked > PAGE_MAX {
            let (claimed, most) = (size_text(header.unpacked), size_text(PAGE_MAX));
            let name = chunk.column_path().string();
            let error = Error::too_large(format!(
                "a page of column {name} claims {claimed}; {most} is the most"
            ));
            return Err(error.hint("the file is damaged or malicious: do not trust it"));
        }
        if let Compression::GZIP(_) = chunk.compression() {
            inflates_as_claimed(file, data, &header)?;
        }
        pages.unpacked += header.unpacked;
        if header.is_dictionary {
            if !first {
                return Err(Error::format("a dictionary page follows other pages"));
            }
            if header.values.saturating_mul(least_width(chunk)) > header.unpacked {
                let name = chunk.column_path().string();
                return Err(Error::format(format!(
                    "the dictionary of column {name} claims more values than its bytes hold"
                )));
            }
            pages.dictionary = Some(header.unpacked);
        } else {
            pages.values += header.values;
            match header.encoding {
                // Encodings PLAIN_DICTIONARY, RLE_DICTIONARY and DELTA_BYTE_ARRAY.
                2 | 8 => pages.numbered += header.values,
                6 => pages.has_lengths = true,
                7 => {
                    pages.has_lengths = true;
                    pages.front_coded = pages
                        .front_coded
                        .saturating_add(header.values.saturating_mul(header.unpacked));
                }
                _ => {}
            }
        }
        first = false;
    }
    Ok(pages)
}

/// Where the page at offset `at` ends, and the number of its values, 0 for a dictionary page;
/// `None` for a damaged header.
pub(super) fn page_extent<R: ChunkFile>(
    file: &R,
    at: u64,
    end: u64,
    window: &mut (u64, Bytes),
) -> Option<(u64, u64)> {
    let header = header(file, at, end, window).ok()?;
    let next = at.checked_add(header.length)?.checked_add(header.stored)?;
    Some((
        next,
        if header.is_dictionary {
            0
        } else {
            header.values
        },
    ))
}

/// The page header at offset `at`; `window` caches bytes of earlier reads.
fn header<R: ChunkFile>(
    file: &R,
    at: u64,
    end: u64,
    window: &mut (u64, Bytes),
) -> Result<PageHeader> {
    let mut size = WINDOW;
    loop {
        let known = usize::try_from(at - window.0)
            .ok()
            .and_then(|skip| window.1.get(skip..))
            .unwrap_or_default();
        if let Some(header) = parse_page_header(known) {
            return Ok(header);
        }
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        if known.len() >= left.min(HEADER_MAX) {
            return Err(Error::format("a page header is damaged"));
        }
        while size <= known.len() {
            size *= 8;
        }
        *window = (
            at,
            file.get_bytes(at, size.min(left))
                .map_err(|error| parquet_read_error(&error))?,
        );
    }
}

/// Parses a `PageHeader` (field numbers of parquet.thrift).
fn parse_page_header(bytes: &[u8]) -> Option<PageHeader> {
    ThriftCursor::new(bytes).skip(&PAGE_HEADER)?;
    let mut walk = ThriftCursor::new(bytes);
    let (mut of, mut unpacked, mut stored, mut values, mut encoding) = (-1, -1, -1, 0, -1);
    walk.fields(&mut |walk, number, _| {
        match number {
            1 => of = walk.integer()?,
            2 => unpacked = walk.integer()?,
            3 => stored = walk.integer()?,
            // Data page, dictionary page, data page v2.
            5 | 7 | 8 => walk.fields(&mut |walk, inner, _| {
                match (inner, number) {
                    (1, _) => values = walk.integer()?,
                    (2, 5 | 7) | (4, 8) => encoding = walk.integer()?,
                    _ => return Some(false),
                }
                Some(true)
            })?,
            _ => return Some(false),
        }
        Some(true)
    })?;
    let size = |number: i64| u64::try_from(number).ok();
    let length = walk.position() as u64;
    Some(PageHeader {
        is_dictionary: of == 2,
        length,
        stored: size(stored)?,
        unpacked: size(unpacked)?,
        values: size(values)?,
        encoding,
    })
}

/// Checks the uncompressed size of a gzip page: the decoder inflates to the end, ignoring the
/// header's size.
fn inflates_as_claimed<R: ChunkFile>(file: &R, data: u64, header: &PageHeader) -> Result<()> {
    if header.stored.saturating_mul(DEFLATE_MOST) <= header.unpacked.max(PAGE_MAX / 64) {
        return Ok(());
    }
    let bytes = file
        .get_bytes(data, header.stored as usize)
        .map_err(|error| parquet_read_error(&error))?;
    let wrong = |error: std::io::Error| Error::format("a page can't be unpacked").because(error);
    let mut rest = flate2::read::MultiGzDecoder::new(bytes.as_ref()).take(header.unpacked + 1);
    let found = std::io::copy(&mut rest, &mut std::io::sink()).map_err(wrong)?;
    if found > header.unpacked {
        return Err(Error::too_large(format!(
            "a page unpacks to more than the {} that it claims",
            size_text(header.unpacked)
        )));
    }
    Ok(())
}

fn reader<R: ChunkFile>(
    file: &Arc<R>,
    chunk: &ColumnChunkMetaData,
    rows: u64,
) -> Result<SerializedPageReader<R>> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    SerializedPageReader::new(file.clone(), chunk, rows, None)
        .map_err(|error| parquet_read_error(&error))
}

/// Length in bytes of the longest string in a chunk's dictionary.
fn longest_text<R: ChunkFile>(
    file: &Arc<R>,
    chunk: &ColumnChunkMetaData,
    rows: u64,
) -> Result<u64> {
    let page = reader(file, chunk, rows)?
        .get_next_page()
        .map_err(|error| parquet_read_error(&error))?;
    let Some(Page::DictionaryPage { buf, .. }) = page else {
        return Ok(0);
    };
    let (mut rest, mut longest) = (buf.as_ref(), 0);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(u64::from(length));
        rest = after.get(length as usize..).unwrap_or_default();
    }
    Ok(longest)
}

/// Minimum bytes of a value in a dictionary page.
fn least_width(chunk: &ColumnChunkMetaData) -> u64 {
    match chunk.column_descr().physical_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(chunk.column_descr().type_length())
            .unwrap_or_default()
            .max(1),
    }
}

/// Checks the counts in the lists of lengths of a chunk's DELTA_LENGTH_BYTE_ARRAY and
/// DELTA_BYTE_ARRAY pages.
fn check_lengths<R: ChunkFile>(
    file: &Arc<R>,
    chunk: &ColumnChunkMetaData,
    rows: u64,
) -> Result<()> {
    with_lengths(file, chunk, rows, |encoding, values, count| {
        let lists = if encoding == Encoding::DELTA_BYTE_ARRAY {
            2
        } else {
            1
        };
        Ok(lists_hold_at_most(values, lists, count))
    })
}

/// Total bytes of all DELTA_BYTE_ARRAY strings of a chunk.
fn front_coded<R: ChunkFile>(
    file: &Arc<R>,
    chunk: &ColumnChunkMetaData,
    rows: u64,
    budget: &DecodeBudget,
) -> Result<u64> {
    let mut total = 0u64;
    with_lengths(file, chunk, rows, |encoding, values, count| {
        if encoding != Encoding::DELTA_BYTE_ARRAY {
            return Ok(true);
        }
        let Some(found) = front_coded_bytes(values, count) else {
            return Ok(false);
        };
        total = total.saturating_add(found);
        budget.check(total, || {
            format!("column {} unfolds", chunk.column_path().string())
        })?;
        Ok(true)
    })?;
    Ok(total)
}

/// Passes the encoding, the values and the number of values of each page with lists of lengths to
/// `check`, which returns false when the page is damaged.
fn with_lengths<R: ChunkFile>(
    file: &Arc<R>,
    chunk: &ColumnChunkMetaData,
    rows: u64,
    mut check: impl FnMut(Encoding, &[u8], u64) -> Result<bool>,
) -> Result<()> {
    let described = chunk.column_descr();
    let mut pages = reader(file, chunk, rows)?;
    while let Some(page) = pages
        .get_next_page()
        .map_err(|error| parquet_read_error(&error))?
    {
        let encoding = page.encoding();
        if !matches!(
            encoding,
            Encoding::DELTA_BYTE_ARRAY | Encoding::DELTA_LENGTH_BYTE_ARRAY
        ) {
            continue;
        }
        let (values, count) = match &page {
            Page::DataPage {
                buf,
                rep_level_encoding,
                def_level_encoding,
                num_values,
                ..
            } => {
                let levels = [
                    (described.max_rep_level(), rep_level_encoding),
                    (described.max_def_level(), def_level_encoding),
                ];
                (behind_levels(buf, levels, *num_values), *num_values)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                rep_levels_byte_len,
                def_levels_byte_len,
                ..
            } => {
                let skip =
                    (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
                (buf.get(skip..), *num_values)
            }
            Page::DictionaryPage { .. } => continue,
        };
        let sound = match values {
            Some(values) => check(encoding, values, u64::from(count))?,
            None => false,
        };
        if !sound {
            return Err(Error::format(format!(
                "a page of {} is damaged",
                chunk.column_path().string()
            )));
        }
    }
    Ok(())
}

/// The values of a v1 data page, after its repetition and definition levels.
fn behind_levels<'a>(
    page: &'a [u8],
    levels: [(i16, &Encoding); 2],
    values: u32,
) -> Option<&'a [u8]> {
    let mut rest = page;
    for (most, encoding) in levels.into_iter().filter(|(most, _)| *most > 0) {
        #[allow(deprecated, reason = "files of the first writers have levels so")]
        let packed = *encoding == Encoding::BIT_PACKED;
        rest = if packed {
            let bits = u64::from(16 - (most as u16).leading_zeros());
            rest.get(usize::try_from((u64::from(values) * bits).div_ceil(8)).ok()?..)?
        } else {
            let (length, after) = rest.split_first_chunk::<4>()?;
            after.get(u32::from_le_bytes(*length) as usize..)?
        };
    }
    Some(rest)
}
