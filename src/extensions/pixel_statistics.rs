//! Statistics computed from pixels, for samples whose metadata has none or is not trusted. Reads
//! every pixel once, several samples in parallel, in bounded memory.

use super::pooled_statistics::{BandMoments, ONE_KIND, Pooled, PooledReport, merge};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::raster::{self, BandSummary, RasterSource};

/// Mean, standard deviation, minimum and maximum of each band over all valid pixels of the given
/// (path, raster) pairs. A raster that cannot be read is a warning and counts as a sample without
/// statistics.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid), with two samples, when numbers of bands differ,
/// or when no raster can be read.
pub fn exact(samples: &[(String, RasterSource)], ctx: &JobContext) -> Result<PooledReport> {
    ctx.stage(tr!("Reading pixels"), Some(samples.len() as u64));
    let read: Vec<Option<Vec<Option<BandMoments>>>> = try_map(samples, |_, (name, source)| {
        let bands = moments_of(source, ctx);
        ctx.step(1);
        match bands {
            Ok(bands) => Ok(Some(bands)),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => {
                ctx.warn(format!("{name}: {error}"));
                Ok(None)
            }
        }
    })?;
    let mut all: Option<(usize, Vec<Option<BandMoments>>)> = None;
    let mut counted = 0;
    for (index, bands) in read.iter().enumerate() {
        let Some(bands) = bands else { continue };
        counted += 1;
        match &mut all {
            None => all = Some((index, bands.clone())),
            Some((first, sum)) => {
                if sum.len() != bands.len() {
                    let (one, other) = (&samples[*first].0, &samples[index].0);
                    let summary = format!(
                        "{one} has {} bands and {other} has {}",
                        sum.len(),
                        bands.len()
                    );
                    return Err(Error::invalid(summary).hint(ONE_KIND));
                }
                for (sum, band) in sum.iter_mut().zip(bands) {
                    *sum = merge_moments(*sum, *band);
                }
            }
        }
    }
    let Some((_, bands)) = all else {
        return Err(Error::invalid(
            "no sample of the selection is a raster that can be read",
        ));
    };
    let without = samples.len() as u64 - counted;
    Ok(PooledReport {
        samples: counted,
        without,
        not_finite: 0,
        weighted: true,
        pooled: Pooled::Continuous { bands },
    })
}

fn merge_moments(a: Option<BandMoments>, b: Option<BandMoments>) -> Option<BandMoments> {
    match (a, b) {
        (Some(a), Some(b)) => Some(merge(a, b)),
        (a, b) => a.or(b),
    }
}

fn moments_of(source: &RasterSource, ctx: &JobContext) -> Result<Vec<Option<BandMoments>>> {
    let tally = raster::tally(source, ctx)?;
    tally
        .info()
        .warn_of_variable(&source.asset().to_string(), ctx);
    let mut bands = Vec::with_capacity(tally.band_count());
    for position in 0..tally.band_count() {
        let summary = tally.summary(position, &[], ctx)?;
        bands.push(summary.as_ref().map(read_moments));
    }
    Ok(bands)
}

fn read_moments(band: &BandSummary) -> BandMoments {
    let [min, max] = band.range;
    BandMoments {
        min,
        max,
        mean: band.mean,
        std: band.std,
        count: band.count as f64,
    }
}
