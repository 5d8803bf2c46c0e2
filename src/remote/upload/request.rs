//! One signed request to a store, with retries: of lost connections, silence, and statuses that say
//! that a later try may succeed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::HeaderMap;
use object_store::aws::AwsAuthorizer;
use object_store::azure::AzureAuthorizer;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};

use super::object::Object;
use crate::model::Address;
use crate::remote::bucket::Signer;
use crate::remote::credentials::root_cause;
use crate::remote::fetch::{RequestFault, sentence};
use crate::remote::meter::RequestLine;
use crate::remote::remote_access::remote_access;
use crate::remote::request_attempt::RequestAttempt;

/// Pauses before the second and later tries; longer than for reads, as the last failure loses the
/// whole upload.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(300),
    Duration::from_millis(1000),
    Duration::from_millis(3000),
    Duration::from_secs(8),
    Duration::from_secs(15),
];
/// Maximum pause that a server may request.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Bytes of a body for which the server gets the time without data once more: a response comes
/// after the whole body.
const PACE: u64 = 2 << 20;
/// Factor of the time without data for [`UnsignedRequest::with_long_wait`].
const LONG_WAIT_FACTOR: u32 = 30;
/// Maximum bytes read of a response, unless the request says another.
const ANSWER_MAX: usize = 1 << 20;
/// The version of Azure's protocol for requests without a signature; signed ones get it from the
/// signer.
const AZURE_VERSION: &str = "2023-11-03";

/// A request without its signature.
pub struct UnsignedRequest {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    /// SHA-256 of the body, where it is known: a signature over the body need not compute it.
    pub sha256: Option<[u8; 32]>,
    /// The store may work for minutes before it answers.
    pub is_long: bool,
    /// Maximum bytes read of the response.
    pub answer_max: usize,
}

impl UnsignedRequest {
    pub fn new(method: Method, url: String) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
            sha256: None,
            is_long: false,
            answer_max: ANSWER_MAX,
        }
    }

    /// Waits longer for the answer: joining many parts takes a store minutes.
    pub fn with_long_wait(self) -> Self {
        Self {
            is_long: true,
            ..self
        }
    }

    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With a header that makes the store refuse the request when the object exists.
    pub fn refuse_existing_unless(self, overwrite: bool) -> Self {
        if overwrite {
            self
        } else {
            self.with_header("if-none-match", "*")
        }
    }

    /// Reads a response of up to this many bytes.
    pub fn with_answer_up_to(self, answer_max: usize) -> Self {
        Self { answer_max, ..self }
    }

    /// With the SHA-256 of the body.
    pub fn with_body_sha256(self, sha256: Option<[u8; 32]>) -> Self {
        Self { sha256, ..self }
    }

    pub fn body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }
}

/// A response that the caller can use.
#[derive(Debug)]
pub struct UploadAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl UploadAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body, which is XML.
    pub fn xml(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The failure of the last try.
#[derive(Debug)]
pub struct Refusal {
    pub fault: RequestFault,
    pub tries: u32,
}

impl Refusal {
    pub fn other(reason: impl Into<String>) -> Self {
        Self {
            fault: RequestFault::Other(reason.into()),
            tries: 1,
        }
    }

    /// True when the store says that an object of this name exists, or that another writer of it
    /// was faster.
    pub fn means_other_writer(&self) -> bool {
        matches!(self.fault, RequestFault::Status(409 | 412, _))
    }

    /// True when the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.fault,
            RequestFault::Cut(_)
                | RequestFault::Timeout
                | RequestFault::Connect(_)
                | RequestFault::Status(408 | 425 | 429 | 500.., _)
        )
    }

    pub fn status(&self) -> Option<u16> {
        match self.fault {
            RequestFault::Status(status, _) => Some(status),
            _ => None,
        }
    }
}

/// Maximum number of tries for a failure.
fn tries(fault: &RequestFault) -> usize {
    match fault {
        RequestFault::Status(408 | 425 | 429 | 500 | 502 | 503 | 504, _) | RequestFault::Cut(_) => {
            PAUSES.len() + 1
        }
        RequestFault::Connect(_) => 4,
        RequestFault::Timeout => 3,
        _ => 1,
    }
}

impl Object {
    /// Sends a request until it succeeds or another try is no use. Statuses below 400 are answers.
    pub(super) async fn request(
        &self,
        unsigned: &UnsignedRequest,
    ) -> Result<UploadAnswer, Refusal> {
        let mut number = 1;
        loop {
            let outcome = self.try_once(unsigned, number).await;
            let (fault, wait) = match outcome {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if number as usize >= tries(&fault) {
                return Err(Refusal {
                    fault,
                    tries: number,
                });
            }
            tracing::debug!(
                "{}: {}; trying again",
                self.text,
                sentence(&self.address, &fault)
            );
            let pause = PAUSES
                .get(number as usize - 1)
                .copied()
                .unwrap_or(PAUSE_MAX);
            tokio::time::sleep(pause.max(wait).min(PAUSE_MAX)).await;
            number += 1;
        }
    }

    /// One try; a failure comes with the pause that the server requests.
    pub(super) async fn try_once(
        &self,
        unsigned: &UnsignedRequest,
        number: u32,
    ) -> Result<UploadAnswer, (RequestFault, Duration)> {
        let attempt = Arc::new(RequestAttempt::new(self.purpose.clone()));
        let begun = Instant::now();
        let idle_timeout = remote_access().limits.idle_timeout();
        let most = if unsigned.is_long {
            idle_timeout * LONG_WAIT_FACTOR
        } else {
            idle_timeout + idle_timeout.mul_f64(unsigned.body.len() as f64 / PACE as f64)
        };
        let outcome = match tokio::time::timeout(most, self.send(unsigned, &attempt)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(RequestFault::Timeout),
        };
        self.purpose.record_request_end(RequestLine {
            action: "".into(),
            address: self.text.clone(),
            range: None,
            status: attempt.status(),
            bytes: outcome
                .as_ref()
                .map_or(0, |answer| answer.body.len() as u64),
            elapsed_ms: begun.elapsed().as_secs_f64() * 1e3,
            attempt: number,
            // That an object does not exist is an answer.
            fault: outcome
                .as_ref()
                .err()
                .filter(|fault| !matches!(fault, RequestFault::Status(404, _)))
                .map(|f| sentence(&self.address, f)),
        });
        outcome.map_err(|fault| (fault, attempt.pause_asked()))
    }

    async fn send(
        &self,
        unsigned: &UnsignedRequest,
        attempt: &Arc<RequestAttempt>,
    ) -> Result<UploadAnswer, RequestFault> {
        let wrong = |_| RequestFault::Other("the request can't be written".into());
        let mut request = HttpRequest::new(unsigned.body.clone().into());
        *request.method_mut() = unsigned.method.clone();
        *request.uri_mut() = unsigned
            .url
            .parse()
            .map_err(|_| RequestFault::Other("the address can't be written as a URL".into()))?;
        let headers = request.headers_mut();
        headers.insert("content-length", HeaderValue::from(unsigned.body.len()));
        for (name, value) in &unsigned.headers {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).map_err(wrong)?,
            );
        }
        self.sign(&mut request, unsigned.sha256.as_ref()).await?;
        request.extensions_mut().insert(attempt.clone());
        let response = self
            .bucket
            .client
            .execute(request)
            .await
            .map_err(|error| fault_of(&error))?;
        let status = response.status().as_u16();
        if status >= 400 {
            return Err(RequestFault::Status(status, attempt.code()));
        }
        let (parts, body) = response.into_parts();
        let (mut stream, mut bytes) = (body.bytes_stream(), BytesMut::new());
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(|error| fault_of(&error))?);
            if bytes.len() > unsigned.answer_max {
                return Err(RequestFault::Other("the answer is too long".into()));
            }
        }
        Ok(UploadAnswer {
            status,
            headers: parts.headers,
            body: bytes.freeze(),
        })
    }

    /// True when a signature covers the body, which takes its SHA-256: without encryption. With it
    /// the transport protects the body, and a checksum is sent with it.
    pub(super) fn signs_body(&self) -> bool {
        matches!(self.bucket.signer, Signer::S3 { signs: true, .. })
            && Address::parse(&self.bucket.url)
                .is_some_and(|address| address.origin().starts_with("http://"))
    }

    /// Adds the signature or token. Credentials are asked for each time, as those of a session are
    /// renewed.
    async fn sign(
        &self,
        request: &mut HttpRequest,
        sha256: Option<&[u8; 32]>,
    ) -> Result<(), RequestFault> {
        let failed = |error: object_store::Error| {
            RequestFault::Other(format!("no credentials: {}", root_cause(&error)))
        };
        match &self.bucket.signer {
            Signer::S3 {
                store,
                region,
                signs: true,
            } => {
                let credential = store.credentials().get_credential().await.map_err(failed)?;
                let digest = sha256.map(|digest| digest.as_slice());
                AwsAuthorizer::new(&credential, "s3", region)
                    .with_sign_payload(self.signs_body())
                    .authorize(request, digest);
            }
            Signer::Google { store, signs: true } => {
                let credential = store.credentials().get_credential().await.map_err(failed)?;
                let text = HeaderValue::from_str(&format!("Bearer {}", credential.bearer));
                let mut value =
                    text.map_err(|_| RequestFault::Other("the token can't be sent".into()))?;
                value.set_sensitive(true);
                request.headers_mut().insert("authorization", value);
            }
            Signer::Azure {
                store,
                account,
                signs: true,
            } => {
                let credential = store.credentials().get_credential().await.map_err(failed)?;
                AzureAuthorizer::new(&credential, account).authorize(request);
            }
            Signer::Azure { .. } => {
                request
                    .headers_mut()
                    .insert("x-ms-version", HeaderValue::from_static(AZURE_VERSION));
            }
            Signer::S3 { .. } | Signer::Google { .. } => {}
        }
        Ok(())
    }
}

fn fault_of(error: &HttpError) -> RequestFault {
    let reason = root_cause(error);
    match error.kind() {
        HttpErrorKind::Timeout => RequestFault::Timeout,
        HttpErrorKind::Connect => RequestFault::Connect(reason),
        HttpErrorKind::Decode => RequestFault::Other(reason),
        // Interrupted, or a failure that the client does not classify.
        _ => RequestFault::Cut(format!(
            "the connection ended while data was sent: {reason}"
        )),
    }
}
