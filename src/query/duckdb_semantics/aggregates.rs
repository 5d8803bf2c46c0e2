//! Calls of aggregates with their FILTER, DISTINCT and ORDER BY, in the engine's spelling.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DataType as SqlType, Expr, Function, FunctionArgumentClause, FunctionArguments, OrderByExpr,
    Value,
};

use super::call_of;
use super::expressions::{expression, function_call, literal, name_of, span_of};
use super::rewriting::Semantics;
use super::written_values::{number, number_text, read_written_list};
use crate::error::{Error, Result};
use crate::query::syntax_walk::visit_expressions_mut;

impl Semantics<'_> {
    /// Rewrites an aggregate call and prints it as engine SQL.
    ///
    /// # Errors
    /// As [`Semantics::print`].
    pub fn print_aggregate(&self, function: &Function) -> Result<String> {
        let name = name_of(function);
        let mut call = call_of(self.source, function)?;
        let refused = |summary: String, hint: &str| Err(self.refuse_call(function, summary, hint));
        let filter = function
            .filter
            .as_ref()
            .map(|filter| self.rewrite_expression(filter))
            .transpose()?;
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
                call.arguments = vec![
                    key_expr,
                    Expr::value(Value::Number(format!("{part:?}"), false)),
                ];
            } else {
                call.arguments = vec![key_expr];
            }
        } else if name.starts_with("percentile_") {
            return refused(
                format!("{name}() needs WITHIN GROUP"),
                "percentile_cont(0.9) WITHIN GROUP (ORDER BY x)",
            );
        }
        // Rows of several values are compared by their texts.
        if name == "count"
            && call.distinct
            && let [Expr::Tuple(parts)] = call.arguments.as_slice()
        {
            call.arguments = vec![function_call("row_text", parts.clone())];
        }
        let mut arguments = call
            .arguments
            .iter()
            .map(|argument| self.rewrite_expression(argument))
            .collect::<Result<Vec<_>>>()?;
        // The engine takes the part of a quantile as it is written.
        for parameter in arguments.iter_mut().skip(1) {
            if let Expr::Cast {
                expr,
                data_type: SqlType::Double(_),
                ..
            } = parameter
                && number_text(expr).is_some()
            {
                *parameter = *expr.clone();
            }
        }
        for key in &mut call.order {
            key.expr = self.rewrite_expression(&key.expr)?;
        }
        let template = match name.as_str() {
            "count" if call.star => match filter {
                Some(filter) => {
                    return Ok(expression(
                        "CAST(count(CASE WHEN _0 THEN 1 END) AS BIGINT)",
                        vec![filter],
                    )
                    .to_string());
                }
                None => return Ok("CAST(count(*) AS BIGINT)".into()),
            },
            "approx_count_distinct" => "CAST(count(DISTINCT _0) AS BIGINT)",
            "count" if call.distinct => "CAST(count(DISTINCT _0) AS BIGINT)",
            "count" => "CAST(count(_0) AS BIGINT)",
            "first" | "arbitrary" | "last" | "any_value" => {
                let met = match (name.as_str(), filter) {
                    ("any_value", Some(filter)) => Some(expression(
                        "_0 IS NOT NULL AND _1",
                        vec![
                            arguments.first().cloned().unwrap_or_else(|| literal("")),
                            filter,
                        ],
                    )),
                    ("any_value", None) => Some(expression("_0 IS NOT NULL", arguments.clone())),
                    (_, filter) => filter,
                };
                if call.order.is_empty() {
                    let mut expr = expression(
                        if name == "last" {
                            "last(_0)"
                        } else {
                            "first(_0)"
                        },
                        arguments,
                    );
                    if let Expr::Function(function) = &mut expr {
                        function.filter = met.map(Box::new);
                    }
                    return Ok(expr.to_string());
                }
                let place = if name == "last" {
                    "array_get(_0, -1)"
                } else {
                    "array_get(_0, 1)"
                };
                let list = collect_values(arguments, call.distinct, met, call.order);
                return Ok(expression(place, vec![list]).to_string());
            }
            "list" | "array_agg" => {
                let list = collect_values(arguments, call.distinct, filter, call.order);
                return Ok(list.to_string());
            }
            "json_group_array" if arguments.len() == 1 => {
                let list = collect_values(arguments, call.distinct, filter, call.order);
                return Ok(expression("to_json(_0)", vec![list]).to_string());
            }
            "json_group_object"
                if arguments.len() != 2
                    || filter.is_some()
                    || call.distinct
                    || !call.order.is_empty() =>
            {
                let hint = "json_group_object(id, cloud_cover), of a subquery that filters and \
                    sorts its rows";
                let summary = "json_group_object() takes a key and a value alone";
                return refused(summary.to_owned(), hint);
            }
            "string_agg" | "listagg" | "group_concat" => {
                exclude_unmet_rows(&mut arguments, filter.as_ref());
                let mut expr = expression(
                    match (call.distinct, arguments.len()) {
                        (false, 1) => "string_agg(_0)",
                        (false, _) => "string_agg(_0, _1)",
                        (true, 1) => "string_agg(DISTINCT _0)",
                        (true, _) => "string_agg(DISTINCT _0, _1)",
                    },
                    arguments,
                );
                if let Expr::Function(Function {
                    args: FunctionArguments::List(list),
                    ..
                }) = &mut expr
                    && !call.order.is_empty()
                {
                    list.clauses
                        .push(FunctionArgumentClause::OrderBy(call.order.clone()));
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
                let _ = visit_expressions_mut(&mut expr, |part| {
                    if let Expr::Function(function) = part
                        && name_of(function) == "array_agg"
                    {
                        function.filter = Some(Box::new(met.clone()));
                    }
                    ControlFlow::<()>::Continue(())
                });
                return Ok(expr.to_string());
            }
            "quantile" | "quantile_cont" | "quantile_disc" | "approx_quantile"
            | "reservoir_quantile"
                if arguments
                    .get(1)
                    .is_some_and(|parts| read_written_list(parts).is_some()) =>
            {
                let parts = arguments
                    .get(1)
                    .and_then(read_written_list)
                    .unwrap_or_default();
                exclude_unmet_rows(&mut arguments, filter.as_ref());
                let of = if ["quantile_cont", "approx_quantile"].contains(&name.as_str()) {
                    "quantile_cont"
                } else {
                    "quantile_disc"
                };
                let each = parts.into_iter().map(|part| {
                    expression(&format!("{of}(_0, _1)"), vec![arguments[0].clone(), part])
                });
                let each: Vec<Expr> = each.collect();
                return Ok(function_call("list_value", each).to_string());
            }
            "sum" if call.distinct => "list_sum(array_agg(DISTINCT _0))",
            "avg" | "mean" if call.distinct => "list_avg(array_agg(DISTINCT _0))",
            "min" | "max" | "bool_and" | "bool_or" if call.distinct => {
                exclude_unmet_rows(&mut arguments, filter.as_ref());
                return Ok(expression(&format!("{name}(_0)"), arguments).to_string());
            }
            _ if call.distinct => {
                let hint = "take the distinct values in a subquery: SELECT median(x) FROM (SELECT \
                    DISTINCT x FROM data) AS t";
                return refused(format!("{name}() can't have DISTINCT"), hint);
            }
            "histogram" if arguments.len() == 2 => "histogram_in_bins(_0, _1)",
            "json_group_object" => "to_json(map_value(array_agg(_0), array_agg(_1)))",
            "mean" | "favg" => "avg(_0)",
            "fsum" | "sumkahan" | "kahan_sum" => "sum(CAST(_0 AS DOUBLE))",
            "geometric_mean" => "geomean(_0)",
            "var_samp" => "variance(_0)",
            "stddev_samp" | "std" | "stdev" | "stdev_samp" => "stddev(_0)",
            "var" => "variance(_0)",
            "bit_and" => "all_bits_and(_0)",
            "bit_or" => "all_bits_or(_0)",
            "bit_xor" => "all_bits_xor(_0)",
            "arg_max" | "argmax" | "max_by" if arguments.len() == 3 => {
                "many_at_greatest(_0, _1, _2)"
            }
            "arg_min" | "argmin" | "min_by" if arguments.len() == 3 => "many_at_least(_0, _1, _2)",
            "corr" => "pair_correlation(_0, _1)",
            "covar" | "covar_pop" => "pair_covariance(_0, _1)",
            "covar_samp" => "pair_sample_covariance(_0, _1)",
            "approx_quantile" | "percentile_cont" => "quantile_cont(_0, _1)",
            "quantile" | "percentile_disc" | "reservoir_quantile" => "quantile_disc(_0, _1)",
            _ => "",
        };
        exclude_unmet_rows(&mut arguments, filter.as_ref());
        if template.is_empty() {
            return Ok(function_call(&name, arguments).to_string());
        }
        Ok(expression(template, arguments).to_string())
    }

    fn refuse_call(&self, function: &Function, summary: String, hint: &str) -> Error {
        self.source
            .locate(Error::usage(summary).hint(hint), span_of(function))
    }
}

/// FILTER becomes a CASE that gives null for excluded rows, which most aggregates ignore.
fn exclude_unmet_rows(arguments: &mut [Expr], filter: Option<&Expr>) {
    if let (Some(filter), Some(first)) = (filter, arguments.first_mut()) {
        *first = expression(
            "CASE WHEN _1 THEN _0 END",
            vec![first.clone(), filter.clone()],
        );
    }
}

/// The list of the values of the rows that meet a condition.
fn collect_values(
    arguments: Vec<Expr>,
    distinct: bool,
    met: Option<Expr>,
    order: Vec<OrderByExpr>,
) -> Expr {
    let template = if distinct {
        "array_agg(DISTINCT _0)"
    } else {
        "array_agg(_0)"
    };
    let mut expr = expression(template, arguments);
    if let Expr::Function(function) = &mut expr {
        function.filter = met.map(Box::new);
        if let (FunctionArguments::List(list), false) = (&mut function.args, order.is_empty()) {
            list.clauses.push(FunctionArgumentClause::OrderBy(order));
        }
    }
    expr
}
