//! The list of shortcuts, and what this program is.

use egui::{Frame, Margin, RichText, ScrollArea, Sense, Ui, vec2};

use super::{Next, head_ui};
use crate::gui::action::{Action, Menu};
use crate::gui::icons;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets;

/// Draws the shortcuts.
pub fn shortcuts_ui(ui: &mut Ui) -> Next {
    let t = theme::tokens(ui);
    ui.set_width(620.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    if head_ui(ui, icons::KEYBOARD, "Keyboard shortcuts", "") {
        return Next::Close;
    }
    let height = (ui.ctx().content_rect().height() - 160.0).max(200.0);
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.columns(2, |columns| {
                let menus = [&[Menu::File, Menu::Edit][..], &[Menu::Check, Menu::View, Menu::Help][..]];
                for (ui, menus) in columns.iter_mut().zip(menus) {
                    for menu in menus {
                        ui.label(RichText::new(menu.title()).font(font::semibold(12.0)).color(t.tx2));
                        for action in Action::ALL.iter().filter(|action| action.info().menu == *menu && action.info().keys.is_some()) {
                            ui.horizontal(|ui| {
                                ui.label(RichText::new(action.info().text.trim_end_matches('…')).text_style(text_style("small12")));
                                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| widgets::key_cap(ui, &action.keys_text()));
                            });
                        }
                        ui.add_space(10.0);
                    }
                }
            });
            let more = "Lists: arrows, Page Up and Down, Home, End; Left and Right fold and unfold. Preview: arrows go to the next file, + − 0 zoom.";
            ui.label(RichText::new(more).text_style(text_style("small12")).color(t.tx2));
        });
    });
    Next::Stay
}

/// Draws version and licences.
pub fn about_ui(ui: &mut Ui) -> Next {
    let t = theme::tokens(ui);
    ui.set_width(520.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    if head_ui(ui, icons::INFO, "About Taco Studio", "") {
        return Next::Close;
    }
    Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 8.0;
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(48.0, 48.0), Sense::hover());
            widgets::logo(ui.painter(), rect);
            ui.vertical(|ui| {
                ui.label(RichText::new(format!("Taco Studio {}", env!("CARGO_PKG_VERSION"))).font(font::semibold(15.0)));
                ui.label(RichText::new("Reads and writes TACO 2.0 datasets").text_style(text_style("small12")).color(t.tx2));
            });
        });
        for line in [
            "Licence: MIT or Apache-2.0, as you like.",
            "Fonts: Inter and JetBrains Mono (SIL Open Font License 1.1). Icons: Phosphor (MIT).",
            "Rasters are read by GDAL (MIT), tables by Apache Arrow and Polars.",
            "No telemetry. Nothing is read that you do not open.",
        ] {
            ui.label(RichText::new(line).text_style(text_style("small12")).color(t.tx2));
        }
    });
    Next::Stay
}
