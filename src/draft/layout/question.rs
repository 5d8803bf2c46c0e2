//! What is asked when paths can be read in more than one way, or in none.

use std::collections::BTreeMap;
use std::fmt;

use super::parsed::ParsedPath;
use super::{
    FolderRole, LayoutConflict, LayoutReading, LayoutRefusal, NameRole, SparseArrangement,
};

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
    /// The layout gives roots and positions of which nearly all have no file.
    TooSparse,
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

    /// Asks for another layout where one does not fit `paths`.
    pub fn of_refusal(refusal: &LayoutRefusal, paths: &[String]) -> Self {
        match refusal {
            LayoutRefusal::SamePlace(conflict) => Self::of_conflict(conflict, paths),
            LayoutRefusal::TooSparse(sparse) => Self::of_sparse(sparse, paths),
        }
    }

    /// The question without one way, such as the one that led to it.
    #[must_use]
    pub fn without_way(mut self, way: &LayoutWay) -> Self {
        self.alternatives.retain(|choice| choice.way != *way);
        self
    }

    fn of_sparse(sparse: &SparseArrangement, paths: &[String]) -> Self {
        let summary = format!("this layout gives {sparse}");
        Self::new(UnclearLayout::TooSparse, summary)
            .or("finds the layout that fits", LayoutWay::Auto)
            .or(
                "makes each file a root",
                LayoutWay::Reading(read_files_as_roots(paths)),
            )
            .or("leaves files out", LayoutWay::Exclude(Vec::new()))
    }

    fn of_conflict(conflict: &LayoutConflict, paths: &[String]) -> Self {
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

/// Each of these files is a root, whatever folders it is in.
pub(super) fn read_files_as_roots(paths: &[String]) -> LayoutReading {
    let parsed = ParsedPath::all_of_chosen_layout(paths);
    let main = parsed.iter().filter(|path| path.is_main);
    let names: BTreeMap<usize, NameRole> =
        main.map(|path| (path.depth(), NameRole::Root)).collect();
    let deepest = names.keys().next_back().copied().unwrap_or(0);
    LayoutReading {
        folders: vec![FolderRole::Root; deepest],
        names,
    }
}
