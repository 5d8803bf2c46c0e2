//! Shared inputs of the forms: typed or chosen paths, damaged samples, and sizes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::Ui;
use serde_json::Value as Json;

use crate::container::{ContainerReader, OnDamage, parse_size};
use crate::gui::dropped_paths::{parse_path, parse_paths};
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, TextField};
use crate::studio::Document;

/// Width reserved for a button beside a path, in points.
const BUTTON: f32 = 100.0;

/// Names separated by commas.
pub fn split_names(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The title of the open document.
pub fn document_title(cx: &PanelContext<'_>) -> String {
    cx.document()
        .map(|document| document.title().into_owned())
        .unwrap_or_default()
}

/// The reader of the opened dataset.
///
/// # Errors
/// A sentence for the user when none is open.
pub fn need_reader(cx: &PanelContext<'_>) -> Result<Arc<dyn ContainerReader>, String> {
    let open = cx.document().and_then(Document::opened_dataset);
    open.map(|open| open.reader.clone())
        .ok_or_else(|| tr!("Choose the input").into())
}

/// True while a text field has the focus.
pub fn is_typing(ui: &Ui) -> bool {
    ui.memory(|memory| memory.focused())
        .is_some_and(|id| egui::text_edit::TextEditState::load(ui.ctx(), id).is_some())
}

/// Draws inputs, and receives the paths chosen in the desktop's dialog.
pub struct OperationFields<'a> {
    pub picked: &'a mut Option<(String, Vec<PathBuf>)>,
    /// The field whose button was clicked, and its kind of file dialog.
    pub wanted: &'a mut Option<(String, FileRequest)>,
    /// A request that closes the dialog.
    pub leaving: &'a mut Option<Request>,
    /// True when the note about the last job no longer holds.
    pub outdates_note: &'a mut bool,
    /// True from the click that runs the operation to the end of its job.
    pub is_running: bool,
    /// True while the report of that job is shown.
    pub has_report: bool,
    /// For how long that job has run; `None` while none runs.
    pub elapsed: Option<Duration>,
}

impl OperationFields<'_> {
    /// Takes the paths that were chosen for a field.
    pub fn take_picked(&mut self, label: &str) -> Option<Vec<PathBuf>> {
        let picked = self.picked.take_if(|(field, _)| field == label);
        picked.map(|(_, paths)| paths)
    }

    /// Replaces the text of a field by the path that was chosen for it.
    fn fill_picked(&mut self, label: &str, text: &mut String) {
        if let Some([path, ..]) = self.take_picked(label).as_deref() {
            *text = path.display().to_string();
        }
    }

    /// A path, typed or chosen.
    pub fn path(
        &mut self,
        ui: &mut Ui,
        label: &str,
        text: &mut String,
        hint: &str,
        request: FileRequest,
    ) {
        self.fill_picked(label, text);
        self.row(
            ui,
            label,
            text,
            hint,
            1,
            &[(
                tr!("Choose…"),
                tr!("Choose {field}", field = label),
                request,
            )],
        );
    }

    /// An input that may be a file or a folder.
    pub fn dataset(&mut self, ui: &mut Ui, label: &str, text: &mut String, hint: &str) {
        self.fill_picked(label, text);
        let buttons = [
            (
                tr!("File…"),
                tr!("Choose a file: {field}", field = label),
                FileRequest::ToolFile,
            ),
            (
                tr!("Folder…"),
                tr!("Choose a folder: {field}", field = label),
                FileRequest::ToolFolder,
            ),
        ];
        self.row(ui, label, text, hint, 1, &buttons);
    }

    /// Several paths, one per line; chosen ones are added.
    pub fn paths(&mut self, ui: &mut Ui, label: &str, text: &mut String, hint: &str) {
        if let Some(paths) = self.take_picked(label) {
            let mut lines: Vec<String> = text
                .lines()
                .map(str::to_owned)
                .filter(|line| !line.trim().is_empty())
                .collect();
            lines.extend(paths.iter().map(|path| path.display().to_string()));
            *text = lines.join("\n");
        }
        let buttons = [
            (
                tr!("Files…"),
                tr!("Add files: {field}", field = label),
                FileRequest::ToolFiles,
            ),
            (
                tr!("Folder…"),
                tr!("Add a folder: {field}", field = label),
                FileRequest::ToolFolder,
            ),
        ];
        self.row(ui, label, text, hint, 4, &buttons);
    }

    fn row(
        &mut self,
        ui: &mut Ui,
        label: &str,
        text: &mut String,
        hint: &str,
        rows: usize,
        buttons: &[(&'static str, String, FileRequest)],
    ) {
        let t = theme::tokens(ui);
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            ui.label(
                theme::rich_text(label)
                    .font(font::regular(12.0))
                    .color(t.tx2),
            );
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let room = buttons.len() as f32 * BUTTON;
                let width = (ui.available_width() - room).max(160.0);
                TextField::new(label, text)
                    .mono()
                    .hide_label()
                    .hint(hint)
                    .rows(rows)
                    .width(width)
                    .show(ui);
                for (words, name, request) in buttons {
                    let button = Button::secondary(*words)
                        .icon(icons::FOLDER_OPEN)
                        .name(name.as_str());
                    if ui.add(button).clicked() {
                        *self.wanted = Some((label.to_owned(), *request));
                    }
                }
            });
        });
    }
}

/// A line with a label and controls.
pub fn draw_labelled_line<R>(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let t = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        let (rect, _) = ui.allocate_exact_size(egui::vec2(170.0, 26.0), egui::Sense::hover());
        widgets::paint::text_left(ui.painter(), rect, label, font::regular(12.0), t.tx2);
        add(ui)
    })
    .inner
}

/// A typed path; `None` for an empty text.
pub fn path_in(text: &str) -> Option<PathBuf> {
    Some(parse_path(text)).filter(|_| !text.trim().is_empty())
}

/// Typed paths, one per line.
pub fn paths_in(text: &str) -> Vec<PathBuf> {
    parse_paths(text)
}

/// A typed size such as `4GB`; `None` for an empty text.
///
/// # Errors
/// A sentence for the user when the text is no size.
pub fn size_in(text: &str) -> Result<Option<u64>, String> {
    match text.trim() {
        "" => Ok(None),
        text => parse_size(text)
            .map(Some)
            .map_err(|_| tr!("Write a size like 4GB or 512MB").into()),
    }
}

/// How damaged samples are handled.
pub fn choose_damage_handling(keep: bool) -> OnDamage {
    if keep { OnDamage::Keep } else { OnDamage::Stop }
}

/// The choice to copy damaged samples.
pub fn keep_damaged_ui(ui: &mut Ui, keep: &mut bool) {
    widgets::checkbox(ui, keep, tr!("Copy damaged samples too, and list them"));
}

/// A typed value: JSON if it is valid, else a string.
pub fn parse_json_or_text(text: &str) -> Json {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Json::String(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_are_json_or_text() {
        let value = parse_json_or_text("[\"CC0-1.0\"]");
        assert_eq!(value, serde_json::json!(["CC0-1.0"]));
        assert_eq!(
            parse_json_or_text(" A title "),
            Json::String("A title".into())
        );
    }
}
