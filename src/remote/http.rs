//! HTTP client for `object_store`: counts requests, records the status for error messages, follows
//! redirects without forwarding credentials and not into private networks, and limits the size of
//! responses.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use futures::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, HeaderMap};
use reqwest::header::{ACCEPT, HeaderName, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};

use super::purpose::Purpose;
use super::range_answer::{normalize_answer, refuse, size_of_refused_range};
use super::reach::{Hosts, Reach};
use super::remote_access::remote_access;
use super::request_attempt::RequestAttempt;

/// Maximum number of redirects.
const HOPS: usize = 10;
/// Maximum bytes read of a response other than a part of a file: an error message or a token.
const SAYS_MAX: usize = 1 << 20;
/// Headers that are forwarded to another server: they describe the request, and contain no
/// credentials.
const HARMLESS: [HeaderName; 2] = [ACCEPT, RANGE];

/// Creates counting clients. They send `headers` with every request to the original server, and
/// never a `Referer`, which would reveal the key of a signed link after a redirect.
#[derive(Default)]
pub struct Connector {
    pub headers: HeaderMap,
    /// Bypass the proxies of the environment: unencrypted requests to this machine must not leave
    /// it.
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
        let client = if self.direct {
            client.no_proxy()
        } else {
            client
        };
        let hosts = Hosts::default();
        let client = client
            .referer(false)
            .dns_resolver(Arc::new(hosts.clone()))
            // Redirects are followed below, where forwarded headers are selected.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("taco-studio/", env!("CARGO_PKG_VERSION")))
            // Retries are done in `fetch`, where they are counted and can be cancelled; so are
            // timeouts, which must not end a slow but steady transfer.
            .connect_timeout(
                remote_access()
                    .limits
                    .idle_timeout()
                    .min(Duration::from_secs(10)),
            )
            .http1_only()
            // Ranges and lengths refer to the file, not to a compressed body.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()
            .map_err(|error| object_store::Error::Generic {
                store: "http",
                source: Box::new(error),
            })?;
        Ok(HttpClient::new(Counting {
            inner: HttpClient::new(client),
            headers: self.headers.clone(),
            hosts,
        }))
    }
}

struct Counting {
    inner: HttpClient,
    headers: HeaderMap,
    hosts: Hosts,
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counting")
    }
}

impl Counting {
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let attempt = request.extensions().get::<Arc<RequestAttempt>>().cloned();
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let (mut response, mut hops) = (None, 0);
        let mut next = Some(request);
        while let Some(request) = next.take() {
            match &attempt {
                Some(attempt) => attempt.purpose.count_request(),
                // Requests of the library itself, for tokens.
                None => Purpose::of_thread().count_request(),
            }
            let asked = Asked::from_request(&request);
            let answer = self.inner.execute(request).await?;
            if let Some(on) = asked.sent_on(&answer) {
                if hops >= HOPS {
                    attempt
                        .iter()
                        .for_each(|attempt| attempt.sent_on.store(true, Ordering::Relaxed));
                } else if let Some(host) = self.inner_host(&asked, &on).await {
                    tracing::debug!("a redirect to {host} is not followed");
                    attempt
                        .iter()
                        .for_each(|attempt| drop(attempt.sent_inside.set(host.clone())));
                } else {
                    next = Some(on);
                }
                hops += 1;
            }
            response = Some(answer);
        }
        let response = response.ok_or_else(|| refuse("nothing was sent"))?;
        if let Some(attempt) = &attempt {
            attempt
                .status
                .store(response.status().as_u16(), Ordering::Relaxed);
            let wait = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| retry_after(value.to_str().ok()?, Utc::now()));
            attempt
                .retry_after_s
                .store(wait.unwrap_or_default(), Ordering::Relaxed);
            if response.status() == StatusCode::RANGE_NOT_SATISFIABLE
                && let Some(size) = size_of_refused_range(&response)
            {
                attempt.state_size(size);
            }
            // A part of a file is read by the caller, which has its maximum length.
            if response.status().is_success() {
                return normalize_answer(response, attempt).await;
            }
        }
        truncate_response(response, attempt.as_deref()).await
    }
}

impl Counting {
    /// The host that a redirect leads to, when the server that redirects may not lead there.
    async fn inner_host(&self, asked: &Asked, on: &HttpRequest) -> Option<String> {
        let (here, there) = (
            asked.url.as_ref()?,
            on.uri().to_string().parse::<Url>().ok()?,
        );
        if here.host_str() == there.host_str() {
            return None;
        }
        let target = self.hosts.reach_of(&there).await;
        let may_follow =
            target == Reach::Public || self.hosts.reach_of(here).await.may_redirect_to(target);
        (!may_follow).then(|| there.host_str().unwrap_or_default().to_owned())
    }
}

/// Seconds to wait by a `Retry-After` header: a number of seconds, or a date.
fn retry_after(value: &str, now: DateTime<Utc>) -> Option<u64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(seconds);
    }
    let wait = DateTime::parse_from_rfc2822(value)
        .ok()?
        .with_timezone(&Utc)
        - now;
    // A part of a second counts as a whole one.
    u64::try_from(wait.num_milliseconds())
        .ok()
        .map(|wait_ms| wait_ms.div_ceil(1000))
}

/// The parts of a request needed to follow a redirect.
struct Asked {
    method: Method,
    url: Option<Url>,
    headers: HeaderMap,
}

impl Asked {
    fn from_request(request: &HttpRequest) -> Self {
        Self {
            method: request.method().clone(),
            url: request.uri().to_string().parse().ok(),
            headers: request.headers().clone(),
        }
    }

    /// The request for the redirect target. To the same scheme, host and port everything is
    /// forwarded; to another server no token, signature or cookie, and only the query in the
    /// redirect itself.
    fn sent_on(&self, answer: &HttpResponse) -> Option<HttpRequest> {
        let moved = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        if !moved || !(self.method == Method::GET || self.method == Method::HEAD) {
            return None;
        }
        let here = self.url.as_ref()?;
        let there = here
            .join(answer.headers().get(LOCATION)?.to_str().ok()?)
            .ok()?;
        if !matches!(there.scheme(), "http" | "https") {
            return None;
        }
        let mut request = HttpRequest::new(Bytes::new().into());
        *request.method_mut() = self.method.clone();
        let same = here.scheme() == there.scheme()
            && here.host() == there.host()
            && here.port_or_known_default() == there.port_or_known_default();
        let kept = |name: &HeaderName| same || HARMLESS.contains(name);
        *request.headers_mut() = self
            .headers
            .iter()
            .filter(|(name, _)| kept(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // User name and password in the address would be sent as a header.
        let mut plain = there;
        let _ = plain
            .set_username("")
            .and_then(|()| plain.set_password(None));
        plain.set_fragment(None);
        *request.uri_mut() = plain.as_str().parse().ok()?;
        Some(request)
    }
}

/// The response with a truncated body: the library reads it completely, and its length is not
/// limited.
async fn truncate_response(
    response: HttpResponse,
    attempt: Option<&RequestAttempt>,
) -> Result<HttpResponse, HttpError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_state_a_pause_in_seconds_or_as_a_date() {
        let now = DateTime::parse_from_rfc2822("Wed, 25 Nov 2026 07:00:00 GMT")
            .expect("a date")
            .with_timezone(&Utc);
        assert_eq!(retry_after(" 7 ", now), Some(7));
        assert_eq!(retry_after("Wed, 25 Nov 2026 07:00:03 GMT", now), Some(3));
        assert_eq!(retry_after("Wed, 25 Nov 2026 06:59:00 GMT", now), None);
        assert_eq!(retry_after("soon", now), None);
    }
}
