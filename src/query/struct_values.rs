//! Structs that a statement writes out: `{'a': 1}`, `struct_pack(a := 1)`, `row(1, 2)`.

use std::collections::HashSet;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::engine::refusal;
use super::list_functions::elementwise;
use super::nested_values::row_count;
use crate::text::PrintableLine;

/// Names of the fields of `row(…)`, which has none: numbers, as the engine does not take empty
/// names.
pub(super) fn unnamed_field_names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("v{number}")).collect()
}

/// A name that two fields have, in any case.
pub(super) fn repeated_name(names: &[String]) -> Option<&String> {
    let mut known = HashSet::new();
    names.iter().find(|name| !known.insert(name.to_lowercase()))
}

/// A function that makes structs of its arguments, with these names of fields.
pub(super) fn struct_value(called: &str, names: Vec<String>) -> UserDefinedFunction {
    let fields = names.clone();
    let dtype = move |dtypes: &[DataType]| {
        let fields = fields.iter().zip(dtypes).map(|(name, dtype)| {
            Ok(Field::new(
                name.as_str().into(),
                dtype.clone().materialize_unknown(false)?,
            ))
        });
        Ok(DataType::Struct(fields.collect::<PolarsResult<_>>()?))
    };
    let values = move |columns: &[Column]| {
        let rows = row_count(columns);
        let field = |(name, column): (&String, &Column)| {
            let column = if column.len() == rows {
                column.clone()
            } else {
                column.new_from_index(0, rows)
            };
            column
                .with_name(name.as_str().into())
                .as_materialized_series()
                .clone()
        };
        let fields: Vec<Series> = names.iter().zip(columns).map(field).collect();
        if fields.len() != names.len() {
            return Err(refusal("a struct has as many values as names"));
        }
        Ok(StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?.into_column())
    };
    elementwise(called, dtype, values)
}

/// A function that adds fields with these names to structs, its first argument.
pub(super) fn longer_struct(called: &str, names: Vec<String>) -> UserDefinedFunction {
    let more = names.clone();
    let dtype = move |dtypes: &[DataType]| {
        let Some((DataType::Struct(fields), rest)) = dtypes.split_first() else {
            return Err(refusal(
                "struct_insert takes a struct, and fields such as b := 1",
            ));
        };
        let added = more.iter().zip(rest).map(|(name, dtype)| {
            Ok(Field::new(
                name.as_str().into(),
                dtype.clone().materialize_unknown(false)?,
            ))
        });
        let fields: Vec<Field> = fields
            .iter()
            .cloned()
            .map(Ok)
            .chain(added)
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
    };
    let values = move |columns: &[Column]| {
        let rows = row_count(columns);
        let whole = |column: &Column| {
            if column.len() == rows {
                column.clone()
            } else {
                column.new_from_index(0, rows)
            }
        };
        let structs = whole(&columns[0]);
        let mut fields = structs.struct_()?.fields_as_series();
        let added = names.iter().zip(&columns[1..]).map(|(name, column)| {
            whole(column)
                .with_name(name.as_str().into())
                .as_materialized_series()
                .clone()
        });
        fields.extend(added);
        let made =
            StructChunked::from_series(PlSmallStr::EMPTY, rows, fields.iter())?.into_series();
        let nulls = Series::full_null(PlSmallStr::EMPTY, rows, made.dtype());
        Ok(made.zip_with(&structs.is_not_null(), &nulls)?.into_column())
    };
    elementwise(called, dtype, values)
}
