//! A slider for a number, with its value in mono beside it.

use std::ops::RangeInclusive;

use egui::{EventFilter, Key, Modifiers, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

const VALUE: f32 = 40.0;

/// Changes `value` within `range` by drag, click and arrow keys; a double click sets `default`.
pub fn slider(ui: &mut Ui, name: &str, value: &mut f32, range: RangeInclusive<f32>, default: f32, width: f32) -> Response {
    let t = theme::tokens(ui);
    let (from, to) = (*range.start(), *range.end());
    let (rect, mut response) = ui.allocate_exact_size(vec2(width, 24.0), Sense::click_and_drag());
    let rail =
        Rect::from_min_max(pos2(rect.left() + 7.0, rect.center().y - 2.0), pos2(rect.right() - VALUE - 7.0, rect.center().y + 2.0));
    let before = *value;
    if response.double_clicked() {
        *value = default;
    } else if let Some(pointer) = response.interact_pointer_pos().filter(|_| response.is_pointer_button_down_on()) {
        let part = ((pointer.x - rail.left()) / rail.width().max(1.0)).clamp(0.0, 1.0);
        *value = from + (to - from) * part;
    }
    if response.has_focus() {
        let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        let steps = ui.input_mut(|input| {
            let mut count = |key| input.count_and_consume_key(Modifiers::NONE, key) as f32;
            count(Key::ArrowRight) - count(Key::ArrowLeft)
        });
        *value += steps * (to - from) / 50.0;
    }
    *value = value.clamp(from.min(to), to.max(from));
    if *value != before {
        response.mark_changed();
    }
    let (enabled, now) = (ui.is_enabled(), *value);
    response.widget_info(|| WidgetInfo { value: Some(f64::from(now)), ..WidgetInfo::labeled(Role::Slider, enabled, name) });
    let x = rail.left() + rail.width() * ((now - from) / (to - from)).clamp(0.0, 1.0);
    let painter = ui.painter();
    painter.rect_filled(rail, 2, t.bg4);
    painter.rect_filled(rail.with_max_x(x), 2, t.accfill);
    painter.circle(pos2(x, rail.center().y), 6.0, t.bg1, Stroke::new(2.0, t.accfill));
    paint::text_right(painter, rect, &shown(now, to - from), font::mono(12.0), t.tx);
    paint::focus_ring(ui, &response, 4);
    response
}

/// Formats a value with decimals suited to the range.
fn shown(value: f32, span: f32) -> String {
    if span >= 20.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_range_shows_no_fractions() {
        assert_eq!(shown(158.0, 300.0), "158");
        assert_eq!(shown(0.5, 1.0), "0.50");
    }
}
