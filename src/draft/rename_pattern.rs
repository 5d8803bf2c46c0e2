//! Renames the samples at one position of all roots by a pattern: `label_{n}.tif` to `label.tif`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::Edit;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, NamePattern, NodePath, Tortilla, check_sample_id};

/// Preview of a renaming by pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Renaming {
    /// Number of samples at the position.
    pub total: usize,
    /// Id of the root, old id and new id of those that match and change, in the order of roots.
    pub names: Vec<(Arc<str>, Arc<str>, Arc<str>)>,
    /// Number of samples that have the new id already.
    pub unchanged: usize,
    /// Number of samples that do not match.
    pub unmatched: usize,
    /// Number of new ids that a sibling has, or that no id may be.
    pub colliding: usize,
    /// The edit; `None` when there is nothing to rename or ids collide.
    pub edit: Option<Edit>,
}

/// Most siblings whose ids are compared with one sample's, and most roots in which they are.
const SIBLINGS: usize = 500;
const ROOTS: usize = 1000;

/// A new id: the parts in braces are those of the old one.
fn fill_template(to: &str, pattern: &NamePattern, texts: &[&str]) -> Result<String> {
    let mut text = String::new();
    let mut rest = to;
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}').map(|end| start + end) else {
            return Err(Error::usage(format!(
                "the new name {to} has a {{ without its }}"
            )));
        };
        let name = &rest[start + 1..end];
        let part = pattern
            .parts()
            .iter()
            .zip(texts)
            .find(|(part, _)| part.name == name);
        let (_, part) =
            part.ok_or_else(|| Error::usage(format!("the pattern has no part {{{name}}}")))?;
        text += &rest[..start];
        text += part;
        rest = &rest[end + 1..];
    }
    Ok(text + rest)
}

/// The sample at `place` below each root: path, id of the root, tortilla that holds it.
fn at_place<'a>(
    dataset: &'a Dataset,
    place: &[u32],
) -> Vec<(NodePath, &'a Arc<str>, &'a Tortilla)> {
    let mut found = Vec::new();
    for (root, sample) in (0u32..).zip(&dataset.root.samples) {
        let Some((&last, above)) = place.split_last() else {
            break;
        };
        let mut tortilla = sample.children();
        for &index in above {
            tortilla =
                tortilla.and_then(|tortilla| tortilla.samples.get(index as usize)?.children());
        }
        if let Some(tortilla) = tortilla
            && tortilla
                .samples
                .get(last as usize)
                .is_some_and(|sample| !sample.is_padding())
        {
            found.push((NodePath([&[root], place].concat()), &sample.id, &**tortilla));
        }
    }
    found
}

/// Previews renaming the samples at `place` (positions from level 1 down) from one pattern to
/// another.
///
/// # Errors
/// For a pattern that can't be read, and when the job is cancelled.
pub fn renaming(
    dataset: &Dataset,
    place: &[u32],
    from: &str,
    to: &str,
    ctx: &JobContext,
) -> Result<Renaming> {
    let pattern = NamePattern::new(from)?;
    let mut renaming = Renaming::default();
    let mut edits: Vec<(NodePath, Arc<str>)> = Vec::new();
    for (path, root, tortilla) in at_place(dataset, place) {
        ctx.check()?;
        let Some(sample) = path
            .0
            .last()
            .and_then(|&last| tortilla.samples.get(last as usize))
        else {
            continue;
        };
        renaming.total += 1;
        let Some(texts) = pattern.texts(&sample.id) else {
            renaming.unmatched += 1;
            continue;
        };
        let id: Arc<str> = fill_template(to, &pattern, &texts)?.into();
        if id == sample.id {
            renaming.unchanged += 1;
            continue;
        }
        let taken = tortilla.samples.iter().any(|sibling| sibling.id == id);
        renaming.colliding += usize::from(taken || check_sample_id(&id).is_err());
        renaming
            .names
            .push((root.clone(), sample.id.clone(), id.clone()));
        edits.push((path, id));
    }
    renaming.edit =
        (!edits.is_empty() && renaming.colliding == 0).then_some(Edit::RenameMany { names: edits });
    Ok(renaming)
}

/// A pattern that most ids at a position match, and a name without the parts that differ:
/// `label_{n}.tif` and `label.tif`. Where only the number or date distinguishes the samples
/// (siblings have the same name with another one, or nothing else is left of the name), both are
/// the same, so that nothing is renamed until the user gives a new name. `None` when all ids are
/// equal.
pub fn proposed_pattern(dataset: &Dataset, place: &[u32]) -> Option<(String, String)> {
    let mut counts: HashMap<String, (usize, String)> = HashMap::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut distinguishing: HashSet<String> = HashSet::new();
    for (number, (path, _, tortilla)) in at_place(dataset, place).into_iter().enumerate() {
        let position = *path.0.last()? as usize;
        let id = &*tortilla.samples.get(position)?.id;
        *ids.entry(id).or_default() += 1;
        let pair = generalize_id(id);
        let has_sibling = || {
            let others = tortilla
                .samples
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != position);
            others
                .take(SIBLINGS)
                .any(|(_, sibling)| generalize_id(&sibling.id).0 == pair.0)
        };
        if number < ROOTS && !distinguishing.contains(&pair.0) && has_sibling() {
            distinguishing.insert(pair.0.clone());
        }
        counts.entry(pair.0).or_insert((0, pair.1)).0 += 1;
    }
    if ids.len() < 2 {
        return None;
    }
    let (from, (_, to)) = counts
        .into_iter()
        .max_by(|a, b| a.1.0.cmp(&b.1.0).then_with(|| b.0.cmp(&a.0)))?;
    let to = if distinguishing.contains(&from) {
        from.clone()
    } else {
        to
    };
    Some((from, to))
}

/// An id with its longest run of digits as a field, and the id without it and the separator before
/// it; with it where no letter is left before the extension. A date is a field of its own.
fn generalize_id(id: &str) -> (String, String) {
    let whole = (id.to_owned(), id.to_owned());
    static DATE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[0-9]{8}|[0-9]{4}[-_][0-9]{2}[-_][0-9]{2}").ok());
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("[0-9]+").ok());
    let date = DATE
        .as_ref()
        .and_then(|date| date.find(id).map(|found| (found.range(), "{date}")));
    let digits = || {
        let longest = DIGITS
            .as_ref()?
            .find_iter(id)
            .max_by_key(|found| found.len())?;
        Some((longest.range(), "{n}"))
    };
    let Some((range, field)) = date.or_else(digits) else {
        return whole;
    };
    let (before, after) = (&id[..range.start], &id[range.end..]);
    let from = format!("{before}{field}{after}");
    let separators = ['_', '-', ' ', '.'];
    let kept = match before.strip_suffix(separators) {
        Some(kept) if !kept.is_empty() => format!("{kept}{after}"),
        _ => format!(
            "{before}{}",
            if before.is_empty() {
                after.strip_prefix(separators).unwrap_or(after)
            } else {
                after
            }
        ),
    };
    let stem = |name: &str| {
        name.rsplit_once('.')
            .map_or(name, |(stem, _)| stem)
            .chars()
            .any(char::is_alphabetic)
    };
    // Of a number alone only the extension would be left.
    let named =
        (!before.is_empty() || stem(after)) && stem(&kept) && check_sample_id(&kept).is_ok();
    (from.clone(), if named { kept } else { from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sample;

    fn dataset(labels: &[&str]) -> Dataset {
        let file = |id: &str| Sample::file(id, "/x", 1);
        let root = |(number, label): (usize, &&str)| {
            Sample::folder(
                &format!("r{number}"),
                Tortilla::new(vec![file("before.tif"), file(label)]),
            )
        };
        Dataset {
            root: Tortilla::new(labels.iter().enumerate().map(root).collect()).into(),
            ..Dataset::default()
        }
    }

    #[test]
    fn a_position_is_renamed_in_all_roots_in_one_step() {
        let mut data = dataset(&[
            "label_0041.tif",
            "label_0078.tif",
            "label.tif",
            "mask_1.tif",
        ]);
        assert_eq!(
            proposed_pattern(&data, &[1]),
            Some(("label_{n}.tif".into(), "label.tif".into()))
        );
        assert_eq!(proposed_pattern(&data, &[0]), None);
        let found = renaming(
            &data,
            &[1],
            "label_{n}.tif",
            "label.tif",
            &JobContext::default(),
        )
        .expect("reads the pattern");
        assert_eq!(
            (
                found.total,
                found.names.len(),
                found.unmatched,
                found.colliding
            ),
            (4, 2, 2, 0)
        );
        let edit = found.edit.expect("an edit");
        let before = data.clone();
        let back = edit.apply(&mut data).expect("renames");
        let ids: Vec<&str> = data
            .root
            .samples
            .iter()
            .map(|root| &*root.children().expect("children").samples[1].id)
            .collect();
        assert_eq!(ids, ["label.tif", "label.tif", "label.tif", "mask_1.tif"]);
        back.apply(&mut data).expect("undoes");
        assert_eq!(data, before);
    }

    #[test]
    fn parts_are_kept_by_name_and_collisions_stop_it() {
        let data = dataset(&["S2_20240131_B4.tif", "S2_20240205_B4.tif"]);
        let run = |from: &str, to: &str| renaming(&data, &[1], from, to, &JobContext::default());
        let found = run("S2_{date}_{band}.tif", "{band}.tif").expect("reads the pattern");
        assert_eq!(
            found
                .names
                .iter()
                .map(|(_, _, new)| &**new)
                .collect::<Vec<_>>(),
            ["B4.tif", "B4.tif"]
        );
        let colliding = run("S2_{date}_{band}.tif", "before.tif").expect("reads the pattern");
        assert!(colliding.colliding == 2 && colliding.edit.is_none());
        for (from, to) in [
            ("S2_{", "x"),
            ("{}", "x"),
            ("{n}{n}", "x"),
            ("S2_{date}_{band}.tif", "{other}"),
            ("S2_{date}_{band}.tif", "{b"),
        ] {
            assert!(run(from, to).is_err(), "{from} {to}");
        }
        assert_eq!(
            proposed_pattern(&data, &[1]),
            Some(("S2_{date}_B4.tif".into(), "S2_B4.tif".into()))
        );
    }

    #[test]
    fn dates_and_numbers_that_tell_samples_apart_are_not_dropped_from_names() {
        let file = |id: &str| Sample::file(id, "/x", 1);
        let series = |ids: &[[&str; 2]]| {
            let root = |(number, ids): (usize, &[&str; 2])| {
                Sample::folder(
                    &format!("r{number}"),
                    Tortilla::new(ids.iter().map(|id| file(id)).collect()),
                )
            };
            Dataset {
                root: Tortilla::new(ids.iter().enumerate().map(root).collect()).into(),
                ..Dataset::default()
            }
        };
        let dates = series(&[
            ["20200101.tif", "20200108.tif"],
            ["20200103.tif", "20200110.tif"],
        ]);
        let steps = series(&[["s2_01.tif", "s2_02.tif"], ["s2_03.tif", "s2_04.tif"]]);
        let alone = series(&[["20200101.tif", "label.tif"], ["20200103.tif", "label.tif"]]);
        for (data, from) in [
            (&dates, "{date}.tif"),
            (&steps, "s2_{n}.tif"),
            (&alone, "{date}.tif"),
        ] {
            assert_eq!(
                proposed_pattern(data, &[0]),
                Some((from.into(), from.into()))
            );
            let found = renaming(data, &[0], from, from, &JobContext::default())
                .expect("reads the pattern");
            assert_eq!((found.names.len(), found.edit), (0, None));
        }
    }
}
