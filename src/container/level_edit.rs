//! Columns of one level that are replaced, added or left out in an existing dataset. The containers
//! apply it to their tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::{Field, FieldRef, Schema};

use super::{Assembly, ContainerReader, tree_order};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::table::SplicedColumn;

/// New and dropped columns of a level.
#[derive(Clone, Debug, Default)]
pub struct LevelEdit {
    /// The level, from 0.
    pub level: usize,
    /// Names of columns that are left out.
    pub dropped: Vec<String>,
    /// Columns with a value for every row of the level's table; one of an existing name takes its
    /// place.
    pub columns: Vec<(Field, ArrayRef)>,
    /// The rows whose values may differ from the old ones; one entry for each row of the level.
    pub touched: Vec<bool>,
}

/// A column of an edited table: as it was, by its index, or new, by its index in
/// [`LevelEdit::columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditedColumn {
    Old(usize),
    New(usize),
}

impl LevelEdit {
    /// True when no column changes.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.columns.is_empty()
    }

    /// The columns of an edited table with these fields. New ones follow the last metadata column
    /// on level 0; below it they are put in the order of names, as the Python tools write them,
    /// where the metadata columns are in that order.
    fn plan(&self, fields: &[FieldRef]) -> Vec<EditedColumn> {
        let mut planned: Vec<(String, EditedColumn)> =
            Vec::with_capacity(fields.len() + self.columns.len());
        for (index, field) in fields.iter().enumerate() {
            match self.find_new_column(field.name()) {
                Some(new) => planned.push((field.name().clone(), EditedColumn::New(new))),
                None if self.dropped.contains(field.name()) => {}
                None => planned.push((field.name().clone(), EditedColumn::Old(index))),
            }
        }
        let names: Vec<&str> = planned
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| is_metadata_column(name))
            .collect();
        let sorted = self.level > 0 && names.is_sorted();
        for (index, (field, _)) in self.columns.iter().enumerate() {
            if planned.iter().any(|(name, _)| name == field.name()) {
                continue;
            }
            let place = planned
                .iter()
                .position(|(name, _)| follows_new_column(name, field.name(), sorted))
                .unwrap_or(planned.len());
            planned.insert(place, (field.name().clone(), EditedColumn::New(index)));
        }
        planned.into_iter().map(|(_, source)| source).collect()
    }

    /// Index in `columns` of the new column of this name.
    fn find_new_column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|(field, _)| field.name() == name)
    }

    /// The columns of the level's table, for [`crate::table::splice_columns`].
    pub(super) fn spliced_columns(&self, schema: &Schema) -> Vec<SplicedColumn> {
        self.plan(schema.fields())
            .into_iter()
            .map(|source| self.splice_column(source))
            .collect()
    }

    fn splice_column(&self, source: EditedColumn) -> SplicedColumn {
        match source {
            EditedColumn::Old(index) => SplicedColumn::Kept(index),
            EditedColumn::New(index) => {
                let (field, array) = &self.columns[index];
                SplicedColumn::New(field.clone(), array.clone())
            }
        }
    }

    /// The schema of the level's table after the edit.
    pub(super) fn schema(&self, schema: &Schema) -> Schema {
        let planned = self.plan(schema.fields()).into_iter();
        let fields = planned.map(|source| match source {
            EditedColumn::Old(index) => schema.field(index).clone(),
            EditedColumn::New(index) => self.columns[index].0.clone(),
        });
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// The edit of a table with all rows of the level, in their order, and some of its columns.
    ///
    /// # Errors
    /// When a column has too few values.
    pub fn apply_to_table(&self, table: &RecordBatch) -> Result<RecordBatch> {
        self.apply(
            table,
            &UInt32Array::from_iter_values(0..table.num_rows() as u32),
        )
    }

    /// Applies the edit to a table with some rows of the level: `rows` has the level's row for each
    /// row of the table. A column that has only nulls there, and that the table does not have, is
    /// not added.
    ///
    /// # Errors
    /// When a column has too few values.
    pub(super) fn apply(&self, table: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch> {
        let old = table.schema();
        let mut fields: Vec<Field> = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for source in self.plan(old.fields()) {
            match source {
                EditedColumn::Old(index) => {
                    fields.push(old.field(index).clone());
                    arrays.push(table.column(index).clone());
                }
                EditedColumn::New(index) => {
                    let (field, values) = &self.columns[index];
                    let values = arrow::compute::take(values, rows, None).map_err(|error| {
                        Error::internal("a new column has too few values").because(error)
                    })?;
                    if values.null_count() < values.len()
                        || old.column_with_name(field.name()).is_some()
                    {
                        fields.push(field.clone());
                        arrays.push(values);
                    }
                }
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| {
            Error::internal("an edited table does not fit its columns").because(error)
        })
    }
}

fn is_metadata_column(name: &str) -> bool {
    !matches!(name, "id" | "type") && !name.starts_with("internal:")
}

/// True for a column that the new column `new` is put before. `sorted`: the metadata columns are in
/// the order of names.
fn follows_new_column(name: &str, new: &str, sorted: bool) -> bool {
    name.starts_with("internal:") || (sorted && is_metadata_column(name) && name > new)
}

impl Assembly {
    /// Applies an edit to the assembly of `reader`. A `__meta__` without all columns of its level
    /// gets a new one where it has a value.
    ///
    /// # Errors
    /// When the tree cannot be read, or a column does not have a value for each row.
    pub fn edit(
        &mut self,
        reader: &dyn ContainerReader,
        edit: &LevelEdit,
        ctx: &JobContext,
    ) -> Result<()> {
        let tree = reader.levels().skeleton(ctx)?;
        let order = UInt32Array::from(
            tree_order(&tree)
                .into_iter()
                .nth(edit.level)
                .unwrap_or_default(),
        );
        let above = edit
            .level
            .checked_sub(1)
            .and_then(|above| self.tree.levels.get(above).cloned());
        let Some(level) = self.levels.get_mut(edit.level) else {
            return Err(Error::usage(format!("there is no level {}", edit.level)));
        };
        let old = level.batch.schema();
        level.batch = edit.apply(&level.batch, &order)?;
        let new = level.batch.schema();
        let edited = edit
            .columns
            .iter()
            .filter_map(|(field, _)| new.column_with_name(field.name()));
        let edited: Vec<usize> = edited.map(|(index, _)| index).collect();
        let Some(above) = above else { return Ok(()) };
        let all: Arc<[usize]> = (0..old.fields().len()).collect();
        let chosen = std::mem::take(&mut level.meta_columns);
        for folder in above.list_folders() {
            let children = above.children(folder);
            let (Some(&first), length) = (children.first(), children.len()) else {
                continue;
            };
            let kept = chosen.get(&folder).unwrap_or(&all).iter();
            let kept = kept.filter_map(|&index| {
                new.column_with_name(old.field(index).name())
                    .map(|(index, _)| index)
            });
            let columns: BTreeSet<usize> = kept
                .chain(edited.iter().copied().filter(|&column| {
                    let values = level.batch.column(column).slice(first as usize, length);
                    values.null_count() < length
                }))
                .collect();
            if columns.len() < new.fields().len() {
                level
                    .meta_columns
                    .insert(folder, columns.into_iter().collect());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};

    fn batch(names: &[&str]) -> RecordBatch {
        let column = |name: &&str| {
            (
                (*name).to_owned(),
                Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef,
                true,
            )
        };
        RecordBatch::try_from_iter_with_nullable(names.iter().map(column)).expect("a batch")
    }

    fn edit(level: usize, names: &[&str], values: [Option<i64>; 2]) -> LevelEdit {
        let column = |name: &&str| {
            let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
            (Field::new(*name, values.data_type().clone(), true), values)
        };
        LevelEdit {
            level,
            columns: names.iter().map(column).collect(),
            touched: vec![true; 2],
            ..LevelEdit::default()
        }
    }

    fn names(schema: &Schema) -> Vec<&str> {
        schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect()
    }

    #[test]
    fn new_columns_are_placed_as_the_tools_place_them() {
        let table = batch(&["id", "type", "m", "z", "internal:current_id"]);
        let schema = edit(0, &["b", "a"], [None, Some(1)]).schema(&table.schema());
        assert_eq!(
            names(&schema),
            ["id", "type", "m", "z", "b", "a", "internal:current_id"]
        );
        let schema = edit(1, &["n", "a", "zz"], [None, Some(1)]).schema(&table.schema());
        assert_eq!(
            names(&schema),
            [
                "id",
                "type",
                "a",
                "m",
                "n",
                "z",
                "zz",
                "internal:current_id"
            ]
        );
        let unsorted = batch(&["id", "type", "z", "m", "internal:current_id"]);
        assert_eq!(
            names(&edit(1, &["a"], [None; 2]).schema(&unsorted.schema())),
            ["id", "type", "z", "m", "a", "internal:current_id"]
        );
        assert_eq!(
            names(&edit(1, &["a"], [None; 2]).schema(&batch(&["id", "type"]).schema())),
            ["id", "type", "a"]
        );
        let dropped = LevelEdit {
            dropped: vec!["m".into()],
            ..edit(0, &["z"], [None, Some(1)])
        };
        assert_eq!(
            names(&dropped.schema(&table.schema())),
            ["id", "type", "z", "internal:current_id"]
        );
        assert_eq!(
            dropped.schema(&table.schema()).field(2).data_type(),
            &arrow::datatypes::DataType::Int64
        );
    }

    #[test]
    fn rows_of_a_part_get_their_own_values() {
        let table = batch(&["id", "type"]);
        let edit = edit(1, &["n"], [None, Some(7)]);
        let made = edit
            .apply(&table, &UInt32Array::from(vec![1, 0]))
            .expect("applies");
        assert_eq!(
            made.column_by_name("n").expect("is there").to_data(),
            Int64Array::from(vec![Some(7), None]).to_data()
        );
        let made = edit
            .apply(&table.slice(0, 1), &UInt32Array::from(vec![0]))
            .expect("applies");
        assert!(
            made.column_by_name("n").is_none(),
            "a column of nulls is not added"
        );
    }
}
