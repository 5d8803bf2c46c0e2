//! State of the jobs panel: running and ended jobs, throughput. Imports no panel context, so that
//! the session can hold it.

use std::collections::HashMap;
use std::time::Duration;

use crate::extensions::{ExtensionCall, Failure};
use crate::jobs::{JobId, Progress};
use crate::studio::JobView;

/// Number of ended jobs that are listed.
pub(super) const KEPT: usize = 50;

/// Seconds between two points, and seconds of points that are kept.
pub(super) const EVERY_S: f64 = 0.5;

pub(super) const SHOWN_S: f64 = 70.0;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// Cancelled; nothing was changed.
    Cancelled,
    Failed,
}

pub(super) struct Ended {
    pub(super) label: String,
    pub(super) end: End,
    pub(super) detail: String,
    pub(super) took: Duration,
}

/// State of the panel. Outlives the document.
#[derive(Default)]
pub struct JobsState {
    /// The running jobs of the last refresh, to find those that ended.
    pub(super) running: Vec<JobView>,
    pub(super) ended: Vec<Ended>,
    pub(super) ends: Vec<(JobId, End, String)>,
    pub(super) rates: HashMap<JobId, JobRates>,
    /// Calls of the running extension runs, for a retry.
    pub(super) extending: Vec<(JobId, Vec<ExtensionCall>)>,
    /// Failures of the last run.
    pub(super) failed: Option<FailedRun>,
}

/// Samples for which a run of extensions gave null.
pub struct FailedRun {
    pub calls: Vec<ExtensionCall>,
    /// The failed samples with their errors.
    pub failures: Vec<Failure>,
    /// Number of the history step of the run.
    pub step: usize,
}

/// Recent throughput of a job.
#[derive(Default)]
pub struct JobRates {
    /// Points of (seconds since the start, bytes or steps a second).
    pub points: Vec<(f64, f64)>,
    /// True when the rate counts bytes.
    pub of_bytes: bool,
    pub(super) last: Option<(f64, u64, u64)>,
}

impl JobRates {
    /// Adds a point if [`EVERY_S`] have passed since the last one.
    pub(super) fn look(&mut self, elapsed: Duration, progress: &Progress) {
        let now = elapsed.as_secs_f64();
        let Some((then, bytes, done)) = self.last else {
            self.last = Some((now, progress.bytes, progress.done));
            return;
        };
        if now - then < EVERY_S {
            return;
        }
        self.of_bytes |= progress.bytes > 0;
        // The step count restarts with each stage.
        let amount = if self.of_bytes {
            progress.bytes.saturating_sub(bytes)
        } else {
            progress.done.saturating_sub(done)
        };
        self.points.push((now, amount as f64 / (now - then)));
        self.points.retain(|(at, _)| now - at <= SHOWN_S);
        self.last = Some((now, progress.bytes, progress.done));
    }
}

impl JobsState {
    /// Records how a job ended, for the next [`JobsState::refresh`].
    pub fn note(&mut self, job: JobId, end: End, detail: impl Into<String>) {
        self.ends.push((job, end, detail.into()));
    }

    /// Records the calls of an extension run.
    pub fn extending(&mut self, job: JobId, calls: Vec<ExtensionCall>) {
        self.extending.push((job, calls));
    }

    /// Forgets what came of steps after the first `steps` of the history, which were undone.
    pub fn undone(&mut self, steps: usize) {
        self.failed = self.failed.take().filter(|failed| failed.step <= steps);
    }

    /// Records the failures of the extension run that has just ended with this step of the history.
    pub fn record_extension_failures(&mut self, failures: Vec<Failure>, step: usize) {
        let calls = if self.extending.is_empty() {
            None
        } else {
            Some(self.extending.remove(0).1)
        };
        self.failed = calls
            .filter(|_| !failures.is_empty())
            .map(|calls| FailedRun {
                calls,
                failures,
                step,
            });
    }

    /// Throughput of a job.
    pub fn rates(&self, job: JobId) -> Option<&JobRates> {
        self.rates.get(&job)
    }

    /// Clears the list of ended jobs.
    pub fn clear_ended(&mut self) {
        self.ended.clear();
    }

    /// True when there are ended jobs in the list.
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Updates the lists from the jobs that run now.
    pub fn refresh(&mut self, now: Vec<JobView>) {
        for job in &now {
            self.rates
                .entry(job.id)
                .or_default()
                .look(job.elapsed, &job.progress);
        }
        self.extending
            .retain(|(id, _)| now.iter().any(|job| job.id == *id));
        self.rates
            .retain(|id, _| now.iter().any(|job| job.id == *id));
        for job in std::mem::replace(&mut self.running, now) {
            if self.running.iter().any(|running| running.id == job.id) {
                continue;
            }
            let noted = self
                .ends
                .iter()
                .position(|(id, ..)| *id == job.id)
                .map(|index| self.ends.remove(index));
            let (end, detail) =
                noted.map_or((End::Done, String::new()), |(_, end, detail)| (end, detail));
            self.ended.insert(
                0,
                Ended {
                    label: job.label,
                    end,
                    detail,
                    took: job.elapsed,
                },
            );
        }
        self.ended.truncate(KEPT);
        self.ends.clear();
    }

    pub fn running(&self) -> impl Iterator<Item = &JobView> {
        self.running.iter()
    }
}
