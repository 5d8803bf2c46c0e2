//! Finds fixes: for a finding, the edits that resolve it, best first, each with a preview. A safe
//! fix is undone in one step and removes nothing. Pure: fixes are computed, not applied.

mod padding;
#[cfg(test)]
mod tests;

pub use padding::{PAD_MULTIPLE_MAX, PadPlace, PadTo, pad_all, pad_to};

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::file_kind::Kinds;
use super::fitting::{Fitting, FittingActions};
use super::tray_index::TrayIndex;
use super::{Care, Edit, Fix, FixVerb, Structure};
use crate::model::{
    Dataset, Finding, Location, NodePath, Payload, Rule, Sample, check_sample_id, is_padding,
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
        verb: FixVerb::Align,
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
