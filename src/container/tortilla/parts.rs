//! Finds the parts of one dataset by name: `name.0000.part.tortilla`, `name.0001.part.tortilla`, …
//! Opens no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::header::{PART_ENDINGS, part_name};

/// The existing parts of one dataset, sorted by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSet {
    pub files: Vec<PathBuf>,
}

impl PartSet {
    fn from_numbered_files(mut files: Vec<(u32, PathBuf)>) -> Self {
        files.sort();
        Self {
            files: files.into_iter().map(|(_, path)| path).collect(),
        }
    }

    /// The parts named by `path`: a folder with the parts of one dataset, or a pattern
    /// `name.*.part.tortilla`.
    pub fn from_path(path: &Path) -> Option<Self> {
        if path.is_dir() {
            let mut sets = sets_in(path);
            return if sets.len() == 1 {
                sets.pop_first().map(|(_, set)| set)
            } else {
                None
            };
        }
        let key = pattern(path.file_name()?.to_str()?)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        sets_in(folder).remove(&key)
    }
}

/// Stem and extension of `name.*.part.tortilla`; `None` for any other name.
pub fn pattern(name: &str) -> Option<(String, String)> {
    PART_ENDINGS.into_iter().find_map(|ending| {
        let stem = name.strip_suffix(&format!(".*.part.{ending}"))?;
        Some((stem.to_owned(), ending.to_owned()))
    })
}

/// One pattern `name.*.part.tortilla` for each set of parts in a folder.
pub fn patterns_in(folder: &Path) -> Vec<String> {
    sets_in(folder)
        .into_keys()
        .map(|(stem, ending)| format!("{stem}.*.part.{ending}"))
        .collect()
}

/// The sets of parts in a folder, by stem and extension.
fn sets_in(folder: &Path) -> BTreeMap<(String, String), PartSet> {
    let mut found: BTreeMap<(String, String), Vec<(u32, PathBuf)>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Some((stem, number, ending)) = entry.file_name().to_str().and_then(part_name) {
            found
                .entry((stem.to_owned(), ending.to_owned()))
                .or_default()
                .push((number, entry.path()));
        }
    }
    found
        .into_iter()
        .map(|(key, files)| (key, PartSet::from_numbered_files(files)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_folder_and_by_pattern() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        for name in ["a.0001.part.tortilla", "a.0000.part.tortilla", "note.txt"] {
            std::fs::write(folder.path().join(name), b"").expect("writes");
        }
        let names = |set: PartSet| {
            set.files
                .iter()
                .map(|file| file.file_name().map(|n| n.to_owned()))
                .collect::<Vec<_>>()
        };
        let whole = names(PartSet::from_path(folder.path()).expect("is a set"));
        assert_eq!(
            whole,
            [
                Some("a.0000.part.tortilla".into()),
                Some("a.0001.part.tortilla".into())
            ]
        );
        assert_eq!(
            names(PartSet::from_path(&folder.path().join("a.*.part.tortilla")).expect("is a set")),
            whole
        );
        assert_eq!(
            PartSet::from_path(&folder.path().join("b.*.part.tortilla")),
            None
        );
        std::fs::write(folder.path().join("b.0000.part.taco"), b"").expect("writes");
        assert_eq!(PartSet::from_path(folder.path()), None);
    }
}
