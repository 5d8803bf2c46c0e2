//! DuckDB functions that the engine lacks: dates in `times`, text and lists in `texts`, integers in
//! `numbers`, `arg_min`/`arg_max` and regression in `aggregates`. Names and semantics are DuckDB's;
//! null arguments give null.

mod aggregates;
mod arguments;
mod numbers;
mod texts;
mod times;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::FunctionOptions;

use crate::query::engine_errors::refusal;
use crate::query::functions::map_of;
use crate::query::list_functions::check_argument_count;
use crate::query::pair_moments::{PairMoments, of_pairs};
use crate::query::recognised_functions::RecognisedFunction;
use aggregates::{
    at_extreme, binned_type, bits, count_met, deviation, entropy, geomean, histogram,
    histogram_in_bins, kurtosis, kurtosis_pop, many_at_extreme, of_moments, product, skewness,
    truth, weighted_mean,
};
use numbers::{divisor, even, factorial, multiple, negative, of_wholes, ranges, truths};
use texts::{
    characters, codes, contains, length_of, list_slice, regexp_extract, regexp_replace, repeat,
    row_text, text_position, text_slice, translate,
};
use times::{
    IN_UTC, MICROSECONDS, date_diff, in_utc, last_day, make_date, make_timestamp, numbers_of_times,
    texts_of_times, truncate_to_type, wholes_of_times, zoned_argument_type,
};

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
    /// An integer of 32 bits.
    Integer,
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
    /// A number, for decimal numbers one of their type; of times a span of time.
    NumberOrSpan,
    /// Map of values of the type of the argument with this index to numbers.
    CountsOf(usize),
    /// As that of the first argument, by the bounds of bins.
    CountsInBins,
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
const FACTORIAL: &str = "factorial";

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
        numbers_of_times(c, |micros| micros as f64 / 1e6)
    }),
    scalar("epoch_ms", (1, 1), Gives::Whole, |c| {
        wholes_of_times(c, |micros| micros / 1000)
    }),
    scalar("epoch_us", (1, 1), Gives::Whole, |c| {
        wholes_of_times(c, |micros| micros)
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
    scalar("ascii", (1, 1), Gives::Integer, |c| codes(c, 0)),
    scalar("unicode", (1, 1), Gives::Integer, |c| codes(c, -1)),
    scalar("ord", (1, 1), Gives::Integer, |c| codes(c, -1)),
    scalar("chr", (1, 1), Gives::Text, characters),
    FunctionEntry {
        shown: "-",
        ..scalar(NEGATIVE_OF, (1, 1), Gives::Like(0), negative)
    },
    scalar("even", (1, 1), Gives::Number, even),
    scalar(FACTORIAL, (1, 1), Gives::Whole, factorial),
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
    aggregate("histogram_exact", 2, Gives::CountsInBins, |c| {
        histogram_in_bins(c, true)
    }),
    FunctionEntry {
        shown: "histogram",
        ..aggregate("histogram_in_bins", 2, Gives::CountsInBins, |c| {
            histogram_in_bins(c, false)
        })
    },
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
    aggregate("regr_sxx", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::squares_x)
    }),
    aggregate("regr_syy", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::squares_y)
    }),
    aggregate("regr_sxy", 2, Gives::Number, |c| {
        of_pairs(c, PairMoments::products)
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
    match name {
        NEGATIVE_OF => RecognisedFunction::Negation.get_or_build(|| build_function(name)),
        FACTORIAL => RecognisedFunction::Factorial.get_or_build(|| build_function(name)),
        _ => build_function(name),
    }
}

/// The type of the results of an aggregate of one column of a type.
pub(super) fn aggregate_type(name: &str, of: &DataType) -> PolarsResult<DataType> {
    let fields = [Field::new(PlSmallStr::EMPTY, of.clone())];
    let found = find_aggregate(name)?;
    found
        .gives
        .type_of_result(&fields)?
        .materialize_unknown(false)
}

/// An aggregate of the values of one column.
pub(super) fn run_aggregate(name: &str, values: Column) -> PolarsResult<Column> {
    find_aggregate(name)?.evaluate(&[values])
}

fn find_aggregate(name: &str) -> PolarsResult<&'static FunctionEntry> {
    FUNCTIONS
        .iter()
        .find(|function| function.name == name && function.aggregates)
        .ok_or_else(|| refusal(format!("there is no aggregate {name}()")))
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
            Self::NumberOrSpan if argument_type(fields, 0).is_decimal() => argument_type(fields, 0),
            Self::CountsInBins => map_of(
                binned_type(&argument_type(fields, 0).materialize_unknown(false)?),
                DataType::UInt64,
            ),
            Self::CountsOf(at) => map_of(
                argument_type(fields, at).materialize_unknown(false)?,
                DataType::UInt64,
            ),
            Self::ListOf(at) => DataType::List(Box::new(argument_type(fields, at))),
            Self::Number | Self::NumberOrSpan => DataType::Float64,
            Self::Whole => DataType::Int64,
            Self::Integer => DataType::Int32,
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
