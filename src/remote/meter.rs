//! Statistics of remote access: requests, bytes, latency and cache use by action, and the most
//! recent requests. Addresses have no secrets here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::jobs::{self, JobId};

/// Maximum number of actions.
const ACTIONS: usize = 100;
/// Maximum number of stored requests.
const LINES: usize = 1000;
/// Requests of threads without a job count for the last action if that is not older than this.
const RECENT: Duration = Duration::from_secs(5);

/// Statistics of one action.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ActionTraffic {
    /// Label of the action, as in the list of jobs.
    pub label: Arc<str>,
    /// Time of its first request or read.
    #[serde(skip)]
    pub started: Option<SystemTime>,
    /// Number of requests, including retries and requests for credentials.
    pub requests: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Total time in milliseconds from sending a request to its last byte.
    pub waited_ms: f64,
    /// Number of reads served from a cache.
    pub cache_reads: u64,
    /// Bytes read from a cache.
    pub cache_bytes: u64,
}

impl ActionTraffic {
    /// Mean time of a request in milliseconds.
    pub fn latency_ms(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.waited_ms / self.requests as f64)
    }
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RequestLine {
    /// Label of its action.
    pub action: Arc<str>,
    /// Address without secrets.
    pub address: Arc<str>,
    /// Requested `(offset, length)` in bytes.
    pub range: Option<(u64, u64)>,
    /// HTTP status; `None` without a response.
    pub status: Option<u16>,
    /// Bytes received.
    pub bytes: u64,
    /// Milliseconds from sending to the last byte.
    pub elapsed_ms: f64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The failure, if any.
    pub fault: Option<String>,
}

/// A snapshot of the statistics.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Traffic {
    /// Totals since the start.
    pub total: ActionTraffic,
    /// By action, newest last.
    pub actions: Vec<ActionTraffic>,
    /// Most recent requests, newest last.
    pub requests: Vec<RequestLine>,
}

#[derive(Default)]
struct Meter {
    total: ActionTraffic,
    actions: VecDeque<(Option<JobId>, ActionTraffic, Option<Instant>)>,
    requests: VecDeque<RequestLine>,
}

impl Meter {
    fn find_action(&self, job: JobId) -> Option<&ActionTraffic> {
        let mut actions = self.actions.iter().rev();
        let (_, action, _) = actions.find(|(known, ..)| *known == Some(job))?;
        Some(action)
    }
}

static METER: Mutex<Option<Meter>> = Mutex::new(None);

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
        let meter = lock();
        let last = meter.as_ref().and_then(|meter| meter.actions.back());
        match last {
            Some((job, action, Some(at))) if at.elapsed() < RECENT => Self {
                job: *job,
                label: action.label.clone(),
            },
            _ => Self {
                job: None,
                label: "Other".into(),
            },
        }
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
        let mut meter = lock();
        let meter = meter.get_or_insert_default();
        if meter.requests.len() == LINES {
            meter.requests.pop_front();
        }
        meter.requests.push_back(line);
    }

    fn count(&self, change: impl Fn(&mut ActionTraffic)) {
        let mut meter = lock();
        let meter = meter.get_or_insert_default();
        change(&mut meter.total);
        let at = meter
            .actions
            .iter()
            .rposition(|(job, action, _)| *job == self.job && action.label == self.label);
        let at = at.unwrap_or_else(|| {
            if meter.actions.len() == ACTIONS {
                meter.actions.pop_front();
            }
            let action = ActionTraffic {
                label: self.label.clone(),
                started: Some(SystemTime::now()),
                ..Default::default()
            };
            meter.actions.push_back((self.job, action, None));
            meter.actions.len() - 1
        });
        if let Some((_, action, last)) = meter.actions.get_mut(at) {
            change(action);
            *last = Some(Instant::now());
        }
    }
}

fn lock() -> MutexGuard<'static, Option<Meter>> {
    METER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Statistics since the start.
pub fn traffic() -> Traffic {
    let meter = lock();
    let Some(meter) = meter.as_ref() else {
        return Traffic::default();
    };
    Traffic {
        total: meter.total.clone(),
        actions: meter
            .actions
            .iter()
            .map(|(_, action, _)| action.clone())
            .collect(),
        requests: meter.requests.iter().cloned().collect(),
    }
}

/// Statistics of a job's requests; without a job, those since the start.
pub fn traffic_of(job: Option<JobId>) -> ActionTraffic {
    let meter = lock();
    let Some(meter) = meter.as_ref() else {
        return ActionTraffic::default();
    };
    match job {
        Some(job) => meter.find_action(job).cloned().unwrap_or_default(),
        None => meter.total.clone(),
    }
}
