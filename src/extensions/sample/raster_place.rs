//! Coordinate system, grid and place of a raster, each as far as its header gives it: by a
//! geotransform, or by ground control points or rational polynomials. The place of a vector file is
//! the extent of its layers.

use super::super::SampleView;
use crate::error::{Cause, Error, Result};
use crate::raster::{self, RasterInfo, VectorPlace, WarpedPlace};

/// What the header of a raster says about its place.
pub struct RasterPlace<'a> {
    /// The coordinate system as it is stored: code, WKT, or that of the options.
    pub crs: Option<&'a str>,
    /// The same for transformations.
    definition: Option<&'a str>,
    /// Corners in the coordinate system: top left, top right, bottom right, bottom left.
    pub corners: Option<[[f64; 2]; 4]>,
    /// The middle in the coordinate system.
    pub centre: Option<[f64; 2]>,
    /// Present when the place is computed without a geotransform.
    pub warped: Option<&'a WarpedPlace>,
}

impl<'a> RasterPlace<'a> {
    /// The place of a raster; `given` is the coordinate system of files that name none.
    pub fn from_info(info: &'a RasterInfo, given: Option<&'a str>) -> Self {
        let warped = info.warped.as_ref();
        let (code, wkt) = match warped {
            Some(warped) if info.crs_wkt.is_none() => {
                (warped.crs_code.as_deref(), warped.crs_wkt.as_deref())
            }
            _ => (info.crs_code.as_deref(), info.crs_wkt.as_deref()),
        };
        let crs = code.or(wkt).or(given);
        let (width, height) = (info.width as f64, info.height as f64);
        let grid = info.geotransform.filter(|_| warped.is_none());
        Self {
            crs,
            definition: wkt.or(crs),
            corners: grid
                .map(|t| compute_corners(t, width, height))
                .or(warped.map(|warped| warped.corners)),
            centre: grid
                .map(|t| middle_of(t, info.width, info.height))
                .or(warped.map(|warped| warped.centre)),
            warped,
        }
    }

    /// The place of a vector file; `given` is the coordinate system of files that name none.
    pub fn of_vector(place: &'a VectorPlace, given: Option<&'a str>) -> Self {
        let (code, wkt) = (place.crs_code.as_deref(), place.crs_wkt.as_deref());
        let crs = code.or(wkt).or(given);
        Self {
            crs,
            definition: wkt.or(crs),
            corners: place.corners(),
            centre: place.centre(),
            warped: None,
        }
    }

    /// Longitude and latitude of the middle; `None` with a note or failure of `column` when it has
    /// none, see [`place_on_earth`].
    pub fn centroid(&self, column: &'static str, sample: &SampleView<'_>) -> Option<[f64; 2]> {
        place_on_earth(self.definition?, self.centre?, column, sample)
    }
}

/// Top left, top right, bottom right, bottom left.
fn compute_corners(t: [f64; 6], width: f64, height: f64) -> [[f64; 2]; 4] {
    [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
        .map(|(x, y)| apply_geotransform(t, x, y))
}

/// Coordinates of a column and row by GDAL's geotransform `t`.
fn apply_geotransform(t: [f64; 6], column: f64, row: f64) -> [f64; 2] {
    [
        t[0] + column * t[1] + row * t[2],
        t[3] + column * t[4] + row * t[5],
    ]
}

/// The middle of a grid in its coordinate system, including rotation.
pub fn middle_of(t: [f64; 6], width: usize, height: usize) -> [f64; 2] {
    apply_geotransform(t, width as f64 / 2.0, height as f64 / 2.0)
}

/// Longitude and latitude of a point of a coordinate system. Without them `column` is noted as
/// absent when the system is that of another body, and as failed otherwise.
pub fn place_on_earth(
    crs: &str,
    point: [f64; 2],
    column: &'static str,
    sample: &SampleView<'_>,
) -> Option<[f64; 2]> {
    match lonlat_of(crs, point) {
        Ok(place) => Some(place),
        Err(error) if error.is_caused_by(Cause::NotOnEarth) => {
            sample.note_absent(&[column], error.sentence());
            None
        }
        Err(error) => {
            sample.fail_part(&[column], error);
            None
        }
    }
}

fn lonlat_of(crs: &str, point: [f64; 2]) -> Result<[f64; 2]> {
    let place = raster::to_lonlat_from(crs, &[point])?
        .first()
        .copied()
        .flatten();
    place.ok_or_else(|| {
        let [x, y] = point;
        Error::format(format!(
            "the middle, {x} {y}, can't be converted from {crs} to longitude and latitude"
        ))
    })
}
