//! Common types of columns: across the tables of a level, or the values of a column.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, UInt64Type};

/// Integers up to this magnitude are exact in a double.
pub const EXACT_IN_DOUBLE: u64 = 1 << 53;

/// The narrowest type that represents every value of both types; `None` when there is none.
/// Integers except uint64 become int64, floats double; lists and structs are widened recursively.
pub fn exact_type(a: &DataType, b: &DataType) -> Option<DataType> {
    widen_types(a, b, &|_, _| None)
}

/// As [`exact_type`], but integers with floats become double. Integers above 2^53 are then rounded:
/// see [`is_exact_as`].
pub fn number_type(a: &DataType, b: &DataType) -> Option<DataType> {
    widen_types(a, b, &numbers)
}

/// As [`exact_type`]; integers with floats become double, booleans with integers int64, and any
/// other pair text. Integers above 2^53 are not exact in a double: [`is_exact_as`] finds them.
pub fn any_type(a: &DataType, b: &DataType) -> DataType {
    widen_types(a, b, &widen_to_number_or_text).unwrap_or(DataType::Utf8)
}

fn widen_to_number_or_text(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::Boolean, other) | (other, DataType::Boolean)
            if other.is_integer() && *other != DataType::UInt64 =>
        {
            Some(DataType::Int64)
        }
        _ => numbers(a, b).or(Some(DataType::Utf8)),
    }
}

fn numbers(a: &DataType, b: &DataType) -> Option<DataType> {
    (is_number(a) && is_number(b) && (a.is_floating() || b.is_floating()))
        .then_some(DataType::Float64)
}

fn widen_types(
    a: &DataType,
    b: &DataType,
    otherwise: &dyn Fn(&DataType, &DataType) -> Option<DataType>,
) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, LargeBinary, LargeList, LargeUtf8, List, Null, Struct, UInt64, Utf8,
        Utf8View,
    };
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => {
            if *a == LargeUtf8 || *b == LargeUtf8 {
                LargeUtf8
            } else {
                Utf8
            }
        }
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => {
            if *a == LargeBinary || *b == LargeBinary {
                LargeBinary
            } else {
                Binary
            }
        }
        (a, b) if a.is_integer() && b.is_integer() && *a != UInt64 && *b != UInt64 => {
            DataType::Int64
        }
        (UInt64, other) | (other, UInt64) if other.is_unsigned_integer() => UInt64,
        (a, b) if a.is_floating() && b.is_floating() => DataType::Float64,
        (List(x) | LargeList(x), List(y) | LargeList(y)) => {
            let item = widen_types(x.data_type(), y.data_type(), otherwise)?;
            let item = Arc::new(Field::new(x.name(), item, true));
            if matches!((a, b), (List(_), List(_))) {
                List(item)
            } else {
                LargeList(item)
            }
        }
        (Struct(x), Struct(y)) => Struct(widened_fields(x, y, otherwise)?),
        (a, b) => return otherwise(a, b),
    })
}

fn widened_fields(
    a: &Fields,
    b: &Fields,
    otherwise: &dyn Fn(&DataType, &DataType) -> Option<DataType>,
) -> Option<Fields> {
    let mut fields: Vec<Field> = a.iter().map(|field| field.as_ref().clone()).collect();
    for field in b {
        match fields.iter_mut().find(|known| known.name() == field.name()) {
            Some(known) => {
                let both = widen_types(known.data_type(), field.data_type(), otherwise)?;
                known.set_data_type(both);
            }
            None => fields.push(field.as_ref().clone()),
        }
    }
    Some(fields.into())
}

fn is_number(dtype: &DataType) -> bool {
    dtype.is_integer() || dtype.is_floating()
}

/// Whether `target` represents every value of the array exactly. False only for integers above 2^53
/// as double.
pub fn is_exact_as(array: &ArrayRef, target: &DataType) -> bool {
    match (array.data_type(), target) {
        (DataType::Int64, DataType::Float64) => array
            .as_primitive::<Int64Type>()
            .iter()
            .flatten()
            .all(|value| value.unsigned_abs() <= EXACT_IN_DOUBLE),
        (DataType::UInt64, DataType::Float64) => array
            .as_primitive::<UInt64Type>()
            .iter()
            .flatten()
            .all(|value| value <= EXACT_IN_DOUBLE),
        (DataType::List(_), DataType::List(item) | DataType::LargeList(item)) => {
            is_exact_as(array.as_list::<i32>().values(), item.data_type())
        }
        (DataType::LargeList(_), DataType::List(item) | DataType::LargeList(item)) => {
            is_exact_as(array.as_list::<i64>().values(), item.data_type())
        }
        (DataType::Struct(_), DataType::Struct(fields)) => fields.iter().all(|field| {
            array
                .as_struct()
                .column_by_name(field.name())
                .is_none_or(|values| is_exact_as(values, field.data_type()))
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new("item", item, true)))
    }

    #[test]
    fn types_meet_in_the_narrowest_that_has_both() {
        use DataType::{
            Boolean, Float32, Float64, Int8, Int32, Int64, LargeUtf8, Null, UInt32, UInt64, Utf8,
            Utf8View,
        };
        for (a, b, exact, number) in [
            (Int32, Int32, Some(Int32), Some(Int32)),
            (Null, Utf8, Some(Utf8), Some(Utf8)),
            (Int8, UInt32, Some(Int64), Some(Int64)),
            (UInt32, UInt64, Some(UInt64), Some(UInt64)),
            (UInt64, Int64, None, None),
            (Float32, Float64, Some(Float64), Some(Float64)),
            (Int32, Float32, None, Some(Float64)),
            (Boolean, Utf8, None, None),
            (Utf8, LargeUtf8, Some(LargeUtf8), Some(LargeUtf8)),
            (Utf8, Utf8View, Some(Utf8), Some(Utf8)),
            (Utf8, Int64, None, None),
            (list(Int32), list(Float64), None, Some(list(Float64))),
        ] {
            assert_eq!(
                (exact_type(&a, &b), exact_type(&b, &a)),
                (exact.clone(), exact),
                "{a} {b}"
            );
            assert_eq!(
                (number_type(&a, &b), number_type(&b, &a)),
                (number.clone(), number.clone()),
                "{a} {b}"
            );
            assert_eq!(any_type(&a, &b), number.unwrap_or(Utf8), "{a} {b}");
        }
    }

    #[test]
    fn structs_have_the_fields_of_both() {
        let of = |fields: &[(&str, DataType)]| {
            DataType::Struct(
                fields
                    .iter()
                    .map(|(name, dtype)| Field::new(*name, dtype.clone(), true))
                    .collect(),
            )
        };
        let (a, b) = (
            of(&[("x", DataType::Int64), ("y", DataType::Utf8)]),
            of(&[("x", DataType::Int32), ("z", DataType::Boolean)]),
        );
        let both = of(&[
            ("x", DataType::Int64),
            ("y", DataType::Utf8),
            ("z", DataType::Boolean),
        ]);
        assert_eq!(exact_type(&a, &b), Some(both));
        assert_eq!(exact_type(&a, &of(&[("x", DataType::Utf8)])), None);
        assert_eq!(
            any_type(&DataType::Boolean, &DataType::Int8),
            DataType::Int64
        );
        assert_eq!(
            any_type(&list(DataType::Int64), &list(DataType::Utf8)),
            list(DataType::Utf8)
        );
    }

    #[test]
    fn integers_that_a_double_would_round_are_found() {
        let array = |value: i64| Arc::new(Int64Array::from(vec![None, Some(value)])) as ArrayRef;
        assert!(is_exact_as(&array(-(1 << 53)), &DataType::Float64));
        assert!(!is_exact_as(&array((1 << 53) + 1), &DataType::Float64));
        assert!(
            is_exact_as(&array(i64::MAX), &DataType::Int64)
                && is_exact_as(&array(i64::MAX), &DataType::Utf8)
        );
    }
}
