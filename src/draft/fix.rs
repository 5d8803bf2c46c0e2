//! One fix of a finding: an edit with what it changes.

use std::sync::Arc;

use super::Edit;

/// Kind of change of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixVerb {
    /// Put files of the tray into missing positions.
    Place,
    /// Put padding into missing positions.
    Pad,
    /// Change sample ids.
    Rename,
    /// Move one sample to another position.
    Move,
    /// Move several samples.
    Reorder,
    /// Wrap FILEs in a FOLDER.
    Wrap,
    /// Remove samples.
    Drop,
    /// Replace a FOLDER by its only file.
    Put,
    /// Give roots the common type, or tortillas the common fields.
    Give,
}

impl FixVerb {
    /// Name for the user, in the interface language.
    pub fn text(self) -> &'static str {
        match self {
            Self::Place => tr!("Place" in "a fix"),
            Self::Pad => tr!("Pad" in "a fix"),
            Self::Rename => tr!("Rename" in "a fix"),
            Self::Move => tr!("Move" in "a fix"),
            Self::Reorder => tr!("Reorder" in "a fix"),
            Self::Wrap => tr!("Wrap" in "a fix"),
            Self::Drop => tr!("Drop" in "a fix"),
            Self::Put => tr!("Put" in "a fix"),
            Self::Give => tr!("Give" in "a fix"),
        }
    }
}

/// How much attention a fix needs from the user, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Care {
    /// Removes nothing, and assigns no id that might belong to another sample.
    Safe,
    /// Assigns dissimilar ids: only the user can tell whether the samples match them.
    Ids,
    /// Removes samples from the dataset.
    Removes,
}

/// One fix of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Kind of change; when there are several, the first one in the label.
    pub verb: FixVerb,
    /// Description, such as "Rename lable to label".
    pub label: String,
    /// The edit; a single step of the history.
    pub edit: Edit,
    /// How much attention it needs.
    pub care: Care,
    /// Number of samples added, renamed, moved or removed.
    pub affects: u64,
    /// The affected samples, one per line: before and after.
    pub preview: (Vec<String>, Vec<String>),
    /// Old and new ids of the renamed samples.
    pub renames: Vec<(Arc<str>, Arc<str>)>,
}

impl Fix {
    /// What it changes, one entry each: every renamed sample, or else the description.
    pub fn changes(&self) -> Vec<String> {
        match self.renames.is_empty() {
            true => vec![self.label.clone()],
            false => {
                let others = (self.renames.len() as u64) < self.affects;
                let renames = self.renames.iter().map(|(old, new)| format!("{old} → {new}"));
                others.then(|| self.label.clone()).into_iter().chain(renames).collect()
            }
        }
    }
}
