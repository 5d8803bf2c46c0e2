//! The one way in which verbs run operations and commands: progress on the terminal, cancel by
//! signals, warnings on standard error.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::output::{Terminal, say};
use crate::container::{ContainerReader, OpenOptions};
use crate::error::Result;
use crate::jobs::{JobContext, Jobs};
use crate::ops::{InspectRequest, Operation};
use crate::studio::{Command, Event, Studio};

/// Interval between two updates of the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs an operation on a thread of its own. Its warnings are printed when it has ended well.
///
/// # Errors
/// That of the operation, and [`crate::error::Kind::Internal`] when it panics.
pub fn operate<O: Operation>(terminal: &Terminal, request: O) -> Result<O::Output> {
    let label = request.label();
    run(terminal, &label, move |ctx| request.run(ctx))
}

/// Runs `work` on a thread of its own, as a job with this label. Its warnings are printed when it
/// has ended well.
///
/// # Errors
/// That of `work`, and [`crate::error::Kind::Internal`] when it panics.
pub fn run<T: Send + 'static>(
    terminal: &Terminal,
    label: &str,
    work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (value, warnings) = run_with_warnings(terminal, label, work)?;
    warnings
        .iter()
        .for_each(|warning| say(format!("warning: {warning}")));
    Ok(value)
}

/// As [`run`], but returns the warnings instead of printing them.
///
/// # Errors
/// Those of [`run`].
pub fn run_with_warnings<T: Send + 'static>(
    terminal: &Terminal,
    label: &str,
    work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
) -> Result<(T, Vec<String>)> {
    let mut job = Jobs::quiet().start(label, work);
    let outcome = loop {
        match job.wait_for(POLL_INTERVAL) {
            Some(outcome) => break outcome,
            None => terminal.progress(&job.progress()),
        }
    };
    terminal.clear();
    Ok((outcome?, job.warnings()))
}

/// Opens a dataset and prints the warnings of the opening.
///
/// # Errors
/// Those of [`InspectRequest`].
pub fn open(
    terminal: &Terminal,
    path: &Path,
    options: &OpenOptions,
) -> Result<Arc<dyn ContainerReader>> {
    let inspected = operate(
        terminal,
        InspectRequest {
            input: path.to_owned(),
            open: options.clone(),
        },
    )?;
    Ok(inspected.reader)
}

/// A session without autosave that checks nothing by itself.
pub fn session() -> Studio {
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    studio
}

/// Runs a command of a session to its end.
///
/// # Errors
/// That of the command.
pub fn command(terminal: &Terminal, studio: &mut Studio, command: Command) -> Result<Event> {
    let outcome = studio.run_to_end(command, &mut |progress| terminal.progress(progress));
    terminal.clear();
    outcome
}
