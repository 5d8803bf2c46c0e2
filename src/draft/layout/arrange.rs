//! Arranges files by a reading: roots × positions, columns, and what is left over.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::parsed::{FolderName, ParsedPath};
use super::refusal::{LayoutConflict, LayoutRefusal, SparseArrangement};
use super::words::{TextToken, join_words, split_into_words, to_singular};
use super::{FolderRole, LayoutReading, NameRole};
use crate::draft::pattern::{TokenKind, natural_key};
use crate::model::{NameNumbers, check_sample_id, portable_name};

/// A position and how many roots have it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ArrangedPosition {
    /// Id of the sample; empty when the roots are FILEs.
    pub id: String,
    /// Index of a file at this position.
    pub example: usize,
    /// Number of roots with a file here; the others are padded.
    pub matched: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ArrangedRoot {
    /// Id of the sample.
    pub id: String,
    /// Values of [`ArrangedFiles::columns`].
    pub columns: Vec<Option<String>>,
    /// By position, the index of the file; none is padded.
    pub files: Vec<Option<usize>>,
    /// By position, the date `YYYY-MM-DD` by which the files are in order.
    pub dates: Vec<Option<String>>,
}

/// An id that had to be changed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RenamedId {
    /// As in the names of the files.
    pub from: String,
    /// As in the dataset.
    pub to: String,
}

/// Files arranged as roots of one structure.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ArrangedFiles {
    /// Positions in their order.
    pub positions: Vec<ArrangedPosition>,
    /// Names of the columns of the roots.
    pub columns: Vec<String>,
    /// Roots in natural order of their ids.
    pub roots: Vec<ArrangedRoot>,
    /// Files without a place.
    pub left_over: Vec<usize>,
    /// Ids that were mended.
    pub renamed: Vec<RenamedId>,
    /// True when positions are in order of dates.
    pub by_date: bool,
}

impl ArrangedFiles {
    /// Number of files with a place.
    pub fn placed_file_count(&self) -> usize {
        self.positions.iter().map(|position| position.matched).sum()
    }

    /// True when each root is one FILE.
    pub fn has_file_roots(&self) -> bool {
        self.positions.len() == 1 && !self.by_date
    }

    /// Share of the cells that have a file, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.placed_file_count() as f64 / (self.roots.len() * self.positions.len()).max(1) as f64
    }
}

/// Arranges files by a reading. `paths` are below the folder of the dataset, with `/`.
///
/// # Errors
/// The first two files with one place; roots × positions that are far more than the files.
pub fn arrange_files(
    paths: &[String],
    reading: &LayoutReading,
) -> Result<ArrangedFiles, LayoutRefusal> {
    arrange(&ParsedPath::all_of_chosen_layout(paths), reading)
}

/// What a path says under a reading.
#[derive(Clone, Debug, Default)]
struct PathReading {
    /// Folders that only name the root.
    folders: Vec<String>,
    /// All parts of the root's name: folders, then the stem's.
    parts: Vec<String>,
    /// Index in `parts` of the stem's part.
    stem: Option<usize>,
    position: Vec<String>,
    split: Option<String>,
    columns: Vec<(String, String)>,
    date: Option<String>,
    /// Words of the stem that repeat the position folder.
    folder_in_stem: Range<usize>,
}

impl PathReading {
    fn key(&self, with_split: bool) -> String {
        let mut key = String::new();
        if let Some(split) = self.split.as_ref().filter(|_| with_split) {
            key.push_str(&split.to_lowercase());
        }
        for part in without_repeated(&self.parts) {
            key.push('/');
            key.push_str(&normalize_words(part));
        }
        key
    }

    fn join_folders(&self) -> String {
        without_repeated(&self.folders).join("_")
    }

    /// The part of the stem, else the last folder.
    fn choose_stem_or_folder(&self) -> String {
        let stem = self.stem.and_then(|at| self.parts.get(at));
        let stem = stem.filter(|text| !text.is_empty());
        stem.or(self.folders.last()).cloned().unwrap_or_default()
    }

    fn join_parts(&self, with_split: bool) -> String {
        let split = self.split.iter().filter(|_| with_split);
        let mut parts: Vec<&str> = split.map(String::as_str).collect();
        parts.extend(without_repeated(&self.parts));
        parts.retain(|part| !part.is_empty());
        parts.join("_")
    }
}

/// The parts with words that no other part repeats, which would add nothing: of
/// `scene_1/scene_1_a`, the latter.
fn without_repeated(parts: &[String]) -> Vec<&str> {
    let lower: Vec<String> = parts.iter().map(|part| normalize_words(part)).collect();
    let own = (0..parts.len()).filter(|&at| !lower[at].is_empty() && !is_repeated(&lower, at));
    own.map(|at| parts[at].as_str()).collect()
}

fn is_repeated(parts: &[String], at: usize) -> bool {
    let part = &parts[at];
    parts.iter().enumerate().any(|(other, text)| {
        other != at && contains_part(text, part) && (text.len() > part.len() || other > at)
    })
}

/// Lower case, with `_` between the words.
fn normalize_words(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

fn contains_part(text: &str, part: &str) -> bool {
    format!("_{text}_").contains(&format!("_{part}_"))
}

/// The words of a folder at a position, without those of the split.
fn position_text(folder: &FolderName, numbers: bool) -> String {
    let kept: Vec<&TextToken> = folder
        .words
        .iter()
        .filter(|word| !word.is_split() && (numbers || word.kind != TokenKind::Number))
        .collect();
    join_words(kept)
}

fn split_text(folder: &FolderName) -> Option<String> {
    let split: Vec<&TextToken> = folder.words.iter().filter(|word| word.is_split()).collect();
    Some(split.first()?.text.clone())
}

/// The number of folders by which a path is read: its own, or that of the innermost folders that
/// are positions, for labels in folders below these: `geojson/roads/roads_1.geojson` beside
/// `image/image_1.tif`. `None` when the reading does not mean this path.
fn reading_depth(path: &ParsedPath, reading: &LayoutReading) -> Option<usize> {
    let depth = path.depth();
    if reading.names.contains_key(&depth) {
        return Some(depth);
    }
    let deepest = *reading.names.keys().next_back()?;
    let innermost = reading.folders.get(deepest.checked_sub(1)?)?;
    let is_position = matches!(
        innermost,
        FolderRole::Position | FolderRole::NumberedPosition
    );
    (is_position && !path.is_main && deepest < depth).then_some(deepest)
}

/// The folders' part of a cell; `None` when the reading does not mean this path.
fn cell_of_folders(
    path: &ParsedPath,
    reading: &LayoutReading,
    fixed: &[Option<String>],
) -> Option<PathReading> {
    let depth = reading_depth(path, reading)?;
    let (read, below) = path.folders.split_at(depth);
    let mut cell = PathReading::default();
    for (at, (folder, role)) in read.iter().zip(&reading.folders).enumerate() {
        match role {
            // The folder of texts beside the one folder of the images.
            FolderRole::Ignored
                if !path.is_main
                    && fixed.get(at).is_some_and(|name| {
                        name.as_ref().is_some_and(|name| *name != folder.text)
                    }) =>
            {
                cell.position.push(folder.text.clone());
            }
            FolderRole::Ignored => {}
            FolderRole::Named(name) if *name == folder.text => {}
            FolderRole::Named(_) => return None,
            FolderRole::Split => cell.split = Some(folder.text.clone()),
            FolderRole::Position | FolderRole::NumberedPosition => {
                let whole = *role == FolderRole::Position;
                let text = position_text(folder, whole);
                if !text.is_empty() {
                    cell.position.push(text);
                }
                // A folder below may be of one word, which is none in the stem.
                let repeated = find_folder_in_stem(&path.stem, &folder.words);
                if !repeated.is_empty() {
                    cell.folder_in_stem = repeated;
                }
                if cell.split.is_none() {
                    cell.split = split_text(folder);
                }
                if !whole {
                    let numbers = folder
                        .words
                        .iter()
                        .filter(|word| word.kind == TokenKind::Number);
                    cell.parts.push(join_words(numbers));
                }
            }
            FolderRole::Root => {
                cell.folders.push(folder.text.clone());
                cell.parts.push(folder.text.clone());
                if cell.split.is_none() {
                    cell.split = split_text(folder);
                }
            }
            FolderRole::Column(name) => {
                cell.columns.push((name.clone(), folder.text.clone()));
                cell.parts.push(folder.text.clone());
            }
        }
    }
    cell.position
        .extend(below.iter().map(|folder| folder.text.clone()));
    Some(cell)
}

/// Where a stem repeats the words of its position folder, of which single ones may also be in the
/// name of the dataset: `geojson_buildings` in `SN2_buildings_Vegas_geojson_buildings_img1`. Empty
/// for folders of one word, which [`own_words`] finds, and of words that identify scenes or splits.
fn find_folder_in_stem(stem: &[TextToken], folder: &[TextToken]) -> Range<usize> {
    let is_plain = |word: &TextToken| !word.is_identifier() && !word.is_split();
    if folder.len() < 2 || folder.len() >= stem.len() || !folder.iter().all(is_plain) {
        return 0..0;
    }
    stem.windows(folder.len())
        .position(|run| {
            run.iter()
                .map(|word| &word.lower)
                .eq(folder.iter().map(|word| &word.lower))
        })
        .map_or(0..0, |at| at..at + folder.len())
}

/// Words that all files of a position folder have in their stems and another folder's files do not:
/// `3band_` of `3band_img1`.
fn own_words(
    paths: &[ParsedPath],
    cells: &[Option<PathReading>],
) -> HashMap<String, HashSet<String>> {
    let mut streams: BTreeMap<String, PositionWords> = BTreeMap::new();
    for wanted_main in [true, false] {
        for (index, (path, cell)) in paths.iter().zip(cells).enumerate() {
            let Some(cell) = cell.as_ref().filter(|_| path.is_main == wanted_main) else {
                continue;
            };
            let stream = streams.entry(cell.position.join("/")).or_default();
            stream.members.push(index);
            if !wanted_main && stream.is_main {
                continue;
            }
            stream.is_main = wanted_main;
            stream.files += 1;
            let words: HashSet<String> = path.stem.iter().map(|word| word.lower.clone()).collect();
            stream.all.extend(words.iter().cloned());
            stream.all.extend(
                cell.parts
                    .iter()
                    .flat_map(|part| split_into_words(part))
                    .map(|word| word.lower),
            );
            match &mut stream.common {
                Some(common) => common.retain(|word| words.contains(word)),
                None => stream.common = Some(words),
            }
        }
    }
    // Numbers and dates stay; words with digits where a file keeps another number.
    let stems = || paths.iter().flat_map(|path| &path.stem);
    let fixed: HashSet<&str> = stems()
        .filter(|word| is_numeric_token(word))
        .map(|word| word.lower.as_str())
        .collect();
    let identifiers: HashSet<&str> = stems()
        .filter(|word| word.is_identifier())
        .map(|word| word.lower.as_str())
        .collect();
    let main_words = MainWords::from_positions(&streams);
    let mut own = HashMap::new();
    for (name, stream) in &streams {
        let mut words: HashSet<String> = stream
            .common
            .iter()
            .flatten()
            .filter(|word| main_words.is_missing_elsewhere(word, stream))
            .cloned()
            .collect();
        words.retain(|word| {
            !fixed.contains(word.as_str())
                && (stream.files > 1 || !identifiers.contains(word.as_str()))
        });
        let mut in_stream = stream.members.iter().map(|&index| &paths[index]);
        if !in_stream.all(|path| has_identifier_besides(path, &words)) {
            words.retain(|word| !identifiers.contains(word.as_str()));
        }
        own.insert(name.clone(), words);
    }
    own
}

/// Words in the stems of the files of one position.
#[derive(Default)]
struct PositionWords {
    common: Option<HashSet<String>>,
    all: HashSet<String>,
    files: usize,
    is_main: bool,
    /// Indices of all files of the position.
    members: Vec<usize>,
}

fn is_numeric_token(word: &TextToken) -> bool {
    !matches!(
        word.kind,
        TokenKind::Word | TokenKind::Band | TokenKind::Resolution
    )
}

/// By word, the positions whose main files have it: counted once, as there may be as many positions
/// as files.
struct MainWords<'a> {
    positions: usize,
    holders: HashMap<&'a str, usize>,
}

impl<'a> MainWords<'a> {
    fn from_positions(streams: &'a BTreeMap<String, PositionWords>) -> Self {
        let mut found = Self {
            positions: 0,
            holders: HashMap::new(),
        };
        for stream in streams.values().filter(|stream| stream.is_main) {
            found.positions += 1;
            for word in &stream.all {
                *found.holders.entry(word).or_default() += 1;
            }
        }
        found
    }

    /// True where the main files of another position than `own` lack the word.
    fn is_missing_elsewhere(&self, word: &str, own: &PositionWords) -> bool {
        let holders = self.holders.get(word).copied().unwrap_or(0);
        let is_own_holder = own.is_main && own.all.contains(word);
        holders - usize::from(is_own_holder) < self.positions - usize::from(own.is_main)
    }
}

fn has_identifier_besides(path: &ParsedPath, words: &HashSet<String>) -> bool {
    path.stem
        .iter()
        .any(|word| word.is_identifier() && !words.contains(&word.lower))
}

/// The root's and the position's words of a stem.
pub(super) fn root_and_position<'a>(
    words: &[&'a TextToken],
) -> (Vec<&'a TextToken>, Vec<&'a TextToken>) {
    if let Some(last) = words.iter().rposition(|word| word.is_identifier()) {
        let lead = words
            .iter()
            .take_while(|word| word.is_product() && !word.is_identifier())
            .count();
        return if last + 1 == words.len() && lead > 0 {
            (words[lead..].to_vec(), words[..lead].to_vec())
        } else {
            (words[..=last].to_vec(), words[last + 1..].to_vec())
        };
    }
    let at = match words {
        [] => 0,
        [only] => usize::from(!only.is_exact_product()),
        words => words
            .iter()
            .skip(1)
            .position(|word| word.is_exact_product())
            .map_or(words.len() - 1, |at| at + 1),
    };
    (words[..at].to_vec(), words[at..].to_vec())
}

/// Adds what the stem says.
fn read_stem(
    cell: &mut PathReading,
    path: &ParsedPath,
    role: NameRole,
    own: Option<&HashSet<String>>,
) {
    let words: Vec<&TextToken> = path
        .stem
        .iter()
        .enumerate()
        .filter(|(at, _)| !cell.folder_in_stem.contains(at))
        .map(|(_, word)| word)
        .filter(|word| !own.is_some_and(|own| own.contains(&word.lower)))
        .collect();
    let (root, position) = match role {
        NameRole::Root => (words, Vec::new()),
        NameRole::Position => (Vec::new(), words),
        NameRole::RootAndPosition => root_and_position(&words),
        NameRole::Date => {
            let date: Vec<&TextToken> = words
                .iter()
                .copied()
                .filter(|word| word.kind == TokenKind::Date)
                .collect();
            cell.date = date.first().and_then(|word| iso_date(&word.text));
            (
                words
                    .into_iter()
                    .filter(|word| !matches!(word.kind, TokenKind::Date | TokenKind::Time))
                    .collect(),
                Vec::new(),
            )
        }
    };
    if role == NameRole::Root && root.len() == path.stem.len() {
        cell.stem = Some(cell.parts.len());
        cell.parts.push(path.stem_text.clone());
    } else if !root.is_empty() {
        cell.stem = Some(cell.parts.len());
        cell.parts.push(join_words(root));
    }
    if !position.is_empty() {
        cell.position.push(join_words(position));
    }
    if cell.split.is_none() && !cell.parts.is_empty() {
        let mut found = path.stem.iter().filter(|word| word.is_split());
        if let (Some(word), None) = (found.next(), found.next()) {
            cell.split = Some(word.text.clone());
        }
    }
}

/// `YYYY-MM-DD` of a date in a name.
fn iso_date(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (digits.len() == 8).then(|| format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]))
}

type FilePlaces = HashMap<(String, String), usize>;
/// By file, the id that it would have and the one that it has, where they differ.
type RenamedIds = Vec<Option<(String, String)>>;

/// The place of each file; an error for two files with one.
fn places_of(
    paths: &[ParsedPath],
    cells: &[Option<PathReading>],
    with_split: bool,
    with_ending: bool,
) -> Result<(FilePlaces, RenamedIds), LayoutConflict> {
    let mut taken: FilePlaces = HashMap::new();
    let mut places = vec![None; cells.len()];
    for (index, (path, cell)) in paths.iter().zip(cells).enumerate() {
        let Some(cell) = cell.as_ref().filter(|_| path.is_main) else {
            continue;
        };
        let mut position = cell.position.join("/");
        if with_ending {
            position = format!("{position}/.{}", path.ending);
        }
        if let Some(date) = &cell.date {
            position = format!("{position}/{date}");
        }
        let place = (cell.key(with_split), position);
        if let Some(&other) = taken.get(&place) {
            return Err(LayoutConflict {
                files: [other, index],
            });
        }
        taken.insert(place.clone(), index);
        places[index] = Some(place);
    }
    Ok((taken, places))
}

/// By depth, the folder that is above all main files.
fn fixed_folders(paths: &[ParsedPath], depth: usize) -> Vec<Option<String>> {
    (0..depth).map(|at| find_fixed_folder(paths, at)).collect()
}

fn find_fixed_folder(paths: &[ParsedPath], depth: usize) -> Option<String> {
    let mut names = paths
        .iter()
        .filter(|path| path.is_main)
        .map(|path| path.folders.get(depth).map(|folder| &folder.text));
    let first = names.next()??;
    names.all(|name| name == Some(first)).then(|| first.clone())
}

pub(super) fn arrange(
    paths: &[ParsedPath],
    reading: &LayoutReading,
) -> Result<ArrangedFiles, LayoutRefusal> {
    let fixed = fixed_folders(paths, reading.folders.len());
    let mut cells: Vec<Option<PathReading>> = paths
        .iter()
        .map(|path| cell_of_folders(path, reading, &fixed).filter(|_| path.is_candidate))
        .collect();
    let own = own_words(paths, &cells);
    let mut streams: Vec<String> = Vec::with_capacity(cells.len());
    for (path, cell) in paths.iter().zip(&mut cells) {
        let stream = cell
            .as_ref()
            .map_or_else(String::new, |cell| cell.position.join("/"));
        let role = reading_depth(path, reading).and_then(|depth| reading.names.get(&depth));
        if let (Some(cell), Some(&role)) = (cell.as_mut(), role) {
            read_stem(cell, path, role, own.get(&stream));
        }
        streams.push(stream);
    }
    let tries = [(false, false), (true, false), (false, true), (true, true)];
    let mut found = Err(LayoutConflict { files: [0, 0] });
    for (with_split, with_ending) in tries {
        match places_of(paths, &cells, with_split, with_ending) {
            Ok((taken, places)) => {
                found = Ok((taken, places, with_split));
                break;
            }
            Err(conflict) if !(with_split || with_ending) => found = Err(conflict),
            Err(_) => {}
        }
    }
    let (mut taken, mut places, with_split) = found?;
    place_beside(
        paths,
        &mut cells,
        &streams,
        (reading, &own, &fixed),
        with_split,
        (&mut taken, &mut places),
    );
    build_arrangement(paths, &cells, &places, with_split).map_err(LayoutRefusal::TooSparse)
}

/// Gives files that describe others a place in the roots that those make.
fn place_beside(
    paths: &[ParsedPath],
    cells: &mut [Option<PathReading>],
    streams: &[String],
    (reading, own, fixed): (
        &LayoutReading,
        &HashMap<String, HashSet<String>>,
        &[Option<String>],
    ),
    with_split: bool,
    (taken, places): (&mut FilePlaces, &mut [Option<(String, String)>]),
) {
    let keys: HashSet<String> = taken.keys().map(|(key, _)| key.clone()).collect();
    let main: HashSet<String> = taken.keys().map(|(_, position)| position.clone()).collect();
    // By position and ending: the files, and how many of them match a root.
    let mut groups: BTreeMap<(String, String), (Vec<usize>, usize)> = BTreeMap::new();
    for (index, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_main) {
        let Some(cell) = cells[index].as_ref() else {
            continue;
        };
        let mut matched = keys.contains(&cell.key(with_split));
        let role = reading_depth(path, reading).and_then(|depth| reading.names.get(&depth));
        if !matched && role == Some(&NameRole::Root) {
            let mut other = cell_of_folders(path, reading, fixed).unwrap_or_default();
            read_stem(
                &mut other,
                path,
                NameRole::RootAndPosition,
                own.get(&streams[index]),
            );
            if keys.contains(&other.key(with_split)) {
                matched = true;
                cells[index] = Some(other);
            }
        }
        let Some(cell) = cells[index].as_ref() else {
            continue;
        };
        let group = groups
            .entry((cell.position.join("/"), path.ending.clone()))
            .or_default();
        group.0.push(index);
        group.1 += usize::from(matched);
    }
    groups.retain(|_, (files, matched)| {
        *matched * 2 >= files.len() && *matched > 0 && (*matched > 1 || keys.len() == 1)
    });
    let mut endings: HashMap<&str, usize> = HashMap::new();
    for (text, _) in groups.keys() {
        *endings.entry(text).or_default() += 1;
    }
    for ((text, ending), (files, _)) in &groups {
        let shared = main.contains(text) || endings[text.as_str()] > 1;
        let position = if shared || text.is_empty() {
            format!("{text}/{ending}")
        } else {
            text.clone()
        };
        for &index in files {
            let Some(cell) = cells[index].as_mut() else {
                continue;
            };
            let place = (cell.key(with_split), position.clone());
            if !keys.contains(&place.0) || taken.contains_key(&place) {
                continue;
            }
            cell.position = position
                .split('/')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect();
            taken.insert(place.clone(), index);
            places[index] = Some(place);
        }
    }
}

/// The arrangement of files that have a place each; an error for one that is nearly all padding.
fn build_arrangement(
    paths: &[ParsedPath],
    cells: &[Option<PathReading>],
    places: &[Option<(String, String)>],
    with_split: bool,
) -> Result<ArrangedFiles, SparseArrangement> {
    let mut by_root: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, place) in places.iter().enumerate() {
        if let Some((key, _)) = place {
            by_root.entry(key).or_default().push(index);
        }
    }
    let by_date = places.iter().zip(cells).any(|(place, cell)| {
        place.is_some() && cell.as_ref().is_some_and(|cell| cell.date.is_some())
    });
    // Positions: texts, or places in the order of dates.
    let mut texts: Vec<String> = Vec::new();
    if by_date {
        let longest = by_root.values().map(Vec::len).max().unwrap_or(0);
        texts.extend((0..longest).map(|at| at.to_string()));
    } else {
        let known: BTreeSet<&str> = places
            .iter()
            .flatten()
            .map(|(_, position)| position.as_str())
            .collect();
        texts.extend(known.into_iter().map(str::to_owned));
    }
    let size = SparseArrangement {
        roots: by_root.len(),
        positions: texts.len(),
        placed: by_root.values().map(Vec::len).sum(),
        by_date,
    };
    if size.is_refused() {
        return Err(size);
    }
    let ids = if by_date {
        date_ids(texts.len())
    } else {
        position_ids(&texts)
    };
    let mut order: Vec<usize> = (0..texts.len()).collect();
    if !by_date {
        order.sort_by_cached_key(|&at| natural_key(&ids[at]));
    }
    let rank: HashMap<&str, usize> = order
        .iter()
        .enumerate()
        .map(|(rank, &at)| (texts[at].as_str(), rank))
        .collect();
    let mut positions: Vec<ArrangedPosition> = order
        .iter()
        .map(|&at| ArrangedPosition {
            id: ids[at].clone(),
            example: usize::MAX,
            matched: 0,
        })
        .collect();

    let mut columns: Vec<String> = Vec::new();
    for cell in cells.iter().flatten() {
        for (name, _) in &cell.columns {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
    }
    let has_split = by_root.values().flatten().any(|&index| {
        cells[index]
            .as_ref()
            .is_some_and(|cell| cell.split.is_some())
    });
    if has_split && !columns.iter().any(|name| name == "split") {
        columns.insert(0, "split".to_owned());
    }
    let names = root_names(&by_root, cells, with_split);
    let mut roots = Vec::with_capacity(by_root.len());
    for (files, name) in by_root.values().zip(names) {
        let mut files = files.clone();
        let mut root = ArrangedRoot {
            id: name,
            columns: vec![None; columns.len()],
            files: vec![None; positions.len()],
            dates: vec![None; if by_date { positions.len() } else { 0 }],
        };
        if by_date {
            files.sort_by_key(|&index| {
                (
                    cells[index].as_ref().and_then(|cell| cell.date.clone()),
                    paths[index].stem_text.clone(),
                )
            });
        }
        for (at, &index) in files.iter().enumerate() {
            let Some(cell) = cells[index].as_ref() else {
                continue;
            };
            let position = match &places[index] {
                _ if by_date => at,
                Some((_, text)) => rank.get(text.as_str()).copied().unwrap_or(0),
                None => continue,
            };
            if by_date {
                root.dates[position] = cell.date.clone();
            }
            root.files[position] = Some(index);
            let found = &mut positions[position];
            found.matched += 1;
            found.example = found.example.min(index);
            for (column, value) in columns.iter().zip(&mut root.columns) {
                let own = cell
                    .columns
                    .iter()
                    .find(|(name, _)| name == column)
                    .map(|(_, text)| text.clone());
                let own = own.or_else(|| cell.split.clone().filter(|_| column == "split"));
                if value.is_none() {
                    *value = own;
                }
            }
        }
        roots.push(root);
    }
    let left_over = (0..paths.len())
        .filter(|&index| places[index].is_none())
        .collect();
    let mut arrangement = ArrangedFiles {
        positions,
        columns,
        roots,
        left_over,
        renamed: Vec::new(),
        by_date,
    };
    if arrangement.has_file_roots() {
        for root in &mut arrangement.roots {
            let ending = root
                .files
                .iter()
                .flatten()
                .next()
                .map_or("", |&index| paths[index].ending.as_str());
            if !ending.is_empty() {
                root.id = format!("{}.{ending}", root.id);
            }
        }
        arrangement
            .positions
            .iter_mut()
            .for_each(|position| position.id.clear());
    }
    mend_ids(&mut arrangement);
    arrangement
        .roots
        .sort_by_cached_key(|root| natural_key(&root.id));
    Ok(arrangement)
}

fn date_ids(count: usize) -> Vec<String> {
    let width = count.saturating_sub(1).to_string().len().max(2);
    (0..count).map(|at| format!("t{at:0width$}")).collect()
}

/// Ids of positions: the last parts of their names that distinguish them.
fn position_ids(texts: &[String]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| {
            text.split('/')
                .map(|part| part.trim_start_matches('.'))
                .filter(|part| !part.is_empty())
                .collect()
        })
        .collect();
    // The part that all of them end with distinguishes nothing: T1 of the product in `blue/T1`,
    // `red/T1`.
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let shared = (0..shortest.saturating_sub(1))
        .take_while(|at| {
            parts
                .iter()
                .all(|other| other[other.len() - 1 - at] == parts[0][parts[0].len() - 1 - at])
        })
        .count();
    let shared = if parts.len() > 1 { shared } else { 0 };
    let parts: Vec<&[&str]> = parts
        .iter()
        .map(|parts| &parts[..parts.len() - shared])
        .collect();
    // How many positions end with each text.
    let mut ends: HashMap<String, usize> = HashMap::new();
    for parts in &parts {
        let own: HashSet<String> = (0..=parts.len())
            .map(|length| join_last_parts(parts, length.max(1)).to_lowercase())
            .collect();
        own.into_iter()
            .for_each(|end| *ends.entry(end).or_default() += 1);
    }
    parts
        .iter()
        .map(|parts| choose_position_id(parts, &ends))
        .collect()
}

fn join_last_parts(parts: &[&str], length: usize) -> String {
    let kept: Vec<String> = parts[parts.len().saturating_sub(length)..]
        .iter()
        .map(|part| to_singular(part))
        .collect();
    if kept.is_empty() {
        "image".to_owned()
    } else {
        kept.join("_")
    }
}

/// The shortest end of the parts that no other position has; `ends` counts the positions by end.
fn choose_position_id(parts: &[&str], ends: &HashMap<String, usize>) -> String {
    for length in 1..parts.len() {
        let id = join_last_parts(parts, length);
        if ends.get(&id.to_lowercase()) == Some(&1) {
            return id;
        }
    }
    join_last_parts(parts, parts.len())
}

/// Names of the roots: the folder's or the stem's alone where that distinguishes them, else all
/// parts.
fn root_names(
    by_root: &BTreeMap<&str, Vec<usize>>,
    cells: &[Option<PathReading>],
    with_split: bool,
) -> Vec<String> {
    let first = |files: &Vec<usize>| cells[files[0]].clone().unwrap_or_default();
    let cells_of: Vec<PathReading> = by_root.values().map(first).collect();
    // A folder that is a scene comes before what its files are called.
    let attempts: [&dyn Fn(&PathReading) -> String; 3] = [
        &PathReading::join_folders,
        &PathReading::choose_stem_or_folder,
        &|cell| cell.join_parts(with_split),
    ];
    for name in attempts {
        let names: Vec<String> = cells_of.iter().map(name).collect();
        if are_distinct_names(&names) {
            return names;
        }
    }
    cells_of
        .iter()
        .map(|cell| cell.join_parts(with_split))
        .collect()
}

fn are_distinct_names(names: &[String]) -> bool {
    let distinct: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    distinct.len() == names.len() && names.iter().all(|name| !name.is_empty())
}

/// Makes ids valid and unique, whatever the case of their letters.
fn mend_ids(arrangement: &mut ArrangedFiles) {
    let mut renamed = Vec::new();
    let roots = arrangement.roots.iter_mut();
    mend_sibling_ids(roots.map(|root| &mut root.id).collect(), &mut renamed);
    if !arrangement.has_file_roots_unnamed() {
        let positions = arrangement.positions.iter_mut();
        let ids = positions.map(|position| &mut position.id);
        mend_sibling_ids(ids.collect(), &mut renamed);
    }
    arrangement.renamed = renamed;
}

fn mend_sibling_ids(ids: Vec<&mut String>, renamed: &mut Vec<RenamedId>) {
    let mut taken: HashSet<String> = ids.iter().map(|id| id.to_lowercase()).collect();
    let mut used: HashSet<String> = HashSet::new();
    let mut numbers = NameNumbers::default();
    for id in ids {
        let mut plain = if check_sample_id(id).is_ok() {
            id.clone()
        } else {
            portable_name(id.trim_start_matches('_'))
        };
        if check_sample_id(&plain).is_err() || plain.is_empty() {
            plain = format!("sample_{}", used.len());
        }
        let to = numbers.find_free(
            plain.to_lowercase(),
            plain.clone(),
            |number| match plain.rsplit_once('.') {
                Some((stem, ending)) if !stem.is_empty() => format!("{stem}_{number}.{ending}"),
                _ => format!("{plain}_{number}"),
            },
            |to| {
                let lower = to.to_lowercase();
                !used.contains(&lower) && (to == id.as_str() || !taken.contains(&lower))
            },
        );
        used.insert(to.to_lowercase());
        taken.insert(to.to_lowercase());
        if to != *id {
            renamed.push(RenamedId {
                from: std::mem::replace(id, to.clone()),
                to,
            });
        }
    }
}

impl ArrangedFiles {
    fn has_file_roots_unnamed(&self) -> bool {
        self.has_file_roots() && self.positions.iter().all(|position| position.id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend(ids: &[&str]) -> Vec<String> {
        let mut ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        mend_sibling_ids(ids.iter_mut().collect(), &mut Vec::new());
        ids
    }

    #[test]
    fn ids_that_differ_in_case_are_numbered_past_those_that_are_taken() {
        let mended = mend(&["a.tif", "A.tif", "a_3.tif", "a.TIF", "b", "B", "b_2"]);
        let wanted = ["a.tif", "A_2.tif", "a_3.tif", "a_4.TIF", "b", "B_3", "b_2"];
        assert_eq!(mended, wanted);
    }

    /// Each would count from 2 again: seconds become hours at 200,000 ids.
    #[test]
    fn many_equal_ids_are_numbered_in_one_pass() {
        let count = 200_000;
        let mended = mend(&vec!["scene"; count]);
        assert_eq!(mended[1], "scene_2");
        assert_eq!(mended[count - 1], format!("scene_{count}"));
    }
}
