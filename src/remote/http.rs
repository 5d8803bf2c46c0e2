//! The client under `object_store`: counts what is really sent, and keeps the server's status for the message of an error.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, HeaderMap};

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

/// Makes clients that count. They send `headers` with every request, and never name the page that they come from: where a server
/// sends us on to another, the key of a signed link would go there with the address.
#[derive(Debug, Default)]
pub struct Connector {
    pub headers: HeaderMap,
}

impl HttpConnector for Connector {
    /// What the options say is not taken: they do not tell, and cannot switch that off.
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder()
            .referer(false)
            .user_agent(concat!("taco-studio/", env!("CARGO_PKG_VERSION")))
            .default_headers(self.headers.clone())
            // Repeating is done by us, where it is counted and can be cancelled; and so are time-outs, of which a slow but steady
            // transfer knows none.
            .connect_timeout(super::limits::patience().min(Duration::from_secs(10)))
            .http1_only()
            // Ranges and lengths are those of the file.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()
            .map_err(|error| object_store::Error::Generic { store: "http", source: Box::new(error) })?;
        Ok(HttpClient::new(Counting { inner: HttpClient::new(client) }))
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
