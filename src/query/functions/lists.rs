//! Functions of lists. Elements are compared as [`order_keys`] orders them.

use std::collections::HashSet;
use std::ops::Range;

use polars::prelude::*;

use super::{
    ScalarFunction, double, doubles_column, scalar, text, texts_column, truth, truths_column,
    whole, wholes_column,
};
use crate::query::engine_errors::refusal;
use crate::query::list_functions::position_from_start;
use crate::query::nested_values::{
    ListRanges, ListsBuilder, broadcast_row, cast_to, common_type, comparable_type, order_keys,
    row_count, stack_columns, take_places,
};
use crate::query::struct_values;
use crate::query::type_names::type_name;

/// Longest list that `list_resize` makes, so that a mistaken number takes no memory.
const LENGTH_MAX: i64 = 1 << 20;

/// Aggregates of the elements of a list, by DuckDB's name of the aggregate, and the function of the
/// list.
pub(in crate::query) const LIST_AGGREGATES: &[(&str, &str)] = &[
    ("sum", "list_sum"),
    ("avg", "list_avg"),
    ("mean", "list_avg"),
    ("min", "list_min"),
    ("max", "list_max"),
    ("count", "list_count"),
    ("first", "list_first"),
    ("last", "list_last"),
    ("any_value", "list_any_value"),
    ("mode", "list_mode"),
    ("median", "list_median"),
    ("product", "list_product"),
    ("stddev_pop", "list_stddev_pop"),
    ("stddev", "list_stddev_samp"),
    ("stddev_samp", "list_stddev_samp"),
    ("var_pop", "list_var_pop"),
    ("var_samp", "list_var_samp"),
    ("variance", "list_var_samp"),
    ("bool_and", "list_bool_and"),
    ("bool_or", "list_bool_or"),
    ("string_agg", "list_string_agg"),
];

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar(
        "struct_concat",
        (1, 16),
        struct_values::find_joined_type,
        struct_values::join_structs,
    ),
    scalar("list_position", (2, 2), place_type, list_position),
    scalar("list_indexof", (2, 2), place_type, list_position),
    scalar("array_position", (2, 2), place_type, list_position),
    scalar("array_indexof", (2, 2), place_type, list_position),
    scalar("list_has_any", (2, 2), truth, |columns| {
        list_has(columns, false)
    }),
    scalar("array_has_any", (2, 2), truth, |columns| {
        list_has(columns, false)
    }),
    scalar("list_has_all", (2, 2), truth, |columns| {
        list_has(columns, true)
    }),
    scalar("array_has_all", (2, 2), truth, |columns| {
        list_has(columns, true)
    }),
    scalar("list_intersect", (2, 2), list_type, list_intersect),
    scalar("array_intersect", (2, 2), list_type, list_intersect),
    scalar("element_or_letter", (2, 2), type_of_part, element_or_letter),
    scalar("list_slice_steps", (4, 4), list_type, list_slice_steps),
    scalar("list_zip", (1, 16), zip_type, list_zip),
    scalar("array_zip", (1, 16), zip_type, list_zip),
    scalar("flatten", (1, 1), flattened_type, flatten_lists),
    scalar("list_where", (2, 2), list_type, list_where),
    scalar("array_where", (2, 2), list_type, list_where),
    scalar("list_select", (2, 2), list_type, list_select),
    scalar("array_select", (2, 2), list_type, list_select),
    scalar("list_resize", (2, 3), list_type, list_resize),
    scalar("array_resize", (2, 3), list_type, list_resize),
    scalar(
        "list_grade_up",
        (1, 1),
        |_| Ok(DataType::List(Box::new(DataType::Int64))),
        list_grade_up,
    ),
    scalar("array_pop_back", (1, 1), list_type, |columns| {
        of_places(columns, |range| {
            (range.start..range.end.max(range.start + 1) - 1).collect()
        })
    }),
    scalar("array_pop_front", (1, 1), list_type, |columns| {
        of_places(columns, |range| (range.start + 1..range.end).collect())
    }),
    scalar("list_sorted", (3, 3), list_type, list_sorted),
    scalar("list_count", (1, 1), whole, list_count),
    scalar("list_first", (1, 1), element_type, |columns| {
        of_one_place(columns, |range, _| range.clone().next())
    }),
    scalar("list_last", (1, 1), element_type, |columns| {
        of_one_place(columns, |range, _| range.clone().next_back())
    }),
    scalar("list_any_value", (1, 1), element_type, |columns| {
        of_one_place(columns, |range, known| {
            range.clone().find(|place| known.get(*place) == Some(true))
        })
    }),
    scalar("list_mode", (1, 1), element_type, list_mode),
    scalar("list_median", (1, 1), double, |columns| {
        of_numbers(columns, median)
    }),
    scalar("list_product", (1, 1), double, |columns| {
        of_numbers(columns, |numbers| {
            (!numbers.is_empty()).then(|| numbers.iter().product())
        })
    }),
    scalar("list_var_pop", (1, 1), double, |columns| {
        of_numbers(columns, |numbers| variance(numbers, 0))
    }),
    scalar("list_var_samp", (1, 1), double, |columns| {
        of_numbers(columns, |numbers| variance(numbers, 1))
    }),
    scalar("list_stddev_pop", (1, 1), double, |columns| {
        of_numbers(columns, |numbers| variance(numbers, 0).map(f64::sqrt))
    }),
    scalar("list_stddev_samp", (1, 1), double, |columns| {
        of_numbers(columns, |numbers| variance(numbers, 1).map(f64::sqrt))
    }),
    scalar("list_bool_and", (1, 1), truth, |columns| {
        of_truths(columns, |truths| truths.iter().all(|truth| *truth))
    }),
    scalar("list_bool_or", (1, 1), truth, |columns| {
        of_truths(columns, |truths| truths.contains(&true))
    }),
    scalar("list_string_agg", (1, 1), text, list_string_agg),
    scalar("list_distance", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(
                pairs
                    .iter()
                    .map(|(a, b)| (a - b).powi(2))
                    .sum::<f64>()
                    .sqrt(),
            )
        })
    }),
    scalar("array_distance", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(
                pairs
                    .iter()
                    .map(|(a, b)| (a - b).powi(2))
                    .sum::<f64>()
                    .sqrt(),
            )
        })
    }),
    scalar("list_inner_product", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(pairs.iter().map(|(a, b)| a * b).sum())
        })
    }),
    scalar("list_dot_product", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(pairs.iter().map(|(a, b)| a * b).sum())
        })
    }),
    scalar("array_inner_product", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(pairs.iter().map(|(a, b)| a * b).sum())
        })
    }),
    scalar("array_dot_product", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| {
            Some(pairs.iter().map(|(a, b)| a * b).sum())
        })
    }),
    scalar("list_cosine_similarity", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| Some(cosine(pairs)))
    }),
    scalar("array_cosine_similarity", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| Some(cosine(pairs)))
    }),
    scalar("list_cosine_distance", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| Some(1.0 - cosine(pairs)))
    }),
    scalar("array_cosine_distance", (2, 2), double, |columns| {
        of_vectors(columns, |pairs| Some(1.0 - cosine(pairs)))
    }),
];

fn list_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match dtypes.first() {
        Some(dtype @ (DataType::List(_) | DataType::Null)) => Ok(dtype.clone()),
        Some(DataType::Array(item, _)) => Ok(DataType::List(item.clone())),
        Some(other) => Err(refusal(format!(
            "a list is needed, not a value of the type {}",
            type_name(other)
        ))),
        None => Ok(DataType::Null),
    }
}

fn element_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match list_type(dtypes)? {
        DataType::List(item) => Ok(*item),
        other => Ok(other),
    }
}

/// The lists of `list_zip`, without the truth value that may follow them.
fn split_zip_arguments<'c>(
    dtypes: &[DataType],
    arguments: &'c [Column],
) -> (&'c [Column], Option<&'c Column>) {
    match (dtypes.last(), arguments.split_last()) {
        (Some(DataType::Boolean), Some((cuts, lists))) => (lists, Some(cuts)),
        _ => (arguments, None),
    }
}

fn zip_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    let lists = if dtypes.last() == Some(&DataType::Boolean) {
        &dtypes[..dtypes.len() - 1]
    } else {
        dtypes
    };
    let names = struct_values::unnamed_field_names(lists.len());
    let fields = names
        .into_iter()
        .zip(lists)
        .map(|(name, list)| build_zip_field(name, list))
        .collect::<PolarsResult<_>>()?;
    Ok(DataType::List(Box::new(DataType::Struct(fields))))
}

fn build_zip_field(name: String, list: &DataType) -> PolarsResult<Field> {
    Ok(Field::new(
        name.into(),
        element_type(std::slice::from_ref(list))?,
    ))
}

/// Structs of the elements of several lists at one place: as many as the longest has, or with a
/// last argument that is true as the shortest has.
fn list_zip(columns: &[Column]) -> PolarsResult<Column> {
    let dtypes: Vec<DataType> = columns
        .iter()
        .map(|column| column.dtype().clone())
        .collect();
    let (arguments, cuts) = split_zip_arguments(&dtypes, columns);
    let cuts = cuts.map(|column| column.bool()).transpose()?;
    let all = arguments
        .iter()
        .map(ListRanges::from_column)
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut places: Vec<Vec<Option<usize>>> = vec![Vec::new(); all.len()];
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let ranges: Vec<_> = all
            .iter()
            .map(|lists| {
                lists
                    .row(broadcast_row(lists.len(), row))
                    .unwrap_or_default()
            })
            .collect();
        let lengths = ranges.iter().map(ExactSizeIterator::len);
        let is_cut =
            cuts.is_some_and(|cuts| cuts.get(broadcast_row(cuts.len(), row)) == Some(true));
        let length = if is_cut { lengths.min() } else { lengths.max() }.unwrap_or(0);
        let start = places.first().map_or(0, Vec::len);
        for (places, range) in places.iter_mut().zip(&ranges) {
            places.extend(
                (0..length).map(|at| Some(range.start + at).filter(|place| *place < range.end)),
            );
        }
        builder.push((start..start + length).map(Some));
    }
    let rows = places.first().map_or(0, Vec::len);
    let names = struct_values::unnamed_field_names(all.len());
    let field = |((lists, places), name): ((&ListRanges, Vec<Option<usize>>), String)| {
        Ok(take_places(&lists.elements, places)?.with_name(name.into()))
    };
    let fields = all
        .iter()
        .zip(places)
        .zip(names)
        .map(field)
        .collect::<PolarsResult<Vec<Series>>>()?;
    let structs = StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?.into_series();
    Ok(builder.finish(&structs)?.into_column())
}

fn flattened_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match element_type(dtypes)? {
        inner @ (DataType::List(_) | DataType::Null) => Ok(inner),
        other => Err(refusal(format!(
            "flatten takes a list of lists, not of values of the type {}",
            type_name(&other)
        ))),
    }
}

/// Keys of the elements of two lists, or of a list and a value, as values of one type.
fn keys_of_both(
    lists: &ListRanges,
    others: &Column,
) -> PolarsResult<(BinaryChunked, BinaryChunked)> {
    let dtype = comparable_type(lists.elements.dtype(), others.dtype())?;
    Ok((
        order_keys(&lists.elements.clone().into_column(), &dtype)?,
        order_keys(others, &dtype)?,
    ))
}

/// Number of the elements that are not null.
fn list_count(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let known = lists.elements.is_not_null();
    let is_known = |place: &usize| known.get(*place) == Some(true);
    let count = |row: usize| Some(lists.row(row)?.filter(is_known).count() as i64);
    Ok(wholes_column((0..lists.len()).map(count).collect()))
}

fn place_type(_: &[DataType]) -> PolarsResult<DataType> {
    Ok(DataType::Int32)
}

/// Number of the first element that equals a value, from 1; null when there is none.
fn list_position(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let (keys, values) = keys_of_both(&lists, &columns[1])?;
    let value = |row: usize| values.get(broadcast_row(values.len(), row));
    let position = |row: usize| find_key_position(lists.row(row)?, &keys, value(row));
    wholes_column((0..row_count(columns)).map(position).collect()).cast(&DataType::Int32)
}

/// Number of the first of the keys that equals one, from 1; nulls are equal.
fn find_key_position(
    mut range: Range<usize>,
    keys: &BinaryChunked,
    key: Option<&[u8]>,
) -> Option<i64> {
    range
        .position(|place| keys.get(place) == key)
        .map(|at| at as i64 + 1)
}

/// Whether a list has any, or all, of the elements of another one that are not null.
fn list_has(columns: &[Column], all: bool) -> PolarsResult<Column> {
    let (lists, others) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    let (keys, wanted) = keys_of_both(&lists, &others.elements.clone().into_column())?;
    let mut found = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let ranges = lists.row(row).zip(others.row(row));
        found.push(ranges.map(|(own, other)| has_keys((own, &keys), (other, &wanted), all)));
    }
    Ok(truths_column(found))
}

/// Whether a range of keys has any, or all, of those of another one that are not null.
fn has_keys(
    (own, keys): (Range<usize>, &BinaryChunked),
    (other, wanted): (Range<usize>, &BinaryChunked),
    all: bool,
) -> bool {
    let own: HashSet<&[u8]> = own.filter_map(|place| keys.get(place)).collect();
    let mut wanted = other.filter_map(|place| wanted.get(place));
    if all {
        wanted.all(|key| own.contains(key))
    } else {
        wanted.any(|key| own.contains(key))
    }
}

/// The different elements of a list that are in another one too.
fn list_intersect(columns: &[Column]) -> PolarsResult<Column> {
    let (lists, others) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    let (keys, wanted) = keys_of_both(&lists, &others.elements.clone().into_column())?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let rows = lists
            .row(broadcast_row(lists.len(), row))
            .zip(others.row(broadcast_row(others.len(), row)));
        let Some((own, other)) = rows else {
            builder.push_null();
            continue;
        };
        let mut wanted: HashSet<&[u8]> = other.filter_map(|place| wanted.get(place)).collect();
        let found: Vec<usize> = own
            .filter(|place| keys.get(*place).is_some_and(|key| wanted.remove(key)))
            .collect();
        builder.push(found.into_iter().map(Some));
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// The type of an element of a list, and of a letter of a text.
fn type_of_part(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match dtypes.first() {
        Some(DataType::String) => Ok(DataType::String),
        _ => element_type(dtypes),
    }
}

/// The element of a list, or the letter of a text, at a position from 1, or from the end if
/// negative.
fn element_or_letter(columns: &[Column]) -> PolarsResult<Column> {
    let positions = whole_at(&columns[1])?;
    let rows = 0..row_count(columns);
    let positions: Vec<Option<i64>> = rows
        .map(|row| positions.get(broadcast_row(positions.len(), row)))
        .collect();
    let positions = positions.into_iter().enumerate();
    if columns[0].dtype() == &DataType::String {
        let texts = columns[0].str()?;
        let letters =
            positions.map(|(row, at)| letter_at(texts.get(broadcast_row(texts.len(), row))?, at?));
        return Ok(texts_column(letters.collect()));
    }
    let lists = ListRanges::from_column(&columns[0])?;
    let places: Vec<Option<usize>> = positions
        .map(|(row, at)| place_at(&lists.row(broadcast_row(lists.len(), row))?, at?))
        .collect();
    Ok(take_places(&lists.elements, places)?.into_column())
}

/// The place of an element of a list by its position; `None` for a position outside of it.
fn place_at(range: &Range<usize>, position: i64) -> Option<usize> {
    let at = position_from_start(position, range.len() as i64);
    let offset = usize::try_from(at.checked_sub(1)?).ok()?;
    (offset < range.len()).then(|| range.start + offset)
}

/// The letter of a text at a position, which is empty outside of it.
fn letter_at(text: &str, position: i64) -> Option<String> {
    let at = position_from_start(position, text.chars().count() as i64);
    let offset = usize::try_from(at.checked_sub(1)?).ok();
    let letter = offset.and_then(|offset| text.chars().nth(offset));
    Some(letter.map(String::from).unwrap_or_default())
}

fn whole_at(column: &Column) -> PolarsResult<Int64Chunked> {
    Ok(column.cast(&DataType::Int64)?.i64()?.clone())
}

/// Elements from a position to another one, every so many; negative positions count from the end, a
/// negative step goes back.
fn list_slice_steps(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let bounds = columns[1..]
        .iter()
        .map(whole_at)
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let bound = |at: usize| bounds[at].get(broadcast_row(bounds[at].len(), row));
        let known = lists
            .row(broadcast_row(lists.len(), row))
            .zip(bound(0))
            .zip(bound(1))
            .zip(bound(2));
        let Some((((range, first), last), step)) = known else {
            builder.push_null();
            continue;
        };
        if step == 0 {
            return Err(refusal("a part of a list has a step that is not zero"));
        }
        let length = range.len() as i64;
        let (first, last) = (
            position_from_start(first, length),
            position_from_start(last, length),
        );
        let (first, last) = (first.max(1), last.min(length));
        let steps = (first..=last).step_by(step.unsigned_abs() as usize);
        let mut places: Vec<usize> = if step > 0 {
            steps.map(|at| range.start + at as usize - 1).collect()
        } else {
            (first..=last)
                .rev()
                .step_by(step.unsigned_abs() as usize)
                .map(|at| range.start + at as usize - 1)
                .collect()
        };
        builder.push(places.drain(..).map(Some));
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// The elements of the lists in a list.
fn flatten_lists(columns: &[Column]) -> PolarsResult<Column> {
    let outer = ListRanges::from_column(&columns[0])?;
    if outer.elements.dtype().is_null() {
        return Ok(columns[0].clone());
    }
    let inner = ListRanges::from_column(&outer.elements.clone().into_column())?;
    let mut builder = ListsBuilder::default();
    for row in 0..outer.len() {
        match outer.row(row) {
            Some(range) => builder.push(
                range
                    .filter_map(|place| inner.row(place))
                    .flatten()
                    .map(Some),
            ),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&inner.elements)?.into_column())
}

/// The elements at which another list is true.
fn list_where(columns: &[Column]) -> PolarsResult<Column> {
    let (lists, masks) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    let chosen = masks.elements.cast(&DataType::Boolean)?;
    let chosen = chosen.bool()?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        match lists
            .row(broadcast_row(lists.len(), row))
            .zip(masks.row(broadcast_row(masks.len(), row)))
        {
            Some((range, mask)) => {
                builder.push(
                    range
                        .zip(mask)
                        .filter(|(_, at)| chosen.get(*at) == Some(true))
                        .map(|(place, _)| Some(place)),
                );
            }
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// The elements at positions, null where there is none.
fn list_select(columns: &[Column]) -> PolarsResult<Column> {
    let (lists, positions) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    let numbers = whole_at(&positions.elements.clone().into_column())?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        match lists
            .row(broadcast_row(lists.len(), row))
            .zip(positions.row(broadcast_row(positions.len(), row)))
        {
            Some((range, at)) => {
                let length = range.len() as i64;
                builder.push(at.map(|at| {
                    let position = numbers.get(at)?;
                    let position = if position < 0 {
                        length + position
                    } else {
                        position - 1
                    };
                    (0..length)
                        .contains(&position)
                        .then(|| range.start + position as usize)
                }));
            }
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&lists.elements)?.into_column())
}

/// A list cut to a length, or filled up to it with a value or null.
fn list_resize(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let lengths = whole_at(&columns[1])?;
    let filling = columns
        .get(2)
        .map(|column| cast_to(column, lists.elements.dtype()))
        .transpose()?;
    let own = lists.elements.clone().into_column();
    let parts: Vec<Column> = std::iter::once(own)
        .chain(filling.map(Series::into_column))
        .collect();
    let (elements, starts) = stack_columns(&parts, lists.elements.dtype())?;
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let Some((range, length)) = lists
            .row(broadcast_row(lists.len(), row))
            .zip(lengths.get(broadcast_row(lengths.len(), row)))
        else {
            builder.push_null();
            continue;
        };
        if !(0..=LENGTH_MAX).contains(&length) {
            return Err(refusal(format!(
                "a list has 0 to {LENGTH_MAX} elements, not {length}"
            )));
        }
        let filling = starts
            .get(1)
            .map(|start| start + broadcast_row(parts[1].len(), row));
        builder.push((0..length as usize).map(|at| {
            if at < range.len() {
                Some(range.start + at)
            } else {
                filling
            }
        }));
    }
    Ok(builder.finish(&elements)?.into_column())
}

/// Elements of a list in an order: `ASC` or `DESC`, nulls first or last.
fn list_sorted(columns: &[Column]) -> PolarsResult<Column> {
    let descending = match read_first_word(&columns[1])?.as_str() {
        "ASC" | "" | "DEFAULT" => false,
        "DESC" => true,
        _ => return Err(refusal("an order of a list is 'ASC' or 'DESC'")),
    };
    let nulls_first = match read_first_word(&columns[2])?.as_str() {
        "NULLS FIRST" => true,
        "NULLS LAST" | "" | "DEFAULT" => false,
        _ => return Err(refusal("nulls of a list are 'NULLS FIRST' or 'NULLS LAST'")),
    };
    let lists = ListRanges::from_column(&columns[0])?;
    let keys = order_keys(
        &lists.elements.clone().into_column(),
        lists.elements.dtype(),
    )?;
    of_places(columns, |range| {
        let mut places: Vec<usize> = range.collect();
        places.sort_by(|one, other| {
            let (one, other) = (keys.get(*one), keys.get(*other));
            let nulls = one.is_none().cmp(&other.is_none());
            let nulls = if nulls_first { nulls.reverse() } else { nulls };
            nulls.then_with(|| {
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

/// The text of the first row in capitals.
fn read_first_word(column: &Column) -> PolarsResult<String> {
    let texts = cast_to(column, &DataType::String)?;
    Ok(texts
        .str()?
        .get(0)
        .unwrap_or_default()
        .trim()
        .to_uppercase())
}

/// The positions of the elements in their order, from 1.
fn list_grade_up(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let keys = order_keys(
        &lists.elements.clone().into_column(),
        lists.elements.dtype(),
    )?;
    let (mut numbers, mut builder) = (Vec::new(), ListsBuilder::default());
    for row in 0..lists.len() {
        let Some(range) = lists.row(row) else {
            builder.push_null();
            continue;
        };
        let (start, first) = (numbers.len(), range.start);
        let mut places: Vec<usize> = range.collect();
        places.sort_by(|one, other| {
            let (one, other) = (keys.get(*one), keys.get(*other));
            one.is_none()
                .cmp(&other.is_none())
                .then_with(|| one.cmp(&other))
        });
        numbers.extend(places.iter().map(|place| (place - first) as i64 + 1));
        builder.push((start..numbers.len()).map(Some));
    }
    Ok(builder
        .finish(&Series::new(PlSmallStr::EMPTY, numbers))?
        .into_column())
}

/// Lists of some of the elements of each list.
fn of_places(
    columns: &[Column],
    choose: impl Fn(std::ops::Range<usize>) -> Vec<usize>,
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

/// One element of each list.
fn of_one_place(
    columns: &[Column],
    choose: fn(&std::ops::Range<usize>, &BooleanChunked) -> Option<usize>,
) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let known = lists.elements.is_not_null();
    let places = (0..lists.len()).map(|row| choose(&lists.row(row)?, &known));
    Ok(crate::query::nested_values::take_places(&lists.elements, places)?.into_column())
}

/// The most frequent element, the first of several.
fn list_mode(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let keys = order_keys(
        &lists.elements.clone().into_column(),
        lists.elements.dtype(),
    )?;
    let mode = |row: usize| find_mode(lists.row(row)?, &keys);
    Ok(take_places(&lists.elements, (0..lists.len()).map(mode))?.into_column())
}

/// The place of the most frequent key that is not null, the first of several.
fn find_mode(range: Range<usize>, keys: &BinaryChunked) -> Option<usize> {
    let known: Vec<(usize, &[u8])> = range
        .filter_map(|place| Some((place, keys.get(place)?)))
        .collect();
    let count = |wanted: &[u8]| known.iter().filter(|(_, key)| *key == wanted).count();
    known
        .iter()
        .rev()
        .max_by_key(|(_, key)| count(key))
        .and_then(|(_, best)| known.iter().find(|(_, key)| key == best))
        .map(|(place, _)| *place)
}

/// The result of the numbers of each list that are not null.
fn of_numbers(columns: &[Column], of: fn(&[f64]) -> Option<f64>) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let numbers = lists.elements.cast(&DataType::Float64)?;
    let numbers = numbers.f64()?;
    let known = |range: Range<usize>| -> Vec<f64> {
        range.filter_map(|place| numbers.get(place)).collect()
    };
    let result = |row: usize| of(&known(lists.row(row)?));
    Ok(doubles_column((0..lists.len()).map(result).collect()))
}

fn of_truths(columns: &[Column], of: fn(&[bool]) -> bool) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let truths = lists.elements.cast(&DataType::Boolean)?;
    let truths = truths.bool()?;
    let known = |range: Range<usize>| -> Vec<bool> {
        range.filter_map(|place| truths.get(place)).collect()
    };
    let result = |row: usize| reduce_unless_empty(&known(lists.row(row)?), of);
    Ok(truths_column((0..lists.len()).map(result).collect()))
}

fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0),
    }
}

/// Variance with `lost` degrees of freedom less than there are numbers.
fn variance(numbers: &[f64], lost: usize) -> Option<f64> {
    let count = numbers.len().checked_sub(lost).filter(|count| *count > 0)?;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    Some(
        numbers
            .iter()
            .map(|number| (number - mean).powi(2))
            .sum::<f64>()
            / count as f64,
    )
}

/// Texts of the elements that are not null, with commas between them.
fn list_string_agg(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let texts = cast_to(&lists.elements.clone().into_column(), &DataType::String)?;
    let texts = texts.str()?;
    let known =
        |range: Range<usize>| -> Vec<&str> { range.filter_map(|place| texts.get(place)).collect() };
    let joined = |row: usize| reduce_unless_empty(&known(lists.row(row)?), |known| known.join(","));
    Ok(texts_column((0..lists.len()).map(joined).collect()))
}

/// What `of` makes of the values; `None` of no values.
fn reduce_unless_empty<T, R>(values: &[T], of: impl FnOnce(&[T]) -> R) -> Option<R> {
    (!values.is_empty()).then(|| of(values))
}

/// The result of the numbers of two lists of the same length, in pairs.
fn of_vectors(columns: &[Column], of: fn(&[(f64, f64)]) -> Option<f64>) -> PolarsResult<Column> {
    let (one, other) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    common_type(&[one.elements.dtype().clone(), other.elements.dtype().clone()])?;
    let numbers = |lists: &ListRanges| -> PolarsResult<Float64Chunked> {
        Ok(lists.elements.cast(&DataType::Float64)?.f64()?.clone())
    };
    let (left, right) = (numbers(&one)?, numbers(&other)?);
    let mut results = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        results.push(match one.row(row).zip(other.row(row)) {
            Some((range, with)) => of(&pair_elements((range, &left), (with, &right))?),
            None => None,
        });
    }
    Ok(doubles_column(results))
}

/// The elements of two lists in pairs.
fn pair_elements(
    (range, left): (Range<usize>, &Float64Chunked),
    (with, right): (Range<usize>, &Float64Chunked),
) -> PolarsResult<Vec<(f64, f64)>> {
    if range.len() != with.len() {
        return Err(refusal(format!(
            "two lists of {} and {} elements are not of one length",
            range.len(),
            with.len()
        )));
    }
    let pairs: Option<Vec<(f64, f64)>> = range
        .zip(with)
        .map(|(a, b)| Some((left.get(a)?, right.get(b)?)))
        .collect();
    pairs.ok_or_else(|| refusal("a vector has no null"))
}

fn cosine(pairs: &[(f64, f64)]) -> f64 {
    let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let similarity =
        sum(|(a, b)| a * b) / (sum(|(a, _)| a * a).sqrt() * sum(|(_, b)| b * b).sqrt());
    similarity.clamp(-1.0, 1.0)
}
