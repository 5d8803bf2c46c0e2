//! A value that is computed off the interface thread for a key: requested in every frame, computed
//! again when the key changes. The worker stores the outcome where readers find it, so nothing has
//! to be polled; work that runs is registered with its [`Jobs`].

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{CountedWork, JobContext, Jobs};
use crate::error::{Error, Result};

/// Time that [`AsyncValue::update`] waits for its work, so that quick results appear in the frame
/// that requests them.
const WAIT: Duration = Duration::from_millis(1);
/// Minimum time between two such waits, so that a frame with many requests waits once.
const WAIT_INTERVAL: Duration = Duration::from_millis(12);

impl Jobs {
    /// True for the first call in each [`WAIT_INTERVAL`]: its caller may wait.
    fn claim_wait(&self) -> bool {
        let mut last = self
            .registry
            .last_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|at| at.elapsed() >= WAIT_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// State of the newest request of an [`AsyncValue`].
#[derive(Debug)]
pub enum AsyncState<'a, T> {
    /// There was no request.
    NotAsked,
    /// The work runs; [`AsyncValue::latest`] has the previous value.
    Pending,
    /// The work succeeded.
    Ready(&'a T),
    /// The work failed.
    Failed(&'a Error),
}

/// The value for the newest key. The value for the previous key stays readable until the new one is
/// ready, so that a view has something to show meanwhile.
pub struct AsyncValue<K, T> {
    newest: Option<AsyncRequest<K, T>>,
    /// The last request before `newest` whose work ended; it always has an outcome.
    previous: Option<AsyncRequest<K, T>>,
}

struct AsyncRequest<K, T> {
    key: K,
    context: JobContext,
    work: Arc<AsyncWork<T>>,
}

/// State shared by the worker and the interface thread.
struct AsyncWork<T> {
    outcome: OnceLock<Result<T>>,
    /// Released when the work ends or its result is no longer needed.
    running: Mutex<Option<CountedWork>>,
}

impl<T> AsyncWork<T> {
    fn release(&self) -> Option<CountedWork> {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Stores the outcome; `running` ends only after this thread has let go of the work, so that
    /// [`AsyncValue::take`] succeeds in the frame that follows.
    fn deliver(self: Arc<Self>, outcome: Result<T>) {
        let running = self.release();
        let _ = self.outcome.set(outcome);
        drop(self);
        drop(running);
    }
}

impl<K, T> AsyncRequest<K, T> {
    fn outcome(&self) -> Option<&Result<T>> {
        self.work.outcome.get()
    }
}

impl<K, T> Drop for AsyncRequest<K, T> {
    /// Cancels work that still runs: the key has changed, another dataset was opened, or the window
    /// was closed.
    fn drop(&mut self) {
        self.context.cancel();
        self.work.release();
    }
}

impl<K: fmt::Debug, T> fmt::Debug for AsyncValue<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncValue")
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}

impl<K, T> Default for AsyncValue<K, T> {
    fn default() -> Self {
        Self {
            newest: None,
            previous: None,
        }
    }
}

impl<K, T> AsyncValue<K, T> {
    /// State of the newest request.
    pub fn state(&self) -> AsyncState<'_, T> {
        match self.newest.as_ref().map(AsyncRequest::outcome) {
            None => AsyncState::NotAsked,
            Some(None) => AsyncState::Pending,
            Some(Some(Ok(value))) => AsyncState::Ready(value),
            Some(Some(Err(error))) => AsyncState::Failed(error),
        }
    }

    /// True while the work of the newest request runs.
    pub fn is_pending(&self) -> bool {
        matches!(self.state(), AsyncState::Pending)
    }

    /// The value of the newest request, or that of the previous one while the newest is pending.
    /// `None` after a failure.
    pub fn latest(&self) -> Option<&T> {
        self.latest_entry().map(|(_, value)| value)
    }

    /// As [`Self::latest`], with the key that the value was computed for.
    pub fn latest_entry(&self) -> Option<(&K, &T)> {
        let ended = self
            .newest
            .as_ref()
            .filter(|newest| newest.outcome().is_some());
        let shown = ended.or(self.previous.as_ref())?;
        Some((&shown.key, shown.outcome()?.as_ref().ok()?))
    }

    /// The key of the newest request.
    pub fn key(&self) -> Option<&K> {
        self.newest.as_ref().map(|request| &request.key)
    }

    /// Takes the newest outcome, once it is available, and forgets all requests. For results that
    /// are used once.
    pub fn take(&mut self) -> Option<Result<T>> {
        // The worker has a reference until just before it wakes the window: then this is called
        // again.
        let outcome = Arc::get_mut(&mut self.newest.as_mut()?.work)?
            .outcome
            .take()?;
        *self = Self::default();
        Some(outcome)
    }
}

impl<K: PartialEq, T: Send + Sync + 'static> AsyncValue<K, T> {
    /// Starts `work` unless `key` is that of the newest request, or of the previous value; work for
    /// another key is cancelled. `label` names the job for people.
    pub fn update(
        &mut self,
        jobs: &Jobs,
        key: K,
        label: &str,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
    ) {
        if let Some(newest) = self.newest.take() {
            let has_ended = newest.outcome().is_some();
            if newest.key == key {
                if has_ended {
                    self.previous = None;
                }
                self.newest = Some(newest);
                return;
            }
            // A failure is not kept, so that the work is tried again.
            let back = |previous: &mut AsyncRequest<K, T>| {
                previous.key == key && matches!(previous.outcome(), Some(Ok(_)))
            };
            if let Some(previous) = self.previous.take_if(back) {
                self.newest = Some(previous);
                return;
            }
            if has_ended {
                self.previous = Some(newest);
            }
        }
        let shared = Arc::new(AsyncWork {
            outcome: OnceLock::new(),
            running: Mutex::new(Some(jobs.register())),
        });
        let worker = shared.clone();
        let (_, context, spawned) = jobs.spawn(label, work, move |outcome| worker.deliver(outcome));
        if let Err(error) = spawned {
            shared.clone().deliver(Err(error));
        }
        if shared.outcome.get().is_none() && jobs.claim_wait() {
            std::thread::sleep(WAIT);
        }
        self.newest = Some(AsyncRequest {
            key,
            context,
            work: shared,
        });
    }

    /// The outcome for this key, from the newest request or the previous value.
    pub fn get(&self, key: &K) -> Option<&Result<T>> {
        [&self.newest, &self.previous]
            .into_iter()
            .flatten()
            .find(|request| request.key == *key)?
            .outcome()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any step of these tests on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn endless<T>(ctx: &JobContext) -> Result<T> {
        loop {
            ctx.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[track_caller]
    fn wait_until(mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < end, "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn work_of_a_dropped_value_is_cancelled_and_no_longer_counts() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, ()> = AsyncValue::default();
        value.update(&jobs, 1, "endless", move |ctx| {
            let ended = endless(ctx);
            let _ = sender.send(());
            ended
        });
        jobs.begin_frame();
        assert!(jobs.is_running());
        drop(value);
        jobs.begin_frame();
        assert!(!jobs.is_running());
        assert!(receiver.recv_timeout(PATIENCE).is_ok());
    }

    #[test]
    fn a_frame_waits_once() {
        let jobs = Jobs::quiet();
        assert!(jobs.claim_wait());
        assert!(!jobs.clone().claim_wait(), "clones are of the same window");
        std::thread::sleep(WAIT_INTERVAL);
        assert!(jobs.claim_wait());
    }

    #[test]
    fn a_key_is_worked_on_once_and_the_newest_wins() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        assert!(matches!(value.state(), AsyncState::NotAsked));
        value.update(&jobs, 1, "slow", endless);
        assert!(value.is_pending());
        value.update(&jobs, 2, "quick", |_| Ok(20));
        wait_until(|| !value.is_pending());
        assert_eq!(value.latest(), Some(&20));
        value.update(&jobs, 2, "again", |_| Ok(99));
        assert!(
            matches!(value.state(), AsyncState::Ready(20)),
            "the same key is not computed twice"
        );
        assert!(value.get(&1).is_none());
    }

    #[test]
    fn the_previous_value_stays_until_the_next_is_ready_or_failed() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        value.update(&jobs, 1, "quick", |_| Ok(10));
        wait_until(|| !value.is_pending());
        value.update(&jobs, 2, "endless", endless);
        value.update(&jobs, 3, "endless", endless);
        assert_eq!((value.latest(), value.is_pending()), (Some(&10), true));
        assert!(value.get(&3).is_none() && matches!(value.get(&1), Some(Ok(10))));
        value.update(&jobs, 4, "breaks", |_| panic!("on purpose"));
        wait_until(|| !value.is_pending());
        assert!(matches!(value.state(), AsyncState::Failed(_)) && value.latest().is_none());
    }

    #[test]
    fn a_key_whose_value_is_there_is_not_worked_on_again() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        value.update(&jobs, 1, "quick", |_| Ok(10));
        wait_until(|| !value.is_pending());
        value.update(&jobs, 2, "endless", endless);
        value.update(&jobs, 1, "again", |_| Ok(99));
        assert!(matches!(value.state(), AsyncState::Ready(10)));
        assert!(matches!(value.get(&1), Some(Ok(10))) && value.get(&2).is_none());
    }

    #[test]
    fn work_that_failed_is_tried_again() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        value.update(&jobs, 1, "fails", |_| Err(Error::usage("on purpose")));
        wait_until(|| !value.is_pending());
        value.update(&jobs, 2, "endless", endless);
        value.update(&jobs, 1, "again", |_| Ok(10));
        wait_until(|| !value.is_pending());
        assert!(matches!(value.state(), AsyncState::Ready(10)));
    }

    #[test]
    fn work_counts_until_the_frame_after_it_has_ended() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        let (go, gate) = std::sync::mpsc::channel::<()>();
        value.update(&jobs, 1, "gated", move |_| {
            let _ = gate.recv();
            Ok(1)
        });
        jobs.begin_frame();
        assert!(jobs.is_running(), "it runs");
        go.send(()).expect("it waits");
        wait_until(|| !value.is_pending());
        assert!(
            jobs.is_running(),
            "it ended after this frame had begun, which may not show it"
        );
        wait_until(|| {
            jobs.begin_frame();
            !jobs.is_running()
        });
    }

    #[test]
    fn an_outcome_is_taken_once() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, String> = AsyncValue::default();
        assert!(value.take().is_none());
        value.update(&jobs, 1, "quick", |_| Ok("text".to_owned()));
        let mut taken = None;
        wait_until(|| {
            taken = value.take();
            taken.is_some()
        });
        assert_eq!(taken.and_then(Result::ok).as_deref(), Some("text"));
        assert!(value.take().is_none() && value.key().is_none());
    }

    #[test]
    fn a_value_before_a_taken_outcome_is_not_shown() {
        let jobs = Jobs::quiet();
        let mut value: AsyncValue<u32, u32> = AsyncValue::default();
        value.update(&jobs, 1, "quick", |_| Ok(10));
        wait_until(|| !value.is_pending());
        value.update(&jobs, 2, "quick", |_| Ok(20));
        wait_until(|| matches!(value.take(), Some(Ok(20))));
        assert_eq!(value.latest(), None);
    }
}
