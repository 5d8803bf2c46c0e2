//! Work that takes long: runs on a thread of its own while Python's other threads go on, reports
//! progress, and stops at Ctrl-C.

use std::time::Duration;

use pyo3::prelude::*;
use taco_studio::error::Result;
use taco_studio::jobs::{JobContext, Jobs, Progress};

use crate::errors::raised;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` to its end and returns its value with its warnings. `progress` is called with
/// (stage, done, total, bytes) when they change. An exception of `progress`, or a signal that
/// raises one, cancels the work.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    label: &str,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let mut job = Jobs::quiet().start(label, work);
    let mut last = Progress::default();
    loop {
        if let Some(outcome) = py.detach(|| job.wait_for(LOOK)) {
            return outcome
                .map(|value| (value, job.warnings()))
                .map_err(|error| raised(py, &error));
        }
        let now = job.progress();
        let told = match progress.filter(|_| now != last) {
            Some(progress) => progress
                .call1((now.stage.name.as_str(), now.done, now.total, now.bytes))
                .map(drop),
            None => Ok(()),
        };
        last = now;
        if let Err(stop) = told.and_then(|()| py.check_signals()) {
            job.cancel();
            while py.detach(|| job.wait_for(LOOK)).is_none() {}
            return Err(stop);
        }
    }
}
