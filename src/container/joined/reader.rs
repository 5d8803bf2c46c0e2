//! Opens several datasets as one.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use rayon::prelude::*;
use tempfile::{SpooledData, SpooledTempFile};

use super::columns::{JoinMode, JoinedColumnChange, SourceColumns, join_columns};
use super::rows::{LevelRows, add_internal_columns};
use super::sources::{DatasetOpener, JoinedSources};
use crate::container::merge_collections::{
    PartFacts, merge_collection_fields, sources_of, sum_pit_schemas,
};
use crate::container::{
    ByteSource, ContainerInfo, ContainerReader, Format, LevelSet, OpeningFacts, Physical,
    RowSource, detect, field_schema_of, read_collection_file,
};
use crate::error::{Error, IoContext, Kind, Result};
use crate::files::Root;
use crate::jobs::{JobContext, try_map};
use crate::model::{
    AssetPath, Collection, FieldSpec, Finding, Location, PitSchema, Rule, is_remote, place_above,
    place_below, safe_relative,
};
use crate::table::{LevelTable, ParquetOptions, ParquetSink, ParquetSlice, TableHead};
use crate::text::PrintableLine;

/// Maximum bytes of a joined level that is kept in memory; a larger one is written to a file.
const LEVEL_MEMORY_MAX: usize = 16 << 20;

/// An entry of TACOLLECTION.json.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedPart {
    /// File name as listed.
    pub name: String,
    /// Id and extent from the part's own collection; `None` when the part could not be opened.
    pub id_and_extent: Option<(String, serde_json::Value)>,
}

/// Several datasets opened as one.
pub struct JoinedReader {
    opening: OpeningFacts,
    sources: JoinedSources,
    /// For each level, the first row of each dataset, followed by the total number of rows.
    starts: Vec<Vec<u32>>,
    changes: Vec<JoinedColumnChange>,
    listed_parts: Option<Vec<JoinedPart>>,
}

/// What is read of each dataset before they are joined.
struct DatasetFacts {
    facts: PartFacts,
    columns: SourceColumns,
    collection: Collection,
    /// What is wrong with a collection that could not be read.
    unread_collection: Option<Finding>,
    rows: Vec<u32>,
}

impl JoinedReader {
    /// Opens the datasets in this order. Their tree patterns must be equal; `mode` decides about
    /// differing columns. Large joined level tables are stored on disk.
    ///
    /// # Errors
    /// When a dataset is listed twice or cannot be opened, trees differ, or columns conflict under
    /// `mode`.
    pub fn open(
        paths: &[PathBuf],
        mode: JoinMode,
        opener: DatasetOpener,
        ctx: &JobContext,
    ) -> Result<Self> {
        let Some(first) = paths.first() else {
            return Err(Error::usage("no datasets are given"));
        };
        let mut seen = HashSet::new();
        if let Some(twice) = paths.iter().find(|path| {
            !seen.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()))
        }) {
            return Err(Error::usage("this dataset is given twice").at_path(twice));
        }
        let sources = JoinedSources::new(paths.to_vec(), opener);
        ctx.stage(tr!("Comparing the datasets"), Some(paths.len() as u64));
        let datasets: Vec<DatasetFacts> =
            try_map(0..paths.len(), |_, index| read_facts(&sources, index, ctx))?;
        let info = ContainerInfo {
            format: Format::Joined,
            path: first.clone(),
            size_bytes: None,
        };
        let mut joined = Self::from_sources(info, sources, &datasets, mode, ctx)?;
        let facts: Vec<PartFacts> = datasets
            .iter()
            .map(|dataset| dataset.facts.clone())
            .collect();
        let mut fields = datasets
            .first()
            .map(|first| merge_collection_fields(&first.collection, &facts, false))
            .transpose()?
            .unwrap_or_default();
        let known = fields.shift_remove("taco:field_schema");
        let columns: Vec<Schema> = (0..joined.levels().count())
            .filter_map(|level| joined.levels().head(level))
            .map(|head| head.schema().as_ref().clone())
            .collect();
        fields.insert(
            "taco:field_schema".into(),
            field_schema_of(&columns, known.as_ref()),
        );
        fields.insert("taco:sources".into(), sources_of(&facts));
        joined.opening.collection = Collection { fields };
        Ok(joined)
    }

    /// Opens the archives that a TACOLLECTION.json lists, in the folder `base`, else in that of the
    /// list. An archive that can't be opened is a finding.
    ///
    /// # Errors
    /// [`Kind::Format`] when the list is empty, leads outside the folder or is recursive;
    /// [`Kind::Io`] when no archive can be opened.
    pub fn open_collection(
        path: &Path,
        base: Option<&Path>,
        opener: DatasetOpener,
        ctx: &JobContext,
    ) -> Result<Self> {
        let size_bytes = Some(ByteSource::open(path)?.size_bytes());
        let collection = read_collection_file(path)?;
        let list = collection
            .get("taco:sources")
            .and_then(|sources| sources.get("files")?.as_array());
        let names: Vec<String> = list
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        if names.is_empty() {
            return Err(Error::format("taco:sources lists no files").at_path(path));
        }
        if let Some(name) = names.iter().find(|name| !safe_relative(name)) {
            let message = "the name of this part leads outside the folder of the parts";
            return Err(Error::format(message).at_place(name.escape_default()));
        }
        let beside = if is_remote(path) {
            place_above(path)
        } else {
            std::path::absolute(path)
                .io_at("find the folder of the collection", path)?
                .parent()
                .map(Path::to_owned)
        };
        let folder = base.map(Path::to_owned).or(beside).unwrap_or_default();
        let listed_sources = JoinedSources::new(
            names
                .iter()
                .map(|name| place_below(&folder, name))
                .collect(),
            opener,
        );
        ctx.stage(tr!("Opening the parts"), Some(names.len() as u64));
        let root = Root::new(&folder);
        let outcomes: Vec<Result<DatasetFacts>> = (0..names.len())
            .into_par_iter()
            .map(|index| read_part_facts(&listed_sources, index, &names[index], &root, ctx))
            .collect();
        let (mut found, mut notes, mut listed, mut opened) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, (name, outcome)) in names.into_iter().zip(outcomes).enumerate() {
            let id_and_extent = match outcome {
                Ok(part) => {
                    let id_and_extent = (part.facts.id.clone(), part.facts.extent.clone());
                    opened.push(index);
                    found.push(part);
                    Some(id_and_extent)
                }
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    let at = Location::Member(name.printable_line().to_string());
                    notes.push(Finding::new(Rule::PartMissing, at, error.sentence()));
                    None
                }
            };
            listed.push(JoinedPart {
                name,
                id_and_extent,
            });
        }
        if found.is_empty() {
            let note = notes
                .first()
                .map(|note| note.message.clone())
                .unwrap_or_default();
            return Err(Error::new(
                Kind::Io,
                "none of the parts that the collection lists can be opened",
            )
            .because(note)
            .at_path(&folder)
            .hint("put them there, or name the folder that holds them with --base-path"));
        }
        let info = ContainerInfo {
            format: Format::Tacollection,
            path: path.to_owned(),
            size_bytes,
        };
        let mut joined = Self::from_sources(
            info,
            listed_sources.select_datasets(&opened),
            &found,
            JoinMode::FillMissing,
            ctx,
        )?;
        joined.opening.collection = collection;
        joined.opening.notes = notes;
        joined.listed_parts = Some(listed);
        Ok(joined)
    }

    fn from_sources(
        info: ContainerInfo,
        sources: JoinedSources,
        datasets: &[DatasetFacts],
        mode: JoinMode,
        ctx: &JobContext,
    ) -> Result<Self> {
        let facts: Vec<PartFacts> = datasets
            .iter()
            .map(|dataset| dataset.facts.clone())
            .collect();
        sum_pit_schemas(&facts, false)?;
        let columns: Vec<&SourceColumns> =
            datasets.iter().map(|dataset| &dataset.columns).collect();
        if let Some(other) = columns
            .iter()
            .find(|other| other.levels.len() != columns[0].levels.len())
        {
            let (first, count) = (&columns[0].name, columns[0].levels.len());
            return Err(Error::invalid(format!(
                "{first} has {count} levels, {} has {}",
                other.name,
                other.levels.len()
            )));
        }
        let (planned, changes) = join_columns(&columns, mode)?;
        changes
            .iter()
            .for_each(|change| ctx.warn(change.to_string()));
        let mut starts: Vec<Vec<u32>> = Vec::with_capacity(planned.len());
        for level in 0..planned.len() {
            let mut sum = 0u32;
            let mut level_starts = vec![0];
            for dataset in datasets {
                let rows = dataset.rows.get(level).copied().unwrap_or_default();
                sum = sum.checked_add(rows).ok_or_else(|| {
                    Error::unsupported("together these have more than four billion samples")
                })?;
                level_starts.push(sum);
            }
            starts.push(level_starts);
        }
        let mut heads = Vec::with_capacity(planned.len());
        for (level, columns) in planned.iter().enumerate() {
            let has = |name: &str| has_column(datasets, level, name);
            let schema = add_internal_columns(columns, &has);
            heads.push(join_level(&sources, &starts, level, schema, ctx)?);
        }
        let levels = LevelSet::new(heads);
        let notes = datasets
            .iter()
            .filter_map(|dataset| dataset.unread_collection.clone())
            .collect();
        let opening = OpeningFacts::new(info, levels, Ok(Collection::default()), notes)
            .of_version(sources.version());
        Ok(Self {
            opening,
            sources,
            starts,
            changes,
            listed_parts: None,
        })
    }

    /// Names and paths of the datasets, in order.
    pub fn datasets(&self) -> impl ExactSizeIterator<Item = (&str, &Path)> {
        self.sources
            .named_sources()
            .iter()
            .map(|source| (source.name.as_str(), source.path.as_path()))
    }

    /// The reader of dataset `index`, opened on first use.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn dataset(&self, index: usize, ctx: &JobContext) -> Result<Arc<dyn ContainerReader>> {
        self.sources.get(index, ctx)
    }

    /// Index of the dataset that a row comes from, and its row there.
    pub fn source_of(&self, level: usize, row: u32) -> Option<(usize, u32)> {
        let starts = self.starts.get(level)?;
        let after = starts.partition_point(|&start| start <= row);
        let index = after
            .checked_sub(1)
            .filter(|&index| index + 1 < starts.len())?;
        Some((index, row - starts[index]))
    }

    /// Columns that were dropped or filled with nulls, and why.
    pub fn changes(&self) -> &[JoinedColumnChange] {
        &self.changes
    }

    /// Entries of TACOLLECTION.json; `None` when the datasets were given by the user.
    pub fn listed_parts(&self) -> Option<&[JoinedPart]> {
        self.listed_parts.as_deref()
    }

    /// The reader of the dataset that a row comes from, and its row there.
    fn find_source_reader(
        &self,
        level: usize,
        row: u32,
    ) -> Result<(Arc<dyn ContainerReader>, u32)> {
        let (index, row) = self
            .source_of(level, row)
            .ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
        Ok((self.sources.get(index, &JobContext::default())?, row))
    }
}

fn read_facts(sources: &JoinedSources, index: usize, ctx: &JobContext) -> Result<DatasetFacts> {
    ctx.check()?;
    let reader = sources.get(index, ctx)?;
    let name = sources
        .named_sources()
        .get(index)
        .map(|source| source.name.clone())
        .unwrap_or_default();
    let levels = reader.levels();
    let columns = SourceColumns {
        name: name.clone(),
        levels: (0..levels.count())
            .map(|level| make_nullable_schema(&levels.fields(level)))
            .collect(),
    };
    let tree = levels.skeleton(ctx)?;
    let pit = PitSchema::from_skeleton(&tree)
        .ok_or_else(|| Error::invalid("the dataset has no samples").at_place(&name))?;
    let collection = reader.collection().clone();
    let extent = collection.get("extent").cloned().unwrap_or_default();
    let facts = PartFacts {
        name,
        id: collection.id().to_owned(),
        extent,
        pit,
    };
    let rows = (0..levels.count())
        .map(|level| levels.rows(level) as u32)
        .collect();
    ctx.step(1);
    Ok(DatasetFacts {
        facts,
        columns,
        collection,
        unread_collection: reader.opening().unread_collection().cloned(),
        rows,
    })
}

fn make_nullable_schema(fields: &[FieldSpec]) -> Schema {
    Schema::new(
        fields
            .iter()
            .map(|field| Field::new(&field.name, field.dtype.clone(), true))
            .collect::<Vec<_>>(),
    )
}

/// As [`read_facts`], for a part with this name in a TACOLLECTION.json below the folder `root`.
fn read_part_facts(
    sources: &JoinedSources,
    index: usize,
    name: &str,
    root: &Root,
    ctx: &JobContext,
) -> Result<DatasetFacts> {
    let path = &sources.named_sources()[index].path;
    if !is_remote(path) {
        // Missing parts are reported by the code that opens them.
        match root.entry(name) {
            Err(why) if !why.is_missing() => {
                return Err(why.into_error("open the part", path));
            }
            _ => {}
        }
    }
    // A list might contain itself. For a remote part, only a `.json` name is worth a request.
    let has_list_name = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if (has_list_name || !is_remote(path)) && detect(path)?.format == Format::Tacollection {
        return Err(
            Error::format("a list of datasets can't be part of another list").at_path(path),
        );
    }
    read_facts(sources, index, ctx)
}

/// True when a level of one of the datasets has the column.
fn has_column(datasets: &[DatasetFacts], level: usize, name: &str) -> bool {
    datasets.iter().any(|dataset| {
        let levels = &dataset.columns.levels;
        let schema = levels.get(level);
        schema.is_some_and(|schema| schema.field_with_name(name).is_ok())
    })
}

/// One level of all datasets as a Parquet file: in memory when small, otherwise in an unlinked
/// temporary file. Rows are streamed with one dataset open at a time.
fn join_level(
    sources: &JoinedSources,
    starts: &[Vec<u32>],
    level: usize,
    schema: Schema,
    ctx: &JobContext,
) -> Result<TableHead> {
    ctx.stage(&tr!("Joining level {level}", level), None);
    let schema = Arc::new(schema);
    write_spooled_table(LEVEL_MEMORY_MAX, &schema, |sink| {
        for (index, source) in sources.named_sources().iter().enumerate() {
            ctx.check()?;
            let reader = sources.get(index, ctx)?;
            let tree = reader.levels().skeleton(ctx)?;
            let start_above = level.checked_sub(1).map_or(0, |above| starts[above][index]);
            let rows = LevelRows {
                reader: reader.as_ref(),
                tree: &tree,
                level,
                name: &source.name,
                schema: schema.clone(),
                start: starts[level][index],
                start_above,
            };
            rows.for_each(ctx, &mut |batch| sink.write(batch))?;
        }
        Ok(())
    })
}

/// A Parquet file written by `fill`; at most `in_memory` bytes are kept in memory.
fn write_spooled_table(
    in_memory: usize,
    schema: &Schema,
    fill: impl FnOnce(&mut ParquetSink<SpooledTempFile>) -> Result<()>,
) -> Result<TableHead> {
    let mut sink = ParquetSink::new(
        SpooledTempFile::new_in(in_memory, spool_folder()),
        schema,
        &ParquetOptions::local(),
    )?;
    fill(&mut sink)?;
    TableHead::read(match sink.finish()?.into_inner() {
        SpooledData::InMemory(bytes) => ParquetSlice::from_bytes(bytes.into_inner().into()),
        SpooledData::OnDisk(file) => {
            let file = ByteSource::of_file(file)?;
            file.parquet(0, file.size_bytes())?
        }
    })
}

/// Folder for large joined levels. Not `/tmp`, which is in memory on many systems.
fn spool_folder() -> PathBuf {
    let on_disk = Path::new("/var/tmp");
    if on_disk.is_dir() {
        on_disk.to_owned()
    } else {
        std::env::temp_dir()
    }
}

impl ContainerReader for JoinedReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (reader, row) = self.find_source_reader(level, row)?;
        reader.local_meta(level, row)
    }

    fn prefetch_assets(&self, level: usize, rows: &[u32]) -> Result<()> {
        let mut parts: Vec<(Arc<dyn ContainerReader>, Vec<u32>)> = Vec::new();
        for &row in rows {
            let (reader, row) = self.find_source_reader(level, row)?;
            match parts
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &reader))
            {
                Some((_, rows)) => rows.push(row),
                None => parts.push((reader, vec![row])),
            }
        }
        parts
            .iter()
            .try_for_each(|(reader, rows)| reader.prefetch_assets(level, rows))
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let (reader, row) = self.find_source_reader(level, row)?;
        reader.asset(level, row)
    }

    fn source(&self, level: usize, row: u32) -> Result<RowSource> {
        let (reader, row) = self.find_source_reader(level, row)?;
        reader.source(level, row)
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Joined(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, RecordBatch};
    use arrow::datatypes::DataType;

    #[test]
    fn large_levels_are_stored_on_disk() {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
        let batch = |from: i64| {
            let numbers = Int64Array::from_iter_values(from..from + 1000);
            RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(numbers)])
                .expect("a batch")
        };
        for in_memory in [0, 64, 1 << 20] {
            let head = write_spooled_table(in_memory, &schema, |sink| {
                (0..50).try_for_each(|part| sink.write(&batch(part * 1000)))
            });
            let head = head.expect("is written");
            let table = head.decode(&JobContext::default()).expect("reads");
            let numbers = table.integers("n").expect("is there").expect("is there");
            assert!(
                numbers.values().iter().copied().eq(0..50_000),
                "{in_memory} bytes in memory"
            );
        }
    }
}
