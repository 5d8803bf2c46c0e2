//! Fixes as commands: padding, and the ways out of findings, each one undoable edit.

use super::document::{Document, DraftDocument};
use super::{Outcome, Studio};
use crate::draft::{self, Fix, PatternChoice, Unplaced};
use crate::error::{Error, Result};
use crate::model::Finding;

impl Studio {
    pub(super) fn fix_safe(&mut self) -> Result<Outcome> {
        let document = self.draft_document()?;
        let fix = draft::fix_safe(document.draft.dataset(), &document.structure());
        self.edit(fix.ok_or_else(nothing)?.0)
    }

    pub(super) fn fix_alike(&mut self, root: usize) -> Result<Outcome> {
        let document = self.draft_document()?;
        let fix = draft::apply_alike(document.draft.dataset(), &document.structure(), root);
        self.edit(fix.ok_or_else(nothing)?.0)
    }

    pub(super) fn fill_missing(&mut self) -> Result<Outcome> {
        let document = self.draft_document()?;
        let fix = draft::fill_missing(document.draft.dataset(), &document.structure());
        self.edit(fix.ok_or_else(|| Error::usage("no position is missing"))?.0)
    }

    pub(super) fn pad_to(&mut self, multiple: usize) -> Result<Outcome> {
        let edit = draft::pad_to(self.draft_document()?.draft.dataset(), multiple);
        self.edit(edit.ok_or_else(|| Error::usage(format!("{multiple} divides the number of roots already")))?)
    }

    pub(super) fn choose_pattern(&mut self, choice: PatternChoice) -> Result<Outcome> {
        self.draft_document()?.structure().choose(choice);
        Ok(Outcome::Done(super::Event::None))
    }

    /// The ways out of a finding of the open draft, best first.
    pub fn fixes(&self, finding: &Finding, unplaced: &[Unplaced]) -> Vec<Fix> {
        match self.draft_document() {
            Ok(document) => draft::fixes_of(document.draft.dataset(), &document.structure(), finding, unplaced),
            Err(_) => Vec::new(),
        }
    }

    fn draft_document(&self) -> Result<&DraftDocument> {
        match &self.document {
            Some(Document::Draft(document)) => Ok(document),
            _ => Err(Error::usage("no draft is open").hint("begin a new dataset, or edit a copy of the opened one")),
        }
    }
}

fn nothing() -> Error {
    Error::usage("there is nothing that can be fixed without a choice")
}
