//! Links of the documents of a catalogue.

use std::path::{Path, PathBuf};

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
