//! Functions of maps, which the engine has as lists of structs of a key and a value.

use std::collections::HashSet;
use std::ops::Range;

use polars::prelude::*;

use super::{ScalarFunction, scalar, truth, truths_column, whole, wholes_column};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{
    ListRanges, ListsBuilder, broadcast_row, common_type, comparable_type, order_keys, row_count,
    stack_columns, take_places,
};
use crate::query::type_names::{MADE_FIELDS, type_name};

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("map_value", (2, 2), map_type, map_value),
    scalar("map_from_entries", (1, 1), entries_type, map_from_entries),
    scalar(
        "map_keys",
        (1, 1),
        |dtypes| member_type(dtypes, 0),
        |columns| members(columns, 0),
    ),
    scalar(
        "map_values",
        (1, 1),
        |dtypes| member_type(dtypes, 1),
        |columns| members(columns, 1),
    ),
    scalar("cardinality", (1, 1), whole, |columns| {
        let lists = ListRanges::from_column(&columns[0])?;
        Ok(wholes_column(
            (0..lists.len())
                .map(|row| lists.row(row).map(|range| range.len() as i64))
                .collect(),
        ))
    }),
    scalar("map_concat", (2, MAPS_MAX), concat_type, map_concat),
    scalar("map_entries", (1, 1), pairs_type, map_entries),
    scalar("map_contains", (2, 2), truth, |columns| {
        Ok(truths_column(
            places(columns)?
                .into_iter()
                .map(|found| found.map(|place| place.is_some()))
                .collect(),
        ))
    }),
    scalar("map_extract_value", (2, 2), value_type, map_extract_value),
    scalar(
        "map_extract",
        (2, 2),
        |dtypes| member_type(dtypes, 1),
        map_extract,
    ),
    scalar(
        "element_at",
        (2, 2),
        |dtypes| member_type(dtypes, 1),
        map_extract,
    ),
];

fn item_of(dtype: Option<&DataType>) -> PolarsResult<DataType> {
    match dtype {
        Some(DataType::List(item)) => Ok(*item.clone()),
        Some(other) => Err(refusal(format!(
            "a list is needed, not a value of the type {}",
            type_name(other)
        ))),
        None => Ok(DataType::Null),
    }
}

pub(in crate::query) fn map_of(key: DataType, value: DataType) -> DataType {
    let [key_name, value_name] = MADE_FIELDS;
    let fields = vec![
        Field::new(key_name.into(), key),
        Field::new(value_name.into(), value),
    ];
    DataType::List(Box::new(DataType::Struct(fields)))
}

fn map_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    Ok(map_of(item_of(dtypes.first())?, item_of(dtypes.get(1))?))
}

fn entries_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match item_of(dtypes.first())? {
        DataType::Struct(fields) if fields.len() == 2 => {
            Ok(map_of(fields[0].dtype().clone(), fields[1].dtype().clone()))
        }
        other => Err(refusal(format!(
            "a map is made of pairs, not of values of the type {}",
            type_name(&other)
        ))),
    }
}

/// The type of the entries of a map as a list of structs.
fn pairs_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match item_of(dtypes.first())? {
        DataType::Struct(fields) if fields.len() == 2 => {
            let fields = ["key", "value"]
                .into_iter()
                .zip(&fields)
                .map(|(name, field)| Field::new(name.into(), field.dtype().clone()));
            Ok(DataType::List(Box::new(DataType::Struct(fields.collect()))))
        }
        other => Err(refusal(format!(
            "a map is needed, not a list of values of the type {}",
            type_name(&other)
        ))),
    }
}

/// The type of the list of keys, or of values.
fn member_type(dtypes: &[DataType], at: usize) -> PolarsResult<DataType> {
    match item_of(dtypes.first())? {
        DataType::Struct(fields) if fields.len() == 2 => {
            Ok(DataType::List(Box::new(fields[at].dtype().clone())))
        }
        other => Err(refusal(format!(
            "a map is needed, not a list of values of the type {}",
            type_name(&other)
        ))),
    }
}

fn value_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    item_of(Some(&member_type(dtypes, 1)?))
}

/// Maps of keys to values, both lists of the same length.
fn map_value(columns: &[Column]) -> PolarsResult<Column> {
    let (keys, values) = (
        ListRanges::from_column(&columns[0])?,
        ListRanges::from_column(&columns[1])?,
    );
    let (mut of_keys, mut of_values, mut builder) =
        (Vec::new(), Vec::new(), ListsBuilder::default());
    for row in 0..row_count(columns) {
        let Some((own, other)) = keys
            .row(broadcast_row(keys.len(), row))
            .zip(values.row(broadcast_row(values.len(), row)))
        else {
            builder.push_null();
            continue;
        };
        if own.len() != other.len() {
            return Err(refusal(format!(
                "a map has as many values as keys, not {} and {}",
                other.len(),
                own.len()
            )));
        }
        let start = of_keys.len();
        of_keys.extend(own.map(Some));
        of_values.extend(other.map(Some));
        builder.push((start..of_keys.len()).map(Some));
    }
    let pairs = pairs_of(
        &take_places(&keys.elements, of_keys)?,
        &take_places(&values.elements, of_values)?,
    )?;
    check_map_keys(builder.finish(&pairs)?)
}

fn pairs_of(keys: &Series, values: &Series) -> PolarsResult<Series> {
    let [key_name, value_name] = MADE_FIELDS;
    let fields = [
        keys.clone().with_name(key_name.into()),
        values.clone().with_name(value_name.into()),
    ];
    Ok(StructChunked::from_series(PlSmallStr::EMPTY, keys.len(), fields.iter())?.into_series())
}

fn map_from_entries(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let [keys, values] = members_of(&lists)?;
    let pairs = pairs_of(&keys, &values)?;
    let mut builder = ListsBuilder::default();
    for row in 0..lists.len() {
        match lists.row(row) {
            Some(range) => builder.push(range.map(Some)),
            None => builder.push_null(),
        }
    }
    check_map_keys(builder.finish(&pairs)?)
}

/// Most maps of one call.
const MAPS_MAX: usize = 1000;

/// The type of maps that are put together.
fn concat_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    let maps = dtypes.iter().filter(|dtype| !dtype.is_null());
    common_type(&maps.cloned().collect::<Vec<_>>())
}

/// The entries of several maps as one, each key with the value of the last map that has it; of
/// nulls alone null.
fn map_concat(columns: &[Column]) -> PolarsResult<Column> {
    let dtypes: Vec<DataType> = columns.iter().map(|c| c.dtype().clone()).collect();
    let dtype = concat_type(&dtypes)?;
    if dtype.is_null() {
        return Ok(Column::full_null(
            PlSmallStr::EMPTY,
            row_count(columns),
            &dtype,
        ));
    }
    let (all, starts) = stack_columns(columns, &dtype)?;
    let lists = ListRanges::from_column(&all.into_column())?;
    let [keys, values] = members_of(&lists)?;
    let key_orders = order_keys(&keys.clone().into_column(), keys.dtype())?;
    let (mut of_keys, mut of_values) = (Vec::new(), Vec::new());
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let maps = columns.iter().zip(&starts);
        let maps = maps.map(|(map, start)| lists.row(start + broadcast_row(map.len(), row)));
        let maps: Vec<Range<usize>> = maps.flatten().collect();
        if maps.is_empty() {
            builder.push_null();
            continue;
        }
        let start = of_keys.len();
        for place in maps.into_iter().flatten() {
            let key = key_orders.get(place);
            let is_same = |known: &Option<usize>| known.and_then(|at| key_orders.get(at)) == key;
            match of_keys[start..].iter().position(is_same) {
                Some(at) => of_values[start + at] = Some(place),
                None => {
                    of_keys.push(Some(place));
                    of_values.push(Some(place));
                }
            }
        }
        builder.push((start..of_keys.len()).map(Some));
    }
    let pairs = pairs_of(
        &take_places(&keys, of_keys)?,
        &take_places(&values, of_values)?,
    )?;
    Ok(builder.finish(&pairs)?.into_column())
}

/// The entries of a map as a list of structs.
fn map_entries(columns: &[Column]) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let [keys, values] = members_of(&lists)?;
    let fields = [
        keys.with_name("key".into()),
        values.with_name("value".into()),
    ];
    let pairs = StructChunked::from_series(PlSmallStr::EMPTY, fields[0].len(), fields.iter())?
        .into_series();
    let mut builder = ListsBuilder::default();
    for row in 0..lists.len() {
        match lists.row(row) {
            Some(range) => builder.push(range.map(Some)),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(&pairs)?.into_column())
}

/// The maps, whose keys are not null and each there once.
fn check_map_keys(maps: Series) -> PolarsResult<Column> {
    let column = maps.into_column();
    let lists = ListRanges::from_column(&column)?;
    let [keys, _] = members_of(&lists)?;
    let keys = order_keys(&keys.clone().into_column(), keys.dtype())?;
    for row in 0..lists.len() {
        let mut known = HashSet::new();
        for place in lists.row(row).unwrap_or_default() {
            let key = keys
                .get(place)
                .ok_or_else(|| refusal("a key of a map is not null"))?;
            if !known.insert(key) {
                return Err(refusal("a map has each key once"));
            }
        }
    }
    Ok(column)
}

/// Keys and values of the entries.
fn members_of(lists: &ListRanges) -> PolarsResult<[Series; 2]> {
    match lists.elements.struct_()?.fields_as_series().as_slice() {
        [keys, values] => Ok([keys.clone(), values.clone()]),
        _ => Err(refusal("a map has keys and values")),
    }
}

fn members(columns: &[Column], at: usize) -> PolarsResult<Column> {
    let lists = ListRanges::from_column(&columns[0])?;
    let members = &members_of(&lists)?[at];
    let mut builder = ListsBuilder::default();
    for row in 0..lists.len() {
        match lists.row(row) {
            Some(range) => builder.push(range.map(Some)),
            None => builder.push_null(),
        }
    }
    Ok(builder.finish(members)?.into_column())
}

/// The place of the entry with a key in each row, and whether there is one; `None` where the map is
/// null.
fn places(columns: &[Column]) -> PolarsResult<Vec<Option<Option<usize>>>> {
    let lists = ListRanges::from_column(&columns[0])?;
    let [keys, _] = members_of(&lists)?;
    let dtype = comparable_type(keys.dtype(), columns[1].dtype())?;
    let keys = order_keys(&keys.into_column(), &dtype)?;
    let wanted = order_keys(&columns[1], &dtype)?;
    let wanted = |row: usize| wanted.get(broadcast_row(wanted.len(), row));
    let place = |row: usize| Some(find_entry(lists.row(row)?, &keys, wanted(row)));
    Ok((0..row_count(columns)).map(place).collect())
}

fn find_entry(mut range: Range<usize>, keys: &BinaryChunked, key: Option<&[u8]>) -> Option<usize> {
    let key = key?;
    range.find(|place| keys.get(*place) == Some(key))
}

/// The value of a key; null when the map has none.
fn map_extract_value(columns: &[Column]) -> PolarsResult<Column> {
    let [_, values] = members_of(&ListRanges::from_column(&columns[0])?)?;
    Ok(take_places(&values, places(columns)?.into_iter().map(Option::flatten))?.into_column())
}

/// A list of the value of a key, empty when the map has none.
fn map_extract(columns: &[Column]) -> PolarsResult<Column> {
    let [_, values] = members_of(&ListRanges::from_column(&columns[0])?)?;
    let mut builder = ListsBuilder::default();
    for place in places(columns)? {
        builder.push(place.flatten().into_iter().map(Some));
    }
    Ok(builder.finish(&values)?.into_column())
}
