//! Saving drafts: save, save as, autosaved drafts, and the question before unsaved changes are
//! discarded.

use std::path::{Path, PathBuf};

use egui::Context;
use serde_json::json;

use super::App;
use super::action::Action;
use super::dialogs::ConfirmDialog;
use super::dropped_paths;
use super::file_dialog::FileRequest;
use super::panel_context::Request;
use super::view_state::{Recent, now_s};
use super::widgets::Toast;
use crate::draft::Draft;
use crate::error::{Error, Kind};
use crate::jobs::JobId;
use crate::model::SamplePath;
use crate::studio::{Command, Document, LogLevel, RowRef};

/// Ending of a draft's file.
pub const ENDING: &str = "tacostudio";

impl App {
    /// Autosaves drafts into this folder and offers the drafts found there.
    pub fn keep_drafts_in(&mut self, folder: PathBuf) {
        self.studio.set_autosave(Some(folder.clone()));
        self.session.autosaving.folder = Some(folder);
    }

    /// Saves under the draft's name, or asks for one.
    pub(super) fn save_draft(&mut self, ctx: &Context, ask: bool) {
        let Some(Document::Draft(document)) = self.studio.document() else {
            return;
        };
        match document.project() {
            Some(path) if !ask => {
                let path = path.to_owned();
                self.save_to(Some(path), None);
            }
            _ => self.pick(ctx, FileRequest::SaveProject),
        }
    }

    /// Saves the draft at `path`, with the project's extension added if it has none. `overwrite` is
    /// that of [`Command::SaveProject`].
    pub(super) fn save_to(&mut self, path: Option<PathBuf>, overwrite: Option<bool>) {
        let Some(mut path) = path else { return };
        if path.extension().is_none_or(|end| end != ENDING) {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(".");
            name.push(ENDING);
            path.set_file_name(name);
        }
        let view = self.view_of_draft();
        self.requests.push(Request::Run(Command::SaveProject {
            path: Some(path),
            view: Some(view),
            overwrite,
        }));
    }

    /// Asks whether to replace a project file that another program has changed, when `job` saves
    /// and failed for that reason; true in that case. The request that waits for the save follows
    /// once the file is replaced.
    pub(super) fn ask_to_replace(&mut self, job: JobId, error: &Error) -> bool {
        let Some((_, path)) = self.saving.take_if(|(saving, _)| *saving == job) else {
            return false;
        };
        if error.kind() != Kind::Changed {
            return false;
        }
        let then = self.after_save.take().map(Box::new);
        self.dialogs.open(ConfirmDialog::replace_project(
            &dropped_paths::display_path(&path),
            Request::Replace(path, then),
        ));
        true
    }

    /// View state saved with the draft: level, selection, watched folders.
    fn view_of_draft(&self) -> serde_json::Value {
        let ids = self
            .session
            .selection
            .sample
            .and_then(|at| Some(self.studio.document()?.path(at)?.to_archive()));
        let watched: Vec<&Path> = self.studio.watched_folders().collect();
        let consistency = self.studio.consistency_settings();
        json!({
            "level": self.session.selection.level,
            "selected": ids,
            "watched": watched,
            "consistency": consistency,
        })
    }

    /// Restores the view state saved with the draft.
    pub(super) fn show_saved_view(&mut self) {
        let Some(document @ Document::Draft(draft)) = self.studio.document() else {
            return;
        };
        let level = draft
            .view
            .get("level")
            .and_then(serde_json::Value::as_u64)
            .unwrap_or_default() as usize;
        let ids = draft
            .view
            .get("selected")
            .and_then(serde_json::Value::as_str)
            .map(SamplePath::parse);
        let found = ids.and_then(|ids| document.tree().find(&ids));
        let watched = draft
            .view
            .get("watched")
            .and_then(serde_json::Value::as_array);
        let watched = watched
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_str)
            .map(PathBuf::from)
            .collect();
        self.session.selection.level = level.min(document.tree().levels.len().saturating_sub(1));
        if let Some((level, row)) = found {
            self.requests
                .push(Request::Select(Some(RowRef { level, row })));
        }
        let settings = draft
            .view
            .get("consistency")
            .cloned()
            .and_then(|settings| serde_json::from_value(settings).ok());
        if let Some(settings) = settings {
            self.requests
                .push(Request::Run(Command::SetConsistency { settings }));
        }
        self.ask_to_watch(watched);
    }

    /// Handles a saved draft: adds it to the recent list and handles the request that waited for
    /// it.
    pub(super) fn handle_saved_draft(&mut self, path: &Path) {
        let own = matches!(
            self.studio.document(),
            Some(Document::Draft(draft)) if draft.project() == Some(path)
        );
        if own {
            self.remember_draft(path);
        }
        self.toast = Some(Toast::new(
            true,
            tr!("Saved {path}", path = dropped_paths::display_path(path)),
        ));
        if let Some(then) = self.after_save.take_if(|_| own) {
            // Edits made during the save are not in the file.
            if self.has_changes() {
                self.ask_to_discard(then)
            } else {
                self.requests.push(Request::Anyway(Box::new(then)))
            }
        }
    }

    /// Puts a project file on top of the recent list.
    pub(super) fn remember_draft(&mut self, path: &Path) {
        let Some(document) = self.studio.document() else {
            return;
        };
        let recent = Recent {
            path: path.to_owned(),
            title: document.title().into_owned(),
            badge: "Draft".to_owned(),
            roots: document.rows(0) as u64,
            size_bytes: self.session.totals().bytes,
            opened_s: now_s(),
        };
        self.view.remember(recent);
        self.save();
    }

    /// Asks whether to save unsaved changes, discard them, or stay.
    pub(super) fn ask_to_discard(&mut self, then: Request) {
        let draft = self.studio.document().and_then(Document::draft);
        let (changes, written) = (
            draft.and_then(Draft::unsaved_changes),
            draft.is_some_and(Draft::is_written),
        );
        self.dialogs
            .open(ConfirmDialog::discard_changes(changes, written, then));
    }

    /// Asks before quitting cancels running jobs.
    pub(super) fn ask_to_stop(&mut self) {
        let labels: Vec<String> = self
            .studio
            .jobs()
            .into_iter()
            .map(|job| job.label)
            .collect();
        self.dialogs.open(ConfirmDialog::stop_jobs(
            &labels.join("; "),
            Request::Do(Action::Quit),
        ));
    }

    /// Shows a failure of autosave, once.
    pub(super) fn tell_autosave(&mut self, ctx: &Context) {
        // Nothing else wakes an idle window while a disk does not answer.
        if let Some(left) = self.studio.find_time_to_slow_autosave() {
            ctx.request_repaint_after(left);
        }
        if let Some(trouble) = self.studio.autosave_trouble() {
            self.studio.log(
                LogLevel::Error,
                format!("The draft could not be kept: {trouble}"),
            );
            let text = tr!(
                "Autosave failed: {trouble}. Save the draft with {keys}.",
                trouble,
                keys = Action::Save.keys_text()
            );
            self.toast = Some(Toast::new(false, text));
        }
        if let Some(trouble) = self.studio.take_restore_trouble() {
            let text = tr!(
                "The draft was restored in part: {trouble}. What autosave kept stays.",
                trouble
            );
            self.toast = Some(Toast::new(false, text));
        }
    }
}
