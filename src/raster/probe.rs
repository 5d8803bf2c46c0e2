//! Single pixels and places: values of every band at one pixel, its coordinates, and the way to longitude and latitude.

use std::ffi::c_void;

use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};

use super::messages;
use super::{BandIndex, RasterInfo, RasterSource, budget, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Bands read for one pixel.
const BANDS_PROBED: usize = 256;

/// One pixel: where it is and what it holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Probe {
    /// Column, from 0.
    pub column: usize,
    /// Row, from 0.
    pub row: usize,
    /// The centre in the raster's coordinate system; `None` without a geotransform.
    pub xy: Option<[f64; 2]>,
    /// The centre as longitude and latitude (EPSG:4326); `None` without a coordinate system.
    pub lonlat: Option<[f64; 2]>,
    /// Values in the order of the bands, the first 256 of them.
    pub values: Vec<PixelValue>,
}

/// What one band holds at a pixel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PixelValue {
    /// The band.
    pub band: BandIndex,
    /// The stored value, or the real part of it. 64-bit integers above 2^53 are rounded.
    pub value: f64,
    /// The imaginary part, for complex types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<f64>,
    /// The value marks missing data, or is NaN.
    pub missing: bool,
}

/// Values and place of the pixel at (`column`, `row`) of the full-resolution raster.
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
        let (status, said) = messages::listen(|| {
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
            return Err(messages::because(error, &said, status.as_ref().err()));
        }
        let value = pair[0];
        let single = band.dtype == "Float32";
        let is_nodata = |nodata: f64| value == nodata || (single && value as f32 == nodata as f32);
        let missing = value.is_nan() || band.nodata.is_some_and(is_nodata);
        values.push(PixelValue { band: band.index, value, imaginary: band.is_complex().then_some(pair[1]), missing });
    }
    let xy = info.geotransform.map(|transform| apply(transform, column as f64 + 0.5, row as f64 + 0.5));
    let lonlat = xy.and_then(|xy| to_lonlat(&info, &[xy])).and_then(|points| points.first().copied().flatten());
    Ok(Probe { column, row, xy, lonlat, values })
}

/// Points of the raster's coordinate system as longitude and latitude (EPSG:4326, in this order). `None` as a whole when the
/// raster has no coordinate system, `None` for a point that has no place on Earth.
pub fn to_lonlat(info: &RasterInfo, points: &[[f64; 2]]) -> Option<Vec<Option<[f64; 2]>>> {
    transform(info.crs_wkt.as_deref()?, points)
}

/// Longitude and latitude of the four corners, when all have one.
pub(super) fn corners(wkt: &str, geotransform: [f64; 6], width: usize, height: usize) -> Option<[[f64; 2]; 4]> {
    let (width, height) = (width as f64, height as f64);
    let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)].map(|(column, row)| apply(geotransform, column, row));
    let places = transform(wkt, &corners)?;
    let places: Vec<[f64; 2]> = places.into_iter().collect::<Option<_>>()?;
    places.try_into().ok()
}

fn apply(t: [f64; 6], column: f64, row: f64) -> [f64; 2] {
    [t[0] + column * t[1] + row * t[2], t[3] + column * t[4] + row * t[5]]
}

fn transform(wkt: &str, points: &[[f64; 2]]) -> Option<Vec<Option<[f64; 2]>>> {
    let (transformed, _said) = messages::listen(|| {
        let mut from = SpatialRef::from_wkt(wkt).ok()?;
        let mut to = SpatialRef::from_epsg(4326).ok()?;
        from.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        to.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
        let way = CoordTransform::new(&from, &to).ok()?;
        let one = |point: &[f64; 2]| {
            let (mut x, mut y) = ([point[0]], [point[1]]);
            way.transform_coords(&mut x, &mut y, &mut []).ok()?;
            (x[0].is_finite() && y[0].is_finite()).then_some([x[0], y[0]])
        };
        Some(points.iter().map(one).collect())
    });
    transformed
}
