//! Identifies the format of a file with GDAL from its first bytes and its extension. No other bytes
//! or files are read.

use std::ffi::{CStr, CString};
use std::io::Read;
use std::path::{Path, PathBuf};

use gdal::DriverManager;

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

/// Companions that drivers of raw formats look for before they recognise a file: endings instead
/// of its extension, and endings behind its name.
const COMPANIONS_INSTEAD: [&str; 5] = ["hdr", "HDR", "Hdr", "aux", "AUX"];
const COMPANIONS_BEHIND: [&str; 4] = [".hdr", ".HDR", ".xml", ".rsc"];

/// Bytes from the start of a file in which the GRIB driver looks for its signature, at each byte.
const GRIB_HEAD: usize = 32 << 10;

/// Recognises local files as rasters.
pub struct RasterDetector {
    /// Names of the raster drivers but GRIB, whose search takes longer than all others together.
    without_grib: Vec<CString>,
}

impl RasterDetector {
    /// Lists the drivers of this build.
    pub fn for_this_build() -> Self {
        environment::init();
        let names = DriverManager::all().map(|driver| driver.short_name());
        Self {
            without_grib: names
                .filter(|name| name != "GRIB")
                .filter_map(|name| CString::new(name).ok())
                .collect(),
        }
    }

    /// True when a raster driver recognises the file by its first bytes. Unlike opening it, this
    /// asks no driver of vectors, some of which (GeoJSON) evaluate the coordinate system while they
    /// open a file.
    pub fn is_raster_file(&self, path: &Path) -> bool {
        let (Some(text), Some(name)) = (
            c_path(path),
            path.file_name().map(Path::new).and_then(c_path),
        ) else {
            return false;
        };
        let mut drivers: Vec<_> = self.without_grib.iter().map(|name| name.as_ptr()).collect();
        drivers.push(std::ptr::null());
        let drivers = if may_be_grib(path) {
            std::ptr::null()
        } else {
            drivers.as_ptr()
        };
        // GDAL lists the whole folder for each file, unless it has the list of siblings.
        let alone = [name.as_ptr(), std::ptr::null()];
        let siblings = if has_companion(path) {
            std::ptr::null()
        } else {
            alone.as_ptr()
        };
        let _turn = hdf5_lock::turn();
        let (found, _) = gdal_errors::listen(|| {
            let flags = gdal::GdalOpenFlags::GDAL_OF_RASTER.bits();
            // Safety: C strings, and lists of them that end with null; a null list means all
            // drivers, or siblings that GDAL looks up itself.
            let driver =
                unsafe { gdal_sys::GDALIdentifyDriverEx(text.as_ptr(), flags, drivers, siblings) };
            !driver.is_null()
        });
        found
    }
}

/// True when the signature of GRIB is in the first bytes of a file, behind headers of other
/// programs too.
fn may_be_grib(path: &Path) -> bool {
    let Ok(file) = crate::files::open(path) else {
        return false;
    };
    let mut head = Vec::with_capacity(GRIB_HEAD);
    file.take(GRIB_HEAD as u64).read_to_end(&mut head).is_ok()
        && head.windows(4).any(|word| word == b"GRIB")
}

fn c_path(path: &Path) -> Option<CString> {
    CString::new(path.to_str()?).ok()
}

/// True when a file is beside `path` without which a raw format is not recognised.
fn has_companion(path: &Path) -> bool {
    let instead = COMPANIONS_INSTEAD
        .iter()
        .map(|ending| path.with_extension(ending));
    let behind = COMPANIONS_BEHIND.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    instead.chain(behind).any(|companion| companion.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_identified_by_their_bytes_and_ending() {
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
    #[test]
    fn a_file_of_a_raw_format_is_a_raster_beside_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let raster = folder.path().join("scene.bin");
        std::fs::write(&raster, [7; 6]).unwrap();
        let detector = RasterDetector::for_this_build();
        assert!(!detector.is_raster_file(&raster));
        let header = "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bsq\n";
        for name in ["scene.hdr", "scene.bin.hdr", "scene.HDR"] {
            let beside = folder.path().join(name);
            std::fs::write(&beside, header).unwrap();
            assert!(detector.is_raster_file(&raster), "{name}");
            std::fs::remove_file(&beside).unwrap();
        }
        assert!(!detector.is_raster_file(&folder.path().join("missing.bin")));
        let mut behind_other_bytes = vec![b'0'; 1500];
        behind_other_bytes.extend(b"GRIB\0\0\0\x02");
        let grib = folder.path().join("message.bin");
        std::fs::write(&grib, behind_other_bytes).unwrap();
        assert!(may_be_grib(&grib) && !may_be_grib(&raster));
    }
}
