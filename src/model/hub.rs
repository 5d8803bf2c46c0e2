//! Hubs of datasets: Hugging Face, Source Cooperative and Zenodo. Their own addresses (`hf://`,
//! `source://`) and the addresses of their pages become the address of the file on the hub's
//! server. A repository is listed by one request. No IO.

use std::sync::LazyLock;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use quick_xml::events::Event;

use super::address::{Address, ENCODED};

/// Server of Source Cooperative with the files; its pages are elsewhere.
const SOURCE_DATA: &str = "https://data.source.coop";
/// Revision of a repository that is not named.
const MAIN: &str = "main";
/// Objects in a list of Source Cooperative; the protocol allows no more.
const SOURCE_LIST_MAX: usize = 1000;

/// Server of Hugging Face without trailing slash. Its own library takes another one from
/// `HF_ENDPOINT`.
static HUGGING_FACE: LazyLock<String> = LazyLock::new(|| {
    let other = std::env::var("HF_ENDPOINT")
        .ok()
        .filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    other.map_or_else(
        || "https://huggingface.co".to_owned(),
        |url| url.trim_end_matches('/').to_owned(),
    )
});

/// The web address of a file or folder for an address or page of a hub; `None` for any other text.
pub(super) fn web_address(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(rest) = text
        .strip_prefix("hf://")
        .or_else(|| text.strip_prefix("/vsihf/"))
    {
        return HubRepository::of_hub_address(rest).map(|repository| repository.address());
    }
    if let Some(rest) = text
        .strip_prefix("source://")
        .or_else(|| text.strip_prefix("/vsisource/"))
    {
        return Some(format!(
            "{SOURCE_DATA}/{}",
            utf8_percent_encode(rest, ENCODED)
        ));
    }
    let (host, path) = text.strip_prefix("https://")?.split_once('/')?;
    let path = path.split(['?', '#']).next().unwrap_or(path);
    match host.to_ascii_lowercase().as_str() {
        "huggingface.co" | "www.huggingface.co" | "hf.co" => {
            HubRepository::of_page(&split_page_path(path)).map(|repository| repository.address())
        }
        "source.coop" | "www.source.coop" | "beta.source.coop" => {
            source_page(&split_page_path(path))
        }
        "zenodo.org" | "www.zenodo.org" => zenodo_page(&split_page_path(path)),
        "doi.org" | "dx.doi.org" => {
            let number = path.strip_prefix("10.5281/zenodo.")?.trim_end_matches('/');
            is_number(number).then(|| format!("https://zenodo.org/records/{number}"))
        }
        _ => None,
    }
}

fn split_page_path(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// A repository of Hugging Face at a revision, and a path in it.
struct HubRepository {
    /// `datasets`, `spaces`, or nothing for models.
    kind: Option<&'static str>,
    /// Owner and name.
    id: String,
    revision: String,
    /// Percent-encoded.
    path: String,
}

impl HubRepository {
    /// `datasets/OWNER/NAME@REVISION/PATH`, as Hugging Face's library spells it.
    fn of_hub_address(rest: &str) -> Option<Self> {
        let (kind, rest) = match rest.split_once('/')? {
            ("datasets", rest) => (Some("datasets"), rest),
            ("spaces", rest) => (Some("spaces"), rest),
            ("models", rest) => (None, rest),
            _ => (None, rest),
        };
        let (owner, rest) = rest
            .split_once('/')
            .filter(|(owner, _)| !owner.is_empty())?;
        let end = rest.find(['/', '@']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let (revision, path) = match rest.strip_prefix('@') {
            Some(rest) => revision_and_path(rest),
            None => (MAIN.to_owned(), rest.trim_start_matches('/')),
        };
        let path = utf8_percent_encode(path, ENCODED).to_string();
        (!name.is_empty()).then(|| Self {
            kind,
            id: format!("{owner}/{name}"),
            revision,
            path,
        })
    }

    /// The path of a page, in parts: `datasets/OWNER/NAME/blob/REVISION/PATH`.
    fn of_page(parts: &[&str]) -> Option<Self> {
        let (kind, parts) = match parts {
            ["datasets", rest @ ..] => (Some("datasets"), rest),
            ["spaces", rest @ ..] => (Some("spaces"), rest),
            _ => (None, parts),
        };
        let (owner, name, revision, path) = match parts {
            [
                owner,
                name,
                "blob" | "tree" | "raw" | "resolve",
                revision,
                path @ ..,
            ] => (owner, name, *revision, path.join("/")),
            // The page of the repository, and the pages about it. Two parts alone are also other
            // pages than those of models.
            [owner, name, ..] if kind.is_some() => (owner, name, MAIN, String::new()),
            _ => return None,
        };
        Some(Self {
            kind,
            id: format!("{owner}/{name}"),
            revision: revision.to_owned(),
            path,
        })
    }

    fn address(&self) -> String {
        let Self {
            id, revision, path, ..
        } = self;
        let kind = self.kind.map(|kind| format!("{kind}/")).unwrap_or_default();
        let slash = if path.is_empty() { "" } else { "/" };
        format!(
            "{}/{kind}{id}/resolve/{revision}{slash}{path}",
            *HUGGING_FACE
        )
    }
}

/// Revision, percent-encoded, and path. The revisions `refs/convert/…` and `refs/pr/…` contain
/// slashes.
fn revision_and_path(text: &str) -> (String, &str) {
    let slashes = if text.starts_with("refs/convert/") || text.starts_with("refs/pr/") {
        3
    } else {
        1
    };
    let end = text
        .match_indices('/')
        .nth(slashes - 1)
        .map_or(text.len(), |(at, _)| at);
    let (revision, path) = text.split_at(end);
    (revision.replace('/', "%2F"), path.trim_start_matches('/'))
}

fn source_page(parts: &[&str]) -> Option<String> {
    match parts {
        ["repositories", account, name, ..] => Some(format!("{SOURCE_DATA}/{account}/{name}")),
        [account, name, path @ ..] if *account != "repositories" => {
            Some([&[SOURCE_DATA, account, name], path].concat().join("/"))
        }
        _ => None,
    }
}

fn zenodo_page(parts: &[&str]) -> Option<String> {
    let ["record" | "records", number, rest @ ..] = parts else {
        return None;
    };
    if !is_number(number) {
        return None;
    }
    let record = format!("https://zenodo.org/records/{number}");
    match rest {
        ["files" | "preview", path @ ..] if !path.is_empty() => {
            Some(format!("{record}/files/{}", path.join("/")))
        }
        _ => Some(record),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// How a hub answers with the files of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HubAnswer {
    /// `{"siblings": [{"rfilename": …}]}`.
    HuggingFace,
    /// `{"files": [{"key": …}]}`.
    Zenodo,
    /// The XML of `ListObjectsV2`.
    Source,
}

/// The request that lists the files at an address of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubListing {
    /// Where the list is.
    pub request: String,
    /// The address that the listed names are below.
    root: String,
    /// Listed names that begin so are at the address.
    below: String,
    answer: HubAnswer,
}

impl HubListing {
    /// For the address of a repository, record or folder; `None` on other servers.
    pub fn from_address(address: &Address) -> Option<Self> {
        let text = address.to_string();
        if let Some(path) = strip_server(&text, &HUGGING_FACE) {
            let parts: Vec<&str> = path.split('/').collect();
            let kinds = parts
                .first()
                .is_some_and(|kind| matches!(*kind, "datasets" | "spaces"));
            let (repository, rest) = parts.split_at_checked(if kinds { 3 } else { 2 })?;
            let ["resolve", revision, below @ ..] = rest else {
                return None;
            };
            let kind = if kinds { "" } else { "models/" };
            let repository = repository.join("/");
            return Some(Self {
                request: format!(
                    "{}/api/{kind}{repository}/revision/{revision}",
                    *HUGGING_FACE
                ),
                root: format!("{}/{repository}/resolve/{revision}", *HUGGING_FACE),
                below: folder_prefix(below),
                answer: HubAnswer::HuggingFace,
            });
        }
        if let Some(path) = strip_server(&text, SOURCE_DATA) {
            let (account, below) = path.split_once('/')?;
            let prefix = format!("{}/", percent_decode_str(below).decode_utf8_lossy());
            let query = utf8_percent_encode(&prefix, ENCODED);
            return Some(Self {
                request: format!(
                    "{SOURCE_DATA}/{account}?list-type=2&max-keys={SOURCE_LIST_MAX}&prefix={query}"
                ),
                root: format!("{SOURCE_DATA}/{account}"),
                below: prefix,
                answer: HubAnswer::Source,
            });
        }
        let number =
            strip_server(&text, "https://zenodo.org/records").filter(|number| is_number(number))?;
        Some(Self {
            request: format!("https://zenodo.org/api/records/{number}"),
            root: format!("https://zenodo.org/records/{number}"),
            below: String::new(),
            answer: HubAnswer::Zenodo,
        })
    }

    /// The addresses of the files at the address, from the answer to the request; `None` for an
    /// answer of another form.
    pub fn files(&self, answer: &[u8]) -> Option<Vec<String>> {
        let names = match self.answer {
            HubAnswer::HuggingFace => names_in_json(answer, "siblings", "rfilename")?,
            HubAnswer::Zenodo => {
                let keys = names_in_json(answer, "files", "key")?;
                keys.into_iter().map(|key| format!("files/{key}")).collect()
            }
            HubAnswer::Source => keys_in_xml(answer)?,
        };
        let root = Address::parse(&self.root)?;
        let wanted = names.iter().filter(|name| name.starts_with(&self.below));
        Some(wanted.map(|name| root.child(name).to_string()).collect())
    }
}

/// The path of an address on a server; `None` for one of another server.
fn strip_server<'a>(address: &'a str, server: &str) -> Option<&'a str> {
    address
        .strip_prefix(server)?
        .strip_prefix('/')
        .map(|path| path.trim_end_matches('/'))
}

fn folder_prefix(parts: &[&str]) -> String {
    let parts: Vec<_> = parts
        .iter()
        .map(|part| percent_decode_str(part).decode_utf8_lossy())
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{}/", parts.join("/"))
    }
}

fn names_in_json(answer: &[u8], list: &str, name: &str) -> Option<Vec<String>> {
    let answer: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let entries = answer.get(list)?.as_array()?;
    Some(
        entries
            .iter()
            .filter_map(|entry| Some(entry.get(name)?.as_str()?.to_owned()))
            .collect(),
    )
}

fn keys_in_xml(answer: &[u8]) -> Option<Vec<String>> {
    let mut reader = quick_xml::Reader::from_reader(answer);
    let (mut keys, mut is_list, mut key) = (Vec::new(), false, None::<String>);
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == b"ListBucketResult" => {
                is_list = true
            }
            Event::Start(start) if start.local_name().as_ref() == b"Key" => {
                key = Some(String::new())
            }
            Event::Text(text) => {
                if let Some(key) = &mut key {
                    key.push_str(&text.decode().ok()?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(key) = &mut key {
                    let name = reference.decode().ok()?;
                    let plain = reference.resolve_char_ref().ok()?.map(String::from);
                    key.push_str(&plain.or_else(|| {
                        quick_xml::escape::resolve_xml_entity(&name).map(str::to_owned)
                    })?);
                }
            }
            Event::End(end) if end.local_name().as_ref() == b"Key" => keys.extend(key.take()),
            Event::Eof => return is_list.then_some(keys),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_pages_of_hubs_are_those_of_their_files() {
        for (text, wanted) in [
            (
                "hf://datasets/taco/s2/train.tacozip",
                "https://huggingface.co/datasets/taco/s2/resolve/main/train.tacozip",
            ),
            (
                "hf://datasets/taco/s2@v1.0/a b/c.taco",
                "https://huggingface.co/datasets/taco/s2/resolve/v1.0/a%20b/c.taco",
            ),
            (
                "hf://datasets/taco/s2@refs/pr/7/c.taco",
                "https://huggingface.co/datasets/taco/s2/resolve/refs%2Fpr%2F7/c.taco",
            ),
            (
                "hf://datasets/taco/s2@refs%2Fpr%2F7/c",
                "https://huggingface.co/datasets/taco/s2/resolve/refs%2Fpr%2F7/c",
            ),
            (
                "hf://datasets/taco/s2",
                "https://huggingface.co/datasets/taco/s2/resolve/main",
            ),
            (
                "hf://taco/model/w.bin",
                "https://huggingface.co/taco/model/resolve/main/w.bin",
            ),
            (
                "/vsihf/datasets/taco/s2/c.taco",
                "https://huggingface.co/datasets/taco/s2/resolve/main/c.taco",
            ),
            (
                "https://huggingface.co/datasets/taco/s2/blob/main/c.taco?x=1",
                "https://huggingface.co/datasets/taco/s2/resolve/main/c.taco",
            ),
            (
                "https://hf.co/datasets/taco/s2/tree/main/sub",
                "https://huggingface.co/datasets/taco/s2/resolve/main/sub",
            ),
            (
                "https://huggingface.co/datasets/taco/s2",
                "https://huggingface.co/datasets/taco/s2/resolve/main",
            ),
            (
                "https://huggingface.co/datasets/taco/s2/viewer",
                "https://huggingface.co/datasets/taco/s2/resolve/main",
            ),
            (
                "https://huggingface.co/datasets/taco/s2/resolve/main/c.taco?download=true",
                "https://huggingface.co/datasets/taco/s2/resolve/main/c.taco",
            ),
            (
                "source://ftw/data/a b.tacozip",
                "https://data.source.coop/ftw/data/a%20b.tacozip",
            ),
            (
                "https://source.coop/ftw/data/a.tacozip",
                "https://data.source.coop/ftw/data/a.tacozip",
            ),
            (
                "https://source.coop/repositories/ftw/data/description",
                "https://data.source.coop/ftw/data",
            ),
            (
                "https://zenodo.org/records/123/files/a.zip?download=1",
                "https://zenodo.org/records/123/files/a.zip",
            ),
            (
                "https://zenodo.org/record/123/preview/a.zip",
                "https://zenodo.org/records/123/files/a.zip",
            ),
            (
                "https://doi.org/10.5281/zenodo.123",
                "https://zenodo.org/records/123",
            ),
        ] {
            assert_eq!(web_address(text).as_deref(), Some(wanted), "{text}");
            // An address that has been translated stays.
            assert_eq!(Address::parse(text), Address::parse(wanted), "{text}");
        }
        for other in [
            "https://huggingface.co/docs/hub",
            "https://data.source.coop/ftw/data",
            "https://zenodo.org/communities/taco",
            "https://zenodo.org/records/abc",
            "https://doi.org/10.1000/182",
            "https://example.org/datasets/a/b",
            "s3://bucket/a",
            "hf://datasets/one",
            "/data/a",
        ] {
            assert_eq!(web_address(other), None, "{other}");
        }
    }

    fn listing(text: &str) -> HubListing {
        HubListing::from_address(&Address::parse(text).expect("an address")).expect("is listed")
    }

    #[test]
    fn repositories_are_listed_with_the_addresses_of_their_files() {
        let hub = listing("hf://datasets/taco/s2/sub set");
        assert_eq!(
            hub.request,
            "https://huggingface.co/api/datasets/taco/s2/revision/main"
        );
        let answer = br#"{"id": "taco/s2", "siblings": [{"rfilename": "README.md"},
            {"rfilename": "sub set/a.taco"}]}"#;
        let wanted = vec![
            "https://huggingface.co/datasets/taco/s2/resolve/main/sub%20set/a.taco".to_owned(),
        ];
        assert_eq!(hub.files(answer), Some(wanted));
        assert_eq!(hub.files(b"<html>"), None);
        assert_eq!(
            listing("hf://taco/model").request,
            "https://huggingface.co/api/models/taco/model/revision/main"
        );

        let zenodo = listing("https://doi.org/10.5281/zenodo.123");
        assert_eq!(zenodo.request, "https://zenodo.org/api/records/123");
        let wanted = vec!["https://zenodo.org/records/123/files/a.zip".to_owned()];
        assert_eq!(
            zenodo.files(br#"{"files": [{"key": "a.zip", "size": 3}]}"#),
            Some(wanted)
        );

        let source = listing("source://ftw/data");
        assert_eq!(
            source.request,
            "https://data.source.coop/ftw?list-type=2&max-keys=1000&prefix=data/"
        );
        let answer = b"<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Contents><Key>data/a \
            &amp; b.taco</Key></Contents>\
                       <Contents><Key>other/c</Key></Contents></ListBucketResult>";
        assert_eq!(
            source.files(answer),
            Some(vec![
                "https://data.source.coop/ftw/data/a%20&%20b.taco".to_owned()
            ])
        );
        for text in [
            "https://example.org/a",
            "s3://b/a",
            "https://zenodo.org/records/123/files/a.zip",
        ] {
            assert_eq!(
                HubListing::from_address(&Address::parse(text).expect("an address")),
                None,
                "{text}"
            );
        }
    }
}
