//! Identifies the format of a file with GDAL from its first bytes and its extension. No other bytes
//! or files are read.

use std::ffi::{CStr, CString};
use std::path::Path;

use super::{RasterSource, environment, fence, gdal_errors, hdf5_lock, pool, references};
use crate::error::Result;

/// Number of bytes from the start of a file that suffice to identify its format.
pub const IDENTIFY_BYTES: u64 = 8 << 10;
/// Maximum characters of an extension passed to drivers.
const ENDING_MAX: usize = 10;

/// Name of the folder in memory with the file of this thread, which is removed before the thread
/// makes another one.
fn name_memory_folder() -> String {
    format!("taco-studio-identify-{:?}", std::thread::current().id())
}

/// Name of the GDAL driver, such as `GTiff`, for a file that starts with `head`. Only the extension
/// of `name` is used, which some drivers need. `None` if no driver of this build recognises it.
pub fn identify(head: &[u8], name: &str) -> Option<String> {
    environment::init();
    if head.is_empty() {
        return None;
    }
    // Files that refer to others (VRT, …) are recognised without a driver, since they are never
    // opened.
    if let Some(description) = references::find_references(head) {
        return Some(description.kind.to_owned());
    }
    let plain = |ending: &&str| {
        ending.len() <= ENDING_MAX && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending)
        .filter(plain);
    let folder = format!("/vsimem/{}", name_memory_folder());
    let file = match ending {
        Some(ending) => format!("{folder}/sample.{}", ending.to_ascii_lowercase()),
        None => format!("{folder}/sample"),
    };
    let (path, folder) = (CString::new(file).ok()?, CString::new(folder).ok()?);
    let drivers: Vec<CString> = fence::identification_drivers()
        .filter_map(|name| CString::new(name).ok())
        .collect();
    let mut names: Vec<_> = drivers.iter().map(|name| name.as_ptr()).collect();
    names.push(std::ptr::null());
    // Some drivers ask the HDF5 library, which is not thread-safe, for files of other formats too.
    let _turn = hdf5_lock::turn();
    let mut bytes = head.to_vec();
    // Messages of drivers that do not recognise the file are discarded.
    let (found, _) = gdal_errors::listen(|| {
        // Safety: the buffer outlives the file, which is removed below; GDAL does not take it over
        // (the last argument is 0).
        let opened = unsafe {
            gdal_sys::VSIFileFromMemBuffer(path.as_ptr(), bytes.as_mut_ptr(), bytes.len() as _, 0)
        };
        if opened.is_null() {
            return None;
        }
        // Safety: a C string, a NULL-terminated list of C strings, and an empty list of siblings;
        // the driver belongs to GDAL.
        let driver = unsafe {
            gdal_sys::VSIFCloseL(opened);
            let flags =
                (gdal::GdalOpenFlags::GDAL_OF_RASTER | gdal::GdalOpenFlags::GDAL_OF_VECTOR).bits();
            let none = [std::ptr::null()];
            gdal_sys::GDALIdentifyDriverEx(path.as_ptr(), flags, names.as_ptr(), none.as_ptr())
        };
        let name = (!driver.is_null()).then(|| {
            // Safety: the name is a C string that lives as long as the driver.
            unsafe { CStr::from_ptr(gdal_sys::GDALGetDriverShortName(driver)) }
                .to_string_lossy()
                .into_owned()
        });
        // Safety: removes the file over the buffer, which is dropped later, and the folder that
        // GDAL made for it.
        unsafe {
            gdal_sys::VSIUnlink(path.as_ptr());
            gdal_sys::VSIRmdir(folder.as_ptr());
        };
        name
    });
    found
}

/// True when the first bytes are those of a raster, whether or not the rest of it can be read.
/// False for GDAL paths that are not plain bytes.
///
/// # Errors
/// When the bytes can't be read.
pub fn begins_like_raster(source: &RasterSource) -> Result<bool> {
    let name = source.asset().to_string();
    let head = pool::head(source.asset(), IDENTIFY_BYTES)?;
    Ok(head
        .and_then(|head| identify(&head, &name))
        .is_some_and(|driver| fence::is_raster_driver(&driver)))
}

/// True when a raster driver recognises a local file by its first bytes. Unlike opening it, this
/// asks no driver of vectors, some of which (GeoJSON) evaluate the coordinate system while they
/// open a file.
pub fn is_raster_file(path: &Path) -> bool {
    environment::init();
    let Some(path) = path.to_str().and_then(|path| CString::new(path).ok()) else {
        return false;
    };
    let _turn = hdf5_lock::turn();
    let (found, _) = gdal_errors::listen(|| {
        let flags = gdal::GdalOpenFlags::GDAL_OF_RASTER.bits();
        // Safety: a C string; a null list means all drivers, and siblings that GDAL looks up
        // itself.
        let driver = unsafe {
            gdal_sys::GDALIdentifyDriverEx(path.as_ptr(), flags, std::ptr::null(), std::ptr::null())
        };
        !driver.is_null()
    });
    found
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn files_are_told_by_their_bytes_and_ending() {
        for (head, name, wanted) in [
            (&b"II*\0\x08\0\0\0\0\0\0\0\0\0\0\0"[..], "a", Some("GTiff")),
            (b"MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10", "a.jpg", Some("GTiff")),
            (
                b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0",
                "a",
                Some("PNG"),
            ),
            (
                br#"{"type": "FeatureCollection", "features": []}"#,
                "a.geojson",
                Some("GeoJSON"),
            ),
            (br#"{"classes": ["water", "land"]}"#, "a.json", None),
            (b"id,x,y\n1,2,3\n", "a.csv", Some("CSV")),
            (b"id,x,y\n1,2,3\n", "a.txt", None),
            (
                b"<VRTDataset rasterXSize=\"1\" rasterYSize=\"1\"></VRTDataset>",
                "a.vrt",
                Some("VRT"),
            ),
            (b"hello", "a.tif", None),
            (b"", "a.tif", None),
        ] {
            assert_eq!(
                identify(head, name).as_deref(),
                wanted,
                "{name} {:?}",
                String::from_utf8_lossy(head)
            );
        }
    }

    #[test]
    fn nothing_of_an_identified_file_stays_in_the_memory_of_gdal() {
        environment::init();
        assert_eq!(
            identify(b"GIF89a\x01\0\x01\0", "a.gif").as_deref(),
            Some("GIF")
        );
        let files = gdal::vsi::read_dir("/vsimem", false).unwrap_or_default();
        let folder = PathBuf::from(name_memory_folder());
        assert!(!files.contains(&folder), "the folder stays");
    }
}
