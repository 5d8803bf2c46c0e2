//! The confirmation dialog, which lists lost and kept data.

use std::path::PathBuf;

use egui::{Frame, Margin, Ui};

use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::gui::action::Action;
use crate::gui::document_key::DocumentKey;
use crate::gui::dropped_paths::display_path;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::widgets::{Button, paint};

/// The question.
pub struct ConfirmDialog {
    title: String,
    /// What is lost and what is kept.
    consequences: String,
    /// Text of the confirming button; empty if only the alternative is offered.
    button: String,
    /// The request when confirmed.
    request: Option<Request>,
    /// The alternative: text and request.
    alternative: Option<(String, Request)>,
    /// The state of the document that the request is for, where it names samples by position.
    document_key: Option<DocumentKey>,
}

impl ConfirmDialog {
    /// Asks before unsaved changes are discarded; `changes` is their number, if it is known.
    /// `written` is true when the dataset was written as it is.
    pub fn discard_changes(changes: Option<u64>, written: bool, then: Request) -> Self {
        let consequences = match changes {
            _ if written => tr!(
                "The dataset was written and stays. The draft is not saved: its sources, unplaced \
                    files and history would be lost."
            )
            .into(),
            Some(n) => tr_n!(
                n,
                "{n} change since the last save would be lost. Files on disk stay.",
                "{n} changes since the last save would be lost. Files on disk stay.",
                n = paint::format_grouped_number(n)
            ),
            None => {
                tr!("The changes since the last save would be lost. Files on disk stay.").into()
            }
        };
        Self {
            title: tr!("The draft has changes that are not saved").into(),
            consequences,
            button: tr!("Discard changes").into(),
            request: Some(Request::Anyway(Box::new(then.clone()))),
            alternative: Some((tr!("Save first").into(), Request::SaveFirst(Box::new(then)))),
            document_key: None,
        }
    }

    /// Asks before replacing a project file that another program has changed.
    pub fn replace_project(path: &str, then: Request) -> Self {
        Self {
            title: tr!("Another program wrote this project").into(),
            consequences: tr!(
                "{path} changed after it was opened or saved here. Replacing it loses the changes \
                    of the other program.",
                path
            ),
            button: tr!("Replace").into(),
            request: Some(then),
            alternative: Some((tr!("Save as…").into(), Request::Do(Action::SaveAs))),
            document_key: None,
        }
    }

    /// Offers to restore the old contents that an interrupted write left aside.
    pub fn restore_aside(path: PathBuf) -> Self {
        Self {
            title: tr!("A write was interrupted").into(),
            consequences: tr!(
                "{path} does not exist now. Its earlier contents, complete, are beside it under \
                    another name.",
                path = display_path(&path)
            ),
            button: String::new(),
            request: None,
            alternative: Some((
                tr!("Bring back and open").into(),
                Request::RestoreAside(path),
            )),
            document_key: None,
        }
    }

    /// Offers to repair an archive that another program wrote again.
    pub fn repair_archive(path: PathBuf) -> Self {
        Self {
            title: tr!("Another program wrote this ZIP again").into(),
            consequences: tr!(
                "{path} holds a dataset, but not in the way that TACO archives are written: unpack \
                    it and open the folder, or write a repaired copy with all of its metadata.",
                path = display_path(&path)
            ),
            button: String::new(),
            request: None,
            alternative: Some((tr!("Repair a copy…").into(), Request::Repair(path))),
            document_key: None,
        }
    }

    /// Asks before quitting cancels running jobs.
    pub fn stop_jobs(jobs: &str, then: Request) -> Self {
        Self {
            title: tr!("Work is still running").into(),
            consequences: tr!(
                "Closing cancels {jobs}. Partial output is removed; earlier files stay.",
                jobs
            ),
            button: tr!("Stop and close").into(),
            request: Some(Request::Anyway(Box::new(then))),
            alternative: None,
            document_key: None,
        }
    }

    /// Asks before removing a FOLDER with contents.
    pub fn remove_folder(
        path: &str,
        children: u64,
        then: Request,
        document_key: DocumentKey,
    ) -> Self {
        let n = paint::format_grouped_number(children);
        Self {
            title: tr!("Remove {path}", path),
            consequences: tr_n!(
                children,
                "Removes this FOLDER and its {n} child from the dataset. Files on disk stay, and \
                    undo brings it back.",
                "Removes this FOLDER and its {n} children from the dataset. Files on disk stay, \
                    and undo brings it back.",
                n
            ),
            button: tr!("Remove folder").into(),
            request: Some(then),
            alternative: None,
            document_key: Some(document_key),
        }
    }

    /// Asks before removing several samples.
    pub fn remove_samples(count: u64, then: Request, document_key: DocumentKey) -> Self {
        let n = paint::format_grouped_number(count);
        Self {
            title: tr_n!(count, "Remove {n} sample", "Remove {n} samples", n),
            consequences: tr!(
                "Removes them and what they hold from the dataset. Files on disk stay, and \
                undo brings them back."
            )
            .into(),
            button: tr!("Remove {n}", n),
            request: Some(then),
            alternative: None,
            document_key: Some(document_key),
        }
    }
}

impl DialogView for ConfirmDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(460.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(ui, icons::WARNING, &self.title, "");
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.label(theme::style_small_text(&self.consequences, t.tx2));
        });
        let mut takes_alternative = false;
        let (cancels, confirms) = foot_ui(ui, |ui| {
            if let Some((verb, _)) = &self.alternative {
                takes_alternative = ui.add(Button::primary(verb.as_str()).large()).clicked();
            }
            let has_changed = self
                .document_key
                .is_some_and(|key| key != cx.document_key());
            let reason = has_changed.then_some(tr!("The draft changed after this question"));
            let button = Button::danger(self.button.as_str()).large();
            let confirms =
                !self.button.is_empty() && ui.add(button.with_disabled_reason(reason)).clicked();
            let cancel = Button::ghost(tr!("Cancel")).large();
            let cancel = if self.alternative.is_none() {
                cancel.first()
            } else {
                cancel
            };
            (ui.add(cancel).clicked(), confirms)
        });
        if takes_alternative && let Some((_, request)) = self.alternative.take() {
            return Next::Do(request);
        }
        match (confirms, cancels || close) {
            (true, _) => self.request.take().map_or(Next::Close, Next::Do),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}
