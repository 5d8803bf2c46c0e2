//! Limits of memory and work for reading a raster, checked on its header before anything is allocated: a file of 1 kB can claim any
//! size. A raster whose bytes could hold what its header claims is never refused.

use super::{BandIndex, RasterInfo, RasterSource};
use crate::error::{Error, Result};

/// GDAL decodes whole blocks and keeps at least one of each band that it reads; a file with larger ones would not fit beside the rest.
const BLOCK_LIMIT_BYTES: u64 = 256 << 20;
/// Up to here pixels are decoded whatever the file's size: an empty raster compresses to almost nothing.
const SMALL_BYTES: u64 = 4 << 30;
/// Bytes of pixels that a byte of a file may stand for, on average over a large raster. Deflate reaches 1032, the other compressions
/// some thousands where all pixels are alike; beyond that most blocks are not there.
const DENSEST: u64 = 10_000;
/// Rasters larger than this are not read from end to end: that takes days.
const LARGEST_BYTES: u64 = 64 << 40;
/// What a look at a raster that is mostly not there may decode.
const LOOK_BYTES: u64 = 1 << 30;

/// Bytes of one value in memory, with what GDAL or this program needs beside it.
pub(super) fn value_bytes(dtype: &str) -> u64 {
    match dtype {
        "Byte" | "UInt8" => 1,
        "Int8" | "UInt16" | "Int16" => 2,
        "UInt32" | "Int32" | "Float32" | "Float16" => 4,
        "CFloat64" => 24,
        "CInt16" | "CInt32" | "CFloat16" | "CFloat32" => 12,
        _ => 8,
    }
}

/// Refuses bands whose blocks are too large to be decoded.
pub(super) fn check_blocks(info: &RasterInfo, bands: impl IntoIterator<Item = BandIndex>, source: &RasterSource) -> Result<()> {
    // By pixel a block of the file holds all bands, and GDAL splits it into one of each.
    let together = if info.interleave.as_deref() == Some("PIXEL") && info.band_count > 1 { 2 * info.band_count as u64 } else { 1 };
    for band in bands.into_iter().filter_map(|index| info.band(index)) {
        let pixels = (band.block.0 as u64).saturating_mul(band.block.1 as u64);
        let block = pixels.saturating_mul(value_bytes(&band.dtype));
        if block.saturating_mul(together) > BLOCK_LIMIT_BYTES {
            let summary = match together {
                1 => format!("one block of band {} takes {} MiB", band.index, block >> 20),
                _ => format!("one block of all {} bands takes {} MiB", info.band_count, block.saturating_mul(together / 2) >> 20),
            };
            let hint = "rewrite the file in tiles, for example: gdal_translate -of COG IN OUT";
            return Err(Error::unsupported(summary).at(source).hint(hint));
        }
    }
    Ok(())
}

/// Bytes of all pixels that the header claims.
fn claimed_bytes(info: &RasterInfo) -> u64 {
    let pixels = (info.width as u64).saturating_mul(info.height as u64);
    let listed: u64 = info.bands.iter().map(|band| value_bytes(&band.dtype)).sum();
    let others = (info.band_count - info.bands.len().min(info.band_count)) as u64;
    pixels.saturating_mul(listed.saturating_add(others))
}

/// True where the file has far too few bytes for its pixels. Only bytes of a dataset are told by their own number: a file that the
/// person named may lead to others.
fn is_hollow(info: &RasterInfo, source: &RasterSource) -> bool {
    let claimed = claimed_bytes(info);
    let most = |size: u64| claimed > SMALL_BYTES && claimed / DENSEST > size;
    source.is_fenced() && info.size_bytes.is_some_and(most)
}

fn hollow(info: &RasterInfo, source: &RasterSource) -> Error {
    let (gib, size) = (claimed_bytes(info) >> 30, info.size_bytes.unwrap_or_default());
    let summary = format!("the header claims {} × {} pixels, {gib} GiB, and the file has {size} bytes", info.width, info.height);
    Error::unsupported(summary).at(source).hint("most of its blocks are missing; write the part that has data, or overviews")
}

/// Refuses to read every pixel of a raster that claims more than its bytes could hold, or more than can be read.
pub(super) fn check_whole(info: &RasterInfo, source: &RasterSource) -> Result<()> {
    if is_hollow(info, source) {
        return Err(hollow(info, source));
    }
    if claimed_bytes(info) > LARGEST_BYTES {
        let summary =
            format!("{} × {} pixels, {} TiB, are too many to read each", info.width, info.height, claimed_bytes(info) >> 40);
        return Err(Error::unsupported(summary).at(source).hint("read a part of it"));
    }
    Ok(())
}

/// Refuses a read of `out` pixels from a window of `pixels` pixels of a raster that is mostly not there, where it would decode more
/// than a look is worth: each pixel can lie in a block of its own, and blocks that are not there are made anew.
pub(super) fn check_look(
    info: &RasterInfo,
    bands: &[BandIndex],
    pixels: u64,
    out: (usize, usize),
    source: &RasterSource,
) -> Result<()> {
    if !is_hollow(info, source) {
        return Ok(());
    }
    let out_pixels = (out.0 as u64).saturating_mul(out.1 as u64);
    let cost = |index: &BandIndex| {
        let band = info.band(*index)?;
        let block = (band.block.0 as u64).saturating_mul(band.block.1 as u64);
        // An overview that has at least the pixels wanted is read in place of the raster.
        let nearest = band.overviews.iter().map(|&(w, h)| w as u64 * h as u64).filter(|&held| held >= out_pixels).min();
        let decoded = nearest.unwrap_or(u64::MAX).min(pixels).min(out_pixels.saturating_mul(block));
        Some(decoded.saturating_mul(value_bytes(&band.dtype)))
    };
    let whole = bands.iter().filter_map(cost).fold(0, u64::saturating_add);
    if whole > LOOK_BYTES { Err(hollow(info, source)) } else { Ok(()) }
}

/// True where values that are kept would be taken out of nothing: then memory is saved, and time is not short.
pub(super) fn is_sparse(info: &RasterInfo) -> bool {
    info.size_bytes.is_some_and(|size| claimed_bytes(info) / 1024 > size)
}
