//! Checks of datasets, drafts and rasters, as the command line and the session ask for them.

use std::path::Path;

use crate::container::{self, OpenOptions};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Dataset, Report, Rule};
use crate::validate::{self, CheckOptions, ConsistencyOptions, HeaderCache};

/// Checks the dataset at `path`. With `rasters` every raster that is no TACO Optimized
/// GeoTIFF is a finding as well, and `path` may be a raster or a folder of rasters.
///
/// # Errors
/// Those of [`validate::path_with`] and [`check_rasters`].
pub fn check_dataset(path: &Path, open: &OpenOptions, options: &CheckOptions, rasters: bool, ctx: &JobContext) -> Result<Report> {
    if !rasters {
        return validate::path_with(path, open, options, ctx);
    }
    let mut report = match container::detect(path) {
        Ok(_) => validate::path_with(path, open, options, ctx)?,
        Err(_) => Report::default(),
    };
    // A deep check of a streamable dataset has looked already.
    report.findings.retain(|finding| finding.rule != Rule::TogForm);
    if !report.has(Rule::Unreadable) {
        report.findings.extend(check_rasters(path, open, ctx)?.findings);
        report.apply(&options.rules);
    }
    Ok(report)
}

/// Why the rasters of a dataset, those below a folder, or one raster are no TACO Optimized GeoTIFFs.
///
/// # Errors
/// When the dataset can't be opened, or GDAL can't tell.
pub fn check_rasters(path: &Path, open: &OpenOptions, ctx: &JobContext) -> Result<Report> {
    if container::detect(path).is_err() {
        return validate::togs_below(path, ctx);
    }
    let reader = container::open_with(path, open, ctx)?;
    let mut report = Report::default();
    validate::togs(reader.as_ref(), &mut report, ctx)?;
    report.fold();
    Ok(report)
}

/// Checks a draft and the files that its samples come from; a deep check compares the headers of the rasters by position. `pattern`
/// is the id of the root that the others are compared with.
///
/// # Errors
/// When the work is cancelled.
pub fn check_draft(dataset: &Dataset, pattern: Option<&str>, options: &CheckOptions, ctx: &JobContext) -> Result<Report> {
    let mut report = validate::dataset_beside(dataset, pattern, options.profile, ctx)?;
    report.findings.extend(validate::sources(dataset, ctx)?.findings);
    if options.deep {
        let comparison = ConsistencyOptions { without: options.rules.properties_off(), ..ConsistencyOptions::default() };
        let consistency = validate::consistency_of_draft(dataset, &comparison, &HeaderCache::of_drafts(), ctx)?;
        validate::report_consistency(consistency, &mut report);
        report.fold();
    }
    report.apply(&options.rules);
    Ok(report)
}
