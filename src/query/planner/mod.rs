//! Plans queries for the engine, one SELECT at a time: each reads one frame with unique column
//! names and becomes a chain of engine statements over it (rows, groups, windows, result), so that
//! functions, names and clauses have the same semantics at every depth.
//!
//! A query is planned here with its WITH, ORDER BY and LIMIT, `recursion` and `set_operation`; a
//! SELECT in `select`: the rows of its FROM in `from_clause` (`joins`, `unnesting`, `pivoting`),
//! the names of its expressions in `name_binding`, their subqueries in `subquery_rewrite`, its
//! GROUP BY in `group_keys`.

mod conditions;
mod context;
mod described;
mod from_clause;
mod group_keys;
mod joined_frame;
mod joins;
mod name_binding;
mod pivoting;
mod recursion;
mod select;
mod set_operation;
mod subquery_rewrite;
mod unnesting;

use std::cell::Cell;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::{
    BaseColumnUdf, Column, DataType, Field, IdxSize, JoinArgs, JoinCoalesce, JoinType, LazyFrame,
    MaintainOrderJoin, PlSmallStr, PolarsResult, Scalar, Schema, Selector, SortMultipleOptions,
    UnionArgs, col, concat, len, lit,
};
use polars::sql::FunctionOptions;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause, OrderBy, OrderByExpr,
    OrderByKind, OrderByOptions, Parens, Query, SetExpr, Spanned, UnaryOperator, Value,
};
use sqlparser::tokenizer::{Location, Span, TokenWithSpan};

use crate::error::{Error, Result};
use crate::query::common_types::with_common_types;
use crate::query::duckdb_arithmetic::apply_duckdb_arithmetic;
use crate::query::duckdb_semantics::{name_of, written_decimal_columns};
use crate::query::engine::SqlEngine;
use crate::query::engine_errors::{engine_error, refusal, values_error};
use crate::query::nested_values::build_result_field;
use crate::query::sampling::RowSampling;
use crate::query::scope::{Relation, SelectScope};
use crate::query::source_span::StatementSource;
use crate::query::token_spellings::PERCENT;
pub(super) use context::Planner;
use context::{Ctes, PlannedQuery};
use name_binding::Binder;
use recursion::recursive_parts;
use subquery_rewrite::{Attached, place_of, written_count};

/// Maximum number of rows of VALUES with values that are computed.
const COMPUTED_ROWS_MAX: usize = 100;

impl<'a> Planner<'a> {
    pub fn new(
        source: StatementSource<'a>,
        tokens: &'a [TokenWithSpan],
        table: &'a dyn Fn(&str) -> Result<Option<LazyFrame>>,
        columns: &'a [(String, Vec<String>)],
        samplings: &'a [(Location, RowSampling)],
    ) -> Self {
        let engine = SqlEngine::new(source, tokens, columns);
        Self {
            source,
            tokens,
            table,
            columns,
            engine,
            samplings,
            unfolded: Cell::new(0),
            items: Cell::new(0),
        }
    }

    /// Plans a statement.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown names and unsupported constructs, with position
    /// and alternative.
    pub fn plan(&self, query: &Query) -> Result<LazyFrame> {
        Ok(self.query(query, &Ctes::default(), None)?.frame)
    }

    /// Filters a frame by a condition on its columns.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub fn condition(&self, frame: LazyFrame, condition: &Expr) -> Result<LazyFrame> {
        let mut frame = frame;
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let relation = Relation::of_columns("data", schema.iter_names());
        let scope = SelectScope::new(vec![relation], None);
        let ctes = Ctes(vec![("data".into(), frame.clone())]);
        let mut binder = Binder::new(self, &scope, &ctes, &[]);
        let bound = binder.bind_inside(condition)?;
        let attached = !binder.attached.is_empty();
        let frame = self.attach(frame, binder.attached)?;
        let frame = self.engine.filter_rows(frame, &bound)?;
        Ok(if attached {
            frame.select(
                schema
                    .iter_names()
                    .map(|name| col(name.clone()))
                    .collect::<Vec<_>>(),
            )
        } else {
            frame
        })
    }

    /// Counts bytes of substituted expressions.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] above `most`.
    fn unfold(&self, bytes: usize, most: usize) -> Result<()> {
        let sum = self.unfolded.get().saturating_add(bytes);
        self.unfolded.set(sum);
        if sum <= most {
            return Ok(());
        }
        let error = Error::too_large("the aliases of the query expand to too much text");
        Err(self
            .source
            .locate_statement(error.hint("compute step by step in subqueries")))
    }

    fn attach(&self, mut frame: LazyFrame, attached: Vec<(String, Attached)>) -> Result<LazyFrame> {
        for (_, rows) in attached {
            frame = match rows {
                Attached::One(one) => self.beside_one(frame, one)?,
                Attached::ByKey { rows, keys } => {
                    let own: Vec<(Expr, String)> = keys
                        .iter()
                        .map(|(expr, _)| (expr.clone(), self.engine.unique("__lookup")))
                        .collect();
                    // Join keys get unique names; the right side has each key once.
                    let names: Vec<String> = keys
                        .iter()
                        .map(|_| self.engine.unique("__key_sub"))
                        .collect();
                    let renamed = rows.rename(
                        keys.iter().map(|(_, name)| name.as_str()),
                        names.iter().map(String::as_str),
                        true,
                    );
                    let (mut left, mut right) = (self.engine.add_columns(frame, &own)?, renamed);
                    let sides = |own: &[(Expr, String)]| {
                        own.iter().map(|(_, name)| col(name.as_str())).collect()
                    };
                    let right_keys = names.iter().map(|name| col(name.as_str())).collect();
                    let (left_on, right_on) = self.of_one_type(
                        &mut left,
                        sides(&own),
                        &mut right,
                        right_keys,
                        Span::empty(),
                    )?;
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

    /// The frame with the columns of a frame of one row beside each row. Joined by a constant that
    /// depends on both sides: the optimiser removes unused columns, and where it removes all of a
    /// side, the number of its rows is lost too.
    pub(super) fn beside_one(&self, mut frame: LazyFrame, mut one: LazyFrame) -> Result<LazyFrame> {
        let (left, right) = (find_first_column(&mut frame)?, find_first_column(&mut one)?);
        let (Some(left), Some(right)) = (left, right) else {
            return Ok(frame.cross_join(one, None));
        };
        let (left_key, right_key) = (
            self.engine.unique("__lookup"),
            self.engine.unique("__lookup"),
        );
        let keyed = |frame: LazyFrame, column: PlSmallStr, key: &str| {
            frame.with_column(zero().call(vec![col(column)]).alias(key))
        };
        let arguments = JoinArgs {
            maintain_order: MaintainOrderJoin::Left,
            coalesce: JoinCoalesce::KeepColumns,
            ..JoinArgs::new(JoinType::Left)
        };
        let (left, right) = (keyed(frame, left, &left_key), keyed(one, right, &right_key));
        Ok(left.join(
            right,
            [col(left_key.as_str())],
            [col(right_key.as_str())],
            arguments,
        ))
    }

    /// Plans a query; `outer` is the scope of the enclosing SELECT of a subquery.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    fn query(
        &self,
        query: &Query,
        ctes: &Ctes,
        outer: Option<&SelectScope>,
    ) -> Result<PlannedQuery> {
        let unsupported = [
            (query.for_clause.is_some(), "FOR"),
            (query.format_clause.is_some(), "FORMAT"),
            (query.settings.is_some(), "SETTINGS"),
            (!query.locks.is_empty(), "FOR UPDATE"),
            (!query.pipe_operators.is_empty(), "|>"),
        ];
        if let Some((_, clause)) = unsupported.iter().find(|(used, _)| *used) {
            return Err(self.source.locate(
                Error::usage(format!("{clause} is not supported")),
                query.span(),
            ));
        }
        let mut ctes = ctes.clone();
        if let Some(with) = &query.with {
            for cte in &with.cte_tables {
                let frame = match recursive_parts(cte).filter(|_| with.recursive) {
                    Some(parts) => self.recursive(cte, parts, &ctes)?,
                    None => self.rename_columns(self.rows_of(&cte.query, &ctes)?, &cte.alias)?,
                };
                ctes.0.push((cte.alias.name.value.clone(), frame));
            }
        }
        let mut planned = match query.body.as_ref() {
            SetExpr::Select(select) => {
                self.select(select, query.order_by.as_ref(), &ctes, outer)?
            }
            other => {
                let planned = self.body(other, &ctes, outer)?;
                self.sort_set_result(planned, query.order_by.as_ref(), &ctes)?
            }
        };
        let (limit, offset) = self.limits(query, &ctes)?;
        if limit.is_some() || offset > 0 {
            if !planned.keys.is_empty() && (offset > 0 || matches!(limit, Some(Limit::Percent(_))))
            {
                let error =
                    Error::usage("a subquery that looks at the rows around it can't have OFFSET");
                return Err(self.source.locate(
                    error.hint("take an extreme: max(x), arg_max(x, y)"),
                    query.span(),
                ));
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
                    let keys: Vec<_> = planned
                        .key_names
                        .iter()
                        .map(|name| col(name.as_str()))
                        .collect();
                    planned
                        .frame
                        .group_by_stable(keys)
                        .head(Some(limit as usize))
                }
                0 => planned.frame.limit(limit),
                _ => planned
                    .frame
                    .slice(i64::try_from(offset).unwrap_or(i64::MAX), limit),
            };
        }
        Ok(planned)
    }

    /// The rows of a query in FROM or WITH. Written decimal numbers, which are fractions to the
    /// engine, are decimal numbers in them.
    pub(super) fn rows_of(&self, query: &Query, ctes: &Ctes) -> Result<LazyFrame> {
        let PlannedQuery {
            mut frame, names, ..
        } = self.query(query, ctes, None)?;
        let widths = written_decimal_columns(query);
        // An expression can stand for several columns.
        if widths.iter().all(Option::is_none) || widths.len() != names.len() {
            return Ok(frame);
        }
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let mut decimals = Vec::new();
        for (name, width) in names.iter().zip(widths) {
            let dtype = schema.get(name);
            if let (Some(width), Some(DataType::Float64 | DataType::Unknown(_))) = (width, dtype) {
                let to = DataType::Decimal(width.width, width.scale);
                decimals.push(col(name.as_str()).strict_cast(to));
            }
        }
        Ok(if decimals.is_empty() {
            frame
        } else {
            frame.with_columns(decimals)
        })
    }

    fn limits(&self, query: &Query, ctes: &Ctes) -> Result<(Option<Limit>, u64)> {
        let fetch = query
            .fetch
            .as_ref()
            .and_then(|fetch| fetch.quantity.as_ref());
        let (limit, offset) = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (
                limit.as_ref().or(fetch),
                offset.as_ref().map(|offset| &offset.value),
            ),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            None => (fetch, None),
        };
        let number = |expr: &Expr| self.read_row_count(expr, ctes);
        let limit = limit.map(|limit| match percent_of(limit) {
            Some(percent) => Ok(Some(Limit::Percent(percent))),
            None => number(limit).map(|rows| rows.map(Limit::Rows)),
        });
        Ok((
            limit.transpose()?.flatten(),
            offset.map(number).transpose()?.flatten().unwrap_or(0),
        ))
    }

    /// The number of rows of LIMIT or OFFSET; `None` for null.
    fn read_row_count(&self, expr: &Expr, ctes: &Ctes) -> Result<Option<u64>> {
        if let Some(count) = written_count(expr) {
            return Ok(Some(count));
        }
        let count = self
            .compute_row_count(expr, ctes)
            .map_err(|error| match error.place() {
                Some(_) => error,
                None => self.source.locate(error, expr.span()),
            })?;
        let Some(count) = count else {
            return Ok(None);
        };
        if !(0.0..u64::MAX as f64).contains(&count) {
            let error = Error::usage(format!("{expr} is no number of rows"));
            return Err(self
                .source
                .locate(error.hint("LIMIT 10 OFFSET 20"), expr.span()));
        }
        Ok(Some(count as u64))
    }

    /// The value of a count that is computed, as `LIMIT (SELECT count(*) / 10 FROM data)`; a
    /// fraction is rounded.
    fn compute_row_count(&self, expr: &Expr, ctes: &Ctes) -> Result<Option<f64>> {
        let scope = SelectScope::new(Vec::new(), None);
        let mut binder = Binder::new(self, &scope, ctes, &[]);
        let bound = binder.bind_inside(expr)?;
        let one = self.from(&[], &mut Vec::new(), ctes)?.frame;
        let frame = self.attach(one, binder.attached)?;
        let name = self.engine.unique("__count");
        let frame = self.engine.add_columns(frame, &[(bound, name.clone())])?;
        let value = apply_duckdb_arithmetic(frame.select([col(name.as_str())]))
            .and_then(LazyFrame::collect)
            .map_err(|error| values_error(&error))?;
        let count = value
            .column(&name)
            .and_then(|column| column.cast(&DataType::Float64))
            .and_then(|column| column.f64().map(|numbers| numbers.first()))
            .map_err(|error| values_error(&error))?;
        Ok(count.map(f64::round_ties_even))
    }

    fn plan_frame(&self, mut frame: LazyFrame) -> Result<PlannedQuery> {
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        Ok(PlannedQuery {
            frame,
            names,
            keys: Vec::new(),
            key_names: Vec::new(),
            is_one_group: false,
        })
    }

    fn body(
        &self,
        body: &SetExpr,
        ctes: &Ctes,
        outer: Option<&SelectScope>,
    ) -> Result<PlannedQuery> {
        match body {
            SetExpr::Select(select) => self.select(select, None, ctes, outer),
            SetExpr::Query(query) => self.query(query, ctes, outer),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => self.combine_queries(left, *op, *set_quantifier, right, ctes),
            SetExpr::Values(values) => {
                let scope = SelectScope::new(Vec::new(), None);
                let mut one = self.from(&[], &mut Vec::new(), ctes)?.frame;
                let mut rows = Vec::with_capacity(values.rows.len());
                for row in &values.rows {
                    rows.push(self.print_row(&row.content, &scope, ctes, &mut one)?);
                }
                let is_computed =
                    |row: &Parens<Vec<Expr>>| !row.content.iter().all(is_written_value);
                let texts: Vec<String> = rows
                    .iter()
                    .map(|row| format!("({})", row.join(", ")))
                    .collect();
                let sql = format!("VALUES {}", texts.join(", "));
                let frame = match self.engine.run(one.clone(), &sql) {
                    Err(_) if values.rows.iter().any(is_computed) => {
                        self.combine_computed_rows(&one, rows, values.span())?
                    }
                    frame => frame?,
                };
                let mut planned = self.plan_frame(frame)?;
                let names: Vec<String> = (0..planned.names.len())
                    .map(|at| format!("col{at}"))
                    .collect();
                planned.frame = planned.frame.rename(&planned.names, &names, true);
                planned.names = names;
                Ok(planned)
            }
            other => {
                let error = Error::usage("this changes tables; queries only read")
                    .hint("edit the dataset as a draft instead");
                Err(self.source.locate(error, other.span()))
            }
        }
    }

    /// One row of VALUES in SQL of the engine.
    fn print_row(
        &self,
        values: &[Expr],
        scope: &SelectScope,
        ctes: &Ctes,
        frame: &mut LazyFrame,
    ) -> Result<Vec<String>> {
        let mut printed = Vec::with_capacity(values.len());
        for value in values {
            let bound = Binder::new(self, scope, ctes, &[]).bind_inside(value)?;
            printed.push(self.engine.print(&bound, frame)?);
        }
        Ok(printed)
    }

    /// Rows of VALUES with values that are computed, of which the engine makes no rows at once.
    fn combine_computed_rows(
        &self,
        one: &LazyFrame,
        rows: Vec<Vec<String>>,
        span: Span,
    ) -> Result<LazyFrame> {
        if rows.len() > COMPUTED_ROWS_MAX {
            let error = Error::too_large(format!(
                "VALUES computes {} rows; {COMPUTED_ROWS_MAX} is the most",
                rows.len()
            ));
            return Err(self.source.locate(error, span));
        }
        let width = rows.first().map_or(0, Vec::len);
        let mut all: Option<LazyFrame> = None;
        for row in rows {
            if row.len() != width {
                let error = Error::usage("the rows of VALUES have different numbers of values");
                return Err(self.source.locate(error, span));
            }
            let shown: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(at, value)| format!("{value} AS column_{at}"))
                .collect();
            let sql = format!("SELECT {} FROM t", shown.join(", "));
            let next = self.engine.run(one.clone(), &sql)?;
            all = Some(match all {
                Some(above) => stack_frames(above, next).map_err(|error| engine_error(&error))?,
                None => next,
            });
        }
        Ok(all.unwrap_or_else(|| one.clone()))
    }

    /// Sorts the result of a set operation by its columns.
    fn sort_set_result(
        &self,
        mut planned: PlannedQuery,
        order: Option<&OrderBy>,
        ctes: &Ctes,
    ) -> Result<PlannedQuery> {
        let Some(order) = order else {
            return Ok(planned);
        };
        let relation = Relation::of_columns("", &planned.names);
        let scope = SelectScope::new(vec![relation], None);
        let (mut by, mut computed) = (Vec::new(), Vec::new());
        for (key, options) in self.order_keys(order, planned.names.len())? {
            let name = match key {
                Ok(place) => planned.names[place].clone(),
                Err(expr) => {
                    let name = self.engine.unique("__order");
                    computed.push((
                        Binder::new(self, &scope, ctes, &[]).bind_inside(&expr)?,
                        name.clone(),
                    ));
                    name
                }
            };
            by.push((name, options));
        }
        let shown: Vec<_> = planned
            .names
            .iter()
            .map(|name| col(name.as_str()))
            .collect();
        planned.frame =
            sort_frame(self.engine.add_columns(planned.frame, &computed)?, &by).select(shown);
        Ok(planned)
    }

    /// Keys of ORDER BY: index of a result column, or an expression.
    #[allow(
        clippy::type_complexity,
        reason = "a key is a place or an expression, with its options"
    )]
    fn order_keys(
        &self,
        order: &OrderBy,
        columns: usize,
    ) -> Result<Vec<(std::result::Result<usize, Expr>, OrderByOptions)>> {
        let keys = match &order.kind {
            OrderByKind::All(options) => {
                return Ok((0..columns).map(|at| (Ok(at), *options)).collect());
            }
            OrderByKind::Expressions(keys) => keys,
        };
        keys.iter()
            .map(|key| self.resolve_order_key(key, columns))
            .collect()
    }

    /// The place of a result column, or the expression, that a key of ORDER BY means.
    fn resolve_order_key(
        &self,
        key: &OrderByExpr,
        columns: usize,
    ) -> Result<(std::result::Result<usize, Expr>, OrderByOptions)> {
        let place = match place_of(&key.expr) {
            None => return Ok((Err(key.expr.clone()), key.options)),
            Some(number) => usize::try_from(number)
                .ok()
                .and_then(|number| number.checked_sub(1))
                .filter(|at| *at < columns),
        };
        let error = || Error::usage(format!("there is no result column {}", key.expr));
        place
            .map(|place| (Ok(place), key.options))
            .ok_or_else(|| self.source.locate(error(), key.expr.span()))
    }
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
    let Expr::Function(function) = limit else {
        return None;
    };
    if name_of(function) != PERCENT {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => match &value.value {
            Value::Number(text, _) => text
                .parse()
                .ok()
                .filter(|percent| (0.0..=100.0).contains(percent)),
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
        .drop(Selector::ByName {
            names: [PlSmallStr::from(NUMBER)].into(),
            strict: true,
        })
}

fn sort_frame(frame: LazyFrame, by: &[(String, OrderByOptions)]) -> LazyFrame {
    if by.is_empty() {
        return frame;
    }
    let descending: Vec<bool> = by
        .iter()
        .map(|(_, options)| options.asc == Some(false))
        .collect();
    // Nulls sort last unless NULLS FIRST is given.
    let nulls_last: Vec<bool> = by
        .iter()
        .map(|(_, options)| options.nulls_first != Some(true))
        .collect();
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(descending)
        .with_nulls_last_multi(nulls_last);
    frame.sort_by_exprs(
        by.iter()
            .map(|(name, _)| col(name.as_str()))
            .collect::<Vec<_>>(),
        options,
    )
}

/// 0 for each value.
fn zero() -> UserDefinedFunction {
    let values = |columns: &mut [Column]| make_zeros(columns);
    let field = |_: &Schema, fields: &[Field]| Ok(build_result_field(fields, &DataType::UInt8));
    let mut function = UserDefinedFunction::new("zero".into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

fn make_zeros(columns: &[Column]) -> PolarsResult<Column> {
    let [values] = columns else {
        return Err(refusal("a key is made from one column"));
    };
    Ok(Column::new_scalar(
        values.name().clone(),
        Scalar::from(0u8),
        values.len(),
    ))
}

fn find_first_column(frame: &mut LazyFrame) -> Result<Option<PlSmallStr>> {
    let schema = frame
        .collect_schema()
        .map_err(|error| engine_error(&error))?;
    Ok(schema.iter_names().next().cloned())
}

/// True for a value that the engine takes in VALUES.
fn is_written_value(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => !is_cast_number(&value.value),
        Expr::UnaryOp { op, expr } => {
            *op == UnaryOperator::Minus
                && matches!(expr.as_ref(), Expr::Value(value) if !is_cast_number(&value.value))
        }
        _ => false,
    }
}

/// True for numbers that are casts to the engine: those with a power of ten, and integers that do
/// not fit in BIGINT.
fn is_cast_number(value: &Value) -> bool {
    let Value::Number(text, _) = value else {
        return false;
    };
    text.contains(['e', 'E']) || (!text.contains('.') && text.parse::<i64>().is_err())
}

/// The rows of two frames with the same names of columns, in the types that both have in common.
fn stack_frames(above: LazyFrame, below: LazyFrame) -> PolarsResult<LazyFrame> {
    let (above, below) = with_common_types(above, below)?;
    let options = UnionArgs {
        to_supertypes: true,
        ..UnionArgs::default()
    };
    concat([above, below], options)
}
