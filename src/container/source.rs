//! Bytes of files on this machine: ranges at any place, from several threads at once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::RowSource;
use super::output::PartialFile;
use super::transfer::Sources;

use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;
use crate::table::ParquetSlice;

/// An open file that is read by ranges. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LocalFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    path: PathBuf,
    size: u64,
}

impl LocalFile {
    /// Opens `path` for reading.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).io_at("open", path)?;
        let size = file.metadata().io_at("read", path)?.len();
        Ok(Self { inner: Arc::new(Inner { file, path: path.to_owned(), size }) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Length in bytes when it was opened.
    pub fn size_bytes(&self) -> u64 {
        self.inner.size
    }

    /// True when the range lies inside the file.
    pub fn contains(&self, offset: u64, size: u64) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.inner.size)
    }

    /// Fills `buffer` from `offset`.
    pub fn read_into(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        #[cfg(unix)]
        {
            std::os::unix::fs::FileExt::read_exact_at(&self.inner.file, buffer, offset)
        }
        #[cfg(windows)]
        {
            let mut done = 0;
            while done < buffer.len() {
                let read = std::os::windows::fs::FileExt::seek_read(&self.inner.file, &mut buffer[done..], offset + done as u64)?;
                if read == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                done += read;
            }
            Ok(())
        }
    }

    /// The bytes of a range. The range is checked against the file's length before anything is allocated.
    pub fn read(&self, offset: u64, size: u64) -> Result<Bytes> {
        if !self.contains(offset, size) {
            return Err(Error::format(format!(
                "{size} bytes at {offset} lie outside the file, which has {} bytes",
                self.inner.size
            ))
            .at_path(&self.inner.path)
            .hint("the file may be cut short: compare its size with the original"));
        }
        let mut buffer = vec![0; size as usize];
        self.read_into(offset, &mut buffer).io_at("read", &self.inner.path)?;
        Ok(buffer.into())
    }

    /// A Parquet file that is a range of this one.
    pub fn parquet(&self, offset: u64, size: u64) -> Result<ParquetSlice> {
        if !self.contains(offset, size) {
            return Err(
                Error::format(format!("the table at {offset} with {size} bytes lies outside the file")).at_path(self.path())
            );
        }
        let file = self.clone();
        Ok(ParquetSlice::new(size, move |start, length| {
            let mut buffer = vec![0; length];
            file.read_into(offset + start, &mut buffer)?;
            Ok(buffer.into())
        }))
    }
}

/// All bytes of an asset on this machine.
pub fn read_asset(asset: &AssetPath) -> Result<Bytes> {
    match asset {
        AssetPath::File(path) => Ok(std::fs::read(path).io_at("read the sample", &**path)?.into()),
        AssetPath::Range { container, offset, size } => LocalFile::open(container)?.read(*offset, *size),
        AssetPath::Vsi(text) => Err(Error::unsupported("only files on this machine can be read here").at(text)),
    }
}

/// Copies an asset into a new file, which appears complete or not at all.
pub fn copy_asset(asset: &AssetPath, target: &Path, ctx: &JobContext) -> Result<u64> {
    let size = match asset {
        AssetPath::File(path) => std::fs::metadata(path).io_at("read the sample", &**path)?.len(),
        AssetPath::Range { size, .. } => *size,
        AssetPath::Vsi(text) => return Err(Error::unsupported("only files on this machine can be copied").at(text)),
    };
    let source = RowSource::Asset { path: asset.clone(), size };
    let output = PartialFile::new(target, true)?;
    let mut file = output.file();
    Sources::default().stream(&source, ctx, &mut |chunk| file.write_all(chunk).io_at("write the sample", target))?;
    output.finish()?;
    Ok(size)
}
