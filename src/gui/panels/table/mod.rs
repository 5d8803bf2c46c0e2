//! One level as a table, with the columns of that level and the pattern of each root.

pub mod state;

use arrow::datatypes::DataType;
use egui::{Align, Frame, Layout, Margin, Ui};

use super::tree::drop_target;
use crate::draft::PositionState;
use crate::gui::action::Action;
use crate::gui::draft_structure::StructureSummary;
use crate::gui::outline::{OutlineNode, ancestors};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::sample_status::SampleStatus;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{
    self, Button, Cell, EmptyState, PitMark, Segment, StatusMark, TableColumn, TableSource,
    TableState, TableWidget, TextField, paint,
};
use crate::gui::{drag, filters, icons};
use crate::model::{SampleKind, SamplePath, dtype_name, is_padding};
use crate::studio::{Document, RowRef};
use crate::text::{PrintableLine, current_language};
use state::{FieldFormat, TableKind, TablePanel};

/// Most pattern cells drawn.
const PATTERN_SHOWN: usize = 32;

impl Panel for TablePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            let (title, why) = (
                tr!("No table"),
                tr!("A table shows one level of an open dataset."),
            );
            widgets::draw_empty_state(ui, icons::TABLE, title, why);
            return;
        };
        if document.rows(0) == 0 {
            return empty_ui(ui, cx, document);
        }
        super::structure::update_summary(cx);
        // A finding or an edit that removed levels may have left a level that is not there.
        let last = document.tree().levels.len().saturating_sub(1);
        let level = &mut cx.session.selection.level;
        *level = (*level).min(last);
        refresh(self, cx, document);
        toolbar_ui(ui, self, cx, document);
        filters::bar_ui(ui, cx, document, cx.session.selection.level);
        let level = cx.session.selection.level;
        cx.want_level(level);
        let kept = cx.studio.filtered_rows().cloned();
        let shown = kept.as_ref().and_then(|kept| kept.rows(level));
        let place = |row: u32| place_of(shown, row);
        let selected = cx.session.selection.sample;
        let row = selected
            .and_then(|at| row_at_level(document, at, level))
            .and_then(place);
        let status = cx.session.status.samples.clone();
        if let Some(at) = self.reveal.take()
            && let Some(row) = row_at_level(document, at, level)
            && let Some(place) = place(row)
        {
            self.table.scroll.reveal(place);
        }
        let mut table = std::mem::take(&mut self.table);
        let summary = cx.session.structure.summary.clone();
        let source = ShownLevel {
            document,
            level,
            kinds: &self.kinds,
            columns: &self.columns,
            status: &status,
            shown,
            summary: &summary,
        };
        let name = tr!("Level {level}", level);
        let mut requests = Vec::new();
        let out = TableWidget::new(&name, &source)
            .with_selected_row(row)
            .show(ui, &mut table, |ui, row| {
                let at = source.row_at(row);
                if widgets::menu_entry(ui, icons::COPY, tr!("Copy id path"), "", None).clicked()
                    && let Some(path) = document.path(at)
                {
                    requests.push(Request::Copy(path.to_archive()));
                    ui.close();
                }
                if widgets::menu_entry(ui, icons::COPY, tr!("Copy row as text"), "", None).clicked()
                {
                    requests.push(Request::Copy(source.line(row)));
                    ui.close();
                }
            });
        let picked = out.selected.map(|row| source.row_at(row));
        let dropped = out.under.and_then(|(row, response)| {
            let what = drag::dragged_payload(ui.ctx()).filter(|_| document.draft().is_some())?;
            let node = OutlineNode {
                depth: 0,
                at: Some(source.row_at(row)),
                gap: None,
            };
            drop_target::row_ui(ui, document, node, response.rect, &response, Some(&what))
        });
        self.table = table;
        cx.requests.extend(requests);
        if picked.is_some() {
            cx.request(Request::Select(picked));
        }
        // In a draft a click on a column header opens the column dialog.
        if let Some(TableKind::Field(name, _)) =
            out.header_clicked.and_then(|index| self.kinds.get(index))
            && document.draft().is_some()
            && let Some(field) = document
                .fields(level)
                .into_iter()
                .find(|field| field.name == *name)
        {
            cx.request(Request::Column(level, Some(field)));
        }
        if let Some((what, target)) = dropped {
            drag::perform_drop(cx, document, &what, &target);
        }
        if out.activated.is_some() {
            cx.request(Request::Do(Action::ShowPreview));
        }
    }
}

fn empty_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document) {
    let draft = document.draft().is_some();
    let why = if draft {
        tr!("Drop files or folders: folders become FOLDERs of the dataset, files become FILEs.")
    } else {
        tr!("Level 0 of this dataset has no rows.")
    };
    let both = [tr!("Add folder…"), tr!("Add files…")];
    let actions: &[&str] = if draft { &both } else { &[] };
    let title = tr!("No samples yet");
    match widgets::draw_empty_state_with_actions(
        ui,
        &EmptyState {
            icon: icons::TRAY_ARROW_DOWN,
            title,
            why,
            actions,
        },
    ) {
        Some(0) => cx.request(Request::Do(Action::AddFolder)),
        Some(_) => cx.request(Request::Do(Action::AddFiles)),
        None => {}
    }
}

/// Index of a row of the level among the visible rows, from 0.
fn place_of(shown: Option<&[u32]>, row: u32) -> Option<u64> {
    match shown {
        Some(rows) => rows.binary_search(&row).ok().map(|place| place as u64),
        None => Some(u64::from(row)),
    }
}

/// The index for a typed row number (from 1), clamped to the last row. `None` without rows.
fn place_typed(text: &str, rows: u64) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let number = digits.parse::<u64>().ok()?;
    Some(number.saturating_sub(1).min(rows.checked_sub(1)?))
}

/// The row in `level` of `at` or of its ancestor.
fn row_at_level(document: &Document, at: RowRef, level: usize) -> Option<u32> {
    if at.level == level {
        return Some(at.row);
    }
    ancestors(document.tree(), at)
        .into_iter()
        .find(|above| above.level == level)
        .map(|above| above.row)
}

fn refresh(panel: &mut TablePanel, cx: &mut PanelContext<'_>, document: &Document) {
    let level = cx.session.selection.level;
    let key = cx.document_key();
    let wanted = Some((
        key,
        level,
        panel.hidden_changes,
        document.level_ready(level),
        current_language(),
    ));
    if panel.made_for == wanted {
        return;
    }
    if panel.made_for.is_none_or(|(_, shown, ..)| shown != level) {
        panel.table = TableState::default();
    }
    panel.made_for = wanted;
    let Some(rows) = document.tree().levels.get(level) else {
        return;
    };
    let mut all = vec![(TableKind::Id, column("id", "string", 120.0, false))];
    if level > 0 {
        all.push((
            TableKind::Parent,
            column(tr!("parent"), "path", 140.0, false),
        ));
    }
    let positions = match document.draft().filter(|_| level == 0) {
        Some(_) => cx.session.structure.summary.pattern.len(),
        None => pattern_of(document, level, 0).len(),
    };
    if positions > 0 {
        let width = (positions.min(PATTERN_SHOWN) as f32 * 9.0 + 20.0).max(86.0);
        let cells = tr_n!(positions, "{n} position", "{n} positions", n = positions);
        all.push((
            TableKind::Pattern,
            column(tr!("pattern"), &cells, width, false),
        ));
    }
    all.push((TableKind::Type, column("type", "string", 84.0, false)));
    for field in document.fields(level) {
        let number = field.dtype.is_numeric();
        let name = dtype_name(&field.dtype);
        let letters =
            (field.name.chars().count() as f32 * 6.9).max(name.chars().count() as f32 * 6.4);
        let width = (letters + 22.0).clamp(76.0, 220.0);
        let words = matches!(
            field.dtype,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean
        );
        let shown = if words {
            FieldFormat::Words
        } else {
            FieldFormat::Mono
        };
        all.push((
            TableKind::Field(field.name.clone(), shown),
            column(&field.name, &name, width, number),
        ));
    }
    if document.draft().is_some() || rows.folder.iter().any(|folder| !folder) {
        all.push((TableKind::Size, column(tr!("size"), "bytes", 80.0, true)));
    }
    panel.all = all.iter().map(|(_, column)| column.name.clone()).collect();
    all.retain(|(kind, column)| *kind == TableKind::Id || !panel.hidden.contains(&column.name));
    (panel.kinds, panel.columns) = all.into_iter().unzip();
}

fn column(name: &str, type_name: &str, width: f32, right: bool) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        width,
        right,
    }
}

fn toolbar_ui(ui: &mut Ui, panel: &mut TablePanel, cx: &mut PanelContext<'_>, document: &Document) {
    let t = theme::tokens(ui);
    let bar = Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(8, 6));
    bar.show(ui, |ui| {
        ui.set_height(24.0);
        ui.horizontal_centered(|ui| {
            let titles: Vec<String> = (0..document.tree().levels.len())
                .map(|level| tr!("Level {level}", level))
                .collect();
            let segments: Vec<_> = titles
                .iter()
                .enumerate()
                .map(|(level, title)| Segment::new(level, title).count(document.rows(level) as u64))
                .collect();
            widgets::draw_segments(ui, "levels", &mut cx.session.selection.level, &segments);
            ui.separator();
            columns_ui(ui, panel);
            let add = Button::ghost(tr!("Add column")).icon(icons::PLUS);
            if document.draft().is_some()
                && ui
                    .add(add.tooltip(tr!("Add a field to every sample of this level")))
                    .clicked()
            {
                cx.request(Request::Column(cx.session.selection.level, None));
            }
            go_to_ui(ui, panel, cx, document);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let level = cx.session.selection.level;
                let all = document.rows(level) as u64;
                let kept = cx.studio.filtered_rows().cloned();
                let shown = kept.as_ref().and_then(|kept| kept.rows(level));
                let rows = shown.map_or(all, |rows| rows.len() as u64);
                let n = match shown {
                    Some(_) => tr!(
                        "{shown} of {all}",
                        shown = paint::format_grouped_number(rows),
                        all = paint::format_grouped_number(all)
                    ),
                    None => paint::format_grouped_number(all),
                };
                let row = cx
                    .session
                    .selection
                    .sample
                    .and_then(|at| row_at_level(document, at, level));
                let text = match row.and_then(|row| place_of(shown, row)) {
                    Some(place) => {
                        let row = paint::format_grouped_number(place + 1);
                        tr_n!(rows, "row {row}, {n} row", "row {row}, {n} rows", row, n)
                    }
                    None => tr_n!(rows, "{n} row", "{n} rows", n),
                };
                ui.add(
                    egui::Label::new(
                        theme::rich_text(text)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    )
                    .truncate(),
                );
            });
        });
    });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        egui::Stroke::new(1.0, t.line),
    );
}

fn columns_ui(ui: &mut Ui, panel: &mut TablePanel) {
    let label = tr!(
        "Columns {shown}/{all}",
        shown = panel.columns.len(),
        all = panel.all.len()
    );
    let button = Button::ghost(label)
        .icon(icons::COLUMNS)
        .name(tr!("Columns"));
    let button = ui.add(button.tooltip(tr!("Choose the columns that show")));
    egui::Popup::menu(&button)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            egui::ScrollArea::vertical()
                .max_height(320.0)
                .show(ui, |ui| {
                    for name in panel.all.iter().skip(1) {
                        let mut shown = !panel.hidden.contains(name);
                        if widgets::checkbox(ui, &mut shown, name).changed() {
                            if shown {
                                panel.hidden.remove(name);
                            } else {
                                panel.hidden.insert(name.clone());
                            }
                            panel.hidden_changes += 1;
                        }
                    }
                });
        });
}

fn go_to_ui(ui: &mut Ui, panel: &mut TablePanel, cx: &mut PanelContext<'_>, document: &Document) {
    let level = cx.session.selection.level;
    if !panel.going {
        if ui
            .add(
                Button::ghost(tr!("Go to row"))
                    .icon(icons::ARROW_ELBOW_DOWN_RIGHT)
                    .tooltip("Ctrl G"),
            )
            .clicked()
        {
            panel.start_go_to();
        }
        return;
    }
    let id = egui::Id::unique("go-to-row");
    let entered = ui.input(|input| input.key_pressed(egui::Key::Enter));
    let field = TextField::new(tr!("Row number"), &mut panel.go_to)
        .id(id)
        .hide_label()
        .mono()
        .width(110.0);
    let response = field.hint(tr!("row number")).show(ui);
    if response.lost_focus() {
        panel.going = false;
        let kept = cx.studio.filtered_rows().cloned();
        let shown = kept.as_ref().and_then(|kept| kept.rows(level));
        let rows = shown.map_or(document.rows(level), <[u32]>::len) as u64;
        if let Some(place) = place_typed(&panel.go_to, rows).filter(|_| entered) {
            panel.table.scroll.go_to(place);
            let row = shown.map_or(place as u32, |shown| shown[place as usize]);
            cx.request(Request::Select(Some(RowRef { level, row })));
        }
    } else if !response.has_focus() {
        response.request_focus();
    }
}

struct ShownLevel<'a> {
    document: &'a Document,
    level: usize,
    kinds: &'a [TableKind],
    columns: &'a [TableColumn],
    status: &'a SampleStatus,
    /// The rows that match the filter.
    shown: Option<&'a [u32]>,
    summary: &'a StructureSummary,
}

impl ShownLevel<'_> {
    fn row_at(&self, row: u64) -> RowRef {
        let row = self.shown.map_or(row as u32, |rows| {
            rows.get(row as usize).copied().unwrap_or(u32::MAX)
        });
        RowRef {
            level: self.level,
            row,
        }
    }

    /// A row as tab-separated text.
    fn line(&self, row: u64) -> String {
        (0..self.columns.len())
            .map(|column| self.cell_text_line(row, column))
            .collect::<Vec<_>>()
            .join("\t")
    }

    /// The text of a cell on one line; empty for a cell without text.
    fn cell_text_line(&self, row: u64, column: usize) -> String {
        match self.cell(row, column) {
            // A tab or line break in a value would begin another cell or row.
            Cell::Text(text) | Cell::Mono(text) | Cell::Glyph(_, text) => {
                text.printable_line().into_owned()
            }
            _ => String::new(),
        }
    }
}

impl TableSource for ShownLevel<'_> {
    fn rows(&self) -> u64 {
        self.shown
            .map_or(self.document.rows(self.level), <[u32]>::len) as u64
    }

    fn columns(&self) -> &[TableColumn] {
        self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let at = self.row_at(row);
        match &self.kinds[column] {
            TableKind::Id => self
                .document
                .id(at)
                .map_or(Cell::Empty, |id| Cell::Mono(id.into())),
            TableKind::Parent => match self.document.path(at) {
                Some(path) => {
                    let above = &path.0[..path.0.len().saturating_sub(1)];
                    Cell::Mono(SamplePath(above.to_vec()).to_string().into())
                }
                None => Cell::Empty,
            },
            TableKind::Type => match self.document.kind(at) {
                Some(SampleKind::Folder) => Cell::Glyph(icons::STACK, "FOLDER".into()),
                Some(SampleKind::File) if self.document.id(at).is_some_and(is_padding) => {
                    Cell::Glyph(icons::CIRCLE_DASHED, "FILE".into())
                }
                Some(SampleKind::File) => Cell::Glyph(
                    self.document.id(at).map_or(icons::FILE, icons::of_file),
                    "FILE".into(),
                ),
                None => Cell::Empty,
            },
            TableKind::Pattern => Cell::Pattern(self.pattern(at)),
            TableKind::Size => self.document.size_bytes(at).map_or(Cell::Empty, |size| {
                Cell::Mono(paint::format_bytes(size).into())
            }),
            TableKind::Field(..) if !self.document.level_ready(self.level) => Cell::Pending,
            TableKind::Field(name, shown) => match (self.document.text(at, name), shown) {
                (text, _) if text.is_empty() => Cell::Empty,
                (text, FieldFormat::Words) => Cell::Text(text.into()),
                (text, FieldFormat::Mono) => Cell::Mono(text.into()),
            },
        }
    }

    fn mark(&self, row: u64) -> StatusMark {
        let at = self.row_at(row);
        match self.status.worst_mark(Some(at)) {
            StatusMark::None | StatusMark::Ok if self.document.id(at).is_some_and(is_padding) => {
                StatusMark::Padded
            }
            mark => mark,
        }
    }
}

impl ShownLevel<'_> {
    /// The pattern positions of one root, including missing ones.
    fn beside_pattern(&self, root: u32) -> Option<Vec<PitMark>> {
        let structure = self.document.structure()?;
        let states = structure.states(root as usize);
        Some(
            states
                .iter()
                .zip(&self.summary.pattern)
                .take(PATTERN_SHOWN)
                .map(|(state, node)| choose_pattern_mark(*state, node.kind))
                .collect(),
        )
    }

    fn pattern(&self, at: RowRef) -> Vec<PitMark> {
        if at.level == 0
            && let Some(marks) = self.beside_pattern(at.row)
        {
            return marks;
        }
        pattern_of(self.document, at.level, at.row)
            .into_iter()
            .take(PATTERN_SHOWN)
            .map(|at| self.choose_sample_mark(at))
            .collect()
    }

    fn choose_sample_mark(&self, at: RowRef) -> PitMark {
        let table = &self.document.tree().levels[at.level];
        if self.status.own_mark(at) == StatusMark::Error {
            PitMark::Wrong
        } else if is_padding(table.id(at.row)) {
            PitMark::Padded
        } else if table.folder[at.row as usize] {
            PitMark::Folder
        } else {
            PitMark::File
        }
    }
}

fn choose_pattern_mark(state: PositionState, kind: SampleKind) -> PitMark {
    match (state, kind) {
        (PositionState::Present, SampleKind::Folder) => PitMark::Folder,
        (PositionState::Present, SampleKind::File) => PitMark::File,
        (PositionState::Padded, _) => PitMark::Padded,
        (PositionState::Missing, _) => PitMark::Missing,
        (PositionState::WrongId | PositionState::WrongOrder, _) => PitMark::Odd,
        (PositionState::WrongType, _) => PitMark::Wrong,
    }
}

/// The samples below a row in depth-first order, for its pattern cells; truncated after what can be
/// drawn.
fn pattern_of(document: &Document, level: usize, row: u32) -> Vec<RowRef> {
    let tree = document.tree();
    let mut found = Vec::new();
    let mut stack = vec![RowRef { level, row }];
    while let Some(at) = stack.pop() {
        if at.level != level || at.row != row {
            found.push(at);
        }
        if found.len() >= 4 * PATTERN_SHOWN {
            break;
        }
        let children = tree.levels[at.level].children(at.row);
        stack.extend(
            children
                .iter()
                .rev()
                .take(4 * PATTERN_SHOWN)
                .map(|&row| RowRef {
                    level: at.level + 1,
                    row,
                }),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_from_1_among_those_that_show() {
        assert_eq!(place_typed("1", 10), Some(0));
        assert_eq!(place_typed("1 204", 5000), Some(1203));
        assert_eq!(place_typed("99", 10), Some(9));
        assert_eq!(place_typed("0", 10), Some(0));
        assert_eq!((place_typed("", 10), place_typed("3", 0)), (None, None));
        assert_eq!(place_of(Some(&[2, 5, 9]), 5), Some(1));
        assert_eq!(place_of(Some(&[2, 5, 9]), 6), None, "the filter hides it");
        assert_eq!(place_of(None, 6), Some(6));
    }
}
