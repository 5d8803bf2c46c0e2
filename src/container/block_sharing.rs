//! Copies samples of local files within the system, so that file systems that share blocks between
//! files (Btrfs, XFS) keep the data once.

use std::fs::File;

use super::RowSource;
#[cfg(target_os = "linux")]
use super::sample_bytes::read_in_chunks;
use super::sample_bytes::{CopiedSample, CopySources, WholeLocalFile};
use crate::error::Result;
#[cfg(target_os = "linux")]
use crate::error::{Error, Kind};
#[cfg(target_os = "linux")]
use crate::handles::read_exact_at;
use crate::jobs::JobContext;
use crate::model::{AssetPath, is_remote};

/// True for data of a local file, which [`CopySources::share_blocks`] may copy.
pub fn has_blocks(source: &RowSource) -> bool {
    let RowSource::Asset { path, .. } = source else {
        return false;
    };
    match path {
        AssetPath::File(file)
        | AssetPath::Range {
            container: file, ..
        } => !is_remote(file),
        AssetPath::Packed(_) | AssetPath::Vsi(_) => false,
    }
}

impl CopySources {
    /// Copies a sample's data of local files to offset `at` of `output` within the system, which
    /// shares the blocks of the source where the file system can; its CRC-32 is that of the copied
    /// bytes. `None` where the system can't copy this source: [`CopySources::stream`] can. `name`
    /// returns the sample's path.
    ///
    /// # Errors
    /// As [`CopySources::read_into`].
    pub fn share_blocks(
        &self,
        source: &RowSource,
        name: &dyn Fn() -> String,
        (output, at): (&File, u64),
        ctx: &JobContext,
    ) -> Result<Option<CopiedSample>> {
        let RowSource::Asset {
            path,
            size,
            modified,
        } = source
        else {
            return Ok(None);
        };
        match path {
            AssetPath::File(path) if !is_remote(path) => {
                let planned = WholeLocalFile::open(path, *size, *modified)?;
                let from = (&planned.file, 0);
                let Some(crc) = copy_within_system(from, (output, at), *size, ctx)? else {
                    return Ok(None);
                };
                let modified = planned.end(path)?;
                Ok(Some(CopiedSample { crc, modified }))
            }
            AssetPath::Range {
                container,
                offset,
                size: length,
                stamp,
            } if !is_remote(container) => {
                let held = self.container(container, *offset, *length, stamp.as_ref())?;
                let Some(file) = held.file.local_handle()? else {
                    return Ok(None);
                };
                let from = (&*file, *offset);
                let Some(crc) = copy_within_system(from, (output, at), *size, ctx)? else {
                    return Ok(None);
                };
                self.compare(&held, (*offset, *size, stamp.is_some()), crc, name)?;
                let modified = None;
                Ok(Some(CopiedSample { crc, modified }))
            }
            _ => Ok(None),
        }
    }
}

/// Copies `size` bytes of a file to a place in another one without passing them through this
/// process; returns the CRC-32 of the copy. `None` where that fails: copying through this process
/// then works, or says what is wrong with which file.
///
/// # Errors
/// When the job is cancelled.
#[cfg(target_os = "linux")]
fn copy_within_system(
    (from, from_at): (&File, u64),
    (to, to_at): (&File, u64),
    size: u64,
    ctx: &JobContext,
) -> Result<Option<u32>> {
    use rustix::io::Errno;
    /// Bytes that are copied between two looks at whether the job is cancelled.
    const STEP: u64 = 64 << 20;
    let mut copied = 0;
    while copied < size {
        ctx.check()?;
        let (mut read, mut written) = (from_at + copied, to_at + copied);
        let length = (size - copied).min(STEP) as usize;
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), length) {
            // Some file systems copy nothing instead of refusing it.
            Ok(0) => return Ok(None),
            Ok(moved) => copied += moved as u64,
            Err(Errno::INTR) => {}
            Err(_) => return Ok(None),
        }
    }
    let mut read_copy = |at: u64, buffer: &mut [u8]| {
        read_exact_at(to, to_at + at, buffer)
            .map_err(|error| Error::new(Kind::Io, "the copy can't be read").because(error))
    };
    match read_in_chunks(size, ctx, &mut read_copy, &mut |_| Ok(())) {
        Ok(crc) => Ok(Some(crc)),
        Err(error) if error.is_cancelled() => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
fn copy_within_system(
    _: (&File, u64),
    _: (&File, u64),
    _: u64,
    _: &JobContext,
) -> Result<Option<u32>> {
    Ok(None)
}
