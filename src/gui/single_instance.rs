//! One window a desktop: a later start sends its paths to the open window and exits. They connect
//! through a local port, which a private file names together with a secret. The file may be left by
//! a window that crashed, and its port may then belong to any other program: so the listener proves
//! first that it knows the secret (HMAC-SHA-256 over a nonce of the later start), the later start
//! proves the same with its paths, and the secret itself is never sent. A failure here must never
//! prevent a window: the later start then opens its own.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// Name of the file with port and secret; another than that of the settings, whose folder is the
/// same on macOS.
const FILE: &str = "open-window.json";
/// Version of file and messages; a window of another version is not asked.
const PROTOCOL: u32 = 2;
const CONNECT: Duration = Duration::from_millis(500);
/// Time for each message, whole.
const ANSWER: Duration = Duration::from_secs(3);
/// Most bytes of the file, and of a message before its sender has proved that it knows the secret.
const SHORT: usize = 4 << 10;
/// Most bytes of the message with the paths.
const LONGEST: usize = 1 << 20;
/// Bytes of a block of SHA-256, for HMAC.
const BLOCK: usize = 64;

/// Contents of the file: where a window listens.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Endpoint {
    protocol: u32,
    port: u16,
    secret: String,
    /// The desktop of the window; starts on other desktops ignore it.
    desktop: String,
}

/// First message of a later start.
#[derive(serde::Serialize, serde::Deserialize)]
struct Challenge {
    nonce: String,
}

/// Answer of the window to a [`Challenge`].
#[derive(serde::Serialize, serde::Deserialize)]
struct WindowProof {
    nonce: String,
    /// [`proof`] of [`WINDOW`] over both nonces.
    proof: String,
}

/// Message of a later start with its paths.
#[derive(serde::Serialize, serde::Deserialize)]
struct Handover {
    /// JSON of the paths, as text, because the proof is over its bytes.
    paths: String,
    /// [`proof`] of [`START`] over both nonces and the paths.
    proof: String,
}

/// Last message of a window that took the paths.
#[derive(serde::Serialize, serde::Deserialize)]
struct Taken {
    taken: bool,
}

/// Roles in [`proof`], so that a proof of one side is none of the other.
const WINDOW: &str = "window";
const START: &str = "start";

/// The listening side, in the open window.
pub struct SingleInstance {
    folder: PathBuf,
    endpoint: Endpoint,
    inbox: Receiver<Vec<PathBuf>>,
}

/// Sends `paths` to the window that the file in `folder` names. False when no window answers; this
/// start then opens its own.
pub fn hand_over(folder: &Path, paths: &[PathBuf]) -> bool {
    try_hand_over(folder, &desktop(), paths).unwrap_or_else(|error| {
        tracing::debug!("no open window takes the paths: {error}");
        false
    })
}

fn try_hand_over(folder: &Path, desktop: &str, paths: &[PathBuf]) -> io::Result<bool> {
    let endpoint = read_endpoint(folder)?;
    if endpoint.desktop != desktop || endpoint.protocol != PROTOCOL {
        return Ok(false);
    }
    let paths = serde_json::to_string(
        &paths
            .iter()
            .map(|path| resolve_handed_path(path))
            .collect::<io::Result<Vec<_>>>()?,
    )?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, endpoint.port));
    let mut stream = match TcpStream::connect_timeout(&address, CONNECT) {
        Ok(stream) => stream,
        Err(error) => {
            if error.kind() == io::ErrorKind::ConnectionRefused {
                remove_endpoint(folder, &endpoint);
            }
            return Err(error);
        }
    };
    stream.set_write_timeout(Some(ANSWER))?;
    let own = random_hex();
    send(&mut stream, &Challenge { nonce: own.clone() })?;
    let Some(answer) = receive::<WindowProof>(&mut stream, SHORT)
        .ok()
        .filter(|answer| {
            is_equal(
                &answer.proof,
                &proof(&endpoint.secret, &[WINDOW, &own, &answer.nonce]),
            )
        })
    else {
        // Not the window that wrote the file: that one's own thread answers, also while it draws.
        remove_endpoint(folder, &endpoint);
        return Err(io::Error::other(
            "the program at the port of the window does not know its secret",
        ));
    };
    let own_proof = proof(&endpoint.secret, &[START, &answer.nonce, &own, &paths]);
    send(
        &mut stream,
        &Handover {
            paths,
            proof: own_proof,
        },
    )?;
    Ok(receive::<Taken>(&mut stream, SHORT)?.taken)
}

fn resolve_handed_path(path: &Path) -> io::Result<PathBuf> {
    // Desktops hand over files as URLs to a program that takes links.
    if let Some(file) = path.to_str().and_then(crate::model::path_of_file_url) {
        return Ok(file);
    }
    // The window has another working directory: relative paths become absolute, addresses and links
    // stay.
    if crate::model::is_remote(path) || crate::model::is_studio_link(path) {
        Ok(path.to_owned())
    } else {
        std::path::absolute(path)
    }
}

impl SingleInstance {
    /// Listens for later starts and writes the endpoint file into `folder`; calls `wake` when paths
    /// arrive.
    pub fn listen(folder: &Path, wake: impl Fn() + Send + 'static) -> io::Result<Self> {
        Self::listen_as(folder, desktop(), wake)
    }

    fn listen_as(
        folder: &Path,
        desktop: String,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let endpoint = Endpoint {
            protocol: PROTOCOL,
            port: listener.local_addr()?.port(),
            secret: random_hex(),
            desktop,
        };
        let (sender, inbox) = channel();
        let secret = endpoint.secret.clone();
        std::thread::Builder::new()
            .name("later starts".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // Silent or malformed clients are logged and ignored.
                    match take_in(stream, &secret, &sender) {
                        Ok(true) => wake(),
                        Ok(false) => tracing::debug!(
                            "a later start that does not know the secret is ignored"
                        ),
                        Err(error) => tracing::debug!("a later start handed nothing over: {error}"),
                    }
                }
            })?;
        crate::folders::make_private(folder)?;
        // Temporary files are readable by their owner only.
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut draft, &endpoint)?;
        draft
            .persist(folder.join(FILE))
            .map_err(|error| error.error)?;
        Ok(Self {
            folder: folder.to_owned(),
            endpoint,
            inbox,
        })
    }

    /// The paths of a later start; empty when it had none.
    pub fn take(&self) -> Option<Vec<PathBuf>> {
        self.inbox.try_recv().ok()
    }
}

impl Drop for SingleInstance {
    fn drop(&mut self) {
        remove_endpoint(&self.folder, &self.endpoint);
    }
}

/// Answers a client of the port. True when it knew the secret and its paths were taken.
fn take_in(mut stream: TcpStream, secret: &str, sender: &Sender<Vec<PathBuf>>) -> io::Result<bool> {
    stream.set_write_timeout(Some(ANSWER))?;
    let theirs = receive::<Challenge>(&mut stream, SHORT)?.nonce;
    let own = random_hex();
    send(
        &mut stream,
        &WindowProof {
            proof: proof(secret, &[WINDOW, &theirs, &own]),
            nonce: own.clone(),
        },
    )?;
    let handover: Handover = receive(&mut stream, LONGEST)?;
    let is_known = is_equal(
        &handover.proof,
        &proof(secret, &[START, &own, &theirs, &handover.paths]),
    );
    let taken = is_known && sender.send(serde_json::from_str(&handover.paths)?).is_ok();
    send(&mut stream, &Taken { taken })?;
    Ok(taken)
}

/// The endpoint file of `folder`.
///
/// # Errors
/// When there is none, it is damaged, or another user could have written it.
fn read_endpoint(folder: &Path) -> io::Result<Endpoint> {
    // A pipe in place of the file would wait for a writer.
    let file = crate::files::open(&folder.join(FILE))?;
    check_owner(&file)?;
    let mut bytes = Vec::new();
    file.take(SHORT as u64).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Removes the endpoint file if it still names `endpoint`.
fn remove_endpoint(folder: &Path, endpoint: &Endpoint) {
    if read_endpoint(folder).is_ok_and(|found| found == *endpoint) {
        // A file that stays is removed or replaced by the next window.
        let _ = std::fs::remove_file(folder.join(FILE));
    }
}

/// Refuses a file that another user owns or may write: its port and secret would be theirs.
#[cfg(unix)]
fn check_owner(file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let about = file.metadata()?;
    if about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "another user can write the file that names the open window",
    ))
}

/// On other systems the user's folders are private by location.
#[cfg(not(unix))]
fn check_owner(_: &File) -> io::Result<()> {
    Ok(())
}

/// Sends a message: a line of JSON.
fn send(stream: &mut TcpStream, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Receives a message of at most `most` bytes, whole within [`ANSWER`]: a client that sends one
/// byte a second does not delay the others.
fn receive<T: serde::de::DeserializeOwned>(stream: &mut TcpStream, most: usize) -> io::Result<T> {
    let end = Instant::now() + ANSWER;
    let mut line = Vec::new();
    let mut block = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut block)?;
        line.extend_from_slice(&block[..read]);
        match line.iter().position(|&byte| byte == b'\n') {
            Some(end) => return Ok(serde_json::from_slice(&line[..end])?),
            None if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None if line.len() > most => return Err(io::Error::other("the message is too long")),
            None => {}
        }
    }
}

/// Proof that its sender knows the secret: HMAC-SHA-256 over the parts, each after its length in
/// bytes.
fn proof(secret: &str, parts: &[&str]) -> String {
    let message: Vec<u8> = parts
        .iter()
        .flat_map(|part| [&(part.len() as u64).to_be_bytes()[..], part.as_bytes()].concat())
        .collect();
    hex::encode(hmac_sha256(secret.as_bytes(), &message))
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

/// Compares two proofs in a time that does not depend on where they differ.
fn is_equal(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one
            .bytes()
            .zip(other.bytes())
            .fold(0, |differing, (a, b)| differing | (a ^ b))
            == 0
}

/// The desktop that a window of this process opens on.
fn desktop() -> String {
    let says = |name: &str| std::env::var(name).unwrap_or_default();
    format!("{} {}", says("DISPLAY"), says("WAYLAND_DISPLAY"))
}

/// 256 random bits, from the keys of hashers that the system seeds.
fn random_hex() -> String {
    let mut hash = Sha256::new();
    for _ in 0..4 {
        hash.update(RandomState::new().build_hasher().finish().to_le_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    fn write_endpoint(folder: &Path, endpoint: &Endpoint) {
        let mut options = std::fs::OpenOptions::new();
        options.create(true).truncate(true).write(true);
        let mut file = crate::folders::open_private(options, &folder.join(FILE)).expect("opens");
        file.write_all(&serde_json::to_vec(endpoint).expect("JSON"))
            .expect("writes");
    }

    #[test]
    fn a_later_start_hands_its_paths_over() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(
            !try_hand_over(folder.path(), "a", &[]).unwrap_or(false),
            "nobody is there"
        );
        let (woken, wakes) = channel();
        let first = SingleInstance::listen_as(folder.path(), "a".into(), move || {
            let _ = woken.send(());
        })
        .expect("it listens");
        let sent = paths(&[
            if cfg!(windows) {
                "C:\\data\\x.tacozip"
            } else {
                "/data/x.tacozip"
            },
            "s3://bucket/y",
            "taco-studio://open?path=s3://bucket/y",
        ]);
        assert!(try_hand_over(folder.path(), "a", &sent).expect("it is taken"));
        wakes.recv_timeout(ANSWER).expect("the window is woken");
        assert_eq!(first.take(), Some(sent));
        assert_eq!(first.take(), None);
        assert!(
            !try_hand_over(folder.path(), "b", &[]).expect("another desktop"),
            "that window is somewhere else"
        );
        drop(first);
        assert!(
            !folder.path().join(FILE).exists(),
            "the endpoint file is removed"
        );
    }

    #[test]
    fn the_endpoint_file_is_not_the_file_of_the_settings() {
        assert_ne!(
            crate::folders::settings_file()
                .expect("a home folder")
                .file_name(),
            Some(FILE.as_ref())
        );
    }

    #[test]
    fn paths_without_the_secret_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let first =
            SingleInstance::listen_as(folder.path(), "a".into(), || ()).expect("it listens");
        let guess = Endpoint {
            secret: "guess".into(),
            ..first.endpoint.clone()
        };
        write_endpoint(folder.path(), &guess);
        assert!(!try_hand_over(folder.path(), "a", &paths(&["/x"])).unwrap_or(false));
        // A client that skips the check of the window is refused, too, and so is a proof that it
        // saw from the window.
        for own_proof in ["", "guess"] {
            let mut stream =
                TcpStream::connect((Ipv4Addr::LOCALHOST, first.endpoint.port)).expect("connects");
            send(&mut stream, &Challenge { nonce: "n".into() }).expect("sends");
            let answer: WindowProof = receive(&mut stream, SHORT).expect("answers");
            let own_proof = if own_proof.is_empty() {
                answer.proof
            } else {
                proof("guess", &[START, &answer.nonce, "n", "[]"])
            };
            send(
                &mut stream,
                &Handover {
                    paths: "[]".into(),
                    proof: own_proof,
                },
            )
            .expect("sends");
            assert!(!receive::<Taken>(&mut stream, SHORT).expect("answers").taken);
        }
        assert_eq!(first.take(), None);
        write_endpoint(folder.path(), &guess);
        drop(first);
        assert!(
            folder.path().join(FILE).exists(),
            "the endpoint file of another window stays"
        );
    }

    /// A window that crashed leaves its file, and any program may get its port.
    #[test]
    fn another_program_at_the_port_of_a_crashed_window_gets_neither_paths_nor_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        type Answer = fn(&str) -> String;
        let answers: [(&str, Answer); 5] = [
            ("echo", |line| format!("{line}\n")),
            ("old protocol", |_| "taken\n".to_owned()),
            ("guess", |line| {
                let theirs: Challenge = serde_json::from_str(line).expect("a challenge");
                let proof = proof("guess", &[WINDOW, &theirs.nonce, "n"]);
                serde_json::to_string(&WindowProof {
                    nonce: "n".into(),
                    proof,
                })
                .expect("JSON")
                    + "\n"
            }),
            ("endless", |_| "x".repeat(2 * SHORT)),
            ("closes", |_| String::new()),
        ];
        for (name, answer) in answers {
            let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
            let port = other.local_addr().expect("has an address").port();
            let endpoint = Endpoint {
                protocol: PROTOCOL,
                port,
                secret: "0123456789abcdef".into(),
                desktop: "a".into(),
            };
            write_endpoint(folder.path(), &endpoint);
            let heard = std::thread::spawn(move || {
                let (mut stream, _) = other.accept().expect("a client");
                let mut heard = String::new();
                let mut reader = BufReader::new(stream.try_clone().expect("clones"));
                reader.read_line(&mut heard).expect("reads");
                let _ = stream.write_all(answer(heard.trim_end()).as_bytes());
                if name != "closes" {
                    let _ = reader.read_to_string(&mut heard);
                }
                heard
            });
            assert!(
                !try_hand_over(folder.path(), "a", &paths(&["/secret/name.tacozip"]))
                    .unwrap_or(false),
                "{name}"
            );
            let heard = heard.join().expect("ends");
            assert!(
                !heard.is_empty()
                    && !heard.contains("name.tacozip")
                    && !heard.contains(&endpoint.secret),
                "{name}: {heard}"
            );
            assert!(
                !folder.path().join(FILE).exists(),
                "{name}: the entry of the crashed window is removed"
            );
        }
    }

    #[test]
    fn the_entry_of_a_window_that_is_gone_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .expect("listens")
            .local_addr()
            .expect("has an address")
            .port();
        write_endpoint(
            folder.path(),
            &Endpoint {
                protocol: PROTOCOL,
                port: free,
                secret: "s".into(),
                desktop: "a".into(),
            },
        );
        assert!(!try_hand_over(folder.path(), "a", &[]).unwrap_or(false));
        assert!(!folder.path().join(FILE).exists() || cfg!(windows));
    }

    /// A client that sends nothing, or a byte now and then, delays the next one by the time of one
    /// message.
    #[test]
    fn a_client_that_never_ends_its_message_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let first =
            SingleInstance::listen_as(folder.path(), "a".into(), || ()).expect("it listens");
        let mut slow =
            TcpStream::connect((Ipv4Addr::LOCALHOST, first.endpoint.port)).expect("connects");
        let began = Instant::now();
        while slow.write_all(b"x").is_ok() && began.elapsed() < 3 * ANSWER {
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(
            began.elapsed() < 2 * ANSWER,
            "it was dropped after {:?}",
            began.elapsed()
        );
        assert!(try_hand_over(folder.path(), "a", &[]).expect("the next is taken"));
    }

    #[test]
    fn a_message_is_authenticated_as_rfc_4231_says() {
        assert_eq!(
            hex::encode(hmac_sha256(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex::encode(hmac_sha256(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
        assert_ne!(
            proof("s", &["a", "bc"]),
            proof("s", &["ab", "c"]),
            "the lengths of parts are part of the proof"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_endpoint_file_is_for_its_owner_only_and_one_that_others_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let first =
            SingleInstance::listen_as(folder.path(), "a".into(), || ()).expect("it listens");
        let file = folder.path().join(FILE);
        assert_eq!(
            std::fs::metadata(&file)
                .expect("the endpoint file")
                .permissions()
                .mode()
                & 0o077,
            0
        );
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).expect("sets");
        let error = try_hand_over(folder.path(), "a", &paths(&["/x"])).expect_err("is refused");
        assert_eq!(
            (error.kind(), first.take()),
            (io::ErrorKind::PermissionDenied, None)
        );
    }
}
