//! Shows a file or folder in the desktop's file manager.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Time after which a file manager that still runs counts as started.
const START_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between two checks whether its process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The program of a system that shows a file in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileManager {
    /// Linux and BSD. `xdg-open` opens the parent folder: it cannot select a file in it.
    Freedesktop,
    Explorer,
    Finder,
}

impl FileManager {
    const OF_THIS_SYSTEM: Self = if cfg!(windows) {
        Self::Explorer
    } else if cfg!(target_os = "macos") {
        Self::Finder
    } else {
        Self::Freedesktop
    };

    fn program(self) -> &'static str {
        match self {
            Self::Freedesktop => "xdg-open",
            Self::Explorer => "explorer",
            Self::Finder => "open",
        }
    }

    /// The arguments that show an absolute path.
    fn arguments(self, path: &Path) -> Vec<OsString> {
        match self {
            Self::Freedesktop => vec![path.parent().unwrap_or(path).into()],
            Self::Explorer => vec!["/select,".into(), path.into()],
            Self::Finder => vec!["-R".into(), path.into()],
        }
    }

    /// False for Explorer, which ends with 1 when it has opened the folder, too.
    fn reports_failures_by_exit_code(self) -> bool {
        self != Self::Explorer
    }
}

/// Shows a file or folder of this machine in the desktop's file manager. To be called in jobs, as
/// the disk may not respond.
///
/// # Errors
/// When nothing is at the path, or the file manager does not start or ends with a failure.
pub fn show_in_folder(path: &Path, ctx: &JobContext) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Err(Error::usage("there is nothing here")
            .at_path(path)
            .hint("check whether it was moved, or whether the disk is attached"));
    }
    let manager = FileManager::OF_THIS_SYSTEM;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut command = Command::new(manager.program());
    command
        .args(manager.arguments(&path))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // In a process group of its own, a signal that ends the studio does not end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command
        .spawn()
        .map_err(|error| folder_error(manager).at_path(&path).because(error))?;
    wait_for_start(child, manager, ctx).map_err(|error| error.at_path(&path))
}

/// Waits until the program ends or counts as started: most end at once, as they only pass the path
/// to a process that runs already. Cancellation ends the wait, not the program.
fn wait_for_start(mut child: Child, manager: FileManager, ctx: &JobContext) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < START_TIMEOUT && !ctx.is_cancelled() {
        match child.try_wait() {
            Ok(Some(status)) if status.success() || !manager.reports_failures_by_exit_code() => {
                return Ok(());
            }
            Ok(Some(status)) => return Err(folder_error(manager).because(status.to_string())),
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(error) => return Err(folder_error(manager).because(error)),
        }
    }
    // On Unix an ended process remains as a zombie until its parent has waited for it.
    let _ = std::thread::Builder::new()
        .name("file manager".to_owned())
        .spawn(move || child.wait());
    Ok(())
}

fn folder_error(manager: FileManager) -> Error {
    let program = manager.program();
    Error::unsupported(format!("{program} does not show the folder"))
        .hint("open the folder in your file manager by its path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_shows_the_file_in_its_folder() {
        let path = Path::new("/data/my sets/a.tacozip");
        let cases = [
            (FileManager::Freedesktop, vec!["/data/my sets"]),
            (
                FileManager::Explorer,
                vec!["/select,", "/data/my sets/a.tacozip"],
            ),
            (FileManager::Finder, vec!["-R", "/data/my sets/a.tacozip"]),
        ];
        for (manager, expected) in cases {
            assert_eq!(manager.arguments(path), expected, "{}", manager.program());
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_and_no_program_starts() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = folder.path().join("gone.tacozip");
        let error = show_in_folder(&gone, &JobContext::default()).expect_err("is not there");
        assert_eq!(error.kind(), crate::error::Kind::Usage);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_is_an_error() {
        let start = |program: &str| Command::new(program).spawn().expect("starts");
        let ctx = JobContext::default();
        let manager = FileManager::Freedesktop;
        assert!(wait_for_start(start("true"), manager, &ctx).is_ok());
        assert!(wait_for_start(start("false"), manager, &ctx).is_err());
        assert!(wait_for_start(start("false"), FileManager::Explorer, &ctx).is_ok());
    }
}
