//! The 128-byte index of a `__TACOCAT__` file (TACO 2.0, section 6.5). Ranges are checked against
//! the file before use.

use crate::container::fixed_bytes::read_fixed_bytes;
use crate::container::{ByteSource, HeaderEntry};
use crate::error::{Error, Result};

/// Length in bytes: magic, version, depth and seven entries.
pub const INDEX_SIZE: usize = 128;
/// Magic number.
pub const MAGIC: &[u8; 8] = b"TACOCAT\0";
/// The only known version.
const VERSION: u32 = 1;
/// Number of entries for level tables; one more follows for the collection.
const LEVEL_ENTRIES: usize = 6;

/// Ranges of the level tables and the collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TacocatIndex {
    /// One per level, level 0 first.
    pub levels: Vec<HeaderEntry>,
    /// COLLECTION.json.
    pub collection: HeaderEntry,
}

impl TacocatIndex {
    /// Reads and checks the index: magic number, version, and that every range is inside the file
    /// after the index.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when a check fails,
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for another version.
    pub fn read(file: &ByteSource) -> Result<Self> {
        let bytes = file.read(0, (INDEX_SIZE as u64).min(file.size_bytes()))?;
        let short = || Error::format(format!("the index of {INDEX_SIZE} bytes is cut short"));
        if bytes.len() < INDEX_SIZE {
            return Err(short().at_path(file.path()));
        }
        if !bytes.starts_with(MAGIC) {
            return Err(Error::format("the file does not begin with TACOCAT").at_path(file.path()));
        }
        let u32_at = |at: usize| read_fixed_bytes(&bytes, at).map_or(0, u32::from_le_bytes);
        let (version, depth) = (u32_at(8), u32_at(12) as usize);
        if version != VERSION {
            return Err(Error::unsupported(format!(
                "this is version {version} of __TACOCAT__; {VERSION} is known"
            ))
            .at_path(file.path()));
        }
        if depth >= LEVEL_ENTRIES {
            return Err(Error::format(format!(
                "the index claims the levels 0 to {depth}; it has room for {LEVEL_ENTRIES}"
            ))
            .at_path(file.path()));
        }
        let entry = |number: usize| HeaderEntry::read(&bytes, 16 + number * 16);
        let index = Self {
            levels: (0..=depth).map(entry).collect(),
            collection: entry(LEVEL_ENTRIES),
        };
        for (number, entry) in index.levels.iter().enumerate() {
            if entry.size == 0
                || entry.offset < INDEX_SIZE as u64
                || !file.contains(entry.offset, entry.size)
            {
                let message = format!(
                    "the index says that level{number} is {} bytes at {}; the file has {}",
                    entry.size,
                    entry.offset,
                    file.size_bytes()
                );
                return Err(Error::format(message).at_path(file.path()));
            }
        }
        Ok(index)
    }

    /// Serializes the index.
    pub fn to_bytes(&self) -> [u8; INDEX_SIZE] {
        let mut bytes = [0; INDEX_SIZE];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.levels.len().saturating_sub(1) as u32).to_le_bytes());
        let entries = self
            .levels
            .iter()
            .take(LEVEL_ENTRIES)
            .enumerate()
            .chain([(LEVEL_ENTRIES, &self.collection)]);
        for (number, entry) in entries {
            let at = 16 + number * 16;
            bytes[at..at + 8].copy_from_slice(&entry.offset.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&entry.size.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::NamedTempFile, ByteSource) {
        let temporary = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(temporary.path(), bytes).expect("writes");
        let file = ByteSource::open(temporary.path()).expect("opens");
        (temporary, file)
    }

    #[test]
    fn written_values_read_back() {
        let index = TacocatIndex {
            levels: vec![
                HeaderEntry {
                    offset: 128,
                    size: 10,
                },
                HeaderEntry {
                    offset: 138,
                    size: 20,
                },
            ],
            collection: HeaderEntry {
                offset: 158,
                size: 2,
            },
        };
        let mut bytes = index.to_bytes().to_vec();
        bytes.resize(160, 0);
        assert_eq!(TacocatIndex::read(&file(&bytes).1).expect("reads"), index);
        assert_eq!(bytes[12], 1, "the greatest level, not their number");
    }

    #[test]
    fn ranges_outside_the_file_are_refused() {
        let levels = vec![HeaderEntry {
            offset: 128,
            size: u64::MAX,
        }];
        let bytes = TacocatIndex {
            levels,
            ..TacocatIndex::default()
        }
        .to_bytes();
        assert!(TacocatIndex::read(&file(&bytes).1).is_err());
        assert!(TacocatIndex::read(&file(&bytes[..100]).1).is_err());
        let mut deep = bytes;
        deep[12] = 6;
        assert!(TacocatIndex::read(&file(&deep).1).is_err());
    }
}
