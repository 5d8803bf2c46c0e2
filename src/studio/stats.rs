//! Pooled statistics of a selection of the opened dataset: which rows, then [`crate::extensions::pooled`] or the pixels.

use std::sync::Arc;

use arrow::array::Array;
use regex::Regex;

use super::tables::tables_of;
use super::{Event, Finish, Outcome, Studio};
use crate::container::ContainerReader;
use crate::error::{Error, Result};
use crate::extensions::exact::exact;
use crate::extensions::pooled::{PooledReport, SampleStats, pool};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Value, is_padding};
use crate::query::{QueryResult, run_sql};

/// Which samples, and whether to read their pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatsRequest {
    /// The level, from 0; without it, the first level with statistics (the deepest one for pixels).
    #[serde(default)]
    pub level: Option<usize>,
    /// Ids, or patterns with `*` and `?`; empty for all.
    #[serde(default)]
    pub positions: Vec<String>,
    /// An SQL condition over the level's columns.
    #[serde(default)]
    pub filter: Option<String>,
    /// Reads the pixels instead of the metadata.
    #[serde(default)]
    pub exact: bool,
}

/// Columns that a sample's statistics and weight come from.
const STATS: &str = "geotiff:stats";
const SHAPE: &str = "stac:tensor_shape";
/// The four of the older specification, in the order in which `geotiff:stats` begins.
const OLD_STATS: [&str; 4] = ["stats:min", "stats:max", "stats:mean", "stats:std"];
const VSI: &str = "internal:gdal_vsi";

impl Studio {
    pub(super) fn pool_statistics(&mut self, request: StatsRequest) -> Result<Outcome> {
        let opened = self.document().and_then(super::Document::opened);
        let opened = opened.ok_or_else(|| {
            Error::usage("no dataset is open for reading")
                .hint("statistics are pooled over a written dataset: write the draft, then open it")
        })?;
        let reader = opened.reader.clone();
        Ok(self.start("Pool statistics", move |ctx| {
            let report = Arc::new(pooled_statistics(reader.as_ref(), &request, ctx)?);
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Pooled(report))) as Finish)
        }))
    }
}

/// The statistics of the rows that `request` selects. Padding never counts. Errors name a level or column that is not there.
pub fn pooled_statistics(reader: &dyn ContainerReader, request: &StatsRequest, ctx: &JobContext) -> Result<PooledReport> {
    let levels = reader.levels();
    let columns_of = |level: usize| -> Vec<String> { levels.fields(level).into_iter().map(|field| field.name).collect() };
    let has_stats = |level: usize| {
        let columns = columns_of(level);
        let has = |name: &str| columns.iter().any(|column| column == name);
        has(STATS) || OLD_STATS.iter().all(|name| has(name))
    };
    let level = match request.level {
        Some(level) if level >= levels.count() => {
            return Err(Error::usage(format!("there is no level {level}; the dataset has {}", levels.count())));
        }
        Some(level) => level,
        None if request.exact => levels.count().saturating_sub(1),
        None => (0..levels.count()).find(|&level| has_stats(level)).unwrap_or(0),
    };
    if !request.exact && !has_stats(level) {
        let summary = format!("level {level} has no column {STATS}, and not all of {}", OLD_STATS.join(", "));
        return Err(Error::invalid(summary).hint("run the statistics extension first, or read the pixels with --exact"));
    }
    let wanted = columns_of(level).into_iter().filter(|name| {
        let name = name.as_str();
        if request.exact { name == "type" } else { name == STATS || name == SHAPE || OLD_STATS.contains(&name) }
    });
    let mut columns: Vec<String> = vec!["id".into()];
    columns.extend(wanted);
    if request.exact {
        columns.push(VSI.into());
    }
    let columns: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    // The condition stands on lines of its own, so that a comment in it ends before the bracket.
    let condition = request.filter.as_ref().map_or(String::new(), |filter| format!(" WHERE (\n{filter}\n)"));
    let sql = format!("SELECT {} FROM level{level}{condition}", columns.join(", "));
    let rows = run_sql(&tables_of(reader, ctx)?, &sql, None, ctx)?;
    let patterns = request.positions.iter().map(|pattern| pattern_of(pattern)).collect::<Result<Vec<_>>>()?;
    let ids = rows.table.strings("id")?.ok_or_else(|| Error::format(format!("level {level} has no column id")))?;
    let chosen: Vec<(usize, String)> = (0..rows.row_count)
        .map(|row| (row, if ids.is_valid(row) { ids.value(row).to_owned() } else { String::new() }))
        .filter(|(_, id)| !is_padding(id) && (patterns.is_empty() || patterns.iter().any(|pattern| pattern.is_match(id))))
        .collect();
    if chosen.is_empty() {
        return Err(Error::usage(format!("the selection has no sample of level {level}")).hint("check --positions and --where"));
    }
    if request.exact {
        let is_file = |row: usize| matches!(cell(&rows, row, "type"), Value::Text(kind) if &*kind == "FILE");
        let assets = chosen.into_iter().filter(|(row, _)| is_file(*row)).map(|(row, id)| match cell(&rows, row, VSI) {
            Value::Text(path) => Ok((id, AssetPath::parse(&path)?)),
            _ => Err(Error::format(format!("sample {id} has no place in the container"))),
        });
        return exact(&assets.collect::<Result<Vec<_>>>()?, ctx);
    }
    // Below level 0 ids repeat; without a condition the row tells them apart.
    let name = |row: usize, id: String| if level > 0 && request.filter.is_none() { format!("{id} (row {row})") } else { id };
    pool(chosen.into_iter().map(|(row, id)| stats_of(&rows, row, name(row, id))))
}

fn cell(rows: &QueryResult, row: usize, name: &str) -> Value {
    rows.table.column_index(name).map_or(Value::Null, |column| rows.table.value(row, column))
}

/// `*` is any text, `?` any one character.
fn pattern_of(pattern: &str) -> Result<Regex> {
    let escaped = regex::escape(pattern).replace("\\*", ".*").replace("\\?", ".");
    Regex::new(&format!("(?s)^{escaped}$")).map_err(|error| Error::usage(format!("{pattern:?} is not a pattern")).because(error))
}

fn stats_of(rows: &QueryResult, row: usize, name: String) -> Option<SampleStats> {
    let bands = match cell(rows, row, STATS) {
        Value::List(bands) => bands.iter().map(numbers).collect(),
        _ => {
            let [min, max, mean, std] = OLD_STATS.map(|name| numbers(&cell(rows, row, name)));
            let count = mean.len();
            if count == 0 || [&min, &max, &std].iter().any(|list| list.len() != count) {
                return None;
            }
            (0..count).map(|band| vec![min[band], max[band], mean[band], std[band], 100.0, 0.0, 0.0, 0.0, 0.0]).collect()
        }
    };
    // The last two of the shape are rows and columns, whatever stands before them.
    let pixels = match cell(rows, row, SHAPE) {
        Value::List(shape) => match numbers(&Value::List(shape)).as_slice() {
            [.., height, width] if *height > 0.0 && *width > 0.0 => Some((height * width) as u64),
            _ => None,
        },
        _ => None,
    };
    Some(SampleStats { bands, pixels, name })
}

/// The numbers of a list; what is no number is NaN.
fn numbers(value: &Value) -> Vec<f64> {
    let Value::List(items) = value else { return Vec::new() };
    let number = |item: &Value| match item {
        Value::Float(value) => *value,
        Value::Int(value) => *value as f64,
        Value::UInt(value) => *value as f64,
        _ => f64::NAN,
    };
    items.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_ids() {
        let matches = |pattern: &str, id: &str| pattern_of(pattern).expect("a pattern").is_match(id);
        assert!(matches("label", "label") && !matches("label", "label2"));
        assert!(matches("s?_*.tif", "s2_a.b.tif") && !matches("s?_*.tif", "s12_a.tif"));
        assert!(!matches("a.b", "axb"));
    }
}
