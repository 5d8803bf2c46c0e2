//! What a job tells while it runs. Written by workers, read by whoever shows it; never blocks either.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::{Error, Result};

/// A named part of a job, with the number of steps if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What is being done, for people.
    pub name: String,
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is being done now.
    pub stage: Stage,
    /// Steps done in this stage.
    pub done: u64,
    /// Steps of this stage, where known.
    pub total: Option<u64>,
    /// Bytes read or written since the start.
    pub bytes: u64,
    /// What did not go well but did not stop the job.
    pub warnings: Vec<String>,
    /// True once cancel was asked for, of this work or, by a signal, of all.
    pub cancelling: bool,
    /// The job can wait and go on: [`JobContext::allow_pause`].
    pub pausable: bool,
    /// It waits.
    pub paused: bool,
}

impl Progress {
    /// The part done, 0 to 1, where the total is known.
    pub fn fraction(&self) -> Option<f32> {
        let total = self.total?;
        (total > 0).then(|| (self.done as f64 / total as f64).min(1.0) as f32)
    }
}

/// A job's line to the outside. Cheap to clone; every long loop calls [`JobContext::check`] and [`JobContext::step`].
#[derive(Clone, Default)]
pub struct JobContext {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    pausable: AtomicBool,
    paused: AtomicBool,
    done: AtomicU64,
    /// `u64::MAX` marks an unknown total; 0 until the first stage.
    total: AtomicU64,
    bytes: AtomicU64,
    text: Mutex<Text>,
}

#[derive(Default)]
struct Text {
    stage: String,
    warnings: Vec<String>,
}

/// How often a paused job looks whether it may go on.
const PAUSE: Duration = Duration::from_millis(20);

/// More warnings than this are counted by the caller's report, not kept here.
const WARNINGS_KEPT: usize = 1000;

impl JobContext {
    /// An error once cancel was asked for, so that `?` ends the work. Waits while the job is paused.
    pub fn check(&self) -> Result<()> {
        while self.shared.paused.load(Ordering::Relaxed) && !self.is_cancelled() {
            std::thread::sleep(PAUSE);
        }
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// True once cancel was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed) || super::signals::is_stopped()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Lets people pause the job. Only for work on threads of its own: whoever waits keeps its thread.
    pub fn allow_pause(&self) {
        self.shared.pausable.store(true, Ordering::Relaxed);
    }

    /// Makes the work wait at its next check, or go on. Without effect where nobody allowed it.
    pub fn pause(&self, on: bool) {
        self.shared.paused.store(on && self.shared.pausable.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Begins a stage of `total` steps.
    pub fn stage(&self, name: &str, total: Option<u64>) {
        self.text().stage = name.to_owned();
        self.shared.total.store(total.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.shared.done.store(0, Ordering::Relaxed);
    }

    /// Counts steps of this stage.
    pub fn step(&self, steps: u64) {
        self.shared.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Counts bytes moved.
    pub fn bytes(&self, bytes: u64) {
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes something that did not go well.
    pub fn warn(&self, warning: impl Into<String>) {
        let mut text = self.text();
        if text.warnings.len() < WARNINGS_KEPT {
            text.warnings.push(warning.into());
        }
    }

    /// A copy of the state.
    pub fn progress(&self) -> Progress {
        let text = self.text();
        let total = self.shared.total.load(Ordering::Relaxed);
        Progress {
            stage: Stage { name: text.stage.clone() },
            done: self.shared.done.load(Ordering::Relaxed),
            total: (total != u64::MAX && total != 0).then_some(total),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            warnings: text.warnings.clone(),
            cancelling: self.is_cancelled(),
            pausable: self.shared.pausable.load(Ordering::Relaxed),
            paused: self.shared.paused.load(Ordering::Relaxed),
        }
    }

    fn text(&self) -> std::sync::MutexGuard<'_, Text> {
        self.shared.text.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
