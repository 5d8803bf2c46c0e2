//! The distribution of every band's values from one reading of all pixels: exact, block by block, with bounded memory. Never
//! asks GDAL for its own statistics, which are approximate and leave `.aux.xml` files beside the inputs.
//!
//! Integers of 8 and 16 bits are counted value by value. Others are kept where they fit in 256 MiB; of larger rasters only the
//! moments are, and percentiles come from reading the file again, sixteen bits of rank at a time.

use std::collections::BTreeMap;

use super::pool::{self, Opened};
use super::scan::{Chunk, Stored, Values, scan};
use super::value_counts::{Counts, Sums};
use super::{BandInfo, RasterInfo, RasterSource, budget};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Values kept in memory for one raster.
const KEPT_BYTES: u64 = 256 << 20;
/// The same for a raster with far fewer bytes than values.
const SPARSE_KEPT_BYTES: u64 = 64 << 20;

/// The distribution of every band of one raster.
pub struct Tally {
    source: RasterSource,
    bands: Vec<BandTally>,
}

struct BandTally {
    total: u64,
    data: Data,
}

enum Data {
    /// How often each value occurs.
    Counts(Counts),
    /// Every value with data.
    Single(Vec<f32>),
    /// Every value with data.
    Double(Vec<f64>),
    /// Too many to keep.
    Large(Moments),
}

/// What describes one band. Standard deviation is that of the whole population; percentiles lie on the straight line between
/// the two values nearest to them.
#[derive(Clone, Debug, PartialEq)]
pub struct BandSummary {
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
    /// Pixels with data.
    pub count: u64,
    /// The same in percent of all pixels, 0 to 100.
    pub valid_percent: f64,
    /// In the order asked for.
    pub percentiles: Vec<f64>,
}

/// Reads every pixel of every band once. Missing data, NaN and infinities do not count. 64-bit integers above 2^53 are rounded.
pub fn tally(source: &RasterSource, ctx: &JobContext) -> Result<Tally> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = lease.info.clone();
    check(&info, source)?;
    let pixels = (info.width as u64).saturating_mul(info.height as u64);
    let kept: u64 = info.bands.iter().map(|band| pixels.saturating_mul(Stored::of(band).kept_bytes())).fold(0, u64::saturating_add);
    let large = kept > if budget::is_sparse(&info) { SPARSE_KEPT_BYTES } else { KEPT_BYTES };
    let mut bands: Vec<BandTally> = info
        .bands
        .iter()
        .map(|band| {
            let data = match Stored::of(band) {
                Stored::U8 => Data::Counts(Counts::of::<u8>()),
                Stored::U16 => Data::Counts(Counts::of::<u16>()),
                Stored::I16 => Data::Counts(Counts::of::<i16>()),
                _ if large => Data::Large(Moments::default()),
                Stored::F32 => Data::Single(Vec::with_capacity(pixels as usize)),
                Stored::F64 => Data::Double(Vec::with_capacity(pixels as usize)),
            };
            BandTally { total: pixels, data }
        })
        .collect();
    let every: Vec<usize> = (0..bands.len()).collect();
    scan(&lease, asset, &every, ctx, &mut |position, chunk| bands[position].add(chunk))?;
    for (band, info) in bands.iter_mut().zip(&info.bands) {
        // Cheaper than to look at every pixel.
        if let (Data::Counts(counts), Some(nodata)) = (&mut band.data, info.nodata)
            && by_value(&lease, info)
            && nodata.fract() == 0.0
        {
            counts.forget(nodata as i64);
        }
    }
    Ok(Tally { source: source.clone(), bands })
}

/// Reads every pixel and does nothing with it: what reading alone costs.
pub fn read_through(source: &RasterSource, ctx: &JobContext) -> Result<()> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    check(&lease.info, source)?;
    let every: Vec<usize> = (0..lease.info.bands.len()).collect();
    scan(&lease, asset, &every, ctx, &mut |_, _| {})
}

impl Tally {
    /// Bands.
    pub fn band_count(&self) -> usize {
        self.bands.len()
    }

    /// What describes the band at `position` (from 0), with percentiles from 0 to 100; `None` when no pixel has data.
    pub fn summary(&self, position: usize, percents: &[f64], ctx: &JobContext) -> Result<Option<BandSummary>> {
        let band = self.band(position)?;
        let moments = band.moments();
        if moments.count == 0 {
            return Ok(None);
        }
        let last = moments.count - 1;
        let places: Vec<f64> = percents.iter().map(|percent| percent.clamp(0.0, 100.0) / 100.0 * last as f64).collect();
        let mut ranks: Vec<u64> = places.iter().flat_map(|place| [*place as u64, (*place as u64 + 1).min(last)]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let found = self.at_ranks(position, &ranks, ctx)?;
        let value = |rank: u64| ranks.binary_search(&rank).ok().and_then(|at| found.get(at)).copied().unwrap_or(f64::NAN);
        let percentile = |place: &f64| {
            let (below, above) = (value(*place as u64), value((*place as u64 + 1).min(last)));
            below + (above - below) * place.fract()
        };
        Ok(Some(BandSummary {
            min: moments.min,
            max: moments.max,
            mean: moments.mean,
            count: moments.count,
            std: (moments.squares / moments.count as f64).max(0.0).sqrt(),
            valid_percent: 100.0 * moments.count as f64 / band.total.max(1) as f64,
            percentiles: places.iter().map(percentile).collect(),
        }))
    }

    /// How many values of the band at `position` lie in each of `bins` equal bins from `low` to `high`; `high` itself counts
    /// to the last. Values outside are left out.
    pub fn histogram(&self, position: usize, low: f64, high: f64, bins: usize, ctx: &JobContext) -> Result<Vec<u64>> {
        let bins = bins.max(1);
        let mut counts = vec![0; bins];
        let width = high - low;
        self.visit(position, ctx, |value, count| {
            if value >= low && value <= high {
                let bin = if width > 0.0 { ((value - low) / width * bins as f64) as usize } else { 0 };
                counts[bin.min(bins - 1)] += count;
            }
        })?;
        Ok(counts)
    }

    /// How often each of `values` occurs in the band at `position`.
    pub fn classes(&self, position: usize, values: &[i64], ctx: &JobContext) -> Result<Vec<u64>> {
        let mut counts = vec![0; values.len()];
        self.visit(position, ctx, |value, count| {
            if let Some(at) = values.iter().position(|class| *class as f64 == value) {
                counts[at] += count;
            }
        })?;
        Ok(counts)
    }

    /// Every whole number that occurs in the band at `position` and how often; `None` when there are others, or more than `most`.
    pub fn distinct(&self, position: usize, most: usize, ctx: &JobContext) -> Result<Option<BTreeMap<i64, u64>>> {
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
        self.bands.get(position).ok_or_else(|| Error::usage(format!("there is no band {}; the raster has {count}", position + 1)))
    }

    /// Calls `with` for the values with data and how often each occurs.
    fn visit(&self, position: usize, ctx: &JobContext, mut with: impl FnMut(f64, u64)) -> Result<()> {
        match &self.band(position)?.data {
            Data::Counts(counts) => counts.iter().for_each(|(value, count)| with(value as f64, count)),
            Data::Single(values) => values.iter().for_each(|value| with(f64::from(*value), 1)),
            Data::Double(values) => values.iter().for_each(|value| with(*value, 1)),
            Data::Large(_) => {
                let lease = pool::lease(&self.source)?;
                scan(&lease, self.source.asset(), &[position], ctx, &mut |_, chunk| chunk.each(&mut |value| with(value, 1)))?;
            }
        }
        Ok(())
    }

    /// The values at these ranks (from 0, ascending) of the sorted values.
    fn at_ranks(&self, position: usize, ranks: &[u64], ctx: &JobContext) -> Result<Vec<f64>> {
        match &self.band(position)?.data {
            _ if ranks.is_empty() => Ok(Vec::new()),
            Data::Counts(counts) => Ok(counts.at_ranks(ranks)),
            Data::Single(values) => Ok(select(values.clone(), ranks, f32::total_cmp).into_iter().map(f64::from).collect()),
            Data::Double(values) => Ok(select(values.clone(), ranks, f64::total_cmp)),
            Data::Large(_) => self.select_by_reading(position, ranks, ctx),
        }
    }

    /// Radix selection on keys that sort as the values do: each reading settles sixteen bits of every rank's value.
    fn select_by_reading(&self, position: usize, ranks: &[u64], ctx: &JobContext) -> Result<Vec<f64>> {
        // The bits known so far, and the rank among the values that begin so.
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
                let Ok(at) = beginnings.binary_search(known) else { continue };
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

/// Unsigned keys in the order of the numbers.
fn key_of(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn value_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

fn select<T: Copy>(mut values: Vec<T>, ranks: &[u64], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<T> {
    let mut found = Vec::with_capacity(ranks.len());
    let mut start = 0;
    for &rank in ranks {
        let rank = rank as usize;
        // What lies left of an earlier rank is smaller already.
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

/// Count, range, mean, and the sum of squares of the distances from it.
#[derive(Clone, Copy)]
struct Moments {
    count: u64,
    min: f64,
    max: f64,
    mean: f64,
    squares: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 }
    }
}

impl Moments {
    /// Of values that lie in memory, in two steps, so that nothing cancels out.
    fn of(each: impl Fn(&mut dyn FnMut(f64))) -> Self {
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
            // What rounding left of the sum.
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
    fn add(&mut self, chunk: &Chunk) {
        match (&mut self.data, chunk.values) {
            (Data::Counts(counts), Values::U8(values)) => counts.add(values, chunk.mask),
            (Data::Counts(counts), Values::U16(values)) => counts.add(values, chunk.mask),
            (Data::Counts(counts), Values::I16(values)) => counts.add(values, chunk.mask),
            (Data::Single(kept), _) => chunk.each(&mut |value| kept.push(value as f32)),
            (Data::Double(kept), _) => chunk.each(&mut |value| kept.push(value)),
            (Data::Large(moments), _) => moments.join(Moments::of(|with| chunk.each(with))),
            (Data::Counts(_), _) => {}
        }
    }

    fn moments(&self) -> Moments {
        match &self.data {
            Data::Large(moments) => *moments,
            Data::Single(values) => Moments::of(|with| values.iter().for_each(|value| with(f64::from(*value)))),
            Data::Double(values) => Moments::of(|with| values.iter().for_each(|value| with(*value))),
            Data::Counts(counts) => {
                let Sums { count, min, max, mean, squares } = counts.sums();
                Moments { count, min, max, mean, squares }
            }
        }
    }
}

fn check(info: &RasterInfo, source: &RasterSource) -> Result<()> {
    let asset = source.asset();
    let wrong = |summary: String| Error::unsupported(summary).at(asset);
    if info.band_count == 0 {
        return Err(wrong("this file has no bands".into()));
    }
    if info.band_count > info.bands.len() {
        return Err(wrong(format!("{} bands are too many to take statistics of", info.band_count)));
    }
    for band in &info.bands {
        if band.is_complex() {
            return Err(wrong(format!("band {} holds complex numbers, which have no order", band.index)));
        }
    }
    budget::check_blocks(info, info.bands.iter().map(|band| band.index), source)?;
    budget::check_whole(info, source)
}

/// Whether missing data is told by the value alone.
fn by_value(opened: &Opened, band: &BandInfo) -> bool {
    let flags = opened.dataset.rasterband(band.index.get()).and_then(|band| band.mask_flags());
    flags.is_ok_and(|flags| flags.is_nodata() && !flags.is_per_dataset())
}

#[cfg(test)]
#[path = "tests/statistics.rs"]
mod tests;
