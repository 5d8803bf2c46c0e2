//! Where an output could go: what the window has of it, and the choice that needs the disk.

use std::path::{Path, PathBuf};

use crate::container::folder_beside;
use crate::model::{Dataset, Payload, Sample, is_remote};

/// Samples whose sources are compared.
const COMPARED: usize = 64;

/// Where outputs could go, in this order.
#[derive(Clone, Debug, Default)]
pub struct OutputPlaces {
    /// The opened dataset, or the project of the draft.
    pub document: Option<PathBuf>,
    /// The folder that contains the source files of the draft.
    pub sources: Option<PathBuf>,
    /// The folder of the dataset written last.
    pub written: Option<PathBuf>,
}

impl OutputPlaces {
    /// The folder proposed for output: beside what is open, else where the last dataset was
    /// written, else the home folder; never inside another dataset. Looks at the disk, which may
    /// not respond.
    pub fn choose_folder(&self) -> PathBuf {
        let mut open = [&self.document, &self.sources].into_iter().flatten();
        open.find_map(|path| folder_beside(path))
            .or_else(|| written_folder(self.written.as_deref()?))
            .or_else(home_folder)
            .unwrap_or_default()
    }
}

/// A folder that was written to, if it can be written again; the one beside the dataset that
/// contains it.
fn written_folder(folder: &Path) -> Option<PathBuf> {
    if is_remote(folder) {
        return Some(folder.to_owned());
    }
    folder_beside(&folder.join("output"))
}

fn home_folder() -> Option<PathBuf> {
    Some(directories::UserDirs::new()?.home_dir().to_owned())
}

/// The folder that contains the source files of a draft, by the first samples; `None` for sources
/// that are not files.
pub fn sources_folder(dataset: &Dataset) -> Option<PathBuf> {
    let mut folders = dataset
        .root
        .samples
        .iter()
        .take(COMPARED)
        .filter_map(first_source)
        .filter_map(|file| Some(file.parent()?.to_owned()));
    let mut common = folders.next()?;
    for folder in folders {
        while !folder.starts_with(&common) {
            common = common.parent()?.to_owned();
        }
    }
    // A single root: its folder is the root, or one of its FOLDERs.
    Some(common)
}

fn first_source(sample: &Sample) -> Option<PathBuf> {
    match &sample.payload {
        Payload::Folder(children) => children.samples.iter().find_map(first_source),
        Payload::Asset { path, .. } => path.local_file().map(Path::to_owned),
        Payload::Bytes(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_go_beside_what_is_open_then_where_the_last_was_written() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at("set/METADATA")).expect("folders");
        std::fs::write(at("set/COLLECTION.json"), "{}").expect("writes");
        std::fs::create_dir_all(at("plain")).expect("folders");
        let mut places = OutputPlaces {
            document: Some(at("plain/open.tacozip")),
            sources: None,
            written: Some(at("set")),
        };
        assert_eq!(places.choose_folder(), at("plain"));
        places.document = Some(at("gone/open.tacozip"));
        // No dataset is proposed inside another one.
        assert_eq!(places.choose_folder(), home.path());
        places.written = Some("s3://bucket/sets".into());
        assert_eq!(places.choose_folder(), Path::new("s3://bucket/sets"));
        places.written = Some(at("gone"));
        assert_eq!(Some(places.choose_folder()), home_folder());
    }
}
