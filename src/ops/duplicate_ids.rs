//! Ids that several datasets share. Each is unique among its siblings where it comes from; written as one dataset they would not
//! be. Placeholders are numbered anew; samples keep their ids, or get the name of their dataset in front, or are an error that
//! names them.

use std::collections::{HashMap, HashSet};

use crate::container::{Assembly, ContainerReader, Physical};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{is_padding, padding_id};

/// Clashing ids that an error names.
const NAMED: usize = 3;

/// Makes the ids of level 0 of `part` unique. `rows` are the rows of `reader` that it has, in its order; with `prefix` shared ids
/// get the name of their dataset in front.
pub(super) fn settle(
    part: &mut Assembly,
    rows: &[u32],
    reader: &dyn ContainerReader,
    prefix: bool,
    ctx: &JobContext,
) -> Result<()> {
    let Some(names) = source_names(reader, rows, ctx)? else { return Ok(()) };
    let Some(level) = part.tree.levels.first() else { return Ok(()) };
    let mut seen: HashMap<&str, &str> = HashMap::with_capacity(level.len());
    let mut shared: HashSet<&str> = HashSet::new();
    let mut lines = Vec::new();
    let mut padded = false;
    for (row, name) in (0..level.len() as u32).zip(&names) {
        let id = level.id(row);
        match seen.insert(id, name) {
            Some(_) if is_padding(id) => padded = true,
            Some(other) if shared.insert(id) => lines.push(format!("{id} ({other}, {name})")),
            _ => {}
        }
    }
    if !shared.is_empty() && !prefix {
        let more = if lines.len() > NAMED { ", …" } else { "" };
        lines.truncate(NAMED);
        let error = Error::invalid(format!("{} ids are in more than one dataset: {}{more}", shared.len(), lines.join(", ")));
        return Err(error.hint("put the name of their dataset in front of them: --prefix-ids"));
    }
    if shared.is_empty() && !padded {
        return Ok(());
    }
    let prefixes = prefixes(&names);
    let mut next = 0u64;
    let ids: Vec<String> = (0..level.len() as u32)
        .zip(&names)
        .map(|(row, name)| match level.id(row) {
            id if is_padding(id) => {
                next += 1;
                padding_id(next - 1).to_string()
            }
            id if shared.contains(id) => format!("{}_{id}", prefixes.get(name.as_str()).map_or("", String::as_str)),
            id => id.to_owned(),
        })
        .collect();
    if !shared.is_empty() {
        ctx.warn(format!("{} shared ids got the name of their dataset in front", shared.len()));
    }
    part.rename_roots(&ids)
}

/// The dataset that each row comes from; `None` when all come from one.
fn source_names(reader: &dyn ContainerReader, rows: &[u32], ctx: &JobContext) -> Result<Option<Vec<String>>> {
    if let Physical::Joined(joined) = reader.physical() {
        let names: Vec<&str> = joined.datasets().map(|(name, _)| name).collect();
        let name =
            |row: &u32| joined.source_of(0, *row).and_then(|(index, _)| names.get(index)).map_or("", |name| *name).to_owned();
        return Ok(Some(rows.iter().map(name).collect()));
    }
    if !reader.levels().is_by_part() {
        return Ok(None);
    }
    let parts = reader.levels().sources(0, ctx)?;
    Ok(Some(rows.iter().map(|row| parts.of(*row).map_or(String::new(), |name| name.to_string())).collect()))
}

/// Prefix of ids, from the name of the dataset: its file name without what ids may not have, and a number where two
/// would be the same.
fn prefixes(names: &[String]) -> HashMap<&str, String> {
    let mut made: HashMap<&str, String> = HashMap::new();
    let mut taken = HashSet::new();
    for name in names {
        if made.contains_key(name.as_str()) {
            continue;
        }
        let last = name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
        let plain: String = stem.chars().map(|c| if c.is_control() || c == ':' { '_' } else { c }).collect();
        let plain = plain.trim_start_matches('_');
        let plain = if plain.is_empty() { "dataset" } else { plain };
        let free = std::iter::once(plain.to_owned()).chain((2..).map(|number| format!("{plain}_{number}")));
        if let Some(free) = free.into_iter().find(|candidate| taken.insert(candidate.clone())) {
            made.insert(name, free);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_valid_and_unlike() {
        let names = ["/a/one.tacozip", "/b/one.tacozip", "/a/one.tacozip", "__x", ".tacocat", "c:d"].map(str::to_owned);
        let made = prefixes(&names);
        let of = |name: &str| made[name].as_str();
        assert_eq!(
            [of("/a/one.tacozip"), of("/b/one.tacozip"), of("__x"), of(".tacocat"), of("c:d")],
            ["one", "one_2", "x", "dataset", "c_d"]
        );
    }
}
