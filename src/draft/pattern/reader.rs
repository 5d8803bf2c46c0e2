//! Input of the inference of a name pattern, and the ids formed from the tokens of a name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cohort::Cohort;
use super::{Example, TokenRole};
use crate::model::{Dataset, Sample, Tortilla};

/// Ids from a root down to a FILE.
pub(super) type IdPath = Vec<Arc<str>>;

/// How an id is composed of tokens.
pub(super) type IdParts = Vec<IdPart>;

/// Literal text, or a token of a class.
pub(super) enum IdPart {
    Text(String),
    Token { class: usize, token: usize },
}

/// Positions and samples that the draft already has.
pub(super) struct ExistingStructure {
    /// Positions of the FILEs of the longest root.
    pub positions: Vec<IdPath>,
    /// For each root, the FILEs that are not padding.
    pub filled: HashMap<Arc<str>, HashSet<IdPath>>,
    /// The draft has roots that are not those of the examples: positions that these roots lack are
    /// not added.
    pub has_other_roots: bool,
}

impl ExistingStructure {
    pub fn from_dataset(dataset: &Dataset, examples: &[Example]) -> Self {
        let (mut positions, mut filled) = (Vec::new(), HashMap::new());
        for sample in &dataset.root.samples {
            let found = list_files_of_root(sample);
            let real: HashSet<IdPath> = found
                .into_iter()
                .filter(|file| file.1)
                .map(|file| file.0)
                .collect();
            if real.len() > positions.len() {
                positions = list_files_of_root(sample)
                    .into_iter()
                    .filter(|file| file.1)
                    .map(|file| file.0)
                    .collect();
            }
            filled.insert(sample.id.clone(), real);
        }
        let shown: HashSet<&Arc<str>> = examples.iter().map(|example| &example.root).collect();
        let has_other_roots = dataset
            .root
            .samples
            .iter()
            .any(|sample| !shown.contains(&sample.id));
        Self {
            positions,
            filled,
            has_other_roots,
        }
    }
}

/// The paths of the FILEs of a root, and whether each is more than padding.
fn list_files_of_root(root: &Sample) -> Vec<(IdPath, bool)> {
    let mut found = Vec::new();
    match root.children() {
        Some(children) => add_files_of_tortilla(children, &mut IdPath::new(), &mut found),
        None => found.push((IdPath::new(), !root.is_padding())),
    }
    found
}

fn add_files_of_tortilla(tortilla: &Tortilla, above: &mut IdPath, found: &mut Vec<(IdPath, bool)>) {
    for sample in &tortilla.samples {
        above.push(sample.id.clone());
        match sample.children() {
            Some(children) => add_files_of_tortilla(children, above, found),
            None => found.push((above.clone(), !sample.is_padding())),
        }
        above.pop();
    }
}

/// Input of the inference: files of the tray, examples, and the existing structure of the draft.
pub(super) struct PatternInput<'a> {
    pub cohort: &'a Cohort,
    pub examples: &'a [Example],
    pub draft: &'a ExistingStructure,
}

impl PatternInput<'_> {
    /// The id of a file, formed from these parts.
    pub fn compose_id(&self, parts: &IdParts, row: usize) -> String {
        parts
            .iter()
            .map(|part| self.read_id_part(part, row))
            .collect()
    }

    fn read_id_part(&self, part: &IdPart, row: usize) -> String {
        match part {
            IdPart::Text(text) => text.clone(),
            IdPart::Token { class, token } => {
                let value = self.cohort.rows[row].values[*class];
                self.cohort.classes[*class].texts[*token]
                    .get(value as usize)
                    .cloned()
                    .unwrap_or_default()
            }
        }
    }

    /// The values of all classes with a role.
    pub fn key(&self, row: usize, roles: &[TokenRole], role: TokenRole) -> Vec<u32> {
        let row = &self.cohort.rows[row];
        let mut key: Vec<u32> = row
            .values
            .iter()
            .zip(roles)
            .filter(|(_, own)| **own == role)
            .map(|(value, _)| *value)
            .collect();
        if role == TokenRole::Position && self.cohort.templates > 1 {
            key.push(row.template);
        }
        key
    }
}
