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
    pub(super) limit: usize,
    /// How the rows are shown.
    pub chart: ChartState,
    pub(super) failed: Option<(String, Vec<String>, Option<Range<usize>>)>,
    /// The text of the editor when the error came.
    pub(super) failed_sql: Option<String>,
    pub(super) waiting: Option<Instant>,
    /// The job of the newest query.
    pub(super) job: Option<JobId>,
    pub(super) took: Duration,
    /// Statement and filters of the rows shown.
    pub(super) ran: Option<(String, Vec<Filter>)>,
    pub(super) asked: Option<(String, Vec<Filter>)>,
    pub(super) words: (Option<DocumentKey>, Vec<Completion>),
    pub(super) saving: String,
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
            waiting: None,
            job: None,
            took: Duration::ZERO,
            ran: None,
            asked: None,
            words: (None, Vec::new()),
            saving: String::new(),
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
        self.took = self
            .waiting
            .take()
            .map_or(Duration::ZERO, |since| since.elapsed());
        self.ran = self.asked.take();
    }

    /// Takes the error of a query, or of starting one. True when this panel requested it.
    pub fn fail(&mut self, job: Option<JobId>, error: &Error) -> bool {
        if job.is_some() && self.job != job {
            return false;
        }
        self.job = None;
        let waited = self.waiting.take().is_some();
        if waited {
            let text = error.to_string();
            let place = sql::fault(error, &self.editor.sql);
            self.failed = Some((text, error.hints().to_vec(), place));
            self.failed_sql = Some(self.editor.sql.clone());
            self.ran = None;
        }
        waited
    }

    /// Records that the query was cancelled. Rows of an older query stay visible.
    pub fn record_cancellation(&mut self, job: JobId) {
        if self.job != Some(job) {
            return;
        }
        self.job = None;
        (self.waiting, self.asked, self.ran) = (None, None, None);
    }

    /// True while a query of this panel runs.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Text to insert, with quotes.
    pub text: String,
    /// Text to match, without quotes.
    pub plain: String,
    /// Its kind: a column type, `table`, `function`.
    pub kind: String,
}

#[derive(Default)]
pub struct EditorState {
    /// The statement.
    pub sql: String,
    pub(super) offer: Option<Offer>,
    /// The word whose suggestions were closed with Esc.
    pub(super) closed: Option<String>,
    /// Requested cursor position, in characters.
    pub(super) cursor: Option<usize>,
}

pub(super) struct Offer {
    pub(super) typed: Range<usize>,
    pub(super) words: Vec<Completion>,
    pub(super) chosen: usize,
    pub(super) moved: bool,
    pub(super) at: Rect,
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
    pub(super) fn close_offer(&mut self) {
        let Some(offer) = self.offer.take() else {
            return;
        };
        self.closed = self
            .sql
            .get(offer.typed)
            .map(|word| word.trim_start_matches('"').to_owned());
    }

    /// Replaces the typed part of a word at the cursor by its completion.
    pub(super) fn complete(&mut self, typed: Range<usize>, word: &Completion) {
        if typed.end > self.sql.len() {
            return;
        }
        self.sql.replace_range(typed.clone(), &word.text);
        self.cursor = Some(self.sql[..typed.start + word.text.len()].chars().count());
        self.offer = None;
    }

    /// Appends text after a space.
    pub fn append(&mut self, text: &str) {
        if !self.sql.is_empty() && !self.sql.ends_with(char::is_whitespace) {
            self.sql.push(' ');
        }
        self.sql.push_str(text);
        self.cursor = Some(self.sql.chars().count());
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
    pub(super) words: Vec<bool>,
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
        self.words = columns
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
