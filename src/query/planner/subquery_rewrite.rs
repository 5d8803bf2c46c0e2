//! Rewrites subqueries in expressions as joins: an uncorrelated one as a single row for all rows, a
//! correlated one as a lookup by key: by the columns of its equalities, and by the other columns
//! around it that it uses.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SetExpr, Spanned, Value,
};
use sqlparser::tokenizer::Span;

use super::context::{Ctes, PlannedQuery, Planner};
use crate::error::{Error, Result};
use crate::query::duckdb_semantics::{column, expression, name_of};
use crate::query::engine::EngineExpr;
use crate::query::engine_errors::refusal;
use crate::query::nested_values::keep_first_field;
use crate::query::scan::fault;
use crate::query::scope::SelectScope;
use crate::query::token_spellings::POSITION;

/// Result of a subquery, joined to the frame before the expression is evaluated.
#[derive(Clone)]
pub(super) enum Attached {
    /// One row for all rows of the frame.
    One(LazyFrame),
    /// At most one row per key. `keys` pairs an expression over the frame with the column that it
    /// equals.
    ByKey {
        rows: LazyFrame,
        keys: Vec<(Expr, String)>,
    },
}

impl Attached {
    /// True when one of these expression texts uses the joined column.
    pub fn is_used(&self, column: &str, texts: &[String]) -> bool {
        texts
            .iter()
            .any(|text| text.contains(&format!("\"{column}\"")))
    }
}

type SubqueryAnswer = (Vec<(String, Attached)>, Expr);

impl Planner<'_> {
    /// Rewrites a scalar subquery.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for several columns. Several rows are an error at run time.
    pub(super) fn scalar_subquery(
        &self,
        query: &Query,
        ctes: &Ctes,
        scope: &SelectScope,
    ) -> Result<SubqueryAnswer> {
        let planned = self.query(query, ctes, Some(scope))?;
        let name = self.only_column(&planned, query.span())?;
        let value = self.engine.unique("__sub");
        let single = select_single_value(&name, &value);
        if planned.keys.is_empty() {
            let one = planned.frame.limit(2).select([single]);
            return Ok((vec![(value.clone(), Attached::One(one))], column(&value)));
        }
        let names: Vec<_> = planned
            .key_names
            .iter()
            .map(|name| col(name.as_str()))
            .collect();
        let found = self.engine.unique("__sub");
        let rows = planned
            .frame
            .group_by(names)
            .agg([single])
            .with_column(lit(true).alias(found.as_str()));
        let mut attached = vec![(
            value.clone(),
            Attached::ByKey {
                rows,
                keys: planned.keys,
            },
        )];
        if !planned.is_one_group {
            return Ok((attached, column(&value)));
        }
        // The aggregates of no rows, as `count`, are those of all keys that have none.
        let none = self.engine.unique("__sub");
        let empty = self.query(&without_rows(query), ctes, Some(scope))?;
        let name = self.only_column(&empty, query.span())?;
        if !empty.keys.is_empty() {
            let error = Error::usage(
                "an aggregate of a subquery is not allowed beside a column of the query around it",
            );
            let hint = "compute with the column outside: (SELECT count(*) FROM level1 AS b WHERE \
                b.k = a.k) + a.n";
            return Err(self.source.locate(error.hint(hint), query.span()));
        }
        let one = empty
            .frame
            .limit(2)
            .select([select_single_value(&name, &none)]);
        attached.push((none.clone(), Attached::One(one)));
        let answer = expression(
            "CASE WHEN _0 THEN _1 ELSE _2 END",
            vec![column(&found), column(&value), column(&none)],
        );
        Ok((attached, answer))
    }

    /// Rewrites EXISTS.
    ///
    /// # Errors
    /// Those of planning the subquery.
    pub(super) fn exists(
        &self,
        query: &Query,
        negated: bool,
        ctes: &Ctes,
        scope: &SelectScope,
    ) -> Result<SubqueryAnswer> {
        let mut query = query.clone();
        query.order_by = None;
        let planned = self.query(&query, ctes, Some(scope))?;
        if planned.is_one_group && !planned.keys.is_empty() {
            // Each key has a row, also without rows.
            let has_having =
                matches!(query.body.as_ref(), SetExpr::Select(select) if select.having.is_some());
            if !has_having {
                return Ok((Vec::new(), Expr::value(Value::Boolean(!negated))));
            }
            let error =
                Error::usage("EXISTS can't look at the rows around it with aggregates and HAVING");
            return Err(self.source.locate(
                error.hint("compare with the aggregate: (SELECT count(*) FROM …) > 2"),
                query.span(),
            ));
        }
        let value = self.engine.unique("__sub");
        let attached = self.plan_match_column(planned, &value);
        let answer = expression(
            if negated {
                "(_0 IS NULL)"
            } else {
                "(_0 IS NOT NULL)"
            },
            vec![column(&value)],
        );
        Ok((vec![(value, attached)], answer))
    }

    /// A column that is true for rows with a match in the subquery, null for others.
    fn plan_match_column(&self, planned: PlannedQuery, value: &str) -> Attached {
        if planned.keys.is_empty() {
            let any = when(len().gt(lit(0)))
                .then(lit(true))
                .otherwise(lit(NULL).cast(DataType::Boolean));
            return Attached::One(planned.frame.limit(1).select([any.alias(value)]));
        }
        let names: Vec<EngineExpr> = planned
            .key_names
            .iter()
            .map(|name| col(name.as_str()))
            .collect();
        let rows = planned
            .frame
            .select(names)
            .unique(None, UniqueKeepStrategy::Any)
            .with_column(lit(true).alias(value));
        Attached::ByKey {
            rows,
            keys: planned.keys,
        }
    }

    /// Rewrites IN (SELECT …): null when the value is not found and the value or a subquery row is
    /// null; false for an empty subquery.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a subquery of several columns.
    pub(super) fn in_subquery(
        &self,
        value: Expr,
        query: &Query,
        negated: bool,
        ctes: &Ctes,
        scope: &SelectScope,
    ) -> Result<SubqueryAnswer> {
        let planned = self.query(query, ctes, Some(scope))?;
        let name = self.only_column(&planned, query.span())?;
        if planned.is_one_group && !planned.keys.is_empty() {
            // Aggregates without GROUP BY are one row for each key.
            let (attached, answer) = self.scalar_subquery(query, ctes, scope)?;
            let template = if negated { "(_0 <> _1)" } else { "(_0 = _1)" };
            return Ok((attached, expression(template, vec![value, answer])));
        }
        let (member, unknown) = (self.engine.unique("__sub"), self.engine.unique("__sub"));
        let keys: Vec<EngineExpr> = planned
            .key_names
            .iter()
            .map(|name| col(name.as_str()))
            .collect();
        // One row per key: true if the subquery has a null.
        let has_null = col(name.as_str())
            .is_null()
            .any(true)
            .alias(unknown.as_str());
        let groups = if keys.is_empty() {
            let some = when(len().gt(lit(0)))
                .then(has_null)
                .otherwise(lit(NULL).cast(DataType::Boolean));
            Attached::One(planned.frame.clone().select([some.alias(unknown.as_str())]))
        } else {
            let rows = planned.frame.clone().group_by(keys.clone()).agg([has_null]);
            Attached::ByKey {
                rows,
                keys: planned.keys.clone(),
            }
        };
        let own = self.engine.unique("__key_in");
        let mut columns = keys;
        columns.push(col(name.as_str()).alias(own.as_str()));
        let members = planned
            .frame
            .filter(col(name.as_str()).is_not_null())
            .select(columns);
        let rows = members
            .unique(None, UniqueKeepStrategy::Any)
            .with_column(lit(true).alias(member.as_str()));
        let mut by = planned.keys;
        by.push((value.clone(), own));
        let members = Attached::ByKey { rows, keys: by };
        let is_in = expression(
            "CASE WHEN _0 THEN TRUE WHEN _1 IS NULL THEN FALSE WHEN _1 OR _2 IS NULL THEN NULL \
                ELSE FALSE END",
            vec![column(&member), column(&unknown), value],
        );
        let answer = if negated {
            expression(
                "(NOT _0)",
                vec![expression("CAST(_0 AS BOOLEAN)", vec![is_in])],
            )
        } else {
            is_in
        };
        Ok((vec![(unknown, groups), (member, members)], answer))
    }

    fn only_column(&self, planned: &PlannedQuery, span: Span) -> Result<String> {
        match planned.names.as_slice() {
            [only] => Ok(only.clone()),
            several => {
                let error = Error::usage(format!(
                    "a scalar subquery has {} columns, not one",
                    several.len()
                ));
                Err(self.source.locate(
                    error.hint("name the one column: (SELECT max(x) FROM data)"),
                    span,
                ))
            }
        }
    }
}

/// The same query without any rows of FROM.
pub(super) fn without_rows(query: &Query) -> Query {
    let mut query = query.clone();
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.selection = Some(Expr::value(Value::Boolean(false)));
    }
    query
}

/// The only value of a column under a name.
fn select_single_value(column: &str, name: &str) -> EngineExpr {
    only_value().call(vec![col(column)]).alias(name)
}

/// The only value of a column, null for no rows; fails for several rows.
fn only_value() -> UserDefinedFunction {
    let values = |columns: &mut [Column]| take_single_value(columns);
    let mut function = UserDefinedFunction::new(
        "single".into(),
        BaseColumnUdf::new(values, keep_first_field),
    );
    function.options = FunctionOptions::aggregation();
    function
}

fn take_single_value(columns: &[Column]) -> PolarsResult<Column> {
    let [values] = columns else {
        return Err(refusal("a value is one column"));
    };
    match values.len() {
        0 => Ok(Column::full_null(values.name().clone(), 1, values.dtype())),
        1 => Ok(values.clone()),
        _ => {
            let error = Error::usage("a scalar subquery has several rows");
            Err(fault(&error.hint(
                "take one of them: (SELECT max(x) FROM data), or add LIMIT 1",
            )))
        }
    }
}

/// The number of a result column in ORDER BY: `2` or `#2`.
pub(super) fn place_of(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Function(function) if name_of(function) == POSITION => {
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(number))] => written_count(number),
                _ => None,
            }
        }
        other => written_count(other),
    }
}

/// Value of a LIMIT or OFFSET literal.
pub(super) fn written_count(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.replace('_', "").parse().ok(),
            _ => None,
        },
        Expr::Nested(inner) => written_count(inner),
        _ => None,
    }
}
