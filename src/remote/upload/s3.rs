//! S3: multipart uploads (parts from 5 MiB, up to 10,000), and its ETags. Used for compatible
//! stores too.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use md5::{Digest, Md5};
use object_store::HeaderMap;
use reqwest::Method;
use sha2::{Digest as _, Sha256};

use super::object::{Checksum, FoundPart, Object, PartTag, StoredObject, UploadId, percent_encode};
use super::part_sums::PartSums;
use super::request::{Refusal, UnsignedRequest};
use super::xml::{element, elements, plain};
use crate::remote::fetch::RequestFault;

/// Header with the SHA-256 of a part, or of the parts of an object.
const SHA256: &str = "x-amz-checksum-sha256";

fn url_of(object: &Object) -> String {
    format!("{}/{}", object.bucket.url, object.key)
}

/// An ETag without quotes, where it is an MD5: those of objects that are encrypted with a key of
/// the owner are not.
fn checksum_of(tag: &str, headers: &HeaderMap) -> Option<String> {
    let encrypted = headers
        .get("x-amz-server-side-encryption")
        .is_some_and(|value| value != "AES256");
    let own_key = headers.contains_key("x-amz-server-side-encryption-customer-algorithm");
    let tag = tag
        .trim()
        .trim_start_matches("W/")
        .trim_matches('"')
        .to_ascii_lowercase();
    let digest = tag.split('-').next().unwrap_or_default();
    let is_md5 = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_md5 && !encrypted && !own_key).then_some(tag)
}

/// The MD5 that an ETag is.
fn md5_in(tag: &str, headers: &HeaderMap) -> Option<Checksum> {
    let mut md5 = Checksum::default();
    hex::decode_to_slice(checksum_of(tag, headers)?, &mut md5).ok()?;
    Some(md5)
}

/// The ETag of an object of these parts; `None` where the MD5 of one is not known.
pub(super) fn whole_tag(parts: &[PartTag]) -> Option<String> {
    let mut all = Md5::new();
    for part in parts {
        all.update(part.md5?);
    }
    Some(format!("{}-{}", hex::encode(all.finalize()), parts.len()))
}

/// The composite SHA-256 of an object of these parts, without their number; `None` where the store
/// did not compare that of each.
pub(super) fn whole_sha256(parts: &[PartTag]) -> Option<String> {
    let mut all = Sha256::new();
    for part in parts {
        all.update(part.sha256?);
    }
    Some(BASE64_STANDARD.encode(all.finalize()))
}

/// What the store has; with `composite`, with the SHA-256 of an object in parts, for which some
/// stores request a permission of its own.
pub(super) async fn fetch_stored_object(
    object: &Object,
    composite: bool,
) -> Result<Option<StoredObject>, Refusal> {
    let request = UnsignedRequest::new(Method::HEAD, url_of(object));
    let request = if composite {
        request.with_header("x-amz-checksum-mode", "ENABLED")
    } else {
        request
    };
    match object.request(&request).await {
        Ok(answer) => {
            let size_bytes = answer
                .header("content-length")
                .and_then(|text| text.parse().ok())
                .unwrap_or_default();
            let checksum = answer
                .header("etag")
                .and_then(|tag| checksum_of(tag, &answer.headers));
            // AWS adds the number of parts.
            let sha256 = answer
                .header(SHA256)
                .map(|text| text.split('-').next().unwrap_or_default().to_owned());
            Ok(Some(StoredObject {
                size_bytes,
                checksum,
                sha256: sha256.filter(|_| composite),
            }))
        }
        Err(refusal) if refusal.status() == Some(404) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn put_object(
    object: &Object,
    bytes: &Bytes,
    checksum: &Checksum,
    overwrite: bool,
) -> Result<(), Refusal> {
    let request = UnsignedRequest::new(Method::PUT, url_of(object))
        .with_header("content-md5", BASE64_STANDARD.encode(checksum));
    object
        .request(
            &request
                .refuse_existing_unless(overwrite)
                .body(bytes.clone()),
        )
        .await
        .map(drop)
}

/// Begins an upload whose parts the store compares by SHA-256, if it can.
pub(super) async fn begin_upload(object: &Object) -> Result<UploadId, Refusal> {
    let request = || UnsignedRequest::new(Method::POST, format!("{}?uploads=", url_of(object)));
    let answer = match object
        .request(&request().with_header("x-amz-checksum-algorithm", "SHA256"))
        .await
    {
        // Stores that do not support the header, and say so.
        Err(refusal) if matches!(refusal.status(), Some(400 | 501)) => {
            object.request(&request()).await?
        }
        outcome => outcome?,
    };
    let sha256 = answer
        .header("x-amz-checksum-algorithm")
        .is_some_and(|name| name.eq_ignore_ascii_case("SHA256"));
    let xml = answer.xml();
    match element(&xml, "UploadId") {
        Some(id) => Ok(UploadId {
            id: plain(id).into(),
            sha256,
        }),
        None => Err(Refusal::other(
            "the store began no upload, although it answered",
        )),
    }
}

fn url_of_upload(object: &Object, upload: &UploadId) -> String {
    format!(
        "{}?uploadId={}",
        url_of(object),
        percent_encode(&upload.id, b"")
    )
}

/// The parts in a response, with their numbers.
fn parts_in(xml: &str) -> impl Iterator<Item = (usize, FoundPart)> {
    elements(xml, "Part").filter_map(|part| {
        let number = element(part, "PartNumber")?.parse().ok()?;
        let size_bytes = element(part, "Size")?.parse().ok()?;
        let sha256 = element(part, "ChecksumSHA256").map(plain);
        Some((
            number,
            FoundPart {
                size_bytes,
                tag: plain(element(part, "ETag")?),
                sha256,
            },
        ))
    })
}

/// The parts of an upload that the store has, by number; `None` for an upload that does not exist
/// any more.
pub(super) async fn parts_of(
    object: &Object,
    upload: &UploadId,
) -> Result<Option<HashMap<usize, FoundPart>>, Refusal> {
    let (mut found, mut after) = (HashMap::new(), 0);
    loop {
        let page = if after == 0 {
            String::new()
        } else {
            format!("&part-number-marker={after}")
        };
        let answer = match object
            .request(&UnsignedRequest::new(
                Method::GET,
                format!("{}{page}", url_of_upload(object, upload)),
            ))
            .await
        {
            Ok(answer) => answer,
            Err(refusal) if refusal.status() == Some(404) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let xml = answer.xml();
        found.extend(parts_in(&xml));
        let next = element(&xml, "NextPartNumberMarker")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        if element(&xml, "IsTruncated") != Some("true") || next <= after {
            return Ok(Some(found));
        }
        after = next;
    }
}

/// True when a part that an earlier process sent has these bytes: by SHA-256 where the store says
/// it, otherwise by the MD5 that an ETag is.
pub(super) async fn is_same(
    found: &FoundPart,
    bytes: &Bytes,
    sums: &PartSums,
) -> Result<bool, Refusal> {
    if found.size_bytes != bytes.len() as u64 {
        return Ok(false);
    }
    match (&found.sha256, &sums.sha256) {
        (Some(stated), Some(own)) => Ok(*stated == BASE64_STANDARD.encode(own)),
        _ => {
            let Some(stated) = md5_in(&found.tag, &HeaderMap::new()) else {
                return Ok(false);
            };
            Ok(sums.md5(bytes).await? == stated)
        }
    }
}

/// A part that an earlier process sent, once [`is_same`] found its bytes to be those of `sums`.
pub(super) fn tag_of(found: &FoundPart, upload: &UploadId, sums: &PartSums) -> PartTag {
    // Compared by its ETag, unless the store said its SHA-256.
    let md5 = found
        .sha256
        .is_none()
        .then(|| md5_in(&found.tag, &HeaderMap::new()))
        .flatten();
    PartTag {
        tag: found.tag.clone(),
        md5,
        sha256: sums.sha256.filter(|_| upload.sha256),
    }
}

/// Sends part `number`, from 1. A part of the same number replaces an earlier one, so a retry
/// duplicates nothing.
pub(super) async fn send_part(
    object: &Object,
    upload: &UploadId,
    number: usize,
    bytes: &Bytes,
    sums: &PartSums,
) -> Result<PartTag, Refusal> {
    let url = format!(
        "{}?partNumber={number}&uploadId={}",
        url_of(object),
        percent_encode(&upload.id, b"")
    );
    let mut request = UnsignedRequest::new(Method::PUT, url)
        .with_body_sha256(sums.sha256)
        .body(bytes.clone());
    let sha256 = sums.sha256.filter(|_| upload.sha256);
    let text = sha256.map(|sum| BASE64_STANDARD.encode(sum));
    match (&text, sums.md5) {
        (Some(text), _) => {
            request = request
                .with_header(SHA256, text.as_str())
                .with_header("x-amz-sdk-checksum-algorithm", "SHA256")
        }
        (None, Some(md5)) => {
            request = request.with_header("content-md5", BASE64_STANDARD.encode(md5))
        }
        (None, None) => {}
    }
    let answer = object.request(&request).await?;
    let Some(tag) = answer.header("etag") else {
        return Err(Refusal::other("the store gave no ETag for a part"));
    };
    let received = md5_in(tag, &answer.headers);
    let is_ours = match (answer.header(SHA256), &text) {
        (Some(stated), Some(own)) => stated == own,
        // It said that it compares them, and does not.
        _ => match received {
            Some(received) => received == sums.md5(bytes).await?,
            None => true,
        },
    };
    if is_ours {
        Ok(PartTag {
            tag: tag.to_owned(),
            md5: received.or(sums.md5),
            sha256,
        })
    } else {
        Err(Refusal::other(format!(
            "the store received other bytes for part {number} than were sent"
        )))
    }
}

/// Makes the object visible.
pub(super) async fn complete_upload(
    object: &Object,
    upload: &UploadId,
    parts: &[PartTag],
    overwrite: bool,
) -> Result<(), Refusal> {
    let mut list =
        String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (index, part) in parts.iter().enumerate() {
        let tag = part
            .tag
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;");
        let sha256 = part.sha256.map(|sum| {
            format!(
                "<ChecksumSHA256>{}</ChecksumSHA256>",
                BASE64_STANDARD.encode(sum)
            )
        });
        let sha256 = sha256.unwrap_or_default();
        list.push_str(&format!(
            "<Part><PartNumber>{}</PartNumber><ETag>{tag}</ETag>{sha256}</Part>",
            index + 1
        ));
    }
    list.push_str("</CompleteMultipartUpload>");
    let request = UnsignedRequest::new(Method::POST, url_of_upload(object, upload))
        .with_header("content-type", "application/xml");
    let request = request
        .refuse_existing_unless(overwrite)
        .body(list.into())
        .with_long_wait();
    let mut tries = 0;
    loop {
        tries += 1;
        let answer = object.request(&request).await.map_err(|refusal| Refusal {
            tries: refusal.tries + tries - 1,
            ..refusal
        })?;
        // The status is sent before the parts are joined, so that a failure can be in the body of a
        // response with status 200.
        let xml = answer.xml();
        let Some(failure) = element(&xml, "Error") else {
            return Ok(());
        };
        let code = element(failure, "Code").map(str::to_owned);
        if tries >= 4 {
            return Err(Refusal {
                fault: RequestFault::Status(500, code),
                tries,
            });
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

pub(super) async fn abort(object: &Object, upload: &UploadId) -> Result<(), Refusal> {
    object
        .request(&UnsignedRequest::new(
            Method::DELETE,
            url_of_upload(object, upload),
        ))
        .await
        .map(drop)
}

pub(super) async fn delete_object(object: &Object) -> Result<(), Refusal> {
    object
        .request(&UnsignedRequest::new(Method::DELETE, url_of(object)))
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_is_a_checksum_only_where_it_is_an_md5() {
        let none = HeaderMap::new();
        let md5 = "\"D41D8CD98F00B204E9800998ECF8427E\"";
        assert_eq!(
            checksum_of(md5, &none).as_deref(),
            Some("d41d8cd98f00b204e9800998ecf8427e")
        );
        assert!(checksum_of("\"d41d8cd98f00b204e9800998ecf8427e-3\"", &none).is_some());
        assert_eq!(checksum_of("\"some-version\"", &none), None);
        let mut keyed = HeaderMap::new();
        keyed.insert(
            "x-amz-server-side-encryption",
            "aws:kms".parse().expect("a header"),
        );
        assert_eq!(checksum_of(md5, &keyed), None);
    }

    #[test]
    fn the_tag_of_an_object_in_parts_is_that_of_its_parts() {
        // AWS documents the MD5 of the parts' binary MD5, and their number.
        let part = |bytes: &[u8]| PartTag {
            md5: Some(Md5::digest(bytes).into()),
            ..PartTag::default()
        };
        assert_eq!(
            whole_tag(&[part(b"a"), part(b"b")]).as_deref(),
            Some("96e024ba2074fe77e8e965ba43a704be-2")
        );
        assert_eq!(whole_tag(&[part(b"a"), PartTag::default()]), None);
    }

    #[test]
    fn the_sha256_of_an_object_in_parts_is_that_of_its_parts() {
        // As `hashlib.sha256(hashlib.sha256(b"a").digest() + hashlib.sha256(b"b").digest())` in
        // Python.
        let part = |bytes: &[u8]| PartTag {
            sha256: Some(Sha256::digest(bytes).into()),
            ..PartTag::default()
        };
        assert_eq!(
            whole_sha256(&[part(b"a"), part(b"b")]).as_deref(),
            Some("5aAf7hTg7VxIcU8iGA8lrYNltT+XefedxKPX6Tlj+Uo=")
        );
        assert_eq!(whole_sha256(&[part(b"a"), PartTag::default()]), None);
    }

    #[test]
    fn parts_are_listed_with_what_identifies_their_bytes() {
        let xml = "<L><IsTruncated>false</IsTruncated><Part><PartNumber>2</PartNumber><ETag>&quot;\
            ab&quot;</ETag><Size>5</Size>\
                   <ChecksumSHA256>eA==</ChecksumSHA256></Part><Part><PartNumber>x</PartNumber>\
            </Part></L>";
        let parts: Vec<_> = parts_in(xml).collect();
        assert_eq!(parts.len(), 1);
        let (number, part) = &parts[0];
        assert_eq!(
            (
                *number,
                part.size_bytes,
                part.tag.as_str(),
                part.sha256.as_deref()
            ),
            (2, 5, "\"ab\"", Some("eA=="))
        );
    }
}
