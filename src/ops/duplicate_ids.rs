//! Ids that several datasets share. Each id is unique in its dataset, but not once the datasets are
//! written as one. Placeholders are numbered anew; samples keep their ids, or get the name of their
//! dataset in front, or are an error that names them.

use std::collections::{HashMap, HashSet};

use crate::container::{Assembly, ContainerReader, JoinedReader, Physical};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{NameNumbers, is_padding, padding_id};
use crate::text::list_first;

/// Clashing ids that an error names.
const MAX_NAMES: usize = 3;

/// Makes the ids of level 0 of `part` unique. `rows` are the rows of `reader` that it has, in its
/// order; with `adds_prefix` shared ids get the name of their dataset in front.
pub(super) fn make_root_ids_unique(
    part: &mut Assembly,
    rows: &[u32],
    reader: &dyn ContainerReader,
    adds_prefix: bool,
    ctx: &JobContext,
) -> Result<()> {
    let Some(sources) = SourceNames::for_rows(reader, rows, ctx)? else {
        return Ok(());
    };
    let Some(level) = part.tree.levels.first() else {
        return Ok(());
    };
    let mut seen: HashMap<&str, Option<u32>> = HashMap::with_capacity(level.len());
    let mut shared: HashSet<&str> = HashSet::new();
    let mut lines = Vec::new();
    let mut has_repeated_padding = false;
    for (row, &source) in (0..level.len() as u32).zip(&sources.of_rows) {
        let id = level.id(row);
        match seen.insert(id, source) {
            Some(_) if is_padding(id) => has_repeated_padding = true,
            Some(other) if shared.insert(id) => {
                lines.push(format!(
                    "{id} ({}, {})",
                    sources.name(other),
                    sources.name(source)
                ));
            }
            _ => {}
        }
    }
    drop(seen);
    if !shared.is_empty() && !adds_prefix {
        let error = Error::invalid(format!(
            "{} ids are in more than one dataset: {}",
            shared.len(),
            list_first(&lines, MAX_NAMES)
        ));
        return Err(error.hint("put the name of their dataset in front of them: --prefix-ids"));
    }
    if shared.is_empty() && !has_repeated_padding {
        return Ok(());
    }
    let prefixes = choose_prefixes(&sources.names);
    let mut next_padding = 0u64;
    let ids: Vec<String> = (0..level.len() as u32)
        .zip(&sources.of_rows)
        .map(|(row, &source)| match level.id(row) {
            id if is_padding(id) => {
                next_padding += 1;
                padding_id(next_padding - 1).to_string()
            }
            id if shared.contains(id) => format!(
                "{}_{id}",
                prefixes
                    .get(sources.name(source))
                    .map_or("", String::as_str)
            ),
            id => id.to_owned(),
        })
        .collect();
    if !shared.is_empty() {
        ctx.warn(format!(
            "{} shared ids got the name of their dataset in front",
            shared.len()
        ));
    }
    part.rename_roots(&ids)
}

/// The number of the dataset that a row of level 0 comes from.
fn find_dataset_number(joined: &JoinedReader, row: u32) -> Option<u32> {
    joined.source_of(0, row).map(|(index, _)| index as u32)
}

/// The datasets that rows come from.
struct SourceNames {
    /// Names of the datasets.
    names: Vec<String>,
    /// For each row the number of its dataset.
    of_rows: Vec<Option<u32>>,
}

impl SourceNames {
    /// The datasets of rows of level 0; `None` when all come from one.
    fn for_rows(
        reader: &dyn ContainerReader,
        rows: &[u32],
        ctx: &JobContext,
    ) -> Result<Option<Self>> {
        if let Physical::Joined(joined) = reader.physical() {
            let names = joined.datasets().map(|(name, _)| name.to_owned()).collect();
            return Ok(Some(Self {
                names,
                of_rows: rows
                    .iter()
                    .map(|&row| find_dataset_number(joined, row))
                    .collect(),
            }));
        }
        if !reader.levels().is_by_part() {
            return Ok(None);
        }
        let parts = reader.levels().row_parts(0, ctx)?;
        let of_rows = rows
            .iter()
            .map(|row| parts.rows.get(*row as usize).copied())
            .collect();
        Ok(Some(Self {
            names: parts.names.iter().map(|name| name.to_string()).collect(),
            of_rows,
        }))
    }

    fn name(&self, number: Option<u32>) -> &str {
        let name = number.and_then(|number| self.names.get(number as usize));
        name.map_or("", String::as_str)
    }
}

/// The prefix of the ids of each dataset: its file name without letters that ids may not have, with
/// a number where two would be equal.
fn choose_prefixes(names: &[String]) -> HashMap<&str, String> {
    let mut made: HashMap<&str, String> = HashMap::new();
    let mut taken = HashSet::new();
    let mut numbers = NameNumbers::default();
    for name in names {
        if made.contains_key(name.as_str()) {
            continue;
        }
        let last = name
            .trim_end_matches(['/', '\\'])
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
        let plain: String = stem
            .chars()
            .map(|c| if c.is_control() || c == ':' { '_' } else { c })
            .collect();
        let plain = plain.trim_start_matches('_');
        let plain = if plain.is_empty() { "dataset" } else { plain };
        let prefix = numbers.find_free(
            plain.to_owned(),
            plain.to_owned(),
            |number| format!("{plain}_{number}"),
            |prefix| taken.insert(prefix.to_owned()),
        );
        made.insert(name, prefix);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_valid_and_unlike() {
        let names = [
            "/a/one.tacozip",
            "/b/one.tacozip",
            "/a/one.tacozip",
            "__x",
            ".tacocat",
            "c:d",
        ]
        .map(str::to_owned);
        let made = choose_prefixes(&names);
        let of = |name: &str| made[name].as_str();
        assert_eq!(
            [
                of("/a/one.tacozip"),
                of("/b/one.tacozip"),
                of("__x"),
                of(".tacocat"),
                of("c:d")
            ],
            ["one", "one_2", "x", "dataset", "c_d"]
        );
    }
}
