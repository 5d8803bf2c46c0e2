//! Renders a raster file in one call: open, choose bands, read a window at screen resolution,
//! stretch, render, histogram. The request is plain data that can be logged, compared and repeated.

use std::sync::Arc;

use super::pixels::{self, ReadRequest, Resampling};
use super::stretch::{Histogram, StretchLimits};
use super::{
    BandChoice, BandIndex, PreparedPixels, RasterInfo, RasterSource, RenderOptions, Rgba, Window,
    pool,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Bins of the histogram that comes with a preview.
const BINS: usize = 256;

/// File and rendering options.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PreviewRequest {
    /// The file.
    #[serde(rename = "asset")]
    pub source: RasterSource,
    /// The window to render; `None` renders all of it.
    #[serde(default)]
    pub window: Option<Window>,
    /// Maximum columns and rows of the image; it keeps the window's aspect ratio and is never
    /// enlarged.
    pub fit: (usize, usize),
    /// Bands, limits, gamma.
    #[serde(default)]
    pub options: RenderOptions,
    /// Resampling of the window to the size of the image.
    #[serde(default)]
    pub resampling: Resampling,
}

impl PreviewRequest {
    /// The whole raster, with automatic band choice and a stretch from 2 to 98 %.
    pub fn new(source: RasterSource, fit: (usize, usize)) -> Self {
        Self {
            source,
            window: None,
            fit,
            options: RenderOptions::default(),
            resampling: Resampling::Auto,
        }
    }
}

/// An image of a raster, with the choices made.
#[derive(Clone, Debug)]
pub struct PreviewImage {
    /// The raster's headers.
    pub info: Arc<RasterInfo>,
    /// The picture.
    pub rgba: Rgba,
    /// The pixels from which it was rendered, for other stretches.
    pub prepared: Arc<PreparedPixels>,
    /// The window shown, clipped to the raster.
    pub window: Window,
    /// The resolved band choice; never [`BandChoice::Auto`].
    pub bands: BandChoice,
    /// The numbers of the bands shown.
    pub band_indices: Vec<BandIndex>,
    /// Display limits per band shown; `None` without data, or when a colour table is used.
    pub limits: Vec<Option<StretchLimits>>,
    /// Histogram (256 bins) per band shown, of the pixels read, over the values that all but a few
    /// pixels have.
    pub histograms: Vec<Histogram>,
}

/// Renders the image. Cancellation is checked between steps and inside long reads.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a window outside of the raster or a band that
/// does not exist; [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a file without bands;
/// those of opening and reading, and cancellation.
pub fn preview(request: &PreviewRequest, ctx: &JobContext) -> Result<PreviewImage> {
    ctx.check()?;
    let lease = pool::lease(&request.source)?;
    ctx.check()?;
    let info = lease.info.clone();
    let full = Window::full(info.width, info.height);
    let window = request.window.unwrap_or(full).clip(info.width, info.height);
    let window = match window {
        Some(window) => window,
        // No pixels at all: reading says why.
        None if info.band_count == 0 => full,
        None => {
            return Err(Error::usage("the window is outside the raster").at_place(&request.source));
        }
    };
    let bands = request.options.bands.resolve(&info);
    let out = if info.band_count == 0 {
        (1, 1)
    } else {
        window.fit(request.fit.0.max(1), request.fit.1.max(1))
    };
    let read = ReadRequest {
        window,
        out,
        bands: bands.bands(),
        resampling: request.resampling,
    };
    let pixels = pixels::read(&lease, &request.source, &read, request.options.part, ctx)?;
    drop(lease);
    ctx.check()?;
    let options = RenderOptions {
        bands: bands.clone(),
        ..request.options.clone()
    };
    let prepared = Arc::new(PreparedPixels::new(Arc::new(pixels)));
    let (rgba, limits) = prepared.render(&options, None, None, None);
    ctx.check()?;
    let histograms = prepared.histograms(BINS);
    Ok(PreviewImage {
        info,
        rgba,
        prepared,
        window,
        band_indices: bands.bands(),
        bands,
        limits,
        histograms,
    })
}
