//! The query panel: SQL over the filtered dataset, the result rows, and actions on them.

pub mod chart;
mod chart_state;
mod detail;
mod editor;
pub mod rows;
pub mod state;

use std::sync::Arc;
use std::time::Instant;

use egui::{Frame, Margin, Popup, PopupCloseBehavior, Ui, vec2};

use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, TextField, note_ui, paint};
use crate::gui::{filters, icons, sql};
use crate::model::dtype_name;
use crate::query::{Filter, Query, QueryResult};
use crate::studio::{Command, Document};
use chart_state::ChartKind;
use rows::COPIED_MOST;
use state::{Completion, CopyFormat, QueryPanel};

/// Choices of the row limit.
const LIMITS: [(&str, Option<usize>); 5] = [
    (mark!("1 000 rows"), Some(1_000)),
    (mark!("100 000 rows"), Some(100_000)),
    (mark!("1 million rows"), Some(1_000_000)),
    (mark!("10 million rows"), Some(10_000_000)),
    (mark!("All rows"), None),
];

impl Panel for QueryPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            let why = tr!("Open a dataset first.");
            widgets::draw_empty_state(ui, icons::DATABASE, tr!("Nothing to query"), why);
            return;
        };
        refresh_completions(self, cx, document);
        let mut run = tools_ui(ui, self, cx);
        let error_range = self.failed.as_ref().and_then(|(_, _, range)| range.clone());
        run |= editor::editor_ui(ui, &mut self.editor, &self.completions.1, error_range);
        // An error belongs to the statement that failed.
        if self
            .failed_sql
            .as_ref()
            .is_some_and(|failed| *failed != self.editor.sql)
        {
            (self.failed, self.failed_sql) = (None, None);
        }
        widgets::line_below(ui);
        filter_ui(ui, self, cx, document);
        // Run again when the filter has changed.
        let stale = self
            .shown_query
            .as_ref()
            .is_some_and(|(_, filters)| filters != cx.studio.filters());
        if (run || stale) && !self.is_waiting() {
            let text = if run {
                self.editor.sql.clone()
            } else {
                self.shown_query
                    .as_ref()
                    .map_or(String::new(), |(sql, _)| sql.clone())
            };
            start(self, cx, text);
        }
        result_ui(ui, self, cx, document);
    }
}

fn start(panel: &mut QueryPanel, cx: &mut PanelContext<'_>, sql: String) {
    let filters = cx.studio.filters().to_vec();
    panel.started = Some(Instant::now());
    (panel.failed, panel.failed_sql) = (None, None);
    panel.running_query = Some((sql.clone(), filters.clone()));
    let limit = LIMITS[panel.limit.min(LIMITS.len() - 1)].1;
    if cx.queries.history.first() != Some(&sql) {
        let mut book = cx.queries.clone();
        book.ran(&sql);
        cx.request(Request::Queries(book));
    }
    cx.run(Command::Query {
        query: query_of(filters, sql, limit),
        path: None,
    });
}

fn query_of(filters: Vec<Filter>, sql: String, limit: Option<usize>) -> Query {
    Query {
        filters,
        sql: Some(sql),
        limit,
        ..Query::default()
    }
}

fn refresh_completions(panel: &mut QueryPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let key = (
        cx.session.serial,
        crate::gui::document_key::revision(cx.studio),
    );
    if panel.completions.0 == Some(key) {
        return;
    }
    let levels = document.tree().levels.len();
    let mut words: Vec<Completion> = Vec::new();
    for level in 0..levels {
        for field in std::iter::once("id".to_owned())
            .chain(std::iter::once("type".to_owned()))
            .map(|name| (name, "string".to_owned()))
            .chain(
                document
                    .fields(level)
                    .into_iter()
                    .map(|field| (field.name, dtype_name(&field.dtype))),
            )
        {
            if !words.iter().any(|word| word.plain == field.0) {
                words.push(make_completion(
                    sql::quote_name(&field.0),
                    field.0.clone(),
                    &field.1,
                ));
            }
        }
    }
    words.push(make_completion(
        "\"internal:gdal_vsi\"".into(),
        "internal:gdal_vsi".into(),
        "string",
    ));
    let tables = std::iter::once("data".to_owned())
        .chain((0..levels).flat_map(|n| [format!("level{n}"), format!("l{n}")]));
    words.extend(tables.map(|name| make_completion(name.clone(), name, "table")));
    words.extend(
        sql::FUNCTIONS
            .iter()
            .map(|name| make_completion(format!("{name}("), (*name).to_owned(), "function")),
    );
    words.extend(
        sql::KEYWORDS
            .iter()
            .map(|name| make_completion((*name).to_owned(), (*name).to_owned(), "keyword")),
    );
    panel.completions = (Some(key), words);
}

fn make_completion(text: String, plain: String, kind: &str) -> Completion {
    Completion {
        text,
        plain,
        kind: kind.to_owned(),
    }
}

/// Draws the tool bar. True when the query is to run.
fn tools_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>) -> bool {
    let mut run = false;
    Frame::NONE
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            ui.set_height(24.0);
            ui.horizontal_centered(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let waiting = panel.is_waiting().then_some(tr!("The query is running"));
                let button = Button::primary(tr!("Run"))
                    .icon(icons::PLAY)
                    .name(tr!("Run query"))
                    .tooltip("Ctrl Enter")
                    .with_disabled_reason(waiting);
                run = ui.add(button).clicked();
                let stop = Button::danger(tr!("Stop"))
                    .icon(icons::STOP)
                    .name(tr!("Stop query"));
                if panel.is_waiting()
                    && ui.add(stop).clicked()
                    && let Some(job) = panel.job
                {
                    cx.run(Command::Cancel { job });
                }
                history_ui(ui, panel, cx);
                saved_ui(ui, panel, cx);
                let format = Button::ghost(tr!("Format" in "to set out a query")).icon(icons::LIST);
                if ui
                    .add(format.tooltip(tr!("Put each clause on a line of its own")))
                    .clicked()
                {
                    let editor = &mut panel.editor;
                    editor.sql = sql::format_statement(&editor.sql);
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if cx
                        .document()
                        .is_some_and(|document| document.opened_dataset().is_some())
                    {
                        uses_ui(ui, panel, cx);
                    }
                    let names = LIMITS.map(|(name, _)| crate::text::translate_text(name));
                    let current = names[panel.limit.min(names.len() - 1)];
                    if ui.available_width() > 130.0
                        && let Some(index) = widgets::combo(
                            ui,
                            tr!("Rows at the most"),
                            current,
                            124.0,
                            false,
                            &names,
                        )
                    {
                        panel.limit = index;
                    }
                });
            });
        });
    widgets::line_below(ui);
    run
}

/// Draws what the statement is used for: two buttons, or a menu in a narrow panel.
fn uses_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>) {
    let text = panel.editor.sql.clone();
    let export = (
        tr!("Export subset…" in "tool bar, as short as can be"),
        icons::EXPORT,
    );
    let python = (tr!("Copy Python"), icons::CODE);
    let (mut exported, mut copied) = (false, None);
    // Beside them are the rows at the most.
    let whole: f32 = [export.0, python.0]
        .map(|text| Button::width_of(ui, text) + 25.0)
        .iter()
        .sum();
    if ui.available_width() > whole + 130.0 {
        let button = Button::secondary(export.0).icon(export.1);
        exported = ui
            .add(button.tooltip(tr!("Write the rows' samples as a dataset of their own")))
            .clicked();
        let button = Button::secondary(python.0).icon(python.1);
        let button = ui.add(button.tooltip(tr!("Copy this query as a script")));
        Popup::menu(&button).show(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            copied = python_entries_ui(ui, cx, &text);
        });
    } else {
        let more = ui.add(Button::icon_only(icons::DOTS_THREE, tr!("Use the query")));
        Popup::menu(&more).show(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            exported = widgets::menu_entry(ui, export.1, export.0, "", None).clicked();
            copied = python_entries_ui(ui, cx, &text);
            if exported {
                ui.close();
            }
        });
    }
    if let Some(script) = copied {
        cx.request(Request::Copy(script));
    } else if exported {
        cx.request(Request::ExportSubset(Some(text)));
    }
}

/// Draws the menu entries that copy the statement as a script; returns the script.
fn python_entries_ui(ui: &mut Ui, cx: &PanelContext<'_>, text: &str) -> Option<String> {
    let reason = filters::find_tacoreader_obstacle(cx);
    let mut script = None;
    if widgets::menu_entry(ui, icons::COPY, tr!("Python (tacoreader)"), "", reason).clicked() {
        script = Some(filters::build_tacoreader_script(cx, text));
    }
    if widgets::menu_entry(ui, icons::COPY, filters::MODULE_SCRIPT_LABEL, "", None).clicked() {
        script = Some(filters::build_module_script(cx, text));
    }
    if script.is_some() {
        ui.close();
    }
    script
}

fn one_line(sql: &str) -> String {
    let flat = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() > 90 {
        flat.chars().take(89).chain(['…']).collect()
    } else {
        flat
    }
}

fn history_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>) {
    let none = cx
        .queries
        .history
        .is_empty()
        .then_some(tr!("No query has run yet"));
    let button = ui.add(
        Button::ghost(tr!("History"))
            .icon(icons::CLOCK_COUNTER_CLOCKWISE)
            .with_disabled_reason(none),
    );
    Popup::menu(&button).show(|ui| {
        egui::ScrollArea::vertical()
            .max_height(320.0)
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.set_min_width(420.0);
                for sql in &cx.queries.history {
                    if widgets::menu_entry(ui, icons::CLOCK, &one_line(sql), "", None).clicked() {
                        panel.editor.sql.clone_from(sql);
                        ui.close();
                    }
                }
            });
    });
}

fn saved_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>) {
    let button = ui.add(
        Button::ghost(tr!("Saved" in "queries"))
            .icon(icons::FLOPPY_DISK)
            .name(tr!("Saved queries")),
    );
    Popup::menu(&button)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            ui.set_min_width(360.0);
            ui.spacing_mut().item_spacing.y = 4.0;
            let mut changed = None;
            for saved in &cx.queries.saved {
                ui.horizontal(|ui| {
                    let forget = tr!("Forget query {name}", name = &saved.name);
                    if ui.add(Button::icon_only(icons::TRASH, forget)).clicked() {
                        let mut book = cx.queries.clone();
                        book.saved.retain(|other| other.name != saved.name);
                        changed = Some(book);
                    }
                    if ui
                        .add(Button::ghost(saved.name.as_str()).tooltip(one_line(&saved.sql)))
                        .clicked()
                    {
                        panel.editor.sql.clone_from(&saved.sql);
                        ui.close();
                    }
                });
            }
            ui.horizontal(|ui| {
                let field =
                    TextField::new(tr!("Name of the query"), &mut panel.name_to_save).hide_label();
                field.hint(tr!("name")).width(230.0).show(ui);
                let name = panel.name_to_save.trim().to_owned();
                let nameless = name.is_empty().then_some(tr!("Give the query a name"));
                let save = Button::secondary(tr!("Save"))
                    .icon(icons::PLUS)
                    .name(tr!("Save query"));
                if ui.add(save.with_disabled_reason(nameless)).clicked() {
                    let mut book = cx.queries.clone();
                    book.save(&name, &panel.editor.sql);
                    changed = Some(book);
                    panel.name_to_save.clear();
                }
            });
            if let Some(book) = changed {
                cx.request(Request::Queries(book));
            }
        });
}

/// Draws the filter chips and the button that writes them into the statement.
fn filter_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>, document: &Document) {
    if cx.studio.filters().is_empty() {
        return;
    }
    let t = theme::tokens(ui);
    Frame::NONE
        .fill(t.bg2)
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
                ui.label(
                    theme::rich_text(tr!("And" in "before the filters"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                filters::chips_ui(ui, cx);
                let text = filters::tally_text(cx, document, 0);
                ui.label(
                    theme::rich_text(text)
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
                if widgets::link(ui, tr!("Add to SQL")).clicked() {
                    add_to_sql(panel, cx, document);
                }
                filters::copy_as_ui(ui, cx);
            });
        });
    widgets::line_below(ui);
}

/// Moves the filters that SQL can express into the statement.
fn add_to_sql(panel: &mut QueryPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let mut left = Vec::new();
    for filter in cx.studio.filters().to_vec() {
        // The statement reads level 0; filters of deeper levels stay chips.
        match filters::as_sql(&filter, document).filter(|_| filter.level == 0) {
            Some(condition) => {
                let editor = &mut panel.editor;
                editor.sql = sql::with_condition(&editor.sql, &condition);
            }
            None => left.push(filter),
        }
    }
    panel.shown_query = None;
    cx.run(Command::Filter { filters: left });
}

fn result_ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>, document: &Document) {
    if let Some((why, hints, place)) = &panel.failed {
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 8))
            .show(ui, |ui| {
                let line = place.as_ref().map(|place| {
                    panel
                        .editor
                        .sql
                        .get(..place.start)
                        .unwrap_or_default()
                        .matches('\n')
                        .count()
                        + 1
                });
                note_ui(
                    ui,
                    &FieldNote::Error(
                        line.map_or_else(
                            || why.clone(),
                            |line| tr!("Line {line}: {why}", line, why),
                        ),
                    ),
                );
                for hint in hints {
                    note_ui(ui, &FieldNote::Info(hint.clone()));
                }
            });
        return;
    }
    let Some(result) = panel.rows.result.clone() else {
        let why = tr!(
            "Tables: data (level 0 without padding), level0, level1, …, and l0, l1, … joined with \
                the levels above."
        );
        widgets::draw_empty_state(ui, icons::DATABASE, tr!("No rows yet"), why);
        return;
    };
    bar_ui(ui, panel, cx, &result);
    if panel.chart.shape != ChartKind::Rows {
        return chart::ui(ui, panel, cx, &result);
    }
    let level = level_of(state_sql(panel), document.tree().levels.len());
    rows::ui(ui, panel, cx, level);
}

fn state_sql(panel: &QueryPanel) -> &str {
    panel
        .shown_query
        .as_ref()
        .map_or("", |(sql, _)| sql.as_str())
}

/// The first level that a statement reads; its ids belong to that level.
fn level_of(text: &str, levels: usize) -> usize {
    let pieces = sql::classify_tokens(text);
    let mut words = pieces.iter().map(|(range, _)| &text[range.clone()]);
    let table = words
        .by_ref()
        .skip_while(|word| !word.eq_ignore_ascii_case("FROM"))
        .nth(1)
        .unwrap_or_default();
    let number = table
        .strip_prefix("level")
        .or(table.strip_prefix('l'))
        .and_then(|digits| digits.parse::<usize>().ok());
    number.filter(|&level| level < levels).unwrap_or(0)
}

fn bar_ui(
    ui: &mut Ui,
    panel: &mut QueryPanel,
    cx: &mut PanelContext<'_>,
    result: &Arc<QueryResult>,
) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(10, 4))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                let icon = if panel.is_waiting() {
                    icons::CIRCLE_NOTCH
                } else {
                    icons::CHECK_CIRCLE
                };
                ui.label(
                    theme::rich_text(icon)
                        .font(font::icon(14.0))
                        .color(if panel.is_waiting() { t.tx3 } else { t.ok }),
                );
                let n = paint::format_grouped_number(result.row_count as u64);
                let rows = if result.truncated {
                    tr_n!(result.row_count, "{n} row and more", "{n} rows and more", n)
                } else {
                    tr_n!(result.row_count, "{n} row", "{n} rows", n)
                };
                let columns = panel.rows.columns.len();
                let columns = tr_n!(columns, "{n} column", "{n} columns", n = columns);
                ui.label(
                    theme::rich_text(format!("{rows}, {columns}"))
                        .font(font::medium(12.0))
                        .color(t.tx),
                );
                if !panel.duration.is_zero() {
                    let took = format!(
                        "{} ms",
                        paint::format_grouped_number(panel.duration.as_millis() as u64)
                    );
                    ui.label(
                        theme::rich_text(took)
                            .text_style(text_style("small12"))
                            .color(t.tx3),
                    );
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if panel.rows.selected_row().is_some() {
                        ui.label(
                            theme::rich_text(tr!("1 selected" in "row"))
                                .text_style(text_style("small12"))
                                .color(t.tx3),
                        );
                    }
                    rows_menu_ui(ui, panel, cx, result);
                    chart::shape_ui(ui, panel);
                });
            });
        });
    widgets::line_below(ui);
}

fn rows_menu_ui(
    ui: &mut Ui,
    panel: &mut QueryPanel,
    cx: &mut PanelContext<'_>,
    result: &Arc<QueryResult>,
) {
    let many = (result.row_count > COPIED_MOST).then(|| {
        tr!(
            "More than {most} rows: save them",
            most = paint::format_grouped_number(COPIED_MOST as u64)
        )
    });
    let copy = ui.add(
        Button::ghost(tr!("Copy"))
            .icon(icons::COPY)
            .name(tr!("Copy rows"))
            .with_disabled_reason(many),
    );
    Popup::menu(&copy).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let ways = [
            (tr!("Copy as CSV"), CopyFormat::Csv),
            (tr!("Copy as JSON"), CopyFormat::Json),
            (tr!("Copy as Markdown"), CopyFormat::Markdown),
        ];
        for (text, how) in ways {
            if widgets::menu_entry(ui, icons::COPY, text, "", None).clicked() {
                panel.rows.copy(cx.jobs, how);
                ui.close();
            }
        }
    });
    let save = Button::ghost(tr!("Save rows…")).icon(icons::DOWNLOAD_SIMPLE);
    if ui
        .add(save.tooltip(tr!("Save every row as CSV, JSON or Parquet")))
        .clicked()
        && let Some((sql, filters)) = panel.shown_query.clone()
    {
        cx.request(Request::SaveRows(query_of(filters, sql, None)));
    }
}

#[cfg(test)]
mod tests {
    use super::level_of;

    #[test]
    fn the_level_is_that_of_the_first_table() {
        assert_eq!(level_of("SELECT * FROM data", 3), 0);
        assert_eq!(level_of("SELECT id FROM level2 WHERE x", 3), 2);
        assert_eq!(level_of("SELECT id FROM l9", 3), 0);
        assert_eq!(level_of("", 3), 0);
    }
}
