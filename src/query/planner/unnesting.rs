//! UNNEST and series in FROM: lists whose items become rows.

use polars::prelude::*;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, TableAlias, TableFactor,
};
use sqlparser::tokenizer::Span;

use super::context::{Ctes, Planner};
use super::joined_frame::JoinedFrame;
use super::name_binding::Binder;
use crate::error::{Error, Result};
use crate::query::bounds;
use crate::query::duckdb_semantics::{expression, name_of};
use crate::query::engine::EngineExpr;
use crate::query::list_functions::padded_list;
use crate::query::scope::{Relation, ScopeColumn};

/// One row per list element; with `keeps_empty`, empty and null lists keep one row with null.
fn explode_column(frame: LazyFrame, column: &str, keeps_empty: bool) -> LazyFrame {
    let names = Selector::ByName {
        names: Arc::from(vec![PlSmallStr::from(column)]),
        strict: true,
    };
    bounds::exploding(frame, column, keeps_empty).explode(
        names,
        ExplodeOptions {
            empty_as_null: true,
            keep_nulls: true,
        },
    )
}

/// One row per element of the longest list of several, in which shorter ones have nulls; empty and
/// null lists alone have no rows.
pub(super) fn unnested_together(frame: LazyFrame, columns: &[&str]) -> LazyFrame {
    match columns {
        [] => frame,
        [only] => explode_column(frame, only, false),
        [first, ..] => {
            let frame = columns.iter().fold(frame, |frame, column| {
                bounds::exploding(frame, column, true)
            });
            let frame = frame
                .with_columns(
                    columns
                        .iter()
                        .map(|column| pad_list(column, columns))
                        .collect::<Vec<_>>(),
                )
                .filter(col(*first).list().len().gt(lit(0)));
            let names = columns
                .iter()
                .map(|column| PlSmallStr::from(*column))
                .collect();
            frame.explode(
                Selector::ByName {
                    names,
                    strict: true,
                },
                ExplodeOptions {
                    empty_as_null: true,
                    keep_nulls: true,
                },
            )
        }
    }
}

/// A list with nulls up to the length of the longest of `columns`.
fn pad_list(column: &str, columns: &[&str]) -> EngineExpr {
    let others = columns
        .iter()
        .filter(|other| **other != column)
        .map(|other| col(*other));
    padded_list().call(std::iter::once(col(column)).chain(others).collect())
}

/// Functions whose lists are tables in FROM.
const SERIES: [&str; 2] = ["range", "generate_series"];

/// A call of such a function.
fn series(name: &str, arguments: Vec<FunctionArg>) -> Expr {
    let mut call = expression(&format!("{name}(_0)"), Vec::new());
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args = arguments;
    }
    call
}

/// Argument and alias of UNNEST.
pub(super) fn list_of(factor: &TableFactor) -> Option<(Option<&TableAlias>, Vec<Expr>)> {
    match factor {
        TableFactor::UNNEST {
            alias, array_exprs, ..
        } => Some((alias.as_ref(), array_exprs.clone())),
        TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } if name.to_string().eq_ignore_ascii_case("unnest") => {
            let list = args.args.iter().filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            });
            Some((alias.as_ref(), list.collect()))
        }
        TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } => {
            let called = name.to_string().to_lowercase();
            SERIES
                .contains(&called.as_str())
                .then(|| (alias.as_ref(), vec![series(&called, args.args.clone())]))
        }
        _ => None,
    }
}

impl Planner<'_> {
    /// Unnests a list column: one row per element.
    pub(super) fn unnest(
        &self,
        joined: &mut JoinedFrame,
        alias: Option<&TableAlias>,
        list: &[Expr],
        keeps_empty: bool,
        ctes: &Ctes,
    ) -> Result<()> {
        let [list] = list else {
            let error = Error::usage("UNNEST takes one list").hint("CROSS JOIN UNNEST(a) AS t(x)");
            return Err(self
                .source
                .locate(error, alias.map_or(Span::empty(), |alias| alias.name.span)));
        };
        let scope = joined.scope(None);
        let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(list)?;
        let inner = self.engine.unique("__element");
        let frame = self
            .engine
            .add_columns(joined.frame.clone(), &[(bound, inner.clone())])?;
        joined.frame = explode_column(frame, &inner, keeps_empty);
        let series = match list {
            Expr::Function(function) => {
                Some(name_of(function)).filter(|name| SERIES.contains(&name.as_str()))
            }
            _ => None,
        };
        let name = match alias {
            Some(alias) => match (alias.columns.first(), &series) {
                (Some(column), _) => column.name.value.clone(),
                (None, Some(series)) => series.clone(),
                (None, None) => alias.name.value.clone(),
            },
            None => series.clone().unwrap_or_else(|| "unnest".to_owned()),
        };
        let alias = alias.map_or_else(
            || series.unwrap_or_default(),
            |alias| alias.name.value.clone(),
        );
        joined.relations.push(Relation {
            alias,
            columns: vec![ScopeColumn {
                name,
                inner,
                qualified_only: false,
            }],
        });
        Ok(())
    }
}
