//! Memory cache of pieces of remote files, with one size limit for all files: the pieces that were
//! used least recently are evicted first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// A contiguous piece of a file.
struct CachedPiece {
    bytes: Bytes,
    /// Its key in `Memory::order`.
    last_use: u64,
}

/// All pieces of all files.
#[derive(Default)]
pub(super) struct Memory {
    /// By file and offset. No piece contains another of the same file, so their ends are sorted
    /// too.
    files: HashMap<u64, BTreeMap<u64, CachedPiece>>,
    /// File and offset of each piece by time of its last use.
    order: BTreeMap<u64, (u64, u64)>,
    total_bytes: u64,
    /// Time of the latest use, in uses.
    clock: u64,
    /// The highest number of a file.
    last_file: u64,
}

/// The memory of all files; `None` before the first file.
pub(super) type SharedMemory = Mutex<Option<Memory>>;

fn with_memory<T>(memory: &SharedMemory, work: impl FnOnce(&mut Memory) -> T) -> T {
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    work(memory.get_or_insert_default())
}

impl Memory {
    /// The offset and bytes of a piece that contains `range`; the piece is marked as used.
    fn find_piece(&mut self, file: u64, range: &Range<u64>) -> Option<(u64, Bytes)> {
        let (start, piece) = self
            .files
            .get_mut(&file)?
            .range_mut(..=range.start)
            .next_back()?;
        if range.end > start + piece.bytes.len() as u64 {
            return None;
        }
        self.clock += 1;
        self.order.remove(&piece.last_use);
        self.order.insert(self.clock, (file, *start));
        piece.last_use = self.clock;
        Some((*start, piece.bytes.clone()))
    }

    /// Stores a piece, removes those that it contains, and evicts others above `limit` bytes.
    fn keep_piece(&mut self, file: u64, start: u64, bytes: Bytes, limit: u64) {
        let end = start + bytes.len() as u64;
        if bytes.is_empty()
            || bytes.len() as u64 > limit
            || self.find_piece(file, &(start..end)).is_some()
        {
            return;
        }
        let contained: Vec<u64> = self.files.get(&file).map_or(Vec::new(), |pieces| {
            let contained = pieces
                .range(start..)
                .take_while(|(other, piece)| *other + piece.bytes.len() as u64 <= end);
            contained.map(|(other, _)| *other).collect()
        });
        contained
            .into_iter()
            .for_each(|other| self.remove(file, other));
        self.clock += 1;
        self.total_bytes += bytes.len() as u64;
        self.order.insert(self.clock, (file, start));
        self.files.entry(file).or_default().insert(
            start,
            CachedPiece {
                bytes,
                last_use: self.clock,
            },
        );
        while self.total_bytes > limit
            && let Some((_, (file, start))) = self.order.pop_first()
        {
            self.remove(file, start);
        }
    }

    fn remove(&mut self, file: u64, start: u64) {
        let Some(pieces) = self.files.get_mut(&file) else {
            return;
        };
        if let Some(piece) = pieces.remove(&start) {
            self.order.remove(&piece.last_use);
            self.total_bytes -= piece.bytes.len() as u64;
        }
        if pieces.is_empty() {
            self.files.remove(&file);
        }
    }
}

/// The cached pieces of one version of a file; evicted on drop.
pub(super) struct KeptPieces {
    memory: &'static SharedMemory,
    file: u64,
}

impl KeptPieces {
    /// The pieces of a new file or version: none.
    pub fn new(memory: &'static SharedMemory) -> Self {
        let file = with_memory(memory, |memory| {
            memory.last_file += 1;
            memory.last_file
        });
        Self { memory, file }
    }

    /// The offset and bytes of a piece that contains `range`.
    pub fn find_piece(&self, range: &Range<u64>) -> Option<(u64, Bytes)> {
        with_memory(self.memory, |memory| memory.find_piece(self.file, range))
    }

    /// Stores a piece, which must not be a small slice of a larger buffer, as the whole buffer
    /// would stay allocated. `limit` is the size limit of all files together, in bytes.
    pub fn keep_piece(&self, start: u64, bytes: Bytes, limit: u64) {
        with_memory(self.memory, |memory| {
            memory.keep_piece(self.file, start, bytes, limit)
        });
    }
}

impl Drop for KeptPieces {
    fn drop(&mut self) {
        with_memory(self.memory, |memory| {
            for (_, piece) in memory.files.remove(&self.file).into_iter().flatten() {
                memory.order.remove(&piece.last_use);
                memory.total_bytes -= piece.bytes.len() as u64;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(length: usize) -> Bytes {
        vec![1; length].into()
    }

    #[test]
    fn the_limit_is_of_all_files_and_the_piece_used_least_recently_is_evicted() {
        let mut memory = Memory::default();
        for file in 0..10 {
            for part in 0..5 {
                memory.keep_piece(file, part * 100, piece(100), 1000);
                assert!(memory.total_bytes <= 1000, "{} bytes", memory.total_bytes);
            }
        }
        assert_eq!(
            (memory.total_bytes, memory.order.len()),
            (1000, 10),
            "the last two files"
        );
        assert!(memory.find_piece(7, &(0..1)).is_none());
        // A piece that was used again stays, although it was stored first.
        assert!(memory.find_piece(8, &(0..100)).is_some());
        for part in 0..9 {
            memory.keep_piece(20, part * 100, piece(100), 1000);
        }
        assert!(
            memory.find_piece(8, &(10..90)).is_some() && memory.find_piece(9, &(0..1)).is_none()
        );
        memory.keep_piece(21, 0, piece(1001), 1000);
        assert!(
            memory.find_piece(21, &(0..1)).is_none(),
            "a piece beyond the limit is not kept"
        );
    }

    #[test]
    fn no_part_of_a_file_is_kept_twice() {
        let mut memory = Memory::default();
        memory.keep_piece(1, 0, piece(10), 1000);
        memory.keep_piece(1, 2, piece(3), 1000);
        assert_eq!(memory.total_bytes, 10);
        memory.keep_piece(1, 5, piece(10), 1000);
        memory.keep_piece(1, 0, piece(20), 1000);
        assert_eq!((memory.total_bytes, memory.order.len()), (20, 1));
        assert!(
            memory.find_piece(1, &(3..20)).is_some() && memory.find_piece(1, &(3..21)).is_none()
        );
        assert!(memory.find_piece(2, &(0..1)).is_none());
    }

    #[test]
    fn dropping_a_file_evicts_its_pieces() {
        let memory: &'static SharedMemory = Box::leak(Box::<SharedMemory>::default());
        let kept = KeptPieces::new(memory);
        kept.keep_piece(0, piece(10), 1000);
        let file = kept.file;
        assert!(kept.find_piece(&(0..10)).is_some());
        drop(kept);
        assert!(with_memory(memory, |memory| !memory
            .files
            .contains_key(&file)
            && memory.order.values().all(|(other, _)| *other != file)));
    }
}
