//! Level tables of an opened dataset, decoded on first use and cached.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, Int64Array, StringArray};

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Skeleton};
use crate::raster::VARIABLE_COLUMN;
use crate::table::{LevelTable, TableHead};

/// All levels: footers are read at once, pages on demand.
#[derive(Default)]
pub struct LevelSet {
    levels: Vec<StoredLevel>,
    skeleton: OnceLock<Arc<Skeleton>>,
    /// `internal:current_id` and `internal:parent_id` restart at 0 in every part.
    by_part: bool,
}

struct StoredLevel {
    rows: StoredRows,
    table: OnceLock<Arc<LevelTable>>,
    positions: OnceLock<Arc<BytePositions>>,
    row_parts: OnceLock<Arc<RowParts>>,
    variables: OnceLock<Arc<RowVariables>>,
}

impl StoredLevel {
    fn of_rows(rows: StoredRows) -> Self {
        Self {
            rows,
            table: OnceLock::new(),
            positions: OnceLock::new(),
            row_parts: OnceLock::new(),
            variables: OnceLock::new(),
        }
    }
}

/// Storage of a level's rows.
enum StoredRows {
    /// A Parquet file or member of the container.
    File(TableHead),
    /// Built by the reader, for containers without a table for the whole level.
    Built(Arc<LevelTable>),
}

/// `internal:source_file` of a level: the part of each row.
#[derive(Debug, Default)]
pub struct RowParts {
    /// Names of the parts, in order of first appearance.
    pub names: Vec<Arc<str>>,
    /// For each row, its index in `names`; `u32::MAX` when null.
    pub rows: Vec<u32>,
}

impl RowParts {
    /// Name of the part of `row`.
    pub fn part_name(&self, row: u32) -> Option<Arc<str>> {
        self.names
            .get(*self.rows.get(row as usize)? as usize)
            .cloned()
    }

    fn from_column(column: &StringArray) -> Self {
        let mut part_numbers: HashMap<&str, u32> = HashMap::new();
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut last: Option<(&str, u32)> = None;
        let mut rows = Vec::with_capacity(column.len());
        for name in column {
            let Some(name) = name else {
                rows.push(u32::MAX);
                continue;
            };
            // Rows of one part are usually contiguous, so the previous row's name is compared
            // first.
            let number = match last {
                Some((last_name, number)) if last_name == name => number,
                _ => *part_numbers.entry(name).or_insert_with(|| {
                    names.push(name.into());
                    names.len() as u32 - 1
                }),
            };
            last = Some((name, number));
            rows.push(number);
        }
        Self { names, rows }
    }
}

/// `internal:offset`, `internal:size` and `internal:relative_path` of a level.
#[derive(Debug, Default)]
pub struct BytePositions {
    /// Offsets in bytes, when the level has the column.
    pub offsets: Option<Int64Array>,
    /// Sizes in bytes, when the level has the column.
    pub sizes: Option<Int64Array>,
    /// Paths below `DATA/`, when the level has the column.
    pub paths: Option<StringArray>,
}

impl BytePositions {
    const COLUMNS: [&str; 3] = ["internal:offset", "internal:size", "internal:relative_path"];

    fn from_table(table: &LevelTable) -> Result<Self> {
        let [offset, size, path] = Self::COLUMNS;
        Ok(Self {
            offsets: table.integers(offset)?,
            sizes: table.integers(size)?,
            paths: table.strings(path)?,
        })
    }

    /// `(offset, size)` of `row` in bytes, when both are present and non-negative.
    pub fn range(&self, row: u32) -> Option<(u64, u64)> {
        let at = |column: &Option<Int64Array>| read_unsigned_cell(column.as_ref()?, row as usize);
        at(&self.offsets).zip(at(&self.sizes))
    }
}

/// The value of a row; `None` for null, a negative number, and a row that does not exist.
pub fn read_unsigned_cell(column: &Int64Array, row: usize) -> Option<u64> {
    let has_value = row < column.len() && column.is_valid(row);
    has_value.then(|| u64::try_from(column.value(row)).ok())?
}

/// For each row of a level, the variable that is read from its file: the column `cube:variable`,
/// which is `None` for a level without it.
#[derive(Debug, Default)]
pub struct RowVariables(Option<StringArray>);

impl RowVariables {
    /// The variable of `row`; `None` where none is named: then the first with pixels is read.
    pub fn of_row(&self, row: u32) -> Option<Arc<str>> {
        let names = self
            .0
            .as_ref()
            .filter(|names| (row as usize) < names.len() && names.is_valid(row as usize))?;
        Some(names.value(row as usize))
            .filter(|name| !name.is_empty())
            .map(Arc::from)
    }
}

impl LevelSet {
    /// Levels stored as Parquet files with these footers.
    pub fn new(heads: Vec<TableHead>) -> Self {
        Self::of_rows(heads.into_iter().map(StoredRows::File))
    }

    /// Levels built by a reader, with the mandatory columns `id`, `type` and `internal:parent_id`.
    pub fn of_tables(tables: Vec<LevelTable>) -> Self {
        Self::of_rows(
            tables
                .into_iter()
                .map(|table| StoredRows::Built(Arc::new(table))),
        )
    }

    fn of_rows(rows: impl Iterator<Item = StoredRows>) -> Self {
        Self {
            levels: rows.map(StoredLevel::of_rows).collect(),
            skeleton: OnceLock::new(),
            by_part: false,
        }
    }

    /// Levels of an index over several parts: `internal:parent_id` is a row number within the rows
    /// of the same `internal:source_file`.
    pub fn of_parts(heads: Vec<TableHead>) -> Self {
        Self {
            by_part: true,
            ..Self::new(heads)
        }
    }

    /// True when ids and parents restart at 0 in every part.
    pub fn is_by_part(&self) -> bool {
        self.by_part
    }

    /// Number of levels.
    pub fn count(&self) -> usize {
        self.levels.len()
    }

    /// Number of rows of `level`; 0 for a level that does not exist.
    pub fn rows(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, |level| match &level.rows {
            StoredRows::File(head) => head.rows(),
            StoredRows::Built(table) => table.rows(),
        })
    }

    /// The columns of `level`, including `internal:*`. Reads no page.
    pub fn fields(&self, level: usize) -> Vec<FieldSpec> {
        let Some(level) = self.levels.get(level) else {
            return Vec::new();
        };
        let schema = match &level.rows {
            StoredRows::File(head) => head.schema(),
            StoredRows::Built(table) => table.schema(),
        };
        schema
            .fields()
            .iter()
            .map(|field| FieldSpec::new(field.name(), field.data_type().clone()))
            .collect()
    }

    /// The Parquet footer of `level`, or `None` when the reader built the table.
    pub fn head(&self, level: usize) -> Option<&TableHead> {
        match &self.levels.get(level)?.rows {
            StoredRows::File(head) => Some(head),
            StoredRows::Built(_) => None,
        }
    }

    /// The table of `level` when the reader built it, or `None` when it is a Parquet file.
    pub fn built_table(&self, level: usize) -> Option<Arc<LevelTable>> {
        match &self.levels.get(level)?.rows {
            StoredRows::File(_) => None,
            StoredRows::Built(table) => Some(table.clone()),
        }
    }

    /// The whole table of `level`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the Parquet file cannot be decoded,
    /// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such level, or when the job is
    /// cancelled.
    pub fn table(&self, level: usize, ctx: &JobContext) -> Result<Arc<LevelTable>> {
        let slot = self.level(level)?;
        if let Some(table) = slot.table.get() {
            return Ok(table.clone());
        }
        let table = match &slot.rows {
            StoredRows::File(head) => Arc::new(
                head.decode(ctx)
                    .map_err(|error| self.unreadable(level, error))?,
            ),
            StoredRows::Built(table) => table.clone(),
        };
        Ok(slot.table.get_or_init(|| table).clone())
    }

    /// The table of `level` if it is already decoded. Never blocks.
    pub fn decoded_table(&self, level: usize) -> Option<&Arc<LevelTable>> {
        let level = self.levels.get(level)?;
        match &level.rows {
            StoredRows::Built(table) => Some(table),
            StoredRows::File(_) => level.table.get(),
        }
    }

    /// One column of `level`, from the decoded table where there is one.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] when the level has no such column, and as [`LevelSet::table`].
    pub fn column(&self, level: usize, name: &str, ctx: &JobContext) -> Result<ArrayRef> {
        let table = self.columns(level, &[name], ctx)?;
        let index = table
            .column_index(name)
            .ok_or_else(|| Error::usage(format!("level {level} has no column {name}")))?;
        ctx.check()?;
        table.column(index)
    }

    /// The named columns of `level`, in file order; unknown names are ignored.
    ///
    /// # Errors
    /// As [`LevelSet::table`].
    pub fn columns(&self, level: usize, names: &[&str], ctx: &JobContext) -> Result<LevelTable> {
        let slot = self.level(level)?;
        match (&slot.rows, slot.table.get()) {
            // A decoded table is reused.
            (StoredRows::Built(table), _) | (StoredRows::File(_), Some(table)) => {
                table.project(names)
            }
            (StoredRows::File(head), None) => head
                .decode_columns(Some(names), ctx)
                .map_err(|error| self.unreadable(level, error)),
        }
    }

    /// The position columns of `level`, cached.
    ///
    /// # Errors
    /// As [`LevelSet::table`].
    pub fn positions(&self, level: usize, ctx: &JobContext) -> Result<Arc<BytePositions>> {
        let slot = self.level(level)?;
        if let Some(positions) = slot.positions.get() {
            return Ok(positions.clone());
        }
        let table = self.columns(level, &BytePositions::COLUMNS, ctx)?;
        let positions =
            BytePositions::from_table(&table).map_err(|error| self.unreadable(level, error))?;
        Ok(slot.positions.get_or_init(|| Arc::new(positions)).clone())
    }

    /// The variable that is read from each file of `level`, cached.
    ///
    /// # Errors
    /// As [`LevelSet::table`].
    pub fn variables(&self, level: usize, ctx: &JobContext) -> Result<Arc<RowVariables>> {
        let slot = self.level(level)?;
        if let Some(variables) = slot.variables.get() {
            return Ok(variables.clone());
        }
        let has_variables = self
            .fields(level)
            .iter()
            .any(|field| field.name == VARIABLE_COLUMN && field.dtype.is_string());
        let variables = if has_variables {
            let table = self.columns(level, &[VARIABLE_COLUMN], ctx)?;
            RowVariables(
                table
                    .strings(VARIABLE_COLUMN)
                    .map_err(|error| self.unreadable(level, error))?,
            )
        } else {
            RowVariables::default()
        };
        Ok(slot.variables.get_or_init(|| Arc::new(variables)).clone())
    }

    /// The part of each row of `level`, cached.
    ///
    /// # Errors
    /// As [`LevelSet::table`], and [`Kind::Format`](crate::error::Kind::Format) when the level has
    /// no `internal:source_file`.
    pub fn row_parts(&self, level: usize, ctx: &JobContext) -> Result<Arc<RowParts>> {
        let slot = self.level(level)?;
        if let Some(row_parts) = slot.row_parts.get() {
            return Ok(row_parts.clone());
        }
        let name = "internal:source_file";
        let column = self
            .columns(level, &[name], ctx)?
            .strings(name)
            .map_err(|error| self.unreadable(level, error))?;
        let column =
            column.ok_or_else(|| Error::format(format!("level {level} has no column {name}")))?;
        let row_parts = Arc::new(RowParts::from_column(&column));
        Ok(slot.row_parts.get_or_init(|| row_parts).clone())
    }

    /// The tree, built from the `id`, `type` and `internal:parent_id` columns and cached.
    ///
    /// # Errors
    /// As [`LevelSet::table`], and [`Kind::Format`](crate::error::Kind::Format) when one of these
    /// columns is missing.
    pub fn skeleton(&self, ctx: &JobContext) -> Result<Arc<Skeleton>> {
        if let Some(skeleton) = self.skeleton.get() {
            return Ok(skeleton.clone());
        }
        let mut columns = Vec::with_capacity(self.levels.len());
        let mut ids_above = None;
        for depth in 0..self.levels.len() {
            let table = self.columns(
                depth,
                &["id", "type", "internal:current_id", "internal:parent_id"],
                ctx,
            )?;
            let unreadable = |error| self.unreadable(depth, error);
            let missing = |name: &str| Error::format(format!("level {depth} has no column {name}"));
            let integers = |name: &str| table.integers(name).map_err(unreadable);
            let (ids, is_folder) =
                rayon::join(|| table.strings("id"), || read_folder_flags(&table));
            let ids = ids.map_err(unreadable)?.ok_or_else(|| missing("id"))?;
            let is_folder = is_folder
                .map_err(unreadable)?
                .ok_or_else(|| missing("type"))?;
            let rows = table.rows() as u32;
            let current_ids = if self.by_part {
                integers("internal:current_id")?
            } else {
                None
            };
            let parents: Vec<u32> = match integers("internal:parent_id")? {
                // A root is its own parent, as `internal:parent_id` of level 0 states.
                _ if depth == 0 => (0..rows).collect(),
                Some(parents) if self.by_part => {
                    let above = self.row_parts(depth - 1, ctx)?;
                    find_parents_by_part(
                        &parents,
                        &*self.row_parts(depth, ctx)?,
                        &above,
                        ids_above.as_ref(),
                    )
                }
                // A parent that is not a valid row number becomes `u32::MAX`; the level checks
                // report it.
                Some(parents) => parents
                    .iter()
                    .map(|p| p.and_then(|p| u32::try_from(p).ok()).unwrap_or(u32::MAX))
                    .collect(),
                None => vec![u32::MAX; rows as usize],
            };
            columns.push((replace_nulls(ids), is_folder, parents));
            ids_above = current_ids;
        }
        let skeleton = Arc::new(Skeleton::from_columns(columns));
        Ok(self.skeleton.get_or_init(|| skeleton).clone())
    }

    /// The error for a level table that can't be decoded, with the name of its file if it has one.
    fn unreadable(&self, level: usize, error: Error) -> Error {
        if error.is_cancelled() {
            return error;
        }
        let table = match (self.head(level), self.by_part) {
            (None, _) => format!("the table of level {level}"),
            (Some(_), true) => format!("level{level}.parquet"),
            (Some(_), false) => format!("METADATA/level{level}.parquet"),
        };
        Error::format(format!("{table} can't be read"))
            .because(error)
            .of_level(level)
    }

    fn level(&self, level: usize) -> Result<&StoredLevel> {
        let count = self.levels.len();
        self.levels.get(level).ok_or_else(|| {
            Error::usage(format!(
                "there is no level {level}; the dataset has {count}"
            ))
        })
    }
}

/// Which rows are FOLDERs; `None` without the column `type`. Reads batch by batch, which takes less
/// memory than the whole column as text.
fn read_folder_flags(table: &LevelTable) -> Result<Option<Vec<bool>>> {
    if table.column_index("type").is_none() {
        return Ok(None);
    }
    let mut is_folder = Vec::with_capacity(table.rows());
    for batch in table.batches() {
        let batch = LevelTable::new(table.schema().clone(), vec![batch.clone()]);
        if let Some(kinds) = batch.strings("type")? {
            is_folder.extend(kinds.iter().map(|kind| kind == Some("FOLDER")));
        }
    }
    Ok(Some(is_folder))
}

fn replace_nulls(ids: StringArray) -> StringArray {
    if ids.null_count() == 0 {
        ids
    } else {
        ids.iter().map(|id| Some(id.unwrap_or_default())).collect()
    }
}

/// For each row, its parent's row in the level above. Parent numbers refer to `internal:current_id`
/// (`ids_above`) of the rows of the same part, or to their row number within the part when that
/// column is missing (files of older tools).
fn find_parents_by_part(
    parents: &Int64Array,
    parts: &RowParts,
    parts_above: &RowParts,
    ids_above: Option<&Int64Array>,
) -> Vec<u32> {
    let numbers_above: HashMap<&str, u32> = parts_above
        .names
        .iter()
        .enumerate()
        .map(|(at, name)| (&**name, at as u32))
        .collect();
    let part_above: Vec<Option<u32>> = parts
        .names
        .iter()
        .map(|name| numbers_above.get(&**name).copied())
        .collect();
    let rows = PartRows::of_level(parts_above, ids_above);
    let find_part_above = |row: usize| *part_above.get(*parts.rows.get(row)? as usize)?;
    parents
        .iter()
        .enumerate()
        .map(|(row, parent)| {
            let (part, parent) = find_part_above(row).zip(parent)?;
            rows.find_row(part, parent)
        })
        .map(|parent| parent.unwrap_or(u32::MAX))
        .collect()
}

/// Finds rows of a level by their part, and their number within it.
struct PartRows {
    /// First row of each part.
    starts: Vec<Option<usize>>,
    /// Number of rows of each part.
    lengths: Vec<usize>,
    /// Rows by part and number; `None` while the rows of every part are contiguous and numbered
    /// from 0, where `starts` and `lengths` suffice.
    by_id: Option<HashMap<(u32, i64), u32>>,
}

impl PartRows {
    /// `ids` are the numbers of the rows; without them, and where one is null, a row has the number
    /// of rows of its part before it.
    fn of_level(level: &RowParts, ids: Option<&Int64Array>) -> Self {
        let mut starts: Vec<Option<usize>> = vec![None; level.names.len()];
        let mut lengths = vec![0usize; level.names.len()];
        let mut is_contiguous_from_0 = true;
        for (row, &part) in level.rows.iter().enumerate() {
            let Some(start) = starts.get_mut(part as usize) else {
                continue;
            };
            let first = *start.get_or_insert(row);
            let number = lengths[part as usize];
            let stated = ids
                .filter(|ids| ids.is_valid(row))
                .map_or(number as i64, |ids| ids.value(row));
            is_contiguous_from_0 &= row - first == number && stated == number as i64;
            lengths[part as usize] += 1;
        }
        Self {
            starts,
            lengths,
            by_id: (!is_contiguous_from_0).then(|| number_rows(level, ids)),
        }
    }

    fn find_row(&self, part: u32, id: i64) -> Option<u32> {
        if let Some(by_id) = &self.by_id {
            return by_id.get(&(part, id)).copied();
        }
        let number = usize::try_from(id)
            .ok()
            .filter(|&number| number < self.lengths[part as usize])?;
        Some((self.starts[part as usize]? + number) as u32)
    }
}

/// The row of each part and number; the first, where several have the same number.
fn number_rows(level: &RowParts, ids: Option<&Int64Array>) -> HashMap<(u32, i64), u32> {
    let mut by_id = HashMap::new();
    let mut counted = vec![0i64; level.names.len()];
    for (row, &part) in level.rows.iter().enumerate() {
        let Some(number) = counted.get_mut(part as usize) else {
            continue;
        };
        let id = ids
            .filter(|ids| ids.is_valid(row))
            .map_or(*number, |ids| ids.value(row));
        by_id.entry((part, id)).or_insert(row as u32);
        *number += 1;
    }
    by_id
}

#[cfg(test)]
mod tests {
    use arrow::array::{RecordBatch, StructArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn parts(names: &[&str]) -> RowParts {
        RowParts::from_column(&StringArray::from_iter_values(names.iter()))
    }

    /// A table made by a reader, with a column of one struct, which is no text and no number.
    fn level_with_structs(name: &str) -> LevelSet {
        let field = Arc::new(Field::new("x", DataType::Int64, true));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let texts = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let mut columns = vec![("id", texts("a")), ("type", texts("FILE"))];
        columns.retain(|(known, _)| *known != name);
        columns.push((name, Arc::new(StructArray::from(vec![(field, numbers)]))));
        let batch = RecordBatch::try_from_iter(columns).expect("is a batch");
        LevelSet::of_tables(vec![LevelTable::new(batch.schema(), vec![batch])])
    }

    #[test]
    fn errors_of_columns_name_their_level_and_no_file_that_does_not_exist() {
        let ctx = JobContext::default();
        let levels = level_with_structs("internal:offset");
        let error = levels.positions(0, &ctx).expect_err("is no number");
        assert_eq!(error.level(), Some(0));
        assert!(!error.report().contains(".parquet"), "{}", error.report());
        for column in ["id", "type", "internal:parent_id"] {
            let error = level_with_structs(column)
                .skeleton(&ctx)
                .expect_err("can't be converted");
            assert_eq!(error.level(), Some(0), "{column}: {}", error.report());
        }
    }

    #[test]
    fn parents_are_counted_within_their_part() {
        let above = parts(&["a", "a", "b", "b"]);
        let here = parts(&["a", "b", "b", "c", "a"]);
        let wanted = Int64Array::from(vec![1, 0, 1, 0, 2]);
        let none = u32::MAX;
        assert_eq!(
            find_parents_by_part(&wanted, &here, &above, None),
            [1, 2, 3, none, none]
        );
        // Filtered files keep their ids.
        let ids = Int64Array::from(vec![5, 1, 0, 7]);
        assert_eq!(
            find_parents_by_part(&wanted, &here, &above, Some(&ids)),
            [1, 2, none, none, none]
        );
        // Rows of the parts alternate.
        let mixed = parts(&["a", "b", "a", "b"]);
        assert_eq!(
            find_parents_by_part(&wanted, &here, &mixed, None),
            [2, 1, 3, none, none]
        );
    }
}
