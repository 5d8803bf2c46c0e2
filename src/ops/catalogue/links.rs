//! Links of the documents of a catalogue.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::error::{Error, Result};
use crate::model::{Address, Scheme, is_remote, path_of_file_url};
use crate::remote::may_link_to;

/// Refuses a link from a server of the internet to one of a private network or of this machine, so
/// that the document of a stranger causes no request there. Redirects follow the same rule.
///
/// # Errors
/// When the server of `place` is in a narrower network than that of `document`.
pub(super) fn check_link_allowed(document: &Path, place: &Path) -> Result<()> {
    if may_link_to(document, place)? {
        Ok(())
    } else {
        Err(Error::unsupported(
            "a catalogue on a server can't link into a narrower network, or to this machine",
        )
        .at_path(place))
    }
}

/// The file or address that a link of a document names. A link from a local document may be a URI
/// reference, percent-encoded, with `\` as separator, as programs on Windows write it, or the name
/// of a file as it is: the name has precedence where there is such a file.
///
/// # Errors
/// For a link of a remote document to a file of this machine, and for an unknown protocol.
pub(super) fn place_of_link(document: &Path, link: &str) -> Result<PathBuf> {
    if is_remote(Path::new(link)) {
        return Ok(PathBuf::from(link));
    }
    let file_uri_path = link.strip_prefix("file://").map(Path::new);
    if file_uri_path.is_none() && has_protocol(link) {
        return Err(
            Error::unsupported(format!("{link} has a protocol that is not known"))
                .at_path(document),
        );
    }
    if let Some(server) = Address::from_path(document) {
        let has_drive = Path::new(link).is_absolute() && !link.starts_with('/');
        if file_uri_path.is_some() || has_drive {
            return Err(Error::unsupported(format!(
                "a remote catalogue can't name {link}, a file of this machine"
            ))
            .at_path(document));
        }
        return Ok(resolve_on_server(&server, link));
    }
    let (as_written, others) = match file_uri_path {
        Some(path) => (path.to_owned(), Vec::from_iter(path_of_file_url(link))),
        None => {
            let decoded = percent_decode_str(link).decode_utf8_lossy();
            let others = [
                decoded.clone().into_owned(),
                link.replace('\\', "/"),
                decoded.replace('\\', "/"),
            ];
            let others = others.iter().filter(|other| *other != link);
            (
                resolve_in_folder(document, link),
                others
                    .map(|link| resolve_in_folder(document, link))
                    .collect(),
            )
        }
    };
    // Files are looked for only where there is a choice: a catalogue has many links.
    if others.is_empty() || as_written.exists() {
        return Ok(as_written);
    }
    let found = others.into_iter().find(|path| path.exists());
    Ok(found.unwrap_or(as_written))
}

/// True for text that begins with a protocol. `://` may also be in the parameters of a link.
fn has_protocol(link: &str) -> bool {
    link.split_once("://")
        .is_some_and(|(protocol, _)| !protocol.contains(['/', '?', '#']))
}

/// The address that a relative link names from a document on a server (RFC 3986, section 5.2):
/// below the folder of the document, from the root of its server (`/a`), or on another server by
/// the same protocol (`//host/a`). What is percent-encoded stays as it is.
fn resolve_on_server(document: &Address, link: &str) -> PathBuf {
    if document.is_web() && link.starts_with("//") {
        let protocol = if document.scheme == Scheme::Http {
            "http:"
        } else {
            "https:"
        };
        return PathBuf::from(format!("{protocol}{link}"));
    }
    let (path, parameters) = match link.split_once('?') {
        Some((path, parameters)) => (path, format!("?{parameters}")),
        None => (link, String::new()),
    };
    let path = if path.is_empty() {
        document.path.to_string()
    } else {
        let folder = if path.starts_with('/') {
            ""
        } else {
            // An address that ends with a slash is that of a folder.
            document
                .path
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder)
        };
        join_parts(folder, path)
    };
    let path = if document.is_web() {
        // Part of a name: documents of catalogues are not linked to by their fragments.
        path.replace('#', "%23")
    } else {
        path
    };
    let server = Address {
        path: "".into(),
        query: None,
        ..document.clone()
    };
    let text = format!("{server}/{path}{parameters}");
    PathBuf::from(Address::parse(&text).map_or(text, |address| address.to_string()))
}

/// The path that a link names from a document of this machine.
fn resolve_in_folder(document: &Path, link: &str) -> PathBuf {
    if Path::new(link).is_absolute() || link.starts_with('/') {
        return PathBuf::from(link);
    }
    let mut folder = document.parent().unwrap_or(Path::new(""));
    let mut parts = Vec::new();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => folder = folder.parent().unwrap_or(Path::new("")),
            ".." => {}
            part => parts.push(part),
        }
    }
    folder.join(parts.join("/"))
}

/// The parts of `path` below `folder`, without `.` and `..`. A slash at the end stays.
fn join_parts(folder: &str, path: &str) -> String {
    // Keys of buckets may have empty parts.
    let mut parts: Vec<&str> = if folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut joined = parts.join("/");
    let is_folder = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    if !joined.is_empty() && (is_folder || matches!(path, "." | "..")) {
        joined.push('/');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_windows_and_of_file_urls_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("sub dir")).expect("folders");
        std::fs::write(folder.join("sub dir/a.tif"), "x").expect("writes");
        let document = folder.join("catalog.json");
        let wanted = folder.join("sub dir/a.tif");
        let text = wanted.to_string_lossy().replace('\\', "/");
        let text = text.trim_start_matches('/');
        for link in [
            ".\\sub dir\\a.tif",
            "sub%20dir\\a.tif",
            &format!("file:///{text}"),
            &format!("file://localhost/{}", text.replace(' ', "%20")),
        ] {
            let found = place_of_link(&document, link).expect("a place");
            assert!(found.exists(), "{link}: {}", found.display());
        }
    }

    #[test]
    fn a_link_is_the_name_of_a_file_or_a_uri() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("p%20q");
        std::fs::create_dir_all(folder.join("sub dir")).expect("folders");
        for name in ["a b#1.tif", "c%20d.tif", "sub dir/e.json"] {
            std::fs::write(folder.join(name), "x").expect("writes");
        }
        let document = folder.join("catalog.json");
        for (link, wanted) in [
            ("a%20b%231.tif", "a b#1.tif"),
            ("a b#1.tif", "a b#1.tif"),
            ("c%20d.tif", "c%20d.tif"),
            ("gone%20file.tif", "gone%20file.tif"),
            ("./sub%20dir/e.json", "sub dir/e.json"),
            ("sub%20dir/../a%20b%231.tif", "a b#1.tif"),
        ] {
            let found = place_of_link(&document, link).expect("a place");
            assert_eq!(found, folder.join(wanted), "{link}");
        }
        let remote = "https://host/a%20b.tif";
        let found = place_of_link(&document, remote).expect("a place");
        assert_eq!(found, Path::new(remote));
    }

    /// The place of a link as text; `None` for one that is refused.
    fn resolve(document: &str, link: &str) -> Option<String> {
        let place = place_of_link(Path::new(document), link).ok()?;
        Some(place.display().to_string())
    }

    #[test]
    fn links_are_relative_to_their_document() {
        for (document, link, expected) in [
            ("/d/items/a.json", "./a.tif", "/d/items/a.tif"),
            ("/d/items/a.json", "../data/a.tif", "/d/data/a.tif"),
            ("/d/a.json", "/e/a.tif", "/e/a.tif"),
            ("/d/a.json", "https://host/a.tif", "https://host/a.tif"),
            ("/d/a.json", "what?.tif", "/d/what?.tif"),
            (
                "https://host/c/items/a.json",
                "../b/a.tif",
                "https://host/c/b/a.tif",
            ),
            (
                "https://host/c/search?limit=2",
                "./search?token=a/b",
                "https://host/c/search?token=a/b",
            ),
            (
                "https://host/c/search?limit=2",
                "?token=7",
                "https://host/c/search?token=7",
            ),
            (
                "https://host/c/search",
                "search?next=s3://b/a",
                "https://host/c/search?next=s3://b/a",
            ),
            (
                "https://host:8080/c?x=/y",
                "/d/a.tif?s=1",
                "https://host:8080/d/a.tif?s=1",
            ),
            ("https://host/v1/", "./search", "https://host/v1/search"),
            ("https://host/v1/", "../v2/", "https://host/v2/"),
            ("https://host", "a.json", "https://host/a.json"),
            (
                "s3://bucket/c/a.json",
                "../b/a b#1.tif",
                "s3://bucket/b/a b#1.tif",
            ),
        ] {
            let found = resolve(document, link);
            assert_eq!(found.as_deref(), Some(expected), "{document} {link}");
        }
    }

    #[test]
    fn links_of_a_server_are_references_of_uris() {
        let document = "https://host:8080/c/items/a.json";
        for (link, expected) in [
            ("a%20b.tif", "https://host:8080/c/items/a%20b.tif"),
            ("a b#1.tif", "https://host:8080/c/items/a%20b%231.tif"),
            ("/v1/search", "https://host:8080/v1/search"),
            ("/../v1/./a.json", "https://host:8080/v1/a.json"),
            ("../../../../a.json", "https://host:8080/a.json"),
            ("//other/a.tif", "https://other/a.tif"),
        ] {
            assert_eq!(resolve(document, link).as_deref(), Some(expected), "{link}");
        }
        assert_eq!(
            resolve("s3://bucket/c/a.json", "/b/a.tif").as_deref(),
            Some("s3://bucket/b/a.tif")
        );
    }

    #[test]
    fn files_of_this_machine_and_unknown_protocols_are_refused() {
        for link in [
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "file:////etc/passwd",
        ] {
            assert_eq!(resolve("https://host/c/a.json", link), None, "{link}");
        }
        assert_eq!(resolve("s3://bucket/a.json", "file:///etc/passwd"), None);
        assert_eq!(resolve("/d/a.json", "ftp://host/a.tif"), None);
    }

    #[cfg(unix)]
    #[test]
    fn file_uris_of_a_local_document_are_decoded() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a b.tif");
        std::fs::write(&file, "x").expect("writes");
        let folder = folder.path().display();
        for link in [
            format!("file://{folder}/a%20b.tif"),
            format!("file://localhost{folder}/a%20b.tif"),
            format!("file://{folder}/a b.tif"),
        ] {
            let found = place_of_link(Path::new("/d/a.json"), &link).expect("a place");
            assert_eq!(found, file, "{link}");
        }
    }
}
