//! A Zarr store that is packed in a ZIP of stored members, which is one sample: which files it has,
//! and where their bytes are in the archive.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::folder_archive::{FolderArchive, is_store_file};
use crate::text::PrintableLine;
use crate::zip_format::{BytesAt, CentralDirectory, DirectoryEntry, LocalHeader};

/// First bytes of a ZIP that begins with a member.
const MEMBER: &[u8] = b"PK\x03\x04";
/// Method of members that are not compressed.
const STORED: u16 = 0;
/// Documents that describe arrays, of version 2 and 3.
const METADATA: [&str; 3] = [".zarray", ".zmetadata", "zarr.json"];
/// Largest of these documents in bytes.
const METADATA_MAX: u64 = 64 << 20;
/// Largest decoded chunk in bytes.
const CHUNK_MAX: u64 = 1 << 30;
/// Flag of encrypted members.
const ENCRYPTED: u16 = 1;

/// The files of a store by their path below it, with `/`.
#[derive(Default)]
pub(super) struct StoreFiles {
    /// Folder in the archive that has the store, with `/` at its end; empty for the archive itself.
    pub inside: String,
    files: HashMap<Box<str>, FilePlace>,
    /// Names in each folder; the store itself is the empty path.
    folders: HashMap<Box<str>, Vec<Box<str>>>,
}

/// Where the bytes of a file are.
#[derive(Clone, Copy)]
pub(super) enum FilePlace {
    /// Offset in the archive, and size in bytes.
    Data(u64, u64),
    /// Offset of the local header, which the data follows, and size of the data in bytes.
    Header(u64, u64),
}

impl FilePlace {
    /// Size in bytes.
    pub fn size_bytes(self) -> u64 {
        match self {
            Self::Data(_, size) | Self::Header(_, size) => size,
        }
    }
}

impl StoreFiles {
    /// The files of the store that begins with `head`; `None` for what is no ZIP, or a ZIP of other
    /// files. `packed_folder` is the folder that the bytes are the archive of, when that archive is
    /// no file.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a store whose members are
    /// compressed or encrypted; those of reading the directory.
    pub fn find(
        bytes: &impl BytesAt,
        packed_folder: Option<&FolderArchive>,
        head: &[u8],
    ) -> Result<Option<Self>> {
        if !head.starts_with(MEMBER) {
            return Ok(None);
        }
        if let Some(folder) = packed_folder {
            let mut store = Self::default();
            for (name, offset, size) in folder.files() {
                store.add(name, FilePlace::Data(offset, size));
            }
            return Ok(Some(store));
        }
        let directory = CentralDirectory::read(bytes)?;
        let Some(inside) = store_folder(&directory) else {
            return Ok(None);
        };
        let mut store = Self {
            inside,
            ..Self::default()
        };
        for entry in &directory.entries {
            let Some(name) = entry.name.strip_prefix(&store.inside).map(str::to_owned) else {
                continue;
            };
            if name.is_empty() || name.ends_with('/') || entry.is_link {
                continue;
            }
            expect_stored(entry)?;
            store.add(&name, FilePlace::Header(entry.local, entry.size));
        }
        Ok(Some(store))
    }

    /// Refuses arrays whose chunks are too large: GDAL decodes whole ones, and a chunk that is
    /// missing takes no bytes in the archive.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for such an array, and for metadata
    /// that is too long; those of reading it.
    pub fn expect_small_chunks(&self, bytes: &impl BytesAt) -> Result<()> {
        for (name, place) in &self.files {
            let file_name = name.rsplit('/').next().unwrap_or(name);
            if !METADATA.contains(&file_name) {
                continue;
            }
            let (offset, size) = data_range(bytes, *place)?;
            if size > METADATA_MAX {
                return Err(refuse_large_array(
                    name,
                    &format!("the metadata has {} MiB", size >> 20),
                ));
            }
            // GDAL says what is wrong with metadata that is no JSON.
            let Ok(json) = serde_json::from_slice(&bytes.read(offset, size)?) else {
                continue;
            };
            let largest = largest_chunk_bytes(&json);
            if largest > CHUNK_MAX {
                return Err(refuse_large_array(
                    name,
                    &format!("a chunk takes {} MiB", largest >> 20),
                ));
            }
        }
        Ok(())
    }

    fn add(&mut self, name: &str, place: FilePlace) {
        if self.files.insert(name.into(), place).is_some() {
            return;
        }
        let mut below = name;
        loop {
            let (folder, child) = below.rsplit_once('/').unwrap_or(("", below));
            let is_known = self.folders.contains_key(folder);
            self.folders
                .entry(folder.into())
                .or_default()
                .push(child.into());
            if is_known || folder.is_empty() {
                return;
            }
            below = folder;
        }
    }

    /// Where the bytes of a file are.
    pub fn file(&self, path: &str) -> Option<FilePlace> {
        self.files.get(path).copied()
    }

    /// Names of the files and folders in a folder.
    pub fn names_in(&self, folder: &str) -> Option<&[Box<str>]> {
        self.folders.get(folder).map(Vec::as_slice)
    }
}

fn refuse_large_array(name: &str, what: &str) -> Error {
    Error::unsupported(format!("{}: {what}", name.printable_line()))
        .hint("write the array again in smaller chunks")
}

/// Bytes of the largest chunk of the arrays that a metadata document describes, decoded.
fn largest_chunk_bytes(json: &Json) -> u64 {
    let parts: Vec<&Json> = match json {
        Json::Object(fields) => fields.values().collect(),
        Json::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let below = parts.into_iter().map(largest_chunk_bytes).max();
    count_own_chunk_bytes(json)
        .unwrap_or(0)
        .max(below.unwrap_or(0))
}

fn count_own_chunk_bytes(json: &Json) -> Option<u64> {
    let shape = json
        .get("chunks")
        .or_else(|| json.pointer("/chunk_grid/configuration/chunk_shape"));
    let dtype = json.get("dtype").or(json.get("data_type"));
    let sizes = shape?
        .as_array()?
        .iter()
        .map(|size| size.as_u64().unwrap_or(u64::MAX));
    Some(sizes.fold(item_bytes(dtype), u64::saturating_mul))
}

/// Bytes of a value of a data type: `<f4` of version 2, `float32` of version 3; 8 for others.
fn item_bytes(dtype: Option<&Json>) -> u64 {
    const OTHER: u64 = 8;
    let text = dtype.and_then(Json::as_str).unwrap_or_default();
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let Ok(number) = digits.parse::<u64>() else {
        return OTHER;
    };
    // Version 2 states bytes behind the byte order, version 3 bits.
    if text.starts_with(['<', '>', '|']) {
        number
    } else {
        number.div_ceil(8)
    }
}

/// The folder of an archive that is a store: the archive itself, or its only folder.
fn store_folder(directory: &CentralDirectory) -> Option<String> {
    if directory
        .entries
        .iter()
        .any(|entry| is_store_file(&entry.name))
    {
        return Some(String::new());
    }
    let (folder, _) = directory.entries.first()?.name.split_once('/')?;
    let folder = format!("{folder}/");
    let is_inside = |entry: &DirectoryEntry| entry.name.starts_with(&folder);
    let is_store =
        |entry: &DirectoryEntry| entry.name.strip_prefix(&folder).is_some_and(is_store_file);
    (directory.entries.iter().all(is_inside) && directory.entries.iter().any(is_store))
        .then_some(folder)
}

fn expect_stored(entry: &DirectoryEntry) -> Result<()> {
    let how = if entry.flags & ENCRYPTED != 0 {
        "encrypted"
    } else if entry.method != STORED || entry.stored != entry.size {
        "compressed"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!(
        "{} in this Zarr store is {how} once more by the ZIP",
        entry.name.printable_line()
    ))
    .hint(
        "pack it again without compression, as zarr.storage.ZipStore does: its chunks are \
            compressed",
    ))
}

/// Offset of the data of a file, and its size in bytes.
///
/// # Errors
/// Those of reading a local header.
pub(super) fn data_range(bytes: &impl BytesAt, place: FilePlace) -> Result<(u64, u64)> {
    match place {
        FilePlace::Data(offset, size) => Ok((offset, size)),
        FilePlace::Header(offset, size) => {
            let header = LocalHeader::read(bytes, offset)?;
            if bytes.contains(header.data, size) {
                Ok((header.data, size))
            } else {
                Err(Error::format("a member of the ZIP is not inside of it").at_path(bytes.path()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_are_measured_in_both_versions_and_in_consolidated_metadata() {
        let old = json!({ "chunks": [10, 20, 30], "dtype": "<f4", "shape": [1, 1, 1] });
        let new = json!({
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [7, 8] } },
            "data_type": "float64",
        });
        assert_eq!(largest_chunk_bytes(&old), 24_000);
        assert_eq!(largest_chunk_bytes(&new), 448);
        let both = json!({ "metadata": { "a/.zarray": old, "b": { "zarr.json": new } } });
        assert_eq!(largest_chunk_bytes(&both), 24_000);
        let endless = json!({ "chunks": [u64::MAX, 2], "dtype": "|u1" });
        assert_eq!(largest_chunk_bytes(&endless), u64::MAX);
        assert_eq!(largest_chunk_bytes(&json!([1, "chunks", null])), 0);
        assert_eq!(item_bytes(Some(&json!("bool"))), 8);
    }
}
