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

/// Reads texts as values of a type, as [`typed_texts`] has them; `None` for types that the engine
/// reads as DuckDB does.
pub(super) fn text_cast(to: &DataType, is_try: bool) -> Option<UserDefinedFunction> {
    let read = match to {
        dtype if dtype.is_unsigned_integer() => DataType::UInt64,
        dtype if dtype.is_integer() => DataType::Int64,
        dtype if dtype.is_float() => DataType::Float64,
        DataType::Boolean | DataType::Date | DataType::Time | DataType::Decimal(..) => to.clone(),
        DataType::Datetime(..) => DataType::Datetime(TimeUnit::Microseconds, None),
        _ => return None,
    };
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
    let column = typed_texts::read(texts.str()?, dtype)?;
    if !is_try && column.null_count() > texts.null_count() {
        let nulls = column.is_null();
        let mut pairs = texts.str()?.iter().zip(nulls.iter());
        let failed = pairs
            .find_map(|(text, null)| text.filter(|_| null == Some(true)))
            .unwrap_or_default();
        return Err(typed_texts::no_value(failed, dtype));
    }
    Ok(column)
}

pub(super) fn broadcast_value<T>(column: &ChunkedArray<T>, row: usize) -> Option<T::Native>
where
    T: PolarsNumericType,
{
    column.get(if column.len() == 1 { 0 } else { row })
}
