//! Column union of several datasets, with a record of dropped and filled columns.

use std::fmt;

use arrow::datatypes::{DataType, Field, Schema};

use crate::container::merge_collections::compare_columns;
use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::exact_type;

/// How columns that not every dataset has are combined.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JoinMode {
    /// Drop them, and columns whose types have no common type.
    #[default]
    Intersection,
    /// Keep them; they are null for datasets without the column.
    FillMissing,
    /// Fail on them, and on any difference of types.
    Strict,
}

/// A column that is missing in a dataset or differs in type.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct JoinedColumnChange {
    /// Its level.
    pub level: usize,
    /// Its name.
    pub column: String,
    /// True when dropped; false when filled with nulls.
    pub dropped: bool,
    /// The datasets without the column.
    pub lacking: Vec<String>,
    /// Both types, when it was dropped because of them.
    pub types: Option<(String, String)>,
}

impl fmt::Display for JoinedColumnChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            level,
            column,
            dropped,
            lacking,
            types,
        } = self;
        if let Some((one, other)) = types {
            return write!(
                f,
                "{column} of level{level} is left out: it is {one} in one dataset and {other} in \
                    another"
            );
        }
        let names: Vec<&str> = lacking.iter().take(4).map(String::as_str).collect();
        let names = names.join(", ") + if lacking.len() > 4 { ", …" } else { "" };
        if *dropped {
            write!(f, "{column} of level{level} is left out: not in {names}")
        } else {
            write!(
                f,
                "{column} of level{level} is null for {names}, which lacks it"
            )
        }
    }
}

/// Column input of [`join_columns`]: the level tables' schemas of one dataset.
pub struct SourceColumns {
    /// Name of the dataset in messages.
    pub name: String,
    /// Level 0 first.
    pub levels: Vec<Schema>,
}

/// The united columns of each level without `internal:*`: `id`, `type`, the others by name. Types
/// of the same family are widened. Also returns what was changed.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) with [`JoinMode::Strict`] or
/// [`JoinMode::FillMissing`] when types do not match, and
/// [`Kind::Format`](crate::error::Kind::Format) when `id` or `type` is missing.
pub fn join_columns(
    sources: &[&SourceColumns],
    mode: JoinMode,
) -> Result<(Vec<Schema>, Vec<JoinedColumnChange>)> {
    let (mut changes, mut faults) = (Vec::new(), Vec::new());
    let count = sources.first().map_or(0, |source| source.levels.len());
    let mut levels = Vec::with_capacity(count);
    for level in 0..count {
        let mut names: Vec<&str> = Vec::new();
        for field in sources
            .iter()
            .filter_map(|source| source.levels.get(level))
            .flat_map(|schema| schema.fields())
        {
            if !names.contains(&field.name().as_str()) {
                names.push(field.name());
            }
        }
        names.retain(|name| !name.starts_with("internal:"));
        for mandatory in ["id", "type"] {
            if let Some(source) = sources
                .iter()
                .find(|source| find_field(source, level, mandatory).is_none())
            {
                return Err(Error::format(format!(
                    "level{level} of {} has no column {mandatory}",
                    source.name
                )));
            }
        }
        names.sort_by(|a, b| compare_columns(a, b));
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            if matches!(name, "id" | "type") {
                fields.push(Field::new(name, DataType::Utf8, true));
            } else if let Some(field) =
                join_field(sources, level, name, mode, &mut changes, &mut faults)
            {
                fields.push(field);
            }
        }
        levels.push(Schema::new(fields));
    }
    let Some(first) = faults.first() else {
        return Ok((levels, changes));
    };
    let error = match faults.len() {
        1 => Error::invalid(first),
        count => {
            let error = Error::invalid(format!("the datasets differ in {count} ways; {first}"));
            faults.iter().skip(1).fold(error, Error::hint)
        }
    };
    Err(error.hint(match mode {
        JoinMode::Strict => {
            "leave such columns out (--mode intersection) or fill them (--mode fill-missing)"
        }
        _ => "leave such columns out: --mode intersection",
    }))
}

fn find_field<'a>(source: &'a SourceColumns, level: usize, name: &str) -> Option<&'a Field> {
    source.levels.get(level)?.field_with_name(name).ok()
}

/// The column `name` of the joined level; `None` when it is left out. What the mode refuses is
/// added to `faults`.
fn join_field(
    sources: &[&SourceColumns],
    level: usize,
    name: &str,
    mode: JoinMode,
    changes: &mut Vec<JoinedColumnChange>,
    faults: &mut Vec<String>,
) -> Option<Field> {
    // The first dataset with the column, and the type that all datasets so far can be read as.
    let mut found: Option<(&str, DataType)> = None;
    let mut lacking = Vec::new();
    // One fault for each other type.
    let mut other_types: Vec<&DataType> = Vec::new();
    for source in sources {
        let Some(field) = find_field(source, level, name) else {
            lacking.push(source.name.clone());
            continue;
        };
        let dtype = field.data_type();
        let Some((first, joined_type)) = found.take() else {
            found = Some((&source.name, dtype.clone()));
            continue;
        };
        let common_type = if mode == JoinMode::Strict {
            (joined_type == *dtype).then(|| joined_type.clone())
        } else {
            exact_type(&joined_type, dtype)
        };
        if let Some(common_type) = common_type {
            found = Some((first, common_type));
            continue;
        }
        let types = (dtype_name(&joined_type), dtype_name(dtype));
        if mode == JoinMode::Intersection {
            let column = name.to_owned();
            changes.push(JoinedColumnChange {
                level,
                column,
                dropped: true,
                lacking: Vec::new(),
                types: Some(types),
            });
            return None;
        }
        if !other_types.contains(&dtype) {
            other_types.push(dtype);
            faults.push(format!(
                "column {name} of level{level} is {} in {first} and {} in {}",
                types.0, types.1, source.name
            ));
        }
        found = Some((first, joined_type));
    }
    let (_, dtype) = found?;
    if lacking.is_empty() {
        return Some(Field::new(name, dtype, true));
    }
    if mode == JoinMode::Strict {
        let message = format!(
            "{} has no column {name} in level{level}, which other datasets have",
            lacking.join(", ")
        );
        faults.push(message);
        return None;
    }
    let dropped = mode == JoinMode::Intersection;
    changes.push(JoinedColumnChange {
        level,
        column: name.to_owned(),
        dropped,
        lacking,
        types: None,
    });
    (!dropped).then(|| Field::new(name, dtype, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, columns: &[(&str, DataType)]) -> SourceColumns {
        let fixed = [("id", DataType::Utf8), ("type", DataType::LargeUtf8)];
        let fields = fixed
            .iter()
            .chain(columns)
            .map(|(name, dtype)| Field::new(*name, dtype.clone(), true));
        SourceColumns {
            name: name.into(),
            levels: vec![Schema::new(fields.collect::<Vec<_>>())],
        }
    }

    fn names(levels: &[Schema]) -> Vec<&str> {
        levels[0]
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect()
    }

    #[test]
    fn each_mode_reports_its_changes() {
        let a = source(
            "a",
            &[
                ("only_a", DataType::Utf8),
                ("both", DataType::Int32),
                ("internal:size", DataType::Int64),
            ],
        );
        let b = source(
            "b",
            &[("both", DataType::Int64), ("only_b", DataType::Utf8)],
        );
        let both = [&a, &b];
        let (levels, changes) = join_columns(&both, JoinMode::Intersection).expect("joins");
        assert_eq!(names(&levels), ["id", "type", "both"]);
        assert_eq!(levels[0].field(2).data_type(), &DataType::Int64);
        let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "only_a of level0 is left out: not in b",
                "only_b of level0 is left out: not in a"
            ]
        );
        let (levels, changes) = join_columns(&both, JoinMode::FillMissing).expect("joins");
        assert_eq!(names(&levels), ["id", "type", "both", "only_a", "only_b"]);
        assert!(
            changes.len() == 2
                && changes[0].to_string() == "only_a of level0 is null for b, which lacks it"
        );
        let error = join_columns(&both, JoinMode::Strict)
            .expect_err("differ")
            .to_string();
        assert!(
            error.contains("both") && error.contains("int32") && error.contains("int64"),
            "{error}"
        );
    }

    #[test]
    fn types_that_nothing_holds_together_are_named() {
        let (a, b) = (
            source("a", &[("x", DataType::Utf8)]),
            source("b", &[("x", DataType::Int64)]),
        );
        let both = [&a, &b];
        let (levels, changes) = join_columns(&both, JoinMode::Intersection).expect("joins");
        assert_eq!(names(&levels), ["id", "type"]);
        assert!(
            changes[0]
                .to_string()
                .contains("string in one dataset and int64 in another"),
            "{}",
            changes[0]
        );
        let error = join_columns(&both, JoinMode::FillMissing)
            .expect_err("differ")
            .to_string();
        assert!(error.contains("string in a and int64 in b"), "{error}");
    }

    #[test]
    fn strict_names_every_difference() {
        let a = source(
            "a",
            &[("only_a", DataType::Utf8), ("both", DataType::Int32)],
        );
        let b = source(
            "b",
            &[("both", DataType::Int64), ("only_b", DataType::Utf8)],
        );
        let c = source(
            "c",
            &[("both", DataType::Int64), ("only_b", DataType::Utf8)],
        );
        let report = join_columns(&[&a, &b, &c], JoinMode::Strict)
            .expect_err("differ")
            .report();
        assert!(report.contains("differ in 3 ways"), "{report}");
        assert!(
            report.contains("b, c has no column only_a")
                && report.contains("a has no column only_b"),
            "{report}"
        );
        assert_eq!(
            report
                .matches("both of level0 is int32 in a and int64 in b")
                .count(),
            1,
            "{report}"
        );
        let one = join_columns(
            &[&b, &source("d", &[("both", DataType::Int64)])],
            JoinMode::Strict,
        )
        .expect_err("differ");
        assert!(
            one.summary().contains("only_b"),
            "a single difference is the summary: {}",
            one.report()
        );
    }
}
