//! Samples and tray as tables, and back: one row per sample in tree order, and one table of values
//! per distinct schema. Every value survives the round trip, even one that does not fit its field's
//! type.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, RecordBatch, StringArray, StringBuilder, UInt8Array,
    UInt32Array, UInt64Array, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, UInt8Type, UInt32Type, UInt64Type};

use super::source_paths::ProjectFolder;
use crate::draft::{Content, Unplaced};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{
    AssetPath, FieldSpec, MAX_FOLDER_NESTING, PackedMember, Payload, Sample, Schema, Stamp,
    Tortilla, Value, find_schema,
};
use crate::table::{LevelTable, ParquetOptions, array_of, value_at, write_parquet};

/// Maximum number of distinct strings that are shared between rows.
const SHARED_MAX: usize = 4096;
/// Prefix of columns stored as JSON because not all values fit their type.
const JSON_MARK: &str = "json:";

const FILE: u8 = 0;
const RANGE: u8 = 1;
const VSI: u8 = 2;
const BYTES: u8 = 3;
const FOLDER: u8 = 4;
const PACKED: u8 = 5;

/// Tables of a project: as bytes when writing, decoded when reading.
pub(super) struct ProjectTables<T> {
    pub schemas: Vec<Schema>,
    pub root_schema: u32,
    pub parts: Vec<(String, T)>,
    /// Container versions that rows refer to by index.
    pub stamps: Vec<Arc<Stamp>>,
}

impl<T> ProjectTables<T> {
    fn find_part(&self, name: &str) -> Option<&T> {
        let part = self.parts.iter().find(|part| part.0 == name);
        part.map(|part| &part.1)
    }
}

/// All samples in tree order, and the distinct schemas.
struct FlatSamples<'a> {
    samples: Vec<&'a Sample>,
    /// For a FOLDER, the index of its children's schema.
    below: Vec<u32>,
    schemas: Vec<Schema>,
    /// Rows per schema.
    of_schema: Vec<Vec<&'a Sample>>,
}

impl<'a> FlatSamples<'a> {
    fn schema(&mut self, schema: &Schema) -> u32 {
        let known = find_schema(&self.schemas, schema);
        known.unwrap_or_else(|| {
            self.schemas.push(schema.clone());
            self.of_schema.push(Vec::new());
            self.schemas.len() - 1
        }) as u32
    }

    fn walk(&mut self, tortilla: &'a Tortilla, depth: usize, ctx: &JobContext) -> Result<u32> {
        ctx.check()?;
        if depth > MAX_FOLDER_NESTING {
            return Err(Error::usage(format!(
                "FOLDERs are nested more than {MAX_FOLDER_NESTING} deep"
            )));
        }
        let own = self.schema(&tortilla.schema);
        for sample in &tortilla.samples {
            let row = self.samples.len();
            self.samples.push(sample);
            self.below.push(0);
            if !tortilla.schema.is_empty() {
                self.of_schema[own as usize].push(sample);
            }
            if let Some(children) = sample.children() {
                self.below[row] = self.walk(children, depth + 1, ctx)?;
            }
        }
        Ok(own)
    }
}

pub(super) fn write(
    content: &Content,
    base: &ProjectFolder,
    ctx: &JobContext,
) -> Result<ProjectTables<Vec<u8>>> {
    let mut flat = FlatSamples {
        samples: Vec::new(),
        below: Vec::new(),
        schemas: Vec::new(),
        of_schema: Vec::new(),
    };
    let root_schema = flat.walk(&content.dataset.root, 0, ctx)?;
    let mut stamps = ProjectStamps::default();
    let mut tables = vec![(
        "samples".to_owned(),
        samples_table(&flat, base, &mut stamps)?,
    )];
    for (number, rows) in flat
        .of_schema
        .iter()
        .enumerate()
        .filter(|(_, rows)| !rows.is_empty())
    {
        ctx.check()?;
        tables.push((
            format!("values{number}"),
            values_table(&flat.schemas[number], rows)?,
        ));
    }
    if !content.tray.is_empty() {
        tables.push(("tray".into(), tray_table(&content.tray, base)?));
    }
    let options = ParquetOptions {
        level: Some(1),
        content_defined_chunking: false,
        ..ParquetOptions::default()
    };
    let parts = try_map(tables, |_, (name, batch)| {
        ctx.check()?;
        let bytes = write_parquet(batch.schema().as_ref(), &[batch], &options)?;
        Ok((name, bytes))
    })?;
    Ok(ProjectTables {
        schemas: flat.schemas,
        root_schema,
        parts,
        stamps: stamps.all,
    })
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(
        Arc::new(ArrowSchema::new(fields)),
        columns.into_iter().map(|column| column.1).collect(),
    )
    .map_err(|error| Error::internal("the project's tables do not fit").because(error))
}

/// Distinct container versions.
#[derive(Default)]
struct ProjectStamps {
    all: Vec<Arc<Stamp>>,
    numbers: HashMap<Arc<Stamp>, u32>,
}

impl ProjectStamps {
    fn number(&mut self, stamp: &Arc<Stamp>) -> u32 {
        if let Some(last) = self
            .all
            .last()
            .filter(|last| Arc::ptr_eq(last, stamp))
            .and(self.all.len().checked_sub(1))
        {
            return last as u32;
        }
        *self.numbers.entry(stamp.clone()).or_insert_with(|| {
            self.all.push(stamp.clone());
            self.all.len() as u32 - 1
        })
    }
}

fn samples_table(
    flat: &FlatSamples<'_>,
    base: &ProjectFolder,
    stamps: &mut ProjectStamps,
) -> Result<RecordBatch> {
    let count = flat.samples.len();
    let (mut ids, mut paths, mut bytes) = (
        StringBuilder::new(),
        StringBuilder::new(),
        BinaryBuilder::new(),
    );
    let (mut kinds, mut offsets, mut sizes) = (
        Vec::with_capacity(count),
        UInt64Builder::new(),
        UInt64Builder::new(),
    );
    let mut children = Vec::with_capacity(count);
    let mut versions: Vec<Option<u32>> = Vec::with_capacity(count);
    let mut last: Option<(Arc<Path>, String)> = None;
    for sample in &flat.samples {
        ids.append_value(&sample.id);
        versions.push(match &sample.payload {
            Payload::Asset { path, .. } => path.stamp().map(|stamp| stamps.number(stamp)),
            _ => None,
        });
        let (kind, path, offset, size, data, below) = match &sample.payload {
            Payload::Asset {
                path: AssetPath::File(path),
                size,
                ..
            } => (
                FILE,
                Some(base.format_saved_path(path)?),
                None,
                Some(*size),
                None,
                0,
            ),
            Payload::Asset {
                path:
                    AssetPath::Range {
                        container,
                        offset,
                        size: length,
                        ..
                    },
                size,
                ..
            } => {
                let text = match last.take() {
                    Some((known, text)) if Arc::ptr_eq(&known, container) => text,
                    _ => base.format_saved_path(container)?,
                };
                last = Some((container.clone(), text.clone()));
                // A range length that differs from the sample's size is stored separately.
                let data = (length != size).then(|| length.to_le_bytes().to_vec());
                (RANGE, Some(text), Some(*offset), Some(*size), data, 0)
            }
            Payload::Asset {
                path: AssetPath::Packed(member),
                size,
                ..
            } => {
                let stated = member.to_json().map_err(|error| {
                    Error::internal("a file in an archive can't be saved")
                        .because(error)
                        .at_place(member)
                })?;
                (
                    PACKED,
                    Some(base.format_saved_path(&member.archive)?),
                    None,
                    Some(*size),
                    Some(stated),
                    0,
                )
            }
            Payload::Asset {
                path: AssetPath::Vsi(text),
                size,
                ..
            } => (VSI, Some(text.to_string()), None, Some(*size), None, 0),
            Payload::Bytes(bytes) => (BYTES, None, None, None, Some(bytes.to_vec()), 0),
            Payload::Folder(tortilla) => (
                FOLDER,
                None,
                None,
                None,
                None,
                tortilla.samples.len() as u32,
            ),
        };
        kinds.push(kind);
        paths.append_option(path);
        offsets.append_option(offset);
        sizes.append_option(size);
        bytes.append_option(data);
        children.push(below);
    }
    batch(vec![
        ("id", Arc::new(ids.finish())),
        ("kind", Arc::new(UInt8Array::from(kinds))),
        ("path", Arc::new(paths.finish())),
        ("offset", Arc::new(offsets.finish())),
        ("size", Arc::new(sizes.finish())),
        ("bytes", Arc::new(bytes.finish())),
        ("children", Arc::new(UInt32Array::from(children))),
        ("fields", Arc::new(UInt32Array::from(flat.below.clone()))),
        ("stamp", Arc::new(UInt32Array::from(versions))),
    ])
}

fn values_table(schema: &Schema, rows: &[&Sample]) -> Result<RecordBatch> {
    let columns: Vec<(String, ArrayRef)> =
        try_map(&**schema, |index, field| build_column(index, field, rows))?;
    batch(
        columns
            .iter()
            .map(|(name, array)| (name.as_str(), array.clone()))
            .collect(),
    )
}

/// The values of the field with this index, under the name of their column: as JSON where an array
/// does not hold them as they are.
fn build_column(index: usize, field: &FieldSpec, rows: &[&Sample]) -> Result<(String, ArrayRef)> {
    // Columns are named by number: field names may repeat or clash with the prefix.
    let name = index.to_string();
    if let Ok(array) = array_of(field, rows.iter().map(|row| row.value(index)))
        && rows
            .iter()
            .enumerate()
            .all(|(row, sample)| comes_back(&array, row, sample.value(index)))
    {
        return Ok((name, array));
    }
    let mut texts = StringBuilder::new();
    for row in rows {
        let text = serde_json::to_string(row.value(index)).map_err(|error| {
            Error::usage(format!(
                "a value of {} in {} can't be saved",
                field.name, row.id
            ))
            .because(error)
        })?;
        texts.append_value(text);
    }
    Ok((format!("{JSON_MARK}{name}"), Arc::new(texts.finish())))
}

/// True when the array returns the value unchanged. Parquet widens seconds and days to
/// milliseconds, so those are stored as JSON.
fn comes_back(array: &ArrayRef, row: usize, value: &Value) -> bool {
    let widened = matches!(
        array.data_type(),
        DataType::Date64 | DataType::Time32(arrow::datatypes::TimeUnit::Second)
    ) || matches!(
        array.data_type(),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Second, _)
    );
    !widened
        && match (value_at(array, row), value) {
            (Value::Int(a), Value::UInt(b)) => u64::try_from(a) == Ok(*b),
            (found, value) => found == *value,
        }
}

fn tray_table(tray: &[Unplaced], base: &ProjectFolder) -> Result<RecordBatch> {
    let paths = tray
        .iter()
        .map(|file| base.format_saved_path(&file.path))
        .collect::<Result<Vec<_>>>()?;
    let sizes: Vec<u64> = tray.iter().map(|file| file.size).collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("path", Arc::new(StringArray::from(paths))),
        ("size", Arc::new(UInt64Array::from(sizes))),
    ];
    if tray.iter().any(|file| file.folder.is_some()) {
        let stamps = tray
            .iter()
            .map(|file| file.folder.as_ref().map(serde_json::to_string).transpose())
            .collect::<serde_json::Result<Vec<Option<String>>>>()
            .map_err(|error| Error::internal("a version is not JSON").because(error))?;
        columns.push(("folder", Arc::new(StringArray::from(stamps))));
    }
    batch(columns)
}

/// Reads the root and the tray.
pub(super) fn read(
    tables: &ProjectTables<LevelTable>,
    roots: u32,
    base: &ProjectFolder,
    ctx: &JobContext,
) -> Result<(Tortilla, Vec<Unplaced>)> {
    let samples = tables
        .find_part("samples")
        .ok_or_else(|| damaged_project_error("it has no samples"))?;
    let columns = ProjectColumns::from_table(samples)?;
    let mut values = Vec::with_capacity(tables.schemas.len());
    for (number, schema) in tables.schemas.iter().enumerate() {
        ctx.check()?;
        values.push(match tables.find_part(&format!("values{number}")) {
            Some(table) => rows_of(table, schema)?.into_iter(),
            None => Vec::new().into_iter(),
        });
    }
    let mut reading = TableReading {
        columns,
        base,
        row: 0,
        values,
        schemas: &tables.schemas,
        ids: HashSet::new(),
        container: None,
        stamps: &tables.stamps,
        ctx,
    };
    let root = reading.tortilla(roots, tables.root_schema, 0)?;
    if reading.row != samples.rows() {
        return Err(damaged_project_error(
            "it has more samples than FOLDERs for them",
        ));
    }
    let mut tray = Vec::new();
    if let Some(table) = tables.find_part("tray") {
        let (paths, sizes) = (strings(table, "path")?, column(table, "size")?);
        let sizes = sizes
            .as_primitive_opt::<UInt64Type>()
            .ok_or_else(|| damaged_project_error("size is of another type"))?;
        let stamps = match table.column_index("folder") {
            Some(_) => Some(strings(table, "folder")?),
            None => None,
        };
        tray = (0..table.rows())
            .map(|row| {
                let stamp = stamps.as_ref().filter(|stamps| stamps.is_valid(row));
                let folder = stamp.map(|stamps| serde_json::from_str(stamps.value(row)));
                Ok(Unplaced {
                    path: base.parse_saved_path(paths.value(row)),
                    size: sizes.value(row),
                    folder: folder
                        .transpose()
                        .map_err(|_| damaged_project_error("a version in the tray is no JSON"))?,
                })
            })
            .collect::<Result<_>>()?;
    }
    Ok((root, tray))
}

fn damaged_project_error(what: &str) -> Error {
    Error::format(format!("the project is damaged: {what}"))
}

fn column(table: &LevelTable, name: &str) -> Result<ArrayRef> {
    table.column(
        table
            .column_index(name)
            .ok_or_else(|| damaged_project_error(&format!("it has no column {name}")))?,
    )
}

fn strings(table: &LevelTable, name: &str) -> Result<StringArray> {
    let array = column(table, name)?;
    array
        .as_string_opt::<i32>()
        .cloned()
        .ok_or_else(|| damaged_project_error(&format!("{name} is of another type")))
}

struct ProjectColumns {
    ids: StringArray,
    kinds: ArrayRef,
    paths: StringArray,
    offsets: ArrayRef,
    sizes: ArrayRef,
    bytes: ArrayRef,
    children: ArrayRef,
    fields: ArrayRef,
    /// Absent in older projects.
    stamps: Option<ArrayRef>,
}

impl ProjectColumns {
    fn from_table(table: &LevelTable) -> Result<Self> {
        let typed = |name: &str, dtype: DataType| read_column_of_type(table, name, &dtype);
        Ok(Self {
            ids: strings(table, "id")?,
            kinds: typed("kind", DataType::UInt8)?,
            paths: strings(table, "path")?,
            offsets: typed("offset", DataType::UInt64)?,
            sizes: typed("size", DataType::UInt64)?,
            bytes: typed("bytes", DataType::Binary)?,
            children: typed("children", DataType::UInt32)?,
            fields: typed("fields", DataType::UInt32)?,
            stamps: table
                .column_index("stamp")
                .map(|_| typed("stamp", DataType::UInt32))
                .transpose()?,
        })
    }

    fn number(array: &ArrayRef, row: usize) -> u64 {
        if array.is_null(row) {
            0
        } else {
            array.as_primitive::<UInt64Type>().value(row)
        }
    }
}

fn read_column_of_type(table: &LevelTable, name: &str, dtype: &DataType) -> Result<ArrayRef> {
    let array = column(table, name)?;
    if array.data_type() == dtype {
        Ok(array)
    } else {
        Err(damaged_project_error(&format!("{name} is of another type")))
    }
}

struct TableReading<'a> {
    columns: ProjectColumns,
    base: &'a ProjectFolder,
    row: usize,
    values: Vec<std::vec::IntoIter<Arc<[Value]>>>,
    schemas: &'a [Schema],
    ids: HashSet<Arc<str>>,
    container: Option<(String, Arc<Path>)>,
    stamps: &'a [Arc<Stamp>],
    ctx: &'a JobContext,
}

impl TableReading<'_> {
    fn tortilla(&mut self, count: u32, schema: u32, depth: usize) -> Result<Tortilla> {
        self.ctx.check()?;
        let own = self
            .schemas
            .get(schema as usize)
            .cloned()
            .ok_or_else(|| damaged_project_error("a list of fields is missing"))?;
        if depth > MAX_FOLDER_NESTING || self.row + count as usize > self.columns.ids.len() {
            return Err(damaged_project_error(
                "a FOLDER has more children than there are samples",
            ));
        }
        let mut samples = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let row = self.row;
            if row >= self.columns.ids.len() {
                return Err(damaged_project_error(
                    "a FOLDER has more children than there are samples",
                ));
            }
            self.row += 1;
            let id = self.id(row);
            let values = if own.is_empty() {
                Arc::from([])
            } else {
                let next = self
                    .values
                    .get_mut(schema as usize)
                    .and_then(Iterator::next);
                next.ok_or_else(|| damaged_project_error("values are missing"))?
            };
            let payload = self.payload(row, depth)?;
            samples.push(Sample {
                id,
                payload,
                values,
            });
        }
        Ok(Tortilla {
            schema: own,
            samples,
        })
    }

    fn id(&mut self, row: usize) -> Arc<str> {
        let text = self.columns.ids.value(row);
        if let Some(known) = self.ids.get(text) {
            return known.clone();
        }
        let id: Arc<str> = text.into();
        if self.ids.len() < SHARED_MAX {
            self.ids.insert(id.clone());
        }
        id
    }

    fn payload(&mut self, row: usize, depth: usize) -> Result<Payload> {
        let columns = &self.columns;
        let size = ProjectColumns::number(&columns.sizes, row);
        let bytes = columns.bytes.as_binary::<i32>().value(row);
        match columns.kinds.as_primitive::<UInt8Type>().value(row) {
            FILE => Ok(Payload::asset(
                AssetPath::file(self.base.parse_saved_path(columns.paths.value(row))),
                size,
            )),
            RANGE => {
                let offset = ProjectColumns::number(&columns.offsets, row);
                let length = bytes.try_into().map_or(size, u64::from_le_bytes);
                let text = columns.paths.value(row);
                let container = match &self.container {
                    Some((known, container)) if known == text => container.clone(),
                    _ => Arc::from(self.base.parse_saved_path(text)),
                };
                self.container = Some((text.to_owned(), container.clone()));
                let stamp = match columns
                    .stamps
                    .as_ref()
                    .filter(|stamps| stamps.is_valid(row))
                {
                    Some(stamps) => {
                        let stamp = self
                            .stamps
                            .get(stamps.as_primitive::<UInt32Type>().value(row) as usize);
                        Some(stamp.cloned().ok_or_else(|| {
                            damaged_project_error("the version of a container is missing")
                        })?)
                    }
                    None => None,
                };
                Ok(Payload::asset(
                    AssetPath::Range {
                        container,
                        offset,
                        size: length,
                        stamp,
                    },
                    size,
                ))
            }
            PACKED => {
                let archive = Arc::from(self.base.parse_saved_path(columns.paths.value(row)));
                let member = PackedMember::of_json(bytes, archive);
                let member = member.map_err(|error| {
                    damaged_project_error("a file in an archive is not described").because(error)
                })?;
                Ok(Payload::asset(AssetPath::Packed(member.into()), size))
            }
            VSI => Ok(Payload::asset(
                AssetPath::Vsi(columns.paths.value(row).into()),
                size,
            )),
            BYTES => Ok(Payload::Bytes(bytes.into())),
            FOLDER => {
                let children = columns.children.as_primitive::<UInt32Type>().value(row);
                let fields = columns.fields.as_primitive::<UInt32Type>().value(row);
                Ok(Payload::Folder(Arc::new(self.tortilla(
                    children,
                    fields,
                    depth + 1,
                )?)))
            }
            other => Err(damaged_project_error(&format!(
                "there is no kind {other} of samples"
            ))),
        }
    }
}

/// Values of all rows of one schema.
fn rows_of(table: &LevelTable, schema: &Schema) -> Result<Vec<Arc<[Value]>>> {
    let mut columns = Vec::with_capacity(schema.len());
    for (index, field) in schema.iter().enumerate() {
        let plain = table.column_index(&index.to_string());
        columns.push(match plain {
            Some(place) => values_of(&cast(table.column(place)?, field)?),
            None => {
                let texts = strings(table, &format!("{JSON_MARK}{index}"))?;
                (0..table.rows())
                    .map(|row| parse_json_value(texts.value(row)))
                    .collect::<Result<Vec<Value>>>()?
            }
        });
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    Ok((0..table.rows())
        .map(|_| {
            columns
                .iter_mut()
                .map(|column| column.next().unwrap_or_default())
                .collect()
        })
        .collect())
}

fn parse_json_value(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| damaged_project_error("a value can't be read").because(error))
}

fn cast(array: ArrayRef, field: &FieldSpec) -> Result<ArrayRef> {
    if *array.data_type() == field.dtype {
        return Ok(array);
    }
    arrow::compute::cast(&array, &field.dtype).map_err(|error| {
        damaged_project_error(&format!("{} is of another type", field.name)).because(error)
    })
}

/// Values of a column; repeated strings are shared.
fn values_of(array: &ArrayRef) -> Vec<Value> {
    let mut known: HashMap<String, Arc<str>> = HashMap::new();
    (0..array.len())
        .map(|row| share_text(value_at(array, row), &mut known))
        .collect()
}

/// The value itself, or a text with the memory of an equal one that is known.
fn share_text(value: Value, known: &mut HashMap<String, Arc<str>>) -> Value {
    match value {
        Value::Text(text) => Value::Text(match known.get(&*text) {
            Some(known) => known.clone(),
            None => {
                if known.len() < SHARED_MAX {
                    known.insert(text.to_string(), text.clone());
                }
                text
            }
        }),
        value => value,
    }
}
