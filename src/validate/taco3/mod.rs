//! Checks TACO 3 datasets: the collection and its contract, level tables, files, the archive or index, places and times.

mod archive;
mod contract;
mod profiles;
mod sources;
mod tables;

use std::collections::HashSet;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::folder::{folders_of, leads_out};
use super::zip::{SeenHeader, check_checksums};
use crate::container::{ContainerReader, Entry, LocalHeader, Taco3Reader};
use crate::error::Result;
use crate::files::{Outside, Root};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Report, Rule, TASKS, is_remote};
use crate::text::PrintableLine;

/// Checks the dataset; with `deep` also members of an archive whose bytes have another CRC-32 than the directory states.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub fn check(dataset: &Taco3Reader, deep: bool, report: &mut Report, ctx: &JobContext) -> Result<()> {
    if !report.has(Rule::CollectionRead) {
        let collection = dataset.collection();
        for task in collection.get("tasks").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
            if !TASKS.contains(&task) {
                let message = tr!("{task} is not among the tasks of the tools.", task = task.printable_line());
                report.add(Rule::Taco3Task, Location::Collection("tasks".into()), message);
            }
        }
        tables::check(dataset, collection, report, ctx)?;
        sources::check(dataset, collection, report, ctx)?;
        for table in dataset.stored_tables(ctx)? {
            profiles::check(&table, report, ctx)?;
            if table.name == "sample" {
                profiles::check_extent(&table, collection, report);
            }
        }
    }
    if let Some((file, directory)) = dataset.archive() {
        archive::check(file, directory, report)?;
        if deep {
            let header = |entry: &Entry| LocalHeader::read(file, entry.local).ok().map(|header| SeenHeader::of(&header, entry));
            let headers: Vec<Option<SeenHeader>> = directory.entries.par_iter().map(header).collect();
            ctx.check()?;
            check_checksums(file, directory, &headers, report, ctx)?;
        }
    }
    check_files(dataset, report, ctx)
}

/// Finds missing, empty, misplaced and extra files.
fn check_files(dataset: &Taco3Reader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Checking the files"), None);
    let tree = dataset.levels().skeleton(ctx)?;
    let mut named = HashSet::with_capacity(tree.total());
    for (depth, level) in tree.levels.iter().enumerate() {
        let positions = dataset.levels().positions(depth, ctx)?;
        for row in 0..level.len() as u32 {
            if row % 1024 == 0 {
                ctx.check()?;
            }
            let at = || Location::Sample { level: depth, row, path: tree.path(depth, row) };
            // Links are checked in the tables as they are stored.
            if depth > 0 && level.parents[row as usize] as usize >= tree.levels[depth - 1].len() {
                continue;
            }
            if level.folder[row as usize] {
                continue;
            }
            let path = dataset.relative_path(depth, row)?;
            named.insert(path.to_owned());
            if let Some(Err(Outside::LeadsOut(target))) = dataset.root().map(|root: &Root| root.file(&format!("DATA/{path}"))) {
                report.add(Rule::FolderLink, at(), leads_out(path, &target));
                continue;
            }
            match dataset.asset(depth, row) {
                Ok((AssetPath::Range { offset, size, .. }, _)) if positions.range(row) != Some((offset, size)) => {
                    let message = tr!(
                        "DATA/{path} is {size} bytes at {offset}; internal:offset and internal:size say otherwise.",
                        path,
                        size,
                        offset
                    );
                    report.add(Rule::Taco3Files, at(), message);
                }
                Ok((_, 0)) => report.add(Rule::Taco3Files, at(), tr!("DATA/{path} is empty.", path = path.printable_line())),
                Ok(_) => {}
                // Archives that are not there are listed once.
                Err(_) if dataset.parts_folder().is_some() && is_missing_part(dataset, depth, row) => {}
                Err(error) => {
                    let message = tr!("DATA/{path} can't be read.", path = path.printable_line());
                    report.add(Rule::Taco3Files, at(), format!("{message} {}", error.sentence()));
                }
            }
        }
    }
    let strays: Vec<String> = dataset.data_files()?.into_iter().flatten().filter(|file| !named.contains(file)).collect();
    // A symbolic link in place of a folder is reported with the files below it.
    let above = if strays.is_empty() { HashSet::new() } else { folders_of(&named) };
    for stray in strays.iter().filter(|stray| !above.contains(stray.as_str())) {
        let at = Location::Member(format!("DATA/{}", stray.printable_line()));
        report.add(Rule::Taco3Files, at, tr!("No level names this file."));
    }
    Ok(())
}

/// True for a sample whose archive of an index is not there.
fn is_missing_part(dataset: &Taco3Reader, level: usize, row: u32) -> bool {
    let path = dataset.source_of(level, row).and_then(|source| dataset.part_path(source).ok());
    path.is_some_and(|path| !is_remote(&path) && !path.is_file())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_flipped_byte_in_an_archive_is_found_by_a_deep_check() {
        let ctx = JobContext::default();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden/60_v3_zip/change.zip");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("change.zip");
        let mut bytes = std::fs::read(golden).expect("reads");
        std::fs::write(&path, &bytes).expect("writes");
        let codes = |deep: bool| {
            let dataset = Taco3Reader::open(&path, None, &ctx).expect("opens");
            let mut report = Report::default();
            check(&dataset, deep, &mut report, &ctx).expect("checks");
            report.findings.into_iter().map(|finding| (finding.rule, finding.at.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(codes(true), []);
        let (member, at) = {
            let dataset = Taco3Reader::open(&path, None, &ctx).expect("opens");
            let (AssetPath::Range { offset, size, .. }, _) = dataset.asset(1, 0).expect("is there") else { panic!("no range") };
            (dataset.relative_path(1, 0).expect("is there").to_owned(), offset + size / 2)
        };
        bytes[at as usize] ^= 0x10;
        std::fs::write(&path, &bytes).expect("writes");
        assert!(codes(true).contains(&(Rule::ZipCrc, format!("DATA/{member}"))));
        // The check value of the archive covers its end.
        assert!(codes(false).iter().all(|(rule, _)| *rule == Rule::CozipIndex), "{:?}", codes(false));
    }
}
