//! Pooled statistics of a selection of samples: which rows, then
//! [`crate::extensions::pooled_statistics`] or the pixels.

use std::path::{Path, PathBuf};

use arrow::array::{Array, StringArray};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor, visit_read_dataset};
use crate::container::{self, ContainerReader, OpenOptions};
use crate::error::{Error, Result};
use crate::extensions::pixel_statistics::exact;
use crate::extensions::pooled_statistics::{PooledReport, SampleStats, pool};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value, id_matches, is_padding};
use crate::query::{Filter, Tables, VsiBase, conditions_by_level, kept_rows};
use crate::table::LevelTable;

/// Which samples, and whether to read their pixels.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct StatsRequest {
    /// The level, from 0; without it, the first level with statistics (the deepest one for pixels).
    #[serde(default)]
    pub level: Option<usize>,
    /// Ids, or patterns with `*` and `?`; empty for all.
    #[serde(default)]
    pub positions: Vec<String>,
    /// An SQL condition over the columns of the level and of the levels above it.
    #[serde(default)]
    pub filter: Option<String>,
    /// West, south, east, north in degrees; on the level itself, or the nearest one with locations.
    #[serde(default)]
    pub bbox: Option<[f64; 4]>,
    /// Days as `from/to`; on the level itself, or the nearest one that has times.
    #[serde(default)]
    pub datetime: Option<String>,
    /// Reads the pixels instead of the metadata.
    #[serde(default)]
    pub exact: bool,
}

/// Pools the statistics of a selection of a dataset's samples. Plain data.
///
/// # Errors
/// Those of opening the dataset and of [`pooled_statistics`].
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct DatasetStatsRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it.
    pub open: OpenOptions,
    /// Which samples.
    #[serde(flatten)]
    pub selection: StatsRequest,
}

impl Operation for DatasetStatsRequest {
    type Output = PooledReport;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("Pool statistics").into()
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
    }

    fn run(&self, ctx: &JobContext) -> Result<PooledReport> {
        let reader = container::open_with(&self.input, &self.open, ctx)?;
        pooled_statistics(reader.as_ref(), &self.selection, None, ctx)
    }
}

impl OperationOutput for PooledReport {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        tr_n!(
            self.samples,
            "Statistics of {n} sample",
            "Statistics of {n} samples",
            n = self.samples
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}

/// Columns that a sample's statistics and weight come from.
const STATS: &str = "geotiff:stats";
const SHAPE: &str = "stac:tensor_shape";
/// The shape's name in the first generation.
const OLD_SHAPE: &str = "stac:raster_shape";
/// The four of the older specification, in the order in which `geotiff:stats` begins.
const OLD_STATS: [&str; 4] = ["stats:min", "stats:max", "stats:mean", "stats:std"];

/// Pools the statistics of the rows that `request` selects, and of these only those in `among`,
/// ascending, where given. Padding never counts.
///
/// # Errors
/// For an unknown level or column, a selection without samples, and rasters or tables that can't be
/// read.
pub fn pooled_statistics(
    reader: &dyn ContainerReader,
    request: &StatsRequest,
    among: Option<&[u32]>,
    ctx: &JobContext,
) -> Result<PooledReport> {
    let report = pool_statistics(reader, request, among, ctx)
        .map_err(|error| reader.opening().version.explain(error))?;
    reader.expect_unchanged()?;
    Ok(report)
}

/// The tables that choose rows; byte ranges come from the reader.
fn row_tables(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Tables> {
    let levels = reader.levels();
    let mut tables =
        Tables::new(VsiBase::folder(&reader.info().path)).described_by(reader.collection());
    for level in 0..levels.count() {
        match levels.head(level) {
            Some(head) => tables.push_parquet(head.clone()),
            // Levels of the other generations, and of datasets opened as one, are made in memory.
            None => tables.push_table(levels.table(level, ctx)?),
        }
    }
    Ok(tables)
}

/// True for a level whose samples have statistics.
pub(super) fn has_statistics(fields: &[FieldSpec]) -> bool {
    let has = |name: &str| fields.iter().any(|field| field.name == name);
    has(STATS) || OLD_STATS.iter().all(|name| has(name))
}

fn pool_statistics(
    reader: &dyn ContainerReader,
    request: &StatsRequest,
    among: Option<&[u32]>,
    ctx: &JobContext,
) -> Result<PooledReport> {
    let levels = reader.levels();
    let count = levels.count();
    let fields: Vec<Vec<FieldSpec>> = (0..count).map(|level| levels.fields(level)).collect();
    let has_stats = |level: usize| fields.get(level).is_some_and(|own| has_statistics(own));
    let level = match request.level {
        Some(level) if level >= count => {
            return Err(Error::usage(format!(
                "there is no level {level}; the dataset has {count}"
            )));
        }
        Some(level) => level,
        None if request.exact => count.saturating_sub(1),
        None => (0..count).find(|&level| has_stats(level)).unwrap_or(0),
    };
    if !request.exact && !has_stats(level) {
        let place = request
            .level
            .map_or("there is".to_owned(), |level| format!("level {level} has"));
        let summary = format!(
            "{place} no column {STATS}, and not all of {}",
            OLD_STATS.join(", ")
        );
        let error = Error::invalid(summary)
            .hint("--exact reads the pixels instead; --level and --positions choose which");
        return Err(error.hint("the statistics extension puts the column into a draft"));
    }
    // Locations and times come from this level, else from the nearest above, else from the first
    // below.
    let mut filters = Vec::new();
    if let Some(bbox) = request.bbox {
        filters.push(at_nearest_level(Filter::bbox(bbox), level, &fields));
    }
    if let Some(range) = &request.datetime {
        filters.push(at_nearest_level(Filter::datetime(range), level, &fields));
    }
    if let Some(condition) = &request.filter {
        let upper = fields.get(..=level).unwrap_or_default();
        let parts = conditions_by_level(condition, upper)?;
        filters.extend(
            parts
                .into_iter()
                .map(|(level, condition)| Filter::condition(condition).at_level(level)),
        );
    }
    let kept = if filters.is_empty() {
        None
    } else {
        kept_rows(&row_tables(reader, ctx)?, &filters, ctx)?
            .into_iter()
            .nth(level)
            .flatten()
    };
    let statistics = LevelStatistics::read(reader, level, ctx)?;
    let mut rows: Vec<u32> = kept.unwrap_or_else(|| (0..statistics.table.rows() as u32).collect());
    rows.retain(|row| among.is_none_or(|among| among.binary_search(row).is_ok()));
    let chosen = statistics.choose_samples(&rows, &request.positions)?;
    if request.exact {
        let files = chosen
            .into_iter()
            .filter(|(row, _)| statistics.is_file(*row));
        let assets = files
            .map(|(row, id)| Ok((id, reader.raster(level, row)?.0)))
            .collect::<Result<Vec<_>>>()?;
        return exact(&assets, ctx);
    }
    statistics.pool_samples(chosen)
}

/// The columns of a level with ids, types and statistics.
pub(super) struct LevelStatistics {
    level: usize,
    table: LevelTable,
    ids: StringArray,
}

impl LevelStatistics {
    /// Reads the columns.
    ///
    /// # Errors
    /// When the table can't be read.
    pub fn read(reader: &dyn ContainerReader, level: usize, ctx: &JobContext) -> Result<Self> {
        let fields = reader.levels().fields(level);
        let names: Vec<&str> = ["id", "type", STATS, SHAPE, OLD_SHAPE]
            .into_iter()
            .chain(OLD_STATS)
            .filter(|name| *name == "id" || fields.iter().any(|field| field.name == *name))
            .collect();
        let table = reader.levels().columns(level, &names, ctx)?;
        let ids = table.require_strings("id", &format!("level {level}"))?;
        Ok(Self { level, table, ids })
    }

    /// Of these rows the samples, without padding, whose id matches one of the patterns; all of
    /// them without patterns.
    fn choose_samples(&self, rows: &[u32], patterns: &[String]) -> Result<Vec<(u32, String)>> {
        let chosen: Vec<(u32, String)> = rows
            .iter()
            .map(|&row| (row, read_id(&self.ids, row)))
            .filter(|(_, id)| {
                !is_padding(id)
                    && (patterns.is_empty()
                        || patterns.iter().any(|pattern| id_matches(pattern, id)))
            })
            .collect();
        if chosen.is_empty() {
            let error = Error::usage(format!(
                "the selection has no sample of level {}",
                self.level
            ));
            return Err(error.hint("check --positions, --where, --bbox and --datetime"));
        }
        Ok(chosen)
    }

    fn is_file(&self, row: u32) -> bool {
        matches!(cell(&self.table, row, "type"), Value::Text(kind) if &*kind == "FILE")
    }

    fn pool_samples(&self, samples: Vec<(u32, String)>) -> Result<PooledReport> {
        pool(samples.into_iter().map(|(row, id)| {
            let name = name_sample(self.level, row, id);
            stats_of(&self.table, row, name)
        }))
    }

    /// Pools the statistics of the samples in these rows.
    ///
    /// # Errors
    /// For rows without samples, and samples without statistics or with those of other bands.
    pub fn pool_rows(&self, rows: &[u32]) -> Result<PooledReport> {
        self.pool_samples(self.choose_samples(rows, &[])?)
    }
}

/// The filter on the level that has the columns it compares: this one, else the nearest above, else
/// the first below; this one where none has them. `fields` are the columns of each level.
fn at_nearest_level(filter: Filter, level: usize, fields: &[Vec<FieldSpec>]) -> Filter {
    let mut levels = (0..=level).rev().chain(level + 1..fields.len());
    let found = levels.find(|&level| {
        let columns = fields.get(level);
        columns.is_some_and(|columns| filter.finds_columns_in(columns))
    });
    filter.at_level(found.unwrap_or(level))
}

/// The id of a row; empty for one without.
fn read_id(ids: &StringArray, row: u32) -> String {
    let row = row as usize;
    if row < ids.len() && ids.is_valid(row) {
        ids.value(row).to_owned()
    } else {
        String::new()
    }
}

/// Below level 0 ids repeat; the row identifies a sample.
fn name_sample(level: usize, row: u32, id: String) -> String {
    if level > 0 {
        format!("{id} (row {row})")
    } else {
        id
    }
}

fn cell(table: &LevelTable, row: u32, name: &str) -> Value {
    table
        .column_index(name)
        .map_or(Value::Null, |column| table.value(row as usize, column))
}

fn stats_of(rows: &LevelTable, row: u32, name: String) -> Option<SampleStats> {
    let bands = match cell(rows, row, STATS) {
        Value::List(bands) => bands.iter().map(numbers).collect(),
        _ => {
            let [min, max, mean, std] = OLD_STATS.map(|name| numbers(&cell(rows, row, name)));
            let count = mean.len();
            if count == 0 || [&min, &max, &std].iter().any(|list| list.len() != count) {
                return None;
            }
            (0..count)
                .map(|band| {
                    vec![
                        min[band], max[band], mean[band], std[band], 100.0, 0.0, 0.0, 0.0, 0.0,
                    ]
                })
                .collect()
        }
    };
    // The last two numbers of the shape are rows and columns.
    let shape = match cell(rows, row, SHAPE) {
        Value::Null => cell(rows, row, OLD_SHAPE),
        shape => shape,
    };
    let pixels = match shape {
        Value::List(shape) => match numbers(&Value::List(shape)).as_slice() {
            [.., height, width] if *height > 0.0 && *width > 0.0 => Some((height * width) as u64),
            _ => None,
        },
        _ => None,
    };
    Some(SampleStats {
        bands,
        pixels,
        name,
    })
}

/// The numbers of a list; other elements are NaN.
fn numbers(value: &Value) -> Vec<f64> {
    let Value::List(items) = value else {
        return Vec::new();
    };
    items.iter().map(read_number_or_nan).collect()
}

fn read_number_or_nan(item: &Value) -> f64 {
    match item {
        Value::Float(value) => *value,
        Value::Int(value) => *value as f64,
        Value::UInt(value) => *value as f64,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    fn level(columns: &[&str]) -> Vec<FieldSpec> {
        let text = |name: &&str| FieldSpec::new(*name, DataType::Utf8);
        columns.iter().map(text).collect()
    }

    #[test]
    fn places_of_a_level_go_before_those_of_the_levels_above() {
        let grid = ["stac:crs", "stac:geotransform", "stac:tensor_shape"];
        let fields = [level(&["stac:centroid"]), level(&grid), level(&["id"])];
        let found = |filter: Filter, from: usize| at_nearest_level(filter, from, &fields).level;
        let bbox = || Filter::bbox([0.0, 0.0, 1.0, 1.0]);
        assert_eq!(found(bbox(), 0), 0);
        assert_eq!(found(bbox(), 1), 1, "the corners of rasters are places");
        assert_eq!(found(bbox(), 2), 1);
        assert_eq!(found(Filter::datetime("2021-01-01"), 2), 2);
    }
}
