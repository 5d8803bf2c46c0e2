//! The table of agreement: a row for each position, a column for each property.

use egui::{Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::structure::state::StructurePanel;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{VirtualRows, paint};
use crate::model::{Consistency, Position, PropertyAgreement, RasterProperty};
use crate::studio::Command;

/// Width of the column of positions in points.
const POSITIONS: f32 = 124.0;
/// Minimum width of the column of a property in points.
const PROPERTY: f32 = 124.0;
/// Height of the head of the table in points.
pub(super) const HEAD: f32 = 32.0;
/// Height of a row of the table in points.
pub(super) const ROW: f32 = 42.0;

pub(super) fn table_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    consistency: &Consistency,
) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    let width = ((area.width() - POSITIONS) / 8.0).max(PROPERTY);
    egui::ScrollArea::horizontal()
        .id_salt("properties")
        .show(ui, |ui| {
            ui.set_min_size(vec2(POSITIONS + width * 8.0, area.height()));
            let left = ui.max_rect().left();
            let top = ui.max_rect().top();
            let painter = ui.painter().clone();
            let full = Rect::from_min_size(pos2(left, top), vec2(POSITIONS + width * 8.0, HEAD));
            painter.rect_filled(full, 0, t.bg2);
            paint::text_left(
                &painter,
                Rect::from_min_size(full.min, vec2(POSITIONS, HEAD)).shrink2(vec2(10.0, 0.0)),
                tr!("Position"),
                font::medium(12.0),
                t.tx,
            );
            let settings = cx.studio.consistency_settings().clone();
            for (index, property) in RasterProperty::ALL.into_iter().enumerate() {
                let rect = Rect::from_min_size(
                    pos2(left + POSITIONS + width * index as f32, top),
                    vec2(width, HEAD),
                );
                let off = settings.without.contains(&property);
                let response = ui.interact(
                    rect,
                    ui.scope_id().with(("property", index)),
                    Sense::click(),
                );
                let name = property.name();
                response.widget_info(|| {
                    WidgetInfo::selected(Role::CheckBox, true, !off, tr!("Compare: {name}", name))
                });
                paint::text_left(
                    &painter,
                    rect.shrink2(vec2(10.0, 0.0)),
                    name,
                    font::medium(12.0),
                    if off { t.txd } else { t.tx },
                );
                paint::focus_ring(ui, &response, 2);
                if response.clicked() {
                    let mut settings = settings.clone();
                    if off {
                        settings.without.retain(|known| *known != property)
                    } else {
                        settings.without.push(property)
                    }
                    cx.run(Command::SetConsistency { settings });
                }
                let rule = property.rule();
                let tip = if off {
                    tr!("Not compared. Click to compare it")
                } else {
                    tr!("Click to leave it out")
                };
                response.on_hover_text(theme::rich_text(format!(
                    "{} ({rule}). {tip}.",
                    crate::text::translate_text(rule.what())
                )));
            }
            painter.hline(
                full.x_range(),
                full.bottom() - 0.5,
                Stroke::new(1.0, t.line),
            );
            let body =
                Rect::from_min_max(pos2(left, full.bottom()), pos2(full.right(), area.bottom()));
            let mut scroll = panel.consistency.table_scroll;
            let mut picked = None;
            ui.scope_builder(UiBuilder::new().max_rect(body), |ui| {
                let list = VirtualRows::new(tr!("Positions"), consistency.positions.len() as u64)
                    .row_height(ROW)
                    .sense(Sense::hover())
                    .role(Role::Table);
                list.show(ui, &mut scroll, |ui, row, rect, _| {
                    let position = &consistency.positions[row as usize];
                    let name = Rect::from_min_size(rect.min, vec2(POSITIONS, ROW))
                        .shrink2(vec2(10.0, 4.0));
                    paint::draw_icon(
                        ui.painter(),
                        pos2(name.left() + 6.0, name.center().y),
                        icons::IMAGE,
                        14.0,
                        t.tx3,
                    );
                    let (upper, lower) = name
                        .with_min_x(name.left() + 20.0)
                        .split_top_bottom_at_fraction(0.5);
                    paint::text_left(
                        ui.painter(),
                        upper,
                        position.title(),
                        font::mono_semibold(12.0),
                        t.tx,
                    );
                    let place = position
                        .place
                        .iter()
                        .map(u32::to_string)
                        .collect::<Vec<_>>()
                        .join(".");
                    let place = if place.is_empty() {
                        tr!("level 0").to_owned()
                    } else {
                        tr!("position {place}", place)
                    };
                    paint::text_left(ui.painter(), lower, &place, font::mono(11.0), t.tx3);
                    for (index, property) in RasterProperty::ALL.into_iter().enumerate() {
                        let cell = Rect::from_min_size(
                            pos2(rect.left() + POSITIONS + width * index as f32, rect.top()),
                            vec2(width, ROW),
                        );
                        let chosen = panel.consistency.selected == Some((row as usize, property));
                        let off = settings.without.contains(&property);
                        if cell_ui(ui, t, cell, (row, position, property), off, chosen) {
                            picked = Some((row as usize, property));
                        }
                    }
                    ui.painter().hline(
                        rect.x_range(),
                        rect.bottom() - 0.5,
                        Stroke::new(1.0, t.line),
                    );
                });
            });
            panel.consistency.table_scroll = scroll;
            if let Some(picked) = picked {
                select_group(panel, Some(picked));
            }
        });
}

/// Highlights a group everywhere in the view.
pub(super) fn select_group(panel: &mut StructurePanel, chosen: Option<(usize, RasterProperty)>) {
    let state = &mut panel.consistency;
    state.selected = chosen;
    let Some(chosen) = chosen else {
        state.only_selected = false;
        return;
    };
    state.set_open(chosen, true);
    let groups = &state.listed.groups;
    let group = groups
        .iter()
        .position(|group| (group.position, group.property) == chosen);
    state.update_lines();
    let line = group.and_then(|group| state.lines().row_of_group(group));
    if let Some(line) = line {
        state.groups_scroll.go_to(line as u64);
    }
    let root = state
        .listed
        .roots
        .iter()
        .position(|root| root.cells.iter().any(|cell| (cell.0, cell.1) == chosen));
    if let Some(root) = root {
        state.roots_scroll.reveal(root as u64);
    }
}

/// Text of a cell without compared rasters.
fn nothing_said(position: &Position, property: RasterProperty) -> &'static str {
    match property {
        RasterProperty::Overlap if position.agreement(RasterProperty::DataType).compared > 0 => {
            tr!("the reference, or no georeference")
        }
        RasterProperty::TimeOrder => tr!("first, or no times"),
        _ => tr!("nothing to compare"),
    }
}

/// Draws a cell; true when it is clicked and has outliers.
fn cell_ui(
    ui: &mut Ui,
    t: &ThemeTokens,
    rect: Rect,
    (row, position, property): (u64, &Position, RasterProperty),
    off: bool,
    chosen: bool,
) -> bool {
    let agreement = position.agreement(property);
    let differ = agreement.outliers.len();
    let painter = ui.painter().clone();
    painter.vline(rect.right() - 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    if differ > 0 {
        let (fill, line) = if chosen {
            (t.sel, Stroke::new(2.0, t.accfill))
        } else {
            (t.warnbg, Stroke::new(1.0, t.warnline))
        };
        painter.rect(rect.shrink(0.5), 0, fill, line, StrokeKind::Inside);
    }
    let inner = rect.shrink2(vec2(10.0, 4.0));
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let said = cell_text(agreement);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("cell", row, property)),
        if differ > 0 {
            Sense::click()
        } else {
            Sense::hover()
        },
    );
    let name = format!("{} {}: {said}", position.title(), property.name());
    if off || agreement.compared == 0 {
        let text = if off {
            tr!("not compared")
        } else {
            nothing_said(position, property)
        };
        response.widget_info(|| {
            WidgetInfo::labeled(
                Role::Cell,
                true,
                format!("{} {}: {text}", position.title(), property.name()),
            )
        });
        paint::text_left(&painter, inner, text, font::regular(12.0), t.tx3);
        return false;
    }
    response.widget_info(|| {
        WidgetInfo::labeled(
            if differ > 0 { Role::Button } else { Role::Cell },
            true,
            &name,
        )
    });
    let common = if agreement.common.is_empty() {
        tr!("varies")
    } else {
        &agreement.common
    };
    paint::text_left(&painter, upper, common, font::mono(12.0), t.tx);
    let kinds = agreement.distinct_values;
    let (icon, color, text) = if agreement.has_no_majority() {
        (icons::INFO, t.info, tr!("{kinds} kinds", kinds))
    } else if differ > 0 {
        (
            icons::WARNING,
            t.warn,
            tr_n!(
                differ,
                "{n} differs",
                "{n} differ",
                n = paint::format_grouped_number(differ as u64)
            ),
        )
    } else {
        (icons::CHECK, t.ok, "100 %".to_owned())
    };
    let mut left = lower.left();
    if differ > 0 {
        left = paint::text_left(
            &painter,
            lower,
            &percent(agreement),
            font::mono(11.0),
            t.tx3,
        ) + 5.0;
    }
    paint::draw_icon(
        &painter,
        pos2(left + 6.0, lower.center().y),
        icon,
        12.0,
        color,
    );
    let text_color = if differ > 0 { t.warn } else { t.tx3 };
    paint::text_left(
        &painter,
        lower.with_min_x(left + 16.0),
        &text,
        font::regular(11.0),
        text_color,
    );
    paint::focus_ring(ui, &response, 0);
    let clicked = response.clicked();
    response.on_hover_text(theme::rich_text(name));
    clicked
}

/// Share of agreeing rasters in percent, rounded down.
fn percent(agreement: &PropertyAgreement) -> String {
    let share = agreement.agreeing as f64 / agreement.compared.max(1) as f64 * 100.0;
    format!(
        "{:.1} %",
        if agreement.agreeing < agreement.compared {
            (share * 10.0).floor() / 10.0
        } else {
            100.0
        }
    )
}

fn cell_text(agreement: &PropertyAgreement) -> String {
    let (common, differ, kinds) = (
        agreement.common.as_str(),
        agreement.outliers.len(),
        agreement.distinct_values,
    );
    if agreement.has_no_majority() {
        tr!("varies, {kinds} kinds", kinds)
    } else if differ > 0 {
        tr!(
            "{common}, {differ} of {total} differ",
            common,
            differ,
            total = agreement.compared
        )
    } else {
        common.to_owned()
    }
}
