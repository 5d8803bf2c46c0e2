//! Joins of two relations: by conditions, by position, ASOF and LATERAL. In outer joins, conditions
//! on one side become filters of that side; conditions other than equalities between the sides are
//! refused, since the engine would run an inner join.

use std::collections::HashSet;
use std::ops::ControlFlow;

use polars::prelude::*;
use sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, JoinOperator, Query, Spanned, TableAlias, TableFactor,
    TableWithJoins,
};
use sqlparser::tokenizer::Span;

use super::conditions::conjuncts;
use super::context::{Ctes, PlannedQuery, Planner};
use super::joined_frame::JoinedFrame;
use super::name_binding::Binder;
use super::subquery_rewrite::without_rows;
use super::unnesting::find_unnested_list;
use crate::error::{Error, Result};
use crate::query::duckdb_arithmetic::type_of_compared_decimals;
use crate::query::duckdb_semantics::{column, expression, strip_parentheses};
use crate::query::engine::EngineExpr;
use crate::query::engine_errors::engine_error;
use crate::query::scope::{Relation, ScopeColumn, SelectScope};
use crate::query::syntax_walk::visit_expressions;
use crate::query::token_spellings::ASOF;
use crate::query::type_names::type_name;

struct AsofConditions {
    /// Equalities, the left side first.
    keys: Vec<(Expr, Expr)>,
    /// Columns after USING; without an inequality, the last is that of `>=`.
    pairs: Vec<(String, String)>,
    /// Other conditions, bound and as they are written.
    rest: Vec<(Expr, Expr)>,
    /// True for LEFT JOIN.
    keeps_left: bool,
    span: Span,
}

#[derive(Clone, Copy, PartialEq)]
enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    /// POSITIONAL JOIN: the rows of both sides in their order.
    Positional,
}

/// The column with this name, which unqualified names find no more if `hide` is set.
fn find_shared_column(joined: &mut JoinedFrame, name: &str, hide: bool) -> Option<String> {
    let columns = joined
        .relations
        .iter_mut()
        .flat_map(|relation| relation.columns.iter_mut());
    let mut found =
        columns.filter(|column| column.name.eq_ignore_ascii_case(name) && !column.qualified_only);
    let column = found.next()?;
    column.qualified_only |= hide;
    Some(column.inner.clone())
}

fn cast_key(side: EngineExpr, common: Option<&DataType>) -> EngineExpr {
    match common {
        Some(dtype) => side.cast(dtype.clone()),
        None => side,
    }
}

/// True if an outer join adds rows to the tables before it.
pub(super) fn extends_left(table: &TableWithJoins) -> bool {
    table.joins.iter().any(|join| {
        matches!(
            kind_of(&join.join_operator),
            Some(JoinKind::Right | JoinKind::Full | JoinKind::Positional)
        )
    })
}

fn is_asof_mark(condition: &Expr) -> bool {
    matches!(condition, Expr::Identifier(ident) if ident.value == ASOF)
}

fn kind_of(operator: &JoinOperator) -> Option<JoinKind> {
    Some(match operator {
        JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {
            JoinKind::Inner
        }
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => JoinKind::Left,
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => JoinKind::Right,
        JoinOperator::FullOuter(_) => JoinKind::Full,
        JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) => JoinKind::Semi,
        JoinOperator::Anti(_) | JoinOperator::LeftAnti(_) => JoinKind::Anti,
        JoinOperator::StraightJoin(_) => JoinKind::Positional,
        _ => return None,
    })
}

/// True for a join, other than CROSS and POSITIONAL, without ON, USING and NATURAL.
fn lacks_condition(operator: &JoinOperator) -> bool {
    !matches!(operator, JoinOperator::CrossJoin(_))
        && matches!(constraint_of(operator), Some(JoinConstraint::None))
}

fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint) => Some(constraint),
        _ => None,
    }
}

/// True for a written TRUE.
fn is_true(condition: &Expr) -> bool {
    matches!(
        strip_parentheses(condition),
        Expr::Value(value) if value.value == sqlparser::ast::Value::Boolean(true)
    )
}

/// True when an expression names a column, or anything else.
fn has_names(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn unequal_error(summary: String) -> Error {
    let hint = "the engine only joins so by columns that are equal; find the pairs in a subquery, \
        and join that: FROM data AS a \
                LEFT JOIN (SELECT a.id AS key, b.n FROM data AS a JOIN data AS b ON a.k = b.k AND \
        a.n < b.n) AS m ON a.id = m.key";
    Error::usage(summary).hint(hint)
}

fn has_subquery(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// True when a bound expression uses one of these columns.
fn looks_at(expr: &Expr, columns: &HashSet<String>) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(ident) if columns.contains(&ident.value) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Both sides of an equality between the tables, the left table's first.
fn equality(expr: &Expr, left: &HashSet<String>, right: &HashSet<String>) -> Option<(Expr, Expr)> {
    let Expr::BinaryOp {
        left: one,
        op: BinaryOperator::Eq,
        right: other,
    } = strip_parentheses(expr)
    else {
        return None;
    };
    let sides = |expr: &Expr| (looks_at(expr, left), looks_at(expr, right));
    match (sides(one), sides(other)) {
        ((true, false), (false, true)) => Some((*one.clone(), *other.clone())),
        ((false, true), (true, false)) => Some((*other.clone(), *one.clone())),
        _ => None,
    }
}

/// An inequality between the tables, turned so that the left table is on its left.
fn inequality(
    expr: &Expr,
    left: &HashSet<String>,
    right: &HashSet<String>,
) -> Option<(Expr, BinaryOperator, Expr)> {
    let Expr::BinaryOp {
        left: one,
        op,
        right: other,
    } = strip_parentheses(expr)
    else {
        return None;
    };
    let turned = match op {
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let sides = |expr: &Expr| (looks_at(expr, left), looks_at(expr, right));
    match (sides(one), sides(other)) {
        ((true, false), (false, true)) => Some((*one.clone(), op.clone(), *other.clone())),
        ((false, true), (true, false)) => Some((*other.clone(), turned, *one.clone())),
        _ => None,
    }
}

impl Planner<'_> {
    pub(super) fn join(
        &self,
        joined: &mut JoinedFrame,
        factor: &TableFactor,
        operator: &JoinOperator,
        conditions: &mut Vec<Expr>,
        ctes: &Ctes,
    ) -> Result<()> {
        let Some(kind) = kind_of(operator) else {
            let error = Error::usage("a join of this kind is not supported");
            let hint = "there are JOIN, LEFT, RIGHT, FULL, SEMI, ANTI, ASOF and POSITIONAL JOIN";
            return Err(self.source.locate(error.hint(hint), factor.span()));
        };
        if lacks_condition(operator) {
            let error = Error::usage("a join needs a condition").hint(
                "JOIN b ON a.id = b.key, or JOIN b USING (id); CROSS JOIN pairs each row with all",
            );
            return Err(self.source.locate(error, factor.span()));
        }
        if let Some(unnested) = find_unnested_list(factor) {
            let keeps_all = kind == JoinKind::Left
                && matches!(constraint_of(operator), Some(JoinConstraint::On(on)) if is_true(on));
            if keeps_all || unnested.lists.iter().any(has_names) {
                let condition = self.lateral_condition(operator, factor.span())?;
                self.unnest(joined, &unnested, kind == JoinKind::Left, ctes)?;
                return self.kept_by(joined, condition, ctes);
            }
        }
        let mut right = match factor {
            TableFactor::Derived {
                lateral: true,
                subquery,
                alias,
                ..
            } => {
                let scope = joined.scope(None);
                let planned = self.query(subquery, ctes, Some(&scope))?;
                if !planned.keys.is_empty() {
                    return self.lateral(joined, planned, subquery, alias.as_ref(), operator, ctes);
                }
                self.name_relation(planned.frame, alias.as_ref(), "")?
            }
            _ => self.relation(factor, ctes)?,
        };
        self.keep_apart(joined, &mut right);
        if let JoinOperator::StraightJoin(constraint) = operator {
            if *constraint != JoinConstraint::None {
                let error = Error::usage("a POSITIONAL JOIN has no condition")
                    .hint("JOIN b ON a.id = b.key, or filter the pairs in WHERE");
                return Err(self.source.locate(error, factor.span()));
            }
            self.join_by_position(joined, right);
            return Ok(());
        }
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut asked: Vec<Expr> = Vec::new();
        let mut is_asof = false;
        match constraint_of(operator) {
            Some(JoinConstraint::On(condition)) => {
                conjuncts(condition, &mut asked);
                is_asof = asked.iter().any(is_asof_mark);
                asked.retain(|condition| !is_asof_mark(condition));
            }
            Some(JoinConstraint::Using(names)) => {
                let mut names: Vec<(String, Span)> = names
                    .iter()
                    .filter_map(|name| {
                        let ident = name.0.last()?.as_ident()?;
                        Some((ident.value.clone(), ident.span))
                    })
                    .collect();
                is_asof |= names.first().is_some_and(|(name, _)| name == ASOF);
                names.retain(|(name, _)| name != ASOF);
                pairs = self.pair_shared_columns(joined, &mut right, kind, names)?;
            }
            Some(JoinConstraint::Natural) => {
                let of_left: HashSet<String> = joined
                    .relations
                    .iter()
                    .flat_map(|relation| relation.columns.iter().map(|column| column.name.clone()))
                    .collect();
                let names = right
                    .relations
                    .iter()
                    .flat_map(|relation| relation.columns.iter().map(|column| column.name.clone()));
                let names: Vec<(String, Span)> = names
                    .filter(|name| of_left.contains(name))
                    .map(|name| (name, Span::empty()))
                    .collect();
                pairs = self.pair_shared_columns(joined, &mut right, kind, names)?;
            }
            _ => {}
        }
        let scope = SelectScope::new(
            joined
                .relations
                .iter()
                .chain(&right.relations)
                .cloned()
                .collect(),
            None,
        );
        let (of_left, of_right) = (joined.names(), right.names());
        let (mut keys, mut only_left, mut only_right, mut rest) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for condition in asked {
            let mut binder = Binder::new(self, &scope, ctes, &[]);
            let bound = binder.bind(&condition)?;
            if !binder.attached.is_empty() {
                let error = Error::usage("ON can't hold a subquery").hint("filter by it in WHERE");
                return Err(self.source.locate(error, condition.span()));
            }
            match equality(&bound, &of_left, &of_right) {
                Some(key) => keys.push(key),
                None => match (looks_at(&bound, &of_left), looks_at(&bound, &of_right)) {
                    (false, true) => only_right.push((bound, condition)),
                    (true, false) => only_left.push((bound, condition)),
                    _ => rest.push((bound, condition)),
                },
            }
        }
        if is_asof {
            rest.extend(only_left);
            rest.extend(only_right);
            return self.asof(
                joined,
                right,
                AsofConditions {
                    keys,
                    pairs,
                    rest,
                    keeps_left: kind == JoinKind::Left,
                    span: factor.span(),
                },
            );
        }
        if kind == JoinKind::Inner {
            // Equalities of WHERE are join keys too.
            conditions.retain(|condition| {
                let mut binder = Binder::new(self, &scope, ctes, &[]);
                let plain = !matches!(condition, Expr::InSubquery { .. } | Expr::Exists { .. });
                let is_equality = plain
                    && matches!(
                        strip_parentheses(condition),
                        Expr::BinaryOp {
                            op: BinaryOperator::Eq,
                            ..
                        }
                    );
                let key = if is_equality && !has_subquery(condition) {
                    binder
                        .bind(condition)
                        .ok()
                        .and_then(|bound| equality(&bound, &of_left, &of_right))
                } else {
                    None
                };
                let taken = key.is_some();
                keys.extend(key);
                !taken
            });
        } else {
            let refused = |condition: &Expr| Err(self.refuse_join_condition(condition));
            let filters_right = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
            if let Some((_, condition)) = rest.first() {
                return refused(condition);
            }
            if let Some((_, condition)) = only_right.first().filter(|_| !filters_right) {
                return refused(condition);
            }
            if let Some((_, condition)) = only_left.first().filter(|_| kind != JoinKind::Right) {
                return refused(condition);
            }
            if keys.is_empty() && pairs.is_empty() {
                let summary = "a join of this kind needs a condition that has a column of each \
                    table be equal";
                return Err(self
                    .source
                    .locate(unequal_error(summary.into()), factor.span()));
            }
        }
        if kind != JoinKind::Inner {
            right.frame = self.filter_side(right.frame, only_right)?;
            joined.frame = self.filter_side(joined.frame.clone(), only_left)?;
        } else {
            rest.extend(only_left);
            rest.extend(only_right);
        }
        let (left_sides, right_sides): (Vec<Expr>, Vec<Expr>) = keys
            .into_iter()
            .chain(
                pairs
                    .iter()
                    .map(|(left, right)| (column(left), column(right))),
            )
            .unzip();
        let (mut left, left_on) = self.keys(joined.frame.clone(), &left_sides)?;
        let (mut right_frame, right_on) = self.keys(right.frame.clone(), &right_sides)?;
        let (left_on, right_on) = self.of_one_type(
            &mut left,
            left_on,
            &mut right_frame,
            right_on,
            factor.span(),
        )?;
        let how = match kind {
            JoinKind::Inner if left_on.is_empty() => JoinType::Cross,
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            // Positional joins were made above.
            JoinKind::Full | JoinKind::Positional => JoinType::Full,
            JoinKind::Semi => JoinType::Semi,
            JoinKind::Anti => JoinType::Anti,
        };
        let arguments = JoinArgs {
            coalesce: JoinCoalesce::KeepColumns,
            ..JoinArgs::new(how)
        };
        joined.frame = left.join(right_frame, left_on, right_on, arguments);
        if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            joined.relations.extend(right.relations);
        }
        if kind == JoinKind::Full {
            for (left, right) in &pairs {
                let either =
                    coalesce(&[col(left.as_str()), col(right.as_str())]).alias(left.as_str());
                joined.frame = joined.frame.clone().with_column(either);
            }
        }
        for (bound, _) in rest {
            joined.frame = self.engine.filter_rows(joined.frame.clone(), &bound)?;
        }
        Ok(())
    }

    fn refuse_join_condition(&self, condition: &Expr) -> Error {
        let summary = format!("a join of this kind can't have the condition {condition}");
        self.source.locate(unequal_error(summary), condition.span())
    }

    /// The rows of one side of a join that meet the conditions, which are bound and as written.
    fn filter_side(&self, frame: LazyFrame, conditions: Vec<(Expr, Expr)>) -> Result<LazyFrame> {
        conditions.into_iter().try_fold(frame, |frame, (bound, _)| {
            self.engine.filter_rows(frame, &bound)
        })
    }

    /// The condition by which rows are joined with rows that are made of them; `None` for all.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for joins by the names of columns, and for others than JOIN
    /// and LEFT JOIN … ON TRUE.
    fn lateral_condition<'a>(
        &self,
        operator: &'a JoinOperator,
        span: Span,
    ) -> Result<Option<&'a Expr>> {
        let condition = match constraint_of(operator) {
            Some(JoinConstraint::On(condition)) if !is_true(condition) => Some(condition),
            Some(JoinConstraint::Using(_) | JoinConstraint::Natural) => {
                let error = Error::usage("LATERAL is joined ON a condition")
                    .hint("JOIN LATERAL (SELECT …) AS t ON TRUE");
                return Err(self.source.locate(error, span));
            }
            _ => None,
        };
        let kind = kind_of(operator);
        if !matches!(kind, Some(JoinKind::Inner | JoinKind::Left))
            || (kind == Some(JoinKind::Left) && condition.is_some())
        {
            let error =
                Error::usage("LATERAL is joined by CROSS JOIN, JOIN … ON, or LEFT JOIN … ON TRUE");
            return Err(self.source.locate(error, span));
        }
        Ok(condition)
    }

    /// Keeps the rows that meet a condition.
    fn kept_by(
        &self,
        joined: &mut JoinedFrame,
        condition: Option<&Expr>,
        ctes: &Ctes,
    ) -> Result<()> {
        let Some(condition) = condition else {
            return Ok(());
        };
        let scope = joined.scope(None);
        let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(condition)?;
        joined.frame = self.engine.filter_rows(joined.frame.clone(), &bound)?;
        Ok(())
    }

    /// Joins each row with the rows of a subquery that looks at it.
    fn lateral(
        &self,
        joined: &mut JoinedFrame,
        planned: PlannedQuery,
        subquery: &Query,
        alias: Option<&TableAlias>,
        operator: &JoinOperator,
        ctes: &Ctes,
    ) -> Result<()> {
        let span = subquery.span();
        let condition = self.lateral_condition(operator, span)?;
        let kind = kind_of(operator);
        let found = self.engine.unique("__found");
        // Aggregates without GROUP BY are a row for each row around them: those of no rows where a
        // key has none.
        let none = if planned.is_one_group {
            let scope = joined.scope(None);
            let empty = self.query(&without_rows(subquery), ctes, Some(&scope))?;
            if !empty.keys.is_empty() {
                let error = Error::usage(
                    "an aggregate of LATERAL is not allowed beside a column of the query around it",
                );
                return Err(self.source.locate(
                    error.hint("compute with the column outside of LATERAL"),
                    span,
                ));
            }
            Some(empty)
        } else {
            None
        };
        let mut names = Vec::new();
        let mut shown = Vec::new();
        for name in &planned.names {
            let inner = self.engine.unique("__lateral");
            shown.push(col(name.as_str()).alias(inner.as_str()));
            names.push((name.clone(), inner));
        }
        shown.extend(planned.key_names.iter().map(|name| col(name.as_str())));
        shown.push(lit(true).alias(found.as_str()));
        let mut right = planned.frame.select(shown);
        let own: Vec<(Expr, String)> = planned
            .keys
            .iter()
            .map(|(expr, _)| (expr.clone(), self.engine.unique("__lookup")))
            .collect();
        let mut left = self.engine.add_columns(joined.frame.clone(), &own)?;
        let left_keys = own.iter().map(|(_, name)| col(name.as_str())).collect();
        let right_keys = planned
            .keys
            .iter()
            .map(|(_, name)| col(name.as_str()))
            .collect();
        let (left_on, right_on) =
            self.of_one_type(&mut left, left_keys, &mut right, right_keys, span)?;
        let how = if kind == Some(JoinKind::Left) || none.is_some() {
            JoinType::Left
        } else {
            JoinType::Inner
        };
        let arguments = JoinArgs {
            maintain_order: MaintainOrderJoin::Left,
            coalesce: JoinCoalesce::KeepColumns,
            nulls_equal: true,
            ..JoinArgs::new(how)
        };
        let mut frame = left.join(right, left_on, right_on, arguments);
        if let Some(empty) = none {
            let of_none: Vec<String> = names.iter().map(|_| self.engine.unique("__none")).collect();
            let one = empty
                .names
                .iter()
                .zip(&of_none)
                .map(|(name, own)| col(name.as_str()).alias(own.as_str()));
            frame = self.beside_one(frame, empty.frame.limit(1).select(one.collect::<Vec<_>>()))?;
            let either = names.iter().zip(&of_none).map(|((_, inner), none)| {
                when(col(found.as_str()).is_not_null())
                    .then(col(inner.as_str()))
                    .otherwise(col(none.as_str()))
                    .alias(inner.as_str())
            });
            frame = frame.with_columns(either.collect::<Vec<_>>());
        }
        joined.frame = frame;
        let renamed = alias.map(|alias| {
            alias
                .columns
                .iter()
                .map(|column| column.name.value.clone())
                .collect::<Vec<_>>()
        });
        let columns = names.into_iter().enumerate().map(|(at, (name, inner))| {
            let name = renamed
                .as_ref()
                .and_then(|renamed| renamed.get(at))
                .cloned()
                .unwrap_or(name);
            ScopeColumn {
                name,
                inner,
                qualified_only: false,
            }
        });
        let alias = alias.map_or(String::new(), |alias| alias.name.value.clone());
        joined.relations.push(Relation {
            alias,
            columns: columns.collect(),
        });
        self.kept_by(joined, condition, ctes)
    }

    /// Joins each row with the nearest row of the other table, by one inequality.
    fn asof(
        &self,
        joined: &mut JoinedFrame,
        right: JoinedFrame,
        mut conditions: AsofConditions,
    ) -> Result<()> {
        let span = conditions.span;
        let wrong = |what: &str| self.refuse_asof(what, span);
        let (of_left, of_right) = (joined.names(), right.names());
        // The last column after USING is that of the inequality.
        let nearest = match conditions.rest.as_slice() {
            [] => {
                let (left, right) = conditions
                    .pairs
                    .pop()
                    .ok_or_else(|| wrong("needs an inequality"))?;
                (column(&left), BinaryOperator::GtEq, column(&right))
            }
            [(bound, _)] => inequality(bound, &of_left, &of_right)
                .ok_or_else(|| wrong("needs an inequality of its tables"))?,
            _ => return Err(wrong("has one inequality")),
        };
        let (number, near_left, near_right) = (
            self.engine.unique("__row"),
            self.engine.unique("__near"),
            self.engine.unique("__near"),
        );
        let left_frame = joined.frame.clone().with_row_index(number.as_str(), None);
        let left_frame = self
            .engine
            .add_columns(left_frame, &[(nearest.0, near_left.clone())])?;
        let right_frame = self
            .engine
            .add_columns(right.frame.clone(), &[(nearest.2, near_right.clone())])?;
        let keys = conditions.keys.into_iter().chain(
            conditions
                .pairs
                .iter()
                .map(|(left, right)| (column(left), column(right))),
        );
        let (left_sides, right_sides): (Vec<Expr>, Vec<Expr>) = keys.unzip();
        let (mut left_frame, left_on) = self.keys(left_frame, &left_sides)?;
        let (mut right_frame, right_on) = self.keys(right_frame, &right_sides)?;
        let (left_on, right_on) =
            self.of_one_type(&mut left_frame, left_on, &mut right_frame, right_on, span)?;
        let how = if left_on.is_empty() {
            JoinType::Cross
        } else {
            JoinType::Inner
        };
        let arguments = JoinArgs {
            coalesce: JoinCoalesce::KeepColumns,
            ..JoinArgs::new(how)
        };
        let pairs = left_frame
            .clone()
            .join(right_frame, left_on, right_on, arguments);
        let (template, descending) = match nearest.1 {
            BinaryOperator::Gt => ("_0 > _1", true),
            BinaryOperator::GtEq => ("_0 >= _1", true),
            BinaryOperator::Lt => ("_0 < _1", false),
            _ => ("_0 <= _1", false),
        };
        let condition = expression(template, vec![column(&near_left), column(&near_right)]);
        let pairs = self.engine.filter_rows(pairs, &condition)?;
        let by = Selector::ByName {
            names: [PlSmallStr::from(number.as_str())].into(),
            strict: true,
        };
        let options = SortMultipleOptions::default()
            .with_order_descending(descending)
            .with_maintain_order(true);
        let nearest = pairs
            .sort_by_exprs([col(near_right.as_str())], options)
            .unique_stable(Some(by), UniqueKeepStrategy::First);
        joined.frame = if conditions.keeps_left {
            let shown = right
                .relations
                .iter()
                .flat_map(|relation| &relation.columns)
                .map(|column| col(column.inner.as_str()));
            let found = nearest.select(
                std::iter::once(col(number.as_str()))
                    .chain(shown)
                    .collect::<Vec<_>>(),
            );
            let arguments = JoinArgs {
                maintain_order: MaintainOrderJoin::Left,
                ..JoinArgs::new(JoinType::Left)
            };
            let key = || vec![col(number.as_str())];
            joined
                .frame
                .clone()
                .with_row_index(number.as_str(), None)
                .join(found, key(), key(), arguments)
        } else {
            nearest.sort_by_exprs([col(number.as_str())], SortMultipleOptions::default())
        };
        joined.relations.extend(right.relations);
        Ok(())
    }

    /// The rows of both sides in their order; the shorter side is filled with nulls.
    fn join_by_position(&self, joined: &mut JoinedFrame, right: JoinedFrame) {
        let number = self.engine.unique("__row");
        let key = || vec![col(number.as_str())];
        let arguments = JoinArgs {
            coalesce: JoinCoalesce::CoalesceColumns,
            ..JoinArgs::new(JoinType::Full)
        };
        let left = joined.frame.clone().with_row_index(number.as_str(), None);
        let right_frame = right.frame.with_row_index(number.as_str(), None);
        joined.frame = left
            .join(right_frame, key(), key(), arguments)
            .sort_by_exprs(key(), SortMultipleOptions::default());
        joined.relations.extend(right.relations);
    }

    fn refuse_asof(&self, what: &str, span: Span) -> Error {
        let error = Error::usage(format!("an ASOF join {what}"));
        self.source
            .locate(error.hint("ASOF JOIN b ON a.k = b.k AND a.t >= b.t"), span)
    }

    /// Renames columns of the right side that the left side also has.
    fn keep_apart(&self, left: &JoinedFrame, right: &mut JoinedFrame) {
        let mut used = left.names();
        if !right.names().iter().any(|name| used.contains(name)) {
            return;
        }
        let mut shown = Vec::new();
        for relation in &mut right.relations {
            for column in &mut relation.columns {
                let mut inner = column.inner.clone();
                while used.contains(&inner) {
                    inner = self
                        .engine
                        .unique(&format!("{}.{}", relation.alias, column.name));
                }
                used.insert(inner.clone());
                shown.push(col(column.inner.as_str()).alias(inner.as_str()));
                column.inner = inner;
            }
        }
        right.frame = right.frame.clone().select(shown);
    }

    /// Columns of both sides (USING, NATURAL), which unqualified names find once.
    fn pair_shared_columns(
        &self,
        left: &mut JoinedFrame,
        right: &mut JoinedFrame,
        kind: JoinKind,
        names: Vec<(String, Span)>,
    ) -> Result<Vec<(String, String)>> {
        let mut pairs = Vec::new();
        for (name, span) in names {
            let hide_left = kind == JoinKind::Right;
            match (
                find_shared_column(left, &name, hide_left),
                find_shared_column(right, &name, !hide_left),
            ) {
                (Some(one), Some(other)) => pairs.push((one, other)),
                _ => {
                    let error = Error::usage(format!("{name} is not a column of both tables"));
                    return Err(self
                        .source
                        .locate(error.hint("join by a condition: ON a.id = b.key"), span));
                }
            }
        }
        Ok(pairs)
    }

    /// Adds computed join keys as columns.
    fn keys(&self, frame: LazyFrame, sides: &[Expr]) -> Result<(LazyFrame, Vec<EngineExpr>)> {
        let mut computed = Vec::new();
        let mut on = Vec::with_capacity(sides.len());
        for side in sides {
            match strip_parentheses(side) {
                Expr::Identifier(ident) => on.push(col(ident.value.as_str())),
                other => {
                    let name = self.engine.unique("__join");
                    computed.push((other.clone(), name.clone()));
                    on.push(col(name.as_str()));
                }
            }
        }
        Ok((self.engine.add_columns(frame, &computed)?, on))
    }

    /// The keys of both sides of a join in types that are equal: numbers are compared as numbers,
    /// and days as times.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for types that can't be compared.
    pub(super) fn of_one_type(
        &self,
        left: &mut LazyFrame,
        left_on: Vec<EngineExpr>,
        right: &mut LazyFrame,
        right_on: Vec<EngineExpr>,
        span: Span,
    ) -> Result<(Vec<EngineExpr>, Vec<EngineExpr>)> {
        let (of_left, of_right) = (
            left.collect_schema()
                .map_err(|error| engine_error(&error))?,
            right
                .collect_schema()
                .map_err(|error| engine_error(&error))?,
        );
        let mut keys = (
            Vec::with_capacity(left_on.len()),
            Vec::with_capacity(right_on.len()),
        );
        for (left, right) in left_on.into_iter().zip(right_on) {
            let dtype = |side: &EngineExpr, schema: &Schema| {
                side.to_field(schema).map(|field| field.dtype().clone())
            };
            let dtypes =
                dtype(&left, &of_left).and_then(|one| Ok((one, dtype(&right, &of_right)?)));
            let (one, other) = dtypes.map_err(|error| engine_error(&error))?;
            let common = match (&one, &other) {
                (one, other) if one == other => None,
                // A key of no type is null, and matches no value of the other side.
                (one, other) if one.is_null() => Some(other.clone()),
                (one, other) if other.is_null() => Some(one.clone()),
                (one, other) if one.is_unsigned_integer() && other.is_unsigned_integer() => {
                    Some(DataType::UInt64)
                }
                // No type of the engine that joins holds both; the texts of equal numbers are
                // equal.
                (one, other)
                    if one.is_integer()
                        && other.is_integer()
                        && [one, other].contains(&&DataType::UInt64) =>
                {
                    Some(DataType::String)
                }
                (one, other) if one.is_integer() && other.is_integer() => Some(DataType::Int64),
                (one, other) if one.is_primitive_numeric() && other.is_primitive_numeric() => {
                    Some(DataType::Float64)
                }
                (one, other)
                    if [one, other]
                        .iter()
                        .all(|dtype| dtype.is_primitive_numeric() || dtype.is_decimal()) =>
                {
                    type_of_compared_decimals([one, other])
                }
                (
                    DataType::Date | DataType::Datetime(..),
                    DataType::Date | DataType::Datetime(..),
                ) => Some(DataType::Datetime(TimeUnit::Microseconds, None)),
                (
                    DataType::String | DataType::Categorical(..),
                    DataType::String | DataType::Categorical(..),
                ) => Some(DataType::String),
                _ => {
                    let (one, other) = (type_name(&one), type_name(&other));
                    let error = Error::usage(format!(
                        "values of the types {one} and {other} can't be compared"
                    ));
                    return Err(self
                        .source
                        .locate(error.hint("convert one of them: CAST(x AS VARCHAR)"), span));
                }
            };
            keys.0.push(cast_key(left, common.as_ref()));
            keys.1.push(cast_key(right, common.as_ref()));
        }
        Ok(keys)
    }
}
