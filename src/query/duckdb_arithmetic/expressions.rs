//! Expressions of the engine that DuckDB's arithmetic is made of, and values of broadcast columns.

use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::typed_texts;

pub(super) fn binary_expression(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr {
        left: Arc::new(left),
        op,
        right: Arc::new(right),
    }
}

/// Schema of the rows of a plan, which is that of the first plan below it that changes the columns.
pub(super) fn schema_of(plan: &DslPlan) -> PolarsResult<SchemaRef> {
    match plan {
        DslPlan::Filter { input, .. }
        | DslPlan::Sort { input, .. }
        | DslPlan::Slice { input, .. } => schema_of(input),
        other => LazyFrame::from(other.clone()).collect_schema(),
    }
}

/// True for functions whose arguments have one type.
pub(super) fn has_one_type(function: &FunctionExpr) -> bool {
    matches!(
        function,
        FunctionExpr::Coalesce | FunctionExpr::MaxHorizontal | FunctionExpr::MinHorizontal
    )
}

/// The type of an expression over rows of `schema`; that of a null for one without a type.
pub(super) fn type_of_expression(expression: &Expr, schema: &Schema) -> DataType {
    expression
        .to_field(schema)
        .map_or(DataType::Null, |field| field.dtype().clone())
}

/// Reads texts as values of a type, as [`typed_texts`] has them; `None` for types that the engine
/// reads as DuckDB does.
pub(super) fn text_cast(to: &DataType, is_try: bool) -> Option<UserDefinedFunction> {
    let read = typed_texts::type_of_reading(to)?;
    let of = read.clone();
    Some(elementwise(
        "read_text",
        move |_| Ok(read.clone()),
        move |columns| read_texts(columns, &of, is_try),
    ))
}

fn read_texts(columns: &[Column], dtype: &DataType, is_try: bool) -> PolarsResult<Column> {
    let [texts] = columns else {
        return Err(refusal("a text is one column"));
    };
    typed_texts::read_each(texts.str()?, dtype, is_try)
}

pub(super) fn broadcast_value<T>(column: &ChunkedArray<T>, row: usize) -> Option<T::Native>
where
    T: PolarsNumericType,
{
    column.get(if column.len() == 1 { 0 } else { row })
}
