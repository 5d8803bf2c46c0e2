//! Three columns of a dialog, each of which scrolls by itself.

use egui::{Frame, Margin, Rect, ScrollArea, Stroke, Ui, UiBuilder, vec2};

use crate::gui::theme;

/// Height of the window that the columns leave free, in points.
const MARGIN: f32 = 220.0;
/// Height of the columns in points, at most.
const HEIGHT: f32 = 560.0;
/// Widths of the left and the middle column, as shares of the dialog's.
const SHARES: [f32; 2] = [0.33, 0.295];

/// Draws the columns; `add` draws that of an index, from the left.
pub fn draw_columns(ui: &mut Ui, mut add: impl FnMut(&mut Ui, usize)) {
    let t = theme::tokens(ui);
    let height = (ui.ctx().content_rect().height() - MARGIN).min(HEIGHT);
    let body = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), height));
    ui.advance_cursor_after_rect(body);
    let [left, middle] = SHARES.map(|share| (body.width() * share).floor());
    let (left, right) = (body.left() + left, body.left() + left + middle);
    let middle = Rect::from_x_y_ranges(left..=right, body.y_range());
    ui.painter().rect_filled(middle, 0, t.bg2);
    let columns = [(body.left(), left), (left, right), (right, body.right())];
    for (index, (from, to)) in columns.into_iter().enumerate() {
        let column = Rect::from_x_y_ranges(from..=to, body.y_range());
        if index > 0 {
            let line = Stroke::new(1.0, t.line);
            ui.painter().vline(from, body.y_range(), line);
        }
        let builder = UiBuilder::new().max_rect(column).id_salt(("column", index));
        ui.scope_builder(builder, |ui| {
            let area = ScrollArea::vertical()
                .id_salt("column-scroll")
                .auto_shrink(false);
            area.show(ui, |ui| {
                Frame::NONE.inner_margin(Margin::same(14)).show(ui, |ui| {
                    ui.set_width(to - from - 28.0);
                    ui.spacing_mut().item_spacing = vec2(8.0, 7.0);
                    add(ui, index);
                });
            });
        });
    }
    let line = Stroke::new(1.0, t.line);
    ui.painter()
        .hline(body.x_range(), body.bottom() - 0.5, line);
}
