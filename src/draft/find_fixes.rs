//! Finds fixes: for a finding, the edits that resolve it, best first, each with a preview. A safe
//! fix is undone in one step and removes nothing. Pure: fixes are computed, not applied.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use super::file_kind::Kinds;
use super::fitting::{Fitting, FittingActions};
use super::tray_index::TrayIndex;
use super::{Care, Edit, Fix, FixVerb, Structure};
use crate::error::{Error, Result};
use crate::model::{
    Dataset, Finding, Location, MAX_LEVELS, NodePath, Payload, Rule, Sample, SamplePath, Tortilla,
    check_sample_id, is_padding,
};

/// The fixes of a finding, best first; those that remove samples come last, and name them. Empty
/// when only the user can resolve it, and where no shape is the pattern.
///
/// Samples with other ids are matched with positions by another spelling of the name, unless
/// `kinds` contradicts; never by position.
pub fn fixes_of(
    dataset: &Dataset,
    structure: &Structure,
    finding: &Finding,
    tray: &TrayIndex,
    kinds: &Kinds,
) -> Vec<Fix> {
    let Location::Sample { level, row, .. } = &finding.at else {
        return Vec::new();
    };
    let Some(node) = structure
        .node(*level, *row)
        .filter(|node| dataset.sample(node).is_some())
    else {
        return Vec::new();
    };
    let mut fixes = Vec::new();
    match finding.rule {
        Rule::PitRoots | Rule::PitMixed if structure.nothing_common() => {}
        Rule::PitRoots | Rule::PitEmptyFolder => {
            let files = if tray.files().is_empty() {
                None
            } else {
                fit_root(dataset, structure, node.0[0], tray, kinds)
            };
            fixes.extend(files.filter(|fix| fix.verb == FixVerb::Place));
            fixes.extend(fit_root(
                dataset,
                structure,
                node.0[0],
                &TrayIndex::default(),
                kinds,
            ));
            fixes.extend(drop_root(dataset, node.0[0]));
        }
        Rule::PitMixed => {
            fixes.extend(
                fit_root(dataset, structure, node.0[0], &TrayIndex::default(), kinds)
                    .and_then(|_| fit_types(dataset, structure, kinds)),
            );
            fixes.extend(drop_odd_types(dataset, structure));
        }
        Rule::IdUnique | Rule::IdCharacters if *level == 0 => {
            fixes.extend(rename_root(dataset, node.0[0]));
            fixes.extend(drop_root(dataset, node.0[0]));
        }
        Rule::PitSchemaUniform => fixes.extend(super::align_schema::one_schema(dataset, level + 1)),
        _ => {}
    }
    fixes.sort_by_key(|fix| fix.care == Care::Removes);
    fixes
}

/// A single edit that fixes every root that can be fixed without removing anything, and the number
/// of roots. Missing positions are filled with matching files of the tray, or else padded.
pub fn fix_safe(
    dataset: &Dataset,
    structure: &Structure,
    tray: &TrayIndex,
    kinds: &Kinds,
) -> Option<(Edit, u64)> {
    let roots = (0..structure.roots()).filter(|&root| structure.worst(root).is_fault());
    let label = |roots: u64| tr_n!(roots, "Fix {n} root", "Fix {n} roots", n = roots);
    fix_each_root(
        dataset,
        structure,
        tray,
        kinds,
        roots,
        |actions| actions.care() == Care::Safe,
        label,
    )
}

/// Applies the fix of one root to all roots of the same shape: a single edit, and the number of
/// roots.
pub fn apply_alike(
    dataset: &Dataset,
    structure: &Structure,
    tray: &TrayIndex,
    kinds: &Kinds,
    root: usize,
) -> Option<(Edit, u64)> {
    let alike = (0..structure.roots()).filter(|&other| structure.has_same_shape(root, other));
    fix_each_root(
        dataset,
        structure,
        tray,
        kinds,
        alike,
        |_| true,
        label_alike_fix,
    )
}

fn label_alike_fix(roots: u64) -> String {
    tr_n!(
        roots,
        "Fix {n} root alike",
        "Fix {n} roots alike",
        n = roots
    )
}

/// Pads every missing position so that PIT-1 holds (TACO 2.0, section 5.4); also returns the number
/// of roots. Roots with other differences are left unchanged.
pub fn fill_missing(dataset: &Dataset, structure: &Structure) -> Option<(Edit, u64)> {
    let roots = (0..structure.roots()).filter(|&root| structure.worst(root).is_fault());
    let label = |roots: u64| tr_n!(roots, "Pad {n} root", "Pad {n} roots", n = roots);
    fix_each_root(
        dataset,
        structure,
        &TrayIndex::default(),
        &Kinds::default(),
        roots,
        FittingActions::only_pads,
        label,
    )
}

/// Removes the roots of one shape in a single edit, for a draft of their own; also returns those
/// roots in order.
pub fn split_off(
    dataset: &Dataset,
    structure: &Structure,
    root: usize,
) -> Option<(Edit, Vec<Sample>)> {
    let alike: Vec<usize> = (0..structure.roots())
        .filter(|&other| structure.has_same_shape(root, other))
        .collect();
    let samples: Vec<Sample> = alike
        .iter()
        .filter_map(|&index| dataset.root.samples.get(index).cloned())
        .collect();
    if samples.is_empty() || samples.len() == dataset.root.samples.len() {
        return None;
    }
    let label = tr_n!(
        samples.len(),
        "Split off {n} root",
        "Split off {n} roots",
        n = samples.len()
    );
    let edit = Edit::RemoveMany {
        samples: alike
            .iter()
            .map(|&index| NodePath(vec![index as u32]))
            .collect(),
    };
    Some((
        Edit::Batch {
            label,
            edits: vec![edit],
        },
        samples,
    ))
}

/// Which tortillas get padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PadPlace {
    /// All whose samples are on this level; level 0 is the root alone.
    Level(usize),
    /// The one of the FOLDER at this path of ids; the root for an empty one.
    Folder(SamplePath),
}

/// Tortillas, and a number that has to divide their numbers of samples. As text `N`, `LEVEL:N` or
/// `PATH:N`.
#[derive(
    Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct PadTo {
    /// Which tortillas.
    pub place: PadPlace,
    /// The divisor, from 1 to [`PAD_MULTIPLE_MAX`].
    pub multiple: usize,
}

impl FromStr for PadTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, multiple) = match text.rsplit_once(':') {
            None => (PadPlace::Level(0), text),
            Some((place, multiple)) => match place.parse() {
                Ok(level) => (PadPlace::Level(level), multiple),
                Err(_) => (PadPlace::Folder(SamplePath::parse(place)), multiple),
            },
        };
        match multiple.parse::<usize>() {
            Ok(multiple) if (1..=PAD_MULTIPLE_MAX).contains(&multiple) => {
                Ok(Self { place, multiple })
            }
            _ => Err(format!(
                "{multiple} is not a number from 1 to {PAD_MULTIPLE_MAX}: write N, LEVEL:N or \
                    PATH:N"
            )),
        }
    }
}

impl TryFrom<String> for PadTo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PadTo> for String {
    fn from(padding: PadTo) -> Self {
        match &padding.place {
            PadPlace::Level(level) => format!("{level}:{}", padding.multiple),
            PadPlace::Folder(path) => format!("{}:{}", path.0.join("/"), padding.multiple),
        }
    }
}

/// Most samples that a tortilla is padded to a multiple of.
pub const PAD_MULTIPLE_MAX: usize = 1_000_000;

/// Appends padding to tortillas so that their numbers of samples are multiples of `multiple` (TACO
/// 2.0, section 7.1.1). `None` when they are already.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such level or FOLDER.
pub fn pad_to(dataset: &Dataset, place: &PadPlace, multiple: usize) -> Result<Option<Edit>> {
    Ok(padding_edit(
        dataset,
        tortillas_at(dataset, place)?
            .into_iter()
            .map(|node| (node, multiple)),
    ))
}

/// As [`pad_to`] for several places, whose order makes no difference: tortillas of deeper levels
/// are padded first, so that placeholders above them get as many children, and a tortilla with
/// several multiples gets their least common one.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such level or FOLDER, and when a
/// common multiple exceeds [`PAD_MULTIPLE_MAX`].
pub fn pad_all(dataset: &mut Dataset, paddings: &[PadTo]) -> Result<()> {
    let mut by_depth: BTreeMap<usize, BTreeMap<Vec<u32>, usize>> = BTreeMap::new();
    for PadTo { place, multiple } in paddings {
        for node in tortillas_at(dataset, place)? {
            let common = by_depth
                .entry(node.0.len())
                .or_default()
                .entry(node.0)
                .or_insert(1);
            *common = common_multiple(*common, *multiple).ok_or_else(|| {
                let message = format!(
                    "a tortilla would be padded to a multiple of {common} and of {multiple}"
                );
                Error::usage(message).hint(format!(
                    "choose multiples whose least common one is {PAD_MULTIPLE_MAX} at most"
                ))
            })?;
        }
    }
    for tortillas in by_depth.into_values().rev() {
        let tortillas = tortillas
            .into_iter()
            .map(|(node, multiple)| (NodePath(node), multiple));
        if let Some(edit) = padding_edit(dataset, tortillas) {
            edit.apply(dataset)?;
        }
    }
    Ok(())
}

/// The least common multiple of two numbers; `None` above [`PAD_MULTIPLE_MAX`].
fn common_multiple(one: usize, other: usize) -> Option<usize> {
    let (mut divisor, mut rest) = (one.max(1), other.max(1));
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one.max(1) / divisor)
        .checked_mul(other.max(1))
        .filter(|common| *common <= PAD_MULTIPLE_MAX)
}

/// The tortillas at a place.
fn tortillas_at(dataset: &Dataset, place: &PadPlace) -> Result<Vec<NodePath>> {
    fn on_level(tortilla: &Tortilla, path: &mut Vec<u32>, level: usize, found: &mut Vec<NodePath>) {
        if level == 0 {
            return found.push(NodePath(path.clone()));
        }
        for (index, children) in tortilla
            .samples
            .iter()
            .enumerate()
            .filter_map(|(index, sample)| Some((index, sample.children()?)))
        {
            path.push(index as u32);
            on_level(children, path, level - 1, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    match place {
        PadPlace::Level(level) => {
            if *level < MAX_LEVELS {
                on_level(&dataset.root, &mut Vec::new(), *level, &mut found);
            }
            if found.is_empty() {
                return Err(Error::usage(format!("there is no level {level} to pad")));
            }
        }
        PadPlace::Folder(ids) => {
            let (mut tortilla, mut path) = (dataset.root.as_ref(), Vec::new());
            for id in &ids.0 {
                let index = tortilla
                    .samples
                    .iter()
                    .position(|sample| *sample.id == **id);
                let below = index.and_then(|index| tortilla.samples.get(index)?.children());
                let (Some(index), Some(below)) = (index, below) else {
                    return Err(Error::usage("there is no such FOLDER to pad").at_place(ids));
                };
                path.push(index as u32);
                tortilla = below.as_ref();
            }
            found.push(NodePath(path));
        }
    }
    Ok(found)
}

/// The edit that appends padding to these tortillas, each up to its multiple. `None` when all are
/// multiples already.
fn padding_edit(
    dataset: &Dataset,
    tortillas: impl Iterator<Item = (NodePath, usize)>,
) -> Option<Edit> {
    let mut edits = Vec::new();
    for (parent, multiple) in tortillas {
        let tortilla = if parent.0.is_empty() {
            Some(&dataset.root)
        } else {
            dataset.sample(&parent).and_then(Sample::children)
        };
        let Some(tortilla) = tortilla else { continue };
        let samples = crate::model::pad_to(tortilla, multiple);
        if !samples.is_empty() {
            edits.push(Edit::Insert {
                parent,
                at: tortilla.samples.len() as u32,
                samples,
            });
        }
    }
    match edits.len() {
        0 | 1 => edits.pop(),
        count => Some(Edit::Batch {
            label: tr_n!(count, "Pad {n} tortilla", "Pad {n} tortillas", n = count),
            edits,
        }),
    }
}

fn fix_each_root(
    dataset: &Dataset,
    structure: &Structure,
    tray: &TrayIndex,
    kinds: &Kinds,
    roots: impl Iterator<Item = usize>,
    mut wanted: impl FnMut(&FittingActions) -> bool,
    label: impl Fn(u64) -> String,
) -> Option<(Edit, u64)> {
    let model = model_of(dataset, structure)?;
    let mut edits = Vec::new();
    let mut used = BTreeSet::new();
    for root in roots {
        let Some(sample) = dataset.root.samples.get(root) else {
            continue;
        };
        let mut fitting = Fitting::new(dataset, structure, tray, kinds, used);
        let fitted = fitting.sample(model, sample.clone(), &[]);
        let apply =
            !fitting.actions.impossible && fitting.actions.total() > 0 && wanted(&fitting.actions);
        used = fitting.used;
        if apply {
            edits.push(put(root as u32, sample, fitted));
        } else {
            for index in &fitting.taken {
                used.remove(index);
            }
        }
    }
    let count = edits.len() as u64;
    edits.extend(out_of_tray(&used));
    (count > 0).then(|| {
        (
            Edit::Batch {
                label: label(count),
                edits,
            },
            count,
        )
    })
}

/// The edit that removes placed files from the tray.
fn out_of_tray(used: &BTreeSet<u32>) -> Option<Edit> {
    (!used.is_empty()).then(|| Edit::RemoveFromTray {
        places: used.iter().copied().collect(),
    })
}

/// The edit that replaces a root by its fixed version.
fn put(root: u32, old: &Sample, new: Sample) -> Edit {
    let path = NodePath(vec![root]);
    match (&new.payload, old.children()) {
        (Payload::Folder(tortilla), Some(_)) => Edit::ReplaceTortilla {
            tortilla: path,
            with: tortilla.clone(),
        },
        _ => Edit::SetPayload {
            sample: path,
            payload: new.payload,
        },
    }
}

/// The root that the others are fitted to; `None` when no shape is common.
fn model_of<'a>(dataset: &'a Dataset, structure: &Structure) -> Option<&'a Sample> {
    dataset
        .root
        .samples
        .get(structure.model().filter(|_| !structure.nothing_common())?)
}

fn fit_root(
    dataset: &Dataset,
    structure: &Structure,
    root: u32,
    tray: &TrayIndex,
    kinds: &Kinds,
) -> Option<Fix> {
    let model = model_of(dataset, structure)?;
    let sample = dataset.root.samples.get(root as usize)?;
    let mut fitting = Fitting::new(dataset, structure, tray, kinds, BTreeSet::new());
    let fitted = fitting.sample(model, sample.clone(), &[]);
    let Fitting { used, actions, .. } = fitting;
    if actions.impossible || actions.total() == 0 {
        return None;
    }
    let preview = (lines(sample), lines(&fitted));
    let (verb, label) = actions.label();
    let edits = std::iter::once(put(root, sample, fitted))
        .chain(out_of_tray(&used))
        .collect();
    let edit = Edit::Batch {
        label: label.clone(),
        edits,
    };
    let (care, affects) = (actions.care(), actions.total());
    Some(Fix {
        verb,
        label,
        edit,
        care,
        affects,
        preview,
        renames: actions.renames,
        drops: actions.drops,
    })
}

fn fit_types(dataset: &Dataset, structure: &Structure, kinds: &Kinds) -> Option<Fix> {
    let model = model_of(dataset, structure)?;
    let odd = odd_types(dataset, model);
    let no_tray = TrayIndex::default();
    let mut made = TypeFixSummary {
        care: Care::Safe,
        renames: Vec::new(),
        drops: Vec::new(),
    };
    let (edit, affects) = fix_each_root(
        dataset,
        structure,
        &no_tray,
        kinds,
        odd.iter().copied(),
        |actions| {
            made.add_actions(actions);
            true
        },
        label_type_fix,
    )?;
    // Roots that cannot be made to fit are left unchanged.
    let fits = |root| fit_root(dataset, structure, root, &no_tray, kinds).is_some();
    let shown: Vec<&Sample> = odd
        .iter()
        .filter(|&&index| fits(index as u32))
        .take(8)
        .map(|&index| &dataset.root.samples[index])
        .collect();
    let before = shown
        .iter()
        .map(|sample| format!("{} {}", sample.id, sample.kind()));
    let after = shown
        .iter()
        .map(|sample| format!("{} {}", sample.id, model.kind()));
    let preview = (before.collect(), after.collect());
    Some(Fix {
        verb: FixVerb::Give,
        label: edit.label(),
        edit,
        care: made.care,
        affects,
        preview,
        renames: made.renames,
        drops: made.drops,
    })
}

fn label_type_fix(roots: u64) -> String {
    tr_n!(
        roots,
        "Give {n} root the type of the others",
        "Give {n} roots the type of the others",
        n = roots
    )
}

/// The actions on all roots whose type is changed.
struct TypeFixSummary {
    care: Care,
    renames: Vec<(Arc<str>, Arc<str>)>,
    drops: Vec<String>,
}

impl TypeFixSummary {
    fn add_actions(&mut self, actions: &FittingActions) {
        self.care = self.care.max(actions.care());
        self.renames.extend_from_slice(&actions.renames);
        self.drops.extend_from_slice(&actions.drops);
    }
}

/// The roots that are of another type than the model.
fn odd_types(dataset: &Dataset, model: &Sample) -> Vec<usize> {
    let samples = &dataset.root.samples;
    (0..samples.len())
        .filter(|&index| samples[index].kind() != model.kind())
        .collect()
}

fn drop_odd_types(dataset: &Dataset, structure: &Structure) -> Option<Fix> {
    let odd = odd_types(dataset, model_of(dataset, structure)?);
    if let [one] = odd.as_slice() {
        return drop_root(dataset, *one as u32);
    }
    let label = tr_n!(
        odd.len(),
        "Drop {n} root of the other type",
        "Drop {n} roots of the other type",
        n = odd.len()
    );
    let drops: Vec<String> = odd
        .iter()
        .map(|&index| dataset.root.samples[index].id.to_string())
        .collect();
    let edit = Edit::RemoveMany {
        samples: odd
            .iter()
            .map(|&index| NodePath(vec![index as u32]))
            .collect(),
    };
    let (affects, preview) = (
        odd.len() as u64,
        (drops.iter().take(200).cloned().collect(), Vec::new()),
    );
    let edit = Edit::Batch {
        label: label.clone(),
        edits: vec![edit],
    };
    (affects > 0).then_some(Fix {
        verb: FixVerb::Drop,
        label,
        edit,
        care: Care::Removes,
        affects,
        preview,
        renames: Vec::new(),
        drops,
    })
}

fn drop_root(dataset: &Dataset, root: u32) -> Option<Fix> {
    let sample = dataset.root.samples.get(root as usize)?;
    let edit = Edit::Remove {
        parent: NodePath::root(),
        at: root,
        count: 1,
    };
    let (label, preview) = (
        tr!("Drop {id}", id = sample.id),
        (lines(sample), Vec::new()),
    );
    let drops = vec![sample.id.to_string()];
    Some(Fix {
        verb: FixVerb::Drop,
        label,
        edit,
        care: Care::Removes,
        affects: 1,
        preview,
        renames: Vec::new(),
        drops,
    })
}

fn rename_root(dataset: &Dataset, root: u32) -> Option<Fix> {
    let sample = dataset.root.samples.get(root as usize)?;
    let plain: String = sample
        .id
        .chars()
        .map(|c| {
            if matches!(c, '/' | '\\' | ':') || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect();
    let plain = match plain.trim_start_matches('_') {
        "" | "." | ".." => "sample".to_owned(),
        rest if plain.starts_with("__") && !is_padding(&plain) => rest.to_owned(),
        _ => plain,
    };
    let end = (0..=plain.len().min(240))
        .rev()
        .find(|&end| plain.is_char_boundary(end))
        .unwrap_or(0);
    let taken: HashSet<&str> = dataset
        .root
        .samples
        .iter()
        .map(|sample| &*sample.id)
        .collect();
    let names = std::iter::once(plain[..end].to_owned())
        .chain((2..).map(|number| format!("{}_{number}", &plain[..end])));
    let id: Arc<str> = names
        .take(taken.len() + 2)
        .find(|name| !taken.contains(name.as_str()) && check_sample_id(name).is_ok())?
        .into();
    let preview = (vec![sample.id.to_string()], vec![id.to_string()]);
    let label = tr!("Rename to {id}", id);
    let edit = Edit::Rename {
        sample: NodePath(vec![root]),
        id,
    };
    let (renames, drops) = (Vec::new(), Vec::new());
    Some(Fix {
        verb: FixVerb::Rename,
        label,
        edit,
        care: Care::Safe,
        affects: 1,
        preview,
        renames,
        drops,
    })
}

/// A root and its descendants, one sample per line.
fn lines(sample: &Sample) -> Vec<String> {
    fn push_sample_lines(sample: &Sample, depth: usize, lines: &mut Vec<String>) {
        if lines.len() < 200 {
            lines.push(format!("{}{}", "  ".repeat(depth), sample.id));
            sample
                .children()
                .into_iter()
                .flat_map(|children| &children.samples)
                .for_each(|child| push_sample_lines(child, depth + 1, lines));
        }
    }
    let mut all = Vec::new();
    push_sample_lines(sample, 0, &mut all);
    all
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::draft::FileKind;
    use crate::draft::{Content, Unplaced, fault_of};
    use crate::jobs::JobContext;
    use crate::model::{SampleKind, Tortilla, padding_file};
    use crate::validate;

    fn file(id: &str) -> Sample {
        Sample::file(id, format!("/data/{id}"), 1)
    }

    fn scene(id: &str) -> Sample {
        let times = Tortilla::new(vec![file("t0"), file("t1")]);
        Sample::folder(
            id,
            Tortilla::new(vec![
                file("before"),
                Sample::folder("s2", times),
                file("label"),
            ]),
        )
    }

    fn dataset(samples: Vec<Sample>) -> Dataset {
        Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        }
    }

    fn children(sample: &mut Sample) -> &mut Vec<Sample> {
        match &mut sample.payload {
            Payload::Folder(children) => &mut Arc::make_mut(children).samples,
            _ => panic!("is a FOLDER"),
        }
    }

    fn tree_findings(dataset: &Dataset) -> Vec<Finding> {
        let report = validate::dataset(dataset, &JobContext::default()).expect("checks");
        report
            .findings
            .into_iter()
            .filter(|finding| !matches!(finding.at, Location::Collection(_)))
            .collect()
    }

    fn damaged(random: &mut ChaCha8Rng) -> Dataset {
        let mut samples: Vec<Sample> = (0..9).map(|n| scene(&format!("r{n}"))).collect();
        for _ in 0..1 + random.next_u32() % 3 {
            let index = random.next_u32() as usize % 4;
            let kind = random.next_u32() % 9;
            if samples[index].children().is_none() {
                continue;
            }
            let parts = children(&mut samples[index]);
            match kind {
                0 => drop(parts.pop()),
                1 => parts.push(file("extra")),
                2 => parts.reverse(),
                3 => parts[0] = file("befor"),
                4 if parts.len() > 1 && parts[1].children().is_some() => {
                    drop(children(&mut parts[1]).remove(0))
                }
                5 => parts[0] = Sample::folder("before", Tortilla::new(vec![file("inside")])),
                6 => drop(parts.remove(0)),
                7 => samples[index] = file(&format!("lone{index}")),
                _ => samples[index].id = "r8".into(),
            }
        }
        dataset(samples)
    }

    #[test]
    fn a_fix_removes_its_finding_and_adds_none_of_its_kind_and_undoes() {
        let mut tried = 0;
        for seed in 0..150 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let before = damaged(&mut random);
            let structure = Structure::from_dataset(&before);
            let findings = tree_findings(&before);
            for finding in &findings {
                let fixes = fixes_of(
                    &before,
                    &structure,
                    finding,
                    &TrayIndex::default(),
                    &Kinds::default(),
                );
                assert!(!fixes.is_empty(), "seed {seed}: nothing mends {finding:?}");
                for fix in fixes {
                    let mut after = before.clone();
                    let inverse = fix.edit.clone().apply(&mut after).expect("applies");
                    let left = tree_findings(&after);
                    let key = |finding: &Finding| {
                        (
                            finding.rule,
                            finding.at.to_string(),
                            finding.message.clone(),
                        )
                    };
                    // Removing a root moves the rows after it, so findings are compared by id.
                    let twin = |list: &[Finding]| {
                        list.iter()
                            .filter(|other| key(other) == key(finding))
                            .count()
                    };
                    assert!(
                        twin(&left) < twin(&findings),
                        "seed {seed}: {} left {finding:?}",
                        fix.label
                    );
                    let kind = |list: &[Finding]| {
                        list.iter()
                            .filter(|other| other.rule == finding.rule)
                            .count()
                    };
                    assert!(
                        kind(&left) < kind(&findings),
                        "seed {seed}: {} after {finding:?}: {left:#?}",
                        fix.label
                    );
                    inverse.apply(&mut after).expect("undoes");
                    assert_eq!(after, before, "seed {seed}: {}", fix.label);
                    tried += 1;
                }
            }
        }
        assert!(tried > 300, "{tried}");
    }

    #[test]
    fn missing_files_are_placed_when_one_matches_and_padded_otherwise() {
        let mut samples: Vec<Sample> = (0..4).map(|n| scene(&format!("r{n}"))).collect();
        children(&mut samples[2]).remove(0);
        let data = dataset(samples);
        let structure = Structure::from_dataset(&data);
        let finding = &tree_findings(&data)[0];
        let unplaced = vec![
            Unplaced::file("/new/r2_before.tif", 7),
            Unplaced::file("/new/r3_before.tif", 7),
            Unplaced::file("/new/r22_before.tif", 7),
        ];
        // At level 0 the containing folder says nothing about the root; the file name contains the
        // root's id.
        let fixes = fixes_of(
            &data,
            &structure,
            finding,
            &TrayIndex::from_files(unplaced.clone().into()),
            &Kinds::default(),
        );
        let labels: Vec<&str> = fixes.iter().map(|fix| fix.label.as_str()).collect();
        assert_eq!(
            labels,
            ["Place r2_before.tif as before", "Pad before", "Drop r2"]
        );
        assert_eq!(
            fixes.iter().map(|fix| fix.care).collect::<Vec<_>>(),
            [Care::Safe, Care::Safe, Care::Removes]
        );
        let mut content = Content {
            dataset: data.clone(),
            tray: unplaced.clone().into(),
        };
        fixes[0]
            .edit
            .clone()
            .apply_to(&mut content)
            .expect("places");
        assert_eq!(
            &*content.tray,
            &unplaced[1..],
            "what is placed is no longer in the tray"
        );
        let (edit, _) = fix_safe(
            &data,
            &structure,
            &TrayIndex::from_files(unplaced.clone().into()),
            &Kinds::default(),
        )
        .expect("has a gap");
        let mut safe = Content {
            dataset: data.clone(),
            tray: unplaced.clone().into(),
        };
        edit.apply_to(&mut safe).expect("places");
        assert_eq!(safe, content);
        let two = vec![unplaced[0].clone(), Unplaced::file("/b/r2_before.png", 1)];
        let fixes = fixes_of(
            &data,
            &structure,
            finding,
            &TrayIndex::from_files(two.into()),
            &Kinds::default(),
        );
        assert_eq!(
            fixes[0].label, "Pad before",
            "two files fit: nobody guesses"
        );
    }

    #[test]
    fn a_folder_of_several_files_does_not_become_an_empty_file() {
        for inside in [
            vec![file("x"), file("y")],
            Vec::new(),
            vec![padding_file(0)],
        ] {
            let mut samples: Vec<Sample> = (0..5).map(|n| scene(&format!("r{n}"))).collect();
            let odd = children(&mut samples[1]);
            odd[0] = Sample::folder("before", Tortilla::new(inside));
            odd.pop();
            children(&mut samples[2]).pop();
            let data = dataset(samples);
            let structure = Structure::from_dataset(&data);
            let tray: Arc<[Unplaced]> = ["/new/r1_label.tif", "/new/r2_label.tif"]
                .map(|path| Unplaced::file(path, 7))
                .into();
            let index = TrayIndex::from_files(tray.clone());
            let fixes = fixes_of(
                &data,
                &structure,
                &fault_of(&data, 1).expect("is there"),
                &index,
                &Kinds::default(),
            );
            assert_eq!(
                fixes
                    .iter()
                    .map(|fix| fix.label.as_str())
                    .collect::<Vec<_>>(),
                ["Drop r1"]
            );
            assert_eq!(
                apply_alike(&data, &structure, &index, &Kinds::default(), 1),
                None
            );
            // The other roots are fixed, and the unused file stays in the tray.
            let (edit, roots) =
                fix_safe(&data, &structure, &index, &Kinds::default()).expect("r2 can be mended");
            let mut content = Content {
                dataset: data.clone(),
                tray: tray.clone(),
            };
            edit.apply_to(&mut content).expect("applies");
            assert_eq!((roots, &*content.tray), (1, &tray[..1]));
            assert_eq!(content.dataset.root.samples[1], data.root.samples[1]);
        }
    }

    #[test]
    fn padding_of_the_wrong_type_becomes_padding_of_the_right_one() {
        let mended = |samples: Vec<Sample>| {
            let data = dataset(samples);
            let structure = Structure::from_dataset(&data);
            let fixes = fixes_of(
                &data,
                &structure,
                &fault_of(&data, 1).expect("is there"),
                &TrayIndex::default(),
                &Kinds::default(),
            );
            let (edit, _) = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default())
                .expect("can be mended");
            let mut mended = data.clone();
            edit.apply(&mut mended).expect("applies");
            assert!(!Structure::from_dataset(&mended).worst(1).is_fault());
            (
                fixes[0].label.clone(),
                fixes[0].verb,
                fixes[0].care,
                mended.root.samples[1].clone(),
            )
        };
        let all_padding = |sample: &Sample| {
            let children = sample.children().expect("is a FOLDER");
            sample.is_padding()
                && !children.samples.is_empty()
                && children.samples.iter().all(Sample::is_padding)
        };
        let whole = || {
            (0..4)
                .map(|n| scene(&format!("r{n}")))
                .collect::<Vec<Sample>>()
        };
        let mut samples = whole();
        children(&mut samples[1])[1] = padding_file(6);
        let (label, verb, care, root) = mended(samples);
        let s2 = &root.children().expect("is a FOLDER").samples[1];
        assert_eq!(
            (label.as_str(), verb, care),
            ("Pad s2", FixVerb::Pad, Care::Safe)
        );
        assert_eq!(&*s2.id, "__TACOPAD__6");
        assert!(all_padding(s2), "{s2:?}");

        let mut samples = whole();
        samples[1] = padding_file(6);
        let (_, verb, care, root) = mended(samples);
        assert_eq!(
            (verb, care, &*root.id),
            (FixVerb::Pad, Care::Safe, "__TACOPAD__6")
        );
        assert!(all_padding(&root), "{root:?}");

        let mut samples = whole();
        let folder = Sample::folder(
            "__TACOPAD__6",
            Tortilla::new(vec![padding_file(0), padding_file(1)]),
        );
        children(&mut samples[1])[0] = folder;
        let (_, verb, care, root) = mended(samples);
        let before = &root.children().expect("is a FOLDER").samples[0];
        assert_eq!((verb, care), (FixVerb::Pad, Care::Safe));
        assert_eq!(
            (&*before.id, before.kind(), before.size_bytes()),
            ("__TACOPAD__6", SampleKind::File, 0)
        );
    }

    #[test]
    fn safe_fixes_and_padding_are_one_step() {
        let mut samples: Vec<Sample> = (0..6).map(|n| scene(&format!("r{n}"))).collect();
        children(&mut samples[1]).remove(1);
        children(&mut samples[2]).reverse();
        children(&mut samples[3]).push(file("extra"));
        let data = dataset(samples);
        let structure = Structure::from_dataset(&data);
        let (edit, roots) = fill_missing(&data, &structure).expect("has a gap");
        let mut padded = data.clone();
        edit.apply(&mut padded).expect("applies");
        assert_eq!((roots, tree_findings(&padded).len()), (1, 2));
        let s2 = &padded.root.samples[1]
            .children()
            .expect("is a FOLDER")
            .samples[1];
        assert_eq!(
            (&*s2.id, s2.children().map(|t| t.samples.len())),
            ("__TACOPAD__1", Some(2))
        );
        let (edit, roots) = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default())
            .expect("has fixes");
        let mut mended = data.clone();
        edit.apply(&mut mended).expect("applies");
        assert_eq!(
            (roots, tree_findings(&mended).len()),
            (2, 1),
            "the sample too much stays"
        );
        let (edit, _) = apply_alike(
            &data,
            &structure,
            &TrayIndex::default(),
            &Kinds::default(),
            3,
        )
        .expect("has a fix");
        edit.apply(&mut mended).expect("applies");
        assert_eq!(tree_findings(&mended), []);
    }

    #[test]
    fn only_another_spelling_of_a_name_is_renamed() {
        let scene = |id: &str, parts: &[&str]| {
            Sample::folder(
                id,
                Tortilla::new(parts.iter().map(|part| file(part)).collect()),
            )
        };
        let whole = ["after.tif", "before.tif"];
        let labels = |odd: &[&str]| {
            let data = dataset(vec![
                scene("a", &whole),
                scene("b", odd),
                scene("c", &whole),
            ]);
            let structure = Structure::from_dataset(&data);
            let fixes = fixes_of(
                &data,
                &structure,
                &tree_findings(&data)[0],
                &TrayIndex::default(),
                &Kinds::default(),
            );
            let safe = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default());
            (
                fixes
                    .iter()
                    .map(|fix| (fix.changes().join("; "), fix.care))
                    .collect::<Vec<_>>(),
                safe.is_some(),
            )
        };
        let drop = ("Drop b".to_owned(), Care::Removes);
        let padded = ("Pad 1, drop 1; Drop label.tif".to_owned(), Care::Removes);
        assert_eq!(
            labels(&["after.tif", "label.tif"]),
            (vec![padded, drop.clone()], false)
        );
        let renamed = ("S2_before_v2.tif → before.tif".to_owned(), Care::Ids);
        assert_eq!(
            labels(&["after.tif", "S2_before_v2.tif"]),
            (vec![renamed, drop.clone()], false)
        );
        // Two files could be the one that is missing.
        let (fixes, safe) = labels(&["after.tif", "before_v1.tif", "before_v2.tif"]);
        assert!(
            fixes.iter().all(|(_, care)| *care == Care::Removes) && !safe,
            "{fixes:?}"
        );

        let data = dataset(vec![
            scene("a", &whole),
            scene("b", &["after.tif", "befor.tif"]),
            scene("c", &whole),
        ]);
        let (_, roots) = fix_safe(
            &data,
            &Structure::from_dataset(&data),
            &TrayIndex::default(),
            &Kinds::default(),
        )
        .expect("is a slip");
        assert_eq!(roots, 1);

        // When many roots have the other spelling, it is ambiguous which is intended.
        let slip = ["after.tif", "befor.tif"];
        let mut roots = vec![scene("a", &whole), scene("b", &whole), scene("c", &whole)];
        roots.extend(["d", "e", "f"].map(|id| scene(id, &slip)));
        let data = dataset(roots);
        assert_eq!(
            fix_safe(
                &data,
                &Structure::from_dataset(&data),
                &TrayIndex::default(),
                &Kinds::default()
            ),
            None
        );
    }

    #[test]
    fn another_date_is_not_the_expected_one_under_another_name() {
        let series = |id: &str, days: &[&str]| {
            let ids: Vec<String> = days.iter().map(|day| format!("202001{day}.tif")).collect();
            Sample::folder(id, Tortilla::new(ids.iter().map(|id| file(id)).collect()))
        };
        let fixes = |samples: Vec<Sample>| {
            let data = dataset(samples);
            let structure = Structure::from_dataset(&data);
            let finding = fault_of(&data, 1).expect("is there");
            let fixes = fixes_of(
                &data,
                &structure,
                &finding,
                &TrayIndex::default(),
                &Kinds::default(),
            );
            let safe = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default());
            assert_eq!(
                fill_missing(&data, &structure),
                safe,
                "only padding is safe here"
            );
            let labels: Vec<Vec<String>> = fixes.iter().map(Fix::changes).collect();
            (labels, safe.is_some())
        };
        let days = ["01", "06", "11", "16"];
        let other = ["03", "08", "13", "18", "23", "28"];
        for odd in [&other[..], &other[..4], &other[..2]] {
            let found = fixes(vec![
                series("a", &days),
                series("b", odd),
                series("c", &days),
            ]);
            assert_eq!(found, (vec![vec!["Drop b".to_owned()]], false), "{odd:?}");
        }
        // Every root has dates of its own: nothing is the pattern, and nothing follows from it.
        let tie = || ["01", "03", "05", "07", "09"].map(|day| series(day, &[day, "20"][..1]));
        assert_eq!(fixes(tie().into()), (Vec::new(), false));
        // What the pattern lacks is named before it is dropped.
        let more = ["01", "06", "11", "16", "21", "26"];
        let (labels, safe) = fixes(vec![
            series("a", &days),
            series("b", &more),
            series("c", &days),
        ]);
        let drops = vec![
            "Drop 20200121.tif".to_owned(),
            "Drop 20200126.tif".to_owned(),
        ];
        assert_eq!(
            (labels, safe),
            (vec![drops, vec!["Drop b".to_owned()]], false)
        );
    }

    #[test]
    fn a_fix_never_gives_a_label_the_id_of_an_image() {
        let scene = |id: &str, parts: &[&str]| {
            let file = |part: &&str| Sample::file(part, format!("/data/{id}/{part}"), 9);
            Sample::folder(id, Tortilla::new(parts.iter().map(file).collect()))
        };
        let whole = ["after.tif", "before.tif", "label.tif"];
        let odd = [
            "Label_FINAL.TIF",
            "after_20200101.tif",
            "before_20190101.tif",
        ];
        let names = |samples: &[Sample]| {
            let data = dataset(samples.to_vec());
            let structure = Structure::from_dataset(&data);
            let image = |path: &str| {
                path.contains("after") || path.contains("before") || path.contains("pic")
            };
            let kinds = Kinds::new(move |path: &crate::model::AssetPath| {
                let (dtype, bands) = if image(&path.to_vsi()) {
                    ("UInt16", 3)
                } else {
                    ("Byte", 1)
                };
                Some(FileKind::Raster {
                    dtype: dtype.into(),
                    bands,
                    size: (8, 8),
                    crs: Some("EPSG:4326".into()),
                })
            });
            let finding = fault_of(&data, 1).expect("is there");
            let fixes = fixes_of(&data, &structure, &finding, &TrayIndex::default(), &kinds);
            let mut mended = data.clone();
            fixes[0].edit.clone().apply(&mut mended).expect("applies");
            let children = mended.root.samples[1].children().expect("is a FOLDER");
            let pairs: Vec<String> = children
                .samples
                .iter()
                .map(|child| match &child.payload {
                    Payload::Asset { path, .. } => {
                        format!(
                            "{} = {}",
                            child.id,
                            path.to_vsi().rsplit('/').next().unwrap_or_default()
                        )
                    }
                    _ => child.id.to_string(),
                })
                .collect();
            (fixes[0].clone(), pairs)
        };
        let three = |odd: &[&str]| [scene("a", &whole), scene("b", odd), scene("c", &whole)];
        // Names are alike although the order of names differs.
        let (fix, pairs) = names(&three(&odd));
        let right = [
            "after.tif = after_20200101.tif",
            "before.tif = before_20190101.tif",
            "label.tif = Label_FINAL.TIF",
        ];
        assert_eq!(pairs, right);
        assert_eq!(
            fix.label,
            "Rename all 3 to match: after_20200101.tif → after.tif, …"
        );
        let shown = [
            "after_20200101.tif → after.tif",
            "before_20190101.tif → before.tif",
            "Label_FINAL.TIF → label.tif",
        ];
        assert_eq!(fix.changes(), shown);
        // A name that says nothing is not guessed from the kind of file.
        let (fix, _) = names(&three(&["aaa.tif", "before.tif", "pic.tif"]));
        assert_eq!((fix.care, fix.renames), (Care::Removes, Vec::new()));
        // Only an image is left for the position of the label: it is not renamed.
        let (fix, pairs) = names(&three(&["after.tif", "before.tif", "pic.tif"]));
        assert_eq!(fix.care, Care::Removes, "{}", fix.label);
        assert!(
            pairs.iter().all(|pair| !pair.contains("pic.tif")),
            "{pairs:?}"
        );
    }

    #[test]
    fn a_file_is_wrapped_only_when_unambiguous() {
        let scene = |id: &str, parts: &[&str]| {
            Sample::folder(
                id,
                Tortilla::new(parts.iter().map(|part| file(part)).collect()),
            )
        };
        let whole = ["after.tif", "before.tif"];
        let wrapped = |odd: &str, parts: &[&str]| {
            let data = dataset(vec![scene("a", parts), file(odd), scene("c", parts)]);
            let structure = Structure::from_dataset(&data);
            let finding = tree_findings(&data)
                .into_iter()
                .find(|finding| finding.rule == Rule::PitMixed)
                .expect("is mixed");
            let fixes = fixes_of(
                &data,
                &structure,
                &finding,
                &TrayIndex::default(),
                &Kinds::default(),
            );
            let safe =
                fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default()).is_some();
            assert_eq!(fixes[0].care, if safe { Care::Safe } else { Care::Removes });
            let mut mended = data.clone();
            fixes[0].edit.clone().apply(&mut mended).expect("applies");
            let inside = mended.root.samples[1]
                .children()
                .expect("is a FOLDER")
                .samples
                .clone();
            inside
                .into_iter()
                .find(|sample| !sample.is_padding())
                .map(|sample| sample.id.to_string())
                .filter(|_| safe)
        };
        assert_eq!(wrapped("b_before.tif", &whole), Some("before.tif".into()));
        assert_eq!(wrapped("b", &["image.tif"]), Some("image.tif".into()));
        // Which of the two it is cannot be known: all that is offered is to drop it.
        assert_eq!(wrapped("b", &whole), None);
    }
}
