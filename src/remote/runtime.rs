//! The thread that runs all requests, and blocking waits for its results.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;

use super::remote_access::remote_access;
use crate::error::{Error, Result};
use crate::jobs;

/// Interval at which a waiting thread checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

fn runtime() -> MutexGuard<'static, Option<Handle>> {
    let runtime = &remote_access().runtime;
    runtime.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the thread of the process that this one was forked from. Nothing is freed, which would
/// wait for that thread.
pub(super) fn forget_thread() {
    std::mem::forget(runtime().take());
}

fn handle() -> Result<Handle> {
    let mut runtime = runtime();
    if let Some(handle) = runtime.as_ref() {
        return Ok(handle.clone());
    }
    // If the thread could not be created, the next request tries again.
    let made: Result<Handle, String> = start_thread();
    let made = made.map_err(|reason| {
        Error::internal("the thread for network requests can't be started").because(reason)
    })?;
    Ok(runtime.insert(made).clone())
}

fn start_thread() -> Result<Handle, String> {
    let (sender, receiver) = sync_channel(1);
    let spawned = std::thread::Builder::new()
        .name("requests".into())
        .spawn(move || run_requests(&sender));
    spawned.map_err(|error| error.to_string())?;
    receiver
        .recv()
        .unwrap_or_else(|_| Err("the thread ended".into()))
}

/// Runs requests for as long as the process; sends the handle of the runtime, or why there is none.
fn run_requests(sender: &SyncSender<Result<Handle, String>>) {
    match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let _ = sender.send(Ok(runtime.handle().clone()));
            runtime.block_on(std::future::pending::<()>());
        }
        Err(error) => {
            let _ = sender.send(Err(error.to_string()));
        }
    }
}

/// A request that runs while its sender continues. Dropped before its end, it is aborted.
pub struct Task<T> {
    answer: Receiver<T>,
    handle: AbortHandle,
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

/// Starts `future` on the request thread.
///
/// # Errors
/// When the thread can't be started.
pub fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<Task<T>> {
    let (sender, answer) = sync_channel(1);
    let task = handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    Ok(Task {
        answer,
        handle: task.abort_handle(),
    })
}

impl<T> Task<T> {
    /// True when [`Task::join`] would not wait.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// [`Kind::Cancelled`](crate::error::Kind::Cancelled) when the job is cancelled, which also
    /// aborts the request.
    pub fn join(self) -> Result<T> {
        let job = jobs::current();
        loop {
            match self.answer.recv_timeout(POLL_INTERVAL) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => {
                    job.iter().try_for_each(|job| job.context.check())?
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::internal("a request ended without a result"));
                }
            }
        }
    }

    /// Waits for the result at most this long, also for a job that is cancelled: to clean up after
    /// it.
    pub fn join_within(self, most: Duration) -> Option<T> {
        self.answer.recv_timeout(most).ok()
    }
}

/// Runs `future` on the request thread and waits for its result.
///
/// # Errors
/// [`Kind::Cancelled`](crate::error::Kind::Cancelled) when the job is cancelled, which also aborts
/// the request.
pub fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Result<T> {
    start(future)?.join()
}
