//! Bytes of compressed members of archives ([`PackedMember`]). A member of a ZIP is unpacked by
//! itself; a compressed tar has no places of its own, so it is unpacked as a whole, once. What is
//! unpacked is kept in memory when it is small, else in a temporary file without a name, which the
//! system removes at the latest when the program ends.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::error::{Error, IoContext, Kind, Result};
use crate::files::{self, free_bytes};
use crate::folder_archive::FolderArchive;
use crate::handles::read_exact_at;
use crate::jobs::current;
use crate::model::{PackedCodec, PackedMember, Stamp, is_remote};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile};

/// Unpacked data up to this size in bytes stays in memory.
const MEMORY_MAX: u64 = 8 << 20;
/// Unpacked members of ZIPs that are kept for the next read: in bytes, and in number.
const KEPT_BYTES: u64 = 64 << 20;
const KEPT_MEMBERS: usize = 32;
/// Bytes per read.
const PIECE: usize = 1 << 20;
/// Compressed bytes that are fetched of a remote archive at a time.
const REMOTE_PIECE: u64 = 4 << 20;
/// DEFLATE packs at most 1,032 bytes in one; a file beyond is made to fill disks.
pub const RATIO_MAX: u64 = 1_100;
/// Up to this size in bytes, any ratio is accepted: a small archive of equal bytes does no harm.
const RATIO_FREE: u64 = 256 << 20;
/// Bytes after which the free space of the disk is looked at again.
const DISK_CHECKED: u64 = 64 << 20;
/// Bytes that stay free on the disk of temporary files.
const DISK_LEFT: u64 = 1 << 30;

/// The data of a member, by position. Cheap to clone.
#[derive(Clone)]
pub struct UnpackedMember {
    data: Arc<Unpacked>,
    start: u64,
    size: u64,
    archive: Arc<Path>,
}

/// What compressed bytes unpack to.
pub enum Unpacked {
    /// In memory.
    Memory(Vec<u8>),
    /// In a temporary file without a name; with its length in bytes.
    File(File, u64),
    /// A folder, whose archive is made while it is read.
    Folder(FolderArchive),
}

/// Compressed bytes of a version of an archive.
#[derive(Clone, PartialEq, Eq)]
struct Packed {
    archive: Arc<Path>,
    codec: PackedCodec,
    start: u64,
    length: u64,
    stamp: Arc<Stamp>,
}

/// What the compressed bytes have to unpack to; as far as the archive states it.
#[derive(Clone, Copy, Default)]
struct Expected {
    size: Option<u64>,
    crc: Option<u32>,
}

/// What is unpacked, or being unpacked by the thread that holds the lock.
struct UnpackSlot {
    packed: Packed,
    data: Arc<Mutex<Option<Arc<Unpacked>>>>,
}

/// Unpacked data, most recently used last.
static KNOWN: Mutex<Vec<UnpackSlot>> = Mutex::new(Vec::new());

/// Checks that the archive of a member is still of the version in which it was found. One on a
/// server is checked when it is read.
///
/// # Errors
/// [`Kind::Changed`] for another version, and an IO error.
pub fn expect_archive(member: &PackedMember) -> Result<()> {
    Packed::from_member(member).expect_version()
}

impl UnpackedMember {
    /// Unpacks a member, or finds it unpacked.
    ///
    /// # Errors
    /// [`Kind::Changed`] when the archive is another version than that in which the member was
    /// found; [`Kind::Damaged`] when the bytes do not unpack to what the archive states;
    /// [`Kind::Unsupported`] for data that is far larger than its archive; an IO error;
    /// cancellation.
    pub fn open(member: &PackedMember) -> Result<Self> {
        let PackedMember {
            archive,
            offset,
            size,
            crc,
            ..
        } = member;
        let packed = Packed::from_member(member);
        let expected = if packed.is_whole() {
            Expected::default()
        } else {
            Expected {
                size: Some(*size),
                crc: *crc,
            }
        };
        let data = unpack_cached(&packed, expected)
            .map_err(|error| name_member_in_error(error, member))?;
        match offset.checked_add(*size) {
            Some(end) if end <= data.size_bytes() => Ok(Self {
                data,
                start: *offset,
                size: *size,
                archive: archive.clone(),
            }),
            _ => Err(
                Error::new(Kind::Damaged, "the archive is shorter than its files").at_place(member),
            ),
        }
    }

    /// Size of the data in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// Fills `buffer` with the data from `at`.
    ///
    /// # Errors
    /// An IO error, also for a range outside of the data.
    pub fn read_into(&self, at: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match at.checked_add(buffer.len() as u64) {
            Some(end) if end <= self.size => self.data.read_into(self.start + at, buffer),
            _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub fn archive(&self) -> &Arc<Path> {
        &self.archive
    }

    /// The folder whose archive this is; `None` for the data of an archive that is a file.
    pub fn folder(&self) -> Option<&FolderArchive> {
        match &*self.data {
            Unpacked::Folder(archive) => Some(archive),
            Unpacked::Memory(_) | Unpacked::File(..) => None,
        }
    }
}

/// Names the member in an error that names no place.
fn name_member_in_error(error: Error, member: &PackedMember) -> Error {
    if error.place().is_some() {
        error
    } else {
        error.at_place(member)
    }
}

impl Unpacked {
    /// Unpacks a whole file, such as a compressed tar, or finds it unpacked.
    ///
    /// # Errors
    /// As [`UnpackedMember::open`].
    pub fn of_file(
        archive: &Arc<Path>,
        codec: PackedCodec,
        stamp: &Arc<Stamp>,
    ) -> Result<Arc<Self>> {
        let packed = Packed {
            archive: archive.clone(),
            codec,
            start: 0,
            length: stamp.size,
            stamp: stamp.clone(),
        };
        unpack_cached(&packed, Expected::default())
    }

    /// Length in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, size) => *size,
            Self::Folder(archive) => archive.size_bytes(),
        }
    }

    /// Fills `buffer` with the data from `at`.
    ///
    /// # Errors
    /// An IO error, also at the end.
    pub fn read_into(&self, at: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let piece = start
                    .checked_add(buffer.len())
                    .and_then(|end| bytes.get(start..end));
                buffer.copy_from_slice(piece.ok_or(std::io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File(file, _) => read_exact_at(file, at, buffer),
            Self::Folder(archive) => archive.read_into(at, buffer),
        }
    }

    fn in_memory(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(..) | Self::Folder(_) => 0,
        }
    }
}

impl Packed {
    fn from_member(member: &PackedMember) -> Self {
        let PackedMember {
            archive,
            codec,
            start,
            length,
            stamp,
            ..
        } = member;
        Self {
            archive: archive.clone(),
            codec: *codec,
            start: *start,
            length: *length,
            stamp: stamp.clone(),
        }
    }

    /// True for a compressed tar, of which only the whole can be unpacked.
    fn is_whole(&self) -> bool {
        self.start == 0
    }

    fn expect_stamp(&self, found: &Stamp) -> Result<()> {
        if found.agrees(&self.stamp) {
            Ok(())
        } else {
            Err(Error::new(
                Kind::Changed,
                match self.codec {
                    PackedCodec::Folder => "the folder was changed or replaced since it was added",
                    PackedCodec::Deflate | PackedCodec::Gzip | PackedCodec::Zstd => {
                        "the archive was changed or replaced since this file was found in it"
                    }
                },
            )
            .at_path(&self.archive)
            .hint("add it again, or restore the original"))
        }
    }

    /// Checks that a local archive is still of the version in which its members were found.
    fn expect_version(&self) -> Result<()> {
        if is_remote(&self.archive) {
            return Ok(());
        }
        if self.codec == PackedCodec::Folder {
            return match known_folder(self) {
                Some(known) => self.expect_folder(&known),
                None => self.expect_stamp(&FolderArchive::list(&self.archive)?.stamp()),
            };
        }
        self.expect_stamp(&Stamp::of_file(
            &files::metadata(&self.archive).io_at("read the archive", &*self.archive)?,
        ))
    }

    /// Checks that a folder is still of the version in which its files were listed.
    fn expect_folder(&self, known: &Unpacked) -> Result<()> {
        match known {
            Unpacked::Folder(archive) if archive.is_fresh() || archive.is_unchanged()? => Ok(()),
            _ => self.expect_stamp(&FolderArchive::list(&self.archive)?.stamp()),
        }
    }

    /// The compressed bytes, of the version in which they were found.
    fn open(&self) -> Result<Box<dyn Read>> {
        if is_remote(&self.archive) {
            let file = RemoteFile::open_shared(
                &self.archive,
                self.start,
                self.length.min(FIRST_OF_SAMPLE),
            )?;
            self.expect_stamp(&file.identity().stamp())?;
            return Ok(Box::new(RemoteRange {
                file,
                at: self.start,
                end: self.start.saturating_add(self.length),
                piece: Bytes::new(),
            }));
        }
        let file = files::open(&self.archive).io_at("open the archive", &*self.archive)?;
        self.expect_stamp(&Stamp::of_file(
            &file.metadata().io_at("read the archive", &*self.archive)?,
        ))?;
        let mut file = BufReader::with_capacity(
            PIECE.min(usize::try_from(self.length).unwrap_or(PIECE).max(512)),
            file,
        );
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(self.start))
            .io_at("read the archive", &*self.archive)?;
        Ok(Box::new(file.take(self.length)))
    }
}

/// Compressed bytes of a remote archive.
struct RemoteRange {
    file: Arc<RemoteFile>,
    at: u64,
    end: u64,
    /// Bytes that were fetched and not read yet.
    piece: Bytes,
}

impl Read for RemoteRange {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.piece.is_empty() && self.at < self.end {
            let length = REMOTE_PIECE.min(self.end - self.at);
            self.piece = self
                .file
                .read(self.at, length)
                .map_err(std::io::Error::other)?;
            self.at += length;
        }
        let length = buffer.len().min(self.piece.len());
        buffer[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}

fn unpack_cached(packed: &Packed, expected: Expected) -> Result<Arc<Unpacked>> {
    let place = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|known| known.packed == *packed);
        let entry = match found {
            Some(at) => known.remove(at),
            None => UnpackSlot {
                packed: packed.clone(),
                data: Arc::default(),
            },
        };
        // Older versions of the same archive are not read any more.
        known.retain(|known| {
            known.packed.archive != packed.archive || known.packed.stamp == packed.stamp
        });
        let data = entry.data.clone();
        known.push(entry);
        data
    };
    // Only one thread unpacks; others wait for it.
    let mut data = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(data) = &*data {
        match packed.codec {
            PackedCodec::Folder => packed.expect_folder(data)?,
            PackedCodec::Deflate | PackedCodec::Gzip | PackedCodec::Zstd => {
                packed.expect_version()?;
            }
        }
        return Ok(data.clone());
    }
    let made = Arc::new(unpack(packed, expected)?);
    *data = Some(made.clone());
    drop(data);
    forget_members();
    Ok(made)
}

/// The listed folder, when no other thread lists it now.
fn known_folder(packed: &Packed) -> Option<Arc<Unpacked>> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = known.iter().find(|known| known.packed == *packed)?;
    slot.data.try_lock().ok()?.clone()
}

/// Forgets members of ZIPs beyond what is kept, those first that were not used for longest.
/// Unpacked tars stay: unpacking one again takes as long as the first time.
fn forget_members() {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut bytes, mut members) = (0, 0);
    let mut kept: Vec<UnpackSlot> = Vec::with_capacity(known.len());
    for entry in known.drain(..).rev() {
        let size = match entry.data.try_lock().ok().as_deref() {
            Some(Some(data)) => data.in_memory(),
            // It is being unpacked, or could not be.
            _ => 0,
        };
        let stays =
            entry.packed.is_whole() || (members < KEPT_MEMBERS && bytes + size <= KEPT_BYTES);
        if stays {
            bytes += size;
            members += usize::from(!entry.packed.is_whole());
            kept.push(entry);
        }
    }
    kept.reverse();
    *known = kept;
}

/// True for data that is far larger than what it is packed to.
pub fn is_implausible(packed: u64, size: u64) -> bool {
    size > RATIO_FREE && size / RATIO_MAX > packed
}

fn unpack(packed: &Packed, expected: Expected) -> Result<Unpacked> {
    let mut reader: Box<dyn Read> = match packed.codec {
        PackedCodec::Deflate => Box::new(flate2::read::DeflateDecoder::new(packed.open()?)),
        PackedCodec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed.open()?)),
        PackedCodec::Zstd => {
            Box::new(zstd::Decoder::new(packed.open()?).io_at("unpack", &*packed.archive)?)
        }
        PackedCodec::Folder => {
            let archive = FolderArchive::list(&packed.archive)?;
            packed.expect_stamp(&archive.stamp())?;
            return Ok(Unpacked::Folder(archive));
        }
    };
    let (mut memory, mut file) = (Vec::new(), None::<File>);
    let (mut size, mut checked) = (0_u64, 0_u64);
    let mut crc = crc32fast::Hasher::new();
    let mut piece = vec![0; PIECE];
    let damaged = |what: &str| Error::new(Kind::Damaged, what.to_owned()).at_path(&packed.archive);
    loop {
        if let Some(job) = current() {
            job.context.check()?;
        }
        let length = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                // A request that failed says so itself.
                return Err(error.downcast::<Error>().unwrap_or_else(|error| {
                    damaged("the compressed data is damaged or cut short")
                        .because(error)
                        .hint("fetch the archive again, and compare its size with the original")
                }));
            }
        };
        let bytes = &piece[..length];
        size += length as u64;
        if expected.size.is_some_and(|stated| size > stated) {
            return Err(damaged(
                "a file of the archive unpacks to more bytes than the archive states",
            ));
        }
        if is_implausible(packed.length, size) {
            return Err(Error::unsupported(format!(
                "the archive unpacks to more than {RATIO_MAX} times its size"
            ))
            .at_path(&packed.archive)
            .hint("unpack it with another program if you trust it, and take the folder"));
        }
        crc.update(bytes);
        if file.is_none() && memory.len() as u64 + length as u64 > MEMORY_MAX {
            file = Some(spill_to_temp_file(&std::mem::take(&mut memory))?);
        }
        match &mut file {
            None => memory.extend_from_slice(bytes),
            Some(file) => {
                let temporary = std::env::temp_dir();
                if size >= checked {
                    checked = size + DISK_CHECKED;
                    expect_space(&temporary)?;
                }
                file.write_all(bytes)
                    .io_at("unpack into the temporary folder", &temporary)?;
            }
        }
    }
    if expected.size.is_some_and(|stated| size != stated) {
        return Err(damaged(
            "a file of the archive unpacks to fewer bytes than the archive states",
        ));
    }
    if expected.crc.is_some_and(|stated| stated != crc.finalize()) {
        return Err(damaged(
            "a file of the archive is damaged: its CRC-32 is another one than the archive states",
        ));
    }
    Ok(match file {
        None => {
            memory.shrink_to_fit();
            Unpacked::Memory(memory)
        }
        Some(file) => Unpacked::File(file, size),
    })
}

/// A temporary file that begins with these bytes.
fn spill_to_temp_file(bytes: &[u8]) -> Result<File> {
    let temporary = std::env::temp_dir();
    let mut file = tempfile::tempfile().io_at("make a file in the temporary folder", &temporary)?;
    file.write_all(bytes)
        .io_at("unpack into the temporary folder", &temporary)?;
    Ok(file)
}

fn expect_space(temporary: &Path) -> Result<()> {
    match free_bytes(temporary) {
        Some(free) if free < DISK_LEFT => Err(Error::usage(
            "the disk of the temporary folder is too full to unpack the archive",
        )
        .at_path(temporary)
        .hint(
            "name a folder on another disk with --temp-dir, or unpack the archive and take \
                its folder",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Modified;

    fn member_of(
        path: &Path,
        codec: PackedCodec,
        start: u64,
        length: u64,
        size: u64,
        crc: Option<u32>,
    ) -> PackedMember {
        let meta = std::fs::metadata(path).expect("is there");
        let stamp = Stamp::of_file(&meta);
        PackedMember {
            archive: path.into(),
            name: "a.bin".into(),
            codec,
            start,
            length,
            offset: 0,
            size,
            crc,
            stamp: stamp.into(),
        }
    }

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("packs");
        encoder.finish().expect("packs")
    }

    #[test]
    fn members_are_unpacked_whole_and_read_by_position() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zip");
        // Small in memory, large in a file.
        for size in [1000_usize, 9 << 20] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let packed = deflated(&bytes);
            std::fs::write(&path, [b"head".as_slice(), &packed].concat()).expect("writes");
            let crc = crc32fast::hash(&bytes);
            let member = member_of(
                &path,
                PackedCodec::Deflate,
                4,
                packed.len() as u64,
                size as u64,
                Some(crc),
            );
            let unpacked = UnpackedMember::open(&member).expect("unpacks");
            let mut part = vec![0; 300];
            unpacked
                .read_into(size as u64 - 300, &mut part)
                .expect("reads");
            assert_eq!(part, bytes[size - 300..]);
            assert!(unpacked.read_into(size as u64 - 299, &mut part).is_err());
            let wrongs = [
                (
                    PackedMember {
                        crc: Some(1),
                        start: 4,
                        ..member.clone()
                    },
                    Kind::Damaged,
                ),
                (
                    PackedMember {
                        size: size as u64 - 1,
                        ..member.clone()
                    },
                    Kind::Damaged,
                ),
                (
                    PackedMember {
                        size: size as u64 + 1,
                        ..member.clone()
                    },
                    Kind::Damaged,
                ),
                (
                    PackedMember {
                        length: packed.len() as u64 / 2,
                        ..member.clone()
                    },
                    Kind::Damaged,
                ),
                (
                    PackedMember {
                        stamp: Stamp {
                            size: 1,
                            ..(*member.stamp).clone()
                        }
                        .into(),
                        ..member.clone()
                    },
                    Kind::Changed,
                ),
            ];
            for (number, (wrong, kind)) in wrongs.into_iter().enumerate() {
                let copy = folder.path().join(format!("{size}-{number}.zip"));
                std::fs::copy(&path, &copy).expect("copies");
                let stamp = Stamp {
                    modified: Modified::default(),
                    ..(*wrong.stamp).clone()
                };
                let wrong = PackedMember {
                    archive: copy.as_path().into(),
                    stamp: stamp.into(),
                    ..wrong
                };
                assert_eq!(
                    UnpackedMember::open(&wrong).err().map(|error| error.kind()),
                    Some(kind),
                    "{wrong:?}"
                );
            }
        }
    }

    #[test]
    fn a_compressed_file_is_unpacked_once_for_all_its_members() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).expect("packs");
        let gzip = gzip.finish().expect("packs");
        let zstd = zstd::encode_all(bytes.as_slice(), 1).expect("packs");
        for (name, packed, codec) in [
            ("a.gz", gzip, PackedCodec::Gzip),
            ("a.zst", zstd, PackedCodec::Zstd),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, &packed).expect("writes");
            let whole = member_of(&path, codec, 0, packed.len() as u64, 8, None);
            let first = UnpackedMember::open(&PackedMember {
                offset: 4,
                ..whole.clone()
            })
            .expect("unpacks");
            let second = UnpackedMember::open(&PackedMember {
                offset: 40,
                ..whole.clone()
            })
            .expect("is unpacked");
            assert!(Arc::ptr_eq(&first.data, &second.data));
            let mut read = [0; 8];
            second.read_into(0, &mut read).expect("reads");
            assert_eq!(read, bytes[40..48]);
            let beyond = PackedMember {
                offset: bytes.len() as u64 - 4,
                ..whole
            };
            assert_eq!(
                UnpackedMember::open(&beyond)
                    .err()
                    .map(|error| error.kind()),
                Some(Kind::Damaged)
            );
        }
    }

    #[test]
    fn data_that_is_far_larger_than_its_archive_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zst");
        let zeros = std::io::repeat(0).take(RATIO_FREE + (2 << 20));
        std::fs::write(&path, zstd::encode_all(zeros, 1).expect("packs")).expect("writes");
        let length = std::fs::metadata(&path).expect("is there").len();
        assert!(length * RATIO_MAX < RATIO_FREE, "{length}");
        let bomb = member_of(&path, PackedCodec::Zstd, 0, length, 8, None);
        assert_eq!(
            UnpackedMember::open(&bomb).err().map(|error| error.kind()),
            Some(Kind::Unsupported)
        );
    }
}
