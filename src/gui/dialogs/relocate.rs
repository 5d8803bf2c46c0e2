//! Relocates sources: files below one folder are searched below another, as one edit.

use std::path::{Path, PathBuf};

use egui::{Frame, Margin, Ui};

use super::frame::{Next, enter_pressed, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::draft::{Draft, Edit};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::widgets::{Button, FieldNote, TextField};
use crate::gui::{dropped_paths, icons};
use crate::model::{Payload, Sample};
use crate::studio::Command;

/// The dialog.
pub struct Relocate {
    from: String,
    to: String,
}

impl Relocate {
    /// Proposes the folder of the first source.
    pub fn new(draft: &Draft) -> Self {
        let placed = draft.dataset().root.samples.iter().find_map(first_source);
        let source = placed.or_else(|| draft.tray().first().map(|file| file.path.clone()));
        let folder =
            source.and_then(|path| path.parent().map(|folder| folder.display().to_string()));
        Self {
            from: folder.unwrap_or_default(),
            to: String::new(),
        }
    }
}

impl DialogView for Relocate {
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(ui, icons::FOLDER_SIMPLE, tr!("Sources have moved"), "");
        let entered = enter_pressed(ui);
        let to = dropped_paths::parse_path(&self.to);
        let note = if self.to.trim().is_empty() {
            FieldNote::None
        } else if to.is_absolute() {
            FieldNote::Ok
        } else {
            FieldNote::Warning(tr!("Type the whole path, from the root of the disk.").into())
        };
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 10.0;
            TextField::new(tr!("Folder as it was"), &mut self.from)
                .mono()
                .show(ui);
            TextField::new(tr!("Folder as it is"), &mut self.to)
                .mono()
                .note(note)
                .hint("/data/elsewhere")
                .show(ui);
            let text = tr!(
                "Every source and unplaced file at or below the first folder is looked for at the \
                    same place below the second."
            );
            ui.label(theme::style_small_text(text, t.tx2));
        });
        // Enter acts on the text that is shown, typed in this frame or before.
        let (from, to) = (
            dropped_paths::parse_path(&self.from),
            dropped_paths::parse_path(&self.to),
        );
        let blocked = if !from.is_absolute() || !to.is_absolute() {
            Some(tr!("Both folders are needed, as whole paths"))
        } else if from == to {
            Some(tr!("The folders are the same"))
        } else {
            None
        };
        let (act, cancel) = foot_ui(ui, |ui| {
            let act = ui
                .add(
                    Button::primary(tr!("Look there"))
                        .large()
                        .with_disabled_reason(blocked),
                )
                .clicked();
            (act, ui.add(Button::ghost(tr!("Cancel")).large()).clicked())
        });
        if (act || entered) && blocked.is_none() {
            Next::Do(Request::Run(Command::Edit {
                edit: Edit::Relocate { from, to },
            }))
        } else if cancel || close {
            Next::Close
        } else {
            Next::Stay
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}

fn first_source(sample: &Sample) -> Option<PathBuf> {
    match &sample.payload {
        Payload::Folder(children) => children.samples.iter().find_map(first_source),
        Payload::Asset { path, .. } => path
            .local_file()
            .or(path.remote_file())
            .map(Path::to_path_buf),
        Payload::Bytes(_) => None,
    }
}
