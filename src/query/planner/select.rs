//! Plans one SELECT: its rows, groups, windows and result.

use std::ops::ControlFlow;

use polars::prelude::{LazyFrame, PlSmallStr, Schema, Selector, UniqueKeepStrategy, col};
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    OrderBy, OrderByOptions, Query, Select, Spanned, Visitor,
};

use super::conditions::conjuncts;
use super::context::{Ctes, PlannedQuery, Planner};
use super::name_binding::Binder;
use super::sort_frame;
use super::subquery_rewrite::{Attached, written_count};
use super::unnesting::unnested_together;
use crate::error::{Error, Result};
use crate::query::duckdb_semantics::{column, is_aggregate, name_of, span_of, strip_parentheses};
use crate::query::engine::EngineExpr;
use crate::query::engine_errors::engine_error;
use crate::query::grouping::{SelectGroups, text_of};
use crate::query::sampling::sample_rows;
use crate::query::scope::{NameLookup, SelectScope, UniqueNames};
use crate::query::select_list::{ResultColumn, expand_condition, select_list};
use crate::query::syntax_walk::{
    visit_expressions, visit_expressions_mut, walk_tree, walk_tree_mut,
};
use crate::query::windowing::{NamedWindows, SelectWindows};

/// Maximum number of result columns over all SELECT lists of a statement.
const ITEMS_MAX: usize = 200_000;

enum SortKey {
    /// Index of a result column.
    Item(usize),
    /// Index into the other expressions.
    Other(usize),
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

impl Planner<'_> {
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
            Some((_, clause)) => {
                let mut error = Error::usage(format!("{clause} is not supported"));
                if *clause == "INTO" {
                    error = error.hint("WITH t AS (SELECT …) SELECT * FROM t");
                } else if *clause == "TOP" {
                    error = error.hint("SELECT id FROM data LIMIT 3");
                }
                Err(self.source.locate(error, select.span()))
            }
            None => Ok(()),
        }
    }

    /// Plans one SELECT with its ORDER BY.
    pub(super) fn select(
        &self,
        select: &Select,
        order: Option<&OrderBy>,
        ctes: &Ctes,
        outer: Option<&SelectScope>,
    ) -> Result<PlannedQuery> {
        self.check_clauses(select)?;
        let mut select = select.clone();
        let named = std::mem::take(&mut select.named_window)
            .into_iter()
            .map(|window| (window.0, window.1))
            .collect();
        if let ControlFlow::Break(error) =
            walk_tree_mut(&mut select, &mut NamedWindows::new(self.source, named))
        {
            return Err(*error);
        }
        let select = &select;
        let mut conditions = Vec::new();
        if let Some(condition) = &select.selection {
            conjuncts(condition, &mut conditions);
        }
        let select_at = select.select_token.0.span.start;
        let sampling = self
            .samplings
            .iter()
            .find(|(place, _)| *place == select_at)
            .map(|(_, sampling)| *sampling);
        let mut joined = match sampling {
            // A sample is of the rows before WHERE, so its equalities can't be join keys.
            Some(_) => self.from(&select.from, &mut Vec::new(), ctes)?,
            None => self.from(&select.from, &mut conditions, ctes)?,
        };
        if let Some(sampling) = sampling {
            joined.frame = sample_rows(joined.frame, sampling);
        }
        let mut scope = joined.scope(outer);
        let schema = joined
            .frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let mut items = self.items(select, &scope, &schema)?;
        let aliases: Vec<(String, Expr)> = items
            .iter()
            .filter(|item| item.is_alias)
            .map(|item| (item.name.clone(), item.expr.clone()))
            .collect();
        let mut expanded = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            expanded.extend(expand_condition(&self.engine, condition, &scope)?);
        }
        let conditions = expanded;
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
        let mut frame = self.engine.add_columns(joined.frame, &tied)?;
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
            self.check_rows_only(
                &bound,
                "WHERE",
                "filter groups with HAVING, windows with QUALIFY",
            )?;
            frame = self.attach(frame, binder.attached)?;
            frame = self.engine.filter_rows(frame, &bound)?;
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
            if let Some(list) = unnest_argument(&item.expr) {
                (item.expr, item.unnests) = (list, true);
            }
        }
        let mut bind =
            |expr: &Expr| self.bind_over_rows(expr, &scope, ctes, &aliases, &mut attached);
        let mut having = select.having.as_ref().map(&mut bind).transpose()?;
        let mut qualify = select.qualify.as_ref().map(&mut bind).transpose()?;
        let mut others: Vec<Expr> = Vec::new();
        let mut by: Vec<(SortKey, OrderByOptions)> = Vec::new();
        if let Some(order) = order {
            for (key, options) in self.order_keys(order, items.len())? {
                let key = match key {
                    Ok(place) => SortKey::Item(place),
                    Err(expr) => match items.iter().position(|item| is_named_by(item, &expr)) {
                        Some(place) => SortKey::Item(place),
                        None => {
                            let bound = bind(&expr)?;
                            match items.iter().position(|item| {
                                !item.unnests && text_of(&item.expr) == text_of(&bound)
                            }) {
                                Some(place) => SortKey::Item(place),
                                None => {
                                    others.push(bound);
                                    SortKey::Other(others.len() - 1)
                                }
                            }
                        }
                    },
                };
                by.push((key, options));
            }
        }
        let sort_keys = others.len();
        if let Some(Distinct::On(keys)) = &select.distinct {
            for key in keys {
                let place = written_count(key)
                    .and_then(|number| items.get(usize::try_from(number).ok()?.checked_sub(1)?));
                let bound = match place {
                    Some(item) => item.expr.clone(),
                    None => bind(key)?,
                };
                others.push(bound);
            }
        }
        let keys = self.bind_group_keys(select, &items, &mut bind)?;

        let mut bound = items
            .iter()
            .map(|item| &item.expr)
            .chain(&having)
            .chain(&qualify)
            .chain(&others);
        let grouped = keys.is_some() || having.is_some() || bound.any(has_aggregate);
        if grouped {
            let mut groups = SelectGroups::new(&self.engine);
            for key in keys.iter().flat_map(|keys| &keys.keys) {
                self.check_rows_only(key, "GROUP BY", "group in a subquery, then again around it")?;
                groups.key(key.clone());
            }
            if let Some(sets) = keys.as_ref().and_then(|keys| keys.sets.as_ref()) {
                let named = sets
                    .iter()
                    .map(|set| set.iter().map(|key| groups.key(key.clone())).collect())
                    .collect();
                groups.group_by_sets(named);
            }
            for (_, name) in &mut ties {
                *name = groups.key(column(name));
            }
            let exprs = items
                .iter_mut()
                .map(|item| &mut item.expr)
                .chain(&mut having)
                .chain(&mut qualify)
                .chain(&mut others);
            for expr in exprs {
                groups.lower(expr)?;
            }
            let texts = groups.texts();
            let (below, mut above): (Vec<_>, Vec<_>) = attached
                .into_iter()
                .partition(|(name, rows)| rows.is_used(name, &texts));
            frame = self.attach(frame, below)?;
            for (_, rows) in &mut above {
                if let Attached::ByKey { keys, .. } = rows {
                    for (key, _) in keys {
                        groups.lower(key)?;
                    }
                }
            }
            frame = self.attach(groups.aggregate_groups(frame)?, above)?;
        } else {
            frame = self.attach(frame, attached)?;
        }
        if let Some(having) = &having {
            self.check_rows_only(having, "HAVING", "filter windows with QUALIFY")?;
            frame = self.engine.filter_rows(frame, having)?;
        }

        let mut windows = SelectWindows::new(&self.engine);
        let exprs = items
            .iter_mut()
            .map(|item| &mut item.expr)
            .chain(&mut qualify)
            .chain(&mut others);
        for expr in exprs {
            windows.lower(expr)?;
        }
        if !ties.is_empty() && !windows.is_empty() {
            let error =
                Error::usage("a subquery that looks at the rows around it can't have windows");
            return Err(self.source.locate(
                error.hint("compute the windows in WITH, and look at its rows"),
                select.span(),
            ));
        }
        frame = windows.add_window_columns(frame)?;
        if let Some(qualify) = &qualify {
            frame = self.engine.filter_rows(frame, qualify)?;
        }

        let planned = self.result(frame, select, items, others, sort_keys, by, ties)?;
        Ok(PlannedQuery {
            is_one_group: grouped && keys.is_none(),
            ..planned
        })
    }

    /// Binds an expression over ungrouped rows, and adds its subqueries to `attached`.
    fn bind_over_rows(
        &self,
        expr: &Expr,
        scope: &SelectScope,
        ctes: &Ctes,
        aliases: &[(String, Expr)],
        attached: &mut Vec<(String, Attached)>,
    ) -> Result<Expr> {
        let mut binder = Binder::new(self, scope, ctes, aliases);
        let bound = binder.bind_inside(expr)?;
        attached.extend(binder.attached);
        Ok(bound)
    }

    /// Columns of the enclosing SELECT that a SELECT uses other than in equalities, by their names
    /// there.
    fn columns_around(
        &self,
        select: &Select,
        conditions: &[Expr],
        order: Option<&OrderBy>,
        scope: &SelectScope,
        aliases: &[(String, Expr)],
    ) -> Vec<String> {
        let Some(outer) = scope.outer else {
            return Vec::new();
        };
        let mut names = NamesAround {
            scope,
            outer,
            aliases,
            depth: 0,
            found: Vec::new(),
        };
        // Its tables and equalities are planned.
        let rest = Select {
            selection: None,
            from: Vec::new(),
            ..select.clone()
        };
        let _ = walk_tree(&rest, &mut names);
        let _ = walk_tree(&conditions.to_vec(), &mut names);
        let _ = walk_tree(&order.cloned(), &mut names);
        names.found
    }

    /// Joins every row of the frame with the values of these columns of the enclosing SELECT, which
    /// become keys of the result.
    fn with_rows_around(
        &self,
        frame: LazyFrame,
        scope: &mut SelectScope,
        around: Vec<String>,
        ties: &mut Vec<(Expr, String)>,
    ) -> Result<LazyFrame> {
        let Some(rows) = scope
            .outer
            .and_then(|outer| outer.rows.clone())
            .filter(|_| !around.is_empty())
        else {
            return Ok(frame);
        };
        let mut shown = Vec::new();
        for there in around {
            let here = self.engine.unique("__tie");
            shown.push(col(there.as_str()).alias(here.as_str()));
            ties.push((column(&there), here.clone()));
            scope.around.push((there, here));
        }
        Ok(frame.cross_join(
            rows.select(shown).unique(None, UniqueKeepStrategy::Any),
            None,
        ))
    }

    /// Evaluates, sorts and selects the result columns.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one SELECT, used once"
    )]
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
        let mut place =
            |expr: &Expr, needs_own: bool| self.place_expression(expr, needs_own, &mut computed);
        let (mut spread, mut of_elements) = (Vec::new(), Vec::new());
        let mut inner = Vec::with_capacity(items.len());
        for item in &items {
            let (expr, lists) = self.replace_unnested_lists(item)?;
            inner.push(if lists.is_empty() {
                place(&expr, item.unnests)
            } else {
                let name = self.engine.unique("__out");
                of_elements.push((expr, name.clone()));
                name
            });
            spread.extend(lists);
        }
        let others: Vec<String> = others.iter().map(|expr| place(expr, false)).collect();
        computed.extend(spread.iter().cloned());
        let mut frame = self.engine.add_columns(frame, &computed)?;
        let mut lists: Vec<&str> = items
            .iter()
            .zip(&inner)
            .filter(|(item, _)| item.unnests)
            .map(|(_, inner)| inner.as_str())
            .collect();
        lists.extend(spread.iter().map(|(_, name)| name.as_str()));
        frame = unnested_together(frame, &lists);
        frame = self.engine.add_columns(frame, &of_elements)?;
        let mut free = UniqueNames::default();
        let names: Vec<String> = items.iter().map(|item| free.take(&item.name)).collect();
        let key_names: Vec<String> = ties.iter().map(|(_, name)| name.clone()).collect();
        let shown = || list_outputs(&inner, &names, &key_names);
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
                    let error =
                        Error::usage("rows that are DISTINCT are sorted by what SELECT names");
                    return Err(self.source.locate(
                        error.hint("name the key as well, or group by the columns"),
                        select.span(),
                    ));
                }
                sort_frame(
                    frame
                        .select(shown())
                        .unique_stable(None, UniqueKeepStrategy::Any),
                    &sorting,
                )
            }
            Some(Distinct::On(_)) => {
                let keys: Vec<PlSmallStr> = others[sort_keys..]
                    .iter()
                    .map(|name| name.as_str().into())
                    .collect();
                let keys = Selector::ByName {
                    names: keys.into(),
                    strict: true,
                };
                sort_frame(frame, &sorting)
                    .unique_stable(Some(keys), UniqueKeepStrategy::First)
                    .select(shown())
            }
            _ => sort_frame(frame, &sorting).select(shown()),
        };
        Ok(PlannedQuery {
            frame,
            names,
            keys: ties,
            key_names,
            is_one_group: false,
        })
    }

    /// The expression of a result column with the elements of lists as columns: each
    /// `unnest(list)` within it is one of these, with its list.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for an `unnest` within another one.
    fn replace_unnested_lists(&self, item: &ResultColumn) -> Result<(Expr, Vec<(Expr, String)>)> {
        let mut expr = item.expr.clone();
        let mut lists: Vec<(Expr, String)> = Vec::new();
        if !item.unnests {
            let nested = visit_expressions_mut(&mut expr, |part| {
                let Some(list) = unnest_argument(part) else {
                    return ControlFlow::Continue(());
                };
                // Those within it are columns already.
                let is_nested = lists.iter().any(|(_, name)| mentions(&list, name));
                if is_nested {
                    return ControlFlow::Break(());
                }
                let name = self.engine.unique("__element");
                *part = column(&name);
                lists.push((list, name));
                ControlFlow::Continue(())
            });
            if nested.is_break() {
                let error = Error::usage("unnest within unnest can't be part of an expression");
                let error =
                    error.hint("unnest the lists in a query in FROM, and compute with them");
                return Err(self.source.locate(error, item.expr.span()));
            }
        }
        Ok((expr, lists))
    }

    /// The column of an expression: its own, or one that is added to `computed`.
    fn place_expression(
        &self,
        expr: &Expr,
        needs_own: bool,
        computed: &mut Vec<(Expr, String)>,
    ) -> String {
        match strip_parentheses(expr) {
            Expr::Identifier(ident) if !needs_own => ident.value.clone(),
            expr => {
                let name = self.engine.unique("__out");
                computed.push((expr.clone(), name.clone()));
                name
            }
        }
    }

    /// For a correlating equality in WHERE: the outer and the inner side.
    fn tie(
        &self,
        condition: &Expr,
        scope: &SelectScope,
        ctes: &Ctes,
    ) -> Result<Option<(Expr, Expr)>> {
        let Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } = strip_parentheses(condition)
        else {
            return Ok(None);
        };
        if scope.outer.is_none() {
            return Ok(None);
        }
        let mut sides = Vec::new();
        for side in [left, right] {
            if matches!(strip_parentheses(side), Expr::Subquery(_)) {
                return Ok(None);
            }
            let mut binder = Binder::new(self, scope, ctes, &[]);
            let Ok(bound) = binder.bind(side) else {
                return Ok(None);
            };
            if !binder.attached.is_empty() {
                return Ok(None);
            }
            sides.push((bound, binder.looked_inside, binder.looked_outside.is_some()));
        }
        match (sides.pop(), sides.pop()) {
            (Some((own, true, false)), Some((around, false, true)))
            | (Some((around, false, true)), Some((own, true, false))) => Ok(Some((around, own))),
            _ => Ok(None),
        }
    }

    fn check_rows_only(&self, expr: &Expr, clause: &str, hint: &str) -> Result<()> {
        let found = visit_expressions(expr, |part| match part {
            Expr::Function(function)
                if function.over.is_some() || (clause != "HAVING" && is_aggregate(function)) =>
            {
                ControlFlow::Break((name_of(function), span_of(function)))
            }
            _ => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break((name, span)) => Err(self.source.locate(
                Error::usage(format!("{name}() is not allowed in {clause}")).hint(hint),
                span,
            )),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// The SELECT list, expanded to named columns.
    fn items(
        &self,
        select: &Select,
        scope: &SelectScope,
        schema: &Schema,
    ) -> Result<Vec<ResultColumn>> {
        let items = select_list(&self.engine, select, scope, schema)?;
        self.items.set(self.items.get() + items.len());
        if self.items.get() > ITEMS_MAX {
            let error = Error::too_large(format!(
                "the SELECTs of the query name more than {ITEMS_MAX} columns"
            ));
            return Err(error.hint("name the columns that you need"));
        }
        Ok(items)
    }
}

impl NamesAround<'_> {
    fn is_alias(&self, parts: &[Ident]) -> bool {
        match parts {
            [only] => self
                .aliases
                .iter()
                .any(|(alias, _)| alias.eq_ignore_ascii_case(&only.value)),
            _ => false,
        }
    }
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
        if self.depth == 0
            && self.scope.find(parts) == NameLookup::Nothing
            && !self.is_alias(parts)
            && let NameLookup::Column { inner, .. } = self.outer.find(parts)
            && !self.found.contains(&inner)
        {
            self.found.push(inner);
        }
        ControlFlow::Continue(())
    }
}

/// True when an expression contains an aggregate of its own SELECT.
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Function(function) if is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Argument of `unnest(list)`.
/// True for an expression with the column of this name in it.
fn mentions(expr: &Expr, name: &str) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(column) if column.value == name => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn unnest_argument(expr: &Expr) -> Option<Expr> {
    match strip_parentheses(expr) {
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

/// True for a result column whose name an expression is.
fn is_named_by(item: &ResultColumn, expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(ident) if item.name.eq_ignore_ascii_case(&ident.value)
    )
}

/// The columns `inner` under their names in the result, then the keys.
fn list_outputs(inner: &[String], names: &[String], keys: &[String]) -> Vec<EngineExpr> {
    let items = inner
        .iter()
        .zip(names)
        .map(|(inner, name)| col(inner.as_str()).alias(name.as_str()));
    items
        .chain(keys.iter().map(|name| col(name.as_str())))
        .collect()
}
