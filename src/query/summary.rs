//! `SUMMARIZE`: type, minimum, maximum, distinct count, mean, sample standard deviation, row count and percentage of nulls of each
//! column of a query.

use std::collections::HashSet;

use arrow::array::Array;
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::QueryResult;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::dtype_name;
use crate::table::cell_text;

/// One row per column of `result`; all values as text, as in DuckDB.
pub(super) fn summarize(result: &QueryResult, ctx: &JobContext) -> Result<QueryResult> {
    let mut found: [Vec<String>; 9] = Default::default();
    for (index, field) in result.table.schema().fields().iter().enumerate() {
        ctx.check()?;
        let column = result.table.column(index)?;
        let numeric = field.data_type().is_numeric();
        let mut distinct = HashSet::new();
        let mut texts: Option<(String, String)> = None;
        for row in (0..column.len()).filter(|&row| column.is_valid(row)) {
            let text = cell_text(&column, row);
            if !numeric {
                texts = Some(match texts {
                    None => (text.clone(), text.clone()),
                    Some((low, high)) => (low.min(text.clone()), high.max(text.clone())),
                });
            }
            distinct.insert(text);
        }
        let (mut mean, mut spread) = (String::new(), String::new());
        if numeric {
            let numbers = cast(&column, &DataType::Float64).map_err(|e| Error::internal("a column has no numbers").because(e))?;
            let numbers = arrow::array::AsArray::as_primitive::<arrow::datatypes::Float64Type>(&numbers).clone();
            let all: Vec<f64> = numbers.iter().flatten().collect();
            let average = all.iter().sum::<f64>() / all.len() as f64;
            let squares: f64 = all.iter().map(|n| (n - average).powi(2)).sum();
            let low = all.iter().copied().reduce(f64::min);
            texts = low.zip(all.iter().copied().reduce(f64::max)).map(|(low, high)| (low.to_string(), high.to_string()));
            if !all.is_empty() {
                mean = average.to_string();
            }
            if all.len() > 1 {
                spread = (squares / (all.len() - 1) as f64).sqrt().to_string();
            }
        }
        let (low, high) = texts.unwrap_or_default();
        let nulls = 100.0 * column.null_count() as f64 / column.len().max(1) as f64;
        let row = [
            field.name().clone(),
            dtype_name(field.data_type()),
            low,
            high,
            distinct.len().to_string(),
            mean,
            spread,
            column.len().to_string(),
            format!("{nulls:.2}"),
        ];
        found.iter_mut().zip(row).for_each(|(column, text)| column.push(text));
    }
    let names = ["column_name", "column_type", "min", "max", "approx_unique", "avg", "std", "count", "null_percentage"];
    let mut columns = names.into_iter().zip(found);
    let columns: [(&str, Vec<String>); 9] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    QueryResult::of_texts(columns)
}
