//! A segmented control: a row of choices of which one is selected.

use egui::{Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

/// One choice.
pub struct Segment<'a, T> {
    /// Value of the choice.
    pub value: T,
    /// An icon before the text, with its own colour where that means something.
    pub icon: Option<(&'static str, Option<egui::Color32>)>,
    pub text: &'a str,
    /// A count after it; empty for none.
    pub count: String,
}

impl<'a, T> Segment<'a, T> {
    /// A choice without icon and count.
    pub fn new(value: T, text: &'a str) -> Self {
        Self {
            value,
            icon: None,
            text,
            count: String::new(),
        }
    }

    fn clone_segment(&self) -> Self
    where
        T: Clone,
    {
        Self {
            value: self.value.clone(),
            icon: self.icon,
            text: self.text,
            count: self.count.clone(),
        }
    }

    /// Adds the count.
    #[must_use]
    pub fn count(mut self, number: u64) -> Self {
        self.count = paint::format_grouped_number(number);
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: &'static str, color: Option<egui::Color32>) -> Self {
        self.icon = Some((icon, color));
        self
    }
}

/// Widths of a choice and of its text.
fn widths_of<T>(ui: &Ui, segments: &[Segment<'_, T>]) -> Vec<(f32, f32)> {
    segments
        .iter()
        .map(|segment| measure_segment(ui, segment))
        .collect()
}

/// Width of a segment and of its text.
fn measure_segment<T>(ui: &Ui, segment: &Segment<'_, T>) -> (f32, f32) {
    let t = theme::tokens(ui);
    let text = paint::measure_text_width(ui.painter(), segment.text, font::medium(12.0), t.tx);
    let count = if segment.count.is_empty() {
        0.0
    } else {
        paint::measure_text_width(ui.painter(), &segment.count, font::mono(12.0), t.tx) + 6.0
    };
    let icon = if segment.icon.is_some() { 17.0 } else { 0.0 };
    ((text + count + icon + 18.0).round(), text)
}

fn total_of(widths: &[(f32, f32)]) -> f32 {
    widths.iter().map(|(width, _)| width).sum::<f32>() + 4.0 + widths.len().saturating_sub(1) as f32
}

/// The width that [`draw_segments`] takes for these choices.
pub fn segmented_width<T>(ui: &Ui, segments: &[Segment<'_, T>]) -> f32 {
    total_of(&widths_of(ui, segments))
}

/// Draws the choices; `value` changes on click. The response is changed when it did.
pub fn draw_segments<T: PartialEq + Clone>(
    ui: &mut Ui,
    id_salt: impl egui::AsIdSalt,
    value: &mut T,
    segments: &[Segment<'_, T>],
) -> Response {
    let widths = widths_of(ui, segments);
    draw(ui, id_salt, value, segments, &widths)
}

/// [`draw_segments`] in this width at most: first icons are left out, then the longest texts are
/// cut.
pub fn segmented_within<T: PartialEq + Clone>(
    ui: &mut Ui,
    id_salt: impl egui::AsIdSalt,
    value: &mut T,
    segments: &[Segment<'_, T>],
    most: f32,
) -> Response {
    let mut widths = widths_of(ui, segments);
    if total_of(&widths) <= most {
        return draw(ui, id_salt, value, segments, &widths);
    }
    let plain: Vec<Segment<'_, T>> = segments
        .iter()
        .map(|segment| Segment {
            icon: None,
            ..segment.clone_segment()
        })
        .collect();
    widths = widths_of(ui, &plain);
    while total_of(&widths) > most {
        let Some(widest) = widths
            .iter_mut()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(width, _)| *width > 36.0)
        else {
            break;
        };
        widest.0 -= 1.0;
    }
    draw(ui, id_salt, value, &plain, &widths)
}

fn draw<T: PartialEq + Clone>(
    ui: &mut Ui,
    id_salt: impl egui::AsIdSalt,
    value: &mut T,
    segments: &[Segment<'_, T>],
    widths: &[(f32, f32)],
) -> Response {
    let t = theme::tokens(ui);
    let total = total_of(widths);
    let (rect, mut response) = ui.allocate_exact_size(vec2(total, 24.0), Sense::hover());
    ui.painter().rect_filled(rect, 4, t.bg3);
    let id = response.id.with(egui::IdSalt::new(id_salt));
    let enabled = ui.is_enabled();
    let mut x = rect.left() + 2.0;
    for (index, (segment, (width, _))) in segments.iter().zip(widths).enumerate() {
        let cell = Rect::from_min_size(pos2(x, rect.top() + 2.0), vec2(*width, 20.0));
        x += width + 1.0;
        let piece = ui.interact(cell, id.with(index), Sense::click());
        if piece.clicked() && *value != segment.value {
            *value = segment.value.clone();
            response.mark_changed();
        }
        let on = *value == segment.value;
        piece.widget_info(|| WidgetInfo::selected(Role::RadioButton, enabled, on, segment.text));
        let painter = ui.painter();
        if on {
            painter.rect(
                cell,
                3,
                t.bg1,
                Stroke::new(1.0, t.line2),
                StrokeKind::Outside,
            );
        }
        let color = if on || piece.hovered() { t.tx } else { t.tx2 };
        let mut inner = cell.shrink2(vec2(9.0, 0.0));
        if let Some((icon, tint)) = segment.icon {
            paint::draw_icon(
                painter,
                pos2(inner.left() + 6.0, cell.center().y),
                icon,
                13.0,
                tint.unwrap_or(color),
            );
            inner.min.x += 17.0;
        }
        let weight = if on {
            font::medium(12.0)
        } else {
            font::regular(12.0)
        };
        let mut text = inner.expand(1.0).translate(vec2(1.0, 0.0));
        if !segment.count.is_empty() {
            let count = inner.expand(1.0);
            text.max.x = paint::text_right(
                painter,
                count,
                &segment.count,
                font::mono(12.0),
                if on { t.tx } else { t.tx3 },
            ) - 2.0;
        }
        paint::text_left(painter, text, segment.text, weight, color);
        paint::focus_ring(ui, &piece, 3);
    }
    response
}
