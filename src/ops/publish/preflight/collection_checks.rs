//! Checks of the collection: licence, providers, description, extent.

use serde_json::Value as Json;

use crate::model::{Collection, ExtentOrigin, UNKNOWN_LICENCE, UNKNOWN_PROVIDER};
use crate::ops::publish::check::{CheckKind, Mend, PublishCheck};
use crate::ops::publish::layout::read_contact_name;
use crate::text::PrintableLine;

/// Accepted lengths of a description in characters.
const DESCRIPTION: std::ops::RangeInclusive<usize> = 60..=20_000;

/// Placeholders of a licence or provider.
const FILLERS: [&str; 16] = [
    "unknown",
    "none",
    "n/a",
    "na",
    "tbd",
    "todo",
    "fixme",
    "xxx",
    "example",
    "your name",
    "name",
    "provider",
    "licence",
    "license",
    "proprietary",
    "placeholder",
];

/// True for a placeholder.
fn is_filler(text: &str) -> bool {
    let plain = text.trim().to_lowercase();
    plain.is_empty()
        || FILLERS.contains(&plain.as_str())
        || plain.starts_with('<') && plain.ends_with('>')
}

pub(super) fn licence(collection: &Collection) -> PublishCheck {
    let (kind, mend) = (CheckKind::Licence, || Mend::Field("licenses".into()));
    let list: Vec<&str> = collection
        .get("licenses")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let figure = list.join(", ");
    if list.is_empty() {
        return PublishCheck::blocks(
            kind,
            tr!("The dataset has no licence: nobody may use it"),
            mend(),
        );
    }
    if list
        .iter()
        .any(|licence| *licence == UNKNOWN_LICENCE || is_filler(licence))
    {
        return PublishCheck::blocks(kind, tr!("The licence is a placeholder"), mend())
            .figure(figure);
    }
    match list
        .iter()
        .find(|licence| spdx::license_id(licence).is_none())
    {
        Some(other) => {
            let message = tr!(
                "The licence {other} is no SPDX identifier, so that catalogues can't name it",
                other = other.printable_line()
            );
            PublishCheck::warning(kind, message, mend()).figure(figure)
        }
        None => PublishCheck::pass(kind, tr!("The licence is set")).figure(figure),
    }
}

pub(super) fn providers(collection: &Collection) -> PublishCheck {
    let (kind, mend) = (CheckKind::Providers, || Mend::Field("providers".into()));
    let list = collection.get("providers").and_then(Json::as_array);
    let names: Vec<String> = list
        .into_iter()
        .flatten()
        .map(|provider| read_contact_name(provider).unwrap_or_default().to_owned())
        .collect();
    if names.is_empty() {
        return PublishCheck::blocks(
            kind,
            tr!("The dataset has no provider: nobody answers for it"),
            mend(),
        );
    }
    if names
        .iter()
        .any(|name| *name == UNKNOWN_PROVIDER || is_filler(name))
    {
        PublishCheck::blocks(kind, tr!("A provider is a placeholder"), mend())
            .figure(names.join(", "))
    } else {
        PublishCheck::pass(kind, tr!("Providers are set")).figure(names.join(", "))
    }
}

pub(super) fn description(collection: &Collection) -> PublishCheck {
    let (kind, mend) = (CheckKind::Description, || Mend::Field("description".into()));
    let text = collection.text("description").trim();
    let length = text.chars().count();
    let figure = tr_n!(length, "{n} character", "{n} characters", n = length);
    if is_filler(text) || collection.placeholders().contains(&"description") {
        return PublishCheck::blocks(kind, tr!("The description is a placeholder"), mend())
            .figure(figure);
    }
    let (least, most) = (DESCRIPTION.start(), DESCRIPTION.end());
    match DESCRIPTION.contains(&length) {
        true => PublishCheck::pass(kind, tr!("The description has a good length")).figure(figure),
        false if length < *least => {
            let message = tr!(
                "The description has less than {least} characters: say what it is, of where and \
                    when, and what for",
                least
            );
            PublishCheck::warning(kind, message, mend()).figure(figure)
        }
        false => {
            let message = tr!(
                "The description has more than {most} characters: catalogues cut it",
                most
            );
            PublishCheck::warning(kind, message, mend()).figure(figure)
        }
    }
}

pub(super) fn extent(collection: &Collection) -> PublishCheck {
    let kind = CheckKind::Extent;
    match ExtentOrigin::from_collection(collection) {
        None | Some(ExtentOrigin::Unknown) => {
            let message =
                tr!("The extent is unknown: no search by place or time finds the dataset");
            PublishCheck::warning(kind, message, Mend::Field("extent".into()))
        }
        Some(ExtentOrigin::Samples) => {
            PublishCheck::pass(kind, tr!("The extent is that of the samples"))
        }
        Some(ExtentOrigin::Stated) => PublishCheck::pass(kind, tr!("The extent is stated")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillers_are_no_names() {
        assert!(
            [" Tbd ", "", "<your name>", "Unknown"]
                .iter()
                .all(|text| is_filler(text))
        );
        assert!(
            !["ESA", "CC-BY-4.0", "Nameless institute"]
                .iter()
                .any(|text| is_filler(text))
        );
    }
}
