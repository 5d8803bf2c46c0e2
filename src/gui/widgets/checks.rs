//! Check box and radio button with the accent fill.

use egui::{Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

/// A check box.
pub fn checkbox(ui: &mut Ui, on: &mut bool, text: &str) -> Response {
    let (rect, mut response) = mark_and_text(ui, text);
    if response.clicked() {
        *on = !*on;
        response.mark_changed();
    }
    let (enabled, now) = (ui.is_enabled(), *on);
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, enabled, now, text));
    let t = theme::tokens(ui);
    if now {
        ui.painter().rect_filled(rect, 3, t.accfill);
        paint::icon(ui.painter(), rect.center(), icons::CHECK, 11.0, t.onacc);
    } else {
        ui.painter().rect(rect, 3, t.input, Stroke::new(1.0, t.ctl), StrokeKind::Inside);
    }
    paint::focus_ring(ui, &response, 4);
    response
}

/// A radio button; `chosen` when it is the current choice.
pub fn radio(ui: &mut Ui, chosen: bool, text: &str) -> Response {
    let (rect, response) = mark_and_text(ui, text);
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::RadioButton, enabled, chosen, text));
    let t = theme::tokens(ui);
    if chosen {
        ui.painter().circle_filled(rect.center(), 7.0, t.accfill);
        ui.painter().circle_filled(rect.center(), 3.0, t.onacc);
    } else {
        ui.painter().circle(rect.center(), 6.5, t.input, Stroke::new(1.0, t.ctl));
    }
    paint::focus_ring(ui, &response, 4);
    response
}

fn mark_and_text(ui: &mut Ui, text: &str) -> (egui::Rect, Response) {
    let t = theme::tokens(ui);
    let galley = ui.painter().layout_no_wrap(text.to_owned(), font::regular(13.0), t.tx);
    let text_width = if text.is_empty() { 0.0 } else { galley.size().x + 7.0 };
    let (rect, response) = ui.allocate_exact_size(vec2(14.0 + text_width, 20.0), Sense::click());
    if !text.is_empty() {
        let at = paint::snap(ui.painter(), pos2(rect.left() + 21.0, rect.center().y - galley.size().y / 2.0));
        ui.painter().galley(at, galley, t.tx);
    }
    (egui::Rect::from_center_size(pos2(rect.left() + 7.0, rect.center().y), vec2(14.0, 14.0)), response)
}
