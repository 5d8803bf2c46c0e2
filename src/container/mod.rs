//! The on-disk formats: what a path is ([`detect`]), reading ([`ContainerReader`]), laying out ([`BuildPlan`]) and writing.
//! Nothing else writes a dataset. Must not judge a dataset: readers hand over facts, and only note what they had to work round.

mod assembly;
mod atomic_write;
mod collection_file;
mod consolidate;
mod cozip;
mod detect;
mod detect_remote;
mod extent;
mod folder;
mod joined;
mod levels;
mod merge_collections;
mod offset_check;
mod open;
mod opened;
mod part_files;
mod parts;
mod plan;
mod provenance;
mod sample_bytes;
mod source;
mod subset;
mod synthetic_levels;
mod table_files;
mod tacocat;
mod tortilla;
mod versions;
mod zip;

pub use assembly::{Assembly, AssemblyLevel, RowSource};
pub use atomic_write::{
    PartialFile, PartialFolder, Scratch, Staging, aside_of, foreign_in, free_bytes, restore_aside, write_document, write_documents,
};
pub use collection_file::{
    check_json, field_schema_of, parse_collection, read_collection, read_collection_file, read_json_document, write_collection,
};
pub use consolidate::{ConsolidateOptions, consolidate};
pub use cozip::Taco3Reader;
pub use detect::{Detected, Format, detect};
pub use extent::{extent_of, extent_of_samples};
pub use folder::FolderReader;
pub use joined::{ColumnChange, JoinMode, JoinedPart, JoinedReader};
pub use levels::{LevelSet, Positions, RowParts};
pub use open::{OpenOptions, open, open_with};
pub use opened::Opening;
pub use parts::{Parts, PlannedPart, file_name_of, outputs_of, parse_size};
pub use plan::{BuildOptions, BuildPlan, Built};
pub use provenance::raster_source;
pub use sample_bytes::{OnDamage, SourceCheck};
pub use source::{ByteSource, LocalFile, asset_size, copy_asset, is_same_file, read_asset, stream_asset};
pub use subset::tree_order;
pub use synthetic_levels::name_in_file;
pub use tacocat::{TacocatIndex, TacocatReader};
pub use tortilla::{
    CHAIN_ROOT, Chunk, ChunkLayout, HEADER_SIZE, Item, NestedItem, PartSet, Tortilla, TortillaChange, TortillaDraft,
    TortillaHeader, TortillaOptions, TortillaReader, Widened, change_tortilla, copy_changed, footer_bytes, is_part_of, join,
    lone_chunk, nested_items, part_name, parts_called, patterns_in, with_places, write_tortilla,
};
pub use versions::expect_containers;
pub use zip::{Directory, Entry, HeaderEntry, LocalHeader, TacoHeader, ZipReader};

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Finding, Modified, is_remote};
use crate::table::LevelTable;

/// What was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInfo {
    /// The container's kind.
    pub format: Format,
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes of the file; for a FOLDER, nobody counted.
    pub size_bytes: Option<u64>,
}

/// Files of another machine that are asked for side by side, and kept open meanwhile.
pub const AT_ONCE: usize = 32;

/// A readable dataset. All calls are blocking and may be made from several threads.
pub trait ContainerReader: Send + Sync {
    /// What opening it found out.
    fn opening(&self) -> &Opening;
    /// What it is and where.
    fn info(&self) -> &ContainerInfo {
        &self.opening().info
    }
    /// COLLECTION.json; empty when it could not be read (then [`ContainerReader::notes`] says why).
    fn collection(&self) -> &Collection {
        &self.opening().collection
    }
    /// The level tables.
    fn levels(&self) -> &LevelSet {
        &self.opening().levels
    }
    /// The `__meta__` of the FOLDER in `row` of `level`.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable>;
    /// Has the `__meta__` of these FOLDERs at hand for [`ContainerReader::local_meta`], where reading each by itself would be a
    /// request each.
    fn bring_meta(&self, _level: usize, _rows: &[u32]) -> Result<()> {
        Ok(())
    }
    /// Has what [`ContainerReader::asset`] and [`ContainerReader::local_meta`] need for at most [`AT_ONCE`] rows of a level at hand,
    /// where each of them is a file of another machine.
    fn bring_assets(&self, _level: usize, _rows: &[u32]) -> Result<()> {
        Ok(())
    }
    /// The bytes of the sample in `row` of `level`: the data of a FILE, the `__meta__` of a FOLDER. Always the sample's own
    /// bytes, also where the level table points elsewhere.
    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)>;
    /// [`ContainerReader::asset`] for a copy, with what is known of the version that was looked at.
    fn source(&self, level: usize, row: u32) -> Result<RowSource> {
        let (path, size) = self.asset(level, row)?;
        let looked = match &path {
            AssetPath::File(file) if !is_remote(file) => std::fs::metadata(file).ok(),
            _ => None,
        };
        Ok(RowSource::Asset { path, size, modified: looked.as_ref().map(Modified::of_file).unwrap_or_default() })
    }
    /// What was worked round while opening.
    fn notes(&self) -> &[Finding] {
        &self.opening().notes
    }
    /// The format behind the trait, for checks that need its details.
    fn physical(&self) -> Physical<'_>;
}

/// A reader as its own type.
#[derive(Clone, Copy)]
pub enum Physical<'a> {
    /// §6.3.
    Zip(&'a ZipReader),
    /// §6.4.
    Folder(&'a FolderReader),
    /// §6.5, in both forms.
    Tacocat(&'a TacocatReader),
    /// §6.6, and datasets that were opened together.
    Joined(&'a JoinedReader),
    /// TORTILLA 0.5 and TACO 0.2.
    Tortilla(&'a TortillaReader),
    /// TACO 3, archive or folder.
    Taco3(&'a Taco3Reader),
}

/// A 2.0 dataset by a name of the first generation would be opened by nobody who goes by names.
fn refuse_old_name(target: &Path) -> Result<()> {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    if !["tortilla", "taco"].contains(&ending.as_str()) {
        return Ok(());
    }
    let error = Error::usage(format!("names that end in .{ending} are those of the first generation, and this writes 2.0"));
    let error = error.at_path(target).hint("choose a name that ends in .tacozip, or one without an ending for a folder");
    Err(error
        .hint("`compile` writes a .tortilla or .taco out of a dataset, `create --generation tortilla` or `taco` out of a folder"))
}

/// Lays out and writes a dataset, by the options' format, or its parts. What is written appears complete or not at all.
pub fn write(assembly: &Assembly, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    options.parquet.check()?;
    refuse_old_name(&options.target)?;
    if let Some(parts) = &options.parts {
        return parts::write(assembly, options, parts, ctx);
    }
    match options.format {
        Format::Zip => zip::write(assembly, options, ctx),
        Format::Folder => folder::write(assembly, options, ctx),
        other => Err(Error::unsupported(format!("this version can't write {}", other.described())).hint("write a ZIP or a FOLDER")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_first_generation_are_not_those_of_2_0() {
        for name in ["y.tortilla", "a/Y.TACO", "x.0001.part.taco"] {
            let error = refuse_old_name(Path::new(name)).expect_err("is refused").report();
            assert!(error.contains("compile") && error.contains("--generation"), "{error}");
        }
        for name in ["y.tacozip", "taco", "tortilla", "y.taco.zip", ".tacocat", "y"] {
            assert!(refuse_old_name(Path::new(name)).is_ok(), "{name}");
        }
    }
}
