//! Test support: a workspace with its own home, runners for the program and the readers' Python,
//! small GeoTIFFs and checksums. Contains no test, and uses nothing internal of the library.

mod archives;
mod fault_proxy;
mod listener;
mod random;
mod scenes;
mod server;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use archives::{Packing, pack, tar_of, zip_of};
pub use fault_proxy::{FaultProxy, SentFault};
pub use random::Random;
pub use scenes::{COLLECTION, flat_scenes, geotiff, nested_scenes};
pub use server::{Fault, Habit, Server};
pub use stores::{Emulator, StoreKind};

/// A program that runs longer is considered hanging; longer than any test takes, on a machine with
/// other work too.
const LIMIT: Duration = Duration::from_secs(600);

/// Compares a file with what the code makes of it; with the variable `write` set it is written anew
/// first.
#[track_caller]
pub fn expect_generated(path: &Path, wanted: &str, write: &str) {
    if std::env::var_os(write).is_some() {
        fs::write(path, wanted).expect("writes");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let mut lines = found.lines().zip(wanted.lines());
    let first = lines.find(|(found, wanted)| found != wanted);
    assert!(
        found == wanted,
        "{} is stale: run the tests with {write}=1. The first line that differs: {first:?}",
        path.display()
    );
}

/// `full` in the nightly run (`./packaging/test --nightly`), else `quick`: the number of parts,
/// rounds or rows that a test takes.
pub fn nightly_or(quick: usize, full: usize) -> usize {
    if std::env::var_os("TACO_STUDIO_NIGHTLY").is_some() {
        full
    } else {
        quick
    }
}

/// A temporary folder for one test. `home/` is the program's home, so tests do not use the user's
/// settings.
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("taco-studio-test-")
            .tempdir()
            .expect("a temporary folder");
        fs::create_dir(folder.path().join("home")).expect("a home");
        Self { folder }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file, creating its parent folders.
    pub fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, bytes).expect("a file");
        path
    }

    /// Reads the data of a sample into `out`, which may exist.
    #[track_caller]
    pub fn read_into(&self, dataset: impl AsRef<Path>, sample: impl AsRef<str>, out: &Path) {
        let (dataset, sample) = (dataset.as_ref(), sample.as_ref());
        let parts = [
            "read".as_ref(),
            dataset.as_os_str(),
            sample.as_ref(),
            "--overwrite".as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        self.studio(parts).expect_code(0);
    }

    /// Runs `taco-studio` in this workspace.
    pub fn studio<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command.args(arguments);
        self.run(command)
    }

    /// Runs `taco-studio` with these environment variables.
    pub fn studio_with<S: AsRef<std::ffi::OsStr>>(
        &self,
        variables: &[(&str, &str)],
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command.args(arguments).envs(variables.iter().copied());
        self.run(command)
    }

    /// Runs a script of `tests/interop` with the Python that has the official readers.
    pub fn python<S: AsRef<std::ffi::OsStr>>(
        &self,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.script(&python(), script, arguments)
    }

    /// The same on this display.
    #[cfg(target_os = "linux")]
    pub fn python_on<S: AsRef<std::ffi::OsStr>>(
        &self,
        display: &str,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        let mut command = interop_command(&python(), script, arguments);
        command.env("DISPLAY", display).env_remove("XAUTHORITY");
        self.run(command)
    }

    /// The same with the Python that has the official readers of the first generation.
    pub fn old_python<S: AsRef<std::ffi::OsStr>>(
        &self,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.script(
            &other_python("TACO_STUDIO_PYTHON_V1", "venv-v1"),
            script,
            arguments,
        )
    }

    /// The same with the Python that has the validators of the catalogues.
    pub fn catalogue_python<S: AsRef<std::ffi::OsStr>>(
        &self,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.script(
            &other_python("TACO_STUDIO_PYTHON_CATALOGUES", "venv-catalogues"),
            script,
            arguments,
        )
    }

    /// The same with the Python that has a client of the Model Context Protocol.
    pub fn agents_python<S: AsRef<std::ffi::OsStr>>(
        &self,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.script(
            &other_python("TACO_STUDIO_PYTHON_AGENTS", "venv-agents"),
            script,
            arguments,
        )
    }

    fn script<S: AsRef<std::ffi::OsStr>>(
        &self,
        python: &Path,
        script: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.run(interop_command(python, script, arguments))
    }

    /// Sets the workspace as home, settings and working directory of a program.
    pub fn house<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let home = self.path("home");
        if cfg!(windows) {
            // Windows is asked for its folders, whatever the environment says.
            for (variable, folder) in [("CONFIG", ".config"), ("DATA", ".local/share")] {
                let variable = format!("TACO_STUDIO_{variable}_DIR");
                if !command
                    .get_envs()
                    .any(|(known, value)| known == variable.as_str() && value.is_some())
                {
                    command.env(variable, home.join(folder).join("taco-studio"));
                }
            }
        }
        command
            .current_dir(self.folder.path())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("NO_COLOR", "1")
            .env("RUST_BACKTRACE", "1")
            .env_remove("RUST_LOG")
            // Servers of the tests on this machine must not be accessed through a proxy.
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env_remove("TACO_STUDIO_CACHE_DIR");
        if cfg!(windows) {
            command.env("TACO_STUDIO_CACHE_DIR", home.join(".cache/taco-studio"));
        }
        command
    }

    /// Starts the program and kills it after `delay`. Returns the duration of a run that ended
    /// before, and `None` if it was killed.
    pub fn killed(&self, arguments: &[&std::ffi::OsStr], delay: Duration) -> Option<Duration> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        self.house(command.args(arguments))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().expect("starts");
        while started.elapsed() < delay {
            if child.try_wait().expect("a state").is_some() {
                return Some(started.elapsed());
            }
            std::thread::sleep(
                Duration::from_millis(1).min(delay.saturating_sub(started.elapsed())),
            );
        }
        let ended = child
            .try_wait()
            .expect("a state")
            .map(|_| started.elapsed());
        if ended.is_none() {
            child.kill().expect("ends it");
        }
        child.wait().expect("ends");
        ended
    }

    /// Runs any program in this workspace.
    pub fn run(&self, mut command: Command) -> Ran {
        // Files instead of pipes: a program with much output cannot block, and output of a killed
        // program is kept.
        let outputs = tempfile::tempdir_in(self.folder.path()).expect("a folder for the output");
        let (out, err) = (outputs.path().join("stdout"), outputs.path().join("stderr"));
        self.house(&mut command)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&out).expect("stdout"))
            .stderr(fs::File::create(&err).expect("stderr"));
        let shown = format!("{command:?}");
        let started = Instant::now();
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{shown} could not start: {error}"));
        let status = loop {
            if let Some(status) = child.try_wait().expect("the state of the program") {
                break status;
            }
            if started.elapsed() > LIMIT {
                child.kill().expect("to end the program");
                panic!(
                    "{shown} was still running after {LIMIT:?}:\n{}",
                    fs::read_to_string(&err).unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let elapsed = started.elapsed();
        let read =
            |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("output")).into_owned();
        Ran {
            status,
            stdout: read(&out),
            stderr: read(&err),
            elapsed,
            shown,
        }
    }
}

/// Exit status and output of a program.
pub struct Ran {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    shown: String,
}

impl Ran {
    /// The exit code; fails for a program ended by a signal.
    #[track_caller]
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("ended by a signal: {self}"))
    }

    /// The exit code; `None` for a program ended by a signal.
    #[cfg(target_os = "linux")]
    pub fn ended(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless the program ended with `code` and without a panic.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert!(self.code() == code, "expected exit code {code}: {self}");
        self.expect_no_panic()
    }

    #[track_caller]
    pub fn expect_no_panic(self) -> Self {
        assert!(
            !self.stderr.contains("panicked at") && self.code() != 101,
            "it panicked: {self}"
        );
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("standard output is not JSON ({error}): {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            status,
            stdout,
            stderr,
            elapsed,
            shown,
        } = self;
        write!(
            f,
            "{shown}\n{status} after {elapsed:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

/// Size of windows for pictures of everything: `1024x640` in TACO_STUDIO_SHEET_SIZE.
pub fn sheet_size() -> Option<(u32, u32)> {
    let size = std::env::var("TACO_STUDIO_SHEET_SIZE").ok()?;
    let (width, height) = size.split_once('x').expect("a size such as 1024x640");
    Some((
        width.parse().expect("a width"),
        height.parse().expect("a height"),
    ))
}

/// Theme of windows for pictures of everything: `dark` or `light` in TACO_STUDIO_SHEET_THEME.
pub fn sheet_theme() -> Option<String> {
    std::env::var("TACO_STUDIO_SHEET_THEME").ok()
}

/// Copies a folder with everything in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in entries(from) {
        let target = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy_folder(&entry, &target)
        } else {
            fs::copy(&entry, target).map(drop).expect("a copy")
        }
    }
}

/// Copies a script of `tests/scripts`, in the size and theme for pictures.
pub fn copy_script(name: &str, to: &Path) {
    let text = fs::read_to_string(tests_folder().join("scripts").join(name)).expect("reads");
    let mut steps: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a list");
    for step in &mut steps {
        match step["step"].as_str() {
            Some("resize") => {
                if let Some((width, height)) = sheet_size() {
                    (step["width"], step["height"]) = (width.into(), height.into());
                }
            }
            Some("theme") => {
                if let Some(theme) = sheet_theme() {
                    step["theme"] = theme.into();
                }
            }
            _ => {}
        }
    }
    fs::write(to, serde_json::to_string(&steps).expect("JSON")).expect("a copy");
}

/// A script of the interop folder with this Python.
fn interop_command<S: AsRef<std::ffi::OsStr>>(
    python: &Path,
    script: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let interop = tests_folder().join("interop");
    let mut command = Command::new(python);
    command
        .arg(interop.join("run.py"))
        .arg(interop.join(script))
        .args(arguments);
    command
}

/// The Python with the official readers. A missing one is a failure with advice, never a silent
/// skip.
pub fn python() -> PathBuf {
    other_python("TACO_STUDIO_PYTHON", "venv")
}

/// The Python with Dask Distributed: that of the environment variable, or that of an environment
/// beside the one of [`python`].
pub fn engines_python() -> PathBuf {
    let beside = || {
        Some(
            python()
                .parent()?
                .parent()?
                .with_file_name("venv-engines")
                .join("bin/python"),
        )
    };
    match beside() {
        Some(path) if std::env::var_os("TACO_STUDIO_PYTHON_ENGINES").is_none() && path.exists() => {
            path
        }
        _ => other_python("TACO_STUDIO_PYTHON_ENGINES", "venv-engines"),
    }
}

/// The Python with the emulators of object stores; `None` where it was not installed, which
/// continuous integration takes for a failure.
pub fn stores_python() -> Option<PathBuf> {
    let named = std::env::var_os("TACO_STUDIO_PYTHON_STORES").map(PathBuf::from);
    let beside = || {
        Some(
            python()
                .parent()?
                .parent()?
                .with_file_name("venv-stores")
                .join("bin/python"),
        )
    };
    let found = named.or_else(beside).filter(|path| path.exists());
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "venv-stores is not there: run ./packaging/test, which makes it"
        );
        println!("skipped: venv-stores is not there; ./packaging/test makes it");
    }
    found
}

/// The Python with the official library of TACO 3.
pub fn taco3_python() -> PathBuf {
    other_python("TACO_STUDIO_PYTHON_V3", "venv-v3")
}

/// The Python in the environment variable, or that of an environment in the cache.
/// A program of the environment with the validators of the catalogues.
pub fn catalogues_program(name: &str) -> PathBuf {
    other_python("TACO_STUDIO_PYTHON_CATALOGUES", "venv-catalogues").with_file_name(name)
}

fn other_python(variable: &str, environment: &str) -> PathBuf {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        cache
            .expect("HOME")
            .join("taco-studio")
            .join(environment)
            .join("bin/python")
    });
    assert!(
        path.exists(),
        "{} is not there: run ./packaging/test, which makes it, or set {variable}",
        path.display()
    );
    path
}

pub fn tests_folder() -> PathBuf {
    project_folder().join("tests")
}

/// The folder with `Cargo.toml`.
pub fn project_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Compiled on Linux and run under wine, which shows its files as a drive.
    if folder.is_absolute() {
        folder.to_owned()
    } else {
        Path::new("Z:\\").join(folder)
    }
}

/// The folders in `tests/fixtures/<kind>`, or in the folder named by the environment variable,
/// sorted by name.
pub fn fixtures(kind: &str, variable: &str) -> Vec<PathBuf> {
    let root = std::env::var_os(variable)
        .map_or_else(|| tests_folder().join("fixtures").join(kind), PathBuf::from);
    let mut folders: Vec<PathBuf> = entries(&root)
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "no fixtures in {}", root.display());
    folders
}

/// The entries of a folder.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The files of a folder that end in `.tacozip`, sorted by name.
pub fn zips_in(folder: &Path) -> Vec<PathBuf> {
    let mut zips = entries(folder);
    zips.retain(|path| path.extension().is_some_and(|ending| ending == "tacozip"));
    zips.sort();
    zips
}

/// Copies the ZIPs of a folder into another; returns the copies, sorted.
pub fn copy_zips(set: &Path, folder: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(folder).expect("a folder");
    for zip in zips_in(set) {
        let copy = folder.join(zip.file_name().expect("a name"));
        fs::copy(zip, copy).expect("copies");
    }
    zips_in(folder)
}

/// Relative paths, with `/`, of every file below a folder, sorted.
pub fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for path in entries(&next) {
            if path.is_dir() {
                waiting.push(path);
            } else {
                let relative = path.strip_prefix(folder).expect("a path below");
                found.push(
                    relative
                        .components()
                        .map(|part| part.as_os_str().to_string_lossy())
                        .collect::<Vec<_>>()
                        .join("/"),
                );
            }
        }
    }
    found.sort();
    found
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub fn sha256_of(path: &Path) -> String {
    sha256(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A server that gives every request the same response, and records the request.
pub fn answering(answer: String) -> (String, std::sync::Arc<std::sync::Mutex<String>>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let host = listener.local_addr().expect("has an address").to_string();
    let told = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let heard = told.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(&stream)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty());
            let head: String = lines.map(|line| line + "\n").collect();
            heard.lock().expect("is whole").push_str(&head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (host, told)
}

/// A range of time as days: the official reader ignores times of day, which the studio does not.
pub fn days_of(range: &str) -> String {
    range
        .split('/')
        .map(|end| end.get(..10).unwrap_or(end))
        .collect::<Vec<_>>()
        .join("/")
}

/// A collection with every core field of TACO 0.2, as JSON.
pub fn core_fields_of_taco_0_2(title: &str) -> String {
    let contact = serde_json::json!([{
        "name": "Ana Nieto",
        "organization": "Survey",
        "roles": ["producer"],
    }]);
    let fields = serde_json::json!({
        "id": "rivers", "taco_version": "0.2.0", "dataset_version": "1.0.0", "title": title,
        "description": "Two rivers",
        "licenses": [
            "CC-BY-4.0",
        ], "providers": contact, "curators": contact, "task": "Classification",
        "extent": {
            "spatial": [[-2.0, 38.0, 0.0, 40.0]],
            "temporal": [["2020-01-01T00:00:00Z", "2020-12-31T00:00:00Z"]],
        }
    });
    fields.to_string()
}

/// Path of the first FILE of a dataset, within its first tortilla where it is nested.
pub fn first_file(workspace: &Workspace, dataset: &str) -> String {
    let mut place = String::new();
    loop {
        let arguments = ["read", dataset, &place];
        let listing = workspace
            .studio(&arguments[..if place.is_empty() { 2 } else { 3 }])
            .expect_code(0)
            .stdout;
        let first = listing
            .lines()
            .next()
            .and_then(|line| line.split_once('\t'))
            .expect("a sample");
        let id = first.1.split('\t').next().unwrap_or(first.1);
        place = if place.is_empty() {
            id.to_owned()
        } else {
            format!("{place}/{id}")
        };
        if first.0 == "FILE" {
            return place;
        }
    }
}
