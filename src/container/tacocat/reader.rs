//! Opens a TACOCAT of either form. Listing and queries use the index only; parts are opened for
//! sample data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::index::TacocatIndex;
use crate::container::offset_check::tiling_parts;
use crate::container::part_files::PartFiles;
use crate::container::table_files::{TableFiles, read_tables, unreadable};
use crate::container::zip::HEADER_END;
use crate::container::{
    ByteSource, ContainerInfo, ContainerReader, Format, HeaderEntry, LevelSet, OpeningFacts,
    Physical, ZipReader, read_collection,
};
use crate::error::{Error, IoContext, Result, separate_transient_error};
use crate::files::Outside;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, SampleKind, is_remote, place_above};
use crate::table::{LevelTable, TableHead};

/// An opened TACOCAT.
pub struct TacocatReader {
    opening: OpeningFacts,
    parts: PartFiles,
    /// For each part, whether the ranges in the index tile its data; computed for remote parts
    /// only.
    tiling: OnceLock<Vec<bool>>,
}

impl TacocatReader {
    /// Opens a `.tacocat` folder. Its parts are beside it, or in `base`.
    ///
    /// # Errors
    /// When the level tables are missing or unreadable.
    pub fn open_folder(path: &Path, base: Option<&Path>) -> Result<Self> {
        let TableFiles {
            heads,
            collection,
            version,
        } = read_tables(path, "")?;
        let info = ContainerInfo {
            format: Format::Tacocat,
            path: path.to_owned(),
            size_bytes: None,
        };
        let index = Self::of_parts(info, heads, collection, base)?;
        Ok(Self {
            opening: index.opening.of_version(version),
            ..index
        })
    }

    /// Opens a `__TACOCAT__` file. Its parts are beside it, or in `base`.
    ///
    /// # Errors
    /// When the index or a level table is invalid.
    pub fn open_file(path: &Path, base: Option<&Path>) -> Result<Self> {
        let file = ByteSource::open(path)?;
        let index = TacocatIndex::read(&file)?;
        let tables: Vec<HeaderEntry> = index
            .levels
            .iter()
            .copied()
            .chain([index.collection])
            .collect();
        file.prefetch_tables(&tables)?;
        let mut heads = Vec::new();
        for (level, entry) in index.levels.iter().enumerate() {
            let head = file
                .parquet(entry.offset, entry.size)
                .and_then(TableHead::read);
            heads.push(head.map_err(|error| unreadable(level, error).at_path(path))?);
        }
        let stored = index.collection;
        let collection =
            separate_transient_error(read_collection(&file, stored.offset, stored.size))?;
        let info = ContainerInfo {
            format: Format::TacocatFile,
            path: path.to_owned(),
            size_bytes: Some(file.size_bytes()),
        };
        Self::of_parts(info, heads, collection, base)
    }

    fn of_parts(
        info: ContainerInfo,
        heads: Vec<TableHead>,
        collection: Result<Collection>,
        base: Option<&Path>,
    ) -> Result<Self> {
        let folder = base.map_or_else(|| folder_beside(&info.path), |base| Ok(base.to_owned()))?;
        let opening = OpeningFacts::new(info, LevelSet::of_parts(heads), collection, Vec::new());
        Ok(Self {
            opening,
            parts: PartFiles::new(folder),
            tiling: OnceLock::new(),
        })
    }

    pub fn parts_folder(&self) -> &Path {
        self.parts.folder()
    }

    /// Names of the parts, in order of first appearance in the levels.
    ///
    /// # Errors
    /// When a level table cannot be read.
    pub fn part_names(&self, ctx: &JobContext) -> Result<Vec<Arc<str>>> {
        Ok(self.opening.levels.row_parts(0, ctx)?.names.clone())
    }

    /// Path of the part `name`, whether or not it exists.
    ///
    /// # Errors
    /// When the name or a symbolic link leads out of the folder of the parts.
    pub fn part_path(&self, name: &str) -> Result<PathBuf> {
        let path = self.parts.path(name)?;
        match self.parts.link_target_outside(name) {
            Some(target) => Err(Outside::LeadsOut(target).into_error("open the part", &path)),
            None => Ok(path),
        }
    }

    /// Target of a part that is a symbolic link to outside the folder of the parts.
    pub fn link_target_outside(&self, name: &str) -> Option<PathBuf> {
        self.parts.link_target_outside(name)
    }

    /// The reader of the part `name`, opened on first use.
    ///
    /// # Errors
    /// When it does not exist or cannot be opened.
    pub fn part(&self, name: &str) -> Result<Arc<ZipReader>> {
        self.parts.get(name)
    }

    /// The part of the sample at `row` of `level`, and the sample's member name in it.
    ///
    /// # Errors
    /// When there is no such row, or it has no part or parent.
    pub fn member(&self, level: usize, row: u32) -> Result<(Arc<str>, String)> {
        let ctx = JobContext::default();
        let tree = self.opening.levels.skeleton(&ctx)?;
        let has_row = tree
            .levels
            .get(level)
            .is_some_and(|table| (row as usize) < table.len());
        if !has_row {
            return Err(Error::usage(format!("level{level} has no row {row}")));
        }
        let source = self.opening.levels.row_parts(level, &ctx)?.part_name(row);
        let source = source.ok_or_else(|| {
            Error::format("the sample names no part").at_place(tree.path(level, row))
        })?;
        let path = tree.path(level, row);
        if path.0.len() != level + 1 {
            return Err(Error::format("the sample has no parent in its part")
                .at_place(path)
                .hint("validate the dataset"));
        }
        let is_folder = tree.levels[level].kind(row) == SampleKind::Folder;
        Ok((
            source,
            crate::container::zip::member_of(&path.to_archive(), is_folder),
        ))
    }

    /// Byte range of the sample in its part, and its size.
    fn locate_data(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let (source, name) = self.member(level, row)?;
        let stated = self
            .opening
            .levels
            .positions(level, &JobContext::default())?
            .range(row);
        let path = self.parts.path(&source)?;
        // A remote part is opened only when the index's ranges cannot be right.
        if let (true, Some((offset, size))) = (is_remote(&path), stated)
            && self.do_part_ranges_tile(&source, &JobContext::default())?
        {
            let stamp = self.parts.version_of(&source);
            return Ok((
                AssetPath::Range {
                    container: path.into(),
                    offset,
                    size,
                    stamp,
                },
                size,
            ));
        }
        let part = self.parts.get(&source)?;
        let (offset, size) = part.range_of(&name, stated)?;
        Ok((part.file().range(offset, size), size))
    }

    fn find_tiling_parts(&self, ctx: &JobContext) -> Result<&[bool]> {
        if let Some(tiling) = self.tiling.get() {
            return Ok(tiling);
        }
        // Parts are numbered by level 0; deeper levels may have another order.
        let names = &self.opening.levels.row_parts(0, ctx)?.names;
        let numbers: HashMap<&str, u32> = names
            .iter()
            .enumerate()
            .map(|(number, name)| (&**name, number as u32))
            .collect();
        let mut by_level = Vec::new();
        for level in 0..self.opening.levels.count() {
            by_level.push(self.opening.levels.row_parts(level, ctx)?);
        }
        let part_of_row =
            |level: usize, row: u32| numbers.get(&*by_level.get(level)?.part_name(row)?).copied();
        let found = tiling_parts(
            &self.opening.levels,
            names.len(),
            HEADER_END,
            &part_of_row,
            ctx,
        )?;
        Ok(self.tiling.get_or_init(|| found))
    }

    /// True when the index's ranges for this part tile its data, which proves them right.
    fn do_part_ranges_tile(&self, part: &str, ctx: &JobContext) -> Result<bool> {
        let number = self
            .opening
            .levels
            .row_parts(0, ctx)?
            .names
            .iter()
            .position(|name| &**name == part);
        let Some(number) = number else {
            return Ok(false);
        };
        Ok(separate_transient_error(self.find_tiling_parts(ctx))?
            .is_ok_and(|tiling| tiling.get(number) == Some(&true)))
    }

    /// True when the ranges of every part tile.
    pub fn all_ranges_tile(&self, ctx: &JobContext) -> Result<bool> {
        Ok(self.find_tiling_parts(ctx)?.iter().all(|tiles| *tiles))
    }
}

/// The folder that contains the index.
fn folder_beside(path: &Path) -> Result<PathBuf> {
    if is_remote(path) {
        return Ok(place_above(path).unwrap_or_else(|| path.to_owned()));
    }
    let path = std::path::absolute(path).io_at("find the folder of the index", path)?;
    Ok(path.parent().map_or(path.clone(), Path::to_owned))
}

impl ContainerReader for TacocatReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (asset, size) = self.locate_data(level, row)?;
        let AssetPath::Range { offset, .. } = asset else {
            return Err(Error::internal("an archive gave no range"));
        };
        TableHead::read(ByteSource::open_for(&asset)?.parquet(offset, size)?)?
            .decode(&JobContext::default())
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        self.locate_data(level, row)
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Tacocat(self)
    }
}
