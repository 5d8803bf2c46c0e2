//! Opens a TORTILLA 0.5 or TACO 0.2 dataset: a file, a single part, or all parts together. A nested
//! tortilla becomes a FOLDER; the footers' columns are kept next to those of the TACO 2.0 model.
//! Does not validate.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chain::{SampleChunk, chained_level, find_chunk, read_chain};
use super::header::{HEADER_SIZE, part_name};
use super::parts::pattern;
use super::scan::{
    Footers, ScannedLevel, TortillaFile, TortillaScan, duplicate_column, duplicate_names,
    read_level, read_tortilla, scan,
};
use crate::container::synthetic_levels::{MadeLevel, level_tables};
use crate::container::{
    ContainerInfo, ContainerReader, Format, LevelSet, LocalFile, OpeningFacts, Physical,
    read_collection,
};
use crate::error::{Error, Kind, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Finding, Location, Report, Rule};
use crate::table::LevelTable;

/// An opened dataset of the first generation.
pub struct TortillaReader {
    opening: OpeningFacts,
    files: Vec<LocalFile>,
    roots: Vec<TortillaFile>,
    widened: Vec<(usize, super::join::Widened)>,
    chunks: Option<LevelTable>,
}

impl TortillaReader {
    /// Opens the files `parts` of the dataset at `path` as one: the file itself, or those in a
    /// folder, or those matching `name.*.part.tortilla`. A part given alone is opened without the
    /// others.
    ///
    /// # Errors
    /// [`Kind::Format`], with the file, when a header, the outermost footer or the list of footers
    /// is invalid.
    pub fn open(path: &Path, parts: &[PathBuf], ctx: &JobContext) -> Result<Self> {
        let mut files = Vec::with_capacity(parts.len());
        for part in parts {
            ctx.check()?;
            files.push(LocalFile::open(part)?);
        }
        let footers = Footers::of_files(&files);
        let mut roots = Vec::with_capacity(parts.len());
        for (number, (part, file)) in parts.iter().zip(&files).enumerate() {
            ctx.check()?;
            let root = read_tortilla(file, number, (0, file.size_bytes()), &footers, ctx);
            roots.push(root.map_err(|error| unreadable_part_error(error, part))?);
        }
        let mut notes = Report::default();
        let chained = match (roots.as_mut_slice(), files.as_slice()) {
            ([root], [file]) if root.pointer.is_some() => {
                read_chained_levels(file, root, &footers, &mut notes, ctx)?
            }
            _ => None,
        };
        let Some(first) = roots.first() else {
            return Err(Error::usage("no part is named").at_path(path));
        };
        let format = if first.header.is_taco() {
            Format::Taco
        } else {
            Format::Tortilla
        };
        // Without a usable linked list, every nested tortilla has a footer of its own.
        let (levels, chunks) = match chained {
            Some((levels, chunks)) => (levels, Some(chunks)),
            None => {
                let scanned = scan(&files, roots.clone(), &footers, ctx);
                let TortillaScan { levels, findings } =
                    scanned.map_err(|error| unreadable_part_error(error, path))?;
                notes.absorb(findings);
                (levels, None)
            }
        };
        let collection = separate_transient_error(collection_of(&files, &roots))?;
        let names: Vec<Arc<str>> = files.iter().map(|file| name_of(file.path())).collect();
        let mut widened = Vec::new();
        let mut made = Vec::with_capacity(levels.len());
        for (depth, level) in levels.into_iter().enumerate() {
            widened.extend(level.widened.into_iter().map(|column| (depth, column)));
            made.push(MadeLevel {
                own: level
                    .batch
                    .ok_or_else(|| Error::internal("a level has no columns"))?,
                sources: (files.len() > 1).then(|| collect_part_names(&level.parts, &names)),
                ids: level.ids,
                folder: level.folder,
                parents: level.parents,
                ranges: Some(level.ranges),
                paths: None,
            });
        }
        let levels = LevelSet::of_tables(level_tables(made)?);
        let size_bytes = Some(files.iter().map(LocalFile::size_bytes).sum());
        let info = ContainerInfo {
            format,
            path: path.to_owned(),
            size_bytes,
        };
        notes.fold();
        Ok(Self {
            opening: OpeningFacts::new(info, levels, collection, notes.findings),
            files,
            roots,
            widened,
            chunks,
        })
    }

    /// The files, sorted by part number.
    pub fn files(&self) -> &[LocalFile] {
        &self.files
    }

    /// The outermost tortilla of each file.
    pub fn roots(&self) -> &[TortillaFile] {
        &self.roots
    }

    /// Columns whose type differs between tortillas, with their level.
    pub fn widened_columns(&self) -> &[(usize, super::join::Widened)] {
        &self.widened
    }

    /// The chunks of all samples; `None` unless the dataset is streamable.
    pub fn chunks(&self) -> Option<&LevelTable> {
        self.chunks.as_ref()
    }

    /// Chunk `index` of the sample at `row` of `level`, and its byte range.
    ///
    /// # Errors
    /// [`Kind::Usage`] when the dataset is not streamable or the sample has no such chunk;
    /// [`Kind::Format`] when the chunk is outside the file.
    pub fn chunk(&self, level: usize, row: u32, index: u64) -> Result<(SampleChunk, AssetPath)> {
        let Some(chunks) = &self.chunks else {
            let error = Error::usage("this dataset is not streamable: its footer has no chunks");
            return Err(error.hint("`compile --stream` makes one that is"));
        };
        let chunk = find_chunk(chunks, level, row, index)?;
        let file = self.file_of(level, row)?;
        let place = chunk
            .layout
            .places
            .first()
            .copied()
            .filter(|&(offset, size)| file.contains(offset, size));
        let (offset, size) =
            place.ok_or_else(|| Error::format(format!("chunk {index} is outside the file")))?;
        Ok((chunk, file.range(offset, size)))
    }

    /// Folder of the files.
    pub fn folder(&self) -> PathBuf {
        let file = self
            .files
            .first()
            .map_or(self.opening.info.path.as_path(), LocalFile::path);
        std::path::absolute(file)
            .ok()
            .and_then(|file| file.parent().map(Path::to_owned))
            .unwrap_or_default()
    }

    /// Names of parts that the headers announce but that do not exist. Empty for complete datasets,
    /// and for a single remote part, as servers list no folders.
    pub fn missing_parts(&self) -> Vec<String> {
        let Some((file, root)) = self.files.first().zip(self.roots.first()) else {
            return Vec::new();
        };
        let name = name_of(file.path());
        let Some((stem, _, ending)) = part_name(&name) else {
            return Vec::new();
        };
        let folder = self.folder();
        let remote = file.is_remote();
        if remote && pattern(&name_of(&self.opening.info.path)).is_none() {
            return Vec::new();
        }
        let opened: HashSet<Arc<str>> =
            self.files.iter().map(|file| name_of(file.path())).collect();
        let part = |number: u64| format!("{stem}.{number:04}.part.{ending}");
        let there = |name: &str| opened.contains(name) || (!remote && folder.join(name).is_file());
        // The specification numbers parts from 1, the Python tool from 0.
        let first = u64::from(!there(&part(0)) && there(&part(root.header.partitions)));
        // The header's count is not trusted.
        let count = root.header.partitions.min(10_000);
        (first..first + count)
            .map(part)
            .filter(|name| !there(name))
            .collect()
    }

    fn file_of(&self, level: usize, row: u32) -> Result<&LocalFile> {
        if self.files.len() == 1 {
            return Ok(&self.files[0]);
        }
        let source = self
            .opening
            .levels
            .row_parts(level, &JobContext::default())?
            .part_name(row);
        let file = source.and_then(|source| {
            self.files
                .iter()
                .find(|file| name_of(file.path()) == source)
        });
        file.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))
    }

    fn range(&self, level: usize, row: u32) -> Result<(u64, u64)> {
        let rows = self.opening.levels.rows(level);
        if row as usize >= rows {
            return Err(Error::usage(format!("level{level} has no row {row}")));
        }
        let ctx = JobContext::default();
        self.opening
            .levels
            .positions(level, &ctx)?
            .range(row)
            .ok_or_else(|| {
                let path = self
                    .opening
                    .levels
                    .skeleton(&ctx)
                    .map(|tree| tree.path(level, row).to_string())
                    .unwrap_or_default();
                Error::format("the footer places this sample outside its tortilla")
                    .at_place(path)
                    .hint("validate the dataset")
            })
    }
}

/// For each row the name of its part.
fn collect_part_names(parts: &[u32], names: &[Arc<str>]) -> Vec<Arc<str>> {
    let names = parts.iter().map(|&part| &names[part as usize]);
    names.cloned().collect()
}

/// Levels and chunks of a streamable dataset.
type Chained = (Vec<ScannedLevel>, LevelTable);

fn read_chained_levels(
    file: &LocalFile,
    root: &mut TortillaFile,
    footers: &Footers,
    notes: &mut Report,
    ctx: &JobContext,
) -> Result<Option<Chained>> {
    match read_chained_objects(file, root, footers, notes, ctx) {
        Ok((places, chained)) => {
            root.chain = places;
            Ok(Some(chained))
        }
        Err(error) if error.is_passing() || error.is_too_large() => Err(error),
        Err(error) => {
            notes.push(Finding::new(
                Rule::TortillaChain,
                Location::Member(tr!("footer").into()),
                error.sentence(),
            ));
            Ok(None)
        }
    }
}

/// The places of the objects of the chain, its levels and its chunks.
fn read_chained_objects(
    file: &LocalFile,
    root: &TortillaFile,
    footers: &Footers,
    notes: &mut Report,
    ctx: &JobContext,
) -> Result<(Vec<(u64, u64)>, Chained)> {
    let pointer = root.pointer.as_deref().unwrap_or_default();
    let mut objects = read_chain(file, root.header.footer, pointer, footers, ctx)?;
    let Some((last, chunks)) = objects.pop() else {
        return Err(Error::internal("a chain without objects"));
    };
    let mut top = TortillaScan::default();
    let first = read_level(std::slice::from_ref(root), 0, footers, &mut top)?;
    notes.absorb(top.findings);
    let mut levels = vec![first];
    let mut places = vec![last];
    for (place, table) in &objects {
        let above = levels.last().map_or(0, |level| level.ids.len());
        duplicate_names(table)
            .into_iter()
            .for_each(|name| notes.push(duplicate_column(levels.len(), name)));
        levels.push(chained_level(table, above, HEADER_SIZE..file.size_bytes())?);
        places.push(*place);
    }
    Ok((places, (levels, chunks)))
}

fn unreadable_part_error(error: Error, part: &Path) -> Error {
    match error.kind() {
        Kind::Format => Error::format("this TORTILLA or TACO can't be opened")
            .because(error)
            .at_path(part),
        _ => error,
    }
}

fn name_of(path: &Path) -> Arc<str> {
    path.file_name()
        .map(|name| name.to_string_lossy().into())
        .unwrap_or_default()
}

/// COLLECTION of the first TACO among the parts; empty for a TORTILLA.
fn collection_of(files: &[LocalFile], roots: &[TortillaFile]) -> Result<Collection> {
    let stored = files
        .iter()
        .zip(roots)
        .find_map(|(file, root)| root.header.collection.map(|place| (file, place)));
    let Some((file, (offset, length))) = stored else {
        return Ok(Collection::default());
    };
    read_collection(file, offset, length)
}

impl ContainerReader for TortillaReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    /// The footer of the nested tortilla at `row` of `level`.
    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (offset, length) = self.range(level, row)?;
        let file = self.file_of(level, row)?;
        let footers = Footers::of_bytes(file.size_bytes());
        Ok(read_tortilla(file, 0, (offset, length), &footers, &JobContext::default())?.table)
    }

    /// The sample's data; for a nested tortilla including its header and footer.
    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let (offset, size) = self.range(level, row)?;
        Ok((self.file_of(level, row)?.range(offset, size), size))
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Tortilla(self)
    }
}
