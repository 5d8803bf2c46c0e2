//! Changes the metadata of an existing FOLDER (TACO 2.0, section 6.4): level table, the `__meta__`
//! of the FOLDERs concerned, and COLLECTION.json. Data files are neither read nor written, so their
//! inodes and times stay.

use std::collections::HashMap;

use arrow::array::UInt32Array;
use arrow::datatypes::Schema;
use serde_json::{Map, Value as Json};

use super::FolderReader;
use crate::container::atomic_write::{Replacement, check_space};
use crate::container::collection_file::collection_text;
use crate::container::{ContainerReader, LevelEdit, field_schema_of};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{SamplePath, SkeletonLevel};
use crate::table::{ParquetOptions, splice_columns, write_parquet};

/// Changes of a FOLDER.
#[derive(Clone, Debug, Default)]
pub struct FolderEdit {
    pub columns: Option<LevelEdit>,
    /// All fields of COLLECTION.json, when they change; `taco:field_schema` is brought up to date
    /// with the columns.
    pub collection: Option<Map<String, Json>>,
    /// Parquet settings of the changed columns and of `__meta__`.
    pub parquet: ParquetOptions,
}

impl FolderEdit {
    /// Names of the files that the edit may replace, in the dataset's folder. A `__meta__` is left
    /// as it is when none of its values changes.
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn files(&self, reader: &FolderReader, ctx: &JobContext) -> Result<Vec<String>> {
        let mut names = Vec::new();
        if let Some(edit) = self.columns.as_ref().filter(|edit| !edit.is_empty()) {
            names.push(table_name(edit.level));
            for (level, row) in parents(reader, edit, ctx)? {
                names.push(reader.name_of(level, row)?);
            }
        }
        if self.collection_of(reader).is_some() {
            names.push(COLLECTION.to_owned());
        }
        Ok(names)
    }

    /// Replaces the files, all or none. Returns the number of replaced files and of bytes written.
    /// The caller has the [lock](crate::container::lock_dataset) of the dataset since before it was
    /// opened.
    ///
    /// # Errors
    /// When a table cannot be read or written, or a file changed since the dataset was opened; the
    /// dataset is then as it was.
    pub fn apply(&self, reader: &FolderReader, ctx: &JobContext) -> Result<(usize, u64)> {
        let folder = &reader.opening().info.path;
        let replacement = Replacement::new(folder)?;
        let mut written = 0;
        if let Some(edit) = self.columns.as_ref().filter(|edit| !edit.is_empty()) {
            ctx.stage(&tr!("Writing level {level}", level = edit.level), None);
            let head = reader.levels().head(edit.level);
            let head = head.ok_or_else(|| {
                Error::usage(format!("there is no level {}", edit.level)).at_path(folder)
            })?;
            let bytes = splice_columns(head, &edit.spliced_columns(head.schema()), &self.parquet)?;
            check_space(folder, bytes.len() as u64)?;
            written += bytes.len() as u64;
            replacement.put(&table_name(edit.level), &bytes)?;
            drop(bytes);
            let parents = parents(reader, edit, ctx)?;
            ctx.stage(tr!("Writing the metadata"), Some(parents.len() as u64));
            let sizes = try_map(&parents, |_, &(level, row)| {
                ctx.check()?;
                let changed = self.local_meta(reader, edit, (level, row))?;
                if let Some(bytes) = &changed {
                    replacement.put(&reader.name_of(level, row)?, bytes)?;
                }
                ctx.step(1);
                Ok(changed.map_or(0, |bytes| bytes.len() as u64))
            })?;
            written += sizes.iter().sum::<u64>();
        }
        if let Some(fields) = self.collection_of(reader) {
            let bytes = collection_text(&fields)?;
            written += bytes.len() as u64;
            replacement.put(COLLECTION, &bytes)?;
        }
        ctx.check()?;
        // The new tables were made of the old ones as they were when the dataset was opened.
        reader.expect_unchanged()?;
        ctx.stage(tr!("Syncing to disk"), None);
        Ok((replacement.finish()?, written))
    }

    /// The new `__meta__` of a FOLDER; `None` when it stays as it is.
    fn local_meta(
        &self,
        reader: &FolderReader,
        edit: &LevelEdit,
        (level, row): (usize, u32),
    ) -> Result<Option<Vec<u8>>> {
        let tree = reader.levels().skeleton(&JobContext::default())?;
        let at = || tree.path(level, row);
        let table = reader
            .local_meta(level, row)
            .map_err(|error| error.at_place(at()))?;
        let (children, below) = (tree.levels[level].children(row), &tree.levels[level + 1]);
        let rows: HashMap<&str, u32> = children
            .iter()
            .map(|&child| (below.id(child), child))
            .collect();
        let unlike = || other_samples_error(at());
        let ids = table.strings("id")?.ok_or_else(unlike)?;
        let order = ids
            .iter()
            .map(|id| rows.get(id?).copied())
            .collect::<Option<Vec<u32>>>()
            .ok_or_else(unlike)?;
        if order.len() != children.len() {
            return Err(unlike());
        }
        let old = table.to_batch()?;
        let new = edit
            .apply(&old, &UInt32Array::from(order))
            .map_err(|error| error.at_place(at()))?;
        if new.schema().fields() == old.schema().fields() && new.columns() == old.columns() {
            return Ok(None);
        }
        write_parquet(&new.schema(), &[new], &self.parquet.for_local_meta()).map(Some)
    }

    /// The fields of the new COLLECTION.json; `None` when it stays as it is.
    fn collection_of(&self, reader: &FolderReader) -> Option<Map<String, Json>> {
        let old = &reader.collection().fields;
        let mut fields = self.collection.clone().unwrap_or_else(|| old.clone());
        if let Some(edit) = self.columns.as_ref().filter(|edit| !edit.is_empty()) {
            let schemas: Vec<Schema> = (0..reader.levels().count())
                .filter_map(|level| {
                    reader
                        .levels()
                        .head(level)
                        .map(|head| (level, head.schema().as_ref()))
                })
                .map(|(level, schema)| {
                    if level == edit.level {
                        edit.schema(schema)
                    } else {
                        schema.clone()
                    }
                })
                .collect();
            let key = format!("level{}", edit.level);
            let mut made = field_schema_of(&schemas, old.get("taco:field_schema"));
            match fields
                .get_mut("taco:field_schema")
                .and_then(Json::as_object_mut)
            {
                // The other levels stay as they are described.
                Some(known) => drop(known.insert(key.clone(), made[&key].take())),
                None => drop(fields.insert("taco:field_schema".into(), made)),
            }
        }
        (&fields != old).then_some(fields)
    }
}

const COLLECTION: &str = "COLLECTION.json";

fn table_name(level: usize) -> String {
    format!("METADATA/level{level}.parquet")
}

/// The FOLDERs, by level and row, with a child whose values may change.
fn parents(reader: &FolderReader, edit: &LevelEdit, ctx: &JobContext) -> Result<Vec<(usize, u32)>> {
    let Some(above) = edit.level.checked_sub(1) else {
        return Ok(Vec::new());
    };
    let tree = reader.levels().skeleton(ctx)?;
    let Some(level) = tree.levels.get(above) else {
        return Ok(Vec::new());
    };
    Ok((0..level.len() as u32)
        .filter(|&row| has_touched_child(level, row, &edit.touched))
        .map(|row| (above, row))
        .collect())
}

/// True for a FOLDER with such a child.
fn has_touched_child(level: &SkeletonLevel, row: u32, touched: &[bool]) -> bool {
    let mut children = level.children(row).iter();
    level.folder[row as usize]
        && children.any(|&child| touched.get(child as usize).copied().unwrap_or_default())
}

fn other_samples_error(folder: SamplePath) -> Error {
    Error::format("`__meta__` and the level table have different samples")
        .at_place(folder)
        .hint("`repair` writes both anew")
}
