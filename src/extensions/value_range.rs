//! The lowest and highest value of the rasters that calls target: the range for bins that are the
//! same for every sample.

use rayon::prelude::*;

use super::runner::views_of;
use super::{ExtensionCall, SampleView};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::Dataset;

/// Lowest and highest value with data over the targeted rasters; `bands` count from 1, none means
/// all. Reads every pixel. Rasters that can't be read are left out with a warning, as are values
/// that are not finite. `None` when no pixel has data.
///
/// # Errors
/// When the job is cancelled.
pub fn value_range(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    bands: &[usize],
    ctx: &JobContext,
) -> Result<Option<(f64, f64)>> {
    let views: Vec<_> = calls
        .iter()
        .flat_map(|call| views_of(dataset, call))
        .collect();
    ctx.stage(
        tr!("Looking for the lowest and highest values"),
        Some(views.len() as u64),
    );
    let found: Vec<Option<(f64, f64)>> = views
        .into_par_iter()
        .map(|view| {
            ctx.check()?;
            // The view is dropped with the pixels that it holds.
            let range = match compute_range_of_bands(&view, bands, ctx) {
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => {
                    ctx.warn(format!("{}: {error}", view.path()));
                    None
                }
                Ok(range) => range,
            };
            ctx.step(1);
            Ok(range)
        })
        .collect::<Result<_>>()?;
    Ok(found.into_iter().fold(None, join_ranges))
}

/// The range over the chosen bands of one raster; all without `bands`.
fn compute_range_of_bands(
    view: &SampleView<'_>,
    bands: &[usize],
    ctx: &JobContext,
) -> Result<Option<(f64, f64)>> {
    let tally = view.tally(ctx)?;
    let mut range: Option<(f64, f64)> = None;
    let chosen =
        (0..tally.band_count()).filter(|band| bands.is_empty() || bands.contains(&(band + 1)));
    for band in chosen {
        let Some(summary) = tally.summary(band, &[], ctx)? else {
            continue;
        };
        range = join_ranges(range, Some((summary.min, summary.max)));
    }
    Ok(range)
}

/// The range that has both.
fn join_ranges(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let finite = |range: &(f64, f64)| range.0.is_finite() && range.1.is_finite();
    match (one, other.filter(finite)) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (range, None) => range,
        (None, range) => range,
    }
}
