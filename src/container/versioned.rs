//! `taco.json`, the list of the versions of one dataset that the readers of TACO 3 from 0.7.0 to
//! 0.8.2 open.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::ByteSource;
use crate::error::{Error, Result};
use crate::model::{place_above, place_below, safe_relative};
use crate::text::PrintableLine;

/// Name of the list.
pub(super) const VERSIONS_FILE: &str = "taco.json";
/// What detection does with a list of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionLists {
    /// The default version is the dataset.
    Followed,
    /// A version cannot be a list itself.
    Refused,
}

/// Largest list that the official readers read.
const BYTES_MAX: u64 = 64 << 20;

/// The ZIP or FOLDER of the default version, in the folder of the list at `list`.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) for a list that has no default version, or whose
/// version is outside of the folder; an IO error when it cannot be read.
pub(super) fn default_version(list: &Path) -> Result<PathBuf> {
    let fault = |what: String| Error::format(what).at_path(list);
    let file = ByteSource::open(list)?;
    if file.size_bytes() > BYTES_MAX {
        return Err(fault(format!(
            "the list of versions has more than {} MiB",
            BYTES_MAX >> 20
        )));
    }
    let bytes = file.read(0, file.size_bytes())?;
    let fields: Json = serde_json::from_slice(&bytes)
        .map_err(|error| fault("this is not JSON".into()).because(error))?;
    if fields.get("taco:container").and_then(Json::as_str) != Some("versioned") {
        return Err(fault(
            "this is not a list of versions: taco:container is not \"versioned\"".into(),
        ));
    }
    let name = fields.get("taco:default_version").and_then(Json::as_str);
    let name =
        name.ok_or_else(|| fault("the list of versions has no taco:default_version".into()))?;
    let version = fields
        .get("taco:versions")
        .and_then(|versions| versions.get(name));
    let href = version
        .and_then(|version| version.get("href"))
        .and_then(Json::as_str);
    let href = href.ok_or_else(|| {
        fault(format!(
            "the list of versions has no version {}",
            name.printable_line()
        ))
    })?;
    let relative = href.trim_start_matches("./").trim_end_matches('/');
    if !safe_relative(relative) {
        return Err(fault(format!(
            "the version {} leads outside the dataset",
            name.printable_line()
        ))
        .at_place(href.escape_default()));
    }
    Ok(place_below(
        &place_above(list).unwrap_or_default(),
        relative,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_version_is_below_the_folder_of_the_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join(VERSIONS_FILE);
        let default_of = |text: &str| {
            std::fs::write(&list, text).expect("writes");
            default_version(&list)
        };
        let versions =
            r#""taco:versions": {"1.0.0": {"href": "./1.0.0/"}, "2.0.0": {"href": "../other"}}"#;
        let text = |default: &str| {
            format!(
                r#"{{"taco:container": "versioned", "taco:default_version": "{default}",
                    {versions}}}"#
            )
        };
        assert_eq!(
            default_of(&text("1.0.0")).expect("a version"),
            folder.path().join("1.0.0")
        );
        for (default, reason) in [("2.0.0", "leads outside"), ("3.0.0", "no version 3.0.0")] {
            let error = default_of(&text(default)).expect_err("no version").report();
            assert!(error.contains(reason), "{error}");
        }
        assert!(default_of("{}").is_err() && default_of("[").is_err());
    }
}
