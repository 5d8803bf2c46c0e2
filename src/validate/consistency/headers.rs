//! Reads the headers of all rasters of a dataset with their positions in the tree, in parallel.

use std::ops::Deref;
use std::sync::Arc;

use super::ComparisonInput;
use super::positions::{NodeId, SamplePositions};
use crate::error::Result;
use crate::jobs::{JobContext, try_map};
use crate::model::Skeleton;
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
    header: ComparedHeader,
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
            header,
        }
    }
}

/// Number of files whose headers are read before they are added to the others.
const FILES_AT_A_TIME: usize = 16_384;

/// The headers of all rasters.
#[derive(Default)]
pub struct Headers {
    /// By level, then row.
    pub rasters: Vec<PlacedHeader>,
    /// Distinct coordinate systems; headers have indices into them.
    pub systems: Vec<Crs>,
    /// Distinct texts; headers have indices into them.
    pub texts: Vec<Arc<str>>,
    /// Number of files that are not rasters.
    pub non_rasters: usize,
    /// Number of files that were not read: they are not in the cache, or reading them failed.
    pub unread: usize,
    /// Number of roots.
    pub roots: usize,
}

/// Reads the headers of all rasters with a position that are not in `cache`. Without `missing`,
/// those are only counted.
pub fn read(
    input: &ComparisonInput<'_>,
    places: &SamplePositions,
    cache: &HeaderCache,
    missing: bool,
    ctx: &JobContext,
) -> Result<Headers> {
    let mut headers = Headers {
        roots: input.tree.levels.first().map_or(0, |level| level.len()),
        ..Headers::default()
    };
    let total = files_with_position(input.tree, places).count() as u64;
    ctx.stage(tr!("Reading headers"), Some(total));
    let mut files = files_with_position(input.tree, places);
    loop {
        let batch: Vec<PlacedFile> = files.by_ref().take(FILES_AT_A_TIME).collect();
        if batch.is_empty() {
            break;
        }
        let looked = try_map(&batch, |_, file| {
            ctx.check()?;
            let looked = look_up_header(input, file, cache, missing)?;
            ctx.step(1);
            Ok(looked)
        })?;
        for (file, looked) in batch.iter().zip(looked) {
            headers.add(input, places, file, looked, ctx);
        }
    }
    (headers.texts, headers.systems) = cache.tables();
    Ok(headers)
}

/// Level, row and position of a FILE.
type PlacedFile = (usize, u32, NodeId);

/// The FILEs that have a position, by level, then row.
fn files_with_position<'a>(
    tree: &'a Skeleton,
    places: &'a SamplePositions,
) -> impl Iterator<Item = PlacedFile> + 'a {
    let levels = tree.levels.iter().enumerate();
    levels.flat_map(move |(level, rows)| {
        let files = rows.list_files();
        files.filter_map(move |row| Some((level, row, places.node(level, row)?)))
    })
}

impl Headers {
    /// Adds what was read of a file; `None` when it was not read.
    fn add(
        &mut self,
        input: &ComparisonInput<'_>,
        places: &SamplePositions,
        &(level, row, node): &PlacedFile,
        looked: Option<HeaderLook>,
        ctx: &JobContext,
    ) {
        if let Some(looked) = &looked
            && looked.has_warning()
        {
            looked.warn(&input.tree.archive_path(level, row), ctx);
        }
        match looked {
            Some(HeaderLook::Raster(header)) => {
                let times = input.times.get(level);
                self.rasters.push(PlacedHeader {
                    node,
                    row,
                    root: places.root(level, row),
                    time: times.and_then(|times| *times.get(row as usize)?),
                    header,
                });
            }
            Some(HeaderLook::NoRaster | HeaderLook::Fault(_)) => self.non_rasters += 1,
            Some(HeaderLook::MissingCodec(_) | HeaderLook::Unread) | None => self.unread += 1,
        }
    }
}

/// The header of a sample; `None` when it is not in the cache and `missing` is false.
fn look_up_header(
    input: &ComparisonInput<'_>,
    &(level, row, _): &PlacedFile,
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
