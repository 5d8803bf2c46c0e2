//! What the rewriting of an expression needs to know.

use std::cell::RefCell;

use chrono::{DateTime, Utc};
use polars::prelude::Schema;
use polars::prelude::udf::UserDefinedFunction;

use crate::query::source_span::StatementSource;

/// User-defined functions of one statement: windows and lambdas.
pub(in crate::query) type Extras = RefCell<Vec<(String, UserDefinedFunction)>>;

/// Prints expressions in the engine's SQL.
pub(in crate::query) struct Semantics<'a> {
    pub source: &'a StatementSource<'a>,
    /// Schema of the frame over which the expression is evaluated.
    pub schema: &'a Schema,
    pub extras: &'a Extras,
    /// The time of the statement, which `now()` gives.
    pub now: DateTime<Utc>,
    /// The seed of `random()`, which `setseed` gives.
    pub seed: Option<f64>,
}

/// Rewrites an expression bottom-up.
pub(super) struct ExpressionRewrite<'s, 'a>(pub &'s Semantics<'a>);
