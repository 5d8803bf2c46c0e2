//! UNNEST and series in FROM: lists whose items become rows.

use polars::prelude::*;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, TableAlias, TableFactor,
};
use sqlparser::tokenizer::Span;

use super::context::{Ctes, Planner};
use super::joined_frame::JoinedFrame;
use super::name_binding::Binder;
use crate::error::{Error, Result};
use crate::query::bounds;
use crate::query::duckdb_semantics::{column, expression, literal, name_of};
use crate::query::engine::EngineExpr;
use crate::query::functions::JSON_COLUMNS;
use crate::query::list_functions::padded_list;
use crate::query::scope::{Relation, ScopeColumn};

/// UNNEST in FROM.
pub(super) struct UnnestedFactor<'f> {
    pub alias: Option<&'f TableAlias>,
    pub lists: Vec<Expr>,
    /// WITH ORDINALITY: the numbers of the elements are a column.
    pub has_numbers: bool,
    /// The function whose rows these are, and the fields that are its columns.
    fields: Option<(String, &'static [&'static str])>,
}

/// One row per element of lists of the same lengths; with `keeps_empty`, empty and null lists keep
/// one row with null.
fn explode_columns(frame: LazyFrame, columns: &[String], keeps_empty: bool) -> LazyFrame {
    let names = Selector::ByName {
        names: columns.iter().map(PlSmallStr::from).collect(),
        strict: true,
    };
    let first = columns.first().map_or("", String::as_str);
    bounds::exploding(frame, first, keeps_empty).explode(
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
        [only] => explode_columns(frame, &[(*only).to_owned()], false),
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

/// Functions that show the values within JSON as rows.
const JSON_TABLES: [&str; 2] = ["json_each", "json_tree"];

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

/// UNNEST in FROM, and the functions whose results are unnested there.
pub(super) fn find_unnested_list(factor: &TableFactor) -> Option<UnnestedFactor<'_>> {
    match factor {
        TableFactor::UNNEST {
            alias,
            array_exprs,
            with_ordinality,
            ..
        } => Some(UnnestedFactor {
            alias: alias.as_ref(),
            lists: array_exprs.clone(),
            has_numbers: *with_ordinality,
            fields: None,
        }),
        TableFactor::Function {
            name, args, alias, ..
        } => unnested_call(name, args, alias.as_ref(), false),
        TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality,
            ..
        } => unnested_call(name, &args.args, alias.as_ref(), *with_ordinality),
        _ => None,
    }
}

fn unnested_call<'f>(
    name: &ObjectName,
    args: &[FunctionArg],
    alias: Option<&'f TableAlias>,
    has_numbers: bool,
) -> Option<UnnestedFactor<'f>> {
    let called = name.to_string().to_lowercase();
    let mut fields = None;
    let lists = if called == "unnest" {
        let list = args.iter().filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        });
        list.collect()
    } else if SERIES.contains(&called.as_str()) {
        vec![series(&called, args.to_vec())]
    } else if JSON_TABLES.contains(&called.as_str()) {
        let rows = series(&format!("{called}_rows"), args.to_vec());
        fields = Some((called, JSON_COLUMNS.as_slice()));
        vec![rows]
    } else {
        return None;
    };
    Some(UnnestedFactor {
        alias,
        lists,
        has_numbers,
        fields,
    })
}

impl Planner<'_> {
    /// Unnests a list column: one row per element.
    pub(super) fn unnest(
        &self,
        joined: &mut JoinedFrame,
        unnested: &UnnestedFactor,
        keeps_empty: bool,
        ctes: &Ctes,
    ) -> Result<()> {
        let alias = unnested.alias;
        let [list] = unnested.lists.as_slice() else {
            let error = Error::usage("UNNEST takes one list").hint("CROSS JOIN UNNEST(a) AS t(x)");
            return Err(self
                .source
                .locate(error, alias.map_or(Span::empty(), |alias| alias.name.span)));
        };
        let scope = joined.scope(None);
        let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(list)?;
        let inner = self.engine.unique("__element");
        let mut lists = vec![(bound.clone(), inner.clone())];
        let mut exploded = vec![inner.clone()];
        if unnested.has_numbers {
            let numbers = self.engine.unique("__element");
            let series = expression("generate_series(1, len(_0))", vec![bound]);
            lists.push((series, numbers.clone()));
            exploded.push(numbers);
        }
        let frame = self.engine.add_columns(joined.frame.clone(), &lists)?;
        joined.frame = explode_columns(frame, &exploded, keeps_empty);
        if let Some((called, fields)) = &unnested.fields {
            return self.show_fields(joined, &inner, called, fields, alias);
        }
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
        let numbers_name = unnested
            .alias
            .and_then(|alias| alias.columns.get(1))
            .map_or("ordinality", |column| column.name.value.as_str());
        let names = [name, numbers_name.to_owned()];
        let columns = names.into_iter().zip(exploded);
        joined.relations.push(Relation {
            alias,
            columns: columns
                .map(|(name, inner)| ScopeColumn {
                    name,
                    inner,
                    qualified_only: false,
                })
                .collect(),
        });
        Ok(())
    }

    /// The fields of the structs of a column as the columns of a table.
    fn show_fields(
        &self,
        joined: &mut JoinedFrame,
        structs: &str,
        called: &str,
        fields: &[&str],
        alias: Option<&TableAlias>,
    ) -> Result<()> {
        let field = |name: &str| expression("(_0 -> _1)", vec![column(structs), literal(name)]);
        let shown: Vec<(Expr, String)> = fields
            .iter()
            .map(|name| (field(name), self.engine.unique("__field")))
            .collect();
        joined.frame = self.engine.add_columns(joined.frame.clone(), &shown)?;
        let renamed = alias.map_or([].as_slice(), |alias| alias.columns.as_slice());
        let columns = shown.into_iter().enumerate().map(|(at, (_, inner))| {
            let renamed = renamed.get(at).map(|column| column.name.value.as_str());
            ScopeColumn {
                name: renamed.unwrap_or(fields[at]).to_owned(),
                inner,
                qualified_only: false,
            }
        });
        joined.relations.push(Relation {
            alias: alias
                .map_or(called, |alias| alias.name.value.as_str())
                .to_owned(),
            columns: columns.collect(),
        });
        Ok(())
    }
}
