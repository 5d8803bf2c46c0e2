//! Functions of JSON in texts. Results that are JSON are texts.

use polars::prelude::*;
use serde_json::Value as Json;

use super::{
    ScalarFunction, list_of_texts, of_texts, scalar, text, text_lists_column, texts_column, truth, truths_column, whole,
    wholes_column,
};
use crate::query::engine::refusal;
use crate::text::PrintableLine;

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("json_extract", (2, 2), text, |columns| of_path(columns, |found| Some(found.to_string()))),
    scalar("json_extract_path", (2, 2), text, |columns| of_path(columns, |found| Some(found.to_string()))),
    scalar("json_extract_string", (2, 2), text, |columns| of_path(columns, plain_text)),
    scalar("json_extract_path_text", (2, 2), text, |columns| of_path(columns, plain_text)),
    scalar("json_value", (2, 2), text, |columns| {
        of_path(columns, |found| (!found.is_array() && !found.is_object()).then(|| found.to_string()))
    }),
    scalar("json_exists", (2, 2), truth, |columns| {
        Ok(truths_column(of_texts(columns, |[json, path]| Ok(Some(at_path(&parsed(json)?, path)?.is_some())))?))
    }),
    scalar("json_valid", (1, 1), truth, |columns| {
        Ok(truths_column(of_texts(columns, |[json]| Ok(Some(serde_json::from_str::<Json>(json).is_ok())))?))
    }),
    scalar("json_array_length", (1, 2), whole, |columns| {
        let length = |json: &Json| json.as_array().map_or(0, |items| items.len() as i64);
        Ok(wholes_column(at_optional_path(columns, |found| Some(length(found)))?))
    }),
    scalar("json_type", (1, 2), text, |columns| {
        Ok(texts_column(at_optional_path(columns, |found| Some(type_of(found).to_owned()))?))
    }),
    scalar("json_keys", (1, 2), list_of_texts, |columns| {
        let keys = |json: &Json| json.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        text_lists_column(at_optional_path(columns, |found| Some(keys(found)))?)
    }),
];

fn parsed(json: &str) -> PolarsResult<Json> {
    serde_json::from_str(json).map_err(|_| refusal(format!("the text '{}' is not JSON", json.printable_line())))
}

/// The text of a JSON string without its quotes, the JSON of other values; `None` for null.
fn plain_text(json: &Json) -> Option<String> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn type_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "NULL",
        Json::Bool(_) => "BOOLEAN",
        Json::Number(number) if number.is_u64() => "UBIGINT",
        Json::Number(number) if number.is_i64() => "BIGINT",
        Json::Number(_) => "DOUBLE",
        Json::String(_) => "VARCHAR",
        Json::Array(_) => "ARRAY",
        Json::Object(_) => "OBJECT",
    }
}

fn of_path(columns: &[Column], of: fn(&Json) -> Option<String>) -> PolarsResult<Column> {
    Ok(texts_column(of_texts(columns, |[json, path]| Ok(at_path(&parsed(json)?, path)?.and_then(of)))?))
}

fn at_optional_path<R>(columns: &[Column], of: impl Fn(&Json) -> Option<R>) -> PolarsResult<Vec<Option<R>>> {
    match columns {
        [_] => of_texts(columns, |[json]| Ok(of(&parsed(json)?))),
        _ => of_texts(columns, |[json, path]| Ok(at_path(&parsed(json)?, path)?.and_then(&of))),
    }
}

/// The value at a path: `$.a[0]."b c"` as in SQL/JSON, `/a/0` as a pointer, a number of an element, or the name of a field.
fn at_path<'j>(json: &'j Json, path: &str) -> PolarsResult<Option<&'j Json>> {
    if let Some(pointer) = path.strip_prefix('/') {
        return Ok(json.pointer(&format!("/{pointer}")));
    }
    let Some(mut rest) = path.strip_prefix('$') else {
        let element = path.parse::<usize>().ok().and_then(|at| json.get(at));
        return Ok(element.or_else(|| json.get(path)));
    };
    let wrong = || refusal(format!("'{}' is not a path such as $.a[0].b", path.printable_line()));
    let mut found = Some(json);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (name, behind) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
                None => after.split_at(after.find(['.', '[']).unwrap_or(after.len())),
            };
            if name.is_empty() || name == "*" {
                return Err(wrong());
            }
            found = found.and_then(|json| json.get(name));
            rest = behind;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (place, behind) = after.split_once(']').ok_or_else(wrong)?;
            let from_end = place.trim().strip_prefix('#').unwrap_or(place.trim());
            let place: i64 = from_end.parse().map_err(|_| wrong())?;
            found = found.and_then(Json::as_array).and_then(|items| {
                let at = if place < 0 { items.len() as i64 + place } else { place };
                items.get(usize::try_from(at).ok()?)
            });
            rest = behind;
        } else {
            return Err(wrong());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let json: Json = serde_json::from_str(r#"{"a": {"b c": [1, 2]}, "1": "x"}"#).expect("JSON");
        let at = |path: &str| at_path(&json, path).expect("a path").map(ToString::to_string);
        assert_eq!(at("$.a.\"b c\"[1]").as_deref(), Some("2"));
        assert_eq!(at("$.a.\"b c\"[-1]").as_deref(), Some("2"));
        assert_eq!(at("/a/b c/0").as_deref(), Some("1"));
        assert_eq!(at("1").as_deref(), Some("\"x\""));
        assert_eq!(at("$").as_deref().map(str::len), Some(json.to_string().len()));
        assert_eq!(at("$.none[3]"), None);
        assert!(at_path(&json, "$x").is_err() && at_path(&json, "$.a[").is_err());
    }
}
