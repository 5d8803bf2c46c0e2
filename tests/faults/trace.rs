//! Fault injection with `strace`: lists the system calls of a run that access the output or the
//! sources, and runs with a failure or a kill at one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Ran, Workspace};

/// System calls that modify the file system, with the injected error.
const WRITING: [(&str, &str); 22] = [
    ("openat", "ENOSPC"),
    ("write", "ENOSPC"),
    ("pwrite64", "ENOSPC"),
    ("writev", "ENOSPC"),
    ("copy_file_range", "ENOSPC"),
    ("sendfile", "ENOSPC"),
    ("fallocate", "ENOSPC"),
    ("ftruncate", "ENOSPC"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("syncfs", "EIO"),
    ("rename", "EIO"),
    ("renameat", "EIO"),
    ("renameat2", "EIO"),
    ("link", "EIO"),
    ("linkat", "EIO"),
    ("mkdir", "ENOSPC"),
    ("mkdirat", "ENOSPC"),
    ("unlink", "EIO"),
    ("unlinkat", "EIO"),
    ("rmdir", "EIO"),
    ("symlink", "EIO"),
];
/// System calls that read.
const READING: [&str; 3] = ["read", "pread64", "readv"];

/// The injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A modifying call fails.
    Error,
    /// A read of a source fails.
    ReadError,
    /// The process is killed at a modifying call.
    Kill,
}

impl Fault {
    pub const ALL: [Fault; 3] = [Fault::Error, Fault::ReadError, Fault::Kill];
}

/// The n-th call of one name within a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub fault: Fault,
    pub call: String,
    /// Counted from 1.
    pub number: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} at {} number {}",
            self.fault, self.call, self.number
        )
    }
}

impl Point {
    fn inject(&self) -> String {
        let what = match self.fault {
            Fault::Kill => "signal=SIGKILL".to_owned(),
            Fault::ReadError => "error=EIO".to_owned(),
            Fault::Error => {
                let error = WRITING
                    .iter()
                    .find(|(call, _)| *call == self.call)
                    .map_or("EIO", |(_, error)| error);
                format!("error={error}")
            }
        };
        format!("inject={}:{what}:when={}", self.call, self.number)
    }
}

/// Whether processes can be traced here, and otherwise the reason.
pub fn works() -> Result<(), String> {
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "strace can't trace here: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("strace can't be started ({error})")),
    }
}

fn calls() -> impl Iterator<Item = &'static str> {
    WRITING.iter().map(|(call, _)| *call).chain(READING)
}

fn strace(workspace: &Workspace, options: &[OsString], arguments: Vec<OsString>) -> Ran {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq"])
        .args(options)
        .arg(env!("CARGO_BIN_EXE_taco-studio"))
        .args(arguments);
    command.env("RAYON_NUM_THREADS", "1");
    workspace.run(command)
}

/// Runs the program with a fault.
pub fn run(workspace: &Workspace, arguments: Vec<OsString>, point: Option<&Point>) -> Ran {
    run_with_log(workspace, arguments, point, "/dev/null".into())
}

/// Runs the program with a failing call; also returns whether that call accessed the folder
/// `written`. Calls are counted per thread, so the fault may hit another thread first, for example
/// one that writes to standard output.
pub fn run_and_look(
    workspace: &Workspace,
    arguments: Vec<OsString>,
    point: &Point,
    written: &str,
) -> (Ran, bool) {
    let log = workspace.path("fault.log");
    let ran = run_with_log(workspace, arguments, Some(point), log.clone().into());
    let folder = workspace.path(written).display().to_string();
    let lines = fs::read_to_string(&log).expect("the trace");
    let mut failed = lines
        .lines()
        .filter(|line| line.contains("(INJECTED)"))
        .peekable();
    let hit = failed.peek().is_some() && failed.all(|line| line.contains(&folder));
    (ran, hit)
}

fn run_with_log(
    workspace: &Workspace,
    arguments: Vec<OsString>,
    point: Option<&Point>,
    log: OsString,
) -> Ran {
    let mut options: Vec<OsString> = vec!["-y".into(), "-s".into(), "0".into(), "-o".into(), log];
    if let Some(point) = point {
        // Faster, but signals are not delivered with it.
        options.extend((point.fault != Fault::Kill).then(|| "--seccomp-bpf".into()));
        options.extend([
            "-e".into(),
            format!("trace={}", point.call).into(),
            "-e".into(),
            point.inject().into(),
        ]);
    }
    strace(workspace, &options, arguments)
}

/// The points at which a run can fail or be killed: calls that access the folder `written`, and
/// reads of other files in the workspace. Calls are counted per thread; points that another thread
/// reaches first are omitted, as the fault would hit there.
pub fn points(workspace: &Workspace, arguments: Vec<OsString>, written: &str) -> Vec<Point> {
    let log = workspace.path("trace.log");
    let trace = format!("trace={}", calls().collect::<Vec<_>>().join(","));
    let options: Vec<OsString> = vec![
        "-y".into(),
        "-s".into(),
        "0".into(),
        "-o".into(),
        log.clone().into(),
        "-e".into(),
        trace.into(),
    ];
    strace(workspace, &options, arguments).expect_code(0);
    let root = workspace
        .path("")
        .canonicalize()
        .expect("the workspace")
        .display()
        .to_string();
    let root = format!("{}/", root.trim_end_matches('/'));
    let out = format!("{root}{written}");
    let home = format!("{root}home");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut reached: BTreeSet<(String, usize)> = BTreeSet::new();
    let mut found = Vec::new();
    for line in fs::read_to_string(&log).expect("the trace").lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, tail)) = rest.trim_start().split_once('(') else {
            continue;
        };
        if !calls().any(|known| known == call) {
            continue;
        }
        let count = counts
            .entry((thread.to_owned(), call.to_owned()))
            .or_default();
        *count += 1;
        // The first thread that reaches the count is hit.
        if !reached.insert((call.to_owned(), *count)) {
            continue;
        }
        let point = |fault| Point {
            fault,
            call: call.to_owned(),
            number: *count,
        };
        if READING.contains(&call) {
            if tail.contains(&root) && !tail.contains(&out) && !tail.contains(&home) {
                found.push(point(Fault::ReadError));
            }
        } else if tail.contains(&out) && (call != "openat" || tail.contains("O_CREAT")) {
            found.extend([point(Fault::Error), point(Fault::Kill)]);
        }
    }
    found
}
