//! Exact statistics of every band from one read of all pixels, block by block, with bounded memory.
//! GDAL's own statistics are not used: they can be approximate and write `.aux.xml` files beside
//! the inputs.
//!
//! Integers of 8 and 16 bits are counted per value. Other types are kept in memory up to 256 MiB
//! per raster; for larger rasters only the moments are kept, and percentiles read the file again,
//! 16 bits of the sort key per pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::nodata_test::NoDataTest;
use super::pool::{self, PooledDataset};
use super::scan::{PixelChunk, PixelValues, StoredType, scan};
use super::value_counts::{Sums, ValueCounts};
use super::{BandInfo, PixelNumber, RasterInfo, RasterSource, budget};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum bytes of values kept in memory for one raster.
const KEPT_BYTES: u64 = 256 << 20;
/// The same for a sparse raster, see [`budget::is_sparse`].
const SPARSE_KEPT_BYTES: u64 = 64 << 20;

/// Counts, values or moments of every band of one raster.
pub struct RasterCount {
    source: RasterSource,
    info: Arc<RasterInfo>,
    bands: Vec<BandTally>,
}

struct BandTally {
    total: u64,
    is_integer: bool,
    /// Lowest and highest value of a band of 64-bit integers.
    long_range: Option<[i128; 2]>,
    data: Data,
}

enum Data {
    /// Count of each value.
    Counts(ValueCounts),
    /// All finite values with data.
    Single(Vec<f32>),
    /// All finite values with data; 64-bit integers are rounded.
    Double(Vec<f64>),
    /// Moments only: the values exceed the memory limit.
    Large(RasterMoments),
}

/// Summary statistics of one band. The standard deviation is that of the population; percentiles
/// are interpolated linearly between the nearest ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct BandSummary {
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Minimum and maximum in full, as integers for a band of integers.
    pub range: [PixelNumber; 2],
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Pixels with data.
    pub count: u64,
    /// `count` in percent of all pixels.
    pub valid_percent: f64,
    /// Percentiles, in the order requested.
    pub percentiles: Vec<f64>,
}

/// Reads every pixel of every band once. Nodata, masked pixels, NaN and infinities are excluded.
/// 64-bit integers above 2^53 are rounded to `f64`, except in [`BandSummary::range`].
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a file without bands, complex data
/// types, more than 1024 bands, blocks above 256 MiB, and headers that claim far more pixels than
/// the file holds; those of opening and reading, and cancellation.
pub fn tally(source: &RasterSource, ctx: &JobContext) -> Result<RasterCount> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = lease.info.clone();
    check(&info, source)?;
    let pixels = (info.width as u64).saturating_mul(info.height as u64);
    let kept: u64 = info
        .bands
        .iter()
        .map(|band| pixels.saturating_mul(StoredType::from_band(band).kept_bytes()))
        .fold(0, u64::saturating_add);
    let large = kept
        > if budget::is_sparse(&info) {
            SPARSE_KEPT_BYTES
        } else {
            KEPT_BYTES
        };
    let mut bands: Vec<BandTally> = info
        .bands
        .iter()
        .map(|band| {
            let data = match StoredType::from_band(band) {
                StoredType::U8 => Data::Counts(ValueCounts::for_type::<u8>()),
                StoredType::U16 => Data::Counts(ValueCounts::for_type::<u16>()),
                StoredType::I16 => Data::Counts(ValueCounts::for_type::<i16>()),
                _ if large => Data::Large(RasterMoments::default()),
                StoredType::F32 => Data::Single(Vec::with_capacity(pixels as usize)),
                StoredType::U64 | StoredType::I64 | StoredType::F64 => {
                    Data::Double(Vec::with_capacity(pixels as usize))
                }
            };
            BandTally {
                total: pixels,
                is_integer: band.is_integer(),
                long_range: None,
                data,
            }
        })
        .collect();
    let every: Vec<usize> = (0..bands.len()).collect();
    scan(&lease, asset, &every, ctx, &mut |position, chunk| {
        bands[position].add(chunk)
    })?;
    for (band, header) in bands.iter_mut().zip(&info.bands) {
        // Cheaper than a comparison per pixel.
        if let (Data::Counts(counts), Some(NoDataTest::Whole(nodata))) =
            (&mut band.data, header.nodata_test())
            && by_value(&lease, header)
        {
            counts.forget(nodata as i64);
        }
    }
    Ok(RasterCount {
        source: source.clone(),
        info,
        bands,
    })
}

/// Reads every pixel and discards it, to measure the cost of reading.
///
/// # Errors
/// As [`tally`].
pub fn read_through(source: &RasterSource, ctx: &JobContext) -> Result<()> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    check(&lease.info, source)?;
    let every: Vec<usize> = (0..lease.info.bands.len()).collect();
    scan(&lease, asset, &every, ctx, &mut |_, _| {})
}

impl RasterCount {
    /// The header of the raster.
    pub fn info(&self) -> &RasterInfo {
        &self.info
    }

    /// Number of bands.
    pub fn band_count(&self) -> usize {
        self.bands.len()
    }

    /// Statistics of the band at the 0-based `position`, with `percents` in 0 to 100; `None` when
    /// no pixel has data.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a band that does not exist; rasters above the
    /// memory limit are read again, with the errors of reading and cancellation.
    pub fn summary(
        &self,
        position: usize,
        percents: &[f64],
        ctx: &JobContext,
    ) -> Result<Option<BandSummary>> {
        let band = self.band(position)?;
        let moments = band.moments();
        if moments.count == 0 {
            return Ok(None);
        }
        let last = moments.count - 1;
        let places: Vec<f64> = percents
            .iter()
            .map(|percent| percent.clamp(0.0, 100.0) / 100.0 * last as f64)
            .collect();
        let mut ranks: Vec<u64> = places
            .iter()
            .flat_map(|place| [*place as u64, (*place as u64 + 1).min(last)])
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let found = self.at_ranks(position, &ranks, ctx)?;
        Ok(Some(BandSummary {
            min: moments.min,
            max: moments.max,
            range: band.range(&moments),
            mean: moments.mean,
            count: moments.count,
            std: (moments.squares / moments.count as f64).max(0.0).sqrt(),
            valid_percent: 100.0 * moments.count as f64 / band.total.max(1) as f64,
            percentiles: places
                .iter()
                .map(|place| interpolate_percentile(*place, last, &ranks, &found))
                .collect(),
        }))
    }

    /// Histogram of the band at `position`: counts in `bins` equal bins from `low` to `high`, which
    /// belongs to the last bin. Values outside are not counted.
    ///
    /// # Errors
    /// As [`RasterCount::summary`].
    pub fn histogram(
        &self,
        position: usize,
        low: f64,
        high: f64,
        bins: usize,
        ctx: &JobContext,
    ) -> Result<Vec<u64>> {
        let bins = bins.max(1);
        let mut counts = vec![0; bins];
        let width = high - low;
        self.visit(position, ctx, |value, count| {
            if value >= low && value <= high {
                let bin = if width > 0.0 {
                    ((value - low) / width * bins as f64) as usize
                } else {
                    0
                };
                counts[bin.min(bins - 1)] += count;
            }
        })?;
        Ok(counts)
    }

    /// Count of each of `values` in the band at `position`.
    ///
    /// # Errors
    /// As [`RasterCount::summary`].
    pub fn classes(&self, position: usize, values: &[i64], ctx: &JobContext) -> Result<Vec<u64>> {
        let mut counts = vec![0; values.len()];
        self.visit(position, ctx, |value, count| {
            if let Some(at) = values.iter().position(|class| *class as f64 == value) {
                counts[at] += count;
            }
        })?;
        Ok(counts)
    }

    /// Count of each distinct value of the band at `position`; `None` when a value is not an
    /// integer below 9e15 in magnitude, or there are more than `most`.
    ///
    /// # Errors
    /// As [`RasterCount::summary`].
    pub fn distinct(
        &self,
        position: usize,
        most: usize,
        ctx: &JobContext,
    ) -> Result<Option<BTreeMap<i64, u64>>> {
        let mut counts = BTreeMap::new();
        let mut fits = true;
        self.visit(position, ctx, |value, count| {
            if !fits {
                return;
            }
            if value.fract() != 0.0 || value.abs() > 9e15 {
                fits = false;
            } else {
                *counts.entry(value as i64).or_insert(0) += count;
                fits = counts.len() <= most;
            }
        })?;
        Ok(fits.then_some(counts))
    }

    fn band(&self, position: usize) -> Result<&BandTally> {
        let count = self.bands.len();
        self.bands.get(position).ok_or_else(|| {
            Error::usage(format!(
                "there is no band {}; the raster has {count}",
                position + 1
            ))
        })
    }

    /// Calls `with(value, count)` for the values with data; counts of one value may come in several
    /// calls.
    fn visit(
        &self,
        position: usize,
        ctx: &JobContext,
        mut with: impl FnMut(f64, u64),
    ) -> Result<()> {
        match &self.band(position)?.data {
            Data::Counts(counts) => counts
                .iter()
                .for_each(|(value, count)| with(value as f64, count)),
            Data::Single(values) => values.iter().for_each(|value| with(f64::from(*value), 1)),
            Data::Double(values) => values.iter().for_each(|value| with(*value, 1)),
            Data::Large(_) => {
                let lease = pool::lease(&self.source)?;
                scan(
                    &lease,
                    self.source.asset(),
                    &[position],
                    ctx,
                    &mut |_, chunk| chunk.for_each_valid(&mut |value| with(value, 1)),
                )?;
            }
        }
        Ok(())
    }

    /// The values at these ascending 0-based ranks of the sorted values.
    fn at_ranks(&self, position: usize, ranks: &[u64], ctx: &JobContext) -> Result<Vec<f64>> {
        match &self.band(position)?.data {
            _ if ranks.is_empty() => Ok(Vec::new()),
            Data::Counts(counts) => Ok(counts.at_ranks(ranks)),
            Data::Single(values) => Ok(select(values.clone(), ranks, f32::total_cmp)
                .into_iter()
                .map(f64::from)
                .collect()),
            Data::Double(values) => Ok(select(values.clone(), ranks, f64::total_cmp)),
            Data::Large(_) => self.select_by_reading(position, ranks, ctx),
        }
    }

    /// Radix selection on order-preserving keys: each of four passes over the file fixes 16 bits of
    /// every rank's key.
    fn select_by_reading(
        &self,
        position: usize,
        ranks: &[u64],
        ctx: &JobContext,
    ) -> Result<Vec<f64>> {
        // `(key prefix, rank among the values with that prefix)`.
        let mut wanted: Vec<(u64, u64)> = ranks.iter().map(|rank| (0, *rank)).collect();
        for shift in [48u32, 32, 16, 0] {
            let mut beginnings: Vec<u64> = wanted.iter().map(|(known, _)| *known).collect();
            beginnings.sort_unstable();
            beginnings.dedup();
            let mut counts = vec![vec![0u64; 1 << 16]; beginnings.len()];
            self.visit(position, ctx, |value, count| {
                let key = key_of(value);
                let beginning = if shift == 48 { 0 } else { key >> (shift + 16) };
                if let Ok(at) = beginnings.binary_search(&beginning) {
                    counts[at][(key >> shift) as usize & 0xFFFF] += count;
                }
            })?;
            for (known, rank) in &mut wanted {
                let Ok(at) = beginnings.binary_search(known) else {
                    continue;
                };
                let mut digit = 0;
                while digit < 0xFFFF && *rank >= counts[at][digit] {
                    *rank -= counts[at][digit];
                    digit += 1;
                }
                *known = (*known << 16) | digit as u64;
            }
        }
        Ok(wanted.into_iter().map(|(key, _)| value_of(key)).collect())
    }
}

fn find_value_of_rank(rank: u64, ranks: &[u64], found: &[f64]) -> f64 {
    ranks
        .binary_search(&rank)
        .ok()
        .and_then(|at| found.get(at))
        .copied()
        .unwrap_or(f64::NAN)
}

fn interpolate_percentile(place: f64, last: u64, ranks: &[u64], found: &[f64]) -> f64 {
    let below = find_value_of_rank(place as u64, ranks, found);
    let above = find_value_of_rank((place as u64 + 1).min(last), ranks, found);
    below + (above - below) * place.fract()
}

/// Order-preserving unsigned key of a number.
fn key_of(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn value_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 {
        key & !(1 << 63)
    } else {
        !key
    })
}

fn select<T: Copy>(
    mut values: Vec<T>,
    ranks: &[u64],
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    let mut found = Vec::with_capacity(ranks.len());
    let mut start = 0;
    for &rank in ranks {
        let rank = rank as usize;
        // Elements before the previous rank are already smaller.
        if let Some(rest) = values.get_mut(start..)
            && rank >= start
            && rank - start < rest.len()
        {
            found.push(*rest.select_nth_unstable_by(rank - start, &order).1);
            start = rank;
        }
    }
    found
}

/// Count, minimum, maximum, mean, and sum of squared deviations from the mean.
#[derive(Clone, Copy)]
struct RasterMoments {
    count: u64,
    min: f64,
    max: f64,
    mean: f64,
    squares: f64,
}

impl Default for RasterMoments {
    fn default() -> Self {
        Self {
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }
}

impl RasterMoments {
    /// Two-pass moments of values in memory, which avoids cancellation.
    fn from_values(each: impl Fn(&mut dyn FnMut(f64))) -> Self {
        let mut all = Self::default();
        let mut sum = 0.0;
        each(&mut |value| {
            all.count += 1;
            all.min = all.min.min(value);
            all.max = all.max.max(value);
            sum += value;
        });
        if all.count > 0 {
            let mean = sum / all.count as f64;
            let mut off = 0.0;
            each(&mut |value| {
                all.squares += (value - mean) * (value - mean);
                off += value - mean;
            });
            // Corrects the rounding error of the sum.
            all.mean = mean + off / all.count as f64;
        }
        all
    }

    fn join(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.mean += apart * others / (own + others);
        self.squares += other.squares + apart * apart * own * others / (own + others);
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl BandTally {
    fn range(&self, moments: &RasterMoments) -> [PixelNumber; 2] {
        match self.long_range {
            Some(range) => range.map(PixelNumber::Integer),
            None => [moments.min, moments.max]
                .map(|value| PixelNumber::from_band_value(value, self.is_integer)),
        }
    }

    fn add(&mut self, chunk: &PixelChunk) {
        chunk.each_long(&mut |value| {
            let [low, high] = self.long_range.unwrap_or([value; 2]);
            self.long_range = Some([low.min(value), high.max(value)]);
        });
        match (&mut self.data, chunk.values) {
            (Data::Counts(counts), PixelValues::U8(values)) => counts.add(values, chunk.mask),
            (Data::Counts(counts), PixelValues::U16(values)) => counts.add(values, chunk.mask),
            (Data::Counts(counts), PixelValues::I16(values)) => counts.add(values, chunk.mask),
            (Data::Single(kept), _) => chunk.for_each_valid(&mut |value| kept.push(value as f32)),
            (Data::Double(kept), _) => chunk.for_each_valid(&mut |value| kept.push(value)),
            (Data::Large(moments), _) => moments.join(RasterMoments::from_values(|with| {
                chunk.for_each_valid(with)
            })),
            (Data::Counts(_), _) => {}
        }
    }

    fn moments(&self) -> RasterMoments {
        match &self.data {
            Data::Large(moments) => *moments,
            Data::Single(values) => RasterMoments::from_values(|with| {
                values.iter().for_each(|value| with(f64::from(*value)))
            }),
            Data::Double(values) => {
                RasterMoments::from_values(|with| values.iter().for_each(|value| with(*value)))
            }
            Data::Counts(counts) => {
                let Sums {
                    count,
                    min,
                    max,
                    mean,
                    squares,
                } = counts.sums();
                RasterMoments {
                    count,
                    min,
                    max,
                    mean,
                    squares,
                }
            }
        }
    }
}

fn check(info: &RasterInfo, source: &RasterSource) -> Result<()> {
    let asset = source.asset();
    let wrong = |summary: String| Error::unsupported(summary).at_place(asset);
    if info.band_count == 0 {
        return Err(info.without_bands(asset));
    }
    if info.band_count > info.bands.len() {
        return Err(wrong(format!(
            "{} bands are too many to take statistics of",
            info.band_count
        )));
    }
    for band in &info.bands {
        if band.is_complex() {
            return Err(wrong(format!(
                "band {} holds complex numbers, which have no order",
                band.index
            )));
        }
    }
    budget::check_blocks(info, info.bands.iter().map(|band| band.index), source)?;
    budget::check_whole(info, source)
}

/// True when nodata is marked by value only, not by a mask band or alpha.
fn by_value(opened: &PooledDataset, band: &BandInfo) -> bool {
    let flags = opened
        .dataset
        .rasterband(band.index.get())
        .and_then(|band| band.mask_flags());
    flags.is_ok_and(|flags| flags.is_nodata() && !flags.is_per_dataset())
}

#[cfg(test)]
#[path = "tests/statistics.rs"]
mod tests;
