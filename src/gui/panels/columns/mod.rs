//! The column explorer: columns of all levels, a summary of the chosen one over the filtered rows,
//! and filters by its values.

pub mod state;

use egui::{Frame, Id, Margin, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::query::rows::summary_ui;
use crate::gui::action::Action;
use crate::gui::filters::{self, FilterKey};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, TextField, VirtualRows, paint};
use crate::gui::{icons, sql};
use crate::model::dtype_name;
use crate::ops::{ColumnSummary, SummaryRequest, level_summary};
use crate::query::Filter;
use crate::query::copy_as::quoted_text;
use crate::studio::Document;
use state::{ColumnRow, ColumnsPanel};

impl Panel for ColumnsPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            let (title, why) = (tr!("No columns"), tr!("Open a dataset first."));
            widgets::draw_empty_state(ui, icons::COLUMNS, title, why);
            return;
        };
        Frame::NONE
            .inner_margin(Margin::symmetric(8, 8))
            .show(ui, |ui| {
                let field = TextField::new(tr!("Filter columns"), &mut self.filter);
                field
                    .id(Id::unique("columns-filter"))
                    .hide_label()
                    .quiet()
                    .icon(icons::FUNNEL)
                    .hint(tr!("Filter columns"))
                    .show(ui);
            });
        refresh(self, cx, document);
        let area = ui.available_rect_before_wrap();
        let lower = if self.chosen.is_some() {
            (area.height() * 0.45).min(300.0)
        } else {
            0.0
        };
        let (upper, lower) = area.split_top_bottom_at_y(area.bottom() - lower);
        ui.scope_builder(UiBuilder::new().max_rect(upper), |ui| {
            list_ui(ui, self, cx, document)
        });
        if lower.height() > 0.0 {
            ui.scope_builder(UiBuilder::new().max_rect(lower), |ui| {
                summary_panel_ui(ui, self, cx, document)
            });
        }
    }
}

fn refresh(panel: &mut ColumnsPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let key = (
        cx.session.serial,
        crate::gui::document_key::revision(cx.studio),
    );
    let filter = panel.filter.trim().to_lowercase();
    if panel.made_for.as_ref() == Some(&(key, filter.clone())) {
        return;
    }
    if panel
        .made_for
        .as_ref()
        .is_some_and(|(made, _)| made.0 != key.0)
    {
        panel.chosen = None;
    }
    panel.rows.clear();
    for level in 0..document.tree().levels.len() {
        panel.rows.push(ColumnRow::Level(level));
        let fixed = [
            ("id".to_owned(), "string".to_owned()),
            ("type".to_owned(), "string".to_owned()),
        ];
        let fields = document
            .fields(level)
            .into_iter()
            .map(|field| (field.name, dtype_name(&field.dtype)));
        let shown = fixed
            .into_iter()
            .chain(fields)
            .filter(|(name, _)| filter.is_empty() || name.to_lowercase().contains(&filter));
        panel
            .rows
            .extend(shown.map(|(name, kind)| ColumnRow::Column(level, name, kind)));
    }
    panel.made_for = Some((key, filter));
}

/// The icon of a column type.
fn type_icon(name: &str, kind: &str) -> &'static str {
    if name.ends_with("geometry") {
        icons::POLYGON
    } else if name.ends_with("centroid") {
        icons::CROSSHAIR
    } else if kind.starts_with("timestamp") || kind.starts_with("date") {
        icons::CLOCK
    } else if kind.starts_with("list") || kind.starts_with("struct") {
        icons::BRACKETS_CURLY
    } else if kind == "string" {
        icons::TEXT_T
    } else if kind == "bool" {
        icons::CHECK
    } else {
        icons::HASH
    }
}

fn list_ui(ui: &mut Ui, panel: &mut ColumnsPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let t = theme::tokens(ui);
    let rows = std::mem::take(&mut panel.rows);
    let chosen = panel.chosen.clone();
    let cursor = rows
        .iter()
        .position(|row| is_chosen_column(row, chosen.as_ref()))
        .map(|row| row as u64);
    let list = VirtualRows::new(tr!("Columns of the levels"), rows.len() as u64).cursor(cursor);
    let out = list.show(ui, &mut panel.scroll, |ui, row, rect, response| {
        let inner = rect.shrink2(vec2(10.0, 0.0));
        match &rows[row as usize] {
            ColumnRow::Level(level) => {
                response.widget_info(|| {
                    WidgetInfo::labeled(
                        Role::ListItem,
                        true,
                        tr!("Columns of level {level}", level),
                    )
                });
                paint::draw_icon(
                    ui.painter(),
                    pos2(inner.left() + 7.0, rect.center().y),
                    icons::TABLE,
                    14.0,
                    t.tx3,
                );
                let name = if *level == 0 {
                    tr!("data (level 0)").to_owned()
                } else {
                    format!("level{level}")
                };
                paint::text_left(
                    ui.painter(),
                    inner.with_min_x(inner.left() + 20.0),
                    &name,
                    font::mono_semibold(12.0),
                    t.tx,
                );
                let count = paint::format_grouped_number(document.rows(*level) as u64);
                paint::text_right(ui.painter(), inner, &count, font::mono(11.0), t.tx3);
            }
            ColumnRow::Column(level, name, kind) => {
                let selected = is_chosen_column(&rows[row as usize], chosen.as_ref());
                response.widget_info(|| {
                    WidgetInfo::selected(
                        Role::ListItem,
                        true,
                        selected,
                        tr!("Column {name} of level {level}", name, level),
                    )
                });
                paint::row_background(ui.painter(), t, rect, selected, response.hovered());
                paint::draw_icon(
                    ui.painter(),
                    pos2(inner.left() + 23.0, rect.center().y),
                    type_icon(name, kind),
                    13.0,
                    t.tx3,
                );
                let end = paint::text_right(
                    ui.painter(),
                    inner,
                    shorten_kind(kind),
                    font::mono(10.5),
                    t.tx3,
                );
                let text = Rect::from_min_max(
                    pos2(inner.left() + 38.0, rect.top()),
                    pos2(end - 6.0, rect.bottom()),
                );
                paint::text_left(ui.painter(), text, name, font::mono(12.0), t.tx);
            }
        }
    });
    let picked = out
        .clicked
        .or(out.moved_to)
        .and_then(|row| rows.get(row as usize).cloned());
    let opened = out
        .double_clicked
        .or(cursor.filter(|_| out.entered))
        .and_then(|row| rows.get(row as usize).cloned());
    panel.rows = rows;
    if let Some(ColumnRow::Column(level, column, _)) = picked {
        panel.chosen = Some(SummaryRequest { level, column });
        (panel.low, panel.high) = (String::new(), String::new());
    }
    if let Some(ColumnRow::Column(_, column, _)) = opened {
        insert(cx, &column);
    }
}

fn is_chosen_column(row: &ColumnRow, chosen: Option<&SummaryRequest>) -> bool {
    match (row, chosen) {
        (ColumnRow::Column(level, name, _), Some(chosen)) => {
            *level == chosen.level && *name == chosen.column
        }
        _ => false,
    }
}

/// Shortens the names of nested types.
fn shorten_kind(kind: &str) -> &str {
    if kind.len() > 18 {
        kind.split(['<', '[', '(']).next().unwrap_or(kind)
    } else {
        kind
    }
}

fn insert(cx: &mut PanelContext<'_>, column: &str) {
    cx.request(Request::AppendToQuery(sql::quote_name(column)));
    cx.request(Request::Do(Action::ShowQuery));
}

fn summary_panel_ui(
    ui: &mut Ui,
    panel: &mut ColumnsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.top() + 0.5,
        egui::Stroke::new(1.0, t.line),
    );
    let Some(request) = panel.chosen.clone() else {
        return;
    };
    let Some(open) = document.opened_dataset() else {
        Frame::NONE.inner_margin(12).show(ui, |ui| {
            let text = tr!("Columns are summarized in written datasets.");
            ui.label(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx3),
            );
        });
        return;
    };
    let kept = cx.studio.filtered_rows().cloned();
    let key = (
        cx.session.serial,
        crate::gui::document_key::revision(cx.studio),
    );
    let wanted = (key, request.clone(), kept.as_ref().map(ValueId::from_arc));
    let (reader, work) = (open.reader.clone(), request.clone());
    panel
        .summary
        .update(cx.jobs, wanted.clone(), tr!("Summary"), move |ctx| {
            let rows = kept.as_ref().and_then(|kept| kept.rows(work.level));
            level_summary(reader.as_ref(), &work, rows, ctx)
        });
    let summary = match panel.summary.get(&wanted) {
        Some(Ok(summary)) => Some(summary.clone()),
        Some(Err(error)) => {
            let text = error.to_string();
            Frame::NONE.inner_margin(12).show(ui, |ui| {
                ui.label(
                    theme::rich_text(text)
                        .text_style(text_style("small12"))
                        .color(t.err),
                )
            });
            return;
        }
        None => panel
            .summary
            .latest()
            .filter(|last| last.name == request.column)
            .cloned(),
    };
    egui::ScrollArea::vertical()
        .id_salt("column-summary")
        .auto_shrink(false)
        .show(ui, |ui| {
            Frame::NONE
                .inner_margin(Margin::symmetric(12, 8))
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 5.0;
                    ui.horizontal(|ui| {
                        ui.label(
                            theme::rich_text(&request.column)
                                .font(font::mono_semibold(12.0))
                                .color(t.tx),
                        );
                        if let Some(summary) = &summary {
                            let distinct = match summary.distinct {
                                Some(values) => tr_n!(
                                    values,
                                    "{n} value",
                                    "{n} values",
                                    n = paint::format_grouped_number(values)
                                ),
                                None => tr!("many values").to_owned(),
                            };
                            let nulls = tr_n!(
                                summary.nulls,
                                "{n} null",
                                "{n} null",
                                n = paint::format_grouped_number(summary.nulls)
                            );
                            let text = format!("{distinct}, {nulls}");
                            ui.with_layout(
                                egui::Layout::right_to_left(egui::Align::Center),
                                |ui| {
                                    ui.label(
                                        theme::rich_text(text)
                                            .text_style(text_style("small12"))
                                            .color(t.tx3),
                                    );
                                },
                            );
                        }
                    });
                    match &summary {
                        Some(summary) => contents_ui(ui, panel, cx, &request, summary),
                        None => drop(widgets::spinner(ui, 18.0)),
                    }
                    ui.horizontal(|ui| {
                        let button = Button::ghost(tr!("Insert name")).icon(icons::DATABASE);
                        if ui
                            .add(button.tooltip(tr!("Put the name into the query")))
                            .clicked()
                        {
                            insert(cx, &request.column);
                        }
                        let key = FilterKey::Column(&request.column);
                        let is_filtered =
                            (cx.studio.filters().iter()).any(|filter| key.selects_filter(filter));
                        if is_filtered
                            && ui
                                .add(Button::ghost(tr!("Clear filter")).icon(icons::X))
                                .clicked()
                        {
                            filters::set(cx, key, None);
                        }
                    });
                });
        });
}

fn contents_ui(
    ui: &mut Ui,
    panel: &mut ColumnsPanel,
    cx: &mut PanelContext<'_>,
    request: &SummaryRequest,
    summary: &ColumnSummary,
) {
    let t = theme::tokens(ui);
    if !summary.top.is_empty() && summary.histogram.is_none() {
        let most = summary
            .top
            .iter()
            .map(|(_, count)| *count)
            .max()
            .unwrap_or(1)
            .max(1);
        for (value, count) in &summary.top {
            let (row, response) =
                ui.allocate_exact_size(vec2(ui.available_width(), 20.0), Sense::click());
            let shown = if value.is_empty() {
                tr!("(empty)")
            } else {
                value
            };
            response.widget_info(|| {
                WidgetInfo::labeled(Role::Button, true, tr!("Filter by {value}", value = shown))
            });
            if response.hovered() {
                ui.painter()
                    .rect_filled(row.expand2(vec2(4.0, 0.0)), 3, t.hover);
            }
            let name = row.with_max_x(row.left() + row.width() * 0.4);
            paint::text_left(ui.painter(), name, shown, font::mono(12.0), t.tx);
            let end = paint::text_right(
                ui.painter(),
                row,
                &paint::format_grouped_number(*count),
                font::mono(11.0),
                t.tx2,
            );
            let track = Rect::from_min_max(
                pos2(name.right() + 8.0, row.center().y - 4.0),
                pos2(end.min(row.right() - 52.0) - 8.0, row.center().y + 4.0),
            );
            if track.width() > 4.0 {
                ui.painter().rect_filled(track, 2, t.bg3);
                let width = track.width() * *count as f32 / most as f32;
                ui.painter()
                    .rect_filled(track.with_max_x(track.left() + width), 2, t.tx3);
            }
            if response
                .on_hover_text(tr!("Show only these rows"))
                .clicked()
            {
                let quoted = if summary.type_name == "bool" {
                    value.clone()
                } else {
                    quoted_text(value)
                };
                let condition = format!("{} = {quoted}", sql::quote_name(&request.column));
                let filter = Filter::condition(condition).at_level(request.level);
                filters::set(cx, FilterKey::Column(&request.column), Some(filter));
            }
        }
        return;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 58.0), Sense::hover());
    response.widget_info(|| {
        WidgetInfo::labeled(
            Role::Image,
            true,
            tr!("Histogram of {column}", column = request.column),
        )
    });
    summary_ui(ui.painter(), t, rect, summary);
    if summary.histogram.is_none() {
        return;
    }
    let time = summary.type_name.starts_with("timestamp") || summary.type_name.starts_with("date");
    let (low, high) = summary.range.clone().unwrap_or_default();
    ui.horizontal(|ui| {
        let width = (ui.available_width() - 92.0) / 2.0;
        TextField::new(tr!("From"), &mut panel.low)
            .hide_label()
            .mono()
            .hint(&low)
            .width(width)
            .show(ui);
        TextField::new(tr!("To"), &mut panel.high)
            .hide_label()
            .mono()
            .hint(&high)
            .width(width)
            .show(ui);
        let nothing = (panel.low.trim().is_empty() && panel.high.trim().is_empty())
            .then_some(tr!("Type a bound"));
        let button = Button::secondary(tr!("Filter"))
            .icon(icons::FUNNEL)
            .name(tr!("Filter by range"));
        if ui.add(button.with_disabled_reason(nothing)).clicked() {
            let (from, to) = (panel.low.trim().to_owned(), panel.high.trim().to_owned());
            let (place, filter) = range_filter(request, &from, &to, time);
            filters::set(cx, place, Some(filter));
        }
    });
}

/// A value range of a column as a filter: days for times, a condition for numbers.
fn range_filter<'a>(
    request: &'a SummaryRequest,
    from: &str,
    to: &str,
    time: bool,
) -> (FilterKey<'a>, Filter) {
    if time {
        let range = format!("{}/{}", write_range_end(from), write_range_end(to));
        let filter = Filter {
            time_column: Some(request.column.clone()),
            ..Filter::datetime(range)
        };
        return (FilterKey::Time, filter.at_level(request.level));
    }
    let name = sql::quote_name(&request.column);
    let condition = match (from.is_empty(), to.is_empty()) {
        (false, false) => format!("{name} BETWEEN {from} AND {to}"),
        (false, true) => format!("{name} >= {from}"),
        _ => format!("{name} <= {to}"),
    };
    (
        FilterKey::Column(&request.column),
        Filter::condition(condition).at_level(request.level),
    )
}

/// An empty text is an open end of the range.
fn write_range_end(text: &str) -> String {
    if text.is_empty() {
        "..".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_filters() {
        let request = SummaryRequest {
            level: 1,
            column: "stac:time_start".into(),
        };
        let (place, filter) = range_filter(&request, "2023-01-01", "", true);
        assert_eq!(
            (place, filter.datetime.as_deref(), filter.level),
            (FilterKey::Time, Some("2023-01-01/.."), 1)
        );
        let request = SummaryRequest {
            level: 0,
            column: "eo:cloud".into(),
        };
        let (_, filter) = range_filter(&request, "", "35", false);
        assert_eq!(filter.condition.as_deref(), Some("\"eo:cloud\" <= 35"));
    }
}
