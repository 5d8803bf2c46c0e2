//! Emulators of object stores on 127.0.0.1: moto for S3, gcp-storage-emulator for Google Cloud
//! Storage, Azurite for Azure. Their objects are looked at with the stores' own interface, not with
//! the program.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Ran, Workspace, stores_python, tests_folder};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    S3,
    Google,
    Azure,
}

impl StoreKind {
    /// What addresses of its objects begin with.
    pub fn scheme(self) -> &'static str {
        match self {
            StoreKind::S3 => "s3",
            StoreKind::Google => "gs",
            StoreKind::Azure => "az",
        }
    }

    /// The environment in which the program finds a store of this kind at `port`.
    pub fn variables(self, port: u16) -> Vec<(String, String)> {
        let own = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let url = format!("http://127.0.0.1:{port}");
        match self {
            StoreKind::S3 => own(&[
                ("AWS_ENDPOINT_URL", &url),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "secret-of-the-tests"),
                ("AWS_REGION", "us-east-1"),
            ]),
            StoreKind::Google => own(&[("GOOGLE_BASE_URL", &url)]),
            StoreKind::Azure => own(&[
                ("AZURE_STORAGE_USE_EMULATOR", "true"),
                ("AZURITE_BLOB_STORAGE_URL", &url),
                ("AZURE_STORAGE_ACCOUNT_NAME", AZURE_ACCOUNT),
                ("AZURE_STORAGE_ACCOUNT_KEY", AZURE_KEY),
            ]),
        }
    }
}

/// A running emulator with an empty bucket `data`; stopped on drop.
pub struct Emulator {
    pub kind: StoreKind,
    child: Child,
    port: u16,
    python: PathBuf,
    _folder: tempfile::TempDir,
}

const AZURE_ACCOUNT: &str = "devstoreaccount1";
/// The key of Azurite, the same everywhere.
const AZURE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

impl Emulator {
    /// Starts an emulator; `None` where it is not installed.
    pub fn start(kind: StoreKind) -> Option<Self> {
        Self::start_with(kind, &[])
    }

    /// An S3 emulator that holds large objects on the disk, in the folder for temporary files.
    #[cfg(target_os = "linux")]
    pub fn on_disk() -> Option<Self> {
        Self::start_with(StoreKind::S3, &["--on-disk"])
    }

    fn start_with(kind: StoreKind, more: &[&str]) -> Option<Self> {
        let python = stores_python()?;
        let environment = python.parent()?.parent()?.to_owned();
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let folder = tempfile::tempdir().expect("a folder");
        let text = port.to_string();
        let mut command = match kind {
            StoreKind::S3 => {
                let mut command = Command::new(&python);
                command
                    .arg(tests_folder().join("interop/run_moto.py"))
                    .arg(&text)
                    .args(more);
                command
            }
            StoreKind::Google => {
                let mut command = Command::new(&python);
                command
                    .arg(tests_folder().join("interop/run_gcs.py"))
                    .arg(&text);
                command
            }
            StoreKind::Azure => {
                let program = environment.join("npm/node_modules/.bin/azurite-blob");
                if !program.exists() {
                    let has_npm = Command::new("npm")
                        .arg("--version")
                        .output()
                        .is_ok_and(|output| output.status.success());
                    let here = std::env::var_os("CI").is_none() || !has_npm;
                    assert!(
                        here,
                        "azurite is not there: run ./packaging/test, which installs it"
                    );
                    println!(
                        "skipped: azurite is not there; ./packaging/test installs it where npm is"
                    );
                    return None;
                }
                let mut command = Command::new(program);
                command
                    .args([
                        "--silent",
                        "--skipApiVersionCheck",
                        "--disableTelemetry",
                        "--blobPort",
                        &text,
                        "--location",
                    ])
                    .arg(folder.path());
                command
            }
        };
        let child = command
            .current_dir(folder.path())
            .env_remove("HTTP_PROXY")
            .env_remove("HTTPS_PROXY")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the emulator starts");
        let emulator = Self {
            kind,
            child,
            port,
            python,
            _folder: folder,
        };
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < end,
                "{kind:?}: the emulator does not answer"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        emulator.ask(&["make"]);
        Some(emulator)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of an object or folder.
    pub fn address(&self, name: &str) -> String {
        format!("{}://data/{name}", self.kind.scheme())
    }

    /// The environment in which the program finds the emulator at `port`, that of a proxy perhaps.
    pub fn variables(&self, port: u16) -> Vec<(String, String)> {
        self.kind.variables(port)
    }

    /// Runs the program with the emulator as its store.
    pub fn studio<S: AsRef<std::ffi::OsStr>>(
        &self,
        workspace: &Workspace,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.studio_through(workspace, self.port, &[], arguments)
    }

    /// The same through a proxy at `port`, with more variables.
    pub fn studio_through<S: AsRef<std::ffi::OsStr>>(
        &self,
        workspace: &Workspace,
        port: u16,
        more: &[(&str, &str)],
        arguments: impl IntoIterator<Item = S>,
    ) -> Ran {
        let own = self.variables(port);
        let mut all: Vec<(&str, &str)> = own
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        all.extend(more);
        workspace.studio_with(&all, arguments)
    }

    /// Names of the objects, sorted.
    pub fn names(&self) -> Vec<String> {
        let listed = self.ask(&["list"]);
        listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect()
    }

    /// Downloads an object.
    pub fn download(&self, name: &str, to: &Path) {
        self.ask(&["get", name, to.to_str().expect("a path")]);
    }

    /// Uploads an object.
    pub fn upload(&self, name: &str, from: &Path) {
        self.ask(&["put", name, from.to_str().expect("a path")]);
    }

    /// Number of uploads in parts that were begun and neither completed nor given up.
    pub fn open_uploads(&self) -> u64 {
        self.ask(&["uploads"]).as_u64().expect("a number")
    }

    /// Gives up all uploads in parts, as a rule of the bucket does after days.
    pub fn drop_uploads(&self) {
        self.ask(&["drop"]);
    }

    /// Seconds that the transfer manager of boto3 takes for an upload through `port`; the object is
    /// removed afterwards.
    #[cfg(target_os = "linux")]
    pub fn transfer_seconds(&self, port: u16, from: &Path) -> f64 {
        let (text, from) = (port.to_string(), from.to_str().expect("a path"));
        self.ask(&["transfer", &text, from])
            .as_f64()
            .expect("seconds")
    }

    /// Reads every member of an archive by ranges and compares its CRC-32, with Python's own
    /// reader; returns their number.
    #[cfg(target_os = "linux")]
    pub fn members_of_archive(&self, name: &str) -> u64 {
        self.ask(&["testzip", name]).as_u64().expect("a number")
    }

    fn ask(&self, arguments: &[&str]) -> Value {
        let kind = format!("{:?}", self.kind).to_lowercase();
        let mut command = Command::new(&self.python);
        command
            .arg(tests_folder().join("interop/stores.py"))
            .arg(kind)
            .arg(self.port.to_string())
            .args(arguments);
        for (name, value) in self.variables(self.port) {
            command.env(name, value);
        }
        let output = command
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .expect("Python runs");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
