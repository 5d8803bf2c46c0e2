//! Contrast stretch (the values rendered black and white) and histograms. Pure arithmetic, no GDAL.

use super::Pixels;
use super::pixel_number::{PixelNumber, StoredNumber};
use super::pixels::{BandPixels, Samples, each_countable_type, each_type};
use super::value_counts::{Countable, ValueCounts};

/// Maximum number of values from which percentiles are computed; more are thinned evenly. At this
/// size the rank of a percentile is off by less than 0.1 %.
const SORTED_AT_MOST: usize = 1 << 17;

/// Number of pixels from which 8- and 16-bit values are counted: that of the counters.
const COUNTED_FROM: usize = 1 << 16;

/// Number of values from which a histogram leaves far ones out.
const CENTRAL_FROM: usize = 64;

/// How the display limits are computed.
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
    /// Mean ± this many standard deviations, clipped to the range.
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
        Stretch::Percentile {
            low: 2.0,
            high: 98.0,
        }
    }
}

/// Values shown black and white.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StretchLimits {
    /// Shown black.
    pub low: f64,
    /// Shown white. Equal to `low` when all values are the same.
    pub high: f64,
}

/// Counts of values in bins of equal width from `min` to `max`, which belongs to the last bin.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Histogram {
    /// Lower end of the first bin.
    pub min: f64,
    /// Upper end of the last bin.
    pub max: f64,
    /// Smallest and largest value, which may be outside of the bins.
    pub range: [f64; 2],
    /// Values per bin.
    pub counts: Vec<u64>,
    /// Number of values below `min` and above `max`.
    pub outside: [u64; 2],
    /// Number of finite values with data.
    pub valid: u64,
    /// Number of all values.
    pub total: u64,
}

impl Histogram {
    /// The count of the bin that holds `value`; 0 outside of the range.
    pub fn count_at(&self, value: f64) -> u64 {
        if self.valid == 0 || !(self.min..=self.max).contains(&value) {
            return 0;
        }
        let part = if self.max > self.min {
            (value - self.min) / (self.max - self.min)
        } else {
            0.0
        };
        let bin = (part * self.counts.len() as f64) as usize;
        self.counts
            .get(bin.min(self.counts.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0)
    }
}

/// Statistics of one band from which limits of every stretch are computed. Nodata, NaN and
/// infinities are excluded.
#[derive(Clone, Debug)]
pub struct BandValues {
    /// Ascending values: all, or an evenly thinned subset of at most [`SORTED_AT_MOST`].
    sorted: Vec<f64>,
    is_integer: bool,
    /// The same of 64-bit integers in full, with their lowest and highest.
    longs: Vec<i128>,
    min: f64,
    max: f64,
    mean: f64,
    /// Standard deviation of the population.
    std: f64,
}

impl BandValues {
    /// Computes the statistics; `None` when no pixel has data.
    pub fn from_band(band: &BandPixels) -> Option<Self> {
        let values = DataValues::of_band(band);
        let stride = band.samples.len().div_ceil(SORTED_AT_MOST).max(1);
        let (mut sorted, mut seen) = (Vec::with_capacity(band.samples.len() / stride + 1), 0usize);
        let (mut min, mut max, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        values.for_each(|value, count| {
            let kept = (seen + count).div_ceil(stride) - seen.div_ceil(stride);
            sorted.extend(std::iter::repeat_n(value, kept));
            seen += count;
            (min, max, sum) = (min.min(value), max.max(value), sum + value * count as f64);
        });
        if seen == 0 {
            return None;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        // Two passes without a division per value are faster than a running mean. The mean of
        // values whose sum is no number is that of the ends.
        let mean = Some(sum / seen as f64)
            .filter(|mean| mean.is_finite())
            .unwrap_or(min / 2.0 + max / 2.0);
        let mut squares = 0.0;
        values.for_each(|value, count| squares += (value - mean) * (value - mean) * count as f64);
        let (is_integer, longs) = (band.samples.is_integer(), longs(band, stride));
        Some(Self {
            sorted,
            is_integer,
            longs,
            min,
            max,
            mean,
            std: (squares / seen as f64).sqrt(),
        })
    }

    /// A display limit or an end of the range in full: of integers an integer, where it is the
    /// value of a pixel.
    pub fn number(&self, value: f64) -> PixelNumber {
        let at = self.longs.partition_point(|long| (*long as f64) < value);
        match self.longs.get(at) {
            Some(long) if *long as f64 == value => {
                // The last of those that round to the highest value is the highest.
                let last = self.longs.last().filter(|last| **last as f64 == value);
                PixelNumber::Integer(*if value == self.min {
                    long
                } else {
                    last.unwrap_or(long)
                })
            }
            _ if self.is_integer => PixelNumber::of_whole(value),
            _ => PixelNumber::Real(value),
        }
    }

    /// Smallest and largest value.
    pub fn range(&self) -> StretchLimits {
        StretchLimits {
            low: self.min,
            high: self.max,
        }
    }

    /// The values that a histogram shows: all of them, unless a few far ones would leave the others
    /// a small part of the axis. These are at most 1/1000 of the values, or one, on each side;
    /// without them the range is at least 8 times smaller.
    pub fn central(&self) -> StretchLimits {
        let count = self.sorted.len();
        let cut = (count / 1000).max(1);
        let (Some(low), Some(high)) = (
            self.sorted.get(cut),
            count
                .checked_sub(cut + 1)
                .and_then(|at| self.sorted.get(at)),
        ) else {
            return self.range();
        };
        let span = high - low;
        if count < CENTRAL_FROM || span <= 0.0 || self.max - self.min <= 8.0 * span {
            return self.range();
        }
        StretchLimits {
            low: (low - span / 8.0).max(self.min),
            high: (high + span / 8.0).min(self.max),
        }
    }

    /// Display limits. Those of [`Stretch::StdDev`] are clipped to the range; equal percentiles, as
    /// in a mask, give the whole range.
    pub fn limits(&self, stretch: Stretch) -> StretchLimits {
        match stretch {
            Stretch::Manual { low, high } => StretchLimits { low, high },
            Stretch::MinMax => self.range(),
            Stretch::StdDev(factor) => {
                let spread = self.std * f64::from(factor).abs();
                StretchLimits {
                    low: (self.mean - spread).max(self.min),
                    high: (self.mean + spread).min(self.max),
                }
            }
            Stretch::Percentile { low, high } => {
                let (low, high) = (
                    self.percentile(low.min(high)),
                    self.percentile(low.max(high)),
                );
                if low == high {
                    self.range()
                } else {
                    StretchLimits { low, high }
                }
            }
        }
    }

    fn percentile(&self, percent: f64) -> f64 {
        let percent = if percent.is_finite() {
            percent.clamp(0.0, 100.0)
        } else {
            0.0
        };
        self.sorted[(percent / 100.0 * (self.sorted.len() - 1) as f64).round() as usize]
    }
}

/// Every `stride`-th of the values of a band of 64-bit integers that are data, with the lowest and
/// the highest, ascending; nothing for other types.
fn longs(band: &BandPixels, stride: usize) -> Vec<i128> {
    if read_integer(&band.samples, 0).is_none() {
        return Vec::new();
    }
    let mut found: Vec<i128> = list_valid_integers(band)
        .step_by(stride)
        .chain(list_valid_integers(band).min())
        .chain(list_valid_integers(band).max())
        .collect();
    found.sort_unstable();
    found
}

fn read_integer(samples: &Samples, at: usize) -> Option<i128> {
    match samples {
        Samples::U64(values) => values.get(at).map(|value| i128::from(*value)),
        Samples::I64(values) => values.get(at).map(|value| i128::from(*value)),
        _ => None,
    }
}

fn list_valid_integers(band: &BandPixels) -> impl Iterator<Item = i128> {
    (0..band.samples.len())
        .filter(|at| band.is_valid(*at))
        .filter_map(|at| read_integer(&band.samples, at))
}

/// Display limits of one band; `None` when no pixel has data.
pub fn limits(band: &BandPixels, stretch: Stretch) -> Option<StretchLimits> {
    BandValues::from_band(band).map(|values| values.limits(stretch))
}

/// Histogram of every band, in band order, with 1 to 65536 bins.
pub fn histogram(pixels: &Pixels, bins: usize) -> Vec<Histogram> {
    pixels
        .bands
        .iter()
        .map(|band| band_histogram(band, bins.clamp(1, 65536)))
        .collect()
}

fn band_histogram(band: &BandPixels, bins: usize) -> Histogram {
    histogram_over(
        band,
        range(band).map(|(low, high)| StretchLimits { low, high }),
        bins,
    )
}

/// Histogram of the values between these limits, with the number of those outside; all 0 without
/// limits, as of a band without data.
pub(super) fn histogram_over(
    band: &BandPixels,
    limits: Option<StretchLimits>,
    bins: usize,
) -> Histogram {
    let total = band.samples.len() as u64;
    let mut counts = vec![0u64; bins.max(1)];
    let (
        StretchLimits {
            low: min,
            high: max,
        },
        mut valid,
        mut outside,
    ) = (
        limits.unwrap_or(StretchLimits {
            low: 0.0,
            high: 0.0,
        }),
        0,
        [0, 0],
    );
    let mut range = [min, max];
    let per_value = if max > min {
        bins as f64 / (max - min)
    } else {
        0.0
    };
    let last = counts.len() - 1;
    DataValues::of_band(band).for_each(|value, count| {
        let count = count as u64;
        valid += count;
        range = [range[0].min(value), range[1].max(value)];
        match value {
            value if value < min => outside[0] += count,
            value if value > max => outside[1] += count,
            value => counts[(((value - min) * per_value) as usize).min(last)] += count,
        }
    });
    Histogram {
        min,
        max,
        range,
        counts,
        outside,
        valid,
        total,
    }
}

/// The finite values of a band that are data.
enum DataValues<'a> {
    /// Of 8 or 16 bits: each value that occurs, once.
    Counted(ValueCounts),
    /// All of them.
    Each(&'a BandPixels),
}

impl<'a> DataValues<'a> {
    /// Counts the values where that is less work than a look at each.
    fn of_band(band: &'a BandPixels) -> Self {
        let valid = band.valid.as_deref();
        if band.samples.len() < COUNTED_FROM {
            return Self::Each(band);
        }
        each_countable_type!(
            &band.samples,
            values => Self::Counted(count_valid(values, valid)),
            _ => Self::Each(band)
        )
    }

    /// Calls `with(value, count)`; counts of one value may come in several calls.
    fn for_each(&self, mut with: impl FnMut(f64, usize)) {
        let band = match self {
            Self::Counted(counts) => {
                counts
                    .iter()
                    .for_each(|(value, count)| with(value as f64, count as usize));
                return;
            }
            Self::Each(band) => band,
        };
        let valid = band.valid.as_deref();
        each_type!(&band.samples, values => for (position, value) in values.iter().enumerate() {
            let value = value.to_f64();
            if value.is_finite() && valid.is_none_or(|valid| valid[position]) {
                with(value, 1);
            }
        });
    }
}

fn count_valid<T: Countable>(values: &[T], valid: Option<&[bool]>) -> ValueCounts {
    let mut counts = ValueCounts::for_type::<T>();
    let mask: Option<Vec<u8>> = valid.map(|valid| valid.iter().copied().map(u8::from).collect());
    counts.add(values, mask.as_deref());
    counts
}

fn range(band: &BandPixels) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    DataValues::of_band(band).for_each(|value, _| {
        low = low.min(value);
        high = high.max(value);
    });
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandIndex, Samples};

    fn band(samples: Samples, valid: Option<Vec<bool>>) -> BandPixels {
        BandPixels {
            index: BandIndex::FIRST,
            samples,
            valid: valid.map(Into::into),
            palette: None,
        }
    }

    #[test]
    fn outliers_and_missing_data_do_not_move_the_limits() {
        let mut values: Vec<f32> = (0..=1000u16).map(f32::from).collect();
        values.extend([f32::NAN, f32::INFINITY, -9999.0]);
        let valid = values.iter().map(|value| *value != -9999.0).collect();
        let limits = limits(&band(Samples::F32(values), Some(valid)), Stretch::default());
        assert_eq!(
            limits,
            Some(StretchLimits {
                low: 20.0,
                high: 980.0
            })
        );
    }

    #[test]
    fn limits_of_long_integers_are_told_in_full() {
        let ids = vec![
            9_007_199_254_740_993u64,
            9_007_199_254_740_994,
            18_014_398_509_481_985,
        ];
        let values = BandValues::from_band(&band(Samples::U64(ids), None)).expect("has values");
        let StretchLimits { low, high } = values.limits(Stretch::MinMax);
        assert_eq!(
            values.number(low),
            PixelNumber::Integer(9_007_199_254_740_993)
        );
        assert_eq!(
            values.number(high),
            PixelNumber::Integer(18_014_398_509_481_985)
        );
        let values = BandValues::from_band(&band(Samples::U32(vec![0, u32::MAX]), None))
            .expect("has values");
        assert_eq!(
            (values.number(4_294_967_295.0), values.number(0.5)),
            (
                PixelNumber::Integer(u32::MAX.into()),
                PixelNumber::Real(0.5)
            )
        );
        let values =
            BandValues::from_band(&band(Samples::F32(vec![1.0, 2.0]), None)).expect("has values");
        assert_eq!(values.number(1.0), PixelNumber::Real(1.0));
    }

    #[test]
    fn a_mask_keeps_its_range() {
        let mut values = vec![0u8; 1000];
        values[3] = 1;
        assert_eq!(
            limits(&band(Samples::U8(values), None), Stretch::default()),
            Some(StretchLimits {
                low: 0.0,
                high: 1.0
            })
        );
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
        let limits = limits(
            &band(Samples::I16(vec![-10, 0, 10]), None),
            Stretch::StdDev(1.0),
        )
        .expect("has values");
        assert!(
            (limits.high - 8.164_965_809).abs() < 1e-6 && (limits.low + limits.high).abs() < 1e-9,
            "{limits:?}"
        );
        let wide = super::limits(
            &band(Samples::I16(vec![-10, 0, 10]), None),
            Stretch::StdDev(9.0),
        );
        assert_eq!(
            wide,
            Some(StretchLimits {
                low: -10.0,
                high: 10.0
            })
        );
    }

    #[test]
    fn huge_values_have_a_mean_and_a_deviation() {
        let huge = band(Samples::F64(vec![f64::MAX, f64::MAX, f64::MAX, 0.0]), None);
        let limits = limits(&huge, Stretch::StdDev(1.0)).expect("has values");
        assert_eq!((limits.low, limits.high), (0.0, f64::MAX));
        let far = band(Samples::F64(vec![1e15, 1e15 + 2.0, 1e15 + 4.0]), None);
        let limits = super::limits(&far, Stretch::StdDev(1.0)).expect("has values");
        assert!(
            (limits.high - limits.low - 3.265_986_324).abs() < 0.2,
            "{limits:?}"
        );
    }

    #[test]
    fn one_far_value_leaves_the_histogram_of_the_others() {
        let mut values: Vec<f64> = (0..4000).map(|n| f64::from(n % 100)).collect();
        values.push(1e15);
        let far = band(Samples::F64(values.clone()), None);
        let central = BandValues::from_band(&far).expect("has values").central();
        assert!(
            central.low == 0.0 && central.high > 98.0 && central.high < 115.0,
            "{central:?}"
        );
        let histogram = histogram_over(&far, Some(central), 256);
        assert_eq!(
            (histogram.outside, histogram.range, histogram.valid),
            ([0, 1], [0.0, 1e15], 4001)
        );
        assert_eq!(histogram.counts.iter().sum::<u64>(), 4000);
        assert!(
            histogram.counts.iter().filter(|count| **count > 0).count() >= 100,
            "each of the other values has its bin"
        );
        // Two kinds of values that both occur often stay.
        values.truncate(4000);
        values.extend(vec![1e6; 4000]);
        let both = BandValues::from_band(&band(Samples::F64(values), None))
            .expect("has values")
            .central();
        assert_eq!(
            both,
            StretchLimits {
                low: 0.0,
                high: 1e6
            }
        );
    }

    #[test]
    fn the_largest_value_falls_into_the_last_bin() {
        let pixels = Pixels {
            width: 5,
            height: 1,
            window: crate::raster::Window::full(5, 1),
            bands: vec![band(
                Samples::U16(vec![0, 1, 2, 4, 4]),
                Some(vec![true, true, true, true, false]),
            )],
        };
        let histogram = &histogram(&pixels, 4)[0];
        assert_eq!(histogram.counts, [1, 1, 1, 1]);
        assert_eq!(
            (
                histogram.min,
                histogram.max,
                histogram.valid,
                histogram.total
            ),
            (0.0, 4.0, 4, 5)
        );
        assert_eq!(
            [-0.1, 0.0, 3.9, 4.0, 4.1].map(|value| histogram.count_at(value)),
            [0, 1, 1, 1, 0]
        );
    }

    #[test]
    fn counted_values_give_the_limits_of_all_values() {
        let count = COUNTED_FROM * 3;
        let values: Vec<u16> = (0..count)
            .map(|at| ((at * 7919) % 10_007) as u16 + if at % 977 == 0 { 50_000 } else { 0 })
            .collect();
        let valid: Vec<bool> = (0..count).map(|at| at % 5 != 0).collect();
        let wide: Vec<f32> = values.iter().copied().map(f32::from).collect();
        for valid in [None, Some(valid)] {
            let counted = band(Samples::U16(values.clone()), valid.clone());
            let each = band(Samples::F32(wide.clone()), valid);
            let (one, other) = (
                BandValues::from_band(&counted).unwrap(),
                BandValues::from_band(&each).unwrap(),
            );
            assert_eq!(one.range(), other.range());
            for stretch in [
                Stretch::default(),
                Stretch::MinMax,
                Stretch::StdDev(1.5),
                Stretch::Percentile {
                    low: 0.0,
                    high: 50.0,
                },
            ] {
                let (one, other) = (one.limits(stretch), other.limits(stretch));
                let apart = (one.low - other.low)
                    .abs()
                    .max((one.high - other.high).abs());
                assert!(apart < 30.0, "{stretch:?}: {one:?} {other:?}");
            }
            let limits = Some(one.central());
            assert_eq!(
                histogram_over(&counted, limits, 64),
                histogram_over(&each, limits, 64)
            );
        }
        let signed: Vec<i16> = values.iter().map(|value| *value as i16).collect();
        let lowest = signed.iter().copied().min().map(f64::from);
        let counted = BandValues::from_band(&band(Samples::I16(signed), None)).unwrap();
        assert_eq!(Some(counted.range().low), lowest);
    }
}
