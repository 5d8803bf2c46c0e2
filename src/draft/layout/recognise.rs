//! Chooses the reading: candidates follow from what the names of folders are made of, and from how
//! well the files then fill the same positions of several roots. What fits equally well, or fits
//! badly, is a question.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use super::arrange::{ArrangedFiles, ArrangedRoot, RenamedId, arrange, root_and_position};
use super::parsed::ParsedPath;
use super::question::{LayoutQuestion, LayoutWay, UnclearLayout};
use super::refusal::LayoutRefusal;
use super::words::{TextToken, join_words};
use super::{FolderRole, LayoutReading, NameRole};
use crate::draft::pattern::TokenKind;

/// Files by which a reading is chosen; of more, those of some scenes are taken.
const FILES_TRIED: usize = 3_000;
const READINGS_TRIED: usize = 600;
/// Share of cells with a file that a structure exceeds.
const FILL_LEAST: f64 = 0.5;
/// Least mean number of files of roots with several positions: of roots with less, most have
/// nothing in common.
const FILES_LEAST: f64 = 1.25;
/// Mean number of files that share a name from which they are parts of scenes, or may be.
const SHARE_LEAST: f64 = 1.2;
/// Folders that a question names one by one.
const FOLDERS_NAMED: usize = 8;
/// Share of roots that may have no position in common with the others: files that are no samples.
const STRANGERS_MOST: f64 = 0.1;
/// One of so many files or more has the name of a folder where it belongs to it.
const NAMESAKES_LEAST: usize = 20;
/// Score of files as roots of their own: less than that of any good structure.
const SCORE_OF_FILES: f64 = 0.65;
/// Readings whose scores differ less fit equally well.
const SCORE_TIE: f64 = 0.02;

/// What a level of folders can be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LevelKind {
    /// The same folder above all files.
    Fixed,
    Split,
    /// Products: images, masks.
    Products,
    /// Names with numbers: scenes.
    Scenes,
    /// Words that say neither.
    Open,
}

/// Chooses how the files of a dataset are read. `paths` are below its folder, with `/`.
///
/// # Errors
/// What is to be asked.
pub fn recognise_layout(paths: &[String]) -> Result<LayoutReading, LayoutQuestion> {
    let parsed = ParsedPath::from_paths(paths);
    let sample = sample_of(&parsed);
    let main: Vec<&ParsedPath> = sample.iter().filter(|path| path.is_main).collect();
    match main.len() {
        0 => {
            return Err(LayoutQuestion::new(
                UnclearLayout::NothingShared,
                "the folder has no file that could be a sample: all of them are tables, texts or \
                    archives",
            ));
        }
        1 => {
            return Err(too_few(
                "the folder has only one file that could be a sample",
            ));
        }
        _ => {}
    }
    let levels = levels_of(&main);
    let mut tried: Vec<Tried> = Vec::new();
    let mut has_sparse_parts = false;
    for reading in candidates(&levels, &main) {
        match arrange(&sample, &reading) {
            Ok(found) => tried.push(Tried::from_reading(reading, found, &levels, &sample)),
            Err(LayoutRefusal::SamePlace(_)) => {}
            // It fits badly, and still says that the files are parts of scenes.
            Err(LayoutRefusal::TooSparse(sparse)) => {
                let is_of_parts = !sparse.by_date && sparse.placed > sparse.roots;
                has_sparse_parts |= is_of_parts && has_products(&reading, &levels, &sample);
            }
        }
    }
    choose(tried, has_sparse_parts, &sample, &levels)
}

/// True when folders or names say that there are positions.
fn has_products(reading: &LayoutReading, levels: &[LevelKind], paths: &[ParsedPath]) -> bool {
    let mut roles = levels.iter().zip(&reading.folders);
    let is_used = roles.any(|(level, role)| {
        let is_position = matches!(role, FolderRole::Position | FolderRole::NumberedPosition);
        *level == LevelKind::Products && is_position
    });
    let Some(suffix) = suffix_roles(reading, paths) else {
        return is_used;
    };
    // Names of numbers in the folders of a product are scenes: `train_images/100.tif`.
    is_used && suffix.numbered <= 0.5 || suffix.known >= 0.3
}

/// True when the names of the outermost folders are numbered, as those of scenes are; fewer files
/// may be beside them than in them. `paths` are below the folder of the dataset.
pub fn folders_are_scenes(paths: &[String]) -> bool {
    let parsed = ParsedPath::from_paths(paths);
    let (inside, beside): (Vec<&ParsedPath>, Vec<&ParsedPath>) = parsed
        .iter()
        .filter(|path| path.is_main)
        .partition(|path| path.depth() > 0);
    inside.len() > beside.len() && level_kind(&inside, 0) == LevelKind::Scenes
}

fn too_few(summary: &str) -> LayoutQuestion {
    let summary = format!("{summary}; how files belong together shows only in two scenes or more");
    let stems = LayoutReading {
        folders: Vec::new(),
        names: BTreeMap::from([(0, NameRole::RootAndPosition)]),
    };
    LayoutQuestion::new(UnclearLayout::NothingShared, summary)
        .or(
            "one root, made of the folders as they are",
            LayoutWay::AsTheyAre,
        )
        .or("names its parts yourself", LayoutWay::Reading(stems))
}

/// The innermost folders are positions, stems roots.
///
/// # Errors
/// What is to be asked.
pub fn folder_layout(paths: &[String]) -> Result<LayoutReading, LayoutQuestion> {
    read_chosen_layout(paths, |main, levels| {
        let innermost = |depth: usize| (0..depth).rev().find(|&at| levels[at] != LevelKind::Fixed);
        let mut folders = roles_of_levels(levels);
        for path in main {
            if let Some(at) = innermost(path.depth()) {
                folders[at] = FolderRole::Position;
            }
        }
        let names = main
            .iter()
            .map(|path| (path.depth(), NameRole::Root))
            .collect();
        LayoutReading { folders, names }
    })
}

/// The ends of the stems are positions, what is before them the root.
///
/// # Errors
/// What is to be asked.
pub fn stem_layout(paths: &[String]) -> Result<LayoutReading, LayoutQuestion> {
    read_chosen_layout(paths, |main, levels| {
        let names = main
            .iter()
            .map(|path| (path.depth(), NameRole::RootAndPosition))
            .collect();
        LayoutReading {
            folders: roles_of_levels(levels),
            names,
        }
    })
}

fn read_chosen_layout(
    paths: &[String],
    reading: impl FnOnce(&[&ParsedPath], &[LevelKind]) -> LayoutReading,
) -> Result<LayoutReading, LayoutQuestion> {
    let parsed = ParsedPath::all_of_chosen_layout(paths);
    let main: Vec<&ParsedPath> = parsed.iter().filter(|path| path.is_main).collect();
    let levels = levels_of(&main);
    let mut reading = reading(&main, &levels);
    name_columns(&mut reading, &levels, &main, false);
    match arrange(&parsed, &reading) {
        Ok(_) => Ok(reading),
        Err(refusal) => Err(LayoutQuestion::of_refusal(&refusal, paths)),
    }
}

fn roles_of_levels(levels: &[LevelKind]) -> Vec<FolderRole> {
    levels
        .iter()
        .map(|level| match level {
            LevelKind::Fixed => FolderRole::Ignored,
            LevelKind::Split => FolderRole::Split,
            LevelKind::Products => FolderRole::Position,
            LevelKind::Scenes => FolderRole::Root,
            LevelKind::Open => FolderRole::Column(String::new()),
        })
        .collect()
}

/// All paths, or those of some scenes: names with the same numbers stay together.
fn sample_of(parsed: &[ParsedPath]) -> Vec<ParsedPath> {
    let share = parsed.len().div_ceil(FILES_TRIED) as u64;
    if share <= 1 {
        return parsed.to_vec();
    }
    let kept = parsed.iter().filter(|path| is_in_share(path, share));
    let kept: Vec<ParsedPath> = kept.cloned().collect();
    if kept.iter().filter(|path| path.is_main).count() < 2 {
        parsed.iter().take(FILES_TRIED).cloned().collect()
    } else {
        kept
    }
}

/// True for one of `share` scenes, chosen by the last identifier of the path in alphabetical order.
fn is_in_share(path: &ParsedPath, share: u64) -> bool {
    let stem = path.stem.iter().filter(|word| word.is_identifier());
    let mut words: BTreeSet<&str> = stem.map(|word| word.lower.as_str()).collect();
    if words.is_empty() {
        let above = path
            .folders
            .iter()
            .flat_map(|folder| &folder.words)
            .filter(|word| word.is_identifier());
        words.extend(above.map(|word| word.lower.as_str()));
    }
    let mut hasher = DefaultHasher::new();
    words.last().hash(&mut hasher);
    hasher.finish().is_multiple_of(share)
}

fn levels_of(main: &[&ParsedPath]) -> Vec<LevelKind> {
    let deepest = main.iter().map(|path| path.depth()).max().unwrap_or(0);
    (0..deepest).map(|depth| level_kind(main, depth)).collect()
}

fn level_kind(main: &[&ParsedPath], depth: usize) -> LevelKind {
    let mut values: BTreeMap<&str, &[TextToken]> = BTreeMap::new();
    let mut shallower = false;
    for path in main {
        match path.folders.get(depth) {
            Some(folder) => drop(values.insert(&folder.text, &folder.words)),
            None => shallower = true,
        }
    }
    if values.len() == 1 && !shallower {
        return LevelKind::Fixed;
    }
    let count = |wanted: &dyn Fn(&[TextToken]) -> bool| {
        values.values().filter(|words| wanted(words)).count()
    };
    let is_product_word = if are_numbered_products(values.keys()) {
        TextToken::is_product_of_folder
    } else {
        TextToken::is_product
    };
    let count_products =
        |words: &[TextToken]| words.iter().filter(|word| is_product_word(word)).count();
    let count_identifiers = |words: &[TextToken]| count_identifiers(words, is_product_word);
    let is_split = |words: &[TextToken]| {
        words.iter().any(TextToken::is_split)
            && count_identifiers(words) == 0
            && count_products(words) == 0
    };
    if count(&is_split) == values.len() {
        return LevelKind::Split;
    }
    if count(&|words| words.iter().any(TextToken::is_class)) > 1 {
        return LevelKind::Open;
    }
    // Names that differ in numbers alone: img_0001, img_0002.
    let shapes: HashSet<String> = values
        .keys()
        .map(|text| {
            text.chars()
                .map(|c| if c.is_ascii_digit() { '#' } else { c })
                .collect()
        })
        .collect();
    let numbered = shapes.len() == 1
        && values
            .keys()
            .any(|text| text.bytes().any(|b| b.is_ascii_digit()));
    let names_product = |words: &[TextToken]| {
        count_products(words) > 0 && count_products(words) >= count_identifiers(words)
    };
    if count(&names_product) * 2 >= values.len() && !(numbered && values.len() > 2) {
        return LevelKind::Products;
    }
    if count(&|words| count_identifiers(words) > 0) * 2 > values.len() {
        LevelKind::Scenes
    } else {
        LevelKind::Open
    }
}

fn count_identifiers(words: &[TextToken], is_product_word: fn(&TextToken) -> bool) -> usize {
    words
        .iter()
        .filter(|word| word.is_identifier() && !is_product_word(word))
        .count()
}

/// True for names of which several are the same but for a number at the end, and others differ in
/// words: `Image1`, `Image2`, `label`; not for `map1`, `map2`, and not for `image1_berlin`.
fn are_numbered_products<'t>(names: impl ExactSizeIterator<Item = &'t &'t str>) -> bool {
    let count = names.len();
    let bare: BTreeSet<&str> = names
        .map(|name| name.trim_end_matches(|c: char| c.is_ascii_digit()))
        .collect();
    (2..count).contains(&bare.len())
}

fn candidates(levels: &[LevelKind], main: &[&ParsedPath]) -> Vec<LayoutReading> {
    let mut folders: Vec<Vec<FolderRole>> = vec![Vec::new()];
    for (at, level) in levels.iter().enumerate() {
        let roles: &[FolderRole] = match level {
            LevelKind::Fixed => &[FolderRole::Ignored],
            LevelKind::Split if have_splits_of_products(main, at) => {
                &[FolderRole::Split, FolderRole::Position]
            }
            LevelKind::Split => &[FolderRole::Split],
            LevelKind::Products if are_folders_named_by_year(main, at) => {
                &[FolderRole::Position, FolderRole::Root]
            }
            LevelKind::Products => &[
                FolderRole::Position,
                FolderRole::NumberedPosition,
                FolderRole::Root,
            ],
            LevelKind::Scenes => &[FolderRole::Root],
            LevelKind::Open => &[FolderRole::Column(String::new()), FolderRole::Position],
        };
        folders = folders
            .iter()
            .flat_map(|known| {
                roles
                    .iter()
                    .map(|role| [known.as_slice(), std::slice::from_ref(role)].concat())
            })
            .collect();
        folders.truncate(READINGS_TRIED);
    }
    let mut by_depth: BTreeMap<usize, Vec<&ParsedPath>> = BTreeMap::new();
    for path in main {
        by_depth.entry(path.depth()).or_default().push(path);
    }
    let mut names: Vec<BTreeMap<usize, NameRole>> = vec![BTreeMap::new()];
    for (&depth, paths) in &by_depth {
        let roles = roles_of_names(depth, paths);
        names = names
            .iter()
            .flat_map(|known| {
                roles
                    .iter()
                    .map(move |&role| add_name_role(known, depth, role))
            })
            .collect();
        names.truncate(READINGS_TRIED / 4);
    }
    let all = folders.iter().flat_map(|folders| {
        names.iter().map(move |names| LayoutReading {
            folders: folders.clone(),
            names: names.clone(),
        })
    });
    all.take(READINGS_TRIED).collect()
}

/// What the names of the files at this depth can be.
fn roles_of_names(depth: usize, paths: &[&ParsedPath]) -> Vec<NameRole> {
    if paths.iter().all(|path| path.is_measurement) {
        return vec![NameRole::Position];
    }
    let mut roles = vec![NameRole::Root, NameRole::RootAndPosition];
    if depth > 0 {
        roles.push(NameRole::Position);
    }
    let is_date = |word: &&TextToken| word.kind == TokenKind::Date;
    if paths
        .iter()
        .all(|path| path.stem.iter().filter(is_date).count() == 1)
    {
        roles.push(NameRole::Date);
    }
    roles
}

/// True where folders of one part of a split at this depth differ in other words: `train-landsat`,
/// `train-bioclim`.
fn have_splits_of_products(main: &[&ParsedPath], depth: usize) -> bool {
    let mut others: BTreeMap<Vec<&str>, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for folder in main.iter().filter_map(|path| path.folders.get(depth)) {
        let (split, other): (Vec<&TextToken>, Vec<&TextToken>) =
            folder.words.iter().partition(|word| word.is_split());
        let products = others.entry(lower_words(&split)).or_default();
        products.insert(lower_words(&other));
    }
    others
        .values()
        .any(|others| others.len() > 1 && others.iter().all(|words| !words.is_empty()))
}

fn lower_words<'a>(words: &[&'a TextToken]) -> Vec<&'a str> {
    words.iter().map(|word| word.lower.as_str()).collect()
}

/// True where folders at this depth have a year in their names, as images_2006 and images_2012:
/// they are not numbered products of one scene.
fn are_folders_named_by_year(main: &[&ParsedPath], depth: usize) -> bool {
    main.iter()
        .filter_map(|path| path.folders.get(depth))
        .any(|folder| folder.words.iter().any(is_year_token))
}

fn is_year_token(word: &TextToken) -> bool {
    word.kind == TokenKind::Number
        && word.text.len() == 4
        && (word.text.starts_with("19") || word.text.starts_with("20"))
}

fn add_name_role(
    known: &BTreeMap<usize, NameRole>,
    depth: usize,
    role: NameRole,
) -> BTreeMap<usize, NameRole> {
    let mut roles = known.clone();
    roles.insert(depth, role);
    roles
}

/// A reading and how it fits.
struct Tried {
    reading: LayoutReading,
    found: ArrangedFiles,
    score: f64,
    /// Evidence from the names that there are positions.
    has_products: bool,
    /// Positions that only equal numbers show.
    is_weak: bool,
    /// As `is_weak`, and stems repeat the folder: `forest/forest_1`.
    repeats_folder: bool,
}

impl Tried {
    fn from_reading(
        mut reading: LayoutReading,
        found: ArrangedFiles,
        levels: &[LevelKind],
        paths: &[ParsedPath],
    ) -> Self {
        let open_positions = levels.iter().zip(&reading.folders).filter(|(level, role)| {
            matches!(level, LevelKind::Open | LevelKind::Split) && **role == FolderRole::Position
        });
        let open_positions = open_positions.count();
        let products = levels
            .iter()
            .zip(&reading.folders)
            .filter(|(level, _)| **level == LevelKind::Products);
        let (mut bonus, mut products_used) = (0.0, 0);
        for (_, role) in products {
            let used = matches!(role, FolderRole::Position | FolderRole::NumberedPosition);
            products_used += usize::from(used);
            bonus += if used { 0.15 } else { -0.15 };
            bonus -= if *role == FolderRole::NumberedPosition {
                0.01
            } else {
                0.0
            };
        }
        bonus -= 0.08 * open_positions as f64;
        if let Some(found) = suffix_roles(&reading, paths) {
            bonus += if found.known >= 0.5 { 0.05 } else { -0.03 };
            // Numbers name scenes, as a rule.
            bonus -= 0.5 * found.numbered;
        }
        let has_products = has_products(&reading, levels, paths);
        let (is_weak, repeats_folder) = if open_positions > 0 && products_used == 0 {
            weakness(&found, paths)
        } else {
            (false, false)
        };
        let fill = found.fill();
        let mean = found.placed_file_count() as f64 / found.roots.len().max(1) as f64;
        let main = paths.iter().filter(|path| path.is_main).count().max(1);
        let placed = paths
            .iter()
            .enumerate()
            .filter(|(index, path)| path.is_main && !found.left_over.contains(index))
            .count();
        let mut score = fill + bonus - (1.0 - placed as f64 / main as f64);
        if found.has_file_roots() {
            score = SCORE_OF_FILES;
        } else if found.by_date {
            // Series may be of any length; a series of one is none.
            let alone = reading.has_position_folder() || mean < 1.5;
            score = if alone { 0.0 } else { 0.9 };
        }
        let is_unnamed = |renamed: &RenamedId| renamed.from.is_empty();
        if found.roots.len() < 2 || found.renamed.iter().any(is_unnamed) {
            score = 0.0;
        }
        let main: Vec<&ParsedPath> = paths.iter().filter(|path| path.is_main).collect();
        name_columns(&mut reading, levels, &main, found.has_file_roots());
        Self {
            reading,
            found,
            score,
            has_products,
            is_weak,
            repeats_folder,
        }
    }

    /// True when most roots share a position, and most cells have a file.
    fn is_one_structure(&self) -> bool {
        let most = self
            .found
            .positions
            .iter()
            .map(|position| position.matched)
            .max()
            .unwrap_or(0);
        let mean = self.found.placed_file_count() as f64 / self.found.roots.len().max(1) as f64;
        let shares_positions = self.found.positions.len() == 1 || mean >= FILES_LEAST;
        let is_filled = most * 2 > self.found.roots.len() && self.found.fill() > FILL_LEAST;
        is_filled && shares_positions && !is_of_strangers(&self.found.roots) || self.found.by_date
    }
}

/// True where roots share no position with the others, not even by way of further roots, and are
/// many, or have several positions: labels of fields beside images by field and date.
fn is_of_strangers(roots: &[ArrangedRoot]) -> bool {
    // By group, its positions and the number of its roots; groups of equal roots are joined first.
    let mut shapes: HashMap<Vec<bool>, usize> = HashMap::new();
    for root in roots {
        let shape = root.files.iter().map(Option::is_some).collect();
        *shapes.entry(shape).or_default() += 1;
    }
    let mut groups: Vec<(Vec<bool>, usize)> = Vec::new();
    for (mut shape, mut count) in shapes {
        groups.retain(|(other, roots)| {
            let is_joined = shape.iter().zip(other).any(|(own, other)| *own && *other);
            if is_joined {
                let both = shape.iter_mut().zip(other);
                both.for_each(|(own, other)| *own |= *other);
                count += roots;
            }
            !is_joined
        });
        groups.push((shape, count));
    }
    groups.sort_unstable_by_key(|(_, roots)| std::cmp::Reverse(*roots));
    let others = groups.get(1..).unwrap_or_default();
    let count: usize = others.iter().map(|(_, roots)| roots).sum();
    let has_several = |shape: &[bool]| shape.iter().filter(|has| **has).count() > 1;
    others.iter().any(|(shape, _)| has_several(shape))
        || count as f64 > roots.len() as f64 * STRANGERS_MOST
}

/// What the positions in names consist of, as shares from 0 to 1.
struct SuffixWords {
    /// Those with known words.
    known: f64,
    /// Those with numbers.
    numbered: f64,
}

/// `None` when names give no position.
fn suffix_roles(reading: &LayoutReading, paths: &[ParsedPath]) -> Option<SuffixWords> {
    let (mut known, mut numbered, mut all) = (0u32, 0u32, 0u32);
    for path in paths.iter().filter(|path| path.is_main) {
        let words: Vec<&TextToken> = path.stem.iter().collect();
        let position = match reading.names.get(&path.depth()) {
            Some(NameRole::RootAndPosition) => root_and_position(&words).1,
            Some(NameRole::Position) => words,
            _ => continue,
        };
        all += 1;
        known += u32::from(position.iter().any(|word| word.is_exact_product()));
        numbered += u32::from(position.iter().any(|word| word.is_identifier()));
    }
    let share = |count: u32| f64::from(count) / f64::from(all);
    (all > 0).then(|| SuffixWords {
        known: share(known),
        numbered: share(numbered),
    })
}

/// Whether folders of unknown words are positions for no reason but equal counters, and whether
/// stems repeat the folders.
fn weakness(found: &ArrangedFiles, paths: &[ParsedPath]) -> (bool, bool) {
    let mut endings: HashSet<&str> = HashSet::new();
    let (mut rich, mut repeats, mut all) = (0, 0, 0);
    for root in &found.roots {
        for &index in root.files.iter().flatten() {
            let path = &paths[index];
            endings.insert(&path.ending);
            all += 1;
            let is_repeated = |word: &TextToken| is_in_folders(word, path);
            repeats += usize::from(path.stem.iter().any(is_repeated));
            let own: Vec<&TextToken> = path.stem.iter().filter(|word| !is_repeated(word)).collect();
            let identifiers = own.iter().filter(|word| word.is_identifier());
            let long =
                |word: &&&TextToken| word.text.len() > 4 || !matches!(word.kind, TokenKind::Number);
            rich += usize::from(
                own.len() > 2
                    || identifiers.clone().any(|word| long(&word))
                    || (own.len() > 1 && identifiers.count() > 0 && repeats == 0),
            );
        }
    }
    let weak = endings.len() < 2 && rich * 2 < all;
    (weak, weak && repeats * 2 >= all)
}

fn is_in_folders(word: &TextToken, path: &ParsedPath) -> bool {
    path.folders
        .iter()
        .flat_map(|folder| &folder.words)
        .any(|other| other.lower == word.lower)
}

/// Names the columns of folders that say neither root nor position.
fn name_columns(
    reading: &mut LayoutReading,
    levels: &[LevelKind],
    main: &[&ParsedPath],
    file_roots: bool,
) {
    let open: Vec<usize> = (0..reading.folders.len())
        .filter(|&at| {
            levels[at] == LevelKind::Open && matches!(reading.folders[at], FolderRole::Column(_))
        })
        .collect();
    // The innermost folder is the scene where the stems below say nothing of it.
    let scene = open.last().copied().filter(|&at| {
        let below = main.iter().filter(|path| path.depth() > at);
        let lacking = below.clone().filter(|path| stem_lacks_scene(path, reading));
        !file_roots && lacking.count() * 2 > below.count()
    });
    let mut number = 0;
    for &at in &open {
        if Some(at) == scene {
            reading.folders[at] = FolderRole::Root;
            continue;
        }
        let name = if file_roots && Some(&at) == open.last() {
            "label".to_owned()
        } else {
            number += 1;
            if number == 1 {
                "group".to_owned()
            } else {
                format!("group_{number}")
            }
        };
        reading.folders[at] = FolderRole::Column(name);
    }
}

/// True where the stem of the path has no word for the root.
fn stem_lacks_scene(path: &ParsedPath, reading: &LayoutReading) -> bool {
    let words: Vec<&TextToken> = path.stem.iter().collect();
    match reading.names.get(&path.depth()) {
        Some(NameRole::Position) => true,
        Some(NameRole::RootAndPosition) => root_and_position(&words).0.is_empty(),
        _ => false,
    }
}

fn choose(
    mut tried: Vec<Tried>,
    has_sparse_parts: bool,
    paths: &[ParsedPath],
    levels: &[LevelKind],
) -> Result<LayoutReading, LayoutQuestion> {
    let known_parts = has_sparse_parts
        || tried.iter().any(|found| {
            found.has_products
                && !found.found.has_file_roots()
                && !found.found.by_date
                && found.found.placed_file_count() > found.found.roots.len()
        });
    tried.retain(|found| found.score > 0.0);
    tried.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.found.positions.len().cmp(&a.found.positions.len()))
    });
    let fits = |found: &&Tried| found.is_one_structure() && !found.is_weak;
    let Some(best) = tried.iter().find(fits) else {
        return Err(none_fits(&tried, paths));
    };
    // Only equal numbers show positions: classes and products look the same.
    let weak = tried.iter().find(|found| {
        found.is_weak
            && !found.repeats_folder
            && found.score > best.score
            && found.is_one_structure()
    });
    if let Some(weak) = weak {
        let names = weak
            .reading
            .names
            .keys()
            .map(|&depth| (depth, NameRole::Root))
            .collect();
        let label = LayoutReading {
            folders: classes_of(&weak.reading),
            names,
        };
        let summary = "the folders have files of the same names: they are classes, or parts of the \
            same scenes";
        let scenes = format!(
            "{} roots of {} files each",
            weak.found.roots.len(),
            weak.found.positions.len()
        );
        return Err(LayoutQuestion::new(UnclearLayout::PartsOrRoots, summary)
            .or(
                format!("the folders are parts of scenes: {scenes}"),
                LayoutWay::Folders,
            )
            .or(
                "the folders are classes: each file is a root",
                LayoutWay::Reading(label),
            ));
    }
    if (best.found.has_file_roots() || best.found.by_date) && known_parts {
        return Err(none_fits(&tried, paths));
    }
    if best.found.has_file_roots()
        && let Some(summary) = belongs_together(paths, levels)
    {
        return Err(LayoutQuestion::new(UnclearLayout::PartsOrRoots, summary)
            .or(
                "the innermost folders are parts of scenes",
                LayoutWay::Folders,
            )
            .or(
                "the ends of the names are parts of scenes",
                LayoutWay::Stems,
            )
            .or(
                "each file is a root",
                LayoutWay::Reading(best.reading.clone()),
            ));
    }
    // Another grouping that fits as well.
    let rival = tried.iter().find(|other| {
        !std::ptr::eq(*other, best)
            && fits(other)
            && best.score - other.score < SCORE_TIE
            && shape_of(&other.found) != shape_of(&best.found)
            && !levels.is_empty()
    });
    match rival {
        None => Ok(best.reading.clone()),
        Some(rival) => {
            let summary = "the files can be read in two ways that fit equally well";
            let mut question = LayoutQuestion::new(UnclearLayout::TwoReadings, summary);
            for way in [best, rival] {
                let meaning = format!(
                    "{} roots of {} positions",
                    way.found.roots.len(),
                    way.found.positions.len()
                );
                question = question.or(meaning, LayoutWay::Reading(way.reading.clone()));
            }
            Err(question)
        }
    }
}

/// Why files that would be roots may be parts of scenes instead: folders have files of the same
/// names, or names in one folder differ in words alone.
fn belongs_together(paths: &[ParsedPath], levels: &[LevelKind]) -> Option<&'static str> {
    let mut across: HashSet<(Vec<&str>, &str)> = HashSet::new();
    let mut within: HashSet<(Vec<&str>, Vec<&str>)> = HashSet::new();
    let (mut files, mut numbered) = (0_usize, 0_usize);
    for path in paths.iter().filter(|path| path.is_main) {
        let splits = path
            .folders
            .iter()
            .zip(levels)
            .filter(|(_, level)| **level == LevelKind::Split);
        across.insert((
            splits.map(|(folder, _)| folder.text.as_str()).collect(),
            path.stem_text.as_str(),
        ));
        files += 1;
        let identifiers: Vec<&str> = path
            .stem
            .iter()
            .filter(|word| word.is_identifier())
            .map(|word| word.lower.as_str())
            .collect();
        if !identifiers.is_empty() {
            within.insert((
                path.folders
                    .iter()
                    .map(|folder| folder.text.as_str())
                    .collect(),
                identifiers,
            ));
            numbered += 1;
        }
    }
    let shared =
        |names: usize, files: usize| names > 0 && files as f64 >= names as f64 * SHARE_LEAST;
    if shared(across.len(), files) {
        return Some(
            "the folders have files of the same names: they are parts of the same scenes, or roots \
                of their own",
        );
    }
    if shared(within.len(), numbered) {
        return Some(
            "the names in a folder have the same numbers: they are parts of scenes, or \
                roots of their own",
        );
    }
    (count_namesakes(paths) * NAMESAKES_LEAST >= files.max(1)).then_some(
        "files have the names of folders of other files: they are parts of the same scenes, or \
            roots of their own",
    )
}

/// Number of files with the name of a folder that they are not in.
fn count_namesakes(paths: &[ParsedPath]) -> usize {
    let main = || paths.iter().filter(|path| path.is_main);
    let folders: HashSet<&str> = main()
        .flat_map(|path| &path.folders)
        .map(|folder| folder.text.as_str())
        .collect();
    main()
        .filter(|path| folders.contains(path.stem_text.as_str()))
        .filter(|path| path.folders.iter().all(|own| own.text != path.stem_text))
        .count()
}

fn classes_of(reading: &LayoutReading) -> Vec<FolderRole> {
    let mut folders = reading.folders.clone();
    if let Some(role) = folders
        .iter_mut()
        .rev()
        .find(|role| **role == FolderRole::Position)
    {
        *role = FolderRole::Column("label".to_owned());
    }
    folders
}

/// Files by root: the same for readings that only name things in another way.
fn shape_of(found: &ArrangedFiles) -> BTreeSet<Vec<usize>> {
    found.roots.iter().map(sort_files_of_root).collect()
}

fn sort_files_of_root(root: &ArrangedRoot) -> Vec<usize> {
    let mut files: Vec<usize> = root.files.iter().flatten().copied().collect();
    files.sort_unstable();
    files
}

/// The pattern of files at the top whose names begin as this one, or that differ in the ending
/// alone.
fn pattern_like(path: &ParsedPath) -> String {
    let words: Vec<&TextToken> = path.stem.iter().collect();
    match join_words(root_and_position(&words).0) {
        root if root.is_empty() => format!("{}.*", path.stem_text),
        root => format!("{root}*"),
    }
}

/// The question when no reading gives roots of one structure.
fn none_fits(tried: &[Tried], paths: &[ParsedPath]) -> LayoutQuestion {
    let best = tried.iter().filter(|found| {
        !found.found.has_file_roots()
            && !found.found.by_date
            && found.found.roots.len() > 1
            && !found.is_weak
    });
    let main = || paths.iter().filter(|path| path.is_main);
    let are_of_one_scene = main()
        .all(|path| path.folders.is_empty() && !path.stem.iter().any(TextToken::is_identifier));
    let Some(best) = best
        .max_by(|a, b| a.score.total_cmp(&b.score))
        .filter(|_| !are_of_one_scene)
    else {
        return too_few(
            "no structure is common to the files: their names belong to one scene, or share \
                nothing",
        );
    };
    // Roots by the positions that they have: their number, an example, and the folders that they
    // are in.
    let mut structures: HashMap<Vec<bool>, (usize, usize, BTreeSet<&str>)> = HashMap::new();
    for root in &best.found.roots {
        let shape = root.files.iter().map(Option::is_some).collect();
        let files = || root.files.iter().flatten().copied();
        let known = structures
            .entry(shape)
            .or_insert_with(|| (0, files().next().unwrap_or(0), BTreeSet::new()));
        known.0 += 1;
        known.2.extend(files().map(|file| {
            paths[file]
                .folders
                .first()
                .map_or("", |folder| folder.text.as_str())
        }));
    }
    let mut structures: Vec<(usize, usize, usize, BTreeSet<&str>)> = structures
        .into_iter()
        .map(|(shape, (roots, example, folders))| {
            (
                roots,
                shape.iter().filter(|has| **has).count(),
                example,
                folders,
            )
        })
        .collect();
    structures.sort_unstable_by(|a, b| b.cmp(a));
    let count = structures.len();
    let summary = format!(
        "the files make roots of {count} structures that have little in common; a dataset has one \
            structure"
    );
    let mut question = LayoutQuestion::new(UnclearLayout::SeveralStructures, summary);
    for (at, (roots, positions, example, folders)) in structures.iter().enumerate().take(3) {
        let others: BTreeSet<&str> = structures
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .flat_map(|(_, other)| other.3.iter().copied())
            .collect();
        let path = &paths[*example];
        let excluded = if path.folders.is_empty() {
            Some(vec![pattern_like(path)])
        } else {
            excluding_folders(folders, &others)
        };
        if let Some(patterns) = excluded {
            let meaning = format!(
                "leaves out what is like {} ({roots} roots of {positions} files)",
                path.stem_text
            );
            question = question.or(meaning, LayoutWay::Exclude(patterns));
        }
    }
    question.or(
        "makes each file a root",
        LayoutWay::Reading(each_file(best)),
    )
}

/// Each of the deepest files is a root.
fn each_file(found: &Tried) -> LayoutReading {
    let depth = found.reading.names.keys().next_back().copied().unwrap_or(0);
    LayoutReading {
        folders: vec![FolderRole::Root; depth],
        names: BTreeMap::from([(depth, NameRole::Root)]),
    }
}

/// Patterns that leave out all of `folders` and none of `others`; `None` where no folder
/// distinguishes them.
fn excluding_folders(folders: &BTreeSet<&str>, others: &BTreeSet<&str>) -> Option<Vec<String>> {
    if folders.is_empty() || folders.contains("") || !folders.is_disjoint(others) {
        return None;
    }
    if folders.len() == 1 {
        return folders.first().map(|folder| vec![format!("{folder}/**")]);
    }
    // The beginning that they share and no other has.
    let (first, last) = (folders.first()?, folders.last()?);
    let length: usize = first
        .chars()
        .zip(last.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let shared = &first[..length];
    if !shared.is_empty() && !others.iter().any(|other| other.starts_with(shared)) {
        return Some(vec![format!("{shared}*/**")]);
    }
    (folders.len() <= FOLDERS_NAMED).then(|| {
        folders
            .iter()
            .map(|folder| format!("{folder}/**"))
            .collect()
    })
}
