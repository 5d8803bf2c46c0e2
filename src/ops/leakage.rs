//! Leakage between the parts of a split: reads parts, locations, times and hashes from the levels,
//! then runs [`crate::extensions::leakage`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor, visit_read_dataset};
use crate::container::{self, ContainerReader, OpenOptions};
use crate::error::{Error, Result};
use crate::extensions::{
    HASH_COLUMN, LOCATION_AND_TIME_COLUMNS, LeakFacts, LeakSample, Leakage, LeakageRequest,
    OLD_SPLIT_COLUMN, SPLIT_COLUMN, leakage,
};
use crate::footprint::{CENTROID_COLUMNS, GEOMETRY_COLUMNS, GRIDS, StatedLocationReader};
use crate::jobs::JobContext;
use crate::model::{Dataset, Sample, SamplePath, Tortilla, Value, is_padding};
use crate::table::{LevelTable, value_text};

/// The request with the old name of the column `split`, where the dataset has that one alone.
fn resolve_split_column(
    request: &LeakageRequest,
    count: usize,
    has: &dyn Fn(usize, &str) -> bool,
) -> LeakageRequest {
    let has_column = |name: &str| (0..count).any(|level| has(level, name));
    let has_old_name =
        request.column == SPLIT_COLUMN && !has_column(SPLIT_COLUMN) && has_column(OLD_SPLIT_COLUMN);
    let column = if has_old_name {
        OLD_SPLIT_COLUMN.to_owned()
    } else {
        request.column.clone()
    };
    LeakageRequest {
        column,
        ..request.clone()
    }
}

/// The level of the parts, and the levels of locations and hashes: the first at or below it that
/// has them.
struct Levels {
    parts: usize,
    ground: Option<usize>,
    hashes: Option<usize>,
}

impl Levels {
    fn choose(
        request: &LeakageRequest,
        count: usize,
        has: &dyn Fn(usize, &str) -> bool,
    ) -> Result<Self> {
        let parts = match request.level {
            Some(level) if level >= count => {
                return Err(Error::usage(format!(
                    "there is no level {level}; the dataset has {count}"
                )));
            }
            Some(level) if has(level, &request.column) => Some(level),
            Some(_) => None,
            None => (0..count).find(|&level| has(level, &request.column)),
        };
        let parts = parts.ok_or_else(|| {
            let missing = match request.level {
                Some(level) => format!("level {level} has no"),
                None => "no level has".to_owned(),
            };
            Error::usage(format!(
                "{missing} column {}, so there is no split to look at",
                request.column
            ))
            .hint("run the extension split_assignment, or name the column that holds the parts")
        })?;
        let first = |names: &[&str]| {
            (parts..count).find(|&level| names.iter().any(|name| has(level, name)))
        };
        let grids = GRIDS.iter().map(|grid| grid.transform);
        let places: Vec<&str> = GEOMETRY_COLUMNS
            .into_iter()
            .chain(grids)
            .chain(CENTROID_COLUMNS)
            .collect();
        Ok(Self {
            parts,
            ground: first(&places),
            hashes: first(&[HASH_COLUMN]),
        })
    }

    /// The levels whose rows are compared: those of locations and hashes, or that of the parts.
    fn levels_to_read(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = self.ground.into_iter().chain(self.hashes).collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.is_empty() {
            vec![self.parts]
        } else {
            levels
        }
    }

    /// True where locations and times are compared: at the level that has locations, or everywhere
    /// when none has.
    fn compares_location_and_time(&self, level: usize) -> bool {
        self.ground.is_none_or(|ground| ground == level)
    }

    /// As [`Self::compares_ground`], of hashes.
    fn compares_hash(&self, level: usize) -> bool {
        self.hashes.is_none_or(|hashes| hashes == level)
    }

    /// The columns that are compared at `level`.
    fn columns(&self, level: usize) -> Vec<&'static str> {
        let ground = LOCATION_AND_TIME_COLUMNS
            .iter()
            .copied()
            .filter(|_| self.compares_location_and_time(level));
        ground
            .chain((self.hashes == Some(level)).then_some(HASH_COLUMN))
            .collect()
    }
}

/// Searches a dataset for samples that the parts of its split share. Plain data.
///
/// # Errors
/// Those of opening the dataset and of [`leakage_of_container`].
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct DatasetLeakageRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it.
    pub open: OpenOptions,
    /// Column and thresholds.
    #[serde(flatten)]
    pub search: LeakageRequest,
}

impl Operation for DatasetLeakageRequest {
    type Output = Leakage;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("Look for leaks").into()
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
    }

    fn run(&self, ctx: &JobContext) -> Result<Leakage> {
        let reader = container::open_with(&self.input, &self.open, ctx)?;
        leakage_of_container(reader.as_ref(), &self.search, ctx)
    }
}

impl OperationOutput for Leakage {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        let leaks = self.lines().len();
        if self.leaks() {
            tr_n!(leaks, "{n} leak", "{n} leaks", n = leaks)
        } else {
            tr!("Nothing leaks").into()
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }

    fn is_sound(&self) -> bool {
        !self.leaks()
    }
}

/// Leakage between the partitions of an opened dataset's split.
///
/// # Errors
/// When no level has the split column, it names no part, or a table can't be read.
pub fn leakage_of_container(
    reader: &dyn ContainerReader,
    request: &LeakageRequest,
    ctx: &JobContext,
) -> Result<Leakage> {
    let store = reader.levels();
    let has = |level: usize, name: &str| store.fields(level).iter().any(|field| field.name == name);
    let request = &resolve_split_column(request, store.count(), &has);
    let levels = Levels::choose(request, store.count(), &has)?;
    let tree = store.skeleton(ctx)?;
    let table = store.columns(levels.parts, &[&request.column], ctx)?;
    let column = table.column_index(&request.column);
    let dtype = read_cell(&table, 0, &request.column).1;
    let parts: Vec<Option<Arc<str>>> = (0..table.rows())
        .map(|row| read_partition(&table.value(row, column?), &dtype))
        .collect();
    // Made for the examples alone, as a path takes more than the rest of a sample.
    let (mut samples, mut rows_of_samples) = (Vec::new(), Vec::new());
    let location_reader = StatedLocationReader::default();
    for level in levels.levels_to_read() {
        let names = levels.columns(level);
        let table = store.columns(level, &names, ctx)?;
        let Some(rows) = tree.levels.get(level) else {
            continue;
        };
        let count = table.rows().min(rows.len());
        samples.reserve_exact(count);
        rows_of_samples.reserve_exact(count);
        for row in 0..count {
            if row % 4096 == 0 {
                ctx.check()?;
            }
            if is_padding(rows.id(row as u32)) {
                continue;
            }
            let mut ancestor = Some(row as u32);
            for depth in (levels.parts..level).rev() {
                ancestor = ancestor.and_then(|row| {
                    tree.levels
                        .get(depth + 1)?
                        .parents
                        .get(row as usize)
                        .copied()
                });
            }
            let part = ancestor
                .and_then(|row| parts.get(row as usize))
                .cloned()
                .flatten();
            let value = |name: &str| read_cell(&table, row, name);
            rows_of_samples.push((level, row as u32));
            samples.push(LeakSample {
                part,
                facts: LeakFacts::from_row_values(&location_reader, &value),
                compares_location_and_time: levels.compares_location_and_time(level),
                compares_hash: levels.compares_hash(level),
            });
        }
    }
    refuse_unnamed_parts(&samples, request, levels.parts)?;
    let path_of = |at: usize| tree.archive_path(rows_of_samples[at].0, rows_of_samples[at].1);
    leakage(&samples, &path_of, request, levels.parts, ctx)
}

/// The partition that a value of the split names: its text, or a number or truth value as text.
fn read_partition(value: &Value, dtype: &DataType) -> Option<Arc<str>> {
    let part = match (value, dtype) {
        (Value::Text(part), _) => part.clone(),
        (Value::Bool(_) | Value::Int(_) | Value::UInt(_), _)
        | (Value::Other(_), DataType::Dictionary(..)) => value_text(value, dtype).into(),
        // Integers with a gap are floats in pandas.
        (Value::Float(number), _) if number.fract() == 0.0 => number.to_string().into(),
        _ => return None,
    };
    (!part.is_empty()).then_some(part)
}

/// Refuses samples of which none has a part: "nothing leaks" would be wrong.
fn refuse_unnamed_parts(
    samples: &[LeakSample],
    request: &LeakageRequest,
    level: usize,
) -> Result<()> {
    if samples.is_empty() || samples.iter().any(|sample| sample.part.is_some()) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "column {} of level {level} names no part: all its values are empty or not text",
        request.column
    ))
    .hint("choose the column with the names of the parts (--column)"))
}

/// A value of a row with its type; null where the table has no such column.
fn read_cell(table: &LevelTable, row: usize, name: &str) -> (Value, DataType) {
    match table.column_index(name) {
        Some(column) => (
            table.value(row, column),
            table.schema().field(column).data_type().clone(),
        ),
        None => (Value::Null, DataType::Null),
    }
}

/// A value of a sample of a draft with its type; null without a field.
fn read_sample_value(
    tortilla: &Tortilla,
    sample: &Sample,
    field: Option<usize>,
) -> (Value, DataType) {
    match field {
        Some(index) => (
            sample.value(index).clone(),
            tortilla
                .schema
                .get(index)
                .map_or(DataType::Null, |f| f.dtype.clone()),
        ),
        None => (Value::Null, DataType::Null),
    }
}

/// Adds the names of the fields on each level.
fn collect_field_names(tortilla: &Tortilla, level: usize, level_fields: &mut [Vec<String>]) {
    if let Some(names) = level_fields.get_mut(level) {
        for field in tortilla.schema.iter() {
            if !names.contains(&field.name) {
                names.push(field.name.clone());
            }
        }
    }
    tortilla
        .samples
        .iter()
        .filter_map(|sample| sample.children())
        .for_each(|children| collect_field_names(children, level + 1, level_fields));
}

/// Leakage between the partitions of a draft's split.
///
/// # Errors
/// When no level has the split column, or it names no part.
pub fn leakage_of_draft(
    dataset: &Dataset,
    request: &LeakageRequest,
    ctx: &JobContext,
) -> Result<Leakage> {
    let depth = dataset.depth();
    let mut level_fields: Vec<Vec<String>> = vec![Vec::new(); depth];
    collect_field_names(&dataset.root, 0, &mut level_fields);
    let names = |level: usize| level_fields.get(level).into_iter().flatten();
    let has = |level: usize, name: &str| names(level).any(|field| field == name);
    let request = &resolve_split_column(request, depth, &has);
    let levels = Levels::choose(request, depth, &has)?;
    let mut walk = LeakageWalk {
        levels_to_read: levels.levels_to_read(),
        levels,
        column: &request.column,
        samples: Vec::new(),
        paths: Vec::new(),
        location_reader: StatedLocationReader::default(),
        ctx,
    };
    walk.collect_samples(&dataset.root, 0, &mut Vec::new(), None)?;
    refuse_unnamed_parts(&walk.samples, request, walk.levels.parts)?;
    let path_of = |at: usize| walk.paths[at].clone();
    leakage(&walk.samples, &path_of, request, walk.levels.parts, ctx)
}

struct LeakageWalk<'a> {
    levels: Levels,
    levels_to_read: Vec<usize>,
    column: &'a str,
    samples: Vec<LeakSample>,
    /// The path of each sample.
    paths: Vec<String>,
    location_reader: StatedLocationReader,
    ctx: &'a JobContext,
}

impl LeakageWalk<'_> {
    fn collect_samples(
        &mut self,
        tortilla: &Tortilla,
        level: usize,
        ids: &mut Vec<Arc<str>>,
        parent_part: Option<Arc<str>>,
    ) -> Result<()> {
        self.ctx.check()?;
        let column = tortilla.field(self.column);
        let columns = self.levels.columns(level);
        for sample in tortilla
            .samples
            .iter()
            .filter(|sample| !sample.is_padding())
        {
            ids.push(sample.id.clone());
            let part = if level == self.levels.parts {
                let (value, dtype) = read_sample_value(tortilla, sample, column);
                read_partition(&value, &dtype)
            } else {
                parent_part.clone()
            };
            if self.levels_to_read.contains(&level) {
                let listed = |name: &str| tortilla.field(name).filter(|_| columns.contains(&name));
                let value = |name: &str| read_sample_value(tortilla, sample, listed(name));
                self.paths.push(SamplePath(ids.clone()).to_archive());
                self.samples.push(LeakSample {
                    part: part.clone(),
                    facts: LeakFacts::from_row_values(&self.location_reader, &value),
                    compares_location_and_time: self.levels.compares_location_and_time(level),
                    compares_hash: self.levels.compares_hash(level),
                });
            }
            if let Some(children) = sample.children() {
                self.collect_samples(children, level + 1, ids, part)?;
            }
            ids.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, DictionaryArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::model::FieldSpec;
    use crate::table::{value_at, write_wkb_point};

    fn with_values(mut sample: Sample, values: &[Value]) -> Sample {
        sample.values = values.into();
        sample
    }

    /// FOLDERs with these values of `split` and the same place, each with three FILEs; each FILE
    /// has the hash of its position.
    fn build_scenes(dtype: DataType, parts: &[Value]) -> Dataset {
        let files = ["a", "b", "c"].map(|id| {
            let file = Sample::new_file(id, "/data/x.tif", 3);
            with_values(file, &[Value::text(id)])
        });
        let files = Tortilla {
            schema: [FieldSpec::new(HASH_COLUMN, DataType::Utf8)].into(),
            samples: files.into(),
        };
        let place = Value::Bytes(Arc::from(write_wkb_point(5.0, 10.0)));
        let scene = |(at, part): (usize, &Value)| {
            let folder = Sample::new_folder(&format!("s{at}"), files.clone());
            with_values(folder, &[part.clone(), place.clone()])
        };
        let root = Tortilla {
            schema: [
                FieldSpec::new(SPLIT_COLUMN, dtype),
                FieldSpec::new(CENTROID_COLUMNS[0], DataType::Binary),
            ]
            .into(),
            samples: parts.iter().enumerate().map(scene).collect(),
        };
        Dataset {
            root: root.into(),
            ..Dataset::default()
        }
    }

    fn find_leaks(dataset: &Dataset) -> Result<Leakage> {
        leakage_of_draft(dataset, &LeakageRequest::default(), &JobContext::default())
    }

    #[test]
    fn samples_are_counted_on_the_level_of_their_locations_or_hashes() {
        let parts = ["train", "test"].map(Value::text);
        let found = find_leaks(&build_scenes(DataType::Utf8, &parts)).expect("works");
        let counts: Vec<_> = found
            .parts
            .iter()
            .map(|part| (part.name.as_str(), part.samples, part.placed))
            .collect();
        assert_eq!(counts, [("test", 1, 1), ("train", 1, 1)]);
        assert_eq!(found.unknown, ["2 of 2 samples have no time"]);
        assert_eq!(
            (found.footprints[0].pairs, found.content[0].pairs),
            (1, 3),
            "{found:?}"
        );
    }

    #[test]
    fn numbers_and_truth_values_name_parts() {
        for (dtype, parts) in [
            (DataType::Int64, [Value::Int(0), Value::Int(1)]),
            (DataType::UInt64, [Value::UInt(0), Value::UInt(1)]),
            (DataType::Boolean, [Value::Bool(false), Value::Bool(true)]),
        ] {
            let found = find_leaks(&build_scenes(dtype.clone(), &parts)).expect("works");
            assert_eq!(found.parts.len(), 2, "{dtype}");
            assert!(found.leaks(), "{dtype}");
        }
        let words: DictionaryArray<Int32Type> = ["train", "test"].into_iter().collect();
        let words: ArrayRef = Arc::new(words);
        let part = read_partition(&value_at(&words, 1), words.data_type());
        assert_eq!(part.as_deref(), Some("test"));
    }

    #[test]
    fn a_column_without_parts_is_refused() {
        for parts in [[Value::Null, Value::Null], ["", ""].map(Value::text)] {
            let error = find_leaks(&build_scenes(DataType::Utf8, &parts)).expect_err("refused");
            assert_eq!(error.kind(), crate::error::Kind::Usage);
            assert!(
                error
                    .to_string()
                    .contains("column split of level 0 names no part"),
                "{error}"
            );
        }
    }
}
