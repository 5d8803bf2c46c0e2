//! Ends the studio of a window that is closed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::studio::Studio;

/// Time that the exit waits for jobs to clean up.
const JOBS_PATIENCE: Duration = Duration::from_secs(5);
/// Time that the exit waits in total, for jobs and autosave.
const PATIENCE: Duration = Duration::from_secs(12);

/// Work left after the window is closed: jobs end and autosave writes the last changes. Runs on its
/// own thread with a deadline, because a disk may not answer.
pub(super) struct Ending(Receiver<()>);

impl Ending {
    /// Starts ending the studio.
    pub(super) fn for_studio(studio: Studio) -> Self {
        let (sender, receiver) = channel();
        // If no thread can be started, dropping the closure ends the studio.
        let _ = std::thread::Builder::new()
            .name("ending".into())
            .spawn(move || stop_studio(studio, &sender));
        Self(receiver)
    }

    /// Waits up to `patience`. False when work remains.
    fn wait(self, patience: Duration) -> bool {
        !matches!(
            self.0.recv_timeout(patience),
            Err(RecvTimeoutError::Timeout)
        )
    }
}

fn stop_studio(mut studio: Studio, sender: &Sender<()>) {
    // Cancelled jobs remove their temporary files.
    studio.stop_jobs(JOBS_PATIENCE);
    drop(studio);
    let _ = sender.send(());
}

/// Waits for the work left by a closed window.
pub(super) fn wait_for_ending(ending: &Mutex<Option<Ending>>) {
    let ending = ending.lock().unwrap_or_else(PoisonError::into_inner).take();
    if ending.is_some_and(|ending| !ending.wait(PATIENCE)) {
        tracing::warn!(
            "the disk does not answer, so the program ends before everything is written"
        );
    }
}
