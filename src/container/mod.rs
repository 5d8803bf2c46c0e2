//! On-disk formats: detection ([`detect`]), reading ([`ContainerReader`]), layout ([`BuildPlan`])
//! and writing. No other module writes a dataset. Readers do not validate: they return the data as
//! stored, with notes on problems they worked around.

mod assembly;
mod assembly_file;
mod atomic_write;
mod block_sharing;
mod change_errors;
mod collection_file;
mod consolidate;
mod cozip;
mod damage;
mod data_files;
mod data_size;
mod dataset_version;
mod destination;
mod detect;
mod detect_remote;
mod draft_levels;
mod early;
mod extent;
mod fixed_bytes;
mod folder;
mod format;
mod hub_datasets;
mod joined;
mod level_edit;
mod levels;
mod magic_bytes;
mod merge_collections;
mod offset_check;
mod open;
mod opened;
mod part_files;
mod part_writer;
mod parts;
mod plan;
mod provenance;
mod sample_bytes;
mod source;
mod stale_index;
mod subset;
mod synthetic_levels;
mod table_files;
mod tacocat;
mod tortilla;
mod versioned;
mod versions;
mod zip;
mod zips_in_folder;

pub use assembly::{Assembly, AssemblyLevel, RowSource};
pub use assembly_file::{decode_assembly, encode_assembly};
pub use atomic_write::{
    DatasetLock, DocumentFolder, ObjectFolder, ObjectSet, PartialFile, PartialFolder, Replacement,
    Scratch, Sent, Staging, aside_of, check_space, clear_interrupted, foreign_in,
    has_interrupted_edit, lock_dataset, refuse_existing, restore_aside, restore_interrupted,
    write_document,
};
pub use collection_file::{
    check_json, field_schema_of, find_description, parse_collection, read_collection,
    read_collection_file, read_json_document, write_collection,
};
pub use consolidate::{ConsolidateOptions, consolidate, list_zips};
pub use cozip::{
    CHECKED_TAIL, CozipArchive, INDEX_MAX, INDEX_MEMBER, INDEX_OFFSET, IndexedMember, RowsById,
    Taco3Reader, Taco3Table, check_value, parse_index, stated_check_value, table_above,
};
pub use damage::OnDamage;
pub use dataset_version::DatasetVersion;
pub use destination::{dataset_around, folder_beside, output_exists};
pub use detect::detect;
pub use draft_levels::draft_levels;
pub use early::EarlyReader;
pub use extent::{extent_of_samples, is_inside, middle_of, put_extent, update_extent};
pub use folder::{FolderEdit, FolderReader};
pub use format::{Detected, Format};
pub use hub_datasets::datasets_of_hub;
pub use joined::{JoinMode, JoinedColumnChange, JoinedPart, JoinedReader};
pub use level_edit::LevelEdit;
pub use levels::{BytePositions, LevelSet, RowParts, read_unsigned_cell};
pub use open::{OpenOptions, open, open_with};
pub use opened::OpeningFacts;
pub use part_writer::{outputs_of, write_indexes, write_part};
pub use parts::{PartOptions, PlannedPart, file_name_of, index_name, parse_size};
pub use plan::{BuildOptions, BuildPlan, Built};
pub use provenance::{packed_source, raster_source};
pub use sample_bytes::{CopySources, SourceCheck, copy_asset, stream_asset};
pub use source::{
    ByteSource, LocalFile, asset_size, is_same_file, read_asset, read_asset_start, stamp_at,
};
pub use stale_index::IndexRows;
pub use subset::tree_order;
pub use synthetic_levels::{children_table, name_in_file};
pub use tacocat::{TacocatIndex, TacocatReader};
pub use tortilla::{
    CHAIN_ROOT, HEADER_SIZE, NestedItem, PartSet, SampleChunk, TortillaChange, TortillaDraft,
    TortillaFile, TortillaHeader, TortillaItem, TortillaOptions, TortillaReader, Widened,
    change_tortilla, copy_changed, footer_bytes, is_part_of, join, nested_items, object_bytes,
    part_name, parts_called, patterns_in, stated_format, with_places, write_tortilla,
    write_tortilla_of,
};
pub use versions::expect_containers;
pub use zip::{
    FixedTail, HeaderEntry, RezippedDataset, TacoHeader, TailEdit, ZipReader, cut_unfinished,
    rezipped_dataset, unfinished_end,
};
pub use zips_in_folder::has_zip_ending;

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Finding, Modified, is_remote};
use crate::raster::RasterSource;
use crate::table::LevelTable;

/// Format, path and size of an opened dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInfo {
    /// The container's format.
    pub format: Format,
    /// Path or address of the container.
    pub path: PathBuf,
    /// Size of the file in bytes; `None` for folders.
    pub size_bytes: Option<u64>,
}

/// Number of remote files that are requested in parallel and kept open.
pub const AT_ONCE: usize = 32;

/// A readable dataset. All calls are blocking and may be made from several threads.
pub trait ContainerReader: Send + Sync {
    /// The state common to all containers.
    fn opening(&self) -> &OpeningFacts;
    /// Format, path and size.
    fn info(&self) -> &ContainerInfo {
        &self.opening().info
    }
    /// COLLECTION.json; empty when it could not be read, as [`ContainerReader::notes`] then
    /// reports.
    fn collection(&self) -> &Collection {
        &self.opening().collection
    }
    /// COLLECTION.json, for outputs that have its fields.
    ///
    /// # Errors
    /// [`Kind::Format`] when it could not be read.
    fn expect_collection(&self) -> Result<&Collection> {
        match self.opening().unread_collection() {
            Some(note) => Err(Error::format(note.message.clone())
                .at_path(&self.info().path)
                .hint(
                    "a copy would lose its fields: put a readable one in its place, or let \
                    `repair` write a copy without them",
                )),
            None => Ok(self.collection()),
        }
    }
    /// The level tables.
    fn levels(&self) -> &LevelSet {
        &self.opening().levels
    }
    /// The `__meta__` of the FOLDER at `row` of `level` (TACO 2.0, section 6.2).
    ///
    /// # Errors
    /// When the row is no FOLDER, or its `__meta__` cannot be read.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable>;
    /// Prefetches the `__meta__` of these FOLDERs for [`ContainerReader::local_meta`], where each
    /// would take a request of its own.
    ///
    /// # Errors
    /// When a request fails or is cancelled.
    fn prefetch_meta(&self, _level: usize, _rows: &[u32]) -> Result<()> {
        Ok(())
    }
    /// Prefetches what [`ContainerReader::asset`] and [`ContainerReader::local_meta`] need for up
    /// to [`AT_ONCE`] rows of a level, where each row is a remote file.
    ///
    /// # Errors
    /// When a request fails or is cancelled.
    fn prefetch_assets(&self, _level: usize, _rows: &[u32]) -> Result<()> {
        Ok(())
    }
    /// Path and length in bytes of the data of the sample at `row` of `level`: the data of a FILE,
    /// or the `__meta__` of a FOLDER. Wrong offsets in the level table are corrected.
    ///
    /// # Errors
    /// When the row does not exist, or its data cannot be located.
    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)>;
    /// [`ContainerReader::asset`] as a raster: of a file with several variables the one that the
    /// level's column `cube:variable` names.
    ///
    /// # Errors
    /// As [`ContainerReader::asset`], and when the column can't be read.
    fn raster(&self, level: usize, row: u32) -> Result<(RasterSource, u64)> {
        let (asset, size) = self.asset(level, row)?;
        let variables = self.levels().variables(level, &JobContext::default())?;
        Ok((
            RasterSource::member(asset).with_variable(variables.of_row(row)),
            size,
        ))
    }
    /// [`ContainerReader::asset`] as the source of a copy, with the file's modification time.
    ///
    /// # Errors
    /// As [`ContainerReader::asset`].
    fn source(&self, level: usize, row: u32) -> Result<RowSource> {
        let (path, size) = self.asset(level, row)?;
        let looked = match &path {
            AssetPath::File(file) if !is_remote(file) => std::fs::metadata(file).ok(),
            _ => None,
        };
        Ok(RowSource::Asset {
            path,
            size,
            modified: looked.as_ref().map(Modified::of_file).unwrap_or_default(),
        })
    }
    /// Checks that the dataset at its path is still the version that was opened, for a result that
    /// is made of its metadata and of data that was read later. An archive is read from one open
    /// file, and its ranges state their version. For a remote FOLDER it requests every table.
    ///
    /// # Errors
    /// [`Kind::Changed`] when the dataset was replaced or changed meanwhile; when its files can't
    /// be looked at.
    fn expect_unchanged(&self) -> Result<()> {
        self.opening().version.expect_unchanged()
    }
    /// Problems that were worked around while opening.
    fn notes(&self) -> &[Finding] {
        &self.opening().notes
    }
    /// The concrete reader, for checks that need details of the format.
    fn physical(&self) -> Physical<'_>;
}

/// A reader by its concrete type.
#[derive(Clone, Copy)]
pub enum Physical<'a> {
    /// ZIP (TACO 2.0, section 6.3).
    Zip(&'a ZipReader),
    /// FOLDER (section 6.4).
    Folder(&'a FolderReader),
    /// TACOCAT, file and folder (section 6.5).
    Tacocat(&'a TacocatReader),
    /// TACOLLECTION (section 6.6), and datasets opened together.
    Joined(&'a JoinedReader),
    /// TORTILLA 0.5 and TACO 0.2 files.
    Tortilla(&'a TortillaReader),
    /// TACO 3, ZIP and folder.
    Taco3(&'a Taco3Reader),
    /// TACO 2.0 before its present layout, ZIP and FOLDER.
    Early(&'a EarlyReader),
}

/// Refuses the extensions of the first generation for a 2.0 dataset: tools that select a reader by
/// extension could not open it.
fn refuse_old_name(target: &Path) -> Result<()> {
    let ending = target
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if !["tortilla", "taco"].contains(&ending.as_str()) {
        return Ok(());
    }
    let error = Error::usage(format!(
        "the extension .{ending} belongs to the first generation, but this writes TACO 2.0"
    ));
    let error = error
        .at_path(target)
        .hint("choose a name with the extension .tacozip, or a folder name without an extension");
    Err(error.hint(
        "`compile` writes a .tortilla or .taco out of a dataset, `create --generation \
            tortilla` or `taco` out of a folder",
    ))
}

/// Writes a dataset in the format of `options`, or as parts. The output appears complete or not at
/// all.
///
/// # Errors
/// Invalid options, an existing target without `overwrite`, changed or damaged sources, and IO
/// errors. Nothing is left at the target.
pub fn write(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    options.parquet.check()?;
    refuse_old_name(&options.target)?;
    if let Some(parts) = &options.parts {
        return part_writer::write(assembly, options, parts, ctx);
    }
    let built = match options.format {
        Format::Zip => zip::write(assembly, options, ctx),
        Format::Folder => folder::write(assembly, options, ctx),
        other => Err(Error::unsupported(format!(
            "this version can't write {}",
            other.description()
        ))
        .hint("write a ZIP or a FOLDER")),
    };
    let built = built.map_err(|error| assembly.version.explain(error))?;
    if is_remote(&options.target) {
        read_back(assembly, &built, ctx)?;
    }
    Ok(built)
}

/// Opens a dataset that was written to a store as its readers do, by ranges, and compares its rows
/// with what was written.
fn read_back(assembly: &Assembly, built: &Built, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Reading it back"), None);
    let reader = open(&built.path, ctx)?;
    let rows =
        |level: usize| (level < reader.levels().count()).then(|| reader.levels().rows(level));
    let differs = (0..assembly.tree.levels.len())
        .find(|&level| rows(level) != Some(assembly.tree.levels[level].len()));
    if let Some(level) = differs {
        let (found, written) = (
            rows(level).unwrap_or_default(),
            assembly.tree.levels[level].len(),
        );
        return Err(Error::new(
            Kind::Damaged,
            format!("the store has {found} rows of level{level}, {written} were written"),
        )
        .at_path(&built.path)
        .hint(
            "another program may have written it at the same time: look at it, then write \
                again (--overwrite)",
        ));
    }
    // The last bytes of the data arrive like the first.
    let last = assembly
        .tree
        .levels
        .iter()
        .enumerate()
        .rev()
        .find_map(|(level, tree)| {
            let row = (0..tree.len()).rev().find(|&row| !tree.folder[row])?;
            Some((level, row as u32))
        });
    if let Some((level, row)) = last {
        let (asset, size) = reader.asset(level, row)?;
        let offset = if let AssetPath::Range { offset, .. } = &asset {
            *offset
        } else {
            0
        };
        ByteSource::open_for(&asset)?.read(offset, size.min(READ_BACK))?;
    }
    Ok(())
}

/// Bytes of a sample that are read back.
const READ_BACK: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_first_generation_are_not_those_of_2_0() {
        for name in ["y.tortilla", "a/Y.TACO", "x.0001.part.taco"] {
            let error = refuse_old_name(Path::new(name))
                .expect_err("is refused")
                .report();
            assert!(
                error.contains("compile") && error.contains("--generation"),
                "{error}"
            );
        }
        for name in [
            "y.tacozip",
            "taco",
            "tortilla",
            "y.taco.zip",
            ".tacocat",
            "y",
        ] {
            assert!(refuse_old_name(Path::new(name)).is_ok(), "{name}");
        }
    }
}
