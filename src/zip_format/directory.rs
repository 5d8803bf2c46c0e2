//! Reads the central directory of an untrusted archive. Every number is checked against the file
//! before use.

use std::sync::OnceLock;

use super::{BytesAt, is_written_extra};
use crate::error::{Cause, Error, Result};

/// Maximum size in bytes of the end record with its comment.
const TAIL: u64 = 0xFFFF + 22;
/// Size in bytes of the end records as they are written here: 56 of the ZIP64 record, 20 of its
/// locator, and 22.
const END_RECORDS: u64 = 98;
/// Bytes of the directory read at a time; far more than the longest entry.
const PIECE: u64 = 1 << 20;
/// Minimum size of an entry in bytes.
const ENTRY_MIN: usize = 46;

/// System in the version of the program that made an entry, whose upper attributes are those of
/// Unix.
const UNIX: u8 = 3;

/// One entry of the central directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Path; bytes that are no UTF-8 are read as code page 437.
    pub name: Box<str>,
    /// Compression method; 0 is STORE.
    pub method: u16,
    /// General purpose flags: bit 0 encryption, bit 3 data descriptor.
    pub flags: u16,
    /// DOS date (high half) and time (low half).
    pub time: u32,
    /// CRC-32 of the data.
    pub crc: u32,
    /// Compressed size in bytes.
    pub stored: u64,
    /// Uncompressed size in bytes.
    pub size: u64,
    /// Offset of the local header.
    pub local: u64,
    /// A symbolic link, as Unix programs store it.
    pub is_link: bool,
}

/// A local file header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalHeader {
    /// The path.
    pub name: Box<str>,
    /// Offset of the data.
    pub data: u64,
    /// Compression method.
    pub method: u16,
    pub flags: u16,
    /// CRC-32 of the data.
    pub crc: u32,
    /// Size of the data in bytes; 0xFFFFFFFF when it is in the ZIP64 extra field, which is not read
    /// here.
    pub size: u32,
}

#[derive(Debug, Default)]
pub struct CentralDirectory {
    /// Members, in directory order.
    pub entries: Vec<DirectoryEntry>,
    pub offset: u64,
    /// CRC-32 of the directory's offset and bytes; identifies a version of the archive.
    pub digest: u32,
    /// Indices of the entries, sorted by name; equal names in directory order.
    by_name: OnceLock<Vec<u32>>,
    /// Offsets of the local headers, sorted.
    starts: OnceLock<Vec<u64>>,
}

/// Where a central directory is, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryVersion {
    /// Offset of its first entry.
    pub offset: u64,
    /// As [`CentralDirectory::digest`].
    pub digest: u32,
}

impl CentralDirectory {
    /// Locates and reads the directory.
    ///
    /// # Errors
    /// As [`CentralDirectory::for_each`].
    pub fn read(file: &impl BytesAt) -> Result<Self> {
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        let version = Self::for_each(file, &mut |entry| entries.push(entry))?;
        entries.shrink_to_fit();
        Ok(Self {
            entries,
            offset: version.offset,
            digest: version.digest,
            ..Self::default()
        })
    }

    /// Locates the directory and passes its entries on in their order, also those before a damaged
    /// one. Holds a megabyte of it at a time.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when there is none or it is damaged, or an IO
    /// error.
    pub fn for_each(
        file: &impl BytesAt,
        each: &mut dyn FnMut(DirectoryEntry),
    ) -> Result<DirectoryVersion> {
        let tail_size = file.size_bytes().min(TAIL);
        let tail_start = file.size_bytes() - tail_size;
        let tail = file.read(tail_start, tail_size)?;
        let bad = |what: &str| directory_error(file, what);
        let end = (0..=tail.len().saturating_sub(22))
            .rev()
            .find(|&at| {
                tail[at..].starts_with(b"PK\x05\x06")
                    && at + 22 + usize::from(u16_at(&tail, at + 20)) <= tail.len()
            })
            .ok_or_else(|| {
                bad("is missing")
                    .hint("the file is cut short, or a download did not finish: fetch it again")
            })?;
        let mut count = u64::from(u16_at(&tail, end + 10));
        let mut size = u64::from(u32_at(&tail, end + 12));
        let mut offset = u64::from(u32_at(&tail, end + 16));
        if end >= 20 && tail[end - 20..].starts_with(b"PK\x06\x07") {
            let end64 = u64_at(&tail, end - 20 + 8);
            let record = file
                .read(end64, 56)
                .map_err(|error| bad("has a ZIP64 record outside the file").because(error))?;
            if !record.starts_with(b"PK\x06\x06") {
                return Err(bad("has an invalid ZIP64 locator"));
            }
            count = u64_at(&record, 32);
            size = u64_at(&record, 40);
            offset = u64_at(&record, 48);
        }
        if !file.contains(offset, size) {
            return Err(bad(&format!(
                "is outside the file: it claims {size} bytes at {offset} of {}",
                file.size_bytes()
            )));
        }
        let room = size / ENTRY_MIN as u64;
        if count > room {
            return Err(bad(&format!(
                "claims {count} members, but its size allows at most {room}"
            )));
        }
        // Read in pieces: a claimed directory may be a sparse hole of any size.
        let mut found = 0;
        let mut digest = crc32fast::Hasher::new();
        digest.update(&offset.to_le_bytes());
        let mut at = 0;
        while at < size {
            let piece = file
                .read(offset + at, PIECE.min(size - at))
                .map_err(|error| bad("can't be read").because(error))?;
            let mut done = 0;
            while let Some((entry, length)) = parse_entry(&piece[done..]) {
                each(entry);
                found += 1;
                done += length;
            }
            // An entry may continue in the next piece.
            if done == 0 || (done < piece.len() && at + piece.len() as u64 == size) {
                return Err(bad(&format!("is damaged at its byte {}", at + done as u64)));
            }
            if found > count {
                return Err(bad(&format!("claims {count} members and holds more")));
            }
            digest.update(&piece[..done]);
            at += done as u64;
        }
        if found != count {
            return Err(bad(&format!("claims {count} members and holds {found}")));
        }
        Ok(DirectoryVersion {
            offset,
            digest: digest.finalize(),
        })
    }

    /// True when the end records at the end of the file, without a comment, are those of a
    /// directory at `offset`, or when there is no directory at `offset`. Reads a few bytes.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn is_last(file: &impl BytesAt, offset: u64) -> Result<bool> {
        if !file.contains(offset, 4) || !file.read(offset, 4)?.starts_with(b"PK\x01\x02") {
            return Ok(true);
        }
        let length = END_RECORDS.min(file.size_bytes());
        let tail = file.read(file.size_bytes() - length, length)?;
        let end = tail
            .get(tail.len().saturating_sub(22)..)
            .unwrap_or_default();
        if !end.starts_with(b"PK\x05\x06") {
            return Ok(false);
        }
        // The ZIP64 record states the offset where 32 bits can't.
        let stated = match (u32_at(end, 16), tail.starts_with(b"PK\x06\x06")) {
            (u32::MAX, true) => u64_at(&tail, 48),
            (stated, _) => u64::from(stated),
        };
        Ok(stated == offset)
    }

    /// End of the archive whose directory begins at `offset`: behind the entries and the end
    /// records. `None` when there is no directory.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn end_of(file: &impl BytesAt, offset: u64) -> Result<Option<u64>> {
        let mut at = offset;
        loop {
            let piece = file.read(at, PIECE.min(file.size_bytes().saturating_sub(at)))?;
            let mut done = 0;
            while let Some((_, length)) = parse_entry(&piece[done..]) {
                done += length;
            }
            at += done as u64;
            if done > 0 && piece.len() as u64 == PIECE {
                continue;
            }
            let mut rest = &piece[done..];
            if rest.starts_with(b"PK\x06\x06") {
                // The ZIP64 records as written here: 56 bytes and 20 of the locator.
                rest = rest.get(76..).unwrap_or_default();
                at += 76;
            }
            let comment = rest.get(20..22).map(|bytes| u64::from(u16_at(bytes, 0)));
            return Ok(comment
                .filter(|_| at > offset && rest.starts_with(b"PK\x05\x06"))
                .map(|comment| at + 22 + comment));
        }
    }

    /// The member `name`; the first one of duplicates.
    pub fn find(&self, name: &str) -> Option<&DirectoryEntry> {
        self.entries.get(self.index_of(name)?)
    }

    /// Index of the member `name` in the entries; the first one of duplicates.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        let order = self.order();
        let at = order.partition_point(|&index| &*self.entries[index as usize].name < name);
        let index = *order.get(at)? as usize;
        (&*self.entries[index].name == name).then_some(index)
    }

    /// Indices of the entries whose name an earlier entry has.
    pub fn repeated_name_indices(&self) -> impl Iterator<Item = usize> {
        let name = |index: &u32| &self.entries[*index as usize].name;
        self.order()
            .windows(2)
            .filter(move |pair| name(&pair[0]) == name(&pair[1]))
            .map(|pair| pair[1] as usize)
    }

    fn order(&self) -> &[u32] {
        self.by_name.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
            order.sort_by(|a, b| {
                self.entries[*a as usize]
                    .name
                    .cmp(&self.entries[*b as usize].name)
            });
            order
        })
    }

    /// Offset of a member's data, computed from the offset of the next member; `None` where the
    /// space before it does not match a local header, or a data descriptor may follow the data.
    /// Reads nothing.
    pub fn data_by_next(&self, entry: &DirectoryEntry) -> Option<u64> {
        let starts = self.starts.get_or_init(|| {
            let mut starts: Vec<u64> = self.entries.iter().map(|entry| entry.local).collect();
            starts.sort_unstable();
            starts
        });
        let next = starts.partition_point(|start| *start <= entry.local);
        let end = starts.get(next).copied().unwrap_or(self.offset);
        let data = end.checked_sub(entry.stored)?;
        let name_end = entry.local.checked_add(30 + entry.name.len() as u64)?;
        let extra = data.checked_sub(name_end)?;
        // Bit 3: a data descriptor follows the data.
        (entry.flags & 8 == 0 && is_written_extra(name_end, extra, entry.stored)).then_some(data)
    }

    /// The local header that is consistent with the directory entry; `None` as for
    /// [`CentralDirectory::data_by_next`]. Reads nothing.
    pub fn header_by_next(&self, entry: &DirectoryEntry) -> Option<LocalHeader> {
        let DirectoryEntry {
            name,
            method,
            flags,
            crc,
            size,
            ..
        } = entry.clone();
        let data = self.data_by_next(entry)?;
        Some(LocalHeader {
            name,
            data,
            method,
            flags,
            crc,
            size: u32::try_from(size).unwrap_or(u32::MAX),
        })
    }
}

fn directory_error(file: &impl BytesAt, what: &str) -> Error {
    Error::format(format!("the central directory {what}"))
        .at_path(file.path())
        .caused_by(Cause::ZipDirectory)
}

impl LocalHeader {
    /// Reads the local header at `offset`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when there is no local header at `offset`, or
    /// it is cut short.
    pub fn read(file: &impl BytesAt, offset: u64) -> Result<Self> {
        let fixed = file.read(offset, 30)?;
        if !fixed.starts_with(b"PK\x03\x04") {
            return Err(
                Error::format(format!("there is no local header at byte {offset}"))
                    .at_path(file.path()),
            );
        }
        let name_len = u64::from(u16_at(&fixed, 26));
        let extra_len = u64::from(u16_at(&fixed, 28));
        let name = file.read(offset + 30, name_len)?;
        Ok(Self {
            name: name_of(&name, u16_at(&fixed, 6)),
            data: offset + 30 + name_len + extra_len,
            method: u16_at(&fixed, 8),
            flags: u16_at(&fixed, 6),
            crc: u32_at(&fixed, 14),
            size: u32_at(&fixed, 22),
        })
    }
}

/// The upper half of code page 437, in which names are without the flag for UTF-8 (APPNOTE,
/// appendix D.1).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
    áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// The flag of names in UTF-8.
const UTF_8: u16 = 1 << 11;

/// The text of a name. Many programs write UTF-8 without the flag.
fn name_of(bytes: &[u8], flags: u16) -> Box<str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) if flags & UTF_8 != 0 => String::from_utf8_lossy(bytes).into(),
        Err(_) => bytes
            .iter()
            .copied()
            .map(decode_cp437)
            .collect::<String>()
            .into(),
    }
}

fn decode_cp437(byte: u8) -> char {
    if byte.is_ascii() {
        char::from(byte)
    } else {
        CP437
            .chars()
            .nth(usize::from(byte) - 128)
            .unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn parse_entry(bytes: &[u8]) -> Option<(DirectoryEntry, usize)> {
    if bytes.len() < ENTRY_MIN || !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let (name_len, extra_len, comment_len) = (
        usize::from(u16_at(bytes, 28)),
        usize::from(u16_at(bytes, 30)),
        usize::from(u16_at(bytes, 32)),
    );
    let length = ENTRY_MIN + name_len + extra_len + comment_len;
    let name = bytes.get(ENTRY_MIN..ENTRY_MIN + name_len)?;
    let extra = bytes.get(ENTRY_MIN + name_len..ENTRY_MIN + name_len + extra_len)?;
    bytes.get(..length)?;
    let mut entry = DirectoryEntry {
        name: name_of(name, u16_at(bytes, 8)),
        method: u16_at(bytes, 10),
        flags: u16_at(bytes, 8),
        time: u32_at(bytes, 12),
        crc: u32_at(bytes, 16),
        stored: u64::from(u32_at(bytes, 20)),
        size: u64::from(u32_at(bytes, 24)),
        local: u64::from(u32_at(bytes, 42)),
        is_link: bytes[5] == UNIX && u32_at(bytes, 38) >> 16 & 0o170_000 == 0o120_000,
    };
    let full = u64::from(u32::MAX);
    let mut wide = zip64_field(extra)
        .unwrap_or_default()
        .chunks_exact(8)
        .map(|part| u64_at(part, 0));
    for field in [&mut entry.size, &mut entry.stored, &mut entry.local] {
        if *field == full {
            *field = wide.next().unwrap_or(full);
        }
    }
    Some((entry, length))
}

fn zip64_field(mut extra: &[u8]) -> Option<&[u8]> {
    while extra.len() >= 4 {
        let (id, size) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let data = extra.get(4..4 + size)?;
        if id == 1 {
            return Some(data);
        }
        extra = &extra[4 + size..];
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}
