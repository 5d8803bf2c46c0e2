//! Statistics of pixels themselves, when those in the metadata are not trusted or not there. Reads every pixel once, in strips of
//! bounded size, samples in parallel.

use rayon::prelude::*;

use super::pooled::{Moments, Pooled, PooledReport, merge};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;
use crate::raster::{self, BandPixels, ReadRequest, Resampling, Window};

/// Pixels of one strip, over all its bands.
const STRIP_PIXELS: usize = 8 << 20;

/// Mean, standard deviation, smallest and largest value of each band over all valid pixels of the named rasters. A raster that can't
/// be read is a warning and counts as one without statistics; different numbers of bands are an error that names two samples.
pub fn exact(samples: &[(String, AssetPath)], ctx: &JobContext) -> Result<PooledReport> {
    ctx.stage("Reading pixels", Some(samples.len() as u64));
    let read: Vec<Option<Vec<Option<Moments>>>> = samples
        .par_iter()
        .map(|(name, asset)| {
            let bands = moments_of(asset, ctx);
            ctx.step(1);
            match bands {
                Ok(bands) => Ok(Some(bands)),
                Err(error) if error.is_cancelled() => Err(error),
                Err(error) => {
                    ctx.warn(format!("{name}: {error}"));
                    Ok(None)
                }
            }
        })
        .collect::<Result<_>>()?;
    let mut all: Option<(usize, Vec<Option<Moments>>)> = None;
    let mut counted = 0;
    for (index, bands) in read.iter().enumerate() {
        let Some(bands) = bands else { continue };
        counted += 1;
        match &mut all {
            None => all = Some((index, bands.clone())),
            Some((first, sum)) => {
                if sum.len() != bands.len() {
                    let (one, other) = (&samples[*first].0, &samples[index].0);
                    let summary = format!("{one} has {} bands and {other} has {}", sum.len(), bands.len());
                    return Err(Error::invalid(summary).hint("select samples of one kind, for example with --positions"));
                }
                for (sum, band) in sum.iter_mut().zip(bands) {
                    *sum = both(*sum, *band);
                }
            }
        }
    }
    let Some((_, bands)) = all else {
        return Err(Error::invalid("no sample of the selection is a raster that can be read"));
    };
    let without = samples.len() as u64 - counted;
    Ok(PooledReport { samples: counted, without, weighted: true, pooled: Pooled::Continuous { bands } })
}

fn both(a: Option<Moments>, b: Option<Moments>) -> Option<Moments> {
    match (a, b) {
        (Some(a), Some(b)) => Some(merge(a, b)),
        (a, b) => a.or(b),
    }
}

fn moments_of(asset: &AssetPath, ctx: &JobContext) -> Result<Vec<Option<Moments>>> {
    let info = raster::describe(asset)?;
    let bands: Vec<_> = info.bands.iter().map(|band| band.index).collect();
    if bands.is_empty() {
        return Err(Error::unsupported("this file has no bands").at(asset));
    }
    if bands.len() < info.band_count {
        return Err(Error::unsupported(format!("the raster has {} bands; {} are the most", info.band_count, bands.len())).at(asset));
    }
    let rows = (STRIP_PIXELS / (info.width.max(1) * bands.len())).max(1);
    // Whole blocks, so that none is decoded twice.
    let block = info.bands.first().map_or(1, |band| band.block.1.max(1));
    let rows = if rows > block { rows / block * block } else { rows };
    let mut sums = vec![None; bands.len()];
    for top in (0..info.height).step_by(rows) {
        ctx.check()?;
        let height = rows.min(info.height - top);
        let window = Window { x: 0, y: top, width: info.width, height };
        let request = ReadRequest { window, out: (info.width, height), bands: bands.clone(), resampling: Resampling::Nearest };
        let pixels = raster::read_window(asset, &request, ctx)?;
        for (sum, band) in sums.iter_mut().zip(&pixels.bands) {
            *sum = both(*sum, strip(band));
        }
    }
    Ok(sums)
}

/// The mean first, then the squares about it: one pass would lose the digits of values far from 0.
fn strip(band: &BandPixels) -> Option<Moments> {
    let values =
        || (0..band.samples.len()).filter(|&at| band.is_valid(at)).map(|at| band.samples.get(at)).filter(|v| v.is_finite());
    let (mut count, mut sum, mut min, mut max) = (0u64, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for value in values() {
        count += 1;
        sum += value;
        min = value.min(min);
        max = value.max(max);
    }
    if count == 0 {
        return None;
    }
    let mean = sum / count as f64;
    let squares: f64 = values().map(|value| (value - mean) * (value - mean)).sum();
    Some(Moments { min, max, mean, std: (squares / count as f64).sqrt(), count: count as f64 })
}
