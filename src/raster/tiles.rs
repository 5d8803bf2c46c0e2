//! Where a GeoTIFF's tiles lie in its file, as its directory says. Reads no pixels.

use gdal::Metadata;

use super::pool::Lease;
use super::{BandInfo, RasterSource, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Tiles that a layout may list; more is a lie, or nothing for a column of metadata.
const TILES_LIMIT: usize = 1 << 22;

/// The tiles of the full-resolution image of a GeoTIFF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileLayout {
    /// Columns and rows of the image.
    pub size: (usize, usize),
    /// Columns and rows of a tile; a strip is as wide as the image.
    pub tile: (usize, usize),
    /// Bands.
    pub bands: usize,
    /// Bits of one value.
    pub bits: u8,
    /// As TIFF counts them: 1 unsigned, 2 signed, 3 floating point, 5 and 6 complex.
    pub sample_format: u8,
    /// TIFF's predictor: 1 none, 2 differences, 3 for floating point.
    pub predictor: u8,
    /// As GDAL names it: `ZSTD`, `DEFLATE`, …; empty without.
    pub compression: String,
    /// `TILE`, `BAND` or `PIXEL`.
    pub interleave: String,
    /// `COG` where the file says so.
    pub layout: String,
    /// Overviews of the first band.
    pub overviews: usize,
    /// First byte and number of bytes of each tile, in the order in which they lie in the file. Tiles without bytes are
    /// `(0, 0)` and come first.
    pub tiles: Vec<(u64, u64)>,
}

/// Reads the layout from the file's directory. An error for anything but a GeoTIFF.
pub fn tile_layout(source: &RasterSource, ctx: &JobContext) -> Result<TileLayout> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let mut layout = layout_without_tiles(&lease, asset)?;
    let (tile_width, tile_height) = layout.tile;
    let grid = (layout.size.0.div_ceil(tile_width.max(1)), layout.size.1.div_ceil(tile_height.max(1)));
    // By pixel one tile holds all bands.
    let planes = if layout.interleave == "PIXEL" { 1 } else { layout.bands };
    let count = grid.0.checked_mul(grid.1).and_then(|tiles| tiles.checked_mul(planes)).filter(|count| *count <= TILES_LIMIT);
    let count = count.ok_or_else(|| Error::unsupported(format!("more than {TILES_LIMIT} tiles")).at(asset))?;
    let mut tiles = Vec::with_capacity(count);
    for plane in 1..=planes {
        let band = lease.dataset.rasterband(plane).map_err(|error| unreadable(error, asset))?;
        let number = |key: String| band.metadata_item(&key, "TIFF").and_then(|text| text.parse().ok()).unwrap_or(0u64);
        for row in 0..grid.1 {
            ctx.check()?;
            for column in 0..grid.0 {
                tiles.push((number(format!("BLOCK_OFFSET_{column}_{row}")), number(format!("BLOCK_SIZE_{column}_{row}"))));
            }
        }
    }
    tiles.sort_unstable();
    layout.tiles = tiles;
    Ok(layout)
}

fn unreadable(error: gdal::errors::GdalError, asset: &AssetPath) -> Error {
    Error::format("a band could not be read").because(error).at(asset)
}

/// The layout but for the places of the tiles, which are as many as there are tiles.
pub(super) fn layout_without_tiles(lease: &Lease, asset: &AssetPath) -> Result<TileLayout> {
    let info = &lease.info;
    let first = info.bands.first().ok_or_else(|| Error::unsupported("this file has no bands").at(asset))?;
    if info.driver != "GTiff" && info.driver != "COG" {
        return Err(Error::unsupported(format!("this is no GeoTIFF but {}", info.driver)).at(asset));
    }
    let item = |key: &str| lease.dataset.metadata_item(key, "IMAGE_STRUCTURE").unwrap_or_default();
    let band = lease.dataset.rasterband(1).map_err(|error| unreadable(error, asset))?;
    let (whole, sample_format) = kind(first);
    let bits = band.metadata_item("NBITS", "IMAGE_STRUCTURE").and_then(|bits| bits.parse().ok()).unwrap_or(whole);
    Ok(TileLayout {
        size: (info.width, info.height),
        tile: first.block,
        bands: info.band_count,
        bits,
        sample_format,
        predictor: item("PREDICTOR").parse().unwrap_or(1),
        compression: item("COMPRESSION"),
        interleave: item("INTERLEAVE"),
        layout: item("LAYOUT"),
        overviews: first.overviews.len(),
        tiles: Vec::new(),
    })
}

/// Bits and TIFF's sample format of a band's type.
fn kind(band: &BandInfo) -> (u8, u8) {
    let name = band.dtype.as_str();
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let bits: u8 = digits.parse().unwrap_or(8);
    match name {
        _ if name.starts_with("CInt") => (bits.saturating_mul(2), 5),
        _ if name.starts_with("CFloat") => (bits.saturating_mul(2), 6),
        _ if name.starts_with("Float") => (bits, 3),
        _ if name.starts_with("Int") => (bits, 2),
        _ => (bits, 1),
    }
}
