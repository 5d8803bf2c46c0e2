//! Engine SQL over the frames of one statement: unique names, printed expressions, added columns and filters.

use std::cell::Cell;

use polars::prelude::{LazyFrame, PolarsError, Schema};
use polars::sql::SQLContext;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::TokenWithSpan;

use super::duckdb_semantics::{Extras, Semantics, column};
use super::source_span::Source;
use super::{advice, function_registry};
use crate::error::{Error, Result};

/// Maximum characters of an engine message in an error.
const LONGEST_REASON: usize = 300;

/// Runs SQL of the engine for one statement.
pub(super) struct Engine<'a> {
    pub source: Source<'a>,
    tokens: &'a [TokenWithSpan],
    /// All tables with their columns, for errors.
    columns: &'a [(String, Vec<String>)],
    /// Number of names that were generated.
    numbers: Cell<usize>,
    /// Functions generated for this statement.
    pub extras: Extras,
}

impl<'a> Engine<'a> {
    pub fn new(source: Source<'a>, tokens: &'a [TokenWithSpan], columns: &'a [(String, Vec<String>)]) -> Self {
        Self { source, tokens, columns, numbers: Cell::new(0), extras: Extras::default() }
    }

    /// Prints expressions over a frame with this schema.
    pub fn semantics<'s>(&'s self, schema: &'s Schema) -> Semantics<'s> {
        Semantics { source: &self.source, schema, extras: &self.extras }
    }

    /// A unique name.
    pub fn unique(&self, prefix: &str) -> String {
        let number = self.numbers.get();
        self.numbers.set(number + 1);
        format!("{prefix}{number}")
    }

    /// Runs engine SQL over a frame, named `t`.
    ///
    /// # Errors
    /// As [`Engine::with`].
    pub fn run(&self, frame: LazyFrame, sql: &str) -> Result<LazyFrame> {
        let registry = function_registry::registry(self.extras.borrow().clone());
        let mut context = SQLContext::new().with_function_registry(registry);
        context.register("t", frame);
        let is_column = |name: &str| self.columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name));
        context.execute(sql).map_err(|error| {
            let error = engine_error(&error);
            advice::of_statement(self.tokens, &is_column).into_iter().fold(error, Error::hint)
        })
    }

    /// Prints an expression over a frame's columns as engine SQL.
    ///
    /// # Errors
    /// As [`Engine::with`].
    pub fn print(&self, expr: &Expr, frame: &mut LazyFrame) -> Result<String> {
        let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
        self.semantics(&schema).print(expr)
    }

    /// Adds computed columns to the frame.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for what the engine refuses, and for expressions without an equivalent in it.
    pub fn with(&self, mut frame: LazyFrame, columns: &[(Expr, String)]) -> Result<LazyFrame> {
        if columns.is_empty() {
            return Ok(frame);
        }
        let mut texts = vec!["*".to_owned()];
        for (expr, name) in columns {
            texts.push(format!("{} AS {}", self.print(expr, &mut frame)?, column(name)));
        }
        self.run(frame, &format!("SELECT {} FROM t", texts.join(", ")))
    }

    /// Filters the frame by a condition.
    ///
    /// # Errors
    /// As [`Engine::with`].
    pub fn filtered(&self, mut frame: LazyFrame, condition: &Expr) -> Result<LazyFrame> {
        let text = self.print(condition, &mut frame)?;
        self.run(frame, &format!("SELECT * FROM t WHERE {text}"))
    }
}

/// Converts an error of the engine.
pub(super) fn engine_error(error: &PolarsError) -> Error {
    if let Some(own) = Error::found_in(error) {
        return own;
    }
    let text = error.to_string();
    // The engine appends its plan to the message.
    let text = text.split("\n\nResolved plan").next().unwrap_or_default().trim();
    let text: String = text.chars().take(LONGEST_REASON).collect();
    Error::usage("the query could not be run").because(text)
}
