//! Writes the remembered state off the interface thread, as the disk may answer late. While one
//! state is written, only the newest of those that follow waits.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::view_state::write_state;
use crate::jobs::Jobs;

/// Time that the end waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Writes states to one file, one after another. Dropping waits for the last one, up to a timeout.
#[derive(Default)]
pub struct SettingsWriter {
    thread: Option<SettingsThread>,
}

struct SettingsThread {
    sender: Sender<Vec<u8>>,
    failures: Receiver<String>,
    /// Disconnected when the thread ends.
    ended: Receiver<()>,
}

impl SettingsWriter {
    /// Queues a state. `jobs` wakes the window when it can't be written.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn write(&mut self, path: &Path, state: Vec<u8>, jobs: &Jobs) -> io::Result<()> {
        // A thread that ended gives the state back.
        let state = match &self.thread {
            Some(thread) => match thread.sender.send(state) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
            None => state,
        };
        let thread = SettingsThread::start(path.to_owned(), jobs.clone())?;
        let sent = thread.sender.send(state);
        self.thread = Some(thread);
        sent.map_err(io::Error::other)
    }

    /// Why the newest state that failed was not written; once.
    pub fn take_failure(&self) -> Option<String> {
        self.thread.as_ref()?.failures.try_iter().last()
    }

    /// Waits until the last state is written, up to a timeout.
    pub fn finish(&mut self) {
        let Some(SettingsThread { sender, ended, .. }) = self.thread.take() else {
            return;
        };
        drop(sender);
        if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(PATIENCE) {
            tracing::warn!("the last settings are not written: the disk does not answer");
        }
    }
}

impl Drop for SettingsWriter {
    fn drop(&mut self) {
        self.finish();
    }
}

impl SettingsThread {
    fn start(path: PathBuf, jobs: Jobs) -> io::Result<Self> {
        let (sender, states) = channel();
        let (failed, failures) = channel();
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("settings".into())
            .spawn(move || {
                write_states(&path, &states, &failed, &jobs);
                drop::<Sender<()>>(end);
            })?;
        Ok(Self {
            sender,
            failures,
            ended,
        })
    }
}

/// Writes states as they come, until no more can come.
fn write_states(path: &Path, states: &Receiver<Vec<u8>>, failed: &Sender<String>, jobs: &Jobs) {
    while let Ok(first) = states.recv() {
        let newest = states.try_iter().last().unwrap_or(first);
        if let Err(error) = write_state(path, &newest) {
            // After the window was closed nothing receives the error.
            let _ = failed.send(error.to_string());
            jobs.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_state_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("settings/window.json");
        let mut writer = SettingsWriter::default();
        for number in 0..100 {
            let state = format!("{{\"number\": {number}}}").into_bytes();
            writer.write(&path, state, &Jobs::quiet()).expect("starts");
        }
        writer.finish();
        let written = std::fs::read_to_string(&path).expect("is written");
        assert_eq!(written, "{\"number\": 99}");
        // It writes again after that.
        let jobs = Jobs::quiet();
        writer
            .write(&path, b"{}".to_vec(), &jobs)
            .expect("starts again");
        drop(writer);
        assert_eq!(std::fs::read(&path).expect("is written"), b"{}");
    }

    #[test]
    fn a_failure_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "x").expect("is written");
        let mut writer = SettingsWriter::default();
        assert!(writer.take_failure().is_none());
        let jobs = Jobs::quiet();
        writer
            .write(&file.join("window.json"), b"{}".to_vec(), &jobs)
            .expect("starts");
        let mut told = None;
        while told.is_none() {
            told = writer.take_failure();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
