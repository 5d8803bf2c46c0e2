//! Object stores in memory, with the interfaces of S3, Google Cloud Storage and Azure as far as the
//! program uses them, in a process of its own. They break the requests that the run's faults name,
//! and can end the process that asked.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};

use super::faults::{Shared, StoreAction};
use super::{store_azure, store_google, store_s3};
use crate::support::{StoreKind, sha256};

/// The bucket's name.
pub const BUCKET: &str = "data";
/// Date of every object.
pub const DATE: &str = "Tue, 14 Nov 2023 22:13:20 GMT";
/// What an address of the store begins with in the steps.
pub const ANY_STORE: &str = "store://";
/// Folders of the sources and of their other versions, which belong to no output.
const SOURCES: [&str; 2] = ["in/", "in_b/"];
/// Path of requests that are no part of the interface.
const CONTROL: &str = "/-/";
/// How long requests of a process that ended may take to be answered.
const EARLIER_REQUESTS_MAX: Duration = Duration::from_secs(5);
/// Seconds that a store asks a client to wait with status 503.
const RETRY_AFTER_S: u32 = 1;

pub const KINDS: [StoreKind; 3] = [StoreKind::S3, StoreKind::Google, StoreKind::Azure];

/// The running stores, one of each kind; they end with this process.
pub struct Store {
    ports: [u16; KINDS.len()],
    pub kind: StoreKind,
}

/// An object.
#[derive(Clone)]
pub struct Stored {
    pub bytes: Arc<Vec<u8>>,
    pub tag: String,
}

impl Stored {
    /// An object whose ETag is its MD5.
    pub fn new(bytes: Vec<u8>) -> Self {
        let tag = tag_of(&bytes);
        Self {
            bytes: Arc::new(bytes),
            tag,
        }
    }
}

/// What a store has. Each protocol has its own kind of unfinished uploads.
#[derive(Clone, Default)]
pub struct Contents {
    pub objects: BTreeMap<String, Stored>,
    /// The object that was written last.
    newest: Option<String>,
    /// S3: unfinished uploads by number.
    pub uploads: BTreeMap<u64, store_s3::Upload>,
    /// Google Cloud Storage, by number of the upload.
    pub sessions: BTreeMap<u64, store_google::Session>,
    /// Azure: uncommitted blocks by id, by key.
    pub blocks: BTreeMap<String, BTreeMap<String, Arc<Vec<u8>>>>,
    /// Number of the last upload.
    pub last_upload: u64,
}

#[derive(Default)]
struct State {
    now: Contents,
    kept: Contents,
    /// The sources and their other versions have exchanged their names.
    is_exchanged: bool,
    hides_newest: bool,
}

/// A request.
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// The request fails to join the parts of an upload.
    pub fails_to_join: bool,
}

impl Request {
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Whether the body has the MD5 that is stated with it.
    pub fn has_stated_md5(&self) -> bool {
        self.header("content-md5")
            .is_none_or(|stated| stated == md5_text(&self.body))
    }
}

/// An answer: status, headers and body.
pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub fn refused(status: u16, code: &str) -> Self {
        let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
        Self::of(status, text).with("x-ms-error-code", code)
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Store {
    /// Starts the stores. To be called while this process has one thread that works.
    pub fn start(shared: &'static Shared) -> Self {
        let listeners = KINDS.map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let ports = listeners.each_ref().map(port);
        // SAFETY: The child uses nothing that another thread of this process holds.
        match unsafe { libc::fork() } {
            -1 => panic!("no process: {}", io::Error::last_os_error()),
            0 => {
                // SAFETY: Plain calls of the system; the child ends with its parent.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                let threads = KINDS
                    .into_iter()
                    .zip(listeners)
                    .map(|(kind, listener)| {
                        std::thread::spawn(move || serve_all(kind, &listener, shared))
                    })
                    .collect::<Vec<_>>();
                threads.into_iter().for_each(|thread| drop(thread.join()));
                // SAFETY: Ends the child.
                unsafe { libc::_exit(0) }
            }
            _ => Self {
                ports,
                kind: StoreKind::S3,
            },
        }
    }

    fn port(&self) -> u16 {
        let at = KINDS.iter().position(|kind| *kind == self.kind);
        self.ports[at.expect("is known")]
    }

    /// The variables with which the program finds the store.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = self.kind.variables(self.port());
        // Longer than a large part takes on a busy machine, and shorter than a run may take.
        variables.push(("TACO_STUDIO_HTTP_TIMEOUT".into(), "15".into()));
        variables
    }

    /// A request with the address of the store where it names any store.
    pub fn address_in(&self, request: &Json) -> Json {
        let text = request
            .to_string()
            .replace(ANY_STORE, &format!("{}://", self.kind.scheme()));
        serde_json::from_str(&text).expect("JSON")
    }

    fn ask(&self, what: &str) -> Json {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).expect("the store answers");
        write!(stream, "GET {CONTROL}{what} HTTP/1.1\r\n\r\n").expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
        serde_json::from_str(body).expect("JSON")
    }

    /// Forgets everything but the sources.
    pub fn clear(&self) {
        self.ask("clear");
    }

    /// Remembers what there is.
    pub fn keep(&self) {
        self.ask("keep");
    }

    /// Goes back to what was remembered.
    pub fn go_back(&self) {
        self.ask("back");
    }

    /// Takes the files below a folder of this machine as sources in the folder `below`, and those
    /// of another folder as their other versions.
    pub fn load_sources(&self, below: &str, folders: [&Path; 2]) {
        for (name, folder) in SOURCES.iter().zip(folders) {
            for file in crate::support::files_below(folder) {
                let path = folder.join(&file);
                let asked = format!("load?name={name}{below}{file}&path={}", path.display());
                self.ask(&asked);
            }
        }
    }

    /// The sources have the names of their other versions until [`Store::calm_down`].
    pub fn exchange_sources(&self) {
        self.ask("exchanged");
    }

    /// Ends the faults that last.
    pub fn calm_down(&self) {
        self.ask("calm");
    }

    /// The objects with their SHA-256, without the sources, and the number of unfinished uploads
    /// that have bytes: one whose beginning was not answered is not known to anybody.
    pub fn contents(&self) -> (BTreeMap<String, String>, u64) {
        let found = self.ask("state");
        let objects = serde_json::from_value(found["objects"].clone()).expect("objects");
        (objects, found["uploads"].as_u64().expect("a number"))
    }
}

fn serve_all(kind: StoreKind, listener: &TcpListener, shared: &'static Shared) {
    let state = Arc::new(Mutex::new(State::default()));
    let connections = Arc::new(());
    for stream in listener.incoming().map_while(Result::ok) {
        let state = Arc::clone(&state);
        let connection = Arc::clone(&connections);
        std::thread::spawn(move || drop(serve(kind, &stream, &state, shared, &connection)));
    }
}

/// Waits until the requests that came before are answered: one of a process that was killed would
/// otherwise write its object after the store was cleared. `connections` has one reference for each
/// open connection, and that of the listener.
fn wait_for_earlier_requests(connections: &Arc<()>) {
    let started = Instant::now();
    while Arc::strong_count(connections) > 2 && started.elapsed() < EARLIER_REQUESTS_MAX {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn serve(
    kind: StoreKind,
    stream: &TcpStream,
    state: &Mutex<State>,
    shared: &Shared,
    connections: &Arc<()>,
) -> io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let Some(mut request) = read(&mut input, stream)? else {
        return Ok(());
    };
    let mut out = stream;
    if let Some(what) = request.path.strip_prefix(CONTROL) {
        wait_for_earlier_requests(connections);
        let body = control(&mut state.lock().expect("a lock"), what, &request).to_string();
        return write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    let fault = shared.fault_of_request();
    let answer = match fault {
        Some(StoreAction::CutBefore) => return Ok(()),
        Some(StoreAction::KillBefore) => {
            shared.kill_client();
            return Ok(());
        }
        Some(StoreAction::Refuse(status) | StoreAction::RefuseFromNow(status)) => refusal(status),
        _ => {
            let mut state = state.lock().expect("a lock");
            match fault {
                Some(StoreAction::FailToJoin) => request.fails_to_join = true,
                Some(StoreAction::HideNewest) => state.hides_newest = true,
                Some(StoreAction::Exchange) => state.is_exchanged = !state.is_exchanged,
                _ => {}
            }
            state.answer(kind, &request)
        }
    };
    match fault {
        Some(StoreAction::LoseAnswer) => return Ok(()),
        Some(StoreAction::KillAfter) => {
            shared.kill_client();
            return Ok(());
        }
        _ => {}
    }
    let mut text = format!(
        "HTTP/1.1 {} Said\r\nConnection: close\r\nx-amz-request-id: 1\r\n",
        answer.status
    );
    let is_head = request.method == "HEAD";
    if !answer
        .headers
        .iter()
        .any(|(name, _)| *name == "Content-Length")
    {
        text += &format!("Content-Length: {}\r\n", answer.body.len());
    }
    for (name, value) in &answer.headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    out.write_all(text.as_bytes())?;
    let length = if fault == Some(StoreAction::CutAnswer) {
        answer.body.len() / 2
    } else {
        answer.body.len()
    };
    if is_head {
        Ok(())
    } else {
        out.write_all(&answer.body[..length])
    }
}

fn refusal(status: u16) -> Answer {
    match status {
        403 => Answer::refused(status, "AccessDenied"),
        503 => Answer::refused(status, "SlowDown").with("Retry-After", RETRY_AFTER_S.to_string()),
        _ => Answer::refused(status, "InternalError"),
    }
}

fn read(input: &mut impl BufRead, mut out: &TcpStream) -> io::Result<Option<Request>> {
    let mut first = String::new();
    if input.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? <= 2 {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    if headers.contains_key("expect") {
        out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let mut words = first.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (decoded(name), decoded(value))
    };
    let query = query
        .split('&')
        .filter(|text| !text.is_empty())
        .map(pair)
        .collect();
    Ok(Some(Request {
        method: method.to_owned(),
        path: decoded(path),
        query,
        headers,
        body,
        fails_to_join: false,
    }))
}

fn control(state: &mut State, what: &str, request: &Request) -> Json {
    match what {
        "clear" => {
            let is_source = |key: &str| SOURCES.iter().any(|folder| key.starts_with(folder));
            let mut objects = std::mem::take(&mut state.now).objects;
            objects.retain(|key, _| is_source(key));
            state.now.objects = objects;
        }
        "keep" => state.kept = state.now.clone(),
        "back" => state.now = state.kept.clone(),
        "load" => {
            let path = request.query("path").expect("a path");
            let stored = Stored::new(fs::read(path).expect("a source"));
            let name = request.query("name").expect("a name");
            state.now.objects.insert(name.to_owned(), stored);
        }
        "exchanged" => state.is_exchanged = true,
        "calm" => {
            state.is_exchanged = false;
            state.hides_newest = false;
        }
        _ => return state.now.describe(),
    }
    Json::Null
}

pub fn tag_of(bytes: &[u8]) -> String {
    format!("\"{}\"", hex::encode(Md5::digest(bytes)))
}

/// The MD5 of bytes as in `Content-MD5`.
pub fn md5_text(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(Md5::digest(bytes))
}

impl State {
    fn answer(&mut self, kind: StoreKind, request: &Request) -> Answer {
        let view = StoreView {
            is_exchanged: self.is_exchanged,
            hides_newest: self.hides_newest,
            contents: &mut self.now,
        };
        match kind {
            StoreKind::S3 => store_s3::answer(view, request),
            StoreKind::Google => store_google::answer(view, request),
            StoreKind::Azure => store_azure::answer(view, request),
        }
    }
}

/// What a request sees of a store.
pub struct StoreView<'a> {
    is_exchanged: bool,
    hides_newest: bool,
    pub contents: &'a mut Contents,
}

impl StoreView<'_> {
    /// The key of an object that is asked for as `key`, or as which one is listed.
    fn turned(&self, key: &str) -> String {
        let [one, other] = SOURCES;
        let turned = |from: &str, to: &str| Some(format!("{to}{}", key.strip_prefix(from)?));
        let found = turned(one, other).or_else(|| turned(other, one));
        found
            .filter(|_| self.is_exchanged)
            .unwrap_or_else(|| key.to_owned())
    }

    pub fn object(&self, key: &str) -> Option<&Stored> {
        self.contents.objects.get(&self.turned(key))
    }

    pub fn insert(&mut self, key: &str, stored: Stored) {
        self.contents.objects.insert(key.to_owned(), stored);
        self.contents.newest = Some(key.to_owned());
    }

    /// The objects that a list has.
    pub fn list(&self, prefix: &str) -> BTreeMap<String, &Stored> {
        let hidden = self.contents.newest.as_ref().filter(|_| self.hides_newest);
        let shown = self.contents.objects.iter();
        shown
            .filter(|(key, _)| Some(*key) != hidden)
            .map(|(key, stored)| (self.turned(key), stored))
            .filter(|(key, _)| key.starts_with(prefix))
            .collect()
    }

    /// The answer to a request for an object or a range of it.
    pub fn read(&self, key: &str, request: &Request) -> Answer {
        let Some(Stored { bytes, tag }) = self.object(key) else {
            return Answer::refused(404, "NoSuchKey");
        };
        if request
            .header("if-match")
            .is_some_and(|wanted| wanted != tag)
        {
            return Answer::refused(412, "PreconditionFailed");
        }
        let size = bytes.len();
        let dated = |answer: Answer| {
            answer
                .with("ETag", tag)
                .with("Last-Modified", DATE)
                .with("Accept-Ranges", "bytes")
        };
        if request.method == "HEAD" {
            return dated(Answer::of(200, ""))
                .with("Content-Length", size.to_string())
                .with("Content-MD5", md5_text(bytes));
        }
        let range = request
            .header("range")
            .and_then(|text| text.strip_prefix("bytes="));
        let Some((from, to)) = range.and_then(|text| text.split_once('-')) else {
            return dated(Answer::of(200, bytes.as_slice()));
        };
        let (start, end) = match (from.parse::<usize>(), to.parse::<usize>()) {
            (Ok(start), Ok(last)) => (start, (last + 1).min(size)),
            (Ok(start), Err(_)) => (start, size),
            (Err(_), Ok(length)) => (size.saturating_sub(length), size),
            (Err(_), Err(_)) => (0, size),
        };
        if start >= end {
            return Answer::refused(416, "InvalidRange")
                .with("Content-Range", format!("bytes */{size}"));
        }
        dated(Answer::of(206, &bytes[start..end]))
            .with("Content-Range", format!("bytes {start}-{}/{size}", end - 1))
    }
}

impl Contents {
    fn describe(&self) -> Json {
        let is_output = |key: &str| !SOURCES.iter().any(|folder| key.starts_with(folder));
        let objects: BTreeMap<&String, String> = self
            .objects
            .iter()
            .filter(|(key, _)| is_output(key))
            .map(|(key, stored)| (key, sha256(&stored.bytes)))
            .collect();
        let sessions = self.sessions.values().filter(|session| session.has_bytes());
        let uploads = self.uploads.values().filter(|upload| upload.has_bytes());
        // Azure has no request that drops blocks, and drops them by itself.
        json!({"objects": objects, "uploads": uploads.count() + sessions.count()})
    }
}
