//! Finds FILEs that are one file of a GDAL dataset of several files and can't be read without the
//! others: readers open a FILE by its bytes, without the FILEs beside it.

use std::collections::HashSet;

use rayon::prelude::*;

use super::readable_tree::read_tree;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, SkeletonLevel, is_padding};
use crate::raster::{
    FileSet, NamedAsset, NamesByStem, References, claims_raster, contents_of, file_set,
    references_of,
};

/// A FILE that can't be read without others.
struct MultiFileMember {
    row: u32,
    name: String,
    /// Names of the other files that GDAL reads with it; empty for a header whose pixels are in
    /// other files.
    others: Vec<String>,
    /// Message of the finding.
    message: String,
}

/// Message of the finding about the file `name` that GDAL reads together with others.
pub(super) fn format_set_message(name: &str, set: &FileSet) -> String {
    let (others, contents) = (set.others.join(", "), contents_of(&set.info));
    if set.info.is_vector() {
        tr!(
            "{name} can't be read alone: GDAL reads it together with {others} ({contents}). A \
                sample is one file. Burn it in: one FlatGeobuf holds all of it.",
            name,
            others,
            contents
        )
    } else {
        tr!(
            "{name} can't be read alone: GDAL reads it together with {others} ({contents}). A \
                sample is one file. Burn it in: one GeoTIFF holds all of it.",
            name,
            others,
            contents
        )
    }
}

/// Message of the finding about a header whose pixels are in other files.
pub(super) fn format_header_message(name: &str, references: &References) -> String {
    tr!(
        "{name} can't be read alone: it is the header of a raster ({kind}), whose pixels are in \
            other files. Convert it to a GeoTIFF.",
        name,
        kind = references.kind
    )
}

/// Reports the FILEs that can't be read alone. Only FILEs that have siblings with the same stem are
/// opened.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check(
    reader: &dyn ContainerReader,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Some(tree) = read_tree(reader, ctx)? else {
        return Ok(());
    };
    ctx.stage(tr!("Looking for rasters of several files"), None);
    for (depth, level) in tree.levels.iter().enumerate() {
        let groups: Vec<Vec<u32>> = match depth
            .checked_sub(1)
            .and_then(|above| tree.levels.get(above))
        {
            None => vec![(0..level.len() as u32).collect()],
            Some(above) => (0..above.len() as u32)
                .map(|row| above.children(row).to_vec())
                .filter(|rows| rows.len() > 1)
                .collect(),
        };
        let members: Vec<MultiFileMember> = groups
            .par_iter()
            .map(|rows| find_members_among_siblings(reader, depth, level, rows, ctx))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        for file in members {
            report.add(
                Rule::FileNeedsOthers,
                Location::Sample {
                    level: depth,
                    row: file.row,
                    path: tree.path(depth, file.row),
                },
                file.message,
            );
        }
    }
    Ok(())
}

/// The FILEs among siblings that can't be read alone; one of each set of files: the first.
fn find_members_among_siblings(
    reader: &dyn ContainerReader,
    depth: usize,
    level: &SkeletonLevel,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<Vec<MultiFileMember>> {
    let is_file = |row: &&u32| {
        level.folder.get(**row as usize) == Some(&false) && !is_padding(level.id(**row))
    };
    let files: Vec<u32> = rows.iter().filter(is_file).copied().collect();
    let by_stem = NamesByStem::from_names(files.iter().map(|&row| level.id(row)));
    let found: Vec<MultiFileMember> = files
        .par_iter()
        .map(|&row| {
            ctx.check()?;
            let beside = list_rows_beside(&files, &by_stem, level.id(row));
            find_member(reader, depth, level, row, &beside, ctx)
        })
        .filter_map(Result::transpose)
        .collect::<Result<_>>()?;
    let mut names_in_reported_sets: HashSet<String> = HashSet::new();
    let mut firsts = Vec::new();
    for file in found {
        if names_in_reported_sets.contains(&file.name) {
            continue;
        }
        names_in_reported_sets.extend(file.others.iter().cloned());
        firsts.push(file);
    }
    Ok(firsts)
}

/// The siblings whose names have the stem of `name`; none for the name of a raster that is one
/// file, such as a GeoTIFF.
fn list_rows_beside(files: &[u32], by_stem: &NamesByStem, name: &str) -> Vec<u32> {
    if claims_raster(name) {
        return Vec::new();
    }
    let beside = by_stem.of_stem(name).into_iter();
    beside.filter_map(|at| files.get(at).copied()).collect()
}

/// [`inspect_file`] for a FILE with siblings of its stem; `None` also for bytes that can't be read,
/// which other rules report.
fn find_member(
    reader: &dyn ContainerReader,
    depth: usize,
    level: &SkeletonLevel,
    row: u32,
    beside: &[u32],
    ctx: &JobContext,
) -> Result<Option<MultiFileMember>> {
    if beside.is_empty() {
        return Ok(None);
    }
    match inspect_file(reader, depth, level, row, beside, ctx) {
        Err(error) if error.is_cancelled() => Err(error),
        outcome => Ok(outcome.ok().flatten()),
    }
}

/// Opens a FILE alone and together with the FILEs `beside` it; `None` when it is complete.
fn inspect_file(
    reader: &dyn ContainerReader,
    depth: usize,
    level: &SkeletonLevel,
    row: u32,
    beside: &[u32],
    ctx: &JobContext,
) -> Result<Option<MultiFileMember>> {
    let file: NamedAsset = read_named_asset(reader, depth, level, row)?;
    let name = file.name.clone();
    if let Some(references) = references_of(&file.asset)? {
        let message = format_header_message(&name, &references);
        return Ok(references.is_header().then_some(MultiFileMember {
            row,
            name,
            others: Vec::new(),
            message,
        }));
    }
    let beside: Vec<NamedAsset> = beside
        .iter()
        .map(|row| read_named_asset(reader, depth, level, *row))
        .collect::<Result<_>>()?;
    let set = file_set(&file, &beside, ctx)?.filter(|set| set.needs_others);
    Ok(set.map(|set| MultiFileMember {
        row,
        message: format_set_message(&name, &set),
        others: set.others,
        name,
    }))
}

fn read_named_asset(
    reader: &dyn ContainerReader,
    depth: usize,
    level: &SkeletonLevel,
    row: u32,
) -> Result<NamedAsset> {
    Ok(NamedAsset {
        name: level.id(row).to_owned(),
        asset: reader.asset(depth, row)?.0,
    })
}
