//! Copies data of local files in the kernel (`copy_file_range`), so that file systems that share
//! blocks between files (Btrfs, XFS) store it once.

use std::fs::File;

use super::RowSource;
#[cfg(target_os = "linux")]
use super::sample_bytes::read_in_chunks;
use super::sample_bytes::{CopiedSample, CopySources, StoredRange, WholeLocalFile};
use crate::error::Result;
#[cfg(target_os = "linux")]
use crate::error::{Error, Kind};
#[cfg(target_os = "linux")]
use crate::handles::read_exact_at;
use crate::jobs::JobContext;
use crate::model::{AssetPath, is_remote};

/// True for data of a local file: [`CopySources::share_blocks`] can share its blocks.
pub fn can_share_blocks(source: &RowSource) -> bool {
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
    /// Copies a sample's data from its local file to offset `at` of `output` in the kernel, which
    /// shares the blocks where the file system can. The CRC-32 is that of the bytes read back from
    /// the copy. `None` where the kernel can't copy this source: [`CopySources::stream`] can, to
    /// the same place. `name` returns the sample's path, for messages.
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
                let source_file = WholeLocalFile::open(path, *size, *modified)?;
                let from = (&source_file.file, 0);
                let Some(crc) = copy_in_kernel(from, (output, at), *size, ctx)? else {
                    return Ok(None);
                };
                let modified = source_file.finish(path)?;
                Ok(Some(CopiedSample { crc, modified }))
            }
            AssetPath::Range {
                container,
                offset,
                size: length,
                stamp,
            } if !is_remote(container) => {
                let container_file =
                    self.open_container(container, *offset, *length, stamp.as_ref())?;
                let Some(file) = container_file.file.local_handle()? else {
                    return Ok(None);
                };
                let from = (&*file, *offset);
                let Some(crc) = copy_in_kernel(from, (output, at), *size, ctx)? else {
                    return Ok(None);
                };
                self.verify_crc(
                    &container_file,
                    StoredRange {
                        offset: *offset,
                        size: *size,
                        has_version: stamp.is_some(),
                    },
                    crc,
                    name,
                )?;
                let modified = None;
                Ok(Some(CopiedSample { crc, modified }))
            }
            _ => Ok(None),
        }
    }
}

/// Copies `size` bytes from one file to another in the kernel; returns the CRC-32 of the copy, read
/// back. `None` on any failure: copying through this process then works, or says what is wrong with
/// which file.
///
/// # Errors
/// When the job is cancelled.
#[cfg(target_os = "linux")]
fn copy_in_kernel(
    (from, from_at): (&File, u64),
    (to, to_at): (&File, u64),
    size: u64,
    ctx: &JobContext,
) -> Result<Option<u32>> {
    use rustix::io::Errno;
    /// Bytes copied between two checks for cancellation.
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
fn copy_in_kernel(_: (&File, u64), _: (&File, u64), _: u64, _: &JobContext) -> Result<Option<u32>> {
    Ok(None)
}
