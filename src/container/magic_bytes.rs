//! The format of a file by its first bytes.

use std::path::Path;

use super::fixed_bytes::read_fixed_bytes;
use super::{ByteSource, Detected, Format, rezipped_dataset};
use crate::error::{Error, Result};

/// Maximum size in bytes of a JSON file that is searched for [`LISTS`].
const JSON_MAX: u64 = 64 << 20;
/// The key of the list of datasets in a TACOLLECTION.
const LISTS: &[u8] = b"\"taco:sources\"";

/// The format of a file, from its first bytes (`head`), its size in bytes and its name. `open`
/// gives all bytes of a ZIP of another program, whose directory is searched for a dataset.
pub(super) fn detect_bytes(
    path: &Path,
    size: u64,
    head: &[u8],
    open: impl FnOnce() -> Result<ByteSource>,
) -> Result<Detected> {
    if let Some(error) = crate::files::unfetched_file_error(head) {
        return Err(error.at_path(path));
    }
    let u64_at = |at: usize| read_fixed_bytes(head, at).map(u64::from_le_bytes);
    if head.starts_with(b"PK\x03\x04") {
        return match head.get(30..) {
            Some(name) if name.starts_with(b"TACO_HEADER") => {
                Detected::from_format(Format::Zip, path)
            }
            Some(name) if name.starts_with(b"__cozip__") => {
                Detected::from_format(Format::Taco3, path)
            }
            _ => Err(match rezipped_dataset(&open()?)? {
                Some(dataset) => dataset.error(path),
                None => Error::format(
                    "this is a ZIP, but not a TACO one: TACO_HEADER is not at its beginning",
                )
                .at_path(path)
                .hint("unpack it and build a dataset from its files"),
            }),
        };
    }
    if head.starts_with(b"TACOCAT\0") {
        return Detected::from_format(Format::TacocatFile, path);
    }
    // A magic number of two bytes is weak: the footer's range must also be inside the file.
    if head.starts_with(b"#y") || head.starts_with(b"WX") {
        let footer = u64_at(2)
            .zip(u64_at(10))
            .and_then(|(offset, length)| offset.checked_add(length));
        if footer.is_some_and(|end| end <= size)
            || path
                .extension()
                .is_some_and(|e| e == "tortilla" || e == "taco")
        {
            return Detected::from_format(
                if head[0] == b'#' {
                    Format::Tortilla
                } else {
                    Format::Taco
                },
                path,
            );
        }
    }
    if head.first() == Some(&b'{') && is_tacollection(path, size) {
        return Detected::from_format(Format::Tacollection, path);
    }
    if let Some(error) = crate::files::page_error(head) {
        return Err(error.at_path(path));
    }
    let what = match path.file_name() {
        Some(name) if name == "__TACOCAT__" => {
            "this file is named __TACOCAT__, but does not begin with TACOCAT"
        }
        _ if size == 0 => "this file is empty",
        _ => "this file is not a TACO dataset",
    };
    Err(Error::format(what).at_path(path).hint(
        "a TACO dataset is a .tacozip, or a folder with COLLECTION.json, METADATA/ and DATA/",
    ))
}

/// True for a JSON file named TACOLLECTION.json, or one of another name that lists datasets.
fn is_tacollection(path: &Path, size: u64) -> bool {
    if path
        .file_name()
        .is_some_and(|name| name == "TACOLLECTION.json")
    {
        return true;
    }
    let json = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
        && size <= JSON_MAX;
    json && crate::files::read(path)
        .is_ok_and(|text| text.windows(LISTS.len()).any(|part| part == LISTS))
}
