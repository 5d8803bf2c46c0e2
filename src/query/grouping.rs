//! GROUP BY and aggregates of one SELECT: expressions over rows become expressions over groups.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use polars::prelude::{DataType, LazyFrame, NULL, UnionArgs, col, concat, lit};
use sqlparser::ast::{Expr, Function, Ident, LambdaFunction, OneOrManyWithParens, VisitorMut};

use super::constant_inputs::ConstantInputs;
use super::duckdb_semantics::{
    call_of, column, expression, is_aggregate, is_generated, name_of, span_of, strip_parentheses,
};
use super::engine::SqlEngine;
use super::engine_errors::engine_error;
use super::syntax_walk::{visit_expressions, walk_tree_mut};
use crate::error::{Error, Result};

/// Text of an expression, without parentheses around it.
pub(super) fn text_of(expr: &Expr) -> String {
    strip_parentheses(expr).to_string()
}

/// True for generated columns, which are valid over groups and windows.
fn is_made(ident: &Ident) -> bool {
    is_generated(ident)
        && ["__group", "__agg", "__sub", "__win", "__key"]
            .iter()
            .any(|prefix| ident.value.starts_with(prefix))
}

/// Group keys and aggregate calls of one SELECT.
pub(super) struct SelectGroups<'p, 'a> {
    engine: &'p SqlEngine<'a>,
    keys: Vec<(Expr, String)>,
    calls: Vec<(Function, String)>,
    /// Generated column by the text of its key or call.
    known: HashMap<String, String>,
    /// The keys of each of several groupings (GROUPING SETS, ROLLUP, CUBE); `None` for one by all
    /// keys.
    sets: Option<Vec<HashSet<String>>>,
    /// Calls of `grouping`: keys, and the generated column.
    groupings: Vec<(Vec<String>, String)>,
    /// Parameters of the enclosing lambdas.
    parameters: Vec<Vec<String>>,
}

impl<'p, 'a> SelectGroups<'p, 'a> {
    pub fn new(engine: &'p SqlEngine<'a>) -> Self {
        Self {
            engine,
            keys: Vec::new(),
            calls: Vec::new(),
            known: HashMap::new(),
            sets: None,
            groupings: Vec::new(),
            parameters: Vec::new(),
        }
    }

    fn is_parameter(&self, ident: &Ident) -> bool {
        let mut known = self.parameters.iter().flatten();
        ident.quote_style.is_none() && known.any(|name| *name == ident.value)
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

    /// Groups by each of these sets of keys. Keys that no set has are those of all groupings.
    pub fn group_by_sets(&mut self, sets: Vec<HashSet<String>>) {
        self.sets = Some(sets);
    }

    /// Texts of all keys and calls.
    pub fn texts(&self) -> Vec<String> {
        self.keys
            .iter()
            .map(|(key, _)| key.to_string())
            .chain(self.calls.iter().map(|(call, _)| call.to_string()))
            .collect()
    }

    /// Rewrites an expression over rows as one over groups.
    ///
    /// # Errors
    /// For a column that is no key, and for aggregates within each other.
    pub fn lower(&mut self, expr: &mut Expr) -> Result<()> {
        match walk_tree_mut(expr, self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Aggregates to one row per group.
    ///
    /// # Errors
    /// As [`SqlEngine::add_columns`].
    pub fn aggregate_groups(self, frame: LazyFrame) -> Result<LazyFrame> {
        let Self {
            engine,
            keys,
            mut calls,
            sets,
            groupings,
            ..
        } = self;
        let mut constants = ConstantInputs::new(engine);
        calls
            .iter_mut()
            .for_each(|(call, _)| constants.replace_in(call));
        let mut frame = constants.add_columns(engine.add_columns(frame, &keys)?)?;
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let semantics = engine.semantics(&schema);
        let mut printed = Vec::with_capacity(calls.len());
        for (call, name) in &calls {
            printed.push(format!(
                "{} AS {}",
                semantics.print_aggregate(call)?,
                column(name)
            ));
        }
        let names: Vec<&str> = keys.iter().map(|(_, name)| name.as_str()).collect();
        let Some(sets) = sets else {
            return group_frame(engine, frame, &names, &printed);
        };
        let in_some: HashSet<&String> = sets.iter().flatten().collect();
        let mut frames = Vec::with_capacity(sets.len());
        for set in &sets {
            let is_key = |name: &str| set.contains(name) || !in_some.contains(&name.to_owned());
            let own: Vec<&str> = names.iter().copied().filter(|name| is_key(name)).collect();
            let grouped = group_frame(engine, frame.clone(), &own, &printed)?;
            let missing = names.iter().filter(|name| !is_key(name)).map(|name| {
                let dtype = schema.get(name).cloned().unwrap_or(DataType::Null);
                lit(NULL).cast(dtype).alias(*name)
            });
            let flags = groupings.iter().map(|(keys, name)| {
                let number = keys
                    .iter()
                    .fold(0i64, |number, key| number << 1 | i64::from(!is_key(key)));
                lit(number).alias(name.as_str())
            });
            let added = grouped.with_columns(missing.chain(flags).collect::<Vec<_>>());
            let all = names
                .iter()
                .copied()
                .chain(calls.iter().map(|(_, name)| name.as_str()));
            let mut shown: Vec<_> = all
                .chain(groupings.iter().map(|(_, name)| name.as_str()))
                .map(col)
                .collect();
            if printed.is_empty() && own.is_empty() {
                shown.push(col("__rows").alias("__rows"));
            } else if printed.is_empty() {
                shown.push(lit(1u32).alias("__rows"));
            }
            frames.push(added.select(shown));
        }
        concat(
            frames,
            UnionArgs {
                to_supertypes: true,
                ..UnionArgs::default()
            },
        )
        .map_err(|error| engine_error(&error))
    }

    /// The generated column of `grouping(keys)`.
    fn grouping(&mut self, function: &Function) -> Result<Expr> {
        let source = self.engine.source;
        let call = call_of(&source, function)?;
        let names: Option<Vec<String>> = call
            .arguments
            .iter()
            .map(|key| self.known.get(&text_of(key)).cloned())
            .collect();
        let Some(names) = names.filter(|names| !names.is_empty() && self.sets.is_some()) else {
            let error = Error::usage("grouping() takes keys of GROUP BY with several groupings");
            return Err(source.locate(
                error.hint("SELECT a, grouping(a), count(*) FROM data GROUP BY ROLLUP (a)"),
                span_of(function),
            ));
        };
        let name = self.engine.unique("__agg");
        self.groupings.push((names, name.clone()));
        Ok(column(&name))
    }

    fn replace_aggregate(&mut self, expr: &mut Expr) -> Result<()> {
        let source = self.engine.source;
        match expr {
            Expr::Function(function)
                if matches!(name_of(function).as_str(), "grouping" | "grouping_id") =>
            {
                *expr = self.grouping(function)?;
            }
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
                    let error = Error::usage(format!(
                        "{inner}() is not allowed within {}()",
                        name_of(function)
                    ));
                    let hint = "compute the groups in a subquery: SELECT max(s) FROM (SELECT k, \
                        sum(x) AS s FROM data GROUP BY k) AS g";
                    return Err(source.locate(error.hint(hint), span));
                }
                let name = self.engine.unique("__agg");
                self.known.insert(text, name.clone());
                self.calls.push((function.clone(), name.clone()));
                *expr = answer_of(function, &name);
            }
            Expr::Identifier(ident) if !is_made(ident) && !self.is_parameter(ident) => {
                if let Some(name) = self.known.get(&text_of(expr)) {
                    *expr = column(name);
                    return Ok(());
                }
                let Expr::Identifier(ident) = expr else {
                    return Ok(());
                };
                let called = self
                    .calls
                    .first()
                    .map_or("count".to_owned(), |(call, _)| name_of(call));
                let name = &ident.value;
                let error = Error::usage(format!(
                    "{name} has a value for every row, but the result has one row for each group"
                ));
                let hint = format!(
                    "add GROUP BY {name}, or take any_value({name}), or {called}(…) OVER ()"
                );
                return Err(source.locate(error.hint(hint), ident.span));
            }
            // Printing every subexpression is costly, and only keys are looked up.
            other
                if !self.keys.is_empty()
                    && !matches!(
                        other,
                        Expr::Value(_) | Expr::Nested(_) | Expr::Identifier(_)
                    ) =>
            {
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
        "list" | "array_agg" => expression(
            "CASE WHEN array_length(_0) > 0 THEN _0 END",
            vec![column(name)],
        ),
        _ => column(name),
    }
}

impl VisitorMut for SelectGroups<'_, '_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        if let Expr::Lambda(lambda) = &*expr {
            self.parameters.push(parameter_names(lambda));
            return ControlFlow::Continue(());
        }
        match self.replace_aggregate(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        if matches!(expr, Expr::Lambda(_)) {
            self.parameters.pop();
        }
        ControlFlow::Continue(())
    }
}

/// The names of the parameters of a lambda.
pub(super) fn parameter_names(lambda: &LambdaFunction) -> Vec<String> {
    match &lambda.params {
        OneOrManyWithParens::One(parameter) => vec![parameter.name.value.clone()],
        OneOrManyWithParens::Many(several) => several
            .iter()
            .map(|parameter| parameter.name.value.clone())
            .collect(),
    }
}

/// Runs GROUP BY on a frame; without keys and aggregates it counts the rows.
fn group_frame(
    engine: &SqlEngine,
    frame: LazyFrame,
    keys: &[&str],
    aggregates: &[String],
) -> Result<LazyFrame> {
    let by: Vec<String> = keys.iter().map(|name| column(name).to_string()).collect();
    let mut texts: Vec<String> = by.iter().chain(aggregates).cloned().collect();
    if texts.is_empty() {
        texts.push("count(*) AS \"__rows\"".into());
    }
    let by = if by.is_empty() {
        String::new()
    } else {
        format!(" GROUP BY {}", by.join(", "))
    };
    engine.run(frame, &format!("SELECT {} FROM t{by}", texts.join(", ")))
}
