//! Validation of drafts and opened datasets: returns all findings, each with rule, location and
//! message. An invalid dataset gives a report, not an error; errors are IO failures and
//! cancellation. Changes nothing.

mod collection;
mod columns;
mod consistency;
mod conventions;
mod crs_texts;
mod extent;
mod folder;
mod header_cache;
mod incremental;
mod joined;
mod labels;
mod levels;
mod local_meta;
mod multi_file_formats;
mod pit;
pub mod pixels;
mod readable;
mod readable_tree;
mod references;
mod sarif;
mod schema;
mod sources;
mod statistics;
mod table_statistics;
mod taco3;
mod taco_0_2;
mod tacocat;
mod togs;
mod tortilla;
mod transposed;
mod zip;

pub use collection::check_collection;
pub use consistency::{
    ConsistencyOptions, consistency_of_container, consistency_of_draft, report_consistency,
};
pub use header_cache::HeaderCache;
pub use incremental::LiveCheck;
pub use labels::check_labels;
pub use pit::check_tree;
pub use sarif::sarif;
pub use sources::sources;
pub use taco_0_2::check as check_taco_0_2;
pub use togs::{files_below, togs, togs_below};
pub use tortilla::classes;

use std::path::Path;

use crate::container::{self, ContainerReader, JoinedReader, OpenOptions, Physical};
use crate::error::{Cause, Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{
    Dataset, Finding, Location, Profile, RasterProperty, Report, Rule, RuleSettings, Skeleton,
    is_remote,
};
use crate::text::PrintableLine;
use readable_tree::read_tree;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOptions {
    /// The rules, where the specification and the tools differ.
    pub profile: Profile,
    /// Reads every member, compares its CRC-32 and every value in `__meta__`, compares statistics
    /// and locations with a sample of the rasters, and the headers of all rasters by position.
    pub deep: bool,
    /// Rules that are switched off, or have another severity.
    pub rules: RuleSettings,
}

/// Checks a draft with the profile of the tools, against the most frequent shape.
///
/// # Errors
/// When the job is cancelled.
pub fn dataset(dataset: &Dataset, ctx: &JobContext) -> Result<Report> {
    dataset_with(dataset, None, Profile::default(), ctx)
}

/// Checks a draft: ids, tree, schemas, collection. [`sources`] checks the files behind it. The root
/// of id `pattern`, if it exists, is what the others are compared with, instead of the most
/// frequent shape.
///
/// # Errors
/// When the job is cancelled.
pub fn dataset_with(
    dataset: &Dataset,
    pattern: Option<&str>,
    profile: Profile,
    ctx: &JobContext,
) -> Result<Report> {
    let mut report = Report::default();
    let tree = Skeleton::from_dataset(dataset);
    pit::check_ids(&tree, None, &mut report);
    pit::check_case(&tree, true, &mut report);
    ctx.check()?;
    let pattern_row = pattern.and_then(|id| {
        dataset
            .root
            .samples
            .iter()
            .position(|sample| *sample.id == *id)
    });
    pit::check_tree(&tree, pattern_row.map(|row| row as u32), &mut report);
    ctx.check()?;
    schema::check_draft(dataset, &tree, &mut report);
    ctx.check()?;
    conventions::check_draft(dataset, &mut report);
    collection::check_collection(&dataset.collection, &mut report);
    if tree.total() == 0 {
        report.add(
            Rule::PitRoots,
            Location::Dataset,
            tr!("The dataset has no samples. Drop files or folders to begin."),
        );
    }
    Ok(finish_report(report, profile, &RuleSettings::default()))
}

/// Checks the dataset at `path`, opened with `open`. A dataset that cannot be opened because of
/// invalid content gives a report with the reason.
///
/// # Errors
/// When `path` is no dataset, cannot be read, or has an unsupported format; or when the job is
/// cancelled.
pub fn path_with(
    path: &Path,
    open: &OpenOptions,
    options: &CheckOptions,
    ctx: &JobContext,
) -> Result<Report> {
    container::detect(path)?;
    match container::open_with(path, open, ctx) {
        Ok(reader) => container_with(reader.as_ref(), options, ctx),
        Err(error) if error.kind() == Kind::Format => {
            let mut report = Report::default();
            report.push(unreadable(&error));
            Ok(finish_report(report, options.profile, &options.rules))
        }
        Err(error) => Err(error),
    }
}

/// The name of the part that the error concerns.
fn damaged_part(error: &Error) -> Option<String> {
    let name = Path::new(error.place()?).file_name()?.to_str()?;
    container::part_name(name).map(|_| name.printable_line().to_string())
}

/// The finding of a dataset that can't be opened, for the reason `error`.
pub fn unreadable(error: &Error) -> Finding {
    let (rule, at) = match error.level() {
        Some(level) => (Rule::LevelReadable, Location::Level(level)),
        None if error.is_caused_by(Cause::ZipDirectory) => (Rule::ZipStructure, Location::Dataset),
        // With several files, the finding names the part.
        _ => (
            Rule::Unreadable,
            damaged_part(error).map_or(Location::Dataset, Location::Member),
        ),
    };
    Finding::new(rule, at, error.sentence())
}

/// Checks an opened dataset.
///
/// # Errors
/// On IO failures, or when the job is cancelled.
pub fn container_with(
    reader: &dyn ContainerReader,
    options: &CheckOptions,
    ctx: &JobContext,
) -> Result<Report> {
    let mut report = check_unfolded(reader, options, ctx)?;
    report.fold();
    Ok(report)
}

/// As [`container_with`], with the counts of findings that were not stored beside the findings, for
/// a report that takes them over.
fn check_unfolded(
    reader: &dyn ContainerReader,
    options: &CheckOptions,
    ctx: &JobContext,
) -> Result<Report> {
    // Each header is read once for all rules.
    let cache = HeaderCache::default();
    let explain = |error| reader.opening().version.explain(error);
    let mut report = check_container(reader, options.profile, options.deep, Some(&cache), ctx)
        .map_err(explain)?;
    if options.deep {
        let compared =
            check_consistency(reader, &options.rules, &cache, &mut report, ctx).map_err(explain);
        absorb(compared, &mut report)?;
    }
    // Findings about files of one version and tables of another are of no dataset. For a remote one
    // this takes requests.
    if options.deep || !is_remote(&reader.info().path) {
        reader.expect_unchanged()?;
    }
    report.keep(options.profile);
    report.apply(&options.rules);
    Ok(report)
}

/// As a deep check by [`container_with`], of a copy whose source had this report. In an archive,
/// what the bytes of the samples alone decide is not looked at again: its checksums are those of
/// the bytes that were read from the source, and all of them are compared here, as are levels,
/// members, statistics and places.
///
/// # Errors
/// As [`container_with`].
pub fn copied_container(
    reader: &dyn ContainerReader,
    before: &Report,
    ctx: &JobContext,
) -> Result<Report> {
    // A FOLDER has no checksums, and without its levels the source was not looked at as a whole.
    let is_archive = matches!(reader.physical(), Physical::Zip(_));
    if !is_archive || before.has(Rule::LevelReadable) || before.has(Rule::LevelColumns) {
        let options = CheckOptions {
            deep: true,
            ..CheckOptions::default()
        };
        return container_with(reader, &options, ctx);
    }
    let mut report = check_container(reader, Profile::default(), true, None, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    for finding in before
        .findings
        .iter()
        .filter(|finding| is_rule_of_contents(finding.rule))
    {
        let at = match &finding.at {
            Location::Sample { level, row, path }
                if *level >= tree.levels.len() || tree.path(*level, *row) != *path =>
            {
                match tree.find(path) {
                    // The rows were put in the order of the tree.
                    Some((level, row)) => Location::Sample {
                        level,
                        row,
                        path: path.clone(),
                    },
                    None => continue,
                }
            }
            other => other.clone(),
        };
        report.findings.push(Finding {
            at,
            ..finding.clone()
        });
    }
    report.consistency.clone_from(&before.consistency);
    Ok(finish_report(
        report,
        Profile::default(),
        &RuleSettings::default(),
    ))
}

fn is_rule_of_contents(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::RasterRead | Rule::FileNeedsOthers | Rule::PitTransposed
    ) || RasterProperty::of_rule(rule).is_some()
}

/// Compares the rasters by position, if their headers have anything that can be compared.
fn check_consistency(
    reader: &dyn ContainerReader,
    rules: &RuleSettings,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let skipped_properties = rules.properties_off();
    // Without level tables there are no positions.
    if skipped_properties.len() == RasterProperty::ALL.len()
        || report.has(Rule::LevelReadable)
        || report.has(Rule::LevelColumns)
    {
        return Ok(());
    }
    let options = ConsistencyOptions {
        skipped_properties,
        ..ConsistencyOptions::default()
    };
    report_consistency(
        consistency_of_container(reader, &options, cache, ctx)?,
        report,
    );
    Ok(())
}

/// Checks what samples name and hold, where the generation has no rules of its own for it.
fn check_samples(
    reader: &dyn ContainerReader,
    deep: bool,
    contents: Option<&HeaderCache>,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    absorb(references::check(reader, deep, report, ctx), report)?;
    absorb(crs_texts::check(reader, report, ctx), report)?;
    match contents {
        Some(cache) => absorb(check_contents(reader, cache, report, ctx), report),
        None => Ok(()),
    }
}

fn check_container(
    reader: &dyn ContainerReader,
    profile: Profile,
    deep: bool,
    cache: Option<&HeaderCache>,
    ctx: &JobContext,
) -> Result<Report> {
    // The rasters are not opened without a cache of their headers.
    let contents = cache.filter(|_| deep);
    let mut report = Report {
        findings: reader.notes().to_vec(),
        ..Report::default()
    };
    let structure = match reader.physical() {
        Physical::Zip(zip) => zip::check(zip, deep, &mut report, ctx),
        Physical::Folder(folder) => folder::check(folder, deep, &mut report, ctx),
        Physical::Tacocat(index) => tacocat::check(index, deep, &mut report, ctx),
        Physical::Joined(joined) => joined::check(joined, profile, deep, &mut report, ctx),
        // Other generations have separate rules.
        Physical::Tortilla(tortilla) => {
            absorb(tortilla::check(tortilla, &mut report, ctx), &mut report)?;
            absorb(
                references::check(reader, deep, &mut report, ctx),
                &mut report,
            )?;
            absorb(check_conventions(reader, &mut report, ctx), &mut report)?;
            absorb(crs_texts::check(reader, &mut report, ctx), &mut report)?;
            // Readers of single chunks rely on the TOG layout; an old GDAL cannot check it.
            if deep && tortilla.chunks().is_some() && crate::raster::tog_support().is_ok() {
                absorb(togs(reader, &mut report, ctx), &mut report)?;
            }
            if let Some(cache) = contents {
                absorb(check_contents(reader, cache, &mut report, ctx), &mut report)?;
            }
            return Ok(report);
        }
        // The layout itself is the finding of the reader.
        Physical::Early(_) => {
            check_samples(reader, deep, contents, &mut report, ctx)?;
            return Ok(report);
        }
        Physical::Taco3(dataset) => {
            absorb(taco3::check(dataset, deep, &mut report, ctx), &mut report)?;
            check_samples(reader, deep, contents, &mut report, ctx)?;
            return Ok(report);
        }
    };
    absorb(structure, &mut report)?;
    absorb(check_levels(reader, deep, &mut report, ctx), &mut report)?;
    absorb(
        references::check(reader, deep, &mut report, ctx),
        &mut report,
    )?;
    absorb(crs_texts::check(reader, &mut report, ctx), &mut report)?;
    if let Some(cache) = contents {
        absorb(check_contents(reader, cache, &mut report, ctx), &mut report)?;
        absorb(check_layout(reader, cache, &mut report, ctx), &mut report)?;
    }
    if !report.has(Rule::CollectionRead) {
        collection::check_collection(reader.collection(), &mut report);
    }
    check_path(&reader.info().path, &mut report);
    Ok(report)
}

/// Compares what files state with what they hold: rasters, their coordinate systems, files of
/// several, statistics of tables.
fn check_contents(
    reader: &dyn ContainerReader,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    absorb(readable::check(reader, cache, report, ctx), report)?;
    absorb(crs_texts::check_headers(reader, cache, report, ctx), report)?;
    absorb(multi_file_formats::check(reader, report, ctx), report)?;
    absorb(table_statistics::check(reader, report, ctx), report)
}

/// Reports FOLDERs of level 0 that are kinds of data instead of samples.
fn check_layout(
    reader: &dyn ContainerReader,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Some(tree) = read_tree(reader, ctx)? else {
        return Ok(());
    };
    let asset =
        |level: usize, row: u32| consistency::find_stored_raster(reader, level, row).ok()?;
    transposed::check(&tree, &asset, cache, report, ctx)
}

fn check_path(path: &Path, report: &mut Report) {
    if is_remote(path) {
        return;
    }
    // The reader uses the path as given, but makes it absolute for the samples' paths.
    if std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .contains('\'')
    {
        let message = tr!(
            "The path has an apostrophe, which breaks the SQL statements of the Python reader."
        );
        report.add(Rule::PathQuote, Location::Dataset, message);
    }
}

/// Checks the columns that a convention names, in datasets of the first generation.
fn check_conventions(
    reader: &dyn ContainerReader,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let tree = reader.levels().skeleton(ctx)?;
    conventions::check(reader, &tree, report, ctx)
}

/// Steps of the check of levels: tree, levels, ids, statistics, conventions, declared columns,
/// tables of folders.
const LEVEL_STEPS: u64 = 7;

fn check_levels(
    reader: &dyn ContainerReader,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    ctx.stage(tr!("Checking the levels"), Some(LEVEL_STEPS));
    if !columns::check(reader, report) {
        return Ok(());
    }
    let tree = reader.levels().skeleton(ctx)?;
    ctx.step(1);
    levels::check(reader, &tree, report, ctx)?;
    ctx.step(1);
    match reader.physical() {
        Physical::Tacocat(_) => {
            let parts = reader.levels().row_parts(0, ctx)?;
            let part = |row: u32| find_part(&parts.rows, row);
            pit::check_ids(&tree, Some(&part), report);
        }
        Physical::Joined(joined) => {
            let part = |row: u32| find_joined_source(joined, row);
            pit::check_ids(&tree, Some(&part), report);
        }
        _ => pit::check_ids(&tree, None, report),
    }
    pit::check_case(
        &tree,
        !matches!(
            reader.physical(),
            Physical::Tacocat(_) | Physical::Joined(_)
        ),
        report,
    );
    pit::check_tree(&tree, None, report);
    ctx.check()?;
    ctx.step(1);
    statistics::check(reader, &tree, deep, report, ctx)?;
    ctx.step(1);
    conventions::check(reader, &tree, report, ctx)?;
    ctx.step(1);
    columns::check_declared(reader, &tree, report, ctx)?;
    ctx.step(1);
    local_meta::check(reader, &tree, deep, report, ctx)
}

fn find_part(parts: &[u32], row: u32) -> usize {
    let part = parts.get(row as usize);
    part.map_or(usize::MAX, |part| *part as usize)
}

fn find_joined_source(joined: &JoinedReader, row: u32) -> usize {
    let source = joined.source_of(0, row);
    source.map_or(usize::MAX, |(source, _)| source)
}

/// Turns an unreadable part of the dataset into a finding; IO failures and cancellation remain
/// errors.
fn absorb(outcome: Result<()>, report: &mut Report) -> Result<()> {
    match outcome {
        Err(error) if matches!(error.kind(), Kind::Format | Kind::Invalid | Kind::Usage) => {
            // Several checks may fail on the same table: it is reported once.
            let finding = unreadable(&error);
            if !report.findings.contains(&finding) {
                report.push(finding);
            }
            Ok(())
        }
        other => other,
    }
}

/// Finishes the report for one profile, with rules switched off or of another severity, and with
/// counts for excess findings of one rule.
fn finish_report(mut report: Report, profile: Profile, rules: &RuleSettings) -> Report {
    report.keep(profile);
    report.apply(rules);
    report.fold();
    report
}
