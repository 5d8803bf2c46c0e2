//! Samples that are no data but say where some is: virtual rasters, web services, pipelines. A reader of the dataset finds nothing
//! there, or follows a name into somebody else's files. Must not follow any name itself.

use rayon::prelude::*;

use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, is_padding, is_remote};
use crate::raster::{References, references_of};

/// FILEs of a level that are looked at unless the check is deep.
const LOOKED_AT: usize = 20_000;

/// Looks at the first bytes of every FILE; of many, and where the check is not deep, of some, spread evenly. Members of other machines
/// are looked at by a deep check only: each is a request.
pub(super) fn check(reader: &dyn ContainerReader, deep: bool, report: &mut Report, ctx: &JobContext) -> Result<()> {
    if !deep && is_remote(&reader.info().path) {
        return Ok(());
    }
    let tree = match reader.levels().skeleton(ctx) {
        Ok(tree) => tree,
        Err(error) if error.is_cancelled() => return Err(error),
        // Levels that can't be read are found by the check of the levels.
        Err(_) => return Ok(()),
    };
    for (depth, level) in tree.levels.iter().enumerate() {
        let rows: Vec<u32> =
            (0..level.len() as u32).filter(|&row| !level.folder[row as usize] && !is_padding(level.id(row))).collect();
        let step = if deep { 1 } else { rows.len().div_ceil(LOOKED_AT).max(1) };
        let rows: Vec<u32> = rows.into_iter().step_by(step).collect();
        let found: Vec<(u32, References)> = rows
            .par_iter()
            .map(|&row| {
                ctx.check()?;
                // Bytes that can't be had are another rule's finding.
                let named = reader.asset(depth, row).and_then(|(asset, _)| references_of(&asset));
                match named {
                    Err(error) if error.is_cancelled() => Err(error),
                    named => Ok(named.ok().flatten().map(|named| (row, named))),
                }
            })
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        for (row, named) in found {
            report.add(Rule::DataElsewhere, Location::Sample { level: depth, row, path: tree.path(depth, row) }, message(&named));
        }
    }
    Ok(())
}

/// What a finding says.
pub(super) fn message(named: &References) -> String {
    match named.names.is_empty() {
        true => tr!("This is no data but a description of other data ({kind}).", kind = named.kind),
        false => tr!(
            "This is no data but a description of other data ({kind}), which names {names}.",
            kind = named.kind,
            names = named.list()
        ),
    }
}
