//! Engine SQL over the frames of one statement: unique names, printed expressions, added columns
//! and filters.

use std::cell::Cell;

use chrono::{DateTime, Utc};
use polars::prelude::{LazyFrame, Schema};
use polars::sql::SQLContext;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::duckdb_semantics::{Extras, Semantics, column, is_null};
use super::engine_errors::engine_error;
use super::source_span::StatementSource;
use super::{advice, function_registry};
use crate::error::{Error, Result};

/// An expression of the engine; `Expr` is one of the statement.
pub(super) type EngineExpr = polars::prelude::Expr;

/// Runs SQL of the engine for one statement.
pub(super) struct SqlEngine<'a> {
    pub source: StatementSource<'a>,
    tokens: &'a [TokenWithSpan],
    /// All tables with their columns, for errors.
    columns: &'a [(String, Vec<String>)],
    /// Number of names that were generated.
    numbers: Cell<usize>,
    /// Functions generated for this statement.
    pub extras: Extras,
    now: DateTime<Utc>,
    /// The seed of `random()`, which `setseed` gives.
    seed: Option<f64>,
}

impl<'a> SqlEngine<'a> {
    pub fn new(
        source: StatementSource<'a>,
        tokens: &'a [TokenWithSpan],
        columns: &'a [(String, Vec<String>)],
    ) -> Self {
        Self {
            source,
            tokens,
            columns,
            numbers: Cell::new(0),
            extras: Extras::default(),
            now: Utc::now(),
            seed: find_seed(tokens),
        }
    }

    /// Prints expressions over a frame with this schema.
    pub fn semantics<'s>(&'s self, schema: &'s Schema) -> Semantics<'s> {
        Semantics {
            source: &self.source,
            schema,
            extras: &self.extras,
            now: self.now,
            seed: self.seed,
        }
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
    /// As [`SqlEngine::add_columns`].
    pub fn run(&self, frame: LazyFrame, sql: &str) -> Result<LazyFrame> {
        let registry = function_registry::registry(self.extras.borrow().clone());
        let mut context = SQLContext::new().with_function_registry(registry);
        context.register("t", frame);
        let is_column = |name: &str| contains_column(self.columns, name);
        context.execute(sql).map_err(|error| {
            let error = engine_error(&error);
            advice::of_statement(self.tokens, &is_column)
                .into_iter()
                .fold(error, Error::hint)
        })
    }

    /// Prints an expression over a frame's columns as engine SQL.
    ///
    /// # Errors
    /// As [`SqlEngine::add_columns`].
    pub fn print(&self, expr: &Expr, frame: &mut LazyFrame) -> Result<String> {
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        self.semantics(&schema).print(expr)
    }

    /// Adds computed columns to the frame.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for what the engine refuses, and for expressions without an
    /// equivalent in it.
    pub fn add_columns(
        &self,
        mut frame: LazyFrame,
        columns: &[(Expr, String)],
    ) -> Result<LazyFrame> {
        if columns.is_empty() {
            return Ok(frame);
        }
        let mut texts = vec!["*".to_owned()];
        for (expr, name) in columns {
            texts.push(format!(
                "{} AS {}",
                self.print(expr, &mut frame)?,
                column(name)
            ));
        }
        self.run(frame, &format!("SELECT {} FROM t", texts.join(", ")))
    }

    /// Filters the frame by a condition.
    ///
    /// # Errors
    /// As [`SqlEngine::add_columns`].
    pub fn filter_rows(&self, mut frame: LazyFrame, condition: &Expr) -> Result<LazyFrame> {
        let text = if is_null(condition) {
            "FALSE".to_owned()
        } else {
            self.print(condition, &mut frame)?
        };
        self.run(frame, &format!("SELECT * FROM t WHERE {text}"))
    }
}

/// The number from -1 to 1 of the call of `setseed` in a statement that calls `random`.
fn find_seed(tokens: &[TokenWithSpan]) -> Option<f64> {
    let tokens: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    find_call(&tokens, "random")?;
    let number: f64 = match tokens[find_call(&tokens, "setseed")? + 2..] {
        [Token::Number(text, _), Token::RParen, ..] => text.parse().ok()?,
        [Token::Minus, Token::Number(text, _), Token::RParen, ..] => -text.parse::<f64>().ok()?,
        _ => return None,
    };
    (-1.0..=1.0).contains(&number).then_some(number)
}

/// The place of the name in the first call of a function.
fn find_call(tokens: &[&Token], name: &str) -> Option<usize> {
    tokens.windows(2).position(|pair| match pair {
        [Token::Word(word), Token::LParen] => word.value.eq_ignore_ascii_case(name),
        _ => false,
    })
}

/// True for the name of a column of any of these tables.
pub(super) fn contains_column(tables: &[(String, Vec<String>)], name: &str) -> bool {
    tables
        .iter()
        .any(|(_, columns)| columns.iter().any(|column| column == name))
}
