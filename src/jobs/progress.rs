//! Progress of a job. Written by workers and read by the interface; neither blocks.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::{Error, Result};

/// A named stage of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Description, for the user.
    pub name: String,
}

/// Progress of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    /// Steps completed in this stage.
    pub done: u64,
    /// Total number of steps of this stage, when known.
    pub total: Option<u64>,
    /// Bytes read or written since the start.
    pub bytes: u64,
    /// True once cancellation was requested, for this job or (by a signal) for all.
    pub cancelling: bool,
    /// The job can be paused: see [`JobContext::allow_pause`].
    pub pausable: bool,
    /// The job is paused.
    pub paused: bool,
}

impl Progress {
    /// Completed fraction, 0 to 1, when the total is known.
    pub fn fraction(&self) -> Option<f32> {
        let total = self.total?;
        (total > 0).then(|| (self.done as f64 / total as f64).min(1.0) as f32)
    }
}

/// Handle of a job for its worker: progress and cancellation. Cheap to clone; every long loop calls
/// [`JobContext::check`] and [`JobContext::step`].
#[derive(Clone, Default)]
pub struct JobContext {
    shared: Arc<SharedProgress>,
}

#[derive(Default)]
struct SharedProgress {
    cancelled: AtomicBool,
    pausable: AtomicBool,
    paused: AtomicBool,
    done: AtomicU64,
    /// `u64::MAX` when the total is unknown; 0 before the first stage.
    total: AtomicU64,
    bytes: AtomicU64,
    text: Mutex<Text>,
}

#[derive(Default)]
struct Text {
    stage: String,
    warnings: Vec<String>,
    shared: Vec<SharedWarning>,
}

/// A warning about one or several files.
struct SharedWarning {
    text: String,
    /// The first file.
    place: String,
    places: HashSet<u64>,
}

fn hash_of(place: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    hasher.finish()
}

impl Text {
    /// All warnings as text.
    fn lines(&self) -> Vec<String> {
        let shared = self.shared.iter().map(
            |SharedWarning {
                 text,
                 place,
                 places,
             }| match places.len() {
                1 => format!("{place}: {text}"),
                2 => format!("{place} and another file: {text}"),
                count => format!("{place} and {} other files: {text}", count - 1),
            },
        );
        self.warnings.iter().cloned().chain(shared).collect()
    }
}

/// Polling interval of a paused job.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum number of stored warnings.
const WARNINGS_KEPT: usize = 1000;

impl JobContext {
    /// Fails once cancellation was requested, so that `?` ends the work. Blocks while the job is
    /// paused.
    ///
    /// # Errors
    /// [`crate::error::Kind::Cancelled`].
    pub fn check(&self) -> Result<()> {
        while self.shared.paused.load(Ordering::Relaxed) && !self.is_cancelled() {
            std::thread::sleep(PAUSE);
        }
        if self.is_cancelled() {
            Err(Error::cancelled())
        } else {
            Ok(())
        }
    }

    /// True once cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed) || super::signals::is_stopped()
    }

    /// Requests cancellation.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Allows the user to pause the job. Only for work on threads of its own, as a paused job
    /// blocks its thread.
    pub fn allow_pause(&self) {
        self.shared.pausable.store(true, Ordering::Relaxed);
    }

    /// Pauses the work at its next check, or resumes it. Has no effect unless pausing is allowed.
    pub fn pause(&self, on: bool) {
        self.shared.paused.store(
            on && self.shared.pausable.load(Ordering::Relaxed),
            Ordering::Relaxed,
        );
    }

    /// Starts a stage of `total` steps.
    pub fn stage(&self, name: &str, total: Option<u64>) {
        self.text().stage = name.to_owned();
        self.shared
            .total
            .store(total.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.shared.done.store(0, Ordering::Relaxed);
    }

    /// Counts completed steps of this stage.
    pub fn step(&self, steps: u64) {
        self.shared.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Counts bytes read or written.
    pub fn bytes(&self, bytes: u64) {
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds a warning.
    pub fn warn(&self, warning: impl Into<String>) {
        let mut text = self.text();
        if text.warnings.len() < WARNINGS_KEPT {
            text.warnings.push(warning.into());
        }
    }

    /// Adds a warning about the file `place`; files with the same warning are counted, and the
    /// first is named.
    pub fn warn_of(&self, place: &str, warning: impl Into<String>) {
        let (mut text, warning) = (self.text(), warning.into());
        if let Some(known) = text.shared.iter_mut().find(|known| known.text == warning) {
            known.places.insert(hash_of(place));
        } else if text.shared.len() < WARNINGS_KEPT {
            text.shared.push(SharedWarning {
                text: warning,
                place: place.to_owned(),
                places: [hash_of(place)].into(),
            });
        }
    }

    /// Problems that did not stop the job: thousands of texts, unlike [`Self::progress`], which is
    /// asked for in every frame of the window.
    pub fn warnings(&self) -> Vec<String> {
        self.text().lines()
    }

    /// A copy of the current state.
    pub fn progress(&self) -> Progress {
        let text = self.text();
        let total = self.shared.total.load(Ordering::Relaxed);
        Progress {
            stage: Stage {
                name: text.stage.clone(),
            },
            done: self.shared.done.load(Ordering::Relaxed),
            total: (total != u64::MAX && total != 0).then_some(total),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            cancelling: self.is_cancelled(),
            pausable: self.shared.pausable.load(Ordering::Relaxed),
            paused: self.shared.paused.load(Ordering::Relaxed),
        }
    }

    fn text(&self) -> std::sync::MutexGuard<'_, Text> {
        self.shared
            .text
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
