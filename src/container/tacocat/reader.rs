//! Opening a TACOCAT of either form. The index alone lists samples and answers queries; parts are opened for bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::TacocatIndex;
use crate::container::part_files::PartFiles;
use crate::container::{ContainerInfo, ContainerReader, Format, LevelSet, LocalFile, Physical, ZipReader, parse_collection};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Finding, Location, MAX_LEVELS, Rule, SampleKind};
use crate::table::{LevelTable, TableHead};

/// An opened TACOCAT.
pub struct TacocatReader {
    info: ContainerInfo,
    collection: Collection,
    levels: LevelSet,
    notes: Vec<Finding>,
    parts: PartFiles,
}

impl TacocatReader {
    /// Opens a `.tacocat` folder. Its parts lie beside it, or in `base`.
    pub fn open_folder(path: &Path, base: Option<&Path>) -> Result<Self> {
        let mut heads = Vec::new();
        for level in 0..=MAX_LEVELS {
            let table = path.join(format!("level{level}.parquet"));
            if !table.exists() {
                break;
            }
            let file = LocalFile::open(&table)?;
            let head = file.parquet(0, file.size_bytes()).and_then(TableHead::read);
            heads.push(head.map_err(|error| unreadable(level, error).at_path(path))?);
        }
        if heads.is_empty() {
            return Err(Error::format("the folder has no level0.parquet").at_path(path));
        }
        let file = path.join("COLLECTION.json");
        let collection = std::fs::read(&file).io_at("read COLLECTION.json", &file).and_then(|bytes| parse_collection(&bytes));
        let info = ContainerInfo { format: Format::Tacocat, path: path.to_owned(), size_bytes: None };
        Self::of_parts(info, heads, collection, base)
    }

    /// Opens a `__TACOCAT__` file. Its parts lie beside it, or in `base`.
    pub fn open_file(path: &Path, base: Option<&Path>) -> Result<Self> {
        let file = LocalFile::open(path)?;
        let index = TacocatIndex::read(&file)?;
        let mut heads = Vec::new();
        for (level, entry) in index.levels.iter().enumerate() {
            let head = file.parquet(entry.offset, entry.size).and_then(TableHead::read);
            heads.push(head.map_err(|error| unreadable(level, error).at_path(path))?);
        }
        let stored = index.collection;
        let collection = file.read(stored.offset, stored.size).and_then(|bytes| parse_collection(&bytes));
        let info = ContainerInfo { format: Format::TacocatFile, path: path.to_owned(), size_bytes: Some(file.size_bytes()) };
        Self::of_parts(info, heads, collection, base)
    }

    fn of_parts(info: ContainerInfo, heads: Vec<TableHead>, read: Result<Collection>, base: Option<&Path>) -> Result<Self> {
        let mut notes = Vec::new();
        let collection = read.unwrap_or_else(|error| {
            notes.push(Finding::new(Rule::CollectionRead, Location::Collection(String::new()), error.sentence()));
            Collection::default()
        });
        let folder = base.map_or_else(|| folder_beside(&info.path), |base| Ok(base.to_owned()))?;
        Ok(Self { info, collection, levels: LevelSet::of_parts(heads), notes, parts: PartFiles::new(folder) })
    }

    /// The folder where the parts are looked for.
    pub fn parts_folder(&self) -> &Path {
        self.parts.folder()
    }

    /// The names of the parts, in the order in which the levels first name them.
    pub fn part_names(&self, ctx: &JobContext) -> Result<Vec<Arc<str>>> {
        Ok(self.levels.sources(0, ctx)?.names.clone())
    }

    /// Where the part called `name` lies, whether or not it is there.
    pub fn part_path(&self, name: &str) -> Result<PathBuf> {
        self.parts.path(name)
    }

    /// The part called `name`, opened.
    pub fn part(&self, name: &str) -> Result<Arc<ZipReader>> {
        self.parts.get(name)
    }

    /// The part that holds the sample in `row` of `level`, and the sample's name in it.
    pub fn member(&self, level: usize, row: u32) -> Result<(Arc<str>, String)> {
        let ctx = JobContext::default();
        let tree = self.levels.skeleton(&ctx)?;
        let known = tree.levels.get(level).is_some_and(|table| (row as usize) < table.len());
        if !known {
            return Err(Error::usage(format!("level{level} has no row {row}")));
        }
        let source = self.levels.sources(level, &ctx)?.of(row);
        let source = source.ok_or_else(|| Error::format("the sample names no part").at(tree.path(level, row)))?;
        let path = tree.path(level, row);
        if path.0.len() != level + 1 {
            return Err(Error::format("the sample has no parent in its part").at(path).hint("validate the dataset"));
        }
        let folder = tree.levels[level].kind(row) == SampleKind::Folder;
        Ok((source, crate::container::zip::member_of(&path, folder)))
    }

    /// The open part, and offset and size of the sample's bytes in it.
    fn range(&self, level: usize, row: u32) -> Result<(Arc<ZipReader>, u64, u64)> {
        let (source, name) = self.member(level, row)?;
        let part = self.parts.get(&source)?;
        let stated = self.levels.positions(level, &JobContext::default())?.range(row);
        let (offset, size) = part.range_of(&name, stated)?;
        Ok((part, offset, size))
    }
}

/// The folder that holds the index.
fn folder_beside(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path).io_at("find the folder of the index", path)?;
    Ok(path.parent().map_or(path.clone(), Path::to_owned))
}

fn unreadable(level: usize, error: Error) -> Error {
    Error::format(format!("level{level}.parquet can't be read")).because(error).of_level(level)
}

impl ContainerReader for TacocatReader {
    fn info(&self) -> &ContainerInfo {
        &self.info
    }

    fn collection(&self) -> &Collection {
        &self.collection
    }

    fn levels(&self) -> &LevelSet {
        &self.levels
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (part, offset, size) = self.range(level, row)?;
        TableHead::read(part.file().parquet(offset, size)?)?.decode(&JobContext::default())
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let (part, offset, size) = self.range(level, row)?;
        Ok((AssetPath::Range { container: Arc::from(part.file().path()), offset, size }, size))
    }

    fn notes(&self) -> &[Finding] {
        &self.notes
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Tacocat(self)
    }
}
