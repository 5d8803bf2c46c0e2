//! Reads the header of every raster once, in parallel, and keeps what is compared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Input;
use super::positions::{NodeId, Positions};
use crate::error::Result;
use crate::jobs::{JobContext, try_map};
use crate::model::AssetPath;
use crate::raster::{self, CrsKind, RasterInfo};

/// Index in [`Headers::texts`].
pub type TextId = u32;

/// A coordinate system of the dataset's rasters.
#[derive(Clone, Debug)]
pub struct Crs {
    /// Code or name, for users.
    pub name: Arc<str>,
    /// Properties for comparison; `None` for an unknown system.
    pub kind: Option<CrsKind>,
}

/// The compared part of one raster's header.
#[derive(Clone, Debug)]
pub struct Header {
    pub node: NodeId,
    pub root: u32,
    pub row: u32,
    /// Data types of the bands.
    pub dtype: TextId,
    pub bands: u32,
    /// Columns and rows.
    pub size: (u32, u32),
    /// Index in [`Headers::systems`].
    pub crs: Option<u32>,
    pub transform: Option<[f64; 6]>,
    /// Nodata values of the bands.
    pub nodata: TextId,
    /// Corners in longitude and latitude (EPSG:4326): top left, top right, bottom right, bottom left.
    pub corners: Option<[[f64; 2]; 4]>,
    /// Start time in microseconds since 1970.
    pub time: Option<i64>,
}

/// The headers of all rasters.
pub struct Headers {
    /// In the order of levels and rows.
    pub rasters: Vec<Header>,
    /// Coordinate systems.
    pub systems: Vec<Crs>,
    /// Texts that headers refer to.
    pub texts: Vec<Arc<str>>,
    /// Number of files that are no rasters, or that could not be read.
    pub others: usize,
    /// Number of files that were not read.
    pub unread: usize,
    /// Number of roots.
    pub roots: usize,
}

/// Cache of headers by location of the bytes: an edit of a draft changes few samples, so the next comparison reads few headers.
#[derive(Default)]
pub struct HeaderCache(Mutex<Known>);

#[derive(Default)]
struct Known {
    interner: Interner,
    /// `None` for a file that is not a raster or can't be read.
    headers: HashMap<AssetPath, Option<Header>>,
}

impl HeaderCache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of files whose header was read.
    pub fn len(&self) -> usize {
        self.lock().headers.len()
    }

    /// True before the first header.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Result of reading one sample's header.
enum Looked {
    Raster(Header),
    Other,
    Unread,
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
        let name =
            info.crs_code.clone().or_else(|| info.crs_name.clone()).unwrap_or_else(|| tr!("a CRS without a name").to_owned());
        // The same system may be written in several ways.
        let same = info.crs_code.as_ref().and_then(|code| self.known.iter().position(|known| *known.name == **code));
        let number = same.unwrap_or(self.known.len()) as u32;
        if same.is_none() {
            self.known.push(Crs { name: name.into(), kind: raster::crs_kind(wkt) });
        }
        self.systems.insert(wkt.to_owned(), number);
        Some(number)
    }
}

/// Reads the headers of all rasters with a position that are not in `cache`. Without `missing`, those are only counted.
pub fn read(input: &Input<'_>, places: &Positions, cache: &HeaderCache, missing: bool, ctx: &JobContext) -> Result<Headers> {
    let mut wanted: Vec<(usize, u32, NodeId)> = Vec::new();
    for (depth, level) in input.tree.levels.iter().enumerate() {
        let files = (0..level.len() as u32).filter(|&row| !level.folder[row as usize]);
        wanted.extend(files.filter_map(|row| Some((depth, row, places.node(depth, row)?))));
    }
    ctx.stage(tr!("Reading headers"), Some(wanted.len() as u64));
    let looked = try_map(&wanted, |_, &(level, row, node)| {
        ctx.check()?;
        let header = look(input, level, row, cache, missing)?;
        ctx.step(1);
        Ok(match header {
            Looked::Raster(mut header) => {
                (header.node, header.row, header.root) = (node, row, places.root(level, row));
                header.time = input.times.get(level).and_then(|times| times.get(row as usize)).copied().flatten();
                Looked::Raster(header)
            }
            other => other,
        })
    })?;
    let (mut rasters, mut others, mut unread) = (Vec::with_capacity(looked.len()), 0, 0);
    for one in looked {
        match one {
            Looked::Raster(header) => rasters.push(header),
            Looked::Other => others += 1,
            Looked::Unread => unread += 1,
        }
    }
    let known = cache.lock();
    let mut listed: Vec<(TextId, Arc<str>)> = known.interner.texts.iter().map(|(text, number)| (*number, text.clone())).collect();
    listed.sort_unstable_by_key(|(number, _)| *number);
    Ok(Headers {
        rasters,
        systems: known.interner.known.clone(),
        texts: listed.into_iter().map(|(_, text)| text).collect(),
        others,
        unread,
        roots: input.tree.levels.first().map_or(0, |level| level.len()),
    })
}

fn look(input: &Input<'_>, level: usize, row: u32, cache: &HeaderCache, missing: bool) -> Result<Looked> {
    let source = match (input.raster)(level, row) {
        Ok(Some(source)) => source,
        Err(error) if error.is_cancelled() => return Err(error),
        // Files that can't be read, and those that are no rasters, are subjects of other rules.
        Ok(None) | Err(_) => return Ok(Looked::Other),
    };
    if let Some(known) = cache.lock().headers.get(source.asset()) {
        return Ok(known.clone().map_or(Looked::Other, Looked::Raster));
    }
    if !missing {
        return Ok(Looked::Unread);
    }
    let header = match raster::describe(&source) {
        Ok(info) if info.band_count > 0 => Some(header_of(&info, cache)),
        Err(error) if error.is_cancelled() => return Err(error),
        Ok(_) | Err(_) => None,
    };
    cache.lock().headers.insert(source.asset().clone(), header.clone());
    Ok(header.map_or(Looked::Other, Looked::Raster))
}

fn header_of(info: &RasterInfo, cache: &HeaderCache) -> Header {
    let dtype = of_bands(info.bands.iter().map(|band| band.dtype.clone()));
    let none = || tr!("none" in "value of a raster").to_owned();
    let nodata = of_bands(info.bands.iter().map(|band| band.nodata.map_or_else(none, |value| value.to_string())));
    let (dtype, nodata, crs) = {
        let interner = &mut cache.lock().interner;
        (interner.text(dtype), interner.text(nodata), interner.system(info))
    };
    Header {
        node: 0,
        root: 0,
        row: 0,
        dtype,
        bands: u32::try_from(info.band_count).unwrap_or(u32::MAX),
        size: (u32::try_from(info.width).unwrap_or(u32::MAX), u32::try_from(info.height).unwrap_or(u32::MAX)),
        crs,
        // GDAL has this transform for rasters without one.
        transform: info.geotransform.filter(|transform| *transform != [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        nodata,
        corners: info.corners_lonlat,
        time: None,
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
            .map(|(value, count)| if *count == 1 { value.clone() } else { format!("{count} × {value}") })
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_of_bands_are_one() {
        let of = |values: &[&str]| of_bands(values.iter().map(|value| (*value).to_owned()));
        assert_eq!(of(&["Byte", "Byte", "Byte"]), "Byte");
        assert_eq!(of(&["Byte", "Byte", "Float32"]), "2 × Byte, Float32");
        assert_eq!(of(&[]), "");
    }
}
