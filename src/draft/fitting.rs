//! Fits one root to the pattern: which samples are placed, padded, renamed, moved, wrapped or
//! removed, and how certain that is. Ids decide, never positions: a sample of another name is not
//! what the pattern has at its position.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::file_kind::{KindMatch, Kinds};
use super::fix::{Care, FixVerb};
use super::spelling::{differ_in_data, near_identical};
use super::structure::align_files;
use super::tray_index::{TrayIndex, contains_word, split_name};
use super::{PositionState, Structure};
use crate::model::{Dataset, PaddingNumbers, Payload, Sample, Tortilla, padding_like};

/// The actions that fit a FOLDER to its pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FittingActions {
    placed: u64,
    padded: u64,
    renamed: u64,
    moved: u64,
    wrapped: u64,
    dropped: u64,
    /// Number of samples whose new id may belong to another sample.
    guessed: u64,
    /// No action makes it fit; it is left unchanged.
    pub impossible: bool,
    /// Kind and description of the action, when there is only one.
    single: Option<(FixVerb, String)>,
    /// Ids before and after, of the renamed samples.
    pub renames: Vec<(Arc<str>, Arc<str>)>,
    /// Paths below the root, of the removed samples.
    pub drops: Vec<String>,
}

impl FittingActions {
    pub fn total(&self) -> u64 {
        self.placed + self.padded + self.renamed + self.moved + self.wrapped + self.dropped
    }

    pub fn care(&self) -> Care {
        match (self.dropped, self.guessed) {
            (0, 0) => Care::Safe,
            (0, _) => Care::Ids,
            _ => Care::Removes,
        }
    }

    pub fn only_pads(&self) -> bool {
        self.total() == self.padded
    }

    fn note(&mut self, verb: FixVerb, what: String) {
        self.single = if self.total() == 1 {
            Some((verb, what))
        } else {
            None
        };
    }

    pub fn label(&self) -> (FixVerb, String) {
        if let Some(single) = &self.single {
            return single.clone();
        }
        if self.renamed == self.total()
            && let Some((old, new)) = self.renames.first()
        {
            return (
                FixVerb::Rename,
                tr!(
                    "Rename all {n} to match: {old} → {new}, …",
                    n = self.renamed,
                    old,
                    new
                ),
            );
        }
        let parts = [
            (
                FixVerb::Place,
                self.placed,
                tr!("place {n}", n = self.placed),
            ),
            (FixVerb::Pad, self.padded, tr!("pad {n}", n = self.padded)),
            (
                FixVerb::Rename,
                self.renamed,
                tr!("rename {n}", n = self.renamed),
            ),
            (
                FixVerb::Reorder,
                self.moved,
                tr!("reorder {n}", n = self.moved),
            ),
            (
                FixVerb::Wrap,
                self.wrapped,
                tr!("wrap {n}", n = self.wrapped),
            ),
            (
                FixVerb::Drop,
                self.dropped,
                tr!("drop {n}", n = self.dropped),
            ),
        ];
        let (verbs, texts): (Vec<FixVerb>, Vec<String>) = parts
            .into_iter()
            .filter(|part| part.1 > 0)
            .map(|(verb, _, text)| (verb, text))
            .unzip();
        let text = texts.join(", ");
        let mut rest = text.chars();
        let label = rest
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .chain(rest)
            .collect();
        (verbs.first().copied().unwrap_or(FixVerb::Align), label)
    }
}

/// Most ids of missing and of extra samples that are compared with each other.
const COMPARED: usize = 500;

/// State while fitting one root: the pattern, the tray, and the files used so far.
pub(super) struct Fitting<'a> {
    dataset: &'a Dataset,
    kinds: &'a Kinds,
    /// Ids in the pattern of the FOLDERs that are being fitted, below the root.
    inside: Vec<Arc<str>>,
    structure: &'a Structure,
    tray: &'a TrayIndex,
    pub used: BTreeSet<u32>,
    /// The files in `used` that were taken for this root.
    pub taken: Vec<u32>,
    pub actions: FittingActions,
}

impl<'a> Fitting<'a> {
    /// Starts with one root; the tray files in `used` are taken already.
    pub fn new(
        dataset: &'a Dataset,
        structure: &'a Structure,
        tray: &'a TrayIndex,
        kinds: &'a Kinds,
        used: BTreeSet<u32>,
    ) -> Self {
        Self {
            dataset,
            kinds,
            inside: Vec::new(),
            structure,
            tray,
            used,
            taken: Vec::new(),
            actions: FittingActions::default(),
        }
    }

    /// Returns `found` fitted to `wanted`, recursively.
    fn tortilla(&mut self, wanted: &Tortilla, found: &Tortilla, above: &[Arc<str>]) -> Tortilla {
        let aligned = align_files(wanted, found, self.dataset, &self.inside, self.kinds);
        let mut fitted = Tortilla {
            schema: found.schema.clone(),
            samples: Vec::with_capacity(wanted.samples.len()),
        };
        let mut numbers = PaddingNumbers::from_tortilla(found);
        for (position, (state, place)) in aligned.places.iter().enumerate() {
            let model = &wanted.samples[position];
            let Some(place) = *place else {
                let sample = self.fill(model, position, &mut numbers, above);
                fitted.samples.push(sample);
                continue;
            };
            let mut sample = found.samples[place].clone();
            if *state == PositionState::WrongOrder {
                self.actions.moved += 1;
                self.actions.note(
                    FixVerb::Move,
                    tr!("Move {id} to position {position}", id = sample.id, position),
                );
            }
            if *state == PositionState::WrongId {
                self.actions.renamed += 1;
                self.actions.guessed += u64::from(
                    !self.is_slip(&sample.id, &model.id) || self.is_odd(wanted, position, &sample),
                );
                self.actions
                    .renames
                    .push((sample.id.clone(), model.id.clone()));
                self.actions.note(
                    FixVerb::Rename,
                    tr!("Rename {old} to {new}", old = sample.id, new = model.id),
                );
                sample.id = model.id.clone();
            }
            self.inside.push(model.id.clone());
            let sample = self.sample(model, sample, above);
            self.inside.pop();
            fitted.samples.push(sample);
        }
        for &index in &aligned.extra {
            self.note_drop(&found.samples[index].id);
            self.actions.note(
                FixVerb::Drop,
                tr!("Drop {id}", id = found.samples[index].id),
            );
        }
        let missing = aligned
            .places
            .iter()
            .zip(&wanted.samples)
            .filter(|((_, place), _)| place.is_none())
            .map(|(_, model)| model);
        let extra = aligned.extra.iter();
        let extra = extra
            .filter_map(|&index| found.samples.get(index))
            .take(COMPARED);
        // Another date or tile instead of the expected one: neither its removal nor another name
        // for it is a repair.
        let mut missing = missing.take(COMPARED);
        if missing.any(|model| {
            extra
                .clone()
                .any(|sample| differ_in_data(&model.id, &sample.id))
        }) {
            self.actions.impossible = true;
        }
        fitted
    }

    fn note_drop(&mut self, id: &str) {
        let path: Vec<&str> = self.inside.iter().map(|id| &**id).chain([id]).collect();
        self.actions.drops.push(path.join(" / "));
        self.actions.dropped += 1;
    }

    /// True when `old` is only another spelling of `new`, and is not an id of the pattern or of so
    /// many roots that it cannot be a typing error.
    fn is_slip(&self, old: &str, new: &str) -> bool {
        near_identical(old, new)
            && !self.structure.pattern().iter().any(|node| *node.id == *old)
            && self.structure.holders(old).saturating_sub(1) * 2 <= self.structure.holders(new)
    }

    /// True when the file is of another kind than the other roots have at this position.
    fn is_odd(&self, wanted: &Tortilla, position: usize, sample: &Sample) -> bool {
        self.kinds
            .fits(self.dataset, &self.inside, wanted, position, sample)
            == KindMatch::Odd
    }

    /// Which FILE of `wanted` a FILE with the id `own` becomes when it is wrapped in a FOLDER: the
    /// only one, or the only one that its id names. `None` when another could be meant.
    fn place_in(wanted: &Tortilla, own: &str) -> Option<Arc<str>> {
        let files: Vec<&Sample> = wanted
            .samples
            .iter()
            .filter(|child| child.children().is_none() && !child.is_padding())
            .collect();
        let (spoken, _) = split_name(own);
        let is_named = |file: &Sample| {
            near_identical(own, &file.id) || contains_word(&spoken, &split_name(&file.id).0)
        };
        let named: Vec<&Sample> = files
            .iter()
            .copied()
            .filter(|file| is_named(file))
            .collect();
        match (files.as_slice(), named.as_slice()) {
            ([one], _) | (_, [one]) => Some(one.id.clone()),
            _ => None,
        }
    }

    /// Fits a matched sample: its type and its descendants.
    pub fn sample(&mut self, model: &Sample, mut sample: Sample, above: &[Arc<str>]) -> Sample {
        match (model.children(), sample.children().cloned()) {
            (Some(wanted), Some(found)) => {
                let mut above = above.to_vec();
                above.push(sample.id.clone());
                let before = self.actions.total();
                let fitted = self.tortilla(wanted, &found, &above);
                // An unchanged subtree stays shared.
                if self.actions.total() != before {
                    sample.payload = Payload::Folder(fitted.into());
                }
                sample
            }
            (None, None) => sample,
            // Padding of the wrong type contains nothing: it is replaced by padding of the model's
            // type.
            _ if sample.is_padding() && sample.size_bytes() == 0 => {
                self.actions.padded += 1;
                // A root keeps its own id.
                let id = if above.is_empty() {
                    &sample.id
                } else {
                    &model.id
                };
                self.actions.note(FixVerb::Pad, tr!("Pad {id}", id));
                Sample {
                    id: sample.id,
                    ..padding_like(model, 0)
                }
            }
            (Some(wanted), None) => {
                self.actions.wrapped += 1;
                self.actions.note(
                    FixVerb::Wrap,
                    tr!("Wrap {id} into a tortilla", id = sample.id),
                );
                let id = sample.id.clone();
                let values = std::mem::replace(&mut sample.values, Arc::from([]));
                match Self::place_in(wanted, &id) {
                    Some(inside) => sample.id = inside,
                    None => self.actions.impossible = true,
                }
                let inside = Tortilla {
                    schema: wanted.schema.clone(),
                    samples: vec![sample],
                };
                let fitted = self.tortilla(wanted, &inside, above);
                Sample {
                    id,
                    payload: Payload::Folder(fitted.into()),
                    values,
                }
            }
            (None, Some(found)) => {
                match found.samples.as_slice() {
                    // A single file replaces its FOLDER; its values belong to another level and are
                    // dropped.
                    [one] if one.children().is_none() && !one.is_padding() => {
                        self.note_drop(&one.id);
                        self.actions.note(
                            FixVerb::Unwrap,
                            tr!(
                                "Put one file in the place of the FOLDER {id}",
                                id = sample.id
                            ),
                        );
                        sample.payload = one.payload.clone();
                    }
                    // It is ambiguous which file is meant, if any.
                    _ => self.actions.impossible = true,
                }
                sample
            }
        }
    }

    /// The file for an empty position, or padding.
    fn fill(
        &mut self,
        model: &Sample,
        position: usize,
        numbers: &mut PaddingNumbers,
        above: &[Arc<str>],
    ) -> Sample {
        if model.children().is_none()
            && let Some(index) = self.tray.matching(&model.id, above, &self.used)
            && let Some(file) = self.tray.files().get(index as usize)
        {
            self.used.insert(index);
            self.taken.push(index);
            self.actions.placed += 1;
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            self.actions.note(
                FixVerb::Place,
                tr!("Place {name} as {id}", name, id = model.id),
            );
            return Sample::new_file(&model.id, &file.path, file.size);
        }
        self.actions.padded += 1;
        self.actions
            .note(FixVerb::Pad, tr!("Pad {id}", id = model.id));
        padding_like(model, numbers.take(position as u64))
    }
}
