//! Checks `taco:sources` of an index of TACO 3: the archives, and the rows that name them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::container::{ContainerReader, Taco3Reader, Taco3Table};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Collection, Location, Report, Rule, is_remote, safe_relative};
use crate::text::PrintableLine;

/// Checks the archives of an index; a dataset that is no index must not list any.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub(super) fn check(
    dataset: &Taco3Reader,
    collection: &Collection,
    tables: &[Taco3Table],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let at = |field: &str| Location::Collection(format!("taco:sources{field}"));
    let sources = collection.get("taco:sources");
    if dataset.parts_folder().is_none() {
        if sources.is_some() {
            report.add(
                Rule::Taco3Sources,
                at(""),
                tr!("Only an index lists archives."),
            );
        }
        return Ok(());
    }
    let partitions = sources
        .and_then(|sources| sources.get("partitions"))
        .and_then(Json::as_array);
    let Some((sources, partitions)) = sources.zip(partitions) else {
        report.add(
            Rule::Taco3Sources,
            at(""),
            tr!("The index lists no archives."),
        );
        return Ok(());
    };
    let mut counts: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    let mut foreign: HashSet<Arc<str>> = HashSet::new();
    let names: HashSet<&str> = partitions
        .iter()
        .filter_map(|part| part.get("file")?.as_str())
        .collect();
    for table in tables {
        for source in &table.sources {
            if !names.contains(&**source) && foreign.insert(source.clone()) {
                let (name, table) = (source.printable_line().to_string(), table.member.as_str());
                let message = tr!(
                    "{table} has rows of {name}, which taco:sources does not list.",
                    table,
                    name
                );
                report.add(
                    Rule::Taco3SourceFile,
                    Location::Member(table.to_owned()),
                    message,
                );
            }
            if table.name == "sample" {
                *counts.entry(source.clone()).or_default() += 1;
            }
        }
    }
    let mut sum = 0;
    for (number, part) in partitions.iter().enumerate() {
        ctx.check()?;
        let here = at(&format!("/partitions/{number}"));
        let (Some(file), Some(samples)) = (
            part.get("file").and_then(Json::as_str),
            part.get("samples").and_then(Json::as_u64),
        ) else {
            report.add(
                Rule::Taco3Sources,
                here,
                tr!("The archive has no file, or no number of samples."),
            );
            continue;
        };
        sum += samples;
        if !safe_relative(file) {
            let message = tr!(
                "{file} leads out of the folder of the index.",
                file = file.printable_line()
            );
            report.add(Rule::Taco3Sources, here, message);
            continue;
        }
        let found = counts.get(file).copied().unwrap_or(0);
        if found != samples {
            let file = file.printable_line().to_string();
            let message = tr!(
                "{file} is said to have {samples} samples; the index has {found} of it.",
                file,
                samples,
                found
            );
            report.add(Rule::Taco3Sources, here.clone(), message);
        }
        let path = dataset.part_path(file)?;
        if !is_remote(&path) && !path.is_file() {
            let message = tr!(
                "{file} is not there: its samples cannot be read.",
                file = file.printable_line()
            );
            report.add(Rule::Taco3PartMissing, here, message);
        }
    }
    let stated = sources.get("samples").and_then(Json::as_u64);
    if stated != Some(sum) {
        let stated = stated.map_or_else(|| "?".to_owned(), |stated| stated.to_string());
        let message = tr!(
            "taco:sources says {stated} samples; its archives have {sum}.",
            stated,
            sum
        );
        report.add(Rule::Taco3Sources, at("/samples"), message);
    }
    let rows = dataset.levels().rows(0) as u64;
    if rows != sum {
        let message = tr!(
            "The index has {rows} samples; its archives have {sum}.",
            rows,
            sum
        );
        report.add(Rule::Taco3Sources, at("/samples"), message);
    }
    Ok(())
}
