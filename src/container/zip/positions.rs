//! Checks whether a level's stated byte ranges belong to its own samples, and computes the correct
//! ones.

use super::ZipReader;
use crate::container::ContainerReader;
use crate::error::{Result, separate_transient_error};
use crate::jobs::JobContext;

/// Number of FILEs of a level that are compared with the archive before the level's ranges are
/// trusted.
const PROBES: usize = 64;

impl ZipReader {
    /// True when the ranges of `level` are those of its samples. Some published archives have
    /// ranges of other samples below level
    /// 0. FILEs are stored in tree order, so their offsets must increase and a few comparisons with
    ///    the archive suffice; every FOLDER is compared.
    ///
    /// # Errors
    /// When the level table or the archive cannot be read.
    pub fn positions_hold(&self, level: usize, ctx: &JobContext) -> Result<bool> {
        if self.file().is_remote() {
            return self.tiles(ctx);
        }
        let tree = self.levels().skeleton(ctx)?;
        let positions = self.levels().positions(level, ctx)?;
        let Some(table) = tree.levels.get(level) else {
            return Ok(true);
        };
        let step = table.len().div_ceil(PROBES).max(1);
        let mut end = 0;
        for row in 0..table.len() as u32 {
            if row % 4096 == 0 {
                ctx.check()?;
            }
            let Some((offset, size)) = positions.range(row) else {
                return Ok(false);
            };
            let folder = table.folder[row as usize];
            if !folder && offset < end {
                return Ok(false);
            }
            let looked_at = folder || (row as usize).is_multiple_of(step);
            if looked_at && !self.is_data_of(&self.member_name(level, row)?, offset, size)? {
                return Ok(false);
            }
            if !folder {
                end = offset.saturating_add(size);
            }
        }
        Ok(true)
    }

    /// Offset and size in bytes of every row, looked up by member name; `None` where the archive
    /// has no such member.
    ///
    /// # Errors
    /// As [`ZipReader::positions_hold`].
    pub fn true_positions(
        &self,
        level: usize,
        ctx: &JobContext,
    ) -> Result<Vec<Option<(i64, i64)>>> {
        let rows = self.levels().rows(level) as u32;
        let mut found = Vec::with_capacity(rows as usize);
        for row in 0..rows {
            if row % 1024 == 0 {
                ctx.check()?;
            }
            let range = self
                .member_name(level, row)
                .and_then(|name| self.member_range(&name));
            let range = separate_transient_error(range)?.ok();
            found.push(range.map(|(offset, size)| (offset as i64, size as i64)));
        }
        Ok(found)
    }
}
