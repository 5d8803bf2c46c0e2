//! The place of a raster that has no geotransform: by ground control points, or by the rational
//! polynomials (RPC) of its sensor.

use std::ffi::{c_int, c_void};

use gdal::raster::RasterCreationOptions;
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, Metadata};

use super::crs_code::crs_code;
use super::gdal_errors;

/// Fewest ground control points that give a plane.
const FEWEST_POINTS: usize = 3;
/// The geotransform that GDAL gives rasters without one.
const NO_TRANSFORM: [f64; 6] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// What the place of a raster without geotransform is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceModel {
    /// A polynomial through this many ground control points, as GDAL fits it.
    ControlPoints(usize),
    /// Rational polynomial coefficients, at their mean height.
    RationalPolynomials,
}

/// The corners and the centre of a raster without geotransform, in its coordinate system.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WarpedPlace {
    /// What it is computed from.
    pub model: PlaceModel,
    /// Authority and code of the coordinate system, when known.
    pub crs_code: Option<String>,
    /// The coordinate system as WKT; `None` when the points name none.
    pub crs_wkt: Option<String>,
    /// Top left, top right, bottom right, bottom left.
    pub corners: [[f64; 2]; 4],
    /// The middle of the raster.
    pub centre: [f64; 2],
}

impl PlaceModel {
    /// `5 ground control points`, `rational polynomial coefficients`.
    pub fn name(self) -> String {
        match self {
            PlaceModel::ControlPoints(count) => format!("{count} ground control points"),
            PlaceModel::RationalPolynomials => "rational polynomial coefficients".into(),
        }
    }
}

/// The place of a raster whose geotransform is `geotransform`; `None` when it has one, or neither
/// points nor polynomials.
pub(super) fn warped_place(
    dataset: &Dataset,
    geotransform: Option<[f64; 6]>,
) -> Option<WarpedPlace> {
    if dataset.raster_count() == 0
        || geotransform.is_some_and(|transform| transform != NO_TRANSFORM)
    {
        return None;
    }
    let (placed, _said) = gdal_errors::listen(|| {
        let points = dataset.gcps();
        let sound = points.iter().all(|point| {
            [point.pixel(), point.line(), point.x(), point.y()]
                .iter()
                .all(|n| n.is_finite())
        });
        if points.len() >= FEWEST_POINTS && sound {
            let options = vec!["METHOD=GCP_POLYNOMIAL".to_owned()];
            return placed_by(
                dataset,
                PlaceModel::ControlPoints(points.len()),
                dataset.gcp_spatial_ref(),
                options,
            );
        }
        let height = dataset
            .metadata_item("HEIGHT_OFF", "RPC")?
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|height| height.is_finite())?;
        let options = vec!["METHOD=RPC".to_owned(), format!("RPC_HEIGHT={height}")];
        placed_by(
            dataset,
            PlaceModel::RationalPolynomials,
            SpatialRef::from_epsg(4326).ok(),
            options,
        )
    });
    placed
}

fn placed_by(
    dataset: &Dataset,
    model: PlaceModel,
    srs: Option<SpatialRef>,
    options: Vec<String>,
) -> Option<WarpedPlace> {
    let transformer = Transformer::new(dataset, options)?;
    let (columns, rows) = dataset.raster_size();
    let (right, bottom) = (columns as f64, rows as f64);
    let place = |column: f64, row: f64| transformer.place_of(column, row);
    Some(WarpedPlace {
        model,
        crs_code: srs.as_ref().and_then(crs_code),
        crs_wkt: srs
            .as_ref()
            .and_then(|srs| srs.to_wkt().ok())
            .filter(|wkt| !wkt.is_empty()),
        corners: [
            place(0.0, 0.0)?,
            place(right, 0.0)?,
            place(right, bottom)?,
            place(0.0, bottom)?,
        ],
        centre: place(right / 2.0, bottom / 2.0)?,
    })
}

/// GDAL's transformer from columns and rows to the coordinate system of a dataset.
struct Transformer(*mut c_void);

impl Transformer {
    fn new(dataset: &Dataset, options: Vec<String>) -> Option<Self> {
        let options = RasterCreationOptions::from_iter(options);
        // Safety: an open dataset, no target, and a list of C strings that lives during the call.
        let made = unsafe {
            gdal_sys::GDALCreateGenImgProjTransformer2(
                dataset.c_dataset(),
                std::ptr::null_mut(),
                options.as_ptr().cast(),
            )
        };
        (!made.is_null()).then_some(Self(made))
    }

    fn place_of(&self, column: f64, row: f64) -> Option<[f64; 2]> {
        let (mut x, mut y, mut z, mut done) = (column, row, 0.0, 0 as c_int);
        // Safety: the transformer is alive; one number of each kind.
        let called = unsafe {
            gdal_sys::GDALGenImgProjTransform(self.0, 0, 1, &mut x, &mut y, &mut z, &mut done)
        };
        (called != 0 && done != 0 && x.is_finite() && y.is_finite()).then_some([x, y])
    }
}

impl Drop for Transformer {
    fn drop(&mut self) {
        // Safety: made by `new`, destroyed once.
        unsafe { gdal_sys::GDALDestroyGenImgProjTransformer(self.0) };
    }
}
