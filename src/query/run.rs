//! One query, from text to rows: rewrite, plan, collect on a thread of its own, explain what went wrong.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use polars::prelude::{DataFrame, DataType, IdxSize, PolarsError};
use polars::sql::{SQLContext, extract_table_identifiers};

use super::filter::Filter;
use super::spelling::Sampling;
use super::tables::{TableName, Tables};
use super::{QueryResult, frames, functions, output, spelling, summary};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, panic_error};
use crate::model::dtype_name;
use crate::table::LevelTable;

/// Longer statements are a file pasted by mistake.
const LONGEST_SQL_BYTES: usize = 1 << 20;

/// Characters of the engine's own words in an error.
const LONGEST_REASON: usize = 400;

/// Nested expressions are walked by recursion.
const STACK_BYTES: usize = 64 << 20;

/// What is asked: filters one after the other, then a statement over what they leave. Plain data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Query {
    /// Steps; each works on what the one before it left.
    pub filters: Vec<Filter>,
    /// The statement; all of `data` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Rows returned at the most; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Runs one SELECT (also WITH, FROM first, SHOW TABLES, EXPLAIN, DESCRIBE) and returns at most `limit` rows.
///
/// Cancel returns at once; polars finishes its step in the background and the rows are dropped.
pub fn run_sql(tables: &Tables, sql: &str, limit: Option<usize>, ctx: &JobContext) -> Result<QueryResult> {
    run(tables, &Query { sql: Some(sql.to_owned()), limit, ..Query::default() }, ctx)
}

/// Runs a query; every table in its statement has the rows that the filters left.
pub fn run(tables: &Tables, query: &Query, ctx: &JobContext) -> Result<QueryResult> {
    ctx.check()?;
    let (sql, limit) = (query.sql.as_deref().unwrap_or("SELECT * FROM data"), query.limit);
    if sql.len() > LONGEST_SQL_BYTES {
        return Err(Error::usage(format!("the query has {} bytes; 1 MiB is the most", sql.len())));
    }
    if let Some(name) = spelling::described_table(sql) {
        return describe(tables, &name);
    }
    if spelling::shows_tables(sql) {
        return listed([("name", tables.names())]);
    }
    if let Some(statement) = spelling::summarized(sql) {
        return summary::summarize(tables, &Query { sql: Some(statement), limit: None, ..query.clone() }, ctx);
    }
    if let Some((summary, hint)) = spelling::refused(sql) {
        return Err(Error::usage(summary).hint(hint));
    }
    let names = tables.names();
    let columns: Vec<(String, Vec<String>)> = names.iter().map(|name| (name.clone(), column_names(tables, name))).collect();
    let is_column = |name: &str| columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name));
    let spelled = spelling::rewrite(sql, &is_column);
    let frame = collected(tables.clone(), respelled(tables, &query.filters), (sql.to_owned(), spelled), limit, ctx).map_err(
        |fault| match (fault, ctx.check()) {
            (_, Err(cancelled)) => cancelled,
            (Fault::Ours(error), _) => error,
            (Fault::Polars(error), _) => explained(&error, sql, &columns, &is_column),
        },
    )?;
    ctx.check()?;
    let truncated = limit.is_some_and(|limit| frame.height() > limit);
    let frame = if truncated { frame.head(limit) } else { frame };
    Ok(QueryResult::new(output::to_table(&frame)?, truncated))
}

fn column_names(tables: &Tables, name: &str) -> Vec<String> {
    tables.columns(name).unwrap_or_default().into_iter().map(|field| field.name).collect()
}

enum Fault {
    Ours(Error),
    Polars(PolarsError),
}

/// Runs the statement on a thread with room for deep nesting, and leaves it behind when the job is cancelled.
fn collected(
    tables: Tables,
    filters: Vec<Filter>,
    (original, sql): (String, String),
    limit: Option<usize>,
    ctx: &JobContext,
) -> std::result::Result<DataFrame, Fault> {
    on_thread(ctx, move |ctx| plan_and_collect(&tables, &filters, (&original, &sql), limit, ctx))
}

/// The rows of every level that filters leave, by their place in the level's table and in its order; `None` for levels that no
/// filter reached. Filters hide padding.
pub fn kept_rows(tables: &Tables, filters: &[Filter], ctx: &JobContext) -> Result<Vec<Option<Vec<u32>>>> {
    let tables = tables.clone();
    let filters = respelled(&tables, filters);
    let kept = on_thread(ctx, move |ctx| {
        let views = frames::Views::new(&tables, &filters, ctx).map_err(Fault::Ours)?;
        let level = |level: usize| -> std::result::Result<Option<Vec<u32>>, Fault> {
            let Some(frame) = views.places(level) else { return Ok(None) };
            ctx.check().map_err(Fault::Ours)?;
            let rows = frame.collect().map_err(Fault::Polars)?;
            let Some(places) = rows.columns().first() else { return Ok(None) };
            let places = places.cast(&DataType::UInt32).map_err(Fault::Polars)?;
            Ok(Some(places.u32().map_err(Fault::Polars)?.iter().flatten().collect()))
        };
        (0..tables.levels.len()).map(level).collect::<std::result::Result<Vec<_>, Fault>>()
    });
    kept.map_err(|fault| match (fault, ctx.check()) {
        (_, Err(cancelled)) => cancelled,
        (Fault::Ours(error), _) => error,
        (Fault::Polars(error), _) => Error::usage("the filters could not be applied").because(error.to_string()),
    })
}

/// Conditions in the engine's spelling.
fn respelled(tables: &Tables, filters: &[Filter]) -> Vec<Filter> {
    let columns: Vec<String> = tables.names().iter().flat_map(|name| column_names(tables, name)).collect();
    let is_column = |name: &str| columns.iter().any(|column| column == name);
    let one = |filter: &Filter| {
        let condition = filter.condition.as_ref().map(|condition| spelling::rewrite(condition, &is_column));
        Filter { condition, ..filter.clone() }
    };
    filters.iter().map(one).collect()
}

/// Runs the engine where it has room, and leaves it behind when the job is cancelled. Its panics are errors.
fn on_thread<T: Send + 'static>(
    ctx: &JobContext,
    work: impl FnOnce(&JobContext) -> std::result::Result<T, Fault> + Send + 'static,
) -> std::result::Result<T, Fault> {
    let (sender, receiver) = sync_channel(1);
    let inner = ctx.clone();
    let work = move || {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| work(&inner)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let error = Error::unsupported("the query engine could not run this query");
            Err(Fault::Ours(error.because(panic_error("the query", panic.as_ref())).hint("write it in a simpler form")))
        });
        // Nobody listens after a cancel.
        let _ = sender.send(outcome);
    };
    let thread = std::thread::Builder::new().name("query".into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Fault::Ours(Error::internal("the query could not be started").because(error)))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => ctx.check().map_err(Fault::Ours)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Fault::Ours(Error::internal("the query ended without an answer"))),
        }
    }
}

fn plan_and_collect(
    tables: &Tables,
    filters: &[Filter],
    (original, sql): (&str, &str),
    limit: Option<usize>,
    ctx: &JobContext,
) -> std::result::Result<DataFrame, Fault> {
    polars::error::set_warning_function(|text, _| tracing::debug!(target: "polars", "{text}"));
    let named = extract_table_identifiers(sql, false, true).map_err(Fault::Polars)?;
    let mut context = SQLContext::new().with_function_registry(functions::registry());
    let views = frames::Views::new(tables, filters, ctx).map_err(Fault::Ours)?;
    for name in named {
        if let Some(table) = TableName::parse(&name, tables.levels.len()) {
            context.register(&name, views.frame(table, ctx).map_err(Fault::Ours)?);
        }
    }
    let mut frame = context.execute(sql).map_err(Fault::Polars)?;
    let sampling = spelling::sampling(original);
    if let Some(limit) = limit.filter(|_| sampling.is_none()) {
        // One more tells that there are more.
        frame = frame.limit(IdxSize::try_from(limit).unwrap_or(IdxSize::MAX).saturating_add(1));
    }
    ctx.check().map_err(Fault::Ours)?;
    let Some(sampling) = sampling else { return frame.collect().map_err(Fault::Polars) };
    let rows = frame.collect().map_err(Fault::Polars)?;
    let count = match sampling {
        Sampling::Rows(count) => count.min(rows.height()),
        Sampling::Percent(percent) => (rows.height() as f64 * percent / 100.0).round() as usize,
    };
    let sample = rows.sample_n_literal(count, false, Some(true), None).map_err(Fault::Polars)?;
    Ok(match limit {
        Some(limit) => sample.head(Some(limit.saturating_add(1))),
        None => sample,
    })
}

/// Polars' message without its plan, with the names that could be meant and the spelling that works.
fn explained(error: &PolarsError, sql: &str, columns: &[(String, Vec<String>)], is_column: &dyn Fn(&str) -> bool) -> Error {
    let text = error.to_string();
    let text = text.split("\n\nResolved plan").next().unwrap_or(&text).split("\nHint").next().unwrap_or_default().trim();
    // The parser prints whole syntax trees.
    let text: String = text.chars().take(LONGEST_REASON).collect();
    let table_names = || columns.iter().map(|(name, _)| name.as_str());
    let tables_hint = format!("tables: {}", table_names().collect::<Vec<_>>().join(", "));
    if let Some(name) = unknown_table(&text) {
        let near = spelling::near(&name, table_names());
        let mut found = Error::usage(format!("there is no table {name}"));
        if !near.is_empty() {
            found = found.hint(format!("did you mean {}?", near.join(" or ")));
        }
        return found.hint(tables_hint);
    }
    if let Some(name) = unknown_column(error, &text) {
        let all = || columns.iter().flat_map(|(_, columns)| columns.iter().map(String::as_str));
        let bare = name.rsplit('.').next().unwrap_or(&name);
        let near = spelling::near(bare, all());
        let mut found = Error::usage(format!("there is no column {name}"));
        if !near.is_empty() {
            let quoted: Vec<String> = near.iter().map(|name| format!("\"{name}\"")).collect();
            found = found.hint(format!("did you mean {}?", quoted.join(" or ")));
        }
        if is_column(bare) {
            let holders: Vec<&str> =
                columns.iter().filter(|(_, c)| c.iter().any(|c| c == bare)).map(|(table, _)| table.as_str()).collect();
            found = found.hint(format!("the column is in {}", holders.join(", ")));
            found = found.hint("QUALIFY, ORDER BY and OVER see only columns that SELECT names: name it there as well");
        }
        return spelling::advice(sql, is_column).into_iter().fold(found, Error::hint).hint("DESCRIBE data lists the columns");
    }
    let kind = match error {
        PolarsError::SQLInterface(_) | PolarsError::SQLSyntax(_) => Error::usage("the query could not be understood"),
        _ => Error::usage("the query could not be run"),
    };
    spelling::advice(sql, is_column).into_iter().fold(kind.because(text), Error::hint)
}

fn unknown_table(text: &str) -> Option<String> {
    let rest = text.split("relation '").nth(1)?;
    let (name, after) = rest.split_once('\'')?;
    after.contains("not found").then(|| name.to_owned())
}

fn unknown_column(error: &PolarsError, text: &str) -> Option<String> {
    let text = match error {
        PolarsError::ColumnNotFound(_) => text,
        _ if text.contains("unable to find column") || text.contains("olumn not found") => text,
        _ => return None,
    };
    let quoted = |mark: char| text.split(mark).nth(1).filter(|name| !name.is_empty()).map(str::to_owned);
    quoted('"').or_else(|| quoted('\'')).or_else(|| text.rsplit(": ").next().map(|name| name.trim().to_owned()))
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
