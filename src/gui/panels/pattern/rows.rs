//! The list of files that a pattern matches, nearly matches or misses, with their position or the
//! reason.

use egui::{Rect, Role, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::name_of;
use super::state::{ListedFiles, PatternPanel};
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{VirtualRows, paint};
use crate::studio::Document;

/// Draws the list.
pub fn ui(ui: &mut Ui, panel: &mut PatternPanel, document: &Document) {
    let t = theme::tokens(ui);
    let Some((_, alternative)) = panel.chosen_alternative() else {
        return;
    };
    let rows = match panel.listed {
        ListedFiles::Matched => alternative.placed.len(),
        ListedFiles::NearlyMatched => alternative.nearly.len(),
        ListedFiles::LeftOver => alternative.left_over.len(),
    };
    let mut scroll = panel.scroll;
    let area = ui.max_rect();
    ui.painter()
        .hline(area.x_range(), area.top() + 0.5, Stroke::new(1.0, t.line));
    VirtualRows::new(tr!("Files by pattern"), rows as u64).show(
        ui,
        &mut scroll,
        |ui, row, rect, response| {
            let row = row as usize;
            let (file, icon, ink, said) = match panel.listed {
                ListedFiles::Matched => {
                    let Some(placement) = alternative.placed.get(row) else {
                        return;
                    };
                    let mut place = placement.root.to_string();
                    for id in &placement.position {
                        place.push_str(" / ");
                        place.push_str(id);
                    }
                    (placement.file, icons::CHECK, t.ok, place)
                }
                ListedFiles::NearlyMatched => {
                    let Some(nearly) = alternative.nearly.get(row) else {
                        return;
                    };
                    (nearly.file, icons::WARNING, t.warn, nearly.why.clone())
                }
                ListedFiles::LeftOver => {
                    let Some(&file) = alternative.left_over.get(row) else {
                        return;
                    };
                    (
                        file,
                        icons::CIRCLE_DASHED,
                        t.tx3,
                        tr!("stays in the tray").to_owned(),
                    )
                }
            };
            let name = name_of(document, file);
            response.widget_info(|| {
                WidgetInfo::labeled(Role::ListItem, true, format!("{name}: {said}"))
            });
            let painter = ui.painter();
            paint::row_background(painter, t, rect, false, response.hovered());
            painter.hline(
                rect.x_range(),
                rect.bottom() - 0.5,
                Stroke::new(1.0, t.line),
            );
            paint::draw_icon(
                painter,
                pos2(rect.left() + 20.0, rect.center().y),
                icon,
                13.0,
                ink,
            );
            let inner = Rect::from_min_max(
                pos2(rect.left() + 34.0, rect.top()),
                pos2(rect.right() - 12.0, rect.bottom()),
            );
            let (left, right) = inner.split_left_right_at_fraction(0.55);
            paint::text_left(
                painter,
                left.shrink2(vec2(4.0, 0.0)),
                &name,
                font::mono(12.0),
                t.tx,
            );
            let size = if panel.listed == ListedFiles::Matched {
                font::mono(12.0)
            } else {
                font::regular(12.0)
            };
            paint::text_left(painter, right, &said, size, t.tx2);
        },
    );
    panel.scroll = scroll;
}
