//! The level tables of an opened dataset, decoded when asked for and kept.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, Int64Array, StringArray};

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Skeleton};
use crate::table::{LevelTable, TableHead};

/// Every level: footers at once, pages on demand.
#[derive(Default)]
pub struct LevelSet {
    levels: Vec<Level>,
    skeleton: OnceLock<Arc<Skeleton>>,
}

struct Level {
    head: TableHead,
    table: OnceLock<Arc<LevelTable>>,
    positions: OnceLock<Arc<Positions>>,
}

/// Where the level table says the samples' bytes are.
#[derive(Debug, Default)]
pub struct Positions {
    /// `internal:offset`, where the level has it.
    pub offsets: Option<Int64Array>,
    /// `internal:size`, where the level has it.
    pub sizes: Option<Int64Array>,
    /// `internal:relative_path`, where the level has it.
    pub paths: Option<StringArray>,
}

impl Positions {
    /// Offset and size of `row`, when both are there and not negative.
    pub fn range(&self, row: u32) -> Option<(u64, u64)> {
        let at = |column: &Option<Int64Array>| {
            let column = column.as_ref().filter(|column| (row as usize) < column.len() && column.is_valid(row as usize))?;
            u64::try_from(column.value(row as usize)).ok()
        };
        at(&self.offsets).zip(at(&self.sizes))
    }
}

impl LevelSet {
    /// Levels of which the footers were read.
    pub fn new(heads: Vec<TableHead>) -> Self {
        let level = |head| Level { head, table: OnceLock::new(), positions: OnceLock::new() };
        Self { levels: heads.into_iter().map(level).collect(), skeleton: OnceLock::new() }
    }

    /// Number of levels.
    pub fn count(&self) -> usize {
        self.levels.len()
    }

    /// Number of rows of `level`; 0 where there is no such level.
    pub fn rows(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, |level| level.head.rows())
    }

    /// The columns of `level`, `internal:*` included; no page is read.
    pub fn fields(&self, level: usize) -> Vec<FieldSpec> {
        let fields = |level: &Level| {
            let schema = level.head.schema();
            schema.fields().iter().map(|field| FieldSpec::new(field.name(), field.data_type().clone())).collect()
        };
        self.levels.get(level).map_or(Vec::new(), fields)
    }

    /// The footer of `level`.
    pub fn head(&self, level: usize) -> Option<&TableHead> {
        self.levels.get(level).map(|level| &level.head)
    }

    /// The whole table of `level`.
    pub fn table(&self, level: usize, ctx: &JobContext) -> Result<Arc<LevelTable>> {
        let slot = self.level(level)?;
        if let Some(table) = slot.table.get() {
            return Ok(table.clone());
        }
        let table = Arc::new(slot.head.decode(ctx).map_err(|error| unreadable(level, error))?);
        Ok(slot.table.get_or_init(|| table).clone())
    }

    /// The table of `level`, if it was decoded before: never blocks.
    pub fn decoded(&self, level: usize) -> Option<&Arc<LevelTable>> {
        self.levels.get(level)?.table.get()
    }

    /// The named columns of `level`, in file order; names that it lacks are left out.
    pub fn columns(&self, level: usize, names: &[&str], ctx: &JobContext) -> Result<LevelTable> {
        self.level(level)?.head.decode_columns(Some(names), ctx).map_err(|error| unreadable(level, error))
    }

    /// The position columns of `level`.
    pub fn positions(&self, level: usize, ctx: &JobContext) -> Result<Arc<Positions>> {
        let slot = self.level(level)?;
        if let Some(positions) = slot.positions.get() {
            return Ok(positions.clone());
        }
        let names = ["internal:offset", "internal:size", "internal:relative_path"];
        let table = self.columns(level, &names, ctx)?;
        let read = || {
            Ok(Positions { offsets: table.integers(names[0])?, sizes: table.integers(names[1])?, paths: table.strings(names[2])? })
        };
        let positions = read().map_err(|error| unreadable(level, error))?;
        Ok(slot.positions.get_or_init(|| Arc::new(positions)).clone())
    }

    /// The tree, if it was made before: never blocks.
    pub fn skeleton_if_ready(&self) -> Option<&Arc<Skeleton>> {
        self.skeleton.get()
    }

    /// The tree, from the `id`, `type` and `internal:parent_id` columns.
    pub fn skeleton(&self, ctx: &JobContext) -> Result<Arc<Skeleton>> {
        if let Some(skeleton) = self.skeleton.get() {
            return Ok(skeleton.clone());
        }
        let mut columns = Vec::with_capacity(self.levels.len());
        for depth in 0..self.levels.len() {
            let table = self.columns(depth, &["id", "type", "internal:parent_id"], ctx)?;
            let missing = |name: &str| Error::format(format!("level{depth} has no column {name}"));
            let ids = table.strings("id")?.ok_or_else(|| missing("id"))?;
            let kinds = table.strings("type")?.ok_or_else(|| missing("type"))?;
            let folder = (0..kinds.len()).map(|row| kinds.is_valid(row) && kinds.value(row) == "FOLDER").collect();
            let rows = table.rows() as u32;
            let parents: Vec<u32> = match table.integers("internal:parent_id")? {
                _ if depth == 0 => (0..rows).collect(),
                // A parent that is no row number leads nowhere; the level checks say so.
                Some(parents) => parents.iter().map(|p| p.and_then(|p| u32::try_from(p).ok()).unwrap_or(u32::MAX)).collect(),
                None => vec![u32::MAX; rows as usize],
            };
            columns.push((without_nulls(ids), folder, parents));
        }
        let skeleton = Arc::new(Skeleton::from_columns(columns));
        Ok(self.skeleton.get_or_init(|| skeleton).clone())
    }

    fn level(&self, level: usize) -> Result<&Level> {
        let count = self.levels.len();
        self.levels.get(level).ok_or_else(|| Error::usage(format!("there is no level {level}; the dataset has {count}")))
    }
}

/// An error about the pages of a level, with the file's name in it.
fn unreadable(level: usize, error: Error) -> Error {
    if error.is_cancelled() {
        return error;
    }
    Error::format(format!("METADATA/level{level}.parquet can't be read")).because(error)
}

fn without_nulls(ids: StringArray) -> StringArray {
    if ids.null_count() == 0 { ids } else { ids.iter().map(|id| Some(id.unwrap_or_default())).collect() }
}
