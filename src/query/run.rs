//! One query, from text to rows: rewrite, plan, collect on a thread of its own, explain what went wrong.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Once};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use polars::prelude::{DataFrame, DataType, IdxSize, IntoLazy, LazyFrame, PolarsError};
use polars::sql::{SQLContext, extract_table_identifiers};

use super::filter::Filter;
use super::source_span::Place;
use super::sql_dialect::Sampling;
use super::tables::{TableName, Tables};
use super::{
    QueryResult, bounds, duckdb_arithmetic, duckdb_semantics, extent, frames, naming, output, partial_aggregation,
    spatial_functions, sql_dialect, subquery_rewrite, summary, top_k,
};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, panic_error};
use crate::model::dtype_name;
use crate::table::LevelTable;

/// Longer statements are a file pasted by mistake.
const LONGEST_SQL_BYTES: usize = 1 << 20;

/// Statements one after the other: each is a plan over the one before it.
const STEPS_MAX: usize = 100;

/// Characters of the engine's own words in an error.
const LONGEST_REASON: usize = 400;

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
/// it: `line 2, column 5`, with `statement 1: ` before it where there are several.
pub fn run(tables: &Tables, query: &Query, ctx: &JobContext) -> Result<QueryResult> {
    ctx.check()?;
    let (sql, limit) = (query.sql.as_deref().unwrap_or("SELECT * FROM data"), query.limit);
    for statement in query.steps.iter().map(String::as_str).chain([sql]) {
        if statement.len() > LONGEST_SQL_BYTES {
            return Err(Error::too_large(format!("the query has {} bytes; 1 MiB is the most", statement.len())));
        }
        extent::check(statement)?;
    }
    if query.steps.len() > STEPS_MAX {
        return Err(Error::too_large(format!("the query has {} steps; {STEPS_MAX} is the most", query.steps.len())));
    }
    if let Some(name) = sql_dialect::described_table(sql) {
        return match name.as_str() {
            "data" if !query.steps.is_empty() => {
                let statement = Some("SELECT * FROM data".to_owned());
                let empty = run(tables, &Query { sql: statement, limit: Some(0), ..query.clone() }, ctx)?;
                let (names, types) = empty.columns().into_iter().unzip();
                listed([("column", names), ("type", types)])
            }
            _ => describe(tables, &name),
        };
    }
    if sql_dialect::shows_tables(sql) {
        return listed([("name", tables.names())]);
    }
    if let Some(statement) = sql_dialect::summarized(sql) {
        return summary::summarize(tables, &Query { sql: Some(statement), limit: None, ..query.clone() }, ctx);
    }
    let mut statements = query.steps.clone();
    statements.push(sql.to_owned());
    for (step, statement) in statements.iter().enumerate() {
        let listing = step + 1 < statements.len()
            && (sql_dialect::shows_tables(statement) || sql_dialect::described_table(statement).is_some());
        if let Some((summary, hint)) = sql_dialect::refused(statement).filter(|_| !listing) {
            return Err(Error::usage(summary).hint(hint).at(Place::start(step, statements.len())));
        }
        if let Some((summary, hint)) = duckdb_semantics::refused(statement).filter(|_| !listing) {
            return Err(Error::usage(summary).hint(hint).at(Place::start(step, statements.len())));
        }
        if listing || (step + 1 < statements.len() && sql_dialect::summarized(statement).is_some()) {
            let error = Error::usage("SHOW, DESCRIBE and SUMMARIZE stand in the last statement only");
            return Err(error.at(Place::start(step, statements.len())));
        }
    }
    let names = tables.names();
    let columns: Vec<(String, Vec<String>)> = names.iter().map(|name| (name.clone(), column_names(tables, name))).collect();
    let asked = statements.clone();
    let (inner, filters, known) = (tables.clone(), respelled(tables, &query.filters)?, columns.clone());
    let collected = on_thread(ctx, move |ctx| {
        let mut step = 0;
        let mut data = None;
        let mut rows = plan_and_collect(&inner, &filters, &asked, &known, limit, (&mut step, &mut data), ctx);
        let clash = |error: &PolarsError| error.to_string().contains("duplicate output name");
        if let Err(Fault::Polars(error)) = &rows {
            let plain = if clash(error) { asked.iter().map(|sql| naming::named(sql)).collect() } else { asked.clone() };
            let lift = |sql: &String| subquery_rewrite::lifted(sql).unwrap_or_else(|| sql.clone());
            let lifted: Vec<String> = plain.iter().map(lift).collect();
            for other in [plain, lifted] {
                if rows.is_err() && other != asked {
                    let again = plan_and_collect(&inner, &filters, &other, &known, limit, (&mut step, &mut data), ctx);
                    rows = again.or(rows);
                }
            }
        }
        rows.map_err(|fault| match fault {
            Fault::Polars(error) => Fault::Step { error, step, data },
            other => other,
        })
    });
    let frame = collected.map_err(|fault| match (fault, ctx.check()) {
        (_, Err(cancelled)) => cancelled,
        (Fault::Ours(error), _) => error,
        (Fault::Polars(error), _) => explained(&error, &statements, 0, &columns),
        (Fault::Step { error, step, data }, _) => {
            let mut columns = columns.clone();
            // What the step before gave is its `data`.
            if let (Some(data), Some(found)) = (data, columns.iter_mut().find(|(name, _)| name == "data")) {
                found.1 = data;
            }
            explained(&error, &statements, step, &columns)
        }
    })?;
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
    /// In this statement, whose `data` had these columns where they differ from the table's.
    Step {
        error: PolarsError,
        step: usize,
        data: Option<Vec<String>>,
    },
}

/// The rows of every level that filters leave, by their place in the level's table and in its order; `None` for levels that no
/// filter reached. Filters hide padding.
pub fn kept_rows(tables: &Tables, filters: &[Filter], ctx: &JobContext) -> Result<Vec<Option<Vec<u32>>>> {
    let tables = tables.clone();
    let filters = respelled(&tables, filters)?;
    let columns: Vec<(String, Vec<String>)> =
        tables.names().into_iter().map(|name| (name.clone(), column_names(&tables, &name))).collect();
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
        (Fault::Polars(error) | Fault::Step { error, .. }, _) => explained(&error, &[], 0, &columns),
    })
}

/// Conditions in the engine's spelling.
fn respelled(tables: &Tables, filters: &[Filter]) -> Result<Vec<Filter>> {
    for condition in filters.iter().filter_map(|filter| filter.condition.as_ref()) {
        extent::check(condition)?;
        if let Some((summary, hint)) = duckdb_semantics::refused(condition) {
            return Err(Error::usage(summary).hint(hint));
        }
    }
    let columns: Vec<String> = tables.names().iter().flat_map(|name| column_names(tables, name)).collect();
    let is_column = |name: &str| columns.iter().any(|column| column == name);
    let one = |filter: &Filter| {
        let condition = filter.condition.as_ref().map(|condition| sql_dialect::rewrite(condition, &is_column));
        Filter { condition, ..filter.clone() }
    };
    Ok(filters.iter().map(one).collect())
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
fn on_thread<T: Send + 'static>(
    ctx: &JobContext,
    work: impl FnOnce(&JobContext) -> std::result::Result<T, Fault> + Send + 'static,
) -> std::result::Result<T, Fault> {
    quiet_panics();
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
    let thread = std::thread::Builder::new().name(THREAD.into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Fault::Ours(Error::internal("the query could not be started").because(error)))?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => ctx.check().map_err(Fault::Ours)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Fault::Ours(Error::internal("the query ended without an answer"))),
        }
    }
}

/// Plans statement after statement, each over the tables and what the one before it gives, and collects the last. `at` tells
/// where it was when it failed.
fn plan_and_collect(
    tables: &Tables,
    filters: &[Filter],
    statements: &[String],
    columns: &[(String, Vec<String>)],
    limit: Option<usize>,
    (step, data): (&mut usize, &mut Option<Vec<String>>),
    ctx: &JobContext,
) -> std::result::Result<DataFrame, Fault> {
    polars::error::set_warning_function(|text, _| tracing::debug!(target: "polars", "{text}"));
    let views = frames::Views::new(tables, filters, ctx).map_err(Fault::Ours)?;
    let mut before: Option<LazyFrame> = None;
    for (number, statement) in statements.iter().enumerate() {
        *step = number;
        ctx.check().map_err(Fault::Ours)?;
        let last = number + 1 == statements.len();
        let given = data.as_ref();
        let is_column = |name: &str| {
            columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name))
                || given.is_some_and(|columns| columns.iter().any(|column| column == name))
        };
        let sql = sql_dialect::rewrite(statement, &is_column);
        let mut context = SQLContext::new().with_function_registry(spatial_functions::registry());
        for name in extract_table_identifiers(&sql, false, true).map_err(Fault::Polars)? {
            match (&before, TableName::parse(&name, tables.levels.len())) {
                (Some(before), _) if name == "data" => context.register(&name, before.clone()),
                (_, Some(table)) => context.register(&name, views.frame(table, ctx).map_err(Fault::Ours)?),
                (_, None) => {}
            }
        }
        let mut frame = context.execute(&sql).map_err(Fault::Polars)?;
        let sampling = sql_dialect::sampling(statement);
        if let Some(limit) = limit.filter(|_| last && sampling.is_none()) {
            // One more tells that there are more.
            frame = frame.limit(IdxSize::try_from(limit).unwrap_or(IdxSize::MAX).saturating_add(1));
        }
        if let Some(sampling) = sampling {
            frame = sampled(
                duckdb_arithmetic::meant(frame)
                    .and_then(|frame| bounds::guarded(frame, ctx))
                    .and_then(LazyFrame::collect)
                    .map_err(Fault::Polars)?,
                sampling,
            )
            .map_err(Fault::Polars)?
            .lazy();
        }
        if last {
            let rows = duckdb_arithmetic::meant(frame)
                .and_then(top_k::bounded)
                .and_then(partial_aggregation::grouped)
                .and_then(|frame| bounds::guarded(frame, ctx))
                .and_then(LazyFrame::collect)
                .map_err(Fault::Polars)?;
            return Ok(limit.map_or(rows.clone(), |limit| rows.head(Some(limit.saturating_add(1)))));
        }
        let schema = frame.collect_schema().map_err(Fault::Polars)?;
        *data = Some(schema.iter_names().map(|name| name.to_string()).collect());
        before = Some(frame);
    }
    Err(Fault::Ours(Error::internal("a query has no statement")))
}

/// Rows at random, in a random order.
fn sampled(rows: DataFrame, sampling: Sampling) -> std::result::Result<DataFrame, PolarsError> {
    let count = match sampling {
        Sampling::Rows(count) => count.min(rows.height()),
        Sampling::Percent(percent) => (rows.height() as f64 * percent / 100.0).round() as usize,
    };
    rows.sample_n_literal(count, false, Some(true), None)
}

/// Polars' message without its plan, with the names that could be meant and the spelling that works.
fn explained(error: &PolarsError, statements: &[String], step: usize, columns: &[(String, Vec<String>)]) -> Error {
    let sql = statements.get(step).map_or("", String::as_str);
    let is_column = |name: &str| columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name));
    let place = |word: &str| Place::of_word(sql, word).map(|place| place.in_step(step, statements.len()));
    let located = |error: Error, place: Option<Place>| match place {
        Some(place) => error.at(place),
        None if statements.len() > 1 => error.at(Place::start(step, statements.len())),
        None => error,
    };
    // What the engine was told of, in our own words.
    if let Some(own) = Error::found_in(error).filter(Error::is_too_large) {
        return own;
    }
    let text = error.to_string();
    let text = text.split("\n\nResolved plan").next().unwrap_or(&text).split("\nHint").next().unwrap_or_default().trim();
    // The parser prints whole syntax trees.
    let text: String = text.chars().take(LONGEST_REASON).collect();
    if text.contains("does not fit in") || (text.contains("decimal[") && text.contains("conversion from")) {
        let summary = Error::usage("a number of the query has more than 64 bits").because(text);
        return located(summary.hint("compute with fractions: sum(CAST(x AS DOUBLE)), CAST(x AS DOUBLE) * 4"), None);
    }
    let table_names = || columns.iter().map(|(name, _)| name.as_str());
    let tables_hint = format!("tables: {}", table_names().collect::<Vec<_>>().join(", "));
    if let Some(name) = unknown_table(&text) {
        let near = sql_dialect::near(&name, table_names());
        let mut found = located(Error::usage(format!("there is no table {name}")), place(&name));
        if !near.is_empty() {
            found = found.hint(format!("did you mean {}?", near.join(" or ")));
        }
        return found.hint(tables_hint);
    }
    if let Some(name) = unknown_column(error, &text) {
        let all = || columns.iter().flat_map(|(_, columns)| columns.iter().map(String::as_str));
        let bare = name.rsplit('.').next().unwrap_or(&name);
        let near = sql_dialect::near(bare, all());
        let mut found = located(Error::usage(format!("there is no column {name}")), place(bare));
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
        return sql_dialect::advice(sql, &is_column).into_iter().fold(found, Error::hint).hint("DESCRIBE data lists the columns");
    }
    let kind = match error {
        PolarsError::SQLInterface(_) | PolarsError::SQLSyntax(_) => Error::usage("the query could not be understood"),
        _ => Error::usage("the query could not be run"),
    };
    // The parser counts in the respelled statement.
    if let Some(name) = unsupported_function(&text) {
        let near = sql_dialect::near(&name, spatial_functions::names());
        let mut found = located(Error::usage(format!("there is no function {name}()")), place(&name));
        let advice = sql_dialect::advice(sql, &is_column);
        if advice.is_empty() && !near.is_empty() {
            found = found.hint(format!("did you mean {}?", near.join(" or ")));
        }
        return advice.into_iter().fold(found, Error::hint);
    }
    let place = Place::reported(&text)
        .and_then(|place| place.before_respelling(sql, &sql_dialect::rewritten(sql, &is_column)))
        .or_else(|| Place::named(sql, &text));
    let text = Place::cut_from(&text);
    let found = located(kind.because(text), place.map(|place| place.in_step(step, statements.len())));
    sql_dialect::advice(sql, &is_column).into_iter().fold(found, Error::hint)
}

fn unsupported_function(text: &str) -> Option<String> {
    let rest = text.split("unsupported function '").nth(1)?;
    rest.split('\'').next().map(|name| name.trim_end_matches("()").to_owned())
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
