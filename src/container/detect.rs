//! Detects the format of a path from its content, never from its name alone. No other module
//! decides a format.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::early::is_avro_folder;
use super::magic_bytes::detect_bytes;
use super::versioned::{VERSIONS_FILE, VersionLists, default_version};
use super::zips_in_folder::zips_in;
use super::{ByteSource, Detected, Format, PartSet};
use crate::error::{Error, IoContext, Result};
use crate::model::is_remote;

/// Number of ZIPs of a folder of which one has to be a dataset for the advice to index them.
const ZIPS_LOOKED_AT: usize = 8;

/// Detects the format from magic bytes or the folder layout.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when the path is no TACO dataset,
/// [`Kind::Usage`](crate::error::Kind::Usage) when a folder holds the parts of several datasets, or
/// an IO error when the path cannot be read.
pub fn detect(path: &Path) -> Result<Detected> {
    // A path with wildcards is a pattern only when no file has that literal name.
    if !path.exists()
        && let Some(first) = PartSet::from_path(path).and_then(|set| set.files.into_iter().next())
    {
        return Ok(Detected {
            format: detect(&first)?.format,
            path: path.to_owned(),
        });
    }
    if is_remote(path) {
        return super::detect_remote::detect_remote(path, VersionLists::Followed);
    }
    let meta = std::fs::metadata(path).io_at("open", path)?;
    if meta.is_dir() {
        detect_folder(path, VersionLists::Followed)
    } else {
        detect_file(path, meta.len())
    }
}

/// The format of a folder that is a dataset with its samples as files below it.
fn dataset_folder(path: &Path) -> Option<Format> {
    let has = |name: &str| path.join(name).exists();
    if has("METADATA/sample.parquet") {
        return Some(Format::Taco3);
    }
    if is_avro_folder(path) {
        return Some(Format::Early);
    }
    let is_folder = has("METADATA/level0.parquet")
        || (has("COLLECTION.json") && (has("DATA") || has("METADATA")));
    is_folder.then_some(Format::Folder)
}

/// True when the folder is a dataset.
pub(super) fn is_dataset_folder(path: &Path) -> bool {
    dataset_folder(path).is_some()
}

fn detect_folder(path: &Path, lists: VersionLists) -> Result<Detected> {
    let has = |name: &str| path.join(name).exists();
    if has("COLLECTION.json") && has("sample.parquet") {
        return Detected::from_format(Format::Taco3, path);
    }
    if path.file_name().is_some_and(|name| name == ".tacocat")
        && (has("COLLECTION.json") || has("level0.parquet"))
    {
        return Detected::from_format(Format::Tacocat, path);
    }
    // As in the Python reader, a `.tacocat` takes precedence over a dataset in the same folder.
    if has(".tacocat/COLLECTION.json") {
        let format = if has(".tacocat/sample.parquet") {
            Format::Taco3
        } else {
            Format::Tacocat
        };
        return Detected::from_format(format, &path.join(".tacocat"));
    }
    if let Some(format) = dataset_folder(path) {
        return Detected::from_format(format, path);
    }
    if has("__TACOCAT__") {
        return Detected::from_format(Format::TacocatFile, &path.join("__TACOCAT__"));
    }
    if has("TACOLLECTION.json") {
        return Detected::from_format(Format::Tacollection, &path.join("TACOLLECTION.json"));
    }
    if has(VERSIONS_FILE) && lists == VersionLists::Followed {
        return detect_version(&path.join(VERSIONS_FILE));
    }
    if let Some(first) = PartSet::from_path(path).and_then(|set| set.files.into_iter().next()) {
        return Detected::from_format(detect(&first)?.format, path);
    }
    let sets = super::patterns_in(path);
    if let [_, _, ..] = sets.as_slice() {
        let message = format!(
            "this folder holds the parts of {} datasets: {}",
            sets.len(),
            sets.join(", ")
        );
        let one = path.join(&sets[0]);
        return Err(Error::usage(message)
            .at_path(path)
            .hint(format!("name one of them, like {}", one.display())));
    }
    let error = Error::format(
        "this folder is not a TACO dataset: it has no COLLECTION.json with METADATA/ and DATA/",
    )
    .at_path(path);
    let is_dataset = |zip: &PathBuf| detect(zip).is_ok();
    if zips_in(path).is_ok_and(|zips| zips.iter().take(ZIPS_LOOKED_AT).any(is_dataset)) {
        return Err(error.hint(
            "it has datasets in it: open one of them, or write an index over them with \
                `taco-studio tacocat`, which opens as one dataset",
        ));
    }
    Err(error.hint(
        "to build a dataset from the files in it, use `taco-studio create`, or drop it into \
            the window",
    ))
}

/// The default version of a list of versions.
fn detect_version(list: &Path) -> Result<Detected> {
    let version = default_version(list)?;
    let meta = std::fs::metadata(&version).io_at("open", &version)?;
    if meta.is_dir() {
        detect_folder(&version, VersionLists::Refused)
    } else {
        detect_file(&version, meta.len())
    }
}

fn detect_file(path: &Path, size: u64) -> Result<Detected> {
    let mut head = Vec::with_capacity(256);
    let file = crate::files::open(path).io_at("open", path)?;
    file.take(256).read_to_end(&mut head).io_at("read", path)?;
    if path
        .file_name()
        .is_some_and(|name| name == "COLLECTION.json")
        && let Some(folder) = path.parent()
        && ["METADATA", "level0.parquet", "sample.parquet"]
            .iter()
            .any(|name| folder.join(name).exists())
    {
        return detect_folder(folder, VersionLists::Followed);
    }
    if path.file_name().is_some_and(|name| name == VERSIONS_FILE)
        && head.trim_ascii_start().starts_with(b"{")
    {
        return detect_version(path);
    }
    detect_bytes(path, size, &head, || ByteSource::open(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_not_the_name() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("writes");
            path
        };
        let mut zip = b"PK\x03\x04".to_vec();
        zip.resize(30, 0);
        zip.extend(b"TACO_HEADER");
        assert_eq!(
            detect(&write("any.bin", &zip)).expect("is one").format,
            Format::Zip
        );
        zip.truncate(30);
        zip.extend(b"__cozip__");
        assert_eq!(
            detect(&write("next.zip", &zip)).expect("is one").format,
            Format::Taco3
        );
        zip.truncate(30);
        assert!(detect(&write("plain.tacozip", &zip)).is_err());
        assert!(detect(&write("empty.tacozip", b"")).is_err());
        assert!(detect(folder.path()).is_err());
        for name in ["a.0000.part.tortilla", "b.0000.part.taco"] {
            write(name, b"#y");
        }
        let error = detect(folder.path()).expect_err("is two datasets").report();
        assert!(
            error.contains("a.*.part.tortilla, b.*.part.taco"),
            "{error}"
        );
    }
}
