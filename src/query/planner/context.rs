//! What the planning of one statement shares: its tables, its WITH, and what a planned query is.

use std::cell::Cell;

use polars::prelude::LazyFrame;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Location, TokenWithSpan};

use crate::error::Result;
use crate::query::engine::SqlEngine;
use crate::query::sampling::RowSampling;
use crate::query::source_span::StatementSource;

/// Common table expressions, innermost last.
#[derive(Clone, Default)]
pub(in crate::query) struct Ctes(pub(super) Vec<(String, LazyFrame)>);

impl Ctes {
    pub fn find(&self, name: &str) -> Option<LazyFrame> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, frame)| frame.clone())
    }

    /// These, with one more.
    pub fn with_table(&self, name: &str, frame: LazyFrame) -> Self {
        let mut all = self.clone();
        all.0.push((name.to_owned(), frame));
        all
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Plans one statement.
pub(in crate::query) struct Planner<'a> {
    pub source: StatementSource<'a>,
    pub tokens: &'a [TokenWithSpan],
    /// Looks up a table of the dataset.
    pub table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
    /// All tables with their columns, for errors.
    pub columns: &'a [(String, Vec<String>)],
    /// Runs SQL of the engine over frames.
    pub engine: SqlEngine<'a>,
    /// Samples that SELECTs take of their FROM.
    pub(super) samplings: &'a [(Location, RowSampling)],
    pub(super) unfolded: Cell<usize>,
    pub(super) items: Cell<usize>,
}

pub(in crate::query) struct PlannedQuery {
    pub frame: LazyFrame,
    /// Result columns, without `key_names`.
    pub names: Vec<String>,
    /// Correlation of a subquery: an expression over the outer rows, and the column here that
    /// equals it.
    pub keys: Vec<(Expr, String)>,
    pub key_names: Vec<String>,
    /// True for aggregates without GROUP BY, which give a row for no rows.
    pub is_one_group: bool,
}
