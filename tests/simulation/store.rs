//! An object store in memory, with the interface of S3 as far as the program uses it, in a process
//! of its own. It breaks the requests that the run's faults name, and can end the process that
//! asked.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};

use super::faults::{Shared, StoreAction};
use crate::support::sha256;

/// The bucket's name.
pub const BUCKET: &str = "data";
/// Path of requests that are no part of the interface.
const CONTROL: &str = "/-/";

/// The running store; it ends with this process.
pub struct Store {
    port: u16,
}

#[derive(Clone, Default)]
struct Contents {
    objects: BTreeMap<String, Vec<u8>>,
    /// Parts of unfinished uploads, by number of the upload.
    uploads: BTreeMap<u64, (String, BTreeMap<usize, Vec<u8>>)>,
    next: u64,
}

#[derive(Default)]
struct State {
    now: Contents,
    kept: Contents,
}

/// A request.
struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// An answer: status, headers and body.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    fn refused(status: u16, code: &str) -> Self {
        Self::of(
            status,
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>"),
        )
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Store {
    /// Starts the store. To be called while this process has one thread that works.
    pub fn start(shared: &'static Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // SAFETY: The child uses nothing that another thread of this process holds.
        match unsafe { libc::fork() } {
            -1 => panic!("no process: {}", io::Error::last_os_error()),
            0 => {
                // SAFETY: Plain calls of the system; the child ends with its parent.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                let state = Arc::new(Mutex::new(State::default()));
                for stream in listener.incoming().map_while(Result::ok) {
                    let state = Arc::clone(&state);
                    std::thread::spawn(move || drop(serve(&stream, &state, shared)));
                }
                // SAFETY: Ends the child.
                unsafe { libc::_exit(0) }
            }
            _ => Self { port },
        }
    }

    /// The variables with which the program finds the store.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            (
                "AWS_ENDPOINT_URL",
                format!("http://127.0.0.1:{}", self.port),
            ),
            ("AWS_ACCESS_KEY_ID", "test".into()),
            ("AWS_SECRET_ACCESS_KEY", "secret-of-the-tests".into()),
            ("AWS_REGION", "us-east-1".into()),
            // Answers that are lost are waited for.
            ("TACO_STUDIO_HTTP_TIMEOUT", "2".into()),
        ]
    }

    fn ask(&self, what: &str) -> Json {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the store answers");
        write!(stream, "GET {CONTROL}{what} HTTP/1.1\r\n\r\n").expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
        serde_json::from_str(body).expect("JSON")
    }

    /// Forgets everything.
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

    /// The objects with their SHA-256, and the number of unfinished uploads.
    pub fn contents(&self) -> (BTreeMap<String, String>, u64) {
        let found = self.ask("state");
        let objects = serde_json::from_value(found["objects"].clone()).expect("objects");
        (objects, found["uploads"].as_u64().expect("a number"))
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>, shared: &Shared) -> io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let Some(request) = read(&mut input, stream)? else {
        return Ok(());
    };
    let mut out = stream;
    if let Some(what) = request.path.strip_prefix(CONTROL) {
        let body = control(&mut state.lock().expect("a lock"), what).to_string();
        return write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    let fault = shared.fault_of_request();
    let answer = match fault {
        Some(StoreAction::Refuse(status)) => Answer::refused(
            status,
            if status == 503 {
                "SlowDown"
            } else {
                "InternalError"
            },
        ),
        Some(StoreAction::CutBefore) => return Ok(()),
        Some(StoreAction::KillBefore) => {
            shared.kill_client();
            return Ok(());
        }
        Some(StoreAction::LoseAnswer | StoreAction::KillAfter | StoreAction::CutAnswer) | None => {
            state.lock().expect("a lock").now.answer(&request)
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
    }))
}

fn control(state: &mut State, what: &str) -> Json {
    match what {
        "clear" => state.now = Contents::default(),
        "keep" => state.kept = state.now.clone(),
        "back" => state.now = state.kept.clone(),
        _ => {
            let objects: BTreeMap<&String, String> = state
                .now
                .objects
                .iter()
                .map(|(key, bytes)| (key, sha256(bytes)))
                .collect();
            return json!({"objects": objects, "uploads": state.now.uploads.len()});
        }
    }
    Json::Null
}

fn tag_of(bytes: &[u8]) -> String {
    format!("\"{}\"", hex::encode(Md5::digest(bytes)))
}

impl Contents {
    fn answer(&mut self, request: &Request) -> Answer {
        let below = request
            .path
            .trim_start_matches('/')
            .strip_prefix(BUCKET)
            .unwrap_or_default();
        let key = below.trim_start_matches('/').to_owned();
        let asks = |name: &str| request.query.contains_key(name);
        let upload = request
            .query
            .get("uploadId")
            .and_then(|text| text.parse::<u64>().ok());
        match request.method.as_str() {
            "GET" if key.is_empty() && asks("uploads") => self.uploads_page(),
            "GET" if key.is_empty() => {
                self.page(request.query.get("prefix").map_or("", String::as_str))
            }
            "GET" if asks("uploadId") => self.parts_page(upload),
            "GET" | "HEAD" => self.object(&key, request),
            "PUT" if asks("uploadId") => {
                let number = request
                    .query
                    .get("partNumber")
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0);
                match upload.and_then(|upload| self.uploads.get_mut(&upload)) {
                    Some((_, parts)) => {
                        let tag = tag_of(&request.body);
                        parts.insert(number, request.body.clone());
                        Answer::of(200, "").with("ETag", tag)
                    }
                    None => Answer::refused(404, "NoSuchUpload"),
                }
            }
            "PUT" if self.is_refused(&key, request) => Answer::refused(412, "PreconditionFailed"),
            "PUT" => {
                let tag = tag_of(&request.body);
                self.objects.insert(key, request.body.clone());
                Answer::of(200, "").with("ETag", tag)
            }
            "POST" if asks("uploads") => {
                self.next += 1;
                self.uploads.insert(self.next, (key, BTreeMap::new()));
                Answer::of(
                    200,
                    format!("<Result><UploadId>{}</UploadId></Result>", self.next),
                )
            }
            "POST" if self.is_refused(&key, request) => Answer::refused(412, "PreconditionFailed"),
            "POST" => match upload.and_then(|upload| self.uploads.remove(&upload)) {
                Some((key, parts)) => {
                    self.objects
                        .insert(key, parts.into_values().flatten().collect());
                    Answer::of(200, "<Result></Result>")
                }
                None => Answer::refused(404, "NoSuchUpload"),
            },
            "DELETE" if asks("uploadId") => {
                upload.and_then(|upload| self.uploads.remove(&upload));
                Answer::of(204, "")
            }
            "DELETE" => {
                self.objects.remove(&key);
                Answer::of(204, "")
            }
            _ => Answer::refused(405, "MethodNotAllowed"),
        }
    }

    fn is_refused(&self, key: &str, request: &Request) -> bool {
        request
            .headers
            .get("if-none-match")
            .is_some_and(|value| value == "*")
            && self.objects.contains_key(key)
    }

    fn object(&self, key: &str, request: &Request) -> Answer {
        let Some(bytes) = self.objects.get(key) else {
            return Answer::refused(404, "NoSuchKey");
        };
        let tag = tag_of(bytes);
        if request
            .headers
            .get("if-match")
            .is_some_and(|wanted| *wanted != tag)
        {
            return Answer::refused(412, "PreconditionFailed");
        }
        let size = bytes.len();
        let dated = |answer: Answer| {
            answer
                .with("ETag", tag_of(bytes))
                .with("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")
                .with("Accept-Ranges", "bytes")
        };
        if request.method == "HEAD" {
            return dated(Answer::of(200, "")).with("Content-Length", size.to_string());
        }
        let range = request
            .headers
            .get("range")
            .and_then(|text| text.strip_prefix("bytes="));
        let Some((from, to)) = range.and_then(|text| text.split_once('-')) else {
            return dated(Answer::of(200, bytes.clone()));
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
        dated(Answer::of(206, bytes[start..end].to_vec()))
            .with("Content-Range", format!("bytes {start}-{}/{size}", end - 1))
    }

    fn page(&self, prefix: &str) -> Answer {
        let mut xml = format!(
            "<ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><IsTruncated>\
                false</IsTruncated>"
        );
        for (key, bytes) in self
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
        {
            xml += &format!(
                "<Contents><Key>{key}</Key><LastModified>2023-11-14T22:13:20.000Z</LastModified>\
                    <ETag>{}</ETag><Size>{}</Size>\
                 <StorageClass>STANDARD</StorageClass></Contents>",
                tag_of(bytes).replace('"', "&quot;"),
                bytes.len()
            );
        }
        Answer::of(200, xml + "</ListBucketResult>").with("Content-Type", "application/xml")
    }

    fn uploads_page(&self) -> Answer {
        let mut xml = String::from("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>");
        for (number, (key, _)) in &self.uploads {
            xml += &format!("<Upload><Key>{key}</Key><UploadId>{number}</UploadId></Upload>");
        }
        Answer::of(200, xml + "</ListMultipartUploadsResult>")
            .with("Content-Type", "application/xml")
    }

    fn parts_page(&self, upload: Option<u64>) -> Answer {
        let Some((_, parts)) = upload.and_then(|upload| self.uploads.get(&upload)) else {
            return Answer::refused(404, "NoSuchUpload");
        };
        let mut xml = String::from("<ListPartsResult><IsTruncated>false</IsTruncated>");
        for (number, bytes) in parts {
            let tag = tag_of(bytes).replace('"', "&quot;");
            xml += &format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag><Size>{}</Size></Part>",
                bytes.len()
            );
        }
        Answer::of(200, xml + "</ListPartsResult>").with("Content-Type", "application/xml")
    }
}
