//! Makes a dataset of a folder or an archive whose files belong together by their names: the layout
//! is recognised, or given as a pattern or a saved file; lists beside the data become columns. The
//! proposal can be looked at before anything is written.

mod lists;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::DataType;
use schemars::JsonSchema;
use serde::Serialize;

use self::lists::{JoinedList, RootNames, join_lists};
use super::archive::refuse_partial_files;
use super::found_file::{FoundFile, is_excluded, strip_ending};
use super::source_files::{find_files, has_files};
use crate::container::write_document;
use crate::draft::{
    ArrangedFiles, LayoutQuestion, LayoutReading, LayoutWay, RenamedId, UnclearLayout, Unplaced,
    arrange_files, find_list_family, folder_layout, folders_are_scenes, recognise_layout,
    stem_layout,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Dataset, FieldSpec, PackedCodec, Sample, Tortilla, Value, find_free_name, is_remote,
    padding_file,
};
use crate::ops::import::Imported;

/// How the files of a folder are arranged. In JSON a word or pattern as on the command line, or a
/// reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(try_from = "serde_json::Value")]
pub enum LayoutChoice {
    /// The layout is recognised from the names.
    #[default]
    Auto,
    /// The innermost folders are positions, the stems roots.
    Folders,
    /// The ends of the stems are positions.
    Stems,
    /// By a pattern: `{split}/{position}/{root}`.
    Pattern(LayoutReading),
    /// By a layout that was saved.
    Saved(PathBuf),
}

impl FromStr for LayoutChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "auto" => Self::Auto,
            "folders" => Self::Folders,
            "stems" => Self::Stems,
            file if file.to_lowercase().ends_with(".json") && !file.contains('{') => {
                Self::Saved(file.into())
            }
            pattern => Self::Pattern(LayoutReading::of_pattern(pattern)?),
        })
    }
}

impl TryFrom<serde_json::Value> for LayoutChoice {
    type Error = Error;

    fn try_from(stored: serde_json::Value) -> Result<Self> {
        match stored {
            serde_json::Value::String(text) => text.parse(),
            reading => match serde_json::from_value(reading) {
                Ok(reading) => Ok(Self::Pattern(reading)),
                Err(error) => Err(Error::usage("this is not a layout").because(error)),
            },
        }
    }
}

impl Serialize for LayoutChoice {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Auto => "auto".serialize(serializer),
            Self::Folders => "folders".serialize(serializer),
            Self::Stems => "stems".serialize(serializer),
            Self::Pattern(reading) => reading.serialize(serializer),
            Self::Saved(file) => file.serialize(serializer),
        }
    }
}

/// What [`find_layout`] reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LayoutRequest {
    /// The folder, or an archive.
    pub source: PathBuf,
    /// How its files are arranged.
    #[serde(rename = "layout", default)]
    pub choice: LayoutChoice,
    /// Files that are left out: `*` is any text, `?` one character, of the path below the folder or
    /// of the name.
    #[serde(default)]
    pub exclude: Vec<String>,
}

impl LayoutRequest {
    /// The recognised layout of a folder.
    pub fn of_folder(source: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            ..Self::default()
        }
    }
}

/// What [`find_layout`] finds.
#[derive(Debug)]
pub enum FoundLayout {
    /// What the folder becomes.
    Proposal(Box<LayoutProposal>),
    /// The names can be read in several ways, or in none.
    Question(LayoutQuestion),
}

/// A position, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProposedPosition {
    /// Id of the sample; none where the roots are FILEs.
    pub id: Option<String>,
    /// A file at this position, below the folder.
    pub example: String,
    /// Number of roots that have it.
    pub matched: usize,
    /// Number of roots that get padding.
    pub padded: usize,
}

impl ProposedPosition {
    fn shown_id(&self) -> &str {
        self.id.as_deref().unwrap_or("(the root itself)")
    }
}

/// A column, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProposedColumn {
    /// Name of the field.
    pub name: String,
    /// Where its values are from: the names of the files, or a list.
    pub from: String,
    /// Number of roots with a value.
    pub values: usize,
}

/// Lists, or a list and the names of the files, that say different things of the same roots.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ListContradiction {
    /// Path of the list below the folder.
    pub list: String,
    /// The column that already had values.
    pub column: String,
    /// Where the values of `column` are from.
    pub from: String,
    /// The column that has the list's values. It is `column` where the list contradicts itself: of
    /// several values the first is kept.
    pub kept_in: String,
    /// Number of roots with contradicting values.
    pub roots: usize,
    /// Id of one of them.
    pub example: String,
}

impl ListContradiction {
    /// One sentence.
    pub fn to_text(&self) -> String {
        let Self {
            list,
            column,
            from,
            kept_in,
            roots,
            example,
        } = self;
        if column == kept_in {
            format!(
                "{list} has several values of {column} for {roots} roots, such as {example}: the \
                    first is kept"
            )
        } else {
            format!(
                "{list} contradicts {column} from {from} at {roots} roots, such as {example}: its \
                    values are in the column {kept_in}; \
                 leave one of the two out with --exclude"
            )
        }
    }
}

/// What a folder becomes.
#[derive(Debug)]
pub struct LayoutProposal {
    /// How paths are read.
    pub reading: LayoutReading,
    /// Positions in their order.
    pub positions: Vec<ProposedPosition>,
    /// Columns of the roots.
    pub columns: Vec<ProposedColumn>,
    /// Number of roots.
    pub roots: usize,
    /// Ids of the first roots.
    pub examples: Vec<String>,
    /// Paths below the folder of files without a position.
    pub left_over: Vec<String>,
    /// Bytes of the files that have a position.
    pub bytes: u64,
    /// Files that are not data or were excluded, with the reason.
    pub left_out: Vec<String>,
    /// Paths below the folder of lists whose entries became columns.
    pub lists: Vec<String>,
    /// Lists that contradict each other or the names.
    pub contradictions: Vec<ListContradiction>,
    /// Ids that were mended.
    pub renamed: Vec<RenamedId>,
    unplaced: Vec<Unplaced>,
    /// True when each folder is a root and its files are positions, as they are without a layout.
    /// Files that are in no folder are not compared.
    is_plain: bool,
    root: Tortilla,
}

/// Maximum number of ids of roots that are shown.
const EXAMPLES_MAX: usize = 3;

/// Finds out what a folder becomes. Nothing is written.
///
/// # Errors
/// [`crate::error::Cause::UnclearLayout`] with the alternatives where names can be read in several
/// ways, or in none; those of [`find_layout`].
pub fn propose_layout(request: &LayoutRequest, ctx: &JobContext) -> Result<LayoutProposal> {
    match find_layout(request, ctx)? {
        FoundLayout::Proposal(proposal) => Ok(*proposal),
        FoundLayout::Question(question) => Err(question.into_error().at_path(&request.source)),
    }
}

/// The layout of a folder, if the user should see it before the files are added. `None` where at
/// least half of the folders have the same files, and so are roots as they are, and where the names
/// have nothing in common.
///
/// # Errors
/// Those of [`find_layout`].
pub fn layout_to_show(folder: &Path, ctx: &JobContext) -> Result<Option<FoundLayout>> {
    let request = LayoutRequest::of_folder(folder);
    let files_found = find_layout_files(&request, ctx)?;
    let mut scenes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (scene, below) in files_found
        .paths
        .iter()
        .filter_map(|path| path.split_once('/'))
    {
        scenes.entry(scene).or_default().push(below);
    }
    // Sorted, so that of shapes that are equally frequent always the same is taken.
    let mut shapes: BTreeMap<&[&str], usize> = BTreeMap::new();
    scenes
        .values()
        .for_each(|files| *shapes.entry(files).or_default() += 1);
    if let Some((files, most)) = shapes.into_iter().max_by_key(|(_, roots)| *roots) {
        // Names without a digit name positions.
        let are_positions = most > 1
            && !files
                .iter()
                .any(|file| file.contains(|c: char| c.is_ascii_digit()));
        let are_scenes = folders_are_scenes(&files_found.paths) && (most > 1 || scenes.len() == 1);
        if most * 2 >= scenes.len() && (are_positions || are_scenes) {
            return Ok(None);
        }
    }
    let found = layout_of_files(&request, files_found, ctx)?;
    let is_shown = match &found {
        FoundLayout::Proposal(proposal) => !proposal.is_plain,
        FoundLayout::Question(question) => question.reason != UnclearLayout::NothingShared,
    };
    Ok(is_shown.then_some(found))
}

/// Finds out what a folder becomes, or what is to be asked. Nothing is written.
///
/// # Errors
/// A source that is not a folder or has no data, files that can't be read.
pub fn find_layout(request: &LayoutRequest, ctx: &JobContext) -> Result<FoundLayout> {
    layout_of_files(request, find_layout_files(request, ctx)?, ctx)
}

/// The files of a folder.
struct LayoutFiles {
    files: Vec<FoundFile>,
    /// Their paths below the folder.
    paths: Vec<String>,
    left_out: Vec<String>,
}

fn find_layout_files(request: &LayoutRequest, ctx: &JobContext) -> Result<LayoutFiles> {
    let source = &request.source;
    if !has_files(source) {
        return Err(Error::usage("the source is not a folder or an archive").at_path(source));
    }
    let (files, left_out) = find_files(source, &request.exclude, ctx)?;
    if files.is_empty() {
        let mut error = Error::usage("the source has no file with data").at_path(source);
        if let Some(reason) = left_out.first() {
            error = error.hint(format!("a file is left out: {reason}"));
        }
        return Err(error);
    }
    let paths = files.iter().map(|file| file.below.clone()).collect();
    Ok(LayoutFiles {
        files,
        paths,
        left_out,
    })
}

fn layout_of_files(
    request: &LayoutRequest,
    found: LayoutFiles,
    ctx: &JobContext,
) -> Result<FoundLayout> {
    let LayoutFiles {
        files,
        paths,
        left_out,
    } = found;
    let source = &request.source;
    ctx.stage(tr!("Looking at the names"), None);
    let reading = match &request.choice {
        LayoutChoice::Auto => recognise_layout(&paths),
        LayoutChoice::Folders => folder_layout(&paths),
        LayoutChoice::Stems => stem_layout(&paths),
        LayoutChoice::Pattern(reading) => Ok(reading.clone()),
        LayoutChoice::Saved(file) => Ok(read_layout(file)?),
    };
    let reading = match reading {
        Ok(reading) => reading,
        Err(question) => return Ok(FoundLayout::Question(question)),
    };
    let arrangement = match arrange_files(&paths, &reading) {
        Ok(arrangement) => arrangement,
        Err(refusal) => {
            let mut question = LayoutQuestion::of_refusal(&refusal, &paths);
            if request.choice == LayoutChoice::Auto {
                // The layout was recognised, but does not fit all files: it is not offered again.
                question = question.without_way(&LayoutWay::Auto);
            }
            return Ok(FoundLayout::Question(question));
        }
    };
    if arrangement.roots.is_empty() {
        return Err(Error::usage(format!(
            "no file has a path like {}",
            reading.patterns().join(" or ")
        ))
        .at_path(source));
    }
    // Files of a folder are checked with their draft, except those of archives in it.
    let is_checked_later =
        |file: &FoundFile| source.is_dir() && matches!(file.asset, AssetPath::File(_));
    if !files.iter().all(is_checked_later) {
        let placed: HashSet<usize> = arrangement
            .roots
            .iter()
            .flat_map(|root| root.files.iter().flatten().copied())
            .filter(|&index| !is_checked_later(&files[index]))
            .collect();
        refuse_partial_files(&files, &|index| placed.contains(&index), source, ctx)?;
    }
    let names = RootNames::from_arrangement(&arrangement, &paths);
    let lists = join_lists(&arrangement, &files, &names, ctx)?;
    Ok(FoundLayout::Proposal(Box::new(build_proposal(
        reading,
        arrangement,
        &files,
        left_out,
        lists,
    ))))
}

/// Reads a layout that [`LayoutProposal::save_layout`] wrote.
///
/// # Errors
/// When the file can't be read, or is not a layout.
pub fn read_layout(file: &Path) -> Result<LayoutReading> {
    let text = crate::files::read_to_string(file)
        .map_err(|error| Error::io("read the layout", file, error))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::format("the file is not a layout")
            .because(error)
            .at_path(file)
            .hint("write one with --save-layout")
    })
}

fn build_proposal(
    reading: LayoutReading,
    arrangement: ArrangedFiles,
    files: &[FoundFile],
    left_out: Vec<String>,
    lists: Vec<JoinedList>,
) -> LayoutProposal {
    let count = arrangement.roots.len();
    let file_roots = arrangement.has_file_roots();
    let positions = arrangement
        .positions
        .iter()
        .map(|position| ProposedPosition {
            id: (!file_roots).then(|| position.id.clone()),
            example: files[position.example].below.clone(),
            matched: position.matched,
            padded: count - position.matched,
        });
    let positions = positions.collect();
    let RootColumns {
        fields: schema,
        rows: values,
        shown: columns,
        contradictions,
    } = build_root_columns(&arrangement, &lists, files);
    let list_files: HashSet<usize> = lists.iter().map(|list| list.file).collect();
    let left_over: Vec<&FoundFile> = arrangement
        .left_over
        .iter()
        .filter(|index| !list_files.contains(index))
        .map(|&index| &files[index])
        .collect();
    let placed = arrangement
        .roots
        .iter()
        .flat_map(|root| root.files.iter().flatten());
    let bytes = placed.fold(0u64, |sum, &index| sum.saturating_add(files[index].size));
    let samples = arrangement.roots.iter().zip(values).map(|(root, values)| {
        let values: Arc<[Value]> = values.into();
        match root.files.as_slice() {
            [Some(file)] if file_roots => Sample {
                values,
                ..files[*file].sample(&root.id)
            },
            _ => {
                let dated = arrangement.by_date;
                let children = root.files.iter().enumerate().map(|(at, file)| match file {
                    None => padding_file(at as u64),
                    Some(file) => {
                        let mut sample = files[*file].sample(&arrangement.positions[at].id);
                        if dated {
                            sample.values =
                                vec![parse_date_value(root.dates[at].as_deref())].into();
                        }
                        sample
                    }
                });
                let schema = if dated {
                    vec![FieldSpec::new("date", DataType::Date32)]
                } else {
                    Vec::new()
                };
                let below = Tortilla {
                    schema: schema.into(),
                    samples: children.collect(),
                };
                Sample {
                    values,
                    ..Sample::new_folder(&root.id, below)
                }
            }
        }
    });
    let root = Tortilla {
        samples: samples.collect(),
        schema: schema.into(),
    };
    let is_plain = keeps_folders(&arrangement, files);
    LayoutProposal {
        reading,
        positions,
        columns,
        roots: count,
        examples: arrangement
            .roots
            .iter()
            .take(EXAMPLES_MAX)
            .map(|root| root.id.clone())
            .collect(),
        left_over: left_over.iter().map(|file| file.below.clone()).collect(),
        bytes,
        left_out,
        lists: lists
            .iter()
            .map(|list| files[list.file].below.clone())
            .collect(),
        contradictions,
        renamed: arrangement.renamed,
        unplaced: left_over
            .iter()
            .filter_map(|file| unplaced_from_file(file))
            .collect(),
        is_plain,
        root,
    }
}

/// True when roots are folders, and positions their files.
fn keeps_folders(arrangement: &ArrangedFiles, files: &[FoundFile]) -> bool {
    let inside = |file: usize| files[file].below.split_once('/');
    let in_folders = list_placed_files(arrangement)
        .filter(|&(_, file)| inside(file).is_some())
        .count();
    in_folders * 2 > arrangement.placed_file_count()
        && list_placed_files(arrangement).all(|(id, file)| {
            inside(file).is_none_or(|(folder, name)| folder == id && !name.contains('/'))
        })
        && arrangement.positions.iter().all(|position| {
            inside(position.example)
                .is_none_or(|(_, name)| name == position.id || strip_ending(name) == position.id)
        })
}

/// The files that have a position, each with the id of its root.
fn list_placed_files(arrangement: &ArrangedFiles) -> impl Iterator<Item = (&str, usize)> {
    arrangement.roots.iter().flat_map(|root| {
        let files = root.files.iter().flatten();
        files.map(|&file| (root.id.as_str(), file))
    })
}

/// The file for the tray of a draft; `None` for one that the tray can't hold, such as a member of
/// an archive.
fn unplaced_from_file(file: &FoundFile) -> Option<Unplaced> {
    match &file.asset {
        AssetPath::File(path) if !is_remote(path) => Some(Unplaced::file(&**path, file.size)),
        AssetPath::Packed(member) if member.codec == PackedCodec::Folder => Some(Unplaced {
            path: member.archive.to_path_buf(),
            size: file.size,
            folder: Some(member.stamp.clone()),
        }),
        AssetPath::File(_) | AssetPath::Range { .. } | AssetPath::Packed(_) | AssetPath::Vsi(_) => {
            None
        }
    }
}

/// Days since 1970 of `YYYY-MM-DD`.
fn parse_date_value(text: Option<&str>) -> Value {
    let date = text.and_then(|text| text.parse::<chrono::NaiveDate>().ok());
    let epoch = chrono::NaiveDate::default();
    date.map_or(Value::Null, |date| {
        Value::Int(date.signed_duration_since(epoch).num_days())
    })
}

/// Columns of the roots.
struct RootColumns {
    fields: Vec<FieldSpec>,
    /// By root, values of `fields`.
    rows: Vec<Vec<Value>>,
    shown: Vec<ProposedColumn>,
    contradictions: Vec<ListContradiction>,
}

/// The columns from the names, then those from the lists, whose values fill nulls of columns with
/// the same name and type. Values that contradict such a column are put into another one.
fn build_root_columns(
    arrangement: &ArrangedFiles,
    lists: &[JoinedList],
    files: &[FoundFile],
) -> RootColumns {
    let count = arrangement.roots.len();
    let mut fields: Vec<FieldSpec> = Vec::new();
    let mut columns: Vec<Vec<Value>> = Vec::new();
    let mut from: Vec<String> = Vec::new();
    let mut contradictions: Vec<ListContradiction> = Vec::new();
    for (at, name) in arrangement.columns.iter().enumerate() {
        fields.push(FieldSpec::new(name, DataType::Utf8));
        let value = |root: &crate::draft::ArrangedRoot| {
            root.columns[at].as_ref().map_or(Value::Null, Value::text)
        };
        columns.push(arrangement.roots.iter().map(value).collect());
        from.push("the names".to_owned());
    }
    let contradicting = find_contradicting_families(arrangement, lists);
    for list in lists {
        for (field, values) in &list.columns {
            let mut own: BTreeMap<usize, &Value> = BTreeMap::new();
            let mut repeated: BTreeSet<usize> = BTreeSet::new();
            for (root, value) in values.iter().filter(|(_, value)| !value.is_null()) {
                if *own.entry(*root).or_insert(value) != value {
                    repeated.insert(*root);
                }
            }
            let id = |root: usize| arrangement.roots[root].id.clone();
            let known = |name: &str| find_field(&fields, name, &field.dtype);
            let differing = |at: usize| find_differing_roots(&columns[at], &own);
            let mut name = field.name.clone();
            if let Some(at) = known(&name) {
                let contradicted = differing(at);
                if !contradicted.is_empty()
                    || contradicting.contains(&(field.name.as_str(), find_list_family(&list.stem)))
                {
                    let suffixes = [find_list_family(&list.stem), stem_to_field_part(&list.stem)];
                    let others = suffixes
                        .iter()
                        .filter(|suffix| !suffix.is_empty())
                        .map(|suffix| format!("{name}_{suffix}"));
                    let agrees =
                        |other: &String| known(other).is_none_or(|at| differing(at).is_empty());
                    let with_stem = || format!("{name}_{}", stem_to_field_part(&list.stem));
                    let free = || find_free_field(&fields, &with_stem());
                    let other = others.into_iter().find(agrees).unwrap_or_else(free);
                    name = other;
                }
                if let Some(&first) = contradicted.first() {
                    contradictions.push(ListContradiction {
                        list: files[list.file].below.clone(),
                        column: field.name.clone(),
                        from: from[at].clone(),
                        kept_in: name.clone(),
                        roots: contradicted.len(),
                        example: id(first),
                    });
                }
            }
            let at = known(&name).unwrap_or_else(|| {
                fields.push(FieldSpec {
                    name: find_free_field(&fields, &name),
                    ..field.clone()
                });
                columns.push(vec![Value::Null; count]);
                from.push(String::new());
                fields.len() - 1
            });
            if let Some(&first) = repeated.first() {
                let name = fields[at].name.clone();
                contradictions.push(ListContradiction {
                    list: files[list.file].below.clone(),
                    column: name.clone(),
                    from: list.name.clone(),
                    kept_in: name,
                    roots: repeated.len(),
                    example: id(first),
                });
            }
            if !from[at].split(", ").any(|known| known == list.name) {
                from[at] = if from[at].is_empty() {
                    list.name.clone()
                } else {
                    format!("{}, {}", from[at], list.name)
                };
            }
            for (root, value) in own {
                if columns[at][root].is_null() {
                    columns[at][root] = value.clone();
                }
            }
        }
    }
    let shown = fields
        .iter()
        .zip(&columns)
        .zip(from)
        .map(|((field, values), from)| ProposedColumn {
            name: field.name.clone(),
            from,
            values: values.iter().filter(|value| !value.is_null()).count(),
        });
    let shown = shown.collect();
    let mut rows = vec![Vec::with_capacity(fields.len()); count];
    for column in columns {
        rows.iter_mut()
            .zip(column)
            .for_each(|(row, value)| row.push(value));
    }
    RootColumns {
        fields,
        rows,
        shown,
        contradictions,
    }
}

fn find_field(fields: &[FieldSpec], name: &str, dtype: &DataType) -> Option<usize> {
    fields
        .iter()
        .position(|known| known.name == name && known.dtype == *dtype)
}

/// The roots for which `column` has another value than `values`, and neither is null.
fn find_differing_roots(column: &[Value], values: &BTreeMap<usize, &Value>) -> Vec<usize> {
    let differs = |root: usize, value: &Value| !column[root].is_null() && column[root] != *value;
    values
        .iter()
        .filter(|(root, value)| differs(**root, value))
        .map(|(root, _)| *root)
        .collect()
}

/// The families of lists, such as that of eurosat-spatial-train and eurosat-spatial-test, that
/// contradict the names or an earlier family in a field, with that field: all lists of such a
/// family have one column of their own.
fn find_contradicting_families<'a>(
    arrangement: &ArrangedFiles,
    lists: &'a [JoinedList],
) -> HashSet<(&'a str, String)> {
    type Family<'a> = (&'a str, String);
    let mut families: Vec<(Family<'a>, Vec<&(usize, Value)>)> = Vec::new();
    for list in lists {
        for (field, values) in &list.columns {
            let family = (field.name.as_str(), find_list_family(&list.stem));
            let values = values.iter().filter(|(_, value)| !value.is_null());
            match families.iter_mut().find(|(known, _)| *known == family) {
                Some((_, known)) => known.extend(values),
                None => families.push((family, values.collect())),
            }
        }
    }
    let mut earlier: BTreeMap<(&str, usize), Value> = BTreeMap::new();
    for (at, name) in arrangement.columns.iter().enumerate() {
        for (index, root) in arrangement.roots.iter().enumerate() {
            if let Some(text) = &root.columns[at] {
                earlier.insert((name.as_str(), index), Value::text(text));
            }
        }
    }
    let mut contradicting = HashSet::new();
    for (family, values) in families {
        let known = |root: usize| earlier.get(&(family.0, root));
        let differs =
            |(root, value): &(usize, Value)| known(*root).is_some_and(|known| known != value);
        if !family.1.is_empty() && values.iter().copied().any(differs) {
            contradicting.insert(family);
            continue;
        }
        for (root, value) in values {
            earlier
                .entry((family.0, *root))
                .or_insert_with(|| value.clone());
        }
    }
    contradicting
}

/// The stem of a list as a part of a field's name.
fn stem_to_field_part(stem: &str) -> String {
    stem.to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

fn find_free_field(fields: &[FieldSpec], wanted: &str) -> String {
    find_free_name(wanted, |name| fields.iter().all(|field| field.name != name))
}

impl LayoutProposal {
    /// The samples; their ids are the same in every proposal for the same folder.
    pub fn into_root(self) -> Tortilla {
        self.root
    }

    /// The samples, the files for the tray, and counts of what is added and left out.
    pub fn into_import(self) -> (Tortilla, Vec<Unplaced>, Imported) {
        let files = self
            .positions
            .iter()
            .map(|position| position.matched as u64)
            .sum();
        let has_folders = self.positions.iter().any(|position| position.id.is_some());
        let report = Imported {
            files,
            folders: if has_folders { self.roots as u64 } else { 0 },
            bytes: self.bytes,
            unplaced: self.unplaced.len() as u64,
            skipped: self.left_out,
        };
        (self.root, self.unplaced, report)
    }

    /// Writes the layout as JSON, to be used again.
    ///
    /// # Errors
    /// When the file exists, unless `overwrite`, or can't be written.
    pub fn save_layout(&self, file: &Path, overwrite: bool) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.reading).map_err(|error| {
            Error::internal("the layout can't be written as JSON").because(error)
        })?;
        write_document(file, (text + "\n").as_bytes(), overwrite)
    }

    /// The proposal as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "layout": self.reading, "patterns": self.reading.patterns(), "roots": self.roots,
            "examples": self.examples,
            "positions": self.positions, "columns": self.columns, "lists": self.lists,
            "contradictions": self.contradictions, "renamed": self.renamed,
            "left_over": self.left_over, "left_out": self.left_out,
        })
    }

    /// The proposal as a table of positions, and what belongs to it.
    pub fn to_text(&self) -> String {
        let mut text = format!("layout {}\n", self.reading.patterns().join(", "));
        let first = self.examples.join(", ");
        let more = if self.roots > self.examples.len() {
            ", …"
        } else {
            ""
        };
        text += &format!("{} roots: {first}{more}\n\n", self.roots);
        let width = self
            .positions
            .iter()
            .map(|position| position.shown_id().chars().count())
            .max()
            .unwrap_or(0)
            .max(8);
        text += &format!(
            "{:width$}  {:>8}  {:>8}  example\n",
            "position", "matched", "padded"
        );
        for position in &self.positions {
            text += &format!(
                "{:width$}  {:>8}  {:>8}  {}\n",
                position.shown_id(),
                position.matched,
                position.padded,
                position.example
            );
        }
        if !self.columns.is_empty() {
            text += "\ncolumns\n";
            for column in &self.columns {
                text += &format!(
                    "  {} from {}: {} of {} roots\n",
                    column.name, column.from, column.values, self.roots
                );
            }
        }
        if !self.contradictions.is_empty() {
            text += "\ncontradictions\n";
            self.contradictions
                .iter()
                .for_each(|found| text += &format!("  {}\n", found.to_text()));
        }
        if !self.renamed.is_empty() {
            text += "\nids that are mended\n";
            for renamed in self.renamed.iter().take(TABLE_LINES_MAX) {
                text += &format!("  {:?} → {}\n", renamed.from, renamed.to);
            }
            text += &format_more_lines(self.renamed.len());
        }
        for (title, lines) in [
            ("without a place", &self.left_over),
            ("left out", &self.left_out),
        ] {
            if !lines.is_empty() {
                text += &format!("\n{title}: {}\n", lines.len());
                lines
                    .iter()
                    .take(TABLE_LINES_MAX)
                    .for_each(|line| text += &format!("  {}\n", line.escape_debug()));
                text += &format_more_lines(lines.len());
            }
        }
        text
    }
}

/// Maximum number of lines of a list that are shown.
const TABLE_LINES_MAX: usize = 20;

fn format_more_lines(count: usize) -> String {
    if count > TABLE_LINES_MAX {
        format!("  and {} more\n", count - TABLE_LINES_MAX)
    } else {
        String::new()
    }
}

/// Removes the samples whose path of ids matches one of `patterns`, and FOLDERs that have no
/// samples left. Returns the paths of the former.
pub(super) fn exclude_samples(dataset: &mut Dataset, patterns: &[String]) -> Vec<String> {
    fn remove_excluded_samples(
        tortilla: &Tortilla,
        above: &str,
        patterns: &[String],
        removed: &mut Vec<String>,
    ) -> Tortilla {
        let mut samples = Vec::with_capacity(tortilla.samples.len());
        for sample in &tortilla.samples {
            let path = if above.is_empty() {
                sample.id.to_string()
            } else {
                format!("{above}/{}", sample.id)
            };
            if is_excluded(&path, patterns) {
                removed.push(path);
                continue;
            }
            match sample.children() {
                None => samples.push(sample.clone()),
                Some(children) => {
                    let below = remove_excluded_samples(children, &path, patterns, removed);
                    if !below.samples.is_empty() {
                        samples.push(Sample {
                            values: sample.values.clone(),
                            ..Sample::new_folder(&sample.id, below)
                        });
                    }
                }
            }
        }
        Tortilla {
            schema: tortilla.schema.clone(),
            samples,
        }
    }
    let mut removed = Vec::new();
    if !patterns.is_empty() {
        dataset.root = remove_excluded_samples(&dataset.root, "", patterns, &mut removed).into();
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_stored_as_words_or_readings_and_read_back() {
        for text in [
            "auto",
            "folders",
            "stems",
            "my.json",
            "{split}/{position}/{root}",
        ] {
            let choice: LayoutChoice = text.parse().expect("is one");
            let stored = serde_json::to_value(&choice).expect("is stored");
            assert_eq!(stored.is_string(), !text.contains('{'), "{stored}");
            assert_eq!(
                serde_json::from_value::<LayoutChoice>(stored).expect("is read"),
                choice
            );
        }
        assert_eq!(
            serde_json::from_str::<LayoutChoice>("\"{position}/{root}\"").expect("a pattern"),
            "{position}/{root}".parse().expect("one")
        );
        assert!(serde_json::from_str::<LayoutChoice>("\"{position}/\"").is_err());
    }

    #[test]
    fn layouts_are_words_patterns_or_files() {
        let of = |text: &str| text.parse::<LayoutChoice>();
        assert_eq!(of("auto").expect("is one"), LayoutChoice::Auto);
        assert_eq!(
            of("my.json").expect("is one"),
            LayoutChoice::Saved("my.json".into())
        );
        let LayoutChoice::Pattern(reading) = of("{split}/{position}/{root}.tif").expect("is one")
        else {
            panic!("is a pattern")
        };
        assert_eq!(reading.patterns(), ["{split}/{position}/{root}"]);
        for wrong in ["", "{split}/", "{a b}/{root}", "{root}/x.tif"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
