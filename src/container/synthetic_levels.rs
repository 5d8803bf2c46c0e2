//! Level tables for containers that store none: the columns of the TACO 2.0 model plus the file's
//! own columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::LevelSet;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::find_free_name;
use crate::table::{LevelTable, take_rows};

/// `(offset, length)` in bytes of each row's data; `None` when the file states an invalid range.
pub type RowRanges = Vec<Option<(u64, u64)>>;

/// Input of [`level_tables`] for one level; all vectors have one entry per row.
pub struct MadeLevel {
    /// The file's columns, unchanged.
    pub own: RecordBatch,
    /// Ids; may contain duplicates.
    pub ids: Vec<String>,
    /// True for FOLDER.
    pub folder: Vec<bool>,
    /// Row of the parent in the level above; on level 0 the row itself.
    pub parents: Vec<u32>,
    /// Byte ranges of the samples; `None` when samples are separate files.
    pub ranges: Option<RowRanges>,
    /// File name of each row's part, when there are several parts.
    pub sources: Option<Vec<Arc<str>>>,
    /// Paths below `DATA/`, when they differ from the ids.
    pub paths: Option<Vec<String>>,
}

/// True for names of the TACO 2.0 model's columns.
fn is_ours(name: &str) -> bool {
    matches!(name, "id" | "type") || name.starts_with("internal:")
}

/// The column's name in its file, without the prefix `own:` that `level_tables` adds on a name
/// clash.
pub fn name_in_file(name: &str) -> &str {
    name.strip_prefix("own:")
        .filter(|name| is_ours(name))
        .unwrap_or(name)
}

/// Tables of all levels: `id`, `type`, the file's own columns, then `internal:*`. A file's column
/// with one of these names is dropped when its values are the same, and otherwise renamed to
/// `own:…`.
///
/// # Errors
/// [`Kind::Internal`](crate::error::Kind::Internal) when columns of a level differ in length.
pub fn level_tables(levels: Vec<MadeLevel>) -> Result<Vec<LevelTable>> {
    let mut above: Vec<String> = Vec::new();
    let mut tables = Vec::with_capacity(levels.len());
    for (depth, level) in levels.into_iter().enumerate() {
        let paths: Vec<String> = (level.paths.clone())
            .unwrap_or_else(|| make_paths_below(&level.ids, &level.parents, &above));
        let kinds: StringArray = level
            .folder
            .iter()
            .map(|&folder| Some(if folder { "FOLDER" } else { "FILE" }))
            .collect();
        let mut fields = vec![
            Field::new("id", DataType::Utf8, true),
            Field::new("type", DataType::Utf8, true),
        ];
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(&level.ids)),
            Arc::new(kinds),
        ];
        for (field, column) in level.own.schema().fields().iter().zip(level.own.columns()) {
            match field.name().as_str() {
                "id" if same_text(column, &level.ids) => continue,
                // With explicit paths, the reader already used these columns.
                "internal:current_id"
                | "internal:parent_id"
                | "internal:offset"
                | "internal:size"
                | "internal:relative_path"
                    if level.paths.is_some() =>
                {
                    continue;
                }
                "internal:source_file" if level.sources.is_some() => continue,
                name if is_ours(name) => {
                    let own = level.own.schema_ref();
                    let free = find_free_name(&format!("own:{name}"), |name| {
                        own.field_with_name(name).is_err()
                    });
                    fields.push(Field::new(free, field.data_type().clone(), true));
                }
                name => fields.push(Field::new(name, field.data_type().clone(), true)),
            }
            columns.push(column.clone());
        }
        let mut integers: Vec<(&str, Int64Array)> = vec![
            ("internal:current_id", (0..level.ids.len() as i64).collect()),
            (
                "internal:parent_id",
                level
                    .parents
                    .iter()
                    .map(|&parent| i64::from(parent))
                    .collect(),
            ),
        ];
        if let Some(ranges) = &level.ranges {
            integers.push((
                "internal:offset",
                ranges
                    .iter()
                    .map(|range| range.and_then(|(offset, _)| i64::try_from(offset).ok()))
                    .collect(),
            ));
            integers.push((
                "internal:size",
                ranges
                    .iter()
                    .map(|range| range.and_then(|(_, size)| i64::try_from(size).ok()))
                    .collect(),
            ));
        }
        for (name, values) in integers {
            fields.push(Field::new(name, DataType::Int64, true));
            columns.push(Arc::new(values));
        }
        if depth > 0 {
            let shown = paths.iter().zip(&level.folder).map(|(path, &folder)| {
                if folder {
                    format!("{path}/")
                } else {
                    path.clone()
                }
            });
            fields.push(Field::new("internal:relative_path", DataType::Utf8, true));
            columns.push(Arc::new(StringArray::from_iter_values(shown)));
        }
        if let Some(sources) = &level.sources {
            fields.push(Field::new("internal:source_file", DataType::Utf8, true));
            columns.push(Arc::new(StringArray::from_iter_values(sources)));
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|error| Error::internal("a level does not fit its columns").because(error))?;
        tables.push(LevelTable::new(batch.schema(), vec![batch]));
        above = paths;
    }
    Ok(tables)
}

/// Paths of ids from the root; `above` are those of the level above, empty for level 0.
pub(super) fn make_paths_below(ids: &[String], parents: &[u32], above: &[String]) -> Vec<String> {
    let ids = ids.iter().zip(parents);
    ids.map(|(id, &parent)| match above.get(parent as usize) {
        Some(parent) => format!("{parent}/{id}"),
        None => id.clone(),
    })
    .collect()
}

/// The table with the paths of the files for GDAL, in `internal:gdal_vsi`.
///
/// # Errors
/// [`Kind::Internal`](crate::error::Kind::Internal) for another number of paths.
pub fn with_gdal_paths(table: &LevelTable, paths: StringArray) -> Result<LevelTable> {
    let batch = table.to_batch()?;
    let mut fields = batch.schema().fields().to_vec();
    fields.push(Arc::new(Field::new(
        "internal:gdal_vsi",
        DataType::Utf8,
        true,
    )));
    let columns = batch
        .columns()
        .iter()
        .cloned()
        .chain([Arc::new(paths) as ArrayRef])
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal("a level does not fit its paths").because(error))?;
    Ok(LevelTable::new(batch.schema(), vec![batch]))
}

/// The rows of the level below whose parent is the FOLDER at `row` of `level`, for formats without
/// `__meta__`.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when it has no children; when a table can't be
/// read.
pub fn children_table(levels: &LevelSet, level: usize, row: u32) -> Result<LevelTable> {
    let ctx = JobContext::default();
    let tree = levels.skeleton(&ctx)?;
    let above = tree
        .levels
        .get(level)
        .filter(|table| (row as usize) < table.len());
    let above = above.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
    let rows = above.children(row).to_vec();
    if rows.is_empty() {
        return Err(Error::format("this sample has no children").at_place(tree.path(level, row)));
    }
    let batch = levels.table(level + 1, &ctx)?.to_batch()?;
    let chosen = take_rows(&batch, &rows)?;
    Ok(LevelTable::new(chosen.schema(), vec![chosen]))
}

fn same_text(column: &ArrayRef, ids: &[String]) -> bool {
    let Ok(text) = arrow::compute::cast(column, &DataType::Utf8) else {
        return false;
    };
    let text = text.as_string::<i32>();
    text.len() == ids.len()
        && text
            .iter()
            .zip(ids)
            .all(|(found, id)| found.unwrap_or_default() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_columns_with_names_of_the_model_stay() {
        let text = |values: &[&str]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
        let own = [
            ("id", text(&["x", "y"]), true),
            ("type", text(&["forest", "urban"]), true),
            (
                "internal:offset",
                Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef,
                true,
            ),
            ("own:type", text(&["1", "2"]), true),
        ];
        let level = MadeLevel {
            own: RecordBatch::try_from_iter_with_nullable(own).expect("is a batch"),
            ids: vec!["a".into(), "b".into()],
            folder: vec![false, false],
            parents: vec![0, 1],
            ranges: Some(vec![Some((200, 1)), Some((201, 1))]),
            sources: None,
            paths: None,
        };
        let table = level_tables(vec![level]).expect("fits").remove(0);
        let names: Vec<String> = table.fields().into_iter().map(|field| field.name).collect();
        let wanted = [
            "id",
            "type",
            "own:id",
            "own:type_2",
            "own:internal:offset",
            "own:type",
            "internal:current_id",
        ];
        assert_eq!(names[..7], wanted);
        assert_eq!(
            (table.text(1, 2), table.text(0, 3), table.text(1, 1)),
            ("y".into(), "forest".into(), "FILE".into())
        );
        assert_eq!(
            (
                name_in_file("own:type"),
                name_in_file("own:n"),
                name_in_file("own:internal:x")
            ),
            ("type", "own:n", "internal:x")
        );
    }
}
