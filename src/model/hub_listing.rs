//! The request that lists the files of a repository, record or folder of a hub of datasets, and its
//! answer. No IO.

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use quick_xml::events::Event;

use super::address::Address;
use super::hub::{SOURCE_DATA, hugging_face_server, is_number};
use super::url_encoding::ENCODED;

/// Objects in a list of Source Cooperative; the protocol allows no more.
const SOURCE_LIST_MAX: usize = 1000;

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
        if let Some(path) = strip_server(&text, &hugging_face_server()) {
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
                    hugging_face_server()
                ),
                root: format!("{}/{repository}/resolve/{revision}", hugging_face_server()),
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
