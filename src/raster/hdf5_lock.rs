//! One lock for HDF5 and netCDF files. GDAL's two drivers have separate locks but share one HDF5
//! library that is not thread-safe: concurrent use crashes. Hold [`Turn`] while such a file is
//! opened, read or closed.

use std::io::{Read, Seek, SeekFrom};
#[cfg(feature = "bundled-gdal")]
use std::sync::OnceLock;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{RasterSource, vsi_plugin};
use crate::model::AssetPath;
use crate::unpack::UnpackedMember;

/// The HDF5 library of this process.
struct Hdf5Library {
    one_at_a_time: Mutex<()>,
    /// Id of the driver that reads mounted files; negative when it can't be registered.
    #[cfg(feature = "bundled-gdal")]
    driver: OnceLock<i64>,
}

static HDF5_LIBRARY: Hdf5Library = Hdf5Library {
    one_at_a_time: Mutex::new(()),
    #[cfg(feature = "bundled-gdal")]
    driver: OnceLock::new(),
};

/// Signature of an HDF5 superblock.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
/// Offsets at which a superblock may begin.
const SUPERBLOCKS: [u64; 4] = [0, 512, 1024, 2048];

/// Guard of the lock; hold it while the file is in use.
pub type Turn = MutexGuard<'static, ()>;

/// Takes the lock if `source` is an HDF5 file or may refer to one, judged by its first bytes. A
/// local file that can't be read counts as one; a remote file that can't be opened does not.
pub fn turn_for(source: &RasterSource) -> Option<Turn> {
    let asset = source.asset();
    let needed = match head_of(asset) {
        Some(mut read) => match source.is_fenced() {
            // A member can't refer to another file.
            true => {
                is_scientific(|at, magic| read(at, magic.len()).is_some_and(|bytes| bytes == magic))
            }
            false => {
                !read(0, LONGEST_MAGIC).is_some_and(|head| holds_own_pixels(&head))
                    || asset.local_file().is_some_and(super::has_sidecar)
            }
        },
        // The read that follows reports a failure of the server.
        None => asset.remote_file().is_none(),
    };
    needed.then(turn)
}

type ReadHead = Box<dyn FnMut(u64, usize) -> Option<Vec<u8>>>;

/// A function that reads `length` bytes at an offset of the asset; `None` for GDAL paths and files
/// that can't be opened.
fn head_of(asset: &AssetPath) -> Option<ReadHead> {
    if let AssetPath::Packed(member) = asset {
        let data = UnpackedMember::open(member).ok()?;
        return Some(Box::new(move |at, length| {
            let mut bytes = vec![0; length];
            data.read_into(at, &mut bytes).ok().map(|()| bytes)
        }));
    }
    if asset.remote_file().is_some() {
        let place = vsi_plugin::place_of(asset).ok().flatten()?;
        return Some(Box::new(move |at, length| {
            let inside = at + length as u64 <= place.size;
            inside
                .then(|| place.file.read(place.start + at, length as u64).ok())?
                .map(|bytes| bytes.to_vec())
        }));
    }
    let (path, start) = match asset {
        AssetPath::File(path) => (path, 0),
        AssetPath::Range {
            container, offset, ..
        } => (container, *offset),
        AssetPath::Packed(_) | AssetPath::Vsi(_) => return None,
    };
    let mut file = crate::files::open(path).ok()?;
    Some(Box::new(move |at, length| {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(start.saturating_add(at))).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }))
}

/// Signatures of formats whose files contain all of their pixels. Formats of small files (`GIF8`,
/// `BM`) are omitted: for them the lock costs nothing.
const OWN_PIXELS: &[&[u8]] = &[
    b"II*\0",
    b"MM\0*",
    b"II+\0",
    b"MM\0+",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"\0\0\0\x0cjP  ",
    b"\xff\x4f\xff\x51",
    b"RIFF",
    b"GRIB",
    b"EHFA_HEA",
    // A Zarr store in a ZIP.
    b"PK\x03\x04",
];
const LONGEST_MAGIC: usize = 8;

fn holds_own_pixels(head: &[u8]) -> bool {
    OWN_PIXELS.iter().any(|magic| head.starts_with(magic))
}

/// True for an HDF5 file. `begins_with(offset, bytes)` compares bytes of the file at an offset.
pub fn is_hdf5(mut begins_with: impl FnMut(u64, &[u8]) -> bool) -> bool {
    SUPERBLOCKS.iter().any(|&at| begins_with(at, HDF5))
}

fn is_scientific(mut begins_with: impl FnMut(u64, &[u8]) -> bool) -> bool {
    begins_with(0, b"CDF") || is_hdf5(begins_with)
}

/// Takes the lock if the GDAL driver `name` uses the HDF5 library.
pub fn turn_for_driver(name: &str) -> Option<Turn> {
    is_driver(name).then(turn)
}

/// True for GDAL drivers that use the HDF5 library.
pub fn is_driver(name: &str) -> bool {
    matches!(
        name,
        "netCDF" | "HDF5" | "HDF5Image" | "BAG" | "S102" | "S104" | "S111" | "KEA"
    )
}

/// Waits for the lock.
pub fn turn() -> Turn {
    let one_at_a_time = &HDF5_LIBRARY.one_at_a_time;
    one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Id of the driver that reads mounted files, which `register` registers at the first call. The
/// caller holds the lock.
#[cfg(feature = "bundled-gdal")]
pub(super) fn mounted_file_driver(register: impl FnOnce() -> i64) -> i64 {
    *HDF5_LIBRARY.driver.get_or_init(register)
}
