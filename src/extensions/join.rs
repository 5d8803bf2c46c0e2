//! Preview of joining a metadata table (CSV, .xlsx, .ods, JSON, Parquet) to the dataset: key
//! column, number of matches by level, and the resulting columns. The join itself is done by the
//! extension `columns`, called once per level.

use std::collections::HashSet;
use std::path::PathBuf;

use arrow::array::StringArray;
use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};

use super::tortilla::columns::MAX_NAMES;
use super::typed_text::{DetectedType, detect_type};
use super::{CallTarget, ExtensionCall};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    Dataset, FieldSpec, MAX_LEVELS, Sample, Tortilla, check_field_name, dtype_name,
};
use crate::table::{JoinRequest, KeyedTable, LevelTable, proposed_field_name};

/// Number of rows in the preview.
const PREVIEW_ROWS: usize = 8;

/// Preview of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinPreview {
    /// The table.
    pub table: PathBuf,
    /// Number of rows.
    pub rows: usize,
    /// The key column.
    pub key: String,
    /// Names of all columns of the table.
    pub column_names: Vec<String>,
    /// True when the key is a path, false when it is an id.
    pub by_path: bool,
    /// Levels with matching rows.
    pub levels: Vec<JoinLevel>,
    /// Rows without a sample.
    pub unmatched: UnmatchedRows,
    /// What the user should know about the reading of the table.
    pub warnings: Vec<String>,
    /// The first rows, as the preview shows them.
    pub first_rows: Vec<JoinRow>,
}

/// Rows of a table without a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnmatchedRows {
    /// Number of rows, with those that have no key.
    pub count: usize,
    /// The first of their keys.
    pub first_keys: Vec<String>,
}

/// Preview of a join on one level.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinLevel {
    /// Level, from 0.
    pub level: usize,
    /// Number of samples, without padding.
    pub samples: usize,
    /// Number of samples with a row.
    pub matched: usize,
    /// Paths of the first samples without a row.
    pub first_unmatched: Vec<String>,
    /// Columns that have a value for at least one sample of the level.
    pub columns: Vec<JoinColumn>,
    /// Names of the columns that the level has already.
    pub existing_columns: Vec<String>,
}

/// A column that the join would add.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinColumn {
    /// Its name in the table.
    pub name: String,
    /// Name of its type.
    pub type_name: String,
    /// The first value of a matched sample, as text.
    pub example: String,
    /// True when the level has a column of this name, which the join replaces.
    pub replaces_column: bool,
    /// Why the column cannot be added under this name.
    pub name_fault: Option<String>,
    /// A valid name, where the name in the table is not one.
    pub proposed_name: Option<String>,
    /// The type that its text most likely has.
    pub proposed_type: Option<ProposedType>,
}

/// A type other than text that a text column can be read as: number, date, time or truth value.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedType {
    /// Name of the type.
    pub type_name: String,
    /// Number of cells of the table that have a value of this type.
    pub values: usize,
    /// Number of cells that become null: empty ones, marks of missing values such as `n/a`, and
    /// those counted in `lost`.
    pub nulls: usize,
    /// Number of cells with another value, which becomes null.
    pub lost: usize,
    /// The first cells that become null, without empty ones.
    pub examples: Vec<String>,
    /// True when dates such as `03/04/2020` are read day first, and no cell shows that this is
    /// right.
    pub assumes_day_first: bool,
    /// True when numbers lose leading or trailing zeros that may have a meaning, as that of the
    /// code `06075`.
    pub loses_zeros: bool,
}

impl ProposedType {
    /// True when no value is lost and no order of day and month assumed.
    pub fn is_certain(&self) -> bool {
        self.lost == 0 && !self.assumes_day_first && !self.loses_zeros
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRow {
    /// Its key.
    pub key: String,
    /// Path of the first matching sample.
    pub sample: Option<String>,
}

impl JoinColumn {
    /// The name that the column gets without a choice of the user: that in the table where it is
    /// valid, else the proposed one.
    pub fn default_name(&self) -> Option<String> {
        match self.name_fault {
            None => Some(self.name.clone()),
            Some(_) => self.proposed_name.clone(),
        }
    }
}

/// Proposes names for the columns whose names are not valid, different from those `taken` and from
/// one another.
fn propose_names(columns: &mut [JoinColumn], mut taken: Vec<String>) {
    for column in columns {
        column.proposed_name = proposed_field_name(&column.name, &taken);
        taken.extend(column.proposed_name.clone());
    }
}

impl JoinPreview {
    /// The calls of the extension `columns` that join the columns for which
    /// `is_included(level, column)` is true, with the proposed type where
    /// `uses_proposed_type(level, column)` is true, under the name `choose_name(level, column)`;
    /// without a name, a column is left out.
    pub fn build_calls(
        &self,
        is_included: impl Fn(usize, &str) -> bool,
        uses_proposed_type: impl Fn(usize, &str) -> bool,
        choose_name: impl Fn(usize, &JoinColumn) -> Option<String>,
    ) -> Vec<ExtensionCall> {
        let mut calls = Vec::new();
        for level in &self.levels {
            let mut chosen = Vec::new();
            let columns = level.columns.iter();
            for column in columns.filter(|column| is_included(level.level, &column.name)) {
                let Some(name) = choose_name(level.level, column) else {
                    continue;
                };
                let proposed_type = column.proposed_type.as_ref();
                chosen.push(ChosenColumn {
                    name,
                    name_in_table: &column.name,
                    new_type: proposed_type
                        .filter(|_| uses_proposed_type(level.level, &column.name)),
                });
            }
            if !chosen.is_empty() {
                calls.push(self.build_call(level.level, &chosen));
            }
        }
        calls
    }

    /// The call that joins these columns to a level.
    fn build_call(&self, level: usize, chosen: &[ChosenColumn<'_>]) -> ExtensionCall {
        let columns = if chosen.iter().all(ChosenColumn::keeps_name_and_type) {
            json!(chosen.iter().map(|column| &column.name).collect::<Vec<_>>())
        } else {
            let options = chosen.iter().map(ChosenColumn::describe_options);
            options.collect::<serde_json::Map<_, _>>().into()
        };
        let options = json!({
            "table": self.table,
            "key": self.key,
            "by": if self.by_path { "path" } else { "id" },
            "columns": columns,
            "missing": "keep",
        });
        ExtensionCall {
            extension: "columns".into(),
            options,
            target: CallTarget {
                level,
                positions: Vec::new(),
            },
            schema_only: false,
        }
    }
}

/// A column to join, with the name and type that it gets.
struct ChosenColumn<'a> {
    name: String,
    name_in_table: &'a str,
    /// The type that its text is read as; `None` keeps the type of the table.
    new_type: Option<&'a ProposedType>,
}

impl ChosenColumn<'_> {
    fn keeps_name_and_type(&self) -> bool {
        self.name == self.name_in_table && self.new_type.is_none()
    }

    /// Its entry in the option `columns`.
    fn describe_options(&self) -> (String, Json) {
        let mut options = match self.new_type {
            Some(new_type) => json!({ "type": new_type.type_name, "lenient": true }),
            None => json!({}),
        };
        if self.name != self.name_in_table {
            options["from"] = json!(self.name_in_table);
        }
        (self.name.clone(), options)
    }
}

/// Computes the preview of a join.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the table cannot be read, is empty, has no
/// usable key column, or has duplicate keys.
pub fn join_preview(
    dataset: &Dataset,
    request: &JoinRequest,
    ctx: &JobContext,
) -> Result<JoinPreview> {
    // The calls state the path as text.
    if request.table.to_str().is_none() {
        return Err(Error::usage("the path of the table is not Unicode")
            .at_path(&request.table)
            .hint("rename the file or its folder"));
    }
    ctx.stage(tr!("Reading the table"), None);
    let keyed = read_for_draft(dataset, request, ctx)?;
    let column_names: Vec<String> = keyed
        .table
        .fields()
        .into_iter()
        .map(|field| field.name)
        .collect();
    ctx.stage(tr!("Looking for the samples"), None);
    let found = match_rows(&dataset.root, &keyed, ctx)?;
    let table = &keyed.table;
    let level_fields = field_names_by_level(&dataset.root);
    let table_fields = table.fields();
    let joined_columns = keyed.columns();
    let levels = found
        .levels
        .iter()
        .enumerate()
        .filter(|(_, level)| level.matched_rows().next().is_some());
    let levels = levels.map(|(level, rows)| {
        let existing = level_fields.get(level);
        let existing_columns: Vec<String> = existing
            .into_iter()
            .flatten()
            .map(|name| (*name).to_owned())
            .collect();
        let mut columns: Vec<JoinColumn> = joined_columns
            .iter()
            .filter_map(|&at| describe_column(table, &table_fields[at], at, rows, existing))
            .collect();
        propose_names(
            &mut columns,
            [column_names.as_slice(), &existing_columns].concat(),
        );
        JoinLevel {
            level,
            samples: rows.samples,
            matched: rows.matched_rows().count(),
            columns,
            first_unmatched: rows.first_unmatched.clone(),
            existing_columns,
        }
    });
    let unmatched_keys = || list_unmatched_keys(&keyed, &found);
    let rows_without_key = table.rows() - keyed.keyed_rows().count();
    Ok(JoinPreview {
        table: request.table.clone(),
        rows: table.rows(),
        by_path: keyed.by_path,
        levels: levels.collect(),
        unmatched: UnmatchedRows {
            count: unmatched_keys().count() + rows_without_key,
            first_keys: unmatched_keys().take(MAX_NAMES).collect(),
        },
        first_rows: keyed
            .keyed_rows()
            .take(PREVIEW_ROWS)
            .map(|(row, key)| JoinRow {
                key: key.to_owned(),
                sample: found.samples[row].clone(),
            })
            .collect(),
        warnings: keyed.warnings.clone(),
        key: keyed.key().to_owned(),
        column_names,
    })
}

/// The column with index `at` of the table; `None` where no row of the level has a value.
fn describe_column(
    table: &LevelTable,
    field: &FieldSpec,
    at: usize,
    rows: &MatchedLevel,
    existing: Option<&HashSet<&str>>,
) -> Option<JoinColumn> {
    let row = rows
        .matched_rows()
        .find(|&row| !table.value(row, at).is_null())?;
    Some(JoinColumn {
        name: field.name.clone(),
        type_name: dtype_name(&field.dtype),
        example: table.text(row, at),
        replaces_column: existing.is_some_and(|names| names.contains(field.name.as_str())),
        name_fault: check_field_name(&field.name)
            .err()
            .map(crate::model::IdFault::localized_text),
        proposed_name: None,
        proposed_type: table
            .strings(&field.name)
            .ok()
            .flatten()
            .filter(|_| field.dtype == DataType::Utf8)
            .and_then(|texts| propose_type(&texts)),
    })
}

/// The keys of the rows that belong to no sample.
fn list_unmatched_keys(keyed: &KeyedTable, found: &MatchedRows) -> impl Iterator<Item = String> {
    keyed
        .keyed_rows()
        .filter(|(row, _)| found.samples[*row].is_none())
        .map(|(_, key)| key.to_owned())
}

/// The rows of a table that belong to the samples of a draft.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchedRows {
    /// One entry for each level.
    pub levels: Vec<MatchedLevel>,
    /// For each row of the table, the path of the first sample that it belongs to.
    pub samples: Vec<Option<String>>,
}

/// The rows of a table that belong to the samples of one level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchedLevel {
    /// The row of each sample, in the order of the level; padding has none.
    pub rows: Vec<Option<usize>>,
    /// True for each sample that is a FOLDER.
    pub folders: Vec<bool>,
    /// Number of samples, without padding.
    pub samples: usize,
    /// Paths of the first samples without a row.
    pub first_unmatched: Vec<String>,
}

impl MatchedLevel {
    /// The rows that belong to samples, in the order of the samples.
    pub fn matched_rows(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().filter_map(|row| *row)
    }
}

/// Finds the row of each sample.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a duplicate key.
pub fn match_rows(root: &Tortilla, table: &KeyedTable, ctx: &JobContext) -> Result<MatchedRows> {
    let rows = table.rows_of_samples(|visit| {
        walk_samples(root, &mut String::new(), 0, ctx, &mut |_, sample, path| {
            if !sample.is_padding() {
                visit(path, &sample.id);
            }
        })
    })?;
    let mut found = MatchedRows {
        levels: Vec::new(),
        samples: vec![None; table.table.rows()],
    };
    walk_samples(
        root,
        &mut String::new(),
        0,
        ctx,
        &mut |level, sample, path| {
            if found.levels.len() <= level {
                found.levels.resize_with(level + 1, MatchedLevel::default);
            }
            let matched = &mut found.levels[level];
            matched.folders.push(sample.children().is_some());
            if sample.is_padding() {
                return matched.rows.push(None);
            }
            matched.samples += 1;
            let row = rows.row_of(path, &sample.id);
            match row {
                Some(row) => {
                    found.samples[row].get_or_insert_with(|| path.to_owned());
                }
                None if matched.first_unmatched.len() < MAX_NAMES => {
                    matched.first_unmatched.push(path.to_owned())
                }
                None => {}
            }
            matched.rows.push(row);
        },
    )?;
    Ok(found)
}

/// The type that most texts can be read as; `None` when they stay text.
fn propose_type(texts: &StringArray) -> Option<ProposedType> {
    let DetectedType {
        dtype,
        values,
        missing,
        lost,
        examples,
        assumes_day_first,
        loses_zeros,
    } = detect_type(texts.iter())?;
    Some(ProposedType {
        type_name: dtype_name(&dtype),
        values,
        nulls: missing + lost,
        lost,
        examples,
        assumes_day_first,
        loses_zeros,
    })
}

/// Reads a table whose key is the column that names most samples of a draft.
///
/// # Errors
/// As [`KeyedTable::read_for_samples`].
pub fn read_for_draft(
    dataset: &Dataset,
    request: &JoinRequest,
    ctx: &JobContext,
) -> Result<KeyedTable> {
    let root = &dataset.root;
    KeyedTable::read_for_samples(
        request,
        &|_| false,
        &|visit| visit_samples(root, ctx, visit),
        ctx,
    )
}

/// Calls `visit(path, id)` for every sample but padding.
fn visit_samples(
    root: &Tortilla,
    ctx: &JobContext,
    visit: &mut dyn FnMut(&str, &str),
) -> Result<()> {
    walk_samples(root, &mut String::new(), 0, ctx, &mut |_, sample, path| {
        if !sample.is_padding() {
            visit(path, &sample.id);
        }
    })
}

/// Calls `visit(level, sample, path)` for every sample, depth first.
fn walk_samples(
    tortilla: &Tortilla,
    path: &mut String,
    level: usize,
    ctx: &JobContext,
    visit: &mut impl FnMut(usize, &Sample, &str),
) -> Result<()> {
    ctx.check()?;
    let above = path.len();
    for sample in &tortilla.samples {
        path.push_str(&sample.id);
        visit(level, sample, path);
        if let Some(children) = sample.children().filter(|_| level + 1 < MAX_LEVELS) {
            path.push('/');
            walk_samples(children, path, level + 1, ctx, visit)?;
        }
        path.truncate(above);
    }
    Ok(())
}

/// Names of the fields of each level.
fn field_names_by_level(root: &Tortilla) -> Vec<HashSet<&str>> {
    fn collect_field_names<'a>(
        tortilla: &'a Tortilla,
        level: usize,
        names: &mut Vec<HashSet<&'a str>>,
    ) {
        if names.len() <= level {
            names.resize_with(level + 1, HashSet::new);
        }
        names[level].extend(tortilla.schema.iter().map(|field| field.name.as_str()));
        if level + 1 < MAX_LEVELS {
            tortilla
                .samples
                .iter()
                .filter_map(Sample::children)
                .for_each(|children| collect_field_names(children, level + 1, names));
        }
    }
    let mut names = Vec::new();
    collect_field_names(root, 0, &mut names);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extensions::{ExtensionRun, builtin, run};
    use crate::model::{Collection, FieldSpec, Value};
    use crate::table::JoinBy;

    fn dataset() -> Dataset {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let scene =
            |id: &str| Sample::new_folder(id, Tortilla::new(vec![file("007"), file("b.tif")]));
        let mut root = Tortilla::new(["one", "two", "three"].map(scene).into());
        root.schema = vec![FieldSpec::new("cloud", DataType::Float64)].into();
        Dataset {
            collection: Collection::default(),
            root: root.into(),
        }
    }

    fn preview_join(
        name: &str,
        content: &str,
        key: Option<&str>,
        by: JoinBy,
    ) -> Result<JoinPreview> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let table = folder.path().join(name);
        std::fs::write(&table, content).expect("writes");
        join_preview(
            &dataset(),
            &JoinRequest {
                table,
                key: key.map(str::to_owned),
                by,
            },
            &JobContext::default(),
        )
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_unicode_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"/data/\xff.csv");
        let request = JoinRequest {
            table: name.into(),
            key: None,
            by: JoinBy::Auto,
        };
        let error = join_preview(&dataset(), &request, &JobContext::default());
        let error = error.expect_err("refused");
        assert_eq!(error.kind(), crate::error::Kind::Usage);
        assert_eq!(error.summary(), "the path of the table is not Unicode");
    }

    #[test]
    fn key_and_kind_are_chosen_by_the_number_of_matches() {
        let found = preview_join(
            "t.csv",
            "nr,scene,cloud\n1,two,3\n2,one,\n3,four,5\n",
            None,
            JoinBy::Auto,
        )
        .expect("looks");
        assert_eq!(
            (found.key.as_str(), found.by_path, found.rows),
            ("scene", true, 3)
        );
        let [level] = found.levels.as_slice() else {
            panic!("{:?}", found.levels)
        };
        assert_eq!((level.level, level.samples, level.matched), (0, 3, 2));
        assert_eq!(level.first_unmatched, ["three"]);
        let columns: Vec<_> = level
            .columns
            .iter()
            .map(|c| (c.name.as_str(), c.example.as_str(), c.replaces_column))
            .collect();
        assert_eq!(columns, [("nr", "2", false), ("cloud", "3", true)]);
        assert_eq!(found.unmatched.count, 1);
        assert_eq!(found.unmatched.first_keys, ["four"]);
        let samples: Vec<_> = found
            .first_rows
            .iter()
            .map(|row| row.sample.as_deref())
            .collect();
        assert_eq!(samples, [Some("two"), Some("one"), None]);
    }

    #[test]
    fn ids_find_every_sample_that_has_them_and_keep_their_zeros() {
        let found = preview_join(
            "t.csv",
            "code;kind\n007;image\nb.tif;label\n",
            None,
            JoinBy::Auto,
        )
        .expect("looks");
        assert_eq!((found.key.as_str(), found.by_path), ("code", false));
        assert_eq!(
            found
                .levels
                .iter()
                .map(|l| (l.level, l.matched))
                .collect::<Vec<_>>(),
            [(1, 6)]
        );
        let found =
            preview_join("t.csv", "path,n\none,1\ntwo/007,2\n", None, JoinBy::Auto).expect("looks");
        assert_eq!(
            found
                .levels
                .iter()
                .map(|l| (l.level, l.matched))
                .collect::<Vec<_>>(),
            [(0, 1), (1, 1)]
        );
    }

    #[test]
    fn the_calls_join_the_previewed_columns() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let table = folder.path().join("t.csv");
        std::fs::write(&table, "path,split,n\none,train,\ntwo/b.tif,,4\n").expect("writes");
        let request = JoinRequest {
            table,
            ..JoinRequest::default()
        };
        let found = join_preview(&dataset(), &request, &JobContext::default()).expect("looks");
        let ExtensionRun { columns, .. } = run(
            &dataset(),
            &found.build_calls(|_, _| true, |_, _| true, |_, column| column.default_name()),
            &builtin(),
            &JobContext::default(),
        )
        .expect("runs");
        let made: Vec<Vec<&str>> = columns
            .iter()
            .map(|level| level.iter().map(|c| c.field.name.as_str()).collect())
            .collect();
        assert_eq!(made, [vec!["split"], vec!["n"]]);
        assert_eq!(
            columns[0][0].values,
            [Value::text("train"), Value::Null, Value::Null]
        );
        assert_eq!(
            columns[1][0]
                .values
                .iter()
                .filter(|value| **value == Value::Int(4))
                .count(),
            1
        );
        assert_eq!(
            found
                .build_calls(
                    |level, _| level == 1,
                    |_, _| true,
                    |_, column| column.default_name()
                )
                .len(),
            1
        );
        assert!(
            found
                .build_calls(|_, _| false, |_, _| true, |_, column| column.default_name())
                .is_empty()
        );
    }

    #[test]
    fn columns_made_by_hand_are_offered_with_a_type_and_with_what_becomes_null() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let table = folder.path().join("t.csv");
        let rows = "id;cover;seen;cloudy;day\none;1.012,5;yes;n/a;2020-02-29\ntwo;n/a;no;a \
            bit;29.03.2020\nthree;7;yes;0,5;20200401\n";
        std::fs::write(&table, rows).expect("writes");
        let request = JoinRequest {
            table,
            ..JoinRequest::default()
        };
        let found = join_preview(&dataset(), &request, &JobContext::default()).expect("looks");
        let proposed: Vec<(&str, &str, usize, usize)> = found.levels[0]
            .columns
            .iter()
            .filter_map(|column| {
                let proposed = column.proposed_type.as_ref()?;
                Some((
                    column.name.as_str(),
                    proposed.type_name.as_str(),
                    proposed.values,
                    proposed.nulls,
                ))
            })
            .collect();
        assert_eq!(
            proposed,
            [
                ("cover", "double", 2, 1),
                ("seen", "bool", 3, 0),
                ("day", "date32[day]", 3, 0)
            ]
        );
        let run_with = |typed: bool| {
            run(
                &dataset(),
                &found.build_calls(|_, _| true, |_, _| typed, |_, column| column.default_name()),
                &builtin(),
                &JobContext::default(),
            )
            .expect("runs")
        };
        let columns = run_with(true).columns.swap_remove(0);
        let of = |name: &str| {
            columns
                .iter()
                .find(|column| column.field.name == name)
                .expect("is there")
        };
        assert_eq!(
            of("cover").values,
            [Value::Float(1012.5), Value::Null, Value::Float(7.0)]
        );
        assert_eq!(
            of("seen").values,
            [Value::Bool(true), Value::Bool(false), Value::Bool(true)]
        );
        assert_eq!(
            of("day").values,
            [Value::Int(18321), Value::Int(18350), Value::Int(18353)]
        );
        assert_eq!(
            of("cloudy").values[1],
            Value::text("a bit"),
            "half of it is text"
        );
        let plain = run_with(false).columns.swap_remove(0);
        assert_eq!(
            plain
                .iter()
                .find(|column| column.field.name == "cover")
                .expect("is there")
                .values[0],
            Value::text("1.012,5")
        );
    }

    #[test]
    fn tables_that_can_not_be_joined_say_why() {
        let said = |content: &str, key| {
            preview_join("t.csv", content, key, JoinBy::Auto)
                .expect_err("refuses")
                .report()
        };
        assert!(said("id,n\none,1\none/,2\n", Some("id")).contains("one twice"));
        assert!(said("id,n\n", None).contains("no rows"));
        assert!(said("id,n\none,1\n", Some("name")).contains("name"));
        assert!(
            preview_join("t.csv", "id,n\nten,1\n", None, JoinBy::Auto)
                .expect("looks")
                .levels
                .is_empty()
        );
    }

    #[test]
    fn columns_with_alike_names_that_are_refused_are_joined_under_different_ones() {
        let dir = tempfile::tempdir().expect("a folder");
        let table = dir.path().join("t.csv");
        std::fs::write(&table, "path,Wolken (%),Wolken [%],wolken\none,1,2,3\n").expect("writes");
        let request = JoinRequest {
            table,
            ..JoinRequest::default()
        };
        let found = join_preview(&dataset(), &request, &JobContext::default()).expect("looks");
        let usual: Vec<Option<String>> = found.levels[0]
            .columns
            .iter()
            .map(JoinColumn::default_name)
            .collect();
        assert_eq!(
            usual,
            ["wolken_2", "wolken_3", "wolken"].map(|name| Some(name.to_owned()))
        );
        let calls = found.build_calls(|_, _| true, |_, _| true, |_, column| column.default_name());
        assert_eq!(
            calls[0].options["columns"]
                .as_object()
                .map(|columns| columns.len()),
            Some(3)
        );
    }

    #[test]
    fn a_column_whose_name_is_refused_is_joined_under_another() {
        let taken: Vec<String> = ["wolken", "Wolken (%)", "id"].map(str::to_owned).to_vec();
        assert_eq!(
            proposed_field_name("Wolken (%)", &[]).as_deref(),
            Some("wolken")
        );
        assert_eq!(
            proposed_field_name("Wolken (%)", &taken).as_deref(),
            Some("wolken_2")
        );
        assert_eq!(
            proposed_field_name("cloud_cover", &taken),
            None,
            "it needs no other"
        );
        assert_eq!(proposed_field_name("%", &taken), None);
        assert_eq!(
            proposed_field_name("path", &taken).as_deref(),
            Some("path_2"),
            "reserved"
        );
        let column = JoinColumn {
            name: "Wolken (%)".into(),
            type_name: "double".into(),
            example: "3".into(),
            replaces_column: false,
            name_fault: Some("…".into()),
            proposed_name: Some("wolken".into()),
            proposed_type: None,
        };
        let level = JoinLevel {
            level: 0,
            samples: 1,
            matched: 1,
            first_unmatched: Vec::new(),
            columns: vec![column],
            existing_columns: Vec::new(),
        };
        let found = JoinPreview {
            table: "t.csv".into(),
            rows: 1,
            key: "id".into(),
            column_names: Vec::new(),
            by_path: false,
            levels: vec![level],
            unmatched: UnmatchedRows::default(),
            warnings: Vec::new(),
            first_rows: Vec::new(),
        };
        let calls = found.build_calls(|_, _| true, |_, _| true, |_, column| column.default_name());
        assert_eq!(
            calls[0].options["columns"],
            json!({ "wolken": { "from": "Wolken (%)" } })
        );
        assert!(
            found
                .build_calls(|_, _| true, |_, _| true, |_, _| None)
                .is_empty()
        );
    }
}
