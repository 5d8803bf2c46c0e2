//! The tree of an early dataset, from its tables and the names of its data files. Pure.

use std::collections::HashMap;

use arrow::array::{Array, RecordBatch};
use serde_json::Value as Json;

use crate::container::synthetic_levels::{MadeLevel, make_paths_below};
use crate::error::{Error, Result};
use crate::model::Collection;
use crate::table::LevelTable;

/// Row of the parent: tacotoolbox 0.9 to 0.9.5 and from 0.13, and 0.7.
const PARENT_COLUMNS: [&str; 2] = ["internal:parent_id", "internal:position"];
/// Types of FOLDERs and FILEs before tacotoolbox 0.9.11.
const OLD_FOLDER: &str = "TORTILLA";
const OLD_FILES: [&str; 3] = ["OTHER", "TACOTIFF", "TACOGEOPARQUET"];

/// Levels of an early dataset, and the data file of each row.
pub struct EarlyTree {
    /// Level 0 first; without byte ranges.
    pub levels: Vec<MadeLevel>,
    /// By level and row: path of the data file below `DATA/`; `None` for FOLDERs and for files that
    /// are missing or that several names may mean.
    pub files: Vec<Vec<Option<Box<str>>>>,
    /// True when a table or the name of a file has a mark that datasets of today's layout don't
    /// have.
    pub is_marked: bool,
}

impl EarlyTree {
    /// Builds the tree. `names` are paths below `DATA/`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when a table has no `id` or `type`, or its rows
    /// have no parents.
    pub fn from_tables(
        tables: &[LevelTable],
        collection: &Collection,
        names: &[String],
    ) -> Result<Self> {
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let mut made = Self {
            levels: Vec::new(),
            files: Vec::new(),
            is_marked: false,
        };
        let mut above: Vec<String> = Vec::new();
        for (depth, table) in tables.iter().enumerate() {
            let owner = format!("level {depth}");
            let ids = table.require_strings("id", &owner)?;
            let ids: Vec<String> = ids
                .iter()
                .map(|id| id.unwrap_or_default().to_owned())
                .collect();
            let types = table.require_strings("type", &owner)?;
            let folder: Vec<bool> = types
                .iter()
                .map(|kind| matches!(kind, Some("FOLDER" | OLD_FOLDER)))
                .collect();
            made.is_marked |= types
                .iter()
                .flatten()
                .any(|kind| kind == OLD_FOLDER || OLD_FILES.contains(&kind))
                || table.column_index("internal:position").is_some();
            let parents = match made.levels.last() {
                None => (0..ids.len() as u32).collect(),
                Some(last) => parents_of(table, depth, &last.folder, collection)?,
            };
            let paths = make_paths_below(&ids, &parents, &above);
            let files: Vec<Option<Box<str>>> = paths
                .iter()
                .zip(&folder)
                .map(|(path, &folder)| {
                    if folder {
                        None
                    } else {
                        file_of(&sorted, path).map(Box::from)
                    }
                })
                .collect();
            made.is_marked |= files
                .iter()
                .zip(&paths)
                .any(|(file, path)| file.as_deref().is_some_and(|file| file != path));
            let own = without_structure(&table.to_batch()?)?;
            made.levels.push(MadeLevel {
                own,
                ids,
                folder,
                parents,
                ranges: None,
                sources: None,
                paths: Some(paths.clone()),
            });
            made.files.push(files);
            above = paths;
        }
        Ok(made)
    }
}

/// For each row its parent's row in the level above, whose FOLDERs are `folder`.
fn parents_of(
    table: &LevelTable,
    depth: usize,
    folder: &[bool],
    collection: &Collection,
) -> Result<Vec<u32>> {
    for name in PARENT_COLUMNS {
        let Some(stated) = table.integers(name)? else {
            continue;
        };
        let parents = (0..table.rows()).map(|row| {
            let parent = stated
                .is_valid(row)
                .then(|| u32::try_from(stated.value(row)).ok())
                .flatten();
            let parent = parent.filter(|&parent| folder.get(parent as usize) == Some(&true));
            parent.ok_or_else(|| {
                Error::format(format!(
                    "row {row} of level {depth} names no FOLDER as its parent ({name})"
                ))
            })
        });
        return parents.collect();
    }
    let parents: Vec<u32> = folder
        .iter()
        .zip(0..)
        .filter(|(folder, _)| **folder)
        .map(|(_, row)| row)
        .collect();
    let rows = table.rows();
    let counts = counts_in(collection, depth).filter(|counts| {
        let total = parents
            .iter()
            .zip(counts.iter().cycle())
            .try_fold(0usize, |sum, (_, count)| sum.checked_add(*count));
        total == Some(rows)
    });
    let counts = match counts {
        Some(counts) => counts,
        None if !parents.is_empty() && rows.is_multiple_of(parents.len()) => {
            vec![rows / parents.len()]
        }
        None => {
            let message = format!(
                "the {rows} rows of level {depth} do not divide among the {} FOLDERs above",
                parents.len()
            );
            return Err(Error::format(message));
        }
    };
    Ok(parents
        .into_iter()
        .zip(counts.into_iter().cycle())
        .flat_map(|(parent, count)| std::iter::repeat_n(parent, count))
        .collect())
}

/// Numbers of children of the FOLDERs above level `depth`, in order and again from the first:
/// `taco:pit_schema` from tacotoolbox 0.9.5.
fn counts_in(collection: &Collection, depth: usize) -> Option<Vec<usize>> {
    let patterns = collection
        .get("taco:pit_schema")?
        .get("hierarchy")?
        .get(depth.to_string())?
        .as_array()?;
    let count = |pattern: &Json| Some(pattern.get("children")?.as_array()?.len());
    patterns
        .iter()
        .map(count)
        .collect::<Option<Vec<_>>>()
        .filter(|counts| !counts.is_empty())
}

/// The name of the file of the sample at `path`: the path itself, or with the suffix of the source
/// file. `None` when several names of equally many dots fit.
fn file_of<'a>(sorted: &[&'a str], path: &str) -> Option<&'a str> {
    if let Ok(at) = sorted.binary_search(&path) {
        return Some(sorted[at]);
    }
    let start = format!("{path}.");
    let first = sorted.partition_point(|name| *name < start.as_str());
    let fitting = sorted[first..]
        .iter()
        .take_while(|name| name.starts_with(&start))
        .filter(|name| !name[start.len()..].contains('/'));
    // A sample `a` beside a sample `a.b`: a.tif and a.b.tif.
    let mut by_dots: HashMap<usize, Vec<&str>> = HashMap::new();
    fitting.for_each(|name| {
        by_dots
            .entry(name[start.len()..].matches('.').count())
            .or_default()
            .push(name)
    });
    let fewest = by_dots.keys().min().copied()?;
    match by_dots.remove(&fewest)?.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// The columns without those that state the tree, which are made anew.
fn without_structure(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let kept: Vec<usize> = schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| !is_structure(field.name()))
        .map(|(at, _)| at)
        .collect();
    batch
        .project(&kept)
        .map_err(|error| Error::internal("columns can't be chosen").because(error))
}

fn is_structure(name: &str) -> bool {
    matches!(name, "id" | "type") || name.starts_with("internal:")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, StringArray};
    use serde_json::json;

    use super::*;

    fn table(columns: Vec<(&str, ArrayRef)>) -> LevelTable {
        let batch = RecordBatch::try_from_iter(columns).expect("is a batch");
        LevelTable::new(batch.schema(), vec![batch])
    }

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(values))
    }

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn parents_come_from_a_column_or_from_the_pattern() {
        let roots = || {
            table(vec![
                ("id", texts(&["a", "b"])),
                ("type", texts(&["TORTILLA", "TORTILLA"])),
            ])
        };
        let children = [
            ("id", texts(&["x", "y", "x", "y"])),
            ("type", texts(&["OTHER", "OTHER", "OTHER", "OTHER"])),
        ];
        let files = names(&["a/x.tif", "a/y.tif", "b/x.tif", "b/y.json"]);
        let with_column = |name| {
            let mut columns = children.to_vec();
            columns.push((
                name,
                Arc::new(Int32Array::from(vec![0, 0, 1, 1])) as ArrayRef,
            ));
            table(columns)
        };
        for level in [
            with_column("internal:position"),
            with_column("internal:parent_id"),
            table(children.to_vec()),
        ] {
            let tree = EarlyTree::from_tables(&[roots(), level], &Collection::default(), &files)
                .expect("is a tree");
            assert_eq!(tree.levels[1].parents, [0, 0, 1, 1]);
            assert!(tree.is_marked && tree.levels[1].own.num_columns() == 0);
            let found: Vec<Option<&str>> = tree.files[1].iter().map(Option::as_deref).collect();
            assert_eq!(
                found,
                files
                    .iter()
                    .map(|file| Some(file.as_str()))
                    .collect::<Vec<_>>()
            );
        }
        let three = table(vec![
            ("id", texts(&["x", "y", "z"])),
            ("type", texts(&["FILE", "FILE", "FILE"])),
        ]);
        assert!(
            EarlyTree::from_tables(&[roots(), three.clone()], &Collection::default(), &files)
                .is_err()
        );
        let unequal = json!({
            "hierarchy": {
                "1": [{"n": 2, "children": ["FILE"]}, {"n": 2, "children": ["FILE", "FILE"]}],
            },
        });
        let mut collection = Collection::default();
        collection.set("taco:pit_schema", Some(unequal));
        let tree =
            EarlyTree::from_tables(&[roots(), three], &collection, &files).expect("is a tree");
        assert_eq!(tree.levels[1].parents, [0, 1, 1]);
    }

    #[test]
    fn a_parent_that_is_no_folder_is_an_error() {
        let roots = table(vec![
            ("id", texts(&["a", "b"])),
            ("type", texts(&["FILE", "FOLDER"])),
        ]);
        for parent in [0, 2, -1] {
            let column = Arc::new(Int32Array::from(vec![parent])) as ArrayRef;
            let below = table(vec![
                ("id", texts(&["x"])),
                ("type", texts(&["FILE"])),
                ("internal:parent_id", column),
            ]);
            assert!(
                EarlyTree::from_tables(&[roots.clone(), below], &Collection::default(), &[])
                    .is_err(),
                "{parent}"
            );
        }
    }

    #[test]
    fn a_file_is_found_by_its_id_and_a_suffix() {
        let owned = names(&[
            "a.b.tif", "a.tif", "a/x.tif", "b.json", "b.tif", "c", "c.tif", "d-e.tif",
        ]);
        let sorted: Vec<&str> = owned.iter().map(String::as_str).collect();
        let find = |path| file_of(&sorted, path);
        assert_eq!(
            (find("a"), find("a.b"), find("a/x")),
            (Some("a.tif"), Some("a.b.tif"), Some("a/x.tif"))
        );
        // Two files may be meant, or one is called as the sample.
        assert_eq!(
            (find("b"), find("c"), find("d"), find("")),
            (None, Some("c"), None, None)
        );
    }
}
