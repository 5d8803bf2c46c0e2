//! Pixels that are shown again and again with another stretch: what limits need is found once, and pictures are made in parallel and,
//! where only a view of the screen's size is wanted, of every n-th pixel.

use std::sync::Arc;

use rayon::prelude::*;

use super::pixels::{BandPixels, Samples, each_type};
use super::render::{ByTable, Ramp};
use super::stretch::{Limits, Stretch};
use super::{BandChoice, ColourMap, Pixels, RenderOptions, Rgba};

/// Values that percentiles are told from; more are thinned out evenly.
const SORTED_AT_MOST: usize = 1 << 17;

/// Pixels with what stretches need to know of them.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The pixels.
    pub pixels: Arc<Pixels>,
    /// For each band; `None` without data.
    known: Vec<Option<Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    sorted: Vec<f64>,
    min: f64,
    max: f64,
    mean: f64,
    std: f64,
}

impl Known {
    fn of(band: &BandPixels) -> Option<Self> {
        let stride = band.samples.len().div_ceil(SORTED_AT_MOST).max(1);
        let (mut sorted, mut seen) = (Vec::with_capacity(band.samples.len() / stride + 1), 0usize);
        let (mut min, mut max, mut mean, mut squares) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
        let valid = band.valid.as_deref();
        each_type!(&band.samples, values => for (position, value) in values.iter().enumerate() {
            let value = f64::from(*value);
            if value.is_finite() && valid.is_none_or(|valid| valid[position]) {
                if seen.is_multiple_of(stride) {
                    sorted.push(value);
                }
                seen += 1;
                (min, max) = (min.min(value), max.max(value));
                let off = value - mean;
                mean += off / seen as f64;
                squares += off * (value - mean);
            }
        });
        if seen == 0 {
            return None;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self { sorted, min, max, mean, std: (squares / seen as f64).sqrt() })
    }

    fn limits(&self, stretch: Stretch) -> Limits {
        match stretch {
            Stretch::Manual { low, high } => Limits { low, high },
            Stretch::MinMax => Limits { low: self.min, high: self.max },
            Stretch::StdDev(factor) => {
                let spread = self.std * f64::from(factor).abs();
                Limits { low: (self.mean - spread).max(self.min), high: (self.mean + spread).min(self.max) }
            }
            Stretch::Percentile { low, high } => {
                let at = |percent: f64| {
                    let percent = if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 };
                    self.sorted[(percent / 100.0 * (self.sorted.len() - 1) as f64).round() as usize]
                };
                let (low, high) = (at(low.min(high)), at(low.max(high)));
                // Most pixels are alike, as in a mask: the whole range shows the rest.
                if low == high { Limits { low: self.min, high: self.max } } else { Limits { low, high } }
            }
        }
    }
}

impl Prepared {
    /// Looks at every value once.
    pub fn new(pixels: Arc<Pixels>) -> Self {
        let known = pixels.bands.par_iter().map(Known::of).collect();
        Self { pixels, known }
    }

    /// The limits of each band; `None` without data.
    pub fn limits(&self, stretch: Stretch) -> Vec<Option<Limits>> {
        self.known.iter().map(|known| known.as_ref().map(|known| known.limits(stretch))).collect()
    }

    /// The picture. With `at_most` it has no more pixels than that, taken evenly. `fixed` are limits for each band, in the place of those
    /// of the stretch; `classes` are colours by value, instead of the colour table of the file. Three bands are red, green and blue in the
    /// order in which they were read; else the first one shows.
    pub fn render(
        &self,
        options: &RenderOptions,
        fixed: Option<&[Option<Limits>]>,
        classes: Option<&[[u8; 4]]>,
        at_most: Option<usize>,
    ) -> (Rgba, Vec<Option<Limits>>) {
        let (width, height) = (self.pixels.width, self.pixels.height);
        let step = at_most.map_or(1, |most| ((width * height) as f64 / most.max(1) as f64).sqrt().ceil().max(1.0) as usize);
        let (columns, rows) = (width.div_ceil(step), height.div_ceil(step));
        let mut data = vec![0u8; columns * rows * 4];
        let own = || self.limits(options.stretch);
        let mut limits = fixed.filter(|fixed| fixed.len() == self.known.len()).map_or_else(own, <[_]>::to_vec);
        let rgb = matches!(options.bands, BandChoice::Rgb(_) | BandChoice::Auto) && self.pixels.bands.len() == 3;
        let map = if let BandChoice::Single { map, .. } = options.bands { map } else { ColourMap::Grey };
        let Some(first) = self.pixels.bands.first() else { return (Rgba { width: columns, height: rows, data }, Vec::new()) };
        let table = classes.or(first.palette.as_deref().map(Vec::as_slice)).filter(|_| !rgb && map == ColourMap::Grey);
        let shown: &[BandPixels] = if rgb { &self.pixels.bands } else { std::slice::from_ref(first) };
        let ramps: Vec<Ramp> = limits.iter().map(|limits| Ramp::new(*limits, options.gamma)).collect();
        let colours = map.table();
        let chunk = columns * 4;
        data.par_chunks_mut(chunk.max(4)).enumerate().for_each(|(row, line)| {
            let start = row * step * width;
            let places = move || (0..columns).map(move |column| start + column * step);
            match (rgb, table) {
                (true, _) => {
                    for (channel, (band, ramp)) in shown.iter().zip(&ramps).enumerate() {
                        bytes(&band.samples, places(), ramp, line, |pixel, byte| pixel[channel] = byte);
                    }
                }
                (false, Some(table)) => {
                    let table = ByTable(table);
                    each_type!(&first.samples, values => for (pixel, at) in line.chunks_exact_mut(4).zip(places()) {
                        pixel.copy_from_slice(&table.colour(f64::from(values[at])));
                    });
                }
                (false, None) => {
                    if let Some(ramp) = ramps.first() {
                        bytes(&first.samples, places(), ramp, line, |pixel, byte| {
                            pixel[..3].copy_from_slice(&colours[usize::from(byte)])
                        });
                    }
                }
            }
            for (pixel, at) in line.chunks_exact_mut(4).zip(places()) {
                match shown.iter().any(|band| band.is_valid(at)) {
                    true if table.is_some() => {}
                    true => pixel[3] = 255,
                    false => pixel.copy_from_slice(if options.nodata_transparent { &[0, 0, 0, 0] } else { &[0, 0, 0, 255] }),
                }
            }
        });
        if table.is_some() {
            limits = vec![None];
        } else if !rgb {
            limits.truncate(1);
        }
        (Rgba { width: columns, height: rows, data }, limits)
    }
}

fn bytes(samples: &Samples, places: impl Iterator<Item = usize>, ramp: &Ramp, line: &mut [u8], put: impl Fn(&mut [u8], u8)) {
    each_type!(samples, values => for (pixel, at) in line.chunks_exact_mut(4).zip(places) {
        put(pixel, ramp.byte(f64::from(values[at])));
    });
}

/// The absolute difference of two windows of the same size, band by band; `None` when they don't fit.
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
    use crate::raster::{BandIndex, Window, render};

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
    fn the_picture_is_that_of_the_plain_way() {
        let pixels = pixels();
        let prepared = Prepared::new(Arc::new(pixels.clone()));
        for stretch in [Stretch::default(), Stretch::MinMax, Stretch::StdDev(1.5), Stretch::Manual { low: 10.0, high: 700.0 }] {
            for bands in [BandChoice::Auto, BandChoice::Single { band: BandIndex::FIRST, map: ColourMap::Viridis }] {
                let options = RenderOptions { bands, stretch, gamma: 1.3, nodata_transparent: true };
                let (plain, limits) = render(&pixels, &options);
                let (again, known) = prepared.render(&options, None, None, None);
                assert_eq!(again, plain, "{options:?}");
                assert_eq!(known.len(), limits.len());
                for (a, b) in known.iter().flatten().zip(limits.iter().flatten()) {
                    assert!((a.low - b.low).abs() < 1e-9 && (a.high - b.high).abs() < 1e-9, "{options:?}");
                }
            }
        }
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
