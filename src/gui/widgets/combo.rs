//! A choice from a list, drawn as an input with a caret.

use egui::{Popup, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

/// Shows `current` and, when clicked, the options. Returns the index of the chosen option.
pub fn combo<S: AsRef<str>>(ui: &mut Ui, name: &str, current: &str, width: f32, mono: bool, options: &[S]) -> Option<usize> {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 26.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ComboBox, enabled, name);
        info.current_text_value = Some(current.to_owned());
        info
    });
    let text_font = if mono { font::mono(12.0) } else { font::regular(13.0) };
    if ui.is_rect_visible(rect) {
        let border = if response.hovered() { t.tx3 } else { t.ctl };
        ui.painter().rect(rect, 4, t.input, Stroke::new(1.0, border), StrokeKind::Inside);
        let mut inner = rect.shrink2(vec2(9.0, 0.0));
        paint::icon(ui.painter(), pos2(inner.right() - 5.0, rect.center().y), icons::CARET_DOWN, 12.0, t.tx3);
        inner.max.x -= 16.0;
        paint::text_left(ui.painter(), inner, current, text_font.clone(), t.tx);
        paint::focus_ring(ui, &response, 4);
    }
    let mut picked = None;
    Popup::menu(&response).width(width).gap(4.0).show(|ui| {
        ui.set_min_width((width - 10.0).max(60.0));
        egui::ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, option) in options.iter().enumerate() {
                if option_ui(ui, option.as_ref(), option.as_ref() == current, text_font.clone()).clicked() {
                    picked = Some(index);
                    ui.close();
                }
            }
        });
    });
    picked
}

/// One row of a list of options.
pub(super) fn option_ui(ui: &mut Ui, text: &str, chosen: bool, text_font: egui::FontId) -> Response {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, enabled, chosen, text));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 3, t.bg4);
    } else if chosen {
        ui.painter().rect_filled(rect, 3, t.sel);
    }
    paint::text_left(ui.painter(), rect.shrink2(vec2(6.0, 0.0)), text, text_font, t.tx);
    response
}
