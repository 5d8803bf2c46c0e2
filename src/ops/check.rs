//! Checks of datasets, drafts and rasters, as the command line and the session run them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor, visit_read_dataset};
use crate::container::{self, OpenOptions};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Dataset, Finding, Profile, Report, Rule, RuleSettings};
use crate::validate::{self, CheckOptions, ConsistencyOptions, HeaderCache};

/// Checks a dataset. Plain data.
///
/// # Errors
/// Those of [`validate::path_with`] and [`check_rasters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ValidateRequest {
    /// The dataset; with `tog` also a raster or a folder of rasters.
    pub input: PathBuf,
    /// How to open it.
    pub open: OpenOptions,
    /// Reads every byte, as [`CheckOptions::deep`] says.
    pub deep: bool,
    /// Every raster that is not a TACO Optimized GeoTIFF is a finding as well.
    pub tog: bool,
    /// The rules, where the specification and the tools differ.
    pub profile: Profile,
    /// Rules that are switched off, or have another severity.
    pub rules: RuleSettings,
}

impl Operation for ValidateRequest {
    type Output = Report;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        if self.deep {
            tr!("Check every byte").into()
        } else {
            tr!("Check the dataset").into()
        }
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
    }

    fn run(&self, ctx: &JobContext) -> Result<Report> {
        let options = CheckOptions {
            profile: self.profile,
            deep: self.deep,
            rules: self.rules.clone(),
        };
        check_dataset(&self.input, &self.open, &options, self.tog, ctx)
    }
}

impl OperationOutput for Report {
    fn to_json(&self) -> Json {
        let findings: Vec<Json> = self.findings.iter().map(Finding::json).collect();
        let mut json = json!({ "valid": self.is_valid(), "findings": findings });
        if let Some(consistency) = &self.consistency {
            json["consistency"] = consistency.json();
        }
        json
    }

    fn summary(&self) -> String {
        match (self.errors(), self.warnings()) {
            (0, 0) => tr!("The dataset is valid").into(),
            (0, warnings) => {
                tr_n!(
                    warnings,
                    "The dataset is valid, with {n} warning",
                    "The dataset is valid, with {n} warnings",
                    n = warnings
                )
            }
            (errors, warnings) => tr!("{errors} errors, {warnings} warnings", errors, warnings),
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }

    fn is_sound(&self) -> bool {
        self.is_valid()
    }
}

fn check_dataset(
    path: &Path,
    open: &OpenOptions,
    options: &CheckOptions,
    rasters: bool,
    ctx: &JobContext,
) -> Result<Report> {
    if !rasters {
        return validate::path_with(path, open, options, ctx);
    }
    let mut report = match container::detect(path) {
        Ok(_) => validate::path_with(path, open, options, ctx)?,
        Err(_) => Report::default(),
    };
    // A deep check of a streamable dataset has looked already.
    report
        .findings
        .retain(|finding| finding.rule != Rule::TogForm);
    if !report.has(Rule::Unreadable) {
        report
            .findings
            .extend(check_rasters(path, open, ctx)?.findings);
        report.apply(&options.rules);
    }
    Ok(report)
}

/// Why the rasters of a dataset, those below a folder, or one raster are no TACO Optimized
/// GeoTIFFs.
///
/// # Errors
/// When the dataset can't be opened, or GDAL can't check it.
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

/// Checks a draft and the files that its samples come from; a deep check compares the headers of
/// the rasters by position. `pattern` is the id of the root that the others are compared with.
/// Headers that the cache has are not read again.
///
/// # Errors
/// When the work is cancelled.
pub fn check_draft(
    dataset: &Dataset,
    pattern: Option<&str>,
    options: &CheckOptions,
    headers: &HeaderCache,
    ctx: &JobContext,
) -> Result<Report> {
    let mut report = validate::dataset_with(dataset, pattern, options.profile, ctx)?;
    report
        .findings
        .extend(validate::sources(dataset, headers, ctx)?.findings);
    if options.deep {
        let comparison = ConsistencyOptions {
            skipped_properties: options.rules.properties_off(),
            ..ConsistencyOptions::default()
        };
        let consistency = validate::consistency_of_draft(dataset, &comparison, headers, ctx)?;
        validate::report_consistency(consistency, &mut report);
        report.fold();
    }
    report.apply(&options.rules);
    Ok(report)
}
