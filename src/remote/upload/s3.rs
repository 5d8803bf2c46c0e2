//! S3: multipart uploads (parts from 5 MiB, up to 10,000), and its ETags. Used for compatible stores too.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use md5::{Digest, Md5};
use reqwest::Method;

use super::object::{Checksum, Object, PartTag, Stored, UploadId, encoded};
use super::request::{Ask, Refusal};
use crate::remote::fetch::Fault;

fn url_of(object: &Object) -> String {
    format!("{}/{}", object.bucket.url, object.key)
}

/// An ETag without quotes, where it is an MD5: those of objects that are encrypted with a key of the owner are not.
fn checksum_of(tag: &str, headers: &object_store::HeaderMap) -> Option<String> {
    let encrypted = headers.get("x-amz-server-side-encryption").is_some_and(|value| value != "AES256");
    let own_key = headers.contains_key("x-amz-server-side-encryption-customer-algorithm");
    let tag = tag.trim().trim_start_matches("W/").trim_matches('"').to_ascii_lowercase();
    let digest = tag.split('-').next().unwrap_or_default();
    let is_md5 = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_md5 && !encrypted && !own_key).then_some(tag)
}

/// The ETag of an object of these parts.
pub(super) fn whole_tag(parts: &[PartTag]) -> String {
    let mut all = Md5::new();
    parts.iter().for_each(|part| all.update(part.checksum));
    format!("{}-{}", hex::encode(all.finalize()), parts.len())
}

/// The text between `<name>` and `</name>`.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(value, _)| value)
}

/// Unescapes the characters that XML reserves.
fn plain(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&#34;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&apos;", "'").replace("&amp;", "&")
}

pub(super) async fn stored(object: &Object) -> Result<Option<Stored>, Refusal> {
    match object.request(&Ask::new(Method::HEAD, url_of(object))).await {
        Ok(answer) => {
            let size_bytes = answer.header("content-length").and_then(|text| text.parse().ok()).unwrap_or_default();
            let checksum = answer.header("etag").and_then(|tag| checksum_of(tag, &answer.headers));
            Ok(Some(Stored { size_bytes, checksum }))
        }
        Err(refusal) if refusal.status() == Some(404) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn put(object: &Object, bytes: &Bytes, checksum: &Checksum, overwrite: bool) -> Result<(), Refusal> {
    let ask = Ask::new(Method::PUT, url_of(object)).with("content-md5", BASE64_STANDARD.encode(checksum));
    object.request(&ask.unless_there(overwrite).body(bytes.clone())).await.map(drop)
}

pub(super) async fn begin(object: &Object) -> Result<UploadId, Refusal> {
    let answer = object.request(&Ask::new(Method::POST, format!("{}?uploads=", url_of(object)))).await?;
    let xml = answer.xml();
    match element(&xml, "UploadId") {
        Some(id) => Ok(UploadId(plain(id).into())),
        None => Err(Refusal::other("the store began no upload, although it answered")),
    }
}

/// Sends part `number`, from 1. A part of the same number replaces an earlier one, so a retry duplicates nothing.
pub(super) async fn part(
    object: &Object,
    upload: &UploadId,
    number: usize,
    bytes: &Bytes,
    checksum: &Checksum,
) -> Result<PartTag, Refusal> {
    let url = format!("{}?partNumber={number}&uploadId={}", url_of(object), encoded(&upload.0, b""));
    let ask = Ask::new(Method::PUT, url).with("content-md5", BASE64_STANDARD.encode(checksum)).body(bytes.clone());
    let answer = object.request(&ask).await?;
    let Some(tag) = answer.header("etag") else { return Err(Refusal::other("the store gave no ETag for a part")) };
    if checksum_of(tag, &answer.headers).is_some_and(|found| found != hex::encode(checksum)) {
        return Err(Refusal::other(format!("the store received other bytes for part {number} than were sent")));
    }
    Ok(PartTag { tag: tag.to_owned(), checksum: *checksum })
}

/// Makes the object visible.
pub(super) async fn complete(object: &Object, upload: &UploadId, parts: &[PartTag], overwrite: bool) -> Result<(), Refusal> {
    let mut list = String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (index, part) in parts.iter().enumerate() {
        let tag = part.tag.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        list.push_str(&format!("<Part><PartNumber>{}</PartNumber><ETag>{tag}</ETag></Part>", index + 1));
    }
    list.push_str("</CompleteMultipartUpload>");
    let url = format!("{}?uploadId={}", url_of(object), encoded(&upload.0, b""));
    let ask = Ask::new(Method::POST, url).with("content-type", "application/xml").unless_there(overwrite).body(list.into()).long();
    let mut tries = 0;
    loop {
        tries += 1;
        let answer = object.request(&ask).await.map_err(|refusal| Refusal { tries: refusal.tries + tries - 1, ..refusal })?;
        // The status is sent before the parts are joined, so that a failure can be in the body of a response with status 200.
        let xml = answer.xml();
        let Some(failure) = element(&xml, "Error") else { return Ok(()) };
        let code = element(failure, "Code").map(str::to_owned);
        if tries >= 4 {
            return Err(Refusal { fault: Fault::Status(500, code), tries });
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

pub(super) async fn abort(object: &Object, upload: &UploadId) -> Result<(), Refusal> {
    let url = format!("{}?uploadId={}", url_of(object), encoded(&upload.0, b""));
    object.request(&Ask::new(Method::DELETE, url)).await.map(drop)
}

pub(super) async fn delete(object: &Object) -> Result<(), Refusal> {
    object.request(&Ask::new(Method::DELETE, url_of(object))).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_is_a_checksum_only_where_it_is_an_md5() {
        let none = object_store::HeaderMap::new();
        let md5 = "\"D41D8CD98F00B204E9800998ECF8427E\"";
        assert_eq!(checksum_of(md5, &none).as_deref(), Some("d41d8cd98f00b204e9800998ecf8427e"));
        assert!(checksum_of("\"d41d8cd98f00b204e9800998ecf8427e-3\"", &none).is_some());
        assert_eq!(checksum_of("\"some-version\"", &none), None);
        let mut keyed = object_store::HeaderMap::new();
        keyed.insert("x-amz-server-side-encryption", "aws:kms".parse().expect("a header"));
        assert_eq!(checksum_of(md5, &keyed), None);
    }

    #[test]
    fn the_tag_of_an_object_in_parts_is_that_of_its_parts() {
        // AWS documents the MD5 of the parts' binary MD5, and their number.
        let part = |bytes: &[u8]| PartTag { tag: String::new(), checksum: Md5::digest(bytes).into() };
        assert_eq!(whole_tag(&[part(b"a"), part(b"b")]), "96e024ba2074fe77e8e965ba43a704be-2");
    }

    #[test]
    fn elements_are_found_in_answers() {
        let text = "<R><UploadId>a&amp;b</UploadId></R>";
        assert_eq!(element(text, "UploadId").map(plain).as_deref(), Some("a&b"));
        assert_eq!(element(text, "ETag"), None);
    }
}
