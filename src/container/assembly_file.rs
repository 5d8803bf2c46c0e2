//! An assembly as a file, so that another process can write it: one line of JSON (collection,
//! column types, versions of containers), then two Parquet tables for each level, with the metadata
//! columns and with the sources of the rows. The decoded assembly gives the same bytes as the one
//! that was encoded.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, Int64Array, RecordBatch, StringArray, StringBuilder,
    UInt8Array, UInt32Array, UInt32Builder, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, UInt8Type, UInt32Type, UInt64Type};
use bytes::Bytes;

use super::{Assembly, AssemblyLevel, ByteSource, DatasetVersion, RowSource, check_json};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Collection, FieldSpec, MAX_LEVELS, Modified, PackedMember, Skeleton, Stamp,
};
use crate::table::{ParquetOptions, TableHead, write_parquet};

/// Version of the format; newer files are refused.
const VERSION: u32 = 1;
/// First bytes of every file.
const MAGIC: &[u8] = b"{\"taco_studio_part\":";
/// Maximum length of the first line in bytes.
const HEAD_MAX: u64 = 64 << 20;
/// Rows that are encoded at one time.
const ROW_GROUP: usize = 8192;

const FOLDER: u8 = 0;
const BYTES: u8 = 1;
const FILE: u8 = 2;
const RANGE: u8 = 3;
const VSI: u8 = 4;
const PACKED: u8 = 5;

/// First line of the file.
#[derive(serde::Serialize, serde::Deserialize)]
struct AssemblyHead {
    taco_studio_part: u32,
    collection: Collection,
    levels: Vec<LevelHead>,
    /// Versions of containers that rows refer to by index.
    stamps: Vec<Arc<Stamp>>,
    /// The files that the metadata was read from, with their versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<(String, Stamp)>,
}

/// One level: its columns, and the lengths of its two tables.
#[derive(serde::Serialize, serde::Deserialize)]
struct LevelHead {
    columns: Vec<ColumnHead>,
    /// Distinct sets of columns of `__meta__`, as indices into the columns.
    meta: Vec<Vec<usize>>,
    /// Length in bytes and CRC-32 of the table of values and of the table of sources.
    tables: [(u64, u32); 2],
}

/// A column with what Parquet does not keep: the exact type, and the metadata of the field.
#[derive(serde::Serialize, serde::Deserialize)]
struct ColumnHead {
    #[serde(flatten)]
    field: FieldSpec,
    nullable: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

impl ColumnHead {
    fn of_field(field: &Field) -> Self {
        Self {
            field: FieldSpec::new(field.name(), field.data_type().clone()),
            nullable: field.is_nullable(),
            metadata: field
                .metadata()
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        }
    }
}

/// The bytes of the file of an assembly.
///
/// # Errors
/// [`crate::error::Kind::Usage`] when the path of a source is not Unicode; cancellation.
pub fn encode_assembly(assembly: &Assembly, ctx: &JobContext) -> Result<Vec<u8>> {
    let mut stamps = ContainerStamps::default();
    let mut levels = Vec::with_capacity(assembly.levels.len());
    let mut tables = Vec::new();
    for (depth, level) in assembly.levels.iter().enumerate() {
        ctx.check()?;
        let schema = level.batch.schema();
        let mut meta: Vec<Vec<usize>> = Vec::new();
        let sources = sources_table(assembly, depth, &mut stamps, &mut meta)?;
        let both = [encode_batch(&level.batch)?, encode_batch(&sources)?];
        let measured = both
            .each_ref()
            .map(|bytes| (bytes.len() as u64, crc32fast::hash(bytes)));
        levels.push(LevelHead {
            columns: schema
                .fields()
                .iter()
                .map(|field| ColumnHead::of_field(field))
                .collect(),
            meta,
            tables: measured,
        });
        tables.extend(both);
    }
    let file = |(path, stamp): (PathBuf, Stamp)| -> Result<(String, Stamp)> {
        Ok((text_of(&path)?.to_owned(), stamp))
    };
    let files = assembly
        .version
        .to_record()
        .into_iter()
        .map(file)
        .collect::<Result<_>>()?;
    let head = AssemblyHead {
        taco_studio_part: VERSION,
        collection: assembly.collection.clone(),
        levels,
        stamps: stamps.all,
        files,
    };
    let mut bytes = serde_json::to_vec(&head)
        .map_err(|error| Error::internal("the part can't be written").because(error))?;
    bytes.push(b'\n');
    tables.iter().for_each(|table| bytes.extend(table));
    Ok(bytes)
}

fn encode_batch(batch: &RecordBatch) -> Result<Vec<u8>> {
    let options = ParquetOptions {
        level: Some(1),
        content_defined_chunking: false,
        row_group_rows: ROW_GROUP,
        ..ParquetOptions::default()
    };
    write_parquet(
        batch.schema().as_ref(),
        std::slice::from_ref(batch),
        &options,
    )
}

/// Versions of containers by their index; each is kept once.
#[derive(Default)]
struct ContainerStamps {
    all: Vec<Arc<Stamp>>,
    known: HashMap<Arc<Stamp>, u32>,
}

impl ContainerStamps {
    fn number(&mut self, stamp: &Arc<Stamp>) -> u32 {
        if let Some(&known) = self.known.get(stamp) {
            return known;
        }
        let number = self.all.len() as u32;
        self.all.push(stamp.clone());
        self.known.insert(stamp.clone(), number);
        number
    }
}

fn sources_table(
    assembly: &Assembly,
    depth: usize,
    stamps: &mut ContainerStamps,
    meta: &mut Vec<Vec<usize>>,
) -> Result<RecordBatch> {
    let (tree, level) = (&assembly.tree.levels[depth], &assembly.levels[depth]);
    let (mut kinds, mut modified, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut offsets, mut lengths, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut paths, mut bytes) = (StringBuilder::new(), BinaryBuilder::new());
    for source in &level.sources {
        let stated;
        let (kind, path, data, time) = match source {
            RowSource::Folder => (FOLDER, None, None, 0),
            RowSource::Bytes(data) => (BYTES, None, Some(data), 0),
            RowSource::Asset {
                path: AssetPath::File(path),
                modified,
                ..
            } => (FILE, Some(text_of(path)?), None, modified.0),
            RowSource::Asset {
                path: AssetPath::Range { container, .. },
                modified,
                ..
            } => (RANGE, Some(text_of(container)?), None, modified.0),
            RowSource::Asset {
                path: AssetPath::Packed(member),
                modified,
                ..
            } => {
                stated = stated_member(member)?;
                (
                    PACKED,
                    Some(text_of(&member.archive)?),
                    Some(&stated),
                    modified.0,
                )
            }
            RowSource::Asset {
                path: AssetPath::Vsi(text),
                modified,
                ..
            } => (VSI, Some(&**text), None, modified.0),
        };
        let (offset, length, stamp) = match source {
            RowSource::Asset {
                path:
                    AssetPath::Range {
                        offset,
                        size,
                        stamp,
                        ..
                    },
                ..
            } => (*offset, *size, stamp.as_ref()),
            _ => (0, 0, None),
        };
        kinds.push(kind);
        paths.append_option(path);
        bytes.append_option(data);
        offsets.push(offset);
        lengths.push(length);
        sizes.push(source.size_bytes());
        modified.push(time);
        versions.push(stamp.map(|stamp| stamps.number(stamp)));
    }
    let below = assembly.levels.get(depth + 1);
    let choices = number_meta_columns(below, level.sources.len() as u32, meta);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(tree.ids.clone())),
        ("parent", Arc::new(UInt32Array::from(tree.parents.clone()))),
        ("kind", Arc::new(UInt8Array::from(kinds))),
        ("path", Arc::new(paths.finish())),
        ("offset", Arc::new(UInt64Array::from(offsets))),
        ("length", Arc::new(UInt64Array::from(lengths))),
        ("size", Arc::new(UInt64Array::from(sizes))),
        ("modified", Arc::new(Int64Array::from(modified))),
        ("stamp", Arc::new(UInt32Array::from(versions))),
        ("bytes", Arc::new(bytes.finish())),
        ("meta", Arc::new(choices)),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .map_err(|error| Error::internal("the sources do not fit their table").because(error))
}

/// For each of these rows, the index in `meta` of the columns of its `__meta__`. The set of columns
/// of a FOLDER is kept with the rows of the level above, where `meta_columns` of the level below
/// refers to.
fn number_meta_columns(
    below: Option<&AssemblyLevel>,
    rows: u32,
    meta: &mut Vec<Vec<usize>>,
) -> UInt32Array {
    let mut known: HashMap<&[usize], u32> = HashMap::new();
    let mut choices = UInt32Builder::with_capacity(rows as usize);
    for row in 0..rows {
        let columns = below.and_then(|below| below.meta_columns.get(&row));
        choices.append_option(columns.map(|columns| {
            *known.entry(columns).or_insert_with(|| {
                meta.push(columns.to_vec());
                meta.len() as u32 - 1
            })
        }));
    }
    choices.finish()
}

/// What is known of a file in an archive, as JSON.
fn stated_member(member: &PackedMember) -> Result<Bytes> {
    member
        .to_json()
        .map(Bytes::from)
        .map_err(|error| Error::internal("a file in an archive can't be described").because(error))
}

fn text_of(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::usage("the path of this source is not Unicode, so a part can't refer to it")
            .at_path(path)
            .hint("rename the file")
    })
}

/// Reads an assembly from its file, local or remote. Sources are not looked at.
///
/// # Errors
/// [`crate::error::Kind::Format`] or [`crate::error::Kind::Unsupported`] for a damaged or newer
/// file; an IO error; cancellation.
pub fn decode_assembly(path: &Path, ctx: &JobContext) -> Result<Assembly> {
    let file = ByteSource::open(path)?;
    decode(&file, ctx).map_err(|error| {
        if error.place().is_some() {
            error
        } else {
            error.at_path(path)
        }
    })
}

fn damaged_part_error(what: &str) -> Error {
    Error::format(format!("the file of this part is damaged: {what}")).hint("write the plan again")
}

fn decode(file: &ByteSource, ctx: &JobContext) -> Result<Assembly> {
    let line = first_line(file)?;
    if !line.starts_with(MAGIC) {
        return Err(Error::format("this file is no part of a plan"));
    }
    check_json(&line)
        .map_err(|error| damaged_part_error("its first line is too large").because(error))?;
    let version = serde_json::from_slice::<serde_json::Value>(&line)
        .ok()
        .and_then(|head| head.get("taco_studio_part")?.as_u64());
    if version.is_some_and(|version| version > u64::from(VERSION)) {
        return Err(Error::unsupported(
            "this part was planned by a newer version of the studio",
        ));
    }
    let head: AssemblyHead = serde_json::from_slice(&line)
        .map_err(|error| damaged_part_error("its first line can't be read").because(error))?;
    if head.levels.is_empty() || head.levels.len() > MAX_LEVELS {
        return Err(damaged_part_error(&format!(
            "it has {} levels",
            head.levels.len()
        )));
    }
    let mut at = line.len() as u64;
    let mut columns = Vec::new();
    let mut levels: Vec<AssemblyLevel> = Vec::new();
    let mut meta_of_below = HashMap::new();
    for (depth, level) in head.levels.iter().enumerate() {
        ctx.check()?;
        let mut tables = Vec::with_capacity(2);
        for (length, crc) in level.tables {
            if at
                .checked_add(length)
                .is_none_or(|end| end > file.size_bytes())
            {
                return Err(damaged_part_error("it is shorter than it says"));
            }
            if crc32fast::hash(&file.read(at, length)?) != crc {
                return Err(damaged_part_error(&format!(
                    "the checksum of a table of level {depth} is wrong"
                )));
            }
            tables.push(
                TableHead::read(file.parquet(at, length)?)?
                    .decode(ctx)?
                    .to_batch()?,
            );
            at += length;
        }
        let [values, rows] = <[RecordBatch; 2]>::try_from(tables)
            .map_err(|_| damaged_part_error("a table is missing"))?;
        let batch = restore_types(&values, &level.columns)?;
        let above = columns.last().map_or(
            rows.num_rows(),
            |(ids, _, _): &(StringArray, Vec<bool>, Vec<u32>)| ids.len(),
        );
        let rows = SourceTable::from_batch(&rows, depth, above, &head.stamps)?;
        if rows.sources.len() != batch.num_rows() {
            return Err(damaged_part_error(&format!(
                "the tables of level {depth} have different numbers of rows"
            )));
        }
        let next_columns = head
            .levels
            .get(depth + 1)
            .map_or(0, |next| next.columns.len());
        let mut sets: Vec<Arc<[usize]>> = Vec::with_capacity(level.meta.len());
        for set in &level.meta {
            if set.iter().any(|&column| column >= next_columns) {
                return Err(damaged_part_error(
                    "a FOLDER names a column that the level below lacks",
                ));
            }
            sets.push(set.as_slice().into());
        }
        let folder = rows
            .sources
            .iter()
            .map(|source| *source == RowSource::Folder)
            .collect();
        let mut meta_of_next = HashMap::new();
        for (row, choice) in rows.choices {
            meta_of_next.insert(
                row,
                sets.get(choice as usize)
                    .cloned()
                    .ok_or_else(|| damaged_part_error("a set of columns is missing"))?,
            );
        }
        columns.push((rows.ids, folder, rows.parents));
        levels.push(AssemblyLevel {
            batch,
            sources: rows.sources,
            meta_columns: std::mem::replace(&mut meta_of_below, meta_of_next),
        });
    }
    let version = DatasetVersion::of_record(
        head.files
            .into_iter()
            .map(|(path, stamp)| (path.into(), stamp))
            .collect(),
    );
    Ok(Assembly {
        collection: head.collection,
        tree: Arc::new(Skeleton::from_columns(columns)),
        levels,
        version,
    })
}

/// The first line with its line break.
fn first_line(file: &ByteSource) -> Result<Vec<u8>> {
    const PIECE: u64 = 64 << 10;
    let mut line = Vec::new();
    while (line.len() as u64) < file.size_bytes().min(HEAD_MAX) {
        let at = line.len() as u64;
        let piece = file.read(at, PIECE.min(file.size_bytes() - at))?;
        if let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
            line.extend_from_slice(&piece[..=end]);
            return Ok(line);
        }
        line.extend_from_slice(&piece);
        if !line.starts_with(MAGIC) {
            break;
        }
    }
    Err(Error::format("this file is no part of a plan"))
}

/// The values with the types and fields that they had before they were stored.
fn restore_types(values: &RecordBatch, columns: &[ColumnHead]) -> Result<RecordBatch> {
    if values.num_columns() != columns.len() {
        return Err(damaged_part_error("it has other columns than it says"));
    }
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (
        array,
        ColumnHead {
            field,
            nullable,
            metadata,
        },
    ) in values.columns().iter().zip(columns)
    {
        let exact = if *array.data_type() == field.dtype {
            array.clone()
        } else {
            cast(array, &field.dtype).map_err(|error| {
                damaged_part_error(&format!("column {} has another type", field.name))
                    .because(error)
            })?
        };
        let metadata: HashMap<String, String> = metadata.clone().into_iter().collect();
        fields
            .push(Field::new(&field.name, field.dtype.clone(), *nullable).with_metadata(metadata));
        arrays.push(exact);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| damaged_part_error("a table does not fit").because(error))
}

/// The decoded table of sources of one level.
struct SourceTable {
    ids: StringArray,
    parents: Vec<u32>,
    sources: Vec<RowSource>,
    /// Index of the set of columns of a FOLDER's `__meta__`, by row.
    choices: Vec<(u32, u32)>,
}

impl SourceTable {
    fn from_batch(
        table: &RecordBatch,
        depth: usize,
        above: usize,
        stamps: &[Arc<Stamp>],
    ) -> Result<Self> {
        let ids = find_column_of_type(table, "id", DataType::Utf8)?
            .as_string::<i32>()
            .clone();
        let parents = find_column_of_type(table, "parent", DataType::UInt32)?
            .as_primitive::<UInt32Type>()
            .values()
            .to_vec();
        let kinds = find_column_of_type(table, "kind", DataType::UInt8)?;
        let paths = find_column_of_type(table, "path", DataType::Utf8)?;
        let data = find_column_of_type(table, "bytes", DataType::Binary)?;
        let (times, versions) = (
            find_column_of_type(table, "modified", DataType::Int64)?,
            find_column_of_type(table, "stamp", DataType::UInt32)?,
        );
        let (versions, choices) = (
            versions.as_primitive::<UInt32Type>(),
            find_column_of_type(table, "meta", DataType::UInt32)?,
        );
        let choices = choices.as_primitive::<UInt32Type>();
        let numbers = ["offset", "length", "size"]
            .map(|name| find_column_of_type(table, name, DataType::UInt64));
        let [offsets, lengths, sizes] = numbers;
        let (offsets, lengths, sizes) = (offsets?, lengths?, sizes?);
        let number = |array: &ArrayRef, row: usize| array.as_primitive::<UInt64Type>().value(row);
        // The writers take the children of a FOLDER as one range of rows.
        let in_order = match depth {
            0 => parents
                .iter()
                .enumerate()
                .all(|(row, &parent)| row as u32 == parent),
            _ => parents.is_sorted() && parents.last().is_none_or(|&last| (last as usize) < above),
        };
        if !in_order || ids.null_count() > 0 {
            return Err(damaged_part_error(&format!(
                "the rows of level {depth} are not in the order of their parents"
            )));
        }
        let mut sources = Vec::with_capacity(ids.len());
        let mut shared: Option<(String, Arc<Path>)> = None;
        for row in 0..ids.len() {
            let mut path = || share_path(&mut shared, paths.as_string::<i32>().value(row));
            let size = number(&sizes, row);
            let path = match kinds.as_primitive::<UInt8Type>().value(row) {
                FOLDER => {
                    sources.push(RowSource::Folder);
                    continue;
                }
                BYTES => {
                    sources.push(RowSource::Bytes(Bytes::copy_from_slice(
                        data.as_binary::<i32>().value(row),
                    )));
                    continue;
                }
                FILE => AssetPath::File(path()),
                RANGE => {
                    let stamp = if versions.is_valid(row) {
                        let known = stamps.get(versions.value(row) as usize);
                        Some(known.cloned().ok_or_else(|| {
                            damaged_part_error("the version of a container is missing")
                        })?)
                    } else {
                        None
                    };
                    AssetPath::Range {
                        container: path(),
                        offset: number(&offsets, row),
                        size: number(&lengths, row),
                        stamp,
                    }
                }
                PACKED => {
                    let member = PackedMember::of_json(data.as_binary::<i32>().value(row), path());
                    let member = member.map_err(|error| {
                        damaged_part_error("a file in an archive is not described").because(error)
                    })?;
                    AssetPath::Packed(member.into())
                }
                VSI => AssetPath::Vsi(paths.as_string::<i32>().value(row).into()),
                other => {
                    return Err(damaged_part_error(&format!(
                        "there is no kind {other} of sources"
                    )));
                }
            };
            let modified = Modified(times.as_primitive::<Int64Type>().value(row));
            sources.push(RowSource::Asset {
                path,
                size,
                modified,
            });
        }
        let chosen = (0..choices.len())
            .filter(|&row| choices.is_valid(row))
            .map(|row| (row as u32, choices.value(row)));
        let choices = chosen.collect();
        Ok(Self {
            ids,
            parents,
            sources,
            choices,
        })
    }
}

fn find_column_of_type(table: &RecordBatch, name: &str, dtype: DataType) -> Result<ArrayRef> {
    let array = table
        .column_by_name(name)
        .filter(|array| *array.data_type() == dtype);
    array
        .cloned()
        .ok_or_else(|| damaged_part_error(&format!("it has no column {name}")))
}

/// The path of this text; the one before when it is the same.
fn share_path(last: &mut Option<(String, Arc<Path>)>, text: &str) -> Arc<Path> {
    if let Some((_, path)) = last.as_ref().filter(|(known, _)| known == text) {
        return path.clone();
    }
    let path: Arc<Path> = PathBuf::from(text).into();
    *last = Some((text.to_owned(), path.clone()));
    path
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, TimestampSecondArray};
    use arrow::datatypes::TimeUnit;

    use super::*;
    use crate::model::{Dataset, PackedCodec, Payload, Sample, Tortilla, Value};

    fn varied() -> Assembly {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
        let fields = vec![
            FieldSpec {
                description: "what it shows".into(),
                ..FieldSpec::new("name", DataType::Utf8)
            },
            FieldSpec::new(
                "at",
                DataType::Timestamp(TimeUnit::Second, Some("UTC".into())),
            ),
            FieldSpec::new("histogram", list),
            FieldSpec::new("count", DataType::UInt64),
            FieldSpec::new("day", DataType::Date32),
        ];
        let stamp = Arc::new(Stamp {
            size: 9,
            modified: Modified(5),
            etag: Some("e".into()),
            directory: Some(7),
        });
        let range = AssetPath::Range {
            container: Path::new("s3://b/y.tacozip").into(),
            offset: 3,
            size: 9,
            stamp: Some(stamp),
        };
        let packed = PackedMember {
            archive: Path::new("/in/z.tar.gz").into(),
            name: "a/ñ.tif".into(),
            codec: PackedCodec::Gzip,
            start: 0,
            length: 90,
            offset: 512,
            size: 9,
            crc: None,
            stamp: Arc::new(Stamp {
                size: 90,
                modified: Modified(5),
                etag: None,
                directory: None,
            }),
        };
        let values: Arc<[Value]> = vec![
            Value::text("ñ, \"x\"\n"),
            Value::Int(1_700_000_001),
            Value::List([Value::Float(0.5), Value::Null].into()),
            Value::UInt(u64::MAX),
            Value::Int(3),
        ]
        .into();
        let file = Sample {
            values: values.clone(),
            ..Sample::new_file("a.tif", "/in/a.tif", 7)
        };
        let below = Tortilla {
            schema: fields.clone().into(),
            samples: vec![
                file,
                Sample {
                    payload: Payload::asset(range, 9),
                    ..Sample::new_file("b", "", 0)
                },
                Sample {
                    payload: Payload::Bytes([1, 2, 0].into()),
                    ..Sample::new_file("c", "", 0)
                },
                Sample {
                    payload: Payload::asset(AssetPath::Packed(packed.into()), 9),
                    ..Sample::new_file("d", "", 0)
                },
            ],
        };
        let other = Tortilla {
            schema: fields[..1].to_vec().into(),
            samples: below.samples.clone(),
        };
        let mut root = Tortilla::new(vec![
            Sample::new_folder("p", below.clone()),
            Sample::new_folder("q", other),
            Sample::new_folder("r", below),
        ]);
        root.schema = vec![FieldSpec::new("ok", DataType::Boolean)].into();
        let mut collection = Collection::template();
        collection.set("title", Some("T \u{1f980}".into()));
        Assembly::of_dataset(
            &Dataset {
                collection,
                root: root.into(),
            },
            &JobContext::default(),
        )
        .expect("lays out")
    }

    fn through(assembly: &Assembly) -> Assembly {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("part0001.part");
        std::fs::write(
            &path,
            encode_assembly(assembly, &JobContext::default()).expect("encodes"),
        )
        .expect("writes");
        decode_assembly(&path, &JobContext::default()).expect("decodes")
    }

    #[test]
    fn an_assembly_comes_back_with_every_type_source_and_set_of_columns() {
        let whole = varied();
        for assembly in [
            whole
                .of_roots(&[2, 1], &JobContext::default())
                .expect("chooses")
                .into_owned(),
            whole,
        ] {
            let again = through(&assembly);
            assert_eq!(again.collection, assembly.collection);
            for (depth, (found, known)) in again.levels.iter().zip(&assembly.levels).enumerate() {
                assert_eq!(found.batch, known.batch, "level {depth}");
                assert_eq!(found.batch.schema(), known.batch.schema(), "level {depth}");
                assert_eq!(
                    (&found.sources, &found.meta_columns),
                    (&known.sources, &known.meta_columns)
                );
                let (found, known) = (&again.tree.levels[depth], &assembly.tree.levels[depth]);
                assert_eq!(
                    (&found.ids, &found.folder, &found.parents),
                    (&known.ids, &known.folder, &known.parents)
                );
            }
        }
    }

    #[test]
    fn types_that_parquet_widens_are_as_they_were() {
        let mut assembly = varied();
        let level = &mut assembly.levels[0];
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(1), None, Some(-5)]));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
        let fields = [("s", seconds), ("f", flags)]
            .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array));
        let mut schema: Vec<Field> = level
            .batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let mut columns = level.batch.columns().to_vec();
        for (field, array) in fields {
            schema.push(field);
            columns.push(array);
        }
        level.batch =
            RecordBatch::try_new(Arc::new(Schema::new(schema)), columns).expect("a batch");
        assert_eq!(through(&assembly).levels[0].batch, assembly.levels[0].batch);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, ctx) = (folder.path().join("part0001.part"), JobContext::default());
        let good = encode_assembly(&varied(), &ctx).expect("encodes");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("writes");
            decode_assembly(&path, &ctx).expect_err("is refused")
        };
        let head = good.iter().position(|&byte| byte == b'\n').expect("a line");
        for at in [0, 5, head / 2, head + 1, head + 40, good.len() - 9] {
            let mut bad = good.clone();
            bad[at] ^= 0x15;
            refused(&bad);
        }
        for length in [0, 3, head, head + 1, good.len() - 1] {
            refused(&good[..length]);
        }
        let text = String::from_utf8_lossy(&good[..head]).replacen(":1,", ":2,", 1);
        assert_eq!(
            refused(format!("{text}\n").as_bytes()).kind(),
            crate::error::Kind::Unsupported
        );
    }
}
