//! Calls of functions, also of those with a lambda, in the engine's spelling.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use polars::prelude::DataType;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    UnaryOperator,
};
use sqlparser::tokenizer::Span;

use super::expressions::{
    column, expression, function_call, literal, name_of, span_of, strip_parentheses,
};
use super::intervals::{function_of_part, read_age_arguments};
use super::operand_types::ALIKE_ARGUMENTS;
use super::rewriting::ExpressionRewrite;
use super::written_values::{
    decimal_of, field_number, interval_text, is_interval, number, part_of_written_interval,
    read_written_list, rounded_decimal,
};
use super::{call_of, extract_json, regex_match_expression};
use crate::error::{Error, Result};
use crate::query::function_names::{
    DUCKDB_VERSION, ENGINE, LAMBDA_FUNCTIONS, OPERATORS, OTHERS, SPELLED, WINDOWS, function_names,
    is_aggregate_name,
};
use crate::query::functions::LIST_AGGREGATES;
use crate::query::list_aggregates::{is_list_aggregate, list_aggregate, list_quantile};
use crate::query::syntax_walk::visit_expressions_mut;
use crate::query::text_patterns::{of_whole_text, read_time, text_of, with_options, written_time};
use crate::query::{advice, function_registry, functions, json_values, list_lambda, struct_values};

impl ExpressionRewrite<'_, '_> {
    /// `regexp_matches`, or `regexp_full_match` if `whole`, with its options.
    fn matched_with(
        &self,
        whole: bool,
        arguments: &[Expr],
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        let hint = "write the pattern and its options themselves: regexp_matches(id, '^S', 'i')";
        let (Some(pattern), Some(options)) = (
            text_of(&arguments[1]),
            arguments.get(2).map_or(Some(""), text_of),
        ) else {
            return Err(self.refuse(span, "the pattern is no text", hint));
        };
        let pattern = with_options(pattern, options).map_err(|option| {
            self.refuse(
                span,
                format!("{option} is no option of a pattern: i, s, l, c, m, n, p"),
                hint,
            )
        })?;
        Ok(regex_match_expression(
            false,
            arguments[0].clone(),
            &if whole {
                of_whole_text(&pattern)
            } else {
                pattern
            },
        ))
    }

    /// The call in the engine's spelling; `None` if unchanged.
    pub(super) fn rewrite_call(&self, function: &mut Function) -> Result<Option<Expr>, Box<Error>> {
        let (name, span) = (name_of(function), span_of(function));
        let call = call_of(self.0.source, function).map_err(Box::new)?;
        let time = self.0.now;
        let arity = call.arguments.len();
        let mut arguments_with_zones = call.arguments.clone();
        let spelled = match name.as_str() {
            name if self.gives_zones(name, &mut arguments_with_zones) => {
                function_call(name, arguments_with_zones)
            }
            "json_extract" | "json_extract_path" if arity == 2 => {
                extract_json("json_extract", call.arguments)
            }
            "array_to_json" | "json_quote" | "row_to_json" | "to_json"
                if arity == 1 && self.is_json(&call.arguments[0]) =>
            {
                expression("json(_0)", call.arguments)
            }
            "json_array" | "json_object"
                if call.arguments.iter().any(|value| self.is_json(value)) =>
            {
                let values = call.arguments.into_iter();
                function_call(&name, values.map(|value| self.keep_json(value)).collect())
            }
            "json_extract_string" | "json_extract_path_text" if arity == 2 => {
                extract_json("json_extract_string", call.arguments)
            }
            "now" | "current_timestamp" | "get_current_timestamp" | "transaction_timestamp"
                if arity == 0 =>
            {
                expression(&format!("in_utc({})", written_now(time)), Vec::new())
            }
            "localtimestamp" | "current_localtimestamp" if arity == 0 => {
                expression(&written_now(time), Vec::new())
            }
            "age" if arity == 1 => {
                let today = format!("DATE '{}'", time.format("%Y-%m-%d"));
                expression(&format!("age({today}, _0)"), call.arguments)
            }
            "year" | "month" | "day" | "hour" | "minute" | "second"
                if arity == 1 && read_age_arguments(&call.arguments[0]).is_some() =>
            {
                let times = read_age_arguments(&call.arguments[0]).unwrap_or_default();
                expression(
                    "age_part(_0, _1, _2)",
                    [vec![literal(&name)], times].concat(),
                )
            }
            "date_part" | "datepart"
                if arity == 2 && read_age_arguments(&call.arguments[1]).is_some() =>
            {
                let times = read_age_arguments(&call.arguments[1]).unwrap_or_default();
                let unit = vec![call.arguments[0].clone()];
                expression("age_part(_0, _1, _2)", [unit, times].concat())
            }
            "date_part" | "datepart"
                if arity == 2 && read_written_list(&call.arguments[0]).is_some() =>
            {
                let units = read_written_list(&call.arguments[0]).unwrap_or_default();
                let names: Option<Vec<String>> = units
                    .iter()
                    .map(|unit| text_of(unit).map(str::to_owned))
                    .collect();
                let Some(names) = names.filter(|names| !names.is_empty()) else {
                    let hint = "date_part(['year', 'month'], date)";
                    return Err(self.refuse(span, "the parts of a time are texts", hint));
                };
                let time = &call.arguments[1];
                let parts = names.iter().map(|unit| self.part_of_time(unit, time));
                let parts = parts.collect();
                self.struct_of(names, parts, span)?
            }
            "date_part" | "datepart"
                if arity == 2
                    && text_of(&call.arguments[0]).is_some_and(|unit| {
                        part_of_written_interval(unit, &call.arguments[1]).is_some()
                    }) =>
            {
                let unit = text_of(&call.arguments[0]).unwrap_or_default();
                match part_of_written_interval(unit, &call.arguments[1]) {
                    Some(part) => part,
                    None => return Ok(None),
                }
            }
            "date_part" | "datepart"
                if arity == 2
                    && text_of(&call.arguments[0])
                        .is_some_and(|unit| function_of_part(unit).is_some()) =>
            {
                let unit = text_of(&call.arguments[0]).unwrap_or_default().to_owned();
                self.part_of_time(&unit, &call.arguments[1])
            }
            "make_date" if arity == 1 && self.is_struct(&call.arguments[0]) => expression(
                "make_date((_0 -> 'year'), (_0 -> 'month'), (_0 -> 'day'))",
                call.arguments,
            ),
            "make_timestamptz" if arity == 7 => expression(
                "timezone(_6, make_timestamp(_0, _1, _2, _3, _4, _5))",
                call.arguments,
            ),
            "array_extract" | "list_extract" | "list_element"
                if arity == 2 && self.is_text(&call.arguments[0]) =>
            {
                expression("text_slice(_0, _1, 1)", call.arguments)
            }
            "round" if (1..=2).contains(&arity) && written_rounding(&call.arguments).is_some() => {
                match written_rounding(&call.arguments) {
                    Some(rounded) => rounded,
                    None => return Ok(None),
                }
            }
            "today" | "current_date" if arity == 0 => {
                expression(&format!("DATE '{}'", time.format("%Y-%m-%d")), Vec::new())
            }
            "len" | "length" if arity == 1 => match &call.arguments[0] {
                value if self.is_text(value) => expression("length(_0)", call.arguments),
                value if self.dtype_of(value).is_some_and(DataType::is_list) => {
                    expression("CAST(array_length(_0) AS BIGINT)", call.arguments)
                }
                _ => expression("length_of(_0)", call.arguments),
            },
            "date_trunc" | "datetrunc" if arity == 2 => {
                let is_large = text_of(&call.arguments[0]).is_some_and(is_unit_of_days);
                let template = if is_large {
                    "days_of_trunc(_0, _1)"
                } else {
                    "times_of_trunc(_0, _1)"
                };
                expression(template, call.arguments)
            }
            "date_part" | "datepart"
                if arity == 2
                    && text_of(&call.arguments[0])
                        .is_some_and(|unit| unit.eq_ignore_ascii_case("epoch")) =>
            {
                expression("epoch(_0)", vec![call.arguments[1].clone()])
            }
            "round" if arity == 2 && negative_digits(&call.arguments[1]).is_some() => {
                let power = negative_digits(&call.arguments[1]).unwrap_or(0);
                expression(&format!("round_to_power(_0, {power})"), call.arguments)
            }
            "list_aggregate" | "list_aggr" | "array_aggregate" | "array_aggr" if arity == 2 => {
                let wanted = text_of(&call.arguments[1]).unwrap_or("").to_lowercase();
                let lists = vec![call.arguments[0].clone()];
                if is_list_aggregate(&wanted) {
                    return Ok(Some(self.aggregate_lists(&wanted, lists)));
                }
                let Some((_, of)) = LIST_AGGREGATES.iter().find(|(name, _)| *name == wanted) else {
                    let hint = "there are sum, avg, min, max, count, median, mode, …; for others \
                        CROSS JOIN UNNEST(list) AS t(x), then GROUP BY";
                    return Err(self.refuse(
                        span,
                        "this aggregate of a list is not supported",
                        hint,
                    ));
                };
                expression(&format!("{of}(_0)"), lists)
            }
            "list_aggregate" | "list_aggr" | "array_aggregate" | "array_aggr"
                if arity == 3 && quantile_of_list(&call.arguments[1..]).is_some() =>
            {
                let lists = call.arguments[0].clone();
                let Some((name, part)) = quantile_of_list(&call.arguments[1..]) else {
                    return Ok(None);
                };
                let called = self.extra("__list_quantile", |called| {
                    list_quantile(called, &name, part)
                });
                function_call(&called, vec![lists])
            }
            name if arity == 1 && name.strip_prefix("list_").is_some_and(is_list_aggregate) => {
                let of = name.strip_prefix("list_").unwrap_or_default();
                self.aggregate_lists(of, call.arguments)
            }
            "list_aggregate" | "list_aggr"
                if arity == 3 && text_of(&call.arguments[1]) == Some("string_agg") =>
            {
                expression(
                    "list_text(_0, _1)",
                    vec![call.arguments[0].clone(), call.arguments[2].clone()],
                )
            }
            "list_value" | "list_pack" if arity == 0 => {
                expression("list_without_elements(NULL)", vec![])
            }
            "array_value" | "list_pack" if arity > 0 => function_call("list_value", call.arguments),
            "struct_extract" if arity == 2 && field_number(&call.arguments[1]).is_some() => {
                let number = field_number(&call.arguments[1]).unwrap_or_default();
                self.numbered_field(call.arguments[0].clone(), number)
            }
            "struct_pack" if arity > 0 && call.names.len() == arity => {
                self.struct_of(call.names, call.arguments, span)?
            }
            "struct_pack" => {
                let hint = "name the fields: struct_pack(a := id, b := split)";
                return Err(self.refuse(span, "the fields of a struct have names", hint));
            }
            "struct_update" if arity > 1 && call.names.len() + 1 == arity => {
                let called = self.extra("__struct", |called| {
                    struct_values::updated_struct(called, call.names)
                });
                function_call(&called, call.arguments)
            }
            "struct_insert" if arity > 1 && call.names.len() + 1 == arity => {
                let called = self.extra("__struct", |called| {
                    struct_values::longer_struct(called, call.names)
                });
                function_call(&called, call.arguments)
            }
            "st_transform" if arity == 4 => {
                match &mut function.args {
                    FunctionArguments::List(list) => {
                        list.args = call
                            .arguments
                            .into_iter()
                            .map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)))
                            .collect();
                    }
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            "version" if arity == 0 => literal(DUCKDB_VERSION),
            "regexp_extract" if arity == 3 && read_written_list(&call.arguments[2]).is_some() => {
                let names = read_written_list(&call.arguments[2]).unwrap_or_default();
                let names: Option<Vec<String>> = names
                    .iter()
                    .map(|name| text_of(name).map(str::to_owned))
                    .collect();
                let Some(names) = names.filter(|names| !names.is_empty()) else {
                    return Err(self.refuse(
                        span,
                        "the names of groups are texts",
                        "regexp_extract(id, '(\\d+)_(\\d+)', ['x', 'y'])",
                    ));
                };
                let mut groups = Vec::with_capacity(names.len());
                for at in 1..=names.len() {
                    let template = format!("regexp_extract(_0, _1, {at})");
                    groups.push(expression(&template, call.arguments[..2].to_vec()));
                }
                self.struct_of(names, groups, span)?
            }
            "row" if arity > 0 => self.struct_of(
                struct_values::unnamed_field_names(arity),
                call.arguments,
                span,
            )?,
            "time_bucket" if arity == 3 && is_interval(&call.arguments[2]) => {
                let [width, time, offset] = call.arguments.as_slice() else {
                    return Ok(None);
                };
                let before = self.shift_by_interval(time, &BinaryOperator::Minus, offset);
                let width = interval_text(width).map(|width| literal(&width));
                let bucket = width
                    .zip(before)
                    .map(|(width, before)| function_call("time_bucket", vec![width, before]));
                let moved = bucket.and_then(|bucket| {
                    self.shift_by_interval(&bucket, &BinaryOperator::Plus, offset)
                });
                match moved {
                    Some(moved) if self.is_date(time) => {
                        expression("CAST(_0 AS DATE)", vec![moved])
                    }
                    Some(moved) => Expr::Nested(Box::new(moved)),
                    None => {
                        return Err(self.refuse(
                            span,
                            "the width of a bucket and its offset are intervals",
                            "time_bucket(INTERVAL 1 MONTH, date, INTERVAL 3 DAY)",
                        ));
                    }
                }
            }
            "array_length"
                if arity == 2 && decimal_of(&call.arguments[1]).is_some_and(|of| of == (1, 0)) =>
            {
                expression("length_of(_0)", vec![call.arguments[0].clone()])
            }
            "json_transform" | "json_transform_strict" | "from_json" | "from_json_strict"
                if arity == 2 =>
            {
                let Some(structure) = text_of(&call.arguments[1]) else {
                    return Err(self.refuse(
                        span,
                        "the structure of JSON is a text as it is written",
                        "from_json(x, '{\"a\": \"INTEGER\"}')",
                    ));
                };
                let is_strict = name.ends_with("_strict");
                let dtype = json_values::type_of_structure(structure).map_err(|reason| {
                    let hint = "from_json(x, '{\"a\": \"INTEGER\", \"b\": [\"VARCHAR\"]}')";
                    self.refuse(span, reason, hint)
                })?;
                let called = self.extra("__json_values", |called| {
                    json_values::json_reader(called, dtype, is_strict)
                });
                function_call(&called, vec![call.arguments[0].clone()])
            }
            "time_bucket" if arity >= 2 => {
                let width = interval_text(&call.arguments[0])
                    .or_else(|| text_of(&call.arguments[0]).map(str::to_owned));
                let Some(width) = width else {
                    return Err(self.refuse(
                        span,
                        "the width of a bucket is an interval",
                        "time_bucket(INTERVAL 1 MONTH, date)",
                    ));
                };
                match &mut function.args {
                    FunctionArguments::List(list) => {
                        list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(literal(&width)))
                    }
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            "range" | "generate_series"
                if arity == 3 && interval_text(&call.arguments[2]).is_some() =>
            {
                let text = interval_text(&call.arguments[2]).unwrap_or_default();
                let of = if name == "range" {
                    "times_before"
                } else {
                    "times_until"
                };
                let [start, end, _] = call.arguments.as_slice() else {
                    return Ok(None);
                };
                expression(
                    &format!("{of}(_0, _1, _2)"),
                    vec![start.clone(), end.clone(), literal(&text)],
                )
            }
            "epoch_ms" if arity == 1 && self.is_whole(&call.arguments[0]) => {
                expression("time_of_ms(_0)", call.arguments)
            }
            "setseed" if arity == 1 => {
                if self.0.seed.is_none() {
                    let summary = "setseed() takes a number from -1 to 1, for the random() of the \
                        same statement";
                    return Err(self.refuse(span, summary, "SELECT setseed(0.5), random()"));
                }
                expression("NULL", Vec::new())
            }
            "random" | "uuid" | "gen_random_uuid" | "uuidv4" if arity == 0 => {
                let Some(column_name) = self.0.schema.iter_names().next() else {
                    return Ok(None);
                };
                // Calls are identified by their position in the statement.
                let number = span.start.line * 1_000_000 + span.start.column;
                if let (Some(seed), "random") = (self.0.seed, name.as_str()) {
                    let called = self.extra("__random", |called| {
                        functions::seeded_random(called, seed, number)
                    });
                    return Ok(Some(function_call(&called, vec![column(column_name)])));
                }
                let of = if name == "random" {
                    "random_number"
                } else {
                    "random_uuid"
                };
                expression(&format!("{of}(_0, {number})"), vec![column(column_name)])
            }
            "typeof" if arity == 1 => expression("type_of(_0)", call.arguments),
            "regexp_full_match" if arity == 2 || arity == 3 => {
                self.matched_with(true, &call.arguments, span)?
            }
            "regexp_matches" if arity == 3 => self.matched_with(false, &call.arguments, span)?,
            "strftime"
                if arity == 2
                    && text_of(&call.arguments[0]).is_some()
                    && text_of(&call.arguments[1]).is_none() =>
            {
                let mut turned = call.arguments;
                turned.reverse();
                let mut turned = function_call("strftime", turned);
                self.rewrite_node(&mut turned)?;
                turned
            }
            "strptime" | "try_strptime"
                if arity == 2 && read_written_list(&call.arguments[1]).is_some() =>
            {
                let formats = read_written_list(&call.arguments[1]).unwrap_or_default();
                let of = if name == "strptime" {
                    "time_in_formats"
                } else {
                    "try_time_in_formats"
                };
                let arguments = std::iter::once(call.arguments[0].clone()).chain(formats);
                function_call(of, arguments.collect())
            }
            "strptime" if arity == 2 && text_of(&call.arguments[1]).is_some_and(lacks_parts) => {
                expression("incomplete_time(_0, _1)", call.arguments)
            }
            "strftime" | "strptime" if arity == 2 && text_of(&call.arguments[1]).is_some() => {
                let zone = if self.is_zoned(&call.arguments[0]) {
                    "UTC"
                } else {
                    ""
                };
                let is_written = name == "strftime";
                let format = text_of(&call.arguments[1]).map(|format| {
                    if is_written {
                        written_time(format, zone)
                    } else {
                        read_time(format)
                    }
                });
                let Some(format) = format else {
                    return Ok(None);
                };
                let value = match call.arguments[0].clone() {
                    // The engine writes no time of day for dates.
                    value if name == "strftime" && self.is_date(&value) => {
                        expression("CAST(_0 AS TIMESTAMP)", vec![value])
                    }
                    value => value,
                };
                match &mut function.args {
                    FunctionArguments::List(list) => {
                        list.args = [value, literal(&format)]
                            .map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)))
                            .into();
                    }
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            "concat" if call.arguments.iter().any(|argument| self.is_list(argument)) => {
                let lists: Vec<String> = (0..arity).map(|at| format!("_{at}")).collect();
                expression(
                    &format!("list_concat({})", lists.join(", ")),
                    call.arguments,
                )
            }
            // The engine has other texts for times here.
            "concat" | "concat_ws" => {
                let mut texts = Vec::with_capacity(arity);
                for (at, argument) in call.arguments.iter().enumerate() {
                    texts.push(match argument {
                        Expr::Value(_) => format!("_{at}"),
                        _ => format!("CAST(_{at} AS VARCHAR)"),
                    });
                }
                expression(&format!("{name}({})", texts.join(", ")), call.arguments)
            }
            "log" if arity == 1 => expression("common_logarithm(_0)", call.arguments),
            "log" if arity == 2 => expression(
                "(common_logarithm(_1) / common_logarithm(_0))",
                call.arguments,
            ),
            name if LAMBDA_FUNCTIONS.contains(&name)
                && (arity == 2 || arity == 3 && name.ends_with("reduce")) =>
            {
                return self.lambda(name, call.arguments, span).map(Some);
            }
            "unnest" => {
                let hint =
                    "use UNNEST in FROM: SELECT id, x FROM data CROSS JOIN UNNEST(column) AS t(x)";
                return Err(self.refuse(span, "UNNEST is not allowed within an expression", hint));
            }
            _ => {
                let spelled = SPELLED
                    .iter()
                    .find(|(known, template)| *known == name && arity == places(template));
                match spelled {
                    Some((_, template)) => expression(template, call.arguments),
                    None => {
                        self.check_known(&name, span)?;
                        return Ok(None);
                    }
                }
            }
        };
        Ok(Some(spelled))
    }

    /// True for a call some of whose arguments are times with a zone; then all of them are.
    fn gives_zones(&self, name: &str, arguments: &mut [Expr]) -> bool {
        let values = match (name, arguments) {
            ("if", [_, results @ ..]) => results,
            (name, arguments) if ALIKE_ARGUMENTS.contains(&name) => arguments,
            _ => return false,
        };
        self.give_zones(values.iter_mut().collect())
    }

    /// A part of a time by its name.
    fn part_of_time(&self, unit: &str, time: &Expr) -> Expr {
        let unit = unit.to_lowercase();
        let function = function_of_part(&unit).or((unit == "epoch").then_some("epoch"));
        if let Some(function) = function {
            return function_call(function, vec![time.clone()]);
        }
        function_call("date_part", vec![literal(&unit), time.clone()])
    }

    /// A value of a function that makes JSON, in which JSON stays as it is.
    fn keep_json(&self, value: Expr) -> Expr {
        if self.is_json(&value) {
            expression("json_within(_0)", vec![value])
        } else {
            value
        }
    }

    /// The field of a struct with a number from 1.
    pub(super) fn numbered_field(&self, structs: Expr, number: usize) -> Expr {
        let called = self.extra("__field", |called| {
            struct_values::numbered_field(called, number)
        });
        function_call(&called, vec![structs])
    }

    /// An aggregate of the elements of each list.
    fn aggregate_lists(&self, name: &str, lists: Vec<Expr>) -> Expr {
        let called = self.extra("__list_aggregate", |called| list_aggregate(called, name));
        function_call(&called, lists)
    }

    fn check_known(&self, name: &str, span: Span) -> Result<(), Box<Error>> {
        let is_extra = self
            .0
            .extras
            .borrow()
            .iter()
            .any(|(extra, _)| extra == name);
        if is_extra || ENGINE.contains(&name) || function_registry::is_known(name) {
            return Ok(());
        }
        let mut error = if is_aggregate_name(name) {
            let hint = "aggregations are allowed in SELECT, HAVING, QUALIFY and ORDER BY; \
                compare with one in a subquery: WHERE x > (SELECT avg(x) FROM data)";
            Error::usage(format!("{name}() is not allowed here")).hint(hint)
        } else if WINDOWS.contains(&name) {
            Error::usage(format!("{name}() needs OVER"))
                .hint(format!("{name}() OVER (PARTITION BY k ORDER BY x)"))
        } else if SPELLED
            .iter()
            .chain(&OPERATORS)
            .any(|(known, _)| *known == name)
            || OTHERS.contains(&name)
            || LAMBDA_FUNCTIONS.contains(&name)
        {
            Error::usage(format!("{name}() does not take these arguments"))
        } else {
            Error::usage(format!("there is no function {name}()"))
        };
        if error.hints().is_empty() {
            match advice::of_function(name) {
                Some(instead) => error = error.hint(instead),
                None => {
                    let near = advice::near(name, function_names());
                    if !near.is_empty() {
                        error = error.hint(format!("did you mean {}?", near.join(" or ")));
                    }
                }
            }
        }
        Err(Box::new(self.0.source.locate(error, span)))
    }

    /// List function with a lambda: `list_transform`, `list_filter`, `list_reduce`.
    fn lambda(&self, name: &str, mut arguments: Vec<Expr>, span: Span) -> Result<Expr, Box<Error>> {
        let reduces = name.ends_with("reduce");
        let hint = if reduces {
            "list_reduce(l, (a, b) -> a + b)"
        } else {
            "list_transform(l, x -> x * 2)"
        };
        let initial = if arguments.len() == 3 {
            arguments.pop()
        } else {
            None
        };
        let (body, list) = (arguments.pop(), arguments.pop());
        // The lambda has already been rewritten to `parameter -> body`.
        let parts = match body {
            Some(Expr::Nested(inner)) => match *inner {
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::Arrow,
                    right,
                } => Some((left, right)),
                _ => None,
            },
            _ => None,
        };
        let (Some((parameter, body)), Some(list)) = (parts, list) else {
            return Err(self.refuse(span, "a lambda is missing", hint));
        };
        let parameters: Vec<String> = match strip_parentheses(&parameter) {
            Expr::Identifier(only) => vec![only.value.clone()],
            Expr::Tuple(several) => several.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        // The names that the parameters have in the body.
        let names: &[&str] = if reduces {
            &["x", "y", "i"]
        } else {
            &["x", "i"]
        };
        let least = if reduces { 2 } else { 1 };
        if !(least..=names.len()).contains(&parameters.len()) {
            let summary = format!("this lambda has {least} or {} parameters", names.len());
            return Err(self.refuse(span, summary, hint));
        }
        let mut of_row: Vec<Expr> = Vec::new();
        let mut body = *body;
        let _ = visit_expressions_mut(&mut body, |expr| {
            if let Expr::Identifier(ident) = expr {
                let place = parameters.iter().position(|parameter| {
                    *parameter == ident.value && ident.quote_style != Some('"')
                });
                let called = match place {
                    Some(place) => names[place].to_owned(),
                    None => {
                        let whole = Expr::Identifier(ident.clone());
                        let at = of_row
                            .iter()
                            .position(|known| *known == whole)
                            .unwrap_or_else(|| {
                                of_row.push(whole);
                                of_row.len() - 1
                            });
                        format!("c{at}")
                    }
                };
                *ident = Ident::with_quote('"', called);
            }
            ControlFlow::<()>::Continue(())
        });
        let body = list_lambda::Body {
            sql: body.to_string(),
            functions: self.0.extras.borrow().clone(),
        };
        let called = self.extra("__lambda", |called| {
            if reduces {
                list_lambda::reduction(called, body, initial.is_some())
            } else {
                list_lambda::of_elements(called, body, name.ends_with("filter"))
            }
        });
        let arguments: Vec<Expr> = std::iter::once(list).chain(initial).chain(of_row).collect();
        Ok(function_call(&called, arguments))
    }
}

/// The time of now as the engine reads it.
fn written_now(time: DateTime<Utc>) -> String {
    format!("TIMESTAMP '{}'", time.format("%Y-%m-%d %H:%M:%S%.6f"))
}

/// `round(2.345, 2)` of a written decimal number, which is exact.
fn written_rounding(arguments: &[Expr]) -> Option<Expr> {
    let places = match arguments.get(1) {
        Some(places) => match decimal_of(places)? {
            (places, 0) => u32::try_from(places).ok()?,
            _ => return None,
        },
        None => 0,
    };
    rounded_decimal(decimal_of(arguments.first()?)?, places)
}

/// The aggregate and the part of `list_aggregate(l, 'quantile_cont', 0.9)`.
fn quantile_of_list(arguments: &[Expr]) -> Option<(String, f64)> {
    let [name, part] = arguments else {
        return None;
    };
    let name = text_of(name)?.to_lowercase();
    let is_quantile = ["quantile", "quantile_cont", "quantile_disc"].contains(&name.as_str());
    let part = number(strip_parentheses(part)).filter(|part| (0.0..=1.0).contains(part))?;
    is_quantile.then_some((name, part))
}

/// True for a format of a time that has no year, month or day, or an hour without minutes, which
/// the engine does not read.
fn lacks_parts(format: &str) -> bool {
    let has = |letters: &[char]| has_specifier(format, letters);
    let has_date = has(&['c', 'x', 'F', 'D'])
        || (has(&['Y', 'y', 'G'])
            && (has(&['j']) || (has(&['m', 'b', 'B', 'h']) && has(&['d', 'e']))));
    let has_time = !has(&['H', 'I']) || has(&['M']);
    !(has(&['s']) || has_date && has_time)
}

/// True for a format with one of these letters behind its `%` or `%-`.
fn has_specifier(format: &str, letters: &[char]) -> bool {
    letters.iter().any(|letter| {
        format.contains(&format!("%{letter}")) || format.contains(&format!("%-{letter}"))
    })
}

/// True for units of `date_trunc` of a day and more, whose results are dates.
fn is_unit_of_days(unit: &str) -> bool {
    let unit = unit.to_lowercase();
    let unit = unit.trim_end_matches('s');
    [
        "millennium",
        "century",
        "decade",
        "isoyear",
        "year",
        "quarter",
        "month",
        "week",
        "day",
    ]
    .contains(&unit)
}

/// Number of digits before the point to which `round(x, -2)` rounds.
fn negative_digits(expr: &Expr) -> Option<usize> {
    match strip_parentheses(expr) {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(strip_parentheses(expr))
            .filter(|digits| digits.fract() == 0.0 && (1.0..=308.0).contains(digits))
            .map(|digits| digits as usize),
        _ => None,
    }
}

/// Number of arguments in a template.
fn places(template: &str) -> usize {
    (0..6)
        .filter(|at| template.contains(&format!("_{at}")))
        .count()
}
