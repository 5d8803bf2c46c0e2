//! Reading and writing inside COLLECTION.json by pointers such as `providers/0/email`, and the
//! shapes of contacts.

use serde_json::{Map, Value as Json, json};

use crate::model::Collection;

fn at_pointer<'a>(collection: &'a Collection, pointer: &str) -> Option<&'a Json> {
    let mut steps = pointer.split('/');
    let mut at = collection.fields.get(steps.next()?)?;
    for step in steps {
        at = match at {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            Json::Object(fields) => fields.get(step)?,
            _ => return None,
        };
    }
    Some(at)
}

/// The string at a pointer; empty if absent.
pub fn text_at(collection: &Collection, pointer: &str) -> String {
    match at_pointer(collection, pointer) {
        Some(Json::String(text)) => text.clone(),
        None | Some(Json::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The strings of the list at a pointer.
pub fn strings_at(collection: &Collection, pointer: &str) -> Vec<String> {
    let items = at_pointer(collection, pointer).and_then(Json::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(str::to_owned)
        .collect()
}

/// The top-level key and its new value after setting `value` at a pointer; creates missing lists
/// and objects on the path.
pub fn with_value(collection: &Collection, pointer: &str, value: Json) -> Option<(String, Json)> {
    let mut steps = pointer.split('/');
    let key = steps.next()?.to_owned();
    let mut top = collection.fields.get(&key).cloned().unwrap_or(Json::Null);
    let mut at = &mut top;
    for step in steps {
        at = match step.parse::<usize>() {
            Ok(index) => {
                if !at.is_array() {
                    *at = Json::Array(Vec::new());
                }
                let items = at.as_array_mut()?;
                while items.len() <= index {
                    items.push(Json::Null);
                }
                &mut items[index]
            }
            Err(_) => {
                if !at.is_object() {
                    *at = Json::Object(Map::new());
                }
                at.as_object_mut()?.entry(step).or_insert(Json::Null)
            }
        };
    }
    *at = value;
    // A time range without bounds is removed.
    if key == "extent"
        && let Some(range) = top.get_mut("temporal")
        && range.as_array().is_some_and(|ends| {
            ends.iter()
                .all(|end| end.is_null() || end.as_str() == Some(""))
        })
    {
        *range = Json::Null;
    }
    Some((key, top))
}

/// An empty contact in the shape that the official tools write.
pub fn new_contact(key: &str) -> Json {
    match key {
        "providers" => json!({"name": "", "roles": ["producer"], "url": null, "links": null}),
        _ => json!({"name": "", "organization": "", "email": "", "role": ""}),
    }
}

/// The fields of a contact: those of its shape (specification and official tools differ), then all
/// others.
pub fn parts_of(key: &str, contact: &Json) -> Vec<&'static str> {
    let plain = ["organization", "email", "role"]
        .iter()
        .any(|part| contact.get(part).is_some());
    if key == "curators" || plain {
        vec!["name", "organization", "email", "role"]
    } else {
        vec!["name", "roles", "url"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_reads_and_writes_inside_the_collection() {
        let mut collection = Collection::template();
        let (key, value) =
            with_value(&collection, "providers/0/email", json!("a@b.org")).expect("has a key");
        collection.set(&key, Some(value));
        assert_eq!(text_at(&collection, "providers/0/email"), "a@b.org");
        let (key, value) =
            with_value(&collection, "extent/temporal/0", json!("2023-01-01")).expect("has a key");
        collection.set(&key, Some(value));
        assert_eq!(
            collection.get("extent"),
            Some(&json!({"temporal": ["2023-01-01"]}))
        );
        let (_, value) =
            with_value(&collection, "extent/temporal/0", json!("")).expect("has a key");
        assert_eq!(value, json!({"temporal": null}));
    }
}
