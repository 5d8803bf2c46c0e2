//! Rows by SQL: an editor, the rows it gives, and what to do with them.

use std::sync::Arc;

use egui::{Frame, Id, Key, Margin, Modifiers, RichText, Ui};

use crate::error::Error;
use crate::gui::cx::{Ask, Cx};
use crate::gui::icons;
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::{
    self, Button, Cell, Column, EmptyState, Note, Table, TableSource, TableState, TextField, note_ui, paint,
};
use crate::query::QueryResult;
use crate::studio::Command;

/// Rows that are asked for; more would not be read by anybody.
const LIMIT: usize = 10_000;

/// What the panel keeps.
pub struct QueryState {
    sql: String,
    result: Option<Arc<QueryResult>>,
    columns: Vec<Column>,
    words: Vec<bool>,
    failed: Option<(String, Vec<String>)>,
    waiting: bool,
    table: TableState,
    selected: Option<u64>,
}

impl Default for QueryState {
    fn default() -> Self {
        Self {
            sql: "SELECT * FROM data LIMIT 100".to_owned(),
            result: None,
            columns: Vec::new(),
            words: Vec::new(),
            failed: None,
            waiting: false,
            table: TableState::default(),
            selected: None,
        }
    }
}

impl QueryState {
    /// Takes the rows of a finished query.
    pub fn take(&mut self, result: Arc<QueryResult>) {
        let numeric =
            |kind: &str| kind.contains("int") || matches!(kind, "float" | "double" | "halffloat") || kind.starts_with("decimal");
        self.columns = result
            .columns()
            .into_iter()
            .map(|(name, type_name)| {
                let width = (name.chars().count() as f32 * 7.2 + 28.0).clamp(if name == "id" { 120.0 } else { 88.0 }, 220.0);
                Column { right: numeric(&type_name), name, type_name, width }
            })
            .collect();
        self.words = self.columns.iter().map(|column| column.type_name == "string" && column.name != "id").collect();
        self.result = Some(result);
        self.failed = None;
        self.waiting = false;
        self.selected = None;
    }

    /// Takes the failure of a query.
    pub fn fail(&mut self, error: &Error) {
        if std::mem::take(&mut self.waiting) {
            self.failed = Some((error.to_string(), error.hints().to_vec()));
        }
    }

    /// True while a query that was asked for here runs; its failure shows here.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }
}

/// Draws the panel.
pub fn ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    if cx.document().is_none() {
        let _ = widgets::empty_state(
            ui,
            &EmptyState { icon: icons::DATABASE, title: "Nothing to query", why: "Open a dataset first.", actions: &[] },
        );
        return;
    }
    editor_ui(ui, cx);
    let state = &mut cx.session.query;
    if let Some((why, hints)) = &state.failed {
        Frame::NONE.inner_margin(Margin::symmetric(12, 8)).show(ui, |ui| {
            note_ui(ui, &Note::Error(why.clone()));
            for hint in hints {
                note_ui(ui, &Note::Info(hint.clone()));
            }
        });
        return;
    }
    let Some(result) = state.result.clone() else {
        let why = "Tables: data (level 0 without padding), level0, level1, …, and l0, l1, … joined with the levels above.";
        let _ = widgets::empty_state(ui, &EmptyState { icon: icons::DATABASE, title: "No rows yet", why, actions: &[] });
        return;
    };
    let source = Rows { result: &result, columns: &state.columns, words: &state.words };
    let mut table = std::mem::take(&mut state.table);
    let mut copied = None;
    let out = Table::new("Query rows", &source).sticky(1).selected(state.selected).show(ui, &mut table, |ui, row| {
        if widgets::menu_entry(ui, icons::COPY, "Copy row as text", "", None).clicked() {
            let cell = |column| result.table.text(row as usize, column);
            copied = Some((0..source.columns.len()).map(cell).collect::<Vec<_>>().join("\t"));
            ui.close();
        }
    });
    state.table = table;
    state.selected = out.selected.or(state.selected);
    if let Some(text) = copied {
        cx.ask(Ask::Copy(text));
    }
}

fn editor_ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::symmetric(8, 8)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        let id = Id::unique("sql");
        let focused = ui.memory(|memory| memory.has_focus(id));
        // Taken before the editor sees it, which would make a new line of it.
        let mut run = focused && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
        TextField::new("SQL", &mut cx.session.query.sql).id(id).hide_label().mono().rows(4).show(ui);
        let waiting = cx.session.query.waiting.then_some("The query is running");
        ui.horizontal(|ui| {
            let button = Button::primary("Run").icon(icons::PLAY).name("Run query").tooltip("Ctrl Enter").blocked(waiting);
            run |= ui.add(button).clicked();
            let state = &cx.session.query;
            let Some(result) = &state.result else { return };
            let more = if result.truncated { " and more" } else { "" };
            let text = format!("{} rows{more}, {} columns", paint::grouped(result.row_count as u64), state.columns.len());
            ui.label(RichText::new(text).text_style(text_style("small12")).color(t.tx2));
            if ui.add(Button::ghost("Copy CSV").icon(icons::COPY)).clicked() {
                let csv = result.csv();
                cx.ask(Ask::Copy(csv));
            }
        });
        if run && !cx.session.query.waiting {
            let sql = cx.session.query.sql.clone();
            cx.session.query.waiting = true;
            cx.session.query.failed = None;
            cx.run(Command::Query { sql, limit: Some(LIMIT) });
        }
    });
    let rect = ui.min_rect();
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, t.line));
}

struct Rows<'a> {
    result: &'a QueryResult,
    columns: &'a [Column],
    words: &'a [bool],
}

impl TableSource for Rows<'_> {
    fn rows(&self) -> u64 {
        self.result.row_count as u64
    }

    fn columns(&self) -> &[Column] {
        self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        match self.result.table.text(row as usize, column) {
            text if text.is_empty() => Cell::Empty,
            text if self.words[column] => Cell::Text(text.into()),
            text => Cell::Mono(text.into()),
        }
    }
}
