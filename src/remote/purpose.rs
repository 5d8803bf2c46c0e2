//! The action that a request is made for, and the statistics of this process by action.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::meter::{ActionTraffic, Meter, RequestLine, Traffic};
use super::remote_access::remote_access;
use crate::jobs::{self, JobId};

/// The action of a request: determined on the waiting thread and passed to the sending thread.
#[derive(Clone)]
pub(super) struct Purpose {
    job: Option<JobId>,
    label: Arc<str>,
}

impl Purpose {
    /// The action of this thread.
    pub fn of_thread() -> Self {
        if let Some(job) = jobs::current() {
            return Self {
                job: Some(job.id),
                label: job.label,
            };
        }
        let recent = lock_meter().as_ref().and_then(Meter::recent_action);
        let (job, label) = recent.unwrap_or_else(|| (None, "Other".into()));
        Self { job, label }
    }

    /// Counts a request when it is sent.
    pub fn count_request(&self) {
        self.count(|action| action.requests += 1);
    }

    /// Counts a read served from a cache.
    pub fn count_cache_read(&self, bytes: u64) {
        self.count(|action| {
            action.cache_reads += 1;
            action.cache_bytes += bytes;
        });
    }

    /// Records the end of a request.
    pub fn record_request_end(&self, mut line: RequestLine) {
        self.count(|action| {
            action.bytes += line.bytes;
            action.waited_ms += line.elapsed_ms;
            action.failed += u64::from(line.fault.is_some());
        });
        line.action = self.label.clone();
        lock_meter().get_or_insert_default().record_request(line);
    }

    fn count(&self, change: impl Fn(&mut ActionTraffic)) {
        let mut meter = lock_meter();
        let meter = meter.get_or_insert_default();
        meter.count(self.job, &self.label, change);
    }
}

fn lock_meter() -> MutexGuard<'static, Option<Meter>> {
    let meter = &remote_access().meter;
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Statistics since the start.
pub fn traffic() -> Traffic {
    let meter = lock_meter();
    meter.as_ref().map(Meter::traffic).unwrap_or_default()
}

/// Statistics of a job's requests; without a job, those since the start.
pub fn traffic_of(job: Option<JobId>) -> ActionTraffic {
    let meter = lock_meter();
    meter
        .as_ref()
        .map(|meter| meter.traffic_of(job))
        .unwrap_or_default()
}
