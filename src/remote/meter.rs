//! Statistics of remote access: requests, bytes, latency and cache use by action, and the most
//! recent requests. Addresses have no secrets here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::jobs::JobId;

/// Maximum number of actions with statistics; the oldest are dropped.
const ACTIONS_MAX: usize = 100;
/// Maximum number of stored requests; the oldest are dropped.
const REQUESTS_MAX: usize = 1000;
/// Requests of a thread without a job are counted for the last action, if its last request or read
/// was at most this long ago.
const RECENT_ACTION: Duration = Duration::from_secs(5);

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

/// One request.
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

/// The statistics of this process.
#[derive(Default)]
pub(super) struct Meter {
    total: ActionTraffic,
    /// Each with its job and the time of its last request or read, the newest action last.
    actions: VecDeque<(Option<JobId>, ActionTraffic, Option<Instant>)>,
    requests: VecDeque<RequestLine>,
}

impl Meter {
    fn find_action(&self, job: JobId) -> Option<&ActionTraffic> {
        let mut actions = self.actions.iter().rev();
        let (_, action, _) = actions.find(|(known, ..)| *known == Some(job))?;
        Some(action)
    }

    /// Job and label of the last action, if it is at most [`RECENT_ACTION`] old.
    pub fn recent_action(&self) -> Option<(Option<JobId>, Arc<str>)> {
        match self.actions.back() {
            Some((job, action, Some(at))) if at.elapsed() < RECENT_ACTION => {
                Some((*job, action.label.clone()))
            }
            _ => None,
        }
    }

    /// Applies `change` to the totals, and to the statistics of the action of this job and label.
    pub fn count(
        &mut self,
        job: Option<JobId>,
        label: &Arc<str>,
        change: impl Fn(&mut ActionTraffic),
    ) {
        change(&mut self.total);
        let at = self
            .actions
            .iter()
            .rposition(|(known, action, _)| *known == job && action.label == *label);
        let at = at.unwrap_or_else(|| {
            if self.actions.len() == ACTIONS_MAX {
                self.actions.pop_front();
            }
            let action = ActionTraffic {
                label: label.clone(),
                started: Some(SystemTime::now()),
                ..Default::default()
            };
            self.actions.push_back((job, action, None));
            self.actions.len() - 1
        });
        if let Some((_, action, last)) = self.actions.get_mut(at) {
            change(action);
            *last = Some(Instant::now());
        }
    }

    /// Stores a request.
    pub fn record_request(&mut self, line: RequestLine) {
        if self.requests.len() == REQUESTS_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back(line);
    }

    /// Statistics since the start.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            total: self.total.clone(),
            actions: self
                .actions
                .iter()
                .map(|(_, action, _)| action.clone())
                .collect(),
            requests: self.requests.iter().cloned().collect(),
        }
    }

    /// Statistics of a job's requests; without a job, those since the start.
    pub fn traffic_of(&self, job: Option<JobId>) -> ActionTraffic {
        match job {
            Some(job) => self.find_action(job).cloned().unwrap_or_default(),
            None => self.total.clone(),
        }
    }
}
