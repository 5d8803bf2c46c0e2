//! The rows of a query: a virtual, sortable table with a summary in the header of each visible
//! column. Work over all rows runs in jobs; the interface thread reads visible cells only.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::UInt32Array;
use arrow::compute::{SortOptions, sort_to_indices};
use egui::{Painter, Pos2, Rect, Ui, pos2};

use super::detail;
use super::state::QueryPanel;
use crate::error::{Error, Result};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{ThemeTokens, font};
use crate::gui::widgets::{self, Cell, TableColumn, TableSource, TableWidget, paint};
use crate::jobs::{AsyncValue, JobContext};
use crate::model::SamplePath;
use crate::ops::{ColumnSummary, summary_of};
use crate::query::QueryResult;
use crate::studio::RowRef;
use crate::text::PrintableLine;

/// Most rows that are copied; more have to be saved to a file.
pub const COPIED_MOST: usize = 100_000;
/// Summaries computed concurrently.
const AT_ONCE: usize = 2;
const EXTRA: f32 = 34.0;

/// Draws the rows. Does nothing without a result.
pub fn ui(ui: &mut Ui, panel: &mut QueryPanel, cx: &mut PanelContext<'_>, level: usize) {
    let state = &mut panel.rows;
    let Some(result) = state.result.clone() else {
        return;
    };
    take_answers(panel, cx);
    let state = &mut panel.rows;
    if let Some((column, down)) = state.sort {
        let rows = result.clone();
        state.order.update(
            cx.jobs,
            (state.serial, column, down),
            tr!("Sort"),
            move |ctx| sort_rows_by_column(&rows, column, down, ctx),
        );
    }
    let order = state.sort.and_then(|(column, down)| {
        state
            .order
            .get(&(state.serial, column, down))?
            .as_ref()
            .ok()
    });
    let source = QueryRows {
        result: &result,
        columns: &state.columns,
        is_text_column: &state.is_text_column,
        order,
        summaries: &state.summaries,
        seen: &state.seen,
    };
    let mut table = std::mem::take(&mut state.table);
    let mut requests = Vec::new();
    let shown = TableWidget::new(tr!("Query rows"), &source)
        .sticky(1)
        .with_selected_row(state.selected)
        .with_sorted_column(state.sort);
    let area = ui.available_rect_before_wrap();
    let chosen = state
        .selected
        .map(|row| source.row(row))
        .filter(|row| *row < result.row_count);
    let (left, right) =
        area.split_left_right_at_x(area.right() - detail::width(area.width(), chosen.is_some()));
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(left).id_salt("query-table"));
    let out = shown.show(&mut child, &mut table, |ui, row| {
        if widgets::menu_entry(ui, icons::COPY, tr!("Copy row as text"), "", None).clicked() {
            let row = source.row(row);
            // A tab or line break in a value would begin another cell or row.
            let cell = |column| result.table.text(row, column).printable_line().into_owned();
            let line: Vec<String> = (0..source.columns.len()).map(cell).collect();
            requests.push(Request::Copy(line.join("\t")));
            ui.close();
        }
    });
    let picked = out.selected.map(|row| (row, source.row(row)));
    state.table = table;
    if let Some(column) = out.header_clicked {
        // Clicks cycle: ascending, descending, original order.
        state.sort = match state.sort {
            Some((by, false)) if by == column => Some((column, true)),
            Some((by, true)) if by == column => None,
            _ => Some((column, false)),
        };
    }
    if let Some(row) = chosen.filter(|_| right.width() > 0.0)
        && detail::ui(ui, right, &result, row)
    {
        state.selected = None;
    }
    ui.advance_cursor_after_rect(area);
    if let Some((row, place)) = picked {
        state.selected = Some(row);
        find_sample(panel, cx, &result, place, level);
    }
    cx.requests.extend(requests);
    want_summaries(panel, cx, &result);
}

/// Starts the search for the sample of a row: by its path if the result has one, else by its id,
/// which is often ambiguous below level 0.
fn find_sample(
    panel: &mut QueryPanel,
    cx: &mut PanelContext<'_>,
    result: &Arc<QueryResult>,
    row: usize,
    level: usize,
) {
    let Some(document) = cx.document() else {
        return;
    };
    let Some(column) = result.table.column_index("id") else {
        return;
    };
    let id = result.table.text(row, column);
    let path = result
        .table
        .column_index("internal:relative_path")
        .map(|column| result.table.text(row, column));
    let tree = document.tree().clone();
    let state = &mut panel.rows;
    let key = (cx.document_key(), state.serial, row as u64);
    state
        .found
        .update(cx.jobs, key, tr!("Find the sample"), move |ctx| {
            let Some(table) = tree.levels.get(level) else {
                return Ok(None);
            };
            let path = path.map(|path| SamplePath::parse(path.trim_end_matches('/')));
            if let Some((level, row)) = path.and_then(|path| tree.find(&path)) {
                return Ok(Some(RowRef { level, row }));
            }
            let mut found = None;
            for row in 0..table.len() as u32 {
                if row % 65_536 == 0 {
                    ctx.check()?;
                }
                if table.id(row) == id && found.replace(RowRef { level, row }).is_some() {
                    // Ambiguous id: no sample.
                    return Ok(None);
                }
            }
            Ok(found)
        });
    take_answers(panel, cx);
}

/// Selects the sample that was found, unless the document changed meanwhile, and copies the text
/// that was formatted.
fn take_answers(panel: &mut QueryPanel, cx: &mut PanelContext<'_>) {
    let state = &mut panel.rows;
    let is_of_document = state
        .found
        .key()
        .is_some_and(|(document, ..)| *document == cx.document_key());
    let found = state.found.take().and_then(Result::ok).flatten();
    let found = found.filter(|_| is_of_document);
    let copied = state.copied.take().and_then(Result::ok);
    cx.requests
        .extend(found.map(|at| Request::Select(Some(at))));
    cx.requests.extend(copied.map(Request::Copy));
}

fn want_summaries(panel: &mut QueryPanel, cx: &mut PanelContext<'_>, result: &Arc<QueryResult>) {
    let state = &mut panel.rows;
    let seen = std::mem::take(&mut *state.seen.borrow_mut());
    let serial = state.serial;
    // Cancel summaries of columns that are no longer visible.
    state
        .summaries
        .retain(|column, slot| seen.contains(column) || !slot.is_pending());
    let busy = state
        .summaries
        .values()
        .filter(|slot| slot.is_pending())
        .count();
    let missing: Vec<usize> = seen
        .into_iter()
        .filter(|column| !state.summaries.contains_key(column))
        .collect();
    for column in missing.into_iter().take(AT_ONCE.saturating_sub(busy)) {
        let result = result.clone();
        let mut slot = AsyncValue::default();
        slot.update(cx.jobs, (serial, column), tr!("Summary"), move |ctx| {
            let name = result
                .table
                .schema()
                .fields()
                .get(column)
                .map(|field| field.name().clone())
                .unwrap_or_default();
            summary_of(&name, &result.table.column(column)?, ctx)
        });
        state.summaries.insert(column, slot);
    }
}

/// Row numbers sorted by a column, nulls last.
fn sort_rows_by_column(
    result: &QueryResult,
    column: usize,
    down: bool,
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    let array = result.table.column(column)?;
    ctx.check()?;
    let options = SortOptions {
        descending: down,
        nulls_first: false,
    };
    let order: UInt32Array = match sort_to_indices(&array, Some(options), None) {
        Ok(order) => order,
        // Lists are sorted by their text.
        Err(_) => {
            let texts: Vec<Option<String>> = (0..array.len())
                .map(|row| array.is_valid(row).then(|| result.table.text(row, column)))
                .collect();
            ctx.check()?;
            let texts = arrow::array::StringArray::from(texts);
            sort_to_indices(&texts, Some(options), None)
                .map_err(|e| Error::internal("the column has no order").because(e))?
        }
    };
    Ok(order.values().to_vec())
}

struct QueryRows<'a> {
    result: &'a QueryResult,
    columns: &'a [TableColumn],
    is_text_column: &'a [bool],
    order: Option<&'a Vec<u32>>,
    summaries: &'a BTreeMap<usize, AsyncValue<(u64, usize), ColumnSummary>>,
    seen: &'a RefCell<BTreeSet<usize>>,
}

impl QueryRows<'_> {
    fn row(&self, row: u64) -> usize {
        self.order
            .and_then(|order| order.get(row as usize))
            .map_or(row as usize, |&row| row as usize)
    }
}

impl TableSource for QueryRows<'_> {
    fn rows(&self) -> u64 {
        self.result.row_count as u64
    }

    fn columns(&self) -> &[TableColumn] {
        self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        match self.result.table.text(self.row(row), column) {
            text if text.is_empty() => Cell::Empty,
            text if self.is_text_column[column] => Cell::Text(text.into()),
            text => Cell::Mono(text.into()),
        }
    }

    fn head_extra(&self) -> f32 {
        EXTRA
    }

    fn head_extra_ui(&self, painter: &Painter, t: &ThemeTokens, rect: Rect, column: usize) {
        self.seen.borrow_mut().insert(column);
        match self.summaries.get(&column).and_then(AsyncValue::latest) {
            Some(summary) => summary_ui(painter, t, rect, summary),
            None => drop(paint::text_left(
                painter,
                rect,
                "…",
                font::mono(10.5),
                t.tx3,
            )),
        }
    }
}

/// Draws a column summary: histogram or shares of values, with a legend.
pub fn summary_ui(painter: &Painter, t: &ThemeTokens, rect: Rect, summary: &ColumnSummary) {
    let (picture, line) = rect.split_top_bottom_at_y(rect.bottom() - 13.0);
    bars_ui(painter, t, picture, summary);
    let mut words = match (summary.distinct, &summary.histogram) {
        (Some(distinct), None) => tr_n!(
            distinct,
            "{n} value",
            "{n} values",
            n = paint::format_grouped_number(distinct)
        ),
        (_, Some(_)) => summary
            .range
            .as_ref()
            .map_or(String::new(), |(low, high)| format!("{low} – {high}")),
        (None, None) if summary.range.is_some() => tr!("many values").to_owned(),
        (None, None) => String::new(),
    };
    if summary.nulls > 0 {
        let share = 100.0 * summary.nulls as f64 / summary.rows.max(1) as f64;
        words.push(' ');
        if share < 1.0 {
            words.push_str(tr!("<1 % null"))
        } else {
            words.push_str(&tr!("{share} % null", share = format!("{share:.0}")))
        }
    }
    paint::text_left(painter, line, words.trim_start(), font::mono(9.5), t.tx3);
}

fn bars_ui(painter: &Painter, t: &ThemeTokens, rect: Rect, summary: &ColumnSummary) {
    let rect = rect.shrink2(egui::vec2(0.0, 1.0));
    if let Some(bars) = &summary.histogram {
        let most = bars.counts.iter().copied().max().unwrap_or(1).max(1) as f32;
        let width = rect.width() / bars.counts.len() as f32;
        for (index, &count) in bars
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let left = rect.left() + index as f32 * width;
            let height = ((count as f32 / most).sqrt() * rect.height()).max(1.0);
            let bar = Rect::from_min_max(
                pos2(left, rect.bottom() - height),
                pos2(left + (width - 1.0).max(1.0), rect.bottom()),
            );
            painter.rect_filled(bar, 0, t.ctl);
        }
        return;
    }
    let valid = summary.rows.saturating_sub(summary.nulls).max(1) as f32;
    let mut at: Pos2 = pos2(rect.left(), rect.bottom() - 6.0);
    for (index, (_, count)) in summary.top.iter().enumerate() {
        let width = rect.width() * *count as f32 / valid;
        let color = if index % 2 == 0 { t.ctl } else { t.bg4 };
        painter.rect_filled(
            Rect::from_min_size(at, egui::vec2((width - 1.0).max(0.5), 6.0)),
            0,
            color,
        );
        at.x += width;
    }
}
