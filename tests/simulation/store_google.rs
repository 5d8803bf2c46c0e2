//! The interface of Google Cloud Storage: JSON for objects and uploads, XML for bytes of objects.

use serde_json::{Value as Json, json};

use super::store::{Answer, BUCKET, Request, StoreView, Stored, md5_text};

/// A resumable upload.
#[derive(Clone)]
pub struct Session {
    key: String,
    /// It may make a new object alone.
    only_new: bool,
    bytes: Vec<u8>,
    is_complete: bool,
}

impl Session {
    pub fn has_bytes(&self) -> bool {
        !self.is_complete && !self.bytes.is_empty()
    }
}

pub fn answer(mut store: StoreView<'_>, request: &Request) -> Answer {
    let (resources, uploads) = (
        format!("/storage/v1/b/{BUCKET}/o"),
        format!("/upload/storage/v1/b/{BUCKET}/o"),
    );
    if request.path == uploads {
        return upload(&mut store, request);
    }
    if request.path == resources {
        return list(&store, request.query("prefix").unwrap_or_default());
    }
    if let Some(key) = request.path.strip_prefix(&format!("{resources}/")) {
        return match (request.method.as_str(), store.object(key)) {
            (_, None) => Answer::refused(404, "notFound"),
            ("DELETE", Some(_)) => {
                store.contents.objects.remove(key);
                Answer::of(204, "")
            }
            (_, Some(stored)) => describe(key, stored),
        };
    }
    let key = request.path.strip_prefix(&format!("/{BUCKET}/"));
    store.read(key.unwrap_or_default(), request)
}

fn resource(key: &str, stored: &Stored) -> Json {
    json!({
        "name": key,
        "size": stored.bytes.len().to_string(),
        "md5Hash": md5_text(&stored.bytes),
    })
}

fn describe(key: &str, stored: &Stored) -> Answer {
    Answer::of(200, resource(key, stored).to_string())
}

fn list(store: &StoreView<'_>, prefix: &str) -> Answer {
    let listed = store.list(prefix);
    let items: Vec<Json> = listed
        .iter()
        .map(|(key, stored)| resource(key, stored))
        .collect();
    Answer::of(200, json!({"items": items}).to_string())
}

fn upload(store: &mut StoreView<'_>, request: &Request) -> Answer {
    let key = request.query("name").unwrap_or_default();
    let only_new = request.query("ifGenerationMatch") == Some("0");
    let number = request
        .query("upload_id")
        .and_then(|text| text.parse::<u64>().ok());
    match (request.method.as_str(), number) {
        ("POST", _) if only_new && store.object(key).is_some() => {
            Answer::refused(412, "conditionNotMet")
        }
        ("POST", _) if request.query("uploadType") == Some("media") => {
            insert(store, key, request.body.clone())
        }
        ("POST", _) => {
            store.contents.last_upload += 1;
            let number = store.contents.last_upload;
            let session = Session {
                key: key.to_owned(),
                only_new,
                bytes: Vec::new(),
                is_complete: false,
            };
            store.contents.sessions.insert(number, session);
            let host = request.header("host").unwrap_or_default();
            let place = format!("http://{host}{}", request.path);
            let address = format!("{place}?uploadType=resumable&upload_id={number}");
            Answer::of(200, "").with("Location", address)
        }
        ("PUT", Some(number)) => receive(store, number, request),
        ("DELETE", Some(number)) => {
            store.contents.sessions.remove(&number);
            Answer::of(499, "")
        }
        _ => Answer::refused(405, "methodNotAllowed"),
    }
}

fn insert(store: &mut StoreView<'_>, key: &str, bytes: Vec<u8>) -> Answer {
    let stored = Stored::new(bytes);
    let answer = describe(key, &stored);
    store.insert(key, stored);
    answer
}

/// Takes the next bytes of an upload, or says how many it has.
fn receive(store: &mut StoreView<'_>, number: u64, request: &Request) -> Answer {
    let Some(session) = store.contents.sessions.get_mut(&number) else {
        return Answer::refused(404, "notFound");
    };
    let range = request.header("content-range").unwrap_or_default();
    let (range, total) = range
        .trim_start_matches("bytes ")
        .split_once('/')
        .unwrap_or_default();
    if session.is_complete {
        let key = session.key.clone();
        return match store.object(&key) {
            Some(stored) => describe(&key, stored),
            None => Answer::refused(404, "notFound"),
        };
    }
    if request.fails_to_join {
        return Answer::refused(500, "backendError");
    }
    let start = range
        .split_once('-')
        .and_then(|(start, _)| start.parse::<usize>().ok());
    if start == Some(session.bytes.len()) {
        session.bytes.extend_from_slice(&request.body);
    }
    if total.parse::<usize>() == Ok(session.bytes.len()) {
        let (key, only_new) = (session.key.clone(), session.only_new);
        let bytes = std::mem::take(&mut session.bytes);
        if only_new && store.object(&key).is_some() {
            store.contents.sessions.remove(&number);
            return Answer::refused(412, "conditionNotMet");
        }
        if let Some(session) = store.contents.sessions.get_mut(&number) {
            session.is_complete = true;
        }
        return insert(store, &key, bytes);
    }
    let answer = Answer::of(308, "");
    match session.bytes.len() {
        0 => answer,
        size => answer.with("Range", format!("bytes=0-{}", size - 1)),
    }
}
