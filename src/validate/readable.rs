//! Whether what claims to be a raster can be read: by its header, and in a deep check by all of its
//! pixels.

use std::sync::Arc;

use rayon::prelude::*;

use super::header_cache::{HeaderCache, HeaderLook};
use super::readable_tree::read_tree;
use crate::container::ContainerReader;
use crate::error::{Kind, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Modified, Report, Rule, is_padding};
use crate::raster::{self, claims_raster};

/// Why a file without a byte, such as one of a download that failed, is no raster.
const EMPTY_FILE: &str = "The file is empty.";

/// Why the header of a draft's file can't be read; `None` when it can, and for files that don't
/// claim to be rasters.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn header_fault(
    id: &str,
    path: &AssetPath,
    size: u64,
    modified: Modified,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Option<Arc<str>>> {
    if is_padding(id) || path.remote_file().is_some() || !claims_to_be_raster(id, path) {
        return Ok(None);
    }
    if size == 0 {
        return Ok(Some(EMPTY_FILE.into()));
    }
    let looked = cache.look(path, Some((size, modified)))?;
    looked.warn(id, ctx);
    Ok(match looked {
        HeaderLook::Fault(fault) => Some(fault),
        HeaderLook::Raster(_)
        | HeaderLook::NoRaster
        | HeaderLook::MissingCodec(_)
        | HeaderLook::Unread => None,
    })
}

fn claims_to_be_raster(id: &str, path: &AssetPath) -> bool {
    let has_name = matches!(path, AssetPath::File(_) | AssetPath::Packed(_));
    claims_raster(id) || (has_name && path.file_name().is_some_and(|name| claims_raster(&name)))
}

/// Message of the finding.
pub(super) fn header_message(reason: &str) -> String {
    tr!(
        "This raster can't be opened: {reason} Take the file from another copy, or drop the \
            sample.",
        reason
    )
}

/// Reads header and pixels of every FILE of a dataset that claims to be a raster, or is one. The
/// headers are left in `cache`.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check(
    reader: &dyn ContainerReader,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Some(tree) = read_tree(reader, ctx)? else {
        return Ok(());
    };
    for (depth, level) in tree.levels.iter().enumerate() {
        let is_file = |row: &u32| !level.folder[*row as usize] && !is_padding(level.id(*row));
        let rows: Vec<u32> = (0..level.len() as u32).filter(is_file).collect();
        ctx.stage(tr!("Reading the rasters"), Some(rows.len() as u64));
        let faults: Vec<(u32, String)> = rows
            .par_iter()
            .map(|&row| {
                ctx.check()?;
                let place = || tree.archive_path(depth, row);
                let fault = pixel_fault(
                    reader,
                    (depth, row),
                    claims_raster(level.id(row)),
                    &place,
                    cache,
                    ctx,
                )?;
                ctx.step(1);
                Ok(fault.map(|fault| (row, fault)))
            })
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        for (row, fault) in faults {
            report.add(
                Rule::RasterRead,
                Location::Sample {
                    level: depth,
                    row,
                    path: tree.path(depth, row),
                },
                fault,
            );
        }
    }
    Ok(())
}

/// Why the raster at a level and row can't be read. One whose name claims a raster (`is_claimed`)
/// has to open as one.
fn pixel_fault(
    reader: &dyn ContainerReader,
    (depth, row): (usize, u32),
    is_claimed: bool,
    place: &dyn Fn() -> String,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Option<String>> {
    // Bytes that can't be read at all are reported by another rule.
    let Ok((asset, size)) = reader.asset(depth, row) else {
        return Ok(None);
    };
    if size == 0 {
        return Ok(is_claimed.then(|| header_message(EMPTY_FILE)));
    }
    // References to other data have a rule of their own.
    if matches!(raster::references_of(&asset), Ok(Some(_))) {
        return Ok(None);
    }
    let looked = cache.look(&asset, None)?;
    looked.warn(&place(), ctx);
    match looked {
        HeaderLook::Fault(reason) if is_claimed => return Ok(Some(header_message(&reason))),
        HeaderLook::NoRaster if is_claimed => {}
        HeaderLook::Raster(_) => {}
        HeaderLook::Fault(_)
        | HeaderLook::MissingCodec(_)
        | HeaderLook::NoRaster
        | HeaderLook::Unread => return Ok(None),
    }
    let (source, _) = reader.raster(depth, row)?;
    match raster::read_through(&source, ctx) {
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) if error.kind() == Kind::Format => {
            let reason = error.sentence();
            Ok(Some(tr!(
                "Not all pixels of this raster can be read: {reason} Take the file from another \
                    copy.",
                reason
            )))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_raster_is_found_by_its_header_and_again_only_when_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tif");
        std::fs::write(&path, b"II*\0\x08\0\0\0 not a TIFF").expect("writes");
        let cache = HeaderCache::default();
        let fault = |name: &str, modified: i64| {
            header_fault(
                name,
                &AssetPath::file(path.as_path()),
                19,
                Modified(modified),
                &cache,
                &JobContext::default(),
            )
            .expect("looks")
        };
        assert!(
            fault("a.tif", 1).is_some() && fault("label", 1).is_some(),
            "the file claims it, whatever the id is"
        );
        std::fs::remove_file(&path).expect("removes");
        assert!(
            fault("a.tif", 1).is_some(),
            "the same version is not read again"
        );
        assert!(
            fault("a.tif", 2).is_none(),
            "another version is, and a missing file is not its subject"
        );
        let of_empty = |id: &str| {
            let asset = AssetPath::file(path.as_path());
            header_fault(id, &asset, 0, Modified(1), &cache, &JobContext::default())
        };
        assert_eq!(
            of_empty("a.tif").expect("looks").as_deref(),
            Some(EMPTY_FILE)
        );
        assert_eq!(of_empty("__TACOPAD__0").expect("looks"), None);
        let text = folder.path().join("a.txt");
        std::fs::write(&text, b"text").expect("writes");
        let notes = header_fault(
            "notes",
            &AssetPath::file(text.as_path()),
            4,
            Modified(1),
            &cache,
            &JobContext::default(),
        );
        assert_eq!(notes.expect("looks"), None);
    }
}
