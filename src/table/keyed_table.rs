//! Tables of users whose rows are found by the path or id of a sample. Every join of such a table with samples finds its key column,
//! its rows and the columns to add here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow::array::StringArray;
use arrow::datatypes::DataType;

use super::{LevelTable, read_sidecar_as};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::FieldSpec;
use crate::text::PrintableLine;

/// Usual names of a key column, in order of preference. All hold paths of ids from the root, except `id`.
pub const KEYS: [&str; 6] = ["path", "relative_path", "internal:relative_path", "file", "filename", "id"];

/// A table and its key column.
#[derive(Clone, Debug)]
pub struct KeyedTable {
    /// The file.
    pub path: PathBuf,
    /// Its rows.
    pub table: LevelTable,
    /// True when the key is the path of ids from the root, false when it is an id.
    pub by_path: bool,
    key: String,
    keys: StringArray,
}

impl KeyedTable {
    /// Reads a table; its key is the first of `keys` that it has. The key columns, and those for which `text` is true, are read as text:
    /// 007 is no number there.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when the table has none of `keys`; else as [`read_sidecar_as`].
    pub fn read(path: &Path, keys: &[&str], text: &dyn Fn(&str) -> bool, ctx: &JobContext) -> Result<Self> {
        let table = read_sidecar_as(path, &|name| keys.contains(&name) || text(name), ctx)?;
        let key = keys.iter().find(|name| table.column_index(name).is_some()).copied();
        let key = key.ok_or_else(|| {
            let missing = match keys {
                [only] => format!("the table has no column {only}"),
                _ => "the table has no column that names the samples".to_owned(),
            };
            let error = format!("{missing}; it has {}", names(&table));
            Error::usage(error).at_path(path).hint(format!("call one of its columns {}", keys.join(", ")))
        })?;
        Self::new(table, path, key, key != "id")
    }

    /// A table that was read from `path`, with this key column.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when it has no such column.
    pub fn new(table: LevelTable, path: &Path, key: &str, by_path: bool) -> Result<Self> {
        let keys = table.strings(key)?.ok_or_else(|| {
            let error = format!("the table has no column {key}; it has {}", names(&table));
            Error::usage(error).at_path(path).hint("name the column with the option key")
        })?;
        Ok(Self { path: path.to_owned(), table, by_path, key: key.to_owned(), keys })
    }

    /// Name of the key column.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The rows with a key, and their keys.
    pub fn named(&self) -> impl Iterator<Item = (usize, &str)> {
        key_texts(&self.keys)
    }

    /// The key as the table has it.
    pub fn key_of(&self, row: usize) -> &str {
        use arrow::array::Array;
        if self.keys.is_valid(row) { self.keys.value(row) } else { "null" }
    }

    /// The row of each key.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a duplicate key.
    pub fn rows(&self) -> Result<HashMap<&str, usize>> {
        let mut rows = HashMap::with_capacity(self.table.rows());
        for (row, key) in self.named() {
            if rows.insert(key, row).is_some() {
                return Err(Error::usage(format!("the table names {} twice", key.printable_line()))
                    .at_path(&self.path)
                    .hint("keep one row for each sample, or choose another key"));
            }
        }
        Ok(rows)
    }

    /// Indices of the columns that a join adds: all but the key, `id`, `type`, `internal:*` and columns of type null.
    pub fn columns(&self) -> Vec<usize> {
        let fields = self.table.fields().into_iter().enumerate();
        fields.filter(|(_, field)| is_joined(field, &self.key)).map(|(index, _)| index).collect()
    }
}

/// The non-empty keys of a column with their rows: paths without surrounding whitespace, leading `./` and trailing `/`.
pub fn key_texts(keys: &StringArray) -> impl Iterator<Item = (usize, &str)> {
    let texts = keys.iter().enumerate().filter_map(|(row, key)| Some((row, trimmed(key?))));
    texts.filter(|(_, key)| !key.is_empty())
}

fn is_joined(field: &FieldSpec, key: &str) -> bool {
    let name = field.name.as_str();
    name != key && !matches!(name, "id" | "type") && !name.starts_with("internal:") && field.dtype != DataType::Null
}

fn trimmed(key: &str) -> &str {
    let key = key.trim();
    key.strip_prefix("./").unwrap_or(key).trim_end_matches('/')
}

fn names(table: &LevelTable) -> String {
    table.fields().into_iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<KeyedTable> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).expect("writes");
        KeyedTable::read(&path, &KEYS, &|_| false, &JobContext::default())
    }

    #[test]
    fn the_key_is_the_most_usual_column_and_its_texts_are_paths() {
        let table = read("id,path,n,type,internal:offset\n1, ./a/007/ ,1,FILE,3\n2,,2,FILE,4\n").expect("reads");
        assert_eq!((table.key(), table.by_path), ("path", true));
        assert_eq!(table.named().collect::<Vec<_>>(), [(0, "a/007")]);
        assert_eq!(table.columns(), [2]);
        let table = read("file_id,id\n1,007\n").expect("reads");
        assert_eq!((table.key(), table.by_path, table.rows().expect("rows")["007"]), ("id", false, 0));
    }

    #[test]
    fn a_table_without_a_key_or_with_one_key_twice_is_refused() {
        let error = read("name,n\na,1\n").expect_err("has no key");
        assert!(error.sentence().contains("it has name, n"), "{error}");
        let table = read("path,n\na,1\na/,2\n").expect("reads");
        assert!(table.rows().expect_err("twice").sentence().contains("a twice"));
    }
}
