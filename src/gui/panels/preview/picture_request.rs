//! Requests for the pixels of pictures: size, bands and resampling.

use std::sync::Arc;

use super::picture::PictureAnswer;
use crate::error::Result;
use crate::gui::document_key::DocumentKey;
use crate::jobs::JobContext;
use crate::raster::{
    BandChoice, ComplexPart, PreviewRequest, RasterInfo, RasterSource, RenderOptions, Resampling,
    describe_variable, preview,
};

/// Side of the picture of a whole raster, in pixels; detail of larger rasters is read on zoom.
pub const WHOLE: usize = 1280;

/// How the pictures beside the selected one are read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BesideKey {
    pub(super) document: DocumentKey,
    pub(super) bands: BandChoice,
    pub(super) part: ComplexPart,
    /// The variable that was chosen for viewing.
    pub(super) variable: Option<Arc<str>>,
    pub(super) by_class: bool,
}

impl BesideKey {
    /// Reads the picture of the sample whose source `place` finds.
    pub(super) fn read(
        self,
        place: impl FnOnce() -> Result<(RasterSource, u64)>,
        ctx: &JobContext,
    ) -> Result<PictureAnswer> {
        let (source, info) = describe_variable(place()?.0, self.variable)?;
        let mut request = PreviewRequest::new(source, (WHOLE, WHOLE));
        (request.options.bands, request.options.part) =
            (fit_bands_to_raster(&self.bands, info.band_count), self.part);
        request.resampling = resampling_of(self.by_class, &request.options.bands, &info);
        read_picture(request, ctx)
    }
}

/// A request without the options that are applied after reading, such as the stretch.
pub fn plain(request: &PreviewRequest) -> PreviewRequest {
    let options = RenderOptions {
        bands: request.options.bands.clone(),
        part: request.options.part,
        ..RenderOptions::default()
    };
    PreviewRequest {
        options,
        ..request.clone()
    }
}

/// Reads the pixels of a request.
pub fn read_picture(request: PreviewRequest, ctx: &JobContext) -> Result<PictureAnswer> {
    let image = preview(&request, ctx)?;
    Ok(Arc::new((request, image)))
}

/// The chosen bands if the raster has them, else automatic ones: a mask beside a scene has one
/// band.
pub fn fit_bands_to_raster(bands: &BandChoice, count: usize) -> BandChoice {
    let has = *bands == BandChoice::Auto || bands.bands().iter().all(|band| band.get() <= count);
    if has { bands.clone() } else { BandChoice::Auto }
}

/// Resampling of the bands. Classes are never averaged, which would create other classes.
pub fn resampling_of(by_class: bool, bands: &BandChoice, info: &RasterInfo) -> Resampling {
    match bands.resolve(info) {
        BandChoice::Rgb(_) => Resampling::Auto,
        _ if by_class => Resampling::Nearest,
        _ => Resampling::Auto,
    }
}
