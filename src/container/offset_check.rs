//! Verifies the offsets in the level tables by arithmetic: members of a TACO archive are
//! contiguous, so correct ranges tile the data without gap or overlap. Comparing each member's name
//! instead would take a request per sample of a remote archive.

use crate::error::Result;
use crate::jobs::JobContext;

use super::zip::member_of;
use super::{HeaderEntry, LevelSet};
use crate::zip_format::{ALIGNED_MIN, block_padding, local_header_len};

/// `(part, start, end, data)`: the number of a member's archive, the byte range of its local header
/// without padding and of its data, and the offset of the data.
type Span = (u32, u64, u64, u64);

/// For each part, whether the ranges of its rows tile the data. `part_of(level, row)` returns the
/// part's number; `first` is the earliest possible offset of a member.
pub fn tiling_parts(
    levels: &LevelSet,
    parts: usize,
    first: u64,
    part_of: &dyn Fn(usize, u32) -> Option<u32>,
    ctx: &JobContext,
) -> Result<Vec<bool>> {
    let tree = levels.skeleton(ctx)?;
    let mut holds = vec![true; parts];
    let mut spans: Vec<Span> = Vec::with_capacity(tree.total());
    for (depth, level) in tree.levels.iter().enumerate() {
        let positions = levels.positions(depth, ctx)?;
        for row in 0..level.len() as u32 {
            if row % 4096 == 0 {
                ctx.check()?;
            }
            let Some(part) = part_of(depth, row) else {
                continue;
            };
            let name = member_of(&tree.archive_path(depth, row), level.folder[row as usize]);
            let span = positions.range(row).and_then(|(offset, size)| {
                Some((
                    part,
                    offset.checked_sub(local_header_len(name.len(), size))?,
                    offset.checked_add(size)?,
                    offset,
                ))
            });
            match (span, holds.get_mut(part as usize)) {
                (Some(span), _) => spans.push(span),
                (None, Some(part)) => *part = false,
                (None, None) => {}
            }
        }
    }
    spans.sort_unstable();
    for part in spans.chunk_by(|a, b| a.0 == b.0) {
        let begins = part.first().is_some_and(|span| begins_at(span, first));
        let tiles = part.windows(2).all(|pair| begins_at(&pair[1], pair[0].2));
        if let Some(holds) = part
            .first()
            .and_then(|(part, ..)| holds.get_mut(*part as usize))
        {
            *holds &= begins && tiles;
        }
    }
    Ok(holds)
}

/// True when the local header of a member begins at `place`; that of an aligned one has padding.
fn begins_at(&(_, start, end, data): &Span, place: u64) -> bool {
    let padding = u64::from(block_padding(place.saturating_add(data - start)));
    let is_aligned = end - data >= ALIGNED_MIN;
    start == place || (is_aligned && start.checked_sub(padding) == Some(place))
}

/// True when the data also ends where the first table in `tables` begins.
pub fn ends_before(levels: &LevelSet, tables: &[HeaderEntry], ctx: &JobContext) -> Result<bool> {
    let mut end = 0;
    for depth in 0..levels.count() {
        let positions = levels.positions(depth, ctx)?;
        let ends = (0..levels.rows(depth) as u32)
            .filter_map(|row| positions.range(row))
            .map(|(offset, size)| offset + size);
        end = end.max(ends.max().unwrap_or_default());
    }
    let name = "METADATA/level0.parquet";
    let table = tables.first().map(|table| {
        table
            .offset
            .saturating_sub(local_header_len(name.len(), table.size))
    });
    Ok(table.is_some_and(|table| table == end))
}
