//! Small marks: badge, count, key cap, chip that can be removed.

use egui::{Color32, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font};

/// Meaning of a badge's colour. Icon or text have to show it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Kinds of containers, counts, rules.
    Neutral,
    /// A draft.
    Accent,
    /// Success.
    Ok,
    Warning,
    Error,
    /// Remote or read-only.
    Info,
}

impl Tone {
    pub fn colors(self, t: &ThemeTokens) -> ToneColors {
        let (text, fill, border) = match self {
            Tone::Neutral => (t.tx2, t.bg3, Color32::TRANSPARENT),
            Tone::Accent => (t.acc, t.accbg, t.accline),
            Tone::Ok => (t.ok, t.okbg, t.okline),
            Tone::Warning => (t.warn, t.warnbg, t.warnline),
            Tone::Error => (t.err, t.errbg, t.errline),
            Tone::Info => (t.info, t.infobg, t.infoline),
        };
        ToneColors { text, fill, border }
    }
}

/// Colours of a badge.
pub struct ToneColors {
    pub text: Color32,
    pub fill: Color32,
    pub border: Color32,
}

/// The width that [`badge`] takes.
pub fn badge_width(ui: &Ui, icon: Option<&str>, text: &str) -> f32 {
    let galley =
        paint::layout_unwrapped_line(ui.painter(), text, font::medium(11.0), Color32::WHITE);
    (galley.size().x + 12.0 + if icon.is_some() { 16.0 } else { 0.0 }).round()
}

/// A tinted badge, 18 points high.
pub fn badge(ui: &mut Ui, tone: Tone, icon: Option<&'static str>, text: &str) -> Response {
    let t = theme::tokens(ui);
    let ToneColors {
        text: color,
        fill,
        border,
    } = tone.colors(t);
    let width = badge_width(ui, icon, text);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 18.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    if ui.is_rect_visible(rect) {
        let painter = ui.painter();
        painter.rect(rect, 4, fill, Stroke::new(1.0, border), StrokeKind::Inside);
        let mut inner = rect.shrink2(vec2(6.0, 0.0));
        if let Some(icon) = icon {
            paint::draw_icon(
                painter,
                pos2(inner.left() + 6.0, rect.center().y),
                icon,
                12.0,
                color,
            );
            inner.min.x += 16.0;
        }
        paint::text_left(
            painter,
            inner.expand2(vec2(2.0, 0.0)).translate(vec2(2.0, 0.0)),
            text,
            font::medium(11.0),
            color,
        );
    }
    response
}

/// A number, 16 points high.
pub fn count_badge(ui: &mut Ui, number: u64, tone: Tone) -> Response {
    let text = paint::format_grouped_number(number);
    let t = theme::tokens(ui);
    let ToneColors {
        text: color,
        fill,
        border,
    } = tone.colors(t);
    let galley = paint::layout_unwrapped_line(ui.painter(), &text, font::medium(11.0), color);
    let (rect, response) = ui.allocate_exact_size(
        vec2((galley.size().x + 10.0).max(16.0).round(), 16.0),
        Sense::hover(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &text));
    if ui.is_rect_visible(rect) {
        ui.painter()
            .rect(rect, 4, fill, Stroke::new(1.0, border), StrokeKind::Inside);
        paint::text_center(ui.painter(), rect, &text, font::medium(11.0), color);
    }
    response
}

/// The width that [`key_cap`] takes.
pub fn key_cap_width(ui: &Ui, keys: &str) -> f32 {
    paint::measure_text_width(ui.painter(), keys, font::mono(11.0), Color32::WHITE).round() + 10.0
}

/// The keys of a shortcut in a frame.
pub fn key_cap(ui: &mut Ui, keys: &str) -> Response {
    let t = theme::tokens(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(key_cap_width(ui, keys), 17.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, keys));
    if ui.is_rect_visible(rect) {
        ui.painter().rect(
            rect,
            3,
            t.bg1,
            Stroke::new(1.0, t.line2),
            StrokeKind::Inside,
        );
        paint::text_center(ui.painter(), rect, keys, font::mono(11.0), t.tx3);
    }
    response
}

/// A chip with a cross. True when the cross was clicked.
pub fn closable_chip(ui: &mut Ui, text: &str) -> bool {
    let t = theme::tokens(ui);
    let galley = paint::layout_unwrapped_line(ui.painter(), text, font::mono(12.0), t.tx);
    let (rect, label) =
        ui.allocate_exact_size(vec2((galley.size().x + 28.0).round(), 20.0), Sense::hover());
    label.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    let cross = egui::Rect::from_min_max(pos2(rect.right() - 20.0, rect.top()), rect.max);
    let enabled = ui.is_enabled();
    let response = ui.interact(cross, label.id.with("remove"), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, tr!("Remove {text}", text)));
    if ui.is_rect_visible(rect) {
        ui.painter().rect_filled(rect, 4, t.bg3);
        paint::text_left(
            ui.painter(),
            rect.shrink2(vec2(6.0, 0.0)),
            text,
            font::mono(12.0),
            t.tx,
        );
        let color = if response.hovered() { t.tx } else { t.tx3 };
        paint::draw_icon(
            ui.painter(),
            cross.center() - vec2(1.0, 0.0),
            icons::X,
            12.0,
            color,
        );
        paint::focus_ring(ui, &response, 3);
    }
    response
        .on_hover_text(theme::rich_text(tr!("Remove {text}", text)))
        .clicked()
}
