//! Plans queries for the engine, one SELECT at a time: each reads one frame with unique column names and becomes a chain of engine
//! statements over it (rows, groups, windows, result), so that functions, names and clauses have the same semantics at every depth.

use std::cell::Cell;
use std::ops::ControlFlow;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::{
    BaseColumnUdf, Column, DataFrame, DataType, Field, IdxSize, IntoLazy, JoinArgs, JoinCoalesce, JoinType, LazyFrame,
    MaintainOrderJoin, PlSmallStr, PolarsResult, Scalar, Schema, Selector, SortMultipleOptions, UniqueKeepStrategy, col, int_range,
    len, lit,
};
use polars::sql::{FunctionOptions, SQLContext};
use sqlparser::ast::{
    BinaryOperator, Cte, Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, LimitClause, OrderBy,
    OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SetExpr, SetOperator, SetQuantifier, Spanned, Value, Visit, VisitMut,
    Visitor, visit_expressions,
};
use sqlparser::tokenizer::{Location, Span, TokenWithSpan};

use super::duckdb_arithmetic::meant;
use super::duckdb_semantics::{column, is_aggregate, name_of, span_of, unwrapped};
use super::engine::{SqlEngine, engine_error, refusal, values_error};
use super::from_clause::unnested_together;
use super::grouping::{SelectGroups, text_of};
use super::name_binding::Binder;
use super::nested_plans::with_common_types;
use super::sampling::{RowSampling, sampled};
use super::scope::{NameLookup, SelectScope, UniqueNames};
use super::select_list::{ResultColumn, select_list};
use super::source_span::StatementSource;
use super::subquery_rewrite::{Attached, count_of};
use super::token_spellings::PERCENT;
use super::windowing::{NamedWindows, SelectWindows};
use crate::error::{Error, Result};

/// Maximum number of result columns over all SELECT lists of a statement.
const ITEMS_MAX: usize = 200_000;

/// Common table expressions, innermost last.
#[derive(Clone, Default)]
pub(super) struct Ctes(Vec<(String, LazyFrame)>);

impl Ctes {
    pub fn find(&self, name: &str) -> Option<LazyFrame> {
        self.0.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, frame)| frame.clone())
    }

    /// These, with one more.
    pub fn with(&self, name: &str, frame: LazyFrame) -> Self {
        let mut all = self.clone();
        all.0.push((name.to_owned(), frame));
        all
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Plans one statement.
pub(super) struct Planner<'a> {
    pub source: StatementSource<'a>,
    pub tokens: &'a [TokenWithSpan],
    /// Looks up a table of the dataset.
    pub table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
    /// All tables with their columns, for errors.
    pub columns: &'a [(String, Vec<String>)],
    /// Runs SQL of the engine over frames.
    pub engine: SqlEngine<'a>,
    /// Samples that SELECTs take of their FROM.
    samplings: &'a [(Location, RowSampling)],
    unfolded: Cell<usize>,
    items: Cell<usize>,
}

/// A planned query.
pub(super) struct PlannedQuery {
    pub frame: LazyFrame,
    /// Result columns, without `key_names`.
    pub names: Vec<String>,
    /// Correlation of a subquery: an expression over the outer rows, and the column here that equals it.
    pub keys: Vec<(Expr, String)>,
    pub key_names: Vec<String>,
    /// True for aggregates without GROUP BY, which give a row for no rows.
    pub is_one_group: bool,
}

/// A sort key.
enum SortKey {
    /// Index of a result column.
    Item(usize),
    /// Index into the other expressions.
    Other(usize),
}

impl<'a> Planner<'a> {
    pub fn new(
        source: StatementSource<'a>,
        tokens: &'a [TokenWithSpan],
        table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
        columns: &'a [(String, Vec<String>)],
        samplings: &'a [(Location, RowSampling)],
    ) -> Self {
        let engine = SqlEngine::new(source, tokens, columns);
        Self { source, tokens, table, columns, engine, samplings, unfolded: Cell::new(0), items: Cell::new(0) }
    }

    /// Plans a statement.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown names and unsupported constructs, with position and alternative.
    pub fn plan(&self, query: &Query) -> Result<LazyFrame> {
        Ok(self.query(query, &Ctes::default(), None)?.frame)
    }

    /// Filters a frame by a condition on its columns.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn condition(&self, frame: LazyFrame, condition: &Expr) -> Result<LazyFrame> {
        let mut frame = frame;
        let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
        let columns = schema.iter_names().map(|name| super::scope::ScopeColumn {
            name: name.to_string(),
            inner: name.to_string(),
            qualified_only: false,
        });
        let relation = super::scope::Relation { alias: "data".into(), columns: columns.collect() };
        let scope = SelectScope::new(vec![relation], None);
        let ctes = Ctes(vec![("data".into(), frame.clone())]);
        let mut binder = Binder::new(self, &scope, &ctes, &[]);
        let bound = binder.bind_inside(condition)?;
        let attached = !binder.attached.is_empty();
        let frame = self.attach(frame, binder.attached)?;
        let frame = self.engine.filtered(frame, &bound)?;
        Ok(if attached { frame.select(schema.iter_names().map(|name| col(name.clone())).collect::<Vec<_>>()) } else { frame })
    }

    /// Counts bytes of substituted expressions.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] above `most`.
    pub fn unfold(&self, bytes: usize, most: usize) -> Result<()> {
        let sum = self.unfolded.get().saturating_add(bytes);
        self.unfolded.set(sum);
        if sum <= most {
            return Ok(());
        }
        let error = Error::too_large("the names of the query stand for too much text");
        Err(self.source.locate_statement(error.hint("compute step by step in subqueries")))
    }

    fn attach(&self, mut frame: LazyFrame, attached: Vec<(String, Attached)>) -> Result<LazyFrame> {
        for (_, rows) in attached {
            frame = match rows {
                Attached::One(one) => self.beside_one(frame, one)?,
                Attached::ByKey { rows, keys } => {
                    let own: Vec<(Expr, String)> =
                        keys.iter().map(|(expr, _)| (expr.clone(), self.engine.unique("__lookup"))).collect();
                    // Join keys get unique names; the right side has each key once.
                    let names: Vec<String> = keys.iter().map(|_| self.engine.unique("__key_sub")).collect();
                    let renamed = rows.rename(keys.iter().map(|(_, name)| name.as_str()), names.iter().map(String::as_str), true);
                    let (mut left, mut right) = (self.engine.with(frame, &own)?, renamed);
                    let sides = |own: &[(Expr, String)]| own.iter().map(|(_, name)| col(name.as_str())).collect();
                    let right_keys = names.iter().map(|name| col(name.as_str())).collect();
                    let (left_on, right_on) = self.of_one_type(&mut left, sides(&own), &mut right, right_keys, Span::empty())?;
                    let arguments = JoinArgs {
                        maintain_order: MaintainOrderJoin::Left,
                        coalesce: JoinCoalesce::KeepColumns,
                        // Nulls are keys only of columns that [`Planner::with_rows_around`] joined.
                        nulls_equal: true,
                        ..JoinArgs::new(JoinType::Left)
                    };
                    left.join(right, left_on, right_on, arguments)
                }
            };
        }
        Ok(frame)
    }

    /// The frame with the columns of a frame of one row beside each row. Joined by a constant that depends on both sides: the
    /// optimiser removes unused columns, and where it removes all of a side, the number of its rows is lost too.
    pub(super) fn beside_one(&self, mut frame: LazyFrame, mut one: LazyFrame) -> Result<LazyFrame> {
        let first = |frame: &mut LazyFrame| -> Result<Option<PlSmallStr>> {
            let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
            Ok(schema.iter_names().next().cloned())
        };
        let (Some(left), Some(right)) = (first(&mut frame)?, first(&mut one)?) else { return Ok(frame.cross_join(one, None)) };
        let (left_key, right_key) = (self.engine.unique("__lookup"), self.engine.unique("__lookup"));
        let keyed = |frame: LazyFrame, column: PlSmallStr, key: &str| frame.with_column(zero().call(vec![col(column)]).alias(key));
        let arguments = JoinArgs {
            maintain_order: MaintainOrderJoin::Left,
            coalesce: JoinCoalesce::KeepColumns,
            ..JoinArgs::new(JoinType::Left)
        };
        let (left, right) = (keyed(frame, left, &left_key), keyed(one, right, &right_key));
        Ok(left.join(right, [col(left_key.as_str())], [col(right_key.as_str())], arguments))
    }

    /// Plans a query; `outer` is the scope of the enclosing SELECT of a subquery.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn query(&self, query: &Query, ctes: &Ctes, outer: Option<&SelectScope>) -> Result<PlannedQuery> {
        let unsupported = [
            (query.for_clause.is_some(), "FOR"),
            (query.format_clause.is_some(), "FORMAT"),
            (query.settings.is_some(), "SETTINGS"),
            (!query.locks.is_empty(), "FOR UPDATE"),
            (!query.pipe_operators.is_empty(), "|>"),
        ];
        if let Some((_, clause)) = unsupported.iter().find(|(used, _)| *used) {
            return Err(self.source.locate(Error::usage(format!("{clause} is not supported")), query.span()));
        }
        let mut ctes = ctes.clone();
        if let Some(with) = &query.with {
            for cte in &with.cte_tables {
                let frame = match recursive_parts(cte).filter(|_| with.recursive) {
                    Some(parts) => self.recursive(cte, parts, &ctes)?,
                    None => self.renamed(self.query(&cte.query, &ctes, None)?.frame, &cte.alias)?,
                };
                ctes.0.push((cte.alias.name.value.clone(), frame));
            }
        }
        let mut planned = match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_ref(), &ctes, outer)?,
            other => {
                let planned = self.body(other, &ctes, outer)?;
                self.sorted(planned, query.order_by.as_ref(), &ctes)?
            }
        };
        let (limit, offset) = self.limits(query)?;
        if limit.is_some() || offset > 0 {
            if !planned.keys.is_empty() && (offset > 0 || matches!(limit, Some(Limit::Percent(_)))) {
                let error = Error::usage("a subquery that looks at the rows around it can't have OFFSET");
                return Err(self.source.locate(error.hint("take an extreme: max(x), arg_max(x, y)"), query.span()));
            }
            if let Some(Limit::Percent(percent)) = limit {
                planned.frame = part_of_rows(planned.frame, percent, offset);
                return Ok(planned);
            }
            let limit = match limit {
                Some(Limit::Rows(rows)) => IdxSize::try_from(rows).unwrap_or(IdxSize::MAX),
                _ => IdxSize::MAX,
            };
            planned.frame = match offset {
                // The first rows for each row around it.
                0 if !planned.keys.is_empty() => {
                    let keys: Vec<_> = planned.key_names.iter().map(|name| col(name.as_str())).collect();
                    planned.frame.group_by_stable(keys).head(Some(limit as usize))
                }
                0 => planned.frame.limit(limit),
                _ => planned.frame.slice(i64::try_from(offset).unwrap_or(i64::MAX), limit),
            };
        }
        Ok(planned)
    }

    /// The rows of a recursive WITH. They are computed here: each step sees the rows of the step before it.
    fn recursive(&self, cte: &Cte, (first, all, step): (&SetExpr, bool, &SetExpr), ctes: &Ctes) -> Result<LazyFrame> {
        let too_large = |what: String| {
            let error = Error::too_large(what).hint("let the condition of the recursion end earlier");
            self.source.locate(error, cte.alias.name.span)
        };
        let collected = |frame: LazyFrame| -> Result<DataFrame> {
            meant(frame).and_then(LazyFrame::collect).map_err(|error| values_error(&error))
        };
        let start = self.renamed(self.body(first, ctes, None)?.frame, &cte.alias)?;
        let step_after =
            |rows: LazyFrame| -> Result<LazyFrame> { Ok(self.body(step, &ctes.with(&cte.alias.name.value, rows), None)?.frame) };
        let named = |mut frame: LazyFrame, names: &[PlSmallStr]| -> Result<LazyFrame> {
            let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
            if schema.len() != names.len() {
                let error = Error::usage(format!(
                    "the steps of {} have {} columns, not {}",
                    cte.alias.name.value,
                    schema.len(),
                    names.len()
                ));
                return Err(self.source.locate(error, cte.alias.name.span));
            }
            let renamed = schema.iter_names().zip(names).map(|(old, new)| col(old.clone()).alias(new.clone()));
            Ok(frame.select(renamed.collect::<Vec<_>>()))
        };
        let mut typed = start.clone();
        let names: Vec<PlSmallStr> = typed.collect_schema().map_err(|error| engine_error(&error))?.iter_names().cloned().collect();
        let (mut typed, _) =
            with_common_types(start.clone(), named(step_after(start)?, &names)?).map_err(|error| engine_error(&error))?;
        let schema = typed.collect_schema().map_err(|error| engine_error(&error))?;
        let with_types = |frame: LazyFrame| {
            let columns = schema.iter().map(|(name, dtype)| col(name.clone()).cast(dtype.clone()));
            frame.select(columns.collect::<Vec<_>>())
        };
        let distinct = |frame: LazyFrame| if all { frame } else { frame.unique_stable(None, UniqueKeepStrategy::First) };
        let mut rows = collected(distinct(with_types(typed)))?;
        let mut last = rows.clone();
        for steps in 0.. {
            if last.height() == 0 {
                break;
            }
            if steps >= RECURSIONS_MAX {
                return Err(too_large(format!("{} takes more than {RECURSIONS_MAX} steps", cte.alias.name.value)));
            }
            let next = with_types(named(step_after(last.lazy())?, &names)?);
            let next = if all { next } else { without_known(next, rows.clone().lazy(), &names) };
            last = collected(next)?;
            rows.vstack_mut(&last).map_err(|error| engine_error(&error))?;
            if rows.height() > RECURSIVE_ROWS_MAX {
                return Err(too_large(format!("{} has more than {RECURSIVE_ROWS_MAX} rows", cte.alias.name.value)));
            }
        }
        rows.rechunk_mut();
        Ok(rows.lazy())
    }

    fn limits(&self, query: &Query) -> Result<(Option<Limit>, u64)> {
        let fetch = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
        let (limit, offset) = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref().or(fetch), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            None => (fetch, None),
        };
        let number = |expr: &Expr| {
            let error = || Error::usage(format!("{expr} is no number of rows")).hint("LIMIT 10 OFFSET 20");
            count_of(expr).ok_or_else(|| self.source.locate(error(), expr.span()))
        };
        let limit = limit.map(|limit| match percent_of(limit) {
            Some(percent) => Ok(Limit::Percent(percent)),
            None => number(limit).map(Limit::Rows),
        });
        Ok((limit.transpose()?, offset.map(number).transpose()?.unwrap_or(0)))
    }

    fn planned(&self, mut frame: LazyFrame) -> Result<PlannedQuery> {
        let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        Ok(PlannedQuery { frame, names, keys: Vec::new(), key_names: Vec::new(), is_one_group: false })
    }

    fn body(&self, body: &SetExpr, ctes: &Ctes, outer: Option<&SelectScope>) -> Result<PlannedQuery> {
        match body {
            SetExpr::Select(select) => self.select(select, None, ctes, outer),
            SetExpr::Query(query) => self.query(query, ctes, outer),
            SetExpr::SetOperation { left, op, set_quantifier, right } => self.combined(left, *op, *set_quantifier, right, ctes),
            SetExpr::Values(values) => {
                let scope = SelectScope::new(Vec::new(), None);
                let mut one = self.from(&[], &mut Vec::new(), ctes)?.frame;
                let mut rows = Vec::with_capacity(values.rows.len());
                for row in &values.rows {
                    let value = |value: &Expr| {
                        let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(value)?;
                        self.engine.print(&bound, &mut one)
                    };
                    rows.push(format!("({})", row.content.iter().map(value).collect::<Result<Vec<_>>>()?.join(", ")));
                }
                let mut planned = self.planned(self.engine.run(one, &format!("VALUES {}", rows.join(", ")))?)?;
                let names: Vec<String> = (0..planned.names.len()).map(|at| format!("col{at}")).collect();
                planned.frame = planned.frame.rename(&planned.names, &names, true);
                planned.names = names;
                Ok(planned)
            }
            other => {
                let error = Error::usage("this changes tables; queries only read").hint("edit the dataset as a draft instead");
                Err(self.source.locate(error, other.span()))
            }
        }
    }

    fn combined(
        &self,
        left: &SetExpr,
        op: SetOperator,
        quantifier: SetQuantifier,
        right: &SetExpr,
        ctes: &Ctes,
    ) -> Result<PlannedQuery> {
        let (left, mut other) = (self.body(left, ctes, None)?, self.body(right, ctes, None)?);
        let by_name = matches!(quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName);
        if !by_name {
            if left.names.len() != other.names.len() {
                let (one, two) = (left.names.len(), other.names.len());
                let error = Error::usage(format!("{op} puts tables of {one} and of {two} columns together"));
                return Err(self
                    .source
                    .locate(error.hint(format!("name as many columns in both, or write {op} BY NAME")), right.span()));
            }
            let names = other.names.iter().zip(&left.names).map(|(old, new)| col(old.as_str()).alias(new.as_str()));
            other.frame = other.frame.select(names.collect::<Vec<_>>());
        }
        let (left, right) = with_common_types(left.frame, other.frame).map_err(|error| engine_error(&error))?;
        if matches!(op, SetOperator::Except | SetOperator::Intersect) && quantifier == SetQuantifier::All {
            return self.planned(with_repeats(left, right, op == SetOperator::Intersect)?);
        }
        let mut context = SQLContext::new();
        context.register("l", left);
        context.register("r", right);
        let frame = context.execute(&format!("SELECT * FROM l {op} {quantifier} SELECT * FROM r"));
        self.planned(frame.map_err(|error| engine_error(&error))?)
    }

    /// Sorts the result of a set operation by its columns.
    fn sorted(&self, mut planned: PlannedQuery, order: Option<&OrderBy>, ctes: &Ctes) -> Result<PlannedQuery> {
        let Some(order) = order else { return Ok(planned) };
        let columns = planned.names.iter().map(|name| super::scope::ScopeColumn {
            name: name.clone(),
            inner: name.clone(),
            qualified_only: false,
        });
        let relation = super::scope::Relation { alias: String::new(), columns: columns.collect() };
        let scope = SelectScope::new(vec![relation], None);
        let (mut by, mut computed) = (Vec::new(), Vec::new());
        for (key, options) in self.order_keys(order, planned.names.len())? {
            let name = match key {
                Ok(place) => planned.names[place].clone(),
                Err(expr) => {
                    let name = self.engine.unique("__order");
                    computed.push((Binder::new(self, &scope, ctes, &[]).bind_inside(&expr)?, name.clone()));
                    name
                }
            };
            by.push((name, options));
        }
        let shown: Vec<_> = planned.names.iter().map(|name| col(name.as_str())).collect();
        planned.frame = ordered(self.engine.with(planned.frame, &computed)?, &by).select(shown);
        Ok(planned)
    }

    /// Keys of ORDER BY: index of a result column, or an expression.
    #[allow(clippy::type_complexity, reason = "a key is a place or an expression, with its options")]
    fn order_keys(&self, order: &OrderBy, columns: usize) -> Result<Vec<(std::result::Result<usize, Expr>, OrderByOptions)>> {
        let keys = match &order.kind {
            OrderByKind::All(options) => return Ok((0..columns).map(|at| (Ok(at), *options)).collect()),
            OrderByKind::Expressions(keys) => keys,
        };
        let key = |key: &OrderByExpr| {
            let place = match count_of(&key.expr) {
                None => return Ok((Err(key.expr.clone()), key.options)),
                Some(number) => usize::try_from(number).ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < columns),
            };
            let error = || Error::usage(format!("there is no result column {}", key.expr));
            place.map(|place| (Ok(place), key.options)).ok_or_else(|| self.source.locate(error(), key.expr.span()))
        };
        keys.iter().map(key).collect()
    }

    fn check_clauses(&self, select: &Select) -> Result<()> {
        let unsupported = [
            (!select.cluster_by.is_empty(), "CLUSTER BY"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!select.sort_by.is_empty(), "SORT BY"),
            (!select.lateral_views.is_empty(), "LATERAL VIEW"),
            (select.into.is_some(), "INTO"),
            (select.top.is_some(), "TOP"),
            (select.prewhere.is_some(), "PREWHERE"),
            (select.value_table_mode.is_some(), "AS STRUCT"),
            (select.exclude.is_some(), "EXCLUDE behind the columns"),
        ];
        match unsupported.iter().find(|(used, _)| *used) {
            Some((_, clause)) => Err(self.source.locate(Error::usage(format!("{clause} is not supported")), select.span())),
            None => Ok(()),
        }
    }

    /// Plans one SELECT with its ORDER BY.
    fn select(&self, select: &Select, order: Option<&OrderBy>, ctes: &Ctes, outer: Option<&SelectScope>) -> Result<PlannedQuery> {
        self.check_clauses(select)?;
        let mut select = select.clone();
        let named = std::mem::take(&mut select.named_window).into_iter().map(|window| (window.0, window.1)).collect();
        if let ControlFlow::Break(error) = VisitMut::visit(&mut select, &mut NamedWindows::new(self.source, named)) {
            return Err(*error);
        }
        let select = &select;
        let mut conditions = Vec::new();
        if let Some(condition) = &select.selection {
            conjuncts(condition, &mut conditions);
        }
        let select_at = select.select_token.0.span.start;
        let sampling = self.samplings.iter().find(|(place, _)| *place == select_at).map(|(_, sampling)| *sampling);
        let mut joined = match sampling {
            // A sample is of the rows before WHERE, so its equalities can't be join keys.
            Some(_) => self.from(&select.from, &mut Vec::new(), ctes)?,
            None => self.from(&select.from, &mut conditions, ctes)?,
        };
        if let Some(sampling) = sampling {
            joined.frame = sampled(joined.frame, sampling);
        }
        let mut scope = joined.scope(outer);
        let schema = joined.frame.collect_schema().map_err(|error| engine_error(&error))?;
        let mut items = self.items(select, &scope, &schema)?;
        let aliases: Vec<(String, Expr)> =
            items.iter().filter(|item| item.is_alias).map(|item| (item.name.clone(), item.expr.clone())).collect();
        let mut ties: Vec<(Expr, String)> = Vec::new();
        let mut tied = Vec::new();
        let mut others = Vec::new();
        for condition in conditions {
            match self.tie(&condition, &scope, ctes)? {
                Some((around, own)) => {
                    let name = self.engine.unique("__tie");
                    tied.push((own, name.clone()));
                    ties.push((around, name));
                }
                None => others.push(condition),
            }
        }
        let conditions = others;
        let mut frame = self.engine.with(joined.frame, &tied)?;
        // A null equals nothing.
        for (_, name) in &tied {
            frame = frame.filter(col(name.as_str()).is_not_null());
        }
        let around = self.columns_around(select, &conditions, order, &scope, &aliases);
        frame = self.with_rows_around(frame, &mut scope, around, &mut ties)?;
        let scope = scope;
        for condition in &conditions {
            let mut binder = Binder::new(self, &scope, ctes, &aliases);
            let bound = binder.bind_inside(condition)?;
            self.check_rows_only(&bound, "WHERE", "filter groups with HAVING, windows with QUALIFY")?;
            frame = self.attach(frame, binder.attached)?;
            frame = self.engine.filtered(frame, &bound)?;
        }

        // Expressions over ungrouped rows.
        let mut attached = Vec::new();
        let mut before: Vec<(String, Expr)> = Vec::new();
        for item in &mut items {
            let mut binder = Binder::new(self, &scope, ctes, &before);
            let bound = binder.bind_inside(&item.expr)?;
            attached.extend(binder.attached);
            if item.is_alias {
                before.push((item.name.clone(), item.expr.clone()));
            }
            item.expr = bound;
            if let Some(list) = unnested(&item.expr) {
                (item.expr, item.unnests) = (list, true);
            }
        }
        let mut bind = |expr: &Expr| {
            let mut binder = Binder::new(self, &scope, ctes, &aliases);
            let bound = binder.bind_inside(expr)?;
            attached.extend(binder.attached);
            Ok::<Expr, Error>(bound)
        };
        let mut having = select.having.as_ref().map(&mut bind).transpose()?;
        let mut qualify = select.qualify.as_ref().map(&mut bind).transpose()?;
        let mut others: Vec<Expr> = Vec::new();
        let mut by: Vec<(SortKey, OrderByOptions)> = Vec::new();
        if let Some(order) = order {
            for (key, options) in self.order_keys(order, items.len())? {
                let key = match key {
                    Ok(place) => SortKey::Item(place),
                    Err(expr) => {
                        let named = |item: &ResultColumn| matches!(&expr, Expr::Identifier(ident) if item.name.eq_ignore_ascii_case(&ident.value));
                        match items.iter().position(named) {
                            Some(place) => SortKey::Item(place),
                            None => {
                                let bound = bind(&expr)?;
                                match items.iter().position(|item| !item.unnests && text_of(&item.expr) == text_of(&bound)) {
                                    Some(place) => SortKey::Item(place),
                                    None => {
                                        others.push(bound);
                                        SortKey::Other(others.len() - 1)
                                    }
                                }
                            }
                        }
                    }
                };
                by.push((key, options));
            }
        }
        let sort_keys = others.len();
        if let Some(Distinct::On(keys)) = &select.distinct {
            for key in keys {
                let place = count_of(key).and_then(|number| items.get(usize::try_from(number).ok()?.checked_sub(1)?));
                let bound = match place {
                    Some(item) => item.expr.clone(),
                    None => bind(key)?,
                };
                others.push(bound);
            }
        }
        let keys = self.group_keys(select, &items, &mut bind)?;

        let has_aggregate = items.iter().map(|item| &item.expr).chain(&having).chain(&qualify).chain(&others).any(aggregates);
        let grouped = keys.is_some() || having.is_some() || has_aggregate;
        if grouped {
            let mut groups = SelectGroups::new(&self.engine);
            for key in keys.iter().flat_map(|keys| &keys.keys) {
                self.check_rows_only(key, "GROUP BY", "group in a subquery, then again around it")?;
                groups.key(key.clone());
            }
            if let Some(sets) = keys.as_ref().and_then(|keys| keys.sets.as_ref()) {
                let named = sets.iter().map(|set| set.iter().map(|key| groups.key(key.clone())).collect()).collect();
                groups.group_by_sets(named);
            }
            for (_, name) in &mut ties {
                *name = groups.key(column(name));
            }
            let exprs = items.iter_mut().map(|item| &mut item.expr).chain(&mut having).chain(&mut qualify).chain(&mut others);
            for expr in exprs {
                groups.lower(expr)?;
            }
            let texts = groups.texts();
            let (below, mut above): (Vec<_>, Vec<_>) = attached.into_iter().partition(|(name, rows)| rows.is_used(name, &texts));
            frame = self.attach(frame, below)?;
            for (_, rows) in &mut above {
                if let Attached::ByKey { keys, .. } = rows {
                    for (key, _) in keys {
                        groups.lower(key)?;
                    }
                }
            }
            frame = self.attach(groups.grouped(frame)?, above)?;
        } else {
            frame = self.attach(frame, attached)?;
        }
        if let Some(having) = &having {
            self.check_rows_only(having, "HAVING", "filter windows with QUALIFY")?;
            frame = self.engine.filtered(frame, having)?;
        }

        let mut windows = SelectWindows::new(&self.engine);
        let exprs = items.iter_mut().map(|item| &mut item.expr).chain(&mut qualify).chain(&mut others);
        for expr in exprs {
            windows.lower(expr)?;
        }
        if !ties.is_empty() && !windows.is_empty() {
            let error = Error::usage("a subquery that looks at the rows around it can't have windows");
            return Err(self.source.locate(error.hint("compute the windows in WITH, and look at its rows"), select.span()));
        }
        frame = windows.computed(frame)?;
        if let Some(qualify) = &qualify {
            frame = self.engine.filtered(frame, qualify)?;
        }

        let planned = self.result(frame, select, items, others, sort_keys, by, ties)?;
        Ok(PlannedQuery { is_one_group: grouped && keys.is_none(), ..planned })
    }

    /// Columns of the enclosing SELECT that a SELECT uses other than in equalities, by their names there.
    fn columns_around(
        &self,
        select: &Select,
        conditions: &[Expr],
        order: Option<&OrderBy>,
        scope: &SelectScope,
        aliases: &[(String, Expr)],
    ) -> Vec<String> {
        let Some(outer) = scope.outer else { return Vec::new() };
        let mut names = NamesAround { scope, outer, aliases, depth: 0, found: Vec::new() };
        // Its tables and equalities are planned.
        let rest = Select { selection: None, from: Vec::new(), ..select.clone() };
        let _ = rest.visit(&mut names);
        let _ = conditions.to_vec().visit(&mut names);
        let _ = order.cloned().visit(&mut names);
        names.found
    }

    /// Joins every row of the frame with the values of these columns of the enclosing SELECT, which become keys of the result.
    fn with_rows_around(
        &self,
        frame: LazyFrame,
        scope: &mut SelectScope,
        around: Vec<String>,
        ties: &mut Vec<(Expr, String)>,
    ) -> Result<LazyFrame> {
        let Some(rows) = scope.outer.and_then(|outer| outer.rows.clone()).filter(|_| !around.is_empty()) else { return Ok(frame) };
        let mut shown = Vec::new();
        for there in around {
            let here = self.engine.unique("__tie");
            shown.push(col(there.as_str()).alias(here.as_str()));
            ties.push((column(&there), here.clone()));
            scope.around.push((there, here));
        }
        Ok(frame.cross_join(rows.select(shown).unique(None, UniqueKeepStrategy::Any), None))
    }

    /// Evaluates, sorts and selects the result columns.
    #[allow(clippy::too_many_arguments, reason = "the parts of one SELECT, used once")]
    fn result(
        &self,
        frame: LazyFrame,
        select: &Select,
        items: Vec<ResultColumn>,
        others: Vec<Expr>,
        sort_keys: usize,
        by: Vec<(SortKey, OrderByOptions)>,
        ties: Vec<(Expr, String)>,
    ) -> Result<PlannedQuery> {
        let mut computed: Vec<(Expr, String)> = Vec::new();
        let mut place = |expr: &Expr, needs_own: bool| match unwrapped(expr) {
            Expr::Identifier(ident) if !needs_own => ident.value.clone(),
            expr => {
                let name = self.engine.unique("__out");
                computed.push((expr.clone(), name.clone()));
                name
            }
        };
        let inner: Vec<String> = items.iter().map(|item| place(&item.expr, item.unnests)).collect();
        let others: Vec<String> = others.iter().map(|expr| place(expr, false)).collect();
        let mut frame = self.engine.with(frame, &computed)?;
        let lists: Vec<&str> = items.iter().zip(&inner).filter(|(item, _)| item.unnests).map(|(_, inner)| inner.as_str()).collect();
        frame = unnested_together(frame, &lists);
        let mut free = UniqueNames::default();
        let names: Vec<String> = items.iter().map(|item| free.take(&item.name)).collect();
        let key_names: Vec<String> = ties.iter().map(|(_, name)| name.clone()).collect();
        let shown = || {
            let items = inner.iter().zip(&names).map(|(inner, name)| col(inner.as_str()).alias(name.as_str()));
            items.chain(key_names.iter().map(|name| col(name.as_str()))).collect::<Vec<_>>()
        };
        let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let sorting: Vec<(String, OrderByOptions)> = by
            .iter()
            .map(|(key, options)| match key {
                SortKey::Item(at) if is_distinct => (names[*at].clone(), *options),
                SortKey::Item(at) => (inner[*at].clone(), *options),
                SortKey::Other(at) => (others[*at].clone(), *options),
            })
            .collect();
        let frame = match &select.distinct {
            Some(Distinct::Distinct) => {
                if sort_keys > 0 {
                    let error = Error::usage("rows that are DISTINCT are sorted by what SELECT names");
                    return Err(self.source.locate(error.hint("name the key as well, or group by the columns"), select.span()));
                }
                ordered(frame.select(shown()).unique_stable(None, UniqueKeepStrategy::Any), &sorting)
            }
            Some(Distinct::On(_)) => {
                let keys: Vec<PlSmallStr> = others[sort_keys..].iter().map(|name| name.as_str().into()).collect();
                let keys = Selector::ByName { names: keys.into(), strict: true };
                ordered(frame, &sorting).unique_stable(Some(keys), UniqueKeepStrategy::First).select(shown())
            }
            _ => ordered(frame, &sorting).select(shown()),
        };
        Ok(PlannedQuery { frame, names, keys: ties, key_names, is_one_group: false })
    }

    /// For a correlating equality in WHERE: the outer and the inner side.
    fn tie(&self, condition: &Expr, scope: &SelectScope, ctes: &Ctes) -> Result<Option<(Expr, Expr)>> {
        let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = unwrapped(condition) else { return Ok(None) };
        if scope.outer.is_none() {
            return Ok(None);
        }
        let mut sides = Vec::new();
        for side in [left, right] {
            if matches!(unwrapped(side), Expr::Subquery(_)) {
                return Ok(None);
            }
            let mut binder = Binder::new(self, scope, ctes, &[]);
            let Ok(bound) = binder.bind(side) else { return Ok(None) };
            if !binder.attached.is_empty() {
                return Ok(None);
            }
            sides.push((bound, binder.looked_inside, binder.looked_outside.is_some()));
        }
        match (sides.pop(), sides.pop()) {
            (Some((own, true, false)), Some((around, false, true))) | (Some((around, false, true)), Some((own, true, false))) => {
                Ok(Some((around, own)))
            }
            _ => Ok(None),
        }
    }

    fn check_rows_only(&self, expr: &Expr, clause: &str, hint: &str) -> Result<()> {
        let found = visit_expressions(expr, |part| match part {
            Expr::Function(function) if function.over.is_some() || (clause != "HAVING" && is_aggregate(function)) => {
                ControlFlow::Break((name_of(function), span_of(function)))
            }
            _ => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break((name, span)) => {
                Err(self.source.locate(Error::usage(format!("{name}() can't stand in {clause}")).hint(hint), span))
            }
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// The SELECT list, expanded to named columns.
    fn items(&self, select: &Select, scope: &SelectScope, schema: &Schema) -> Result<Vec<ResultColumn>> {
        let items = select_list(self.source, select, scope, schema)?;
        self.items.set(self.items.get() + items.len());
        if self.items.get() > ITEMS_MAX {
            let error = Error::too_large(format!("the SELECTs of the query name more than {ITEMS_MAX} columns"));
            return Err(error.hint("name the columns that you need"));
        }
        Ok(items)
    }

    /// Keys of GROUP BY; `None` without the clause.
    fn group_keys(
        &self,
        select: &Select,
        items: &[ResultColumn],
        bind: &mut dyn FnMut(&Expr) -> Result<Expr>,
    ) -> Result<Option<GroupKeys>> {
        let mut found = GroupKeys::default();
        let modifiers = match &select.group_by {
            GroupByExpr::All(modifiers) => {
                found.keys = items.iter().map(|item| &item.expr).filter(|expr| !aggregates(expr)).cloned().collect();
                modifiers
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                for expr in exprs {
                    let sets = match expr {
                        Expr::Rollup(groups) => Some(rollup_sets(groups)),
                        Expr::Cube(groups) => cube_sets(groups),
                        Expr::GroupingSets(groups) => Some(groups.clone()),
                        Expr::Tuple(parts) => {
                            for part in parts {
                                found.keys.push(self.group_key(part, items, bind)?);
                            }
                            continue;
                        }
                        plain => {
                            found.keys.push(self.group_key(plain, items, bind)?);
                            continue;
                        }
                    };
                    let sets = sets.ok_or_else(|| self.too_many_groupings(expr))?;
                    let bound = sets
                        .iter()
                        .map(|set| set.iter().map(|key| self.group_key(key, items, bind)).collect::<Result<Vec<_>>>())
                        .collect::<Result<Vec<_>>>()?;
                    found.add_sets(bound);
                    if found.sets.as_ref().is_some_and(|sets| sets.len() > GROUPINGS_MAX) {
                        return Err(self.too_many_groupings(expr));
                    }
                }
                modifiers
            }
        };
        if !modifiers.is_empty() {
            let error = Error::usage("this form of GROUP BY is not supported").hint("write GROUP BY ROLLUP (a, b)");
            return Err(self.source.locate(error, select.group_by.span()));
        }
        let is_grouped = matches!(&select.group_by, GroupByExpr::All(_)) || !found.keys.is_empty() || found.sets.is_some();
        Ok(is_grouped.then_some(found))
    }

    fn too_many_groupings(&self, expr: &Expr) -> Error {
        let error = Error::too_large(format!("GROUP BY has more than {GROUPINGS_MAX} groupings"));
        self.source.locate(error.hint("name the groupings that you need: GROUPING SETS ((a, b), (a), ())"), expr.span())
    }

    /// A key of GROUP BY: an expression, or the number of a result column.
    fn group_key(&self, expr: &Expr, items: &[ResultColumn], bind: &mut dyn FnMut(&Expr) -> Result<Expr>) -> Result<Expr> {
        let Some(number) = count_of(expr) else { return bind(expr) };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let error = || Error::usage(format!("there is no result column {number}"));
        let item = place.and_then(|place| items.get(place)).ok_or_else(|| self.source.locate(error(), expr.span()))?;
        Ok(item.expr.clone())
    }
}

/// Maximum number of groupings of one GROUP BY; each is a plan of its own.
const GROUPINGS_MAX: usize = 64;

/// Keys of GROUP BY.
#[derive(Default)]
struct GroupKeys {
    /// All keys.
    keys: Vec<Expr>,
    /// The keys of each of several groupings, without those that all of them have.
    sets: Option<Vec<Vec<Expr>>>,
}

impl GroupKeys {
    /// Combines each grouping so far with each of these.
    fn add_sets(&mut self, sets: Vec<Vec<Expr>>) {
        self.keys.extend(sets.iter().flatten().cloned());
        let before = self.sets.take().unwrap_or_else(|| vec![Vec::new()]);
        let joined = before.iter().flat_map(|one| sets.iter().map(move |other| [one.as_slice(), other].concat()));
        self.sets = Some(joined.take(GROUPINGS_MAX + 1).collect());
    }
}

/// The groupings of ROLLUP: by all keys, by all but the last, and so on to none.
fn rollup_sets(groups: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=groups.len()).rev().map(|length| groups[..length].concat()).collect()
}

/// The groupings of CUBE: by each part of the keys. `None` for more keys than there may be groupings.
fn cube_sets(groups: &[Vec<Expr>]) -> Option<Vec<Vec<Expr>>> {
    let count = 1usize.checked_shl(u32::try_from(groups.len()).ok()?).filter(|count| *count <= GROUPINGS_MAX)?;
    let part = |chosen: usize| {
        let is_chosen = |(at, _): &(usize, &Vec<Expr>)| chosen >> (groups.len() - 1 - at) & 1 == 1;
        groups.iter().enumerate().filter(is_chosen).flat_map(|(_, group)| group.clone()).collect()
    };
    Some((0..count).rev().map(part).collect())
}

/// Finds the columns of the enclosing SELECT in the expressions of a SELECT, not in its subqueries.
struct NamesAround<'s> {
    scope: &'s SelectScope<'s>,
    outer: &'s SelectScope<'s>,
    aliases: &'s [(String, Expr)],
    /// Number of subqueries around the expression.
    depth: usize,
    found: Vec<String>,
}

impl Visitor for NamesAround<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let parts = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(parts) => parts.as_slice(),
            _ => return ControlFlow::Continue(()),
        };
        let is_alias = || match parts {
            [only] => self.aliases.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(&only.value)),
            _ => false,
        };
        if self.depth == 0
            && self.scope.find(parts) == NameLookup::Nothing
            && !is_alias()
            && let NameLookup::Column { inner, .. } = self.outer.find(parts)
            && !self.found.contains(&inner)
        {
            self.found.push(inner);
        }
        ControlFlow::Continue(())
    }
}

/// Maximum number of steps of a recursive WITH; each is a plan of its own.
const RECURSIONS_MAX: usize = 10_000;
/// Maximum number of rows of a recursive WITH, which are in memory.
const RECURSIVE_ROWS_MAX: usize = 10_000_000;

/// The first rows of a recursive WITH, whether rows may repeat, and the step that refers to it; `None` for others.
fn recursive_parts(cte: &Cte) -> Option<(&SetExpr, bool, &SetExpr)> {
    let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } = cte.query.body.as_ref() else {
        return None;
    };
    let name = &cte.alias.name.value;
    let found = sqlparser::ast::visit_relations(right.as_ref(), |relation| {
        let is_own = relation.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| ident.value.eq_ignore_ascii_case(name));
        if is_own { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break().then_some((left.as_ref(), *set_quantifier == SetQuantifier::All, right.as_ref()))
}

/// The different rows that are not among the known ones.
fn without_known(frame: LazyFrame, known: LazyFrame, names: &[PlSmallStr]) -> LazyFrame {
    let keys = || names.iter().cloned().map(col).collect::<Vec<_>>();
    let arguments = JoinArgs { nulls_equal: true, ..JoinArgs::new(JoinType::Anti) };
    frame.unique_stable(None, UniqueKeepStrategy::First).join(known, keys(), keys(), arguments)
}

/// Number of rows after LIMIT.
#[derive(Clone, Copy)]
enum Limit {
    Rows(u64),
    /// A part of all rows.
    Percent(f64),
}

/// The number of `LIMIT 10%`.
fn percent_of(limit: &Expr) -> Option<f64> {
    let Expr::Function(function) = limit else { return None };
    if name_of(function) != PERCENT {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match &value.value {
            Value::Number(text, _) => text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)),
            _ => None,
        },
        _ => None,
    }
}

/// The first rows behind `offset` that are this part of all rows, rounded down.
fn part_of_rows(frame: LazyFrame, percent: f64, offset: u64) -> LazyFrame {
    const NUMBER: &str = "__row";
    let rows = (len().cast(DataType::Float64) * lit(percent / 100.0)).floor() + lit(offset as f64);
    let number = || col(NUMBER).cast(DataType::Float64);
    let kept = number().gt_eq(lit(offset as f64)).and(number().lt(rows));
    frame
        .with_row_index(NUMBER, None)
        .filter(kept)
        .drop(Selector::ByName { names: [PlSmallStr::from(NUMBER)].into(), strict: true })
}

/// INTERSECT ALL, or EXCEPT ALL: equal rows are told apart by their number among their equals, nulls are equal.
fn with_repeats(mut left: LazyFrame, right: LazyFrame, keeps_shared: bool) -> Result<LazyFrame> {
    const NUMBER: &str = "__repeat";
    let schema = left.collect_schema().map_err(|error| engine_error(&error))?;
    let names: Vec<PlSmallStr> = schema.iter_names().cloned().collect();
    let columns = || names.iter().cloned().map(col).collect::<Vec<_>>();
    let number = int_range(lit(0), len(), 1, DataType::Int64).over(columns()).map_err(|error| engine_error(&error))?.alias(NUMBER);
    let numbered = |frame: LazyFrame| frame.with_column(number.clone());
    let keys = || columns().into_iter().chain([col(NUMBER)]).collect::<Vec<_>>();
    let arguments = JoinArgs {
        maintain_order: MaintainOrderJoin::Left,
        nulls_equal: true,
        ..JoinArgs::new(if keeps_shared { JoinType::Semi } else { JoinType::Anti })
    };
    Ok(numbered(left).join(numbered(right), keys(), keys(), arguments).select(columns()))
}

/// Splits a condition at AND.
pub(super) fn conjuncts(condition: &Expr, found: &mut Vec<Expr>) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, found);
            conjuncts(right, found);
        }
        Expr::Nested(inner) if matches!(unwrapped(inner), Expr::BinaryOp { op: BinaryOperator::And, .. }) => {
            conjuncts(inner, found)
        }
        other => found.push(other.clone()),
    }
}

fn ordered(frame: LazyFrame, by: &[(String, OrderByOptions)]) -> LazyFrame {
    if by.is_empty() {
        return frame;
    }
    let descending: Vec<bool> = by.iter().map(|(_, options)| options.asc == Some(false)).collect();
    // Nulls sort last unless NULLS FIRST is given.
    let nulls_last: Vec<bool> = by.iter().map(|(_, options)| options.nulls_first != Some(true)).collect();
    let options = SortMultipleOptions::default().with_order_descending_multi(descending).with_nulls_last_multi(nulls_last);
    frame.sort_by_exprs(by.iter().map(|(name, _)| col(name.as_str())).collect::<Vec<_>>(), options)
}

/// True when an expression contains an aggregate of its own SELECT.
fn aggregates(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Function(function) if is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Argument of `unnest(list)`.
fn unnested(expr: &Expr) -> Option<Expr> {
    match unwrapped(expr) {
        Expr::Function(function) if name_of(function) == "unnest" => match &function.args {
            FunctionArguments::List(list) => match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(list))] => Some(list.clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// 0 for each value.
fn zero() -> UserDefinedFunction {
    let values = |columns: &mut [Column]| -> PolarsResult<Column> {
        let [values] = columns else { return Err(refusal("a key is made from one column")) };
        Ok(Column::new_scalar(values.name().clone(), Scalar::from(0u8), values.len()))
    };
    let field = |_: &Schema, fields: &[Field]| {
        Ok(Field::new(fields.first().map_or(PlSmallStr::EMPTY, |field| field.name().clone()), DataType::UInt8))
    };
    let mut function = UserDefinedFunction::new("zero".into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}
