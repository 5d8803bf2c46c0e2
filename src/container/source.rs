//! Random access to local and remote files by byte range, from several threads at once. All
//! container readers go through this module.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::HeaderEntry;
use super::change_errors::{dataset_changed_error, source_changed_error};
use crate::error::{Error, IoContext, Result, separate_transient_error};
use crate::files::LocalVersion;
use crate::handles::SharedFile;
use crate::model::{AssetPath, PackedMember, Stamp, is_remote};
use crate::remote::{FIRST_OF_DATASET, FIRST_OF_SAMPLE, FileIdentity, RemoteFile};
use crate::table::ParquetSlice;
use crate::unpack::UnpackedMember;
use crate::zip_format::{BytesAt, CentralDirectory};

/// An open local or remote file that is read by byte ranges. Cheap to clone.
#[derive(Clone)]
pub struct ByteSource {
    inner: Arc<Inner>,
}

/// Alias of [`ByteSource`] for code written for local files.
pub type LocalFile = ByteSource;

struct Inner {
    bytes: SourceOrigin,
    path: Arc<Path>,
    /// The version of the file at opening.
    stamp: Arc<Stamp>,
}

/// Metadata up to this size in bytes is fetched whole when a remote dataset is opened, as most of
/// it is read anyway.
const METADATA_WHOLE: u64 = 32 << 20;
/// Bytes at the end of a larger table that contain its footer.
const FOOTER: u64 = 128 << 10;

enum SourceOrigin {
    Local(Arc<SharedFile>),
    Remote(Arc<RemoteFile>),
    /// The data of one file in an archive.
    Unpacked(UnpackedMember),
}

impl ByteSource {
    /// Opens `path` for reading. A remote file that was open before is revalidated with the server.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        if is_remote(path) {
            Ok(Self::of_remote(
                RemoteFile::open(path, FIRST_OF_DATASET)?,
                path,
            ))
        } else {
            Self::open_local(path)
        }
    }

    /// Opens the file that contains an asset; a remote one in the version in which its dataset was
    /// opened.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`] when the container is not the version in which the range was
    /// found; [`crate::error::Kind::Unsupported`] for GDAL's virtual paths.
    pub fn open_for(asset: &AssetPath) -> Result<Self> {
        let source = match asset {
            AssetPath::File(path) if is_remote(path) => {
                Self::of_remote(RemoteFile::open_shared(path, 0, FIRST_OF_SAMPLE)?, path)
            }
            AssetPath::Range {
                container,
                offset,
                size,
                ..
            } if is_remote(container) => Self::of_remote(
                RemoteFile::open_shared(container, *offset, (*size).min(FIRST_OF_SAMPLE))?,
                container,
            ),
            AssetPath::File(path)
            | AssetPath::Range {
                container: path, ..
            } => Self::open_local(path)?,
            // Unpacking compares the version.
            AssetPath::Packed(member) => return Self::of_packed(member),
            AssetPath::Vsi(text) => {
                return Err(
                    Error::unsupported("only GDAL can read the data at this path").at_place(text),
                );
            }
        };
        if let Some(stamp) = asset.stamp() {
            source.expect_version(stamp)?;
        }
        Ok(source)
    }

    /// Wraps an open remote file.
    pub fn of_remote(file: Arc<RemoteFile>, path: &Path) -> Self {
        let stamp = file.identity().stamp();
        Self {
            inner: Arc::new(Inner {
                bytes: SourceOrigin::Remote(file),
                path: path.into(),
                stamp: stamp.into(),
            }),
        }
    }

    fn of_packed(member: &PackedMember) -> Result<Self> {
        let data = UnpackedMember::open(member)?;
        let stamp = Stamp {
            size: data.size_bytes(),
            directory: None,
            ..member.stamp.as_ref().clone()
        };
        let path = Arc::from(PathBuf::from(member.to_string()));
        Ok(Self {
            inner: Arc::new(Inner {
                bytes: SourceOrigin::Unpacked(data),
                path,
                stamp: stamp.into(),
            }),
        })
    }

    fn open_local(path: &Path) -> Result<Self> {
        let file = SharedFile::open(path).io_at("open", path)?;
        let stamp = stamp_of_open(&file).io_at("read", path)?;
        Ok(Self {
            inner: Arc::new(Inner {
                bytes: SourceOrigin::Local(file),
                path: path.into(),
                stamp: stamp.into(),
            }),
        })
    }

    /// Wraps an open temporary file without a name.
    pub(super) fn of_file(file: File) -> Result<Self> {
        let open = SharedFile::of_nameless(file).and_then(|file| Ok((stamp_of_open(&file)?, file)));
        let (stamp, file) =
            open.map_err(|error| Error::internal("a temporary file can't be read").because(error))?;
        let path = Arc::from(Path::new(""));
        Ok(Self {
            inner: Arc::new(Inner {
                bytes: SourceOrigin::Local(file),
                path,
                stamp: stamp.into(),
            }),
        })
    }

    /// Path or address of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// An asset for a byte range of this version of the file.
    pub fn range(&self, offset: u64, size: u64) -> AssetPath {
        AssetPath::Range {
            container: self.inner.path.clone(),
            offset,
            size,
            stamp: Some(self.inner.stamp.clone()),
        }
    }

    /// The version of the file at opening.
    pub fn stamp(&self) -> &Arc<Stamp> {
        &self.inner.stamp
    }

    /// Compares the opened version with the one in which ranges were found. Archives with equal
    /// central directories count as the same version.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`] when it is another version.
    pub fn expect_version(&self, stamp: &Stamp) -> Result<()> {
        let opened = &self.inner.stamp;
        if opened.agrees(stamp) {
            return Ok(());
        }
        let is_copy = opened.size == stamp.size
            && stamp.directory.is_some()
            && separate_transient_error(CentralDirectory::for_each(self, &mut drop))?
                .is_ok_and(|version| stamp.directory == Some(version.digest));
        if is_copy {
            Ok(())
        } else {
            Err(source_changed_error(self.path(), stamp, opened))
        }
    }

    /// Checks that the file is unchanged since it was opened. For a remote file every response of
    /// the server is checked anyway.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`] when the file was modified.
    pub fn expect_unchanged(&self) -> Result<()> {
        let SourceOrigin::Local(file) = &self.inner.bytes else {
            return Ok(());
        };
        let now = stamp_of_open(file).io_at("read", self.path())?;
        if now == *self.inner.stamp {
            Ok(())
        } else {
            Err(source_changed_error(self.path(), &self.inner.stamp, &now))
        }
    }

    /// The open remote file; `None` for a local one.
    pub(super) fn remote_file(&self) -> Option<&Arc<RemoteFile>> {
        match &self.inner.bytes {
            SourceOrigin::Remote(file) => Some(file),
            SourceOrigin::Local(_) | SourceOrigin::Unpacked(_) => None,
        }
    }

    /// The open file; `None` for a remote one, and for data that is unpacked.
    ///
    /// # Errors
    /// When it is closed and can't be opened again.
    pub(super) fn local_handle(&self) -> Result<Option<Arc<File>>> {
        match &self.inner.bytes {
            SourceOrigin::Remote(_) | SourceOrigin::Unpacked(_) => Ok(None),
            SourceOrigin::Local(file) => file.handle().io_at("open", self.path()).map(Some),
        }
    }

    /// Version of the open local file; `None` for a remote one.
    ///
    /// # Errors
    /// When the file can't be looked at, or was replaced and has to be opened again.
    pub(super) fn local_version(&self) -> Result<Option<LocalVersion>> {
        match &self.inner.bytes {
            SourceOrigin::Remote(_) | SourceOrigin::Unpacked(_) => Ok(None),
            SourceOrigin::Local(file) => file
                .handle()
                .and_then(|file| LocalVersion::from_file(&file))
                .io_at("look at", self.path())
                .map(Some),
        }
    }

    /// True when other names (hard links) refer to the same local file.
    ///
    /// # Errors
    /// When the file can't be looked at.
    pub fn has_other_names(&self) -> Result<bool> {
        Ok(self
            .local_version()?
            .is_some_and(|version| version.has_other_names()))
    }

    /// Checks that the path of the file still names the file that is open; does nothing for a
    /// remote one.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`] when another file has the path, or none.
    pub fn expect_at_path(&self) -> Result<()> {
        let Some(open) = self.local_version()? else {
            return Ok(());
        };
        match LocalVersion::from_path(self.path()) {
            Ok(now) if open.is_same_file(&now) => Ok(()),
            Ok(_) => Err(dataset_changed_error(self.path())),
            Err(error) => Err(dataset_changed_error(self.path()).because(error)),
        }
    }

    /// True when reading takes requests to a server.
    pub fn is_remote(&self) -> bool {
        matches!(self.inner.bytes, SourceOrigin::Remote(_))
    }

    /// Identifies the version that is read: length, modification time, ETag.
    pub fn identity(&self) -> FileIdentity {
        match &self.inner.bytes {
            SourceOrigin::Remote(file) => file.identity().clone(),
            SourceOrigin::Local(_) | SourceOrigin::Unpacked(_) => {
                let Stamp { size, modified, .. } = *self.inner.stamp;
                FileIdentity {
                    etag: None,
                    modified_ms: modified.milliseconds(),
                    size,
                }
            }
        }
    }

    /// Length in bytes at opening.
    pub fn size_bytes(&self) -> u64 {
        self.inner.stamp.size
    }

    /// True when the range is inside the file.
    pub fn contains(&self, offset: u64, size: u64) -> bool {
        offset
            .checked_add(size)
            .is_some_and(|end| end <= self.inner.stamp.size)
    }

    /// Fills `buffer` with the bytes from `offset`.
    ///
    /// # Errors
    /// An IO error, also at the end of the file.
    pub fn read_into(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match &self.inner.bytes {
            SourceOrigin::Local(file) => file.read_exact_at(offset, buffer),
            SourceOrigin::Unpacked(data) => data.read_into(offset, buffer),
            SourceOrigin::Remote(file) => {
                let bytes = file
                    .read(offset, buffer.len() as u64)
                    .map_err(std::io::Error::other)?;
                buffer.copy_from_slice(&bytes);
                Ok(())
            }
        }
    }

    /// Reads `size` bytes at `offset`. The range is checked against the file's length before memory
    /// is allocated.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when the range is outside the file, or an IO error.
    pub fn read(&self, offset: u64, size: u64) -> Result<Bytes> {
        if !self.contains(offset, size) {
            return Err(Error::format(format!(
                "{size} bytes at {offset} are outside the file, which has {} bytes",
                self.inner.stamp.size
            ))
            .at_path(&self.inner.path)
            .hint("the file may be cut short: compare its size with the original"));
        }
        match &self.inner.bytes {
            SourceOrigin::Remote(file) => file.read(offset, size),
            SourceOrigin::Local(_) | SourceOrigin::Unpacked(_) => {
                let mut buffer = vec![0; size as usize];
                self.read_into(offset, &mut buffer)
                    .io_at("read", &*self.inner.path)?;
                Ok(buffer.into())
            }
        }
    }

    /// Reads several `(offset, length)` ranges, in their order. Neighbouring ranges of a remote
    /// file share a request.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Bytes>> {
        match &self.inner.bytes {
            SourceOrigin::Remote(file) => file.read_ranges(ranges),
            SourceOrigin::Local(_) | SourceOrigin::Unpacked(_) => ranges
                .iter()
                .map(|&(offset, size)| self.read(offset, size))
                .collect(),
        }
    }

    /// Fetches these ranges of a remote file into the cache for later reads; ranges outside the
    /// file are ignored.
    ///
    /// # Errors
    /// When a request fails.
    pub fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        if let SourceOrigin::Remote(file) = &self.inner.bytes {
            let inside: Vec<(u64, u64)> = ranges
                .iter()
                .copied()
                .filter(|&(offset, size)| self.contains(offset, size))
                .collect();
            file.prefetch(&inside)?;
        }
        Ok(())
    }

    /// Prefetches what opening a remote container needs: small tables completely and up to the end
    /// of the file, of larger ones the footers.
    ///
    /// # Errors
    /// When a request fails.
    pub fn prefetch_tables(&self, tables: &[HeaderEntry]) -> Result<()> {
        let inside = tables
            .iter()
            .filter(|table| table.size > 0 && self.contains(table.offset, table.size));
        let (mut start, mut end, mut footers) = (u64::MAX, 0, Vec::new());
        for table in inside {
            (start, end) = (start.min(table.offset), end.max(table.offset + table.size));
            let footer = table.size.min(FOOTER);
            footers.push((table.offset + table.size - footer, footer));
        }
        if start >= end {
            return Ok(());
        }
        // The central directory follows the tables; a small one is fetched with them.
        let rest = self.size_bytes() - end;
        if rest <= FOOTER {
            end = self.size_bytes();
        }
        if end - start <= METADATA_WHOLE {
            self.prefetch(&[(start, end - start)])
        } else {
            self.prefetch(&footers)
        }
    }

    /// The Parquet file stored at a byte range of this file.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] when the range is outside the file.
    pub fn parquet(&self, offset: u64, size: u64) -> Result<ParquetSlice> {
        if !self.contains(offset, size) {
            return Err(Error::format(format!(
                "the table at {offset} with {size} bytes is outside the file"
            ))
            .at_path(self.path()));
        }
        let file = self.clone();
        let slice = ParquetSlice::new(size, move |start, length| match &file.inner.bytes {
            SourceOrigin::Remote(remote) => remote
                .read(offset + start, length as u64)
                .map_err(std::io::Error::other),
            SourceOrigin::Local(_) | SourceOrigin::Unpacked(_) => {
                let mut buffer = vec![0; length];
                file.read_into(offset + start, &mut buffer)?;
                Ok(buffer.into())
            }
        });
        let file = self.clone();
        if !self.is_remote() {
            return Ok(
                slice.with_filled(move |start, length| filled_bytes(&file, offset + start, length))
            );
        }
        Ok(slice.with_prefetch(move |ranges| {
            let ranges: Vec<(u64, u64)> = ranges
                .iter()
                .map(|&(start, length)| (offset + start, length))
                .collect();
            file.prefetch(&ranges).map_err(std::io::Error::other)
        }))
    }
}

impl BytesAt for ByteSource {
    fn size_bytes(&self) -> u64 {
        self.size_bytes()
    }

    fn read(&self, offset: u64, size: u64) -> Result<Bytes> {
        self.read(offset, size)
    }

    fn path(&self) -> &Path {
        self.path()
    }
}

/// Bytes of a range that are not in holes of a sparse file; `length` when the system does not
/// report holes.
fn filled_bytes(file: &ByteSource, offset: u64, length: u64) -> u64 {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{SeekFrom, seek};
        // A second handle, as seeking would move the position of the first.
        let Ok(own) = crate::files::open(file.path()) else {
            return length;
        };
        let end = offset.saturating_add(length);
        let (mut at, mut filled) = (offset, 0);
        while at < end {
            // No data after this offset.
            let Ok(data) = seek(&own, SeekFrom::Data(at)) else {
                break;
            };
            let Ok(hole) = seek(&own, SeekFrom::Hole(data)) else {
                return length;
            };
            filled += hole.min(end).saturating_sub(data);
            at = hole;
        }
        filled
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = (file, offset);
        length
    }
}

fn stamp_of_open(file: &Arc<SharedFile>) -> std::io::Result<Stamp> {
    Ok(Stamp::of_file(&file.handle()?.metadata()?))
}

/// Version of the local file at `path`, without opening it; `None` for a remote one.
///
/// # Errors
/// When the file does not exist, or its folder cannot be read.
pub fn stamp_at(path: &Path) -> Result<Option<Stamp>> {
    if is_remote(path) {
        return Ok(None);
    }
    Ok(Some(Stamp::of_file(
        &std::fs::metadata(path).io_at("read", path)?,
    )))
}

/// Reads all bytes of an asset.
///
/// # Errors
/// As [`ByteSource::open_for`] and [`ByteSource::read`].
pub fn read_asset(asset: &AssetPath) -> Result<Bytes> {
    read_asset_start(asset, u64::MAX)
}

/// At most the first `limit` bytes of an asset.
///
/// # Errors
/// As [`ByteSource::open_for`] and [`ByteSource::read`].
pub fn read_asset_start(asset: &AssetPath, limit: u64) -> Result<Bytes> {
    let source = ByteSource::open_for(asset)?;
    match asset {
        AssetPath::Range { offset, size, .. } => source.read(*offset, limit.min(*size)),
        _ => source.read(0, limit.min(source.size_bytes())),
    }
}

/// Length of an asset in bytes; its data is not read.
///
/// # Errors
/// As [`ByteSource::open_for`].
pub fn asset_size(asset: &AssetPath) -> Result<u64> {
    match asset {
        AssetPath::Range { size, .. } => Ok(*size),
        _ => Ok(ByteSource::open_for(asset)?.size_bytes()),
    }
}

/// True when both paths name the same existing file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    !is_remote(one)
        && !is_remote(other)
        && one
            .canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
