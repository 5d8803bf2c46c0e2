//! PIVOT and UNPIVOT, as SELECTs over the table that they turn: PIVOT is an aggregate with FILTER
//! for each value, UNPIVOT unnests the columns of each row. The values of a PIVOT without IN are
//! looked up when the statement is planned.

use std::ops::ControlFlow;

use polars::prelude::{
    AnyValue, DataType, LazyFrame, SortMultipleOptions, UniqueKeepStrategy, col,
};
use sqlparser::ast::{
    BinaryOperator, Expr, ExprWithAlias, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    NullInclusion, PivotValueSource, Query, Spanned, TableFactor, Value,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Span;

use super::context::{Ctes, Planner};
use super::joined_frame::JoinedFrame;
use super::name_binding::Binder;
use crate::error::{Error, Result};
use crate::query::column_names;
use crate::query::duckdb_arithmetic::apply_duckdb_arithmetic;
use crate::query::duckdb_semantics::{
    column, expression, is_aggregate, literal, name_of, strip_parentheses,
};
use crate::query::engine_errors::{engine_error, values_error};
use crate::query::scope::SelectScope;
use crate::query::select_list::list_chosen_columns;
use crate::query::sql_dialect::DuckDb;
use crate::query::syntax_walk::{visit_expressions, visit_expressions_mut};
use crate::query::token_spellings::{DESCRIBE, PIVOT, SUMMARIZE, UNPIVOT};

/// Maximum number of different values, each of which is a column.
const VALUES_MAX: usize = 1000;
/// Name of the table that is turned, in the SELECT over it.
const SOURCE: &str = "__turned";

struct Pivot {
    /// The expressions whose values become columns.
    on: Vec<Expr>,
    /// The values of a list after IN, with names of their columns.
    values: Option<Vec<ExprWithAlias>>,
    /// Aggregates, with names.
    using: Vec<ExprWithAlias>,
    /// Keys of GROUP BY; `None` for the columns that are not used otherwise.
    by: Option<Vec<Expr>>,
}

/// A value or combination of values of `on`, and the name of its columns.
struct PivotValue {
    values: Vec<Expr>,
    name: String,
}

impl Planner<'_> {
    /// A PIVOT or UNPIVOT in FROM; `None` for other factors.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for values that are not constants;
    /// [`crate::error::Kind::TooLarge`] for too many values.
    pub(super) fn plan_pivot_factor(
        &self,
        factor: &TableFactor,
        ctes: &Ctes,
    ) -> Result<Option<JoinedFrame>> {
        let span = factor.span();
        let (frame, alias) = match factor {
            TableFactor::Table {
                name,
                args: Some(args),
                alias,
                ..
            } => match name.to_string().as_str() {
                PIVOT => (self.pivot_statement(&args.args, ctes)?, alias),
                UNPIVOT => (self.unpivot_statement(&args.args, ctes)?, alias),
                DESCRIBE => (self.describe_query(&args.args, ctes)?, alias),
                SUMMARIZE => (self.summarize_query(&args.args, ctes)?, alias),
                _ => return Ok(None),
            },
            TableFactor::Pivot {
                table,
                aggregate_functions,
                value_column,
                value_source,
                default_on_null: None,
                alias,
            } => {
                let values = match value_source {
                    PivotValueSource::List(values) => Some(values.clone()),
                    PivotValueSource::Any(order) if order.is_empty() => None,
                    _ => {
                        return Err(self.source.locate(
                            Error::usage("PIVOT takes a list of values")
                                .hint("FOR split IN ('train', 'test')"),
                            span,
                        ));
                    }
                };
                let pivot = Pivot {
                    on: value_column.clone(),
                    values,
                    using: aggregate_functions.clone(),
                    by: None,
                };
                (
                    self.plan_pivot(self.relation(table, ctes)?, pivot, ctes)?,
                    alias,
                )
            }
            TableFactor::Unpivot {
                table,
                value,
                name,
                columns,
                null_inclusion,
                alias,
            } => {
                let columns = columns.iter().map(|column| column.expr.clone()).collect();
                let with_nulls = *null_inclusion == Some(NullInclusion::IncludeNulls);
                let names = [
                    name.value.clone(),
                    value.to_string().trim_matches('"').to_owned(),
                ];
                (
                    self.plan_unpivot(
                        self.relation(table, ctes)?,
                        columns,
                        names,
                        with_nulls,
                        ctes,
                    )?,
                    alias,
                )
            }
            _ => return Ok(None),
        };
        self.name_relation(frame, alias.as_ref(), "").map(Some)
    }

    /// The table of `PIVOT table ON …`, whose clauses are calls.
    fn pivot_statement(&self, clauses: &[FunctionArg], ctes: &Ctes) -> Result<LazyFrame> {
        let clauses = Clauses(clauses);
        let values = clauses.list("__in").map(|values| {
            values
                .into_iter()
                .map(|expr| ExprWithAlias { expr, alias: None })
                .collect()
        });
        let using = clauses
            .list("__using")
            .unwrap_or_default()
            .into_iter()
            .map(with_alias)
            .collect();
        let pivot = Pivot {
            on: clauses.list("__on").unwrap_or_default(),
            values,
            using,
            by: clauses.list("__by"),
        };
        self.plan_pivot(self.source_of(&clauses, ctes)?, pivot, ctes)
    }

    fn unpivot_statement(&self, clauses: &[FunctionArg], ctes: &Ctes) -> Result<LazyFrame> {
        let clauses = Clauses(clauses);
        let columns = clauses.list("__on").unwrap_or_default();
        self.plan_unpivot(
            self.source_of(&clauses, ctes)?,
            columns,
            [
                clauses.first_name("__name", "name"),
                clauses.first_name("__value", "value"),
            ],
            false,
            ctes,
        )
    }

    fn source_of(&self, clauses: &Clauses, ctes: &Ctes) -> Result<JoinedFrame> {
        match clauses.source() {
            Some(query) => self.name_relation(self.rows_of(query, ctes)?, None, ""),
            None => {
                Err(Error::usage("PIVOT has no table").hint("PIVOT data ON split USING count(*)"))
            }
        }
    }

    fn plan_pivot(&self, source: JoinedFrame, pivot: Pivot, ctes: &Ctes) -> Result<LazyFrame> {
        let using = if pivot.using.is_empty() {
            vec![ExprWithAlias {
                expr: expression("count(*)", Vec::new()),
                alias: None,
            }]
        } else {
            pivot.using
        };
        let values = match pivot.values {
            Some(values) => self.stated_values(&values)?,
            None => self.found_values(&source, &pivot.on, ctes)?,
        };
        if values.len() * using.len() > VALUES_MAX {
            let error = Error::too_large(format!("PIVOT makes more than {VALUES_MAX} columns"));
            return Err(error
                .hint("name the values that you need: PIVOT data ON split IN ('train', 'test')"));
        }
        let keys: Vec<String> = match pivot.by {
            Some(keys) => keys.iter().map(ToString::to_string).collect(),
            None => {
                let written: Vec<&Expr> = pivot
                    .on
                    .iter()
                    .chain(using.iter().map(|one| &one.expr))
                    .collect();
                let names = source
                    .relations
                    .iter()
                    .flat_map(|relation| &relation.columns)
                    .map(|found| found.name.as_str());
                names
                    .filter(|name| !written.iter().any(|expr| uses_column(expr, name)))
                    .map(|name| column(name).to_string())
                    .collect()
            }
        };
        let has_one = using.len() == 1 && using[0].alias.is_none();
        let mut shown = keys.clone();
        for value in &values {
            let equal = pivot
                .on
                .iter()
                .zip(&value.values)
                .map(|(on, value)| expression("(_0 = _1)", vec![on.clone(), value.clone()]));
            let Some(is_of_value) =
                equal.reduce(|all, one| expression("(_0 AND _1)", vec![all, one]))
            else {
                continue;
            };
            for one in &using {
                let name = match (&one.alias, has_one) {
                    (_, true) => value.name.clone(),
                    (Some(alias), _) => format!("{}_{}", value.name, alias.value),
                    (None, _) => format!(
                        "{}_{}",
                        value.name,
                        column_names::result_column_name(&one.expr)
                    ),
                };
                shown.push(format!(
                    "{} AS {}",
                    filter_aggregates(&one.expr, &is_of_value),
                    column(&name)
                ));
            }
        }
        let by = if keys.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", keys.join(", "))
        };
        self.plan_statement_over(
            source.frame,
            &format!("SELECT {} FROM {SOURCE}{by}", shown.join(", ")),
            ctes,
        )
    }

    /// The rows of a statement over a frame.
    fn plan_statement_over(&self, frame: LazyFrame, sql: &str, ctes: &Ctes) -> Result<LazyFrame> {
        let parsed = Parser::new(&DuckDb::default())
            .try_with_sql(sql)
            .and_then(|mut parser| parser.parse_query());
        let query = parsed
            .map_err(|error| Error::internal("a statement could not be made").because(error))?;
        Ok(self
            .query(&query, &ctes.with_table(SOURCE, frame), None)?
            .frame)
    }

    fn stated_values(&self, values: &[ExprWithAlias]) -> Result<Vec<PivotValue>> {
        values
            .iter()
            .map(|value| self.read_stated_value(value))
            .collect()
    }

    fn read_stated_value(&self, value: &ExprWithAlias) -> Result<PivotValue> {
        let text = match strip_parentheses(&value.expr) {
            Expr::Value(literal) => match &literal.value {
                Value::SingleQuotedString(text) => Some(text.clone()),
                Value::Number(text, _) => Some(text.clone()),
                Value::Boolean(truth) => Some(truth.to_string()),
                _ => None,
            },
            // A name is read as its text.
            Expr::Identifier(name) => Some(name.value.clone()),
            Expr::UnaryOp { .. } => Some(value.expr.to_string()),
            _ => None,
        };
        let Some(text) = text else {
            let error = Error::usage(format!("{} is not a value that PIVOT takes", value.expr));
            return Err(self.source.locate(
                error.hint("write texts and numbers: IN ('train', 'test')"),
                value.expr.span(),
            ));
        };
        let expr = if matches!(strip_parentheses(&value.expr), Expr::Identifier(_)) {
            literal(&text)
        } else {
            value.expr.clone()
        };
        Ok(PivotValue {
            values: vec![expr],
            name: value
                .alias
                .as_ref()
                .map_or(text, |alias| alias.value.clone()),
        })
    }

    /// The different values of the expressions, in their order, without nulls.
    fn found_values(
        &self,
        source: &JoinedFrame,
        on: &[Expr],
        ctes: &Ctes,
    ) -> Result<Vec<PivotValue>> {
        let scope = source.scope(None);
        let mut found: Vec<PivotValue> = vec![PivotValue {
            values: Vec::new(),
            name: String::new(),
        }];
        for expr in on {
            let name = self.engine.unique("__value");
            let bound = Binder::new(self, &scope, ctes, &[]).bind_inside(expr)?;
            let frame = self
                .engine
                .add_columns(source.frame.clone(), &[(bound, name.clone())])?;
            let key = || col(name.as_str());
            let distinct = frame
                .select([key()])
                .filter(key().is_not_null())
                .unique(None, UniqueKeepStrategy::Any);
            let texts = distinct
                .sort_by_exprs([key()], SortMultipleOptions::default())
                .limit(VALUES_MAX as u32 + 1);
            let values = apply_duckdb_arithmetic(texts)
                .and_then(LazyFrame::collect)
                .map_err(|error| values_error(&error))?;
            let values = values
                .column(&name)
                .map_err(|error| engine_error(&error))?
                .as_materialized_series()
                .clone();
            let mut next = Vec::new();
            for before in &found {
                for value in values.iter() {
                    let (expr, text) = self.literal_of(&value, expr.span())?;
                    let name = if before.values.is_empty() {
                        text
                    } else {
                        format!("{}_{text}", before.name)
                    };
                    next.push(PivotValue {
                        values: [before.values.as_slice(), &[expr]].concat(),
                        name,
                    });
                }
            }
            found = next;
            if found.len() > VALUES_MAX {
                break;
            }
        }
        Ok(found)
    }

    /// A value as a statement writes it, and its text.
    fn literal_of(&self, value: &AnyValue, span: Span) -> Result<(Expr, String)> {
        let text = match value {
            AnyValue::Boolean(truth) => truth.to_string(),
            other => other.str_value().into_owned(),
        };
        let number = || expression(&text, Vec::new());
        let written = match value.dtype() {
            DataType::String => literal(&text),
            DataType::Boolean => Expr::value(Value::Boolean(text == "true")),
            dtype if dtype.is_integer() => number(),
            DataType::Float64 | DataType::Float32 => {
                expression("CAST(_0 AS DOUBLE)", vec![literal(&text)])
            }
            DataType::Date => expression("CAST(_0 AS DATE)", vec![literal(&text)]),
            _ => {
                let error =
                    Error::usage("PIVOT takes texts, numbers and dates as names of columns");
                return Err(self.source.locate(
                    error.hint("convert the values: ON CAST(x AS VARCHAR)"),
                    span,
                ));
            }
        };
        Ok((written, text))
    }

    fn plan_unpivot(
        &self,
        source: JoinedFrame,
        columns: Vec<Expr>,
        [name, value]: [String; 2],
        with_nulls: bool,
        ctes: &Ctes,
    ) -> Result<LazyFrame> {
        let all: Vec<String> = source
            .relations
            .iter()
            .flat_map(|relation| &relation.columns)
            .map(|found| found.name.clone())
            .collect();
        let mut chosen: Vec<String> = Vec::new();
        for expr in &columns {
            match strip_parentheses(expr) {
                Expr::Identifier(ident) => match all
                    .iter()
                    .find(|name| name.eq_ignore_ascii_case(&ident.value))
                {
                    Some(known) => chosen.push(known.clone()),
                    None => {
                        let error = Error::usage(format!("there is no column {}", ident.value));
                        return Err(self
                            .source
                            .locate(error.hint("DESCRIBE data lists the columns"), ident.span));
                    }
                },
                Expr::Function(function) if name_of(function) == "columns" => {
                    let scope = SelectScope::new(source.relations.clone(), None);
                    chosen.extend(list_chosen_columns(&self.engine, expr, &scope)?);
                }
                other => {
                    let error = Error::usage(format!("{other} is not a column that UNPIVOT takes"));
                    return Err(self.source.locate(
                        error.hint("UNPIVOT data ON a, b INTO NAME n VALUE v"),
                        other.span(),
                    ));
                }
            }
        }
        let kept = all
            .iter()
            .filter(|name| !chosen.contains(name))
            .map(|name| column(name).to_string());
        let texts: Vec<String> = chosen
            .iter()
            .map(|name| literal(name).to_string())
            .collect();
        let values: Vec<String> = chosen.iter().map(|name| column(name).to_string()).collect();
        let (name, value) = (column(&name), column(&value));
        let unnested = [
            format!("unnest([{}]) AS {name}", texts.join(", ")),
            format!("unnest([{}]) AS {value}", values.join(", ")),
        ];
        let shown: Vec<String> = kept.chain(unnested).collect();
        let condition = if with_nulls {
            String::new()
        } else {
            format!(" WHERE {value} IS NOT NULL")
        };
        let sql = format!(
            "SELECT * FROM (SELECT {} FROM {SOURCE}) AS u{condition}",
            shown.join(", ")
        );
        self.plan_statement_over(source.frame, &sql, ctes)
    }
}

/// The clauses of a PIVOT or UNPIVOT statement, as arguments.
struct Clauses<'a>(&'a [FunctionArg]);

impl Clauses<'_> {
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.0.iter().filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
    }

    fn source(&self) -> Option<&Query> {
        self.exprs().find_map(|expr| match strip_parentheses(expr) {
            Expr::Subquery(query) => Some(query.as_ref()),
            _ => None,
        })
    }

    /// The first name in the call of this name, or the usual one.
    fn first_name(&self, clause: &str, usual: &str) -> String {
        let given = self.list(clause).and_then(|names| {
            names
                .first()
                .map(|name| name.to_string().trim_matches('"').to_owned())
        });
        given.unwrap_or_else(|| usual.to_owned())
    }

    /// The arguments of the call of this name.
    fn list(&self, name: &str) -> Option<Vec<Expr>> {
        let call = self.exprs().find_map(|expr| match expr {
            Expr::Function(function) if name_of(function) == name => Some(function),
            _ => None,
        })?;
        let FunctionArguments::List(list) = &call.args else {
            return None;
        };
        let exprs = list.args.iter().filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        });
        Some(exprs.collect())
    }
}

/// An aggregate with its name, which is the second argument of a call.
fn with_alias(expr: Expr) -> ExprWithAlias {
    if let Expr::Function(function) = &expr
        && name_of(function) == "__as"
        && let FunctionArguments::List(list) = &function.args
        && let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name))),
        ] = list.args.as_slice()
        && let Value::SingleQuotedString(text) = &name.value
    {
        return ExprWithAlias {
            expr: value.clone(),
            alias: Some(Ident::with_quote('"', text.as_str())),
        };
    }
    ExprWithAlias { expr, alias: None }
}

/// True when an expression names the column.
fn uses_column(expr: &Expr, name: &str) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case(name) => ControlFlow::Break(()),
        Expr::CompoundIdentifier(parts)
            if parts
                .last()
                .is_some_and(|ident| ident.value.eq_ignore_ascii_case(name)) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The expression with its aggregates over the rows that meet a condition.
fn filter_aggregates(expr: &Expr, condition: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = visit_expressions_mut(&mut expr, |part| {
        if let Expr::Function(function) = part
            && is_aggregate(function)
        {
            let all = match function.filter.take() {
                Some(filter) => Expr::BinaryOp {
                    left: filter,
                    op: BinaryOperator::And,
                    right: Box::new(condition.clone()),
                },
                None => condition.clone(),
            };
            function.filter = Some(Box::new(all));
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}
