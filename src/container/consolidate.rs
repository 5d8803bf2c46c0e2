//! Writes an index over several ZIPs: `.tacocat`, `__TACOCAT__` or TACOLLECTION.json. Rows are
//! streamed batch by batch with one part open at a time, so memory does not grow with the number of
//! parts. Never modifies the parts.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::atomic_write::{PartialFile, PartialFolder};
use super::detect::is_dataset_folder;
use super::merge_collections::{
    PartFacts, check_schemas, collection_bytes, compare_columns, merge_collection_fields,
    sources_of, tacocat_of,
};
use super::tacocat::{INDEX_SIZE, TacocatIndex};
use super::zips_in_folder::zips_in;
use super::{
    Built, ByteSource, ContainerReader, DatasetVersion, EarlyReader, Format, HeaderEntry,
    ZipReader, detect, field_schema_of,
};
use crate::error::{Error, IoContext, Kind, Result};
use crate::files::LocalVersion;
use crate::jobs::{JobContext, try_map};
use crate::model::{
    Collection, MAX_LEVELS, PitRoot, PitSchema, SampleKind, Stamp, is_remote, place_below,
};
use crate::table::{Compression, ParquetOptions, ParquetSink};

/// The row number within the part. Parts of older tools have no such column; the current Python
/// reader joins levels on it.
const CURRENT_ID: &str = "internal:current_id";
/// Default zstd level of an index; see [`index_parquet`].
const INDEX_LEVEL: i32 = 3;
/// The column with the part's file name.
const SOURCE: &str = "internal:source_file";

/// Parts to index, and the index to write.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ConsolidateOptions {
    /// The ZIPs, or folders of this machine that hold them; their order is the order of the rows,
    /// by file name within a folder.
    pub inputs: Vec<PathBuf>,
    /// For `.tacocat` and `__TACOCAT__` the folder that gets them; for a TACOLLECTION the file.
    pub target: PathBuf,
    /// [`Format::Tacocat`], [`Format::TacocatFile`] or [`Format::Tacollection`].
    pub format: Format,
    /// Parquet settings of the level tables.
    #[serde(default)]
    pub parquet: ParquetOptions,
    /// Replace an existing index.
    #[serde(default)]
    pub overwrite: bool,
    /// Do not compare columns and trees of the datasets; only for a TACOLLECTION, which has no
    /// tables.
    #[serde(default)]
    pub skip_schema_check: bool,
}

/// Writes the index (TACO 2.0, sections 6.5 and 6.6). It appears complete or not at all.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid), with the file names, when parts differ in
/// columns, types or tree pattern; [`Kind::Usage`](crate::error::Kind::Usage) when an input is not
/// a ZIP, two inputs share a file name, or the target exists and `overwrite` is false.
pub fn consolidate(options: &ConsolidateOptions, ctx: &JobContext) -> Result<Built> {
    options.parquet.check()?;
    let options = &ConsolidateOptions {
        inputs: list_zips(&options.inputs)?,
        parquet: index_parquet(&options.parquet),
        ..options.clone()
    };
    if options.skip_schema_check && options.format != Format::Tacollection {
        let error = Error::usage("the datasets of an index with tables need the same columns");
        return Err(error.hint("only a TACOLLECTION can do without the check of schemas"));
    }
    let parts_to_index = PartsToIndex::read(&options.inputs, options.skip_schema_check, ctx)?;
    let built = match options.format {
        Format::Tacocat => write_folder(&parts_to_index, options, ctx),
        Format::TacocatFile => write_file(&parts_to_index, options, ctx),
        Format::Tacollection => write_collection_file(&parts_to_index, options),
        other => Err(Error::usage(format!(
            "{} is not an index over other datasets",
            other.description()
        ))),
    }?;
    if is_remote(&built.path) && options.format != Format::Tacollection {
        compare_stored_index(&built, ctx)?;
    }
    Ok(built)
}

/// Opens an index that was written to a store as its readers do, and compares its rows with those
/// of the parts.
fn compare_stored_index(built: &Built, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Reading it back"), None);
    let reader = super::open(&built.path, ctx)?;
    let found = (0..reader.levels().count())
        .map(|level| reader.levels().rows(level) as u64)
        .sum::<u64>();
    if found == built.samples {
        Ok(())
    } else {
        Err(Error::new(
            Kind::Damaged,
            format!(
                "the index has {found} rows, the parts have {}",
                built.samples
            ),
        )
        .at_path(&built.path)
        .hint(
            "another program may have written it at the same time: look at it, then write \
                again (--overwrite)",
        ))
    }
}

/// Parquet settings of an index: [`INDEX_LEVEL`] unless a level was requested. For 200,000 rows of
/// scene metadata the level of single datasets takes five times as long and saves no bytes.
fn index_parquet(requested: &ParquetOptions) -> ParquetOptions {
    let level = match requested.compression {
        Compression::Zstd => requested.level.or(Some(INDEX_LEVEL)),
        _ => requested.level,
    };
    ParquetOptions {
        level,
        ..requested.clone()
    }
}

/// The ZIPs that `inputs` name: a folder of this machine that is no FOLDER itself is replaced by
/// the ZIPs in it, by file name.
///
/// # Errors
/// [`Kind::Io`](crate::error::Kind::Io) when a folder can't be listed.
pub fn list_zips(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut zips = Vec::with_capacity(inputs.len());
    for input in inputs {
        let found = if holds_datasets(input) {
            zips_in(input)?
        } else {
            Vec::new()
        };
        if found.is_empty() {
            zips.push(input.clone());
        }
        zips.extend(found);
    }
    Ok(zips)
}

/// True for a folder of this machine that is no FOLDER itself.
fn holds_datasets(path: &Path) -> bool {
    !is_remote(path) && path.is_dir() && !is_dataset_folder(path)
}

/// Opens a part. For a dataset that is not a ZIP, the error names its format and how to convert it.
fn open_part(path: &Path, ctx: &JobContext) -> Result<ZipReader> {
    let opened =
        ZipReader::open(path).map_err(|error| match detect(path).map(|found| found.format) {
            Ok(format) if format != Format::Zip => not_a_zip_error(path, format),
            _ => error,
        })?;
    match EarlyReader::of_zip(opened, ctx)? {
        Ok(early) => Err(not_a_zip_error(path, early.info().format)),
        Err(zip) => Ok(zip),
    }
}

/// Refuses a part on this machine that was replaced since its metadata was read. Servers may
/// state another tag for the same bytes: parts there are compared at the end, which requests the
/// version that was read.
fn expect_part(path: &Path, file: &ByteSource, stamp: &Stamp) -> Result<()> {
    if is_remote(path) {
        return Ok(());
    }
    file.expect_version(stamp)
}

fn not_a_zip_error(path: &Path, format: Format) -> Error {
    let error = Error::usage(format!(
        "an index is over ZIPs, and this is {}",
        format.description()
    ))
    .at_path(path);
    error.hint(match format {
        Format::Tortilla | Format::Taco | Format::Taco3 | Format::Early => {
            "`migrate` makes a ZIP of 2.0 of it"
        }
        Format::Folder => "`convert` makes a ZIP of it",
        _ => "name the ZIPs themselves",
    })
}

/// A part that was opened and compared.
struct InspectedPart {
    facts: PartFacts,
    samples: u64,
    roots: u64,
    file: ByteSource,
    /// Its version when it was open; `None` for a remote one.
    version: Option<LocalVersion>,
}

/// Facts of all parts, collected before anything is written.
struct PartsToIndex {
    paths: Vec<PathBuf>,
    parts: Vec<PartFacts>,
    first: Collection,
    schemas: Vec<Schema>,
    samples: u64,
    roots: u64,
    /// Columns and trees were not compared.
    skips_comparison: bool,
    /// The versions of the parts, which are opened again for each level.
    version: DatasetVersion,
    stamps: Vec<Arc<Stamp>>,
}

impl PartsToIndex {
    fn read(inputs: &[PathBuf], skips_comparison: bool, ctx: &JobContext) -> Result<Self> {
        let Some(first_path) = inputs.first() else {
            return Err(Error::usage("no datasets are given"));
        };
        let mut names = HashSet::new();
        for path in inputs {
            if !names.insert(name_of(path)?) {
                let message = format!(
                    "two datasets have the same file name {}, by which rows refer to their part",
                    name_of(path)?
                );
                return Err(Error::usage(message)
                    .at_path(path)
                    .hint("rename one of them"));
            }
        }
        ctx.stage(tr!("Comparing the datasets"), Some(inputs.len() as u64));
        let opened = open_part(first_path, ctx)?;
        let (schemas, first, first_name) = (
            schemas_of(&opened),
            opened.expect_collection()?.clone(),
            name_of(first_path)?,
        );
        let first_file = opened.file().clone();
        drop(opened);
        let looked: Vec<InspectedPart> = try_map(inputs, |_, path| {
            ctx.check()?;
            let zip = open_part(path, ctx)?;
            let name = name_of(path)?;
            if !skips_comparison {
                check_schemas(&schemas, &first_name, &schemas_of(&zip), &name)
                    .map_err(|error| error.at_path(path))?;
            }
            let collection = zip.expect_collection()?;
            let samples = (0..zip.levels().count())
                .map(|level| zip.levels().rows(level) as u64)
                .sum();
            let extent = collection.fields.get("extent").cloned().unwrap_or_default();
            let facts = PartFacts {
                id: collection.id().to_owned(),
                extent,
                pit: pit_of(&zip, ctx)?,
                name,
            };
            ctx.step(1);
            Ok(InspectedPart {
                facts,
                samples,
                roots: zip.levels().rows(0) as u64,
                file: zip.file().clone(),
                version: zip.file().local_version()?,
            })
        })?;
        let samples = looked.iter().map(|part| part.samples).sum();
        let roots = looked.iter().map(|part| part.roots).sum();
        let stamps: Vec<Arc<Stamp>> = looked
            .iter()
            .map(|part| part.file.stamp().clone())
            .collect();
        if let (Some(path), Some(stamp)) = (inputs.first(), stamps.first()) {
            expect_part(path, &first_file, stamp)?;
        }
        let local = inputs
            .iter()
            .zip(&looked)
            .filter_map(|(path, part)| Some((path.clone(), part.version?)));
        let local = DatasetVersion::of_versions(local);
        let (parts, files) = looked
            .into_iter()
            .map(|part| (part.facts, part.file))
            .unzip();
        let version = DatasetVersion::of_all([local, DatasetVersion::of_remote(files)]);
        Ok(Self {
            paths: inputs.to_vec(),
            parts,
            first,
            schemas,
            samples,
            roots,
            skips_comparison,
            version,
            stamps,
        })
    }

    /// The columns of a level of the index: `id`, `type`, then the others by name; with a single
    /// part, in the part's order.
    fn columns(&self, level: usize) -> Schema {
        let stored = self.schemas[level]
            .fields()
            .iter()
            .filter(|field| field.name() != SOURCE);
        let mut fields: Vec<Field> = stored.map(|field| field.as_ref().clone()).collect();
        if self.schemas.len() > 1 && !fields.iter().any(|field| field.name() == CURRENT_ID) {
            fields.push(Field::new(CURRENT_ID, DataType::Int64, true));
        }
        fields.push(Field::new(SOURCE, DataType::Utf8, true));
        if self.paths.len() > 1 {
            fields.sort_by(|a, b| compare_columns(a.name(), b.name()));
        }
        Schema::new(fields)
    }

    /// Streams one level of all parts into `out` as Parquet.
    fn write_level<W: Write + Send>(
        &self,
        level: usize,
        out: W,
        parquet: &ParquetOptions,
        ctx: &JobContext,
    ) -> Result<W> {
        ctx.stage(&tr!("Writing level {level}", level), None);
        let schema = Arc::new(self.columns(level));
        let mut sink = ParquetSink::new(out, &schema, parquet)?;
        let parts = self.paths.iter().zip(&self.parts).zip(&self.stamps);
        for ((path, part), stamp) in parts {
            ctx.check()?;
            let zip = ZipReader::open(path)?;
            expect_part(path, zip.file(), stamp)?;
            let true_positions = if level > 0 && !zip.positions_hold(level, ctx)? {
                Some(zip.true_positions(level, ctx)?)
            } else {
                None
            };
            let head = zip.levels().head(level).ok_or_else(|| {
                Error::format("the dataset changed while it was read").at_path(path)
            })?;
            let mut row = 0;
            let written = head.for_each_batch(ctx, &mut |batch| {
                let rows = row..row + batch.num_rows();
                row = rows.end;
                let true_positions = true_positions
                    .as_ref()
                    .and_then(|positions| positions.get(rows.clone()));
                sink.write(&index_part_rows(
                    &batch,
                    rows.start,
                    &schema,
                    &part.name,
                    true_positions,
                )?)
            });
            written.map_err(|error| {
                if error.is_cancelled() {
                    error
                } else {
                    Error::new(
                        error.kind(),
                        format!("level{level} of {} can't be copied", part.name),
                    )
                    .because(error)
                }
            })?;
        }
        sink.finish()
    }

    /// COLLECTION.json of the index without the list of parts.
    fn collection(&self) -> Result<serde_json::Map<String, serde_json::Value>> {
        let mut fields = merge_collection_fields(&self.first, &self.parts, self.skips_comparison)?;
        // The first part's, as the Python tools do, unless the index adds the row numbers that
        // older parts lack.
        if self.first.get("taco:field_schema").is_none() || self.adds_numbers() {
            fields.insert("taco:field_schema".into(), self.field_schema());
        }
        Ok(fields)
    }

    /// `taco:field_schema` of the index's own columns.
    fn field_schema(&self) -> serde_json::Value {
        let columns: Vec<Schema> = (0..self.schemas.len())
            .map(|level| self.columns(level))
            .collect();
        field_schema_of(&columns, self.first.get("taco:field_schema"))
    }

    /// True when the index adds row numbers that the parts lack.
    fn adds_numbers(&self) -> bool {
        self.schemas.len() > 1
            && self
                .schemas
                .iter()
                .any(|schema| schema.field_with_name(CURRENT_ID).is_err())
    }

    fn build_result(&self, path: PathBuf, options: &ConsolidateOptions, bytes: u64) -> Built {
        Built {
            samples: self.samples,
            roots: self.roots,
            files: self.parts.len() as u64,
            bytes,
            ..Built::new(path, options.format)
        }
    }
}

/// Converts rows of a part, starting at row `first`, into rows of the index. `true_positions` are
/// offset and size of each row where the columns of the part are wrong.
fn index_part_rows(
    batch: &RecordBatch,
    first: usize,
    schema: &Arc<Schema>,
    source: &str,
    true_positions: Option<&[Option<(i64, i64)>]>,
) -> Result<RecordBatch> {
    let failed = |error: arrow::error::ArrowError| {
        Error::internal("rows of a part don't fit the index").because(error)
    };
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let corrected = match (field.name().as_str(), true_positions) {
            (SOURCE, _) => {
                columns.push(Arc::new(StringArray::from_iter_values(
                    std::iter::repeat_n(source, batch.num_rows()),
                )));
                continue;
            }
            ("internal:offset", Some(true_positions)) => Some(
                true_positions
                    .iter()
                    .map(|range| range.map(|range| range.0))
                    .collect::<Int64Array>(),
            ),
            ("internal:size", Some(true_positions)) => Some(
                true_positions
                    .iter()
                    .map(|range| range.map(|range| range.1))
                    .collect::<Int64Array>(),
            ),
            _ => None,
        };
        match corrected {
            None if field.name() == CURRENT_ID && batch.column_by_name(CURRENT_ID).is_none() => {
                let first = first as i64;
                columns.push(Arc::new(Int64Array::from_iter_values(
                    first..first + batch.num_rows() as i64,
                )));
            }
            Some(array) => {
                columns.push(arrow::compute::cast(&array, field.data_type()).map_err(failed)?)
            }
            None => {
                let column = batch.column_by_name(field.name());
                columns.push(
                    column.cloned().ok_or_else(|| {
                        Error::format(format!("column {} is missing", field.name()))
                    })?,
                );
            }
        }
    }
    RecordBatch::try_new(schema.clone(), columns).map_err(failed)
}

fn name_of(path: &Path) -> Result<String> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::usage("this is not a file").at_path(path))?;
    Ok(name
        .to_str()
        .ok_or_else(|| Error::usage("the file name is not UTF-8").at_path(path))?
        .to_owned())
}

fn schemas_of(zip: &ZipReader) -> Vec<Schema> {
    (0..zip.levels().count())
        .filter_map(|level| read_stored_schema(zip, level))
        .collect()
}

/// The columns of a level without the part of each row.
fn read_stored_schema(zip: &ZipReader, level: usize) -> Option<Schema> {
    let fields = zip.levels().head(level)?.schema().fields().clone();
    let stored = fields.iter().filter(|field| field.name() != SOURCE);
    // Compares names and types only, not the metadata of the Arrow schema.
    Some(Schema::new(
        stored
            .map(|field| Field::new(field.name(), field.data_type().clone(), true))
            .collect::<Vec<_>>(),
    ))
}

/// The tree pattern derived from the tree, as some tools omit patterns from `taco:pit_schema`. For
/// a flat dataset no page is read.
fn pit_of(zip: &ZipReader, ctx: &JobContext) -> Result<PitSchema> {
    if zip.levels().count() == 1
        && let Some(declared) = zip
            .collection()
            .get("taco:pit_schema")
            .and_then(|pit| pit.get("root")?.get("type")?.as_str())
        && declared == SampleKind::File.as_str()
    {
        let n = zip.levels().rows(0) as u64;
        return Ok(PitSchema {
            root: PitRoot {
                n,
                kind: SampleKind::File,
            },
            shape: vec![n],
            hierarchy: Default::default(),
        });
    }
    let tree = zip.levels().skeleton(ctx)?;
    PitSchema::from_skeleton(&tree)
        .ok_or_else(|| Error::invalid("the dataset has no samples").at_path(zip.file().path()))
}

fn write_folder(
    parts_to_index: &PartsToIndex,
    options: &ConsolidateOptions,
    ctx: &JobContext,
) -> Result<Built> {
    let target = place_below(&options.target, ".tacocat");
    let output = PartialFolder::new(&target, options.overwrite)?;
    let mut bytes = 0;
    for level in 0..parts_to_index.schemas.len() {
        let path = output.path().join(format!("level{level}.parquet"));
        let file = File::create_new(&path).io_at("write the index", &path)?;
        let mut out =
            parts_to_index.write_level(level, BufWriter::new(file), &options.parquet, ctx)?;
        out.flush().io_at("write the index", &path)?;
        bytes += out
            .get_ref()
            .metadata()
            .io_at("read the index", &path)?
            .len();
    }
    let mut fields = parts_to_index.collection()?;
    fields.insert("taco:sources".into(), sources_of(&parts_to_index.parts));
    let collection = collection_bytes(&fields, b"    ")?;
    let path = output.path().join("COLLECTION.json");
    std::fs::write(&path, &collection).io_at("write the index", &path)?;
    ctx.check()?;
    parts_to_index.version.expect_unchanged()?;
    output.finish()?;
    Ok(parts_to_index.build_result(target, options, bytes + collection.len() as u64))
}

fn write_file(
    parts_to_index: &PartsToIndex,
    options: &ConsolidateOptions,
    ctx: &JobContext,
) -> Result<Built> {
    if parts_to_index.schemas.len() > MAX_LEVELS {
        return Err(Error::invalid(format!(
            "__TACOCAT__ has room for {MAX_LEVELS} levels"
        )));
    }
    let target = place_below(&options.target, "__TACOCAT__");
    let output = PartialFile::new(&target, options.overwrite)?;
    let failed = |error| Error::io("write the index", &target, error);
    let mut index = TacocatIndex::default();
    let mut out = output.file();
    out.write_all(&[0; INDEX_SIZE]).map_err(failed)?;
    let mut end = INDEX_SIZE as u64;
    for level in 0..parts_to_index.schemas.len() {
        let mut written = parts_to_index.write_level(
            level,
            BufWriter::new(output.file()),
            &options.parquet,
            ctx,
        )?;
        written.flush().map_err(failed)?;
        let position = out.stream_position().map_err(failed)?;
        index.levels.push(HeaderEntry {
            offset: end,
            size: position - end,
        });
        end = position;
    }
    let mut fields = parts_to_index.collection()?;
    fields.insert("_tacocat".into(), tacocat_of(&parts_to_index.parts));
    let collection = collection_bytes(&fields, b"  ")?;
    out.write_all(&collection).map_err(failed)?;
    index.collection = HeaderEntry {
        offset: end,
        size: collection.len() as u64,
    };
    out.seek(SeekFrom::Start(0)).map_err(failed)?;
    out.write_all(&index.to_bytes()).map_err(failed)?;
    ctx.check()?;
    parts_to_index.version.expect_unchanged()?;
    output.finish()?;
    Ok(parts_to_index.build_result(target, options, end + collection.len() as u64))
}

fn write_collection_file(
    parts_to_index: &PartsToIndex,
    options: &ConsolidateOptions,
) -> Result<Built> {
    let output = PartialFile::new(&options.target, options.overwrite)?;
    let mut fields = merge_collection_fields(
        &parts_to_index.first,
        &parts_to_index.parts,
        parts_to_index.skips_comparison,
    )?;
    fields.insert("taco:sources".into(), sources_of(&parts_to_index.parts));
    let collection = collection_bytes(&fields, b"    ")?;
    output
        .file()
        .write_all(&collection)
        .io_at("write the collection", &options.target)?;
    parts_to_index.version.expect_unchanged()?;
    output.finish()?;
    Ok(parts_to_index.build_result(options.target.clone(), options, collection.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_zips_is_replaced_by_them_in_the_order_of_their_names() {
        let home = tempfile::tempdir().expect("a folder");
        for name in ["b.tacozip", "a.TACOZIP", "c.zip", "notes.txt", ".tacocat"] {
            std::fs::write(home.path().join(name), "x").expect("writes");
        }
        std::fs::create_dir(home.path().join("d.zip")).expect("a folder");
        let other = home.path().join("notes.txt");
        let found = list_zips(&[other.clone(), home.path().to_owned()]).expect("lists");
        let expected = ["notes.txt", "a.TACOZIP", "b.tacozip", "c.zip"];
        assert_eq!(found, expected.map(|name| home.path().join(name)));
        let empty = home.path().join("d.zip");
        assert_eq!(
            list_zips(std::slice::from_ref(&empty)).expect("lists"),
            [empty]
        );
    }
}
