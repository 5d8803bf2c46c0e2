//! Files of other machines as GDAL sees them: `/vsitaco/NUMBER/NAME` reads through [`RemoteFile`], so that pixels come with the same
//! credentials, retries, cache and meter as everything else, in few requests, and without listing, probing or HEAD. Must never let
//! a panic out, and never reads what GDAL did not ask for but a little ahead.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::model::AssetPath;
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile};

/// What GDAL's paths to these files begin with.
const PREFIX: &str = "/vsitaco/";
/// The same for GDAL, which keeps the pointer and not the text.
const PREFIX_KEPT: &CStr = c"/vsitaco/";
/// Samples up to this size come whole with the first request.
const WHOLE: u64 = 1 << 20;
/// Of larger ones, the beginning: headers and the directories of tiles.
const HEADER: u64 = 128 << 10;

/// A range of a remote file.
#[derive(Clone)]
struct Part {
    file: Arc<RemoteFile>,
    start: u64,
    size: u64,
}

static PARTS: Mutex<Option<HashMap<u64, Part>>> = Mutex::new(None);
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// What the last read of this thread failed with. Until it is taken, GDAL's further tries fail at once: each would wait again.
    static FAULT: RefCell<Option<Error>> = const { RefCell::new(None) };
}

fn parts() -> MutexGuard<'static, Option<HashMap<u64, Part>>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error that made GDAL fail on this thread, once.
pub fn take_fault() -> Option<Error> {
    FAULT.try_with(|fault| fault.take()).ok().flatten()
}

fn note(error: Error) {
    let _ = FAULT.try_with(|fault| fault.replace(Some(error)));
}

/// True while there is such an error.
pub fn has_fault() -> bool {
    FAULT.try_with(|fault| fault.borrow().is_some()).unwrap_or(false)
}

/// Where the bytes of a remote asset are: its file as it was opened with the dataset, first byte, length.
pub struct Place {
    /// The file.
    pub file: Arc<RemoteFile>,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// The place of a remote asset; `None` for assets of this machine. A range outside its file is an error.
pub fn place_of(asset: &AssetPath) -> Result<Option<Place>> {
    let Some(path) = asset.remote_file() else { return Ok(None) };
    let (file, start, size) = match asset {
        AssetPath::Range { offset, size, .. } => (RemoteFile::shared(path, *offset, first_of(*size))?, *offset, *size),
        _ => {
            let file = RemoteFile::shared(path, 0, FIRST_OF_SAMPLE)?;
            let size = file.size_bytes();
            (file, 0, size)
        }
    };
    Ok(Some(Place { file, start, size }))
}

fn first_of(size: u64) -> u64 {
    if size <= WHOLE { size } else { HEADER }
}

/// A remote file under a path of GDAL, for as long as this is alive.
pub struct Mounted {
    number: u64,
    path: String,
}

impl Mounted {
    /// Gives the place a path; its beginning, or all of a small one, is brought first.
    pub fn new(place: &Place, asset: &AssetPath) -> Result<Self> {
        place.file.read_ranges(&[(place.start, first_of(place.size))])?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let part = Part { file: place.file.clone(), start: place.start, size: place.size };
        parts().get_or_insert_default().insert(number, part);
        // Some drivers look at the name.
        let name = match asset {
            AssetPath::File(path) => Path::new(&**path).file_name().map(|name| name.to_string_lossy().into_owned()),
            _ => None,
        };
        Ok(Self { number, path: format!("{PREFIX}{number}/{}", name.unwrap_or_else(|| "sample".into())) })
    }

    /// The path for GDAL.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// True when the bytes come from this open file, not from an earlier one of the same address.
    pub fn reads(&self, file: &Arc<RemoteFile>) -> bool {
        parts().as_ref().and_then(|parts| parts.get(&self.number)).is_some_and(|part| Arc::ptr_eq(&part.file, file))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(parts) = parts().as_mut() {
            parts.remove(&self.number);
        }
    }
}

/// Tells GDAL of the prefix. Once per process.
pub fn install() {
    // Safety: the structure is GDAL's own, filled with plain functions and copied by the call; then it is freed.
    unsafe {
        let callbacks = gdal_sys::VSIAllocFilesystemPluginCallbacksStruct();
        if callbacks.is_null() {
            return;
        }
        (*callbacks).stat = Some(stat);
        (*callbacks).open = Some(open);
        (*callbacks).tell = Some(tell);
        (*callbacks).seek = Some(seek);
        (*callbacks).read = Some(read);
        (*callbacks).read_multi_range = Some(read_multi_range);
        (*callbacks).eof = Some(eof);
        (*callbacks).error = Some(error);
        (*callbacks).clear_err = Some(clear_error);
        (*callbacks).close = Some(close);
        if gdal_sys::VSIInstallPluginHandler(PREFIX_KEPT.as_ptr(), callbacks) != 0 {
            tracing::warn!("GDAL can't read remote files in this build");
        }
        gdal_sys::VSIFreeFilesystemPluginCallbacksStruct(callbacks);
    }
}

/// An open file of GDAL.
struct Handle {
    part: Part,
    position: u64,
    ended: bool,
    failed: bool,
}

impl Handle {
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let length = (buffer.len() as u64).min(self.part.size.saturating_sub(self.position)) as usize;
        self.ended |= length < buffer.len();
        if length == 0 {
            return 0;
        }
        if has_fault() {
            self.failed = true;
            return 0;
        }
        match self.part.file.read(self.part.start + self.position, length as u64) {
            Ok(bytes) => {
                buffer[..length].copy_from_slice(&bytes);
                self.position += length as u64;
                length
            }
            Err(error) => {
                self.failed = true;
                note(error);
                0
            }
        }
    }

    fn read_ranges(&mut self, ranges: &[(u64, u64)]) -> Option<Vec<bytes::Bytes>> {
        if has_fault() {
            self.failed = true;
            return None;
        }
        let inside = |&(offset, size): &(u64, u64)| offset.checked_add(size).is_some_and(|end| end <= self.part.size);
        if !ranges.iter().all(inside) {
            return None;
        }
        let places: Vec<(u64, u64)> = ranges.iter().map(|&(offset, size)| (self.part.start + offset, size)).collect();
        match self.part.file.read_ranges(&places) {
            Ok(pieces) => Some(pieces),
            Err(error) => {
                self.failed = true;
                note(error);
                None
            }
        }
    }
}

/// The part that a path behind the prefix names, exactly: what drivers try beside it is not there.
fn part_at(name: *const c_char) -> Option<Part> {
    if name.is_null() {
        return None;
    }
    // Safety: GDAL passes a NUL-terminated string that lives during the call.
    let text = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    let (number, file) = text.split_once('/')?;
    let part = parts().as_ref()?.get(&number.parse().ok()?).cloned()?;
    // The name of a sample's own file, or the word for a range.
    let own = Path::new(part.file.text()).file_name().is_some_and(|name| name.to_str() == Some(file));
    (own || file == "sample").then_some(part)
}

/// # Safety
/// `file` is null or what [`open`] gave and [`close`] has not taken back.
unsafe fn handle<'a>(file: *mut c_void) -> Option<&'a mut Handle> {
    // Safety: as above; GDAL uses a file from one thread at a time.
    unsafe { file.cast::<Handle>().as_mut() }
}

unsafe extern "C" fn stat(_: *mut c_void, name: *const c_char, buffer: *mut gdal_sys::VSIStatBufL, _: c_int) -> c_int {
    let found = catch_unwind(|| part_at(name)).ok().flatten();
    match found {
        Some(part) if !buffer.is_null() => {
            // Safety: GDAL passes a structure of its own, cleared before the call.
            unsafe { describe(buffer, part.size) }
        }
        _ => -1,
    }
}

/// Length and kind of a file. The bindings leave the system's structure open; where offsets of files have 64 bits by nature, it is
/// the one that we know. Elsewhere files have no length for those few drivers that ask before they open.
///
/// # Safety
/// `buffer` points at a `struct stat` of the system that may be written.
#[cfg(all(unix, target_pointer_width = "64"))]
unsafe fn describe(buffer: *mut gdal_sys::VSIStatBufL, size: u64) -> c_int {
    let stat = buffer.cast::<rustix::fs::Stat>();
    // Safety: as above.
    unsafe {
        (&raw mut (*stat).st_size).write(size as _);
        (&raw mut (*stat).st_mode).write(0o100_444);
    }
    0
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
unsafe fn describe(_: *mut gdal_sys::VSIStatBufL, _: u64) -> c_int {
    -1
}

unsafe extern "C" fn open(_: *mut c_void, name: *const c_char, access: *const c_char) -> *mut c_void {
    let writes = !access.is_null() && {
        // Safety: a NUL-terminated string that lives during the call.
        let access = unsafe { CStr::from_ptr(access) }.to_bytes();
        access.iter().any(|letter| b"wa+".contains(letter))
    };
    let part = catch_unwind(|| part_at(name)).ok().flatten().filter(|_| !writes);
    match part {
        Some(part) => Box::into_raw(Box::new(Handle { part, position: 0, ended: false, failed: false })).cast(),
        None => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn tell(file: *mut c_void) -> gdal_sys::vsi_l_offset {
    // Safety: GDAL gives back what `open` gave it.
    unsafe { handle(file) }.map_or(0, |handle| handle.position)
}

unsafe extern "C" fn seek(file: *mut c_void, offset: gdal_sys::vsi_l_offset, from: c_int) -> c_int {
    // Safety: as above.
    let Some(handle) = (unsafe { handle(file) }) else { return -1 };
    let position = match from {
        0 => Some(offset),
        // Backward steps arrive as very large numbers.
        1 => Some(handle.position.wrapping_add(offset)),
        2 => Some(handle.part.size.wrapping_add(offset)),
        _ => None,
    };
    let Some(position) = position else { return -1 };
    handle.position = position;
    handle.ended = false;
    0
}

unsafe extern "C" fn read(file: *mut c_void, buffer: *mut c_void, size: usize, count: usize) -> usize {
    let Some(length) = size.checked_mul(count).filter(|length| *length > 0 && !buffer.is_null()) else { return 0 };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // Safety: as above; the buffer has room for all that is asked.
        let (handle, buffer) = unsafe { (handle(file), std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length)) };
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
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // Safety: as above; the three lists have `count` entries, and each buffer the size that stands with it.
        unsafe {
            let Some(handle) = handle(file) else { return false };
            let sizes = std::slice::from_raw_parts(sizes, count);
            let ranges: Vec<(u64, u64)> =
                std::slice::from_raw_parts(offsets, count).iter().zip(sizes).map(|(o, s)| (*o, *s as u64)).collect();
            let Some(pieces) = handle.read_ranges(&ranges) else { return false };
            for (buffer, piece) in std::slice::from_raw_parts(buffers, count).iter().zip(pieces) {
                std::ptr::copy_nonoverlapping(piece.as_ptr(), buffer.cast::<u8>(), piece.len());
            }
        }
        true
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
        // Safety: what `open` made, taken back once.
        drop(unsafe { Box::from_raw(file.cast::<Handle>()) });
    }
    0
}
