//! Renders a raster file in one call: open, choose bands, read a window at screen resolution, stretch, render, histogram. The request
//! is plain data that can be logged, compared and repeated.

use std::sync::Arc;

use super::pixels::{self, ReadRequest, Resampling};
use super::stretch::{self, Histogram, Limits};
use super::{BandChoice, BandIndex, Prepared, RasterInfo, RasterSource, RenderOptions, Rgba, Window, pool};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Bins of the histogram that comes with a preview.
const BINS: usize = 256;

/// What to show of which file.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PreviewRequest {
    /// The file.
    #[serde(rename = "asset")]
    pub source: RasterSource,
    /// The part to show; `None` shows all of it.
    #[serde(default)]
    pub window: Option<Window>,
    /// Columns and rows that the image has to fit in; it keeps the window's proportions and is never enlarged.
    pub fit: (usize, usize),
    /// Bands, limits, gamma.
    #[serde(default)]
    pub options: RenderOptions,
    /// Resampling of the window to the size of the image.
    #[serde(default)]
    pub resampling: Resampling,
}

impl PreviewRequest {
    /// The whole raster, bands chosen by themselves, 2 to 98 %.
    pub fn new(source: RasterSource, fit: (usize, usize)) -> Self {
        Self { source, window: None, fit, options: RenderOptions::default(), resampling: Resampling::Auto }
    }
}

/// An image of a raster, and what it shows.
#[derive(Clone, Debug)]
pub struct PreviewImage {
    /// The raster's headers.
    pub info: Arc<RasterInfo>,
    /// The picture.
    pub rgba: Rgba,
    /// The values that it was rendered from, for other stretches.
    pub prepared: Arc<Prepared>,
    /// The part that they show, clipped to the raster.
    pub window: Window,
    /// The choice that was made; never [`BandChoice::Auto`].
    pub bands: BandChoice,
    /// The numbers of the bands shown.
    pub band_indices: Vec<BandIndex>,
    /// Limits per band shown; `None` without data or by colour table.
    pub limits: Vec<Option<Limits>>,
    /// Histogram per band shown, of the pixels read.
    pub histograms: Vec<Histogram>,
}

/// Renders the image. Checks for cancellation between steps and inside long reads.
///
/// # Errors
/// For a file that can't be opened or has no bands, a window outside of the raster, failed reads, and cancellation.
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
        None => return Err(Error::usage("the window lies outside the raster").at(&request.source)),
    };
    let bands = request.options.bands.resolve(&info);
    let out = if info.band_count == 0 { (1, 1) } else { window.fit(request.fit.0.max(1), request.fit.1.max(1)) };
    let read = ReadRequest { window, out, bands: bands.bands(), resampling: request.resampling };
    let pixels = pixels::read(&lease, &request.source, &read, ctx)?;
    drop(lease);
    ctx.check()?;
    let options = RenderOptions { bands: bands.clone(), ..request.options.clone() };
    let prepared = Arc::new(Prepared::new(Arc::new(pixels)));
    let (rgba, limits) = prepared.render(&options, None, None, None);
    ctx.check()?;
    let histograms = stretch::histogram(&prepared.pixels, BINS);
    Ok(PreviewImage { info, rgba, prepared, window, band_indices: bands.bands(), bands, limits, histograms })
}
