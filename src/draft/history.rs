//! A draft: dataset, tray, revision, and the undo and redo stacks. The oldest steps are dropped
//! when the history exceeds its memory limit.

use std::collections::VecDeque;
use std::sync::Arc;

use super::edit::Unplaced;
use super::edit_memory::edit_bytes;
use super::{Content, Edit};
use crate::error::{Error, Result};
use crate::model::{Collection, Dataset};

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct HistoryStep {
    /// Description of the edit.
    pub label: String,
    /// The inverse edit (in the redo stack, the edit itself).
    edit: Edit,
    /// Approximate memory of the edit in bytes.
    bytes: u64,
}

impl HistoryStep {
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
    /// The revision that was last saved as a project.
    saved: u64,
    /// The revision that was last written as a dataset.
    written: Option<u64>,
    /// Number of the last step at that revision.
    saved_step: usize,
    /// Steps of the saved revision that are before the first edit since; the others were undone for
    /// good.
    shared_steps: usize,
    undo: VecDeque<HistoryStep>,
    redo: Vec<HistoryStep>,
    /// Approximate memory of all steps in bytes.
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
            written: None,
            saved_step: 0,
            shared_steps: 0,
            undo: VecDeque::new(),
            redo: Vec::new(),
            held: 0,
            budget: Self::BUDGET_BYTES,
            forgotten: 0,
        }
    }
}

impl Draft {
    /// Default memory limit of the history in bytes.
    pub const BUDGET_BYTES: u64 = 256 << 20;

    /// An empty draft with the template collection.
    pub fn new() -> Self {
        Self::from_dataset(Dataset {
            collection: Collection::template(),
            ..Dataset::default()
        })
    }

    /// A draft that starts from `dataset`.
    pub fn from_dataset(dataset: Dataset) -> Self {
        Self::with_content(Content {
            dataset,
            ..Content::default()
        })
    }

    /// A draft that starts from a dataset and a tray.
    pub fn with_content(content: Content) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// Sets the memory limit of the history in bytes.
    pub fn set_budget(&mut self, bytes: u64) {
        self.budget = bytes;
        self.keep_budget();
    }

    /// The current dataset. Cloning it is cheap: children are shared.
    pub fn dataset(&self) -> &Dataset {
        &self.content.dataset
    }

    /// The files that are not placed yet.
    pub fn tray(&self) -> &Arc<[Unplaced]> {
        &self.content.tray
    }

    /// Dataset and tray. Cloning it is cheap.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Increases with every change, including undo and redo.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// True when something changed since the last [`Draft::mark_saved`] and the last
    /// [`Draft::mark_written`].
    pub fn is_dirty(&self) -> bool {
        self.revision != self.saved && !self.is_written()
    }

    /// True when the dataset was written as it is now.
    pub fn is_written(&self) -> bool {
        self.written == Some(self.revision)
    }

    /// True when closing would lose changes: there are unsaved changes that were not all undone. A
    /// dataset that was written has neither the sources, the unplaced files nor the history of its
    /// draft.
    pub fn has_unsaved(&self) -> bool {
        // A saved or restored draft differs from the disk even when no step can be undone.
        self.revision != self.saved
            && (self.steps() > 0 || self.forgotten > 0 || self.saved != 0)
            && self.unsaved_changes() != Some(0)
    }

    /// Number of steps between the saved revision and this one, done or undone; `None` for a
    /// restored draft.
    pub fn unsaved_changes(&self) -> Option<u64> {
        let shared = self.shared_steps.min(self.step_number());
        let steps = (self.saved_step - self.shared_steps.min(self.saved_step))
            + (self.step_number() - shared);
        let undone = self.shared_steps - shared;
        (self.saved != u64::MAX).then_some((steps + undone) as u64)
    }

    /// Number of steps that can be undone.
    pub fn steps(&self) -> usize {
        self.undo.len()
    }

    /// Number of the last step, counted from the beginning of the draft, whatever the memory limit
    /// has forgotten.
    pub fn step_number(&self) -> usize {
        self.undo.len() + self.forgotten as usize
    }

    pub fn mark_saved(&mut self) {
        self.saved = self.revision;
        self.saved_step = self.step_number();
        self.shared_steps = self.saved_step;
    }

    /// Marks the current state as written as a dataset.
    pub fn mark_written(&mut self) {
        self.written = Some(self.revision);
    }

    /// Marks the whole draft as unsaved: for a restored draft.
    pub fn mark_unsaved(&mut self) {
        self.saved = u64::MAX;
    }

    /// Applies an edit and clears the redo stack. Returns the edit's label.
    ///
    /// # Errors
    /// As [`Edit::apply_to`]; the draft is then unchanged.
    pub fn apply(&mut self, edit: Edit) -> Result<String> {
        let label = edit.label();
        let inverse = edit.apply_to(&mut self.content)?;
        self.note(label.clone(), inverse);
        Ok(label)
    }

    /// Undoes the last edit; returns its label.
    ///
    /// # Errors
    /// When there is nothing to undo.
    pub fn undo(&mut self) -> Result<String> {
        let step = self
            .undo
            .pop_back()
            .ok_or_else(|| Error::usage("there is nothing to undo"))?;
        self.held -= step.bytes;
        let inverse = step.edit.apply_to(&mut self.content)?;
        let again = HistoryStep::new(step.label.clone(), inverse);
        self.held += again.bytes;
        self.redo.push(again);
        self.revision += 1;
        Ok(step.label)
    }

    /// Reapplies the last undone edit; returns its label.
    ///
    /// # Errors
    /// When there is nothing to redo.
    pub fn redo(&mut self) -> Result<String> {
        let step = self
            .redo
            .pop()
            .ok_or_else(|| Error::usage("there is nothing to redo"))?;
        self.held -= step.bytes;
        let inverse = step.edit.apply_to(&mut self.content)?;
        let back = HistoryStep::new(step.label.clone(), inverse);
        self.held += back.bytes;
        self.undo.push_back(back);
        self.revision += 1;
        self.keep_budget();
        Ok(step.label)
    }

    /// Installs the result of an edit applied to a clone of [`Draft::content`], with the inverse
    /// edit.
    pub fn install(&mut self, label: String, content: Content, inverse: Edit) {
        self.content = content;
        self.note(label, inverse);
    }

    fn note(&mut self, label: String, inverse: Edit) {
        self.shared_steps = self.shared_steps.min(self.step_number());
        let step = HistoryStep::new(label, inverse);
        self.held += step.bytes;
        self.undo.push_back(step);
        self.forget_redo();
        self.revision += 1;
        self.keep_budget();
    }

    /// Drops the steps that were undone.
    pub fn forget_redo(&mut self) {
        self.held -= self.redo.drain(..).map(|step| step.bytes).sum::<u64>();
    }

    /// Drops the oldest steps above the memory limit; the newest step is always kept.
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

    /// Label of the edit that undo would revert.
    pub fn undo_label(&self) -> Option<&str> {
        self.undo.back().map(|step| step.label.as_str())
    }

    /// Label of the edit that redo would reapply.
    pub fn redo_label(&self) -> Option<&str> {
        self.redo.last().map(|step| step.label.as_str())
    }

    /// The applied edits, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &HistoryStep> + DoubleEndedIterator {
        self.undo.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_that_closing_would_lose_are_counted() {
        let mut draft = Draft::new();
        let set = |value: &str| Edit::SetCollection {
            key: "title".into(),
            value: Some(value.into()),
        };
        let changes = |draft: &Draft| (draft.unsaved_changes(), draft.has_unsaved());
        assert_eq!(changes(&draft), (Some(0), false));
        for title in ["One", "Two", "Three"] {
            draft.apply(set(title)).expect("applies");
        }
        assert_eq!(changes(&draft), (Some(3), true));
        draft.mark_saved();
        assert_eq!(changes(&draft), (Some(0), false));
        draft.undo().expect("undoes");
        assert_eq!(changes(&draft), (Some(1), true));
        draft.redo().expect("redoes");
        assert_eq!(changes(&draft), (Some(0), false), "as it was saved");
        draft.undo().expect("undoes");
        draft.apply(set("Other")).expect("applies");
        assert_eq!(changes(&draft), (Some(2), true), "one undone, another made");
        draft.mark_unsaved();
        assert_eq!(changes(&draft), (None, true));
    }

    #[test]
    fn a_written_draft_is_not_saved() {
        let mut draft = Draft::new();
        let set = |value: &str| Edit::SetCollection {
            key: "title".into(),
            value: Some(value.into()),
        };
        draft.apply(set("One")).expect("applies");
        draft.mark_written();
        assert!(
            !draft.is_dirty() && draft.is_written() && draft.has_unsaved(),
            "its sources and history are nowhere else"
        );
        assert_eq!(draft.unsaved_changes(), Some(1));
        draft.mark_saved();
        assert!(!draft.has_unsaved());
        draft.apply(set("Two")).expect("applies");
        assert!(draft.is_dirty() && !draft.is_written() && draft.has_unsaved());
    }

    #[test]
    fn undo_and_redo_walk_the_same_path() {
        let mut draft = Draft::new();
        let before = draft.dataset().clone();
        let set = |value: &str| Edit::SetCollection {
            key: "title".into(),
            value: Some(value.into()),
        };
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
        assert!(
            draft.is_dirty() && !draft.has_unsaved(),
            "all was taken back"
        );
        draft.mark_unsaved();
        assert!(draft.has_unsaved(), "a restored draft is nowhere else");
    }

    #[test]
    fn the_oldest_steps_are_forgotten_beyond_the_budget() {
        let mut draft = Draft::new();
        draft.set_budget(20_000);
        let set = |number: usize| Edit::SetCollection {
            key: "title".into(),
            value: Some(format!("{number:01000}").into()),
        };
        (0..100).for_each(|number| drop(draft.apply(set(number)).expect("applies")));
        assert!((5..40).contains(&draft.steps()), "{}", draft.steps());
        assert_eq!(draft.forgotten as usize + draft.steps(), 100);
        let steps = draft.steps();
        (0..steps).for_each(|_| drop(draft.undo().expect("undoes")));
        assert!(draft.undo().is_err());
        (0..steps).for_each(|_| drop(draft.redo().expect("redoes")));
        assert_eq!(
            draft.dataset().collection.text("title"),
            format!("{:01000}", 99)
        );
        draft.set_budget(0);
        assert_eq!(draft.steps(), 1, "the newest can always be undone");
    }
}
