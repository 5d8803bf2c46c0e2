//! A fix of a finding: an edit with label, risk and preview.

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
    Unwrap,
    /// Set the roots' type, or the tortillas' fields, to the common one.
    Align,
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
            Self::Unwrap => tr!("Unwrap" in "a fix"),
            Self::Align => tr!("Align" in "a fix"),
        }
    }
}

/// What a user has to check before a fix is applied, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Care {
    /// Removes nothing, and assigns no id that might belong to another sample.
    Safe,
    /// Assigns ids that are not similar to the old ones; the user has to confirm that they fit the
    /// samples.
    Ids,
    /// Removes samples from the dataset.
    Removes,
}

/// One fix of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Kind of change; of several, the one that `label` names first.
    pub verb: FixVerb,
    /// Description, such as "Rename lable to label".
    pub label: String,
    /// The edit; a single step of the history.
    pub edit: Edit,
    /// What has to be checked before.
    pub care: Care,
    /// Number of samples added, renamed, moved or removed.
    pub affects: u64,
    /// The affected samples, one per line: before and after.
    pub preview: (Vec<String>, Vec<String>),
    /// Old and new ids of the renamed samples.
    pub renames: Vec<(Arc<str>, Arc<str>)>,
    /// The removed samples, as paths below their root, or as ids of roots.
    pub drops: Vec<String>,
}

impl Fix {
    /// Lines that describe the fix: `old → new` for each renamed sample, and each removed sample,
    /// after the label if samples change in another way too; without them, the label alone.
    pub fn changes(&self) -> Vec<String> {
        let listed = (self.renames.len() + self.drops.len()) as u64;
        if listed == 0 || (self.renames.is_empty() && self.affects <= 1) {
            return vec![self.label.clone()];
        }
        let label = (listed < self.affects).then(|| self.label.clone());
        let renames = self
            .renames
            .iter()
            .map(|(old, new)| format!("{old} → {new}"));
        let drops = self.drops.iter().map(|path| tr!("Drop {id}", id = path));
        label.into_iter().chain(renames).chain(drops).collect()
    }
}
