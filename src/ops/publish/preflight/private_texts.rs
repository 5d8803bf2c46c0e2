//! Checks for texts that should not be published: addresses, names of machines, secrets.

use std::collections::BTreeMap;

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use crate::model::Collection;
use crate::ops::publish::check::{CheckKind, Mend, PublishCheck};
use crate::ops::publish::private_text::PrivateText;

/// Checks a text of a column for private content.
pub(super) fn look_at_text(
    text: &str,
    (level, name): (usize, &str),
    recogniser: &PrivateText,
    found: &mut PrivateTexts,
) {
    let kinds = recogniser.found_in(text);
    if !kinds.is_empty() {
        let name = name.to_owned();
        found.add(&kinds, Mend::Column { level, name }, text);
    }
}

/// Checks every text of a collection for private content. Contacts may have e-mail addresses.
pub(super) fn look_at_collection(
    collection: &Collection,
    recogniser: &PrivateText,
    found: &mut PrivateTexts,
) {
    for (key, value) in &collection.fields {
        let is_contact = ["providers", "curators"].contains(&key.as_str());
        texts_of(value, &mut |text| {
            let mut kinds = recogniser.found_in(text);
            kinds.retain(|kind| !(is_contact && *kind == CheckKind::Emails));
            found.add(&kinds, Mend::Field(key.clone()), text);
        });
    }
}

/// Private texts by kind and location: their number, and the first one, which is empty for a text
/// with a secret.
#[derive(Default)]
pub(super) struct PrivateTexts(BTreeMap<CheckKind, Vec<(Mend, u64, String)>>);

impl PrivateTexts {
    /// Adds a text in which these kinds were found.
    fn add(&mut self, kinds: &[CheckKind], place: Mend, text: &str) {
        let has_secret = kinds.contains(&CheckKind::Credentials);
        for kind in kinds {
            let places = self.0.entry(*kind).or_default();
            match places.iter_mut().find(|(known, ..)| *known == place) {
                Some((_, count, _)) => *count += 1,
                None if has_secret => places.push((place.clone(), 1, String::new())),
                None => places.push((place.clone(), 1, shorten_example(text))),
            }
        }
    }

    pub fn check(&self, kind: CheckKind) -> PublishCheck {
        let Some((places, (first, ..))) = self
            .0
            .get(&kind)
            .and_then(|places| Some((places, places.first()?)))
        else {
            return PublishCheck::pass(
                kind,
                match kind {
                    CheckKind::UserNames => tr!("No name of a user of this machine"),
                    CheckKind::Credentials => tr!("No credentials and no signed links"),
                    CheckKind::PrivateLinks => tr!("No links into a private network"),
                    CheckKind::Emails => tr!("No e-mail addresses outside the contacts"),
                    _ => tr!("No absolute paths"),
                },
            );
        };
        let name = match first {
            Mend::Column { name, .. } => name.clone(),
            Mend::Field(field) => field.clone(),
            _ => String::new(),
        };
        let lines = places.iter().map(|(place, count, example)| {
            let at = match place {
                Mend::Column { level, name } => format!("level{level} {name}"),
                Mend::Field(field) => format!("collection {field}"),
                _ => String::new(),
            };
            let first = if example.is_empty() {
                String::new()
            } else {
                tr!(", first {example}", example)
            };
            tr_n!(
                *count,
                "{at}: {n} value{first}",
                "{at}: {n} values{first}",
                at,
                n = count,
                first
            )
        });
        let made = match kind {
            CheckKind::Paths => PublishCheck::blocks(
                kind,
                tr!("{name} shows folders of a machine", name),
                first.clone(),
            ),
            CheckKind::Credentials => PublishCheck::blocks(
                kind,
                tr!("{name} has credentials or signed links", name),
                first.clone(),
            ),
            CheckKind::UserNames => PublishCheck::blocks(
                kind,
                tr!("{name} shows the name of a user", name),
                first.clone(),
            ),
            CheckKind::PrivateLinks => PublishCheck::warning(
                kind,
                tr!("{name} has links that only a private network reaches", name),
                first.clone(),
            ),
            _ => PublishCheck::warning(
                kind,
                tr!("{name} has e-mail addresses", name),
                first.clone(),
            ),
        };
        made.at_places(lines)
    }
}

/// Maximum length of an example in characters.
const EXAMPLE: usize = 60;

/// The end of a text.
fn shorten_example(text: &str) -> String {
    let count = text.chars().count();
    let end: String = text.chars().skip(count.saturating_sub(EXAMPLE)).collect();
    if count > EXAMPLE {
        format!("…{end}")
    } else {
        end
    }
}

/// Calls `look` with every string of a JSON value.
pub(super) fn texts_of(value: &Json, look: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => look(text),
        Json::Array(list) => list.iter().for_each(|value| texts_of(value, look)),
        Json::Object(map) => map.iter().for_each(|(key, value)| {
            look(key);
            texts_of(value, look);
        }),
        _ => {}
    }
}

/// True for a type with strings at any depth.
pub(super) fn has_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_text(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_text(field.data_type())),
        DataType::Dictionary(_, values) => has_text(values),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_shows_no_secret() {
        let recogniser = PrivateText::of_environment();
        let example = |text: &str| {
            let mut found = PrivateTexts::default();
            look_at_text(text, (0, "path"), &recogniser, &mut found);
            found.0[&CheckKind::Paths][0].2.clone()
        };
        assert_eq!(
            example("/home/ana/a.tif?X-Amz-Signature=1 https://h/a?sig=x"),
            ""
        );
        assert!(example(&"/home/ana/".repeat(20)).starts_with('…'));
    }
}
