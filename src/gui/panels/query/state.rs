//! State of the query panel: editor, job, rows. Imports no panel context, so that the list of
//! panels can hold it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::Rect;

use super::chart_state::ChartState;
use crate::error::Error;
use crate::gui::document_key::DocumentKey;
use crate::gui::sql;
use crate::gui::widgets::{TableColumn, TableState};
use crate::jobs::{AsyncValue, JobId};
use crate::ops::{ColumnSummary, json_lines};
use crate::query::{Filter, QueryResult};
use crate::studio::RowRef;

/// State of the panel.
pub struct QueryPanel {
    pub editor: EditorState,
    pub rows: RowsState,
    /// Index of the choice of the row limit.
    pub(super) limit: usize,
    /// How the rows are shown.
    pub chart: ChartState,
    /// Error of the last query: message, hints, and the bytes of the statement that it is about.
    pub(super) failed: Option<(String, Vec<String>, Option<Range<usize>>)>,
    /// The text of the editor when the error came.
    pub(super) failed_sql: Option<String>,
    /// Start of the query that runs.
    pub(super) started: Option<Instant>,
    /// The job of the newest query.
    pub(super) job: Option<JobId>,
    /// Duration of the query of the rows shown.
    pub(super) duration: Duration,
    /// Statement and filters of the rows shown.
    pub(super) shown_query: Option<(String, Vec<Filter>)>,
    /// Statement and filters of the query that runs.
    pub(super) running_query: Option<(String, Vec<Filter>)>,
    /// The completions, with the state of the document that they are of.
    pub(super) completions: (Option<DocumentKey>, Vec<Completion>),
    /// Name under which the statement is to be saved, as it is typed.
    pub(super) name_to_save: String,
}

impl Default for QueryPanel {
    fn default() -> Self {
        Self {
            editor: EditorState::new("SELECT *\nFROM data"),
            rows: RowsState::default(),
            limit: 1,
            chart: ChartState::default(),
            failed: None,
            failed_sql: None,
            started: None,
            job: None,
            duration: Duration::ZERO,
            shown_query: None,
            running_query: None,
            completions: (None, Vec::new()),
            name_to_save: String::new(),
        }
    }
}

impl QueryPanel {
    /// Records the job of the newest query; other answers are ignored.
    pub fn record_start(&mut self, job: JobId) {
        self.job = Some(job);
    }

    /// Takes the rows of a finished query.
    pub fn take(&mut self, job: Option<JobId>, result: Arc<QueryResult>) {
        if self.job != job {
            return;
        }
        self.job = None;
        self.rows.take(result);
        (self.failed, self.failed_sql) = (None, None);
        self.duration = self
            .started
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed());
        self.shown_query = self.running_query.take();
    }

    /// Takes the error of a query, or of starting one. True when this panel requested it.
    pub fn fail(&mut self, job: Option<JobId>, error: &Error) -> bool {
        if job.is_some() && self.job != job {
            return false;
        }
        self.job = None;
        let waited = self.started.take().is_some();
        if waited {
            let text = error.to_string();
            let range = sql::find_error_range(error, &self.editor.sql);
            self.failed = Some((text, error.hints().to_vec(), range));
            self.failed_sql = Some(self.editor.sql.clone());
            self.shown_query = None;
        }
        waited
    }

    /// Records that the query was cancelled. Rows of an older query stay visible.
    pub fn record_cancellation(&mut self, job: JobId) {
        if self.job != Some(job) {
            return;
        }
        self.job = None;
        (self.started, self.running_query, self.shown_query) = (None, None, None);
    }

    /// True while a query of this panel runs.
    pub fn is_waiting(&self) -> bool {
        self.started.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Text to insert, with quotes.
    pub text: String,
    /// Text to match, without quotes.
    pub plain: String,
    /// A column type, `table`, `function` or `keyword`.
    pub kind: String,
}

#[derive(Default)]
pub struct EditorState {
    /// The statement.
    pub sql: String,
    pub(super) suggestions: Option<SuggestionList>,
    /// The word whose suggestions were closed; they stay closed until it changes.
    pub(super) dismissed_word: Option<String>,
    /// Requested cursor position, in characters.
    pub(super) requested_cursor: Option<usize>,
}

/// The completions that are shown at the cursor.
pub(super) struct SuggestionList {
    /// The bytes of the statement that a completion replaces.
    pub(super) replaced: Range<usize>,
    pub(super) completions: Vec<Completion>,
    /// Index of the selected completion.
    pub(super) selected: usize,
    /// True once the arrow keys have selected one: Enter accepts it then.
    pub(super) is_selected_by_keys: bool,
    /// The text cursor on the screen, below which the list is drawn.
    pub(super) cursor_rect: Rect,
}

impl EditorState {
    /// The initial statement.
    pub fn new(sql: &str) -> Self {
        Self {
            sql: sql.to_owned(),
            ..Self::default()
        }
    }

    /// Closes the suggestions; they stay closed while the word at the cursor stays the same.
    pub(super) fn dismiss_suggestions(&mut self) {
        let Some(list) = self.suggestions.take() else {
            return;
        };
        self.dismissed_word = self
            .sql
            .get(list.replaced)
            .map(|word| word.trim_start_matches('"').to_owned());
    }

    /// Closes the suggestions and inserts the one with this index.
    pub(super) fn accept_suggestion(&mut self, index: usize) {
        if let Some(mut list) = self.suggestions.take()
            && index < list.completions.len()
        {
            let completion = list.completions.swap_remove(index);
            self.insert_completion(list.replaced, &completion);
        }
    }

    /// Replaces the bytes `replaced` by a completion. Nothing happens when they are not a part of
    /// the statement, which another frame may have changed.
    pub(super) fn insert_completion(&mut self, replaced: Range<usize>, completion: &Completion) {
        if self.sql.get(replaced.clone()).is_none() {
            return;
        }
        let end = replaced.start + completion.text.len();
        self.sql.replace_range(replaced, &completion.text);
        self.requested_cursor = Some(self.sql[..end].chars().count());
    }

    /// Appends text after a space.
    pub fn append(&mut self, text: &str) {
        if !self.sql.is_empty() && !self.sql.ends_with(char::is_whitespace) {
            self.sql.push(' ');
        }
        self.sql.push_str(text);
        self.requested_cursor = Some(self.sql.chars().count());
    }
}

/// Format of copied rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Comma-separated values.
    Csv,
    /// JSON objects, one a line.
    Json,
    /// A Markdown table.
    Markdown,
}

#[derive(Default)]
pub struct RowsState {
    pub result: Option<Arc<QueryResult>>,
    /// Their columns.
    pub columns: Vec<TableColumn>,
    /// True for each column of texts that are not ids.
    pub(super) is_text_column: Vec<bool>,
    pub(super) serial: u64,
    pub(super) table: TableState,
    pub(super) selected: Option<u64>,
    pub(super) sort: Option<(usize, bool)>,
    pub(super) order: AsyncValue<(u64, usize, bool), Vec<u32>>,
    pub(super) summaries: BTreeMap<usize, AsyncValue<(u64, usize), ColumnSummary>>,
    pub(super) seen: RefCell<BTreeSet<usize>>,
    pub(super) copied: AsyncValue<(u64, CopyFormat), String>,
    pub(super) found: AsyncValue<(DocumentKey, u64, u64), Option<RowRef>>,
}

impl RowsState {
    /// Takes the rows of a finished query.
    pub fn take(&mut self, result: Arc<QueryResult>) {
        let columns: Vec<TableColumn> = result
            .columns()
            .into_iter()
            .map(|(name, type_name)| {
                let width = (name.chars().count() as f32 * 7.2 + 28.0)
                    .clamp(if name == "id" { 130.0 } else { 96.0 }, 220.0);
                TableColumn {
                    right: is_numeric_type(&type_name),
                    name,
                    type_name,
                    width,
                }
            })
            .collect();
        if columns != self.columns {
            self.sort = None;
        }
        self.is_text_column = columns
            .iter()
            .map(|column| column.type_name == "string" && column.name != "id")
            .collect();
        self.columns = columns;
        self.result = Some(result);
        self.serial += 1;
        self.selected = None;
        self.summaries.clear();
        self.table.scroll.go_to(0);
    }

    /// The selected row's number, from 0.
    pub fn selected_row(&self) -> Option<u64> {
        self.selected
    }

    /// Starts formatting the rows for the clipboard.
    pub fn copy(&mut self, jobs: &crate::jobs::Jobs, how: CopyFormat) {
        let Some(result) = self.result.clone() else {
            return;
        };
        self.copied
            .update(jobs, (self.serial, how), tr!("Copy rows"), move |_| {
                Ok(copied_text(&result, how))
            });
    }
}

fn is_numeric_type(kind: &str) -> bool {
    kind.contains("int")
        || matches!(kind, "float" | "double" | "halffloat")
        || kind.starts_with("decimal")
}

pub(super) fn copied_text(result: &QueryResult, how: CopyFormat) -> String {
    match how {
        CopyFormat::Csv => result.csv(),
        CopyFormat::Json => json_lines(result),
        CopyFormat::Markdown => {
            let plain = |text: String| text.replace('|', "\\|").replace('\n', " ");
            let names: Vec<String> = result
                .columns()
                .into_iter()
                .map(|(name, _)| plain(name))
                .collect();
            let mut out = format!(
                "| {} |\n|{}\n",
                names.join(" | "),
                " --- |".repeat(names.len())
            );
            for row in 0..result.row_count {
                let cells: Vec<String> = (0..names.len())
                    .map(|column| plain(result.table.text(row, column)))
                    .collect();
                out.push_str(&format!("| {} |\n", cells.join(" | ")));
            }
            out
        }
    }
}
