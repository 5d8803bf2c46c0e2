//! The list of roots that differ, with what differs at each position.

use egui::{Rect, Role, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::sections::{find_outlier, rest_of, section_ui};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::structure::state::StructurePanel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Segment, VirtualRows, paint};
use crate::model::{Consistency, Outlier, RasterProperty};
use crate::studio::{Document, RowRef};

/// Height of a row of the list of roots.
const ROOT: f32 = 24.0;

pub(super) fn roots_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    consistency: &Consistency,
) {
    let t = theme::tokens(ui);
    let selected = panel.consistency.selected;
    let total = panel.consistency.listed.roots.len() as u64;
    let title = tr_n!(
        total,
        "{n} root that differs",
        "{n} roots that differ",
        n = paint::format_grouped_number(total)
    );
    let more = tr!(
        "of {total}",
        total = paint::format_grouped_number(consistency.roots as u64)
    );
    let mut only = panel.consistency.only_selected && selected.is_some();
    section_ui(ui, &title, &more, |ui| {
        let segments = [
            Segment::new(false, tr!("All")),
            Segment::new(true, tr!("Group")),
        ];
        ui.add_enabled_ui(selected.is_some(), |ui| {
            widgets::draw_segments(ui, "consistency-roots", &mut only, &segments)
        });
    });
    panel.consistency.only_selected = only;
    let area = rest_of(ui, 28.0);
    ui.painter().vline(
        area.right() - 0.5,
        ui.max_rect().y_range(),
        Stroke::new(1.0, t.line),
    );
    let ids = (area.width() * 0.3).clamp(80.0, 180.0);
    let columns = consistency.positions.len().min(12);
    let width = ((area.width() - ids - 18.0) / columns.max(1) as f32).max(40.0);
    let head = Rect::from_min_size(area.min, vec2(area.width(), 22.0));
    for (index, position) in consistency.positions.iter().enumerate().take(columns) {
        let cell = Rect::from_min_size(
            pos2(head.left() + ids + width * index as f32, head.top()),
            vec2(width, 22.0),
        );
        paint::text_left(
            ui.painter(),
            cell,
            position.title(),
            font::regular(11.0),
            t.tx3,
        );
    }
    let mut scroll = panel.consistency.roots_scroll;
    let mut picked = None;
    panel.consistency.update_root_rows();
    {
        let (listed, rows) = (&panel.consistency.listed, panel.consistency.root_rows());
        ui.scope_builder(
            UiBuilder::new().max_rect(Rect::from_min_max(head.left_bottom(), area.max)),
            |ui| {
                let list = VirtualRows::new(tr!("Roots that differ"), rows.len() as u64)
                    .row_height(ROOT)
                    .role(Role::Table);
                list.show(ui, &mut scroll, |ui, row, rect, response| {
                    let root = &listed.roots[rows[row as usize]];
                    let id = document
                        .id(RowRef {
                            level: 0,
                            row: root.root,
                        })
                        .unwrap_or_default();
                    let lit = root
                        .cells
                        .iter()
                        .any(|cell| Some((cell.0, cell.1)) == selected);
                    if lit {
                        ui.painter().rect_filled(rect, 0, t.sel);
                    }
                    paint::text_left(
                        ui.painter(),
                        Rect::from_min_size(rect.min + vec2(10.0, 0.0), vec2(ids - 14.0, ROOT)),
                        id,
                        font::mono(12.0),
                        t.tx,
                    );
                    for index in 0..columns {
                        let cell = Rect::from_min_size(
                            pos2(rect.left() + ids + width * index as f32, rect.top() + 3.0),
                            vec2(width - 4.0, ROOT - 6.0),
                        );
                        let mut here = root
                            .cells
                            .iter()
                            .filter(|(position, _, _)| *position == index);
                        let first = here
                            .clone()
                            .find(|(position, property, _)| {
                                Some((*position, *property)) == selected
                            })
                            .or_else(|| here.next());
                        match first.and_then(|&(position, property, at)| {
                            Some((property, find_outlier(consistency, position, property, at)?))
                        }) {
                            None => drop(ui.painter().rect_filled(cell, 3, t.bg3)),
                            Some((property, outlier)) => {
                                let chosen = selected == Some((index, property));
                                let line = if chosen {
                                    Stroke::new(2.0, t.accfill)
                                } else {
                                    Stroke::new(1.0, t.warnline)
                                };
                                ui.painter()
                                    .rect(cell, 3, t.warnbg, line, StrokeKind::Inside);
                                paint::text_center(
                                    ui.painter(),
                                    cell,
                                    &shorten_value(property, outlier),
                                    font::mono(11.0),
                                    t.warn,
                                );
                            }
                        }
                    }
                    let said: Vec<String> = root
                        .cells
                        .iter()
                        .filter_map(|&(position, property, at)| {
                            let outlier = find_outlier(consistency, position, property, at)?;
                            Some(format!(
                                "{} {}: {}",
                                consistency.positions[position].title(),
                                property.name(),
                                outlier.found
                            ))
                        })
                        .collect();
                    response.widget_info(|| {
                        WidgetInfo::selected(
                            Role::Row,
                            true,
                            lit,
                            format!("{id}: {}", said.join(", ")),
                        )
                    });
                    if response.clicked()
                        && let Some(&(position, property, at)) = root.cells.first()
                    {
                        picked = find_outlier(consistency, position, property, at).map(|outlier| {
                            (
                                RowRef {
                                    level: consistency.positions[position].level,
                                    row: outlier.row,
                                },
                                (position, property),
                            )
                        });
                    }
                    response
                        .clone()
                        .on_hover_text(theme::rich_text(said.join("\n")));
                });
            },
        );
    }
    panel.consistency.roots_scroll = scroll;
    if let Some((at, group)) = picked {
        panel.consistency.selected = Some(group);
        cx.request(Request::Select(Some(at)));
    }
}

/// Text of a cell of the matrix.
fn shorten_value(property: RasterProperty, outlier: &Outlier) -> String {
    let found = &*outlier.found;
    match property {
        RasterProperty::Bands => tr!("{found} bands", found),
        RasterProperty::Nodata => tr!("nodata {found}", found),
        RasterProperty::Overlap => tr!("{found} overlap", found),
        _ => found.to_owned(),
    }
}
