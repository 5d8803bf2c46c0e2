//! Index of the tray by the words in file names, for finding the file of a position.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::edit::Unplaced;

/// The tray and its index by word.
#[derive(Default)]
pub struct TrayIndex {
    files: Arc<[Unplaced]>,
    by_word: HashMap<String, Vec<u32>>,
}

/// The words of a text in lower case: runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// True when `word` occurs in `text` between characters other than letters and digits.
pub(super) fn contains_word(text: &str, word: &str) -> bool {
    let bounded = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut found = text.match_indices(word);
    found.any(|(at, _)| {
        bounded(text[..at].chars().next_back()) && bounded(text[at + word.len()..].chars().next())
    })
}

/// A file name split into stem and last extension, both in lower case.
pub(super) fn split_name(name: &str) -> (String, Option<String>) {
    match name.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() => (stem.to_lowercase(), Some(end.to_lowercase())),
        _ => (name.to_lowercase(), None),
    }
}

impl TrayIndex {
    pub fn from_files(files: Arc<[Unplaced]>) -> Self {
        let mut by_word: HashMap<String, Vec<u32>> = HashMap::new();
        for (file, index) in files.iter().zip(0..) {
            let (stem, _) =
                split_name(&file.path.file_name().unwrap_or_default().to_string_lossy());
            for word in words(&stem) {
                let list = by_word.entry(word.to_owned()).or_default();
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
        }
        Self { files, by_word }
    }

    pub fn files(&self) -> &Arc<[Unplaced]> {
        &self.files
    }

    /// Index of the only unused file whose path contains the ids in `above` and whose name contains
    /// `id`, with the extension of `id` if it has one. `None` when there are several.
    pub fn matching(&self, id: &str, above: &[Arc<str>], used: &BTreeSet<u32>) -> Option<u32> {
        let (wanted, end) = split_name(id);
        let candidates = self.by_word.get(words(&wanted).next()?)?;
        let above: Vec<String> = above.iter().map(|folder| folder.to_lowercase()).collect();
        let mut fitting = candidates.iter().copied().filter(|&index| {
            let file = self.files.get(index as usize);
            !used.contains(&index)
                && file.is_some_and(|file| file_matches(file, &wanted, end.as_deref(), &above))
        });
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

/// True for a file with the word `name` in its name, this extension if one is given, and the words
/// `above` in its path; all in lower case.
fn file_matches(file: &Unplaced, name: &str, end: Option<&str>, above: &[String]) -> bool {
    let path = file.path.to_string_lossy().to_lowercase();
    let (own, found) = split_name(&file.path.file_name().unwrap_or_default().to_string_lossy());
    (end.is_none() || found.as_deref() == end)
        && contains_word(&own, name)
        && above.iter().all(|folder| contains_word(&path, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_fits_by_whole_words_and_its_ending() {
        let paths = [
            "/in/r2_before.tif",
            "/in/r22_before.tif",
            "/in/r2_before.xml",
            "/in/r2/SR_B4.TIF",
            "/in/r2/SR_B40.TIF",
        ];
        let files: Vec<Unplaced> = paths.iter().map(|path| Unplaced::file(path, 1)).collect();
        let index = TrayIndex::from_files(files.into());
        let none = BTreeSet::new();
        let find = |id: &str, root: &str| index.matching(id, &[root.into()], &none);
        assert_eq!(find("before.tif", "r2"), Some(0));
        assert_eq!(find("before.tif", "r22"), Some(1));
        assert_eq!(find("before", "r2"), None, "two files fit");
        assert_eq!(find("sr_b4", "r2"), Some(3));
        assert_eq!(find("before.tif", "r3"), None);
        assert_eq!(
            index.matching("before.tif", &["r2".into()], &BTreeSet::from([0])),
            None
        );
    }
}
