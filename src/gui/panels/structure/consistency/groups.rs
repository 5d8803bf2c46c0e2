//! The list of groups of outliers, and what can be done with each.

use std::sync::Arc;

use egui::{Align, Layout, Rect, Role, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::sections::{find_outlier, rest_of, section_ui};
use super::state::{OutlierGroup, OutlierLine};
use super::table::select_group;
use crate::draft::{Care, Edit, FixPlan, FixVerb};
use crate::gui::icons;
use crate::gui::pane::Pane;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::structure::state::StructurePanel;
use crate::gui::report_delay::describe_report_delay;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, VirtualRows, paint};
use crate::model::{AcceptedValue, Consistency, NodePath, RasterProperty};
use crate::studio::{Command, Document, RowRef};

/// Height of a row of the list of groups.
const GROUP: f32 = 42.0;

/// Maximum number of changes in the preview of an edit.
const MAX_LISTED: usize = 500;

/// Action of a click in the list of groups.
enum Wish {
    Show(usize, RasterProperty),
    Toggle(usize, RasterProperty),
    Accept(usize, RasterProperty),
    TakeBack(usize),
    Drop(usize, RasterProperty),
    Go(RowRef, bool),
}

pub(super) fn groups_ui(
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
            widgets::draw_empty_state(ui, icons::CHECK_CIRCLE, tr!("All roots agree"), why);
        });
        return;
    }
    let area = rest_of(ui, 28.0);
    let mut scroll = panel.consistency.groups_scroll;
    let mut wish = None;
    panel.consistency.update_lines();
    {
        let state = &panel.consistency;
        let lines = state.lines();
        let draft = document.draft().is_some();
        // The rows of an older revision are those of other roots.
        let is_newest = state.is_of(cx.studio.report().consistency.as_ref());
        let outdated = describe_report_delay(cx.studio)
            .or((!is_newest).then_some(mark!("The draft is being checked")))
            .map(crate::text::translate_text);
        ui.scope_builder(UiBuilder::new().max_rect(area), |ui| {
            let list = VirtualRows::new(tr!("Groups"), lines.len() as u64).row_height(GROUP);
            list.show(ui, &mut scroll, |ui, row, rect, response| {
                ui.painter().hline(
                    rect.x_range(),
                    rect.bottom() - 0.5,
                    Stroke::new(1.0, t.line),
                );
                match lines.line(row as usize) {
                    None => {}
                    Some(OutlierLine::Group(index)) => {
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
                        let caret = if state.is_open(key) {
                            icons::CARET_DOWN
                        } else {
                            icons::CARET_RIGHT
                        };
                        paint::draw_icon(
                            ui.painter(),
                            pos2(rect.left() + 16.0, rect.center().y),
                            caret,
                            12.0,
                            t.tx3,
                        );
                        paint::draw_icon(
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
                                        let button = button
                                            .name(tr!("Drop the roots: {title}", title = &title))
                                            .with_disabled_reason(outdated);
                                        if ui.add(button).clicked() {
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
                    Some(OutlierLine::Outlier(index, at)) => {
                        let group = &state.listed.groups[index];
                        let Some(outlier) =
                            find_outlier(consistency, group.position, group.property, at)
                        else {
                            return;
                        };
                        let at = RowRef {
                            level: consistency.positions[group.position].level,
                            row: outlier.row,
                        };
                        let path = outlier.path.to_string();
                        let said = if outlier.reference.is_empty() {
                            outlier.found.to_string()
                        } else {
                            format!("{}; {}", outlier.found, outlier.reference)
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
                        if link_in_row(ui, rect, 66.0, tr!("Preview")) {
                            wish = Some(Wish::Go(at, true));
                        }
                        if response.clicked() {
                            wish = wish.take().or(Some(Wish::Go(at, false)));
                        }
                    }
                    Some(OutlierLine::Accepted(index)) => {
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
                        paint::draw_icon(
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
                        if link_in_row(ui, rect, 86.0, tr!("Take back")) {
                            wish = Some(Wish::TakeBack(index));
                        }
                    }
                }
            });
        });
    }
    panel.consistency.groups_scroll = scroll;
    if let Some(wish) = wish {
        apply_wish(panel, cx, document, consistency, wish);
    }
}

/// Draws a link at the right edge of a row, in this width; true when it was clicked.
fn link_in_row(ui: &mut Ui, row: Rect, width: f32, text: &str) -> bool {
    let area = Rect::from_min_max(
        pos2(row.right() - width, row.top()),
        row.max - vec2(8.0, 0.0),
    );
    let layout = Layout::right_to_left(Align::Center);
    let builder = UiBuilder::new().max_rect(area).layout(layout);
    ui.scope_builder(builder, |ui| widgets::link(ui, text).clicked())
        .inner
}

fn only_count(count: usize) -> String {
    paint::format_grouped_number(count as u64)
}

fn group_text(group: &OutlierGroup, consistency: &Consistency) -> String {
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

fn apply_wish(
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    consistency: &Consistency,
    wish: Wish,
) {
    match wish {
        Wish::Toggle(position, property) => {
            let (state, group) = (&mut panel.consistency, (position, property));
            state.set_open(group, !state.is_open(group));
            state.selected = Some(group);
        }
        Wish::Show(position, property) => {
            select_group(panel, Some((position, property)));
            panel.consistency.only_selected = true;
            if let Some(first) = find_outlier(consistency, position, property, 0) {
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
                let entry = AcceptedValue {
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
            let changes = roots.iter().take(MAX_LISTED).map(|&root| {
                (
                    find_root_id(document, root).into(),
                    tr!("leaves the dataset; its files stay on disk").to_owned(),
                )
            });
            let count = roots.len();
            let plan = FixPlan {
                label: tr_n!(count, "Drop {n} root", "Drop {n} roots", n = count),
                roots: count as u64,
                listed: count.min(MAX_LISTED) as u64,
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
