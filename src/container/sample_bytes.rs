//! Reads samples' data, whole or streamed. Data of a container is verified against its CRC-32, and
//! files and containers against their state when the dataset was planned; a difference is an error
//! with the sample's path.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::SystemTime;

use super::atomic_write::PartialFile;
use super::change_errors::source_changed_error;
use super::damage::{OnDamage, name_sample_in_error};
use super::source::{asset_size, is_same_file};
use super::zip::{Checksums, HEADER_ROOM, crc_in_header_before, is_archive};
use super::{Assembly, BuildPlan, ByteSource, DatasetVersion, RowSource, TacoHeader};
use crate::error::{Error, IoContext, Kind, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Modified, Stamp, is_remote};
use crate::remote::{FIRST_OF_SAMPLE, FileIdentity, RemoteFile, expect_versions};
use crate::unpack::UnpackedMember;

/// Files up to this size in bytes are read whole; larger ones are streamed.
pub const WHOLE_MAX: u64 = 4 << 20;
/// Bytes per read of a streamed file.
const CHUNK_BYTES: usize = 1 << 20;

/// Maximum bytes and number of remote files prefetched ahead of the writer.
const PREFETCH_BYTES: u64 = 16 << 20;
const PREFETCH_FILES: usize = 32;
/// Maximum number of containers kept open: a process may have 256 files on some systems.
const OPEN_CONTAINERS_MAX: usize = 64;
/// Maximum number of members whose checksums are kept of closed containers, of 24 bytes each.
const CLOSED_MEMBERS_MAX: usize = 2_000_000;

/// Fills a buffer from an offset; sequential sources ignore the offset.
type ReadAt = dyn FnMut(u64, &mut [u8]) -> Result<()>;

/// Facts about one copied sample.
#[derive(Clone, Copy, Debug)]
pub struct CopiedSample {
    /// CRC-32 of the bytes.
    pub crc: u32,
    /// Modification time of a local file.
    pub modified: Option<SystemTime>,
}

/// The sources of one copy: open containers and the damaged samples found.
#[derive(Default)]
pub struct CopySources {
    containers: Mutex<CopyContainers>,
    /// Index of the first planned file that is not prefetched yet.
    prefetched_to: Mutex<usize>,
    on_damage: OnDamage,
    /// Paths of damaged samples.
    damaged: Mutex<BTreeSet<String>>,
    /// The version of the dataset that the samples belong to.
    version: DatasetVersion,
    /// The remote files that were read, each in the version of its first read. The dataset may be
    /// replaced by another one and be put back while they are read.
    remote_files: Mutex<HashMap<Arc<Path>, FileIdentity>>,
}

/// The containers of one copy. Samples are read in the order of the output, which may take them
/// from many containers by turns: one that was closed is opened again without its directory being
/// read again.
#[derive(Default)]
struct CopyContainers {
    open: HashMap<Arc<Path>, Arc<OpenContainer>>,
    /// Versions of those that were closed, and what is known of them.
    closed: HashMap<Arc<Path>, (Arc<Stamp>, Arc<ContainerFacts>)>,
}

pub(super) struct OpenContainer {
    pub(super) file: ByteSource,
    facts: Arc<ContainerFacts>,
}

/// What was read of one version of a container, or found about it.
#[derive(Default)]
struct ContainerFacts {
    checksum_source: OnceLock<ChecksumSource>,
    /// Checksums in the central directory of a remote archive, read when local headers lack them.
    remote_directory: OnceLock<Option<Checksums>>,
    /// Versions already found equal to this container.
    accepted_versions: RwLock<Vec<Arc<Stamp>>>,
}

/// The data of a sample in a container.
#[derive(Clone, Copy)]
pub(super) struct StoredRange {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// True when the version of the container in which the range was found is known.
    pub(super) has_version: bool,
}

/// Where a container stores the checksums of its members.
enum ChecksumSource {
    /// It has none.
    None,
    /// In the central directory.
    Directory(Checksums),
    /// In each member's local header: used when the directory is unreadable or remote.
    Headers,
}

impl OpenContainer {
    /// Where the container stores checksums; retried after a temporary failure.
    fn checksum_source(&self) -> Result<&ChecksumSource> {
        if let Some(source) = self.facts.checksum_source.get() {
            return Ok(source);
        }
        let source = self.find_checksum_source()?;
        Ok(self.facts.checksum_source.get_or_init(|| source))
    }

    fn find_checksum_source(&self) -> Result<ChecksumSource> {
        if !is_archive(&self.file)? {
            return Ok(ChecksumSource::None);
        }
        // A remote directory may be larger than the copied data, while local headers are fetched
        // with the data.
        if self.file.is_remote() {
            return Ok(ChecksumSource::Headers);
        }
        let directory = separate_transient_error(Checksums::read(&self.file))?;
        Ok(directory.map_or(ChecksumSource::Headers, ChecksumSource::Directory))
    }

    /// The checksums in the central directory of a remote archive; `None` when the directory is
    /// unreadable.
    fn remote_directory(&self) -> Result<Option<&Checksums>> {
        if let Some(directory) = self.facts.remote_directory.get() {
            return Ok(directory.as_ref());
        }
        let directory = if self.file.is_remote() {
            separate_transient_error(Checksums::read(&self.file))?.ok()
        } else {
            None
        };
        let known = self.facts.remote_directory.get_or_init(|| directory);
        Ok(known.as_ref())
    }

    /// Checks that ranges of the version `stamp` are valid in the open container.
    fn expect_version(&self, stamp: &Arc<Stamp>) -> Result<()> {
        if self.has_accepted(stamp) {
            return Ok(());
        }
        self.file.expect_version(stamp)?;
        // Modification times are coarse and can be set: a known directory digest decides.
        if let (Some(digest), ChecksumSource::Directory(checksums)) =
            (stamp.directory, self.checksum_source()?)
            && checksums.digest != digest
        {
            return Err(source_changed_error(
                self.file.path(),
                stamp,
                self.file.stamp(),
            ));
        }
        self.facts
            .accepted_versions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(stamp.clone());
        Ok(())
    }

    fn has_accepted(&self, stamp: &Arc<Stamp>) -> bool {
        self.facts
            .accepted_versions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .any(|accepted| Arc::ptr_eq(accepted, stamp) || accepted == stamp)
    }

    /// The stored CRC-32 for a range; `None` when the container stores none.
    fn find_stored_crc(&self, range: StoredRange) -> Result<Option<u32>> {
        let StoredRange { offset, size, .. } = range;
        let source = self.checksum_source()?;
        let stored = match source {
            ChecksumSource::None => return Ok(None),
            ChecksumSource::Directory(checksums) => {
                checksums.stored_crc(&self.file, offset, size)?
            }
            ChecksumSource::Headers => self.find_crc_in_headers(offset, size)?,
        };
        if stored.is_some() {
            return Ok(stored);
        }
        if matches!(source, ChecksumSource::Headers) && !self.file.is_remote() {
            let error = Error::new(
                Kind::Damaged,
                "the archive's directory can't be read, so the data can't be verified",
            );
            return Err(add_damage_hints(error).at_path(self.file.path()));
        }
        // The range was found in an unknown version, and no member of this version matches it.
        if !range.has_version && self.is_taco()? {
            let summary = format!(
                "the archive changed since the sample was found in it: no member has {size} bytes \
                    at {offset}"
            );
            let error = Error::new(Kind::Changed, summary).at_path(self.file.path());
            return Err(error.hint("add the sample again, or restore the original archive"));
        }
        Ok(None)
    }

    /// The CRC-32 in the local header before the data; of a remote archive whose header lacks it,
    /// that in the central directory.
    fn find_crc_in_headers(&self, offset: u64, size: u64) -> Result<Option<u32>> {
        let stored = crc_in_header_before(&self.file, offset, size)?;
        if stored.is_some() || !self.file.is_remote() {
            return Ok(stored);
        }
        match self.remote_directory()? {
            Some(checksums) => checksums.stored_crc(&self.file, offset, size),
            None => Ok(None),
        }
    }

    fn is_taco(&self) -> Result<bool> {
        let start = self
            .file
            .read(0, super::zip::HEADER_END.min(self.file.size_bytes()));
        Ok(separate_transient_error(start)?.is_ok_and(|start| TacoHeader::parse(&start).is_ok()))
    }
}

/// Verifies samples that are read by code other than a copy.
pub struct SourceCheck(CopySources);

impl SourceCheck {
    /// A check that handles damaged data as stated.
    pub fn new(on_damage: OnDamage) -> Self {
        Self(CopySources::new(on_damage))
    }

    /// Verifies a sample's data, if its container stores a checksum. `sample_path` returns the
    /// sample's path.
    ///
    /// # Errors
    /// [`Kind::Changed`] and [`Kind::Damaged`], as for a copy.
    pub fn check(
        &self,
        source: &RowSource,
        sample_path: &dyn Fn() -> String,
        ctx: &JobContext,
    ) -> Result<()> {
        let RowSource::Asset {
            path:
                AssetPath::Range {
                    container,
                    offset,
                    size,
                    stamp,
                },
            ..
        } = source
        else {
            return Ok(());
        };
        let checked = self
            .0
            .open_container(container, *offset, *size, stamp.as_ref())
            .and_then(|container| match container.checksum_source()? {
                ChecksumSource::None => Ok(()),
                ChecksumSource::Directory(_) | ChecksumSource::Headers => self
                    .0
                    .stream(source, sample_path, ctx, &mut |_| Ok(()))
                    .map(drop),
            });
        checked.map_err(|error| name_sample_in_error(error, &sample_path()))
    }

    /// Ends the check: verifies that the containers are unchanged. Returns the damaged samples.
    ///
    /// # Errors
    /// [`Kind::Changed`] when a container was modified meanwhile; cancellation.
    pub fn finish(self, ctx: &JobContext) -> Result<Vec<String>> {
        self.0.finish(ctx)
    }
}

impl CopySources {
    /// Sources of a copy that handles damaged data as stated.
    pub fn new(on_damage: OnDamage) -> Self {
        Self {
            on_damage,
            ..Self::default()
        }
    }

    /// Sources of a copy that is written with metadata of this version of a dataset.
    pub fn of_version(version: &DatasetVersion, on_damage: OnDamage) -> Self {
        Self {
            version: version.clone(),
            ..Self::new(on_damage)
        }
    }

    /// Ends the copy: verifies that the containers and remote files are unchanged since they were
    /// opened, and the dataset since its metadata was read. Returns the damaged samples, which are
    /// none unless damage is permitted.
    ///
    /// # Errors
    /// [`Kind::Changed`] when a container or file was modified, or the dataset replaced or changed;
    /// cancellation.
    pub fn finish(self, ctx: &JobContext) -> Result<Vec<String>> {
        self.version.expect_unchanged()?;
        let remote_files = self
            .remote_files
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // One file is compared in the stage of its copy, which may be one of many.
        if remote_files.len() > 1 {
            let count = remote_files.len() as u64;
            ctx.stage(tr!("Checking the sources for changes"), Some(count));
        }
        expect_versions(&remote_files.into_iter().collect::<Vec<_>>(), ctx)?;
        let containers = self
            .containers
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        containers
            .open
            .values()
            .try_for_each(|container| container.file.expect_unchanged())?;
        Ok(self
            .damaged
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_iter()
            .collect())
    }

    /// The container at `path`, opened on first use; with `stamp`, checks that it is of that
    /// version. `offset` and `size` are those of the first read, with which a remote one is opened.
    pub(super) fn open_container(
        &self,
        path: &Arc<Path>,
        offset: u64,
        size: u64,
        stamp: Option<&Arc<Stamp>>,
    ) -> Result<Arc<OpenContainer>> {
        let container = self.reuse_or_open(path, offset, size)?;
        if let Some(stamp) = stamp {
            container.expect_version(stamp)?;
        }
        Ok(container)
    }

    fn reuse_or_open(
        &self,
        path: &Arc<Path>,
        offset: u64,
        size: u64,
    ) -> Result<Arc<OpenContainer>> {
        let mut containers = self
            .containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(container) = containers.open.get(path) {
            return Ok(container.clone());
        }
        if containers.open.len() >= OPEN_CONTAINERS_MAX {
            containers.close_unused()?;
        }
        let range = AssetPath::range(path.clone(), offset, size);
        let file = ByteSource::open_for(&range)?;
        let facts = match containers.closed.get(path) {
            Some((stamp, facts)) => {
                file.expect_version(stamp)?;
                facts.clone()
            }
            None => Arc::default(),
        };
        containers.closed.remove(path);
        let container = Arc::new(OpenContainer { file, facts });
        containers.open.insert(path.clone(), container.clone());
        Ok(container)
    }

    /// Opens a remote file that had this size when the dataset was planned, in the version in which
    /// it was read before.
    fn open_planned_remote(&self, path: &Arc<Path>, size: u64) -> Result<ByteSource> {
        let file = ByteSource::open_for(&AssetPath::File(path.clone()))?;
        if file.size_bytes() != size {
            return Err(size_changed_error(size, file.size_bytes()).at_path(path));
        }
        if let Some(opened) = file.remote_file().map(|file| file.identity()) {
            let mut read = self
                .remote_files
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let first = read.entry(path.clone()).or_insert_with(|| opened.clone());
            if !first.agrees(opened) {
                return Err(source_changed_error(path, &first.stamp(), file.stamp()));
            }
        }
        Ok(file)
    }

    /// Number of files to write in parallel before prefetching the next ones: all, when every file
    /// is local.
    pub fn batch_length(&self, plan: &BuildPlan, assembly: &Assembly) -> usize {
        if plan
            .files
            .iter()
            .any(|file| is_remote_source(plan.source(assembly, file)))
        {
            PREFETCH_FILES
        } else {
            plan.files.len().max(1)
        }
    }

    /// Prefetches the remote files of `next`, and some after them, in few parallel requests.
    /// Failures are ignored here: the read of the sample reports them with its path.
    pub fn prefetch(&self, plan: &BuildPlan, assembly: &Assembly, next: &Range<usize>) {
        let mut prefetched_to = self
            .prefetched_to
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if next.end <= *prefetched_to {
            return;
        }
        let mut ranges: Vec<(Arc<Path>, u64, u64)> = Vec::new();
        let mut files: Vec<Arc<Path>> = Vec::new();
        let (mut bytes, mut at) = (0, next.start.max(*prefetched_to));
        while let Some(file) = plan
            .files
            .get(at)
            .filter(|_| bytes < PREFETCH_BYTES && files.len() < PREFETCH_FILES)
        {
            at += 1;
            let RowSource::Asset { path, size, .. } = plan.source(assembly, file) else {
                continue;
            };
            if *size > WHOLE_MAX {
                continue;
            }
            match path {
                AssetPath::Range {
                    container,
                    offset,
                    size,
                    ..
                } if is_remote(container) => {
                    bytes += size;
                    // The local header before the data contains the checksum.
                    let room = HEADER_ROOM.min(*offset);
                    ranges.push((container.clone(), offset - room, size + room));
                }
                AssetPath::File(path) if is_remote(path) => files.push(path.clone()),
                _ => {}
            }
        }
        *prefetched_to = at;
        drop(prefetched_to);
        ranges.sort();
        for in_container in ranges.chunk_by(|a, b| a.0 == b.0) {
            let Some((container, offset, size)) = in_container.first() else {
                continue;
            };
            let places: Vec<(u64, u64)> = in_container
                .iter()
                .map(|(_, offset, size)| (*offset, *size))
                .collect();
            let _ = self
                .open_container(container, *offset, *size, None)
                .and_then(|container| container.file.prefetch(&places));
        }
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let _ = RemoteFile::open_all(&files, FIRST_OF_SAMPLE);
    }

    /// Fills `buffer`, whose length is the source's size, with the sample's data. `sample_path`
    /// returns the sample's path.
    ///
    /// # Errors
    /// [`Kind::Changed`], [`Kind::Damaged`] or an IO error, with the sample's path.
    pub fn read_into(
        &self,
        source: &RowSource,
        sample_path: &dyn Fn() -> String,
        buffer: &mut [u8],
    ) -> Result<CopiedSample> {
        let mut modified = None;
        let mut stored_in = None;
        match source {
            RowSource::Folder => return Err(Error::internal("a FOLDER has no bytes of its own")),
            RowSource::Bytes(bytes) => buffer.copy_from_slice(bytes),
            RowSource::Asset {
                path: AssetPath::File(path),
                size,
                ..
            } if is_remote(path) => {
                self.open_planned_remote(path, *size)?
                    .read_into(0, buffer)
                    .io_at("read the sample", &**path)?;
            }
            RowSource::Asset {
                path: AssetPath::File(path),
                size,
                modified: planned,
            } => {
                let mut file = WholeLocalFile::open(path, *size, *planned)?;
                file.file
                    .read_exact(buffer)
                    .io_at("read the sample", &**path)?;
                modified = file.finish(path)?;
            }
            RowSource::Asset {
                path:
                    AssetPath::Range {
                        container,
                        offset,
                        size,
                        stamp,
                    },
                ..
            } => {
                let open = self.open_container(container, *offset, *size, stamp.as_ref())?;
                open.file
                    .read_into(*offset, buffer)
                    .io_at("read the sample", &**container)?;
                let range = StoredRange {
                    offset: *offset,
                    size: *size,
                    has_version: stamp.is_some(),
                };
                stored_in = Some((open, range));
            }
            RowSource::Asset {
                path: AssetPath::Packed(member),
                ..
            } => {
                UnpackedMember::open(member)?
                    .read_into(0, buffer)
                    .io_at("read the sample", &*member.archive)?;
            }
            RowSource::Asset {
                path: AssetPath::Vsi(text),
                ..
            } => return Err(needs_gdal_error(text)),
        }
        let crc = crc32fast::hash(buffer);
        if let Some((container, range)) = stored_in {
            self.verify_crc(&container, range, crc, sample_path)?;
        }
        Ok(CopiedSample { crc, modified })
    }

    /// CRC-32 and modification time of a sample's data. The CRC-32 that its container stores is
    /// returned without a read, as [`CopySources::stream`] verifies it; otherwise it is computed.
    ///
    /// # Errors
    /// As [`CopySources::read_into`].
    pub fn find_checksum(
        &self,
        source: &RowSource,
        sample_path: &dyn Fn() -> String,
        ctx: &JobContext,
    ) -> Result<CopiedSample> {
        if self.on_damage == OnDamage::Stop
            && let RowSource::Asset {
                path:
                    AssetPath::Range {
                        container,
                        offset,
                        size: length,
                        stamp,
                    },
                size,
                ..
            } = source
            && let Some(crc) = self
                .open_container(container, *offset, *length, stamp.as_ref())?
                .find_stored_crc(StoredRange {
                    offset: *offset,
                    size: *size,
                    has_version: stamp.is_some(),
                })?
        {
            return Ok(CopiedSample {
                crc,
                modified: None,
            });
        }
        self.stream(source, sample_path, ctx, &mut |_| Ok(()))
    }

    /// Streams a sample's data through `sink` in chunks. `sample_path` returns the sample's path.
    ///
    /// # Errors
    /// As [`CopySources::read_into`], and the errors of `sink`.
    pub fn stream(
        &self,
        source: &RowSource,
        sample_path: &dyn Fn() -> String,
        ctx: &JobContext,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<CopiedSample> {
        let mut stored_in = None;
        let mut local_file = None;
        let (mut read, size): (Box<ReadAt>, u64) = match source {
            RowSource::Asset {
                path: AssetPath::File(path),
                size,
                ..
            } if is_remote(path) => {
                let (file, path) = (self.open_planned_remote(path, *size)?, path.clone());
                (
                    Box::new(move |at, buffer| {
                        file.read_into(at, buffer).io_at("read the sample", &*path)
                    }),
                    *size,
                )
            }
            RowSource::Asset {
                path: AssetPath::File(path),
                size,
                modified,
            } => {
                let planned = WholeLocalFile::open(path, *size, *modified)?;
                let mut file = planned.file.try_clone().io_at("open the sample", &**path)?;
                local_file = Some((planned, path.clone()));
                let path = path.clone();
                (
                    Box::new(move |_, buffer| {
                        file.read_exact(buffer).io_at("read the sample", &*path)
                    }),
                    *size,
                )
            }
            RowSource::Asset {
                path:
                    AssetPath::Range {
                        container,
                        offset,
                        size: length,
                        stamp,
                    },
                size,
                ..
            } => {
                let open = self.open_container(container, *offset, *length, stamp.as_ref())?;
                let (file, offset, container) = (open.file.clone(), *offset, container.clone());
                let range = StoredRange {
                    offset,
                    size: *size,
                    has_version: stamp.is_some(),
                };
                stored_in = Some((open, range));
                (
                    Box::new(move |at, buffer| {
                        file.read_into(offset + at, buffer)
                            .io_at("read the sample", &*container)
                    }),
                    *size,
                )
            }
            RowSource::Asset {
                path: AssetPath::Packed(member),
                size,
                ..
            } => {
                let (data, archive) = (UnpackedMember::open(member)?, member.archive.clone());
                (
                    Box::new(move |at, buffer| {
                        data.read_into(at, buffer)
                            .io_at("read the sample", &*archive)
                    }),
                    *size,
                )
            }
            RowSource::Asset {
                path: AssetPath::Vsi(text),
                ..
            } => return Err(needs_gdal_error(text)),
            in_memory => {
                let mut bytes = vec![0; in_memory.size_bytes() as usize];
                let copied = self.read_into(in_memory, sample_path, &mut bytes)?;
                sink(&bytes)?;
                return Ok(copied);
            }
        };
        let crc = read_in_chunks(size, ctx, &mut *read, sink)?;
        if let Some((container, range)) = stored_in {
            self.verify_crc(&container, range, crc, sample_path)?;
        }
        let modified = local_file
            .map(|(file, path)| file.finish(&path))
            .transpose()?
            .flatten();
        Ok(CopiedSample { crc, modified })
    }

    /// Compares a computed CRC-32 with the one that the container stores for the range. A
    /// difference is an error, or with [`OnDamage::Keep`] an entry in the list of damaged samples.
    pub(super) fn verify_crc(
        &self,
        container: &OpenContainer,
        range: StoredRange,
        crc: u32,
        sample_path: &dyn Fn() -> String,
    ) -> Result<()> {
        let damage = match container.find_stored_crc(range) {
            Ok(Some(stated)) if stated != crc => {
                // A file being modified is reported as changed, not as damaged.
                container.file.expect_unchanged()?;
                let summary = format!(
                    "the bytes are damaged: their CRC-32 is {crc:08x}, and the archive states \
                        {stated:08x}"
                );
                add_damage_hints(Error::new(Kind::Damaged, summary)).at_path(container.file.path())
            }
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == Kind::Damaged => error,
            Err(error) => return Err(error),
        };
        match self.on_damage {
            OnDamage::Stop => Err(damage),
            OnDamage::Keep => {
                self.damaged
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(sample_path());
                Ok(())
            }
        }
    }
}

impl CopyContainers {
    /// Closes the containers that no thread reads, after a check that they are unchanged. Keeps
    /// what is known of them, up to a limit.
    fn close_unused(&mut self) -> Result<()> {
        let known = self.closed.values().map(|(_, facts)| facts.count_members());
        let mut room = CLOSED_MEMBERS_MAX.saturating_sub(known.sum());
        let closed = &mut self.closed;
        let mut unchanged = Ok(());
        self.open.retain(|path, container| {
            if Arc::strong_count(container) > 1 {
                return true;
            }
            if unchanged.is_ok() {
                unchanged = container.file.expect_unchanged();
            }
            // The version is kept in any case.
            let left = room.checked_sub(container.facts.count_members());
            let facts = left.map_or_else(Arc::default, |_| container.facts.clone());
            room = left.unwrap_or(room);
            closed.insert(path.clone(), (container.file.stamp().clone(), facts));
            false
        });
        unchanged
    }
}

impl ContainerFacts {
    /// Number of members whose checksums are known.
    fn count_members(&self) -> usize {
        let of_source = match self.checksum_source.get() {
            Some(ChecksumSource::Directory(checksums)) => checksums.count_members(),
            Some(ChecksumSource::None | ChecksumSource::Headers) | None => 0,
        };
        let of_remote = self.remote_directory.get().and_then(Option::as_ref);
        of_source + of_remote.map_or(0, Checksums::count_members)
    }
}

/// Reads `size` bytes in chunks and passes them to `sink`; returns their CRC-32.
///
/// # Errors
/// Those of `read` and `sink`; cancellation.
pub(super) fn read_in_chunks(
    size: u64,
    ctx: &JobContext,
    read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES.min(usize::try_from(size).unwrap_or(CHUNK_BYTES))];
    let mut at = 0;
    while at < size {
        ctx.check()?;
        let length = CHUNK_BYTES.min((size - at) as usize);
        read(at, &mut buffer[..length])?;
        crc.update(&buffer[..length]);
        sink(&buffer[..length])?;
        ctx.bytes(length as u64);
        at += length as u64;
    }
    Ok(crc.finalize())
}

fn is_remote_source(source: &RowSource) -> bool {
    matches!(
        source,
        RowSource::Asset { path, .. } if path.remote_file().is_some()
    )
}

fn add_damage_hints(error: Error) -> Error {
    let error = error.hint("take the dataset from another copy, or fetch it again");
    error.hint("copy the damaged data unchanged and list it (--keep-damaged)")
}

fn needs_gdal_error(text: &str) -> Error {
    Error::unsupported("only GDAL can read the data at this path").at_place(text)
}

/// Opens a remote file and compares its size with the plan's.
fn size_changed_error(planned: u64, found: u64) -> Error {
    file_changed_error(format!("it had {planned} bytes and has {found}"))
}

fn file_changed_error(change: String) -> Error {
    let summary = format!("the file changed since it was added to the dataset: {change}");
    let error = Error::new(Kind::Changed, summary)
        .hint("wait until nothing writes to it, then write the dataset again");
    error.hint("add it again, so that its columns describe the current file")
}

/// A local file that is read as a whole.
pub struct WholeLocalFile {
    /// The open file.
    pub file: File,
    opened: std::fs::Metadata,
}

impl WholeLocalFile {
    /// Opens a file and compares its size with the plan's, on which all later offsets depend, and
    /// its modification time when known.
    ///
    /// # Errors
    /// [`Kind::Changed`] when either differs, or an IO error.
    pub fn open(path: &Path, size: u64, modified: Modified) -> Result<Self> {
        let (file, opened) =
            crate::files::open_with_metadata(path).io_at("open the sample", path)?;
        if opened.len() != size {
            return Err(size_changed_error(size, opened.len()).at_path(path));
        }
        if !modified.agrees(Modified::of_file(&opened)) {
            return Err(file_changed_error("it was modified".into()).at_path(path));
        }
        Ok(Self { file, opened })
    }

    /// To be called after the last read: checks that the file is unchanged. Returns its
    /// modification time.
    ///
    /// # Errors
    /// [`Kind::Changed`] when the file was modified.
    pub fn finish(self, path: &Path) -> Result<Option<SystemTime>> {
        let now = self.file.metadata().io_at("read the sample", path)?;
        if now.len() != self.opened.len() {
            return Err(size_changed_error(self.opened.len(), now.len()).at_path(path));
        }
        if Modified::of_file(&now) != Modified::of_file(&self.opened) {
            return Err(file_changed_error("it is being modified".into()).at_path(path));
        }
        Ok(now.modified().ok())
    }
}

/// Streams an asset in chunks through `sink`, then verifies its CRC-32 against the container's and
/// that the container is unchanged. What `sink` received is verified only once this returns `Ok`.
/// Returns the damaged samples, where `on_damage` permits damage.
///
/// # Errors
/// [`Kind::Changed`] when the container was modified; [`Kind::Damaged`] on a wrong CRC-32 unless
/// `on_damage` permits it.
pub fn stream_asset(
    asset: &AssetPath,
    on_damage: OnDamage,
    ctx: &JobContext,
    sink: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Vec<String>> {
    let source = RowSource::asset(asset.clone(), asset_size(asset)?);
    let sources = CopySources::new(on_damage);
    sources.stream(&source, &|| asset.to_string(), ctx, sink)?;
    sources.finish(ctx)
}

/// Copies an asset into a new file, which appears complete or not at all. Returns the damaged
/// samples, where `on_damage` permits damage.
///
/// # Errors
/// As [`stream_asset`]; [`Kind::Usage`] when the target is the file that contains the asset.
pub fn copy_asset(
    asset: &AssetPath,
    target: &Path,
    overwrite: bool,
    on_damage: OnDamage,
    ctx: &JobContext,
) -> Result<Vec<String>> {
    if let Some(source) = asset.local_file()
        && is_same_file(source, target)
    {
        return Err(
            Error::usage("the output is the file that the sample is read from").at_path(target),
        );
    }
    let output = PartialFile::new(target, overwrite)?;
    let mut file = output.file();
    let damaged = stream_asset(asset, on_damage, ctx, &mut |chunk| {
        file.write_all(chunk).io_at("write the sample", target)
    })?;
    output.finish()?;
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::container::{ContainerReader, ZipReader};

    fn golden() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden/01_flat_zip/flat.tacozip")
    }

    fn name() -> String {
        "sample".into()
    }

    /// Writes to a file as another program would, with a later modification time.
    fn overwrite(path: &Path, bytes: &[u8]) {
        let time = std::fs::metadata(path)
            .and_then(|meta| meta.modified())
            .expect("has a time");
        std::fs::write(path, bytes).expect("writes");
        let file = File::options().write(true).open(path).expect("opens");
        file.set_modified(time + Duration::from_secs(1))
            .expect("sets the time");
    }

    #[test]
    fn an_archive_overwritten_between_two_reads_fails_the_copy() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tacozip");
        std::fs::copy(golden(), &path).expect("copies");
        let bytes = std::fs::read(&path).expect("reads");
        let reader = ZipReader::open(&path).expect("opens");
        let source = |row| reader.source(0, row).expect("is there");
        let read = |sources: &CopySources, row| {
            let source = source(row);
            sources
                .read_into(&source, &name, &mut vec![0; source.size_bytes() as usize])
                .map(drop)
        };
        let sources = CopySources::default();
        read(&sources, 0).expect("reads");
        // Equal bytes: only the modification time differs, which is compared at the end.
        overwrite(&path, &bytes);
        read(&sources, 1).expect("reads");
        assert_eq!(
            sources
                .finish(&JobContext::default())
                .expect_err("was overwritten")
                .kind(),
            Kind::Changed
        );
        // Different bytes: the first read of them fails.
        let sources = CopySources::default();
        let reader = ZipReader::open(&path).expect("opens");
        let (first, second) = (
            reader.source(0, 0).expect("is there"),
            reader.source(0, 1).expect("is there"),
        );
        sources
            .read_into(&first, &name, &mut vec![0; first.size_bytes() as usize])
            .expect("reads");
        let mut other = bytes.clone();
        let RowSource::Asset {
            path: AssetPath::Range { offset, .. },
            ..
        } = &second
        else {
            panic!("is a range")
        };
        other[*offset as usize + 5] ^= 1;
        overwrite(&path, &other);
        let error = sources
            .read_into(&second, &name, &mut vec![0; second.size_bytes() as usize])
            .expect_err("was overwritten");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        // Damage is a separate error, and is permitted on request.
        let reader = ZipReader::open(&path).expect("opens");
        let second = reader.source(0, 1).expect("is there");
        for (on_damage, passes) in [(OnDamage::Stop, false), (OnDamage::Keep, true)] {
            let sources = CopySources::new(on_damage);
            let read = sources.stream(&second, &name, &JobContext::default(), &mut |_| Ok(()));
            assert_eq!(
                read.as_ref().err().map(Error::kind),
                (!passes).then_some(Kind::Damaged),
                "{read:?}"
            );
            assert_eq!(
                sources
                    .finish(&JobContext::default())
                    .expect("nobody wrote"),
                if passes { vec![name()] } else { Vec::new() }
            );
        }
    }

    #[test]
    fn an_archive_that_was_closed_is_opened_again_with_what_is_known_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<Arc<Path>> = (0..OPEN_CONTAINERS_MAX + 2)
            .map(|number| folder.path().join(format!("{number}.tacozip")).into())
            .collect();
        for path in &paths {
            std::fs::copy(golden(), path).expect("copies");
        }
        let sources = CopySources::default();
        let open = |path: &Arc<Path>| sources.open_container(path, 0, 1, None);
        let first = open(&paths[0]).expect("opens");
        assert!(first.facts.checksum_source.get().is_none());
        first.checksum_source().expect("reads");
        let facts = first.facts.clone();
        assert!(facts.count_members() > 0);
        drop(first);
        for path in &paths[1..] {
            open(path).expect("opens");
        }
        let again = open(&paths[0]).expect("opens again");
        assert!(Arc::ptr_eq(&again.facts, &facts), "nothing is read again");
        // It is the archive that it was.
        drop(again);
        let bytes = std::fs::read(&paths[1]).expect("reads");
        overwrite(&paths[1], &bytes);
        let error = open(&paths[1]).err().expect("was written to");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
    }

    #[test]
    fn a_file_written_to_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bin");
        std::fs::write(&path, [1; 100]).expect("writes");
        let meta = std::fs::metadata(&path).expect("is there");
        let source = RowSource::Asset {
            path: AssetPath::file(path.as_path()),
            size: 100,
            modified: Modified::of_file(&meta),
        };
        let sources = CopySources::default();
        let read = |change: &dyn Fn()| {
            let sink = &mut |_: &[u8]| {
                change();
                Ok(())
            };
            sources.stream(&source, &name, &JobContext::default(), sink)
        };
        assert_eq!(read(&|| {}).expect("reads").crc, crc32fast::hash(&[1; 100]));
        let error = read(&|| overwrite(&path, &[2; 100])).expect_err("was written to");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        let error = read(&|| {}).expect_err("was written to since it was looked at");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        let unknown = RowSource::asset(AssetPath::file(path.as_path()), 100);
        sources
            .stream(&unknown, &name, &JobContext::default(), &mut |_| Ok(()))
            .expect("is taken as it is");
    }
}
