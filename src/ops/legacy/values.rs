//! Columns of a table that replace those of a footer: the values in the footer's type, or an error
//! that names the first one that it can't hold. Pure.

use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use crate::error::{Error, Result};
use crate::model::dtype_name;
use crate::table::cell_text;
use crate::text::PrintableLine;

/// The word in `tortilla:file_format` that says: a tortilla in the tortilla.
const NESTED: &str = "TORTILLA";

/// `new` converted to the type of `old`. `whose` names the sample of a row.
///
/// # Errors
/// When a value does not fit the type.
pub fn in_type_of(
    name: &str,
    old: &ArrayRef,
    new: &ArrayRef,
    whose: &dyn Fn(usize) -> String,
) -> Result<ArrayRef> {
    let (from, to) = (new.data_type(), old.data_type());
    // A column without a type takes any.
    if from == to || *to == DataType::Null {
        return Ok(new.clone());
    }
    if *from == DataType::Null {
        return Ok(new_null_array(to, new.len()));
    }
    // Times and numbers cast into each other, and so do text and lists of one text; both would say
    // something else.
    let alike = from.is_nested() == to.is_nested()
        && (from.is_temporal() == to.is_temporal() || is_text(from) || is_text(to));
    let done = if alike { cast(new, to).ok() } else { None };
    let back = done.as_ref().and_then(|done| cast(done, from).ok());
    let kept = |row| keeps_value(new, done.as_ref(), back.as_ref(), row);
    if let Some(row) = (0..new.len()).find(|&row| new.is_valid(row) && !kept(row)) {
        let message = format!(
            "{name} holds {}, which can't be {} as the table says for {}",
            dtype_name(to),
            cell_text(new, row).printable_line(),
            whose(row).printable_line()
        );
        return Err(Error::usage(message)
            .hint("correct the value, or give the column another name to keep both"));
    }
    Ok(done.unwrap_or_else(|| new_null_array(to, new.len())))
}

/// True when a value of `new` is still the same in `done`, its cast; `back` is that cast back.
fn keeps_value(
    new: &ArrayRef,
    done: Option<&ArrayRef>,
    back: Option<&ArrayRef>,
    row: usize,
) -> bool {
    let Some(done) = done.filter(|done| done.is_valid(row)) else {
        return false;
    };
    // Text that could be read as a value is that value; a number is the same one if it is
    // written alike or comes back.
    let value = cell_text(new, row);
    is_text(new.data_type())
        || cell_text(done, row) == value
        || back.is_some_and(|back| cell_text(back, row) == value)
}

/// Checks that no sample becomes a nested tortilla or stops being one: its bytes stay the same.
///
/// # Errors
/// For the first sample whose format changes that way.
pub fn check_formats(
    old: &ArrayRef,
    new: &ArrayRef,
    whose: &dyn Fn(usize) -> String,
) -> Result<()> {
    let (before, after) = (find_nested_rows(old), find_nested_rows(new));
    let Some(row) = before
        .iter()
        .zip(&after)
        .position(|(before, after)| before != after)
    else {
        return Ok(());
    };
    let what = if before[row] {
        "is a nested tortilla and stays one"
    } else {
        "is no nested tortilla and can't become one"
    };
    let error = Error::usage(format!(
        "tortilla:file_format can't be changed for {}: it {what}",
        whose(row).printable_line()
    ));
    Err(error.hint("leave its value as it is"))
}

/// For each row whether its format is that of a nested tortilla.
fn find_nested_rows(formats: &ArrayRef) -> Vec<bool> {
    let Ok(text) = cast(formats, &DataType::Utf8) else {
        return vec![false; formats.len()];
    };
    text.as_string::<i32>()
        .iter()
        .map(|format| format == Some(NESTED))
        .collect()
}

/// True for both sizes of text.
pub fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow::array::{
        Float32Array, Float64Array, Int64Array, LargeStringArray, StringArray,
        TimestampMicrosecondArray,
    };
    use arrow::datatypes::{Float32Type, Int64Type};

    fn cast_to(old: ArrayRef, new: ArrayRef) -> Result<ArrayRef> {
        in_type_of("rank", &old, &new, &|row| format!("sample {row}"))
    }

    fn numbers(values: Vec<Option<i64>>) -> ArrayRef {
        Arc::new(Int64Array::from(values))
    }

    #[test]
    fn values_take_the_type_of_the_footer() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), None]));
        let done = cast_to(numbers(vec![Some(5); 3]), floats).expect("fits");
        assert_eq!(
            done.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
            [Some(1), Some(2), None]
        );
        let single: ArrayRef = Arc::new(Float32Array::from(vec![0.5]));
        let done =
            cast_to(single, Arc::new(Float64Array::from(vec![0.1]))).expect("is written alike");
        assert_eq!(done.as_primitive::<Float32Type>().value(0), 0.1);
        let long: ArrayRef = Arc::new(LargeStringArray::from(vec!["x"]));
        assert_eq!(
            cast_to(long, Arc::new(StringArray::from(vec!["y"])))
                .expect("fits")
                .data_type(),
            &DataType::LargeUtf8
        );
        let untyped =
            cast_to(new_null_array(&DataType::Null, 1), numbers(vec![Some(1)])).expect("takes any");
        assert_eq!(untyped.data_type(), &DataType::Int64);
        let emptied =
            cast_to(numbers(vec![Some(1)]), new_null_array(&DataType::Null, 1)).expect("fits");
        assert_eq!(
            (emptied.data_type(), emptied.null_count()),
            (&DataType::Int64, 1)
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![None, Some(1)]));
        let cases: [(ArrayRef, ArrayRef, &str); 5] = [
            (
                numbers(vec![Some(1); 2]),
                Arc::new(StringArray::from(vec!["7", "high"])),
                "high as the table says for sample 1",
            ),
            (
                numbers(vec![Some(1); 2]),
                Arc::new(Float64Array::from(vec![1.0, 1.5])),
                "1.5 as the table says for sample 1",
            ),
            (
                Arc::new(Float64Array::from(vec![1.0])),
                numbers(vec![Some((1 << 53) + 1)]),
                "9007199254740993",
            ),
            // Seconds are not what a time would be cast to.
            (
                Arc::new(Float64Array::from(vec![1.0; 2])),
                times,
                "for sample 1",
            ),
            (
                Arc::new(Int64Array::from(vec![1])),
                Arc::new(StringArray::from(vec!["99999999999999999999"])),
                "int64",
            ),
        ];
        for (old, new, says) in cases {
            let error = cast_to(old, new).expect_err(says).to_string();
            assert!(
                error.contains("rank holds") && error.contains(says),
                "{error}"
            );
        }
    }

    #[test]
    fn nested_tortillas_stay_what_they_are() {
        let text = |values: [&str; 2]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
        let check =
            |old, new| check_formats(&text(old), &text(new), &|row| format!("sample {row}"));
        assert!(check(["BYTES", "TORTILLA"], ["GTiff", "TORTILLA"]).is_ok());
        assert!(
            check(["BYTES", "TORTILLA"], ["BYTES", "BYTES"])
                .is_err_and(|error| error.to_string().contains("sample 1"))
        );
        assert!(
            check(["BYTES", "TORTILLA"], ["TORTILLA", "TORTILLA"])
                .is_err_and(|error| error.to_string().contains("sample 0"))
        );
    }
}
