//! Comparisons, and the type that values have beside one another.

use polars::prelude::*;

use super::expressions::{binary_expression, text_cast};
use super::whole_arithmetic::{WholeNumber, whole_of};

/// Values of which some are FLOAT and others integers or decimal numbers: in DuckDB all are FLOAT.
/// `None` for others.
pub(super) fn as_floats(values: &[&Expr], dtypes: &[DataType]) -> Option<Vec<Expr>> {
    let has_both = dtypes.contains(&DataType::Float32)
        && dtypes.iter().any(|dtype| *dtype != DataType::Float32);
    if !has_both || !dtypes.iter().all(is_float_beside_floats) {
        return None;
    }
    let mut floats = Vec::with_capacity(values.len());
    for (&value, dtype) in values.iter().zip(dtypes) {
        floats.push(match dtype {
            DataType::Float32 => value.clone(),
            _ => value.clone().cast(DataType::Float32),
        });
    }
    Some(floats)
}

/// True for types whose values are FLOAT beside values of FLOAT.
fn is_float_beside_floats(dtype: &DataType) -> bool {
    *dtype == DataType::Float32
        || dtype.is_integer()
        || matches!(
            dtype,
            DataType::Decimal(..) | DataType::Unknown(_) | DataType::Null
        )
}

/// True for integers of which some are of 64 bits without a sign and others have a sign: the engine
/// makes fractions of them.
pub(in crate::query) fn is_of_mixed_signs(dtypes: &[DataType]) -> bool {
    dtypes.contains(&DataType::UInt64)
        && dtypes.iter().any(DataType::is_signed_integer)
        && dtypes
            .iter()
            .all(|dtype| dtype.is_integer() || *dtype == DataType::Null)
}

/// The comparison of integers of 64 bits without a sign with a written negative number, which the
/// engine makes a null; `None` for any other.
pub(super) fn compared_with_negative(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &Schema,
) -> Option<Expr> {
    let (numbers, is_less) = if is_negative_integer(left) && is_unsigned_64(right, schema) {
        (right, true)
    } else if is_unsigned_64(left, schema) && is_negative_integer(right) {
        (left, false)
    } else {
        return None;
    };
    Some(match op {
        Operator::Eq => answer_unless_null(numbers, false),
        Operator::NotEq => answer_unless_null(numbers, true),
        Operator::Lt | Operator::LtEq => answer_unless_null(numbers, is_less),
        Operator::Gt | Operator::GtEq => answer_unless_null(numbers, !is_less),
        Operator::EqValidity => numbers.clone().is_null().and(lit(false)),
        Operator::NotEqValidity => numbers.clone().is_null().or(lit(true)),
        _ => return None,
    })
}

/// True for integers of 64 bits without a sign.
fn is_unsigned_64(expression: &Expr, schema: &Schema) -> bool {
    matches!(
        whole_of(expression, schema),
        Some(WholeNumber::Typed(DataType::UInt64))
    )
}

/// True for a written negative integer.
fn is_negative_integer(expression: &Expr) -> bool {
    let Expr::Literal(literal) = expression else {
        return false;
    };
    literal
        .to_any_value()
        .filter(AnyValue::is_integer)
        .and_then(|value| value.extract::<i128>())
        .is_some_and(|number| number < 0)
}

/// The answer for values that are not null, and null for others.
fn answer_unless_null(values: &Expr, answer: bool) -> Expr {
    when(values.clone().is_null())
        .then(lit(NULL))
        .otherwise(lit(answer))
        .cast(DataType::Boolean)
}

/// The sides of a comparison of integers of 64 bits without a sign with what is made of written
/// numbers, as integers with a sign: the engine gives both sides the type of the written ones,
/// which the greatest do not have. `None` for other types, and for a number that is written itself.
pub(super) fn signed_beside_unsigned(
    sides: [&Expr; 2],
    dtypes: &[DataType; 2],
) -> Option<[Expr; 2]> {
    let is_written_number =
        |dtype: &DataType| matches!(dtype, DataType::Unknown(UnknownKind::Int(_)));
    let at = match dtypes {
        [DataType::UInt64, other] if is_written_number(other) => 1,
        [other, DataType::UInt64] if is_written_number(other) => 0,
        _ => return None,
    };
    if matches!(sides[at], Expr::Literal(_)) {
        return None;
    }
    let mut typed = sides.map(Clone::clone);
    typed[at] = typed[at].clone().cast(DataType::Int64);
    Some(typed)
}

/// The sides of a comparison of texts with truth values, with the texts read as truth values: the
/// engine writes the truth values as texts. `None` for other types.
pub(super) fn texts_as_truths(sides: [&Expr; 2], dtypes: &[DataType; 2]) -> Option<[Expr; 2]> {
    let at = match dtypes {
        [DataType::String, DataType::Boolean] => 0,
        [DataType::Boolean, DataType::String] => 1,
        _ => return None,
    };
    let mut read = sides.map(Clone::clone);
    read[at] = text_cast(&DataType::Boolean, false)?.call(vec![sides[at].clone()]);
    Some(read)
}

/// Times without a zone, in which times of the zone of the session are written.
const UNZONED: DataType = DataType::Datetime(TimeUnit::Microseconds, None);

fn is_zoned(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Datetime(_, Some(_)))
}

fn is_unzoned(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Date | DataType::Datetime(_, None))
}

/// Times of which some have a zone and others have none: in DuckDB all have it. `None` for others.
pub(in crate::query) fn as_zoned_times(values: &[&Expr], dtypes: &[DataType]) -> Option<Vec<Expr>> {
    let zoned = dtypes.iter().find(|dtype| is_zoned(dtype))?;
    let is_time = |dtype: &DataType| is_zoned(dtype) || is_unzoned(dtype) || dtype.is_null();
    if !dtypes.iter().any(is_unzoned) || !dtypes.iter().all(is_time) {
        return None;
    }
    let mut times = Vec::with_capacity(values.len());
    for (&value, dtype) in values.iter().zip(dtypes) {
        times.push(if is_unzoned(dtype) {
            value.clone().cast(UNZONED).cast(zoned.clone())
        } else {
            value.clone()
        });
    }
    Some(times)
}

/// Two times of which one has a zone, both with or both without it, in UTC, the zone of the
/// session. The side that refers to no column is the one that is cast, so that statistics of the
/// column are used. `None` for others.
pub(super) fn without_zones(sides: [&Expr; 2], dtypes: &[DataType; 2]) -> Option<[Expr; 2]> {
    let has_both = match dtypes {
        [one, other] if is_zoned(one) => is_unzoned(other),
        [one, other] => is_unzoned(one) && is_zoned(other),
    };
    if !has_both {
        return None;
    }
    let zoned = usize::from(is_zoned(&dtypes[1]));
    let unzoned = 1 - zoned;
    let mut cast = sides.map(Clone::clone);
    let is_constant = !refers_to_column(sides[unzoned]) && refers_to_column(sides[zoned]);
    if is_constant {
        cast[unzoned] = cast[unzoned]
            .clone()
            .cast(UNZONED)
            .cast(dtypes[zoned].clone());
        return Some(cast);
    }
    cast[zoned] = cast[zoned].clone().cast(UNZONED);
    if !matches!(
        dtypes[unzoned],
        DataType::Date | DataType::Datetime(TimeUnit::Microseconds, _)
    ) {
        cast[unzoned] = cast[unzoned].clone().cast(UNZONED);
    }
    Some(cast)
}

fn refers_to_column(side: &Expr) -> bool {
    side.into_iter().any(|part| matches!(part, Expr::Column(_)))
}

/// A comparison. The engine gives one row for a constant compared with a column that is the same in
/// all rows, such as that of a subquery, so the constant is on the right; and one row where nulls
/// are taken as equal, so that is spelled by other comparisons.
pub(super) fn comparison(left: Expr, op: Operator, right: Expr, dtypes: &[DataType; 2]) -> Expr {
    let [of_left, of_right] = dtypes;
    let (left, right) = (
        cast_untyped_null(left, of_left, of_right),
        cast_untyped_null(right, of_right, of_left),
    );
    let (left, op, right) = match op
        .swap_operands()
        .filter(|_| !refers_to_column(&left) && refers_to_column(&right))
    {
        Some(swapped) => (right, swapped, left),
        None => (left, op, right),
    };
    let is_plain = dtypes
        .iter()
        .all(|dtype| !dtype.is_nested() && *dtype != DataType::Null);
    if !is_plain || !matches!(op, Operator::EqValidity | Operator::NotEqValidity) {
        return binary_expression(left, op, right);
    }
    let is_equal = left.clone().eq(right.clone()).fill_null(lit(false));
    let are_alike = is_equal.or(left.is_null().and(right.is_null()));
    if op == Operator::EqValidity {
        are_alike
    } else {
        are_alike.not()
    }
}

/// A side of a comparison. A null without a type, which takes the rows of a group apart from those
/// of the other columns, has the type of the other side.
fn cast_untyped_null(side: Expr, own: &DataType, other: &DataType) -> Expr {
    let needs_type = *own == DataType::Null
        && !other.is_nested()
        && !matches!(other, DataType::Null | DataType::Unknown(_));
    if needs_type {
        side.cast(other.clone())
    } else {
        side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_times_is_not_cast() {
        let zoned = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
        let (column, constant) = (col("t"), lit(0));
        for dtypes in [[UNZONED, zoned.clone()], [zoned, UNZONED]] {
            let sides = without_zones([&column, &constant], &dtypes).expect("times");
            assert_eq!(sides[0], column);
            assert_ne!(sides[1], constant);
        }
    }
}
