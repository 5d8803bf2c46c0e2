//! JSON read, compared, described and merged as DuckDB does it.

use polars::prelude::PolarsResult;
use serde_json::{Map, Value as Json};

use crate::query::engine_errors::refusal;
use crate::text::PrintableLine;

/// The types of the values of a JSON value.
#[derive(Clone, Debug, PartialEq)]
enum JsonShape {
    Null,
    Truth,
    Unsigned,
    Signed,
    Fraction,
    Text,
    /// Values of several types.
    Mixed,
    List(Box<JsonShape>),
    Fields(Vec<(String, JsonShape)>),
}

pub(super) fn parse_json(json: &str) -> PolarsResult<Json> {
    serde_json::from_str(json)
        .map_err(|_| refusal(format!("the text '{}' is not JSON", json.printable_line())))
}

pub(super) fn type_of(json: &Json) -> &'static str {
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

/// The types of a value as JSON: `{"a":"UBIGINT","b":["VARCHAR"]}`.
pub(super) fn describe_structure(json: &Json) -> String {
    JsonShape::from_json(json).into_json().to_string()
}

impl JsonShape {
    fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(_) => Self::Truth,
            Json::Number(number) if number.is_u64() => Self::Unsigned,
            Json::Number(number) if number.is_i64() => Self::Signed,
            Json::Number(_) => Self::Fraction,
            Json::String(_) => Self::Text,
            Json::Array(items) => {
                let items = items.iter().map(Self::from_json);
                Self::List(Box::new(items.fold(Self::Null, Self::merge)))
            }
            Json::Object(fields) => Self::Fields(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from_json(value)))
                    .collect(),
            ),
        }
    }

    fn merge(self, other: Self) -> Self {
        use JsonShape::{Fields, Fraction, List, Mixed, Null, Signed, Unsigned};
        let is_number = |shape: &Self| matches!(shape, Unsigned | Signed | Fraction);
        match (self, other) {
            (Null, shape) | (shape, Null) => shape,
            (one, other) if one == other => one,
            (one, other) if is_number(&one) && is_number(&other) => {
                if one == Fraction || other == Fraction {
                    Fraction
                } else {
                    Signed
                }
            }
            (List(one), List(other)) => List(Box::new(one.merge(*other))),
            (Fields(mut fields), Fields(others)) => {
                for (name, shape) in others {
                    match fields.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => {
                            *known = std::mem::replace(known, Null).merge(shape);
                        }
                        None => fields.push((name, shape)),
                    }
                }
                Fields(fields)
            }
            _ => Mixed,
        }
    }

    fn into_json(self) -> Json {
        let name = match self {
            Self::List(item) => return Json::Array(vec![item.into_json()]),
            Self::Fields(fields) if !fields.is_empty() => {
                let fields = fields.into_iter();
                return Json::Object(
                    fields
                        .map(|(name, shape)| (name, shape.into_json()))
                        .collect(),
                );
            }
            Self::Null => "NULL",
            Self::Truth => "BOOLEAN",
            Self::Unsigned => "UBIGINT",
            Self::Signed => "BIGINT",
            Self::Fraction => "DOUBLE",
            Self::Text => "VARCHAR",
            Self::Mixed | Self::Fields(_) => "JSON",
        };
        Json::from(name)
    }
}

/// True if a value, or one within it, has all that the part has.
pub(super) fn contains_json(json: &Json, part: &Json) -> bool {
    if includes_json(json, part) {
        return true;
    }
    match json {
        Json::Array(items) => items.iter().any(|item| contains_json(item, part)),
        Json::Object(fields) => fields.values().any(|value| contains_json(value, part)),
        _ => false,
    }
}

/// True for equal values, lists with all elements of the part in any order, and objects with all
/// its fields.
fn includes_json(json: &Json, part: &Json) -> bool {
    match (json, part) {
        (Json::Array(items), Json::Array(parts)) => {
            let is_there = |part: &Json| items.iter().any(|item| includes_json(item, part));
            parts.iter().all(is_there)
        }
        (Json::Object(fields), Json::Object(parts)) => parts.iter().all(|(name, part)| {
            let value = fields.get(name);
            value.is_some_and(|value| includes_json(value, part))
        }),
        (json, part) => json == part,
    }
}

/// An object with the fields of another one in it, those that are null there removed (RFC 7396); of
/// other values the second. Fields that stay as they are come first.
pub(super) fn merge_patch(json: Json, patch: Json) -> Json {
    match (json, patch) {
        (Json::Object(fields), Json::Object(patches)) => {
            Json::Object(merge_fields(fields, patches))
        }
        (_, patch) => patch,
    }
}

fn merge_fields(fields: Map<String, Json>, patches: Map<String, Json>) -> Map<String, Json> {
    let is_patched = |(name, _): &(String, Json)| patches.contains_key(name);
    let (mut patched, mut merged): (Map<_, _>, Map<_, _>) =
        fields.into_iter().partition(is_patched);
    for (name, patch) in patches {
        let value = match patch {
            Json::Null => continue,
            Json::Object(patch) => {
                let fields = match patched.swap_remove(&name) {
                    Some(Json::Object(fields)) => fields,
                    _ => Map::new(),
                };
                Json::Object(merge_fields(fields, patch))
            }
            value => value,
        };
        merged.insert(name, value);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn structures_are_those_of_duckdb() {
        for (text, wanted) in [
            (
                r#"{"a":1,"b":[1,2.5],"c":"x"}"#,
                r#"{"a":"UBIGINT","b":["DOUBLE"],"c":"VARCHAR"}"#,
            ),
            ("[]", r#"["NULL"]"#),
            ("null", r#""NULL""#),
            (r#"[1,"x"]"#, r#"["JSON"]"#),
            (r#"[{"a":1},{"b":2}]"#, r#"[{"a":"UBIGINT","b":"UBIGINT"}]"#),
            ("[null,1,-1]", r#"["BIGINT"]"#),
            ("{}", r#""JSON""#),
            ("[true,1]", r#"["JSON"]"#),
        ] {
            assert_eq!(describe_structure(&json(text)), wanted, "{text}");
        }
    }

    #[test]
    fn parts_are_found_at_any_depth() {
        for (text, part, wanted) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, true),
            ("[1,2,3]", "2", true),
            (r#"{"a":{"b":1,"c":2}}"#, r#"{"c":2}"#, true),
            ("[1,2]", "[2,1]", true),
            ("[1.0]", "1", false),
            (r#""a""#, r#""b""#, false),
        ] {
            assert_eq!(
                contains_json(&json(text), &json(part)),
                wanted,
                "{text} {part}"
            );
        }
    }

    #[test]
    fn patches_add_replace_and_remove_fields() {
        for (text, patch, wanted) in [
            (
                r#"{"b":1,"a":2}"#,
                r#"{"a":3,"c":4}"#,
                r#"{"b":1,"a":3,"c":4}"#,
            ),
            (
                r#"{"a":1,"c":{"d":1}}"#,
                r#"{"a":null,"c":{"e":2}}"#,
                r#"{"c":{"d":1,"e":2}}"#,
            ),
            (r#"{"a":1,"b":2}"#, r#"{"a":3}"#, r#"{"b":2,"a":3}"#),
            (r#"{"a":1}"#, r#"{"a":{"b":null}}"#, r#"{"a":{}}"#),
            (r#"{"a":1}"#, "5", "5"),
        ] {
            assert_eq!(merge_patch(json(text), json(patch)).to_string(), wanted);
        }
    }
}
