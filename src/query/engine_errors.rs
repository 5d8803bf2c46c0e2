//! Errors of the engine that become those of the studio, and the other way round.

use polars::prelude::PolarsError;

use super::scan::fault;
use crate::error::Error;

/// Converts an error of the engine, whose text is logged: it names what this program
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
