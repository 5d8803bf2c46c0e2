//! A draft: the dataset and the tray, their revision, and the edits that lead back and forth. The oldest steps are forgotten when
//! the history takes more memory than it may.

use std::collections::VecDeque;
use std::sync::Arc;

use super::edit_memory::edit_bytes;
use super::tray::Unplaced;
use super::{Content, Edit};
use crate::error::{Error, Result};
use crate::model::{Collection, Dataset};

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was done.
    pub label: String,
    /// The edit that changes it back (or forth again, in the redo list).
    edit: Edit,
    /// Memory that the edit holds, about.
    bytes: u64,
}

impl Step {
    fn new(label: String, edit: Edit) -> Self {
        let bytes = edit_bytes(&edit);
        Self { label, edit, bytes }
    }
}

/// A dataset being edited.
#[derive(Clone, Debug)]
pub struct Draft {
    content: Content,
    revision: u64,
    /// The revision that was last written or saved.
    saved: u64,
    undo: VecDeque<Step>,
    redo: Vec<Step>,
    /// Memory that the steps hold, about.
    held: u64,
    budget: u64,
    forgotten: u64,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            content: Content::default(),
            revision: 0,
            saved: 0,
            undo: VecDeque::new(),
            redo: Vec::new(),
            held: 0,
            budget: Self::BUDGET_BYTES,
            forgotten: 0,
        }
    }
}

impl Draft {
    /// Memory that the history may take, unless somebody sets another limit.
    pub const BUDGET_BYTES: u64 = 256 << 20;

    /// An empty draft with the template collection.
    pub fn new() -> Self {
        Self::of(Dataset { collection: Collection::template(), ..Dataset::default() })
    }

    /// A draft that starts from `dataset`.
    pub fn of(dataset: Dataset) -> Self {
        Self::with_content(Content { dataset, ..Content::default() })
    }

    /// A draft that starts from a dataset and a tray.
    pub fn with_content(content: Content) -> Self {
        Self { content, ..Self::default() }
    }

    /// Sets the memory that the history may take, in bytes.
    pub fn set_budget(&mut self, bytes: u64) {
        self.budget = bytes;
        self.keep_budget();
    }

    /// The dataset as it is now. Cloning it is cheap: children are shared.
    pub fn dataset(&self) -> &Dataset {
        &self.content.dataset
    }

    /// The files that wait to be placed.
    pub fn tray(&self) -> &Arc<[Unplaced]> {
        &self.content.tray
    }

    /// Dataset and tray. Cloning it is cheap.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Grows with every change, also with undo and redo.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// True when something changed since the last [`Draft::mark_saved`].
    pub fn is_dirty(&self) -> bool {
        self.revision != self.saved
    }

    /// True when closing would lose something: changes that are not on disk, and that were not all taken back.
    pub fn has_unsaved(&self) -> bool {
        // A saved draft, or one restored, differs from the disk also where no step is left to be taken back.
        self.is_dirty() && (self.steps() > 0 || self.forgotten > 0 || self.saved != 0)
    }

    /// Number of steps that undo would take back.
    pub fn steps(&self) -> usize {
        self.undo.len()
    }

    /// Steps that undo can't take back any more, because the history would have taken too much memory.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Remembers that the present state is on disk.
    pub fn mark_saved(&mut self) {
        self.saved = self.revision;
    }

    /// Remembers that nothing of it is on disk: a restored draft.
    pub fn mark_unsaved(&mut self) {
        self.saved = u64::MAX;
    }

    /// Applies an edit; what was undone before is gone. Gives the edit's label.
    pub fn apply(&mut self, edit: Edit) -> Result<String> {
        let label = edit.label();
        let inverse = edit.apply_to(&mut self.content)?;
        self.note(label.clone(), inverse);
        Ok(label)
    }

    /// Takes over what an edit made of a clone of [`Draft::content`], with the edit that changes it back.
    pub fn install(&mut self, label: String, content: Content, inverse: Edit) {
        self.content = content;
        self.note(label, inverse);
    }

    fn note(&mut self, label: String, inverse: Edit) {
        let step = Step::new(label, inverse);
        self.held += step.bytes;
        self.undo.push_back(step);
        self.held -= self.redo.drain(..).map(|step| step.bytes).sum::<u64>();
        self.revision += 1;
        self.keep_budget();
    }

    /// The newest step stays, whatever it takes.
    fn keep_budget(&mut self) {
        while self.held > self.budget && self.undo.len() > 1 {
            if let Some(step) = self.undo.pop_front() {
                self.held -= step.bytes;
                self.forgotten += 1;
            }
        }
    }

    /// The edit that [`Draft::redo`] would apply.
    pub fn redo_edit(&self) -> Option<&Edit> {
        self.redo.last().map(|step| &step.edit)
    }

    /// The edit that [`Draft::undo`] would apply.
    pub fn undo_edit(&self) -> Option<&Edit> {
        self.undo.back().map(|step| &step.edit)
    }

    /// Takes back the last edit; gives its label.
    pub fn undo(&mut self) -> Result<String> {
        let step = self.undo.pop_back().ok_or_else(|| Error::usage("there is nothing to undo"))?;
        self.held -= step.bytes;
        let inverse = step.edit.apply_to(&mut self.content)?;
        let again = Step::new(step.label.clone(), inverse);
        self.held += again.bytes;
        self.redo.push(again);
        self.revision += 1;
        Ok(step.label)
    }

    /// Does the last undone edit again; gives its label.
    pub fn redo(&mut self) -> Result<String> {
        let step = self.redo.pop().ok_or_else(|| Error::usage("there is nothing to redo"))?;
        self.held -= step.bytes;
        let inverse = step.edit.apply_to(&mut self.content)?;
        let back = Step::new(step.label.clone(), inverse);
        self.held += back.bytes;
        self.undo.push_back(back);
        self.revision += 1;
        self.keep_budget();
        Ok(step.label)
    }

    /// What undo would take back.
    pub fn undo_label(&self) -> Option<&str> {
        self.undo.back().map(|step| step.label.as_str())
    }

    /// What redo would do again.
    pub fn redo_label(&self) -> Option<&str> {
        self.redo.last().map(|step| step.label.as_str())
    }

    /// The edits done so far, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Step> + DoubleEndedIterator {
        self.undo.iter()
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
        assert!(draft.is_dirty() && !draft.has_unsaved(), "all was taken back");
        draft.mark_unsaved();
        assert!(draft.has_unsaved(), "a restored draft is nowhere else");
    }

    #[test]
    fn the_oldest_steps_are_forgotten_beyond_the_budget() {
        let mut draft = Draft::new();
        draft.set_budget(20_000);
        let set = |number: usize| Edit::SetCollection { key: "title".into(), value: Some(format!("{number:01000}").into()) };
        (0..100).for_each(|number| drop(draft.apply(set(number)).expect("applies")));
        assert!((5..40).contains(&draft.steps()), "{}", draft.steps());
        assert_eq!(draft.forgotten() as usize + draft.steps(), 100);
        let steps = draft.steps();
        (0..steps).for_each(|_| drop(draft.undo().expect("undoes")));
        assert!(draft.undo().is_err());
        (0..steps).for_each(|_| drop(draft.redo().expect("redoes")));
        assert_eq!(draft.dataset().collection.text("title"), format!("{:01000}", 99));
        draft.set_budget(0);
        assert_eq!(draft.steps(), 1, "the newest can always be undone");
    }
}
