//! DuckDB's lists and structs in plans of the engine: their order and comparisons, written lists,
//! CASE, coalesce, least and greatest.

use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::engine_errors::refusal;
use super::list_functions::{elementwise, written_list_call};
use super::nested_values::{
    broadcast_row, common_type, comparable_type, extreme_of, is_nested, keep_first_field,
    order_keys, row_count, stack_columns, take_places,
};
use super::recognised_functions::RecognisedFunction;
use super::type_names::type_name;

/// True for expressions that [`rewrite_nested`] may change.
pub(super) fn is_other_here(part: &Expr) -> bool {
    match part {
        Expr::BinaryExpr { op, .. } => is_comparison(*op) || op.is_arithmetic(),
        Expr::Ternary { .. } | Expr::SortBy { .. } | Expr::Sort { .. } => true,
        Expr::Agg(AggExpr::Min { .. } | AggExpr::Max { .. }) => true,
        Expr::Function { function, .. } => picked_by(function).is_some(),
        Expr::AnonymousFunction { function, .. } => {
            RecognisedFunction::WrittenList.matches(function)
        }
        _ => false,
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, EqValidity, Gt, GtEq, Lt, LtEq, NotEq, NotEqValidity};
    matches!(
        op,
        Eq | EqValidity | Gt | GtEq | Lt | LtEq | NotEq | NotEqValidity
    )
}

/// The expression with DuckDB's semantics, if it is one of lists or structs; its parts have them
/// already.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for types that are not compared, or have no type in common.
pub(super) fn rewrite_nested(part: Expr, schema: &Schema) -> PolarsResult<Expr> {
    let dtype = |part: &Expr| find_dtype(part, schema);
    let is_nested_part = |part: &Expr| dtype(part).as_ref().is_some_and(is_nested);
    Ok(match part {
        Expr::BinaryExpr {
            ref left,
            op,
            ref right,
        } if is_comparison(op) => {
            let (Some(one), Some(other)) = (dtype(left), dtype(right)) else {
                return Ok(part);
            };
            if !is_nested(&one) && !is_nested(&other) {
                return Ok(part);
            }
            let common = comparable_type(&one, &other)?;
            Expr::BinaryExpr {
                left: Arc::new(key_compared_side(left, &one, &common)),
                op,
                right: Arc::new(key_compared_side(right, &other, &common)),
            }
        }
        // The engine stops at arithmetic of lists.
        Expr::BinaryExpr {
            ref left,
            op,
            ref right,
        } if op.is_arithmetic() => {
            let nested = [left, right]
                .into_iter()
                .filter_map(|side| dtype(side))
                .find(is_nested);
            if let Some(nested) = nested {
                return Err(refusal(format!(
                    "{op} does not take values of the type {}",
                    type_name(&nested)
                )));
            }
            part
        }
        Expr::Ternary {
            ref predicate,
            ref truthy,
            ref falsy,
        } => {
            let (Some(one), Some(other)) = (dtype(truthy), dtype(falsy)) else {
                return Ok(part);
            };
            if !is_nested(&one) && !is_nested(&other) {
                return Ok(part);
            }
            let branches = [truthy, falsy, predicate].map(|part| part.as_ref().clone());
            picking_function(Pick::Condition, common_type(&[one, other])?).call(branches.into())
        }
        Expr::Function {
            ref input,
            ref function,
        } => {
            let Some(pick) = picked_by(function).filter(|_| input.iter().any(is_nested_part))
            else {
                return Ok(part);
            };
            let Some(dtypes) = input.iter().map(dtype).collect::<Option<Vec<_>>>() else {
                return Ok(part);
            };
            picking_function(pick, common_type(&dtypes)?).call(input.clone())
        }
        Expr::Agg(AggExpr::Min { ref input, .. }) if is_nested_part(input) => {
            extreme(false).call(vec![input.as_ref().clone()])
        }
        Expr::Agg(AggExpr::Max { ref input, .. }) if is_nested_part(input) => {
            extreme(true).call(vec![input.as_ref().clone()])
        }
        Expr::SortBy {
            expr,
            by,
            sort_options,
        } => Expr::SortBy {
            expr,
            by: sort_keys(by, schema),
            sort_options,
        },
        Expr::Sort { ref expr, options } if is_nested_part(expr) => {
            let sort_options = SortMultipleOptions::default()
                .with_order_descending(options.descending)
                .with_nulls_last(options.nulls_last)
                .with_maintain_order(options.maintain_order);
            expr.as_ref()
                .clone()
                .sort_by(sort_keys(vec![expr.as_ref().clone()], schema), sort_options)
        }
        Expr::AnonymousFunction {
            ref input,
            ref function,
            ..
        } if RecognisedFunction::WrittenList.matches(function) => {
            let Some(dtypes) = input.iter().map(dtype).collect::<Option<Vec<_>>>() else {
                return Ok(part);
            };
            written_list_call(common_type(&dtypes)?, input.clone())
        }
        other => other,
    })
}

fn find_dtype(part: &Expr, schema: &Schema) -> Option<DataType> {
    part.to_field(schema)
        .ok()
        .map(|field| field.dtype().clone())
}

/// The key of one side of a comparison; nulls of no type are compared as null keys.
fn key_compared_side(side: &Expr, dtype: &DataType, common: &DataType) -> Expr {
    match dtype {
        DataType::Null => side.clone().cast(DataType::Binary),
        _ => order_key(common.clone()).call(vec![side.clone()]),
    }
}

/// Sort keys with DuckDB's order.
pub(super) fn sort_keys(by: Vec<Expr>, schema: &Schema) -> Vec<Expr> {
    by.into_iter()
        .map(|by| replace_nested_key(by, schema))
        .collect()
}

/// A sort key, with [`order_keys`] instead of lists and structs.
fn replace_nested_key(by: Expr, schema: &Schema) -> Expr {
    match find_dtype(&by, schema) {
        Some(dtype) if is_nested(&dtype) => order_key(dtype).call(vec![by]),
        _ => by,
    }
}

/// [`order_keys`] as a function of the engine.
fn order_key(for_type: DataType) -> UserDefinedFunction {
    elementwise(
        "order_key",
        |_| Ok(DataType::Binary),
        move |columns| Ok(order_keys(&columns[0], &for_type)?.into_column()),
    )
}

/// How the value of a row is picked from several columns.
#[derive(Clone, Copy)]
enum Pick {
    /// The last column is a condition: the first where it is met, otherwise the second.
    Condition,
    /// The first that is not null.
    FirstKnown,
    Least,
    Greatest,
}

/// How a function of the engine picks its values.
fn picked_by(function: &FunctionExpr) -> Option<Pick> {
    match function {
        FunctionExpr::Coalesce => Some(Pick::FirstKnown),
        FunctionExpr::MinHorizontal => Some(Pick::Least),
        FunctionExpr::MaxHorizontal => Some(Pick::Greatest),
        _ => None,
    }
}

/// A value of one of several columns for each row. The engine's own functions give numbers of
/// UBIGINT and signed ones a type of fractions, and null structs fields of nulls.
fn picking_function(pick: Pick, dtype: DataType) -> UserDefinedFunction {
    let of = dtype.clone();
    elementwise(
        "picked",
        move |_| Ok(dtype.clone()),
        move |columns| pick_values(columns, pick, &of),
    )
}

fn pick_values(columns: &[Column], pick: Pick, dtype: &DataType) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let (condition, values) = match (pick, columns) {
        (Pick::Condition, [values @ .., condition]) => {
            (Some(condition.cast(&DataType::Boolean)?), values)
        }
        _ => (None, columns),
    };
    let (all, starts) = stack_columns(values, dtype)?;
    let place = |at: usize, row: usize| starts[at] + broadcast_row(values[at].len(), row);
    if let Some(condition) = condition {
        let condition = condition.bool()?;
        let places = (0..rows).map(|row| {
            let is_met = condition
                .get(broadcast_row(condition.len(), row))
                .unwrap_or(false);
            Some(place(if is_met { 0 } else { 1 }, row))
        });
        return Ok(take_places(&all, places)?.into_column());
    }
    if matches!(pick, Pick::FirstKnown) {
        let known: Vec<bool> = all
            .is_not_null()
            .iter()
            .map(|known| known.unwrap_or(false))
            .collect();
        let places = (0..rows).map(|row| {
            (0..values.len())
                .map(|at| place(at, row))
                .find(|place| known[*place])
        });
        return Ok(take_places(&all, places)?.into_column());
    }
    let keys = order_keys(&all.clone().into_column(), dtype)?;
    let places = (0..rows).map(|row| {
        let places = (0..values.len()).map(|at| place(at, row));
        extreme_of(
            places.filter_map(|place| keys.get(place).map(|key| (key, place))),
            matches!(pick, Pick::Greatest),
        )
    });
    Ok(take_places(&all, places)?.into_column())
}

/// The least or the greatest value of a group.
fn extreme(greatest: bool) -> UserDefinedFunction {
    let values = move |columns: &mut [Column]| take_extreme(columns, greatest);
    let mut function = UserDefinedFunction::new(
        "extreme".into(),
        BaseColumnUdf::new(values, keep_first_field),
    );
    function.options = FunctionOptions::aggregation();
    function
}

fn take_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let [values] = columns else {
        return Err(refusal("an extreme is of one column"));
    };
    let keys = order_keys(values, &values.dtype().clone())?;
    let known = (0..keys.len()).filter_map(|row| keys.get(row).map(|key| (key, row)));
    let best = take_places(
        values.as_materialized_series(),
        [extreme_of(known, greatest)],
    )?;
    Ok(best.into_column().with_name(values.name().clone()))
}
