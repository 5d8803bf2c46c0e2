//! Scalar functions of DuckDB that the engine lacks, by what they take: texts, times, numbers,
//! lists, JSON. Each is a row of a table with the type of its result and its code; null arguments
//! give null where nothing else is said.

mod bins;
mod formats;
mod hashes;
mod json;
mod json_paths;
mod json_rows;
mod json_shapes;
mod lists;
mod maps;
mod numbers;
mod paths;
mod texts;
mod times;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::list_functions::{check_argument_count, elementwise};
use super::nested_values::{broadcast_row, cast_to, row_count};
use super::recognised_functions::{RecognisedFunction, get_or_build_named};

pub(super) use bins::other_bin;
pub(super) use json_paths::has_wildcard;
pub(super) use json_rows::JSON_COLUMNS;
pub(super) use lists::LIST_AGGREGATES;
pub(super) use maps::map_of;
pub(super) use numbers::seeded_random;
pub(super) use times::add_interval;

/// Signature and implementation of a scalar function.
struct ScalarFunction {
    name: &'static str,
    /// Minimum and maximum number of arguments.
    takes: (usize, usize),
    dtype: fn(&[DataType]) -> PolarsResult<DataType>,
    run: fn(&[Column]) -> PolarsResult<Column>,
}

impl ScalarFunction {
    fn check_argument_count(&self, count: usize) -> PolarsResult<()> {
        check_argument_count(self.name, self.takes, count)
    }
}

/// What was read of the text of the row before: a text is often that of many rows.
struct LastRead<T>(Option<(String, T)>);

impl<T> Default for LastRead<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> LastRead<T> {
    fn get_or_read(
        &mut self,
        text: &str,
        read: impl FnOnce(&str) -> PolarsResult<T>,
    ) -> PolarsResult<&T> {
        let (known, value) = match self.0.take() {
            Some((known, value)) if known == text => (known, value),
            _ => (text.to_owned(), read(text)?),
        };
        Ok(&self.0.insert((known, value)).1)
    }
}

const fn scalar(
    name: &'static str,
    takes: (usize, usize),
    dtype: fn(&[DataType]) -> PolarsResult<DataType>,
    run: fn(&[Column]) -> PolarsResult<Column>,
) -> ScalarFunction {
    ScalarFunction {
        name,
        takes,
        dtype,
        run,
    }
}

fn functions() -> impl Iterator<Item = &'static ScalarFunction> {
    [
        texts::FUNCTIONS,
        formats::FUNCTIONS,
        times::FUNCTIONS,
        numbers::FUNCTIONS,
        lists::FUNCTIONS,
        json::FUNCTIONS,
        maps::FUNCTIONS,
        paths::FUNCTIONS,
        hashes::FUNCTIONS,
        bins::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

/// True for the lower-case name of a function of this module.
pub(super) fn is_known(name: &str) -> bool {
    functions().any(|function| function.name == name)
}

/// Names of all functions of this module.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    functions().map(|function| function.name)
}

/// True for functions whose results are texts.
pub(super) fn gives_text(name: &str) -> bool {
    functions().any(|function| {
        function.name == name && (function.dtype)(&[]).is_ok_and(|dtype| dtype == DataType::String)
    })
}

/// Name of the function of `typeof`.
const TYPE_OF: &str = "type_of";

/// The function with this name.
pub(super) fn function(name: &str) -> Option<UserDefinedFunction> {
    if name == TYPE_OF {
        RecognisedFunction::TypeOf.get_or_build(|| build_function(name))
    } else {
        get_or_build_named(name, build_function).or_else(|| build_function(name))
    }
}

fn build_function(name: &str) -> Option<UserDefinedFunction> {
    let found = functions().find(|function| function.name == name)?;
    Some(elementwise(
        name,
        move |dtypes| {
            found.check_argument_count(dtypes.len())?;
            (found.dtype)(dtypes)
        },
        move |columns| {
            found.check_argument_count(columns.len())?;
            (found.run)(columns)
        },
    ))
}

fn text(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::String)
}

fn bytes(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Binary)
}

fn whole(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Int64)
}

fn double(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Float64)
}

fn truth(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Boolean)
}

fn list_of_texts(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::List(Box::new(DataType::String)))
}

/// The results of a function of `N` texts, row by row; null where a text is null.
fn of_texts<const N: usize, R>(
    columns: &[Column],
    of: impl Fn([&str; N]) -> PolarsResult<Option<R>>,
) -> PolarsResult<Vec<Option<R>>> {
    let texts = columns
        .iter()
        .map(|column| cast_to(column, &DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|series| series.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut results = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let arguments = texts
            .iter()
            .map(|texts| texts.get(broadcast_row(texts.len(), row)));
        results.push(match collect_arguments(arguments) {
            Some(arguments) => of(arguments)?,
            None => None,
        });
    }
    Ok(results)
}

/// The results of a function of `N` numbers as DOUBLE, row by row; null where a number is null.
fn of_doubles<const N: usize, R>(
    columns: &[Column],
    of: impl Fn([f64; N]) -> PolarsResult<Option<R>>,
) -> PolarsResult<Vec<Option<R>>> {
    let numbers = columns
        .iter()
        .map(|column| column.cast(&DataType::Float64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let numbers = numbers
        .iter()
        .map(|column| column.f64())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut results = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let arguments = numbers
            .iter()
            .map(|column| column.get(broadcast_row(column.len(), row)));
        results.push(match collect_arguments(arguments) {
            Some(arguments) => of(arguments)?,
            None => None,
        });
    }
    Ok(results)
}

/// The results of a function of `N` integers, row by row; null where one is null.
fn of_wholes<const N: usize, R>(
    columns: &[Column],
    of: impl Fn([i64; N]) -> PolarsResult<Option<R>>,
) -> PolarsResult<Vec<Option<R>>> {
    let numbers = columns
        .iter()
        .map(|column| column.cast(&DataType::Int64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let numbers = numbers
        .iter()
        .map(|column| column.i64())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut results = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let arguments = numbers
            .iter()
            .map(|column| column.get(broadcast_row(column.len(), row)));
        results.push(match collect_arguments(arguments) {
            Some(arguments) => of(arguments)?,
            None => None,
        });
    }
    Ok(results)
}

/// The arguments of one row; `None` where one is null.
fn collect_arguments<const N: usize, T: Copy + Default>(
    values: impl Iterator<Item = Option<T>>,
) -> Option<[T; N]> {
    let mut arguments = [T::default(); N];
    for (argument, value) in arguments.iter_mut().zip(values) {
        *argument = value?;
    }
    Some(arguments)
}

fn texts_column(texts: Vec<Option<String>>) -> Column {
    texts.into_iter().collect::<StringChunked>().into_column()
}

fn bytes_column(rows: Vec<Option<Vec<u8>>>) -> Column {
    rows.into_iter().collect::<BinaryChunked>().into_column()
}

fn wholes_column(numbers: Vec<Option<i64>>) -> Column {
    numbers.into_iter().collect::<Int64Chunked>().into_column()
}

fn doubles_column(numbers: Vec<Option<f64>>) -> Column {
    numbers
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column()
}

fn truths_column(truths: Vec<Option<bool>>) -> Column {
    truths.into_iter().collect::<BooleanChunked>().into_column()
}

fn text_lists_column(lists: Vec<Option<Vec<String>>>) -> PolarsResult<Column> {
    let mut elements: Vec<&str> = Vec::new();
    let mut builder = super::nested_values::ListsBuilder::default();
    for list in &lists {
        match list {
            Some(list) => {
                let start = elements.len();
                elements.extend(list.iter().map(String::as_str));
                builder.push((start..elements.len()).map(Some));
            }
            None => builder.push_null(),
        }
    }
    let elements = Series::new(PlSmallStr::EMPTY, elements);
    Ok(builder.finish(&elements)?.into_column())
}
