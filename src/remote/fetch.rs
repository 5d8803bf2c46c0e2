//! Fetches one range of a file: with timeouts, retries, and checks of the response against the
//! requested range and the opened version. Failures become errors with a suggestion.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectMeta, ObjectStore};

use super::credentials::root_cause;
use super::limits::VersionValidator;
use super::meter::RequestLine;
use super::purpose::Purpose;
use super::range_answer::RefusedAnswer;
use super::remote_access::remote_access;
use super::request_attempt::{AnswerFault, FetchPart, RangeRequest, RequestAttempt};
use crate::error::{Cause, Error, Kind};
use crate::model::{Address, Modified, Scheme, Stamp};

/// Pauses before the second, third and fourth attempt.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(300),
    Duration::from_millis(1000),
    Duration::from_millis(3000),
];
/// Maximum pause that a server may request.
const PAUSE_MAX: Duration = Duration::from_secs(20);
/// Maximum number of attempts while a server answers with another version: servers behind one name
/// may state an ETag or date of their own each, and only answers of the opened version are taken.
const VERSION_TRIES: usize = 12;

/// Maximum plausible file size in bytes; no store has larger files.
pub const FILE_SIZE_MAX: u64 = 1 << 50;
/// Minimum rate in bytes per second, averaged over the timeout. Slower transfers are aborted.
const RATE_MIN: f64 = 1024.0;
/// Minimum time over which the rate is averaged.
const PACE_MIN: Duration = Duration::from_secs(1);
/// Bytes allocated for a response before any data arrives.
const ROOM: u64 = 1 << 20;

/// Identifies a version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    pub etag: Option<String>,
    /// Modification time in milliseconds since 1970; 0 when unknown.
    pub modified_ms: i64,
    /// Length of the file in bytes.
    pub size: u64,
}

impl FileIdentity {
    /// The same as the version of a file that holds samples.
    pub fn stamp(&self) -> Stamp {
        let modified = Modified(self.modified_ms.saturating_mul(1_000_000));
        Stamp {
            size: self.size,
            modified,
            etag: self.etag.as_deref().map(Into::into),
            directory: None,
        }
    }

    fn of_answer(meta: &ObjectMeta, validator: VersionValidator) -> Self {
        let (etag, modified_ms) = match validator {
            VersionValidator::Etag => (meta.e_tag.clone(), meta.last_modified.timestamp_millis()),
            VersionValidator::Modified => (None, meta.last_modified.timestamp_millis()),
            VersionValidator::Size => (None, 0),
        };
        Self {
            etag,
            modified_ms,
            size: meta.size,
        }
    }

    /// True when both may be the same version: no property stated by both responses differs.
    pub fn agrees(&self, other: &FileIdentity) -> bool {
        let etags = match (&self.etag, &other.etag) {
            // A weak ETag only promises equivalent content; the tags are compared without the
            // prefix.
            (Some(own), Some(other)) => {
                own.trim_start_matches("W/") == other.trim_start_matches("W/")
            }
            _ => {
                self.modified_ms == 0
                    || other.modified_ms == 0
                    || self.modified_ms == other.modified_ms
            }
        };
        etags && self.size == other.size
    }

    /// True when the server sends a property that identifies versions.
    pub fn is_known(&self) -> bool {
        self.etag.is_some() || self.modified_ms != 0
    }
}

/// Result of a fetch.
pub struct FetchedRange {
    /// Version of the file.
    pub identity: FileIdentity,
    /// Offset of the bytes.
    pub start: u64,
    pub bytes: Bytes,
}

/// Failure of one request.
#[derive(Clone, Debug)]
pub(super) enum RequestFault {
    Status(u16, Option<String>),
    Timeout,
    Connect(String),
    Cut(String),
    NoRanges,
    SizeUnstated,
    RangeUnstated,
    /// Status 206 with headers that can't be read.
    UnreadableRange,
    WebPage,
    Changed,
    SentOn,
    SentInside(String),
    Slow,
    Size(u64),
    Other(String),
}

impl RequestFault {
    /// Maximum number of attempts for this failure.
    fn tries(&self) -> usize {
        match self {
            RequestFault::Status(408 | 425 | 429 | 500 | 502 | 503 | 504, _)
            | RequestFault::Cut(_) => PAUSES.len() + 1,
            RequestFault::Connect(_) => 3,
            RequestFault::Timeout | RequestFault::Slow => 2,
            RequestFault::Changed => VERSION_TRIES,
            RequestFault::Status(..)
            | RequestFault::NoRanges
            | RequestFault::SizeUnstated
            | RequestFault::RangeUnstated
            | RequestFault::UnreadableRange
            | RequestFault::WebPage
            | RequestFault::SentOn
            | RequestFault::SentInside(_)
            | RequestFault::Size(_)
            | RequestFault::Other(_) => 1,
        }
    }

    /// The pause before the next attempt.
    fn pause(&self, attempt_number: u32) -> Duration {
        match self {
            // The next attempt may reach another server.
            RequestFault::Changed => Duration::ZERO,
            _ => PAUSES
                .get(attempt_number as usize - 1)
                .copied()
                .unwrap_or(PAUSE_MAX),
        }
    }
}

/// A file at an address, with its client.
#[derive(Clone)]
pub struct RemoteTarget {
    pub address: Arc<Address>,
    pub text: Arc<str>,
    pub store: Arc<dyn ObjectStore>,
    pub key: Key,
}

impl RemoteTarget {
    fn attempt(
        &self,
        part: &FetchPart,
        known_size: Option<u64>,
        purpose: &Purpose,
    ) -> Arc<RequestAttempt> {
        let name = self.address.name().to_ascii_lowercase();
        let is_page = [".html", ".htm", ".xhtml"]
            .iter()
            .any(|ending| name.ends_with(ending))
            || self.address.path.ends_with('/');
        Arc::new(RequestAttempt::of_range(
            purpose.clone(),
            RangeRequest {
                part: part.clone(),
                known_size,
                is_page,
            },
        ))
    }
}

/// Fetches `part` with retries; the result is shorter only at the end of the file. With `expected`,
/// the response must be of that version.
///
/// # Errors
/// [`Kind::Io`] with a typed cause ([`Cause::HttpStatus`], [`Cause::NoRanges`], …).
pub async fn fetch(
    target: RemoteTarget,
    part: FetchPart,
    expected: Option<FileIdentity>,
    purpose: Purpose,
) -> Result<FetchedRange, Error> {
    let mut attempt_number = 1;
    loop {
        let begun = Instant::now();
        let mut received = 0;
        let (attempt, outcome) =
            once(&target, &part, expected.as_ref(), &purpose, &mut received).await;
        tracing::info!(
            "asks {} for {}: status {}, {received} bytes",
            target.text,
            part.text(),
            attempt
                .status()
                .map_or_else(|| "none".to_owned(), |status| status.to_string())
        );
        purpose.record_request_end(RequestLine {
            action: "".into(),
            address: target.text.clone(),
            range: match &part {
                FetchPart::Range(range) => Some((range.start, range.end - range.start)),
                FetchPart::Tail(_) => None,
            },
            status: attempt.status(),
            bytes: received,
            elapsed_ms: begun.elapsed().as_secs_f64() * 1e3,
            attempt: attempt_number,
            fault: outcome
                .as_ref()
                .err()
                .map(|fault| sentence(&target.address, fault)),
        });
        let fault = match outcome {
            Ok(fetched) => return Ok(fetched),
            Err(fault) => fault,
        };
        if attempt_number as usize >= fault.tries() {
            let failed = error(&target.address, &fault, attempt_number);
            return Err(match attempt.long_pause_asked_s() {
                Some(seconds) => failed.hint(format!(
                    "the server asks to wait {seconds} s: try again then"
                )),
                None => failed,
            });
        }
        let pause = fault.pause(attempt_number);
        tracing::debug!(
            "{}: {}; trying again",
            target.text,
            sentence(&target.address, &fault)
        );
        tokio::time::sleep(pause.max(attempt.pause_asked()).min(PAUSE_MAX)).await;
        attempt_number += 1;
    }
}

/// One attempt: the request and, when the server does not answer it in this form, the same one with
/// the range in a file of the stated size.
async fn once(
    target: &RemoteTarget,
    part: &FetchPart,
    expected: Option<&FileIdentity>,
    purpose: &Purpose,
    received: &mut u64,
) -> (Arc<RequestAttempt>, Result<FetchedRange, RequestFault>) {
    let known_size = expected
        .filter(|expected| expected.is_known())
        .map(|expected| expected.size);
    let attempt = target.attempt(part, known_size, purpose);
    let fault = match send(target, part, expected, &attempt, received).await {
        Ok(fetched) => return (attempt, Ok(fetched)),
        Err(fault) => fault,
    };
    let may_be_rephrased = match &fault {
        RequestFault::Status(416, _) | RequestFault::SizeUnstated => true,
        RequestFault::NoRanges => matches!(part, FetchPart::Tail(_)),
        _ => false,
    };
    if !may_be_rephrased {
        return (attempt, Err(fault));
    }
    let Some((size, version)) = find_size(target, &attempt, &fault, purpose).await else {
        return (attempt, Err(fault));
    };
    let range = part.byte_range(size);
    let other = FetchPart::Range(range.clone());
    if range.is_empty() || (other == *part && !matches!(fault, RequestFault::SizeUnstated)) {
        return (attempt, Err(fault));
    }
    let attempt = target.attempt(&other, Some(size), purpose);
    let outcome = send(
        target,
        &other,
        expected.or(version.as_ref()),
        &attempt,
        received,
    )
    .await;
    (attempt, outcome)
}

/// The size of a file whose server does not answer a range without it, and the version that has
/// this size when another request found it.
async fn find_size(
    target: &RemoteTarget,
    attempt: &RequestAttempt,
    fault: &RequestFault,
    purpose: &Purpose,
) -> Option<(u64, Option<FileIdentity>)> {
    if let Some(size) = attempt.stated_size() {
        return Some((size, None));
    }
    if matches!(fault, RequestFault::SizeUnstated) {
        // The number of the last byte is the size.
        let last = FetchPart::Tail(1);
        let attempt = target.attempt(&last, None, purpose);
        match send(target, &last, None, &attempt, &mut 0).await {
            Ok(FetchedRange { identity, .. }) => return Some((identity.size, Some(identity))),
            Err(_) => {
                if let Some(size) = attempt.stated_size() {
                    return Some((size, None));
                }
            }
        }
    }
    let mut options = GetOptions {
        head: true,
        ..GetOptions::default()
    };
    options
        .extensions
        .insert(Arc::new(RequestAttempt::new(purpose.clone())));
    let answer = tokio::time::timeout(
        remote_access().limits.idle_timeout(),
        target.store.get_opts(&target.key, options),
    )
    .await
    .ok()?
    .ok()?;
    Some((answer.meta.size, None)).filter(|(size, _)| *size < FILE_SIZE_MAX)
}

/// One request.
async fn send(
    target: &RemoteTarget,
    part: &FetchPart,
    expected: Option<&FileIdentity>,
    attempt: &Arc<RequestAttempt>,
    received: &mut u64,
) -> Result<FetchedRange, RequestFault> {
    *received = 0;
    let mut options = GetOptions {
        range: Some(part.get_range()),
        ..GetOptions::default()
    };
    options.extensions.insert(attempt.clone());
    let answer = tokio::time::timeout(
        remote_access().limits.idle_timeout(),
        target.store.get_opts(&target.key, options),
    )
    .await;
    let answer = answer
        .map_err(|_| RequestFault::Timeout)?
        .map_err(|error| match attempt.sent_inside() {
            Some(host) => RequestFault::SentInside(host.into()),
            None if attempt.was_sent_on_too_often() => RequestFault::SentOn,
            None => fault_of(&error, attempt),
        })?;
    let meta = &answer.meta;
    if meta.size >= FILE_SIZE_MAX {
        return Err(RequestFault::Size(meta.size));
    }
    let identity = FileIdentity::of_answer(meta, remote_access().limits.version_validator());
    if expected.is_some_and(|expected| !expected.agrees(&identity)) {
        return Err(RequestFault::Changed);
    }
    if answer.range != part.byte_range(identity.size) {
        return Err(RequestFault::Other(
            "the server sent another range than requested".into(),
        ));
    }
    let (start, wanted) = (answer.range.start, answer.range.end - answer.range.start);
    let mut stream = answer.into_stream();
    let mut bytes = BytesMut::with_capacity(wanted.min(ROOM) as usize);
    let mut pace = Pace::new();
    loop {
        let chunk = tokio::time::timeout(remote_access().limits.idle_timeout(), stream.next())
            .await
            .map_err(|_| RequestFault::Timeout)?;
        if !pace.holds(*received) {
            return Err(RequestFault::Slow);
        }
        match chunk {
            None => break,
            Some(Ok(chunk)) => {
                *received += chunk.len() as u64;
                if *received > wanted {
                    return Err(RequestFault::Cut(format!(
                        "the server sent more than the {wanted} bytes that it announced"
                    )));
                }
                // The buffer is enlarged to the full length once half of the initial buffer has
                // arrived.
                if bytes.len() as u64 >= ROOM.min(wanted) / 2 {
                    bytes.reserve((wanted - bytes.len() as u64) as usize);
                }
                bytes.extend_from_slice(&chunk);
            }
            Some(Err(_)) => return Err(RequestFault::Cut(cut(*received, wanted))),
        }
    }
    if *received != wanted {
        return Err(RequestFault::Cut(cut(*received, wanted)));
    }
    let is_page = attempt.range().is_some_and(|range| range.is_page);
    if attempt.is_html()
        && !is_page
        && start == 0
        && bytes.trim_ascii_start().first() == Some(&b'<')
    {
        return Err(RequestFault::WebPage);
    }
    Ok(FetchedRange {
        identity,
        start,
        bytes: bytes.freeze(),
    })
}

/// Monitors the transfer rate.
struct Pace {
    since: Instant,
    received: u64,
}

impl Pace {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            received: 0,
        }
    }

    /// False when the rate was too low for the duration of the timeout.
    fn holds(&mut self, received: u64) -> bool {
        let (window, elapsed) = (
            remote_access().limits.idle_timeout().max(PACE_MIN),
            self.since.elapsed(),
        );
        if elapsed < window {
            return true;
        }
        let enough = (received - self.received) as f64 >= RATE_MIN * elapsed.as_secs_f64();
        *self = Self {
            since: Instant::now(),
            received,
        };
        enough
    }
}

fn cut(received: u64, wanted: u64) -> String {
    format!("the connection ended after {received} of {wanted} bytes")
}

fn fault_of(error: &object_store::Error, attempt: &RequestAttempt) -> RequestFault {
    let reason = root_cause(error);
    match attempt.answer_fault() {
        Some(AnswerFault::WebPage) => return RequestFault::WebPage,
        Some(AnswerFault::SizeUnstated) => return RequestFault::SizeUnstated,
        Some(AnswerFault::RangeUnstated) => return RequestFault::RangeUnstated,
        Some(AnswerFault::BodyCut) => return RequestFault::Cut(reason),
        None => {}
    }
    let is_refused = || iterate_causes(error).any(|error| error.is::<RefusedAnswer>());
    match attempt.status() {
        Some(200) if attempt.stated_size() == Some(0) => {
            RequestFault::Other("the file is empty".into())
        }
        Some(200 | 206) if is_refused() => RequestFault::Other(reason),
        Some(200) => RequestFault::NoRanges,
        Some(206) => RequestFault::UnreadableRange,
        Some(status) => RequestFault::Status(status, attempt.code()),
        None => {
            let sent = iterate_causes(error)
                .filter_map(|error| error.downcast_ref::<reqwest::Error>())
                .next();
            match error {
                _ if sent.is_some_and(reqwest::Error::is_timeout) => RequestFault::Timeout,
                object_store::Error::Generic { .. } => RequestFault::Connect(reason),
                _ => RequestFault::Other(reason),
            }
        }
    }
}

/// The error and its causes, outermost first.
fn iterate_causes(
    error: &object_store::Error,
) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let first = error as &(dyn std::error::Error + 'static);
    std::iter::successors(Some(first), |error| error.source())
}

pub(super) fn sentence(address: &Address, fault: &RequestFault) -> String {
    let host = address.host();
    match fault {
        RequestFault::Status(status, code) => {
            let code = code
                .as_ref()
                .map(|code| format!(" ({code})"))
                .unwrap_or_default();
            format!("{host} answered {status}{}{code}", reason_phrase(*status))
        }
        RequestFault::Timeout => format!(
            "{host} sent nothing for {} s",
            remote_access().limits.idle_timeout().as_secs_f32()
        ),
        RequestFault::Connect(reason) => format!("{host} can't be reached: {reason}"),
        RequestFault::Cut(reason) | RequestFault::Other(reason) => format!("{host}: {reason}"),
        RequestFault::NoRanges => format!("{host} does not support range requests"),
        RequestFault::SizeUnstated => format!("{host} does not state the size of the file"),
        RequestFault::RangeUnstated => format!(
            "{host} does not state which bytes it sent: its answer 206 has no Content-Range"
        ),
        RequestFault::UnreadableRange => {
            format!("{host} answered a range request with headers that can't be read")
        }
        RequestFault::WebPage => {
            format!("{host} answered with a web page (HTML) instead of the file")
        }
        RequestFault::SentOn => format!("{host} redirects endlessly"),
        RequestFault::SentInside(there) => {
            format!(
                "{host} redirects to {there}, which is on this machine or in a private network: \
                    that is not followed"
            )
        }
        RequestFault::Slow => {
            format!(
                "{host} sent less than {RATE_MIN} bytes a second for {} s",
                remote_access()
                    .limits
                    .idle_timeout()
                    .max(PACE_MIN)
                    .as_secs_f32()
            )
        }
        RequestFault::Size(bytes) => {
            format!("{host} reports an implausible file size of {bytes} bytes")
        }
        RequestFault::Changed => "the file on the server changed since it was opened".into(),
    }
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        301 | 302 | 307 | 308 => " (redirected)",
        400 => " Bad Request",
        401 => " Unauthorized",
        403 => " Forbidden",
        404 => " Not Found",
        405 => " Method Not Allowed",
        410 => " Gone",
        412 => " Precondition Failed",
        416 => " Range Not Satisfiable",
        429 => " Too Many Requests",
        500 => " Internal Server Error",
        502 => " Bad Gateway",
        503 => " Service Unavailable",
        504 => " Gateway Timeout",
        _ => "",
    }
}

pub(super) fn error(address: &Address, fault: &RequestFault, tries: u32) -> Error {
    let mut summary = sentence(address, fault);
    if tries > 1 && !matches!(fault, RequestFault::Changed) {
        summary.push_str(&format!(", after {tries} tries"));
    }
    let hint = match fault {
        RequestFault::Status(401 | 403, _) => match address.scheme {
            Scheme::S3 => {
                "check the credentials (AWS_ACCESS_KEY_ID, --aws-profile), or omit them for a \
                    public bucket (--anonymous); some \
                 buckets say 403 for names that they do not have"
            }
            Scheme::Gs => {
                "check the credentials (GOOGLE_APPLICATION_CREDENTIALS), or omit them for a public \
                    bucket (--anonymous)"
            }
            Scheme::Az => {
                "check the credentials (AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY), or \
                    omit them (--anonymous)"
            }
            Scheme::Oss => {
                "check OSS_ENDPOINT and the credentials (OSS_ACCESS_KEY_ID), or omit them for a \
                    public bucket (--anonymous)"
            }
            Scheme::Swift => {
                "check SWIFT_STORAGE_URL and the token (SWIFT_AUTH_TOKEN), which may have expired"
            }
            Scheme::Http | Scheme::Https if super::credentials::is_hub(address) => {
                "the address needs a token (HF_TOKEN) or a fresh link"
            }
            Scheme::Http | Scheme::Https => {
                "the address needs a fresh link, or a token: GDAL_HTTP_BEARER, with this server in \
                    TACO_STUDIO_BEARER_HOSTS; tokens go \
                 over https:// alone"
            }
        },
        RequestFault::Status(404 | 410, _) => "check the address, letter by letter",
        RequestFault::Status(301 | 307 | 308 | 400, _) if address.scheme == Scheme::S3 => {
            "name the bucket's region (--region, AWS_REGION)"
        }
        RequestFault::Status(416, _) => {
            "the file is empty, or shorter than its index says: compare its size with the original"
        }
        RequestFault::Status(429, _) => {
            "the server limits the rate of requests: wait a little, or lower --connections"
        }
        RequestFault::Status(500.., _) => "this is a problem of the server: try again later",
        RequestFault::Status(..)
        | RequestFault::SentOn
        | RequestFault::Size(_)
        | RequestFault::Other(_) => "try the address in a browser",
        RequestFault::SentInside(_) => {
            "open the address that it redirects to itself, if you trust the server"
        }
        RequestFault::Timeout | RequestFault::Slow => {
            "check the connection, or wait longer with TACO_STUDIO_HTTP_TIMEOUT (seconds)"
        }
        RequestFault::Connect(_) => {
            "check the name of the host, the connection and the proxy (HTTPS_PROXY, NO_PROXY)"
        }
        RequestFault::Cut(_) => "check the connection, then try again",
        RequestFault::WebPage => {
            "open the address in a browser: the file may have another address, need a sign-in, or \
                be missing, as some servers answer a \
             missing file with their start page"
        }
        RequestFault::NoRanges
        | RequestFault::SizeUnstated
        | RequestFault::RangeUnstated
        | RequestFault::UnreadableRange => {
            "download the file and open it from this disk, or serve it with range requests"
        }
        RequestFault::Changed => "open the dataset again: it was replaced meanwhile",
    };
    let kind = if matches!(fault, RequestFault::Changed) {
        Kind::Changed
    } else {
        Kind::Io
    };
    let error = Error::new(kind, summary).at_place(address).hint(hint);
    let error = match fault {
        RequestFault::Changed => error.hint(
            "if it was not replaced, its server states several ETags or dates for one version: \
                TACO_STUDIO_REMOTE_VERSIONS=modified \
             compares date and size alone, =size the size alone",
        ),
        RequestFault::Status(401 | 403, _) if address.is_web() => error.hint(
            "check the address, letter by letter: some servers say 403 for names that \
                they do not have",
        ),
        _ => error,
    };
    match fault {
        RequestFault::Status(status, _) => error.caused_by(Cause::HttpStatus(*status)),
        RequestFault::NoRanges
        | RequestFault::SizeUnstated
        | RequestFault::RangeUnstated
        | RequestFault::UnreadableRange => error.caused_by(Cause::NoRanges),
        RequestFault::WebPage => error.caused_by(Cause::WebPage),
        RequestFault::Timeout
        | RequestFault::Slow
        | RequestFault::Connect(_)
        | RequestFault::Cut(_)
        | RequestFault::Changed
        | RequestFault::SentOn
        | RequestFault::Other(_) => error.caused_by(Cause::Passing),
        RequestFault::Size(_) | RequestFault::SentInside(_) => error,
    }
}

/// True for an error after which the address may still be a folder: servers respond to folder
/// requests in various ways, some with a list of its files.
pub fn may_be_folder(error: &Error) -> bool {
    means_absent(error) || error.is_caused_by(Cause::NoRanges)
}

/// True for an error that means that the file does not exist or must not be accessed: 401, 403,
/// 404, 405 and 410, or a web page, which some servers send for every name that they do not have.
pub fn means_absent(error: &Error) -> bool {
    error.causes().any(|cause| {
        matches!(
            cause,
            Cause::HttpStatus(401 | 403 | 404 | 405 | 410) | Cause::WebPage
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_by_properties_in_both_responses() {
        let version = |etag: Option<&str>, modified_ms, size| FileIdentity {
            etag: etag.map(str::to_owned),
            modified_ms,
            size,
        };
        let opened = version(Some("\"a\""), 5, 10);
        assert!(opened.agrees(&version(Some("\"a\""), 7, 10)));
        assert!(opened.agrees(&version(Some("W/\"a\""), 5, 10)));
        assert!(!opened.agrees(&version(Some("\"b\""), 5, 10)));
        assert!(!opened.agrees(&version(Some("\"a\""), 5, 11)));
        assert!(!opened.agrees(&version(None, 6, 10)) && opened.agrees(&version(None, 0, 10)));
        assert!(!version(None, 0, 10).is_known());
    }

    #[test]
    fn errors_of_refused_requests_name_the_credentials() {
        let said = |address: &str| {
            let address = Address::parse(address).expect("is an address");
            error(&address, &RequestFault::Status(403, None), 1).report()
        };
        assert!(
            said("s3://b/a").contains("--aws-profile"),
            "{}",
            said("s3://b/a")
        );
        assert!(said("https://huggingface.co/a").contains("HF_TOKEN"));
        let elsewhere = said("https://example.org/a");
        assert!(
            elsewhere.contains("GDAL_HTTP_BEARER") && !elsewhere.contains("HF_TOKEN"),
            "{elsewhere}"
        );
    }

    #[test]
    fn absence_is_decided_by_the_status() {
        let address = Address::parse("https://h/a").expect("is an address");
        let absent = |status| {
            means_absent(&error(
                &address,
                &RequestFault::Status(status, Some("NoSuchKey".into())),
                1,
            ))
        };
        assert!(absent(404) && absent(403) && !absent(416) && !absent(500));
        assert!(!means_absent(&error(&address, &RequestFault::Timeout, 2)));
        // Also inside another error.
        let below = Error::format("the part is missing").because(error(
            &address,
            &RequestFault::Status(404, None),
            1,
        ));
        assert!(means_absent(&below));
    }
}
