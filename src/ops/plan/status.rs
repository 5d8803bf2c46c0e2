//! Progress of a plan, read from the JSON files in its folder.

use std::collections::HashMap;
use std::path::Path;

use super::{
    AttemptError, AttemptState, Finished, PartAttempt, Plan, PlanPart, now_ms, read_json, size_of,
};
use crate::error::{IoContext, Result};

/// State of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    /// Written and read back.
    Done,
    /// A process is building it.
    Running,
    /// Not started.
    Waiting,
    /// The last process that built it was killed, or its machine failed.
    Lost,
    /// The last attempt failed, or was stopped.
    Failed,
}

/// State of one part.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PartStatus {
    /// Number, from 1.
    pub number: u32,
    /// File name.
    pub name: String,
    /// State.
    pub state: PartState,
    /// Samples of level 0.
    pub roots: u64,
    /// Bytes of sample data.
    pub data_bytes: u64,
    /// Completed share, 0 to 1.
    pub fraction: f64,
    /// Machine of the last attempt.
    pub host: Option<String>,
    /// SHA-256 of the written part, in hexadecimal.
    pub sha256: Option<String>,
    /// Duration of the build in seconds.
    pub seconds: Option<f64>,
    /// Number of samples for which an extension failed.
    pub failures: u64,
    /// Why the last attempt failed.
    pub error: Option<AttemptError>,
    /// The attempts, oldest first.
    pub attempts: Vec<PartAttempt>,
}

/// State of a plan.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct PlanStatus {
    /// [`Plan::id`].
    pub plan: String,
    /// Path of the whole dataset.
    pub dataset: std::path::PathBuf,
    /// Number of parts.
    pub total: usize,
    /// Number of written parts.
    pub done: usize,
    /// Number of parts being built.
    pub running: usize,
    /// Number of parts not started.
    pub waiting: usize,
    /// Number of parts whose last process was killed.
    pub lost: usize,
    /// Number of parts whose last attempt failed.
    pub failed: usize,
    /// Samples of level 0.
    pub roots: u64,
    /// Bytes of sample data.
    pub data_bytes: u64,
    /// Bytes of sample data in the parts that are written.
    pub done_bytes: u64,
    /// Samples of level 0 in the parts that are written.
    pub done_roots: u64,
    /// Seconds from the first attempt to the last record.
    pub elapsed_seconds: f64,
    /// Bytes of sample data written per second, by all processes together.
    pub bytes_per_second: f64,
    /// Samples of level 0 written per second.
    pub roots_per_second: f64,
    /// Estimated remaining time at that rate, in seconds; `None` before the first part is written
    /// and while no part is being built.
    pub eta_seconds: Option<f64>,
    /// The parts.
    pub parts: Vec<PartStatus>,
    /// The whole dataset, once it is finished.
    pub finished: Option<Finished>,
}

/// Bytes of sample data that are written, including those of parts being built.
fn count_written_bytes(parts: &[PartStatus]) -> f64 {
    parts
        .iter()
        .map(|part| part.fraction * part.data_bytes as f64)
        .sum()
}

impl PlanStatus {
    /// Completed share of the bytes including parts being built, 0 to 1.
    pub fn share(&self) -> f64 {
        match self.data_bytes {
            0 => self.done as f64 / self.total.max(1) as f64,
            all => count_written_bytes(&self.parts) / all as f64,
        }
    }

    /// Numbers of the parts that are neither written nor being built.
    pub fn missing(&self) -> Vec<u32> {
        let is_missing =
            |part: &&PartStatus| !matches!(part.state, PartState::Done | PartState::Running);
        self.parts
            .iter()
            .filter(is_missing)
            .map(|part| part.number)
            .collect()
    }
}

/// Reads the state of the plan in `folder`.
///
/// # Errors
/// When the plan can't be read. Damaged records are skipped.
pub fn plan_status(folder: &Path) -> Result<PlanStatus> {
    let plan = Plan::read(folder)?;
    let now = now_ms();
    let mut attempts = attempts_in(folder, &plan)?;
    let mut parts = Vec::with_capacity(plan.parts.len());
    for part in &plan.parts {
        let attempts = attempts.remove(&part.number).unwrap_or_default();
        parts.push(read_part_status(folder, &plan, part, attempts, now)?);
    }
    let finished = read_json::<Finished>(&folder.join("finished.json"))?
        .filter(|finished| finished.plan == plan.id);
    Ok(summarize_parts(&plan, folder, parts, finished))
}

/// State of one part at the time `now`, from its result and its attempts.
fn read_part_status(
    folder: &Path,
    plan: &Plan,
    part: &PlanPart,
    attempts: Vec<PartAttempt>,
    now: u64,
) -> Result<PartStatus> {
    let result = match plan.result(folder, part)? {
        Some(result) if size_of(&plan.output_of(folder, part))? == Some(result.bytes) => {
            Some(result)
        }
        _ => None,
    };
    let last = attempts.last();
    let state = match last {
        _ if result.is_some() => PartState::Done,
        None => PartState::Waiting,
        Some(last) => find_unwritten_state(last, now),
    };
    Ok(PartStatus {
        number: part.number,
        name: part.name.clone(),
        state,
        roots: part.roots,
        data_bytes: part.data_bytes,
        fraction: match state {
            PartState::Done => 1.0,
            PartState::Running => last.map_or(0.0, compute_progress),
            _ => 0.0,
        },
        host: last.map(|attempt| attempt.host.clone()),
        sha256: result.as_ref().map(|result| result.sha256.clone()),
        seconds: result.as_ref().map(|result| result.seconds),
        failures: result
            .as_ref()
            .map_or(0, |result| result.failures.len() as u64),
        error: last
            .filter(|_| state == PartState::Failed)
            .and_then(|attempt| attempt.error.clone()),
        attempts,
    })
}

/// State of a part without a result, by its last attempt.
fn find_unwritten_state(last: &PartAttempt, now: u64) -> PartState {
    if last.is_lost(now) {
        return PartState::Lost;
    }
    match last.state {
        AttemptState::Running => PartState::Running,
        // The output was removed or replaced after it was written.
        AttemptState::Done => PartState::Waiting,
        AttemptState::Failed | AttemptState::Stopped => PartState::Failed,
    }
}

/// The share that is done, from 0 to 1; 0 where the total is unknown.
fn compute_progress(attempt: &PartAttempt) -> f64 {
    match attempt.total {
        Some(total) if total > 0 => (attempt.done as f64 / total as f64).min(1.0),
        _ => 0.0,
    }
}

fn summarize_parts(
    plan: &Plan,
    folder: &Path,
    parts: Vec<PartStatus>,
    finished: Option<Finished>,
) -> PlanStatus {
    let count = |state: PartState| parts.iter().filter(|part| part.state == state).count();
    let done = || parts.iter().filter(|part| part.state == PartState::Done);
    let written_bytes = count_written_bytes(&parts);
    let all = || parts.iter().flat_map(|part| &part.attempts);
    let first = all().map(|attempt| attempt.started_ms).min();
    let last = all().map(|attempt| attempt.updated_ms).max();
    let elapsed = first
        .zip(last)
        .map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e3);
    let rate = |amount: f64| if elapsed > 0.0 { amount / elapsed } else { 0.0 };
    let (done_bytes, done_roots) = (
        done().map(|part| part.data_bytes).sum::<u64>(),
        done().map(|part| part.roots).sum::<u64>(),
    );
    // Parts of empty files have no bytes; their share is that of the samples.
    let share = if plan.data_bytes > 0 {
        written_bytes / plan.data_bytes as f64
    } else {
        done_roots as f64 / plan.roots().max(1) as f64
    };
    let running = count(PartState::Running);
    let eta =
        (running > 0 && share > 0.0 && elapsed > 0.0).then(|| elapsed * (1.0 - share) / share);
    PlanStatus {
        plan: plan.id.clone(),
        dataset: plan.dataset_in(folder),
        total: parts.len(),
        done: count(PartState::Done),
        running,
        waiting: count(PartState::Waiting),
        lost: count(PartState::Lost),
        failed: count(PartState::Failed),
        roots: plan.roots(),
        data_bytes: plan.data_bytes,
        done_bytes,
        done_roots,
        elapsed_seconds: elapsed,
        bytes_per_second: rate(written_bytes),
        roots_per_second: rate(done_roots as f64),
        eta_seconds: eta,
        parts,
        finished,
    }
}

/// The attempts of this plan by part, oldest first.
fn attempts_in(folder: &Path, plan: &Plan) -> Result<HashMap<u32, Vec<PartAttempt>>> {
    let place = folder.join("attempts");
    let mut found: HashMap<u32, Vec<PartAttempt>> = HashMap::new();
    if !place.is_dir() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(&place).io_at("read the state of the plan", &place)? {
        let path = entry.io_at("read the state of the plan", &place)?.path();
        let is_record = path.extension().is_some_and(|ending| ending == "json");
        // A record may be replaced while the folder is listed.
        if let (true, Ok(Some(attempt))) = (is_record, read_json::<PartAttempt>(&path))
            && attempt.plan == plan.id
        {
            found.entry(attempt.part).or_default().push(attempt);
        }
    }
    found
        .values_mut()
        .for_each(|attempts| attempts.sort_by_key(|attempt| (attempt.started_ms, attempt.pid)));
    Ok(found)
}
