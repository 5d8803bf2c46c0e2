//! Progress bar and spinner.

use egui::{ProgressBar, Response, Role, Sense, Ui, WidgetInfo, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme;

/// egui's progress bar with `width` × `height` points at `fraction` (0 to 1), without animation.
/// `name` is its accessible name.
pub fn progress_bar(ui: &mut Ui, name: &str, fraction: f32, width: f32, height: f32) -> Response {
    let t = theme::tokens(ui);
    let fraction = if fraction.is_finite() {
        fraction.clamp(0.0, 1.0)
    } else {
        0.0
    };
    // egui paints at least a full circle: none while nothing is done.
    let fill = if fraction > 0.0 { t.accfill } else { t.bg3 };
    let bar = ProgressBar::new(fraction)
        .desired_width(width)
        .desired_height(height)
        .fill(fill);
    let bar = bar.corner_radius((height / 2.0).min(3.0) as u8);
    let response = ui
        .scope(|ui| {
            ui.visuals_mut().extreme_bg_color = t.bg3;
            ui.add(bar)
        })
        .inner;
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ProgressIndicator, true, name);
        info.value = Some(f64::from(fraction));
        info
    });
    response
}

/// A spinner. It requests no repaints itself: the window repaints while work runs.
pub fn spinner(ui: &mut Ui, size: f32) -> Response {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(size, size), Sense::hover());
    let galley = ui.painter().layout_no_wrap(
        icons::CIRCLE_NOTCH.to_owned(),
        theme::font::icon(size),
        t.tx2,
    );
    let still = ui.style().animation_time == 0.0;
    if still {
        paint::draw_icon(
            ui.painter(),
            rect.center(),
            icons::CIRCLE_NOTCH,
            size,
            t.tx2,
        );
    } else {
        let angle = (ui.input(|input| input.time) * 4.0 % std::f64::consts::TAU) as f32;
        let shape =
            egui::epaint::TextShape::new(rect.center() - galley.size() / 2.0, galley, t.tx2);
        ui.painter()
            .add(shape.with_angle_and_anchor(angle, egui::Align2::CENTER_CENTER));
    }
    response
}
