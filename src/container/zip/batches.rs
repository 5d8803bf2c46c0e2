//! Copies the data of a ZIP in batches: small files are read in parallel directly to their offset
//! in a buffer that is written at once, including local headers; large files are streamed. A few
//! buffers are reused, so memory does not grow with the dataset.

use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel};

use rayon::prelude::*;

use super::members::{WrittenMember, planned_member};
use crate::container::block_sharing::can_share_blocks;
use crate::container::plan::PlannedFile;
use crate::container::sample_bytes::{CopiedSample, CopySources, WHOLE_MAX};
use crate::container::{Assembly, BuildPlan};
use crate::error::Result;
use crate::jobs::{self, JobContext, panic_error, try_map};
use crate::zip_format::DosTime;

/// Size of a batch in bytes, small enough for the CPU cache. At most three batches exist: being
/// read, queued, being written.
const RUN_BYTES: u64 = 2 << 20;

/// The next part of the data, in plan order.
pub enum DataPiece {
    /// Consecutive small files.
    Run {
        /// The files, in order.
        files: Vec<WrittenMember>,
        /// Local headers and data as stored in the archive.
        bytes: Vec<u8>,
    },
    /// A file that is too large to be read whole, or whose blocks may be shared, by its index in
    /// the plan: to be written by itself.
    Large(usize),
}

/// Calls `write` for all planned files, in plan order, while the next ones are read in the
/// background; with `shares_blocks` not those whose blocks may be shared.
///
/// # Errors
/// The first error of reading a sample, or of `write`.
pub fn for_each_piece(
    plan: &BuildPlan,
    assembly: &Assembly,
    sources: &CopySources,
    shares_blocks: bool,
    ctx: &JobContext,
    mut write: impl FnMut(&DataPiece) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel::<Result<DataPiece>>(1);
    let (give_back, used) = channel::<Vec<u8>>();
    std::thread::scope(|scope| {
        let job = jobs::current();
        let reader = scope.spawn(move || {
            jobs::adopt(job);
            for planned in pieces(plan, assembly, shares_blocks) {
                let piece = match planned {
                    PlannedBatch::Large(index) => Ok(DataPiece::Large(index)),
                    PlannedBatch::Run(range) => read_run(
                        plan,
                        assembly,
                        sources,
                        ctx,
                        range,
                        used.try_recv().unwrap_or_default(),
                    ),
                };
                let stop = piece.is_err();
                // The receiver is gone when the writer failed; the writer's error is reported.
                if sender.send(piece).is_err() || stop {
                    return;
                }
            }
        });
        for piece in &receiver {
            ctx.check()?;
            let piece = piece?;
            write(&piece)?;
            if let DataPiece::Run { bytes, .. } = piece {
                // The reader may have finished already; then the buffer is dropped.
                let _ = give_back.send(bytes);
            }
        }
        drop(receiver);
        reader
            .join()
            .map_err(|panic| panic_error("reading the samples", panic.as_ref()))
    })
}

fn read_run(
    plan: &BuildPlan,
    assembly: &Assembly,
    sources: &CopySources,
    ctx: &JobContext,
    range: Range<usize>,
    mut bytes: Vec<u8>,
) -> Result<DataPiece> {
    sources.prefetch(plan, assembly, &range);
    let files = &plan.files[range.clone()];
    let start = files.first().map_or(0, |file| file.local);
    let end = plan
        .files
        .get(range.end)
        .map_or(plan.data_end, |file| file.local);
    bytes.resize((end - start) as usize, 0);
    let mut places = Vec::with_capacity(files.len());
    let mut rest = bytes.as_mut_slice();
    for (offset, file) in files.iter().enumerate() {
        let next = files.get(offset + 1).map_or(end, |next| next.local);
        let (place, after) = rest.split_at_mut((next - file.local) as usize);
        places.push((range.start + offset, place));
        rest = after;
    }
    let written = try_map(
        places.into_par_iter().with_min_len(4),
        |_, (index, place)| {
            ctx.check()?;
            let file = &plan.files[index];
            let (header, data) = place.split_at_mut(place.len() - file.size as usize);
            let read = sources.read_into(
                plan.source(assembly, file),
                &|| plan.sample(assembly, index),
                data,
            );
            let copied = read.map_err(|error| plan.name_sample(error, assembly, index))?;
            let written = written_file(copied);
            let mut record = Vec::with_capacity(header.len());
            planned_member(plan, file, written).put_local(&mut record);
            header.copy_from_slice(&record);
            Ok(written)
        },
    )?;
    Ok(DataPiece::Run {
        files: written,
        bytes,
    })
}

/// What is kept of a file that was copied.
pub fn written_file(copied: CopiedSample) -> WrittenMember {
    WrittenMember {
        crc: copied.crc,
        time: copied
            .modified
            .map_or(DosTime::EPOCH, DosTime::from_system_time),
    }
}

enum PlannedBatch {
    Run(Range<usize>),
    Large(usize),
}

fn pieces(
    plan: &BuildPlan,
    assembly: &Assembly,
    shares_blocks: bool,
) -> impl Iterator<Item = PlannedBatch> {
    let mut at = 0;
    let is_shared = move |file: &PlannedFile| {
        shares_blocks && file.is_aligned && can_share_blocks(plan.source(assembly, file))
    };
    let is_large = move |file: &PlannedFile| file.size > WHOLE_MAX || is_shared(file);
    std::iter::from_fn(move || {
        let first = plan.files.get(at)?;
        if is_large(first) {
            at += 1;
            return Some(PlannedBatch::Large(at - 1));
        }
        let start = at;
        while plan.files.get(at).is_some_and(|file| {
            !is_large(file) && (at == start || file.local - first.local < RUN_BYTES)
        }) {
            at += 1;
        }
        Some(PlannedBatch::Run(start..at))
    })
}
