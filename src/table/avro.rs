//! Level tables in Avro, as tacotoolbox 0.9 to 0.15 wrote them to folders.

use std::io::Read;

use arrow_avro::reader::ReaderBuilder;

use super::parquet_slice::catch_panics;
use super::{DecodeBudget, LevelTable};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

const MAGIC: &[u8] = b"Obj\x01";
/// Length of the marker behind the header and behind each block, in bytes.
const SYNC: usize = 16;

/// Reads an Avro object container file.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when it is no Avro, is damaged, or is compressed;
/// [`Kind::TooLarge`](crate::error::Kind::TooLarge) when it unfolds to more than the budget, or
/// states more rows than bytes; when the job is cancelled.
pub fn read_avro(bytes: &[u8], budget: &DecodeBudget, ctx: &JobContext) -> Result<LevelTable> {
    let damaged =
        |error: arrow::error::ArrowError| unreadable_avro_error().because(error.to_string());
    budget.add_stored(bytes.len() as u64);
    catch_panics("reading Avro", || {
        let header = header_length(bytes).ok_or_else(unreadable_avro_error)?;
        let empty = ReaderBuilder::new()
            .build(&bytes[..header])
            .map_err(damaged)?;
        let (schema, mut batches) = (empty.schema(), Vec::new());
        let mut at = header;
        while at < bytes.len() {
            ctx.check()?;
            let (rows, end) = block(bytes, at).ok_or_else(unreadable_avro_error)?;
            // The id of each row takes a byte at least.
            if rows > end - at {
                return Err(Error::too_large(format!(
                    "the table states more rows than its {} bytes can hold",
                    bytes.len()
                )));
            }
            // A reader for each block, which ends with the rows of the block: the crate's reader
            // does not return from a block with bytes behind them.
            let file = bytes[..header].chain(&bytes[at..end]);
            let mut reader = ReaderBuilder::new()
                .with_batch_size(rows.max(1))
                .build(file)
                .map_err(damaged)?;
            if rows > 0 {
                let batch = reader
                    .next()
                    .ok_or_else(unreadable_avro_error)?
                    .map_err(damaged)?;
                if batch.num_rows() != rows {
                    return Err(unreadable_avro_error().because(format!(
                        "a block has {} rows and states {rows}",
                        batch.num_rows()
                    )));
                }
                budget.take(batch.get_array_memory_size() as u64, || {
                    "the table unfolds".to_owned()
                })?;
                batches.push(batch);
            }
            at = end;
        }
        Ok(LevelTable::new(schema, batches))
    })
}

fn unreadable_avro_error() -> Error {
    Error::format("this is not readable as Avro")
}

/// Length of the header in bytes: magic, a map of texts and bytes, marker.
fn header_length(bytes: &[u8]) -> Option<usize> {
    let mut at = bytes.starts_with(MAGIC).then_some(MAGIC.len())?;
    loop {
        let entries = integer(bytes, &mut at)?;
        if entries == 0 {
            break;
        }
        // The length of a block of entries follows a negative count.
        if entries < 0 {
            integer(bytes, &mut at)?;
        }
        for _ in 0..entries.unsigned_abs().checked_mul(2)? {
            skip(bytes, &mut at)?;
        }
    }
    at.checked_add(SYNC).filter(|&end| end <= bytes.len())
}

/// Number of rows of the block at `at`, and its end.
fn block(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let rows = usize::try_from(integer(bytes, &mut at)?).ok()?;
    skip(bytes, &mut at)?;
    Some((
        rows,
        at.checked_add(SYNC).filter(|&end| end <= bytes.len())?,
    ))
}

/// Moves `at` behind a length and as many bytes.
fn skip(bytes: &[u8], at: &mut usize) -> Option<()> {
    let length = usize::try_from(integer(bytes, at)?).ok()?;
    *at = at.checked_add(length).filter(|&end| end <= bytes.len())?;
    Some(())
}

/// An integer in zigzag encoding of seven bits a byte.
fn integer(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one column `id` of texts, and these blocks: number of rows, data.
    fn file(blocks: &[(u8, &[u8])]) -> Vec<u8> {
        let schema =
            br#"{"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]}"#;
        let mut bytes = MAGIC.to_vec();
        bytes.extend([2, 22]);
        bytes.extend(b"avro.schema");
        bytes.extend([
            (schema.len() * 2) as u8 | 0x80,
            ((schema.len() * 2) >> 7) as u8,
        ]);
        bytes.extend(schema);
        bytes.push(0);
        bytes.extend([7; SYNC]);
        for (rows, data) in blocks {
            bytes.extend([rows * 2, (data.len() * 2) as u8]);
            bytes.extend(*data);
            bytes.extend([7; SYNC]);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<LevelTable> {
        read_avro(bytes, &DecodeBudget::default(), &JobContext::default())
    }

    #[test]
    fn blocks_are_joined() {
        let table = read(&file(&[(2, b"\x02a\x02b"), (0, b""), (1, b"\x04cd")])).expect("reads");
        let ids = table.strings("id").expect("is text").expect("is there");
        assert_eq!(ids.iter().flatten().collect::<Vec<_>>(), ["a", "b", "cd"]);
        assert_eq!(read(&file(&[])).expect("reads").rows(), 0);
    }

    #[test]
    fn wrong_numbers_of_rows_are_errors() {
        for blocks in [(3, b"\x02a\x02b".as_slice()), (60, b"\x02a"), (1, b"\x0ea")] {
            assert!(read(&file(&[blocks])).is_err(), "{blocks:?}");
        }
        // Bytes behind the rows are no rows.
        assert_eq!(
            read(&file(&[(1, b"\x02a\x02b"), (1, b"\x02c")]))
                .expect("reads")
                .rows(),
            2
        );
        let whole = file(&[(1, b"\x02a")]);
        for end in 0..whole.len() {
            let is_block_missing = end == file(&[]).len();
            assert_eq!(read(&whole[..end]).is_ok(), is_block_missing, "{end}");
        }
    }
}
