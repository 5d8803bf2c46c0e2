//! The compared part of raster headers, each read once: the checks of sources, of readable rasters
//! and of consistency share it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Cause, Kind, Result};
use crate::jobs::{JobContext, discard};
use crate::model::{AssetPath, Modified, Stamp};
use crate::raster::{self, CrsKind, RasterInfo, RasterSource};

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
}

/// The compared part of one raster's header. Without its position in the tree, which the comparison
/// adds.
#[derive(Clone, Debug)]
pub struct ComparedHeader {
    /// Data types of the bands.
    pub dtype: TextId,
    pub bands: u32,
    /// Columns and rows.
    pub size: (u32, u32),
    /// Index in the cache's systems.
    pub crs: Option<u32>,
    pub transform: Option<[f64; 6]>,
    /// Nodata values of the bands.
    pub nodata: TextId,
    /// The file that the coordinate system names, which is not opened.
    pub crs_file: Option<Arc<str>>,
    /// Corners in longitude and latitude (EPSG:4326): top left, top right, bottom right, bottom
    /// left.
    pub corners: Option<[[f64; 2]; 4]>,
    /// What was read of a file with several rasters.
    pub variable: Option<Arc<str>>,
}

/// Contents of a header.
#[derive(Clone, Debug)]
pub enum HeaderLook {
    Raster(Arc<ComparedHeader>),
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
    headers: HashMap<AssetPath, (Version, HeaderLook)>,
    packed: PackedHeaders,
}

/// Headers of byte ranges of containers. A dataset has as many as samples, most of them in one
/// container.
#[derive(Default)]
struct PackedHeaders {
    containers: HashMap<(Arc<Path>, Option<Arc<Stamp>>), u32>,
    /// By number of the container, offset and size in bytes: the index in `looked`. Ordered, as a
    /// hash table of a million ranges takes twice as much, and three times while it grows.
    ranges: BTreeMap<(u32, u64, u64), u32>,
    /// What is the same for many ranges is kept once.
    looked: Vec<HeaderLook>,
    no_raster: Option<u32>,
    /// The faults in `looked`.
    faults: HashMap<Arc<str>, u32>,
}

impl PackedHeaders {
    fn get(&self, (container, stamp, offset, size): PackedRange<'_>) -> Option<&HeaderLook> {
        let container = self.containers.get(&(container.clone(), stamp.clone()))?;
        self.looked
            .get(*self.ranges.get(&(*container, offset, size))? as usize)
    }

    fn insert(&mut self, (container, stamp, offset, size): PackedRange<'_>, looked: HeaderLook) {
        let next = self.containers.len() as u32;
        let container = *self
            .containers
            .entry((container.clone(), stamp.clone()))
            .or_insert(next);
        let next = self.looked.len() as u32;
        let index = match &looked {
            HeaderLook::NoRaster => *self.no_raster.get_or_insert(next),
            HeaderLook::Fault(fault) => *self.faults.entry(fault.clone()).or_insert(next),
            HeaderLook::Raster(_) | HeaderLook::MissingCodec(_) | HeaderLook::Unread => next,
        };
        if index == next {
            self.looked.push(looked);
        }
        self.ranges.insert((container, offset, size), index);
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
        known.headers.len() + known.packed.ranges.len()
    }

    /// True before the first header.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when the coordinate system of a raster names a file.
    pub(super) fn has_crs_files(&self) -> bool {
        let cache = self.lock();
        cache.headers.values().any(|(_, looked)| match looked {
            HeaderLook::Raster(header) => header.crs_file.is_some(),
            _ => false,
        })
    }

    /// Forgets all headers, so that they are read again.
    pub fn clear(&self) {
        let mut known = self.lock();
        let headers = (
            std::mem::take(&mut known.headers),
            std::mem::take(&mut known.packed),
        );
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
        let known = self.lock();
        match packed_range(asset, version) {
            Some(range) => known.packed.get(range).cloned(),
            None => known
                .headers
                .get(asset)
                .filter(|(known, _)| *known == version)
                .map(|(_, looked)| looked.clone()),
        }
    }

    /// The header of these bytes alone, without sidecars, as they are packed; read once in each
    /// version.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub(super) fn look(&self, asset: &AssetPath, version: Version) -> Result<HeaderLook> {
        if let Some(known) = self.cached_header(asset, version) {
            return Ok(known);
        }
        let looked = match raster::describe(&RasterSource::member(asset.clone())) {
            Ok(info) if info.band_count > 0 => HeaderLook::Raster(Arc::new(header_of(&info, self))),
            Ok(_) => HeaderLook::NoRaster,
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) if error.is_caused_by(Cause::MissingCodec) => {
                HeaderLook::MissingCodec(error.sentence().into())
            }
            Err(error) if error.kind() == Kind::Format => {
                HeaderLook::Fault(error.sentence().into())
            }
            // May pass, so it is not kept.
            Err(_) => return Ok(HeaderLook::Unread),
        };
        let mut known = self.lock();
        match packed_range(asset, version) {
            Some(range) => known.packed.insert(range, looked.clone()),
            None => drop(
                known
                    .headers
                    .insert(asset.clone(), (version, looked.clone())),
            ),
        }
        Ok(looked)
    }
}

/// Interned texts and coordinate systems: most rasters share a few.
#[derive(Default)]
struct Interner {
    texts: HashMap<Arc<str>, TextId>,
    systems: HashMap<String, u32>,
    known: Vec<Crs>,
}

impl Interner {
    fn text(&mut self, text: String) -> TextId {
        let next = self.texts.len() as TextId;
        *self.texts.entry(text.into()).or_insert(next)
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
        if same.is_none() {
            self.known.push(Crs {
                name: name.into(),
                kind: raster::crs_kind(wkt),
            });
        }
        self.systems.insert(wkt.to_owned(), number);
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
    ComparedHeader {
        dtype,
        bands: u32::try_from(info.band_count).unwrap_or(u32::MAX),
        size: (
            u32::try_from(info.width).unwrap_or(u32::MAX),
            u32::try_from(info.height).unwrap_or(u32::MAX),
        ),
        crs,
        // GDAL has this transform for rasters without one.
        transform: info
            .geotransform
            .filter(|transform| *transform != [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        nodata,
        crs_file: info.crs_file.as_deref().map(Arc::from),
        corners: info.corners_lonlat,
        variable: info
            .variable
            .as_ref()
            .map(|variable| variable.sentence().into()),
    }
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

    #[test]
    fn ranges_of_containers_are_told_apart_by_version_offset_and_size() {
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
        assert_eq!(packed.looked.len(), 4, "what is no raster is kept once");
        for offset in 10..20 {
            let asset = range("/a", stamp(1), offset, 5);
            let fault = HeaderLook::Fault("is not recognised".into());
            packed.insert(packed_range(&asset, None).expect("is a range"), fault);
        }
        assert_eq!(packed.looked.len(), 5, "equal faults are kept once");
    }

    #[test]
    fn equal_values_of_bands_are_one() {
        let of = |values: &[&str]| of_bands(values.iter().map(|value| (*value).to_owned()));
        assert_eq!(of(&["Byte", "Byte", "Byte"]), "Byte");
        assert_eq!(of(&["Byte", "Byte", "Float32"]), "2 × Byte, Float32");
        assert_eq!(of(&[]), "");
    }
}
