//! Pixels prepared for rendering with different stretches, and differences of two rasters.

use std::sync::Arc;

use rayon::prelude::*;

use super::pixels::{BandPixels, Samples};
use super::render::render_with;
use super::stretch::{self, BandValues, Histogram, Limits, Stretch};
use super::{Pixels, RenderOptions, Rgba};

/// Pixels with the per-band values from which limits are computed.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The pixels.
    pub pixels: Arc<Pixels>,
    /// Per band; `None` without data.
    values: Vec<Option<BandValues>>,
}

impl Prepared {
    /// Prepares all bands in parallel, one pass over the values.
    pub fn new(pixels: Arc<Pixels>) -> Self {
        let values = pixels.bands.par_iter().map(BandValues::of).collect();
        Self { pixels, values }
    }

    /// The limits of each band; `None` without data.
    pub fn limits(&self, stretch: Stretch) -> Vec<Option<Limits>> {
        self.values.iter().map(|values| values.as_ref().map(|values| values.limits(stretch))).collect()
    }

    /// The histogram of each band over [`BandValues::central`].
    pub fn histograms(&self, bins: usize) -> Vec<Histogram> {
        let bands = self.pixels.bands.par_iter().zip(&self.values);
        bands.map(|(band, values)| stretch::histogram_over(band, values.as_ref().map(BandValues::central), bins)).collect()
    }

    /// As [`render_with`]. `fixed` has limits per band that replace those of the stretch; it is ignored if its length is not the
    /// number of bands.
    pub fn render(
        &self,
        options: &RenderOptions,
        fixed: Option<&[Option<Limits>]>,
        classes: Option<&[[u8; 4]]>,
        at_most: Option<usize>,
    ) -> (Rgba, Vec<Option<Limits>>) {
        let fixed = fixed.filter(|fixed| fixed.len() == self.values.len());
        let limits = fixed.map_or_else(|| self.limits(options.stretch), <[_]>::to_vec);
        render_with(&self.pixels, options, &limits, classes, at_most)
    }
}

/// Absolute difference per band, as `F32`; `None` unless width, height and number of bands are equal. Pixels without data in either
/// are invalid.
pub fn difference(a: &Pixels, b: &Pixels) -> Option<Pixels> {
    if (a.width, a.height, a.bands.len()) != (b.width, b.height, b.bands.len()) {
        return None;
    }
    let bands = a.bands.iter().zip(&b.bands).map(|(first, second)| {
        let count = first.samples.len().min(second.samples.len());
        let valid: Vec<bool> = (0..count).map(|at| first.is_valid(at) && second.is_valid(at)).collect();
        let values = (0..count).map(|at| (first.samples.get(at) - second.samples.get(at)).abs() as f32).collect();
        BandPixels { index: first.index, samples: Samples::F32(values), valid: Some(valid.into()), palette: None }
    });
    Some(Pixels { width: a.width, height: a.height, window: a.window, bands: bands.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandChoice, BandIndex, ColourMap, Window};

    fn pixels() -> Pixels {
        let (width, height) = (40, 30);
        let count = width * height;
        let band = |number: u32, base: usize| BandPixels {
            index: BandIndex::new(number).expect("from 1"),
            samples: Samples::U16((0..count).map(|n| (base + n * 7 % 911) as u16).collect()),
            valid: Some((0..count).map(|n| n % 13 != 0).collect::<Vec<_>>().into()),
            palette: None,
        };
        Pixels { width, height, window: Window::full(width, height), bands: vec![band(1, 0), band(2, 500), band(3, 9000)] }
    }

    #[test]
    fn a_small_one_has_every_nth_pixel() {
        let prepared = Prepared::new(Arc::new(pixels()));
        let options = RenderOptions::default();
        let (whole, _) = prepared.render(&options, None, None, None);
        let (small, _) = prepared.render(&options, None, None, Some(300));
        assert_eq!((small.width, small.height), (20, 15));
        assert_eq!(small.data[4..8], whole.data[8..12]);
    }

    #[test]
    fn classes_have_their_colours_and_differences_their_size() {
        let pixels = pixels();
        let one = Pixels { bands: vec![pixels.bands[0].clone()], ..pixels.clone() };
        let prepared = Prepared::new(Arc::new(one));
        let options =
            RenderOptions { bands: BandChoice::Single { band: BandIndex::FIRST, map: ColourMap::Grey }, ..Default::default() };
        let (image, limits) = prepared.render(&options, None, Some(&[[9, 9, 9, 255]; 8]), None);
        assert_eq!(image.data[4..8], [9, 9, 9, 255]);
        assert_eq!(limits, [None]);
        let apart = difference(&pixels, &pixels).expect("are alike");
        assert!((0..apart.bands[0].samples.len()).all(|at| apart.bands[0].samples.get(at) == 0.0));
        assert!(difference(&pixels, &Pixels { width: 3, ..pixels.clone() }).is_none());
    }
}
