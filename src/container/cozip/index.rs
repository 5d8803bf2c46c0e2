//! The index of an archive of TACO 3 (CoZIP), in its first member, `__cozip__`: names, positions
//! and sizes of the metadata, with a check value over the index and the end of the archive. A
//! remote archive whose check value holds is opened without its central directory.

use std::hash::Hasher;

use fnv::FnvHasher;

use crate::container::{HeaderEntry, LocalFile};
use crate::error::Result;

/// Name of the first member.
pub const INDEX_MEMBER: &str = "__cozip__";
/// Bytes at the end of the archive that the check value covers.
pub const CHECKED_TAIL: u64 = 32 << 10;
/// Offset of the index: behind the local header, the name and the extra field of the first member.
pub const INDEX_OFFSET: u64 = 51;
/// Offset of the extra field with the check value, in the local header.
const CHECK_FIELD_OFFSET: u64 = 39;
/// Identifier and size of the extra field with the check value.
const CHECK_FIELD: [u8; 4] = [0x0C, 0xCA, 8, 0];
/// Maximum size of an index that is read; one of 30 levels has 2 KiB.
pub const INDEX_MAX: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedMember {
    /// Path in the archive.
    pub name: String,
    /// Offset of the data, not of the local header.
    pub offset: u64,
    /// Size of the data in bytes.
    pub size: u64,
}

/// The members of an index: `CZIP`, version 1, profile 2 (TACO), the number of members, the lengths
/// of their names, the names, offsets and sizes. `None` when it is damaged.
pub fn parse_index(bytes: &[u8]) -> Option<Vec<IndexedMember>> {
    let mut rest = bytes.strip_prefix(b"CZIP")?;
    let mut take = |size: usize| rest.split_off(..size);
    let version = u16::from_le_bytes(take(2)?.try_into().ok()?);
    let profile = take(1)?[0];
    if (version, profile) != (1, 2) {
        return None;
    }
    let count = u32::from_le_bytes(take(4)?.try_into().ok()?) as usize;
    let lengths = take(count.checked_mul(2)?)?.to_vec();
    let mut names = Vec::new();
    for length in lengths.chunks_exact(2) {
        let name = take(u16::from_le_bytes([length[0], length[1]]).into())?;
        names.push(String::from_utf8(name.to_vec()).ok()?);
    }
    let offsets = decode_numbers(take(count.checked_mul(8)?)?);
    let sizes = decode_numbers(take(count.checked_mul(8)?)?);
    Some(
        names
            .into_iter()
            .zip(offsets)
            .zip(sizes)
            .map(|((name, offset), size)| IndexedMember { name, offset, size })
            .collect(),
    )
}

fn decode_numbers(bytes: &[u8]) -> Vec<u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().copied().map(u64::from_le_bytes).collect()
}

/// The check value that the first member states; `None` when it has none.
///
/// # Errors
/// When the file cannot be read.
pub fn stated_check_value(file: &LocalFile) -> Result<Option<u64>> {
    let extra = file.read(CHECK_FIELD_OFFSET, 12)?;
    Ok(extra
        .strip_prefix(&CHECK_FIELD)
        .and_then(|value| value.try_into().ok())
        .map(u64::from_le_bytes))
}

/// FNV-1a of the index and then of the end of the archive; a byte in both counts once.
///
/// # Errors
/// When the file cannot be read.
pub fn check_value(file: &LocalFile, index: &[u8]) -> Result<u64> {
    let mut hash = FnvHasher::default();
    hash.write(index);
    let (start, size) = checked_tail(file, index.len() as u64);
    hash.write(&file.read(start, size)?);
    Ok(hash.finish())
}

/// Offset and size of the end of the archive behind an index of this size.
fn checked_tail(file: &LocalFile, index_size: u64) -> (u64, u64) {
    let start = file
        .size_bytes()
        .saturating_sub(CHECKED_TAIL)
        .max(INDEX_OFFSET + index_size);
    (start, file.size_bytes().saturating_sub(start))
}

/// The members of the index, when its check value holds: the archive is then as its writer left it,
/// and positions in its tables hold as well. Fetches the metadata of a remote archive.
///
/// # Errors
/// When the file cannot be read.
pub fn checked_index(file: &LocalFile) -> Result<Option<Vec<IndexedMember>>> {
    if !file.contains(0, INDEX_OFFSET + CHECKED_TAIL) {
        return Ok(None);
    }
    let head = file.read(0, INDEX_OFFSET)?;
    let is_index = head.starts_with(b"PK\x03\x04")
        && head[8..10] == [0, 0]
        && head[26..30] == [INDEX_MEMBER.len() as u8, 0, 12, 0]
        && head[30..].starts_with(INDEX_MEMBER.as_bytes());
    let size = u64::from(u32::from_le_bytes([head[18], head[19], head[20], head[21]]));
    if !is_index || size > INDEX_MAX || !file.contains(INDEX_OFFSET, size) {
        return Ok(None);
    }
    let index = file.read(INDEX_OFFSET, size)?;
    let Some(members) = parse_index(&index) else {
        return Ok(None);
    };
    if members
        .iter()
        .any(|member| !file.contains(member.offset, member.size))
    {
        return Ok(None);
    }
    let entries: Vec<HeaderEntry> = members
        .iter()
        .map(|member| HeaderEntry {
            offset: member.offset,
            size: member.size,
        })
        .collect();
    file.prefetch_tables(&entries)?;
    let holds = match stated_check_value(file)? {
        Some(stated) => check_value(file, &index)? == stated,
        None => false,
    };
    Ok(holds.then_some(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_read_within_its_bytes() {
        let mut bytes = b"CZIP".to_vec();
        bytes.extend([1, 0, 2, 1, 0, 0, 0, 3, 0]);
        bytes.extend(b"a/b");
        bytes.extend(70u64.to_le_bytes());
        bytes.extend(5u64.to_le_bytes());
        assert_eq!(
            parse_index(&bytes),
            Some(vec![IndexedMember {
                name: "a/b".to_owned(),
                offset: 70,
                size: 5
            }])
        );
        for length in 0..bytes.len() {
            assert_eq!(parse_index(&bytes[..length]), None, "{length}");
        }
        bytes[7..11].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(parse_index(&bytes), None);
    }

    #[test]
    fn an_index_whose_check_value_does_not_hold_is_not_used() {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden/60_v3_zip/change.zip");
        let mut bytes = std::fs::read(&golden).expect("reads");
        let members = checked_index(&LocalFile::open(&golden).expect("opens"))
            .expect("reads")
            .expect("holds");
        assert!(
            members
                .iter()
                .any(|member| member.name == "COLLECTION.json"),
            "{members:?}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("change.zip");
        for at in [3, 30, INDEX_OFFSET as usize + 20, bytes.len() - 1] {
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("writes");
            assert_eq!(
                checked_index(&LocalFile::open(&path).expect("opens")).expect("reads"),
                None,
                "{at}"
            );
            bytes[at] ^= 1;
        }
    }
}
