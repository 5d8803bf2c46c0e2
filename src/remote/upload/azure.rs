//! Azure Blob Storage: block blobs (up to 50,000 blocks), made visible by a list of their blocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use reqwest::Method;

use super::object::{Checksum, Object, PartTag, Stored, UploadId, encoded};
use super::request::{Ask, Refusal};
use crate::remote::fetch::Fault;

fn url_of(object: &Object) -> String {
    format!("{}/{}", object.bucket.url, object.key)
}

pub(super) async fn stored(object: &Object) -> Result<Option<Stored>, Refusal> {
    match object.request(&Ask::new(Method::HEAD, url_of(object))).await {
        Ok(answer) => {
            let size_bytes = answer.header("content-length").and_then(|text| text.parse().ok()).unwrap_or_default();
            Ok(Some(Stored { size_bytes, checksum: answer.header("content-md5").map(str::to_owned) }))
        }
        Err(refusal) if refusal.status() == Some(404) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn put(object: &Object, bytes: &Bytes, checksum: &Checksum, overwrite: bool) -> Result<(), Refusal> {
    let ask = Ask::new(Method::PUT, url_of(object))
        .with("x-ms-blob-type", "BlockBlob")
        .with("content-md5", BASE64_STANDARD.encode(checksum))
        .unless_there(overwrite);
    object.request(&ask.body(bytes.clone())).await.map(drop)
}

/// Names an upload. Uncommitted blocks belong to the blob, whoever sent them: the name keeps those of two writers apart.
pub(super) fn begin() -> UploadId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    UploadId(format!("{now:016x}{:08x}{number:08x}", std::process::id()).into())
}

/// Sends block `number`, from 1. A block of the same id replaces an earlier one, so a retry duplicates nothing.
pub(super) async fn part(
    object: &Object,
    upload: &UploadId,
    number: usize,
    bytes: &Bytes,
    checksum: &Checksum,
) -> Result<PartTag, Refusal> {
    let id = BASE64_STANDARD.encode(format!("{}{number:08}", upload.0));
    let url = format!("{}?comp=block&blockid={}", url_of(object), encoded(&id, b""));
    let ask = Ask::new(Method::PUT, url).with("content-md5", BASE64_STANDARD.encode(checksum)).body(bytes.clone());
    object.request(&ask).await?;
    Ok(PartTag { tag: id, checksum: *checksum })
}

/// Makes the blob visible, with the MD5 of all its bytes as a property.
pub(super) async fn complete(object: &Object, parts: &[PartTag], whole: &Checksum, overwrite: bool) -> Result<(), Refusal> {
    let mut list = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    parts.iter().for_each(|part| list.push_str(&format!("<Latest>{}</Latest>", part.tag)));
    list.push_str("</BlockList>");
    let ask = Ask::new(Method::PUT, format!("{}?comp=blocklist", url_of(object)))
        .with("content-type", "application/xml")
        .with("x-ms-blob-content-type", "application/octet-stream")
        .with("x-ms-blob-content-md5", BASE64_STANDARD.encode(whole))
        .unless_there(overwrite);
    match object.request(&ask.body(list.into()).long()).await {
        Ok(_) => Ok(()),
        // The list of another writer dropped our blocks.
        Err(Refusal { fault: Fault::Status(400, code), tries }) if code.as_deref() == Some("InvalidBlockList") => {
            Err(Refusal { fault: Fault::Status(409, code), tries })
        }
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn delete(object: &Object) -> Result<(), Refusal> {
    object.request(&Ask::new(Method::DELETE, url_of(object))).await.map(drop)
}
