//! Description of a raster: driver, size, bands, coordinate system, corners. Reads headers only,
//! never pixels.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use gdal::raster::RasterBand;
use gdal::vector::LayerAccess;
use gdal::{Dataset, Metadata};

use super::crs_code::crs_code;
use super::crs_text::file_named_by_crs;
use super::degree_axes::system_of_degree_axes;
use super::dimensions::{Dimensions, wavelength_nm};
use super::nodata_test::NoDataTest;
use super::variable::{Subdataset, VariableRead};
use super::warped::{WarpedPlace, warped_place};
use super::{BandIndex, PixelNumber, reproject};
use crate::error::{Cause, Error};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Maximum bands and layers listed. `band_count` counts all bands.
const BANDS_LISTED: usize = 1024;
pub(super) const LAYERS_LISTED: usize = 256;

/// The headers of a raster.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RasterInfo {
    /// GDAL's short driver name, for example `GTiff`.
    pub driver: String,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Number of bands in the header; [`RasterInfo::bands`] lists the first 1024.
    pub band_count: usize,
    /// The first 1024 bands, in order.
    pub bands: Vec<BandInfo>,
    /// The coordinate system as WKT.
    pub crs_wkt: Option<String>,
    /// Authority and code, for example `EPSG:32718`, when known.
    pub crs_code: Option<String>,
    /// Name of the coordinate system.
    pub crs_name: Option<String>,
    /// The file that the coordinate system names. It is not opened, so the raster has no place on
    /// Earth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crs_file: Option<String>,
    /// GDAL geotransform: x of the top-left corner, pixel width, row rotation, y of the corner,
    /// column rotation, pixel height (negative: north up).
    pub geotransform: Option<[f64; 6]>,
    /// Corners as longitude and latitude in degrees (EPSG:4326): top left, top right, bottom right,
    /// bottom left.
    pub corners_lonlat: Option<[[f64; 2]; 4]>,
    /// Rasters inside this file, for example the variables of a netCDF file.
    pub subdatasets: Vec<Subdataset>,
    /// Name of the subdataset described here, when the file itself has no bands.
    pub shown_subdataset: Option<String>,
    /// What was read of a file with several rasters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<VariableRead>,
    /// Corners and centre of a raster without geotransform, where ground control points or
    /// polynomials give them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warped: Option<WarpedPlace>,
    /// Size of the file or range in bytes, where known without a request.
    pub size_bytes: Option<u64>,
    /// Compression as the driver names it, for example `ZSTD`.
    pub compression: Option<String>,
    /// Interleaving: `PIXEL`, `BAND` or `TILE`.
    pub interleave: Option<String>,
    /// Vector layers; a file with layers and no bands is not a raster.
    pub layers: Vec<LayerInfo>,
}

/// The header of one band.
#[derive(Clone, Debug, serde::Serialize)]
pub struct BandInfo {
    /// Number, from 1.
    pub index: BandIndex,
    /// GDAL data type: `UInt16`, `Float32`, `CInt16`, ….
    pub dtype: String,
    /// Nodata value; of 64-bit integers rounded, see [`BandInfo::nodata_number`].
    pub nodata: Option<f64>,
    /// Nodata value of 64-bit integers in full.
    #[serde(skip)]
    pub(super) long_nodata: Option<i128>,
    /// GDAL band description, usually the band name; empty if there is none.
    pub description: String,
    /// Position on the dimensions of a multidimensional file besides rows and columns:
    /// `time 2020-01-02, level 500 hPa`; empty for other files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub position: String,
    /// Centre wavelength in nanometres, where the header has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelength_nm: Option<f64>,
    /// GDAL colour interpretation: `Red`, `Gray`, `Palette`, `Alpha`, `Undefined`, ….
    pub colour: String,
    /// Scale: physical = stored × scale + offset; `None` for 1.
    pub scale: Option<f64>,
    /// Offset, see `scale`; `None` for 0.
    pub offset: Option<f64>,
    /// Physical unit; empty where unknown.
    pub unit: String,
    /// Columns and rows of a block.
    pub block: (usize, usize),
    /// Columns and rows of each overview, in the file's order (usually largest first); at most 64.
    pub overviews: Vec<(usize, usize)>,
    /// Colour table: RGBA by pixel value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub palette: Option<Arc<Vec<[u8; 4]>>>,
}

/// A vector layer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayerInfo {
    pub name: String,
    /// Number of features, where the driver states it without reading them all.
    pub features: Option<u64>,
}

impl RasterInfo {
    /// True for a file that holds vector layers and no pixels.
    pub fn is_vector(&self) -> bool {
        self.band_count == 0 && !self.layers.is_empty()
    }

    /// The error of a file without bands, where pixels are asked for; caused by
    /// [`Cause::VectorFile`] if it has layers.
    pub fn without_bands(&self, asset: &AssetPath) -> Error {
        if self.is_vector() {
            let error = Error::unsupported("this file holds vector layers and no pixels")
                .caused_by(Cause::VectorFile);
            return error
                .at_place(asset)
                .hint("look at its features in the preview, or rasterise it first");
        }
        let error = Error::unsupported("this file has no bands").at_place(asset);
        if self.subdatasets.is_empty() && self.driver.starts_with("HDF5") {
            return error.hint(
                "its arrays are of types that GDAL does not read as pixels, such as booleans, \
                    texts or compounds: write booleans as 8-bit integers",
            );
        }
        error.hint("choose one of its subdatasets, if it has any")
    }

    /// Transforms `[x, y]` points of the raster's coordinate system to `[longitude, latitude]` in
    /// degrees (EPSG:4326). `None` without a coordinate system; a point that can't be transformed
    /// is `None`.
    pub fn to_lonlat(&self, points: &[[f64; 2]]) -> Option<Vec<Option<[f64; 2]>>> {
        reproject::transform(self.crs_wkt.as_deref()?, points)
    }

    /// The band with this number, if it is listed.
    pub fn band(&self, index: BandIndex) -> Option<&BandInfo> {
        self.bands.get(index.position())
    }
}

impl BandInfo {
    /// The comparison of pixels with the nodata value, where the header has one.
    pub(super) fn nodata_test(&self) -> Option<NoDataTest> {
        match self.long_nodata {
            Some(nodata) => Some(NoDataTest::Long(nodata)),
            None => self
                .nodata
                .map(|nodata| NoDataTest::new(nodata, &self.dtype)),
        }
    }

    /// The nodata value in the kind of the band's values.
    pub fn nodata_number(&self) -> Option<PixelNumber> {
        match self.long_nodata {
            Some(nodata) => Some(PixelNumber::Integer(nodata)),
            None => self
                .nodata
                .map(|nodata| PixelNumber::from_band_value(nodata, self.is_integer())),
        }
    }

    /// True for data types of whole numbers; false for complex ones.
    pub fn is_integer(&self) -> bool {
        matches!(
            self.dtype.as_str(),
            "Byte"
                | "UInt8"
                | "Int8"
                | "UInt16"
                | "Int16"
                | "UInt32"
                | "Int32"
                | "UInt64"
                | "Int64"
        )
    }

    /// True for a complex data type; pixels are shown by magnitude.
    pub fn is_complex(&self) -> bool {
        self.dtype.starts_with('C')
    }
}

pub(super) fn collect(
    dataset: &Dataset,
    size_bytes: Option<u64>,
    subdatasets: Vec<Subdataset>,
    shown_subdataset: Option<String>,
    variable: Option<VariableRead>,
) -> RasterInfo {
    let (width, height) = dataset.raster_size();
    let band_count = dataset.raster_count();
    let dimensions = Dimensions::from_dataset(dataset);
    let bands = (0..band_count.min(BANDS_LISTED))
        .filter_map(|position| band_info(dataset, BandIndex::from_position(position), &dimensions))
        .collect();
    let geotransform = dataset
        .geo_transform()
        .ok()
        .filter(|transform| transform.iter().all(|number| number.is_finite()));
    let srs = dataset
        .spatial_ref()
        .ok()
        .or_else(|| system_of_degree_axes(dataset, geotransform?));
    let crs_wkt = srs
        .as_ref()
        .and_then(|srs| srs.to_wkt().ok())
        .filter(|wkt| !wkt.is_empty());
    let corners_lonlat = match (&crs_wkt, geotransform) {
        (Some(wkt), Some(transform)) if band_count > 0 => {
            reproject::corners(wkt, transform, width, height)
        }
        _ => None,
    };
    RasterInfo {
        driver: dataset.driver().short_name(),
        width: if band_count > 0 { width } else { 0 },
        height: if band_count > 0 { height } else { 0 },
        band_count,
        bands,
        crs_code: srs.as_ref().and_then(crs_code),
        crs_name: srs.as_ref().and_then(|srs| srs.name()),
        crs_file: crs_wkt.as_deref().and_then(file_named_by_crs),
        crs_wkt,
        geotransform,
        corners_lonlat,
        subdatasets,
        shown_subdataset,
        variable,
        warped: warped_place(dataset, geotransform),
        size_bytes,
        compression: dataset.metadata_item("COMPRESSION", "IMAGE_STRUCTURE"),
        interleave: dataset.metadata_item("INTERLEAVE", "IMAGE_STRUCTURE"),
        layers: layers(dataset),
    }
}

/// Subdatasets, in the order of the metadata domain `SUBDATASETS`.
pub(super) fn subdatasets(dataset: &Dataset) -> Vec<Subdataset> {
    let entries = dataset.metadata_domain("SUBDATASETS").unwrap_or_default();
    (1..)
        .map_while(|number| {
            let name = find_metadata_value(&entries, &format!("SUBDATASET_{number}_NAME"))?;
            Some(Subdataset {
                name,
                description: find_metadata_value(&entries, &format!("SUBDATASET_{number}_DESC"))
                    .unwrap_or_default(),
            })
        })
        .collect()
}

fn find_metadata_value(entries: &[String], key: &str) -> Option<String> {
    entries.iter().find_map(|entry| {
        entry
            .strip_prefix(key)?
            .strip_prefix('=')
            .map(str::to_owned)
    })
}

fn layers(dataset: &Dataset) -> Vec<LayerInfo> {
    let count = dataset.layer_count();
    (0..count.min(LAYERS_LISTED))
        .filter_map(|index| dataset.layer(index).ok())
        .map(|layer| LayerInfo {
            name: layer.name(),
            features: layer.try_feature_count(),
        })
        .collect()
}

fn band_info(dataset: &Dataset, index: BandIndex, dimensions: &Dimensions) -> Option<BandInfo> {
    let band = dataset.rasterband(index.get()).ok()?;
    let overviews = band.overview_count().unwrap_or(0).clamp(0, 64);
    let dtype = dtype_name(&band);
    let long_nodata = match dtype.as_str() {
        "Int64" => band.no_data_value_i64().map(i128::from),
        "UInt64" => band.no_data_value_u64().map(i128::from),
        _ => None,
    };
    Some(BandInfo {
        index,
        dtype,
        nodata: long_nodata
            .map(|nodata| nodata as f64)
            .or_else(|| band.no_data_value()),
        long_nodata,
        description: band.description().unwrap_or_default(),
        position: dimensions.position(&band),
        wavelength_nm: wavelength_nm(&band),
        colour: colour_name(&band),
        scale: band.scale().filter(|scale| *scale != 1.0),
        offset: band.offset().filter(|offset| *offset != 0.0),
        unit: band.unit(),
        block: band.block_size(),
        overviews: (0..overviews)
            .filter_map(|n| band.overview(n as usize).ok())
            .map(|overview| overview.size())
            .collect(),
        palette: palette(&band).map(Arc::new),
    })
}

/// GDAL data type name. The `gdal` crate's enumeration has neither complex nor half-float types.
fn dtype_name(band: &RasterBand) -> String {
    // Safety: the band lives as long as its dataset; the names are constants of GDAL.
    unsafe {
        text(gdal_sys::GDALGetDataTypeName(
            gdal_sys::GDALGetRasterDataType(band.c_rasterband()),
        ))
    }
}

fn colour_name(band: &RasterBand) -> String {
    // Safety: as above.
    unsafe {
        text(gdal_sys::GDALGetColorInterpretationName(
            gdal_sys::GDALGetRasterColorInterpretation(band.c_rasterband()),
        ))
    }
}

/// Safety: `raw` is NULL or a NUL-terminated string.
unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // Safety: see above.
    unsafe { CStr::from_ptr(raw) }
        .to_string_lossy()
        .into_owned()
}

fn palette(band: &RasterBand) -> Option<Vec<[u8; 4]>> {
    let table = band.color_table()?;
    let byte = |value: i16| value.clamp(0, 255) as u8;
    let entries =
        (0..table.entry_count().min(65536)).map(|index| match table.entry_as_rgb(index) {
            Some(entry) => [byte(entry.r), byte(entry.g), byte(entry.b), byte(entry.a)],
            None => [0, 0, 0, 0],
        });
    let entries: Vec<_> = entries.collect();
    (!entries.is_empty()).then_some(entries)
}

impl RasterInfo {
    /// Warns which variable is read of the file named `place`, when it has several and none was
    /// chosen.
    pub fn warn_of_variable(&self, place: &str, ctx: &JobContext) {
        if let Some(variable) = self
            .variable
            .as_ref()
            .filter(|variable| !variable.is_chosen)
        {
            ctx.warn_of(place, format!("read was {}", variable.sentence()));
        }
    }
}
