//! The strip at the left: how many roots differ, from the first to the last.

use egui::{Rect, Role, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::state::BINS;
use crate::gui::panels::structure::state::StructurePanel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::gui::{counted_texts, icons};
use crate::model::Consistency;

pub(super) fn strip_ui(ui: &mut Ui, panel: &StructurePanel, consistency: &Consistency) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    let painter = ui.painter_at(area);
    painter.vline(area.right() - 0.5, area.y_range(), Stroke::new(1.0, t.line));
    let head = Rect::from_min_size(area.min + vec2(10.0, 6.0), vec2(area.width() - 20.0, 18.0));
    let roots = consistency.roots as u64;
    paint::text_left(
        &painter,
        head,
        &counted_texts::format_roots(roots),
        font::regular(12.0),
        t.tx2,
    );
    let listed = &panel.consistency.listed;
    let below = 104.0;
    let room = Rect::from_min_max(
        pos2(area.left() + 14.0, head.bottom() + 6.0),
        pos2(area.right() - 18.0, area.bottom() - below - 20.0),
    );
    if room.height() > 40.0 && !listed.bins.is_empty() {
        let width = room.width() / listed.bins.len() as f32;
        // With thousands of positions, each would be thinner than a point.
        for (index, bins) in listed.bins.iter().enumerate().take(400) {
            let left = room.left() + width * index as f32;
            let column = Rect::from_min_max(
                pos2(left, room.top()),
                pos2(left + (width - 3.0).max(1.0), room.bottom()),
            );
            painter.rect_filled(column, 0, t.bg4);
            let height = (room.height() / BINS as f32).max(3.0);
            for (bin, _) in bins.iter().enumerate().filter(|(_, odd)| **odd) {
                let top = room.top() + room.height() * bin as f32 / BINS as f32;
                painter.rect_filled(
                    Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), height))
                        .intersect(room),
                    0,
                    t.warn,
                );
            }
            if width > 28.0 {
                let label =
                    Rect::from_min_size(pos2(left, room.bottom() + 2.0), vec2(width - 3.0, 16.0));
                paint::text_left(
                    &painter,
                    label,
                    consistency.positions[index].title(),
                    font::regular(11.0),
                    t.tx3,
                );
            }
        }
    }
    let differ = listed.roots.len() as u64;
    let accepted: usize = listed.accepted.iter().map(|(_, count)| count).sum();
    let agree = roots.saturating_sub(differ);
    let place = Rect::from_min_max(
        pos2(area.left() + 10.0, area.bottom() - below),
        area.max - vec2(12.0, 6.0),
    );
    ui.scope_builder(UiBuilder::new().max_rect(place).id_salt("counts"), |ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        for (icon, text, count) in [
            (None, tr!("Consistent"), agree),
            (Some((icons::WARNING, t.warn)), tr!("Differ"), differ),
            (
                Some((icons::CHECK, t.tx3)),
                tr!("Accepted as is"),
                accepted as u64,
            ),
        ] {
            let (row, response) = ui.allocate_exact_size(vec2(place.width(), 16.0), Sense::hover());
            let count = paint::format_grouped_number(count);
            response
                .widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("{text}: {count}")));
            let mut words = row;
            words.max.x =
                paint::text_right(ui.painter(), row, &count, font::mono(12.0), t.tx) - 4.0;
            if let Some((icon, color)) = icon {
                paint::draw_icon(
                    ui.painter(),
                    pos2(row.left() + 6.0, row.center().y),
                    icon,
                    12.0,
                    color,
                );
                words.min.x += 16.0;
            }
            paint::text_left(ui.painter(), words, text, font::regular(12.0), t.tx2);
        }
        let part = if roots == 0 {
            1.0
        } else {
            agree as f64 / roots as f64
        };
        widgets::progress_bar(ui, tr!("Roots that agree"), part as f32, place.width(), 6.0);
        let percent = if differ > 0 {
            (part * 1000.0).floor() / 10.0
        } else {
            100.0
        };
        let text = tr!(
            "{percent} % of roots agree",
            percent = format!("{percent:.1}")
        );
        ui.label(
            theme::rich_text(text)
                .font(font::regular(12.0))
                .color(t.tx2),
        );
    });
}
