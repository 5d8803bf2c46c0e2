//! Azure Blob Storage: block blobs (up to 50,000 blocks), made visible by a list of their blocks.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use reqwest::Method;

use super::object::{Checksum, FoundPart, Object, PartTag, StoredObject, percent_encode};
use super::request::{Refusal, UnsignedRequest};
use super::xml::{element, elements, plain};
use crate::remote::fetch::RequestFault;

/// Maximum bytes of a list of blocks: those of several uploads of 50,000 blocks.
const BLOCK_LIST_MAX: usize = 32 << 20;

fn url_of(object: &Object) -> String {
    format!("{}/{}", object.bucket.url, object.key)
}

pub(super) async fn fetch_stored_object(object: &Object) -> Result<Option<StoredObject>, Refusal> {
    match object
        .request(&UnsignedRequest::new(Method::HEAD, url_of(object)))
        .await
    {
        Ok(answer) => {
            let size_bytes = answer
                .header("content-length")
                .and_then(|text| text.parse().ok())
                .unwrap_or_default();
            Ok(Some(StoredObject {
                size_bytes,
                checksum: answer.header("content-md5").map(str::to_owned),
                sha256: None,
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
        .with_header("x-ms-blob-type", "BlockBlob")
        .with_header("content-md5", BASE64_STANDARD.encode(checksum))
        .refuse_existing_unless(overwrite);
    object.request(&request.body(bytes.clone())).await.map(drop)
}

/// The id of block `number`, from 1. It has the MD5 of the block, which the store compared:
/// uncommitted blocks belong to the blob, whoever sent them, so those of two writers are kept apart
/// unless they have the same bytes, and those of an interrupted upload are known again.
fn block_id(number: usize, checksum: &Checksum) -> String {
    BASE64_STANDARD.encode(format!("{number:08}{}", hex::encode(checksum)))
}

/// The blocks that the blob has and that no list names, which interrupted uploads left.
pub(super) async fn fetch_uncommitted_blocks(object: &Object) -> Result<Vec<FoundPart>, Refusal> {
    let url = format!(
        "{}?comp=blocklist&blocklisttype=uncommitted",
        url_of(object)
    );
    let answer = match object
        .request(&UnsignedRequest::new(Method::GET, url).with_answer_up_to(BLOCK_LIST_MAX))
        .await
    {
        Ok(answer) => answer,
        Err(refusal) if refusal.status() == Some(404) => return Ok(Vec::new()),
        Err(refusal) => return Err(refusal),
    };
    let xml = answer.xml();
    let blocks = elements(&xml, "Block").filter_map(|block| {
        let size_bytes = element(block, "Size")?.parse().ok()?;
        Some(FoundPart {
            size_bytes,
            tag: plain(element(block, "Name")?),
            sha256: None,
        })
    });
    Ok(blocks.collect())
}

/// Sends block `number`, from 1, unless `found` has it. A block of the same id replaces an earlier
/// one, so a retry duplicates nothing.
pub(super) async fn send_block(
    object: &Object,
    found: &[FoundPart],
    number: usize,
    bytes: &Bytes,
    checksum: &Checksum,
) -> Result<PartTag, Refusal> {
    let id = block_id(number, checksum);
    if !found
        .iter()
        .any(|block| block.tag == id && block.size_bytes == bytes.len() as u64)
    {
        let url = format!(
            "{}?comp=block&blockid={}",
            url_of(object),
            percent_encode(&id, b"")
        );
        let request = UnsignedRequest::new(Method::PUT, url)
            .with_header("content-md5", BASE64_STANDARD.encode(checksum))
            .body(bytes.clone());
        object.request(&request).await?;
    }
    Ok(PartTag {
        tag: id,
        md5: Some(*checksum),
        sha256: None,
    })
}

/// Makes the blob visible, with the MD5 of all its bytes as a property.
pub(super) async fn complete_upload(
    object: &Object,
    parts: &[PartTag],
    whole: &Checksum,
    overwrite: bool,
) -> Result<(), Refusal> {
    let mut list = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    parts
        .iter()
        .for_each(|part| list.push_str(&format!("<Latest>{}</Latest>", part.tag)));
    list.push_str("</BlockList>");
    let request = UnsignedRequest::new(Method::PUT, format!("{}?comp=blocklist", url_of(object)))
        .with_header("content-type", "application/xml")
        .with_header("x-ms-blob-content-type", "application/octet-stream")
        .with_header("x-ms-blob-content-md5", BASE64_STANDARD.encode(whole))
        .refuse_existing_unless(overwrite);
    match object
        .request(&request.body(list.into()).with_long_wait())
        .await
    {
        Ok(_) => Ok(()),
        // The list of another writer dropped our blocks.
        Err(Refusal {
            fault: RequestFault::Status(400, code),
            tries,
        }) if code.as_deref() == Some("InvalidBlockList") => Err(Refusal {
            fault: RequestFault::Status(409, code),
            tries,
        }),
        Err(refusal) => Err(refusal),
    }
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
    fn ids_of_blocks_have_one_length_and_differ_by_number_and_bytes() {
        let ids = [
            block_id(1, &[0; 16]),
            block_id(50_000, &[0; 16]),
            block_id(1, &[255; 16]),
        ];
        assert!(
            ids.iter()
                .all(|id| id.len() == ids[0].len() && id.len() <= 64)
        );
        assert!(ids[0] != ids[1] && ids[0] != ids[2]);
    }
}
