//! The JSON Schema of a request, for other programs, and the check that a request has no other
//! fields. The schema comes from the request's type, so that types, defaults and documentation have
//! one source.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::text::{PrintableLine, nearest};

/// Keywords whose subschemas describe the same value.
const SAME_VALUE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// JSON Schema (draft 2020-12) of a request. Texts are plain, without the links of Rust's
/// documentation.
pub(super) fn request_schema<T: JsonSchema>() -> Json {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    plain_texts(&mut schema);
    schema
}

/// Writes [`crate::ops::Name`] in descriptions as `Name`, and `None` as `null`, and leaves out the
/// sections for programmers and the names of types.
fn plain_texts(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            // A property of this name has a schema, not a text.
            if fields.get("title").is_some_and(Json::is_string) {
                fields.remove("title");
            }
            for (name, value) in fields.iter_mut() {
                match value {
                    Json::String(text) if name == "description" => *text = plain_text(text),
                    _ => plain_texts(value),
                }
            }
        }
        Json::Array(values) => values.iter_mut().for_each(plain_texts),
        _ => {}
    }
}

/// A documentation text for users.
fn plain_text(text: &str) -> String {
    let text = text.split("\n\n# Errors").next().unwrap_or(text);
    let text = without_links(text).replace("`None`", "`null`");
    text.strip_suffix(" Plain data.")
        .map_or_else(|| text.clone(), str::to_owned)
}

/// A documentation text without links: the last segment of each path, and the text of each other
/// link.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((path, after)) = link.split_once("`]") else {
            plain.push_str("[`");
            plain.push_str(link);
            return plain;
        };
        plain.push('`');
        plain.push_str(path.rsplit("::").next().unwrap_or(path));
        plain.push('`');
        rest = match after
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}

/// Refuses fields that the schema does not name, on every level, so that a misspelt option is an
/// error instead of a default.
///
/// # Errors
/// [`crate::error::Kind::Usage`] with the field and the nearest name, or all names.
pub(super) fn refuse_unknown_fields(
    operation: &str,
    schema: &Json,
    request: &Map<String, Json>,
) -> Result<()> {
    let Some((place, known)) = first_unknown(schema, &[schema], &Json::Object(request.clone()), "")
    else {
        return Ok(());
    };
    let field = place.rsplit('.').next().unwrap_or(&place);
    let error = Error::usage(format!(
        "the request of {operation} has no field {}",
        place.printable_line()
    ));
    Err(match nearest(field, known.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("write {name}")),
        None => error.hint(format!("the fields are {}", known.join(", "))),
    })
}

/// The first field of `value` that no schema in `schemas` names, with its path, and the names that
/// they have. A value of which the schemas say nothing may have any field.
fn first_unknown(
    root: &Json,
    schemas: &[&Json],
    value: &Json,
    place: &str,
) -> Option<(String, Vec<String>)> {
    let schemas = with_parts(root, schemas);
    match value {
        Json::Object(fields) => {
            let is_open = schemas.iter().any(|schema| {
                schema
                    .get("additionalProperties")
                    .is_some_and(|more| more != &Json::Bool(false))
            });
            let properties: Vec<_> = schemas
                .iter()
                .filter_map(|schema| schema.get("properties")?.as_object())
                .collect();
            if is_open || properties.is_empty() {
                return None;
            }
            fields.iter().find_map(|(name, value)| {
                let own: Vec<&Json> = properties
                    .iter()
                    .filter_map(|properties| properties.get(name))
                    .collect();
                let place = if place.is_empty() {
                    name.clone()
                } else {
                    format!("{place}.{name}")
                };
                if own.is_empty() {
                    return Some((
                        place,
                        properties
                            .iter()
                            .flat_map(|properties| properties.keys().cloned())
                            .collect(),
                    ));
                }
                first_unknown(root, &own, value, &place)
            })
        }
        Json::Array(values) => {
            let items: Vec<&Json> = schemas
                .iter()
                .filter_map(|schema| schema.get("items"))
                .collect();
            values
                .iter()
                .find_map(|value| first_unknown(root, &items, value, place))
        }
        _ => None,
    }
}

/// The schemas with all that describe the same value: those that they refer to, and their
/// alternatives.
fn with_parts<'a>(root: &'a Json, schemas: &[&'a Json]) -> Vec<&'a Json> {
    let mut all: Vec<&Json> = schemas.to_vec();
    let mut at = 0;
    while at < all.len() {
        let schema = all[at];
        at += 1;
        let parts = SAME_VALUE
            .iter()
            .filter_map(|keyword| schema.get(*keyword)?.as_array())
            .flatten();
        let referred = schema
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|text| root.pointer(text.strip_prefix('#')?));
        for part in parts.chain(referred) {
            // A type that contains itself refers to a schema that is in the list already.
            if !all.iter().any(|known| std::ptr::eq(*known, part)) {
                all.push(part);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ops::{ConvertRequest, CreateRequest, ExtendRequest};

    fn unknown<T: JsonSchema>(request: Json) -> Option<String> {
        let request = request.as_object().expect("an object");
        refuse_unknown_fields("it", &request_schema::<T>(), request)
            .err()
            .map(|error| error.report())
    }

    #[test]
    fn a_misspelt_field_is_refused_on_every_level_with_the_right_one() {
        let right = json!({
            "input": "a",
            "options": { "target": "b", "format": "zip", "parquet": { "compression": "zstd" } },
        });
        assert_eq!(unknown::<ConvertRequest>(right), None);
        let outer = unknown::<ConvertRequest>(json!({ "inputs": "a" })).expect("is refused");
        assert!(
            outer.contains("no field inputs") && outer.contains("write input"),
            "{outer}"
        );
        let inner = unknown::<ConvertRequest>(json!({ "input": "a", "options": { "targt": "b" } }))
            .expect("is refused");
        assert!(
            inner.contains("options.targt") && inner.contains("write target"),
            "{inner}"
        );
        // Below a flattened choice, and in a list.
        let flat =
            unknown::<CreateRequest>(json!({ "source": "a", "options": { "overwrit": true } }))
                .expect("is refused");
        assert!(flat.contains("options.overwrit"), "{flat}");
        let listed =
            unknown::<ExtendRequest>(json!({ "calls": [{ "extension": "stats", "option": {} }] }))
                .expect("is refused");
        assert!(listed.contains("calls.option"), "{listed}");
    }

    #[test]
    fn options_of_an_extension_may_have_any_field() {
        let request = json!({
            "input": "a",
            "calls": [{ "extension": "stats", "options": { "anything": 1 } }],
        });
        assert_eq!(unknown::<ExtendRequest>(request), None);
    }

    #[test]
    fn descriptions_have_no_links_of_rust() {
        assert_eq!(
            without_links("see [`crate::a::B`] and [`C`](super::C) or [x]"),
            "see `B` and `C` or [x]"
        );
        let text = request_schema::<CreateRequest>().to_string();
        assert!(
            !text.contains("[`") && !text.contains("# Errors") && text.contains("2020-12"),
            "{text}"
        );
    }
}
