//! What is asked when paths can be read in more than one way, or in none.

use std::fmt;

use super::{LayoutConflict, LayoutReading};

/// A choice that answers a question. As text, the arguments of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutWay {
    /// No layout: folders and files as they are.
    AsTheyAre,
    /// The layout that is recognised.
    Auto,
    /// The innermost folders are positions, the stems roots.
    Folders,
    /// The ends of the stems are positions.
    Stems,
    Reading(LayoutReading),
    /// Files that match these patterns are left out; none where the user has to name them.
    Exclude(Vec<String>),
}

impl fmt::Display for LayoutWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsTheyAre => f.write_str("without --layout"),
            Self::Auto => f.write_str("--layout auto"),
            Self::Folders => f.write_str("--layout folders"),
            Self::Stems => f.write_str("--layout stems"),
            Self::Reading(reading) => write!(f, "--layout '{}'", reading.patterns().join("' or '")),
            Self::Exclude(patterns) if patterns.is_empty() => f.write_str("--exclude GLOB"),
            Self::Exclude(patterns) => {
                let options: Vec<String> = patterns
                    .iter()
                    .map(|pattern| format!("--exclude '{pattern}'"))
                    .collect();
                f.write_str(&options.join(" "))
            }
        }
    }
}

/// One way to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutAlternative {
    /// What the dataset would be.
    pub meaning: String,
    /// How it is chosen.
    pub way: LayoutWay,
}

/// Why no reading was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnclearLayout {
    /// There are too few files, or none of their names has anything in common with another.
    NothingShared,
    /// The layout that was asked for gives two files one place.
    SamePlace,
    /// Folders, or names in a folder, may be parts of scenes or roots of their own.
    PartsOrRoots,
    /// Two readings fit equally well.
    TwoReadings,
    /// The files have several structures.
    SeveralStructures,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutQuestion {
    /// Why.
    pub reason: UnclearLayout,
    /// One sentence.
    pub summary: String,
    /// What may be meant.
    pub alternatives: Vec<LayoutAlternative>,
}

impl LayoutQuestion {
    pub(super) fn new(reason: UnclearLayout, summary: impl Into<String>) -> Self {
        Self {
            reason,
            summary: summary.into(),
            alternatives: Vec::new(),
        }
    }

    /// Asks for another layout where one gives two of `paths` the same place.
    pub fn of_conflict(conflict: &LayoutConflict, paths: &[String]) -> Self {
        let [a, b] = conflict.files.map(|index| paths[index].as_str());
        Self::new(
            UnclearLayout::SamePlace,
            format!("{a} and {b} get the same place in this layout"),
        )
        .or("finds the layout that fits", LayoutWay::Auto)
        .or("leaves files out", LayoutWay::Exclude(Vec::new()))
    }

    #[must_use]
    pub(super) fn or(mut self, meaning: impl Into<String>, way: LayoutWay) -> Self {
        self.alternatives.push(LayoutAlternative {
            meaning: meaning.into(),
            way,
        });
        self
    }

    /// The error with the alternatives as hints.
    pub fn into_error(self) -> crate::error::Error {
        let error =
            crate::error::Error::usage(self.summary).caused_by(crate::error::Cause::UnclearLayout);
        self.alternatives.into_iter().fold(error, |error, choice| {
            error.hint(format!("{}: {}", choice.way, choice.meaning))
        })
    }
}
