//! Converts the rows of one source dataset into rows of the joined dataset: columns cast to the
//! joined schema, row numbers shifted by the rows of the datasets before it, byte ranges compared
//! with the container, and a GDAL path for each sample.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, StringBuilder, new_null_array,
};
use arrow::datatypes::{DataType, Field, Schema};

use crate::container::{BytePositions, ContainerReader, Physical};
use crate::error::{Error, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Skeleton};

/// Column: file name of the row's source dataset.
pub const SOURCE_FILE: &str = "internal:source_file";
/// Column: path or address of the row's source dataset.
pub const SOURCE_PATH: &str = "internal:source_path";
/// Column: GDAL path of the sample.
const VSI_COLUMN: &str = "internal:gdal_vsi";
/// Maximum number of rows of a level whose stored byte range is compared with the reader's before
/// the stored ranges of the level are used.
const MAX_COMPARED_ROWS: usize = 64;

/// Schema of a joined level: `columns`, then the `internal:*` columns; `internal:offset`,
/// `internal:size` and `internal:relative_path` only if `has_column` returns true for the name.
pub fn add_internal_columns(columns: &Schema, has_column: &dyn Fn(&str) -> bool) -> Schema {
    let mut fields: Vec<Field> = columns
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    let range_columns = ["internal:offset", "internal:size"]
        .into_iter()
        .filter(|name| has_column(name));
    for name in ["internal:current_id", "internal:parent_id"]
        .into_iter()
        .chain(range_columns)
    {
        fields.push(Field::new(name, DataType::Int64, true));
    }
    let path = Some("internal:relative_path").filter(|name| has_column(name));
    for name in path
        .into_iter()
        .chain([SOURCE_FILE, SOURCE_PATH, VSI_COLUMN])
    {
        fields.push(Field::new(name, DataType::Utf8, true));
    }
    Schema::new(fields)
}

/// One level of one dataset, to be converted.
pub struct LevelRows<'a> {
    /// The dataset.
    pub reader: &'a dyn ContainerReader,
    pub tree: &'a Skeleton,
    pub level: usize,
    /// Name of the dataset in `internal:source_file`.
    pub name: &'a str,
    /// The joined schema.
    pub schema: Arc<Schema>,
    /// Row of the joined level at which this dataset begins.
    pub start: u32,
    /// Row of the joined level above at which this dataset begins; added to `internal:parent_id`.
    pub start_above: u32,
}

impl LevelRows<'_> {
    /// Passes the converted rows to `sink`, batch by batch.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format), with level and dataset, when a column cannot
    /// be read; the errors of `sink`.
    pub fn for_each(
        &self,
        ctx: &JobContext,
        sink: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let dataset_path = make_path_absolute(self.reader.info().path.clone());
        let uses_stored_ranges = self.are_ranges_right(ctx)?;
        let mut first = 0;
        let mut convert = |batch: RecordBatch| {
            sink(&self.convert_batch(&batch, &mut first, &dataset_path, uses_stored_ranges, ctx)?)
        };
        match self.reader.levels().head(self.level) {
            Some(head) => head.for_each_batch(ctx, &mut convert),
            None => self
                .reader
                .levels()
                .table(self.level, ctx)?
                .batches()
                .iter()
                .cloned()
                .try_for_each(convert),
        }
    }

    /// True when the level's stored byte ranges agree with the reader's. A ZIP reader compares them
    /// with the archive; for other containers, at most 64 evenly spaced rows are compared.
    fn are_ranges_right(&self, ctx: &JobContext) -> Result<bool> {
        if let Physical::Zip(zip) = self.reader.physical() {
            return zip.positions_hold(self.level, ctx);
        }
        let positions = self.reader.levels().positions(self.level, ctx)?;
        let rows = self.reader.levels().rows(self.level);
        let step = rows.div_ceil(MAX_COMPARED_ROWS).max(1);
        for row in (0..rows as u32).step_by(step) {
            ctx.check()?;
            match self.reader.asset(self.level, row) {
                Ok((AssetPath::Range { offset, size, .. }, _))
                    if positions.range(row) == Some((offset, size)) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Converts the rows of a batch that begin at row `first` of the level; advances `first`.
    fn convert_batch(
        &self,
        batch: &RecordBatch,
        first: &mut usize,
        dataset_path: &Path,
        uses_stored_ranges: bool,
        ctx: &JobContext,
    ) -> Result<RecordBatch> {
        ctx.check()?;
        let count = batch.num_rows();
        let rows = *first..*first + count;
        *first = rows.end;
        let paths = self.locate_rows(batch, rows.clone(), dataset_path, uses_stored_ranges, ctx)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        for field in self.schema.fields() {
            columns.push(match field.name().as_str() {
                "internal:current_id" => Arc::new(Int64Array::from_iter_values(
                    rows.clone().map(|row| i64::from(self.start) + row as i64),
                )),
                "internal:parent_id" => Arc::new(self.number_parents(rows.clone())),
                "internal:offset" if !uses_stored_ranges => {
                    Arc::new(collect_ranges(&paths, |range| range.0))
                }
                "internal:size" if !uses_stored_ranges => {
                    Arc::new(collect_ranges(&paths, |range| range.1))
                }
                SOURCE_FILE if batch.column_by_name(SOURCE_FILE).is_none() => Arc::new(
                    StringArray::from_iter_values(std::iter::repeat_n(self.name, count)),
                ),
                SOURCE_PATH => {
                    let text = dataset_path.display().to_string();
                    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
                        text, count,
                    )))
                }
                VSI_COLUMN => {
                    let mut texts = StringBuilder::with_capacity(count, count * 48);
                    paths
                        .iter()
                        .for_each(|path| texts.append_option(path.as_ref().map(AssetPath::to_vsi)));
                    Arc::new(texts.finish())
                }
                _ => self.cast_stored_column(batch, field)?,
            });
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| {
            Error::internal("converted rows do not match the joined schema").because(error)
        })
    }

    /// `internal:parent_id` of these rows in the joined dataset.
    fn number_parents(&self, rows: std::ops::Range<usize>) -> Int64Array {
        match self.level {
            0 => Int64Array::from_iter_values(rows.map(|row| i64::from(self.start) + row as i64)),
            // A row without a parent has none in the joined dataset either.
            _ => rows
                .map(|row| self.tree.levels.get(self.level)?.parents.get(row).copied())
                .map(|parent| self.joined_parent_row(parent))
                .collect(),
        }
    }

    /// A column by its name in the type of the joined dataset; nulls when the dataset lacks it.
    fn cast_stored_column(&self, batch: &RecordBatch, field: &Field) -> Result<ArrayRef> {
        let Some(column) = batch.column_by_name(field.name()) else {
            return Ok(new_null_array(field.data_type(), batch.num_rows()));
        };
        arrow::compute::cast(column, field.data_type()).map_err(|error| {
            Error::format(format!(
                "column {} of level{} of {} can't be joined",
                field.name(),
                self.level,
                self.name
            ))
            .because(error)
        })
    }

    /// Row of the parent in the joined level above; `None` without a parent.
    fn joined_parent_row(&self, parent: Option<u32>) -> Option<i64> {
        let rows = self.tree.levels.get(self.level.checked_sub(1)?)?.len();
        parent
            .filter(|&parent| (parent as usize) < rows)
            .map(|parent| i64::from(self.start_above) + i64::from(parent))
    }

    /// Location of each row's data; `None` when it can't be determined.
    fn locate_rows(
        &self,
        batch: &RecordBatch,
        rows: std::ops::Range<usize>,
        dataset_path: &Path,
        uses_stored_ranges: bool,
        ctx: &JobContext,
    ) -> Result<Vec<Option<AssetPath>>> {
        let positions = self.reader.levels().positions(self.level, ctx)?;
        Ok(match self.reader.physical() {
            Physical::Zip(_) if uses_stored_ranges => {
                let container: Arc<Path> = dataset_path.into();
                rows.map(|row| locate_row(&positions, row, &container))
                    .collect()
            }
            Physical::Tacocat(index) if uses_stored_ranges => {
                let parts = self.reader.levels().row_parts(self.level, ctx)?;
                let paths: Vec<Option<Arc<Path>>> = parts
                    .names
                    .iter()
                    .map(|name| Some(make_path_absolute(index.part_path(name).ok()?).into()))
                    .collect();
                let path_of = |row: usize| paths.get(*parts.rows.get(row)? as usize)?.as_ref();
                rows.map(|row| locate_row(&positions, row, path_of(row)?))
                    .collect()
            }
            Physical::Joined(_) => {
                let stored = batch
                    .column_by_name(VSI_COLUMN)
                    .and_then(|column| arrow::compute::cast(column, &DataType::Utf8).ok());
                let stored = stored
                    .as_ref()
                    .and_then(|column| column.as_any().downcast_ref::<StringArray>());
                (0..rows.len())
                    .map(|row| {
                        let column = stored.filter(|column| column.is_valid(row))?;
                        AssetPath::parse(column.value(row)).ok()
                    })
                    .collect()
            }
            _ => rows
                .map(|row| self.locate_sample(row as u32))
                .collect::<Result<_>>()?,
        })
    }

    fn locate_sample(&self, row: u32) -> Result<Option<AssetPath>> {
        let found = separate_transient_error(self.reader.asset(self.level, row))?;
        Ok(found.ok().map(|(path, _)| path))
    }
}

/// Absolute form of a local path; an address is unchanged.
fn make_path_absolute(path: PathBuf) -> PathBuf {
    if path.exists() {
        std::path::absolute(&path).unwrap_or(path)
    } else {
        path
    }
}

/// One number of the byte range of each path: its offset or its size.
fn collect_ranges(paths: &[Option<AssetPath>], number: impl Fn((u64, u64)) -> u64) -> Int64Array {
    paths
        .iter()
        .map(|path| Some(number(stored_range(path.as_ref()?)?) as i64))
        .collect()
}

fn stored_range(path: &AssetPath) -> Option<(u64, u64)> {
    match path {
        AssetPath::Range { offset, size, .. } => Some((*offset, *size)),
        _ => None,
    }
}

/// The bytes of a row in its container.
fn locate_row(positions: &BytePositions, row: usize, container: &Arc<Path>) -> Option<AssetPath> {
    let (offset, size) = positions.range(row as u32)?;
    Some(AssetPath::range(container.clone(), offset, size))
}
