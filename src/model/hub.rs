//! Hubs of datasets: Hugging Face, Source Cooperative and Zenodo. Their own addresses (`hf://`,
//! `source://`) and the addresses of their pages become the address of the file on the hub's
//! server. No IO.

use percent_encoding::utf8_percent_encode;

use super::url_encoding::ENCODED;

/// Server of Source Cooperative with the files; its pages are elsewhere.
pub(super) const SOURCE_DATA: &str = "https://data.source.coop";
/// Revision of a repository that is not named.
const MAIN: &str = "main";

/// Server of Hugging Face without trailing slash. Its own library takes another one from
/// `HF_ENDPOINT`.
pub(super) fn hugging_face_server() -> String {
    let other = std::env::var("HF_ENDPOINT")
        .ok()
        .filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    other.map_or_else(
        || "https://huggingface.co".to_owned(),
        |url| url.trim_end_matches('/').to_owned(),
    )
}

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
            hugging_face_server()
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

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Address;

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
}
