//! Data for the structure view of the window: one root compared with the pattern, an overview of
//! the whole dataset with one row per pixel, and the planned fixes of many roots. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::structure::align_samples;
use super::{Care, Edit, Fix, FixVerb, PositionState, Structure};
use crate::error::Result;
use crate::model::{Dataset, Finding, Location, NodePath, Rule, SampleKind, SamplePath, Tortilla};

/// State and sample of one position of the pattern in one root.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternCell {
    pub state: PositionState,
    /// The parent FOLDER is missing or is a FILE, so no sample can be at this position.
    pub unreachable: bool,
    /// The sample at this position, or the one matched with it.
    pub found: Option<NodePath>,
    /// Its id. With a wrong order, the id of the sample found at this position.
    pub id: Option<Arc<str>>,
    /// Its type.
    pub kind: Option<SampleKind>,
}

/// One root compared with the pattern: an entry per position, and the samples without a position.
/// Empty without a pattern.
pub fn places(
    dataset: &Dataset,
    structure: &Structure,
    root: usize,
) -> (Vec<PatternCell>, Vec<NodePath>) {
    let model = structure
        .model()
        .and_then(|model| dataset.root.samples.get(model));
    let sample = dataset.root.samples.get(root);
    let mut beside = BesidePattern {
        places: Vec::with_capacity(structure.pattern().len()),
        extra: Vec::new(),
    };
    let (Some(wanted), Some(sample)) = (model.and_then(|model| model.children()), sample) else {
        return (Vec::new(), Vec::new());
    };
    match sample.children() {
        Some(found) => beside.compare(wanted, found, &NodePath(vec![root as u32])),
        None => beside.nothing(wanted),
    }
    (beside.places, beside.extra)
}

struct BesidePattern {
    places: Vec<PatternCell>,
    extra: Vec<NodePath>,
}

impl BesidePattern {
    fn compare(&mut self, wanted: &Tortilla, found: &Tortilla, at: &NodePath) {
        let aligned = align_samples(wanted, found);
        for (position, (state, place)) in aligned.places.iter().enumerate() {
            let model = &wanted.samples[position];
            let Some(sample) = place.and_then(|place| found.samples.get(place)) else {
                self.places.push(PatternCell {
                    state: PositionState::Missing,
                    unreachable: false,
                    found: None,
                    id: None,
                    kind: None,
                });
                model
                    .children()
                    .into_iter()
                    .for_each(|below| self.nothing(below));
                continue;
            };
            let node = at.child(place.unwrap_or_default() as u32);
            let mut id = sample.id.clone();
            if *state == PositionState::WrongOrder
                && let Some(here) = found.samples.get(position)
            {
                id = here.id.clone();
            }
            let wrong = sample.kind() != model.kind();
            let state = if wrong {
                PositionState::WrongType
            } else {
                *state
            };
            self.places.push(PatternCell {
                state,
                unreachable: false,
                found: Some(node.clone()),
                id: Some(id),
                kind: Some(sample.kind()),
            });
            match (model.children(), sample.children()) {
                (Some(wanted), Some(found)) => self.compare(wanted, found, &node),
                (Some(wanted), None) => self.nothing(wanted),
                (None, _) => {}
            }
        }
        self.extra
            .extend(aligned.extra.iter().map(|&index| at.child(index as u32)));
    }

    fn nothing(&mut self, wanted: &Tortilla) {
        for model in &wanted.samples {
            self.places.push(PatternCell {
                state: PositionState::Missing,
                unreachable: true,
                found: None,
                id: None,
                kind: None,
            });
            model
                .children()
                .into_iter()
                .for_each(|below| self.nothing(below));
        }
    }
}

/// The whole dataset reduced to few rows: for each row and position, the worst state of the roots
/// in the row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Number of rows; at most one per root.
    pub rows: usize,
    /// Number of positions of the pattern.
    pub columns: usize,
    /// `rows` × `columns` states, row-major.
    pub cells: Vec<PositionState>,
    /// The worst state of each row, including extra samples.
    pub worst: Vec<PositionState>,
}

/// The overview with at most `rows` rows.
pub fn overview(structure: &Structure, rows: usize) -> Overview {
    let (roots, columns) = (structure.roots(), structure.pattern().len());
    let rows = rows.min(roots);
    let mut view = Overview {
        rows,
        columns,
        cells: vec![PositionState::Present; rows * columns],
        worst: vec![PositionState::Present; rows],
    };
    // Counted by shape: roots are visited only where one is not as the pattern.
    if structure.count_off_roots() == 0 {
        return view;
    }
    view.worst = structure.strip(rows.max(1));
    view.worst.truncate(rows);
    if columns == 0 {
        return view;
    }
    for (row, cells) in view.cells.chunks_exact_mut(columns).enumerate() {
        for root in row * roots / rows..(row + 1) * roots / rows {
            // Nearly all roots are valid; they are skipped.
            if structure.worst(root) == PositionState::Present {
                continue;
            }
            for (cell, &state) in cells.iter_mut().zip(structure.states(root)) {
                *cell = (*cell).max(state);
            }
        }
    }
    view
}

/// A fix of many roots and its effects.
#[derive(Clone, Debug, PartialEq)]
pub struct FixPlan {
    /// Description, such as "Pad t02 in 12 roots".
    pub label: String,
    /// The edit; a single step of the history.
    pub edit: Edit,
    /// Number of changed roots.
    pub roots: u64,
    /// Id of the root and description, as in [`Fix::changes`], for each change of the first
    /// `listed` roots.
    pub changes: Vec<(Arc<str>, String)>,
    /// What has to be checked before: the maximum of the individual fixes.
    pub care: Care,
    /// Number of roots whose changes are listed: the following ones are left out after about
    /// `MAX_LISTED` changes.
    pub listed: u64,
    /// Number of fixes of each kind, most frequent first.
    pub verbs: Vec<(FixVerb, u64)>,
}

/// Maximum number of changes listed in a plan.
const MAX_LISTED: usize = 500;

/// A single edit that applies the first fix without removal to every root that violates PIT-1;
/// `fixes` returns the fixes of a finding.
pub fn safe_plan(
    dataset: &Dataset,
    structure: &Structure,
    fixes: impl Fn(&Finding) -> Vec<Fix>,
) -> Option<FixPlan> {
    let roots = (0..structure.roots()).filter(|&root| structure.worst(root).is_fault());
    let chosen = roots.filter_map(|root| {
        let finding = fault_of(dataset, root)?;
        let fix = fixes(&finding)
            .into_iter()
            .next()
            .filter(|fix| fix.care == Care::Safe)?;
        Some((root, fix))
    });
    plan(dataset, chosen, |roots| {
        tr_n!(roots, "Fix {n} root", "Fix {n} roots", n = roots)
    })
}

/// A single edit that applies the same kind of fix to every root with the shape of `root`.
pub fn alike_plan(
    dataset: &Dataset,
    structure: &Structure,
    root: usize,
    like: &Fix,
    fixes: impl Fn(&Finding) -> Vec<Fix>,
) -> Option<FixPlan> {
    let roots = (0..structure.roots()).filter(|&other| structure.has_same_shape(root, other));
    let chosen = roots.filter_map(|other| {
        let finding = fault_of(dataset, other)?;
        let fix = fixes(&finding)
            .into_iter()
            .find(|fix| fix.care == like.care && fix.verb == like.verb)?;
        Some((other, fix))
    });
    plan(dataset, chosen, |roots| label_fix_of_roots(like, roots))
}

fn label_fix_of_roots(like: &Fix, roots: u64) -> String {
    tr_n!(
        roots,
        "{verb} in {n} root",
        "{verb} in {n} roots",
        verb = like.verb.text(),
        n = roots
    )
}

/// One plan for each kind of fix of the roots that violate PIT-1, with all roots that have this
/// kind: those that remove nothing first, then those of most roots.
///
/// # Errors
/// When `check` fails, which is called before each root.
pub fn group_plans(
    dataset: &Dataset,
    structure: &Structure,
    fixes: impl Fn(&Finding) -> Vec<Fix>,
    check: impl Fn() -> Result<()>,
) -> Result<Vec<FixPlan>> {
    /// The fixes of one kind, each with its root.
    type Kind = ((FixVerb, Care), Vec<(usize, Fix)>);
    let mut kinds: Vec<Kind> = Vec::new();
    for root in (0..structure.roots()).filter(|&root| structure.worst(root).is_fault()) {
        check()?;
        let Some(finding) = fault_of(dataset, root) else {
            continue;
        };
        let mut seen: Vec<(FixVerb, Care)> = Vec::new();
        for fix in fixes(&finding) {
            let kind = (fix.verb, fix.care);
            if seen.contains(&kind) {
                continue;
            }
            seen.push(kind);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, roots)) => roots.push((root, fix)),
                None => kinds.push((kind, vec![(root, fix)])),
            }
        }
    }
    let mut plans: Vec<FixPlan> = kinds
        .into_iter()
        .filter_map(|((verb, _), roots)| {
            let first = roots
                .first()
                .map(|(_, fix)| fix.label.clone())
                .unwrap_or_default();
            let same = verb != FixVerb::Drop && roots.iter().all(|(_, fix)| fix.label == first);
            plan(dataset, roots.into_iter(), |count| {
                if same {
                    tr_n!(
                        count,
                        "{fix} in {n} root",
                        "{fix} in {n} roots",
                        fix = first,
                        n = count
                    )
                } else {
                    tr!("{verb} {n}", verb = verb.text(), n = count)
                }
            })
        })
        .collect();
    plans.sort_by_key(|plan| (plan.care, std::cmp::Reverse(plan.roots)));
    Ok(plans)
}

/// Number of roots with the shape of `root`.
pub fn alike_count(structure: &Structure, root: usize) -> u64 {
    (0..structure.roots())
        .filter(|&other| structure.has_same_shape(root, other))
        .count() as u64
}

/// A finding stating that this root violates PIT-1; `None` when it does not.
pub fn fault_of(dataset: &Dataset, root: usize) -> Option<Finding> {
    let sample = dataset.root.samples.get(root)?;
    let at = Location::Sample {
        level: 0,
        row: root as u32,
        path: SamplePath(vec![sample.id.clone()]),
    };
    Some(Finding::new(
        Rule::PitRoots,
        at,
        tr!("this root differs from the pattern"),
    ))
}

/// The plan of one fix, for showing what it changes before it is applied.
pub fn plan_of(dataset: &Dataset, root: usize, fix: &Fix) -> Option<FixPlan> {
    let label = fix.label.clone();
    plan(dataset, std::iter::once((root, fix.clone())), |_| {
        label.clone()
    })
}

fn plan(
    dataset: &Dataset,
    chosen: impl Iterator<Item = (usize, Fix)>,
    label: impl Fn(u64) -> String,
) -> Option<FixPlan> {
    let mut edits = Vec::new();
    let mut plan = FixPlan {
        label: String::new(),
        edit: Edit::Batch {
            label: String::new(),
            edits: Vec::new(),
        },
        roots: 0,
        changes: Vec::new(),
        listed: 0,
        care: Care::Safe,
        verbs: Vec::new(),
    };
    let mut placed: BTreeSet<u32> = BTreeSet::new();
    let mut dropped = Vec::new();
    for (root, fix) in chosen {
        let Some(sample) = dataset.root.samples.get(root) else {
            continue;
        };
        let mut places = Vec::new();
        let changes = fix.changes();
        let edit = beside_the_tray(fix.edit, &mut places);
        // A file is placed only once: the first root gets it.
        if places.iter().any(|place| placed.contains(place)) {
            continue;
        }
        placed.extend(places);
        plan.roots += 1;
        plan.care = plan.care.max(fix.care);
        match plan.verbs.iter_mut().find(|(verb, _)| *verb == fix.verb) {
            Some((_, count)) => *count += 1,
            None => plan.verbs.push((fix.verb, 1)),
        }
        if plan.changes.len() < MAX_LISTED {
            plan.listed += 1;
            plan.changes.extend(
                changes
                    .into_iter()
                    .map(|change| (sample.id.clone(), change)),
            );
        }
        match edit {
            Some(Edit::Remove {
                parent,
                at,
                count: 1,
            }) if parent.0.is_empty() => dropped.push(NodePath(vec![at])),
            edit => edits.extend(edit),
        }
    }
    plan.verbs
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    // Roots are removed last, so the other edits' addresses stay valid.
    if !dropped.is_empty() {
        edits.push(Edit::RemoveMany { samples: dropped });
    }
    // Indices refer to the current tray, so all files are removed from it in one edit.
    if !placed.is_empty() {
        edits.push(Edit::RemoveFromTray {
            places: placed.into_iter().collect(),
        });
    }
    plan.label = label(plan.roots);
    plan.edit = Edit::Batch {
        label: plan.label.clone(),
        edits,
    };
    (plan.roots > 0).then_some(plan)
}

/// The edit without its removals from the tray, whose indices are appended to `places`. `None` when
/// nothing else remains.
fn beside_the_tray(edit: Edit, places: &mut Vec<u32>) -> Option<Edit> {
    match edit {
        Edit::RemoveFromTray { places: own } => {
            places.extend(own);
            None
        }
        Edit::Batch { label, edits } => {
            let edits = edits
                .into_iter()
                .filter_map(|edit| beside_the_tray(edit, places))
                .collect();
            Some(Edit::Batch { label, edits })
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use PositionState::{Missing, Present, WrongId, WrongOrder, WrongType};

    use super::super::fixes_of;
    use super::*;
    use crate::draft::{Content, Kinds, TrayIndex, Unplaced};
    use crate::model::Sample;

    fn file(id: &str) -> Sample {
        Sample::new_file(id, format!("/data/{id}"), 1)
    }

    fn scene(id: &str, parts: Vec<Sample>) -> Sample {
        Sample::new_folder(id, Tortilla::new(parts))
    }

    fn whole(id: &str) -> Sample {
        scene(
            id,
            vec![
                scene("s2", vec![file("t0"), file("t1")]),
                file("dem"),
                file("label"),
            ],
        )
    }

    fn dataset() -> Dataset {
        let samples = vec![
            whole("a"),
            scene("b", vec![file("s2"), file("dem"), file("label")]),
            scene(
                "c",
                vec![scene("s2", vec![file("t0")]), file("dem"), file("lable")],
            ),
            scene(
                "d",
                vec![
                    file("dem"),
                    scene("s2", vec![file("t0"), file("t1")]),
                    file("label"),
                ],
            ),
            whole("e"),
            scene(
                "f",
                vec![scene("s2", vec![file("t0")]), file("dem"), file("lable")],
            ),
            file("g"),
        ];
        Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        }
    }

    #[test]
    fn places_describe_state_and_sample() {
        let data = dataset();
        let structure = Structure::from_dataset(&data);
        for root in 0..data.root.samples.len() {
            let (places, _) = places(&data, &structure, root);
            let states: Vec<PositionState> = places.iter().map(|place| place.state).collect();
            assert_eq!(
                states,
                structure.states(root),
                "the same states as the structure, root {root}"
            );
        }
        let (b, _) = places(&data, &structure, 1);
        assert_eq!(
            (b[0].state, b[0].kind, b[1].unreachable),
            (WrongType, Some(SampleKind::File), true)
        );
        let (c, _) = places(&data, &structure, 2);
        assert_eq!((c[2].state, c[2].unreachable), (Missing, false));
        assert_eq!((c[4].state, c[4].id.as_deref()), (WrongId, Some("lable")));
        let (d, _) = places(&data, &structure, 3);
        let moved = d
            .iter()
            .find(|place| place.state == WrongOrder)
            .expect("one is out of order");
        assert!(moved.id.is_some() && moved.found.is_some());
        assert_eq!(places(&data, &structure, 0).0[0].state, Present);
    }

    #[test]
    fn the_overview_keeps_the_worst_of_each_row() {
        let data = dataset();
        let structure = Structure::from_dataset(&data);
        let all = overview(&structure, 100);
        assert_eq!((all.rows, all.columns), (7, 5));
        assert_eq!(&all.cells[5..10], structure.states(1));
        let two = overview(&structure, 2);
        assert_eq!(two.worst, [Missing, Missing]);
        assert_eq!(two.cells.len(), 10);
        assert_eq!(overview(&Structure::default(), 10), Overview::default());
    }

    #[test]
    fn applying_a_plan_makes_the_listed_changes() {
        let data = dataset();
        let structure = Structure::from_dataset(&data);
        let fixes = |finding: &Finding| {
            fixes_of(
                &data,
                &structure,
                finding,
                &TrayIndex::default(),
                &Kinds::default(),
            )
        };
        let safe = safe_plan(&data, &structure, fixes).expect("has fixes");
        // Which FILE of the pattern is meant by the one at `s2` in b, and by g, is ambiguous.
        assert_eq!(safe.care, Care::Safe);
        let mut roots: Vec<&str> = safe.changes.iter().map(|(root, _)| &**root).collect();
        roots.dedup();
        assert_eq!(roots, ["c", "d", "f"]);
        assert!(
            safe.changes
                .iter()
                .any(|(root, what)| &**root == "c" && what == "lable → label"),
            "{:?}",
            safe.changes
        );
        let mut mended = data.clone();
        safe.edit.apply(&mut mended).expect("applies");
        let left = Structure::from_dataset(&mended).root_counts().faults();
        assert_eq!(left, structure.root_counts().faults() - safe.roots);

        // The correct samples are removed although each removal moves those after it.
        let drop = fixes(&fault_of(&data, 2).expect("is there"))
            .into_iter()
            .find(|fix| fix.care == Care::Removes)
            .expect("can be dropped");
        let plan = alike_plan(&data, &structure, 2, &drop, fixes).expect("has fixes");
        assert_eq!(
            (plan.roots, alike_count(&structure, 2), plan.care),
            (2, 2, Care::Removes)
        );
        let mut rest = data.clone();
        plan.edit.apply(&mut rest).expect("applies");
        let ids: Vec<&str> = rest.root.samples.iter().map(|sample| &*sample.id).collect();
        assert_eq!(ids, ["a", "b", "d", "e", "g"]);
        assert!(
            plan.changes
                .iter()
                .all(|(_, what)| what.starts_with("Drop "))
        );
    }

    #[test]
    fn every_kind_of_fix_has_a_plan_for_all_its_roots() {
        let data = dataset();
        let structure = Structure::from_dataset(&data);
        let fixes = |finding: &Finding| {
            fixes_of(
                &data,
                &structure,
                finding,
                &TrayIndex::default(),
                &Kinds::default(),
            )
        };
        let plans = group_plans(&data, &structure, fixes, || Ok(())).expect("is not cancelled");
        assert!(
            plans.windows(2).all(|pair| pair[0].care <= pair[1].care),
            "{plans:?}"
        );
        let faults = structure.root_counts().faults();
        let drop = plans
            .iter()
            .find(|plan| plan.verbs[0].0 == FixVerb::Drop)
            .expect("every root can be dropped");
        assert_eq!(
            (drop.roots, drop.care, drop.label.clone()),
            (faults, Care::Removes, format!("Drop {faults}"))
        );
        for plan in plans {
            let mut mended = data.clone();
            plan.edit.apply(&mut mended).expect("applies");
            assert_eq!(
                Structure::from_dataset(&mended).root_counts().faults(),
                faults - plan.roots,
                "{}",
                plan.label
            );
        }
    }

    /// Three complete roots plus `odd`, and the safe plan with these files in the tray.
    fn planned(odd: Vec<Sample>, names: &[&str]) -> (Content, Option<FixPlan>) {
        let whole = |id: &str| scene(id, vec![file("before"), file("after"), file("label")]);
        let samples = ["w0", "w1", "w2"]
            .map(whole)
            .into_iter()
            .chain(odd)
            .collect();
        let dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        let tray: Arc<[Unplaced]> = names
            .iter()
            .map(|name| Unplaced::file(format!("/new/{name}"), 7))
            .collect();
        let (structure, index) = (
            Structure::from_dataset(&dataset),
            TrayIndex::from_files(tray.clone()),
        );
        let plan = safe_plan(&dataset, &structure, |finding| {
            fixes_of(&dataset, &structure, finding, &index, &Kinds::default())
        });
        (Content { dataset, tray }, plan)
    }

    #[test]
    fn the_files_of_all_roots_leave_the_tray_at_once() {
        let odd = vec![
            scene("north", vec![file("label")]),
            scene("south", vec![file("after"), file("label")]),
        ];
        let names = [
            "south_before.tif",
            "north_before.tif",
            "foreign.tif",
            "north_after.tif",
        ];
        let (mut content, plan) = planned(odd, &names);
        let (before, plan) = (content.clone(), plan.expect("has fixes"));
        assert_eq!((plan.roots, plan.care), (2, Care::Safe));
        let inverse = plan.edit.apply_to(&mut content).expect("applies");
        let left: Vec<_> = content
            .tray
            .iter()
            .map(|file| file.path.as_path())
            .collect();
        assert_eq!(left, [std::path::Path::new("/new/foreign.tif")]);
        let placed = |id: &str, name: &str| Sample::new_file(id, format!("/new/{name}"), 7);
        let below = |root: usize| {
            content.dataset.root.samples[root]
                .children()
                .expect("is a FOLDER")
                .samples
                .clone()
        };
        let north = [
            placed("before", "north_before.tif"),
            placed("after", "north_after.tif"),
            file("label"),
        ];
        assert_eq!(below(3), north);
        assert_eq!(
            below(4),
            [
                placed("before", "south_before.tif"),
                file("after"),
                file("label")
            ]
        );
        inverse.apply_to(&mut content).expect("undoes");
        assert_eq!(content, before);
    }

    #[test]
    fn roots_whose_fixes_read_the_same_are_all_planned() {
        let odd = ["north", "south"].map(|id| scene(id, vec![file("label")]));
        let names = [
            "north_before.tif",
            "south_before.tif",
            "north_after.tif",
            "south_after.tif",
        ];
        let (mut content, plan) = planned(odd.into(), &names);
        let plan = plan.expect("has fixes");
        let changes: Vec<(&str, &str)> = plan
            .changes
            .iter()
            .map(|(root, what)| (&**root, what.as_str()))
            .collect();
        assert_eq!(changes, [("north", "Place 2"), ("south", "Place 2")]);
        plan.edit.apply_to(&mut content).expect("applies");
        assert!(content.tray.is_empty());
        assert_eq!(
            Structure::from_dataset(&content.dataset)
                .root_counts()
                .faults(),
            0
        );
        // A file that matches two roots is placed in the first.
        let lacking = |id: &str| scene(id, vec![file("after"), file("label")]);
        let (_, plan) = planned(
            vec![lacking("north"), lacking("north_2")],
            &["north_2_before.tif"],
        );
        assert_eq!(plan.map(|plan| plan.roots), Some(1));
    }
}
