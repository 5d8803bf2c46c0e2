//! Checks a publication: opens it by byte ranges, counts requests and bytes, and compares random
//! samples with the local dataset.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::container::{self, ContainerReader, read_asset_start};
use crate::error::{Error, Kind, Result};
use crate::jobs::{self, JobContext};
use crate::model::SampleKind;
use crate::remote::{ActionTraffic, traffic_of};

/// Maximum number of compared samples.
const COMPARED_SAMPLES_MAX: usize = 24;
/// Maximum number of bytes of a sample that are compared.
const COMPARED_BYTES_MAX: u64 = 4 << 20;

/// Requests, bytes and time of opening a published dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpenedPublication {
    /// Path or address that was opened.
    pub path: PathBuf,
    /// Number of requests until the levels were read; 0 for a local folder.
    pub requests: u64,
    /// Bytes received until the levels were read.
    pub bytes: u64,
    /// Time until the levels were read, in seconds.
    pub seconds: f64,
    /// Number of rows of each level.
    pub rows: Vec<u64>,
    /// Number of randomly chosen samples compared byte for byte with the local files.
    pub compared: u64,
    /// Number of bytes compared.
    pub compared_bytes: u64,
    /// Total number of requests, with those of the comparison.
    pub all_requests: u64,
    /// Total number of bytes received, with those of the comparison.
    pub all_bytes: u64,
}

/// Opens the dataset at `path` and compares it with the local dataset `local`.
///
/// # Errors
/// [`Kind::Damaged`] when rows or bytes differ; when it can't be opened.
pub(super) fn open_published(
    path: &Path,
    local: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<OpenedPublication> {
    ctx.stage(tr!("Opening it from there"), None);
    let (before, started) = (job_traffic(), Instant::now());
    let reader = container::open(path, ctx)?;
    let rows: Vec<u64> = (0..reader.levels().count())
        .map(|level| reader.levels().rows(level) as u64)
        .collect();
    let (after, seconds) = (job_traffic(), started.elapsed().as_secs_f64());
    let wanted: Vec<u64> = (0..local.levels().count())
        .map(|level| local.levels().rows(level) as u64)
        .collect();
    if rows != wanted {
        return Err(differs_error(
            path,
            &format!("its levels have {rows:?} rows, those of the local dataset {wanted:?}"),
        ));
    }
    let (compared, compared_bytes) = compare_samples(path, reader.as_ref(), local, ctx)?;
    let all = job_traffic();
    Ok(OpenedPublication {
        path: path.to_owned(),
        requests: after.requests.saturating_sub(before.requests),
        bytes: after.bytes.saturating_sub(before.bytes),
        seconds,
        rows,
        compared,
        compared_bytes,
        all_requests: all.requests.saturating_sub(before.requests),
        all_bytes: all.bytes.saturating_sub(before.bytes),
    })
}

/// Traffic of the current job.
fn job_traffic() -> ActionTraffic {
    traffic_of(jobs::current().map(|job| job.id))
}

fn differs_error(path: &Path, what: &str) -> Error {
    Error::new(
        Kind::Damaged,
        format!("the published dataset differs: {what}"),
    )
    .at_path(path)
    .hint(
        "another program may have written there at the same time: publish again, with \
            --overwrite where something is left",
    )
}

/// Compares random samples; returns how many samples and bytes were compared.
fn compare_samples(
    path: &Path,
    published: &dyn ContainerReader,
    local: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<(u64, u64)> {
    let tree = local.levels().skeleton(ctx)?;
    let mut files: Vec<(usize, u32)> = Vec::new();
    for (number, level) in tree.levels.iter().enumerate() {
        files.extend(
            (0..level.len() as u32)
                .filter(|&row| level.kind(row) == SampleKind::File)
                .map(|row| (number, row)),
        );
    }
    // A new seed for each call, so that repeated publications compare other samples.
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let count = files.len().min(COMPARED_SAMPLES_MAX);
    for index in 0..count {
        let other = index + (random.next_u64() % (files.len() - index) as u64) as usize;
        files.swap(index, other);
    }
    files.truncate(count);
    ctx.stage(tr!("Comparing"), Some(count as u64));
    let mut bytes = 0;
    for (level, row) in files {
        ctx.check()?;
        let (one, other) = (
            read_first_bytes(published, level, row)?,
            read_first_bytes(local, level, row)?,
        );
        if one != other {
            return Err(differs_error(
                path,
                &format!("the sample {} has other bytes", tree.path(level, row)),
            ));
        }
        bytes += one.1.len() as u64;
        ctx.step(1);
    }
    Ok((count as u64, bytes))
}

/// Length of a sample in bytes, and at most its first [`COMPARED_BYTES_MAX`].
fn read_first_bytes(
    reader: &dyn ContainerReader,
    level: usize,
    row: u32,
) -> Result<(u64, bytes::Bytes)> {
    let (asset, size) = reader.asset(level, row)?;
    if size == 0 {
        return Ok((0, bytes::Bytes::new()));
    }
    Ok((size, read_asset_start(&asset, COMPARED_BYTES_MAX)?))
}
