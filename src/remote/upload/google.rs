//! Google Cloud Storage: resumable uploads, which receive the bytes in order and report the
//! received length.

use bytes::Bytes;
use reqwest::Method;

use super::object::{Object, StoredObject, UploadId, percent_encode};
use super::request::{Refusal, UnsignedRequest, UploadAnswer};
use crate::remote::fetch::RequestFault;

/// Chunks have to be a multiple of this many bytes, except the last one.
pub(super) const CHUNK_UNIT: u64 = 256 << 10;
/// Maximum number of times that a chunk is resumed without the store having received more of it.
const RESUMED: u32 = 6;

/// The address of the object in the JSON interface.
fn resource(object: &Object) -> String {
    format!(
        "{}/storage/v1/b/{}/o/{}",
        object.bucket.url,
        object.bucket.name,
        percent_encode(&object.address.path, b"")
    )
}

/// The address that takes uploads.
fn uploads(object: &Object, kind: &str, overwrite: bool) -> String {
    let name = percent_encode(&object.address.path, b"");
    let only_new = if overwrite {
        ""
    } else {
        "&ifGenerationMatch=0"
    };
    format!(
        "{}/upload/storage/v1/b/{}/o?uploadType={kind}&name={name}{only_new}",
        object.bucket.url, object.bucket.name
    )
}

/// Size and MD5 in an object's resource.
fn stored_in(answer: &UploadAnswer) -> Option<StoredObject> {
    let resource: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    let size_bytes = match resource.get("size")? {
        serde_json::Value::String(text) => text.parse().ok()?,
        number => number.as_u64()?,
    };
    Some(StoredObject {
        size_bytes,
        checksum: resource
            .get("md5Hash")
            .and_then(|text| text.as_str())
            .map(str::to_owned),
        sha256: None,
    })
}

pub(super) async fn fetch_stored_object(object: &Object) -> Result<Option<StoredObject>, Refusal> {
    match object
        .request(&UnsignedRequest::new(Method::GET, resource(object)))
        .await
    {
        Ok(answer) => match stored_in(&answer) {
            Some(stored) => Ok(Some(stored)),
            None => Err(Refusal::other(
                "the store's description of the object can't be read",
            )),
        },
        Err(refusal) if refusal.status() == Some(404) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn put_object(
    object: &Object,
    bytes: &Bytes,
    overwrite: bool,
) -> Result<(), Refusal> {
    let request = UnsignedRequest::new(Method::POST, uploads(object, "media", overwrite))
        .with_header("content-type", "application/octet-stream");
    object.request(&request.body(bytes.clone())).await.map(drop)
}

/// Begins an upload; its id is the address that takes the bytes.
pub(super) async fn begin_upload(object: &Object, overwrite: bool) -> Result<UploadId, Refusal> {
    let request = UnsignedRequest::new(Method::POST, uploads(object, "resumable", overwrite))
        .with_header("content-type", "application/json")
        .with_header("x-upload-content-type", "application/octet-stream")
        .body(Bytes::from_static(b"{}"));
    let answer = object.request(&request).await?;
    match answer.header("location") {
        Some(address) => Ok(UploadId::plain(address)),
        None => Err(Refusal::other(
            "the store began no upload, although it answered",
        )),
    }
}

/// Number of bytes that the store has, from a response 308.
fn received_bytes(answer: &UploadAnswer) -> u64 {
    let last = answer
        .header("range")
        .and_then(|range| range.trim().rsplit_once('-')?.1.parse::<u64>().ok());
    last.map_or(0, |last| last + 1)
}

/// Number of bytes that the store has of an upload; `None` when it does not exist any more, or is
/// complete.
pub(super) async fn received_of(
    object: &Object,
    upload: &UploadId,
) -> Result<Option<u64>, Refusal> {
    // The token is sent with it, so the address has to be one of this store.
    if !upload.id.starts_with(&format!("{}/", object.bucket.url)) {
        return Ok(None);
    }
    let request = UnsignedRequest::new(Method::PUT, upload.id.to_string())
        .with_header("content-range", "bytes */*");
    match object.request(&request).await {
        Ok(answer) => Ok((answer.status == 308).then(|| received_bytes(&answer))),
        Err(refusal) if matches!(refusal.status(), Some(404 | 410 | 499)) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// Sends the bytes at `start`, of which the store has those before `sent`; with the last ones,
/// `total` is the size of the object, which makes it visible. After a break the store says how many
/// bytes it has, and the rest is sent.
pub(super) async fn chunk(
    object: &Object,
    upload: &UploadId,
    (start, sent): (u64, u64),
    bytes: &Bytes,
    total: Option<u64>,
) -> Result<(), Refusal> {
    let end = start + bytes.len() as u64;
    let of = total.map_or_else(|| "*".to_owned(), |total| total.to_string());
    let (mut at, mut fruitless) = (sent.clamp(start, end), 0);
    loop {
        let rest = bytes.slice((at - start) as usize..);
        let range = if rest.is_empty() {
            format!("bytes */{of}")
        } else {
            format!("bytes {at}-{}/{of}", end - 1)
        };
        let request = UnsignedRequest::new(Method::PUT, upload.id.to_string())
            .with_header("content-range", range)
            .body(rest);
        let outcome = object.try_once(&request, fruitless + 1).await;
        let has = match outcome {
            Ok(answer) if answer.status == 308 => received_bytes(&answer),
            Ok(_) => return Ok(()),
            Err((
                fault @ (RequestFault::Cut(_)
                | RequestFault::Timeout
                | RequestFault::Connect(_)
                | RequestFault::Status(408 | 429 | 500.., _)),
                pause,
            )) => {
                if fruitless >= RESUMED {
                    return Err(Refusal {
                        fault,
                        tries: fruitless,
                    });
                }
                tokio::time::sleep(
                    pause.max(std::time::Duration::from_millis(300 << fruitless.min(5))),
                )
                .await;
                let status = UnsignedRequest::new(Method::PUT, upload.id.to_string())
                    .with_header("content-range", format!("bytes */{of}"));
                // A store that forgot the upload may have completed it with the last bytes.
                let asked = object.request(&status).await;
                let answer = asked.map_err(|refusal| Refusal {
                    tries: refusal.tries + 1,
                    ..refusal
                })?;
                if answer.status != 308 {
                    return Ok(());
                }
                received_bytes(&answer)
            }
            Err((fault, _)) => {
                return Err(Refusal {
                    fault,
                    tries: fruitless + 1,
                });
            }
        };
        if has == end && total.is_none() {
            return Ok(());
        }
        if has < start || has > end {
            return Err(Refusal::other(format!(
                "the store has {has} bytes of the upload, and requests bytes that were sent before"
            )));
        }
        if has > at {
            fruitless = 0
        } else {
            fruitless += 1
        }
        if fruitless > RESUMED {
            return Err(Refusal::other(
                "the store takes no more bytes of the upload",
            ));
        }
        at = has;
    }
}

/// Cancels the upload; the store answers 499.
pub(super) async fn abort(object: &Object, upload: &UploadId) -> Result<(), Refusal> {
    match object
        .request(&UnsignedRequest::new(Method::DELETE, upload.id.to_string()))
        .await
    {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.status() == Some(499) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

/// Names of the objects below `prefix`, without it, sorted.
pub(super) async fn list(object: &Object, prefix: &str) -> Result<Vec<String>, Refusal> {
    let (mut names, mut page) = (Vec::new(), String::new());
    loop {
        let Object { bucket, .. } = object;
        let asked = format!(
            "{}/storage/v1/b/{}/o?prefix={}",
            bucket.url,
            bucket.name,
            percent_encode(prefix, b"")
        );
        let url = if page.is_empty() {
            asked
        } else {
            format!("{asked}&pageToken={}", percent_encode(&page, b""))
        };
        let answer = object
            .request(&UnsignedRequest::new(Method::GET, url))
            .await?;
        let listed: serde_json::Value = serde_json::from_slice(&answer.body)
            .map_err(|_| Refusal::other("the store's list of objects can't be read"))?;
        let items = listed
            .get("items")
            .and_then(|items| items.as_array())
            .into_iter()
            .flatten();
        let found = items.filter_map(|item| item.get("name")?.as_str()?.strip_prefix(prefix));
        names.extend(found.filter(|name| !name.is_empty()).map(str::to_owned));
        match listed.get("nextPageToken").and_then(|token| token.as_str()) {
            Some(next) if next != page => page = next.to_owned(),
            _ => break,
        }
    }
    names.sort();
    Ok(names)
}

pub(super) async fn delete_object(object: &Object) -> Result<(), Refusal> {
    object
        .request(&UnsignedRequest::new(Method::DELETE, resource(object)))
        .await
        .map(drop)
}
