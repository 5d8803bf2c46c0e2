//! The record of one process that works on a part, written at the start, every few seconds, and at
//! the end. The time of the last record distinguishes a running process from one that was killed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{file_stem, now_ms, write_json};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Time between two records of a running process.
const BEAT: Duration = Duration::from_secs(2);
/// A process without a record for this long counts as lost; long enough for the delays of a file
/// server.
pub(super) const LOST_AFTER: Duration = Duration::from_secs(60);

/// One attempt at a part.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PartAttempt {
    /// [`super::Plan::id`].
    pub plan: String,
    /// Number of the part.
    pub part: u32,
    /// Name of the machine.
    pub host: String,
    /// Process id on that machine.
    pub pid: u32,
    /// Job id of the engine, such as `771203_18`; empty without one.
    #[serde(default)]
    pub job: String,
    /// State of the attempt.
    pub state: AttemptState,
    /// Milliseconds since 1970 when it started.
    pub started_ms: u64,
    /// Milliseconds since 1970 of this record.
    pub updated_ms: u64,
    /// Bytes read and written so far.
    #[serde(default)]
    pub bytes: u64,
    /// Completed steps of the current stage.
    #[serde(default)]
    pub done: u64,
    /// Number of steps of the current stage, when known.
    #[serde(default)]
    pub total: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AttemptError>,
}

/// State of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// Running, or killed: see [`PartAttempt::is_lost`].
    #[default]
    Running,
    /// The part is written.
    Done,
    /// It failed.
    Failed,
    /// It was stopped by a signal.
    Stopped,
}

/// Why an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AttemptError {
    /// The error and its cause, without the location.
    pub message: String,
    /// The sample or file in which it occurred.
    #[serde(default)]
    pub place: Option<String>,
    /// Full report with causes and hints.
    pub report: String,
}

impl AttemptError {
    fn from_error(error: &Error) -> Self {
        let below = std::iter::successors(std::error::Error::source(error), |error| error.source());
        let reasons = below.map(|error| {
            error
                .downcast_ref::<Error>()
                .map_or_else(|| error.to_string(), |own| own.summary().to_owned())
        });
        let message = std::iter::once(error.summary().to_owned())
            .chain(reasons)
            .collect::<Vec<_>>()
            .join(": ");
        Self {
            message,
            place: place_of(error),
            report: error.report(),
        }
    }
}

/// Location of the outermost error that has one.
fn place_of(error: &Error) -> Option<String> {
    let own = error.place().map(str::to_owned);
    own.or_else(|| {
        let below = std::iter::successors(std::error::Error::source(error), |error| error.source());
        below
            .filter_map(|error| error.downcast_ref::<Error>())
            .find_map(|error| error.place().map(str::to_owned))
    })
}

impl PartAttempt {
    /// True when the process ended without a final record: it was killed, or its machine failed.
    pub fn is_lost(&self, now_ms: u64) -> bool {
        let silent = now_ms.saturating_sub(self.updated_ms) > LOST_AFTER.as_millis() as u64;
        self.state == AttemptState::Running
            && (silent || (self.host == host_name() && has_ended(self.pid)))
    }
}

/// True when this machine has no process with this id.
fn has_ended(pid: u32) -> bool {
    #[cfg(unix)]
    {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| {
            rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        })
    }
    #[cfg(windows)]
    {
        crate::windows_api::has_ended(pid)
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = pid;
        false
    }
}

/// Keeps the record of this process while it works.
pub(super) struct AttemptRecord {
    path: PathBuf,
    attempt: PartAttempt,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl AttemptRecord {
    /// Writes the first record, then one every few seconds with the progress of `ctx`.
    ///
    /// # Errors
    /// When the plan's folder can't be written.
    pub fn start(folder: &Path, plan: &str, part: u32, ctx: &JobContext) -> Result<Self> {
        let (now, host, pid) = (now_ms(), host_name(), std::process::id());
        let attempt = PartAttempt {
            plan: plan.to_owned(),
            part,
            host,
            pid,
            job: job_name(),
            started_ms: now,
            updated_ms: now,
            ..PartAttempt::default()
        };
        let name = format!(
            "{}.{now}.{}.{pid}.json",
            file_stem(part),
            crate::container::file_name_of(&attempt.host)
        );
        let path = folder.join("attempts").join(name);
        write_json(&path, &attempt)?;
        let (stop, stopped) = channel();
        let (of_thread, own, ctx) = (path.clone(), attempt.clone(), ctx.clone());
        let thread = std::thread::Builder::new()
            .name("record".into())
            .spawn(move || write_heartbeats(&of_thread, &own, &ctx, &stopped));
        let thread = thread.map_err(|error| {
            Error::internal("could not start a thread for the record").because(error)
        })?;
        Ok(Self {
            path,
            attempt,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Name of the machine.
    pub fn host(&self) -> &str {
        &self.attempt.host
    }

    /// Milliseconds since 1970 when the attempt started.
    pub fn started_ms(&self) -> u64 {
        self.attempt.started_ms
    }

    /// Writes the last record.
    ///
    /// # Errors
    /// When the plan's folder can't be written.
    pub fn end<T>(mut self, outcome: &Result<T>, ctx: &JobContext) -> Result<()> {
        self.join();
        let (state, error) = match outcome {
            Ok(_) => (AttemptState::Done, None),
            Err(error) if error.is_cancelled() => (AttemptState::Stopped, None),
            Err(error) => (AttemptState::Failed, Some(AttemptError::from_error(error))),
        };
        write_json(
            &self.path,
            &with_progress(
                &PartAttempt {
                    state,
                    error,
                    ..self.attempt.clone()
                },
                ctx,
            ),
        )
    }

    fn join(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A record that could not be written is no reason to lose the part.
            let _ = thread.join();
        }
    }
}

impl Drop for AttemptRecord {
    fn drop(&mut self) {
        self.join();
    }
}

fn write_heartbeats(path: &Path, attempt: &PartAttempt, ctx: &JobContext, stopped: &Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(BEAT) {
        if let Err(error) = write_json(path, &with_progress(attempt, ctx)) {
            tracing::warn!(
                "the state of part {} could not be written: {error}",
                attempt.part
            );
        }
    }
}

fn with_progress(attempt: &PartAttempt, ctx: &JobContext) -> PartAttempt {
    let progress = ctx.progress();
    PartAttempt {
        updated_ms: now_ms(),
        bytes: progress.bytes,
        done: progress.done,
        total: progress.total,
        ..attempt.clone()
    }
}

/// Name of this machine, or of the node if a scheduler sets one.
fn host_name() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    named("SLURMD_NODENAME")
        .or_else(read_host_name)
        .or_else(|| named("COMPUTERNAME"))
        .or_else(|| named("HOSTNAME"))
        .unwrap_or_else(|| "localhost".into())
}

/// The name that Linux gives this machine.
fn read_host_name() -> Option<String> {
    let name = crate::files::read_to_string(Path::new("/proc/sys/kernel/hostname")).ok()?;
    Some(name.trim().to_owned())
}

/// The job of the engine that started this process.
fn job_name() -> String {
    let var = |name: &str| std::env::var(name).ok();
    if let Some(job) = var("TACO_STUDIO_JOB") {
        return job;
    }
    match (var("SLURM_ARRAY_JOB_ID"), var("SLURM_ARRAY_TASK_ID")) {
        (Some(job), Some(task)) => format!("{job}_{task}"),
        _ => String::new(),
    }
}

/// Greatest memory of this process in bytes, where the system reports it.
pub(super) fn peak_memory() -> Option<u64> {
    let status = crate::files::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(
        line.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<u64>()
            .ok()?
            * 1024,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_lost_when_it_is_silent_or_gone() {
        let own = PartAttempt {
            host: host_name(),
            pid: std::process::id(),
            updated_ms: 1_000_000,
            ..PartAttempt::default()
        };
        assert!(
            !own.is_lost(1_000_500) && own.is_lost(1_000_000 + LOST_AFTER.as_millis() as u64 + 1)
        );
        let elsewhere = PartAttempt {
            host: "another.machine".into(),
            pid: u32::MAX / 2,
            ..own.clone()
        };
        assert!(
            !elsewhere.is_lost(1_000_500),
            "its processes are not known here"
        );
        // A program that waits for the end of its input.
        let (program, options): (&str, &[&str]) = if cfg!(windows) {
            ("cmd", &["/c", "set /p line="])
        } else {
            ("cat", &[])
        };
        let mut command = std::process::Command::new(program);
        let mut child = command
            .args(options)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        let there = PartAttempt {
            pid: child.id(),
            ..own.clone()
        };
        assert!(!there.is_lost(1_000_500));
        drop(child.stdin.take());
        child.wait().expect("ends");
        assert!(there.is_lost(1_000_500));
        assert!(
            !PartAttempt {
                state: AttemptState::Failed,
                ..own
            }
            .is_lost(u64::MAX),
            "its end is recorded"
        );
    }

    #[test]
    fn the_place_of_an_error_is_that_of_the_sample() {
        let error = Error::invalid("the part a can't be written")
            .because(Error::invalid("the file changed").at_place("roi_7 / s2"));
        let recorded = AttemptError::from_error(&error);
        assert_eq!(
            (recorded.message.as_str(), recorded.place.as_deref()),
            (
                "the part a can't be written: the file changed",
                Some("roi_7 / s2")
            )
        );
    }
}
