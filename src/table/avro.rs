//! Level tables in Avro, as tacotoolbox 0.9 to 0.15 wrote them to folders.

use std::io::{BufReader, Read};

use arrow_avro::reader::ReaderBuilder;

use super::parquet_slice::guarded;
use super::{DecodeBudget, LevelTable};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Rows that are decoded at once.
const ROWS_AT_ONCE: usize = 8192;

/// Reads an Avro object container file of `size` bytes.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when it is no Avro, is damaged, or is compressed;
/// [`Kind::TooLarge`](crate::error::Kind::TooLarge) when it unfolds to more than the budget, or states more rows than bytes; when the
/// job is cancelled.
pub fn read_avro(file: impl Read, size: u64, budget: &DecodeBudget, ctx: &JobContext) -> Result<LevelTable> {
    let damaged = |error: arrow::error::ArrowError| Error::format("this is not readable as Avro").because(error.to_string());
    budget.add_stored(size);
    guarded("reading Avro", || {
        let reader = ReaderBuilder::new().with_batch_size(ROWS_AT_ONCE);
        let reader = reader.build(BufReader::new(file)).map_err(damaged)?;
        let schema = reader.schema();
        let (mut batches, mut rows) = (Vec::new(), 0u64);
        for batch in reader {
            ctx.check()?;
            let batch = batch.map_err(damaged)?;
            rows += batch.num_rows() as u64;
            // The id of each row takes a byte at least.
            if rows > size {
                return Err(Error::too_large(format!("the table states more rows than its {size} bytes can hold")));
            }
            budget.take(batch.get_array_memory_size() as u64, || "the table unfolds".to_owned())?;
            batches.push(batch);
        }
        Ok(LevelTable::new(schema, batches))
    })
}
