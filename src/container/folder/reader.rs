//! Opens a FOLDER. Paths are built from the ids of the tree, never from a column, so they cannot lead outside DATA/.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::container::table_files::{TableFiles, read_tables};
use crate::container::{ByteSource, ContainerInfo, ContainerReader, Format, LevelSet, Opening, Physical, RowSource, asset_size};
use crate::error::{Error, Result};
use crate::files::Root;
use crate::jobs::JobContext;
use crate::model::{AssetPath, META_NAME, Modified, is_remote, place_below, safe_relative};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile, forget_below};
use crate::table::{LevelTable, TableHead};

/// An opened FOLDER.
pub struct FolderReader {
    opening: Opening,
    root: Root,
}

impl FolderReader {
    /// Opens the folder with its level tables up to the first missing one, as the Python reader does.
    ///
    /// # Errors
    /// When level 0 is missing, or a level table cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        // Remote samples may have changed since they were cached; the tables are revalidated when opened.
        forget_below(&place_below(path, "DATA"));
        let TableFiles { heads, collection, version } = read_tables(path, "METADATA/")?;
        let info = ContainerInfo { format: Format::Folder, path: path.to_owned(), size_bytes: None };
        let opening = Opening::new(info, LevelSet::new(heads), collection, Vec::new()).of_version(version);
        Ok(Self { opening, root: Root::new(path) })
    }

    /// Path relative to the dataset's folder: of a FILE its data, of a FOLDER its `__meta__`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a row that does not exist, [`Kind::Format`](crate::error::Kind::Format) for
    /// ids that lead outside the dataset; when level tables can't be read.
    pub(super) fn name_of(&self, level: usize, row: u32) -> Result<String> {
        let tree = self.opening.levels.skeleton(&JobContext::default())?;
        let table = tree.levels.get(level).filter(|table| (row as usize) < table.len());
        let table = table.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
        let ids = tree.path(level, row);
        let path = ids.to_archive();
        if !safe_relative(&path) || ids.0.len() != level + 1 {
            return Err(Error::format("the ids of this sample lead outside the dataset").at(path.escape_default()));
        }
        Ok(if table.folder[row as usize] { format!("DATA/{path}/{META_NAME}") } else { format!("DATA/{path}") })
    }

    /// The root folder, which resolves members and refuses paths outside it.
    pub fn root(&self) -> &Root {
        &self.root
    }

    fn at(&self, name: &str) -> PathBuf {
        let folder = &self.opening.info.path;
        if is_remote(folder) { place_below(folder, name) } else { self.root.path(name) }
    }

    /// Path and file attributes of a local sample. Refuses a symbolic link that leads out of the dataset, so that no file from
    /// elsewhere is copied into an output.
    fn local(&self, level: usize, row: u32) -> Result<(PathBuf, Metadata)> {
        let name = self.name_of(level, row)?;
        let file = self.at(&name);
        match self.root.file(&name) {
            Ok(meta) => Ok((file, meta)),
            Err(why) => Err(why.into_error("read the sample", &file)),
        }
    }
}

impl ContainerReader for FolderReader {
    fn opening(&self) -> &Opening {
        &self.opening
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (asset, _) = self.asset(level, row)?;
        let file = ByteSource::open_for(&asset)?;
        TableHead::read(file.parquet(0, file.size_bytes())?)?.decode(&JobContext::default())
    }

    fn prefetch_assets(&self, level: usize, rows: &[u32]) -> Result<()> {
        if !is_remote(&self.opening.info.path) {
            return Ok(());
        }
        // Failures are ignored here: the read of the sample reports them with its path.
        let files: Vec<PathBuf> = rows.iter().filter_map(|&row| Some(self.at(&self.name_of(level, row).ok()?))).collect();
        RemoteFile::open_all(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>(), FIRST_OF_SAMPLE).map(drop)
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        if is_remote(&self.opening.info.path) {
            let asset = AssetPath::file(self.at(&self.name_of(level, row)?));
            let size = asset_size(&asset)?;
            return Ok((asset, size));
        }
        let (file, meta) = self.local(level, row)?;
        Ok((AssetPath::file(file), meta.len()))
    }

    fn source(&self, level: usize, row: u32) -> Result<RowSource> {
        if is_remote(&self.opening.info.path) {
            let (path, size) = self.asset(level, row)?;
            return Ok(RowSource::asset(path, size));
        }
        let (file, meta) = self.local(level, row)?;
        Ok(RowSource::Asset { path: AssetPath::file(file), size: meta.len(), modified: Modified::of_file(&meta) })
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Folder(self)
    }
}
