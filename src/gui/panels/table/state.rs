//! State of the level table. Imports no panel context, so that the list of panels can hold it.

use std::collections::BTreeSet;

use crate::gui::document_key::DocumentKey;
use crate::gui::widgets::{TableColumn, TableState};
use crate::studio::RowRef;
use crate::text::Language;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TableKind {
    Id,
    /// Ids of the FOLDERs above.
    Parent,
    Pattern,
    Type,
    Field(String, FieldFormat),
    Size,
}

/// Number format of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FieldFormat {
    Words,
    Mono,
}

#[derive(Default)]
pub struct TablePanel {
    pub(super) table: TableState,
    pub(super) made_for: Option<(DocumentKey, usize, usize, bool, Language)>,
    pub(super) kinds: Vec<TableKind>,
    pub(super) columns: Vec<TableColumn>,
    pub(super) all: Vec<String>,
    pub(super) hidden: BTreeSet<String>,
    pub(super) hidden_changes: usize,
    pub(super) go_to: String,
    pub(super) going: bool,
    pub(super) reveal: Option<RowRef>,
}

impl TablePanel {
    /// Scrolls to a sample if its level is shown.
    pub fn show(&mut self, at: RowRef) {
        self.reveal = Some(at);
    }

    /// Opens the field for a row number.
    pub fn start_go_to(&mut self) {
        self.going = true;
        self.go_to.clear();
    }
}
