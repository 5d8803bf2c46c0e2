//! Links of the documents of a catalogue.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::error::{Error, Result};
use crate::model::{is_remote, place_above, place_below};
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

/// The place that a link of a document names.
///
/// # Errors
/// For a link of a remote document to this machine.
pub(super) fn place_of_link(document: &Path, link: &str) -> Result<PathBuf> {
    let link = link.strip_prefix("file://").unwrap_or(link);
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
        return Err(Error::unsupported(format!(
            "a remote catalogue can't name {link}, a file of this machine"
        ))
        .at_path(document));
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

/// The file of this machine that a link names. Links are URIs: where there is no file of the name
/// as it is written, `%20` in it is a space.
pub(super) fn decode_local_place(place: PathBuf) -> PathBuf {
    if is_remote(&place) || place.exists() {
        return place;
    }
    let written = place.to_str().filter(|text| text.contains('%'));
    let decoded = written.and_then(|text| percent_decode_str(text).decode_utf8().ok());
    let decoded = decoded.map(|text| PathBuf::from(text.into_owned()));
    decoded.filter(|file| file.exists()).unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_the_name_of_a_file_or_a_uri() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a b#1.tif", "c%20d.tif"] {
            std::fs::write(folder.path().join(name), "x").expect("writes");
        }
        for (link, wanted) in [
            ("a%20b%231.tif", "a b#1.tif"),
            ("a b#1.tif", "a b#1.tif"),
            ("c%20d.tif", "c%20d.tif"),
            ("gone%20file.tif", "gone%20file.tif"),
        ] {
            let found = decode_local_place(folder.path().join(link));
            assert_eq!(found, folder.path().join(wanted), "{link}");
        }
        let remote = PathBuf::from("https://host/a%20b.tif");
        assert_eq!(decode_local_place(remote.clone()), remote);
    }
}
