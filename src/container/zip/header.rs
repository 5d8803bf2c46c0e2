//! TACO_HEADER (TACO 2.0, section 6.3): the first member, which lists the ranges of the level
//! tables and COLLECTION.json.

use crate::container::fixed_bytes::read_fixed_bytes;
use crate::error::{Error, Result};
use crate::zip_format::HEADER_NAME;

/// Size of the header's data in bytes.
pub const HEADER_SIZE: usize = 116;
/// Offset of the header's data: after the 30-byte local header and the name.
pub const HEADER_DATA: usize = 41;
/// End of the header, and earliest offset of the next member.
pub const HEADER_END: u64 = (HEADER_DATA + HEADER_SIZE) as u64;
/// Number of entries: six levels and the collection.
pub const ENTRIES: usize = 7;

/// Byte range of a level table or the collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderEntry {
    /// Offset of the member's data.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

impl HeaderEntry {
    /// Reads offset and size, two little-endian numbers of 8 bytes from `at`; 0 where bytes are
    /// missing.
    pub fn read(bytes: &[u8], at: usize) -> Self {
        let number = |at: usize| read_fixed_bytes(bytes, at).map_or(0, u64::from_le_bytes);
        Self {
            offset: number(at),
            size: number(at + 8),
        }
    }
}

/// The header's entries: level tables in order, then COLLECTION.json.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TacoHeader {
    /// Two to seven.
    pub entries: Vec<HeaderEntry>,
    /// False when padding or unused entries are not zero.
    pub clean: bool,
}

impl TacoHeader {
    /// Parses the first 157 bytes of an archive.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the header is missing, cut short or has an
    /// invalid number of entries.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |what: String| Error::format(format!("TACO_HEADER {what}"));
        if bytes.len() < HEADER_DATA + HEADER_SIZE {
            return Err(bad(format!(
                "is cut short: the file has {} of its {} bytes",
                bytes.len(),
                HEADER_END
            )));
        }
        if !bytes.starts_with(b"PK\x03\x04") || &bytes[30..HEADER_DATA] != HEADER_NAME.as_bytes() {
            return Err(bad("is not at the beginning of the file".into()));
        }
        if bytes[26..30] != [11, 0, 0, 0] {
            return Err(bad("does not have its data at byte 41".into()));
        }
        let data = &bytes[HEADER_DATA..HEADER_DATA + HEADER_SIZE];
        let count = data[0] as usize;
        if !(2..=ENTRIES).contains(&count) {
            return Err(bad(format!(
                "lists {count} entries; it needs one for each level and one for COLLECTION.json, 2 \
                    to 7"
            )));
        }
        let all: Vec<HeaderEntry> = (0..ENTRIES)
            .map(|i| HeaderEntry::read(data, 4 + 16 * i))
            .collect();
        let clean = data[1..4] == [0, 0, 0]
            && all[count..]
                .iter()
                .all(|entry| *entry == HeaderEntry::default());
        Ok(Self {
            entries: all[..count].to_vec(),
            clean,
        })
    }

    /// Serializes the 116 bytes of the member's data.
    pub fn to_bytes(&self) -> [u8; HEADER_SIZE] {
        let mut data = [0; HEADER_SIZE];
        data[0] = self.entries.len() as u8;
        for (i, entry) in self.entries.iter().take(ENTRIES).enumerate() {
            data[4 + 16 * i..12 + 16 * i].copy_from_slice(&entry.offset.to_le_bytes());
            data[12 + 16 * i..20 + 16 * i].copy_from_slice(&entry.size.to_le_bytes());
        }
        data
    }

    /// The entries of the level tables.
    pub fn levels(&self) -> &[HeaderEntry] {
        &self.entries[..self.entries.len().saturating_sub(1)]
    }

    /// The entry of COLLECTION.json.
    pub fn collection(&self) -> HeaderEntry {
        self.entries.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(header: &TacoHeader) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.resize(26, 0);
        bytes.extend([11, 0, 0, 0]);
        bytes.extend(HEADER_NAME.as_bytes());
        bytes.extend(header.to_bytes());
        bytes
    }

    #[test]
    fn entries_read_back() {
        let entries = vec![
            HeaderEntry {
                offset: 322_971,
                size: 6608,
            },
            HeaderEntry {
                offset: 337_327,
                size: 6526,
            },
        ];
        let header = TacoHeader {
            entries,
            clean: true,
        };
        assert_eq!(
            TacoHeader::parse(&archive(&header)).expect("parses"),
            header
        );
    }

    #[test]
    fn a_header_without_entries_is_refused() {
        let mut bytes = archive(&TacoHeader {
            entries: vec![HeaderEntry::default(); 2],
            clean: true,
        });
        for count in [0, 1, 8, 255] {
            bytes[HEADER_DATA] = count;
            assert!(TacoHeader::parse(&bytes).is_err(), "{count}");
        }
        assert!(TacoHeader::parse(&bytes[..100]).is_err());
    }
}
