//! Finds coordinate systems that name files: grids, init files, dictionaries or addresses. Readers
//! that follow them open any file of their machine. They are not followed here, so such samples
//! have no place.

use std::collections::HashMap;

use super::header_cache::{HeaderCache, HeaderLook};
use crate::container::ContainerReader;
use crate::error::Result;
use crate::footprint::CRS_COLUMNS;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, is_padding};
use crate::raster::file_named_by_crs;
use crate::text::PrintableLine;

/// Characters of a text that messages quote.
const QUOTED_MAX: usize = 200;

/// Looks at the columns of coordinate systems of every level, and reports each text once, at its
/// first sample.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub(super) fn check(
    reader: &dyn ContainerReader,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    for level in 0..reader.levels().count() {
        let fields = reader.levels().fields(level);
        for name in CRS_COLUMNS
            .into_iter()
            .filter(|name| fields.iter().any(|field| field.name == *name))
        {
            let table = reader.levels().columns(level, &[name], ctx)?;
            let Some(texts) = table.strings(name)? else {
                continue;
            };
            let mut rows: HashMap<&str, (u32, usize)> = HashMap::new();
            for (row, text) in texts
                .iter()
                .enumerate()
                .filter_map(|(row, text)| Some((row, text?)))
            {
                if row % 4096 == 0 {
                    ctx.check()?;
                }
                rows.entry(text).or_insert((row as u32, 0)).1 += 1;
            }
            let mut found: Vec<(u32, usize, &str, String)> = rows
                .into_iter()
                .filter_map(|(text, (row, count))| {
                    Some((row, count, text, file_named_by_crs(text)?))
                })
                .collect();
            found.sort_unstable_by_key(|(row, ..)| *row);
            for (row, count, text, file) in found {
                let path = reader.levels().skeleton(ctx)?.path(level, row);
                report.add(
                    Rule::CrsElsewhere,
                    Location::Sample { level, row, path },
                    column_message(name, text, &file, count),
                );
            }
        }
    }
    Ok(())
}

/// Reports the rasters whose headers, read before into `cache`, name such a system.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check_headers(
    reader: &dyn ContainerReader,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if !cache.has_crs_files() {
        return Ok(());
    }
    let tree = reader.levels().skeleton(ctx)?;
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            ctx.check()?;
            if level.folder[row as usize] || is_padding(level.id(row)) {
                continue;
            }
            let Ok((asset, _)) = reader.asset(depth, row) else {
                continue;
            };
            let Some(HeaderLook::Raster(header)) = cache.cached_header(&asset, None) else {
                continue;
            };
            if let Some(file) = &header.crs_file {
                let message = tr!(
                    "The coordinate system of this raster names a file ({file}), which is not \
                        opened: the raster has no place.",
                    file
                );
                report.add(
                    Rule::CrsElsewhere,
                    Location::Sample {
                        level: depth,
                        row,
                        path: tree.path(depth, row),
                    },
                    message,
                );
            }
        }
    }
    Ok(())
}

fn column_message(column: &str, text: &str, file: &str, count: usize) -> String {
    let quoted: String = text.chars().take(QUOTED_MAX).collect();
    let text = quoted.printable_line();
    tr_n!(
        count,
        "{column} of {count} sample is {text}, which names a file ({file}). It is not opened, so \
            no place is computed from it.",
        "{column} of {count} samples is {text}, which names a file ({file}). It is not opened, so \
            no place is computed from it.",
        column,
        count,
        text,
        file
    )
}
