//! Structs that a statement writes out: `{'a': 1}`, `struct_pack(a := 1)`, `row(1, 2)`.

use std::collections::HashSet;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::engine_errors::refusal;
use super::list_functions::elementwise;
use super::nested_values::{broadcast_column, row_count};
use super::type_names::{number_of_unnamed_field, type_name, unnamed_field};
use crate::text::PrintableLine;

/// The names that the engine needs for the fields of `row(…)`, which have no names in DuckDB.
pub(super) fn unnamed_field_names(count: usize) -> Vec<String> {
    (1..=count).map(unnamed_field).collect()
}

/// True when the fields of a struct have the names that [`unnamed_field_names`] gives.
pub(super) fn are_unnamed(fields: &[Series]) -> bool {
    !fields.is_empty()
        && fields
            .iter()
            .all(|field| number_of_unnamed_field(field.name()).is_some())
}

/// A function that takes a field of structs by its number, from 1.
pub(super) fn numbered_field(called: &str, number: usize) -> UserDefinedFunction {
    elementwise(
        called,
        move |dtypes| type_of_numbered_field(dtypes, number),
        move |columns| take_numbered_field(columns, number),
    )
}

fn type_of_numbered_field(dtypes: &[DataType], number: usize) -> PolarsResult<DataType> {
    let fields = match dtypes.first() {
        Some(DataType::Struct(fields)) => fields,
        Some(DataType::Null) => return Ok(DataType::Null),
        other => {
            let dtype = type_name(other.unwrap_or(&DataType::Null));
            return Err(refusal(format!(
                "a struct is needed, not a value of the type {dtype}"
            )));
        }
    };
    let field = number.checked_sub(1).and_then(|at| fields.get(at));
    field.map(|field| field.dtype().clone()).ok_or_else(|| {
        let count = fields.len();
        refusal(format!(
            "the struct has {count} fields, and no field {number}"
        ))
    })
}

fn take_numbered_field(columns: &[Column], number: usize) -> PolarsResult<Column> {
    let structs = &columns[0];
    if structs.dtype().is_null() {
        return Ok(structs.clone());
    }
    let fields = structs.struct_()?.fields_as_series();
    let Some(field) = number.checked_sub(1).and_then(|at| fields.get(at)) else {
        return Err(refusal("the struct has fewer fields"));
    };
    let nulls = Series::full_null(PlSmallStr::EMPTY, field.len(), field.dtype());
    let values = field.zip_with(&structs.is_not_null(), &nulls)?;
    Ok(values.into_column())
}

/// A name that two of the fields have; upper and lower case are not distinguished.
pub(super) fn repeated_name(names: &[String]) -> Option<&String> {
    let mut known = HashSet::new();
    names.iter().find(|name| !known.insert(name.to_lowercase()))
}

/// A function that makes structs of its arguments, with these names of fields.
pub(super) fn struct_value(called: &str, names: Vec<String>) -> UserDefinedFunction {
    let fields = names.clone();
    elementwise(
        called,
        move |dtypes| {
            let fields = list_typed_fields(&fields, dtypes);
            Ok(DataType::Struct(fields.collect::<PolarsResult<_>>()?))
        },
        move |columns| build_structs(&names, columns),
    )
}

/// Fields with these names and types; numbers written in the statement get their default type.
fn list_typed_fields(
    names: &[String],
    dtypes: &[DataType],
) -> impl Iterator<Item = PolarsResult<Field>> {
    names.iter().zip(dtypes).map(|(name, dtype)| {
        Ok(Field::new(
            name.as_str().into(),
            dtype.clone().materialize_unknown(false)?,
        ))
    })
}

/// The values of a field: a column of one row is repeated for all rows.
fn repeat_field_values(name: &str, column: &Column, rows: usize) -> Series {
    broadcast_column(column, rows)
        .with_name(name.into())
        .as_materialized_series()
        .clone()
}

fn build_structs(names: &[String], columns: &[Column]) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let fields: Vec<Series> = names
        .iter()
        .zip(columns)
        .map(|(name, column)| repeat_field_values(name, column, rows))
        .collect();
    if fields.len() != names.len() {
        return Err(refusal("a struct has as many values as names"));
    }
    Ok(StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?.into_column())
}

/// A function that adds fields with these names to structs, its first argument.
pub(super) fn longer_struct(called: &str, names: Vec<String>) -> UserDefinedFunction {
    let more = names.clone();
    elementwise(
        called,
        move |dtypes| find_longer_type(&more, dtypes),
        move |columns| add_fields(&names, columns),
    )
}

/// The type of structs with more fields: the first of `dtypes`, then those of the added fields.
fn find_longer_type(names: &[String], dtypes: &[DataType]) -> PolarsResult<DataType> {
    let Some((DataType::Struct(fields), rest)) = dtypes.split_first() else {
        return Err(refusal(
            "struct_insert takes a struct, and fields such as b := 1",
        ));
    };
    let fields: Vec<Field> = fields
        .iter()
        .cloned()
        .map(Ok)
        .chain(list_typed_fields(names, rest))
        .collect::<PolarsResult<_>>()?;
    let all: Vec<String> = fields
        .iter()
        .map(|field| field.name().to_string())
        .collect();
    match repeated_name(&all) {
        Some(name) => Err(refusal(format!(
            "the struct has a field {} already",
            name.printable_line()
        ))),
        None => Ok(DataType::Struct(fields)),
    }
}

/// Adds the other `columns` to structs, the first one, as fields.
fn add_fields(names: &[String], columns: &[Column]) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let structs = broadcast_column(&columns[0], rows);
    let mut fields = structs.struct_()?.fields_as_series();
    let added = names.iter().zip(&columns[1..]);
    fields.extend(added.map(|(name, column)| repeat_field_values(name, column, rows)));
    build_with_nulls_of(&structs, &fields)
}

/// A function that replaces the fields with these names in structs, its first argument, by its
/// other arguments, and adds those that the structs lack.
pub(super) fn updated_struct(called: &str, names: Vec<String>) -> UserDefinedFunction {
    let updated = names.clone();
    elementwise(
        called,
        move |dtypes| find_updated_type(&updated, dtypes),
        move |columns| update_fields(&names, columns),
    )
}

/// The type of structs, the first of `dtypes`, when the fields with these names are replaced by or
/// added from the others.
fn find_updated_type(names: &[String], dtypes: &[DataType]) -> PolarsResult<DataType> {
    let Some((DataType::Struct(fields), rest)) = dtypes.split_first() else {
        return Err(refusal(
            "struct_update takes a struct, and fields such as b := 1",
        ));
    };
    let mut fields = fields.clone();
    for field in list_typed_fields(names, rest) {
        let field = field?;
        match fields
            .iter_mut()
            .find(|known| has_name(known, field.name()))
        {
            Some(known) => known.dtype = field.dtype,
            None => fields.push(field),
        }
    }
    Ok(DataType::Struct(fields))
}

/// True for a field with this name; upper and lower case of ASCII are not distinguished.
fn has_name(field: &Field, name: &str) -> bool {
    field.name().eq_ignore_ascii_case(name)
}

fn update_fields(names: &[String], columns: &[Column]) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let structs = broadcast_column(&columns[0], rows);
    let mut fields = structs.struct_()?.fields_as_series();
    for (name, column) in names.iter().zip(&columns[1..]) {
        match fields
            .iter_mut()
            .find(|known| known.name().eq_ignore_ascii_case(name))
        {
            Some(known) => *known = repeat_field_values(known.name().as_str(), column, rows),
            None => fields.push(repeat_field_values(name, column, rows)),
        }
    }
    build_with_nulls_of(&structs, &fields)
}

/// The type of `struct_concat`: the fields of several structs.
pub(super) fn find_joined_type(dtypes: &[DataType]) -> PolarsResult<DataType> {
    let mut fields = Vec::new();
    for dtype in dtypes {
        match dtype {
            DataType::Struct(own) => fields.extend(own.iter().cloned()),
            _ => return Err(refusal("struct_concat takes structs")),
        }
    }
    let names: Vec<String> = fields
        .iter()
        .map(|field: &Field| field.name().to_string())
        .collect();
    match repeated_name(&names) {
        Some(name) => Err(refusal(format!(
            "two of the structs have the field {}",
            name.printable_line()
        ))),
        None => Ok(DataType::Struct(fields)),
    }
}

/// The fields of several structs in one.
pub(super) fn join_structs(columns: &[Column]) -> PolarsResult<Column> {
    let rows = row_count(columns);
    let mut fields = Vec::new();
    for column in columns {
        fields.extend(broadcast_column(column, rows).struct_()?.fields_as_series());
    }
    let made = StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?;
    Ok(made.into_column())
}

/// Structs of these fields, null where `structs` are null.
fn build_with_nulls_of(structs: &Column, fields: &[Series]) -> PolarsResult<Column> {
    let rows = structs.len();
    let made = StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?.into_series();
    let nulls = Series::full_null(PlSmallStr::EMPTY, rows, made.dtype());
    Ok(made.zip_with(&structs.is_not_null(), &nulls)?.into_column())
}
