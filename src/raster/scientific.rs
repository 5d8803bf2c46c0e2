//! HDF5 and netCDF files, one at a time. GDAL's drivers for the two guard themselves with a lock each, but share one HDF5
//! library that is not safe to use from two threads: together they crash. Whoever opens, uses or closes such a file holds
//! the lock here meanwhile.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::mount;
use crate::model::AssetPath;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How an HDF5 superblock begins.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
/// Where it may begin.
const SUPERBLOCKS: [u64; 4] = [0, 512, 1024, 2048];

/// Held as long as the file is in use.
pub type Turn = MutexGuard<'static, ()>;

/// Waits for the turn where `asset` is such a file, told by its first bytes; what can't be looked at counts as one.
pub fn turn_for(asset: &AssetPath) -> Option<Turn> {
    if asset.remote_file().is_some() {
        // What can't be had from the server is told by the reading that follows.
        let Ok(Some(place)) = mount::place_of(asset) else { return None };
        let begins_with = |at: u64, magic: &[u8]| {
            let length = magic.len() as u64;
            at + length <= place.size && place.file.read(place.start + at, length).is_ok_and(|bytes| *bytes == *magic)
        };
        return is_scientific(begins_with).then(turn);
    }
    let (path, start) = match asset {
        AssetPath::File(path) => (path, 0),
        AssetPath::Range { container, offset, .. } => (container, *offset),
        AssetPath::Vsi(_) => return Some(turn()),
    };
    let Ok(mut file) = crate::files::open(path) else { return Some(turn()) };
    let begins_with = |at: u64, magic: &[u8]| {
        let mut bytes = vec![0; magic.len()];
        let read = file.seek(SeekFrom::Start(start.saturating_add(at))).and_then(|_| file.read_exact(&mut bytes));
        read.is_ok() && bytes == magic
    };
    is_scientific(begins_with).then(turn)
}

fn is_scientific(mut begins_with: impl FnMut(u64, &[u8]) -> bool) -> bool {
    begins_with(0, b"CDF") || SUPERBLOCKS.iter().any(|&at| begins_with(at, HDF5))
}

/// Waits for the turn where a GDAL driver of this name writes such files.
pub fn turn_for_driver(name: &str) -> Option<Turn> {
    matches!(name, "netCDF" | "HDF5" | "HDF5Image" | "BAG" | "S102" | "S104" | "S111" | "KEA").then(turn)
}

fn turn() -> Turn {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
