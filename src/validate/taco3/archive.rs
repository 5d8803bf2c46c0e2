//! Checks the archive of TACO 3 (CoZIP): stored members without descriptors and comments, metadata directly before the directory, and
//! the index in the first member, `__cozip__`, with its check value.

use std::hash::Hasher;

use fnv::FnvHasher;

use crate::container::{Directory, Entry, LocalFile, LocalHeader};
use crate::error::Result;
use crate::model::{Location, Report, Rule};
use crate::text::PrintableLine;

/// The first member.
const INDEX: &str = "__cozip__";
/// The member of zeros that brings small archives to [`SIZE_MIN`].
const PADDING: &str = "__cozip_padding__";
/// Bytes at the end of the archive that the check value covers.
const TAIL: u64 = 32 << 10;
/// Offset of the index: behind the local header, the name and the extra field of the first member.
const INDEX_AT: u64 = 51;
/// Smallest archive: the tail does not reach into the header of the index.
const SIZE_MIN: u64 = INDEX_AT + TAIL;
/// Identifier of the extra field with the check value.
const CHECK_FIELD: [u8; 4] = [0x0C, 0xCA, 8, 0];
/// General purpose flag: names are UTF-8.
const UTF8: u16 = 1 << 11;

/// Checks the members and the index.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn check(file: &LocalFile, directory: &Directory, report: &mut Report) -> Result<()> {
    check_members(file, directory, report)?;
    let fault = |report: &mut Report, message: String| report.add(Rule::CozipIndex, Location::Member(INDEX.to_owned()), message);
    if directory.entries.first().is_none_or(|first| &*first.name != INDEX || first.local != 0) {
        fault(report, tr!("The first member is not __cozip__.").to_owned());
        return Ok(());
    }
    if file.size_bytes() < SIZE_MIN {
        fault(
            report,
            tr!("The archive has {size} bytes, and at least {least} are asked for.", size = file.size_bytes(), least = SIZE_MIN),
        );
        return Ok(());
    }
    let size = directory.entries[0].size;
    if !file.contains(INDEX_AT, size) {
        fault(report, tr!("The index runs past the end of the archive.").to_owned());
        return Ok(());
    }
    let extra = file.read(39, 12)?;
    let index = file.read(INDEX_AT, size)?;
    if extra[..4] != CHECK_FIELD {
        fault(report, tr!("The check value is missing.").to_owned());
    } else if extra[4..] != check_value(file, &index)?.to_le_bytes() {
        fault(report, tr!("The check value is not that of the index and the end of the archive.").to_owned());
    }
    match parse_index(&index) {
        Some(members) => check_index(file, directory, &members, report),
        None => fault(report, tr!("The index is damaged.").to_owned()),
    }
    Ok(())
}

/// FNV-1a of the index and then of the end of the archive; a byte in both counts once.
fn check_value(file: &LocalFile, index: &[u8]) -> Result<u64> {
    let mut hash = FnvHasher::default();
    hash.write(index);
    let start = (file.size_bytes() - TAIL).max(INDEX_AT + index.len() as u64);
    hash.write(&file.read(start, file.size_bytes() - start)?);
    Ok(hash.finish())
}

/// A member of the index: name, offset of its data, size.
type Indexed = (String, u64, u64);

/// The index: `CZIP`, version 1, profile 2 (TACO), the number of members, the lengths of their names, the names, offsets and sizes.
fn parse_index(bytes: &[u8]) -> Option<Vec<Indexed>> {
    let mut rest = bytes.strip_prefix(b"CZIP")?;
    let mut take = |size: usize| {
        let (taken, left) = rest.split_at_checked(size)?;
        rest = left;
        Some(taken)
    };
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
    let numbers = |bytes: &[u8]| -> Vec<u64> {
        bytes.chunks_exact(8).map(|number| number.try_into().map_or(0, u64::from_le_bytes)).collect()
    };
    let offsets = numbers(take(count.checked_mul(8)?)?);
    let sizes = numbers(take(count.checked_mul(8)?)?);
    Some(names.into_iter().zip(offsets).zip(sizes).map(|((name, offset), size)| (name, offset, size)).collect())
}

/// True for members that the index has: the metadata.
fn is_metadata(name: &str) -> bool {
    name == "COLLECTION.json" || name.starts_with("METADATA/")
}

fn check_members(file: &LocalFile, directory: &Directory, report: &mut Report) -> Result<()> {
    let at = |entry: &Entry| Location::Member(entry.name.printable_line().to_string());
    let mut has_metadata = false;
    for entry in &directory.entries {
        if entry.method != 0 || entry.flags != UTF8 {
            let message = tr!("A member is stored, without encryption and data descriptor, and its name is UTF-8.");
            report.add(Rule::Taco3Zip, at(entry), message);
        }
        if entry.name.ends_with('/') {
            report.add(Rule::Taco3Zip, at(entry), tr!("The archive has no entries of folders."));
        }
        let is_known =
            &*entry.name == INDEX || &*entry.name == PADDING || is_metadata(&entry.name) || entry.name.starts_with("DATA/");
        if !is_known {
            report.add(Rule::Taco3Zip, at(entry), tr!("This is none of the members of a dataset."));
        }
        if is_metadata(&entry.name) {
            has_metadata = true;
        } else if has_metadata {
            let message = tr!("Metadata are the last members, so that they are read with the directory.");
            report.add(Rule::Taco3Zip, at(entry), message);
        }
    }
    // The end record is the last 22 bytes where the archive has no comment.
    let size = file.size_bytes();
    if size >= 22 && !file.read(size - 22, 4)?.starts_with(b"PK\x05\x06") {
        report.add(Rule::Taco3Zip, Location::Dataset, tr!("The archive has a comment, or bytes behind its end."));
    }
    Ok(())
}

fn check_index(file: &LocalFile, directory: &Directory, members: &[Indexed], report: &mut Report) {
    for (name, offset, size) in members {
        let at = || Location::Member(name.printable_line().to_string());
        let Some(entry) = directory.find(name) else {
            report.add(Rule::CozipIndex, at(), tr!("The index has this member, and the archive does not."));
            continue;
        };
        let found = LocalHeader::read(file, entry.local).ok().map(|header| (header.data, entry.size));
        if found != Some((*offset, *size)) {
            let message = tr!("The index says {size} bytes at {offset}, which is not where the member is.", size, offset);
            report.add(Rule::CozipIndex, at(), message);
        }
    }
    for entry in directory.entries.iter().filter(|entry| is_metadata(&entry.name)) {
        if !members.iter().any(|(name, ..)| **name == *entry.name) {
            let at = Location::Member(entry.name.printable_line().to_string());
            report.add(Rule::CozipIndex, at, tr!("The index does not have this member."));
        }
    }
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
        assert_eq!(parse_index(&bytes), Some(vec![("a/b".to_owned(), 70, 5)]));
        for length in 0..bytes.len() {
            assert_eq!(parse_index(&bytes[..length]), None, "{length}");
        }
        bytes[7..11].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(parse_index(&bytes), None);
    }
}
