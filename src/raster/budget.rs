//! Limits on memory and work of a read, checked on the header before allocation: a file of 1 kB can
//! claim any size. A raster whose bytes could hold the pixels that its header claims is refused
//! only for its block size or above 64 TiB.

use super::{BandIndex, BandInfo, RasterInfo, RasterSource};
use crate::error::{Error, Result};

/// Maximum bytes of a decoded block. GDAL decodes whole blocks and caches at least one per band.
const BLOCK_LIMIT_BYTES: u64 = 256 << 20;
/// Rasters up to this size in bytes are decoded at any compression ratio: an empty raster
/// compresses to almost nothing.
const SMALL_BYTES: u64 = 4 << 30;
/// Maximum plausible compression ratio of a large raster. Deflate reaches 1032, other codecs some
/// thousands on constant data; above that most blocks are missing (sparse).
const DENSEST: u64 = 10_000;
/// Maximum ratio of the pixels of tiles to those of the raster, for large rasters.
const PADDING_MOST: u64 = 64;
/// Maximum bytes of pixels read from end to end; more would take days.
const LARGEST_BYTES: u64 = 64 << 40;
/// Maximum bytes decoded for a partial read of a hollow raster, see [`is_hollow`].
const LOOK_BYTES: u64 = 1 << 30;

/// Drivers that decode a whole band at the first read, whatever block they report: a GRIB message
/// is one compressed field.
const WHOLE_BANDS: &[&str] = &["GRIB"];
/// Maximum compression ratio of such a band when it exceeds the limit of a block: a field without
/// differences has no bytes at all.
const FIELD_DENSEST: u64 = 64;

/// Bytes of one value in memory, including conversion buffers for complex types.
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

/// Refuses bands whose blocks exceed 256 MiB decoded, and bands that are decoded whole, exceed
/// that, and have no such bytes in the file.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported).
pub(super) fn check_blocks(
    info: &RasterInfo,
    bands: impl IntoIterator<Item = BandIndex>,
    source: &RasterSource,
) -> Result<()> {
    // Pixel-interleaved: a stored block holds all bands, and GDAL splits it into one block per
    // band.
    let together = if info.interleave.as_deref() == Some("PIXEL") && info.band_count > 1 {
        2 * info.band_count as u64
    } else {
        1
    };
    let is_whole = WHOLE_BANDS.contains(&info.driver.as_str());
    for band in bands.into_iter().filter_map(|index| info.band(index)) {
        let whole = (info.width as u64)
            .saturating_mul(info.height as u64)
            .saturating_mul(value_bytes(&band.dtype));
        if is_whole
            && whole > BLOCK_LIMIT_BYTES
            && info
                .size_bytes
                .is_none_or(|size| whole / FIELD_DENSEST > size)
        {
            let size = info.size_bytes.unwrap_or_default();
            let summary = format!(
                "band {} takes {} MiB, and the file has {size} bytes",
                band.index,
                whole >> 20
            );
            return Err(Error::unsupported(summary).at_place(source).hint(
                "its fields are decoded whole; write it in tiles, for example: \
                    gdal_translate -of COG IN OUT",
            ));
        }
        let pixels = (band.block.0 as u64).saturating_mul(band.block.1 as u64);
        let block = pixels.saturating_mul(value_bytes(&band.dtype));
        if block.saturating_mul(together) > BLOCK_LIMIT_BYTES {
            let summary = match together {
                1 => format!("one block of band {} takes {} MiB", band.index, block >> 20),
                _ => format!(
                    "one block of all {} bands takes {} MiB",
                    info.band_count,
                    block.saturating_mul(together / 2) >> 20
                ),
            };
            let hint = "rewrite the file in tiles, for example: gdal_translate -of COG IN OUT";
            return Err(Error::unsupported(summary).at_place(source).hint(hint));
        }
    }
    Ok(())
}

/// Bytes of all pixels that the header claims.
fn claimed_bytes(info: &RasterInfo) -> u64 {
    let pixels = (info.width as u64).saturating_mul(info.height as u64);
    pixels.saturating_mul(pixel_bytes(info))
}

/// Bytes of one pixel in all bands. Bands that are not listed count as the last one that is.
fn pixel_bytes(info: &RasterInfo) -> u64 {
    let listed: u64 = info.bands.iter().map(|band| value_bytes(&band.dtype)).sum();
    let others = (info.band_count - info.bands.len().min(info.band_count)) as u64;
    listed.saturating_add(
        others.saturating_mul(info.bands.last().map_or(1, |band| value_bytes(&band.dtype))),
    )
}

/// GDAL's time to write a GeoTIFF grows with the square of its bands: some seconds for these.
const WRITTEN_BANDS_MAX: usize = 8192;

/// Refuses to write tiles of `side` × `side` pixels that would mostly be padding: more than 4 GiB,
/// and more than 64 times the pixels; and rasters of more bands than are written in some seconds.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported).
pub(super) fn check_padding(info: &RasterInfo, side: u32, source: &RasterSource) -> Result<()> {
    if info.band_count > WRITTEN_BANDS_MAX {
        let summary = format!(
            "the raster has {} bands, and at most {WRITTEN_BANDS_MAX} are written into one file",
            info.band_count
        );
        return Err(Error::unsupported(summary)
            .at_place(source)
            .hint("write fewer bands into a file: gdal_translate -b 1 -b 2 IN OUT"));
    }
    let tiles = |length: usize| (length as u64).div_ceil(u64::from(side)).max(1);
    let pixels = tiles(info.width)
        .saturating_mul(tiles(info.height))
        .saturating_mul(u64::from(side).pow(2));
    let padded = pixels.saturating_mul(pixel_bytes(info));
    if padded <= SMALL_BYTES || padded / PADDING_MOST <= claimed_bytes(info) {
        return Ok(());
    }
    let (bands, width, height, gib) = (info.band_count, info.width, info.height, padded >> 30);
    let summary = format!(
        "tiles of {side} × {side} for {bands} bands of {width} × {height} pixels take {gib} GiB, \
            mostly of padding"
    );
    Err(Error::unsupported(summary)
        .at_place(source)
        .hint("choose smaller tiles (--block-size 16), or write fewer bands into a file"))
}

/// True when the file is far too small for the pixels that its header claims. Only for members: a
/// file that the user named may refer to others.
fn is_hollow(info: &RasterInfo, source: &RasterSource) -> bool {
    let claimed = claimed_bytes(info);
    let most = |size: u64| claimed > SMALL_BYTES && claimed / DENSEST > size;
    source.is_fenced() && info.size_bytes.is_some_and(most)
}

fn hollow_error(info: &RasterInfo, source: &RasterSource) -> Error {
    let (gib, size) = (
        claimed_bytes(info) >> 30,
        info.size_bytes.unwrap_or_default(),
    );
    let summary = format!(
        "the header claims {} × {} pixels, {gib} GiB, and the file has {size} bytes",
        info.width, info.height
    );
    Error::unsupported(summary)
        .at_place(source)
        .hint("most of its blocks are missing; write the part that has data, or overviews")
}

/// Refuses to read every pixel of a hollow raster, or of one above 64 TiB.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported).
pub(super) fn check_whole(info: &RasterInfo, source: &RasterSource) -> Result<()> {
    if is_hollow(info, source) {
        return Err(hollow_error(info, source));
    }
    if claimed_bytes(info) > LARGEST_BYTES {
        let summary = format!(
            "{} × {} pixels, {} TiB, are too many to read each",
            info.width,
            info.height,
            claimed_bytes(info) >> 40
        );
        return Err(Error::unsupported(summary)
            .at_place(source)
            .hint("read a part of it"));
    }
    Ok(())
}

/// Refuses a read of `out` (columns, rows) from a window of `pixels` pixels of a hollow raster when
/// GDAL would decode more than 1 GiB: each output pixel can be in another block, and GDAL fills
/// missing blocks in memory.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported).
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
    let whole = bands
        .iter()
        .filter_map(|index| info.band(*index))
        .map(|band| estimate_decoded_bytes(band, pixels, out_pixels))
        .fold(0, u64::saturating_add);
    if whole > LOOK_BYTES {
        Err(hollow_error(info, source))
    } else {
        Ok(())
    }
}

/// Bytes that GDAL decodes at the most of a band, to fill `out_pixels` from `pixels` pixels.
fn estimate_decoded_bytes(band: &BandInfo, pixels: u64, out_pixels: u64) -> u64 {
    let block = (band.block.0 as u64).saturating_mul(band.block.1 as u64);
    // GDAL reads the smallest overview with at least the requested pixels.
    let nearest = band
        .overviews
        .iter()
        .map(|&(w, h)| w as u64 * h as u64)
        .filter(|&held| held >= out_pixels)
        .min();
    let decoded = nearest
        .unwrap_or(u64::MAX)
        .min(pixels)
        .min(out_pixels.saturating_mul(block));
    decoded.saturating_mul(value_bytes(&band.dtype))
}

/// True when the raster has more than 1024 bytes of pixels per byte of file: memory is limited,
/// since such files read fast.
pub(super) fn is_sparse(info: &RasterInfo) -> bool {
    info.size_bytes
        .is_some_and(|size| claimed_bytes(info) / 1024 > size)
}
