//! Checks ids and the position-invariant tree (TACO 2.0, section 5.4), on all levels and for every
//! root.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::{
    Location, MAX_LEVELS, Report, Rule, ShapeChild, ShapeUse, Skeleton, SkeletonLevel,
    check_portable_name, check_sample_id, common_shape, in_nfc, is_padding, without_case,
};
use crate::text::PrintableLine;

pub(super) fn sample_location(tree: &Skeleton, level: usize, row: u32) -> Location {
    Location::Sample {
        level,
        row,
        path: tree.path(level, row),
    }
}

/// Checks ids, and their uniqueness among siblings. For joined datasets, `part` returns the dataset
/// of a root, as different datasets may use equal ids.
pub fn check_ids(tree: &Skeleton, part: Option<&dyn Fn(u32) -> usize>, report: &mut Report) {
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            let id = level.id(row);
            if let Err(fault) = check_sample_id(id) {
                let message = tr!(
                    "The id \"{id}\" {fault}.",
                    id = id.escape_default(),
                    fault = fault.localized_text()
                );
                report.add(
                    Rule::IdCharacters,
                    sample_location(tree, depth, row),
                    message,
                );
            } else if let Err(fault) = check_portable_name(id) {
                let message = tr!(
                    "The id \"{id}\" {fault}.",
                    id = id.escape_default(),
                    fault = fault.localized_text()
                );
                report.add(Rule::IdPortable, sample_location(tree, depth, row), message);
            }
        }
    }
    let roots: Vec<u32> = tree
        .levels
        .first()
        .map_or(Vec::new(), |level| (0..level.len() as u32).collect());
    match part {
        None => check_siblings(tree, 0, &roots, report),
        Some(part) => {
            let mut by_part: std::collections::BTreeMap<usize, Vec<u32>> =
                std::collections::BTreeMap::new();
            roots
                .into_iter()
                .for_each(|row| by_part.entry(part(row)).or_default().push(row));
            by_part
                .values()
                .for_each(|rows| check_siblings(tree, 0, rows, report));
        }
    }
    for depth in 1..tree.levels.len() {
        for parent in 0..tree.levels[depth - 1].len() as u32 {
            check_siblings(tree, depth, tree.levels[depth - 1].children(parent), report);
        }
    }
}

/// Finds siblings whose names differ only in case, or in case and Unicode form. Roots are compared
/// only with `roots`, not those of several datasets.
pub fn check_case(tree: &Skeleton, roots: bool, report: &mut Report) {
    for (depth, level) in tree.levels.iter().enumerate() {
        let rows = level.len() as u32;
        if !(0..rows).any(|row| may_differ_in_case(level.id(row))) || (depth == 0 && !roots) {
            continue;
        }
        if depth == 0 {
            for (row, twin) in case_twins((0..rows).map(|row| level.id(row))) {
                let message = case_message(level.id(row as u32), level.id(twin as u32));
                report.add(
                    Rule::IdPortable,
                    sample_location(tree, depth, row as u32),
                    message,
                );
            }
            continue;
        }
        for parent in 0..tree.levels[depth - 1].len() as u32 {
            let siblings = tree.levels[depth - 1].children(parent);
            for (place, twin) in case_twins(siblings.iter().map(|&row| level.id(row))) {
                let message = case_message(level.id(siblings[place]), level.id(siblings[twin]));
                report.add(
                    Rule::IdPortable,
                    sample_location(tree, depth, siblings[place]),
                    message,
                );
            }
        }
    }
}

/// Most ids are in lower case; two of these cannot differ only in case.
fn may_differ_in_case(id: &str) -> bool {
    id.bytes()
        .any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
}

/// Places of ids that differ from an earlier one in case, or in case and Unicode form, with the
/// place of that one. Those that differ in Unicode form alone are [`unicode_twins`].
pub(super) fn case_twins<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<(usize, usize)> {
    let mut seen: HashMap<String, (usize, &'a str)> = HashMap::new();
    let mut twins = Vec::new();
    for (place, id) in ids.enumerate() {
        let (first, known) = *seen.entry(without_case(id)).or_insert((place, id));
        if known != id && in_nfc(known) != in_nfc(id) {
            twins.push((place, first));
        }
    }
    twins
}

/// Message about two ids that differ in case alone.
pub(super) fn case_message(id: &str, other: &str) -> String {
    let (id, other) = (id.printable_line(), other.printable_line());
    tr!(
        "{id} differs from its sibling {other} in case alone, so some systems hold only one of \
            them.",
        id,
        other
    )
}

fn check_siblings(tree: &Skeleton, depth: usize, rows: &[u32], report: &mut Report) {
    // A draft without samples has no levels.
    let Some(level) = tree.levels.get(depth) else {
        return;
    };
    let mut seen = std::collections::HashSet::with_capacity(rows.len());
    for &row in rows {
        if !seen.insert(level.id(row)) {
            let message = tr!(
                "Duplicate id {id} among siblings. Rename or drop one of them.",
                id = level.id(row)
            );
            report.add(Rule::IdUnique, sample_location(tree, depth, row), message);
        }
    }
    for (row, twin) in unicode_twins(rows.iter().map(|&row| level.id(row))) {
        let (row, twin) = (rows[row], level.id(rows[twin]));
        report.add(
            Rule::IdUnicode,
            sample_location(tree, depth, row),
            unicode_message(level.id(row), twin),
        );
    }
}

/// Places of ids that differ from an earlier one in Unicode form alone, with the place of that one.
pub(super) fn unicode_twins<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<(usize, usize)> {
    let mut seen: HashMap<Cow<'a, str>, (usize, &'a str)> = HashMap::new();
    let mut twins = Vec::new();
    for (place, id) in ids.enumerate().filter(|(_, id)| !id.is_ascii()) {
        let (first, known) = *seen.entry(in_nfc(id)).or_insert((place, id));
        if known != id {
            twins.push((place, first));
        }
    }
    twins
}

/// Message about two ids that differ in Unicode form alone; they look alike.
pub(super) fn unicode_message(id: &str, other: &str) -> String {
    let (id, other) = (id.escape_default(), other.escape_default());
    tr!(
        "{id} and its sibling {other} are one name in two Unicode forms.",
        id,
        other
    )
}

/// Checks PIT-1 on all levels, types of level 0, empty FOLDERs and depth.
///
/// The root in row `pattern` of level 0 is what the others are compared with; without one, the most
/// frequent shape.
pub fn check_tree(tree: &Skeleton, pattern: Option<u32>, report: &mut Report) {
    let Some(top) = tree.levels.first().filter(|level| !level.is_empty()) else {
        return;
    };
    if tree.levels.len() > MAX_LEVELS {
        let levels = tree.levels.len();
        let message = tr!(
            "The dataset is {levels} levels deep; {limit} is the limit.",
            levels,
            limit = MAX_LEVELS
        );
        report.add(Rule::PitDepth, Location::Dataset, message);
    }
    let folders = top.folder.iter().filter(|&&folder| folder).count();
    if folders != 0 && folders != top.len() {
        let files = top.len() - folders;
        let odd_is_folder = folders < files;
        let row = top
            .folder
            .iter()
            .position(|&folder| folder == odd_is_folder)
            .unwrap_or_default() as u32;
        let message = tr!(
            "Level 0 holds {folders} FOLDERs and {files} FILEs; all have to be of one type. Wrap \
                the FILEs into tortillas, or drop them.",
            folders,
            files
        );
        report.add(Rule::PitMixed, sample_location(tree, 0, row), message);
    }
    check_empty(tree, report);
    let shapes = shapes(tree);
    let mut counts: HashMap<u64, (usize, u32)> = HashMap::new();
    for (row, &shape) in shapes.iter().enumerate() {
        counts.entry(shape).or_insert((0, row as u32)).0 += 1;
    }
    if counts.len() < 2 {
        return;
    }
    let Some((model, is_common)) = pattern
        .map(|row| (row, true))
        .or_else(|| find_common_root(tree, &counts))
    else {
        return;
    };
    let mut compared = Report::default();
    for (row, &shape) in shapes.iter().enumerate() {
        if shape != shapes[model as usize] && top.folder[row] == top.folder[model as usize] {
            compare(
                tree,
                0,
                model,
                row as u32,
                if is_common {
                    &mut *report
                } else {
                    &mut compared
                },
            );
        }
    }
    if !compared.findings.is_empty() {
        let sizes = counts
            .values()
            .map(|&(_, first)| size_below(tree, 0, first))
            .collect();
        report_tie(top.len(), sizes, report);
    }
}

/// The root that is the pattern, as in the structure view of a draft, and whether it is common.
/// `counts` has the number of the roots and the first of them by their shape.
fn find_common_root(tree: &Skeleton, counts: &HashMap<u64, (usize, u32)>) -> Option<(u32, bool)> {
    let uses: Vec<ShapeUse> = counts
        .values()
        .map(|&(count, first)| ShapeUse {
            roots: count as u64,
            first: first as usize,
            samples: size_below(tree, 0, first),
        })
        .collect();
    let found = common_shape(&uses, |index| {
        let first = uses[index].first as u32;
        let mut all = vec![ShapeChild::root(tree.levels[0].folder[first as usize])];
        descendants(tree, 0, first, ShapeChild::ROOT_KEY, None, &mut all);
        all
    });
    found.map(|found| (uses[found.index].first as u32, found.is_common))
}

/// Reports that no shape is the pattern, instead of differences from a root that was chosen by
/// chance. `sizes` are the numbers of samples of the shapes.
pub(super) fn report_tie(roots: usize, sizes: Vec<u64>, report: &mut Report) {
    let shapes = sizes.len();
    let message = match sizes.first() {
        Some(samples) if sizes.iter().all(|size| size == samples) => tr_n!(
            *samples,
            "The {roots} roots have {shapes} shapes, {samples} sample each: no shape has a \
                majority, so there is no pattern to compare with. Give the samples the same ids in \
                every root, or choose a root under Structure, Pattern from.",
            "The {roots} roots have {shapes} shapes, {samples} samples each: no shape has a \
                majority, so there is no pattern to compare with. Give the samples the same ids in \
                every root, or choose a root under Structure, Pattern from.",
            roots,
            shapes,
            samples
        ),
        _ => tr!(
            "The {roots} roots have {shapes} shapes, and none of them is common: there is no \
                pattern to compare with. Give the samples the same ids in every root, or choose a \
                root under Structure, Pattern from.",
            roots,
            shapes
        ),
    };
    report.add(Rule::PitRoots, Location::Dataset, message);
}

/// Checks PIT-5.
pub(super) fn check_empty(tree: &Skeleton, report: &mut Report) {
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            if level.folder[row as usize] && level.children(row).is_empty() {
                let path = tree.path(depth, row);
                let message = tr!(
                    "{path} is a FOLDER without children. Add its files, or drop it.",
                    path
                );
                report.add(
                    Rule::PitEmptyFolder,
                    sample_location(tree, depth, row),
                    message,
                );
            }
        }
    }
}

/// Number of descendants of a FOLDER.
fn size_below(tree: &Skeleton, depth: usize, row: u32) -> u64 {
    tree.levels[depth]
        .children(row)
        .iter()
        .map(|&child| 1 + size_below(tree, depth + 1, child))
        .sum()
}

/// The descendants of a FOLDER, without those of padding.
fn descendants(
    tree: &Skeleton,
    depth: usize,
    row: u32,
    parent: u64,
    parent_at: Option<usize>,
    all: &mut Vec<ShapeChild>,
) {
    let Some(next) = tree.levels.get(depth + 1) else {
        return;
    };
    for (index, &child) in tree.levels[depth].children(row).iter().enumerate() {
        let found = ShapeChild::new(
            parent,
            parent_at,
            index,
            next.id(child),
            next.folder[child as usize],
        );
        all.push(found);
        if !found.is_padding {
            descendants(tree, depth + 1, child, found.key, Some(all.len() - 1), all);
        }
    }
}

/// A number for each root: equal for subtrees with equal ids and types by position.
fn shapes(tree: &Skeleton) -> Vec<u64> {
    let mut below: Vec<u64> = Vec::new();
    for (depth, level) in tree.levels.iter().enumerate().rev() {
        let mut here = Vec::with_capacity(level.len());
        for row in 0..level.len() as u32 {
            let mut hasher = DefaultHasher::new();
            level.folder[row as usize].hash(&mut hasher);
            if let Some(next) = tree.levels.get(depth + 1) {
                for &child in level.children(row) {
                    in_nfc(next.id(child)).hash(&mut hasher);
                    below[child as usize].hash(&mut hasher);
                }
            }
            here.push(hasher.finish());
        }
        below = here;
    }
    below
}

/// True for one name in any Unicode forms.
fn is_same_name(one: &str, other: &str) -> bool {
    one == other || in_nfc(one) == in_nfc(other)
}

/// Reports how the FOLDER in `row` differs from the one in `model`, at the deepest level that
/// differs.
pub(super) fn compare(tree: &Skeleton, depth: usize, model: u32, row: u32, report: &mut Report) {
    let (level, next) = (&tree.levels[depth], tree.levels.get(depth + 1));
    let Some(next) = next else { return };
    let (wanted, found) = (level.children(model), level.children(row));
    let path = tree.path(depth, row);
    if wanted.len() != found.len() {
        let message = if found.len() < wanted.len() {
            let names: HashSet<_> = found.iter().map(|&f| in_nfc(next.id(f))).collect();
            let missing: Vec<&str> = wanted
                .iter()
                .map(|&w| next.id(w))
                .filter(|id| !names.contains(&in_nfc(id)))
                .take(8)
                .collect();
            let (here, count, needed) = (list_first_ids(next, found), found.len(), wanted.len());
            if missing.is_empty() {
                tr_n!(
                    count,
                    "{path} holds {count} child; the pattern needs {needed}. Found {here}. Place \
                        the missing files, or pad the position.",
                    "{path} holds {count} children; the pattern needs {needed}. Found {here}. \
                        Place the missing files, or pad the position.",
                    path,
                    count,
                    needed,
                    here
                )
            } else {
                tr_n!(
                    count,
                    "{path} holds {count} child; the pattern needs {needed}. Found {here}. Place \
                        {missing}, or pad the position.",
                    "{path} holds {count} children; the pattern needs {needed}. Found {here}. \
                        Place {missing}, or pad the position.",
                    path,
                    count,
                    needed,
                    here,
                    missing = missing.join(", ")
                )
            }
        } else {
            tr!(
                "{path} holds {count} children; the pattern has {needed}. Found {here}; expected \
                    {pattern}. Drop the extra ones.",
                path,
                count = found.len(),
                needed = wanted.len(),
                here = list_first_ids(next, found),
                pattern = list_first_ids(next, wanted)
            )
        };
        report.add(Rule::PitRoots, sample_location(tree, depth, row), message);
        return;
    }
    let in_order = wanted
        .iter()
        .zip(found)
        .all(|(&w, &f)| is_same_name(next.id(w), next.id(f)));
    if !in_order && have_same_ids(next, wanted, found) {
        let (here, pattern) = (list_first_ids(next, found), list_first_ids(next, wanted));
        let message = tr!(
            "Children of {path} are {here}; the pattern is {pattern}. Reorder them.",
            path,
            here,
            pattern
        );
        report.add(Rule::PitRoots, sample_location(tree, depth, row), message);
        return;
    }
    for (position, (&w, &f)) in wanted.iter().zip(found).enumerate() {
        let place = sample_location(tree, depth + 1, f);
        if next.folder[w as usize] != next.folder[f as usize] {
            let message = tr!(
                "{path} is a {found}; the pattern has a {wanted} at position {position}.",
                path = tree.path(depth + 1, f),
                found = next.kind(f),
                wanted = next.kind(w),
                position
            );
            report.add(Rule::PitRoots, place, message);
        } else if !is_same_name(next.id(w), next.id(f))
            && !is_padding(next.id(f))
            && !is_padding(next.id(w))
        {
            let message = tr!(
                "Position {position} of {path} is {found}; the pattern says {wanted}. Rename it if \
                    it is the same thing.",
                position,
                path,
                found = next.id(f),
                wanted = next.id(w)
            );
            report.add(Rule::PitRoots, place, message);
        } else if next.folder[f as usize] {
            compare(tree, depth + 1, w, f, report);
        }
    }
}

fn list_first_ids(level: &SkeletonLevel, rows: &[u32]) -> String {
    let shown: Vec<&str> = rows.iter().take(8).map(|&row| level.id(row)).collect();
    if rows.len() > 8 {
        format!("{} …", shown.join(" "))
    } else {
        shown.join(" ")
    }
}

/// True for rows with the same ids in any order.
fn have_same_ids(level: &SkeletonLevel, wanted: &[u32], found: &[u32]) -> bool {
    let mut a: Vec<_> = wanted.iter().map(|&r| in_nfc(level.id(r))).collect();
    let mut b: Vec<_> = found.iter().map(|&r| in_nfc(level.id(r))).collect();
    a.sort_unstable();
    b.sort_unstable();
    a == b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, Tortilla};

    fn file(id: &str) -> Sample {
        Sample::new_file(id, "/x", 1)
    }

    fn folder(id: &str, children: Vec<Sample>) -> Sample {
        Sample::new_folder(id, Tortilla::new(children))
    }

    fn scene(id: &str, times: &[&str]) -> Sample {
        folder(
            id,
            vec![
                folder("s2", times.iter().map(|t| file(t)).collect()),
                file("label"),
            ],
        )
    }

    fn findings(roots: Vec<Sample>) -> Vec<(Rule, String, String)> {
        let tree = Skeleton::from_dataset(&Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        });
        let mut report = Report::default();
        check_ids(&tree, None, &mut report);
        check_tree(&tree, None, &mut report);
        report
            .findings
            .into_iter()
            .map(|f| (f.rule, f.at.to_string(), f.message))
            .collect()
    }

    #[test]
    fn one_shape_is_clean() {
        assert_eq!(
            findings(vec![scene("a", &["t0", "t1"]), scene("b", &["t0", "t1"])]),
            []
        );
        assert_eq!(findings(vec![file("a"), file("b")]), []);
    }

    #[test]
    fn names_in_two_unicode_forms_are_one_position() {
        let (nfc, nfd) = ("\u{f1}.tif", "n\u{303}.tif");
        assert_eq!(
            findings(vec![
                scene("a", &[nfc, "t"]),
                scene("b", &[nfd, "t"]),
                scene("c", &[nfc, "t"])
            ]),
            []
        );
        let found = findings(vec![
            scene("a", &[nfc, "t"]),
            scene("b", &["t", nfd]),
            scene("c", &[nfc, "t"]),
        ]);
        assert!(
            found.len() == 1 && found[0].2.contains("Reorder"),
            "{found:?}"
        );
    }

    #[test]
    fn a_draft_without_samples_goes_through() {
        assert_eq!(findings(Vec::new()), []);
    }

    #[test]
    fn a_missing_grandchild_is_found_where_it_is_missing() {
        let all = ["t0", "t1"];
        let found = findings(vec![
            scene("a", &all),
            scene("b", &["t0"]),
            scene("c", &all),
            scene("d", &["t0", "tX"]),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            (found[0].0, found[0].1.as_str()),
            (Rule::PitRoots, "b / s2")
        );
        assert!(found[0].2.contains("Place t1"), "{}", found[0].2);
        assert_eq!(found[1].1, "d / s2 / tX");
        assert!(found[1].2.contains("the pattern says t1"));
    }

    #[test]
    fn one_missing_among_very_many_is_named() {
        let files = |count: usize| (0..count).map(|n| file(&format!("scene_{n}"))).collect();
        let found = findings(vec![
            folder("images", files(60_000)),
            folder("masks", files(59_999)),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].1 == "masks" && found[0].2.contains("scene_59999"),
            "{found:?}"
        );
    }

    #[test]
    fn order_and_type_are_separate_findings() {
        let model = || folder("a", vec![file("x"), file("y")]);
        let swapped = folder("b", vec![file("y"), file("x")]);
        let typed = folder("c", vec![file("x"), folder("y", vec![file("z")])]);
        let again = folder("d", vec![file("x"), file("y")]);
        let found = findings(vec![model(), swapped, typed, again]);
        assert!(found.iter().any(|f| f.2.contains("Reorder")), "{found:?}");
        assert!(
            found
                .iter()
                .any(|f| f.1 == "c / y" && f.2.contains("is a FOLDER")),
            "{found:?}"
        );
    }

    #[test]
    fn mixed_roots_empty_folders_and_twins() {
        let found = findings(vec![file("a"), file("a"), folder("b", vec![])]);
        let rules: Vec<Rule> = found.iter().map(|f| f.0).collect();
        assert!(
            rules.contains(&Rule::PitMixed)
                && rules.contains(&Rule::PitEmptyFolder)
                && rules.contains(&Rule::IdUnique),
            "{found:?}"
        );
    }
}
