//! Reads values in the band's own data type, without conversion, including 64-bit integers.

use std::ffi::c_int;

use gdal::raster::RasterBand;

use super::{RasterSource, budget, pool};
use crate::error::{Error, Kind, Result};

/// GDAL's number of a band's data type. The `gdal` crate has neither complex types nor half
/// floats.
pub(super) fn ordinal(band: &RasterBand<'_>) -> gdal_sys::GDALDataType::Type {
    // Safety: the band lives as long as its dataset.
    unsafe { gdal_sys::GDALGetRasterDataType(band.c_rasterband()) }
}

/// Bytes of one value of a band.
pub(super) fn value_width(band: &RasterBand<'_>) -> usize {
    // Safety: a function of the number alone.
    usize::try_from(unsafe { gdal_sys::GDALGetDataTypeSizeBytes(ordinal(band)) }).unwrap_or(0)
}

/// `count` whole rows of a band from row `first`, in its own data type; `line` is the size of a row
/// in bytes.
///
/// # Errors
/// [`Kind::Io`] for a raster too large for GDAL's API, or unreadable rows.
pub(super) fn stored_lines(
    band: &RasterBand<'_>,
    first: usize,
    columns: usize,
    count: usize,
    line: usize,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0u8; line * count];
    let (wide, high, from) = (
        to_gdal_size(columns)?,
        to_gdal_size(count)?,
        to_gdal_size(first)?,
    );
    let kind = ordinal(band);
    // Safety: the buffer holds `count` rows of `line` bytes in the band's own type, which is the
    // type requested.
    let failed = unsafe {
        gdal_sys::GDALRasterIO(
            band.c_rasterband(),
            gdal_sys::GDALRWFlag::GF_Read,
            0,
            from,
            wide,
            high,
            bytes.as_mut_ptr().cast(),
            wide,
            high,
            kind,
            0,
            0,
        )
    };
    if failed == gdal_sys::CPLErr::CE_None {
        Ok(bytes)
    } else {
        Err(Error::new(Kind::Io, "the raster can't be read back"))
    }
}

fn to_gdal_size(number: usize) -> Result<c_int> {
    c_int::try_from(number)
        .map_err(|_| Error::new(Kind::Io, "the raster is too large to be compared"))
}

/// The first `[bands, rows, columns]` of a small raster, band-sequential, row-major, little-endian.
/// `width` is the size of a value in bytes.
///
/// # Errors
/// For a raster that is smaller or has values of another width, and GDAL's errors of opening and
/// reading.
pub fn stored_values(
    source: &RasterSource,
    [bands, rows, columns]: [usize; 3],
    width: usize,
) -> Result<Vec<u8>> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    budget::check_blocks(
        &lease.info,
        lease.info.bands.iter().map(|band| band.index),
        source,
    )?;
    let (wide, high) = lease.dataset.raster_size();
    if wide < columns || high < rows || lease.dataset.raster_count() < bands {
        return Err(
            Error::format("the raster decodes to another number of values than it should")
                .at_place(asset),
        );
    }
    let mut bytes = Vec::with_capacity(bands * rows * columns * width);
    for band in 1..=bands {
        let band = lease.dataset.rasterband(band).map_err(|error| {
            Error::format("a band can't be read")
                .because(error)
                .at_place(asset)
        })?;
        if value_width(&band) != width {
            return Err(Error::format(
                "the raster decodes to values of another type than it should",
            )
            .at_place(asset));
        }
        let mut values = stored_lines(&band, 0, columns, rows, columns * width)
            .map_err(|error| error.at_place(asset))?;
        if cfg!(target_endian = "big") {
            values.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        bytes.extend(values);
    }
    Ok(bytes)
}
