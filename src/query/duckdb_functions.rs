//! DuckDB functions that the engine lacks: dates, text, lists, `arg_min`/`arg_max` and regression.
//! Names and semantics are DuckDB's; null arguments give null.

use std::ops::Neg;
use std::sync::LazyLock;

use super::durations;
use super::engine::refusal;
use super::functions::{MADE_FIELDS, map_of};
use super::list_functions::{self, check_argument_count};
use super::nested_values::{broadcast_row, row_count, sortable};
use super::pair_moments::{PairMoments, of_pairs};
use crate::text::PrintableLine;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime};
use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;
use regex::Regex;

/// Signature and implementation of a function.
#[derive(Clone, Copy)]
struct FunctionEntry {
    name: &'static str,
    /// The function as a statement names it, for errors.
    shown: &'static str,
    /// Minimum and maximum number of arguments.
    takes: (usize, usize),
    /// Index of the argument after which the result is named.
    names: usize,
    gives: Gives,
    /// True for an aggregate.
    aggregates: bool,
    run: fn(&[Column]) -> PolarsResult<Column>,
}

#[derive(Clone, Copy)]
enum Gives {
    /// The type of the argument with this index.
    Like(usize),
    Number,
    Whole,
    Text,
    Truth,
    Day,
    Time,
    /// A date; of a time with a zone such a time. The argument is the second.
    DayOrZoned,
    /// A time in UTC, with that zone.
    Zoned,
    /// A time, with a zone if the second argument has one.
    TimeOrZoned,
    /// List of integers.
    Wholes,
    /// A number; of times a span of time.
    NumberOrSpan,
    /// Map of values of the type of the argument with this index to numbers.
    CountsOf(usize),
    /// List of values of the type of the argument with this index.
    ListOf(usize),
}

const fn scalar(
    name: &'static str,
    takes: (usize, usize),
    gives: Gives,
    run: fn(&[Column]) -> PolarsResult<Column>,
) -> FunctionEntry {
    FunctionEntry {
        name,
        shown: name,
        takes,
        names: 0,
        gives,
        aggregates: false,
        run,
    }
}

const fn aggregate(
    name: &'static str,
    takes: usize,
    gives: Gives,
    run: fn(&[Column]) -> PolarsResult<Column>,
) -> FunctionEntry {
    FunctionEntry {
        name,
        shown: name,
        takes: (takes, takes),
        names: 0,
        gives,
        aggregates: true,
        run,
    }
}

/// Name of the function of the sign `-`.
const NEGATIVE_OF: &str = "negative_of";

const FUNCTIONS: &[FunctionEntry] = &[
    FunctionEntry {
        names: 1,
        shown: "date_trunc",
        ..scalar("days_of_trunc", (2, 2), Gives::DayOrZoned, |c| {
            truncate_to_type(c, &DataType::Date)
        })
    },
    FunctionEntry {
        names: 1,
        shown: "date_trunc",
        ..scalar("times_of_trunc", (2, 2), Gives::TimeOrZoned, |c| {
            truncate_to_type(c, &MICROSECONDS)
        })
    },
    FunctionEntry {
        names: 1,
        ..scalar("date_diff", (3, 3), Gives::Whole, date_diff)
    },
    FunctionEntry {
        names: 1,
        ..scalar("datediff", (3, 3), Gives::Whole, date_diff)
    },
    FunctionEntry {
        shown: "CAST",
        ..scalar("in_utc", (1, 1), Gives::Zoned, in_utc)
    },
    scalar("epoch", (1, 1), Gives::Number, |c| {
        numbers(c, |micros| micros as f64 / 1e6)
    }),
    scalar("epoch_ms", (1, 1), Gives::Whole, |c| {
        wholes(c, |micros| micros / 1000)
    }),
    scalar("epoch_us", (1, 1), Gives::Whole, |c| {
        wholes(c, |micros| micros)
    }),
    scalar("dayname", (1, 1), Gives::Text, |c| {
        texts_of_times(c, |time| time.format("%A").to_string())
    }),
    scalar("monthname", (1, 1), Gives::Text, |c| {
        texts_of_times(c, |time| time.format("%B").to_string())
    }),
    scalar("contains", (2, 2), Gives::Truth, contains),
    FunctionEntry {
        shown: "strpos",
        ..scalar("text_position", (2, 2), Gives::Whole, text_position)
    },
    FunctionEntry {
        shown: "substr",
        ..scalar("text_slice", (2, 3), Gives::Text, text_slice)
    },
    scalar("regexp_extract", (2, 4), Gives::Text, regexp_extract),
    scalar("regexp_replace", (3, 4), Gives::Text, regexp_replace),
    scalar("repeat", (2, 2), Gives::Text, repeat),
    scalar("make_date", (3, 3), Gives::Day, make_date),
    scalar("make_timestamp", (6, 6), Gives::Time, make_timestamp),
    scalar("list_slice", (3, 3), Gives::Like(0), list_slice),
    scalar("range", (1, 3), Gives::Wholes, |c| ranges(c, false)),
    scalar("generate_series", (1, 3), Gives::Wholes, |c| {
        ranges(c, true)
    }),
    FunctionEntry {
        shown: "length",
        ..scalar("length_of", (1, 1), Gives::Whole, length_of)
    },
    FunctionEntry {
        shown: "count",
        ..scalar("row_text", (1, 100), Gives::Text, row_text)
    },
    scalar("translate", (3, 3), Gives::Text, translate),
    scalar("ascii", (1, 1), Gives::Whole, |c| codes(c, 0)),
    scalar("unicode", (1, 1), Gives::Whole, |c| codes(c, -1)),
    scalar("ord", (1, 1), Gives::Whole, |c| codes(c, -1)),
    scalar("chr", (1, 1), Gives::Text, characters),
    FunctionEntry {
        shown: "-",
        ..scalar(NEGATIVE_OF, (1, 1), Gives::Like(0), negative)
    },
    scalar("even", (1, 1), Gives::Number, even),
    scalar("factorial", (1, 1), Gives::Whole, factorial),
    scalar("gcd", (2, 2), Gives::Whole, |c| {
        of_wholes(c, |a, b| Some(divisor(a, b)))
    }),
    scalar("lcm", (2, 2), Gives::Whole, |c| of_wholes(c, multiple)),
    scalar("xor", (2, 2), Gives::Whole, |c| {
        of_wholes(c, |a, b| Some(a ^ b))
    }),
    scalar("last_day", (1, 1), Gives::Day, last_day),
    FunctionEntry {
        shown: "bit_and",
        ..aggregate("all_bits_and", 1, Gives::Like(0), |c| bits(c, |a, b| a & b))
    },
    FunctionEntry {
        shown: "bit_or",
        ..aggregate("all_bits_or", 1, Gives::Like(0), |c| bits(c, |a, b| a | b))
    },
    FunctionEntry {
        shown: "bit_xor",
        ..aggregate("all_bits_xor", 1, Gives::Like(0), |c| bits(c, |a, b| a ^ b))
    },
    aggregate("skewness", 1, Gives::Number, |c| of_moments(c, skewness)),
    aggregate("kurtosis", 1, Gives::Number, |c| of_moments(c, kurtosis)),
    aggregate("kurtosis_pop", 1, Gives::Number, |c| {
        of_moments(c, kurtosis_pop)
    }),
    aggregate("sem", 1, Gives::Number, |c| {
        of_pairs(&[c[0].clone(), c[0].clone()], |p| {
            p.variance_x().map(|variance| (variance / p.count()).sqrt())
        })
    }),
    aggregate("histogram", 1, Gives::CountsOf(0), histogram),
    aggregate("weighted_avg", 2, Gives::Number, weighted_mean),
    aggregate("wavg", 2, Gives::Number, weighted_mean),
    FunctionEntry {
        shown: "arg_max",
        ..aggregate("many_at_greatest", 3, Gives::ListOf(0), |c| {
            many_at_extreme(c, true)
        })
    },
    FunctionEntry {
        shown: "arg_min",
        ..aggregate("many_at_least", 3, Gives::ListOf(0), |c| {
            many_at_extreme(c, false)
        })
    },
    aggregate("geomean", 1, Gives::Number, geomean),
    aggregate("mad", 1, Gives::NumberOrSpan, deviation),
    aggregate("entropy", 1, Gives::Number, entropy),
    scalar("isnan", (1, 1), Gives::Truth, |c| truths(c, f64::is_nan)),
    scalar("isinf", (1, 1), Gives::Truth, |c| {
        truths(c, f64::is_infinite)
    }),
    scalar("isfinite", (1, 1), Gives::Truth, |c| {
        truths(c, f64::is_finite)
    }),
    aggregate("count_if", 1, Gives::Whole, count_met),
    aggregate("countif", 1, Gives::Whole, count_met),
    aggregate("bool_and", 1, Gives::Truth, |c| {
        truth(c, |met| met.iter().flatten().all(|met| met))
    }),
    aggregate("bool_or", 1, Gives::Truth, |c| {
        truth(c, |met| met.iter().flatten().any(|met| met))
    }),
    aggregate("regr_slope", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::slope)
    }),
    aggregate("regr_intercept", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::intercept)
    }),
    aggregate("regr_r2", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::determination)
    }),
    aggregate("regr_avgx", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::mean_x)
    }),
    aggregate("regr_avgy", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::mean_y)
    }),
    aggregate("regr_count", 2, Gives::Whole, |c| {
        of_pairs(c, |pairs| Some(pairs.count()))?.cast(&DataType::Int64)
    }),
    FunctionEntry {
        shown: "corr",
        ..aggregate("pair_correlation", 2, Gives::Number, |c| {
            of_pairs(c, PairMoments::correlation)
        })
    },
    FunctionEntry {
        shown: "covar_pop",
        ..aggregate("pair_covariance", 2, Gives::Number, |c| {
            of_pairs(c, PairMoments::covariance)
        })
    },
    FunctionEntry {
        shown: "covar_samp",
        ..aggregate("pair_sample_covariance", 2, Gives::Number, |c| {
            of_pairs(c, PairMoments::sample_covariance)
        })
    },
    aggregate("var_pop", 1, Gives::Number, |c| {
        of_pairs(&[c[0].clone(), c[0].clone()], PairMoments::variance_x)
    }),
    aggregate("stddev_pop", 1, Gives::Number, |c| {
        of_pairs(&[c[0].clone(), c[0].clone()], |p| {
            p.variance_x().map(f64::sqrt)
        })
    }),
    aggregate("product", 1, Gives::Number, product),
    aggregate("arg_max", 2, Gives::Like(0), |c| at_extreme(c, true)),
    aggregate("argmax", 2, Gives::Like(0), |c| at_extreme(c, true)),
    aggregate("max_by", 2, Gives::Like(0), |c| at_extreme(c, true)),
    aggregate("arg_min", 2, Gives::Like(0), |c| at_extreme(c, false)),
    aggregate("argmin", 2, Gives::Like(0), |c| at_extreme(c, false)),
    aggregate("min_by", 2, Gives::Like(0), |c| at_extreme(c, false)),
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
    // One for all statements, by which a plan is asked for calls of it.
    static OF_SIGN: LazyLock<Option<UserDefinedFunction>> =
        LazyLock::new(|| build_function(NEGATIVE_OF));
    if name == NEGATIVE_OF {
        OF_SIGN.clone()
    } else {
        build_function(name)
    }
}

/// True for a call of the function of the sign `-` in a plan.
pub(super) fn is_negative_of(function: &OpaqueColumnUdf) -> bool {
    self::function(NEGATIVE_OF).is_some_and(|known| known.fun == *function)
}

fn build_function(name: &str) -> Option<UserDefinedFunction> {
    let found = *FUNCTIONS.iter().find(|function| function.name == name)?;
    let values = move |columns: &mut [Column]| found.evaluate(columns);
    let field = move |_: &Schema, fields: &[Field]| found.result_field(fields);
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = if found.aggregates {
        FunctionOptions::aggregation()
    } else {
        FunctionOptions::elementwise()
    };
    Some(function)
}

impl FunctionEntry {
    fn evaluate(&self, columns: &[Column]) -> PolarsResult<Column> {
        check_argument_count(self.shown, self.takes, columns.len())?;
        let called = columns[self.names].name().clone();
        (self.run)(columns)
            .map(|column| column.with_name(called))
            .map_err(|error| error.wrap_msg(|text| format!("{}: {text}", self.shown)))
    }

    fn result_field(&self, fields: &[Field]) -> PolarsResult<Field> {
        let name = fields
            .get(self.names)
            .map_or(PlSmallStr::EMPTY, |field| field.name().clone());
        // The engine stops for a type that is not known: a written number has one, values of
        // different types have none.
        let dtype = self
            .gives
            .type_of_result(fields)?
            .materialize_unknown(false)?;
        Ok(Field::new(name, dtype))
    }
}

impl Gives {
    fn type_of_result(self, fields: &[Field]) -> PolarsResult<DataType> {
        Ok(match self {
            Self::Like(at) => argument_type(fields, at),
            Self::NumberOrSpan if argument_type(fields, 0).is_temporal() => {
                DataType::Duration(TimeUnit::Microseconds)
            }
            Self::CountsOf(at) => map_of(
                argument_type(fields, at).materialize_unknown(false)?,
                DataType::UInt64,
            ),
            Self::ListOf(at) => DataType::List(Box::new(argument_type(fields, at))),
            Self::Number | Self::NumberOrSpan => DataType::Float64,
            Self::Whole => DataType::Int64,
            Self::Text => DataType::String,
            Self::Truth => DataType::Boolean,
            Self::Day => DataType::Date,
            Self::Time => MICROSECONDS,
            Self::Zoned => IN_UTC,
            Self::DayOrZoned => zoned_argument_type(fields).unwrap_or(DataType::Date),
            Self::TimeOrZoned => zoned_argument_type(fields).unwrap_or(MICROSECONDS),
            Self::Wholes => DataType::List(Box::new(DataType::Int64)),
        })
    }
}

fn argument_type(fields: &[Field], at: usize) -> DataType {
    fields
        .get(at)
        .map_or(DataType::Null, |field| field.dtype().clone())
}

/// The first value of a column that has one value in all rows; `None` for no rows.
fn of_all_rows(column: &Column, at: usize) -> PolarsResult<Option<AnyValue<'static>>> {
    if column.is_empty() {
        return Ok(None);
    }
    if column.len() > 1 && column.as_materialized_series().n_unique()? > 1 {
        return Err(refusal(format!(
            "argument {} is the same in all rows; write the value itself",
            at + 1
        )));
    }
    Ok(Some(column.get(0)?.into_static()))
}

/// A constant text argument; empty when there are no rows.
fn text_of(columns: &[Column], at: usize) -> PolarsResult<String> {
    match of_all_rows(&columns[at], at)? {
        None => Ok(String::new()),
        Some(value) => value
            .get_str()
            .map(str::to_owned)
            .ok_or_else(|| refusal(format!("argument {} is a text", at + 1))),
    }
}

/// A constant non-negative integer argument; 0 when there are no rows.
fn number_of(columns: &[Column], at: usize) -> PolarsResult<usize> {
    match of_all_rows(&columns[at].cast(&DataType::Int64)?, at)? {
        None => Ok(0),
        Some(value) => {
            let number = value
                .extract::<i64>()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| refusal(format!("argument {} is a whole number", at + 1)))
        }
    }
}

/// Times as microseconds since 1970-01-01 UTC.
fn micros(column: &Column) -> PolarsResult<Int64Chunked> {
    let is_time = column.dtype().is_temporal() || column.dtype().is_null();
    if !is_time {
        return Err(refusal(format!(
            "{} is no time; write CAST(\"{}\" AS TIMESTAMP)",
            column.name(),
            column.name()
        )));
    }
    let times = column.cast(&DataType::Datetime(TimeUnit::Microseconds, None))?;
    Ok(times
        .as_materialized_series()
        .to_physical_repr()
        .i64()?
        .clone())
}

fn time_of(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

/// Times, and durations, in microseconds.
fn time_or_duration_micros(column: &Column) -> PolarsResult<Int64Chunked> {
    if column.dtype().is_duration() {
        durations::micros(column)
    } else {
        micros(column)
    }
}

fn numbers(columns: &[Column], of: fn(i64) -> f64) -> PolarsResult<Column> {
    Ok(time_or_duration_micros(&columns[0])?
        .iter()
        .map(|micros| micros.map(of))
        .collect::<Float64Chunked>()
        .into_column())
}

fn wholes(columns: &[Column], of: fn(i64) -> i64) -> PolarsResult<Column> {
    Ok(time_or_duration_micros(&columns[0])?
        .iter()
        .map(|micros| micros.map(of))
        .collect::<Int64Chunked>()
        .into_column())
}

fn texts_of_times(columns: &[Column], of: fn(NaiveDateTime) -> String) -> PolarsResult<Column> {
    let texts = micros(&columns[0])?;
    Ok(texts
        .iter()
        .map(|micros| micros.and_then(time_of).map(of))
        .collect::<StringChunked>()
        .into_column())
}

fn truths(columns: &[Column], of: fn(f64) -> bool) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    Ok(numbers
        .f64()?
        .iter()
        .map(|number| number.map(of))
        .collect::<BooleanChunked>()
        .into_column())
}

/// Number, mean, and sums of the powers two to four of the differences from the mean, of the
/// numbers that are not null.
struct PowerMoments {
    count: f64,
    powers: [f64; 3],
}

fn of_moments(columns: &[Column], of: fn(&PowerMoments) -> Option<f64>) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let known: Vec<f64> = numbers.f64()?.iter().flatten().collect();
    let count = known.len() as f64;
    let mean = known.iter().sum::<f64>() / count;
    let powers =
        [2, 3, 4].map(|power| known.iter().map(|number| (number - mean).powi(power)).sum());
    Ok([of(&PowerMoments { count, powers })]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// Skewness of a sample.
fn skewness(moments: &PowerMoments) -> Option<f64> {
    let PowerMoments {
        count,
        powers: [square, cube, _],
    } = *moments;
    let spread = (square / count).powi(3);
    if count <= 2.0 {
        return None;
    }
    if spread <= 0.0 {
        return Some(f64::NAN);
    }
    Some((count * (count - 1.0)).sqrt() / (count - 2.0) * (cube / count) / spread.sqrt())
}

/// Excess kurtosis of a population.
fn kurtosis_pop(moments: &PowerMoments) -> Option<f64> {
    let PowerMoments {
        count,
        powers: [square, _, fourth],
    } = *moments;
    (count > 1.0 && square > 0.0).then(|| count * fourth / square.powi(2) - 3.0)
}

/// Excess kurtosis of a sample.
fn kurtosis(moments: &PowerMoments) -> Option<f64> {
    let count = moments.count;
    let excess = kurtosis_pop(moments).filter(|_| count > 3.0)?;
    Some((count - 1.0) / ((count - 2.0) * (count - 3.0)) * ((count + 1.0) * excess + 6.0))
}

/// Number of rows of each value that is not null, as a map; null when there are none.
fn histogram(columns: &[Column]) -> PolarsResult<Column> {
    let [key_name, value_name] = MADE_FIELDS;
    let dtype = map_of(columns[0].dtype().clone(), DataType::UInt64);
    let known = columns[0]
        .as_materialized_series()
        .drop_nulls()
        .with_name(key_name.into());
    if known.is_empty() {
        return Ok(Column::full_null(PlSmallStr::EMPTY, 1, &dtype));
    }
    let counts = known
        .value_counts(false, false, value_name.into(), false)?
        .sort([key_name], SortMultipleOptions::default())?;
    let fields = [
        counts.column(key_name)?.clone(),
        counts.column(value_name)?.cast(&DataType::UInt64)?,
    ];
    let fields: Vec<Series> = fields
        .iter()
        .map(|column| column.as_materialized_series().clone())
        .collect();
    let pairs = StructChunked::from_series(PlSmallStr::EMPTY, counts.height(), fields.iter())?
        .into_series();
    Ok(pairs.implode()?.into_series().into_column())
}

/// Mean of numbers by weights, of the rows in which both are known.
fn weighted_mean(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns
        .iter()
        .map(|column| column.cast(&DataType::Float64))
        .collect::<PolarsResult<Vec<_>>>()?;
    let (values, weights) = (numbers[0].f64()?, numbers[1].f64()?);
    let pairs: Vec<(f64, f64)> = values
        .iter()
        .zip(weights.iter())
        .filter_map(|(value, weight)| value.zip(weight))
        .collect();
    let weight: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mean = (!pairs.is_empty()).then(|| {
        pairs
            .iter()
            .map(|(value, weight)| value * weight)
            .sum::<f64>()
            / weight
    });
    Ok([mean].into_iter().collect::<Float64Chunked>().into_column())
}

/// The values at the `n` greatest or least keys, as a list.
fn many_at_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let count = number_of(columns, 2)?;
    let (values, keys) = (&columns[0], sortable(&columns[1])?);
    let known = keys.is_not_null() & values.is_not_null();
    let places = known
        .iter()
        .enumerate()
        .filter(|(_, known)| *known == Some(true))
        .map(|(at, _)| at as IdxSize);
    let places = IdxCa::from_vec(PlSmallStr::EMPTY, places.collect());
    let (values, keys) = (values.take(&places)?, keys.take(&places)?);
    let options = SortOptions {
        descending: greatest,
        maintain_order: true,
        ..SortOptions::default()
    };
    let order = keys
        .as_materialized_series()
        .arg_sort(options)
        .slice(0, count);
    let list = values.take(&order)?.as_materialized_series().clone();
    let lists = list.implode()?;
    let lists = if list.is_empty() {
        lists
            .into_series()
            .clear()
            .into_column()
            .extend_constant(AnyValue::Null, 1)?
    } else {
        lists.into_series().into_column()
    };
    Ok(lists)
}

/// Number of rows that meet a condition; null where it is null in all, as a sum is.
fn count_met(columns: &[Column]) -> PolarsResult<Column> {
    let met = columns[0].bool()?;
    let count = (met.null_count() < met.len())
        .then(|| met.iter().flatten().filter(|met| *met).count() as i64);
    Ok([count].into_iter().collect::<Int64Chunked>().into_column())
}

fn truth(columns: &[Column], of: fn(&BooleanChunked) -> bool) -> PolarsResult<Column> {
    let met = columns[0].bool()?;
    let known = met.null_count() < met.len();
    Ok([known.then(|| of(met))]
        .into_iter()
        .collect::<BooleanChunked>()
        .into_column())
}

/// A time in UTC.
const IN_UTC: DataType = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));

/// Times without a zone as those of UTC.
fn in_utc(columns: &[Column]) -> PolarsResult<Column> {
    Ok(micros(&columns[0])?
        .into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
        .into_column())
}

/// A time without a zone.
const MICROSECONDS: DataType = DataType::Datetime(TimeUnit::Microseconds, None);

/// The type of the second argument if it is a time with a zone.
fn zoned_argument_type(fields: &[Field]) -> Option<DataType> {
    fields
        .get(1)
        .map(|field| field.dtype().clone())
        .filter(is_zoned)
}

fn is_zoned(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Datetime(_, Some(_)))
}

/// `date_trunc` with a result of `dtype`; times with a zone keep it.
fn truncate_to_type(columns: &[Column], dtype: &DataType) -> PolarsResult<Column> {
    if is_zoned(columns[1].dtype()) {
        return date_trunc(columns);
    }
    // Dates have no hours.
    let times = if dtype.is_date() {
        columns[1].clone()
    } else {
        columns[1].cast(dtype)?
    };
    date_trunc(&[columns[0].clone(), times])?.cast(dtype)
}

fn date_trunc(columns: &[Column]) -> PolarsResult<Column> {
    if columns[1].is_empty() {
        return Ok(columns[1].clone());
    }
    let unit = text_of(columns, 0)?.to_lowercase();
    let every = match unit.trim_end_matches('s') {
        "millennium" => return by_years(&columns[1], 1000),
        "century" | "centurie" => return by_years(&columns[1], 100),
        "decade" => return by_years(&columns[1], 10),
        "year" => "1y",
        "quarter" => "1q",
        "month" => "1mo",
        "week" => "1w",
        "day" => "1d",
        "hour" => "1h",
        "minute" => "1m",
        "second" => "1s",
        _ => {
            return Err(refusal(format!(
                "{unit} is no unit: year, quarter, month, week, day, hour, minute, second"
            )));
        }
    };
    let times = &columns[1];
    if !times.dtype().is_temporal() {
        return Err(refusal(format!(
            "{} is no time; write CAST(\"{}\" AS TIMESTAMP)",
            times.name(),
            times.name()
        )));
    }
    let of_days = if matches!(every, "1h" | "1m" | "1s") {
        None
    } else {
        by_day(times, |days| truncate_times(days, every))?
    };
    of_days.map_or_else(|| truncate_times(times.clone(), every), Ok)
}

/// Times that are cut to multiples of `every` by the engine.
fn truncate_times(times: Column, every: &str) -> PolarsResult<Column> {
    let frame = DataFrame::new(times.len(), vec![times.with_name("t".into())])?;
    let cut = frame
        .lazy()
        .select([col("t").dt().truncate(lit(every))])
        .collect()?;
    Ok(cut.column("t")?.clone())
}

/// Applies `of` once per distinct day, for functions that are constant within a day: calendar
/// arithmetic dominates the cost. `None` when there are more days than times, or a day start is out
/// of range.
fn by_day(
    times: &Column,
    of: impl Fn(Column) -> PolarsResult<Column>,
) -> PolarsResult<Option<Column>> {
    let DataType::Datetime(unit, None) = *times.dtype() else {
        return Ok(None);
    };
    let day = 86_400
        * match unit {
            TimeUnit::Milliseconds => 1_000i64,
            TimeUnit::Microseconds => 1_000_000,
            TimeUnit::Nanoseconds => 1_000_000_000,
        };
    let physical = times
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let instants = physical.i64()?;
    let (Some(first), Some(last)) = (instants.min(), instants.max()) else {
        return Ok(None);
    };
    let (first, last) = (first.div_euclid(day), last.div_euclid(day));
    let few = usize::try_from(last - first).is_ok_and(|days| days < times.len() / 2);
    // The start of the first day can be below the minimum timestamp.
    if !few || first.checked_mul(day).is_none() {
        return Ok(None);
    }
    let days = Int64Chunked::from_vec(
        PlSmallStr::EMPTY,
        (first..=last).map(|number| number * day).collect(),
    );
    let answers = of(days.into_series().cast(times.dtype())?.into_column())?;
    let answers = answers
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let answers: Vec<Option<i64>> = answers.i64()?.iter().collect();
    if answers.iter().any(Option::is_none) {
        return Ok(None);
    }
    let truncated = instants.apply_values(|instant| {
        let number = usize::try_from(instant.div_euclid(day) - first).ok();
        let answer = number.and_then(|number| *answers.get(number)?);
        answer.unwrap_or(instant)
    });
    Ok(Some(
        truncated.into_series().cast(times.dtype())?.into_column(),
    ))
}

/// The first day of the decade, century or millennium of each time.
fn by_years(times: &Column, years: i32) -> PolarsResult<Column> {
    let firsts = micros(times)?
        .iter()
        .map(|micros| first_micros_of_years(micros?, years))
        .collect::<Int64Chunked>();
    firsts
        .into_series()
        .cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
        .cast(times.dtype())
        .map(Series::into_column)
}

fn first_micros_of_years(micros: i64, years: i32) -> Option<i64> {
    let year = time_of(micros)?.year().div_euclid(years) * years;
    Some(start_of_day(NaiveDate::from_ymd_opt(year, 1, 1)?))
}

/// Midnight in microseconds since 1970-01-01 UTC.
fn start_of_day(day: NaiveDate) -> i64 {
    day.and_time(chrono::NaiveTime::MIN)
        .and_utc()
        .timestamp_micros()
}

/// Number of boundaries of a unit between two times; of weeks the number of whole ones.
fn date_diff(columns: &[Column]) -> PolarsResult<Column> {
    if columns.iter().any(Column::is_empty) {
        return Ok(Column::new_empty(PlSmallStr::EMPTY, &DataType::Int64));
    }
    const DAY: i64 = 86_400_000_000;
    let unit = text_of(columns, 0)?.to_lowercase();
    let months = |micros: i64| {
        time_of(micros).map(|time| i64::from(time.year()) * 12 + i64::from(time.month0()))
    };
    let count: Box<dyn Fn(i64) -> Option<i64>> = match unit.trim_end_matches('s') {
        "year" => Box::new(move |t| months(t).map(|months| months.div_euclid(12))),
        "quarter" => Box::new(move |t| months(t).map(|months| months.div_euclid(3))),
        "month" => Box::new(months),
        "week" | "day" => Box::new(|t| Some(t.div_euclid(DAY))),
        "hour" => Box::new(|t| Some(t.div_euclid(3_600_000_000))),
        "minute" => Box::new(|t| Some(t.div_euclid(60_000_000))),
        "second" => Box::new(|t| Some(t.div_euclid(1_000_000))),
        "millisecond" => Box::new(|t| Some(t.div_euclid(1000))),
        _ => {
            return Err(refusal(format!(
                "{unit} is no unit: year, quarter, month, week, day, hour, minute, second"
            )));
        }
    };
    let (from, to) = (micros(&columns[1])?, micros(&columns[2])?);
    let rows = from.len().max(to.len());
    let at =
        |column: &Int64Chunked, row: usize| column.get(if column.len() == 1 { 0 } else { row });
    // Weeks are seven days each, wherever they begin.
    let step = if unit.starts_with("week") { 7 } else { 1 };
    let between = |row: usize| Some((count(at(&to, row)?)? - count(at(&from, row)?)?) / step);
    Ok((0..rows)
        .map(between)
        .collect::<Int64Chunked>()
        .into_column())
}

/// Substring of a text, or element of a list.
fn contains(columns: &[Column]) -> PolarsResult<Column> {
    if columns[0].dtype().is_list() {
        return list_functions::list_contains(columns);
    }
    let (whole, part) = (columns[0].str()?, columns[1].str()?);
    let found = (0..row_count(columns))
        .map(|row| Some(broadcast_text(whole, row)?.contains(broadcast_text(part, row)?)));
    Ok(found.collect::<BooleanChunked>().into_column())
}

fn broadcast_text(texts: &StringChunked, row: usize) -> Option<&str> {
    texts.get(broadcast_row(texts.len(), row))
}

/// Part of a text: first position from 1, or from the end if negative, and number of characters, to
/// the left if negative. Positions before the text count.
fn text_slice(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns[0].str()?;
    let (bounds, _) = all_whole(&columns[1..])?;
    let (least, greatest) = (-i64::from(u32::MAX) - 1, i64::from(u32::MAX));
    let outside = |number: &i64| !(least..=greatest).contains(number);
    if let Some(number) = bounds
        .iter()
        .flat_map(|bounds| [bounds.min(), bounds.max()])
        .flatten()
        .find(outside)
    {
        return Err(refusal(format!(
            "a position or a length in a text is from {least} to {greatest}, not {number}"
        )));
    }
    let slices = (0..row_count(columns))
        .map(|row| slice_by_count(broadcast_text(texts, row)?, &bounds, row));
    Ok(slices.collect::<StringChunked>().into_column())
}

/// Part of a text; `bounds` are columns of the position and, if there are two, of the number of
/// characters.
fn slice_by_count(text: &str, bounds: &[Int64Chunked], row: usize) -> Option<String> {
    let length = text.chars().count() as i64;
    let first = match whole_at(&bounds[0], row)? {
        first if first < 0 => first.saturating_add(length),
        first => first - 1,
    };
    let (from, to) = match bounds.get(1) {
        None => (first, length),
        Some(counts) => {
            let end = first.saturating_add(whole_at(counts, row)?);
            (first.min(end), first.max(end))
        }
    };
    let (from, to) = (from.clamp(0, length), to.clamp(0, length));
    let letters = text.chars().skip(from as usize);
    Some(letters.take((to - from) as usize).collect())
}

/// 1-based position of a substring in characters; 0 if absent.
fn text_position(columns: &[Column]) -> PolarsResult<Column> {
    let (whole, part) = (columns[0].str()?, columns[1].str()?);
    let places = (0..row_count(columns)).map(|row| {
        let (whole, part) = (broadcast_text(whole, row)?, broadcast_text(part, row)?);
        let before = whole.find(part).map(|byte| &whole[..byte]);
        Some(before.map_or(0, |before| before.chars().count() as i64 + 1))
    });
    Ok(places.collect::<Int64Chunked>().into_column())
}

fn pattern(columns: &[Column]) -> PolarsResult<Regex> {
    regex_of(&text_of(columns, 1)?)
}

fn regex_of(text: &str) -> PolarsResult<Regex> {
    Regex::new(text)
        .map_err(|error| refusal(format!("{} is no pattern: {error}", text.printable_line())))
}

fn regexp_extract(columns: &[Column]) -> PolarsResult<Column> {
    let pattern = match columns.len() {
        4 => {
            let options = text_of(columns, 3)?;
            let pattern = super::text_patterns::with_options(&text_of(columns, 1)?, &options)
                .map_err(|option| refusal(format!("{option} is no option: i, s, l, c, m, n, p")))?;
            regex_of(&pattern)?
        }
        _ => pattern(columns)?,
    };
    let group = if columns.len() > 2 {
        number_of(columns, 2)?
    } else {
        0
    };
    Ok(columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| extract_group(text, &pattern, group)))
        .collect::<StringChunked>()
        .into_column())
}

/// What a group matches; empty where there is no match.
fn extract_group<'t>(text: &'t str, pattern: &Regex, group: usize) -> &'t str {
    let found = pattern.captures(text).and_then(|found| found.get(group));
    found.map_or("", |found| found.as_str())
}

fn regexp_replace(columns: &[Column]) -> PolarsResult<Column> {
    let options = if columns.len() > 3 {
        text_of(columns, 3)?
    } else {
        String::new()
    };
    let all = options.contains('g');
    let pattern =
        super::text_patterns::with_options(&text_of(columns, 1)?, &options.replace('g', ""))
            .map_err(|option| refusal(format!("{option} is no option: g, i, s, l, c, m, n, p")))?;
    let pattern = regex_of(&pattern)?;
    let rewrite = RegexpReplacement::from_text(&text_of(columns, 2)?);
    if rewrite.greatest_group >= pattern.captures_len() || !all && !rewrite.is_complete {
        return Ok(columns[0].clone());
    }
    let most = usize::from(!all);
    let replaced = columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| pattern.replacen(text, most, rewrite.by.as_str())));
    Ok(replaced.collect::<StringChunked>().into_column())
}

/// The replacement of `regexp_replace` for the crate `regex`: DuckDB writes groups as `\\1`, the
/// crate as `${1}`.
struct RegexpReplacement {
    by: String,
    greatest_group: usize,
    /// False when an escape is neither a digit nor a backslash: the first match is then not
    /// replaced, of all matches each by what is before the escape.
    is_complete: bool,
}

impl RegexpReplacement {
    fn from_text(text: &str) -> Self {
        let mut rewrite = Self {
            by: String::new(),
            greatest_group: 0,
            is_complete: true,
        };
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '$' => rewrite.by.push_str("$$"),
                '\\' => match letters.next() {
                    Some('\\') => rewrite.by.push('\\'),
                    Some(digit @ '0'..='9') => {
                        rewrite.by.push_str(&format!("${{{digit}}}"));
                        rewrite.greatest_group =
                            rewrite.greatest_group.max(digit as usize - '0' as usize);
                    }
                    _ => {
                        rewrite.is_complete = false;
                        break;
                    }
                },
                other => rewrite.by.push(other),
            }
        }
        rewrite
    }
}

fn repeat(columns: &[Column]) -> PolarsResult<Column> {
    let count = number_of(columns, 1)?;
    let longest = columns[0]
        .str()?
        .iter()
        .flatten()
        .map(str::len)
        .max()
        .unwrap_or(0);
    if longest.saturating_mul(count) > 1 << 20 {
        return Err(refusal("the text would have more than 1 MiB"));
    }
    Ok(columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| text.repeat(count)))
        .collect::<StringChunked>()
        .into_column())
}

/// Integer argument at `row`; a column of one row is broadcast.
fn whole_at(column: &Int64Chunked, row: usize) -> Option<i64> {
    column.get(broadcast_row(column.len(), row))
}

/// The arguments as integers, and the number of rows.
fn all_whole(columns: &[Column]) -> PolarsResult<(Vec<Int64Chunked>, usize)> {
    let whole = |column: &Column| Ok(column.cast(&DataType::Int64)?.i64()?.clone());
    Ok((
        columns.iter().map(whole).collect::<PolarsResult<_>>()?,
        row_count(columns),
    ))
}

fn day_of(parts: &[Int64Chunked], row: usize) -> PolarsResult<Option<NaiveDate>> {
    let part = |at: usize| whole_at(&parts[at], row);
    let (Some(year), Some(month), Some(day)) = (part(0), part(1), part(2)) else {
        return Ok(None);
    };
    let found = i32::try_from(year)
        .ok()
        .zip(u32::try_from(month).ok())
        .zip(u32::try_from(day).ok());
    let found = found.and_then(|((year, month), day)| NaiveDate::from_ymd_opt(year, month, day));
    found
        .map(Some)
        .ok_or_else(|| refusal(format!("{year}-{month}-{day} is no day")))
}

fn make_date(columns: &[Column]) -> PolarsResult<Column> {
    let (parts, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| Ok(day_of(&parts, row)?.map(days_since_1970)))
        .collect::<PolarsResult<Int32Chunked>>()?
        .into_series()
        .cast(&DataType::Date)?
        .into_column())
}

fn make_timestamp(columns: &[Column]) -> PolarsResult<Column> {
    let (parts, rows) = all_whole(&columns[..5])?;
    let seconds = columns[5].cast(&DataType::Float64)?;
    let (seconds, rows) = (seconds.f64()?, rows.max(columns[5].len()));
    let times = (0..rows)
        .map(|row| micros_of_parts(&parts, seconds, row))
        .collect::<PolarsResult<Int64Chunked>>()?
        .into_series();
    Ok(times
        .cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
        .into_column())
}

/// The time of a row in microseconds since 1970-01-01 UTC; `parts` are year, month, day, hour and
/// minute.
fn micros_of_parts(
    parts: &[Int64Chunked],
    seconds: &Float64Chunked,
    row: usize,
) -> PolarsResult<Option<i64>> {
    let Some(day) = day_of(parts, row)? else {
        return Ok(None);
    };
    let (hour, minute) = (whole_at(&parts[3], row), whole_at(&parts[4], row));
    let second = seconds.get(broadcast_row(seconds.len(), row));
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else {
        return Ok(None);
    };
    let possible =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    if !possible {
        return Err(refusal(format!(
            "{hour}:{minute}:{second} is no time of a day"
        )));
    }
    let of_day = (hour * 3600 + minute * 60) * 1_000_000 + (second * 1e6).round() as i64;
    Ok(Some(start_of_day(day) + of_day))
}

/// Slice of each text or list: 1-based positions, both included, negative ones counted from the
/// end.
fn list_slice(columns: &[Column]) -> PolarsResult<Column> {
    if !columns[0].dtype().is_string() {
        return list_functions::list_part(columns);
    }
    let (bounds, _) = all_whole(&columns[1..])?;
    let texts = columns[0].str()?;
    let slices = (0..row_count(columns)).map(|row| {
        let (first, last) = (whole_at(&bounds[0], row)?, whole_at(&bounds[1], row)?);
        Some(slice_by_positions(broadcast_text(texts, row)?, first, last))
    });
    Ok(slices.collect::<StringChunked>().into_column())
}

/// The characters from position `first` to `last`, as of [`list_slice`].
fn slice_by_positions(text: &str, first: i64, last: i64) -> String {
    let length = text.chars().count() as i64;
    let from = list_functions::position_from_start(first, length).max(1);
    let to = list_functions::position_from_start(last, length).min(length);
    text.chars()
        .skip((from - 1) as usize)
        .take(usize::try_from(to - from + 1).unwrap_or(0))
        .collect()
}

fn product(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let known = numbers.null_count() < numbers.len();
    Ok([known.then(|| numbers.iter().flatten().product())]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// `arg_max` (`greatest`) or `arg_min`: the first argument where the second is extreme, of the rows
/// in which both are known.
fn at_extreme(columns: &[Column], greatest: bool) -> PolarsResult<Column> {
    let known = columns[0].is_not_null() & columns[1].is_not_null();
    let (values, by) = (columns[0].filter(&known)?, columns[1].filter(&known)?);
    let order = SortOptions {
        descending: greatest,
        maintain_order: true,
        ..SortOptions::default()
    };
    match sortable(&by)?
        .as_materialized_series()
        .arg_sort(order)
        .iter()
        .next()
        .flatten()
    {
        Some(row) => Ok(values.slice(i64::from(row), 1)),
        None => Ok(Column::full_null(PlSmallStr::EMPTY, 1, columns[0].dtype())),
    }
}

/// Integers from a start, 0 when absent, to an end in steps; `closed` includes the end.
fn ranges(columns: &[Column], closed: bool) -> PolarsResult<Column> {
    const LONGEST: i64 = 1_000_000;
    if columns.iter().any(|column| column.dtype().is_temporal()) {
        return Err(refusal(
            "a series of times has an interval as its step: generate_series(a, b, INTERVAL 1 DAY)",
        ));
    }
    let (parts, rows) = all_whole(columns)?;
    let mut lists: Vec<Option<Series>> = Vec::with_capacity(rows);
    for row in 0..rows {
        let part = |at: usize| parts.get(at).map_or(Some(1), |part| whole_at(part, row));
        let (start, end) = if parts.len() == 1 {
            (Some(0), part(0))
        } else {
            (part(0), part(1))
        };
        let (Some(start), Some(end), Some(step)) = (start, end, part(2)) else {
            lists.push(None);
            continue;
        };
        if step == 0 {
            return Err(refusal("a range has steps that are not 0"));
        }
        let wide = (i128::from(end) - i128::from(start)) / i128::from(step);
        if wide.saturating_mul(rows as i128) > i128::from(LONGEST) {
            return Err(refusal(format!(
                "the ranges have more than {LONGEST} numbers"
            )));
        }
        let numbers: Vec<i64> =
            std::iter::successors(Some(start), |number| number.checked_add(step))
                .take_while(|number| is_before_end(*number, end, step > 0, closed))
                .collect();
        lists.push(Some(Series::new(PlSmallStr::EMPTY, numbers)));
    }
    Ok(ListChunked::from_iter(lists)
        .into_series()
        .cast(&DataType::List(Box::new(DataType::Int64)))?
        .into_column())
}

/// True for a number of a range that ascends or descends to `end`, or with `closed` includes it.
fn is_before_end(number: i64, end: i64, ascends: bool, closed: bool) -> bool {
    match (ascends, closed) {
        (true, true) => number <= end,
        (true, false) => number < end,
        (false, true) => number >= end,
        (false, false) => number > end,
    }
}

/// Characters of a text, or elements of a list.
fn length_of(columns: &[Column]) -> PolarsResult<Column> {
    if let DataType::List(_) = columns[0].dtype() {
        let lists = columns[0].list()?;
        let lengths =
            (0..lists.len()).map(|row| lists.get_as_series(row).map(|list| list.len() as i64));
        return Ok(lengths.collect::<Int64Chunked>().into_column());
    }
    let lengths = columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| text.chars().count() as i64));
    Ok(lengths.collect::<Int64Chunked>().into_column())
}

/// A text for the values of a row, which is the same for equal values alone.
fn row_text(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(|column| column.cast(&DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|column| column.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut rows = StringChunkedBuilder::new(PlSmallStr::EMPTY, row_count(columns));
    let mut written = String::new();
    for row in 0..row_count(columns) {
        written.clear();
        for texts in &texts {
            match broadcast_text(texts, row) {
                Some(text) => written.push_str(&format!("{}:{text}", text.len())),
                None => written.push('-'),
            }
        }
        rows.append_value(&written);
    }
    Ok(rows.finish().into_column())
}

/// Replaces each character of the second text by the one at the same place of the third, or removes
/// it.
fn translate(columns: &[Column]) -> PolarsResult<Column> {
    let (texts, from, to) = (columns[0].str()?, columns[1].str()?, columns[2].str()?);
    let translated = (0..row_count(columns)).map(|row| {
        let (from, to) = (broadcast_text(from, row)?, broadcast_text(to, row)?);
        Some(translate_letters(broadcast_text(texts, row)?, from, to))
    });
    Ok(translated.collect::<StringChunked>().into_column())
}

fn translate_letters(text: &str, from: &str, to: &str) -> String {
    text.chars()
        .filter_map(
            |letter| match from.chars().position(|known| known == letter) {
                Some(place) => to.chars().nth(place),
                None => Some(letter),
            },
        )
        .collect()
}

/// Number of the first character of each text, `empty` for an empty one.
fn codes(columns: &[Column], empty: i64) -> PolarsResult<Column> {
    let codes = columns[0].str()?.iter().map(|text| {
        let first = text?.chars().next();
        Some(first.map_or(empty, |letter| i64::from(u32::from(letter))))
    });
    Ok(codes.collect::<Int64Chunked>().into_column())
}

fn characters(columns: &[Column]) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| whole_at(&numbers[0], row).map(character_text).transpose())
        .collect::<PolarsResult<StringChunked>>()?
        .into_column())
}

fn character_text(number: i64) -> PolarsResult<String> {
    let letter = u32::try_from(number).ok().and_then(char::from_u32);
    letter
        .map(|letter| letter.to_string())
        .ok_or_else(|| refusal(format!("{number} is no number of a character")))
}

/// A number with the other sign.
fn negative(columns: &[Column]) -> PolarsResult<Column> {
    let number = &columns[0];
    match number.dtype() {
        DataType::Float32 => Ok(number.f32()?.apply_values(f32::neg).into_column()),
        DataType::Float64 => Ok(number.f64()?.apply_values(f64::neg).into_column()),
        _ => &Column::new(PlSmallStr::EMPTY, [0_i32]) - number,
    }
}

/// The next even number away from zero.
fn even(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    Ok(numbers.f64()?.apply_values(next_even).into_column())
}

fn next_even(number: f64) -> f64 {
    let up = number.abs().ceil();
    let up = if up % 2.0 == 0.0 { up } else { up + 1.0 };
    up.copysign(number)
}

fn factorial(columns: &[Column]) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| whole_at(&numbers[0], row).map(multiply_up_to).transpose())
        .collect::<PolarsResult<Int64Chunked>>()?
        .into_column())
}

/// The product of the numbers from 1 to `number`.
fn multiply_up_to(number: i64) -> PolarsResult<i64> {
    (1..=number.min(21))
        .try_fold(1i64, i64::checked_mul)
        .filter(|_| number >= 0)
        .ok_or_else(|| refusal(format!("the factorial of {number} has more than 64 bits")))
}

/// A function of two integers.
fn of_wholes(columns: &[Column], of: fn(i64, i64) -> Option<i64>) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        let pair = whole_at(&numbers[0], row).zip(whole_at(&numbers[1], row));
        results.push(match pair {
            Some((one, other)) => {
                Some(of(one, other).ok_or_else(|| refusal("the result has more than 64 bits"))?)
            }
            None => None,
        });
    }
    Ok(Int64Chunked::from_iter(results).into_column())
}

/// Greatest common divisor.
fn divisor(one: i64, other: i64) -> i64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one.wrapping_rem(other));
    }
    one.saturating_abs()
}

fn multiple(one: i64, other: i64) -> Option<i64> {
    if one == 0 || other == 0 {
        return Some(0);
    }
    one.checked_div(divisor(one, other))?
        .checked_mul(other)?
        .checked_abs()
}

/// The last day of the month.
fn last_day(columns: &[Column]) -> PolarsResult<Column> {
    let days = micros(&columns[0])?
        .iter()
        .map(|micros| last_day_of_month(time_of(micros?)?.date()).map(days_since_1970))
        .collect::<Int32Chunked>();
    Ok(days.into_series().cast(&DataType::Date)?.into_column())
}

fn last_day_of_month(day: NaiveDate) -> Option<NaiveDate> {
    day.with_day(1)?
        .checked_add_months(chrono::Months::new(1))?
        .pred_opt()
}

/// Arrow dates count days from 1970-01-01.
fn days_since_1970(day: NaiveDate) -> i32 {
    day.num_days_from_ce() - 719_163
}

fn bits(columns: &[Column], of: fn(i64, i64) -> i64) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Int64)?;
    let all = numbers.i64()?.iter().flatten().reduce(of);
    [all]
        .into_iter()
        .collect::<Int64Chunked>()
        .into_column()
        .cast(columns[0].dtype())
}

fn geomean(columns: &[Column]) -> PolarsResult<Column> {
    let numbers = columns[0].cast(&DataType::Float64)?;
    let known: Vec<f64> = numbers.f64()?.iter().flatten().collect();
    let mean = || (known.iter().map(|number| number.ln()).sum::<f64>() / known.len() as f64).exp();
    Ok([(!known.is_empty()).then(mean)]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

/// Median of the distances from the median.
fn deviation(columns: &[Column]) -> PolarsResult<Column> {
    let is_time = columns[0].dtype().is_temporal();
    let numbers = if is_time {
        micros(&columns[0])?.into_column()
    } else {
        columns[0].clone()
    }
    .cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let median = numbers.median();
    let deviation = median.and_then(|median| {
        numbers
            .apply_values(|number| (number - median).abs())
            .median()
    });
    let deviation = [deviation]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column();
    if is_time {
        deviation
            .cast(&DataType::Int64)?
            .cast(&DataType::Duration(TimeUnit::Microseconds))
    } else {
        Ok(deviation)
    }
}

/// Entropy in bits of the values that are not null.
fn entropy(columns: &[Column]) -> PolarsResult<Column> {
    let known = columns[0].as_materialized_series().drop_nulls();
    let counts = known.value_counts(false, false, "count".into(), false)?;
    let counts = counts.column("count")?.cast(&DataType::Float64)?;
    let all = known.len() as f64;
    let entropy: f64 = counts
        .f64()?
        .iter()
        .flatten()
        .map(|count| -(count / all) * (count / all).log2())
        .sum();
    Ok([Some(if known.is_empty() { 0.0 } else { entropy })]
        .into_iter()
        .collect::<Float64Chunked>()
        .into_column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_alike_by_the_day_and_one_by_one() {
        let instants: Vec<Option<i64>> = (0..4000i64)
            .map(|n| {
                (n % 7 != 0)
                    .then_some((n * 7_919_000_017) % (900 * 86_400_000_000) - 400 * 86_400_000_000)
            })
            .collect();
        for unit in [
            TimeUnit::Milliseconds,
            TimeUnit::Microseconds,
            TimeUnit::Nanoseconds,
        ] {
            let scaled = instants.iter().map(|instant| {
                instant.map(|instant| match unit {
                    TimeUnit::Milliseconds => instant / 1000,
                    TimeUnit::Microseconds => instant,
                    TimeUnit::Nanoseconds => instant * 1000 + 999,
                })
            });
            let dtype = DataType::Datetime(unit, None);
            let times: Series = scaled
                .collect::<Int64Chunked>()
                .into_series()
                .cast(&dtype)
                .expect("times");
            for (name, every) in [
                ("year", "1y"),
                ("quarter", "1q"),
                ("month", "1mo"),
                ("weeks", "1w"),
                ("day", "1d"),
                ("hour", "1h"),
            ] {
                let columns = [
                    Column::new("unit".into(), [name]),
                    times.clone().with_name("t".into()).into_column(),
                ];
                let ours = date_trunc(&columns).expect("cuts");
                let one_by_one = df!("t" => times.clone())
                    .expect("a frame")
                    .lazy()
                    .select([col("t").dt().truncate(lit(every))]);
                let theirs = one_by_one.collect().expect("runs");
                assert!(
                    ours.equals_missing(theirs.column("t").expect("t")),
                    "{name} {unit:?}\n{ours:?}\n{theirs}"
                );
            }
        }
    }

    #[test]
    fn few_and_extreme_times_are_cut_one_by_one() {
        let far = Series::new("t".into(), vec![i64::MIN, 0, i64::MAX])
            .cast(&DataType::Datetime(TimeUnit::Microseconds, None));
        assert!(
            by_day(&far.expect("times").into_column(), |_| unreachable!())
                .expect("runs")
                .is_none()
        );
        let nothing = Series::full_null(
            "t".into(),
            3,
            &DataType::Datetime(TimeUnit::Microseconds, None),
        );
        assert!(
            by_day(&nothing.into_column(), |_| unreachable!())
                .expect("runs")
                .is_none()
        );
    }
}
