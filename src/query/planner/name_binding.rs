//! Binds names in expressions to columns of the frame; subqueries are replaced by columns that are
//! joined to it.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, DictionaryField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgOperator, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident,
    OneOrManyWithParens, OrderByKind, Query, SelectItem, SetExpr, Spanned, Subscript, TableFactor,
    VisitorMut,
};
use sqlparser::tokenizer::Span;

use super::context::{Ctes, Planner};
use super::subquery_rewrite::Attached;
use crate::error::{Error, Result};
use crate::query::advice;
use crate::query::duckdb_semantics::{
    column, expression, is_generated, literal, name_of, strip_parentheses,
};
use crate::query::engine::contains_column;
use crate::query::function_names::LAMBDA_FUNCTIONS;
use crate::query::grouping::parameter_names;
use crate::query::scope::{NameLookup, SelectScope};
use crate::query::syntax_walk::{visit_expressions, walk_tree_mut};
use crate::query::token_spellings::POSITION;

/// Maximum bytes of expressions substituted for aliases.
const UNFOLDED_MAX: usize = 1 << 20;

/// Binds expressions of one SELECT.
pub(super) struct Binder<'b, 'a> {
    pub planner: &'b Planner<'a>,
    pub scope: &'b SelectScope<'b>,
    pub ctes: &'b Ctes,
    /// Aliases of the SELECT list and their expressions.
    pub aliases: &'b [(String, Expr)],
    /// Results of subqueries, to join to the frame before the expressions are evaluated.
    pub attached: Vec<(String, Attached)>,
    /// True when a column of the frame was bound.
    pub looked_inside: bool,
    /// Set when a column of the enclosing SELECT was bound.
    pub looked_outside: Option<Span>,
    /// Replacement expressions of subqueries, by placeholder column, until visited.
    answers: HashMap<String, Expr>,
    /// Parameters of the enclosing lambdas.
    parameters: Vec<Vec<String>>,
}

impl<'b, 'a> Binder<'b, 'a> {
    pub fn new(
        planner: &'b Planner<'a>,
        scope: &'b SelectScope<'b>,
        ctes: &'b Ctes,
        aliases: &'b [(String, Expr)],
    ) -> Self {
        Self {
            planner,
            scope,
            ctes,
            aliases,
            attached: Vec::new(),
            looked_inside: false,
            looked_outside: None,
            answers: HashMap::new(),
            parameters: Vec::new(),
        }
    }

    /// Binds an expression to columns of the frame.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown and ambiguous names, with position and similar
    /// names, and for subqueries that can't be joined.
    pub fn bind(&mut self, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        match walk_tree_mut(&mut expr, self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(expr),
        }
    }

    /// As [`Binder::bind`], for expressions that may use only this SELECT's own tables.
    ///
    /// # Errors
    /// As [`Binder::bind`]; [`crate::error::Kind::Usage`] for a column of the enclosing SELECT.
    pub fn bind_inside(&mut self, expr: &Expr) -> Result<Expr> {
        let before = self.looked_outside.take();
        let bound = self.bind(expr)?;
        if let Some(span) = self.looked_outside {
            let hint = "join the tables: SELECT a.id FROM data AS a JOIN data AS b ON a.k = b.k \
                WHERE a.n < b.n";
            let error =
                Error::usage("this part of the query can't use a column of the query around it")
                    .hint(hint);
            return Err(self.planner.source.locate(error, span));
        }
        self.looked_outside = before;
        Ok(bound)
    }

    fn name(&mut self, parts: &[Ident]) -> Result<Expr> {
        let span = parts
            .iter()
            .map(|part| part.span)
            .fold(Span::empty(), |all, span| all.union(&span));
        if let [first, fields @ ..] = parts
            && self
                .parameters
                .iter()
                .flatten()
                .any(|parameter| *parameter == first.value)
        {
            return Ok(field_within(Expr::Identifier(first.clone()), fields));
        }
        match self.scope.find(parts) {
            NameLookup::Column { inner, parts: used } => {
                self.looked_inside = true;
                return Ok(path(inner, &parts[used..], span));
            }
            NameLookup::Ambiguous(written) => {
                let name = parts
                    .iter()
                    .map(|part| part.value.as_str())
                    .collect::<Vec<_>>()
                    .join(".");
                let error = Error::usage(format!("{name} is a column of several tables"));
                return Err(self
                    .planner
                    .source
                    .locate(error.hint(format!("write {}", written.join(" or "))), span));
            }
            NameLookup::Nothing => {}
        }
        if let [only] = parts
            && let Some((_, expr)) = self
                .aliases
                .iter()
                .find(|(alias, _)| alias.eq_ignore_ascii_case(&only.value))
        {
            let expr = expr.clone();
            self.planner.unfold(expr.to_string().len(), UNFOLDED_MAX)?;
            return Ok(Expr::Nested(Box::new(self.bind(&expr)?)));
        }
        if let Some(NameLookup::Column { inner, parts: used }) =
            self.scope.outer.map(|outer| outer.find(parts))
        {
            if let Some((_, here)) = self.scope.around.iter().find(|(there, _)| *there == inner) {
                self.looked_inside = true;
                return Ok(path(here.clone(), &parts[used..], Span::empty()));
            }
            self.looked_outside = Some(span);
            return Ok(path(inner, &parts[used..], span));
        }
        if let [only] = parts
            && let Some(row) = self.row_of_table(&only.value)
        {
            return Ok(row);
        }
        Err(self.unknown_column_error(parts, span))
    }

    /// The row of a table as a struct, which has the name of the table.
    fn row_of_table(&mut self, name: &str) -> Option<Expr> {
        let mut relations = self.scope.relations.iter();
        let table = relations.find(|relation| relation.alias.eq_ignore_ascii_case(name))?;
        let fields = table.columns.iter().map(|found| DictionaryField {
            key: Ident::with_quote('\'', found.name.as_str()),
            value: Box::new(column(&found.inner)),
        });
        self.looked_inside = true;
        Some(Expr::Dictionary(fields.collect()))
    }

    fn unknown_column_error(&self, parts: &[Ident], span: Span) -> Error {
        let planner = self.planner;
        let name = parts
            .iter()
            .map(|part| part.value.as_str())
            .collect::<Vec<_>>()
            .join(".");
        let bare = parts.last().map_or("", |part| part.value.as_str());
        let all = planner
            .columns
            .iter()
            .flat_map(|(_, columns)| columns.iter().map(String::as_str));
        let own = self
            .scope
            .relations
            .iter()
            .flat_map(|relation| relation.columns.iter().map(|column| column.name.as_str()));
        let near = advice::near(bare, all.chain(own));
        let mut error = Error::usage(format!("there is no column {name}"));
        if !near.is_empty() {
            let quoted: Vec<String> = near.iter().map(|name| format!("\"{name}\"")).collect();
            error = error.hint(format!("did you mean {}?", quoted.join(" or ")));
        }
        let holders: Vec<&str> = planner
            .columns
            .iter()
            .filter(|(_, c)| c.iter().any(|c| c == bare))
            .map(|(table, _)| table.as_str())
            .collect();
        if !holders.is_empty() {
            error = error.hint(format!("the column is in {}", holders.join(", ")));
        }
        let is_column = |name: &str| contains_column(planner.columns, name);
        let error = advice::of_statement(planner.tokens, &is_column)
            .into_iter()
            .fold(error, Error::hint);
        planner
            .source
            .locate(error.hint("DESCRIBE data lists the columns"), span)
    }

    fn subquery(&mut self, expr: &mut Expr) -> Result<()> {
        let (attached, answer) = match expr {
            Expr::Subquery(query) => self.planner.scalar_subquery(query, self.ctes, self.scope)?,
            Expr::Exists { subquery, negated } => self
                .planner
                .exists(subquery, *negated, self.ctes, self.scope)?,
            Expr::InSubquery {
                expr: value,
                subquery,
                negated,
            } => {
                let value = self.bind(value)?;
                self.planner
                    .in_subquery(value, subquery, *negated, self.ctes, self.scope)?
            }
            _ => return Ok(()),
        };
        self.attached.extend(attached);
        let name = self.planner.engine.unique("__answer");
        self.answers.insert(name.clone(), answer);
        *expr = column(&name);
        Ok(())
    }

    fn enter_expression(&mut self, expr: &mut Expr) -> Result<()> {
        match expr {
            // `x = ANY (SELECT …)` is `x IN (SELECT …)`; `x <> ALL (SELECT …)` is `x NOT IN` of it.
            Expr::AnyOp {
                left,
                compare_op: compare_op @ BinaryOperator::Eq,
                right,
                ..
            }
            | Expr::AllOp {
                left,
                compare_op: compare_op @ BinaryOperator::NotEq,
                right,
            } if matches!(right.as_ref(), Expr::Subquery(_)) => {
                let Expr::Subquery(subquery) = right.as_ref().clone() else {
                    return Ok(());
                };
                *expr = Expr::InSubquery {
                    expr: left.clone(),
                    subquery,
                    negated: *compare_op == BinaryOperator::NotEq,
                };
                self.subquery(expr)
            }
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => {
                if let Expr::Subquery(query) = right.as_ref() {
                    *expr = compared_with_any(left, compare_op, query);
                }
                Ok(())
            }
            // All rows are so, unless any row is not.
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => {
                if let (Expr::Subquery(query), Some(opposite)) =
                    (right.as_ref(), negate_comparison(compare_op))
                {
                    *expr = expression("(NOT _0)", vec![compared_with_any(left, &opposite, query)]);
                }
                Ok(())
            }
            Expr::InSubquery {
                expr: value,
                subquery,
                negated,
            } if matches!(strip_parentheses(value), Expr::Tuple(_)) => {
                let Expr::Tuple(parts) = strip_parentheses(value) else {
                    return Ok(());
                };
                if *negated {
                    let hint =
                        "write NOT EXISTS (SELECT 1 FROM data AS d WHERE d.a = x AND d.b = y)";
                    let error =
                        Error::usage("several columns can't be NOT IN a subquery").hint(hint);
                    return Err(self.planner.source.locate(error, subquery.span()));
                }
                *expr = row_is_in(parts, subquery);
                self.subquery(expr)
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                self.subquery(expr)
            }
            Expr::Function(Function {
                name,
                args: FunctionArguments::Subquery(query),
                ..
            }) if name.to_string().eq_ignore_ascii_case("array") => {
                let rows = list_of_rows(query).unwrap_or_else(|| {
                    over_rows(
                        "(SELECT list(\"__value\") FROM (SELECT 1) AS \"__any\"(\"__value\"))",
                        query,
                    )
                });
                *expr = expression("list_concat(_0, NULL)", vec![rows]);
                Ok(())
            }
            Expr::Function(function) if name_of(function) == POSITION => {
                let Some(found) = self.scope.column_at(function) else {
                    let error = Error::usage("FROM has no column of this number")
                        .hint("SELECT #1 FROM data is the first column");
                    return Err(self.planner.source.locate(error, function.name.span()));
                };
                self.looked_inside = true;
                *expr = column(&found.inner);
                Ok(())
            }
            Expr::Function(function) => {
                if name_of(function) == "struct_pack" {
                    name_packed_columns(function);
                }
                self.parameters.extend(lambda_parameters(function));
                Ok(())
            }
            // A struct field is not a column.
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Dot(Expr::Identifier(field)) = access {
                        *access = AccessExpr::Subscript(Subscript::Index {
                            index: literal(&field.value),
                        });
                    }
                }
                Ok(())
            }
            // Only list functions take lambdas; elsewhere the arrow accesses a struct field.
            Expr::Lambda(lambda) => {
                if let OneOrManyWithParens::One(parameter) = &lambda.params
                    && !self
                        .parameters
                        .iter()
                        .flatten()
                        .any(|known| *known == parameter.name.value)
                {
                    let arguments = vec![
                        Expr::Identifier(parameter.name.clone()),
                        lambda.body.as_ref().clone(),
                    ];
                    *expr = expression("(_0 -> _1)", arguments);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn leave_expression(&mut self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Identifier(ident) if is_generated(ident) => {
                match self.answers.get(&ident.value) {
                    Some(answer) => *expr = answer.clone(),
                    None => self.looked_inside = true,
                }
                Ok(())
            }
            Expr::Identifier(ident) => {
                *expr = self.name(std::slice::from_ref(ident))?;
                Ok(())
            }
            Expr::CompoundIdentifier(parts) => {
                let parts = parts.clone();
                *expr = self.name(&parts)?;
                Ok(())
            }
            Expr::Function(function) => {
                if lambda_parameters(function).is_some() {
                    self.parameters.pop();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The comparison that is false where `op` is true, and true where it is false.
fn negate_comparison(op: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match op {
        BinaryOperator::Eq => BinaryOperator::NotEq,
        BinaryOperator::NotEq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::GtEq,
        BinaryOperator::LtEq => BinaryOperator::Gt,
        BinaryOperator::Gt => BinaryOperator::LtEq,
        BinaryOperator::GtEq => BinaryOperator::Lt,
        _ => return None,
    })
}

/// A comparison with any row of a subquery of one column, by its least and greatest value. It is
/// null where no row makes it true and the value or a row is null.
fn compared_with_any(value: &Expr, op: &BinaryOperator, query: &Query) -> Expr {
    if *op == BinaryOperator::Eq {
        return Expr::InSubquery {
            expr: Box::new(value.clone()),
            subquery: Box::new(query.clone()),
            negated: false,
        };
    }
    let met = match op {
        BinaryOperator::NotEq => "_0 <> _3 OR _0 <> _4",
        BinaryOperator::Lt => "_0 < _4",
        BinaryOperator::LtEq => "_0 <= _4",
        BinaryOperator::Gt => "_0 > _3",
        _ => "_0 >= _3",
    };
    let template = format!(
        "CASE WHEN _1 = 0 THEN FALSE WHEN {met} THEN TRUE WHEN _0 IS NULL OR _2 < _1 THEN NULL \
            ELSE FALSE END"
    );
    let of = |aggregate: &str| aggregate_subquery(aggregate, query);
    let all = [
        "count(*)",
        "count(\"__value\")",
        "min(\"__value\")",
        "max(\"__value\")",
    ]
    .map(of);
    expression(
        &template,
        std::iter::once(value.clone()).chain(all).collect(),
    )
}

/// An aggregate of the column of a subquery, which is named `__value`.
fn aggregate_subquery(aggregate: &str, query: &Query) -> Expr {
    over_rows(
        &format!("(SELECT {aggregate} FROM (SELECT 1) AS \"__any\"(\"__value\"))"),
        query,
    )
}

/// True for rows of a subquery whose columns equal these values.
fn row_is_in(values: &[Expr], query: &Query) -> Expr {
    let names: Vec<String> = (0..values.len())
        .map(|at| format!("\"__value{at}\""))
        .collect();
    let equal: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| format!("{name} = _{at}"))
        .collect();
    let template = format!(
        "EXISTS (SELECT 1 FROM (SELECT 1) AS \"__any\"({}) WHERE {})",
        names.join(", "),
        equal.join(" AND ")
    );
    over_rows_with(&template, values.to_vec(), query)
}

fn over_rows(template: &str, query: &Query) -> Expr {
    over_rows_with(template, Vec::new(), query)
}

/// A subquery of one column as one of a list, which may use columns of the query around it; `None`
/// for groups, limits and sets.
fn list_of_rows(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_slice()
    else {
        return None;
    };
    let is_grouped = !matches!(
        &select.group_by,
        GroupByExpr::Expressions(keys, modifiers) if keys.is_empty() && modifiers.is_empty()
    );
    let is_plain = query.with.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && !is_grouped
        && !has_call(value);
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        None => Vec::new(),
        Some(OrderByKind::Expressions(keys)) => keys.clone(),
        Some(OrderByKind::All(_)) => return None,
    };
    let has_numbers = order.iter().any(|key| matches!(key.expr, Expr::Value(_)));
    if !is_plain || has_numbers {
        return None;
    }
    let mut order = order;
    if let SelectItem::ExprWithAlias { alias, .. } = &select.projection[0] {
        for key in &mut order {
            match &key.expr {
                Expr::Identifier(name) if name.value.eq_ignore_ascii_case(&alias.value) => {
                    key.expr = value.clone();
                }
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {}
                // The alias may be within it.
                _ => return None,
            }
        }
    }
    let mut list = expression("list(_0)", vec![value.clone()]);
    if let Expr::Function(function) = &mut list
        && let FunctionArguments::List(arguments) = &mut function.args
        && !order.is_empty()
    {
        arguments.clauses = vec![FunctionArgumentClause::OrderBy(order)];
    }
    let mut rows = query.clone();
    rows.order_by = None;
    if let SetExpr::Select(select) = rows.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(list)];
    }
    Some(Expr::Subquery(Box::new(rows)))
}

/// True for an expression with a call, which may be an aggregate or a window.
fn has_call(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Function(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// A template whose derived table is a subquery.
fn over_rows_with(template: &str, values: Vec<Expr>, query: &Query) -> Expr {
    let mut expr = expression(template, values);
    let body = match &mut expr {
        Expr::Subquery(made) | Expr::Exists { subquery: made, .. } => made.body.as_mut(),
        _ => return expr,
    };
    if let SetExpr::Select(select) = body
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|table| &mut table.relation)
    {
        **subquery = query.clone();
    }
    expr
}

/// Gives the columns in `struct_pack(id, river)` their names as those of fields.
fn name_packed_columns(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    for argument in &mut list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = &*argument else {
            continue;
        };
        let name = match value {
            Expr::Identifier(name) => Some(name.clone()),
            Expr::CompoundIdentifier(parts) => parts.last().cloned(),
            _ => None,
        };
        if let Some(name) = name {
            *argument = FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value.clone()),
                operator: FunctionArgOperator::Assignment,
            };
        }
    }
}

/// Parameters of the lambda of a list function; `None` for other functions.
fn lambda_parameters(function: &Function) -> Option<Vec<String>> {
    if !LAMBDA_FUNCTIONS.contains(&name_of(function).as_str()) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.get(1) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Lambda(lambda)))) => {
            Some(parameter_names(lambda))
        }
        _ => None,
    }
}

/// A column, or a struct field within it.
fn path(inner: String, fields: &[Ident], span: Span) -> Expr {
    let column = Expr::Identifier(Ident {
        value: inner,
        quote_style: Some('"'),
        span,
    });
    field_within(column, fields)
}

fn field_within(value: Expr, fields: &[Ident]) -> Expr {
    fields.iter().fold(value, |value, field| {
        expression("(_0 -> _1)", vec![value, literal(&field.value)])
    })
}

impl VisitorMut for Binder<'_, '_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.enter_expression(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.leave_expression(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}
