//! Functions of JSON in texts. Results that are JSON are texts.

use polars::prelude::*;
use serde::Serialize as _;
use serde_json::Value as Json;

use super::json_paths::{all_at_path, at_path};
use super::json_rows::{list_nodes, type_of_node_list};
use super::json_shapes::{contains_json, describe_structure, merge_patch, parse_json, type_of};
use super::{
    ScalarFunction, list_of_texts, of_texts, scalar, text, text_lists_column, texts_column, truth,
    truths_column, whole, wholes_column,
};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{ListRanges, ListsBuilder, broadcast_row, cast_to, row_count};
use crate::query::type_names::{MADE_FIELDS, number_of_unnamed_field};
use crate::query::value_texts;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("json_extract", (2, 2), text_of_paths, extract_json),
    scalar("json_extract_path", (2, 2), text_of_paths, extract_json),
    scalar("json_extract_string", (2, 2), text_of_paths, extract_text),
    scalar(
        "json_extract_path_text",
        (2, 2),
        text_of_paths,
        extract_text,
    ),
    scalar("json_extract_each", (2, 2), list_of_texts, |columns| {
        of_each_match(columns, |found| Some(found.to_string()))
    }),
    scalar(
        "json_extract_string_each",
        (2, 2),
        list_of_texts,
        |columns| of_each_match(columns, plain_text),
    ),
    scalar("json", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[json]| {
            Ok(Some(parse_json(json)?.to_string()))
        })?))
    }),
    scalar("json_pretty", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[json]| {
            print_indented(&parse_json(json)?).map(Some)
        })?))
    }),
    scalar("json_structure", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[json]| {
            Ok(Some(describe_structure(&parse_json(json)?)))
        })?))
    }),
    scalar("json_contains", (2, 2), truth, |columns| {
        Ok(truths_column(of_texts(columns, |[json, part]| {
            Ok(Some(contains_json(&parse_json(json)?, &parse_json(part)?)))
        })?))
    }),
    scalar("json_merge_patch", (2, ARGUMENTS_MAX), text, merge_patches),
    scalar("json_each_rows", (1, 2), type_of_node_list, |columns| {
        list_nodes(columns, false)
    }),
    scalar("json_tree_rows", (1, 2), type_of_node_list, |columns| {
        list_nodes(columns, true)
    }),
    scalar("json_value", (2, 2), text_of_paths, |columns| {
        of_paths(columns, |found| {
            (!found.is_array() && !found.is_object()).then(|| found.to_string())
        })
    }),
    scalar("json_exists", (2, 2), truth, |columns| {
        Ok(truths_column(of_texts(columns, |[json, path]| {
            Ok(Some(at_path(&parse_json(json)?, path)?.is_some()))
        })?))
    }),
    scalar("json_valid", (1, 1), truth, |columns| {
        Ok(truths_column(of_texts(columns, |[json]| {
            Ok(Some(serde_json::from_str::<Json>(json).is_ok()))
        })?))
    }),
    scalar("json_array_length", (1, 2), whole, |columns| {
        let length = |json: &Json| json.as_array().map_or(0, |items| items.len() as i64);
        Ok(wholes_column(at_optional_path(columns, |found| {
            Some(length(found))
        })?))
    }),
    scalar("json_type", (1, 2), text, |columns| {
        Ok(texts_column(at_optional_path(columns, |found| {
            Some(type_of(found).to_owned())
        })?))
    }),
    scalar("to_json", (1, 1), text, |columns| print_values(&columns[0])),
    scalar("json_of_value", (1, 1), text, |columns| {
        cast_to_json(&columns[0], false)
    }),
    scalar("try_json_of_value", (1, 1), text, |columns| {
        cast_to_json(&columns[0], true)
    }),
    scalar("json_within", (1, 1), type_of_json_within, wrap_json),
    scalar("json_array", (0, ARGUMENTS_MAX), text, json_array),
    scalar("json_object", (0, ARGUMENTS_MAX), text, json_object),
    scalar("json_keys", (1, 2), list_of_texts, |columns| {
        text_lists_column(at_optional_path(columns, |found| Some(list_keys(found)))?)
    }),
];

/// Most arguments of a function that takes any number.
const ARGUMENTS_MAX: usize = 1000;

/// Name of the only field of structs that are JSON within another value.
const JSON_FIELD: &str = "__json";

fn type_of_json_within(_: &[DataType]) -> PolarsResult<DataType> {
    let field = Field::new(JSON_FIELD.into(), DataType::String);
    Ok(DataType::Struct(vec![field]))
}

/// JSON as it stays within another value, without spaces.
fn wrap_json(columns: &[Column]) -> PolarsResult<Column> {
    let texts = of_texts(columns, |[json]| Ok(Some(parse_json(json)?.to_string())))?;
    let field = texts_column(texts).with_name(JSON_FIELD.into());
    let field = field.as_materialized_series();
    let fields = std::iter::once(field);
    Ok(StructChunked::from_series(PlSmallStr::EMPTY, field.len(), fields)?.into_column())
}

/// Values as JSON; null for null.
fn print_values(values: &Column) -> PolarsResult<Column> {
    let texts = texts_of(values)?;
    let known = values.is_not_null();
    Ok(texts_column(
        texts
            .into_iter()
            .zip(known.iter())
            .map(|(text, known)| (known == Some(true)).then_some(text))
            .collect(),
    ))
}

/// Values cast to JSON: texts are JSON already, and stay as they are.
fn cast_to_json(values: &Column, is_try: bool) -> PolarsResult<Column> {
    let is_text = matches!(
        values.dtype(),
        DataType::String | DataType::Categorical(..) | DataType::Enum(..)
    );
    if !is_text {
        return print_values(values);
    }
    let texts = std::slice::from_ref(values);
    Ok(texts_column(of_texts(texts, |[json]| {
        match parse_json(json) {
            Ok(_) => Ok(Some(json.to_owned())),
            Err(_) if is_try => Ok(None),
            Err(error) => Err(error),
        }
    })?))
}

fn json_array(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(texts_of)
        .collect::<PolarsResult<Vec<_>>>()?;
    let array = |row: usize| Some(print_array(&texts, row));
    Ok(texts_column((0..row_count(columns)).map(array).collect()))
}

/// An array of the values of one row.
fn print_array(texts: &[Vec<String>], row: usize) -> String {
    let items: Vec<&str> = texts
        .iter()
        .map(|texts| texts[broadcast_row(texts.len(), row)].as_str())
        .collect();
    format!("[{}]", items.join(","))
}

/// The names of the fields of an object; none for other values.
fn list_keys(json: &Json) -> Vec<String> {
    json.as_object()
        .map(|fields| fields.keys().cloned().collect())
        .unwrap_or_default()
}

/// An object of names and values in turn.
fn json_object(columns: &[Column]) -> PolarsResult<Column> {
    if columns.len() % 2 == 1 {
        return Err(refusal("json_object takes names and values in turn"));
    }
    let texts = columns
        .iter()
        .map(texts_of)
        .collect::<PolarsResult<Vec<_>>>()?;
    let names = columns
        .iter()
        .step_by(2)
        .map(|column| cast_to(column, &DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let names = names
        .iter()
        .map(|names| names.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut objects = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let mut members = Vec::with_capacity(names.len());
        for (names, texts) in names.iter().zip(texts.iter().skip(1).step_by(2)) {
            let name = names
                .get(broadcast_row(names.len(), row))
                .ok_or_else(|| refusal("a name of a JSON object is not null"))?;
            members.push(print_member(name, &texts[broadcast_row(texts.len(), row)]));
        }
        objects.push(Some(print_object(members)));
    }
    Ok(texts_column(objects))
}

/// A member of an object: its name and the JSON of its value.
fn print_member(name: &str, value: &str) -> String {
    format!("{}:{value}", Json::from(name))
}

/// A member of an object that is a field of a struct; those of `row(…)` have an empty name.
fn print_field(field: &Series, value: &str) -> String {
    let is_named = number_of_unnamed_field(field.name()).is_none();
    print_member(if is_named { field.name().as_str() } else { "" }, value)
}

fn print_object(members: impl IntoIterator<Item = String>) -> String {
    let members: Vec<String> = members.into_iter().collect();
    format!("{{{}}}", members.join(","))
}

fn is_json_within(fields: &[Field]) -> bool {
    matches!(fields, [field] if field.name().as_str() == JSON_FIELD)
}

/// The values as JSON; `null` for null. Fractions that are no JSON numbers are texts.
fn texts_of(column: &Column) -> PolarsResult<Vec<String>> {
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
    Ok(match column.dtype() {
        DataType::Null => vec!["null".to_owned(); column.len()],
        DataType::List(item) => {
            let is_map = matches!(
                item.as_ref(),
                DataType::Struct(fields)
                    if fields.iter().map(|field| field.name().as_str()).eq(MADE_FIELDS)
            );
            let lists = ListRanges::from_column(column)?;
            if is_map {
                let members = lists.elements.struct_()?.fields_as_series();
                let names = cast_to(&members[0].clone().into_column(), &DataType::String)?;
                let (names, values) = (names.str()?, texts_of(&members[1].clone().into_column())?);
                let member = |place: usize| {
                    print_member(names.get(place).unwrap_or_default(), &values[place])
                };
                let text = |row: usize| Some(print_object(lists.row(row)?.map(member)));
                (0..lists.len()).map(text).map(or_null).collect()
            } else {
                let elements = texts_of(&lists.elements.clone().into_column())?;
                let text = |row: usize| Some(format!("[{}]", elements[lists.row(row)?].join(",")));
                (0..lists.len()).map(text).map(or_null).collect()
            }
        }
        DataType::Struct(fields) if is_json_within(fields) => {
            let fields = column.struct_()?.fields_as_series();
            let texts = fields[0].str()?.iter();
            texts.map(|text| or_null(text.map(str::to_owned))).collect()
        }
        DataType::Struct(_) => {
            let known = column.is_not_null();
            let fields = column.struct_()?.fields_as_series();
            let texts = fields
                .iter()
                .map(|field| texts_of(&field.clone().into_column()))
                .collect::<PolarsResult<Vec<_>>>()?;
            let member = |at: usize, row: usize| print_field(&fields[at], &texts[at][row]);
            let members = |row: usize| (0..fields.len()).map(move |at| member(at, row));
            let text =
                |row: usize| (known.get(row) == Some(true)).then(|| print_object(members(row)));
            (0..column.len()).map(text).map(or_null).collect()
        }
        DataType::Boolean => column
            .bool()?
            .iter()
            .map(|truth| or_null(truth.map(|truth| truth.to_string())))
            .collect(),
        dtype if dtype.is_integer() => {
            let texts = column.cast(&DataType::String)?;
            texts
                .str()?
                .iter()
                .map(|text| or_null(text.map(str::to_owned)))
                .collect()
        }
        dtype if dtype.is_numeric() => {
            let numbers = column.cast(&DataType::Float64)?;
            numbers
                .f64()?
                .iter()
                .map(|number| or_null(number.map(print_fraction)))
                .collect()
        }
        _ => {
            let texts = value_texts::texts_of(column)?;
            texts
                .into_iter()
                .map(|text| or_null(text.map(|text| Json::from(text).to_string())))
                .collect()
        }
    })
}

/// A JSON number; a text for fractions that are none.
fn print_fraction(number: f64) -> String {
    serde_json::Number::from_f64(number)
        .map_or_else(|| format!("\"{number}\""), |json| json.to_string())
}

/// The text of a JSON string without its quotes, the JSON of other values; `None` for null.
fn plain_text(json: &Json) -> Option<String> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Texts; of a list of paths a list of them.
fn text_of_paths(dtypes: &[DataType]) -> PolarsResult<DataType> {
    match dtypes.get(1) {
        Some(DataType::List(_)) => list_of_texts(dtypes),
        _ => text(dtypes),
    }
}

fn extract_json(columns: &[Column]) -> PolarsResult<Column> {
    of_paths(columns, |found| Some(found.to_string()))
}

fn extract_text(columns: &[Column]) -> PolarsResult<Column> {
    of_paths(columns, plain_text)
}

/// A text of the value at a path, or at each path of a list.
fn of_paths(columns: &[Column], of: fn(&Json) -> Option<String>) -> PolarsResult<Column> {
    if !columns[1].dtype().is_list() {
        return Ok(texts_column(of_texts(columns, |[json, path]| {
            Ok(at_path(&parse_json(json)?, path)?.and_then(of))
        })?));
    }
    let documents = cast_to(&columns[0], &DataType::String)?;
    let documents = documents.str()?;
    let lists = ListRanges::from_column(&columns[1])?;
    let paths = lists.elements.cast(&DataType::String)?;
    let paths = paths.str()?;
    let mut texts: Vec<Option<String>> = Vec::new();
    let mut builder = ListsBuilder::default();
    for row in 0..row_count(columns) {
        let document = documents.get(broadcast_row(documents.len(), row));
        let Some((json, range)) = document.zip(lists.row(broadcast_row(lists.len(), row))) else {
            builder.push_null();
            continue;
        };
        let (json, start) = (parse_json(json)?, texts.len());
        for place in range {
            let found = match paths.get(place) {
                Some(path) => at_path(&json, path)?,
                None => None,
            };
            texts.push(found.and_then(of));
        }
        builder.push((start..texts.len()).map(Some));
    }
    let texts = Series::new(PlSmallStr::EMPTY, texts);
    Ok(builder.finish(&texts)?.into_column())
}

/// The texts of all values at a path with wildcards.
fn of_each_match(columns: &[Column], of: fn(&Json) -> Option<String>) -> PolarsResult<Column> {
    text_lists_column(of_texts(columns, |[json, path]| {
        let json = parse_json(json)?;
        let found = all_at_path(&json, path)?;
        let text = |json: &Json| of(json).unwrap_or_else(|| "null".to_owned());
        Ok(Some(found.into_iter().map(text).collect()))
    })?)
}

fn print_indented(json: &Json) -> PolarsResult<String> {
    let mut text = Vec::new();
    let layout = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, layout);
    json.serialize(&mut writer)
        .map_err(|error| refusal(error.to_string()))?;
    String::from_utf8(text).map_err(|error| refusal(error.to_string()))
}

/// Each document with the next ones merged into it in turn; a null before others is none of them.
fn merge_patches(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(|column| cast_to(column, &DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|texts| texts.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut merged = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let mut document: Option<Json> = None;
        for texts in &texts {
            let patch = texts.get(broadcast_row(texts.len(), row));
            let patch = patch.map(parse_json).transpose()?;
            document = match (document, patch) {
                (Some(document), Some(patch)) => Some(merge_patch(document, patch)),
                (_, patch) => patch,
            };
        }
        merged.push(document.map(|document| document.to_string()));
    }
    Ok(texts_column(merged))
}

fn at_optional_path<R>(
    columns: &[Column],
    of: impl Fn(&Json) -> Option<R>,
) -> PolarsResult<Vec<Option<R>>> {
    match columns {
        [_] => of_texts(columns, |[json]| Ok(of(&parse_json(json)?))),
        _ => of_texts(columns, |[json, path]| {
            Ok(at_path(&parse_json(json)?, path)?.and_then(&of))
        }),
    }
}
