//! Detects the format of a path from its content, never from its name alone. No other module decides a format.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::PartSet;
use crate::error::{Error, IoContext, Result};
use crate::model::is_remote;

/// Maximum size in bytes of a JSON file that is searched for [`LISTS`].
const JSON_MAX: u64 = 64 << 20;
/// The key of the list of datasets in a TACOLLECTION.
const LISTS: &[u8] = b"\"taco:sources\"";

/// Every known container format of every generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// TACO 2.0 ZIP with TACO_HEADER (TACO 2.0, section 6.3).
    Zip,
    /// TACO 2.0 FOLDER (section 6.4).
    Folder,
    /// The `.tacocat` folder of current tools.
    Tacocat,
    /// The `__TACOCAT__` file (section 6.5).
    TacocatFile,
    /// TACOLLECTION.json (section 6.6).
    Tacollection,
    /// Several datasets opened as one; exists in memory only.
    Joined,
    /// A TORTILLA 0.5 file.
    Tortilla,
    /// A TACO 0.2 file.
    Taco,
    /// TACO 3: a ZIP that begins with `__cozip__`, or its folder form.
    Taco3,
}

impl Format {
    /// Identifier in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Format::Zip => "zip",
            Format::Folder => "folder",
            Format::Tacocat => "tacocat",
            Format::TacocatFile => "tacocat_file",
            Format::Tacollection => "tacollection",
            Format::Joined => "joined",
            Format::Tortilla => "tortilla",
            Format::Taco => "taco",
            Format::Taco3 => "taco3",
        }
    }

    /// Label on badges of the window.
    pub fn badge(self) -> &'static str {
        match self {
            Format::Zip => "ZIP",
            Format::Folder => "FOLDER",
            Format::Tacocat | Format::TacocatFile => "TACOCAT",
            Format::Tacollection => "TACOLLECTION",
            Format::Joined => "JOINED",
            Format::Tortilla => "TORTILLA",
            Format::Taco => "TACO",
            Format::Taco3 => "TACO 3",
        }
    }

    /// Generation of the specification.
    pub fn generation(self) -> &'static str {
        match self {
            Format::Zip | Format::Folder | Format::Tacocat | Format::TacocatFile | Format::Tacollection | Format::Joined => "2.0",
            Format::Tortilla => "0.5",
            Format::Taco => "0.2",
            Format::Taco3 => "3.0",
        }
    }

    pub(super) fn described(self) -> &'static str {
        match self {
            Format::Zip => "a TACO 2.0 ZIP",
            Format::Folder => "a TACO 2.0 FOLDER",
            Format::Tacocat => "a TACOCAT folder",
            Format::TacocatFile => "a __TACOCAT__ file",
            Format::Tacollection => "a TACOLLECTION.json",
            Format::Joined => "several datasets opened as one",
            Format::Tortilla => "a TORTILLA 0.5 file",
            Format::Taco => "a TACO 0.2 file",
            Format::Taco3 => "a TACO 3 dataset",
        }
    }
}

/// A detected container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The kind of container.
    pub format: Format,
    /// Path of the container itself: for the COLLECTION.json of a FOLDER, the folder.
    pub path: PathBuf,
}

/// Detects the format from magic bytes or the folder layout.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when the path is no TACO dataset, [`Kind::Usage`](crate::error::Kind::Usage) when
/// a folder holds the parts of several datasets, or an IO error when the path cannot be read.
pub fn detect(path: &Path) -> Result<Detected> {
    // A path with wildcards is a pattern only when no file has that literal name.
    if !path.exists()
        && let Some(first) = PartSet::of(path).and_then(|set| set.files.into_iter().next())
    {
        return Ok(Detected { format: detect(&first)?.format, path: path.to_owned() });
    }
    if is_remote(path) {
        return super::detect_remote::detect_remote(path);
    }
    let meta = std::fs::metadata(path).io_at("open", path)?;
    if meta.is_dir() { detect_folder(path) } else { detect_file(path, meta.len()) }
}

fn found(format: Format, path: &Path) -> Result<Detected> {
    Ok(Detected { format, path: path.to_owned() })
}

/// The format of a folder that is a dataset with its samples as files below it.
fn dataset_folder(path: &Path) -> Option<Format> {
    let has = |name: &str| path.join(name).exists();
    if has("METADATA/sample.parquet") {
        return Some(Format::Taco3);
    }
    let is_folder = has("METADATA/level0.parquet") || (has("COLLECTION.json") && (has("DATA") || has("METADATA")));
    is_folder.then_some(Format::Folder)
}

/// True when the folder is a dataset.
pub(super) fn is_dataset_folder(path: &Path) -> bool {
    dataset_folder(path).is_some()
}

fn detect_folder(path: &Path) -> Result<Detected> {
    let has = |name: &str| path.join(name).exists();
    if path.file_name().is_some_and(|name| name == ".tacocat") && (has("COLLECTION.json") || has("level0.parquet")) {
        return found(Format::Tacocat, path);
    }
    // As in the Python reader, a `.tacocat` takes precedence over a dataset in the same folder.
    if has(".tacocat/COLLECTION.json") {
        return found(Format::Tacocat, &path.join(".tacocat"));
    }
    if let Some(format) = dataset_folder(path) {
        return found(format, path);
    }
    if has("__TACOCAT__") {
        return found(Format::TacocatFile, &path.join("__TACOCAT__"));
    }
    if has("TACOLLECTION.json") {
        return found(Format::Tacollection, &path.join("TACOLLECTION.json"));
    }
    if let Some(first) = PartSet::of(path).and_then(|set| set.files.into_iter().next()) {
        return found(detect(&first)?.format, path);
    }
    let sets = super::patterns_in(path);
    if let [_, _, ..] = sets.as_slice() {
        let message = format!("this folder holds the parts of {} datasets: {}", sets.len(), sets.join(", "));
        let one = path.join(&sets[0]);
        return Err(Error::usage(message).at_path(path).hint(format!("name one of them, like {}", one.display())));
    }
    Err(Error::format("this folder is not a TACO dataset: it has no COLLECTION.json with METADATA/ and DATA/")
        .at_path(path)
        .hint("to build a dataset from the files in it, use `taco-studio create`, or drop it into the window"))
}

fn detect_file(path: &Path, size: u64) -> Result<Detected> {
    let mut head = Vec::with_capacity(256);
    let file = crate::files::open(path).io_at("open", path)?;
    file.take(256).read_to_end(&mut head).io_at("read", path)?;
    detect_bytes(path, size, &head)
}

/// The format of a file, from its first bytes (`head`), its size in bytes and its name.
pub(super) fn detect_bytes(path: &Path, size: u64, head: &[u8]) -> Result<Detected> {
    let u64_at = |at: usize| head.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    if head.starts_with(b"PK\x03\x04") {
        return match head.get(30..) {
            Some(name) if name.starts_with(b"TACO_HEADER") => found(Format::Zip, path),
            Some(name) if name.starts_with(b"__cozip__") => found(Format::Taco3, path),
            _ => Err(Error::format("this is a ZIP, but not a TACO one: TACO_HEADER is not at its beginning")
                .at_path(path)
                .hint("unpack it and build a dataset from its files")),
        };
    }
    if head.starts_with(b"TACOCAT\0") {
        return found(Format::TacocatFile, path);
    }
    // A magic number of two bytes is weak: the footer's range must also lie inside the file.
    if head.starts_with(b"#y") || head.starts_with(b"WX") {
        let footer = u64_at(2).zip(u64_at(10)).and_then(|(offset, length)| offset.checked_add(length));
        if footer.is_some_and(|end| end <= size) || path.extension().is_some_and(|e| e == "tortilla" || e == "taco") {
            return found(if head[0] == b'#' { Format::Tortilla } else { Format::Taco }, path);
        }
    }
    if path.file_name().is_some_and(|name| name == "COLLECTION.json")
        && !is_remote(path)
        && let Some(folder) = path.parent()
        && (folder.join("METADATA").exists() || folder.join("level0.parquet").exists())
    {
        return detect_folder(folder);
    }
    if head.first() == Some(&b'{') && is_tacollection(path, size) {
        return found(Format::Tacollection, path);
    }
    let what = match path.file_name() {
        Some(name) if name == "__TACOCAT__" => "this file is named __TACOCAT__, but does not begin with TACOCAT",
        _ if size == 0 => "this file is empty",
        _ => "this file is not a TACO dataset",
    };
    Err(Error::format(what)
        .at_path(path)
        .hint("a TACO dataset is a .tacozip, or a folder with COLLECTION.json, METADATA/ and DATA/"))
}

/// True for a JSON file named TACOLLECTION.json, or one of another name that lists datasets.
fn is_tacollection(path: &Path, size: u64) -> bool {
    if path.file_name().is_some_and(|name| name == "TACOLLECTION.json") {
        return true;
    }
    let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) && size <= JSON_MAX;
    json && crate::files::read(path).is_ok_and(|text| text.windows(LISTS.len()).any(|part| part == LISTS))
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
        assert_eq!(detect(&write("any.bin", &zip)).expect("is one").format, Format::Zip);
        zip.truncate(30);
        zip.extend(b"__cozip__");
        assert_eq!(detect(&write("next.zip", &zip)).expect("is one").format, Format::Taco3);
        zip.truncate(30);
        assert!(detect(&write("plain.tacozip", &zip)).is_err());
        assert!(detect(&write("empty.tacozip", b"")).is_err());
        assert!(detect(folder.path()).is_err());
        for name in ["a.0000.part.tortilla", "b.0000.part.taco"] {
            write(name, b"#y");
        }
        let error = detect(folder.path()).expect_err("is two datasets").report();
        assert!(error.contains("a.*.part.tortilla, b.*.part.taco"), "{error}");
    }
}
