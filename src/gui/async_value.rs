//! A value that is computed off the interface thread and belongs to a key: asked for every frame, made again when the key changes.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::jobs::{Job, JobContext, Jobs};

/// Short work is waited for this long, so that small things appear in the frame that asks for them.
const PATIENCE: Duration = Duration::from_millis(1);
/// Between two such waits: a frame that asks for many things waits once.
const REST: Duration = Duration::from_millis(12);

thread_local! {
    static WAITED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// True when this thread may wait now.
fn may_wait() -> bool {
    let rested = WAITED.get().is_none_or(|at| at.elapsed() >= REST);
    if rested {
        WAITED.set(Some(Instant::now()));
    }
    rested
}

/// The value for the newest key. While a new one is made, the old one stays.
pub struct AsyncValue<K, T> {
    wanted: Option<K>,
    made: Option<(K, Result<T>)>,
    job: Option<Job<(K, Result<T>)>>,
}

impl<K, T> Default for AsyncValue<K, T> {
    fn default() -> Self {
        Self { wanted: None, made: None, job: None }
    }
}

impl<K, T> Drop for AsyncValue<K, T> {
    /// Nobody waits any more: another dataset was opened, or the window is closed.
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            job.cancel();
        }
    }
}

impl<K: PartialEq + Clone + Send + 'static, T: Send + 'static> AsyncValue<K, T> {
    /// Starts `work` when `key` is not the one that was asked for last.
    pub fn want(&mut self, jobs: &Jobs, key: K, label: &str, work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static) {
        if self.wanted.as_ref() == Some(&key) {
            return;
        }
        self.wanted = Some(key.clone());
        let job = jobs.start(label, move |ctx| {
            let outcome = work(ctx);
            ctx.check()?;
            Ok((key, outcome))
        });
        if let Some(old) = self.job.replace(job) {
            old.cancel();
        }
        if !self.poll() && may_wait() {
            std::thread::sleep(PATIENCE);
            self.poll();
        }
    }

    /// Takes a finished value over. True when there was one.
    pub fn poll(&mut self) -> bool {
        let Some(outcome) = self.job.as_mut().and_then(Job::try_take) else { return false };
        self.job = None;
        // A failure here is a cancelled or broken job; failures of the work itself are part of the value.
        if let Ok(made) = outcome {
            self.made = Some(made);
        }
        true
    }

    /// The last value that was made, also for an older key.
    pub fn last(&self) -> Option<&T> {
        self.made.as_ref().and_then(|(_, outcome)| outcome.as_ref().ok())
    }

    /// The value or the failure for exactly this key.
    pub fn of(&self, key: &K) -> Option<&Result<T>> {
        self.made.as_ref().filter(|(made, _)| made == key).map(|(_, outcome)| outcome)
    }

    /// True while work runs.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut slot: AsyncValue<u32, ()> = AsyncValue::default();
        slot.want(&Jobs::quiet(), 1, "endless", move |ctx| {
            while !ctx.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = sender.send(());
            Ok(())
        });
        drop(slot);
        assert!(receiver.recv_timeout(Duration::from_secs(20)).is_ok());
    }

    #[test]
    fn a_frame_waits_once() {
        let waits = std::thread::spawn(|| {
            let first = [may_wait(), may_wait(), may_wait()];
            std::thread::sleep(REST);
            (first, may_wait())
        });
        assert_eq!(waits.join().expect("ends"), ([true, false, false], true));
    }

    #[test]
    fn a_key_is_worked_on_once_and_the_newest_wins() {
        let jobs = Jobs::quiet();
        let mut slot: AsyncValue<u32, u32> = AsyncValue::default();
        slot.want(&jobs, 1, "slow", |ctx| {
            while !ctx.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(1)
        });
        slot.want(&jobs, 2, "quick", |_| Ok(20));
        while slot.is_busy() {
            slot.poll();
        }
        assert_eq!(slot.last(), Some(&20));
        slot.want(&jobs, 2, "again", |_| Ok(99));
        assert!(!slot.is_busy(), "the same key is not made twice");
        assert!(slot.of(&1).is_none());
    }
}
