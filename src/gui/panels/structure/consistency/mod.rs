//! The view "Consistency" of the structure panel: positions × properties with the common value and
//! its share, the roots that differ, and a row for each group of outliers with its actions.

mod rename;
pub mod state;

use std::sync::Arc;

use egui::{
    Align, Frame, Layout, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo,
    pos2, vec2,
};

use super::state::{StructurePanel, StructureView};
use crate::draft::{Care, Edit, FixPlan, FixVerb};
use crate::gui::draft_structure::StructureSummary;
use crate::gui::icons;
use crate::gui::pane::Pane;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, Button, EmptyState, Segment, VirtualRows, paint};
use crate::model::{
    Accepted, Consistency, NodePath, Outlier, Position, Property, PropertyAgreement,
};
use crate::studio::{Command, ConsistencySettings, Document, JobTopic, RowRef};
use state::{BINS, ConsistencyLists, OutlierLine};

/// Width of the strip, width of the column of positions, and minimum width of a property, in
/// points.
const STRIP: f32 = 148.0;
const POSITIONS: f32 = 124.0;
const PROPERTY: f32 = 124.0;
const HEAD: f32 = 32.0;
const ROW: f32 = 42.0;
/// Height of a row of the list of groups, and of the roots.
const GROUP: f32 = 42.0;
const ROOT: f32 = 24.0;
/// Selectable tolerances, in thousandths of a pixel.
const TOLERANCES: [f64; 4] = [0.0, 0.1, 1.0, 10.0];
/// Maximum number of changes in the preview of an edit.
const LISTED: usize = 500;

/// The choice between the views, for the toolbars of both.
pub fn view_ui(ui: &mut Ui, panel: &mut StructurePanel, cx: &mut PanelContext<'_>) {
    let differ = cx
        .studio
        .report()
        .consistency
        .as_ref()
        .map(|_| panel.consistency.listed.roots.len() as u64);
    let mut second = Segment::new(StructureView::Consistency, tr!("Consistency"));
    if let Some(count) = differ {
        second = second.count(count);
    }
    widgets::draw_segments(
        ui,
        "structure-view",
        &mut panel.view,
        &[Segment::new(StructureView::Shape, tr!("Shape")), second],
    );
}

/// Width of [`view_ui`].
pub fn view_width(ui: &Ui) -> f32 {
    let segments = [
        Segment::new(StructureView::Shape, tr!("Shape")),
        Segment::new(StructureView::Consistency, tr!("Consistency")).count(10_000),
    ];
    widgets::segmented_width(ui, &segments) + 12.0
}

/// Updates the lists of the newest comparison. Every view of them calls this.
pub fn refresh(panel: &mut StructurePanel, cx: &mut PanelContext<'_>) {
    let report = cx.studio.report().clone();
    let state = &mut panel.consistency;
    match &report.consistency {
        Some(newest)
            if !state
                .listed
                .of
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, newest)) =>
        {
            state.listed = ConsistencyLists::new(newest);
            let groups = &state.listed.groups;
            state.selected = state.selected.filter(|(position, property)| {
                groups
                    .iter()
                    .any(|g| g.position == *position && g.property == *property)
            });
        }
        None if state.listed.of.is_some() => state.listed = ConsistencyLists::default(),
        _ => {}
    }
}

/// Draws the view.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    lens: &StructureSummary,
) {
    refresh(panel, cx);
    toolbar_ui(ui, panel, cx, document);
    let Some(consistency) = cx.studio.report().consistency.clone() else {
        return not_read_ui(ui, cx);
    };
    let area = ui.available_rect_before_wrap();
    let rename = if document.draft().is_some() && panel.consistency.rename.open {
        rename::HEIGHT
    } else {
        0.0
    };
    let (area, foot) = area.split_top_bottom_at_y(area.bottom() - rename);
    let strip = if area.width() > 760.0 { STRIP } else { 0.0 };
    let (left, right) = area.split_left_right_at_x(area.left() + strip);
    if strip > 0.0 {
        ui.scope_builder(
            UiBuilder::new().max_rect(left).id_salt("consistency-strip"),
            |ui| strip_ui(ui, panel, &consistency),
        );
    }
    let rows = consistency.positions.len() as f32;
    let table = (HEAD + ROW * rows).min((right.height() * 0.45).max(HEAD + ROW));
    let (top, below) = right.split_top_bottom_at_y(right.top() + table);
    ui.scope_builder(
        UiBuilder::new().max_rect(top).id_salt("consistency-table"),
        |ui| table_ui(ui, panel, cx, &consistency),
    );
    let roots = if below.width() > 700.0 {
        below.width() * 0.4
    } else {
        0.0
    };
    let (matrix, groups) = below.split_left_right_at_x(below.left() + roots);
    if roots > 0.0 {
        ui.scope_builder(
            UiBuilder::new()
                .max_rect(matrix)
                .id_salt("consistency-roots"),
            |ui| roots_ui(ui, panel, cx, document, &consistency),
        );
    }
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(groups)
            .id_salt("consistency-groups"),
        |ui| groups_ui(ui, panel, cx, document, &consistency),
    );
    if rename > 0.0 {
        ui.scope_builder(
            UiBuilder::new()
                .max_rect(foot)
                .id_salt("consistency-rename"),
            |ui| rename::ui(ui, panel, cx, document, lens),
        );
    }
}

/// The running comparison: headers read, and their total.
fn progress(cx: &PanelContext<'_>) -> Option<(u64, Option<u64>)> {
    let jobs = cx.studio.jobs();
    let job = jobs
        .iter()
        .find(|job| job.topic == Some(JobTopic::Consistency))?;
    Some((job.progress.done, job.progress.total))
}

fn not_read_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    if let Some((done, total)) = progress(cx) {
        let total = total.map_or_else(String::new, paint::format_grouped_number);
        let why = tr!(
            "{done} of {total} headers are read.",
            done = paint::format_grouped_number(done),
            total
        );
        let state = EmptyState {
            icon: icons::ARROW_CLOCKWISE,
            title: tr!("Reading headers"),
            why: &why,
            actions: &[],
        };
        let _ = widgets::empty_state(ui, &state);
        return;
    }
    let state = EmptyState {
        icon: icons::ARROWS_LEFT_RIGHT,
        title: tr!("Compare the rasters at each position"),
        why: tr!(
            "Reads the header of every raster, no pixels, and lists those that differ in data \
                type, bands, size, CRS, pixel size, nodata, overlap or order in time."
        ),
        actions: &[tr!("Compare headers")],
    };
    if widgets::empty_state(ui, &state).is_some() {
        cx.run(Command::CheckConsistency { again: false });
    }
}

fn toolbar_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let consistency = cx.studio.report().consistency.clone();
    Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal_wrapped(|ui| {
                view_ui(ui, panel, cx);
                ui.label(
                    theme::rich_text(tr!("Tolerance"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                tolerance_ui(ui, cx);
                let running = progress(cx);
                let status = match (&running, &consistency) {
                    (Some((done, _)), _) => {
                        tr!(
                            "{done} headers read",
                            done = paint::format_grouped_number(*done)
                        )
                    }
                    (None, Some(known)) if known.unread > 0 => {
                        let (read, unread) = (
                            paint::format_grouped_number(known.headers as u64),
                            paint::format_grouped_number(known.unread as u64),
                        );
                        tr!("{read} headers read, {unread} not read", read, unread)
                    }
                    (None, Some(known)) => tr!(
                        "{read} headers read, no pixels",
                        read = paint::format_grouped_number(known.headers as u64)
                    ),
                    (None, None) => String::new(),
                };
                // The buttons at the right keep their position; in a narrow panel they show only
                // their icons.
                let texts = [tr!("Rename by pattern…"), tr!("Check again")];
                let whole = texts
                    .map(|text| Button::width_of(ui, text) + 19.0 + ui.spacing().item_spacing.x)
                    .iter()
                    .sum::<f32>();
                let room = ui.available_size_before_wrap().x;
                let fits = room >= whole;
                if room >= whole + Button::width_of(ui, &status) {
                    ui.label(
                        theme::rich_text(status)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if document.draft().is_some() {
                        let open = panel.consistency.rename.open;
                        let button = make_toolbar_button(
                            fits,
                            texts[0],
                            icons::PENCIL_SIMPLE,
                            Button::ghost,
                        )
                        .with_selected_state(open);
                        if ui
                            .add(
                                button.tooltip(tr!(
                                    "Rename the samples at one position in all roots"
                                )),
                            )
                            .clicked()
                        {
                            panel.consistency.rename.open = !open;
                        }
                    }
                    if consistency.is_some() {
                        let blocked = running.is_some().then_some(tr!("Headers are being read"));
                        let button = make_toolbar_button(
                            fits,
                            texts[1],
                            icons::ARROW_CLOCKWISE,
                            Button::secondary,
                        )
                        .with_disabled_reason(blocked);
                        if ui
                            .add(button.tooltip(tr!("Read all headers again")))
                            .clicked()
                        {
                            cx.run(Command::CheckConsistency { again: true });
                        }
                    }
                });
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

/// A button that shows only its icon in a narrow panel.
fn make_toolbar_button(
    fits: bool,
    text: &'static str,
    icon: &'static str,
    look: fn(&'static str) -> Button<'static>,
) -> Button<'static> {
    if fits {
        look(text).icon(icon)
    } else {
        Button::icon_only(icon, text)
    }
}

fn tolerance_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let settings = cx.studio.consistency_settings().clone();
    let options = TOLERANCES.map(describe_tolerance);
    let current = describe_tolerance(settings.tolerance.unwrap_or(1.0));
    if let Some(index) = widgets::combo(ui, tr!("Tolerance"), &current, 130.0, false, &options) {
        cx.run(Command::SetConsistency {
            settings: ConsistencySettings {
                tolerance: Some(TOLERANCES[index]),
                ..settings
            },
        });
    }
}

fn describe_tolerance(thousandths: f64) -> String {
    match thousandths {
        0.0 => tr!("Exact").to_owned(),
        value => tr!("{percent} % of a pixel", percent = value / 10.0),
    }
}

fn strip_ui(ui: &mut Ui, panel: &StructurePanel, consistency: &Consistency) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    let painter = ui.painter_at(area);
    painter.vline(area.right() - 0.5, area.y_range(), Stroke::new(1.0, t.line));
    let head = Rect::from_min_size(area.min + vec2(10.0, 6.0), vec2(area.width() - 20.0, 18.0));
    let roots = consistency.roots as u64;
    paint::text_left(
        &painter,
        head,
        &tr_n!(
            roots,
            "{n} root",
            "{n} roots",
            n = paint::format_grouped_number(roots)
        ),
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
                paint::icon(
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

fn table_ui(
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
            for (index, property) in Property::ALL.into_iter().enumerate() {
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
                    paint::icon(
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
                    for (index, property) in Property::ALL.into_iter().enumerate() {
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
                select(panel, Some(picked));
            }
        });
}

/// Highlights a group everywhere in the view.
fn select(panel: &mut StructurePanel, chosen: Option<(usize, Property)>) {
    let state = &mut panel.consistency;
    state.selected = chosen;
    let Some(chosen) = chosen else {
        state.only_selected = false;
        return;
    };
    state.open.insert(chosen);
    let lines = state.listed.lines(&state.open);
    let groups = &state.listed.groups;
    let group = groups
        .iter()
        .position(|group| (group.position, group.property) == chosen);
    let line = group.and_then(|group| {
        lines
            .iter()
            .position(|line| *line == OutlierLine::Group(group))
    });
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
fn nothing_said(position: &Position, property: Property) -> &'static str {
    match property {
        Property::Overlap if position.agreement(Property::DataType).compared > 0 => {
            tr!("the reference, or no georeference")
        }
        Property::TimeOrder => tr!("first, or no times"),
        _ => tr!("nothing to compare"),
    }
}

/// Draws a cell; true when it is clicked and has outliers.
fn cell_ui(
    ui: &mut Ui,
    t: &ThemeTokens,
    rect: Rect,
    (row, position, property): (u64, &Position, Property),
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
    let kinds = agreement.kinds;
    let (icon, color, text) = if agreement.varies() {
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
    paint::icon(
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
        agreement.kinds,
    );
    if agreement.varies() {
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

fn section_ui(ui: &mut Ui, title: &str, more: &str, right: impl FnOnce(&mut Ui)) {
    let t = theme::tokens(ui);
    let rect = Rect::from_min_size(ui.max_rect().min, vec2(ui.max_rect().width(), 28.0));
    ui.painter().rect_filled(rect, 0, t.bg1);
    ui.scope_builder(
        UiBuilder::new().max_rect(rect.shrink2(vec2(10.0, 2.0))),
        |ui| {
            ui.horizontal_centered(|ui| {
                ui.label(theme::rich_text(title).font(font::medium(12.0)).color(t.tx));
                ui.label(
                    theme::rich_text(more)
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
                ui.with_layout(Layout::right_to_left(Align::Center), right);
            });
        },
    );
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn rest_of(ui: &Ui, used: f32) -> Rect {
    let area = ui.max_rect();
    Rect::from_min_max(
        pos2(area.left(), (area.top() + used).min(area.bottom())),
        area.max,
    )
}

fn roots_ui(
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
    {
        let listed = &panel.consistency.listed;
        let rows: Vec<usize> = (0..listed.roots.len())
            .filter(|&root| {
                !only
                    || listed.roots[root]
                        .cells
                        .iter()
                        .any(|cell| Some((cell.0, cell.1)) == selected)
            })
            .collect();
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
                            Some((property, outlier(consistency, position, property, at)?))
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
                                    &short(property, outlier),
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
                            let outlier = outlier(consistency, position, property, at)?;
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
                        picked = outlier(consistency, position, property, at).map(|outlier| {
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

fn outlier(
    consistency: &Consistency,
    position: usize,
    property: Property,
    at: usize,
) -> Option<&Outlier> {
    consistency
        .positions
        .get(position)?
        .agreement(property)
        .outliers
        .get(at)
}

/// Text of a cell of the matrix.
fn short(property: Property, outlier: &Outlier) -> String {
    let found = &*outlier.found;
    match property {
        Property::Bands => tr!("{found} bands", found),
        Property::Nodata => tr!("nodata {found}", found),
        Property::Overlap => tr!("{found} overlap", found),
        _ => found.to_owned(),
    }
}

/// Action of a click in the list of groups.
enum Wish {
    Show(usize, Property),
    Toggle(usize, Property),
    Accept(usize, Property),
    TakeBack(usize),
    Drop(usize, Property),
    Go(RowRef, bool),
}

fn groups_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    consistency: &Consistency,
) {
    let t = theme::tokens(ui);
    let count = panel.consistency.listed.groups.len();
    section_ui(
        ui,
        &tr_n!(count, "{n} group", "{n} groups", n = count),
        tr!("the format allows these; models seldom do"),
        |_| {},
    );
    if count == 0 && panel.consistency.listed.accepted.is_empty() {
        let area = rest_of(ui, 28.0);
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            let why = tr!("Every raster agrees with most others at its position.");
            let state = EmptyState {
                icon: icons::CHECK_CIRCLE,
                title: tr!("All roots agree"),
                why,
                actions: &[],
            };
            let _ = widgets::empty_state(ui, &state);
        });
        return;
    }
    let area = rest_of(ui, 28.0);
    let mut scroll = panel.consistency.groups_scroll;
    let mut wish = None;
    {
        let state = &panel.consistency;
        let lines = state.listed.lines(&state.open);
        let draft = document.draft().is_some();
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            let list = VirtualRows::new(tr!("Groups"), lines.len() as u64).row_height(GROUP);
            list.show(ui, &mut scroll, |ui, row, rect, response| {
                ui.painter().hline(
                    rect.x_range(),
                    rect.bottom() - 0.5,
                    Stroke::new(1.0, t.line),
                );
                match lines[row as usize] {
                    OutlierLine::Group(index) => {
                        let group = &state.listed.groups[index];
                        let key = (group.position, group.property);
                        if state.selected == Some(key) {
                            ui.painter().rect_filled(
                                rect.with_max_y(rect.bottom() - 1.0),
                                0,
                                t.sel,
                            );
                            ui.painter().vline(
                                rect.left() + 1.0,
                                rect.y_range(),
                                Stroke::new(2.0, t.accfill),
                            );
                        }
                        let title = tr!(
                            "{property} of {position}",
                            property = group.property.name(),
                            position = consistency.positions[key.0].title()
                        );
                        let text = group_text(group, consistency);
                        let name = format!("{title}, {}: {text}", group.count);
                        response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &name));
                        let caret = if state.open.contains(&key) {
                            icons::CARET_DOWN
                        } else {
                            icons::CARET_RIGHT
                        };
                        paint::icon(
                            ui.painter(),
                            pos2(rect.left() + 16.0, rect.center().y),
                            caret,
                            12.0,
                            t.tx3,
                        );
                        paint::icon(
                            ui.painter(),
                            pos2(rect.left() + 36.0, rect.center().y),
                            icons::WARNING,
                            15.0,
                            t.warn,
                        );
                        let buttons = Rect::from_min_max(
                            pos2(rect.left() + rect.width() * 0.35, rect.top() + 8.0),
                            rect.max - vec2(8.0, 8.0),
                        );
                        let shown = only_count(group.count);
                        let left = ui
                            .scope_builder(
                                UiBuilder::new()
                                    .max_rect(buttons)
                                    .layout(Layout::right_to_left(Align::Center)),
                                |ui| {
                                    ui.spacing_mut().item_spacing.x = 6.0;
                                    if draft {
                                        let button = Button::danger_ghost(tr_n!(
                                            group.count,
                                            "Drop {n} root…",
                                            "Drop {n} roots…",
                                            n = &shown
                                        ));
                                        if ui
                                            .add(button.name(tr!(
                                                "Drop the roots: {title}",
                                                title = &title
                                            )))
                                            .clicked()
                                        {
                                            wish = Some(Wish::Drop(key.0, key.1));
                                        }
                                    }
                                    let accept = Button::ghost(tr!("Accept as is"))
                                        .icon(icons::CHECK)
                                        .name(tr!("Accept: {title}", title = &title));
                                    if ui.add(accept).clicked() {
                                        wish = Some(Wish::Accept(key.0, key.1));
                                    }
                                    let show = Button::secondary(tr!("Show {n}", n = &shown))
                                        .icon(icons::EYE)
                                        .name(tr!("Show: {title}", title = &title));
                                    if ui.add(show).clicked() {
                                        wish = Some(Wish::Show(key.0, key.1));
                                    }
                                    ui.min_rect().left()
                                },
                            )
                            .inner;
                        let words = Rect::from_min_max(
                            pos2(rect.left() + 50.0, rect.top() + 4.0),
                            pos2(left - 8.0, rect.bottom() - 4.0),
                        );
                        let (upper, lower) = words.split_top_bottom_at_fraction(0.5);
                        let end =
                            paint::text_left(ui.painter(), upper, &title, font::medium(12.0), t.tx)
                                + 6.0;
                        paint::text_left(
                            ui.painter(),
                            upper.with_min_x(end),
                            &shown,
                            font::mono(11.0),
                            t.tx3,
                        );
                        paint::text_left(ui.painter(), lower, &text, font::regular(12.0), t.tx2);
                        if response.clicked() {
                            wish = wish.take().or(Some(Wish::Toggle(key.0, key.1)));
                        }
                        response.clone().on_hover_text(theme::rich_text(text));
                    }
                    OutlierLine::Outlier(index, at) => {
                        let group = &state.listed.groups[index];
                        let Some(outlier) =
                            outlier(consistency, group.position, group.property, at)
                        else {
                            return;
                        };
                        let at = RowRef {
                            level: consistency.positions[group.position].level,
                            row: outlier.row,
                        };
                        let path = outlier.path.to_string();
                        let said = if outlier.beside.is_empty() {
                            outlier.found.to_string()
                        } else {
                            format!("{}; {}", outlier.found, outlier.beside)
                        };
                        response.widget_info(|| {
                            WidgetInfo::labeled(Role::ListItem, true, format!("{path}: {said}"))
                        });
                        let inner = Rect::from_min_max(
                            rect.min + vec2(50.0, 0.0),
                            rect.max - vec2(70.0, 0.0),
                        );
                        let (left, right) = inner.split_left_right_at_fraction(0.45);
                        paint::text_left(
                            ui.painter(),
                            left.with_max_x(left.right() - 8.0),
                            &path,
                            font::mono(12.0),
                            t.tx,
                        );
                        paint::text_left(ui.painter(), right, &said, font::regular(12.0), t.tx2);
                        let link = Rect::from_min_max(
                            pos2(rect.right() - 66.0, rect.top()),
                            rect.max - vec2(8.0, 0.0),
                        );
                        ui.scope_builder(
                            UiBuilder::new()
                                .max_rect(link)
                                .layout(Layout::right_to_left(Align::Center)),
                            |ui| {
                                if widgets::link(ui, tr!("Preview")).clicked() {
                                    wish = Some(Wish::Go(at, true));
                                }
                            },
                        );
                        if response.clicked() {
                            wish = wish.take().or(Some(Wish::Go(at, false)));
                        }
                    }
                    OutlierLine::Accepted(index) => {
                        let (entry, count) = &state.listed.accepted[index];
                        let position = consistency
                            .positions
                            .iter()
                            .find(|position| position.place == entry.place);
                        let name = position
                            .map_or_else(String::new, |position| position.title().to_owned());
                        let (property, value) = (
                            entry.property.name(),
                            entry.found.as_deref().unwrap_or(tr!("all values")),
                        );
                        let text = tr!(
                            "Accepted: {property} of {name}, {value} ({count})",
                            property,
                            name,
                            value,
                            count
                        );
                        response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &text));
                        paint::icon(
                            ui.painter(),
                            pos2(rect.left() + 36.0, rect.center().y),
                            icons::CHECK_CIRCLE,
                            14.0,
                            t.tx3,
                        );
                        let words = Rect::from_min_max(
                            rect.min + vec2(50.0, 0.0),
                            rect.max - vec2(90.0, 0.0),
                        );
                        paint::text_left(ui.painter(), words, &text, font::regular(12.0), t.tx2);
                        let link = Rect::from_min_max(
                            pos2(rect.right() - 86.0, rect.top()),
                            rect.max - vec2(8.0, 0.0),
                        );
                        ui.scope_builder(
                            UiBuilder::new()
                                .max_rect(link)
                                .layout(Layout::right_to_left(Align::Center)),
                            |ui| {
                                if widgets::link(ui, tr!("Take back")).clicked() {
                                    wish = Some(Wish::TakeBack(index));
                                }
                            },
                        );
                    }
                }
            });
        });
    }
    panel.consistency.groups_scroll = scroll;
    if let Some(wish) = wish {
        follow(panel, cx, document, consistency, wish);
    }
}

fn only_count(count: usize) -> String {
    paint::format_grouped_number(count as u64)
}

fn group_text(group: &state::OutlierGroup, consistency: &Consistency) -> String {
    let agreement = consistency.positions[group.position].agreement(group.property);
    let mut found: Vec<&str> = group
        .found
        .iter()
        .take(3)
        .map(|(text, _)| &**text)
        .collect();
    if group.found.len() > 3 {
        found.push("…");
    }
    let (found, common, count) = (
        found.join(", "),
        agreement.common.as_str(),
        paint::format_grouped_number(agreement.agreeing as u64),
    );
    tr!("{found}; {common} in {count}.", found, common, count)
}

fn follow(
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    consistency: &Consistency,
    wish: Wish,
) {
    match wish {
        Wish::Toggle(position, property) => {
            let state = &mut panel.consistency;
            if !state.open.remove(&(position, property)) {
                state.open.insert((position, property));
            }
            state.selected = Some((position, property));
        }
        Wish::Show(position, property) => {
            select(panel, Some((position, property)));
            panel.consistency.only_selected = true;
            if let Some(first) = outlier(consistency, position, property, 0) {
                cx.request(Request::Select(Some(RowRef {
                    level: consistency.positions[position].level,
                    row: first.row,
                })));
            }
        }
        Wish::Go(at, preview) => {
            cx.request(Request::Select(Some(at)));
            if preview {
                cx.request(Request::Show(Pane::Preview));
            }
        }
        Wish::Accept(position, property) => {
            let mut settings = cx.studio.consistency_settings().clone();
            let place = consistency.positions[position].place.clone();
            let group = panel
                .consistency
                .listed
                .groups
                .iter()
                .find(|g| (g.position, g.property) == (position, property));
            for (found, _) in group.map(|group| group.found.clone()).unwrap_or_default() {
                let entry = Accepted {
                    place: place.clone(),
                    property,
                    found: Some(found.to_string()),
                };
                if !settings.accepted.contains(&entry) {
                    settings.accepted.push(entry);
                }
            }
            cx.run(Command::SetConsistency { settings });
        }
        Wish::TakeBack(index) => {
            let mut settings = cx.studio.consistency_settings().clone();
            if let Some((entry, _)) = panel.consistency.listed.accepted.get(index) {
                settings.accepted.retain(|known| known != entry);
            }
            cx.run(Command::SetConsistency { settings });
        }
        Wish::Drop(position, property) => {
            let mut roots: Vec<u32> = consistency.positions[position]
                .agreement(property)
                .outliers
                .iter()
                .map(|o| o.root)
                .collect();
            roots.sort_unstable();
            roots.dedup();
            let changes = roots.iter().take(LISTED).map(|&root| {
                (
                    find_root_id(document, root).into(),
                    tr!("leaves the dataset; its files stay on disk").to_owned(),
                )
            });
            let count = roots.len();
            let plan = FixPlan {
                label: tr_n!(count, "Drop {n} root", "Drop {n} roots", n = count),
                roots: count as u64,
                listed: count.min(LISTED) as u64,
                changes: changes.collect(),
                care: Care::Removes,
                verbs: vec![(FixVerb::Drop, count as u64)],
                edit: Edit::RemoveMany {
                    samples: roots.into_iter().map(|root| NodePath(vec![root])).collect(),
                },
            };
            cx.request(Request::Plan(Arc::new(plan)));
        }
    }
}

fn find_root_id(document: &Document, row: u32) -> &str {
    document.id(RowRef { level: 0, row }).unwrap_or_default()
}
