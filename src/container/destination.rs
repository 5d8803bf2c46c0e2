//! Where outputs belong: beside the data, never inside another dataset, whose readers would take
//! them for a part of it.

use std::path::{Path, PathBuf};

use super::detect::is_dataset_folder;
use crate::error::Result;
use crate::model::{is_remote, place_below};
use crate::remote::object_exists;

/// Maximum number of ancestor folders that are examined.
const ABOVE: usize = 24;
/// Files that mark a folder as several datasets read as one.
const INDEXES: [&str; 3] = [".tacocat", "__TACOCAT__", "TACOLLECTION.json"];

/// The dataset, or the folder of a TACOCAT's or TACOLLECTION's parts, that contains `path`; the
/// outermost one. Looks at the folders above `path`, which need not exist.
pub fn dataset_around(path: &Path) -> Option<PathBuf> {
    if is_remote(path) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let is_dataset = |folder: &&Path| {
        is_dataset_folder(folder) || INDEXES.iter().any(|name| folder.join(name).exists())
    };
    absolute
        .ancestors()
        .skip(1)
        .take(ABOVE)
        .filter(is_dataset)
        .last()
        .map(Path::to_owned)
}

/// The folder to propose for an output beside `path`: its parent, or the folder beside the dataset
/// that contains it. `None` when there is none that can be written.
pub fn folder_beside(path: &Path) -> Option<PathBuf> {
    if is_remote(path) {
        return None;
    }
    let beside = match dataset_around(path) {
        Some(dataset) => dataset.parent()?.to_owned(),
        None => std::path::absolute(path).ok()?.parent()?.to_owned(),
    };
    // The root of the disk is nobody's place for datasets.
    let writable = std::fs::metadata(&beside)
        .is_ok_and(|meta| meta.is_dir() && !meta.permissions().readonly());
    (writable && beside.parent().is_some()).then_some(beside)
}

/// True when a file, folder or object of this name exists; of a folder in a store, when it is a
/// dataset.
///
/// # Errors
/// When a store can't be reached, or refuses to say.
pub fn output_exists(path: &Path) -> Result<bool> {
    if is_remote(path) {
        Ok(object_exists(path)? || object_exists(&place_below(path, "COLLECTION.json"))?)
    } else {
        Ok(path.symlink_metadata().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_destination_is_proposed_inside_another_dataset() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at("set/DATA/scene")).expect("folders");
        std::fs::create_dir_all(at("set/METADATA")).expect("folders");
        std::fs::write(at("set/COLLECTION.json"), "{}").expect("writes");
        std::fs::create_dir_all(at("parts/.tacocat")).expect("folders");
        std::fs::create_dir_all(at("plain/scenes")).expect("folders");
        assert_eq!(
            dataset_around(&at("set/DATA/scene/new.tacozip")),
            Some(at("set"))
        );
        assert_eq!(dataset_around(&at("parts/new.tacozip")), Some(at("parts")));
        assert_eq!(
            (
                dataset_around(&at("plain/new.tacozip")),
                dataset_around(&at("set"))
            ),
            (None, None)
        );
        assert_eq!(
            folder_beside(&at("parts/one.tacozip")),
            Some(home.path().to_owned())
        );
        assert_eq!(folder_beside(&at("set")), Some(home.path().to_owned()));
        assert_eq!(folder_beside(&at("plain/scenes")), Some(at("plain")));
        assert_eq!(folder_beside(Path::new("s3://bucket/a.tacozip")), None);
    }
}
