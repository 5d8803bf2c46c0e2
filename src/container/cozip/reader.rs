//! Opens a TACO 3 dataset: `METADATA/sample.parquet` is level 0, `children.parquet` level 1,
//! `children__imagery.parquet` the files in the folder `imagery` of each sample, and so on. An
//! index over several archives (`.tacocat`) has the tables beside its COLLECTION.json, with the
//! archive of each row in `internal:source_file`. Does not validate.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, StringArray};

use super::CozipArchive;
use crate::container::data_files::data_files;
use crate::container::levels::read_unsigned_cell;
use crate::container::part_files::PartFiles;
use crate::container::synthetic_levels::{MadeLevel, RowRanges, level_tables};
use crate::container::tortilla::join;
use crate::container::{
    ContainerInfo, ContainerReader, DatasetVersion, Format, LevelSet, LocalFile, OpeningFacts,
    Physical, asset_size, children_table, read_collection, read_collection_file,
};
use crate::error::{Error, IoContext, Result, separate_transient_error};
use crate::files::{Outside, Root};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Collection, MAX_LEVELS, is_remote, place_above, place_below, safe_relative,
};
use crate::remote::{FIRST_OF_DATASET, RemoteFile, may_be_folder, means_absent};
use crate::table::{DecodeBudget, LevelTable, TableHead};

/// Table names of the sample level and the level below.
const SAMPLE: &str = "sample";
const CHILDREN: &str = "children";
/// Metadata of a table's schema: its name.
const LEVEL_KEY: &str = "taco:level";
/// Folder of the tables, except in an index.
const METADATA: &str = "METADATA/";
/// The archive of a row of an index.
const SOURCE: &str = "internal:source_file";
/// Maximum number of tables of a remote folder, which takes a request for each.
const TABLES_MAX: usize = 1000;

/// An opened TACO 3 dataset.
pub struct Taco3Reader {
    opening: OpeningFacts,
    store: CozipStore,
    /// Paths below `DATA/`, by level and row.
    paths: Vec<Vec<String>>,
    /// The archive of each row by level, and its position there; empty unless the dataset is an
    /// index.
    sources: Vec<Vec<Arc<str>>>,
    ranges: Vec<RowRanges>,
    /// The tables that make up each level, with their numbers of rows.
    tables: Vec<Vec<(String, usize)>>,
    /// True when `taco:structure` is null: each sample is one file without a name (TACO 3 up to
    /// release 0.8.2).
    is_flat: bool,
}

enum CozipStore {
    Zip(CozipArchive),
    Folder(Root),
    /// A remote folder, which cannot be listed: names of the tables it may contain.
    Remote {
        root: PathBuf,
        tables: Vec<String>,
    },
    /// An index over several archives.
    Index {
        tables: Box<CozipStore>,
        parts: PartFiles,
    },
}

/// One level table as it is stored. Vectors have one entry per row.
pub struct Taco3Table {
    /// Name, such as `children/imagery`.
    pub name: String,
    /// Path of the file or member.
    pub member: String,
    /// The level that the file names in its metadata.
    pub stated_level: Option<String>,
    /// All columns.
    pub table: LevelTable,
    /// `internal:current_id`; -1 for null.
    pub ids: Vec<i64>,
    /// `internal:parent_id`; -1 for null. Of the samples their own ids.
    pub parents: Vec<i64>,
    /// `internal:relative_path`; empty for null.
    pub paths: Vec<String>,
    /// The archive of each row; empty unless the dataset is an index.
    pub sources: Vec<Arc<str>>,
}

impl Taco3Table {
    /// The archive of a row of an index; empty for one dataset.
    pub fn source(&self, row: usize) -> &str {
        self.sources.get(row).map_or("", |source| source)
    }
}

/// The rows of a table by the archive and the number that the table states (`internal:current_id`),
/// as tables below name them: numbers of an index are those of the archive up to release 0.8.2, and
/// of all rows from 0.9.
#[derive(Default)]
pub struct RowsById(HashMap<Arc<str>, NumberedRows>);

/// The rows of one archive.
enum NumberedRows {
    /// Numbers that count up with the rows, as in nearly all tables.
    Counted {
        first_id: i64,
        rows: Range<u32>,
    },
    Listed(HashMap<i64, u32>),
}

impl RowsById {
    /// Adds a row; a later one of the same number replaces it.
    fn insert(&mut self, source: &Arc<str>, id: i64, row: u32) {
        let Some(numbered) = self.0.get_mut(source) else {
            self.0.insert(
                source.clone(),
                NumberedRows::Counted {
                    first_id: id,
                    rows: row..row + 1,
                },
            );
            return;
        };
        match numbered {
            NumberedRows::Counted { first_id, rows }
                if row == rows.end && id.checked_sub(*first_id) == Some(rows.len() as i64) =>
            {
                rows.end += 1;
            }
            NumberedRows::Counted { first_id, rows } => {
                let mut listed: HashMap<i64, u32> = (*first_id..).zip(rows.clone()).collect();
                listed.insert(id, row);
                *numbered = NumberedRows::Listed(listed);
            }
            NumberedRows::Listed(listed) => {
                listed.insert(id, row);
            }
        }
    }

    /// The row of an archive with this number.
    pub fn get(&self, source: &str, id: i64) -> Option<u32> {
        match self.0.get(source)? {
            NumberedRows::Counted { first_id, rows } => {
                let at = u32::try_from(id.checked_sub(*first_id)?).ok()?;
                rows.start.checked_add(at).filter(|row| rows.contains(row))
            }
            NumberedRows::Listed(listed) => listed.get(&id).copied(),
        }
    }

    /// The rows of a stored table.
    pub fn from_table(table: &Taco3Table) -> Self {
        let mut rows = Self::default();
        let whole = Arc::default();
        for (row, &id) in table.ids.iter().enumerate() {
            rows.insert(table.sources.get(row).unwrap_or(&whole), id, row as u32);
        }
        rows
    }
}

impl Taco3Reader {
    /// Opens an archive, a folder, or an index, whose archives are beside it or in `base`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format), with the table, when a metadata table is
    /// missing or unreadable.
    pub fn open(path: &Path, base: Option<&Path>, ctx: &JobContext) -> Result<Self> {
        let store = CozipStore::open(path, base)?;
        let members = store.tables()?;
        let version = store.version(path, &members)?;
        let collection = separate_transient_error(store.collection())?;
        let is_flat = collection.as_ref().is_ok_and(|fields| {
            fields
                .fields
                .get("taco:structure")
                .is_some_and(|files| files.is_null())
        });
        let budget = DecodeBudget::default();
        let mut by_depth: BTreeMap<usize, Vec<Taco3Table>> = BTreeMap::new();
        for (name, member) in members {
            ctx.check()?;
            let part = read_part(&store, name, &member, &budget, ctx).map_err(|error| {
                if error.is_cancelled() {
                    error
                } else {
                    Error::format(format!("{member} can't be read")).because(error)
                }
            })?;
            by_depth.entry(depth_of(&part.name)).or_default().push(part);
        }
        let mut made: Vec<MadeLevel> = Vec::new();
        let mut tables: Vec<Vec<(String, usize)>> = Vec::new();
        // The row of the level that each row of a table is, by table.
        let mut above: HashMap<String, RowsById> = HashMap::new();
        for depth in 0..=MAX_LEVELS {
            let Some(parts) = by_depth.remove(&depth) else {
                break;
            };
            ctx.check()?;
            let (level, counts, rows) = join_level(depth, parts, &above, &budget)?;
            made.push(level);
            tables.push(counts);
            above = rows;
        }
        if made.is_empty() {
            return Err(Error::format("the dataset has no METADATA/sample.parquet").at_path(path));
        }
        if is_flat && let Some(samples) = made.first_mut() {
            samples.folder.fill(false);
        }
        mark_folders(&mut made);
        let paths = made
            .iter()
            .map(|level| level.paths.clone().unwrap_or_default())
            .collect();
        let sources = made
            .iter()
            .map(|level| level.sources.clone().unwrap_or_default())
            .collect();
        let ranges = made
            .iter()
            .map(|level| level.ranges.clone().unwrap_or_default())
            .collect();
        let levels = LevelSet::of_tables(level_tables(made)?);
        let size_bytes = match &store {
            CozipStore::Zip(archive) => Some(archive.file().size_bytes()),
            CozipStore::Folder(_) | CozipStore::Remote { .. } | CozipStore::Index { .. } => None,
        };
        let info = ContainerInfo {
            format: Format::Taco3,
            path: path.to_owned(),
            size_bytes,
        };
        version.expect_unchanged()?;
        let opening = OpeningFacts::new(info, levels, collection, Vec::new()).of_version(version);
        Ok(Self {
            opening,
            store,
            paths,
            sources,
            ranges,
            tables,
            is_flat,
        })
    }

    /// Path below `DATA/` of the sample at `row` of `level`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such row.
    pub fn relative_path(&self, level: usize, row: u32) -> Result<&str> {
        let path = self
            .paths
            .get(level)
            .and_then(|paths| paths.get(row as usize));
        path.map(String::as_str)
            .ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))
    }

    /// The level tables as they are stored, in order of their names.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn stored_tables(&self, ctx: &JobContext) -> Result<Vec<Taco3Table>> {
        let budget = DecodeBudget::default();
        let tables = self.store.tables()?.into_iter();
        tables
            .map(|(name, member)| {
                ctx.check()?;
                read_part(&self.store, name, &member, &budget, ctx)
            })
            .collect()
    }

    /// The archive; `None` for a folder and an index.
    pub fn archive(&self) -> Option<&CozipArchive> {
        match &self.store {
            CozipStore::Zip(archive) => Some(archive),
            CozipStore::Folder(_) | CozipStore::Remote { .. } | CozipStore::Index { .. } => None,
        }
    }

    /// True when each sample is one file without a name.
    pub fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Name of the archive of the sample at `row` of `level`; `None` for one dataset.
    pub fn source_of(&self, level: usize, row: u32) -> Option<&str> {
        self.sources
            .get(level)?
            .get(row as usize)
            .map(|source| &**source)
    }

    /// Path of an archive of an index, which may not exist.
    ///
    /// # Errors
    /// When the name leads out of the folder of the archives.
    pub fn part_path(&self, name: &str) -> Result<PathBuf> {
        match &self.store {
            CozipStore::Index { parts, .. } => parts.path(name),
            CozipStore::Zip(_) | CozipStore::Folder(_) | CozipStore::Remote { .. } => {
                Err(Error::usage("this dataset is not an index"))
            }
        }
    }

    /// Names of the tables that make up a level, with their numbers of rows.
    pub fn tables(&self, level: usize) -> &[(String, usize)] {
        self.tables.get(level).map_or(&[], Vec::as_slice)
    }

    /// Paths below `DATA/` of all existing files; `None` for a remote folder and an index.
    ///
    /// # Errors
    /// When the folder or the central directory cannot be read.
    pub fn data_files(&self) -> Result<Option<Vec<String>>> {
        match &self.store {
            CozipStore::Zip(archive) => {
                let names = archive
                    .directory()?
                    .entries
                    .iter()
                    .filter_map(|entry| entry.name.strip_prefix("DATA/"));
                Ok(Some(
                    names
                        .filter(|name| !name.ends_with('/'))
                        .map(str::to_owned)
                        .collect(),
                ))
            }
            CozipStore::Folder(root) => Ok(Some(data_files(&root.folder().join("DATA"))?)),
            CozipStore::Remote { .. } | CozipStore::Index { .. } => Ok(None),
        }
    }

    /// The root folder that every file must be in; `None` for an archive, an index and a remote
    /// folder. `..` and absolute paths in the tables are refused when the file is read.
    pub fn root(&self) -> Option<&Root> {
        match &self.store {
            CozipStore::Folder(root) => Some(root),
            CozipStore::Zip(_) | CozipStore::Remote { .. } | CozipStore::Index { .. } => None,
        }
    }

    /// The folder of the archives of an index; `None` for one dataset.
    pub fn parts_folder(&self) -> Option<&Path> {
        match &self.store {
            CozipStore::Index { parts, .. } => Some(parts.folder()),
            CozipStore::Zip(_) | CozipStore::Folder(_) | CozipStore::Remote { .. } => None,
        }
    }

    /// Names of the archives of an index, in order of first appearance; empty for one dataset.
    pub fn part_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for source in self.sources.first().into_iter().flatten() {
            if names.last() != Some(source) && !names.contains(source) {
                names.push(source.clone());
            }
        }
        names
    }

    /// True for the folder form.
    pub fn is_folder(&self) -> bool {
        matches!(
            self.store,
            CozipStore::Folder(_) | CozipStore::Remote { .. }
        )
    }
}

/// Whether an address is an archive. For a folder, servers answer with an error or an HTML page.
fn is_archive(path: &Path) -> Result<bool> {
    match LocalFile::open(path) {
        Ok(file) => Ok(file.size_bytes() >= 4 && file.read(0, 4)?.starts_with(b"PK")),
        Err(error) if may_be_folder(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The existing tables among those that COLLECTION.json names; they are in the folder `metadata`,
/// `METADATA/` or none.
fn tables_of_remote_folder(
    path: &Path,
    collection: &Collection,
    metadata: &str,
) -> Result<Vec<String>> {
    let mut names = BTreeSet::from([SAMPLE.to_owned()]);
    let declared = collection
        .get("taco:metadata")
        .and_then(|levels| levels.as_object());
    names.extend(declared.into_iter().flatten().map(|(name, _)| name.clone()));
    let structure = collection
        .get("taco:structure")
        .and_then(|files| files.as_array());
    for file in structure
        .into_iter()
        .flatten()
        .filter_map(|file| file.as_str())
    {
        let folders = file.match_indices('/').map(|(end, _)| &file[..end]);
        names.insert(CHILDREN.to_owned());
        // There are no tables below the maximum depth.
        names.extend(
            folders
                .take(MAX_LEVELS + 1)
                .map(|folder| format!("{CHILDREN}/{folder}")),
        );
        if names.len() > TABLES_MAX {
            let error = Error::format(format!(
                "the collection names more than {TABLES_MAX} tables"
            ));
            return Err(error.at_path(path));
        }
    }
    let members: Vec<String> = names
        .iter()
        .map(|name| format!("{metadata}{}.parquet", name.replace('/', "__")))
        .collect();
    let places: Vec<PathBuf> = members
        .iter()
        .map(|member| place_below(path, member))
        .collect();
    let opened = RemoteFile::open_all(
        &places.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        FIRST_OF_DATASET,
    )?;
    let mut there = Vec::with_capacity(members.len());
    for (member, opened) in members.into_iter().zip(opened) {
        match opened {
            Ok(_) => there.push(member),
            Err(error) if means_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(there)
}

/// Level of a table: 0 for `sample`, 1 for `children`, plus one per path component below.
fn depth_of(name: &str) -> usize {
    if name == SAMPLE {
        0
    } else {
        1 + name.matches('/').count()
    }
}

/// The table of the parents of the table `name`.
pub fn table_above(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((above, _)) => above,
        None => SAMPLE,
    }
}

/// True for the collection of an index, which lists its archives.
fn lists_archives(collection: &Collection) -> bool {
    collection
        .get("taco:sources")
        .is_some_and(|sources| sources.get("partitions").is_some())
}

impl CozipStore {
    fn open(path: &Path, base: Option<&Path>) -> Result<Self> {
        if path.is_dir() {
            let tables = Self::Folder(Root::new(path));
            if path.join(METADATA).is_dir() {
                return Ok(tables);
            }
            // `..` of a relative path may not be its parent.
            let path = std::path::absolute(path).io_at("find the folder of the index", path)?;
            let beside = path.parent().unwrap_or(&path);
            return Ok(tables.into_index(base, beside));
        }
        if is_remote(path) && !is_archive(path)? {
            let collection = read_collection_file(&place_below(path, "COLLECTION.json"))?;
            let is_index = lists_archives(&collection);
            let names =
                tables_of_remote_folder(path, &collection, if is_index { "" } else { METADATA })?;
            let tables = Self::Remote {
                root: path.to_owned(),
                tables: names,
            };
            return Ok(match place_above(path).filter(|_| is_index) {
                Some(folder) => tables.into_index(base, &folder),
                None => tables,
            });
        }
        Ok(Self::Zip(CozipArchive::open(path)?))
    }

    /// The store of an index with these tables. Its parts are in `base`, else in `beside`.
    fn into_index(self, base: Option<&Path>, beside: &Path) -> Self {
        Self::Index {
            tables: Box::new(self),
            parts: PartFiles::new(base.unwrap_or(beside).to_owned()),
        }
    }

    /// The version of a local folder, and of the tables of a local index; archives state their own.
    fn version(&self, path: &Path, members: &[(String, String)]) -> Result<DatasetVersion> {
        let tables = match self {
            Self::Index { tables, .. } => tables.as_ref(),
            other => other,
        };
        let Self::Folder(root) = tables else {
            return Ok(DatasetVersion::default());
        };
        let files: Vec<PathBuf> = members
            .iter()
            .map(|(_, member)| root.path(member))
            .collect();
        let files = DatasetVersion::of_files(files.iter().map(PathBuf::as_path))?;
        Ok(DatasetVersion::of_all([
            DatasetVersion::of_folder(path, self.metadata()),
            files,
        ]))
    }

    /// Folder of the tables, with `/`.
    fn metadata(&self) -> &'static str {
        if matches!(self, Self::Index { .. }) {
            ""
        } else {
            METADATA
        }
    }

    fn member(&self, name: &str) -> Result<(AssetPath, u64)> {
        match self {
            CozipStore::Index { tables, .. } => tables.member(name),
            CozipStore::Folder(root) => {
                if !safe_relative(name) {
                    return Err(Error::format("this path leads outside the dataset")
                        .at_place(name.escape_default()));
                }
                let path = root.path(name);
                let meta = root
                    .file(name)
                    .map_err(|why| why.into_error("read the sample", &path))?;
                Ok((AssetPath::file(path), meta.len()))
            }
            CozipStore::Remote { root, .. } => {
                if !safe_relative(name) {
                    return Err(Error::format("this path leads outside the dataset")
                        .at_place(name.escape_default()));
                }
                let asset = AssetPath::file(place_below(root, name));
                let size = asset_size(&asset)?;
                Ok((asset, size))
            }
            CozipStore::Zip(archive) => archive.member(name),
        }
    }

    fn collection(&self) -> Result<Collection> {
        let (asset, size) = self.member("COLLECTION.json")?;
        let offset = if let AssetPath::Range { offset, .. } = asset {
            offset
        } else {
            0
        };
        read_collection(&LocalFile::open_for(&asset)?, offset, size)
    }

    /// A table, and the level that its file names.
    fn table(
        &self,
        name: &str,
        budget: &DecodeBudget,
        ctx: &JobContext,
    ) -> Result<(LevelTable, Option<String>)> {
        let (asset, size) = self.member(name)?;
        let slice = match (&asset, self) {
            (AssetPath::Range { offset, .. }, CozipStore::Zip(archive)) => {
                archive.file().parquet(*offset, size)?
            }
            (AssetPath::File(path), _) => LocalFile::open(path)?.parquet(0, size)?,
            _ => return Err(Error::internal("a member is neither a file nor a range")),
        };
        let head = TableHead::read(slice)?;
        budget.add_stored(head.stored_bytes());
        Ok((head.decode_within(None, budget, ctx)?, head.note(LEVEL_KEY)))
    }

    /// Names of the files that may be level tables.
    fn files(&self, metadata: &str) -> Result<Vec<String>> {
        match self {
            CozipStore::Index { tables, .. } => tables.files(metadata),
            CozipStore::Zip(archive) => archive.metadata_names(),
            CozipStore::Folder(root) => {
                let folder = root.folder().join(metadata);
                let entries = std::fs::read_dir(&folder).io_at("read the folder", &folder)?;
                Ok(entries
                    .flatten()
                    .map(|entry| format!("{metadata}{}", entry.file_name().to_string_lossy()))
                    .collect())
            }
            CozipStore::Remote { tables, .. } => Ok(tables.clone()),
        }
    }

    /// The level tables, as (name such as `children/imagery`, path of the member).
    fn tables(&self) -> Result<Vec<(String, String)>> {
        let metadata = self.metadata();
        let mut files = self.files(metadata)?;
        files.sort();
        let tables = files
            .into_iter()
            .filter_map(|member| Some((parse_level_table_name(&member, metadata)?, member)));
        Ok(tables.collect())
    }
}

/// The name of a level table by that of its member; `None` for other members.
fn parse_level_table_name(member: &str, metadata: &str) -> Option<String> {
    let stem = member
        .strip_prefix(metadata)?
        .strip_suffix(".parquet")?
        .replace("__", "/");
    let known = stem == SAMPLE || stem == CHILDREN || stem.starts_with("children/");
    known.then_some(stem)
}

fn read_part(
    store: &CozipStore,
    name: String,
    member: &str,
    budget: &DecodeBudget,
    ctx: &JobContext,
) -> Result<Taco3Table> {
    let (table, stated_level) = store.table(member, budget, ctx)?;
    let rows = table.rows();
    // Names of folders may have two underscores, which are a `/` in the name of the file.
    let is_alike = |stated: &&String| stated.replace('/', "__") == name.replace('/', "__");
    let name = stated_level
        .as_ref()
        .filter(is_alike)
        .cloned()
        .unwrap_or(name);
    let ids = read_row_numbers(&table, "internal:current_id")?
        .unwrap_or_else(|| (0..rows as i64).collect());
    let parents = read_row_numbers(&table, "internal:parent_id")?;
    let parents = match parents {
        Some(parents) => parents,
        None if name == SAMPLE => ids.clone(),
        None => return Err(Error::format("the table has no column internal:parent_id")),
    };
    let paths: Option<StringArray> = table.strings("internal:relative_path")?;
    let paths =
        paths.ok_or_else(|| Error::format("the table has no column internal:relative_path"))?;
    let paths = (0..rows)
        .map(|row| {
            if paths.is_valid(row) {
                paths.value(row).to_owned()
            } else {
                String::new()
            }
        })
        .collect();
    let mut sources: Vec<Arc<str>> = Vec::new();
    if let CozipStore::Index { .. } = store {
        let names = table.require_strings(SOURCE, "the table")?;
        let mut last: Arc<str> = Arc::default();
        for row in 0..rows {
            let name = if names.is_valid(row) {
                names.value(row)
            } else {
                ""
            };
            if *last != *name {
                last = name.into();
            }
            sources.push(last.clone());
        }
    }
    Ok(Taco3Table {
        name,
        member: member.to_owned(),
        stated_level,
        table,
        ids,
        parents,
        paths,
        sources,
    })
}

/// The row numbers of a column; -1 for null.
fn read_row_numbers(table: &LevelTable, column: &str) -> Result<Option<Vec<i64>>> {
    let numbers = table.integers(column)?;
    Ok(numbers.map(|numbers| numbers.iter().map(|number| number.unwrap_or(-1)).collect()))
}

/// A level, its tables with their numbers of rows, and by table the rows that tables below may
/// refer to as parents.
type JoinedLevel = (MadeLevel, Vec<(String, usize)>, HashMap<String, RowsById>);

/// Combines the tables of one depth.
fn join_level(
    depth: usize,
    parts: Vec<Taco3Table>,
    above: &HashMap<String, RowsById>,
    budget: &DecodeBudget,
) -> Result<JoinedLevel> {
    // Rows of one parent must be contiguous, so the tables of one depth are merged by parent.
    let tables: Vec<LevelTable> = parts.iter().map(|part| part.table.clone()).collect();
    let (batch, _) = join(&tables, budget)?;
    let mut rows: Vec<(u32, usize, usize)> = Vec::with_capacity(batch.num_rows());
    for (number, part) in parts.iter().enumerate() {
        let parents = above.get(table_above(&part.name));
        for row in 0..part.ids.len() {
            let parent = match depth {
                0 => 0,
                _ => parents
                    .and_then(|rows| rows.get(part.source(row), part.parents[row]))
                    .unwrap_or(u32::MAX),
            };
            rows.push((parent, number, row));
        }
    }
    let starts: Vec<usize> = parts
        .iter()
        .scan(0, |next, part| {
            Some(std::mem::replace(next, *next + part.ids.len()))
        })
        .collect();
    if parts.len() > 1 {
        rows.sort();
    }
    let order: Vec<u32> = rows
        .iter()
        .map(|&(_, part, row)| (starts[part] + row) as u32)
        .collect();
    let own = if order.iter().enumerate().all(|(at, &row)| at as u32 == row) {
        batch
    } else {
        arrow::compute::take_record_batch(&batch, &arrow::array::UInt32Array::from(order))
            .map_err(|error| Error::internal("rows can't be put in tree order").because(error))?
    };
    let named = LevelTable::new(own.schema(), vec![own.clone()]);
    let own_ids = named.strings("id")?.filter(|_| depth == 0);
    let is_index = parts.iter().any(|part| !part.sources.is_empty());
    let mut level = MadeLevel {
        ids: Vec::with_capacity(rows.len()),
        folder: vec![depth == 0; rows.len()],
        parents: Vec::with_capacity(rows.len()),
        ranges: ranges_of(&named)?,
        sources: is_index.then(|| Vec::with_capacity(rows.len())),
        paths: Some(Vec::with_capacity(rows.len())),
        own,
    };
    let mut places: Vec<RowsById> = parts.iter().map(|_| RowsById::default()).collect();
    let whole = Arc::default();
    for (at, &(parent, number, row)) in rows.iter().enumerate() {
        let part = &parts[number];
        let path = &part.paths[row];
        let last = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        match &own_ids {
            Some(ids) if ids.is_valid(at) => level.ids.push(ids.value(at).to_owned()),
            // Samples without ids are numbered from 0 in each archive of an index.
            _ if depth == 0 && is_index => level.ids.push(at.to_string()),
            _ => level.ids.push(last.to_owned()),
        }
        if let (Some(sources), Some(source)) = (&mut level.sources, part.sources.get(row)) {
            sources.push(source.clone());
        }
        level
            .parents
            .push(if depth == 0 { at as u32 } else { parent });
        if let Some(paths) = &mut level.paths {
            paths.push(path.trim_end_matches('/').to_owned());
        }
        places[number].insert(
            part.sources.get(row).unwrap_or(&whole),
            part.ids[row],
            at as u32,
        );
    }
    let places = parts
        .iter()
        .map(|part| part.name.clone())
        .zip(places)
        .collect();
    let counts = parts
        .iter()
        .map(|part| (part.name.clone(), part.ids.len()))
        .collect();
    Ok((level, counts, places))
}

/// Byte ranges from the table; `None` for a folder.
fn ranges_of(table: &LevelTable) -> Result<Option<RowRanges>> {
    let (offsets, sizes) = (
        table.integers("internal:offset")?,
        table.integers("internal:size")?,
    );
    let (Some(offsets), Some(sizes)) = (offsets, sizes) else {
        return Ok(None);
    };
    Ok(Some(
        (0..table.rows())
            .map(|row| read_unsigned_cell(&offsets, row).zip(read_unsigned_cell(&sizes, row)))
            .collect(),
    ))
}

/// Marks every row with children, and every sample, as FOLDER.
fn mark_folders(levels: &mut [MadeLevel]) {
    for depth in 1..levels.len() {
        let (above, here) = levels.split_at_mut(depth);
        let (Some(above), Some(here)) = (above.last_mut(), here.first()) else {
            continue;
        };
        for &parent in &here.parents {
            if let Some(folder) = above.folder.get_mut(parent as usize) {
                *folder = true;
            }
        }
    }
}

impl ContainerReader for Taco3Reader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    /// The children of the FOLDER at `row`, selected from the level below, as TACO 3 has no
    /// `__meta__`.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        children_table(&self.opening.levels, level, row)
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let path = self.relative_path(level, row)?;
        if level == 0 && !self.is_flat {
            return Err(Error::usage("a sample of TACO 3 has no bytes of its own")
                .hint("name one of its files"));
        }
        let stated = self
            .ranges
            .get(level)
            .and_then(|ranges| *ranges.get(row as usize)?);
        let parts = match &self.store {
            CozipStore::Index { parts, .. } => parts,
            CozipStore::Zip(archive) if archive.trusts_tables() => match stated {
                Some((offset, size)) if archive.file().contains(offset, size) => {
                    return Ok((archive.file().range(offset, size), size));
                }
                _ => return archive.member(&format!("DATA/{path}")),
            },
            store => return store.member(&format!("DATA/{path}")),
        };
        let sources = self.sources.get(level);
        let source = sources.and_then(|rows| rows.get(row as usize)).cloned();
        let source = source.filter(|source| !source.is_empty());
        let source =
            source.ok_or_else(|| Error::format("the sample names no archive").at_place(path))?;
        let (offset, size) = stated.ok_or_else(|| {
            Error::format("the sample has no position in its archive").at_place(path)
        })?;
        let archive = parts.path(&source)?;
        if let Some(target) = parts.link_target_outside(&source) {
            return Err(Outside::LeadsOut(target).into_error("open the archive", &archive));
        }
        let file = LocalFile::open(&archive)?;
        if !file.contains(offset, size) {
            let error = Error::format("the sample runs past the end of its archive")
                .at_place(format!("{source}, DATA/{path}"));
            return Err(error.hint(
                "the archive is not the one that the index was made for: write the index again",
            ));
        }
        Ok((file.range(offset, size), size))
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Taco3(self)
    }
}
