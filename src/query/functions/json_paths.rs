//! Paths to the values within JSON.

use polars::prelude::*;
use serde_json::Value as Json;

use crate::query::engine_errors::refusal;
use crate::text::PrintableLine;

/// From a value to those within it.
enum PathStep {
    Field(String),
    /// Counted from the end when negative.
    Element(i64),
    EachField,
    EachElement,
}

/// True for a path that may lead to several values.
pub(in crate::query) fn has_wildcard(path: &str) -> bool {
    let leads_to_several =
        |step: &PathStep| matches!(step, PathStep::EachField | PathStep::EachElement);
    path.contains('*') && parse_path(path).is_ok_and(|steps| steps.iter().any(leads_to_several))
}

/// The value at a path: `$.a[0]."b c"` as in SQL/JSON, `/a/0` as a pointer, a number of an element,
/// or the name of a field.
pub(super) fn at_path<'j>(json: &'j Json, path: &str) -> PolarsResult<Option<&'j Json>> {
    if let Some(pointer) = path.strip_prefix('/') {
        return Ok(json.pointer(&format!("/{pointer}")));
    }
    if !path.starts_with('$') {
        let element = path.parse::<i64>().ok().map(PathStep::Element);
        let element = element.and_then(|step| follow_step(json, &step).pop());
        return Ok(element.or_else(|| json.get(path)));
    }
    if has_wildcard(path) {
        let path = path.printable_line();
        return Err(refusal(format!(
            "the path '{path}' leads to several values, and is written in the statement: \
                json_extract(x, '$.a[*].b')"
        )));
    }
    Ok(all_at_path(json, path)?.pop())
}

/// The values at a path of SQL/JSON, in which `.*` is each field and `[*]` each element.
pub(super) fn all_at_path<'j>(json: &'j Json, path: &str) -> PolarsResult<Vec<&'j Json>> {
    let mut found = vec![json];
    for step in parse_path(path)? {
        found = found
            .into_iter()
            .flat_map(|json| follow_step(json, &step))
            .collect();
    }
    Ok(found)
}

fn follow_step<'j>(json: &'j Json, step: &PathStep) -> Vec<&'j Json> {
    match (step, json) {
        (PathStep::Field(name), json) => json.get(name).into_iter().collect(),
        (PathStep::Element(place), Json::Array(items)) => {
            let at = if *place < 0 {
                items.len() as i64 + place
            } else {
                *place
            };
            let item = usize::try_from(at).ok().and_then(|at| items.get(at));
            item.into_iter().collect()
        }
        (PathStep::EachField, Json::Object(fields)) => fields.values().collect(),
        (PathStep::EachElement, Json::Array(items)) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn parse_path(path: &str) -> PolarsResult<Vec<PathStep>> {
    let wrong = || refuse_json_path(path);
    let mut rest = path.strip_prefix('$').ok_or_else(wrong)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (name, behind) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
                None => after.split_at(after.find(['.', '[']).unwrap_or(after.len())),
            };
            if name.is_empty() {
                return Err(wrong());
            }
            steps.push(if name == "*" && !after.starts_with('"') {
                PathStep::EachField
            } else {
                PathStep::Field(name.to_owned())
            });
            rest = behind;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (place, behind) = after.split_once(']').ok_or_else(wrong)?;
            let place = place.trim();
            steps.push(if place == "*" {
                PathStep::EachElement
            } else {
                let from_end = place.strip_prefix('#').unwrap_or(place);
                PathStep::Element(from_end.parse().map_err(|_| wrong())?)
            });
            rest = behind;
        } else {
            return Err(wrong());
        }
    }
    Ok(steps)
}

fn refuse_json_path(path: &str) -> PolarsError {
    refusal(format!(
        "'{}' is not a path such as $.a[0].b",
        path.printable_line()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let json: Json = serde_json::from_str(r#"{"a": {"b c": [1, 2]}, "1": "x"}"#).expect("JSON");
        let at = |path: &str| {
            at_path(&json, path)
                .expect("a path")
                .map(ToString::to_string)
        };
        assert_eq!(at("$.a.\"b c\"[1]").as_deref(), Some("2"));
        assert_eq!(at("$.a.\"b c\"[-1]").as_deref(), Some("2"));
        assert_eq!(at("/a/b c/0").as_deref(), Some("1"));
        assert_eq!(at("1").as_deref(), Some("\"x\""));
        let items: Json = serde_json::from_str("[1, 2, 3]").expect("JSON");
        let item = |path: &str| at_path(&items, path).expect("a path").cloned();
        assert_eq!(
            ["-1", "0", "-4", "3"].map(item),
            [Some(Json::from(3)), Some(Json::from(1)), None, None]
        );
        assert_eq!(
            at("$").as_deref().map(str::len),
            Some(json.to_string().len())
        );
        assert_eq!(at("$.none[3]"), None);
        assert!(at_path(&json, "$x").is_err() && at_path(&json, "$.a[").is_err());
        assert!(at_path(&json, "$.*").is_err());
        assert_eq!(at("$.\"a*b\""), None);
    }

    #[test]
    fn wildcards_lead_to_each_value() {
        let json: Json =
            serde_json::from_str(r#"{"a": [{"b": 1}, {"b": 2}, 3], "c": {"b": 4}}"#).expect("JSON");
        let all = |path: &str| {
            let found = all_at_path(&json, path).expect("a path");
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(all("$.a[*].b"), ["1", "2"]);
        assert_eq!(all("$.*.b"), ["4"]);
        assert_eq!(all("$.none[*]"), Vec::<String>::new());
    }
}
