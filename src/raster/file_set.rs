//! Formats of several files: ENVI, ESRI BIL, ERDAS with a spill file, Shapefile and others. Which
//! files belong together is what GDAL says of the opened dataset (its file list), not a list of
//! extensions. Files are opened through [`super::vsi_plugin`] under a path that has these files
//! only, so that nothing else is read, whatever a header names.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use gdal::{Dataset, DatasetOptions, DriverManager, GdalOpenFlags};

use super::fence::Fence;
use super::info::{self, RasterInfo};
use super::pixels::{ReadRequest, Resampling, read_window};
use super::vsi_plugin::{self, Mounted};
use super::{BandIndex, RasterSource, Sidecar, Window, environment, fence, gdal_errors};
use crate::error::{Error, IoContext, Kind, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Drivers that are not asked: they follow names in a file to other files, addresses or databases,
/// only write, or read formats of one file for which the HDF5 lock is needed. What follows names is
/// recognised by [`super::references_of`].
const NOT_ASKED: &[&str] = &[
    "VRT",
    "DERIVED",
    "OGR_VRT",
    "GTI",
    "GDALG",
    "STACTA",
    "STACIT",
    "WMS",
    "WMTS",
    "WCS",
    "WFS",
    "OAPIF",
    "OGCAPI",
    "CSW",
    "HTTP",
    "DAAS",
    "EEDA",
    "EEDAI",
    "PLSCENES",
    "PLMOSAIC",
    "NGW",
    "AmigoCloud",
    "Carto",
    "CARTODB",
    "Elasticsearch",
    "PostgreSQL",
    "PostGISRaster",
    "MySQL",
    "MSSQLSpatial",
    "ODBC",
    "OCI",
    "GEORASTER",
    "HANA",
    "MongoDBv3",
    "RASDAMAN",
    "TileDB",
    "ADBC",
    "SAFE",
    "SENTINEL2",
    "SNODAS",
    "DIMAP",
    "RCM",
    "RS2",
    "TSX",
    "TIL",
    "KMLSUPEROVERLAY",
    "LIBKML",
    "MEM",
    "Memory",
    "COG",
    "netCDF",
    "HDF4",
    "HDF4Image",
    "HDF5",
    "HDF5Image",
    "BAG",
    "S102",
    "S104",
    "S111",
    "KEA",
    "SQLite",
    "GPKG",
    "MBTiles",
    "Rasterlite",
    "CSV",
    "GeoJSON",
    "GeoJSONSeq",
    "ESRIJSON",
    "TopoJSON",
    "JSONFG",
    "FlatGeobuf",
    "Parquet",
    "Arrow",
    "PDF",
    "XLS",
    "XLSX",
    "ODS",
    "GPSBabel",
];
/// Maximum number of files beside a file. More of one stem are numbered files, not parts of a
/// raster.
const BESIDE_MAX: usize = 32;
/// Maximum length of a name in bytes.
const NAME_MAX: usize = 255;

/// A file of a folder: of a draft, or a FILE of a FOLDER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAsset {
    /// Name in its folder.
    pub name: String,
    /// Its bytes.
    pub asset: AssetPath,
}

/// What GDAL reads together with a file.
#[derive(Clone, Debug)]
pub struct FileSet {
    /// The dataset as all files together give it.
    pub info: RasterInfo,
    /// Names of the other files, as the driver lists them.
    pub others: Vec<String>,
    /// True when the file can't be read alone: without the others it does not give the same size,
    /// bands and types, or the same layers.
    pub needs_others: bool,
    /// The sidecars whose content the file alone lacks, when it can be read alone.
    pub lost: Vec<Sidecar>,
}

/// Contents on one line: driver, size, bands and type; or driver and number of layers.
pub fn contents_of(info: &RasterInfo) -> String {
    let driver = &info.driver;
    if info.is_vector() {
        return tr_n!(
            info.layers.len(),
            "{driver}, {n} layer",
            "{driver}, {n} layers",
            driver,
            n = info.layers.len()
        );
    }
    let dtype = info.bands.first().map_or("", |band| band.dtype.as_str());
    let (width, height, n) = (info.width, info.height, info.band_count);
    tr_n!(
        n,
        "{driver}, {width} × {height}, {n} band of {dtype}",
        "{driver}, {width} × {height}, {n} bands of {dtype}",
        driver,
        width,
        height,
        n,
        dtype
    )
}

/// Names of files, found by their stem without regard to case.
#[derive(Clone, Debug, Default)]
pub struct NamesByStem {
    /// The names in lower case, one behind the other: a folder may have a million files.
    lower: String,
    /// For each name its end in `lower`.
    ends: Vec<usize>,
    /// Indices of the names, in the order of the names in lower case.
    sorted: Vec<u32>,
}

impl NamesByStem {
    /// Indexes names, at most four billion.
    pub fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for name in names {
            index.lower.push_str(&name.to_lowercase());
            index.ends.push(index.lower.len());
        }
        let mut sorted: Vec<u32> = (0..index.ends.len() as u32).collect();
        sorted.sort_unstable_by(|a, b| {
            index
                .lower_name(*a)
                .cmp(index.lower_name(*b))
                .then(a.cmp(b))
        });
        index.sorted = sorted;
        index
    }

    fn lower_name(&self, index: u32) -> &str {
        let start = (index as usize)
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        &self.lower[start..self.ends[index as usize]]
    }

    /// Indices of the names that may belong to the file `name` by their stem, as `cube.hdr` and
    /// `cube.dat.hdr` to `cube.dat`. Empty when there are more than a format has.
    pub fn of_stem(&self, name: &str) -> Vec<usize> {
        let lower = name.to_lowercase();
        let stem = lower
            .rsplit_once('.')
            .map_or(lower.as_str(), |(stem, _)| stem);
        if stem.is_empty() {
            return Vec::new();
        }
        let dotted = format!("{stem}.");
        let behind = self.sorted[self.find_first_name(&dotted)..]
            .iter()
            .take_while(|&&index| self.lower_name(index).starts_with(&dotted));
        // `cube` without an extension, to `cube.hdr`.
        let bare = self
            .sorted
            .get(self.find_first_name(stem))
            .filter(|&&index| self.lower_name(index) == stem);
        let found = bare
            .into_iter()
            .chain(behind.take(BESIDE_MAX + 2))
            .filter(|&&index| self.lower_name(index) != lower);
        let found: Vec<usize> = found.map(|&index| index as usize).collect();
        if found.len() > BESIDE_MAX {
            Vec::new()
        } else {
            found
        }
    }

    /// The position in `sorted` of the first name that is not before `text`.
    fn find_first_name(&self, text: &str) -> usize {
        self.sorted
            .partition_point(|&index| self.lower_name(index) < text)
    }
}

/// The regular files of a folder of this machine, by name.
#[derive(Clone, Debug, Default)]
pub struct FolderFiles {
    folder: PathBuf,
    names: Vec<Box<str>>,
    by_stem: NamesByStem,
}

impl FolderFiles {
    /// Lists the folder; none of its files where it can't be read.
    pub fn from_folder(folder: &Path) -> Self {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries
            .filter(is_file_or_link)
            .filter_map(|entry| Some(entry.file_name().into_string().ok()?.into_boxed_str()));
        let names: Vec<Box<str>> = names.collect();
        let by_stem = NamesByStem::from_names(names.iter().map(AsRef::as_ref));
        Self {
            folder: folder.to_owned(),
            names,
            by_stem,
        }
    }

    /// What GDAL reads together with the file `name` of the folder ([`file_set`]).
    ///
    /// # Errors
    /// Those of [`file_set`].
    pub fn file_set(&self, name: &str, ctx: &JobContext) -> Result<Option<FileSet>> {
        let beside = self
            .by_stem
            .of_stem(name)
            .into_iter()
            .filter_map(|at| self.names.get(at));
        let beside: Vec<NamedAsset> = beside
            .filter(|name| self.folder.join(&***name).is_file())
            .map(|name| self.name_asset(name))
            .collect();
        file_set(&self.name_asset(name), &beside, ctx)
    }

    fn name_asset(&self, name: &str) -> NamedAsset {
        NamedAsset {
            name: name.to_owned(),
            asset: AssetPath::file(self.folder.join(name)),
        }
    }
}

fn is_file_or_link(entry: &std::fs::DirEntry) -> bool {
    entry
        .file_type()
        .is_ok_and(|kind| kind.is_file() || kind.is_symlink())
}

/// What GDAL reads together with `file` among the files `beside` it; `None` for a file that GDAL
/// opens with no driver, or without the others.
///
/// # Errors
/// Those of reading the files, and cancellation.
pub fn file_set(
    file: &NamedAsset,
    beside: &[NamedAsset],
    ctx: &JobContext,
) -> Result<Option<FileSet>> {
    environment::init();
    vsi_plugin::take_fault();
    let beside: Vec<&NamedAsset> = beside
        .iter()
        .filter(|named| has_plain_file_name(named))
        .take(BESIDE_MAX)
        .collect();
    if beside.is_empty() || !has_plain_file_name(file) {
        return Ok(None);
    }
    let _fence = Fence::up();
    let mounted = mount(file)?;
    let mut siblings = Vec::with_capacity(beside.len());
    for sibling in &beside {
        ctx.check()?;
        let sibling = mount(sibling)?;
        mounted.add_sibling(&sibling);
        siblings.push(sibling);
    }
    let names: Vec<&str> = std::iter::once(file)
        .chain(beside.iter().copied())
        .map(|named| named.name.as_str())
        .collect();
    let asked = list_asked_drivers();
    let drivers: Vec<&str> = asked.iter().map(String::as_str).collect();
    let Some(together) = open_with(&mounted, &names, &drivers)? else {
        return Ok(None);
    };
    let others: Vec<String> = file_list(&together)
        .iter()
        .filter_map(|path| path.rsplit('/').next())
        .filter(|name| *name != file.name && names.contains(name))
        .map(str::to_owned)
        .collect();
    if others.is_empty() {
        return Ok(None);
    }
    let info = info::collect(&together, None, Vec::new(), None, None);
    drop((together, siblings, mounted));
    let alone = mount(file)?;
    let alone = open_with(&alone, &[file.name.as_str()], &drivers)?
        .map(|dataset| info::collect(&dataset, None, Vec::new(), None, None));
    let needs_others = match &alone {
        Some(alone) => !is_same_raster(&info, alone) || !has_pixels(file, alone, ctx)?,
        None => true,
    };
    let lost = alone
        .filter(|_| !needs_others)
        .map(|alone| lost_of(&info, &alone, &others))
        .unwrap_or_default();
    Ok(Some(FileSet {
        info,
        others,
        needs_others,
        lost,
    }))
}

fn has_plain_file_name(named: &NamedAsset) -> bool {
    !named.name.is_empty()
        && named.name.len() <= NAME_MAX
        && !named.name.contains(['/', '\\', '\0'])
}

/// What `driver` reads from the bytes of a file alone; `None` when it can't open them.
///
/// # Errors
/// Those of reading the file.
pub fn describe_alone(file: &NamedAsset, driver: &str) -> Result<Option<RasterInfo>> {
    environment::init();
    vsi_plugin::take_fault();
    if NOT_ASKED.contains(&driver) {
        return Ok(None);
    }
    let _fence = Fence::up();
    let mounted = mount(file)?;
    let opened = open_with(&mounted, &[file.name.as_str()], &[driver])?;
    Ok(opened.map(|dataset| info::collect(&dataset, None, Vec::new(), None, None)))
}

/// True for rasters of one size with the same number of bands of the same types, and for files
/// without bands that have the same layers: a netCDF file with pixels also has tables, which it
/// shows to some openings alone.
pub fn is_same_raster(one: &RasterInfo, other: &RasterInfo) -> bool {
    (one.width, one.height, one.band_count) == (other.width, other.height, other.band_count)
        && list_dtypes(one).eq(list_dtypes(other))
        && (one.band_count > 0 || list_layer_names(one).eq(list_layer_names(other)))
}

fn list_dtypes(info: &RasterInfo) -> impl Iterator<Item = &str> {
    info.bands.iter().map(|band| band.dtype.as_str())
}

fn list_layer_names(info: &RasterInfo) -> impl Iterator<Item = &str> {
    info.layers.iter().map(|layer| layer.name.as_str())
}

/// True when the last pixel of the last band can be read from the file alone: a header may open
/// whose pixels are in another file.
fn has_pixels(file: &NamedAsset, info: &RasterInfo, ctx: &JobContext) -> Result<bool> {
    if info.band_count == 0
        || info.width == 0
        || info.height == 0
        || !fence::is_raster_driver(&info.driver)
    {
        return Ok(true);
    }
    let request = ReadRequest {
        window: Window {
            x: info.width - 1,
            y: info.height - 1,
            width: 1,
            height: 1,
        },
        out: (1, 1),
        bands: vec![BandIndex::from_position(info.band_count - 1)],
        resampling: Resampling::Nearest,
    };
    match read_window(&RasterSource::member(file.asset.clone()), &request, ctx) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == Kind::Format => Ok(false),
        Err(error) if error.is_cancelled() => Err(error),
        // Too large to be read at all: the other files are not the reason.
        Err(_) => Ok(true),
    }
}

fn lost_of(together: &RasterInfo, alone: &RasterInfo, others: &[String]) -> Vec<Sidecar> {
    let has_mask = others
        .iter()
        .any(|name| name.to_lowercase().ends_with(".msk"));
    let lost = [
        (has_mask, Sidecar::Mask),
        (
            list_nodata_bits(together).ne(list_nodata_bits(alone)),
            Sidecar::Metadata,
        ),
        (
            together.geotransform != alone.geotransform,
            Sidecar::WorldFile,
        ),
        (together.crs_wkt != alone.crs_wkt, Sidecar::Projection),
    ];
    lost.into_iter()
        .filter_map(|(is_lost, kind)| is_lost.then_some(kind))
        .collect()
}

fn list_nodata_bits(info: &RasterInfo) -> impl Iterator<Item = Option<u64>> {
    info.bands.iter().map(|band| band.nodata.map(f64::to_bits))
}

/// Names of the drivers of this build that are asked.
fn list_asked_drivers() -> Vec<String> {
    let names = DriverManager::all().map(|driver| driver.short_name());
    names
        .filter(|name| !NOT_ASKED.contains(&name.as_str()))
        .collect()
}

/// The dataset at a mounted file with the `siblings` that GDAL may look for; `None` when none of
/// the drivers opens it.
fn open_with(mounted: &Mounted, siblings: &[&str], drivers: &[&str]) -> Result<Option<Dataset>> {
    let open_flags = GdalOpenFlags::GDAL_OF_READONLY
        | GdalOpenFlags::GDAL_OF_RASTER
        | GdalOpenFlags::GDAL_OF_VECTOR;
    let options = DatasetOptions {
        open_flags,
        allowed_drivers: Some(drivers),
        sibling_files: Some(siblings),
        ..Default::default()
    };
    // Messages of drivers that do not recognise the file are discarded.
    let (opened, _) = gdal_errors::listen(|| Dataset::open_ex(mounted.path(), options));
    match vsi_plugin::take_fault() {
        Some(fault) => Err(fault),
        None => Ok(opened.ok()),
    }
}

fn mount(named: &NamedAsset) -> Result<Mounted> {
    match (vsi_plugin::place_of(&named.asset)?, &named.asset) {
        (Some(place), _) => Mounted::remote(&place, &named.name),
        (
            None,
            AssetPath::Range {
                container,
                offset,
                size,
                ..
            },
        ) => Mounted::local(container, *offset, *size, &named.name),
        (None, AssetPath::File(path)) => {
            let size = crate::files::metadata(path)
                .io_at("open the raster", &**path)?
                .len();
            Mounted::local(path, 0, size, &named.name)
        }
        (None, AssetPath::Packed(member)) => Mounted::from_packed_member(member, &named.name),
        (None, AssetPath::Vsi(_)) => Err(Error::unsupported(
            "a path that only GDAL can open has no bytes to mount",
        )
        .at_place(&named.asset)),
    }
}

/// Paths of the files that the driver reads for this dataset.
fn file_list(dataset: &Dataset) -> Vec<String> {
    let mut paths = Vec::new();
    // Safety: GDAL gives a list of C strings that ends with null, or null; it belongs to the
    // caller, which frees it after the last read.
    unsafe {
        let list = gdal_sys::GDALGetFileList(dataset.c_dataset());
        let mut entry = list;
        while !entry.is_null() && !(*entry).is_null() {
            paths.push(CStr::from_ptr(*entry).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        gdal_sys::CSLDestroy(list);
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        std::fs::write(folder.join(name), bytes).expect("writes");
    }

    fn set_of(folder: &Path, name: &str) -> Option<FileSet> {
        FolderFiles::from_folder(folder)
            .file_set(name, &JobContext::default())
            .expect("looks")
    }

    fn envi_header(bands: usize) -> String {
        format!(
            "ENVI\nsamples = 8\nlines = 8\nbands = {bands}\nheader offset = 0\nfile type = ENVI \
                Standard\ndata type = 12\n\
             interleave = bsq\nbyte order = 0\n"
        )
    }

    #[test]
    fn rasters_of_two_files_are_recognised_by_the_file_list_of_gdal() {
        let folder = tempfile::tempdir().expect("a folder");
        for (data, header) in [
            ("cube.dat", "cube.hdr"),
            ("other.img", "other.img.hdr"),
            ("bare", "bare.HDR"),
        ] {
            write(folder.path(), data, &[1; 8 * 8 * 3 * 2]);
            write(folder.path(), header, envi_header(3).as_bytes());
            let set = set_of(folder.path(), data).expect("is a set");
            assert!(
                set.needs_others && set.info.driver == "ENVI",
                "{data}: {set:?}"
            );
            assert_eq!(
                (
                    set.info.width,
                    set.info.band_count,
                    set.info.bands[0].dtype.as_str()
                ),
                (8, 3, "UInt16")
            );
            assert_eq!(set.others, [header]);
            assert!(
                set_of(folder.path(), header)
                    .is_none_or(|set| !set.needs_others || set.others == [data]),
                "{header}"
            );
        }
        write(folder.path(), "dem.bil", &[1; 4 * 4 * 2]);
        write(
            folder.path(),
            "dem.hdr",
            b"NROWS 4\nNCOLS 4\nNBANDS 1\nNBITS 16\nLAYOUT BIL\nBYTEORDER I\n",
        );
        let set = set_of(folder.path(), "dem.bil").expect("is a set");
        assert!(
            set.needs_others && set.info.driver == "EHdr" && set.others == ["dem.hdr"],
            "{set:?}"
        );
    }

    #[test]
    fn files_of_one_stem_that_have_nothing_to_do_with_each_other_are_no_set() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), "a.json", b"{\"class\": 1}");
        write(folder.path(), "a.txt", b"text");
        write(folder.path(), "a.npy", b"\x93NUMPY\x01\0v\0");
        write(folder.path(), "a.hdr", b"not a header of a raster");
        for name in ["a.json", "a.txt", "a.npy", "a.hdr"] {
            assert!(set_of(folder.path(), name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_grid_that_can_be_read_alone_lacks_what_is_in_the_files_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        write(
            folder.path(),
            "dem.asc",
            b"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4\n",
        );
        let wkt = r#"GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",
            SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],
            UNIT["Degree",0.0174532925199433]]"#;
        write(folder.path(), "dem.prj", wkt.as_bytes());
        let set = set_of(folder.path(), "dem.asc").expect("is a set");
        assert!(!set.needs_others && set.others == ["dem.prj"], "{set:?}");
        assert_eq!(set.lost, [Sidecar::Projection]);
    }

    #[test]
    fn an_imagine_file_whose_pixels_are_in_another_file_can_not_be_read_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        environment::init();
        let path = folder.path().join("scene.img");
        let driver = DriverManager::get_driver_by_name("HFA").expect("is there");
        let options = gdal::raster::RasterCreationOptions::from_iter(["USE_SPILL=YES"]);
        let dataset = driver
            .create_with_band_type_with_options::<u8, _>(&path, 64, 64, 1, &options)
            .expect("creates");
        let mut pixels = gdal::raster::Buffer::new((64, 64), vec![7u8; 64 * 64]);
        dataset
            .rasterband(1)
            .expect("a band")
            .write((0, 0), (64, 64), &mut pixels)
            .expect("writes");
        dataset.close().expect("closes");
        let set = set_of(folder.path(), "scene.img").expect("is a set");
        assert!(
            set.needs_others && set.others.contains(&"scene.ige".to_owned()),
            "{set:?}"
        );
        let whole = folder.path().join("whole.img");
        let dataset = driver
            .create_with_band_type::<u8, _>(&whole, 8, 8, 1)
            .expect("creates");
        dataset.close().expect("closes");
        write(folder.path(), "whole.txt", b"notes");
        assert!(set_of(folder.path(), "whole.img").is_none());
    }

    #[test]
    fn names_of_one_stem_are_found_without_regard_to_case_and_only_in_the_number_of_a_format() {
        let names = [
            "cube.dat",
            "CUBE.HDR",
            "cube.dat.aux.xml",
            "cube",
            "cubes.hdr",
            "other.hdr",
        ];
        let index = NamesByStem::from_names(names.into_iter());
        let mut found = index.of_stem("cube.dat");
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3]);
        assert_eq!(index.of_stem("other.hdr"), Vec::<usize>::new());
        let many: Vec<String> = (0..100).map(|at| format!("a.{at:04}")).collect();
        assert_eq!(
            NamesByStem::from_names(many.iter().map(String::as_str)).of_stem("a.0000"),
            Vec::<usize>::new()
        );
    }
}
