//! Lists beside the data: texts of names, tables, annotations. Where their entries name roots or
//! files of roots, they become columns.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use crate::container::read_asset;
use crate::draft::{ArrangedFiles, find_split_in_name};
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, FieldSpec, Value, check_field_name, is_remote};
use crate::ops::found_file::{FoundFile, strip_ending};
use crate::table::{ColumnReading, LevelTable, read_metadata_table};
use crate::work_files::WorkFile;

/// Endings of lists.
const ENDINGS: [&str; 10] = [
    "txt", "lst", "json", "csv", "tsv", "geojson", "parquet", "xlsx", "ods", "jsonl",
];
/// Largest list that is read, in bytes.
const LIST_MAX: u64 = 256 << 20;

/// A list and the columns of its entries.
pub(super) struct JoinedList {
    /// Index of the file.
    pub file: usize,
    /// Its name.
    pub name: String,
    /// Its name without ending.
    pub stem: String,
    /// Values by index of the root.
    pub columns: Vec<(FieldSpec, Vec<(usize, Value)>)>,
}

/// Adds the root to those of a name.
fn note_root(names: &mut HashMap<String, Vec<usize>>, name: &str, root: usize) {
    let known = names.entry(name.to_lowercase()).or_default();
    if known.last() != Some(&root) {
        known.push(root);
    }
}

fn find_only_root(roots: &[usize]) -> Option<usize> {
    if let [one] = roots { Some(*one) } else { None }
}

/// Names by which lists mean roots.
pub(super) struct RootNames {
    roots: HashMap<String, Vec<usize>>,
    /// By root, the folders of its files.
    folders: Vec<HashSet<String>>,
    splits: Vec<Option<String>>,
}

impl RootNames {
    /// Ids, and the names, stems and paths of all files.
    pub fn from_arrangement(arrangement: &ArrangedFiles, paths: &[String]) -> Self {
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        let mut folders = Vec::with_capacity(arrangement.roots.len());
        let split = arrangement
            .columns
            .iter()
            .position(|column| column == "split");
        for (at, root) in arrangement.roots.iter().enumerate() {
            let mut note = |name: &str| note_root(&mut names, name, at);
            note(&root.id);
            let mut above = HashSet::new();
            for &file in root.files.iter().flatten() {
                let path = &paths[file];
                let name = path.rsplit('/').next().unwrap_or(path);
                note(path);
                note(strip_ending(path));
                note(name);
                note(strip_ending(name));
                above.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
            }
            folders.push(above);
        }
        let splits = arrangement
            .roots
            .iter()
            .map(|root| split.and_then(|at| root.columns[at].clone()))
            .collect();
        Self {
            roots: names,
            folders,
            splits,
        }
    }

    /// The one root that a list in `folder` means by a name; `split` is the part that the list's
    /// own name says.
    fn root(&self, name: &str, folder: &str, split: Option<&str>) -> Option<usize> {
        let text = name
            .trim()
            .trim_start_matches("./")
            .replace('\\', "/")
            .to_lowercase();
        let short = text.rsplit('/').next().unwrap_or(&text);
        let found = self.roots.get(&text).or_else(|| {
            // Other programs' folders before it, or another ending.
            let stem = strip_ending(short);
            self.roots.get(short).or_else(|| {
                self.roots
                    .get(stem)
                    .filter(|_| stem.len() < short.len() || short.len() < text.len())
            })
        })?;
        if let Some(only) = find_only_root(found) {
            return Some(only);
        }
        let roots = || found.iter().copied();
        let is_below = |root: &usize| !folder.is_empty() && self.folders[*root].contains(folder);
        find_only_root(&roots().filter(is_below).collect::<Vec<_>>()).or_else(|| {
            let same: Vec<usize> = roots()
                .filter(|&root| self.is_of_split(root, split))
                .collect();
            find_only_root(&same)
        })
    }

    /// True for a root with a part of the split; `split` is in lower case.
    fn is_of_split(&self, root: usize, split: Option<&str>) -> bool {
        match (&self.splits[root], split) {
            (Some(own), Some(split)) => own.to_lowercase().contains(split),
            _ => false,
        }
    }
}

/// The columns of all lists among the files without a place.
///
/// # Errors
/// Cancellation. Lists that can't be read are left over.
pub(super) fn join_lists(
    arrangement: &ArrangedFiles,
    files: &[FoundFile],
    names: &RootNames,
    ctx: &JobContext,
) -> Result<Vec<JoinedList>> {
    ctx.stage(tr!("Reading the lists"), None);
    let mut lists = Vec::new();
    for &index in &arrangement.left_over {
        ctx.check()?;
        let file = &files[index];
        let name = file.below.rsplit('/').next().unwrap_or(&file.below);
        let Some((stem, ending)) = name.rsplit_once('.') else {
            continue;
        };
        let ending = ending.to_lowercase();
        if file.size > LIST_MAX || !ENDINGS.contains(&ending.as_str()) {
            continue;
        }
        let Some(readable) = readable_list(file, &ending, ctx)? else {
            continue;
        };
        let folder = file.below.rsplit_once('/').map_or("", |(folder, _)| folder);
        let list = ListFile {
            path: &readable,
            below: &file.below,
            stem,
            folder,
            split: find_split_in_name(stem),
            names,
            roots: arrangement.roots.len(),
        };
        let found = match ending.as_str() {
            "txt" | "lst" => list.of_lines(),
            "json" => list.of_json(ctx)?,
            "csv" | "tsv" | "geojson" | "parquet" | "xlsx" | "ods" | "jsonl" => {
                list.of_table(ctx)?
            }
            _ => None,
        };
        if let Some(columns) = found.filter(|columns| !columns.is_empty()) {
            lists.push(JoinedList {
                file: index,
                name: name.to_owned(),
                stem: stem.to_owned(),
                columns,
            });
        }
    }
    Ok(lists)
}

type ListColumns = Vec<(FieldSpec, Vec<(usize, Value)>)>;

/// A list as a file of this machine.
enum ReadableList {
    /// Of a folder.
    File(PathBuf),
    /// Unpacked from an archive.
    Copy(WorkFile),
}

impl Deref for ReadableList {
    type Target = Path;

    fn deref(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Copy(copy) => copy.path(),
        }
    }
}

/// The list as a file that tables are read from; `None`, with a warning, where it can't be
/// unpacked.
fn readable_list(file: &FoundFile, ending: &str, ctx: &JobContext) -> Result<Option<ReadableList>> {
    if let AssetPath::File(path) = &file.asset
        && !is_remote(path)
    {
        return Ok(Some(ReadableList::File(path.to_path_buf())));
    }
    let bytes = match read_asset(&file.asset) {
        Ok(bytes) => bytes,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => {
            ctx.warn(format!("{}: it is not read as a list: {error}", file.below));
            return Ok(None);
        }
    };
    let copy = WorkFile::create(&format!(".{ending}"), |copy| {
        copy.write_all(&bytes)
            .io_at("write into the temporary folder", std::env::temp_dir())
    })?;
    Ok(Some(ReadableList::Copy(copy)))
}

struct ListFile<'a> {
    path: &'a Path,
    /// Its path below the source.
    below: &'a str,
    stem: &'a str,
    /// The folder of the list, below the source.
    folder: &'a str,
    split: Option<String>,
    names: &'a RootNames,
    roots: usize,
}

impl ListFile<'_> {
    fn root(&self, name: &str) -> Option<usize> {
        self.names.root(name, self.folder, self.split.as_deref())
    }

    /// True when so many entries name roots that it is no accident.
    fn is_list(&self, matched: usize, entries: usize) -> bool {
        matched > 0 && (matched * 2 >= entries || matched * 2 >= self.roots)
    }

    fn split_column(&self, roots: impl IntoIterator<Item = usize>) -> Option<ListColumns> {
        let split = self.split.as_ref()?;
        let values = roots
            .into_iter()
            .map(|root| (root, Value::text(split)))
            .collect();
        Some(vec![(FieldSpec::new("split", DataType::Utf8), values)])
    }

    /// A name in each line, or a name and a label.
    fn of_lines(&self) -> Option<ListColumns> {
        let text = crate::files::read_to_string(self.path).ok()?;
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let whole: Vec<usize> = lines.iter().filter_map(|line| self.root(line)).collect();
        if self.is_list(whole.len(), lines.len()) {
            return self.split_column(whole);
        }
        let pairs: Vec<(usize, &str)> = lines
            .iter()
            .filter_map(|line| {
                let (name, rest) = line.split_once([' ', '\t', ',', ';'])?;
                Some((self.root(name)?, rest.trim()))
            })
            .collect();
        if !self.is_list(pairs.len(), lines.len()) {
            return None;
        }
        let mut columns = self
            .split_column(pairs.iter().map(|(root, _)| *root))
            .unwrap_or_default();
        let labels = pairs
            .into_iter()
            .map(|(root, rest)| (root, Value::text(rest)))
            .collect();
        columns.push((FieldSpec::new("label", DataType::Utf8), labels));
        Some(columns)
    }

    fn of_table(&self, ctx: &JobContext) -> Result<Option<ListColumns>> {
        let found = match read_metadata_table(self.path, &choose_reading, ctx) {
            Ok(found) => found.table,
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => {
                ctx.warn(format!("{}: it is not read as a list: {error}", self.below));
                return Ok(None);
            }
        };
        Ok(self.columns_of_table(&found))
    }

    fn columns_of_table(&self, table: &LevelTable) -> Option<ListColumns> {
        let fields = table.fields();
        // A table without a header line, of names alone.
        let heads: Vec<usize> = fields
            .iter()
            .filter_map(|field| self.root(&field.name))
            .collect();
        if !heads.is_empty() {
            let mut roots: HashSet<usize> = heads.into_iter().collect();
            for column in 0..fields.len() {
                roots.extend(
                    (0..table.rows()).filter_map(|row| self.root(&table.text(row, column))),
                );
            }
            return self.split_column(roots);
        }
        let best = (0..fields.len())
            .filter(|&column| holds_names(&fields[column].dtype))
            .map(|column| {
                (
                    column,
                    self.match_column(table, column, &fields[column].name),
                )
            });
        let (key, rows) = best.max_by_key(|(column, rows)| {
            (
                rows.len(),
                is_key_like(&fields[*column].name),
                usize::MAX - column,
            )
        })?;
        if !self.is_list(rows.len(), table.rows()) {
            return None;
        }
        let mut columns = Vec::new();
        for (column, field) in fields
            .iter()
            .enumerate()
            .filter(|(column, _)| *column != key)
        {
            let values: Vec<(usize, Value)> = rows
                .iter()
                .map(|&(row, root)| (root, table.value(row, column)))
                .collect();
            if values.iter().any(|(_, value)| !value.is_null()) {
                columns.push((
                    FieldSpec {
                        name: self.field_name(&field.name),
                        ..field.clone()
                    },
                    values,
                ));
            }
        }
        if columns.is_empty() || !columns.iter().any(|(field, _)| field.name == "split") {
            columns.extend(
                self.split_column(rows.iter().map(|(_, root)| *root))
                    .unwrap_or_default(),
            );
        }
        Some(columns)
    }

    /// Rows and the roots that a column names; empty for a column that is no key.
    fn match_column(&self, table: &LevelTable, column: usize, name: &str) -> Vec<(usize, usize)> {
        let numeric = (0..table.rows())
            .all(|row| table.text(row, column).bytes().all(|b| b.is_ascii_digit()));
        if numeric && !is_key_like(name) {
            return Vec::new();
        }
        let found: Vec<(usize, usize)> = (0..table.rows())
            .filter_map(|row| Some((row, self.root(&table.text(row, column))?)))
            .collect();
        let distinct: HashSet<usize> = found.iter().map(|(_, root)| *root).collect();
        // Several rows of one root are no key.
        if distinct.len() == found.len() {
            found
        } else {
            Vec::new()
        }
    }

    fn of_json(&self, ctx: &JobContext) -> Result<Option<ListColumns>> {
        let Some(json) = crate::files::read(self.path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok())
        else {
            return Ok(None);
        };
        Ok(match &json {
            Json::Object(object) if object.get("images").is_some_and(Json::is_array) => {
                self.of_coco(&json)
            }
            Json::Object(object) if object.get("features").is_some_and(Json::is_array) => {
                return self.of_table(ctx);
            }
            Json::Object(object) => {
                let found: Vec<(usize, &Json)> = object
                    .iter()
                    .filter_map(|(name, value)| Some((self.root(name)?, value)))
                    .collect();
                if self.is_list(found.len(), object.len()) {
                    Some(self.of_values(found))
                } else {
                    None
                }
            }
            Json::Array(items) if items.iter().all(Json::is_string) => {
                let roots: Vec<usize> = items
                    .iter()
                    .filter_map(|item| self.root(item.as_str()?))
                    .collect();
                if self.is_list(roots.len(), items.len()) {
                    self.split_column(roots)
                } else {
                    None
                }
            }
            Json::Array(_) => return self.of_table(ctx),
            _ => None,
        })
    }

    /// Annotations of COCO: those of each image as one text of JSON.
    fn of_coco(&self, json: &Json) -> Option<ListColumns> {
        let images = json["images"].as_array()?;
        let mut by_image: HashMap<String, Vec<&Json>> = HashMap::new();
        for annotation in json["annotations"].as_array().into_iter().flatten() {
            by_image
                .entry(annotation["image_id"].to_string())
                .or_default()
                .push(annotation);
        }
        let found: Vec<(usize, String)> = images
            .iter()
            .filter_map(|image| {
                Some((
                    self.root(image["file_name"].as_str()?)?,
                    image["id"].to_string(),
                ))
            })
            .collect();
        if !self.is_list(found.len(), images.len()) {
            return None;
        }
        let mut texts: BTreeMap<usize, Vec<&Json>> = BTreeMap::new();
        for (root, image) in &found {
            texts
                .entry(*root)
                .or_default()
                .extend(by_image.get(image).into_iter().flatten());
        }
        let mut columns = self
            .split_column(found.iter().map(|(root, _)| *root))
            .unwrap_or_default();
        let values = texts.into_iter().map(|(root, items)| {
            (
                root,
                Value::text(Json::from_iter(items.into_iter().cloned()).to_string()),
            )
        });
        columns.push((
            FieldSpec::new("annotations", DataType::Utf8),
            values.collect(),
        ));
        Some(columns)
    }

    /// Values by name: objects become columns, others one column with the list's name.
    fn of_values(&self, found: Vec<(usize, &Json)>) -> ListColumns {
        let mut columns: BTreeMap<String, Vec<(usize, &Json)>> = BTreeMap::new();
        for (root, value) in found {
            match value {
                Json::Object(fields) => fields.iter().for_each(|(name, value)| {
                    columns
                        .entry(self.field_name(name))
                        .or_default()
                        .push((root, value))
                }),
                other => columns
                    .entry(self.field_name(self.stem))
                    .or_default()
                    .push((root, other)),
            }
        }
        columns
            .into_iter()
            .map(|(name, values)| column_from_json(&name, values))
            .collect()
    }

    /// A name that fields can have.
    fn field_name(&self, name: &str) -> String {
        let plain: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        match check_field_name(name) {
            Ok(()) => name.to_owned(),
            Err(_) if check_field_name(&plain).is_ok() => plain,
            Err(_) => format!("list_{plain}"),
        }
    }
}

/// The column of JSON values: numbers, texts or flags where all are, else their JSON.
fn column_from_json(name: &str, values: Vec<(usize, &Json)>) -> (FieldSpec, Vec<(usize, Value)>) {
    let all =
        |is: &dyn Fn(&Json) -> bool| values.iter().all(|(_, value)| value.is_null() || is(value));
    let dtype = if all(&|value| value.is_boolean()) {
        DataType::Boolean
    } else if all(&|value| value.is_i64()) {
        DataType::Int64
    } else if all(&|value| value.is_number()) {
        DataType::Float64
    } else {
        DataType::Utf8
    };
    let values = values
        .iter()
        .map(|(root, value)| (*root, convert_json(value, &dtype)))
        .collect();
    (FieldSpec::new(name, dtype), values)
}

/// A value of a column of this type; text where the type is another.
fn convert_json(value: &Json, dtype: &DataType) -> Value {
    match (value, dtype) {
        (Json::Null, _) => Value::Null,
        (Json::Bool(flag), DataType::Boolean) => Value::Bool(*flag),
        (Json::Number(number), DataType::Int64) => number.as_i64().map_or(Value::Null, Value::Int),
        (Json::Number(number), DataType::Float64) => {
            number.as_f64().map_or(Value::Null, Value::Float)
        }
        (Json::String(text), _) => Value::text(text),
        (other, _) => Value::text(other.to_string()),
    }
}

fn choose_reading(column: &str) -> ColumnReading {
    if is_key_like(column) {
        ColumnReading::ExactText
    } else {
        ColumnReading::Inferred
    }
}

/// True for a type whose values may name roots.
fn holds_names(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    ) || dtype.is_integer()
}

/// True for columns that name things, as a rule.
fn is_key_like(name: &str) -> bool {
    const WORDS: [&str; 11] = [
        "id", "name", "file", "filename", "path", "patch", "chip", "tile", "image", "key", "scene",
    ];
    name.split(|c: char| !c.is_alphanumeric())
        .any(|word| WORDS.contains(&word.to_lowercase().as_str()))
}
