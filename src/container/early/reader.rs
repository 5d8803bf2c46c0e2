//! Opens an early dataset.

use std::io::Read;
use std::path::Path;

use arrow::array::StringArray;

use super::tree::EarlyTree;
use crate::container::data_files::data_files;
use crate::container::synthetic_levels::{level_tables, with_gdal_paths};
use crate::container::{
    ContainerInfo, ContainerReader, DatasetVersion, Format, LevelSet, OpeningFacts, Physical,
    ZipReader, children_table, read_collection_file,
};
use crate::error::{Error, IoContext, Result, separate_transient_error};
use crate::files::Root;
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Collection, Finding, Location, MAX_LEVELS, Rule, safe_relative, vsi_place,
};
use crate::table::{DecodeBudget, LevelTable, read_avro};

/// Folder of the tables, with `/`.
const METADATA: &str = "METADATA/";

/// An opened early dataset.
pub struct EarlyReader {
    opening: OpeningFacts,
    store: EarlyStore,
    /// Path of the data of each row below `DATA/`, by level; see [`EarlyTree::files`].
    files: Vec<Vec<Option<Box<str>>>>,
}

enum EarlyStore {
    Zip(Box<ZipReader>),
    Folder(Root),
}

/// True for a folder whose tables are Avro.
pub fn is_avro_folder(path: &Path) -> bool {
    path.join("METADATA/level0.avro").exists() && !path.join("METADATA/level0.parquet").exists()
}

impl EarlyReader {
    /// Opens a folder whose tables are Avro.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when a table is unreadable or its rows make no
    /// tree.
    pub fn open_folder(path: &Path, ctx: &JobContext) -> Result<Self> {
        let root = Root::new(path);
        let budget = DecodeBudget::default();
        let (mut tables, mut members) = (Vec::new(), Vec::new());
        for level in 0..=MAX_LEVELS {
            let name = format!("{METADATA}level{level}.avro");
            let file = root.path(&name);
            if !crate::files::exists(&file).io_at("open", &file)? {
                break;
            }
            ctx.check()?;
            let meta = root
                .file(&name)
                .map_err(|why| why.into_error("open", &file))?;
            let mut bytes = Vec::new();
            let opened = crate::files::open(&file).io_at("open", &file)?;
            opened
                .take(meta.len())
                .read_to_end(&mut bytes)
                .io_at("read", &file)?;
            let table = read_avro(&bytes, &budget, ctx);
            tables.push(table.map_err(|error| unreadable_table_error(&name, error).at_path(path))?);
            members.push(file);
        }
        let tables_version =
            DatasetVersion::of_files(members.iter().map(std::path::PathBuf::as_path))?;
        let version =
            DatasetVersion::of_all([DatasetVersion::of_folder(path, METADATA), tables_version]);
        let collection =
            separate_transient_error(read_collection_file(&root.path("COLLECTION.json")))?;
        let empty = Collection::default();
        let names = data_files(&root.path("DATA"))?;
        let tree = EarlyTree::from_tables(&tables, collection.as_ref().unwrap_or(&empty), &names)
            .map_err(|error| error.at_path(path))?;
        let info = ContainerInfo {
            format: Format::Early,
            path: path.to_owned(),
            size_bytes: None,
        };
        let tables = level_tables(tree.levels)?;
        let tables = tables
            .iter()
            .zip(&tree.files)
            .map(|(table, files)| with_gdal_paths(table, gdal_paths(files, path)));
        let levels = LevelSet::of_tables(tables.collect::<Result<_>>()?);
        let notes = vec![make_note(tr!(
            "The level tables are Avro, as tacotoolbox 0.9 to 0.15 wrote them; TACO 2.0 has \
                Parquet."
        ))];
        let opening = OpeningFacts::new(info, levels, collection, notes).of_version(version);
        Ok(Self {
            opening,
            store: EarlyStore::Folder(root),
            files: tree.files,
        })
    }

    /// The archive as an early dataset, if it is one; otherwise the archive itself.
    ///
    /// # Errors
    /// When a table or the central directory of an archive without today's columns cannot be read
    /// for now.
    pub fn of_zip(
        zip: ZipReader,
        ctx: &JobContext,
    ) -> Result<std::result::Result<Self, ZipReader>> {
        if has_columns_of_today(zip.levels()) {
            return Ok(Err(zip));
        }
        let Ok(tree) = separate_transient_error(tree_in(&zip, ctx))? else {
            return Ok(Err(zip));
        };
        if !tree.is_marked && tree.levels.len() < 2 {
            return Ok(Err(zip));
        }
        let mut levels = tree.levels;
        for (level, files) in levels.iter_mut().zip(&tree.files) {
            ctx.check()?;
            let ranges = files
                .iter()
                .map(|file| find_file_range(&zip, file.as_deref()));
            level.ranges = Some(ranges.collect::<Result<_>>()?);
        }
        let info = ContainerInfo {
            format: Format::Early,
            ..zip.info().clone()
        };
        let found = tr!(
            "The level tables have the layout of tacotoolbox 0.7 to 0.12, which readers of TACO \
                2.0 refuse."
        );
        // TACO_HEADER of tacotoolbox 0.7 lists too few tables.
        let others = zip
            .notes()
            .iter()
            .filter(|other| other.rule != Rule::ZipHeader);
        let notes = others.cloned().chain([make_note(found)]).collect();
        let opening = OpeningFacts::new(
            info,
            LevelSet::of_tables(level_tables(levels)?),
            Ok(zip.collection().clone()),
            notes,
        );
        Ok(Ok(Self {
            opening,
            store: EarlyStore::Zip(Box::new(zip)),
            files: tree.files,
        }))
    }

    /// True for a FOLDER.
    pub fn is_folder(&self) -> bool {
        matches!(self.store, EarlyStore::Folder(_))
    }
}

/// True when the tables have columns of structure that tacotoolbox writes from 0.13.
fn has_columns_of_today(levels: &LevelSet) -> bool {
    has_any_column(levels, 0, &["internal:parent_id", "internal:current_id"])
        || (0..levels.count())
            .any(|level| has_any_column(levels, level, &["internal:relative_path"]))
}

fn has_any_column(levels: &LevelSet, level: usize, wanted: &[&str]) -> bool {
    levels
        .fields(level)
        .iter()
        .any(|field| wanted.contains(&field.name.as_str()))
}

/// The byte range of a file below `DATA/`; `None` for a folder, and for a file that the archive
/// does not hold as it is.
fn find_file_range(zip: &ZipReader, file: Option<&str>) -> Result<Option<(u64, u64)>> {
    let Some(file) = file else { return Ok(None) };
    Ok(separate_transient_error(zip.member_range(&format!("DATA/{file}")))?.ok())
}

fn tree_in(zip: &ZipReader, ctx: &JobContext) -> Result<EarlyTree> {
    let levels = zip.levels();
    let tables: Vec<LevelTable> = (0..levels.count())
        .map(|level| Ok(levels.table(level, ctx)?.as_ref().clone()))
        .collect::<Result<_>>()?;
    let members = zip
        .directory()?
        .entries
        .iter()
        .filter_map(|entry| entry.name.strip_prefix("DATA/"));
    let names: Vec<String> = members
        .filter(|name| !name.ends_with('/'))
        .map(str::to_owned)
        .collect();
    EarlyTree::from_tables(&tables, zip.collection(), &names)
}

/// The paths of the files for GDAL, which their suffixes make different from the ids.
fn gdal_paths(files: &[Option<Box<str>>], folder: &Path) -> StringArray {
    let data = vsi_place(folder).join("DATA");
    files
        .iter()
        .map(|file| {
            file.as_ref()
                .map(|file| AssetPath::file(data.join(file.as_ref())).to_vsi())
        })
        .collect()
}

fn make_note(message: impl Into<String>) -> Finding {
    Finding::new(Rule::EarlyLayout, Location::Dataset, message)
}

fn unreadable_table_error(name: &str, error: Error) -> Error {
    if error.is_cancelled() {
        error
    } else {
        Error::format(format!("{name} can't be read")).because(error)
    }
}

impl ContainerReader for EarlyReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    /// The children of the FOLDER at `row`, selected from the level below.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        children_table(&self.opening.levels, level, row)
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let file = self
            .files
            .get(level)
            .and_then(|files| files.get(row as usize));
        let file = file.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
        let Some(file) = file else {
            let tree = self.opening.levels.skeleton(&JobContext::default())?;
            let path = tree.path(level, row);
            return Err(if tree.levels[level].folder[row as usize] {
                Error::usage("a FOLDER of this layout has no bytes of its own")
                    .at_place(path)
                    .hint("name one of its samples")
            } else {
                Error::format("no file under DATA/ is called as this sample with one suffix")
                    .at_place(path)
            });
        };
        let name = format!("DATA/{file}");
        match &self.store {
            EarlyStore::Zip(zip) => {
                let (offset, size) = zip.member_range(&name)?;
                Ok((zip.file().range(offset, size), size))
            }
            EarlyStore::Folder(root) => {
                let path = root.path(&name);
                if !safe_relative(&name) {
                    return Err(Error::format("this path leads outside the dataset")
                        .at_place(name.escape_default()));
                }
                let meta = root
                    .file(&name)
                    .map_err(|why| why.into_error("read the sample", &path))?;
                Ok((AssetPath::file(path), meta.len()))
            }
        }
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Early(self)
    }
}
