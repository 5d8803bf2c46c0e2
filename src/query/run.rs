//! Runs one query: parse, plan and collect, on a separate thread.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use polars::prelude::{DataFrame, DataType, IdxSize, LazyFrame, PolarsError, PolarsResult, df};

use super::engine::contains_column;
use super::engine_errors::{engine_error, values_error};
use super::filter::Filter;
use super::planner::Planner;
use super::source_span::StatementSource;
use super::statement_parser::StatementKind;
use super::tables::{TableName, Tables};
use super::{
    QueryResult, bounds, catalogue, duckdb_arithmetic, duckdb_semantics, frames, maps, output,
    partial_aggregation, statement_parser, summary, top_k,
};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, catch_quietly, panic_error};

/// Maximum bytes of a statement; a longer one is a file pasted by mistake.
const LONGEST_SQL_BYTES: usize = 1 << 20;

/// Maximum number of chained statements; each is a plan over the previous one.
const STEPS_MAX: usize = 100;

/// Name of the thread that runs a query.
const THREAD: &str = "query";

/// Stack size: nested expressions are visited recursively.
const STACK_BYTES: usize = 64 << 20;

/// A query: filters applied in order, then statements over the rows that they keep. Plain data.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct Query {
    /// Filters, each applied to the rows that the previous one keeps.
    pub filters: Vec<Filter>,
    /// Statements before the last; the result of each is the table `data` of the next. Lazy:
    /// nothing is computed before the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The last statement; `None` selects all of `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Maximum number of rows returned; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Query {
    /// A query of chained statements.
    pub fn from_statements(mut statements: Vec<String>) -> Self {
        let sql = statements.pop();
        Self {
            steps: statements,
            sql,
            ..Self::default()
        }
    }
}

/// Runs one statement (SELECT, WITH, FROM-first, SHOW TABLES, EXPLAIN, DESCRIBE, SUMMARIZE) and
/// returns at most `limit` rows.
///
/// Cancellation returns at once; the engine's thread stops at the next row group and before the
/// next join (`bounds.rs`).
///
/// # Errors
/// As [`run`].
pub fn run_sql(
    tables: &Tables,
    sql: &str,
    limit: Option<usize>,
    ctx: &JobContext,
) -> Result<QueryResult> {
    run(
        tables,
        &Query {
            sql: Some(sql.to_owned()),
            limit,
            ..Query::default()
        },
        ctx,
    )
}

/// Runs a query. Every table contains only the rows that the filters keep. An error in a statement
/// states its position, `line 2, column 5`, preceded by `statement 1: ` if there are several; its
/// cause has the byte range.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for statements that can't be parsed or planned, with a spelling
/// that works; [`crate::error::Kind::TooLarge`] for statements, joins and results above the limits;
/// those of reading, and cancellation.
pub fn run(tables: &Tables, query: &Query, ctx: &JobContext) -> Result<QueryResult> {
    ctx.check()?;
    let (sql, limit) = (
        query.sql.as_deref().unwrap_or("SELECT * FROM data"),
        query.limit,
    );
    if let Some((before, last)) = statement_parser::statements(sql)?
        .split_last()
        .map(|(last, before)| (before, last))
        && !before.is_empty()
    {
        // Statements change nothing, so that all but the last only need to run.
        for text in before {
            run(
                tables,
                &Query {
                    sql: Some(text.clone()),
                    limit: Some(0),
                    ..query.clone()
                },
                ctx,
            )?;
        }
        return run(
            tables,
            &Query {
                sql: Some(last.clone()),
                ..query.clone()
            },
            ctx,
        );
    }
    if query.steps.len() > STEPS_MAX {
        return Err(Error::too_large(format!(
            "the query has {} steps; {STEPS_MAX} is the most",
            query.steps.len()
        )));
    }
    let mut texts = query.steps.clone();
    texts.push(sql.to_owned());
    let statements = texts.len();
    let mut last = None;
    for (statement, text) in texts.iter().enumerate() {
        let source = StatementSource {
            text,
            statement,
            statements,
        };
        let tokens = tokens_of(&source)?;
        let (kind, start) = statement_parser::find_statement_kind(&source, &tokens)
            .map_err(|error| source.locate_statement(error))?;
        if statement + 1 < statements && kind != StatementKind::Rows {
            let error = Error::usage(
                "SHOW, DESCRIBE, SUMMARIZE and EXPLAIN are allowed in the last statement only",
            );
            return Err(source.locate_statement(error));
        }
        last = Some((kind, start, tokens));
    }
    let source = StatementSource {
        text: sql,
        statement: statements - 1,
        statements,
    };
    let Some((kind, start, tokens)) = last else {
        return Err(Error::internal("a query has no statement"));
    };
    if kind == StatementKind::ShowTables {
        return QueryResult::of_texts([("name", tables.names())]);
    }
    if matches!(
        kind,
        StatementKind::Describe | StatementKind::TableInfo | StatementKind::Summarize
    ) {
        let subject = statement_parser::subject(&source, &tokens, start);
        texts.pop();
        texts.push(subject);
    }
    let names = tables.names();
    let columns: Vec<(String, Vec<String>)> = names
        .iter()
        .map(|name| (name.clone(), column_names(tables, name)))
        .collect();
    let (inner, filters) = (tables.clone(), query.filters.clone());
    let frame = on_thread(ctx, move |ctx| {
        let last = (kind, start);
        collect_statements(&inner, &filters, &texts, columns, limit, last, ctx)
    })?;
    let truncated = limit.is_some_and(|limit| frame.height() > limit);
    let frame = if truncated { frame.head(limit) } else { frame };
    Ok(QueryResult::new(
        maps::restore_maps(output::to_table(&frame)?, tables)?,
        truncated,
    ))
}

fn tokens_of(source: &StatementSource) -> Result<super::token_spellings::SqlTokens> {
    if source.text.len() > LONGEST_SQL_BYTES {
        return Err(Error::too_large(format!(
            "the query has {} bytes; 1 MiB is the most",
            source.text.len()
        )));
    }
    statement_parser::tokens(source)
}

fn column_names(tables: &Tables, name: &str) -> Vec<String> {
    tables
        .columns(name)
        .unwrap_or_default()
        .into_iter()
        .map(|field| field.name)
        .collect()
}

/// Row numbers, ascending, of the rows of every level that the filters keep; `None` for levels that
/// no filter affects. Filters remove padding.
///
/// # Errors
/// As [`run`].
pub fn kept_rows(
    tables: &Tables,
    filters: &[Filter],
    ctx: &JobContext,
) -> Result<Vec<Option<Vec<u32>>>> {
    let (tables, filters) = (tables.clone(), filters.to_vec());
    on_thread(ctx, move |ctx| {
        let views = frames::Views::new(&tables, &filters, ctx)?;
        let mut kept = Vec::with_capacity(tables.levels.len());
        for level in 0..tables.levels.len() {
            let Some(frame) = views.places(level) else {
                kept.push(None);
                continue;
            };
            ctx.check()?;
            kept.push(collect_places(frame).map_err(|error| engine_error(&error))?);
        }
        Ok(kept)
    })
}

/// The row numbers in the first column of a frame; `None` without columns.
fn collect_places(frame: LazyFrame) -> PolarsResult<Option<Vec<u32>>> {
    let rows = duckdb_arithmetic::apply_duckdb_arithmetic(frame)?.collect()?;
    let Some(places) = rows.columns().first() else {
        return Ok(None);
    };
    Ok(Some(
        places
            .cast(&DataType::UInt32)?
            .u32()?
            .iter()
            .flatten()
            .collect(),
    ))
}

/// Runs `work` on a thread with a large stack and detaches it when the job is cancelled. Panics
/// become errors.
fn on_thread<T: Send + 'static>(
    ctx: &JobContext,
    work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    let inner = ctx.clone();
    let thread = std::thread::Builder::new()
        .name(THREAD.into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The receiver is gone after cancellation.
            let _ = sender.send(catch_query_panics(work, &inner));
        });
    thread.map_err(|error| Error::internal("the query could not be started").because(error))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(outcome) => {
                // Errors of cancelled work are discarded.
                ctx.check()?;
                return outcome;
            }
            Err(RecvTimeoutError::Timeout) => ctx.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal("the query ended without an answer"));
            }
        }
    }
}

/// The outcome of `work`, in which a panic is an error.
fn catch_query_panics<T>(
    work: impl FnOnce(&JobContext) -> Result<T>,
    ctx: &JobContext,
) -> Result<T> {
    catch_quietly(|| work(ctx)).unwrap_or_else(|panic| {
        let error = Error::unsupported("the query engine could not run this query");
        Err(error
            .because(panic_error("the query", panic.as_ref()))
            .hint("write it in a simpler form"))
    })
}

/// Plans the statements in order, each over the tables and the previous result, and collects what
/// is shown of the last. `last` is its kind, and the number of tokens before the query of an
/// EXPLAIN.
fn collect_statements(
    tables: &Tables,
    filters: &[Filter],
    statements: &[String],
    mut columns: Vec<(String, Vec<String>)>,
    limit: Option<usize>,
    last: (StatementKind, usize),
    ctx: &JobContext,
) -> Result<DataFrame> {
    polars::error::set_warning_function(|text, _| tracing::debug!(target: "polars", "{text}"));
    let views = frames::Views::new(tables, filters, ctx)?;
    let (kind, explained_from) = last;
    let mut before: Option<LazyFrame> = None;
    for (number, text) in statements.iter().enumerate() {
        ctx.check()?;
        let source = StatementSource {
            text,
            statement: number,
            statements: statements.len(),
        };
        let is_last = number + 1 == statements.len();
        let all = statement_parser::tokens(&source)?;
        let tokens = match kind {
            StatementKind::Explain if is_last => &all[explained_from..],
            _ => &all[..],
        };
        let given = before.clone();
        let levels = tables.levels.len();
        let table = |name: &str| find_table(name, given.as_ref(), &views, levels, ctx);
        let is_column = |name: &str| contains_column(&columns, name);
        let located = |error: Error| source.locate_statement(error);
        let (tree, samplings) =
            statement_parser::query(&source, tokens, &is_column).map_err(located)?;
        let planner = Planner::new(source, tokens, &table, &columns, &samplings);
        let mut frame = planner.plan(&tree).map_err(located)?;
        let engine = |error: PolarsError| located(engine_error(&error));
        if let Some(limit) = limit.filter(|_| is_last && kind == StatementKind::Rows) {
            // One extra row detects truncation.
            frame = frame.limit(
                IdxSize::try_from(limit)
                    .unwrap_or(IdxSize::MAX)
                    .saturating_add(1),
            );
        }
        if is_last && !matches!(kind, StatementKind::Rows | StatementKind::Summarize) {
            return match kind {
                StatementKind::Describe => {
                    let written = duckdb_semantics::written_column_types(&tree);
                    duckdb_arithmetic::typed_columns_of_result(frame).and_then(
                        |(schema, planned)| catalogue::describe_columns(&schema, &written, planned),
                    )
                }
                StatementKind::TableInfo => duckdb_arithmetic::schema_of_result(frame)
                    .and_then(|schema| catalogue::table_info(&schema)),
                StatementKind::Explain
                | StatementKind::ShowTables
                | StatementKind::Rows
                | StatementKind::Summarize => {
                    let plan = frame.describe_optimized_plan().map_err(engine)?;
                    let lines: Vec<&str> = plan.lines().collect();
                    df!("Logical Plan" => lines)
                }
            }
            .map_err(engine);
        }
        if is_last {
            let rows = duckdb_arithmetic::apply_duckdb_arithmetic(frame)
                .and_then(top_k::add_top_k_filters)
                .and_then(partial_aggregation::replace_group_bys)
                .and_then(|frame| bounds::add_join_checks(frame, ctx))
                .and_then(LazyFrame::collect)
                .map_err(|error| located(values_error(&error)))?;
            if kind == StatementKind::Summarize {
                return summary::summarize_columns(&rows, ctx)?
                    .map_err(|error| located(values_error(&error)));
            }
            return Ok(limit.map_or(rows.clone(), |limit| {
                rows.head(Some(limit.saturating_add(1)))
            }));
        }
        let schema = frame.collect_schema().map_err(engine)?;
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        // The result of this statement is the table `data` of the next.
        if let Some(data) = columns.iter_mut().find(|(name, _)| name == "data") {
            data.1 = names;
        }
        before = Some(frame);
    }
    Err(Error::internal("a query has no statement"))
}

/// The rows of a table; `data` is the result of the statement before, if there is one.
fn find_table(
    name: &str,
    before: Option<&LazyFrame>,
    views: &frames::Views,
    levels: usize,
    ctx: &JobContext,
) -> Result<Option<LazyFrame>> {
    match (before, TableName::parse(name, levels)) {
        (Some(before), _) if name == "data" => Ok(Some(before.clone())),
        (_, Some(table)) => views.frame(table, ctx).map(Some),
        (_, None) => Ok(None),
    }
}
