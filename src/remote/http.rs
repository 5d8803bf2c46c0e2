//! The client under `object_store`: counts what is really sent, and keeps the server's status for the message of an error.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector};

use super::meter::Purpose;

/// What is known of one request, shared between who waits for it and who sends it.
pub struct Attempt {
    pub purpose: Purpose,
    status: AtomicU16,
    retry_after_s: AtomicU64,
}

impl Attempt {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, status: AtomicU16::new(0), retry_after_s: AtomicU64::new(0) }
    }

    /// The server's answer, when there was one.
    pub fn status(&self) -> Option<u16> {
        Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    /// How long the server asks to wait before the next try.
    pub fn retry_after_s(&self) -> u64 {
        self.retry_after_s.load(Ordering::Relaxed)
    }
}

/// Makes clients that count.
#[derive(Debug)]
pub struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Counting { inner }))
    }
}

#[derive(Debug)]
struct Counting {
    inner: HttpClient,
}

impl Counting {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let attempt = request.extensions().get::<Arc<Attempt>>().cloned();
        match &attempt {
            Some(attempt) => attempt.purpose.sent(),
            // What the libraries ask for on their own: tokens.
            None => Purpose::of_thread().sent(),
        }
        let response = self.inner.execute(request).await?;
        if let Some(attempt) = attempt {
            attempt.status.store(response.status().as_u16(), Ordering::Relaxed);
            let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
            attempt.retry_after_s.store(wait.unwrap_or_default(), Ordering::Relaxed);
        }
        Ok(response)
    }
}

/// The trait is written with `async_trait`; this is what it makes of an asynchronous function.
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
