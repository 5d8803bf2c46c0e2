//! Renders pixels to RGBA: band choice, limits, gamma, colour tables and maps. Every picture of a
//! raster is rendered here. Pure arithmetic, no GDAL.

use rayon::prelude::*;

use super::pixel_number::StoredNumber;
use super::pixels::{BandPixels, each_countable_type, each_type};
use super::stretch::{self, Stretch, StretchLimits};
use super::value_counts::Countable;
use super::{BandIndex, ColourMap, ComplexPart, Pixels, RasterInfo};

/// Steps between black and white before gamma.
const STEPS: usize = 4096;

/// Which bands are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BandChoice {
    /// By colour interpretation, band names and number of bands.
    #[default]
    Auto,
    /// One band through a colour map; with [`ColourMap::Grey`] the band's own colour table is used
    /// if it has one.
    Single {
        band: BandIndex,
        #[serde(default)]
        map: ColourMap,
    },
    /// Red, green and blue.
    Rgb([BandIndex; 3]),
}

impl BandChoice {
    /// Resolves `Auto` for this raster; other choices are returned unchanged.
    pub fn resolve(&self, info: &RasterInfo) -> BandChoice {
        if *self != BandChoice::Auto {
            return self.clone();
        }
        if let (Some(red), Some(green), Some(blue)) = (
            find_band_by_colour(info, "Red"),
            find_band_by_colour(info, "Green"),
            find_band_by_colour(info, "Blue"),
        ) {
            return BandChoice::Rgb([red, green, blue]);
        }
        if let (Some(red), Some(green), Some(blue)) = (
            find_band_named(info, ["B04", "B4", "red"]),
            find_band_named(info, ["B03", "B3", "green"]),
            find_band_named(info, ["B02", "B2", "blue"]),
        ) {
            return BandChoice::Rgb([red, green, blue]);
        }
        if is_cube(info) {
            return BandChoice::Single {
                band: BandIndex::FIRST,
                map: ColourMap::Grey,
            };
        }
        let plain = |band: &&super::BandInfo| band.palette.is_none() && band.colour != "Alpha";
        let mut like_first = info
            .bands
            .iter()
            .filter(plain)
            .filter(|band| Some(&band.dtype) == info.bands.first().map(|first| &first.dtype));
        match (like_first.next(), like_first.next(), like_first.next()) {
            (Some(red), Some(green), Some(blue)) => {
                BandChoice::Rgb([red.index, green.index, blue.index])
            }
            _ => BandChoice::Single {
                band: BandIndex::FIRST,
                map: ColourMap::Grey,
            },
        }
    }

    /// The choice with each band one further, or one before, among `count` bands; `None` at the
    /// end.
    pub fn step(&self, count: usize, forward: bool) -> Option<BandChoice> {
        Some(match self {
            BandChoice::Auto => return None,
            BandChoice::Single { band, map } => BandChoice::Single {
                band: step_band(*band, count, forward)?,
                map: *map,
            },
            BandChoice::Rgb([red, green, blue]) => BandChoice::Rgb([
                step_band(*red, count, forward)?,
                step_band(*green, count, forward)?,
                step_band(*blue, count, forward)?,
            ]),
        })
    }

    /// The bands to read, in the order that [`render`] expects.
    pub fn bands(&self) -> Vec<BandIndex> {
        match self {
            BandChoice::Auto => vec![BandIndex::FIRST],
            BandChoice::Single { band, .. } => vec![*band],
            BandChoice::Rgb(bands) => bands.to_vec(),
        }
    }
}

fn find_band_by_colour(info: &RasterInfo, colour: &str) -> Option<BandIndex> {
    info.bands
        .iter()
        .find(|band| band.colour == colour)
        .map(|band| band.index)
}

/// The band with one of these names as its description or the first word of it: `B04`, `Red`,
/// `B04 red`.
fn find_band_named(info: &RasterInfo, names: [&str; 3]) -> Option<BandIndex> {
    for band in &info.bands {
        let mut words = band.description.split_whitespace();
        let first = words.next().unwrap_or_default();
        if names.iter().any(|name| first.eq_ignore_ascii_case(name)) {
            return Some(band.index);
        }
    }
    None
}

fn step_band(band: BandIndex, count: usize, forward: bool) -> Option<BandIndex> {
    let position = if forward {
        band.position() + 1
    } else {
        band.position().checked_sub(1)?
    };
    (position < count).then(|| BandIndex::from_position(position))
}

/// True when the bands are positions on dimensions such as times and levels, which are no colours.
fn is_cube(info: &RasterInfo) -> bool {
    /// Dimensions of spectra.
    const SPECTRAL: [&str; 5] = ["band", "bands", "wavelength", "wavelengths", "channel"];
    !info.bands.is_empty()
        && info.bands.iter().all(|band| {
            let dimension = band.position.split(' ').next().unwrap_or_default();
            !dimension.is_empty() && !SPECTRAL.contains(&dimension.to_lowercase().as_str())
        })
}

/// How pixels are shown.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct RenderOptions {
    /// Bands; with [`BandChoice::Auto`], three bands render as RGB, otherwise the first band is
    /// used.
    pub bands: BandChoice,
    /// Contrast stretch.
    pub stretch: Stretch,
    /// Gamma; above 1 brightens mid-tones.
    pub gamma: f32,
    /// Pixels without data are transparent instead of black.
    pub nodata_transparent: bool,
    /// Component that is read from complex bands.
    pub part: ComplexPart,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            bands: BandChoice::Auto,
            stretch: Stretch::default(),
            gamma: 1.0,
            nodata_transparent: true,
            part: ComplexPart::default(),
        }
    }
}

/// RGBA image: 4 bytes per pixel, row-major from the top left, alpha not premultiplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgba {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue, alpha.
    pub data: Vec<u8>,
}

/// Renders `pixels` with the stretch of `options`. Also returns the limits of each band shown, as
/// [`render_with`].
pub fn render(pixels: &Pixels, options: &RenderOptions) -> (Rgba, Vec<Option<StretchLimits>>) {
    let limits: Vec<_> = pixels
        .bands
        .par_iter()
        .map(|band| stretch::limits(band, options.stretch))
        .collect();
    render_with(pixels, options, &limits, None, None)
}

/// Renders `pixels`, rows in parallel. `limits` has an entry for each band of `pixels`; a band
/// without limits is mid grey. `classes` are RGBA by value, instead of the band's colour table;
/// they apply to a single band in grey. With `at_most` the image has every n-th column and row,
/// with n chosen for about that many pixels.
///
/// Also returns the limits of the bands shown: three, or one; `None` for a band without data or
/// shown by its colour table.
pub fn render_with(
    pixels: &Pixels,
    options: &RenderOptions,
    limits: &[Option<StretchLimits>],
    classes: Option<&[[u8; 4]]>,
    at_most: Option<usize>,
) -> (Rgba, Vec<Option<StretchLimits>>) {
    let step = at_most.map_or(1.0, |most| {
        ((pixels.width * pixels.height) as f64 / most.max(1) as f64)
            .sqrt()
            .ceil()
            .max(1.0)
    }) as usize;
    let (width, height) = (pixels.width.div_ceil(step), pixels.height.div_ceil(step));
    let mut data = vec![0u8; width * height * 4];
    let (shown, map) = displayed_bands(pixels, &options.bands);
    let bands: Vec<&BandPixels> = shown.iter().map(|&at| &pixels.bands[at]).collect();
    let Some(&first) = bands.first() else {
        return (
            Rgba {
                width,
                height,
                data,
            },
            Vec::new(),
        );
    };
    let rgb = bands.len() == 3;
    let table = classes
        .or(first.palette.as_deref().map(Vec::as_slice))
        .filter(|_| !rgb && map == ColourMap::Grey);
    let limits: Vec<Option<StretchLimits>> = shown
        .iter()
        .map(|&at| limits.get(at).copied().flatten())
        .collect();
    let ramps: Vec<Ramp> = limits
        .iter()
        .zip(&bands)
        .map(|(limits, band)| Ramp::new(*limits, options.gamma).for_band(band))
        .collect();
    let colours = map.table();
    let missing = if options.nodata_transparent {
        [0, 0, 0, 0]
    } else {
        [0, 0, 0, 255]
    };
    data.par_chunks_mut((width * 4).max(4))
        .enumerate()
        .for_each(|(row, line)| {
            let start = row * step * pixels.width;
            let places = move || (0..width).map(move |column| start + column * step);
            match table {
                Some(table) => each_type!(&first.samples, values => {
                    for (pixel, at) in line.chunks_exact_mut(4).zip(places()) {
                        pixel.copy_from_slice(&class_colour(table, values[at].to_f64()));
                    }
                }),
                None if rgb => {
                    for (channel, (band, ramp)) in bands.iter().zip(&ramps).enumerate() {
                        let pixels = line.chunks_exact_mut(4).zip(places());
                        ramp.shade(band, pixels, |pixel, shade| pixel[channel] = shade);
                    }
                }
                None => {
                    let pixels = line.chunks_exact_mut(4).zip(places());
                    ramps[0].shade(first, pixels, |pixel, shade| {
                        pixel[..3].copy_from_slice(&colours[usize::from(shade)]);
                    });
                }
            }
            // A pixel is opaque when any shown band has data. A colour table sets its own alpha.
            if table.is_none() && bands.iter().any(|band| band.has_all_data()) {
                line.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
                return;
            }
            for (pixel, at) in line.chunks_exact_mut(4).zip(places()) {
                match bands.iter().any(|band| band.is_valid(at)) {
                    true if table.is_some() => {}
                    true => pixel[3] = 255,
                    false => pixel.copy_from_slice(&missing),
                }
            }
        });
    let limits = if table.is_some() { vec![None] } else { limits };
    (
        Rgba {
            width,
            height,
            data,
        },
        limits,
    )
}

/// Positions in `pixels` of the bands shown (three for RGB, or one) and the colour map of a single
/// band. If the chosen bands were not read, three bands render as RGB in the order read; otherwise
/// the first band is used.
fn displayed_bands(pixels: &Pixels, choice: &BandChoice) -> (Vec<usize>, ColourMap) {
    let find = |index: BandIndex| pixels.bands.iter().position(|band| band.index == index);
    let count = pixels.bands.len();
    let as_read = || (0..if count == 3 { 3 } else { count.min(1) }).collect();
    match choice {
        BandChoice::Auto => (as_read(), ColourMap::Grey),
        BandChoice::Single { band, map } => (
            find(*band)
                .or((count > 0).then_some(0))
                .into_iter()
                .collect(),
            *map,
        ),
        BandChoice::Rgb(bands) => {
            let found: Option<Vec<usize>> = bands.iter().map(|band| find(*band)).collect();
            (found.unwrap_or_else(as_read), ColourMap::Grey)
        }
    }
}

/// Colour of a class; mid grey for a class outside of the table.
fn class_colour(table: &[[u8; 4]], value: f64) -> [u8; 4] {
    // A cast would turn a negative value into class 0.
    let class = (value >= 0.0).then_some(value as usize);
    class
        .and_then(|class| table.get(class))
        .copied()
        .unwrap_or([128, 128, 128, 255])
}

/// Maps values to bytes by limits and gamma, through a table of [`STEPS`] entries.
struct Ramp {
    low: f64,
    per_value: f64,
    bytes: Vec<u8>,
    /// The byte of each value of a type of at most 16 bits, by [`Countable::place`]; empty for
    /// other types and for few pixels.
    of_values: Vec<u8>,
}

impl Ramp {
    fn new(limits: Option<StretchLimits>, gamma: f32) -> Self {
        let StretchLimits { low, high } = limits.unwrap_or(StretchLimits {
            low: 0.0,
            high: 0.0,
        });
        let gamma = if gamma.is_finite() {
            gamma.clamp(0.05, 20.0)
        } else {
            1.0
        };
        let last = (STEPS - 1) as f64;
        if low == high {
            // A constant image is mid grey.
            return Self {
                low,
                per_value: 0.0,
                bytes: vec![128; STEPS],
                of_values: Vec::new(),
            };
        }
        let bytes = (0..STEPS)
            .map(|step| ((step as f64 / last).powf(1.0 / f64::from(gamma)) * 255.0).round() as u8)
            .collect();
        Self {
            low,
            per_value: last / (high - low),
            bytes,
            of_values: Vec::new(),
        }
    }

    /// Maps every value of the band's type once, where the band has more pixels than its type has
    /// values.
    fn for_band(mut self, band: &BandPixels) -> Self {
        self.of_values = each_countable_type!(
            &band.samples,
            pixels => self.map_values(pixels),
            _ => Vec::new()
        );
        self
    }

    fn map_values<T: Countable>(&self, pixels: &[T]) -> Vec<u8> {
        if pixels.len() < T::VALUES {
            return Vec::new();
        }
        let last = T::LOW + T::VALUES as i64;
        (T::LOW..last)
            .map(|value| self.byte(value as f64))
            .collect()
    }

    fn byte(&self, value: f64) -> u8 {
        // `as usize` rounds down, saturates and maps NaN to 0.
        let step = ((value - self.low) * self.per_value + 0.5) as usize;
        self.bytes[step.min(STEPS - 1)]
    }

    /// Calls `put` with each of `pixels`, given with the positions of their values in the band, and
    /// its byte.
    fn shade<P>(
        &self,
        band: &BandPixels,
        pixels: impl Iterator<Item = (P, usize)>,
        mut put: impl FnMut(P, u8),
    ) {
        if self.of_values.is_empty() {
            return each_type!(&band.samples, values => {
                pixels.for_each(|(pixel, at)| put(pixel, self.byte(values[at].to_f64())));
            });
        }
        each_countable_type!(
            &band.samples,
            values => pixels.for_each(|(pixel, at)| put(pixel, self.of_values[values[at].place()])),
            _ => {}
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{Samples, Window};
    use std::sync::Arc;

    fn pixels(bands: Vec<BandPixels>) -> Pixels {
        let width = bands[0].samples.len();
        Pixels {
            width,
            height: 1,
            window: Window::full(width, 1),
            bands,
        }
    }

    fn band(number: u32, samples: Samples) -> BandPixels {
        BandPixels {
            index: BandIndex::new(number).expect("from 1"),
            samples,
            valid: None,
            palette: None,
        }
    }

    #[test]
    fn sixteen_bits_fill_the_range() {
        let values = (0..1000u16).map(|value| 300 + value / 2).collect();
        let (image, limits) = render(
            &pixels(vec![band(1, Samples::U16(values))]),
            &RenderOptions::default(),
        );
        assert_eq!(
            (image.data[0], image.data[4 * 999], image.data[3]),
            (0, 255, 255)
        );
        assert!((image.data[4 * 500]).abs_diff(128) < 3);
        assert_eq!(
            limits,
            [Some(StretchLimits {
                low: 310.0,
                high: 789.0
            })]
        );
    }

    #[test]
    fn missing_floats_are_transparent_and_constants_are_grey() {
        let (image, _) = render(
            &pixels(vec![band(1, Samples::F32(vec![5.5, f32::NAN, 5.5]))]),
            &RenderOptions::default(),
        );
        assert_eq!(
            image.data,
            [128, 128, 128, 255, 0, 0, 0, 0, 128, 128, 128, 255]
        );
        let opaque = RenderOptions {
            nodata_transparent: false,
            ..Default::default()
        };
        assert_eq!(
            render(
                &pixels(vec![band(1, Samples::F32(vec![5.5, f32::NAN]))]),
                &opaque
            )
            .0
            .data[4..],
            [0, 0, 0, 255]
        );
    }

    #[test]
    fn colour_tables_are_honoured_unless_a_map_is_asked_for() {
        let mut classes = band(1, Samples::U8(vec![0, 1, 9]));
        classes.palette = Some(Arc::new(vec![[10, 20, 30, 255], [1, 2, 3, 0]]));
        let classes = pixels(vec![classes]);
        assert_eq!(
            render(&classes, &RenderOptions::default()).0.data,
            [10, 20, 30, 255, 1, 2, 3, 0, 128, 128, 128, 255]
        );
        let bands = BandChoice::Single {
            band: BandIndex::FIRST,
            map: ColourMap::Viridis,
        };
        let (image, _) = render(
            &classes,
            &RenderOptions {
                bands,
                stretch: Stretch::MinMax,
                ..Default::default()
            },
        );
        assert_eq!(image.data[..4], [68, 1, 84, 255]);
        assert_eq!(image.data[8..], [253, 231, 37, 255]);
    }

    #[test]
    fn what_is_below_the_colour_table_is_not_its_first_class() {
        let mut classes = band(1, Samples::I16(vec![-1, 0, 1, 2, -300]));
        classes.palette = Some(Arc::new(vec![[10, 20, 30, 255], [1, 2, 3, 255]]));
        let grey = [128u8, 128, 128, 255];
        let (image, _) = render(&pixels(vec![classes]), &RenderOptions::default());
        assert_eq!(
            image.data,
            [grey, [10, 20, 30, 255], [1, 2, 3, 255], grey, grey].concat()
        );
    }

    #[test]
    fn bands_go_to_their_channels_each_with_its_limits() {
        let bands = vec![
            band(4, Samples::U8(vec![0, 10])),
            band(3, Samples::U16(vec![0, 4000])),
            band(2, Samples::I16(vec![7, -7])),
        ];
        let choice =
            BandChoice::Rgb([4, 3, 2].map(|number| BandIndex::new(number).expect("from 1")));
        let (image, _) = render(
            &pixels(bands),
            &RenderOptions {
                bands: choice,
                stretch: Stretch::MinMax,
                ..Default::default()
            },
        );
        assert_eq!(image.data, [0, 0, 255, 255, 255, 255, 0, 255]);
    }

    #[test]
    fn gamma_brightens_the_middle() {
        let values = Samples::U8((0..=255).collect());
        let options = RenderOptions {
            stretch: Stretch::MinMax,
            gamma: 2.0,
            ..Default::default()
        };
        let (image, _) = render(&pixels(vec![band(1, values)]), &options);
        assert!(
            image.data[4 * 64] > 120 && image.data[4 * 64] < 135,
            "{}",
            image.data[4 * 64]
        );
    }
}
