//! `columns`: adds columns of an external table (CSV, JSON, Parquet), joined by path or id. Types
//! are declared or inferred; rows without a sample and samples without a row are reported.

use std::collections::HashSet;
use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use serde_json::Value as Json;

use super::super::declared::{NAMES, type_of, value_of};
use super::super::typed_text::{detect_notation, parse_cell};
use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, RunNote, TortillaExtension,
    TortillaView, parse_options,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value, check_field_name, dtype_name};
use crate::table::{KEYS, KeyedTable, cell_text, is_null_marker, value_at};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "columns",
    title: mark!("Columns of a table"),
    summary: mark!("Adds the columns of a CSV, JSON or Parquet table, joined by path or id."),
    scope: ExtensionScope::Tortilla,
    options,
    make,
};

/// Maximum number of names listed in a report of unmatched rows.
pub(in crate::extensions) const MAX_NAMES: usize = 20;

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("table"),
            OptionKind::Path,
            mark!("the CSV, JSON or Parquet file"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("key"),
            OptionKind::Text,
            mark!("the table's column that names the samples; path, file or id when absent"),
        ),
        OptionSpec::new(
            mark!("by"),
            OptionKind::Choice(&["auto", "path", "id"]),
            mark!(
                "what the key is: the path of ids from the root, as roi_1/before.tif, or the id \
                    alone; auto decides by the key's name"
            ),
        )
        .or("auto"),
        OptionSpec::new(
            mark!("columns"),
            OptionKind::Json,
            mark!(
                "which columns: a list of names, or {\"name\": \"type\"}, or {\"name\": {\"type\", \
                    \"from\", \"lenient\", \"description\"}}; lenient reads 12,5, 29.02.2020, yes \
                    and n/a, and makes null of what does not fit; all when absent"
            ),
        ),
        OptionSpec::new(
            mark!("missing"),
            OptionKind::Choice(&["null", "keep", "error"]),
            mark!("samples without a row get nulls, keep what they have, or end the run"),
        )
        .or("null"),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct TortillaCommandOptions {
    table: PathBuf,
    key: Option<String>,
    by: String,
    columns: Option<Json>,
    missing: String,
}

/// A requested column.
struct RequestedColumn {
    name: String,
    from: String,
    dtype: Option<DataType>,
    /// Cells that do not fit the type become null.
    lenient: bool,
    description: String,
}

impl RequestedColumn {
    /// A column that keeps its name and type.
    fn from_column_name(name: String) -> Self {
        Self {
            from: name.clone(),
            name,
            dtype: None,
            lenient: false,
            description: String::new(),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    #[serde(rename = "type")]
    dtype: Option<String>,
    from: Option<String>,
    #[serde(default)]
    lenient: bool,
    #[serde(default)]
    description: String,
}

struct TortillaCommandColumns {
    table: KeyedTable,
    fields: Vec<FieldSpec>,
    arrays: Vec<ArrayRef>,
    need_all: bool,
    keep: bool,
}

fn make(given: &Json) -> Result<Extension> {
    let options: TortillaCommandOptions = parse_options("columns", &options(), given)?;
    Ok(Extension::Tortilla(Box::new(read(options)?)))
}

fn read(options: TortillaCommandOptions) -> Result<TortillaCommandColumns> {
    let wanted = options
        .columns
        .as_ref()
        .map(parse_requested_columns)
        .transpose()?;
    let declared: HashSet<&str> = wanted
        .iter()
        .flatten()
        .filter(|column| column.dtype.is_some())
        .map(|column| column.from.as_str())
        .collect();
    let text = |name: &str| declared.contains(name);
    let keys: Vec<&str> = options
        .key
        .as_deref()
        .map_or(KEYS.to_vec(), |key| vec![key]);
    let mut table = KeyedTable::read(&options.table, &keys, &text, &JobContext::default())?;
    match options.by.as_str() {
        "path" => table.by_path = true,
        "id" => table.by_path = false,
        _ => {}
    }
    let fields = table.table.fields();
    let wanted = wanted.unwrap_or_else(|| {
        let joined = table.columns().into_iter();
        let names = joined.map(|index| fields[index].name.clone());
        names.map(RequestedColumn::from_column_name).collect()
    });
    let (mut specs, mut arrays) = (Vec::new(), Vec::new());
    for column in wanted {
        check_field_name(&column.name)
            .map_err(|fault| Error::usage(format!("the column \"{}\" {fault}", column.name)))?;
        let index = table.table.column_index(&column.from).ok_or_else(|| {
            let found = fields
                .iter()
                .map(|field| field.name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            Error::usage(format!(
                "the table has no column {}; it has {found}",
                column.from
            ))
            .at_path(&options.table)
        })?;
        let array = cast_to_declared_type(&table, index, &column)?;
        specs.push(FieldSpec {
            name: column.name,
            dtype: array.data_type().clone(),
            description: column.description,
        });
        arrays.push(array);
    }
    if specs.is_empty() {
        return Err(Error::usage("the table has no column besides its key").at_path(&options.table));
    }
    table.rows()?;
    Ok(TortillaCommandColumns {
        table,
        fields: specs,
        arrays,
        need_all: options.missing == "error",
        keep: options.missing == "keep",
    })
}

fn parse_requested_columns(given: &Json) -> Result<Vec<RequestedColumn>> {
    match given {
        Json::Array(names) => names
            .iter()
            .map(|name| {
                let text = name.as_str();
                let text = text.ok_or_else(|| invalid_columns_error(name))?;
                Ok(RequestedColumn::from_column_name(text.to_owned()))
            })
            .collect(),
        Json::Object(columns) => columns
            .iter()
            .map(|(name, what)| parse_requested_column(name, what))
            .collect(),
        other => Err(invalid_columns_error(other)),
    }
}

fn parse_requested_column(name: &str, what: &Json) -> Result<RequestedColumn> {
    let declared = match what {
        Json::String(dtype) => Declared {
            dtype: Some(dtype.clone()),
            from: None,
            lenient: false,
            description: String::new(),
        },
        Json::Object(_) => serde_json::from_value(what.clone())
            .map_err(|error| invalid_columns_error(what).because(error))?,
        _ => return Err(invalid_columns_error(what)),
    };
    let dtype = declared.dtype.as_deref().map(parse_declared_type);
    Ok(RequestedColumn {
        from: declared.from.unwrap_or_else(|| name.to_owned()),
        name: name.to_owned(),
        dtype: dtype.transpose()?,
        lenient: declared.lenient,
        description: declared.description,
    })
}

fn invalid_columns_error(what: &Json) -> Error {
    Error::usage(format!("option columns of columns can't be {what}")).hint(
        "write [\"cloud\"], {\"cloud\": \"double\"} or {\"cloud\": {\"type\": \
            \"double\", \"from\": \"Cloud %\"}}",
    )
}

fn parse_declared_type(name: &str) -> Result<DataType> {
    type_of(name).ok_or_else(|| {
        Error::usage(format!("option columns names the unknown type {name}"))
            .hint(format!("use {NAMES}"))
    })
}

/// Casts a column to its declared type; a value that does not fit is an error with its key.
fn cast_to_declared_type(
    table: &KeyedTable,
    index: usize,
    column: &RequestedColumn,
) -> Result<ArrayRef> {
    let array = table.table.column(index)?;
    let Some(dtype) = &column.dtype else {
        return Ok(array);
    };
    if array.data_type() == dtype {
        return Ok(array);
    }
    if column.lenient
        && let Some(texts) = array.as_string_opt::<i32>()
    {
        let notation = detect_notation(texts.iter());
        let values: Vec<Value> = texts
            .iter()
            .map(|cell| {
                cell.and_then(|cell| parse_cell(cell, dtype, notation))
                    .unwrap_or_default()
            })
            .collect();
        return crate::table::array_of(&FieldSpec::new(&column.name, dtype.clone()), values.iter());
    }
    let misfit = |row: usize| misfit_error(table, &array, column, dtype, row);
    if matches!(dtype, DataType::List(_)) && array.data_type() == &DataType::Utf8 {
        let texts = array.as_string::<i32>();
        let values = (0..texts.len()).map(|row| {
            if texts.is_null(row) || texts.value(row).trim().is_empty() {
                return Ok(Value::Null);
            }
            let json = serde_json::from_str::<Json>(texts.value(row)).map_err(|_| misfit(row))?;
            value_of(&json, dtype).map_err(|_| misfit(row))
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        return crate::table::array_of(&FieldSpec::new(&column.name, dtype.clone()), values.iter());
    }
    // Cells without a value become null. The cast turns values that do not fit into null, which are
    // then found by comparison.
    let cast = cast_with_options(
        &array,
        dtype,
        &CastOptions {
            safe: true,
            ..CastOptions::default()
        },
    )
    .map_err(|error| impossible_cast_error(column, array.data_type(), dtype, error))?;
    let lost = (0..array.len())
        .find(|&row| array.is_valid(row) && cast.is_null(row) && !is_blank_cell(&array, row));
    match lost.or_else(|| find_truncated_row(&array, &cast)) {
        Some(row) => Err(misfit(row)),
        None => Ok(cast),
    }
}

fn misfit_error(
    table: &KeyedTable,
    array: &ArrayRef,
    column: &RequestedColumn,
    dtype: &DataType,
    row: usize,
) -> Error {
    let key = table.key_of(row);
    let summary = format!(
        "{} of {key} is {}, which is no {}",
        column.from,
        cell_text(array, row),
        dtype_name(dtype)
    );
    Error::usage(summary).hint("correct the table, or declare another type")
}

fn impossible_cast_error(
    column: &RequestedColumn,
    from: &DataType,
    to: &DataType,
    error: ArrowError,
) -> Error {
    let summary = format!(
        "{} is {}, which can't become {}",
        column.from,
        dtype_name(from),
        dtype_name(to)
    );
    Error::usage(summary).because(error)
}

fn is_blank_cell(array: &ArrayRef, row: usize) -> bool {
    array
        .as_string_opt::<i32>()
        .is_some_and(|texts| is_null_marker(texts.value(row).trim()))
}

/// The first row with a fraction that the cast to integers dropped: it makes 2 of 2.5 silently.
fn find_truncated_row(array: &ArrayRef, cast: &ArrayRef) -> Option<usize> {
    let halves = array.data_type().is_floating() && cast.data_type().is_integer();
    let back = halves
        .then(|| cast_with_options(cast, array.data_type(), &CastOptions::default()).ok())
        .flatten()?;
    (0..array.len()).find(|&row| value_at(array, row) != value_at(&back, row))
}

impl TortillaExtension for TortillaCommandColumns {
    fn schema(&self) -> Vec<FieldSpec> {
        self.fields.clone()
    }

    fn reads(&self, _: &str) -> bool {
        false
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let rows = self.table.rows_of_samples(|see| {
            for (at, sample) in tortilla.samples.iter().enumerate() {
                if at % 4096 == 0 {
                    ctx.check()?;
                }
                see(&sample.path().to_archive(), sample.id());
            }
            Ok(())
        })?;
        if !self.table.warnings.is_empty() {
            tortilla.note(RunNote::Reading {
                warnings: self.table.warnings.clone(),
            });
        }
        let mut used = vec![false; self.table.table.rows()];
        let mut matched = Vec::with_capacity(tortilla.len());
        let (mut without, mut without_count) = (Vec::new(), 0u64);
        for (at, sample) in tortilla.samples.iter().enumerate() {
            if at % 4096 == 0 {
                ctx.check()?;
            }
            let path = sample.path().to_archive();
            let row = rows.row_of(&path, sample.id());
            match row {
                Some(row) => used[row] = true,
                None => {
                    if self.keep {
                        tortilla.leave(at);
                    }
                    without_count += 1;
                    if without.len() < MAX_NAMES {
                        without.push(path);
                    }
                }
            }
            matched.push(row);
        }
        let unused: Vec<&str> = used
            .iter()
            .enumerate()
            .filter(|(_, used)| !**used)
            .map(|(row, _)| self.table.key_of(row))
            .collect();
        if without_count as usize == tortilla.len() && !rows.is_empty() {
            let sample = without.first().map(String::as_str).unwrap_or_default();
            let key = unused.first().copied().unwrap_or_default();
            let what = if self.table.by_path { "path" } else { "id" };
            return Err(Error::usage(format!(
                "no row of the table matches a sample by {what}: the table says {key}, a sample is \
                    {sample}"
            ))
            .at_path(&self.table.path)
            .hint("choose the level, or the options key and by"));
        }
        if self.need_all && without_count > 0 {
            let summary = format!(
                "{without_count} samples are in no row of the table, the first of them {}",
                without.join(", ")
            );
            return Err(Error::usage(summary).at_path(&self.table.path));
        }
        if without_count > 0 || !unused.is_empty() {
            tortilla.note(RunNote::Unmatched {
                table: self.table.path.display().to_string(),
                rows: unused.len() as u64,
                row_keys: unused
                    .iter()
                    .take(MAX_NAMES)
                    .map(|key| (*key).to_owned())
                    .collect(),
                samples: without_count,
                sample_paths: without,
            });
        }
        let columns = self.arrays.iter();
        Ok(columns.map(|array| pick_values(array, &matched)).collect())
    }
}

/// The values of these rows; null for none.
fn pick_values(array: &ArrayRef, rows: &[Option<usize>]) -> Vec<Value> {
    rows.iter()
        .map(|row| row.map_or(Value::Null, |row| value_at(array, row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extensions::{CallTarget, ExtensionCall, builtin, run};
    use crate::model::{Collection, Dataset, Sample, Tortilla};
    use serde_json::json;

    fn dataset() -> Dataset {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let scene =
            |id: &str| Sample::new_folder(id, Tortilla::new(vec![file("007"), file("b.tif")]));
        Dataset {
            collection: Collection::default(),
            root: Tortilla::new(vec![scene("one"), scene("two"), scene("three")]).into(),
        }
    }

    fn run_with(options: Json, level: usize) -> Result<super::super::super::ExtensionRun> {
        let call = ExtensionCall {
            extension: "columns".into(),
            options,
            target: CallTarget {
                level,
                positions: vec![],
            },
            schema_only: false,
        };
        run(&dataset(), &[call], &builtin(), &JobContext::default())
    }

    fn table(name: &str, content: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("writes");
        (folder, path.display().to_string())
    }

    #[test]
    fn types_are_declared_or_inferred_and_unmatched_rows_reported() {
        let (_folder, path) = table(
            "t.csv",
            "path,cloud,code,when\none,1.5,007,2021-05-17\n./two/,2,008,\nfour,9,9,\n",
        );
        let declared = json!({
            "cloud": "double",
            "code": {"type": "string", "description": "a code"},
            "day": {"from": "when", "type": "timestamp[us]"},
        });
        let made = run_with(json!({"table": path, "columns": declared}), 0).expect("runs");
        let columns = &made.columns[0];
        let names: Vec<_> = columns
            .iter()
            .map(|c| (c.field.name.as_str(), dtype_name(&c.field.dtype)))
            .collect();
        assert_eq!(
            names,
            [
                ("cloud", "double".into()),
                ("code", "string".into()),
                ("day", "timestamp[us]".into())
            ]
        );
        assert_eq!(
            columns[0].values,
            [Value::Float(1.5), Value::Float(2.0), Value::Null]
        );
        assert_eq!(
            columns[1].values,
            [Value::text("007"), Value::text("008"), Value::Null]
        );
        assert_eq!(
            columns[2].values,
            [Value::Int(1_621_209_600_000_000), Value::Null, Value::Null]
        );
        assert_eq!(columns[1].field.description, "a code");
        let [
            RunNote::Unmatched {
                rows,
                row_keys,
                samples,
                sample_paths,
                ..
            },
        ] = made.notes.as_slice()
        else {
            panic!("{:?}", made.notes)
        };
        assert_eq!(
            (
                *rows,
                row_keys.as_slice(),
                *samples,
                sample_paths.as_slice()
            ),
            (1, &["four".to_owned()][..], 1, &["three".to_owned()][..])
        );
        let inferred = run_with(json!({"table": path}), 0).expect("runs");
        let types: Vec<_> = inferred.columns[0]
            .iter()
            .map(|c| dtype_name(&c.field.dtype))
            .collect();
        assert_eq!(types, ["double", "string", "date32[day]"]);
    }

    #[test]
    fn ids_join_every_sample_that_has_them_and_paths_one() {
        let (_folder, path) = table(
            "t.json",
            r#"[{"id": "007", "kind": "image"}, {"id": "b.tif", "kind": "label"}]"#,
        );
        let made = run_with(json!({"table": path}), 1).expect("runs");
        assert_eq!(
            made.columns[1][0]
                .values
                .iter()
                .filter(|v| **v == Value::text("image"))
                .count(),
            3
        );
        assert!(made.notes.is_empty());
        let (_folder, path) = table("t.csv", "file;n\ntwo/007;3\n");
        let made = run_with(json!({"table": path, "columns": ["n"]}), 1).expect("runs");
        let nulls = [
            Value::Null,
            Value::Null,
            Value::Int(3),
            Value::Null,
            Value::Null,
            Value::Null,
        ];
        assert_eq!(made.columns[1][0].values, nulls);
        assert!(
            run_with(json!({"table": path, "missing": "error"}), 1)
                .is_err_and(|e| e.report().contains("one/007"))
        );
    }

    #[test]
    fn samples_without_a_row_keep_what_they_have_when_asked() {
        let (_folder, path) = table("t.csv", "id,n\none,1\ntwo,2\nthree,3\n");
        let (_other, again) = table("t.csv", "id,n\ntwo,20\n");
        let mut data = dataset();
        data.root = run_with(json!({"table": path}), 0)
            .expect("runs")
            .apply(data.root.clone(), false)
            .expect("applies");
        let joined = |missing: &str| {
            let options = json!({"table": again, "missing": missing});
            let call = ExtensionCall {
                extension: "columns".into(),
                options,
                target: CallTarget::default(),
                schema_only: false,
            };
            let run = run(&data, &[call], &builtin(), &JobContext::default()).expect("runs");
            let root = run.apply(data.root.clone(), true).expect("applies");
            root.samples
                .iter()
                .map(|sample| sample.value(0).clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            joined("keep"),
            [Value::Int(1), Value::Int(20), Value::Int(3)]
        );
        assert_eq!(joined("null"), [Value::Null, Value::Int(20), Value::Null]);
    }

    #[test]
    fn lists_come_from_json_text() {
        let (_folder, path) = table("t.csv", "id;l\none;[1, 2.5]\ntwo;\nthree;[]\n");
        let made =
            run_with(json!({"table": path, "columns": {"l": "list<double>"}}), 0).expect("runs");
        let list =
            |numbers: &[f64]| Value::List(numbers.iter().map(|n| Value::Float(*n)).collect());
        assert_eq!(
            made.columns[0][0].values,
            [list(&[1.0, 2.5]), Value::Null, list(&[])]
        );
    }

    #[test]
    fn invalid_tables_give_a_reason() {
        let (_folder, path) = table("t.csv", "id,n\none,1\ntwo,x\n");
        let said = |options: Json| run_with(options, 0).expect_err("refuses").report();
        assert!(
            said(json!({"table": path, "columns": {"n": "int64"}}))
                .contains("n of two is x, which is no int64")
        );
        assert!(
            said(json!({"table": path, "columns": ["m"]})).contains("no column m; it has id, n")
        );
        assert!(
            said(json!({"table": path, "columns": {"n": "number"}}))
                .contains("unknown type number")
        );
        assert!(said(json!({"table": path, "key": "name"})).contains("no column name"));
        assert!(said(json!({"table": path, "columns": {"a b": {"from": "n"}}})).contains("a b"));
        let (_folder, path) = table("t.csv", "id,n\none,1\none/,2\n");
        assert!(said(json!({"table": path})).contains("one twice"));
        let (_folder, path) = table("t.csv", "id,n\nten,1\n");
        assert!(
            said(json!({"table": path})).contains("no row of the table matches a sample by id")
        );
        assert!(said(json!({"table": "/nowhere.csv"})).contains("/nowhere.csv"));
    }
}
