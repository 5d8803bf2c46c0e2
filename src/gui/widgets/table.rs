//! A virtual table: two-line header, sticky first columns, resizable and sortable columns. A
//! [`TableSource`] provides the visible cells.

use std::borrow::Cow;

use egui::{
    DragAndDrop, Painter, Pos2, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo,
    pos2, vec2,
};

use super::paint;
use super::virtual_rows::{RowScroll, VirtualRows};
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font};

const HEADER: f32 = 36.0;
const GUTTER: f32 = 28.0;
const PAD: f32 = 8.0;
const NARROWEST: f32 = 40.0;
/// Letters of a cell that a column takes free width for.
const WIDEST: usize = 80;

/// Status of a row or a sample, by shape as well as colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusMark {
    /// Unknown, or nothing to mark.
    #[default]
    None,
    /// Checked, fine.
    Ok,
    /// A placeholder.
    Padded,
    Warning,
    /// Breaks a rule.
    Error,
}

impl StatusMark {
    /// Paints the mark around `center`; a tick only where `with_ok`.
    pub fn paint(self, painter: &Painter, t: &ThemeTokens, center: Pos2, with_ok: bool) {
        let (icon, color) = match self {
            StatusMark::Ok if with_ok => (icons::CHECK, t.ok),
            StatusMark::None | StatusMark::Ok => return,
            StatusMark::Padded => (icons::CIRCLE_DASHED, t.tx2),
            StatusMark::Warning => (icons::WARNING, t.warn),
            StatusMark::Error => (icons::WARNING_OCTAGON, t.err),
        };
        paint::draw_icon(painter, center, icon, 15.0, color);
    }
}

/// One position of a row's pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PitMark {
    /// A FOLDER, as the pattern says.
    Folder,
    /// A FILE, as the pattern says.
    File,
    /// A placeholder.
    Padded,
    /// Of the wrong type, or with a finding of its own.
    Wrong,
    /// Another id, or another position.
    Odd,
    /// Missing: a slot.
    Missing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// First line of the header.
    pub name: String,
    /// Second line: the type.
    pub type_name: String,
    /// Width at the start, in points.
    pub width: f32,
    /// Numbers are set at the right.
    pub right: bool,
}

/// Contents of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing: null.
    Empty,
    /// Words.
    Text(Cow<'a, str>),
    /// Ids, numbers, codes.
    Mono(Cow<'a, str>),
    /// FILE or FOLDER with its glyph.
    Glyph(&'static str, Cow<'a, str>),
    /// A small cell for each position of the pattern.
    Pattern(Vec<PitMark>),
    /// Not there yet.
    Pending,
}

/// Where a table's cells come from.
pub trait TableSource {
    /// Number of rows.
    fn rows(&self) -> u64;
    /// The columns, in order. The first one names a row to accessibility.
    fn columns(&self) -> &[TableColumn];
    /// One cell; both numbers are in range.
    fn cell(&self, row: u64, column: usize) -> Cell<'_>;
    /// The status of a row.
    fn mark(&self, _row: u64) -> StatusMark {
        StatusMark::None
    }
    /// Height of the area below the two header lines; 0 for none.
    fn head_extra(&self) -> f32 {
        0.0
    }
    /// Paints that area for a visible column.
    fn head_extra_ui(&self, _painter: &Painter, _t: &ThemeTokens, _rect: Rect, _column: usize) {}
    /// The row's accessible name, by default the first cell.
    fn name(&self, row: u64) -> String {
        match self.cell(row, 0) {
            Cell::Text(text) | Cell::Mono(text) | Cell::Glyph(_, text) => text.into_owned(),
            _ => tr!("row {row}", row = row + 1),
        }
    }
}

/// Scroll position and column widths of a table.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableState {
    /// Vertical position.
    pub scroll: RowScroll,
    x: f32,
    widths: Vec<f32>,
    #[serde(skip)]
    names: Vec<String>,
    /// Widths that the rows seen so far need. They grow only, so that scrolling moves no column.
    #[serde(skip)]
    needed: Vec<f32>,
    /// First row, number of rows and whether all cells were there, when the needed widths were
    /// measured last.
    #[serde(skip)]
    measured: (u64, u64, bool),
}

/// Interactions of this frame.
#[derive(Default)]
pub struct TableOutput {
    /// The row to select.
    pub selected: Option<u64>,
    /// A row was opened by Enter or double click.
    pub activated: Option<u64>,
    /// The head of this column was clicked.
    pub header_clicked: Option<usize>,
    /// The row under a drag.
    pub under: Option<(u64, Response)>,
}

/// A table. `Table::new("Level 0", &source).selected(row).show(ui, &mut state, |_, _| {})`.
#[must_use = "call show"]
pub struct TableWidget<'a> {
    name: &'a str,
    source: &'a dyn TableSource,
    selected: Option<u64>,
    sticky: usize,
    sorted: Option<(usize, bool)>,
}

struct TableWidgetLayout {
    gutter: Rect,
    /// Left edge and width of every column, already scrolled.
    columns: Vec<(f32, f32)>,
    sticky_end: f32,
}

impl<'a> TableWidget<'a> {
    /// A table over `source`; `name` is its accessible name.
    pub fn new(name: &'a str, source: &'a dyn TableSource) -> Self {
        Self {
            name,
            source,
            selected: None,
            sticky: 2,
            sorted: None,
        }
    }

    /// The selected row.
    pub fn with_selected_row(mut self, row: Option<u64>) -> Self {
        self.selected = row;
        self
    }

    /// Number of columns that do not scroll sideways.
    pub fn sticky(mut self, columns: usize) -> Self {
        self.sticky = columns;
        self
    }

    /// Marks the column that the rows are sorted by, and whether downwards.
    pub fn with_sorted_column(mut self, by: Option<(usize, bool)>) -> Self {
        self.sorted = by;
        self
    }

    /// Fills the available space. `menu` fills the context menu of a row.
    pub fn show(
        self,
        ui: &mut Ui,
        state: &mut TableState,
        mut menu: impl FnMut(&mut Ui, u64),
    ) -> TableOutput {
        let t = theme::tokens(ui);
        let columns = self.source.columns();
        self.adopt(state, columns);
        let area = ui.available_rect_before_wrap();
        let mut output = TableOutput::default();
        self.scroll_sideways(ui, area, state);
        self.measure(ui, area, state);
        let layout = self.layout(area, state);
        let header = Rect::from_min_size(
            area.min,
            vec2(area.width(), HEADER + self.source.head_extra()),
        );
        self.header_ui(ui, t, header, &layout, state, &mut output);
        let body = Rect::from_min_max(pos2(area.left(), header.bottom()), area.max);
        let mut child = ui.new_child(
            egui::UiBuilder::new()
                .max_rect(body)
                .id_salt(("table", self.name)),
        );
        let list = VirtualRows::new(self.name, self.source.rows())
            .cursor(self.selected)
            .role(Role::Table);
        let out = list.show(&mut child, &mut state.scroll, |ui, row, rect, response| {
            let selected = self.selected == Some(row);
            let enabled = ui.is_enabled();
            response.widget_info(|| {
                WidgetInfo::selected(Role::Row, enabled, selected, self.source.name(row))
            });
            ui.ctx()
                .accesskit_node_builder(response.id, |node| node.set_selected(selected));
            self.row_ui(ui, t, rect, row, &layout, selected, response.hovered());
            response.context_menu(|ui| menu(ui, row));
            if DragAndDrop::has_any_payload(ui.ctx()) && response.contains_pointer() {
                output.under = Some((row, response.clone()));
            }
        });
        output.selected = out.moved_to.or(out.clicked);
        output.activated = out.double_clicked.or(self.selected.filter(|_| out.entered));
        self.sideways_bar(ui, area, state);
        ui.advance_cursor_after_rect(area);
        output
    }

    /// Keeps column widths by name when the columns change.
    fn adopt(&self, state: &mut TableState, columns: &[TableColumn]) {
        let same = state.names.len() == columns.len()
            && state
                .names
                .iter()
                .zip(columns)
                .all(|(name, column)| *name == column.name);
        if same && state.widths.len() == columns.len() {
            return;
        }
        let old: Vec<(String, f32)> = state.names.drain(..).zip(state.widths.drain(..)).collect();
        for column in columns {
            let kept = old
                .iter()
                .find(|(name, _)| *name == column.name)
                .map(|(_, width)| *width);
            state
                .widths
                .push(kept.unwrap_or(column.width).max(NARROWEST));
            state.names.push(column.name.clone());
        }
        state.x = 0.0;
        (state.needed, state.measured) = (Vec::new(), (0, 0, false));
    }

    /// Measures how wide the cells of the visible rows are, after scrolling and while cells are
    /// missing.
    fn measure(&self, ui: &Ui, area: Rect, state: &mut TableState) {
        let (first, rows) = (state.scroll.first(), self.source.rows());
        // Without free width nothing grows.
        if self.content_width(state) >= area.width() {
            return;
        }
        if state.needed.len() == state.widths.len() && state.measured == (first, rows, true) {
            return;
        }
        let letter = ui
            .ctx()
            .fonts_mut(|fonts| fonts.glyph_width(&font::mono(12.0), 'M'));
        state.needed.resize(state.widths.len(), 0.0);
        let mut is_whole = true;
        let last = rows.min(first + (area.height() / 24.0) as u64 + 1);
        for (column, needed) in state.needed.iter_mut().enumerate() {
            for row in first..last {
                let (letters, icon) = match &self.source.cell(row, column) {
                    Cell::Text(text) | Cell::Mono(text) => (text.chars().take(WIDEST).count(), 0.0),
                    Cell::Glyph(_, text) => (text.chars().take(WIDEST).count(), 19.0),
                    Cell::Pending => {
                        is_whole = false;
                        (0, 0.0)
                    }
                    Cell::Empty | Cell::Pattern(_) => (0, 0.0),
                };
                *needed = needed.max(letters as f32 * letter + icon + 2.0 * PAD + 2.0);
            }
        }
        state.measured = (first, rows, is_whole);
    }

    /// Widths as shown: columns whose cells would be cut take what the others leave free, the first
    /// ones first.
    fn shown_widths(&self, area: Rect, state: &TableState) -> Vec<f32> {
        let mut free = (area.width() - self.content_width(state)).max(0.0);
        let widths = state.widths.iter().enumerate().map(|(index, &width)| {
            // A column that was dragged keeps the width that it was given.
            let is_own = self
                .source
                .columns()
                .get(index)
                .is_none_or(|column| column.width.max(NARROWEST) != width);
            let lacking = (state.needed.get(index).copied().unwrap_or(0.0) - width).max(0.0);
            let taken = if is_own { 0.0 } else { lacking.min(free) };
            free -= taken;
            width + taken
        });
        widths.collect()
    }

    fn content_width(&self, state: &TableState) -> f32 {
        GUTTER + state.widths.iter().sum::<f32>() + PAD
    }

    fn scroll_sideways(&self, ui: &Ui, area: Rect, state: &mut TableState) {
        let most = (self.content_width(state) - area.width()).max(0.0);
        if most > 0.0 && ui.rect_contains_pointer(area) {
            state.x -= ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.x));
        }
        state.x = state.x.clamp(0.0, most).round();
    }

    fn layout(&self, area: Rect, state: &TableState) -> TableWidgetLayout {
        let mut left = area.left() + GUTTER;
        let mut sticky_end = left;
        let widths = self.shown_widths(area, state);
        let mut columns = Vec::with_capacity(widths.len());
        for (index, width) in widths.into_iter().enumerate() {
            let shift = if index < self.sticky { 0.0 } else { state.x };
            columns.push((left - shift, width));
            left += width;
            if index < self.sticky {
                sticky_end = left;
            }
        }
        let gutter = Rect::from_min_size(area.min, vec2(GUTTER, area.height()));
        TableWidgetLayout {
            gutter,
            columns,
            sticky_end,
        }
    }

    /// The part of a column's cell in `rect` that is not under the sticky columns.
    fn cell_rect(
        &self,
        layout: &TableWidgetLayout,
        rect: Rect,
        index: usize,
    ) -> Option<(Rect, Rect)> {
        let (left, width) = layout.columns[index];
        let cell = Rect::from_min_max(pos2(left, rect.top()), pos2(left + width, rect.bottom()));
        let from = if index < self.sticky {
            rect.left()
        } else {
            layout.sticky_end
        };
        let clip = Rect::from_min_max(
            pos2(cell.left().max(from), rect.top()),
            pos2(cell.right().min(rect.right()), rect.bottom()),
        );
        (clip.width() > 0.0).then_some((cell, clip))
    }

    fn header_ui(
        &self,
        ui: &Ui,
        t: &ThemeTokens,
        rect: Rect,
        layout: &TableWidgetLayout,
        state: &mut TableState,
        output: &mut TableOutput,
    ) {
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 0, t.bg2);
        painter.hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            Stroke::new(1.0, t.line),
        );
        let enabled = ui.is_enabled();
        for (index, column) in self.source.columns().iter().enumerate() {
            let Some((cell, clip)) = self.cell_rect(layout, rect, index) else {
                continue;
            };
            let id = ui.scope_id().with(("head", self.name, index));
            let response = ui.interact(clip.shrink2(vec2(3.0, 0.0)), id, Sense::click());
            response.widget_info(|| {
                WidgetInfo::labeled(
                    Role::ColumnHeader,
                    enabled,
                    tr!("Column {name}", name = column.name),
                )
            });
            if response.clicked() {
                output.header_clicked = Some(index);
            }
            let painter = painter.with_clip_rect(clip.intersect(ui.clip_rect()));
            let inner = cell.shrink2(vec2(PAD, 0.0));
            let (inner, extra) = inner.split_top_bottom_at_y(inner.top() + HEADER);
            if extra.height() > 0.0 {
                self.source
                    .head_extra_ui(&painter, t, extra.shrink2(vec2(0.0, 2.0)), index);
            }
            let (top, bottom) = inner.split_top_bottom_at_fraction(0.5);
            let (name, kind) = (
                top.translate(vec2(0.0, 2.0)),
                bottom.translate(vec2(0.0, -2.0)),
            );
            let color = if response.hovered() { t.acc } else { t.tx };
            let end = if column.right {
                paint::text_right(&painter, name, &column.name, font::medium(12.0), color) - 8.0
            } else {
                paint::text_left(&painter, name, &column.name, font::medium(12.0), color) + 8.0
            };
            if column.right {
                paint::text_right(&painter, kind, &column.type_name, font::mono(10.5), t.tx3)
            } else {
                paint::text_left(&painter, kind, &column.type_name, font::mono(10.5), t.tx3)
            };
            if let Some((_, down)) = self.sorted.filter(|(by, _)| *by == index) {
                let icon = if down {
                    icons::CARET_DOWN
                } else {
                    icons::CARET_UP
                };
                paint::draw_icon(&painter, pos2(end, name.center().y), icon, 11.0, t.tx2);
            }
            paint::focus_ring(ui, &response, 2);
            self.resize(ui, t, rect, cell, clip, index, state);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one place, all of them geometry")]
    fn resize(
        &self,
        ui: &Ui,
        t: &ThemeTokens,
        header: Rect,
        cell: Rect,
        clip: Rect,
        index: usize,
        state: &mut TableState,
    ) {
        if (clip.right() - cell.right()).abs() > 1.0 {
            return;
        }
        let grip = Rect::from_center_size(
            pos2(cell.right(), header.center().y),
            vec2(7.0, header.height()),
        );
        let response = ui.interact(
            grip,
            ui.scope_id().with(("grip", self.name, index)),
            Sense::click_and_drag() - Sense::FOCUSABLE,
        );
        let column = &self.source.columns()[index];
        response.widget_info(|| {
            WidgetInfo::labeled(
                Role::Splitter,
                true,
                tr!("Width of {name}", name = column.name),
            )
        });
        if response.double_clicked() {
            state.widths[index] = column.width;
        } else if response.dragged() {
            state.widths[index] = (cell.width() + response.drag_delta().x).clamp(NARROWEST, 1200.0);
        }
        if response.hovered() || response.dragged() {
            ui.painter().vline(
                cell.right() - 0.5,
                header.y_range(),
                Stroke::new(2.0, t.accfill),
            );
        }
        response.on_hover_cursor(egui::CursorIcon::ResizeHorizontal);
    }

    #[expect(clippy::too_many_arguments, reason = "one place, all of them geometry")]
    fn row_ui(
        &self,
        ui: &Ui,
        t: &ThemeTokens,
        rect: Rect,
        row: u64,
        layout: &TableWidgetLayout,
        selected: bool,
        hovered: bool,
    ) {
        let painter = ui.painter();
        paint::row_with_line(painter, t, rect, selected, hovered);
        self.source.mark(row).paint(
            painter,
            t,
            pos2(layout.gutter.center().x, rect.center().y),
            false,
        );
        for (index, column) in self.source.columns().iter().enumerate() {
            let Some((cell, clip)) = self.cell_rect(layout, rect, index) else {
                continue;
            };
            let painter = painter.with_clip_rect(clip.intersect(ui.clip_rect()));
            cell_ui(
                &painter,
                t,
                cell.shrink2(vec2(PAD, 0.0)),
                &self.source.cell(row, index),
                column.right,
            );
        }
    }

    fn sideways_bar(&self, ui: &Ui, area: Rect, state: &mut TableState) {
        let content = self.content_width(state);
        let most = content - area.width();
        if most <= 0.0 {
            return;
        }
        let t = theme::tokens(ui);
        let track = Rect::from_min_max(
            pos2(area.left() + 1.0, area.bottom() - 7.0),
            pos2(area.right() - 9.0, area.bottom() - 1.0),
        );
        let length = (track.width() * area.width() / content).max(28.0);
        let room = (track.width() - length).max(1.0);
        let response = ui.interact(
            track.expand2(vec2(0.0, 2.0)),
            ui.scope_id().with(("sideways", self.name)),
            Sense::DRAG,
        );
        if response.dragged() {
            state.x = (state.x + response.drag_delta().x * most / room).clamp(0.0, most);
        }
        let left = track.left() + state.x / most * room;
        let color = if response.hovered() || response.dragged() {
            t.ctl
        } else {
            t.bg4
        };
        ui.painter().rect_filled(
            Rect::from_min_size(pos2(left, track.top()), vec2(length, 6.0)),
            3,
            color,
        );
    }
}

fn cell_ui(painter: &Painter, t: &ThemeTokens, rect: Rect, cell: &Cell<'_>, right: bool) {
    let (text, size) = match cell {
        Cell::Empty => return,
        Cell::Pending => ("…", font::mono(12.0)),
        Cell::Text(text) => (text.as_ref(), font::regular(12.0)),
        Cell::Mono(text) => (text.as_ref(), font::mono(12.0)),
        Cell::Glyph(icon, text) => {
            paint::draw_icon(
                painter,
                pos2(rect.left() + 7.0, rect.center().y),
                icon,
                14.0,
                t.tx3,
            );
            paint::text_left(
                painter,
                rect.with_min_x(rect.left() + 19.0),
                text,
                font::mono(12.0),
                t.tx2,
            );
            return;
        }
        Cell::Pattern(marks) => return pattern_ui(painter, t, rect, marks),
    };
    let color = if matches!(cell, Cell::Pending) {
        t.tx3
    } else {
        t.tx
    };
    if right {
        paint::text_right(painter, rect, text, size, color)
    } else {
        paint::text_left(painter, rect, text, size, color)
    };
}

fn pattern_ui(painter: &Painter, t: &ThemeTokens, rect: Rect, marks: &[PitMark]) {
    let mut x = rect.left();
    for mark in marks {
        let (width, height) = if *mark == PitMark::Folder {
            (7.0, 12.0)
        } else {
            (7.0, 8.0)
        };
        if x + width > rect.right() {
            break;
        }
        let cell = Rect::from_min_size(
            pos2(x, (rect.center().y - height / 2.0).round()),
            vec2(width, height),
        );
        match mark {
            PitMark::Folder => drop(painter.rect_filled(cell, 1, t.tx3)),
            PitMark::File => drop(painter.rect_filled(cell, 1, t.ctl)),
            PitMark::Padded => paint::dashed_rect(painter, cell, t.tx3),
            PitMark::Wrong | PitMark::Odd => {
                let cell = Rect::from_center_size(cell.center(), vec2(7.0, 12.0));
                let (fill, line) = if *mark == PitMark::Wrong {
                    (t.err, t.err)
                } else {
                    (t.warnbg, t.warn)
                };
                painter.rect(cell, 1, fill, Stroke::new(1.0, line), StrokeKind::Inside);
                let color = if *mark == PitMark::Wrong {
                    t.errbg
                } else {
                    t.warn
                };
                paint::text_center(
                    painter,
                    cell.expand2(vec2(2.0, 0.0)),
                    "!",
                    font::semibold(10.0),
                    color,
                );
            }
            PitMark::Missing => {
                let cell = Rect::from_center_size(cell.center(), vec2(7.0, 12.0));
                painter.rect(
                    cell,
                    1,
                    t.errbg,
                    Stroke::new(1.0, t.err),
                    StrokeKind::Inside,
                );
                let cross = Rect::from_center_size(cell.center(), vec2(4.0, 4.0));
                let stroke = Stroke::new(1.0, t.err);
                painter.line_segment([cross.left_top(), cross.right_bottom()], stroke);
                painter.line_segment([cross.right_top(), cross.left_bottom()], stroke);
            }
        }
        x += width + 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    struct Numbers {
        rows: u64,
        columns: Vec<TableColumn>,
        asked: std::cell::Cell<u64>,
    }

    impl TableSource for Numbers {
        fn rows(&self) -> u64 {
            self.rows
        }
        fn columns(&self) -> &[TableColumn] {
            &self.columns
        }
        fn cell(&self, row: u64, column: usize) -> Cell<'_> {
            self.asked.set(self.asked.get() + 1);
            Cell::Mono(if column == 0 {
                format!("roi_{row}").into()
            } else {
                format!("{row}.{column}").into()
            })
        }
    }

    struct State {
        source: Numbers,
        table: TableState,
        selected: Option<u64>,
        sort: Option<usize>,
    }

    fn harness(columns: usize) -> Harness<'static, State> {
        let column = |index: usize| TableColumn {
            name: format!("c{index}"),
            type_name: "int64".into(),
            width: 100.0,
            right: index > 0,
        };
        let source = Numbers {
            rows: 1_000_000,
            columns: (0..columns).map(column).collect(),
            asked: 0.into(),
        };
        let state = State {
            source,
            table: TableState::default(),
            selected: None,
            sort: None,
        };
        Harness::builder()
            .with_size(vec2(400.0, 300.0))
            .with_context_setup(theme::install)
            .build_ui_state(
                |ui, state: &mut State| {
                    let table = TableWidget::new("Level 0", &state.source)
                        .with_selected_row(state.selected);
                    let out = table.show(ui, &mut state.table, |_, _| {});
                    state.selected = out.selected.or(state.selected);
                    state.sort = out.header_clicked.or(state.sort);
                },
                state,
            )
    }

    #[test]
    fn only_visible_cells_are_asked_for() {
        let mut harness = harness(200);
        harness.state_mut().table.scroll.go_to(999_000);
        harness.state_mut().source.asked.set(0);
        harness.step();
        let asked = harness.state().source.asked.get();
        assert!(asked < 200, "{asked} cells for 11 rows and 4 columns");
        harness.get_by_label("roi_999003").click();
        harness.run();
        assert_eq!(harness.state().selected, Some(999_003));
    }

    #[test]
    fn a_column_that_would_cut_its_cells_takes_free_width() {
        let mut harness = harness(2);
        harness.state_mut().source.columns[0].width = 60.0;
        harness.state_mut().source.columns[0].name = "id".into();
        harness.state_mut().table.scroll.go_to(900_000);
        harness.run();
        let (id, other) = (
            harness.get_by_label("Column id").rect(),
            harness.get_by_label("Column c1").rect(),
        );
        // `roi_900000` has ten letters.
        assert!(id.width() > 75.0 && id.width() < 130.0, "{id}");
        assert!(other.left() >= id.right(), "{other}");
    }

    #[test]
    fn sticky_columns_stay_when_the_others_scroll() {
        let mut harness = harness(8);
        let first = harness.get_by_label("Column c0").rect();
        harness.state_mut().table.x = 200.0;
        harness.run();
        assert_eq!(harness.get_by_label("Column c0").rect(), first);
        assert!(
            harness.query_by_label("Column c2").is_none(),
            "c2 is under the sticky columns"
        );
        assert!(harness.query_by_label("Column c4").is_some());
    }

    #[test]
    fn a_grip_changes_the_width_and_a_head_asks_to_sort() {
        let mut harness = harness(3);
        let grip = harness.get_by_label("Width of c0").rect().center();
        harness.drag_at(grip);
        harness.run();
        harness.hover_at(grip + vec2(40.0, 0.0));
        harness.run();
        harness.drop_at(grip + vec2(40.0, 0.0));
        harness.run();
        assert_eq!(harness.state().table.widths[0], 140.0);
        harness.get_by_label("Column c1").click();
        harness.run();
        assert_eq!(harness.state().sort, Some(1));
    }
}
