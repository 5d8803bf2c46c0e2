//! Datasets in ZIPs that another program wrote: a FOLDER dataset packed by an archiver, or the
//! members of a TACO ZIP in another order, compressed, or below another folder. They are recognised
//! by the names in the central directory, and unpacked for a repair.

use std::io::{Read, Write};
use std::path::Path;

use flate2::read::DeflateDecoder;

use crate::container::{ByteSource, Scratch};
use crate::error::{Cause, Error, IoContext, Result, separate_transient_error};
use crate::files;
use crate::jobs::JobContext;
use crate::text::PrintableLine;
use crate::zip_format::{CentralDirectory, DirectoryEntry, LocalHeader};

/// Member by which a dataset of 2.0 is recognised, below its folder in the archive.
const LEVEL_TABLE: &str = "METADATA/level0.parquet";
/// The same of TACO 3.
const SAMPLE_TABLE: &str = "METADATA/sample.parquet";
/// Name of the header of a ZIP of 2.0.
const HEADER: &str = "TACO_HEADER";
/// Name of the index of a ZIP of TACO 3.
const INDEX: &str = "__cozip__";
/// Folder of macOS for attributes of the members.
const MAC_FOLDER: &str = "__MACOSX/";
/// Compression methods.
const STORE: u16 = 0;
const DEFLATE: u16 = 8;
/// Bytes per read.
const CHUNK: usize = 1 << 20;

/// A dataset in a ZIP that another program wrote.
pub struct RezippedDataset {
    /// Folder of the dataset in the archive with a slash at the end; empty at the top.
    folder: String,
    /// Further folders with datasets.
    more: usize,
    /// The members of the dataset with their paths below its folder.
    members: Vec<(String, DirectoryEntry)>,
    /// True when TACO_HEADER is the first member, as in an archive of the official tools.
    begins_with_header: bool,
}

impl RezippedDataset {
    /// The dataset in an archive with this directory; `None` for an archive without one.
    pub fn find(directory: &CentralDirectory) -> Option<Self> {
        let named: Vec<(String, &DirectoryEntry)> = directory
            .entries
            .iter()
            .map(|entry| (plain_name(&entry.name), entry))
            .collect();
        let mut folders: Vec<&str> = named
            .iter()
            .filter(|(name, _)| !name.starts_with(MAC_FOLDER))
            .filter_map(|(name, _)| {
                [LEVEL_TABLE, SAMPLE_TABLE]
                    .iter()
                    .find_map(|mark| name.strip_suffix(mark))
            })
            .filter(|folder| folder.is_empty() || folder.ends_with('/'))
            .collect();
        folders.sort_unstable_by_key(|folder| (folder.matches('/').count(), *folder));
        folders.dedup();
        let folder = (*folders.first()?).to_owned();
        let members = named
            .iter()
            .filter(|(name, _)| !name.starts_with(MAC_FOLDER) && !name.ends_with('/'))
            .filter_map(|(name, entry)| {
                Some((name.strip_prefix(&folder)?.to_owned(), (*entry).clone()))
            })
            .filter(|(name, _)| !is_litter(name))
            .collect();
        let first = directory.entries.iter().min_by_key(|entry| entry.local);
        let begins_with_header =
            first.is_some_and(|entry| entry.local == 0 && &*entry.name == HEADER);
        Some(Self {
            more: folders.len() - 1,
            folder,
            members,
            begins_with_header,
        })
    }

    /// True when the archive has to be unpacked before anything can read it: its header is
    /// elsewhere, or members are compressed.
    pub fn must_be_unpacked(&self) -> bool {
        !self.begins_with_header || self.first_compressed_member().is_some()
    }

    /// True for a dataset of TACO 3, which this program reads and does not write.
    fn is_taco3(&self) -> bool {
        self.members.iter().any(|(name, _)| name == SAMPLE_TABLE)
    }

    /// The first member that is compressed or encrypted.
    fn first_compressed_member(&self) -> Option<&DirectoryEntry> {
        self.members
            .iter()
            .map(|(_, entry)| entry)
            .find(|entry| !is_stored(entry))
    }

    /// The error for opening the archive at `path`.
    pub fn error(&self, path: &Path) -> Error {
        let how = match self.first_compressed_member() {
            Some(entry) => {
                let others = match self
                    .members
                    .iter()
                    .filter(|(_, entry)| !is_stored(entry))
                    .count()
                {
                    0 | 1 => String::new(),
                    2 => ", as is 1 more member".to_owned(),
                    count => format!(", as are {} more members", count - 1),
                };
                format!(
                    "{} {}{others}; TACO archives only store",
                    entry.name.printable_line(),
                    state_of(entry)
                )
            }
            None if self.folder.is_empty() => {
                format!(
                    "{} is not at its beginning",
                    if self.is_taco3() { INDEX } else { HEADER }
                )
            }
            None => format!(
                "the dataset is in its folder {}",
                self.folder.printable_line()
            ),
        };
        let error = Error::format(format!(
            "this ZIP was written again by another program: {how}"
        ))
        .at_path(path);
        let error = error.caused_by(Cause::RewrittenArchive);
        let error = if self.first_compressed_member().is_some() {
            error.caused_by(Cause::CompressedMember)
        } else {
            error
        };
        let folder = match self.folder.trim_end_matches('/') {
            "" => "the folder".to_owned(),
            folder => format!("the folder {}", folder.printable_line()),
        };
        let error = error.hint(format!("unpack it and open {folder}"));
        if self.is_taco3() {
            return error.hint(
                "or take the ZIP from another copy: TACO 3 is written by its \
                official library alone",
            );
        }
        error
            .hint(
                "or write the ZIP again with all of its metadata: `taco-studio repair` of this \
                file with --output NEW.tacozip",
            )
            .caused_by(Cause::RepairableArchive)
    }

    /// Writes the members into a new folder beside `target`, which is removed when it is dropped.
    /// Bytes are compared with their CRC-32.
    ///
    /// # Errors
    /// For several datasets in one archive, members that are encrypted, damaged, compressed in
    /// another way than deflate, or whose names lead out of the archive, and for files that can't
    /// be written.
    pub fn unpack(&self, file: &ByteSource, target: &Path, ctx: &JobContext) -> Result<Scratch> {
        if self.more > 0 {
            let summary = format!("this ZIP holds {} datasets", self.more + 1);
            return Err(Error::usage(summary)
                .at_path(file.path())
                .hint("unpack it and repair each of its folders"));
        }
        self.refuse_overlaps(file)?;
        let scratch = Scratch::for_target(target)?;
        ctx.stage(
            tr!("Unpacking the archive"),
            Some(self.members.len() as u64),
        );
        for (name, entry) in &self.members {
            ctx.check()?;
            let path = scratch.path().join(checked_name(name, entry)?);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).io_at("make the folder", parent)?;
            }
            let mut out = std::fs::File::create_new(&path).io_at("unpack the member", &path)?;
            unpack_member(file, entry, &mut out, ctx)?;
            ctx.step(1);
        }
        Ok(scratch)
    }

    /// Refuses members that share bytes: a small archive of them could unpack to any size.
    fn refuse_overlaps(&self, file: &ByteSource) -> Result<()> {
        let mut ranges: Vec<(u64, u64)> = self
            .members
            .iter()
            .map(|(_, entry)| (entry.local, entry.stored))
            .collect();
        ranges.sort_unstable();
        let (local, stored) = ranges.last().copied().unwrap_or_default();
        if ranges.windows(2).any(members_overlap) || !file.contains(local, stored) {
            return Err(
                Error::format("members of this ZIP overlap, or are outside of it")
                    .at_path(file.path()),
            );
        }
        Ok(())
    }
}

/// True for two neighbours, as (offset, stored length), that share bytes.
fn members_overlap(pair: &[(u64, u64)]) -> bool {
    match pair {
        [(at, stored), (next, _)] => at.checked_add(*stored).is_none_or(|end| end > *next),
        _ => false,
    }
}

/// The dataset in the archive `file`, if another program wrote it so that it has to be unpacked.
/// Other files have none.
///
/// # Errors
/// When the file can't be read for now.
pub fn rezipped_dataset(file: &ByteSource) -> Result<Option<RezippedDataset>> {
    let directory = separate_transient_error(CentralDirectory::read(file))?;
    Ok(directory
        .ok()
        .and_then(|directory| RezippedDataset::find(&directory))
        .filter(RezippedDataset::must_be_unpacked))
}

/// A name with slashes, without `./` at its beginning: some archivers of Windows write backslashes.
fn plain_name(name: &str) -> String {
    let name = name.replace('\\', "/");
    name.strip_prefix("./")
        .map_or_else(|| name.clone(), str::to_owned)
}

/// True for files of file managers.
fn is_litter(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.starts_with("._") || matches!(last, ".DS_Store" | "Thumbs.db" | "desktop.ini")
}

/// True for a member that is neither compressed nor encrypted.
fn is_stored(entry: &DirectoryEntry) -> bool {
    entry.method == STORE && entry.flags & 1 == 0
}

fn state_of(entry: &DirectoryEntry) -> String {
    match entry.method {
        _ if entry.flags & 1 != 0 => "is encrypted".into(),
        DEFLATE => "is compressed (deflate)".into(),
        method => format!("is compressed (method {method})"),
    }
}

/// The path of a member below the folder of its dataset.
fn checked_name<'a>(name: &'a str, entry: &DirectoryEntry) -> Result<&'a str> {
    if name.split('/').all(is_safe_step) {
        Ok(name)
    } else {
        Err(
            Error::format("the name of a member leads out of its archive, or is no file name")
                .at_place(entry.name.printable_line()),
        )
    }
}

fn is_safe_step(step: &str) -> bool {
    !matches!(step, "" | "." | "..") && !step.contains([':', '\0']) && !files::is_device_name(step)
}

fn unpack_member(
    file: &ByteSource,
    entry: &DirectoryEntry,
    out: &mut impl Write,
    ctx: &JobContext,
) -> Result<()> {
    let name = entry.name.printable_line();
    if entry.flags & 1 != 0 || !matches!(entry.method, STORE | DEFLATE) {
        let error = Error::unsupported(format!("a member {}", state_of(entry)))
            .at_place(&name)
            .caused_by(Cause::CompressedMember);
        return Err(
            error.hint("unpack the archive with the program that wrote it, and open the folder")
        );
    }
    let damaged =
        |what: &str| Error::format(format!("a member of the archive {what}")).at_place(&name);
    let start = LocalHeader::read(file, entry.local)?.data;
    if !file.contains(start, entry.stored) {
        return Err(damaged("runs past the end of the file"));
    }
    let stored = StoredBytes {
        file,
        at: start,
        end: start + entry.stored,
    };
    let mut bytes: Box<dyn Read + '_> = match entry.method {
        DEFLATE => Box::new(DeflateDecoder::new(std::io::BufReader::with_capacity(
            CHUNK, stored,
        ))),
        _ => Box::new(stored),
    };
    let (mut digest, mut length, mut buffer) = (crc32fast::Hasher::new(), 0u64, vec![0; CHUNK]);
    loop {
        ctx.check()?;
        let read = bytes
            .read(&mut buffer)
            .map_err(|error| damaged("can't be unpacked").because(error))?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else {
            break;
        };
        length += read as u64;
        if length > entry.size {
            return Err(damaged("is longer than the archive states"));
        }
        digest.update(piece);
        out.write_all(piece)
            .map_err(|error| Error::io("unpack the member", file.path(), error))?;
        ctx.bytes(read as u64);
    }
    if length != entry.size || digest.finalize() != entry.crc {
        return Err(
            damaged("is damaged: its CRC-32 is not the one that the archive states")
                .hint("take the archive from another copy"),
        );
    }
    Ok(())
}

/// The bytes of a member as they are in the archive.
struct StoredBytes<'a> {
    file: &'a ByteSource,
    at: u64,
    end: u64,
}

impl Read for StoredBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = usize::try_from(self.end.saturating_sub(self.at))
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(part) = buffer.get_mut(..length).filter(|part| !part.is_empty()) else {
            return Ok(0);
        };
        self.file.read_into(self.at, part)?;
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(members: &[(&str, u16)]) -> CentralDirectory {
        let entry = |(at, (name, method)): (usize, &(&str, u16))| DirectoryEntry {
            name: (*name).into(),
            method: *method,
            flags: 0,
            time: 0,
            crc: 0,
            stored: 10,
            size: 10,
            local: at as u64 * 100,
            is_link: false,
        };
        let mut directory = CentralDirectory::default();
        directory
            .entries
            .extend(members.iter().enumerate().map(entry));
        directory
    }

    fn found(members: &[(&str, u16)]) -> Option<RezippedDataset> {
        RezippedDataset::find(&directory(members))
    }

    #[test]
    fn a_dataset_is_recognised_below_any_folder_and_by_its_own_members() {
        let set = found(&[
            ("__MACOSX/ds/METADATA/level0.parquet", 0),
            ("up/ds/", 0),
            ("up/ds/COLLECTION.json", 0),
            ("up/ds/METADATA/level0.parquet", 0),
            ("up/ds/DATA/a/.DS_Store", 0),
            ("up/ds/DATA/a/._x.tif", 0),
            ("up/ds/DATA/a/x.tif", 0),
            ("other.txt", 0),
        ]);
        let set = set.expect("is one");
        let names: Vec<&str> = set.members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((set.folder.as_str(), set.more), ("up/ds/", 0));
        assert_eq!(
            names,
            ["COLLECTION.json", "METADATA/level0.parquet", "DATA/a/x.tif"]
        );
        let error = set.error(Path::new("x.zip"));
        assert!(
            error.is_caused_by(Cause::RewrittenArchive)
                && !error.is_caused_by(Cause::CompressedMember)
        );
        assert!(
            error.report().contains("open the folder up/ds"),
            "{}",
            error.report()
        );
        assert!(found(&[("a.txt", 0), ("XMETADATA/level0.parquet", 0)]).is_none());
        let windows = found(&[
            ("ds\\COLLECTION.json", 0),
            ("ds\\METADATA\\level0.parquet", 0),
        ])
        .expect("is one");
        assert_eq!(windows.folder, "ds/");
    }

    #[test]
    fn a_compressed_member_is_named_and_an_archive_of_the_tools_needs_no_unpacking() {
        let own = [
            ("TACO_HEADER", 0),
            ("METADATA/level0.parquet", 0),
            ("COLLECTION.json", 0),
        ];
        assert!(!found(&own).expect("is one").must_be_unpacked());
        let deflated = found(&[
            ("TACO_HEADER", 0),
            ("METADATA/level0.parquet", 0),
            ("DATA/x.tif", 8),
            ("DATA/y.tif", 8),
        ]);
        let deflated = deflated.expect("is one");
        let error = deflated.error(Path::new("x.zip"));
        assert!(deflated.must_be_unpacked() && error.is_caused_by(Cause::CompressedMember));
        assert!(
            error
                .summary()
                .contains("DATA/x.tif is compressed (deflate), as is 1 more member;"),
            "{error}"
        );
    }

    #[test]
    fn an_archive_of_taco_3_is_not_offered_a_repair() {
        let set = found(&[
            ("COLLECTION.json", 0),
            ("METADATA/sample.parquet", 0),
            ("DATA/0/x.tif", 0),
        ])
        .expect("is one");
        let error = set.error(Path::new("x.zip"));
        assert!(
            set.is_taco3() && error.is_caused_by(Cause::RewrittenArchive),
            "{error}"
        );
        assert!(
            !error.report().contains("repair") && error.report().contains("unpack it"),
            "{}",
            error.report()
        );
    }

    #[test]
    fn names_that_lead_out_and_members_that_share_bytes_are_refused() {
        for name in ["../x", "/x", "a//b", "a/./b", "C:x"] {
            assert!(
                checked_name(name, &directory(&[(name, 0)]).entries[0]).is_err(),
                "{name}"
            );
        }
        assert!(checked_name("DATA/a/x.tif", &directory(&[("x", 0)]).entries[0]).is_ok());
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.zip");
        std::fs::write(&path, [0; 500]).expect("writes");
        let file = ByteSource::open(&path).expect("opens");
        let mut set = found(&[("METADATA/level0.parquet", 0), ("DATA/x", 0)]).expect("is one");
        assert!(set.refuse_overlaps(&file).is_ok());
        set.members[0].1.stored = 101;
        assert!(set.refuse_overlaps(&file).is_err());
    }
}
