//! Pixels prepared for rendering with different stretches, and signed differences of two rasters.

use std::sync::Arc;

use rayon::prelude::*;

use super::pixels::{BandPixels, Samples};
use super::render::render_with;
use super::stretch::{self, BandValues, Histogram, Stretch, StretchLimits};
use super::{BandChoice, ColourMap, PixelNumber, Pixels, RenderOptions, Rgba};

/// Pixels with the per-band values from which limits are computed.
#[derive(Clone, Debug)]
pub struct PreparedPixels {
    pub pixels: Arc<Pixels>,
    /// Per band; `None` without data.
    values: Vec<Option<BandValues>>,
}

impl PreparedPixels {
    /// Prepares all bands in parallel, one pass over the values.
    pub fn new(pixels: Arc<Pixels>) -> Self {
        let values = pixels.bands.par_iter().map(BandValues::from_band).collect();
        Self { pixels, values }
    }

    /// The limits of each band; `None` without data.
    pub fn limits(&self, stretch: Stretch) -> Vec<Option<StretchLimits>> {
        self.values
            .iter()
            .map(|values| values.as_ref().map(|values| values.limits(stretch)))
            .collect()
    }

    /// A limit or an end of the range of the band at `position` in full, see
    /// [`BandValues::number`].
    pub fn number(&self, position: usize, value: f64) -> PixelNumber {
        self.values
            .get(position)
            .and_then(Option::as_ref)
            .map_or(PixelNumber::Real(value), |values| values.number(value))
    }

    /// The histogram of each band over [`BandValues::central`].
    pub fn histograms(&self, bins: usize) -> Vec<Histogram> {
        let bands = self.pixels.bands.par_iter().zip(&self.values);
        bands
            .map(|(band, values)| {
                stretch::histogram_over(band, values.as_ref().map(BandValues::central), bins)
            })
            .collect()
    }

    /// As [`render_with`]. `fixed` has limits per band that replace those of the stretch; it is
    /// ignored if its length is not the number of bands.
    pub fn render(
        &self,
        options: &RenderOptions,
        fixed: Option<&[Option<StretchLimits>]>,
        classes: Option<&[[u8; 4]]>,
        at_most: Option<usize>,
    ) -> (Rgba, Vec<Option<StretchLimits>>) {
        let fixed = fixed.filter(|fixed| fixed.len() == self.values.len());
        let limits = fixed.map_or_else(|| self.limits(options.stretch), <[_]>::to_vec);
        render_with(&self.pixels, options, &limits, classes, at_most)
    }
}

/// The signed difference of one band of two rasters, pixel by pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct BandDifference {
    /// The differences in colours of [`ColourMap::BlueWhiteRed`], with 0 in the middle; transparent
    /// without data in either.
    pub image: Rgba,
    /// The difference in the colour of the upper end; that of the lower end is its negative. 0
    /// where the two are equal. `None` without a pixel that both have.
    pub limit: Option<PixelNumber>,
    /// The lowest and the highest difference; `None` without a pixel that both have.
    pub range: Option<[PixelNumber; 2]>,
}

/// `own` − `other` of the bands at `position` of both; `None` unless width, height and number of
/// bands are equal. The limits are symmetric, so that the middle colour is 0. They reach to the
/// largest difference, unless a few far ones would leave the others a small part of the scale
/// ([`BandValues::central`]).
pub fn difference(own: &Pixels, other: &Pixels, position: usize) -> Option<BandDifference> {
    if (own.width, own.height, own.bands.len()) != (other.width, other.height, other.bands.len()) {
        return None;
    }
    let (first, second) = (own.bands.get(position)?, other.bands.get(position)?);
    let count = first.samples.len().min(second.samples.len());
    let number = |at: usize| first.samples.number(at).minus(second.samples.number(at));
    let (mut values, mut valid) = (vec![0.0; count], vec![false; count]);
    let mut range: Option<[PixelNumber; 2]> = None;
    for at in 0..count {
        let apart = number(at);
        if !(first.is_valid(at) && second.is_valid(at) && apart.to_f64().is_finite()) {
            continue;
        }
        (values[at], valid[at]) = (apart.to_f64(), true);
        range = Some(range.map_or([apart; 2], |[low, high]| [low.min(apart), high.max(apart)]));
    }
    let band = BandPixels {
        index: first.index,
        samples: Samples::F64(values),
        valid: Some(valid.into()),
        palette: None,
    };
    let limit = BandValues::from_band(&band)
        .zip(range)
        .map(|(values, [low, high])| {
            let central = values.central();
            let reach = central.low.abs().max(central.high.abs());
            let largest = high.max(PixelNumber::Integer(0).minus(low));
            if reach >= largest.to_f64() {
                largest
            } else {
                PixelNumber::Real(reach)
            }
        });
    let reach = limit.map_or(0.0, PixelNumber::to_f64);
    let bands = BandChoice::Single {
        band: band.index,
        map: ColourMap::BlueWhiteRed,
    };
    let pixels = Pixels {
        width: own.width,
        height: own.height,
        window: own.window,
        bands: vec![band],
    };
    let options = RenderOptions {
        bands,
        ..RenderOptions::default()
    };
    let (image, _) = render_with(
        &pixels,
        &options,
        &[Some(StretchLimits {
            low: -reach,
            high: reach,
        })],
        None,
        None,
    );
    Some(BandDifference {
        image,
        limit,
        range,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandIndex, Window};

    fn pixels() -> Pixels {
        let (width, height) = (40, 30);
        let count = width * height;
        let band = |number: u32, base: usize| BandPixels {
            index: BandIndex::new(number).expect("from 1"),
            samples: Samples::U16((0..count).map(|n| (base + n * 7 % 911) as u16).collect()),
            valid: Some((0..count).map(|n| n % 13 != 0).collect::<Vec<_>>().into()),
            palette: None,
        };
        Pixels {
            width,
            height,
            window: Window::full(width, height),
            bands: vec![band(1, 0), band(2, 500), band(3, 9000)],
        }
    }

    #[test]
    fn a_small_one_has_every_nth_pixel() {
        let prepared = PreparedPixels::new(Arc::new(pixels()));
        let options = RenderOptions::default();
        let (whole, _) = prepared.render(&options, None, None, None);
        let (small, _) = prepared.render(&options, None, None, Some(300));
        assert_eq!((small.width, small.height), (20, 15));
        assert_eq!(small.data[4..8], whole.data[8..12]);
    }

    #[test]
    fn classes_have_their_colours() {
        let pixels = pixels();
        let one = Pixels {
            bands: vec![pixels.bands[0].clone()],
            ..pixels.clone()
        };
        let prepared = PreparedPixels::new(Arc::new(one));
        let options = RenderOptions {
            bands: BandChoice::Single {
                band: BandIndex::FIRST,
                map: ColourMap::Grey,
            },
            ..Default::default()
        };
        let (image, limits) = prepared.render(&options, None, Some(&[[9, 9, 9, 255]; 8]), None);
        assert_eq!(image.data[4..8], [9, 9, 9, 255]);
        assert_eq!(limits, [None]);
    }

    fn row(samples: Samples, valid: Option<Vec<bool>>) -> Pixels {
        let width = samples.len();
        let band = BandPixels {
            index: BandIndex::FIRST,
            samples,
            valid: valid.map(Into::into),
            palette: None,
        };
        Pixels {
            width,
            height: 1,
            window: Window::full(width, 1),
            bands: vec![band],
        }
    }

    #[test]
    fn differences_are_signed_with_zero_in_the_middle_colour() {
        let apart = difference(
            &row(Samples::U8(vec![0, 100, 50]), None),
            &row(Samples::U8(vec![200, 100, 0]), None),
            0,
        )
        .expect("alike");
        let integer = PixelNumber::Integer;
        assert_eq!(
            (apart.limit, apart.range),
            (Some(integer(200)), Some([integer(-200), integer(50)])),
            "unsigned types do not wrap"
        );
        let pixel = |at: usize| [0, 1, 2].map(|channel| apart.image.data[4 * at + channel]);
        assert_eq!(pixel(0), ColourMap::BlueWhiteRed.colour(0.0));
        assert!(
            pixel(1).into_iter().all(|channel| channel > 240),
            "0 is white: {:?}",
            pixel(1)
        );
        assert!(pixel(2)[0] > pixel(2)[2], "more is red: {:?}", pixel(2));
    }

    #[test]
    fn a_constant_difference_has_its_own_colour_and_number() {
        let (own, other) = (
            row(Samples::U16(vec![250; 9]), None),
            row(Samples::U16(vec![100; 9]), None),
        );
        let apart = difference(&own, &other, 0).expect("alike");
        assert_eq!(apart.limit, Some(PixelNumber::Integer(150)));
        assert_eq!(apart.image.data[..3], ColourMap::BlueWhiteRed.colour(1.0));
        let turned = difference(&other, &own, 0).expect("alike");
        assert_eq!(
            (turned.limit, turned.range),
            (
                Some(PixelNumber::Integer(150)),
                Some([PixelNumber::Integer(-150); 2])
            )
        );
        assert_eq!(turned.image.data[..3], ColourMap::BlueWhiteRed.colour(0.0));
        let equal = difference(&own, &own, 0).expect("alike");
        assert_eq!(equal.limit, Some(PixelNumber::Integer(0)));
        assert!(equal.image.data[..3].iter().all(|channel| *channel > 240));
    }

    #[test]
    fn differences_need_data_on_both_sides() {
        let own = row(
            Samples::F32(vec![5.0, f32::NAN, 7.0, 8.0]),
            Some(vec![true, true, false, true]),
        );
        let other = row(
            Samples::F32(vec![1.0, 1.0, 1.0, 1.0]),
            Some(vec![true, true, true, false]),
        );
        let apart = difference(&own, &other, 0).expect("alike");
        assert_eq!(apart.range, Some([PixelNumber::Real(4.0); 2]));
        assert_eq!(
            [0, 1, 2, 3].map(|at| apart.image.data[4 * at + 3]),
            [255, 0, 0, 0]
        );
        let nothing = difference(
            &row(Samples::F32(vec![f32::NAN]), None),
            &row(Samples::F32(vec![1.0]), None),
            0,
        )
        .expect("alike");
        assert_eq!((nothing.limit, nothing.range), (None, None));
        assert!(
            difference(
                &own,
                &Pixels {
                    width: 3,
                    ..other.clone()
                },
                0
            )
            .is_none()
        );
        assert!(difference(&own, &other, 1).is_none());
    }

    #[test]
    fn differences_of_long_integers_are_exact() {
        let (own, other) = (
            row(Samples::U64(vec![9_007_199_254_740_993, 0]), None),
            row(Samples::U64(vec![0, u64::MAX]), None),
        );
        let apart = difference(&own, &other, 0).expect("alike");
        let largest = i128::from(u64::MAX);
        assert_eq!(
            apart.range,
            Some([
                PixelNumber::Integer(-largest),
                PixelNumber::Integer(9_007_199_254_740_993)
            ])
        );
        assert_eq!(apart.limit, Some(PixelNumber::Integer(largest)));
    }
}
