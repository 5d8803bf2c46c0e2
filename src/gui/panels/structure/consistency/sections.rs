//! The head of a section of the view, the area below it, and the outliers that sections show.

use egui::{Align, Layout, Rect, Stroke, Ui, UiBuilder, pos2, vec2};

use crate::gui::theme::{self, font};
use crate::model::{Consistency, Outlier, RasterProperty};

pub(super) fn section_ui(ui: &mut Ui, title: &str, more: &str, right: impl FnOnce(&mut Ui)) {
    let t = theme::tokens(ui);
    let rect = Rect::from_min_size(ui.max_rect().min, vec2(ui.max_rect().width(), 28.0));
    ui.painter().rect_filled(rect, 0, t.bg1);
    ui.scope_builder(
        UiBuilder::new().max_rect(rect.shrink2(vec2(10.0, 2.0))),
        |ui| {
            ui.horizontal_centered(|ui| {
                ui.label(theme::rich_text(title).font(font::medium(12.0)).color(t.tx));
                ui.label(
                    theme::rich_text(more)
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
                ui.with_layout(Layout::right_to_left(Align::Center), right);
            });
        },
    );
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

pub(super) fn rest_of(ui: &Ui, used: f32) -> Rect {
    let area = ui.max_rect();
    Rect::from_min_max(
        pos2(area.left(), (area.top() + used).min(area.bottom())),
        area.max,
    )
}

pub(super) fn find_outlier(
    consistency: &Consistency,
    position: usize,
    property: RasterProperty,
    at: usize,
) -> Option<&Outlier> {
    consistency
        .positions
        .get(position)?
        .agreement(property)
        .outliers
        .get(at)
}
