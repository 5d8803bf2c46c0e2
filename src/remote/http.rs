//! HTTP client for `object_store`: counts requests, records the status for error messages, follows redirects without forwarding
//! credentials, and limits the size of responses.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, HeaderMap};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_RANGE, HeaderName, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};

use super::meter::Purpose;

/// Maximum number of redirects.
const HOPS: usize = 10;
/// Maximum bytes read of a response other than a part of a file: an error message or a token.
const SAYS_MAX: usize = 1 << 20;
/// Headers that are forwarded to another server: they describe the request, and contain no credentials.
const HARMLESS: [HeaderName; 2] = [ACCEPT, RANGE];

/// State of one request, shared by its sender and the waiting thread.
pub struct Attempt {
    pub purpose: Purpose,
    status: AtomicU16,
    retry_after_s: AtomicU64,
    sent_on: AtomicBool,
    code: OnceLock<String>,
}

impl Attempt {
    pub fn new(purpose: Purpose) -> Self {
        let (status, retry_after_s, sent_on) = Default::default();
        Self { purpose, status, retry_after_s, sent_on, code: OnceLock::new() }
    }

    /// The error code in the body of an S3-style response, such as `InvalidAccessKeyId`.
    pub fn code(&self) -> Option<String> {
        self.code.get().cloned()
    }

    /// The status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    /// Seconds to wait before a retry, as requested by the server.
    pub fn retry_after_s(&self) -> u64 {
        self.retry_after_s.load(Ordering::Relaxed)
    }

    /// True when there were too many redirects.
    pub fn was_sent_on_too_often(&self) -> bool {
        self.sent_on.load(Ordering::Relaxed)
    }
}

/// Creates counting clients. They send `headers` with every request to the original server, and never a `Referer`, which would
/// reveal the key of a signed link after a redirect.
#[derive(Default)]
pub struct Connector {
    pub headers: HeaderMap,
    /// Bypass the proxies of the environment: unencrypted requests to this machine must not leave it.
    pub direct: bool,
}

impl std::fmt::Debug for Connector {
    /// Without the headers, which may contain a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    /// The options are ignored: they cannot be read, and this behaviour must not be disabled.
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder();
        let client = if self.direct { client.no_proxy() } else { client };
        let client = client
            .referer(false)
            // Redirects are followed below, where forwarded headers are selected.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("taco-studio/", env!("CARGO_PKG_VERSION")))
            // Retries are done in `fetch`, where they are counted and can be cancelled; so are timeouts, which must not end a
            // slow but steady transfer.
            .connect_timeout(super::limits::patience().min(Duration::from_secs(10)))
            .http1_only()
            // Ranges and lengths refer to the file, not to a compressed body.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()
            .map_err(|error| object_store::Error::Generic { store: "http", source: Box::new(error) })?;
        Ok(HttpClient::new(Counting { inner: HttpClient::new(client), headers: self.headers.clone() }))
    }
}

struct Counting {
    inner: HttpClient,
    headers: HeaderMap,
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counting")
    }
}

impl Counting {
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let attempt = request.extensions().get::<Arc<Attempt>>().cloned();
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let (mut response, mut hops) = (None, 0);
        let mut next = Some(request);
        while let Some(request) = next.take() {
            match &attempt {
                Some(attempt) => attempt.purpose.sent(),
                // Requests of the library itself, for tokens.
                None => Purpose::of_thread().sent(),
            }
            let asked = Asked::of(&request);
            let answer = self.inner.execute(request).await?;
            if let Some(on) = asked.sent_on(&answer) {
                match hops < HOPS {
                    true => next = Some(on),
                    false => attempt.iter().for_each(|attempt| attempt.sent_on.store(true, Ordering::Relaxed)),
                }
                hops += 1;
            }
            response = Some(answer);
        }
        let response = response.ok_or_else(|| HttpError::new(HttpErrorKind::Request, Refused("nothing was sent")))?;
        if let Some(attempt) = &attempt {
            attempt.status.store(response.status().as_u16(), Ordering::Relaxed);
            let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            attempt.retry_after_s.store(wait.unwrap_or_default(), Ordering::Relaxed);
        }
        // A part of a file is read by the caller, who knows its maximum length.
        if attempt.is_some() && response.status() == StatusCode::PARTIAL_CONTENT {
            return check(response);
        }
        if attempt.is_some() && response.status().is_success() {
            return Ok(response);
        }
        shortened(response, attempt.as_deref()).await
    }
}

/// The parts of a request needed to follow a redirect.
struct Asked {
    method: Method,
    url: Option<Url>,
    headers: HeaderMap,
}

impl Asked {
    fn of(request: &HttpRequest) -> Self {
        Self { method: request.method().clone(), url: request.uri().to_string().parse().ok(), headers: request.headers().clone() }
    }

    /// The request for the redirect target. To the same scheme, host and port everything is forwarded; to another server no
    /// token, signature or cookie, and only the query in the redirect itself.
    fn sent_on(&self, answer: &HttpResponse) -> Option<HttpRequest> {
        let moved = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        if !moved || !(self.method == Method::GET || self.method == Method::HEAD) {
            return None;
        }
        let here = self.url.as_ref()?;
        let there = here.join(answer.headers().get(LOCATION)?.to_str().ok()?).ok()?;
        if !matches!(there.scheme(), "http" | "https") {
            return None;
        }
        let mut request = HttpRequest::new(Bytes::new().into());
        *request.method_mut() = self.method.clone();
        let same = here.scheme() == there.scheme()
            && here.host() == there.host()
            && here.port_or_known_default() == there.port_or_known_default();
        let kept = |name: &HeaderName| same || HARMLESS.contains(name);
        *request.headers_mut() =
            self.headers.iter().filter(|(name, _)| kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        // User name and password in the address would be sent as a header.
        let mut plain = there;
        let _ = plain.set_username("").and_then(|()| plain.set_password(None));
        plain.set_fragment(None);
        *request.uri_mut() = plain.as_str().parse().ok()?;
        Some(request)
    }
}

/// Refuses a partial response that the library cannot handle, or that is not the file's content.
fn check(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let text = |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
    let coded = text(CONTENT_ENCODING).is_some_and(|coding| !["", "identity", "aws-chunked"].contains(&coding.trim()));
    if coded {
        return Err(refused("the server compresses the file, so that ranges of it can't be read"));
    }
    if let Some(range) = text(CONTENT_RANGE) {
        let numbers: Vec<Option<u64>> = range
            .trim()
            .strip_prefix("bytes ")
            .map(|rest| rest.split(['-', '/']).map(|number| number.trim().parse().ok()).collect())
            .unwrap_or_default();
        let fits = matches!(numbers[..], [Some(first), Some(last), Some(size)] if first <= last && last < size);
        if !fits {
            return Err(refused("the server sent an invalid Content-Range"));
        }
    }
    Ok(response)
}

/// The response with a truncated body: the library reads it completely, and its length is not limited.
async fn shortened(response: HttpResponse, attempt: Option<&Attempt>) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    let mut stream = body.bytes_stream();
    let mut says = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        // The part received so far is enough for a message.
        let Ok(chunk) = chunk else { break };
        let room = SAYS_MAX - says.len();
        says.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if says.len() >= SAYS_MAX {
            break;
        }
    }
    if let Some((attempt, code)) = attempt.zip(code_in(&says)) {
        let _ = attempt.code.set(code);
    }
    Ok(HttpResponse::from_parts(parts, says.freeze().into()))
}

/// The error code in an XML body: `<Code>InvalidAccessKeyId</Code>`.
fn code_in(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    let plain = code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

/// Why a response is refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(&'static str);

fn refused(why: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, Refused(why))
}

/// Expanded form of an asynchronous function of an `async_trait`.
impl HttpService for Counting {
    fn call<'life0, 'async_trait>(
        &'life0 self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.send(request))
    }
}
