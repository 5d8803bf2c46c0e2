//! What an address of another machine is. A server has no folders to look into: a file is asked for, and where there is none, the
//! files that a folder would have to hold.

use std::path::{Path, PathBuf};

use super::detect::{Detected, Format, detect_bytes};
use crate::error::{Error, Result};
use crate::model::{Address, place_above, place_below};
use crate::remote::{FIRST_OF_DATASET, RemoteFile, may_be_folder};

/// Bytes that tell a format.
const HEAD: u64 = 256;

/// Looks at the beginning of the file, or for the files of a folder.
pub fn detect_remote(path: &Path) -> Result<Detected> {
    let address = Address::of(path).ok_or_else(|| Error::usage("this is no address").at_path(path))?;
    let name = address.name().to_owned();
    let plain = PathBuf::from(address.to_string().trim_end_matches('/'));
    if name == "COLLECTION.json"
        && let Some(folder) = place_above(&plain)
    {
        return detect_folder(&folder, None);
    }
    if name == ".tacocat" {
        return Ok(Detected { format: Format::Tacocat, path: plain });
    }
    if address.path.ends_with('/') || name.is_empty() {
        return detect_folder(&plain, None);
    }
    let file = match RemoteFile::open(&plain, FIRST_OF_DATASET) {
        Ok(file) => file,
        Err(error) if may_be_folder(&error) => return detect_folder(&plain, Some(error)),
        Err(error) => return Err(error),
    };
    let head = file.read(0, HEAD.min(file.size_bytes()))?;
    let page = head.trim_ascii_start().get(..1) == Some(b"<");
    match detect_bytes(&plain, file.size_bytes(), &head) {
        Err(error) if page => detect_folder(&plain, Some(error)),
        found => found,
    }
}

fn detect_folder(folder: &Path, before: Option<Error>) -> Result<Detected> {
    let places = [".tacocat/COLLECTION.json", "COLLECTION.json"].map(|name| place_below(folder, name));
    let mut opened = RemoteFile::open_all(&[&places[0], &places[1]], FIRST_OF_DATASET)?.into_iter();
    // As in the Python reader, the index wins over a dataset in the same folder.
    if let Some(Ok(_)) = opened.next() {
        return Ok(Detected { format: Format::Tacocat, path: place_below(folder, ".tacocat") });
    }
    let found = |format, path: PathBuf| Ok(Detected { format, path });
    match opened.next() {
        Some(Ok(_)) if place_name(folder) == ".tacocat" => found(Format::Tacocat, folder.to_owned()),
        Some(Ok(_)) => found(Format::Folder, folder.to_owned()),
        Some(Err(error)) if error.is_cancelled() => Err(error),
        other => {
            let index = place_below(folder, "__TACOCAT__");
            if RemoteFile::open_if_there(&index, FIRST_OF_DATASET).is_ok_and(|file| file.is_some()) {
                return found(Format::TacocatFile, index);
            }
            let reason = before.or_else(|| other.and_then(Result::err));
            Err(reason.unwrap_or_else(|| Error::format("there is no dataset at this address").at_path(folder)))
        }
    }
}

fn place_name(path: &Path) -> String {
    Address::of(path).map(|address| address.name().to_owned()).unwrap_or_default()
}
