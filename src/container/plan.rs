//! Plans the layout of a dataset before writing: names, order and offsets, then the metadata tables
//! that contain them.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};

use super::assembly::{PATH, text_path};
use super::atomic_write::refuse_existing;
use super::damage::name_sample_in_error;
use super::data_size::{add_size, too_much_data_error};
use super::extent::put_extent;
use super::versions::Versions;
use super::{
    Assembly, Format, OnDamage, PartOptions, RowSource, extent_of_samples, write_collection,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{META_NAME, SamplePath, is_remote};
use crate::table::{ParquetOptions, ParquetSink, write_parquet};
use crate::zip_format::{ALIGNED_MIN, block_padding, local_header_len};

/// Rows of a level table that are encoded at one time.
const LEVEL_ROWS: usize = 65_536;

/// Target and settings of a write.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct BuildOptions {
    /// The file or folder to create.
    pub target: PathBuf,
    /// ZIP or FOLDER.
    pub format: Format,
    /// Parquet settings of the level tables.
    #[serde(default)]
    pub parquet: ParquetOptions,
    /// Replace an existing target.
    #[serde(default)]
    pub overwrite: bool,
    /// Split the dataset into parts named after `target`.
    #[serde(default)]
    pub parts: Option<PartOptions>,
    /// How sample data with a wrong CRC-32 is handled.
    #[serde(default)]
    pub on_damage: OnDamage,
    /// Also write the columns that the specification lists and the official tools don't write:
    /// `path` on every level (TACO 2.0, section 5.5.1), and `internal:relative_path` on level 0
    /// (section 8.3).
    #[serde(default)]
    pub text_columns: bool,
    /// In a ZIP, begin the data of each FILE of 64 KiB or more at a multiple of 4096 bytes, by
    /// padding in the extra field of its local header, so that file systems that share blocks
    /// (Btrfs, XFS) keep data that is copied from files of the same disk once.
    #[serde(default)]
    pub align_blocks: bool,
}

impl BuildOptions {
    /// Refuses a target on this machine that exists, unless it is to be replaced. The writers
    /// refuse it too: operations ask before they read a large dataset in vain.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for such a target, and for a device.
    pub fn refuse_existing_target(&self) -> Result<()> {
        // Names of parts are known when the samples are.
        if self.parts.is_some() || is_remote(&self.target) {
            return Ok(());
        }
        refuse_existing(&self.target, self.overwrite)
    }
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Built {
    /// The file or folder; when split, the index, or the first part.
    pub path: PathBuf,
    /// ZIP or FOLDER.
    pub format: Format,
    /// Number of samples on all levels.
    pub samples: u64,
    /// Number of samples of level 0.
    #[serde(skip)]
    pub roots: u64,
    /// Number of FILEs written.
    pub files: u64,
    /// Size of the whole output in bytes.
    pub bytes: u64,
    /// The parts, when split.
    pub parts: Vec<PathBuf>,
    /// The indexes over the parts.
    pub indexes: Vec<PathBuf>,
    /// Paths of samples that were damaged in the source and copied unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
    /// Samples that the output does not give as their sources are, each with the difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlike_source: Vec<String>,
}

impl Built {
    /// Nothing written yet.
    pub fn new(path: PathBuf, format: Format) -> Self {
        Self {
            path,
            format,
            samples: 0,
            roots: 0,
            files: 0,
            bytes: 0,
            parts: Vec::new(),
            indexes: Vec::new(),
            damaged: Vec::new(),
            unlike_source: Vec::new(),
        }
    }

    /// One container, of `bytes` bytes, with all that was planned.
    pub(super) fn whole(
        assembly: &Assembly,
        plan: &BuildPlan,
        options: &BuildOptions,
        bytes: u64,
        damaged: Vec<String>,
    ) -> Self {
        let (samples, files) = (assembly.tree.total() as u64, plan.files.len() as u64);
        let roots = assembly
            .tree
            .levels
            .first()
            .map_or(0, |level| level.len() as u64);
        Self {
            samples,
            roots,
            files,
            bytes,
            damaged,
            ..Self::new(options.target.clone(), options.format)
        }
    }

    /// Adds a part, which is at `path`.
    pub(super) fn add_part(&mut self, path: PathBuf, part: Self) {
        self.samples += part.samples;
        self.roots += part.roots;
        self.files += part.files;
        self.bytes += part.bytes;
        self.damaged.extend(part.damaged);
        self.parts.push(path);
    }

    /// With the path of the first index, or of the first part without an index.
    pub(super) fn named_by_its_first(mut self) -> Self {
        if let Some(first) = self.indexes.first().or(self.parts.first()) {
            self.path = first.clone();
        }
        self
    }
}

/// One FILE, in writing order.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    /// Its level.
    pub level: u8,
    /// Its row in the assembly's level.
    pub row: u32,
    /// Offset of its local header; 0 in a FOLDER.
    pub local: u64,
    /// Size of the data in bytes.
    pub size: u64,
    /// Bytes of padding behind its local header.
    pub padding: u16,
    /// Its data begins at a disk block.
    pub is_aligned: bool,
}

/// One FOLDER and its `__meta__`.
#[derive(Clone, Debug)]
pub struct PlannedFolder {
    /// Its level.
    pub level: usize,
    /// Its row in the assembly's level.
    pub row: u32,
}

/// `internal:offset` and `internal:size`, indexed by level and row.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedPositions {
    /// Offset of the data in bytes; 0 in a FOLDER.
    pub offsets: Vec<Vec<i64>>,
    /// Size of the data in bytes.
    pub sizes: Vec<Vec<i64>>,
}

/// Names, order and offsets of all data whose size is known in advance.
#[derive(Clone, Debug)]
pub struct BuildPlan {
    /// FILEs, depth first, in sample order.
    pub files: Vec<PlannedFile>,
    /// FOLDERs, deepest level first, sorted by path within a level.
    pub folders: Vec<PlannedFolder>,
    /// End offset of the last FILE; in a FOLDER, the total size of the data.
    pub data_end: u64,
    /// Position of every row's data; those of FOLDERs are set while their `__meta__` is generated.
    pub(super) positions: PlannedPositions,
    /// Paths below `DATA/` by level, without trailing slash.
    paths: Vec<StringArray>,
}

impl BuildPlan {
    /// Plans the data of a ZIP starting at byte `start`, or of a FOLDER. With `align_blocks` as in
    /// [`BuildOptions`].
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) for duplicate ids among siblings, a path too
    /// long for ZIP, or an empty FOLDER; [`Kind::TooLarge`](crate::error::Kind::TooLarge) for more
    /// data than offsets can have.
    pub fn new(
        assembly: &Assembly,
        format: Format,
        align_blocks: bool,
        start: u64,
    ) -> Result<Self> {
        let tree = &assembly.tree;
        let levels = tree.levels.iter();
        let zeros: Vec<Vec<i64>> = levels.map(|level| vec![0; level.len()]).collect();
        let mut plan = Self {
            files: Vec::with_capacity(assembly.files()),
            folders: Vec::new(),
            data_end: start,
            positions: PlannedPositions {
                offsets: zeros.clone(),
                sizes: zeros,
            },
            paths: relative_paths(assembly),
        };
        let roots: Vec<u32> =
            (0..tree.levels.first().map_or(0, |level| level.len()) as u32).collect();
        check_siblings(assembly, 0, &roots, SamplePath::default)?;
        // Iterative depth-first traversal; the stack holds (level, row).
        let mut stack: Vec<(usize, u32)> = roots.iter().rev().map(|&row| (0, row)).collect();
        while let Some((depth, row)) = stack.pop() {
            let level = &tree.levels[depth];
            let path = plan.paths[depth].value(row as usize);
            if level.folder[row as usize] {
                let children = level.children(row);
                check_siblings(assembly, depth + 1, children, || tree.path(depth, row))?;
                stack.extend(children.iter().rev().map(|&child| (depth + 1, child)));
                plan.folders.push(PlannedFolder { level: depth, row });
                continue;
            }
            let name_len = "DATA/".len() + path.len();
            if name_len > 0xFFFF {
                return Err(Error::invalid("the path is too long for a ZIP")
                    .at_place(tree.path(depth, row)));
            }
            let size = assembly.levels[depth].sources[row as usize].size_bytes();
            let local = plan.data_end;
            let mut data = local;
            let is_aligned = align_blocks && format == Format::Zip && size >= ALIGNED_MIN;
            let mut padding = 0;
            if format == Format::Zip {
                let header_end = local + local_header_len(name_len, size);
                if is_aligned {
                    padding = block_padding(header_end);
                }
                data = header_end + u64::from(padding);
                plan.positions.offsets[depth][row as usize] = data as i64;
            }
            plan.data_end = add_size(data, size)
                .ok_or_else(|| too_much_data_error().at_place(tree.path(depth, row)))?;
            plan.positions.sizes[depth][row as usize] = size as i64;
            plan.files.push(PlannedFile {
                level: depth as u8,
                row,
                local,
                size,
                padding,
                is_aligned,
            });
        }
        let Self { folders, paths, .. } = &mut plan;
        let path = |folder: &PlannedFolder| paths[folder.level].value(folder.row as usize);
        folders.sort_by(|a, b| {
            b.level
                .cmp(&a.level)
                .then_with(|| compare_members_below(path(a), path(b)))
        });
        Ok(plan)
    }

    /// Member name of a planned file, `DATA/…`. Names are not kept: there are as many as samples.
    pub fn file_name(&self, file: &PlannedFile) -> String {
        format!(
            "DATA/{}",
            self.paths[usize::from(file.level)].value(file.row as usize)
        )
    }

    /// Member name of the `__meta__` of a FOLDER, `DATA/…/__meta__`.
    pub fn meta_name(&self, folder: &PlannedFolder) -> String {
        format!(
            "DATA/{}/{META_NAME}",
            self.paths[folder.level].value(folder.row as usize)
        )
    }

    /// The table of a FOLDER's `__meta__`; in a ZIP with offsets and sizes.
    pub(super) fn local_meta(
        &self,
        assembly: &Assembly,
        positions: &PlannedPositions,
        folder: &PlannedFolder,
        options: &BuildOptions,
    ) -> Result<Vec<u8>> {
        let depth = folder.level + 1;
        let children = assembly.tree.levels[folder.level].children(folder.row);
        let (Some(&first), length) = (children.first(), children.len()) else {
            return Err(Error::invalid("this FOLDER has no children")
                .at_place(assembly.tree.path(folder.level, folder.row)));
        };
        let level = &assembly.levels[depth];
        let rows = level.batch.slice(first as usize, length);
        let chosen: Vec<usize> = match level.meta_columns.get(&folder.row) {
            Some(columns) => columns.to_vec(),
            None => (0..rows.num_columns()).collect(),
        };
        let schema = level.batch.schema();
        let mut fields: Vec<Field> = chosen
            .iter()
            .map(|&column| schema.field(column).clone())
            .collect();
        let mut columns: Vec<ArrayRef> = chosen
            .iter()
            .map(|&column| rows.column(column).clone())
            .collect();
        if options.text_columns {
            put_path(
                &mut fields,
                &mut columns,
                self.text_paths(assembly, depth, first as usize..first as usize + length),
            );
        }
        if options.format == Format::Zip {
            let range = first as usize..first as usize + length;
            add_integers(
                &mut fields,
                &mut columns,
                "internal:offset",
                positions.offsets[depth][range.clone()].to_vec(),
            );
            add_integers(
                &mut fields,
                &mut columns,
                "internal:size",
                positions.sizes[depth][range].to_vec(),
            );
        }
        let (schema, batch) = batch_from_columns(fields, columns)?;
        write_parquet(&schema, &[batch], &options.parquet.for_local_meta())
    }

    /// One level table with its `internal:*` columns as Parquet bytes, and its schema for
    /// `taco:field_schema`.
    fn level_table(
        &self,
        assembly: &Assembly,
        positions: &PlannedPositions,
        depth: usize,
        options: &BuildOptions,
    ) -> Result<(Schema, Vec<u8>)> {
        let rows = assembly.levels[depth].batch.num_rows();
        // Some rows at a time, as half of the columns are made here.
        let most = options.parquet.row_group_rows.clamp(1, LEVEL_ROWS);
        let (schema, first) =
            self.level_rows(assembly, positions, depth, options, 0..rows.min(most))?;
        let mut sink = ParquetSink::new(Vec::new(), &schema, &options.parquet)?;
        sink.write(&first)?;
        for start in (most..rows).step_by(most) {
            let some = start..rows.min(start + most);
            let (_, batch) = self.level_rows(assembly, positions, depth, options, some)?;
            sink.write(&batch)?;
        }
        Ok((schema, sink.finish()?))
    }

    /// Some rows of a level table.
    fn level_rows(
        &self,
        assembly: &Assembly,
        positions: &PlannedPositions,
        depth: usize,
        options: &BuildOptions,
        rows: Range<usize>,
    ) -> Result<(Schema, RecordBatch)> {
        let (level, tree) = (&assembly.levels[depth], &assembly.tree.levels[depth]);
        let mut fields: Vec<Field> = level
            .batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let mut columns = level.batch.slice(rows.start, rows.len()).columns().to_vec();
        if options.text_columns {
            let paths = self.text_paths(assembly, depth, rows.clone());
            put_path(&mut fields, &mut columns, paths);
        }
        let own = rows.clone().map(|row| row as i64).collect();
        add_integers(&mut fields, &mut columns, "internal:current_id", own);
        let parents = tree.parents[rows.clone()]
            .iter()
            .map(|&parent| i64::from(parent));
        add_integers(
            &mut fields,
            &mut columns,
            "internal:parent_id",
            parents.collect(),
        );
        if options.format == Format::Zip {
            for (name, values) in [
                ("internal:offset", &positions.offsets),
                ("internal:size", &positions.sizes),
            ] {
                let values = values[depth][rows.clone()].to_vec();
                add_integers(&mut fields, &mut columns, name, values);
            }
        }
        if depth > 0 || options.text_columns {
            let mut paths = StringBuilder::new();
            for row in rows {
                let path = self.paths[depth].value(row);
                if tree.folder[row] {
                    paths.append_value(format!("{path}/"))
                } else {
                    paths.append_value(path)
                }
            }
            fields.push(Field::new("internal:relative_path", DataType::Utf8, true));
            columns.push(Arc::new(paths.finish()));
        }
        batch_from_columns(fields, columns)
    }

    /// The column `path` of these rows of a level.
    fn text_paths(&self, assembly: &Assembly, depth: usize, rows: Range<usize>) -> StringArray {
        let (paths, folder) = (&self.paths[depth], &assembly.tree.levels[depth].folder);
        rows.map(|row| Some(text_path(paths.value(row), folder[row])))
            .collect()
    }

    /// Every level table, then COLLECTION.json, each with its path in the container.
    pub(super) fn consolidated_members(
        &self,
        assembly: &Assembly,
        positions: &PlannedPositions,
        options: &BuildOptions,
        ctx: &JobContext,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let mut members = Vec::with_capacity(assembly.levels.len() + 1);
        let mut schemas = Vec::with_capacity(assembly.levels.len());
        for depth in 0..assembly.levels.len() {
            ctx.check()?;
            let (schema, bytes) = self.level_table(assembly, positions, depth, options)?;
            schemas.push(schema);
            members.push((format!("METADATA/level{depth}.parquet"), bytes));
        }
        let mut collection = assembly.collection.clone();
        if collection.get("extent").is_none() {
            let batches: Vec<&RecordBatch> =
                assembly.levels.iter().map(|level| &level.batch).collect();
            put_extent(&mut collection, extent_of_samples(&batches, ctx)?);
        }
        let bytes = write_collection(
            &collection,
            &assembly.pit_schema()?,
            &assembly.field_schema(&schemas),
        )?;
        members.push(("COLLECTION.json".into(), bytes));
        Ok(members)
    }

    /// Path of the sample of a planned file.
    pub(super) fn sample(&self, assembly: &Assembly, index: usize) -> String {
        let file = &self.files[index];
        assembly
            .tree
            .path(file.level as usize, file.row)
            .to_string()
    }

    /// Adds the path of the sample of file `index` to an error of its source; kind and hints are
    /// kept.
    pub(super) fn name_sample(&self, error: Error, assembly: &Assembly, index: usize) -> Error {
        name_sample_in_error(error, &self.sample(assembly, index))
    }

    /// Checks that every source container is still the version in which its samples were located.
    pub(super) fn expect_sources(&self, assembly: &Assembly) -> Result<()> {
        let mut versions = Versions::default();
        for (index, file) in self.files.iter().enumerate() {
            if let RowSource::Asset { path, .. } = self.source(assembly, file) {
                versions
                    .expect(path)
                    .map_err(|error| self.name_sample(error, assembly, index))?;
            }
        }
        Ok(())
    }

    /// Data source of a planned file.
    pub(super) fn source<'a>(&self, assembly: &'a Assembly, file: &PlannedFile) -> &'a RowSource {
        &assembly.levels[file.level as usize].sources[file.row as usize]
    }
}

/// Puts `path` behind `id` and `type`, in place of a column of that name.
fn put_path(fields: &mut Vec<Field>, columns: &mut Vec<ArrayRef>, paths: StringArray) {
    if let Some(at) = fields.iter().position(|field| field.name() == PATH) {
        fields.remove(at);
        columns.remove(at);
    }
    let at = fields.len().min(2);
    fields.insert(at, Field::new(PATH, DataType::Utf8, true));
    columns.insert(at, Arc::new(paths));
}

fn batch_from_columns(fields: Vec<Field>, columns: Vec<ArrayRef>) -> Result<(Schema, RecordBatch)> {
    let schema = Schema::new(fields);
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns)
        .map_err(|error| Error::internal("a table does not fit its columns").because(error))?;
    Ok((schema, batch))
}

fn add_integers(
    fields: &mut Vec<Field>,
    columns: &mut Vec<ArrayRef>,
    name: &str,
    values: Vec<i64>,
) {
    fields.push(Field::new(name, DataType::Int64, true));
    columns.push(Arc::new(Int64Array::from(values)));
}

/// The order of the names of the `__meta__` of two folders of one level.
fn compare_members_below(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let shared = a.len().min(b.len());
    // A slash follows the shorter path.
    let rest = |path: &[u8]| path.get(shared).copied().unwrap_or(b'/');
    a[..shared]
        .cmp(&b[..shared])
        .then_with(|| rest(a).cmp(&rest(b)))
        .then_with(|| a.cmp(b))
}

fn relative_paths(assembly: &Assembly) -> Vec<StringArray> {
    let mut paths: Vec<StringArray> = Vec::with_capacity(assembly.tree.levels.len());
    for level in &assembly.tree.levels {
        let Some(above) = paths.last() else {
            paths.push(level.ids.clone());
            continue;
        };
        let mut builder = StringBuilder::with_capacity(level.len(), level.len() * 16);
        let mut path = String::new();
        for row in 0..level.len() as u32 {
            path.clear();
            path.push_str(above.value(level.parents[row as usize] as usize));
            path.push('/');
            path.push_str(level.id(row));
            builder.append_value(&path);
        }
        paths.push(builder.finish());
    }
    paths
}

fn check_siblings(
    assembly: &Assembly,
    depth: usize,
    rows: &[u32],
    parent: impl Fn() -> SamplePath,
) -> Result<()> {
    let Some(level) = assembly.tree.levels.get(depth) else {
        return Ok(());
    };
    let mut seen = HashSet::with_capacity(rows.len());
    match rows.iter().find(|&&row| !seen.insert(level.id(row))) {
        Some(&row) => Err(
            Error::invalid(format!("two samples have the id {}", level.id(row)))
                .at_place(if depth == 0 {
                    "level 0".to_owned()
                } else {
                    parent().to_string()
                })
                .hint("rename one of them"),
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::model::{Collection, Dataset, Sample, Tortilla};

    fn plan(sizes: [u64; 2], format: Format) -> Result<BuildPlan> {
        let [a, b] = sizes.map(|size| Sample::new_file(&format!("s{size}"), "/x", size));
        let dataset = Dataset {
            collection: Collection::template(),
            root: Tortilla::new(vec![a, b]).into(),
        };
        let assembly = Assembly::of_dataset(&dataset, &JobContext::default())?;
        BuildPlan::new(&assembly, format, true, 0)
    }

    #[test]
    fn sizes_whose_sum_is_no_offset_are_too_large() {
        for format in [Format::Zip, Format::Folder] {
            for sizes in [[1, u64::MAX], [1 << 62, (1 << 62) + 1]] {
                let error = plan(sizes, format).expect_err("is too much");
                assert_eq!(error.kind(), Kind::TooLarge, "{error:?}");
            }
            assert!(plan([1, 1 << 62], format).is_ok());
        }
    }

    #[test]
    fn folders_are_in_the_order_of_the_names_of_their_members() {
        let mut paths = vec!["a", "a-b", "a0", "b", "ab", "a b", "é", "e", "A"];
        let mut expected: Vec<String> = paths
            .iter()
            .map(|path| format!("{path}/{META_NAME}"))
            .collect();
        expected.sort();
        paths.sort_by(|a, b| compare_members_below(a, b));
        assert_eq!(
            paths
                .iter()
                .map(|path| format!("{path}/{META_NAME}"))
                .collect::<Vec<_>>(),
            expected
        );
    }
}
