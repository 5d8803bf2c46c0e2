//! Checks of drafts and of opened datasets: every finding at once, each with its rule, place and message. A bad dataset is a
//! report with findings, never an error; errors are for disks and for cancel. Must not change anything.

mod collection;
mod columns;
mod folder;
mod levels;
mod local_meta;
mod pit;
mod schema;
mod sources;
mod zip;

pub use collection::check_collection;
pub use pit::check_tree;
pub use sources::sources;

use std::path::Path;

use crate::container::{self, ContainerReader, Physical};
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, Finding, Location, Report, Rule, Skeleton};

/// Findings of one rule that are kept one by one; the rest is counted in a last one.
pub(crate) const KEPT: usize = 1000;

/// Checks a draft: ids, tree, schemas, collection. The files behind it are for [`sources`], which asks the disk.
pub fn dataset(dataset: &Dataset, ctx: &JobContext) -> Result<Report> {
    let mut report = Report::default();
    let tree = Skeleton::of(dataset);
    pit::check_ids(&tree, &mut report);
    ctx.check()?;
    pit::check_tree(&tree, &mut report);
    ctx.check()?;
    schema::check_draft(dataset, &tree, &mut report);
    ctx.check()?;
    collection::check_collection(&dataset.collection, &mut report);
    if tree.total() == 0 {
        report.add(Rule::PitRoots, Location::Dataset, "The dataset has no samples. Drop files or folders to begin.");
    }
    cap(&mut report);
    Ok(report)
}

/// Checks the dataset at `path`. A dataset that can't be opened because of its bytes is a report with the reason; what is no
/// dataset, can't be read at all, or is of a kind that this version does not know, is an error.
pub fn path(path: &Path, deep: bool, ctx: &JobContext) -> Result<Report> {
    container::detect(path)?;
    match container::open(path, ctx) {
        Ok(reader) => container(reader.as_ref(), deep, ctx),
        Err(error) if error.kind() == Kind::Format => {
            let mut report = Report::default();
            report.findings.push(unreadable(&error));
            Ok(report)
        }
        Err(error) => Err(error),
    }
}

fn unreadable(error: &Error) -> Finding {
    let text = error.to_string();
    let level = text.split_once("METADATA/level").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
    let (rule, at) = match level {
        Some(level) if text.contains("can't be read") => (Rule::LevelReadable, Location::Level(level)),
        _ if text.contains("central directory") => (Rule::ZipStructure, Location::Dataset),
        _ => (Rule::Unreadable, Location::Dataset),
    };
    Finding::new(rule, at, error.sentence())
}

/// Checks an opened dataset. Deep reads every member and compares its CRC, and every `__meta__` value.
pub fn container(reader: &dyn ContainerReader, deep: bool, ctx: &JobContext) -> Result<Report> {
    let mut report = Report { findings: reader.notes().to_vec() };
    let structure = match reader.physical() {
        Physical::Zip(zip) => zip::check(zip, deep, &mut report, ctx),
        Physical::Folder(folder) => folder::check(folder, &mut report, ctx),
    };
    absorb(structure, &mut report)?;
    absorb(check_levels(reader, deep, &mut report, ctx), &mut report)?;
    if !report.has(Rule::CollectionRead) {
        collection::check_collection(reader.collection(), &mut report);
    }
    cap(&mut report);
    Ok(report)
}

fn check_levels(reader: &dyn ContainerReader, deep: bool, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage("Checking the levels", None);
    if !columns::check(reader, report) {
        return Ok(());
    }
    let tree = reader.levels().skeleton(ctx)?;
    levels::check(reader, &tree, report, ctx)?;
    pit::check_ids(&tree, report);
    pit::check_tree(&tree, report);
    ctx.check()?;
    columns::check_declared(reader, &tree, report, ctx)?;
    local_meta::check(reader, &tree, deep, report, ctx)
}

/// A part of the dataset that can't be read is a finding; disks that fail and cancel are errors.
fn absorb(outcome: Result<()>, report: &mut Report) -> Result<()> {
    match outcome {
        Err(error) if matches!(error.kind(), Kind::Format | Kind::Invalid | Kind::Usage) => {
            // Several checks stumble over the same table: it is said once.
            let finding = unreadable(&error);
            if !report.findings.contains(&finding) {
                report.findings.push(finding);
            }
            Ok(())
        }
        other => other,
    }
}

/// Keeps reports readable: of each rule the first findings, then how many more there are.
fn cap(report: &mut Report) {
    let mut counts = std::collections::BTreeMap::<Rule, usize>::new();
    report.findings.retain(|finding| {
        let count = counts.entry(finding.rule).or_default();
        *count += 1;
        *count <= KEPT
    });
    for (rule, count) in counts.into_iter().filter(|(_, count)| *count > KEPT) {
        report.add(rule, Location::Dataset, format!("{} more findings like these.", count - KEPT));
    }
}
