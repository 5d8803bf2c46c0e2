//! Which values become black and white: limits and histograms from pixels. Pure arithmetic, no GDAL.

use super::Pixels;
use super::pixels::{BandPixels, each_type};

/// More values than this are thinned out evenly before they are sorted.
const SORTED_AT_MOST: usize = 1 << 20;

/// How the limits of the display are found.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stretch {
    /// Between two percentiles, from 0 to 100.
    Percentile {
        /// Shown black.
        low: f64,
        /// Shown white.
        high: f64,
    },
    /// From the smallest to the largest value.
    MinMax,
    /// The mean plus and minus so many standard deviations.
    StdDev(f32),
    /// Fixed limits, the same for every band.
    Manual {
        /// Shown black.
        low: f64,
        /// Shown white.
        high: f64,
    },
}

impl Default for Stretch {
    fn default() -> Self {
        Stretch::Percentile { low: 2.0, high: 98.0 }
    }
}

/// Values shown black and white.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Shown black.
    pub low: f64,
    /// Shown white. Equal to `low` when all values are the same.
    pub high: f64,
}

/// Counts of values in bins of equal width. `max` falls into the last bin.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Histogram {
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Values per bin.
    pub counts: Vec<u64>,
    /// Values with data.
    pub valid: u64,
    /// All values, with data or without.
    pub total: u64,
}

impl Histogram {
    /// The count of the bin that holds `value`; 0 outside of the range.
    pub fn count_at(&self, value: f64) -> u64 {
        if self.valid == 0 || !(self.min..=self.max).contains(&value) {
            return 0;
        }
        let part = if self.max > self.min { (value - self.min) / (self.max - self.min) } else { 0.0 };
        let bin = (part * self.counts.len() as f64) as usize;
        self.counts.get(bin.min(self.counts.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

/// Limits of one band; `None` when no pixel has data. Missing data, NaN and infinities do not count.
pub fn limits(band: &BandPixels, stretch: Stretch) -> Option<Limits> {
    match stretch {
        Stretch::Manual { low, high } => Some(Limits { low, high }),
        Stretch::MinMax => range(band).map(|(low, high)| Limits { low, high }),
        Stretch::Percentile { low, high } => percentiles(band, low, high),
        Stretch::StdDev(factor) => deviation(band, f64::from(factor)),
    }
}

/// Histograms of every band, in its order.
pub fn histogram(pixels: &Pixels, bins: usize) -> Vec<Histogram> {
    pixels.bands.iter().map(|band| band_histogram(band, bins.clamp(1, 65536))).collect()
}

fn band_histogram(band: &BandPixels, bins: usize) -> Histogram {
    let total = band.samples.len() as u64;
    let Some((min, max)) = range(band) else { return Histogram { min: 0.0, max: 0.0, counts: vec![0; bins], valid: 0, total } };
    let mut counts = vec![0u64; bins];
    let mut valid = 0;
    let per_value = if max > min { bins as f64 / (max - min) } else { 0.0 };
    for_each(band, |value| {
        counts[(((value - min) * per_value) as usize).min(bins - 1)] += 1;
        valid += 1;
    });
    Histogram { min, max, counts, valid, total }
}

/// Calls `with` for each finite value that is data.
fn for_each(band: &BandPixels, mut with: impl FnMut(f64)) {
    let valid = band.valid.as_deref();
    each_type!(&band.samples, values => for (position, value) in values.iter().enumerate() {
        let value = f64::from(*value);
        if value.is_finite() && valid.is_none_or(|valid| valid[position]) {
            with(value);
        }
    });
}

fn range(band: &BandPixels) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for_each(band, |value| {
        low = low.min(value);
        high = high.max(value);
    });
    (low <= high).then_some((low, high))
}

fn percentiles(band: &BandPixels, low: f64, high: f64) -> Option<Limits> {
    let stride = band.samples.len().div_ceil(SORTED_AT_MOST).max(1);
    let mut values = Vec::with_capacity(band.samples.len() / stride + 1);
    let mut seen = 0usize;
    for_each(band, |value| {
        if seen.is_multiple_of(stride) {
            values.push(value);
        }
        seen += 1;
    });
    if values.is_empty() {
        return None;
    }
    let last = (values.len() - 1) as f64;
    let mut at = |percent: f64| {
        let percent = if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 };
        let position = (percent / 100.0 * last).round() as usize;
        *values.select_nth_unstable_by(position, f64::total_cmp).1
    };
    let (low, high) = (at(low.min(high)), at(low.max(high)));
    if low == high {
        // Most pixels are alike, as in a mask: the whole range shows the rest.
        return range(band).map(|(low, high)| Limits { low, high });
    }
    Some(Limits { low, high })
}

fn deviation(band: &BandPixels, factor: f64) -> Option<Limits> {
    let (min, max) = range(band)?;
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for_each(band, |value| {
        count += 1.0;
        let off = value - mean;
        mean += off / count;
        squares += off * (value - mean);
    });
    let spread = (squares / count).sqrt() * factor.abs();
    Some(Limits { low: (mean - spread).max(min), high: (mean + spread).min(max) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandIndex, Samples};

    fn band(samples: Samples, valid: Option<Vec<bool>>) -> BandPixels {
        BandPixels { index: BandIndex::FIRST, samples, valid: valid.map(Into::into), palette: None }
    }

    #[test]
    fn outliers_and_missing_data_do_not_move_the_limits() {
        let mut values: Vec<f32> = (0..=1000u16).map(f32::from).collect();
        values.extend([f32::NAN, f32::INFINITY, -9999.0]);
        let valid = values.iter().map(|value| *value != -9999.0).collect();
        let limits = limits(&band(Samples::F32(values), Some(valid)), Stretch::default());
        assert_eq!(limits, Some(Limits { low: 20.0, high: 980.0 }));
    }

    #[test]
    fn a_mask_keeps_its_range() {
        let mut values = vec![0u8; 1000];
        values[3] = 1;
        assert_eq!(limits(&band(Samples::U8(values), None), Stretch::default()), Some(Limits { low: 0.0, high: 1.0 }));
    }

    #[test]
    fn no_data_has_no_limits() {
        let nothing = band(Samples::F64(vec![f64::NAN; 4]), None);
        for stretch in [Stretch::default(), Stretch::MinMax, Stretch::StdDev(2.0)] {
            assert_eq!(limits(&nothing, stretch), None);
        }
    }

    #[test]
    fn deviation_stays_inside_the_values() {
        let limits = limits(&band(Samples::I16(vec![-10, 0, 10]), None), Stretch::StdDev(1.0)).expect("has values");
        assert!((limits.high - 8.164_965_809).abs() < 1e-6 && (limits.low + limits.high).abs() < 1e-9, "{limits:?}");
        let wide = super::limits(&band(Samples::I16(vec![-10, 0, 10]), None), Stretch::StdDev(9.0));
        assert_eq!(wide, Some(Limits { low: -10.0, high: 10.0 }));
    }

    #[test]
    fn the_largest_value_falls_into_the_last_bin() {
        let pixels = Pixels {
            width: 5,
            height: 1,
            window: crate::raster::Window::full(5, 1),
            bands: vec![band(Samples::U16(vec![0, 1, 2, 4, 4]), Some(vec![true, true, true, true, false]))],
        };
        let histogram = &histogram(&pixels, 4)[0];
        assert_eq!(histogram.counts, [1, 1, 1, 1]);
        assert_eq!((histogram.min, histogram.max, histogram.valid, histogram.total), (0.0, 4.0, 4, 5));
        assert_eq!([-0.1, 0.0, 3.9, 4.0, 4.1].map(|value| histogram.count_at(value)), [0, 1, 1, 1, 0]);
    }
}
