//! GROUP BY and aggregates of one SELECT: expressions over rows become expressions over groups.

use std::collections::HashMap;
use std::ops::ControlFlow;

use polars::prelude::LazyFrame;
use sqlparser::ast::{Expr, Function, Ident, VisitMut, VisitorMut, visit_expressions};

use super::constant_inputs::ConstantInputs;
use super::duckdb_semantics::{column, expression, is_aggregate, is_generated, name_of, span_of, unwrapped};
use super::engine::{Engine, engine_error};
use crate::error::{Error, Result};

/// Text of an expression, without parentheses around it.
pub(super) fn text_of(expr: &Expr) -> String {
    unwrapped(expr).to_string()
}

/// True for generated columns, which are valid over groups and windows.
fn is_made(ident: &Ident) -> bool {
    is_generated(ident) && ["__group", "__agg", "__sub", "__win", "__key"].iter().any(|prefix| ident.value.starts_with(prefix))
}

/// Group keys and aggregate calls of one SELECT.
pub(super) struct Groups<'p, 'a> {
    engine: &'p Engine<'a>,
    keys: Vec<(Expr, String)>,
    calls: Vec<(Function, String)>,
    /// Generated column by the text of its key or call.
    known: HashMap<String, String>,
}

impl<'p, 'a> Groups<'p, 'a> {
    pub fn new(engine: &'p Engine<'a>) -> Self {
        Self { engine, keys: Vec::new(), calls: Vec::new(), known: HashMap::new() }
    }

    /// The generated column of a key.
    pub fn key(&mut self, expr: Expr) -> String {
        let text = text_of(&expr);
        if let Some(name) = self.known.get(&text) {
            return name.clone();
        }
        let name = self.engine.unique("__group");
        self.known.insert(text, name.clone());
        self.keys.push((expr, name.clone()));
        name
    }

    /// Texts of all keys and calls.
    pub fn texts(&self) -> Vec<String> {
        self.keys.iter().map(|(key, _)| key.to_string()).chain(self.calls.iter().map(|(call, _)| call.to_string())).collect()
    }

    /// Rewrites an expression over rows as one over groups.
    ///
    /// # Errors
    /// For a column that is no key, and for aggregates within each other.
    pub fn lower(&mut self, expr: &mut Expr) -> Result<()> {
        match expr.visit(self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Aggregates to one row per group.
    ///
    /// # Errors
    /// As [`Engine::with`].
    pub fn grouped(self, frame: LazyFrame) -> Result<LazyFrame> {
        let Self { engine, keys, mut calls, .. } = self;
        let mut constants = ConstantInputs::new(engine);
        calls.iter_mut().for_each(|(call, _)| constants.replace_in(call));
        let mut frame = constants.added(engine.with(frame, &keys)?)?;
        let schema = frame.collect_schema().map_err(|error| engine_error(&error))?;
        let semantics = engine.semantics(&schema);
        let by: Vec<String> = keys.iter().map(|(_, name)| column(name).to_string()).collect();
        let mut texts = by.clone();
        for (call, name) in &calls {
            texts.push(format!("{} AS {}", semantics.print_aggregate(call)?, column(name)));
        }
        if texts.is_empty() {
            texts.push("count(*) AS \"__rows\"".into());
        }
        let by = if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        engine.run(frame, &format!("SELECT {} FROM t{by}", texts.join(", ")))
    }

    fn one(&mut self, expr: &mut Expr) -> Result<()> {
        let source = self.engine.source;
        match expr {
            Expr::Function(function) if is_aggregate(function) => {
                let text = function.to_string();
                if let Some(name) = self.known.get(&text) {
                    *expr = answer_of(function, name);
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
                let name = self.engine.unique("__agg");
                self.known.insert(text, name.clone());
                self.calls.push((function.clone(), name.clone()));
                *expr = answer_of(function, &name);
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

/// The answer of a call, by its generated column: a list of no rows is null.
fn answer_of(call: &Function, name: &str) -> Expr {
    match name_of(call).as_str() {
        "list" | "array_agg" => expression("CASE WHEN array_length(_0) > 0 THEN _0 END", vec![column(name)]),
        _ => column(name),
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
