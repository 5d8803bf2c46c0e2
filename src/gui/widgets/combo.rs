//! A choice from a list: egui's combo box in the style of an input, with a caret.

use egui::{Align, ComboBox, Layout, Response, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

/// Shows `current` and, when clicked, the options. Returns the index of the chosen option.
pub fn combo<S: AsRef<str>>(ui: &mut Ui, name: &str, current: &str, width: f32, mono: bool, options: &[S]) -> Option<usize> {
    let t = theme::tokens(ui);
    let text_font = if mono { font::mono(12.0) } else { font::regular(13.0) };
    // Several combos of a panel can have the same name.
    let id = ui.next_auto_id();
    // A longer text is cut at the width.
    let shown = ui.allocate_ui_with_layout(vec2(width, 26.0), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().button_padding = vec2(9.0, 4.0);
        ui.spacing_mut().interact_size.y = 26.0;
        ui.spacing_mut().icon_width = 12.0;
        let widgets = &mut ui.visuals_mut().widgets;
        for state in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active, &mut widgets.open] {
            (state.weak_bg_fill, state.bg_stroke, state.expansion) = (t.input, Stroke::new(1.0, t.tx3), 0.0);
            state.corner_radius = 4.into();
        }
        widgets.inactive.bg_stroke.color = t.ctl;
        ComboBox::from_id_salt(id)
            .selected_text(theme::rich_text(current).font(text_font.clone()).color(t.tx))
            .width(width)
            .height(300.0)
            .truncate()
            .icon(move |ui, rect, _, _| paint::icon(ui.painter(), rect.center(), icons::CARET_DOWN, 12.0, t.tx3))
            .show_ui(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.set_min_width((width - 10.0).max(60.0));
                let mut picked = None;
                for (index, option) in options.iter().enumerate() {
                    if option_ui(ui, option.as_ref(), option.as_ref() == current, text_font.clone()).clicked() {
                        picked = Some(index);
                    }
                }
                picked
            })
    });
    let (response, enabled) = (shown.inner.response, ui.is_enabled());
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ComboBox, enabled, name);
        info.current_text_value = Some(current.to_owned());
        info
    });
    paint::focus_ring(ui, &response, 4);
    shown.inner.inner.flatten()
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
