//! One window a desktop: a later start sends its paths to the open window and exits. They connect through a local port, which a
//! private file names together with a password; only processes that can read that file can talk to the window. A failure here must
//! never prevent a window: the later start then opens its own.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Name of the file with port and password; another than that of the settings, whose folder is the same on macOS.
const FILE: &str = "open-window.json";
const CONNECT: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(3);
/// Longest message that is read, in bytes.
const LONGEST: u64 = 1 << 20;
/// Answer of a window that accepted the paths.
const TAKEN: &str = "taken";

/// Contents of the file: where a window listens.
#[derive(serde::Serialize, serde::Deserialize)]
struct Endpoint {
    port: u16,
    password: String,
    /// The desktop of the window; starts on other desktops ignore it.
    desktop: String,
}

/// Message of a later start.
#[derive(serde::Serialize, serde::Deserialize)]
struct Handover {
    password: String,
    paths: Vec<PathBuf>,
}

/// The listening side, in the open window.
pub struct SingleInstance {
    file: PathBuf,
    password: String,
    inbox: Receiver<Vec<PathBuf>>,
}

/// Sends `paths` to the window that the file in `folder` names. False when no window answers; this start then opens its own.
pub fn hand_over(folder: &Path, paths: &[PathBuf]) -> bool {
    try_hand_over(folder, &desktop(), paths).unwrap_or(false)
}

fn try_hand_over(folder: &Path, desktop: &str, paths: &[PathBuf]) -> std::io::Result<bool> {
    let endpoint: Endpoint = serde_json::from_slice(&std::fs::read(folder.join(FILE))?)?;
    if endpoint.desktop != desktop {
        return Ok(false);
    }
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, endpoint.port)), CONNECT)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    // The window has another working directory: relative paths become absolute, remote addresses stay.
    let here = |path: &PathBuf| if crate::model::is_remote(path) { Ok(path.clone()) } else { std::path::absolute(path) };
    let handover = Handover { password: endpoint.password, paths: paths.iter().map(here).collect::<std::io::Result<_>>()? };
    let mut line = serde_json::to_string(&handover)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(64)).read_line(&mut answer)?;
    Ok(answer.trim_end() == TAKEN)
}

impl SingleInstance {
    /// Listens for later starts and writes the endpoint file into `folder`; calls `wake` when paths arrive.
    pub fn listen(folder: &Path, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::listen_as(folder, desktop(), wake)
    }

    fn listen_as(folder: &Path, desktop: String, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (password, port) = (password(), listener.local_addr()?.port());
        let (sender, inbox) = channel();
        let expected = password.clone();
        std::thread::Builder::new().name("later starts".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                // Silent or malformed clients are logged and ignored.
                match take_in(stream, &expected, &sender) {
                    Ok(true) => wake(),
                    Ok(false) => tracing::debug!("a later start with a wrong password is ignored"),
                    Err(error) => tracing::debug!("a later start handed nothing over: {error}"),
                }
            }
        })?;
        let endpoint = Endpoint { port, password: password.clone(), desktop };
        let file = folder.join(FILE);
        crate::folders::make_private(folder)?;
        // Temporary files are readable by their owner only.
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut draft, &endpoint)?;
        draft.persist(&file).map_err(|error| error.error)?;
        Ok(Self { file, password, inbox })
    }

    /// The paths of a later start; empty when it had none.
    pub fn take(&self) -> Option<Vec<PathBuf>> {
        self.inbox.try_recv().ok()
    }
}

impl Drop for SingleInstance {
    fn drop(&mut self) {
        let ours =
            |bytes: Vec<u8>| serde_json::from_slice::<Endpoint>(&bytes).is_ok_and(|endpoint| endpoint.password == self.password);
        if std::fs::read(&self.file).is_ok_and(ours) {
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

fn take_in(mut stream: TcpStream, password: &str, sender: &Sender<Vec<PathBuf>>) -> std::io::Result<bool> {
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let mut line = String::new();
    BufReader::new(Read::by_ref(&mut stream).take(LONGEST)).read_line(&mut line)?;
    let handover: Handover = serde_json::from_str(&line)?;
    if handover.password != password || sender.send(handover.paths).is_err() {
        return Ok(false);
    }
    stream.write_all(format!("{TAKEN}\n").as_bytes())?;
    Ok(true)
}

/// The desktop that a window of this process opens on.
fn desktop() -> String {
    let says = |name: &str| std::env::var(name).unwrap_or_default();
    format!("{} {}", says("DISPLAY"), says("WAYLAND_DISPLAY"))
}

/// 128 random bits, from the keys of two hashers seeded by the system.
fn password() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_later_start_hands_its_paths_over() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!try_hand_over(folder.path(), "a", &[]).unwrap_or(false), "nobody is there");
        let (woken, wakes) = channel();
        let first = SingleInstance::listen_as(folder.path(), "a".into(), move || {
            let _ = woken.send(());
        })
        .expect("it listens");
        let sent = paths(&[if cfg!(windows) { "C:\\data\\x.tacozip" } else { "/data/x.tacozip" }, "s3://bucket/y"]);
        assert!(try_hand_over(folder.path(), "a", &sent).expect("it is taken"));
        wakes.recv_timeout(ANSWER).expect("the window is woken");
        assert_eq!(first.take(), Some(sent));
        assert_eq!(first.take(), None);
        assert!(!try_hand_over(folder.path(), "b", &[]).expect("another desktop"), "that window is somewhere else");
        drop(first);
        assert!(!folder.path().join(FILE).exists(), "the endpoint file is removed");
    }

    #[test]
    fn the_endpoint_file_is_not_the_file_of_the_settings() {
        assert_ne!(crate::folders::settings_file().expect("a home folder").file_name(), Some(FILE.as_ref()));
    }

    #[test]
    fn paths_without_the_password_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = SingleInstance::listen_as(folder.path(), "a".into(), || ()).expect("it listens");
        let file = folder.path().join(FILE);
        let mut endpoint: Endpoint = serde_json::from_slice(&std::fs::read(&file).expect("the endpoint file")).expect("JSON");
        endpoint.password = "guess".into();
        std::fs::write(&file, serde_json::to_vec(&endpoint).expect("JSON")).expect("written");
        assert!(!try_hand_over(folder.path(), "a", &paths(&["/x"])).unwrap_or(false));
        assert_eq!(first.take(), None);
        drop(first);
        assert!(file.exists(), "the endpoint file of another window stays");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_the_endpoint_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let _first = SingleInstance::listen_as(folder.path(), "a".into(), || ()).expect("it listens");
        let mode = std::fs::metadata(folder.path().join(FILE)).expect("the endpoint file").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
