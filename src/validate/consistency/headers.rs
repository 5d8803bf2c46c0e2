//! Reads the headers of all rasters of a dataset with their positions in the tree, in parallel.

use std::ops::Deref;
use std::sync::Arc;

use super::Input;
use super::positions::{NodeId, SamplePositions};
use crate::error::Result;
use crate::jobs::{JobContext, try_map};
use crate::validate::header_cache::{ComparedHeader, Crs, HeaderCache, HeaderLook};

/// Header of a raster, with its position, root and row.
#[derive(Clone, Debug)]
pub struct PlacedHeader {
    /// Its position.
    pub node: NodeId,
    pub root: u32,
    /// Its row in the level.
    pub row: u32,
    /// Start time in microseconds since 1970.
    pub time: Option<i64>,
    header: Arc<ComparedHeader>,
}

impl Deref for PlacedHeader {
    type Target = ComparedHeader;

    fn deref(&self) -> &ComparedHeader {
        &self.header
    }
}

#[cfg(test)]
impl PlacedHeader {
    /// A header of the root in a row of level 0.
    pub fn of_root(row: u32, header: ComparedHeader) -> Self {
        Self {
            node: 0,
            root: row,
            row,
            time: None,
            header: header.into(),
        }
    }
}

/// The headers of all rasters.
pub struct Headers {
    /// By level, then row.
    pub rasters: Vec<PlacedHeader>,
    /// Distinct coordinate systems; headers have indices into them.
    pub systems: Vec<Crs>,
    /// Distinct texts; headers have indices into them.
    pub texts: Vec<Arc<str>>,
    /// Number of files that are no rasters.
    pub others: usize,
    /// Number of files that were not read: they are not in the cache, or reading them failed.
    pub unread: usize,
    /// Number of roots.
    pub roots: usize,
}

/// Reads the headers of all rasters with a position that are not in `cache`. Without `missing`,
/// those are only counted.
pub fn read(
    input: &Input<'_>,
    places: &SamplePositions,
    cache: &HeaderCache,
    missing: bool,
    ctx: &JobContext,
) -> Result<Headers> {
    let mut wanted: Vec<(usize, u32, NodeId)> = Vec::new();
    for (depth, level) in input.tree.levels.iter().enumerate() {
        let files = level.list_files();
        wanted.extend(files.filter_map(|row| Some((depth, row, places.node(depth, row)?))));
    }
    ctx.stage(tr!("Reading headers"), Some(wanted.len() as u64));
    let looked = try_map(&wanted, |_, &(level, row, _)| {
        ctx.check()?;
        let looked = look_up_header(input, level, row, cache, missing)?;
        ctx.step(1);
        Ok(looked)
    })?;
    let (mut rasters, mut others, mut unread) = (Vec::with_capacity(looked.len()), 0, 0);
    for (&(level, row, node), looked) in wanted.iter().zip(looked) {
        if let Some(looked) = &looked
            && looked.has_warning()
        {
            looked.warn(&input.tree.archive_path(level, row), ctx);
        }
        match looked {
            Some(HeaderLook::Raster(header)) => {
                let time = input
                    .times
                    .get(level)
                    .and_then(|times| times.get(row as usize))
                    .copied()
                    .flatten();
                rasters.push(PlacedHeader {
                    node,
                    row,
                    root: places.root(level, row),
                    time,
                    header,
                });
            }
            Some(HeaderLook::NoRaster | HeaderLook::Fault(_)) => others += 1,
            Some(HeaderLook::MissingCodec(_) | HeaderLook::Unread) | None => unread += 1,
        }
    }
    let (texts, systems) = cache.tables();
    let roots = input.tree.levels.first().map_or(0, |level| level.len());
    Ok(Headers {
        rasters,
        systems,
        texts,
        others,
        unread,
        roots,
    })
}

/// The header of a sample; `None` when it is not in the cache and `missing` is false.
fn look_up_header(
    input: &Input<'_>,
    level: usize,
    row: u32,
    cache: &HeaderCache,
    missing: bool,
) -> Result<Option<HeaderLook>> {
    let (asset, version) = match (input.raster)(level, row) {
        Ok(Some(found)) => found,
        Err(error) if error.is_cancelled() => return Err(error),
        Ok(None) => return Ok(Some(HeaderLook::NoRaster)),
        // An unreadable file is reported by another rule.
        Err(_) => return Ok(Some(HeaderLook::Unread)),
    };
    if missing {
        cache.look(&asset, version).map(Some)
    } else {
        Ok(cache.cached_header(&asset, version))
    }
}
