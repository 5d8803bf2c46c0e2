//! Paths cut into words, once for all readings that are tried.

use std::collections::{HashMap, HashSet};

use super::words::{TextToken, WordMeaning, split_into_words};
use crate::draft::pattern::TokenKind;

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

/// Endings of programs, papers and checksums beside a dataset, which are never samples.
const DOCUMENTS: &[&str] = &[
    "bib", "cff", "cfg", "doc", "docx", "ini", "ipynb", "jsonld", "m", "odt", "pbtxt", "pptx",
    "ps1", "py", "qgs", "qgz", "r", "rmd", "rst", "rtf", "sh", "sha1", "sha512", "tex", "toml",
];
/// Names of such files that have no ending, in lower case.
const DOCUMENT_NAMES: &[&str] = &[
    "authors",
    "changelog",
    "checksums",
    "citation",
    "copying",
    "licence",
    "license",
    "makefile",
    "md5sums",
    "notice",
    "readme",
    "sha256sums",
];

/// What a measurement of a Sentinel-1 product is of its scene, from its name, which has times and
/// the orbit besides: the polarisation, `vv` of
/// `s1a-iw-grd-vv-20200101t053412-20200101t053437-030612-0381c9-001`, and of single look complex
/// products the swath before it, `iw1-vv`: each swath has times of its own. `None` for other names,
/// and in wave mode, whose measurements are scenes.
fn part_of_measurement(stem: &str) -> Option<String> {
    // Products of the Copernicus Data Space are cloud optimised.
    let stem = stem.strip_suffix("-cog").unwrap_or(stem);
    let parts: Vec<&str> = stem.split('-').collect();
    let [platform, swath, kind, polarisation, _, _, _, _, _] = parts.as_slice() else {
        return None;
    };
    if !platform.starts_with("s1") || swath.starts_with("wv") {
        return None;
    }
    match *kind {
        // Of stripmap products, the swath is that of the whole product.
        "slc" if is_one_of_swaths(swath) => Some(format!("{swath}-{polarisation}")),
        "slc" | "grd" | "ocn" => Some((*polarisation).to_owned()),
        _ => None,
    }
}

/// True for a swath of a mode that scans several: `iw1`, `ew5`.
fn is_one_of_swaths(swath: &str) -> bool {
    let number = swath
        .strip_prefix("iw")
        .or_else(|| swath.strip_prefix("ew"));
    number.is_some_and(|number| number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit()))
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
    /// False for archives, for documents and for the metadata inside a SAFE product.
    pub is_candidate: bool,
    /// True for measurements of a Sentinel-1 product, whose folder is the scene: the stem has
    /// nothing but what they are of it.
    pub is_measurement: bool,
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
        let measurement = above
            .ends_with(".SAFE/measurement")
            .then(|| part_of_measurement(stem))
            .flatten();
        let stem = measurement.as_deref().unwrap_or(stem);
        let mut words = split_into_words(stem);
        if measurement.is_some() {
            words
                .iter_mut()
                .for_each(|word| word.meaning = WordMeaning::Product);
        }
        let is_archive = ARCHIVES.contains(&ending.as_str());
        let is_document = DOCUMENTS.contains(&ending.as_str())
            || ending.is_empty() && DOCUMENT_NAMES.contains(&name.to_lowercase().as_str());
        let is_candidate = is_candidate && !is_archive && !is_document;
        Self {
            folders: folders
                .iter()
                .map(|text| FolderName {
                    text: (*text).to_owned(),
                    words: split_into_words(text),
                })
                .collect(),
            stem: words,
            stem_text: stem.to_owned(),
            is_main: !BESIDE.contains(&ending.as_str()) && is_candidate,
            is_candidate,
            is_measurement: measurement.is_some(),
            ending,
        }
    }

    /// Parses all paths. Where stems in one folder share a beginning that ends with a number, what
    /// follows distinguishes products, though it may have numbers in some of them; and what all of
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

/// Number of words up to the last that identifies scenes.
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

/// Numbers of words before `length` with which the name of a scene can end, the last first.
fn ends_of_scene(stem: &[TextToken], length: usize) -> impl Iterator<Item = usize> {
    (1..length)
        .rev()
        .filter(|&words| stem[words - 1].is_identifier() && !stem[words].is_identifier())
}

/// The number of words of the scene in a name that goes on with words that other scenes repeat, one
/// of which has a digit: `8b` in `1009_3B_AnalyticMS_SR_8b`, beside `1009_3B_udm2`. `own` has the
/// whole names of scenes, `tails` what follows these in the names of others.
fn words_before_repeated_tail(
    stem: &[TextToken],
    length: usize,
    own: &HashMap<String, usize>,
    tails: &HashMap<String, usize>,
) -> Option<usize> {
    ends_of_scene(stem, length).find(|&words| {
        let tail = &stem[words..];
        let is_product = |word: &TextToken| !word.is_identifier() || word.kind == TokenKind::Word;
        tail.iter().all(is_product)
            && own.contains_key(&beginning(stem, words))
            && tails
                .get(&beginning(tail, usize::MAX))
                .is_some_and(|count| *count > 1)
    })
}

/// See [`ParsedPath::from_paths`], for the files of one folder.
fn settle_parts(parsed: &mut [ParsedPath], files: &[usize]) {
    let mut own: HashMap<String, usize> = HashMap::new();
    for &file in files {
        let stem = &parsed[file].stem;
        *own.entry(beginning(stem, scene_words(stem))).or_default() += 1;
    }
    let mut tails: HashMap<String, usize> = HashMap::new();
    for &file in files {
        let stem = &parsed[file].stem;
        for words in ends_of_scene(stem, scene_words(stem)) {
            if own.contains_key(&beginning(stem, words)) {
                *tails
                    .entry(beginning(&stem[words..], usize::MAX))
                    .or_default() += 1;
            }
        }
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
        let shorter = ends_of_scene(stem, length)
            .find(|&words| {
                own.get(&beginning(stem, words))
                    .is_some_and(|count| *count > 1)
            })
            .or_else(|| words_before_repeated_tail(stem, length, &own, &tails));
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
