//! Painting helpers of the controls: truncated text, icons, focus ring, dashed frames.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, FontId, Galley, Painter, Pos2, Rect, Response, Shape, Stroke, StrokeKind, Ui,
    pos2,
};

use crate::gui::theme::{self, ThemeTokens, font};
use crate::text::displayed_line;

/// One line of text in its displayed form (see [`displayed_line`]), cut with `…` at `width` points.
pub fn layout_cut_line(
    painter: &Painter,
    text: &str,
    font: FontId,
    color: Color32,
    width: f32,
) -> Arc<Galley> {
    let mut job = LayoutJob::simple_singleline(displayed_line(text).into_owned(), font, color);
    job.wrap = TextWrapping {
        max_width: width.max(0.0),
        max_rows: 1,
        break_anywhere: true,
        overflow_character: Some('…'),
    };
    painter.layout_job(job)
}

/// A text in its displayed form (see [`displayed_line`]) on one line of any width.
pub fn layout_unwrapped_line(
    painter: &Painter,
    text: &str,
    font: FontId,
    color: Color32,
) -> Arc<Galley> {
    painter.layout_no_wrap(displayed_line(text).into_owned(), font, color)
}

/// Width of a text on one line.
pub fn measure_text_width(painter: &Painter, text: &str, font: FontId, color: Color32) -> f32 {
    layout_unwrapped_line(painter, text, font, color).size().x
}

/// Paints a line at the lower edge of `rect`, inside it.
pub fn lower_edge(ui: &Ui, rect: Rect) {
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, theme::tokens(ui).line),
    );
}

/// Paints one line, centred vertically in `rect`, at its left. Returns the right end of the text.
pub fn text_left(painter: &Painter, rect: Rect, text: &str, font: FontId, color: Color32) -> f32 {
    let galley = layout_cut_line(painter, text, font, color, rect.width());
    let right = rect.left() + galley.size().x;
    let y = rect.center().y - galley.size().y / 2.0;
    painter.galley(snap_to_pixels(painter, pos2(rect.left(), y)), galley, color);
    right
}

/// Paints one line, centred vertically in `rect`, at its right. Returns the left end of the text.
pub fn text_right(painter: &Painter, rect: Rect, text: &str, font: FontId, color: Color32) -> f32 {
    let galley = layout_cut_line(painter, text, font, color, rect.width());
    let left = rect.right() - galley.size().x;
    let y = rect.center().y - galley.size().y / 2.0;
    painter.galley(snap_to_pixels(painter, pos2(left, y)), galley, color);
    left
}

/// Paints one line in the middle of `rect`.
pub fn text_center(painter: &Painter, rect: Rect, text: &str, font: FontId, color: Color32) {
    let galley = layout_cut_line(painter, text, font, color, rect.width());
    let at = Align2::CENTER_CENTER
        .align_size_within_rect(galley.size(), rect)
        .min;
    painter.galley(snap_to_pixels(painter, at), galley, color);
}

/// Paints an icon around `center`.
pub fn draw_icon(painter: &Painter, center: Pos2, icon: &str, size: f32, color: Color32) {
    let galley = painter.layout_no_wrap(icon.to_owned(), font::icon(size), color);
    painter.galley(
        snap_to_pixels(painter, center - galley.size() / 2.0),
        galley,
        color,
    );
}

/// Snaps a corner to the pixel grid, so that text and one-pixel lines are sharp.
pub fn snap_to_pixels(painter: &Painter, at: Pos2) -> Pos2 {
    let scale = painter.pixels_per_point();
    pos2(
        (at.x * scale).round() / scale,
        (at.y * scale).round() / scale,
    )
}

/// The ring of the focused control: 2 points, 1 point outside.
pub fn focus_ring(ui: &Ui, response: &Response, radius: u8) {
    if response.has_focus() {
        let stroke = Stroke::new(2.0, theme::tokens(ui).accfill);
        ui.painter().rect_stroke(
            response.rect.expand(1.0),
            radius + 1,
            stroke,
            StrokeKind::Outside,
        );
    }
}

/// A dashed frame just inside `rect`.
pub fn dashed_rect(painter: &Painter, rect: Rect, color: Color32) {
    let rect = rect.shrink(0.5);
    let corners = [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
        rect.left_top(),
    ];
    painter.extend(Shape::dashed_line(
        &corners,
        Stroke::new(1.0, color),
        3.0,
        2.0,
    ));
}

/// The fill of a row, with the accent bar of the selection.
pub fn row_background(
    painter: &Painter,
    t: &ThemeTokens,
    rect: Rect,
    selected: bool,
    hovered: bool,
) {
    if selected {
        painter.rect_filled(rect, 0, t.sel);
        painter.rect_filled(
            Rect::from_min_size(rect.min, egui::vec2(2.0, rect.height())),
            0,
            t.accfill,
        );
    } else if hovered {
        painter.rect_filled(rect, 0, t.hover);
    }
}

/// Draws the background of a row above the line at its bottom.
pub fn row_with_line(
    painter: &Painter,
    t: &ThemeTokens,
    rect: Rect,
    selected: bool,
    hovered: bool,
) {
    let line = Stroke::new(1.0, t.line);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, line);
    let above = rect.with_max_y(rect.bottom() - 1.0);
    row_background(painter, t, above, selected, hovered);
}

/// `1234567` as `1 234 567`, with thin spaces.
pub fn format_grouped_number(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// [`format_grouped_number`] of the digits of a whole number.
pub fn grouped_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// Bytes in decimal units: `812 B`, `39 kB`, `4.1 MB`, `28.4 GB`.
pub fn format_bytes(size: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if size < 1000 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_sizes_have_units() {
        assert_eq!(format_grouped_number(7), "7");
        assert_eq!(format_grouped_number(1204), "1\u{2009}204");
        assert_eq!(
            format_grouped_number(49_999_990),
            "49\u{2009}999\u{2009}990"
        );
        assert_eq!(format_bytes(812), "812 B");
        assert_eq!(format_bytes(39_400), "39 kB");
        assert_eq!(format_bytes(999_900), "1.0 MB");
        assert_eq!(format_bytes(28_400_000_000), "28.4 GB");
    }
}
