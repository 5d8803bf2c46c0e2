//! Replaces the footer or COLLECTION of an existing file in place; the samples are not touched. The
//! new tables are written to unused space and synced before the 200-byte header is updated to point
//! to them. A process killed at any moment leaves either the old or the new file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use bytes::Bytes;

use super::header::{HEADER_SIZE, TortillaHeader};
use crate::container::atomic_write::{PartialFile, check_space, write_at};
use crate::container::sample_bytes::CopySources;
use crate::container::{LocalFile, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;

/// Changes of a file; `None` keeps the current value.
#[derive(Clone, Debug, Default)]
pub struct TortillaChange {
    /// The footer as Parquet, with the offsets of the samples in the file.
    pub footer: Option<Bytes>,
    /// COLLECTION; `Some(None)` removes it, which makes the file a TORTILLA.
    pub collection: Option<Option<Bytes>>,
}

/// Changes the file at `path`. `data_end` is the end offset of its last sample. Returns the new
/// header.
///
/// # Errors
/// When the file cannot be written; it is then unchanged.
pub fn change_tortilla(
    path: &Path,
    data_end: u64,
    change: &TortillaChange,
) -> Result<TortillaHeader> {
    let local = LocalFile::open(path)?;
    let before = local.read(0, HEADER_SIZE)?;
    let old = TortillaHeader::parse(&before)?;
    if old.is_early(&before) {
        let error = Error::unsupported(
            "this file has a header of an early release, which can't be changed in place",
        )
        .at_path(path);
        return Err(error.hint("`compile` writes a copy with today's header, which can be edited"));
    }
    if let Some(fault) = old.fault(local.size_bytes()) {
        return Err(Error::format(fault).at_path(path));
    }
    let footer = match &change.footer {
        Some(footer) => footer.clone(),
        None => local.read(old.footer.0, old.footer.1)?,
    };
    let collection = match (&change.collection, old.collection) {
        (Some(new), _) => new.clone(),
        (None, Some((offset, length))) => Some(local.read(offset, length)?),
        (None, None) => None,
    };
    let needed = footer.len() as u64 + collection.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let at = free_place(&old, data_end, needed);
    let end = at + needed;
    let header = TortillaHeader {
        footer: (at, footer.len() as u64),
        partitions: old.partitions,
        collection: collection
            .as_ref()
            .map(|bytes| (at + footer.len() as u64, bytes.len() as u64)),
        end: HEADER_SIZE,
    };
    if end > local.size_bytes() {
        check_space(path, end - local.size_bytes())?;
    }
    let size = local.size_bytes();
    drop(local);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .io_at("open for writing", path)?;
    if let Err(error) = write_tables(&file, path, &header, &footer, collection.as_deref()) {
        // The old tables were not overwritten; the bytes appended after them are cut off.
        let _ = write_at(&file, &before, 0).and_then(|()| file.set_len(size));
        return Err(error);
    }
    file.sync_all().io_at("sync the header to disk", path)?;
    // The bytes after the new tables are unused.
    if end < size {
        file.set_len(end).io_at("cut off the old tables", path)?;
    }
    Ok(header)
}

/// Writes the tables where the header says that they are, and then the header.
fn write_tables(
    file: &File,
    path: &Path,
    header: &TortillaHeader,
    footer: &[u8],
    collection: Option<&[u8]>,
) -> Result<()> {
    let (at, length) = header.footer;
    write_at(file, footer, at).io_at("write the footer", path)?;
    if let Some(collection) = collection {
        write_at(file, collection, at + length).io_at("write COLLECTION", path)?;
    }
    file.sync_all().io_at("sync the new tables to disk", path)?;
    // A single write within one disk sector is atomic.
    write_at(file, &header.to_bytes(), 0).io_at("write the header", path)
}

/// Applies [`change_tortilla`] to a copy of `source` at `output`, which appears changed or not at
/// all.
pub fn copy_changed(
    source: &LocalFile,
    output: &Path,
    overwrite: bool,
    data_end: u64,
    change: &TortillaChange,
    ctx: &JobContext,
) -> Result<TortillaHeader> {
    let size = source.size_bytes();
    check_space(output, size)?;
    let partial = PartialFile::new(output, overwrite)?;
    let mut out = partial.file();
    // Reads the version that the offsets refer to.
    let whole = RowSource::asset(source.range(0, size), size);
    ctx.stage(tr!("Copying"), None);
    let (sources, name) = (CopySources::default(), || {
        source.path().display().to_string()
    });
    sources.stream(&whole, &name, ctx, &mut |chunk| {
        out.write_all(chunk).io_at("write the output", output)
    })?;
    sources.finish(ctx)?;
    let header = change_tortilla(partial.path(), data_end, change)?;
    partial.finish()?;
    Ok(header)
}

/// Offset of the new tables: between the samples and the current tables when they fit there, else
/// behind both. What an interrupted change left there is overwritten.
fn free_place(old: &TortillaHeader, data_end: u64, needed: u64) -> u64 {
    let used = || [Some(old.footer), old.collection].into_iter().flatten();
    let first = used().map(|(offset, _)| offset).min().unwrap_or(data_end);
    let fits =
        data_end >= HEADER_SIZE && data_end.checked_add(needed).is_some_and(|end| end <= first);
    if fits {
        data_end
    } else {
        used()
            .map(|(offset, length)| offset.saturating_add(length))
            .fold(data_end, u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tables_never_overwrite_those_in_use() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("x.taco");
        let header = TortillaHeader {
            footer: (210, 6),
            partitions: 1,
            collection: Some((216, 2)),
            end: HEADER_SIZE,
        };
        let bytes = [&header.to_bytes()[..], b"0123456789", b"footer", b"{}"].concat();
        std::fs::write(&path, &bytes).expect("writes");
        let change = |footer: Option<&'static [u8]>, collection: Option<Option<&'static [u8]>>| {
            TortillaChange {
                footer: footer.map(Bytes::from_static),
                collection: collection.map(|c| c.map(Bytes::from_static)),
            }
        };
        // No space before the current tables: the new ones are appended.
        let first = change_tortilla(&path, 210, &change(Some(b"another"), None)).expect("changes");
        assert_eq!(
            first,
            TortillaHeader {
                footer: (218, 7),
                partitions: 1,
                collection: Some((225, 2)),
                end: HEADER_SIZE
            }
        );
        // Now there is space, and the file shrinks again.
        let second =
            change_tortilla(&path, 210, &change(Some(b"foot"), Some(None))).expect("changes");
        assert_eq!(
            second,
            TortillaHeader {
                footer: (210, 4),
                partitions: 1,
                collection: None,
                end: HEADER_SIZE
            }
        );
        let now = std::fs::read(&path).expect("reads");
        assert_eq!(now.len(), 214);
        assert_eq!(&now[200..], b"0123456789foot");
        assert_eq!(TortillaHeader::parse(&now).expect("reads"), second);
        // What an interrupted change wrote behind the tables makes no difference.
        for left in [&b""[..], b"another footer, without its header"] {
            std::fs::write(&path, [&now, left].concat()).expect("writes");
            let third =
                change_tortilla(&path, 210, &change(Some(b"a third"), None)).expect("changes");
            assert_eq!(third.footer, (214, 7));
            assert_eq!(
                std::fs::read(&path).expect("reads")[200..],
                *b"0123456789foota third"
            );
        }
    }
}
