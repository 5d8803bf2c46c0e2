//! Checks the level tables of TACO 3 as they are stored: columns and types against `taco:metadata`,
//! row numbers, links and paths, and the files of each sample against `taco:structure`.

use std::collections::{HashMap, HashSet};

use arrow::array::Array;
use arrow::datatypes::{DataType, Schema};
use serde_json::Value as Json;

use super::contract::{MemberContract, Mismatch, compare};
use crate::container::{ContainerReader, RowsById, Taco3Reader, Taco3Table, table_above};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Collection, Location, MAX_LEVELS, Report, Rule, Skeleton, taco3_type};
use crate::text::PrintableLine;

const SAMPLE: &str = "sample";

/// Checks all tables.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub(super) fn check(
    dataset: &Taco3Reader,
    collection: &Collection,
    tables: &[Taco3Table],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    ctx.stage(tr!("Checking the levels"), None);
    let structure = collection.get("taco:structure").and_then(Json::as_array);
    let contract =
        structure.map(|files| MemberContract::from_paths(files.iter().filter_map(Json::as_str)));
    if let Some((one, other)) = contract.as_ref().and_then(MemberContract::find_names_alike) {
        let (one, other) = (
            one.printable_line().to_string(),
            other.printable_line().to_string(),
        );
        let message = tr!(
            "{one} and {other} differ in case alone, and are one file on some systems.",
            one,
            other
        );
        report.add(
            Rule::Taco3Collection,
            Location::Collection("taco:structure".into()),
            message,
        );
    }
    if let Some(levels) = contract
        .as_ref()
        .and_then(MemberContract::levels_of_too_deep_path)
    {
        let message = tr!(
            "The dataset is {levels} levels deep; {limit} is the limit.",
            levels,
            limit = MAX_LEVELS
        );
        report.add(
            Rule::Taco3Collection,
            Location::Collection("taco:structure".into()),
            message,
        );
    }
    let tree = dataset.levels().skeleton(ctx)?;
    let tables_by_name = tables
        .iter()
        .map(|table| (table.name.as_str(), (table, RowsById::from_table(table))))
        .collect();
    let checks = TableChecks {
        tree: &tree,
        dataset,
        collection,
        tables,
        tables_by_name,
        contract: contract.as_ref(),
    };
    checks.check_names(report);
    for table in tables {
        ctx.check()?;
        checks.check_schema(table, report);
        checks.check_row_numbers(table, report);
        if table.name == SAMPLE {
            check_sample_paths(table, report);
            if checks.is_from_0_9() {
                check_sample_ids(table, report)?;
            }
        } else {
            checks.check_links(table, report);
            checks.check_structure(table, report);
        }
    }
    Ok(())
}

/// The checks of each table, with what they compare it with.
struct TableChecks<'a> {
    tree: &'a Skeleton,
    dataset: &'a Taco3Reader,
    collection: &'a Collection,
    tables: &'a [Taco3Table],
    /// The tables by name, each with its rows by `internal:current_id`.
    tables_by_name: HashMap<&'a str, (&'a Taco3Table, RowsById)>,
    /// `None` where `taco:structure` is null: each sample is one file.
    contract: Option<&'a MemberContract>,
}

/// The rows of a table that break a rule.
#[derive(Default)]
struct BadRows {
    count: u64,
    first: usize,
}

impl BadRows {
    fn add(&mut self, row: usize) {
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
    }
}

fn table_location(table: &Taco3Table) -> Location {
    Location::Member(table.member.printable_line().to_string())
}

impl TableChecks<'_> {
    /// True for a dataset of release 0.9 or later, which writes no `dataset_version`. Its samples
    /// have ids, and the row numbers of an index run over all archives.
    fn is_from_0_9(&self) -> bool {
        self.collection.get("dataset_version").is_none()
    }

    /// Checks that the tables are those that the collection names.
    fn check_names(&self, report: &mut Report) {
        let mut wanted = vec![SAMPLE.to_owned()];
        wanted.extend(self.contract.into_iter().flat_map(MemberContract::tables));
        let known: HashSet<&str> = wanted.iter().map(String::as_str).collect();
        let declared = self
            .collection
            .get("taco:metadata")
            .and_then(Json::as_object);
        for name in declared.into_iter().flatten().map(|(name, _)| name) {
            if !known.contains(name.as_str()) {
                let message = tr!(
                    "taco:metadata has the level {name}, which taco:structure does not have.",
                    name = name.printable_line()
                );
                report.add(
                    Rule::Taco3Collection,
                    Location::Collection("taco:metadata".into()),
                    message,
                );
            }
        }
        for name in &wanted {
            if !self.tables_by_name.contains_key(name.as_str()) {
                let message = tr!(
                    "The level {name} has no table.",
                    name = name.printable_line()
                );
                report.add(Rule::Taco3Collection, Location::Dataset, message);
            }
        }
        for table in self
            .tables
            .iter()
            .filter(|table| !known.contains(table.name.as_str()))
        {
            report.add(
                Rule::Taco3Collection,
                table_location(table),
                tr!("taco:structure has no level of this name."),
            );
        }
    }

    /// Checks that the columns of a table and their types are those of `taco:metadata`.
    fn check_schema(&self, table: &Taco3Table, report: &mut Report) {
        let schema = table.table.schema();
        match &table.stated_level {
            Some(stated) if *stated == table.name => {}
            Some(stated) => {
                let stated = stated.printable_line().to_string();
                let message = tr!(
                    "The schema says taco:level {stated}; the table is the level {name}.",
                    stated,
                    name = table.name.printable_line()
                );
                report.add(Rule::Taco3Schema, table_location(table), message);
            }
            None => report.add(
                Rule::Taco3Schema,
                table_location(table),
                tr!("The schema has no taco:level."),
            ),
        }
        let levels = self
            .collection
            .get("taco:metadata")
            .and_then(Json::as_object);
        let declared = levels
            .and_then(|levels| levels.get(&table.name))
            .and_then(Json::as_object);
        let required = self.required_columns(table);
        let names = declared.into_iter().flatten();
        let names = names.map(|(name, _)| name.as_str());
        for name in missing_columns(&required, names, schema) {
            let message = tr!(
                "The column {name} is missing.",
                name = name.printable_line()
            );
            report.add(Rule::Taco3Schema, table_location(table), message);
        }
        for field in schema.fields() {
            let name = field.name();
            let Some(stated) = declared.and_then(|fields| fields.get(name)) else {
                if !required.contains(&name.as_str()) {
                    let message = tr!(
                        "taco:metadata does not have the column {name}.",
                        name = name.printable_line()
                    );
                    report.add(Rule::Taco3Schema, table_location(table), message);
                }
                continue;
            };
            let (stated, found) = (
                stated
                    .get("type")
                    .and_then(Json::as_str)
                    .unwrap_or_default(),
                type_text(field.data_type()),
            );
            if plain_type(stated) != plain_type(&found) {
                let message = tr!(
                    "The column {name} is {found}; taco:metadata says {stated}.",
                    name = name.printable_line(),
                    found = found.printable_line(),
                    stated = stated.printable_line()
                );
                report.add(Rule::Taco3Schema, table_location(table), message);
            }
        }
    }

    /// The columns that a table must have besides those of `taco:metadata`.
    fn required_columns(&self, table: &Taco3Table) -> Vec<&'static str> {
        let is_sample = table.name == SAMPLE;
        // A sample is a folder, which has no bytes, unless the dataset is flat.
        let has_ranges = (!is_sample || self.dataset.is_flat()) && !self.dataset.is_folder();
        let mut names = vec!["internal:current_id", "internal:relative_path"];
        names.extend((!is_sample).then_some("internal:parent_id"));
        names.extend(
            has_ranges
                .then_some(["internal:offset", "internal:size"])
                .into_iter()
                .flatten(),
        );
        names.extend((is_sample && self.is_from_0_9()).then_some("id"));
        names.extend(self.dataset.parts_folder().map(|_| "internal:source_file"));
        names
    }

    /// Checks that `internal:current_id` is the number of the row: in its archive up to release
    /// 0.8.2, in the table from 0.9.
    fn check_row_numbers(&self, table: &Taco3Table, report: &mut Report) {
        let mut counts: HashMap<&str, i64> = HashMap::new();
        let mut bad = BadRows::default();
        let counts_all_archives = self.is_from_0_9();
        for (row, id) in table.ids.iter().enumerate() {
            let source = if counts_all_archives {
                ""
            } else {
                table.source(row)
            };
            let next = counts.entry(source).or_default();
            if *id != *next {
                bad.add(row);
            }
            *next += 1;
        }
        if bad.count > 0 {
            let message = tr_n!(
                bad.count,
                "internal:current_id of {n} row is not its number (row {first}).",
                "internal:current_id of {n} rows is not their number (first row {first}).",
                n = bad.count,
                first = bad.first
            );
            report.add(Rule::Taco3RowId, table_location(table), message);
        }
    }

    /// Checks that each row has a parent in the table above, and that its path is that of the
    /// parent and a name.
    fn check_links(&self, table: &Taco3Table, report: &mut Report) {
        let (mut orphans, mut misplaced) = (BadRows::default(), BadRows::default());
        let above = self.tables_by_name.get(table_above(&table.name));
        for (row, path) in table.paths.iter().enumerate() {
            let parent = above.and_then(|(above, rows)| {
                Some((
                    above,
                    rows.get(table.source(row), table.parents[row])? as usize,
                ))
            });
            let Some((above, parent)) = parent else {
                orphans.add(row);
                continue;
            };
            let name = path
                .strip_prefix(above.paths[parent].trim_end_matches('/'))
                .and_then(|rest| rest.strip_prefix('/'));
            let is_of_parent = name
                .is_some_and(|name| !name.is_empty() && !name.trim_end_matches('/').contains('/'));
            if !is_of_parent || !has_table_of_members(&above.paths[parent], table) {
                misplaced.add(row);
            }
        }
        if orphans.count > 0 {
            let message = tr_n!(
                orphans.count,
                "internal:parent_id of {n} row leads to no row of the level above (row {first}).",
                "internal:parent_id of {n} rows leads to no row of the level above (first row \
                    {first}).",
                n = orphans.count,
                first = orphans.first
            );
            report.add(Rule::ParentLink, table_location(table), message);
        }
        if misplaced.count > 0 {
            let message = tr_n!(
                misplaced.count,
                "internal:relative_path of {n} row is not the path of its parent and a name (row \
                    {first}).",
                "internal:relative_path of {n} rows is not the path of the parent and a name \
                    (first row {first}).",
                n = misplaced.count,
                first = misplaced.first
            );
            report.add(Rule::Taco3Path, table_location(table), message);
        }
    }

    /// Checks that the rows of each parent are the members that `taco:structure` lists for its
    /// folder, in that order.
    fn check_structure(&self, table: &Taco3Table, report: &mut Report) {
        let Some(members) = self
            .contract
            .and_then(|contract| contract.members(&table.name))
        else {
            return;
        };
        // Sorting is cheap: in nearly all tables the rows of one parent follow one another already.
        let mut rows: Vec<(&str, i64, usize)> = (0..table.paths.len())
            .map(|row| (table.source(row), table.parents[row], row))
            .collect();
        rows.sort();
        let mut groups: Vec<(&str, i64)> = rows
            .iter()
            .map(|&(source, parent, _)| (source, parent))
            .collect();
        // A parent without rows lacks all of its members.
        let above = self.tables_by_name.get(table_above(&table.name));
        if let Some((above, _)) = above {
            let parents =
                (0..above.ids.len()).filter(|&row| has_table_of_members(&above.paths[row], table));
            groups.extend(parents.map(|row| (above.source(row), above.ids[row])));
        }
        groups.sort();
        groups.dedup();
        let samples = above.filter(|(above, _)| above.name == SAMPLE);
        let mut rest = rows.as_slice();
        let mut names: Vec<&str> = Vec::new();
        for (source, parent) in groups {
            let (own, others) = rest.split_at(
                rest.iter()
                    .take_while(|(of_source, number, _)| (*of_source, *number) == (source, parent))
                    .count(),
            );
            rest = others;
            names.clear();
            names.extend(own.iter().map(|&(_, _, row)| name_of(&table.paths[row])));
            let Err(mismatch) = compare(members, &names) else {
                continue;
            };
            let sample = samples.and_then(|(_, rows)| rows.get(source, parent));
            let at = sample.map_or_else(
                || table_location(table),
                |row| Location::Sample {
                    level: 0,
                    row,
                    path: self.tree.path(0, row),
                },
            );
            let parent = if source.is_empty() {
                parent.to_string()
            } else {
                format!("{source}: {parent}")
            };
            let parent = parent.printable_line().to_string();
            let message = match mismatch {
                Mismatch::Missing(name) => {
                    tr!(
                        "Parent {parent} has no {name}, which taco:structure lists.",
                        parent,
                        name = name.printable_line()
                    )
                }
                Mismatch::Unexpected(name) => {
                    tr!(
                        "Parent {parent} has {name}, which taco:structure does not have there.",
                        parent,
                        name = name.printable_line()
                    )
                }
                Mismatch::Count { pattern, found } => {
                    tr!(
                        "Parent {parent} has {found} files of {pattern}, which taco:structure \
                            does not allow.",
                        parent,
                        found,
                        pattern = pattern.printable_line()
                    )
                }
            };
            report.add(Rule::Taco3Contract, at, message);
        }
    }
}

/// The columns that are required or declared and that a table lacks, each once.
fn missing_columns<'a>(
    required: &[&'a str],
    declared: impl Iterator<Item = &'a str>,
    schema: &Schema,
) -> Vec<&'a str> {
    let declared = declared.filter(|name| !required.contains(name));
    let wanted = required.iter().copied().chain(declared);
    wanted
        .filter(|name| schema.field_with_name(name).is_err())
        .collect()
}

/// True when `table`, one below the table of a row, has the members of the row with this path:
/// `children` has the members of all samples, `children/before` those of all folders `before`.
fn has_table_of_members(path: &str, table: &Taco3Table) -> bool {
    table
        .name
        .rsplit_once('/')
        .is_none_or(|(_, folder)| name_of(path) == folder)
}

/// Checks that the path of each sample is its number in its archive.
fn check_sample_paths(table: &Taco3Table, report: &mut Report) {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let mut bad = BadRows::default();
    for (row, path) in table.paths.iter().enumerate() {
        let number = counts.entry(table.source(row)).or_default();
        if *path != number.to_string() {
            bad.add(row);
        }
        *number += 1;
    }
    if bad.count > 0 {
        let message = tr_n!(
            bad.count,
            "internal:relative_path of {n} sample is not its number (row {first}).",
            "internal:relative_path of {n} samples is not their number (first row {first}).",
            n = bad.count,
            first = bad.first
        );
        report.add(Rule::Taco3Path, table_location(table), message);
    }
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Checks that every sample has an id that no other sample of any archive has. That the column is
/// missing is found by the check of the schema.
fn check_sample_ids(table: &Taco3Table, report: &mut Report) -> Result<()> {
    let Some(ids) = table.table.strings("id")? else {
        return Ok(());
    };
    let mut known: HashSet<&str> = HashSet::with_capacity(ids.len());
    let (mut without_id, mut repeated) = (BadRows::default(), BadRows::default());
    for row in 0..ids.len() {
        if !ids.is_valid(row) || ids.value(row).is_empty() {
            without_id.add(row);
        } else if !known.insert(ids.value(row)) {
            repeated.add(row);
        }
    }
    if without_id.count > 0 {
        let message = tr_n!(
            without_id.count,
            "{n} sample has no id (row {first}).",
            "{n} samples have no id (first row {first}).",
            n = without_id.count,
            first = without_id.first
        );
        report.add(Rule::Taco3SampleId, table_location(table), message);
    }
    if repeated.count > 0 {
        let id = ids.value(repeated.first).printable_line().to_string();
        let message = tr_n!(
            repeated.count,
            "{n} sample has the id of another one (row {first}: {id}).",
            "{n} samples have the ids of others (first row {first}: {id}).",
            n = repeated.count,
            first = repeated.first,
            id
        );
        report.add(Rule::Taco3SampleId, table_location(table), message);
    }
    Ok(())
}

/// The type as `taco:metadata` writes it; of a dictionary, that of its values.
fn type_text(dtype: &DataType) -> String {
    match dtype {
        DataType::Dictionary(_, values) => type_text(values),
        DataType::Utf8View => "string".to_owned(),
        DataType::BinaryView => "binary".to_owned(),
        dtype => taco3_type(dtype).unwrap_or_else(|| dtype.to_string()),
    }
}

/// A type in the form in which types are compared: without marks of nulls, which differ between
/// releases, without spaces, and without `large_`, as the values are the same.
fn plain_type(text: &str) -> String {
    text.replace('?', "")
        .replace("not null", "")
        .replace("large_", "")
        .split_whitespace()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, TimeUnit};

    use super::*;

    #[test]
    fn types_are_written_as_in_the_collection() {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Float64, true)));
        let pair = DataType::Struct(
            vec![
                Field::new("lon", DataType::Float32, false),
                Field::new("lat", list.clone(), true),
            ]
            .into(),
        );
        for (dtype, text) in [
            (list, "list<double>"),
            (pair, "struct<lon: float, lat: list<double>?>"),
            (
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                "timestamp[us, UTC]",
            ),
            (
                DataType::Timestamp(TimeUnit::Microsecond, None),
                "timestamp[us]",
            ),
            (DataType::Decimal128(38, 9), "decimal128(38, 9)"),
            (DataType::Int64, "int64"),
            (DataType::UInt8, "uint8"),
            (
                DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int16, true)), 3),
                "fixed_size_list<int16, 3>",
            ),
        ] {
            assert_eq!(plain_type(&type_text(&dtype)), plain_type(text));
        }
        assert_eq!(
            plain_type(&type_text(&DataType::Duration(TimeUnit::Microsecond))),
            "duration[us]"
        );
        assert_eq!(
            plain_type(&type_text(&DataType::Utf8)),
            plain_type("large_string")
        );
        assert_ne!(plain_type("list<double>"), plain_type("list<float>"));
    }

    #[test]
    fn a_column_is_missing_once() {
        let schema = Schema::new(vec![Field::new("cloud", DataType::Int64, true)]);
        let declared = ["id", "cloud", "sensor"].into_iter();
        assert_eq!(
            missing_columns(&["internal:current_id", "id"], declared, &schema),
            ["internal:current_id", "id", "sensor"]
        );
    }

    #[test]
    fn the_name_of_a_member_is_the_last_part_of_its_path() {
        assert_eq!(
            ["3/after/image.tif", "3/after/", "3"].map(name_of),
            ["image.tif", "after", "3"]
        );
    }
}
