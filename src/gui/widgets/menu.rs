//! A menu entry: icon, text, shortcut or hint at the right; and the frame that keeps a long menu on
//! the screen.

use egui::{FontId, Rect, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

/// Draws an entry; `blocked` disables it and gives the reason.
pub fn menu_entry(
    ui: &mut Ui,
    icon: &str,
    text: &str,
    keys: &str,
    blocked: Option<&str>,
) -> Response {
    entry(ui, icon, text, (keys, font::mono(11.0)), blocked)
}

/// [`menu_entry`] with a short text instead of the shortcut.
pub fn menu_entry_with_hint(
    ui: &mut Ui,
    icon: &str,
    text: &str,
    hint: &str,
    blocked: Option<&str>,
) -> Response {
    entry(ui, icon, text, (hint, font::regular(11.0)), blocked)
}

/// Draws the entries of a menu, with a scroll bar where the window is too low for all of them.
pub fn menu_scroll<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let room = ui.ctx().content_rect().bottom() - ui.cursor().top() - 12.0;
    let height = room.max(160.0).min(ui.ctx().content_rect().height() - 16.0);
    ScrollArea::vertical()
        .id_salt("menu")
        .max_height(height)
        .min_scrolled_height(height)
        .show(ui, add)
        .inner
}

fn entry(
    ui: &mut Ui,
    icon: &str,
    text: &str,
    (keys, keys_font): (&str, FontId),
    blocked: Option<&str>,
) -> Response {
    let t = theme::tokens(ui);
    let width = |text: &str, font| paint::measure_text_width(ui.painter(), text, font, t.tx);
    let wanted = 26.0
        + width(text, font::regular(12.0))
        + if keys.is_empty() {
            12.0
        } else {
            36.0 + width(keys, keys_font.clone())
        };
    let sense = if blocked.is_none() {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, response) = ui.allocate_exact_size(
        vec2(
            wanted.max(ui.available_width().min(ui.spacing().menu_width)),
            24.0,
        ),
        sense,
    );
    let enabled = blocked.is_none() && ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::MenuItem, enabled, text));
    if enabled && (response.hovered() || response.has_focus()) {
        ui.painter().rect_filled(rect, 3, t.bg4);
    }
    let color = if enabled { t.tx } else { t.txd };
    let weak = if enabled { t.tx3 } else { t.txd };
    paint::draw_icon(
        ui.painter(),
        pos2(rect.left() + 13.0, rect.center().y),
        icon,
        14.0,
        weak,
    );
    let inner = Rect::from_min_max(
        pos2(rect.left() + 26.0, rect.top()),
        pos2(rect.right() - 8.0, rect.bottom()),
    );
    paint::text_left(ui.painter(), inner, text, font::regular(12.0), color);
    if !keys.is_empty() {
        paint::text_right(ui.painter(), inner, keys, keys_font, weak);
    }
    match blocked {
        Some(reason) => response.on_hover_text(theme::rich_text(reason)),
        None => response,
    }
}
