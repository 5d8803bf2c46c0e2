//! Plans queries for the engine, one SELECT at a time: each reads one frame with unique column names and becomes a chain of engine
//! statements over it (rows, groups, windows, result), so that functions, names and clauses have the same semantics at every depth.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use polars::prelude::{
    IdxSize, JoinArgs, JoinCoalesce, JoinType, LazyFrame, MaintainOrderJoin, PlSmallStr, PolarsError, Selector,
    SortMultipleOptions, UniqueKeepStrategy, col,
};
use polars::sql::SQLContext;
use sqlparser::ast::{
    BinaryOperator, Distinct, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    Ident, LimitClause, NamedWindowExpr, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, RenameSelectItem, Select,
    SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Spanned, Value, VisitMut,
    VisitorMut, WildcardAdditionalOptions, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
    visit_expressions,
};
use sqlparser::tokenizer::{Span, TokenWithSpan};

use super::duckdb_semantics::{Extras, Semantics, call_of, column, expression, is_aggregate, is_generated, name_of, span_of};
use super::from_clause::{exploded, unwrapped};
use super::name_binding::Binder;
use super::scope::{Scope, UniqueNames};
use super::source_span::Source;
use super::subquery_rewrite::{Attached, count_of};
use super::window_functions::{self, Bound, Frame, Window};
use super::{advice, column_names, function_registry};
use crate::error::{Error, Result};

/// Maximum characters of an engine message in an error.
const LONGEST_REASON: usize = 400;
/// Maximum number of result columns over all SELECT lists of a statement.
const ITEMS_MAX: usize = 200_000;

/// Common table expressions, innermost last.
#[derive(Clone, Default)]
pub(super) struct Ctes(Vec<(String, LazyFrame)>);

impl Ctes {
    pub fn find(&self, name: &str) -> Option<LazyFrame> {
        self.0.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, frame)| frame.clone())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Plans one statement.
pub(super) struct Planner<'a> {
    pub source: Source<'a>,
    pub tokens: &'a [TokenWithSpan],
    /// Looks up a table of the dataset.
    pub table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
    /// All tables with their columns, for errors.
    pub columns: &'a [(String, Vec<String>)],
    numbers: Cell<usize>,
    unfolded: Cell<usize>,
    items: Cell<usize>,
    extras: Extras,
}

/// A planned query.
pub(super) struct Planned {
    pub frame: LazyFrame,
    /// Result columns, without `key_names`.
    pub names: Vec<String>,
    /// Correlation of a subquery: an expression over the outer rows, and the column here that equals it.
    pub keys: Vec<(Expr, String)>,
    pub key_names: Vec<String>,
}

/// A result column.
struct Item {
    expr: Expr,
    name: String,
    /// True when named by AS.
    is_alias: bool,
    /// True for `unnest(list)`.
    unnests: bool,
}

/// A sort key.
enum Key {
    /// Index of a result column.
    Item(usize),
    /// Index into the other expressions.
    Other(usize),
}

impl<'a> Planner<'a> {
    pub fn new(
        source: Source<'a>,
        tokens: &'a [TokenWithSpan],
        table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
        columns: &'a [(String, Vec<String>)],
    ) -> Self {
        let (numbers, unfolded, items) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Self { source, tokens, table, columns, numbers, unfolded, items, extras: Extras::default() }
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
        let schema = frame.collect_schema().map_err(|error| Self::engine_error(&error))?;
        let columns = schema.iter_names().map(|name| super::scope::Column {
            name: name.to_string(),
            inner: name.to_string(),
            qualified_only: false,
        });
        let relation = super::scope::Relation { alias: "data".into(), columns: columns.collect() };
        let scope = Scope::new(vec![relation], None);
        let ctes = Ctes(vec![("data".into(), frame.clone())]);
        let mut binder = Binder::new(self, &scope, &ctes, &[]);
        let bound = binder.bind_inside(condition)?;
        let attached = !binder.attached.is_empty();
        let frame = self.attach(frame, binder.attached)?;
        let frame = self.filtered(frame, &bound)?;
        Ok(if attached { frame.select(schema.iter_names().map(|name| col(name.clone())).collect::<Vec<_>>()) } else { frame })
    }

    /// A unique name.
    pub fn unique(&self, prefix: &str) -> String {
        let number = self.numbers.get();
        self.numbers.set(number + 1);
        format!("{prefix}{number}")
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

    /// Converts an error of the engine.
    pub fn engine_error(error: &PolarsError) -> Error {
        if let Some(own) = Error::found_in(error) {
            return own;
        }
        let text = error.to_string();
        // The engine appends its plan to the message.
        let text = text.split("\n\nResolved plan").next().unwrap_or_default().trim();
        let text: String = text.chars().take(LONGEST_REASON).collect();
        Error::usage("the query could not be run").because(text)
    }

    /// Runs engine SQL over a frame, named `t`.
    fn run(&self, frame: LazyFrame, sql: &str) -> Result<LazyFrame> {
        let registry = function_registry::registry(self.extras.borrow().clone());
        let mut context = SQLContext::new().with_function_registry(registry);
        context.register("t", frame);
        let is_column = |name: &str| self.columns.iter().any(|(_, columns)| columns.iter().any(|column| column == name));
        context.execute(sql).map_err(|error| {
            let error = Self::engine_error(&error);
            advice::of_statement(self.tokens, &is_column).into_iter().fold(error, Error::hint)
        })
    }

    /// Prints an expression over a frame's columns as engine SQL.
    fn print(&self, expr: &Expr, frame: &mut LazyFrame) -> Result<String> {
        let schema = frame.collect_schema().map_err(|error| Self::engine_error(&error))?;
        Semantics { source: &self.source, schema: &schema, extras: &self.extras }.print(expr)
    }

    /// Adds computed columns to the frame.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn with(&self, mut frame: LazyFrame, columns: &[(Expr, String)]) -> Result<LazyFrame> {
        if columns.is_empty() {
            return Ok(frame);
        }
        let mut texts = vec!["*".to_owned()];
        for (expr, name) in columns {
            texts.push(format!("{} AS {}", self.print(expr, &mut frame)?, column(name)));
        }
        self.run(frame, &format!("SELECT {} FROM t", texts.join(", ")))
    }

    /// Filters the frame by a condition.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn filtered(&self, mut frame: LazyFrame, condition: &Expr) -> Result<LazyFrame> {
        let text = self.print(condition, &mut frame)?;
        self.run(frame, &format!("SELECT * FROM t WHERE {text}"))
    }

    fn attach(&self, mut frame: LazyFrame, attached: Vec<(String, Attached)>) -> Result<LazyFrame> {
        for (_, rows) in attached {
            frame = match rows {
                Attached::One(one) => frame.cross_join(one, None),
                Attached::ByKey { rows, keys } => {
                    let own: Vec<(Expr, String)> = keys.iter().map(|(expr, _)| (expr.clone(), self.unique("__lookup"))).collect();
                    let left: Vec<_> = own.iter().map(|(_, name)| col(name.as_str())).collect();
                    // Join keys get unique names; the right side has each key once.
                    let names: Vec<String> = keys.iter().map(|_| self.unique("__key_sub")).collect();
                    let renamed = rows.rename(keys.iter().map(|(_, name)| name.as_str()), names.iter().map(String::as_str), true);
                    let right: Vec<_> = names.iter().map(|name| col(name.as_str())).collect();
                    let arguments = JoinArgs {
                        maintain_order: MaintainOrderJoin::Left,
                        coalesce: JoinCoalesce::KeepColumns,
                        ..JoinArgs::new(JoinType::Left)
                    };
                    self.with(frame, &own)?.join(renamed, left, right, arguments)
                }
            };
        }
        Ok(frame)
    }

    /// Plans a query; `outer` is the scope of the enclosing SELECT of a subquery.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn query(&self, query: &Query, ctes: &Ctes, outer: Option<&Scope>) -> Result<Planned> {
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
            if with.recursive {
                let error = Error::usage("recursive WITH is not supported").hint("join levels with l1, l2, …");
                return Err(self.source.locate(error, with.with_token.0.span));
            }
            for cte in &with.cte_tables {
                let planned = self.query(&cte.query, &ctes, None)?;
                let frame = self.renamed(planned.frame, &cte.alias)?;
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
            if !planned.keys.is_empty() {
                let error = Error::usage("a subquery that looks at the rows around it can't have LIMIT");
                return Err(self.source.locate(error.hint("take an extreme: max(x), arg_max(x, y)"), query.span()));
            }
            let limit = limit.and_then(|limit| IdxSize::try_from(limit).ok()).unwrap_or(IdxSize::MAX);
            planned.frame = match offset {
                0 => planned.frame.limit(limit),
                _ => planned.frame.slice(i64::try_from(offset).unwrap_or(i64::MAX), limit),
            };
        }
        Ok(planned)
    }

    fn limits(&self, query: &Query) -> Result<(Option<u64>, u64)> {
        let (limit, offset) = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            None => (query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref()), None),
        };
        let number = |expr: &Expr| {
            let error = || Error::usage(format!("{expr} is no number of rows")).hint("LIMIT 10 OFFSET 20");
            count_of(expr).ok_or_else(|| self.source.locate(error(), expr.span()))
        };
        Ok((limit.map(number).transpose()?, offset.map(number).transpose()?.unwrap_or(0)))
    }

    fn planned(&self, mut frame: LazyFrame) -> Result<Planned> {
        let schema = frame.collect_schema().map_err(|error| Self::engine_error(&error))?;
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        Ok(Planned { frame, names, keys: Vec::new(), key_names: Vec::new() })
    }

    fn body(&self, body: &SetExpr, ctes: &Ctes, outer: Option<&Scope>) -> Result<Planned> {
        match body {
            SetExpr::Select(select) => self.select(select, None, ctes, outer),
            SetExpr::Query(query) => self.query(query, ctes, outer),
            SetExpr::SetOperation { left, op, set_quantifier, right } => self.combined(left, *op, *set_quantifier, right, ctes),
            SetExpr::Values(values) => {
                let scope = Scope::new(Vec::new(), None);
                let mut one = self.from(&[], &mut Vec::new(), ctes)?.frame;
                let mut rows = Vec::with_capacity(values.rows.len());
                for row in &values.rows {
                    let value = |value: &Expr| {
                        let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(value)?;
                        self.print(&bound, &mut one)
                    };
                    rows.push(format!("({})", row.content.iter().map(value).collect::<Result<Vec<_>>>()?.join(", ")));
                }
                let mut planned = self.planned(self.run(one, &format!("VALUES {}", rows.join(", ")))?)?;
                let names: Vec<String> = (0..planned.names.len()).map(|at| format!("col{at}")).collect();
                planned.frame = planned.frame.rename(&planned.names, &names, true);
                planned.names = names;
                Ok(planned)
            }
            SetExpr::Table(table) => self.planned(self.plain_table(table.table_name.as_deref().unwrap_or_default(), ctes)?),
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
    ) -> Result<Planned> {
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
        let mut context = SQLContext::new();
        context.register("l", left.frame);
        context.register("r", other.frame);
        let frame = context.execute(&format!("SELECT * FROM l {op} {quantifier} SELECT * FROM r"));
        self.planned(frame.map_err(|error| Self::engine_error(&error))?)
    }

    /// Sorts the result of a set operation by its columns.
    fn sorted(&self, mut planned: Planned, order: Option<&OrderBy>, ctes: &Ctes) -> Result<Planned> {
        let Some(order) = order else { return Ok(planned) };
        let columns = planned.names.iter().map(|name| super::scope::Column {
            name: name.clone(),
            inner: name.clone(),
            qualified_only: false,
        });
        let relation = super::scope::Relation { alias: String::new(), columns: columns.collect() };
        let scope = Scope::new(vec![relation], None);
        let (mut by, mut computed) = (Vec::new(), Vec::new());
        for (key, options) in self.order_keys(order, planned.names.len())? {
            let name = match key {
                Ok(place) => planned.names[place].clone(),
                Err(expr) => {
                    let name = self.unique("__order");
                    computed.push((Binder::new(self, &scope, ctes, &[]).bind_inside(&expr)?, name.clone()));
                    name
                }
            };
            by.push((name, options));
        }
        let shown: Vec<_> = planned.names.iter().map(|name| col(name.as_str())).collect();
        planned.frame = ordered(self.with(planned.frame, &computed)?, &by).select(shown);
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
    fn select(&self, select: &Select, order: Option<&OrderBy>, ctes: &Ctes, outer: Option<&Scope>) -> Result<Planned> {
        self.check_clauses(select)?;
        let mut select = select.clone();
        let named = std::mem::take(&mut select.named_window).into_iter().map(|window| (window.0, window.1)).collect();
        if let ControlFlow::Break(error) = select.visit(&mut NamedWindows { source: self.source, named }) {
            return Err(*error);
        }
        let select = &select;
        let mut conditions = Vec::new();
        if let Some(condition) = &select.selection {
            conjuncts(condition, &mut conditions);
        }
        let joined = self.from(&select.from, &mut conditions, ctes)?;
        let scope = joined.scope(outer);
        let mut items = self.items(select, &scope)?;
        let aliases: Vec<(String, Expr)> =
            items.iter().filter(|item| item.is_alias).map(|item| (item.name.clone(), item.expr.clone())).collect();
        let mut frame = joined.frame;
        let mut ties: Vec<(Expr, String)> = Vec::new();
        let mut tied = Vec::new();
        for condition in &conditions {
            if let Some((around, own)) = self.tie(condition, &scope, ctes)? {
                let name = self.unique("__tie");
                tied.push((own, name.clone()));
                ties.push((around, name));
                continue;
            }
            let mut binder = Binder::new(self, &scope, ctes, &aliases);
            let bound = binder.bind_inside(condition)?;
            self.check_rows_only(&bound, "WHERE", "filter groups with HAVING, windows with QUALIFY")?;
            frame = self.attach(frame, binder.attached)?;
            frame = self.filtered(frame, &bound)?;
        }
        frame = self.with(frame, &tied)?;

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
        let mut by: Vec<(Key, OrderByOptions)> = Vec::new();
        if let Some(order) = order {
            for (key, options) in self.order_keys(order, items.len())? {
                let key = match key {
                    Ok(place) => Key::Item(place),
                    Err(expr) => {
                        let named =
                            |item: &Item| matches!(&expr, Expr::Identifier(ident) if item.name.eq_ignore_ascii_case(&ident.value));
                        match items.iter().position(named) {
                            Some(place) => Key::Item(place),
                            None => {
                                let bound = bind(&expr)?;
                                match items.iter().position(|item| !item.unnests && text_of(&item.expr) == text_of(&bound)) {
                                    Some(place) => Key::Item(place),
                                    None => {
                                        others.push(bound);
                                        Key::Other(others.len() - 1)
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
            let mut groups = Groups::new(self);
            for key in keys.iter().flatten() {
                self.check_rows_only(key, "GROUP BY", "group in a subquery, then again around it")?;
                groups.key(key.clone());
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
            frame = self.attach(self.grouped(frame, groups)?, above)?;
        } else {
            frame = self.attach(frame, attached)?;
        }
        if let Some(having) = &having {
            self.check_rows_only(having, "HAVING", "filter windows with QUALIFY")?;
            frame = self.filtered(frame, having)?;
        }

        let mut windows = Windows { planner: self, calls: Vec::new() };
        let exprs = items.iter_mut().map(|item| &mut item.expr).chain(&mut qualify).chain(&mut others);
        for expr in exprs {
            windows.lower(expr)?;
        }
        let calls = windows.calls;
        frame = self.windows(frame, calls)?;
        if let Some(qualify) = &qualify {
            frame = self.filtered(frame, qualify)?;
        }

        self.result(frame, select, items, others, sort_keys, by, ties)
    }

    /// Evaluates, sorts and selects the result columns.
    #[allow(clippy::too_many_arguments, reason = "the parts of one SELECT, used once")]
    fn result(
        &self,
        frame: LazyFrame,
        select: &Select,
        items: Vec<Item>,
        others: Vec<Expr>,
        sort_keys: usize,
        by: Vec<(Key, OrderByOptions)>,
        ties: Vec<(Expr, String)>,
    ) -> Result<Planned> {
        let mut computed: Vec<(Expr, String)> = Vec::new();
        let mut place = |expr: &Expr, needs_own: bool| match unwrapped(expr) {
            Expr::Identifier(ident) if !needs_own => ident.value.clone(),
            expr => {
                let name = self.unique("__out");
                computed.push((expr.clone(), name.clone()));
                name
            }
        };
        let inner: Vec<String> = items.iter().map(|item| place(&item.expr, item.unnests)).collect();
        let others: Vec<String> = others.iter().map(|expr| place(expr, false)).collect();
        let mut frame = self.with(frame, &computed)?;
        for (_, inner) in items.iter().zip(&inner).filter(|(item, _)| item.unnests) {
            frame = exploded(frame, inner, false);
        }
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
                Key::Item(at) if is_distinct => (names[*at].clone(), *options),
                Key::Item(at) => (inner[*at].clone(), *options),
                Key::Other(at) => (others[*at].clone(), *options),
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
        Ok(Planned { frame, names, keys: ties, key_names })
    }

    /// For a correlating equality in WHERE: the outer and the inner side.
    fn tie(&self, condition: &Expr, scope: &Scope, ctes: &Ctes) -> Result<Option<(Expr, Expr)>> {
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

    /// Expands a SELECT list to named columns.
    fn items(&self, select: &Select, scope: &Scope) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let plain = |expr: Expr, name: String, is_alias: bool| Item { expr, name, is_alias, unnests: false };
        if select.projection.is_empty() && select.flavor == SelectFlavor::FromFirstNoSelect {
            let columns = scope.visible(None).unwrap_or_default();
            items.extend(columns.into_iter().map(|found| plain(column(&found.inner), found.name.clone(), false)));
        }
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => match self.columns_of(expr, scope)? {
                    None => items.push(plain(expr.clone(), column_names::of(expr), false)),
                    Some(each) => items.extend(each.into_iter().map(|expr| {
                        let name = column_names::of(&expr);
                        plain(expr, name, false)
                    })),
                },
                SelectItem::ExprWithAlias { expr, alias } => items.push(plain(expr.clone(), alias.value.clone(), true)),
                SelectItem::ExprWithAliases { expr, .. } => {
                    let error = Error::usage("an expression has one name").hint("SELECT a AS x, b AS y");
                    return Err(self.source.locate(error, expr.span()));
                }
                SelectItem::Wildcard(options) => self.wildcard(&mut items, scope, None, options)?,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let ident = name.0.last().and_then(|part| part.as_ident()).cloned().unwrap_or_else(|| Ident::new(""));
                    self.wildcard(&mut items, scope, Some(&ident), options)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(expr), _) => {
                    let error = Error::usage("the fields of a struct are named one by one").hint("SELECT (st).a, (st).b");
                    return Err(self.source.locate(error, expr.span()));
                }
            }
        }
        self.items.set(self.items.get() + items.len());
        if self.items.get() > ITEMS_MAX {
            let error = Error::too_large(format!("the SELECTs of the query name more than {ITEMS_MAX} columns"));
            return Err(error.hint("name the columns that you need"));
        }
        Ok(items)
    }

    fn wildcard(
        &self,
        items: &mut Vec<Item>,
        scope: &Scope,
        table: Option<&Ident>,
        options: &WildcardAdditionalOptions,
    ) -> Result<()> {
        let Some(columns) = scope.visible(table.map(|table| table.value.as_str())) else {
            let (name, span) = table.map_or(("", Span::empty()), |table| (table.value.as_str(), table.span));
            let tables: Vec<&str> = scope.relations.iter().map(|relation| relation.alias.as_str()).collect();
            let error = Error::usage(format!("there is no table {name} in this FROM"));
            return Err(self.source.locate(error.hint(format!("there are {}", tables.join(", "))), span));
        };
        let span = options.wildcard_token.0.span;
        let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let name_of =
            |name: &sqlparser::ast::ObjectName| name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone());
        let mut without: Vec<String> = match &options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => name_of(name).into_iter().collect(),
            Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(name_of).collect(),
            None => Vec::new(),
        };
        if let Some(except) = &options.opt_except {
            without
                .extend(std::iter::once(&except.first_element).chain(&except.additional_elements).map(|ident| ident.value.clone()));
        }
        if let Some(unknown) = without.iter().find(|name| !columns.iter().any(|column| same(&column.name, name))) {
            let error = Error::usage(format!("there is no column {unknown} to leave out"));
            let near = advice::near(unknown, columns.iter().map(|column| column.name.as_str()));
            let error = if near.is_empty() { error } else { error.hint(format!("did you mean {}?", near.join(" or "))) };
            return Err(self.source.locate(error, span));
        }
        let renamed: Vec<(&Ident, &Ident)> = match &options.opt_rename {
            Some(RenameSelectItem::Single(one)) => vec![(&one.ident, &one.alias)],
            Some(RenameSelectItem::Multiple(all)) => all.iter().map(|one| (&one.ident, &one.alias)).collect(),
            None => Vec::new(),
        };
        let like = options.opt_ilike.as_ref().map(|like| like.pattern.to_lowercase());
        for found in columns.into_iter().filter(|found| !without.iter().any(|name| same(name, &found.name))) {
            if like.as_ref().is_some_and(|like| !is_like(&found.name.to_lowercase(), like)) {
                continue;
            }
            let replaced =
                options.opt_replace.iter().flat_map(|replace| &replace.items).find(|one| same(&one.column_name.value, &found.name));
            let expr = replaced.map_or_else(|| column(&found.inner), |one| one.expr.clone());
            let name = renamed.iter().find(|(old, _)| same(&old.value, &found.name)).map_or(&found.name, |(_, new)| &new.value);
            items.push(Item { expr, name: name.clone(), is_alias: false, unnests: false });
        }
        Ok(())
    }

    /// Expands `COLUMNS('pattern')` to one expression per column; `None` without it.
    fn columns_of(&self, expr: &Expr, scope: &Scope) -> Result<Option<Vec<Expr>>> {
        let pattern = |function: &Function| {
            let FunctionArguments::List(list) = &function.args else { return None };
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Some(String::new()),
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match &value.value {
                    Value::SingleQuotedString(pattern) => Some(pattern.clone()),
                    _ => None,
                },
                _ => None,
            }
        };
        let is_columns = |part: &Expr| matches!(part, Expr::Function(function) if name_of(function) == "columns");
        let found = visit_expressions(expr, |part| match part {
            Expr::Function(function) if is_columns(part) => ControlFlow::Break((pattern(function), span_of(function))),
            _ => ControlFlow::Continue(()),
        });
        let ControlFlow::Break((pattern, span)) = found else { return Ok(None) };
        let refused =
            || self.source.locate(Error::usage("COLUMNS takes a pattern").hint("SELECT COLUMNS('^stac:') FROM data"), span);
        let pattern = regex::Regex::new(&pattern.ok_or_else(refused)?).map_err(|_| refused())?;
        let columns = scope.visible(None).unwrap_or_default();
        let of = |found: &super::scope::Column| {
            let mut expr = expr.clone();
            let _ = sqlparser::ast::visit_expressions_mut(&mut expr, |part| {
                if is_columns(part) {
                    *part = column(&found.name);
                }
                ControlFlow::<()>::Continue(())
            });
            expr
        };
        Ok(Some(columns.into_iter().filter(|found| pattern.is_match(&found.name)).map(of).collect()))
    }

    /// Keys of GROUP BY; `None` without the clause.
    fn group_keys(
        &self,
        select: &Select,
        items: &[Item],
        bind: &mut dyn FnMut(&Expr) -> Result<Expr>,
    ) -> Result<Option<Vec<Expr>>> {
        let (keys, modifiers) = match &select.group_by {
            GroupByExpr::All(modifiers) => {
                let keys = items.iter().map(|item| &item.expr).filter(|expr| !aggregates(expr)).cloned().collect();
                (keys, modifiers)
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                let mut keys = Vec::new();
                for expr in exprs {
                    match expr {
                        Expr::Tuple(parts) => {
                            for part in parts {
                                keys.push(bind(part)?);
                            }
                        }
                        Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => {
                            let error = Error::usage("several groupings at once are not supported").hint(advice::GROUPING_SETS);
                            return Err(self.source.locate(error, expr.span()));
                        }
                        _ => match count_of(expr) {
                            Some(number) => {
                                let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                                let item = place.and_then(|place| items.get(place));
                                let error = || Error::usage(format!("there is no result column {number}"));
                                keys.push(item.ok_or_else(|| self.source.locate(error(), expr.span()))?.expr.clone());
                            }
                            None => keys.push(bind(expr)?),
                        },
                    }
                }
                (keys, modifiers)
            }
        };
        if !modifiers.is_empty() {
            let error = Error::usage("several groupings at once are not supported").hint(advice::GROUPING_SETS);
            return Err(self.source.locate(error, select.group_by.span()));
        }
        let is_grouped = matches!(&select.group_by, GroupByExpr::All(_)) || !keys.is_empty();
        Ok(is_grouped.then_some(keys))
    }

    /// Aggregates to one row per group.
    fn grouped(&self, frame: LazyFrame, groups: Groups) -> Result<LazyFrame> {
        let Groups { keys, calls, .. } = groups;
        let mut frame = self.with(frame, &keys.iter().map(|(key, name)| (key.clone(), name.clone())).collect::<Vec<_>>())?;
        let schema = frame.collect_schema().map_err(|error| Self::engine_error(&error))?;
        let semantics = Semantics { source: &self.source, schema: &schema, extras: &self.extras };
        let by: Vec<String> = keys.iter().map(|(_, name)| column(name).to_string()).collect();
        let mut texts = by.clone();
        for (call, name) in &calls {
            texts.push(format!("{} AS {}", semantics.print_aggregate(call)?, column(name)));
        }
        if texts.is_empty() {
            texts.push("count(*) AS \"__rows\"".into());
        }
        let by = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        self.run(frame, &format!("SELECT {} FROM t{by}", texts.join(", ")))
    }

    /// Adds one column per window function.
    fn windows(&self, mut frame: LazyFrame, calls: Vec<(Function, WindowSpec, String)>) -> Result<LazyFrame> {
        if calls.is_empty() {
            return Ok(frame);
        }
        let schema = frame.collect_schema().map_err(|error| Self::engine_error(&error))?;
        let Some(any) = schema.iter_names().next() else { return Ok(frame) };
        let any = column(any.as_str());
        let mut texts = vec!["*".to_owned()];
        for (function, spec, name) in calls {
            let (window, inputs) = self.window(&function, &spec)?;
            let called = self.unique("__window");
            let function = window.into_function(&called);
            self.extras.borrow_mut().push((called.clone(), function));
            let semantics = Semantics { source: &self.source, schema: &schema, extras: &self.extras };
            let inputs = inputs.iter().chain([&any]).map(|input| semantics.print(input)).collect::<Result<Vec<_>>>()?;
            texts.push(format!("{called}({}) AS {}", inputs.join(", "), column(&name)));
        }
        self.run(frame, &format!("SELECT {} FROM t", texts.join(", ")))
    }

    /// A window function and its inputs: partition keys, order keys, arguments.
    fn window(&self, function: &Function, spec: &WindowSpec) -> Result<(Window, Vec<Expr>)> {
        use window_functions::Function as F;
        let (name, span) = (name_of(function), span_of(function));
        let call = call_of(&self.source, function)?;
        let refused = |summary: String, hint: &str| Err(self.source.locate(Error::usage(summary).hint(hint), span));
        let plain = !call.distinct && call.order.is_empty();
        let mut arguments = call.arguments.clone();
        let kind = match name.as_str() {
            "row_number" => F::RowNumber,
            "rank" => F::Rank,
            "dense_rank" => F::DenseRank,
            "percent_rank" => F::PercentRank,
            "cume_dist" => F::CumeDist,
            "ntile" => F::Ntile,
            "lag" => F::Lag,
            "lead" => F::Lead,
            "first_value" | "first" | "arbitrary" => F::FirstValue,
            "last_value" | "last" => F::LastValue,
            "nth_value" => F::NthValue,
            "count" if plain => F::Count,
            "sum" if plain => F::Sum,
            "avg" | "mean" if plain => F::Avg,
            "min" if plain && arguments.len() == 1 => F::Min,
            "max" if plain && arguments.len() == 1 => F::Max,
            _ if !super::duckdb_semantics::is_aggregate_name(&name) => {
                return refused(format!("there is no window function {name}()"), "row_number, rank, lag, sum, avg, … OVER (…)");
            }
            _ => {
                // The engine evaluates it over columns `a0`, `a1`, … of each frame.
                let mut inputs = Vec::new();
                let mut input = |expr: &Expr| {
                    inputs.push(expr.clone());
                    column(&format!("a{}", inputs.len() - 1))
                };
                let mut inner = function.clone();
                inner.over = None;
                if let FunctionArguments::List(list) = &mut inner.args {
                    for argument in &mut list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument
                            && !matches!(unwrapped(expr), Expr::Value(_))
                        {
                            *expr = input(expr);
                        }
                    }
                    for clause in &mut list.clauses {
                        if let sqlparser::ast::FunctionArgumentClause::OrderBy(keys) = clause {
                            keys.iter_mut().for_each(|key| key.expr = input(&key.expr));
                        }
                    }
                }
                inner.within_group.iter_mut().for_each(|key| key.expr = input(&key.expr));
                if let Some(filter) = &mut inner.filter {
                    **filter = input(filter);
                }
                let schema = Default::default();
                let semantics = Semantics { source: &self.source, schema: &schema, extras: &self.extras };
                let sql = semantics.print_aggregate(&inner)?;
                arguments = inputs;
                F::Engine(sql)
            }
        };
        if let (Some(filter), false) = (&function.filter, matches!(kind, F::Engine(_))) {
            let one = || Expr::value(Value::Number("1".into(), false));
            let met = |value: Expr| expression("CASE WHEN _1 THEN _0 END", vec![value, filter.as_ref().clone()]);
            match (arguments.first_mut(), &kind) {
                (Some(first), F::Count | F::Sum | F::Avg | F::Min | F::Max) => *first = met(first.clone()),
                (None, F::Count) => arguments.push(met(one())),
                _ => return refused(format!("{name}() can't have FILTER"), "filter in a subquery"),
            }
        }
        let mut order = Vec::new();
        let mut inputs = spec.partition_by.clone();
        for key in &spec.order_by {
            order.push((key.options.asc == Some(false), key.options.nulls_first != Some(true)));
            inputs.push(key.expr.clone());
        }
        let frame = match &spec.window_frame {
            Some(frame) => self.frame(frame, span)?,
            None if order.is_empty() => Frame { by_range: false, start: Bound::Unbounded, end: Bound::Unbounded },
            None => Frame { by_range: true, start: Bound::Unbounded, end: Bound::Offset(0.0) },
        };
        if order.is_empty() && frame.by_range && frame.start == Bound::Unbounded {
            // Without ORDER BY, all rows are peers.
            let whole = Frame { by_range: false, start: Bound::Unbounded, end: Bound::Unbounded };
            inputs.extend(arguments);
            let partition = spec.partition_by.len();
            return Ok((Window { function: kind, partition, order, frame: whole, ignores_nulls: call.ignores_nulls }, inputs));
        }
        inputs.extend(arguments);
        let partition = spec.partition_by.len();
        Ok((Window { function: kind, partition, order, frame, ignores_nulls: call.ignores_nulls }, inputs))
    }

    fn frame(&self, frame: &WindowFrame, span: Span) -> Result<Frame> {
        let by_range = match frame.units {
            WindowFrameUnits::Rows => false,
            WindowFrameUnits::Range => true,
            WindowFrameUnits::Groups => {
                let error = Error::usage("frames of GROUPS are not supported").hint("use ROWS BETWEEN … or RANGE BETWEEN …");
                return Err(self.source.locate(error, span));
            }
        };
        let offset = |expr: &Expr| {
            let error = || {
                let error = Error::usage(format!("{expr} is no distance in a frame"));
                error.hint("ROWS BETWEEN 3 PRECEDING AND CURRENT ROW, RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND CURRENT ROW")
            };
            distance(expr)
                .filter(|distance| by_range || distance.fract() == 0.0)
                .ok_or_else(|| self.source.locate(error(), expr.span()))
        };
        let bound = |bound: &WindowFrameBound| {
            Ok::<Bound, Error>(match bound {
                WindowFrameBound::CurrentRow => Bound::Offset(0.0),
                WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => Bound::Unbounded,
                WindowFrameBound::Preceding(Some(expr)) => Bound::Offset(-offset(expr)?),
                WindowFrameBound::Following(Some(expr)) => Bound::Offset(offset(expr)?),
            })
        };
        let start = bound(&frame.start_bound)?;
        let end = frame.end_bound.as_ref().map_or(Ok(Bound::Offset(0.0)), bound)?;
        Ok(Frame { by_range, start, end })
    }
}

/// Frame offset: rows, units of a number, or microseconds.
fn distance(expr: &Expr) -> Option<f64> {
    let number = |expr: &Expr| match unwrapped(expr) {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    match unwrapped(expr) {
        Expr::Interval(interval) => {
            let text = number(&interval.value)?;
            let text = match &interval.leading_field {
                Some(unit) => format!("{text} {unit}"),
                None => text,
            };
            let (count, unit) = text.trim().split_once(char::is_whitespace)?;
            let micros = match unit.trim().to_lowercase().trim_end_matches('s') {
                "week" => 604_800_000_000.0,
                "day" => 86_400_000_000.0,
                "hour" => 3_600_000_000.0,
                "minute" => 60_000_000.0,
                "second" => 1_000_000.0,
                "millisecond" => 1_000.0,
                _ => return None,
            };
            Some(count.parse::<f64>().ok()? * micros)
        }
        other => number(other)?.parse().ok().filter(|distance: &f64| distance.is_finite() && *distance >= 0.0),
    }
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

/// Matches a text against a LIKE pattern.
fn is_like(text: &str, pattern: &str) -> bool {
    let pattern = regex::escape(pattern).replace('%', ".*").replace('_', ".");
    regex::Regex::new(&format!("^(?s){pattern}$")).is_ok_and(|pattern| pattern.is_match(text))
}

fn text_of(expr: &Expr) -> String {
    unwrapped(expr).to_string()
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

/// True for generated columns, which are valid over groups and windows.
fn is_made(ident: &Ident) -> bool {
    is_generated(ident) && ["__group", "__agg", "__sub", "__win", "__key"].iter().any(|prefix| ident.value.starts_with(prefix))
}

/// Group keys and aggregate calls of one SELECT.
struct Groups<'p, 'a> {
    planner: &'p Planner<'a>,
    keys: Vec<(Expr, String)>,
    calls: Vec<(Function, String)>,
    /// Generated column by the text of its key or call.
    known: HashMap<String, String>,
}

impl<'p, 'a> Groups<'p, 'a> {
    fn new(planner: &'p Planner<'a>) -> Self {
        Self { planner, keys: Vec::new(), calls: Vec::new(), known: HashMap::new() }
    }

    fn key(&mut self, expr: Expr) -> String {
        let text = text_of(&expr);
        if let Some(name) = self.known.get(&text) {
            return name.clone();
        }
        let name = self.planner.unique("__group");
        self.known.insert(text, name.clone());
        self.keys.push((expr, name.clone()));
        name
    }

    /// Texts of all keys and calls.
    fn texts(&self) -> Vec<String> {
        self.keys.iter().map(|(key, _)| key.to_string()).chain(self.calls.iter().map(|(call, _)| call.to_string())).collect()
    }

    /// Rewrites an expression over rows as one over groups.
    fn lower(&mut self, expr: &mut Expr) -> Result<()> {
        match expr.visit(self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn one(&mut self, expr: &mut Expr) -> Result<()> {
        let source = self.planner.source;
        match expr {
            Expr::Function(function) if is_aggregate(function) => {
                let text = function.to_string();
                if let Some(name) = self.known.get(&text) {
                    *expr = column(name);
                    return Ok(());
                }
                let mut inner = function.clone();
                inner.name = Ident::new("outer").into();
                let nested = visit_expressions(&Expr::Function(inner), |part| match part {
                    Expr::Function(inner) if is_aggregate(inner) || inner.over.is_some() => {
                        ControlFlow::Break((name_of(inner), span_of(inner)))
                    }
                    _ => ControlFlow::Continue(()),
                });
                if let ControlFlow::Break((inner, span)) = nested {
                    let error = Error::usage(format!("{inner}() can't stand within {}()", name_of(function)));
                    let hint =
                        "compute the groups in a subquery: SELECT max(s) FROM (SELECT k, sum(x) AS s FROM data GROUP BY k) AS g";
                    return Err(source.locate(error.hint(hint), span));
                }
                let name = self.planner.unique("__agg");
                self.known.insert(text, name.clone());
                self.calls.push((function.clone(), name.clone()));
                *expr = column(&name);
            }
            Expr::Identifier(ident) if !is_made(ident) => {
                if let Some(name) = self.known.get(&text_of(expr)) {
                    *expr = column(name);
                    return Ok(());
                }
                let Expr::Identifier(ident) = expr else { return Ok(()) };
                let called = self.calls.first().map_or("count".to_owned(), |(call, _)| name_of(call));
                let name = &ident.value;
                let error = Error::usage(format!("{name} has a value for every row, but the result has one row for each group"));
                let hint = format!("add GROUP BY {name}, or take any_value({name}), or {called}(…) OVER ()");
                return Err(source.locate(error.hint(hint), ident.span));
            }
            // Printing every subexpression is costly, and only keys are looked up.
            other if !self.keys.is_empty() && !matches!(other, Expr::Value(_) | Expr::Nested(_) | Expr::Identifier(_)) => {
                if let Some(name) = self.known.get(&other.to_string()) {
                    *other = column(name);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl VisitorMut for Groups<'_, '_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.one(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

/// Window functions of one SELECT.
struct Windows<'p, 'a> {
    planner: &'p Planner<'a>,
    calls: Vec<(Function, WindowSpec, String)>,
}

impl Windows<'_, '_> {
    /// Replaces each call with OVER by a column.
    fn lower(&mut self, expr: &mut Expr) -> Result<()> {
        match expr.visit(self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

/// Substitutes windows defined in WINDOW.
struct NamedWindows<'p> {
    source: Source<'p>,
    named: Vec<(Ident, NamedWindowExpr)>,
}

impl NamedWindows<'_> {
    fn spec(&self, over: &WindowType, depth: usize) -> Result<WindowSpec> {
        let named = |name: &Ident| {
            let found = self.named.iter().find(|(known, _)| known.value.eq_ignore_ascii_case(&name.value));
            let error = || self.source.locate(Error::usage(format!("there is no window {}", name.value)), name.span);
            let (_, window) = found.filter(|_| depth < 10).ok_or_else(error)?;
            match window {
                NamedWindowExpr::NamedWindow(other) => self.spec(&WindowType::NamedWindow(other.clone()), depth + 1),
                NamedWindowExpr::WindowSpec(spec) => self.spec(&WindowType::WindowSpec(spec.clone()), depth + 1),
            }
        };
        match over {
            WindowType::NamedWindow(name) => named(name),
            WindowType::WindowSpec(spec) => match &spec.window_name {
                None => Ok(spec.clone()),
                Some(name) => {
                    let mut base = named(name)?;
                    base.partition_by.extend(spec.partition_by.iter().cloned());
                    base.order_by.extend(spec.order_by.iter().cloned());
                    base.window_frame = spec.window_frame.clone().or(base.window_frame);
                    Ok(base)
                }
            },
        }
    }
}

impl VisitorMut for NamedWindows<'_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        if let Expr::Function(Function { over: Some(over), .. }) = expr {
            match self.spec(over, 0) {
                Ok(spec) => *over = WindowType::WindowSpec(spec),
                Err(error) => return ControlFlow::Break(Box::new(error)),
            }
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Windows<'_, '_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let Some(WindowType::WindowSpec(spec)) = &function.over else { return ControlFlow::Continue(()) };
        let spec = spec.clone();
        let source = self.planner.source;
        let nested = visit_expressions(&*function, |part| match part {
            Expr::Identifier(ident) if is_generated(ident) && ident.value.starts_with("__win") => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if nested.is_break() {
            let error = Error::usage("a window can't look at another window of the same SELECT");
            let hint = "compute the inner one in a subquery: SELECT sum(r) OVER () FROM (SELECT rank() OVER (ORDER BY x) AS r FROM data) AS t";
            return ControlFlow::Break(Box::new(source.locate(error.hint(hint), span_of(function))));
        }
        let name = self.planner.unique("__win");
        self.calls.push((function.clone(), spec, name.clone()));
        *expr = column(&name);
        ControlFlow::Continue(())
    }
}
