//! The job of the current thread, for low-level code without a [`JobContext`] parameter: requests
//! to servers stop when their job is cancelled, and are counted per job. Threads of rayon's pool
//! have no job.

use std::cell::RefCell;
use std::sync::Arc;

use super::{JobContext, JobId};

/// The job running on a thread.
#[derive(Clone)]
pub struct CurrentJob {
    pub id: JobId,
    /// Description, for the user.
    pub label: Arc<str>,
    /// Progress and cancellation.
    pub context: JobContext,
}

thread_local! {
    static CURRENT: RefCell<Option<CurrentJob>> = const { RefCell::new(None) };
}

/// The job of this thread, if any.
pub fn current() -> Option<CurrentJob> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// Sets the job of this thread.
pub(super) fn begin(job: CurrentJob) {
    let _ = CURRENT.try_with(|current| current.replace(Some(job)));
}

/// Sets the job of this thread to that of the thread that started it.
pub fn adopt(job: Option<CurrentJob>) {
    if let Some(job) = job {
        begin(job);
    }
}
