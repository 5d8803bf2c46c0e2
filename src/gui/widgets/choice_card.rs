//! A choice of one among a few, each a card with a name and a sentence.

use egui::accesskit::Role;
use egui::{Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

/// Texts of a choice card.
pub struct ChoiceCard<'a> {
    pub name: &'a str,
    /// Beside the name: an ending of file names or nothing.
    pub ending: &'a str,
    /// Effect of the choice.
    pub what: &'a str,
    /// Icon at the right.
    pub icon: &'a str,
}

/// Draws a card over the available width, with a radio button that is on when `chosen`. Returns
/// true when it is clicked.
pub fn choice_card(ui: &mut Ui, chosen: bool, card: &ChoiceCard<'_>) -> bool {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 48.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::RadioButton, enabled, chosen, card.name));
    let (fill, border) = if chosen {
        (t.accbg, t.accfill)
    } else {
        (t.bg1, t.line2)
    };
    let painter = ui.painter();
    painter.rect(rect, 4, fill, Stroke::new(1.0, border), StrokeKind::Inside);
    let dot = pos2(rect.left() + 18.0, rect.top() + 17.0);
    if chosen {
        painter.circle_filled(dot, 7.0, t.accfill);
        painter.circle_filled(dot, 3.0, t.onacc);
    } else {
        painter.circle(dot, 6.5, t.input, Stroke::new(1.0, t.ctl));
    }
    let inner = rect
        .with_min_x(rect.left() + 34.0)
        .with_max_x(rect.right() - 34.0)
        .shrink2(vec2(0.0, 6.0));
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let end = paint::text_left(painter, upper, card.name, font::medium(13.0), t.tx);
    paint::text_left(
        painter,
        upper.with_min_x(end + 8.0),
        card.ending,
        font::mono(11.0),
        t.tx2,
    );
    paint::text_left(painter, lower, card.what, font::regular(12.0), t.tx2);
    paint::draw_icon(
        painter,
        pos2(rect.right() - 18.0, rect.top() + 17.0),
        card.icon,
        17.0,
        t.tx2,
    );
    paint::focus_ring(ui, &response, 4);
    response.clicked()
}
