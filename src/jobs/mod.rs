//! Work off the interface thread: jobs with progress, stages, warnings and cancel, and values that
//! are computed by one ([`AsyncValue`]). Depends on no domain and no window type.

mod async_value;
mod current;
mod discard;
mod panics;
mod parallel;
mod progress;
mod signals;

pub use async_value::{AsyncState, AsyncValue};
pub use current::{CurrentJob, adopt, current};
pub use discard::{discard, release, return_large_blocks};
pub use panics::{catch_quietly, panic_error};
pub use parallel::try_map;
pub use progress::{JobContext, Progress, Stage};
pub use signals::stop_on_signals;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::text;

/// Identifies a job within this process.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}", self.0)
    }
}

/// Starts jobs, each on a thread of its own; parallel work inside a job uses rayon's pool.
#[derive(Clone)]
pub struct Jobs {
    next: Arc<AtomicU64>,
    wake: Arc<dyn Fn() + Send + Sync>,
    registry: Arc<RunningWork>,
}

/// The async values of a window: how many are worked on, how many of them ended since the present
/// frame began, and when a frame waited for one.
#[derive(Default)]
struct RunningWork {
    running: AtomicUsize,
    ended: AtomicUsize,
    last_wait: Mutex<Option<Instant>>,
}

/// Work that counts for [`Jobs::is_running`] until this is dropped.
struct CountedWork(Arc<RunningWork>);

impl Drop for CountedWork {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Jobs {
    /// `wake` is called from worker threads when a job ends, so that an idle window repaints.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            next: Arc::new(AtomicU64::new(1)),
            wake: Arc::new(wake),
            registry: Arc::default(),
        }
    }

    /// Jobs without wake-up, for the command line and tests.
    pub fn quiet() -> Self {
        Self::new(|| {})
    }

    /// Wakes an idle window.
    pub fn wake(&self) {
        (self.wake)();
    }

    /// Runs `work` on a new thread. A panic becomes an error of the job.
    pub fn start<T: Send + 'static>(
        &self,
        label: impl Into<String>,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
    ) -> Job<T> {
        let label = label.into();
        let (sender, receiver) = sync_channel(1);
        let (id, context, spawned) = self.spawn(&label, work, move |outcome| {
            // The receiver is gone when the job was dropped.
            let _ = sender.send(outcome);
        });
        Job {
            id,
            label,
            context,
            receiver,
            early: spawned.err().map(Err),
            started: Instant::now(),
        }
    }

    /// Runs `work` on a new thread, which then passes the outcome to `deliver` and wakes the
    /// window.
    ///
    /// # Errors
    ///
    /// In the third value, when no thread can be started; `deliver` is not called then.
    fn spawn<T: 'static>(
        &self,
        label: &str,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
        deliver: impl FnOnce(Result<T>) + Send + 'static,
    ) -> (JobId, JobContext, Result<()>) {
        let id = JobId(self.next.fetch_add(1, Ordering::Relaxed));
        let context = JobContext::default();
        let (inner, wake, name) = (context.clone(), self.wake.clone(), label.to_owned());
        let language = text::of_thread();
        let spawned = std::thread::Builder::new()
            .name(format!("job-{}", id.0))
            .spawn(move || {
                text::speak(language);
                current::begin(CurrentJob {
                    id,
                    label: name.as_str().into(),
                    context: inner.clone(),
                });
                let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| work(&inner)))
                    .unwrap_or_else(|panic| Err(panic_error(&name, panic.as_ref())));
                deliver(outcome);
                wake();
            });
        let error =
            |error| Error::internal(format!("could not start a thread for {label}")).because(error);
        (id, context, spawned.map(|_| ()).map_err(error))
    }

    /// Counts work for [`Self::is_running`].
    fn register(&self) -> CountedWork {
        self.registry.running.fetch_add(1, Ordering::SeqCst);
        CountedWork(self.registry.clone())
    }

    /// Begins a frame of the window: it shows every value whose work has ended before.
    pub fn begin_frame(&self) {
        self.registry.ended.store(0, Ordering::SeqCst);
    }

    /// True while an [`AsyncValue`] is worked on, and until a frame has begun after its work ended.
    pub fn is_running(&self) -> bool {
        self.registry.running.load(Ordering::SeqCst) + self.registry.ended.load(Ordering::SeqCst)
            > 0
    }
}

/// A running or finished job with its result.
pub struct Job<T> {
    id: JobId,
    label: String,
    context: JobContext,
    receiver: Receiver<Result<T>>,
    early: Option<Result<T>>,
    started: Instant,
}

impl<T> Job<T> {
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Description, for the user.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Requests cancellation at the job's next check. Its result is then
    /// [`crate::error::Kind::Cancelled`], unless it finished before.
    pub fn cancel(&self) {
        self.context.cancel();
    }

    /// Pauses the job at its next check, or resumes it.
    pub fn pause(&self, on: bool) {
        self.context.pause(on);
    }

    pub fn progress(&self) -> Progress {
        self.context.progress()
    }

    /// As [`JobContext::warnings`].
    pub fn warnings(&self) -> Vec<String> {
        self.context.warnings()
    }

    /// Time since the start.
    pub fn elapsed_time(&self) -> Duration {
        self.started.elapsed()
    }

    /// The result, once the job has ended; returned only once.
    pub fn try_take(&mut self) -> Option<Result<T>> {
        if let Some(early) = self.early.take() {
            return Some(early);
        }
        match self.receiver.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Error::internal(format!(
                "{} ended without a result",
                self.label
            )))),
        }
    }

    /// Waits up to `patience` for the result.
    pub fn wait_for(&mut self, patience: Duration) -> Option<Result<T>> {
        if let Some(early) = self.early.take() {
            return Some(early);
        }
        match self.receiver.recv_timeout(patience) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Error::internal(format!(
                "{} ended without a result",
                self.label
            )))),
        }
    }
}

/// A slot for the newest request: starting another cancels the previous one.
#[derive(Default)]
pub struct Latest<T> {
    job: Option<Job<T>>,
}

impl<T: Send + 'static> Latest<T> {
    /// Without a request.
    pub fn new() -> Self {
        Self { job: None }
    }

    /// Cancels the running request and starts another.
    pub fn start(
        &mut self,
        jobs: &Jobs,
        label: &str,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
    ) {
        if let Some(old) = self.job.take() {
            old.cancel();
        }
        self.job = Some(jobs.start(label, work));
    }

    /// Cancels the running request.
    pub fn cancel(&mut self) {
        if let Some(old) = self.job.take() {
            old.cancel();
        }
    }

    /// True while a request runs.
    pub fn is_running(&self) -> bool {
        self.job.is_some()
    }

    /// Progress of the running request.
    pub fn progress(&self) -> Option<Progress> {
        self.job.as_ref().map(Job::progress)
    }

    /// The newest request's result, once it has ended.
    pub fn try_take(&mut self) -> Option<Result<T>> {
        let outcome = self.job.as_mut()?.try_take()?;
        self.job = None;
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_job_gives_its_result_and_progress() {
        let mut job = Jobs::quiet().start("count", |ctx| {
            ctx.stage("counting", Some(3));
            for _ in 0..3 {
                ctx.check()?;
                ctx.step(1);
            }
            Ok(7)
        });
        assert_eq!(job.wait_for(PATIENCE).expect("ends").expect("works"), 7);
        assert_eq!(job.progress().done, 3);
        assert_eq!(job.progress().total, Some(3));
    }

    #[test]
    fn a_cancelled_job_ends_at_its_next_check() {
        let mut job: Job<()> = Jobs::quiet().start("endless", |ctx| {
            loop {
                ctx.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        job.cancel();
        let error = job
            .wait_for(PATIENCE)
            .expect("ends")
            .expect_err("was cancelled");
        assert_eq!(error.kind(), Kind::Cancelled);
    }

    #[test]
    fn a_paused_job_waits_and_goes_on_or_ends() {
        let endless = |ctx: &JobContext| -> Result<()> {
            ctx.allow_pause();
            loop {
                ctx.check()?;
                ctx.step(1);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let mut job = Jobs::quiet().start("endless", endless);
        let wait_until = |holds: &dyn Fn() -> bool| {
            let end = Instant::now() + PATIENCE;
            while !holds() {
                assert!(Instant::now() < end);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        wait_until(&|| job.progress().pausable && job.progress().done > 0);
        job.pause(true);
        std::thread::sleep(Duration::from_millis(100));
        let done = job.progress().done;
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!((job.progress().done, job.progress().paused), (done, true));
        job.pause(false);
        wait_until(&|| job.progress().done > done);
        job.pause(true);
        job.cancel();
        assert_eq!(
            job.wait_for(PATIENCE)
                .expect("ends")
                .expect_err("was cancelled")
                .kind(),
            Kind::Cancelled
        );
    }

    #[test]
    fn a_panic_is_an_error_of_the_job() {
        let mut job: Job<()> = Jobs::quiet().start("breaks", |_| panic!("on purpose"));
        let error = job.wait_for(PATIENCE).expect("ends").expect_err("panicked");
        assert!(error.to_string().contains("on purpose"));
    }
}
