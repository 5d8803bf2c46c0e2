//! The compared part of raster headers, each read once: the checks of sources, of readable rasters
//! and of consistency share it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Cause, Kind, Result};
use crate::jobs::{JobContext, discard};
use crate::model::{AssetPath, Modified, Stamp};
use crate::raster::{
    self, CrsKind, GridOrigin, RasterInfo, RasterSource, TiffGrid, TiffHeader, tiff_header,
};

/// Bytes of headers that are kept for the files that repeat them: some ten thousand kinds.
const REPEATED_MAX_BYTES: usize = 8 << 20;

/// Index of a text in a [`HeaderCache`].
pub type TextId = u32;

/// Size and time of a file of this machine; `None` for bytes that do not change while the cache is
/// used.
pub type Version = Option<(u64, Modified)>;

/// A coordinate system of the dataset's rasters.
#[derive(Clone, Debug)]
pub struct Crs {
    /// Code or name, for users.
    pub name: Arc<str>,
    /// Properties for comparison; `None` for an unknown system.
    pub kind: Option<CrsKind>,
    pub wkt: Arc<str>,
}

/// What many headers have in common: all that is compared but the place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeaderShape {
    /// Data types of the bands.
    pub dtype: TextId,
    pub bands: u32,
    /// Columns and rows.
    pub size: (u32, u32),
    /// Index in the cache's systems.
    pub crs: Option<u32>,
    /// Nodata values of the bands.
    pub nodata: TextId,
    /// The file that the coordinate system names, which is not opened.
    pub crs_file: Option<Arc<str>>,
    /// What was read of a file with several rasters.
    pub variable: Option<Arc<str>>,
    /// The steps of columns and rows of the geotransform, as bits.
    pub steps: Option<[u64; 4]>,
}

/// The compared part of one raster's header. Without its position in the tree, which the comparison
/// adds. A dataset has as many as samples, so what is the same for many is kept once.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedHeader {
    shape: Arc<HeaderShape>,
    /// The numbers 0 and 3 of the geotransform.
    place: [f64; 2],
}

impl ComparedHeader {
    /// The header of a raster with this geotransform.
    pub fn new(shape: HeaderShape, transform: Option<[f64; 6]>) -> Self {
        let [x, a, b, y, c, d] = transform.unwrap_or_default();
        let steps = transform
            .is_some()
            .then_some([a, b, c, d].map(f64::to_bits));
        Self {
            shape: Arc::new(HeaderShape { steps, ..shape }),
            place: [x, y],
        }
    }

    /// The geotransform; `None` without georeferencing.
    pub fn transform(&self) -> Option<[f64; 6]> {
        let [a, b, c, d] = self.shape.steps?.map(f64::from_bits);
        let [x, y] = self.place;
        Some([x, a, b, y, c, d])
    }
}

impl Deref for ComparedHeader {
    type Target = HeaderShape;

    fn deref(&self) -> &HeaderShape {
        &self.shape
    }
}

/// Contents of a header.
#[derive(Clone, Debug)]
pub enum HeaderLook {
    Raster(ComparedHeader),
    /// Bands can't be read from it: no raster, or one without bands.
    NoRaster,
    /// GDAL can't open it, and why.
    Fault(Arc<str>),
    /// The pixels are compressed with a codec that this program is not built with, as a sentence:
    /// the file may be sound.
    MissingCodec(Arc<str>),
    /// The file can't be read; another rule reports it.
    Unread,
}

impl HeaderLook {
    /// True when [`HeaderLook::warn`] says something.
    pub(super) fn has_warning(&self) -> bool {
        matches!(self, HeaderLook::MissingCodec(_))
            || matches!(self, HeaderLook::Raster(header) if header.variable.is_some())
    }

    /// Warns of what the header leaves open: which variable of several was read, or a codec that is
    /// missing.
    pub(super) fn warn(&self, place: &str, ctx: &JobContext) {
        match self {
            HeaderLook::Raster(header) => {
                if let Some(variable) = &header.variable {
                    ctx.warn_of(place, format!("read was {variable}"));
                }
            }
            HeaderLook::MissingCodec(reason) => {
                ctx.warn_of(place, format!("not checked: {reason}"))
            }
            HeaderLook::NoRaster | HeaderLook::Fault(_) | HeaderLook::Unread => {}
        }
    }
}

/// Headers by location and version of the bytes: an edit of a draft changes few samples, so the
/// next comparison reads few headers.
#[derive(Default)]
pub struct HeaderCache(Mutex<CachedHeader>);

#[derive(Default)]
struct CachedHeader {
    interner: Interner,
    /// Of whole files.
    local: LocalHeaders,
    /// Of other assets.
    headers: HashMap<AssetPath, (Version, HeaderLook)>,
    packed: PackedHeaders,
    repeated: RepeatedHeaders,
}

impl CachedHeader {
    fn get(&self, asset: &AssetPath, version: Version) -> Option<HeaderLook> {
        if let Some(range) = packed_range(asset, version) {
            return self.packed.get(range).cloned();
        }
        if let AssetPath::File(path) = asset {
            return self.local.get(path, version).cloned();
        }
        let (known, looked) = self.headers.get(asset)?;
        (*known == version).then(|| looked.clone())
    }

    fn insert(&mut self, asset: &AssetPath, version: Version, looked: HeaderLook) {
        if let Some(range) = packed_range(asset, version) {
            self.packed.insert(range, looked);
        } else if let AssetPath::File(path) = asset {
            self.local.insert(path, version, looked);
        } else {
            self.headers.insert(asset.clone(), (version, looked));
        }
    }
}

/// The first TIFF of each kind that was read.
#[derive(Default)]
struct RepeatedHeaders {
    /// By the bytes of the headers.
    by_bytes: HashMap<Vec<u8>, RepeatedHeader>,
    /// Length of all these bytes.
    size_bytes: usize,
}

impl RepeatedHeaders {
    /// The header of a TIFF whose bytes are those of another one that was read.
    fn find(&self, tiff: &TiffHeader) -> Option<ComparedHeader> {
        self.by_bytes.get(&tiff.bytes)?.for_grid(tiff.grid)
    }

    fn insert(&mut self, tiff: TiffHeader, header: &ComparedHeader) {
        // These name the file itself, or what the file names.
        let is_own = header.variable.is_some() || header.crs_file.is_some();
        if is_own || self.by_bytes.contains_key(&tiff.bytes) {
            return;
        }
        if self.size_bytes.saturating_add(tiff.bytes.len()) > REPEATED_MAX_BYTES {
            *self = Self::default();
        }
        let origin = tiff
            .grid
            .and_then(|grid| grid.origin_of(header.transform()));
        let header = header.clone();
        self.size_bytes += tiff.bytes.len();
        self.by_bytes
            .insert(tiff.bytes, RepeatedHeader { header, origin });
    }
}

/// The header that GDAL read of a TIFF, for TIFFs with the same bytes.
struct RepeatedHeader {
    header: ComparedHeader,
    /// What the place of a grid is; `None` without one, and for one that GDAL reads in another way.
    origin: Option<GridOrigin>,
}

impl RepeatedHeader {
    /// The header of a file with this grid; `None` for one that GDAL has to read.
    fn for_grid(&self, grid: Option<TiffGrid>) -> Option<ComparedHeader> {
        let Some(grid) = grid else {
            return Some(self.header.clone());
        };
        let transform = grid.transform(self.origin?)?;
        let header = ComparedHeader::new(HeaderShape::clone(&self.header), Some(transform));
        Some(header)
    }
}

/// Headers of which what is the same for many files is kept once.
#[derive(Default)]
struct DistinctLooks {
    looked: Vec<HeaderLook>,
    no_raster: Option<u32>,
    /// The faults in `looked`.
    faults: HashMap<Arc<str>, u32>,
}

impl DistinctLooks {
    fn get(&self, index: u32) -> Option<&HeaderLook> {
        self.looked.get(index as usize)
    }

    /// Index of a header. `replaced` is that of an earlier version of the file, if it had one.
    fn insert(&mut self, looked: HeaderLook, replaced: Option<u32>) -> u32 {
        let next = self.looked.len() as u32;
        let index = match &looked {
            HeaderLook::NoRaster => *self.no_raster.get_or_insert(next),
            HeaderLook::Fault(fault) => *self.faults.entry(fault.clone()).or_insert(next),
            HeaderLook::Raster(_) | HeaderLook::MissingCodec(_) | HeaderLook::Unread => {
                let own = replaced
                    .filter(|&index| matches!(self.get(index), Some(HeaderLook::Raster(_))));
                own.unwrap_or(next)
            }
        };
        match self.looked.get_mut(index as usize) {
            Some(kept) => *kept = looked,
            None => self.looked.push(looked),
        }
        index
    }
}

/// Number of a folder, and the name of a file in it.
type FileKey = (u32, Box<[u8]>);

/// Headers of files of this machine. A FOLDER has as many as samples, most of them in few folders.
#[derive(Default)]
struct LocalHeaders {
    folders: HashMap<Arc<Path>, u32>,
    /// Version and index in `looks`. Ordered, as [`PackedHeaders::ranges`].
    files: BTreeMap<FileKey, (Version, u32)>,
    looks: DistinctLooks,
}

impl LocalHeaders {
    fn get(&self, path: &Path, version: Version) -> Option<&HeaderLook> {
        let (folder, name) = split_path(path)?;
        let (known, index) = self.files.get(&(*self.folders.get(folder)?, name))?;
        self.looks.get(*index).filter(|_| *known == version)
    }

    fn insert(&mut self, path: &Path, version: Version, looked: HeaderLook) {
        let Some((folder, name)) = split_path(path) else {
            return;
        };
        let folder = match self.folders.get(folder) {
            Some(known) => *known,
            None => {
                let next = self.folders.len() as u32;
                self.folders.insert(folder.into(), next);
                next
            }
        };
        let key = (folder, name);
        let replaced = self.files.get(&key).map(|(_, index)| *index);
        let index = self.looks.insert(looked, replaced);
        self.files.insert(key, (version, index));
    }
}

/// Folder and name of a file; `None` for a path without them, of which nothing is kept.
fn split_path(path: &Path) -> Option<(&Path, Box<[u8]>)> {
    let name = path.file_name()?.as_encoded_bytes();
    Some((path.parent()?, name.into()))
}

/// Headers of byte ranges of containers. A dataset has as many as samples, most of them in one
/// container.
#[derive(Default)]
struct PackedHeaders {
    containers: HashMap<(Arc<Path>, Option<Arc<Stamp>>), u32>,
    /// By number of the container, offset and size in bytes: the index in `looks`. Ordered, as a
    /// hash table of a million ranges takes twice as much, and three times while it grows.
    ranges: BTreeMap<(u32, u64, u64), u32>,
    looks: DistinctLooks,
}

impl PackedHeaders {
    fn get(&self, (container, stamp, offset, size): PackedRange<'_>) -> Option<&HeaderLook> {
        let container = self.containers.get(&(container.clone(), stamp.clone()))?;
        let index = self.ranges.get(&(*container, offset, size))?;
        self.looks.get(*index)
    }

    fn insert(&mut self, (container, stamp, offset, size): PackedRange<'_>, looked: HeaderLook) {
        let next = self.containers.len() as u32;
        let container = *self
            .containers
            .entry((container.clone(), stamp.clone()))
            .or_insert(next);
        let key = (container, offset, size);
        let replaced = self.ranges.get(&key).copied();
        let index = self.looks.insert(looked, replaced);
        self.ranges.insert(key, index);
    }
}

/// Container, its version, offset and size of a byte range.
type PackedRange<'a> = (&'a Arc<Path>, &'a Option<Arc<Stamp>>, u64, u64);

/// The byte range of a container that does not change.
fn packed_range(asset: &AssetPath, version: Version) -> Option<PackedRange<'_>> {
    match (asset, version) {
        (
            AssetPath::Range {
                container,
                offset,
                size,
                stamp,
            },
            None,
        ) => Some((container, stamp, *offset, *size)),
        _ => None,
    }
}

impl HeaderCache {
    fn lock(&self) -> MutexGuard<'_, CachedHeader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of files whose header was read.
    pub fn len(&self) -> usize {
        let known = self.lock();
        known.local.files.len() + known.headers.len() + known.packed.ranges.len()
    }

    /// True before the first header.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when the coordinate system of a raster names a file.
    pub(super) fn has_crs_files(&self) -> bool {
        let known = self.lock();
        let mut shapes = known.interner.shapes.iter();
        shapes.any(|shape| shape.crs_file.is_some())
    }

    /// Forgets all headers, so that they are read again.
    pub fn clear(&self) {
        let mut known = self.lock();
        let interner = std::mem::take(&mut known.interner);
        let headers = std::mem::take(&mut *known);
        // Texts and systems have their numbers in views that are open.
        known.interner = interner;
        known.interner.shapes.clear();
        drop(known);
        discard(headers);
    }

    /// All texts and coordinate systems that headers refer to, by index.
    pub(super) fn tables(&self) -> (Vec<Arc<str>>, Vec<Crs>) {
        let known = self.lock();
        let mut texts: Vec<(TextId, Arc<str>)> = known
            .interner
            .texts
            .iter()
            .map(|(text, number)| (*number, text.clone()))
            .collect();
        texts.sort_unstable_by_key(|(number, _)| *number);
        (
            texts.into_iter().map(|(_, text)| text).collect(),
            known.interner.known.clone(),
        )
    }

    /// The header of these bytes if it was read in this version.
    pub(super) fn cached_header(&self, asset: &AssetPath, version: Version) -> Option<HeaderLook> {
        self.lock().get(asset, version)
    }

    /// The header of these bytes alone, without sidecars, as they are packed; read once in each
    /// version. GDAL reads the first of TIFFs that are alike.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub(super) fn look(&self, asset: &AssetPath, version: Version) -> Result<HeaderLook> {
        if let Some(known) = self.cached_header(asset, version) {
            return Ok(known);
        }
        let tiff = tiff_header(asset);
        let repeated = tiff
            .as_ref()
            .and_then(|tiff| self.lock().repeated.find(tiff));
        let looked = match repeated {
            Some(header) => HeaderLook::Raster(header),
            None => self.read_header(asset, tiff)?,
        };
        // May pass, so it is not kept.
        if matches!(looked, HeaderLook::Unread) {
            return Ok(looked);
        }
        let mut known = self.lock();
        let looked = match looked {
            HeaderLook::Raster(header) => HeaderLook::Raster(known.interner.intern_header(header)),
            looked => looked,
        };
        known.insert(asset, version, looked.clone());
        Ok(looked)
    }

    /// Reads a header with GDAL, and keeps it for TIFFs that are alike.
    ///
    /// # Errors
    /// When the job is cancelled.
    fn read_header(&self, asset: &AssetPath, tiff: Option<TiffHeader>) -> Result<HeaderLook> {
        match raster::describe(&RasterSource::member(asset.clone())) {
            Ok(info) if info.band_count > 0 => {
                let header = header_of(&info, self);
                // Unless the file was written to meanwhile.
                if let Some(tiff) = tiff.filter(|tiff| tiff_header(asset).as_ref() == Some(tiff)) {
                    self.lock().repeated.insert(tiff, &header);
                }
                Ok(HeaderLook::Raster(header))
            }
            Ok(_) => Ok(HeaderLook::NoRaster),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) if error.is_caused_by(Cause::MissingCodec) => {
                Ok(HeaderLook::MissingCodec(error.sentence().into()))
            }
            Err(error) if error.kind() == Kind::Format => {
                Ok(HeaderLook::Fault(error.sentence().into()))
            }
            Err(_) => Ok(HeaderLook::Unread),
        }
    }
}

/// Interned texts, coordinate systems and shapes: most rasters share a few.
#[derive(Default)]
struct Interner {
    texts: HashMap<Arc<str>, TextId>,
    systems: HashMap<Arc<str>, u32>,
    known: Vec<Crs>,
    shapes: HashSet<Arc<HeaderShape>>,
}

impl Interner {
    fn text(&mut self, text: String) -> TextId {
        let next = self.texts.len() as TextId;
        *self.texts.entry(text.into()).or_insert(next)
    }

    /// The header, with a shape that others share.
    fn intern_header(&mut self, header: ComparedHeader) -> ComparedHeader {
        let ComparedHeader { shape, place } = header;
        if let Some(known) = self.shapes.get(&shape) {
            let shape = known.clone();
            return ComparedHeader { shape, place };
        }
        self.shapes.insert(shape.clone());
        ComparedHeader { shape, place }
    }

    fn system(&mut self, info: &RasterInfo) -> Option<u32> {
        let wkt = info.crs_wkt.as_deref()?;
        if let Some(&known) = self.systems.get(wkt) {
            return Some(known);
        }
        let name = info
            .crs_code
            .clone()
            .or_else(|| info.crs_name.clone())
            .unwrap_or_else(|| tr!("a CRS without a name").to_owned());
        // The same system may be written in several ways.
        let same = info
            .crs_code
            .as_ref()
            .and_then(|code| self.known.iter().position(|known| *known.name == **code));
        let number = same.unwrap_or(self.known.len()) as u32;
        let text: Arc<str> = wkt.into();
        if same.is_none() {
            self.known.push(Crs {
                name: name.into(),
                kind: raster::crs_kind(wkt),
                wkt: text.clone(),
            });
        }
        self.systems.insert(text, number);
        Some(number)
    }
}

fn header_of(info: &RasterInfo, cache: &HeaderCache) -> ComparedHeader {
    let dtype = of_bands(info.bands.iter().map(|band| band.dtype.clone()));
    let none = || tr!("none" in "value of a raster").to_owned();
    let nodata = of_bands(info.bands.iter().map(|band| {
        band.nodata_number()
            .map_or_else(none, |value| value.to_string())
    }));
    let (dtype, nodata, crs) = {
        let interner = &mut cache.lock().interner;
        (
            interner.text(dtype),
            interner.text(nodata),
            interner.system(info),
        )
    };
    let shape = HeaderShape {
        dtype,
        bands: u32::try_from(info.band_count).unwrap_or(u32::MAX),
        size: (
            u32::try_from(info.width).unwrap_or(u32::MAX),
            u32::try_from(info.height).unwrap_or(u32::MAX),
        ),
        crs,
        nodata,
        crs_file: info.crs_file.as_deref().map(Arc::from),
        variable: info
            .variable
            .as_ref()
            .map(|variable| variable.sentence().into()),
        steps: None,
    };
    // GDAL has this transform for rasters without one.
    let transform = info
        .geotransform
        .filter(|transform| *transform != [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    ComparedHeader::new(shape, transform)
}

/// One value for all bands that have the same, or else the values of the bands.
fn of_bands(values: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    match runs.as_slice() {
        [(value, _)] => value.clone(),
        runs => runs
            .iter()
            .map(|(value, count)| {
                if *count == 1 {
                    value.clone()
                } else {
                    format!("{count} × {value}")
                }
            })
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{NewRaster, Samples, write_raster};

    fn write_at(folder: &Path, driver: &str, place: [f64; 2], raster: &NewRaster) -> AssetPath {
        let [x, y] = place;
        let path = folder.join(format!("{driver}_{x}_{y}.tif"));
        let raster = NewRaster {
            geotransform: Some([x, 10.0, 0.0, y, 0.0, -10.0]),
            ..raster.clone()
        };
        write_raster(&path, driver, &raster).expect("writes");
        AssetPath::file(path)
    }

    fn header_in(cache: &HeaderCache, asset: &AssetPath) -> ComparedHeader {
        match cache.look(asset, Some((1, Modified(1)))).expect("looks") {
            HeaderLook::Raster(header) => header,
            other => panic!("{asset}: {other:?}"),
        }
    }

    #[test]
    fn a_raster_like_another_has_the_header_that_gdal_gives_it() {
        let kinds: [(&str, &[(&str, &str)]); 5] = [
            ("GTiff", &[]),
            ("GTiff", &[("TILED", "YES"), ("COMPRESS", "DEFLATE")]),
            ("GTiff", &[("BIGTIFF", "YES"), ("INTERLEAVE", "BAND")]),
            ("GTiff", &[("ENDIANNESS", "BIG")]),
            ("COG", &[("BLOCKSIZE", "128"), ("COMPRESS", "DEFLATE")]),
        ];
        for (driver, options) in kinds {
            let folder = tempfile::tempdir().expect("a folder");
            let raster = NewRaster {
                width: 300,
                height: 300,
                bands: vec![Samples::U8(vec![7; 90_000]), Samples::U8(vec![8; 90_000])],
                epsg: Some(32718),
                nodata: Some(255.0),
                options: options.to_vec(),
                ..NewRaster::default()
            };
            let places = [[300_000.0, 8.7e6], [303_000.5, 8_702_999.75]];
            let [first, other] = places.map(|at| write_at(folder.path(), driver, at, &raster));
            let cache = HeaderCache::default();
            header_in(&cache, &first);
            let tiff = tiff_header(&other).expect("has a header");
            let found = cache.lock().repeated.find(&tiff);
            let by_gdal = header_in(&HeaderCache::default(), &other);
            assert_eq!(found, Some(by_gdal.clone()), "{driver} {options:?}");
            assert_eq!(header_in(&cache, &other), by_gdal, "{driver} {options:?}");
            assert_eq!(
                by_gdal.transform(),
                Some([303_000.5, 10.0, 0.0, 8_702_999.75, 0.0, -10.0])
            );
            assert_eq!(cache.lock().interner.shapes.len(), 1);
            let elsewhere = NewRaster {
                epsg: Some(32719),
                ..raster
            };
            let elsewhere = write_at(folder.path(), driver, [1.0, 2.0], &elsewhere);
            let tiff = tiff_header(&elsewhere).expect("has a header");
            assert_eq!(cache.lock().repeated.find(&tiff), None);
        }
    }

    #[test]
    fn a_system_that_names_a_file_is_known_of_every_kind_of_asset() {
        let cache = HeaderCache::default();
        let shape = HeaderShape {
            crs_file: Some("a.gsb".into()),
            ..HeaderShape::default()
        };
        assert!(!cache.has_crs_files());
        let mut known = cache.lock();
        let header = ComparedHeader::new(shape, None);
        let header = known.interner.intern_header(header);
        let range = AssetPath::range(Path::new("/a"), 0, 5);
        known.insert(&range, None, HeaderLook::Raster(header));
        drop(known);
        assert!(cache.has_crs_files() && cache.len() == 1);
    }

    #[test]
    fn headers_are_forgotten_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let raster = NewRaster {
            width: 2,
            height: 2,
            bands: vec![Samples::U8(vec![7; 4])],
            ..NewRaster::default()
        };
        let asset = write_at(folder.path(), "GTiff", [0.0, 0.0], &raster);
        let cache = HeaderCache::default();
        let header = header_in(&cache, &asset);
        let version = Some((1, Modified(1)));
        assert!(cache.cached_header(&asset, version).is_some());
        assert!(
            cache
                .cached_header(&asset, Some((1, Modified(2))))
                .is_none()
        );
        assert_eq!(cache.len(), 1);
        cache.clear();
        assert!(cache.is_empty() && cache.cached_header(&asset, version).is_none());
        assert_eq!(
            header_in(&cache, &asset),
            header,
            "texts keep their numbers"
        );
    }

    #[test]
    fn ranges_of_containers_differ_by_version_offset_and_size() {
        let stamp = |size: u64| {
            Some(Arc::new(Stamp {
                size,
                modified: Modified(1),
                etag: None,
                directory: None,
            }))
        };
        let range =
            |file: &str, stamp: Option<Arc<Stamp>>, offset: u64, size: u64| AssetPath::Range {
                container: Path::new(file).into(),
                offset,
                size,
                stamp,
            };
        let mut packed = PackedHeaders::default();
        let ranges = [
            range("/a", stamp(1), 0, 5),
            range("/a", stamp(1), 0, 6),
            range("/a", stamp(1), 5, 5),
            range("/a", stamp(2), 0, 5),
            range("/b", stamp(1), 0, 5),
            range("/b", None, 0, 5),
        ];
        for (number, asset) in ranges.iter().enumerate() {
            let looked = if number % 2 == 0 {
                HeaderLook::NoRaster
            } else {
                HeaderLook::Fault(number.to_string().into())
            };
            let range = packed_range(asset, None).expect("is a range");
            assert!(packed.get(range).is_none(), "{number}");
            packed.insert(range, looked);
        }
        for (number, asset) in ranges.iter().enumerate() {
            match packed.get(packed_range(asset, None).expect("is a range")) {
                Some(HeaderLook::NoRaster) => assert_eq!(number % 2, 0),
                Some(HeaderLook::Fault(text)) => assert_eq!(**text, *number.to_string()),
                other => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(
            packed.looks.looked.len(),
            4,
            "what is no raster is kept once"
        );
        for offset in 10..20 {
            let asset = range("/a", stamp(1), offset, 5);
            let fault = HeaderLook::Fault("is not recognised".into());
            packed.insert(packed_range(&asset, None).expect("is a range"), fault);
        }
        assert_eq!(packed.looks.looked.len(), 5, "equal faults are kept once");
    }

    #[test]
    fn files_of_this_machine_are_kept_by_version_and_replaced() {
        let mut local = LocalHeaders::default();
        let version = |size: u64| Some((size, Modified(1)));
        let raster = |columns: u32| {
            let shape = HeaderShape {
                size: (columns, 1),
                ..HeaderShape::default()
            };
            HeaderLook::Raster(ComparedHeader::new(shape, None))
        };
        for name in ["/a/x.tif", "/a/y.tif", "/b/x.tif"] {
            assert!(local.get(Path::new(name), version(1)).is_none(), "{name}");
            local.insert(Path::new(name), version(1), HeaderLook::NoRaster);
        }
        local.insert(Path::new("/a/x.tif"), version(2), raster(2));
        local.insert(Path::new("/a/x.tif"), version(3), raster(3));
        assert!(local.get(Path::new("/a/x.tif"), version(2)).is_none());
        match local.get(Path::new("/a/x.tif"), version(3)) {
            Some(HeaderLook::Raster(header)) => assert_eq!(header.size, (3, 1)),
            other => panic!("{other:?}"),
        }
        let other = local.get(Path::new("/b/x.tif"), version(1));
        assert!(matches!(other, Some(HeaderLook::NoRaster)), "{other:?}");
        assert_eq!(local.looks.looked.len(), 2, "the old header is replaced");
    }

    #[test]
    fn equal_values_of_bands_are_one() {
        let of = |values: &[&str]| of_bands(values.iter().map(|value| (*value).to_owned()));
        assert_eq!(of(&["Byte", "Byte", "Byte"]), "Byte");
        assert_eq!(of(&["Byte", "Byte", "Float32"]), "2 × Byte, Float32");
        assert_eq!(of(&[]), "");
    }
}
