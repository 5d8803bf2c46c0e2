//! The dialog after a crash: the error, and the path of the report. Nothing is sent.

use std::path::Path;

use egui::{Frame, Margin, ScrollArea, TextEdit, Ui};

use super::frame::{Next, foot_ui, head_ui};
use super::view::DialogView;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::Button;
use crate::text::displayed_block;

pub struct CrashReport {
    path: String,
    text: String,
}

impl CrashReport {
    /// Reads the report; `None` if it can't be read.
    pub fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(Self {
            path: path.display().to_string(),
            text,
        })
    }
}

impl DialogView for CrashReport {
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(620.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(
            ui,
            icons::WARNING,
            tr!("Taco Studio stopped unexpectedly last time"),
            "",
        );
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            let told = tr!(
                "Written datasets are complete: a file gets its final name once it is fully \
                    written. The report has the place in the \
                 program and the last commands, never your data. It stays on this machine; attach \
                    it when you report the fault."
            );
            ui.label(theme::style_small_text(told, t.tx2));
            ScrollArea::vertical().max_height(220.0).show(ui, |ui| {
                let text = displayed_block(&self.text);
                let mut text = &*text;
                let edit = TextEdit::multiline(&mut text)
                    .font(text_style("mono11"))
                    .desired_width(f32::INFINITY)
                    .desired_rows(8);
                let response = ui.add(edit);
                response.widget_info(|| {
                    egui::WidgetInfo::labeled(
                        egui::Role::MultilineTextInput,
                        true,
                        tr!("Crash report"),
                    )
                });
            });
            ui.label(
                theme::rich_text(&self.path)
                    .text_style(text_style("mono11"))
                    .color(t.tx2),
            );
        });
        let (done, copy) = foot_ui(ui, |ui| {
            let done = ui.add(Button::primary(tr!("Close")).large()).clicked();
            (
                done,
                ui.add(Button::ghost(tr!("Copy report")).large()).clicked(),
            )
        });
        match (copy, done || close) {
            (true, _) => Next::Also(Request::Copy(self.text.clone())),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }
}
