//! Statistics of many samples, pooled from the statistics of each without reading pixels. A
//! sample's weight is its number of valid pixels: the pixels of its shape times its valid percent.
//! When a shape is missing, all samples have equal weight, and the result says so.

use crate::error::{Error, Result};
use crate::raster::PixelNumber;

/// Length of a band's list in `geotiff:stats` for continuous data: minimum, maximum, mean, standard
/// deviation, valid percent, four percentiles.
const CONTINUOUS: usize = 9;

/// Moments of one band, of one sample or of several.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct BandMoments {
    /// Minimum; an integer where it was read from pixels of integers.
    pub min: PixelNumber,
    /// Maximum, likewise.
    pub max: PixelNumber,
    /// Mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
    /// Number of valid pixels; fractional when derived from a rounded percentage.
    pub count: f64,
}

/// Pooled statistics.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pooled {
    /// Continuous data: one entry per band, `None` without valid pixels.
    Continuous {
        /// In band order.
        bands: Vec<Option<BandMoments>>,
    },
    /// Categorical data: the share of each class, for each band.
    Categorical {
        /// `[band][class]`; a band's list is empty without valid pixels.
        bands: Vec<Vec<f64>>,
    },
}

/// Pooled statistics and their basis.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PooledReport {
    /// Number of samples with statistics.
    pub samples: u64,
    /// Number of samples without statistics.
    pub without: u64,
    /// Samples that were left out of a band, because a stored value of it is NaN or infinite
    /// although it has valid pixels.
    pub not_finite: u64,
    /// True when samples are weighted by valid pixels; false when all have equal weight because a
    /// shape is missing.
    pub weighted: bool,
    /// The pooled statistics.
    pub pooled: Pooled,
}

/// The statistics of one sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleStats {
    /// `geotiff:stats`: one list per band.
    pub bands: Vec<Vec<f64>>,
    /// Number of pixels of one band, from the sample's shape.
    pub pixels: Option<u64>,
    /// The sample's path, for messages.
    pub name: String,
}

/// Combines the moments of two sets. The sum of squares about the common mean is the sum of those
/// within both sets and that between their means.
pub fn merge(a: BandMoments, b: BandMoments) -> BandMoments {
    let count = a.count + b.count;
    if count <= 0.0 {
        return BandMoments {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            ..a
        };
    }
    let apart = b.mean - a.mean;
    let mean = a.mean + apart * (b.count / count);
    let within = a.std * a.std * a.count + b.std * b.std * b.count;
    let between = apart * apart * (a.count / count) * b.count;
    BandMoments {
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        mean,
        std: ((within + between) / count).max(0.0).sqrt(),
        count,
    }
}

/// Hint for selections with different kinds of samples.
pub(super) const ONE_KIND: &str = "choose samples of one kind: --positions takes ids and patterns \
    such as 'label*', --level a level, --where a condition";

/// Pools the statistics of a selection; `None` is a sample without statistics.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid), with the sample names, when numbers of bands
/// differ or categorical and continuous statistics are mixed; also when no sample has statistics.
pub fn pool(samples: impl IntoIterator<Item = Option<SampleStats>>) -> Result<PooledReport> {
    let mut given: Vec<SampleStats> = Vec::new();
    let mut without = 0;
    for sample in samples {
        match sample {
            Some(sample) if !sample.bands.is_empty() => given.push(sample),
            _ => without += 1,
        }
    }
    let Some(first) = given.first() else {
        return Err(Error::invalid("no sample of the selection has statistics")
            .hint("--exact reads the pixels instead; --level and --positions choose which"));
    };
    let bands = first.bands.len();
    if let Some(other) = given.iter().find(|sample| sample.bands.len() != bands) {
        let summary = format!(
            "{} has {bands} bands and {} has {}",
            first.name,
            other.name,
            other.bands.len()
        );
        return Err(Error::invalid(summary).hint(ONE_KIND));
    }
    let width = |sample: &SampleStats| sample.bands.iter().map(Vec::len).max().unwrap_or(0);
    let continuous =
        width(first) == CONTINUOUS && first.bands.iter().all(|band| looks_continuous(band));
    if let Some(other) = given.iter().find(|sample| {
        sample.bands.iter().any(|band| {
            !band.is_empty() && (band.len() == CONTINUOUS && looks_continuous(band)) != continuous
        })
    }) {
        let summary = format!(
            "{} and {} don't have the same kind of statistics",
            first.name, other.name
        );
        return Err(Error::invalid(summary).hint("pool measurements and classes apart"));
    }
    let weighted = given
        .iter()
        .all(|sample| sample.pixels.is_some_and(|pixels| pixels > 0));
    let pooled = if continuous {
        Pooled::Continuous {
            bands: (0..bands)
                .map(|band| pool_moments(&given, band, weighted))
                .collect(),
        }
    } else {
        Pooled::Categorical {
            bands: (0..bands)
                .map(|band| pool_shares(&given, band, weighted))
                .collect::<Result<_>>()?,
        }
    };
    let not_finite = if continuous {
        given
            .iter()
            .filter(|sample| has_broken_band(sample))
            .count() as u64
    } else {
        0
    };
    Ok(PooledReport {
        samples: given.len() as u64,
        without,
        not_finite,
        weighted,
        pooled,
    })
}

fn has_broken_band(sample: &SampleStats) -> bool {
    let mut bands = sample.bands.iter();
    bands.any(|band| has_pixels_but_no_numbers(band))
}

/// The weight of a sample: the number of its pixels where `weighted` and known, otherwise 1.
fn weigh_sample(sample: &SampleStats, weighted: bool) -> f64 {
    if weighted {
        sample.pixels.unwrap_or(1) as f64
    } else {
        1.0
    }
}

/// True when nine numbers are continuous statistics: they do not sum to 1 as nine class shares do.
pub fn looks_continuous(band: &[f64]) -> bool {
    let shares = band.iter().all(|value| (0.0..=1.0).contains(value))
        && (band.iter().sum::<f64>() - 1.0).abs() < 1e-3;
    band.len() == CONTINUOUS && !shares
}

/// True when a continuous band has valid pixels and a minimum, maximum, mean or deviation that is
/// NaN or infinite: some tools store what infinite pixels make of them.
fn has_pixels_but_no_numbers(band: &[f64]) -> bool {
    matches!(
        band,
        [min, max, mean, std, valid, ..]
            if *valid > 0.0 && ![min, max, mean, std].iter().all(|number| number.is_finite())
    )
}

fn pool_moments(samples: &[SampleStats], band: usize, weighted: bool) -> Option<BandMoments> {
    samples
        .iter()
        .filter_map(|sample| read_moments(sample, band, weighted))
        .reduce(merge)
}

/// `None` for a band without pixels, or with numbers that are not finite.
fn read_moments(sample: &SampleStats, band: usize, weighted: bool) -> Option<BandMoments> {
    let &[min, max, mean, std, valid, ..] = sample.bands[band].as_slice() else {
        return None;
    };
    let count = weigh_sample(sample, weighted) * valid.clamp(0.0, 100.0) / 100.0;
    let finite = [min, max, mean, std]
        .iter()
        .all(|number| number.is_finite());
    let [min, max] = [min, max].map(PixelNumber::Real);
    (count > 0.0 && finite).then_some(BandMoments {
        min,
        max,
        mean,
        std,
        count,
    })
}

fn pool_shares(samples: &[SampleStats], band: usize, weighted: bool) -> Result<Vec<f64>> {
    let mut shares: Vec<f64> = Vec::new();
    let (mut sum, mut model) = (0.0, None::<&SampleStats>);
    for sample in samples {
        let own = &sample.bands[band];
        if own.is_empty() || own.iter().any(|share| !share.is_finite()) {
            continue;
        }
        match model {
            None => (shares, model) = (vec![0.0; own.len()], Some(sample)),
            Some(first) if own.len() != shares.len() => {
                let summary = format!(
                    "{} has {} classes and {} has {}",
                    first.name,
                    shares.len(),
                    sample.name,
                    own.len()
                );
                return Err(Error::invalid(summary)
                    .hint("shares can only be pooled over the same list of classes"));
            }
            Some(_) => {}
        }
        let weight = weigh_sample(sample, weighted);
        shares
            .iter_mut()
            .zip(own)
            .for_each(|(total, share)| *total += share * weight);
        sum += weight;
    }
    shares.iter_mut().for_each(|share| *share /= sum);
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> BandMoments {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let std = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt();
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(*v), high.max(*v))
            });
        let [min, max] = [min, max].map(PixelNumber::Real);
        BandMoments {
            min,
            max,
            mean,
            std,
            count,
        }
    }

    fn sample(name: &str, values: &[f64], invalid: usize) -> Option<SampleStats> {
        let m = moments(values);
        let pixels = (values.len() + invalid) as u64;
        let valid = 100.0 * values.len() as f64 / pixels as f64;
        let band = vec![
            m.min.to_f64(),
            m.max.to_f64(),
            m.mean,
            m.std,
            valid,
            0.0,
            0.0,
            0.0,
            0.0,
        ];
        Some(SampleStats {
            bands: vec![band],
            pixels: Some(pixels),
            name: name.into(),
        })
    }

    #[test]
    fn samples_with_infinite_statistics_are_left_out_and_counted() {
        let sound = || sample("a", &[1.0, 3.0], 0);
        let broken = |at: usize, value: f64| {
            let mut other = sample("b", &[5.0, 9.0], 0).expect("a sample");
            other.bands[0][at] = value;
            Some(other)
        };
        let alone = pool([sound()]).expect("pools");
        for (at, value) in [
            (0, f64::NEG_INFINITY),
            (1, f64::INFINITY),
            (2, f64::INFINITY),
            (3, f64::NAN),
        ] {
            let report = pool([sound(), broken(at, value)]).expect("pools");
            assert_eq!(
                (report.samples, report.not_finite, &report.pooled),
                (2, 1, &alone.pooled),
                "{at}"
            );
        }
        // A raster without a valid pixel has no statistics.
        let mut empty = sample("c", &[f64::NAN], 3).expect("a sample");
        empty.bands[0] = vec![
            f64::NAN,
            f64::NAN,
            f64::NAN,
            f64::NAN,
            0.0,
            f64::NAN,
            f64::NAN,
            f64::NAN,
            f64::NAN,
        ];
        assert_eq!(pool([sound(), Some(empty)]).expect("pools").not_finite, 0);
    }

    #[test]
    fn pooling_equals_looking_at_all_pixels() {
        let all: Vec<f64> = (0..1000).map(|n| f64::from(n * n % 733) + 1e4).collect();
        let parts = [
            (&all[..10], 5),
            (&all[10..700], 0),
            (&all[700..701], 90),
            (&all[701..], 1),
        ];
        let report = pool(
            parts
                .iter()
                .enumerate()
                .map(|(n, (values, invalid))| sample(&format!("s{n}"), values, *invalid)),
        );
        let report = report.expect("pools");
        let Pooled::Continuous { bands } = &report.pooled else {
            panic!("measurements")
        };
        let (ours, exact) = (bands[0].expect("pixels"), moments(&all));
        assert!(report.weighted && report.samples == 4);
        for (ours, exact) in [
            (ours.mean, exact.mean),
            (ours.std, exact.std),
            (ours.count, exact.count),
            (ours.min.to_f64(), exact.min.to_f64()),
            (ours.max.to_f64(), exact.max.to_f64()),
        ] {
            assert!((ours - exact).abs() <= 1e-9 * exact.abs(), "{ours} {exact}");
        }
    }

    #[test]
    fn samples_without_shape_count_alike() {
        let mut one = sample("a", &[0.0, 0.0], 0).expect("one");
        one.pixels = None;
        let report = pool([Some(one), sample("b", &[3.0], 0), None]).expect("pools");
        let Pooled::Continuous { bands } = &report.pooled else {
            panic!("measurements")
        };
        assert!(!report.weighted && report.without == 1);
        assert!((bands[0].expect("pixels").mean - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_sample_without_valid_pixels_adds_nothing() {
        let empty = SampleStats {
            bands: vec![vec![
                f64::NAN,
                f64::NAN,
                f64::NAN,
                f64::NAN,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
            ]],
            pixels: Some(9),
            name: "e".into(),
        };
        let report = pool([Some(empty.clone()), sample("b", &[1.0, 3.0], 0)]).expect("pools");
        let Pooled::Continuous { bands } = &report.pooled else {
            panic!("measurements")
        };
        assert_eq!(
            bands[0].map(|band| (band.mean, band.min)),
            Some((2.0, PixelNumber::Real(1.0)))
        );
        let Pooled::Continuous { bands } = pool([Some(empty)]).expect("pools").pooled else {
            panic!("measurements")
        };
        assert_eq!(bands, [None]);
    }

    #[test]
    fn shares_are_weighted_by_pixels() {
        let of = |shares: &[f64], pixels| {
            Some(SampleStats {
                bands: vec![shares.to_vec()],
                pixels: Some(pixels),
                name: "x".into(),
            })
        };
        let report = pool([of(&[0.5, 0.5, 0.0], 100), of(&[0.0, 0.0, 1.0], 300)]).expect("pools");
        assert_eq!(
            report.pooled,
            Pooled::Categorical {
                bands: vec![vec![0.125, 0.125, 0.75]]
            }
        );
        assert!(
            pool([of(&[0.5, 0.5], 1), of(&[1.0], 1)])
                .expect_err("other classes")
                .to_string()
                .contains("2 classes")
        );
    }

    #[test]
    fn incompatible_samples_are_named() {
        let two = SampleStats {
            bands: vec![vec![0.0; 9]; 2],
            pixels: Some(4),
            name: "two".into(),
        };
        let error = pool([sample("one", &[1.0], 0), Some(two)]).expect_err("differs");
        assert_eq!(error.summary(), "one has 1 bands and two has 2");
        let classes = SampleStats {
            bands: vec![vec![0.4, 0.6]],
            pixels: Some(4),
            name: "mask".into(),
        };
        assert!(
            pool([sample("one", &[1.0], 0), Some(classes)])
                .expect_err("differs")
                .to_string()
                .contains("kind of statistics")
        );
        assert!(pool([None]).is_err());
    }
}
