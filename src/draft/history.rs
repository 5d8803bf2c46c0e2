//! A draft: the dataset, its revision, and the edits that lead back and forth.

use super::Edit;
use crate::error::{Error, Result};
use crate::model::{Collection, Dataset};

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was done.
    pub label: String,
    /// The edit that changes it back (or forth again, in the redo list).
    edit: Edit,
}

/// A dataset being edited.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    dataset: Dataset,
    revision: u64,
    /// The revision that was last written or saved.
    saved: u64,
    undo: Vec<Step>,
    redo: Vec<Step>,
}

impl Draft {
    /// An empty draft with the template collection.
    pub fn new() -> Self {
        Self::of(Dataset { collection: Collection::template(), ..Dataset::default() })
    }

    /// A draft that starts from `dataset`.
    pub fn of(dataset: Dataset) -> Self {
        Self { dataset, ..Self::default() }
    }

    /// The dataset as it is now. Cloning it is cheap: children are shared.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Grows with every change, also with undo and redo.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// True when something changed since the last [`Draft::mark_saved`].
    pub fn is_dirty(&self) -> bool {
        self.revision != self.saved
    }

    /// Number of steps that undo would take back.
    pub fn steps(&self) -> usize {
        self.undo.len()
    }

    /// Remembers that the present state is on disk.
    pub fn mark_saved(&mut self) {
        self.saved = self.revision;
    }

    /// Applies an edit; what was undone before is gone. Gives the edit's label.
    pub fn apply(&mut self, edit: Edit) -> Result<String> {
        let label = edit.label();
        let inverse = edit.apply(&mut self.dataset)?;
        self.undo.push(Step { label: label.clone(), edit: inverse });
        self.redo.clear();
        self.revision += 1;
        Ok(label)
    }

    /// Takes back the last edit; gives its label.
    pub fn undo(&mut self) -> Result<String> {
        let step = self.undo.pop().ok_or_else(|| Error::usage("there is nothing to undo"))?;
        let inverse = step.edit.apply(&mut self.dataset)?;
        self.redo.push(Step { label: step.label.clone(), edit: inverse });
        self.revision += 1;
        Ok(step.label)
    }

    /// Does the last undone edit again; gives its label.
    pub fn redo(&mut self) -> Result<String> {
        let step = self.redo.pop().ok_or_else(|| Error::usage("there is nothing to redo"))?;
        let inverse = step.edit.apply(&mut self.dataset)?;
        self.undo.push(Step { label: step.label.clone(), edit: inverse });
        self.revision += 1;
        Ok(step.label)
    }

    /// What undo would take back.
    pub fn undo_label(&self) -> Option<&str> {
        self.undo.last().map(|step| step.label.as_str())
    }

    /// What redo would do again.
    pub fn redo_label(&self) -> Option<&str> {
        self.redo.last().map(|step| step.label.as_str())
    }

    /// The edits done so far, oldest first.
    pub fn history(&self) -> &[Step] {
        &self.undo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_walk_the_same_path() {
        let mut draft = Draft::new();
        let before = draft.dataset().clone();
        let set = |value: &str| Edit::SetCollection { key: "title".into(), value: Some(value.into()) };
        draft.apply(set("One")).expect("applies");
        draft.apply(set("Two")).expect("applies");
        assert_eq!(draft.undo().expect("undoes"), "Set title");
        assert_eq!(draft.dataset().collection.text("title"), "One");
        draft.redo().expect("redoes");
        assert_eq!(draft.dataset().collection.text("title"), "Two");
        draft.undo().expect("undoes");
        draft.undo().expect("undoes");
        assert_eq!(draft.dataset(), &before);
        assert!(draft.undo().is_err());
        assert!(draft.is_dirty());
    }
}
