//! Crash reports: version, system, source location, backtrace and the names of the last commands,
//! without their contents. The window offers the newest report at its next start. Nothing is sent.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Command;

/// Maximum number of commands in a report.
const COMMANDS: usize = 30;
/// Maximum number of reports kept.
const REPORTS: usize = 5;
/// Prefix of reports not shown yet.
const NEW: &str = "crash-";
/// Prefix of reports that were shown, or that the program survived.
const SEEN: &str = "seen-crash-";

struct CrashState {
    /// Where reports are written.
    folder: OnceLock<PathBuf>,
    /// Names of the last commands, oldest first.
    commands: Mutex<VecDeque<String>>,
    /// Reports of this process.
    reports: Mutex<Vec<PathBuf>>,
}

static CRASH_STATE: CrashState = CrashState {
    folder: OnceLock::new(),
    commands: Mutex::new(VecDeque::new()),
    reports: Mutex::new(Vec::new()),
};

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs a panic hook that writes a report to `folder`. Once per process; later calls have no
/// effect.
pub fn install(folder: PathBuf) {
    if CRASH_STATE.folder.set(folder).is_err() {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        let what = info.payload_as_str().map_or_else(
            || "unknown reason".to_owned(),
            |text| {
                text.lines()
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take(400)
                    .collect()
            },
        );
        let place = info.location().map_or_else(
            || "unknown place".to_owned(),
            |at| format!("{}:{}", at.file(), at.line()),
        );
        let backtrace = std::backtrace::Backtrace::force_capture();
        if let Some(folder) = CRASH_STATE.folder.get() {
            // A failed write must not panic again.
            let _ = write(folder, &report(&what, &place, &backtrace.to_string()));
        }
    }));
}

/// Records the command's variant name, without its contents, for a report.
pub(super) fn note(command: &Command) {
    let mut name = CommandName(String::new());
    match command {
        Command::Operate(operation) => name.0.push_str(operation.name()),
        Command::Read(read) => drop(write!(name, "{read:?}")),
        // The writer fails at the end of the name, so that a command with a million edits costs no
        // more than an empty one.
        command => drop(write!(name, "{command:?}")),
    }
    let mut commands = lock(&CRASH_STATE.commands);
    if commands.len() == COMMANDS {
        commands.pop_front();
    }
    commands.push_back(name.0);
}

/// Writer that keeps the first word of a `Debug` output and then fails.
struct CommandName(String);

impl Write for CommandName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(text.len());
        self.0.push_str(&text[..end]);
        if end == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

fn report(what: &str, place: &str, backtrace: &str) -> String {
    let commands = Vec::from(lock(&CRASH_STATE.commands).clone());
    let commands = if commands.is_empty() {
        "none".to_owned()
    } else {
        commands.join(", ")
    };
    let thread = std::thread::current();
    let seconds = now().0;
    let mut text = format!(
        "Taco Studio {} stopped unexpectedly\n\nwhen: {seconds} s since 1970\nsystem: {} {}\n\
            thread: {}\nwhere: {place}\nwhat: {}\nlast commands: {commands}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        thread.name().unwrap_or("unnamed"),
        without_home(what),
    );
    text.push_str("\nbacktrace:\n");
    text.push_str(&without_home(backtrace));
    text
}

/// Replaces the home folder in paths, which identifies the user.
fn without_home(text: &str) -> String {
    match std::env::var("HOME").ok().filter(|home| home.len() > 1) {
        Some(home) => text.replace(&home, "~"),
        None => text.to_owned(),
    }
}

fn now() -> (u64, u32) {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or((0, 0), |since| (since.as_secs(), since.subsec_nanos()))
}

fn write(folder: &Path, text: &str) -> std::io::Result<()> {
    crate::folders::make_private(folder)?;
    let (seconds, nanos) = now();
    let path = folder.join(format!("{NEW}{seconds}-{nanos:09}.txt"));
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut draft, text.as_bytes())?;
    draft.persist(&path).map_err(|error| error.error)?;
    lock(&CRASH_STATE.reports).push(path);
    Ok(())
}

/// The newest report not shown yet, if any. Marks all as shown and removes old ones.
pub fn take_unseen(folder: &Path) -> Option<PathBuf> {
    let mut new = list_files_with_prefix(folder, NEW);
    let seen: Vec<PathBuf> = new.drain(..).filter_map(|path| mark_seen(&path)).collect();
    let mut kept = list_files_with_prefix(folder, SEEN);
    let surplus = kept.len().saturating_sub(REPORTS);
    for path in kept.drain(..surplus) {
        let _ = std::fs::remove_file(path);
    }
    seen.into_iter().next_back()
}

/// Marks reports of this process as seen after a normal exit: those panics were caught and
/// reported.
pub fn ended_well() {
    for path in lock(&CRASH_STATE.reports).drain(..) {
        mark_seen(&path);
    }
}

fn mark_seen(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let seen = path.with_file_name(format!("{SEEN}{}", name.strip_prefix(NEW)?));
    std::fs::rename(path, &seen).ok().map(|()| seen)
}

/// Oldest first.
fn list_files_with_prefix(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(prefix))
        })
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_commands_without_what_they_hold() {
        note(&Command::Open {
            path: "/home/somebody/secret.tacozip".into(),
        });
        note(&Command::New);
        let text = report("index out of bounds", "src/x.rs:1", "0: main");
        assert!(text.contains("Open"), "{text}");
        assert!(text.contains("New"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn a_report_is_offered_once_and_old_ones_go() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(take_unseen(folder.path()), None);
        for number in 0..8 {
            std::fs::write(folder.path().join(format!("{NEW}{number}.txt")), "x").expect("written");
        }
        let newest = take_unseen(folder.path()).expect("one is new");
        assert!(newest.ends_with(format!("{SEEN}7.txt")), "{newest:?}");
        assert_eq!(take_unseen(folder.path()), None);
        assert_eq!(list_files_with_prefix(folder.path(), SEEN).len(), REPORTS);
    }
}
