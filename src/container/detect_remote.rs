//! Detects the format of an address on a server. Servers list no folders: the address is requested
//! as a file first and, when there is none, the files that every folder format contains are
//! requested.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::hub_datasets::datasets_of_hub;
use super::magic_bytes::detect_bytes;
use super::tortilla::{HEADER_SIZE, TortillaHeader, pattern};
use super::versioned::{VERSIONS_FILE, VersionLists, default_version};
use super::{ByteSource, Detected, Format, PartSet, read_collection};
use crate::error::{Cause, Error, Result, separate_transient_error};
use crate::model::{Address, is_remote, place_above, place_below};
use crate::remote::{FIRST_OF_DATASET, RemoteFile, may_be_folder, means_absent};

/// Maximum number of parts: four digits.
const PARTS_MAX: u64 = 10_000;
/// Datasets of a repository that an error names.
const DATASETS_NAMED: usize = 20;
/// Bytes read from the beginning of a file for detection.
const HEAD: u64 = 256;

/// Reads the first bytes of the file, or probes the address for the files of a folder dataset.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when `path` is no address,
/// [`Kind::Format`](crate::error::Kind::Format) when it holds no dataset, or the error of the
/// request.
pub(super) fn detect_remote(path: &Path, lists: VersionLists) -> Result<Detected> {
    let address =
        Address::from_path(path).ok_or_else(|| Error::usage("this is no address").at_path(path))?;
    let name = address.name().to_owned();
    let plain = PathBuf::from(address.to_string().trim_end_matches('/'));
    if name == "COLLECTION.json"
        && let Some(folder) = place_above(&plain)
    {
        return detect_folder(&folder, None, lists);
    }
    if let Some(set) = remote_parts(&plain)? {
        let first = set
            .files
            .first()
            .map(|first| detect_remote(first, VersionLists::Followed))
            .transpose()?;
        return Ok(Detected {
            format: first.map_or(Format::Tortilla, |first| first.format),
            path: plain,
        });
    }
    if name == ".tacocat" {
        let collection =
            RemoteFile::open_if_there(&place_below(&plain, "COLLECTION.json"), FIRST_OF_DATASET)?;
        let is_third = collection
            .as_ref()
            .map(is_third_generation)
            .transpose()?
            .unwrap_or(false);
        return Ok(Detected {
            format: if is_third {
                Format::Taco3
            } else {
                Format::Tacocat
            },
            path: plain,
        });
    }
    if name == VERSIONS_FILE && lists == VersionLists::Followed {
        return detect_remote(&default_version(&plain)?, VersionLists::Refused);
    }
    if address.path.ends_with('/') || name.is_empty() {
        return detect_folder(&plain, None, lists);
    }
    let file = match RemoteFile::open(&plain, FIRST_OF_DATASET) {
        Ok(file) => file,
        Err(error) if may_be_folder(&error) => return detect_folder(&plain, Some(error), lists),
        Err(error) => return Err(error),
    };
    let head = file.read(0, HEAD.min(file.size_bytes()))?;
    // Servers list a folder as HTML, XML or JSON.
    let is_list = head
        .trim_ascii_start()
        .first()
        .is_some_and(|first| b"<[{".contains(first));
    match detect_bytes(&plain, file.size_bytes(), &head, || {
        Ok(ByteSource::of_remote(file.clone(), &plain))
    }) {
        Err(error) if is_list => detect_folder(&plain, Some(error), lists),
        found => found,
    }
}

/// The parts named by `path`, local ([`PartSet::from_path`]) or remote.
///
/// # Errors
/// When the first part of a remote pattern cannot be read, or does not state its number of parts.
pub fn parts_at(path: &Path) -> Result<Option<PartSet>> {
    if is_remote(path) {
        remote_parts(path)
    } else {
        Ok(PartSet::from_path(path))
    }
}

/// Resolves a remote pattern `name.*.part.tortilla`. Servers list no folders, so the number of
/// parts comes from the first part's header. Some writers number from 1 instead of 0.
fn remote_parts(path: &Path) -> Result<Option<PartSet>> {
    let (Some(address), Some(folder)) = (Address::from_path(path), place_above(path)) else {
        return Ok(None);
    };
    let Some((stem, ending)) = pattern(address.name()) else {
        return Ok(None);
    };
    let part = |number: u64| place_below(&folder, &format!("{stem}.{number:04}.part.{ending}"));
    let (zero, one) = (part(0), part(1));
    let mut opened = RemoteFile::open_all(&[&zero, &one], FIRST_OF_DATASET)?.into_iter();
    let first = match (opened.next(), opened.next()) {
        (Some(Ok(first)), _) => first,
        (Some(Err(error)), Some(Ok(first))) if means_absent(&error) => first,
        (Some(Err(error)), _) => return Err(error),
        (None, _) => return Ok(None),
    };
    let header = TortillaHeader::parse(&first.read(0, HEADER_SIZE.min(first.size_bytes()))?);
    let count = header
        .map_err(|error| error.at_place(first.text()))?
        .partitions;
    if count > PARTS_MAX {
        return Err(
            Error::format(format!("the first part says that there are {count} parts"))
                .at_place(first.text()),
        );
    }
    let places: Vec<PathBuf> = (0..=count).map(part).collect();
    let opened = RemoteFile::open_all(
        &places.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        FIRST_OF_DATASET,
    )?;
    let mut files = Vec::with_capacity(places.len());
    for (place, opened) in places.into_iter().zip(opened) {
        match opened {
            Ok(_) => files.push(place),
            Err(error) if means_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(PartSet { files }))
}

fn detect_folder(folder: &Path, before: Option<Error>, lists: VersionLists) -> Result<Detected> {
    let places =
        [".tacocat/COLLECTION.json", "COLLECTION.json"].map(|name| place_below(folder, name));
    let mut opened = RemoteFile::open_all(&[&places[0], &places[1]], FIRST_OF_DATASET)?.into_iter();
    // As in the Python reader, a `.tacocat` takes precedence over a dataset in the same folder. A
    // request that fails for now counts as existing.
    if let Some(Ok(file)) = opened.next().map(separate_transient_error).transpose()? {
        let format = if is_third_generation(&file)? {
            Format::Taco3
        } else {
            Format::Tacocat
        };
        return Ok(Detected {
            format,
            path: place_below(folder, ".tacocat"),
        });
    }
    let found = |format, path: PathBuf| Ok(Detected { format, path });
    match opened.next().map(separate_transient_error).transpose()? {
        Some(Ok(file)) if is_third_generation(&file)? => found(Format::Taco3, folder.to_owned()),
        Some(Ok(_)) if place_name(folder) == ".tacocat" => {
            found(Format::Tacocat, folder.to_owned())
        }
        Some(Ok(_)) => found(Format::Folder, folder.to_owned()),
        other => {
            for (name, format) in [
                ("__TACOCAT__", Format::TacocatFile),
                ("TACOLLECTION.json", Format::Tacollection),
            ] {
                let index = place_below(folder, name);
                if separate_transient_error(RemoteFile::open_if_there(&index, FIRST_OF_DATASET))?
                    .is_ok_and(|file| file.is_some())
                {
                    return found(format, index);
                }
            }
            let list = place_below(folder, VERSIONS_FILE);
            if lists == VersionLists::Followed
                && separate_transient_error(RemoteFile::open_if_there(&list, FIRST_OF_DATASET))?
                    .is_ok_and(|file| file.is_some())
            {
                return detect_remote(&default_version(&list)?, VersionLists::Refused);
            }
            let reason = before.or_else(|| other.and_then(Result::err));
            let reason = reason.unwrap_or_else(|| {
                Error::format("there is no dataset at this address").at_path(folder)
            });
            detect_in_repository(folder, reason, lists)
        }
    }
}

/// The only dataset of a repository of a hub; `reason` is the error on other servers, and where the
/// hub gives no list.
fn detect_in_repository(folder: &Path, reason: Error, lists: VersionLists) -> Result<Detected> {
    let Some(address) = Address::from_path(folder) else {
        return Err(reason);
    };
    let Ok(Some(datasets)) = separate_transient_error(datasets_of_hub(&address))? else {
        return Err(reason);
    };
    match datasets.as_slice() {
        [only] if only == folder => Err(reason),
        [] => Err(Error::format("the repository holds no TACO dataset")
            .at_path(folder)
            .because(reason)),
        [only] => detect_remote(only, lists),
        [first, ..] => {
            let message = format!("the repository holds {} datasets", datasets.len());
            let mut error = Error::usage(message)
                .at_path(folder)
                .caused_by(Cause::SeveralDatasets);
            error = error.hint(format!("name one of them, like {}", first.display()));
            for other in datasets.iter().take(DATASETS_NAMED).skip(1) {
                error = error.hint(other.display().to_string());
            }
            Err(error)
        }
    }
}

/// True for TACO 3, which has the same COLLECTION.json and DATA/ as a FOLDER and differs in
/// `taco:version`.
fn is_third_generation(collection: &Arc<RemoteFile>) -> Result<bool> {
    let file = ByteSource::of_remote(collection.clone(), Path::new(collection.text()));
    let fields = separate_transient_error(read_collection(&file, 0, file.size_bytes()))?;
    let version = fields
        .as_ref()
        .ok()
        .and_then(|fields| fields.get("taco:version")?.as_str());
    Ok(version.is_some_and(|version| version.starts_with("3.")))
}

fn place_name(path: &Path) -> String {
    Address::from_path(path)
        .map(|address| address.name().to_owned())
        .unwrap_or_default()
}
