//! Checks TACO 3 datasets: the collection and its contract, level tables, files, the archive or
//! index, places and times.

mod archive;
mod contract;
mod profiles;
mod sources;
mod tables;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::folder::{folders_of, leads_out};
use super::pit::sample_location;
use super::zip::{SeenHeader, check_checksums};
use crate::container::{BytePositions, ContainerReader, Taco3Reader};
use crate::error::Result;
use crate::files::{Outside, Root};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Report, Rule, Skeleton, TASKS, is_remote};
use crate::text::PrintableLine;

/// Checks the dataset; with `deep` also members of an archive whose bytes have another CRC-32 than
/// the directory states.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub fn check(
    dataset: &Taco3Reader,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if !report.has(Rule::CollectionRead) {
        let collection = dataset.collection();
        for task in collection
            .get("tasks")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
        {
            if !TASKS.contains(&task) {
                let message = tr!(
                    "{task} is not among the tasks of the tools.",
                    task = task.printable_line()
                );
                report.add(
                    Rule::Taco3Task,
                    Location::Collection("tasks".into()),
                    message,
                );
            }
        }
        let stored = dataset.stored_tables(ctx)?;
        tables::check(dataset, collection, &stored, report, ctx)?;
        sources::check(dataset, collection, &stored, report, ctx)?;
        for table in &stored {
            profiles::check(table, report, ctx)?;
            if table.name == "sample" {
                profiles::check_extent(table, collection, report);
            }
        }
    }
    if let Some(archive) = dataset.archive() {
        let (file, directory) = (archive.file(), archive.directory()?);
        archive::check(file, directory, report)?;
        if deep {
            let headers: Vec<Option<SeenHeader>> = directory
                .entries
                .par_iter()
                .map(|entry| SeenHeader::from_entry(file, entry))
                .collect();
            ctx.check()?;
            check_checksums(file, directory, &headers, report, ctx)?;
        }
    }
    check_files(dataset, report, ctx)
}

/// Files that one thread checks at a time.
const FILES_AT_ONCE: u32 = 4096;

/// Finds missing, empty, misplaced and extra files.
fn check_files(dataset: &Taco3Reader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Checking the files"), None);
    let tree = dataset.levels().skeleton(ctx)?;
    let mut named: HashSet<&str> = HashSet::with_capacity(tree.total());
    for (depth, level) in tree.levels.iter().enumerate() {
        let files = LevelFiles {
            dataset,
            tree: &tree,
            depth,
            positions: dataset.levels().positions(depth, ctx)?,
        };
        let rows = level.len() as u32;
        let starts: Vec<u32> = (0..rows).step_by(FILES_AT_ONCE as usize).collect();
        let checked: Vec<Vec<CheckedFile>> = starts
            .into_par_iter()
            .map(|start| {
                files.check_rows(start..rows.min(start.saturating_add(FILES_AT_ONCE)), ctx)
            })
            .collect::<Result<_>>()?;
        for file in checked.into_iter().flatten() {
            named.insert(file.path);
            if let Some((rule, at, message)) = file.finding {
                report.add(rule, at, message);
            }
        }
    }
    let strays: Vec<String> = dataset
        .data_files()?
        .into_iter()
        .flatten()
        .filter(|file| !named.contains(file.as_str()))
        .collect();
    // A symbolic link in place of a folder is reported with the files below it.
    let above = if strays.is_empty() {
        HashSet::new()
    } else {
        folders_of(&named)
    };
    for stray in strays
        .iter()
        .filter(|stray| !above.contains(stray.as_str()))
    {
        let at = Location::Member(format!("DATA/{}", stray.printable_line()));
        report.add(Rule::Taco3Files, at, tr!("No level names this file."));
    }
    Ok(())
}

/// A file that a level names, below `DATA/`, and what is wrong with it.
struct CheckedFile<'a> {
    path: &'a str,
    finding: Option<(Rule, Location, String)>,
}

struct LevelFiles<'a> {
    dataset: &'a Taco3Reader,
    tree: &'a Skeleton,
    depth: usize,
    positions: Arc<BytePositions>,
}

impl<'a> LevelFiles<'a> {
    /// True for a row of a file. Rows without a parent are checked in the tables as they are
    /// stored.
    fn is_file(&self, row: u32) -> bool {
        let level = &self.tree.levels[self.depth];
        let has_parent = self.depth == 0
            || (level.parents[row as usize] as usize) < self.tree.levels[self.depth - 1].len();
        has_parent && !level.folder[row as usize]
    }

    fn check_rows(&self, rows: Range<u32>, ctx: &JobContext) -> Result<Vec<CheckedFile<'a>>> {
        ctx.check()?;
        rows.filter(|&row| self.is_file(row))
            .map(|row| self.check(row))
            .collect()
    }

    fn check(&self, row: u32) -> Result<CheckedFile<'a>> {
        let (dataset, depth) = (self.dataset, self.depth);
        let path = dataset.relative_path(depth, row)?;
        if let Some(Err(Outside::LeadsOut(target))) = dataset
            .root()
            .map(|root: &Root| root.file(&format!("DATA/{path}")))
        {
            return Ok(self.blame_file(row, path, Rule::FolderLink, leads_out(path, &target)));
        }
        match dataset.asset(depth, row) {
            Ok((AssetPath::Range { offset, size, .. }, _))
                if self.positions.range(row) != Some((offset, size)) =>
            {
                let message = tr!(
                    "DATA/{path} is {size} bytes at {offset}; internal:offset and internal:size \
                        say otherwise.",
                    path,
                    size,
                    offset
                );
                Ok(self.blame_file(row, path, Rule::Taco3Files, message))
            }
            Ok((_, 0)) => {
                let message = tr!("DATA/{path} is empty.", path = path.printable_line());
                Ok(self.blame_file(row, path, Rule::Taco3Files, message))
            }
            // Archives that are not there are listed once.
            Err(_) if dataset.parts_folder().is_some() && is_missing_part(dataset, depth, row) => {
                Ok(CheckedFile {
                    path,
                    finding: None,
                })
            }
            Ok(_) => Ok(CheckedFile {
                path,
                finding: None,
            }),
            Err(error) => {
                let message = tr!("DATA/{path} can't be read.", path = path.printable_line());
                let message = format!("{message} {}", error.sentence());
                Ok(self.blame_file(row, path, Rule::Taco3Files, message))
            }
        }
    }

    fn blame_file(&self, row: u32, path: &'a str, rule: Rule, message: String) -> CheckedFile<'a> {
        let at = sample_location(self.tree, self.depth, row);
        CheckedFile {
            path,
            finding: Some((rule, at, message)),
        }
    }
}

/// True for a sample whose archive of an index is not there.
fn is_missing_part(dataset: &Taco3Reader, level: usize, row: u32) -> bool {
    let path = dataset
        .source_of(level, row)
        .and_then(|source| dataset.part_path(source).ok());
    path.is_some_and(|path| !is_remote(&path) && !path.is_file())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_flipped_byte_in_an_archive_is_found_by_a_deep_check() {
        let ctx = JobContext::default();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden/60_v3_zip/change.zip");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("change.zip");
        let mut bytes = std::fs::read(golden).expect("reads");
        std::fs::write(&path, &bytes).expect("writes");
        let codes = |deep: bool| {
            let dataset = Taco3Reader::open(&path, None, &ctx).expect("opens");
            let mut report = Report::default();
            check(&dataset, deep, &mut report, &ctx).expect("checks");
            report
                .findings
                .into_iter()
                .map(|finding| (finding.rule, finding.at.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(true), []);
        let (member, at) = {
            let dataset = Taco3Reader::open(&path, None, &ctx).expect("opens");
            let (AssetPath::Range { offset, size, .. }, _) = dataset.asset(1, 0).expect("is there")
            else {
                panic!("no range")
            };
            (
                dataset.relative_path(1, 0).expect("is there").to_owned(),
                offset + size / 2,
            )
        };
        bytes[at as usize] ^= 0x10;
        std::fs::write(&path, &bytes).expect("writes");
        assert!(codes(true).contains(&(Rule::ZipCrc, format!("DATA/{member}"))));
        // The check value of the archive covers its end.
        assert!(
            codes(false)
                .iter()
                .all(|(rule, _)| *rule == Rule::CozipIndex),
            "{:?}",
            codes(false)
        );
    }
}
