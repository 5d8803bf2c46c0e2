//! Compares the rows of an index (TACOCAT) with those of its parts, by value: the index has a copy
//! of their metadata, and a part may have been replaced since it was made, by one with the same ids
//! and sizes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Int64Type};

use super::{ContainerReader, Physical, TacocatReader, ZipReader};
use crate::error::{Error, Kind, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::SamplePath;
use crate::table::{cell_text, value_at};
use crate::text::PrintableLine;

/// Row number within the part, by which the rows of an index refer to those of the part.
const CURRENT: &str = "internal:current_id";
/// Row number of the parent within the part.
const PARENT: &str = "internal:parent_id";

/// A value of an index that is not that of its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleValue {
    pub level: usize,
    /// Row in the index.
    pub row: u32,
    pub path: SamplePath,
    pub column: String,
    /// The value in the index, as text.
    pub indexed: String,
    /// The value in the part, as text; empty when the part does not have the row or the column.
    pub stored: String,
}

/// The rows of an index by part.
pub struct IndexRows<'a> {
    index: &'a TacocatReader,
    levels: Vec<RecordBatch>,
    by_part: Vec<HashMap<Arc<str>, Vec<u32>>>,
}

impl<'a> IndexRows<'a> {
    /// Reads the level tables of the index.
    ///
    /// # Errors
    /// When one can't be read.
    pub fn read(index: &'a TacocatReader, ctx: &JobContext) -> Result<Self> {
        let set = index.levels();
        let (mut levels, mut by_part) = (Vec::new(), Vec::new());
        for level in 0..set.count() {
            ctx.check()?;
            levels.push(set.table(level, ctx)?.to_batch()?);
            let sources = set.row_parts(level, ctx)?;
            let mut rows: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
            for row in 0..sources.rows.len() as u32 {
                if let Some(part) = sources.part_name(row) {
                    rows.entry(part).or_default().push(row);
                }
            }
            by_part.push(rows);
        }
        Ok(Self {
            index,
            levels,
            by_part,
        })
    }

    /// The first value of the rows from the part `name` that differs from the value in the part;
    /// `None` when none does. Columns that the index leaves out are not compared.
    ///
    /// # Errors
    /// When a table of the part can't be read.
    pub fn find_stale_value(
        &self,
        name: &str,
        part: &ZipReader,
        ctx: &JobContext,
    ) -> Result<Option<StaleValue>> {
        for (level, (batch, by_part)) in self.levels.iter().zip(&self.by_part).enumerate() {
            ctx.check()?;
            let Some(rows) = by_part.get(name) else {
                continue;
            };
            let row = |at: usize| rows.get(at).copied().unwrap_or_default();
            let part_table = match part.levels().head(level) {
                Some(head) => head.decode(ctx)?.to_batch()?,
                None => {
                    let texts = [String::new(), String::new()];
                    let found = self.describe_stale_value((level, row(0)), CURRENT, texts, ctx)?;
                    return Ok(Some(found));
                }
            };
            let places = rows_in_part(batch, rows);
            if let Some(at) = places
                .iter()
                .position(|&place| place as usize >= part_table.num_rows())
            {
                let texts = [places[at].to_string(), String::new()];
                let found = self.describe_stale_value((level, row(at)), CURRENT, texts, ctx)?;
                return Ok(Some(found));
            }
            for (field, values) in batch.schema().fields().iter().zip(batch.columns()) {
                let column = field.name().as_str();
                if column.starts_with("internal:") && column != PARENT {
                    continue;
                }
                let indexed = rows_of(values, rows)?;
                let stored = part_table
                    .column_by_name(column)
                    .map(|values| rows_of(values, &places))
                    .transpose()?;
                if let Some(at) = first_difference(&indexed, stored.as_ref()) {
                    let text = |array: &ArrayRef| cell_text(array, at);
                    let texts = [
                        text(&indexed),
                        stored.as_ref().map(text).unwrap_or_default(),
                    ];
                    let found = self.describe_stale_value((level, row(at)), column, texts, ctx)?;
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn describe_stale_value(
        &self,
        (level, row): (usize, u32),
        column: &str,
        [indexed, stored]: [String; 2],
        ctx: &JobContext,
    ) -> Result<StaleValue> {
        Ok(StaleValue {
            level,
            row,
            path: self.index.levels().skeleton(ctx)?.path(level, row),
            column: column.to_owned(),
            indexed,
            stored,
        })
    }
}

/// For each of these rows of the index, the row in its part.
fn rows_in_part(batch: &RecordBatch, rows: &[u32]) -> Vec<u32> {
    let numbers = batch
        .column_by_name(CURRENT)
        .and_then(|column| cast(column, &DataType::Int64).ok());
    let numbers = numbers
        .as_ref()
        .and_then(|column| column.as_primitive_opt::<Int64Type>());
    // Indexes of older tools have no numbers, and the rows of a part in its order.
    let numbers = rows.iter().enumerate().map(|(at, &row)| {
        let stated = numbers.filter(|numbers| numbers.is_valid(row as usize));
        stated.map_or(at as u32, |numbers| {
            u32::try_from(numbers.value(row as usize)).unwrap_or(u32::MAX)
        })
    });
    numbers.collect()
}

fn rows_of(values: &ArrayRef, rows: &[u32]) -> Result<ArrayRef> {
    let first = rows.first().copied().unwrap_or_default();
    let is_run = rows
        .iter()
        .enumerate()
        .all(|(at, &row)| row as usize == first as usize + at);
    if is_run {
        return Ok(values.slice(first as usize, rows.len()));
    }
    take(values, &UInt32Array::from(rows.to_vec()), None)
        .map_err(|error| Error::internal("rows can't be chosen").because(error))
}

/// The first row whose value differs. An index may have a wider type than a part; a column that a
/// part lacks is null.
fn first_difference(indexed: &ArrayRef, stored: Option<&ArrayRef>) -> Option<usize> {
    let Some(stored) = stored else {
        let nulls = indexed.logical_nulls();
        return (0..indexed.len())
            .find(|&row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
    };
    let same_type = if stored.data_type() == indexed.data_type() {
        Ok(stored.clone())
    } else {
        cast(stored, indexed.data_type())
    };
    match same_type {
        Ok(stored) if stored.to_data() == indexed.to_data() => None,
        Ok(stored) => (0..indexed.len())
            .find(|&row| stored.slice(row, 1).to_data() != indexed.slice(row, 1).to_data()),
        Err(_) => (0..indexed.len()).find(|&row| value_at(stored, row) != value_at(indexed, row)),
    }
}

/// Refuses an index whose metadata is not that of its parts: their data would be written under it.
/// With `wanted`, only parts of these rows of level 0 are compared. Does nothing for other
/// datasets.
///
/// # Errors
/// [`Kind::Changed`] with part, sample and column; when a part can't be read.
pub(super) fn refuse_stale_index(
    reader: &dyn ContainerReader,
    wanted: Option<&[bool]>,
    ctx: &JobContext,
) -> Result<()> {
    let index = match reader.physical() {
        Physical::Tacocat(index) => index,
        Physical::Joined(joined) => {
            for number in 0..joined.datasets().len() {
                let dataset = joined.dataset(number, ctx)?;
                if matches!(dataset.physical(), Physical::Tacocat(_)) {
                    refuse_stale_index(dataset.as_ref(), None, ctx)?;
                }
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    let mut names = index.part_names(ctx)?;
    if let Some(wanted) = wanted {
        let sources = index.levels().row_parts(0, ctx)?;
        let mut is_wanted = vec![false; sources.names.len()];
        for (&part, _) in sources
            .rows
            .iter()
            .zip(wanted)
            .filter(|(_, wanted)| **wanted)
        {
            if let Some(part) = is_wanted.get_mut(part as usize) {
                *part = true;
            }
        }
        names = sources
            .names
            .iter()
            .zip(is_wanted)
            .filter(|(_, wanted)| *wanted)
            .map(|(name, _)| name.clone())
            .collect();
    }
    ctx.stage(
        tr!("Comparing the index with its parts"),
        Some(names.len() as u64),
    );
    let rows = IndexRows::read(index, ctx)?;
    try_map(&names, |_, name| {
        let stale = rows.find_stale_value(name, index.part(name)?.as_ref(), ctx)?;
        ctx.step(1);
        stale.map_or(Ok(()), |stale| Err(stale_error(&stale, name)))
    })?;
    Ok(())
}

fn stale_error(stale: &StaleValue, part: &str) -> Error {
    let StaleValue {
        path,
        column,
        indexed,
        stored,
        ..
    } = stale;
    let (part, column) = (part.printable_line(), column.printable_line());
    let summary = format!(
        "the index is not of this version of its part {part}: {column} is {indexed:?} in the index \
            and {stored:?} there"
    );
    Error::new(Kind::Changed, summary).at_place(path).hint(
        "write the index again (`taco-studio tacocat`), or bring back the part that it was made of",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, Int64Array, NullArray, StringArray};

    fn array(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    #[test]
    fn values_are_compared_across_types_and_nulls() {
        let longs = array(Int64Array::from(vec![Some(1), None, Some(3)]));
        assert_eq!(
            first_difference(
                &longs,
                Some(&array(Int32Array::from(vec![Some(1), None, Some(3)])))
            ),
            None
        );
        assert_eq!(
            first_difference(
                &longs,
                Some(&array(Int32Array::from(vec![Some(1), Some(0), Some(3)])))
            ),
            Some(1)
        );
        let floats = array(Float64Array::from(vec![f64::NAN, 1.0]));
        assert_eq!(
            first_difference(
                &floats,
                Some(&array(Float64Array::from(vec![f64::NAN, 2.0])))
            ),
            Some(1)
        );
        // A column that the part lacks.
        assert_eq!(first_difference(&longs, None), Some(0));
        assert_eq!(
            first_difference(&array(StringArray::from(vec![None::<&str>, None])), None),
            None
        );
        assert_eq!(first_difference(&array(NullArray::new(2)), None), None);
    }

    #[test]
    fn rows_refer_to_those_of_their_part_by_number_or_order() {
        let batch = |column: &str| {
            let numbers = array(Int64Array::from(vec![0, 1, 5, -1]));
            RecordBatch::try_from_iter([(column, numbers)]).expect("a batch")
        };
        assert_eq!(rows_in_part(&batch(CURRENT), &[1, 2, 3]), [1, 5, u32::MAX]);
        assert_eq!(rows_in_part(&batch("n"), &[1, 2, 3]), [0, 1, 2]);
        let values = array(Int64Array::from(vec![10, 11, 12, 13]));
        let taken = |rows: &[u32]| {
            rows_of(&values, rows)
                .expect("is taken")
                .as_primitive::<Int64Type>()
                .values()
                .to_vec()
        };
        assert_eq!(
            (taken(&[1, 2]), taken(&[3, 0]), taken(&[])),
            (vec![11, 12], vec![13, 10], vec![])
        );
    }
}
