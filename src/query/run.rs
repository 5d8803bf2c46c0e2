//! One query, from text to rows: parse, plan and collect on a thread of its own.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Once};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use polars::prelude::{DataFrame, DataType, IdxSize, IntoLazy, LazyFrame, PolarsError, df};

use super::filter::Filter;
use super::select_plan::Planner;
use super::source_span::Source;
use super::sql_dialect::{Sampling, Verb};
use super::tables::{TableName, Tables};
use super::{QueryResult, bounds, duckdb_arithmetic, frames, output, partial_aggregation, sql_dialect, summary, top_k};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, panic_error};
use crate::model::dtype_name;
use crate::table::LevelTable;

/// Longer statements are a file pasted by mistake.
const LONGEST_SQL_BYTES: usize = 1 << 20;

/// Statements one after the other: each is a plan over the one before it.
const STEPS_MAX: usize = 100;

/// The name of the thread that runs a query.
const THREAD: &str = "query";

/// How the engine calls its own.
const ENGINE_THREADS: [&str; 2] = ["polars", "async-executor"];

/// Nested expressions are walked by recursion.
const STACK_BYTES: usize = 64 << 20;

/// What is asked: filters one after the other, then statements over what they leave. Plain data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Query {
    /// Steps; each works on what the one before it left.
    pub filters: Vec<Filter>,
    /// Statements before the last one: each finds what the one before it gave in the table `data`. Nothing is computed before
    /// the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The last statement; all of `data` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Rows returned at the most; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Query {
    /// Statements one after the other.
    pub fn chained(mut statements: Vec<String>) -> Self {
        let sql = statements.pop();
        Self { steps: statements, sql, ..Self::default() }
    }
}

/// Runs one SELECT (also WITH, FROM first, SHOW TABLES, EXPLAIN, DESCRIBE) and returns at most `limit` rows.
///
/// Cancel returns at once; the engine ends at the next row group, and before the next join (`bounds.rs`).
pub fn run_sql(tables: &Tables, sql: &str, limit: Option<usize>, ctx: &JobContext) -> Result<QueryResult> {
    run(tables, &Query { sql: Some(sql.to_owned()), limit, ..Query::default() }, ctx)
}

/// Runs a query; every table in its statements has the rows that the filters left. An error about a statement has its place in
/// it: `line 2, column 5`, with `statement 1: ` before it where there are several; its cause has the bytes.
///
/// # Errors
/// Statements that can't be parsed or run, with the spelling that works; [`crate::error::Kind::TooLarge`] for statements, joins and
/// results that are larger than any.
pub fn run(tables: &Tables, query: &Query, ctx: &JobContext) -> Result<QueryResult> {
    ctx.check()?;
    let (sql, limit) = (query.sql.as_deref().unwrap_or("SELECT * FROM data"), query.limit);
    if query.steps.len() > STEPS_MAX {
        return Err(Error::too_large(format!("the query has {} steps; {STEPS_MAX} is the most", query.steps.len())));
    }
    let mut texts = query.steps.clone();
    texts.push(sql.to_owned());
    let statements = texts.len();
    let mut verbs = Vec::with_capacity(statements);
    for (statement, text) in texts.iter().enumerate() {
        let source = Source { text, statement, statements };
        let tokens = tokens_of(&source)?;
        let (verb, start) = sql_dialect::verb(&source, &tokens).map_err(|error| source.locate_statement(error))?;
        if statement + 1 < statements && !matches!(verb, Verb::Rows) {
            let error = Error::usage("SHOW, DESCRIBE, SUMMARIZE and EXPLAIN stand in the last statement only");
            return Err(source.locate_statement(error));
        }
        verbs.push((verb, start, tokens));
    }
    let source = Source { text: sql, statement: statements - 1, statements };
    let Some((verb, start, tokens)) = verbs.last() else { return Err(Error::internal("a query has no statement")) };
    let about = |sql: String, limit| Query { sql: Some(sql), limit, ..query.clone() };
    match verb {
        Verb::ShowTables => return listed([("name", tables.names())]),
        Verb::Describe => {
            let name = sql_dialect::only_name(&tokens[*start..]);
            if let Some(name) = name.filter(|name| query.steps.is_empty() || *name != "data") {
                return describe(tables, name);
            }
            let empty = run(tables, &about(sql_dialect::subject(&source, tokens, *start), Some(0)), ctx)?;
            let (names, types) = empty.columns().into_iter().unzip();
            return listed([("column", names), ("type", types)]);
        }
        Verb::Summarize => {
            let statement = sql_dialect::subject(&source, tokens, *start);
            return summary::summarize(tables, &about(statement, None), ctx);
        }
        Verb::Rows | Verb::Explain => {}
    }
    let explains = (*verb == Verb::Explain).then_some(*start);
    let names = tables.names();
    let columns: Vec<(String, Vec<String>)> = names.iter().map(|name| (name.clone(), column_names(tables, name))).collect();
    let (inner, filters) = (tables.clone(), query.filters.clone());
    let frame = on_thread(ctx, move |ctx| collected(&inner, &filters, &texts, columns, limit, explains, ctx))?;
    let truncated = limit.is_some_and(|limit| frame.height() > limit);
    let frame = if truncated { frame.head(limit) } else { frame };
    Ok(QueryResult::new(output::to_table(&frame)?, truncated))
}

fn tokens_of(source: &Source) -> Result<sql_dialect::Tokens> {
    if source.text.len() > LONGEST_SQL_BYTES {
        return Err(Error::too_large(format!("the query has {} bytes; 1 MiB is the most", source.text.len())));
    }
    sql_dialect::tokens(source)
}

fn column_names(tables: &Tables, name: &str) -> Vec<String> {
    tables.columns(name).unwrap_or_default().into_iter().map(|field| field.name).collect()
}

/// The rows of every level that filters leave, by their place in the level's table and in its order; `None` for levels that no
/// filter reached. Filters hide padding.
pub fn kept_rows(tables: &Tables, filters: &[Filter], ctx: &JobContext) -> Result<Vec<Option<Vec<u32>>>> {
    let (tables, filters) = (tables.clone(), filters.to_vec());
    on_thread(ctx, move |ctx| {
        let views = frames::Views::new(&tables, &filters, ctx)?;
        let level = |level: usize| -> Result<Option<Vec<u32>>> {
            let Some(frame) = views.places(level) else { return Ok(None) };
            ctx.check()?;
            let places = || -> std::result::Result<Option<Vec<u32>>, PolarsError> {
                let rows = frame.collect()?;
                let Some(places) = rows.columns().first() else { return Ok(None) };
                Ok(Some(places.cast(&DataType::UInt32)?.u32()?.iter().flatten().collect()))
            };
            places().map_err(|error| Planner::engine_error(&error))
        };
        (0..tables.levels.len()).map(level).collect()
    })
}

/// The engine's panics are caught and told as errors, so that nothing else is printed: neither those of our thread nor those of
/// its own.
fn quiet_panics() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let ours = std::thread::current()
                .name()
                .is_some_and(|name| name == THREAD || ENGINE_THREADS.iter().any(|prefix| name.starts_with(prefix)));
            if ours {
                tracing::debug!("caught: {panic}");
            } else {
                print(panic);
            }
        }));
    });
}

/// Runs the engine where it has room, and leaves it behind when the job is cancelled. Its panics are errors.
fn on_thread<T: Send + 'static>(ctx: &JobContext, work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static) -> Result<T> {
    quiet_panics();
    let (sender, receiver) = sync_channel(1);
    let inner = ctx.clone();
    let work = move || {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| work(&inner)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let error = Error::unsupported("the query engine could not run this query");
            Err(error.because(panic_error("the query", panic.as_ref())).hint("write it in a simpler form"))
        });
        // Nobody listens after a cancel.
        let _ = sender.send(outcome);
    };
    let thread = std::thread::Builder::new().name(THREAD.into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Error::internal("the query could not be started").because(error))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(outcome) => {
                // What the engine says of work that was stopped is of no use.
                ctx.check()?;
                return outcome;
            }
            Err(RecvTimeoutError::Timeout) => ctx.check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("the query ended without an answer")),
        }
    }
}

/// Plans statement after statement, each over the tables and what the one before it gives, and collects the last. `explains`: the
/// tokens before the query whose plan is wanted instead.
fn collected(
    tables: &Tables,
    filters: &[Filter],
    statements: &[String],
    mut columns: Vec<(String, Vec<String>)>,
    limit: Option<usize>,
    explains: Option<usize>,
    ctx: &JobContext,
) -> Result<DataFrame> {
    polars::error::set_warning_function(|text, _| tracing::debug!(target: "polars", "{text}"));
    let views = frames::Views::new(tables, filters, ctx)?;
    let mut before: Option<LazyFrame> = None;
    for (number, text) in statements.iter().enumerate() {
        ctx.check()?;
        let source = Source { text, statement: number, statements: statements.len() };
        let last = number + 1 == statements.len();
        let all = sql_dialect::tokens(&source)?;
        let tokens = &all[explains.filter(|_| last).unwrap_or(0)..];
        let given = before.clone();
        let table = |name: &str| match (&given, TableName::parse(name, tables.levels.len())) {
            (Some(given), _) if name == "data" => Ok(Some(given.clone())),
            (_, Some(table)) => views.frame(table, ctx).map(Some),
            (_, None) => Ok(None),
        };
        let is_column = |name: &str| columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name));
        let located = |error: Error| source.locate_statement(error);
        let (tree, sampling) = sql_dialect::query(&source, tokens, &is_column).map_err(located)?;
        let planner = Planner::new(source, tokens, &table, &columns);
        let mut frame = planner.plan(&tree).map_err(located)?;
        let engine = |error: PolarsError| located(Planner::engine_error(&error));
        if let Some(limit) = limit.filter(|_| last && sampling.is_none() && explains.is_none()) {
            // One more tells that there are more.
            frame = frame.limit(IdxSize::try_from(limit).unwrap_or(IdxSize::MAX).saturating_add(1));
        }
        if let Some(sampling) = sampling {
            let rows = duckdb_arithmetic::meant(frame).and_then(|frame| bounds::guarded(frame, ctx)).and_then(LazyFrame::collect);
            frame = rows.and_then(|rows| sampled(rows, sampling)).map_err(engine)?.lazy();
        }
        if last && explains.is_some() {
            let plan = frame.describe_optimized_plan().map_err(engine)?;
            let lines: Vec<&str> = plan.lines().collect();
            return df!("Logical Plan" => lines).map_err(engine);
        }
        if last {
            let rows = duckdb_arithmetic::meant(frame)
                .and_then(top_k::bounded)
                .and_then(partial_aggregation::grouped)
                .and_then(|frame| bounds::guarded(frame, ctx))
                .and_then(LazyFrame::collect)
                .map_err(engine)?;
            return Ok(limit.map_or(rows.clone(), |limit| rows.head(Some(limit.saturating_add(1)))));
        }
        let schema = frame.collect_schema().map_err(engine)?;
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        // What this statement gives is the `data` of the next one.
        if let Some(data) = columns.iter_mut().find(|(name, _)| name == "data") {
            data.1 = names;
        }
        before = Some(frame);
    }
    Err(Error::internal("a query has no statement"))
}

/// Rows at random, in a random order.
fn sampled(rows: DataFrame, sampling: Sampling) -> std::result::Result<DataFrame, PolarsError> {
    let count = match sampling {
        Sampling::Rows(count) => count.min(rows.height()),
        Sampling::Percent(percent) => (rows.height() as f64 * percent / 100.0).round() as usize,
    };
    rows.sample_n_literal(count, false, Some(true), None)
}

fn describe(tables: &Tables, name: &str) -> Result<QueryResult> {
    let Some(columns) = tables.columns(name) else {
        let error = Error::usage(format!("there is no table {name}"));
        return Err(error.hint(format!("tables: {}", tables.names().join(", "))));
    };
    let (names, types) = columns.iter().map(|field| (field.name.clone(), dtype_name(&field.dtype))).unzip();
    listed([("column", names), ("type", types)])
}

pub(super) fn listed<const N: usize>(columns: [(&str, Vec<String>); N]) -> Result<QueryResult> {
    let columns = columns.map(|(name, texts)| (name, Arc::new(StringArray::from(texts)) as ArrayRef));
    let batch =
        RecordBatch::try_from_iter(columns).map_err(|error| Error::internal("the list could not be made").because(error))?;
    Ok(QueryResult::new(LevelTable::new(batch.schema(), vec![batch]), false))
}
