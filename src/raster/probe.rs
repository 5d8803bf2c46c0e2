//! Values of every band at one pixel, and its coordinates.

use std::ffi::c_void;

use gdal::raster::{GdalType, RasterBand};

use super::reproject::apply_geotransform;
use super::{BandIndex, BandInfo, PixelNumber, RasterSource, budget, gdal_errors, pool};
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
    /// Pixel centre as longitude and latitude in degrees (EPSG:4326); `None` without a coordinate
    /// system.
    pub lonlat: Option<[f64; 2]>,
    /// Values of the first 256 bands, in order.
    pub values: Vec<PixelValue>,
}

/// Value of one band at a pixel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PixelValue {
    pub band: BandIndex,
    /// Stored value, or its real part.
    pub value: PixelNumber,
    /// The imaginary part, for complex types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<f64>,
    /// True for nodata, NaN, and pixels that a mask or alpha band leaves out.
    pub missing: bool,
}

impl PixelValue {
    /// This value minus that of the same band of another raster; missing where either is.
    pub fn minus(&self, other: &PixelValue) -> PixelValue {
        PixelValue {
            band: self.band,
            value: self.value.minus(other.value),
            imaginary: self
                .imaginary
                .zip(other.imaginary)
                .map(|(own, other)| own - other),
            missing: self.missing || other.missing,
        }
    }
}

/// Values and coordinates of the pixel at (`column`, `row`) of the full-resolution raster.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a pixel outside of the raster; those of opening
/// and reading.
///
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for blocks above 256 MiB; cancellation.
pub fn probe(source: &RasterSource, column: usize, row: usize, ctx: &JobContext) -> Result<Probe> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = lease.info.clone();
    if column >= info.width || row >= info.height {
        let summary = format!(
            "there is no pixel at column {column}, row {row}: the raster has {} × {}",
            info.width, info.height
        );
        return Err(Error::usage(summary).at_place(asset));
    }
    budget::check_blocks(
        &info,
        info.bands.iter().take(BANDS_PROBED).map(|band| band.index),
        source,
    )?;
    let mut values = Vec::new();
    for band in info.bands.iter().take(BANDS_PROBED) {
        ctx.check()?;
        let (value, said) = gdal_errors::listen(|| {
            let raster_band = lease.dataset.rasterband(band.index.get()).ok()?;
            value_of(&raster_band, band, (column as i32, row as i32))
        });
        let Some(value) = value else {
            let error = Error::format(format!(
                "band {} could not be read at column {column}, row {row}",
                band.index
            ))
            .at_place(asset);
            return Err(gdal_errors::because(error, &said, None));
        };
        values.push(value);
    }
    let xy = info
        .geotransform
        .map(|transform| apply_geotransform(transform, column as f64 + 0.5, row as f64 + 0.5));
    let lonlat = xy
        .and_then(|xy| info.to_lonlat(&[xy]))
        .and_then(|points| points.first().copied().flatten());
    Ok(Probe {
        column,
        row,
        xy,
        lonlat,
        values,
    })
}

/// The value of a band at `(column, row)`; `None` when it can't be read.
fn value_of(raster_band: &RasterBand<'_>, band: &BandInfo, at: (i32, i32)) -> Option<PixelValue> {
    let (value, imaginary, is_nodata) = match band.dtype.as_str() {
        "UInt64" => long_value(
            i128::from(pixel(raster_band, at, u64::gdal_ordinal(), [0u64])?[0]),
            band,
        ),
        "Int64" => long_value(
            i128::from(pixel(raster_band, at, i64::gdal_ordinal(), [0i64])?[0]),
            band,
        ),
        _ => {
            let [value, imaginary] = pixel(
                raster_band,
                at,
                gdal_sys::GDALDataType::GDT_CFloat64,
                [0f64; 2],
            )?;
            let is_nodata =
                value.is_nan() || band.nodata_test().is_some_and(|test| test.is_nodata(value));
            let number = PixelNumber::from_band_value(value, band.is_integer());
            (number, band.is_complex().then_some(imaginary), is_nodata)
        }
    };
    let missing = is_nodata || is_masked(raster_band, at);
    Some(PixelValue {
        band: band.index,
        value,
        imaginary,
        missing,
    })
}

/// A 64-bit integer, no imaginary part, and whether it is the nodata value.
fn long_value(value: i128, band: &BandInfo) -> (PixelNumber, Option<f64>, bool) {
    (
        PixelNumber::Integer(value),
        None,
        band.nodata_test()
            .is_some_and(|test| test.is_nodata_long(value)),
    )
}

/// True where a mask or alpha band leaves the pixel out.
fn is_masked(raster_band: &RasterBand<'_>, at: (i32, i32)) -> bool {
    let by_band = raster_band
        .mask_flags()
        .is_ok_and(|flags| !flags.is_all_valid() && (!flags.is_nodata() || flags.is_per_dataset()));
    by_band
        && raster_band.open_mask_band().is_ok_and(|mask| {
            pixel(&mask, at, u8::gdal_ordinal(), [255u8]).is_some_and(|mask| mask[0] == 0)
        })
}

/// Reads one pixel into `value`, which has the size of one value of the GDAL type `ordinal`; `at`
/// is inside the raster.
fn pixel<T>(
    raster_band: &RasterBand<'_>,
    (column, row): (i32, i32),
    ordinal: gdal_sys::GDALDataType::Type,
    mut value: T,
) -> Option<T> {
    // Safety: one value of the type fits `value`; column and row are inside.
    let status = unsafe {
        gdal_sys::GDALRasterIO(
            raster_band.c_rasterband(),
            gdal_sys::GDALRWFlag::GF_Read,
            column,
            row,
            1,
            1,
            std::ptr::from_mut(&mut value).cast::<c_void>(),
            1,
            1,
            ordinal,
            0,
            0,
        )
    };
    (status == gdal_sys::CPLErr::CE_None).then_some(value)
}
