//! Replaces the metadata of an existing archive: `__meta__`, level tables, COLLECTION.json and the
//! central directory, which all follow the data of the samples. The new ones are written to unused
//! space and synced before TACO_HEADER, which locates the tables, is replaced by one write within a
//! disk sector. A reader that begins at TACO_HEADER (TACO 2.0, section 6.3) finds the old or the
//! new metadata, whole, at any moment. A reader that begins at the end of the file, as programs for
//! ZIP do, finds no directory while new bytes are appended; the next edit cuts off what a killed
//! process left.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::ZipReader;
use super::header::{HEADER_END, HeaderEntry, TacoHeader};
use super::members::{Members, WrittenMember};
use super::writer::{BUFFER, Tail, encode_metadata, write_directory, write_tail};
use crate::container::atomic_write::{check_space, write_at};
use crate::container::change_errors::dataset_changed_error;
use crate::container::plan::PlannedFile;
use crate::container::{Assembly, BuildOptions, BuildPlan, ContainerReader, Format, RowSource};
use crate::error::{Cause, Error, IoContext, Result, separate_transient_error};
use crate::files::LocalVersion;
use crate::jobs::JobContext;
use crate::model::{AssetPath, is_remote};
use crate::zip_format::{
    CentralDirectory, DirectoryEntry, DosTime, HEADER_NAME, ZipMember, local_header_len,
};

/// An archive whose metadata can be replaced where it is.
pub struct TailEdit {
    plan: BuildPlan,
    /// The unchanged members with data, in the order of the plan.
    files: Vec<WrittenMember>,
    /// First byte of the current metadata.
    first_table: u64,
    /// End of the archive in bytes; behind it may be what an interrupted edit began.
    size: u64,
    /// The version of the file that was read.
    version: LocalVersion,
}

/// Why the metadata of an archive can't be replaced where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedTail {
    /// TACO_HEADER is missing or wrong, so readers don't use it.
    Header,
    /// Members are in another order or form than the official tools and the studio write.
    Members,
    /// The central directory can't be read.
    Directory,
    /// The file has other names (hard links), under which it would change, too.
    OtherNames,
}

impl std::fmt::Display for FixedTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FixedTail::Header => "its TACO_HEADER is missing or wrong",
            FixedTail::Members => "its members are in another order or form than the tools write",
            FixedTail::Directory => "its central directory can't be read",
            FixedTail::OtherNames => {
                "the file has another name (a hard link), which keeps the dataset as it is"
            }
        })
    }
}

impl TailEdit {
    /// Looks whether the archive has the layout of the official tools: TACO_HEADER, the data in the
    /// order of the samples, then metadata. `assembly` is that of `reader`, edited or not.
    ///
    /// # Errors
    /// When the archive can't be read for now, or the assembly can't be laid out.
    pub fn for_archive(
        reader: &ZipReader,
        assembly: &Assembly,
    ) -> Result<std::result::Result<Self, FixedTail>> {
        let path = &reader.info().path;
        let Some(header) = reader
            .header()
            .filter(|header| header.clean && !is_remote(path))
        else {
            return Ok(Err(FixedTail::Header));
        };
        // Not that of the reader, which keeps it: a directory of a million members takes 80 MB.
        let read = CentralDirectory::read(reader.file());
        let Ok(directory) = separate_transient_error(read)? else {
            return Ok(Err(FixedTail::Directory));
        };
        let version = reader
            .file()
            .local_version()?
            .ok_or_else(|| Error::internal("a remote file has no version here"))?;
        if version.has_other_names() {
            return Ok(Err(FixedTail::OtherNames));
        }
        // TACO_HEADER, the data, every `__meta__`, the level tables and COLLECTION.json: other
        // members would be lost.
        let mut plan = BuildPlan::new(assembly, Format::Zip, false, HEADER_END)?;
        let known = 2 + plan.files.len() + plan.folders.len() + assembly.levels.len();
        if directory.repeated_name_indices().next().is_some() || known != directory.entries.len() {
            return Ok(Err(FixedTail::Members));
        }
        let mut files = members_as_planned(&plan, assembly, &directory);
        if files.is_none() {
            plan = BuildPlan::new(assembly, Format::Zip, true, HEADER_END)?;
            files = members_as_planned(&plan, assembly, &directory);
        }
        let Some(files) = files else {
            return Ok(Err(FixedTail::Members));
        };
        let tables = directory
            .entries
            .iter()
            .filter(|entry| !entry.name.starts_with("DATA/") || entry.name.ends_with("/__meta__"));
        let first_table = tables
            .filter(|entry| &*entry.name != HEADER_NAME)
            .map(|entry| entry.local)
            .min();
        let listed = header.entries.iter().map(|entry| entry.offset).min();
        match (first_table, listed) {
            (Some(first_table), Some(listed))
                if first_table >= plan.data_end && listed >= first_table =>
            {
                let length = reader.file().size_bytes();
                let end = separate_transient_error(CentralDirectory::end_of(
                    reader.file(),
                    directory.offset,
                ))?
                .ok()
                .flatten();
                let size = end.filter(|end| *end <= length).unwrap_or(length);
                Ok(Ok(Self {
                    plan,
                    files,
                    first_table,
                    size,
                    version,
                }))
            }
            _ => Ok(Err(FixedTail::Members)),
        }
    }

    /// Replaces the metadata by that of `assembly`; returns the number of bytes written.
    ///
    /// # Errors
    /// When the tables can't be encoded or written; the archive then has its old metadata.
    /// [`crate::error::Kind::Changed`] when the file at `path` is not of the version that was read.
    pub fn write(
        self,
        path: &Path,
        assembly: &Assembly,
        options: &BuildOptions,
        ctx: &JobContext,
    ) -> Result<u64> {
        let Self {
            mut plan,
            files,
            first_table,
            size,
            version,
        } = self;
        ctx.stage(tr!("Writing the metadata"), None);
        let mut start = plan.data_end;
        let mut tail = encode_metadata(assembly, &plan, options, ctx)?;
        let needed = tail.length() + directory_length(&plan, &tail);
        if start + needed > first_table {
            // The current metadata is in the way, and has to be there until the new one is.
            start = size;
            plan.data_end = start;
            tail = encode_metadata(assembly, &plan, options, ctx)?;
            check_space(path, needed)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .io_at("open for writing", path)?;
        let mut before = vec![0; HEADER_END as usize];
        (&file)
            .read_exact(&mut before)
            .io_at("read TACO_HEADER", path)?;
        if !version
            .is_same_file(&LocalVersion::from_file(&file).io_at("look at the archive", path)?)
        {
            return Err(dataset_changed_error(path));
        }
        let members = Members {
            plan: &plan,
            files,
            tables: Vec::new(),
        };
        let written = write_tail_at(&file, tail, start, members, path, ctx);
        // The old metadata was not overwritten.
        let (first, header, end) =
            written.map_err(|error| explain_unfinished(error, file.set_len(size)))?;
        let mut bytes = Vec::with_capacity(HEADER_END as usize);
        first.put_local(&mut bytes);
        bytes.extend(header.to_bytes());
        // One write within a disk sector.
        if let Err(error) = write_at(&file, &bytes, 0).io_at("write TACO_HEADER", path) {
            let undone = write_at(&file, &before, 0).and_then(|()| file.set_len(size));
            return Err(explain_unfinished(error, undone));
        }
        file.sync_all().io_at("sync TACO_HEADER to disk", path)?;
        if end < file.metadata().io_at("look at the archive", path)?.len() {
            file.set_len(end).io_at("cut off the old metadata", path)?;
        }
        Ok(end - start + bytes.len() as u64)
    }

    /// Greatest number of bytes that [`TailEdit::write`] appends: about the size of the current
    /// metadata.
    pub fn estimate(&self) -> u64 {
        self.size - self.first_table
    }
}

/// The error of an edit that failed, with what to do when its new bytes could not be cut off.
fn explain_unfinished(error: Error, undone: std::io::Result<()>) -> Error {
    if undone.is_ok() {
        error
    } else {
        error.hint(
            "the archive has its old rows, and unused bytes at its end: the next edit removes them",
        )
    }
}

/// The members of the samples; `None` when one is not stored as planned.
fn members_as_planned(
    plan: &BuildPlan,
    assembly: &Assembly,
    directory: &CentralDirectory,
) -> Option<Vec<WrittenMember>> {
    let mut members = Vec::with_capacity(plan.files.len());
    for file in &plan.files {
        let entry = directory.find(&plan.file_name(file))?;
        if !is_stored_as_planned(entry, plan.source(assembly, file), file) {
            return None;
        }
        members.push(WrittenMember {
            crc: entry.crc,
            time: DosTime(entry.time),
        });
    }
    Some(members)
}

/// True for the member of a sample at the place and with the length of the plan, uncompressed.
fn is_stored_as_planned(entry: &DirectoryEntry, source: &RowSource, planned: &PlannedFile) -> bool {
    let RowSource::Asset {
        path: AssetPath::Range { offset, .. },
        size,
        ..
    } = source
    else {
        return false;
    };
    let header = local_header_len(entry.name.len(), entry.size) + u64::from(planned.padding);
    let data = entry.local + header;
    let stored = entry.method == 0 && entry.flags & 1 == 0;
    stored
        && entry.local == planned.local
        && data == *offset
        && entry.size == planned.size
        && planned.size == *size
}

/// Writes metadata and directory at `start` and syncs them; returns the member TACO_HEADER, its
/// data, and the end of the archive.
fn write_tail_at(
    file: &File,
    tail: Tail,
    start: u64,
    mut members: Members<'_>,
    path: &Path,
    ctx: &JobContext,
) -> Result<(ZipMember, TacoHeader, u64)> {
    let failed = |error| Error::io("write the metadata", path, error);
    let mut out = BufWriter::with_capacity(BUFFER, file);
    out.seek(SeekFrom::Start(start)).map_err(failed)?;
    let header = write_tail(&mut out, tail, start, &mut members.tables, ctx).map_err(failed)?;
    let directory = members.end();
    let (first, _) = write_directory(&mut out, &header, &members, directory).map_err(failed)?;
    let end = out.stream_position().map_err(failed)?;
    out.flush().map_err(failed)?;
    drop(out);
    ctx.check()?;
    file.sync_all().io_at("sync the metadata to disk", path)?;
    Ok((first, header, end))
}

/// Maximum length of the directory with its end records, in bytes.
fn directory_length(plan: &BuildPlan, tail: &Tail) -> u64 {
    // 46 bytes and 28 of ZIP64 for each entry; 98 for the end records.
    let entry = |name: &str| 46 + 28 + name.len() as u64;
    let data: u64 = plan
        .files
        .iter()
        .map(|file| entry(&plan.file_name(file)))
        .sum();
    data + tail
        .members
        .iter()
        .map(|(name, ..)| entry(name))
        .sum::<u64>()
        + entry(HEADER_NAME)
        + 98
}

/// End of the archive that TACO_HEADER describes, where a killed [`TailEdit::write`] left more
/// bytes behind it: the beginning of new metadata, or the end of old metadata. Programs that begin
/// at the end of the file then find no directory, or an old one. `None` for every other archive.
///
/// # Errors
/// When the archive can't be read for now.
pub fn unfinished_end(reader: &ZipReader) -> Result<Option<u64>> {
    let Some(header) = reader.header().filter(|_| !reader.file().is_remote()) else {
        return Ok(None);
    };
    // The tools write the directory right behind COLLECTION.json.
    let HeaderEntry { offset, size } = header.collection();
    let start = offset + size;
    if separate_transient_error(CentralDirectory::is_last(reader.file(), start))?.unwrap_or(true) {
        return Ok(None);
    }
    let end = separate_transient_error(CentralDirectory::end_of(reader.file(), start))?
        .ok()
        .flatten();
    let Some(end) = end.filter(|end| *end < reader.file().size_bytes()) else {
        return Ok(None);
    };
    Ok(match separate_transient_error(reader.directory())? {
        Err(error) => error.is_caused_by(Cause::ZipDirectory).then_some(end),
        // Another program may have added bytes behind a directory that it has written itself.
        Ok(directory) => {
            let name = "COLLECTION.json";
            let old = directory
                .find(name)
                .map(|entry| entry.local + local_header_len(name.len(), entry.size));
            (directory.offset >= end && old.is_some_and(|old| old >= end)).then_some(end)
        }
    })
}

/// Cuts off what a killed [`TailEdit::write`] left behind the end of the archive. Changes nothing
/// else.
///
/// # Errors
/// When the archive can't be read or written.
pub fn cut_unfinished(reader: &ZipReader, ctx: &JobContext) -> Result<bool> {
    let Some(end) = unfinished_end(reader)? else {
        return Ok(false);
    };
    let path = &reader.info().path;
    reader.file().expect_at_path()?;
    ctx.warn(format!(
        "{}: cut off the unfinished metadata of an interrupted edit",
        path.display()
    ));
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .io_at("open for writing", path)?;
    file.set_len(end)
        .and_then(|()| file.sync_all())
        .io_at("cut off unfinished metadata", path)?;
    Ok(true)
}
