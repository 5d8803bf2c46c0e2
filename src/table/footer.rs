//! Checks a Parquet footer before it is decoded: numbers of columns, nesting and list lengths are limited, so that decoding can
//! neither overflow the stack nor allocate memory for claimed but missing data.

use bytes::Bytes;
use parquet::file::metadata::FooterTail;

use super::ParquetSlice;
use super::budget::size_text;
use super::parquet_slice::damaged;
use super::thrift::{Walk, kind};
use crate::error::{Error, Result};

/// Maximum number of columns. Enough for thousands of bands or embeddings; every row of the window and of a query has all of
/// them.
pub const COLUMNS_MAX: u64 = 10_000;
/// Maximum number of schema elements, including groups.
const ELEMENTS_MAX: u64 = 4 * COLUMNS_MAX;
/// Maximum nesting of columns; a list counts twice.
const DEPTH_MAX: usize = 40;
/// Maximum number of column chunks: 20 columns of 100 million rows have 20,000.
const CHUNKS_MAX: u64 = 250_000;
/// Maximum number of row groups.
const GROUPS_MAX: u64 = 100_000;
/// Maximum number of elements of all lists in the footer.
const LISTED_MAX: u64 = 6_000_000;
/// Maximum size of a footer in bytes; the largest known have a few million.
const BYTES_MAX: u64 = 64 << 20;
/// Bytes after the footer: its length and the magic number.
const TAIL: u64 = 8;

/// Reads the footer of a file and checks its limits.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when a limit is exceeded, [`crate::error::Kind::Format`] for a damaged footer.
pub(super) fn read(slice: &ParquetSlice) -> Result<Bytes> {
    let short = || Error::format("this is not readable as Parquet").because("the file is too short to have a footer");
    let start = slice.size_bytes().checked_sub(TAIL).ok_or_else(short)?;
    let tail = slice.range(start, TAIL as usize).map_err(|error| damaged(&error))?;
    let tail: [u8; TAIL as usize] = tail.as_ref().try_into().map_err(|_| short())?;
    let tail = FooterTail::try_new(&tail).map_err(|error| damaged(&error))?;
    let length = tail.metadata_length() as u64;
    if tail.is_encrypted_footer() {
        return Err(Error::unsupported("the Parquet footer is encrypted"));
    }
    let start = start.checked_sub(length).ok_or_else(|| {
        let reason = format!("the footer of {length} bytes is longer than the file");
        Error::format("this is not readable as Parquet").because(reason)
    })?;
    if length > BYTES_MAX {
        return Err(beyond(&format!("{}; {} is the most", size_text(length), size_text(BYTES_MAX))));
    }
    let footer = slice.range(start, length as usize).map_err(|error| damaged(&error))?;
    count(&footer)?;
    Ok(footer)
}

fn limit(what: &str, found: u64, most: u64) -> Result<()> {
    if found <= most { Ok(()) } else { Err(beyond(&format!("more than {most} {what}"))) }
}

fn beyond(what: &str) -> Error {
    let error = Error::too_large(format!("the Parquet footer has {what}"));
    error.hint("the file is damaged or malicious: do not trust it")
}

#[derive(Default)]
struct Counts {
    elements: u64,
    columns: u64,
    deepest: usize,
    groups: u64,
    chunks: u64,
}

impl Counts {
    fn check(&self) -> Result<()> {
        limit("columns", self.columns, COLUMNS_MAX)?;
        limit("parts of columns", self.elements, ELEMENTS_MAX)?;
        limit("levels of nested columns", self.deepest as u64, DEPTH_MAX as u64)?;
        limit("row groups", self.groups, GROUPS_MAX)?;
        limit("columns of row groups", self.chunks, CHUNKS_MAX)
    }

    fn is_too_much(&self) -> bool {
        self.check().is_err()
    }
}

/// Iterates over `FileMetaData` (field numbers of parquet.thrift).
fn count(footer: &[u8]) -> Result<()> {
    let mut counts = Counts::default();
    let mut walk = Walk::new(footer);
    let walked = walk.fields(&mut |walk, number, found| match number {
        2 => list(walk, found, |walk, count| schema(walk, count, &mut counts)),
        4 => list(walk, found, |walk, count| groups(walk, count, &mut counts)),
        _ => typed(number, found, &FILE_METADATA),
    });
    counts.check()?;
    limit("listed values", walk.elements, LISTED_MAX)?;
    walked.ok_or_else(|| Error::format("this is not readable as Parquet").because("the footer is damaged"))
}

/// Types of the fields of `FileMetaData`, from field 1.
const FILE_METADATA: [u8; 9] =
    [kind::I32, kind::LIST, kind::I64, kind::LIST, kind::LIST, kind::BINARY, kind::LIST, kind::STRUCT, kind::BINARY];
/// Of `SchemaElement`.
const SCHEMA_ELEMENT: [u8; 10] =
    [kind::I32, kind::I32, kind::I32, kind::BINARY, kind::I32, kind::I32, kind::I32, kind::I32, kind::I32, kind::STRUCT];
/// Of `RowGroup`.
const ROW_GROUP: [u8; 7] = [kind::LIST, kind::I64, kind::I64, kind::LIST, kind::I64, kind::I64, kind::I16];
/// Of `ColumnChunk`.
const COLUMN_CHUNK: [u8; 9] =
    [kind::BINARY, kind::I64, kind::STRUCT, kind::I64, kind::I32, kind::I64, kind::I32, kind::STRUCT, kind::BINARY];
/// Of `ColumnMetaData`.
const COLUMN_METADATA: [u8; 15] = [
    kind::I32,
    kind::LIST,
    kind::LIST,
    kind::I32,
    kind::I64,
    kind::I64,
    kind::I64,
    kind::LIST,
    kind::I64,
    kind::I64,
    kind::I64,
    kind::STRUCT,
    kind::LIST,
    kind::I64,
    kind::I32,
];

/// Skips a field of the type that the format states, or one that the format does not know. Another type is damage: the decoder does not
/// compare types, and would go on at another byte.
fn typed(number: i64, found: u8, types: &[u8]) -> Option<bool> {
    match usize::try_from(number - 1).ok().and_then(|index| types.get(index)) {
        Some(stated) if *stated != found => None,
        _ => Some(false),
    }
}

/// Iterates over a list of structs; another element type is damage, as the decoder does not check it.
fn list(walk: &mut Walk, found: u8, each: impl FnOnce(&mut Walk, u64) -> Option<()>) -> Option<bool> {
    if found != kind::LIST {
        return None;
    }
    let (of, count) = walk.list()?;
    if count > 0 && of != kind::STRUCT {
        return None;
    }
    each(walk, count).map(|()| true)
}

/// Iterates over the schema elements; each group precedes its children.
fn schema(walk: &mut Walk, count: u64, counts: &mut Counts) -> Option<()> {
    // For each enclosing group, the number of children still to come.
    let mut open: Vec<i64> = Vec::new();
    for behind in (0..count).rev() {
        let mut children = 0;
        walk.fields(&mut |walk, number, found| match (number, found) {
            (5, kind::I32) => {
                children = walk.integer()?;
                Some(true)
            }
            _ => typed(number, found, &SCHEMA_ELEMENT),
        })?;
        // The decoder allocates memory for the claimed number of children.
        if !u64::try_from(children).is_ok_and(|children| children <= behind) {
            return None;
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        counts.elements += 1;
        counts.columns += u64::from(open.len() == 1);
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
            // The root element is not a column.
            counts.deepest = counts.deepest.max(open.len() - 1);
        }
        if counts.is_too_much() {
            return None;
        }
    }
    Some(())
}

/// Iterates over a column chunk and its metadata.
fn chunk(walk: &mut Walk) -> Option<()> {
    walk.fields(&mut |walk, number, found| match (number, found) {
        (3, kind::STRUCT) => {
            let each = &mut |_: &mut Walk, number: i64, found: u8| typed(number, found, &COLUMN_METADATA);
            walk.fields(each).map(|()| true)
        }
        _ => typed(number, found, &COLUMN_CHUNK),
    })
}

fn groups(walk: &mut Walk, count: u64, counts: &mut Counts) -> Option<()> {
    counts.groups += count;
    if counts.is_too_much() {
        return None;
    }
    for _ in 0..count {
        walk.fields(&mut |walk, number, found| match number {
            1 => list(walk, found, |walk, count| {
                counts.chunks += count;
                if counts.is_too_much() {
                    return None;
                }
                (0..count).try_for_each(|_| chunk(walk))
            }),
            _ => typed(number, found, &ROW_GROUP),
        })?;
        if walk.elements > LISTED_MAX {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer that contains only schema elements with these numbers of children.
    fn footer(children: &[u64]) -> Vec<u8> {
        let varint = |mut number: u64| {
            let mut bytes = Vec::new();
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
            bytes
        };
        let mut bytes = vec![0x15, 2, 0x19, 0xFC];
        bytes.extend(varint(children.len() as u64));
        for children in children {
            bytes.extend([0x48, 1, b'n', 0x15]);
            bytes.extend(varint(children * 2));
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    /// Groups claim children that do not exist; the decoder reserves 8 bytes for each.
    #[test]
    fn a_known_field_of_another_type_is_damage() {
        // A list of one schema element, whose field 3 is a boolean; then the same element with an integer.
        assert!(count(&[0x29, 0x1C, 0x32, 0x00, 0x00]).is_err());
        assert!(count(&[0x29, 0x1C, 0x35, 0x02, 0x00, 0x00]).is_ok());
        // Field 65,541 is field 5 in 16 bits.
        assert!(count(&[0x29, 0x1C, 0x05, 0x8A, 0x80, 0x08, 0x02, 0x00, 0x00]).is_err());
    }

    #[test]
    fn members_that_are_not_there_are_damage() {
        for children in [&[1 << 30, 0][..], &[2, 0], &[1, 1], &[3, 1, 0, 0, 5]] {
            let error = count(&footer(children)).expect_err("claims too much");
            assert!(!error.is_too_large(), "{children:?}: {error}");
        }
        assert!(count(&footer(&[2, 1, 0, 0])).is_ok());
    }

    #[test]
    fn columns_and_their_depth_are_counted_before_anything_is_built() {
        let flat = |columns: u64| footer(&[vec![columns], vec![0; columns as usize]].concat());
        assert!(count(&flat(COLUMNS_MAX)).is_ok());
        let error = count(&flat(COLUMNS_MAX + 1)).expect_err("is too wide");
        assert!(error.is_too_large() && error.to_string().contains("more than 10000 columns"), "{error}");
        assert!(count(&footer(&[vec![1; DEPTH_MAX], vec![0]].concat())).is_ok());
        let error = count(&footer(&vec![1; 10_000])).expect_err("is too deep");
        assert!(error.is_too_large() && error.to_string().contains("levels of nested columns"), "{error}");
        let error = count(&flat(3)[..12]).expect_err("is cut");
        assert!(!error.is_too_large(), "{error}");
    }
}
