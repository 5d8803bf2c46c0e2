//! Writes a TACO ZIP: data is streamed to a temporary file while the metadata is encoded; the
//! header is patched last. To a store, which takes the bytes in order, the metadata is encoded
//! first, and the CRC-32 of a large sample is computed before it is sent.

use std::borrow::Cow;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use sha2::{Digest, Sha256};
use tempfile::SpooledTempFile;

use super::batches::{DataPiece, for_each_piece, written_file};
use super::header::{HEADER_END, HEADER_SIZE, HeaderEntry, TacoHeader};
use super::members::{Members, WrittenMember, planned_member};
use crate::container::atomic_write::{PartialFile, check_space};
use crate::container::sample_bytes::CopySources;
use crate::container::{Assembly, BuildOptions, BuildPlan, Built, RowSource};
use crate::error::{Error, IoContext, Kind, Result};
use crate::jobs::{JobContext, panic_error, try_map};
use crate::model::is_remote;
use crate::remote::ObjectWriter;
use crate::zip_format::{DosTime, HEADER_NAME, ZipMember, local_header_len, put_end};

/// Maximum size in bytes of encoded metadata kept in memory; more is written to a temporary file.
const METADATA_IN_MEMORY: usize = 32 << 20;
/// Number of `__meta__` tables encoded in parallel.
const META_BATCH: usize = 1024;
/// Size of the write buffer in bytes.
pub(super) const BUFFER: usize = 256 << 10;

/// Writes the archive. On error nothing is left behind.
///
/// # Errors
/// As [`crate::container::write`].
pub fn write(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    if is_remote(&options.target) {
        return write_object(assembly, options, ctx);
    }
    ctx.stage(tr!("Planning"), None);
    let plan = BuildPlan::new(assembly, options.format, options.align_blocks, HEADER_END)?;
    let sources = CopySources::of_version(&assembly.version, options.on_damage);
    plan.expect_sources(assembly)?;
    check_space(&options.target, plan.data_end)?;
    let output = PartialFile::new(&options.target, options.overwrite)?;
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    // The offsets in the metadata come from the plan, so it is encoded while the data is copied.
    // Not with `rayon::join`: copying blocks on its reader, and would occupy a worker that the
    // reader needs.
    let (data, tail) = std::thread::scope(|scope| {
        let encoder = scope.spawn(|| encode_metadata(assembly, &plan, options, ctx));
        let data = copy_data(assembly, &plan, options, &output, &sources, ctx);
        let tail = encoder
            .join()
            .unwrap_or_else(|panic| Err(panic_error("encoding the metadata", panic.as_ref())));
        (data, tail)
    });
    let (files, tail) = (data?, tail?);
    let mut members = Members {
        plan: &plan,
        files,
        tables: Vec::new(),
    };
    let damaged = sources.finish(ctx)?;
    let mut out = BufWriter::with_capacity(BUFFER, output.file());
    let failed = |error| Error::io("write the archive", &options.target, error);
    out.seek(SeekFrom::Start(plan.data_end)).map_err(failed)?;
    ctx.stage(tr!("Writing the metadata"), None);
    let header =
        write_tail(&mut out, tail, plan.data_end, &mut members.tables, ctx).map_err(failed)?;
    let directory = members.end();
    let (first, directory_size) =
        write_directory(&mut out, &header, &members, directory).map_err(failed)?;
    out.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut bytes = Vec::with_capacity(HEADER_END as usize);
    first.put_local(&mut bytes);
    bytes.extend(header.to_bytes());
    out.write_all(&bytes).map_err(failed)?;
    out.flush().map_err(failed)?;
    drop(out);
    ctx.check()?;
    ctx.stage(tr!("Syncing to disk"), None);
    let size = output
        .file()
        .metadata()
        .io_at("read the archive", &options.target)?
        .len();
    debug_assert!(size > directory + directory_size);
    output.finish()?;
    Ok(Built::whole(assembly, &plan, options, size, damaged))
}

/// Writes the archive to a store, from its first byte to its last. The bytes are those of
/// [`write`].
fn write_object(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    ctx.stage(tr!("Planning"), None);
    let plan = BuildPlan::new(assembly, options.format, options.align_blocks, HEADER_END)?;
    let sources = CopySources::of_version(&assembly.version, options.on_damage);
    plan.expect_sources(assembly)?;
    let expected = plan.data_end
        + plan
            .files
            .iter()
            .map(|file| 128 + plan.file_name(file).len() as u64)
            .sum::<u64>();
    // Before the metadata is encoded: an output that exists is said at once.
    let mut out = ObjectWriter::new(&options.target, options.overwrite, expected)?;
    let failed = |error| Error::io("write the archive", &options.target, error);
    ctx.stage(tr!("Writing the metadata"), None);
    let tail = encode_metadata(assembly, &plan, options, ctx)?;
    let header = tail.header(plan.data_end);
    out.made_from(&identity_of(assembly, &tail));
    let mut bytes = Vec::with_capacity(HEADER_END as usize);
    header_member(&header).put_local(&mut bytes);
    bytes.extend(header.to_bytes());
    out.write_all(&bytes).map_err(failed)?;
    ctx.stage(tr!("Writing"), Some(plan.files.len() as u64));
    let copying = Copying {
        assembly,
        plan: &plan,
        sources: &sources,
        failed: &failed,
        shares_blocks: false,
        ctx,
    };
    let files = copying.write_all_files(&mut out, |index, out| copying.send_large(index, out))?;
    let mut members = Members {
        plan: &plan,
        files,
        tables: Vec::new(),
    };
    let damaged = sources.finish(ctx)?;
    ctx.stage(tr!("Writing the metadata"), None);
    let written =
        write_tail(&mut out, tail, plan.data_end, &mut members.tables, ctx).map_err(failed)?;
    debug_assert_eq!(written.entries, header.entries);
    let directory = members.end();
    write_directory(&mut out, &header, &members, directory).map_err(failed)?;
    ctx.check()?;
    ctx.stage(tr!("Waiting for the store"), None);
    let size = out.position();
    out.finish()?;
    Ok(Built::whole(assembly, &plan, options, size, damaged))
}

/// SHA-256 of what the archive is made from: its metadata, and the sources of its samples with
/// their sizes and modification times.
fn identity_of(assembly: &Assembly, tail: &Tail) -> [u8; 32] {
    let mut identity = Sha256::new();
    for source in assembly.levels.iter().flat_map(|level| &level.sources) {
        match source {
            RowSource::Folder => identity.update([0]),
            RowSource::Bytes(bytes) => {
                identity.update((bytes.len() as u64).to_le_bytes());
                identity.update(bytes);
            }
            RowSource::Asset {
                path,
                size,
                modified,
            } => identity.update(format!("{path:?} {size} {modified:?}\n")),
        }
    }
    for (name, size, crc) in &tail.members {
        identity.update(format!("{name} {size} {crc}\n"));
    }
    identity.finalize().into()
}

/// Copies every FILE to its planned offset; returns their CRC-32 and times.
fn copy_data(
    assembly: &Assembly,
    plan: &BuildPlan,
    options: &BuildOptions,
    output: &PartialFile,
    sources: &CopySources,
    ctx: &JobContext,
) -> Result<Vec<WrittenMember>> {
    let failed = |error| Error::io("write the archive", &options.target, error);
    let mut out = BufWriter::with_capacity(BUFFER, output.file());
    out.write_all(&[0; HEADER_END as usize]).map_err(failed)?;
    let copying = Copying {
        assembly,
        plan,
        sources,
        failed: &failed,
        shares_blocks: cfg!(target_os = "linux"),
        ctx,
    };
    let files = copying.write_all_files(&mut out, |index, out| copying.stream_large(index, out))?;
    out.flush().map_err(failed)?;
    Ok(files)
}

/// The FILEs of an archive on their way to it.
struct Copying<'a> {
    assembly: &'a Assembly,
    plan: &'a BuildPlan,
    sources: &'a CopySources,
    failed: &'a dyn Fn(std::io::Error) -> Error,
    /// The archive may share the blocks of its sources.
    shares_blocks: bool,
    ctx: &'a JobContext,
}

impl Copying<'_> {
    /// Writes all FILEs in the order of the plan; `large` writes a [`DataPiece::Large`], by its
    /// index. Returns their CRC-32 and times.
    fn write_all_files<W: Write>(
        &self,
        out: &mut W,
        large: impl Fn(usize, &mut W) -> Result<WrittenMember>,
    ) -> Result<Vec<WrittenMember>> {
        let mut written: Vec<WrittenMember> = Vec::with_capacity(self.plan.files.len());
        for_each_piece(
            self.plan,
            self.assembly,
            self.sources,
            self.shares_blocks,
            self.ctx,
            |piece| {
                match piece {
                    DataPiece::Run { files: run, bytes } => {
                        out.write_all(bytes).map_err(self.failed)?;
                        self.ctx.bytes(bytes.len() as u64);
                        self.ctx.step(run.len() as u64);
                        written.extend_from_slice(run);
                    }
                    DataPiece::Large(index) => {
                        written.push(large(*index, out).map_err(|error| {
                            self.plan.name_sample(error, self.assembly, *index)
                        })?);
                        self.ctx.step(1);
                    }
                }
                Ok(())
            },
        )?;
        Ok(written)
    }

    /// Sends a large file. Its local header has its CRC-32, so it is read twice.
    fn send_large(&self, index: usize, out: &mut ObjectWriter) -> Result<WrittenMember> {
        let (source, name) = (
            self.plan.source(self.assembly, &self.plan.files[index]),
            || self.plan.sample(self.assembly, index),
        );
        let first = self.sources.find_checksum(source, &name, self.ctx)?;
        let written = written_file(first);
        let mut header = Vec::new();
        planned_member(self.plan, &self.plan.files[index], written).put_local(&mut header);
        out.write_all(&header).map_err(self.failed)?;
        let sent = self.sources.stream(source, &name, self.ctx, &mut |chunk| {
            out.write_all(chunk).map_err(self.failed)
        })?;
        if sent.crc != first.crc {
            return Err(
                Error::new(Kind::Changed, "the sample changed while it was sent")
                    .hint("write again"),
            );
        }
        Ok(written)
    }

    /// Writes a file whose CRC-32 is known only afterwards, so that its local header is written
    /// twice; shares the blocks of its source where it can.
    fn stream_large(
        &self,
        index: usize,
        out: &mut BufWriter<&std::fs::File>,
    ) -> Result<WrittenMember> {
        let file = &self.plan.files[index];
        let header_len =
            local_header_len(self.plan.file_name(file).len(), file.size) + u64::from(file.padding);
        out.write_all(&vec![0; header_len as usize])
            .map_err(self.failed)?;
        let (source, name) = (self.plan.source(self.assembly, file), || {
            self.plan.sample(self.assembly, index)
        });
        let mut shared = None;
        if file.is_aligned && self.shares_blocks {
            out.flush().map_err(self.failed)?;
            let place = (*out.get_ref(), file.local + header_len);
            shared = self.sources.share_blocks(source, &name, place, self.ctx)?;
        }
        let copied = match shared {
            Some(copied) => copied,
            None => self.sources.stream(source, &name, self.ctx, &mut |chunk| {
                out.write_all(chunk).map_err(self.failed)
            })?,
        };
        let written = written_file(copied);
        let mut header = Vec::with_capacity(header_len as usize);
        planned_member(self.plan, file, written).put_local(&mut header);
        out.seek(SeekFrom::Start(file.local)).map_err(self.failed)?;
        out.write_all(&header).map_err(self.failed)?;
        out.seek(SeekFrom::Start(file.local + header_len + file.size))
            .map_err(self.failed)?;
        Ok(written)
    }
}

/// Encoded metadata members, in order.
pub(super) struct Tail {
    bytes: SpooledTempFile,
    /// Name, size in bytes and CRC-32.
    pub(super) members: Vec<(Box<str>, u64, u32)>,
}

impl Tail {
    /// TACO_HEADER of an archive in which the members follow each other from `start`.
    fn header(&self, start: u64) -> TacoHeader {
        let (mut position, mut entries) = (start, Vec::new());
        for (name, size, _) in &self.members {
            let offset = position + local_header_len(name.len(), *size);
            if !name.starts_with("DATA/") {
                entries.push(HeaderEntry {
                    offset,
                    size: *size,
                });
            }
            position = offset + size;
        }
        TacoHeader {
            entries,
            clean: true,
        }
    }

    /// Length in bytes of the members with their local headers.
    pub(super) fn length(&self) -> u64 {
        self.members
            .iter()
            .map(|(name, size, _)| local_header_len(name.len(), *size) + size)
            .sum()
    }

    fn push(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes.write_all(bytes)?;
        self.members
            .push((name.into(), bytes.len() as u64, crc32fast::hash(bytes)));
        Ok(())
    }
}

/// Encodes all `__meta__`, deepest first, as each contains the ranges of those below it; then the
/// levels and the collection.
pub(super) fn encode_metadata(
    assembly: &Assembly,
    plan: &BuildPlan,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Tail> {
    const KEEP: &str = "keep the metadata until it is written";
    let mut tail = Tail {
        bytes: SpooledTempFile::new(METADATA_IN_MEMORY),
        members: Vec::new(),
    };
    let mut positions = Cow::Borrowed(&plan.positions);
    let mut next = plan.data_end;
    for same_level in plan.folders.chunk_by(|a, b| a.level == b.level) {
        for batch in same_level.chunks(META_BATCH) {
            ctx.check()?;
            let encoded: Vec<Vec<u8>> = try_map(batch, |_, folder| {
                plan.local_meta(assembly, &positions, folder, options)
            })?;
            for (folder, bytes) in batch.iter().zip(encoded) {
                let size = bytes.len() as u64;
                let name = plan.meta_name(folder);
                let data = next + local_header_len(name.len(), size);
                let known = positions.to_mut();
                known.offsets[folder.level][folder.row as usize] = data as i64;
                known.sizes[folder.level][folder.row as usize] = size as i64;
                next = data + size;
                tail.push(&name, &bytes).io_at(KEEP, &options.target)?;
            }
        }
    }
    for (name, bytes) in plan.consolidated_members(assembly, &positions, options, ctx)? {
        tail.push(&name, &bytes).io_at(KEEP, &options.target)?;
    }
    Ok(tail)
}

pub(super) fn write_tail(
    out: &mut impl Write,
    mut tail: Tail,
    start: u64,
    members: &mut Vec<ZipMember>,
    ctx: &JobContext,
) -> std::io::Result<TacoHeader> {
    tail.bytes.seek(SeekFrom::Start(0))?;
    let mut position = start;
    let mut entries = Vec::new();
    let mut header = Vec::new();
    for (name, size, crc) in std::mem::take(&mut tail.members) {
        let member = ZipMember {
            name,
            local: position,
            size,
            padding: 0,
            crc,
            time: DosTime::EPOCH,
        };
        header.clear();
        member.put_local(&mut header);
        out.write_all(&header)?;
        std::io::copy(&mut std::io::Read::take(&mut tail.bytes, size), out)?;
        ctx.bytes(size);
        if !member.name.starts_with("DATA/") {
            entries.push(HeaderEntry {
                offset: member.data(),
                size,
            });
        }
        position = member.data() + size;
        members.push(member);
    }
    Ok(TacoHeader {
        entries,
        clean: true,
    })
}

/// The member TACO_HEADER.
fn header_member(header: &TacoHeader) -> ZipMember {
    let crc = crc32fast::hash(&header.to_bytes());
    ZipMember {
        name: HEADER_NAME.into(),
        local: 0,
        size: HEADER_SIZE as u64,
        padding: 0,
        crc,
        time: DosTime::EPOCH,
    }
}

/// Writes the central directory at `start`, with TACO_HEADER first; returns that member and the
/// directory's length.
pub(super) fn write_directory(
    out: &mut impl Write,
    header: &TacoHeader,
    members: &Members<'_>,
    start: u64,
) -> std::io::Result<(ZipMember, u64)> {
    let first = header_member(header);
    let mut record = Vec::new();
    let mut size = 0;
    let mut put = |member: &ZipMember| write_central(out, &mut record, &mut size, member);
    put(&first)?;
    members.try_for_each(put)?;
    record.clear();
    put_end(&mut record, members.count() as u64 + 1, start, size);
    out.write_all(&record)?;
    Ok((first, size))
}

/// Writes an entry of the central directory. `record` is its buffer; its length is added to `size`.
fn write_central(
    out: &mut impl Write,
    record: &mut Vec<u8>,
    size: &mut u64,
    member: &ZipMember,
) -> std::io::Result<()> {
    record.clear();
    member.put_central(record);
    *size += record.len() as u64;
    out.write_all(record)
}
