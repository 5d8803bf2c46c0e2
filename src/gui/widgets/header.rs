//! Headings of sections, and tabs.

use egui::{
    Align, Id, Layout, Rect, Response, Role, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::badge::Tone;
use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

/// A heading of 28 points with a rule below; `right` fills its right end, right to left.
pub fn section_header(ui: &mut Ui, title: &str, right: impl FnOnce(&mut Ui)) {
    header(ui, title, None, right);
}

/// A collapsing heading. Returns true when open.
pub fn collapsing_header(
    ui: &mut Ui,
    id: Id,
    title: &str,
    start_open: bool,
    right: impl FnOnce(&mut Ui),
) -> bool {
    let mut open = ui.data_mut(|data| *data.get_persisted_mut_or(id, start_open));
    if header(ui, title, Some(open), right).clicked() {
        open = !open;
        ui.data_mut(|data| data.insert_persisted(id, open));
    }
    open
}

fn header(ui: &mut Ui, title: &str, open: Option<bool>, right: impl FnOnce(&mut Ui)) -> Response {
    let t = theme::tokens(ui);
    let sense = if open.is_some() {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), sense);
    let enabled = ui.is_enabled();
    response.widget_info(|| match open {
        Some(open) => WidgetInfo::selected(Role::DisclosureTriangle, enabled, open, title),
        None => WidgetInfo::labeled(Role::Heading, enabled, title),
    });
    let painter = ui.painter();
    if open.is_some() && response.hovered() {
        painter.rect_filled(rect, 0, t.hover);
    }
    painter.hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
    let mut inner = rect.shrink2(vec2(12.0, 0.0));
    if let Some(open) = open {
        let caret = if open {
            icons::CARET_DOWN
        } else {
            icons::CARET_RIGHT
        };
        paint::draw_icon(
            painter,
            pos2(inner.left() + 6.0, rect.center().y),
            caret,
            12.0,
            t.tx3,
        );
        inner.min.x += 18.0;
    }
    inner.min.x = paint::text_left(painter, inner, title, font::semibold(12.0), t.tx) + 8.0;
    let mut child = ui.new_child(
        UiBuilder::new()
            .max_rect(inner)
            .layout(Layout::right_to_left(Align::Center)),
    );
    right(&mut child);
    paint::focus_ring(ui, &response, 3);
    response
}

/// The width that [`tab`] takes.
fn tab_width(ui: &Ui, icon: Option<&str>, text: &str, count: Option<&str>) -> f32 {
    let white = egui::Color32::WHITE;
    let mut width = 24.0 + paint::measure_text_width(ui.painter(), text, font::medium(13.0), white);
    if icon.is_some() {
        width += 22.0;
    }
    if let Some(count) = count {
        width += 6.0
            + (paint::measure_text_width(ui.painter(), count, font::medium(11.0), white) + 10.0)
                .max(16.0);
    }
    width.round()
}

/// A tab of the bar's height, with a count in `tone`. The accent line marks the active one.
pub fn tab(
    ui: &mut Ui,
    id: Id,
    icon: Option<&'static str>,
    text: &str,
    count: Option<(u64, Tone)>,
    active: bool,
    sense: Sense,
) -> Response {
    let t = theme::tokens(ui);
    let counted = count.map(|(number, tone)| (paint::format_grouped_number(number), tone));
    let width = tab_width(
        ui,
        icon,
        text,
        counted.as_ref().map(|(number, _)| number.as_str()),
    );
    let (_, rect) = ui.allocate_space(vec2(width, ui.available_height()));
    let response = ui.interact(rect, id, sense);
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::Tab, enabled, active, text));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let painter = ui.painter();
    if active {
        painter.rect_filled(rect, 0, t.bg1);
        painter.rect_filled(
            Rect::from_min_size(rect.min, vec2(rect.width(), 2.0)),
            0,
            t.accfill,
        );
    } else {
        if response.hovered() {
            painter.rect_filled(rect, 0, t.hover);
        }
        painter.hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            Stroke::new(1.0, t.line),
        );
    }
    painter.vline(rect.right() - 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let (text_color, icon_color) = if active { (t.tx, t.tx) } else { (t.tx2, t.tx3) };
    let mut inner = rect.shrink2(vec2(12.0, 0.0));
    if let Some(icon) = icon {
        paint::draw_icon(
            painter,
            pos2(inner.left() + 8.0, rect.center().y),
            icon,
            15.0,
            icon_color,
        );
        inner.min.x += 22.0;
    }
    let weight = if active {
        font::medium(13.0)
    } else {
        font::regular(13.0)
    };
    let end = paint::text_left(
        painter,
        inner.expand2(vec2(2.0, 0.0)).translate(vec2(2.0, 0.0)),
        text,
        weight,
        text_color,
    );
    if let Some((number, tone)) = counted {
        let super::badge::ToneColors {
            text: color,
            fill,
            border,
        } = tone.colors(t);
        let width = (paint::measure_text_width(painter, &number, font::medium(11.0), color) + 10.0)
            .max(16.0);
        let chip = Rect::from_min_size(
            pos2((end + 6.0).round(), (rect.center().y - 8.0).round()),
            vec2(width.round(), 16.0),
        );
        painter.rect(
            chip,
            4,
            fill,
            Stroke::new(1.0, border),
            egui::StrokeKind::Inside,
        );
        paint::text_center(painter, chip, &number, font::medium(11.0), color);
    }
    if response.has_focus() {
        painter.rect_stroke(
            rect.shrink(2.0),
            3,
            Stroke::new(2.0, t.accfill),
            egui::StrokeKind::Inside,
        );
    }
    response
}
