//! Checks that an HDF5 file contains all of its data. The HDF5 library follows external links,
//! external storage and virtual datasets to any path, which cannot be disabled, so every link and
//! dataset of a sample is checked before a driver opens it. The check itself opens no second file.
//! The library decodes whole chunks, in all dimensions, but a driver reports the block size in two
//! dimensions alone, so the size of chunks is checked here too.

use super::vsi_plugin::Mounted;
use crate::error::{Error, Result};
use crate::model::AssetPath;

/// Refuses a file that refers to data or objects of another file, or has a chunk larger than
/// [`CHUNK_LIMIT_BYTES`], and a file for which this can't be determined. The caller holds the HDF5
/// lock.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a file that refers to others, and in
/// builds that can't check; [`Kind::Format`](crate::error::Kind::Format) for a file whose objects
/// can't be listed.
pub(super) fn check(mounted: &Mounted, asset: &AssetPath) -> Result<()> {
    match library::first_obstacle(mounted) {
        Ok(None) => Ok(()),
        Ok(Some(Obstacle::Link)) => refuse_reference("a link to an object of another file", asset),
        Ok(Some(Obstacle::ExternalData)) => refuse_reference("data in another file", asset),
        Ok(Some(Obstacle::VirtualDataset)) => {
            refuse_reference("a dataset put together from other files", asset)
        }
        Ok(Some(Obstacle::LargeChunk(bytes))) => Err(Error::unsupported(format!(
            "a chunk of this HDF5 file takes {} MiB",
            bytes >> 20
        ))
        .at_place(asset)
        .hint("write it with smaller chunks, for example: h5repack -l CHUNK=1x512x512 IN OUT")),
        Err(Unread::Damaged) => {
            Err(Error::format("the objects of this HDF5 file can't be listed").at_place(asset))
        }
        #[cfg_attr(
            feature = "bundled-gdal",
            allow(
                dead_code,
                reason = "Unknown is constructed in builds with the system's library"
            )
        )]
        Err(Unread::Unknown) => Err(Error::unsupported(
            "this build can't check whether an HDF5 file names other files",
        )
        .at_place(asset)
        .hint(
            "use the build with GDAL inside, which is the default one, or open the file by \
                its own path",
        )),
    }
}

fn refuse_reference(what: &str, asset: &AssetPath) -> Result<()> {
    let hint = "a sample of a dataset holds all of its data; copy it with h5repack, or put \
        GeoTIFFs into the dataset";
    Err(
        Error::unsupported(format!("this HDF5 file names {what}, which is not read"))
            .at_place(asset)
            .hint(hint),
    )
}

/// Maximum bytes of a decoded chunk: the limit that blocks of other formats have.
#[cfg_attr(
    not(feature = "bundled-gdal"),
    allow(dead_code, reason = "used in builds with the library inside alone")
)]
const CHUNK_LIMIT_BYTES: u64 = 256 << 20;

/// Why an HDF5 file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "bundled-gdal"),
    allow(
        dead_code,
        reason = "constructed in builds with the library inside alone"
    )
)]
enum Obstacle {
    Link,
    ExternalData,
    VirtualDataset,
    /// Bytes of the decoded chunk.
    LargeChunk(u64),
}

/// Why the check has no result.
#[cfg_attr(
    feature = "bundled-gdal",
    allow(
        dead_code,
        reason = "Unknown is constructed in builds with the system's library"
    )
)]
#[cfg_attr(
    not(feature = "bundled-gdal"),
    allow(
        dead_code,
        reason = "Damaged is constructed in builds with the library inside"
    )
)]
enum Unread {
    Damaged,
    Unknown,
}

#[cfg(not(feature = "bundled-gdal"))]
mod library {
    use super::{Mounted, Obstacle, Unread};

    pub(super) fn first_obstacle(_: &Mounted) -> Result<Option<Obstacle>, Unread> {
        Err(Unread::Unknown)
    }
}

/// The HDF5 1.14 functions and structures used, as declared in its public headers (H5FDdevelop.h
/// and others).
#[cfg(feature = "bundled-gdal")]
mod library {
    use std::cell::Cell;
    use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{CHUNK_LIMIT_BYTES, Mounted, Obstacle, Unread};
    use crate::raster::hdf5_lock;

    type Id = i64;
    type Status = c_int;
    type Address = u64;

    /// `H5FD_t`; all fields are set by the library.
    #[repr(C)]
    struct FileHead {
        driver: Id,
        class: *const Class,
        number: c_ulong,
        access_flags: c_uint,
        feature_flags: c_ulong,
        max_address: Address,
        base_address: Address,
        threshold: u64,
        alignment: u64,
        paged: bool,
    }

    /// An open file of this driver; `H5FD_t` comes first.
    #[repr(C)]
    struct OpenFile {
        head: FileHead,
        mounted: *const Mounted,
        end_of_allocation: Address,
    }

    type Unused = Option<unsafe extern "C" fn()>;

    /// `H5FD_class_t`, version 1.
    #[repr(C)]
    struct Class {
        version: c_uint,
        value: c_int,
        name: *const c_char,
        max_address: Address,
        close_degree: c_int,
        terminate: Unused,
        superblock: [Unused; 3],
        access_size: usize,
        access: [Unused; 3],
        transfer_size: usize,
        transfer: [Unused; 2],
        open: unsafe extern "C" fn(*const c_char, c_uint, Id, Address) -> *mut OpenFile,
        close: unsafe extern "C" fn(*mut OpenFile) -> Status,
        compare: Unused,
        query: unsafe extern "C" fn(*const OpenFile, *mut c_ulong) -> Status,
        type_map: Unused,
        allocate: Unused,
        release: Unused,
        get_allocation: unsafe extern "C" fn(*const OpenFile, c_int) -> Address,
        set_allocation: unsafe extern "C" fn(*mut OpenFile, c_int, Address) -> Status,
        get_end: unsafe extern "C" fn(*const OpenFile, c_int) -> Address,
        handle: Unused,
        read: unsafe extern "C" fn(*mut OpenFile, c_int, Id, Address, usize, *mut c_void) -> Status,
        write:
            unsafe extern "C" fn(*mut OpenFile, c_int, Id, Address, usize, *const c_void) -> Status,
        many: [Unused; 4],
        flush: Unused,
        truncate: Unused,
        locks: [Unused; 2],
        delete: Unused,
        control: Unused,
        free_lists: [c_int; 7],
    }

    unsafe extern "C" {
        static H5P_CLS_FILE_ACCESS_ID_g: Id;
        fn H5open() -> Status;
        fn H5FDregister(class: *const Class) -> Id;
        fn H5Pcreate(class: Id) -> Id;
        fn H5Pset_driver(list: Id, driver: Id, info: *const c_void) -> Status;
        fn H5Pset_fclose_degree(list: Id, degree: c_int) -> Status;
        fn H5Pget_layout(list: Id) -> c_int;
        fn H5Pget_external_count(list: Id) -> c_int;
        fn H5Pclose(list: Id) -> Status;
        fn H5Fopen(name: *const c_char, flags: c_uint, access: Id) -> Id;
        fn H5Fclose(file: Id) -> Status;
        fn H5Oopen(place: Id, name: *const c_char, access: Id) -> Id;
        fn H5Oclose(object: Id) -> Status;
        fn H5Iget_type(object: Id) -> c_int;
        fn H5Dget_create_plist(dataset: Id) -> Id;
        fn H5Pget_chunk(list: Id, rank: c_int, sizes: *mut u64) -> c_int;
        fn H5Dget_type(dataset: Id) -> Id;
        fn H5Tget_size(kind: Id) -> usize;
        fn H5Tclose(kind: Id) -> Status;
        fn H5Lvisit2(
            group: Id,
            index: c_int,
            order: c_int,
            visit: unsafe extern "C" fn(Id, *const c_char, *const c_int, *mut c_void) -> Status,
            data: *mut c_void,
        ) -> Status;
        fn H5Ovisit3(
            object: Id,
            index: c_int,
            order: c_int,
            visit: unsafe extern "C" fn(Id, *const c_char, *const c_void, *mut c_void) -> Status,
            data: *mut c_void,
            fields: c_uint,
        ) -> Status;
        fn H5Eset_auto2(stack: Id, function: Unused, data: *mut c_void) -> Status;
    }

    const BY_NAME: c_int = 0;
    const FASTEST: c_int = 2;
    const BASIC: c_uint = 1;
    const STRONG: c_int = 3;
    const DATASET: c_int = 5;
    const CHUNKED: c_int = 2;
    const VIRTUAL: c_int = 3;
    /// Most dimensions of a dataset (`H5S_MAX_RANK`).
    const RANK_MAX: usize = 32;
    /// The first type (`H5L_type_t`) after hard and soft links, which stay in the file: external
    /// and user-defined links are followed to other files.
    const FIRST_OUTSIDE_LINK: c_int = 2;
    /// Maximum number of links and objects that are visited.
    const VISITED_MAX: usize = 1 << 20;

    const CLASS: Class = Class {
        version: 1,
        // Values from 256 are free for tests and private drivers (H5FDdevelop.h).
        value: 300,
        name: c"taco-sample".as_ptr(),
        max_address: i64::MAX as u64,
        close_degree: STRONG,
        terminate: None,
        superblock: [None; 3],
        access_size: 0,
        access: [None; 3],
        transfer_size: 0,
        transfer: [None; 2],
        open,
        close,
        compare: None,
        query,
        type_map: None,
        allocate: None,
        release: None,
        get_allocation,
        set_allocation,
        get_end,
        handle: None,
        read,
        write,
        many: [None; 4],
        flush: None,
        truncate: None,
        locks: [None; 2],
        delete: None,
        control: None,
        free_lists: [1; 7],
    };

    thread_local! {
        /// The only file that `open` opens on this thread.
        static OPENING: Cell<*const Mounted> = const { Cell::new(std::ptr::null()) };
    }

    unsafe extern "C" fn open(
        name: *const c_char,
        flags: c_uint,
        _: Id,
        _: Address,
    ) -> *mut OpenFile {
        let mounted = OPENING.get();
        if mounted.is_null() || name.is_null() || flags & 0xff != 0 {
            return std::ptr::null_mut();
        }
        // Safety: `first_obstacle` keeps it alive until the file is closed; the name is a C string.
        let same = unsafe { (*mounted).path().as_bytes() == CStr::from_ptr(name).to_bytes() };
        if !same {
            return std::ptr::null_mut();
        }
        // Safety: integers and pointers, for which zero is a valid value.
        let head = unsafe { std::mem::zeroed() };
        Box::into_raw(Box::new(OpenFile {
            head,
            mounted,
            end_of_allocation: 0,
        }))
    }

    unsafe extern "C" fn close(file: *mut OpenFile) -> Status {
        // Safety: the pointer comes from `open`, and is freed once.
        drop(unsafe { Box::from_raw(file) });
        0
    }

    unsafe extern "C" fn query(_: *const OpenFile, flags: *mut c_ulong) -> Status {
        if !flags.is_null() {
            // Safety: the library passes a valid pointer.
            unsafe { *flags = 0 };
        }
        0
    }

    unsafe extern "C" fn get_allocation(file: *const OpenFile, _: c_int) -> Address {
        // Safety: the pointer comes from `open`.
        unsafe { (*file).end_of_allocation }
    }

    unsafe extern "C" fn set_allocation(file: *mut OpenFile, _: c_int, address: Address) -> Status {
        // Safety: the pointer comes from `open`.
        unsafe { (*file).end_of_allocation = address };
        0
    }

    unsafe extern "C" fn get_end(file: *const OpenFile, _: c_int) -> Address {
        // Safety: the pointer comes from `open`; the mounted file outlives it.
        unsafe { (*(*file).mounted).size() }
    }

    unsafe extern "C" fn read(
        file: *mut OpenFile,
        _: c_int,
        _: Id,
        at: Address,
        size: usize,
        buffer: *mut c_void,
    ) -> Status {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // Safety: the pointer comes from `open`; the mounted file outlives it.
            let bytes = unsafe { (*(*file).mounted).read(at, size as u64) }
                .ok()
                .filter(|bytes| bytes.len() == size)?;
            // Safety: the buffer has room for `size` bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast::<u8>(), size) };
            Some(())
        }));
        if outcome.ok().flatten().is_some() {
            0
        } else {
            -1
        }
    }

    unsafe extern "C" fn write(
        _: *mut OpenFile,
        _: c_int,
        _: Id,
        _: Address,
        _: usize,
        _: *const c_void,
    ) -> Status {
        -1
    }

    /// State of a visit of all links or objects.
    #[derive(Default)]
    struct Walk {
        found: Option<Obstacle>,
        visited: usize,
    }

    impl Walk {
        /// Counts a visit, and gives what the callback returns: 0 continues, 1 stops, -1 fails.
        fn count_visit(&mut self) -> Status {
            self.visited += 1;
            match self.found {
                Some(_) => 1,
                None if self.visited > VISITED_MAX => -1,
                None => 0,
            }
        }
    }

    unsafe extern "C" fn on_link(
        _: Id,
        _: *const c_char,
        kind: *const c_int,
        walk: *mut c_void,
    ) -> Status {
        // Safety: `walk` comes from `first_obstacle`; `H5L_info2_t` starts with the link type.
        let (walk, kind) = unsafe { (&mut *walk.cast::<Walk>(), *kind) };
        if !(0..FIRST_OUTSIDE_LINK).contains(&kind) {
            walk.found = Some(Obstacle::Link);
        }
        walk.count_visit()
    }

    unsafe extern "C" fn on_object(
        place: Id,
        name: *const c_char,
        _: *const c_void,
        walk: *mut c_void,
    ) -> Status {
        // Safety: `walk` comes from `first_obstacle`; ids are closed after use.
        unsafe {
            let walk = &mut *walk.cast::<Walk>();
            let object = H5Oopen(place, name, 0);
            if object < 0 {
                return -1;
            }
            let mut failed = false;
            if H5Iget_type(object) == DATASET {
                let list = H5Dget_create_plist(object);
                if list < 0 {
                    failed = true;
                } else {
                    let layout = H5Pget_layout(list);
                    let chunk = if layout == CHUNKED {
                        chunk_bytes(object, list)
                    } else {
                        0
                    };
                    if chunk > CHUNK_LIMIT_BYTES {
                        walk.found = Some(Obstacle::LargeChunk(chunk));
                    } else if layout == VIRTUAL {
                        walk.found = Some(Obstacle::VirtualDataset);
                    } else if H5Pget_external_count(list) != 0 {
                        walk.found = Some(Obstacle::ExternalData);
                    }
                    H5Pclose(list);
                }
            }
            H5Oclose(object);
            if failed { -1 } else { walk.count_visit() }
        }
    }

    /// Bytes of a decoded chunk of the dataset with this list of properties.
    ///
    /// # Safety
    /// Both are open, and the caller holds the HDF5 lock.
    unsafe fn chunk_bytes(dataset: Id, list: Id) -> u64 {
        let mut sizes = [0; RANK_MAX];
        // Safety: the array has room for every rank; the type is closed after use.
        let (rank, value_bytes) = unsafe {
            let rank = H5Pget_chunk(list, RANK_MAX as c_int, sizes.as_mut_ptr());
            let kind = H5Dget_type(dataset);
            let value_bytes = H5Tget_size(kind) as u64;
            if kind >= 0 {
                H5Tclose(kind);
            }
            (usize::try_from(rank).unwrap_or_default(), value_bytes)
        };
        sizes
            .iter()
            .take(rank)
            .fold(value_bytes.max(1), |bytes, size| {
                bytes.saturating_mul(*size)
            })
    }

    /// Id of the driver, registered once; negative on failure.
    fn driver() -> Id {
        // Safety: HDF5 copies the class; the caller holds the HDF5 lock.
        hdf5_lock::mounted_file_driver(|| unsafe {
            if H5open() < 0 {
                -1
            } else {
                H5FDregister(&CLASS)
            }
        })
    }

    /// The first obstacle; `None` if there is none.
    pub(super) fn first_obstacle(mounted: &Mounted) -> Result<Option<Obstacle>, Unread> {
        let driver = driver();
        let name = CString::new(mounted.path()).map_err(|_| Unread::Damaged)?;
        if driver < 0 {
            return Err(Unread::Unknown);
        }
        OPENING.set(mounted);
        // Safety: ids are checked and closed; the walk and the mounted file outlive the calls; the
        // library is used by one thread.
        let outcome = unsafe {
            H5Eset_auto2(0, None, std::ptr::null_mut());
            let access = H5Pcreate(H5P_CLS_FILE_ACCESS_ID_g);
            let ready = H5Pset_driver(access, driver, std::ptr::null()) >= 0
                && H5Pset_fclose_degree(access, STRONG) >= 0;
            let file = if ready {
                H5Fopen(name.as_ptr(), 0, access)
            } else {
                -1
            };
            let mut walk = Walk::default();
            let mut status = -1;
            if file >= 0 {
                let data = (&raw mut walk).cast::<c_void>();
                status = H5Lvisit2(file, BY_NAME, FASTEST, on_link, data);
                if status == 0 {
                    status = H5Ovisit3(file, BY_NAME, FASTEST, on_object, data, BASIC);
                }
                H5Fclose(file);
            }
            H5Pclose(access);
            if status < 0 {
                Err(Unread::Damaged)
            } else {
                Ok(walk.found)
            }
        };
        OPENING.set(std::ptr::null());
        outcome
    }
}
