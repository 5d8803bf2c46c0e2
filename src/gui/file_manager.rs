//! Shows a file or folder in the desktop's file manager.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Time after which a file manager that still runs has opened its window.
const OPENED_AFTER: Duration = Duration::from_secs(3);
/// Interval between two looks at its process.
const LOOK: Duration = Duration::from_millis(20);

/// How a system shows a file in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileManager {
    /// The desktops of Linux and BSD: the folder alone.
    Freedesktop,
    Explorer,
    Finder,
}

impl FileManager {
    const OF_SYSTEM: Self = if cfg!(windows) {
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
        let path_text = || path.as_os_str().to_owned();
        match self {
            Self::Freedesktop => vec![path.parent().unwrap_or(path).into()],
            Self::Explorer => vec!["/select,".into(), path_text()],
            Self::Finder => vec!["-R".into(), path_text()],
        }
    }

    /// False for a program whose exit code says nothing.
    fn tells_failures(self) -> bool {
        self != Self::Explorer
    }
}

/// Shows a file or folder of this machine in the desktop's file manager; for jobs, as the disk may
/// not respond.
///
/// # Errors
/// When nothing is at the path, or the file manager does not start.
pub fn show_in_folder(path: &Path, ctx: &JobContext) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Err(Error::usage("there is nothing here")
            .at_path(path)
            .hint("check whether it was moved, or whether the disk is attached"));
    }
    let manager = FileManager::OF_SYSTEM;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut command = Command::new(manager.program());
    command
        .args(manager.arguments(&path))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It outlives the studio.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command
        .spawn()
        .map_err(|error| not_shown(manager).at_path(&path).because(error))?;
    wait_for_start(child, manager, ctx).map_err(|error| error.at_path(&path))
}

/// Waits for a program that ends at once, as most only hand the path to one that runs.
fn wait_for_start(mut child: Child, manager: FileManager, ctx: &JobContext) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < OPENED_AFTER && !ctx.is_cancelled() {
        match child.try_wait() {
            Ok(Some(status)) if status.success() || !manager.tells_failures() => return Ok(()),
            Ok(Some(status)) => return Err(not_shown(manager).because(status.to_string())),
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => return Err(not_shown(manager).because(error)),
        }
    }
    // Unix keeps an ended process until somebody has waited for it.
    let _ = std::thread::Builder::new()
        .name("file manager".to_owned())
        .spawn(move || child.wait());
    Ok(())
}

fn not_shown(manager: FileManager) -> Error {
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
