//! List functions with a lambda: `list_transform` and `list_filter`.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::{FunctionOptions, SQLContext};

use super::engine::refusal;
use super::function_registry::registry;

/// List function that evaluates `body`, an engine expression over the element `x`, per element; with `keeps`, filters by it.
pub(super) fn of_elements(name: &str, body: String, keeps: bool) -> UserDefinedFunction {
    let computed = move |elements: Series| -> PolarsResult<LazyFrame> {
        let frame = DataFrame::new(elements.len(), vec![elements.with_name("x".into()).into_column()])?;
        let mut context = SQLContext::new().with_function_registry(registry(Vec::new()));
        context.register("t", frame.lazy());
        context.execute(&format!("SELECT \"x\", {body} AS \"value\" FROM t"))
    };
    let compute = computed.clone();
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> {
        let [lists] = columns else { return Err(refusal("a lambda is called for one list")) };
        let (name, lists) = (lists.name().clone(), lists.list()?.clone());
        let rows: Vec<Option<Series>> = (0..lists.len()).map(|row| lists.get_as_series(row)).collect();
        let mut elements = Series::new_empty(PlSmallStr::EMPTY, lists.inner_dtype());
        for row in rows.iter().flatten() {
            elements.append(row)?;
        }
        let answers = compute(elements)?.collect()?;
        let answers = answers.column("value")?.as_materialized_series().clone();
        let mut start = 0i64;
        let mut found: Vec<Option<Series>> = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(row) = row else {
                found.push(None);
                continue;
            };
            let part = answers.slice(start, row.len());
            start += row.len() as i64;
            found.push(Some(if keeps { row.filter(part.bool()?)? } else { part }));
        }
        let inner = if keeps { lists.inner_dtype().clone() } else { answers.dtype().clone() };
        let lists = found.into_iter().collect::<ListChunked>().into_series();
        Ok(lists.cast(&DataType::List(Box::new(inner)))?.with_name(name).into_column())
    };
    let field = move |_: &Schema, fields: &[Field]| {
        let Some(list) = fields.first() else { return Err(refusal("a lambda is called for one list")) };
        let Some(inner) = list.dtype().inner_dtype() else { return Err(refusal(format!("{} is no list", list.name()))) };
        if keeps {
            return Ok(list.clone());
        }
        let schema = computed(Series::new_empty(PlSmallStr::EMPTY, inner))?.collect_schema()?;
        Ok(Field::new(list.name().clone(), DataType::List(Box::new(schema.try_get("value")?.clone()))))
    };
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}
