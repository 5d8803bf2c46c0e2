//! The bytes of a Parquet file, read by ranges, and the guard around the decoder: a damaged file
//! gives an error, never a panic.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::error::{Error, IoContext, Result};
use crate::jobs::{catch_quietly, panic_error};

/// Bytes that are read at once for the header of a page; most are below 100.
const HEADER_BYTES: usize = 512;

/// Reads `length` bytes at `offset` of a Parquet file.
type RangeRead = dyn Fn(u64, usize) -> std::io::Result<Bytes> + Send + Sync;
/// Prefetches `(offset, length)` ranges for later reads.
type Prefetch = dyn Fn(&[(u64, u64)]) -> std::io::Result<()> + Send + Sync;
/// Number of bytes of a range `(offset, length)` that are not in holes of a sparse file.
type Filled = dyn Fn(u64, u64) -> u64 + Send + Sync;

/// A Parquet file in memory, or at a byte range of a container. Cheap to clone.
#[derive(Clone)]
pub struct ParquetSlice {
    size: u64,
    read: Arc<RangeRead>,
    pub(super) prefetch: Option<Arc<Prefetch>>,
    pub(super) filled: Option<Arc<Filled>>,
}

impl ParquetSlice {
    /// A file of `size` bytes read through `read(offset, length)`.
    pub fn new(
        size: u64,
        read: impl Fn(u64, usize) -> std::io::Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self {
            size,
            read: Arc::new(read),
            prefetch: None,
            filled: None,
        }
    }

    /// Adds a function that prefetches several ranges at once, for remote files.
    #[must_use]
    pub fn with_prefetch(
        mut self,
        prefetch: impl Fn(&[(u64, u64)]) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.prefetch = Some(Arc::new(prefetch));
        self
    }

    /// Adds a function that returns the number of bytes of a range outside holes of a sparse file.
    #[must_use]
    pub fn with_filled(mut self, filled: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Self {
        self.filled = Some(Arc::new(filled));
        self
    }

    /// A file of this machine.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn of_file(path: &Path) -> Result<Self> {
        let file = crate::files::open(path).io_at("open the table", path)?;
        let size = file.metadata().io_at("read the table", path)?.len();
        let file = Mutex::new(file);
        Ok(Self::new(size, move |offset, length| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let mut bytes = vec![0; length];
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut bytes))?;
            Ok(bytes.into())
        }))
    }

    /// A file in memory.
    pub fn from_bytes(bytes: Bytes) -> Self {
        let size = bytes.len() as u64;
        Self::new(size, move |offset, length| {
            let start = usize::try_from(offset)
                .ok()
                .filter(|start| start + length <= bytes.len());
            let start =
                start.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
            Ok(bytes.slice(start..start + length))
        })
    }

    /// Length in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    pub(super) fn range(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let inside = start
            .checked_add(length as u64)
            .is_some_and(|end| end <= self.size);
        if !inside {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} are outside the {} bytes of the file",
                self.size
            )));
        }
        (self.read)(start, length).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

impl Length for ParquetSlice {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for ParquetSlice {
    type T = BufReader<SliceReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<BufReader<SliceReader>> {
        // The header of a page is read byte by byte; its data is read by `get_bytes`.
        Ok(BufReader::with_capacity(
            HEADER_BYTES,
            SliceReader {
                slice: self.clone(),
                position: start,
            },
        ))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.range(start, length)
    }
}

/// Sequential reading of a [`ParquetSlice`].
pub struct SliceReader {
    slice: ParquetSlice,
    position: u64,
}

impl Read for SliceReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.slice.size.saturating_sub(self.position);
        let length = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        let bytes = (self.slice.read)(self.position, length)?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Runs `work` and converts a panic into a format error: damaged files reach code in the decoder
/// that panics. The panic message is not printed.
pub(super) fn catch_panics<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_quietly(work) {
        Ok(outcome) => outcome,
        Err(panic) => Err(Error::format("the data of the table is damaged")
            .because(panic_error(what, panic.as_ref()))),
    }
}

pub(super) fn parquet_read_error(error: &ParquetError) -> Error {
    match Error::found_in(error) {
        Some(own) => own,
        None => Error::format("this is not readable as Parquet").because(error.to_string()),
    }
}

/// The error for an unreadable table; an error of the studio in the chain is kept.
pub(super) fn unreadable(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    match Error::found_in(error.as_ref()) {
        Some(own) => own,
        None => Error::new(crate::error::Kind::Io, "the table can't be read").because(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;
    use crate::jobs::JobContext;
    use crate::table::{ParquetOptions, TableHead, write_parquet};

    #[test]
    fn a_page_is_read_in_a_few_calls() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).expect("is a batch");
        let bytes =
            write_parquet(&batch.schema(), &[batch], &ParquetOptions::local()).expect("writes");
        let whole = ParquetSlice::from_bytes(bytes.clone().into());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let slice = ParquetSlice::new(bytes.len() as u64, move |offset, length| {
            counted.fetch_add(1, Ordering::Relaxed);
            (whole.read)(offset, length)
        });
        TableHead::read(slice)
            .and_then(|head| head.verify(&JobContext::default()))
            .expect("reads");
        // The footer in two; a header of each of the two pages, twice, and their data.
        assert!(calls.load(Ordering::Relaxed) <= 10, "{calls:?} calls");
    }
}
