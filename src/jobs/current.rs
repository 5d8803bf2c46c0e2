//! Which job a thread works for, for code far below that has no [`JobContext`] in its hands: reading from a server has to stop
//! when the job is cancelled, and is counted under the job's name. Threads of rayon's pool belong to no job.

use std::cell::RefCell;
use std::sync::Arc;

use super::{JobContext, JobId};

/// The job that runs on this thread.
#[derive(Clone)]
pub struct Current {
    /// Its name for commands.
    pub id: JobId,
    /// What it does.
    pub label: Arc<str>,
    /// Its line to the outside.
    pub context: JobContext,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The job that runs on this thread, if any.
pub fn current() -> Option<Current> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// Says that this thread works for a job from now on.
pub(super) fn begin(job: Current) {
    let _ = CURRENT.try_with(|current| current.replace(Some(job)));
}

/// Says that this thread works for the job of the thread that started it.
pub fn adopt(job: Option<Current>) {
    if let Some(job) = job {
        begin(job);
    }
}
