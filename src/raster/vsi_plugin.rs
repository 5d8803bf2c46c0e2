//! A virtual file system of GDAL (VSI plugin) that serves samples: `/vsitaco/NUMBER/NAME` is a
//! file, or a byte range of one, without siblings other than those that [`Mounted::add_sibling`]
//! puts beside it, and the files of a store that is packed in it. Remote bytes are read through
//! [`RemoteFile`], with the credentials, retries, cache and meter of all other reads, in few
//! requests and without listing or HEAD. No panic crosses into C; only the exact path of a mounted
//! part can be opened; read-ahead is bounded.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::store::{FilePlace, StoreFiles, data_range};
use crate::error::{Error, IoContext, Result};
use crate::folder_archive::FolderArchive;
use crate::model::{AssetPath, PackedMember};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile};
use crate::unpack::UnpackedMember;
use crate::zip_format::BytesAt;

/// Prefix of absolute paths, for drivers that need a leading slash (SQLite).
const PREFIX: &str = "/vsitaco/";
/// `PREFIX` as a static C string: GDAL keeps the pointer.
const PREFIX_KEPT: &CStr = c"/vsitaco/";
/// Prefix of relative paths. GDAL resolves `../` in a name that a file contains against an absolute
/// path, even above the prefix, but not against a relative path, so no file can refer to one
/// outside of this file system.
const RELATIVE: &str = "taco~sample/";
const RELATIVE_KEPT: &CStr = c"taco~sample/";
/// Samples up to this size in bytes are read whole by the first request.
const WHOLE: u64 = 1 << 20;
/// Bytes that the first request reads of a larger sample: header and tile directory.
const HEADER: u64 = 128 << 10;
/// Minimum bytes of a local read: some drivers read a few bytes at a time.
const PIECE: usize = 16 << 10;

/// A byte range of a file.
#[derive(Clone)]
struct VsiRange {
    bytes: RangeBytes,
    start: u64,
    size: u64,
    /// Set by a failed read: GDAL may then treat existing overviews and tiles as absent.
    failed: Arc<AtomicBool>,
    /// File name of the only path that opens.
    name: Arc<str>,
}

/// Source of the bytes of a part.
#[derive(Clone)]
enum RangeBytes {
    Remote(Arc<RemoteFile>),
    Local(Arc<VsiFile>),
    Unpacked(UnpackedMember),
}

/// A local file, opened once, read by position.
struct VsiFile {
    file: File,
    path: Arc<Path>,
}

impl VsiFile {
    /// Fills `buffer` with the bytes at `at`.
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match read_at(&self.file, at + done as u64, &mut buffer[done..]) {
                Ok(0) => {
                    let error = Error::format("the file is shorter than it was when it was opened")
                        .at_path(&self.path);
                    return Err(error.hint("another program may have changed it: open it again"));
                }
                Ok(read) => done += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read the raster", &self.path, error)),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, at: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, at: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// Name of the folder with the files of a store, beside the sample that is its archive.
const STORE: &str = "store";

/// The files below a number.
struct MountedFiles {
    /// A sample, and the siblings that were put beside it.
    parts: Vec<VsiRange>,
    /// The files that are packed in the sample.
    store: Option<Arc<StoreFiles>>,
}

/// The files below each number.
struct MountTable {
    files: BTreeMap<u64, MountedFiles>,
    last_number: u64,
}

static MOUNTS: Mutex<MountTable> = Mutex::new(MountTable {
    files: BTreeMap::new(),
    last_number: 0,
});

thread_local! {
    /// Error of the last failed read on this thread. Until it is taken, further reads fail at once
    /// instead of waiting for another time-out.
    static FAULT: RefCell<Option<Error>> = const { RefCell::new(None) };
}

fn lock_mounts() -> MutexGuard<'static, MountTable> {
    MOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the error of the last failed read on this thread.
pub fn take_fault() -> Option<Error> {
    FAULT.try_with(|fault| fault.take()).ok().flatten()
}

fn note_fault(error: Error) {
    let _ = FAULT.try_with(|fault| fault.replace(Some(error)));
}

/// True while the error of a failed read on this thread has not been taken.
pub fn has_fault() -> bool {
    FAULT
        .try_with(|fault| fault.borrow().is_some())
        .unwrap_or(false)
}

/// Location of a remote asset: the file as opened with the dataset, and a byte range.
pub struct MountedRange {
    pub file: Arc<RemoteFile>,
    /// Offset of the first byte.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Location of a remote asset; `None` for a local one, and for one that has to be unpacked.
///
/// # Errors
/// Those of opening the remote file.
pub fn place_of(asset: &AssetPath) -> Result<Option<MountedRange>> {
    let Some(path) = asset
        .remote_file()
        .filter(|_| !matches!(asset, AssetPath::Packed(_)))
    else {
        return Ok(None);
    };
    let (file, start, size) = match asset {
        AssetPath::Range { offset, size, .. } => (
            RemoteFile::open_shared(path, *offset, first_of(*size))?,
            *offset,
            *size,
        ),
        _ => {
            let file = RemoteFile::open_shared(path, 0, FIRST_OF_SAMPLE)?;
            let size = file.size_bytes();
            (file, 0, size)
        }
    };
    Ok(Some(MountedRange { file, start, size }))
}

fn first_of(size: u64) -> u64 {
    if size <= WHOLE { size } else { HEADER }
}

/// A file or byte range that GDAL can open by path until this is dropped.
pub struct Mounted {
    number: u64,
    part: VsiRange,
}

impl Mounted {
    /// Mounts a remote range after reading its header, or all of it up to 1 MiB. `name` is the file
    /// name, by which some drivers identify the format.
    ///
    /// # Errors
    /// Those of the first read.
    pub fn remote(place: &MountedRange, name: &str) -> Result<Self> {
        place
            .file
            .read_ranges(&[(place.start, first_of(place.size))])?;
        Ok(Self::new(
            RangeBytes::Remote(place.file.clone()),
            place.start,
            place.size,
            name,
        ))
    }

    /// Mounts `size` bytes from `start` of a local file.
    ///
    /// # Errors
    /// Those of opening the file.
    pub fn local(path: &Path, start: u64, size: u64, name: &str) -> Result<Self> {
        let file = crate::files::open(path).io_at("open the raster", path)?;
        Ok(Self::new(
            RangeBytes::Local(Arc::new(VsiFile {
                file,
                path: path.into(),
            })),
            start,
            size,
            name,
        ))
    }

    /// Mounts a file of an archive.
    ///
    /// # Errors
    /// Those of unpacking it.
    pub fn from_packed_member(member: &PackedMember, name: &str) -> Result<Self> {
        let data = UnpackedMember::open(member)?;
        let size = data.size_bytes();
        Ok(Self::new(RangeBytes::Unpacked(data), 0, size, name))
    }

    fn new(bytes: RangeBytes, start: u64, size: u64, name: &str) -> Self {
        let part = VsiRange {
            bytes,
            start,
            size,
            failed: Arc::default(),
            name: name.into(),
        };
        let files = MountedFiles {
            parts: vec![part.clone()],
            store: None,
        };
        let mut mounts = lock_mounts();
        mounts.last_number += 1;
        let number = mounts.last_number;
        mounts.files.insert(number, files);
        Self { number, part }
    }

    /// Makes the bytes of `sibling` a file beside this one, under the name of `sibling`, as long as
    /// this one is mounted.
    pub fn add_sibling(&self, sibling: &Mounted) {
        if let Some(own) = lock_mounts().files.get_mut(&self.number) {
            own.parts.push(sibling.part.clone());
        }
    }

    /// Makes the files of the store that this is the archive of files of GDAL, as long as this is
    /// mounted. The relative path of their folder.
    pub(super) fn add_store(&self, files: Arc<StoreFiles>) -> String {
        if let Some(own) = lock_mounts().files.get_mut(&self.number) {
            own.store = Some(files);
        }
        format!("{RELATIVE}{}/{STORE}", self.number)
    }

    /// The folder whose archive this is, which exists nowhere.
    pub(super) fn packed_folder(&self) -> Option<&FolderArchive> {
        match &self.part.bytes {
            RangeBytes::Unpacked(data) => data.folder(),
            RangeBytes::Remote(_) | RangeBytes::Local(_) => None,
        }
    }

    /// The relative path for GDAL: files that the sample names are looked up below the prefix only.
    pub fn path(&self) -> String {
        format!("{RELATIVE}{}/{}", self.number, self.part.name)
    }

    /// The absolute path, for drivers that need one.
    pub fn absolute_path(&self) -> String {
        format!("{PREFIX}{}/{}", self.number, self.part.name)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.part.size
    }

    /// Reads at most `length` bytes from offset `at`; fewer at the end of the part.
    ///
    /// # Errors
    /// Those of the read; [`crate::error::Kind::Format`] for a local file that became shorter.
    pub fn read(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        let length = length.min(self.part.size.saturating_sub(at));
        Ok(self.part.read(at, length)?.to_vec())
    }

    /// The bytes by position.
    pub(super) fn bytes(&self) -> &impl BytesAt {
        &self.part
    }

    /// True when the bytes come from this remote handle, not an earlier one of the same address,
    /// and no read has failed.
    pub fn reads(&self, file: &Arc<RemoteFile>) -> bool {
        matches!(&self.part.bytes, RangeBytes::Remote(own) if Arc::ptr_eq(own, file))
            && !self.part.failed.load(Ordering::Relaxed)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        lock_mounts().files.remove(&self.number);
    }
}

/// Removes the prefixes of this file system from a message of GDAL.
pub fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, prefix)) = [PREFIX, RELATIVE]
        .iter()
        .filter_map(|prefix| Some((rest.find(prefix)?, *prefix)))
        .min()
    {
        out.push_str(&rest[..at]);
        rest = rest[at + prefix.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest = rest.strip_prefix('/').unwrap_or(rest);
    }
    out + rest
}

/// Registers the file system with GDAL. Call once per process.
pub fn install() {
    // Safety: the structure is GDAL's own, filled with plain functions and copied by the call; then
    // it is freed.
    unsafe {
        let callbacks = gdal_sys::VSIAllocFilesystemPluginCallbacksStruct();
        if callbacks.is_null() {
            return;
        }
        (*callbacks).stat = Some(stat);
        (*callbacks).open = Some(open);
        (*callbacks).read_dir = Some(read_dir);
        (*callbacks).tell = Some(tell);
        (*callbacks).seek = Some(seek);
        (*callbacks).read = Some(read);
        (*callbacks).read_multi_range = Some(read_multi_range);
        (*callbacks).eof = Some(eof);
        (*callbacks).error = Some(error);
        (*callbacks).clear_err = Some(clear_error);
        (*callbacks).close = Some(close);
        for prefix in [PREFIX_KEPT, RELATIVE_KEPT] {
            if gdal_sys::VSIInstallPluginHandler(prefix.as_ptr(), callbacks) != 0 {
                tracing::warn!("GDAL can't read samples in this build");
            }
        }
        gdal_sys::VSIFreeFilesystemPluginCallbacksStruct(callbacks);
    }
}

/// An open file of GDAL.
struct Handle {
    part: VsiRange,
    position: u64,
    ended: bool,
    failed: bool,
    /// Offset in the part and bytes of the last local read.
    piece: (u64, Vec<u8>),
}

impl Handle {
    fn fail(&mut self, error: Option<Error>) {
        self.failed = true;
        // GDAL caches the result of a failed read, so the dataset must not be reused.
        self.part.failed.store(true, Ordering::Relaxed);
        error.into_iter().for_each(note_fault);
    }

    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let length =
            (buffer.len() as u64).min(self.part.size.saturating_sub(self.position)) as usize;
        self.ended |= length < buffer.len();
        if length == 0 {
            return 0;
        }
        if has_fault() {
            self.fail(None);
            return 0;
        }
        let outcome = match self.part.bytes.clone() {
            RangeBytes::Remote(file) => file
                .read(self.part.start + self.position, length as u64)
                .map(|bytes| {
                    buffer[..length].copy_from_slice(&bytes);
                }),
            RangeBytes::Local(file) => self.read_local(&file, &mut buffer[..length]),
            RangeBytes::Unpacked(data) => read_unpacked(
                &data,
                self.part.start + self.position,
                &mut buffer[..length],
            ),
        };
        match outcome {
            Ok(()) => {
                self.position += length as u64;
                length
            }
            Err(error) => {
                self.fail(Some(error));
                0
            }
        }
    }

    /// Serves short reads from the last piece read.
    fn read_local(&mut self, file: &VsiFile, buffer: &mut [u8]) -> Result<()> {
        let (position, length) = (self.position, buffer.len() as u64);
        let (begins, piece) = &mut self.piece;
        let kept = position >= *begins && position + length <= *begins + piece.len() as u64;
        if !kept {
            if buffer.len() >= PIECE {
                return file.read(self.part.start + position, buffer);
            }
            let most = (PIECE as u64).min(self.part.size - position);
            piece.clear();
            piece.resize(most as usize, 0);
            if let Err(error) = file.read(self.part.start + position, piece) {
                piece.clear();
                return Err(error);
            }
            *begins = position;
        }
        let at = (position - *begins) as usize;
        buffer.copy_from_slice(&piece[at..at + buffer.len()]);
        Ok(())
    }

    /// Reads several ranges of the part, each into its buffer. False when one is outside of the
    /// part or can't be read.
    fn read_ranges(&mut self, ranges: &[(u64, u64)], buffers: &mut [&mut [u8]]) -> bool {
        if has_fault() {
            self.fail(None);
            return false;
        }
        let is_inside = |&(offset, size): &(u64, u64)| self.part.contains(offset, size);
        if !ranges.iter().all(is_inside) {
            return false;
        }
        let places: Vec<(u64, u64)> = ranges
            .iter()
            .map(|&(offset, size)| (self.part.start + offset, size))
            .collect();
        let outcome = match &self.part.bytes {
            RangeBytes::Remote(file) => file.read_ranges(&places).map(|pieces| {
                buffers
                    .iter_mut()
                    .zip(pieces)
                    .for_each(|(buffer, piece)| buffer.copy_from_slice(&piece));
            }),
            RangeBytes::Local(file) => places
                .iter()
                .zip(buffers)
                .try_for_each(|(&(at, _), buffer)| file.read(at, buffer)),
            RangeBytes::Unpacked(data) => places
                .iter()
                .zip(buffers)
                .try_for_each(|(&(at, _), buffer)| read_unpacked(data, at, buffer)),
        };
        if let Err(error) = outcome {
            self.fail(Some(error));
            return false;
        }
        true
    }
}

fn read_unpacked(data: &UnpackedMember, at: u64, buffer: &mut [u8]) -> Result<()> {
    data.read_into(at, buffer)
        .io_at("read the raster", &**data.archive())
}

/// What is at a path below the prefix.
enum AtPath {
    /// A sample or a sibling of one.
    Part(VsiRange),
    /// A file of a store, in the sample that is its archive.
    InStore(VsiRange, FilePlace),
    /// A folder of a store, with its path below the store.
    Folder(Arc<StoreFiles>, String),
}

/// What has exactly this path below the prefix. Other names that drivers try do not exist.
fn at_path(name: *const c_char) -> Option<AtPath> {
    if name.is_null() {
        return None;
    }
    // Safety: GDAL passes a NUL-terminated string that lives during the call.
    let text = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    let (number, file) = text.split_once('/')?;
    let mounts = lock_mounts();
    let files = mounts.files.get(&number.parse().ok()?)?;
    if let Some(part) = files.parts.iter().find(|part| *part.name == *file) {
        return Some(AtPath::Part(part.clone()));
    }
    let store = files.store.as_ref()?;
    let below = file.strip_prefix(STORE)?;
    let below = match below.strip_prefix('/') {
        Some(below) => below.trim_end_matches('/'),
        None if below.is_empty() => "",
        None => return None,
    };
    if let Some(place) = store.file(below) {
        return Some(AtPath::InStore(files.parts.first()?.clone(), place));
    }
    store
        .names_in(below)
        .map(|_| AtPath::Folder(store.clone(), below.to_owned()))
}

/// The file to open at a path.
fn part_at(name: *const c_char) -> Option<VsiRange> {
    match at_path(name)? {
        AtPath::Part(part) => Some(part),
        AtPath::Folder(..) => None,
        AtPath::InStore(part, place) => match data_range(&part, place) {
            Ok((offset, size)) => Some(VsiRange {
                start: part.start + offset,
                size,
                ..part
            }),
            Err(error) => {
                part.failed.store(true, Ordering::Relaxed);
                note_fault(error);
                None
            }
        },
    }
}

impl BytesAt for VsiRange {
    fn size_bytes(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, size: u64) -> Result<Bytes> {
        if !self.contains(offset, size) {
            return Err(Error::format("the file is shorter than its parts"));
        }
        match &self.bytes {
            RangeBytes::Remote(file) => file.read(self.start + offset, size),
            RangeBytes::Local(file) => {
                let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
                file.read(self.start + offset, &mut bytes)?;
                Ok(bytes.into())
            }
            RangeBytes::Unpacked(data) => {
                let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
                read_unpacked(data, self.start + offset, &mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    fn path(&self) -> &Path {
        match &self.bytes {
            RangeBytes::Remote(file) => Path::new(file.text()),
            RangeBytes::Local(file) => &file.path,
            RangeBytes::Unpacked(data) => data.archive(),
        }
    }
}

/// # Safety
/// `file` is null or what [`open`] gave and [`close`] has not taken back.
unsafe fn handle<'a>(file: *mut c_void) -> Option<&'a mut Handle> {
    // Safety: as above; GDAL uses a file from one thread at a time.
    unsafe { file.cast::<Handle>().as_mut() }
}

unsafe extern "C" fn stat(
    _: *mut c_void,
    name: *const c_char,
    buffer: *mut gdal_sys::VSIStatBufL,
    _: c_int,
) -> c_int {
    let found = catch_unwind(|| at_path(name)).ok().flatten();
    let (size, mode) = match found {
        Some(AtPath::Part(part)) => (part.size, FILE_MODE),
        Some(AtPath::InStore(_, place)) => (place.size_bytes(), FILE_MODE),
        Some(AtPath::Folder(..)) => (0, FOLDER_MODE),
        None => return -1,
    };
    if buffer.is_null() {
        return -1;
    }
    // Safety: GDAL passes a structure of its own, cleared before the call.
    unsafe { describe(buffer, size, mode) }
}

/// A regular file that is read.
const FILE_MODE: u32 = 0o100_444;
/// A folder that is read.
const FOLDER_MODE: u32 = 0o040_555;

unsafe extern "C" fn read_dir(
    _: *mut c_void,
    name: *const c_char,
    most: c_int,
) -> *mut *mut c_char {
    let found = catch_unwind(|| at_path(name)).ok().flatten();
    let Some(AtPath::Folder(store, folder)) = found else {
        return std::ptr::null_mut();
    };
    let names = store.names_in(&folder).unwrap_or_default();
    // GDAL requests one more than it needs; 0 and less are all.
    let most = usize::try_from(most).ok().filter(|most| *most > 0);
    let mut list = std::ptr::null_mut();
    for name in names.iter().take(most.map_or(usize::MAX, |most| most + 1)) {
        if let Ok(name) = CString::new(&**name) {
            // Safety: appends a copy of a C string to a list of GDAL's, which the caller frees.
            list = unsafe { gdal_sys::CSLAddString(list, name.as_ptr()) };
        }
    }
    list
}

/// Writes size and file type into GDAL's stat structure. The bindings leave the structure opaque;
/// on 64-bit Unix it equals `struct stat`. On other systems stat fails, so the few drivers that
/// need it before opening do not see the file.
///
/// # Safety
/// `buffer` points to a writable `struct stat` of the system.
#[cfg(all(unix, target_pointer_width = "64"))]
unsafe fn describe(buffer: *mut gdal_sys::VSIStatBufL, size: u64, mode: u32) -> c_int {
    let stat = buffer.cast::<rustix::fs::Stat>();
    // Safety: as above.
    unsafe {
        (&raw mut (*stat).st_size).write(size as _);
        (&raw mut (*stat).st_mode).write(mode as _);
    }
    0
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
unsafe fn describe(_: *mut gdal_sys::VSIStatBufL, _: u64, _: u32) -> c_int {
    -1
}

unsafe extern "C" fn open(
    _: *mut c_void,
    name: *const c_char,
    access: *const c_char,
) -> *mut c_void {
    let writes = !access.is_null() && {
        // Safety: a NUL-terminated string that lives during the call.
        let access = unsafe { CStr::from_ptr(access) }.to_bytes();
        access.iter().any(|letter| b"wa+".contains(letter))
    };
    let part = catch_unwind(|| part_at(name))
        .ok()
        .flatten()
        .filter(|_| !writes);
    match part {
        Some(part) => Box::into_raw(Box::new(Handle {
            part,
            position: 0,
            ended: false,
            failed: false,
            piece: (0, Vec::new()),
        }))
        .cast(),
        None => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn tell(file: *mut c_void) -> gdal_sys::vsi_l_offset {
    // Safety: GDAL gives back what `open` gave it.
    unsafe { handle(file) }.map_or(0, |handle| handle.position)
}

unsafe extern "C" fn seek(file: *mut c_void, offset: gdal_sys::vsi_l_offset, from: c_int) -> c_int {
    // Safety: as above.
    let Some(handle) = (unsafe { handle(file) }) else {
        return -1;
    };
    let position = match from {
        0 => Some(offset),
        // Negative offsets arrive as two's complement.
        1 => Some(handle.position.wrapping_add(offset)),
        2 => Some(handle.part.size.wrapping_add(offset)),
        _ => None,
    };
    let Some(position) = position else { return -1 };
    handle.position = position;
    handle.ended = false;
    0
}

unsafe extern "C" fn read(
    file: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    count: usize,
) -> usize {
    let Some(length) = size
        .checked_mul(count)
        .filter(|length| *length > 0 && !buffer.is_null())
    else {
        return 0;
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // Safety: as above; the buffer has `size * count` bytes.
        let (handle, buffer) = unsafe {
            (
                handle(file),
                std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length),
            )
        };
        handle.map_or(0, |handle| handle.read(buffer))
    }));
    outcome.unwrap_or(0) / size
}

unsafe extern "C" fn read_multi_range(
    file: *mut c_void,
    count: c_int,
    buffers: *mut *mut c_void,
    offsets: *const gdal_sys::vsi_l_offset,
    sizes: *const usize,
) -> c_int {
    let count = usize::try_from(count).unwrap_or_default();
    // Empty arrays may be null, which `from_raw_parts` does not allow.
    if count == 0 {
        return 0;
    }
    if file.is_null() || buffers.is_null() || offsets.is_null() || sizes.is_null() {
        return -1;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // Safety: as above; the three arrays have `count` entries and are not null.
        let (handle, buffers, offsets, sizes) = unsafe {
            (
                handle(file),
                std::slice::from_raw_parts(buffers, count),
                std::slice::from_raw_parts(offsets, count),
                std::slice::from_raw_parts(sizes, count),
            )
        };
        let Some(handle) = handle else { return false };
        let (mut ranges, mut slices) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for ((&buffer, &offset), &size) in buffers.iter().zip(offsets).zip(sizes) {
            if size == 0 {
                continue;
            }
            if buffer.is_null() {
                return false;
            }
            ranges.push((offset, size as u64));
            // Safety: each buffer has the size in the same entry of `sizes`, and no two overlap.
            slices.push(unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size) });
        }
        ranges.is_empty() || handle.read_ranges(&ranges, &mut slices)
    }));
    if outcome.unwrap_or(false) { 0 } else { -1 }
}

unsafe extern "C" fn eof(file: *mut c_void) -> c_int {
    // Safety: as above.
    unsafe { handle(file) }.map_or(1, |handle| c_int::from(handle.ended))
}

unsafe extern "C" fn error(file: *mut c_void) -> c_int {
    // Safety: as above.
    unsafe { handle(file) }.map_or(1, |handle| c_int::from(handle.failed))
}

unsafe extern "C" fn clear_error(file: *mut c_void) {
    // Safety: as above.
    if let Some(handle) = unsafe { handle(file) } {
        (handle.failed, handle.ended) = (false, false);
    }
}

unsafe extern "C" fn close(file: *mut c_void) -> c_int {
    if !file.is_null() {
        // Safety: made by `open`, and freed once.
        drop(unsafe { Box::from_raw(file.cast::<Handle>()) });
    }
    0
}
