//! Checks the integrity of an archive (TACO 2.0, section 6.3): header, directory, members, byte
//! ranges; a deep check reads every byte.

use std::collections::HashSet;

use rayon::prelude::*;

use super::pit::sample_location;
use crate::container::{ByteSource, ContainerReader, ZipReader, unfinished_end};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Location, META_NAME, Report, Rule, safe_relative};
use crate::text::PrintableLine;
use crate::zip_format::{BytesAt, CentralDirectory, DirectoryEntry, LocalHeader};

/// Bytes per read when computing a CRC-32.
const CHUNK: u64 = 1 << 20;
/// Offset of the entry count in TACO_HEADER: after the 30-byte local header and the 11-byte name.
const COUNT_AT: u64 = 41;

/// Checks header, directory and members; with `deep` every CRC-32.
///
/// # Errors
/// On IO failures, or when the job is cancelled.
pub fn check(zip: &ZipReader, deep: bool, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Checking the archive"), None);
    name_empty_header(zip, report);
    if unfinished_end(zip)?.is_some() {
        let message = tr!(
            "An interrupted edit left other metadata behind the end that TACO_HEADER states. The \
                next `edit` cuts it off, and `repair` writes a copy without it."
        );
        report.add(Rule::ZipStructure, Location::Dataset, message);
        return Ok(());
    }
    let directory = match zip.directory() {
        Ok(directory) => directory,
        Err(error) => {
            report.add(Rule::ZipStructure, Location::Dataset, error.sentence());
            return Ok(());
        }
    };
    // For a remote archive, a request per member is left to a deep check; the directory is already
    // read.
    let looks = deep || !zip.file().is_remote();
    let entries = directory.entries.par_iter();
    let headers: Vec<Option<SeenHeader>> = if looks {
        let seen = entries.map(|entry| SeenHeader::from_entry(zip.file(), entry));
        seen.collect()
    } else {
        let seen = entries.map(|entry| {
            let header = directory.header_by_next(entry)?;
            Some(SeenHeader::from_header(&header, entry))
        });
        seen.collect()
    };
    ctx.check()?;
    check_members(zip, directory, &headers, report);
    check_header(zip, directory, &headers, report);
    if deep {
        check_checksums(zip.file(), directory, &headers, report, ctx)?;
    }
    check_positions(zip, directory, &headers, report, ctx)
}

/// What is kept of a local header: there are as many as samples.
#[derive(Clone, Copy)]
pub(super) struct SeenHeader {
    /// Offset of the data.
    data: u64,
    /// True when it says the same as the entry of the central directory.
    agrees: bool,
}

impl SeenHeader {
    /// The header of an entry in the file; `None` where it can't be read.
    pub(super) fn from_entry(file: &impl BytesAt, entry: &DirectoryEntry) -> Option<Self> {
        let header = LocalHeader::read(file, entry.local).ok()?;
        Some(Self::from_header(&header, entry))
    }

    pub(super) fn from_header(header: &LocalHeader, entry: &DirectoryEntry) -> Self {
        let same =
            header.name == entry.name && header.crc == entry.crc && header.method == entry.method;
        Self {
            data: header.data,
            agrees: same && header.flags & 1 == entry.flags & 1,
        }
    }
}

/// A header without entries has a separate rule, as the official header reader accepts it.
fn name_empty_header(zip: &ZipReader, report: &mut Report) {
    let count = zip
        .file()
        .read(COUNT_AT, 1)
        .ok()
        .and_then(|bytes| bytes.first().copied());
    if zip.header().is_none() && count == Some(0) {
        for finding in report
            .findings
            .iter_mut()
            .filter(|finding| finding.rule == Rule::ZipHeader)
        {
            finding.rule = Rule::ZipHeaderEmpty;
        }
    }
}

fn member(entry: &DirectoryEntry) -> Location {
    Location::Member(entry.name.printable_line().to_string())
}

fn check_members(
    zip: &ZipReader,
    directory: &CentralDirectory,
    headers: &[Option<SeenHeader>],
    report: &mut Report,
) {
    let repeated: HashSet<usize> = directory.repeated_name_indices().collect();
    let mut ranges = Vec::with_capacity(directory.entries.len());
    for (index, (entry, header)) in directory.entries.iter().zip(headers).enumerate() {
        if repeated.contains(&index) {
            report.add(
                Rule::ZipName,
                member(entry),
                tr!("Two members have this name."),
            );
        }
        if !safe_relative(&entry.name) {
            report.add(
                Rule::ZipName,
                member(entry),
                tr!("This name leads outside the archive, or is not one on every system."),
            );
        }
        if entry.method != 0 {
            let message = tr!(
                "Compressed (method {method}); TACO archives only store.",
                method = entry.method
            );
            report.add(Rule::ZipStore, member(entry), message);
        } else if entry.stored != entry.size {
            let message = tr_n!(
                entry.stored,
                "Stored with {stored} byte, but said to have {size}.",
                "Stored with {stored} bytes, but said to have {size}.",
                stored = entry.stored,
                size = entry.size
            );
            report.add(Rule::ZipStore, member(entry), message);
        }
        if entry.flags & 1 != 0 {
            report.add(
                Rule::ZipStore,
                member(entry),
                tr!("Encrypted; TACO archives only store."),
            );
        }
        if entry.flags & 8 != 0 {
            report.add(
                Rule::ZipStore,
                member(entry),
                tr!("Has a data descriptor; sizes and CRC belong into the local header."),
            );
        }
        match header {
            None => report.add(
                Rule::ZipStructure,
                member(entry),
                tr!("No local header at byte {place}.", place = entry.local),
            ),
            Some(header) => {
                if !header.agrees {
                    report.add(
                        Rule::ZipStructure,
                        member(entry),
                        tr!("The local header and the central directory differ."),
                    );
                }
                if !zip.file().contains(header.data, entry.stored) {
                    report.add(
                        Rule::ZipOverlap,
                        member(entry),
                        tr!("Runs past the end of the file."),
                    );
                } else {
                    ranges.push((entry.local, header.data + entry.stored, entry));
                }
            }
        }
    }
    ranges.sort_by_key(|range| range.0);
    let mut end = 0;
    for (start, stop, entry) in ranges {
        if start < end {
            report.add(
                Rule::ZipOverlap,
                member(entry),
                tr!("Overlaps the member before it."),
            );
        } else if stop > directory.offset {
            report.add(
                Rule::ZipOverlap,
                member(entry),
                tr!("Runs into the central directory."),
            );
        }
        end = end.max(stop);
    }
}

fn check_header(
    zip: &ZipReader,
    directory: &CentralDirectory,
    headers: &[Option<SeenHeader>],
    report: &mut Report,
) {
    // An unusable header was noted on opening.
    let Some(header) = zip.header() else { return };
    let at = || Location::Member("TACO_HEADER".into());
    if !header.clean {
        report.add(
            Rule::ZipHeader,
            at(),
            tr!("Padding or unused entries are not zero."),
        );
    }
    let range_of = |name: &str| find_data_range(directory, headers, directory.index_of(name)?);
    let levels = header.levels().len();
    let wanted = (0..levels)
        .map(|level| format!("METADATA/level{level}.parquet"))
        .chain(["COLLECTION.json".to_owned()]);
    for (name, entry) in wanted.zip(&header.entries) {
        match range_of(&name) {
            None => report.add(
                Rule::ZipHeader,
                at(),
                tr!("{name} is not in the archive.", name),
            ),
            Some(range) if range != (entry.offset, entry.size) => {
                let message = tr!(
                    "TACO_HEADER states {stated} bytes at {place} for {name}; it has {found} bytes \
                        at {own}.",
                    name,
                    stated = entry.size,
                    place = entry.offset,
                    found = range.1,
                    own = range.0
                );
                report.add(Rule::ZipHeader, at(), message);
            }
            Some(_) => {}
        }
    }
    let next = format!("METADATA/level{levels}.parquet");
    if range_of(&next).is_some() {
        report.add(
            Rule::ZipHeader,
            at(),
            tr!(
                "{name} is in the archive, but not in the header.",
                name = next
            ),
        );
    }
}

/// Offset and size of the data of a member.
fn find_data_range(
    directory: &CentralDirectory,
    headers: &[Option<SeenHeader>],
    index: usize,
) -> Option<(u64, u64)> {
    Some((headers[index]?.data, directory.entries[index].size))
}

/// Reads every stored member, and compares its CRC-32 with that of the directory. `headers` has the
/// local header of each member.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check_checksums(
    file: &ByteSource,
    directory: &CentralDirectory,
    headers: &[Option<SeenHeader>],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    ctx.stage(
        tr!("Reading every member"),
        Some(directory.entries.len() as u64),
    );
    let wrong: Vec<(usize, String)> = directory
        .entries
        .par_iter()
        .zip(headers)
        .enumerate()
        .map(|(index, (entry, header))| {
            ctx.check()?;
            ctx.step(1);
            let Some(header) = header
                .as_ref()
                .filter(|h| entry.method == 0 && file.contains(h.data, entry.stored))
            else {
                return Ok(None);
            };
            let mut crc = crc32fast::Hasher::new();
            let mut at = 0;
            while at < entry.stored {
                ctx.check()?;
                let length = CHUNK.min(entry.stored - at);
                match file.read(header.data + at, length) {
                    Ok(bytes) => crc.update(&bytes),
                    Err(error) => {
                        return Ok(Some((
                            index,
                            format!("{} {}", tr!("Can't be read."), error.sentence()),
                        )));
                    }
                }
                at += length;
            }
            let found = crc.finalize();
            Ok((found != entry.crc).then(|| {
                let (found, stated) = (format!("{found:08x}"), format!("{:08x}", entry.crc));
                (
                    index,
                    tr!(
                        "The CRC-32 is {found}; the directory says {stated}. The bytes are \
                            damaged.",
                        found,
                        stated
                    ),
                )
            }))
        })
        .filter_map(Result::transpose)
        .collect::<Result<_, Error>>()?;
    for (index, message) in wrong {
        report.add(Rule::ZipCrc, member(&directory.entries[index]), message);
    }
    Ok(())
}

/// Compares every row's byte range with the member named by its ids.
fn check_positions(
    zip: &ZipReader,
    directory: &CentralDirectory,
    headers: &[Option<SeenHeader>],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let ready = (0..zip.levels().count()).all(|level| {
        let fields = zip.levels().fields(level);
        ["id", "type"]
            .iter()
            .all(|name| fields.iter().any(|field| field.name == *name))
    });
    if !ready {
        return Ok(());
    }
    let tree = zip.levels().skeleton(ctx)?;
    let mut named = vec![false; directory.entries.len()];
    for (depth, level) in tree.levels.iter().enumerate() {
        let positions = zip.levels().positions(depth, ctx)?;
        let mut wrong: Vec<(u32, (u64, u64), usize)> = Vec::new();
        let mut members: Vec<u32> = Vec::with_capacity(level.len());
        for row in 0..level.len() as u32 {
            if row % 4096 == 0 {
                ctx.check()?;
            }
            let path = tree.archive_path(depth, row);
            let name = if level.folder[row as usize] {
                format!("DATA/{path}/{META_NAME}")
            } else {
                format!("DATA/{path}")
            };
            let at = || sample_location(&tree, depth, row);
            let Some(index) = directory.index_of(&name) else {
                report.add(
                    Rule::ZipMissing,
                    at(),
                    tr!(
                        "{name} is not in the archive.",
                        name = name.printable_line()
                    ),
                );
                continue;
            };
            named[index] = true;
            let (entry, Some(header)) = (&directory.entries[index], &headers[index]) else {
                continue;
            };
            if depth > 0 {
                members.push(index as u32);
            }
            match positions.range(row) {
                // Whether a wrong range belongs to another sample is known after the whole level.
                Some(range) if range != (header.data, entry.size) => {
                    wrong.push((row, range, index))
                }
                None => report.add(
                    Rule::ZipOffset,
                    at(),
                    tr!("internal:offset or internal:size is missing or negative."),
                ),
                Some(_) => {}
            }
        }
        if wrong.is_empty() {
            continue;
        }
        let own: HashSet<(u64, u64)> = members
            .iter()
            .filter_map(|index| find_data_range(directory, headers, *index as usize))
            .collect();
        for (row, range, index) in wrong {
            let (entry, Some(header)) = (&directory.entries[index], &headers[index]) else {
                continue;
            };
            let at = sample_location(&tree, depth, row);
            let message = tr!(
                "internal:offset and internal:size say {stated} bytes at {place}; the sample is \
                    {found} bytes at {own}.",
                stated = range.1,
                place = range.0,
                found = entry.size,
                own = header.data
            );
            if own.contains(&range) {
                let message = format!(
                    "{message} {}",
                    tr!("Those are the bytes of another sample.")
                );
                report.add(Rule::ZipOffsetOther, at, message);
            } else {
                report.add(Rule::ZipOffset, at, message)
            }
        }
    }
    let own = |name: &str| name == "TACO_HEADER" || name == "COLLECTION.json" || is_level(name);
    for (entry, named) in directory.entries.iter().zip(named) {
        if !named && !own(&entry.name) {
            report.add(
                Rule::ZipStray,
                member(entry),
                tr!("No level names this member."),
            );
        }
    }
    Ok(())
}

fn is_level(name: &str) -> bool {
    name.strip_prefix("METADATA/level")
        .and_then(|rest| rest.strip_suffix(".parquet"))
        .is_some_and(|n| n.parse::<u8>().is_ok())
}
