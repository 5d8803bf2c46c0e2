//! Checks a Parquet footer before it is decoded: numbers of columns, nesting and list lengths are
//! limited, so that decoding can neither overflow the stack nor allocate memory for claimed but
//! missing data.

use bytes::Bytes;
use parquet::file::metadata::FooterTail;

use super::ParquetSlice;
use super::budget::size_text;
use super::parquet_slice::parquet_read_error;
use super::parquet_structs::FILE_METADATA;
use super::thrift::{self, ThriftCursor};
use crate::error::{Error, Result};

/// Maximum number of columns. Enough for thousands of bands or embedding dimensions; each row shown
/// or returned has a value for every column.
pub const COLUMNS_MAX: u64 = 10_000;
/// Maximum number of schema elements, including groups.
const ELEMENTS_MAX: u64 = 4 * COLUMNS_MAX;
/// Maximum nesting of schema elements; a list adds two (its group and the repeated element).
const DEPTH_MAX: usize = 40;
/// Maximum number of column chunks. For comparison: 20 columns of 100 million rows in row groups of
/// 100,000 have 20,000.
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
/// [`crate::error::Kind::TooLarge`] when a limit is exceeded, [`crate::error::Kind::Format`] for a
/// damaged footer.
pub(super) fn read(slice: &ParquetSlice) -> Result<Bytes> {
    read_checked(slice).map_err(|error| unfetched_table_error(slice).unwrap_or(error))
}

/// The error for a pointer of a file that was not fetched.
fn unfetched_table_error(slice: &ParquetSlice) -> Option<Error> {
    let size = slice.size_bytes();
    if !crate::files::may_be_pointer(size) {
        return None;
    }
    let start = slice.range(0, usize::try_from(size).ok()?).ok()?;
    crate::files::unfetched_file_error(&start)
}

fn read_checked(slice: &ParquetSlice) -> Result<Bytes> {
    let start = slice
        .size_bytes()
        .checked_sub(TAIL)
        .ok_or_else(missing_footer_error)?;
    let tail = slice
        .range(start, TAIL as usize)
        .map_err(|error| parquet_read_error(&error))?;
    let tail: [u8; TAIL as usize] = tail
        .as_ref()
        .try_into()
        .map_err(|_| missing_footer_error())?;
    let tail = FooterTail::try_new(&tail).map_err(|error| parquet_read_error(&error))?;
    let length = tail.metadata_length() as u64;
    if tail.is_encrypted_footer() {
        return Err(Error::unsupported("the Parquet footer is encrypted"));
    }
    let start = start.checked_sub(length).ok_or_else(|| {
        let reason = format!("the footer of {length} bytes is longer than the file");
        Error::format("this is not readable as Parquet").because(reason)
    })?;
    if length > BYTES_MAX {
        return Err(footer_limit_error(&format!(
            "{}; {} is the most",
            size_text(length),
            size_text(BYTES_MAX)
        )));
    }
    let footer = with_stated_types(
        slice
            .range(start, length as usize)
            .map_err(|error| parquet_read_error(&error))?,
    );
    count(&footer)?;
    Ok(footer)
}

fn missing_footer_error() -> Error {
    Error::format("this is not readable as Parquet")
        .because("the file is too short to have a footer")
}

/// The footer without fields of other types than parquet.thrift states, which some old writers
/// stored under numbers that were given later: Thrift's readers skip them, the decoder does not. A
/// damaged footer is returned as it is.
fn with_stated_types(footer: Bytes) -> Bytes {
    match ThriftCursor::new(&footer).skip(&FILE_METADATA) {
        Some(()) => footer,
        None => thrift::with_stated_types(&footer, &FILE_METADATA).map_or(footer, Bytes::from),
    }
}

fn limit(what: &str, found: u64, most: u64) -> Result<()> {
    if found <= most {
        Ok(())
    } else {
        Err(footer_limit_error(&format!("more than {most} {what}")))
    }
}

fn footer_limit_error(what: &str) -> Error {
    let error = Error::too_large(format!("the Parquet footer has {what}"));
    error.hint("the file is damaged or malicious: do not trust it")
}

#[derive(Default)]
struct FooterCounts {
    elements: u64,
    columns: u64,
    deepest: usize,
    groups: u64,
    chunks: u64,
}

impl FooterCounts {
    fn check(&self) -> Result<()> {
        limit("columns", self.columns, COLUMNS_MAX)?;
        limit("schema elements", self.elements, ELEMENTS_MAX)?;
        limit(
            "levels of nested columns",
            self.deepest as u64,
            DEPTH_MAX as u64,
        )?;
        limit("row groups", self.groups, GROUPS_MAX)?;
        limit("column chunks", self.chunks, CHUNKS_MAX)
    }

    fn is_too_much(&self) -> bool {
        self.check().is_err()
    }
}

/// Checks the types of the footer's fields against parquet.thrift, then counts the schema elements,
/// row groups and column chunks that a decoder would allocate.
fn count(footer: &[u8]) -> Result<()> {
    let damaged =
        || Error::format("this is not readable as Parquet").because("the footer is damaged");
    let mut walk = ThriftCursor::new(footer);
    let has_structure = walk.skip(&FILE_METADATA).is_some();
    limit("list elements in the footer", walk.elements, LISTED_MAX)?;
    if !has_structure {
        return Err(damaged());
    }
    let mut counts = FooterCounts::default();
    // FileMetaData: field 2 is schema, field 4 is row_groups.
    let counted = ThriftCursor::new(footer).fields(&mut |walk, number, _| match number {
        2 => list(walk, |walk, count| schema(walk, count, &mut counts)),
        4 => list(walk, |walk, count| groups(walk, count, &mut counts)),
        _ => Some(false),
    });
    counts.check()?;
    counted.ok_or_else(damaged)
}

/// Reads the header of a list and passes its length to `each`.
fn list(
    walk: &mut ThriftCursor,
    each: impl FnOnce(&mut ThriftCursor, u64) -> Option<()>,
) -> Option<bool> {
    let (_, count) = walk.list()?;
    each(walk, count).map(|()| true)
}

/// Iterates over the schema elements; each group precedes its children.
fn schema(walk: &mut ThriftCursor, count: u64, counts: &mut FooterCounts) -> Option<()> {
    // For each enclosing group, the number of children still to come.
    let mut open: Vec<i64> = Vec::new();
    for behind in (0..count).rev() {
        let mut children = 0;
        // SchemaElement: field 5 is num_children.
        walk.fields(&mut |walk, number, _| {
            if number == 5 {
                children = walk.integer()?;
            }
            Some(number == 5)
        })?;
        // The decoder allocates for the stated number of children, so it may not exceed the number
        // of elements that follow.
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

fn groups(walk: &mut ThriftCursor, count: u64, counts: &mut FooterCounts) -> Option<()> {
    counts.groups += count;
    if counts.is_too_much() {
        return None;
    }
    for _ in 0..count {
        // RowGroup: field 1 is columns.
        walk.fields(&mut |walk, number, _| {
            if number != 1 {
                return Some(false);
            }
            list(walk, |walk, count| {
                counts.chunks += count;
                if counts.is_too_much() {
                    return None;
                }
                (0..count).try_for_each(|_| walk.fields(&mut |_, _, _| Some(false)))
            })
        })?;
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

    #[test]
    fn a_known_field_of_another_type_is_damage() {
        // A list of one schema element, whose field 3 is a boolean; then the same element with an
        // integer.
        assert!(count(&[0x29, 0x1C, 0x32, 0x00, 0x00]).is_err());
        assert!(count(&[0x29, 0x1C, 0x35, 0x02, 0x00, 0x00]).is_ok());
        // Field 65,541 is field 5 in 16 bits.
        assert!(count(&[0x29, 0x1C, 0x05, 0x8A, 0x80, 0x08, 0x02, 0x00, 0x00]).is_err());
        // A logical type (field 10) of integers, whose width (field 1) is a number instead of a
        // byte.
        assert!(
            count(&[
                0x29, 0x1C, 0xAC, 0xAC, 0x13, 0x08, 0x11, 0x00, 0x00, 0x00, 0x00
            ])
            .is_ok()
        );
        assert!(
            count(&[
                0x29, 0x1C, 0xAC, 0xAC, 0x15, 0x08, 0x11, 0x00, 0x00, 0x00, 0x00
            ])
            .is_err()
        );
    }

    #[test]
    fn fields_of_another_type_are_left_out_of_the_footer() {
        // A list of one schema element with the name "n", whose field 9 (field_id, a number) is a
        // list of one structure.
        let footer = Bytes::from_static(&[0x29, 0x1C, 0x48, 1, b'n', 0x59, 0x1C, 0x15, 2, 0, 0, 0]);
        assert!(count(&footer).is_err());
        let kept = with_stated_types(footer);
        assert_eq!(kept.as_ref(), [0x29, 0x1C, 0x48, 1, b'n', 0, 0]);
        assert!(count(&kept).is_ok());
        let damaged = Bytes::from_static(&[0x29, 0x1C, 0x48, 9, b'n', 0, 0]);
        assert_eq!(with_stated_types(damaged.clone()), damaged);
    }

    /// Groups claim children that do not exist; the decoder reserves 8 bytes for each.
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
        assert!(
            error.is_too_large() && error.to_string().contains("more than 10000 columns"),
            "{error}"
        );
        assert!(count(&footer(&[vec![1; DEPTH_MAX], vec![0]].concat())).is_ok());
        let error = count(&footer(&vec![1; 10_000])).expect_err("is too deep");
        assert!(
            error.is_too_large() && error.to_string().contains("levels of nested columns"),
            "{error}"
        );
        let error = count(&flat(3)[..12]).expect_err("is cut");
        assert!(!error.is_too_large(), "{error}");
    }
}
