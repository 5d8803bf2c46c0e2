//! Memory cache of remote files with a common size limit; least recently used pieces are evicted
//! first, across files.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// A contiguous piece of a file.
struct CachedPiece {
    bytes: Bytes,
    /// Position in the order of use.
    used: u64,
}

/// All pieces of all files.
#[derive(Default)]
pub(super) struct Memory {
    /// By file and offset. No piece contains another of the same file, so their ends are sorted
    /// too.
    files: HashMap<u64, BTreeMap<u64, CachedPiece>>,
    /// File and offset of each piece by order of use, least recent first.
    order: BTreeMap<u64, (u64, u64)>,
    total: u64,
    clock: u64,
    /// Number of the last file.
    last_file: u64,
}

/// The memory of all files; `None` before the first one.
pub(super) type SharedMemory = Mutex<Option<Memory>>;

fn with_memory<T>(memory: &SharedMemory, work: impl FnOnce(&mut Memory) -> T) -> T {
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    work(memory.get_or_insert_default())
}

impl Memory {
    /// The piece that contains `range`, which is marked as used.
    fn covering(&mut self, file: u64, range: &Range<u64>) -> Option<(u64, Bytes)> {
        let (start, piece) = self
            .files
            .get_mut(&file)?
            .range_mut(..=range.start)
            .next_back()?;
        if range.end > start + piece.bytes.len() as u64 {
            return None;
        }
        self.clock += 1;
        self.order.remove(&piece.used);
        self.order.insert(self.clock, (file, *start));
        piece.used = self.clock;
        Some((*start, piece.bytes.clone()))
    }

    fn hold(&mut self, file: u64, start: u64, bytes: Bytes, cap: u64) {
        let end = start + bytes.len() as u64;
        if bytes.is_empty()
            || bytes.len() as u64 > cap
            || self.covering(file, &(start..end)).is_some()
        {
            return;
        }
        let within: Vec<u64> = self.files.get(&file).map_or(Vec::new(), |pieces| {
            let behind = pieces
                .range(start..)
                .take_while(|(other, piece)| *other + piece.bytes.len() as u64 <= end);
            behind.map(|(other, _)| *other).collect()
        });
        within
            .into_iter()
            .for_each(|other| self.remove(file, other));
        self.clock += 1;
        self.total += bytes.len() as u64;
        self.order.insert(self.clock, (file, start));
        self.files.entry(file).or_default().insert(
            start,
            CachedPiece {
                bytes,
                used: self.clock,
            },
        );
        while self.total > cap
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
            self.order.remove(&piece.used);
            self.total -= piece.bytes.len() as u64;
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
    /// Those of another file, of which there are none yet.
    pub fn new(memory: &'static SharedMemory) -> Self {
        let file = with_memory(memory, |memory| {
            memory.last_file += 1;
            memory.last_file
        });
        Self { memory, file }
    }

    /// A piece that contains `range`, with its offset.
    pub fn covering(&self, range: &Range<u64>) -> Option<(u64, Bytes)> {
        with_memory(self.memory, |memory| memory.covering(self.file, range))
    }

    /// Stores a piece, which must not be a small slice of a larger buffer, as the whole buffer
    /// would stay allocated. `cap` is the size limit of all files in bytes.
    pub fn hold(&self, start: u64, bytes: Bytes, cap: u64) {
        with_memory(self.memory, |memory| {
            memory.hold(self.file, start, bytes, cap)
        });
    }
}

impl Drop for KeptPieces {
    fn drop(&mut self) {
        with_memory(self.memory, |memory| {
            for (_, piece) in memory.files.remove(&self.file).into_iter().flatten() {
                memory.order.remove(&piece.used);
                memory.total -= piece.bytes.len() as u64;
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
    fn the_limit_covers_all_files_and_the_oldest_piece_is_evicted() {
        let mut memory = Memory::default();
        for file in 0..10 {
            for part in 0..5 {
                memory.hold(file, part * 100, piece(100), 1000);
                assert!(memory.total <= 1000, "{} bytes", memory.total);
            }
        }
        assert_eq!(
            (memory.total, memory.order.len()),
            (1000, 10),
            "the last two files"
        );
        assert!(memory.covering(7, &(0..1)).is_none());
        // The used piece stays although it is the oldest.
        assert!(memory.covering(8, &(0..100)).is_some());
        for part in 0..9 {
            memory.hold(20, part * 100, piece(100), 1000);
        }
        assert!(memory.covering(8, &(10..90)).is_some() && memory.covering(9, &(0..1)).is_none());
        memory.hold(21, 0, piece(1001), 1000);
        assert!(
            memory.covering(21, &(0..1)).is_none(),
            "a piece beyond the cap is not kept"
        );
    }

    #[test]
    fn no_part_of_a_file_is_kept_twice() {
        let mut memory = Memory::default();
        memory.hold(1, 0, piece(10), 1000);
        memory.hold(1, 2, piece(3), 1000);
        assert_eq!(memory.total, 10);
        memory.hold(1, 5, piece(10), 1000);
        memory.hold(1, 0, piece(20), 1000);
        assert_eq!((memory.total, memory.order.len()), (20, 1));
        assert!(memory.covering(1, &(3..20)).is_some() && memory.covering(1, &(3..21)).is_none());
        assert!(memory.covering(2, &(0..1)).is_none());
    }

    #[test]
    fn dropping_a_file_evicts_its_pieces() {
        let memory: &'static SharedMemory = Box::leak(Box::<SharedMemory>::default());
        let kept = KeptPieces::new(memory);
        kept.hold(0, piece(10), 1000);
        let file = kept.file;
        assert!(kept.covering(&(0..10)).is_some());
        drop(kept);
        assert!(with_memory(memory, |memory| !memory
            .files
            .contains_key(&file)
            && memory.order.values().all(|(other, _)| *other != file)));
    }
}
