//! One-time initialisation of GDAL, and the capabilities of this build. The user's environment
//! variables take precedence, except for options by which reading a file could run code.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::OnceLock;

use gdal::spatial_ref::SpatialRef;
use gdal::{Driver, DriverManager, Metadata};

#[cfg(feature = "bundled-gdal")]
use super::proj_files;
use super::{gdal_errors, vsi_plugin};

/// Drivers for common Earth-observation formats.
const WANTED: &[&str] = &[
    "GTiff",
    "COG",
    "VRT",
    "MEM",
    "JPEG",
    "PNG",
    "WEBP",
    "JP2OpenJPEG",
    "netCDF",
    "HDF5",
    "GRIB",
    "HFA",
    "SENTINEL2",
    "SAFE",
    "Zarr",
    "GPKG",
    "GeoJSON",
    "FlatGeobuf",
    "ESRI Shapefile",
    "Parquet",
];

/// Defaults for network reads: few requests, bounded waiting (seconds).
const DEFAULTS: &[(&str, &str)] = &[
    ("CPL_VSIL_CURL_USE_HEAD", "NO"),
    ("GDAL_INGESTED_BYTES_AT_OPEN", "32768"),
    ("GDAL_HTTP_CONNECTTIMEOUT", "15"),
    ("GDAL_HTTP_LOW_SPEED_TIME", "30"),
    ("GDAL_HTTP_LOW_SPEED_LIMIT", "1"),
    ("GDAL_HTTP_MAX_RETRY", "2"),
    ("GDAL_HTTP_RETRY_DELAY", "1"),
    // Megabytes. GDAL's default is 5 % of memory, which lets a raster with huge blocks use
    // gigabytes.
    ("GDAL_CACHEMAX", "256"),
];

/// Options that let reading a file run code or open other files, overridden even if the environment
/// sets them. They also apply to files that the user opens, which are often downloads: VRTs with
/// Python functions, SQLite databases that load extensions or refer to other files.
const NEUTRALISED: &[(&str, &str)] = &[
    ("GDAL_VRT_ENABLE_PYTHON", "NO"),
    ("GDAL_VRT_PYTHON_TRUSTED_MODULES", ""),
    ("OGR_SQLITE_LOAD_EXTENSIONS", ""),
    ("OGR_SQLITE_ALLOW_EXTERNAL_ACCESS", "NO"),
    ("OGR_SQLITE_LIST_VIRTUAL_OGR", "NO"),
    ("OGR_SQLITE_STATIC_VIRTUAL_OGR", "NO"),
    ("ALLOW_VIRTUAL_OGR_FROM_TRIGGER_AND_VIEW", "NO"),
];

/// Folders from which GDAL loads driver plugins. The bundled GDAL has all drivers built in; only a
/// build with the system's library has plugins.
#[cfg(feature = "bundled-gdal")]
const PLUGINS: &[(&str, &str)] = &[
    ("GDAL_DRIVER_PATH", "disable"),
    ("GDAL_PYTHON_DRIVER_PATH", ""),
];
#[cfg(not(feature = "bundled-gdal"))]
const PLUGINS: &[(&str, &str)] = &[];

/// Common paths of CA bundles; a statically linked curl has no default.
const CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// One GDAL driver of this build.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DriverInfo {
    /// GDAL's short name, for example `GTiff`.
    pub name: String,
    /// GDAL's long name.
    pub long_name: String,
    /// Supports rasters.
    pub raster: bool,
    /// Supports vectors.
    pub vector: bool,
    /// Supports creating files (`Create` or `CreateCopy`).
    pub writes: bool,
}

/// GDAL and PROJ as linked into this build.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Environment {
    /// For example `3.12.1`.
    pub gdal_version: String,
    /// For example `9.6.2`.
    pub proj_version: String,
    /// All drivers, in GDAL's order.
    pub drivers: Vec<DriverInfo>,
    /// Drivers for common Earth-observation formats that this build lacks.
    pub missing: Vec<&'static str>,
    /// Compressions that the GeoTIFF driver writes, for example `ZSTD`.
    pub tiff_compressions: Vec<String>,
    /// True when EPSG codes resolve.
    pub proj_ok: bool,
    /// Why `proj.db` of the environment was ignored, or why EPSG codes do not resolve.
    pub proj_note: Option<String>,
    /// True when `/vsicurl/` is available.
    pub curl: bool,
}

impl Environment {
    /// True when the build has the driver.
    pub fn has(&self, driver: &str) -> bool {
        self.drivers.iter().any(|known| known.name == driver)
    }
}

struct Ready {
    proj_ok: bool,
    proj_note: Option<String>,
}

static READY: OnceLock<Ready> = OnceLock::new();

/// Initialises GDAL once per process; thread-safe. Every function of this module calls it. Calling
/// it earlier takes its few milliseconds off the first file.
pub fn init() {
    READY.get_or_init(|| {
        gdal_errors::install();
        restrict_proj();
        for (key, value) in NEUTRALISED.iter().chain(PLUGINS) {
            if let Err(error) = gdal::config::set_config_option(key, value) {
                tracing::warn!("could not set {key}: {error}");
            }
        }
        for (key, value) in DEFAULTS {
            set_default(key, value);
        }
        // Mosaics keep their sources open.
        set_default(
            "GDAL_MAX_DATASET_POOL_SIZE",
            &(crate::handles::handle_limit() / 8)
                .clamp(2, 100)
                .to_string(),
        );
        if option("CURL_CA_BUNDLE").is_none()
            && option("GDAL_CURL_CA_BUNDLE").is_none()
            && option("SSL_CERT_FILE").is_none()
            && let Some(bundle) = CERTIFICATES.iter().find(|path| Path::new(path).exists())
        {
            set_default("CURL_CA_BUNDLE", bundle);
        }
        DriverManager::register_all();
        vsi_plugin::install();
        // Listing a remote file's folder costs one to hundreds of requests; for local files it
        // finds overviews and world files, so it stays on.
        for prefix in [
            "/vsicurl/",
            "/vsis3/",
            "/vsigs/",
            "/vsiaz/",
            "/vsiadls/",
            "/vsioss/",
            "/vsiswift/",
        ] {
            set_for_paths(prefix, "GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR");
        }
        check_proj()
    });
}

/// Before anything uses PROJ: it makes no requests, and reads no files but those of the folders
/// that the environment names.
fn restrict_proj() {
    #[cfg(feature = "bundled-gdal")]
    {
        let folders = ["PROJ_DATA", "PROJ_LIB"]
            .iter()
            .filter_map(|name| option(name));
        proj_files::restrict(
            folders
                .flat_map(|folders| std::env::split_paths(&folders).collect::<Vec<_>>())
                .collect(),
        );
    }
    // Safety: a setting; the contexts of all threads take it over.
    unsafe { gdal_sys::OSRSetPROJEnableNetwork(0) };
}

/// Versions, drivers and capabilities of this build.
pub fn environment() -> Environment {
    init();
    let drivers: Vec<DriverInfo> = DriverManager::all()
        .map(|driver| DriverInfo {
            name: driver.short_name(),
            long_name: driver.long_name(),
            raster: has_capability(&driver, "DCAP_RASTER"),
            vector: has_capability(&driver, "DCAP_VECTOR"),
            writes: has_capability(&driver, "DCAP_CREATE")
                || has_capability(&driver, "DCAP_CREATECOPY"),
        })
        .collect();
    let missing = WANTED
        .iter()
        .copied()
        .filter(|name| !drivers.iter().any(|driver| driver.name == *name))
        .collect();
    let ready = READY.get();
    Environment {
        gdal_version: gdal::version::version_info("RELEASE_NAME"),
        proj_version: proj_version(),
        drivers,
        missing,
        tiff_compressions: tiff_compressions(),
        proj_ok: ready.is_some_and(|ready| ready.proj_ok),
        proj_note: ready.and_then(|ready| ready.proj_note.clone()),
        curl: has_vsi("/vsicurl/"),
    }
}

fn has_capability(driver: &Driver, key: &str) -> bool {
    driver
        .metadata_item(key, "")
        .is_some_and(|value| value.eq_ignore_ascii_case("yes"))
}

/// True when this build has a driver of this name.
pub(super) fn is_registered(name: &str) -> bool {
    init();
    DriverManager::get_driver_by_name(name).is_ok_and(|driver| driver.short_name() == name)
}

/// Checks that EPSG:4326 resolves. If the environment points PROJ at a database of another version,
/// falls back to the embedded one.
fn check_proj() -> Ready {
    let Err(first) = resolves() else {
        return Ready {
            proj_ok: true,
            proj_note: None,
        };
    };
    let folders = ["PROJ_DATA", "PROJ_LIB"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .collect::<Vec<_>>()
        .join(", ");
    // An empty search path overrides PROJ_DATA and PROJ_LIB, so PROJ uses the embedded database.
    if let Ok(nowhere) = CString::new("/nonexistent/taco-studio") {
        let paths = [nowhere.as_ptr(), std::ptr::null()];
        // Safety: a NULL-terminated list of C strings that PROJ copies.
        unsafe { gdal_sys::OSRSetPROJSearchPaths(paths.as_ptr()) };
    }
    match resolves() {
        Ok(()) => {
            let note = format!(
                "the PROJ data in {folders} does not fit this version and was passed over: {first}"
            );
            tracing::warn!("{note}");
            Ready {
                proj_ok: true,
                proj_note: Some(note),
            }
        }
        Err(_) => {
            // Safety: NULL restores the default search paths.
            unsafe { gdal_sys::OSRSetPROJSearchPaths(std::ptr::null()) };
            tracing::warn!("coordinate systems do not resolve: {first}");
            Ready {
                proj_ok: false,
                proj_note: Some(first),
            }
        }
    }
}

fn resolves() -> Result<(), String> {
    let (found, said) =
        gdal_errors::listen(|| SpatialRef::from_epsg(4326).and_then(|srs| srs.to_wkt()));
    match found {
        Ok(wkt) if wkt.contains("WGS 84") => Ok(()),
        Ok(_) => Err("EPSG:4326 gave an unknown coordinate system".into()),
        Err(error) => Err(said
            .into_iter()
            .next()
            .map_or_else(|| error.to_string(), |message| message.text)),
    }
}

fn option(key: &str) -> Option<String> {
    let key = CString::new(key).ok()?;
    // Safety: both are C strings or NULL; the result belongs to GDAL and is copied at once. Covers
    // the environment as well.
    let value = unsafe { gdal_sys::CPLGetConfigOption(key.as_ptr(), std::ptr::null()) };
    if value.is_null() {
        return None;
    }
    // Safety: not NULL, NUL-terminated.
    let text = unsafe { CStr::from_ptr(value) };
    Some(text.to_string_lossy().into_owned())
}

fn set_default(key: &str, value: &str) {
    if option(key).is_none()
        && let Err(error) = gdal::config::set_config_option(key, value)
    {
        tracing::warn!("could not set {key}: {error}");
    }
}

#[cfg(feature = "bundled-gdal")]
fn set_for_paths(prefix: &str, key: &str, value: &str) {
    if option(key).is_some() {
        return;
    }
    if let (Ok(prefix), Ok(key), Ok(value)) =
        (CString::new(prefix), CString::new(key), CString::new(value))
    {
        // Safety: C strings that GDAL copies.
        unsafe {
            gdal_sys::VSISetPathSpecificOption(prefix.as_ptr(), key.as_ptr(), value.as_ptr())
        };
    }
}

/// GDAL before 3.6 has no path-specific options; set globally they would also affect local files,
/// so they are not set.
#[cfg(not(feature = "bundled-gdal"))]
fn set_for_paths(_prefix: &str, _key: &str, _value: &str) {}

fn proj_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // Safety: three valid pointers to integers.
    unsafe { gdal_sys::OSRGetPROJVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}

pub(super) fn tiff_compressions() -> Vec<String> {
    let options = DriverManager::get_driver_by_name("GTiff")
        .ok()
        .and_then(|driver| driver.metadata_item("DMD_CREATIONOPTIONLIST", ""));
    let Some(options) = options else {
        return Vec::new();
    };
    let list = options
        .split("name='COMPRESS'")
        .nth(1)
        .and_then(|rest| rest.split("</Option>").next())
        .unwrap_or_default();
    list.split("<Value>")
        .skip(1)
        .filter_map(|rest| rest.split("</Value>").next())
        .map(str::to_owned)
        .collect()
}

fn has_vsi(prefix: &str) -> bool {
    // Safety: returns a NULL-terminated list that is freed below.
    let list = unsafe { gdal_sys::VSIGetFileSystemsPrefixes() };
    if list.is_null() {
        return false;
    }
    let Ok(wanted) = CString::new(prefix) else {
        return false;
    };
    // Safety: the list is valid until it is destroyed, once.
    unsafe {
        let found =
            gdal_sys::CSLFindString(list.cast_const() as gdal_sys::CSLConstList, wanted.as_ptr())
                >= 0;
        gdal_sys::CSLDestroy(list);
        found
    }
}
