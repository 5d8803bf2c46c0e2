//! Engine SQL over the frames of one statement: unique names, printed expressions, added columns
//! and filters.

use std::cell::Cell;

use polars::prelude::{DataType, LazyFrame, PolarsError, Schema, UnknownKind};
use polars::sql::SQLContext;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::TokenWithSpan;

use super::duckdb_semantics::{Extras, Semantics, column, is_null};
use super::functions::MADE_FIELDS;
use super::scan::fault;
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
        }
    }

    /// Prints expressions over a frame with this schema.
    pub fn semantics<'s>(&'s self, schema: &'s Schema) -> Semantics<'s> {
        Semantics {
            source: &self.source,
            schema,
            extras: &self.extras,
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

/// Converts an error of the engine, whose text goes to the log: it names what this program
/// generated.
pub(super) fn engine_error(error: &PolarsError) -> Error {
    if let Some(own) = Error::found_in(error) {
        return own;
    }
    tracing::debug!(target: "polars", "{error}");
    of_kind(error)
}

/// The sentence for a kind of engine error.
fn of_kind(error: &PolarsError) -> Error {
    match error {
        PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
            of_kind(error)
        }
        PolarsError::SQLInterface(_) | PolarsError::SQLSyntax(_) => {
            Error::usage("the query has a construct that is not supported")
        }
        PolarsError::SchemaMismatch(_)
        | PolarsError::InvalidOperation(_)
        | PolarsError::ComputeError(_) => {
            let error = Error::usage(
                "the values of the query do not have the types that its functions and operators \
                    take",
            );
            error.hint(
                "convert them: CAST(x AS DOUBLE), or TRY_CAST(x AS INTEGER) if some can't \
                be converted",
            )
        }
        PolarsError::ShapeMismatch(_) => {
            Error::usage("the query puts columns of different lengths together")
        }
        PolarsError::OutOfBounds(_) => {
            Error::usage("a position of the query is outside of its list")
        }
        PolarsError::Duplicate(_) => Error::usage("two columns of the query have one name")
            .hint("name them: SELECT a AS x, b AS y"),
        PolarsError::ColumnNotFound(_)
        | PolarsError::SchemaFieldNotFound(_)
        | PolarsError::StructFieldNotFound(_) => {
            Error::usage("the query names a field that its column does not have")
                .hint("DESCRIBE data lists the columns")
        }
        PolarsError::IO { error, .. } => {
            Error::usage("the query could not be run").because(error.to_string())
        }
        _ => Error::usage("the query could not be run").hint("write it in a simpler form"),
    }
}

/// Converts an error of the engine that computes the rows of a plan with correct types: a value
/// that can't be converted.
pub(super) fn values_error(error: &PolarsError) -> Error {
    if let Some(own) = Error::found_in(error) {
        return own;
    }
    tracing::debug!(target: "polars", "{error}");
    match error {
        PolarsError::SchemaMismatch(_)
        | PolarsError::InvalidOperation(_)
        | PolarsError::ComputeError(_) => {
            let error =
                Error::usage("a value can't be converted to the type that the query asks of it");
            error.hint("TRY_CAST(x AS INTEGER) gives null for such values")
        }
        _ => of_kind(error),
    }
}

/// Refuses values or a call of a function, as an error of the engine.
pub(super) fn refusal(summary: impl Into<String>) -> PolarsError {
    fault(&Error::usage(summary.into()))
}

/// Types of keys and values of a map that a query makes, given the type of its entries.
fn map_types(entry: &DataType) -> Option<[&DataType; 2]> {
    match entry {
        DataType::Struct(fields)
            if fields
                .iter()
                .map(|field| field.name().as_str())
                .eq(MADE_FIELDS) =>
        {
            Some([fields[0].dtype(), fields[1].dtype()])
        }
        _ => None,
    }
}

/// DuckDB's name of a type.
pub(super) fn type_name(dtype: &DataType) -> String {
    let name = match dtype {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 | DataType::Unknown(UnknownKind::Int(_)) => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 | DataType::Unknown(UnknownKind::Float) => "DOUBLE",
        DataType::Decimal(..) => "DECIMAL",
        DataType::String
        | DataType::Categorical(..)
        | DataType::Enum(..)
        | DataType::Unknown(UnknownKind::Str) => "VARCHAR",
        DataType::Binary => "BLOB",
        DataType::Date => "DATE",
        DataType::Datetime(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Datetime(..) => "TIMESTAMP",
        DataType::Duration(_) => "INTERVAL",
        DataType::Time => "TIME",
        DataType::List(inner) if let Some([key, value]) = map_types(inner) => {
            return format!("MAP({}, {})", type_name(key), type_name(value));
        }
        DataType::List(inner) => return format!("{}[]", type_name(inner)),
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{} {}", field.name(), type_name(field.dtype())))
                .collect();
            return format!("STRUCT({})", fields.join(", "));
        }
        DataType::Null => "NULL",
        _ => "another type",
    };
    name.to_owned()
}

/// True for the name of a column of any of these tables.
pub(super) fn contains_column(tables: &[(String, Vec<String>)], name: &str) -> bool {
    tables
        .iter()
        .any(|(_, columns)| columns.iter().any(|column| column == name))
}
