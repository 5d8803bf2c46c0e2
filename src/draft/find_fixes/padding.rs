//! Padding of tortillas to multiples of a number of samples.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::draft::Edit;
use crate::error::{Error, Result};
use crate::model::{Dataset, MAX_LEVELS, NodePath, Sample, SamplePath, Tortilla};

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
