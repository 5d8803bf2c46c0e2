//! The files that PROJ may open: those of the folders in PROJ_DATA and PROJ_LIB. Everything else is
//! in the database that is linked in. PROJ reads init files while it parses a coordinate system,
//! which GDAL's drivers let it do with the texts of raster files; grids are read by
//! transformations.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_ulonglong, c_void};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Restricts PROJ to the files of `folders`, in all threads. To be called before GDAL uses PROJ:
/// contexts are made from the default one, which passes its finder on; the finder sets the
/// restriction before the first file of a context is opened. GDAL's contexts look for `proj.ini`
/// when they are made.
pub(super) fn restrict(folders: Vec<PathBuf>) {
    // Never freed: every context of the process passes them to the functions below.
    let folders: *mut c_void = Box::into_raw(Box::new(folders)).cast();
    // Safety: the default context exists always; the functions are static, and the table is
    // copied.
    unsafe {
        proj_context_set_file_finder(std::ptr::null_mut(), Some(find_nothing), folders);
        proj_context_set_fileapi(std::ptr::null_mut(), &FUNCTIONS, folders);
    }
}

/// True for a file directly in one of the folders.
fn is_directly_in(path: &Path, folders: &[PathBuf]) -> bool {
    path.file_name().is_some()
        && path
            .parent()
            .is_some_and(|parent| folders.iter().any(|folder| folder == parent))
}

#[repr(C)]
struct ProjContext {
    _opaque: [u8; 0],
}

type ProjFileFinder =
    unsafe extern "C" fn(*mut ProjContext, *const c_char, *mut c_void) -> *const c_char;

/// PROJ's `PROJ_FILE_API`, version 1.
#[repr(C)]
struct ProjFileFunctions {
    version: c_int,
    open: unsafe extern "C" fn(*mut ProjContext, *const c_char, c_int, *mut c_void) -> *mut c_void,
    read: unsafe extern "C" fn(
        *mut ProjContext,
        *mut c_void,
        *mut c_void,
        usize,
        *mut c_void,
    ) -> usize,
    write: unsafe extern "C" fn(
        *mut ProjContext,
        *mut c_void,
        *const c_void,
        usize,
        *mut c_void,
    ) -> usize,
    seek: unsafe extern "C" fn(
        *mut ProjContext,
        *mut c_void,
        c_longlong,
        c_int,
        *mut c_void,
    ) -> c_int,
    tell: unsafe extern "C" fn(*mut ProjContext, *mut c_void, *mut c_void) -> c_ulonglong,
    close: unsafe extern "C" fn(*mut ProjContext, *mut c_void, *mut c_void),
    exists: unsafe extern "C" fn(*mut ProjContext, *const c_char, *mut c_void) -> c_int,
    make_folder: unsafe extern "C" fn(*mut ProjContext, *const c_char, *mut c_void) -> c_int,
    remove: unsafe extern "C" fn(*mut ProjContext, *const c_char, *mut c_void) -> c_int,
    rename:
        unsafe extern "C" fn(*mut ProjContext, *const c_char, *const c_char, *mut c_void) -> c_int,
}

unsafe extern "C" {
    fn proj_context_set_file_finder(
        context: *mut ProjContext,
        finder: Option<ProjFileFinder>,
        data: *mut c_void,
    );
    fn proj_context_set_fileapi(
        context: *mut ProjContext,
        functions: *const ProjFileFunctions,
        data: *mut c_void,
    ) -> c_int;
}

const FUNCTIONS: ProjFileFunctions = ProjFileFunctions {
    version: 1,
    open: open_allowed,
    read: read_file,
    write: refuse_write,
    seek: seek_file,
    tell: tell_position,
    close: close_file,
    exists: path_exists,
    make_folder: refuse_path,
    remove: refuse_path,
    rename: refuse_rename,
};

/// Finds nothing, and restricts the context that asks.
unsafe extern "C" fn find_nothing(
    context: *mut ProjContext,
    _name: *const c_char,
    folders: *mut c_void,
) -> *const c_char {
    // Safety: PROJ passes the context in use; the table is static and copied.
    unsafe { proj_context_set_fileapi(context, &FUNCTIONS, folders) };
    std::ptr::null()
}

/// The path that PROJ passes, if it may be read.
///
/// # Safety
/// `name` is NULL or a C string; `folders` is NULL or what [`restrict`] set.
unsafe fn allowed_path(name: *const c_char, folders: *const c_void) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // Safety: see above; the folders are not changed.
    let (name, folders) = unsafe {
        (
            CStr::from_ptr(name),
            folders.cast::<Vec<PathBuf>>().as_ref()?,
        )
    };
    let path = PathBuf::from(name.to_str().ok()?);
    is_directly_in(&path, folders).then_some(path)
}

unsafe extern "C" fn open_allowed(
    _: *mut ProjContext,
    name: *const c_char,
    access: c_int,
    folders: *mut c_void,
) -> *mut c_void {
    /// `PROJ_OPEN_ACCESS_READ_ONLY`.
    const READ_ONLY: c_int = 0;
    // Safety: PROJ passes a C string, and the folders of `restrict`.
    let path =
        unsafe { allowed_path(name, folders) }.filter(|path| access == READ_ONLY && path.is_file());
    match path.and_then(|path| crate::files::open(&path).ok()) {
        Some(file) => Box::into_raw(Box::new(file)).cast(),
        None => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn read_file(
    _: *mut ProjContext,
    file: *mut c_void,
    into: *mut c_void,
    size: usize,
    _: *mut c_void,
) -> usize {
    // Safety: a file of `open`, and a buffer of `size` bytes that nobody else uses.
    let (file, buffer) = unsafe {
        (
            &mut *file.cast::<File>(),
            std::slice::from_raw_parts_mut(into.cast::<u8>(), size),
        )
    };
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    done
}

unsafe extern "C" fn refuse_write(
    _: *mut ProjContext,
    _: *mut c_void,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
) -> usize {
    0
}

unsafe extern "C" fn seek_file(
    _: *mut ProjContext,
    file: *mut c_void,
    offset: c_longlong,
    from: c_int,
    _: *mut c_void,
) -> c_int {
    // Safety: a file of `open`.
    let file = unsafe { &mut *file.cast::<File>() };
    // SEEK_SET, SEEK_CUR and SEEK_END of the C library.
    let to = match from {
        0 => u64::try_from(offset).ok().map(SeekFrom::Start),
        1 => Some(SeekFrom::Current(offset)),
        2 => Some(SeekFrom::End(offset)),
        _ => None,
    };
    c_int::from(to.is_some_and(|to| file.seek(to).is_ok()))
}

unsafe extern "C" fn tell_position(
    _: *mut ProjContext,
    file: *mut c_void,
    _: *mut c_void,
) -> c_ulonglong {
    // Safety: a file of `open`.
    unsafe { &mut *file.cast::<File>() }
        .stream_position()
        .unwrap_or_default()
}

unsafe extern "C" fn close_file(_: *mut ProjContext, file: *mut c_void, _: *mut c_void) {
    // Safety: a file of `open`, closed once.
    drop(unsafe { Box::from_raw(file.cast::<File>()) });
}

unsafe extern "C" fn path_exists(
    _: *mut ProjContext,
    name: *const c_char,
    folders: *mut c_void,
) -> c_int {
    // Safety: PROJ passes a C string, and the folders of `restrict`.
    c_int::from(unsafe { allowed_path(name, folders) }.is_some_and(|path| path.exists()))
}

unsafe extern "C" fn refuse_path(_: *mut ProjContext, _: *const c_char, _: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn refuse_rename(
    _: *mut ProjContext,
    _: *const c_char,
    _: *const c_char,
    _: *mut c_void,
) -> c_int {
    0
}

#[cfg(test)]
mod tests {
    use gdal::spatial_ref::SpatialRef;

    use super::*;
    use crate::raster::{environment, gdal_errors};

    /// Below the check of texts, and on new threads, which have contexts of their own.
    #[test]
    fn proj_reads_no_init_file_that_a_text_names() {
        environment::init();
        let folder = tempfile::tempdir().expect("a folder");
        let systems = folder.path().join("systems");
        std::fs::write(
            &systems,
            "<utm> +proj=utm +zone=18 +datum=WGS84 +type=crs <>\n",
        )
        .expect("written");
        let definition = format!("+init={}:utm", systems.display());
        for _ in 0..2 {
            let definition = definition.clone();
            let known = std::thread::spawn(move || {
                gdal_errors::listen(|| SpatialRef::from_proj4(&definition).is_ok()).0
            });
            assert!(!known.join().expect("ends"), "the file was read");
        }
    }

    /// A pipe without a writer: to open it takes for ever.
    #[cfg(unix)]
    #[test]
    fn proj_opens_no_grid_that_a_text_names() {
        use gdal::spatial_ref::CoordTransform;

        environment::init();
        let folder = tempfile::tempdir().expect("a folder");
        let grid = folder.path().join("grid.gsb");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&grid)
                .status()
                .expect("runs")
                .success()
        );
        let definition = format!(
            "+proj=longlat +ellps=bessel +nadgrids=@{} +type=crs",
            grid.display()
        );
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (made, _said) = gdal_errors::listen(|| {
                let from = SpatialRef::from_proj4(&definition).expect("is parsed");
                let way =
                    SpatialRef::from_epsg(4326).and_then(|to| CoordTransform::new(&from, &to));
                way.is_ok_and(|way| {
                    way.transform_coords(&mut [10.0], &mut [50.0], &mut [])
                        .is_ok()
                })
            });
            let _ = sender.send(made);
        });
        assert!(
            receiver
                .recv_timeout(std::time::Duration::from_secs(60))
                .is_ok(),
            "the pipe was opened"
        );
    }

    /// The folders are those that PROJ hands back; without them, nothing is allowed.
    #[test]
    fn a_path_is_allowed_by_the_folders_that_proj_passes() {
        let folders = vec![Path::new("/proj/data").to_path_buf()];
        let data: *const c_void = (&raw const folders).cast();
        for (name, data, allowed) in [
            (c"/proj/data/proj.db", data, true),
            (c"/etc/passwd", data, false),
            (c"/proj/data/proj.db", std::ptr::null(), false),
        ] {
            // Safety: a C string, and a list that outlives the call.
            let found = unsafe { allowed_path(name.as_ptr(), data) };
            assert_eq!(found.is_some(), allowed, "{name:?}");
        }
        // Safety: both are NULL.
        let found = unsafe { allowed_path(std::ptr::null(), std::ptr::null()) };
        assert_eq!(found, None);
    }

    /// Only what is directly in a folder: a name that leads out of it is not.
    #[test]
    fn files_of_the_folders_alone_are_allowed() {
        let folders = [Path::new("/proj/data").to_path_buf()];
        for (path, allowed) in [
            ("/proj/data/proj.db", true),
            ("/proj/data/../../etc/passwd", false),
            ("/proj/data/a/../../../etc/passwd", false),
            ("/proj/data/..", false),
            ("/etc/passwd", false),
            ("proj.db", false),
        ] {
            assert_eq!(is_directly_in(Path::new(path), &folders), allowed, "{path}");
        }
    }
}
