//! Checks required columns of every level (TACO 2.0, section 8.3), and compares `taco:pit_schema`
//! and `taco:field_schema` with the levels.

use std::collections::HashSet;

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use crate::container::{ContainerReader, Format, Physical};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{
    FieldSpec, Finding, Location, PitPattern, PitSchema, Report, Rule, SampleKind, Severity,
    Skeleton, check_field_name, dtype_name, is_padding,
};
use crate::text::PrintableLine;

/// Checks names and types of columns. Returns false when the tree cannot be built.
pub fn check(reader: &dyn ContainerReader, report: &mut Report) -> bool {
    let count = reader.levels().count();
    let mut readable = true;
    for level in 0..count {
        let fields = reader.levels().fields(level);
        let find = |name: &str| fields.iter().find(|field| field.name == name);
        let at = |name: &str| column_location(level, name);
        for name in ["id", "type"] {
            match find(name) {
                Some(field) if is_text(&field.dtype) => {}
                Some(field) => {
                    readable = false;
                    let message = tr!(
                        "{name} is {found}; it has to be string.",
                        name,
                        found = dtype_name(&field.dtype)
                    );
                    report.add(Rule::LevelColumns, at(name), message);
                }
                None => {
                    readable = false;
                    report.add(
                        Rule::LevelColumns,
                        at(name),
                        tr!("level{level} has no column {name}.", level, name),
                    );
                }
            }
        }
        let mut needed = vec!["internal:parent_id"];
        let archive = matches!(
            reader.info().format,
            Format::Zip | Format::Tacocat | Format::TacocatFile
        );
        if archive {
            needed.extend(["internal:offset", "internal:size"]);
        }
        if level > 0 {
            needed.push("internal:relative_path");
        }
        // Below level 0, readers of folders need the second one: its absence is a finding of
        // another rule.
        let listed = ["path", "internal:relative_path"]
            .into_iter()
            .filter(|name| find(name).is_none());
        let absent: Vec<&str> = listed
            .filter(|name| level == 0 || *name == "path")
            .collect();
        if !absent.is_empty() {
            let names = absent.join(", ");
            report.add(
                Rule::TextColumns,
                Location::Level(level),
                tr!(
                    "level{level} lacks columns that the specification lists: {names}.",
                    level,
                    names
                ),
            );
        }
        for name in needed {
            // Readers do not use the parent of level 0, nor the path in an archive.
            let unused =
                (name == "internal:parent_id" && level == 0) || (name.ends_with("path") && archive);
            match find(name) {
                None => {
                    let severity = if unused {
                        Severity::Warning
                    } else {
                        Severity::Error
                    };
                    let message = tr!("level{level} has no column {name}.", level, name);
                    report.push(Finding {
                        severity,
                        ..Finding::new(Rule::LevelColumns, at(name), message)
                    });
                }
                Some(field) if name != "internal:relative_path" && !field.dtype.is_integer() => {
                    let message = tr!(
                        "{name} is {found}; it has to be int64.",
                        name,
                        found = dtype_name(&field.dtype)
                    );
                    report.add(Rule::LevelColumns, at(name), message);
                }
                Some(_) => {}
            }
        }
        if level + 1 < count && find("internal:current_id").is_none() {
            let message = tr!(
                "level{level} has no internal:current_id: today's Python reader refuses to load \
                    the dataset.",
                level
            );
            report.add(Rule::NoCurrentId, at("internal:current_id"), message);
        }
        for field in &fields {
            check_field(field, at(&field.name), reader.info().format, report);
        }
        for (index, field) in fields.iter().enumerate() {
            if fields[..index].iter().any(|other| other.name == field.name) {
                let message = tr!(
                    "level{level} has two columns {name}.",
                    level,
                    name = field.name
                );
                report.add(Rule::LevelColumns, at(&field.name), message);
            }
        }
    }
    readable
}

pub(super) fn column_location(level: usize, name: &str) -> Location {
    Location::Column {
        level,
        name: name.to_owned(),
    }
}

/// Checks name and type of a column that the format does not define.
fn check_field(field: &FieldSpec, at: Location, format: Format, report: &mut Report) {
    if field.name == "internal:gdal_vsi" {
        if matches!(format, Format::Joined | Format::Tacollection) {
            return;
        }
        let message = tr!(
            "internal:gdal_vsi is stored; readers compute it from the dataset's location, and this \
                one holds old paths."
        );
        report.add(Rule::StoredPath, at, message);
    } else if !field.name.starts_with("internal:")
        && !matches!(field.name.as_str(), "id" | "type" | "path")
    {
        if let Err(fault) = check_field_name(&field.name) {
            let message = tr!(
                "The field name \"{name}\" {fault}.",
                name = field.name.printable_line(),
                fault = fault.localized_text()
            );
            report.add(Rule::FieldName, at, message);
        } else if format == Format::Zip
            && matches!(field.dtype, DataType::Float16 | DataType::Decimal256(..))
        {
            let found = dtype_name(&field.dtype);
            let message = tr!(
                "{name} is {found}, which the Python reader can't load.",
                name = field.name,
                found
            );
            report.add(Rule::TypeRefused, at, message);
        }
    }
}

fn is_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Compares the declared schemas and extent with the levels.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check_declared(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if report.has(Rule::CollectionRead) {
        return Ok(());
    }
    check_pit(reader.collection().get("taco:pit_schema"), tree, report);
    check_fields(reader, report);
    super::extent::check(reader, report, ctx)
}

fn check_pit(declared: Option<&Json>, tree: &Skeleton, report: &mut Report) {
    let at = || Location::Collection("taco:pit_schema".into());
    let Some(declared) = declared else {
        return report.add(
            Rule::PitDeclared,
            at(),
            tr!("taco:pit_schema is missing; readers need it."),
        );
    };
    let declared: PitSchema = match serde_json::from_value(declared.clone()) {
        Ok(schema) => schema,
        Err(error) => {
            let message = tr!(
                "taco:pit_schema is not in the form that readers need: {error}.",
                error
            );
            return report.add(Rule::PitDeclared, at(), message);
        }
    };
    let padding: usize = declared
        .hierarchy
        .values()
        .flatten()
        .map(|pattern| pattern.ids.iter().filter(|id| is_padding(id)).count())
        .sum();
    if padding > 0 {
        let message = tr_n!(
            padding,
            "taco:pit_schema lists a placeholder as if it were a sample.",
            "taco:pit_schema lists {n} placeholders as if they were samples.",
            n = padding
        );
        report.add(Rule::PitPadding, at(), message);
    }
    for (level, patterns) in &declared.hierarchy {
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.ids.len() != pattern.kinds.len() || pattern.ids.is_empty() {
                let message = tr!(
                    "Pattern {index} of level {level} has {ids} ids and {types} types; readers \
                        need as many of each, and at least one.",
                    index,
                    level,
                    ids = pattern.ids.len(),
                    types = pattern.kinds.len()
                );
                report.add(Rule::PitDeclared, at(), message);
            }
        }
    }
    let Some(found) = PitSchema::from_skeleton(tree) else {
        return;
    };
    if declared.root.kind == found.root.kind && declared.root.n != found.root.n {
        let message = tr_n!(
            declared.root.n,
            "taco:pit_schema counts {declared} root; level0 holds {found}.",
            "taco:pit_schema counts {declared} roots; level0 holds {found}.",
            declared = declared.root.n,
            found = found.root.n
        );
        report.add(Rule::PitDeclared, at(), message);
    } else if declared.root != found.root {
        let message = tr_n!(
            declared.root.n,
            "taco:pit_schema says {declared} root of type {kind}; level0 holds {found} of type \
                {own}.",
            "taco:pit_schema says {declared} roots of type {kind}; level0 holds {found} of type \
                {own}.",
            declared = declared.root.n,
            kind = declared.root.kind,
            found = found.root.n,
            own = found.root.kind
        );
        report.add(Rule::PitDeclared, at(), message);
    }
    let mut stale = !declared.shape.is_empty() && declared.shape != found.shape;
    for (level, actual) in &found.hierarchy {
        let Some(said) = declared.hierarchy.get(level) else {
            report.add(
                Rule::PitDeclared,
                at(),
                tr!("taco:pit_schema has no entry for level {level}.", level),
            );
            continue;
        };
        let same = |a: &PitPattern, b: &PitPattern| a.ids == b.ids && a.kinds == b.kinds;
        if said.len() == actual.len() && said.iter().zip(actual).all(|(a, b)| same(a, b)) {
            stale |= said.iter().zip(actual).any(|(a, b)| a.n != b.n);
        } else {
            let incomplete = are_all_among(said, actual);
            let message = if incomplete {
                tr_n!(
                    actual.len(),
                    "Level {level} has {n} pattern; taco:pit_schema lists {listed} of them.",
                    "Level {level} has {n} patterns; taco:pit_schema lists {listed} of them.",
                    level,
                    n = actual.len(),
                    listed = said.len()
                )
            } else {
                tr!(
                    "The patterns of level {level} in taco:pit_schema are not those of the tree.",
                    level
                )
            };
            report.add(
                if incomplete {
                    Rule::PitIncomplete
                } else {
                    Rule::PitDeclared
                },
                at(),
                message,
            );
        }
    }
    if let Some(level) = declared
        .hierarchy
        .keys()
        .find(|level| !found.hierarchy.contains_key(*level))
    {
        report.add(
            Rule::PitDeclared,
            at(),
            tr!(
                "taco:pit_schema describes level {level}, which is not there.",
                level
            ),
        );
    }
    if stale {
        let message = tr!(
            "The counts in taco:pit_schema are not those of the levels; they are from before a \
                subset was taken."
        );
        report.add(Rule::PitStale, at(), message);
    }
}

/// True when each pattern is one of `others`, whatever their numbers of samples.
fn are_all_among(patterns: &[PitPattern], others: &[PitPattern]) -> bool {
    fn list_samples(pattern: &PitPattern) -> (&[String], &[SampleKind]) {
        (&pattern.ids, &pattern.kinds)
    }
    let known: HashSet<_> = others.iter().map(list_samples).collect();
    let mut patterns = patterns.iter().map(list_samples);
    patterns.all(|pattern| known.contains(&pattern))
}

const NOT_DECLARED: [&str; 5] = [
    "internal:offset",
    "internal:size",
    "internal:source_file",
    "internal:source_path",
    "internal:gdal_vsi",
];

fn check_fields(reader: &dyn ContainerReader, report: &mut Report) {
    let at = |path: String| Location::Collection(path);
    let declared = match reader.collection().get("taco:field_schema") {
        Some(Json::Object(declared)) => declared,
        Some(_) => {
            return report.add(
                Rule::FieldSchema,
                at("taco:field_schema".into()),
                tr!("taco:field_schema is not an object."),
            );
        }
        None => {
            return report.add(
                Rule::FieldSchema,
                at("taco:field_schema".into()),
                tr!("taco:field_schema is missing."),
            );
        }
    };
    let joins = matches!(
        reader.physical(),
        Physical::Tacocat(_) | Physical::Joined(_)
    );
    for level in 0..reader.levels().count() {
        let key = format!("level{level}");
        let place = || at(format!("taco:field_schema/{key}"));
        let Some(columns) = declared.get(&key).and_then(Json::as_array) else {
            report.add(
                Rule::FieldSchema,
                place(),
                tr!("taco:field_schema has no entry for {key}.", key),
            );
            continue;
        };
        let text = |column: &Json, index: usize| {
            column.get(index).and_then(Json::as_str).map(str::to_owned)
        };
        let said: Vec<(String, String)> = columns
            .iter()
            .filter_map(|c| Some((text(c, 0)?, text(c, 1)?)))
            .collect();
        if said.len() != columns.len() {
            report.add(
                Rule::FieldSchema,
                place(),
                tr!(
                    "{key} has entries that are not [name, type, description].",
                    key
                ),
            );
        }
        let fields = reader.levels().fields(level);
        let found: Vec<&FieldSpec> = fields
            .iter()
            .filter(|field| !is_added_column(&field.name, joins, &said))
            .collect();
        for field in &found {
            let name = &field.name;
            match said.iter().find(|(said, _)| said == name) {
                None => {
                    let message = tr!(
                        "{key} has the column {name}, which taco:field_schema lacks.",
                        key,
                        name
                    );
                    report.add(Rule::FieldSchema, place(), message);
                }
                Some((_, dtype)) if comparable(dtype) != comparable(&dtype_name(&field.dtype)) => {
                    let found = dtype_name(&field.dtype);
                    let message = tr!(
                        "{name} is {found}; taco:field_schema says {dtype}.",
                        name,
                        found,
                        dtype
                    );
                    report.add(Rule::FieldSchema, place(), message);
                }
                Some(_) => {}
            }
        }
        let order =
            |names: Vec<&str>| -> Vec<String> { names.into_iter().map(str::to_owned).collect() };
        let listed = order(
            said.iter()
                .map(|(name, _)| name.as_str())
                .filter(|name| !NOT_DECLARED.contains(name))
                .collect(),
        );
        let stored = order(found.iter().map(|field| field.name.as_str()).collect());
        // An index has its columns sorted by name, but the schema of the first part in its own
        // order, as the tools write it.
        if !joins && listed != stored && sort_names(&listed) == sort_names(&stored) {
            let message = tr!(
                "taco:field_schema lists the columns of {key} in another order than the table has \
                    them.",
                key
            );
            report.add(Rule::FieldOrder, place(), message);
        }
        for (name, _) in said
            .iter()
            .filter(|(name, _)| !NOT_DECLARED.contains(&name.as_str()))
        {
            if !found.iter().any(|field| field.name == *name) {
                report.add(
                    Rule::FieldSchema,
                    place(),
                    tr!(
                        "taco:field_schema lists {name}, which {key} lacks.",
                        name,
                        key
                    ),
                );
            }
        }
    }
}

/// True for a column that no schema has to declare. An index has row numbers and paths even when
/// the first part, whose schema it copies, has none.
fn is_added_column(name: &str, joins: bool, said: &[(String, String)]) -> bool {
    let made = joins
        && matches!(
            name,
            "internal:current_id" | "internal:parent_id" | "internal:relative_path"
        );
    NOT_DECLARED.contains(&name) || (made && !said.iter().any(|(said, _)| said == name))
}

fn sort_names(names: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    sorted
}

/// A type in the words of Arrow, in lower case. tacotoolbox before 0.18 wrote those of polars.
fn without_polars_names(name: &str) -> String {
    if let Some(item) = name
        .strip_prefix("list(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return format!("list<item: {}>", without_polars_names(item));
    }
    if let Some(rest) = name
        .strip_prefix("datetime(time_unit='")
        .and_then(|rest| rest.strip_suffix(')'))
        && let Some((unit, zone)) = rest.split_once("', time_zone=")
    {
        return match zone.trim_matches('\'') {
            "none" => format!("timestamp[{unit}]"),
            zone => format!("timestamp[{unit}, tz={zone}]"),
        };
    }
    match name {
        "boolean" => "bool".to_owned(),
        "float32" => "float".to_owned(),
        "float64" => "double".to_owned(),
        "date" => "date32[day]".to_owned(),
        "utf8" => "string".to_owned(),
        other => other
            .replace("large_string", "string")
            .replace("large_binary", "binary"),
    }
}

/// Normalizes a type name for comparison: names of list elements, and types that Parquet cannot
/// store.
pub(super) fn comparable(name: &str) -> String {
    let name = without_polars_names(&name.to_lowercase());
    let name = name
        .replace("<element: ", "<item: ")
        .replace(" ('item')", "")
        .replace(" ('element')", "");
    // Newer Arrow versions include field names of maps.
    let name = name
        .replace("timestamp[s", "timestamp[ms")
        .replace("time32[s]", "time32[ms]")
        .replace("date64[ms]", "date32[day]");
    name.replace("float16", "halffloat")
        .replace("_view", "")
        .replace("large_list", "list")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(number: usize, kind: SampleKind) -> PitPattern {
        PitPattern {
            n: number as u64,
            kinds: vec![kind],
            ids: vec![format!("f{number}")],
        }
    }

    /// Each would be compared with all others.
    #[test]
    fn patterns_are_found_among_many_in_another_order() {
        let file = |number| pattern(number, SampleKind::File);
        let all: Vec<PitPattern> = (0..100_000).map(file).collect();
        let mut some: Vec<PitPattern> = all.iter().rev().step_by(2).cloned().collect();
        some[0].n = 7;
        assert!(are_all_among(&some, &all));
        some.push(pattern(5, SampleKind::Folder));
        assert!(!are_all_among(&some, &all));
    }

    #[test]
    fn types_in_the_words_of_polars_are_those_of_arrow() {
        for (declared, stored) in [
            ("float64", "double"),
            ("string", "large_string"),
            ("list(int64)", "large_list<element: int64>"),
            ("List(Float64)", "list<item: double>"),
            ("datetime(time_unit='us', time_zone=none)", "timestamp[us]"),
            (
                "Datetime(time_unit='us', time_zone='UTC')",
                "timestamp[us, tz=UTC]",
            ),
            ("binary", "large_binary"),
            ("boolean", "bool"),
        ] {
            assert_eq!(comparable(declared), comparable(stored), "{declared}");
        }
        assert_ne!(comparable("list(int64)"), comparable("list<item: double>"));
        assert_ne!(comparable("float32"), comparable("double"));
    }
}
