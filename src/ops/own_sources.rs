//! A draft is never written over what it reads: its samples, and those that undo brings back, would
//! have no bytes any more.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::container::{Assembly, RowSource};
use crate::error::{Error, Result};
use crate::model::{AssetPath, Dataset, Payload, SamplePath, Tortilla};

/// Outputs that are there, and what was found out about sources.
struct Outputs {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Whether a container is one of the files.
    containers: HashMap<Arc<Path>, bool>,
    /// Whether a folder is inside one of the output folders.
    below: HashMap<PathBuf, bool>,
}

impl Outputs {
    fn from_paths(outputs: &[PathBuf]) -> Self {
        let there = outputs
            .iter()
            .filter_map(|output| output.canonicalize().ok());
        let (folders, files) = there.partition(|output| output.is_dir());
        Self {
            files,
            folders,
            containers: HashMap::new(),
            below: HashMap::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    fn hold(&mut self, asset: &AssetPath) -> bool {
        let Some(path) = asset.local_file() else {
            return false;
        };
        let is_output = |path: &Path, files: &[PathBuf]| {
            path.canonicalize().is_ok_and(|path| files.contains(&path))
        };
        let file = match asset {
            AssetPath::Range { .. } | AssetPath::Packed(_) => {
                let container: Arc<Path> = path.into();
                *self
                    .containers
                    .entry(container.clone())
                    .or_insert_with(|| is_output(&container, &self.files))
            }
            // Of many files only those are looked at that are called as an output is.
            _ => {
                self.files
                    .iter()
                    .any(|file| file.file_name() == path.file_name())
                    && is_output(path, &self.files)
            }
        };
        file || (!self.folders.is_empty()
            && path.parent().is_some_and(|parent| self.is_below(parent)))
    }

    fn is_below(&mut self, folder: &Path) -> bool {
        if let Some(known) = self.below.get(folder) {
            return *known;
        }
        let real = folder.canonicalize();
        let below =
            real.is_ok_and(|real| self.folders.iter().any(|output| real.starts_with(output)));
        self.below.insert(folder.to_owned(), below);
        below
    }

    fn first(&mut self, tortilla: &Tortilla, path: &mut SamplePath) -> Option<PathBuf> {
        for sample in &tortilla.samples {
            path.0.push(sample.id.clone());
            let found = match &sample.payload {
                Payload::Asset { path: asset, .. } if self.hold(asset) => {
                    asset.local_file().map(Path::to_owned)
                }
                Payload::Folder(children) => self.first(children, path),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
            path.0.pop();
        }
        None
    }
}

/// An error when one of the outputs is a file that samples of the draft are read from, or a folder
/// with such a file in it.
///
/// # Errors
///
/// [`crate::error::Kind::Usage`] with the first such sample.
pub(super) fn refuse_own_sources(dataset: &Dataset, outputs: &[PathBuf]) -> Result<()> {
    let mut outputs = Outputs::from_paths(outputs);
    if outputs.is_empty() {
        return Ok(());
    }
    let mut path = SamplePath::default();
    match outputs.first(&dataset.root, &mut path) {
        None => Ok(()),
        Some(source) => Err(own_source(&path, &source)),
    }
}

/// As [`refuse_own_sources`], for a dataset that is laid out for the writers.
///
/// # Errors
/// As [`refuse_own_sources`].
pub(super) fn refuse_sources_of(assembly: &Assembly, outputs: &[PathBuf]) -> Result<()> {
    let mut outputs = Outputs::from_paths(outputs);
    if outputs.is_empty() {
        return Ok(());
    }
    for (depth, level) in assembly.levels.iter().enumerate() {
        for (row, source) in (0u32..).zip(&level.sources) {
            if let RowSource::Asset { path, .. } = source
                && outputs.hold(path)
                && let Some(file) = path.local_file()
            {
                return Err(own_source(&assembly.tree.path(depth, row), file));
            }
        }
    }
    Ok(())
}

fn own_source(path: &SamplePath, source: &Path) -> Error {
    Error::usage(format!(
        "the output would replace a file that the draft reads: it contains sample {path}"
    ))
    .at_path(source)
    .hint(
        "write it under another name; when that is done, close the draft and put the new one \
            in the old one's place",
    )
}

/// The files that samples of a draft are read from, and the folders above them, as their paths say
/// it: what a name that is proposed for an output must not be. Looks at no disk.
pub fn places_of(dataset: &Dataset) -> HashSet<PathBuf> {
    let mut places = HashSet::new();
    let mut containers: HashSet<&Path> = HashSet::new();
    let mut last = None;
    let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
    while let Some(tortilla) = tortillas.pop() {
        for sample in &tortilla.samples {
            let asset = match &sample.payload {
                Payload::Folder(children) => {
                    tortillas.push(children);
                    continue;
                }
                Payload::Asset { path, .. } => path,
                Payload::Bytes(_) => continue,
            };
            let Some(path) = asset.local_file() else {
                continue;
            };
            let first = match asset {
                AssetPath::Range { .. } | AssetPath::Packed(_) => {
                    containers.insert(path).then_some(path)
                }
                // Siblings are mostly in one folder.
                _ => path
                    .parent()
                    .filter(|parent| last.replace(*parent) != Some(*parent)),
            };
            let Some(first) = first.and_then(|first| std::path::absolute(first).ok()) else {
                continue;
            };
            // Above a folder that is known everything is.
            let _ = first
                .ancestors()
                .find(|above| !places.insert(above.to_path_buf()));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sample;

    #[test]
    fn outputs_that_hold_a_source_are_refused_under_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = folder.path().join("a.tacozip");
        let data = folder.path().join("set/DATA/x");
        std::fs::create_dir_all(&data).expect("a folder");
        std::fs::write(&archive, b"12345678").expect("writes");
        std::fs::write(data.join("b.tif"), b"1").expect("writes");
        let range = Sample {
            payload: Payload::asset(AssetPath::range(archive.as_path(), 2, 3), 3),
            ..Sample::new_file("r", "/", 3)
        };
        let root = Tortilla::new(vec![Sample::new_folder(
            "f",
            Tortilla::new(vec![range, Sample::new_file("b", data.join("b.tif"), 1)]),
        )]);
        let dataset = Dataset {
            root: root.into(),
            ..Dataset::default()
        };
        let refused =
            |name: &str| refuse_own_sources(&dataset, &[folder.path().join(name)]).is_err();
        assert!(
            refused("a.tacozip")
                && refused("set/../a.tacozip")
                && refused("set")
                && refused("set/DATA/x/b.tif")
        );
        assert!(!refused("new.tacozip") && !refused("set/DATA/x/c.tif"));
        let places = places_of(&dataset);
        assert!(
            ["a.tacozip", "set", "set/DATA/x"]
                .iter()
                .all(|name| places.contains(&folder.path().join(name)))
        );
        assert!(!places.contains(&folder.path().join("new.tacozip")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&archive, folder.path().join("link.tacozip"))
                .expect("links");
            assert!(refused("link.tacozip"));
        }
    }
}
