//! Datasets as files: a draft is checked and written.

use serde_json::{Map, Value as Json};

use super::own_sources::refuse_own_sources;
use super::verify::verify_members;
use crate::container::{self, Assembly, BuildOptions, Built, DatasetVersion, outputs_of};
use crate::error::{Cause, Error, Result};
use crate::jobs::{JobContext, release};
use crate::model::{Dataset, Finding, Report, Rule, Severity};
use crate::validate::{self, HeaderCache};

/// Checks a draft and writes it.
///
/// # Errors
/// For rules that the draft breaks, the first of them as hints; a target that a sample is read
/// from; and files that can't be read or written. Then nothing is written.
pub fn checked_build(dataset: &Dataset, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    let (assembly, _) = checked_assembly(dataset, options, None, ctx)?;
    container::write(&assembly, options, ctx)
}

/// [`checked_build`] with the headers of sources that were read before.
///
/// # Errors
/// Those of [`checked_build`].
pub fn checked_build_with(
    dataset: &Dataset,
    options: &BuildOptions,
    headers: &HeaderCache,
    ctx: &JobContext,
) -> Result<Built> {
    let (assembly, _) = checked_assembly(dataset, options, Some(headers), ctx)?;
    container::write(&assembly, options, ctx)
}

/// As [`checked_build`], for a draft with metadata of this version of a dataset.
///
/// # Errors
/// Those of [`checked_build`]; [`crate::error::Kind::Changed`] when the dataset was replaced or
/// changed meanwhile.
pub(super) fn checked_build_of(
    dataset: Dataset,
    version: &DatasetVersion,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Built> {
    let (assembly, _) =
        checked_assembly(&dataset, options, None, ctx).map_err(|error| version.explain(error))?;
    // The assembly has all that is written of it.
    release(dataset);
    container::write(
        &Assembly {
            version: version.clone(),
            ..assembly
        },
        options,
        ctx,
    )
}

/// As [`checked_build`], and warns of what the check found besides.
///
/// # Errors
/// Those of [`checked_build`].
pub(super) fn build_with_warnings(
    dataset: Dataset,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Built> {
    let (assembly, report) = checked_assembly(&dataset, options, None, ctx)?;
    // The assembly has all that is written of it.
    release(dataset);
    warn_of_findings(&report, ctx);
    write_verified(&assembly, options, ctx)
}

/// Writes a dataset, and opens its members again: see [`verify_members`].
///
/// # Errors
/// Those of [`container::write`], and those of opening what was written.
pub(super) fn write_verified(
    assembly: &Assembly,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Built> {
    let built = container::write(assembly, options, ctx)?;
    let unlike_source = verify_members(assembly, &built, ctx)?;
    Ok(Built {
        unlike_source,
        ..built
    })
}

/// Checks a draft and arranges it for the writers, with its extent. Returns the findings of the
/// check, which has no errors, too. `headers` has those of sources that were read before.
///
/// # Errors
/// Those of [`checked_build`] that are known before anything is written.
pub(super) fn checked_assembly(
    dataset: &Dataset,
    options: &BuildOptions,
    headers: Option<&HeaderCache>,
    ctx: &JobContext,
) -> Result<(Assembly, Report)> {
    ctx.stage(tr!("Checking"), None);
    container::expect_containers(dataset)?;
    if !options.target.exists()
        && let Some(around) = container::dataset_around(&options.target)
    {
        ctx.warn(format!(
            "the output is inside the dataset {}, whose readers may take it for a part of it",
            around.display()
        ));
    }
    let mut report = validate::dataset(dataset, ctx)?;
    // Without a cache nothing reads the headers again, and a million take a hundred megabytes.
    let sources = match headers {
        Some(headers) => validate::sources(dataset, headers, ctx)?,
        None => validate::sources(dataset, &HeaderCache::default(), ctx)?,
    };
    warn_of_sources(&sources, ctx);
    report.findings.extend(sources.findings);
    refuse_invalid(&report)?;
    warn_of_classes(&dataset.collection.fields, ctx);
    let mut assembly = Assembly::of_dataset(dataset, ctx)?;
    refuse_own_sources(dataset, &outputs_of(&assembly, options, ctx)?)?;
    assembly.update_extent(ctx)?;
    Ok((assembly, report))
}

/// Refuses a dataset whose report has errors, with the first of them as hints.
///
/// # Errors
/// [`crate::error::Kind::Invalid`].
pub(super) fn refuse_invalid(report: &Report) -> Result<()> {
    if report.is_valid() {
        return Ok(());
    }
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let mut error = Error::invalid(format!(
        "the dataset breaks {} rules, so readers would refuse it",
        errors.len()
    ));
    for finding in errors.iter().take(5) {
        error = error.hint(format!(
            "{} at {}: {}",
            finding.rule, finding.at, finding.message
        ));
    }
    if errors
        .iter()
        .any(|finding| matches!(finding.rule, Rule::PitRoots | Rule::PitMixed))
    {
        error = error.caused_by(Cause::StructuresDiffer);
    }
    if errors
        .iter()
        .any(|finding| finding.rule == Rule::FileNeedsOthers)
    {
        error = error.hint(
            "make one file of each raster or vector layer of several files: `create --sidecars \
                burn-in`, or Sidecars of rasters in the window",
        );
    }
    Err(error)
}

/// Refuses a collection that breaks a rule at a place where the old one, of which `before` is the
/// report, does not.
pub(super) fn refuse_new_errors(before: &Report, after: Report) -> Result<()> {
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    let known: Vec<&Finding> = before.findings.iter().filter(|old| is_error(old)).collect();
    let same = |a: &Finding, b: &Finding| a.rule == b.rule && a.at == b.at;
    let is_new = |found: &Finding| !known.iter().any(|old| same(old, found));
    let mut findings = after.findings.into_iter();
    let Some(found) = findings.find(|found| is_error(found) && is_new(found)) else {
        return Ok(());
    };
    let error = Error::invalid(format!(
        "the new collection would break the rule {}",
        found.rule
    ))
    .at_place(&found.at);
    Err(error.hint(found.message))
}

/// Checks the files behind a draft for a generation that has no other check: refuses what can't be
/// read alone, and warns of rasters that can't be opened and of sidecars that stay behind.
///
/// # Errors
/// [`crate::error::Kind::Invalid`] for a file that can't be read alone, and cancellation.
pub(super) fn refuse_multi_file_formats(dataset: &Dataset, ctx: &JobContext) -> Result<()> {
    let mut sources = validate::sources(dataset, &HeaderCache::default(), ctx)?;
    warn_of_sources(&sources, ctx);
    warn_of_findings(&sources, ctx);
    sources
        .findings
        .retain(|finding| finding.rule == Rule::FileNeedsOthers);
    refuse_invalid(&sources)
}

/// Warns of rasters that can't be opened and of sidecars that stay behind.
fn warn_of_sources(report: &Report, ctx: &JobContext) {
    /// Findings of a rule that are named.
    const MAX_NAMES: usize = 5;
    for rule in [Rule::RasterRead, Rule::SidecarLeft] {
        let own: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .collect();
        own.iter()
            .take(MAX_NAMES)
            .for_each(|finding| ctx.warn(format!("{}: {}", finding.at, finding.message)));
        let rest = report.count(rule).saturating_sub(MAX_NAMES);
        if rest > 0 {
            ctx.warn(format!("{rule}: {rest} more"));
        }
    }
}

/// Warns once of each rule of which the report has warnings: the first of them, and the number of
/// the others. Those of the sources and of the labels have warnings of their own.
pub(super) fn warn_of_findings(report: &Report, ctx: &JobContext) {
    let mut rules: Vec<Rule> = Vec::new();
    for finding in report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning && !has_own_warning(finding.rule))
    {
        if rules.contains(&finding.rule) {
            continue;
        }
        rules.push(finding.rule);
        let more = match report.count(finding.rule).saturating_sub(1) {
            0 => String::new(),
            more => format!(" ({more} more of {})", finding.rule),
        };
        ctx.warn(format!(
            "{} at {}: {}{more}",
            finding.rule, finding.at, finding.message
        ));
    }
}

fn has_own_warning(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::RasterRead | Rule::SidecarLeft | Rule::ClassCategory | Rule::ClassName
    )
}

/// Warns of classes of the labels that share a category or a name. Called by everything that writes
/// a collection.
pub(super) fn warn_of_classes(fields: &Map<String, Json>, ctx: &JobContext) {
    let mut report = Report::default();
    validate::check_labels(fields, &mut report);
    report
        .findings
        .iter()
        .for_each(|finding| ctx.warn(format!("{}: {}", finding.at, finding.message)));
}
