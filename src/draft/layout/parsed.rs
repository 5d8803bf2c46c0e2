//! Paths cut into words, once for all readings that are tried.

use std::collections::{HashMap, HashSet};

use super::words::{TextToken, WordMeaning, split_into_words};

/// Endings of files that describe others, or belong to one: they get a place only in roots that
/// other files make.
const BESIDE: &[&str] = &[
    "cpg", "csv", "dbf", "geojson", "gml", "html", "json", "kml", "log", "lst", "md", "ods",
    "parquet", "pdf", "prj", "qml", "sbn", "sbx", "shp", "shx", "tsv", "txt", "wkt", "xlsx", "xml",
    "yaml", "yml",
];
/// Endings of archives, which are never samples of the dataset that they hold.
const ARCHIVES: &[&str] = &[
    "7z", "bz2", "gz", "md5", "rar", "sha256", "tar", "tgz", "xz", "zip", "zst",
];

/// The polarisation in the name of a measurement of a ground range product of Sentinel-1, which
/// repeats the times and the orbit of the product: `vv` of
/// `s1a-iw-grd-vv-20200101t053412-20200101t053437-030612-0381c9-001`. `None` for other names.
fn polarisation_of_measurement(stem: &str) -> Option<&str> {
    let parts: Vec<&str> = stem.split('-').collect();
    match parts.as_slice() {
        [platform, _, "grd", polarisation, _, _, _, _, _] if platform.starts_with("s1") => {
            Some(*polarisation)
        }
        _ => None,
    }
}

/// A folder's name.
#[derive(Clone, Debug)]
pub(super) struct FolderName {
    pub text: String,
    pub words: Vec<TextToken>,
}

#[derive(Clone, Debug)]
pub(super) struct ParsedPath {
    pub folders: Vec<FolderName>,
    pub stem: Vec<TextToken>,
    /// The stem as it is written.
    pub stem_text: String,
    /// The ending in lower case, without dot.
    pub ending: String,
    /// True for files that make roots.
    pub is_main: bool,
    /// False for archives and for the metadata inside a SAFE product.
    pub is_candidate: bool,
}

impl ParsedPath {
    /// Parses a path with `/` between its parts.
    pub fn from_path(path: &str) -> Self {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folders: Vec<&str> = above.split('/').filter(|part| !part.is_empty()).collect();
        let mut is_candidate = true;
        // A SAFE product is one scene; its rasters are in IMG_DATA (Sentinel-2) or measurement
        // (Sentinel-1).
        if let Some(product) = folders
            .iter()
            .position(|folder| folder.to_lowercase().ends_with(".safe"))
        {
            is_candidate = folders[product..]
                .iter()
                .any(|folder| matches!(*folder, "IMG_DATA" | "measurement"));
            folders.truncate(product + 1);
        }
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending))
                if !stem.is_empty()
                    && (1..=8).contains(&ending.len())
                    && ending.bytes().all(|b| b.is_ascii_alphanumeric()) =>
            {
                (stem, ending.to_lowercase())
            }
            _ => (name, String::new()),
        };
        // Of a SAFE product, the folder is the scene.
        let stem = if above.ends_with(".SAFE/measurement") {
            polarisation_of_measurement(stem).unwrap_or(stem)
        } else {
            stem
        };
        let is_archive = ARCHIVES.contains(&ending.as_str());
        Self {
            folders: folders
                .iter()
                .map(|text| FolderName {
                    text: (*text).to_owned(),
                    words: split_into_words(text),
                })
                .collect(),
            stem: split_into_words(stem),
            stem_text: stem.to_owned(),
            is_main: !BESIDE.contains(&ending.as_str()) && !is_archive && is_candidate,
            is_candidate: is_candidate && !is_archive,
            ending,
        }
    }

    /// Parses all paths. Where stems in one folder share a beginning that ends with a number, what
    /// follows tells products apart, though it may have numbers in some of them; and what all of
    /// them repeat after it belongs to the scene.
    pub fn from_paths(paths: &[String]) -> Vec<Self> {
        Self::settle_parts_by_folder(
            paths,
            paths.iter().map(|path| Self::from_path(path)).collect(),
        )
    }

    /// As [`ParsedPath::from_paths`], for a layout that was chosen: labels and texts make the roots
    /// where there is nothing else.
    pub fn all_of_chosen_layout(paths: &[String]) -> Vec<Self> {
        let mut parsed: Vec<Self> = paths.iter().map(|path| Self::from_path(path)).collect();
        if parsed.iter().all(|path| !path.is_main) {
            parsed
                .iter_mut()
                .for_each(|path| path.is_main = path.is_candidate);
        }
        Self::settle_parts_by_folder(paths, parsed)
    }

    fn settle_parts_by_folder(paths: &[String], mut parsed: Vec<Self>) -> Vec<Self> {
        let mut in_folder: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, path) in paths
            .iter()
            .enumerate()
            .filter(|(index, _)| parsed[*index].is_main)
        {
            in_folder
                .entry(path.rsplit_once('/').map_or("", |(folder, _)| folder))
                .or_default()
                .push(index);
        }
        for files in in_folder.values() {
            settle_parts(&mut parsed, files);
        }
        parsed
    }

    pub fn depth(&self) -> usize {
        self.folders.len()
    }
}

/// Number of words up to the last that tells scenes apart.
fn scene_words(stem: &[TextToken]) -> usize {
    stem.iter()
        .rposition(TextToken::is_identifier)
        .map_or(0, |last| last + 1)
}

fn beginning(stem: &[TextToken], words: usize) -> String {
    let texts: Vec<&str> = stem
        .iter()
        .take(words)
        .map(|word| word.lower.as_str())
        .collect();
    texts.join("_")
}

/// See [`ParsedPath::from_paths`], for the files of one folder.
fn settle_parts(parsed: &mut [ParsedPath], files: &[usize]) {
    let mut own: HashMap<String, usize> = HashMap::new();
    for &file in files {
        let stem = &parsed[file].stem;
        *own.entry(beginning(stem, scene_words(stem))).or_default() += 1;
    }
    for &file in files {
        let stem = &parsed[file].stem;
        let length = scene_words(stem);
        if length == 0
            || own
                .get(&beginning(stem, length))
                .is_some_and(|count| *count > 1)
        {
            continue;
        }
        // Two names or more end their numbers earlier, as this one may.
        let shorter = (1..length).rev().find(|&words| {
            stem[words - 1].is_identifier()
                && !stem[words].is_identifier()
                && own
                    .get(&beginning(stem, words))
                    .is_some_and(|count| *count > 1)
        });
        if let Some(words) = shorter {
            parsed[file].stem[words..]
                .iter_mut()
                .for_each(|word| word.meaning = WordMeaning::Product);
        }
    }
    let mut scenes: HashMap<String, Vec<usize>> = HashMap::new();
    for &file in files {
        let stem = &parsed[file].stem;
        scenes
            .entry(beginning(stem, scene_words(stem)))
            .or_default()
            .push(file);
    }
    for members in scenes.values().filter(|members| members.len() > 1) {
        let rests: HashSet<Vec<&str>> = members
            .iter()
            .map(|&file| list_words_after_scene(&parsed[file].stem))
            .collect();
        let shortest = rests.iter().map(Vec::len).min().unwrap_or(0);
        let Some(first) = rests.iter().next().filter(|_| rests.len() > 1) else {
            continue;
        };
        let shared = (0..shortest)
            .take_while(|&at| rests.iter().all(|other| other[at] == first[at]))
            .count();
        for &file in members {
            let start = scene_words(&parsed[file].stem);
            if start > 0 {
                parsed[file].stem[start..start + shared]
                    .iter_mut()
                    .for_each(|word| word.meaning = WordMeaning::Scene);
            }
        }
    }
}

fn list_words_after_scene(stem: &[TextToken]) -> Vec<&str> {
    stem[scene_words(stem)..]
        .iter()
        .map(|word| word.lower.as_str())
        .collect()
}
