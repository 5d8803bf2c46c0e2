//! List functions with a lambda: `list_transform` and `list_filter`.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::SQLContext;

use super::duckdb_arithmetic::meant;
use super::function_registry::registry;
use super::list_functions::{element_type, elementwise};
use super::nested_values::{Lists, ListsBuilder, taken};

/// List function that evaluates `body`, an engine expression over the element `x` and its number `i`, per element; with `keeps`, filters
/// by it.
pub(super) fn of_elements(name: &str, body: String, keeps: bool) -> UserDefinedFunction {
    let computed = move |elements: Series, numbers: Vec<i64>| -> PolarsResult<LazyFrame> {
        let numbers = Column::new("i".into(), numbers);
        let frame = DataFrame::new(elements.len(), vec![elements.with_name("x".into()).into_column(), numbers])?;
        let mut context = SQLContext::new().with_function_registry(registry(Vec::new()));
        context.register("t", frame.lazy());
        meant(context.execute(&format!("SELECT \"x\", {body} AS \"value\" FROM t"))?)
    };
    let compute = computed.clone();
    let values = move |columns: &[Column]| -> PolarsResult<Column> {
        let lists = Lists::of(&columns[0])?;
        let ranges: Vec<_> = (0..lists.len()).map(|row| lists.row(row)).collect();
        // Nulls may have elements below them, whose results are not asked for.
        let elements = taken(&lists.elements, ranges.iter().flatten().cloned().flatten().map(Some))?;
        let numbers = ranges.iter().flatten().flat_map(|range| 1..=range.len() as i64).collect();
        let answers = compute(elements.clone(), numbers)?.collect()?;
        let answers = answers.column("value")?.as_materialized_series();
        let kept = if keeps { Some(answers.cast(&DataType::Boolean)?.bool()?.clone()) } else { None };
        let is_kept = |place: &usize| kept.as_ref().is_none_or(|kept| kept.get(*place).unwrap_or(false));
        let mut start = 0;
        let mut builder = ListsBuilder::default();
        for range in ranges {
            match range {
                Some(range) => {
                    let end = start + range.len();
                    builder.push((start..end).filter(is_kept).map(Some));
                    start = end;
                }
                None => builder.push_null(),
            }
        }
        Ok(builder.finish(if keeps { &elements } else { answers })?.into_column())
    };
    let dtype = move |dtypes: &[DataType]| {
        let item = element_type(dtypes)?;
        if keeps {
            return Ok(DataType::List(Box::new(item)));
        }
        let schema = computed(Series::new_empty(PlSmallStr::EMPTY, &item), Vec::new())?.collect_schema()?;
        Ok(DataType::List(Box::new(schema.try_get("value")?.clone())))
    };
    elementwise(name, dtype, values)
}
