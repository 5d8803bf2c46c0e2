//! Tables of users whose rows are found by the path or id of a sample. Every join of such a table
//! with samples finds its key column, its rows and the columns to add here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow::array::{Array, StringArray};
use arrow::datatypes::DataType;

use super::key_choice::{JoinBy, JoinRequest, KeyChoice, ShowSamples};
use super::key_forms::{
    KeyEndings, KeyProbe, behind_folders, key_texts, normal_key, without_extension,
};
use super::key_names::{INDEX_COLUMNS, KEYS, is_key_name, key_name};
use super::metadata_columns::name_column_by_place;
use super::{ColumnReading, LevelTable, MetadataTable, read_metadata_table};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, check_field_name, find_free_name, in_nfc};
use crate::text::{PrintableLine, list_first, without_marks};

/// Maximum number of keys in a message.
const MAX_NAMES: usize = 5;

/// A table and its key column.
#[derive(Clone, Debug)]
pub struct KeyedTable {
    /// The file.
    pub path: PathBuf,
    /// Its rows.
    pub table: LevelTable,
    /// What the user should know about the reading of the table.
    pub warnings: Vec<String>,
    /// True when the key is the path of ids from the root, false when it is an id.
    pub by_path: bool,
    key: String,
    keys: StringArray,
}

impl KeyedTable {
    /// Reads a table; its key is the first of `keys` that it has. The key columns, and those for
    /// which `text` is true, are read as text: 007 is no number there.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when the table has none of `keys`; else as
    /// [`read_metadata_table`].
    pub fn read(
        path: &Path,
        keys: &[&str],
        text: &dyn Fn(&str) -> bool,
        ctx: &JobContext,
    ) -> Result<Self> {
        let reading = |name: &str| choose_reading(name, is_key_name(name, keys), text);
        let mut found = read_metadata_table(path, &reading, ctx)?;
        let has_key = |table: &LevelTable| keys.iter().any(|key| table.column_index(key).is_some());
        if !has_key(&found.table)
            && let Some(table) = found.by_column.take_if(|table| has_key(table))
        {
            found.table = table;
        }
        let names: Vec<String> = found
            .table
            .fields()
            .into_iter()
            .map(|field| field.name)
            .collect();
        let key = key_name(&names, keys).ok_or_else(|| {
            let missing = match keys {
                [only] => format!("the table has no column {only}"),
                _ => "the table has no column that names the samples".to_owned(),
            };
            let error = format!("{missing}; it has {}", names.join(", ").printable_line());
            Error::usage(error)
                .at_path(path)
                .hint(format!("call one of its columns {}", keys.join(", ")))
        })?;
        let keyed = Self::new(found, path, key, !key.eq_ignore_ascii_case("id"))?;
        keyed.warnings.iter().for_each(|warning| ctx.warn(warning));
        Ok(keyed)
    }

    /// Reads a table for these samples: its key is the column that names most of them. The key and
    /// columns with usual names of keys are read as text, and those for which `text` is true.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a table without rows, or without the
    /// requested key; else as [`read_metadata_table`] and `show_samples`.
    pub fn read_for_samples(
        request: &JoinRequest,
        text: &dyn Fn(&str) -> bool,
        show_samples: &ShowSamples<'_>,
        ctx: &JobContext,
    ) -> Result<Self> {
        let mut found = read_with_key(request, request.key.as_deref(), text, ctx)?;
        if found.table.rows() == 0 {
            return Err(Error::usage("the table has no rows").at_path(&request.table));
        }
        let mut choice = match (&request.key, request.by) {
            (Some(key), JoinBy::Path | JoinBy::Id) => KeyChoice {
                column: key.clone(),
                by_path: request.by == JoinBy::Path,
                names_samples: true,
                others: Vec::new(),
            },
            _ => KeyChoice::find(&found.table, request, show_samples)?,
        };
        if !choice.names_samples
            && let Some(table) = found.by_column.take()
        {
            let by_column = KeyChoice::find(&table, request, show_samples)?;
            if by_column.names_samples {
                (found.table, choice) = (table, by_column);
            }
        }
        let is_exact = request.key.is_some()
            || is_key_name(&choice.column, &KEYS)
            || has_exact_texts(&found.table, &choice.column)?;
        if !is_exact {
            // Read again with the key as text: a key such as NA is not null.
            found = read_with_key(request, Some(&choice.column), text, ctx)?;
        }
        let mut keyed = Self::new(found, &request.table, &choice.column, choice.by_path)?;
        if let Some(other) = keyed.other_key(&choice.others, show_samples)? {
            keyed.warnings.push(format!(
                "the columns {} and {} of the metadata table both name samples, and not the same \
                 ones: {0} is the key, unless another is chosen",
                keyed.key.printable_line(),
                other.printable_line()
            ));
        }
        if keyed.key_is_sample(show_samples)? {
            keyed.warnings.push(format!(
                "the first line of the metadata table is read as its header, and names the sample \
                    {}: put a line with the names of the columns above it",
                keyed.key.printable_line()
            ));
        }
        Ok(keyed)
    }

    /// True when the name of the key column is that of a sample: the table has no header.
    fn key_is_sample(&self, show_samples: &ShowSamples<'_>) -> Result<bool> {
        // Words such as `mask` name columns and samples.
        let is_telling = |letter: char| letter == '.' || letter.is_ascii_digit();
        if !self.key.contains(is_telling) || is_key_name(&self.key, &KEYS) {
            return Ok(false);
        }
        let mut found = false;
        show_samples(&mut |path, id| found |= path == self.key || id == self.key)?;
        Ok(found)
    }

    /// The first of other columns that names as many samples, but other ones in the same rows.
    fn other_key(
        &self,
        others: &[(String, bool)],
        show_samples: &ShowSamples<'_>,
    ) -> Result<Option<String>> {
        if others.is_empty() || self.rows().is_err() {
            return Ok(None);
        }
        let rows = self.rows_of_samples(show_samples)?;
        for (column, by_path) in others {
            let found = MetadataTable {
                table: self.table.clone(),
                by_column: None,
                warnings: Vec::new(),
            };
            let other = Self::new(found, &self.path, column, *by_path)?;
            if other.rows().is_err() {
                continue;
            }
            let rows_of_other = other.rows_of_samples(show_samples)?;
            let mut differs = false;
            show_samples(&mut |path, id| {
                differs |= rows.row_of(path, id) != rows_of_other.row_of(path, id);
            })?;
            if differs {
                return Ok(Some(column.clone()));
            }
        }
        Ok(None)
    }

    /// Checks that rows belong to samples: `is_matched` is true for such a row. Rows without a
    /// sample are warnings.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when no row belongs to a sample.
    pub fn check_matches(
        &self,
        is_matched: &dyn Fn(usize) -> bool,
        samples: &str,
        ctx: &JobContext,
    ) -> Result<()> {
        let lonely = || self.keyed_rows().filter(|(row, _)| !is_matched(*row));
        let (rows, without) = (self.keyed_rows().count(), lonely().count());
        if without == rows {
            return Err(self.nothing_matches(samples));
        }
        if without > 0 {
            let named = list_first(lonely().map(|(_, key)| key), MAX_NAMES);
            let rows = if without == 1 {
                "1 row matches".to_owned()
            } else {
                format!("{without} rows match")
            };
            ctx.warn(format!(
                "{rows} no {samples} in the metadata table: {named}"
            ));
        }
        let unnamed = self.table.rows() - rows;
        if unnamed > 0 {
            let rows = if unnamed == 1 {
                "1 row has".to_owned()
            } else {
                format!("{unnamed} rows have")
            };
            ctx.warn(format!(
                "{rows} no {} in the metadata table, and so no sample",
                self.key
            ));
        }
        Ok(())
    }

    fn nothing_matches(&self, samples: &str) -> Error {
        let error = if is_key_name(&self.key, &KEYS) {
            let example = self.keyed_rows().next().map_or("", |(_, key)| key);
            format!(
                "no row of the metadata table matches a {samples}; its first key, in {}, is {}",
                self.key.printable_line(),
                example.printable_line()
            )
        } else {
            let names: Vec<String> = self
                .table
                .fields()
                .into_iter()
                .map(|field| field.name)
                .collect();
            format!(
                "the table has no column that names the samples; it has {}",
                names.join(", ").printable_line()
            )
        };
        Error::usage(error)
            .at_path(&self.path)
            .hint("keys are paths below the source folder, or ids")
    }

    /// A table that was read from `path`, with this key column.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when it has no such column.
    pub fn new(found: MetadataTable, path: &Path, key: &str, by_path: bool) -> Result<Self> {
        let MetadataTable {
            table,
            mut warnings,
            ..
        } = found;
        let fields = table.fields();
        let empty: Vec<&str> = fields
            .iter()
            .filter(|field| is_data(field, key) && field.dtype == DataType::Null)
            .map(|field| &*field.name)
            .collect();
        if !empty.is_empty() {
            let names = empty.join(", ").printable_line().to_string();
            warnings.push(match empty.len() {
                1 => format!(
                    "the column {names} of the metadata table has no value, and so no \
                    type: it is left out"
                ),
                _ => format!(
                    "the columns {names} of the metadata table have no value, and so no \
                    type: they are left out"
                ),
            });
        }
        let keys = table.strings(key)?.ok_or_else(|| {
            let names = table
                .fields()
                .into_iter()
                .map(|field| field.name)
                .collect::<Vec<_>>()
                .join(", ");
            let error = format!("the table has no column {key}; it has {names}");
            Error::usage(error)
                .at_path(path)
                .hint("name the column with the option key")
        })?;
        let keys = keys.iter().map(|key| Some(normal_key(key?))).collect();
        Ok(Self {
            path: path.to_owned(),
            table,
            warnings,
            by_path,
            key: key.to_owned(),
            keys,
        })
    }

    /// The table with names of columns that fields can have; a warning lists the others.
    ///
    /// # Errors
    /// Those of the columns of a table.
    pub fn with_field_names(mut self, ctx: &JobContext) -> Result<Self> {
        let mut names: Vec<String> = self
            .table
            .fields()
            .into_iter()
            .map(|field| field.name)
            .collect();
        let mut renamed = Vec::new();
        for at in 0..names.len() {
            let name = &names[at];
            if *name == self.key || is_reserved(name) || check_field_name(name).is_ok() {
                continue;
            }
            let free = proposed_field_name(name, &names)
                .unwrap_or_else(|| name_column_by_place(&names, at));
            renamed.push(format!("{} is {free}", name.printable_line()));
            names[at] = free;
        }
        if !renamed.is_empty() {
            ctx.warn(format!(
                "columns have other names, as fields have letters, digits and _: {}",
                renamed.join(", ")
            ));
            self.table = self.table.with_names(&names)?;
        }
        Ok(self)
    }

    /// Name of the key column.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The rows with a key, and their keys in one form: `/` between steps, none at the end, NFC.
    pub fn keyed_rows(&self) -> impl Iterator<Item = (usize, &str)> {
        key_texts(&self.keys)
    }

    /// The key of a row.
    pub fn key_of(&self, row: usize) -> &str {
        if self.keys.is_valid(row) {
            self.keys.value(row)
        } else {
            "null"
        }
    }

    /// The row of each key.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a duplicate key.
    pub fn rows(&self) -> Result<HashMap<&str, usize>> {
        let mut rows = HashMap::with_capacity(self.table.rows());
        for (row, key) in self.keyed_rows() {
            if rows.insert(key, row).is_some() {
                return Err(Error::usage(format!(
                    "the table names {} twice",
                    key.printable_line()
                ))
                .at_path(&self.path)
                .hint("keep one row for each sample, or choose another key"));
            }
        }
        Ok(rows)
    }

    /// The rows by the samples that they belong to. `show_samples` calls its argument with path and
    /// id of every sample. Keys may begin with folders that all of them share, as absolute paths
    /// do, and may lack the extensions of files: the form that finds most samples is used. Keys
    /// that find none in this form may share other folders, as a few absolute paths among relative
    /// ones do.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a duplicate key, and the errors of
    /// `show_samples`.
    pub fn rows_of_samples(
        &self,
        show_samples: impl FnOnce(&mut dyn FnMut(&str, &str)) -> Result<()>,
    ) -> Result<KeyedRows<'_>> {
        let rows = self.rows()?;
        let mut endings = KeyEndings::default();
        let probe = KeyProbe::new(self.keyed_rows().map(|(_, key)| key), &mut endings);
        show_samples(&mut |path, id| endings.see(path, id))?;
        let form = probe.best_form(&endings, self.by_path);
        let other_folders = probe.folders_of_the_others(&endings, form, self.by_path);
        let mut others = Vec::new();
        for (&key, &row) in &rows {
            let rest = other_folders
                .as_deref()
                .and_then(|folders| key.strip_prefix(folders)?.strip_prefix('/'));
            others.extend(rest.map(|rest| (rest, row)));
        }
        let mut rows: HashMap<&str, usize> = match form.folders_before {
            0 => rows,
            folders => rows
                .into_iter()
                .map(|(key, row)| (behind_folders(key, folders).unwrap_or(key), row))
                .collect(),
        };
        for (key, row) in others {
            rows.entry(key).or_insert(row);
        }
        Ok(KeyedRows {
            rows,
            by_path: self.by_path,
            by_stem: form.by_stem,
        })
    }

    /// Indices of the columns that a join adds: all but the key, `id`, `type`, `internal:*`, index
    /// columns and columns of type null.
    pub fn columns(&self) -> Vec<usize> {
        let fields = self.table.fields().into_iter().enumerate();
        fields
            .filter(|(_, field)| is_joined(field, &self.key))
            .map(|(index, _)| index)
            .collect()
    }
}

/// The rows of a table by the samples that they belong to.
#[derive(Debug)]
pub struct KeyedRows<'a> {
    rows: HashMap<&'a str, usize>,
    by_path: bool,
    by_stem: bool,
}

impl KeyedRows<'_> {
    /// The row of a sample.
    pub fn row_of(&self, path: &str, id: &str) -> Option<usize> {
        let name = in_nfc(if self.by_path { path } else { id });
        let exact = self.rows.get(name.as_ref());
        if exact.is_none() && self.by_stem {
            return self.rows.get(without_extension(&name)?).copied();
        }
        exact.copied()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn choose_reading(name: &str, is_key: bool, is_text: &dyn Fn(&str) -> bool) -> ColumnReading {
    if is_key {
        ColumnReading::ExactText
    } else if is_text(name) {
        ColumnReading::Text
    } else {
        ColumnReading::Inferred
    }
}

/// Reads the table of a join, whose key is also read as text when it has no usual name.
fn read_with_key(
    request: &JoinRequest,
    key: Option<&str>,
    is_text: &dyn Fn(&str) -> bool,
    ctx: &JobContext,
) -> Result<MetadataTable> {
    let is_key = |name: &str| is_key_name(name, &KEYS) || key == Some(name);
    let reading = |name: &str| choose_reading(name, is_key(name), is_text);
    read_metadata_table(&request.table, &reading, ctx)
}

/// A name for a column whose own is refused: letters without marks, digits and underscores,
/// different from those `taken`. `None` for a name that is accepted, or has neither letters nor
/// digits.
pub fn proposed_field_name(name: &str, taken: &[String]) -> Option<String> {
    check_field_name(name).err()?;
    let plain = without_marks(name).to_ascii_lowercase();
    let words: Vec<&str> = plain
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let base = words.join("_");
    let is_free =
        |name: &str| check_field_name(name).is_ok() && !taken.iter().any(|other| other == name);
    (!base.is_empty()).then(|| find_free_name(&base, is_free))
}

/// True for a column whose texts are those of the file: none is null, and the type has one text for
/// each value.
fn has_exact_texts(table: &LevelTable, column: &str) -> Result<bool> {
    let Some(index) = table.column_index(column) else {
        return Ok(false);
    };
    let values = table.column(index)?;
    let has_one_text = matches!(
        values.data_type(),
        DataType::Utf8 | DataType::Int64 | DataType::UInt64 | DataType::Date32
    );
    Ok(has_one_text && values.null_count() == 0)
}

fn is_joined(field: &FieldSpec, key: &str) -> bool {
    is_data(field, key) && field.dtype != DataType::Null
}

/// True for a column that is neither the key nor one that the studio computes.
fn is_data(field: &FieldSpec, key: &str) -> bool {
    field.name != key && !is_reserved(&field.name)
}

/// True for the names of columns that the studio computes, and of indices.
fn is_reserved(name: &str) -> bool {
    matches!(name, "id" | "type") || name.starts_with("internal:") || INDEX_COLUMNS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::INDEX_COLUMN;

    fn read(text: &str) -> Result<KeyedTable> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).expect("writes");
        KeyedTable::read(&path, &KEYS, &|_| false, &JobContext::default())
    }

    #[test]
    fn the_key_is_the_most_usual_column_and_its_texts_are_paths() {
        let table = read("id,path,n,type,internal:offset\n1, ./a/007/ ,1,FILE,3\n2,,2,FILE,4\n")
            .expect("reads");
        assert_eq!((table.key(), table.by_path), ("path", true));
        assert_eq!(table.keyed_rows().collect::<Vec<_>>(), [(0, "a/007")]);
        assert_eq!(table.columns(), [2]);
        let table = read("file_id,id\n1,007\n").expect("reads");
        assert_eq!(
            (
                table.key(),
                table.by_path,
                table.rows().expect("rows")["007"]
            ),
            ("id", false, 0)
        );
    }

    fn matched(keys: &[&str], by_path: bool, samples: &[&str]) -> usize {
        let mut table = read(&format!(
            "path,n\n{}\n",
            keys.iter()
                .map(|key| format!("{key},1"))
                .collect::<Vec<_>>()
                .join("\n")
        ))
        .expect("reads");
        table.by_path = by_path;
        let show = |see: &mut dyn FnMut(&str, &str)| {
            samples
                .iter()
                .for_each(|path| see(path, path.rsplit('/').next().unwrap_or(path)));
            Ok(())
        };
        let rows = table.rows_of_samples(show).expect("one row a key");
        samples
            .iter()
            .filter(|path| {
                rows.row_of(path, path.rsplit('/').next().unwrap_or(path))
                    .is_some()
            })
            .count()
    }

    #[test]
    fn keys_name_samples_as_users_write_paths() {
        let samples = ["s1", "s1/a.tif", "s2", "s2/a.tif"];
        for keys in [
            ["s1/a.tif", "s2/a.tif"],
            ["s1/a", "s2/a"],
            ["scenes/s1/a.tif", "scenes/s2/a.tif"],
            ["/data/scenes/s1/a.tif", "/data/scenes/s2/a.tif"],
            ["C:\\data\\s1\\a.tif", "C:\\data\\s2\\a.tif"],
            ["s1\\a.tif", ".\\s2\\a.tif"],
            ["/data/s1", "/data/s2/"],
        ] {
            assert_eq!(matched(&keys, true, &samples), 2, "{keys:?}");
        }
        // One path in another spelling.
        assert_eq!(
            matched(&["s1/a.tif", "/data/scenes/s2/a.tif"], true, &samples),
            2
        );
        assert_eq!(
            matched(&["s1/a.tif", "scenes\\s2\\a.tif"], true, &samples),
            2
        );
        assert_eq!(
            matched(&["/data/s1/a.tif", "/data/s2/a.tif", "s1"], true, &samples),
            3
        );
        assert_eq!(matched(&["s1/a.tif", "elsewhere/b.tif"], true, &samples), 1);
        assert_eq!(matched(&["a"], false, &samples), 2);
        assert_eq!(
            matched(&["x/s1", "y/s2"], true, &samples),
            0,
            "the folders differ"
        );
    }

    #[test]
    fn keys_and_samples_are_compared_in_nfc() {
        assert_eq!(
            matched(&["Ca\u{f1}\u{f3}n"], true, &["Can\u{303}o\u{301}n"]),
            1
        );
        assert_eq!(
            matched(&["Can\u{303}o\u{301}n"], false, &["Ca\u{f1}\u{f3}n"]),
            1
        );
    }

    #[test]
    fn capital_names_and_index_columns_are_keys() {
        let table = read("Path,n\na,1\n").expect("reads");
        assert_eq!(
            (table.key(), table.by_path, table.columns()),
            ("Path", true, vec![1])
        );
        let table = read("n,ID\n1,007\n").expect("reads");
        assert_eq!(
            (table.key(), table.by_path, table.key_of(0)),
            ("ID", false, "007")
        );
        let table = read(",n\n007,1\n").expect("reads");
        assert_eq!(
            (table.key(), table.key_of(0), table.columns()),
            (INDEX_COLUMN, "007", vec![1])
        );
        assert_eq!(read(",path,n\n0,a,1\n").expect("reads").columns(), [2]);
        let empty = read("path,n,note\na,1,\nb,2,\n").expect("reads");
        assert_eq!(empty.columns(), [1]);
        assert!(
            empty.warnings.len() == 1 && empty.warnings[0].contains("the column note of"),
            "{:?}",
            empty.warnings
        );
    }

    #[test]
    fn columns_get_names_that_fields_can_have() {
        let ctx = JobContext::default();
        let table = read("path,cloud cover (%),ann\u{e9}e,a:b:c,eo:cloud,a_b_c,%\na,1,2,3,4,5,6\n")
            .expect("reads");
        let table = table.with_field_names(&ctx).expect("renames");
        assert_eq!(
            (1..7)
                .map(|column| table.table.text(0, column))
                .collect::<Vec<_>>(),
            ["1", "2", "3", "4", "5", "6"]
        );
        let names: Vec<String> = table
            .table
            .fields()
            .into_iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(
            names,
            [
                "path",
                "cloud_cover",
                "annee",
                "a_b_c_2",
                "eo:cloud",
                "a_b_c",
                "column_7"
            ]
        );
        assert_eq!(table.columns().len(), 6);
        let warning = ctx.warnings().join("\n");
        assert!(
            warning.contains("cloud cover (%) is cloud_cover")
                && warning.contains("a:b:c is a_b_c_2"),
            "{warning}"
        );
        assert_eq!(proposed_field_name("2 km", &[]).as_deref(), Some("2_km"));
        assert_eq!(
            (
                proposed_field_name("\u{65e5}\u{672c}!", &[]),
                proposed_field_name("n", &[])
            ),
            (None, None)
        );
    }

    #[test]
    fn a_table_without_a_key_or_with_one_key_twice_is_refused() {
        let error = read("name,n\na,1\n").expect_err("has no key");
        assert!(error.sentence().contains("it has name, n"), "{error}");
        let table = read("path,n\na,1\na/,2\n").expect("reads");
        assert!(
            table
                .rows()
                .expect_err("twice")
                .sentence()
                .contains("a twice")
        );
    }
}
