//! A slider for a number: egui's slider in the studio's style, with the value in mono beside it.

use std::ops::RangeInclusive;

use egui::{Align, Layout, Response, Role, Slider, Stroke, Ui, WidgetInfo, vec2};

use super::paint;
use crate::gui::theme::{self, font};

/// Width in points of the value beside the slider.
const VALUE: f32 = 40.0;

/// Changes `value` within `range` by drag, click and arrow keys; a double click sets `default`.
/// `name` is its accessible name.
pub fn slider(
    ui: &mut Ui,
    name: &str,
    value: &mut f32,
    range: RangeInclusive<f32>,
    default: f32,
    width: f32,
) -> Response {
    let t = theme::tokens(ui);
    let span = range.end() - range.start();
    ui.allocate_ui_with_layout(
        vec2(width, 24.0),
        Layout::left_to_right(Align::Center),
        |ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.spacing_mut().slider_width = width - VALUE;
            ui.spacing_mut().slider_rail_height = 4.0;
            ui.spacing_mut().interact_size.y = 18.0;
            let visuals = ui.visuals_mut();
            visuals.selection.bg_fill = t.accfill;
            visuals.widgets.inactive.bg_fill = t.bg4;
            for state in [
                &mut visuals.widgets.inactive,
                &mut visuals.widgets.hovered,
                &mut visuals.widgets.active,
            ] {
                state.fg_stroke = Stroke::new(2.0, t.accfill);
            }
            let mut response = ui.add(
                Slider::new(value, range)
                    .show_value(false)
                    .trailing_fill(true),
            );
            if response.double_clicked() && *value != default {
                *value = default;
                response.mark_changed();
            }
            let (enabled, now) = (ui.is_enabled(), *value);
            response.widget_info(|| WidgetInfo {
                value: Some(f64::from(now)),
                ..WidgetInfo::labeled(Role::Slider, enabled, name)
            });
            let beside = response.rect.with_max_x(response.rect.right() + VALUE);
            ui.advance_cursor_after_rect(beside);
            paint::text_right(
                ui.painter(),
                beside,
                &format_slider_value(now, span),
                font::mono(12.0),
                t.tx,
            );
            paint::focus_ring(ui, &response, 4);
            response
        },
    )
    .inner
}

/// Formats a value with decimals suited to the range.
fn format_slider_value(value: f32, span: f32) -> String {
    if span >= 20.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_range_shows_no_fractions() {
        assert_eq!(format_slider_value(158.0, 300.0), "158");
        assert_eq!(format_slider_value(0.5, 1.0), "0.50");
    }
}
