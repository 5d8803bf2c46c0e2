//! What was asked of other machines: for each action the requests, bytes, waiting and what the cache gave, and the last requests
//! one by one. Addresses come here without the part of them that lets somebody in.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::jobs::{self, JobId};

/// Actions that are kept.
const ACTIONS: usize = 100;
/// Requests that are kept.
const LINES: usize = 1000;
/// Threads without a job of their own count for the action before them when that is no older than this.
const RECENT: Duration = Duration::from_secs(5);

/// What one action asked for.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ActionTraffic {
    /// The action, as the list of jobs names it.
    pub label: Arc<str>,
    /// When it made its first request or read.
    #[serde(skip)]
    pub started: Option<SystemTime>,
    /// Requests sent, repeated ones and those for credentials among them.
    pub requests: u64,
    /// Requests that brought nothing.
    pub failed: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Time from sending to the last byte, added over the requests.
    pub waited_ms: f64,
    /// Reads that needed no request.
    pub cache_reads: u64,
    /// Bytes that these reads gave.
    pub cache_bytes: u64,
}

impl ActionTraffic {
    /// Mean time of a request.
    pub fn latency_ms(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.waited_ms / self.requests as f64)
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RequestLine {
    /// The action that it was made for.
    pub action: Arc<str>,
    /// The address.
    pub address: Arc<str>,
    /// First byte and number of bytes that were asked for.
    pub range: Option<(u64, u64)>,
    /// The server's answer; none when there was none.
    pub status: Option<u16>,
    /// Bytes received.
    pub bytes: u64,
    /// From sending to the last byte.
    pub elapsed_ms: f64,
    /// 1 for the first try.
    pub attempt: u32,
    /// What went wrong.
    pub fault: Option<String>,
}

/// A copy of the meter.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Traffic {
    /// Everything since the start.
    pub total: ActionTraffic,
    /// By action, newest last.
    pub actions: Vec<ActionTraffic>,
    /// The last requests, newest last.
    pub requests: Vec<RequestLine>,
}

#[derive(Default)]
struct Meter {
    total: ActionTraffic,
    actions: VecDeque<(Option<JobId>, ActionTraffic, Option<Instant>)>,
    requests: VecDeque<RequestLine>,
}

static METER: Mutex<Option<Meter>> = Mutex::new(None);

/// Which action a request is made for: taken on the thread that waits, handed to the one that sends.
#[derive(Clone)]
pub(super) struct Purpose {
    job: Option<JobId>,
    label: Arc<str>,
}

impl Purpose {
    /// The action of this thread.
    pub fn of_thread() -> Self {
        if let Some(job) = jobs::current() {
            return Self { job: Some(job.id), label: job.label };
        }
        let meter = lock();
        let last = meter.as_ref().and_then(|meter| meter.actions.back());
        match last {
            Some((job, action, Some(at))) if at.elapsed() < RECENT => Self { job: *job, label: action.label.clone() },
            _ => Self { job: None, label: "Other".into() },
        }
    }

    /// Counts a request when it is sent.
    pub fn sent(&self) {
        self.count(|action| action.requests += 1);
    }

    /// Counts a read that needed no request.
    pub fn cached(&self, bytes: u64) {
        self.count(|action| {
            action.cache_reads += 1;
            action.cache_bytes += bytes;
        });
    }

    /// Notes how a request ended.
    pub fn ended(&self, mut line: RequestLine) {
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
        let at = meter.actions.iter().rposition(|(job, action, _)| *job == self.job && action.label == self.label);
        let at = at.unwrap_or_else(|| {
            if meter.actions.len() == ACTIONS {
                meter.actions.pop_front();
            }
            let action = ActionTraffic { label: self.label.clone(), started: Some(SystemTime::now()), ..Default::default() };
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

/// What was asked of other machines since the start.
pub fn traffic() -> Traffic {
    let meter = lock();
    let Some(meter) = meter.as_ref() else { return Traffic::default() };
    Traffic {
        total: meter.total.clone(),
        actions: meter.actions.iter().map(|(_, action, _)| action.clone()).collect(),
        requests: meter.requests.iter().cloned().collect(),
    }
}
