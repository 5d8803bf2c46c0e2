//! Checks TACO 3 datasets: files against levels, and levels against `taco:structure`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rayon::prelude::*;
use serde_json::Value as Json;

use super::folder::{folders_of, leads_out};
use super::zip::check_checksums;
use crate::container::{ContainerReader, Entry, LocalHeader, Taco3Reader};
use crate::error::Result;
use crate::files::{Outside, Root};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Report, Rule};
use crate::text::PrintableLine;

/// Finds missing, misplaced and extra files, and samples that lack a file of `taco:structure`; with `deep` also members of an archive
/// whose bytes have another CRC-32 than the directory states.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub fn check(dataset: &Taco3Reader, deep: bool, report: &mut Report, ctx: &JobContext) -> Result<()> {
    if deep && let Some((file, directory)) = dataset.archive() {
        let header = |entry: &Entry| LocalHeader::read(file, entry.local).ok();
        let headers: Vec<Option<LocalHeader>> = directory.entries.par_iter().map(header).collect();
        ctx.check()?;
        check_checksums(file, directory, &headers, report, ctx)?;
    }
    ctx.stage(tr!("Checking the files"), None);
    let tree = dataset.levels().skeleton(ctx)?;
    let mut named = HashSet::with_capacity(tree.total());
    let mut found: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for (depth, level) in tree.levels.iter().enumerate() {
        let positions = dataset.levels().positions(depth, ctx)?;
        for row in 0..level.len() as u32 {
            if row % 1024 == 0 {
                ctx.check()?;
            }
            let at = || Location::Sample { level: depth, row, path: tree.path(depth, row) };
            if depth > 0 && level.parents[row as usize] as usize >= tree.levels[depth - 1].len() {
                report.add(Rule::ParentLink, at(), tr!("internal:parent_id leads to no row of the level above."));
                continue;
            }
            if level.folder[row as usize] {
                continue;
            }
            let path = dataset.relative_path(depth, row)?;
            named.insert(path.to_owned());
            if let Some((_, inside)) = path.split_once('/') {
                found.entry(root_of(&tree, depth, row)).or_default().insert(inside.to_owned());
            }
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
                Ok(_) => {}
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
    if let Some(structure) = dataset.collection().get("taco:structure").and_then(Json::as_array) {
        // Names with `*` are patterns for a sequence of files.
        let fixed: Vec<&str> = structure.iter().filter_map(Json::as_str).filter(|name| !name.contains('*')).collect();
        for row in 0..tree.levels.first().map_or(0, |level| level.len()) as u32 {
            let here = found.get(&row);
            for name in fixed.iter().filter(|name| !here.is_some_and(|here| here.contains(**name))) {
                let at = Location::Sample { level: 0, row, path: tree.path(0, row) };
                report.add(Rule::Taco3Contract, at, tr!("The sample has no {name}, which taco:structure lists.", name));
            }
        }
    }
    Ok(())
}

fn root_of(tree: &crate::model::Skeleton, level: usize, row: u32) -> u32 {
    (1..=level).rev().fold(row, |row, depth| tree.levels[depth].parents.get(row as usize).copied().unwrap_or(u32::MAX))
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
            let dataset = Taco3Reader::open(&path, &ctx).expect("opens");
            let mut report = Report::default();
            check(&dataset, deep, &mut report, &ctx).expect("checks");
            report.findings.into_iter().map(|finding| (finding.rule, finding.at.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(codes(true), []);
        let (member, at) = {
            let dataset = Taco3Reader::open(&path, &ctx).expect("opens");
            let (AssetPath::Range { offset, size, .. }, _) = dataset.asset(1, 0).expect("is there") else { panic!("no range") };
            (dataset.relative_path(1, 0).expect("is there").to_owned(), offset + size / 2)
        };
        bytes[at as usize] ^= 0x10;
        std::fs::write(&path, &bytes).expect("writes");
        assert_eq!(codes(true), [(Rule::ZipCrc, format!("DATA/{member}"))]);
        assert_eq!(codes(false), []);
    }
}
