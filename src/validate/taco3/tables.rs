//! Checks the level tables of TACO 3 as they are stored: columns and types against `taco:metadata`,
//! row numbers, links and paths, and the files of each sample against `taco:structure`.

use std::collections::{HashMap, HashSet};

use arrow::array::Array;
use arrow::datatypes::DataType;
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
    if let Some((one, other)) = contract.as_ref().and_then(MemberContract::names_alike) {
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
        .and_then(MemberContract::count_excess_levels)
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
    let numbered = tables
        .iter()
        .map(|table| (table.name.as_str(), (table, RowsById::from_table(table))))
        .collect();
    let checked = Checked {
        tree: &tree,
        dataset,
        collection,
        tables,
        numbered,
        contract: contract.as_ref(),
    };
    checked.check_names(report);
    for table in tables {
        ctx.check()?;
        checked.check_schema(table, report);
        checked.check_ids(table, report);
        checked.check_links(table, report);
        if table.name == SAMPLE {
            check_sample_ids(table, checked.has_ids(), report)?;
        } else {
            checked.check_structure(table, report);
        }
    }
    Ok(())
}

struct Checked<'a> {
    tree: &'a Skeleton,
    dataset: &'a Taco3Reader,
    collection: &'a Collection,
    tables: &'a [Taco3Table],
    /// The tables by name, with their rows by number.
    numbered: HashMap<&'a str, (&'a Taco3Table, RowsById)>,
    /// None where `taco:structure` is null.
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

impl Checked<'_> {
    /// True for the releases from 0.9, whose samples have ids, and whose row numbers in an index
    /// count all rows.
    fn has_ids(&self) -> bool {
        self.collection.get("dataset_version").is_none()
    }

    /// The tables are those that the collection names.
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
            if !self.numbered.contains_key(name.as_str()) {
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

    /// Columns and types are those of `taco:metadata`.
    fn check_schema(&self, table: &Taco3Table, report: &mut Report) {
        let schema = table.table.schema();
        match &table.stated_level {
            Some(stated) if *stated == table.name => {}
            Some(stated) => {
                let stated = stated.printable_line().to_string();
                let message = tr!(
                    "The schema says taco:level {stated}; the table is the level {name}.",
                    stated,
                    name = table.name.as_str()
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
        let own = self.own_columns(table);
        let wanted = own.iter().copied().chain(
            declared
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str()),
        );
        for name in wanted.filter(|name| schema.field_with_name(name).is_err()) {
            let message = tr!(
                "The column {name} is missing.",
                name = name.printable_line()
            );
            report.add(Rule::Taco3Schema, table_location(table), message);
        }
        for field in schema.fields() {
            let name = field.name();
            let Some(stated) = declared.and_then(|fields| fields.get(name)) else {
                if !own.contains(&name.as_str()) {
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
                let (name, stated) = (
                    name.printable_line().to_string(),
                    stated.printable_line().to_string(),
                );
                let message = tr!(
                    "The column {name} is {found}; taco:metadata says {stated}.",
                    name,
                    found,
                    stated
                );
                report.add(Rule::Taco3Schema, table_location(table), message);
            }
        }
    }

    /// Columns that every table of this kind has.
    fn own_columns(&self, table: &Taco3Table) -> Vec<&'static str> {
        let is_sample = table.name == SAMPLE;
        let has_ranges = (!is_sample || self.dataset.is_flat()) && !self.dataset.is_folder();
        let mut names = vec!["internal:current_id", "internal:relative_path"];
        names.extend((!is_sample).then_some("internal:parent_id"));
        names.extend(
            has_ranges
                .then_some(["internal:offset", "internal:size"])
                .into_iter()
                .flatten(),
        );
        names.extend((is_sample && self.has_ids()).then_some("id"));
        names.extend(self.dataset.parts_folder().map(|_| "internal:source_file"));
        names
    }

    /// `internal:current_id` is the number of the row: in its archive up to release 0.8.2, in the
    /// table from 0.9.
    fn check_ids(&self, table: &Taco3Table, report: &mut Report) {
        let mut counts: HashMap<&str, i64> = HashMap::new();
        let mut bad = BadRows::default();
        let counts_all = self.has_ids();
        for (row, id) in table.ids.iter().enumerate() {
            let source = if counts_all { "" } else { table.source(row) };
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

    /// Parents exist, and paths are those of the parents and a name.
    fn check_links(&self, table: &Taco3Table, report: &mut Report) {
        let (mut orphans, mut elsewhere) = (BadRows::default(), BadRows::default());
        let mut counts: HashMap<&str, u64> = HashMap::new();
        let above = self.numbered.get(table_above(&table.name));
        // A table of a folder belongs to the rows of that name.
        let folder = table.name.rsplit_once('/').map(|(_, folder)| folder);
        for (row, path) in table.paths.iter().enumerate() {
            if table.name == SAMPLE {
                let number = counts.entry(table.source(row)).or_default();
                if *path != number.to_string() {
                    elsewhere.add(row);
                }
                *number += 1;
                continue;
            }
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
            let is_in_folder = folder.is_none_or(|folder| name_of(&above.paths[parent]) == folder);
            if !is_of_parent || !is_in_folder {
                elsewhere.add(row);
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
        if elsewhere.count > 0 {
            let message = tr_n!(
                elsewhere.count,
                "internal:relative_path of {n} row is not that of its parent and a name, or of a \
                    sample not its number (row {first}).",
                "internal:relative_path of {n} rows is not that of the parent and a name, or of a \
                    sample not its number (first row {first}).",
                n = elsewhere.count,
                first = elsewhere.first
            );
            report.add(Rule::Taco3Path, table_location(table), message);
        }
    }

    /// The rows of each parent are the members of the contract, in its order.
    fn check_structure(&self, table: &Taco3Table, report: &mut Report) {
        let Some(members) = self
            .contract
            .and_then(|contract| contract.members(&table.name))
        else {
            return;
        };
        // Rows of one parent are next to each other in nearly all tables: already sorted.
        let mut rows: Vec<(&str, i64, usize)> = (0..table.paths.len())
            .map(|row| (table.source(row), table.parents[row], row))
            .collect();
        rows.sort();
        let mut groups: Vec<(&str, i64)> = rows
            .iter()
            .map(|&(source, parent, _)| (source, parent))
            .collect();
        // Parents without a row may lack members too.
        let folder = table.name.rsplit_once('/').map(|(_, folder)| folder);
        for above in self
            .tables
            .iter()
            .filter(|above| above.name == table_above(&table.name))
        {
            let of_folder = (0..above.ids.len())
                .filter(|&row| folder.is_none_or(|folder| name_of(&above.paths[row]) == folder));
            groups.extend(of_folder.map(|row| (above.source(row), above.ids[row])));
        }
        groups.sort();
        groups.dedup();
        let samples = self
            .numbered
            .get(SAMPLE)
            .filter(|_| table_above(&table.name) == SAMPLE);
        let mut rest = rows.as_slice();
        let mut names: Vec<&str> = Vec::new();
        for (source, parent) in groups {
            let (own, others) = rest.split_at(
                rest.iter()
                    .take_while(|(of, number, _)| (*of, *number) == (source, parent))
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
            let of = if source.is_empty() {
                parent.to_string()
            } else {
                format!("{source}: {parent}")
            };
            let of = of.printable_line().to_string();
            let message = match mismatch {
                Mismatch::Missing(name) => {
                    tr!(
                        "Parent {of} has no {name}, which taco:structure lists.",
                        of,
                        name = name.printable_line()
                    )
                }
                Mismatch::Unexpected(name) => {
                    tr!(
                        "Parent {of} has {name}, which taco:structure does not have there.",
                        of,
                        name = name.printable_line()
                    )
                }
                Mismatch::Count { pattern, found } => {
                    tr!(
                        "Parent {of} has {found} files of {pattern}.",
                        of,
                        found,
                        pattern = pattern.printable_line()
                    )
                }
            };
            report.add(Rule::Taco3Contract, at, message);
        }
    }
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Ids of samples are there and each once, over all archives of an index.
fn check_sample_ids(table: &Taco3Table, has_ids: bool, report: &mut Report) -> Result<()> {
    let Some(ids) = table.table.strings("id")?.filter(|_| has_ids) else {
        return Ok(());
    };
    let mut known: HashSet<&str> = HashSet::with_capacity(ids.len());
    let (mut without, mut twice) = (BadRows::default(), BadRows::default());
    for row in 0..ids.len() {
        if !ids.is_valid(row) || ids.value(row).is_empty() {
            without.add(row);
        } else if !known.insert(ids.value(row)) {
            twice.add(row);
        }
    }
    if without.count > 0 {
        let message = tr_n!(
            without.count,
            "{n} sample has no id (row {first}).",
            "{n} samples have no id (first row {first}).",
            n = without.count,
            first = without.first
        );
        report.add(Rule::Taco3SampleId, table_location(table), message);
    }
    if twice.count > 0 {
        let id = ids.value(twice.first).printable_line().to_string();
        let message = tr_n!(
            twice.count,
            "{n} sample has the id of another one (row {first}: {id}).",
            "{n} samples have the ids of others (first row {first}: {id}).",
            n = twice.count,
            first = twice.first,
            id
        );
        report.add(Rule::Taco3SampleId, table_location(table), message);
    }
    Ok(())
}

/// The type in the words of `taco:metadata`; of a dictionary, that of its values.
fn type_text(dtype: &DataType) -> String {
    match dtype {
        DataType::Dictionary(_, values) => type_text(values),
        DataType::Utf8View => "string".to_owned(),
        DataType::BinaryView => "binary".to_owned(),
        dtype => taco3_type(dtype).unwrap_or_else(|| dtype.to_string()),
    }
}

/// A type without marks of nulls, which differ between releases, and without spaces. Large texts,
/// binaries and lists hold what the others hold, and are read as them.
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
    fn types_have_the_words_of_the_collection() {
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
    fn names_are_the_last_part_of_a_path() {
        assert_eq!(
            ["3/after/image.tif", "3/after/", "3"].map(name_of),
            ["image.tif", "after", "3"]
        );
    }
}
