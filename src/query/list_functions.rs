//! DuckDB's list functions. Null lists give null; elements are compared as [`order_keys`] orders
//! them.

use std::collections::HashSet;
use std::ops::Range;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use super::decimal_widths::DIGITS;
use super::engine_errors::refusal;
use super::nested_values::{
    ListRanges, ListsBuilder, broadcast_column, broadcast_row, cast_to, common_type,
    comparable_type, extreme_of, order_keys, row_count, stack_columns, take_places,
};
use super::recognised_functions::RecognisedFunction;
use super::type_names::type_name;
use super::whole_numbers::too_large;

/// Signature and implementation of a list function.
struct ListFunction {
    name: &'static str,
    /// Minimum and maximum number of arguments.
    takes: (usize, usize),
    dtype: fn(&[DataType]) -> PolarsResult<DataType>,
    run: fn(&[Column]) -> PolarsResult<Column>,
}

const fn list_function(
    name: &'static str,
    takes: (usize, usize),
    dtype: fn(&[DataType]) -> PolarsResult<DataType>,
    run: fn(&[Column]) -> PolarsResult<Column>,
) -> ListFunction {
    ListFunction {
        name,
        takes,
        dtype,
        run,
    }
}

/// Name of the function that makes a list of its arguments.
const LIST_VALUE: &str = "list_value";

/// Name of the function that makes a list without elements; its argument is NULL, as the engine
/// calls no function without one.
const NO_ELEMENTS: &str = "list_without_elements";

/// Name of the function that adds the elements of a list.
const LIST_SUM: &str = "list_sum";

/// Name of the function that a sum with OVER is the argument of, and that gives it back: plans have
/// no other sign of such a sum.
pub(super) const WINDOW_SUM: &str = "window_sum";

/// Lists that are put behind one another.
const LISTS_MAX: usize = 100;

const FUNCTIONS: &[ListFunction] = &[
    list_function(LIST_VALUE, (1, 20_000), list_type, |columns| {
        list_value(columns, &common_type(&dtypes(columns))?)
    }),
    list_function(NO_ELEMENTS, (1, 1), list_type, |_| list_without_elements()),
    list_function("list_avg", (1, 1), |_| Ok(DataType::Float64), list_avg),
    list_function("array_cat", (1, LISTS_MAX), concat_type, list_concat),
    list_function("array_concat", (1, LISTS_MAX), concat_type, list_concat),
    list_function("list_cat", (1, LISTS_MAX), concat_type, list_concat),
    list_function("list_concat", (1, LISTS_MAX), concat_type, list_concat),
    list_function(
        "list_contains",
        (2, 2),
        |_| Ok(DataType::Boolean),
        list_contains,
    ),
    list_function("list_distinct", (1, 1), first_type, list_distinct),
    list_function("list_joined", (2, 2), concat_type, list_joined),
    list_function("list_max", (1, 1), element_type, |columns| {
        list_extreme(columns, true)
    }),
    list_function("list_min", (1, 1), element_type, |columns| {
        list_extreme(columns, false)
    }),
    list_function("list_reverse_sort", (1, 1), first_type, |columns| {
        list_sort(columns, true)
    }),
    list_function("list_reversed", (1, 1), first_type, list_reversed),
    list_function("list_sort", (1, 1), first_type, |columns| {
        list_sort(columns, false)
    }),
    list_function(LIST_SUM, (1, 1), sum_type, list_sum),
    list_function("list_text", (2, 2), |_| Ok(DataType::String), list_text),
    list_function(WINDOW_SUM, (1, 1), first_type, |columns| {
        Ok(columns[0].clone())
    }),
];

/// True for the lower-case name of a function of this module.
pub(super) fn is_known(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

/// Names of all functions of this module.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

/// The function with this name.
pub(super) fn function(name: &str) -> Option<UserDefinedFunction> {
    let recognised = match name {
        LIST_VALUE => RecognisedFunction::WrittenList,
        LIST_SUM => RecognisedFunction::ListSum,
        WINDOW_SUM => RecognisedFunction::WindowSum,
        _ => return build_function(name),
    };
    recognised.get_or_build(|| build_function(name))
}

fn build_function(name: &str) -> Option<UserDefinedFunction> {
    let found = FUNCTIONS.iter().find(|function| function.name == name)?;
    Some(elementwise(
        name,
        move |dtypes| found.type_of_result(dtypes),
        move |columns| found.evaluate(columns),
    ))
}

impl ListFunction {
    fn type_of_result(&self, dtypes: &[DataType]) -> PolarsResult<DataType> {
        check_argument_count(self.name, self.takes, dtypes.len())?;
        (self.dtype)(dtypes)
    }

    fn evaluate(&self, columns: &[Column]) -> PolarsResult<Column> {
        check_argument_count(self.name, self.takes, columns.len())?;
        (self.run)(columns)
    }
}

/// Refuses a call whose number of arguments is not within the minimum and maximum of `takes`.
pub(super) fn check_argument_count(
    name: &str,
    takes: (usize, usize),
    count: usize,
) -> PolarsResult<()> {
    let (least, most) = takes;
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let wanted = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    };
    Err(refusal(format!(
        "{name} takes {wanted} arguments, not {count}"
    )))
}

/// A function that computes each row of its result from the same row of its arguments; the result
/// is named as the first.
pub(super) fn elementwise(
    name: &str,
    dtype: impl Fn(&[DataType]) -> PolarsResult<DataType> + Send + Sync + 'static,
    values: impl Fn(&[Column]) -> PolarsResult<Column> + Send + Sync + 'static,
) -> UserDefinedFunction {
    let values = move |columns: &mut [Column]| evaluate_named(columns, &values);
    let field = move |_: &Schema, fields: &[Field]| result_field(fields, &dtype);
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

fn evaluate_named(
    columns: &[Column],
    values: impl Fn(&[Column]) -> PolarsResult<Column>,
) -> PolarsResult<Column> {
    let called = columns
        .first()
        .map_or(PlSmallStr::EMPTY, |column| column.name().clone());
    values(columns).map(|column| column.with_name(called))
}

fn result_field(
    fields: &[Field],
    dtype: impl Fn(&[DataType]) -> PolarsResult<DataType>,
) -> PolarsResult<Field> {
    let called = fields
        .first()
        .map_or(PlSmallStr::EMPTY, |field| field.name().clone());
    let dtypes: Vec<DataType> = fields.iter().map(|field| field.dtype().clone()).collect();
    // The engine stops for a type that is not known, as that of a written number.
    Ok(Field::new(
        called,
        dtype(&dtypes)?.materialize_unknown(false)?,
    ))
}

/// `list_value` with elements of this type.
fn written_list(dtype: DataType) -> UserDefinedFunction {
    let item = dtype.clone();
    elementwise(
        LIST_VALUE,
        move |_| Ok(DataType::List(Box::new(item.clone()))),
        move |columns| list_value(columns, &dtype),
    )
}

/// What calls of [`written_list`] are marked with.
const WRITTEN_LIST: &str = "written_list";

/// A list of expressions whose elements have this type.
pub(super) fn written_list_call(dtype: DataType, elements: Vec<Expr>) -> Expr {
    let mut call = written_list(dtype).call(elements);
    if let Expr::AnonymousFunction { fmt_str, .. } = &mut call {
        **fmt_str = WRITTEN_LIST.into();
    }
    call
}

/// The elements of a list that a statement writes, as `[…]` or `list_value(…)`.
pub(super) fn written_elements(list: &Expr) -> Option<&[Expr]> {
    match list {
        Expr::AnonymousFunction {
            input,
            function,
            fmt_str,
            ..
        } => {
            let is_list = RecognisedFunction::WrittenList.matches(function)
                || fmt_str.as_str() == WRITTEN_LIST;
            is_list.then_some(input.as_slice())
        }
        _ => None,
    }
}

fn dtypes(columns: &[Column]) -> Vec<DataType> {
    columns
        .iter()
        .map(|column| column.dtype().clone())
        .collect()
}

fn list_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::List(Box::new(common_type(dtypes)?)))
}

fn first_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(dtypes.first().cloned().unwrap_or(DataType::Null))
}

pub(super) fn element_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match first_type(dtypes)? {
        DataType::List(item) => Ok(*item),
        DataType::Null => Ok(DataType::Null),
        other => Err(refusal(format!(
            "a list is needed, not a value of the type {}",
            type_name(&other)
        ))),
    }
}

fn concat_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match common_type(dtypes)? {
        dtype @ (DataType::List(_) | DataType::Null) => Ok(dtype),
        other => Err(refusal(format!(
            "lists are needed, not values of the type {}",
            type_name(&other)
        ))),
    }
}

/// Sums of integers are integers, of 64 bits.
fn sum_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(match element_type(dtypes)? {
        DataType::UInt64 => DataType::UInt64,
        item if item.is_integer() || item.is_bool() || item.is_null() => DataType::Int64,
        DataType::Decimal(_, scale) => DataType::Decimal(DIGITS, scale),
        item if item.is_numeric() => DataType::Float64,
        item => {
            return Err(refusal(format!(
                "values of the type {} have no sum",
                type_name(&item)
            )));
        }
    })
}

fn list_value(columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    let (elements, starts) = stack_columns(columns, dtype)?;
    let mut lists = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let place =
            |(column, start): (&Column, &usize)| Some(start + broadcast_row(column.len(), row));
        lists.push(columns.iter().zip(&starts).map(place));
    }
    Ok(lists.finish(&elements)?.into_column())
}

fn list_without_elements() -> PolarsResult<Column> {
    let mut list = ListsBuilder::default();
    list.push(std::iter::empty());
    Ok(list
        .finish(&Series::new_empty(PlSmallStr::EMPTY, &DataType::Null))?
        .into_column())
}

/// Elements of lists behind one another; a null list has none.
fn list_concat(columns: &[Column]) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let dtype = concat_type(&dtypes(columns))?;
    let DataType::List(item) = &dtype else {
        return Ok(Column::full_null(PlSmallStr::EMPTY, rows, &dtype));
    };
    let parts = columns
        .iter()
        .map(ListRanges::from_column)
        .collect::<PolarsResult<Vec<_>>>()?;
    let elements: Vec<Column> = parts
        .iter()
        .map(|lists| lists.elements.clone().into_column())
        .collect();
    let (elements, starts) = stack_columns(&elements, item)?;
    let mut lists = ListsBuilder::default();
    for row in 0..rows {
        let places = parts.iter().zip(&starts).flat_map(|(lists, start)| {
            lists
                .row(row)
                .unwrap_or_default()
                .map(move |place| Some(start + place))
        });
        lists.push(places);
    }
    Ok(lists.finish(&elements)?.into_column())
}

/// Two lists behind one another, as of `||`; null where one of them is null.
fn list_joined(columns: &[Column]) -> PolarsResult<Column> {
    let joined = list_concat(columns)?;
    let rows = joined.len();
    let mut known = BooleanChunked::full(PlSmallStr::EMPTY, true, rows);
    for column in columns {
        known = known & broadcast_column(column, rows).is_not_null();
    }
    let nulls = Column::full_null(PlSmallStr::EMPTY, rows, joined.dtype());
    joined.zip_with(&known, &nulls)
}

/// Lists of chosen elements of each list, in the chosen order.
fn choose_elements(
    columns: &[Column],
    mut choose: impl FnMut(Range<usize>) -> Vec<usize>,
) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let mut builder = ListsBuilder::default();
    for row in 0..lists.len() {
        match lists.row(row) {
            Some(range) => builder.push(choose(range).into_iter().map(Some)),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

fn keys_of_elements(lists: &ListRanges) -> PolarsResult<BinaryChunked> {
    let elements = lists.elements.clone().into_column();
    order_keys(&elements, elements.dtype())
}

/// The first of equal elements of each list, without nulls.
fn list_distinct(columns: &[Column]) -> PolarsResult<Column> {
    let keys = keys_of_elements(&ListRanges::from_column(&columns[0])?)?;
    choose_elements(columns, |range| {
        let mut known: HashSet<&[u8]> = HashSet::new();
        range
            .filter(|place| keys.get(*place).is_some_and(|key| known.insert(key)))
            .collect()
    })
}

/// Sorted elements of each list, nulls last.
fn list_sort(columns: &[Column], descending: bool) -> PolarsResult<Column> {
    let keys = keys_of_elements(&ListRanges::from_column(&columns[0])?)?;
    choose_elements(columns, |range| {
        let mut places: Vec<usize> = range.collect();
        places.sort_by(|one, other| {
            let (one, other) = (keys.get(*one), keys.get(*other));
            let order = one.is_none().cmp(&other.is_none());
            order.then_with(|| {
                if descending {
                    other.cmp(&one)
                } else {
                    one.cmp(&other)
                }
            })
        });
        places
    })
}

/// Least or greatest element of each list that is not null.
fn list_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let keys = keys_of_elements(&lists)?;
    let places = (0..lists.len()).map(|row| extreme_place(lists.row(row)?, &keys, greatest));
    Ok(take_places(&lists.elements, places)?.into_column())
}

/// The place of the least or greatest key that is not null.
fn extreme_place(places: Range<usize>, keys: &BinaryChunked, greatest: bool) -> Option<usize> {
    let known = places.filter_map(|place| keys.get(place).map(|key| (key, place)));
    extreme_of(known, greatest)
}

/// True for a list that has the value; null for a null value.
pub(super) fn list_contains(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let dtype = comparable_type(lists.elements.dtype(), columns[1].dtype())?;
    let keys = order_keys(&lists.elements.clone().into_column(), &dtype)?;
    let values = order_keys(&columns[1], &dtype)?;
    // One list is that of all rows.
    if lists.len() == 1
        && let Some(places) = lists.row(0)
    {
        let known: HashSet<&[u8]> = places.filter_map(|place| keys.get(place)).collect();
        let found = values
            .iter()
            .map(|value| value.map(|value| known.contains(value)));
        return Ok(BooleanChunked::from_iter(found).into_column());
    }
    let mut found = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let value = values.get(broadcast_row(values.len(), row));
        found.push(
            value
                .zip(lists.row(row))
                .map(|(value, mut places)| places.any(|place| keys.get(place) == Some(value))),
        );
    }
    Ok(BooleanChunked::from_iter(found).into_column())
}

/// The elements in the opposite order. (The engine's own function stops behind a filter that has it
/// too.)
fn list_reversed(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let mut builder = ListsBuilder::default();
    for row in 0..lists.len() {
        match lists.row(row) {
            Some(range) => builder.push(range.rev().map(Some)),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// Elements from a position to another one, both included; negative ones count from the end.
pub(super) fn list_part(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let bounds = columns[1..]
        .iter()
        .map(|bound| bound.cast(&DataType::Int64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let bounds = bounds
        .iter()
        .map(|bound| bound.i64())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let bound = |at: usize| bounds[at].get(broadcast_row(bounds[at].len(), row));
        match (lists.row(row), bound(0), bound(1)) {
            (Some(range), Some(first), Some(last)) => {
                let length = range.len() as i64;
                let first = position_from_start(first, length).max(1);
                let last = position_from_start(last, length).min(length);
                builder.push((first..=last).map(|place| Some(range.start + place as usize - 1)));
            }
            _ => builder.push_null(),
        }
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// A position from 1; a negative one counts from the end of `length` elements or characters.
pub(super) fn position_from_start(position: i64, length: i64) -> i64 {
    if position < 0 {
        length.saturating_add(position).saturating_add(1)
    } else {
        position
    }
}

/// The first of several lists, with nulls behind it to the length of the longest.
pub(super) fn padded_list() -> UserDefinedFunction {
    elementwise("padded_list", first_type, list_padded)
}

/// The first list of each row with nulls behind it, so that it is as long as the longest of the
/// row; no list is one without elements.
fn list_padded(columns: &[Column]) -> PolarsResult<Column> {
    let all = columns
        .iter()
        .map(ListRanges::from_column)
        .collect::<PolarsResult<Vec<_>>>()?;
    let Some(first) = all.first() else {
        return Err(refusal("a list is needed"));
    };
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let longest = all
            .iter()
            .filter_map(|lists| lists.row(row))
            .map(|range| range.len())
            .max()
            .unwrap_or(0);
        let range = first.row(row).unwrap_or_default();
        builder
            .push((0..longest).map(|at| Some(range.start + at).filter(|place| *place < range.end)));
    }
    Ok(builder.finish(&first.elements)?.into_column())
}

/// A sum of decimal numbers, by their digits. The upper and the lower half of the numbers are added
/// by themselves, so that no sum of rows overflows, whatever their order is.
#[derive(Clone, Copy, Default)]
pub(super) struct DecimalSum {
    high: i128,
    low: i128,
}

impl DecimalSum {
    /// The sum of numbers whose upper and lower halves have these sums.
    pub(super) fn from_halves(high: i128, low: i128) -> Self {
        Self { high, low }
    }

    /// The sum with one more number.
    pub(super) fn with_number(self, digits: i128) -> Self {
        Self {
            high: self.high + (digits >> 64),
            low: self.low + (digits & i128::from(u64::MAX)),
        }
    }

    /// The sum with all numbers between two sums of the same series.
    pub(super) fn with_difference(self, from: Self, to: Self) -> Self {
        Self {
            high: self.high + (to.high - from.high),
            low: self.low + (to.low - from.low),
        }
    }

    /// The sum as a number of at most 38 digits.
    pub(super) fn fit(self) -> PolarsResult<i128> {
        let high = self.high.checked_mul(1 << 64);
        high.and_then(|high| high.checked_add(self.low))
            .filter(|sum| sum.unsigned_abs() < 10u128.pow(DIGITS as u32))
            .ok_or_else(|| too_large("a sum does not fit in 38 digits"))
    }
}

/// Sum of the elements of each list that are not null; null when there are none.
fn list_sum(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let dtype = sum_type(&dtypes(columns))?;
    if let DataType::Decimal(width, scale) = dtype {
        let physical = lists.elements.to_physical_repr();
        // Elements are looked up one by one.
        let digits = physical.i128()?.rechunk();
        let sums = (0..lists.len()).map(|row| {
            let mut known = lists.row(row)?.filter_map(|place| digits.get(place));
            let first = known.next()?;
            let sum = DecimalSum::default().with_number(first);
            Some(known.fold(sum, DecimalSum::with_number).fit())
        });
        return Ok(sums
            .map(Option::transpose)
            .collect::<PolarsResult<Int128Chunked>>()?
            .into_decimal_unchecked(width, scale)
            .into_column());
    }
    if !dtype.is_integer() {
        let numbers = lists.elements.cast(&DataType::Float64)?;
        let numbers = numbers.f64()?;
        let sums = (0..lists.len()).map(|row| {
            let known = lists.row(row)?.filter_map(|place| numbers.get(place));
            // A sum begins with 0.0, so that of -0.0 is 0.0.
            Some(known.reduce(|sum, number| sum + number)? + 0.0)
        });
        return Ok(sums.collect::<Float64Chunked>().into_column());
    }
    let numbers = read_whole_numbers(&lists.elements)?;
    let too_large = || refusal("a sum does not fit in 64 bits");
    let sums = (0..lists.len()).map(|row| {
        lists.row(row).and_then(|range| {
            range
                .filter_map(|place| numbers[place])
                .reduce(|a, b| a + b)
        })
    });
    if dtype == DataType::UInt64 {
        let sums = sums.map(|sum| {
            sum.map(|sum| u64::try_from(sum).map_err(|_| too_large()))
                .transpose()
        });
        return Ok(sums.collect::<PolarsResult<UInt64Chunked>>()?.into_column());
    }
    let sums = sums.map(|sum| {
        sum.map(|sum| i64::try_from(sum).map_err(|_| too_large()))
            .transpose()
    });
    Ok(sums.collect::<PolarsResult<Int64Chunked>>()?.into_column())
}

/// Integers or truth values of a column.
fn read_whole_numbers(series: &Series) -> PolarsResult<Vec<Option<i128>>> {
    if *series.dtype() == DataType::UInt64 {
        return Ok(series
            .u64()?
            .iter()
            .map(|number| number.map(i128::from))
            .collect());
    }
    Ok(series
        .cast(&DataType::Int64)?
        .i64()?
        .iter()
        .map(|number| number.map(i128::from))
        .collect())
}

/// Mean of the elements of each list that are not null; null when there are none.
fn list_avg(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    if sum_type(&dtypes(columns))?.is_integer() {
        let numbers = read_whole_numbers(&lists.elements)?;
        let means = (0..lists.len()).map(|row| {
            let known = lists.row(row)?.filter_map(|place| numbers[place]);
            mean_of_sum(known.clone().sum::<i128>() as f64, known.count())
        });
        return Ok(means.collect::<Float64Chunked>().into_column());
    }
    let numbers = lists.elements.cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let means = (0..lists.len()).map(|row| {
        let known = lists.row(row)?.filter_map(|place| numbers.get(place));
        mean_of_sum(known.clone().sum(), known.count())
    });
    Ok(means.collect::<Float64Chunked>().into_column())
}

/// The mean of `count` numbers; null of none.
fn mean_of_sum(sum: f64, count: usize) -> Option<f64> {
    // A sum begins with 0.0, so that of -0.0 is 0.0.
    (count > 0).then(|| (sum + 0.0) / count as f64)
}

/// Texts of the elements that are not null with a separator between them; null when there are none.
fn list_text(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    if super::nested_values::is_nested(lists.elements.dtype()) {
        let summary = format!(
            "lists of the type {} have no text",
            type_name(lists.elements.dtype())
        );
        return Err(refusal(summary));
    }
    let texts = lists.elements.cast(&DataType::String)?;
    let texts = texts.str()?;
    let separators = cast_to(&columns[1], &DataType::String)?;
    let separators = separators.str()?;
    let mut joined = StringChunkedBuilder::new(PlSmallStr::EMPTY, row_count(columns));
    for row in 0..row_count(columns) {
        let separator = separators
            .get(broadcast_row(separators.len(), row))
            .unwrap_or_default();
        let places = lists.row(row).unwrap_or_default();
        let known: Vec<&str> = places.filter_map(|place| texts.get(place)).collect();
        if known.is_empty() {
            joined.append_null();
        } else {
            joined.append_value(known.join(separator));
        }
    }
    Ok(joined.finish().into_column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_list_is_recognised_in_a_plan() {
        let call = |name: &str| function(name).expect("is known").fun;
        let recognised = RecognisedFunction::WrittenList;
        assert!(recognised.matches(&call(LIST_VALUE)) && !recognised.matches(&call(LIST_SUM)));
        let recognised = RecognisedFunction::ListSum;
        assert!(recognised.matches(&call(LIST_SUM)) && !recognised.matches(&call(WINDOW_SUM)));
    }
}
