//! The list of checks in a form: how many pass, warn and block, and each with its symbol.

use egui::{Align, Color32, Frame, Label, Layout, Margin, Stroke, Ui, vec2};

use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Tone};
use crate::ops::publish::CheckLevel;

/// Draws the heading of the checks, with the number of checks of each level.
pub fn checks_heading_ui(ui: &mut Ui, levels: impl Iterator<Item = CheckLevel>) {
    let (mut passes, mut warnings, mut blocks) = (0, 0, 0);
    for level in levels {
        match level {
            CheckLevel::Pass => passes += 1,
            CheckLevel::Warning => warnings += 1,
            CheckLevel::Blocks => blocks += 1,
        }
    }
    let badges = [
        (
            Tone::Ok,
            icons::CHECK,
            passes,
            tr_n!(passes, "{n} pass", "{n} pass", n = passes),
        ),
        (
            Tone::Error,
            icons::WARNING_OCTAGON,
            blocks,
            tr_n!(blocks, "{n} blocks", "{n} block", n = blocks),
        ),
        (
            Tone::Warning,
            icons::WARNING,
            warnings,
            tr_n!(warnings, "{n} note", "{n} notes", n = warnings),
        ),
    ];
    ui.horizontal(|ui| {
        widgets::heading(ui, tr!("Pre-flight checks"));
        let layout = Layout::right_to_left(Align::Center).with_main_wrap(true);
        ui.with_layout(layout, |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            for (tone, icon, number, text) in badges.into_iter().rev() {
                if number > 0 {
                    widgets::badge(ui, tone, Some(icon), &text);
                }
            }
        });
    });
}

/// Draws a check, with what `add` draws below its title; `level` is `None` while it runs.
pub fn check_ui(ui: &mut Ui, level: Option<CheckLevel>, title: &str, add: impl FnOnce(&mut Ui)) {
    let t = theme::tokens(ui);
    let (icon, color) = match level {
        Some(CheckLevel::Pass) => (icons::CHECK_CIRCLE, t.ok),
        Some(CheckLevel::Warning) => (icons::WARNING, t.warn),
        Some(CheckLevel::Blocks) => (icons::WARNING_OCTAGON, t.err),
        None => (icons::CLOCK, t.tx3),
    };
    let (fill, stroke, margin, text) = if level == Some(CheckLevel::Blocks) {
        let stroke = Stroke::new(1.0, t.errline);
        (t.errbg, stroke, Margin::symmetric(8, 6), t.err)
    } else {
        (Color32::TRANSPARENT, Stroke::NONE, Margin::ZERO, t.tx)
    };
    let frame = Frame::NONE.fill(fill).stroke(stroke).corner_radius(4);
    frame.inner_margin(margin).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal_top(|ui| {
            ui.spacing_mut().item_spacing = vec2(7.0, 3.0);
            ui.label(theme::rich_text(icon).font(font::icon(15.0)).color(color));
            ui.vertical(|ui| {
                let title = theme::rich_text(title).font(font::regular(12.5));
                ui.add(Label::new(title.color(text)).wrap());
                add(ui);
            });
        });
    });
}
