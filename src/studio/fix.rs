//! Fixes as commands: padding, and the ways out of findings, each one undoable edit, found and applied as a job.

use std::sync::Arc;

use super::{Event, Finish, JobKind, Outcome, Studio};
use crate::draft::{self, Content, Fix, PatternChoice, Structure, TrayIndex};
use crate::error::{Error, Result};
use crate::model::Finding;

impl Studio {
    pub(super) fn fix_safe(&mut self) -> Result<Outcome> {
        let choice = self.choice()?;
        self.edit_later(tr!("Fix what is safe"), move |content, _| {
            let fix = draft::fix_safe(&content.dataset, &structure(content, choice), &TrayIndex::of(content.tray.clone()));
            Ok(fix.ok_or_else(nothing)?.0)
        })
    }

    pub(super) fn choose_pattern(&mut self, choice: PatternChoice) -> Result<Outcome> {
        self.draft_document()?.structure().choose(choice);
        // What is wrong is told beside the same pattern.
        self.check_live();
        Ok(Outcome::Done(Event::None))
    }

    /// The ways out of a finding of the open draft, best first. May look at the whole draft: for a large one see
    /// [`super::Command::FindFixes`].
    pub fn fixes(&self, finding: &Finding) -> Vec<Fix> {
        match self.draft_document() {
            Ok(document) => {
                let tray = document.tray_index();
                draft::fixes_of(document.draft.dataset(), &document.structure(), finding, &tray)
            }
            Err(_) => Vec::new(),
        }
    }

    pub(super) fn find_fixes(&mut self, finding: usize) -> Result<Outcome> {
        let (choice, found) = (self.choice()?, self.finding(finding)?);
        let content = self.need_draft()?.content().clone();
        Ok(self.start(JobKind::FindFixes, move |_| {
            let fixes = Arc::new(fixes(&content, choice, &found));
            Ok(Box::new(move |_: &mut Studio| Ok(Event::FixesFound { finding, fixes })) as Finish)
        }))
    }

    pub(super) fn apply_fix(&mut self, finding: usize, fix: usize) -> Result<Outcome> {
        let (choice, found) = (self.choice()?, self.finding(finding)?);
        self.edit_later(tr!("Fix"), move |content, _| {
            let mut fixes = fixes(content, choice, &found);
            if fix >= fixes.len() {
                return Err(Error::usage(format!("there is no fix {fix}; this finding has {}", fixes.len())));
            }
            Ok(fixes.swap_remove(fix).edit)
        })
    }

    fn finding(&self, finding: usize) -> Result<Finding> {
        // Findings of the draft as it was are no ground for changing the draft as it is.
        if self.is_checking() {
            return Err(Error::usage("the draft is being checked").hint("try again when the check is done"));
        }
        let found = self.report.findings.get(finding).cloned();
        found.ok_or_else(|| Error::usage(format!("there is no finding {finding}")).hint("check the draft first"))
    }

    fn choice(&self) -> Result<PatternChoice> {
        Ok(self.draft_document()?.structure().choice().clone())
    }
}

fn structure(content: &Content, choice: PatternChoice) -> Structure {
    let mut structure = Structure::of(&content.dataset);
    structure.choose(choice);
    structure
}

fn fixes(content: &Content, choice: PatternChoice, finding: &Finding) -> Vec<Fix> {
    let tray = TrayIndex::of(content.tray.clone());
    draft::fixes_of(&content.dataset, &structure(content, choice), finding, &tray)
}

fn nothing() -> Error {
    Error::usage("there is nothing that can be fixed without a choice")
}
