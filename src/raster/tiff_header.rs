//! The header of a TIFF as bytes. Files with equal bytes have equal headers, so GDAL, which takes a
//! millisecond for a coordinate system, has to read the first of them only. Left out of the bytes
//! is what differs from file to file and changes none of what headers are compared by: where the
//! pixels are in the file, texts such as the date, and where the grid is on the ground.

use super::tiff::{TiffDirectory, TiffSource};
use super::vsi_plugin::Mounted;
use super::{hdf5_lock, pool};
use crate::error::Result;
use crate::model::AssetPath;

/// Bytes that the first read takes: all of the header of most files.
const HEAD: u64 = 16 << 10;
/// Maximum length of the value of a tag in bytes.
const VALUE_MAX: u64 = 64 << 10;
/// Maximum length of the bytes of all tags that are compared.
const HEADER_MAX: u64 = 1 << 20;
/// Maximum length of the value of a tag that changes nothing; with more chunks the size of the file
/// changes what GDAL does.
const FREE_MAX: u64 = 4 << 20;
/// Maximum number of IFDs: the raster, its overviews and their masks.
const DIRECTORIES_MAX: usize = 64;

/// The types ASCII and DOUBLE.
const ASCII: u64 = 2;
const DOUBLE: u64 = 12;
/// ModelPixelScale: steps of columns, rows and heights.
const PIXEL_SCALE: u64 = 33550;
/// ModelTiepoint: column, row and level of the raster, and x, y and z there.
const TIEPOINT: u64 = 33922;
/// Tags whose values change nothing: StripOffsets, StripByteCounts, TileOffsets, TileByteCounts.
const FREE: [u64; 4] = [273, 279, 324, 325];
/// Tags of texts that change nothing: DocumentName, ImageDescription, Software, DateTime, Artist,
/// HostComputer, Copyright.
const FREE_TEXTS: [u64; 7] = [269, 270, 305, 306, 315, 316, 33432];
/// Tags with offsets of more data, which is not compared: GlobalParametersIFD, SubIFDs, the tables
/// of old JPEG compression, and the IFDs of Exif, GPS and interoperability.
const ELSEWHERE: [u64; 10] = [330, 400, 513, 514, 519, 520, 521, 34665, 34853, 40965];

/// The header of a TIFF, but for texts about the file.
#[derive(Clone, Debug, PartialEq)]
pub struct TiffHeader {
    /// Equal for files whose headers are equal but for their grids.
    pub bytes: Vec<u8>,
    /// `None` for a file without a grid, or with one that is in the bytes.
    pub grid: Option<TiffGrid>,
}

/// A grid along the axes: the size of a pixel, and the point of the raster's first row and column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TiffGrid {
    pixel: [f64; 2],
    point: [f64; 2],
}

/// What of the first pixel is at the point of a [`TiffGrid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridOrigin {
    Corner,
    Centre,
}

impl TiffGrid {
    /// The grid of a tie point and a pixel scale; `None` for an unusual one. Only of points at the
    /// first row and column, where the numbers are those of GDAL to the last bit.
    fn new(scale: [f64; 3], tie: [f64; 6]) -> Option<Self> {
        let [width, height, _] = scale;
        let [column, row, _, x, y, _] = tie;
        let is_usual = column == 0.0
            && row == 0.0
            && [width, height, x, y]
                .iter()
                .all(|number| number.is_finite())
            && width > 0.0
            && height > 0.0;
        is_usual.then_some(Self {
            pixel: [width, height],
            point: [x, y],
        })
    }

    /// The geotransform, in GDAL's order; `None` beyond finite numbers.
    pub fn transform(&self, origin: GridOrigin) -> Option<[f64; 6]> {
        let ([width, height], [x, y]) = (self.pixel, self.point);
        let [west, north] = match origin {
            GridOrigin::Corner => [x, y],
            GridOrigin::Centre => [x - width * 0.5, y + height * 0.5],
        };
        let is_finite = west.is_finite() && north.is_finite();
        is_finite.then_some([west, width, 0.0, north, 0.0, -height])
    }

    /// The origin with which the grid has this geotransform; `None` when neither or both have.
    pub fn origin_of(&self, transform: Option<[f64; 6]>) -> Option<GridOrigin> {
        let corner = self.transform(GridOrigin::Corner) == transform;
        let centre = self.transform(GridOrigin::Centre) == transform;
        match (corner, centre) {
            (true, false) => Some(GridOrigin::Corner),
            (false, true) => Some(GridOrigin::Centre),
            _ => None,
        }
    }
}

/// The header of a TIFF of this machine, in a file or a range of one; `None` for other files, and
/// for those that are unusual or can't be read.
pub fn tiff_header(asset: &AssetPath) -> Option<TiffHeader> {
    let mounted = pool::mount_local(asset).ok().flatten()?;
    let head = mounted.read(0, HEAD).ok()?;
    // GDAL is not asked to read such a file as a TIFF.
    let is_hdf5 = hdf5_lock::is_hdf5(|at, magic| {
        let rest = head.get(at as usize..).unwrap_or_default();
        rest.starts_with(magic)
    });
    if is_hdf5 {
        return None;
    }
    let read = |at: u64, length: u64| read_piece(&mounted, &head, at, length);
    read_header(&read, mounted.size()).ok().flatten()
}

/// Bytes of a file, whose first ones are `head`.
fn read_piece(mounted: &Mounted, head: &[u8], at: u64, length: u64) -> Result<Vec<u8>> {
    let inside = at
        .checked_add(length)
        .and_then(|end| head.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?));
    match inside {
        Some(bytes) => Ok(bytes.to_vec()),
        None => mounted.read(at, length),
    }
}

/// The header of a file of `size` bytes, read through `read(offset, length)`.
///
/// # Errors
/// For a damaged TIFF, or the errors of `read`.
fn read_header(
    read: &dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
) -> Result<Option<TiffHeader>> {
    let Some((source, first)) = TiffSource::open(read, size)? else {
        return Ok(None);
    };
    let mut bytes = vec![u8::from(source.little), u8::from(source.big)];
    let mut grid = GridTags::default();
    let mut offset = first;
    for number in 0..DIRECTORIES_MAX {
        let directory = TiffDirectory::read(source, offset)?;
        let own_grid = (number == 0).then_some(&mut grid);
        if !add_directory(&mut bytes, &directory, own_grid)? {
            return Ok(None);
        }
        offset = directory.next_offset()?;
        if offset == 0 {
            return Ok(grid.resolve().map(|grid| TiffHeader { bytes, grid }));
        }
    }
    Ok(None)
}

/// The values of the tags of a grid.
#[derive(Default)]
struct GridTags {
    scale: Option<[f64; 3]>,
    tie: Option<[f64; 6]>,
}

impl GridTags {
    /// True for a tag that was not met before, and whose value is kept here.
    fn take(&mut self, tag: u64, value: &[f64]) -> bool {
        match (tag, value) {
            (PIXEL_SCALE, &[x, y, z]) => self.scale.replace([x, y, z]).is_none(),
            (TIEPOINT, &[i, j, k, x, y, z]) => self.tie.replace([i, j, k, x, y, z]).is_none(),
            _ => false,
        }
    }

    /// `Some(None)` without a grid; `None` for an unusual one.
    fn resolve(self) -> Option<Option<TiffGrid>> {
        match (self.scale, self.tie) {
            (None, None) => Some(None),
            (Some(scale), Some(tie)) => TiffGrid::new(scale, tie).map(Some),
            _ => None,
        }
    }
}

/// Adds an IFD to the bytes of a header. The grid is that of the raster itself; of other IFDs it is
/// in the bytes. False for an IFD that is unusual.
fn add_directory(
    bytes: &mut Vec<u8>,
    directory: &TiffDirectory<'_>,
    mut grid: Option<&mut GridTags>,
) -> Result<bool> {
    bytes.extend((directory.entries().count() as u64).to_le_bytes());
    for entry in directory.entries() {
        if !add_entry(bytes, directory, entry, grid.as_deref_mut())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds an entry of an IFD; false for one that is unusual.
fn add_entry(
    bytes: &mut Vec<u8>,
    directory: &TiffDirectory<'_>,
    entry: &[u8],
    grid: Option<&mut GridTags>,
) -> Result<bool> {
    let source = &directory.source;
    // Tag, type and count.
    let Some(head) = entry.get(..if source.big { 12 } else { 8 }) else {
        return Ok(false);
    };
    let [tag, kind, count] = [&head[..2], &head[2..4], &head[4..]].map(|part| source.number(part));
    let length = width_of(kind).and_then(|width| width.checked_mul(count));
    let Some(length) = length.filter(|_| !ELSEWHERE.contains(&tag)) else {
        return Ok(false);
    };
    let is_text = kind == ASCII && FREE_TEXTS.contains(&tag);
    // Texts have their own lengths.
    bytes.extend(if is_text { &head[..4] } else { head });
    if is_text || FREE.contains(&tag) {
        return Ok(length <= FREE_MAX && directory.has_value(entry, length));
    }
    // Entries may state the same bytes, and directories each other.
    if length > VALUE_MAX || bytes.len() as u64 + length > HEADER_MAX {
        return Ok(false);
    }
    let value = directory.value_bytes(entry, length)?;
    // Other counts are those of ground control points.
    let is_grid = kind == DOUBLE && matches!((tag, count), (PIXEL_SCALE, 3) | (TIEPOINT, 6));
    match grid.filter(|_| is_grid) {
        Some(grid) => {
            let numbers = parse_doubles(&value, source.little);
            // Heights may be those of the values.
            let heights = numbers.iter().skip(2).step_by(3);
            bytes.extend(heights.flat_map(|height| height.to_le_bytes()));
            Ok(grid.take(tag, &numbers))
        }
        None => {
            bytes.extend(value);
            Ok(true)
        }
    }
}

fn parse_doubles(bytes: &[u8], little: bool) -> Vec<f64> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let parse = if little {
        f64::from_le_bytes
    } else {
        f64::from_be_bytes
    };
    numbers.iter().map(|number| parse(*number)).collect()
}

/// Width in bytes of a value of a type; `None` for offsets of IFDs, and for an unknown type.
fn width_of(kind: u64) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 => Some(4),
        5 | 10 | 12 | 16 | 17 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::raster::{NewRaster, RasterSource, Samples, describe, write_geotiff};

    const UTM: [f64; 6] = [300_000.0, 10.0, 0.0, 8_700_000.0, 0.0, -10.0];

    fn raster() -> NewRaster<'static> {
        NewRaster {
            width: 4,
            height: 3,
            bands: vec![Samples::U8(vec![1; 12])],
            epsg: Some(32718),
            geotransform: Some(UTM),
            ..NewRaster::default()
        }
    }

    fn bytes_of(folder: &Path, raster: &NewRaster) -> Vec<u8> {
        let path = folder.join("a.tif");
        write_geotiff(&path, raster).expect("writes");
        std::fs::read(path).expect("reads")
    }

    /// The header of a file, and the geotransform that GDAL reads.
    fn read_both(folder: &Path, bytes: &[u8]) -> (TiffHeader, Option<[f64; 6]>) {
        // Another name for each: datasets that are open are used again.
        let path = folder.join(format!("{}.tif", crc32fast::hash(bytes)));
        std::fs::write(&path, bytes).expect("writes");
        let asset = AssetPath::file(path);
        let header = tiff_header(&asset).expect("has a header");
        let info = describe(&RasterSource::member(asset)).expect("describes");
        (header, info.geotransform)
    }

    fn header_in(bytes: &[u8]) -> Option<TiffHeader> {
        let read = |at: u64, length: u64| Ok(bytes[at as usize..(at + length) as usize].to_vec());
        read_header(&read, bytes.len() as u64).ok().flatten()
    }

    #[test]
    fn rasters_of_one_kind_have_equal_bytes_and_their_own_grid() {
        let folder = tempfile::tempdir().expect("a folder");
        let moved = NewRaster {
            geotransform: Some([300_160.5, 20.0, 0.0, 8_699_840.25, 0.0, -20.0]),
            ..raster()
        };
        let (first, transform) = read_both(folder.path(), &bytes_of(folder.path(), &raster()));
        let (other, other_transform) = read_both(folder.path(), &bytes_of(folder.path(), &moved));
        assert_eq!(first.bytes, other.bytes);
        let (grid, other_grid) = (first.grid.expect("one"), other.grid.expect("one"));
        assert_eq!(grid.origin_of(transform), Some(GridOrigin::Corner));
        assert_eq!(other_grid.transform(GridOrigin::Corner), other_transform);
        assert_eq!(other_grid.origin_of(transform), None);
        for changed in [
            NewRaster {
                epsg: Some(32719),
                ..raster()
            },
            NewRaster {
                nodata: Some(0.0),
                ..raster()
            },
            NewRaster {
                bands: vec![Samples::U16(vec![1; 12])],
                ..raster()
            },
            NewRaster {
                names: vec!["red"],
                ..raster()
            },
            NewRaster {
                geotransform: None,
                ..raster()
            },
            NewRaster {
                geotransform: Some([300_000.0, 10.0, 1.0, 8_700_000.0, 1.0, -10.0]),
                ..raster()
            },
        ] {
            let (found, _) = read_both(folder.path(), &bytes_of(folder.path(), &changed));
            assert_ne!(found.bytes, first.bytes, "{changed:?}");
        }
    }

    #[test]
    fn texts_about_a_file_change_nothing() {
        // A pixel, and a description of 8 or 12 bytes behind the directory.
        let with_text = |length: u8| {
            let mut bytes = b"II*\0\x08\0\0\0\x03\0".to_vec();
            bytes.extend([0, 1, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
            bytes.extend([1, 1, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
            bytes.extend([14, 1, 2, 0, length, 0, 0, 0, 50, 0, 0, 0]);
            bytes.extend([0; 4]);
            bytes.extend(vec![b'x'; usize::from(length)]);
            bytes
        };
        let [short, long] = [8, 12].map(with_text);
        let found = header_in(&short).expect("has a header");
        assert_eq!(header_in(&long), Some(found));
        assert_eq!(header_in(&long[..55]), None, "the text is cut");
    }

    #[test]
    fn points_of_pixels_are_their_centres() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bytes = bytes_of(folder.path(), &raster());
        // GTRasterTypeGeoKey: 1025, in the directory itself, one value, RasterPixelIsArea.
        let area = [1, 4, 0, 0, 1, 0, 1, 0];
        let at = bytes
            .windows(area.len())
            .position(|window| window == area)
            .expect("has the key");
        bytes[at + 6] = 2;
        let (header, transform) = read_both(folder.path(), &bytes);
        let grid = header.grid.expect("has one");
        assert_eq!(grid.origin_of(transform), Some(GridOrigin::Centre));
        assert_eq!(
            transform,
            Some([299_995.0, 10.0, 0.0, 8_700_005.0, 0.0, -10.0])
        );
    }

    #[test]
    fn unusual_and_damaged_files_are_left_to_gdal() {
        let folder = tempfile::tempdir().expect("a folder");
        let good = bytes_of(folder.path(), &raster());
        assert!(header_in(&good).is_some());
        for cut in 0..good.len() {
            let _ = header_in(&good[..cut]);
        }
        for at in 0..good.len() {
            for change in [0x01, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                let _ = header_in(&bytes);
            }
        }
        assert_eq!(header_in(b"no tiff at all, but long enough"), None);
        // Tie points at another pixel, and steps upwards.
        assert_eq!(
            TiffGrid::new([1.0; 3], [1.0, 0.0, 0.0, 5.0, 5.0, 0.0]),
            None
        );
        assert_eq!(TiffGrid::new([1.0, -1.0, 0.0], [0.0; 6]), None);
        assert_eq!(TiffGrid::new([1.0, f64::NAN, 0.0], [0.0; 6]), None);
    }
}
