//! The thread that runs all requests, and blocking waits for its results.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use crate::error::{Error, Result};
use crate::jobs;

/// Interval at which a waiting thread checks for cancellation.
const LOOK: Duration = Duration::from_millis(25);

static RUNTIME: OnceLock<Handle> = OnceLock::new();

fn handle() -> Result<&'static Handle> {
    let start = || {
        let (sender, receiver) = sync_channel(1);
        let work = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                let _ = sender.send(Ok(runtime.handle().clone()));
                runtime.block_on(std::future::pending::<()>());
            }
            Err(error) => {
                let _ = sender.send(Err(error.to_string()));
            }
        };
        let spawned = std::thread::Builder::new().name("requests".into()).spawn(work);
        spawned.map_err(|error| error.to_string())?;
        receiver.recv().unwrap_or_else(|_| Err("the thread ended".into()))
    };
    if let Some(handle) = RUNTIME.get() {
        return Ok(handle);
    }
    // If the thread could not be created, the next request tries again. When two threads start it at once, one of them waits
    // unnecessarily.
    let made: Result<Handle, String> = start();
    let made = made.map_err(|reason| Error::internal("the thread for network requests can't be started").because(reason))?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Runs `future` on the request thread and waits for its result.
///
/// # Errors
/// [`Kind::Cancelled`](crate::error::Kind::Cancelled) when the job is cancelled, which also aborts the request.
pub fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    let task = handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    let job = jobs::current();
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(job) = &job
                    && let Err(cancelled) = job.context.check()
                {
                    task.abort();
                    return Err(cancelled);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a request ended without a result")),
        }
    }
}
