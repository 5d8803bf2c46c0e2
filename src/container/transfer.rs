//! Reading the samples' bytes, whole or streamed. A source that is gone or has changed since the plan is an error with the
//! sample's path.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::{Assembly, BuildPlan, LocalFile, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Files up to this size are read whole; larger ones are streamed.
pub const WHOLE_MAX: u64 = 4 << 20;
/// Bytes read at a time from a large file.
const CHUNK: usize = 1 << 20;

/// Fills a buffer from a place in a source; sources that are read in order ignore the place.
type ReadAt = dyn FnMut(u64, &mut [u8]) -> Result<()>;

/// Open containers that samples are ranges of.
#[derive(Default)]
pub struct Sources {
    containers: Mutex<HashMap<Arc<Path>, LocalFile>>,
}

impl Sources {
    fn container(&self, path: &Arc<Path>) -> Result<LocalFile> {
        let mut open = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(path) {
            return Ok(file.clone());
        }
        let file = LocalFile::open(path)?;
        open.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Fills `buffer`, which has the source's size, with its bytes; returns when it was last changed.
    pub fn read_into(&self, source: &RowSource, buffer: &mut [u8]) -> Result<Option<SystemTime>> {
        match source {
            RowSource::Folder => Err(Error::internal("a FOLDER has no bytes of its own")),
            RowSource::Bytes(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(None)
            }
            RowSource::Asset { path: AssetPath::File(path), size } => {
                let (mut file, modified) = open_planned(path, *size)?;
                file.read_exact(buffer).io_at("read the sample", &**path)?;
                Ok(modified)
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, .. }, .. } => {
                self.container(container)?.read_into(*offset, buffer).io_at("read the sample", &**container)?;
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
            RowSource::Asset { path: AssetPath::File(path), size } => {
                let (mut file, modified) = open_planned(path, *size)?;
                let path = path.clone();
                (Box::new(move |_, buffer| file.read_exact(buffer).io_at("read the sample", &*path)), *size, modified)
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, .. }, size } => {
                let file = self.container(container)?;
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
    Error::unsupported("only samples on this machine can be written in this version").at(text)
}

/// Opens a source and compares its size with the plan's: offsets of everything after it depend on that.
fn open_planned(path: &Path, size: u64) -> Result<(File, Option<SystemTime>)> {
    let file = File::open(path).io_at("open the sample", path)?;
    let meta = file.metadata().io_at("read the sample", path)?;
    if meta.len() != size || !meta.is_file() {
        return Err(Error::new(
            crate::error::Kind::Io,
            format!("the file changed while the dataset was being written: it had {size} bytes and has {}", meta.len()),
        )
        .at_path(path)
        .hint("wait until nothing writes to it, then write the dataset again"));
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
