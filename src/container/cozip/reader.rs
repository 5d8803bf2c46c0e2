//! Opens a TACO 3 dataset: `METADATA/sample.parquet` is level 0, `children.parquet` level 1, `children__imagery.parquet` the
//! files in the folder `imagery` of each sample, and so on. The central directory lists all members, so the index in `__cozip__`
//! is not used. Does not validate.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use arrow::array::{Array, Int64Array, StringArray};

use crate::container::synthetic_levels::{MadeLevel, Ranges, level_tables};
use crate::container::tortilla::join;
use crate::container::{
    ContainerInfo, ContainerReader, DatasetVersion, Directory, Format, LevelSet, LocalFile, LocalHeader, Opening, Physical,
    asset_size, read_collection, read_collection_file,
};
use crate::error::{Cause, Error, IoContext, Result, settled};
use crate::files::Root;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, MAX_LEVELS, is_remote, place_below, safe_relative};
use crate::remote::{FIRST_OF_DATASET, RemoteFile, may_be_folder, means_absent};
use crate::table::{DecodeBudget, LevelTable, TableHead};

/// Table names of the sample level and the level below.
const SAMPLE: &str = "sample";
const CHILDREN: &str = "children";
/// Maximum number of tables of a remote folder, which takes a request for each.
const TABLES_MAX: usize = 1000;

/// An opened TACO 3 dataset.
pub struct Taco3Reader {
    opening: Opening,
    store: Store,
    /// Paths below `DATA/`, by level and row.
    paths: Vec<Vec<String>>,
    /// The tables in `METADATA/` that make up each level, with their numbers of rows.
    tables: Vec<Vec<(String, usize)>>,
}

enum Store {
    Zip {
        file: LocalFile,
        directory: Directory,
    },
    Folder(Root),
    /// A remote folder, which cannot be listed: names of the tables it may contain.
    Remote {
        root: PathBuf,
        tables: Vec<String>,
    },
}

/// One table in `METADATA/`.
struct Part {
    /// Name, such as `children/imagery`.
    name: String,
    table: LevelTable,
    ids: Vec<i64>,
    parents: Vec<i64>,
    paths: Vec<String>,
}

impl Taco3Reader {
    /// Opens an archive or a folder.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format), with the table, when a metadata table is missing or unreadable.
    pub fn open(path: &Path, ctx: &JobContext) -> Result<Self> {
        let store = if path.is_dir() {
            Store::Folder(Root::new(path))
        } else if is_remote(path) && !is_archive(path)? {
            Store::Remote { root: path.to_owned(), tables: tables_of_remote_folder(path)? }
        } else {
            let file = LocalFile::open(path)?;
            let directory = Directory::read(&file)?;
            Store::Zip { file, directory }
        };
        let members = store.tables()?;
        let version = match &store {
            Store::Folder(root) => {
                let tables: Vec<PathBuf> = members.iter().map(|(_, member)| root.path(member)).collect();
                let tables = DatasetVersion::of_files(tables.iter().map(PathBuf::as_path))?;
                DatasetVersion::of_all([DatasetVersion::of_folder(path, "METADATA/"), tables])
            }
            Store::Zip { .. } | Store::Remote { .. } => DatasetVersion::default(),
        };
        let collection = settled(store.collection())?;
        let budget = DecodeBudget::default();
        let mut by_depth: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
        for (name, member) in members {
            ctx.check()?;
            let part = read_part(&store, name, &member, &budget, ctx).map_err(|error| {
                if error.is_cancelled() { error } else { Error::format(format!("{member} can't be read")).because(error) }
            })?;
            by_depth.entry(depth_of(&part.name)).or_default().push(part);
        }
        let mut made: Vec<MadeLevel> = Vec::new();
        let mut tables: Vec<Vec<(String, usize)>> = Vec::new();
        // Maps (table, row number in it) to the row in the level.
        let mut above: HashMap<(String, i64), u32> = HashMap::new();
        for depth in 0..=MAX_LEVELS {
            let Some(parts) = by_depth.remove(&depth) else { break };
            ctx.check()?;
            let (level, counts, rows) = join_level(depth, parts, &above, &budget)?;
            made.push(level);
            tables.push(counts);
            above = rows;
        }
        if made.is_empty() {
            return Err(Error::format("the dataset has no METADATA/sample.parquet").at_path(path));
        }
        mark_folders(&mut made);
        let paths = made.iter().map(|level| level.paths.clone().unwrap_or_default()).collect();
        let levels = LevelSet::of_tables(level_tables(made)?);
        let size_bytes = match &store {
            Store::Zip { file, .. } => Some(file.size_bytes()),
            Store::Folder(_) | Store::Remote { .. } => None,
        };
        let info = ContainerInfo { format: Format::Taco3, path: path.to_owned(), size_bytes };
        version.expect_unchanged()?;
        Ok(Self { opening: Opening::new(info, levels, collection, Vec::new()).of_version(version), store, paths, tables })
    }

    /// Path below `DATA/` of the sample at `row` of `level`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such row.
    pub fn relative_path(&self, level: usize, row: u32) -> Result<&str> {
        let path = self.paths.get(level).and_then(|paths| paths.get(row as usize));
        path.map(String::as_str).ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))
    }

    /// Names of the tables that make up a level, with their numbers of rows.
    pub fn tables(&self, level: usize) -> &[(String, usize)] {
        self.tables.get(level).map_or(&[], Vec::as_slice)
    }

    /// Paths below `DATA/` of all existing files; `None` for a remote folder.
    ///
    /// # Errors
    /// When the folder or the central directory cannot be read.
    pub fn data_files(&self) -> Result<Option<Vec<String>>> {
        match &self.store {
            Store::Zip { directory, .. } => {
                let names = directory.entries.iter().filter_map(|entry| entry.name.strip_prefix("DATA/"));
                Ok(Some(names.filter(|name| !name.ends_with('/')).map(str::to_owned).collect()))
            }
            Store::Folder(root) => {
                let mut found = Vec::new();
                walk(&root.folder().join("DATA"), "", 0, &mut found)?;
                Ok(Some(found))
            }
            Store::Remote { .. } => Ok(None),
        }
    }

    /// The archive with its central directory; `None` for a folder.
    pub fn archive(&self) -> Option<(&LocalFile, &Directory)> {
        match &self.store {
            Store::Zip { file, directory } => Some((file, directory)),
            Store::Folder(_) | Store::Remote { .. } => None,
        }
    }

    /// The root folder that every file must lie in; `None` for an archive and a remote folder. `..` and absolute paths in the
    /// tables are refused when the file is read.
    pub fn root(&self) -> Option<&Root> {
        match &self.store {
            Store::Folder(root) => Some(root),
            Store::Zip { .. } | Store::Remote { .. } => None,
        }
    }

    /// True for the folder form.
    pub fn is_folder(&self) -> bool {
        matches!(self.store, Store::Folder(_) | Store::Remote { .. })
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

/// The existing tables among those that COLLECTION.json names.
fn tables_of_remote_folder(path: &Path) -> Result<Vec<String>> {
    let collection = read_collection_file(&place_below(path, "COLLECTION.json"))?;
    let mut names = BTreeSet::from([SAMPLE.to_owned()]);
    let declared = collection.get("taco:metadata").and_then(|levels| levels.as_object());
    names.extend(declared.into_iter().flatten().map(|(name, _)| name.clone()));
    let structure = collection.get("taco:structure").and_then(|files| files.as_array());
    for file in structure.into_iter().flatten().filter_map(|file| file.as_str()) {
        let folders = file.match_indices('/').map(|(end, _)| &file[..end]);
        names.insert(CHILDREN.to_owned());
        // There are no tables below the maximum depth.
        names.extend(folders.take(MAX_LEVELS + 1).map(|folder| format!("{CHILDREN}/{folder}")));
        if names.len() > TABLES_MAX {
            let error = Error::format(format!("the collection speaks of more than {TABLES_MAX} tables"));
            return Err(error.at_path(path));
        }
    }
    let members: Vec<String> = names.iter().map(|name| format!("METADATA/{}.parquet", name.replace('/', "__"))).collect();
    let places: Vec<PathBuf> = members.iter().map(|member| place_below(path, member)).collect();
    let opened = RemoteFile::open_all(&places.iter().map(PathBuf::as_path).collect::<Vec<_>>(), FIRST_OF_DATASET)?;
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

fn walk(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
    if !folder.is_dir() || depth > MAX_LEVELS {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // Symbolic links are not followed, as they may form a loop.
        if entry.file_type().io_at("read the folder", folder)?.is_dir() {
            walk(&entry.path(), &format!("{name}/"), depth + 1, found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}

/// Level of a table: 0 for `sample`, 1 for `children`, plus one per path component below.
fn depth_of(name: &str) -> usize {
    if name == SAMPLE { 0 } else { 1 + name.matches('/').count() }
}

/// The table of the parents of the table `name`.
fn table_above(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((above, _)) => above,
        None => SAMPLE,
    }
}

impl Store {
    fn member(&self, name: &str) -> Result<(AssetPath, u64)> {
        match self {
            Store::Folder(root) => {
                if !safe_relative(name) {
                    return Err(Error::format("this path leads outside the dataset").at(name.escape_default()));
                }
                let path = root.path(name);
                let meta = root.file(name).map_err(|why| why.into_error("read the sample", &path))?;
                Ok((AssetPath::file(path), meta.len()))
            }
            Store::Remote { root, .. } => {
                if !safe_relative(name) {
                    return Err(Error::format("this path leads outside the dataset").at(name.escape_default()));
                }
                let asset = AssetPath::file(place_below(root, name));
                let size = asset_size(&asset)?;
                Ok((asset, size))
            }
            Store::Zip { file, directory } => {
                let entry = directory
                    .find(name)
                    .ok_or_else(|| Error::format("the archive has no such member").caused_by(Cause::MissingMember).at(name))?;
                if entry.method != 0 || entry.flags & 1 != 0 {
                    let error = Error::format("the member is compressed or encrypted; TACO archives only store");
                    return Err(error.caused_by(Cause::CompressedMember).at(name));
                }
                let header = LocalHeader::read(file, entry.local)?;
                if !file.contains(header.data, entry.size) {
                    return Err(Error::format("the member runs past the end of the file").at(name));
                }
                Ok((file.range(header.data, entry.size), entry.size))
            }
        }
    }

    fn collection(&self) -> Result<Collection> {
        let (asset, size) = self.member("COLLECTION.json")?;
        let offset = if let AssetPath::Range { offset, .. } = asset { offset } else { 0 };
        read_collection(&LocalFile::open_for(&asset)?, offset, size)
    }

    fn table(&self, name: &str, budget: &DecodeBudget, ctx: &JobContext) -> Result<LevelTable> {
        let (asset, size) = self.member(name)?;
        let slice = match (&asset, self) {
            (AssetPath::Range { offset, .. }, Store::Zip { file, .. }) => file.parquet(*offset, size)?,
            (AssetPath::File(path), _) => LocalFile::open(path)?.parquet(0, size)?,
            _ => return Err(Error::internal("a member is neither a file nor a range")),
        };
        let head = TableHead::read(slice)?;
        budget.add_stored(head.stored_bytes());
        head.decode_within(None, budget, ctx)
    }

    /// The level tables, as (name such as `children/imagery`, path of the member).
    fn tables(&self) -> Result<Vec<(String, String)>> {
        let mut files: Vec<String> = match self {
            Store::Zip { directory, .. } => directory.entries.iter().map(|entry| entry.name.to_string()).collect(),
            Store::Folder(root) => {
                let folder = root.folder().join("METADATA");
                let entries = std::fs::read_dir(&folder).io_at("read the folder", &folder)?;
                entries.flatten().map(|entry| format!("METADATA/{}", entry.file_name().to_string_lossy())).collect()
            }
            Store::Remote { tables, .. } => tables.clone(),
        };
        files.sort();
        let level = |member: String| {
            let stem = member.strip_prefix("METADATA/")?.strip_suffix(".parquet")?.replace("__", "/");
            let known = stem == SAMPLE || stem == CHILDREN || stem.starts_with("children/");
            known.then_some((stem, member))
        };
        Ok(files.into_iter().filter_map(level).collect())
    }
}

fn read_part(store: &Store, name: String, member: &str, budget: &DecodeBudget, ctx: &JobContext) -> Result<Part> {
    let table = store.table(member, budget, ctx)?;
    let rows = table.rows();
    let numbers = |column: &str| -> Result<Option<Vec<i64>>> {
        let column: Option<Int64Array> = table.integers(column)?;
        Ok(column.map(|column| (0..rows).map(|row| if column.is_valid(row) { column.value(row) } else { -1 }).collect()))
    };
    let ids = numbers("internal:current_id")?.unwrap_or_else(|| (0..rows as i64).collect());
    let parents = numbers("internal:parent_id")?;
    let parents = match parents {
        Some(parents) => parents,
        None if name == SAMPLE => ids.clone(),
        None => return Err(Error::format("the table has no column internal:parent_id")),
    };
    let paths: Option<StringArray> = table.strings("internal:relative_path")?;
    let paths = paths.ok_or_else(|| Error::format("the table has no column internal:relative_path"))?;
    let paths = (0..rows).map(|row| if paths.is_valid(row) { paths.value(row).to_owned() } else { String::new() }).collect();
    Ok(Part { name, table, ids, parents, paths })
}

/// A level, its tables with their numbers of rows, and the rows that tables below may refer to as parents.
type Joined = (MadeLevel, Vec<(String, usize)>, HashMap<(String, i64), u32>);

/// Combines the tables of one depth.
fn join_level(depth: usize, parts: Vec<Part>, above: &HashMap<(String, i64), u32>, budget: &DecodeBudget) -> Result<Joined> {
    // Rows of one parent must be contiguous, so the tables of one depth are merged by parent.
    let tables: Vec<LevelTable> = parts.iter().map(|part| part.table.clone()).collect();
    let (batch, _) = join(&tables, budget)?;
    let mut rows: Vec<(u32, usize, usize)> = Vec::with_capacity(batch.num_rows());
    for (number, part) in parts.iter().enumerate() {
        for row in 0..part.ids.len() {
            let parent = match depth {
                0 => 0,
                _ => above.get(&(table_above(&part.name).to_owned(), part.parents[row])).copied().unwrap_or(u32::MAX),
            };
            rows.push((parent, number, row));
        }
    }
    let starts: Vec<usize> = parts.iter().scan(0, |next, part| Some(std::mem::replace(next, *next + part.ids.len()))).collect();
    if parts.len() > 1 {
        rows.sort();
    }
    let order: Vec<u32> = rows.iter().map(|&(_, part, row)| (starts[part] + row) as u32).collect();
    let own = if order.iter().enumerate().all(|(at, &row)| at as u32 == row) {
        batch
    } else {
        arrow::compute::take_record_batch(&batch, &arrow::array::UInt32Array::from(order))
            .map_err(|error| Error::internal("rows can't be put in tree order").because(error))?
    };
    let named = LevelTable::new(own.schema(), vec![own.clone()]);
    let own_ids = named.strings("id")?.filter(|_| depth == 0);
    let mut level = MadeLevel {
        ids: Vec::with_capacity(rows.len()),
        folder: vec![depth == 0; rows.len()],
        parents: Vec::with_capacity(rows.len()),
        ranges: ranges_of(&named)?,
        sources: None,
        paths: Some(Vec::with_capacity(rows.len())),
        own,
    };
    let mut places = HashMap::with_capacity(rows.len());
    for (at, &(parent, number, row)) in rows.iter().enumerate() {
        let part = &parts[number];
        let path = &part.paths[row];
        let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let id = own_ids.as_ref().filter(|ids| ids.is_valid(at)).map_or(last, |ids| ids.value(at));
        level.ids.push(id.to_owned());
        level.parents.push(if depth == 0 { at as u32 } else { parent });
        if let Some(paths) = &mut level.paths {
            paths.push(path.trim_end_matches('/').to_owned());
        }
        places.insert((part.name.clone(), part.ids[row]), at as u32);
    }
    let counts = parts.iter().map(|part| (part.name.clone(), part.ids.len())).collect();
    Ok((level, counts, places))
}

/// Byte ranges from the table; `None` for a folder.
fn ranges_of(table: &LevelTable) -> Result<Option<Ranges>> {
    let (offsets, sizes) = (table.integers("internal:offset")?, table.integers("internal:size")?);
    let (Some(offsets), Some(sizes)) = (offsets, sizes) else { return Ok(None) };
    let number = |column: &Int64Array, row: usize| column.is_valid(row).then(|| u64::try_from(column.value(row)).ok()).flatten();
    Ok(Some((0..table.rows()).map(|row| number(&offsets, row).zip(number(&sizes, row))).collect()))
}

/// Marks every row with children, and every sample, as FOLDER.
fn mark_folders(levels: &mut [MadeLevel]) {
    for depth in 1..levels.len() {
        let (above, here) = levels.split_at_mut(depth);
        let (Some(above), Some(here)) = (above.last_mut(), here.first()) else { continue };
        for &parent in &here.parents {
            if let Some(folder) = above.folder.get_mut(parent as usize) {
                *folder = true;
            }
        }
    }
}

impl ContainerReader for Taco3Reader {
    fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The children of the FOLDER at `row`, selected from the level below, as TACO 3 has no `__meta__`.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let ctx = JobContext::default();
        let tree = self.opening.levels.skeleton(&ctx)?;
        let above = tree.levels.get(level).filter(|table| (row as usize) < table.len());
        let rows = above.map(|table| table.children(row).to_vec()).unwrap_or_default();
        if rows.is_empty() {
            return Err(Error::format("this sample has no children").at(tree.path(level, row)));
        }
        let batch = self.opening.levels.table(level + 1, &ctx)?.to_batch()?;
        let chosen = arrow::compute::take_record_batch(&batch, &arrow::array::UInt32Array::from(rows))
            .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
        Ok(LevelTable::new(chosen.schema(), vec![chosen]))
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let path = self.relative_path(level, row)?;
        if level == 0 {
            return Err(Error::usage("a sample of TACO 3 has no bytes of its own").hint("name one of its files"));
        }
        self.store.member(&format!("DATA/{path}"))
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Taco3(self)
    }
}
