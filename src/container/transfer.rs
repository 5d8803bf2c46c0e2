//! Moving the samples' bytes: small files read ahead in parallel batches, large ones streamed; memory does not grow with the
//! dataset. A source that is gone or has changed since the plan is an error with the sample's path.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use rayon::prelude::*;

use super::{Assembly, BuildPlan, LocalFile, RowSource};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Files up to this size are read whole; larger ones are streamed.
pub const WHOLE_MAX: u64 = 4 << 20;
/// Bytes in one batch of whole files. Three batches are alive at the most: being read, waiting, being written.
const BATCH_BYTES: u64 = 8 << 20;
/// Files in one batch.
const BATCH_FILES: usize = 1024;
/// Bytes read at a time from a large file.
const CHUNK: usize = 1 << 20;

/// A whole file, ready to be written.
pub struct Whole {
    /// Its place in the plan.
    pub index: usize,
    /// Its data.
    pub bytes: Bytes,
    /// CRC-32 of the data.
    pub crc: u32,
    /// When the source was last changed, where it is a file of its own.
    pub modified: Option<SystemTime>,
}

/// What comes next in plan order.
pub enum Piece {
    /// Small files.
    Batch(Vec<Whole>),
    /// A large file at this place in the plan: stream it.
    Large(usize),
}

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

    /// All bytes of a source, and when it was last changed.
    pub fn whole(&self, source: &RowSource) -> Result<(Bytes, Option<SystemTime>)> {
        match source {
            RowSource::Folder => Err(Error::internal("a FOLDER has no bytes of its own")),
            RowSource::Bytes(bytes) => Ok((bytes.clone(), None)),
            RowSource::Asset { path: AssetPath::File(path), size } => {
                let (mut file, modified) = open_planned(path, *size)?;
                let mut bytes = vec![0; *size as usize];
                file.read_exact(&mut bytes).io_at("read the sample", &**path)?;
                Ok((bytes.into(), modified))
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, .. }, size } => {
                Ok((self.container(container)?.read(*offset, *size)?, None))
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
                sink(&self.whole(small)?.0)?;
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

/// Gives every planned file to `write`, in plan order, while the next ones are being read.
pub fn for_each_piece(
    plan: &BuildPlan,
    assembly: &Assembly,
    sources: &Sources,
    ctx: &JobContext,
    mut write: impl FnMut(Piece) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel::<Result<Piece>>(1);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            for piece in pieces(plan) {
                let ready = match piece {
                    Planned::Large(index) => Ok(Piece::Large(index)),
                    Planned::Batch(range) => {
                        let batch = range.into_par_iter().map(|index| read_whole(plan, assembly, sources, ctx, index));
                        batch.collect::<Result<Vec<_>>>().map(Piece::Batch)
                    }
                };
                let stop = ready.is_err();
                // The writer has stopped when nobody receives; its own error is the one that counts.
                if sender.send(ready).is_err() || stop {
                    return;
                }
            }
        });
        for piece in &receiver {
            ctx.check()?;
            write(piece?)?;
        }
        drop(receiver);
        reader.join().map_err(|panic| crate::jobs::panic_error("reading the samples", panic.as_ref()))
    })
}

fn read_whole(plan: &BuildPlan, assembly: &Assembly, sources: &Sources, ctx: &JobContext, index: usize) -> Result<Whole> {
    ctx.check()?;
    let file = &plan.files[index];
    let outcome = sources.whole(plan.source(assembly, file));
    let (bytes, modified) = outcome.map_err(|error| name_sample(error, assembly, plan, index))?;
    Ok(Whole { index, crc: crc32fast::hash(&bytes), bytes, modified })
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

enum Planned {
    Batch(std::ops::Range<usize>),
    Large(usize),
}

fn pieces(plan: &BuildPlan) -> impl Iterator<Item = Planned> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = plan.files.get(at)?;
        if first.size > WHOLE_MAX {
            at += 1;
            return Some(Planned::Large(at - 1));
        }
        let start = at;
        let mut bytes = 0;
        while let Some(file) = plan.files.get(at) {
            bytes += file.size;
            if file.size > WHOLE_MAX || at - start == BATCH_FILES || (at > start && bytes > BATCH_BYTES) {
                break;
            }
            at += 1;
        }
        Some(Planned::Batch(start..at))
    })
}
