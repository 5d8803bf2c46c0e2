//! The C library: functions of `include/taco_studio.h` over [`taco_studio::binding`]. A panic
//! becomes an error, so that none unwinds into C.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow::array::RecordBatchIterator;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use serde_json::Value as Json;
use taco_studio::binding::{DatasetHandle, PixelRequest, SampleRow, operate};
use taco_studio::consent::{self, ConsentRoute};
use taco_studio::container::OpenOptions;
use taco_studio::error::{Error, Result};
use taco_studio::jobs::{JobContext, panic_error};
use taco_studio::model::SampleKind;
use taco_studio::ops::AnyOperation;
use taco_studio::query::Query;
use taco_studio::table::LevelTable;

/// Size of the header before each piece of memory that is given out: its length, aligned for every
/// value of C.
const HEADER: usize = 16;

thread_local! {
    static LAST_ERROR: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// `taco_sample`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SampleHandle {
    level: u32,
    row: u32,
}

/// `taco_pixels`.
#[repr(C)]
pub struct PixelMemory {
    shape: [usize; 3],
    dtype: *const c_char,
    values: *mut u8,
    bytes: usize,
    valid: *mut u8,
}

/// Runs `work`, and keeps its error for [`taco_last_error`]. `None` on failure.
fn attempt<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(panic_error("the call", panic.as_ref())));
    let (value, error) = match outcome {
        Ok(value) => (Some(value), None),
        Err(error) => (None, CString::new(error.to_json().to_string()).ok()),
    };
    LAST_ERROR.with_borrow_mut(|last| *last = error);
    value
}

fn code(done: Option<()>) -> c_int {
    if done.is_some() { 0 } else { -1 }
}

/// The text at `pointer`.
///
/// # Safety
/// `pointer` is null or the beginning of a text that ends in a zero byte.
unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Error::usage(format!("{what} is NULL")));
    }
    // Safety: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }
        .to_str()
        .map_err(|error| Error::usage(format!("{what} is not UTF-8")).because(error))
}

/// The JSON value at `pointer`; the default where it is null.
///
/// # Safety
/// As [`text`].
unsafe fn json_or_default<T: serde::de::DeserializeOwned + Default>(
    pointer: *const c_char,
    what: &str,
) -> Result<T> {
    if pointer.is_null() {
        return Ok(T::default());
    }
    // Safety: as the caller promises.
    let text = unsafe { text(pointer, what) }?;
    serde_json::from_str(text)
        .map_err(|error| Error::usage(format!("{what} can't be read")).because(error))
}

/// The dataset at `pointer`.
///
/// # Safety
/// `pointer` is null or of [`taco_open`], and not closed.
unsafe fn dataset<'a>(pointer: *const DatasetHandle) -> Result<&'a DatasetHandle> {
    // Safety: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| Error::usage("dataset is NULL"))
}

/// The row of a handle, which must be of this dataset.
fn row(open: &DatasetHandle, sample: SampleHandle) -> Result<SampleRow> {
    let row = SampleRow {
        level: sample.level as usize,
        row: sample.row,
    };
    if open.has(row) {
        Ok(row)
    } else {
        Err(Error::usage(format!(
            "level {} has no row {}",
            sample.level, sample.row
        )))
    }
}

/// Memory with these bytes, for [`taco_free`]; null when there is none left.
fn given(bytes: &[u8]) -> Result<*mut u8> {
    let length = HEADER + bytes.len();
    let layout = std::alloc::Layout::from_size_align(length, HEADER)
        .map_err(|error| Error::too_large("the result is too long").because(error))?;
    // Safety: the size is not zero; the header and the bytes are within it.
    unsafe {
        let start = std::alloc::alloc(layout);
        if start.is_null() {
            return Err(Error::too_large(format!(
                "there is no memory for {length} bytes"
            )));
        }
        start.cast::<usize>().write(length);
        let place = start.add(HEADER);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        Ok(place)
    }
}

/// A text for [`taco_free`].
fn given_text(text: &str) -> Result<*mut c_char> {
    let text = CString::new(text)
        .map_err(|error| Error::internal("a text has a zero byte").because(error))?;
    Ok(given(text.as_bytes_with_nul())?.cast())
}

fn text_or_null(work: impl FnOnce() -> Result<String>) -> *mut c_char {
    attempt(|| given_text(&work()?)).unwrap_or(std::ptr::null_mut())
}

/// Writes `value` to `place`.
///
/// # Safety
/// `place` is null or memory for a `T`.
unsafe fn put<T>(place: *mut T, value: T, what: &str) -> Result<()> {
    if place.is_null() {
        return Err(Error::usage(format!("{what} is NULL")));
    }
    // Safety: as the caller promises. What is there is not dropped, as it may not be initialised.
    unsafe { place.write(value) };
    Ok(())
}

/// A table as a stream.
fn stream_of(table: &LevelTable) -> FFI_ArrowArrayStream {
    let batches: Vec<_> = table.batches().iter().cloned().map(Ok).collect();
    FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(
        batches,
        table.schema().clone(),
    )))
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn taco_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// The reason of the last failure on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn taco_last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| {
        last.as_ref()
            .map_or(std::ptr::null(), |error| error.as_ptr())
    })
}

/// Frees a text or bytes.
///
/// # Safety
/// `memory` is null or was given out by a function of this library, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_free(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // Safety: `given` wrote the length in front of what it gave out.
    unsafe {
        let start = memory.cast::<u8>().sub(HEADER);
        let length = start.cast::<usize>().read();
        std::alloc::dealloc(
            start,
            std::alloc::Layout::from_size_align_unchecked(length, HEADER),
        );
    }
}

/// Opens a dataset.
///
/// # Safety
/// Texts are null or end in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_open(
    path: *const c_char,
    options: *const c_char,
) -> *mut DatasetHandle {
    attempt(|| {
        // Safety: as the caller promises.
        let (path, options) = unsafe {
            (
                text(path, "path")?,
                json_or_default::<OpenOptions>(options, "options")?,
            )
        };
        let open = DatasetHandle::open(Path::new(path), &options, &JobContext::default())?;
        Ok(Box::into_raw(Box::new(open)))
    })
    .unwrap_or(std::ptr::null_mut())
}

/// Closes a dataset.
///
/// # Safety
/// `dataset` is null or of [`taco_open`], and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_close(dataset: *mut DatasetHandle) {
    if !dataset.is_null() {
        // Safety: as the caller promises.
        let _ = attempt(|| {
            drop(unsafe { Box::from_raw(dataset) });
            Ok(())
        });
    }
}

/// Describes a dataset.
///
/// # Safety
/// `open` is of [`taco_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_describe(open: *const DatasetHandle) -> *mut c_char {
    // Safety: as the caller promises.
    text_or_null(|| Ok(unsafe { dataset(open) }?.description().to_string()))
}

/// Number of levels.
///
/// # Safety
/// `open` is of [`taco_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_levels(open: *const DatasetHandle) -> c_int {
    // Safety: as the caller promises.
    let levels = attempt(|| Ok(unsafe { dataset(open) }?.levels()));
    levels
        .and_then(|levels| c_int::try_from(levels).ok())
        .unwrap_or(-1)
}

/// The table of a level.
///
/// # Safety
/// `open` is of [`taco_open`], `stream` memory for a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_table(
    open: *const DatasetHandle,
    level: u32,
    stream: *mut FFI_ArrowArrayStream,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let table = unsafe { dataset(open) }?.table(level as usize, &JobContext::default())?;
        // Safety: as the caller promises.
        unsafe { put(stream, stream_of(&table), "stream") }
    }))
}

/// The rows of a query.
///
/// # Safety
/// `open` is of [`taco_open`], `query` a text, `stream` memory for a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_query(
    open: *const DatasetHandle,
    query: *const c_char,
    stream: *mut FFI_ArrowArrayStream,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let (open, query) = unsafe { (dataset(open)?, json_or_default::<Query>(query, "query")?) };
        let table = open.query(&query, &JobContext::default())?;
        // Safety: as the caller promises.
        unsafe { put(stream, stream_of(&table), "stream") }
    }))
}

/// The sample at a path.
///
/// # Safety
/// `open` is of [`taco_open`], `path` a text, `sample` memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_find(
    open: *const DatasetHandle,
    path: *const c_char,
    sample: *mut SampleHandle,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let found = unsafe { dataset(open)?.find(text(path, "path")?) }?;
        // Safety: as the caller promises.
        unsafe { put(sample, handle(found), "sample") }
    }))
}

fn handle(row: SampleRow) -> SampleHandle {
    SampleHandle {
        level: u32::try_from(row.level).unwrap_or(u32::MAX),
        row: row.row,
    }
}

/// The samples of level 0, or of a FOLDER.
///
/// # Safety
/// `open` is of [`taco_open`]; `folder` is null or a handle; `samples` and `count` are memory for a
/// pointer and a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_children(
    open: *const DatasetHandle,
    folder: *const SampleHandle,
    samples: *mut *mut SampleHandle,
    count: *mut usize,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let (open, folder) = unsafe { (dataset(open)?, folder.as_ref()) };
        let folder = folder.map(|folder| row(open, *folder)).transpose()?;
        let children: Vec<u8> = open
            .children(folder)
            .into_iter()
            .map(handle)
            .flat_map(|child| [child.level, child.row].map(u32::to_ne_bytes))
            .flatten()
            .collect();
        // Safety: as the caller promises.
        unsafe {
            put(count, children.len() / size_of::<SampleHandle>(), "count")?;
            put(samples, given(&children)?.cast(), "samples")
        }
    }))
}

/// The id of a sample.
///
/// # Safety
/// `open` is of [`taco_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_id(open: *const DatasetHandle, sample: SampleHandle) -> *mut c_char {
    text_or_null(|| {
        // Safety: as the caller promises.
        let open = unsafe { dataset(open) }?;
        Ok(open.id(row(open, sample)?).to_owned())
    })
}

/// True for a FOLDER.
///
/// # Safety
/// `open` is of [`taco_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_is_folder(open: *const DatasetHandle, sample: SampleHandle) -> c_int {
    let kind = attempt(|| {
        // Safety: as the caller promises.
        let open = unsafe { dataset(open) }?;
        Ok(open.kind(row(open, sample)?))
    });
    kind.map_or(-1, |kind| c_int::from(kind == SampleKind::Folder))
}

/// The path by which GDAL reads a sample.
///
/// # Safety
/// `open` is of [`taco_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_gdal_path(
    open: *const DatasetHandle,
    sample: SampleHandle,
) -> *mut c_char {
    text_or_null(|| {
        // Safety: as the caller promises.
        let open = unsafe { dataset(open) }?;
        open.gdal_path(row(open, sample)?)
    })
}

/// The bytes of a FILE.
///
/// # Safety
/// `open` is of [`taco_open`]; `bytes` and `size` are memory for a pointer and a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_read(
    open: *const DatasetHandle,
    sample: SampleHandle,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let open = unsafe { dataset(open) }?;
        let read = open.read(row(open, sample)?, &JobContext::default())?;
        // Safety: as the caller promises.
        unsafe {
            put(size, read.len(), "size")?;
            put(bytes, given(&read)?, "bytes")
        }
    }))
}

/// Pixels of the raster in a FILE.
///
/// # Safety
/// `open` is of [`taco_open`]; `request` is null or a text; `pixels` is memory for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_read_pixels(
    open: *const DatasetHandle,
    sample: SampleHandle,
    request: *const c_char,
    pixels: *mut PixelMemory,
) -> c_int {
    code(attempt(|| {
        // Safety: as the caller promises.
        let (open, request) = unsafe {
            (
                dataset(open)?,
                json_or_default::<PixelRequest>(request, "request")?,
            )
        };
        if pixels.is_null() {
            return Err(Error::usage("pixels is NULL"));
        }
        let array = open.pixels(row(open, sample)?, &request, &JobContext::default())?;
        let valid = array
            .valid
            .as_deref()
            .map(given)
            .transpose()?
            .unwrap_or(std::ptr::null_mut());
        let dtype = array.dtype.as_ptr();
        let (values, bytes) = (given(&array.bytes)?, array.bytes.len());
        // Safety: as the caller promises.
        unsafe {
            put(
                pixels,
                PixelMemory {
                    shape: array.shape,
                    dtype,
                    values,
                    bytes,
                    valid,
                },
                "pixels",
            )
        }
    }))
}

/// Name, purpose and request of each operation.
#[unsafe(no_mangle)]
pub extern "C" fn taco_operations() -> *mut c_char {
    text_or_null(|| {
        serde_json::to_string(&AnyOperation::descriptions())
            .map_err(|error| Error::internal("the list can't be written").because(error))
    })
}

/// Runs an operation by name.
///
/// # Safety
/// Texts end in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taco_operate(name: *const c_char, request: *const c_char) -> *mut c_char {
    text_or_null(|| {
        // Safety: as the caller promises.
        let (name, request) = unsafe {
            (
                text(name, "name")?,
                json_or_default::<Json>(request, "request")?,
            )
        };
        consent::set_route(ConsentRoute::Library);
        Ok(operate(name, request, &JobContext::default())?.to_string())
    })
}

/// Lets operations start programs.
#[unsafe(no_mangle)]
pub extern "C" fn taco_allow_programs() {
    consent::allow_all_programs();
}

/// Lets operations write to other machines.
#[unsafe(no_mangle)]
pub extern "C" fn taco_allow_connect() {
    consent::allow_connect();
}
