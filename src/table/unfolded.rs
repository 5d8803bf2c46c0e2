//! Size of arrays with all strings materialized: views and dictionaries store a string once that
//! many rows refer to.

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use arrow::compute::cast;
use arrow::datatypes::{ByteViewType, DataType, Int64Type};

/// Size of an array's values in bytes, with each occurrence counted.
pub fn unfolded_bytes(array: &ArrayRef) -> u64 {
    let count = array.len() as u64;
    match array.data_type() {
        DataType::Utf8View => count * 4 + sum_view_lengths(array.as_string_view()),
        DataType::BinaryView => count * 4 + sum_view_lengths(array.as_binary_view()),
        DataType::Utf8 => count * 4 + ends(array.as_string::<i32>().value_offsets()),
        DataType::Binary => count * 4 + ends(array.as_binary::<i32>().value_offsets()),
        DataType::LargeUtf8 => count * 8 + long_ends(array.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => count * 8 + long_ends(array.as_binary::<i64>().value_offsets()),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            count * 4
                + unfolded_bytes(&slice_list_elements(
                    lists.values(),
                    lists
                        .value_offsets()
                        .iter()
                        .map(|offset| i64::from(*offset)),
                ))
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            count * 8
                + unfolded_bytes(&slice_list_elements(
                    lists.values(),
                    lists.value_offsets().iter().copied(),
                ))
        }
        DataType::FixedSizeList(..) => unfolded_bytes(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let entries = array.as_map().entries();
            count * 4 + entries.columns().iter().map(unfolded_bytes).sum::<u64>()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(unfolded_bytes).sum(),
        DataType::Dictionary(..) => unfolded_dictionary_bytes(array),
        DataType::Null => 0,
        DataType::Boolean => count.div_ceil(8),
        other => count * other.primitive_width().map_or(16, |width| width as u64),
    }
}

fn sum_view_lengths<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> u64 {
    // The low 32 bits of a view are the length.
    array
        .views()
        .iter()
        .map(|view| u64::from(*view as u32))
        .sum()
}

fn ends(offsets: &[i32]) -> u64 {
    offsets
        .first()
        .zip(offsets.last())
        .map_or(0, |(first, last)| (last - first) as u64)
}

fn long_ends(offsets: &[i64]) -> u64 {
    offsets
        .first()
        .zip(offsets.last())
        .map_or(0, |(first, last)| (last - first) as u64)
}

/// The elements of lists between the first and the last offset.
fn slice_list_elements(
    values: &ArrayRef,
    offsets: impl DoubleEndedIterator<Item = i64> + ExactSizeIterator,
) -> ArrayRef {
    let mut offsets = offsets;
    let (first, last) = (
        offsets.next().unwrap_or(0) as usize,
        offsets.next_back().unwrap_or(0) as usize,
    );
    values.slice(
        first.min(values.len()),
        last.saturating_sub(first)
            .min(values.len() - first.min(values.len())),
    )
}

/// Each dictionary key counts as its value.
fn unfolded_dictionary_bytes(array: &ArrayRef) -> u64 {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    if values.is_empty() {
        return 0;
    }
    let sizes: Vec<u64> = (0..values.len())
        .map(|at| unfolded_bytes(&values.slice(at, 1)))
        .collect();
    let Ok(keys) = cast(dictionary.keys(), &DataType::Int64) else {
        return u64::MAX;
    };
    let keys = keys.as_primitive::<Int64Type>();
    keys.iter()
        .flatten()
        .filter_map(|key| sizes.get(usize::try_from(key).ok()?))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryViewArray, DictionaryArray, Int64Array, ListArray, StringArray, StringViewArray,
    };
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn a_text_counts_as_often_as_it_is_shown() {
        let long = "x".repeat(1000);
        let texts = vec![long.as_str(); 50];
        let views: ArrayRef = Arc::new(StringViewArray::from(texts.clone()));
        let bytes: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(
            texts.iter().map(|text| text.as_bytes()),
        ));
        let numbers: ArrayRef = Arc::new(
            texts
                .iter()
                .copied()
                .collect::<DictionaryArray<Int32Type>>(),
        );
        let plain: ArrayRef = Arc::new(StringArray::from(texts));
        for array in [views, bytes, numbers, plain.clone()] {
            let found = unfolded_bytes(&array);
            assert!(
                (50_000..51_000).contains(&found),
                "{found} bytes as {}",
                array.data_type()
            );
        }
        assert!((10_000..11_000).contains(&unfolded_bytes(&plain.slice(3, 10))));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            None,
            Some(vec![Some(3)]),
        ]);
        let lists: ArrayRef = Arc::new(lists);
        assert_eq!(
            (unfolded_bytes(&lists), unfolded_bytes(&lists.slice(1, 2))),
            (36, 16)
        );
        let flat: ArrayRef = Arc::new(Int64Array::from_iter_values(0..9));
        assert_eq!(unfolded_bytes(&flat), 72);
    }
}
