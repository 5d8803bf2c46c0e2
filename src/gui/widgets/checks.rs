//! Check box and radio button with the accent fill. The radio button is painted here: egui's has no
//! fill of its own while chosen.

use egui::{Checkbox, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

/// A check box: egui's, filled with the accent while it is on.
pub fn checkbox(ui: &mut Ui, on: &mut bool, text: &str) -> Response {
    let t = theme::tokens(ui);
    let before = *on;
    let response = ui
        .scope(|ui| {
            ui.spacing_mut().icon_width = 14.0;
            ui.spacing_mut().icon_width_inner = 8.0;
            ui.spacing_mut().icon_spacing = 7.0;
            ui.spacing_mut().interact_size.y = 20.0;
            let widgets = &mut ui.visuals_mut().widgets;
            for state in [
                &mut widgets.inactive,
                &mut widgets.hovered,
                &mut widgets.active,
            ] {
                state.bg_fill = if before { t.accfill } else { t.input };
                state.bg_stroke = if before {
                    Stroke::NONE
                } else {
                    Stroke::new(1.0, t.ctl)
                };
                (state.fg_stroke, state.expansion, state.corner_radius) =
                    (Stroke::new(2.0, t.onacc), 0.0, 3.into());
            }
            match text {
                "" => ui.add(Checkbox::without_text(on)),
                _ => ui.add(Checkbox::new(
                    on,
                    theme::rich_text(text).font(font::regular(13.0)).color(t.tx),
                )),
            }
        })
        .inner;
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
        ui.painter()
            .circle(rect.center(), 6.5, t.input, Stroke::new(1.0, t.ctl));
    }
    paint::focus_ring(ui, &response, 4);
    response
}

fn mark_and_text(ui: &mut Ui, text: &str) -> (egui::Rect, Response) {
    let t = theme::tokens(ui);
    let galley = paint::layout_unwrapped_line(ui.painter(), text, font::regular(13.0), t.tx);
    let text_width = if text.is_empty() {
        0.0
    } else {
        galley.size().x + 7.0
    };
    let (rect, response) = ui.allocate_exact_size(vec2(14.0 + text_width, 20.0), Sense::click());
    if !text.is_empty() {
        let at = paint::snap_to_pixels(
            ui.painter(),
            pos2(rect.left() + 21.0, rect.center().y - galley.size().y / 2.0),
        );
        ui.painter().galley(at, galley, t.tx);
    }
    (
        egui::Rect::from_center_size(pos2(rect.left() + 7.0, rect.center().y), vec2(14.0, 14.0)),
        response,
    )
}
