//! The interface of Azure Blob Storage: block blobs.

use std::sync::Arc;

use super::store::{Answer, BUCKET, DATE, Request, StoreView, Stored, md5_text};

const ACCOUNT: &str = "devstoreaccount1";

pub fn answer(mut store: StoreView<'_>, request: &Request) -> Answer {
    let container = format!("/{ACCOUNT}/{BUCKET}");
    let below = request.path.strip_prefix(&container).unwrap_or_default();
    let key = below.trim_start_matches('/').to_owned();
    let is_refused = request.header("if-none-match") == Some("*") && store.object(&key).is_some();
    match (request.method.as_str(), request.query("comp")) {
        ("GET", Some("list")) => list(&store, request.query("prefix").unwrap_or_default()),
        ("GET", Some("blocklist")) => list_blocks(&store, &key),
        ("GET" | "HEAD", _) => store.read(&key, request),
        ("PUT", _) if !request.has_stated_md5() => Answer::refused(400, "Md5Mismatch"),
        ("PUT", Some("block")) => {
            let id = request.query("blockid").unwrap_or_default().to_owned();
            let blocks = store.contents.blocks.entry(key).or_default();
            blocks.insert(id, Arc::new(request.body.clone()));
            Answer::of(201, "")
        }
        ("PUT", _) if is_refused => Answer::refused(409, "BlobAlreadyExists"),
        ("PUT", Some("blocklist")) => commit(&mut store, &key, request),
        ("PUT", None) if request.header("x-ms-blob-type") == Some("BlockBlob") => {
            insert(&mut store, &key, request.body.clone())
        }
        ("DELETE", _) => match store.contents.objects.remove(&key) {
            Some(_) => Answer::of(202, ""),
            None => Answer::refused(404, "BlobNotFound"),
        },
        _ => Answer::refused(400, "UnsupportedHttpVerb"),
    }
}

fn insert(store: &mut StoreView<'_>, key: &str, bytes: Vec<u8>) -> Answer {
    let stored = Stored::new(bytes);
    let answer = Answer::of(201, "").with("ETag", &stored.tag);
    store.insert(key, stored);
    // What is uncommitted is dropped.
    store.contents.blocks.remove(key);
    answer
}

/// Makes a blob of the blocks in a list.
fn commit(store: &mut StoreView<'_>, key: &str, request: &Request) -> Answer {
    if request.fails_to_join {
        return Answer::refused(500, "InternalError");
    }
    let list = String::from_utf8_lossy(&request.body);
    let ids = list
        .split("<Latest>")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("</Latest>")?.0));
    let blocks = store.contents.blocks.get(key);
    let found: Option<Vec<Arc<Vec<u8>>>> = ids
        .map(|id| blocks.and_then(|blocks| blocks.get(id)).cloned())
        .collect();
    let Some(found) = found else {
        return Answer::refused(400, "InvalidBlockList");
    };
    let bytes: Vec<u8> = found
        .iter()
        .flat_map(|block| block.iter().copied())
        .collect();
    // The store takes this property as it is; here a wrong one would go unseen.
    let stated = request.header("x-ms-blob-content-md5");
    assert_eq!(stated, Some(md5_text(&bytes).as_str()), "the MD5 of {key}");
    insert(store, key, bytes)
}

fn list(store: &StoreView<'_>, prefix: &str) -> Answer {
    let mut xml = String::from("<?xml version=\"1.0\"?><EnumerationResults><Blobs>");
    for (key, stored) in store.list(prefix) {
        xml += &format!(
            "<Blob><Name>{key}</Name><Properties><Last-Modified>{DATE}</Last-Modified>\
                <Etag>{}</Etag><Content-Length>{}</Content-Length>\
             <Content-Type>application/octet-stream</Content-Type></Properties></Blob>",
            stored.tag.replace('"', "&quot;"),
            stored.bytes.len()
        );
    }
    Answer::of(200, xml + "</Blobs><NextMarker /></EnumerationResults>")
        .with("Content-Type", "application/xml")
}

fn list_blocks(store: &StoreView<'_>, key: &str) -> Answer {
    let Some(blocks) = store.contents.blocks.get(key) else {
        return match store.object(key) {
            Some(_) => Answer::of(200, "<BlockList><UncommittedBlocks /></BlockList>"),
            None => Answer::refused(404, "BlobNotFound"),
        };
    };
    let mut xml = String::from("<BlockList><UncommittedBlocks>");
    for (id, bytes) in blocks {
        let size = bytes.len();
        xml += &format!("<Block><Name>{id}</Name><Size>{size}</Size></Block>");
    }
    Answer::of(200, xml + "</UncommittedBlocks></BlockList>")
        .with("Content-Type", "application/xml")
}
