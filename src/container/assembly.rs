//! A dataset arranged level by level for the writers: built from a draft, or from an opened dataset
//! whose tables are reused as Arrow batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;

use super::collection_file::DESCRIPTION;
use super::stale_index::refuse_stale_index;
use super::{AT_ONCE, ContainerReader, DatasetVersion, LevelSet, field_schema_of};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Collection, Dataset, FieldSpec, MAX_LEVELS, Modified, Payload, PitSchema, Sample,
    SamplePath, Skeleton, Tortilla, UnitedFields, Value, check_field_name, check_sample_id,
    dtype_name, list_tortillas_below,
};
use crate::table::{array_of, take_rows};

/// The core column of the location of a sample's data (TACO 2.0, section 5.5.1).
pub(super) const PATH: &str = "path";

/// Source of the bytes of one row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowSource {
    /// A FOLDER; the writer generates its `__meta__`.
    Folder,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A whole file or a byte range of one.
    Asset {
        /// File or range.
        path: AssetPath,
        /// Length in bytes.
        size: u64,
        /// Modification time of a whole file, where it was recorded.
        modified: Modified,
    },
}

impl RowSource {
    /// An asset with known path and length, and no recorded modification time.
    pub fn asset(path: AssetPath, size: u64) -> Self {
        RowSource::Asset {
            path,
            size,
            modified: Modified::default(),
        }
    }

    /// Length of the data in bytes; 0 for a FOLDER.
    pub fn size_bytes(&self) -> u64 {
        match self {
            RowSource::Folder => 0,
            RowSource::Bytes(bytes) => bytes.len() as u64,
            RowSource::Asset { size, .. } => *size,
        }
    }
}

/// Table and data sources of one level.
#[derive(Clone, Debug)]
pub struct AssemblyLevel {
    /// `id`, `type` and the extension columns, rows in tree order.
    pub batch: RecordBatch,
    /// Source of each row's bytes; same length as `batch`.
    pub sources: Vec<RowSource>,
    /// By FOLDER row of the level above: indices of the columns of `batch` in the folder's
    /// `__meta__`. A FOLDER without an entry has all columns.
    pub meta_columns: HashMap<u32, Arc<[usize]>>,
}

/// Input of the writers: collection, tree and level tables.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The descriptive fields. [`BuildPlan`](crate::container::BuildPlan) computes
    /// `taco:pit_schema` and `taco:field_schema`.
    pub collection: Collection,
    /// The tree; in every level, rows are grouped by parent, in the parents' order.
    pub tree: Arc<Skeleton>,
    /// One entry per level of the tree.
    pub levels: Vec<AssemblyLevel>,
    /// The version of the dataset that the tables were read from; the writers compare it when the
    /// data is copied.
    pub version: DatasetVersion,
}

impl Assembly {
    /// Converts a draft. Columns of the tortillas of one level are united by name.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid), with the sample's path or the level, for a
    /// dataset without samples, a field with two types on one level, an invalid id or field name,
    /// an empty FOLDER, or more levels than [`MAX_LEVELS`].
    pub fn of_dataset(dataset: &Dataset, ctx: &JobContext) -> Result<Self> {
        ctx.stage(tr!("Laying out the samples"), None);
        let tree = Skeleton::from_dataset(dataset);
        if tree.total() == 0 {
            return Err(
                Error::invalid("the dataset has no samples").hint("add files or folders first")
            );
        }
        if tree.levels.len() > MAX_LEVELS {
            return Err(Error::invalid(format!(
                "the dataset is {} levels deep; {MAX_LEVELS} is the limit",
                tree.levels.len()
            )));
        }
        let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
        let mut levels = Vec::with_capacity(tree.levels.len());
        for depth in 0..tree.levels.len() {
            ctx.check()?;
            // For each tortilla, its FOLDER's row in the level above.
            let owners: Vec<u32> = match depth.checked_sub(1) {
                Some(above) => tree.levels[above].list_folders().collect(),
                None => vec![0],
            };
            levels.push(lay_out(&tree, depth, &tortillas, &owners)?);
            tortillas = list_tortillas_below(&tortillas);
        }
        Ok(Self {
            collection: dataset.collection.clone(),
            tree: Arc::new(tree),
            levels,
            version: DatasetVersion::default(),
        })
    }

    /// Converts an opened dataset; metadata values and types are kept.
    ///
    /// # Errors
    /// When COLLECTION.json or a level table cannot be read, or has no usable `id`, `type` or
    /// parent column; [`crate::error::Kind::Changed`] when the dataset was replaced since it was
    /// opened, or when it is an index that does not agree with its parts.
    pub fn of_reader(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Self> {
        Self::of_rows(reader, None, ctx)
    }

    /// As [`Assembly::of_reader`], with an empty collection where COLLECTION.json cannot be read.
    ///
    /// # Errors
    /// The others of [`Assembly::of_reader`].
    pub fn of_damaged(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Self> {
        Self::of_unchanged(reader, None, ctx)
    }

    /// As [`Assembly::of_reader`], for a copy of which only the rows `wanted` of level 0 are
    /// written: of an index, only their parts are compared with it.
    ///
    /// # Errors
    /// As [`Assembly::of_reader`].
    pub fn of_rows(
        reader: &dyn ContainerReader,
        wanted: Option<&[bool]>,
        ctx: &JobContext,
    ) -> Result<Self> {
        reader.expect_collection()?;
        Self::of_unchanged(reader, wanted, ctx)
    }

    fn of_unchanged(
        reader: &dyn ContainerReader,
        wanted: Option<&[bool]>,
        ctx: &JobContext,
    ) -> Result<Self> {
        let version = &reader.opening().version;
        let laid_out =
            refuse_stale_index(reader, wanted, ctx).and_then(|()| Self::arrange_rows(reader, ctx));
        version.check_outcome(laid_out)
    }

    fn arrange_rows(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Self> {
        ctx.stage(tr!("Reading the metadata"), None);
        let set = reader.levels();
        let found = set.skeleton(ctx)?;
        // The tree is that of the reader while its rows are in tree order.
        let mut is_sorted = true;
        let mut columns = Vec::new();
        let mut levels = Vec::new();
        let mut order: Vec<u32> = (0..set.rows(0) as u32).collect();
        let mut parents: Vec<u32> = order.clone();
        let mut choices = HashMap::new();
        let made: Vec<bool> = (0..set.count())
            .map(|depth| has_text_path(set, &found, depth, ctx))
            .collect::<Result<_>>()?;
        for depth in 0..set.count() {
            ctx.check()?;
            let level = &found.levels[depth];
            let mut batch = in_tree_order(set, depth, &order, made[depth], ctx)?;
            if is_identity(&order) {
                batch = share_ids(batch, &level.ids)?;
            }
            let mut sources = Vec::with_capacity(order.len());
            let (mut next_order, mut next_parents, mut folders) =
                (Vec::new(), Vec::new(), Vec::new());
            for (at, &row) in order.iter().enumerate() {
                if at % AT_ONCE == 0 {
                    ctx.check()?;
                    let next = &order[at..order.len().min(at + AT_ONCE)];
                    let files: Vec<u32> = next
                        .iter()
                        .copied()
                        .filter(|&row| !level.folder[row as usize])
                        .collect();
                    reader.prefetch_assets(depth, &files)?;
                }
                check_id(level.id(row), || found.path(depth, row))?;
                if level.folder[row as usize] {
                    sources.push(RowSource::Folder);
                    folders.push((at as u32, row));
                    next_order.extend_from_slice(level.children(row));
                    next_parents.extend(std::iter::repeat_n(at as u32, level.children(row).len()));
                } else {
                    sources.push(
                        reader
                            .source(depth, row)
                            .map_err(|e| e.at_place(found.path(depth, row)))?,
                    );
                }
            }
            let own_parents = std::mem::replace(&mut parents, next_parents);
            let in_order = level.len() == order.len()
                && level.parents == own_parents
                && order.iter().copied().eq(0..order.len() as u32);
            is_sorted &= in_order;
            if !is_sorted {
                // Levels before this one are as they were read.
                let read = found.levels.iter().take(depth).skip(columns.len());
                columns.extend(read.map(|level| {
                    (
                        level.ids.clone(),
                        level.folder.clone(),
                        level.parents.clone(),
                    )
                }));
                let ids: StringArray = order.iter().map(|&row| Some(level.id(row))).collect();
                let folder: Vec<bool> = order
                    .iter()
                    .map(|&row| level.folder[row as usize])
                    .collect();
                columns.push((ids, folder, own_parents));
            }
            levels.push(AssemblyLevel {
                batch,
                sources,
                meta_columns: std::mem::take(&mut choices),
            });
            if depth + 1 < set.count() {
                choices = meta_columns(
                    reader,
                    depth,
                    &folders,
                    &kept_names(&set.fields(depth + 1), made[depth + 1]),
                    ctx,
                )?;
            }
            order = next_order;
        }
        let tree = if is_sorted {
            found
        } else {
            Arc::new(Skeleton::from_columns(columns))
        };
        Ok(Self {
            collection: reader.collection().clone(),
            tree,
            levels,
            version: reader.opening().version.clone(),
        })
    }

    /// `taco:pit_schema` of the tree (TACO 2.0, section 6.1).
    ///
    /// # Errors
    /// When the tree has no samples.
    pub fn pit_schema(&self) -> Result<PitSchema> {
        PitSchema::from_skeleton(&self.tree)
            .ok_or_else(|| Error::invalid("the dataset has no samples"))
    }

    /// `taco:field_schema` for level tables with these schemas; field descriptions of an opened
    /// dataset are kept.
    pub fn field_schema(&self, schemas: &[Schema]) -> serde_json::Value {
        field_schema_of(schemas, self.collection.get("taco:field_schema"))
    }

    /// Total size of the samples' data in bytes, without metadata.
    pub fn data_bytes(&self) -> u64 {
        self.levels
            .iter()
            .flat_map(|level| &level.sources)
            .map(RowSource::size_bytes)
            .sum()
    }

    /// Number of FILE samples on all levels.
    pub fn files(&self) -> usize {
        self.levels
            .iter()
            .flat_map(|level| &level.sources)
            .filter(|source| **source != RowSource::Folder)
            .count()
    }
}

/// `path` of a sample (TACO 2.0, section 5.5.1): the name of its member in the container; that of a
/// FOLDER ends with a slash.
pub(super) fn text_path(path: &str, folder: bool) -> String {
    format!("DATA/{path}{}", if folder { "/" } else { "" })
}

fn check_id(id: &str, path: impl Fn() -> SamplePath) -> Result<()> {
    check_sample_id(id).map_err(|fault| {
        Error::invalid(format!("the id \"{}\" {fault}", id.escape_default())).at_place(path())
    })
}

/// True when the level's column `path` has the values that
/// [`BuildOptions::text_columns`](super::BuildOptions) generates from the ids; such a column is
/// generated again on request instead of being copied. With any other value the column is metadata
/// and is copied.
fn has_text_path(set: &LevelSet, tree: &Skeleton, depth: usize, ctx: &JobContext) -> Result<bool> {
    if !set
        .fields(depth)
        .iter()
        .any(|field| field.name == PATH && field.dtype == DataType::Utf8)
    {
        return Ok(false);
    }
    let Some(paths) = set.columns(depth, &[PATH], ctx)?.strings(PATH)? else {
        return Ok(false);
    };
    let folder = &tree.levels[depth].folder;
    let own = |row: usize| text_path(&tree.archive_path(depth, row as u32), folder[row]);
    Ok((0..paths.len()).all(|row| paths.is_valid(row) && paths.value(row) == own(row)))
}

/// True for columns that writers generate.
fn is_made(name: &str, path_made: bool) -> bool {
    name.starts_with("internal:") || (path_made && name == PATH)
}

/// Names of the columns of a level that are copied.
fn kept_names(fields: &[FieldSpec], path_made: bool) -> Vec<&str> {
    fields
        .iter()
        .map(|field| field.name.as_str())
        .filter(|name| !is_made(name, path_made))
        .collect()
}

/// True for the rows 0, 1, 2, ….
fn is_identity(rows: &[u32]) -> bool {
    rows.iter().enumerate().all(|(at, &row)| at as u32 == row)
}

/// The table with the ids of the tree as its column `id`, where both are equal: they are kept once.
pub(super) fn share_ids(batch: RecordBatch, ids: &StringArray) -> Result<RecordBatch> {
    let own = batch.schema().index_of("id").ok();
    let own = own.filter(|&at| batch.column(at).as_string_opt::<i32>() == Some(ids));
    let Some(at) = own else {
        return Ok(batch);
    };
    let rows = batch.num_rows();
    let (schema, mut columns, _) = batch.into_parts();
    columns[at] = Arc::new(ids.clone());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| Error::internal("equal columns did not fit").because(error))
}

/// The copied columns of a level, with the rows `rows` in this order.
fn in_tree_order(
    set: &LevelSet,
    depth: usize,
    rows: &[u32],
    path_made: bool,
    ctx: &JobContext,
) -> Result<RecordBatch> {
    let fields = set.fields(depth);
    let table = set.columns(depth, &kept_names(&fields, path_made), ctx)?;
    take_rows(&table.into_batch()?, rows)
}

/// For each FOLDER of level `depth`, the columns of its `__meta__` as indices into the batch of the
/// level below, whose columns are `names`. FOLDERs whose `__meta__` has every column are omitted.
fn meta_columns(
    reader: &dyn ContainerReader,
    depth: usize,
    folders: &[(u32, u32)],
    names: &[&str],
    ctx: &JobContext,
) -> Result<HashMap<u32, Arc<[usize]>>> {
    let all: Vec<usize> = (0..names.len()).collect();
    let mut shared: HashMap<Vec<usize>, Arc<[usize]>> = HashMap::new();
    let mut choices = HashMap::new();
    let rows: Vec<u32> = folders.iter().map(|&(_, row)| row).collect();
    reader.prefetch_meta(depth, &rows)?;
    for (index, &(at, row)) in folders.iter().enumerate() {
        ctx.check()?;
        if index % AT_ONCE == 0 {
            reader.prefetch_assets(depth, &rows[index..rows.len().min(index + AT_ONCE)])?;
        }
        // A FOLDER with an unreadable `__meta__` gets all columns.
        let Ok(table) = reader.local_meta(depth, row) else {
            continue;
        };
        let chosen: Vec<usize> = table
            .schema()
            .fields()
            .iter()
            .filter_map(|field| names.iter().position(|name| name == field.name()))
            .collect();
        if chosen != all && chosen.len() >= 2 {
            let columns = shared
                .entry(chosen.clone())
                .or_insert_with(|| chosen.into());
            choices.insert(at, columns.clone());
        }
    }
    Ok(choices)
}

/// The fields of the tortillas of a level, which have one type each.
fn unite_fields(tortillas: &[&Tortilla]) -> Result<Vec<FieldSpec>> {
    let UnitedFields { fields, conflict } = UnitedFields::of_tortillas(tortillas);
    for FieldSpec { name, .. } in &fields {
        check_field_name(name)
            .map_err(|fault| Error::invalid(format!("the field name \"{name}\" {fault}")))?;
    }
    let Some((field, other)) = conflict else {
        return Ok(fields);
    };
    let FieldSpec { name, dtype, .. } = &fields[field];
    let error = Error::invalid(format!(
        "field {name} is {} in some samples and {} in others",
        dtype_name(dtype),
        dtype_name(&other)
    ));
    Err(error.hint("give the field one type on the whole level"))
}

/// Builds one level of a draft from the union of its tortillas' columns: in insertion order on
/// level 0, sorted by name below it.
fn lay_out(
    tree: &Skeleton,
    depth: usize,
    tortillas: &[&Tortilla],
    owners: &[u32],
) -> Result<AssemblyLevel> {
    let level = &tree.levels[depth];
    let mut fields =
        unite_fields(tortillas).map_err(|error| error.at_place(format!("level{depth}")))?;
    if tortillas.len() > 1 {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let samples: Vec<&Sample> = tortillas
        .iter()
        .flat_map(|tortilla| &tortilla.samples)
        .collect();
    for (row, sample) in samples.iter().enumerate() {
        check_id(&sample.id, || tree.path(depth, row as u32))?;
        if sample
            .children()
            .is_some_and(|children| children.samples.is_empty())
        {
            return Err(Error::invalid("this FOLDER has no children")
                .at_place(tree.path(depth, row as u32))
                .hint("fill or remove it"));
        }
    }
    let mut arrow_fields = vec![
        Field::new("id", DataType::Utf8, true),
        Field::new("type", DataType::Utf8, true),
    ];
    let kinds: StringArray = samples
        .iter()
        .map(|sample| Some(sample.kind().as_str()))
        .collect();
    let mut columns: Vec<ArrayRef> = vec![Arc::new(level.ids.clone()), Arc::new(kinds)];
    let mut meta_sets: Vec<Vec<usize>> = vec![vec![0, 1]; tortillas.len()];
    for (number, field) in fields.iter().enumerate() {
        let mut values: Vec<&Value> = Vec::with_capacity(samples.len());
        for (tortilla, set) in tortillas.iter().zip(&mut meta_sets) {
            let at = tortilla.field(&field.name);
            if at.is_some() {
                set.push(number + 2);
            }
            values.extend(tortilla.list_values(at));
        }
        columns.push(
            array_of(field, values.into_iter())
                .map_err(|error| error.at_place(format!("level{depth}")))?,
        );
        let description: HashMap<String, String> =
            [(DESCRIPTION.to_owned(), field.description.clone())].into();
        arrow_fields
            .push(Field::new(&field.name, field.dtype.clone(), true).with_metadata(description));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(arrow_fields)), columns)
        .map_err(|error| Error::internal("a level does not fit its columns").because(error))?;
    let sources = samples.iter().map(|sample| match &sample.payload {
        Payload::Folder(_) => RowSource::Folder,
        Payload::Bytes(bytes) => RowSource::Bytes(Bytes::copy_from_slice(bytes)),
        Payload::Asset {
            path,
            size,
            modified,
        } => RowSource::Asset {
            path: path.clone(),
            size: *size,
            modified: *modified,
        },
    });
    let full = fields.len() + 2;
    let partial = owners
        .iter()
        .zip(meta_sets)
        .filter(|(_, set)| set.len() < full)
        .map(|(&owner, set)| (owner, set.into()));
    Ok(AssemblyLevel {
        sources: sources.collect(),
        meta_columns: if depth == 0 {
            HashMap::new()
        } else {
            partial.collect()
        },
        batch,
    })
}
