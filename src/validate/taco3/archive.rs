//! Checks the archive of TACO 3 (CoZIP): stored members without descriptors and comments, metadata
//! directly before the directory, and the index in the first member, `__cozip__`, with its check
//! value.

use crate::container::{
    CHECKED_TAIL, INDEX_MEMBER, INDEX_OFFSET, IndexedMember, LocalFile, check_value, parse_index,
    stated_check_value,
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
    for entry in directory
        .entries
        .iter()
        .filter(|entry| is_metadata(&entry.name))
    {
        if !members.iter().any(|member| *member.name == *entry.name) {
            let at = Location::Member(entry.name.printable_line().to_string());
            report.add(
                Rule::CozipIndex,
                at,
                tr!("The index does not have this member."),
            );
        }
    }
}
