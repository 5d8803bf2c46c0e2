//! Functions of numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::{
    ScalarFunction, double, doubles_column, of_doubles, of_wholes, scalar, text, texts_column,
    truth, truths_column, whole, wholes_column,
};
use crate::query::decimal_widths::DIGITS;
use crate::query::engine_errors::refusal;
use crate::query::list_functions::elementwise;
use crate::query::type_names::type_name;
use crate::query::whole_numbers::too_large;

/// Digits of the greatest BIGINT.
const DIGITS_OF_64_BITS: u32 = 19;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("gamma", (1, 1), double, |columns| {
        of_one_double(columns, |number| match number {
            0.0 => Err(refusal("gamma: the number is not zero")),
            number => Ok(libm::tgamma(number)),
        })
    }),
    scalar("lgamma", (1, 1), double, |columns| {
        of_one_double(columns, |number| match number {
            0.0 => Err(refusal("lgamma: the number is not zero")),
            number => Ok(libm::lgamma(number)),
        })
    }),
    // The engine divides by the logarithm of the base, which gives other last digits.
    scalar("common_logarithm", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.log10()))
    }),
    scalar("binary_logarithm", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.log2()))
    }),
    // Null for numbers that logarithms, roots and arcs do not take.
    scalar("number_above_zero", (1, 1), double, |columns| {
        keep_numbers(columns, |number| number > 0.0)
    }),
    scalar("number_from_zero", (1, 1), double, |columns| {
        keep_numbers(columns, |number| number >= 0.0)
    }),
    scalar("number_within_one", (1, 1), double, |columns| {
        keep_numbers(columns, |number| number.abs() <= 1.0)
    }),
    scalar("sinh", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.sinh()))
    }),
    scalar("cosh", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.cosh()))
    }),
    scalar("tanh", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.tanh()))
    }),
    scalar("asinh", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.asinh()))
    }),
    scalar("acosh", (1, 1), double, |columns| {
        of_one_double(columns, |number| Ok(number.acosh()))
    }),
    scalar("atanh", (1, 1), double, |columns| {
        of_one_double(columns, |number| {
            if number.abs() <= 1.0 {
                Ok(number.atanh())
            } else {
                Err(refusal("atanh: the number is between -1 and 1"))
            }
        })
    }),
    scalar("round_even", (2, 2), double, |columns| {
        Ok(doubles_column(of_doubles(columns, round_half_even)?))
    }),
    scalar("roundbankers", (2, 2), double, |columns| {
        Ok(doubles_column(of_doubles(columns, round_half_even)?))
    }),
    scalar("round_to_power", (2, 2), type_of_rounded, round_to_power),
    scalar("fmod", (2, 2), double, |columns| {
        Ok(doubles_column(of_doubles(columns, floored_remainder)?))
    }),
    scalar("nextafter", (2, 2), float_of_both, next_after),
    scalar("signbit", (1, 1), truth, |columns| {
        Ok(truths_column(of_doubles(columns, |[number]| {
            Ok(Some(number.is_sign_negative()))
        })?))
    }),
    scalar("bits_and", (2, 2), whole, |columns| {
        Ok(wholes_column(of_wholes(columns, |[one, other]| {
            Ok(Some(one & other))
        })?))
    }),
    scalar("bits_or", (2, 2), whole, |columns| {
        Ok(wholes_column(of_wholes(columns, |[one, other]| {
            Ok(Some(one | other))
        })?))
    }),
    scalar("bits_not", (1, 1), whole, |columns| {
        Ok(wholes_column(of_wholes(columns, |[number]| {
            Ok(Some(!number))
        })?))
    }),
    scalar("shifted_left", (2, 2), whole, |columns| {
        Ok(wholes_column(of_wholes(columns, shifted_left)?))
    }),
    scalar("shifted_right", (2, 2), whole, |columns| {
        Ok(wholes_column(of_wholes(columns, shifted_right)?))
    }),
    scalar("random_number", (2, 2), double, |columns| {
        // The second argument distinguishes the calls of one statement, which the engine would
        // compute once.
        Ok(doubles_column(
            (0..columns[0].len()).map(|_| Some(rand_number())).collect(),
        ))
    }),
    scalar("random_uuid", (2, 2), text, |columns| {
        Ok(texts_column(
            (0..columns[0].len())
                .map(|_| Some(random_uuid_text()))
                .collect(),
        ))
    }),
];

/// FLOAT for two of them, else DOUBLE.
fn float_of_both(dtypes: &[DataType]) -> PolarsResult<DataType> {
    let is_single = !dtypes.is_empty() && dtypes.iter().all(|dtype| *dtype == DataType::Float32);
    Ok(if is_single {
        DataType::Float32
    } else {
        DataType::Float64
    })
}

/// The number next to the first one, towards the second, in their type.
fn next_after(columns: &[Column]) -> PolarsResult<Column> {
    let dtypes: Vec<DataType> = columns
        .iter()
        .map(|column| column.dtype().clone())
        .collect();
    let dtype = float_of_both(&dtypes)?;
    let next = of_doubles(columns, |[from, to]| {
        Ok(Some(if dtype == DataType::Float32 {
            f64::from(libm::nextafterf(from as f32, to as f32))
        } else {
            libm::nextafter(from, to)
        }))
    })?;
    doubles_column(next).cast(&dtype)
}

/// The numbers for which `is_kept` is true, and NaN; null for the others.
fn keep_numbers(columns: &[Column], is_kept: fn(f64) -> bool) -> PolarsResult<Column> {
    Ok(doubles_column(of_doubles(columns, |[number]| {
        Ok(Some(number).filter(|number| number.is_nan() || is_kept(*number)))
    })?))
}

fn of_one_double(columns: &[Column], of: fn(f64) -> PolarsResult<f64>) -> PolarsResult<Column> {
    Ok(doubles_column(of_doubles(columns, |[number]| {
        of(number).map(Some)
    })?))
}

/// A number rounded to so many digits after the point, halves to the even digit.
fn round_half_even([number, digits]: [f64; 2]) -> PolarsResult<Option<f64>> {
    let scale = 10f64.powf(digits.trunc());
    let rounded = (number * scale).round_ties_even() / scale;
    Ok(Some(if rounded.is_finite() { rounded } else { number }))
}

/// The type of numbers without digits behind the point: that of integers, for decimal numbers one
/// of as many digits.
fn type_of_rounded(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(match dtypes.first() {
        Some(DataType::Decimal(width, _)) => DataType::Decimal(*width, 0),
        Some(
            dtype @ (DataType::Null | DataType::Float32 | DataType::Unknown(UnknownKind::Int(_))),
        ) => dtype.clone(),
        Some(dtype) if dtype.is_integer() => dtype.clone(),
        _ => DataType::Float64,
    })
}

/// Numbers rounded to a power of ten above 1, whose exponent is the second argument; halves away
/// from zero.
fn round_to_power(columns: &[Column]) -> PolarsResult<Column> {
    let [numbers, exponents] = columns else {
        return Err(refusal("round takes a number and a number of digits"));
    };
    let exponents = exponents.cast(&DataType::Int64)?;
    let exponent = exponents.i64()?.iter().next().flatten().unwrap_or(0);
    match numbers.dtype() {
        DataType::Null => Ok(numbers.clone()),
        DataType::Decimal(width, scale) => {
            let (width, scale) = (*width, *scale);
            // DuckDB has 0 for a power beyond the digits before the point.
            let is_beyond =
                usize::try_from(exponent).is_ok_and(|digits| digits >= width.saturating_sub(scale));
            let rounded = round_digits(numbers, scale, exponent)?;
            let rounded = rounded
                .into_iter()
                .map(|number| number.map(|number| if is_beyond { 0 } else { number }))
                .collect::<Int128Chunked>();
            Ok(rounded.into_decimal_unchecked(width, 0).into_column())
        }
        dtype if dtype.is_integer() => {
            let digits = round_digits(numbers, 0, exponent)?;
            let rounded = digits.into_iter().collect::<Int128Chunked>();
            let rounded = rounded
                .into_decimal_unchecked(DIGITS, 0)
                .into_column()
                .cast(dtype)?;
            if rounded.null_count() > numbers.null_count() {
                return Err(too_large(format!(
                    "a rounded number does not fit in {}",
                    type_name(dtype)
                )));
            }
            Ok(rounded)
        }
        dtype => {
            let rounded = of_doubles(columns, round_double_to_power)?;
            let dtype = if *dtype == DataType::Float32 {
                DataType::Float32
            } else {
                DataType::Float64
            };
            doubles_column(rounded).cast(&dtype)
        }
    }
}

/// The digits of exact numbers with `scale` digits behind the point, as multiples of a power of
/// ten; 0 for powers beyond all digits of BIGINT.
fn round_digits(numbers: &Column, scale: usize, exponent: i64) -> PolarsResult<Vec<Option<i128>>> {
    let digits = numbers.strict_cast(&DataType::Decimal(DIGITS, scale))?;
    let digits = digits
        .as_materialized_series()
        .to_physical_repr()
        .into_owned();
    let powers = u32::try_from(exponent)
        .ok()
        .filter(|exponent| *exponent < DIGITS_OF_64_BITS)
        .zip(u32::try_from(scale).ok())
        .and_then(|(exponent, scale)| {
            let divisor = 10i128.checked_pow(exponent.checked_add(scale)?)?;
            Some((divisor, 10i128.checked_pow(exponent)?))
        });
    let mut rounded = Vec::with_capacity(digits.len());
    for number in digits.i128()?.iter() {
        rounded.push(number.map(|number| match powers {
            Some((divisor, power)) => {
                let half = divisor / 2 * number.signum();
                number.saturating_add(half) / divisor * power
            }
            None => 0,
        }));
    }
    Ok(rounded)
}

/// Numbers that are infinite or not a number become 0.
fn round_double_to_power([number, exponent]: [f64; 2]) -> PolarsResult<Option<f64>> {
    let power = 10f64.powf(exponent);
    let rounded = (number / power).round() * power;
    Ok(Some(if rounded.is_finite() { rounded } else { 0.0 }))
}

/// The remainder with the sign of the divisor.
fn floored_remainder([number, divisor]: [f64; 2]) -> PolarsResult<Option<f64>> {
    Ok(Some(number - (number / divisor).floor() * divisor))
}

/// A random UUID of version 4.
fn random_uuid_text() -> String {
    let group = |digits: u32| (rand_number() * 16f64.powi(digits as i32)) as u64;
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        group(8),
        group(4),
        group(3),
        8 + group(1) % 4,
        group(3),
        group(12)
    )
}

/// 53 bits are the digits of a number of 64 bits.
const RANDOM_NUMBERS: u64 = 1 << 53;

/// A number from 0 to 1, without 1.
fn rand_number() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // Each state has other keys.
    share_of_bits(RandomState::new().hash_one(()))
}

/// A number from 0 to 1, without 1, of random bits.
fn share_of_bits(bits: u64) -> f64 {
    (bits % RANDOM_NUMBERS) as f64 / RANDOM_NUMBERS as f64
}

/// `random()` behind `setseed`: of one seed and one call the numbers are always the same, one for
/// each row of the argument.
pub(in crate::query) fn seeded_random(called: &str, seed: f64, call: u64) -> UserDefinedFunction {
    let drawn = AtomicU64::new(0);
    let start = mix_bits(seed.to_bits() ^ mix_bits(call));
    elementwise(
        called,
        |_| Ok(DataType::Float64),
        move |columns| {
            let rows = columns[0].len() as u64;
            let first = drawn.fetch_add(rows, Ordering::Relaxed);
            let bits = |row: u64| mix_bits(start.wrapping_add(first).wrapping_add(row));
            let number = |row: u64| Some(share_of_bits(bits(row)));
            Ok(doubles_column((0..rows).map(number).collect()))
        },
    )
}

/// Bits that differ in half of their places for two numbers that differ in one (SplitMix64).
fn mix_bits(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn shifted_left([number, bits]: [i64; 2]) -> PolarsResult<Option<i64>> {
    if number < 0 || bits < 0 {
        return Err(refusal("<< takes numbers that are not negative"));
    }
    let shifted = u32::try_from(bits)
        .ok()
        .filter(|bits| number == 0 || number.leading_zeros() > *bits)
        .map(|bits| number.checked_shl(bits).unwrap_or(0));
    shifted
        .map(Some)
        .ok_or_else(|| refusal(format!("{number} << {bits} does not fit in BIGINT")))
}

fn shifted_right([number, bits]: [i64; 2]) -> PolarsResult<Option<i64>> {
    Ok(Some(
        u32::try_from(bits)
            .ok()
            .and_then(|bits| number.checked_shr(bits))
            .unwrap_or(0),
    ))
}
