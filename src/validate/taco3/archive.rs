//! Checks the archive of TACO 3 (CoZIP): stored members without descriptors and comments, metadata
//! directly before the directory, and the index in the first member, `__cozip__`, with its check
//! value.

use std::collections::HashSet;

use crate::container::{
    CHECKED_TAIL, INDEX_MAX, INDEX_MEMBER, INDEX_OFFSET, IndexedMember, LocalFile, check_value,
    parse_index, stated_check_value,
};
use crate::error::Result;
use crate::model::{Location, Report, Rule};
use crate::text::PrintableLine;
use crate::zip_format::{CentralDirectory, DirectoryEntry, LocalHeader};

/// The member of zeros that brings small archives to [`SIZE_MIN`].
const PADDING: &str = "__cozip_padding__";
/// Smallest archive: the tail does not reach into the header of the index.
const SIZE_MIN: u64 = INDEX_OFFSET + CHECKED_TAIL;
/// General purpose flag: names are UTF-8.
const UTF8: u16 = 1 << 11;

/// Checks the members and the index.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn check(
    file: &LocalFile,
    directory: &CentralDirectory,
    report: &mut Report,
) -> Result<()> {
    check_members(file, directory, report)?;
    if directory
        .entries
        .first()
        .is_none_or(|first| &*first.name != INDEX_MEMBER || first.local != 0)
    {
        add_index_fault(report, tr!("The first member is not __cozip__.").to_owned());
        return Ok(());
    }
    if file.size_bytes() < SIZE_MIN {
        add_index_fault(
            report,
            tr!(
                "The archive has {size} bytes, and at least {least} are asked for.",
                size = file.size_bytes(),
                least = SIZE_MIN
            ),
        );
        return Ok(());
    }
    let size = directory.entries[0].size;
    if !file.contains(INDEX_OFFSET, size) {
        add_index_fault(
            report,
            tr!("The index runs past the end of the archive.").to_owned(),
        );
        return Ok(());
    }
    // The member may have the size of the archive, and is read whole.
    if size > INDEX_MAX {
        add_index_fault(report, tr!("The index is damaged.").to_owned());
        return Ok(());
    }
    let index = file.read(INDEX_OFFSET, size)?;
    match stated_check_value(file)? {
        None => add_index_fault(report, tr!("The check value is missing.").to_owned()),
        Some(stated) if stated != check_value(file, &index)? => {
            add_index_fault(
                report,
                tr!("The check value is not that of the index and the end of the archive.")
                    .to_owned(),
            );
        }
        Some(_) => {}
    }
    match parse_index(&index) {
        Some(members) => check_index(file, directory, &members, report),
        None => add_index_fault(report, tr!("The index is damaged.").to_owned()),
    }
    Ok(())
}

fn add_index_fault(report: &mut Report, message: String) {
    report.add(
        Rule::CozipIndex,
        Location::Member(INDEX_MEMBER.to_owned()),
        message,
    )
}

/// True for members that the index has: the metadata.
fn is_metadata(name: &str) -> bool {
    name == "COLLECTION.json" || name.starts_with("METADATA/")
}

fn check_members(
    file: &LocalFile,
    directory: &CentralDirectory,
    report: &mut Report,
) -> Result<()> {
    let at = |entry: &DirectoryEntry| Location::Member(entry.name.printable_line().to_string());
    let mut has_metadata = false;
    for entry in &directory.entries {
        if entry.method != 0 || entry.flags != UTF8 {
            let message = tr!(
                "A member is stored, without encryption and data descriptor, and its name is UTF-8."
            );
            report.add(Rule::Taco3Zip, at(entry), message);
        }
        if entry.name.ends_with('/') {
            report.add(
                Rule::Taco3Zip,
                at(entry),
                tr!("The archive has no entries of folders."),
            );
        }
        let is_known = &*entry.name == INDEX_MEMBER
            || &*entry.name == PADDING
            || is_metadata(&entry.name)
            || entry.name.starts_with("DATA/");
        if !is_known {
            report.add(
                Rule::Taco3Zip,
                at(entry),
                tr!("This is none of the members of a dataset."),
            );
        }
        if is_metadata(&entry.name) {
            has_metadata = true;
        } else if has_metadata {
            let message =
                tr!("Metadata are the last members, so that they are read with the directory.");
            report.add(Rule::Taco3Zip, at(entry), message);
        }
    }
    // The end record is the last 22 bytes where the archive has no comment.
    let size = file.size_bytes();
    if size >= 22 && !file.read(size - 22, 4)?.starts_with(b"PK\x05\x06") {
        report.add(
            Rule::Taco3Zip,
            Location::Dataset,
            tr!("The archive has a comment, or bytes behind its end."),
        );
    }
    Ok(())
}

fn check_index(
    file: &LocalFile,
    directory: &CentralDirectory,
    members: &[IndexedMember],
    report: &mut Report,
) {
    for IndexedMember { name, offset, size } in members {
        let at = || Location::Member(name.printable_line().to_string());
        let Some(entry) = directory.find(name) else {
            report.add(
                Rule::CozipIndex,
                at(),
                tr!("The index has this member, and the archive does not."),
            );
            continue;
        };
        let found = LocalHeader::read(file, entry.local)
            .ok()
            .map(|header| (header.data, entry.size));
        if found != Some((*offset, *size)) {
            let message = tr!(
                "The index says {size} bytes at {offset}, which is not where the member is.",
                size,
                offset
            );
            report.add(Rule::CozipIndex, at(), message);
        }
    }
    for entry in list_unindexed_metadata(&directory.entries, members) {
        let at = Location::Member(entry.name.printable_line().to_string());
        report.add(
            Rule::CozipIndex,
            at,
            tr!("The index does not have this member."),
        );
    }
}

/// The metadata of the archive that the index lacks, in the order of the directory.
fn list_unindexed_metadata<'a>(
    entries: &'a [DirectoryEntry],
    members: &[IndexedMember],
) -> Vec<&'a DirectoryEntry> {
    let indexed: HashSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let metadata = entries.iter().filter(|entry| is_metadata(&entry.name));
    metadata
        .filter(|entry| !indexed.contains(&*entry.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip_format::{DosTime, ZipMember, put_end};

    fn member(name: &str, size: u64, padding: u16) -> ZipMember {
        ZipMember {
            name: name.into(),
            local: 0,
            size,
            padding,
            crc: 0,
            time: DosTime::EPOCH,
        }
    }

    /// Nothing but the size of the index is looked at: its check value would be one more finding.
    #[test]
    fn an_index_that_is_too_large_is_not_read() {
        let index = member(INDEX_MEMBER, INDEX_MAX + 1, 12);
        assert_eq!(index.data(), INDEX_OFFSET);
        let mut bytes = Vec::new();
        index.put_local(&mut bytes);
        bytes.resize((INDEX_OFFSET + index.size) as usize, 0);
        let start = bytes.len() as u64;
        index.put_central(&mut bytes);
        let size = bytes.len() as u64 - start;
        put_end(&mut bytes, 1, start, size);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zip");
        std::fs::write(&path, bytes).expect("writes");
        let file = LocalFile::open(&path).expect("opens");
        let directory = CentralDirectory::read(&file).expect("reads");
        let mut report = Report::default();
        check(&file, &directory, &mut report).expect("checks");
        let faults = report.findings.iter();
        let faults = faults.filter(|finding| finding.rule == Rule::CozipIndex);
        let messages: Vec<&str> = faults.map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["The index is damaged."]);
    }

    fn metadata_entry(number: usize) -> DirectoryEntry {
        DirectoryEntry {
            name: format!("METADATA/{number}").into(),
            method: 0,
            flags: UTF8,
            time: 0,
            crc: 0,
            stored: 1,
            size: 1,
            local: 0,
            is_link: false,
        }
    }

    fn metadata_member(number: usize) -> IndexedMember {
        IndexedMember {
            name: format!("METADATA/{number}"),
            offset: 0,
            size: 1,
        }
    }

    /// Each entry would be compared with the whole index.
    #[test]
    fn metadata_that_the_index_lacks_are_found_among_many() {
        let count = 100_000;
        let entries: Vec<DirectoryEntry> = (0..count).map(metadata_entry).collect();
        let members: Vec<IndexedMember> = (1..count).rev().map(metadata_member).collect();
        let found = list_unindexed_metadata(&entries, &members);
        assert_eq!(found, [&entries[0]]);
    }
}
