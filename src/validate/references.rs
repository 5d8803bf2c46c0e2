//! Finds samples that are references to other data: virtual rasters, web services, pipelines.
//! Readers of the dataset cannot resolve them, or would follow them to files outside. References
//! are not followed here.

use rayon::prelude::*;

use super::readable_tree::read_tree;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, is_padding, is_remote};
use crate::raster::{References, references_of};

/// Maximum number of FILEs per level that are examined unless the check is deep.
const LOOKED_AT: usize = 20_000;

/// Examines the first bytes of every FILE; unless `deep`, of an evenly spaced sample. Remote
/// samples are examined by a deep check only, as each takes a request.
pub(super) fn check(
    reader: &dyn ContainerReader,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if !deep && is_remote(&reader.info().path) {
        return Ok(());
    }
    let Some(tree) = read_tree(reader, ctx)? else {
        return Ok(());
    };
    for (depth, level) in tree.levels.iter().enumerate() {
        let rows: Vec<u32> = (0..level.len() as u32)
            .filter(|&row| !level.folder[row as usize] && !is_padding(level.id(row)))
            .collect();
        let step = if deep {
            1
        } else {
            rows.len().div_ceil(LOOKED_AT).max(1)
        };
        let rows: Vec<u32> = rows.into_iter().step_by(step).collect();
        let found: Vec<(u32, References)> = rows
            .par_iter()
            .map(|&row| {
                ctx.check()?;
                // Unreadable data is reported by another rule.
                let named = reader
                    .asset(depth, row)
                    .and_then(|(asset, _)| references_of(&asset));
                match named {
                    Err(error) if error.is_cancelled() => Err(error),
                    named => Ok(named.ok().flatten().map(|named| (row, named))),
                }
            })
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        for (row, named) in found {
            report.add(
                Rule::DataElsewhere,
                Location::Sample {
                    level: depth,
                    row,
                    path: tree.path(depth, row),
                },
                message(&named),
            );
        }
    }
    Ok(())
}

/// Message of the finding.
pub(super) fn message(named: &References) -> String {
    if named.names.is_empty() {
        tr!(
            "This is not data but a reference to other data ({kind}).",
            kind = named.kind
        )
    } else {
        tr!(
            "This is not data but a reference to other data ({kind}), which names {names}.",
            kind = named.kind,
            names = named.list()
        )
    }
}
