//! Links of the documents of a catalogue.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::error::{Error, Result};
use crate::model::{is_remote, path_of_file_url, place_above, place_below};
use crate::remote::may_link_to;

/// A server of the internet leads to no private network and not to this machine, as with redirects.
///
/// # Errors
/// When the server of `document` is of a wider network than that of `place`.
pub(super) fn expect_reachable(document: &Path, place: &Path) -> Result<()> {
    if may_link_to(document, place)? {
        Ok(())
    } else {
        Err(Error::unsupported(
            "a catalogue on a server can't lead into a narrower network, or to this machine",
        )
        .at_path(place))
    }
}

/// The place that a link of a document names. Links are URIs: where this machine has no file of the
/// name as it is written, `%20` in it is a space, and `\`, as programs on Windows write it, a
/// separator.
///
/// # Errors
/// For a link of a remote document to this machine.
pub(super) fn place_of_link(document: &Path, link: &str) -> Result<PathBuf> {
    let place = place_as_written(document, link)?;
    if is_remote(&place) || place.exists() {
        return Ok(place);
    }
    let decoded = percent_decode_str(link).decode_utf8_lossy().into_owned();
    let slashed = [link, &decoded].map(|link| link.replace('\\', "/"));
    let spellings = [decoded].into_iter().chain(slashed);
    let found = spellings
        .filter_map(|link| place_as_written(document, &link).ok())
        .chain(path_of_file_url(link))
        .find(|place| !is_remote(place) && place.exists());
    Ok(found.unwrap_or(place))
}

/// The place of a link of a remote document that begins at the root of its server (RFC 3986,
/// section 4.2): `/data/a.tif`, or `//host/data/a.tif` with a server of its own.
fn place_at_root(document: &Path, link: &str) -> Option<PathBuf> {
    let (protocol, rest) = document.to_str()?.split_once("://")?;
    let server = rest.split(['/', '?', '#']).next()?;
    let rooted = match link.strip_prefix("//") {
        Some(own) => format!("{protocol}://{own}"),
        None => format!("{protocol}://{server}{link}"),
    };
    Some(PathBuf::from(rooted)).filter(|place| is_remote(place))
}

fn place_as_written(document: &Path, link: &str) -> Result<PathBuf> {
    let of_this_machine = link.strip_prefix("file://").map(|rest| {
        let path = rest.strip_prefix("localhost");
        path.filter(|path| path.starts_with('/')).unwrap_or(rest)
    });
    let is_relative_to_server = of_this_machine.is_none() && link.starts_with('/');
    let link = of_this_machine.unwrap_or(link);
    if is_remote(Path::new(link)) {
        return Ok(PathBuf::from(link));
    }
    if link.contains("://") {
        return Err(
            Error::unsupported(format!("{link} has a protocol that is not known"))
                .at_path(document),
        );
    }
    let is_absolute = Path::new(link).is_absolute() || link.starts_with('/');
    if is_absolute && is_remote(document) {
        let rooted = place_at_root(document, link).filter(|_| is_relative_to_server);
        return rooted.ok_or_else(|| {
            Error::unsupported(format!(
                "a remote catalogue can't name {link}, a file of this machine"
            ))
            .at_path(document)
        });
    }
    if is_absolute {
        return Ok(PathBuf::from(link));
    }
    // The parameters of an address are no part of its path.
    let (link, parameters) = match link.split_once('?').filter(|_| is_remote(document)) {
        Some((link, parameters)) => (link, Some(parameters)),
        None => (link, None),
    };
    let document = match document
        .to_str()
        .and_then(|text| text.split_once('?'))
        .filter(|_| is_remote(document))
    {
        Some((address, _)) => Path::new(address),
        None => document,
    };
    // An address with a slash at its end is that of a folder.
    let mut folder = match document
        .to_str()
        .and_then(|text| text.strip_suffix('/'))
        .filter(|_| is_remote(document))
    {
        Some(folder) => PathBuf::from(folder),
        None => place_above(document).unwrap_or_default(),
    };
    let mut rest = Vec::new();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." if rest.pop().is_none() => folder = place_above(&folder).unwrap_or_default(),
            ".." => {}
            part => rest.push(part),
        }
    }
    let place = place_below(&folder, &rest.join("/"));
    Ok(match parameters {
        Some(parameters) => PathBuf::from(format!("{}?{parameters}", place.display())),
        None => place,
    })
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
    fn a_link_of_a_server_may_begin_at_its_root() {
        let of = |document: &str, link: &str| {
            place_of_link(Path::new(document), link).map(|place| place.display().to_string())
        };
        for (document, link, wanted) in [
            ("https://host/c/a.json", "/d/a.tif", "https://host/d/a.tif"),
            (
                "https://host:8080/c?x=/y",
                "/d/a.tif?s=1",
                "https://host:8080/d/a.tif?s=1",
            ),
            ("s3://bucket/c/a.json", "/d/a.tif", "s3://bucket/d/a.tif"),
            (
                "https://host/c/a.json",
                "//other/a.tif",
                "https://other/a.tif",
            ),
        ] {
            let found = of(document, link).expect("a place");
            assert_eq!(found, wanted, "{link}");
        }
        for link in [
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "file:////etc/passwd",
        ] {
            assert!(of("https://host/c/a.json", link).is_err(), "{link}");
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
}
