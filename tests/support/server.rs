//! A file server on 127.0.0.1 that records requests and injects faults. Supports ranges, ETags and
//! keep-alive.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::listener::Listener;

/// Fault of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status, without the file.
    Status(u16),
    /// No response while the program waits.
    Silent,
    /// Half of the bytes, then none.
    Stalls,
    /// Half of the bytes, then the connection is closed.
    Cut,
    /// Half of the bytes, with a matching Content-Length.
    Short,
    /// Another version of the file: other bytes of the same length with another ETag.
    Replaced,
    /// Bytes of another range than requested, with the actual range in the header.
    Elsewhere,
    /// The whole file instead of a range.
    Whole,
}

/// How a server answers all requests, where servers differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Answers with a page of links for a folder.
    ListsFolders,
    /// Status 200 for a range that is the whole file.
    WholeIs200,
    /// Ranges that count from the end are ignored.
    IgnoresSuffixes,
    /// Status 416 for a range that counts from the end and is longer than the file.
    RefusesLongSuffixes,
    /// Status 416 for a range that ends behind the file.
    RefusesLongRanges,
    /// `*` instead of the size of the file.
    OmitsSize,
    /// Status 206 without a Content-Range.
    OmitsRange,
    /// Chunks without a Content-Length.
    Chunked,
    /// No ETag and no date.
    NoVersion,
    /// A weak ETag.
    WeakEtag,
    /// Two ETags for one version, one after the other.
    AlternatesEtags,
    /// Two dates for one version, one after the other, and no ETag.
    AlternatesDates,
    /// Another ETag in each answer.
    NewEtags,
    /// The bytes of each range in gzip.
    Gzips,
    /// A web page with status 200 for what it does not have.
    PageForMissing,
    /// Status 403 for what it does not have.
    ForbidsMissing,
    /// Status 429 for every third request, with a date in Retry-After.
    Throttles,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub range: Option<String>,
}

/// Files below `one` are answered with those below `other` for requests of these numbers.
struct Exchange {
    one: String,
    other: String,
    requests: Range<usize>,
}

struct Shared {
    folder: PathBuf,
    asked: Mutex<Vec<Asked>>,
    faults: Mutex<Vec<(String, Fault, usize, usize)>>,
    /// Delay before each response.
    delay: Mutex<Duration>,
    habit: Mutex<Option<Habit>>,
    exchange: Mutex<Option<Exchange>>,
    /// Number of answers since the start.
    answers: AtomicUsize,
    /// Number of concurrent requests, and its maximum.
    now: AtomicUsize,
    most: AtomicUsize,
}

/// The running server; stopped on drop.
pub struct Server {
    shared: Arc<Shared>,
    listener: Listener,
}

impl Server {
    /// Serves the files below a folder.
    pub fn of(folder: &Path) -> Self {
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            asked: Mutex::default(),
            faults: Mutex::default(),
            delay: Mutex::default(),
            habit: Mutex::default(),
            exchange: Mutex::default(),
            answers: AtomicUsize::new(0),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let own = shared.clone();
        let listener = Listener::start(move |stream| drop(own.serve(stream)));
        Self { shared, listener }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.listener.port())
    }

    /// Requests since the start or the last [`Server::forget`].
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().expect("a lock").clone()
    }

    /// Clears the requests and faults.
    pub fn forget(&self) {
        self.shared.asked.lock().expect("a lock").clear();
        self.shared.faults.lock().expect("a lock").clear();
        self.shared.most.store(0, Ordering::Relaxed);
    }

    /// Sets the delay of each response.
    pub fn slow(&self, each: Duration) {
        *self.shared.delay.lock().expect("a lock") = each;
    }

    /// Sets how all requests are answered.
    pub fn behave(&self, habit: Habit) {
        *self.shared.habit.lock().expect("a lock") = Some(habit);
    }

    /// Answers with the files below the folder `other` for those below `one`, from the request
    /// `requests.start` after [`Server::forget`] until that of `requests.end`, counted from 0.
    pub fn exchange(&self, one: &str, other: &str, requests: Range<usize>) {
        *self.shared.exchange.lock().expect("a lock") = Some(Exchange {
            one: format!("{one}/"),
            other: format!("{other}/"),
            requests,
        });
    }

    /// Maximum number of concurrent requests.
    pub fn most_at_once(&self) -> usize {
        self.shared.most.load(Ordering::Relaxed)
    }

    /// Injects a fault into responses for paths that contain `part`: after `good` correct ones,
    /// `times` times.
    pub fn fail(&self, part: &str, fault: Fault, good: usize, times: usize) {
        self.shared
            .faults
            .lock()
            .expect("a lock")
            .push((part.to_owned(), fault, good, times));
    }
}

impl Shared {
    fn fault_for(&self, path: &str) -> Option<Fault> {
        let mut faults = self.faults.lock().expect("a lock");
        let (_, fault, good, times) = faults
            .iter_mut()
            .find(|(part, _, _, times)| path.contains(part.as_str()) && *times > 0)?;
        if *good > 0 {
            *good -= 1;
            return None;
        }
        *times -= 1;
        Some(*fault)
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        let mut lines = BufReader::new(stream.try_clone()?);
        loop {
            let mut first = String::new();
            if lines.read_line(&mut first)? == 0 {
                return Ok(());
            }
            let mut range = None;
            loop {
                let mut line = String::new();
                if lines.read_line(&mut line)? <= 2 {
                    break;
                }
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("range")
                {
                    range = Some(value.trim().to_owned());
                }
            }
            let mut words = first.split_whitespace();
            let (method, path) = (
                words.next().unwrap_or_default().to_owned(),
                words.next().unwrap_or_default().to_owned(),
            );
            let place = {
                let mut asked = self.asked.lock().expect("a lock");
                asked.push(Asked {
                    method,
                    path: path.clone(),
                    range: range.clone(),
                });
                self.place_of(&path, asked.len() - 1)
            };
            self.most.fetch_max(
                self.now.fetch_add(1, Ordering::Relaxed) + 1,
                Ordering::Relaxed,
            );
            let delay = *self.delay.lock().expect("a lock");
            std::thread::sleep(delay);
            // Before the response: a client that has received it may send a request while this
            // thread is not scheduled.
            self.now.fetch_sub(1, Ordering::Relaxed);
            if !self.answer(&stream, &path, &place, range.as_deref())? {
                return Ok(());
            }
        }
    }

    /// The path below the folder that the request of this number is answered with.
    fn place_of(&self, path: &str, number: usize) -> String {
        let name = decoded(path.split('?').next().unwrap_or_default());
        let name = name.trim_start_matches('/');
        let exchange = self.exchange.lock().expect("a lock");
        let found = exchange
            .as_ref()
            .filter(|exchange| exchange.requests.contains(&number))
            .and_then(|exchange| Some((exchange, name.strip_prefix(&exchange.one)?)));
        match found {
            Some((exchange, below)) => format!("{}{below}", exchange.other),
            None => name.to_owned(),
        }
    }

    /// Sends a response; false when the connection is to be closed.
    fn answer(
        &self,
        mut stream: &TcpStream,
        path: &str,
        place: &str,
        range: Option<&str>,
    ) -> std::io::Result<bool> {
        let plain = |stream: &mut &TcpStream, status: u16| {
            write!(
                stream,
                "HTTP/1.1 {status} Said\r\nContent-Length: 5\r\n\r\nsorry"
            )
            .map(|()| true)
        };
        let fault = self.fault_for(path);
        if let Some(Fault::Status(status)) = fault {
            return plain(&mut stream, status);
        }
        if fault == Some(Fault::Silent) {
            std::thread::sleep(Duration::from_secs(20));
            return Ok(false);
        }
        let habit = *self.habit.lock().expect("a lock");
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        if habit == Some(Habit::Throttles) && number.is_multiple_of(3) {
            let date = (chrono::Utc::now() + chrono::Duration::seconds(1))
                .format("%a, %d %b %Y %H:%M:%S GMT");
            write!(
                stream,
                "HTTP/1.1 429 Said\r\nRetry-After: {date}\r\nContent-Length: 0\r\n\r\n"
            )?;
            return Ok(true);
        }
        let folder = self.folder.join(place.trim_end_matches('/'));
        if habit == Some(Habit::ListsFolders) && folder.is_dir() {
            let page = page_of(&folder);
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length";
            return write!(stream, "{head}: {}\r\n\r\n{page}", page.len()).map(|()| true);
        }
        let Ok(mut bytes) = fs::read(self.folder.join(place)) else {
            return match habit {
                Some(Habit::PageForMissing) => {
                    let page = "<!doctype html><html><body>Start</body></html>";
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
                        Content-Length";
                    write!(stream, "{head}: {}\r\n\r\n{page}", page.len()).map(|()| true)
                }
                Some(Habit::ForbidsMissing) => plain(&mut stream, 403),
                _ => plain(&mut stream, 404),
            };
        };
        let mut version = format!("ETag: \"{:08x}-{}\"\r\n", crc32(&bytes), bytes.len());
        match habit {
            Some(Habit::NoVersion) => version.clear(),
            Some(Habit::WeakEtag) => version = version.replace(": ", ": W/"),
            Some(Habit::AlternatesEtags) => {
                version = version.replace("-", &format!("-{}-", number % 2))
            }
            Some(Habit::NewEtags) => version = version.replace("-", &format!("-{number}-")),
            Some(Habit::AlternatesDates) => {
                version = format!(
                    "Last-Modified: Wed, 25 Nov 2020 07:00:0{} GMT\r\n",
                    number % 2
                );
            }
            _ => {}
        }
        if fault == Some(Fault::Replaced) {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
            version = "ETag: \"another\"\r\n".into();
        }
        let total = bytes.len();
        let is_refused = match (
            habit,
            range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')),
        ) {
            (Some(Habit::RefusesLongSuffixes), Some(("", length))) => {
                length.parse::<usize>().is_ok_and(|length| length > total)
            }
            (Some(Habit::RefusesLongRanges), Some((_, last))) => {
                last.parse::<usize>().is_ok_and(|last| last >= total)
            }
            _ => false,
        };
        if is_refused {
            let head = "HTTP/1.1 416 Said\r\nContent-Length: 0\r\nContent-Range";
            return write!(stream, "{head}: bytes */{total}\r\n\r\n").map(|()| true);
        }
        let is_suffix = range.is_some_and(|range| range.starts_with("bytes=-"));
        let wanted = range
            .filter(|_| fault != Some(Fault::Whole))
            .and_then(|range| within(range, total))
            .filter(|wanted| {
                !(habit == Some(Habit::WholeIs200) && *wanted == (0, total)
                    || habit == Some(Habit::IgnoresSuffixes) && is_suffix)
            });
        let is_whole = fault == Some(Fault::Whole)
            || matches!(habit, Some(Habit::WholeIs200 | Habit::IgnoresSuffixes));
        let (status, place, bytes) = match (range, wanted) {
            (Some(_), None) if !is_whole => return plain(&mut stream, 416),
            (_, Some((start, end))) => {
                let start = if fault == Some(Fault::Elsewhere) {
                    start.saturating_sub(1)
                } else {
                    start
                };
                let total = if habit == Some(Habit::OmitsSize) {
                    "*".to_owned()
                } else {
                    total.to_string()
                };
                let place = match habit {
                    Some(Habit::OmitsRange) => String::new(),
                    _ => format!("Content-Range: bytes {start}-{}/{total}\r\n", end - 1),
                };
                ("206 Partial Content", place, &bytes[start..end])
            }
            _ => ("200 OK", String::new(), &bytes[..]),
        };
        if habit == Some(Habit::Chunked) {
            write!(
                stream,
                "HTTP/1.1 {status}\r\n{version}{place}Transfer-Encoding: chunked\r\n\r\n"
            )?;
            for part in bytes.chunks(5000) {
                write!(stream, "{:x}\r\n", part.len())?;
                stream.write_all(part)?;
                stream.write_all(b"\r\n")?;
            }
            return stream.write_all(b"0\r\n\r\n").map(|()| true);
        }
        let packed = (habit == Some(Habit::Gzips)).then(|| gzipped(bytes));
        let place = if packed.is_some() {
            format!("{place}Content-Encoding: gzip\r\n")
        } else {
            place
        };
        let bytes = packed.as_deref().unwrap_or(bytes);
        let half = bytes.len() / 2;
        let stated = if fault == Some(Fault::Short) {
            half
        } else {
            bytes.len()
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\n{version}Accept-Ranges: bytes\r\n{place}Content-Length: \
                {stated}\r\n\r\n"
        )?;
        match fault {
            Some(Fault::Cut) => stream.write_all(&bytes[..half]).map(|()| false),
            Some(Fault::Stalls) => {
                stream.write_all(&bytes[..half])?;
                std::thread::sleep(Duration::from_secs(20));
                Ok(false)
            }
            Some(Fault::Short) => stream.write_all(&bytes[..half]).map(|()| true),
            _ => stream.write_all(bytes).map(|()| true),
        }
    }
}

/// The page of a folder, as web servers make it.
fn page_of(folder: &Path) -> String {
    let mut page =
        "<html><head><title>Index</title></head><body><a href=\"../\">../</a>\n".to_owned();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let slash = if entry.path().is_dir() { "/" } else { "" };
        let name = format!("{}{slash}", entry.file_name().to_string_lossy());
        page += &format!(
            "<a href=\"{}\">{name}</a> 12-Nov-2026 10:00 1K\n",
            name.replace(' ', "%20")
        );
    }
    page + "</body></html>"
}

/// Start and end (exclusive) of a `Range` header.
fn within(range: &str, total: usize) -> Option<(usize, usize)> {
    let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
    if start.is_empty() {
        let length: usize = end.parse().ok()?;
        return (length > 0 && total > 0).then(|| (total.saturating_sub(length), total));
    }
    let start: usize = start.parse().ok()?;
    let end = if end.is_empty() {
        total
    } else {
        end.parse::<usize>().ok()? + 1
    };
    (start < total && start < end).then(|| (start, end.min(total)))
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%').then(|| {
            std::str::from_utf8(after.get(..2)?)
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        });
        match hex.flatten() {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(bytes)
        .and_then(|()| packed.finish())
        .expect("gzip")
}

fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
