//! Decides by location whether a file belongs to a dataset. A draft stores file paths only: files
//! inside a dataset's FOLDER are as untrusted as ranges of an archive, while files that the user
//! added are trusted.

use std::path::Path;

use super::detect::is_dataset_folder;
use crate::model::{AssetPath, is_remote};
use crate::raster::{RasterSource, has_sidecar};

/// Maximum number of ancestor folders that are examined.
const ABOVE: usize = 24;

/// How GDAL opens the raster of a draft's sample: members of a dataset and remote files with the
/// restricted drivers, files that the user added with all drivers.
pub fn raster_source(asset: &AssetPath) -> RasterSource {
    match asset {
        AssetPath::File(path) if is_remote(path) || lies_in_dataset(path) => {
            RasterSource::member(asset.clone())
        }
        asset => RasterSource::from_user_path(asset.clone()),
    }
}

/// How GDAL opens what is packed of a draft's sample: the file alone where sidecars are beside it,
/// otherwise as [`raster_source`].
pub fn packed_source(asset: &AssetPath) -> RasterSource {
    match asset {
        AssetPath::File(path) if !is_remote(path) && has_sidecar(path) => {
            RasterSource::member(asset.clone())
        }
        asset => raster_source(asset),
    }
}

/// True when the file is inside the folder of a dataset.
fn lies_in_dataset(path: &Path) -> bool {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A symbolic link is judged by its own location, not by its target.
    absolute
        .ancestors()
        .skip(1)
        .take(ABOVE)
        .any(is_dataset_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dataset_members_are_distinguished_from_user_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let dataset = folder.path().join("set");
        for below in ["DATA/a/b", "METADATA"] {
            std::fs::create_dir_all(dataset.join(below)).expect("makes");
        }
        let source = |path: &Path| raster_source(&AssetPath::file(path));
        let (inside, beside) = (
            dataset.join("DATA/a/b/scene"),
            folder.path().join("scene.tif"),
        );
        assert!(!source(&inside).is_fenced(), "no dataset yet");
        std::fs::write(dataset.join("COLLECTION.json"), "{}").expect("writes");
        assert!(source(&inside).is_fenced() && !source(&beside).is_fenced());
        assert!(source(Path::new("https://host/a.tif")).is_fenced());
        assert!(raster_source(&AssetPath::range(beside.as_path(), 0, 9)).is_fenced());
    }
}
