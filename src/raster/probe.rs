//! Values of every band at one pixel, and its coordinates.

use std::ffi::c_void;

use super::gdal_errors;
use super::reproject::apply;
use super::{BandIndex, RasterSource, budget, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum number of bands read for one pixel.
const BANDS_PROBED: usize = 256;

/// Position and band values of one pixel.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Probe {
    /// Column, from 0.
    pub column: usize,
    /// Row, from 0.
    pub row: usize,
    /// Pixel centre in the raster's coordinate system; `None` without a geotransform.
    pub xy: Option<[f64; 2]>,
    /// Pixel centre as longitude and latitude in degrees (EPSG:4326); `None` without a coordinate system.
    pub lonlat: Option<[f64; 2]>,
    /// Values of the first 256 bands, in order.
    pub values: Vec<PixelValue>,
}

/// Value of one band at a pixel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PixelValue {
    /// The band.
    pub band: BandIndex,
    /// Stored value, or its real part. 64-bit integers above 2^53 are rounded.
    pub value: f64,
    /// The imaginary part, for complex types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<f64>,
    /// True for nodata and NaN; mask bands are not read.
    pub missing: bool,
}

/// Values and coordinates of the pixel at (`column`, `row`) of the full-resolution raster.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a pixel outside of the raster; those of opening and reading.
///
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for blocks above 256 MiB; cancellation.
pub fn probe(source: &RasterSource, column: usize, row: usize, ctx: &JobContext) -> Result<Probe> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = lease.info.clone();
    if column >= info.width || row >= info.height {
        let summary = format!("there is no pixel at column {column}, row {row}: the raster has {} × {}", info.width, info.height);
        return Err(Error::usage(summary).at(asset));
    }
    budget::check_blocks(&info, info.bands.iter().take(BANDS_PROBED).map(|band| band.index), source)?;
    let mut values = Vec::new();
    for band in info.bands.iter().take(BANDS_PROBED) {
        ctx.check()?;
        let mut pair = [0f64; 2];
        let (status, said) = gdal_errors::listen(|| {
            let raster_band = lease.dataset.rasterband(band.index.get())?;
            // Safety: one complex value of two doubles fits `pair`; column and row lie inside and so fit an int.
            let status = unsafe {
                gdal_sys::GDALRasterIO(
                    raster_band.c_rasterband(),
                    gdal_sys::GDALRWFlag::GF_Read,
                    column as i32,
                    row as i32,
                    1,
                    1,
                    pair.as_mut_ptr().cast::<c_void>(),
                    1,
                    1,
                    gdal_sys::GDALDataType::GDT_CFloat64,
                    0,
                    0,
                )
            };
            Ok(status)
        });
        if !matches!(status, Ok(gdal_sys::CPLErr::CE_None)) {
            let error = Error::format(format!("band {} could not be read at column {column}, row {row}", band.index)).at(asset);
            return Err(gdal_errors::because(error, &said, status.as_ref().err()));
        }
        let value = pair[0];
        let missing = value.is_nan() || band.nodata_test().is_some_and(|test| test.is_nodata(value));
        values.push(PixelValue { band: band.index, value, imaginary: band.is_complex().then_some(pair[1]), missing });
    }
    let xy = info.geotransform.map(|transform| apply(transform, column as f64 + 0.5, row as f64 + 0.5));
    let lonlat = xy.and_then(|xy| info.to_lonlat(&[xy])).and_then(|points| points.first().copied().flatten());
    Ok(Probe { column, row, xy, lonlat, values })
}
