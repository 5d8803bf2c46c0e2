//! The interface of S3.

use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest as _, Md5};

use super::store::{Answer, BUCKET, Request, StoreView, Stored, tag_of};

/// An upload in parts.
#[derive(Clone)]
pub struct Upload {
    key: String,
    parts: BTreeMap<usize, Arc<Vec<u8>>>,
}

impl Upload {
    pub fn has_bytes(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The object of the parts, with the ETag that S3 gives it.
    fn join(&self) -> Stored {
        let mut sums = Md5::new();
        let parts = self.parts.values();
        parts
            .clone()
            .for_each(|part| sums.update(Md5::digest(part.as_slice())));
        let tag = format!("\"{}-{}\"", hex::encode(sums.finalize()), self.parts.len());
        let bytes = parts
            .map(|part| part.as_slice())
            .collect::<Vec<_>>()
            .concat();
        Stored {
            bytes: Arc::new(bytes),
            tag,
        }
    }
}

pub fn answer(mut store: StoreView<'_>, request: &Request) -> Answer {
    let below = request
        .path
        .trim_start_matches('/')
        .strip_prefix(BUCKET)
        .unwrap_or_default();
    let key = below.trim_start_matches('/').to_owned();
    let asks = |name: &str| request.query(name).is_some();
    let upload = request
        .query("uploadId")
        .and_then(|text| text.parse::<u64>().ok());
    let is_refused = request.header("if-none-match") == Some("*") && store.object(&key).is_some();
    match request.method.as_str() {
        "GET" if key.is_empty() && asks("uploads") => list_uploads(&store),
        "GET" if key.is_empty() => list(&store, request.query("prefix").unwrap_or_default()),
        "GET" if asks("uploadId") => list_parts(&store, upload),
        "GET" | "HEAD" => store.read(&key, request),
        "PUT" if !request.has_stated_md5() => Answer::refused(400, "BadDigest"),
        "PUT" if asks("uploadId") => {
            let number = request
                .query("partNumber")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            match upload.and_then(|upload| store.contents.uploads.get_mut(&upload)) {
                Some(upload) => {
                    upload.parts.insert(number, Arc::new(request.body.clone()));
                    Answer::of(200, "").with("ETag", tag_of(&request.body))
                }
                None => Answer::refused(404, "NoSuchUpload"),
            }
        }
        "PUT" | "POST" if is_refused && !asks("uploads") => {
            Answer::refused(412, "PreconditionFailed")
        }
        "PUT" => {
            let stored = Stored::new(request.body.clone());
            let answer = Answer::of(200, "").with("ETag", &stored.tag);
            store.insert(&key, stored);
            answer
        }
        "POST" if asks("uploads") => {
            store.contents.last_upload += 1;
            let number = store.contents.last_upload;
            let parts = BTreeMap::new();
            store.contents.uploads.insert(number, Upload { key, parts });
            Answer::of(
                200,
                format!("<Result><UploadId>{number}</UploadId></Result>"),
            )
        }
        "POST" if request.fails_to_join => {
            Answer::of(200, "<Error><Code>InternalError</Code></Error>")
        }
        "POST" => match upload.and_then(|upload| store.contents.uploads.remove(&upload)) {
            Some(upload) => {
                store.insert(&upload.key, upload.join());
                Answer::of(200, "<Result></Result>")
            }
            None => Answer::refused(404, "NoSuchUpload"),
        },
        "DELETE" if asks("uploadId") => {
            upload.and_then(|upload| store.contents.uploads.remove(&upload));
            Answer::of(204, "")
        }
        "DELETE" => {
            store.contents.objects.remove(&key);
            Answer::of(204, "")
        }
        _ => Answer::refused(405, "MethodNotAllowed"),
    }
}

fn list(store: &StoreView<'_>, prefix: &str) -> Answer {
    let mut xml = format!(
        "<ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><IsTruncated>\
            false</IsTruncated>"
    );
    for (key, stored) in store.list(prefix) {
        xml += &format!(
            "<Contents><Key>{key}</Key><LastModified>2023-11-14T22:13:20.000Z</LastModified>\
                <ETag>{}</ETag><Size>{}</Size>\
             <StorageClass>STANDARD</StorageClass></Contents>",
            stored.tag.replace('"', "&quot;"),
            stored.bytes.len()
        );
    }
    Answer::of(200, xml + "</ListBucketResult>").with("Content-Type", "application/xml")
}

fn list_uploads(store: &StoreView<'_>) -> Answer {
    let mut xml = String::from("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>");
    for (number, Upload { key, .. }) in &store.contents.uploads {
        xml += &format!("<Upload><Key>{key}</Key><UploadId>{number}</UploadId></Upload>");
    }
    Answer::of(200, xml + "</ListMultipartUploadsResult>").with("Content-Type", "application/xml")
}

fn list_parts(store: &StoreView<'_>, upload: Option<u64>) -> Answer {
    let Some(upload) = upload.and_then(|upload| store.contents.uploads.get(&upload)) else {
        return Answer::refused(404, "NoSuchUpload");
    };
    let mut xml = String::from("<ListPartsResult><IsTruncated>false</IsTruncated>");
    for (number, bytes) in &upload.parts {
        let tag = tag_of(bytes).replace('"', "&quot;");
        xml += &format!(
            "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag><Size>{}</Size></Part>",
            bytes.len()
        );
    }
    Answer::of(200, xml + "</ListPartsResult>").with("Content-Type", "application/xml")
}
