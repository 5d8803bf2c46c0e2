//! OVER and WINDOW of one SELECT: each call becomes a column that [`super::window_functions`]
//! computes.

use std::ops::ControlFlow;

use polars::prelude::LazyFrame;
use sqlparser::ast::{
    Expr, Function, Ident, NamedWindowExpr, Spanned, Value, VisitorMut, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::constant_inputs::{ConstantInputs, for_each_input};
use super::duckdb_semantics::{
    call_of, column, expression, interval_parts, is_generated, name_of, span_of, strip_parentheses,
};
use super::engine::SqlEngine;
use super::engine_errors::engine_error;
use super::function_names::{is_aggregate_name, is_zero_of_no_rows};
use super::list_functions::WINDOW_SUM;
use super::source_span::StatementSource;
use super::syntax_walk::{visit_expressions, walk_tree_mut};
use super::time_texts::IntervalParts;
use super::token_spellings::{EXCLUDE_GROUP, EXCLUDE_ROW, EXCLUDE_TIES};
use super::window_functions::{
    self, EngineAggregate, Frame, FrameBound, FrameExclusion, WindowDefinition,
};
use crate::error::{Error, Result};

/// Window functions of one SELECT.
pub(super) struct SelectWindows<'p, 'a> {
    engine: &'p SqlEngine<'a>,
    calls: Vec<(Function, WindowSpec, String)>,
}

impl<'p, 'a> SelectWindows<'p, 'a> {
    pub fn new(engine: &'p SqlEngine<'a>) -> Self {
        Self {
            engine,
            calls: Vec::new(),
        }
    }

    /// True when no call was replaced.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Replaces each call with OVER by a column.
    ///
    /// # Errors
    /// For a window within another one.
    pub fn lower(&mut self, expr: &mut Expr) -> Result<()> {
        match walk_tree_mut(expr, self) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Adds one column per window function.
    ///
    /// # Errors
    /// For unknown functions and frames that are not supported, with their position.
    pub fn add_window_columns(self, mut frame: LazyFrame) -> Result<LazyFrame> {
        let Self { engine, calls } = self;
        if calls.is_empty() {
            return Ok(frame);
        }
        let mut constants = ConstantInputs::new(engine);
        let mut windows = Vec::with_capacity(calls.len());
        for (function, spec, name) in calls {
            let (window, mut inputs) = window(engine, &function, &spec)?;
            inputs.iter_mut().for_each(|input| constants.replace(input));
            windows.push((window, inputs, name));
        }
        frame = constants.add_columns(frame)?;
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let Some(any) = schema.iter_names().next() else {
            return Ok(frame);
        };
        let any = column(any.as_str());
        let mut texts = vec!["*".to_owned()];
        for (window, inputs, name) in windows {
            let called = engine.unique("__window");
            let is_sum = matches!(window.function, window_functions::WindowFunction::Sum);
            let function = window.into_function(&called);
            engine.extras.borrow_mut().push((called.clone(), function));
            let semantics = engine.semantics(&schema);
            let inputs = inputs
                .iter()
                .chain([&any])
                .map(|input| semantics.print(input))
                .collect::<Result<Vec<_>>>()?;
            let mut call = format!("{called}({})", inputs.join(", "));
            if is_sum {
                call = format!("{WINDOW_SUM}({call})");
            }
            texts.push(format!("{call} AS {}", column(&name)));
        }
        engine.run(frame, &format!("SELECT {} FROM t", texts.join(", ")))
    }
}

/// Substitutes windows defined in WINDOW.
pub(super) struct NamedWindows<'p> {
    source: StatementSource<'p>,
    named: Vec<(Ident, NamedWindowExpr)>,
}

impl<'p> NamedWindows<'p> {
    pub fn new(source: StatementSource<'p>, named: Vec<(Ident, NamedWindowExpr)>) -> Self {
        Self { source, named }
    }

    fn spec(&self, over: &WindowType, depth: usize) -> Result<WindowSpec> {
        match over {
            WindowType::NamedWindow(name) => self.find_window(name, depth),
            WindowType::WindowSpec(spec) => match &spec.window_name {
                None => Ok(spec.clone()),
                Some(name) => {
                    let mut base = self.find_window(name, depth)?;
                    base.partition_by.extend(spec.partition_by.iter().cloned());
                    base.order_by.extend(spec.order_by.iter().cloned());
                    base.window_frame = spec.window_frame.clone().or(base.window_frame);
                    Ok(base)
                }
            },
        }
    }

    fn find_window(&self, name: &Ident, depth: usize) -> Result<WindowSpec> {
        let found = self
            .named
            .iter()
            .find(|(known, _)| known.value.eq_ignore_ascii_case(&name.value));
        // A window may refer to itself.
        let Some((_, window)) = found.filter(|_| depth < 10) else {
            return Err(self.source.locate(
                Error::usage(format!("there is no window {}", name.value)),
                name.span,
            ));
        };
        match window {
            NamedWindowExpr::NamedWindow(other) => {
                self.spec(&WindowType::NamedWindow(other.clone()), depth + 1)
            }
            NamedWindowExpr::WindowSpec(spec) => {
                self.spec(&WindowType::WindowSpec(spec.clone()), depth + 1)
            }
        }
    }
}

impl VisitorMut for NamedWindows<'_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        if let Expr::Function(Function {
            over: Some(over), ..
        }) = expr
        {
            match self.spec(over, 0) {
                Ok(spec) => *over = WindowType::WindowSpec(spec),
                Err(error) => return ControlFlow::Break(Box::new(error)),
            }
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for SelectWindows<'_, '_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let Some(WindowType::WindowSpec(spec)) = &function.over else {
            return ControlFlow::Continue(());
        };
        let spec = spec.clone();
        let source = self.engine.source;
        let nested = visit_expressions(&*function, |part| match part {
            Expr::Identifier(ident) if is_generated(ident) && ident.value.starts_with("__win") => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        if nested.is_break() {
            let error = Error::usage("a window can't look at another window of the same SELECT");
            let hint = "compute the inner one in a subquery: SELECT sum(r) OVER () FROM (SELECT \
                rank() OVER (ORDER BY x) AS r FROM data) AS t";
            return ControlFlow::Break(Box::new(
                source.locate(error.hint(hint), span_of(function)),
            ));
        }
        let name = self.engine.unique("__win");
        self.calls.push((function.clone(), spec, name.clone()));
        *expr = column(&name);
        ControlFlow::Continue(())
    }
}

/// A window function and its inputs: partition keys, order keys, arguments.
fn window(
    engine: &SqlEngine,
    function: &Function,
    spec: &WindowSpec,
) -> Result<(WindowDefinition, Vec<Expr>)> {
    use window_functions::WindowFunction as F;
    let (name, span) = (name_of(function), span_of(function));
    let call = call_of(&engine.source, function)?;
    let refused = |summary: String, hint: &str| {
        Err(engine.source.locate(Error::usage(summary).hint(hint), span))
    };
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
        _ if !is_aggregate_name(&name) => {
            return refused(
                format!("there is no window function {name}()"),
                "row_number, rank, lag, sum, avg, … OVER (…)",
            );
        }
        _ => {
            // The engine evaluates it over columns `a0`, `a1`, … of each frame.
            let mut inputs = Vec::new();
            let mut inner = function.clone();
            inner.over = None;
            for_each_input(&mut inner, |expr| {
                inputs.push(expr.clone());
                *expr = column(&format!("a{}", inputs.len() - 1));
            });
            let schema = Default::default();
            let semantics = engine.semantics(&schema);
            let sql = semantics.print_aggregate(&inner)?;
            arguments = inputs;
            F::Engine(EngineAggregate {
                sql,
                is_zero_of_no_rows: is_zero_of_no_rows(&name),
            })
        }
    };
    let takes = match kind {
        F::RowNumber | F::Rank | F::DenseRank | F::PercentRank | F::CumeDist => 0..=0,
        F::Count => 0..=1,
        F::Lag | F::Lead => 1..=3,
        F::NthValue => 2..=2,
        F::Ntile | F::FirstValue | F::LastValue | F::Sum | F::Avg | F::Min | F::Max => 1..=1,
        F::Engine(_) => 0..=usize::MAX,
    };
    if !takes.contains(&arguments.len()) {
        let (least, most) = (takes.start(), takes.end());
        let wanted = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        return refused(
            format!(
                "{name}() takes {wanted} arguments, and has {}",
                arguments.len()
            ),
            "lag(x, 1, 0) OVER (ORDER BY y)",
        );
    }
    if let (Some(filter), false) = (&function.filter, matches!(kind, F::Engine(_))) {
        let one = || Expr::value(Value::Number("1".into(), false));
        let met = |value: Expr| nullify_unmet(value, filter);
        match (arguments.first_mut(), &kind) {
            (Some(first), F::Count | F::Sum | F::Avg | F::Min | F::Max) => {
                *first = met(first.clone())
            }
            (None, F::Count) => arguments.push(met(one())),
            _ => {
                return refused(
                    format!("{name}() can't have FILTER"),
                    "filter in a subquery",
                );
            }
        }
    }
    let mut order = Vec::new();
    let (excluded, keys): (Vec<_>, Vec<_>) = spec
        .partition_by
        .iter()
        .cloned()
        .partition(|key| read_exclusion_mark(key).is_some());
    let exclusion = excluded.first().and_then(read_exclusion_mark);
    let partition = keys.len();
    let mut inputs = keys;
    for key in &spec.order_by {
        order.push((
            key.options.asc == Some(false),
            key.options.nulls_first != Some(true),
        ));
        inputs.push(key.expr.clone());
    }
    let frame = match &spec.window_frame {
        Some(frame) => frame_of(engine.source, frame)?,
        None if order.is_empty() => Frame {
            units: WindowFrameUnits::Rows,
            start: FrameBound::Unbounded,
            end: FrameBound::Unbounded,
        },
        None => Frame {
            units: WindowFrameUnits::Range,
            start: FrameBound::Unbounded,
            end: FrameBound::Offset(0.0),
        },
    };
    if order.is_empty() && frame.units == WindowFrameUnits::Groups {
        return refused(
            "a frame of GROUPS needs ORDER BY".into(),
            "OVER (ORDER BY id GROUPS 1 PRECEDING)",
        );
    }
    if order.is_empty()
        && frame.units != WindowFrameUnits::Rows
        && frame.start == FrameBound::Unbounded
    {
        // Without ORDER BY, all rows are peers.
        let whole = Frame {
            units: WindowFrameUnits::Rows,
            start: FrameBound::Unbounded,
            end: FrameBound::Unbounded,
        };
        inputs.extend(arguments);
        return Ok((
            WindowDefinition {
                function: kind,
                partition,
                order,
                frame: whole,
                exclusion,
                ignores_nulls: call.ignores_nulls,
            },
            inputs,
        ));
    }
    inputs.extend(arguments);
    Ok((
        WindowDefinition {
            function: kind,
            partition,
            order,
            frame,
            exclusion,
            ignores_nulls: call.ignores_nulls,
        },
        inputs,
    ))
}

/// The rows that a frame leaves out, by the mark in PARTITION BY.
fn read_exclusion_mark(key: &Expr) -> Option<FrameExclusion> {
    let Expr::Function(function) = key else {
        return None;
    };
    match name_of(function).as_str() {
        EXCLUDE_ROW => Some(FrameExclusion::CurrentRow),
        EXCLUDE_GROUP => Some(FrameExclusion::Peers),
        EXCLUDE_TIES => Some(FrameExclusion::OtherPeers),
        _ => None,
    }
}

/// The value where the condition of FILTER is met, otherwise null.
fn nullify_unmet(value: Expr, filter: &Expr) -> Expr {
    expression("CASE WHEN _1 THEN _0 END", vec![value, filter.clone()])
}

fn frame_of(source: StatementSource, frame: &WindowFrame) -> Result<Frame> {
    let units = frame.units;
    let by_range = units == WindowFrameUnits::Range;
    let bound = |bound: &WindowFrameBound| read_frame_bound(source, bound, by_range);
    let start = bound(&frame.start_bound)?;
    let end = frame
        .end_bound
        .as_ref()
        .map_or(Ok(FrameBound::Offset(0.0)), bound)?;
    Ok(Frame { units, start, end })
}

fn read_frame_bound(
    source: StatementSource,
    bound: &WindowFrameBound,
    by_range: bool,
) -> Result<FrameBound> {
    Ok(match bound {
        WindowFrameBound::CurrentRow => FrameBound::Offset(0.0),
        WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => {
            FrameBound::Unbounded
        }
        WindowFrameBound::Preceding(Some(expr)) => match read_frame_interval(expr, by_range) {
            Some(parts) => parts.checked_neg().map_or_else(
                || Err(refuse_distance(source, expr)),
                |parts| Ok(FrameBound::Interval(parts)),
            )?,
            None => FrameBound::Offset(-read_frame_distance(source, expr, by_range)?),
        },
        WindowFrameBound::Following(Some(expr)) => match read_frame_interval(expr, by_range) {
            Some(parts) => FrameBound::Interval(parts),
            None => FrameBound::Offset(read_frame_distance(source, expr, by_range)?),
        },
    })
}

/// An interval that a frame reaches, which has no sign.
fn read_frame_interval(expr: &Expr, by_range: bool) -> Option<IntervalParts> {
    let Expr::Interval(interval) = strip_parentheses(expr) else {
        return None;
    };
    let parts = interval_parts(interval)?;
    (by_range && parts.is_forward()).then_some(parts)
}

fn read_frame_distance(source: StatementSource, expr: &Expr, by_range: bool) -> Result<f64> {
    let found = distance(expr).filter(|distance| by_range || distance.fract() == 0.0);
    found.ok_or_else(|| refuse_distance(source, expr))
}

fn refuse_distance(source: StatementSource, expr: &Expr) -> Error {
    let error = Error::usage(format!("{expr} is no distance in a frame")).hint(
        "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW, RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND \
            CURRENT ROW",
    );
    source.locate(error, expr.span())
}

/// Frame offset: rows, units of a number, or days between dates.
fn distance(expr: &Expr) -> Option<f64> {
    find_number_text(expr)?
        .parse()
        .ok()
        .filter(|distance: &f64| distance.is_finite() && *distance >= 0.0)
}

/// The text of a written number, which may be in quotes.
fn find_number_text(expr: &Expr) -> Option<String> {
    match strip_parentheses(expr) {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}
