//! Mutations of JSON documents: a value is replaced, removed, duplicated or moved.

use serde_json::{Value as Json, json};

use super::{Engine, Random};

/// Values that are difficult for JSON readers.
fn odd(random: &mut Random) -> Json {
    let odd = [
        Json::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e-320),
        json!(0.1),
        json!(4_294_967_295_u64),
        json!(""),
        json!("\u{0}\n\u{202e}"),
        json!("../.."),
        json!("9999-12-31T23:59:59Z"),
        json!("-262143-01-01"),
        json!("2020-02-30"),
        json!("🦀é"),
        json!([]),
        json!({}),
        json!([[[[[[[[]]]]]]]]),
        json!([0, 0]),
        json!(["a", "a"]),
        json!({"": null}),
    ];
    let chosen = random.below(odd.len());
    odd.into_iter().nth(chosen).unwrap_or_default()
}

/// Changes one value of the document.
pub fn change(document: &mut Json, random: &mut Random, engine: Engine<'_>) {
    let other = pick(document, random).clone();
    let place = pick(document, random);
    match random.below(8) {
        0 => *place = odd(random),
        1 => *place = other,
        2 => match place {
            Json::Array(items) if !items.is_empty() => {
                drop(items.remove(random.below(items.len())))
            }
            Json::Object(fields) if !fields.is_empty() => {
                let key = fields
                    .keys()
                    .nth(random.below(fields.len()))
                    .cloned()
                    .unwrap_or_default();
                fields.shift_remove(&key);
            }
            place => *place = odd(random),
        },
        3 => match place {
            Json::Array(items) => items.push(other),
            Json::Object(fields) => {
                let key = fields
                    .keys()
                    .nth(random.below(fields.len()))
                    .cloned()
                    .unwrap_or_default();
                let mut name = key.into_bytes();
                engine(&mut name, 40);
                fields.insert(String::from_utf8_lossy(&name).into_owned(), other);
            }
            place => *place = Json::Array(vec![place.clone(), other]),
        },
        4 => match place {
            Json::Array(items) if items.len() > 1 => {
                let (a, b) = (random.below(items.len()), random.below(items.len()));
                items.swap(a, b);
            }
            Json::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                let near = [
                    json!(number + 1.0),
                    json!(-number),
                    json!(number * 1e9),
                    json!((number as i64).saturating_sub(1)),
                ];
                *place = near[random.below(near.len())].clone();
            }
            place => *place = odd(random),
        },
        _ => match place {
            Json::String(text) => {
                let mut bytes = std::mem::take(text).into_bytes();
                let longest = bytes.len() + 20;
                engine(&mut bytes, longest);
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
            place => *place = odd(random),
        },
    }
}

/// A random value in the document.
fn pick<'a>(document: &'a mut Json, random: &mut Random) -> &'a mut Json {
    let mut place = document;
    while !random.one_in(5) {
        let inside = match &*place {
            Json::Array(items) => items.len(),
            Json::Object(fields) => fields.len(),
            _ => 0,
        };
        if inside == 0 {
            break;
        }
        let number = random.below(inside);
        place = match place {
            Json::Array(items) => &mut items[number],
            Json::Object(fields) => fields.values_mut().nth(number).expect("is inside"),
            _ => unreachable!("has members"),
        };
    }
    place
}
