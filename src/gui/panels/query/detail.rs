//! One row of a query beside the table: every column with its whole value; structs are unfolded.

use egui::{Frame, Margin, Rect, Role, ScrollArea, Stroke, Ui, UiBuilder, WidgetInfo};

use crate::gui::icons;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{Button, paint};
use crate::query::QueryResult;
use crate::table::cell_lines;

/// Width of the detail in points.
const WIDTH: f32 = 300.0;
/// Least width that the table keeps.
const TABLE: f32 = 320.0;
/// Most lines of one column.
const LINES: usize = 200;

/// The width that the detail takes of an area; 0 without a row, or without room for both.
pub fn width(area: f32, chosen: bool) -> f32 {
    match chosen {
        true if area >= WIDTH + TABLE => WIDTH,
        // A narrow panel is shared.
        true => area / 2.0,
        false => 0.0,
    }
}

/// Draws the row into `rect`. True when it was closed.
pub fn ui(ui: &mut Ui, rect: Rect, result: &QueryResult, row: usize) -> bool {
    let t = theme::tokens(ui);
    ui.painter().rect_filled(rect, 0, t.bg1);
    ui.painter()
        .vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let mut closed = false;
    ui.scope_builder(
        UiBuilder::new().max_rect(rect).id_salt("query-detail"),
        |ui| {
            Frame::NONE
                .inner_margin(Margin {
                    left: 12,
                    right: 6,
                    top: 4,
                    bottom: 2,
                })
                .show(ui, |ui| {
                    ui.horizontal(|ui| {
                        let title = tr!(
                            "Row {row}",
                            row = paint::format_grouped_number(row as u64 + 1)
                        );
                        ui.label(
                            theme::rich_text(title)
                                .font(font::semibold(12.0))
                                .color(t.tx),
                        );
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            closed = ui
                                .add(Button::icon_only(icons::X, tr!("Close the row")))
                                .clicked();
                        });
                    });
                });
            ScrollArea::vertical()
                .id_salt("query-detail-lines")
                .auto_shrink(false)
                .show(ui, |ui| {
                    Frame::NONE
                        .inner_margin(Margin::symmetric(12, 4))
                        .show(ui, |ui| {
                            ui.spacing_mut().item_spacing.y = 2.0;
                            for (column, field) in result.table.schema().fields().iter().enumerate()
                            {
                                let Some((array, at)) = result.table.locate(row, column) else {
                                    continue;
                                };
                                for line in cell_lines(field.name(), array, at, LINES) {
                                    line_ui(ui, line.depth, &line.name, line.text.as_deref());
                                }
                            }
                        });
                });
        },
    );
    closed
}

fn line_ui(ui: &mut Ui, depth: usize, name: &str, text: Option<&str>) {
    let t = theme::tokens(ui);
    let shown = text.unwrap_or("null");
    let color = if text.is_some() { t.tx } else { t.tx3 };
    let drawn = ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        let indent = 10.0 * depth.min(8) as f32;
        ui.add_space(indent);
        let label = egui::Label::new(
            theme::rich_text(name)
                .text_style(text_style("small12"))
                .color(t.tx2),
        )
        .truncate();
        ui.scope(|ui| {
            ui.set_width(116.0 - indent.min(60.0));
            ui.add(label);
        });
        ui.add(
            egui::Label::new(theme::rich_text(shown).font(font::mono(11.5)).color(color)).wrap(),
        );
    });
    drawn
        .response
        .widget_info(|| WidgetInfo::labeled(Role::ListItem, true, format!("{name}: {shown}")));
}
