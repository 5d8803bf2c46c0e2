//! A folder that is one unit, such as a Zarr store, as a ZIP of stored members: the form in which a
//! FILE has it (`ZipStore` of Zarr). The archive is made while it is read and exists nowhere; equal
//! files give equal bytes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, IoContext, Kind, Result};
use crate::files::{self, special_file_type};
use crate::handles::read_exact_at;
use crate::jobs::{JobContext, current};
use crate::model::{AssetPath, Modified, PackedCodec, PackedMember, Payload, Sample, Stamp};
use crate::text::list_first;
use crate::zip_format::{DosTime, ZipMember, local_header_len, put_end};

/// Files of a store that make it one: metadata of Zarr, versions 2 and 3.
const STORE_FILES: [&str; 4] = [".zgroup", ".zarray", ".zmetadata", "zarr.json"];
/// Maximum depth of folders in a store; bounds loops of links.
const STORE_DEPTH_MAX: usize = 32;
/// Files that are read at most.
const FILES_MAX: usize = 10_000_000;
/// Longest name of a member in bytes.
const NAME_MAX: usize = u16::MAX as usize;
/// A list of files is not compared again for so long.
const FRESH: Duration = Duration::from_secs(1);
/// Bytes per read of a checksum.
const PIECE: usize = 1 << 20;

/// True for a folder of this machine that is a Zarr store: an array or a group.
pub fn is_store(folder: &Path) -> bool {
    STORE_FILES.iter().any(|name| {
        folder
            .join(name)
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_file())
    })
}

/// The outermost store that a path is in, or that it is.
pub fn store_around(path: &Path) -> Option<&Path> {
    path.ancestors().filter(|folder| is_store(folder)).last()
}

/// True for the name of a file that makes its folder a Zarr store.
pub fn is_store_file(name: &str) -> bool {
    STORE_FILES.contains(&name)
}

/// A folder as an archive.
pub struct FolderArchive {
    folder: Arc<Path>,
    files: Vec<FolderFile>,
    /// Offset of the central directory.
    directory: u64,
    /// The central directory and the end record, without checksums.
    tail_size: u64,
    /// The same with checksums, once all files were read.
    tail: OnceLock<Vec<u8>>,
    /// The file that was read last, by its index.
    open: Mutex<Option<(usize, Arc<File>)>>,
    /// When the folder was listed.
    listed: Mutex<Instant>,
}

struct FolderFile {
    /// Path below the folder, with `/`.
    name: Box<str>,
    size: u64,
    modified: Modified,
    /// Offset of the local header.
    local: u64,
    crc: OnceLock<u32>,
}

impl FolderArchive {
    /// Lists the files of a folder.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] for a link, or what is neither a file nor a folder; a usage error for
    /// names that are not Unicode, too many files, and folders that are nested too deep; an IO
    /// error; cancellation.
    pub fn list(folder: &Path) -> Result<Self> {
        let mut found = Vec::new();
        collect(folder, "", 0, &mut found)?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        let mut at = 0;
        for file in &mut found {
            file.local = at;
            at += local_header_len(file.name.len(), file.size) + file.size;
        }
        let mut archive = Self {
            folder: folder.into(),
            files: found,
            directory: at,
            tail_size: 0,
            tail: OnceLock::new(),
            open: Mutex::new(None),
            listed: Mutex::new(Instant::now()),
        };
        archive.tail_size = archive
            .tail_with(|_| Ok::<u32, io::Error>(0))
            .map_or(0, |tail| tail.len() as u64);
        Ok(archive)
    }

    /// Size of the archive in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.directory + self.tail_size
    }

    /// The version of the folder: size of the archive, and latest change of a file.
    pub fn stamp(&self) -> Stamp {
        let latest = self.files.iter().map(|file| file.modified.0).max();
        Stamp {
            size: self.size_bytes(),
            modified: Modified(latest.unwrap_or(0)),
            etag: None,
            directory: None,
        }
    }

    /// True when the folder was listed a moment ago: a picture is read in many pieces, and a store
    /// may have a hundred thousand files.
    pub fn is_fresh(&self) -> bool {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.elapsed() < FRESH
    }

    /// Lists the folder again, and compares the versions.
    ///
    /// # Errors
    /// Those of [`FolderArchive::list`].
    pub fn is_unchanged(&self) -> Result<bool> {
        let is_same = Self::list(&self.folder)?.stamp().agrees(&self.stamp());
        if is_same {
            *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        Ok(is_same)
    }

    /// The archive as a file of a draft.
    pub fn member(&self) -> PackedMember {
        member_of(&self.folder, &self.stamp().into())
    }

    /// The archive as a FILE of a draft.
    pub fn sample(&self, id: &str) -> Sample {
        Self::sample_of(&self.folder, &self.stamp().into(), id)
    }

    /// The archive of this version of a folder as a FILE of a draft.
    pub fn sample_of(folder: &Path, stamp: &Arc<Stamp>, id: &str) -> Sample {
        let member = member_of(folder, stamp);
        let payload = Payload::Asset {
            size: member.size,
            modified: member.stamp.modified,
            path: AssetPath::Packed(member.into()),
        };
        Sample {
            payload,
            ..Sample::new_file(id, "", 0)
        }
    }

    /// Names, offsets of the data in the archive, and sizes of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.files
            .iter()
            .map(|file| (&*file.name, file.data(), file.size))
    }

    /// Fills `buffer` with bytes of the archive from `at`. Checksums are computed where their bytes
    /// are read.
    ///
    /// # Errors
    /// An IO error, also at the end; with an [`Error`] of [`Kind::Changed`] inside for a file that
    /// changed since the folder was listed.
    pub fn read_into(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = at.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.size_bytes()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < buffer.len() {
            done += self.read_some(at + done as u64, &mut buffer[done..])?;
        }
        Ok(())
    }

    /// Fills the start of `buffer` from one local header, file or the directory; at least one byte.
    fn read_some(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if at >= self.directory {
            return Ok(copy_from(self.tail()?, at - self.directory, buffer));
        }
        let next = self.files.partition_point(|file| file.local <= at);
        let index = next.checked_sub(1).ok_or(io::ErrorKind::UnexpectedEof)?;
        let file = &self.files[index];
        if at < file.data() {
            let mut header = Vec::new();
            self.record(index, self.crc(index)?).put_local(&mut header);
            return Ok(copy_from(&header, at - file.local, buffer));
        }
        let left = file.data() + file.size - at;
        let length = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        self.read_file(index, at - file.data(), &mut buffer[..length])?;
        Ok(length)
    }

    fn record(&self, index: usize, crc: u32) -> ZipMember {
        let file = &self.files[index];
        ZipMember {
            name: file.name.clone(),
            local: file.local,
            size: file.size,
            padding: 0,
            crc,
            time: DosTime::EPOCH,
        }
    }

    fn tail(&self) -> io::Result<&[u8]> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = self.tail_with(|index| self.crc(index))?;
        Ok(self.tail.get_or_init(|| tail))
    }

    fn tail_with<E>(
        &self,
        crc: impl Fn(usize) -> std::result::Result<u32, E>,
    ) -> std::result::Result<Vec<u8>, E> {
        let mut tail = Vec::new();
        for index in 0..self.files.len() {
            self.record(index, crc(index)?).put_central(&mut tail);
        }
        let size = tail.len() as u64;
        put_end(&mut tail, self.files.len() as u64, self.directory, size);
        Ok(tail)
    }

    /// CRC-32 of a file, which is read once for it.
    fn crc(&self, index: usize) -> io::Result<u32> {
        let file = &self.files[index];
        if let Some(crc) = file.crc.get() {
            return Ok(*crc);
        }
        let mut hasher = crc32fast::Hasher::new();
        let mut piece = vec![0; PIECE.min(usize::try_from(file.size).unwrap_or(PIECE))];
        let mut at = 0;
        while at < file.size {
            if let Some(job) = current() {
                job.context.check().map_err(io::Error::other)?;
            }
            let length = piece
                .len()
                .min(usize::try_from(file.size - at).unwrap_or(PIECE));
            self.read_file(index, at, &mut piece[..length])?;
            hasher.update(&piece[..length]);
            at += length as u64;
        }
        Ok(*file.crc.get_or_init(|| hasher.finalize()))
    }

    /// Fills `buffer` from a file, and checks that it is the one that was listed.
    fn read_file(&self, index: usize, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let open = self.open_file(index)?;
        read_exact_at(&open, at, buffer)?;
        let meta = open.metadata()?;
        let file = &self.files[index];
        if meta.len() == file.size && Modified::of_file(&meta).agrees(file.modified) {
            return Ok(());
        }
        let changed = Error::new(Kind::Changed, "the file changed while its folder was read")
            .at_path(&self.path_of(index))
            .hint("wait until the program that writes it is done, and add the folder again");
        Err(io::Error::other(changed))
    }

    fn open_file(&self, index: usize) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = open.as_ref().filter(|(last, _)| *last == index) {
            return Ok(file.clone());
        }
        let file = Arc::new(files::open(&self.path_of(index))?);
        *open = Some((index, file.clone()));
        Ok(file)
    }

    fn path_of(&self, index: usize) -> PathBuf {
        self.folder.join(&*self.files[index].name)
    }
}

impl FolderFile {
    /// Offset of the data.
    fn data(&self) -> u64 {
        self.local + local_header_len(self.name.len(), self.size)
    }
}

fn member_of(folder: &Path, stamp: &Arc<Stamp>) -> PackedMember {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    PackedMember {
        archive: folder.into(),
        name: archive_name(&name).into(),
        codec: PackedCodec::Folder,
        start: 0,
        length: stamp.size,
        offset: 0,
        size: stamp.size,
        crc: None,
        stamp: stamp.clone(),
    }
}

/// Name of the file that a folder called `name` becomes: `scene.zarr.zip`, of `scene.zarr` and of
/// `scene`.
pub fn archive_name(name: &str) -> String {
    if name.to_ascii_lowercase().ends_with(".zarr") {
        format!("{name}.zip")
    } else {
        format!("{name}.zarr.zip")
    }
}

/// True for a name such as those of [`archive_name`].
pub fn is_archive_name(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".zarr.zip")
}

/// Warns that stores become files: how many, and the first of their names.
pub fn warn_of_stores(names: &[String], ctx: &JobContext) {
    /// Names that are listed.
    const MAX_NAMES: usize = 3;
    let listed = list_first(names, MAX_NAMES);
    match names.len() {
        0 => {}
        1 => ctx.warn(format!("1 Zarr store becomes one FILE, a ZIP: {listed}")),
        count => ctx.warn(format!(
            "{count} Zarr stores become one FILE each, a ZIP: {listed}"
        )),
    }
}

fn copy_from(bytes: &[u8], at: u64, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
    let rest = rest.unwrap_or_default();
    let length = rest.len().min(buffer.len());
    buffer[..length].copy_from_slice(&rest[..length]);
    length
}

fn collect(folder: &Path, above: &str, depth: usize, found: &mut Vec<FolderFile>) -> Result<()> {
    if let Some(job) = current() {
        job.context.check()?;
    }
    if depth == STORE_DEPTH_MAX {
        return Err(Error::usage("folders of the store are nested too deep").at_path(folder));
    }
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().filter(|name| !name.contains('\\'));
        let Some(name) = name else {
            return Err(
                Error::usage("a name in the store is not Unicode, or has a backslash")
                    .at_path(&path),
            );
        };
        let below = format!("{above}{name}");
        let meta = path.symlink_metadata().io_at("read", &path)?;
        if meta.is_dir() {
            collect(&path, &format!("{below}/"), depth + 1, found)?;
        } else if !meta.is_file() {
            let what = if meta.is_symlink() {
                "a link"
            } else {
                special_file_type(meta.file_type()).unwrap_or("a special file")
            };
            return Err(
                Error::unsupported(format!("{what} in a Zarr store is not packed"))
                    .at_path(&path)
                    .hint("replace it by the file itself"),
            );
        } else if below.len() > NAME_MAX || found.len() == FILES_MAX {
            return Err(
                Error::usage("the store has too many files, or too long a name").at_path(&path),
            );
        } else {
            found.push(FolderFile {
                name: below.into(),
                size: meta.len(),
                modified: Modified::of_file(&meta),
                local: 0,
                crc: OnceLock::new(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;

    fn store() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder");
        let store = place.path().join("scene.zarr");
        fs::create_dir_all(store.join("air/c/0")).expect("makes");
        fs::write(store.join(".zgroup"), br#"{"zarr_format":2}"#).expect("writes");
        fs::write(store.join("air/c/0/1"), vec![7; 3_000_000]).expect("writes");
        fs::write(store.join("air/c/0/0"), b"").expect("writes");
        place
    }

    fn bytes_of(archive: &FolderArchive) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(archive.size_bytes()).expect("fits")];
        archive.read_into(0, &mut bytes).expect("reads");
        bytes
    }

    #[test]
    fn a_store_is_a_zip_of_its_files_that_other_programs_read() {
        let place = store();
        let folder = place.path().join("scene.zarr");
        assert!(is_store(&folder) && !is_store(place.path()));
        assert_eq!(store_around(&folder.join("air/c/0/1")), Some(&*folder));
        assert_eq!(store_around(place.path()), None);
        let archive = FolderArchive::list(&folder).expect("lists");
        let bytes = bytes_of(&archive);
        let mut read = zip::ZipArchive::new(io::Cursor::new(&bytes)).expect("is an archive");
        let names: Vec<String> = (0..read.len())
            .map(|at| {
                read.by_index(at)
                    .expect("is there")
                    .name()
                    .expect("has one")
                    .into_owned()
            })
            .collect();
        assert_eq!(names, [".zgroup", "air/c/0/0", "air/c/0/1"]);
        let mut data = Vec::new();
        let mut member = read.by_name("air/c/0/1").expect("is there");
        member.read_to_end(&mut data).expect("has the checksum");
        assert_eq!(data, vec![7; 3_000_000]);
        drop(member);
        for (name, offset, size) in archive.files() {
            let (start, end) = (offset as usize, (offset + size) as usize);
            assert_eq!(
                bytes[start..end],
                fs::read(folder.join(name)).expect("reads"),
                "{name}"
            );
        }
        // In pieces as a whole, and the same again.
        let again = FolderArchive::list(&folder).expect("lists");
        let mut pieces = vec![0; bytes.len()];
        for (number, piece) in pieces.chunks_mut(70_001).enumerate() {
            again
                .read_into(number as u64 * 70_001, piece)
                .expect("reads");
        }
        assert_eq!(pieces, bytes);
        assert_eq!(again.stamp(), archive.stamp());
        assert!(again.read_into(bytes.len() as u64, &mut [0]).is_err());
        assert_eq!(archive.member().file_name(), "scene.zarr.zip");
    }

    #[test]
    fn a_store_that_changes_is_another_version_and_not_read_on() {
        let place = store();
        let folder = place.path().join("scene.zarr");
        let archive = FolderArchive::list(&folder).expect("lists");
        fs::write(folder.join("air/c/0/1"), vec![8; 2_999_999]).expect("writes");
        assert_ne!(
            FolderArchive::list(&folder).expect("lists").stamp(),
            archive.stamp()
        );
        let mut bytes = vec![0; 3_000_000];
        assert!(archive.read_into(100, &mut bytes).is_err());
        fs::write(folder.join("air/c/0/1"), vec![8; 3_000_000]).expect("writes");
        assert!(!archive.is_unchanged().expect("lists"));
        let error = archive.read_into(100, &mut [0; 400]).expect_err("changed");
        let error = error.downcast::<Error>().expect("has its cause");
        assert_eq!(error.kind(), Kind::Changed);
    }

    #[test]
    #[cfg(unix)]
    fn links_in_a_store_are_refused() {
        let place = store();
        let folder = place.path().join("scene.zarr");
        std::os::unix::fs::symlink("/etc/hostname", folder.join("air/c/0/2")).expect("links");
        let refused = FolderArchive::list(&folder).err().map(|error| error.kind());
        assert_eq!(refused, Some(Kind::Unsupported));
    }
}
