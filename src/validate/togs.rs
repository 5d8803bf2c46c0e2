//! Checks rasters against TACO 0.2, "TACO Optimized GeoTIFF (TOG) data object", with the reason for
//! each violation. Only on request: 2.0 has no such requirement, but streamable datasets do.

use std::path::Path;

use rayon::prelude::*;

use super::pit::sample_location;
use crate::container::ContainerReader;
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, HISTOGRAM_BINS, HISTOGRAM_ENDS, Location, Report, Rule, is_padding, is_remote,
};
use crate::raster::{self, RasterSource};

/// Maximum depth of folders of which the rasters are checked.
const CHECKED_FOLDER_DEPTH_MAX: usize = 32;

/// Checks every FILE of a dataset that is a raster.
///
/// # Errors
/// When GDAL lacks the needed driver, or the job is cancelled.
pub fn togs(reader: &dyn ContainerReader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    raster::tog_support()?;
    let tree = reader.levels().skeleton(ctx)?;
    for (depth, level) in tree.levels.iter().enumerate() {
        let rows: Vec<u32> = (0..level.len() as u32)
            .filter(|&row| !level.folder[row as usize] && !is_padding(level.id(row)))
            .collect();
        ctx.stage(
            tr!("Looking for optimized rasters"),
            Some(rows.len() as u64),
        );
        let fields = reader.levels().fields(depth);
        // Precomputed histograms are stored in strips on purpose.
        let histograms = HISTOGRAM_ENDS
            .iter()
            .all(|end| fields.iter().any(|field| field.name == *end));
        let found: Vec<(u32, Vec<String>)> = rows
            .par_iter()
            .map(|&row| {
                // Unreadable data is reported by another rule.
                let faults = match reader.asset(depth, row) {
                    Ok((asset, _)) => {
                        let source = RasterSource::member(asset);
                        if histograms && is_histogram_strip(&source) {
                            Vec::new()
                        } else {
                            faults_of(&source, ctx)?
                        }
                    }
                    Err(_) => Vec::new(),
                };
                ctx.step(1);
                Ok((row, faults))
            })
            .collect::<Result<_>>()?;
        for (row, faults) in found {
            for fault in faults {
                report.add(Rule::TogForm, sample_location(&tree, depth, row), fault);
            }
        }
    }
    Ok(())
}

fn is_histogram_strip(source: &RasterSource) -> bool {
    raster::describe(source).is_ok_and(|info| (info.width, info.height) == (HISTOGRAM_BINS, 1))
}

/// Checks a raster, or all rasters below a folder.
///
/// # Errors
/// When `path` is a file that is no raster or cannot be read, or the job is cancelled.
pub fn togs_below(path: &Path, ctx: &JobContext) -> Result<Report> {
    raster::tog_support()?;
    let mut report = Report::default();
    if is_remote(path) || !path.is_dir() {
        let faults = raster::tog_faults(&RasterSource::from_user_path(AssetPath::file(path)), ctx)?;
        faults
            .into_iter()
            .for_each(|fault| report.add(Rule::TogForm, Location::Dataset, fault));
        return Ok(report);
    }
    let files = files_below(path, ctx)?;
    ctx.stage(
        tr!("Looking for optimized rasters"),
        Some(files.len() as u64),
    );
    let found: Vec<Vec<String>> = files
        .par_iter()
        .map(|name| {
            ctx.step(1);
            faults_of(
                &RasterSource::from_user_path(AssetPath::file(path.join(name))),
                ctx,
            )
        })
        .collect::<Result<_>>()?;
    for (name, faults) in files.iter().zip(found) {
        faults
            .into_iter()
            .for_each(|fault| report.add(Rule::TogForm, Location::Member(name.clone()), fault));
    }
    report.fold();
    Ok(report)
}

/// The violations of a raster; empty for other files.
fn faults_of(source: &RasterSource, ctx: &JobContext) -> Result<Vec<String>> {
    match raster::tog_faults(source, ctx) {
        Ok(faults) => Ok(faults),
        Err(error) if error.is_cancelled() => Err(error),
        Err(_) => Ok(Vec::new()),
    }
}

/// The relative paths, with `/`, of all files below a folder, sorted. Symbolic links to folders are
/// not followed; hidden files are omitted.
///
/// # Errors
/// When a folder cannot be listed, or a name is not UTF-8.
pub fn files_below(folder: &Path, ctx: &JobContext) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((place, prefix, depth)) = waiting.pop() {
        ctx.check()?;
        for entry in std::fs::read_dir(&place).io_at("list the folder", &place)? {
            let entry = entry.io_at("list the folder", &place)?;
            let kind = entry.file_type().io_at("read", entry.path())?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(Error::unsupported("this name is no text")
                    .at_path(&entry.path())
                    .hint("rename the file"));
            };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            if kind.is_dir() && depth < CHECKED_FOLDER_DEPTH_MAX {
                waiting.push((entry.path(), format!("{path}/"), depth + 1));
            } else if kind.is_file() || (kind.is_symlink() && entry.path().is_file()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
