//! Titles, sentences and lines between the parts of a panel or dialog.

use egui::{Frame, Margin, Ui};

use super::paint;
use crate::gui::theme::{self, font, text_style};

/// Title of a part.
pub fn heading(ui: &mut Ui, text: &str) {
    Frame::NONE
        .inner_margin(Margin {
            top: 4,
            ..Margin::ZERO
        })
        .show(ui, |ui| {
            ui.label(theme::rich_text(text).font(font::semibold(12.5)));
        });
}

/// A sentence instead of contents, or below them.
pub fn remark(ui: &mut Ui, margin: impl Into<Margin>, text: &str) {
    let color = theme::tokens(ui).tx3;
    Frame::NONE.inner_margin(margin).show(ui, |ui| {
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(color),
        )
    });
}

/// The name of a control, drawn before it.
pub fn draw_control_label(ui: &mut Ui, text: &str) {
    let color = theme::tokens(ui).tx2;
    ui.label(
        theme::rich_text(text)
            .font(font::regular(12.0))
            .color(color),
    );
}

/// A line below everything drawn so far.
pub fn line_below(ui: &Ui) {
    paint::lower_edge(ui, ui.min_rect());
}
