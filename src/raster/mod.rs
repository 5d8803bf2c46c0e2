//! Rasters: open, describe, read windows, stretch, render to RGBA, write; and the features of
//! vector files (`features`), placed in the pixels of a raster. The only module that uses GDAL. It
//! has no window types and never runs on the interface thread: every call may wait for a disk or a
//! network.
//!
//! [`init`] runs before the first use. Only `pool` opens datasets, samples through `fence`; the
//! other files borrow them from the pool. A [`RasterSource`] says whether a raster is an untrusted
//! member of a dataset or a file that the user named.
//!
//! From file to picture: [`preview`] leases a dataset from the pool, reads a window (`pixels`),
//! computes the values of each band that stretches need (`stretch`), renders ([`render`]), and
//! keeps the values for other stretches (`restretch`).

mod budget;
mod codec;
mod colour;
mod crs_code;
mod crs_text;
mod degree_axes;
mod dimensions;
mod driver_names;
mod environment;
mod features;
mod fence;
mod file_set;
mod gdal_errors;
mod ground;
mod hdf5_links;
mod hdf5_lock;
mod identify;
mod info;
mod member_references;
mod names;
mod nodata_test;
mod pixel_number;
mod pixels;
mod places;
mod pool;
mod presets;
mod preview;
mod probe;
#[cfg(feature = "bundled-gdal")]
mod proj_files;
mod references;
mod render;
mod reproject;
mod restretch;
mod scan;
mod sidecars;
mod source;
mod statistics;
mod store;
mod stored;
mod stretch;
#[cfg(test)]
mod tests;
mod tiff;
mod tiff_header;
mod tiles;
mod tog;
mod unread_text;
mod value_counts;
mod variable;
mod vector_copy;
mod vsi_plugin;
mod warped;
mod write;

pub use colour::ColourMap;
pub use crs_text::{code_of_crs, file_named_by_crs};
pub use driver_names::is_driver_name;
pub use environment::{DriverInfo, Environment, environment, init};
pub use features::{
    Feature, FeatureLayer, FeatureSet, PixelPlane, PixelShape, VectorPlace, layer_places,
    read_features, vector_place,
};
pub use file_set::{
    FileSet, FolderFiles, NamedAsset, NamesByStem, contents_of, describe_alone, file_set,
    is_same_raster,
};
pub use ground::metres_per_column;
pub use identify::{IDENTIFY_BYTES, RasterDetector, begins_like_raster, identify};
pub use info::{BandInfo, LayerInfo, RasterInfo};
pub use member_references::references_of;
pub use names::claims_raster;
pub use pixel_number::PixelNumber;
pub use pixels::{BandPixels, ComplexPart, Pixels, ReadRequest, Resampling, Samples, read_window};
pub use places::{AreaOfDegrees, AreaStatistic, PointSampling, attribute_at, raster_at, raster_in};
pub use pool::{close_idle, describe, describe_variable, forget_idle};
pub use presets::{Preset, Role, SpectralIndex, band_of, indices_of};
pub use preview::{PreviewImage, PreviewRequest, preview};
pub use probe::{PixelValue, Probe, probe};
pub use references::References;
pub use render::{BandChoice, RenderOptions, Rgba, render, render_with};
pub use reproject::{
    CrsKind, CrsTransform, DegreesTransform, LonLatTransform, apply_geotransform, check_crs,
    crs_kind, is_geographic, to_lonlat_from,
};
pub use restretch::{BandDifference, PreparedPixels, difference};
pub use sidecars::{NamesBeside, Sidecar, has_sidecar, sidecar_of, sidecars_among, sidecars_in};
pub use source::RasterSource;
pub use statistics::{BandSummary, RasterCount, read_through, tally};
pub use stored::stored_values;
pub use stretch::{BandValues, Histogram, Stretch, StretchLimits, histogram, limits};
pub use tiff::{ChunkLayout, chunk_layout, lone_chunk};
pub use tiff_header::{GridOrigin, TiffGrid, TiffHeader, tiff_header};
pub use tiles::{TiffStorage, TileLayout, tile_layout};
pub use tog::{TOG_BLOCK_STEP, TogOptions, tog_faults, tog_support, write_tog};
pub use variable::{Subdataset, VARIABLE_COLUMN, VariableRead, variable_of_value};
pub use vector_copy::write_flatgeobuf;
pub use warped::{PlaceModel, WarpedPlace};
pub use write::{NewRaster, write_geotiff, write_raster};

/// Band number, 1-based as in GDAL; there is no band 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "u32", into = "u32")]
pub struct BandIndex(std::num::NonZeroU32);

impl BandIndex {
    pub const FIRST: BandIndex = BandIndex(std::num::NonZeroU32::MIN);

    /// The band with GDAL's `number`; `None` for 0.
    pub fn new(number: u32) -> Option<Self> {
        std::num::NonZeroU32::new(number).map(Self)
    }

    /// The band at the 0-based `position` of a list.
    pub fn from_position(position: usize) -> Self {
        let number = u32::try_from(position)
            .unwrap_or(u32::MAX - 1)
            .saturating_add(1);
        Self::new(number).unwrap_or(Self::FIRST)
    }

    /// GDAL's number, from 1.
    pub fn get(self) -> usize {
        self.0.get() as usize
    }

    /// 0-based position in a list of all bands.
    pub fn position(self) -> usize {
        self.get() - 1
    }
}

impl TryFrom<u32> for BandIndex {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        Self::new(number).ok_or("bands count from 1")
    }
}

impl From<BandIndex> for u32 {
    fn from(band: BandIndex) -> u32 {
        band.0.get()
    }
}

impl std::fmt::Display for BandIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A rectangle of pixels of the full-resolution raster: left column, top row, width, height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Window {
    /// First column, from 0.
    pub x: usize,
    /// First row, from 0.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Window {
    /// The whole raster.
    pub fn full(width: usize, height: usize) -> Self {
        Self {
            x: 0,
            y: 0,
            width,
            height,
        }
    }

    /// The intersection with a raster of `width` × `height` pixels; `None` when it is empty.
    pub fn clip(self, width: usize, height: usize) -> Option<Self> {
        let right = self.x.saturating_add(self.width).min(width);
        let bottom = self.y.saturating_add(self.height).min(height);
        (right > self.x && bottom > self.y).then(|| Self {
            x: self.x,
            y: self.y,
            width: right - self.x,
            height: bottom - self.y,
        })
    }

    /// The largest `(columns, rows)` with this window's aspect ratio that fits in `width` ×
    /// `height`, at most the window's own size, and at least 1 × 1.
    pub fn fit(self, width: usize, height: usize) -> (usize, usize) {
        let scale = (width as f64 / self.width as f64)
            .min(height as f64 / self.height as f64)
            .min(1.0);
        let side =
            |length: usize| ((length as f64 * scale).round() as usize).clamp(1, length.max(1));
        (side(self.width), side(self.height))
    }
}
