//! Plans a TORTILLA or TACO before writing. Nested tortillas are planned from the inside out, as
//! the length of a footer is known only once it is encoded. Never changes the given columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;

use super::chain::{ROOT, SampleChunks, chain_bytes, chunk_table, level_object};
use super::header::{HEADER_SIZE, part_name};
use crate::container::{LocalFile, OnDamage, RowSource, refuse_existing};
use crate::error::{Error, IoContext, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{AssetPath, is_remote};
use crate::raster::{ChunkLayout, chunk_layout};
use crate::table::{ParquetOptions, write_parquet};

/// The columns that the layout adds.
const OFFSET: &str = "tortilla:offset";
const LENGTH: &str = "tortilla:length";

/// Input for one tortilla.
pub struct TortillaDraft {
    /// `tortilla:id`, `tortilla:file_format` and all other columns except offset and length; one
    /// row per item.
    pub footer: RecordBatch,
    /// Data of the items; same length as `footer`.
    pub items: Vec<TortillaItem>,
}

/// Data of one item.
pub enum TortillaItem {
    /// Existing bytes, which may be a whole nested tortilla.
    Source(RowSource),
    /// A nested tortilla to be written from its items.
    Nested(Box<TortillaDraft>),
}

/// Target and settings of a write.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct TortillaOptions {
    /// The file to create. For parts, the name without numbers: `name.tortilla` gives
    /// `name.0000.part.tortilla`.
    pub target: PathBuf,
    /// COLLECTION of a TACO; `None` for a TORTILLA.
    #[serde(default)]
    pub collection: Option<serde_json::Map<String, serde_json::Value>>,
    /// Maximum bytes of samples in a part; `None` writes a single file.
    #[serde(default)]
    pub part_bytes: Option<u64>,
    /// Write a streamable dataset: the footer is a linked list of tables for all levels and the
    /// chunks of the samples.
    #[serde(default)]
    pub stream: bool,
    /// Accept rasters of a streamable dataset that are no TACO Optimized GeoTIFFs, instead of
    /// refusing them.
    #[serde(default)]
    pub allow_non_tog: bool,
    /// Replace an existing target.
    #[serde(default)]
    pub overwrite: bool,
    /// How sample data with a wrong CRC-32 is handled.
    #[serde(default)]
    pub on_damage: OnDamage,
    /// Write the forms of the specification where the official tools have others: parts are
    /// numbered from 1 (TORTILLA 0.5, "The Data Partition").
    #[serde(default)]
    pub text_form: bool,
}

impl TortillaOptions {
    /// Refuses a target on this machine that exists, unless it is to be replaced.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for such a target, and for a device.
    pub fn refuse_existing_target(&self) -> Result<()> {
        // Names of parts are known when the samples are.
        if self.part_bytes.is_some() || is_remote(&self.target) {
            return Ok(());
        }
        refuse_existing(&self.target, self.overwrite)
    }
}

/// A tortilla with all sizes known.
pub(super) struct PlannedTortilla {
    pub pieces: Vec<TortillaPiece>,
    size: u64,
    pub footer: Bytes,
    pub footer_at: u64,
    /// The footer including offsets and lengths.
    pub table: RecordBatch,
}

pub(super) enum TortillaPiece {
    Source(RowSource),
    Nested(Box<PlannedTortilla>),
}

pub(super) fn planned_items(
    items: Vec<TortillaItem>,
    ctx: &JobContext,
) -> Result<Vec<TortillaPiece>> {
    try_map(items, |_, item| {
        ctx.check()?;
        Ok(match item {
            TortillaItem::Source(source) => TortillaPiece::Source(source),
            TortillaItem::Nested(inner) => TortillaPiece::Nested(Box::new(place(
                &inner.footer,
                planned_items(inner.items, ctx)?,
            )?)),
        })
    })
}

impl TortillaPiece {
    fn size(&self) -> u64 {
        match self {
            TortillaPiece::Source(source) => source.size_bytes(),
            TortillaPiece::Nested(planned) => planned.size,
        }
    }
}

/// Numbers of rows of each part: consecutive samples, greedily up to the size limit.
pub(super) fn group_into_parts(
    pieces: &[TortillaPiece],
    part_bytes: Option<u64>,
) -> Result<Vec<usize>> {
    let Some(most) = part_bytes else {
        return Ok(vec![pieces.len()]);
    };
    let mut groups = vec![0];
    let mut filled = 0u64;
    for piece in pieces {
        let size = piece.size();
        // A sample larger than the limit gets a part of its own.
        if filled > 0 && filled.saturating_add(size) > most {
            groups.push(0);
            filled = 0;
        }
        filled = filled.saturating_add(size);
        if let Some(group) = groups.last_mut() {
            *group += 1;
        }
    }
    if groups.len() > 10_000 {
        return Err(Error::usage(format!(
            "this makes {} parts; 10,000 is the limit",
            groups.len()
        ))
        .hint("choose larger parts"));
    }
    Ok(groups)
}

/// Places items contiguously after the header, and encodes the footer with their offsets.
pub(super) fn place(footer: &RecordBatch, pieces: Vec<TortillaPiece>) -> Result<PlannedTortilla> {
    let mut offsets = Vec::with_capacity(pieces.len());
    let mut lengths = Vec::with_capacity(pieces.len());
    let mut at = HEADER_SIZE;
    for piece in &pieces {
        let size = piece.size();
        offsets.push(at as i64);
        lengths.push(size as i64);
        at = at
            .checked_add(size)
            .ok_or_else(|| Error::invalid("the samples are larger than any file can be"))?;
    }
    let table = with_places(footer, offsets, lengths)?;
    let footer = footer_bytes(&table)?;
    Ok(PlannedTortilla {
        size: at + footer.len() as u64,
        footer_at: at,
        footer,
        table,
        pieces,
    })
}

/// The table with `tortilla:offset` and `tortilla:length` inserted after `tortilla:data_split`, as
/// the Python tools write them.
///
/// # Errors
/// [`Kind::Internal`](crate::error::Kind::Internal) when the columns differ in length.
pub fn with_places(
    footer: &RecordBatch,
    offsets: Vec<i64>,
    lengths: Vec<i64>,
) -> Result<RecordBatch> {
    let schema = footer.schema();
    let mut fields: Vec<Field> = Vec::with_capacity(schema.fields().len() + 2);
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len() + 2);
    for (field, column) in schema.fields().iter().zip(footer.columns()) {
        if field.name() != OFFSET && field.name() != LENGTH {
            fields.push(field.as_ref().clone());
            columns.push(column.clone());
        }
    }
    let behind = fields
        .iter()
        .rposition(|field| field.name().starts_with("tortilla:"))
        .map_or(0, |at| at + 1);
    for (name, values) in [(LENGTH, lengths), (OFFSET, offsets)] {
        fields.insert(behind, Field::new(name, DataType::Int64, true));
        columns.insert(behind, Arc::new(Int64Array::from(values)));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal("a footer does not fit its columns").because(error))
}

/// Encodes a footer as Parquet with zstd level 22, as the Python tools do.
///
/// # Errors
/// When a column cannot be encoded.
pub fn footer_bytes(footer: &RecordBatch) -> Result<Bytes> {
    let options = ParquetOptions {
        level: Some(22),
        content_defined_chunking: false,
        ..ParquetOptions::default()
    };
    Ok(write_parquet(&footer.schema(), std::slice::from_ref(footer), &options)?.into())
}

/// Path of part `number`: `name.0003.part.tortilla` for `name.tortilla`.
pub(super) fn part_path(target: &Path, number: usize) -> PathBuf {
    let ending = target
        .extension()
        .map(|ending| ending.to_string_lossy().into_owned())
        .unwrap_or_default();
    target.with_extension(format!("{number:04}.part.{ending}"))
}

/// True when `path` is a part of the dataset `target`.
pub fn is_part_of(path: &Path, target: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(part_name);
    let same =
        |text: &str, other: Option<&std::ffi::OsStr>| other.is_some_and(|other| other == text);
    name.is_some_and(|(stem, _, ending)| {
        same(stem, target.file_stem()) && same(ending, target.extension())
    }) && resolve_folder(path).is_some_and(|parent| resolve_folder(target) == Some(parent))
}

/// The folder that holds the path, without symbolic links.
fn resolve_folder(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.parent()?.canonicalize().ok()
}

/// The existing parts of the dataset `target`.
///
/// # Errors
/// When the folder cannot be read.
pub fn parts_called(target: &Path) -> Result<Vec<PathBuf>> {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let path = entry.io_at("read the folder", folder)?.path();
        if is_part_of(&path, target) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The linked list of tables of a streamable dataset: every level, then the chunks.
pub(super) fn encode_table_chain(
    root: &PlannedTortilla,
    ctx: &JobContext,
) -> Result<(Bytes, (u64, u64))> {
    ctx.stage(tr!("Finding the chunks"), None);
    let rows = Int64Array::from_iter_values(0..root.table.num_rows() as i64);
    let mut fields: Vec<Field> = root
        .table
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields.push(Field::new(ROOT, DataType::Int64, true));
    let mut columns = root.table.columns().to_vec();
    columns.push(Arc::new(rows));
    let top = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal("a footer does not fit its columns").because(error))?;
    let mut objects = vec![top];
    let mut chunks = Vec::new();
    // The tortillas of a level, each with its offset and the number of its first row.
    let mut level: Vec<(&PlannedTortilla, u64, u32)> = vec![(root, 0, 0)];
    while !level.is_empty() {
        ctx.check()?;
        let depth = objects.len() - 1;
        let mut tables = Vec::new();
        let mut below = Vec::new();
        let mut next_row = 0;
        for (planned, base, first) in level {
            // These files contain both Arrow string types.
            let ids = planned
                .table
                .column_by_name("tortilla:id")
                .and_then(|column| cast(column, &DataType::Utf8).ok());
            let ids = ids.as_ref().and_then(|ids| ids.as_string_opt::<i32>());
            let mut at = base + HEADER_SIZE;
            for (number, piece) in planned.pieces.iter().enumerate() {
                let row = first + number as u32;
                match piece {
                    TortillaPiece::Source(source) => {
                        if let Some(layout) = layout_of(source)? {
                            let id = ids
                                .filter(|ids| ids.is_valid(number))
                                .map_or(String::new(), |ids| ids.value(number).to_owned());
                            chunks.push(SampleChunks {
                                sample: (depth, row),
                                id,
                                base: at,
                                layout,
                            });
                        }
                    }
                    TortillaPiece::Nested(inner) => {
                        tables.push((inner.table.clone(), at, row));
                        below.push((&**inner, at, next_row));
                        next_row += inner.table.num_rows() as u32;
                    }
                }
                at += piece.size();
            }
        }
        if !tables.is_empty() {
            objects.push(level_object(&tables)?);
        }
        level = below;
    }
    objects.push(chunk_table(&chunks)?);
    chain_bytes(&objects, root.footer_at)
}

/// The chunks of a sample that decode independently; `None` for files other than TIFF, and for
/// damaged TIFFs, which are then plain bytes.
fn layout_of(source: &RowSource) -> Result<Option<ChunkLayout>> {
    match source {
        RowSource::Asset {
            path: path @ (AssetPath::File(_) | AssetPath::Packed(_)),
            size,
            ..
        } => find_file_chunks(path, 0, *size),
        RowSource::Asset {
            path: path @ AssetPath::Range { offset, .. },
            size,
            ..
        } => find_file_chunks(path, *offset, *size),
        RowSource::Bytes(bytes) => Ok(find_independent_chunks(
            &|at, length| slice_bytes(bytes, at, length),
            bytes.len() as u64,
        )),
        RowSource::Asset {
            path: AssetPath::Vsi(_),
            ..
        }
        | RowSource::Folder => Ok(None),
    }
}

fn find_independent_chunks(
    read: &dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
) -> Option<ChunkLayout> {
    chunk_layout(read, size)
        .unwrap_or_default()
        .filter(ChunkLayout::decodes_alone)
}

/// The chunks of `size` bytes from `start` of a file.
fn find_file_chunks(path: &AssetPath, start: u64, size: u64) -> Result<Option<ChunkLayout>> {
    let file = LocalFile::open_for(path)?;
    let read = |at: u64, length: u64| file.read(start + at, length).map(|bytes| bytes.to_vec());
    Ok(find_independent_chunks(&read, size))
}

fn slice_bytes(bytes: &[u8], at: u64, length: u64) -> Result<Vec<u8>> {
    let range = usize::try_from(at)
        .ok()
        .zip(usize::try_from(length).ok())
        .and_then(|(at, n)| bytes.get(at..at + n));
    range
        .map(<[u8]>::to_vec)
        .ok_or_else(|| Error::format("a TIFF in memory ends early"))
}

#[cfg(test)]
mod tests {
    use super::super::write_tortilla;
    use super::*;
    use crate::container::{ContainerReader, TortillaReader};
    use arrow::array::StringArray;

    fn draft(ids: &[&str], formats: &[&str], items: Vec<TortillaItem>) -> TortillaDraft {
        let text = |values: &[&str]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
        let footer = RecordBatch::try_from_iter_with_nullable([
            ("tortilla:id", text(ids), true),
            ("tortilla:file_format", text(formats), true),
            ("note", text(ids), true),
        ]);
        TortillaDraft {
            footer: footer.expect("is a batch"),
            items,
        }
    }

    fn bytes(text: &str) -> TortillaItem {
        TortillaItem::Source(RowSource::Bytes(Bytes::copy_from_slice(text.as_bytes())))
    }

    #[test]
    fn nested_tortillas_and_parts_read_back() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let target = folder.path().join("x.tortilla");
        let ctx = JobContext::default();
        let options = options(target.clone());
        let inner = draft(
            &["x", "y"],
            &["BYTES", "BYTES"],
            vec![bytes("first"), bytes("second")],
        );
        let whole = draft(
            &["a", "b"],
            &["TORTILLA", "BYTES"],
            vec![TortillaItem::Nested(Box::new(inner)), bytes("third")],
        );
        let built = write_tortilla(whole, &options, &ctx).expect("writes");
        assert_eq!((built.samples, built.roots, built.files), (4, 2, 3));
        assert_eq!(
            built.bytes,
            std::fs::metadata(&target).expect("is there").len()
        );
        let reader =
            TortillaReader::open(&target, std::slice::from_ref(&target), &ctx).expect("opens");
        let (asset, _) = reader.asset(1, 1).expect("has bytes");
        assert_eq!(
            &crate::container::read_asset(&asset).expect("reads")[..],
            b"second"
        );
        let names: Vec<String> = reader
            .levels()
            .fields(0)
            .into_iter()
            .map(|field| field.name)
            .skip(2)
            .take(5)
            .collect();
        assert_eq!(
            names,
            [
                "tortilla:id",
                "tortilla:file_format",
                "tortilla:offset",
                "tortilla:length",
                "note"
            ]
        );
        let items = ["12345", "678", "90", "1234567890", "1"];
        let ids = ["a", "b", "c", "d", "e"];
        let split = draft(&ids, &["BYTES"; 5], items.into_iter().map(bytes).collect());
        let built = write_tortilla(
            split,
            &TortillaOptions {
                part_bytes: Some(8),
                ..options
            },
            &ctx,
        )
        .expect("writes");
        let names: Vec<String> = built
            .parts
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        let numbered = |n: usize| format!("x.{n:04}.part.tortilla");
        assert_eq!(names, [numbered(0), numbered(1), numbered(2), numbered(3)]);
        let set = crate::container::PartSet::from_path(&folder.path().join("x.*.part.tortilla"))
            .expect("is a set");
        let reader = TortillaReader::open(folder.path(), &set.files, &ctx).expect("opens");
        assert_eq!(
            (reader.levels().rows(0), reader.missing_parts().len()),
            (5, 0)
        );
        let (asset, _) = reader.asset(0, 3).expect("has bytes");
        assert_eq!(
            &crate::container::read_asset(&asset).expect("reads")[..],
            b"1234567890"
        );
    }

    fn options(target: PathBuf) -> TortillaOptions {
        TortillaOptions {
            text_form: false,
            target,
            collection: None,
            part_bytes: None,
            stream: false,
            allow_non_tog: false,
            overwrite: false,
            on_damage: OnDamage::Stop,
        }
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("reads");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("reads")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn parts_appear_together_and_replace_the_old_set() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let options = TortillaOptions {
            part_bytes: Some(1),
            ..options(folder.path().join("x.tortilla"))
        };
        let write = |items: Vec<TortillaItem>, overwrite: bool| {
            let ids: Vec<&str> = ["a", "b", "c", "d"].into_iter().take(items.len()).collect();
            let formats = vec!["BYTES"; items.len()];
            write_tortilla(
                draft(&ids, &formats, items),
                &TortillaOptions {
                    overwrite,
                    ..options.clone()
                },
                &ctx,
            )
        };
        std::fs::write(folder.path().join("x.0002.part.tortilla"), b"old").expect("writes");
        std::fs::write(folder.path().join("y.0002.part.tortilla"), b"another").expect("writes");
        let there = ["x.0002.part.tortilla", "y.0002.part.tortilla"];
        // A part that the new set does not contain also blocks the write.
        for count in [2, 4] {
            let error =
                write((0..count).map(|_| bytes("1")).collect(), false).expect_err("is in the way");
            assert!(
                error.to_string().contains("x.0002.part.tortilla"),
                "{error}"
            );
            assert_eq!(names_in(folder.path()), there);
        }
        let missing = RowSource::asset(AssetPath::file(folder.path().join("gone")), 3);
        assert!(
            write(
                vec![bytes("1"), bytes("2"), TortillaItem::Source(missing)],
                true
            )
            .is_err()
        );
        assert_eq!(
            names_in(folder.path()),
            there,
            "a set that can't be written leaves what was there"
        );
        assert_eq!(
            std::fs::read(folder.path().join(there[0])).expect("reads"),
            b"old"
        );
        write((0..4).map(|_| bytes("1")).collect(), true).expect("writes");
        assert_eq!(names_in(folder.path()).len(), 5);
        write(vec![bytes("1"), bytes("2")], true).expect("writes");
        assert_eq!(
            names_in(folder.path()),
            ["x.0000.part.tortilla", "x.0001.part.tortilla", there[1]]
        );
    }

    #[test]
    fn the_extension_must_match_the_format() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let write = |name: &str, collection: bool, part_bytes: Option<u64>| {
            let collection = collection.then(Default::default);
            let options = TortillaOptions {
                collection,
                part_bytes,
                ..options(folder.path().join(name))
            };
            write_tortilla(draft(&["a"], &["BYTES"], vec![bytes("1")]), &options, &ctx)
        };
        for (name, collection, part_bytes) in [
            ("x.zip", false, None),
            ("x.tortilla", true, None),
            ("x.taco", false, None),
            ("x", true, None),
            ("x.TACO", true, Some(9)),
        ] {
            assert!(write(name, collection, part_bytes).is_err(), "{name}");
        }
        assert!(names_in(folder.path()).is_empty());
        write("x.TACO", true, None).expect("writes");
    }

    #[test]
    fn chunks_are_called_after_ids_of_either_size_of_text() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let layout = ChunkLayout {
            little: true,
            size: [2, 2],
            bands: 1,
            chunk: [2, 2],
            stripped: true,
            chunk_bands: 1,
            bits: 8,
            sample_format: 1,
            compression: 1,
            predictor: 1,
            places: Vec::new(),
        };
        let tiff = crate::raster::lone_chunk(&layout, &[1, 2, 3, 4]);
        let ids: ArrayRef = Arc::new(arrow::array::LargeStringArray::from(vec!["img"]));
        let formats: ArrayRef = Arc::new(StringArray::from(vec!["GTiff"]));
        let footer = RecordBatch::try_from_iter_with_nullable([
            ("tortilla:id", ids, true),
            ("tortilla:file_format", formats, true),
        ]);
        let draft = TortillaDraft {
            footer: footer.expect("is a batch"),
            items: vec![TortillaItem::Source(RowSource::Bytes(Bytes::from(tiff)))],
        };
        let target = folder.path().join("x.tortilla");
        write_tortilla(
            draft,
            &TortillaOptions {
                stream: true,
                ..options(target.clone())
            },
            &ctx,
        )
        .expect("writes");
        let reader =
            TortillaReader::open(&target, std::slice::from_ref(&target), &ctx).expect("opens");
        let ids = reader
            .chunks()
            .and_then(|chunks| chunks.strings("tortilla:id").ok().flatten())
            .expect("are there");
        assert_eq!(ids.iter().collect::<Vec<_>>(), [Some("img::0")]);
    }
}
