//! Blocks of code.

use egui::{Frame, Margin, Stroke, Ui};

use crate::gui::theme::{self, font};

/// Draws code that can be selected, in a frame of the available width.
pub fn code_ui(ui: &mut Ui, code: &str) {
    let t = theme::tokens(ui);
    Frame::NONE
        .fill(t.bg2)
        .stroke(Stroke::new(1.0, t.line2))
        .corner_radius(4)
        .inner_margin(Margin::same(10))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.add(
                egui::Label::new(theme::rich_text(code).font(font::mono(11.5)))
                    .selectable(true)
                    .wrap(),
            );
        });
}
