//! Answers to range requests, brought into the one form that `object_store` reads: status 206 with
//! a complete Content-Range and a Content-Length. Servers also send the whole file with status 200,
//! leave out its size, send chunks, or compress the range.

use std::io::Read;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::client::{HttpError, HttpErrorKind, HttpResponse};
use reqwest::StatusCode;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue,
};

use super::request_attempt::{AnswerFault, RangeRequest, RequestAttempt};

/// Maximum bytes read of a whole file whose size the server does not state.
const UNSTATED_MAX: u64 = 1 << 20;
/// Memory in bytes that is allocated before any data arrives.
const ROOM: u64 = 1 << 20;
/// Why compressed answers are refused.
const COMPRESSED: &str = "the server compresses the file, so that ranges of it can't be read";

/// Why a response is refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct RefusedAnswer(&'static str);

/// The error of a refused response.
pub(super) fn refuse(why: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, RefusedAnswer(why))
}

/// The answer in the library's form. Answers that can't be brought into it are returned as they
/// are, and `attempt` gets the reason.
///
/// # Errors
/// When the answer contradicts the request or itself.
pub(super) async fn normalize_answer(
    response: HttpResponse,
    attempt: &RequestAttempt,
) -> Result<HttpResponse, HttpError> {
    let Some(request) = attempt.range() else {
        return Ok(response);
    };
    match response.status() {
        StatusCode::PARTIAL_CONTENT => normalize_partial(response, request, attempt).await,
        StatusCode::OK => normalize_whole(response, request, attempt).await,
        _ => Ok(response),
    }
}

async fn normalize_partial(
    response: HttpResponse,
    request: &RangeRequest,
    attempt: &RequestAttempt,
) -> Result<HttpResponse, HttpError> {
    if is_html(&response) {
        attempt.note_html();
    }
    let Some(range) = text_of(&response, CONTENT_RANGE) else {
        attempt.note_fault(AnswerFault::RangeUnstated);
        return Err(refuse("the server does not state which bytes it sent"));
    };
    let Some((first, last, size)) = parse_content_range(range) else {
        return Err(refuse("the server sent an invalid Content-Range"));
    };
    let Some(size) = size.or_else(|| request.size_behind(last)) else {
        attempt.note_fault(AnswerFault::SizeUnstated);
        return Err(refuse("the server does not state the size of the file"));
    };
    let length = (last - first).saturating_add(1);
    if last >= size || length > request.most() {
        return Err(refuse("the server sent an invalid Content-Range"));
    }
    let Some(coding) = coding_of(&response) else {
        return Ok(with_range(response, first, length, size));
    };
    if coding != "gzip" {
        return Err(refuse(COMPRESSED));
    }
    let (mut response, packed) = collect_body(response, packed_max(length), attempt).await?;
    // A range of the compressed file instead of a compressed range of the file does not unpack to
    // its length.
    let bytes = packed
        .and_then(|packed| decompress_gzip(&packed, length))
        .filter(|bytes| bytes.len() as u64 == length);
    *response.body_mut() = bytes.ok_or_else(|| refuse(COMPRESSED))?.into();
    Ok(with_range(response, first, length, size))
}

async fn normalize_whole(
    response: HttpResponse,
    request: &RangeRequest,
    attempt: &RequestAttempt,
) -> Result<HttpResponse, HttpError> {
    if is_html(&response) && !request.is_page {
        attempt.note_fault(AnswerFault::WebPage);
        return Ok(response);
    }
    let coding = coding_of(&response);
    let stated =
        text_of(&response, CONTENT_LENGTH).and_then(|length| length.trim().parse::<u64>().ok());
    if coding.is_none()
        && let Some(size) = stated
    {
        attempt.state_size(size);
        return Ok(if request.covers(size) {
            with_range(response, 0, size, size)
        } else {
            response
        });
    }
    let most = request.most().min(UNSTATED_MAX);
    let (mut response, bytes) = match coding.as_deref() {
        None => collect_body(response, most, attempt).await?,
        Some("gzip") => {
            let (response, packed) = collect_body(response, packed_max(most), attempt).await?;
            let bytes = packed
                .and_then(|packed| decompress_gzip(&packed, most))
                .ok_or_else(|| refuse(COMPRESSED))?;
            (response, Some(bytes.into()))
        }
        Some(_) => return Err(refuse(COMPRESSED)),
    };
    let Some(bytes) = bytes else {
        return Ok(response);
    };
    let size = bytes.len() as u64;
    attempt.state_size(size);
    *response.body_mut() = bytes.into();
    Ok(if request.covers(size) {
        with_range(response, 0, size, size)
    } else {
        response
    })
}

/// The response as an answer with the `length` bytes at `first`.
fn with_range(mut response: HttpResponse, first: u64, length: u64, size: u64) -> HttpResponse {
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    let range = format!(
        "bytes {first}-{}/{size}",
        first.saturating_add(length).saturating_sub(1)
    );
    let headers = response.headers_mut();
    headers.remove(CONTENT_ENCODING);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    if let Ok(range) = HeaderValue::from_str(&range) {
        headers.insert(CONTENT_RANGE, range);
    }
    response
}

fn text_of(response: &HttpResponse, name: HeaderName) -> Option<&str> {
    response
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok())
}

/// The coding of a body that has to be unpacked, in small letters.
fn coding_of(response: &HttpResponse) -> Option<String> {
    let coding = text_of(response, CONTENT_ENCODING)?
        .trim()
        .to_ascii_lowercase();
    let coding = if coding == "x-gzip" {
        "gzip".to_owned()
    } else {
        coding
    };
    (!["", "identity", "aws-chunked"].contains(&coding.as_str())).then_some(coding)
}

fn is_html(response: &HttpResponse) -> bool {
    let kind = text_of(response, CONTENT_TYPE)
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .trim();
    kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml")
}

/// First and last byte of `bytes a-b/size`, and the size unless it is `*`.
fn parse_content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, size) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let size = if size.trim() == "*" {
        None
    } else {
        Some(size.trim().parse::<u64>().ok()?)
    };
    (first <= last && size.is_none_or(|size| last < size)).then_some((first, last, size))
}

/// The size in the `Content-Range: bytes */size` of a refused range.
pub(super) fn size_of_refused_range(response: &HttpResponse) -> Option<u64> {
    text_of(response, CONTENT_RANGE)?
        .trim()
        .strip_prefix("bytes")?
        .trim()
        .strip_prefix("*/")?
        .trim()
        .parse()
        .ok()
}

/// Maximum bytes of `length` bytes in gzip: what can't be compressed grows a little.
fn packed_max(length: u64) -> u64 {
    length.saturating_add(length / 64).saturating_add(1024)
}

/// The response without its body, and the body; `None` when it is longer than `most` bytes.
async fn collect_body(
    response: HttpResponse,
    most: u64,
    attempt: &RequestAttempt,
) -> Result<(HttpResponse, Option<Bytes>), HttpError> {
    let (parts, body) = response.into_parts();
    let response = HttpResponse::from_parts(parts, Bytes::new().into());
    let mut stream = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.inspect_err(|_| attempt.note_fault(AnswerFault::BodyCut))?;
        if bytes.len() as u64 + chunk.len() as u64 > most {
            return Ok((response, None));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((response, Some(bytes.freeze())))
}

/// Unpacks gzip; `None` when it is damaged, or longer than `most` bytes.
fn decompress_gzip(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most.min(ROOM) as usize);
    let decoder = flate2::read::MultiGzDecoder::new(packed);
    decoder
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}
