//! Checks the `internal:*` columns that link the levels (TACO 2.0, section 8.3), and the values of
//! `type`.

use std::collections::HashMap;

use arrow::array::Array;

use super::pit::sample_location;
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, Skeleton};

/// Checks row numbers, parents, paths and types of every level.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    for (depth, level) in tree.levels.iter().enumerate() {
        ctx.check()?;
        let names = [
            "id",
            "type",
            "internal:current_id",
            "internal:parent_id",
            "internal:relative_path",
        ];
        let table = reader.levels().columns(depth, &names, ctx)?;
        let at = |row: usize| sample_location(tree, depth, row as u32);
        if let Some(ids) = table.strings("id")? {
            for row in (0..ids.len()).filter(|&row| ids.is_null(row)) {
                report.add(Rule::IdCharacters, at(row), tr!("The id is null."));
            }
        }
        if let Some(kinds) = table.strings("type")? {
            for row in 0..kinds.len() {
                let kind = if kinds.is_valid(row) {
                    kinds.value(row)
                } else {
                    "null"
                };
                if kind != "FILE" && kind != "FOLDER" {
                    let message = tr!(
                        "The type is {found}; it has to be FILE or FOLDER.",
                        found = format!("{kind:?}")
                    );
                    report.add(Rule::TypeWord, at(row), message);
                }
            }
        }
        let numbers = row_numbers(reader, depth, level.len(), ctx)?;
        if let Some(current) = table.integers("internal:current_id")? {
            let wrong = (0..current.len())
                .find(|&row| current.is_null(row) || current.value(row) != numbers[row]);
            if let Some(row) = wrong {
                let message = tr!(
                    "internal:current_id of row {row} is not {number}.",
                    row,
                    number = numbers[row]
                );
                report.add(Rule::CurrentId, at(row), message);
            }
        }
        if depth > 0 {
            check_parents(tree, depth, &at, report);
        } else if let Some(parents) = table.integers("internal:parent_id")?
            && let Some(row) = (0..parents.len())
                .find(|&row| parents.is_null(row) || parents.value(row) != numbers[row])
        {
            let message = tr!(
                "On level 0, internal:parent_id must be the number of the row itself; row {row} \
                    differs.",
                row
            );
            report.add(Rule::ParentLink, at(row), message);
        }
        if let Some(paths) = table.strings("internal:relative_path")? {
            for row in 0..paths.len() {
                let mut wanted = tree.archive_path(depth, row as u32);
                if level.folder[row] {
                    wanted.push('/');
                }
                let found = if paths.is_valid(row) {
                    paths.value(row)
                } else {
                    "null"
                };
                if found != wanted {
                    let (found, wanted) = (found.escape_default(), wanted.escape_default());
                    let message = tr!(
                        "internal:relative_path is {found}; the ids say {wanted}.",
                        found,
                        wanted
                    );
                    report.add(Rule::RelativePath, at(row), message);
                }
            }
        }
    }
    Ok(())
}

/// Expected `internal:current_id` of each row: numbered from 0, in an index within each part.
fn row_numbers(
    reader: &dyn ContainerReader,
    level: usize,
    rows: usize,
    ctx: &JobContext,
) -> Result<Vec<i64>> {
    if !reader.levels().is_by_part() {
        return Ok((0..rows as i64).collect());
    }
    let sources = reader.levels().row_parts(level, ctx)?;
    let mut next: HashMap<u32, i64> = HashMap::new();
    let mut numbers = Vec::with_capacity(rows);
    for row in 0..rows {
        let part = sources.rows.get(row).copied().unwrap_or(u32::MAX);
        let next = next.entry(part).or_default();
        numbers.push(*next);
        *next += 1;
    }
    Ok(numbers)
}

fn check_parents(
    tree: &Skeleton,
    depth: usize,
    at: &dyn Fn(usize) -> Location,
    report: &mut Report,
) {
    let (above, level) = (&tree.levels[depth - 1], &tree.levels[depth]);
    let mut last = 0;
    for (row, &parent) in level.parents.iter().enumerate() {
        if parent as usize >= above.len() {
            let message = tr_n!(
                above.len(),
                "internal:parent_id leads to no row of level {level}, which has {rows} row.",
                "internal:parent_id leads to no row of level {level}, which has {rows} rows.",
                level = depth - 1,
                rows = above.len()
            );
            report.add(Rule::ParentLink, at(row), message);
            continue;
        }
        if !above.folder[parent as usize] {
            let message = tr!(
                "internal:parent_id leads to {path}, which is a FILE.",
                path = tree.path(depth - 1, parent)
            );
            report.add(Rule::ParentLink, at(row), message);
        }
        if parent < last {
            report.add(
                Rule::ParentLink,
                at(row),
                tr!("Rows are not grouped by parent."),
            );
        }
        last = last.max(parent);
    }
}
