//! Reading the samples' bytes, whole or streamed. A source that is gone or has changed since the plan is an error with the
//! sample's path.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::{Assembly, BuildPlan, ByteSource, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, is_remote};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile};

/// Files up to this size are read whole; larger ones are streamed.
pub const WHOLE_MAX: u64 = 4 << 20;
/// Bytes read at a time from a large file.
const CHUNK: usize = 1 << 20;

/// Bytes and files of another machine that are brought ahead of the writer.
const AHEAD_BYTES: u64 = 16 << 20;
const AHEAD_FILES: usize = 32;

/// Fills a buffer from a place in a source; sources that are read in order ignore the place.
type ReadAt = dyn FnMut(u64, &mut [u8]) -> Result<()>;

/// Open containers that samples are ranges of.
#[derive(Default)]
pub struct Sources {
    containers: Mutex<HashMap<Arc<Path>, ByteSource>>,
    /// How far the plan's remote files were brought ahead of the writer.
    ahead: Mutex<usize>,
}

impl Sources {
    fn container(&self, path: &Arc<Path>, offset: u64, size: u64) -> Result<ByteSource> {
        let mut open = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(path) {
            return Ok(file.clone());
        }
        let file = ByteSource::open_for(&AssetPath::Range { container: path.clone(), offset, size })?;
        open.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Files to write side by side before those behind them are brought: all of them when they lie on this machine.
    pub fn batch(&self, plan: &BuildPlan, assembly: &Assembly) -> usize {
        let remote = |source: &RowSource| matches!(source, RowSource::Asset { path, .. } if path.remote_file().is_some());
        match plan.files.iter().any(|file| remote(plan.source(assembly, file))) {
            true => AHEAD_FILES,
            false => plan.files.len().max(1),
        }
    }

    /// Has the remote files of this part of the plan at hand, and some behind it: in few requests, side by side. What can't be
    /// had is left to the read that needs it, which knows the sample's name.
    pub fn bring(&self, plan: &BuildPlan, assembly: &Assembly, next: &Range<usize>) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if next.end <= *ahead {
            return;
        }
        let mut ranges: Vec<(Arc<Path>, u64, u64)> = Vec::new();
        let mut files: Vec<Arc<Path>> = Vec::new();
        let (mut bytes, mut at) = (0, next.start.max(*ahead));
        while let Some(file) = plan.files.get(at).filter(|_| bytes < AHEAD_BYTES && files.len() < AHEAD_FILES) {
            at += 1;
            let RowSource::Asset { path, size } = plan.source(assembly, file) else { continue };
            if *size > WHOLE_MAX {
                continue;
            }
            match path {
                AssetPath::Range { container, offset, size } if is_remote(container) => {
                    bytes += size;
                    ranges.push((container.clone(), *offset, *size));
                }
                AssetPath::File(path) if is_remote(path) => files.push(path.clone()),
                _ => {}
            }
        }
        *ahead = at;
        drop(ahead);
        ranges.sort();
        for same in ranges.chunk_by(|a, b| a.0 == b.0) {
            let Some((container, offset, size)) = same.first() else { continue };
            let places: Vec<(u64, u64)> = same.iter().map(|(_, offset, size)| (*offset, *size)).collect();
            let _ = self.container(container, *offset, *size).and_then(|source| source.prefetch(&places));
        }
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let _ = RemoteFile::open_all(&files, FIRST_OF_SAMPLE);
    }

    /// Fills `buffer`, which has the source's size, with its bytes; returns when it was last changed.
    pub fn read_into(&self, source: &RowSource, buffer: &mut [u8]) -> Result<Option<SystemTime>> {
        match source {
            RowSource::Folder => Err(Error::internal("a FOLDER has no bytes of its own")),
            RowSource::Bytes(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(None)
            }
            RowSource::Asset { path: AssetPath::File(path), size } if is_remote(path) => {
                remote_planned(path, *size)?.read_into(0, buffer).io_at("read the sample", &**path)?;
                Ok(None)
            }
            RowSource::Asset { path: AssetPath::File(path), size } => {
                let (mut file, modified) = open_planned(path, *size)?;
                file.read_exact(buffer).io_at("read the sample", &**path)?;
                Ok(modified)
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, size }, .. } => {
                self.container(container, *offset, *size)?.read_into(*offset, buffer).io_at("read the sample", &**container)?;
                Ok(None)
            }
            RowSource::Asset { path: AssetPath::Vsi(text), .. } => Err(not_local(text)),
        }
    }

    /// Streams a source through `sink`; returns when it was last changed.
    pub fn stream(
        &self,
        source: &RowSource,
        ctx: &JobContext,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Option<SystemTime>> {
        let (mut read, size, modified): (Box<ReadAt>, u64, _) = match source {
            RowSource::Asset { path: AssetPath::File(path), size } if is_remote(path) => {
                let (file, path) = (remote_planned(path, *size)?, path.clone());
                (Box::new(move |at, buffer| file.read_into(at, buffer).io_at("read the sample", &*path)), *size, None)
            }
            RowSource::Asset { path: AssetPath::File(path), size } => {
                let (mut file, modified) = open_planned(path, *size)?;
                let path = path.clone();
                (Box::new(move |_, buffer| file.read_exact(buffer).io_at("read the sample", &*path)), *size, modified)
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, .. }, size } => {
                let file = self.container(container, *offset, *size)?;
                let (offset, container) = (*offset, container.clone());
                (Box::new(move |at, buffer| file.read_into(offset + at, buffer).io_at("read the sample", &*container)), *size, None)
            }
            RowSource::Asset { path: AssetPath::Vsi(text), .. } => return Err(not_local(text)),
            small => {
                let mut bytes = vec![0; small.size_bytes() as usize];
                self.read_into(small, &mut bytes)?;
                sink(&bytes)?;
                return Ok(None);
            }
        };
        let mut buffer = vec![0; CHUNK];
        let mut at = 0;
        while at < size {
            ctx.check()?;
            let length = CHUNK.min((size - at) as usize);
            read(at, &mut buffer[..length])?;
            sink(&buffer[..length])?;
            ctx.bytes(length as u64);
            at += length as u64;
        }
        Ok(modified)
    }
}

fn not_local(text: &str) -> Error {
    Error::unsupported("the bytes behind this path are GDAL's alone").at(text)
}

fn remote_planned(path: &Path, size: u64) -> Result<ByteSource> {
    let file = ByteSource::open_for(&AssetPath::File(path.into()))?;
    if file.size_bytes() != size {
        return Err(changed(size, file.size_bytes()).at_path(path));
    }
    Ok(file)
}

fn changed(planned: u64, found: u64) -> Error {
    let summary = format!("the file changed while the dataset was being written: it had {planned} bytes and has {found}");
    Error::new(crate::error::Kind::Io, summary).hint("wait until nothing writes to it, then write the dataset again")
}

/// Opens a source and compares its size with the plan's: offsets of everything after it depend on that.
fn open_planned(path: &Path, size: u64) -> Result<(File, Option<SystemTime>)> {
    let file = crate::files::open(path).io_at("open the sample", path)?;
    let meta = file.metadata().io_at("read the sample", path)?;
    if meta.len() != size || !meta.is_file() {
        return Err(changed(size, meta.len()).at_path(path));
    }
    Ok((file, meta.modified().ok()))
}

/// Adds the sample to an error about its source.
pub fn name_sample(error: Error, assembly: &Assembly, plan: &BuildPlan, index: usize) -> Error {
    if error.is_cancelled() {
        return error;
    }
    let file = &plan.files[index];
    let path = assembly.tree.path(file.level as usize, file.row);
    Error::new(error.kind(), format!("sample {path} can't be written")).because(error)
}
