//! Edits of the draft: immediately if quick, otherwise as a job on a clone, whose result is
//! installed unless the draft has changed.

use std::path::PathBuf;

use super::document::{Document, DraftDocument};
use super::project::DraftChange;
use super::verbs::not_a_draft;
use super::{Event, Finish, Outcome, Studio};
use crate::draft::{Content, Draft, Edit, Unplaced};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::ops;

/// Files of a tray from which on it is written anew in a job.
const LONG_TRAY: usize = 20_000;

impl Studio {
    pub(super) fn edit(&mut self, edit: Edit) -> Result<Outcome> {
        if edit.is_long() {
            let label = edit.label();
            return self.edit_later(&label, move |_, _| Ok(edit));
        }
        self.apply_edit(edit).map(Outcome::Done)
    }

    /// As [`Studio::edit`], as a job where the tray is long. When the draft changes meanwhile, the
    /// edit is the one that `find` returns for the tray as it is then. Not for the end of a job,
    /// which waits for no other one, nor where a sample is selected right after it.
    pub(super) fn edit_long_tray(
        &mut self,
        edit: Edit,
        find: impl FnOnce(&[Unplaced]) -> Result<Edit> + Send + 'static,
    ) -> Result<Outcome> {
        let draft = self.need_draft()?;
        if draft.tray().len() <= LONG_TRAY {
            return self.edit(edit);
        }
        let (mut content, revision) = (draft.content().clone(), draft.revision());
        let document = self.document_id();
        let label = edit.label();
        Ok(self.start(&label, move |_| {
            let inverse = edit.clone().apply_to(&mut content)?;
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                let draft = studio.need_draft()?;
                if draft.revision() != revision {
                    let edit = find(draft.tray())?;
                    return studio.apply_edit(edit);
                }
                studio.install_edit(revision, edit, content, inverse)
            }) as Finish)
        }))
    }

    /// Applies an edit at once.
    pub(super) fn apply_edit(&mut self, edit: Edit) -> Result<Event> {
        let sets = edit.only_sets();
        self.change_draft(|draft| {
            let label = edit.describe_effect(draft.content());
            draft.apply(edit.clone())?;
            Ok(((label, sets), DraftChange::Do(edit)))
        })
    }

    pub(super) fn undo(&mut self) -> Result<Outcome> {
        let event = self.change_draft(|draft| {
            let edit = draft.undo_edit().cloned();
            let label = draft.undo()?;
            let edit = edit.ok_or_else(missing_edit_error)?;
            Ok(((label, edit.only_sets()), DraftChange::Undo(edit)))
        });
        event.map(Outcome::Done)
    }

    pub(super) fn redo(&mut self) -> Result<Outcome> {
        let event = self.change_draft(|draft| {
            let edit = draft.redo_edit().cloned();
            let label = draft.redo()?;
            let edit = edit.ok_or_else(missing_edit_error)?;
            Ok(((label, edit.only_sets()), DraftChange::Redo(edit)))
        });
        event.map(Outcome::Done)
    }

    /// Changes the draft, queues the change for autosave, and starts the check. `change` returns
    /// the label, whether the edit only sets values, and the change for autosave.
    fn change_draft(
        &mut self,
        change: impl FnOnce(&mut Draft) -> Result<((String, bool), DraftChange)>,
    ) -> Result<Event> {
        let Some(Document::Draft(document)) = &mut self.document else {
            return Err(not_a_draft());
        };
        let before = document.wait_for_autosave();
        let ((label, sets), change) = change(document.draft_mut())?;
        document.note(change, before);
        self.start_check();
        Ok(Event::Edited { label, sets })
    }

    /// Computes and applies an edit as a job. The draft changes when the job finishes, unless the
    /// draft has changed.
    pub(super) fn edit_later(
        &mut self,
        label: &str,
        find: impl FnOnce(&Content, &JobContext) -> Result<Edit> + Send + 'static,
    ) -> Result<Outcome> {
        let draft = self.need_draft()?;
        let (mut content, revision, document) = (
            draft.content().clone(),
            draft.revision(),
            self.document_id(),
        );
        Ok(self.start(label, move |ctx| {
            let edit = find(&content, ctx)?;
            ctx.check()?;
            let inverse = edit.clone().apply_to(&mut content)?;
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                studio.install_edit(revision, edit, content, inverse)
            }) as Finish)
        }))
    }

    pub(super) fn pack_sidecars(&mut self) -> Result<Outcome> {
        self.edit_later(tr!("Pack sidecars"), |content, ctx| {
            ops::pack_sidecars(&content.dataset, ctx)?
                .ok_or_else(|| Error::usage("no raster of the draft has sidecars"))
        })
    }

    pub(super) fn burn_in_sidecars(&mut self, copies: PathBuf) -> Result<Outcome> {
        self.edit_later(tr!("Burn in sidecars"), move |content, ctx| {
            let edit = ops::burn_in_sidecars(&content.dataset, &copies, ctx)?;
            edit.ok_or_else(|| Error::usage("no GeoTIFF of the draft has sidecars"))
        })
    }

    /// Replaces the draft by the edited one, unless it changed since `revision`.
    pub(super) fn install_edit(
        &mut self,
        revision: u64,
        edit: Edit,
        content: Content,
        inverse: Edit,
    ) -> Result<Event> {
        if self.need_draft()?.revision() != revision {
            return Err(Error::usage(
                "the draft was changed meanwhile, so the change would not fit it",
            )
            .hint("try it again"));
        }
        self.change_draft(|draft| {
            let (label, sets) = (edit.label(), edit.only_sets());
            draft.install(label.clone(), content, inverse);
            Ok(((label, sets), DraftChange::Do(edit)))
        })
    }

    pub(super) fn draft_document(&self) -> Result<&DraftDocument> {
        match &self.document {
            Some(Document::Draft(document)) => Ok(document),
            _ => Err(not_a_draft()),
        }
    }
}

fn missing_edit_error() -> Error {
    Error::internal("a step of the history has no edit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Unplaced;
    use crate::jobs::Jobs;
    use crate::studio::Command;

    #[test]
    fn an_edit_of_a_long_tray_is_a_job() {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio
            .run_to_end(Command::New, &mut |_| {})
            .expect("a draft");
        let files = (0..=LONG_TRAY).map(|number| Unplaced::file(format!("/w/{number}"), 1));
        let add = Edit::append_to_tray(&[], files).expect("files");
        drop(studio.apply_edit(add).expect("applies"));
        let remove = |file: &str| Command::RemoveFromTray {
            files: vec![file.into()],
        };
        let outcome = studio.run(remove("/w/7")).expect("starts");
        let Outcome::Started(job) = outcome else {
            panic!("it is applied at once");
        };
        drop(studio.wait(job, &mut |_| {}).expect("ends"));
        assert_eq!(
            studio.need_draft().expect("a draft").tray().len(),
            LONG_TRAY
        );
        let outcome = studio.run(remove("/w/8")).expect("applies");
        assert!(matches!(outcome, Outcome::Done(_)), "it is short now");
    }
}
