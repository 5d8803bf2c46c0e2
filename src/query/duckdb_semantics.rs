//! Rewrites expressions that the engine evaluates differently from DuckDB into equivalent ones; where there is none, refuses the
//! statement with an alternative. Names are already bound: all columns are those of one frame.

use std::cell::RefCell;
use std::ops::ControlFlow;

use chrono::Timelike;
use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::{DataType, Schema};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType as SqlType, DateTimeField, DuplicateTreatment, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident, Interval, OneOrManyWithParens, OrderByExpr,
    Spanned, Subscript, TimezoneInfo, TrimWhereField, TypedString, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Span;

use super::engine::type_name;
use super::functions::{LIST_AGGREGATES, MADE_FIELDS};
use super::source_span::Source;
use super::sql_dialect::POWER;
use super::struct_values::{self, struct_value};
use super::text_patterns::{like_regex, of_whole_text, read_time, text_of, with_options, written_time};
use super::{advice, duckdb_functions, function_registry, functions, list_functions, list_lambda, spatial_functions, typed_texts};
use crate::error::{Error, Result};
use crate::text::PrintableLine;

/// Aggregate functions.
const AGGREGATES: [&str; 74] = [
    "any_value",
    "approx_count_distinct",
    "approx_quantile",
    "arbitrary",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "countif",
    "covar",
    "covar_pop",
    "covar_samp",
    "first",
    "group_concat",
    "last",
    "list",
    "listagg",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "stdev",
    "string_agg",
    "sum",
    "total",
    "var",
    "var_pop",
    "var_samp",
    "variance",
    "stdev_samp",
    "regr_avgx",
    "regr_avgy",
    "bit_and",
    "bit_or",
    "bit_xor",
    "favg",
    "fsum",
    "geomean",
    "geometric_mean",
    "kahan_sum",
    "mad",
    "sumkahan",
    "entropy",
    "skewness",
    "kurtosis",
    "kurtosis_pop",
    "sem",
    "weighted_avg",
    "wavg",
    "histogram",
];

/// Window functions, which require OVER.
const WINDOWS: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Scalar functions with the same name and semantics in the engine.
const ENGINE: [&str; 72] = [
    "abs",
    "acos",
    "acosd",
    "array_get",
    "array_length",
    "array_reverse",
    "asin",
    "asind",
    "atan",
    "atan2",
    "atan2d",
    "atand",
    "bit_count",
    "bit_length",
    "cbrt",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosd",
    "cot",
    "cotd",
    "date_part",
    "degrees",
    "div",
    "ends_with",
    "exp",
    "floor",
    "greatest",
    "if",
    "ifnull",
    "initcap",
    "least",
    "left",
    "length",
    "ln",
    "log1p",
    "lower",
    "lpad",
    "ltrim",
    "mod",
    "normalize",
    "nullif",
    "octet_length",
    "power",
    "pow",
    "radians",
    "regexp_like",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "sign",
    "sin",
    "sind",
    "split_part",
    "sqrt",
    "starts_with",
    "strftime",
    "string_to_array",
    "strptime",
    "substr",
    "tan",
    "tand",
    "trunc",
    "upper",
];

/// Scalar functions as templates over their arguments `_0`, `_1`, ….
const SPELLED: &[(&str, &str)] = &[
    ("date", "CAST(_0 AS DATE)"),
    ("log10", "common_logarithm(_0)"),
    ("log2", "binary_logarithm(_0)"),
    ("pi", "CAST(3.141592653589793 AS DOUBLE)"),
    ("array_concat", "list_concat(_0, _1)"),
    ("array_cat", "list_concat(_0, _1)"),
    ("date_add", "(_0 + _1)"),
    ("list_cat", "list_concat(_0, _1)"),
    ("list_append", "list_concat(_0, list_value(_1))"),
    ("list_prepend", "list_concat(list_value(_0), _1)"),
    ("split", "string_to_array(_0, _1)"),
    ("day", "date_part('day', _0)"),
    ("dayofmonth", "date_part('day', _0)"),
    ("dayofweek", "date_part('dow', _0)"),
    ("dayofyear", "date_part('doy', _0)"),
    ("hour", "date_part('hour', _0)"),
    ("instr", "text_position(_0, _1)"),
    ("isodow", "date_part('isodow', _0)"),
    ("lcase", "lower(_0)"),
    ("left", "CASE WHEN _0 IS NOT NULL THEN left(_0, _1) END"),
    ("array_contains", "list_contains(_0, _1)"),
    ("array_distinct", "list_distinct(_0)"),
    ("array_has", "list_contains(_0, _1)"),
    ("array_sort", "list_sort(_0)"),
    ("array_to_string", "list_text(_0, _1)"),
    ("array_unique", "length_of(list_distinct(_0))"),
    ("list_element", "array_get(_0, _1)"),
    ("list_extract", "array_get(_0, _1)"),
    ("list_has", "list_contains(_0, _1)"),
    ("list_reverse", "array_reverse(_0)"),
    ("list_unique", "length_of(list_distinct(_0))"),
    ("array_slice", "list_slice(_0, _1, _2)"),
    ("array_slice", "list_slice_steps(_0, _1, _2, _3)"),
    ("list_slice", "list_slice_steps(_0, _1, _2, _3)"),
    ("list_sort", "list_sorted(_0, _1, 'NULLS LAST')"),
    ("list_sort", "list_sorted(_0, _1, _2)"),
    ("array_sort", "list_sorted(_0, _1, 'NULLS LAST')"),
    ("array_sort", "list_sorted(_0, _1, _2)"),
    ("list_reverse_sort", "list_sorted(_0, 'DESC', _1)"),
    ("array_reverse_sort", "list_reverse_sort(_0)"),
    ("array_reverse_sort", "list_sorted(_0, 'DESC', _1)"),
    ("array_append", "list_concat(_0, list_value(_1))"),
    ("array_push_back", "list_concat(_0, list_value(_1))"),
    ("array_prepend", "list_concat(list_value(_0), _1)"),
    ("array_push_front", "list_concat(list_value(_1), _0)"),
    ("lpad", "padded_left(_0, _1, _2)"),
    ("rpad", "padded_right(_0, _1, _2)"),
    ("trim", "trimmed(_0, _1)"),
    ("left_grapheme", "left(_0, _1)"),
    ("right_grapheme", "right(_0, _1)"),
    ("struct_extract", "(_0 -> _1)"),
    ("map", "map_value(_0, _1)"),
    ("minute", "date_part('minute', _0)"),
    ("month", "date_part('month', _0)"),
    ("pow", "pow(CAST(_0 AS DOUBLE), _1)"),
    ("power", "pow(CAST(_0 AS DOUBLE), _1)"),
    ("prefix", "starts_with(_0, _1)"),
    ("quarter", "date_part('quarter', _0)"),
    ("regexp_matches", "regexp_like(_0, _1)"),
    ("replace", "CASE WHEN _1 = '' THEN _0 ELSE replace(_0, _1, _2) END"),
    ("right", "CASE WHEN _0 IS NULL THEN NULL WHEN _1 >= length(_0) THEN _0 ELSE right(_0, _1) END"),
    ("second", "date_part('second', _0)"),
    ("str_split", "string_to_array(_0, _1)"),
    ("string_split", "string_to_array(_0, _1)"),
    ("strlen", "octet_length(_0)"),
    ("strpos", "text_position(_0, _1)"),
    ("suffix", "ends_with(_0, _1)"),
    ("ucase", "upper(_0)"),
    ("week", "date_part('week', _0)"),
    ("weekofyear", "date_part('week', _0)"),
    ("year", "date_part('year', _0)"),
];

/// List functions that take a lambda.
pub(super) const LAMBDA_FUNCTIONS: [&str; 11] = [
    "apply",
    "array_apply",
    "array_filter",
    "array_reduce",
    "array_transform",
    "filter",
    "list_apply",
    "list_filter",
    "list_reduce",
    "list_transform",
    "reduce",
];

/// What `version()` gives: the release whose answers queries have.
const DUCKDB_VERSION: &str = "v1.4.4";

/// Functions with special handling.
const OTHERS: [&str; 11] = [
    "current_date",
    "current_timestamp",
    "date_trunc",
    "datetrunc",
    "get_current_timestamp",
    "len",
    "log",
    "now",
    "regexp_full_match",
    "today",
    "unnest",
];

/// Names of all supported functions.
pub(super) fn function_names() -> impl Iterator<Item = &'static str> {
    let spelled = SPELLED.iter().map(|(name, _)| *name);
    let ours = spatial_functions::names().chain(duckdb_functions::names()).chain(list_functions::names()).chain(functions::names());
    AGGREGATES.into_iter().chain(WINDOWS).chain(ENGINE).chain(OTHERS).chain(LAMBDA_FUNCTIONS).chain(spelled).chain(ours)
}

/// Lower-case name of a function.
pub(super) fn name_of(function: &Function) -> String {
    function.name.to_string().trim_matches('"').to_lowercase()
}

/// True for an aggregate call without OVER.
pub(super) fn is_aggregate(function: &Function) -> bool {
    function.over.is_none() && is_aggregate_name(&name_of(function))
}

/// True for the lower-case name of an aggregate function.
pub(super) fn is_aggregate_name(name: &str) -> bool {
    AGGREGATES.contains(&name)
}

/// Source span of a function's name.
pub(super) fn span_of(function: &Function) -> Span {
    function.name.span()
}

/// Reference to a column of the frame.
pub(super) fn column(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}

/// String literal.
pub(super) fn literal(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// True for columns generated by planning, which have no source position.
pub(super) fn is_generated(ident: &Ident) -> bool {
    ident.span == Span::empty()
}

/// Parses `template` and substitutes arguments for `_0`, `_1`, …, each parenthesized.
pub(super) fn expression(template: &str, arguments: Vec<Expr>) -> Expr {
    struct Fill(Vec<Expr>);
    impl VisitorMut for Fill {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(Ident { value, quote_style: None, .. }) = expr
                && let Some(argument) =
                    value.strip_prefix('_').and_then(|digits| digits.parse::<usize>().ok()).and_then(|at| self.0.get(at))
            {
                *expr = argument.clone();
            }
            ControlFlow::Continue(())
        }
    }
    let parsed = Parser::new(&GenericDialect).try_with_sql(template).and_then(|mut parser| parser.parse_expr());
    // Templates are constants of this crate; an invalid one becomes an identifier, which the engine refuses.
    let mut expr = parsed.unwrap_or_else(|_| Expr::Identifier(Ident::new(template)));
    let _ = expr.visit(&mut Fill(arguments.into_iter().map(whole).collect()));
    expr
}

/// Parenthesizes an expression unless it is atomic.
fn whole(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_) | Expr::Value(_) | Expr::Nested(_) | Expr::Function(_) | Expr::Cast { .. } | Expr::TypedString(_) => {
            expr
        }
        Expr::CompoundIdentifier(_) | Expr::Array(_) | Expr::Case { .. } | Expr::Interval(_) => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// Arguments and clauses of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub arguments: Vec<Expr>,
    pub distinct: bool,
    pub order: Vec<OrderByExpr>,
    pub ignores_nulls: bool,
    /// `count(*)`.
    pub star: bool,
    /// Names of the arguments, as in `struct_pack(a := 1)`; empty where one has none.
    pub names: Vec<String>,
}

/// Splits a call into arguments and clauses.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for unsupported clauses inside the parentheses.
pub(super) fn call_of(source: &Source, function: &Function) -> Result<Call> {
    use sqlparser::ast::NullTreatment;
    let unsupported =
        |what: String| source.locate(Error::usage(format!("{}() can't have {what}", name_of(function))), span_of(function));
    let mut call = Call { ignores_nulls: function.null_treatment == Some(NullTreatment::IgnoreNulls), ..Call::default() };
    let FunctionArguments::List(list) = &function.args else { return Ok(call) };
    call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => call.arguments.push(expr.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. }
                if ["struct_pack", "struct_insert"].contains(&name_of(function).as_str()) =>
            {
                call.arguments.push(expr.clone());
                call.names.push(name.value.clone());
            }
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. }
                if name_of(function) == "st_transform" && name.value.eq_ignore_ascii_case("always_xy") =>
            {
                call.arguments.push(expr.clone());
            }
            other => return Err(unsupported(format!("the argument {other}"))),
        }
    }
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(keys) => call.order = nulls_last(keys),
            FunctionArgumentClause::IgnoreOrRespectNulls(NullTreatment::IgnoreNulls) => call.ignores_nulls = true,
            FunctionArgumentClause::IgnoreOrRespectNulls(_) => {}
            other => return Err(unsupported(other.to_string())),
        }
    }
    call.star |= call.arguments.is_empty();
    Ok(call)
}

/// Nulls sort last unless NULLS FIRST is given, for both directions.
fn nulls_last(keys: &[OrderByExpr]) -> Vec<OrderByExpr> {
    let mut keys = keys.to_vec();
    keys.iter_mut().for_each(|key| key.options.nulls_first = Some(key.options.nulls_first.unwrap_or(false)));
    keys
}

/// Removes enclosing parentheses.
pub(super) fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unwrapped(inner),
        other => other,
    }
}

/// True for NULL as it is written, which as a condition is not met.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(unwrapped(expr), Expr::Value(value) if value.value == Value::Null)
}

/// User-defined functions of one statement: windows and lambdas.
pub(super) type Extras = RefCell<Vec<(String, UserDefinedFunction)>>;

/// Prints expressions in the engine's SQL.
pub(super) struct Semantics<'a> {
    pub source: &'a Source<'a>,
    /// Schema of the frame over which the expression is evaluated.
    pub schema: &'a Schema,
    pub extras: &'a Extras,
}

impl Semantics<'_> {
    /// Rewrites an expression and prints it as engine SQL.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown functions, and for expressions without an equivalent in the engine.
    pub fn print(&self, expr: &Expr) -> Result<String> {
        self.rewritten(expr).map(|expr| expr.to_string())
    }

    fn rewritten(&self, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        match expr.visit(&mut Rewrite(self)) {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(expr),
        }
    }

    /// Rewrites an aggregate call and prints it as engine SQL.
    ///
    /// # Errors
    /// As [`Semantics::print`].
    pub fn print_aggregate(&self, function: &Function) -> Result<String> {
        let name = name_of(function);
        let mut call = call_of(self.source, function)?;
        let refused = |summary: String, hint: &str| Err(self.source.locate(Error::usage(summary).hint(hint), span_of(function)));
        let filter = function.filter.as_ref().map(|filter| self.rewritten(filter)).transpose()?;
        if let Some(key) = function.within_group.first() {
            let key_expr = key.expr.clone();
            let descending = key.options.asc == Some(false);
            if name != "mode" {
                let part = call.arguments.first().and_then(number);
                let Some(part) = part.filter(|part| (0.0..=1.0).contains(part)) else {
                    return refused(
                        format!("{name}() takes a number from 0 to 1"),
                        "percentile_cont(0.9) WITHIN GROUP (ORDER BY x)",
                    );
                };
                if descending && name == "percentile_disc" {
                    return refused(
                        "percentile_disc() takes an ascending order".into(),
                        "percentile_cont takes both; or order ascending",
                    );
                }
                let part = if descending { 1.0 - part } else { part };
                call.arguments = vec![key_expr, Expr::value(Value::Number(format!("{part:?}"), false))];
            } else {
                call.arguments = vec![key_expr];
            }
        } else if name.starts_with("percentile_") {
            return refused(format!("{name}() needs WITHIN GROUP"), "percentile_cont(0.9) WITHIN GROUP (ORDER BY x)");
        }
        let mut arguments = call.arguments.iter().map(|argument| self.rewritten(argument)).collect::<Result<Vec<_>>>()?;
        // The engine takes the part of a quantile as it is written.
        for parameter in arguments.iter_mut().skip(1) {
            if let Expr::Cast { expr, data_type: SqlType::Double(_), .. } = parameter
                && number_text(expr).is_some()
            {
                *parameter = *expr.clone();
            }
        }
        for key in &mut call.order {
            key.expr = self.rewritten(&key.expr)?;
        }
        // Rows of several values are told apart by their texts.
        if name == "count"
            && call.distinct
            && let [Expr::Tuple(parts)] = arguments.as_slice()
        {
            let places: Vec<String> = (0..parts.len()).map(|at| format!("_{at}")).collect();
            arguments = vec![expression(&format!("row_text({})", places.join(", ")), parts.clone())];
        }
        // FILTER becomes a CASE that gives null for excluded rows, which most aggregates ignore.
        let only_met = |arguments: &mut Vec<Expr>| {
            if let (Some(filter), Some(first)) = (&filter, arguments.first_mut()) {
                *first = expression("CASE WHEN _1 THEN _0 END", vec![first.clone(), filter.clone()]);
            }
        };
        let collected = |arguments: Vec<Expr>, met: Option<Expr>, order: Vec<OrderByExpr>| {
            let template = if call.distinct { "array_agg(DISTINCT _0)" } else { "array_agg(_0)" };
            let mut expr = expression(template, arguments);
            if let Expr::Function(function) = &mut expr {
                function.filter = met.map(Box::new);
                if let (FunctionArguments::List(list), false) = (&mut function.args, order.is_empty()) {
                    list.clauses.push(FunctionArgumentClause::OrderBy(order));
                }
            }
            expr
        };
        let template = match name.as_str() {
            "count" if call.star => match filter {
                Some(filter) => return Ok(expression("CAST(count(CASE WHEN _0 THEN 1 END) AS BIGINT)", vec![filter]).to_string()),
                None => return Ok("CAST(count(*) AS BIGINT)".into()),
            },
            "approx_count_distinct" => "CAST(count(DISTINCT _0) AS BIGINT)",
            "count" if call.distinct => "CAST(count(DISTINCT _0) AS BIGINT)",
            "count" => "CAST(count(_0) AS BIGINT)",
            "first" | "arbitrary" | "last" | "any_value" => {
                let met = match (name.as_str(), filter) {
                    ("any_value", Some(filter)) => Some(expression(
                        "_0 IS NOT NULL AND _1",
                        vec![arguments.first().cloned().unwrap_or_else(|| literal("")), filter],
                    )),
                    ("any_value", None) => Some(expression("_0 IS NOT NULL", arguments.clone())),
                    (_, filter) => filter,
                };
                if call.order.is_empty() {
                    let mut expr = expression(if name == "last" { "last(_0)" } else { "first(_0)" }, arguments);
                    if let Expr::Function(function) = &mut expr {
                        function.filter = met.map(Box::new);
                    }
                    return Ok(expr.to_string());
                }
                let place = if name == "last" { "array_get(_0, -1)" } else { "array_get(_0, 1)" };
                return Ok(expression(place, vec![collected(arguments, met, call.order.clone())]).to_string());
            }
            "list" | "array_agg" => return Ok(collected(arguments, filter, call.order.clone()).to_string()),
            "string_agg" | "listagg" | "group_concat" => {
                only_met(&mut arguments);
                let mut expr = expression(
                    match (call.distinct, arguments.len()) {
                        (false, 1) => "string_agg(_0)",
                        (false, _) => "string_agg(_0, _1)",
                        (true, 1) => "string_agg(DISTINCT _0)",
                        (true, _) => "string_agg(DISTINCT _0, _1)",
                    },
                    arguments,
                );
                if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut expr
                    && !call.order.is_empty()
                {
                    list.clauses.push(FunctionArgumentClause::OrderBy(call.order.clone()));
                }
                return Ok(expr.to_string());
            }
            "min" | "max" if arguments.len() == 2 => {
                let direction = if name == "max" { "DESC" } else { "ASC" };
                let known = expression("_0 IS NOT NULL", vec![arguments[0].clone()]);
                let met = match filter {
                    Some(filter) => expression("_0 AND _1", vec![known, filter]),
                    None => known,
                };
                let template = format!("list_slice(array_agg(_0 ORDER BY _0 {direction}), 1, _1)");
                let mut expr = expression(&template, arguments);
                let _ = sqlparser::ast::visit_expressions_mut(&mut expr, |part| {
                    if let Expr::Function(function) = part
                        && name_of(function) == "array_agg"
                    {
                        function.filter = Some(Box::new(met.clone()));
                    }
                    ControlFlow::<()>::Continue(())
                });
                return Ok(expr.to_string());
            }
            "quantile" | "quantile_cont" | "quantile_disc" if arguments.get(1).is_some_and(|parts| list_of(parts).is_some()) => {
                let parts = arguments.get(1).and_then(list_of).unwrap_or_default();
                only_met(&mut arguments);
                let of = if name == "quantile_cont" { "quantile_cont" } else { "quantile_disc" };
                let each = parts.into_iter().map(|part| expression(&format!("{of}(_0, _1)"), vec![arguments[0].clone(), part]));
                let each: Vec<Expr> = each.collect();
                let places: Vec<String> = (0..each.len()).map(|at| format!("_{at}")).collect();
                return Ok(expression(&format!("list_value({})", places.join(", ")), each).to_string());
            }
            "sum" if call.distinct => "list_sum(array_agg(DISTINCT _0))",
            "avg" | "mean" if call.distinct => "list_avg(array_agg(DISTINCT _0))",
            "min" | "max" | "bool_and" | "bool_or" if call.distinct => {
                call.distinct = false;
                only_met(&mut arguments);
                return Ok(expression(&format!("{name}(_0)"), arguments).to_string());
            }
            _ if call.distinct => {
                let hint = "take the distinct values in a subquery: SELECT median(x) FROM (SELECT DISTINCT x FROM data) AS t";
                return refused(format!("{name}() can't have DISTINCT"), hint);
            }
            "mean" | "favg" => "avg(_0)",
            "fsum" | "sumkahan" | "kahan_sum" => "sum(CAST(_0 AS DOUBLE))",
            "geometric_mean" => "geomean(_0)",
            "var_samp" => "variance(_0)",
            "stddev_samp" | "std" | "stdev" | "stdev_samp" => "stddev(_0)",
            "var" => "variance(_0)",
            "bit_and" => "all_bits_and(_0)",
            "bit_or" => "all_bits_or(_0)",
            "bit_xor" => "all_bits_xor(_0)",
            "arg_max" | "argmax" | "max_by" if arguments.len() == 3 => "many_at_greatest(_0, _1, _2)",
            "arg_min" | "argmin" | "min_by" if arguments.len() == 3 => "many_at_least(_0, _1, _2)",
            "corr" => "pair_correlation(_0, _1)",
            "covar" | "covar_pop" => "pair_covariance(_0, _1)",
            "covar_samp" => "pair_sample_covariance(_0, _1)",
            "approx_quantile" | "percentile_cont" => "quantile_cont(_0, _1)",
            "quantile" | "percentile_disc" => "quantile_disc(_0, _1)",
            _ => "",
        };
        only_met(&mut arguments);
        if template.is_empty() {
            let places: Vec<String> = (0..arguments.len()).map(|at| format!("_{at}")).collect();
            return Ok(expression(&format!("{name}({})", places.join(", ")), arguments).to_string());
        }
        Ok(expression(template, arguments).to_string())
    }
}

/// Value of a numeric literal.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Rewrites an expression bottom-up.
struct Rewrite<'s, 'a>(&'s Semantics<'a>);

impl Rewrite<'_, '_> {
    fn refuse(&self, span: Span, summary: impl Into<String>, hint: impl Into<String>) -> Box<Error> {
        Box::new(self.0.source.locate(Error::usage(summary).hint(hint), span))
    }

    fn one(&self, expr: &mut Expr) -> Result<(), Box<Error>> {
        let span = expr.span();
        let spelled = match expr {
            Expr::IsTrue(inner) => expression("(_0 <=> TRUE)", vec![*inner.clone()]),
            Expr::IsNotTrue(inner) => expression("((_0 <=> TRUE) = FALSE)", vec![*inner.clone()]),
            Expr::IsFalse(inner) => expression("(_0 <=> FALSE)", vec![*inner.clone()]),
            Expr::IsNotFalse(inner) => expression("((_0 <=> FALSE) = FALSE)", vec![*inner.clone()]),
            Expr::IsUnknown(inner) => expression("(_0 IS NULL)", vec![*inner.clone()]),
            Expr::IsNotUnknown(inner) => expression("(_0 IS NOT NULL)", vec![*inner.clone()]),
            Expr::IsDistinctFrom(left, right) => expression("((_0 <=> _1) = FALSE)", vec![*left.clone(), *right.clone()]),
            Expr::IsNotDistinctFrom(left, right) => expression("(_0 <=> _1)", vec![*left.clone(), *right.clone()]),
            Expr::BinaryOp { left, op: BinaryOperator::Custom(op), right } if op == POWER => {
                expression("pow(CAST(_0 AS DOUBLE), _1)", vec![*left.clone(), *right.clone()])
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply), right }
                if decimal_of(left).is_some() && decimal_of(right).is_some() =>
            {
                match decimal_of(left).zip(decimal_of(right)).and_then(|(left, right)| computed_decimal(left, op, right)) {
                    Some(number) => number,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.read_as_other(left, right)?;
                self.read_as_other(right, left)?;
                return Ok(());
            }
            Expr::Between { expr, low, high, .. } => {
                self.read_as_other(expr, low)?;
                self.read_as_other(expr, high)?;
                return Ok(());
            }
            Expr::Case { conditions, operand: None, .. } => {
                for one in conditions.iter_mut().filter(|one| is_null(&one.condition)) {
                    one.condition = Expr::value(Value::Boolean(false));
                }
                return Ok(());
            }
            Expr::Cast { kind, expr: value, data_type: SqlType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz), .. } => {
                if self.is_text(value) {
                    let template = if *kind == CastKind::TryCast { "instant_of_text(_0, TRUE)" } else { "instant_of_text(_0)" };
                    expression(template, vec![*value.clone()])
                } else {
                    let time = cast_of(kind.clone(), *value.clone(), SqlType::Timestamp(None, TimezoneInfo::None));
                    expression("in_utc(_0)", vec![time])
                }
            }
            Expr::Cast { kind, expr: value, data_type, .. } => {
                widen(data_type);
                if let (true, Some(digits)) = (is_text_type(data_type), written_decimal(value)) {
                    *expr = literal(&digits);
                    return Ok(());
                }
                let Some(text) = text_of(unwrapped(value)).map(str::to_owned) else { return Ok(()) };
                match self.cast_text(&text, kind, data_type, span)? {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                }
            }
            Expr::BinaryOp { left, op: BinaryOperator::BitwiseAnd, right } => two("bits_and(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::BitwiseOr, right } => two("bits_or(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::PGBitwiseShiftLeft, right } => two("shifted_left(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::PGBitwiseShiftRight, right } => two("shifted_right(_0, _1)", left, right),
            Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => expression("bits_not(_0)", vec![*expr.clone()]),
            Expr::UnaryOp { op: UnaryOperator::PGPostfixFactorial, expr } => expression("factorial(_0)", vec![*expr.clone()]),
            Expr::UnaryOp { op: UnaryOperator::PGAbs, expr } => expression("abs(_0)", vec![*expr.clone()]),
            Expr::UnaryOp { op: UnaryOperator::PGSquareRoot, expr } => expression("sqrt(_0)", vec![*expr.clone()]),
            Expr::UnaryOp { op: UnaryOperator::PGCubeRoot, expr } => expression("cbrt(_0)", vec![*expr.clone()]),
            Expr::BinaryOp { left, op: BinaryOperator::AtArrow, right } => two("list_has_all(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::ArrowAt, right } => two("list_has_all(_1, _0)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, right } => two("list_has_any(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } if self.is_text(left) => two("json_extract(_0, _1)", left, right),
            Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right } if self.is_text(left) => {
                two("json_extract_string(_0, _1)", left, right)
            }
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } if self.is_list(left) || self.is_list(right) => {
                two("list_concat(_0, _1)", left, right)
            }
            Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right }
                if matches!((left.as_ref(), right.as_ref()), (Expr::Nested(_), _) | (_, Expr::Nested(_)))
                    && (is_interval(left) || is_interval(right)) =>
            {
                for side in [left, right] {
                    if is_interval(side) {
                        **side = unwrapped(side).clone();
                    }
                }
                return Ok(());
            }// Seconds since 1970, of dates too.
            Expr::Extract { field: DateTimeField::Epoch, expr, .. } => expression("epoch(_0)", vec![*expr.clone()]),
            Expr::AnyOp { left, compare_op, right, .. } if list_of(right).is_some() => {
                let values = list_of(right).unwrap_or_default();
                compared_with_each(left, compare_op, values, BinaryOperator::Or)
            }
            Expr::AllOp { left, compare_op, right } if list_of(right).is_some() => {
                let values = list_of(right).unwrap_or_default();
                compared_with_each(left, compare_op, values, BinaryOperator::And)
            }
            // Numbers are conditions; of two numbers the engine takes AND for the operator of their bits.
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right }
                if self.is_whole(left) || self.is_whole(right) =>
            {
                for side in [left, right] {
                    if self.is_whole(side) {
                        **side = expression("CAST(_0 AS BOOLEAN)", vec![*side.clone()]);
                    }
                }
                return Ok(());
            }
            // A date and a number of days.
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right }
                if self.is_date(left) && self.is_whole(right)
                    || *op == BinaryOperator::Plus && self.is_whole(left) && self.is_date(right) =>
            {
                let days = |side: &Expr| expression("CAST(_0 AS INTEGER)", vec![side.clone()]);
                let template = format!("CAST(CAST((_0 {op} _1) AS INTEGER) AS DATE)");
                expression(&template, vec![days(left), days(right)])
            }
            Expr::BinaryOp { left, op: BinaryOperator::PGRegexMatch, right } => self.matched_whole(false, left, right, span)?,
            Expr::BinaryOp { left, op: BinaryOperator::PGRegexNotMatch, right } => self.matched_whole(true, left, right, span)?,
            Expr::BinaryOp { op: op @ (BinaryOperator::PGRegexIMatch | BinaryOperator::PGRegexNotIMatch), .. } => {
                return Err(self.refuse(span, format!("there is no operator {op}"), "in any case: regexp_matches(id, 's.*', 'i')"));
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char: None } => self.matched_whole(*negated, expr, pattern, span)?,
            Expr::Like { negated, any: false, expr, pattern, escape_char: escape @ Some(_) } => {
                self.escaped_like(*negated, expr, pattern, escape.as_ref(), false, span)?
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: escape @ Some(_) } => {
                self.escaped_like(*negated, expr, pattern, escape.as_ref(), true, span)?
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let from = substring_from.as_deref().cloned().unwrap_or_else(|| Expr::value(Value::Number("1".into(), false)));
                match substring_for {
                    Some(count) => expression("text_slice(_0, _1, _2)", vec![*expr.clone(), from, *count.clone()]),
                    None => expression("text_slice(_0, _1)", vec![*expr.clone(), from]),
                }
            }
            Expr::InList { expr, list, .. } if list.iter().any(|value| text_of(value).is_some()) && self.reads_texts(expr) => {
                let of = expr.clone();
                for value in list.iter_mut() {
                    self.read_as_other(&of, value)?;
                }
                if list.iter().any(is_fraction) {
                    list.iter_mut().for_each(make_fraction);
                }
                return Ok(());
            }
            Expr::InList { expr, list, negated } if !list.iter().all(is_constant) => {
                let equal = |value: &Expr| match (expr.as_ref(), value) {
                    (Expr::Tuple(left), Expr::Tuple(right)) if left.len() == right.len() => {
                        let pairs = left.iter().zip(right).map(|(left, right)| expression("(_0 = _1)", vec![left.clone(), right.clone()]));
                        pairs.reduce(|all, one| expression("(_0 AND _1)", vec![all, one])).unwrap_or_else(|| literal(""))
                    }
                    _ => expression("(_0 = _1)", vec![*expr.clone(), value.clone()]),
                };
                let any = list.iter().map(equal).reduce(|all, one| Expr::BinaryOp {
                    left: Box::new(all),
                    op: BinaryOperator::Or,
                    right: Box::new(one),
                });
                let Some(any) = any else { return Ok(()) };
                let any = Expr::Nested(Box::new(any));
                if *negated { expression("(NOT _0)", vec![any]) } else { any }
            }
            // The engine takes numbers of one type.
            Expr::InList { list, .. } if list.iter().any(is_fraction) => {
                list.iter_mut().for_each(make_fraction);
                return Ok(());
            }
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => match spelled_number(text) {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                },
                Value::Placeholder(_) => {
                    return Err(self.refuse(value.span, "there are no placeholders", "write the value itself"));
                }
                _ => return Ok(()),
            },
            Expr::TypedString(typed) => {
                let text = match &typed.value.value {
                    Value::SingleQuotedString(text) => text.clone(),
                    _ => return Ok(()),
                };
                match self.cast_text(&text, &CastKind::Cast, &typed.data_type, span)? {
                    Some(spelled) => spelled,
                    None => return Ok(()),
                }
            }
            Expr::Interval(interval) => {
                let hint = "write the number itself: INTERVAL 3 DAY";
                let spelled = spelled_interval(interval).ok_or_else(|| self.refuse(span, "an interval is of a number and a unit", hint))?;
                *interval = spelled;
                return Ok(());
            }
            Expr::AtTimeZone { timestamp, time_zone } => two("timezone(_0, _1)", time_zone, timestamp),
            Expr::Position { expr, r#in } => expression("text_position(_0, _1)", vec![*r#in.clone(), *expr.clone()]),
            Expr::Trim { trim_where, trim_what, trim_characters, .. } => {
                if let Some([characters]) = trim_characters.as_deref() {
                    *trim_what = Some(Box::new(characters.clone()));
                    *trim_where = Some(trim_where.unwrap_or(TrimWhereField::Both));
                    *trim_characters = None;
                }
                return Ok(());
            }
            // An arrow outside of list functions accesses a struct field.
            Expr::Lambda(lambda) => {
                let root = match &lambda.params {
                    OneOrManyWithParens::One(parameter) => Expr::Identifier(parameter.name.clone()),
                    OneOrManyWithParens::Many(several) => {
                        Expr::Tuple(several.iter().map(|parameter| Expr::Identifier(parameter.name.clone())).collect())
                    }
                };
                expression("(_0 -> _1)", vec![root, *lambda.body.clone()])
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let mut value = *root.clone();
                for access in access_chain.iter() {
                    value = self.accessed(value, access, span)?;
                }
                value
            }
            Expr::Array(array) if !array.elem.is_empty() => {
                let places: Vec<String> = (0..array.elem.len()).map(|at| format!("_{at}")).collect();
                expression(&format!("list_value({})", places.join(", ")), array.elem.clone())
            }
            Expr::Dictionary(fields) => {
                let (names, values) = fields.iter().map(|field| (field.key.value.clone(), *field.value.clone())).unzip();
                self.struct_of(names, values, span)?
            }
            Expr::Map(map) => {
                let (keys, values): (Vec<Expr>, Vec<Expr>) =
                    map.entries.iter().map(|entry| (*entry.key.clone(), *entry.value.clone())).unzip();
                if keys.is_empty() {
                    return Err(self.refuse(span, "a map without entries has no type", "write an entry: MAP {'a': 1}"));
                }
                let list = |values: Vec<Expr>| {
                    let places: Vec<String> = (0..values.len()).map(|at| format!("_{at}")).collect();
                    expression(&format!("list_value({})", places.join(", ")), values)
                };
                two("map_value(_0, _1)", &list(keys), &list(values))
            }
            Expr::Struct { .. } => {
                return Err(self.refuse(span, "a struct can't be written so", "write {'a': 1}, or struct_pack(a := 1)"));
            }
            Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) => {
                return Err(self.refuse(span, "several groupings at once are not supported", "GROUP BY ROLLUP (a, b)"));
            }
            Expr::Function(function) => match self.called(function)? {
                Some(spelled) => spelled,
                None => return Ok(()),
            },
            Expr::AllOp { .. }
            | Expr::AnyOp { .. }
            | Expr::Array(_)
            | Expr::BinaryOp { .. }
            | Expr::Case { .. }
            | Expr::Ceil { .. }
            | Expr::Extract { .. }
            | Expr::Floor { .. }
            | Expr::ILike { .. }
            | Expr::Identifier(_)
            | Expr::InList { .. }
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::Like { .. }
            | Expr::Nested(_)
            | Expr::RLike { .. }
            // Tuples are handled with their IN.
            | Expr::Tuple(_)
            | Expr::UnaryOp { .. } => return Ok(()),
            other => {
                let hint = "of expressions there are operators, CASE, CAST, IN, LIKE, BETWEEN, functions and subqueries";
                return Err(self.refuse(span, format!("{other} is not supported"), hint));
            }
        };
        *expr = spelled;
        Ok(())
    }

    /// A struct of values with their names, as a call of a function of this statement.
    fn struct_of(&self, names: Vec<String>, values: Vec<Expr>, span: Span) -> Result<Expr, Box<Error>> {
        if let Some(name) = struct_values::repeated_name(&names) {
            let summary = format!("a struct has the field {} twice", name.printable_line());
            return Err(self.refuse(span, summary, "give each field a name of its own"));
        }
        let called = self.extra("__struct", |called| struct_value(called, names));
        let places: Vec<String> = (0..values.len()).map(|at| format!("_{at}")).collect();
        Ok(expression(&format!("{called}({})", places.join(", ")), values))
    }

    /// Adds a function of this statement alone, and returns its name.
    fn extra(&self, prefix: &str, made: impl FnOnce(&str) -> UserDefinedFunction) -> String {
        let mut extras = self.0.extras.borrow_mut();
        let called = format!("{prefix}{}", extras.len());
        extras.push((called.clone(), made(&called)));
        called
    }

    /// True for columns and calls that are maps.
    fn is_map(&self, expr: &Expr) -> bool {
        let is_pair = |item: &DataType| match item {
            DataType::Struct(fields) => {
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                names == MADE_FIELDS || names == ["key", "value"]
            }
            _ => false,
        };
        match expr {
            Expr::Function(function) => matches!(name_of(function).as_str(), "map_value" | "map_from_entries"),
            Expr::Nested(inner) => self.is_map(inner),
            other => matches!(self.dtype_of(other), Some(DataType::List(item)) if is_pair(item)),
        }
    }

    /// True for columns and constants that are lists.
    fn is_list(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Array(_) => true,
            Expr::Function(function) => {
                matches!(name_of(function).as_str(), "list_value" | "list_concat" | "list_sort" | "list_distinct")
            }
            Expr::Nested(inner) => self.is_list(inner),
            other => matches!(self.dtype_of(other), Some(DataType::List(_))),
        }
    }

    fn dtype_of(&self, expr: &Expr) -> Option<&DataType> {
        match expr {
            Expr::Identifier(ident) => self.0.schema.get(&ident.value),
            Expr::Nested(inner) => self.dtype_of(inner),
            _ => None,
        }
    }

    /// True for columns and constants whose values are compared with texts by reading the texts.
    fn reads_texts(&self, expr: &Expr) -> bool {
        let is_number = |digits: &mut String| !digits.is_empty();
        digits_of(&mut expr.clone()).is_some_and(is_number)
            || self.dtype_of(expr).is_some_and(|dtype| dtype.is_primitive_numeric() || *dtype == DataType::Boolean)
    }

    /// A text that is compared with a number or a truth value becomes one.
    fn read_as_other(&self, other: &Expr, text: &mut Expr) -> Result<(), Box<Error>> {
        if let (Some(written), true) = (text_of(text), self.is_date(other))
            && let Some(day) = typed_texts::date(written)
        {
            *text = Expr::TypedString(typed_string(SqlType::Date, day.to_string()));
            return Ok(());
        }
        let (Some(written), true) = (text_of(text).map(str::to_owned), self.reads_texts(other)) else { return Ok(()) };
        let dtype = self.dtype_of(other).cloned().unwrap_or(DataType::Float64);
        let trimmed = written.trim();
        let read = match &dtype {
            DataType::Boolean => typed_texts::boolean(&written).map(|truth| Expr::value(Value::Boolean(truth))),
            dtype if dtype.is_integer() => typed_texts::integer(&written).and_then(whole_number),
            _ => trimmed.parse::<f64>().ok().map(|_| {
                let (sign, digits) = trimmed.strip_prefix('-').map_or(("", trimmed), |digits| ("-", digits));
                match digits.bytes().next() {
                    Some(b'0'..=b'9') => expression(
                        &format!("{sign}{}", spelled_number(digits).map_or(digits.to_owned(), |n| n.to_string())),
                        Vec::new(),
                    ),
                    _ => expression("CAST(_0 AS DOUBLE)", vec![literal(trimmed)]),
                }
            }),
        };
        let Some(read) = read else {
            let summary =
                format!("the text '{}' is compared with values of the type {}", written.printable_line(), type_name(&dtype));
            return Err(self.refuse(text.span(), summary, "compare texts: CAST(x AS VARCHAR) = 'a'"));
        };
        *text = read;
        Ok(())
    }

    /// A text that is cast to a type, as a constant of it; `None` for types whose texts the engine reads as DuckDB does.
    fn cast_text(&self, text: &str, kind: &CastKind, to: &SqlType, span: Span) -> Result<Option<Expr>, Box<Error>> {
        let (read, asked) = match to {
            SqlType::Boolean | SqlType::Bool => {
                (typed_texts::boolean(text).map(|truth| Expr::value(Value::Boolean(truth))), "BOOLEAN")
            }
            SqlType::Date => {
                let day = typed_texts::date(text);
                (day.map(|day| Expr::TypedString(typed_string(SqlType::Date, day.to_string()))), "DATE")
            }
            SqlType::Timestamp(None, TimezoneInfo::None) | SqlType::Datetime(None) => {
                let time = typed_texts::timestamp(text).map(|time| {
                    let form = if time.nanosecond() == 0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S%.6f" };
                    time.format(form).to_string()
                });
                (time.map(|time| Expr::TypedString(typed_string(to.clone(), time))), "TIMESTAMP")
            }
            SqlType::Time(None, TimezoneInfo::None) => {
                let time = typed_texts::time_of_day(text).map(|time| time.format("%H:%M:%S%.f").to_string());
                (time.map(|time| Expr::TypedString(typed_string(to.clone(), time))), "TIME")
            }
            SqlType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                let instant = expression("instant_of_text(_0)", vec![literal(text)]);
                (typed_texts::instant(text).map(|_| instant), "TIMESTAMPTZ")
            }
            to if is_integer(to) => {
                let number = typed_texts::integer(text).and_then(whole_number);
                (number.map(|number| cast_of(kind.clone(), number, to.clone())), "number of this type")
            }
            _ => return Ok(None),
        };
        match (read, kind) {
            (Some(read), _) => Ok(Some(read)),
            (None, CastKind::TryCast) => Ok(Some(cast_of(CastKind::Cast, Expr::value(Value::Null), to.clone()))),
            (None, _) => {
                let summary = format!("the text '{}' is no {asked}", text.printable_line());
                Err(self.refuse(span, summary, "TRY_CAST gives null for such texts"))
            }
        }
    }

    /// True for columns, constants and calls that are texts.
    fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
            Expr::Cast { data_type, .. } => is_text_type(data_type),
            Expr::Function(function) => {
                let name = name_of(function);
                TEXTS.contains(&name.as_str()) || functions::gives_text(&name)
            }
            Expr::Substring { .. } | Expr::Trim { .. } => true,
            Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => true,
            Expr::Nested(inner) => self.is_text(inner),
            other => matches!(self.dtype_of(other), Some(DataType::String)),
        }
    }

    /// True for columns and constants that are dates.
    fn is_date(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { data_type, .. } => *data_type == SqlType::Date,
            Expr::TypedString(typed) => typed.data_type == SqlType::Date,
            other => self.dtype_of(other) == Some(&DataType::Date),
        }
    }

    /// True for columns and constants that are whole numbers.
    fn is_whole(&self, expr: &Expr) -> bool {
        let digits = |digits: &mut String| digits.bytes().all(|byte| byte.is_ascii_digit());
        digits_of(&mut expr.clone()).is_some_and(digits) || self.dtype_of(expr).is_some_and(DataType::is_integer)
    }

    /// A match of the whole text, as of `~`, SIMILAR TO and `regexp_full_match`.
    fn matched_whole(&self, negated: bool, value: &Expr, pattern: &Expr, span: Span) -> Result<Expr, Box<Error>> {
        let Some(pattern) = text_of(pattern) else {
            return Err(self.refuse(span, "the pattern is no text", "write the pattern itself: id SIMILAR TO 's.*'"));
        };
        Ok(matched(negated, value.clone(), &of_whole_text(pattern)))
    }

    fn escaped_like(
        &self,
        negated: bool,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
        any_case: bool,
        span: Span,
    ) -> Result<Expr, Box<Error>> {
        let hint = "write the pattern itself, and one character: id LIKE 's#_%' ESCAPE '#'";
        let regex = text_of(pattern).ok_or("a pattern that is no text").and_then(|text| like_regex(text, escape, any_case));
        let regex = regex.map_err(|reason| self.refuse(span, format!("LIKE does not take {reason}"), hint))?;
        Ok(matched(negated, value.clone(), &regex))
    }

    /// `regexp_matches`, or `regexp_full_match` if `whole`, with its options.
    fn matched_with(&self, whole: bool, arguments: &[Expr], span: Span) -> Result<Expr, Box<Error>> {
        let hint = "write the pattern and its options themselves: regexp_matches(id, '^S', 'i')";
        let (Some(pattern), Some(options)) = (text_of(&arguments[1]), arguments.get(2).map_or(Some(""), text_of)) else {
            return Err(self.refuse(span, "the pattern is no text", hint));
        };
        let pattern = with_options(pattern, options)
            .map_err(|option| self.refuse(span, format!("{option} is no option of a pattern: i, s, l, c, m, n, p"), hint))?;
        Ok(matched(false, arguments[0].clone(), &if whole { of_whole_text(&pattern) } else { pattern }))
    }

    /// List element, list slice, or struct field.
    fn accessed(&self, value: Expr, access: &AccessExpr, span: Span) -> Result<Expr, Box<Error>> {
        let one = || Expr::value(Value::Number("1".into(), false));
        Ok(match access {
            AccessExpr::Subscript(Subscript::Index { index }) if self.is_map(&value) => {
                expression("map_extract_value(_0, _1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Index { index: Expr::Value(key) })
                if matches!(key.value, Value::SingleQuotedString(_)) =>
            {
                expression("(_0 -> _1)", vec![value, Expr::Value(key.clone())])
            }
            AccessExpr::Subscript(Subscript::Index { index }) if self.is_text(&value) => {
                expression("text_slice(_0, _1, 1)", vec![value, index.clone()])
            }
            AccessExpr::Subscript(Subscript::Index { index }) => expression("array_get(_0, _1)", vec![value, index.clone()]),
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) => {
                let from = lower_bound.clone().unwrap_or_else(one);
                let to = upper_bound.clone().unwrap_or_else(|| expression("-1", Vec::new()));
                expression("list_slice(_0, _1, _2)", vec![value, from, to])
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: Some(step) }) => {
                let from = lower_bound.clone().unwrap_or_else(one);
                let to = upper_bound.clone().unwrap_or_else(|| expression("-1", Vec::new()));
                expression("list_slice_steps(_0, _1, _2, _3)", vec![value, from, to, step.clone()])
            }
            AccessExpr::Dot(Expr::Identifier(field)) => expression("(_0 -> _1)", vec![value, literal(&field.value)]),
            AccessExpr::Dot(_) => return Err(self.refuse(span, "this is no field of a struct", "name the field: (column).field")),
        })
    }

    /// The call in the engine's spelling; `None` if unchanged.
    fn called(&self, function: &mut Function) -> Result<Option<Expr>, Box<Error>> {
        let (name, span) = (name_of(function), span_of(function));
        let call = call_of(self.0.source, function).map_err(Box::new)?;
        let time = chrono::Utc::now();
        let arity = call.arguments.len();
        let spelled = match name.as_str() {
            "now" | "current_timestamp" | "get_current_timestamp" if arity == 0 => {
                expression(&format!("TIMESTAMP '{}'", time.format("%Y-%m-%d %H:%M:%S")), Vec::new())
            }
            "today" | "current_date" if arity == 0 => expression(&format!("DATE '{}'", time.format("%Y-%m-%d")), Vec::new()),
            "len" | "length" if arity == 1 => match &call.arguments[0] {
                value if self.is_text(value) => expression("length(_0)", call.arguments),
                value if self.dtype_of(value).is_some_and(DataType::is_list) => expression("array_length(_0)", call.arguments),
                _ => expression("length_of(_0)", call.arguments),
            },
            "date_trunc" | "datetrunc" if arity == 2 => {
                let is_large = text_of(&call.arguments[0]).is_some_and(is_unit_of_days);
                let template = if is_large { "days_of_trunc(_0, _1)" } else { "times_of_trunc(_0, _1)" };
                expression(template, call.arguments)
            }
            "date_part" | "datepart"
                if arity == 2 && text_of(&call.arguments[0]).is_some_and(|unit| unit.eq_ignore_ascii_case("epoch")) =>
            {
                expression("epoch(_0)", vec![call.arguments[1].clone()])
            }
            "round" if arity == 2 && negative_digits(&call.arguments[1]).is_some() => {
                let power = negative_digits(&call.arguments[1]).unwrap_or(0);
                let scale = format!("1{}.0", "0".repeat(power));
                // Of numbers that are infinite or not a number it is 0.
                let rounded = format!("(round(_0 / {scale}, 0) * {scale})");
                expression(&format!("CASE WHEN isfinite({rounded}) OR _0 IS NULL THEN {rounded} ELSE 0.0 END"), call.arguments)
            }
            "list_aggregate" | "list_aggr" | "array_aggregate" | "array_aggr" if arity == 2 => {
                let wanted = text_of(&call.arguments[1]).unwrap_or("").to_lowercase();
                let Some((_, of)) = LIST_AGGREGATES.iter().find(|(name, _)| *name == wanted) else {
                    let hint = "there are sum, avg, min, max, count, median, mode, …; for others CROSS JOIN UNNEST(list) AS t(x), then GROUP BY";
                    return Err(self.refuse(span, "this aggregate of a list is not supported", hint));
                };
                expression(&format!("{of}(_0)"), vec![call.arguments[0].clone()])
            }
            "list_aggregate" | "list_aggr" if arity == 3 && text_of(&call.arguments[1]) == Some("string_agg") => {
                expression("list_text(_0, _1)", vec![call.arguments[0].clone(), call.arguments[2].clone()])
            }
            "array_value" | "list_pack" if arity > 0 => {
                let places: Vec<String> = (0..arity).map(|at| format!("_{at}")).collect();
                expression(&format!("list_value({})", places.join(", ")), call.arguments)
            }
            "struct_pack" if arity > 0 && call.names.len() == arity => self.struct_of(call.names, call.arguments, span)?,
            "struct_insert" if arity > 1 && call.names.len() + 1 == arity => {
                let called = self.extra("__struct", |called| struct_values::longer_struct(called, call.names));
                let places: Vec<String> = (0..arity).map(|at| format!("_{at}")).collect();
                expression(&format!("{called}({})", places.join(", ")), call.arguments)
            }
            "st_transform" if arity == 4 => {
                match &mut function.args {
                    FunctionArguments::List(list) => {
                        list.args =
                            call.arguments.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
                    }
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            "version" if arity == 0 => literal(DUCKDB_VERSION),
            "regexp_extract" if arity == 3 && list_of(&call.arguments[2]).is_some() => {
                let names = list_of(&call.arguments[2]).unwrap_or_default();
                let names: Option<Vec<String>> = names.iter().map(|name| text_of(name).map(str::to_owned)).collect();
                let Some(names) = names.filter(|names| !names.is_empty()) else {
                    return Err(self.refuse(
                        span,
                        "the names of groups are texts",
                        "regexp_extract(id, '(\\d+)_(\\d+)', ['x', 'y'])",
                    ));
                };
                let group = |at: usize| expression(&format!("regexp_extract(_0, _1, {at})"), call.arguments[..2].to_vec());
                let groups = (1..=names.len()).map(group).collect();
                self.struct_of(names, groups, span)?
            }
            "row" if arity > 0 => self.struct_of(struct_values::unnamed(arity), call.arguments, span)?,
            "time_bucket" if arity >= 2 => {
                let width = interval_text(&call.arguments[0]).or_else(|| text_of(&call.arguments[0]).map(str::to_owned));
                let Some(width) = width else {
                    return Err(self.refuse(span, "the width of a bucket is an interval", "time_bucket(INTERVAL 1 MONTH, date)"));
                };
                match &mut function.args {
                    FunctionArguments::List(list) => list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(literal(&width))),
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            "range" | "generate_series" if arity == 3 && interval_text(&call.arguments[2]).is_some() => {
                let text = interval_text(&call.arguments[2]).unwrap_or_default();
                let of = if name == "range" { "times_before" } else { "times_until" };
                let [start, end, _] = call.arguments.as_slice() else { return Ok(None) };
                expression(&format!("{of}(_0, _1, _2)"), vec![start.clone(), end.clone(), literal(&text)])
            }
            "epoch_ms" if arity == 1 && self.is_whole(&call.arguments[0]) => expression("time_of_ms(_0)", call.arguments),
            "random" if arity == 0 => {
                let Some(column_name) = self.0.schema.iter_names().next() else { return Ok(None) };
                // Calls are told apart by their position in the statement.
                let number = span.start.line * 1_000_000 + span.start.column;
                expression(&format!("random_number(_0, {number})"), vec![column(column_name)])
            }
            "typeof" if arity == 1 => match written_type(&call.arguments[0]) {
                Some(name) => literal(&name),
                None => expression("type_of(_0)", call.arguments),
            },
            "regexp_full_match" if arity == 2 || arity == 3 => self.matched_with(true, &call.arguments, span)?,
            "regexp_matches" if arity == 3 => self.matched_with(false, &call.arguments, span)?,
            "strptime" if arity == 2 && text_of(&call.arguments[1]).is_some_and(lacks_parts) => {
                expression("incomplete_time(_0, _1)", call.arguments)
            }
            "strftime" | "strptime" if arity == 2 && text_of(&call.arguments[1]).is_some() => {
                let spelled = if name == "strftime" { written_time } else { read_time };
                let Some(format) = text_of(&call.arguments[1]).map(spelled) else { return Ok(None) };
                let value = match call.arguments[0].clone() {
                    // The engine writes no time of day for dates.
                    value if name == "strftime" && self.is_date(&value) => expression("CAST(_0 AS TIMESTAMP)", vec![value]),
                    value => value,
                };
                match &mut function.args {
                    FunctionArguments::List(list) => {
                        list.args = [value, literal(&format)].map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).into();
                    }
                    _ => return Ok(None),
                }
                return Ok(None);
            }
            // The engine has other texts for times here.
            "concat" | "concat_ws" => {
                let is_text = |argument: &Expr| matches!(argument, Expr::Value(_));
                let text = |(at, argument)| if is_text(argument) { format!("_{at}") } else { format!("CAST(_{at} AS VARCHAR)") };
                let texts: Vec<String> = call.arguments.iter().enumerate().map(text).collect();
                expression(&format!("{name}({})", texts.join(", ")), call.arguments)
            }
            "log" if arity == 1 => expression("common_logarithm(_0)", call.arguments),
            "log" if arity == 2 => expression("(common_logarithm(_1) / common_logarithm(_0))", call.arguments),
            name if LAMBDA_FUNCTIONS.contains(&name) && (arity == 2 || arity == 3 && name.ends_with("reduce")) => {
                return self.lambda(name, call.arguments, span).map(Some);
            }
            "unnest" => {
                let hint = "use UNNEST in FROM: SELECT id, x FROM data CROSS JOIN UNNEST(column) AS t(x)";
                return Err(self.refuse(span, "UNNEST can't stand within an expression", hint));
            }
            _ => {
                let spelled = SPELLED.iter().find(|(known, template)| *known == name && arity == places(template));
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

    fn check_known(&self, name: &str, span: Span) -> Result<(), Box<Error>> {
        let is_extra = self.0.extras.borrow().iter().any(|(extra, _)| extra == name);
        if is_extra || ENGINE.contains(&name) || function_registry::is_known(name) {
            return Ok(());
        }
        let mut error = if is_aggregate_name(name) {
            let hint = "aggregations stand in SELECT, HAVING, QUALIFY and ORDER BY; compare with one in a subquery: WHERE x > (SELECT avg(x) FROM data)";
            Error::usage(format!("{name}() can't stand here")).hint(hint)
        } else if WINDOWS.contains(&name) {
            Error::usage(format!("{name}() needs OVER")).hint(format!("{name}() OVER (PARTITION BY k ORDER BY x)"))
        } else if SPELLED.iter().any(|(known, _)| *known == name) || OTHERS.contains(&name) || LAMBDA_FUNCTIONS.contains(&name) {
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
        let hint = if reduces { "list_reduce(l, (a, b) -> a + b)" } else { "list_transform(l, x -> x * 2)" };
        let initial = if arguments.len() == 3 { arguments.pop() } else { None };
        let (body, list) = (arguments.pop(), arguments.pop());
        // The lambda has already been rewritten to `parameter -> body`.
        let parts = match body {
            Some(Expr::Nested(inner)) => match *inner {
                Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => Some((left, right)),
                _ => None,
            },
            _ => None,
        };
        let (Some((parameter, body)), Some(list)) = (parts, list) else {
            return Err(self.refuse(span, "a lambda is missing", hint));
        };
        let parameters: Vec<String> = match unwrapped(&parameter) {
            Expr::Identifier(only) => vec![only.value.clone()],
            Expr::Tuple(several) => several.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        // The names that the parameters have in the body.
        let names: &[&str] = if reduces { &["x", "y", "i"] } else { &["x", "i"] };
        let least = if reduces { 2 } else { 1 };
        if !(least..=names.len()).contains(&parameters.len()) {
            let summary = format!("this lambda has {least} or {} parameters", names.len());
            return Err(self.refuse(span, summary, hint));
        }
        let mut of_row: Vec<Expr> = Vec::new();
        let mut body = *body;
        let _ = sqlparser::ast::visit_expressions_mut(&mut body, |expr| {
            if let Expr::Identifier(ident) = expr {
                let place = parameters.iter().position(|parameter| *parameter == ident.value && ident.quote_style != Some('"'));
                let called = match place {
                    Some(place) => names[place].to_owned(),
                    None => {
                        let whole = Expr::Identifier(ident.clone());
                        let at = of_row.iter().position(|known| *known == whole).unwrap_or_else(|| {
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
        let body = list_lambda::Body { sql: body.to_string(), functions: self.0.extras.borrow().clone() };
        let called = self.extra("__lambda", |called| match reduces {
            true => list_lambda::reduction(called, body, initial.is_some()),
            false => list_lambda::of_elements(called, body, name.ends_with("filter")),
        });
        let arguments: Vec<Expr> = std::iter::once(list).chain(initial).chain(of_row).collect();
        let places: Vec<String> = (0..arguments.len()).map(|at| format!("_{at}")).collect();
        Ok(expression(&format!("{called}({})", places.join(", ")), arguments))
    }
}

impl VisitorMut for Rewrite<'_, '_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match self.one(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Functions whose results are texts.
const TEXTS: [&str; 27] = [
    "chr",
    "concat",
    "concat_ws",
    "dayname",
    "initcap",
    "lcase",
    "left",
    "list_text",
    "lower",
    "lpad",
    "ltrim",
    "monthname",
    "regexp_extract",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "sha256",
    "split_part",
    "strftime",
    "substr",
    "text_slice",
    "translate",
    "upper",
];

/// True for a format of a time that has no year, month or day, or an hour without minutes, which the engine does not read.
fn lacks_parts(format: &str) -> bool {
    let has = |letters: &[char]| {
        letters.iter().any(|letter| format.contains(&format!("%{letter}")) || format.contains(&format!("%-{letter}")))
    };
    let has_date =
        has(&['c', 'x', 'F', 'D']) || (has(&['Y', 'y', 'G']) && (has(&['j']) || (has(&['m', 'b', 'B', 'h']) && has(&['d', 'e']))));
    let has_time = !has(&['H', 'I']) || has(&['M']);
    !(has(&['s']) || has_date && has_time)
}

/// True for units of `date_trunc` of a day and more, whose results are dates.
fn is_unit_of_days(unit: &str) -> bool {
    let unit = unit.to_lowercase();
    let unit = unit.trim_end_matches('s');
    ["millennium", "century", "decade", "year", "quarter", "month", "week", "day"].contains(&unit)
}

/// Number of digits before the point to which `round(x, -2)` rounds.
fn negative_digits(expr: &Expr) -> Option<usize> {
    match unwrapped(expr) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(unwrapped(expr))
            .filter(|digits| digits.fract() == 0.0 && (1.0..=18.0).contains(digits))
            .map(|digits| digits as usize),
        _ => None,
    }
}

/// Gives FLOAT its 32 bits, DECIMAL its default digits, and whole numbers at most 64 bits.
fn widen(data_type: &mut SqlType) {
    match data_type {
        SqlType::Float(ExactNumberInfo::None) => *data_type = SqlType::Real,
        SqlType::JSON | SqlType::JSONB => *data_type = SqlType::Varchar(None),
        SqlType::HugeInt | SqlType::Int128 => *data_type = SqlType::BigInt(None),
        SqlType::Decimal(info) | SqlType::Numeric(info) | SqlType::Dec(info) if *info == ExactNumberInfo::None => {
            *info = ExactNumberInfo::PrecisionAndScale(18, 3);
        }
        _ => {}
    }
}

fn is_integer(data_type: &SqlType) -> bool {
    use SqlType::{BigInt, Int, Int2, Int4, Int8, Integer, SmallInt, TinyInt, UBigInt, USmallInt, UTinyInt};
    matches!(
        data_type,
        TinyInt(_) | SmallInt(_) | Int(_) | Integer(_) | BigInt(_) | Int2(_) | Int4(_) | Int8(_) | UTinyInt | USmallInt | UBigInt
    )
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// An integer as it is written; `None` when it does not fit in 64 bits.
fn whole_number(number: i128) -> Option<Expr> {
    let number = i64::try_from(number).ok()?;
    Some(expression(&number.to_string(), Vec::new()))
}

fn typed_string(data_type: SqlType, text: String) -> TypedString {
    TypedString {
        data_type,
        value: ValueWithSpan { value: Value::SingleQuotedString(text), span: Span::empty() },
        uses_odbc_syntax: false,
    }
}

fn cast_of(kind: CastKind, expr: Expr, data_type: SqlType) -> Expr {
    let mut cast = expression("CAST(_0 AS INTEGER)", vec![expr]);
    if let Expr::Cast { kind: of, data_type: to, .. } = &mut cast {
        (*of, *to) = (kind, data_type);
    }
    cast
}

/// Elements of a list as it is written.
fn list_of(expr: &Expr) -> Option<Vec<Expr>> {
    match unwrapped(expr) {
        Expr::Array(array) => Some(array.elem.clone()),
        Expr::Function(function) if name_of(function) == "list_value" => match &function.args {
            FunctionArguments::List(list) => list
                .args
                .iter()
                .map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                    _ => None,
                })
                .collect(),
            _ => None,
        },
        _ => None,
    }
}

/// A comparison with each of some values, joined by AND or OR.
fn compared_with_each(value: &Expr, op: &BinaryOperator, others: Vec<Expr>, join: BinaryOperator) -> Expr {
    let none = Expr::value(Value::Boolean(join == BinaryOperator::And));
    let each = others.into_iter().map(|other| expression(&format!("(_0 {op} _1)"), vec![value.clone(), other]));
    let all = each.reduce(|all, one| Expr::BinaryOp { left: Box::new(all), op: join.clone(), right: Box::new(one) });
    all.map_or(none, |all| Expr::Nested(Box::new(all)))
}

/// Digits of a number as it is written, and how many of them are behind the point; `None` for numbers with a power of ten.
fn decimal_of(expr: &Expr) -> Option<(i128, u32)> {
    let (sign, text) = match unwrapped(expr) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (-1, number_text(expr)?),
        other => (1, number_text(other)?),
    };
    let text = text.replace('_', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    let is_short = digits.len() <= 15 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| digits.parse::<i128>().ok()).flatten().map(|digits| (sign * digits, fraction.len() as u32))
}

fn number_text(expr: &Expr) -> Option<&str> {
    match unwrapped(expr) {
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(text),
        _ => None,
    }
}

/// A decimal number as it is written; `None` for integers and for numbers with a power of ten.
fn written_decimal(expr: &Expr) -> Option<String> {
    let (sign, text) = match unwrapped(expr) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", number_text(expr)?),
        other => ("", number_text(other)?),
    };
    let is_decimal = text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_decimal.then(|| format!("{sign}{}", text.trim_end_matches('.')))
}

fn is_text_type(data_type: &SqlType) -> bool {
    matches!(data_type, SqlType::Varchar(_) | SqlType::Text | SqlType::String(_))
}

/// The exact sum, difference or product of decimal numbers; `None` of integers, whose overflow is an error.
fn computed_decimal(left: (i128, u32), op: &BinaryOperator, right: (i128, u32)) -> Option<Expr> {
    if left.1 == 0 && right.1 == 0 {
        return None;
    }
    let scale = left.1.max(right.1);
    let scaled = |(digits, places): (i128, u32)| digits.checked_mul(10i128.checked_pow(scale - places)?);
    let (digits, places) = match op {
        BinaryOperator::Plus => (scaled(left)?.checked_add(scaled(right)?)?, scale),
        BinaryOperator::Minus => (scaled(left)?.checked_sub(scaled(right)?)?, scale),
        _ => (left.0.checked_mul(right.0)?, left.1 + right.1),
    };
    let text = format!("{:0>width$}", digits.unsigned_abs(), width = places as usize + 1);
    let (whole, fraction) = text.split_at(text.len() - places as usize);
    let sign = if digits < 0 { "-" } else { "" };
    Some(expression(&format!("({sign}{whole}.{fraction})"), Vec::new()))
}

/// The type of a value as it is written, where the engine computes with another one: of a decimal number, and of null.
fn written_type(expr: &Expr) -> Option<String> {
    if is_null(expr) {
        return Some("\"NULL\"".to_owned());
    }
    let (digits, places) = decimal_of(expr)?;
    let width = digits.unsigned_abs().to_string().len().max(places as usize);
    (places > 0).then(|| format!("DECIMAL({width},{places})"))
}

/// The text of an interval as it is written: `3 days`.
fn interval_text(expr: &Expr) -> Option<String> {
    match unwrapped(expr) {
        Expr::Interval(interval) => text_of(&interval.value).map(str::to_owned),
        _ => None,
    }
}

fn is_interval(expr: &Expr) -> bool {
    matches!(unwrapped(expr), Expr::Interval(_))
}

/// A call of two values.
fn two(template: &str, one: &Expr, other: &Expr) -> Expr {
    expression(template, vec![one.clone(), other.clone()])
}

/// Number of arguments in a template.
fn places(template: &str) -> usize {
    (0..5).filter(|at| template.contains(&format!("_{at}"))).count()
}

/// A match of a regular expression anywhere in the text.
fn matched(negated: bool, value: Expr, regex: &str) -> Expr {
    expression(if negated { "(NOT regexp_like(_0, _1))" } else { "regexp_like(_0, _1)" }, vec![value, literal(regex)])
}

/// The digits of a number, with its sign or without.
fn digits_of(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => digits_of(expr),
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(text),
        _ => None,
    }
}

/// True for a number with a decimal point.
fn is_fraction(expr: &Expr) -> bool {
    digits_of(&mut expr.clone()).is_some_and(|digits| digits.contains('.'))
}

/// Gives a whole number a decimal point.
fn make_fraction(expr: &mut Expr) {
    if let Some(digits) = digits_of(expr)
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        digits.push_str(".0");
    }
}

/// True for constants, which the engine accepts in IN lists.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => matches!(expr.as_ref(), Expr::Value(_)),
        // Fractions of 64 bits are compared one by one, as those of 32 bits become such.
        Expr::Cast { data_type: SqlType::Double(_) | SqlType::DoublePrecision, .. } => false,
        Expr::Cast { expr, .. } => is_constant(expr),
        Expr::Array(array) => array.elem.iter().all(is_constant),
        _ => false,
    }
}

/// Numeric literal in the engine's spelling; `None` if unchanged.
fn spelled_number(text: &str) -> Option<Expr> {
    let plain = text.replace('_', "");
    let number = |text: String| Expr::value(Value::Number(text, false));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(&plain) {
        // A number with a power of ten is a DOUBLE, others are decimal numbers. The engine parses a literal as floating point only if
        // it has a decimal point.
        let Some((digits, power)) = plain.split_once(['e', 'E']) else { return (plain != text).then(|| number(plain)) };
        let point = if digits.contains('.') { "" } else { ".0" };
        return Some(expression("CAST(_0 AS DOUBLE)", vec![number(format!("{digits}{point}e{power}"))]));
    }
    if plain.parse::<i64>().is_ok() {
        return (plain != text).then(|| number(plain));
    }
    match plain.parse::<u64>() {
        Ok(_) => Some(expression("CAST(_0 AS UBIGINT)", vec![literal(&plain)])),
        Err(_) => Some(number(format!("{plain}.0"))),
    }
}

/// `INTERVAL 3 DAY` and `INTERVAL '3' DAY` as `INTERVAL '3 DAY'`.
fn spelled_interval(interval: &Interval) -> Option<Interval> {
    let value = match interval.value.as_ref() {
        Expr::Nested(inner) => inner.as_ref(),
        other => other,
    };
    let Expr::Value(value) = value else { return None };
    let count = match &value.value {
        Value::Number(text, _) | Value::SingleQuotedString(text) => text.trim(),
        _ => return None,
    };
    let text = match &interval.leading_field {
        Some(unit) => format!("{} {unit}", count.strip_suffix(".0").unwrap_or(count)),
        None => count.to_owned(),
    };
    let value = Box::new(literal(&text));
    Some(Interval { value, leading_field: None, leading_precision: None, last_field: None, fractional_seconds_precision: None })
}
