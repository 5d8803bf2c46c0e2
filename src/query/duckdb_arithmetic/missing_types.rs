//! Types of DuckDB that the engine lacks, as plans have them: HUGEINT, the type of sums of integers
//! and of what is computed of these, and JSON. Such integers have 64 bits here, and numbers beyond
//! them are errors; JSON is text. The types have the names of DuckDB, and JSON within JSON stays as
//! it is.

use std::collections::HashMap;
use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::expressions::{has_one_type, schema_of, type_of_expression};
use super::fractions::is_quotient;
use crate::query::list_functions::{elementwise, written_elements};
use crate::query::recognised_functions::{
    JSON_FUNCTIONS, MAP_VALUE, RecognisedFunction, TO_JSON, name_of_called,
};
use crate::query::{functions, list_functions};

/// A type that the engine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingType {
    HugeInt,
    Json,
}

impl MissingType {
    /// The name of the type in DuckDB.
    const fn name(self) -> &'static str {
        match self {
            Self::HugeInt => "HUGEINT",
            Self::Json => "JSON",
        }
    }

    /// True for the types by which the engine replaces it.
    fn fits(self, dtype: &DataType) -> bool {
        match self {
            Self::HugeInt => dtype.is_integer(),
            Self::Json => dtype.is_string(),
        }
    }
}

/// The columns of a plan whose types the engine lacks.
type MissingTypes = HashMap<PlSmallStr, MissingType>;

/// Functions whose integers are HUGEINT.
const WIDE_FUNCTIONS: [RecognisedFunction; 3] = [
    RecognisedFunction::ListSum,
    RecognisedFunction::WindowSum,
    RecognisedFunction::Factorial,
];

/// Functions that give their arguments as JSON, in one array or object.
const JSON_COLLECTIONS: [&str; 2] = ["json_array", "json_object"];

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
pub(super) fn name_missing_types(
    plan: &DslPlan,
    schema: &Schema,
) -> PolarsResult<Vec<Option<String>>> {
    let missing = missing_types(plan)?;
    let columns = schema.iter();
    Ok(columns
        .map(|(column, dtype)| {
            let found = missing.get(column)?;
            found.fits(dtype).then(|| found.name().to_owned())
        })
        .collect())
}

/// Expressions over the rows of `input` with the names of such types in `typeof`, and with JSON in
/// the values of functions that make JSON.
pub(super) fn apply_missing_types(
    expressions: Vec<Expr>,
    input: &Arc<DslPlan>,
) -> PolarsResult<Vec<Expr>> {
    if !expressions
        .iter()
        .any(|expression| expression.into_iter().any(depends_on_missing_type))
    {
        return Ok(expressions);
    }
    let rows = TypedRows::from_plan(input)?;
    Ok(expressions
        .into_iter()
        .map(|expression| expression.map_expr(|part| rows.apply_type(part)))
        .collect())
}

/// True for calls whose values depend on types that the engine lacks: `typeof`, and the functions
/// that make JSON of values.
pub(super) fn depends_on_missing_type(part: &Expr) -> bool {
    match part {
        Expr::AnonymousFunction { function, .. } => {
            let name = name_of_called(function);
            RecognisedFunction::TypeOf.matches(function)
                || name.is_some_and(|name| name == TO_JSON || JSON_COLLECTIONS.contains(&name))
        }
        _ => false,
    }
}

/// The rows of a plan, with the columns whose types the engine lacks.
struct TypedRows {
    schema: SchemaRef,
    missing: MissingTypes,
}

impl TypedRows {
    fn from_plan(plan: &DslPlan) -> PolarsResult<Self> {
        Ok(Self {
            schema: schema_of(plan)?,
            missing: missing_types(plan)?,
        })
    }

    fn apply_type(&self, mut part: Expr) -> Expr {
        if !depends_on_missing_type(&part) {
            return part;
        }
        let Expr::AnonymousFunction {
            input, function, ..
        } = &mut part
        else {
            return part;
        };
        let name = name_of_called(function).unwrap_or_default();
        if JSON_COLLECTIONS.contains(&name) {
            input.iter_mut().for_each(|value| self.keep_json(value));
            return part;
        }
        let [value] = input.as_mut_slice() else {
            return part;
        };
        if name != TO_JSON {
            return match self.missing_type(value) {
                Some(missing) => type_name_function(missing).call(vec![value.clone()]),
                None => part,
            };
        }
        if self.missing_type(value) == Some(MissingType::Json)
            && let Some(print) = functions::function("json")
        {
            return print.call(vec![value.clone()]);
        }
        self.keep_json(value);
        part
    }

    /// Marks JSON in a value of which JSON is made, so that it stays as it is.
    fn keep_json(&self, value: &mut Expr) {
        if self.missing_type(value) == Some(MissingType::Json) {
            if let Some(keep) = functions::function("json_within") {
                *value = keep.call(vec![value.clone()]);
            }
            return;
        }
        match value {
            Expr::Alias(inner, _) | Expr::Agg(AggExpr::Implode { input: inner, .. }) => {
                self.keep_json(Arc::make_mut(inner));
            }
            Expr::Filter { input: inner, .. }
            | Expr::Sort { expr: inner, .. }
            | Expr::SortBy { expr: inner, .. }
            | Expr::Over {
                function: inner, ..
            } => self.keep_json(Arc::make_mut(inner)),
            Expr::AnonymousFunction {
                input, function, ..
            } if name_of_called(function) == Some(MAP_VALUE) => {
                input.iter_mut().for_each(|value| self.keep_json(value));
            }
            list => {
                if let Some(json) = self.list_of_json(list) {
                    *list = json;
                }
            }
        }
    }

    /// A written list whose elements are JSON, marked so that they stay as they are; `None` of
    /// others.
    fn list_of_json(&self, list: &Expr) -> Option<Expr> {
        let elements = written_elements(list)?;
        if self.common_type(elements.iter()) != Some(MissingType::Json) {
            return None;
        }
        let keep = functions::function("json_within")?;
        let kept = elements
            .iter()
            .map(|element| keep.clone().call(vec![element.clone()]));
        Some(list_functions::function("list_value")?.call(kept.collect()))
    }

    fn is_whole(&self, expression: &Expr) -> bool {
        let dtype = type_of_expression(expression, &self.schema);
        let is_written = matches!(
            dtype,
            DataType::Null | DataType::Unknown(UnknownKind::Int(_))
        );
        is_written || dtype.is_integer()
    }

    /// True for values beside which a value of a type keeps it.
    fn fits_beside(&self, expression: &Expr, missing: MissingType) -> bool {
        match missing {
            MissingType::HugeInt => self.is_whole(expression),
            MissingType::Json => {
                self.missing_type(expression) == Some(missing)
                    || type_of_expression(expression, &self.schema).is_null()
            }
        }
    }

    /// The type that all of these values have together, if the engine lacks it.
    fn common_type<'e>(
        &self,
        mut values: impl Iterator<Item = &'e Expr> + Clone,
    ) -> Option<MissingType> {
        let found = values.clone().find_map(|value| self.missing_type(value))?;
        values
            .all(|value| self.fits_beside(value, found))
            .then_some(found)
    }

    /// The type of a value, if the engine lacks it.
    fn missing_type(&self, expression: &Expr) -> Option<MissingType> {
        match expression {
            Expr::Column(name) => self.missing.get(name).copied(),
            Expr::Alias(inner, _)
            | Expr::KeepName(inner)
            | Expr::Filter { input: inner, .. }
            | Expr::Sort { expr: inner, .. }
            | Expr::SortBy { expr: inner, .. }
            | Expr::Slice { input: inner, .. }
            | Expr::Over {
                function: inner, ..
            } => self.missing_type(inner),
            Expr::Cast { expr, .. } if is_quotient(expr) => self.missing_type(expr),
            Expr::Agg(aggregate) => self.type_of_aggregate(aggregate),
            Expr::Ternary { truthy, falsy, .. } => {
                self.common_type([truthy.as_ref(), falsy.as_ref()].into_iter())
            }
            Expr::Function { input, function } if has_one_type(function) => {
                self.common_type(input.iter())
            }
            Expr::AnonymousFunction {
                input,
                fmt_str,
                function,
                ..
            } => {
                let name = fmt_str.as_str();
                let is_wide = if name == SUM {
                    true
                } else if name == ARITHMETIC || is_quotient(expression) {
                    self.is_whole(expression)
                        && input
                            .iter()
                            .any(|side| self.missing_type(side) == Some(MissingType::HugeInt))
                } else {
                    WIDE_FUNCTIONS.iter().any(|wide| wide.matches(function))
                        && self.is_whole(expression)
                };
                if is_wide {
                    return Some(MissingType::HugeInt);
                }
                // Of several paths they give lists.
                let is_json = name_of_called(function)
                    .is_some_and(|name| JSON_FUNCTIONS.contains(&name))
                    && type_of_expression(expression, &self.schema).is_string();
                is_json.then_some(MissingType::Json)
            }
            _ => None,
        }
    }

    fn type_of_aggregate(&self, aggregate: &AggExpr) -> Option<MissingType> {
        match aggregate {
            AggExpr::Min { input, .. }
            | AggExpr::Max { input, .. }
            | AggExpr::Item { input, .. }
            | AggExpr::First(input)
            | AggExpr::FirstNonNull(input)
            | AggExpr::Last(input)
            | AggExpr::LastNonNull(input) => self.missing_type(input),
            // Of truth values and of nulls.
            AggExpr::Sum(input) => {
                let dtype = type_of_expression(input, &self.schema);
                (dtype.is_integer() || dtype.is_bool()).then_some(MissingType::HugeInt)
            }
            _ => None,
        }
    }

    /// Adds the types of these expressions to those of columns, or takes them away.
    fn add_results(&self, expressions: &[Expr], mut results: MissingTypes) -> MissingTypes {
        for expression in expressions {
            if matches!(expression, Expr::Selector(_)) {
                results.extend(self.missing.clone());
                continue;
            }
            let Ok(field) = expression.to_field(&self.schema) else {
                continue;
            };
            match self.missing_type(expression) {
                Some(missing) => results.insert(field.name().clone(), missing),
                None => results.remove(field.name()),
            };
        }
        results
    }
}

/// The columns of a plan whose types the engine lacks.
fn missing_types(plan: &DslPlan) -> PolarsResult<MissingTypes> {
    Ok(match plan {
        DslPlan::Select { expr, input, .. } => {
            TypedRows::from_plan(input)?.add_results(expr, MissingTypes::new())
        }
        DslPlan::HStack { exprs, input, .. } => {
            let rows = TypedRows::from_plan(input)?;
            rows.add_results(exprs, rows.missing.clone())
        }
        DslPlan::GroupBy {
            input, keys, aggs, ..
        } => {
            let rows = TypedRows::from_plan(input)?;
            let of_keys = rows.add_results(keys, MissingTypes::new());
            rows.add_results(aggs, of_keys)
        }
        DslPlan::Filter { input, .. }
        | DslPlan::Sort { input, .. }
        | DslPlan::Slice { input, .. }
        | DslPlan::Distinct { input, .. }
        | DslPlan::Cache { input, .. } => missing_types(input)?,
        DslPlan::MapFunction { input, .. } => renamed_columns(missing_types(input)?, plan, input)?,
        DslPlan::Join {
            input_left,
            input_right,
            options,
            ..
        } => {
            let mut missing = missing_types(input_left)?;
            let of_right = missing_types(input_right)?;
            if !of_right.is_empty() {
                let left = schema_of(input_left)?;
                let suffix = options.args.suffix();
                for (name, of_column) in of_right {
                    let name = if left.contains(&name) {
                        PlSmallStr::from(format!("{name}{suffix}"))
                    } else {
                        name
                    };
                    missing.insert(name, of_column);
                }
            }
            missing
        }
        DslPlan::Union { inputs, .. } => {
            let mut rows = inputs.iter().map(missing_types);
            let mut common = rows.next().transpose()?.unwrap_or_default();
            for missing in rows {
                common = common_types(common, missing?);
            }
            common
        }
        DslPlan::HConcat { inputs, .. } => {
            let mut missing = MissingTypes::new();
            for input in inputs {
                missing.extend(missing_types(input)?);
            }
            missing
        }
        DslPlan::IR { dsl, .. } => missing_types(dsl)?,
        _ => MissingTypes::new(),
    })
}

/// The types of columns whose rows are put below one another: those of integers where one of them
/// is HUGEINT, those of texts where both are JSON.
fn common_types(above: MissingTypes, below: MissingTypes) -> MissingTypes {
    let is_common = |name: &PlSmallStr, missing: MissingType| {
        missing == MissingType::HugeInt || above.get(name) == below.get(name)
    };
    let both = above.iter().chain(&below);
    both.filter(|(name, missing)| is_common(name, **missing))
        .map(|(name, missing)| (name.clone(), *missing))
        .collect()
}

/// The names of columns behind a function of the engine, which may rename them.
fn renamed_columns(
    missing: MissingTypes,
    plan: &DslPlan,
    input: &DslPlan,
) -> PolarsResult<MissingTypes> {
    if missing.is_empty() {
        return Ok(missing);
    }
    let (before, after) = (schema_of(input)?, schema_of(plan)?);
    if before.len() != after.len() {
        return Ok(missing);
    }
    let names = before.iter_names().zip(after.iter_names());
    Ok(names
        .filter_map(|(name, new_name)| Some((new_name.clone(), *missing.get(name)?)))
        .collect())
}

fn type_name_function(missing: MissingType) -> UserDefinedFunction {
    elementwise(
        "type_of",
        |_| Ok(DataType::String),
        move |columns| {
            let rows = columns.first().map_or(0, Column::len);
            let name = Scalar::from(PlSmallStr::from_static(missing.name()));
            Ok(Column::new_scalar(PlSmallStr::EMPTY, name, rows))
        },
    )
}
