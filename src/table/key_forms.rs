//! The forms in which the keys of a table name samples: behind folders that all of them share, with
//! or without the extensions of files.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use arrow::array::StringArray;

use crate::model::in_nfc;

/// Number of keys by which the form of the keys is found.
pub(super) const PROBED: usize = 1000;
/// Maximum number of folders before the paths of samples, as in absolute paths.
const FOLDERS_BEFORE: usize = 32;

/// How keys name samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyForm {
    /// Number of keys, of those that were probed, that find a sample.
    pub hits: usize,
    /// Number of folders before the path of a sample.
    pub folders_before: usize,
    /// The keys lack the extensions of files.
    pub by_stem: bool,
}

/// The texts that keys may have without their first folders, and which forms of samples they name.
/// Several columns share one, so that each sample is looked up once.
#[derive(Debug, Default)]
pub struct KeyEndings(HashMap<String, [bool; 4]>);

/// Finds out how keys name samples, from the first keys of a column and all samples.
#[derive(Debug)]
pub struct KeyProbe {
    probed: Vec<String>,
    /// Number of folders that all keys share.
    shared: usize,
}

/// Places in the entries of [`KeyEndings`]: by path or id, exact or by stem.
const BY_PATH: usize = 0;
const BY_ID: usize = 1;
const OF_STEMS: usize = 2;

impl KeyEndings {
    /// Notes a sample.
    pub fn see(&mut self, path: &str, id: &str) {
        for (place, name) in [(BY_PATH, path), (BY_ID, id)] {
            let name = in_nfc(name);
            if let Some(found) = self.0.get_mut(name.as_ref()) {
                found[place] = true;
            }
            if let Some(found) = without_extension(&name).and_then(|stem| self.0.get_mut(stem)) {
                found[place + OF_STEMS] = true;
            }
        }
    }

    /// True when a key without its first folders finds a sample.
    fn finds(&self, key: &str, folders: usize, by_stem: bool, by_path: bool) -> bool {
        let place = if by_path { BY_PATH } else { BY_ID };
        let found = behind_folders(key, folders)
            .and_then(|key| self.0.get(key))
            .copied()
            .unwrap_or_default();
        found[place] || (by_stem && found[place + OF_STEMS])
    }

    /// Number of keys that find a sample without their first folders.
    fn count_found(
        &self,
        keys: &[impl AsRef<str>],
        folders: usize,
        by_stem: bool,
        by_path: bool,
    ) -> usize {
        keys.iter()
            .filter(|key| self.finds(key.as_ref(), folders, by_stem, by_path))
            .count()
    }
}

impl KeyProbe {
    /// A probe of these keys, each once, in the form of [`normal_key`]; `endings` gets
    /// those that samples may have.
    pub fn new<'k>(keys: impl Iterator<Item = &'k str>, endings: &mut KeyEndings) -> Self {
        let mut probed: Vec<&str> = Vec::new();
        let mut distinct = HashSet::new();
        let mut shared: Option<&str> = None;
        for key in keys {
            let folders = folders_of_key(key);
            shared = Some(shared.map_or(folders, |shared| shared_folders(shared, folders)));
            if probed.len() < PROBED && distinct.insert(key) {
                probed.push(key);
            }
        }
        for key in &probed {
            let texts = (0..=FOLDERS_BEFORE).map_while(|folders| behind_folders(key, folders));
            endings
                .0
                .extend(texts.map(|ending| (ending.to_owned(), [false; 4])));
        }
        Self {
            shared: folder_count(shared.unwrap_or_default()),
            probed: probed.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Keys that find no sample in the form of most keys may share folders of their own before the
    /// path of a sample, as one absolute path among relative ones does: these folders.
    pub fn folders_of_the_others(
        &self,
        endings: &KeyEndings,
        form: KeyForm,
        by_path: bool,
    ) -> Option<String> {
        let is_other =
            |key: &&String| !endings.finds(key, form.folders_before, form.by_stem, by_path);
        let others: Vec<&str> = self
            .probed
            .iter()
            .filter(is_other)
            .map(String::as_str)
            .collect();
        if form.hits == 0 || others.is_empty() {
            return None;
        }
        let shared = others
            .iter()
            .map(|key| folders_of_key(key))
            .reduce(shared_folders)?;
        let hits = |folders: &usize| endings.count_found(&others, *folders, form.by_stem, by_path);
        let best = (1..=folder_count(shared))
            .rev()
            .max_by_key(hits)
            .filter(|count| hits(count) > 0)?;
        Some(shared.split('/').take(best).collect::<Vec<_>>().join("/"))
    }

    /// The form by which most keys find a sample by path, or by id; among equals the plainest.
    pub fn best_form(&self, endings: &KeyEndings, by_path: bool) -> KeyForm {
        let forms = (0..=self.shared).flat_map(|folders| {
            [false, true].map(|by_stem| self.measure_form(endings, folders, by_stem, by_path))
        });
        forms.rev().max_by_key(|form| form.hits).unwrap_or_default()
    }

    fn measure_form(
        &self,
        endings: &KeyEndings,
        folders_before: usize,
        by_stem: bool,
        by_path: bool,
    ) -> KeyForm {
        KeyForm {
            hits: endings.count_found(&self.probed, folders_before, by_stem, by_path),
            folders_before,
            by_stem,
        }
    }
}

/// The folders of a key, without its last step.
fn folders_of_key(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folders, _)| folders)
}

/// The folders that two paths share.
fn shared_folders<'a>(one: &'a str, other: &str) -> &'a str {
    let mut length = 0;
    for (step, other) in one.split('/').zip(other.split('/')) {
        if step != other {
            break;
        }
        length += step.len() + 1;
    }
    one.get(..length.saturating_sub(1)).unwrap_or_default()
}

/// Number of folders of a path of folders.
fn folder_count(folders: &str) -> usize {
    if folders.is_empty() {
        0
    } else {
        folders.split('/').count().min(FOLDERS_BEFORE)
    }
}

/// A path without its first folders.
pub(super) fn behind_folders(path: &str, folders: usize) -> Option<&str> {
    (0..folders).try_fold(path, |rest, _| rest.split_once('/').map(|(_, rest)| rest))
}

/// A path without the extension of its last step.
pub(super) fn without_extension(path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    (!extension.contains('/') && !stem.is_empty() && !stem.ends_with('/')).then_some(stem)
}

/// The non-empty keys of a column with their rows.
pub fn key_texts(keys: &StringArray) -> impl Iterator<Item = (usize, &str)> {
    let texts = keys
        .iter()
        .enumerate()
        .filter_map(|(row, key)| Some((row, key?)));
    texts.filter(|(_, key)| !key.is_empty())
}

/// A key without surrounding whitespace, leading `./` and trailing `/`, with `/` between steps, in
/// NFC.
pub fn normal_key(key: &str) -> Cow<'_, str> {
    let key = key.trim();
    if key.contains('\\') {
        Cow::Owned(in_nfc(trim_key(&key.replace('\\', "/"))).into_owned())
    } else {
        in_nfc(trim_key(key))
    }
}

fn trim_key(key: &str) -> &str {
    key.strip_prefix("./").unwrap_or(key).trim_end_matches('/')
}
