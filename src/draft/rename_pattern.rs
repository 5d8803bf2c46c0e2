//! Renames the samples at one position of all roots by a pattern, `label_{n}.tif` to `label.tif`,
//! or numbers their siblings by date or number: `{date}.tif` to `t{##}.tif`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::Edit;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, NamePattern, NodePath, PartKind, Tortilla, check_sample_id};

/// Preview of a renaming by pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Renaming {
    /// Number of samples at the position.
    pub total: usize,
    /// The samples that match and whose ids change, in the order of roots.
    pub renamed: Vec<IdChange>,
    /// Number of samples that have the new id already.
    pub unchanged: usize,
    /// Number of samples that do not match.
    pub unmatched: usize,
    /// Number of new ids that a sibling has, or that are not valid.
    pub colliding: usize,
    /// The edit; `None` when there is nothing to rename or ids collide.
    pub edit: Option<Edit>,
}

/// A sample with a new id.
#[derive(Clone, Debug, PartialEq)]
pub struct IdChange {
    /// Id of the root above the sample.
    pub root: Arc<str>,
    pub old: Arc<str>,
    pub new: Arc<str>,
}

/// Maximum number of siblings whose ids are compared with one sample's, and of roots in which they
/// are compared.
const COMPARED_SIBLINGS: usize = 500;
const COMPARED_ROOTS: usize = 1000;

/// Begins the part of a new name that is replaced by the number of the sample among its siblings.
/// The number has at least as many digits as the part has `#`.
const NUMBER_PART: &str = "{#";

/// A new id: parts in braces are replaced by those of the old id, and `{#}` by `number`.
fn fill_template(
    to: &str,
    pattern: &NamePattern,
    texts: &[&str],
    number: Option<usize>,
) -> Result<String> {
    let mut text = String::new();
    let mut rest = to;
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}').map(|end| start + end) else {
            return Err(Error::usage(format!(
                "the new name {to} has a {{ without its }}"
            )));
        };
        let name = &rest[start + 1..end];
        if let Some(number) = number
            && name.bytes().all(|byte| byte == b'#')
        {
            text += &rest[..start];
            text += &format!("{number:0width$}", width = name.len());
            rest = &rest[end + 1..];
            continue;
        }
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

/// The tortilla at `place` below each root: path, id of the root, tortilla.
fn tortillas_at<'a>(
    dataset: &'a Dataset,
    place: &[u32],
) -> Vec<(NodePath, &'a Arc<str>, &'a Tortilla)> {
    let mut found = Vec::new();
    for (root, sample) in (0u32..).zip(&dataset.root.samples) {
        let mut tortilla = sample.children();
        for &index in place {
            tortilla =
                tortilla.and_then(|tortilla| tortilla.samples.get(index as usize)?.children());
        }
        if let Some(tortilla) = tortilla {
            found.push((NodePath([&[root], place].concat()), &sample.id, &**tortilla));
        }
    }
    found
}

/// The sample at `place` below each root: path, id of the root, tortilla that holds it.
fn samples_at<'a>(
    dataset: &'a Dataset,
    place: &[u32],
) -> Vec<(NodePath, &'a Arc<str>, &'a Tortilla)> {
    let Some((&last, above)) = place.split_last() else {
        return Vec::new();
    };
    let mut found = tortillas_at(dataset, above);
    found.retain(|(_, _, tortilla)| {
        let sample = tortilla.samples.get(last as usize);
        sample.is_some_and(|sample| !sample.is_padding())
    });
    for (path, _, _) in &mut found {
        path.0.push(last);
    }
    found
}

/// Previews renaming the samples at `place` (positions from level 1 down) from one pattern to
/// another. A new name with `{#}` numbers, from 0 on, all their siblings that match, in the order
/// of their dates or numbers, and brings them into that order.
///
/// # Errors
/// For a pattern that can't be read, and when the job is cancelled.
pub fn preview_renaming(
    dataset: &Dataset,
    place: &[u32],
    from: &str,
    to: &str,
    ctx: &JobContext,
) -> Result<Renaming> {
    let pattern = NamePattern::new(from)?;
    if to.contains(NUMBER_PART) {
        return number_siblings(dataset, place, &pattern, to, ctx);
    }
    let mut renaming = Renaming::default();
    let mut edits: Vec<(NodePath, Arc<str>)> = Vec::new();
    for (path, root, tortilla) in samples_at(dataset, place) {
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
        let id: Arc<str> = fill_template(to, &pattern, &texts, None)?.into();
        if id == sample.id {
            renaming.unchanged += 1;
            continue;
        }
        let is_taken = tortilla.samples.iter().any(|sibling| sibling.id == id);
        renaming.colliding += usize::from(is_taken || check_sample_id(&id).is_err());
        renaming.renamed.push(IdChange {
            root: root.clone(),
            old: sample.id.clone(),
            new: id.clone(),
        });
        edits.push((path, id));
    }
    renaming.edit =
        (!edits.is_empty() && renaming.colliding == 0).then_some(Edit::RenameMany { names: edits });
    Ok(renaming)
}

/// What orders a sample among its siblings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SiblingKey {
    /// Digits of year, month and day.
    Date(String),
    Number(i128),
    /// The samples keep their order.
    None,
}

impl SiblingKey {
    /// The first date in a name, else the first number.
    fn from_parts(pattern: &NamePattern, texts: &[&str]) -> Self {
        let text_of = |kind: PartKind| find_part_text(pattern, texts, kind);
        if let Some(date) = text_of(PartKind::Date) {
            return Self::Date(date.chars().filter(char::is_ascii_digit).collect());
        }
        let number = text_of(PartKind::Integer).and_then(|text| text.parse().ok());
        number.map_or(Self::None, Self::Number)
    }
}

/// The text of the first part of this kind.
fn find_part_text<'a>(pattern: &NamePattern, texts: &[&'a str], kind: PartKind) -> Option<&'a str> {
    let mut parts = pattern.parts().iter().zip(texts);
    parts
        .find(|(part, _)| part.kind == kind)
        .map(|(_, text)| *text)
}

/// Previews numbering the siblings of the samples at `place`.
fn number_siblings(
    dataset: &Dataset,
    place: &[u32],
    pattern: &NamePattern,
    to: &str,
    ctx: &JobContext,
) -> Result<Renaming> {
    let mut renaming = Renaming::default();
    let (mut edits, mut names) = (Vec::new(), Vec::new());
    let above = place.split_last().map_or(place, |(_, above)| above);
    for (parent, root, tortilla) in tortillas_at(dataset, above) {
        ctx.check()?;
        let mut matching = Vec::new();
        let mut unmatched_ids: HashSet<&str> = HashSet::new();
        for (index, sample) in (0u32..).zip(&tortilla.samples) {
            if sample.is_padding() {
                continue;
            }
            renaming.total += 1;
            match pattern.texts(&sample.id) {
                Some(texts) => {
                    let key = SiblingKey::from_parts(pattern, &texts);
                    matching.push((key, index, sample, texts));
                }
                None => {
                    renaming.unmatched += 1;
                    unmatched_ids.insert(&sample.id);
                }
            }
        }
        // The positions of the matching samples, in which they are put in their new order.
        let slots: Vec<u32> = matching.iter().map(|(_, index, ..)| *index).collect();
        matching.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let mut order: Vec<u32> = (0..tortilla.samples.len() as u32).collect();
        for (number, ((_, index, sample, texts), slot)) in matching.iter().zip(slots).enumerate() {
            order[slot as usize] = *index;
            let id: Arc<str> = fill_template(to, pattern, texts, Some(number))?.into();
            if id == sample.id {
                renaming.unchanged += 1;
                continue;
            }
            let is_taken = unmatched_ids.contains(&*id) || check_sample_id(&id).is_err();
            renaming.colliding += usize::from(is_taken);
            renaming.renamed.push(IdChange {
                root: root.clone(),
                old: sample.id.clone(),
                new: id.clone(),
            });
            names.push((NodePath([&*parent.0, &[slot]].concat()), id));
        }
        if !order.is_sorted() {
            edits.push(Edit::Reorder { parent, order });
        }
    }
    if (edits.is_empty() && names.is_empty()) || renaming.colliding > 0 {
        return Ok(renaming);
    }
    if !names.is_empty() {
        edits.push(Edit::RenameMany { names });
    }
    renaming.edit = Some(Edit::Batch {
        label: tr!("Number samples by date").into(),
        edits,
    });
    Ok(renaming)
}

/// A pattern that most ids at a position match, and a name without the parts that differ:
/// `label_{n}.tif` and `label.tif`. Where only the number or date distinguishes the samples
/// (siblings have the same name with another one, or nothing else is left of the name), both are
/// the same, so that nothing is renamed until the user gives a new name. `None` when all ids are
/// equal.
pub fn propose_pattern(dataset: &Dataset, place: &[u32]) -> Option<(String, String)> {
    let mut counts: HashMap<String, (usize, String)> = HashMap::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut distinguishing: HashSet<String> = HashSet::new();
    for (number, (path, _, tortilla)) in samples_at(dataset, place).into_iter().enumerate() {
        let position = *path.0.last()? as usize;
        let id = &*tortilla.samples.get(position)?.id;
        *ids.entry(id).or_default() += 1;
        let (pattern, plain) = generalize_id(id);
        let has_sibling = || has_sibling_of_form(tortilla, position, &pattern);
        if number < COMPARED_ROOTS && !distinguishing.contains(&pattern) && has_sibling() {
            distinguishing.insert(pattern.clone());
        }
        counts.entry(pattern).or_insert((0, plain)).0 += 1;
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

/// The longest run of digits; of several, the last one.
fn find_longest_number(text: &str) -> Option<Range<usize>> {
    let mut longest: Option<Range<usize>> = None;
    let mut start = 0;
    for (end, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        if letter.is_ascii_digit() {
            continue;
        }
        if end > start
            && longest
                .as_ref()
                .is_none_or(|range| end - start >= range.len())
        {
            longest = Some(start..end);
        }
        start = end + letter.len_utf8();
    }
    longest
}

/// True where another of the first siblings has the same id with another number or date.
fn has_sibling_of_form(tortilla: &Tortilla, position: usize, form: &str) -> bool {
    let others = tortilla
        .samples
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != position);
    others
        .take(COMPARED_SIBLINGS)
        .any(|(_, sibling)| generalize_id(&sibling.id).0 == form)
}

/// An id with its longest run of digits as a field, and the id without it and the separator before
/// it; with it where no letter is left before the extension. A date is a field of its own.
fn generalize_id(id: &str) -> (String, String) {
    let unchanged = (id.to_owned(), id.to_owned());
    let date = find_date(id).map(|range| (range, "{date}"));
    let digits = || Some((find_longest_number(id)?, "{n}"));
    let Some((range, field)) = date.or_else(digits) else {
        return unchanged;
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
    // Of a number alone only the extension would be left.
    let is_name = (!before.is_empty() || has_letters_in_stem(after))
        && has_letters_in_stem(&kept)
        && check_sample_id(&kept).is_ok();
    (from.clone(), if is_name { kept } else { from })
}

/// The first date: eight digits, or a year, month and day with `-` or `_` between them.
fn find_date(id: &str) -> Option<Range<usize>> {
    const DATE_FORMS: [&[u8]; 2] = [b"dddddddd", b"dddd-dd-dd"];
    let id = id.as_bytes();
    (0..id.len()).find_map(|start| {
        let rest = &id[start..];
        let form = DATE_FORMS.iter().find(|form| has_date_form(rest, form))?;
        Some(start..start + form.len())
    })
}

/// True where the text begins with a digit for each `d`, and with `-` or `_` for others.
fn has_date_form(text: &[u8], form: &[u8]) -> bool {
    let mut letters = text.iter().zip(form);
    text.len() >= form.len() && letters.all(|(letter, form)| is_letter_of_date(*letter, *form))
}

fn is_letter_of_date(letter: u8, form: u8) -> bool {
    match form {
        b'd' => letter.is_ascii_digit(),
        _ => matches!(letter, b'-' | b'_'),
    }
}

fn has_letters_in_stem(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sample;

    fn dataset(labels: &[&str]) -> Dataset {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let root = |(number, label): (usize, &&str)| {
            Sample::new_folder(
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
            propose_pattern(&data, &[1]),
            Some(("label_{n}.tif".into(), "label.tif".into()))
        );
        assert_eq!(propose_pattern(&data, &[0]), None);
        let found = preview_renaming(
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
                found.renamed.len(),
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
    fn siblings_are_numbered_by_date_in_every_root() {
        let file = |id: &&str| Sample::new_file(id, "/x", 1);
        let root = |id: &str, names: &[&str]| {
            Sample::new_folder(id, Tortilla::new(names.iter().map(file).collect()))
        };
        let mut data = Dataset {
            root: Tortilla::new(vec![
                root("a", &["2021-03-04.tif", "2021-01-02.tif", "label.tif"]),
                root(
                    "b",
                    &[
                        "2020-12-31.tif",
                        "label.tif",
                        "2021_01_01.tif",
                        "20200101.tif",
                    ],
                ),
                root("c", &["label.tif"]),
            ])
            .into(),
            ..Dataset::default()
        };
        let before = data.clone();
        let run =
            |to: &str| preview_renaming(&before, &[2], "{date}.tif", to, &JobContext::default());
        let found = run("t{##}.tif").expect("reads the pattern");
        assert_eq!(
            (
                found.total,
                found.renamed.len(),
                found.unmatched,
                found.colliding
            ),
            (8, 5, 3, 0)
        );
        let back = found
            .edit
            .expect("an edit")
            .apply(&mut data)
            .expect("renames");
        let ids = |root: usize| {
            let children = data.root.samples[root].children().expect("children");
            children
                .samples
                .iter()
                .map(|sample| sample.id.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(0), ["t00.tif", "t01.tif", "label.tif"]);
        assert_eq!(ids(1), ["t00.tif", "label.tif", "t01.tif", "t02.tif"]);
        let old: Vec<&str> = found.renamed.iter().map(|renamed| &*renamed.old).collect();
        assert_eq!(
            old,
            [
                "2021-01-02.tif",
                "2021-03-04.tif",
                "20200101.tif",
                "2020-12-31.tif",
                "2021_01_01.tif"
            ]
        );
        back.apply(&mut data).expect("undoes");
        assert_eq!(data, before);
        assert_eq!(
            run("{#}.tif").expect("reads").renamed[0].new.as_ref(),
            "0.tif"
        );
        let colliding = preview_renaming(
            &before,
            &[0],
            "{date}.tif",
            "label.tif{#",
            &JobContext::default(),
        );
        assert!(colliding.is_err(), "a brace that is not closed");
    }

    #[test]
    fn parts_are_kept_by_name_and_collisions_stop_it() {
        let data = dataset(&["S2_20240131_B4.tif", "S2_20240205_B4.tif"]);
        let run =
            |from: &str, to: &str| preview_renaming(&data, &[1], from, to, &JobContext::default());
        let found = run("S2_{date}_{band}.tif", "{band}.tif").expect("reads the pattern");
        assert_eq!(
            found
                .renamed
                .iter()
                .map(|renamed| &*renamed.new)
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
            propose_pattern(&data, &[1]),
            Some(("S2_{date}_B4.tif".into(), "S2_B4.tif".into()))
        );
    }

    #[test]
    fn dates_and_numbers_that_tell_samples_apart_are_not_dropped_from_names() {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let series = |ids: &[[&str; 2]]| {
            let root = |(number, ids): (usize, &[&str; 2])| {
                Sample::new_folder(
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
                propose_pattern(data, &[0]),
                Some((from.into(), from.into()))
            );
            let found = preview_renaming(data, &[0], from, from, &JobContext::default())
                .expect("reads the pattern");
            assert_eq!((found.renamed.len(), found.edit), (0, None));
        }
    }
}
