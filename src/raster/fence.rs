//! Opens samples of a dataset, which are untrusted: only with drivers that read every pixel from
//! the sample itself, under a path without siblings, and without network requests by GDAL. File
//! names inside a sample are never passed to GDAL.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};

use super::info::subdatasets;
use super::store::StoreFiles;
use super::variable::{Subdataset, name_of, order_tried, position_of};
use super::vsi_plugin::{self, Mounted};
use super::{RasterSource, VariableRead, gdal_errors, hdf5_links, hdf5_lock, references};
use crate::error::{Error, IoContext, Result};
use crate::model::AssetPath;
use crate::text::PrintableLine;
use crate::work_files::{WorkFile, WorkSubfolder};

/// Raster drivers whose files do not refer to other files, or only relative to their own path
/// (HFA), where none exists. Excluded are drivers that read pixels from elsewhere (VRT, GTI,
/// DERIVED, WMS, GDALG, STACTA), formats of a header and a data file (ENVI, EHdr, ISCE, RRASTER,
/// GenBin, SNODAS, NDF) and products of many files (SAFE, SENTINEL2).
const RASTERS: &[&str] = &[
    "GTiff",
    "PNG",
    "JPEG",
    "JP2OpenJPEG",
    "WEBP",
    "GIF",
    "BIGGIF",
    "BMP",
    "HFA",
    "GRIB",
    "AAIGrid",
    "GRASSASCIIGrid",
    "ISG",
    "PNM",
    "BT",
    "GTX",
    "NTv2",
    "DOQ1",
    "DOQ2",
];
/// The driver of a Zarr store in a ZIP; it opens the folder of [`Mounted::add_store`], which has
/// the files of the sample only.
const ZARR: &[&str] = &["Zarr"];
/// HDF5 drivers, used only after [`hdf5_links::check`]: HDF5 files can refer to other files in
/// three ways.
const HDF5: &[&str] = &["BAG", "S102", "S104", "S111", "HDF5"];
/// Vector drivers whose files contain all features. Excluded: Shapefile (several files) and plain
/// SQLite (virtual tables). ESRIJSON asks a server for further features only where the path is an
/// address.
const VECTORS: &[&str] = &[
    "GeoJSON",
    "GeoJSONSeq",
    "TopoJSON",
    "ESRIJSON",
    "FlatGeobuf",
    "CSV",
    "GPKG",
];
/// Drivers used to identify a file in memory; netCDF and SQLite are listed for identification only.
pub(super) fn identification_drivers() -> impl Iterator<Item = &'static str> {
    [RASTERS, &["netCDF"], HDF5, VECTORS, &["SQLite"]]
        .into_iter()
        .flatten()
        .copied()
}

/// True for a raster driver with which members are opened.
pub(super) fn is_raster_driver(name: &str) -> bool {
    RASTERS.contains(&name)
}

/// File extensions by which drivers identify formats that have no signature.
const TELLING: &[&str] = &["csv", "gpkg", "fgb"];
/// Maximum number of subdatasets tried when the parent has no bands. Subdatasets of subdatasets are
/// not opened.
const SUBDATASETS_TRIED: usize = 4;
/// Bytes read to identify a file.
const HEAD: u64 = 64 << 10;
/// Maximum bytes of a sample that is copied to a temporary file.
const COPY_LIMIT_BYTES: u64 = 512 << 20;
/// Bytes per step of the copy.
const COPY_CHUNK: u64 = 8 << 20;

/// A member that GDAL opened.
pub(super) struct FencedMember {
    pub dataset: Dataset,
    pub subdatasets: Vec<Subdataset>,
    pub shown: Option<String>,
    pub variable: Option<VariableRead>,
    pub copy: Option<Copy>,
}

/// File name under which GDAL sees the member; the member's own name is untrusted, so only a known
/// extension is kept.
pub(super) fn name_for(asset: &AssetPath) -> String {
    let ending = match asset {
        AssetPath::File(path) => path
            .extension()
            .and_then(|ending| ending.to_str())
            .map(str::to_ascii_lowercase),
        AssetPath::Packed(member) => member
            .file_name()
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase()),
        AssetPath::Range { .. } | AssetPath::Vsi(_) => None,
    };
    match ending.filter(|ending| TELLING.contains(&ending.as_str())) {
        Some(ending) => format!("sample.{ending}"),
        None => "sample".into(),
    }
}

/// Opens a mounted member. The caller holds the HDF5 lock if the file is HDF5 or netCDF.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a file that refers to others;
/// [`Kind::Format`](crate::error::Kind::Format) with GDAL's reason;
/// [`Kind::Usage`](crate::error::Kind::Usage) for a variable that the file does not have; those of
/// reads.
pub(super) fn open(source: &RasterSource, mounted: &Mounted) -> Result<FencedMember> {
    let asset = source.asset();
    let head = mounted.read(0, HEAD)?;
    let store = StoreFiles::find(mounted.bytes(), mounted.packed_folder(), &head)
        .map_err(|error| at_asset(error, asset))?;
    if let Some(store) = store {
        return open_store(source, mounted, store);
    }
    let direct = if hdf5_lock::is_hdf5(|at, magic| {
        mounted
            .read(at, magic.len() as u64)
            .is_ok_and(|bytes| bytes == magic)
    }) {
        hdf5_links::check(mounted, asset)?;
        open_with(&mounted.path(), HDF5, GdalOpenFlags::GDAL_OF_RASTER, asset)
    } else {
        open_plain(asset, mounted, &head)
    };
    if let Some(NetCdf {
        dataset,
        variables,
        shown,
        copy,
    }) = as_netcdf(source, mounted, &head, &direct)?
    {
        let (place, own) = (copy.path().to_string_lossy().into_owned(), asset.to_vsi());
        let variable = VariableRead::from_source(source, &variables, shown, &place);
        // Subdataset names of the temporary copy become invalid with it; those of the sample remain
        // valid.
        let subdatasets = match direct.as_ref().map(subdatasets) {
            Ok(listed) if !listed.is_empty() => named_by(asset, mounted, listed),
            _ => variables
                .into_iter()
                .map(|one| Subdataset {
                    name: one.name.replace(&place, &own),
                    ..one
                })
                .collect(),
        };
        let read = variable
            .as_ref()
            .and_then(|variable| variable.name.as_deref());
        let same = subdatasets
            .iter()
            .find(|one| read.is_some_and(|read| name_of(one, &own) == read));
        let shown = same.or(subdatasets.first()).map(|shown| shown.name.clone());
        return Ok(FencedMember {
            dataset,
            subdatasets,
            shown,
            variable,
            copy: Some(copy),
        });
    }
    let dataset = direct?;
    if let Some(file) = overviews_of(&dataset) {
        return Err(overviews_elsewhere(&file, asset));
    }
    let subdatasets = subdatasets(&dataset);
    let (dataset, shown) = with_pixels(dataset, &subdatasets, &mounted.path(), source)?;
    let variable = VariableRead::from_source(source, &subdatasets, shown, &mounted.path());
    let shown = shown.map(|at| subdatasets[at].name.clone());
    let own = asset.to_vsi();
    Ok(FencedMember {
        dataset,
        shown: shown.map(|name| replace_mount(&name, mounted, &own)),
        subdatasets: named_by(asset, mounted, subdatasets),
        variable,
        copy: None,
    })
}

/// The file that GDAL would open with any driver when overviews are requested.
fn overviews_of(dataset: &Dataset) -> Option<String> {
    dataset.metadata_item("OVERVIEW_FILE", "OVERVIEWS")
}

fn overviews_elsewhere(file: &str, asset: &AssetPath) -> Error {
    Error::unsupported(format!(
        "this raster keeps its overviews in another file: {}",
        file.printable_line()
    ))
    .at_place(asset)
    .hint(
        "a sample of a dataset holds all of its pixels; take the OVERVIEWS metadata out of the \
            file",
    )
}

fn at_asset(error: Error, asset: &AssetPath) -> Error {
    if error.place().is_some() {
        error
    } else {
        error.at_place(asset)
    }
}

/// Opens the store whose files are in the mounted sample.
fn open_store(source: &RasterSource, mounted: &Mounted, store: StoreFiles) -> Result<FencedMember> {
    let asset = source.asset();
    let own = format!("/vsizip/{{{}}}/{}", asset.to_vsi(), store.inside);
    let own = own.trim_end_matches('/');
    store
        .expect_small_chunks(mounted.bytes())
        .map_err(|error| at_asset(error, asset))?;
    let store = Arc::new(store);
    let path = mounted.add_store(store.clone());
    let dataset = open_with(&path, ZARR, GdalOpenFlags::GDAL_OF_RASTER, asset)?;
    let mut subdatasets = subdatasets(&dataset);
    let (dataset, shown) = with_pixels(dataset, &subdatasets, &path, source)?;
    // Each array has a name for overviews beside it, whether or not such a file is there.
    if let Some(file) = overviews_of(&dataset) {
        let below = file
            .strip_prefix(&path)
            .and_then(|below| below.strip_prefix('/'));
        if below.is_none_or(|below| store.file(below).is_some()) {
            return Err(overviews_elsewhere(&file, asset));
        }
    }
    let variable = VariableRead::from_source(source, &subdatasets, shown, &path);
    for subdataset in &mut subdatasets {
        subdataset.name = subdataset.name.replace(&path, own);
    }
    Ok(FencedMember {
        dataset,
        shown: shown.map(|at| subdatasets[at].name.clone()),
        subdatasets,
        variable,
        copy: None,
    })
}

fn open_plain(asset: &AssetPath, mounted: &Mounted, head: &[u8]) -> Result<Dataset> {
    let direct = open_with(
        &mounted.path(),
        RASTERS,
        GdalOpenFlags::GDAL_OF_RASTER,
        asset,
    );
    let Err(error) = direct else { return direct };
    if vsi_plugin::has_fault() || error.is_cancelled() {
        return Err(error);
    }
    if let Some(named) = references::find_references(head) {
        return Err(named.refusal(asset));
    }
    // With OF_VECTOR the JPEG 2000 driver would read GML that refers to schemas; none of these
    // drivers does.
    let flags = GdalOpenFlags::GDAL_OF_RASTER | GdalOpenFlags::GDAL_OF_VECTOR;
    match open_with(&mounted.absolute_path(), VECTORS, flags, asset) {
        Ok(dataset) => Ok(dataset),
        Err(_) => Err(error),
    }
}

/// Subdataset names with the sample's own GDAL path instead of the mount's.
fn named_by(
    asset: &AssetPath,
    mounted: &Mounted,
    mut subdatasets: Vec<Subdataset>,
) -> Vec<Subdataset> {
    let own = asset.to_vsi();
    for subdataset in &mut subdatasets {
        subdataset.name = replace_mount(&subdataset.name, mounted, &own);
    }
    subdatasets
}

fn replace_mount(name: &str, mounted: &Mounted, own: &str) -> String {
    name.replace(&mounted.path(), own)
        .replace(&mounted.absolute_path(), own)
}

/// The subdataset that `source` names, with its position. Without a choice the dataset, or its
/// first subdataset with bands if it has none. Only subdatasets of the file at `path`, which is
/// this sample, are opened: a file can state any name.
fn with_pixels(
    dataset: Dataset,
    subdatasets: &[Subdataset],
    path: &str,
    source: &RasterSource,
) -> Result<(Dataset, Option<usize>)> {
    if let Some(at) = position_of(source, &dataset, subdatasets, path)? {
        let candidate = &subdatasets[at];
        let Some(driver) = driver_of_subdataset(candidate, path) else {
            return Err(Error::unsupported(
                "a subdataset that is not in the sample itself is not opened",
            )
            .at_place(source.asset()));
        };
        return Ok((
            open_subdataset(candidate, driver, source.asset())?,
            Some(at),
        ));
    }
    if dataset.raster_count() == 0 {
        let inside = order_tried(subdatasets, path).into_iter().filter_map(|at| {
            let candidate = &subdatasets[at];
            Some((at, candidate, driver_of_subdataset(candidate, path)?))
        });
        for (at, candidate, driver) in inside.take(SUBDATASETS_TRIED) {
            if let Ok(inner) = open_subdataset(candidate, driver, source.asset())
                && inner.raster_count() > 0
            {
                return Ok((inner, Some(at)));
            }
        }
    }
    Ok((dataset, None))
}

fn open_subdataset(candidate: &Subdataset, driver: &str, asset: &AssetPath) -> Result<Dataset> {
    open_with(
        &candidate.name,
        &[driver],
        GdalOpenFlags::GDAL_OF_RASTER,
        asset,
    )
}

/// The driver of a subdataset of the file at `path`; `None` for one of another file.
fn driver_of_subdataset(subdataset: &Subdataset, path: &str) -> Option<&'static str> {
    let name = &subdataset.name;
    if is_subdataset_of(name, "HDF5", path) {
        Some("HDF5Image")
    } else if is_subdataset_of(name, "NETCDF", path) {
        Some("netCDF")
    } else if is_subdataset_of(name, "ZARR", path) {
        Some("Zarr")
    } else if is_tiff_directory(name, path) {
        Some("GTiff")
    } else {
        None
    }
}

fn is_subdataset_of(name: &str, driver: &str, path: &str) -> bool {
    name.strip_prefix(driver)
        .is_some_and(|rest| rest.starts_with(&format!(":\"{path}\":")))
}

fn is_tiff_directory(name: &str, path: &str) -> bool {
    let number = name
        .strip_prefix("GTIFF_DIR:")
        .and_then(|rest| rest.strip_suffix(path))
        .and_then(|rest| rest.strip_suffix(':'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Opens a path made by this program with the given drivers and an empty sibling list.
fn open_with(
    path: &str,
    drivers: &[&str],
    flags: GdalOpenFlags,
    asset: &AssetPath,
) -> Result<Dataset> {
    let open_flags = GdalOpenFlags::GDAL_OF_READONLY | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR | flags;
    let options = DatasetOptions {
        open_flags,
        allowed_drivers: Some(drivers),
        sibling_files: Some(&[]),
        ..Default::default()
    };
    gdal_errors::open(asset, path, || Dataset::open_ex(path, options))
}

/// A netCDF sample that the netCDF driver opened: its variables, and the position of the one that
/// was opened.
struct NetCdf {
    dataset: Dataset,
    variables: Vec<Subdataset>,
    shown: Option<usize>,
    copy: Copy,
}

/// Opens a netCDF sample with the netCDF driver. The netCDF library reads only regular files;
/// GDAL's HDF5 driver opens netCDF-4 without coordinates, and no other driver opens classic netCDF.
/// So a link to the file, or a temporary copy of the range, is opened. `None` when that adds
/// neither bands nor georeferencing.
///
/// # Errors
/// For a variable that the file does not have.
fn as_netcdf(
    source: &RasterSource,
    mounted: &Mounted,
    head: &[u8],
    direct: &Result<Dataset>,
) -> Result<Option<NetCdf>> {
    let asset = source.asset();
    let by_hdf5 = direct
        .as_ref()
        .is_ok_and(|dataset| dataset.driver().short_name().starts_with("HDF5"));
    // Only a superblock at offset 0: others were not checked.
    let classic = head.starts_with(b"CDF")
        && head
            .get(3)
            .is_some_and(|version| matches!(version, 1 | 2 | 5));
    let newer = hdf5_lock::is_hdf5(|at, magic| at == 0 && head.starts_with(magic));
    if !(classic || newer) || !(by_hdf5 || direct.is_err()) {
        return Ok(None);
    }
    let Some(copy) = link_in_temp_folder(asset).or_else(|| copy_to_temp_file(mounted)) else {
        return Ok(None);
    };
    let path = copy.path().to_string_lossy().into_owned();
    let Ok(dataset) = open_with(&path, &["netCDF"], GdalOpenFlags::GDAL_OF_RASTER, asset) else {
        return Ok(None);
    };
    let variables = subdatasets(&dataset);
    let (dataset, shown) = match with_pixels(dataset, &variables, &path, source) {
        Ok(found) => found,
        // The HDF5 driver may have the variable: it lists arrays of every shape.
        Err(_)
            if direct
                .as_ref()
                .is_ok_and(|dataset| !subdatasets(dataset).is_empty()) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let placed = dataset.geo_transform().is_ok() || dataset.spatial_ref().is_ok();
    let adds = dataset.raster_count() > 0
        && (placed
            || direct.is_err()
            || (!reads_first_variable(direct, variables.len(), source, &mounted.path())
                && has_values(&dataset)));
    Ok(adds.then_some(NetCdf {
        dataset,
        variables,
        shown,
        copy,
    }))
}

/// True when the HDF5 driver, which opened `direct`, reads the variable that is asked for, or else
/// the first of those that the netCDF driver counts: it reads none of more than three dimensions.
fn reads_first_variable(
    direct: &Result<Dataset>,
    variable_count: usize,
    source: &RasterSource,
    path: &str,
) -> bool {
    let Ok(dataset) = direct else {
        return false;
    };
    if dataset.raster_count() > 0 {
        // The only one that it reads, whose name it does not say.
        return source.variable().is_none() && variable_count < 2;
    }
    let listed = subdatasets(dataset);
    let first = match source.variable() {
        Some(wanted) => listed.iter().position(|one| name_of(one, path) == **wanted),
        None => order_tried(&listed, path).first().copied(),
    };
    let opened = first
        .and_then(|at| listed.get(at))
        .and_then(|one| Some((one, driver_of_subdataset(one, path)?)))
        .map(|(one, driver)| open_subdataset(one, driver, source.asset()));
    opened.is_some_and(|opened| opened.is_ok_and(|inner| inner.raster_count() > 0))
}

/// True when the first value can be read: the netCDF driver opens arrays of types that it does not
/// read, such as booleans of HDF5.
fn has_values(dataset: &Dataset) -> bool {
    let (found, _) = gdal_errors::listen(|| {
        dataset
            .rasterband(1)
            .and_then(|band| band.read_as::<f64>((0, 0), (1, 1), (1, 1), None))
    });
    found.is_ok()
}

/// A symbolic link to a local file in a new temporary folder, so that the library sees a fixed name
/// and no siblings.
#[cfg(unix)]
fn link_in_temp_folder(asset: &AssetPath) -> Option<Copy> {
    let AssetPath::File(_) = asset else {
        return None;
    };
    let path = std::fs::canonicalize(asset.local_file()?).ok()?;
    let folder = WorkSubfolder::create().ok()?;
    std::os::unix::fs::symlink(path, folder.path().join(LINK)).ok()?;
    Some(Copy::Link(folder))
}

#[cfg(not(unix))]
fn link_in_temp_folder(_: &AssetPath) -> Option<Copy> {
    None
}

/// File name of the link.
const LINK: &str = "sample.nc";

/// A temporary file or link that a library opens instead of a sample.
pub enum Copy {
    /// A copy of the bytes, removed on drop.
    File(WorkFile),
    /// A link to the sample's file in a folder that is removed on drop.
    #[cfg_attr(
        not(unix),
        allow(dead_code, reason = "Windows makes links for administrators alone")
    )]
    Link(WorkSubfolder),
}

impl Copy {
    pub fn path(&self) -> PathBuf {
        match self {
            Copy::File(file) => file.path().to_owned(),
            Copy::Link(folder) => folder.path().join(LINK),
        }
    }
}

fn copy_to_temp_file(mounted: &Mounted) -> Option<Copy> {
    if mounted.size() > COPY_LIMIT_BYTES {
        return None;
    }
    let copy = WorkFile::create(".nc", |file| {
        let mut done = 0;
        while done < mounted.size() {
            let bytes = mounted.read(done, COPY_CHUNK)?;
            file.write_all(&bytes)
                .io_at("write into the temporary folder", std::env::temp_dir())?;
            done += bytes.len() as u64;
        }
        Ok(())
    });
    copy.ok().map(Copy::File)
}

/// While alive, GDAL makes no HTTP requests of its own on this thread, and finds no support files
/// outside of its own data: even a coordinate system can be a URL, or name a dictionary. Reads of
/// remote samples use another path.
pub(super) struct Fence {
    installed: bool,
    /// `!Send`: pushed and popped on one thread.
    _thread: PhantomData<*const ()>,
}

thread_local! {
    /// Fences that are alive on this thread.
    static FENCES: Cell<usize> = const { Cell::new(0) };
}

/// Names of files that GDAL's network file systems may open; a file of this ending is not opened by
/// GDAL.
const NETWORK_NAMES: (&str, &str) = ("CPL_VSIL_CURL_ALLOWED_EXTENSIONS", ".taco-studio-none");

impl Fence {
    /// Blocks GDAL's HTTP requests and searches for files on this thread.
    pub(super) fn up() -> Self {
        if FENCES.replace(FENCES.get() + 1) == 0 {
            let _ = gdal::config::set_thread_local_config_option(NETWORK_NAMES.0, NETWORK_NAMES.1);
            // Safety: functions that change lists of this thread; the strings are copied.
            unsafe {
                if cfg!(feature = "bundled-gdal") {
                    // Its data is linked in; the list begins with the working directory.
                    (0..FINDER_LOCATIONS).for_each(|_| gdal_sys::CPLPopFinderLocation());
                    if let Ok(folder) = gdal::config::get_config_option("GDAL_DATA", "")
                        && !folder.is_empty()
                        && let Ok(folder) = CString::new(folder)
                    {
                        gdal_sys::CPLPushFinderLocation(folder.as_ptr());
                    }
                }
                gdal_sys::CPLPushFileFinder(Some(find_outside));
            }
        }
        // Safety: a function without state.
        let installed = unsafe { CPLHTTPPushFetchCallback(refuse, std::ptr::null_mut()) } != 0;
        Self {
            installed,
            _thread: PhantomData,
        }
    }
}

/// At least as many locations as GDAL has at first: the working directory, GDAL_DATA or the folder
/// of its installation.
const FINDER_LOCATIONS: usize = 8;

impl Drop for Fence {
    fn drop(&mut self) {
        if self.installed {
            // Safety: pops the callback pushed by `up`, on the same thread.
            unsafe { CPLHTTPPopFetchCallback() };
        }
        if FENCES.replace(FENCES.get().saturating_sub(1)) == 1 {
            let _ = gdal::config::clear_thread_local_config_option(NETWORK_NAMES.0);
            // Safety: forgets the lists of this thread; the next search makes them anew.
            unsafe { gdal_sys::CPLFinderClean() };
        }
    }
}

/// A path that does not exist, for names that lead out of GDAL's data; the other finders are asked
/// for plain names.
unsafe extern "C" fn find_outside(_class: *const c_char, name: *const c_char) -> *const c_char {
    // Safety: GDAL passes a C string.
    let leads_out = !name.is_null()
        && unsafe { CStr::from_ptr(name) }
            .to_bytes()
            .iter()
            .any(|byte| b"/\\:".contains(byte));
    if leads_out {
        c"/nonexistent/taco-studio".as_ptr()
    } else {
        std::ptr::null()
    }
}

/// The first fields of GDAL's `CPLHTTPResult`, and padding for those that later versions append.
#[repr(C)]
struct HttpResult {
    status: c_int,
    content_type: *mut c_char,
    error: *mut c_char,
    length: c_int,
    allocated: c_int,
    data: *mut u8,
    headers: *mut *mut c_char,
    mime_parts: c_int,
    mime: *mut c_void,
    later: [u64; 8],
}

type FetchCallback = unsafe extern "C" fn(
    *const c_char,
    *const *const c_char,
    gdal_sys::GDALProgressFunc,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> *mut HttpResult;

unsafe extern "C" {
    fn CPLHTTPPushFetchCallback(function: FetchCallback, data: *mut c_void) -> c_int;
    fn CPLHTTPPopFetchCallback() -> c_int;
}

/// Fails every request before anything is sent.
unsafe extern "C" fn refuse(
    _: *const c_char,
    _: *const *const c_char,
    _: gdal_sys::GDALProgressFunc,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
) -> *mut HttpResult {
    // Safety: zeroed memory from GDAL's allocator; GDAL frees it and the string.
    unsafe {
        let result = gdal_sys::VSICalloc(1, size_of::<HttpResult>()).cast::<HttpResult>();
        if !result.is_null() {
            (*result).status = 1;
            (*result).error = gdal_sys::VSIStrdup(c"bytes of a dataset make no requests".as_ptr());
        }
        result
    }
}
