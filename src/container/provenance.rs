//! Whether a file belongs to a dataset, told by where it lies. A draft keeps the paths of files only: those of a FOLDER that it was
//! made of are as untrusted as the ranges of an archive, those that the person added are the person's own.

use std::path::Path;

use super::detect::is_dataset_folder;
use crate::model::{AssetPath, is_remote};
use crate::raster::RasterSource;

/// Folders above a file that are looked at.
const ABOVE: usize = 24;

/// How the raster of a draft's sample is opened: bytes of a dataset, and those of other machines, through the fence; files that the
/// person added with every driver.
pub fn raster_source(asset: &AssetPath) -> RasterSource {
    match asset {
        AssetPath::File(path) if is_remote(path) || lies_in_dataset(path) => RasterSource::member(asset.clone()),
        asset => RasterSource::typed(asset.clone()),
    }
}

/// True for a file below the folder of a dataset.
fn lies_in_dataset(path: &Path) -> bool {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // A link to a member is not the member: where it was made says whose it is.
    absolute.ancestors().skip(1).take(ABOVE).any(is_dataset_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_dataset_are_told_from_the_persons_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let dataset = folder.path().join("set");
        for below in ["DATA/a/b", "METADATA"] {
            std::fs::create_dir_all(dataset.join(below)).expect("makes");
        }
        let source = |path: &Path| raster_source(&AssetPath::file(path));
        let (inside, beside) = (dataset.join("DATA/a/b/scene"), folder.path().join("scene.tif"));
        assert!(!source(&inside).is_fenced(), "no dataset yet");
        std::fs::write(dataset.join("COLLECTION.json"), "{}").expect("writes");
        assert!(source(&inside).is_fenced() && !source(&beside).is_fenced());
        assert!(source(Path::new("https://host/a.tif")).is_fenced());
        assert!(raster_source(&AssetPath::range(beside.as_path(), 0, 9)).is_fenced());
    }
}
