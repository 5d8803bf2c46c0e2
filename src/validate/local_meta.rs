//! Checks the `__meta__` of every FOLDER against the level table (TACO 2.0, section 6.2).

use arrow::array::{Array, Int64Array};
use arrow::datatypes::DataType;

use crate::container::{ContainerReader, Physical, read_unsigned_cell};
use crate::error::{Cause, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Report, Rule, Skeleton, dtype_name, is_remote};
use crate::table::LevelTable;

use super::columns::comparable;
use super::pit::sample_location;

/// Maximum number of FOLDERs examined unless the check is deep.
const MAX_SHALLOW_FOLDERS: usize = 1000;

/// Compares children, and with `deep` their values.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub fn check(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let folders: usize = tree
        .levels
        .iter()
        .map(|level| level.folder.iter().filter(|&&folder| folder).count())
        .sum();
    // For a remote dataset, each `__meta__` takes a request.
    let limit = match (deep, is_remote(&reader.info().path)) {
        (true, _) => usize::MAX,
        (false, true) => 0,
        (false, false) => MAX_SHALLOW_FOLDERS,
    };
    ctx.stage(tr!("Checking the FOLDERs"), Some(folders.min(limit) as u64));
    let mut examined = 0;
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            if !level.folder[row as usize] || examined == limit {
                continue;
            }
            examined += 1;
            ctx.check()?;
            ctx.step(1);
            check_folder(reader, tree, depth, row, deep, report, ctx)?;
        }
    }
    Ok(())
}

fn check_folder(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    depth: usize,
    row: u32,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let location = || sample_location(tree, depth, row);
    let local = match reader.local_meta(depth, row) {
        Ok(local) => local,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => {
            // A missing member is reported by the check of the container.
            if error.kind() != Kind::Io && !error.is_caused_by(Cause::MissingMember) {
                report.add(
                    Rule::LocalMeta,
                    location(),
                    format!(
                        "{} {}",
                        tr!("Its __meta__ can't be read."),
                        error.sentence()
                    ),
                );
            }
            return Ok(());
        }
    };
    let children = tree.levels[depth].children(row);
    let Some(below) = tree.levels.get(depth + 1) else {
        return Ok(());
    };
    let (Some(ids), Some(kinds)) = (local.strings("id")?, local.strings("type")?) else {
        report.add(
            Rule::LocalMeta,
            location(),
            tr!("Its __meta__ has no id or no type column."),
        );
        return Ok(());
    };
    let listed: Vec<(&str, &str)> = (0..ids.len())
        .map(|i| {
            (
                if ids.is_valid(i) { ids.value(i) } else { "" },
                if kinds.is_valid(i) {
                    kinds.value(i)
                } else {
                    ""
                },
            )
        })
        .collect();
    let expected: Vec<(&str, &str)> = children
        .iter()
        .map(|&child| (below.id(child), below.kind(child).as_str()))
        .collect();
    if listed != expected {
        let message = tr_n!(
            listed.len(),
            "Its __meta__ lists {listed} child ({names}); the level table has {stored} ({others}).",
            "Its __meta__ lists {listed} children ({names}); the level table has {stored} \
                ({others}).",
            listed = listed.len(),
            names = list_first_ids(&listed),
            stored = expected.len(),
            others = list_first_ids(&expected)
        );
        report.add(Rule::LocalMeta, location(), message);
        return Ok(());
    }
    check_types(reader, depth, &local, &location, report);
    check_byte_ranges(reader, tree, (depth, children), &local, &location, report)?;
    if !deep {
        return Ok(());
    }
    let table = reader.levels().table(depth + 1, ctx)?;
    for (column, field) in local.fields().into_iter().enumerate() {
        if field.name.starts_with("internal:") || matches!(field.name.as_str(), "id" | "type") {
            continue;
        }
        let level_column = table.column_index(&field.name);
        let differs = children.iter().enumerate().find(|&(i, &child)| {
            let value = level_column.map_or(crate::model::Value::Null, |column| {
                table.value(child as usize, column)
            });
            local.value(i, column) != value
        });
        if let Some((i, &child)) = differs {
            let at = sample_location(tree, depth + 1, child);
            let level_text =
                level_column.map_or(String::new(), |column| table.text(child as usize, column));
            let message = tr!(
                "{field} is {here} in __meta__ and {there} in the level table.",
                field = field.name,
                here = format!("{:?}", local.text(i, column)),
                there = format!("{level_text:?}")
            );
            report.add(Rule::LocalMetaValues, at, message);
        }
    }
    Ok(())
}

fn list_first_ids(rows: &[(&str, &str)]) -> String {
    rows.iter()
        .take(8)
        .map(|(id, _)| id.escape_default().to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Checks offsets and sizes in the `__meta__` of an archive, which readers use that descend from
/// FOLDER to FOLDER.
fn check_byte_ranges(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    (depth, children): (usize, &[u32]),
    local: &LevelTable,
    location: &dyn Fn() -> Location,
    report: &mut Report,
) -> Result<()> {
    if !matches!(reader.physical(), Physical::Zip(_) | Physical::Tacocat(_)) {
        return Ok(());
    }
    let (offsets, sizes) = (
        local.integers("internal:offset")?,
        local.integers("internal:size")?,
    );
    for (row, &child) in children.iter().enumerate() {
        let read = |column: &Option<Int64Array>| read_unsigned_cell(column.as_ref()?, row);
        let stated = read(&offsets).zip(read(&sizes));
        let is_right = match stated {
            Some(stated) => match reader.asset(depth + 1, child) {
                Ok((AssetPath::Range { offset, size, .. }, _)) => stated == (offset, size),
                // A missing member is a separate finding.
                _ => true,
            },
            None => false,
        };
        if !is_right {
            let id = tree.levels[depth + 1].id(child);
            let message = tr!(
                "internal:offset or internal:size of {id} in its __meta__ is missing, or not that \
                    of its bytes.",
                id
            );
            report.add(Rule::LocalMeta, location(), message);
            break;
        }
    }
    Ok(())
}

/// PIT-2: the fields of a `__meta__` have the types of the level. A missing field is null, and a
/// field without values may have type null.
fn check_types(
    reader: &dyn ContainerReader,
    depth: usize,
    local: &LevelTable,
    location: &dyn Fn() -> Location,
    report: &mut Report,
) {
    let fields = reader.levels().fields(depth + 1);
    for field in local
        .fields()
        .iter()
        .filter(|field| !field.name.starts_with("internal:"))
    {
        let Some(level_field) = fields.iter().find(|known| known.name == field.name) else {
            continue;
        };
        let (here, there) = (
            comparable(&dtype_name(&field.dtype)),
            comparable(&dtype_name(&level_field.dtype)),
        );
        if here != there && field.dtype != DataType::Null && level_field.dtype != DataType::Null {
            let message = tr!(
                "{field} is {here} in its __meta__ and {there} in level{level}.",
                field = field.name,
                here = dtype_name(&field.dtype),
                there = dtype_name(&level_field.dtype),
                level = depth + 1
            );
            report.add(Rule::PitSchemaUniform, location(), message);
        }
    }
}
