//! Integers that are HUGEINT in DuckDB: sums of integers, and what is computed of these. They have
//! 64 bits here, and numbers beyond them are errors; their type has the name of DuckDB.

use std::collections::HashSet;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::expressions::{has_one_type, schema_of, type_of_expression};
use super::fractions::is_quotient;
use crate::query::list_functions::elementwise;
use crate::query::recognised_functions::RecognisedFunction;

/// Name of the type.
const HUGEINT: &str = "HUGEINT";

/// What the calls of functions are marked with that give sums of integers.
const SUM: &str = "sum_of_integers";

/// What the calls of functions are marked with that compute integers of integers.
const ARITHMETIC: &str = "integer_arithmetic";

pub(super) fn marked_as_sum(call: Expr) -> Expr {
    mark_call(call, SUM)
}

pub(super) fn marked_as_arithmetic(call: Expr) -> Expr {
    mark_call(call, ARITHMETIC)
}

fn mark_call(mut call: Expr, mark: &'static str) -> Expr {
    if let Expr::AnonymousFunction { fmt_str, .. } = &mut call {
        **fmt_str = mark.into();
    }
    call
}

/// The types that columns of a plan have in DuckDB and not here, one for each column.
pub(super) fn name_wide_types(
    plan: &DslPlan,
    schema: &Schema,
) -> PolarsResult<Vec<Option<String>>> {
    let wide = wide_columns(plan)?;
    let name = |(name, dtype): (&PlSmallStr, &DataType)| {
        (dtype.is_integer() && wide.contains(name)).then(|| HUGEINT.to_owned())
    };
    Ok(schema.iter().map(name).collect())
}

/// Expressions over the rows of `input` with the names of such types in `typeof`.
pub(super) fn name_types(expressions: Vec<Expr>, input: &Arc<DslPlan>) -> PolarsResult<Vec<Expr>> {
    if !expressions
        .iter()
        .any(|expression| expression.into_iter().any(names_type))
    {
        return Ok(expressions);
    }
    let rows = WideRows::from_plan(input)?;
    Ok(expressions
        .into_iter()
        .map(|expression| expression.map_expr(|part| rows.name_type(part)))
        .collect())
}

/// True for calls of `typeof`.
pub(super) fn names_type(part: &Expr) -> bool {
    match part {
        Expr::AnonymousFunction { function, .. } => RecognisedFunction::TypeOf.matches(function),
        _ => false,
    }
}

/// The rows of a plan, with the columns that are HUGEINT.
struct WideRows {
    schema: SchemaRef,
    wide: HashSet<PlSmallStr>,
}

impl WideRows {
    fn from_plan(plan: &DslPlan) -> PolarsResult<Self> {
        Ok(Self {
            schema: schema_of(plan)?,
            wide: wide_columns(plan)?,
        })
    }

    fn name_type(&self, part: Expr) -> Expr {
        let Expr::AnonymousFunction { input, .. } = &part else {
            return part;
        };
        match input.as_slice() {
            [value] if names_type(&part) && self.is_wide(value) => {
                name_of_hugeint().call(vec![value.clone()])
            }
            _ => part,
        }
    }

    fn is_whole(&self, expression: &Expr) -> bool {
        let dtype = type_of_expression(expression, &self.schema);
        let is_written = matches!(
            dtype,
            DataType::Null | DataType::Unknown(UnknownKind::Int(_))
        );
        is_written || dtype.is_integer()
    }

    fn is_wide(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Column(name) => self.wide.contains(name),
            Expr::Alias(inner, _)
            | Expr::KeepName(inner)
            | Expr::Filter { input: inner, .. }
            | Expr::Sort { expr: inner, .. }
            | Expr::SortBy { expr: inner, .. }
            | Expr::Slice { input: inner, .. }
            | Expr::Over {
                function: inner, ..
            } => self.is_wide(inner),
            Expr::Cast { expr, .. } if is_quotient(expr) => self.is_wide(expr),
            Expr::Agg(aggregate) => self.is_wide_aggregate(aggregate),
            Expr::Ternary { truthy, falsy, .. } => {
                (self.is_wide(truthy) && self.is_whole(falsy))
                    || (self.is_wide(falsy) && self.is_whole(truthy))
            }
            Expr::Function { input, function } if has_one_type(function) => {
                input.iter().any(|value| self.is_wide(value))
                    && input.iter().all(|value| self.is_whole(value))
            }
            Expr::AnonymousFunction { fmt_str, .. } if fmt_str.as_str() == SUM => true,
            Expr::AnonymousFunction { function, .. } if is_other_sum(function) => {
                self.is_whole(expression)
            }
            Expr::AnonymousFunction { input, fmt_str, .. }
                if fmt_str.as_str() == ARITHMETIC || is_quotient(expression) =>
            {
                self.is_whole(expression) && input.iter().any(|side| self.is_wide(side))
            }
            _ => false,
        }
    }

    fn is_wide_aggregate(&self, aggregate: &AggExpr) -> bool {
        match aggregate {
            AggExpr::Min { input, .. }
            | AggExpr::Max { input, .. }
            | AggExpr::Item { input, .. }
            | AggExpr::First(input)
            | AggExpr::FirstNonNull(input)
            | AggExpr::Last(input)
            | AggExpr::LastNonNull(input) => self.is_wide(input),
            // Of truth values and of nulls.
            AggExpr::Sum(input) => {
                let dtype = type_of_expression(input, &self.schema);
                dtype.is_integer() || dtype.is_bool()
            }
            _ => false,
        }
    }

    /// Adds the names of these expressions to those of columns that are HUGEINT, or takes them
    /// away.
    fn name_results(
        &self,
        expressions: &[Expr],
        mut results: HashSet<PlSmallStr>,
    ) -> HashSet<PlSmallStr> {
        for expression in expressions {
            if matches!(expression, Expr::Selector(_)) {
                results.extend(self.wide.iter().cloned());
                continue;
            }
            let Ok(field) = expression.to_field(&self.schema) else {
                continue;
            };
            if self.is_wide(expression) {
                results.insert(field.name().clone());
            } else {
                results.remove(field.name());
            }
        }
        results
    }
}

/// True for functions that add numbers and are no aggregate of the engine.
fn is_other_sum(function: &OpaqueColumnUdf) -> bool {
    RecognisedFunction::ListSum.matches(function) || RecognisedFunction::WindowSum.matches(function)
}

/// Names of the columns of a plan that are HUGEINT.
fn wide_columns(plan: &DslPlan) -> PolarsResult<HashSet<PlSmallStr>> {
    Ok(match plan {
        DslPlan::Select { expr, input, .. } => {
            WideRows::from_plan(input)?.name_results(expr, HashSet::new())
        }
        DslPlan::HStack { exprs, input, .. } => {
            let rows = WideRows::from_plan(input)?;
            rows.name_results(exprs, rows.wide.clone())
        }
        DslPlan::GroupBy {
            input, keys, aggs, ..
        } => {
            let rows = WideRows::from_plan(input)?;
            let of_keys = rows.name_results(keys, HashSet::new());
            rows.name_results(aggs, of_keys)
        }
        DslPlan::Filter { input, .. }
        | DslPlan::Sort { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::Distinct { input, .. }
        | DslPlan::Cache { input, .. } => wide_columns(input)?,
        DslPlan::MapFunction { input, .. } => renamed_columns(wide_columns(input)?, plan, input)?,
        DslPlan::Join {
            input_left,
            input_right,
            options,
            ..
        } => {
            let mut wide = wide_columns(input_left)?;
            let of_right = wide_columns(input_right)?;
            if !of_right.is_empty() {
                let left = schema_of(input_left)?;
                let suffix = options.args.suffix();
                for name in of_right {
                    wide.insert(if left.contains(&name) {
                        PlSmallStr::from(format!("{name}{suffix}"))
                    } else {
                        name
                    });
                }
            }
            wide
        }
        DslPlan::Union { inputs, .. } | DslPlan::HConcat { inputs, .. } => {
            let mut wide = HashSet::new();
            for input in inputs {
                wide.extend(wide_columns(input)?);
            }
            wide
        }
        DslPlan::IR { dsl, .. } => wide_columns(dsl)?,
        _ => HashSet::new(),
    })
}

/// The names of columns behind a function of the engine, which may rename them.
fn renamed_columns(
    wide: HashSet<PlSmallStr>,
    plan: &DslPlan,
    input: &DslPlan,
) -> PolarsResult<HashSet<PlSmallStr>> {
    if wide.is_empty() {
        return Ok(wide);
    }
    let (before, after) = (schema_of(input)?, schema_of(plan)?);
    if before.len() != after.len() {
        return Ok(wide);
    }
    let names = before.iter_names().zip(after.iter_names());
    Ok(names
        .filter(|(name, _)| wide.contains(*name))
        .map(|(_, name)| name.clone())
        .collect())
}

fn name_of_hugeint() -> UserDefinedFunction {
    elementwise("type_of", |_| Ok(DataType::String), repeat_name)
}

fn repeat_name(columns: &[Column]) -> PolarsResult<Column> {
    let rows = columns.first().map_or(0, Column::len);
    let name = Scalar::from(PlSmallStr::from_static(HUGEINT));
    Ok(Column::new_scalar(PlSmallStr::EMPTY, name, rows))
}
