//! List functions with a lambda: `list_transform`, `list_filter` and `list_reduce`.

use std::ops::Range;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::SQLContext;

use super::duckdb_arithmetic::apply_duckdb_arithmetic;
use super::engine_errors::refusal;
use super::function_registry::registry;
use super::list_functions::{element_type, elementwise};
use super::nested_values::{ListRanges, ListsBuilder, broadcast_row, row_count, take_places};

/// Maximum number of elements that `list_reduce` goes through, one after the other.
const REDUCED_MAX: usize = 10_000;

/// The body of a lambda: an engine expression over `x`, the element; `y`, the element that a result
/// is combined with; `i`, its number from 1; and `c0`, `c1`, …, values of the row.
#[derive(Clone)]
pub(super) struct Body {
    pub sql: String,
    /// Functions of the statement, as those of lambdas within this one.
    pub functions: Vec<(String, UserDefinedFunction)>,
}

impl Body {
    /// The results for rows of inputs, lazily.
    fn evaluate_rows(&self, inputs: Vec<Column>) -> PolarsResult<LazyFrame> {
        let rows = inputs.first().map_or(0, Column::len);
        let mut context =
            SQLContext::new().with_function_registry(registry(self.functions.clone()));
        context.register("t", DataFrame::new(rows, inputs)?.lazy());
        apply_duckdb_arithmetic(
            context.execute(&format!("SELECT \"x\", {} AS \"value\" FROM t", self.sql))?,
        )
    }

    fn values(&self, inputs: Vec<Column>) -> PolarsResult<Series> {
        Ok(self
            .evaluate_rows(inputs)?
            .collect()?
            .column("value")?
            .as_materialized_series()
            .clone())
    }

    fn dtype(&self, inputs: &[(&str, &DataType)], more: &[DataType]) -> PolarsResult<DataType> {
        let empty = |name: PlSmallStr, dtype: &DataType| {
            Ok(Series::new_empty(name, &dtype.clone().materialize_unknown(false)?).into_column())
        };
        let named = inputs
            .iter()
            .map(|(name, dtype)| empty((*name).into(), dtype));
        let more = more
            .iter()
            .enumerate()
            .map(|(at, dtype)| empty(context_name(at), dtype));
        let number = Column::new("i".into(), Vec::<i64>::new());
        let inputs = named
            .chain(more)
            .chain([Ok(number)])
            .collect::<PolarsResult<Vec<_>>>()?;
        Ok(self
            .evaluate_rows(inputs)?
            .collect_schema()?
            .try_get("value")?
            .clone())
    }

    /// The type of the lists of results, or with `keeps` of the lists of elements.
    fn type_of_lists(&self, dtypes: &[DataType], keeps: bool) -> PolarsResult<DataType> {
        let item = element_type(dtypes)?;
        if keeps {
            return Ok(DataType::List(Box::new(item)));
        }
        Ok(DataType::List(Box::new(
            self.dtype(&[("x", &item)], &dtypes[1..])?,
        )))
    }

    /// Lists of the results for each element, or with `keeps` of the elements for which the result
    /// is true.
    fn evaluate_elements(&self, columns: &[Column], keeps: bool) -> PolarsResult<Column> {
        let lists = ListRanges::from_column(&columns[0])?;
        let ranges = element_ranges(&lists, row_count(columns));
        // Nulls may have elements below them, whose results are not asked for.
        let elements = take_places(
            &lists.elements,
            ranges.iter().flatten().cloned().flatten().map(Some),
        )?;
        let numbers: Vec<i64> = ranges
            .iter()
            .flatten()
            .flat_map(|range| 1..=range.len() as i64)
            .collect();
        let of_element: Vec<usize> = ranges
            .iter()
            .enumerate()
            .flat_map(|(row, range)| {
                std::iter::repeat_n(row, range.as_ref().map_or(0, ExactSizeIterator::len))
            })
            .collect();
        let mut inputs = vec![
            elements.clone().with_name("x".into()).into_column(),
            Column::new("i".into(), numbers),
        ];
        inputs.extend(of_rows(&columns[1..], &of_element)?);
        let answers = self.values(inputs)?;
        let kept = if keeps {
            Some(answers.cast(&DataType::Boolean)?.bool()?.clone())
        } else {
            None
        };
        let mut start = 0;
        let mut builder = ListsBuilder::default();
        for range in ranges {
            let Some(range) = range else {
                builder.push_null();
                continue;
            };
            let places = start..start + range.len();
            start = places.end;
            match &kept {
                Some(kept) => {
                    let is_kept = |place: &usize| kept.get(*place).unwrap_or(false);
                    builder.push(places.filter(is_kept).map(Some));
                }
                None => builder.push(places.map(Some)),
            }
        }
        Ok(builder
            .finish(if keeps { &elements } else { &answers })?
            .into_column())
    }
}

fn context_name(at: usize) -> PlSmallStr {
    format!("c{at}").into()
}

/// The values of the row for each of these rows, as inputs of a body.
fn of_rows(columns: &[Column], rows: &[usize]) -> PolarsResult<Vec<Column>> {
    let mut inputs = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        let places = rows
            .iter()
            .map(|&row| Some(broadcast_row(column.len(), row)));
        let values = take_places(column.as_materialized_series(), places)?;
        inputs.push(values.with_name(context_name(at)).into_column());
    }
    Ok(inputs)
}

/// Places of the elements of each list, which is broadcast to `rows` rows; `None` for null.
fn element_ranges(lists: &ListRanges, rows: usize) -> Vec<Option<Range<usize>>> {
    (0..rows)
        .map(|row| lists.row(broadcast_row(lists.len(), row)))
        .collect()
}

/// List function that evaluates `body` per element; with `keeps`, filters by it. Its arguments are
/// the lists, and the values of the row.
pub(super) fn of_elements(name: &str, body: Body, keeps: bool) -> UserDefinedFunction {
    let of_type = body.clone();
    elementwise(
        name,
        move |dtypes| of_type.type_of_lists(dtypes, keeps),
        move |columns| body.evaluate_elements(columns, keeps),
    )
}

/// `list_reduce`: combines the first element with the second, the result with the third, and so on.
/// With `has_initial` the second argument is what the first element is combined with. Its arguments
/// are the lists, then that value, then the values of the row.
pub(super) fn reduction(name: &str, body: Body, has_initial: bool) -> UserDefinedFunction {
    let reduction = ListReduction { body, has_initial };
    let of_type = reduction.clone();
    elementwise(
        name,
        move |dtypes| of_type.type_of_result(dtypes),
        move |columns| reduction.evaluate(columns),
    )
}

#[derive(Clone)]
struct ListReduction {
    body: Body,
    has_initial: bool,
}

impl ListReduction {
    /// The first argument that is a value of the row.
    fn first_of_row(&self) -> usize {
        if self.has_initial { 2 } else { 1 }
    }

    fn type_of_result(&self, dtypes: &[DataType]) -> PolarsResult<DataType> {
        let item = element_type(dtypes)?;
        let begin = if self.has_initial {
            dtypes[1].clone().materialize_unknown(false)?
        } else {
            item.clone()
        };
        let more = &dtypes[self.first_of_row()..];
        let next = self.body.dtype(&[("x", &begin), ("y", &item)], more)?;
        self.body.dtype(&[("x", &next), ("y", &item)], more)
    }

    fn evaluate(&self, columns: &[Column]) -> PolarsResult<Column> {
        let dtypes: Vec<DataType> = columns
            .iter()
            .map(|column| column.dtype().clone())
            .collect();
        let dtype = self.type_of_result(&dtypes)?;
        let lists = ListRanges::from_column(&columns[0])?;
        let rows = row_count(columns);
        let ranges = element_ranges(&lists, rows);
        let longest = self.check_list_lengths(&ranges)?;
        let mut results = self.first_values(columns, &lists, &ranges)?.cast(&dtype)?;
        for at in usize::from(!self.has_initial)..longest {
            let going: Vec<usize> = (0..rows)
                .filter(|&row| ranges[row].as_ref().is_some_and(|range| range.len() > at))
                .collect();
            let elements = take_places(
                &lists.elements,
                going
                    .iter()
                    .map(|&row| ranges[row].as_ref().map(|range| range.start + at)),
            )?;
            let before = take_places(&results, going.iter().map(|&row| Some(row)))?;
            let numbers = vec![at as i64 + 1; going.len()];
            let mut inputs = vec![
                before.with_name("x".into()).into_column(),
                elements.with_name("y".into()).into_column(),
                Column::new("i".into(), numbers),
            ];
            inputs.extend(of_rows(&columns[self.first_of_row()..], &going)?);
            let answers = self.body.values(inputs)?.cast(&dtype)?;
            // Results that go on take the place of those before.
            let mut both = results.clone();
            both.append(&answers)?;
            let mut places: Vec<Option<usize>> = (0..rows).map(Some).collect();
            going
                .iter()
                .enumerate()
                .for_each(|(number, &row)| places[row] = Some(rows + number));
            results = take_places(&both, places)?;
        }
        Ok(results.into_column())
    }

    /// The length of the longest list.
    fn check_list_lengths(&self, ranges: &[Option<Range<usize>>]) -> PolarsResult<usize> {
        let longest = ranges
            .iter()
            .flatten()
            .map(ExactSizeIterator::len)
            .max()
            .unwrap_or(0);
        if longest > REDUCED_MAX {
            return Err(refusal(format!(
                "list_reduce takes lists of at most {REDUCED_MAX} elements, not {longest}"
            )));
        }
        if !self.has_initial && ranges.iter().flatten().any(Range::is_empty) {
            return Err(refusal(
                "list_reduce of an empty list needs a value to begin with: list_reduce(l, (a, b) \
                    -> a + b, 0)",
            ));
        }
        Ok(longest)
    }

    /// What the reduction of each list begins with; null for no list.
    fn first_values(
        &self,
        columns: &[Column],
        lists: &ListRanges,
        ranges: &[Option<Range<usize>>],
    ) -> PolarsResult<Series> {
        if self.has_initial {
            let initial = &columns[1];
            let places = ranges
                .iter()
                .enumerate()
                .map(|(row, range)| range.as_ref().map(|_| broadcast_row(initial.len(), row)));
            take_places(initial.as_materialized_series(), places)
        } else {
            let places = ranges
                .iter()
                .map(|range| range.as_ref().map(|range| range.start));
            take_places(&lists.elements, places)
        }
    }
}
